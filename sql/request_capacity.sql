-- ReturnConsumedCapacity and ReturnItemCollectionMetrics
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
-- the capacity of a request that may fail
CREATE FUNCTION units(operation text, request text, details text DEFAULT 'INDEXES') RETURNS text LANGUAGE plpgsql AS $$
DECLARE d text;
BEGIN
  RETURN dyn_request(operation, jsonb_set(request::jsonb, '{ReturnConsumedCapacity}', to_jsonb(details))::json) -> 'ConsumedCapacity';
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS d = PG_EXCEPTION_DETAIL;
  RETURN dyn_error_name(SQLSTATE) || ' ' || (d::json -> 'ConsumedCapacity');
END $$;
SELECT dyn_create_table('app', 'pk S', 'sk S', global_indexes => '{"All": {"partition_key": "g S"}, "Keys": {"partition_key": "g S",
	"sort_key": "h S", "projection": "KEYS_ONLY"}, "Some": {"partition_key": "h S", "projection": "INCLUDE", "non_key_attributes": ["x"]}}',
                        local_indexes => '{"Local": {"sort_key": "l N", "projection": "KEYS_ONLY"}}');
SELECT dyn_create_table('plain', 'pk S');

-- R13: NONE, TOTAL, INDEXES; the table as the request names it
SELECT d, units('PutItem', '{"TableName":"plain","Item":{"pk":{"S":"a"}}}', d) FROM unnest(ARRAY['NONE', 'TOTAL', 'INDEXES']) d;
SELECT units('GetItem', '{"TableName":"arn:aws:dynamodb:local:000000000000:table/plain","Key":{"pk":{"S":"a"}}}', 'TOTAL');
SELECT request('PutItem', '{"TableName":"plain","Item":{"pk":{"S":"a"}},"ReturnConsumedCapacity":"total"}');
SELECT dyn_request('PutItem', '{"TableName":"plain","Item":{"pk":{"S":"a"}},"ReturnConsumedCapacity":"TOTAL","ReturnValues":"ALL_OLD"}');

-- R03, R14: reads by 4 kB, missing items as well
SELECT n, dyn_size(item), units('PutItem', json_build_object('TableName', 'plain', 'Item', item::text::json)::text, 'TOTAL'),
	units('GetItem', '{"TableName":"plain","Key":{"pk":{"S":"r"}}}', 'TOTAL'),
       units('GetItem', '{"TableName":"plain","Key":{"pk":{"S":"r"}},"ConsistentRead":true,"ProjectionExpression":"pk"}', 'TOTAL')
  FROM (SELECT n, ('{"pk":{"S":"r"},"x":{"S":"' || repeat('x', n - 4) || '"}}')::dyn_item AS item
    FROM unnest(ARRAY[1024, 1025, 3000, 4096, 4097, 8192, 8193]) n) i;
SELECT units('GetItem', format('{"TableName":"plain","Key":{"pk":{"S":"none"}},"ConsistentRead":%s}', to_json(c))) FROM unnest(ARRAY[false, true]) c;

-- R15: writes by the larger of old and new item
SELECT units('PutItem', format('{"TableName":"plain","Item":{"pk":{"S":"w"},"x":{"S":"%s"}}}', repeat('x', n)), 'TOTAL')
	FROM unnest(ARRAY[100, 3000, 100, 1020, 1021]) n;
SELECT units('UpdateItem', format('{"TableName":"plain","Key":{"pk":{"S":"w"}},"UpdateExpression":"SET x = :x","ExpressionAttributeValues":{":x":{"S":"%s"}}}',
	repeat('x', n)), 'TOTAL') FROM unnest(ARRAY[5000, 100, 100]) n;
SELECT units('UpdateItem', '{"TableName":"plain","Key":{"pk":{"S":"none"}},"UpdateExpression":"REMOVE x"}', 'TOTAL');
SELECT units('DeleteItem', '{"TableName":"plain","Key":{"pk":{"S":"r"}}}', 'TOTAL') FROM generate_series(1, 2);
SELECT units('DeleteItem', '{"TableName":"plain","Key":{"pk":{"S":"w"}},"ConditionExpression":"attribute_exists(x)"}', 'TOTAL') FROM generate_series(1, 2);
-- failed conditions too
SELECT units('PutItem', format('{"TableName":"plain","Item":{"pk":{"S":"%s"},"x":{"S":"%s"}}}', 'f', repeat('x', 2500)), 'TOTAL');
SELECT op, units(op, format('{"TableName":"plain","%s":{"pk":{"S":"f"}},"ConditionExpression":"attribute_not_exists(pk)"}', CASE op WHEN 'PutItem' THEN 'Item'
	ELSE 'Key' END)) FROM unnest(ARRAY['PutItem', 'UpdateItem', 'DeleteItem']) op;
SELECT op, units(op, format('{"TableName":"plain","%s":{"pk":{"S":"none"}},"ConditionExpression":"attribute_exists(pk)"}', CASE op WHEN 'PutItem' THEN 'Item'
	ELSE 'Key' END)) FROM unnest(ARRAY['PutItem', 'UpdateItem', 'DeleteItem']) op;
SELECT request('DeleteItem', '{"TableName":"plain","Key":{"pk":{"S":"a"}},"ConditionExpression":"attribute_not_exists(pk)","ReturnConsumedCapacity":"TOTAL",
	"ReturnValuesOnConditionCheckFailure":"ALL_OLD"}');

