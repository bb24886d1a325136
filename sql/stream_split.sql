-- Needs logical decoding.
SELECT current_setting('wal_level') <> 'logical' AS skipped \gset
\if :skipped
\echo skipped: wal_level is not logical
\quit
\endif
-- dyn_alter_stream(): shards that are closed, and their children; docs/semantics.md, ST10.  Crashes and races are in test/t/058_stream_split.pl.
\set SHOW_CONTEXT never
\set VERBOSITY terse
\set service stream_collector
\set ECHO none
\i test/sql/switch_off.sql
\set ECHO all
SET timezone = 'UTC';
SET client_min_messages = warning;
CREATE SCHEMA stream_split;
SET search_path = stream_split, public;
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
CREATE FUNCTION argument(t regclass) RETURNS text LANGUAGE sql AS $$
  SELECT regexp_replace(substring(pg_get_triggerdef(oid) FROM '\{"settings.*\}'), '(?<=label": |disabled": )\d{13}', 'TIME', 'g') FROM pg_trigger
    WHERE tgrelid = t AND tgname = '~dynamo_keys' $$;
CREATE FUNCTION put(t text, keys int, value int) RETURNS bigint LANGUAGE sql AS $$
  SELECT count(dyn_put(t, jsonb_build_object('pk', 'k' || i, 'v', value))) FROM generate_series(1, keys) i $$;
CREATE FUNCTION arn(t text) RETURNS text LANGUAGE sql AS $$ SELECT stream_arn FROM dyn_streams WHERE relation = t::regclass ORDER BY label DESC LIMIT 1 $$;
CREATE FUNCTION shard(t text, number int) RETURNS text LANGUAGE sql AS $$
  SELECT 'shardId-' || lpad((extract(epoch FROM enabled_at) * 1000)::bigint::text, 20, '0') || '-' || lpad(number::text, 8, '0') FROM dyn_streams
    WHERE stream_arn = arn(t) $$;
CREATE FUNCTION number(shard text) RETURNS int LANGUAGE sql AS $$ SELECT right(shard, 8)::int $$;
-- what DescribeStream shows, in pages; the places of records are other ones each time
CREATE FUNCTION described(t text, size int DEFAULT 100, filter json DEFAULT NULL, after text DEFAULT NULL)
	RETURNS TABLE (page int, shard int, parent int, first text, last text) LANGUAGE plpgsql AS $$
DECLARE
  response jsonb;
BEGIN
  page := 0;
  LOOP
    page := page + 1;
    response := dyn_request('DescribeStream', json_build_object('StreamArn', arn(t), 'Limit', size, 'ExclusiveStartShardId', after, 'ShardFilter',
      filter)) -> 'StreamDescription';
    RETURN QUERY SELECT page, number(s ->> 'ShardId'), number(s ->> 'ParentShardId'), s #>> '{SequenceNumberRange,StartingSequenceNumber}',
      s #>> '{SequenceNumberRange,EndingSequenceNumber}'
      FROM jsonb_array_elements(response -> 'Shards') s;
    after := response ->> 'LastEvaluatedShardId';
    EXIT WHEN after IS NULL OR page > 200;
  END LOOP;
END $$;
CREATE FUNCTION iterator(t text, shard int, kind text DEFAULT 'TRIM_HORIZON', at text DEFAULT NULL) RETURNS text LANGUAGE sql AS $$
  SELECT dyn_request('GetShardIterator', json_build_object('StreamArn', arn(t), 'ShardId', shard(t, shard), 'ShardIteratorType', kind, 'SequenceNumber',
    at)) ->> 'ShardIterator' $$;
