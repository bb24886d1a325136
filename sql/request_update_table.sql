-- dyn_request(): UpdateTable: docs/semantics.md, K21, I05, I10, L08.
\set SHOW_CONTEXT never
CREATE SCHEMA request_update;
SET search_path = request_update, public;
CREATE FUNCTION attempt(request text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM dyn_request('UpdateTable', request::json);
  RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
  RETURN coalesce(dyn_error_name(SQLSTATE), SQLSTATE) || ': ' || SQLERRM;
END $$;
CREATE FUNCTION settings(name text) RETURNS text LANGUAGE sql AS $$
  SELECT concat_ws(' ', t #>> '{BillingModeSummary,BillingMode}', t #>> '{ProvisionedThroughput,ReadCapacityUnits}',
    t #>> '{ProvisionedThroughput,WriteCapacityUnits}', t #>> '{TableClassSummary,TableClass}', t ->> 'DeletionProtectionEnabled')
    FROM dyn_describe_table(name) t $$;
CREATE FUNCTION indexes(name text) RETURNS TABLE (index text, status text, filling bool, read int, write int, attributes text) LANGUAGE sql AS $$
  SELECT i ->> 'IndexName', i ->> 'IndexStatus', (i ->> 'Backfilling')::bool, (i #>> '{ProvisionedThroughput,ReadCapacityUnits}')::int,
    (i #>> '{ProvisionedThroughput,WriteCapacityUnits}')::int,
         (SELECT string_agg(a ->> 'AttributeName', ' ') FROM jsonb_array_elements(t -> 'AttributeDefinitions') a)
    FROM dyn_describe_table(name) t, jsonb_array_elements(t -> 'GlobalSecondaryIndexes') i $$;
-- what a client does after UpdateTable; a commit between any two looks, since the build waits for all who look
CREATE PROCEDURE await(name text, index_name text, wanted text) LANGUAGE plpgsql AS $$
DECLARE
  found text;
BEGIN
  FOR i IN 1 .. 1200 LOOP
    SELECT status INTO found FROM request_update.indexes(name) WHERE index = index_name;
    COMMIT;
    -- a procedure would not wait for the worker's end
    IF coalesce(found, 'gone') = wanted AND NOT EXISTS (SELECT FROM pg_stat_activity WHERE backend_type LIKE 'dynamo_table index%') THEN
      RETURN;
    END IF;
    PERFORM pg_sleep(0.05);
    COMMIT;
  END LOOP;
  RAISE WARNING 'index "%" is %', index_name, found;
END $$;

SELECT dyn_create_table('app', 'pk S', 'sk S');
SELECT dyn_put('app', jsonb_build_object('pk', 'p', 'sk', 's' || i, 'city', 'c' || i % 3, 'n', i)) FROM generate_series(1, 30) i \g /dev/null
SELECT dyn_put('app', '{"pk": {"S": "p"}, "sk": {"S": "wrong"}, "city": {"N": "1"}}');

-- settings
SELECT settings('app');
SELECT attempt('{"TableName": "app"}');
SELECT attempt('{"TableName": "nope", "TableClass": "STANDARD"}');
SELECT attempt('{"TableName": "app", "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 2}}');
SELECT attempt('{"TableName": "app", "BillingMode": "PROVISIONED"}');
SELECT attempt('{"TableName": "app", "BillingMode": "PROVISIONED", "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 2}}'),
	settings('app');
SELECT settings('app');
SELECT attempt('{"TableName": "app", "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 2}}');
SELECT attempt('{"TableName": "app", "ProvisionedThroughput": {"ReadCapacityUnits": 3, "WriteCapacityUnits": 4},
	"TableClass": "STANDARD_INFREQUENT_ACCESS", "DeletionProtectionEnabled": true}');
SELECT settings('app');
SELECT attempt('{"TableName": "app", "StreamSpecification": {"StreamEnabled": true}}'),
	attempt('{"TableName": "app", "StreamSpecification": {"StreamEnabled": false}}');
SELECT tgenabled FROM pg_trigger WHERE tgrelid = 'app'::regclass AND tgname = '~dynamo_keys';

-- what is wrong with an index
SELECT attempt('{"TableName": "app", "GlobalSecondaryIndexUpdates": [{}]}');
SELECT attempt('{"TableName": "app", "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "city"}, "Update": {"IndexName": "city",
	"ProvisionedThroughput": {"ReadCapacityUnits": 3, "WriteCapacityUnits": 4}}}]}');
SELECT attempt('{"TableName": "app", "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "city"}}, {"Delete": {"IndexName": "other"}}]}');
SELECT attempt('{"TableName": "app", "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "city"}}, {"Update": {"IndexName": "city",
	"ProvisionedThroughput": {"ReadCapacityUnits": 3, "WriteCapacityUnits": 4}}}]}');
SELECT attempt('{"TableName": "app", "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "city"}}]}'),
	attempt('{"TableName": "app", "GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "city",
	"ProvisionedThroughput": {"ReadCapacityUnits": 3, "WriteCapacityUnits": 4}}}]}');
