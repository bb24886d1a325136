-- Vector indexes by dyn_request(), in DynamoDB's words; docs/semantics.md, VS01 to VS39.
SELECT NOT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector') AS missing \gset
\if :missing
\echo skipped: pgvector is not installed
\quit
\endif
\set SHOW_CONTEXT never
\set VERBOSITY terse
SET client_min_messages = warning;
CREATE EXTENSION vector SCHEMA public;
CREATE SCHEMA vector_request;
SET search_path = vector_request, public;
CREATE FUNCTION attempt(operation text, request text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  RETURN dyn_request(operation, request::json)::text;
EXCEPTION WHEN OTHERS THEN
  RETURN coalesce(dyn_error_name(SQLSTATE), SQLSTATE) || ': ' || SQLERRM;
END $$;
-- CreateTable with these vector indexes
CREATE FUNCTION created(vectors text, more jsonb DEFAULT '{}') RETURNS text LANGUAGE sql AS $$
  SELECT attempt('CreateTable', (jsonb_build_object('TableName', 'refused', 'KeySchema', '[{"AttributeName":"id","KeyType":"HASH"}]'::jsonb,
    'AttributeDefinitions', '[{"AttributeName":"id","AttributeType":"S"}]'::jsonb, 'BillingMode', 'PAY_PER_REQUEST',
    'VectorIndexes', vectors::jsonb) || more)::text) $$;
\set plain '{"IndexName":"plain","VectorAttribute":{"AttributeName":"e"},"Projection":{"ProjectionType":"ALL"},"Dimensions":3,"DistanceFunction":"COSINE"}'
CREATE FUNCTION with_(definition jsonb, member text, value jsonb) RETURNS text LANGUAGE sql AS $$
  SELECT jsonb_build_array(CASE WHEN value IS NULL THEN definition - member ELSE definition || jsonb_build_object(member, value) END)::text $$;

-- declaring
SELECT created(with_(:'plain', 'Dimensions', NULL));
SELECT created(with_(:'plain', 'DistanceFunction', NULL));
SELECT created(with_(:'plain', 'VectorAttribute', NULL));
SELECT created(with_(:'plain', 'DistanceFunction', '"MANHATTAN"'));
SELECT created(with_(:'plain', 'Dimensions', '0')), created(with_(:'plain', 'Dimensions', '4097'));
SELECT created(with_(:'plain', 'IndexName', '"x"'));
SELECT created(with_(:'plain', 'SearchSchema', '[{"AttributeName":"t","SearchSchemaElementType":"HASH"}]'));
SELECT created(with_(:'plain', 'SearchSchema', '[{"AttributeName":"id","SearchSchemaElementType":"RANGE"}]'));
SELECT created(with_(:'plain', 'SearchSchema', '[{"AttributeName":"a","SearchSchemaElementType":"HASH"},
	{"AttributeName":"b","SearchSchemaElementType":"HASH"}]'),
	'{"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"},{"AttributeName":"a","AttributeType":"S"},{"AttributeName":"b","AttributeType":"S"}]}');
SELECT created(with_(:'plain', 'Projection', '{"ProjectionType":"INCLUDE"}'));
SELECT created(with_(:'plain', 'Projection', '{"ProjectionType":"ALL","NonKeyAttributes":["a"]}'));
SELECT created('[' || :'plain' || ',' || :'plain' || ']');
SELECT created('[' || :'plain' || ',' || replace(replace(:'plain', 'plain', 'other'), ':3', ':4') || ']');
SELECT created('[' || (SELECT string_agg(replace(:'plain', 'plain', 'ix' || i), ',') FROM generate_series(1, 6) i) || ']');
SELECT created('[' || :'plain' || ']', '{"BillingMode":"PROVISIONED","ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":1}}');
SELECT created('[' || :'plain' || ']', '{"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"},{"AttributeName":"a","AttributeType":"S"}]}');
SELECT dyn_request('ListTables', '{}')::jsonb -> 'TableNames' ? 'refused' AS refused;
SELECT dyn_request('CreateTable', ('{"TableName":"app","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST",
	"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"},{"AttributeName":"tenant","AttributeType":"S"},
	{"AttributeName":"price","AttributeType":"N"}],
	"VectorIndexes":[' || :'plain' || ',{"IndexName":"schema","VectorAttribute":{"AttributeName":"e"},
	"Projection":{"ProjectionType":"INCLUDE","NonKeyAttributes":["title"]},
	"Dimensions":3,"DistanceFunction":"DOT_PRODUCT","SearchSchema":[{"AttributeName":"tenant","SearchSchemaElementType":"HASH"},
	{"AttributeName":"price","SearchSchemaElementType":"INLINE_FILTER"}]}]}')::json)::jsonb #> '{TableDescription,VectorIndexes}';
SELECT dyn_request('DescribeTable', '{"TableName":"app"}')::jsonb #> '{Table,AttributeDefinitions}';
SELECT dyn_describe_table('app') #> '{VectorIndexes,1}';

