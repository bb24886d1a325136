-- dyn_request(): AccessDeniedException, from missing privileges and for ARNs of another account or region
\pset format unaligned
\pset tuples_only on
CREATE FUNCTION request(operation text, request text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE d text;
BEGIN
  RETURN dyn_request(operation, request::json);
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS d = PG_EXCEPTION_DETAIL;
  RETURN SQLSTATE || ' ' || coalesce(dyn_error_name(SQLSTATE), '') || ': ' || SQLERRM || ' / ' || d;
END $$;
CREATE ROLE regress_denied_owner;
CREATE ROLE regress_denied_user LOGIN;
CREATE ROLE "regress ""d'enied" LOGIN;
CREATE SCHEMA denied AUTHORIZATION regress_denied_owner;
CREATE SCHEMA denied_closed AUTHORIZATION regress_denied_owner;
GRANT USAGE ON SCHEMA denied TO regress_denied_user, "regress ""d'enied";
SET search_path = denied, public;
SET ROLE regress_denied_owner;
SELECT dyn_create_table(name, 'pk S') FROM unnest(ARRAY['open', 'read', 'shut', 'denied_closed.far']) name;
GRANT ALL ON open TO regress_denied_user;
GRANT SELECT ON read TO regress_denied_user;

-- what the caller may not do, and may do
SET ROLE regress_denied_user;
SELECT operation, request(operation, r) FROM (VALUES ('PutItem', '{"TableName":"read","Item":{"pk":{"S":"a"}}}'),
	('UpdateItem', '{"TableName":"read","Key":{"pk":{"S":"a"}}}'), ('DeleteItem', '{"TableName":"read","Key":{"pk":{"S":"a"}}}'),
	('GetItem', '{"TableName":"read","Key":{"pk":{"S":"a"}}}'),
  ('GetItem', '{"TableName":"shut","Key":{"pk":{"S":"a"}}}'), ('GetItem', '{"TableName":"denied.shut","Key":{"pk":{"S":"a"}}}'),
  ('GetItem', '{"TableName":"denied_closed.far","Key":{"pk":{"S":"a"}}}'), ('GetItem', '{"TableName":"far","Key":{"pk":{"S":"a"}}}'),
  ('GetItem', '{"TableName":"arn:aws:dynamodb:local:000000000000:table/shut","Key":{"pk":{"S":"a"}}}'),
  ('Query', '{"TableName":"shut","KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":{"S":"a"}}}'), ('Scan', '{"TableName":"shut"}'),
  ('CreateTable', '{"TableName":"new","AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],
    "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST"}'), ('DescribeTable', '{"TableName":"shut"}'),
    ('UpdateTable', '{"TableName":"open","DeletionProtectionEnabled":true}'), ('DeleteTable', '{"TableName":"open"}'),
  ('UpdateTimeToLive', '{"TableName":"open","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"t"}}'), ('DescribeTimeToLive', '{"TableName":"shut"}'),
  ('TagResource', '{"ResourceArn":"arn:aws:dynamodb:local:000000000000:table/open","Tags":[{"Key":"a","Value":"b"}]}'),
  ('ListTagsOfResource', '{"ResourceArn":"arn:aws:dynamodb:local:000000000000:table/shut"}'),
  ('ListTables', '{}'), ('DescribeContinuousBackups', '{"TableName":"shut"}'), ('ListStreams', '{"TableName":"shut"}'),
  ('DescribeStream', '{"StreamArn":"arn:aws:dynamodb:local:000000000000:table/shut/stream/2026-01-01T00:00:00.000"}')) v (operation, r);
-- without the direct store the statement is refused
SET dynamo_table.direct_store = off;
SELECT request('PutItem', '{"TableName":"read","Item":{"pk":{"S":"a"}}}'), request('Scan', '{"TableName":"shut"}');
RESET dynamo_table.direct_store;
-- of several tables the one that it is
SELECT operation, request(operation, r) FROM (VALUES ('BatchWriteItem',
	'{"RequestItems":{"open":[{"PutRequest":{"Item":{"pk":{"S":"a"}}}}],"read":[{"DeleteRequest":{"Key":{"pk":{"S":"a"}}}}]}}'),
	('BatchWriteItem', '{"RequestItems":{"read":[{"PutRequest":{"Item":{"pk":{"S":"a"}}}}],"open":[{"DeleteRequest":{"Key":{"pk":{"S":"a"}}}}]}}'),
  ('BatchGetItem', '{"RequestItems":{"read":{"Keys":[{"pk":{"S":"a"}}]},"arn:aws:dynamodb:local:000000000000:table/shut":{"Keys":[{"pk":{"S":"a"}}]},
    "open":{"Keys":[{"pk":{"S":"a"}}]}}}'),
  ('TransactGetItems', '{"TransactItems":[{"Get":{"TableName":"open","Key":{"pk":{"S":"a"}}}},{"Get":{"TableName":"shut","Key":{"pk":{"S":"a"}}}},
    {"Get":{"TableName":"read","Key":{"pk":{"S":"a"}}}}]}'),
  ('TransactWriteItems', '{"TransactItems":[{"Put":{"TableName":"open","Item":{"pk":{"S":"a"}}}},{"Put":{"TableName":"read","Item":{"pk":{"S":"a"}}}},
    {"Delete":{"TableName":"open","Key":{"pk":{"S":"b"}}}}]}'),
    ('TransactWriteItems', '{"TransactItems":[{"Delete":{"TableName":"shut","Key":{"pk":{"S":"a"}}}},{"Put":{"TableName":"open","Item":{"pk":{"S":"a"}}}}]}'))
    v (operation, r);
