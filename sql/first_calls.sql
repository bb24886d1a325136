-- What people try first: the list of tables, and calls that may be repeated.
\set SHOW_CONTEXT never
CREATE SCHEMA first_calls;
SET search_path = first_calls, public;

-- calls that may be repeated: what is there must be what is wanted
SELECT dyn_create_table('app', 'pk S', 'sk N', '{"GSI1": {"partition_key": "g S"}}', '{"LSI1": {"sort_key": "l S"}}', if_not_exists => true);
SELECT dyn_create_table('app', 'pk S', 'sk N', '{"GSI1": {"partition_key": "g S"}}', '{"LSI1": {"sort_key": "l S"}}', if_not_exists => true);
SELECT dyn_create_table('app', 'pk S', 'sk N', '{"GSI1": {"partition_key": "g S"}}', '{"LSI1": {"sort_key": "l S"}}');
SELECT dyn_create_table('app', 'pk S', if_not_exists => true);
SELECT dyn_create_table('app', 'pk S', 'sk S', if_not_exists => true);
SELECT dyn_create_table('app', 'id S', 'sk N', if_not_exists => true);
SELECT dyn_create_table('app', 'pk S', 'sk N', '{"GSI2": {"partition_key": "g S"}}', if_not_exists => true);
SELECT dyn_create_table('app', 'pk S', 'sk N', '{"GSI1": {"partition_key": "g S", "projection": "KEYS_ONLY"}}', if_not_exists => true);
SELECT dyn_create_table('app', 'pk S', 'sk N', '{"GSI1": {"partition_key": "g S"}}', if_not_exists => true);
SELECT dyn_create_table('app', 'pk X', 'sk N', if_not_exists => true);
CREATE TABLE plain (id int);
SELECT dyn_create_table('plain', 'pk S', if_not_exists => true);
-- in a transaction that has made it, too
BEGIN;
SELECT dyn_create_table('twice', 'pk S', if_not_exists => true);
SELECT dyn_create_table('twice', 'pk S', if_not_exists => true);
ROLLBACK;
SELECT to_regclass('twice') IS NULL AS gone;

CALL dyn_create_index('app', 'GSI2', 'h S', if_not_exists => true);
CALL dyn_create_index('app', 'GSI2', 'h S', if_not_exists => true);
CALL dyn_create_index('app', 'GSI2', 'h S');
CALL dyn_create_index('app', 'GSI2', 'h N', if_not_exists => true);
CALL dyn_create_index('app', 'GSI2', ARRAY['h S'], if_not_exists => true);
CALL dyn_create_index('app', 'GSI2', 'h S', projection => 'KEYS_ONLY', if_not_exists => true);
CALL dyn_create_index('app', 'LSI1', 'pk S', 'l S', if_not_exists => true);
-- indexes that were made since are no difference
SELECT dyn_create_table('app', 'pk S', 'sk N', '{"GSI1": {"partition_key": "g S"}}', '{"LSI1": {"sort_key": "l S"}}', if_not_exists => true);

CALL dyn_enable_ttl('app', 'expires', if_not_exists => true);
CALL dyn_enable_ttl('app', 'expires', if_not_exists => true);
CALL dyn_enable_ttl('app', 'expires');
CALL dyn_enable_ttl('app', 'other', if_not_exists => true);
CALL dyn_enable_ttl('app', 'expires', true, if_not_exists => true);
CALL dyn_enable_ttl('app', 'expires', true, if_not_exists => true);

SELECT dyn_create_entity('app', 'User', '{"pk": "USER#<Id>", "sk": "<N>"}', '{"Id": "S", "N": "N"}', if_not_exists => true);
SELECT dyn_create_entity('app', 'User', '{"pk": "USER#<Id>", "sk": "<N>"}', '{"Id": "S", "N": "N"}', if_not_exists => true);
SELECT dyn_create_entity('app', 'User', '{"sk": "<N>", "pk": "USER#<Id>"}', '{"Id": "S", "N": "N"}'::jsonb, if_not_exists => true);
SELECT dyn_create_entity('app', 'User', '{"pk": "U#<Id>", "sk": "<N>"}', '{"Id": "S", "N": "N"}', if_not_exists => true);
SELECT dyn_create_entity('app', 'User', '{"pk": "U#<Id>", "sk": "<N>"}', '{"Id": "S", "N": "N"}');

