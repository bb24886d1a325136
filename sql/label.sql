-- What is said about a table is its security label: who may write it, what it must be, and what a bad one stops.
CREATE SCHEMA label;
\set SHOW_CONTEXT never
SET search_path = label, public;
CREATE ROLE label_owner;
CREATE ROLE label_other;
GRANT USAGE, CREATE ON SCHEMA label TO label_owner, label_other;
SET ROLE label_owner;
SELECT dyn_create_table('app', 'pk S', 'sk S', global_indexes => '{"GSI1": {"partition_key": "g S"}}');
CREATE FUNCTION label(t regclass) RETURNS jsonb LANGUAGE sql STABLE AS $$ SELECT label::jsonb FROM pg_seclabels WHERE provider = 'dynamo_table'
	AND objoid = t $$;
SELECT label('app') IS NULL AS nothing;
SELECT dyn_create_entity('app', 'Org', '{"pk": "ORG#<Id>", "sk": "ORG#<Id>"}', '{"Id": "S"}');
SELECT dyn_create_entity('app', 'User', '{"pk": "ORG#<Org>", "sk": "USER#<Name>"}', '{"Org": "S", "Name": "S"}');
SELECT dyn_create_access_pattern('app', 'users of an org', 'Query',
	'{"KeyConditionExpression": "pk = :pk", "ExpressionAttributeValues": {":pk": {"S": "ORG#<Org>"}}}', 'User');
SELECT jsonb_pretty(label('app'));
SELECT count(*) AS triggers FROM pg_trigger WHERE tgrelid = 'app'::regclass;
-- what is there stays as it is written, and in its order; a member that is not known is kept
SECURITY LABEL FOR dynamo_table ON TABLE app IS
	'{"later": {"b": 1.50, "a": [1]}, "entities": [{"entity": "Org", "keys": {"pk": "ORG#<Id>", "sk": "ORG#<Id>"}, "attributes": {"Id": "S"}}]}';
SELECT dyn_create_entity('app', 'User', '{"pk": "ORG#<Org>", "sk": "USER#<Name>"}', '{"Org": "S", "Name": "S"}');
SELECT label FROM pg_seclabels WHERE objoid = 'app'::regclass;
SELECT dyn_drop_entity('app', 'Org'), dyn_drop_entity('app', 'User');
SELECT label FROM pg_seclabels WHERE objoid = 'app'::regclass;
SECURITY LABEL FOR dynamo_table ON TABLE app IS NULL;
SELECT dyn_create_entity('app', 'Org', '{"pk": "ORG#<Id>", "sk": "ORG#<Id>"}', '{"Id": "S"}');
SELECT dyn_drop_entity('app', 'Org');
SELECT label('app') IS NULL AS nothing;

-- it goes with the table wherever that goes
SELECT dyn_create_entity('app', 'Org', '{"pk": "ORG#<Id>", "sk": "ORG#<Id>"}', '{"Id": "S"}');
BEGIN;
SELECT dyn_create_entity('app', 'User', '{"pk": "ORG#<Org>", "sk": "USER#<Name>"}', '{"Org": "S", "Name": "S"}');
SELECT dyn_entity_keys('app', 'User', jsonb '{"Org": "a", "Name": "b"}');
ROLLBACK;
SELECT entity FROM dyn_entities('app');
ALTER TABLE app RENAME TO renamed;
SELECT dyn_entity_keys('renamed', 'Org', jsonb '{"Id": "a"}');
ALTER TABLE renamed RENAME TO app;
CREATE TABLE copied (LIKE app INCLUDING ALL);
SELECT label('copied') IS NULL AS nothing;
DROP TABLE copied;

