\set QUIET on
\pset pager off
CREATE EXTENSION IF NOT EXISTS dynamo_table;

-- 10,000 items of some 300 bytes, and the table that a user would write by hand
SELECT dyn_create_table('counters', 'pk S', 'sk S') \g /dev/null
INSERT INTO counters (item) SELECT jsonb_build_object('pk', 'p' || i % 100, 'sk', 's' || i, 'pad', repeat('x', 220), 'status', 'open', 'n', 0)::dyn_item FROM generate_series(1, 10000) i;
CREATE TABLE by_hand (pk text COLLATE "C", sk text COLLATE "C", item jsonb NOT NULL, PRIMARY KEY (pk, sk)) WITH (fillfactor = 90);
INSERT INTO by_hand SELECT pk, sk, item::jsonb FROM counters;
VACUUM ANALYZE counters, by_hand;
PREPARE by_dyn(text, text) AS SELECT dyn_update('counters', jsonb_build_object('pk', $1, 'sk', $2), 'SET n = n + :one', vals => '{":one":{"N":"1"}}');
PREPARE by_sql(text, text) AS UPDATE by_hand SET item = jsonb_set(item, '{n}', to_jsonb((item->>'n')::numeric + 1)) WHERE pk = $1 AND sk = $2;

CREATE TABLE counter_results (dyn_us numeric, sql_us numeric);
CREATE FUNCTION timed_updates(statement text, count int) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	started timestamptz := clock_timestamp();
BEGIN
	FOR i IN 1 .. count LOOP
		EXECUTE format('EXECUTE %s(%L, %L)', statement, 'p' || i * 7 % 10000 % 100, 's' || i * 7 % 10000);
	END LOOP;
	RETURN extract(epoch FROM clock_timestamp() - started) * 1e6 / count;
END $$;
CREATE PROCEDURE measure_counters(rounds int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 0 .. rounds LOOP
		IF i > 0 THEN
			INSERT INTO counter_results SELECT timed_updates('by_dyn', 2000), timed_updates('by_sql', 2000);
		ELSE
			PERFORM timed_updates('by_dyn', 2000), timed_updates('by_sql', 2000);
		END IF;
		COMMIT;
	END LOOP;
END $$;
CALL measure_counters(:rounds);

\echo
SELECT round(percentile_cont(0.5) WITHIN GROUP (ORDER BY dyn_us)::numeric, 1) AS "dyn_update, us", round(percentile_cont(0.5) WITHIN GROUP (ORDER BY sql_us)::numeric, 1) AS "prepared UPDATE, us",
       round(percentile_cont(0.5) WITHIN GROUP (ORDER BY sql_us / dyn_us)::numeric, 2) AS "dyn_update is so many times as fast" FROM counter_results;
