-- What owners of schemas, tables, types and triggers cannot make of rights that the extension takes for a while.
\pset format unaligned
\pset tuples_only on
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE ROLE regress_victim SUPERUSER;
CREATE ROLE regress_eve;
DO $$ BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO regress_eve', current_database()); END $$;
CREATE SCHEMA eve AUTHORIZATION regress_eve;
CREATE FUNCTION gain() RETURNS int LANGUAGE plpgsql AS $$ BEGIN IF current_user <> 'regress_eve' THEN RAISE WARNING 'runs as %', current_user; END IF;
	RETURN 1; END $$;
CREATE PROCEDURE gain(int) LANGUAGE sql AS 'SELECT gain()';
CREATE FUNCTION nearer(int, int) RETURNS bool LANGUAGE sql AS 'SELECT gain() = 1';
CREATE OPERATOR <-> (FUNCTION = nearer, LEFTARG = int, RIGHTARG = int);

-- a schema that is renamed: names that the extension has noted are those of other relations then
CREATE SCHEMA shared AUTHORIZATION regress_eve;
CREATE SCHEMA planted AUTHORIZATION regress_eve;
SET ROLE regress_victim;
CREATE TABLE shared.theirs (id int PRIMARY KEY, v text);
INSERT INTO shared.theirs VALUES (1, 'a');
GRANT SELECT ON shared.theirs TO regress_eve;
SET ROLE regress_eve;
CREATE FUNCTION planted.swap() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	ALTER SCHEMA shared RENAME TO swapped;
	ALTER SCHEMA planted RENAME TO shared;
	RAISE WARNING 'swapped';
	RETURN 1;
EXCEPTION WHEN invalid_schema_name THEN
	RETURN 1;
END $$;
CREATE VIEW shared.first AS SELECT planted.swap() AS id, 'x'::text AS v;
CREATE VIEW planted.first AS SELECT 1 AS id, 'x'::text AS v;
CREATE VIEW planted.theirs AS SELECT public.gain() AS id, 'x'::text AS v;
GRANT USAGE ON SCHEMA planted TO PUBLIC;
GRANT SELECT ON ALL TABLES IN SCHEMA planted TO PUBLIC;
DO $$
BEGIN
	PERFORM dyn_propose_migration('x', '{shared.first,shared.theirs}');
EXCEPTION WHEN object_not_in_prerequisite_state THEN
	RAISE WARNING '%', regexp_replace(sqlerrm, '\d+', 'n');
END $$;
RESET ROLE;
-- what such statements are: they begin with the OID, and may name nothing else
DO $$
DECLARE
	statement text;
BEGIN
	FOREACH statement IN ARRAY ARRAY[
		'WITH w AS (SELECT v FROM shared.theirs) SELECT FROM w WHERE EXISTS (SELECT FROM shared.theirs UNION ALL SELECT FROM shared.theirs)',
		'SELECT FROM shared.first', 'DELETE FROM shared.theirs WHERE EXISTS (SELECT FROM shared.first)', 'WITH w AS (SELECT FROM shared.first) SELECT FROM w',
		'SELECT FROM (SELECT FROM shared.first) w', 'SELECT public.gain() FROM shared.theirs', 'SELECT FROM public.gain()',
		'SELECT FROM shared.theirs WHERE id OPERATOR(public.<->) 1', 'CALL public.gain(1)',
		'SELECT FROM shared.theirs WHERE dyn_to_value(v, ''S'') IS NOT NULL', 'INSERT INTO shared.first SELECT * FROM shared.theirs',
		'SELECT (SELECT id FROM shared.first) FROM shared.theirs'] LOOP
		BEGIN
			EXECUTE format('/* of relation %s */ %s', 'shared.theirs'::regclass::oid, statement);
			RAISE WARNING 'passes: %', statement;
		EXCEPTION WHEN object_not_in_prerequisite_state THEN
		END;
	END LOOP;
END $$;