-- R16, R19: entries of indexes: new, key changed, projected attribute changed, untouched, removed
SELECT units('PutItem', '{"TableName":"app","Item":{"pk":{"S":"a"},"sk":{"S":"b"}}}');
SELECT u, units('UpdateItem', json_build_object('TableName', 'app', 'Key', '{"pk":{"S":"a"},"sk":{"S":"b"}}'::json, 'UpdateExpression', u,
	'ExpressionAttributeValues', v)::text)
  FROM (VALUES ('SET g = :g', '{":g":{"S":"1"}}'::json), ('SET h = :h', '{":h":{"S":"1"}}'), ('SET x = :x', '{":x":{"S":"1"}}'),
    ('SET x = :x', '{":x":{"S":"1"}}'), ('SET y = :y', '{":y":{"S":"1"}}'), ('SET g = :g', '{":g":{"S":"2"}}'),
               ('SET g = :g, h = :g', '{":g":{"S":"3"}}'), ('SET l = :l', '{":l":{"N":"1"}}'), ('SET l = :l', '{":l":{"N":"2"}}'),
               ('SET l = :l', '{":l":{"N":"2.0"}}')) w(u, v);
SELECT units('UpdateItem', json_build_object('TableName', 'app', 'Key', '{"pk":{"S":"a"},"sk":{"S":"b"}}'::json, 'UpdateExpression', 'SET y = :y',
	'ExpressionAttributeValues', json_build_object(':y', json_build_object('S', repeat('x', 2000))))::text);
SELECT units('UpdateItem', json_build_object('TableName', 'app', 'Key', '{"pk":{"S":"a"},"sk":{"S":"b"}}'::json, 'UpdateExpression', 'REMOVE g')::text);
SELECT units('DeleteItem', '{"TableName":"app","Key":{"pk":{"S":"a"},"sk":{"S":"b"}}}');
-- a failed condition touches no index
SELECT units('PutItem', '{"TableName":"app","Item":{"pk":{"S":"a"},"sk":{"S":"b"},"g":{"S":"1"}},"ConditionExpression":"attribute_exists(pk)"}');

-- R14, F06: queries and scans by what the index has of all that was read
SELECT count(dyn_put('app', jsonb_build_object('pk', 'q', 'sk', lpad(i::text, 2, '0'), 'g', 'g', 'h', 'h', 'l', i, 'y', repeat('y', 1960))))
	FROM generate_series(1, 8) i;
SELECT sum(dyn_size(item)) FROM app;
SELECT units('Query', '{"TableName":"app","KeyConditionExpression":"pk = :q","ExpressionAttributeValues":{":q":{"S":"q"}}' || m || '}')
  FROM unnest(ARRAY['', ',"ConsistentRead":true', ',"Select":"COUNT"', ',"ProjectionExpression":"sk"', ',"FilterExpression":"attribute_exists(nope)"',
    ',"Limit":1', ',"ExclusiveStartKey":{"pk":{"S":"q"},"sk":{"S":"08"}}', ',"ReturnConsumedCapacity":"NONE"']) m;
SELECT i, units('Query', '{"TableName":"app","IndexName":"' || i || '","KeyConditionExpression":"' || k ||
	' = :q","ExpressionAttributeValues":{":q":{"S":"' || k || '"}}}') FROM (VALUES ('All', 'g'), ('Keys', 'g'), ('Some', 'h')) v(i, k);
-- I16: a local index that has to fetch from the table
SELECT m, units('Query', '{"TableName":"app","IndexName":"Local","KeyConditionExpression":"pk = :q","ExpressionAttributeValues":{":q":{"S":"q"}}' || m || '}')
  FROM unnest(ARRAY['', ',"Select":"ALL_ATTRIBUTES"', ',"Select":"ALL_ATTRIBUTES","ConsistentRead":true', ',"ProjectionExpression":"l"',
    ',"ProjectionExpression":"l,y"', ',"FilterExpression":"attribute_exists(y)","Select":"COUNT"', ',"Select":"COUNT"']) m;
SELECT units('Scan', '{"TableName":"app"}'), units('Scan', '{"TableName":"app","IndexName":"Keys","Limit":3}', 'TOTAL'),
	units('Scan', '{"TableName":"plain","FilterExpression":"attribute_exists(nope)","ConsistentRead":true}', 'TOTAL');
SELECT units('Query', '{"TableName":"app","KeyConditionExpression":"pk = :q","ExpressionAttributeValues":{":q":{"S":"none"}}}', 'TOTAL');

-- R21
SELECT sum((units('PutItem', format('{"TableName":"plain","Item":{"pk":{"S":"%s"}}}', i))::json ->> 'CapacityUnits')::numeric) FROM generate_series(1, 10) i;

-- R17, R18: only where there are local indexes
SELECT request('PutItem', '{"TableName":"app","Item":{"pk":{"S":"a\u0000\"b"},"sk":{"S":"b"}},"ReturnItemCollectionMetrics":"SIZE"}');
SELECT request('UpdateItem', '{"TableName":"app","Key":{"pk":{"S":"a"},"sk":{"S":"b"}},"ReturnItemCollectionMetrics":"SIZE","ReturnValues":"ALL_NEW",
	"ReturnConsumedCapacity":"TOTAL"}');
SELECT request('DeleteItem', '{"TableName":"app","Key":{"pk":{"S":"a"},"sk":{"S":"b"}},"ReturnItemCollectionMetrics":"SIZE"}');
SELECT request('DeleteItem', '{"TableName":"app","Key":{"pk":{"S":"a"},"sk":{"S":"b"}},"ReturnItemCollectionMetrics":"NONE"}');
SELECT request('PutItem', '{"TableName":"plain","Item":{"pk":{"S":"a"}},"ReturnItemCollectionMetrics":"SIZE"}');

DROP FUNCTION request;
DROP FUNCTION units;
DROP TABLE app, plain;
