-- Needs logical decoding.
SELECT current_setting('wal_level') <> 'logical' AS skipped \gset
\if :skipped
\echo skipped: wal_level is not logical
\quit
\endif
-- Change streams from end to end: writes, the collector, and GetRecords; docs/semantics.md, ST01 to ST16.
\set VERBOSITY terse
\set service ttl_worker
\set ECHO none
\i test/sql/switch_off.sql
\set ECHO all
SET client_min_messages = warning;
SET dynamo_table.stream_shards = 1;
CREATE SCHEMA stream_rows;
SET search_path = stream_rows, public;
CALL dyn_setup_streams();
SELECT dyn_create_table('app', 'pk S', 'sk S', global_indexes => '{"First": {"partition_key": "g S"}, "Second": {"partition_key": "g S", "sort_key": "n N"}}');
SELECT dyn_put('app', '{"pk":{"S":"before"},"sk":{"S":"the stream"}}');
SELECT count(dyn_enable_stream('app', 'NEW_AND_OLD_IMAGES'));

-- a reader who asks for what is new since he asked the last time
CREATE TABLE iterators (reader text PRIMARY KEY, iterator text);
CREATE FUNCTION begin_at(reader text, kind text, name text DEFAULT 'app', at text DEFAULT NULL) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  arn text := (SELECT stream_arn FROM dyn_streams WHERE relation = name::regclass ORDER BY enabled_at DESC LIMIT 1);
  shard text := dyn_request('DescribeStream', json_build_object('StreamArn', arn)) #>> '{StreamDescription,Shards,0,ShardId}';
BEGIN
  INSERT INTO iterators VALUES (reader, dyn_request('GetShardIterator',
    json_build_object('StreamArn', arn, 'ShardId', shard, 'ShardIteratorType', kind, 'SequenceNumber', at)) ->> 'ShardIterator')
    ON CONFLICT ON CONSTRAINT iterators_pkey DO UPDATE SET iterator = EXCLUDED.iterator;
END $$;
CREATE FUNCTION get(who text, most int DEFAULT 1000) RETURNS SETOF json LANGUAGE plpgsql AS $$
DECLARE
  response json := dyn_request('GetRecords', json_build_object('ShardIterator', (SELECT iterator FROM iterators WHERE reader = who), 'Limit', most));
BEGIN
  UPDATE iterators SET iterator = response ->> 'NextShardIterator' WHERE reader = who;
  RETURN QUERY SELECT json_array_elements(response -> 'Records');
END $$;
CREATE FUNCTION news(who text DEFAULT 'a') RETURNS TABLE (event text, keys text, new text, old text, by text) LANGUAGE sql AS $$
  SELECT r ->> 'eventName', r #>> '{dynamodb,Keys}', r #>> '{dynamodb,NewImage}', r #>> '{dynamodb,OldImage}', r ->> 'userIdentity' FROM get(who) r $$;
SELECT begin_at('a', 'TRIM_HORIZON'), begin_at('b', 'TRIM_HORIZON');
SELECT * FROM news();

