-- Arguments of the derive trigger are the owner's: whatever is in them is an error of that table, and of no other
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
CREATE ROLE hostile_owner;
CREATE ROLE hostile_neighbour;
CREATE SCHEMA hostile AUTHORIZATION hostile_owner;
GRANT USAGE ON SCHEMA hostile TO PUBLIC;
SET ROLE hostile_owner;
SET search_path = hostile, public;
SELECT dyn_create_table('honest', 'pk S');
-- a name that fills what a relation can have is looked for in the settings
SELECT dyn_create_table(repeat('f', 63), 'pk S');
SELECT dyn_create_table('forged', 'pk S');
SELECT dyn_put('forged', '{"pk":{"S":"a"},"v":{"N":"1"}}');
GRANT SELECT ON ALL TABLES IN SCHEMA hostile TO hostile_neighbour;
CREATE PROCEDURE forge(relation regclass, VARIADIC arguments text[]) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE OR REPLACE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON %s FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys(%s)',
		relation, (SELECT string_agg(quote_literal(a), ', ' ORDER BY n) FROM unnest(arguments) WITH ORDINALITY u (a, n)));
END $$;

-- each is read by who asks for the table, in each way there is
CREATE FUNCTION attempt(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	RETURN 'ok';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || lower(left(SQLERRM, 1)) || substr(SQLERRM, 2);
END $$;
CREATE FUNCTION attempts(argument text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	CALL forge('forged', 'pk S', argument);
	RETURN QUERY SELECT DISTINCT attempt(statement) FROM unnest(ARRAY['SELECT item FROM forged', 'INSERT INTO forged (item) VALUES (''{"pk":{"S":"b"}}'')',
		'SELECT dyn_get(''forged'', ''{"pk":{"S":"a"}}'')',
		'SELECT dyn_put(''forged'', ''{"pk":{"S":"c"}}'')', 'SELECT dyn_describe_table(''forged'')',
		'SELECT dyn_request(''DescribeTable'', ''{"TableName": "forged"}'')',
		'SELECT dyn_request(''DescribeTimeToLive'', ''{"TableName": "forged"}'')',
		'SELECT dyn_request(''ListTagsOfResource'', ''{"ResourceArn": "arn:aws:dynamodb:local:000000000000:table/forged"}'')',
		'SELECT dyn_request(''ListTables'', ''{}'')', 'SELECT dyn_request(''ListStreams'', ''{}'')', 'SELECT * FROM dyn_ttl_tables', 'SELECT * FROM dyn_streams',
		'SELECT dyn_entities(''forged'')', 'SELECT dyn_table_chart(''forged'')']) statement ORDER BY 1;
END $$;
SELECT a, o FROM unnest(ARRAY['{"settings": {"ttl_attribute": ""}}', '{"settings": {"ttl_attribute": "a\u0000b"}}', '{"settings": {"ttl_attribute": ["v"]}}',
	'{"settings": {"ttl_attribute": "v", "ttl_status": "LATER"}}',
	'{"settings": {"ttl_attribute": "v"}}', '{"settings": 1}', '{"settings": {}, "more": 1}', '{"settings":', '{"settings": {"shards": 1}}',
	'{"settings": {"streams": [1]}}',
	'{"settings": {"streams": [{"label": 99999999999999999, "view_type": "KEYS_ONLY", "shards": 1}]}}',
	'{"settings": {"streams": [{"label": 1, "view_type": "ALL", "shards": 1}]}}',
	'{"settings": {"streams": [{"label": 1.5, "view_type": "KEYS_ONLY", "shards": 1}]}}', '{"settings": {"streams": [{"view_type": "KEYS_ONLY"}]}}',
	'{"settings": {"read_capacity_units": -1}}',
	'{"settings": {"created": "now"}}', '{"settings": {"tags": ["a"]}}', '{"settings": {"tags": {"a": 1}}}', '{"settings": {"name": {"a": "b"}}}',
	'{"settings": {"billing_mode": "FREE"}}',
	'{"name": "Idx"}', '{"name": "Idx", "type": "global"}', '{"name": "Idx", "type": "global", "partition_key": [["v N"]]}',
	'{"name": "Idx", "type": "global", "partition_key": "v M"}',
	'{"name": "Idx", "type": "global", "partition_key": "v N"}', '{"name": "Idx", "type": "local", "partition_key": "pk S", "sort_key": ["a S", "b S"]}',
	'{"name": "Idx", "type": "global", "partition_key": ["a S", "b S", "c S", "d S", "e S"]}',
	'{"name": "Idx", "type": "global", "partition_key": "v N", "projection": "INCLUDE"}',
	'{"name": "Idx", "type": "global", "partition_key": "v N", "read_capacity_units": "1"}', '{"name": "", "type": "global", "partition_key": "v N"}', 'x',
	'']) a, attempts(a) o;
SELECT attempts('{"settings": {"ttl_attribute": "' || repeat('x', 300) || '"}}');

-- the neighbour's lists have what is not broken
CALL forge(repeat('f', 63)::regclass, 'pk S', '{"settings": {"name": 1}}');
CALL forge('forged', 'pk S', '{"settings": {"ttl_attribute": "", "streams": [1]}}');
SET ROLE hostile_neighbour;
SELECT dyn_request('ListTables', '{}');
SELECT dyn_request('ListStreams', '{}');
SELECT count(*) FROM dyn_ttl_tables WHERE relation::text LIKE '%forged%';
SELECT dyn_get('honest', '{"pk":{"S":"a"}}');
SELECT dyn_get('forged', '{"pk":{"S":"a"}}');

-- Trigger functions on what is no table of items, or called as they must not be
SET ROLE hostile_owner;
CREATE TABLE other (item text, pk text PRIMARY KEY);
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON other FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S');
INSERT INTO other VALUES (repeat('x', 100), 'a');
DROP TRIGGER "~dynamo_keys" ON other;
CREATE TRIGGER t BEFORE INSERT OR UPDATE ON other FOR EACH ROW EXECUTE FUNCTION dynamo_internal.model_check('{}');
INSERT INTO other VALUES (repeat('x', 100), 'a');
DROP TRIGGER t ON other;
CREATE TRIGGER t BEFORE INSERT OR UPDATE OR DELETE ON other FOR EACH ROW EXECUTE FUNCTION dynamo_internal.entity_view_change();
INSERT INTO other VALUES (repeat('x', 100), 'a');
DROP TRIGGER t ON other;
CREATE TRIGGER t AFTER INSERT OR UPDATE OR DELETE ON other FOR EACH ROW EXECUTE FUNCTION dynamo_internal.migration_changed('none');
INSERT INTO other VALUES (repeat('x', 100), 'b');
DROP TRIGGER t ON other;
CREATE TRIGGER t AFTER INSERT OR UPDATE OR DELETE ON other FOR EACH ROW EXECUTE FUNCTION dynamo_internal.migration_changed();
INSERT INTO other VALUES (repeat('x', 100), 'a');
DROP TRIGGER t ON other;
CREATE TRIGGER t AFTER INSERT ON other FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S');
INSERT INTO other VALUES (repeat('x', 100), 'a');
CREATE VIEW plain AS SELECT item, pk FROM honest;
CREATE TRIGGER t INSTEAD OF INSERT OR UPDATE OR DELETE ON plain FOR EACH ROW EXECUTE FUNCTION dynamo_internal.entity_view_change();
INSERT INTO plain VALUES ('{"pk":{"S":"z"}}', 'z');
CREATE VIEW bad AS SELECT dynamo_internal.attribute(t.item, 'v', 'N', NULL::numeric) AS v FROM honest t
	WHERE dynamo_internal.is_entity(t.item, '[garbage', t.pk);
CREATE TRIGGER t INSTEAD OF INSERT OR UPDATE OR DELETE ON bad FOR EACH ROW EXECUTE FUNCTION dynamo_internal.entity_view_change();
INSERT INTO bad VALUES (1);
SELECT * FROM bad;
CREATE VIEW elsewhere AS SELECT dynamo_internal.attribute(t.item, 'v', 'N', NULL::numeric) AS v
	FROM (SELECT '{}'::dyn_item AS item, 'a' COLLATE "C" AS pk OFFSET 0) t
	WHERE dynamo_internal.is_entity(t.item, '{"entity":"X","keys":{"pk":"A"},"attributes":{}}', t.pk);
CREATE TRIGGER t INSTEAD OF INSERT OR UPDATE OR DELETE ON elsewhere FOR EACH ROW EXECUTE FUNCTION dynamo_internal.entity_view_change();
INSERT INTO elsewhere VALUES (1);

-- Keys keep no type or session's tables from being dropped: the temporary schema would be left to sessions of others
RESET ROLE;
CREATE SCHEMA hostile_types;
GRANT ALL ON SCHEMA hostile_types TO hostile_owner;
SET ROLE hostile_owner;
CREATE TABLE hostile_types.keyed (item dyn_item, pk text PRIMARY KEY);
CREATE DOMAIN hostile_types.key AS text;
ALTER TABLE hostile_types.keyed ALTER pk TYPE hostile_types.key;
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON hostile_types.keyed FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S');
CREATE TEMPORARY TABLE keyed (item dyn_item, pk text PRIMARY KEY);
CREATE DOMAIN pg_temp.key AS text;
ALTER TABLE pg_temp.keyed ALTER pk TYPE pg_temp.key;
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON pg_temp.keyed FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('not a key');
RESET ROLE;
DROP SCHEMA hostile_types CASCADE;
DISCARD TEMPORARY;

DROP SCHEMA hostile CASCADE;
RESET search_path;
DROP ROLE hostile_owner, hostile_neighbour;
