-- Any role can declare a migration of any name: it is never in the way of those of other roles
\pset format unaligned
\pset tuples_only on
SET client_min_messages = error;
CREATE ROLE name_owner;
CREATE ROLE name_deputy IN ROLE name_owner;
CREATE ROLE name_stranger;
CREATE ROLE name_mallory;
CREATE SCHEMA mno AUTHORIZATION name_owner;
CREATE SCHEMA mnm AUTHORIZATION name_mallory;
GRANT USAGE ON SCHEMA mno, mnm TO PUBLIC;
SET ROLE name_owner;
CREATE TABLE mno.rows (id int PRIMARY KEY, v text NOT NULL);
INSERT INTO mno.rows VALUES (1, 'a');
SELECT dyn_create_table('mno.items', 'pk S');
SELECT dyn_create_entity('mno.items', 'Row', '{"pk": "ROW#<Id>"}', '{"Id": "N integer", "V": "S text"}');
SELECT dyn_create_migration('mno.items', 'shop', '[{"entity": "Row", "from": "mno.rows"}]');
-- the name is free for another role, which grants all that it can to everybody
SET ROLE name_mallory;
CREATE TABLE mnm.rows (id int PRIMARY KEY, v text NOT NULL);
INSERT INTO mnm.rows VALUES (666, 'm');
SELECT dyn_create_table('mnm.items', 'pk S');
SELECT dyn_create_entity('mnm.items', 'Row', '{"pk": "ROW#<Id>"}', '{"Id": "N integer", "V": "S text"}');
SELECT dyn_create_migration('mnm.items', 'shop', '[{"entity": "Row", "from": "mnm.rows"}]');
GRANT ALL ON mnm.items, mnm.rows TO PUBLIC;
-- whoever has the rights of one owner has that owner's, whatever the session has read
SELECT source_row FROM dynamo_internal.migration_items('shop');
SET ROLE name_deputy;
SELECT source_row FROM dynamo_internal.migration_items('shop');
SET ROLE name_owner;
SELECT source_row FROM dynamo_internal.migration_items('shop');
SELECT count(*) FROM dyn_verify_migration('shop');
SELECT count(*) FROM dyn_preview_migration('shop');
CALL dyn_migrate('shop');
SELECT dyn_follow_migration('shop');
SET ROLE name_mallory;
SELECT dyn_follow_migration('shop');
SET ROLE name_deputy;
INSERT INTO mno.rows VALUES (2, 'b');
INSERT INTO mnm.rows VALUES (667, 'n');
RESET ROLE;
SELECT pk FROM mno.items ORDER BY pk;
SELECT pk FROM mnm.items ORDER BY pk;
SET ROLE name_deputy;
SELECT dyn_follow_migration('shop', enabled => false);
RESET ROLE;
\c -
\pset format unaligned
\pset tuples_only on
SET client_min_messages = error;
SET ROLE name_deputy;
INSERT INTO mno.rows VALUES (3, 'c');
INSERT INTO mnm.rows VALUES (668, 'o');
RESET ROLE;
SELECT pk FROM mno.items ORDER BY pk;
SELECT pk FROM mnm.items ORDER BY pk;
-- a stranger has none
SET ROLE name_stranger;
CALL dyn_migrate('shop');
SELECT dyn_drop_migration('shop');
-- who has the rights of both owners takes those of one
RESET ROLE;
CALL dyn_migrate('shop');
SELECT dyn_create_table('shop_of_superuser', 'pk S');
SELECT dyn_create_entity('shop_of_superuser', 'Row', '{"pk": "ROW#<Id>"}', '{"Id": "N integer", "V": "S text"}');
SELECT dyn_create_migration('shop_of_superuser', 'shop', '[{"entity": "Row", "from": "mno.rows"}]');
CALL dyn_migrate('shop');
SELECT count(*) FROM shop_of_superuser;
SELECT dyn_follow_migration('shop');
DROP TABLE shop_of_superuser;
SET ROLE name_mallory;
SELECT dyn_follow_migration('shop', enabled => false);
-- what is noted is told of the own one
SET ROLE name_owner;
SELECT dyn_create_migration('mno.items', 'tale', '[{"entity": "Row", "from": "mno.rows", "attributes": {"Id": "nullif(id, 1)"}}]');
CALL dyn_migrate('tale');
SET ROLE name_mallory;
SELECT dyn_create_migration('mnm.items', 'tale', '[{"entity": "Row", "from": "mnm.rows", "attributes": {"Id": "nullif(id, 666)"}}]');
CALL dyn_migrate('tale');
SELECT source_row FROM dyn_job_problems WHERE name = 'tale';
SET ROLE name_owner;
SELECT source_row FROM dyn_job_problems WHERE name = 'tale';
-- a name that others have is proposed
SET ROLE name_mallory;
SELECT dyn_create_migration('mnm.items', 'proposed', '[{"entity": "Row", "from": "mnm.rows"}]');
SET ROLE name_owner;
SELECT substring(line FROM 'dyn_create_migration\([^\n]*') FROM dyn_propose_migration('proposed', '{mnm.rows}') line WHERE line LIKE '%dyn_create_migration(%';
SET ROLE name_mallory;
SELECT substring(line FROM 'dyn_create_migration\([^\n]*') FROM dyn_propose_migration('proposed', '{mnm.rows}') line WHERE line LIKE '%dyn_create_migration(%';
-- two of one owner's, which labels by hand can make, are told
SET ROLE name_owner;
SELECT dyn_create_table('mno.more', 'pk S');
SELECT dyn_create_entity('mno.more', 'Row', '{"pk": "ROW#<Id>"}', '{"Id": "N integer", "V": "S text"}');
SELECT dyn_create_migration('mno.more', 'shop', '[{"entity": "Row", "from": "mno.rows"}]');
SELECT dyn_create_migration('mno.more', 'shop2', '[{"entity": "Row", "from": "mno.rows"}]');
DO $$ BEGIN
	EXECUTE format('SECURITY LABEL FOR dynamo_table ON TABLE mno.more IS %L',
		(SELECT replace(label, 'shop2', 'shop') FROM pg_seclabels WHERE objoid = 'mno.more'::regclass));
END $$;
SELECT dyn_drop_migration('shop');
DROP TABLE mno.more;
SELECT dyn_drop_migration('shop');
RESET ROLE;
DROP SCHEMA mno CASCADE;
DROP SCHEMA mnm CASCADE;
DROP OWNED BY name_owner, name_deputy, name_mallory, name_stranger;
DROP ROLE name_owner, name_deputy, name_mallory, name_stranger;
