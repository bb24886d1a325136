-- Statements that somebody made up to do harm: as long, as deep and as branched as a text can be, and with U+0000 anywhere
\pset format unaligned
\pset tuples_only on
CREATE FUNCTION run(statement text, parameters text DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE d text; m text;
BEGIN
  RETURN dyn_request('ExecuteStatement', format('{"Statement": %s%s}', CASE WHEN statement LIKE '"%' THEN statement ELSE to_json(statement)::text END,
    ', "Parameters": ' || parameters));
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS d = PG_EXCEPTION_DETAIL;
  RETURN concat_ws(' / ', left(coalesce(dyn_error_name(SQLSTATE), SQLSTATE) || ': ' || SQLERRM, 150), left(nullif(d, ''), 150));
END $$;
SELECT dyn_create_table('app', 'pk S', 'sk S');
SELECT run('INSERT INTO app VALUE {''pk'': ''a'', ''sk'': ''1'', ''x'': 1}');

-- length in characters
SELECT run(rpad('SELECT x FROM app --', 8192, 'ü')), run(rpad('SELECT x FROM app --', 8193, 'ü')),
	run('SELECT x FROM app WHERE x = ''' || repeat('x', 1000000) || '''');
-- depth: of the grammar, of values, of trees
SELECT o, run(format('SELECT x FROM app WHERE %sx = 1%s', repeat(o, n), repeat(c, n)))
	FROM (VALUES ('(', ')', 1900), ('(', ')', 2100), ('NOT ', '', 299), ('NOT ', '', 1500), ('(NOT ', ')', 299), ('x[', ']', 1000), ('size(', ')', 600)) v(o, c,
	n);
SELECT n, run(format('INSERT INTO app VALUE {''pk'': ''b'', ''sk'': ''1'', ''x'': %s1%s}', repeat('[', n), repeat(']', n)))
	FROM unnest(ARRAY[31, 32, 1900, 3000]) n;
SELECT run(format('UPDATE app SET x = %s WHERE pk = ''a'' AND sk = ''1''', repeat('1 + ', 1900) || '1')),
	run('SELECT x FROM app WHERE pk = ''a'' AND ' || repeat('(x = 1 AND ', 140) || 'sk = ''1''' || repeat(')', 140));
-- many terms, values, columns and changes
SELECT run('SELECT x FROM app WHERE x IN [' || repeat('1, ', n) || '1]') FROM unnest(ARRAY[99, 100, 2000]) n;
SELECT run('SELECT x FROM app WHERE x = 1' || repeat(' OR x = 1', n)) FROM unnest(ARRAY[149, 150, 900]) n;
SELECT run('SELECT ' || repeat('x, ', 2500) || 'y FROM app'), run('SELECT ' || repeat('a.', 4000) || 'a FROM app');
SELECT run('INSERT INTO app VALUE {''pk'': ''a'', ''sk'': ''1'', ''s'': <<' || (SELECT string_agg(i::text, ',') FROM generate_series(1, 1500) i) || '>>}'),
	run('INSERT INTO app VALUE {''pk'': ''b'', ''sk'': ''1''' || repeat(', ''x'': 1', 900) || '}');
-- branches: none are made where there would be too many
SELECT run('SELECT x FROM app WHERE pk = ''a''' || repeat(' AND (sk = ''1'' OR sk = ''2'')', n)) FROM unnest(ARRAY[5, 6, 90]) n;
SELECT run('SELECT x FROM app WHERE pk IN [''a'', ''b'']' || repeat(' AND pk IN [''a'', ''b'']', n)) FROM unnest(ARRAY[1, 5, 200]) n;
SELECT run('SELECT x FROM app WHERE pk = ''a'' AND ' || repeat('(x = 1 OR ', 145) || 'sk = ''1''' || repeat(')', 145));
SELECT run('SELECT x FROM app WHERE pk = ''a'' AND NOT (' || repeat('(x = 1 OR sk = ''0'') AND ', 70) || 'x = 2)');

-- U+0000 in names and strings, and in front of an error
SELECT run('"INSERT INTO app VALUE {''pk'': ''n'', ''sk'': ''1'', ''a\u0000b'': 1, ''a\u0000c'': ''\u0000''}"');
SELECT run('"SELECT \"a\u0000b\", \"a\u0000c\" FROM app WHERE pk = ''n'' AND \"a\u0000c\" = ''\u0000''"'),
	run('"SELECT m.\"a\u0000b\"[0], \"a\" FROM app WHERE pk = ''n''"');
SELECT run('"SELECT \"a\u0000b\", \"a\u0000b\" FROM app"'), run('"SELECT \"a\u0000b\" FROM app WHERE upper(x) = 1"'),
	run('"SELECT \"a\u0000b\" FROM app WHERE x < true"'), run('"SELECT \u0000 FROM app"');
SELECT run('"SELECT x FROM app --\u0000' || repeat('x', 9000) || '"');
SELECT run('"SELECT x FROM \"app\u0000\""'), run('"SELECT x FROM app.\"i\u0000\""'), run('"SELECT x FROM app WHERE ? = x"', '[{"S": "a\u0000b"}]');

DROP FUNCTION run;
SELECT dyn_drop_table('app');