-- the list of tables
CREATE SCHEMA "other Schema";
SELECT dyn_create_table('other Schema.T.x', 'pk B');
SELECT dyn_alter_table('other Schema.T.x', '{"placement": false}');
SELECT table_name, relation, partition_key, sort_key, indexes, items, bytes >= 0 AS sized, ttl_attribute, stream_view_type, placement, distributed
	FROM dyn_tables WHERE schema_name IN ('first_calls', 'other Schema') ORDER BY 1;
SELECT count(dyn_put('app', json_build_object('pk', 'a', 'sk', n)::jsonb)) FROM generate_series(1, 10) n;
ANALYZE app;
SELECT items, bytes > 0 AS sized FROM dyn_tables WHERE relation = 'app'::regclass;
-- whoever may not read a table does not see it; pg_monitor sees all, and no table breaks the list
CREATE ROLE first_calls_reader;
CREATE ROLE first_calls_monitor IN ROLE pg_monitor;
GRANT USAGE ON SCHEMA first_calls TO first_calls_reader;
SET ROLE first_calls_reader;
SELECT table_name FROM dyn_tables WHERE schema_name IN ('first_calls', 'other Schema');
RESET ROLE;
GRANT SELECT ON app TO first_calls_reader;
SET ROLE first_calls_reader;
SELECT table_name FROM dyn_tables WHERE schema_name IN ('first_calls', 'other Schema');
SET ROLE first_calls_monitor;
SELECT table_name FROM dyn_tables WHERE schema_name IN ('first_calls', 'other Schema') ORDER BY 1;
RESET ROLE;
ALTER TABLE app DROP CONSTRAINT dynamo_keys;
ALTER TABLE app DROP COLUMN g CASCADE;
SELECT table_name FROM dyn_tables WHERE schema_name IN ('first_calls', 'other Schema') ORDER BY 1;

-- values are cast as those of jsonb are
SELECT v::numeric, v::integer, v::bigint, v::double precision FROM unnest('{"{\"N\": \"2.5\"}","{\"N\": \"-7\"}","{\"NULL\": true}",NULL}'::dyn_value[]) v;
SELECT ('{"pk": {"S": "a"}, "yes": {"BOOL": true}, "no": {"BOOL": false}}'::dyn_item -> 'yes')::boolean AS yes,
	('{"no": {"BOOL": false}}'::dyn_item -> 'no')::boolean AS no;
