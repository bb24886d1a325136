-- BatchGetItem, BatchWriteItem, TransactWriteItems, TransactGetItems by dyn_request()
\pset format unaligned
\pset tuples_only on
CREATE FUNCTION request(operation text, request text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE d text; h text;
BEGIN
  RETURN dyn_request(operation, request::json);
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS d = PG_EXCEPTION_DETAIL, h = PG_EXCEPTION_HINT;
  RETURN concat_ws(' / ', coalesce(dyn_error_name(SQLSTATE), SQLSTATE) || ': ' || SQLERRM, nullif(d, ''), nullif(h, ''));
END $$;
CREATE FUNCTION item(pk text, sk int, rest text DEFAULT '') RETURNS text LANGUAGE sql
	AS $$ SELECT format('{"pk":{"S":"%s"},"sk":{"N":"%s"}%s}', pk, sk, rest) $$;
SELECT dyn_create_table('app', 'pk S', 'sk N', global_indexes => '{"ByG": {"partition_key": "g S", "projection": "KEYS_ONLY"}}');
SELECT dyn_create_table('coll', 'pk S', 'sk N', local_indexes => '{"ByL": {"sort_key": "l N"}}');

-- B01, B02, B05, B09
SELECT request('BatchWriteItem',
	format('{"RequestItems":{"app":[{"PutRequest":{"Item":%s}},{"PutRequest":{"Item":%s}}],"coll":[{"PutRequest":{"Item":%s}},{"DeleteRequest":{"Key":%s}}]}}',
	item('a', 1, ',"n":{"N":"1"},"g":{"S":"x"}'), item('a', 2), item('c', 1), item('c', 9)));
SELECT request('BatchGetItem', format('{"RequestItems":{"app":{"Keys":[%s,%s,%s]},
	"arn:aws:dynamodb:local:000000000000:table/coll":{"Keys":[%s],"ConsistentRead":true,"ProjectionExpression":"#s","ExpressionAttributeNames":{"#s":"sk"}}}}',
	item('a', 2), item('a', 7), item('a', 1), item('c', 1)));
SELECT request('BatchGetItem', format('{"RequestItems":{"app":{"Keys":[%s]}}}', item('a', 7)));
SELECT request('BatchWriteItem', format('{"RequestItems":{"app":[{"PutRequest":{"Item":%s}},{"DeleteRequest":{"Key":%s}}]}}', item('a', 1), item('a', 2)));
SELECT item FROM app;

-- B03, B06, B07, B08: what is no batch
SELECT r, request('BatchWriteItem', format('{"RequestItems":%s}', r)) FROM unnest(ARRAY['{}', '[]', '{"app":[]}', '{"app":{}}', '{"app":[{}]}',
	'{"app":[{"PutRequest":null}]}', '{"app":[{"PutRequest":{}}]}', '{"app":[{"DeleteRequest":{"Item":{}}}]}', '{"app":[{"UpdateRequest":{}}]}',
	'{"app":[{"PutRequest":{"Item":{}},"DeleteRequest":{"Key":{}}}]}',
  format('{"app":[{"PutRequest":{"Item":%s,"ConditionExpression":"attribute_exists(pk)"}}]}', item('x', 1)),
    format('{"app":[{"PutRequest":{"Item":%s}},{"PutRequest":{"Item":{"pk":{"S":"x"}}}}]}', item('x', 1)),
    format('{"app":[{"PutRequest":{"Item":%s}},{"DeleteRequest":{"Key":%s}}]}', item('x', 1), item('x', 1)),
  format('{"app":[{"PutRequest":{"Item":%s}}],"arn:aws:dynamodb:local:000000000000:table/app":[{"DeleteRequest":{"Key":%s}}]}', item('x', 1), item('x', 1)),
    format('{"app":[{"PutRequest":{"Item":%s}}],"app":[]}', item('x', 1)), format('{"nope":[{"DeleteRequest":{"Key":%s}}]}', item('x', 1)),
    format('{"app":[{"PutRequest":{"Item":%s}}]}', item('x', 1, ',"g":{"N":"1"}'))]) r;
