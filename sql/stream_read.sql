-- Needs logical decoding.
SELECT current_setting('wal_level') <> 'logical' AS skipped \gset
\if :skipped
\echo skipped: wal_level is not logical
\quit
\endif
-- dyn_read_stream(), positions: what they read of records that are put there by hand, so that
-- their places are known; docs/semantics.md, ST05, ST06, ST08, ST09, ST10.
\set SHOW_CONTEXT never
\set VERBOSITY terse
\set service stream_collector
\set ECHO none
\i test/sql/switch_off.sql
\set ECHO all
SET timezone = 'UTC';
CREATE SCHEMA stream_read;
SET search_path = stream_read, public;
CALL dyn_setup_streams();
SELECT dyn_create_table('app', 'pk S', 'sk N'), dyn_create_table('quiet', 'pk S');
SELECT regexp_replace(dyn_enable_stream('app', 'NEW_AND_OLD_IMAGES', 2), '\d{4}-.*', 'LABEL') AS arn;

-- two partitions of the log, and records in them: of one item, in the order of commits
CREATE TABLE first PARTITION OF dynamo_internal.stream_records FOR VALUES FROM ('2001-01-01') TO ('2001-01-02');
CREATE TABLE second PARTITION OF dynamo_internal.stream_records FOR VALUES FROM ('2001-01-02') TO ('2001-01-03');
CREATE FUNCTION label(name regclass, back int DEFAULT 0) RETURNS bigint LANGUAGE sql AS $$
  SELECT (extract(epoch FROM enabled_at) * 1000)::bigint FROM dyn_streams WHERE relation = name ORDER BY enabled_at DESC OFFSET back LIMIT 1 $$;
CREATE FUNCTION record(name regclass, day int, place pg_lsn, ordinal bigint, event "char", shard int, new_item dyn_item, old_item dyn_item DEFAULT NULL,
                       is_expired boolean DEFAULT false, back int DEFAULT 0) RETURNS void LANGUAGE sql AS $$
  INSERT INTO dynamo_internal.stream_records SELECT name, label(name, back), shard, event, is_expired, false, place, ordinal, '2001-01-01 10:00',
    '2001-01-01'::timestamptz + (day - 1) * interval '1 day',
    coalesce(dyn_size(new_item), 0) + coalesce(dyn_size(old_item), 0), dyn_project(coalesce(new_item, old_item), 'pk, sk'), new_item, old_item $$;
CREATE FUNCTION seq(place pg_lsn, ordinal int DEFAULT 0) RETURNS text LANGUAGE sql AS $$ SELECT '1' || lpad((place - '0/0')::text, 20, '0') ||
	lpad(ordinal::text, 12, '0') $$;