-- an overload in the extension's schema, for a call of the extension's
SELECT dyn_create_table('detached', 'pk S') \g /dev/null
SELECT dyn_create_entity('detached', 'One', '{"pk": "ONE#<Id>"}', '{"Id": "S"}'), dyn_create_entity_view('detached', 'One') \g /dev/null
SELECT dyn_put('detached', '{"pk": "ONE#1", "Id": "1", "Type": "One"}'::jsonb) \g /dev/null
CREATE FUNCTION dyn_to_value(value text, type text) RETURNS dyn_value LANGUAGE plpgsql AS $$ BEGIN PERFORM gain(); RETURN NULL; END $$;
SELECT dyn_detach('detached', 'columns', dry_run => false) \g /dev/null
TABLE detached;
DROP FUNCTION dyn_to_value(text, text);
DROP TABLE detached CASCADE;
-- and others that literals without a type would be taken for
CREATE FUNCTION nearer(dyn_item, dyn_item) RETURNS bool LANGUAGE sql AS 'SELECT gain() = 1';
CREATE OPERATOR ? (FUNCTION = nearer, LEFTARG = dyn_item, RIGHTARG = dyn_item);
CREATE OPERATOR -> (FUNCTION = nearer, LEFTARG = dyn_item, RIGHTARG = dyn_item);
CREATE TABLE numbers AS SELECT i AS id FROM generate_series(1, 3) i;
ALTER TABLE numbers ADD PRIMARY KEY (id);
SELECT dyn_create_table('counted', 'pk S') \g /dev/null
SELECT dyn_create_entity('counted', 'One', '{"pk": "ONE#<Id>"}', '{"Id": "N integer"}') \g /dev/null
SELECT dyn_create_migration('counted', 'counted', '[{"entity": "One", "from": "public.numbers", "attributes": {"Id": "id"}}]') \g /dev/null
CALL dyn_migrate('counted');
SELECT dyn_put('counted', '{"pk": "wrong", "g": true}'::jsonb) \g /dev/null
CALL dyn_create_index('counted', 'g', 'g S', covering => true);
SELECT count(*) FROM dyn_index_violations('counted', 'g');
SELECT pages > 0 AS spread FROM dyn_table_statistics('counted') WHERE kind = 'table';
SELECT count(*) FROM dyn_verify_migration('counted');
DROP OPERATOR ? (dyn_item, dyn_item);
DROP OPERATOR -> (dyn_item, dyn_item);
DROP FUNCTION nearer(dyn_item, dyn_item);
DROP TABLE counted, numbers CASCADE;

-- a forged follower, and the type of a column: neither runs with the rights of a parent's owner, nor locks its rows
SET ROLE regress_victim;
SET search_path = public;
CREATE SCHEMA shop;
CREATE TABLE shop.parents (id int PRIMARY KEY, name text);
INSERT INTO shop.parents VALUES (1, 'Ada');
GRANT USAGE ON SCHEMA shop TO regress_eve;
GRANT SELECT ON shop.parents TO regress_eve;
SELECT dyn_create_table('shop.items', 'pk S', 'sk S') \g /dev/null
SELECT dyn_create_entity('shop.items', 'Parent', '{"pk": "PARENT#<Id>", "sk": "P"}', '{"Id": "N integer", "Name": "S"}') \g /dev/null
SELECT dyn_create_entity('shop.items', 'Order', '{"pk": "ORDER#<Id>", "sk": "O"}', '{"Id": "N integer", "Name": "S"}') \g /dev/null
SELECT dyn_create_migration('shop.items', 'shop', '[{"entity": "Parent", "from": "shop.parents"}]') \g /dev/null
CALL dyn_migrate('shop');
SELECT dyn_follow_migration('shop') \g /dev/null
SET ROLE regress_eve;
-- a migration of her own, with that name
CREATE TABLE eve.mine (id int PRIMARY KEY, parent int);
SELECT dyn_create_table('eve.items', 'pk S') \g /dev/null
SELECT dyn_create_entity('eve.items', 'Order', '{"pk": "ORDER#<Id>"}', '{"Id": "N integer", "Name": "S"}') \g /dev/null
SELECT dyn_create_migration('eve.items', 'shop',
	'[{"entity": "Order", "from": "eve.mine", "attributes": {"Id": "id"},
	"parents": {"p": {"from": "shop.parents", "on": {"id": "parent"}, "attributes": {"Name": "name"}}}}]') \g /dev/null
