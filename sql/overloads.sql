-- Arguments of type text, json and jsonb: what takes JSON takes all three, and what has no type is text.
CREATE SCHEMA overloads;
SET search_path = overloads, public;
SELECT dyn_create_table('app', 'pk S', 'n N');

-- requests
SELECT dyn_request('PutItem', '{"TableName": "app", "Item": {"pk": {"S": "a"}, "n": {"N": "1.0"}}}');
SELECT dyn_request('PutItem', json_build_object('TableName', 'app', 'Item',
	json_build_object('pk', json_build_object('S', 'a'), 'n', json_build_object('N', '2'))));
SELECT dyn_request('PutItem', jsonb_build_object('TableName', 'app', 'Item', '{"pk": {"S": "a"}, "n": {"N": "3"}}'::jsonb));
PREPARE request AS SELECT dyn_request('GetItem', $1);
EXECUTE request ('{"TableName": "app", "Key": {"pk": {"S": "a"}, "n": {"N": "1"}}}');
SELECT pg_typeof(dyn_request('GetItem', r::jsonb)), dyn_request('GetItem', r::jsonb) -> 'Item' AS item
	FROM (VALUES ('{"TableName": "app", "Key": {"pk": {"S": "a"}, "n": {"N": "2"}}}')) v (r);
SELECT dyn_request('GetItem', NULL), dyn_request('GetItem', NULL::json), dyn_request('GetItem', NULL::jsonb);
-- a name that occurs twice is an error but in jsonb, which has dropped it before
SELECT dyn_request('GetItem', '{"TableName": "app", "TableName": "app", "Key": {"pk": {"S": "a"}, "n": {"N": "3"}}}');
SELECT dyn_request('GetItem', '{"TableName": "nope", "TableName": "app", "Key": {"pk": {"S": "a"}, "n": {"N": "3"}}}'::jsonb);
SELECT dyn_request('GetItem', 'x');

-- transactions
-- which are the same for a token
BEGIN;
SELECT dyn_transact('[{"Put": {"TableName": "app", "Item": {"pk": {"S": "t"}, "n": {"N": "1"}}}}]', 'overloads');
SELECT dyn_transact('[{"Put": {"TableName": "app", "Item": {"pk": {"S": "t"}, "n": {"N": "1"}}}}]'::json, 'overloads');
SELECT dyn_transact('[{"Put": {"TableName": "app", "Item": {"n": {"N": "1"}, "pk": {"S": "t"}}}}]'::jsonb, 'overloads');
ROLLBACK;
SELECT dyn_transact('[{"Put": {"TableName": "app", "Item": {"pk": {"S": "t"}, "n": {"N": "1"}}}}]');
SELECT dyn_transact(jsonb_build_array(jsonb_build_object('Delete', '{"TableName": "app", "Key": {"pk": {"S": "a"}, "n": {"N": "3"}}}'::jsonb)));
SELECT dyn_transact_get(g::text), dyn_transact_get(g::json), dyn_transact_get(g::jsonb)
	FROM (VALUES ('[{"Get": {"TableName": "app", "Key": {"pk": {"S": "t"}, "n": {"N": "1"}}}}, {"Get": {"TableName": "app",
	"Key": {"pk": {"S": "a"}, "n": {"N": "3"}}}}]')) v (g);
SELECT * FROM dyn_transact_get('[{"Get": {"TableName": "app", "Key": {"pk": {"S": "t"}, "n": {"N": "1"}}}}]') i;
SELECT dyn_transact(NULL);
SELECT dyn_transact('{}'::jsonb);
SELECT * FROM dyn_transact_get('[1]'::jsonb);

-- batches: text is DynamoDB JSON, json and jsonb are plain JSON
SELECT dyn_batch_write('app', '[{"pk": {"S": "b"}, "n": {"N": "1"}, "v": {"SS": ["x"]}}, {"pk": {"S": "b"}, "n": {"N": "2"}}]');
SELECT dyn_batch_write('app', ' [] ', '[{"pk": {"S": "a"}, "n": {"N": "1"}}, {"pk": {"S": "a"}, "n": {"N": "2"}}]');
SELECT dyn_batch_write('app', json_build_array(json_build_object('pk', 'b', 'n', 3)), jsonb_build_array(jsonb_build_object('pk', 't', 'n', 1)));
SELECT dyn_batch_write('app', deletes => '[{"pk": {"S": "b"}, "n": {"N": "2"}}]');
SELECT item FROM app ORDER BY pk, n;
SELECT dyn_batch_get('app', '[{"pk": {"S": "b"}, "n": {"N": "3"}}, {"pk": {"S": "b"}, "n": {"N": "1"}}]');
SELECT i FROM dyn_batch_get('app', '[{"pk": "b", "n": 3}, {"pk": "b", "n": 1.0}]'::json, projection => 'n') i;
SELECT i FROM dyn_batch_get('app', '[{"pk": "b", "n": 3}, {"pk": "b", "n": 1.0}]'::jsonb, projection => '#n', names => '{"#n": "n"}') i;
SELECT i FROM dyn_batch_get('app', (SELECT jsonb_agg(jsonb_build_object('pk', 'b', 'n', n)) FROM generate_series(1, 5) n)) i;
-- the text form of an array, as drivers send arrays without a type
SELECT dyn_batch_get('app', '{"{\"pk\":{\"S\":\"b\"},\"n\":{\"N\":\"3\"}}"}');
PREPARE keys AS SELECT dyn_batch_get('app', $1);
EXECUTE keys ('[{"pk": {"S": "b"}, "n": {"N": "3"}}]');
-- the casts
SELECT '[{"pk": "x", "n": [1, {"a": null}]}, {}]'::json::dyn_item[], '[{"pk": "x", "n": [1, {"a": null}]}, {}]'::jsonb::dyn_item[], '[]'::json::dyn_item[],
	'[]'::jsonb::dyn_item[];
SELECT dyn_batch_get('app', NULL::text);
SELECT dyn_batch_get('app', NULL::jsonb);
SELECT dyn_batch_get('app', '[]');
\set VERBOSITY terse
SELECT dyn_batch_get('app', '{"pk": {"S": "b"}, "n": {"N": "3"}}');
\set VERBOSITY default
SELECT dyn_batch_get('app', '{"pk": "b", "n": 3}'::json);
SELECT dyn_batch_get('app', '"x"'::jsonb);
SELECT dyn_batch_get('app', '[{"pk": {"S": "b"}, "n": {"N": "3"}}, null]');
SELECT dyn_batch_get('app', '[{"pk": {"S": "b"}, "n": {"N": "3"}}]'::json);
SELECT dyn_batch_get('app', '[{"pk": "b", "n": 3}]');
SELECT dyn_batch_get('app', '[{"pk": {"S": "b"}, "n": {"N": "3"}}');
\set VERBOSITY terse
SELECT dyn_batch_write('app');
\set VERBOSITY default

SET client_min_messages = warning;
DROP SCHEMA overloads CASCADE;