-- writing
CREATE FUNCTION put(item text) RETURNS text LANGUAGE sql AS $$
  SELECT attempt('PutItem', format('{"TableName":"app","ReturnConsumedCapacity":"INDEXES","Item":%s}', item)) $$;
SELECT put('{"id":{"S":"x"},"e":{"L":[{"N":"1"},{"N":"2"}]}}');
SELECT put('{"id":{"S":"x"},"e":{"L":[{"N":"1"},{"S":"2"},{"N":"3"}]}}');
SELECT put('{"id":{"S":"x"},"e":{"L":[{"N":"1"},{"NULL":true},{"N":"3"}]}}');
SELECT put('{"id":{"S":"x"},"e":{"L":[{"N":"1"},{"N":"1e39"},{"N":"3"}]}}');
SELECT put('{"id":{"S":"x"},"e":{"S":"1,2,3"}}'), put('{"id":{"S":"x"},"e":{"NS":["1","2","3"]}}');
SELECT put('{"id":{"S":"x"},"e":{"NS":["1","1","3"]}}');
SELECT put('{"id":{"S":"x"},"tenant":{"N":"1"},"e":{"L":[{"N":"1"},{"N":"2"},{"N":"3"}]}}');
SELECT put('{"id":{"S":"x"},"tenant":{"S":""},"e":{"L":[{"N":"1"},{"N":"2"},{"N":"3"}]}}');
SELECT attempt('BatchWriteItem', '{"RequestItems":{"app":[{"PutRequest":{"Item":{"id":{"S":"x"},"e":{"L":[]}}}}]}}');
SELECT attempt('UpdateItem', '{"TableName":"app","Key":{"id":{"S":"x"}},"UpdateExpression":"SET e = :e","ExpressionAttributeValues":{":e":{"L":[{"N":"1"}]}}}');
SELECT attempt('TransactWriteItems', '{"TransactItems":[{"Put":{"TableName":"app","Item":{"id":{"S":"x"},"e":{"L":[]}}}}]}');
SELECT attempt('ExecuteStatement', '{"Statement":"INSERT INTO \"app\" VALUE {''id'': ''x'', ''e'': [1, 2]}"}');
SELECT put('{"id":{"S":"1"},"tenant":{"S":"t"},"price":{"N":"5"},"title":{"S":"one"},"more":{"BOOL":true},"e":{"L":[{"N":"1"},{"N":"0"},{"N":"0.1"}]}}');
SELECT put('{"id":{"S":"1"},"tenant":{"S":"t"},"price":{"N":"5"},"title":{"S":"one"},"more":{"BOOL":true},"e":{"L":[{"N":"1"},{"N":"0"},{"N":"0.1"}]}}');
SELECT put('{"id":{"S":"2"},"tenant":{"S":"t"},"e":{"L":[{"N":"0"},{"N":"1"},{"N":"0"}]}}');
SELECT put('{"id":{"S":"3"},"e":{"L":[{"N":"0"},{"N":"0"},{"N":"0"}]}}');
SELECT put('{"id":{"S":"4"}}');
SELECT attempt('DeleteItem', '{"TableName":"app","Key":{"id":{"S":"2"}},"ReturnConsumedCapacity":"INDEXES"}');
SELECT put('{"id":{"S":"2"},"tenant":{"S":"t"},"e":{"L":[{"N":"0.6"},{"N":"0.8"},{"N":"0"}]}}') IS NOT NULL;

-- searching
CREATE FUNCTION search(index_name text, vector text, more jsonb DEFAULT '{}') RETURNS text LANGUAGE sql AS $$
  SELECT attempt('SearchVectors', (jsonb_build_object('TableName', 'app', 'IndexName', index_name, 'TopK', 2,
    'SearchVector', (SELECT jsonb_agg(jsonb_build_object('N', x)) FROM unnest(vector::text[]) x)) || more)::text) $$;
SELECT search('plain', '{1,0,0}');
SELECT search('schema', '{1,0,0}', '{"SearchConditionExpression":"tenant = :t AND price > :p",
	"ExpressionAttributeValues":{":t":{"S":"t"},":p":{"N":"4"}},"ReturnConsumedCapacity":"TOTAL"}');