-- who may write it
SET ROLE label_other;
SECURITY LABEL FOR dynamo_table ON TABLE app IS '{}';
SELECT dyn_create_entity('app', 'Mine', '{"pk": "<Id>", "sk": "<Id>"}', '{"Id": "S"}');
SELECT label('app') IS NOT NULL AS anybody_may_read;
SET ROLE label_owner;
-- what it must be
SECURITY LABEL FOR dynamo_table ON TABLE app IS 'nonsense';
SECURITY LABEL FOR dynamo_table ON TABLE app IS '';
SECURITY LABEL FOR dynamo_table ON TABLE app IS '[]';
SECURITY LABEL FOR dynamo_table ON TABLE app IS '{"entities": {}}';
SECURITY LABEL FOR dynamo_table ON TABLE app IS '{"entities": [1]}';
SECURITY LABEL FOR dynamo_table ON TABLE app IS '{"settings": []}';
SECURITY LABEL FOR dynamo_table ON TABLE app IS '{"settings": {}, "settings": {}}';
SECURITY LABEL FOR dynamo_table ON TABLE app IS '{"entities": [{}, 1]}';
SECURITY LABEL FOR dynamo_table ON TABLE app IS '{"\ud800": 1}';
SECURITY LABEL FOR dynamo_table ON COLUMN app.item IS '{}';
CREATE VIEW seen AS SELECT 1 AS a;
SECURITY LABEL FOR dynamo_table ON VIEW seen IS '{}';
SECURITY LABEL FOR dynamo_table ON SCHEMA label IS '{}';
RESET ROLE;
SECURITY LABEL FOR dynamo_table ON SCHEMA label IS '{}';
SECURITY LABEL FOR dynamo_table ON ROLE label_owner IS '{}';
DO $$ BEGIN EXECUTE format('SECURITY LABEL FOR dynamo_table ON TABLE label.app IS %L', json_build_object('later', repeat('x', 1024 * 1024))); END $$;
DO $$ BEGIN EXECUTE format('SECURITY LABEL FOR dynamo_table ON TABLE label.app IS %L', repeat('{"a":', 100) || '1' || repeat('}', 100)); END $$;
SET ROLE label_owner;
-- it may be longer than an item, and what a later version has in it may be what no item has
DO $$ BEGIN EXECUTE format('SECURITY LABEL FOR dynamo_table ON TABLE label.app IS %L',
	json_build_object('migrations', ARRAY[json_build_object('migration', repeat('x', 1000 * 1024))])); END $$;
SELECT length(label) FROM pg_seclabels WHERE objoid = 'app'::regclass;
SECURITY LABEL FOR dynamo_table ON TABLE app IS '{"": 1e999, "entities\u0000": 1, "later": {"a": 1, "a": 2}}';
SELECT dyn_create_entity('app', 'Org', '{"pk": "ORG#<Id>", "sk": "ORG#<Id>"}', '{"Id": "S"}');
SELECT label FROM pg_seclabels WHERE objoid = 'app'::regclass;
SELECT entity FROM dyn_entities('app');

-- a label that means nothing stops the calls that need it, and no other
SECURITY LABEL FOR dynamo_table ON TABLE app IS
	'{"entities": [{"entity": "Org", "keys": 1}, {}], "access_patterns": [{"pattern": "a"}], "migrations": [{"migration": "m", "steps": 1}]}';
SELECT dyn_put('app', jsonb '{"pk": "a", "sk": "b", "g": "c"}');
SELECT count(*) FROM dyn_query('app', 'g = :g', vals => '{":g": {"S": "c"}}', index_name => 'GSI1');
SELECT dyn_describe_table('app') ->> 'TableName' AS described;
SELECT count(*) FROM dyn_jobs WHERE relation = 'app'::regclass;
SELECT dyn_entity_keys('app', 'Org', jsonb '{"Id": "a"}');
SELECT * FROM dyn_entities('app');
SELECT dyn_create_entity('app', 'Org', '{"pk": "ORG#<Id>", "sk": "ORG#<Id>"}', '{"Id": "S"}');
SELECT * FROM dyn_access_patterns('app');
SELECT dyn_run_access_pattern('app', 'a');
CALL dyn_migrate('m');
SELECT object, problem FROM dyn_check_table('app');
SECURITY LABEL FOR dynamo_table ON TABLE app IS NULL;
SELECT object, problem FROM dyn_check_table('app');

