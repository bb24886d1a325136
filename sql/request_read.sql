-- Query and Scan by dyn_request()
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
SELECT dyn_create_table('mov', 'Actor S', 'Movie S',
	global_indexes => '{"MoviesIndex": {"partition_key": "Movie S", "sort_key": "Actor S"}, "Genres": {"partition_key": "Genre S", "projection": "KEYS_ONLY"}}',
                        local_indexes => '{"Years": {"sort_key": "Year N", "projection": "INCLUDE", "non_key_attributes": ["Role"]}}');
SELECT dyn_put('mov', item) FROM
	(VALUES ('{"Actor":{"S":"Tom Hanks"},"Movie":{"S":"Cast Away"},"Role":{"S":"Chuck Noland"},"Year":{"N":"2000"},"Genre":{"S":"Drama"}}'::dyn_item),
  ('{"Actor":{"S":"Tom Hanks"},"Movie":{"S":"Toy Story"},"Role":{"S":"Woody"},"Year":{"N":"1995"},"Genre":{"S":"Children''s"}}'),
  ('{"Actor":{"S":"Tim Allen"},"Movie":{"S":"Toy Story"},"Role":{"S":"Buzz Lightyear"},"Year":{"N":"1995"},"Genre":{"S":"Children''s"}}'),
  ('{"Actor":{"S":"Natalie Portman"},"Movie":{"S":"Black Swan"},"Role":{"S":"Nina Sayers"},"Year":{"N":"2010"},"Genre":{"S":"Drama"}}')) v(item);

-- Q01 to Q06, Q16, Q18
SELECT request('Query', '{"TableName":"mov","KeyConditionExpression":"Actor = :a","ExpressionAttributeValues":{":a":{"S":"Tom Hanks"}}}');
SELECT request('Query', '{"TableName":"mov","KeyConditionExpression":"Actor = :a","ExpressionAttributeValues":{":a":{"S":"Tom Hanks"}},
	"ScanIndexForward":false,"ProjectionExpression":"Movie"}');
SELECT request('Query', '{"TableName":"mov","KeyConditionExpression":"Actor = :a AND begins_with(Movie, :p)",
	"ExpressionAttributeValues":{":a":{"S":"Tom Hanks"},":p":{"S":"Toy"}},"ProjectionExpression":"#r","ExpressionAttributeNames":{"#r":"Role"}}');
SELECT request('Query', '{"TableName":"mov","KeyConditionExpression":"Actor = :a","FilterExpression":"Genre = :g",
	"ExpressionAttributeValues":{":a":{"S":"Tom Hanks"},":g":{"S":"Drama"}},"ProjectionExpression":"Genre"}');
SELECT request('Query', '{"TableName":"mov","KeyConditionExpression":"Actor = :a","ExpressionAttributeValues":{":a":{"S":"Nobody"}}}');

-- Q08, Q10 to Q14: pages
SELECT request('Query', '{"TableName":"mov","KeyConditionExpression":"Actor = :a","ExpressionAttributeValues":{":a":{"S":"Tom Hanks"}},
	"ProjectionExpression":"Movie","Limit":1}');
SELECT request('Query', '{"TableName":"mov","KeyConditionExpression":"Actor = :a","ExpressionAttributeValues":{":a":{"S":"Tom Hanks"}},
	"ProjectionExpression":"Movie","Limit":1,"ExclusiveStartKey":{"Actor":{"S":"Tom Hanks"},"Movie":{"S":"Cast Away"}}}');
SELECT request('Query', '{"TableName":"mov","KeyConditionExpression":"Actor = :a","ExpressionAttributeValues":{":a":{"S":"Tom Hanks"}},
	"ProjectionExpression":"Movie","Limit":1,"ExclusiveStartKey":{"Actor":{"S":"Tom Hanks"},"Movie":{"S":"Toy Story"}}}');
SELECT request('Query', '{"TableName":"mov","KeyConditionExpression":"Actor = :a","ExpressionAttributeValues":{":a":{"S":"Tom Hanks"}},
	"ProjectionExpression":"Movie","ScanIndexForward":false,"ExclusiveStartKey":{"Actor":{"S":"Tom Hanks"},"Movie":{"S":"D"}}}');
SELECT request('Query', '{"TableName":"mov","KeyConditionExpression":"Actor = :a","FilterExpression":"Genre = :g",
	"ExpressionAttributeValues":{":a":{"S":"Tom Hanks"},":g":{"S":"Children''s"}},"Limit":1}');
