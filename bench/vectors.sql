-- Vectors in clusters, by hand and in a vector index: time of processor, recall, filters.  Variables: n, dim, queries.
\set ON_ERROR_STOP on
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
CREATE EXTENSION IF NOT EXISTS dynamo_table;
CREATE EXTENSION IF NOT EXISTS vector;
-- milliseconds of processor that this session has used
CREATE FUNCTION cpu() RETURNS float8 LANGUAGE sql VOLATILE AS
	$$SELECT split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::float8 / 1000000$$;
SELECT setseed(0.42);
CREATE TABLE centres AS SELECT c, array_agg(random() - 0.5) AS at FROM generate_series(0, 199) c, generate_series(1, :dim) GROUP BY c;
CREATE TABLE plain (id text, c int, v vector(:dim));
ALTER TABLE plain ALTER COLUMN v SET STORAGE PLAIN;
INSERT INTO plain SELECT p.i::text, p.c, (SELECT array_agg(x + (random() - 0.5) * 0.6 + 0 * p.i) FROM unnest(k.at) x)::vector
	FROM (SELECT i, floor(200 * random() ^ 2)::int AS c FROM generate_series(1, :n) i) p JOIN centres k ON k.c = p.c;
CREATE TABLE asked AS SELECT row_number() OVER () AS q, (SELECT array_agg(x + (random() - 0.5) * 0.6 + 0 * i) FROM unnest(k.at) x)::real[] AS v
	FROM generate_series(1, :queries) i JOIN centres k ON k.c = (i * 7) % 200;
VACUUM ANALYZE plain;

SELECT dyn_create_table('app', 'id S');
SELECT cpu() AS t \gset
INSERT INTO app(item) SELECT jsonb_build_object('id', id, 'one',
	CASE WHEN c IN (180, 181, 182, 183, 184) THEN 1 ELSE 0 END, 'ten', CASE WHEN c < 3 THEN 1 ELSE 0 END,
	'half', id::int % 2, 'e', to_jsonb(v::real[]))::dyn_item FROM plain;
SELECT round((cpu() - :t)::numeric / :n * 1000) AS "CPU µs of an insert without index";
\timing on
CALL dyn_create_vector_index('app', 'exact', 'e', :dim, filters => '{one N,ten N,half N}');
SET maintenance_work_mem = '2GB';
CALL dyn_create_vector_index('app', 'near', 'e', :dim, method => 'hnsw', filters => '{one N,ten N,half N}');
CREATE INDEX plain_hnsw ON plain USING hnsw (v vector_cosine_ops) WITH (ef_construction = 200);
\timing off
VACUUM ANALYZE app;
VACUUM ANALYZE app_exact;
VACUUM ANALYZE app_near;
SELECT pg_size_pretty(pg_table_size('app')) AS items, pg_size_pretty(pg_table_size('app_exact')) AS entries, pg_size_pretty(pg_table_size('plain')) AS plain,
	(SELECT pg_size_pretty(sum(pg_relation_size(indexrelid))) FROM pg_index i
		JOIN pg_class c ON c.oid = indexrelid WHERE indrelid = 'app_near'::regclass AND relname LIKE '%vector%') AS hnsw;
SELECT round(100.0 * count(*) FILTER (WHERE item->>'one' = '1') / count(*), 2) AS "one %",
	round(100.0 * count(*) FILTER (WHERE item->>'ten' = '1') / count(*), 2) AS "ten %"
	FROM app;

CREATE FUNCTION by_hand(q real[]) RETURNS SETOF text LANGUAGE sql STABLE AS
	$$SELECT id FROM plain ORDER BY v OPERATOR(public.<=>) q::vector LIMIT 10$$;
CREATE PROCEDURE measure(what text, statement text, times int) LANGUAGE plpgsql AS $$
DECLARE
	t float8;
	r record;
	n int := 0;
BEGIN
	FOR r IN SELECT v FROM asked LIMIT 3 LOOP EXECUTE statement USING r.v; END LOOP;
	t := cpu();
	FOR i IN 1 .. times LOOP
		FOR r IN SELECT v FROM asked LOOP
			EXECUTE statement USING r.v;
			n := n + 1;
		END LOOP;
	END LOOP;
	RAISE WARNING '%: % ms of processor a query', what, round(((cpu() - t) / n)::numeric, 3);
END $$;
SET enable_indexscan = off;
CALL measure('by hand, exact', 'SELECT id, v <=> $1::vector FROM plain ORDER BY v <=> $1::vector LIMIT 10', 1);
RESET enable_indexscan;
CALL measure('dyn_search, exact', $$SELECT item->>'id', score FROM dyn_search('app', 'exact', $1, 10)$$, 1);
CALL measure('dyn_search, exact, a filter of half', $$SELECT item->>'id', score FROM dyn_search('app', 'exact', $1, 10, 'half = :h',
	vals => '{":h":{"N":"1"}}')$$, 1);
SET hnsw.ef_search = 200;
SET hnsw.iterative_scan = strict_order;
CALL measure('by hand, hnsw, ef_search 200', 'SELECT id, v <=> $1::vector FROM plain ORDER BY v <=> $1::vector LIMIT 10', 10);
RESET hnsw.ef_search;
RESET hnsw.iterative_scan;
CALL measure('dyn_search, hnsw', $$SELECT item->>'id', score FROM dyn_search('app', 'near', $1, 10)$$, 10);
CALL measure('dyn_search, hnsw, a filter of half', $$SELECT item->>'id', score FROM dyn_search('app', 'near', $1, 10, 'half = :h',
	vals => '{":h":{"N":"1"}}')$$, 1);
CALL measure('dyn_search, hnsw, a filter of one in eight', $$SELECT item->>'id', score FROM dyn_search('app', 'near', $1, 10, 'ten = :h',
	vals => '{":h":{"N":"1"}}')$$, 1);
CALL measure('dyn_search, hnsw, a filter of one in a hundred', $$SELECT item->>'id', score FROM dyn_search('app', 'near', $1, 10, 'one = :h',
	vals => '{":h":{"N":"1"}}')$$, 1);

CREATE FUNCTION nearest(index_name text, v real[], condition text) RETURNS text[] LANGUAGE sql AS
	$$SELECT array_agg(item->>'id') FROM dyn_search('app', index_name, v, 10, condition,
		vals => CASE WHEN condition IS NOT NULL THEN '{":h":{"N":"1"}}'::dyn_item END)$$;
CREATE FUNCTION recall(condition text) RETURNS TABLE(recall numeric, fewest int) LANGUAGE sql AS $$
	SELECT round(avg((SELECT count(*) FROM unnest(near) n WHERE n = ANY (exact)) / 10.0), 4), min(cardinality(near))
	FROM (SELECT nearest('near', v, condition) AS near, nearest('exact', v, condition) AS exact FROM asked) t $$;
SELECT c AS condition, r.* FROM (VALUES (NULL), ('half = :h'), ('ten = :h'), ('one = :h')) v(c), LATERAL recall(c) r;
SET enable_indexscan = off;
SELECT count(*) AS "differs from by hand" FROM asked, LATERAL (SELECT array_agg(b ORDER BY b) AS ids FROM by_hand(v) b) h,
	LATERAL (SELECT array_agg(item->>'id' ORDER BY item->>'id') AS ids FROM dyn_search('app', 'exact', v, 10)) d WHERE h.ids <> d.ids;