-- one kind of write alone, which is found while the items are written
RESET ROLE;
GRANT INSERT, DELETE ON denied.read TO regress_denied_user;
SET ROLE regress_denied_user;
SELECT s, request('TransactWriteItems', '{"TransactItems":[{"Update":{"TableName":"open","Key":{"pk":{"S":"a"}},"UpdateExpression":"SET n = :n",
	"ExpressionAttributeValues":{":n":{"N":"1"}}}},
	{"Update":{"TableName":"read","Key":{"pk":{"S":"a"}},"UpdateExpression":"SET n = :n","ExpressionAttributeValues":{":n":{"N":"1"}}}},
	{"Delete":{"TableName":"open","Key":{"pk":{"S":"b"}}}}]}'),
    request('BatchWriteItem', '{"RequestItems":{"read":[{"PutRequest":{"Item":{"pk":{"S":"a"}}}}],"open":[{"PutRequest":{"Item":{"pk":{"S":"a"}}}}]}}')
  FROM (VALUES ('on'), ('off')) stores (s), LATERAL set_config('dynamo_table.direct_store', s, false);
RESET dynamo_table.direct_store;
-- row-level security: what a policy refuses, and not what it hides
SET ROLE regress_denied_owner;
ALTER TABLE open ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON open USING (item ->> 'who' = current_user) WITH CHECK (item ->> 'who' = current_user);
SELECT dyn_put('open', '{"pk":{"S":"theirs"},"who":{"S":"regress_denied_owner"}}');
SET ROLE regress_denied_user;
SELECT request('PutItem', '{"TableName":"open","Item":{"pk":{"S":"a"},"who":{"S":"regress_denied_user"}}}'),
	request('PutItem', '{"TableName":"open","Item":{"pk":{"S":"b"},"who":{"S":"regress_denied_owner"}}}'),
	request('GetItem', '{"TableName":"open","Key":{"pk":{"S":"theirs"}}}');
SELECT request('BatchWriteItem', '{"RequestItems":{"open":[{"PutRequest":{"Item":{"pk":{"S":"c"}}}}],"read":[{"DeleteRequest":{"Key":{"pk":{"S":"c"}}}}]}}'),
	request('TransactWriteItems',
	'{"TransactItems":[{"Delete":{"TableName":"read","Key":{"pk":{"S":"c"}}}},{"Put":{"TableName":"open","Item":{"pk":{"S":"c"}}}}]}');