SELECT r, request('BatchGetItem', format('{"RequestItems":%s}', r)) FROM unnest(ARRAY['{}', '{"app":{}}', '{"app":{"Keys":[]}}', '{"app":{"Keys":{}}}',
	'{"app":[]}', '{"app":{"Keys":[{}]}}', '{"app":{"Keys":["x"]}}', format('{"app":{"Keys":[%s],"FilterExpression":"a"}}', item('x', 1)),
	format('{"app":{"Keys":[%s,%s]}}', item('x', 1), item('x', 1)), format('{"app":{"Keys":[%s],"ExpressionAttributeNames":{"#a":"b"}}}', item('x', 1)),
	format('{"nope":{"Keys":[%s]}}', item('x', 1))]) r;
SELECT request('BatchGetItem', '{}'), request('BatchWriteItem', '{"RequestItems":null}'),
	request('BatchGetItem', '{"RequestItems":{},"ReturnItemCollectionMetrics":"SIZE"}'),
	request('BatchGetItem', '{"RequestItems":{},"ReturnConsumedCapacity":"x"}');
SELECT request('BatchWriteItem', format('{"RequestItems":{"coll":[{"PutRequest":{"Item":%s}}],"app":[]}}', item('x', 1))),
	request('BatchGetItem', format('{"RequestItems":{"coll":{"Keys":[%s]},"app":{"Keys":[]}}}', item('x', 1)));
SELECT n, left(request('BatchGetItem', format('{"RequestItems":{"app":{"Keys":[%s]}}}', (SELECT string_agg(item('x', i), ',') FROM generate_series(1, n) i))),
	100) FROM unnest(ARRAY[100, 101]) n;
SELECT n, request('BatchWriteItem', format('{"RequestItems":{"app":[%s]}}',
	(SELECT string_agg(format('{"DeleteRequest":{"Key":%s}}', item('x', i)), ',') FROM generate_series(1, n) i))) FROM unnest(ARRAY[25, 26]) n;

-- B05, B07: what is more than 16 MB is left, to be asked for again as it is
SELECT count(dyn_put('app', jsonb_build_object('pk', 'big', 'sk', i, 'x', repeat('x', 300000)))) FROM generate_series(1, 60) i;
SELECT json_array_length(r -> 'Responses' -> 'app'), json_array_length(r -> 'UnprocessedKeys' -> 'app' -> 'Keys'),
	r -> 'UnprocessedKeys' -> 'app' -> 'Keys' -> 0
  FROM dyn_request('BatchGetItem', format('{"RequestItems":{"app":{"Keys":[%s]}}}',
    (SELECT string_agg(item('big', i), ',') FROM generate_series(1, 60) i))::json) r;
SET dynamo_table.max_batch_size = 500000;
SELECT r -> 'Responses', r -> 'UnprocessedKeys' FROM dyn_request('BatchGetItem',
	format('{"RequestItems":{"app":{"Keys":[%s,%s],"ProjectionExpression":"#s","ExpressionAttributeNames":{"#s":"sk"},"ConsistentRead":true},
	"coll":{"Keys":[%s]}}}', item('big', 1), item('big', 2), item('c', 1))::json) r;
