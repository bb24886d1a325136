\set QUIET on
CREATE EXTENSION dynamo_table;
SELECT setseed(0.5) \g /dev/null
SELECT dyn_create_table('app', 'pk S', 'sk S') \g /dev/null
INSERT INTO app (item) SELECT jsonb_build_object('pk', format('customer#%s', c), 'sk', format('order#%s', lpad(i::text, 6, '0')), 'n', i, 'status', 'open',
		'note', repeat(md5(format('%s %s', c, i)), 3), 'address', format('Main Street %s, Springfield', i), 'lines', jsonb_build_array(i, i + 1, 'express'))::dyn_item
	FROM generate_series(1, 400) c, generate_series(1, 100) i ORDER BY random();
VACUUM ANALYZE app;

-- the calls: two requests that do the same
CREATE TABLE calls (call text, n int, id int, operation text, request text, statement text, PRIMARY KEY (n, id));
CREATE FUNCTION statement(text text, VARIADIC parameters text[]) RETURNS text LANGUAGE sql AS $$
	SELECT json_build_object('Statement', text, 'Parameters', (SELECT json_agg(json_build_object('S', p)) FROM unnest(parameters) p))::text $$;
CREATE FUNCTION statement(text text) RETURNS text LANGUAGE sql AS $$ SELECT json_build_object('Statement', text)::text $$;

CREATE TABLE gets AS SELECT row_number() OVER () AS id, pk, sk FROM (SELECT pk, sk FROM app ORDER BY random() LIMIT 1000) k;
CREATE TABLE collections AS SELECT row_number() OVER () AS id, pk FROM (SELECT DISTINCT pk FROM app) k ORDER BY random() LIMIT 50;
CREATE FUNCTION get_item(pk text, sk text) RETURNS text LANGUAGE sql AS $$
	SELECT json_build_object('TableName', 'app', 'Key', json_build_object('pk', json_build_object('S', pk), 'sk', json_build_object('S', sk)))::text $$;
CREATE FUNCTION query(pk text) RETURNS text LANGUAGE sql AS $$
	SELECT json_build_object('TableName', 'app', 'KeyConditionExpression', 'pk = :pk', 'ExpressionAttributeValues',
		json_build_object(':pk', json_build_object('S', pk)))::text $$;
INSERT INTO calls
	SELECT 'a get, keys as parameters', 1, id, 'GetItem', get_item(pk, sk), statement('SELECT * FROM "app" WHERE pk = ? AND sk = ?', pk, sk) FROM gets
	UNION ALL SELECT 'a get, keys as literals', 2, id, 'GetItem', get_item(pk, sk), statement(format('SELECT * FROM "app" WHERE pk = %L AND sk = %L', pk, sk))
		FROM gets
	UNION ALL SELECT 'a query of 100 items, key as parameter', 3, id, 'Query', query(pk), statement('SELECT * FROM "app" WHERE pk = ?', pk) FROM collections
	UNION ALL SELECT 'a query of 100 items, key as literal', 4, id, 'Query', query(pk), statement(format('SELECT * FROM "app" WHERE pk = %L', pk))
		FROM collections;
VACUUM ANALYZE calls;

DO $$
DECLARE
	c calls;
	theirs json;
	ours json;
BEGIN
	FOR c IN SELECT * FROM calls LOOP
		theirs := dyn_request(c.operation, c.request);
		ours := dyn_request('ExecuteStatement', c.statement) -> 'Items';
		IF json_array_length(ours) <> (CASE c.operation WHEN 'Query' THEN 100 ELSE 1 END) OR
			(CASE c.operation WHEN 'Query' THEN theirs -> 'Items' ELSE json_build_array(theirs -> 'Item') END)::jsonb <> ours::jsonb THEN
			RAISE 'the answers differ: %', c.statement;
		END IF;
	END LOOP;
END $$;

CREATE TABLE times (n int, request_us float, statement_us float);
CREATE FUNCTION of_requests(number int) RETURNS float LANGUAGE plpgsql AS $$
DECLARE
	c calls;
	started timestamptz;
	many int := 0;
BEGIN
	started := clock_timestamp();
	FOR c IN SELECT * FROM calls WHERE n = number LOOP
		PERFORM dyn_request(c.operation, c.request);
		many := many + 1;
	END LOOP;
	RETURN extract(epoch FROM clock_timestamp() - started) * 1e6 / many;
END $$;
CREATE FUNCTION of_statements(number int) RETURNS float LANGUAGE plpgsql AS $$
DECLARE
	c calls;
	started timestamptz;
	many int := 0;
BEGIN
	started := clock_timestamp();
	FOR c IN SELECT * FROM calls WHERE n = number LOOP
		PERFORM dyn_request('ExecuteStatement', c.statement);
		many := many + 1;
	END LOOP;
	RETURN extract(epoch FROM clock_timestamp() - started) * 1e6 / many;
END $$;
CREATE PROCEDURE measure(rounds int) LANGUAGE plpgsql AS $$
DECLARE
	requests float;
	statements float;
BEGIN
	FOR round IN 0 .. rounds LOOP
		FOR number IN 1 .. 4 LOOP
			IF round % 2 = 0 THEN requests := of_requests(number); END IF;
			statements := of_statements(number);
			IF round % 2 = 1 THEN requests := of_requests(number); END IF;
			-- the first round warms up
			IF round > 0 THEN INSERT INTO times VALUES (number, requests, statements); END IF;
			COMMIT;
		END LOOP;
	END LOOP;
END $$;
CALL measure(:rounds);

CREATE VIEW results AS
	SELECT call, round(percentile_cont(0.5) WITHIN GROUP (ORDER BY statement_us)::numeric, 1) AS "ExecuteStatement, µs", operation AS "the same by",
		round(percentile_cont(0.5) WITHIN GROUP (ORDER BY request_us)::numeric, 1) AS "µs",
		round(percentile_cont(0.5) WITHIN GROUP (ORDER BY statement_us / request_us)::numeric, 2) AS "times as long"
	FROM times JOIN (SELECT DISTINCT n, call, operation FROM calls) c USING (n) GROUP BY n, call, operation ORDER BY n;
