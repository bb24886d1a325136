-- The tables of bench/operations, and the parameters of its calls.  :collections of 100 items each, in random order.
-- Additions to them are in operations_additions.sql.
\set QUIET on
CREATE EXTENSION dynamo_table;
SELECT setseed(0.5) \g /dev/null

CREATE FUNCTION pk(c int) RETURNS text IMMUTABLE LANGUAGE sql AS $$ SELECT 'customer#' || lpad(c::text, 6, '0') $$;
CREATE FUNCTION sk(i int) RETURNS text IMMUTABLE LANGUAGE sql AS $$ SELECT 'order#' || lpad(i::text, 6, '0') $$;
-- a key of an index, distinct for each item
CREATE FUNCTION gsi(c int, i int, n int) RETURNS text IMMUTABLE LANGUAGE sql AS $$ SELECT substr(md5(format('%s %s %s', c, i, n)), 1, 16) $$;
CREATE FUNCTION plain(c int, i int, note text) RETURNS jsonb IMMUTABLE LANGUAGE sql AS $$
	SELECT jsonb_build_object('pk', pk(c), 'sk', sk(i), 'gsi1pk', 'status#' || c % 100, 'gsi1sk', gsi(c, i, 1), 'gsi2pk', 'product#' || i, 'gsi2sk', gsi(c, i, 2),
		'gsi3pk', gsi(c, i, 3), 'gsi3sk', gsi(c, i, 4), 'n', 0, 'status', 'open', 'note', note, 'address', 'Main Street ' || i || ', Springfield') $$;

-- the same with what an item of a declared entity has, for tables with an addition
CREATE FUNCTION declared(c int, i int, item jsonb) RETURNS jsonb IMMUTABLE LANGUAGE sql AS $$
	SELECT item || jsonb_build_object('customer', c, 'order', i) $$;

-- more: what the second index has beside its keys
CREATE FUNCTION create_ours(name text, more jsonb DEFAULT '{}') RETURNS void LANGUAGE sql AS $$
	SELECT dyn_create_table(name, 'pk S', 'sk S', global_indexes => jsonb_build_object('GSI1', '{"partition_key": "gsi1pk S", "sort_key": "gsi1sk S"}'::jsonb,
		'GSI2', '{"partition_key": "gsi2pk S", "sort_key": "gsi2sk S"}'::jsonb || more, 'GSI3', '{"partition_key": "gsi3pk S", "sort_key": "gsi3sk S"}'::jsonb)) $$;
SELECT create_ours('app') \g /dev/null
-- the same with a covering index; one that is not asked for stays empty
CREATE TABLE coverings (name text, wanted boolean, definition jsonb);
INSERT INTO coverings VALUES ('app_all', :all, '{"covering": true}'),
	('app_include', :include, '{"covering": true, "projection": "INCLUDE", "non_key_attributes": ["address", "status"]}');
SET client_min_messages = warning;
SELECT create_ours(name, definition) FROM coverings \g /dev/null
RESET client_min_messages;

-- by hand, the indexes over expressions
CREATE FUNCTION create_expressions(name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE %I (pk text, sk text, data jsonb NOT NULL, PRIMARY KEY (pk, sk)) WITH (fillfactor = 90)', name);
	FOR n IN 1..3 LOOP
		EXECUTE format('CREATE INDEX ON %1$I ((data->>%2$L), (data->>%3$L)) WHERE data->>%2$L IS NOT NULL', name, format('gsi%spk', n), format('gsi%ssk', n));
	END LOOP;
END $$;
SELECT create_expressions('expressions') \g /dev/null
-- by hand, the indexes over generated columns
CREATE TABLE columns (pk text, sk text, data jsonb NOT NULL, gsi1pk text GENERATED ALWAYS AS (data->>'gsi1pk') STORED,
	gsi1sk text GENERATED ALWAYS AS (data->>'gsi1sk') STORED,
	gsi2pk text GENERATED ALWAYS AS (data->>'gsi2pk') STORED, gsi2sk text GENERATED ALWAYS AS (data->>'gsi2sk') STORED,
	gsi3pk text GENERATED ALWAYS AS (data->>'gsi3pk') STORED, gsi3sk text GENERATED ALWAYS AS (data->>'gsi3sk') STORED,
	PRIMARY KEY (pk, sk)) WITH (fillfactor = 90);
-- a server's tables: each index is a copy of the items
CREATE TABLE copies (pk text, sk text, item_data jsonb NOT NULL, PRIMARY KEY (pk, sk)) WITH (fillfactor = 90);
SELECT format('CREATE INDEX ON columns (%s, %s) WHERE %1$s IS NOT NULL', p, s),
	format('CREATE TABLE copies_%s (gsi_pk text, gsi_sk text, pk text, sk text, item_data jsonb NOT NULL, PRIMARY KEY (gsi_pk, gsi_sk, pk,
		sk)) WITH (fillfactor = 90)', n)
