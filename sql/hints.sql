-- What errors and warnings tell whoever does not know the table: keys, members, forms, names that differ in case.
SELECT dyn_create_table('mov', 'Actor S', 'Movie S', global_indexes => '{"Genres": {"partition_key": "Genre S", "sort_key": "Year N"},
	"Inverted": {"partition_key": "Movie S", "sort_key": "Actor S"}}', local_indexes => '{"Years": {"sort_key": "Year N"}}');

-- an attribute that is no key attribute of what is queried: its keys, and what has such a key
SELECT dyn_query('mov', 'Genre = :g', vals => '{":g": {"S": "Drama"}}');
SELECT dyn_query('mov', 'Actor = :g AND Part = :g', vals => '{":g": {"S": "Drama"}}');
SELECT dyn_query('mov', 'Genre = :g AND Actor = :g', vals => '{":g": {"S": "Drama"}}', index_name => 'Genres');
SELECT dyn_query('mov', 'movie = :g', vals => '{":g": {"S": "Drama"}}', index_name => 'Inverted');
-- an index that cannot be queried yet is none of them
BEGIN;
SELECT dyn_request('UpdateTable', '{"TableName": "mov", "AttributeDefinitions": [{"AttributeName": "Part", "AttributeType": "S"}],
	"GlobalSecondaryIndexUpdates":
	[{"Create": {"IndexName": "Roles", "KeySchema": [{"AttributeName": "Part", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"}}}]}') IS NOT NULL
	AS declared;
SELECT dyn_query('mov', 'Part = :g', vals => '{":g": {"S": "Drama"}}');
ROLLBACK;
-- a key with other attributes
SELECT dyn_get('mov', '{"Actor": {"S": "A"}, "Movie": {"S": "M"}, "Genre": {"S": "Drama"}}');
SELECT dyn_query_page('mov', 'Genre = :g', vals => '{":g": {"S": "Drama"}}', index_name => 'Genres',
	start_key => '{"Actor": {"S": "A"}, "Movie": {"S": "M"}, "Genre": {"S": "Drama"}, "Year": {"N": "1"}, "x": {"N": "1"}}');
-- a request's message is what it was
DO $$
DECLARE
	message text;
	detail text;
BEGIN
	PERFORM dyn_request('Query', '{"TableName": "mov", "KeyConditionExpression": "Genre = :g", "ExpressionAttributeValues": {":g": {"S": "Drama"}}}');
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
	RAISE INFO '%|%', message, detail;
END $$;

-- a name that differs in case
SELECT dyn_put('mov', '{"actor": {"S": "A"}, "Movie": {"S": "M"}}');
SELECT dyn_get('mov', '{"Actor": {"S": "A"}, "MOVIE": {"S": "M"}}');
INSERT INTO mov VALUES ('{"Actor": {"S": "A"}, "movie": {"S": "M"}}');
SELECT dyn_put('mov', '{"Actors": {"S": "A"}, "Movie": {"S": "M"}}');

-- definitions of indexes
SELECT dyn_create_table('t', 'PK S', global_indexes => '[{"name": "GSI1", "partition_key": "GSI1PK S"}]');
SELECT dyn_create_table('t', 'PK S', 'SK S', local_indexes => '"LSI1"');
SELECT dyn_create_table('t', 'PK S', global_indexes => '{"GSI1": "GSI1PK S"}');
SELECT dyn_create_table('t', 'PK S', 'SK S', local_indexes => '{"LSI1": ["LSI1SK S"]}');
SELECT dyn_create_table('t', 'PK S', global_indexes => '{"GSI1": {"partition_key": "GSI1PK S", "range_key": "GSI1SK S"}}');
SELECT dyn_create_table('t', 'PK S', 'SK S', local_indexes => '{"LSI1": {"partition_key": "PK S", "sort_key": "LSI1SK S"}}');

-- entities
SELECT dyn_create_entity('mov', 'Film', '{"Actor": "FILM#<Code:upper>#ACTOR", "Movie": "<Part>"}',
	'{"Code": "S", "Part": "S", "Title": {"type": "S", "required": true}}');
SELECT dyn_put_entity('mov', 'Film', jsonb '{"Code": "x#y", "Part": "1", "Title": "T"}');
SELECT dyn_put_entity('mov', 'Film', jsonb '{"Code": "xy", "Part": "1", "title": "T"}');
SELECT dyn_put_entity('mov', 'Film', jsonb '{"code": "xy", "Part": "1", "Title": "T"}');
SELECT dynamo_internal.render('<a:upper>ZZ<b>', jsonb '{"a": "xzz", "b": "y"}');
SELECT dynamo_internal.render('<a:lower>zz<b>', jsonb '{"a": "XZZ", "b": "y"}');
-- how numbers of each type sort in a key
SELECT dyn_create_entity('mov', 'Number', format('{"Actor": "NUM#<Id>", "Movie": "<Nu>#%s"}', t)::jsonb, format('{"Id": "S", "Nu": "N %s"}', t)::jsonb)
	FROM unnest(ARRAY['smallint', 'integer', 'bigint', 'numeric', 'numeric(8)', 'numeric(5,-2)', 'numeric(8,2)', 'float8', 'real', 'date', 'timestamptz']) t;
-- what is advised has no warning
SELECT dyn_create_entity('mov', 'Number', '{"Actor": "NUM#<Id>", "Movie": "<Nu:07>#n"}', '{"Id": "S", "Nu": "N numeric(5,-2)"}');
SELECT dynamo_internal.render('<Nu:07>', jsonb '{"Nu": 9999900}');
DROP TABLE mov;