-- ST01, ST05: a record of each change, with all fields
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"S":"1"},"v":{"N":"1"}}');
SELECT dyn_update('app', '{"pk":{"S":"a"},"sk":{"S":"1"}}', 'SET v = :v', vals => '{":v":{"N":"2"}}');
SELECT dyn_delete('app', '{"pk":{"S":"a"},"sk":{"S":"1"}}');
CALL dyn_collect_streams() \gset
SELECT r ->> 'eventName' AS event, (SELECT string_agg(k, ' ' ORDER BY k) FROM json_object_keys(r) k) AS members,
	(SELECT string_agg(k, ' ' ORDER BY k) FROM json_object_keys(r -> 'dynamodb') k) AS change,
  r ->> 'eventVersion' AS version, r ->> 'eventSource' AS source, length(r ->> 'eventID') AS id, r #>> '{dynamodb,SequenceNumber}' ~ '^1\d{32}$' AS sequence,
  abs((r #>> '{dynamodb,ApproximateCreationDateTime}')::numeric - extract(epoch FROM now())) < 600 AS at, r #>> '{dynamodb,SizeBytes}' AS size,
    r #>> '{dynamodb,StreamViewType}' AS view
  FROM get('a') r;
-- ST08: another one has them too
SELECT * FROM news('b');

-- ST02: what was there decides, not the action
SELECT dyn_update('app', '{"pk":{"S":"b"},"sk":{"S":"1"}}', 'SET v = :v', vals => '{":v":{"N":"1"}}');
SELECT dyn_put('app', '{"pk":{"S":"b"},"sk":{"S":"1"},"v":{"N":"2"}}');
CALL dyn_collect_streams() \gset
SELECT * FROM news();

-- ST03: nothing, of what changes nothing
SELECT dyn_put('app', '{"sk":{"S":"1"},"v":{"N":"2.00"},"pk":{"S":"b"}}');
SELECT dyn_update('app', '{"pk":{"S":"b"},"sk":{"S":"1"}}', 'SET v = v REMOVE absent');
SELECT dyn_delete('app', '{"pk":{"S":"absent"},"sk":{"S":"1"}}');
SELECT dyn_put('app', '{"pk":{"S":"b"},"sk":{"S":"1"},"v":{"N":"3"}}', 'attribute_not_exists(pk)');
CALL dyn_collect_streams() \gset
SELECT count(*) FROM news();

-- ST06, ST07: in order, once; what was rolled back never
SELECT dyn_put('app', '{"pk":{"S":"c"},"sk":{"S":"1"},"v":{"N":"0"}}');
DO $$ BEGIN FOR i IN 1..100 LOOP
  PERFORM dyn_update('app', '{"pk":{"S":"c"},"sk":{"S":"1"}}', 'ADD v :n', vals => '{":n":{"N":"1"}}');
  IF i % 10 = 0 THEN COMMIT; END IF;
END LOOP; END $$;
BEGIN;
SELECT dyn_put('app', '{"pk":{"S":"c"},"sk":{"S":"rolled back"}}');
ROLLBACK;
BEGIN;
SELECT dyn_put('app', '{"pk":{"S":"c"},"sk":{"S":"2"}}');
SAVEPOINT s;
SELECT dyn_put('app', '{"pk":{"S":"c"},"sk":{"S":"rolled back"}}');
ROLLBACK TO s;
COMMIT;
CALL dyn_collect_streams() \gset
SELECT count(*), array_agg(new::json #>> '{v,N}' ORDER BY n) = array_agg((n - 1)::text ORDER BY n) AS ordered
	FROM (SELECT new, row_number() OVER () AS n FROM news()) r WHERE n <= 101;
CALL dyn_collect_streams() \gset
SELECT count(*) FROM news();
SELECT count(*), count(DISTINCT sequence_number), count(*) FILTER (WHERE keys ->> 'sk' = 'rolled back') AS rolled_back FROM dyn_read_stream('app');

-- ST12: a record of each item of a transaction, and of a batch; none of conditions
SELECT dyn_transact('[{"Put":{"TableName":"app","Item":{"pk":{"S":"d"},"sk":{"S":"1"}}}},{"Put":{"TableName":"app","Item":{"pk":{"S":"d"},"sk":{"S":"2"}}}},
	{"Put":{"TableName":"app","Item":{"pk":{"S":"d"},"sk":{"S":"3"}}}},
  {"ConditionCheck":{"TableName":"app","Key":{"pk":{"S":"d"},"sk":{"S":"absent"}},"ConditionExpression":"attribute_not_exists(pk)"}},
  {"Delete":{"TableName":"app","Key":{"pk":{"S":"d"},"sk":{"S":"absent too"}}}}]');
SELECT dyn_request('BatchWriteItem',
	'{"RequestItems":{"app":[{"PutRequest":{"Item":{"pk":{"S":"d"},"sk":{"S":"4"}}}},{"DeleteRequest":{"Key":{"pk":{"S":"d"},"sk":{"S":"1"}}}}]}}');
CALL dyn_collect_streams() \gset
SELECT event, keys FROM news() ORDER BY keys, event;
-- of entities too: none of checks, of what is absent, and of an update that changes nothing
SELECT dyn_create_entity('app', 'Line', '{"pk": "LINE#<Doc>", "sk": "<No:03>"}', '{"Doc": "S", "No": "N integer"}');
SELECT dyn_put_entity('app', 'Line', '{"Doc": "f", "No": 1}'::jsonb), dyn_put_entity('app', 'Line', '{"Doc": "f", "No": 2}'::jsonb);
SELECT dyn_transact('[{"PutEntity":{"TableName":"app","Entity":"Line","Attributes":{"Doc":{"S":"f"},"No":{"N":"3"}}}},
	{"UpdateEntity":{"TableName":"app","Entity":"Line","Attributes":{"Doc":{"S":"f"},"No":{"N":"1"}},"UpdateExpression":"SET v = Doc"}},
  {"UpdateEntity":{"TableName":"app","Entity":"Line","Attributes":{"Doc":{"S":"f"},"No":{"N":"2"}}}},
  {"CheckEntity":{"TableName":"app","Entity":"Line","Attributes":{"Doc":{"S":"f"},"No":{"N":"8"}},"ConditionExpression":"attribute_not_exists(pk)"}},
  {"DeleteEntity":{"TableName":"app","Entity":"Line","Attributes":{"Doc":{"S":"f"},"No":{"N":"9"}}}}]');
SELECT dyn_batch_write('app', entities => '[{"DeleteEntity":{"Entity":"Line","Attributes":{"Doc":{"S":"f"},"No":{"N":"2"}}}},
	{"PutEntity":{"Entity":"Line","Attributes":{"Doc":{"S":"f"},"No":{"N":"4"}}}}]');
SELECT dyn_drop_entity('app', 'Line');
CALL dyn_collect_streams() \gset
SELECT event, keys, new FROM news() ORDER BY keys, event;

-- ST13: indexes, and building one, give none
SELECT dyn_put('app', '{"pk":{"S":"e"},"sk":{"S":"1"},"g":{"S":"g"},"n":{"N":"1"},"h":{"S":"h"}}');
CALL dyn_create_index('app', 'Third', 'h S');
CALL dyn_collect_streams() \gset
SELECT event, keys FROM news();

-- ST11: what time to live removes says so, and nobody else can
CALL dyn_enable_ttl('app', 'expires');
SELECT count(dyn_put('app', jsonb_build_object('pk', 'f', 'sk', i::text, 'expires', extract(epoch FROM now())::bigint - 60))) FROM generate_series(1, 2) i;
CALL dyn_collect_streams() \gset
SELECT event, keys, by FROM news();
BEGIN;
SELECT pg_logical_emit_message(true, 'dynamo_table', 'expiry start ' || 'app'::regclass::oid) IS NOT NULL AS message;
SELECT dyn_delete('app', '{"pk":{"S":"f"},"sk":{"S":"2"}}');
COMMIT;
CALL dyn_sweep_ttl('app');
CALL dyn_collect_streams() \gset
SELECT event, keys, by FROM news() ORDER BY keys DESC;

-- ST15: whole images of large items
SELECT dyn_put('app', jsonb_build_object('pk', 'g', 'sk', '1', 'v', 1, 'large', (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 9000) i)));
SELECT dyn_update('app', '{"pk":{"S":"g"},"sk":{"S":"1"}}', 'SET v = :v', vals => '{":v":{"N":"2"}}');
SELECT dyn_delete('app', '{"pk":{"S":"g"},"sk":{"S":"1"}}');
CALL dyn_collect_streams() \gset
SELECT event, length(old::json #>> '{large,S}') AS old, old::json #>> '{v,N}' AS old_v, length(new::json #>> '{large,S}') AS new, new::json #>> '{v,N}'
	AS new_v FROM news();
-- a page ends where it would have more than 1 MB
SELECT event, length(old::json #>> '{large,S}') AS old, old::json #>> '{v,N}' AS old_v, length(new::json #>> '{large,S}') AS new, new::json #>> '{v,N}'
	AS new_v FROM news();

-- ST04: view types; ST10: each in a stream of its own, enabled once
SELECT dyn_enable_stream('app', 'KEYS_ONLY');
CREATE PROCEDURE show(view text) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM dyn_disable_stream('app');
  PERFORM dyn_enable_stream('app', view);
  PERFORM dyn_put('app', '{"pk":{"S":"h"},"sk":{"S":"1"},"v":{"N":"1"}}');
  PERFORM dyn_put('app', '{"pk":{"S":"h"},"sk":{"S":"1"},"v":{"N":"2"}}');
  PERFORM dyn_delete('app', '{"pk":{"S":"h"},"sk":{"S":"1"}}');
  PERFORM begin_at(view, 'TRIM_HORIZON');
END $$;
CALL show('KEYS_ONLY');
CALL show('NEW_IMAGE');
CALL show('OLD_IMAGE');
CALL show('NEW_AND_OLD_IMAGES');
CALL dyn_collect_streams() \gset
SELECT view, n.* FROM unnest(ARRAY['KEYS_ONLY', 'NEW_IMAGE', 'OLD_IMAGE', 'NEW_AND_OLD_IMAGES']) view, news(view) n;
SELECT count(*), count(DISTINCT stream_arn), count(*) FILTER (WHERE status = 'ENABLED') AS enabled FROM dyn_streams WHERE relation = 'app'::regclass;

-- ST09: after disabling it can be read until it is trimmed; and comes to an end
SELECT dyn_disable_stream('app');
CALL dyn_collect_streams() \gset
SELECT begin_at('again', 'TRIM_HORIZON');
SELECT event FROM news('again');
-- the end was collected with them
SELECT iterator IS NULL AS ended FROM iterators WHERE reader = 'again';

-- ST16: pages, and an iterator after the last one
SELECT count(dyn_enable_stream('app', 'KEYS_ONLY'));
SELECT begin_at('pages', 'LATEST');
SELECT count(dyn_put('app', format('{"pk":{"S":"p"},"sk":{"S":"%s"}}', i)::dyn_item)) FROM generate_series(1, 1500) i;
CALL dyn_collect_streams() \gset
SELECT (SELECT count(*) FROM get('pages')) AS first, (SELECT count(*) FROM get('pages')) AS second, (SELECT count(*) FROM get('pages')) AS third;
SELECT iterator IS NOT NULL AS more FROM iterators WHERE reader = 'pages';

SELECT dyn_disable_stream('app');
CALL dyn_teardown_streams();
SELECT dyn_drop_table('app');
DROP SCHEMA stream_rows CASCADE;
\set ECHO none
\i test/sql/switch_on.sql
\set ECHO all
