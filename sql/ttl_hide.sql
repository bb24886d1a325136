-- Tables that hide expired items until they are removed.
\set SHOW_CONTEXT never
\set VERBOSITY terse
\set service ttl_worker
\set ECHO none
\i test/sql/switch_off.sql
\set ECHO all
CREATE SCHEMA ttl_hide;
SET search_path = ttl_hide, public;
SELECT dyn_create_table('app', 'pk S', 'sk S', global_indexes => '{"all": {"partition_key": "g S", "sort_key": "sk S"},
	"keys": {"partition_key": "g S", "projection": "KEYS_ONLY"}}', local_indexes => '{"local": {"sort_key": "n N"}}');
INSERT INTO app (item) SELECT jsonb_build_object('pk', 'p', 'sk', 's' || i, 'g', 'g', 'n', i, 'expires', floor(extract(epoch FROM now())) + CASE WHEN i % 2 =
	0 THEN 600 ELSE -60 END) FROM generate_series(1, 6) i;
INSERT INTO app (item) VALUES ('{"pk":{"S":"p"},"sk":{"S":"t"},"g":{"S":"g"},"n":{"N":"7"},"expires":{"S":"1"}}'),
	('{"pk":{"S":"p"},"sk":{"S":"u"},"g":{"S":"g"},"n":{"N":"8"},"expires":{"N":"1"}}'),
  ('{"pk":{"S":"p"},"sk":{"S":"v"},"g":{"S":"g"},"n":{"N":"9"}}');