-- the key of an item that a policy hides: it is taken, and nothing of the item is told
SELECT s, request(operation, r) FROM (VALUES ('on'), ('off')) stores (s), LATERAL set_config('dynamo_table.direct_store', s, false),
  (VALUES ('PutItem', '{"TableName":"open","Item":{"pk":{"S":"theirs"},"who":{"S":"regress_denied_user"}},"ReturnValues":"ALL_OLD"}'),
    ('PutItem', '{"TableName":"open","Item":{"pk":{"S":"theirs"},"who":{"S":"regress_denied_user"}},"ConditionExpression":"attribute_not_exists(pk)",
    "ReturnValuesOnConditionCheckFailure":"ALL_OLD"}'),
    ('UpdateItem', '{"TableName":"open","Key":{"pk":{"S":"theirs"}},"UpdateExpression":"SET who = :w",
      "ExpressionAttributeValues":{":w":{"S":"regress_denied_user"}},"ReturnValues":"ALL_OLD"}')) v (operation, r);
RESET dynamo_table.direct_store;
-- triggers do what they want: nothing is claimed of the table then, or of any other
SET ROLE regress_denied_owner;
ALTER TABLE open DISABLE ROW LEVEL SECURITY;
CREATE FUNCTION denied.looks() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM count(*) FROM denied.shut; RETURN NULL; END $$;
CREATE TRIGGER looks AFTER INSERT ON open FOR EACH ROW EXECUTE FUNCTION denied.looks();
SET ROLE regress_denied_user;
SELECT request('PutItem', '{"TableName":"open","Item":{"pk":{"S":"new"}}}');
SET ROLE regress_denied_owner;
CREATE OR REPLACE FUNCTION denied.looks() RETURNS trigger LANGUAGE plpgsql
	AS $$ BEGIN PERFORM dyn_request('Scan', '{"TableName":"denied.shut"}'); RETURN NULL; END $$;
SET ROLE regress_denied_user;
SELECT request('PutItem', '{"TableName":"open","Item":{"pk":{"S":"new"}}}');
-- what a trigger has got over is no matter any more
SET ROLE regress_denied_owner;
CREATE OR REPLACE FUNCTION denied.looks() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM count(*) FROM denied.shut; RETURN NULL; EXCEPTION
	WHEN insufficient_privilege THEN RETURN NULL; END $$;
REVOKE DELETE ON read FROM regress_denied_user;
SET ROLE regress_denied_user;
SELECT request('BatchWriteItem', '{"RequestItems":{"open":[{"PutRequest":{"Item":{"pk":{"S":"new"}}}}],"read":[{"DeleteRequest":{"Key":{"pk":{"S":"c"}}}}]}}');
-- the user is who asks, with whatever name
SET ROLE "regress ""d'enied";
SELECT request('Scan', '{"TableName":"open"}');
RESET ROLE;
CREATE FUNCTION denied.as_user() RETURNS text SECURITY DEFINER LANGUAGE sql SET search_path = denied, public
	AS $$ SELECT request('Scan', '{"TableName":"shut"}') $$;
ALTER FUNCTION denied.as_user OWNER TO regress_denied_user;
SELECT denied.as_user();
-- functions keep PostgreSQL's code and message
SET ROLE regress_denied_user;
\set VERBOSITY sqlstate
SELECT dyn_scan('shut');
SELECT dyn_put('shut', '{"pk":{"S":"a"}}');
\set VERBOSITY default
SELECT dyn_scan('shut');

-- ARNs of others: requests refuse them before they look for the table, and after all that is wrong with the request itself
RESET ROLE;
SELECT arn, request('DescribeTable', format('{"TableName":"%s"}', arn)) ~ '^{"Table"' AS own,
	regexp_replace(request('DescribeTable', format('{"TableName":"%s"}', arn)), '^{.*', '') AS error
  FROM unnest(ARRAY['arn:aws:dynamodb:local:000000000000:table/open', 'arn:aws:dynamodb:local:000000000000:table/nope',
    'arn:aws:dynamodb:local:000000000001:table/open', 'arn:aws:dynamodb:locale:000000000000:table/open', 'arn:aws:dynamodb:local:000000000000:table',
    'arn:aws:dynamodb::000000000000:table/open', 'arn:aws-cn:dynamodb:local:000000000000:table/nope', 'arn:aws:s3:x:1:table/open']) arn;
SELECT operation, request(operation, r) FROM (VALUES ('PutItem', '{"TableName":"arn:aws:dynamodb:x:1:table/open","Item":{"pk":{"S":"a"}}}'),
	('Query', '{"TableName":"arn:aws:dynamodb:x:1:table/open","KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":{"S":"a"}}}'),
  ('BatchGetItem', '{"RequestItems":{"open":{"Keys":[{"pk":{"S":"a"}}]},"arn:aws:dynamodb:x:1:table/shut":{"Keys":[{"pk":{"S":"a"}}]}}}'),
  ('BatchWriteItem', '{"RequestItems":{"open":[{"PutRequest":{"Item":{"pk":{"S":"a"}}}}],
  "arn:aws:dynamodb:x:1:table/open":[{"DeleteRequest":{"Key":{"pk":{"S":"a"}}}}]}}'),
  ('TransactWriteItems', '{"TransactItems":[{"Put":{"TableName":"open","Item":{"pk":{"S":"a"}}}},
    {"Delete":{"TableName":"arn:aws:dynamodb:x:1:table/open","Key":{"pk":{"S":"a"}}}}]}'),
    ('TransactGetItems', '{"TransactItems":[{"Get":{"TableName":"arn:aws:dynamodb:x:1:table/open","Key":{"pk":{"S":"a"}}}}]}'),
  ('CreateTable', '{"TableName":"arn:aws:dynamodb:x:1:table/new","AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],
    "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST"}'),
    ('UpdateTable', '{"TableName":"arn:aws:dynamodb:x:1:table/open","DeletionProtectionEnabled":true}'),
    ('DeleteTable', '{"TableName":"arn:aws:dynamodb:x:1:table/open"}'), ('DescribeTimeToLive', '{"TableName":"arn:aws:dynamodb:x:1:table/open"}'),
  ('UpdateTimeToLive', '{"TableName":"arn:aws:dynamodb:x:1:table/open","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"t"}}'),
  ('TagResource', '{"ResourceArn":"arn:aws:dynamodb:x:1:table/open","Tags":[{"Key":"a","Value":"b"}]}'),
  ('UntagResource', '{"ResourceArn":"arn:aws:dynamodb:x:1:table/open","TagKeys":["a"]}'),
  ('ListTagsOfResource', '{"ResourceArn":"arn:aws:dynamodb:x:1:table/open"}'),
  ('ListStreams', '{"TableName":"arn:aws:dynamodb:x:1:table/open"}'),
  ('ListStreams', '{"ExclusiveStartStreamArn":"arn:aws:dynamodb:x:1:table/open/stream/2026-01-01T00:00:00.000"}'),
  ('DescribeStream', '{"StreamArn":"arn:aws:dynamodb:x:1:table/open/stream/2026-01-01T00:00:00.000"}'),
  ('GetShardIterator', '{"StreamArn":"arn:aws:dynamodb:x:1:table/open/stream/2026-01-01T00:00:00.000","ShardId":"shardId-00000000000000000000-00000000",
  "ShardIteratorType":"LATEST"}')) v (operation, r);
