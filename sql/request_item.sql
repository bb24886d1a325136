-- GetItem, PutItem, UpdateItem, DeleteItem by dyn_request()
\pset format unaligned
\pset tuples_only on
CREATE FUNCTION request(operation text, request text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE d text; h text;
BEGIN
  RETURN dyn_request(operation, request);
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS d = PG_EXCEPTION_DETAIL, h = PG_EXCEPTION_HINT;
  RETURN concat_ws(' / ', coalesce(dyn_error_name(SQLSTATE), SQLSTATE) || ': ' || SQLERRM, nullif(d, ''), nullif(h, ''));
END $$;
SELECT dyn_create_table('mov', 'Actor S', 'Movie S', global_indexes => '{"MoviesIndex": {"partition_key": "Movie S", "sort_key": "Actor S"}}');

-- W01, W05, W08, W14: put, get, update, delete one key
SELECT request('PutItem', '{"TableName":"mov","Item":{"Actor":{"S":"Tom Hanks"},"Movie":{"S":"Toy Story"},"Year":{"N":"1995.0"},"Roles":{"SS":["Woody"]}}}');
SELECT request('GetItem', '{"TableName":"mov","Key":{"Actor":{"S":"Tom Hanks"},"Movie":{"S":"Toy Story"}}}');
SELECT request('UpdateItem', '{"TableName":"mov","Key":{"Actor":{"S":"Tom Hanks"},"Movie":{"S":"Toy Story"}},"UpdateExpression":"SET #y = #y + :1",
	"ExpressionAttributeNames":{"#y":"Year"},"ExpressionAttributeValues":{":1":{"N":"1"}}}');
SELECT request('DeleteItem', '{"TableName":"mov","Key":{"Actor":{"S":"Tom Hanks"},"Movie":{"S":"Toy Story"}},"ReturnValues":"ALL_OLD"}');
SELECT request('DeleteItem', '{"TableName":"mov","Key":{"Actor":{"S":"Tom Hanks"},"Movie":{"S":"Toy Story"}},"ReturnValues":"ALL_OLD"}');
SELECT request('GetItem', '{"TableName":"mov","Key":{"Actor":{"S":"Tom Hanks"},"Movie":{"S":"Toy Story"}},"ConsistentRead":true}');

-- W06, R01: projection, names; members in any order, null as if not given
SELECT request('PutItem', '{"Item":{"Movie":{"S":"m\u0000\ud83c\udfac\"\\"},"Actor":{"S":"a"},"n":{"N":"5"},"m":{"M":{"q":{"B":"AQID"},"z":{"NULL":true}}},
	"l":{"L":[{"BOOL":true},{"S":""}]},"ns":{"NS":["2","1"]}},"TableName":"mov","ConditionExpression":null}');
SELECT request('GetItem', '{"Key":{"Movie":{"S":"m\u0000🎬\"\\"},"Actor":{"S":"a"}},"TableName":"mov"}');
SELECT request('GetItem', '{"Key":{"Movie":{"S":"m\u0000🎬\"\\"},"Actor":{"S":"a"}},"TableName":"mov","ProjectionExpression":"#m.q, l[0]",
	"ExpressionAttributeNames":{"#m":"m"},"ConsistentRead":false}');
SELECT request('GetItem', '{"Key":{"Movie":{"S":"m\u0000🎬\"\\"},"Actor":{"S":"a"}},"TableName":"mov","ProjectionExpression":"nope"}');

-- the table as ARN
SELECT request('GetItem', format('{"TableName":"%s","Key":{"Actor":{"S":"a"},"Movie":{"S":"x"}}}', arn))
	FROM unnest(ARRAY['arn:aws:dynamodb:local:000000000000:table/mov', 'arn:aws-cn:dynamodb:cn-north-1:1:table/mov',
	'arn:aws:dynamodb:local:000000000000:table/', 'arn:aws:dynamodb:local:000000000000:table/mov/index/x', 'arn:aws:dynamodb:eu-west-1:table/mov', 'arn:',
	'arn:aws:dynamodb:local:000000000000:table/nope']) arn;

-- W09, W15, R12, C44: conditions
SELECT request('PutItem', '{"TableName":"mov","Item":{"Actor":{"S":"b"},"Movie":{"S":"x"},"n":{"N":"1"}},"ConditionExpression":"attribute_not_exists(Actor)"}')
	FROM generate_series(1, 2);
SELECT request('PutItem', '{"TableName":"mov","Item":{"Actor":{"S":"b"},"Movie":{"S":"x"}},"ConditionExpression":"attribute_not_exists(Actor)",
	"ReturnValuesOnConditionCheckFailure":"ALL_OLD"}');
