-- Needs logical decoding.
SELECT current_setting('wal_level') <> 'logical' AS skipped \gset
\if :skipped
\echo skipped: wal_level is not logical
\quit
\endif
-- Rights around change streams: whose code runs, who sees what, and who can stand in everybody's way; docs/semantics.md, ST01, ST09, ST10.
\set VERBOSITY terse
SET client_min_messages = warning;

-- default privileges from before the extension was there give nobody a right on its tables, or on internal functions that not
-- everybody may execute, nor can anybody create functions beside these; they hold for functions that users call
CREATE ROLE rights_reader;
CREATE ROLE rights_all;
CREATE DATABASE stream_rights;
SELECT current_database() AS here \gset
\c stream_rights
\set VERBOSITY terse
SET client_min_messages = warning;
\set service stream_collector
\set ECHO none
\i test/sql/switch_off.sql
\set ECHO all
ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC, rights_reader;
ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO rights_all;
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO rights_all;
ALTER DEFAULT PRIVILEGES GRANT ALL ON SCHEMAS TO PUBLIC, rights_all;
CREATE EXTENSION dynamo_table;
SELECT count(*) > 6 AS some, bool_and(NOT EXISTS (SELECT FROM aclexplode(c.relacl) a WHERE a.grantee <> c.relowner)) AS owned, bool_and(relrowsecurity)
	AS secured
	FROM pg_depend d JOIN pg_class c ON c.oid = d.objid WHERE d.classid = 'pg_class'::regclass AND d.deptype = 'e' AND c.relkind IN ('r', 'p')
		AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'dynamo_table');
SELECT p.oid::regprocedure FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
	JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'dynamo_table'
	WHERE pronamespace = 'dynamo_internal'::regnamespace
		AND has_function_privilege('rights_all', p.oid, 'EXECUTE') AND NOT has_function_privilege('rights_reader', p.oid, 'EXECUTE');
SELECT has_function_privilege(role, 'dyn_request(text, text)', 'EXECUTE') FROM unnest('{rights_reader, rights_all}'::text[]) role;
SELECT has_schema_privilege(role, 'dynamo_internal', 'CREATE'), has_schema_privilege(role, 'dynamo_internal', 'USAGE')
	FROM unnest('{rights_reader, rights_all}'::text[]) role;
ALTER DEFAULT PRIVILEGES REVOKE ALL ON TABLES FROM PUBLIC, rights_reader, rights_all;
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM rights_all;
ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO PUBLIC;
GRANT EXECUTE ON ALL ROUTINES IN SCHEMA public TO PUBLIC;
ALTER DEFAULT PRIVILEGES REVOKE ALL ON SCHEMAS FROM PUBLIC, rights_all;

-- who was given all tables of the schema afterwards finds nothing in them, and cannot write
CALL dyn_setup_streams();
SELECT dyn_create_table('rights', 'pk S');
SELECT dyn_enable_stream('rights', 'NEW_AND_OLD_IMAGES', 1) IS NOT NULL;
SELECT dyn_put('rights', '{"pk":{"S":"secret"}}');
CALL dyn_collect_streams();
GRANT ALL ON ALL TABLES IN SCHEMA public, dynamo_internal TO rights_all;
REVOKE ALL ON rights FROM rights_all;
GRANT CREATE ON SCHEMA public, dynamo_internal TO rights_all;
SELECT oid::regclass AS partition FROM pg_class WHERE relispartition AND relkind = 'r' \gset
SET ROLE rights_all;
SELECT (SELECT count(*) FROM dynamo_internal.stream_records), (SELECT count(*) FROM :partition), (SELECT count(*) FROM dynamo_internal.stream_secret),
	(SELECT count(*) FROM dynamo_internal.stream_state),
	(SELECT count(*) FROM dynamo_internal.stream_gaps), (SELECT count(*) FROM dynamo_internal.transact_tokens);
INSERT INTO dynamo_internal.stream_secret VALUES ('x');
INSERT INTO dynamo_internal.stream_gaps VALUES ('0/0', 'FFFFFFFF/0', now());
SELECT count(*) FROM dyn_read_stream('rights');

