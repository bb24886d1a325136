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
CALL dyn_stream_setup();
SELECT count(dyn_stream_enable('filled', 'KEYS_ONLY'));
CALL dyn_backfill('filled', 'n <= :n', 'SET Streamed = :n', vals => '{":n":{"N":"4"}}');
CALL dyn_backfill('filled', 'n <= :n', 'SET Streamed = :n', vals => '{":n":{"N":"4"}}');
CALL dyn_stream_collect();
SELECT event_name, count(*) FROM dyn_stream_read('filled') GROUP BY 1;
SELECT dyn_stream_disable('filled');
CALL dyn_stream_teardown();
SELECT dyn_drop_table('filled');
