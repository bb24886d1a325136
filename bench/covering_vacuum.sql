-- The tables of bench/covering_vacuum, and what was sampled.  The counter is projected by no index, so its updates are HOT.
\set QUIET on
CREATE EXTENSION dynamo_table;
SELECT setseed(0.5) \g /dev/null
SELECT dyn_create_table(name, 'pk S', 'sk S',
	global_indexes => '{"GSI1": {"partition_key": "product S", "sort_key": "key S", "projection": "INCLUDE", "non_key_attributes": ["status"], "covering": true}}')
FROM unnest(ARRAY['small', 'default']) name \g /dev/null
ALTER TABLE "default" RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_insert_scale_factor);
CREATE TEMP TABLE source AS
SELECT jsonb_build_object('pk', 'customer#' || n % 400, 'sk', 'order#' || n / 400, 'product', 'product#' || n / 100, 'key', md5(n::text), 'n', 0, 'status',
	'open', 'note', repeat('x', 250))::dyn_item AS item
FROM generate_series(0, 39999) n ORDER BY random();
INSERT INTO small (item) SELECT item FROM source;
INSERT INTO "default" (item) SELECT item FROM source;
DROP TABLE source;
VACUUM ANALYZE;

CREATE TABLE samples (name text, half_second int, share numeric);
CREATE PROCEDURE sample(samples int) LANGUAGE plpgsql AS $$
DECLARE
	begun timestamptz := clock_timestamp();
BEGIN
	FOR i IN 1..samples LOOP
		INSERT INTO samples SELECT name, i, 100.0 * sum(rows_skipped) / sum(items_read)
		FROM unnest(ARRAY['small', 'default']) name, generate_series(1, 20), LATERAL (SELECT 'product#' || floor(random() * 400) AS product OFFSET 0) p,
			dyn_explain(name, 'product = :p', 'GSI1', vals => jsonb_build_object(':p', product)) GROUP BY name;
		COMMIT;
		PERFORM pg_sleep(greatest(0, extract(epoch FROM begun + i * interval '0.5 s' - clock_timestamp())));
	END LOOP;
END $$;
CREATE VIEW results AS
SELECT CASE s.name WHEN 'small' THEN '0.01' ELSE '0.2' END AS "scale factors", round(avg(share)) AS "from the index alone, %",
	round(min(share)) AS "at least", round(max(share)) AS "at most",
	min(n_tup_upd) AS "updates", round(100.0 * min(n_tup_hot_upd) / min(n_tup_upd)) AS "HOT, %", min(autovacuum_count) AS "vacuums"
FROM samples s JOIN pg_stat_user_tables t ON t.relname = s.name WHERE half_second > 20 GROUP BY s.name ORDER BY 1;
