-- Needs logical decoding.
SELECT current_setting('wal_level') <> 'logical' AS skipped \gset
\if :skipped
\echo skipped: wal_level is not logical
\quit
\endif
-- The region that a gateway's request is for, in ARNs of streams, iterators and records
\set SHOW_CONTEXT never
\set service stream_collector
\set ECHO none
\i test/sql/switch_off.sql
\set ECHO all
CREATE ROLE regress_region;
CREATE SCHEMA region;
GRANT CREATE, USAGE ON SCHEMA region TO regress_region;
SET search_path = region, public;
CALL dyn_setup_streams();
SELECT dyn_create_table('app', 'pk S');
ALTER TABLE app OWNER TO regress_region;
CREATE FUNCTION regions(answer json) RETURNS text LANGUAGE sql AS
  $$ SELECT string_agg(DISTINCT regexp_replace(arn[1], '20\d\d-.*', '<label>'), E'\n')
    FROM regexp_matches(answer::text, '(?:arn:|awsRegion)[^,}]*', 'g') arn $$;
SELECT regions(dynamo_internal.request_as('regress_region', 'UpdateTable',
	'{"TableName":"app","StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_IMAGE"}}', 'eu-west-1'));
SELECT substring(stream_arn FROM '/stream/.*') AS label FROM dyn_streams WHERE relation = 'app'::regclass \gset
CREATE FUNCTION stream(region text, label text) RETURNS text LANGUAGE sql
	AS $$ SELECT format('{"StreamArn":"arn:aws:dynamodb:%s:000000000000:table/app%s"}', region, label) $$;
SELECT region, regions(dynamo_internal.request_as('regress_region', 'ListStreams', '{"TableName":"app"}', region)) FROM unnest(ARRAY['eu-west-1', '']) region;

-- a stream's ARN of the region, or of "local", from before the region was known; the answer has the region
SELECT of, regions(dynamo_internal.request_as('regress_region', 'DescribeStream', stream(of, :'label'), 'eu-west-1'))
	FROM unnest(ARRAY['eu-west-1', 'local']) of;
SELECT stream('us-east-1', '/stream/2001-01-01T00:00:00.000') AS other \gset
SELECT dynamo_internal.request_as('regress_region', 'DescribeStream', :'other', 'eu-west-1');
SELECT dynamo_internal.request_as('regress_region', 'ListStreams',
	'{"ExclusiveStartStreamArn":"arn:aws:dynamodb:us-east-1:000000000000:table/app/stream/2001-01-01T00:00:00.000"}', 'eu-west-1');

-- an iterator is of the region that it was asked for, and records are of the one of their request
SELECT count(dynamo_internal.request_as('regress_region', 'PutItem', format('{"TableName":"app","Item":{"pk":{"S":"%s"}}}', i), 'eu-west-1'))
	FROM generate_series(1, 8) i;
CALL dyn_collect_streams();
SELECT max(iterator) FILTER (WHERE of = 'eu-west-1') AS ours, max(iterator) FILTER (WHERE of = 'local') AS kept FROM (
  SELECT of, dynamo_internal.request_as('regress_region', 'GetShardIterator',
    (stream(of, :'label')::jsonb || jsonb_build_object('ShardIteratorType', 'TRIM_HORIZON', 'ShardId',
    dynamo_internal.request_as('regress_region', 'DescribeStream', stream('local', :'label')) #>> '{StreamDescription,Shards,1,ShardId}'))::text,
      'eu-west-1')::text AS iterator
  FROM unnest(ARRAY['eu-west-1', 'local']) of) i \gset
SELECT regions(dynamo_internal.request_as('regress_region', 'GetRecords', :'ours', 'eu-west-1'));
SELECT regions(dynamo_internal.request_as('regress_region', 'GetRecords', :'kept', 'us-east-1'));
\set VERBOSITY sqlstate
SELECT dynamo_internal.request_as('regress_region', 'GetRecords', :'ours', 'us-east-1');
SELECT dynamo_internal.request_as('regress_region', 'GetRecords', :'ours');
\set VERBOSITY default
-- functions of SQL take all ARNs, and tell "local"
SELECT count(*), min(regexp_replace(record ->> 'eventSourceARN', '20.*', '<label>')) AS arn, min(record ->> 'awsRegion') AS region
	FROM dyn_read_stream('app', format => 'plain', stream => stream('us-east-1', :'label')::json ->> 'StreamArn');

\set VERBOSITY terse
SELECT dyn_disable_stream('app');
CALL dyn_teardown_streams();
DROP SCHEMA region CASCADE;
DROP ROLE regress_region;
\set ECHO none
\i test/sql/switch_on.sql
\set ECHO all