CREATE FUNCTION create_index(attributes text, more text DEFAULT '', key text DEFAULT 'city') RETURNS text LANGUAGE sql AS $$
  SELECT '{"TableName": "app"' || attributes || ', "GlobalSecondaryIndexUpdates": [{"Create": {"IndexName": "city", "KeySchema": [{"AttributeName": "' ||
    key || '", "KeyType": "HASH"}, {"AttributeName": "n", "KeyType": "RANGE"}], "Projection": {"ProjectionType": "ALL"}' || more || '}}]}' $$;
\set attributes ', "AttributeDefinitions": [{"AttributeName": "city", "AttributeType": "S"}, {"AttributeName": "n", "AttributeType": "N"}]'
\set units ', "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6}'
SELECT attempt(create_index('', :'units'));
SELECT attempt(create_index(', "AttributeDefinitions": [{"AttributeName": "city", "AttributeType": "S"}]', :'units'));
SELECT attempt(create_index(', "AttributeDefinitions": [{"AttributeName": "city", "AttributeType": "S"}, {"AttributeName": "n", "AttributeType": "N"}, '
	'{"AttributeName": "x", "AttributeType": "N"}]', :'units'));
SELECT attempt(create_index(', "AttributeDefinitions": [{"AttributeName": "city", "AttributeType": "S"}, {"AttributeName": "n", "AttributeType": "N"}, '
	'{"AttributeName": "pk", "AttributeType": "N"}]', :'units'));
SELECT attempt(create_index(:'attributes'));
SELECT attempt(create_index(', "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "B"}, {"AttributeName": "n", "AttributeType": "N"}]',
	:'units', 'pk'));
SELECT * FROM indexes('app');

-- an index is created: first it is declared, then a worker fills it
BEGIN;
SELECT dyn_request('UpdateTable', create_index(:'attributes', :'units')::json) #>> '{TableDescription,TableStatus}' AS status;
SELECT * FROM indexes('app');
SELECT count(*) FROM dyn_query('app', 'city = :c', vals => '{":c": {"S": "c1"}}', index_name => 'city');
ROLLBACK;
SELECT * FROM indexes('app');
SELECT dyn_request('UpdateTable', create_index(:'attributes', :'units')::json) #>> '{TableDescription,GlobalSecondaryIndexes,0,IndexStatus}' AS status;
CALL await('app', 'city', 'ACTIVE');
SELECT * FROM indexes('app');
SELECT count(*) FROM dyn_query('app', 'city = :c', vals => '{":c": {"S": "c1"}}', index_name => 'city');
SELECT settings('app'), tgenabled, pg_get_triggerdef(oid) ~ '"settings"' AS settings FROM pg_trigger WHERE tgrelid = 'app'::regclass AND tgname =
	'~dynamo_keys';
SELECT attempt(create_index(:'attributes', :'units'));
CALL dynamo_internal.resume_index('app', 'city');
CALL dynamo_internal.resume_index('app', 'nope');
CALL dynamo_internal.resume_index('pg_class', 'city');

-- its units
SELECT attempt('{"TableName": "app", "GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "city",
	"ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6}}}]}');
SELECT attempt('{"TableName": "app", "GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "city",
	"ProvisionedThroughput": {"ReadCapacityUnits": 7, "WriteCapacityUnits": 6}}}]}');
SELECT * FROM indexes('app');
SELECT attempt('{"TableName": "app", "BillingMode": "PAY_PER_REQUEST"}');
SELECT settings('app'), i.* FROM indexes('app') i;
SELECT attempt('{"TableName": "app", "BillingMode": "PROVISIONED", "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}}');
SELECT attempt('{"TableName": "app", "GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "city",
	"ProvisionedThroughput": {"ReadCapacityUnits": 7, "WriteCapacityUnits": 6}}}]}');
SELECT attempt('{"TableName": "app", "BillingMode": "PROVISIONED", "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
	"GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "city", "ProvisionedThroughput": {"ReadCapacityUnits": 7, "WriteCapacityUnits": 6}}}]}');
SELECT settings('app'), i.* FROM indexes('app') i;

-- deleted, in a savepoint that is kept, with settings in the same request
BEGIN;
SAVEPOINT s;
SELECT dyn_request('UpdateTable', '{"TableName": "app", "DeletionProtectionEnabled": false,
	"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "city"}}]}') #>> '{TableDescription,GlobalSecondaryIndexes,0,IndexStatus}' AS status;
RELEASE s;
COMMIT;
CALL await('app', 'city', 'gone');
SELECT settings('app'), dyn_describe_table('app') -> 'AttributeDefinitions' AS attributes;
SELECT dyn_get('app', '{"pk":{"S":"p"},"sk":{"S":"s1"}}');

-- an index of dyn_create_index keeps settings
CALL dyn_create_index('app', 'by-n', 'n N');
SELECT settings('app'), i.* FROM indexes('app') i;
CALL dyn_drop_index('app', 'by-n');
SELECT settings('app');
-- a temporary table is out of a worker's reach
CREATE TEMP TABLE passing (item dyn_item NOT NULL, pk text COLLATE "C" PRIMARY KEY);
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON passing FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S');
SELECT attempt('{"TableName": "passing", "AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "S"}],
	"GlobalSecondaryIndexUpdates": [{"Create": {"IndexName": "a-index", "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
	"Projection": {"ProjectionType": "ALL"}}}]}');

\set VERBOSITY terse
DROP SCHEMA request_update CASCADE;
