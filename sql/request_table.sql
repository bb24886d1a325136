-- dyn_request(): CreateTable, DescribeTable, DeleteTable, ListTables, tags, TTL: docs/semantics.md, K04, K21, K22, I03, I04, I13, I25, L07 to L09, TT01.
\set SHOW_CONTEXT never
CREATE SCHEMA request_table;
SET search_path = request_table, public;

-- what is the same whenever it is run
CREATE FUNCTION stable(j json) RETURNS jsonb LANGUAGE sql AS
  $$ SELECT regexp_replace(regexp_replace(j::text, '"(CreationDateTime|LastUpdateToPayPerRequestDateTime)":[0-9.]+', '"\1":"some"', 'g'),
    '"TableId":"[0-9a-f-]{36}"', '"TableId":"some"')::jsonb $$;
CREATE FUNCTION attempt(operation text, request text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM dyn_request(operation, request::json);
  RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
  RETURN coalesce(dyn_error_name(SQLSTATE), SQLSTATE) || ': ' || SQLERRM;
END $$;
CREATE FUNCTION arguments(relation regclass) RETURNS text LANGUAGE sql AS $$
  SELECT regexp_replace(regexp_replace(pg_get_triggerdef(t.oid), '"id": "[^"]*"', '"id": "some"'), '.*dynamo_internal.derive_keys', '')
      || coalesce(E'\n' || (SELECT regexp_replace(label, '"(created|on_demand_since)": [0-9.]+', '"\1": 0', 'g') FROM pg_seclabels WHERE provider =
        'dynamo_table' AND objoid = relation), '')
    FROM pg_trigger t WHERE tgrelid = relation AND tgname = '~dynamo_keys' $$;

-- everything at once
SELECT jsonb_pretty(stable(dyn_request('CreateTable', '{
  "TableName": "shop",
  "AttributeDefinitions": [{"AttributeName": "PK", "AttributeType": "S"}, {"AttributeName": "SK", "AttributeType": "S"},
    {"AttributeName": "n", "AttributeType": "N"},
    {"AttributeName": "bytes", "AttributeType": "B"}, {"AttributeName": "tenant", "AttributeType": "S"}, {"AttributeName": "date", "AttributeType": "S"}],
  "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}],
  "GlobalSecondaryIndexes": [
    {"IndexName": "inverted", "KeySchema": [{"AttributeName": "SK", "KeyType": "HASH"}, {"AttributeName": "PK", "KeyType": "RANGE"}],
      "Projection": {"ProjectionType": "KEYS_ONLY"},
     "ProvisionedThroughput": {"ReadCapacityUnits": 3, "WriteCapacityUnits": 4}},
    {"IndexName": "several", "KeySchema": [{"AttributeName": "tenant", "KeyType": "HASH"}, {"AttributeName": "bytes", "KeyType": "HASH"},
      {"AttributeName": "n", "KeyType": "RANGE"}, {"AttributeName": "date", "KeyType": "RANGE"}],
     "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["Role", "Name"]},
     "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}}],
  "LocalSecondaryIndexes": [{"IndexName": "by-date", "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "date", "KeyType": "RANGE"}],
    "Projection": {"ProjectionType": "ALL"}}],
  "BillingMode": "PROVISIONED", "ProvisionedThroughput": {"ReadCapacityUnits": 10, "WriteCapacityUnits": 5},
  "Tags": [{"Key": "team", "Value": "a b \u00e9"}, {"Key": "cost", "Value": ""}],
  "DeletionProtectionEnabled": true, "TableClass": "STANDARD_INFREQUENT_ACCESS",
  "StreamSpecification": {"StreamEnabled": false}, "SSESpecification": {"Enabled": false}}')));
SELECT arguments('shop');
SELECT tgenabled FROM pg_trigger WHERE tgrelid = 'shop'::regclass AND tgname = '~dynamo_keys';
SELECT (dyn_request('DescribeTable', '{"TableName": "shop"}') -> 'Table')::jsonb = dyn_describe_table('shop') AS the_same,
       to_timestamp((dyn_request('DescribeTable', '{"TableName": "shop"}') #>> '{Table,CreationDateTime}')::float8) BETWEEN now() - interval '1 hour'
         AND now() + interval '1 hour' AS just_now;
SELECT dyn_put('shop', '{"PK":{"S":"a"},"SK":{"S":"b"},"tenant":{"S":"t"},"bytes":{"B":"AQ=="},"n":{"N":"1"},"date":{"S":"d"}}');
SELECT * FROM dyn_query('shop', 'tenant = :t AND bytes = :b', vals => '{":t":{"S":"t"},":b":{"B":"AQ=="}}', index_name => 'several');

-- as little as possible; the default of BillingMode is PROVISIONED
SELECT stable(dyn_request('CreateTable', '{"TableName": "small", "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "N"}],
	"KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
  "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}}'));
SELECT arguments('small');
-- K22 the table is there
SELECT attempt('CreateTable', '{"TableName": "small", "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "N"}],
	"KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}], "BillingMode": "PAY_PER_REQUEST"}');

-- ARNs
SELECT dyn_request('DescribeTable', '{"TableName": "arn:aws:dynamodb:local:000000000000:table/small"}') #>> '{Table,TableName}' AS name;
SET dynamo_table.arn_region = 'eu-west-1';
SET dynamo_table.arn_account = '123456789012';
SELECT dyn_request('DescribeTable', '{"TableName": "small"}') #>> '{Table,TableArn}' AS arn;
SELECT dyn_get('arn:aws:dynamodb:x:1:table/shop', '{"PK":{"S":"a"},"SK":{"S":"b"}}') ->> 'n' AS n;
SET dynamo_table.arn_region = 'a b';
RESET dynamo_table.arn_region;
RESET dynamo_table.arn_account;
SELECT t, attempt('DescribeTable', json_build_object('TableName', t)::text)
  FROM unnest(ARRAY['nope', 'xx', 'arn:aws:dynamodb:local:000000000000:table/nope', 'arn:aws:dynamodb:local:000000000000:table/shop/index/inverted',
    'arn:aws:s3:x:1:table/shop', 'arn:aws:dynamodb:local:000000000000:table/', 'pg_class']) t;
-- a table by its schema
SELECT stable(dyn_request('CreateTable', '{"TableName": "public.request_other", "AttributeDefinitions": [{"AttributeName": "id",
	"AttributeType": "S"}], "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}], "BillingMode": "PAY_PER_REQUEST"}')) #>> '{TableDescription,TableArn}';
SELECT 'public.request_other'::regclass;

-- validation
CREATE FUNCTION create_with(attributes text, keys text, more text DEFAULT '') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  request text := '{"TableName": "wrong", "BillingMode": "PAY_PER_REQUEST"';
  word text;
BEGIN
  request := request || ', "AttributeDefinitions": [' || (SELECT coalesce(string_agg(format('{"AttributeName": "%s", "AttributeType": "%s"}',
    split_part(a, ' ', 1), split_part(a, ' ', 2)), ', '), '') FROM regexp_split_to_table(nullif(attributes, ''), ', ') a) || ']';
  request := request || ', "KeySchema": [' || (SELECT coalesce(string_agg(format('{"AttributeName": "%s", "KeyType": "%s"}', split_part(k, ' ', 1),
    split_part(k, ' ', 2)), ', '), '') FROM regexp_split_to_table(nullif(keys, ''), ', ') k) || ']';
  RETURN attempt('CreateTable', request || more || '}');
END $$;
SELECT a, k, create_with(a, k) FROM (VALUES
  ('', 'a HASH'), ('a S', ''), ('a S', 'a RANGE'), ('a S, b S', 'a HASH, b HASH'), ('a S, b S', 'b RANGE, a HASH'),
  ('a S, b S, c S', 'a HASH, b RANGE, c RANGE'),
  ('a S, b S', 'a HASH'), ('a S, a S', 'a HASH'), ('a S, a N', 'a HASH'), ('a S', 'a HASH, a RANGE'), ('a BOOL', 'a HASH'), ('a s', 'a HASH'),
  ('a S', 'a hash'), ('a\u0000b S', 'a\u0000b HASH'), ('a S', 'a HASH, b RANGE')) v (a, k);
SELECT what, create_with('a S, b S, c N', 'a HASH, b RANGE', ', ' || what) FROM (VALUES
  ('"GlobalSecondaryIndexes": []'),
  ('"GlobalSecondaryIndexes": [{"IndexName": "gsi", "KeySchema": [{"AttributeName": "c", "KeyType": "HASH"}]}]'),
  ('"GlobalSecondaryIndexes": [{"IndexName": "gsi", "KeySchema": [{"AttributeName": "c", "KeyType": "HASH"}], "Projection": {}}]'),
  ('"GlobalSecondaryIndexes": [{"IndexName": "gsi", "KeySchema": [{"AttributeName": "c", "KeyType": "HASH"}], "Projection": {"ProjectionType": "INCLUDE"}}]'),
  ('"GlobalSecondaryIndexes": [{"IndexName": "gsi", "KeySchema": [{"AttributeName": "c", "KeyType": "HASH"}], '
    '"Projection": {"ProjectionType": "ALL", "NonKeyAttributes": ["x"]}}]'),
  ('"GlobalSecondaryIndexes": [{"IndexName": "gsi", "KeySchema": [{"AttributeName": "c", "KeyType": "HASH"}], '
    '"Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x\u0000"]}}]'),
  ('"GlobalSecondaryIndexes": [{"IndexName": "gsi", "KeySchema": [{"AttributeName": "d", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"}}]'),
  ('"GlobalSecondaryIndexes": [{"IndexName": "gsi", "KeySchema": [{"AttributeName": "c", "KeyType": "RANGE"}], "Projection": {"ProjectionType": "ALL"}}]'),
  ('"GlobalSecondaryIndexes": [{"IndexName": "x!", "KeySchema": [{"AttributeName": "c", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"}}]'),
  ('"GlobalSecondaryIndexes": [{"IndexName": "gsi", "KeySchema": [{"AttributeName": "c", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"}, '
    '"ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}}]'),
  ('"GlobalSecondaryIndexes": [{"IndexName": "gsi", "KeySchema": [{"AttributeName": "c", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"}}, '
    '{"IndexName": "gsi", "KeySchema": [{"AttributeName": "b", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"}}]'),
  ('"LocalSecondaryIndexes": [{"IndexName": "lsi", "KeySchema": [{"AttributeName": "b", "KeyType": "HASH"}, {"AttributeName": "c", "KeyType": "RANGE"}], '
    '"Projection": {"ProjectionType": "ALL"}}]'),
  ('"LocalSecondaryIndexes": [{"IndexName": "lsi", "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}, {"AttributeName": "c", "KeyType": "HASH"}], '
    '"Projection": {"ProjectionType": "ALL"}}]'),
  ('"LocalSecondaryIndexes": [{"IndexName": "lsi", "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"}}]')) v
  (what);
SELECT 'LSI without sort key', create_with('a S, b S', 'a HASH',
	', "LocalSecondaryIndexes": [{"IndexName": "lsi", "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}, {"AttributeName": "b", "KeyType": "RANGE"}], '
	'"Projection": {"ProjectionType": "ALL"}}]')
UNION ALL SELECT '6 LSI', create_with('a S, b S', 'a HASH, b RANGE', (SELECT ', "LocalSecondaryIndexes": [' ||
	string_agg(format('{"IndexName": "lsi%s", "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}, {"AttributeName": "b",
	"KeyType": "RANGE"}], "Projection": {"ProjectionType": "ALL"}}', i), ',') || ']' FROM generate_series(1, 6) i))
UNION ALL SELECT '21 GSI', create_with('a S, b S', 'a HASH, b RANGE', (SELECT ', "GlobalSecondaryIndexes": [' ||
	string_agg(format('{"IndexName": "gsi%s", "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"}}', i), ',') ||
	']' FROM generate_series(1, 21) i))
UNION ALL SELECT '101 attributes', create_with('a S, b S', 'a HASH, b RANGE',
	(SELECT ', "GlobalSecondaryIndexes": [{"IndexName": "gsi", "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}], "Projection": {"ProjectionType": '
	'"INCLUDE", "NonKeyAttributes": [' || string_agg(format('"x%s"', i), ',') || ']}}]' FROM generate_series(1, 101) i))
UNION ALL SELECT '5 HASH', create_with('a S, b S, c S, d S, e S', 'a HASH',
	', "GlobalSecondaryIndexes": [{"IndexName": "gsi", "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}, {"AttributeName": "b", "KeyType": "HASH"}, '
	'{"AttributeName": "c", "KeyType": "HASH"}, {"AttributeName": "d", "KeyType": "HASH"}, {"AttributeName": "e", "KeyType": "HASH"}], "Projection": '
	'{"ProjectionType": "ALL"}}]');
SELECT what, create_with('a S', 'a HASH', ', ' || what) FROM (VALUES
  ('"ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}'), ('"ProvisionedThroughput": {"ReadCapacityUnits": 1}'),
  ('"ProvisionedThroughput": {"ReadCapacityUnits": 0, "WriteCapacityUnits": 1}'),
  ('"SSESpecification": {"Enabled": true, "SSEType": "KMS", "KMSMasterKeyId": "alias/k"}'), ('"SSESpecification": {"KMSMasterKeyId": "alias/k"}'),
  ('"SSESpecification": {"SSEType": "KMS"}'), ('"SSESpecification": {"Enabled": true, "SSEType": "AES256"}'),
  ('"OnDemandThroughput": {"MaxReadRequestUnits": 0}'), ('"OnDemandThroughput": {"MaxWriteRequestUnits": -2}'),
  ('"WarmThroughput": {"ReadUnitsPerSecond": 0}'), ('"Tags": [{"Key": "a", "Value": "b*"}]'), ('"Tags": [{"Key": "a;", "Value": "b"}]'),
  ('"Tags": [{"Key": "AWS:a", "Value": "b"}]'), ('"TableClass": "COLD"'),
  ('"Tags": [{"Key": "a", "Value": "1"}, {"Key": "a", "Value": "2"}]'), ('"Tags": [{"Key": "aws:a", "Value": "1"}]'), ('"Tags": [{"Key": "", "Value": "1"}]'),
  ('"Tags": [{"Key": "a\u0000", "Value": "1"}]'), ('"Tags": [{"Key": "a"}]')) v (what);
SELECT attempt('CreateTable', '{"TableName": "wrong", "AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "S"}],
	"KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}]}');
SELECT attempt('CreateTable', '{"TableName": "wrong", "AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "S"}],
	"KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}], "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
  "GlobalSecondaryIndexes": [{"IndexName": "gsi", "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"}}]}');
SELECT attempt('CreateTable', '{"TableName": "x y", "AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "S"}],
	"KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}], "BillingMode": "PAY_PER_REQUEST"}');
SELECT to_regclass('wrong') IS NULL AS nothing_made;

-- ListTables: by the search_path, whatever other tests have left in public
SELECT public.dyn_create_table('by-function', 'pk S');
SELECT public.dyn_create_table(repeat('long.', 30) || 'name', 'pk S');
SET search_path = request_table;
SELECT public.dyn_request('ListTables', '{}');
SELECT public.dyn_request('ListTables', '{"Limit": 2}');
SELECT public.dyn_request('ListTables', '{"Limit": 3, "ExclusiveStartTableName": "by-function"}');
SELECT public.dyn_request('ListTables', '{"ExclusiveStartTableName": "by-nothing"}');
SELECT public.dyn_request('ListTables', '{"ExclusiveStartTableName": "zzz"}');
-- a renamed table has the new name
DO $$ BEGIN EXECUTE (SELECT format('ALTER TABLE %s RENAME TO short', oid::regclass) FROM pg_class WHERE relname ~ '^long' AND relkind = 'r'); END $$;
SELECT public.dyn_request('ListTables', '{"ExclusiveStartTableName": "shop"}');
-- the others are not on the path, or not the caller's
CREATE ROLE regress_request_table;
GRANT USAGE ON SCHEMA request_table TO regress_request_table;
GRANT SELECT ON shop TO regress_request_table;
SET ROLE regress_request_table;
SELECT public.dyn_request('ListTables', '{}');
SET search_path = request_table, public;
SELECT attempt('ListTables', '{"Limit": 0}'), attempt('ListTables', '{"Limit": 101}');
SELECT attempt('DeleteTable', '{"TableName": "small"}');
SELECT attempt('UpdateTimeToLive', '{"TableName": "small", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "t"}}');
SELECT attempt('TagResource', '{"ResourceArn": "arn:aws:dynamodb:local:000000000000:table/small", "Tags": [{"Key": "a", "Value": "b"}]}');
RESET ROLE;

-- tags
SELECT dyn_request('ListTagsOfResource', '{"ResourceArn": "arn:aws:dynamodb:local:000000000000:table/shop"}');
SELECT dyn_request('TagResource', '{"ResourceArn": "arn:aws:dynamodb:local:000000000000:table/shop", "Tags": [{"Key": "zone", "Value": "x"},
	{"Key": "team", "Value": "b"}, {"Key": "a", "Value": ""}]}');
SELECT dyn_request('ListTagsOfResource', '{"ResourceArn": "arn:aws:dynamodb:local:000000000000:table/shop"}');
SELECT dyn_request('UntagResource', '{"ResourceArn": "arn:aws:dynamodb:local:000000000000:table/shop", "TagKeys": ["team", "nope", "zone", "cost"]}');
SELECT dyn_request('ListTagsOfResource', '{"ResourceArn": "arn:aws:dynamodb:local:000000000000:table/shop"}');
SELECT attempt('TagResource', '{"ResourceArn": "arn:aws:dynamodb:local:000000000000:table/shop", "Tags": []}'),
	attempt('UntagResource', '{"ResourceArn": "arn:aws:dynamodb:local:000000000000:table/shop", "TagKeys": []}');
SELECT attempt('ListTagsOfResource', '{"ResourceArn": "shop"}'), attempt('ListTagsOfResource',
	'{"ResourceArn": "arn:aws:dynamodb:local:000000000000:table/nope"}');
SELECT attempt('TagResource', (SELECT json_build_object('ResourceArn', 'arn:aws:dynamodb:local:000000000000:table/shop', 'Tags',
	json_agg(json_build_object('Key', 'k' || i, 'Value', i::text)))::text FROM generate_series(1, n) i)) FROM unnest(ARRAY[50, 49]) n;

-- TTL: TT01, TT13; of a table without items, it is enabled and disabled at once
SELECT dyn_create_table('session', 'id S');
SELECT dyn_request('DescribeTimeToLive', '{"TableName": "session"}');
SELECT attempt('UpdateTimeToLive', '{"TableName": "session", "TimeToLiveSpecification": {"Enabled": false, "AttributeName": "expires"}}');
SELECT dyn_request('UpdateTimeToLive', '{"TableName": "session", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "expires \"at\""}}');
SELECT dyn_request('DescribeTimeToLive', '{"TableName": "session"}');
SELECT attempt('UpdateTimeToLive', '{"TableName": "session", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "expires \"at\""}}');
SELECT attempt('UpdateTimeToLive', '{"TableName": "session", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "other"}}');
SELECT attempt('UpdateTimeToLive', '{"TableName": "session", "TimeToLiveSpecification": {"Enabled": false, "AttributeName": "other"}}');
SELECT dyn_request('UpdateTimeToLive', '{"TableName": "session", "TimeToLiveSpecification": {"Enabled": false, "AttributeName": "expires \"at\""}}');
SELECT dyn_request('DescribeTimeToLive', '{"TableName": "session"}');
SELECT attempt('UpdateTimeToLive', '{"TableName": "session", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": ""}}');
SELECT attempt('UpdateTimeToLive', '{"TableName": "session", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "a\u0000"}}');
SELECT attempt('UpdateTimeToLive', '{"TableName": "session", "TimeToLiveSpecification": {"Enabled": true}}');

SELECT dyn_drop_table('session');

SELECT dyn_request('DescribeContinuousBackups', '{"TableName": "shop"}');
SELECT dyn_request('UpdateContinuousBackups', '{"TableName": "shop", "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": false}}');
SELECT dyn_request('UpdateContinuousBackups', '{"TableName": "shop", "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true}}');
SELECT t, attempt('DescribeContinuousBackups', json_build_object('TableName', t)::text)
	FROM unnest(ARRAY['nope', 'arn:aws:dynamodb:x:1:table/nope', 'pg_class']) t;

-- what is stored to be described: the units of a table on demand, and of its indexes
SELECT stable(dyn_request('CreateTable', '{"TableName": "stored", "BillingMode": "PAY_PER_REQUEST",
	"AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}, {"AttributeName": "g", "AttributeType": "S"}],
  "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}], "OnDemandThroughput": {"MaxReadRequestUnits": 10, "MaxWriteRequestUnits": 20},
  "WarmThroughput": {"ReadUnitsPerSecond": 13000, "WriteUnitsPerSecond": 5000},
  "SSESpecification": {"Enabled": true, "SSEType": "KMS"}, "TableClass": "STANDARD",
  "GlobalSecondaryIndexes": [{"IndexName": "gsi", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"},
    "OnDemandThroughput": {"MaxReadRequestUnits": 5}, "WarmThroughput": {"ReadUnitsPerSecond": 12001}}]}'));
SELECT arguments('stored');
CREATE FUNCTION stored() RETURNS text LANGUAGE sql AS $$
  SELECT concat_ws(' ', t ->> 'OnDemandThroughput', t ->> 'WarmThroughput', t ->> 'SSEDescription', t #>> '{BillingModeSummary,BillingMode}',
    (t #>> '{BillingModeSummary,LastUpdateToPayPerRequestDateTime}') IS NOT NULL,
                   t #>> '{GlobalSecondaryIndexes,0,ProvisionedThroughput}', t #>> '{GlobalSecondaryIndexes,0,OnDemandThroughput}',
                     t #>> '{GlobalSecondaryIndexes,0,WarmThroughput}')
    FROM dyn_describe_table('stored') t $$;
SELECT attempt('UpdateTable', '{"TableName": "stored", ' || change || '}'), stored() FROM (VALUES
  ('"OnDemandThroughput": {"MaxReadRequestUnits": -1, "MaxWriteRequestUnits": 30}'), ('"WarmThroughput": {"WriteUnitsPerSecond": 6000}'),
  ('"SSESpecification": {"Enabled": false}'),
  ('"SSESpecification": {"Enabled": true}'), ('"SSESpecification": {}'),
  ('"GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "gsi", "OnDemandThroughput": {"MaxWriteRequestUnits": 6}}}]'),
  ('"GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "gsi", "WarmThroughput": {"ReadUnitsPerSecond": 12002}}}]'),
  -- what one mode of billing has the other one loses
  ('"BillingMode": "PROVISIONED", "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 2}, '
    '"GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "gsi", "ProvisionedThroughput": {"ReadCapacityUnits": 3, "WriteCapacityUnits": 4}}}]'),
  ('"OnDemandThroughput": {"MaxReadRequestUnits": 1}'), ('"BillingMode": "PAY_PER_REQUEST"'),
  ('"BillingMode": "PAY_PER_REQUEST", "OnDemandThroughput": {"MaxReadRequestUnits": 2}')) v (change);
-- sizes: nothing in it, something in it, and of an index without entries
SELECT t ->> 'TableSizeBytes' AS table, t #>> '{GlobalSecondaryIndexes,0,IndexSizeBytes}' AS index FROM dyn_describe_table('stored') t;
SELECT dyn_put('stored', '{"id": {"S": "1"}}');
SELECT (t ->> 'TableSizeBytes')::int > 0 AS table, t #>> '{GlobalSecondaryIndexes,0,IndexSizeBytes}' AS index FROM dyn_describe_table('stored') t;
SELECT dyn_put('stored', '{"id": {"S": "1"}, "g": {"S": "1"}}');
SELECT (t ->> 'TableSizeBytes')::int > 0 AS table, (t #>> '{GlobalSecondaryIndexes,0,IndexSizeBytes}')::int > 0 AS index FROM dyn_describe_table('stored') t;
-- the indexes do not stay locked: of two DeleteTable, one would have the table and wait for the other one's locks
BEGIN;
SELECT count(*) > 0 AS described FROM dyn_describe_table('stored');
SELECT relname, mode FROM pg_locks l JOIN pg_index i ON indexrelid = relation AND indrelid = 'stored'::regclass JOIN pg_class c ON c.oid = relation
	WHERE pid = pg_backend_pid();
COMMIT;
TRUNCATE stored;
SELECT t ->> 'TableSizeBytes' AS table, t #>> '{GlobalSecondaryIndexes,0,IndexSizeBytes}' AS index FROM dyn_describe_table('stored') t;
SELECT dyn_drop_table('stored');

-- DeleteTable; protection
SELECT stable(dyn_request('DeleteTable', '{"TableName": "small"}'));
SELECT attempt('DeleteTable', '{"TableName": "small"}'), attempt('DescribeTable', '{"TableName": "small"}');
SELECT attempt('DeleteTable', '{"TableName": "shop"}');
SELECT dyn_drop_table('shop');
SELECT dyn_request('UpdateTable', '{"TableName": "shop", "DeletionProtectionEnabled": false}') #>> '{TableDescription,DeletionProtectionEnabled}' AS protected;
SELECT dyn_request('DeleteTable', '{"TableName": "shop"}') #>> '{TableDescription,TableStatus}' AS status;

-- all of it is transactional
BEGIN;
SELECT stable(dyn_request('CreateTable', '{"TableName": "passing", "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "N"}],
	"KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}], "BillingMode": "PAY_PER_REQUEST"}')) #>> '{TableDescription,TableStatus}';
ROLLBACK;
SELECT attempt('DescribeTable', '{"TableName": "passing"}');

\set VERBOSITY terse
DROP OWNED BY regress_request_table;
DROP ROLE regress_request_table;
DROP SCHEMA request_table CASCADE;
DROP TABLE public.request_other;
