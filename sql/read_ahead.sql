-- Rows that a range reads ahead, page by page: what comes, in which order, and how many pages are visited.
\set SHOW_CONTEXT never
SET dynamo_table.direct_store = on;
SELECT dyn_create_table('app', 'pk S', 'sk N', global_indexes => '{"GSI1":{"partition_key":"g S","sort_key":"h N"}}');
-- 400 items of some 500 bytes, of which neighbours by key are on different pages
SELECT count(dyn_put('app', jsonb_build_object('pk', 'a', 'sk', n * 37 % 400, 'g', 'g' || n % 2, 'h', -n, 'even', n % 2 = 0, 'body',
	repeat(md5(n::text), 13)))) FROM generate_series(1, 400) n;
SELECT count(dyn_put('app', jsonb_build_object('pk', 'b', 'sk', n))) FROM generate_series(1, 5) n;
-- versions of a row, on its page and on others
SELECT count(dyn_update('app', jsonb_build_object('pk', 'a', 'sk', n), 'SET x = :x', vals => jsonb_build_object(':x', n))) FROM generate_series(0, 399, 7) n;
SELECT count(dyn_update('app', jsonb_build_object('pk', 'a', 'sk', n), 'SET body = :x', vals => jsonb_build_object(':x', repeat('x', 3000))))
	FROM generate_series(0, 399, 50) n;
DELETE FROM app WHERE pk = 'a' AND sk % 11 = 3;

-- what comes, by both stores
CREATE FUNCTION reads(setting text, depth int DEFAULT 16) RETURNS TABLE (what text, n bigint, md5 text) LANGUAGE plpgsql AS $$
DECLARE
	most int;
	ascending bool;
BEGIN
	PERFORM set_config('dynamo_table.direct_store', setting, true), set_config('dynamo_table.prefetch', depth::text, true);
	FOREACH ascending IN ARRAY ARRAY[true, false] LOOP
		FOREACH most IN ARRAY ARRAY[NULL, 1, 2, 8, 9, 127, 128, 129, 300, 1000] LOOP
			RETURN QUERY SELECT format('a, forward %s, max_items %s', ascending, most), count(*), md5(string_agg(i::text, '' ORDER BY o))
				FROM dyn_query('app', 'pk = :p', vals => '{":p":{"S":"a"}}', max_items => most, forward => ascending) WITH ORDINALITY q (i, o);
			RETURN QUERY SELECT format('a, filtered, forward %s, max_items %s', ascending, most), count(*), md5(string_agg(i::text, '' ORDER BY o))
				FROM dyn_query('app', 'pk = :p AND sk > :s', filter => 'even = :e', vals => '{":p":{"S":"a"},":s":{"N":"90"},":e":{"BOOL":true}}', max_items => most,
					forward => ascending) WITH ORDINALITY q (i, o);
			RETURN QUERY SELECT format('g1, forward %s, page_size %s', ascending, most), item_count, md5(items::text || coalesce(last_evaluated_key::text, ''))
				FROM dyn_query_page('app', 'g = :g', index_name => 'GSI1', vals => '{":g":{"S":"g1"}}', page_size => most, forward => ascending);
		END LOOP;
	END LOOP;
	RETURN QUERY SELECT 'scan', count(*), md5(string_agg(i::text, '' ORDER BY o)) FROM dyn_scan('app') WITH ORDINALITY q (i, o);
	RETURN QUERY SELECT 'segment ' || s, count(*), md5(string_agg(i::text, '' ORDER BY o)) FROM generate_series(0, 2) s,
		dyn_scan('app', segment => s, total_segments => 3) WITH ORDINALITY q (i, o) GROUP BY s;
END $$;
SELECT count(*) AS reads, count(*) FILTER (WHERE a IS DISTINCT FROM b) AS different, sum(a.n) AS items FROM reads('on') a FULL JOIN reads('off') b USING (what);
-- however many pages are asked for
SELECT depth, different FROM unnest(ARRAY[0, 1, 5, 1000]) depth,
	LATERAL (SELECT count(*) FILTER (WHERE a IS DISTINCT FROM b) AS different FROM reads('on', depth) a FULL JOIN reads('off') b USING (what)) d;
SET dynamo_table.prefetch = 1001;
SET dynamo_table.prefetch = -1;
SHOW dynamo_table.prefetch;
-- in a serializable transaction the rows that are taken are all that is read
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT i->>'sk' AS sk FROM dyn_query('app', 'pk = :p', vals => '{":p":{"S":"a"}}', max_items => 2) i;
SELECT count(DISTINCT (page, tuple)) AS rows_read FROM pg_locks WHERE mode = 'SIReadLock' AND relation = 'app'::regclass AND locktype = 'tuple';
COMMIT;

