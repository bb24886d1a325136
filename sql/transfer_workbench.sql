-- dyn_import_workbench(): models of NoSQL Workbench.
\set SHOW_CONTEXT never
CREATE SCHEMA transfer_workbench;
SET search_path = transfer_workbench, public;
CREATE FUNCTION why(call text, OUT state text, OUT message text, OUT detail text, OUT context text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'SELECT ' || call;
	message := 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, context = PG_EXCEPTION_CONTEXT;
	context := substring(context FROM '^table ".*?" of the model');
END $$;

SELECT $model${"ModelName": "Shop", "ModelMetadata": {"Author": "A", "DateCreated": "Jun 22, 2020, 11:55 PM", "AWSService": "Amazon DynamoDB", "Version": "3.0"}, "DataModel": [
	{"TableName": "OnlineShop", "KeyAttributes": {"PartitionKey": {"AttributeName": "PK", "AttributeType": "S"}, "SortKey": {"AttributeName": "SK", "AttributeType": "S"}},
	 "NonKeyAttributes": [{"AttributeName": "GSI1-PK", "AttributeType": "S"}, {"AttributeName": "Detail", "AttributeType": "M"}],
	 "TableFacets": [
		{"FacetName": "customer", "KeyAttributeAlias": {"PartitionKeyAlias": "PK", "SortKeyAlias": "SK"}, "NonKeyAttributes": ["Email"], "DataAccess": {"MySql": {}},
		 "TableData": [{"PK": {"S": "c#1"}, "SK": {"S": "c#1"}, "Email": {"S": "a@example.com"}}, {"PK": {"S": "c#2"}, "SK": {"S": "c#2"}, "Email": {"S": "of the facet"}}]},
		{"FacetName": "product", "KeyAttributeAlias": {"PartitionKeyAlias": "PK", "SortKeyAlias": "SK"}, "NonKeyAttributes": []}],
	 "GlobalSecondaryIndexes": [
		{"IndexName": "GSI1", "KeyAttributes": {"PartitionKey": {"AttributeName": "GSI1-PK", "AttributeType": "S"}, "SortKey": {"AttributeName": "GSI1-SK", "AttributeType": "N"}}, "Projection": {"ProjectionType": "ALL"}},
		{"IndexName": "by-sk", "KeyAttributes": {"PartitionKey": {"AttributeName": "SK", "AttributeType": "S"}}, "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["Email", "Detail"]}}],
	 "LocalSecondaryIndexes": [{"IndexName": "LSI1", "KeyAttributes": {"PartitionKey": {"AttributeName": "PK", "AttributeType": "S"}, "SortKey": {"AttributeName": "Date", "AttributeType": "S"}}, "Projection": {"ProjectionType": "KEYS_ONLY"}}],
	 "TableData": [{"PK": {"S": "c#2"}, "SK": {"S": "c#2"}, "Email": {"S": "of the table"}}, {"PK": {"S": "p#1"}, "SK": {"S": "p#1"}, "GSI1-PK": {"S": "x"}, "GSI1-SK": {"N": "7"}, "Detail": {"M": {"Name": {"S": "Book"}}}, "Tags": {"SS": ["a", "b"]}}],
	 "DataAccess": {"MySql": {}}, "BillingMode": "PROVISIONED",
	 "ProvisionedCapacitySettings": {"ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6},
		"AutoScalingRead": {"ScalableTargetRequest": {"MinCapacity": 1, "MaxCapacity": 10, "ServiceRole": "x"}, "ScalingPolicyConfiguration": {"TargetValue": 70}}}},
	{"TableName": "Employee.x", "KeyAttributes": {"PartitionKey": {"AttributeName": "LoginAlias", "AttributeType": "S"}}, "NonKeyAttributes": []}]}$model$ AS model \gset

SELECT * FROM dyn_import_workbench(:'model');
SELECT item FROM "OnlineShop" ORDER BY "PK";
SELECT dyn_describe_table('OnlineShop') -> 'ProvisionedThroughput' ->> 'ReadCapacityUnits' AS units,
	dyn_describe_table('OnlineShop') -> 'KeySchema' AS keys, dyn_describe_table('OnlineShop') -> 'AttributeDefinitions' AS attributes;
SELECT i ->> 'IndexName' AS index, i -> 'KeySchema' AS keys, i -> 'Projection' AS projection, i -> 'ProvisionedThroughput' ->> 'WriteCapacityUnits' AS units
	FROM dyn_describe_table('OnlineShop') d, jsonb_array_elements((d -> 'GlobalSecondaryIndexes') || (d -> 'LocalSecondaryIndexes')) i ORDER BY 1;
SELECT dyn_describe_table('Employee.x') -> 'BillingModeSummary' ->> 'BillingMode' AS billing;
SELECT * FROM dyn_query('OnlineShop', '#p = :p', names => '{"#p": "GSI1-PK"}', vals => '{":p": {"S": "x"}}', index_name => 'GSI1');

-- with a prefix, and without data
SELECT * FROM dyn_import_workbench(:'model', false, 'dev-');
SELECT count(*) FROM "dev-OnlineShop";

-- a table that is there: nothing is made
SELECT * FROM why(format('dyn_import_workbench(%L)', :'model'));
SELECT dyn_drop_table('OnlineShop');
SELECT * FROM why(format('dyn_import_workbench(%L)', :'model'));
SELECT to_regclass('"OnlineShop"') IS NULL AS nothing;

-- what is wrong
SELECT * FROM why($$dyn_import_workbench(NULL)$$);
SELECT * FROM why($$dyn_import_workbench('{}')$$);
SELECT * FROM why($$dyn_import_workbench('[]')$$);
SELECT * FROM why($$dyn_import_workbench('{"DataModel": {}}')$$);
SELECT * FROM why($$dyn_import_workbench('{"DataModel": [5]}')$$);
SELECT * FROM why($$dyn_import_workbench('{"DataModel": [{}]}')$$);
SELECT * FROM why($$dyn_import_workbench('{"DataModel": [{"TableName": 5}]}')$$);
SELECT * FROM why($$dyn_import_workbench('{"DataModel": [{"TableName": "abc"}]}')$$);
SELECT * FROM why($$dyn_import_workbench('{"DataModel": [{"TableName": "abc", "KeyAttributes": {"PartitionKey": {"AttributeName": "p"}}}]}')$$);
SELECT * FROM why($$dyn_import_workbench('{"DataModel": [{"TableName": "abc", "KeyAttributes": {"PartitionKey": {"AttributeName": "p", "AttributeType": "BOOL"}}}]}')$$);
SELECT * FROM why($$dyn_import_workbench('{"DataModel": [{"TableName": "a", "KeyAttributes": {"PartitionKey": {"AttributeName": "p", "AttributeType": "S"}}}]}')$$);
SELECT * FROM why($$dyn_import_workbench('{"DataModel": [{"TableName": "abc", "KeyAttributes": {"PartitionKey": {"AttributeName": "p", "AttributeType": "S"}},
	"GlobalSecondaryIndexes": [{"IndexName": "GSI", "KeyAttributes": {"PartitionKey": {"AttributeName": "p", "AttributeType": "N"}}}]}]}')$$);
SELECT * FROM why($$dyn_import_workbench('{"DataModel": [{"TableName": "abc", "KeyAttributes": {"PartitionKey": {"AttributeName": "p", "AttributeType": "S"}},
	"GlobalSecondaryIndexes": [{"IndexName": "GSI", "KeyAttributes": {"PartitionKey": {"AttributeName": "q", "AttributeType": "N"}}, "Projection": {"ProjectionType": "SOME"}}]}]}')$$);
SELECT * FROM why($$dyn_import_workbench('{"DataModel": [{"TableName": "abc", "KeyAttributes": {"PartitionKey": {"AttributeName": "p", "AttributeType": "S"}},
	"TableData": [{"p": {"S": "1"}}, {"p": {"N": "2"}}]}]}')$$);
SELECT * FROM why($$dyn_import_workbench('{"DataModel": [{"TableName": "abc", "KeyAttributes": {"PartitionKey": {"AttributeName": "p", "AttributeType": "S"}},
	"TableData": [{"p": "plain"}]}]}')$$);
SELECT count(*) FROM pg_class WHERE relname = 'abc';
-- a sort key alone
SELECT dyn_import_workbench('{"DataModel": [{"TableName": "abc", "KeyAttributes": {"SortKey": {"AttributeName": "s", "AttributeType": "S"}}}]}');

-- whoever may not create tables creates none
CREATE ROLE transfer_nobody;
GRANT USAGE ON SCHEMA transfer_workbench TO transfer_nobody;
SET ROLE transfer_nobody;
SELECT dyn_import_workbench('{"DataModel": [{"TableName": "abc", "KeyAttributes": {"PartitionKey": {"AttributeName": "p", "AttributeType": "S"}}}]}');
RESET ROLE;
DROP OWNED BY transfer_nobody;
DROP ROLE transfer_nobody;
SET client_min_messages = warning;
DROP SCHEMA transfer_workbench CASCADE;
