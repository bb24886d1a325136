-- ConsumedCapacity of PartiQL statements
\pset format unaligned
\pset tuples_only on
-- the capacity of a statement that may fail
CREATE FUNCTION units(statement text, details text DEFAULT 'INDEXES', more text DEFAULT '{}') RETURNS text LANGUAGE plpgsql AS $$
DECLARE d text;
BEGIN
  RETURN dyn_request('ExecuteStatement', (more::jsonb || jsonb_build_object('Statement', statement, 'ReturnConsumedCapacity',
    details))::text) -> 'ConsumedCapacity';
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS d = PG_EXCEPTION_DETAIL;
  RETURN concat_ws(' ', dyn_error_name(SQLSTATE), SQLERRM, '/', d);
END $$;
-- the same of a request
CREATE FUNCTION of_request(operation text, request text) RETURNS text LANGUAGE sql AS $$
  SELECT dyn_request(operation, (request::jsonb || '{"TableName": "app", "ReturnConsumedCapacity": "INDEXES"}')::text) -> 'ConsumedCapacity' $$;
SELECT dyn_create_table('app', 'pk S', 'sk S', global_indexes => '{"ByG": {"partition_key": "g S", "projection": "INCLUDE", "non_key_attributes": ["x"]}}',
                        local_indexes => '{"ByL": {"sort_key": "l N", "projection": "KEYS_ONLY"}}');
SELECT count(dyn_put('app', format('{"pk":{"S":"p%s"},"sk":{"S":"%s"},"g":{"S":"g"},"l":{"N":"%s"},"x":{"S":"x"},"y":{"S":"%s"}}', p, i, i,
	repeat('y', 3000))::dyn_item)) FROM generate_series(1, 2) p, generate_series(1, 3) i;

-- only if it is asked for, and the table as the statement names it
SELECT d, dyn_request('ExecuteStatement', json_build_object('Statement', 'SELECT l FROM app WHERE pk = ''p1'' AND sk = ''1''', 'ReturnConsumedCapacity',
	d)::text) FROM unnest(ARRAY['NONE', 'TOTAL', 'INDEXES']) d;
SELECT dyn_request('ExecuteStatement', '{"Statement": "SELECT l FROM app WHERE pk = ''p1'' AND sk = ''1''"}');
SELECT units('SELECT l FROM app WHERE pk = ''p1''', 'total');
SELECT units('SELECT * FROM "arn:aws:dynamodb:local:000000000000:table/app" WHERE pk = ''p1'' AND sk = ''1''', 'TOTAL');

-- one item, consistently or not, and a miss
SELECT w, c, units('SELECT * FROM app WHERE pk = ''p1'' AND sk = ' || w, 'TOTAL', json_build_object('ConsistentRead', c)::text)
	FROM unnest(ARRAY['''1''', '''none''', '''1'' AND sk = ''2''']) w, unnest(ARRAY[false, true]) c;
-- what is read counts, before the filter and the projection
SELECT s, units(s, 'TOTAL') FROM unnest(ARRAY['SELECT * FROM app WHERE pk = ''p1''', 'SELECT l FROM app WHERE pk = ''p1'' AND x = ''none''',
	'SELECT l FROM app WHERE pk = ''p1'' AND sk > ''1''', 'SELECT l FROM app', 'SELECT l FROM app WHERE x = ''none''']) s;
SELECT units('SELECT * FROM app WHERE pk = ''p1''', 'TOTAL', '{"Limit": 1}');
-- each read for itself, as far as they were begun
SELECT units('SELECT l FROM app WHERE pk IN [''p1'', ''p2'', ''p3'']', 'TOTAL');
SELECT units('SELECT l FROM app WHERE pk IN [''p1'', ''p2'', ''p3''] AND sk = ''1''', 'TOTAL');
SELECT units('SELECT l FROM app WHERE pk IN [''p1'', ''p2'', ''p3''] AND sk = ''1''', 'TOTAL', '{"Limit": 1}');

-- indexes: what the entries have; a local one fetches the items, where their attributes are wanted
SELECT s, units(s) FROM unnest(ARRAY['SELECT * FROM app.ByG WHERE g = ''g''', 'SELECT x FROM app.ByG WHERE x = ''x''',
	'SELECT x FROM app.ByG WHERE y = ''x''', 'SELECT * FROM app.ByL WHERE pk = ''p1''', 'SELECT l FROM app.ByL WHERE pk = ''p1''',
  'SELECT y FROM app.ByL WHERE pk = ''p1''', 'SELECT y FROM app.ByL WHERE pk = ''p1'' AND l = 1', 'SELECT l FROM app.ByL WHERE y = ''x''',
  'SELECT y FROM app.ByL WHERE x = ''x''', 'SELECT y FROM app.ByL WHERE pk = ''none''']) s;
SELECT units('SELECT y FROM app.ByL WHERE pk = ''p1''', 'INDEXES', '{"ConsistentRead": true, "Limit": 2}');
-- as the same request
SELECT of_request('Query', '{"IndexName": "ByL", "KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": {"S": "p1"}},
	"ProjectionExpression": "y"}') = units('SELECT y FROM app.ByL WHERE pk = ''p1'''),
  of_request('Scan', '{"IndexName": "ByG", "FilterExpression": "y = :p", "ExpressionAttributeValues": {":p": {"S": "p1"}}}') =
    units('SELECT x FROM app.ByG WHERE y = ''p1''');

-- writes: of table and indexes
SELECT units('INSERT INTO app VALUE {''pk'': ''w'', ''sk'': ''1'', ''g'': ''g'', ''l'': 1, ''y'': ''' || repeat('y', 3000) || '''}');
SELECT s, units(s) FROM unnest(ARRAY['UPDATE app SET x = ''1'' WHERE pk = ''w'' AND sk = ''1''', 'UPDATE app SET x = ''1'' WHERE pk = ''w'' AND sk = ''1''',
	'UPDATE app SET g = ''h'' WHERE pk = ''w'' AND sk = ''1'' AND attribute_exists(g)',
	'UPDATE app REMOVE l WHERE pk = ''w'' AND sk = ''1'' RETURNING MODIFIED OLD *',
  'DELETE FROM app WHERE pk = ''w'' AND sk = ''1''', 'DELETE FROM app WHERE pk = ''w'' AND sk = ''1''']) s;
-- where a condition fails, too, beside the item that is asked for
SELECT s, units(s) FROM unnest(ARRAY['UPDATE app SET x = ''1'' WHERE pk = ''none'' AND sk = ''1''',
	'UPDATE app SET x = ''1'' WHERE pk = ''p1'' AND sk = ''1'' AND x = ''none''', 'DELETE FROM app WHERE pk = ''p1'' AND sk = ''1'' AND x = ''none''']) s;
INSERT INTO app (item) VALUES ('{"pk":{"S":"s"},"sk":{"S":"1"}}');
SELECT d, units('DELETE FROM app WHERE pk = ''s'' AND sk = ''1'' AND x = ''none''', d, '{"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}')
	FROM unnest(ARRAY['NONE', 'TOTAL']) d;
SELECT units('INSERT INTO app VALUE {''pk'': ''s'', ''sk'': ''1''}', 'TOTAL');

DROP FUNCTION units, of_request;
DROP TABLE app;