SELECT request('UpdateItem', '{"TableName":"mov","Key":{"Actor":{"S":"b"},"Movie":{"S":"x"}},"UpdateExpression":"SET n = :n","ConditionExpression":"n = :m",
	"ExpressionAttributeValues":{":n":{"N":"2"},":m":{"N":"3"}},"ReturnValuesOnConditionCheckFailure":"ALL_OLD"}');
SELECT request('DeleteItem', '{"TableName":"mov","Key":{"Actor":{"S":"b"},"Movie":{"S":"x"}},"ConditionExpression":"n = :m",
	"ExpressionAttributeValues":{":m":{"N":"3"}},"ReturnValuesOnConditionCheckFailure":"NONE"}');
SELECT request('DeleteItem', '{"TableName":"mov","Key":{"Actor":{"S":"b"},"Movie":{"S":"y"}},"ConditionExpression":"attribute_exists(Actor)",
	"ReturnValuesOnConditionCheckFailure":"ALL_OLD"}');

-- R05 to R11
SELECT rv, request('UpdateItem', format('{"TableName":"mov","Key":{"Actor":{"S":"c"},"Movie":{"S":"x"}},"UpdateExpression":"ADD n :1 REMOVE gone",
	"ExpressionAttributeValues":{":1":{"N":"1"}},"ReturnValues":"%s"}', rv))
	FROM unnest(ARRAY['UPDATED_OLD', 'UPDATED_NEW', 'ALL_OLD', 'ALL_NEW', 'NONE', 'none', '']) rv;
SELECT rv, request('PutItem', format('{"TableName":"mov","Item":{"Actor":{"S":"c"},"Movie":{"S":"x"}},"ReturnValues":"%s"}', rv))
	FROM unnest(ARRAY['NONE', 'ALL_OLD', 'ALL_NEW', 'UPDATED_OLD', 'UPDATED_NEW', 'all_old']) rv;
SELECT rv, request('DeleteItem', format('{"TableName":"mov","Key":{"Actor":{"S":"c"},"Movie":{"S":"x"}},"ReturnValues":"%s"}', rv))
	FROM unnest(ARRAY['ALL_NEW', 'UPDATED_OLD', 'UPDATED_NEW', 'ALL_OLD', 'ALL_OLD']) rv;
SELECT rv, request('PutItem', format('{"TableName":"mov","Item":{"Actor":{"S":"c"},"Movie":{"S":"x"}},"ReturnValuesOnConditionCheckFailure":"%s"}', rv))
	FROM unnest(ARRAY['NONE', 'ALL_OLD', 'ALL_NEW', 'UPDATED_OLD']) rv;

-- W12, W13
SELECT request('UpdateItem', '{"TableName":"mov","Key":{"Actor":{"S":"d"},"Movie":{"S":"x"}},"UpdateExpression":"REMOVE a","ReturnValues":"ALL_NEW"}');
SELECT request('UpdateItem', '{"TableName":"mov","Key":{"Actor":{"S":"d"},"Movie":{"S":"x"}},"ReturnValues":"ALL_NEW"}');
SELECT request('UpdateItem', '{"TableName":"mov","Key":{"Actor":{"S":"d"},"Movie":{"S":"x"}},"UpdateExpression":"SET Movie = :m",
	"ExpressionAttributeValues":{":m":{"S":"y"}}}');

-- W04, and what else is not of the operation (P01); a member twice, none, or of another type
SELECT op, m, request(op, '{"TableName":"mov",' || CASE op WHEN 'PutItem' THEN '"Item"' ELSE '"Key"' END || ':{"Actor":{"S":"d"},"Movie":{"S":"x"}},' || m ||
	'}')
  FROM (VALUES ('GetItem', '"IndexName":"MoviesIndex"'), ('PutItem', '"IndexName":"MoviesIndex"'), ('UpdateItem', '"IndexName":"MoviesIndex"'),
    ('DeleteItem', '"IndexName":"MoviesIndex"'),
               ('GetItem', '"ScanIndexForward":true'), ('GetItem', '"ReturnValues":"NONE"'), ('GetItem', '"ExpressionAttributeValues":{":a":{"S":"x"}}'),
               ('PutItem', '"FilterExpression":"a = :a"'), ('PutItem', '"ConsistentRead":true'),
               ('PutItem', '"UpdateExpression":"REMOVE a"'), ('DeleteItem', '"UpdateExpression":"REMOVE a"'), ('PutItem', '"Key":{}'),
               ('GetItem', '"Key":{}'), ('GetItem', '"key":{}'),
               ('GetItem', '"ConsistentRead":"true"'), ('GetItem', '"ConsistentRead":1'), ('GetItem', '"ProjectionExpression":["a"]'),
               ('GetItem', '"ExpressionAttributeNames":["a"]'), ('GetItem', '"ExpressionAttributeNames":{"#a":1}'),
               ('UpdateItem', '"ExpressionAttributeValues":"x"'), ('UpdateItem', '"ExpressionAttributeValues":{":a":1}'),
               ('UpdateItem', '"ExpressionAttributeValues":{":a":{"N":1}}'), ('PutItem', '"ReturnValues":true'), ('GetItem', '"ReturnConsumedCapacity":"ALL"'),
               ('PutItem', '"ReturnItemCollectionMetrics":"ALL"'), ('GetItem', '"ReturnItemCollectionMetrics":"SIZE"')) v(op, m);
SELECT r, request('GetItem', r) FROM unnest(ARRAY['{}', '{"TableName":"mov"}', '{"TableName":null,"Key":{}}', '{"Key":{"Actor":{"S":"x"}}}', '[]', '"x"', '1',
	'null', '{"TableName":5}', '{"TableName":"mov","Key":[]}', '{"TableName":"mov","Key":"x"}']) r;
SELECT request('PutItem', '{"TableName":"mov"}'), request('UpdateItem', '{"TableName":"mov"}'), request('DeleteItem', '{"TableName":"mov"}');

-- K06 to K09, W02, W19, K22: all of the request is wrong before anything is read
SELECT k, request('GetItem', '{"TableName":"mov","Key":' || k || '}') FROM unnest(ARRAY['{}', '{"Actor":{"S":"x"}}', '{"Actor":{"S":"x"},"Movie":{"N":"1"}}',
	'{"Actor":{"S":"x"},"Movie":{"S":"y"},"Year":{"N":"1"}}', '{"Actor":{"S":""},"Movie":{"S":"y"}}', '{"Actor":"x","Movie":"y"}']) k;
-- a value may have members that are no types (T03), and JSON has an end of depth (T14)
SELECT v, request('PutItem', '{"TableName":"mov","Item":{"Actor":{"S":"v"},"Movie":{"S":"x"},"v":' || v || '}}')
	FROM unnest(ARRAY['{"S":"a","X":[1]}', '{"S":"b","N":null}', '{"X":1}', 'null', '{"S":"a","X":[1,]}']) v;
SELECT dyn_get('mov', '{"Actor":{"S":"v"},"Movie":{"S":"x"}}');
SELECT n, left(request('PutItem', '{"TableName":"mov","Item":{"Actor":{"S":"v"},"Movie":{"S":"x"},"v":' || repeat('{"L":[', n) || repeat(']}', n) || '}}'),
	70) FROM unnest(ARRAY[31, 32, 33, 500, 600, 100000]) n;
SELECT n, left(request('PutItem', '{"TableName":"mov","Item":{"Actor":{"S":"v"},"Movie":{"S":"x"}},"Other":' || repeat('[', n) || repeat(']', n) || '}'), 70)
	FROM unnest(ARRAY[1000, 1001, 100000]) n;
SELECT request('PutItem', '{"TableName":"mov","Item":{"Actor":{"S":"T"}}}');
SELECT request('PutItem', '{"TableName":"mov","Item":{"Actor":{"S":"b"},"Movie":{"S":"x"}},"ConditionExpression":"attribute_not_exists(Actor)",
	"ExpressionAttributeValues":{":v":{"S":"x"}}}');
SELECT request('PutItem', '{"TableName":"mov","Item":{"Actor":{"S":"b"},"Movie":{"S":"x"}},"ConditionExpression":"n = 5"}');
SELECT left(t, 10), left(request('GetItem', format('{"TableName":"%s","Key":{"Actor":{"S":"x"}}}', t)), 80)
	FROM unnest(ARRAY['nope', 'x', 'a b', '', 'pg_class', repeat('x', 256)]) t;
SELECT request('GetItemm', '{}'), request('getItem', '{}');

-- an error without words after one that has some
SELECT dyn_create_table('wide', 'p S', global_indexes => '{"ByG": {"partition_key": "g S"}}');
SELECT request('PutItem', '{"TableName":"wide","Item":{"p":{"S":"a"},"g":{"N":"1"}}}');
SELECT request('PutItem', format('{"TableName":"wide","Item":{"p":{"S":"%s"},"g":{"S":"%s"}}}', k, reverse(k)))
	FROM (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 64) i) AS long(k);
SELECT dyn_drop_table('wide');

-- X15: a failed request can be caught, and what was before it stays
SELECT request('GetItem', '{"TableName":"mov","Key":{"Actor":{"S":"b"},"Movie":{"S":"x"}}}');

DROP FUNCTION request;
DROP TABLE mov;

-- strings of requests that are no text
SELECT dyn_request('Scan', E'{"TableName":"\\ud800"}');
SELECT dyn_request('Query', E'{"TableName":"a\\udfac\\"","IndexName":"x"}');
SELECT dyn_request('GetItem', E'{"Key":{"a\\udc00":{"S":"x"}}}');