SELECT r FROM dyn_request('BatchGetItem', format('{"RequestItems":%s}',
	'{"app":{"Keys":[{"pk":{"S":"big"},"sk":{"N":"2"}}],"ProjectionExpression":"#s","ExpressionAttributeNames":{"#s": "sk"},"ConsistentRead":true},
	"coll":{"Keys":[{"pk":{"S":"c"},"sk":{"N":"1"}}],"ConsistentRead":false}}')::json) r;
SELECT request('BatchWriteItem', format('{"RequestItems":{"app":[{"PutRequest":{"Item":%s}},{"PutRequest":{"Item":%s}}]}}',
	item('big', 1, format(',"x":{"S":"%s"}', repeat('x', 300000))), item('big', 2, format(',"x":{"S":"%s"}', repeat('x', 300000)))));
RESET dynamo_table.max_batch_size;

-- R13, R14, R20: capacity by table, each item for itself
SELECT request('BatchGetItem',
	format('{"RequestItems":{"app":{"Keys":[%s,%s,%s],"ProjectionExpression":"pk"},"coll":{"Keys":[%s],"ConsistentRead":true}},"ReturnConsumedCapacity":"TOTAL"}',
	item('a', 1), item('a', 7), item('big', 1), item('c', 1)));
SELECT request('BatchWriteItem', format('{"RequestItems":{"coll":[{"PutRequest":{"Item":%s}},{"DeleteRequest":{"Key":%s}}],
	"app":[{"PutRequest":{"Item":%s}},{"PutRequest":{"Item":%s}},{"DeleteRequest":{"Key":%s}}]},"ReturnConsumedCapacity":"INDEXES",
	"ReturnItemCollectionMetrics":"SIZE"}', item('d', 1, ',"l":{"N":"5"}'), item('c', 9), item('a', 1, ',"g":{"S":"x"}'), item('b', 1), item('big', 1)));
SELECT request('BatchWriteItem',
	format('{"RequestItems":{"coll":[{"PutRequest":{"Item":%s}},{"PutRequest":{"Item":%s}}]},"ReturnItemCollectionMetrics":"SIZE"}', item('d', 1), item('d', 2)));

-- X01 to X05, X09, X10: transactions
SELECT request('TransactWriteItems', format('{"TransactItems":[{"Put":{"TableName":"app","Item":%s}},
	{"Update":{"TableName":"app","Key":%s,"UpdateExpression":"ADD n :1","ExpressionAttributeValues":{":1":{"N":"1"}}}},{"Delete":{"TableName":"coll","Key":%s}},
	{"ConditionCheck":{"TableName":"coll","Key":%s,"ConditionExpression":"attribute_exists(pk)"}}]}', item('t', 1), item('t', 2), item('d', 2), item('d', 1)));
SELECT request('TransactGetItems', format('{"TransactItems":[{"Get":{"TableName":"app","Key":%s}},{"Get":{"TableName":"app","Key":%s}},
	{"Get":{"TableName":"arn:aws:dynamodb:local:000000000000:table/app","Key":%s,"ProjectionExpression":"#n","ExpressionAttributeNames":{"#n":"n"}}}]}',
	item('t', 1), item('t', 9), item('t', 2)));
SELECT request('TransactWriteItems', format('{"TransactItems":[{"Put":{"TableName":"app","Item":%s,"ConditionExpression":"attribute_not_exists(pk)",
	"ReturnValuesOnConditionCheckFailure":"ALL_OLD"}},{"Put":{"TableName":"app","Item":%s}},
	{"Delete":{"TableName":"app","Key":%s,"ConditionExpression":"n = :n","ExpressionAttributeValues":{":n":{"N":"5"}}}}],"ReturnConsumedCapacity":"TOTAL"}',
	item('t', 1), item('t', 3), item('t', 2)));
