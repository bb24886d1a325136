-- Needs logical decoding.
SELECT current_setting('wal_level') <> 'logical' AS skipped \gset
\if :skipped
\echo skipped: wal_level is not logical
\quit
\endif
-- ListStreams, DescribeStream, GetShardIterator, GetRecords; docs/semantics.md, ST05, ST08, ST09, ST10, ST16.
\set SHOW_CONTEXT never
\set VERBOSITY terse
\set service stream_collector
\set ECHO none
\i test/sql/switch_off.sql
\set ECHO all
SET timezone = 'UTC';
CREATE SCHEMA request_streams;
SET search_path = request_streams, public;
CALL dyn_setup_streams();
-- labels are times, and relations' numbers and iterators' times are other ones each time
CREATE FUNCTION hidden(response text) RETURNS text LANGUAGE sql AS $$
  SELECT regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(response, '\d{4}-\d\d-\d\dT[0-9:.]{12}', 'LABEL', 'g'),
    'shardId-\d{20}', 'shardId-TIME', 'g'),
    '\|\d{13}"', '|ISSUED"', 'g'), '"CreationRequestDateTime": ?[0-9.]+', '"CreationRequestDateTime":"T"', 'g'), '"eventID": ?"[0-9a-f]{8}',
    '"eventID":"RELATION', 'g'), '\|1\d{32}\|', '|SEQUENCE|', 'g') $$;
CREATE FUNCTION request(operation text, request json) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  detail text;
BEGIN
  RETURN hidden(dyn_request(operation, request)::text);
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
  RETURN hidden(concat_ws(' / ', coalesce(dyn_error_name(SQLSTATE), SQLSTATE) || ': ' || SQLERRM, nullif(detail, '')));
END $$;
SELECT request('ListStreams', '{}');
SELECT dyn_create_table('beta', 'pk S', 'sk N'), dyn_create_table('alpha', 'pk S'), dyn_create_table('gamma', 'pk S');
SELECT count(dyn_enable_stream(t, v, n)) FROM (VALUES ('beta', 'NEW_AND_OLD_IMAGES', 2), ('alpha', 'KEYS_ONLY', 3), ('gamma', 'NEW_IMAGE', 1)) v (t, v, n);
SELECT dyn_disable_stream('gamma');
SELECT count(dyn_enable_stream('gamma', 'NEW_IMAGE', 1));
CREATE FUNCTION arn(name text, which text DEFAULT 'ENABLED') RETURNS text LANGUAGE sql AS $$ SELECT stream_arn FROM dyn_streams WHERE relation =
	name::regclass AND status = which $$;
CREATE FUNCTION shard(name text, number int, which text DEFAULT 'ENABLED') RETURNS text LANGUAGE sql AS $$
  SELECT 'shardId-' || lpad((extract(epoch FROM enabled_at) * 1000)::bigint::text, 20, '0') || '-' || lpad(number::text, 8, '0') FROM dyn_streams
    WHERE relation = name::regclass AND status = which $$;

-- ListStreams: by name and label; of one table; in pages
SELECT jsonb_pretty(request('ListStreams', '{}')::jsonb);
SELECT request('ListStreams', '{"TableName":"gamma"}');
SELECT request('ListStreams', '{"TableName":"arn:aws:dynamodb:local:000000000000:table/alpha","Limit":1}');
CREATE FUNCTION list_pages(size int) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
  list jsonb;
  at text;
BEGIN
  LOOP
    list := dyn_request('ListStreams', json_build_object('Limit', size, 'ExclusiveStartStreamArn', at));
    RETURN NEXT (SELECT string_agg(value ->> 'TableName', ' ') FROM jsonb_array_elements(list -> 'Streams'));
    at := list ->> 'LastEvaluatedStreamArn';
    EXIT WHEN at IS NULL;
  END LOOP;
END $$;
SELECT list_pages(1);
SELECT list_pages(3);
SELECT list_pages(4);
SELECT r, request('ListStreams', r::json) FROM (VALUES ('{"Limit":0}'), ('{"Limit":101}'), ('{"TableName":"nothing"}'), ('{"TableName":"x"}'),
	('{"ExclusiveStartStreamArn":"x"}'),
  ('{"ExclusiveStartStreamArn":"arn:aws:dynamodb:local:000000000000:table/beta"}'),
  ('{"ExclusiveStartStreamArn":"arn:aws:dynamodb:local:000000000000:table/beta/stream/2001-01-01T00:00:00.000","Limit":1}'), ('{"Table":"beta"}'),
  ('[]')) v (r);