SELECT request('Query', '{"TableName":"mov","KeyConditionExpression":"Actor = :a","ExpressionAttributeValues":{":a":{"S":"Tom Hanks"}},"ExclusiveStartKey":'
	|| k || '}') FROM unnest(ARRAY['{}', '{"Actor":{"S":"Tom Hanks"}}', '{"Actor":{"S":"Tim Allen"},"Movie":{"S":"x"}}',
	'{"Actor":{"S":"Tom Hanks"},"Movie":{"N":"1"}}']) k;
SELECT request('Query', '{"TableName":"mov","KeyConditionExpression":"Actor = :a","ExpressionAttributeValues":{":a":{"S":"Tom Hanks"}},"Limit":' || l || '}')
	FROM unnest(ARRAY['0', '-1', '1.5', '"1"', '99999999999999999999']) l; -- L13

-- Q13, Q19, Q20, Q24, R02: indexes
SELECT request('Query', '{"TableName":"mov","IndexName":"MoviesIndex","KeyConditionExpression":"Movie = :m",
	"ExpressionAttributeValues":{":m":{"S":"Toy Story"}},"ProjectionExpression":"Actor","Limit":1}');
SELECT request('Query', '{"TableName":"mov","IndexName":"Genres","KeyConditionExpression":"Genre = :g","ExpressionAttributeValues":{":g":{"S":"Drama"}},
	"Limit":1}');
SELECT request('Query', '{"TableName":"mov","IndexName":"Genres","KeyConditionExpression":"Genre = :g","ExpressionAttributeValues":{":g":{"S":"Drama"}},
	"ExclusiveStartKey":{"Genre":{"S":"Drama"},"Actor":{"S":"Natalie Portman"},"Movie":{"S":"Black Swan"}}}');
SELECT request('Query', '{"TableName":"mov","IndexName":"Years","KeyConditionExpression":"Actor = :a","ExpressionAttributeValues":{":a":{"S":"Tom Hanks"}},
	"ConsistentRead":true}');
SELECT request('Query', '{"TableName":"mov","IndexName":"Genres","KeyConditionExpression":"Genre = :g","ExpressionAttributeValues":{":g":{"S":"Drama"}},
	"ConsistentRead":true}');
SELECT request('Query', '{"TableName":"mov","IndexName":"nope","KeyConditionExpression":"Genre = :g","ExpressionAttributeValues":{":g":{"S":"Drama"}}}');
SELECT request('Query', '{"TableName":"mov","IndexName":"Genres","KeyConditionExpression":"Actor = :g","ExpressionAttributeValues":{":g":{"S":"Drama"}}}');

-- Q17, I15, I16: Select
SELECT i, s, p, request('Query', '{"TableName":"mov","KeyConditionExpression":"' || CASE i WHEN 'Genres' THEN 'Genre' ELSE 'Actor' END ||
	' = :a","ExpressionAttributeValues":{":a":{"S":"' || CASE i WHEN 'Genres' THEN 'Drama' ELSE 'Tom Hanks' END || '"}},"Limit":1'
                        || CASE WHEN i <> '' THEN ',"IndexName":"' || i || '"' ELSE '' END || CASE WHEN s <> '' THEN ',"Select":"' || s || '"' ELSE '' END ||
                          CASE WHEN p <> '' THEN ',"ProjectionExpression":"' || p || '"' ELSE '' END || '}')
  FROM unnest(ARRAY['', 'Genres', 'Years']) WITH ORDINALITY x(i, io), unnest(ARRAY['', 'ALL_ATTRIBUTES', 'ALL_PROJECTED_ATTRIBUTES', 'SPECIFIC_ATTRIBUTES',
    'COUNT', 'count']) WITH ORDINALITY y(s, so), unnest(ARRAY['', 'Genre']) WITH ORDINALITY z(p, po)
 WHERE p = '' OR s IN ('', 'ALL_ATTRIBUTES', 'SPECIFIC_ATTRIBUTES', 'COUNT') ORDER BY io, so, po;