FROM (SELECT n, 'gsi' || n || 'pk' AS p, 'gsi' || n || 'sk' AS s FROM generate_series(1, 3) n) k \gexec

CREATE UNLOGGED TABLE source AS SELECT plain(c, i, repeat('x', 60)) AS item FROM generate_series(0, :collections - 1) c, generate_series(0, 99) i
	ORDER BY random();
INSERT INTO app (item) SELECT item::dyn_item FROM source;
SELECT format('INSERT INTO %I (item) SELECT item::dyn_item FROM source', name) FROM coverings WHERE wanted \gexec
INSERT INTO expressions SELECT item->>'pk', item->>'sk', item FROM source;
INSERT INTO columns SELECT item->>'pk', item->>'sk', item FROM source;
INSERT INTO copies SELECT item->>'pk', item->>'sk', item FROM source;
SELECT format('INSERT INTO copies_%s SELECT item->>%L, item->>%L, item->>''pk'', item->>''sk'', item FROM source', n, 'gsi' || n || 'pk', 'gsi' || n || 'sk')
	FROM generate_series(1, 3) n \gexec
DROP TABLE source;
VACUUM ANALYZE;
CHECKPOINT;

-- The parameters of calls, as a driver sends them: of five calls in a row, so that fetching them costs little.
CREATE TABLE calls (kind text, id int, k int, pk text, sk text, key text, item text, json text, collection text, product text, moved text, moving text,
	p1 text, s1 text, p2 text, s2 text, p3 text, s3 text);
CREATE VIEW sets AS SELECT attname || k AS name, format('max(%s) FILTER (WHERE k = %s)', attname, k) AS value
	FROM pg_attribute, generate_series(0, 4) k WHERE attrelid = 'calls'::regclass AND attnum > 3;
SELECT format('CREATE UNLOGGED TABLE parameters (kind text, id int, %s, PRIMARY KEY (kind, id)) WITH (toast_tuple_target = 8160)',
	string_agg(name || ' text', ', ' ORDER BY name)),
	format('ALTER TABLE parameters %s', string_agg(format('ALTER %s SET STORAGE EXTERNAL', name), ', ')) FROM sets \gexec

