-- Limits that are settings; sections L, and L01, L03, L11, L12 are tested where items, keys and expressions are
\pset format unaligned
\pset tuples_only on
CREATE FUNCTION why(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE d text;
BEGIN
  EXECUTE 'SELECT ' || call;
  RETURN 'accepted';
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS d = PG_EXCEPTION_DETAIL;
  RETURN concat_ws(' / ', coalesce(dyn_error_name(SQLSTATE), SQLSTATE) || ': ' || SQLERRM, nullif(d, ''));
END $$;
LOAD 'dynamo_table';
SELECT name, boot_val, unit, context, min_val, max_val FROM pg_settings WHERE name LIKE 'dynamo\_table.%' AND name NOT LIKE '%vacuum%' ORDER BY 1;

-- they hold for everybody whom nobody has trusted with them
CREATE ROLE limited;
SET ROLE limited;
SET dynamo_table.max_page_size = 1;
RESET ROLE;
GRANT SET ON PARAMETER dynamo_table.max_page_size TO limited;
SET ROLE limited;
SET dynamo_table.max_page_size = 1;
SHOW dynamo_table.max_page_size;
RESET ROLE;
RESET dynamo_table.max_page_size;
REVOKE SET ON PARAMETER dynamo_table.max_page_size FROM limited;
DROP ROLE limited;

-- L02: pages, before filter and projection
SELECT dyn_create_table('pages', 'pk S', 'sk N');
SELECT count(dyn_put('pages', jsonb_build_object('pk', 'a', 'sk', i, 'x', repeat('x', 89)))) FROM generate_series(1, 20) i;
SELECT DISTINCT dyn_size(item) FROM pages;
SET dynamo_table.max_page_size = '500B';
SELECT p.item_count, p.scanned_count, p.last_evaluated_key FROM dyn_query_page('pages', 'pk = :a', vals => '{":a":"a"}'::jsonb) p;
SELECT p.item_count, p.scanned_count, p.last_evaluated_key FROM dyn_scan_page('pages', filter => 'sk > :n', vals => '{":n":19}'::jsonb, projection => 'sk') p;
SELECT count(*) FROM dyn_scan('pages');
SELECT dyn_request('Scan', '{"TableName":"pages","Select":"COUNT","ReturnConsumedCapacity":"TOTAL"}');
SET dynamo_table.max_page_size = 1;
SELECT dyn_request('Scan', '{"TableName":"pages","Select":"COUNT"}');
RESET dynamo_table.max_page_size;
DROP TABLE pages;

-- L10: batches and transactions
SELECT dyn_create_table('several', 'pk S');
CREATE FUNCTION actions(n int, kb int) RETURNS json LANGUAGE sql AS $$
  SELECT json_agg(json_build_object('Put', json_build_object('TableName', 'several', 'Item',
    json_build_object('pk', json_build_object('S', i::text), 'x', json_build_object('S', repeat('x', kb * 1000)))))) FROM generate_series(1, n) i $$;
SET dynamo_table.max_batch_get_keys = 2;
SET dynamo_table.max_batch_writes = 3;
SET dynamo_table.max_transaction_actions = 4;
SELECT n, why(format('count(*) FROM dyn_batch_get(''several'', (SELECT array_agg(jsonb_build_object(''pk'', i::text)::dyn_item) FROM generate_series(1, %s) '
	'i))', n)) FROM unnest(ARRAY[2, 3]) n;
SELECT n, why(format('dyn_batch_write(''several'', (SELECT array_agg(jsonb_build_object(''pk'', i::text)::dyn_item) FROM generate_series(1, %s) i))', n))
	FROM unnest(ARRAY[3, 4]) n;
SELECT n, why(format('dyn_transact(actions(%s, 0))', n)) FROM unnest(ARRAY[4, 5]) n;
RESET dynamo_table.max_batch_get_keys;
RESET dynamo_table.max_batch_writes;
RESET dynamo_table.max_transaction_actions;
SET dynamo_table.max_batch_size = '1MB';
SET dynamo_table.max_transaction_size = '1MB';
SELECT n, why(format('dyn_batch_write(''several'', (SELECT array_agg(jsonb_build_object(''pk'', i::text, ''x'', repeat(''x'', 300000))::dyn_item) FROM '
	'generate_series(1, %s) i))', n)) FROM unnest(ARRAY[3, 4]) n;
SELECT n, why(format('dyn_transact(actions(%s, 300))', n)) FROM unnest(ARRAY[3, 4]) n;
SELECT why('count(*) FROM dyn_transact_get((SELECT json_agg(json_build_object(''Get'', json_build_object(''TableName'', ''several'', ''Key'', '
	'json_build_object(''pk'', json_build_object(''S'', i::text))))) FROM generate_series(1, 4) i))');
SET dynamo_table.max_transaction_size = '500kB';
SELECT why('count(*) FROM dyn_transact_get((SELECT json_agg(json_build_object(''Get'', json_build_object(''TableName'', ''several'', ''Key'', '
	'json_build_object(''pk'', json_build_object(''S'', i::text))))) FROM generate_series(1, 4) i))');
RESET dynamo_table.max_batch_size;
RESET dynamo_table.max_transaction_size;
DROP TABLE several;

-- L07, L08, L09: indexes of a table
CREATE FUNCTION indexes(n int, global boolean) RETURNS jsonb LANGUAGE sql AS $$
  SELECT jsonb_object_agg('Index' || i, CASE WHEN global THEN jsonb_build_object('partition_key', 'g' || i || ' S')
    ELSE jsonb_build_object('sort_key', 'l' || i || ' S') END) FROM generate_series(1, n) i $$;
CREATE FUNCTION including(n int) RETURNS jsonb LANGUAGE sql AS $$
  SELECT jsonb_object_agg('Index' || k, jsonb_build_object('partition_key', 'g S', 'projection', 'INCLUDE', 'non_key_attributes',
    (SELECT jsonb_agg('a' || i) FROM generate_series(1, n) i))) FROM generate_series(1, 2) k $$;
SELECT n, why(format('dyn_create_table(%L, ''pk S'', ''sk S'', local_indexes => indexes(%s, false))', 'local_' || n, n)) FROM unnest(ARRAY[5, 6]) n;
SELECT n, why(format('dyn_create_table(%L, ''pk S'', ''sk S'', global_indexes => indexes(%s, true))', 'global_' || n, n)) FROM unnest(ARRAY[20, 21]) n;
SELECT n, why(format('dyn_create_table(%L, ''pk S'', ''sk S'', global_indexes => including(%s))', 'including_' || n, n)) FROM unnest(ARRAY[50, 51]) n;
SET dynamo_table.max_local_indexes = 6;
SET dynamo_table.max_global_indexes = 21;
SET dynamo_table.max_projected_attributes = 102;
SELECT why('dyn_create_table(''local_6'', ''pk S'', ''sk S'', local_indexes => indexes(6, false))');
SELECT why('dyn_create_table(''global_21'', ''pk S'', ''sk S'', global_indexes => indexes(21, true))');
SELECT why('dyn_create_table(''including_51'', ''pk S'', ''sk S'', global_indexes => including(51))');
SET dynamo_table.max_local_indexes = 0;
SET dynamo_table.max_global_indexes = 0;
SET dynamo_table.max_projected_attributes = 0;
SELECT why('dyn_create_table(''none'', ''pk S'', ''sk S'', local_indexes => indexes(1, false))');
SELECT why('dyn_create_table(''none'', ''pk S'', ''sk S'', global_indexes => indexes(1, true))');
CALL dyn_create_index('including_50', 'Extra', 'e S');
-- what is there stays, whatever the limits are now
SELECT dyn_put('local_6', '{"pk":"a","sk":"b","l6":"c"}'::jsonb);
SELECT dyn_query('local_6', 'pk = :a AND l6 = :c', vals => '{":a":"a",":c":"c"}'::jsonb, index_name => 'Index6');
RESET dynamo_table.max_local_indexes;
RESET dynamo_table.max_global_indexes;
RESET dynamo_table.max_projected_attributes;
CALL dyn_create_index('global_20', 'Extra', 'e S');
-- L14 counts all six copies
SELECT why('dyn_put(''local_6'', (SELECT jsonb_object_agg(''l'' || i, ''x'') FROM generate_series(1, 6) i) || jsonb_build_object(''pk'', ''a'', ''sk'', ''b'','
	' ''x'', repeat(''x'', ' || n || ')))') FROM unnest(ARRAY[58400, 58600]) n;
DROP TABLE local_5, local_6, global_20, global_21, including_50, including_51;

-- L05: collections of tables with local indexes
SELECT dyn_create_table('coll', 'pk S', 'sk N', local_indexes => '{"All": {"sort_key": "l N"}, "Keys": {"sort_key": "m N", "projection": "KEYS_ONLY"}}');
SELECT dyn_create_table('free', 'pk S', 'sk N', global_indexes => '{"All": {"partition_key": "pk S", "sort_key": "l N"}}');
CREATE FUNCTION item(sk int, kb int, local boolean DEFAULT false) RETURNS dyn_item LANGUAGE sql AS $$
  SELECT CASE WHEN local THEN jsonb_build_object('pk', 'a', 'sk', sk, 'l', 1, 'x', repeat('x', kb * 1000))
    ELSE jsonb_build_object('pk', 'a', 'sk', sk, 'x', repeat('x', kb * 1000)) END $$;
SET dynamo_table.item_collection_size_limit = '1MB';
SELECT sk, why(format('dyn_put(''coll'', item(%s, 300))', sk)) FROM generate_series(1, 4) sk;
SELECT count(*) FROM coll;
-- another collection, and tables without local indexes, have room
SELECT why('dyn_put(''coll'', jsonb_build_object(''pk'', ''b'', ''sk'', 1, ''x'', repeat(''x'', 300000)))');
SELECT sk, why(format('dyn_put(''free'', item(%s, 390))', sk)) FROM generate_series(1, 4) sk;
-- R18: copies count
SELECT why('dyn_update(''coll'', ''{"pk":"a","sk":1}''::jsonb, ''SET l = :l'', vals => ''{":l":1}''::jsonb)');
SELECT why('dyn_update(''coll'', ''{"pk":"a","sk":1}''::jsonb, ''SET m = :l'', vals => ''{":l":1}''::jsonb)');
SELECT dyn_request('UpdateItem', '{"TableName":"coll","Key":{"pk":{"S":"a"},"sk":{"N":"1"}},"UpdateExpression":"SET m = :l",
	"ExpressionAttributeValues":{":l":{"N":"2"}},"ReturnItemCollectionMetrics":"SIZE"}');
SELECT sk, why(format('dyn_put(''coll'', jsonb_build_object(''pk'', ''copies'', ''sk'', %s, ''l'', 1, ''x'', repeat(''x'', 150000)))', sk))
	FROM generate_series(1, 4) sk;
-- all writes of one statement
SELECT why('dyn_put(''coll'', jsonb_build_object(''pk'', ''c'', ''sk'', i, ''x'', repeat(''x'', 300000))) FROM generate_series(1, 3) i');
SELECT why('dyn_put(''coll'', jsonb_build_object(''pk'', ''d'', ''sk'', i, ''x'', repeat(''x'', 300000))) FROM generate_series(1, 4) i');
SELECT item ->> 'pk', count(*) FROM coll GROUP BY 1 ORDER BY 1;
-- what is too large already can shrink and be deleted, and everything that makes it no larger
SET dynamo_table.item_collection_size_limit = '500kB';
SELECT why('dyn_put(''coll'', item(9, 1))');
SELECT why('dyn_put(''coll'', item(1, 301), return_values => ''ALL_OLD'')');
SELECT why('dyn_put(''coll'', item(1, 301), ''attribute_exists(pk)'')');
SELECT why('dyn_update(''coll'', ''{"pk":"a","sk":9}''::jsonb)');
SELECT why('dyn_put(''coll'', item(1, 300))');
SELECT why('dyn_put(''coll'', item(1, 299), ''attribute_exists(pk)'')');
SELECT why('dyn_update(''coll'', ''{"pk":"a","sk":2}''::jsonb, ''SET y = :y'', vals => ''{":y":1}''::jsonb)');
SELECT why('dyn_update(''coll'', ''{"pk":"a","sk":2}''::jsonb, ''REMOVE x'')');
SELECT why('dyn_delete(''coll'', ''{"pk":"a","sk":3}''::jsonb)');
SELECT why('dyn_put(''coll'', item(9, 100))');
SELECT why('dyn_put(''coll'', item(10, 200))');
SELECT dyn_error_name('YD007'), why('dyn_request(''PutItem'', ''{"TableName":"coll","Item":{"pk":{"S":"c"},"sk":{"N":"4"}}}'')');
-- collections that other writes make larger are seen by the next one
SET dynamo_table.item_collection_size_limit = '2MB';
SELECT why('dyn_put(''coll'', jsonb_build_object(''pk'', ''e'', ''sk'', 0))');
INSERT INTO coll(item) SELECT jsonb_build_object('pk', 'e', 'sk', i, 'x', repeat('x', 300000)) FROM generate_series(1, 7) i;
SELECT why('dyn_put(''coll'', jsonb_build_object(''pk'', ''e'', ''sk'', 9, ''x'', repeat(''x'', 40000)))');
RESET dynamo_table.item_collection_size_limit;
SELECT why('dyn_put(''coll'', jsonb_build_object(''pk'', ''e'', ''sk'', 9))');
-- far from the limit a session does not look again until it has written its share of the room, a hundredth with 100 connections
SET dynamo_table.item_collection_size_limit = '100MB';
INSERT INTO coll(item) SELECT jsonb_build_object('pk', 'f', 'sk', i, 'x', repeat('x', 300000)) FROM generate_series(1, 100) i;
SELECT why('dyn_put(''coll'', jsonb_build_object(''pk'', ''f'', ''sk'', 1000))');
INSERT INTO coll(item) SELECT jsonb_build_object('pk', 'f', 'sk', i, 'x', repeat('x', 300000)) FROM generate_series(101, 350) i;
SELECT sk, why(format('dyn_put(''coll'', jsonb_build_object(''pk'', ''f'', ''sk'', %s, ''x'', repeat(''x'', 40000)))', sk)) FROM generate_series(1001, 1005) sk;
RESET dynamo_table.item_collection_size_limit;

DROP TABLE coll, free;
DROP FUNCTION why, actions, indexes, including, item;
