\set QUIET on
\pset pager off
CREATE EXTENSION dynamo_table;
CREATE TABLE growth (items bigint, q1 bigint, q2 bigint, q3 bigint, q4 bigint, q5 bigint);

-- one table for each size; collections of ten items in the table and in the index, in random order
CREATE PROCEDURE grow(n bigint) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM dyn_create_table('growth.' || n, 'pk S', 'sk S', global_indexes => '{"GSI1": {"partition_key": "GSI1PK S", "sort_key": "GSI1SK S"},
		"Keys": {"partition_key": "GSI1PK S", "sort_key": "GSI1SK S", "projection": "KEYS_ONLY"}}');
	PERFORM setseed(0.5);
	EXECUTE format($f$INSERT INTO %I (item) SELECT jsonb_build_object('pk', 'p' || i / 10, 'sk', 's' || i %% 10, 'GSI1PK', 'g' || i %% (%s / 10), 'GSI1SK', 's'
		|| i / (%s / 10), 'pad', repeat('x', 200))::dyn_item
		FROM (SELECT i FROM generate_series(0, %s - 1) i ORDER BY random()) r$f$, 'growth.' || n, n, n, n);
	COMMIT;
END $$;

CREATE FUNCTION pages(n bigint, condition text, vals jsonb, index text DEFAULT NULL, max_items bigint DEFAULT NULL, start_key jsonb DEFAULT NULL)
	RETURNS bigint LANGUAGE sql AS
$$ SELECT pages_read FROM dyn_explain('growth.' || n, condition, vals => vals, index_name => index, max_items => max_items, start_key => start_key) $$;

SELECT format('CALL grow(%s)', (10 ^ e)::bigint), format('VACUUM ANALYZE "growth.%s"', (10 ^ e)::bigint),
	format($$INSERT INTO growth SELECT n, pages(n, 'pk = :p', '{":p":"p7"}'), pages(n, 'pk = :p AND sk < :s', '{":p":"p7",":s":"s5"}'),
		pages(n, 'GSI1PK = :p', '{":p":"g7"}', 'GSI1'), pages(n, 'GSI1PK = :p', '{":p":"g7"}', 'GSI1', 3, '{"GSI1PK":"g7","GSI1SK":"s4","pk":"p0","sk":"s0"}'),
		pages(n, 'GSI1PK = :p', '{":p":"g7"}', 'Keys') FROM (VALUES (%s::bigint)) v (n)$$, (10 ^ e)::bigint)
FROM generate_series(3, :exponent) e \gexec

\pset title 'Pages read'
SELECT items, q1 AS "collection of 10", q2 AS "range of 5", q3 AS "index: collection of 10", q4 AS "index: 3 after a position", q5 AS "index, keys only: 10"
	FROM growth ORDER BY items;
\pset title 'More pages at the largest size than at the smallest, the levels that its btrees have more'
CREATE EXTENSION pageinspect;
SELECT max(q1) - min(q1) AS "collection of 10", max(q2) - min(q2) AS "range of 5", max(q3) - min(q3) AS "index: collection of 10",
	max(q4) - min(q4) AS "index: 3 after a position", max(q5) - min(q5) AS "index, keys only: 10",
	(SELECT max(level) - min(level) FROM (SELECT (bt_metap(i.indexrelid::regclass::text)).level FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
		WHERE c.relname LIKE 'growth.%') l) AS levels FROM growth;