-- of covering indexes, rows are read whose page may not be visible to all or whose entry carries nothing, and others are not
SELECT dyn_create_table('covered', 'pk S', 'sk N', global_indexes => '{"ALL":{"partition_key":"g S","sort_key":"h N","covering": true},
	"Some":{"partition_key":"g S","sort_key":"sk N","projection":"INCLUDE","non_key_attributes":["body","x"],"covering":true},
	"Keys":{"partition_key":"g S","sort_key":"pk S","projection":"KEYS_ONLY"}}');
INSERT INTO covered (item) SELECT item FROM app WHERE pk = 'a' ORDER BY sk;
UPDATE covered SET item = (item::jsonb || jsonb_build_object('body', (SELECT string_agg(md5(format('%s %s', sk, i)), '')
	FROM generate_series(1, 60) i)))::dyn_item WHERE sk % 13 = 0;
-- pages become visible to all once no other session may need what was before
DO $$
DECLARE
	mine xid := pg_current_xact_id()::xid;
BEGIN
	FOR i IN 1 .. 6000 LOOP
		EXIT WHEN NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
			AND greatest(age(backend_xmin), age(backend_xid)) > age(mine));
		PERFORM pg_sleep(0.01), pg_stat_clear_snapshot();
	END LOOP;
END $$;
VACUUM (DISABLE_PAGE_SKIPPING) covered;
SELECT count(dyn_update('covered', jsonb_build_object('pk', 'a', 'sk', n), 'SET x = :x', vals => jsonb_build_object(':x', n)))
	FROM generate_series(0, 399, 100) n;
DELETE FROM covered WHERE sk IN (60, 61, 260);
CREATE FUNCTION covered_reads(setting text) RETURNS TABLE (what text, n bigint, md5 text) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('dynamo_table.direct_store', setting, true);
	RETURN QUERY SELECT format('%s, %s, forward %s, max_items %s, %s', p, name, ascending, most, mode), count(*), md5(string_agg(i::text, '' ORDER BY o))
		FROM unnest(ARRAY['g0', 'g1']) p, unnest(ARRAY['ALL', 'Some', 'Keys']) name, unnest(ARRAY[true, false]) ascending, unnest(ARRAY[NULL, 1, 7, 128, 150]) most,
			unnest(ARRAY[NULL, 'h, x']) mode,
			dyn_query('covered', 'g = :g', name, vals => jsonb_build_object(':g', p), max_items => most, forward => ascending, projection => CASE WHEN name = 'ALL'
				THEN mode WHEN mode IS NOT NULL THEN 'sk, pk' END) WITH ORDINALITY q (i, o)
		GROUP BY 1;
	RETURN QUERY SELECT 'scan ' || name, count(*), md5(string_agg(i::text, '' ORDER BY o)) FROM unnest(ARRAY['ALL', 'Some', 'Keys']) name,
		dyn_scan('covered', name) WITH ORDINALITY q (i, o) GROUP BY 1;
END $$;
SELECT count(*) AS reads, count(*) FILTER (WHERE a IS DISTINCT FROM b) AS different, sum(a.n) AS items FROM covered_reads('on') a FULL
	JOIN covered_reads('off') b USING (what);
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) AS reads, count(*) FILTER (WHERE a IS DISTINCT FROM b) AS different FROM covered_reads('on') a FULL JOIN covered_reads('off') b USING (what);
COMMIT;
SELECT name, items_read, rows_skipped BETWEEN 100 AND 190 AS some FROM unnest(ARRAY['ALL', 'Some', 'Keys']) name,
	dyn_explain('covered', 'g = :g', name, vals => '{":g":"g1"}'::jsonb);
DROP TABLE covered;
DROP FUNCTION covered_reads;

-- each page is visited a few times for all of its rows, and what is not wanted is not read
CREATE FUNCTION pages(most bigint, filter text DEFAULT NULL) RETURNS bigint LANGUAGE sql AS $$
	SELECT pages_read FROM dyn_explain('app', 'pk = :p', vals => '{":p":{"S":"a"}}', filter => filter, max_items => most)
$$;
SELECT (SELECT items_read FROM dyn_explain('app', 'pk = :p', vals => '{":p":{"S":"a"}}')) AS items, pages(NULL) BETWEEN 30 AND 200 AS all_items,
	pages(NULL, 'attribute_exists(body)') BETWEEN 30 AND 200 AS filtered, pages(1) <= 4 AS first, pages(5) <= 8 AS first_five;

-- entries of rows that are gone are marked, so later reads do not come to their pages
DELETE FROM app WHERE pk = 'a' AND sk < 398;
DO $$
BEGIN
	FOR i IN 1..600 LOOP
		EXIT WHEN pages(NULL) < 15;
		PERFORM pg_sleep(0.1);
	END LOOP;
END $$;
SELECT pages(NULL) < 15 AS marked;
SELECT i->>'sk' AS sk FROM dyn_query('app', 'pk = :p', vals => '{":p":{"S":"a"}}') i;

DROP TABLE app;
DROP FUNCTION reads, pages;
