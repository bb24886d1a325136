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
SELECT * FROM why($$dyn_import_workbench('{"DataModel": [{"TableName": "abc", "KeyAttributes": {"PartitionKey": {"AttributeName": "p", "AttributeType": "S"}}, "TableData": {}}]}')$$);
SELECT count(*) FROM pg_class WHERE relname = 'abc';
-- a sort key alone
SELECT dyn_import_workbench('{"DataModel": [{"TableName": "abc", "KeyAttributes": {"SortKey": {"AttributeName": "s", "AttributeType": "S"}}}]}');

-- what Workbench writes inside M: plain JSON, M twice, DynamoDB JSON, and all of these; what may be read as DynamoDB JSON is
SELECT $model${"DataModel": [{"TableName": "inside", "KeyAttributes": {"PartitionKey": {"AttributeName": "p", "AttributeType": "S"}}, "TableData": [
	{"p": {"S": "plain"}, "v": {"M": {"name": "Ann \u0041\"", "n": 1.50, "big": 12345678901234567890123456789012345678, "yes": true, "none": null, "list": [1, "a", {"b": []}], "map": {"x": {}}}}},
	{"p": {"S": "doubled"}, "v": {"M": {"M": {"a": {"S": "b"}, "n": {"N": "1"}}}}, "empty": {"M": {"M": {}}}, "both": {"M": {"M": {"a": "plain"}}}, "thrice": {"M": {"M": {"M": {"a": {"S": "b"}}}}}},
	{"p": {"S": "typed"}, "v": {"M": {"M": {"S": "an attribute M"}}}, "w": {"M": {"M": {"M": {"M": {"S": "two of them"}}}}}, "x": {"M": {"S": {"S": "S"}, "L": {"L": [{"M": {}}]}}}},
	{"p": {"S": "mixed"}, "v": {"M": {"a": {"S": "typed"}, "b": "plain", "c": {"M": {"d": 1, "e": {"NS": ["1", "2"]}}}, "S": "plain"}}, "l": {"L": [{"M": {"a": 1}}, 2, {"M": {"M": {"a": {"L": [3]}}}}]}}]}]}$model$ AS inside \gset
SELECT * FROM dyn_import_workbench(:'inside');
SELECT item FROM inside ORDER BY p;

-- bad items are skipped, and named by table, facet and key
SELECT $model${"DataModel": [{"TableName": "skipped", "KeyAttributes": {"PartitionKey": {"AttributeName": "p", "AttributeType": "S"}, "SortKey": {"AttributeName": "s", "AttributeType": "N"}},
	"GlobalSecondaryIndexes": [{"IndexName": "GSI", "KeyAttributes": {"PartitionKey": {"AttributeName": "g", "AttributeType": "S"}}}],
	"TableFacets": [{"TableData": [{"p": {"S": "f"}, "s": {"N": "1"}}, {"p": {"S": "f"}, "s": {"N": "one"}}], "FacetName": "fa\u0000\"cet"}, {"FacetName": "other", "TableData": [{"p": {"S": "o"}, "g": {"S": "x"}}]}],
	"TableData": [{"p": {"S": "1"}, "s": {"N": "1"}}, {"p": {"N": "2"}, "s" : {"N": "1"}}, {"p": "plain", "s": 1}, 5, [], {}, {"p": {"S": "e\u001b[31m\n"}, "s": [ 1,
		{"a" : 2} ]}, {"p": {"S": "3"}, "s": {"N": "1"}, "g": {"S": ""}}, {"p": {"S": "4"}, "p": {"S": "5"}, "s": {"N": "1"}}, {"p": {"S": "4"}, "s": {"N": "1"}, "m": {"M": {"a": 1, "a": 2}}},
		{"p": {"S": "6"}, "s": {"N": "1"}, "m": {"M": {"": 1}}}, {"p": {"S": "7"}, "s": {"N": "1"}, "m": {"M": {"n": 1e200}}}, {"p": {"S": "\ud800"}, "s": {"N": "2"}}, {"p": {"S": "8"}, "s": {"N": "1"}, "m": {"M": {"a": 1, "n": {"N": 5}}}}, {"p": {"S": "2"}, "s": {"N": "1"}}]}]}$model$ AS skipped \gset
SELECT * FROM dyn_import_workbench(:'skipped');
SELECT item FROM skipped ORDER BY p, s;
\set SHOW_CONTEXT errors
SELECT dyn_import_workbench(format('{"DataModel": [{"TableName": "long", "KeyAttributes": {"PartitionKey": {"AttributeName": "p", "AttributeType": "S"}}, "TableData": [{"p": {"S": "%s"}, "n": 1}, {"p": {"S": "deep"}, "v": {"M": %s1%s}}, {"p": {"S": "deep"}, "v": {"M": %s1%s}}]}]}',
	repeat('é', 2000), repeat('{"M":', 5000), repeat('}', 5000), repeat('{"a":', 5000), repeat('}', 5000)));
\set SHOW_CONTEXT never
-- without data nothing of it is looked at
SELECT dyn_drop_table(t) FROM unnest('{skipped,inside,long}'::text[]) t;
SELECT * FROM dyn_import_workbench(:'skipped', false);
SELECT count(*) FROM skipped;
SELECT * FROM dyn_import_workbench('{"DataModel": [{"TableName": "bare", "KeyAttributes": {"PartitionKey": {"AttributeName": "p", "AttributeType": "S"}}, "TableData": 5, "TableFacets": [{"FacetName": "f", "TableData": "x"}]}]}', false);

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
