\set QUIET on
\pset pager off
CREATE EXTENSION IF NOT EXISTS dynamo_table;

-- 10,000 items of some 300 bytes, and the table that a user would write by hand
SELECT dyn_create_table('counters', 'pk S', 'sk S') \g /dev/null
INSERT INTO counters (item) SELECT jsonb_build_object('pk', 'p' || i % 100, 'sk', 's' || i, 'pad', repeat('x', 220), 'status', 'open', 'n', 0)::dyn_item
	FROM generate_series(1, 10000) i;
CREATE TABLE by_hand (pk text COLLATE "C", sk text COLLATE "C", item jsonb NOT NULL, PRIMARY KEY (pk, sk)) WITH (fillfactor = 90);
INSERT INTO by_hand SELECT pk, sk, item::jsonb FROM counters;
VACUUM ANALYZE counters, by_hand;

CREATE TABLE counter_results (dyn_us numeric, sql_us numeric);
-- the parameters of a thousand calls, as a driver sends them
CREATE TABLE parameters AS SELECT pk, sk, format('{"pk":{"S":"%s"},"sk":{"S":"%s"}}', pk, sk) AS key FROM counters ORDER BY md5(sk) LIMIT 1000;
-- plpgsql prepares both statements once and runs them a thousand times
CREATE FUNCTION by_dyn() RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	started timestamptz := clock_timestamp();
	p parameters;
BEGIN
	FOR p IN SELECT * FROM parameters LOOP
		PERFORM dyn_update('counters', p.key::dyn_item, 'SET n = n + :one', vals => '{":one":{"N":"1"}}');
	END LOOP;
	RETURN extract(epoch FROM clock_timestamp() - started) * 1e3;
END $$;
CREATE FUNCTION by_sql() RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	started timestamptz := clock_timestamp();
	p parameters;
BEGIN
	FOR p IN SELECT * FROM parameters LOOP
		UPDATE by_hand SET item = jsonb_set(item, '{n}', to_jsonb((item->>'n')::numeric + 1)) WHERE pk = p.pk AND sk = p.sk;
	END LOOP;
	RETURN extract(epoch FROM clock_timestamp() - started) * 1e3;
END $$;
CREATE PROCEDURE measure_counters(rounds int) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM by_dyn(), by_sql();
	COMMIT;
	FOR i IN 1 .. rounds LOOP
		INSERT INTO counter_results SELECT by_dyn(), by_sql();
		COMMIT;
	END LOOP;
END $$;
CALL measure_counters(:rounds);

\echo
SELECT round(percentile_cont(0.5) WITHIN GROUP (ORDER BY dyn_us)::numeric, 1) AS "dyn_update, us",
	round(percentile_cont(0.5) WITHIN GROUP (ORDER BY sql_us)::numeric, 1) AS "prepared UPDATE, us",
       round(percentile_cont(0.5) WITHIN GROUP (ORDER BY sql_us / dyn_us)::numeric, 2) AS "dyn_update is so many times as fast" FROM counter_results;
SELECT sum((c.item->>'n')::numeric) = sum((h.item->>'n')::numeric) AS "the same" FROM counters c JOIN by_hand h USING (pk, sk);
