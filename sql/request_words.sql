-- dyn_request(): DynamoDB's words of an error, and of no other one
\pset format unaligned
\pset tuples_only on
CREATE FUNCTION request(operation text, request text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE d text;
BEGIN
  RETURN dyn_request(operation, request::json);
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS d = PG_EXCEPTION_DETAIL;
  RETURN SQLSTATE || ': ' || SQLERRM || ' / ' || d;
END $$;
SELECT dyn_create_table('words_t', 'pk S');
SELECT dyn_put('words_t', '{"pk":{"S":"a"}}');
CREATE FUNCTION words_get(name text) RETURNS dyn_item LANGUAGE sql VOLATILE
	AS $$ SELECT dyn_get('words_t', '{"pk":{"S":"a"}}', projection => 'pk', names => jsonb_build_object(name, 'x')) $$;
-- a trigger that gets over another error, of the same kind, before it raises its own again
CREATE FUNCTION words_raise() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM words_get('#first');
  RETURN NULL;
EXCEPTION WHEN OTHERS THEN
  BEGIN
    PERFORM words_get('#second');
  EXCEPTION WHEN OTHERS THEN
    NULL;
  END;
  RAISE;
END $$;
CREATE TRIGGER words_raise AFTER INSERT ON words_t FOR EACH ROW EXECUTE FUNCTION words_raise();
SELECT s, request('PutItem', '{"TableName":"words_t","Item":{"pk":{"S":"b"}}}') FROM (VALUES ('on'), ('off')) stores (s),
	LATERAL set_config('dynamo_table.direct_store', s, false);
RESET dynamo_table.direct_store;
-- one that raises an error of its own under the name of such an error
CREATE OR REPLACE FUNCTION words_raise() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM words_get('#second');
EXCEPTION WHEN OTHERS THEN
  RAISE 'all is well' USING ERRCODE = SQLSTATE;
END $$;
SELECT request('PutItem', '{"TableName":"words_t","Item":{"pk":{"S":"b"}}}');
-- a request within a request tells the words, and the request around it the same ones
CREATE OR REPLACE FUNCTION words_raise() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM dyn_request('GetItem', '{"TableName":"words_t","Key":{"pk":{"S":"a"}},"ProjectionExpression":"pk","ExpressionAttributeNames":{"#inner":"x"}}');
  RETURN NULL;
END $$;
SELECT request('PutItem', '{"TableName":"words_t","Item":{"pk":{"S":"b"}}}');
-- an error without words after one with words, of functions that have one name
CREATE OR REPLACE FUNCTION words_raise() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  BEGIN
    PERFORM words_get('#second');
  EXCEPTION WHEN OTHERS THEN
    NULL;
  END;
  PERFORM dyn_create_entity('words_t', repeat('x', 256), '{"pk":"E#<Id>"}', '{"Id":"S"}');
  RETURN NULL;
END $$;
SELECT request('PutItem', '{"TableName":"words_t","Item":{"pk":{"S":"b"}}}');
-- what is made up is not told at any length
SELECT request(repeat('é', 100000), '{}');
-- of many tables two that are one
SELECT operation, request(operation, '{"RequestItems":{' || string_agg(format('"t%s":%s', n % 2999, v), ',') || '}}')
  FROM (VALUES ('BatchGetItem', '{"Keys":[]}'), ('BatchWriteItem', '[]')) o (operation, v), generate_series(1, 3000) n GROUP BY operation ORDER BY operation;
DROP FUNCTION request, words_get;
DROP TABLE words_t;
DROP FUNCTION words_raise;
