-- Needs logical decoding.
SELECT current_setting('wal_level') <> 'logical' AS skipped \gset
\if :skipped
\echo skipped: wal_level is not logical
\quit
\endif
-- Streams have records of what a backfill changes, and none of what stays as it is.
SET client_min_messages = warning;
SELECT dyn_create_table('filled', 'pk S');
SELECT count(*) FROM generate_series(1, 6) i, dyn_put('filled', jsonb_build_object('pk', i::text, 'n', i));
CALL dyn_setup_streams();
SELECT count(dyn_enable_stream('filled', 'KEYS_ONLY'));
CALL dyn_backfill('filled', 'SET Streamed = :n', 'n <= :n', vals => '{":n":{"N":"4"}}');
CALL dyn_backfill('filled', 'SET Streamed = :n', 'n <= :n', vals => '{":n":{"N":"4"}}');
CALL dyn_collect_streams() \gset
SELECT event_name, count(*) FROM dyn_read_stream('filled') GROUP BY 1;
SELECT dyn_disable_stream('filled');
CALL dyn_teardown_streams();
SELECT dyn_drop_table('filled');