-- so with settings that cannot be read
CREATE FUNCTION attempt(query text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE query;
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE FUNCTION attempts(settings text) RETURNS TABLE (described text, put text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SECURITY LABEL FOR dynamo_table ON TABLE app IS %L', format('{"settings": %s}', settings));
	RETURN QUERY SELECT attempt($s$SELECT dyn_describe_table('app')$s$), attempt($s$SELECT dyn_put('app', jsonb '{"pk": "a", "sk": "b"}')$s$);
END $$;
SELECT s, a.* FROM unnest(ARRAY['{}', '{"billing_mode": "FREE"}', '{"billing_mode": 1}', '{"created": "now"}', '{"created": 1e100}',
	'{"read_capacity_units": -1}', '{"read_capacity_units": 1e30}', '{"deletion_protection": 1}', '{"table_class": ""}',
	'{"tags": ["a"]}', '{"tags": {"a": 1}}', '{"tags": {}}', '{"global_indexes": []}', '{"global_indexes": {"GSI1": 1}}',
	'{"global_indexes": {"GSI1": {"read_capacity_units": "1"}}}', '{"global_indexes": {"gone": {"read_capacity_units": 1}}}', '{"unknown": 1}']) s, attempts(s) a;
SELECT object, problem FROM dyn_check_table('app');
SELECT dyn_drop_table('app');
SECURITY LABEL FOR dynamo_table ON TABLE app IS '{"later": 1, "settings": {"deletion_protection": true}}';
SELECT dyn_drop_table('app');
SELECT dyn_alter_table('app', '{"deletion_protection": false, "tags": {"a": "\\b\"c"}}');
SELECT label FROM pg_seclabels WHERE objoid = 'app'::regclass;
SELECT dyn_alter_table('app', '{"tags": {"a": null}}');
SELECT label FROM pg_seclabels WHERE objoid = 'app'::regclass;
SECURITY LABEL FOR dynamo_table ON TABLE app IS NULL;

-- one that cannot be read keeps no list from showing the others, in parallel queries either
SECURITY LABEL FOR dynamo_table ON TABLE app IS '{"settings": {"billing_mode": 5}}';
SELECT dyn_create_table('other', 'pk S');
SELECT table_name, partition_key, indexes, items FROM dyn_tables WHERE schema_name = 'label' ORDER BY 1;
SECURITY LABEL FOR dynamo_table ON TABLE app IS NULL;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT count(*) > 0 AS listed FROM pg_class, dyn_tables;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
DROP TABLE other;

-- a table that is none of ours may have one: it says nothing
CREATE TABLE plain (a int);
SECURITY LABEL FOR dynamo_table ON TABLE plain IS '{"entities": []}';
SELECT * FROM dyn_entities('plain');

-- partitions have what is said of the whole
CREATE TABLE whole (item dyn_item NOT NULL, pk text COLLATE "C" NOT NULL, PRIMARY KEY (pk),
	CONSTRAINT dynamo_keys CHECK (dynamo_internal.keys_match(item, '{"pk S"}', pk))) PARTITION BY HASH (pk);
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON whole FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S');
CREATE TABLE part0 PARTITION OF whole FOR VALUES WITH (MODULUS 1, REMAINDER 0) USING dynamo_table;
SELECT dyn_create_entity('whole', 'E', '{"pk": "E#<n>"}', '{"n": "N"}', NULL), dyn_enforce_entities('whole');
SELECT dyn_put('part0', jsonb '{"pk": "E#1", "n": 1}') IS NULL AS put;
SELECT dyn_put('whole', jsonb '{"pk": "F#1", "n": 1}');
SELECT dyn_create_entity('whole', 'F', '{"pk": "F#<n>"}', '{"n": "N"}', NULL);
SELECT dyn_put('whole', jsonb '{"pk": "F#1", "n": 1}');
SELECT dyn_create_entity('part0', 'G', '{"pk": "G#<n>"}', '{"n": "N"}');
SELECT dyn_enforce_entities('part0', false);
DROP TABLE whole;

RESET ROLE;
SET client_min_messages = warning;
DROP SCHEMA label CASCADE;
DROP OWNED BY label_owner, label_other;
DROP ROLE label_owner, label_other;