-- DescribeStream
SELECT jsonb_pretty(hidden(dyn_request('DescribeStream', json_build_object('StreamArn', arn('beta')))::text)::jsonb);
SELECT request('DescribeStream', json_build_object('StreamArn', arn('alpha'), 'Limit', 2)) ;
SELECT request('DescribeStream', json_build_object('StreamArn', arn('alpha'), 'Limit', 2, 'ExclusiveStartShardId', shard('alpha', 1)));
SELECT request('DescribeStream', json_build_object('StreamArn', arn('alpha'), 'ExclusiveStartShardId', shard('alpha', 2)));
-- shards have no children
SELECT request('DescribeStream', json_build_object('StreamArn', arn('alpha'), 'ShardFilter',
	json_build_object('Type', 'CHILD_SHARDS', 'ShardId', shard('alpha', 0))));
SELECT request('DescribeStream', json_build_object('StreamArn', arn('alpha'),
	'ShardFilter', '{"Type": "OTHER", "ShardId": "shardId-00000000000000000000"}'::json));
-- a label that is cut is one that there is not
SELECT request('DescribeStream', json_build_object('StreamArn', left(arn('alpha'), -4))) ~ 'Requested resource not found: Stream: ' AS cut;
SELECT hidden(r::text), request('DescribeStream', r) FROM (VALUES ('{}'::json), ('{"StreamArn":"x"}'),
	('{"StreamArn":"arn:aws:dynamodb:local:000000000000:table/beta"}'), ('{"StreamArn":"arn:aws:dynamodb:local:000000000000:table/beta/stream/x"}'),
  ('{"StreamArn":"arn:aws:dynamodb:local:000000000000:table/beta/stream/2001-01-01T00:00:00.000"}'),
  ('{"StreamArn":"arn:aws:dynamodb:local:000000000000:table/nothing/stream/2001-01-01T00:00:00.000"}'),
  (json_build_object('StreamArn', arn('beta'), 'Limit', 101)), (json_build_object('StreamArn', arn('beta'), 'ExclusiveStartShardId', 'x')),
  (json_build_object('StreamArn', arn('beta'), 'ExclusiveStartShardId', shard('alpha', 0)))) v (r);

-- GetShardIterator
SELECT t, request('GetShardIterator', json_build_object('StreamArn', arn('beta'), 'ShardId', shard('beta', 1), 'ShardIteratorType', t, 'SequenceNumber', s))
  FROM (VALUES ('TRIM_HORIZON', NULL), ('LATEST', NULL), ('AT_SEQUENCE_NUMBER', '1' || repeat('0', 32)), ('AFTER_SEQUENCE_NUMBER', '1' || repeat('0', 32)),
    ('TRIM_HORIZON', '1' || repeat('0', 32)),
  ('AT_SEQUENCE_NUMBER', NULL), ('AFTER_SEQUENCE_NUMBER', '17'), ('AFTER_SEQUENCE_NUMBER', ''), ('FIRST', NULL), ('', NULL)) v (t, s);
SELECT request('GetShardIterator', json_build_object('StreamArn', arn('beta'), 'ShardId', shard('beta', 2), 'ShardIteratorType', 'LATEST'));
SELECT request('GetShardIterator', json_build_object('StreamArn', arn('beta'), 'ShardId', shard('alpha', 0), 'ShardIteratorType', 'LATEST'));
SELECT request('GetShardIterator', json_build_object('StreamArn', arn('beta'), 'ShardId', 'x', 'ShardIteratorType', 'LATEST'));
SELECT request('GetShardIterator', json_build_object('StreamArn', arn('beta'), 'ShardId', shard('beta', 0)));
SELECT request('GetShardIterator', json_build_object('StreamArn', 'arn:aws:dynamodb:local:000000000000:table/beta/stream/2001-01-01T00:00:00.000', 'ShardId',
	shard('beta', 0), 'ShardIteratorType', 'LATEST'));

-- GetRecords: ST16, 1500 changes are 1000 and 500, and then there is an iterator still
-- in a partition that does not expire
CREATE TABLE span PARTITION OF dynamo_internal.stream_records FOR VALUES FROM ('2100-01-01') TO ('2100-01-02');
CREATE FUNCTION label(name regclass, which text DEFAULT 'ENABLED') RETURNS bigint LANGUAGE sql AS $$ SELECT (extract(epoch FROM enabled_at) * 1000)::bigint
	FROM dyn_streams WHERE relation = name AND status = which $$;
INSERT INTO dynamo_internal.stream_records SELECT 'beta'::regclass, label('beta'), i % 2, 'I', false, false, '0/100', i, '2001-01-01', '2100-01-01', 10,
	dyn_project(item, 'pk, sk'), item, NULL
  FROM generate_series(1, 3000) i, LATERAL (SELECT jsonb_build_object('pk', (i % 2)::text, 'sk', i, 'v', 1)::dyn_item AS item) v;