SELECT request('TransactWriteItems', format('{"ClientRequestToken":"t1",
	"TransactItems":[{"Update":{"TableName":"app","Key":%s,"UpdateExpression":"ADD n :1","ExpressionAttributeValues":{":1":{"N":"%s"}}}}]}', item('t', 2), n))
	FROM unnest(ARRAY[1, 1, 2]) n;
SELECT request('GetItem', format('{"TableName":"app","Key":%s}', item('t', 2)));
-- X10: nothing in the place of an item of which nothing is wanted
SELECT request('TransactGetItems', format('{"TransactItems":[{"Get":{"TableName":"app","Key":%s,"ProjectionExpression":"nope"}},
	{"Get":{"TableName":"app","Key":%s,"ProjectionExpression":"n.nope, pk"}}]}', item('t', 2), item('t', 1)));
SELECT n, item FROM dyn_transact_get(format('[{"Get":{"TableName":"app","Key":%s,"ProjectionExpression":"nope"}}]',
	item('t', 2))::json) WITH ORDINALITY g (item, n);
SELECT request('TransactWriteItems', r) FROM unnest(ARRAY['{}', '{"TransactItems":[]}', '{"TransactItems":{}}', '{"TransactItems":[{}]}',
	'{"TransactItems":[{"Put":null}]}', '{"TransactItems":[{"Get":{}}]}', '{"TransactItems":[{"Put":{"TableName":"app"}}]}',
	'{"TransactItems":[{"ConditionCheck":{"TableName":"app","Key":{}}}]}', '{"TransactItems":[{"Delete":{"TableName":"app","Key":{},"IndexName":"G"}}]}',
	'{"TransactItems":[{"Delete":{"TableName":"app","Key":"x"}}]}', '{"TransactItems":[],"ClientRequestToken":""}',
	'{"TransactItems":[{"Delete":{"TableName":"app","Key":{}}}]}', '{"TransactItems":[{"Delete":{"TableName":"a\u0000b","Key":{}}}]}']) r;
SELECT n, left(request('TransactWriteItems', format('{"TransactItems":[%s]}',
	(SELECT string_agg(format('{"Delete":{"TableName":"app","Key":%s}}', item('x', i)), ',') FROM generate_series(1, n) i))), 100) FROM unnest(ARRAY[100, 101]) n;
SELECT n, left(request('TransactWriteItems', format('{"TransactItems":[%s]}',
	(SELECT string_agg(format('{"Put":{"TableName":"app","Item":%s}}', item('x', i, format(',"x":{"S":"%s"}', repeat('x', 100000)))), ',')
	FROM generate_series(1, n) i))), 100) FROM unnest(ARRAY[40, 43]) n;
-- of an action one member; null is as if it were not there
SELECT request('TransactWriteItems', format('{"TransactItems":[{%s}]}', m))
	FROM unnest(ARRAY[format('"Put":null,"Delete":{"TableName":"app","Key":%s}', item('x', 1)),
	format('"Delete":{"TableName":"app","Key":%s},"Put":null', item('x', 1)),
  format('"Put":{"TableName":"app","Item":%s},"Delete":{"TableName":"app","Key":%s}', item('x', 1), item('x', 2)), '"Put":null,"Delete":null',
    '"Put":null,"Nope":null']) m;

-- X16, R20: twice as much
SELECT request('TransactWriteItems', format('{"TransactItems":[{"Put":{"TableName":"app","Item":%s}},{"Put":{"TableName":"app","Item":%s}},
	{"Put":{"TableName":"coll","Item":%s}},{"ConditionCheck":{"TableName":"app","Key":%s,"ConditionExpression":"attribute_exists(pk)"}}],
	"ReturnConsumedCapacity":"INDEXES","ReturnItemCollectionMetrics":"SIZE"}', item('t', 1, format(',"x":{"S":"%s"}', repeat('x', 500))),
	item('t', 5, ',"g":{"S":"x"}'), item('d', 1, ',"l":{"N":"6"}'), item('b', 1)));
SELECT request('TransactGetItems', format('{"TransactItems":[{"Get":{"TableName":"app","Key":%s,"ProjectionExpression":"sk"}},
	{"Get":{"TableName":"app","Key":%s}}],"ReturnConsumedCapacity":"TOTAL"}', item('big', 2), item('t', 9)));
-- X09: a write that was done before takes what it takes to read its items
SELECT request('TransactWriteItems', format('{"TransactItems":[{"Put":{"TableName":"app","Item":%s}},{"Delete":{"TableName":"app","Key":%s}},
	{"ConditionCheck":{"TableName":"coll","Key":%s,"ConditionExpression":"attribute_not_exists(pk)"}}],"ClientRequestToken":"replay",
	"ReturnConsumedCapacity":"INDEXES","ReturnItemCollectionMetrics":"SIZE"}', item('r', 1, format(',"g":{"S":"x"},"x":{"S":"%s"}', repeat('x', 5000))),
	item('r', 2), item('r', 3))) FROM generate_series(1, 2);