-- One round's calls of some kinds.  known: items that are there, twice as many as of the others; moved: items
-- whose key of an index changes; fresh: items to put and to delete; declared and declared fresh: the same for
-- tables with an addition; batch: as fresh, 25 for each call.
CREATE PROCEDURE draw_calls(round int, collections int, n int, batches int, kinds text[]) LANGUAGE plpgsql AS $$
BEGIN
	TRUNCATE calls, parameters;
	INSERT INTO calls
	WITH keys AS MATERIALIZED (
		SELECT kind, c, i, substr(md5(format('%s %s %s moved', c, i, round)), 1, 16) AS moved
		FROM (SELECT kind, (random() * (collections - 1))::int AS c, (random() * 99)::int AS i FROM (VALUES ('known', 2 * n), ('declared', n)) k (kind, n),
			generate_series(1, k.n)
			UNION ALL SELECT 'moved', collections + c, i FROM (SELECT c, i FROM generate_series(0, collections - 1) c, generate_series(0, 99) i ORDER BY random()
				LIMIT n) o
			UNION ALL SELECT k.kind, c, 1000 * (round + 1) + i FROM (VALUES ('fresh'), ('declared fresh')) k (kind),
				LATERAL (SELECT c, i FROM generate_series(0, collections - 1) c, generate_series(0, 99) i WHERE k.kind <> '' ORDER BY random() LIMIT n) f
			UNION ALL SELECT 'batch', c, 500000 + 1000 * (round + 1) + i
			FROM (SELECT c, i FROM generate_series(0, collections - 1) c, generate_series(0, 999) i ORDER BY random() LIMIT 25 * batches) b) d
		WHERE kind = ANY (kinds)),
	items AS MATERIALIZED (
		SELECT kind, c, i, moved, row_number() OVER (PARTITION BY kind) - 1 AS number,
			CASE WHEN kind LIKE 'declared%' THEN declared(c, i, item) WHEN kind = 'moved' THEN item || jsonb_build_object('gsi1sk', moved) ELSE item END AS item
		FROM keys, LATERAL (SELECT plain(c, i, substr(repeat(md5(format('%s %s', i, round)), 2), 1, 60)) AS item) p)
	SELECT kind, number / 5 + 1, number % 5, pk(c), sk(i), format('{"pk":{"S":"%s"},"sk":{"S":"%s"}}', pk(c), sk(i)), item::dyn_item::text, item::text,
		format('{":pk":{"S":"%s"}}', pk(c)), format('{":pk":{"S":"%s"}}', item->>'gsi2pk'), moved, format('{":moved":{"S":"%s"}}', moved),
		item->>'gsi1pk', item->>'gsi1sk', item->>'gsi2pk', item->>'gsi2sk', item->>'gsi3pk', item->>'gsi3sk' FROM items WHERE kind <> 'batch'
	UNION ALL
	SELECT kind, number / 25 / 5 + 1, number / 25 % 5, array_agg(pk(c))::text, array_agg(sk(i))::text,
		array_agg(format('{"pk":{"S":"%s"},"sk":{"S":"%s"}}', pk(c), sk(i)))::text,
		array_agg(item::dyn_item::text)::text, array_agg(item::text)::text, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM items
			WHERE kind = 'batch' GROUP BY kind, number / 25;
	EXECUTE (SELECT format('INSERT INTO parameters SELECT kind, id, %s FROM calls GROUP BY kind, id', string_agg(value, ', ' ORDER BY name)) FROM sets);
END $$;

-- What the sessions of pgbench write down at the beginning and the end of what counts, and what came of it.
CREATE TABLE marks (round int, operation text, variant text, part text, calls int, at timestamptz, cpu_ns bigint);
CREATE VIEW parts AS
SELECT round, operation, variant, part, extract(epoch FROM max(at) - min(at)) * 1e6 / min(calls) AS us, (max(cpu_ns) - min(cpu_ns)) / 1e3 / min(calls) AS cpu_us
FROM marks WHERE round > 0 GROUP BY round, operation, variant, part;
CREATE VIEW slices AS
SELECT round, operation, variant, c.us - f.us AS us, c.cpu_us - f.cpu_us AS cpu_us
FROM parts c JOIN parts f USING (round, operation, variant) WHERE c.part = 'calls' AND f.part = 'fetching';

-- against: the operation that is the same on other layouts
CREATE TABLE operations (operation text, against text, n serial);
CREATE TABLE variants (variant text, n serial);
INSERT INTO variants (variant) VALUES ('indexes over expressions'), ('indexes over columns'), ('copies'), ('plain indexes');
CREATE FUNCTION median_of(numeric[]) RETURNS numeric IMMUTABLE LANGUAGE sql AS $$ SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY v)::numeric
	FROM unnest($1) v $$;
CREATE VIEW medians AS
SELECT o.n AS operation_n, o.operation, v.n AS variant_n, v.variant, 1e6 / median_of(array_agg(ours.us)) AS ours_tps, 1e6 / median_of(array_agg(s.us)) AS tps,
	median_of(array_agg(s.us / ours.us)) AS tps_ratio,
	median_of(array_agg(ours.cpu_us)) AS ours_cpu, median_of(array_agg(s.cpu_us)) AS cpu, median_of(array_agg(s.cpu_us / ours.cpu_us)) AS cpu_ratio
FROM slices ours JOIN operations o USING (operation) JOIN slices s ON s.round = ours.round AND s.operation = o.against
	JOIN variants v ON v.variant = CASE WHEN s.variant = 'ours' AND o.against <> o.operation THEN 'plain indexes' ELSE s.variant END
WHERE ours.variant = 'ours' GROUP BY o.n, o.operation, v.n, v.variant;
CREATE VIEW results AS
SELECT operation AS "call", variant AS "against", round(ours_tps) AS "calls a second", round(tps) AS "theirs", round(tps_ratio, 2) AS "ratio",
	round(ours_cpu, 1) AS "server CPU, µs", round(cpu, 1) AS "of theirs", round(cpu_ratio, 2) AS "ratio by CPU"