CREATE TRIGGER "~dynamo_follow_x" AFTER INSERT ON eve.mine REFERENCING NEW TABLE
	AS n FOR EACH STATEMENT EXECUTE FUNCTION dynamo_internal.migration_changed('shop');
INSERT INTO eve.mine VALUES (1, 1);
DROP TABLE eve.mine, eve.items;
SET ROLE regress_victim;
CREATE TABLE eve.orders (id int PRIMARY KEY, parent int);
ALTER TABLE eve.orders OWNER TO regress_eve;
SELECT dyn_follow_migration('shop', enabled => false) \g /dev/null
SELECT dyn_create_migration('shop.items', 'shop', '[{"entity": "Parent", "from": "shop.parents"},
	{"entity": "Order", "from": "eve.orders", "attributes": {"Id": "id"},
		"parents": {"p": {"from": "shop.parents", "on": {"id": "parent"}, "attributes": {"Name": "name"}}}}]') \g /dev/null
CALL dyn_migrate('shop');
SELECT dyn_follow_migration('shop') \g /dev/null
GRANT SELECT, INSERT, UPDATE, DELETE ON shop.items TO regress_eve;
SET ROLE regress_eve;
INSERT INTO eve.orders VALUES (1, 1);
CREATE TYPE eve.kind AS ENUM ('a');
CREATE FUNCTION eve.cast(eve.kind) RETURNS int LANGUAGE sql AS 'SELECT public.gain()';
CREATE CAST (eve.kind AS int) WITH FUNCTION eve.cast(eve.kind) AS IMPLICIT;
ALTER TABLE eve.orders ALTER parent TYPE eve.kind USING 'a';
INSERT INTO eve.orders VALUES (2, 'a');
ALTER TABLE eve.orders ALTER parent TYPE bigint USING 1;
INSERT INTO eve.orders VALUES (3, 1);
CREATE DOMAIN eve.number AS int CHECK (public.gain() = 1);
ALTER TABLE eve.orders ALTER parent TYPE eve.number;
INSERT INTO eve.orders VALUES (4, 1);
SELECT item ->> 'Name' FROM shop.items WHERE sk = 'O' ORDER BY pk;
-- code that the analysis of a declaration's SQL runs
CREATE DOMAIN eve.told AS int CHECK (public.gain() = 1);
CREATE TABLE eve.rows (id int PRIMARY KEY, name text);
SELECT dyn_create_table('eve.items', 'pk S') \g /dev/null
SELECT dyn_create_entity('eve.items', 'One', '{"pk": "ONE#<Id>"}', '{"Id": "N integer", "Name": "S"}') \g /dev/null
SELECT dyn_create_migration('eve.items', 'query',
	'[{"entity": "One", "query": "SELECT id, name FROM eve.rows WHERE ''{1}''::eve.told[] IS NOT NULL", "key": ["id"],
	"attributes": {"Id": "id", "Name": "name"}}]') \g /dev/null
SELECT dyn_create_migration('eve.items', 'expression',
	'[{"entity": "One", "from": "eve.rows", "attributes": {"Id": "id", "Name": "name || (''{1}''::eve.told[])::text"}}]') \g /dev/null
SET ROLE regress_victim;
SELECT count(*) FROM dyn_preview_migration('query');
SELECT count(*) FROM dynamo_internal.migration_items('query');
SELECT dyn_follow_migration('expression') \g /dev/null
RESET ROLE;

-- a type of an attribute is known by its name: the owner of its schema can put another one there
RESET ROLE;
CREATE SCHEMA typed AUTHORIZATION regress_eve;
SET ROLE regress_victim;
CREATE DOMAIN typed.mail AS text CHECK (value LIKE '%@%');
SELECT dyn_create_table('typed', 'pk S') \g /dev/null
SELECT dyn_create_entity('typed', 'One', '{"pk": "ONE#<Id>"}', '{"Id": "S", "Mail": "S typed.mail", "Mails": "SS typed.mail[]"}') \g /dev/null
SELECT dyn_put_entity('typed', 'One', '{"Id": "1", "Mail": "a@b"}'::jsonb) \g /dev/null
SET ROLE regress_eve;
DROP DOMAIN typed.mail;
CREATE DOMAIN typed.mail AS text CHECK (public.gain() = 1);
SET ROLE regress_victim;
SELECT dyn_put_entity('typed', 'One', '{"Id": "1", "Mail": "a@b"}'::jsonb);
SELECT dyn_create_entity('typed', 'Two', '{"pk": "TWO#<Id>"}', '{"Id": "S", "Mails": "SS typed.mail[]"}');
SELECT * FROM dyn_check_entities('typed');
ALTER TABLE typed OWNER TO regress_eve;
RESET ROLE;
SELECT * FROM dyn_check_entities('typed');
DROP TABLE typed;

