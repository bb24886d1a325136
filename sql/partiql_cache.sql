-- Compiled statements are kept by their text alone: they must not pile up, and know nothing of tables, which may change.
\pset format unaligned
\pset tuples_only on
CREATE FUNCTION run(statement text, more text DEFAULT '{}') RETURNS text LANGUAGE plpgsql AS $$
DECLARE d text;
BEGIN
  RETURN dyn_request('ExecuteStatement', (more::jsonb || jsonb_build_object('Statement', statement))::text);
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS d = PG_EXCEPTION_DETAIL;
  RETURN concat_ws(' / ', dyn_error_name(SQLSTATE), SQLERRM, d);
END $$;
CREATE VIEW kept AS SELECT count(*), sum(total_bytes) <= 16 * 1024 * 1024 AS small FROM pg_backend_memory_contexts WHERE name = 'dynamo_table PartiQL';
SELECT dyn_create_table('app', 'pk S', 'sk S');
SELECT run('INSERT INTO app VALUE {''pk'': ''a'', ''sk'': ''1'', ''x'': 1}');

-- more than are kept
SELECT count(run(format('SELECT x FROM app WHERE pk = ''a'' AND x = %s', i))) FROM generate_series(1, 300) i;
SELECT count, small FROM kept;
-- large ones: each longest list of columns, conditions, changes and values that fits
SELECT left(run(format('SELECT %s FROM app WHERE pk = ''a''', (SELECT string_agg(format('c%s_%s', i, j), ',') FROM generate_series(1, 900) j))), 40)
	AS answer, count(*) FROM generate_series(1, 100) i GROUP BY answer;
SELECT count <= 256, small FROM kept;
SELECT left(run(format('SELECT x FROM app WHERE pk = ''a'' AND (%s)', (SELECT string_agg(format('x%s = ''%s''', j, i), ' OR ')
	FROM generate_series(1, 145) j))), 40) AS answer, count(*) FROM generate_series(1, 100) i GROUP BY answer;
SELECT count <= 256, small FROM kept;
SELECT left(run(format('UPDATE app SET %s WHERE pk = ''a'' AND sk = ''1'' AND nope = 1',
	(SELECT string_agg(format('v%s = %s', j, i), ',') FROM generate_series(1, 145) j))), 40) AS answer, count(*) FROM generate_series(1, 100) i GROUP BY answer;
SELECT count <= 256, small FROM kept;
SELECT left(run(format('INSERT INTO app VALUE {''pk'': ''a'', ''sk'': ''1'', %s}',
	(SELECT string_agg(format('''c%s'': [%s, {}]', j, i), ',') FROM generate_series(1, 400) j))), 40) AS answer, count(*) FROM generate_series(1, 100) i
	GROUP BY answer;
SELECT count <= 256, small FROM kept;
-- small ones find room again
SELECT count(run(format('SELECT x FROM app WHERE pk = ''a'' AND x = %s', i))) FROM generate_series(1, 256) i;
SELECT count, small FROM kept;
-- errors keep nothing
SELECT count(run(format('SELECT x FROM app WHERE %s', i))), count(run(format('SELECT x FROM app WHERE upper(x) = %s', i))) FROM generate_series(1, 300) i;
SELECT count, small FROM kept;

-- a table with other keys under the same name; the token of the first one begins with a key that the second cannot have
SELECT count(*) FROM (SELECT dyn_put('app', format('{"pk":{"S":"a"},"sk":{"S":"%s"}}', i)::dyn_item) FROM generate_series(2, 4) i OFFSET 0) p;
SELECT run('SELECT sk FROM app WHERE pk = ''a''', '{"Limit": 2}')::json ->> 'NextToken' AS token \gset
SELECT run('SELECT sk FROM app WHERE pk = ''a''', json_build_object('NextToken', :'token')::text);
SELECT run('SELECT sk FROM app WHERE pk IN [''a'', ''b'']', '{"Limit": 4}')::json ->> 'NextToken' AS later \gset
SELECT run('INSERT INTO app VALUE {''pk'': ''b'', ''sk'': ''1''}'), run('INSERT INTO app VALUE {''pk'': ''b'', ''sk'': ''2''}');
SELECT run('SELECT sk FROM app WHERE pk IN [''a'', ''b'']', '{"Limit": 5}')::json ->> 'NextToken' AS second \gset
SELECT run('SELECT sk FROM app WHERE pk IN [''a'', ''b'']', json_build_object('NextToken', :'second')::text);
DROP TABLE app;
SELECT run('SELECT sk FROM app WHERE pk = ''a''');
SELECT dyn_create_table('app', 'pk S', 'sk N', global_indexes => '{"i": {"partition_key": "g S"}}');
SELECT run('INSERT INTO app VALUE {''pk'': ''a'', ''sk'': 1, ''g'': ''a''}');
SELECT run('SELECT sk FROM app WHERE pk = ''a'''), run('SELECT x FROM app WHERE pk = ''a'' AND sk = ''1''');
SELECT run('SELECT sk FROM app WHERE pk = ''a''', json_build_object('NextToken', :'token')::text);
SELECT dyn_drop_table('app');
SELECT dyn_create_table('app', 'sk S', 'pk S');
SELECT run('INSERT INTO app VALUE {''pk'': ''a'', ''sk'': ''1'', ''g'': ''a''}');
-- now it is a scan
SELECT run('SELECT sk FROM app WHERE pk = ''a'''), run('SELECT sk FROM app WHERE pk = ''a''', json_build_object('NextToken', :'token')::text),
	run('SELECT sk FROM app WHERE pk IN [''a'', ''b'']', json_build_object('NextToken', :'later')::text);
-- a token of the second read, where there is one only
SELECT run('SELECT sk FROM app WHERE pk IN [''a'', ''b'']', json_build_object('NextToken', :'second')::text);
SELECT dyn_drop_table('app');

-- an index with other keys under the same name
SELECT dyn_create_table('app', 'pk S', 'sk S', global_indexes => '{"i": {"partition_key": "g S", "sort_key": "h N"}}');
SELECT run('INSERT INTO app VALUE {''pk'': ''a'', ''sk'': ''1'', ''g'': ''g'', ''h'': 1}'),
	run('INSERT INTO app VALUE {''pk'': ''a'', ''sk'': ''2'', ''g'': ''g'', ''h'': 2}');
SELECT run('SELECT sk FROM app.i WHERE g = ''g'' AND h > 0', '{"Limit": 1}')::json ->> 'NextToken' AS token \gset
SELECT run('SELECT sk FROM app.i WHERE g = ''g'' AND h > 0', json_build_object('NextToken', :'token')::text);
SELECT dyn_drop_table('app');
SELECT run('SELECT sk FROM app.i WHERE g = ''g'' AND h > 0');
SELECT dyn_create_table('app', 'pk S', 'sk S', global_indexes => '{"i": {"partition_key": "h N", "sort_key": "g S"}}');
SELECT run('INSERT INTO app VALUE {''pk'': ''a'', ''sk'': ''1'', ''g'': ''g'', ''h'': 1}');
SELECT run('SELECT sk FROM app.i WHERE g = ''g'' AND h > 0'), run('SELECT sk FROM app.i WHERE g = ''g'' AND h > 0',
	json_build_object('NextToken', :'token')::text);

DROP VIEW kept;
DROP FUNCTION run;
SELECT dyn_drop_table('app');
