-- Settings of tables: an argument of the derive trigger, beside keys and indexes.
\set SHOW_CONTEXT never
CREATE SCHEMA settings;
SET search_path = settings, public;
CREATE FUNCTION arguments(relation regclass) RETURNS text LANGUAGE sql AS
  $$ SELECT format('%s %s', regexp_replace(pg_get_triggerdef(oid), '.*dynamo_internal.derive_keys', ''), tgenabled) FROM pg_trigger WHERE tgrelid = relation
    AND tgname = '~dynamo_keys' $$;

-- none: the trigger is what it was before there were any
SELECT dyn_create_table('app', 'pk S', global_indexes => '{"GSI1": {"partition_key": "a S"}}');
SELECT arguments('app');
SELECT dyn_put('app', '{"pk":{"S":"1"},"a":{"S":"x"}}');

-- some: the last argument; indexes stay what they are
SELECT dyn_request('TagResource', '{"ResourceArn": "arn:aws:dynamodb:local:000000000000:table/app", "Tags": [{"Key": "b", "Value": "its"},
	{"Key": "a", "Value": "x=y"}]}');
\set VERBOSITY terse
CALL dyn_enable_ttl('app', 'expires');
\set VERBOSITY default
SELECT arguments('app');
SELECT * FROM dyn_query('app', 'a = :a', vals => '{":a":{"S":"x"}}', index_name => 'GSI1');
INSERT INTO app (item) VALUES ('{"pk":{"S":"2"},"a":{"S":"x"}}') RETURNING pk, a;

-- taken back with the transaction, and with a savepoint
BEGIN;
SELECT dyn_request('TagResource', '{"ResourceArn": "arn:aws:dynamodb:local:000000000000:table/app", "Tags": [{"Key": "a", "Value": "changed"}]}');
SAVEPOINT s;
SELECT dyn_request('UntagResource', '{"ResourceArn": "arn:aws:dynamodb:local:000000000000:table/app", "TagKeys": ["a"]}');
SELECT dyn_request('ListTagsOfResource', '{"ResourceArn": "arn:aws:dynamodb:local:000000000000:table/app"}');
ROLLBACK TO s;
SELECT dyn_request('ListTagsOfResource', '{"ResourceArn": "arn:aws:dynamodb:local:000000000000:table/app"}');
ROLLBACK;
SELECT dyn_request('ListTagsOfResource', '{"ResourceArn": "arn:aws:dynamodb:local:000000000000:table/app"}');

-- they go where the table goes
CREATE SCHEMA settings_elsewhere;
ALTER TABLE app RENAME TO moved;
ALTER TABLE moved SET SCHEMA settings_elsewhere;
SELECT dyn_request('DescribeTimeToLive', '{"TableName": "settings_elsewhere.moved"}');
SELECT dyn_request('ListTagsOfResource', '{"ResourceArn": "arn:aws:dynamodb:local:000000000000:table/settings_elsewhere.moved"}');

-- nothing is left of them when all is as at first
SELECT dyn_request('UntagResource', '{"ResourceArn": "arn:aws:dynamodb:local:000000000000:table/settings_elsewhere.moved", "TagKeys": ["a", "b"]}');
CALL dyn_disable_ttl('settings_elsewhere.moved');
SELECT arguments('settings_elsewhere.moved');

-- written by hand
SELECT dyn_create_table('hand', 'pk S');
CREATE FUNCTION write(argument text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('CREATE OR REPLACE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON hand FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys(''pk S'',
    %L)', argument);
  RETURN dyn_describe_table('hand') ->> 'Placement';
EXCEPTION WHEN OTHERS THEN
  RETURN coalesce(dyn_error_name(SQLSTATE), SQLSTATE) || ': ' || SQLERRM;
END $$;
SELECT a, write(a) FROM unnest(ARRAY['{"settings": {"placement": false}}', '{"settings":{}}', '{"settings": {"placement": 1}}',
	'{"settings": {"unknown": 1}}', '{"settings": 1}', '{"settings": {}, "more": 1}',
  '{"settings": {"tags": ["a"]}}',
  '{"settings": ', '{ "settings": {}}', 'settings']) a;

-- plain DROP TABLE is Postgres' business
SELECT dyn_request('UpdateTable', '{"TableName": "hand", "DeletionProtectionEnabled": true}') #>> '{TableDescription,DeletionProtectionEnabled}' AS protected;
SELECT dyn_drop_table('hand');
DROP TABLE hand;

\set VERBOSITY terse
DROP SCHEMA settings, settings_elsewhere CASCADE;