-- a view that is there already, of a role that may create some in the schema of the table
RESET ROLE;
CREATE SCHEMA viewed;
GRANT CREATE, USAGE ON SCHEMA viewed TO regress_eve;
SET ROLE regress_victim;
SELECT dyn_create_table('viewed.items', 'pk S') \g /dev/null
SELECT dyn_create_entity('viewed.items', 'One', '{"pk": "ONE#<Id>"}', '{"Id": "S"}') \g /dev/null
SET ROLE regress_eve;
CREATE VIEW viewed."One" AS SELECT dynamo_internal.attribute(t.item, 'Id', 'S', NULL::text) AS "Id" FROM viewed.items t
	WHERE dynamo_internal.is_entity(t.item, '{"entity": "One", "type_attribute": "Type", "type": "One", "keys": {"pk": "ONE#<Id>"}, "attributes": {"Id": "S"}}',
		t.pk);
CREATE FUNCTION viewed.gain() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM public.gain(); RETURN NEW; END $$;
CREATE TRIGGER a INSTEAD OF INSERT ON viewed."One" FOR EACH ROW EXECUTE FUNCTION viewed.gain();
SET ROLE regress_victim;
SELECT dyn_create_entity_view('viewed.items', 'One');
DROP VIEW viewed."One";
SELECT dyn_create_entity_view('viewed.items', 'One');
RESET ROLE;
SELECT dyn_create_entity_view('viewed.items', 'One');
DROP SCHEMA viewed CASCADE;

-- arguments of a trigger that are too long are no declaration: nobody unpacks them
SET ROLE regress_eve;
CREATE TABLE eve.long (item dyn_item NOT NULL, pk text COLLATE "C" PRIMARY KEY);
DO $$ BEGIN
	EXECUTE format('CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON eve.long FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys(%L, %L)',
		'{"ttl_attribute": "a"}', repeat('x', 2000000));
END $$;
SET search_path = eve, public;
SELECT item ->> 'TableNames' FROM dyn_request('ListTables', '{}') AS r, LATERAL (SELECT r::jsonb AS item) x;
RESET search_path;

-- what a role has begun behind policies is not all
RESET ROLE;
SELECT dyn_create_table('hidden', 'pk S', 'sk N') \g /dev/null
SELECT count(dyn_put('hidden', jsonb_build_object('pk', 'p', 'sk', i, 'own', CASE WHEN i % 10 = 0 THEN 'eve' ELSE 'other' END))) FROM generate_series(1, 100) i;
ALTER TABLE hidden ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON hidden USING (item ->> 'own' = 'eve');
GRANT SELECT, INSERT, UPDATE, DELETE ON hidden TO regress_eve;
SET ROLE regress_eve;
SET statement_timeout = '500ms';
CALL dyn_backfill('hidden', 'SET done = :t', 'attribute_exists(pk)', vals => '{":t": {"S": "y"}}', batch_size => 1, max_rate => 1);
RESET statement_timeout;
RESET ROLE;
CALL dyn_backfill('hidden', 'SET done = :t', 'attribute_exists(pk)', vals => '{":t": {"S": "y"}}');
SELECT count(*), count(item ->> 'done') FROM hidden;

DROP OWNED BY regress_eve, regress_victim CASCADE;
DROP TABLE hidden;
DROP OPERATOR <-> (int, int);
DROP FUNCTION nearer(int, int);
DROP PROCEDURE gain(int);
DROP FUNCTION gain();
DROP ROLE regress_eve, regress_victim;