-- Q02, Q07, KC01: what is no query
SELECT request('Query', '{"TableName":"mov"}');
SELECT request('Query', '{"TableName":"mov","KeyConditionExpression":"Movie = :m","ExpressionAttributeValues":{":m":{"S":"x"}}}');
SELECT request('Query', '{"TableName":"mov","KeyConditionExpression":"Actor = :m AND Genre = :m","ExpressionAttributeValues":{":m":{"S":"x"}}}');
SELECT request('Query', '{"TableName":"mov","KeyConditionExpression":"Actor = :m","FilterExpression":"Movie = :m",
	"ExpressionAttributeValues":{":m":{"S":"x"}}}');
SELECT request('Query', '{"TableName":"mov","KeyConditionExpression":"Actor = :m","ExpressionAttributeValues":{":m":{"S":"x"}},' || m || '}')
	FROM unnest(ARRAY['"Segment":0', '"Key":{}', '"ReturnValues":"NONE"', '"ScanIndexForward":"false"', '"IndexName":["x"]', '"UpdateExpression":"REMOVE a"']) m;
SELECT request('Query', '{"TableName":"nope","KeyConditionExpression":"Actor = :m","ExpressionAttributeValues":{":m":{"S":"x"}}}');

-- S01 to S08
SELECT request('Scan', '{"TableName":"mov","ProjectionExpression":"Actor,Movie"}');
SELECT request('Scan', '{"TableName":"mov","FilterExpression":"Actor = :a","ExpressionAttributeValues":{":a":{"S":"Tom Hanks"}},
	"ProjectionExpression":"Movie","ConsistentRead":true}');
SELECT request('Scan', '{"TableName":"mov","FilterExpression":"Actor = :a","ExpressionAttributeValues":{":a":{"S":"Tom Hanks"}},"Limit":2}');
SELECT request('Scan', '{"TableName":"mov","Select":"COUNT","ExclusiveStartKey":{"Actor":{"S":"Tim Allen"},"Movie":{"S":"Toy Story"}}}');
SELECT request('Scan', '{"TableName":"mov","IndexName":"Genres","Limit":3,"Select":"COUNT"}');
SELECT request('Scan', '{"TableName":"mov","IndexName":"Genres","ConsistentRead":true}');
SELECT sum((dyn_request('Scan', format('{"TableName":"mov","Segment":%s,"TotalSegments":4}', s)::json) ->> 'Count')::int) FROM generate_series(0, 3) s;
SELECT request('Scan', '{"TableName":"mov",' || m || '}') FROM unnest(ARRAY['"ScanIndexForward":true', '"KeyConditionExpression":"Actor = :a"', '"Segment":0',
	'"TotalSegments":1', '"Segment":4,"TotalSegments":4', '"Segment":-1,"TotalSegments":4', '"Segment":0,"TotalSegments":0',
	'"Segment":0,"TotalSegments":1000001', '"Segment":4294967296,"TotalSegments":4294967297', '"Segment":"0","TotalSegments":4', '"Limit":0',
	'"Select":"SOME"']) m;
SELECT count(*) FILTER (WHERE r LIKE '%another segment%') FROM (SELECT request('Scan',
	format('{"TableName":"mov","Segment":%s,"TotalSegments":4,"ExclusiveStartKey":{"Actor":{"S":"Tom Hanks"},"Movie":{"S":"x"}}}', s))
	FROM generate_series(0, 3) s) x(r); -- S07
SELECT request('Scan', '{"TableName":"mov","Segment":0,"TotalSegments":1,"Select":"COUNT"}');

-- Q09, S03, F06: pages of 1 MB, before filter and projection
SELECT dyn_create_table('big', 'pk S', 'sk N');
SELECT count(dyn_put('big', jsonb_build_object('pk', 'a', 'sk', i, 'b', repeat('x', 100000)))) FROM generate_series(1, 30) i;
SELECT request('Query', '{"TableName":"big","KeyConditionExpression":"pk = :a","ExpressionAttributeValues":{":a":{"S":"a"}},"Select":"COUNT"}');
SELECT request('Query', '{"TableName":"big","KeyConditionExpression":"pk = :a","FilterExpression":"sk2 = :a","ExpressionAttributeValues":{":a":{"S":"a"}},
	"ProjectionExpression":"sk","ExclusiveStartKey":{"pk":{"S":"a"},"sk":{"N":"11"}}}');
SELECT request('Scan', '{"TableName":"big","ProjectionExpression":"sk","Limit":100,"ExclusiveStartKey":{"pk":{"S":"a"},"sk":{"N":"22"}}}');
SELECT length(request('Scan', '{"TableName":"big"}'));

DROP FUNCTION request;
DROP TABLE mov, big;