CREATE FUNCTION iterator(name text, number int, kind text DEFAULT 'TRIM_HORIZON', at text DEFAULT NULL, which text DEFAULT 'ENABLED')
	RETURNS text LANGUAGE sql AS $$
  SELECT dyn_request('GetShardIterator', json_build_object('StreamArn', arn(name, which), 'ShardId', shard(name, number, which), 'ShardIteratorType', kind,
    'SequenceNumber', at)) ->> 'ShardIterator' $$;
CREATE FUNCTION pages(at text, size int DEFAULT NULL, most int DEFAULT 4) RETURNS TABLE (records int, first text, last text, more boolean) LANGUAGE plpgsql
	AS $$
DECLARE
  response jsonb;
BEGIN
  FOR n IN 1 .. most LOOP
    EXIT WHEN at IS NULL;
    response := dyn_request('GetRecords', json_build_object('ShardIterator', at, 'Limit', size));
    at := response ->> 'NextShardIterator';
    records := jsonb_array_length(response -> 'Records');
    first := response #>> '{Records,0,dynamodb,Keys,sk,N}';
    last := response #>> '{Records,-1,dynamodb,Keys,sk,N}';
    more := at IS NOT NULL;
    RETURN NEXT;
  END LOOP;
END $$;
SELECT * FROM pages(iterator('beta', 0), most => 3);
SELECT * FROM pages(iterator('beta', 1), 600);
-- a record, and other types of iterators
SELECT request('GetRecords', json_build_object('ShardIterator', iterator('beta', 1), 'Limit', 1));
SELECT p.* FROM dyn_read_stream('beta', max_records => 100) WITH ORDINALITY r, pages(iterator('beta', 1, 'AT_SEQUENCE_NUMBER', sequence_number), 1, 1) p
	WHERE r.ordinality = 51;
SELECT p.* FROM dyn_read_stream('beta', max_records => 100) WITH ORDINALITY r, pages(iterator('beta', 1, 'AFTER_SEQUENCE_NUMBER', sequence_number), 1, 1) p
	WHERE r.ordinality = 51;
