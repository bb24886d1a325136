-- Who may execute what of the extension: PUBLIC gets what is for everybody, which sql/surface.sql lists, and of what is
-- internal only what constraints, triggers, views and the statements of stores and planner call with a user's privileges.
\set SHOW_CONTEXT never
CREATE ROLE regress_nobody;
CREATE TEMP VIEW ours AS SELECT p.oid, p.oid::regprocedure::text AS routine, p.pronamespace = 'dynamo_internal'::regnamespace AS internal,
		p.prorettype = 'trigger'::regtype AS trigger, has_function_privilege('regress_nobody', p.oid, 'EXECUTE') AS public
	FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
		JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND e.extname = 'dynamo_table';
SELECT routine FROM ours WHERE NOT public ORDER BY routine COLLATE "C";
SELECT routine, trigger FROM ours WHERE public AND internal ORDER BY routine COLLATE "C";

-- an owner who is no superuser, and one who may write: tables, views and lists work for both, with what PUBLIC may execute
CREATE ROLE regress_rights_owner;
CREATE ROLE regress_rights_writer;
CREATE SCHEMA rights AUTHORIZATION regress_rights_owner;
GRANT USAGE ON SCHEMA rights TO PUBLIC;
SET ROLE regress_rights_owner;
SET search_path = rights, public;
SELECT dyn_create_table('app', 'pk S', 'sk S', global_indexes => '{"GSI1": {"partition_key": "g S"}}');
SELECT dyn_create_entity('app', 'Org', '{"pk": "ORG#<OrgId>", "sk": "ORG"}', '{"OrgId": "S", "Name": "S"}');
SELECT dyn_create_entity_view('app', 'Org');
SELECT dyn_enforce_entities('app');
GRANT SELECT, INSERT, UPDATE, DELETE ON app, "Org" TO regress_rights_writer;
SET ROLE regress_rights_writer;
SELECT dyn_put_entity('app', 'Org', '{"OrgId": "1", "Name": "one"}'::jsonb);
INSERT INTO app (item) VALUES ('{"pk":{"S":"ORG#2"},"sk":{"S":"ORG"},"OrgId":{"S":"2"},"Type":{"S":"Org"}}');
INSERT INTO "Org" ("OrgId", "Name") VALUES ('3', 'three');
UPDATE "Org" SET "Name" = 'ONE' WHERE "OrgId" = '1';
SET enable_seqscan = off;
SELECT "OrgId", "Name" FROM (VALUES ('1'), ('3')) v (id) JOIN "Org" ON "OrgId" = id;
RESET enable_seqscan;
SELECT "OrgId", "Name" FROM "Org" ORDER BY 1;
BEGIN;
SET LOCAL dynamo_table.direct_store = off;
SELECT dyn_update('app', '{"pk":{"S":"ORG#2"},"sk":{"S":"ORG"}}', 'SET #n = :n', names => '{"#n": "Name"}', vals => '{":n":{"S":"two"}}',
	return_values => 'ALL_NEW');
COMMIT;
-- nobody is told anything of it by what is internal
SET ROLE regress_nobody;
SELECT * FROM dynamo_internal.ttl_due('app', 0);
SELECT * FROM dynamo_internal.ttl_tables() WHERE relation = 'app'::regclass;
SELECT * FROM dynamo_internal.stream_tables() WHERE relation = 'app'::regclass;
SELECT dynamo_internal.migration_key('nothing', '{}', true);
SELECT dynamo_internal.store_change(1, '{}');
SELECT dynamo_internal.derive_keys();
SELECT dynamo_internal.model_check();
SELECT dynamo_internal.entity_view_change();
SELECT dynamo_internal.migration_changed();
SELECT dynamo_internal.migration_truncated();
-- operators, and what has no operator's name
SELECT '{"a": {"N": "1"}}'::dyn_item < '{"a": {"N": "2"}}'::dyn_item AS lt, i <= i AS le, i > i AS gt, i >= i AS ge, greatest(i, i) = i AS eq
	FROM (SELECT '{}'::dyn_item) v (i);