-- nor does his trigger run as the owner
CREATE FUNCTION rights_take() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'run by %', current_user; RETURN NEW; END $$;
CREATE TRIGGER taken BEFORE UPDATE ON dynamo_internal.stream_state FOR EACH ROW EXECUTE FUNCTION rights_take();
RESET ROLE;
SELECT dyn_put('rights', '{"pk":{"S":"2"}}');
\set VERBOSITY default
CALL dyn_collect_streams();
\set VERBOSITY terse
DROP TRIGGER taken ON dynamo_internal.stream_state;
CALL dyn_collect_streams();
SET ROLE rights_all;
CREATE TRIGGER taken BEFORE INSERT ON dynamo_internal.transact_tokens FOR EACH ROW EXECUTE FUNCTION rights_take();
CREATE TRIGGER taken BEFORE TRUNCATE ON :partition EXECUTE FUNCTION rights_take();
CREATE TRIGGER taken BEFORE DELETE ON dynamo_internal.stream_gaps EXECUTE FUNCTION rights_take();
RESET ROLE;
SELECT dyn_transact('[{"Put":{"TableName":"rights","Item":{"pk":{"S":"t"}}}}]', 'token');
SELECT dyn_disable_stream('rights');
\set VERBOSITY sqlstate
CALL dyn_teardown_streams();
\set VERBOSITY terse
SELECT count(*) FROM dynamo_internal.stream_records;
DROP TRIGGER taken ON :partition;
CALL dyn_teardown_streams();
DROP TRIGGER taken ON dynamo_internal.stream_gaps;
DROP TRIGGER taken ON dynamo_internal.transact_tokens;
CALL dyn_teardown_streams();
CALL dyn_setup_streams();

-- names of partitions that others have taken, as tables and as types; another default access method
SELECT dyn_enable_stream('rights', 'NEW_AND_OLD_IMAGES', 1) IS NOT NULL;
SELECT dyn_put('rights', '{"pk":{"S":"3"}}');
DO $$
DECLARE
	name text;
BEGIN
	FOR name IN SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'dynamo_internal.stream_records'::regclass LOOP
		EXECUTE format('ALTER EXTENSION dynamo_table DROP TABLE %1$s; DROP TABLE %1$s', name);
	END LOOP;
	SET LOCAL ROLE rights_all;
	FOR i IN -1..2 LOOP
		EXECUTE format(CASE WHEN i % 2 = 0 THEN 'CREATE TABLE %s ()' ELSE 'CREATE TYPE %s AS ENUM ()' END,
			to_char(date_trunc('hour', now() AT TIME ZONE 'UTC') + i * interval '1 hour', '"dynamo_internal.stream_records_"YYYYMMDDHH24MISS'));
	END LOOP;
END $$;
SET default_table_access_method = dynamo_table;
CALL dyn_collect_streams();
RESET default_table_access_method;
SELECT inhrelid::regclass::text ~ '^dynamo_internal\.stream_records_\d{14}_1$' AS name, (SELECT amname FROM pg_am WHERE oid = relam), relowner =
	'postgres'::regrole AS owned, relrowsecurity
	FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid WHERE inhparent = 'dynamo_internal.stream_records'::regclass;
SELECT keys FROM dyn_read_stream('rights');

-- a label that the owner has made up is no label of a stream, or one that says nothing of others
SET ROLE rights_all;
SELECT dyn_create_table('forged', 'pk S');
GRANT SELECT ON forged TO PUBLIC;
CREATE FUNCTION forge(label text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
	EXECUTE format('CREATE OR REPLACE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON forged FOR EACH ROW
		EXECUTE FUNCTION dynamo_internal.derive_keys(''pk S'', %L)',
		format('{"settings":{"streams":[{"label":%s,"view_type":"KEYS_ONLY","shards":1}]}}', label));
END $$;
SELECT forge('253402300800000');
RESET ROLE;
SELECT relation FROM dyn_streams WHERE status = 'ENABLED';
SELECT json_array_length(dyn_request('ListStreams', '{"TableName":"rights"}') -> 'Streams') > 0 AS some, dyn_request('ListStreams', '{}')::text ~ 'forged'
	AS forged;
SELECT forge('253402300799999');
SELECT relation, label FROM dyn_streams WHERE label > '9';
SELECT 'dynamo_table_' || oid AS slot FROM pg_database WHERE datname = current_database() \gset
SELECT pg_drop_replication_slot(:'slot');
SET client_min_messages = error;
CALL dyn_setup_streams();
SET client_min_messages = warning;
SELECT count(*), bool_and(noticed <= clock_timestamp()) AS past FROM dynamo_internal.stream_gaps;
-- the gap is of the stream that was there, whatever its label is, and not of one that comes after
SELECT count(*) FROM dyn_read_stream('forged', dyn_stream_position());
SELECT dyn_read_stream('forged', '1' || repeat('0', 32));
SELECT dyn_disable_stream('rights');
SELECT right(dyn_enable_stream('rights', 'KEYS_ONLY'), 23) < '9' AS now;
SELECT count(*) FROM dyn_read_stream('rights', dyn_stream_position());

-- a table that is gone, where an old snapshot lists it
SELECT dyn_disable_stream('rights');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) > 0 AS some FROM dyn_streams;
\! psql -X -q -d stream_rights -c 'DROP TABLE forged'
SELECT dyn_request('ListStreams', '{}')::text ~ 'forged' AS forged;
SELECT count(*) > 0 AS some FROM dyn_streams WHERE relation::text ~ 'forged|^\d+$';
COMMIT;

CALL dyn_teardown_streams();
\c :here
DROP DATABASE stream_rights;
DROP ROLE rights_reader, rights_all;