CREATE FUNCTION attempt(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  detail text;
  hint text;
BEGIN
  EXECUTE query;
  RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
  RETURN concat_ws(' / ', coalesce(dyn_error_name(SQLSTATE), SQLSTATE) || ': ' || SQLERRM, nullif(detail, ''), nullif(hint, ''));
END $$;
SELECT record('app', 1, '0/100', 1, 'I', 0, '{"pk":"a","sk":1,"v":1}'::jsonb);
SELECT record('app', 1, '0/100', 2, 'I', 1, '{"pk":"b","sk":1,"v":1}'::jsonb);
SELECT record('app', 1, '0/200', 1, 'M', 0, '{"pk":"a","sk":1,"v":2}'::jsonb, '{"pk":"a","sk":1,"v":1}'::jsonb);
SELECT record('app', 2, '0/300', 1, 'R', 0, NULL, '{"pk":"a","sk":1,"v":2}'::jsonb, true);
SELECT record('app', 2, '0/400', 1, 'T', 0, NULL), record('app', 2, '0/400', 2, 'T', 1, NULL);

-- ST05, ST06: what a record says, and the order
\x
SELECT * FROM dyn_read_stream('app');
\x
SELECT regexp_replace(regexp_replace(record::text, '"eventID":"[0-9a-f]{8}', '"eventID":"RELATION'), 'stream/[^"]*', 'stream/LABEL') AS record
	FROM dyn_read_stream('app', format => 'dynamodb');
SELECT record -> 'dynamodb' -> 'NewImage' AS plain FROM dyn_read_stream('app', max_records => 1, format => 'plain');

-- positions
SELECT sequence_number = seq('0/200', 1) AS same FROM dyn_read_stream('app', seq('0/100', 2), max_records => 1);
SELECT count(*) FROM dyn_read_stream('app', seq('0/100', 2));
SELECT count(*) FROM dyn_read_stream('app', 'AFTER_SEQUENCE_NUMBER ' || seq('0/100', 2));
SELECT count(*) FROM dyn_read_stream('app', 'AT_SEQUENCE_NUMBER ' || seq('0/100', 2));
SELECT count(*) FROM dyn_read_stream('app', seq('0/100'));
SELECT count(*) FROM dyn_read_stream('app', 'AT_SEQUENCE_NUMBER ' || seq('0/0'));
SELECT count(*) FROM dyn_read_stream('app', 'LATEST');
SELECT count(*) FROM dyn_read_stream('app', dyn_stream_position());
SELECT dyn_stream_position() ~ '^1\d{32}$' AS sequence, dyn_stream_position() > seq('0/400') AS later;
SELECT position, attempt(format('SELECT dyn_read_stream(''app'', %L)', position))
	FROM (VALUES (''), ('latest'), ('TRIM_HORIZON '), ('0'), (substr(seq('0/100'), 2)), (seq('0/100') || '0'),
  ('AT_SEQUENCE_NUMBER'), ('AT_SEQUENCE_NUMBER ' || substr(seq('0/100'), 2)), ('AFTER_SEQUENCE_NUMBER  ' || seq('0/100')), ('1' || repeat('9', 32)),
  ('2' || repeat('0', 32)),
  ('1' || repeat('x', 32)), ('-' || repeat('1', 32)), (E'LATEST\n'), ('AT_SEQUENCE_NUMBER LATEST')) v (position);
SELECT attempt('SELECT dyn_read_stream(''app'', NULL)'), attempt('SELECT dyn_read_stream(NULL)');
-- one that this server has not reached would let a reader wait in silence
SELECT attempt(format('SELECT dyn_read_stream(''app'', %L)', seq('FFFFFFF/0')));

-- pages, one after the other, of two readers that know nothing of each other (ST08)
CREATE FUNCTION pages(size int, only_shard int DEFAULT NULL) RETURNS TABLE (page int, events text) LANGUAGE plpgsql AS $$
DECLARE
  at text := 'TRIM_HORIZON';
BEGIN
  FOR n IN 1 .. 10 LOOP
    SELECT string_agg(event_name || coalesce(keys ->> 'pk', ''), ' ' ORDER BY sequence_number), coalesce(max(sequence_number), at) INTO events, at
      FROM dyn_read_stream('app', at, max_records => size, shard => only_shard);
    page := n;
    EXIT WHEN events IS NULL;
    RETURN NEXT;
  END LOOP;
END $$;
SELECT a.events, a.events = b.events AS both FROM pages(6) a, pages(1000) b;
SELECT * FROM pages(2);
SELECT * FROM pages(1, 1);
SELECT max_records, attempt(format('SELECT dyn_read_stream(''app'', max_records => %s)', max_records)) FROM (VALUES ('0'), ('-1'), ('NULL')) v (max_records);
SELECT shard, attempt(format('SELECT dyn_read_stream(''app'', shard => %s)', shard)) FROM (VALUES (-1), (0), (1), (2), (2147483647)) v (shard);

-- a table without a stream, or none at all
SELECT attempt('SELECT dyn_read_stream(''quiet'')'), attempt('SELECT dyn_read_stream(''nothing'')'), attempt('SELECT dyn_read_stream(''first'')');
-- a stream by its label or its ARN
SELECT count(*) FROM dyn_streams s, dyn_read_stream('app', stream => s.label) WHERE s.relation = 'app'::regclass;
SELECT count(*) FROM dyn_streams s, dyn_read_stream('app', stream => s.stream_arn) WHERE s.relation = 'app'::regclass;
SELECT attempt(format('SELECT dyn_read_stream(''app'', stream => %L)', stream))
	FROM (VALUES (''), ('latest'), ('2001-01-01T00:00:00.000'), ('2001-02-30T00:00:00.000'), ('1900-01-01T00:00:00.000'),
  ('arn:aws:dynamodb:local:0:table/app/stream/2001-01-01T00:00:00.000'), ('arn:aws:dynamodb:local:0:table/quiet/stream/2001-01-01T00:00:00.000'),
  ('arn:aws:dynamodb:local:0:table/none/stream/2001-01-01T00:00:00.000'), ('arn:aws:dynamodb:local:0:table/app'),
  ('arn:aws:dynamodb:local:0:table/app/stream/')) v (stream);

-- waiting: for so long at most, and for what is there not at all
SELECT wait, attempt(format('SELECT dyn_read_stream(''app'', max_wait => %L)', wait))
	FROM (VALUES ('-1 s'), ('61 s'), ('1 day'), ('1 mon'), ('1 mon -30 days'), ('60 s')) v (wait);
SELECT clock_timestamp() AS start \gset
SELECT count(*) FROM dyn_read_stream('app', 'LATEST', max_wait => '100 ms');
SELECT clock_timestamp() - :'start' >= interval '100 ms' AS waited;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM dyn_read_stream('app');
SELECT count(*) FROM dyn_read_stream('app', max_wait => '0 s');
SELECT attempt('SELECT dyn_read_stream(''app'', max_wait => ''1 s'')');
ROLLBACK;
BEGIN READ ONLY;
SELECT count(*) FROM dyn_read_stream('app');
COMMIT;
-- nothing stays locked, so that partitions can be dropped while a reader's transaction goes on
BEGIN;
SELECT count(*) FROM dyn_read_stream('app');
SELECT relation::regclass FROM pg_locks WHERE pid = pg_backend_pid() AND relation IN ('dynamo_internal.stream_records'::regclass, 'first'::regclass,
	'second'::regclass, 'app'::regclass);
COMMIT;

-- who may read: who may read all of the table, and all of its rows
CREATE ROLE stream_reader;
GRANT USAGE ON SCHEMA stream_read TO stream_reader;
GRANT SELECT (item) ON app TO stream_reader;
GRANT INSERT, UPDATE ON app TO stream_reader;
SET ROLE stream_reader;
SELECT dyn_stream_position() IS NOT NULL AS anybody;
SELECT count(*) FROM dyn_read_stream('app');
SELECT count(*) FROM dynamo_internal.stream_records;
RESET ROLE;
GRANT SELECT ON app TO stream_reader;
SET ROLE stream_reader;
SELECT count(*) FROM dyn_read_stream('app');
RESET ROLE;
ALTER TABLE app ENABLE ROW LEVEL SECURITY;
SELECT count(*) FROM dyn_read_stream('app');
SET ROLE stream_reader;
SELECT attempt('SELECT dyn_read_stream(''app'')');
SET row_security = off;
SELECT attempt('SELECT dyn_read_stream(''app'')');
RESET ROLE;
RESET row_security;
ALTER TABLE app DISABLE ROW LEVEL SECURITY;
-- nothing of what a caller puts in the way is called
CREATE SCHEMA stream_trap;
GRANT ALL ON SCHEMA stream_trap TO stream_reader;
SET ROLE stream_reader;
CREATE TABLE stream_trap.stream_records (LIKE public.dyn_ttl_tables);
CREATE FUNCTION stream_trap.spring(pg_lsn, pg_lsn) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'sprung'; END $$;
CREATE OPERATOR stream_trap.> (LEFTARG = pg_lsn, RIGHTARG = pg_lsn, FUNCTION = stream_trap.spring);
SET search_path = stream_trap, pg_catalog, public, stream_read;
SELECT count(*) FROM public.dyn_read_stream('app');
RESET ROLE;
SET search_path = stream_read, public;
DROP SCHEMA stream_trap CASCADE;

-- gaps: what is before one is read; then its reader is told, and where to go on
INSERT INTO dynamo_internal.stream_gaps VALUES ('0/180', '0/190', '2001-01-01'), ('0/250', '0/280', now());
SELECT count(*), max(sequence_number) = seq('0/200', 1) AS until FROM dyn_read_stream('app');
SELECT attempt(format('SELECT dyn_read_stream(''app'', %L)', seq('0/200', 1)));
SELECT attempt(format('SELECT dyn_read_stream(''app'', %L)', seq('0/27f', 9)));
SELECT attempt(format('SELECT dyn_read_stream(''app'', %L, max_wait => ''60 s'')', seq('0/260')));
SELECT count(*) FROM dyn_read_stream('app', seq('0/280'));
SELECT count(*) FROM dyn_read_stream('app', seq('0/100'));
-- one with nothing before it stops who begins at TRIM_HORIZON too, until it is older than what is kept
UPDATE dynamo_internal.stream_gaps SET after_lsn = '0/0' WHERE before_lsn = '0/280';
SELECT attempt('SELECT dyn_read_stream(''app'')');
-- a new session has what was set, and none has to wait for it
ALTER SYSTEM SET dynamo_table.stream_retention = 1;
SELECT pg_reload_conf();
\c -
SET timezone = 'UTC'; SET search_path = stream_read, public;
SELECT pg_sleep(1.1);
SELECT count(*), min(sequence_number) = seq('0/300', 1) AS behind FROM dyn_read_stream('app');
SELECT attempt(format('SELECT dyn_read_stream(''app'', %L)', seq('0/100')));
ALTER SYSTEM RESET dynamo_table.stream_retention;
SELECT pg_reload_conf();
\c -
LOAD 'dynamo_table';
SET timezone = 'UTC'; SET search_path = stream_read, public;
SHOW dynamo_table.stream_retention;
DELETE FROM dynamo_internal.stream_gaps WHERE before_lsn < '0/1000';

-- ST09: what was trimmed
INSERT INTO dynamo_internal.stream_trimmed VALUES ('app'::regclass, label('app'), '0/200', 1);
DROP TABLE first;
SELECT count(*) FROM dyn_read_stream('app');
SELECT count(*) FROM dyn_read_stream('app', seq('0/200', 1));
SELECT count(*) FROM dyn_read_stream('app', 'AT_SEQUENCE_NUMBER ' || seq('0/200', 2));
SELECT attempt(format('SELECT dyn_read_stream(''app'', %L)', 'AT_SEQUENCE_NUMBER ' || seq('0/200', 1)));
SELECT attempt(format('SELECT dyn_read_stream(''app'', %L)', seq('0/100', 1)));

-- ST10: a stream can be read when it is disabled; another one is another, and who comes from the first is told
SELECT dyn_disable_stream('app');
SELECT count(*) FROM dyn_read_stream('app');
SELECT regexp_replace(dyn_enable_stream('app', 'KEYS_ONLY', 1), '\d{4}-.*', 'LABEL') AS arn;
SELECT count(*) FROM dyn_read_stream('app');
SELECT record('app', 2, '0/500', 1, 'I', 0, '{"pk":"c","sk":1}'::jsonb);
SELECT keys FROM dyn_read_stream('app');
SELECT count(*) FROM dyn_streams s, dyn_read_stream('app', stream => s.label) WHERE s.relation = 'app'::regclass AND s.status = 'DISABLED';
SELECT attempt(format('SELECT dyn_read_stream(''app'', %L)', seq('0/400', 2)));
SELECT attempt(format('SELECT dyn_read_stream(''app'', %L)', seq('0/200')));
SELECT count(*) FROM dyn_read_stream('app', seq('0/400', 3));

DROP TABLE second;
DELETE FROM dynamo_internal.stream_trimmed WHERE relation = 'app'::regclass;
SELECT dyn_disable_stream('app');
CALL dyn_teardown_streams();
DROP SCHEMA stream_read CASCADE;
DROP ROLE stream_reader;
\set ECHO none
\i test/sql/switch_on.sql
\set ECHO all
