-- Needs logical decoding.
SELECT current_setting('wal_level') <> 'logical' AS skipped \gset
\if :skipped
\echo skipped: wal_level is not logical
\quit
\endif
-- What a collector writes, beside how far it has come, is in nobody's decoding: it would give changes
-- of changes, and a subscriber of all tables would stop at a partition that it lacks.
\set VERBOSITY terse
\set service stream_collector
\set ECHO none
\i test/sql/switch_off.sql
\set ECHO all
SET client_min_messages = warning;
CALL dyn_setup_streams();
SELECT dyn_create_table('decoded', 'pk S');
SELECT count(dyn_enable_stream('decoded', 'NEW_AND_OLD_IMAGES'));
SELECT count(*) FROM pg_create_logical_replication_slot('other', 'test_decoding');
CREATE PUBLICATION everything FOR ALL TABLES;
SELECT count(*) FROM pg_create_logical_replication_slot('subscriber', 'pgoutput');

-- one of them in the records' TOAST table
SELECT dyn_put('decoded', jsonb_build_object('pk', 'large', 'v', (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 1000) i)));
SELECT dyn_put('decoded', '{"pk":{"S":"small"}}');
CALL dyn_collect_streams();
SELECT count(*) FROM dyn_read_stream('decoded');
SELECT split_part(data, ':', 1) AS change, count(*) FROM pg_logical_slot_get_changes('other', NULL, NULL, 'skip-empty-xacts', '1')
  WHERE data LIKE 'table %' GROUP BY 1 ORDER BY 1;
SELECT count(*) > 0 AS sent, bool_or(position('stream_records'::bytea IN data) > 0) AS records
  FROM pg_logical_slot_get_binary_changes('subscriber', NULL, NULL, 'proto_version', '1', 'publication_names', 'everything');

SELECT pg_drop_replication_slot('other'), pg_drop_replication_slot('subscriber');
DROP PUBLICATION everything;
SELECT dyn_disable_stream('decoded'), dyn_drop_table('decoded');
CALL dyn_teardown_streams();
\set ECHO none
\i test/sql/switch_on.sql
\set ECHO all
