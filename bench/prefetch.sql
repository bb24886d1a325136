-- The tables of bench/prefetch, and what comes of them.  :collections of 100 items each, in random order, and as many collections of the index
-- GSI1, whose items are each in another collection of the table.
\set QUIET on
CREATE EXTENSION dynamo_table;
SELECT setseed(0.5) \g /dev/null

SELECT dyn_create_table('app', 'pk S', 'sk S', global_indexes => '{"GSI1": {"partition_key": "gsi1pk S", "sort_key": "gsi1sk S"},
	"GSI2": {"partition_key": "gsi2pk S", "sort_key": "gsi2sk S"}, "GSI3": {"partition_key": "gsi3pk S", "sort_key": "gsi3sk S"}}') \g /dev/null
CREATE TABLE expressions (pk text, sk text, data jsonb NOT NULL, PRIMARY KEY (pk, sk)) WITH (fillfactor = 90);
CREATE TABLE columns (pk text, sk text, data jsonb NOT NULL, gsi1pk text GENERATED ALWAYS AS (data->>'gsi1pk') STORED,
	gsi1sk text GENERATED ALWAYS AS (data->>'gsi1sk') STORED,
	gsi2pk text GENERATED ALWAYS AS (data->>'gsi2pk') STORED, gsi2sk text GENERATED ALWAYS AS (data->>'gsi2sk') STORED,
	gsi3pk text GENERATED ALWAYS AS (data->>'gsi3pk') STORED, gsi3sk text GENERATED ALWAYS AS (data->>'gsi3sk') STORED,
	PRIMARY KEY (pk, sk)) WITH (fillfactor = 90);
SELECT format('CREATE INDEX ON expressions ((data->>%1$L), (data->>%2$L)) WHERE data->>%1$L IS NOT NULL', p, s),
	format('CREATE INDEX ON columns (%1$I, %2$I) WHERE %1$I IS NOT NULL', p, s)
FROM (SELECT 'gsi' || n || 'pk' AS p, 'gsi' || n || 'sk' AS s FROM generate_series(1, 3) n) k \gexec

CREATE FUNCTION collection(c bigint) RETURNS text IMMUTABLE LANGUAGE sql AS $$ SELECT 'status#' || lpad(c::text, 6, '0') $$;
-- one of them by a hash, so that queries do not share pages more than by chance
CREATE FUNCTION some_collection(n bigint, collections bigint) RETURNS text IMMUTABLE LANGUAGE sql AS $$
	SELECT collection(abs(hashint8(n)::bigint) % collections) $$;
CREATE UNLOGGED TABLE source TABLESPACE pg_default AS
SELECT jsonb_build_object('pk', 'customer#' || lpad(c::text, 6, '0'), 'sk', 'order#' || lpad(i::text, 6, '0'), 'gsi1pk',
	collection((c + i * (i + 1) / 2) % :collections), 'gsi1sk', md5(format('%s %s', c, i)),
	'gsi2pk', 'product#' || i, 'gsi2sk', md5(format('%s %s b', c, i)), 'gsi3pk', md5(format('%s %s c', c, i)), 'gsi3sk', 'x', 'n', 0, 'status', 'open', 'note',
	repeat('x', 60)) AS item
FROM generate_series(0, :collections - 1) c, generate_series(0, 99) i ORDER BY random();
INSERT INTO app (item) SELECT item::dyn_item FROM source;
INSERT INTO expressions SELECT item->>'pk', item->>'sk', item FROM source;
INSERT INTO columns SELECT item->>'pk', item->>'sk', item FROM source;
DROP TABLE source;
VACUUM ANALYZE;
CHECKPOINT;

SET default_tablespace = '';
CREATE TABLE cold (variant text, n serial, ms float8);
CREATE TABLE pages (variant text, queries int, table_pages bigint, index_pages bigint);
-- Queries of :collections that are drawn for the round.
CREATE PROCEDURE run_cold(variant text, query text, round int, queries int, collections int) LANGUAGE plpgsql AS $$
DECLARE
	t0 timestamptz;
	ms float8[];
BEGIN
	FOR i IN 1..queries LOOP
		t0 := clock_timestamp();
		EXECUTE query USING some_collection(round * 1000 + i, collections);
		ms := ms || extract(epoch FROM clock_timestamp() - t0)::float8 * 1000;
	END LOOP;
	INSERT INTO cold (variant, ms) SELECT variant, unnest(ms);
END $$;
CREATE VIEW cold_medians AS
SELECT variant, min(n) AS n, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) AS ms FROM cold GROUP BY variant;
CREATE VIEW cold_pages AS
SELECT variant, round(sum(table_pages) / sum(queries), 1) AS table_pages, round(sum(index_pages) / sum(queries), 1) AS index_pages FROM pages GROUP BY variant;
CREATE VIEW cold_results AS
SELECT variant AS "cold query of 100 items", table_pages AS "pages of the table", index_pages AS "of the index" FROM cold_medians JOIN cold_pages
	USING (variant) ORDER BY n;
CREATE VIEW timed_cold_results AS
SELECT m.variant AS "cold query of 100 items", table_pages AS "pages of the table", index_pages AS "of the index", round(m.ms::numeric, 1) AS "ms",
	round((m.ms / o.ms)::numeric, 2) AS "times the first one's"
FROM cold_medians m JOIN cold_pages USING (variant), (SELECT ms FROM cold_medians ORDER BY n LIMIT 1) o ORDER BY m.n;

CREATE TABLE warm (kind text, prefetch int, turn int, us float8);
CREATE FUNCTION cpu() RETURNS numeric LANGUAGE sql VOLATILE AS $$ SELECT split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::numeric $$;
CREATE PROCEDURE warm(rounds int, collections int) LANGUAGE plpgsql AS $$
DECLARE
	call record;
	depth int;
	t0 numeric;
	condition jsonb[] := ARRAY(SELECT jsonb_build_object(':p', some_collection(i, collections)) FROM generate_series(1, 100) i);
	vals jsonb;
BEGIN
	FOR turn IN 0..4 * rounds LOOP
		FOR call IN SELECT * FROM (VALUES ('the items', NULL), ('their number', 'COUNT')) c (kind, mode) LOOP
			FOREACH depth IN ARRAY CASE WHEN turn % 2 = 0 THEN ARRAY[0, 16] ELSE ARRAY[16, 0] END LOOP
				PERFORM set_config('dynamo_table.prefetch', depth::text, false);
				t0 := cpu();
				FOR i IN 1..10 LOOP
					FOREACH vals IN ARRAY condition LOOP
						PERFORM FROM dyn_query_page('app', 'gsi1pk = :p', vals => vals, index_name => 'GSI1', select_mode => call.mode);
					END LOOP;
				END LOOP;
				INSERT INTO warm SELECT call.kind, depth, turn, (cpu() - t0) / 1000e3 WHERE turn > 0;
			END LOOP;
		END LOOP;
	END LOOP;
END $$;
-- averages: the kernel counts a process's CPU in steps of some milliseconds
CREATE VIEW warm_results AS
SELECT kind AS "warm query of 100 items, for", round(avg(us) FILTER (WHERE prefetch = 16)::numeric, 1) AS "server CPU, µs",
	round(avg(us) FILTER (WHERE prefetch = 0)::numeric, 1) AS "with prefetch = 0",
	round((sum(us) FILTER (WHERE prefetch = 16) / sum(us) FILTER (WHERE prefetch = 0))::numeric, 3) AS "ratio"
FROM warm GROUP BY kind ORDER BY kind;