SELECT count(*) FROM app WHERE (item -> 'sk')::int > 3;
SELECT '{"S": "7"}'::dyn_value::integer;
SELECT '{"N": "7"}'::dyn_value::boolean;
SELECT '{"N": "1e20"}'::dyn_value::bigint;
SELECT '{"L": []}'::dyn_value::numeric;
-- what is wrong has a hint at what is right
SELECT dyn_create_table('Words', 'pk S', 'sk S', '{"GSI1": {"partition_key": "g S"}, "GSI2": {"partition_key": "h S"}}');
SELECT dyn_put('Words', '{"pk": {"S": "a"}, "sk": {"S": "b"}}');
SELECT dyn_query('Words', 'g = :g', vals => '{":g": {"S": "x"}}', index_name => 'gsi1');
CALL dyn_drop_index('Words', 'GSI3');
SELECT * FROM dyn_index_violations('Words', 'GSI3');
SELECT dyn_query('Words', 'pk = :p');
SELECT dyn_query('Words', '#p = :p', vals => '{":p": {"S": "x"}}');
SELECT dyn_scan('Words', filter => 'Title LIKE :t', vals => '{":t": {"S": "a%"}}');
SELECT dyn_scan('Words', filter => 'Title IS NULL');
SELECT dyn_scan('Words', filter => 'Title = NULL');
SELECT dyn_scan('Words', filter => 'Title != :t', vals => '{":t": {"S": "a"}}');
SELECT dyn_update('Words', '{"pk": {"S": "a"}, "sk": {"S": "b"}}', 'n = :n', vals => '{":n": {"N": "1"}}');
SELECT dyn_update('Words', '{"pk": {"S": "a"}, "sk": {"S": "b"}}', 'UPDATE n = :n', vals => '{":n": {"N": "1"}}');
SELECT dyn_update('Words', '{"pk": {"S": "a"}, "sk": {"S": "b"}}', 'SET n = n + :n', vals => '{":n": {"N": "1"}}');
SELECT dyn_transact('[{"Put": {"TableName": "Words", "Item": {"pk": "a", "sk": "b"}}}]'::jsonb);
SELECT * FROM dyn_read_stream('Words');
SELECT * FROM dyn_read_stream('Words', NULL);
SELECT dyn_get('words', '{"pk": {"S": "a"}, "sk": {"S": "b"}}');
SET ROLE first_calls_reader;
SELECT dyn_get('words', '{"pk": {"S": "a"}, "sk": {"S": "b"}}');
RESET ROLE;
SELECT dyn_get('"Words"', '{"pk": {"S": "a"}, "sk": {"S": "b"}}');
SET search_path = public;
SELECT dyn_get('words', '{"pk": {"S": "a"}, "sk": {"S": "b"}}');
SELECT dyn_get('"first_calls"."Words"', '{"pk": {"S": "a"}, "sk": {"S": "b"}}');
SELECT dyn_execute($$SELECT * FROM first_calls.Words$$);
SET search_path = first_calls, public;
CREATE VIEW of_words AS SELECT item FROM "Words";
SELECT dyn_get('of_words', '{"pk": {"S": "a"}, "sk": {"S": "b"}}');
DROP VIEW of_words;
-- arguments in another order, and JSON of another kind
SELECT dyn_get('{"pk": {"S": "a"}, "sk": {"S": "b"}}', 'Words');
SELECT dyn_get('Words', '{"pk": {"S": "a"}, "sk": {"N": 1}}');
SELECT dyn_batch_write('Words', '{"pk": {"S": "a"}, "sk": {"S": "b"}}');
SELECT dyn_batch_get('Words', ' { " {\"pk\": {\"S\": \"none\"}, \"sk\": {\"S\": \"b\"}}"}');
SELECT count(*) FROM "Words" WHERE item -> 'pk' = 'a';
SELECT count(*) FROM "Words" WHERE item -> 'pk' > '30';
SELECT dyn_transact('[{"put": {"TableName": "Words"}}]');
SELECT dyn_request('putItem', '{}');
-- words of SQL, and of other languages
SELECT dyn_put('Words', '{"pk": {"S": "a"}, "sk": {"S": "b"}}', 'not_exists(pk)');
SELECT dyn_update('Words', '{"pk": {"S": "a"}, "sk": {"S": "b"}}', 'SET n = coalesce(n, n)');
SELECT dyn_put('Words', '{"pk": {"S": "a"}, "sk": {"S": "b"}}', 'pk == sk');
SELECT dyn_put('Words', '{"pk": {"S": "a"}, "sk": {"S": "b"}}', '"pk" = sk');
SELECT dyn_put('Words', '{"pk": {"S": "a"}, "sk": {"S": "b"}}', 'n = null');
SELECT dyn_update('Words', '{"pk": {"S": "a"}, "sk": {"S": "b"}}', 'SET n = TRUE');
SELECT dyn_update('Words', '{"pk": {"S": "a"}, "sk": {"S": "b"}}', 'SET n += :n', vals => '{":n": {"N": "1"}}');
SELECT dyn_update('Words', '{"pk": {"S": "a"}, "sk": {"S": "b"}}', 'SET n = :n, SET m = :n', vals => '{":n": {"N": "1"}}');
SELECT dyn_query('Words', 'pk = :p, sk = :p', vals => '{":p": {"S": "a"}}');
SELECT dyn_execute('INSERT INTO Words VALUES (1, 2)');
SELECT dyn_execute('SELECT pk FROM Words GROUP BY pk');
SELECT dyn_create_access_pattern('Words', 'all', 'scan', '{}');
SELECT dyn_grant_keys('Words', 'first_calls_reader', '{SELECT}');
-- ItemCount: a small table is counted with its indexes, for those who may count
SELECT dyn_create_table('counted', 'pk S', global_indexes => '{"G": {"partition_key": "g S"}}');
ALTER TABLE counted SET (autovacuum_enabled = false);
CREATE VIEW counts AS SELECT d -> 'ItemCount' AS items, d #> '{GlobalSecondaryIndexes,0,ItemCount}' AS in_index
	FROM dyn_describe_table('first_calls.counted') d;