SELECT request('TransactWriteItems', format('{"TransactItems":[{"Delete":{"TableName":"app","Key":%s}}],"ClientRequestToken":"again"}', item('r', 1)))
	FROM generate_series(1, 2);

-- R17: a check affects no collection
SELECT request('TransactWriteItems', format('{"TransactItems":[{"ConditionCheck":{"TableName":"coll","Key":%s,
	"ConditionExpression":"attribute_not_exists(pk)"}},{"Delete":{"TableName":"coll","Key":%s}},
	{"ConditionCheck":{"TableName":"coll","Key":%s,"ConditionExpression":"attribute_not_exists(pk)"}}],"ReturnItemCollectionMetrics":"SIZE"}', item('b', 1),
	item('c', 1), item('c', 2)));

-- L05, X04: collections that are too large, after all that was done
SET dynamo_table.item_collection_size_limit = '1MB';
SELECT request('BatchWriteItem', format('{"RequestItems":{"coll":[%s]}}',
	(SELECT string_agg(format('{"PutRequest":{"Item":%s}}', item('l', i, format(',"x":{"S":"%s"}', repeat('x', 300000)))), ',') FROM generate_series(1, n) i)))
	FROM unnest(ARRAY[4, 3]) n;
SELECT request('TransactWriteItems', format('{"TransactItems":[{"Put":{"TableName":"coll","Item":%s}},
	{"Update":{"TableName":"coll","Key":%s,"UpdateExpression":"SET x = :x","ExpressionAttributeValues":{":x":{"S":"%s"}}}},
	{"Put":{"TableName":"app","Item":%s}}]}', item('m', 1), item('l', 4), repeat('x', 300000), item('l', 1)));
-- requests tell reasons in DynamoDB's words, with the extension's own in the context, and calls of functions in the extension's own
SELECT dyn_request('TransactWriteItems', r::json)
	FROM format('{"TransactItems":[{"Put":{"TableName":"app","Item":%s}},{"Put":{"TableName":"coll","Item":%s}}]}', item('l', 1),
	item('l', 4, format(',"x":{"S":"%s"}', repeat('x', 300000)))) r;
SELECT dyn_transact(r::json) FROM format('[{"Put":{"TableName":"app","Item":%s}},{"Put":{"TableName":"coll","Item":%s}}]', item('l', 1),
	item('l', 4, format(',"x":{"S":"%s"}', repeat('x', 300000)))) r;
SELECT request('TransactWriteItems', format('{"TransactItems":[{"Put":{"TableName":"coll","Item":%s}},{"Delete":{"TableName":"coll","Key":%s}}]}',
	item('l', 0, format(',"x":{"S":"%s"}', repeat('x', 300000))), item('l', 3)));
SELECT sk, dyn_size(item) FROM coll WHERE pk = 'l' ORDER BY sk;
RESET dynamo_table.item_collection_size_limit;

-- what a request has too much of takes little memory: each key kept 1.6 kB
\c -
CREATE FUNCTION peak() RETURNS bigint LANGUAGE sql AS $$SELECT substring(pg_read_file('/proc/self/status') FROM 'VmHWM:\s*(\d+)')::bigint$$;
SELECT peak() AS before \gset
SELECT substr(request('BatchGetItem', format('{"RequestItems":{"app":{"Keys":[%s]}}}', string_agg('{"pk":{"S":"a"},"sk":{"N":"1"}}', ','))), 1, 100) AS too_many
	FROM generate_series(1, 100000);
SELECT peak() - :before < 100000 AS little;
DROP FUNCTION peak;

DELETE FROM dynamo_internal.transact_tokens;
DROP FUNCTION request, item;
DROP TABLE app, coll;
