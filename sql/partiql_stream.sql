-- Needs logical decoding.
SELECT current_setting('wal_level') <> 'logical' AS skipped \gset
\if :skipped
\echo skipped: wal_level is not logical
\quit
\endif
-- What PartiQL statements write is in the streams of their tables, as of every other write; docs/semantics.md, ST01 to ST03.
\set VERBOSITY terse
SET client_min_messages = warning;
SET dynamo_table.stream_shards = 1;
CREATE SCHEMA partiql_stream;
SET search_path = partiql_stream, public;
CALL dyn_setup_streams();
SELECT dyn_create_table('app', 'pk S', 'sk N');
SELECT count(dyn_enable_stream('app', 'NEW_AND_OLD_IMAGES'));
SELECT dyn_execute('INSERT INTO app VALUE {''pk'': ?, ''sk'': 1, ''n'': 1}', '["a"]'::jsonb);
SELECT dyn_execute('UPDATE app SET n = n + ? WHERE pk = ''a'' AND sk = 1', '[{"N":"2"}]');
-- nothing, of what changes nothing or fails
SELECT dyn_execute('UPDATE app SET n = 3.0 WHERE pk = ''a'' AND sk = 1');
SELECT dyn_execute('UPDATE app SET n = 4 WHERE pk = ''a'' AND sk = 1 AND n = 9');
SELECT dyn_execute('INSERT INTO app VALUE {''pk'': ''a'', ''sk'': 1}');
SELECT dyn_execute('DELETE FROM app WHERE pk = ''a'' AND sk = 2');
SELECT dyn_explain_statement('DELETE FROM app WHERE pk = ''a'' AND sk = 1') IS DISTINCT FROM NULL AS explained;
BEGIN;
SELECT dyn_execute('DELETE FROM app WHERE pk = ''a'' AND sk = 1 RETURNING ALL OLD *');
ROLLBACK;
SELECT item_count FROM dyn_execute_page('DELETE FROM app WHERE pk = ''a'' AND sk = 1 AND n = 3 RETURNING ALL OLD *');
CALL dyn_collect_streams() \gset
SELECT event_name, keys, new_image, old_image FROM dyn_read_stream('app');
SELECT dyn_disable_stream('app');
CALL dyn_teardown_streams();
DROP SCHEMA partiql_stream CASCADE;