SELECT * FROM counts;
INSERT INTO counted (item) VALUES ('{"pk":{"S":"a"}}'), ('{"pk":{"S":"b"},"g":{"S":"x"}}'), ('{"pk":{"S":"c"}}');
SELECT * FROM counts;
ANALYZE counted;
DELETE FROM counted WHERE pk = 'c';
SELECT * FROM counts;
GRANT USAGE ON SCHEMA first_calls TO first_calls_reader;
GRANT INSERT ON counted TO first_calls_reader;
SET ROLE first_calls_reader;
SELECT dyn_describe_table('counted') -> 'ItemCount' AS estimate;
RESET ROLE;
GRANT SELECT ON counted TO first_calls_reader;
SET ROLE first_calls_reader;
SELECT dyn_describe_table('counted') -> 'ItemCount' AS counted;
RESET ROLE;
ALTER TABLE counted ENABLE ROW LEVEL SECURITY;
SET ROLE first_calls_reader;
SELECT dyn_describe_table('counted') -> 'ItemCount' AS estimate;
RESET ROLE;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT * FROM counts;
COMMIT;
-- a large one that was never analyzed, by its beginning
TRUNCATE counted;
SELECT reltuples FROM pg_class WHERE oid = 'counted'::regclass;
INSERT INTO counted (item) SELECT format('{"pk":{"S":"%s"},"g":{"S":"x"},"pad":{"S":"%s"}}', i, repeat('x', 500))::dyn_item FROM generate_series(1, 8000) i;
SELECT pg_relation_size('counted') / 8192 > 256 AS large, items::int BETWEEN 7000 AND 9000 AS items, in_index = items AS in_index FROM counts;
ANALYZE counted;
INSERT INTO counted (item) VALUES ('{"pk":{"S":"a"}}');
SELECT * FROM counts;
DROP VIEW counts;
DROP TABLE counted;
-- keys of the table stay; what another command has changed is told with its repair
ALTER TABLE "Words" DROP COLUMN sk;
ALTER TABLE "Words" DROP COLUMN pk CASCADE;
ALTER TABLE "Words" ALTER COLUMN pk TYPE text;
SELECT dyn_get('Words', '{"pk": {"S": "a"}, "sk": {"S": "b"}}');
SELECT object, problem, advice FROM dyn_check_table('Words') WHERE object <> 'table';
ALTER TABLE "Words" ALTER COLUMN pk TYPE pg_catalog.text COLLATE pg_catalog."C";
SELECT dyn_get('Words', '{"pk": {"S": "a"}, "sk": {"S": "b"}}');
SELECT object, problem, advice FROM dyn_check_table('Words');
DROP TABLE "Words";

DROP OWNED BY first_calls_reader, first_calls_monitor;
DROP ROLE first_calls_reader, first_calls_monitor;
SET client_min_messages = warning;
DROP SCHEMA first_calls, "other Schema" CASCADE;
