-- Errors that a call catches and goes on after leave it no rights of others
\pset format unaligned
\pset tuples_only on
\set VERBOSITY terse
CREATE ROLE caught_owner;
CREATE ROLE caught_writer;
CREATE SCHEMA caught;
GRANT ALL ON SCHEMA caught TO caught_owner, caught_writer;
-- of the administrator's
CREATE FUNCTION caught.share(i integer) RETURNS integer LANGUAGE sql SECURITY DEFINER AS 'SELECT 100 / i';

-- a declaration that cannot be read, which is read with the rights of the table's owner
SET ROLE caught_owner;
SELECT dyn_create_table('caught.items', 'pk S');
SELECT dyn_create_entity('caught.items', 'X', '{"pk": "X#<Id>"}', '{"Id": "S"}');
SECURITY LABEL FOR dynamo_table ON TABLE caught.items IS '{"entities": [{"entity": "X", "keys": {"pk": "X#<Id"}, "attributes": {"Id": "S"}}]}';
GRANT SELECT, INSERT, UPDATE ON caught.items TO caught_writer;
SET ROLE caught_writer;
BEGIN;
SELECT items, skipped FROM dyn_import_lines('caught.items', '{"pk":{"S":"X#1"}}', on_error => 'skip', from_keys => true);
SELECT current_user;
ROLLBACK;

-- a domain whose constraint calls what has other rights
CREATE FUNCTION caught.fits(i integer) RETURNS boolean LANGUAGE sql AS 'SELECT caught.share(i) > 0';
CREATE DOMAIN caught.fitting AS integer CHECK (caught.fits(VALUE));
SELECT dyn_create_table('caught.own', 'pk S');
SELECT dyn_create_entity('caught.own', 'X', '{"pk": "X#<Id>"}', '{"Id": "S", "n": "N caught.fitting"}');
SELECT dyn_enforce_entities('caught.own');
CREATE FUNCTION caught.import() RETURNS bigint LANGUAGE sql PARALLEL SAFE AS $$
	SELECT skipped FROM dyn_import_lines('caught.own', '{"pk":{"S":"X#1"},"Id":{"S":"1"},"Type":{"S":"X"},"n":{"N":"0"}}', on_error => 'skip') $$;
BEGIN;
SELECT caught.import();
SELECT current_user;
ROLLBACK;
-- of a migration
CREATE TABLE caught.source AS SELECT 1 AS id, 0 AS n;
ALTER TABLE caught.source ADD PRIMARY KEY (id);
SELECT dyn_create_migration('caught.own', 'caught', '[{"entity": "X", "from": "caught.source", "attributes": {"Id": "id", "n": "n"}}]');
BEGIN;
SELECT problem FROM dyn_preview_migration('caught');
SELECT current_user;
ROLLBACK;
-- where workers may run there cannot be a subtransaction
SELECT count(set_config(name, 'on', false)) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SET max_parallel_workers = 0;
BEGIN;
SELECT caught.import() FROM caught.source;
ROLLBACK;
RESET ROLE;
SET client_min_messages = warning;
DROP OWNED BY caught_owner, caught_writer CASCADE;
DROP SCHEMA caught CASCADE;
DROP ROLE caught_owner, caught_writer;