-- the values of the records of a shard, until there are no more, and whether it has ended
CREATE FUNCTION reads(at text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  response json;
  found text := '';
BEGIN
  LOOP
    response := dyn_request('GetRecords', json_build_object('ShardIterator', at, 'Limit', 2));
    found := found || coalesce((SELECT string_agg(concat_ws(':', r #>> '{dynamodb,Keys,pk,S}', r #>> '{dynamodb,NewImage,v,N}'), ' ') || ' '
      FROM json_array_elements(response -> 'Records') r), '');
    at := response ->> 'NextShardIterator';
    EXIT WHEN at IS NULL OR json_array_length(response -> 'Records') = 0;
  END LOOP;
  RETURN found || CASE WHEN at IS NULL THEN 'end' ELSE 'more' END;
END $$;

SELECT dyn_create_table('app', 'pk S'), dyn_create_table('quiet', 'pk S');

-- what cannot be split
SELECT attempt($$ SELECT dyn_alter_stream('app', 2) $$), attempt($$ SELECT dyn_alter_stream('nothing', 2) $$);
CALL dyn_setup_streams();
SELECT attempt($$ SELECT dyn_alter_stream('app', 2) $$), attempt($$ SELECT dyn_alter_stream('arn:aws:dynamodb:x:1:table/app', 2) $$);
SELECT count(dyn_enable_stream('app', 'NEW_IMAGE', 2));
SELECT n, attempt(format('SELECT dyn_alter_stream(''app'', %s)', coalesce(n::text, 'NULL')))
	FROM (VALUES (NULL), (-1), (0), (1), (2), (3), (5), (65), (66), (9223372036854775807)) v (n);
SELECT attempt('SELECT dyn_alter_stream(NULL, 4)');
CREATE ROLE stream_splitter;
GRANT USAGE ON SCHEMA stream_split TO stream_splitter;
GRANT ALL ON app TO stream_splitter;
SET ROLE stream_splitter;
SELECT attempt($$ SELECT dyn_alter_stream('app', 4) $$);
SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND relation = 'app'::regclass AND mode <> 'AccessShareLock';
RESET ROLE;
BEGIN READ ONLY;
SELECT attempt($$ SELECT dyn_alter_stream('app', 4) $$);
ROLLBACK;

-- a transaction may change the number and think better of it
BEGIN;
SELECT put('app', 2, 0);
SELECT dyn_alter_stream('app', 4);
SELECT argument('app'), (SELECT shards FROM dyn_streams WHERE relation = 'app'::regclass);
ROLLBACK;
SELECT argument('app');

-- 2, 4, 8: a shard has one parent, whose keys it has
SELECT put('app', 12, 1);
CALL dyn_collect_streams();
SELECT shard, parent, last FROM described('app');
SELECT dyn_alter_stream('app', 4), argument('app');
SELECT shards, status FROM dyn_streams WHERE relation = 'app'::regclass;
SELECT put('app', 12, 2);
CALL dyn_collect_streams();
BEGIN;
SELECT put('app', 12, 3), dyn_alter_stream('app', 8), put('app', 12, 4);
TRUNCATE app;
COMMIT;
CALL dyn_collect_streams();
SELECT argument('app');
SELECT shard, parent, last IS NOT NULL AS closed FROM described('app');
SELECT event_name, count(*), count(DISTINCT keys ->> 'pk') AS keys, array_agg(DISTINCT shard ORDER BY shard) AS shards, new_image ->> 'v' AS v
	FROM dyn_read_stream('app') GROUP BY event_name, v ORDER BY v;
-- the records of a key: in three shards, of which each is the parent of the next
WITH key AS (SELECT keys ->> 'pk' AS pk, array_agg(DISTINCT shard::int ORDER BY shard::int) AS shards FROM dyn_read_stream('app') WHERE keys IS NOT NULL
	GROUP BY pk)
SELECT count(*), bool_and(a.parent IS NULL AND b.parent = a.shard AND c.parent = b.shard) AS handed_down
  FROM key JOIN described('app') a ON a.shard = shards[1] JOIN described('app') b ON b.shard = shards[2] JOIN described('app') c ON c.shard = shards[3];
-- numbers: parents end before children begin, and with a record; all of a shard's are between its first and its last
SELECT count(*), bool_and(p.last < c.first) AS behind FROM described('app') c JOIN described('app') p ON p.shard = c.parent;
SELECT bool_and(r.sequence_number BETWEEN d.first AND coalesce(d.last, r.sequence_number)) AS within,
	max(r.sequence_number) FILTER (WHERE d.shard IN (0, 1)) = max(d.last) FILTER (WHERE d.shard IN (0, 1)) AS first_end,
  max(r.sequence_number) FILTER (WHERE d.shard BETWEEN 2 AND 5) = max(d.last) FILTER (WHERE d.shard BETWEEN 2 AND 5) AS second_end
    FROM dyn_read_stream('app', max_records => NULL) r JOIN described('app') d ON d.shard = r.shard;

-- pages, and children
SELECT array_agg(shard ORDER BY page, shard) AS shards, max(page) AS pages FROM described('app', 3);
SELECT array_agg(shard ORDER BY page, shard) AS shards, max(page) AS pages FROM described('app', 1, after => shard('app', 1));
SELECT p AS of, (SELECT array_agg(shard ORDER BY shard) FROM described('app',
	filter => json_build_object('Type', 'CHILD_SHARDS', 'ShardId', shard('app', p)))) AS children FROM generate_series(0, 14) p;
SELECT array_agg(shard ORDER BY page, shard) AS children, max(page) AS pages
	FROM described('app', 1, json_build_object('Type', 'CHILD_SHARDS', 'ShardId', shard('app', 3)));
SELECT shard FROM described('app', after => shard('app', 7), filter => json_build_object('Type', 'CHILD_SHARDS', 'ShardId', shard('app', 3)));
SELECT count(*) FROM described('app', filter => '{"Type": "CHILD_SHARDS", "ShardId": "shardId-00000000000000000000"}');
SELECT count(*) FROM described('app', filter => '{"Type": "CHILD_SHARDS"}');
SELECT count(*) FROM described('app', after => 'x');

-- readers of shards: each comes to its end, and to nothing of others
SELECT n AS shard, reads(iterator('app', n)) FROM generate_series(0, 13) n;
SELECT n AS shard, reads(iterator('app', n, 'LATEST')) FROM (VALUES (1), (4), (9)) v (n);
SELECT d.shard, reads(iterator('app', d.shard, 'AT_SEQUENCE_NUMBER', d.first)) = reads(iterator('app', d.shard)) AS all_at_first, CASE WHEN d.last IS NOT NULL
	THEN reads(iterator('app', d.shard, 'AFTER_SEQUENCE_NUMBER', d.last)) END AS after_last
  FROM described('app') d WHERE d.shard IN (0, 1, 3, 7);
-- with the position of the parent, a child is read from its beginning
SELECT reads(iterator('app', 3, 'AFTER_SEQUENCE_NUMBER', p.last)) = reads(iterator('app', 3)) AS same FROM described('app') p WHERE p.shard = 1;
SELECT attempt(format('SELECT iterator(''app'', 14)')), attempt(format('SELECT reads(%L)', replace(iterator('app', 13), '|13|', '|14|'))),
	attempt(format('SELECT reads(%L)', replace(iterator('app', 13), '|13|', '|128|')));
SELECT shard, attempt(format('SELECT dyn_read_stream(''app'', shard => %s)', shard)) FROM (VALUES (-1), (13), (14)) v (shard);
SELECT shard, string_agg(keys ->> 'pk', ' ' ORDER BY sequence_number) FROM generate_series(0, 5) n, dyn_read_stream('app', shard => n) GROUP BY shard
	ORDER BY shard;

-- what is not collected has not happened for readers by shard: the parent is open, and the child not there
ALTER TABLE quiet OWNER TO stream_splitter;
SELECT count(dyn_enable_stream('quiet', 'KEYS_ONLY', 1));
GRANT CREATE ON SCHEMA stream_split TO stream_splitter;
SET ROLE stream_splitter;
SELECT dyn_alter_stream('quiet', 64);
RESET ROLE;
SELECT count(*), bool_and(last IS NULL) AS open FROM described('quiet')
	WHERE (SELECT count(*) FROM dynamo_internal.stream_ends WHERE relation = 'quiet'::regclass) = 0;
CALL dyn_collect_streams();
-- without any record, it ends where it begins
SELECT count(*), count(parent), min(first) FILTER (WHERE shard = 0) = min(last) AS ends_at_first, bool_and(first > '1' || repeat('0', 32)) AS numbered
	FROM described('quiet');
SELECT reads(iterator('quiet', 0)), reads(iterator('quiet', 0, 'LATEST')), reads(iterator('quiet', 64));
SELECT attempt($$ SELECT dyn_alter_stream('quiet', 64) $$);
SELECT count(*), max(page) FROM described('quiet', 10);
-- disabled: all is closed
SELECT dyn_disable_stream('quiet');
CALL dyn_collect_streams();
SELECT count(*), count(last) AS ended, bool_and(first <= last) AS ordered FROM described('quiet');
SELECT count(DISTINCT reads(iterator('quiet', n))) FROM (VALUES (0), (1), (64)) v (n);
SELECT attempt($$ SELECT dyn_alter_stream('quiet', 64) $$);
-- the next stream begins again
SELECT count(dyn_enable_stream('quiet', 'KEYS_ONLY', 3));
SELECT shard, parent, last FROM described('quiet');
SELECT put('quiet', 1, 1);
CALL dyn_collect_streams();
SELECT argument('quiet');

-- enabled, split and disabled in one transaction, with records between
SELECT dyn_disable_stream('quiet');
BEGIN;
SELECT count(dyn_enable_stream('quiet', 'NEW_IMAGE', 1)), put('quiet', 1, 5), dyn_alter_stream('quiet', 2), put('quiet', 2, 6), dyn_alter_stream('quiet', 4),
	put('quiet', 3, 7), dyn_disable_stream('quiet'), put('quiet', 4, 8);
COMMIT;
CALL dyn_collect_streams();
SELECT shard, parent, reads(iterator('quiet', shard)) FROM described('quiet');

-- closed shards vanish when their records have, and their numbers stay
UPDATE dynamo_internal.stream_ends SET collected = collected - interval '2 days' WHERE relation = 'app'::regclass;
SELECT array_agg(shard) AS while_there_are_records FROM described('app');
DELETE FROM dynamo_internal.stream_records r USING dynamo_internal.stream_ends e WHERE r.relation = 'app'::regclass AND e.relation = r.relation
	AND e.generation = 0 AND (r.lsn, r.ordinal) <= (e.lsn, e.ordinal);
SELECT array_agg(shard) AS those_that_have, min(parent) AS parent FROM described('app');
SELECT count(*) FROM described('app', after => shard('app', 1));
SELECT reads(iterator('app', 0));
-- those that were trimmed are told by that
INSERT INTO dynamo_internal.stream_trimmed SELECT relation, stream, lsn, ordinal FROM dynamo_internal.stream_ends WHERE relation = 'app'::regclass
	AND generation = 1;
SELECT array_agg(shard) AS open FROM described('app');
SELECT attempt(format('SELECT reads(%L)', iterator('app', 3, 'AFTER_SEQUENCE_NUMBER', '1' || repeat('0', 32)))) ~ '^TrimmedDataAccessException' AS trimmed,
	reads(iterator('app', 7, 'AFTER_SEQUENCE_NUMBER', '1' || repeat('0', 32))) = reads(iterator('app', 7)) AS child_is_whole;
DELETE FROM dynamo_internal.stream_trimmed WHERE relation = 'app'::regclass;

-- gaps concern the shards that were open then
INSERT INTO dynamo_internal.stream_gaps SELECT lsn - 16, lsn, now() + interval '1 hour' FROM dynamo_internal.stream_ends WHERE relation = 'app'::regclass
	AND generation = 1;
SELECT n AS shard, attempt(format('SELECT reads(iterator(''app'', %s))', n)) ~ 'Changes after the position were not collected' AS gap
	FROM (VALUES (0), (3), (6), (7)) v (n);
DELETE FROM dynamo_internal.stream_gaps WHERE noticed > now();

-- a dump has the numbers, and not where shards have ended: the first record of the newest ones tells
DELETE FROM dynamo_internal.stream_ends WHERE relation = 'app'::regclass;
SELECT array_agg(shard), bool_and(last IS NULL) AS open FROM described('app');
SELECT reads(iterator('app', 2)) ~ 'more$' AS more;
SELECT put('app', 1, 9);
CALL dyn_collect_streams();
SELECT count(*), count(last) AS closed FROM described('app');
SELECT reads(iterator('app', n)) ~ 'end$' AS ended, count(*) FROM generate_series(0, 13) n GROUP BY 1 ORDER BY 1;

-- settings that an owner has written: an old form without earlier shards, and what is none
CREATE FUNCTION forge(setting text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
  EXECUTE format('CREATE OR REPLACE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON quiet FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys(%L, %L)',
    'pk S',
    format('{"settings": {"streams": [{"label": 1700000000123, "view_type": "NEW_IMAGE", %s}]}}', setting));
END $$;
SELECT left(setting, 64) AS setting, attempt(format('SELECT forge(%L)', setting)) AS forged, attempt($$ SELECT dyn_describe_table('quiet') $$) AS described
	FROM (VALUES ('"shards": 4'), ('"shards": 4, "earlier_shards": []'), ('"shards": 4, "earlier_shards": [1, 2]'),
  ('"shards": 64, "earlier_shards": [1, 2, 4, 8, 16, 32]'), ('"shards": 64, "earlier_shards": [1, 2, 4, 8, 16, 32, 64]'),
  ('"shards": 4, "earlier_shards": [0]'), ('"shards": 4, "earlier_shards": [4]'), ('"shards": 4, "earlier_shards": [3]'),
  ('"shards": 4, "earlier_shards": [8]'), ('"shards": 4, "earlier_shards": [2, 1]'), ('"shards": 4, "earlier_shards": [-2]'),
  ('"shards": 4, "earlier_shards": [1.5]'), ('"shards": 4, "earlier_shards": [9999999999999999999999]'),
  ('"shards": 99999999999, "earlier_shards": [32]'), ('"shards": 99999999999, "earlier_shards": [99999999999]'), ('"shards": 4, "earlier_shards": 2'),
  ('"shards": 4, "earlier_shards": ["2"]'), ('"shards": 4, "earlier_shards": {"2": 2}'), ('"shards": 0, "earlier_shards": [2]'),
  ('"shards": 4, "earlier_shards": [null]'), ('"shards": 4, "earlier_shards": [[2]]'), ('"earlier_shards": [2]'),
  ('"shards": 4, "earlier_shards": [' || repeat('1, ', 5000) || '2]')) v (setting) ORDER BY length(v.setting), v.setting COLLATE "C";
-- decoding goes on, whatever it meets there
DO $$
DECLARE
  setting text;
BEGIN
  FOREACH setting IN ARRAY ARRAY['"shards": 4, "earlier_shards": [0]', '"shards": 4, "earlier_shards": [4, 4]', '"shards": 0, "earlier_shards": [0, 0]',
    '"shards": 4, "earlier_shards": [' || repeat('2, ', 9000) || '2]', '"shards": 4, "earlier_shards": ' || repeat('[', 3000),
    '"shards": 64, "earlier_shards": [1, 2, 4, 8, 16, 32]', '"shards": 1', '"shards": 3, "earlier_shards": [1]', '"shards": 64, "earlier_shards": [32]'] LOOP
    PERFORM forge(setting);
    ALTER TABLE quiet DISABLE TRIGGER ALL;
    TRUNCATE quiet;
    INSERT INTO quiet (pk, item) VALUES ('forged', '{"pk":{"S":"forged"},"v":{"N":"1"}}');
  END LOOP;
END $$;
SELECT put('app', 1, 10);
CALL dyn_collect_streams();
SELECT max(new_image ->> 'v') FROM dyn_read_stream('app') WHERE keys ->> 'pk' = 'k1' AND new_image ->> 'v' LIKE '1_';
SELECT count(*), min(shard) AS lowest, max(shard) AS highest FROM dynamo_internal.stream_records WHERE relation = 'quiet'::regclass AND stream = 1700000000123;
SELECT shards FROM dyn_streams WHERE relation = 'quiet'::regclass;

DROP TABLE quiet;
SELECT dyn_disable_stream('app');
-- when all is taken down, nothing more comes
CALL dyn_teardown_streams();
SELECT count(*), bool_and(last IS NOT NULL) AS ended FROM described('app');
SELECT n AS shard, reads(iterator('app', n)) FROM (VALUES (0), (13)) v (n);
DROP SCHEMA stream_split CASCADE;
DROP ROLE stream_splitter;
\set ECHO none
\i test/sql/switch_on.sql
\set ECHO all