SELECT v < v AS lt, v <= v AS le, v > v AS gt, v >= v AS ge, least(v, v) <> v AS ne FROM (SELECT '{"N": "1"}'::dyn_value) t (v);
SELECT v = 1 AS eq, v <> 1 AS ne, v < 1 AS lt, v <= 1 AS le, v > 1 AS gt, v >= 1 AS ge FROM (SELECT '{"N": "1"}'::dyn_value OFFSET 0) t (v);
-- what stands before pg_catalog on the search_path has no say
RESET ROLE;
CREATE SCHEMA hostile;
CREATE FUNCTION hostile.taken() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'an operator was looked up on the search_path'; END $$;
CREATE FUNCTION hostile.eq(oid, oid) RETURNS boolean LANGUAGE sql AS 'SELECT hostile.taken()';
CREATE FUNCTION hostile.eq(name, name) RETURNS boolean LANGUAGE sql AS 'SELECT hostile.taken()';
CREATE FUNCTION hostile.eq(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT hostile.taken()';
CREATE OPERATOR hostile.= (LEFTARG = oid, RIGHTARG = oid, FUNCTION = hostile.eq);
CREATE OPERATOR hostile.= (LEFTARG = name, RIGHTARG = name, FUNCTION = hostile.eq);
CREATE OPERATOR hostile.= (LEFTARG = text, RIGHTARG = text, FUNCTION = hostile.eq);
CREATE FUNCTION hostile.plus(integer, integer) RETURNS integer LANGUAGE sql AS 'SELECT hostile.taken()::integer';
CREATE OPERATOR hostile.+ (LEFTARG = integer, RIGHTARG = integer, FUNCTION = hostile.plus);
SET client_min_messages = error;
SET search_path = hostile, rights, pg_catalog;
SELECT count(*) FROM public.dyn_table_statistics('app');
SELECT public.dyn_request('ListTables', '{}');
SELECT public.dyn_query('app', 'pk = :p', vals => '{":p":{"S":"ORG#2"}}');
SELECT "Name" FROM "Org" WHERE "OrgId" OPERATOR(pg_catalog.=) '3';
SELECT count(*) FROM public.dyn_check_entities('app');
DROP SCHEMA hostile CASCADE;
RESET search_path;
-- code of users in a table runs as the caller, who needs the right to execute it where a row is written; who may only delete
-- asks for no lock on what is not there
SET ROLE regress_rights_owner;
SELECT public.dyn_create_table('rights.coded', 'pk S');
SELECT public.dyn_put('rights.coded', '{"pk":{"S":"a"}}');
CREATE FUNCTION rights.allowed() RETURNS boolean LANGUAGE sql AS 'SELECT true';
REVOKE EXECUTE ON FUNCTION rights.allowed() FROM PUBLIC;
ALTER TABLE rights.coded ADD CONSTRAINT allowed CHECK (rights.allowed());
GRANT SELECT, INSERT, UPDATE, DELETE ON rights.coded TO regress_rights_writer;
GRANT SELECT, DELETE ON rights.coded TO regress_nobody;
GRANT USAGE ON SCHEMA rights TO regress_nobody;
SET ROLE regress_rights_writer;
SELECT public.dyn_put('rights.coded', '{"pk":{"S":"b"}}');
SELECT public.dyn_update('rights.coded', '{"pk":{"S":"a"}}', 'SET n = :n', vals => '{":n":{"N":"1"}}');
SELECT public.dyn_update('rights.coded', '{"pk":{"S":"a"}}', 'SET n = :n', 'attribute_exists(n)', vals => '{":n":{"N":"1"}}');
SELECT public.dyn_update('rights.coded', '{"pk":{"S":"b"}}', 'REMOVE n');
SET ROLE regress_nobody;
SELECT public.dyn_delete('rights.coded', '{"pk":{"S":"b"}}');
SELECT public.dyn_delete('rights.coded', '{"pk":{"S":"a"}}', return_values => 'ALL_OLD');
RESET ROLE;
-- the owner of a schema may drop what others have made in it, and does not read it for that
CREATE SCHEMA rights_theirs AUTHORIZATION regress_rights_owner;
GRANT ALL ON SCHEMA rights_theirs TO regress_rights_writer;
SET ROLE regress_rights_writer;
SELECT dyn_create_table('rights_theirs.' || name, 'pk S') FROM (VALUES ('one'), ('two')) names (name);
SET ROLE regress_nobody;
SELECT dyn_drop_table('rights_theirs.one');
SET ROLE regress_rights_owner;
SELECT dyn_scan('rights_theirs.one');
SELECT dyn_drop_table('rights_theirs.one');
SELECT dyn_request('DeleteTable', '{"TableName": "rights_theirs.two"}') -> 'TableDescription' ->> 'TableStatus';
RESET ROLE;
DROP SCHEMA rights_theirs;
DROP SCHEMA rights CASCADE;
RESET client_min_messages;
DROP ROLE regress_rights_owner, regress_rights_writer, regress_nobody;