FROM medians ORDER BY operation_n, variant_n;

-- What valgrind has counted of a call: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw.
CREATE TABLE processes (pid int);
CREATE TABLE counted (operation text, variant text, part text, event int, n numeric);
CREATE VIEW counts AS
SELECT operation, variant, sum(n) FILTER (WHERE event = 1) AS instructions, sum(n) FILTER (WHERE event IN (4, 5, 6)) AS small,
	sum(n) FILTER (WHERE event IN (7, 8, 9)) AS large
FROM (SELECT operation, variant, event, CASE part WHEN 'calls' THEN n ELSE -n END AS n FROM counted) c GROUP BY operation, variant;
CREATE VIEW instructions AS
SELECT o.operation AS "call", v.variant AS "against", round(ours.instructions) AS "instructions", round(c.instructions) AS "of theirs",
	round(c.instructions / ours.instructions, 2) AS "ratio", round(ours.small) AS "misses, 32 kB", round(c.small) AS "of theirs ",
	round(ours.large) AS "misses, 1 MB", round(c.large) AS "of theirs  "
FROM counts ours JOIN operations o USING (operation) JOIN counts c ON c.operation = o.against
	JOIN variants v ON v.variant = CASE WHEN c.variant = 'ours' AND o.against <> o.operation THEN 'plain indexes' ELSE c.variant END
WHERE ours.variant = 'ours' ORDER BY o.n, v.n;

-- What our tables did without: of updates, new entries of indexes, and of queries of the second index, rows.
CREATE TABLE savings (operation text, name regclass, updates bigint, hot bigint, items bigint, skipped bigint);
CREATE PROCEDURE begin_savings(operation text, name regclass) LANGUAGE plpgsql AS $$
BEGIN
	IF operation LIKE 'dyn_query%' THEN
		INSERT INTO savings SELECT operation, name, NULL, NULL, sum(items_read), sum(coalesce(rows_skipped, 0))
		FROM generate_series(0, 95, 5) p, dyn_explain(name::text, 'gsi2pk = :p', 'GSI2', vals => jsonb_build_object(':p', 'product#' || p), max_items => 100);
	END IF;
	PERFORM pg_stat_reset_single_table_counters(name);
END $$;
CREATE PROCEDURE note_savings(operation text, name regclass) LANGUAGE sql AS $$
	INSERT INTO savings SELECT operation, name, n_tup_upd, n_tup_hot_upd, NULL, NULL FROM pg_stat_user_tables WHERE relid = name AND n_tup_upd > 0 $$;
CREATE VIEW saving_results AS
SELECT s.operation AS "call", round(100.0 * sum(hot) / sum(updates), 1) AS "HOT updates, %",
	round(100.0 * sum(skipped) / sum(items), 1) AS "items from the index alone, %"
FROM savings s JOIN operations o USING (operation) GROUP BY o.n, s.operation HAVING sum(updates) > 0 OR s.operation LIKE '%of an index%' ORDER BY o.n;

-- Blocks that a query of one collection reads from outside of shared buffers.
CREATE TABLE cold (query text, variant text, table_blocks bigint, index_blocks bigint, toast_blocks bigint);
CREATE VIEW cold_results AS
SELECT query AS "cold", variant AS "layout", round(avg(table_blocks), 1) AS "table", round(avg(index_blocks), 1) AS "index",
	round(avg(toast_blocks), 1) AS "TOAST",
	round((SELECT avg(table_blocks + index_blocks + toast_blocks) FROM cold ours WHERE ours.query = c.query
		AND ours.variant = 'ours') / avg(table_blocks + index_blocks + toast_blocks), 3) AS "ours / this"
FROM cold c GROUP BY query, variant ORDER BY query, variant LIKE 'ours%' DESC, variant;

-- How many items two tables do not have in common; those that were written to are among the first.
CREATE FUNCTION differences(ours regclass, other regclass) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	items name := attname FROM pg_attribute WHERE attrelid = other AND attname IN ('item', 'data');
	n bigint;
BEGIN
	EXECUTE format('SELECT count(*) FROM (SELECT * FROM %s WHERE pk < pk(50)) a FULL JOIN (SELECT * FROM %s WHERE pk < pk(50)) b USING (pk, sk)
		WHERE a.item::jsonb IS DISTINCT FROM b.%I::jsonb', ours, other, items) INTO n;
	RETURN n;
END $$;
