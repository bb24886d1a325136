-- dyn_search(): order, scores, conditions, projections, rights; docs/semantics.md, VS30 to VS39.
SELECT NOT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector') AS missing \gset
\if :missing
\echo skipped: pgvector is not installed
\quit
\endif
\set SHOW_CONTEXT never
\set VERBOSITY terse
\set service ttl_worker
\set ECHO none
\i test/sql/switch_off.sql
\set ECHO all
CREATE EXTENSION vector;
CREATE SCHEMA vector_search;
SET search_path = vector_search, public;
SET client_min_messages = warning;
CREATE FUNCTION attempt(query text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE query;
  RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
  RETURN coalesce(dyn_error_name(SQLSTATE), SQLSTATE) || ': ' || SQLERRM;
END $$;
CREATE FUNCTION doc(id text, at int, vector float8[], more jsonb DEFAULT '{}') RETURNS dyn_item LANGUAGE sql AS $$
  SELECT (jsonb_build_object('id', id, 'at', at, 'e', vector) || more)::dyn_item $$;

SELECT dyn_create_table('app', 'id S', 'at N');
CALL dyn_create_vector_index('app', 'cos', 'e', 2);
CALL dyn_create_vector_index('app', 'l2', 'e', 2, 'EUCLIDEAN', 'hnsw', filters => '{lang S,price N}');
CALL dyn_create_vector_index('app', 'dot', 'e', 2, 'DOT_PRODUCT', hash_key => 'tenant S', filters => '{lang S,price N}',
	projection => 'INCLUDE', non_key_attributes => '{title}');
SELECT dyn_put('app', doc('a', 1, '{3,4}', '{"tenant": "t", "lang": "en", "price": 1, "title": "one", "more": true}'));
SELECT dyn_put('app', doc('a', 2, '{3,4}', '{"tenant": "t", "lang": "de", "price": 2.5}'));
SELECT dyn_put('app', doc('a', 10, '{3,4}', '{"tenant": "u", "lang": "de", "price": 3}'));
SELECT dyn_put('app', doc('b', 1, '{-3,-4}', '{"tenant": "t", "price": 4}'));
SELECT dyn_put('app', doc('c', 1, '{0,0}', '{"tenant": "t", "lang": "en"}'));
SELECT dyn_put('app', doc('d', 1, '{4,-3}', '{"tenant": "u", "lang": "fr"}'));
SELECT dyn_put('app', doc('e', 1, '{1,0}', '{"lang": "fr"}'));
CREATE FUNCTION found(index_name text, vector real[], top_k bigint DEFAULT 10, condition text DEFAULT NULL, vals dyn_item DEFAULT NULL)
RETURNS SETOF text LANGUAGE sql AS $$
  SELECT item->>'id' || (item->>'at') || ' ' || score FROM dyn_search('vector_search.app', index_name, vector, top_k, condition, vals => vals) $$;

-- scores, and ties in the order of keys
SELECT * FROM found('cos', '{1,0}');
SELECT score::float8 FROM dyn_search('app', 'cos', '{1,0}', 2);
SELECT * FROM found('cos', '{0,0}');
SELECT * FROM found('cos', '{-1,0}', 3);
SELECT * FROM found('l2', '{3,4}');
SELECT * FROM found('dot', '{1,1}', condition => 'tenant = :t', vals => '{":t":{"S":"t"}}');
SELECT dyn_put('app', doc('huge', 1, '{3e38,3e38}', '{"tenant": "t"}')), dyn_put('app', doc('huge', 2, '{-3e38,-3e38}', '{"tenant": "t"}'));
SELECT * FROM found('cos', '{3e38,3e38}', 4);
SELECT * FROM found('l2', '{3e38,3e38}');
SELECT * FROM found('dot', '{3e38,3e38}', condition => 'tenant = :t', vals => '{":t":{"S":"t"}}');
SELECT dyn_delete('app', '{"id":{"S":"huge"},"at":{"N":"1"}}'), dyn_delete('app', '{"id":{"S":"huge"},"at":{"N":"2"}}');

-- conditions
SELECT * FROM found('l2', '{3,4}', condition => 'lang = :l', vals => '{":l":{"S":"de"}}');
SELECT * FROM found('l2', '{3,4}', 1, 'lang IN (:l, :m) AND NOT price < :p', '{":l":{"S":"de"},":m":{"S":"en"},":p":{"N":"2.5"}}');
SELECT * FROM found('l2', '{3,4}', condition => 'price BETWEEN :p AND :q OR attribute_not_exists(price)', vals => '{":p":{"N":"2.5"},":q":{"N":"3"}}');
SELECT * FROM found('l2', '{3,4}', condition => 'lang = :l', vals => '{":l":{"S":"none"}}');
SELECT * FROM found('dot', '{1,1}', condition => ':t = tenant AND price >= :p', vals => '{":t":{"S":"t"},":p":{"N":"2.5"}}');
SELECT attempt($$SELECT found('dot', '{1,1}')$$);
SELECT attempt($$SELECT found('dot', '{1,1}', 1, 'lang = :l', '{":l":{"S":"de"}}')$$);
SELECT attempt($$SELECT found('dot', '{1,1}', 1, 'tenant = :l OR lang = :l', '{":l":{"S":"de"}}')$$);
SELECT attempt($$SELECT found('dot', '{1,1}', 1, 'tenant > :l', '{":l":{"S":"de"}}')$$);
SELECT attempt($$SELECT found('dot', '{1,1}', 1, 'tenant = :l', '{":l":{"N":"1"}}')$$);
SELECT attempt($$SELECT found('dot', '{1,1}', 1, 'tenant = :l', '{":l":{"S":""}}')$$);
SELECT attempt($$SELECT found('l2', '{1,1}', 1, 'title = :l', '{":l":{"S":"de"}}')$$);
SELECT attempt($$SELECT found('l2', '{1,1}', 1, 'lang.x = :l', '{":l":{"S":"de"}}')$$);
SELECT attempt($$SELECT found('l2', '{1,1}', 1, 'lang =', '{":l":{"S":"de"}}')$$);
SELECT attempt($$SELECT found('l2', '{1,1}', 1, 'lang = :l', '{":l":{"S":"de"},":m":{"S":"de"}}')$$);

-- arguments
SELECT attempt($$SELECT found('l2', '{1,1}', 0)$$), attempt($$SELECT found('l2', '{1,1}', 101)$$);
SELECT attempt($$SELECT found('l2', '{1}')$$), attempt($$SELECT found('l2', '{}')$$), attempt($$SELECT found('l2', NULL)$$);
SELECT attempt($$SELECT found('l2', '{1,NaN}')$$), attempt($$SELECT found('l2', '{1,Infinity}')$$), attempt($$SELECT found('l2', '{1,NULL}')$$);
SELECT attempt($$SELECT found('l2', '{{1,2}}')$$);
SELECT attempt($$SELECT found('none', '{1,2}')$$);
SELECT attempt($$SELECT dyn_search('nowhere', 'l2', '{1,2}')$$);
SELECT attempt($$SELECT dyn_search(NULL, 'l2', '{1,2}')$$), attempt($$SELECT dyn_search('app', NULL, '{1,2}')$$);
SELECT attempt($$SELECT dyn_query('app', 'id = :i', 'l2', vals => '{":i":{"S":"a"}}')$$);
SELECT attempt($$SELECT dyn_scan('app', 'l2')$$);
SELECT attempt($$SELECT * FROM dyn_execute('SELECT * FROM "app"."l2"')$$);

-- what is returned
SELECT item FROM dyn_search('app', 'l2', '{3,4}', 1);
SELECT item FROM dyn_search('app', 'l2', '{3,4}', 1, projection => 'e, title, nothing, #m', names => '{"#m": "more"}');
SELECT item FROM dyn_search('app', 'dot', '{3,4}', 1, 'tenant = :t', vals => '{":t":{"S":"t"}}');
SELECT item FROM dyn_search('app', 'dot', '{3,4}', 1, 'tenant = :t', vals => '{":t":{"S":"t"}}', projection => 'more, title, e[1]');
-- joined
CREATE TABLE authors (id text PRIMARY KEY, name text);
INSERT INTO authors VALUES ('a', 'Ada'), ('b', 'Bob');
SELECT a.name, s.item->>'at' AS at, s.score FROM dyn_search('app', 'l2', '{3,4}', 5) s JOIN authors a ON a.id = s.item->>'id' ORDER BY s.score, 2;
SELECT q, s.item->>'id' AS id FROM (VALUES ('{3,4}'::real[]), ('{4,-3}')) v(q), LATERAL dyn_search('app', 'cos', q, 1) s;

-- a write and its vector are one; readers see what their snapshot shows
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT * FROM found('cos', '{1,0}', 1);
SELECT dyn_update('app', '{"id":{"S":"e"},"at":{"N":"1"}}', 'SET e = :e', vals => '{":e":{"L":[{"N":"-1"},{"N":"0"}]}}');
SELECT * FROM found('cos', '{1,0}', 1);
ROLLBACK;

-- expired items are not found where they are hidden
SELECT dyn_put('app', doc('e', 0, '{1,0}', jsonb_build_object('until', floor(extract(epoch FROM now())) - 1000)));
CALL dyn_enable_ttl('app', 'until');
SELECT * FROM found('cos', '{1,0}', 1);
CALL dyn_disable_ttl('app');
CALL dyn_enable_ttl('app', 'until', hide_expired => true);
SELECT * FROM found('cos', '{1,0}', 1);
SELECT * FROM found('l2', '{1,0}', 1);

-- many near ones that are filtered or hidden: never fewer than there are
INSERT INTO app(item) SELECT doc('n', i, ARRAY[1 + i / 2500.0, i / 5000.0],
	jsonb_build_object('lang', CASE WHEN i % 100 = 0 THEN 'rare' ELSE 'often' END, 'tenant', 'n' || i % 2))
	FROM generate_series(1, 1000) i;
SELECT count(*), min(item->>'lang') FROM dyn_search('app', 'l2', '{-100,-100}', 10, 'lang = :l', vals => '{":l":{"S":"rare"}}');
SELECT array_agg(item->>'at') FROM dyn_search('app', 'l2', '{1,0}', 4, 'lang = :l', vals => '{":l":{"S":"rare"}}');
SET hnsw.max_scan_tuples = 50;
SELECT count(*), min(item->>'lang') FROM dyn_search('app', 'l2', '{-100,-100}', 11, 'lang = :l', vals => '{":l":{"S":"rare"}}');
RESET hnsw.max_scan_tuples;
SELECT current_setting('hnsw.iterative_scan'), current_setting('hnsw.ef_search');

-- rights
CREATE ROLE regress_vector_a;
CREATE ROLE regress_vector_none;
CREATE ROLE regress_vector_columns;
GRANT USAGE ON SCHEMA vector_search TO regress_vector_a, regress_vector_none, regress_vector_columns;
GRANT SELECT, INSERT, UPDATE, DELETE ON app TO regress_vector_a;
GRANT SELECT (id, at) ON app TO regress_vector_columns;
SET ROLE regress_vector_none;
SELECT attempt($$SELECT found('l2', '{1,1}')$$), attempt('SELECT * FROM app_l2');
SET ROLE regress_vector_columns;
SELECT attempt($$SELECT found('l2', '{1,1}')$$);
SET ROLE regress_vector_a;
SELECT attempt('SELECT * FROM app_l2'), left(attempt('REFRESH MATERIALIZED VIEW app_l2'), 5) AS refresh;
SELECT attempt($$SELECT * FROM dynamo_internal.vector_entries('app', 'l2')
	AS e(vector public.vector(2), filters public.dyn_item, a text COLLATE "C", b numeric)$$);
SELECT * FROM found('l2', '{1,1}', 1);
SELECT dyn_put('app', doc('by a', 1, '{50,50}'));
SELECT * FROM found('l2', '{50,50}', 1);
RESET ROLE;
-- policies before the cut
ALTER TABLE app ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON app TO regress_vector_a USING (item->>'tenant' = 'n0' OR item->>'tenant' IS NULL);
SET ROLE regress_vector_a;
SELECT count(*), min(item->>'tenant') FROM dyn_search('app', 'l2', '{1,0}', 100);
SELECT count(*), min(item->>'tenant') FROM dyn_search('app', 'l2', '{1,0}', 100, 'lang = :l', vals => '{":l":{"S":"rare"}}');
SELECT count(*) FROM dyn_search('app', 'dot', '{1,0}', 100, 'tenant = :t', vals => '{":t":{"S":"n0"}}');
SELECT count(*) FROM dyn_search('app', 'dot', '{1,0}', 100, 'tenant = :t', vals => '{":t":{"S":"n1"}}');
SELECT count(*) FROM dyn_search('app', 'cos', '{3,4}', 100);
-- statistics do not tell of what is hidden
SELECT items_read - items_returned AS more FROM dyn_operations WHERE operation = 'SearchVectors' AND relation = 'app'::regclass AND index_name = 'dot';
SELECT attempt($$SELECT dyn_put('app', doc('x', 1, '{1,1}', '{"tenant": "n1"}'))$$);
SELECT dyn_put('app', doc('mine', 1, '{1,1}', '{"tenant": "n0"}'));
RESET ROLE;
DROP POLICY tenant ON app;
-- grants by leading key: of the hash key of the index
SELECT dyn_grant_keys('app', 'regress_vector_a', ARRAY['Query'], ARRAY['n1'], index_name => 'dot');
SET ROLE regress_vector_a;
SELECT count(*), min(item->>'tenant') FROM dyn_search('app', 'dot', '{1,0}', 5, 'tenant = :t', vals => '{":t":{"S":"n1"}}');
SELECT attempt($$SELECT dyn_search('app', 'dot', '{1,0}', 5, 'tenant = :t', vals => '{":t":{"S":"n0"}}')$$);
SELECT attempt($$SELECT dyn_search('app', 'l2', '{1,0}', 5)$$);
RESET ROLE;
-- which the item tells, and not an entry that its owner has kept from being written
ALTER TABLE app DISABLE TRIGGER "~dynamo_vector_dot";
UPDATE app SET item = (item::jsonb || '{"tenant": "n0"}')::dyn_item WHERE item->>'tenant' = 'n1';
ALTER TABLE app ENABLE ALWAYS TRIGGER "~dynamo_vector_dot";
SET ROLE regress_vector_a;
SELECT count(*) FROM dyn_search('app', 'dot', '{1,0}', 5, 'tenant = :t', vals => '{":t":{"S":"n1"}}');
RESET ROLE;
SELECT relation::text, operation, index_name FROM dyn_operations WHERE operation = 'SearchVectors' AND relation = 'app'::regclass ORDER BY 3;
\set ECHO none
\i test/sql/switch_on.sql
SELECT dyn_drop_table('app');
DROP SCHEMA vector_search CASCADE;
DROP EXTENSION vector;
DROP OWNED BY regress_vector_a, regress_vector_none, regress_vector_columns;
DROP ROLE regress_vector_a, regress_vector_none, regress_vector_columns;