SELECT * FROM pages(iterator('beta', 1, 'LATEST'), 1, 1);
-- where a stream begins, as it is described, all of it is read
SELECT sum(records) FROM pages(iterator('beta', 1, 'AT_SEQUENCE_NUMBER',
	dyn_request('DescribeStream', json_build_object('StreamArn', arn('beta'))) #>> '{StreamDescription,Shards,1,SequenceNumberRange,StartingSequenceNumber}'));
-- a page has 1 MB at most
UPDATE dynamo_internal.stream_records SET size = 300000 WHERE ordinal <= 20 AND relation = 'beta'::regclass;
UPDATE dynamo_internal.stream_records SET size = 2000000 WHERE ordinal = 8 AND relation = 'beta'::regclass;
SELECT * FROM pages(iterator('beta', 0), 9, 6);

-- iterators that are none, or too old
SELECT iterator('beta', 0) AS it, arn('beta') AS arn \gset
SELECT name, request('GetRecords', json_build_object('ShardIterator', i))
	FROM (VALUES ('no text', NULL), ('empty', ''), ('short', 'x'), ('bars', '||||'), ('cut', left(:'it', -14)),
  ('no ARN', regexp_replace(:'it', '^[^|]*', 'x')), ('no table', regexp_replace(:'it', '/beta/', '/nothing/')),
  ('other table', regexp_replace(:'it', '/beta/', '/alpha/')), ('shard 2', regexp_replace(:'it', '\|0\|', '|2|')),
  ('shard 64', regexp_replace(:'it', '\|0\|', '|64|')), ('shard -1', regexp_replace(:'it', '\|0\|', '|-1|')),
  ('long shard', regexp_replace(:'it', '\|0\|', '|0000000000000000000|')),
  ('position', regexp_replace(:'it', 'TRIM_HORIZON', 'LATEST')), ('sequence', regexp_replace(:'it', 'TRIM_HORIZON', '1' || repeat('9', 32))),
  ('time', :'it' || 'x'),
  ('old', regexp_replace(:'it', '\d+$', ((extract(epoch FROM now()) - 901) * 1000)::bigint::text)), ('very old', regexp_replace(:'it', '\d+$', '0'))) v (name,
  i);
SELECT request('GetRecords', json_build_object('ShardIterator', regexp_replace(:'it', '\d+$', ((extract(epoch FROM now()) - 800) * 1000)::bigint::text),
	'Limit', 1)) LIKE '{"Records"%' AS young;
SELECT request('GetRecords', json_build_object('ShardIterator', :'it', 'Limit', n)) FROM (VALUES (0), (1001), (-1)) v (n);
SELECT request('GetRecords', '{}');
-- no iterator makes anything else of it than an error that says so, or records
SELECT setseed(0.5);
DO $$
DECLARE
  it text := iterator('beta', 0);
  wrong text;
BEGIN
  FOR i IN 1 .. 2000 LOOP
    wrong := overlay(it placing chr(33 + floor(random() * 90)::int) from 1 + floor(random() * length(it))::int for floor(random() * 3)::int);
    BEGIN
      PERFORM dyn_request('GetRecords', json_build_object('ShardIterator', wrong, 'Limit', 1));
    EXCEPTION WHEN OTHERS THEN
      IF dyn_error_name(SQLSTATE) IS NULL THEN
        RAISE '% % %', wrong, SQLSTATE, SQLERRM;
      END IF;
    END;
  END LOOP;
END $$;

-- rights are looked at with each use
CREATE ROLE request_streams_reader;
GRANT USAGE ON SCHEMA request_streams TO request_streams_reader;
GRANT SELECT ON alpha TO request_streams_reader;
GRANT SELECT (item) ON beta TO request_streams_reader;
SET ROLE request_streams_reader;
SELECT list_pages(9);
SELECT request('ListStreams', '{"TableName":"beta"}');
SELECT request('DescribeStream', json_build_object('StreamArn', :'arn'));
SELECT request('GetRecords', json_build_object('ShardIterator', :'it'));
RESET ROLE;
ALTER TABLE alpha ENABLE ROW LEVEL SECURITY;
SET ROLE request_streams_reader;
SELECT list_pages(9);
SELECT request('DescribeStream', json_build_object('StreamArn', arn('alpha')));
RESET ROLE;

-- ST09, and a gap: in DynamoDB's words
INSERT INTO dynamo_internal.stream_trimmed VALUES ('beta'::regclass, label('beta'), '0/100', 10);
SELECT request('GetRecords', json_build_object('ShardIterator', iterator('beta', 0, 'AFTER_SEQUENCE_NUMBER', '1' || repeat('0', 32))));
SELECT request('DescribeStream', json_build_object('StreamArn', arn('beta'), 'Limit', 1)) ~ '"StartingSequenceNumber":"100000000000000000256000000000011"'
	AS behind;
INSERT INTO dynamo_internal.stream_gaps VALUES ('0/80', '0/90', now() + interval '1 hour'), ('0/100', '0/180', now() + interval '1 hour');
SELECT request('GetRecords', json_build_object('ShardIterator', iterator('beta', 0, 'AFTER_SEQUENCE_NUMBER', '100000000000000000256000000000011')));
DELETE FROM dynamo_internal.stream_gaps WHERE before_lsn < '0/1000';

-- ST10: a disabled stream can be read to its end, which is there when all has been collected that was before it
INSERT INTO dynamo_internal.stream_records SELECT 'gamma'::regclass, label('gamma', 'DISABLED'), 0, 'I', false, false, '0/200', i, '2001-01-01', '2100-01-01',
	10, item, item, NULL
  FROM generate_series(1, 3) i, LATERAL (SELECT jsonb_build_object('pk', i, 'sk', i)::dyn_item AS item) v;
SELECT iterator('gamma', 0, which => 'DISABLED') AS it \gset
SELECT * FROM pages(:'it', 2);
CALL dyn_collect_streams();
SELECT * FROM pages(:'it', 2);
SELECT jsonb_pretty(hidden(dyn_request('DescribeStream', json_build_object('StreamArn',
	arn('gamma', 'DISABLED')))::text)::jsonb -> 'StreamDescription' -> 'Shards');

-- a table that gets another name has other ARNs
ALTER TABLE beta RENAME TO delta;
SELECT request('DescribeStream', json_build_object('StreamArn', :'arn'));
SELECT list_pages(9);

DROP TABLE span;
DELETE FROM dynamo_internal.stream_trimmed;
SELECT dyn_disable_stream(t) FROM (VALUES ('delta'), ('alpha'), ('gamma')) v (t);
-- a stream that had no records does not end before it begins
CALL dyn_collect_streams();
SELECT count(*), bool_and(r ->> 'StartingSequenceNumber' <= r ->> 'EndingSequenceNumber') AS ordered
  FROM dyn_streams s, json_array_elements(dyn_request('DescribeStream', json_build_object('StreamArn', s.stream_arn)) -> 'StreamDescription' -> 'Shards') d,
    LATERAL (SELECT d -> 'SequenceNumberRange' AS r) v
  WHERE relation::text ~ 'gamma';
-- nothing more comes when all is taken down
CALL dyn_teardown_streams();
SELECT bool_and(dyn_request('DescribeStream', json_build_object('StreamArn',
	s.stream_arn)) #>> '{StreamDescription,Shards,0,SequenceNumberRange,EndingSequenceNumber}' IS NOT NULL) AS ended
  FROM dyn_streams s WHERE relation::text ~ 'gamma';
DROP SCHEMA request_streams CASCADE;
DROP ROLE request_streams_reader;
\set ECHO none
\i test/sql/switch_on.sql
\set ECHO all