SELECT search('plain', '{1,0,0}', '{"TopK":1,"ProjectionExpression":"#e, title","ExpressionAttributeNames":{"#e":"e"}}');
SELECT search('plain', '{1,0,0}', '{"TopK":101}'), search('plain', '{1,0,0}', '{"TopK":0}');
SELECT search('plain', '{1,0,0}', '{"TableName":"nowhere","TopK":101}'), search('plain', '{1,0}', '{"TableName":"nowhere"}');
SELECT search('nope', '{1,0}');
SELECT search('plain', '{1,0}'), search('plain', '{1,0,1e39}');
SELECT search('plain', '{1,0,0}', '{"SearchVector":[{"N":"1"},{"N":"1"},{"S":"1"}]}');
SELECT search('plain', '{1,0,0}', '{"SearchVector":[]}');
SELECT search('plain', '{1,0,0}', '{"SearchVector":{"L":[]}}');
SELECT search('plain', '{1,0,0}', '{"SearchVector":null}');
SELECT search('plain', '{1,0,0}', '{"TopK":null}');
SELECT search('plain', '{1,0,0}', '{"ReturnConsumedCapacity":"MUCH"}');
SELECT search('schema', '{1,0,0}');
SELECT search('schema', '{1,0,0}', '{"SearchConditionExpression":"price > :p","ExpressionAttributeValues":{":p":{"N":"4"}}}');
SELECT search('plain', '{1,0,0}', '{"SearchConditionExpression":"tenant = :t","ExpressionAttributeValues":{":t":{"S":"t"}}}');
SELECT search('plain', '{1,0,0}', '{"SearchConditionExpression":"tenant =","ExpressionAttributeValues":{":t":{"S":"t"}}}');
SELECT attempt('Query', '{"TableName":"app","IndexName":"plain","KeyConditionExpression":"id = :i","ExpressionAttributeValues":{":i":{"S":"1"}}}');
SELECT attempt('Scan', '{"TableName":"app","IndexName":"plain"}');
SELECT attempt('ExecuteStatement', '{"Statement":"SELECT * FROM \"app\".\"plain\""}');

-- an index of a table in use, which a worker completes
SELECT attempt('UpdateTable', '{"TableName":"app","VectorIndexUpdates":[{}]}');
SELECT attempt('UpdateTable', '{"TableName":"app","VectorIndexUpdates":[{"Delete":{"IndexName":"nope"}}]}');
SELECT attempt('UpdateTable', '{"TableName":"app","VectorIndexUpdates":[{"Create":' || :'plain' || '}]}');
SELECT attempt('UpdateTable', '{"TableName":"app","VectorIndexUpdates":[{"Delete":{"IndexName":"plain"}},{"Delete":{"IndexName":"schema"}}]}');
SELECT attempt('UpdateTable', '{"TableName":"app","BillingMode":"PROVISIONED","ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":1}}');
SELECT attempt('UpdateTable', '{"TableName":"app","VectorIndexUpdates":[{"Create":' || replace(:'plain', 'plain', 'later') || '}]}')::jsonb
	#> '{TableDescription,TableStatus}';
CREATE PROCEDURE await() LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1 .. 6000 LOOP
    EXIT WHEN NOT dyn_request('DescribeTable', '{"TableName":"app"}')::jsonb #> '{Table,VectorIndexes}' @> '[{"IndexStatus":"CREATING"}]';
    PERFORM pg_sleep(0.05);
    COMMIT;
  END LOOP;
END $$;
CALL await();
SELECT search('later', '{1,0,0}');
-- what is not built yet
UPDATE pg_class SET relispopulated = false WHERE oid = 'app_later'::regclass;
SELECT search('later', '{1,0,0}');
SELECT dyn_request('DescribeTable', '{"TableName":"app"}')::jsonb #> '{Table,VectorIndexes,1}';
SELECT attempt('UpdateTable', '{"TableName":"app","VectorIndexUpdates":[{"Delete":{"IndexName":"plain"}}]}');
CALL dynamo_internal.resume_index('app', 'later');
SELECT attempt('UpdateTable', '{"TableName":"app","VectorIndexUpdates":[{"Delete":{"IndexName":"later"}}]}')::jsonb #>> '{TableDescription,TableStatus}';
SELECT search('later', '{1,0,0}');
-- the method of indexes that requests make
SET dynamo_table.vector_index_method = 'none';
SET dynamo_table.vector_index_method = 'hnsw';
SELECT attempt('UpdateTable', '{"TableName":"app","VectorIndexUpdates":[{"Create":' || replace(:'plain', 'plain', 'approximate') || '}]}')::jsonb
	#>> '{TableDescription,TableStatus}';
CALL await();
SELECT search('approximate', '{1,0,0}');
SELECT created('[' || :'plain' || ',' || replace(replace(replace(:'plain', 'plain', 'large'), ':3', ':4000'), '"e"', '"f"') || ',' ||
	replace(replace(replace(:'plain', 'plain', 'largest'), ':3', ':4001'), '"e"', '"g"') || ']')::jsonb #>> '{TableDescription,TableStatus}';
RESET dynamo_table.vector_index_method;
SELECT indexrelid::regclass FROM pg_index JOIN pg_class c ON c.oid = indexrelid JOIN pg_am a ON a.oid = relam AND amname = 'hnsw' ORDER BY 1;
SELECT attempt('DeleteTable', '{"TableName":"app"}')::jsonb #>> '{TableDescription,TableStatus}';
\set ECHO none
DROP SCHEMA vector_request CASCADE;
DROP EXTENSION vector;