SELECT length(request('GetItem', format('{"TableName":"arn:aws:dynamodb:x:1:table/%s","Key":{"pk":{"S":"a"}}}', repeat('ä', 100000)))) < 2000 AS cut;
SET dynamo_table.arn_region = 'eu-west-1';
SET dynamo_table.arn_account = '123456789012';
SELECT request('GetItem', '{"TableName":"arn:aws:dynamodb:eu-west-1:123456789012:table/shut","Key":{"pk":{"S":"a"}}}'),
	request('GetItem', '{"TableName":"arn:aws:dynamodb:local:000000000000:table/shut","Key":{"pk":{"S":"a"}}}');
RESET dynamo_table.arn_region;
RESET dynamo_table.arn_account;
-- functions take any
SELECT dyn_put('arn:aws:dynamodb:x:1:table/shut', '{"pk":{"S":"a"}}');
SELECT dyn_get('arn:aws:dynamodb:x:2:table/shut', '{"pk":{"S":"a"}}');

-- names that are not there do not fill the session's memory
CREATE FUNCTION denied.memory() RETURNS bigint LANGUAGE sql AS $$ SELECT used_bytes FROM pg_backend_memory_contexts WHERE name = 'CacheMemoryContext' $$;
CREATE PROCEDURE denied.ask(first int, last int, OUT answers text) LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN first .. last LOOP
    answers := concat_ws(' ', substr(public.request('GetItem', format('{"TableName":"n%s.missing%s","Key":{"pk":{"S":"a"}}}', i, i)), 1, 5),
      substr(public.request('CreateTable',
        format('{"TableName":"pg_catalog.missing%s","AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],
        "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST"}', i)), 1, 5));
  END LOOP;
END $$;
CALL denied.ask(1, 500, NULL);
SELECT denied.memory() AS before \gset
CALL denied.ask(501, 3500, NULL);
SELECT denied.memory() - :before < 2000000 AS bounded;

DROP SCHEMA denied, denied_closed CASCADE;
DROP FUNCTION request;
DROP ROLE regress_denied_owner, regress_denied_user, "regress ""d'enied";