CREATE FUNCTION reads() RETURNS TABLE (read text, keys text) LANGUAGE sql AS $$
  WITH r (n, read, item) AS (
    SELECT 1, 'get', dyn_get('app', jsonb_build_object('pk', 'p', 'sk', sk)) FROM unnest(ARRAY['s1', 's2', 't', 'u']) sk
    UNION ALL SELECT 2, 'query', i FROM dyn_query('app', 'pk = :p', vals => '{":p":{"S":"p"}}') i
    UNION ALL SELECT 3, 'query backwards, five', i FROM dyn_query('app', 'pk = :p', vals => '{":p":{"S":"p"}}', forward => false, max_items => 5) i
    UNION ALL SELECT 4, 'query of keys', i FROM dyn_query('app', 'pk = :p', vals => '{":p":{"S":"p"}}', projection => 'sk') i
    UNION ALL SELECT 5, 'global index', i FROM dyn_query('app', 'g = :g', vals => '{":g":{"S":"g"}}', index_name => 'all') i
    UNION ALL SELECT 6, 'index of keys', i FROM dyn_query('app', 'g = :g', vals => '{":g":{"S":"g"}}', index_name => 'keys') i
    UNION ALL SELECT 7, 'local index', i FROM dyn_query('app', 'pk = :p', vals => '{":p":{"S":"p"}}', index_name => 'local') i
    UNION ALL SELECT 8, 'scan', i FROM dyn_scan('app') i
    UNION ALL SELECT 9, 'scan of segments', i FROM generate_series(0, 1) s, dyn_scan('app', segment => s, total_segments => 2) i
    UNION ALL SELECT 10, 'scan with a filter', i FROM dyn_scan('app', filter => 'n > :n', vals => '{":n":{"N":"2"}}') i
    UNION ALL SELECT 11, 'batch', i FROM dyn_batch_get('app', ARRAY(SELECT jsonb_build_object('pk', 'p', 'sk', sk)::dyn_item
      FROM unnest(ARRAY['s1', 's2', 't', 'u']) sk)) i
    UNION ALL SELECT 12, 'transaction', i
      FROM dyn_transact_get('[{"Get":{"TableName":"app","Key":{"pk":{"S":"p"},"sk":{"S":"s1"}}}},
      {"Get":{"TableName":"app","Key":{"pk":{"S":"p"},"sk":{"S":"s2"}}}}]') i)
  SELECT read, string_agg(coalesce(item ->> 'sk', '-'), ' ' ORDER BY item ->> 'sk') FROM r GROUP BY n, read ORDER BY n $$;

-- TT09: not unless it is asked for
CALL dyn_enable_ttl('app', 'expires');
SELECT * FROM reads();
CALL dyn_enable_ttl('app', 'expires', hide_expired => true);
SELECT dyn_describe_table('app') -> 'HideExpired';
SELECT * FROM reads();

-- requests too; what is hidden counts as scanned, as what a filter takes away
SELECT dyn_request('GetItem', '{"TableName": "app", "Key": {"pk": {"S": "p"}, "sk": {"S": "s1"}}}'),
	dyn_request('GetItem', '{"TableName": "app", "Key": {"pk": {"S": "p"}, "sk": {"S": "s2"}}, "ProjectionExpression": "sk"}');
SELECT r -> 'Count' AS count, r -> 'ScannedCount' AS scanned, r #>> '{LastEvaluatedKey,sk,S}' AS last
	FROM dyn_request('Query', '{"TableName": "app", "KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": {"S": "p"}}, "Limit": 3}') r;
SELECT r -> 'Count' AS count, r -> 'ScannedCount' AS scanned FROM dyn_request('Scan', '{"TableName": "app", "Select": "COUNT"}') r;
SELECT r #> '{Responses,app}' AS items, r -> 'UnprocessedKeys' AS rest
	FROM dyn_request('BatchGetItem', '{"RequestItems": {"app": {"Keys": [{"pk": {"S": "p"}, "sk": {"S": "s1"}}]}}}') r;
SELECT items_read, items_returned FROM dyn_explain('app', 'g = :g', vals => '{":g":{"S":"g"}}', index_name => 'keys');

-- writes and conditions see the item until it is removed
SELECT dyn_put('app', '{"pk":{"S":"p"},"sk":{"S":"s1"}}', condition => 'attribute_not_exists(pk)');
SELECT dyn_update('app', '{"pk":{"S":"p"},"sk":{"S":"s1"}}', 'ADD n :one', vals => '{":one":{"N":"1"}}', return_values => 'UPDATED_NEW');
SELECT dyn_update('app', '{"pk":{"S":"p"},"sk":{"S":"s3"}}', 'SET expires = :e', vals => '{":e":{"N":"4e9"}}');
SELECT dyn_get('app', '{"pk":{"S":"p"},"sk":{"S":"s3"}}') ->> 'sk' AS prolonged;

-- from the second on; a statement has one time
SELECT extract(epoch FROM clock_timestamp()) + 2 AS expires \gset
SELECT dyn_put('app', jsonb_build_object('pk', 'soon', 'sk', 's', 'expires', :expires));
SELECT dyn_get('app', '{"pk":{"S":"soon"},"sk":{"S":"s"}}') IS NULL AND extract(epoch FROM statement_timestamp()) < :expires AS early;
SELECT pg_sleep(2.1);
SELECT dyn_get('app', '{"pk":{"S":"soon"},"sk":{"S":"s"}}') IS NULL AS hidden, count(*) FROM app WHERE pk = 'soon';

-- no longer
CALL dyn_enable_ttl('app', 'expires', hide_expired => false);
SELECT dyn_get('app', '{"pk":{"S":"soon"},"sk":{"S":"s"}}') IS NULL AS hidden;
BEGIN;
CALL dyn_enable_ttl('app', 'expires', hide_expired => true);
SELECT dyn_get('app', '{"pk":{"S":"soon"},"sk":{"S":"s"}}') IS NULL AS hidden;
ROLLBACK;
CALL dyn_enable_ttl('app', 'expires', hide_expired => true);
CALL dyn_disable_ttl('app');
SELECT dyn_get('app', '{"pk":{"S":"soon"},"sk":{"S":"s"}}') IS NULL AS hidden;

SET client_min_messages = warning;
DROP SCHEMA ttl_hide CASCADE;
\set ECHO none
\i test/sql/switch_on.sql
\set ECHO all
