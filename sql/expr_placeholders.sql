-- Placeholders, names and limits: docs/semantics.md, P01 to P22, P25.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set fixture :abs_srcdir '/test/expr/fixture.sql'
\i :fixture
\set ECHO all
-- what is passed is just what stands here
CREATE FUNCTION m(expression text, names jsonb DEFAULT NULL, vals dyn_item DEFAULT NULL, item dyn_item DEFAULT bx()) RETURNS text AS $$
BEGIN
	RETURN dyn_matches(item, expression, names, vals);
EXCEPTION WHEN OTHERS THEN RETURN why(SQLSTATE, SQLERRM);
END $$ LANGUAGE plpgsql;

-- P02, P03: values are placeholders
SELECT q, m(q, NULL, vals_of(q)) FROM unnest(ARRAY['n = :5', 'n = 5', 'n = -5', 'n = 5.0', 's = ''hello''', 's = "hello"', 't = true', 'n = $1', 'n = ?',
	'n = :5 -- x', 'n = /* x */ :5', 'n = :5;']) q;

-- P04, P10, P11: names, step by step
SELECT q, m(q, names_of(q), vals_of(q)) FROM unnest(ARRAY['#n = :5', '#n = :5 AND #n = :5', '#1 = :5', '#m.#q.c = :d', 'm.#q.c = :d', '#m.q.c = :d',
	'#l[0] = :1', '#l[2].k = :3', 'm . q . c = :d', 'l [ 2 ] . k = :3', 'remove = :x']) q;
SELECT dyn_project('{"a":{"M":{"b":{"L":[{"N":"1"},{"L":[{"S":"here"},{"S":"there"}]}]}}}}', 'a.b[1][0]');

-- P05, P06: reserved words, in whatever case, at each step; P07: only in expressions. All of them: expr_reserved
SELECT q, project(q) FROM unnest(ARRAY['Year', 'YEAR', 'yEaR', '#y', 'm.Name', 'm.name', 'm[0].Name', 'pk', 'sk', 'org', 'email', 'contains', 'remove',
	'Remove', 'year_', 'size', 'set', 'a.delete']) q;
SELECT q, m(q, NULL, vals_of(q)) FROM unnest(ARRAY['data = :v', 'pk = :v', 'attribute_exists(status)', 'begins_with(name, :v)', 'size(list) = :v']) q;

-- P08, P09: a dot is a step, but not in what a placeholder stands for
SELECT project('a.b'), project('#x'), project('a.b, #x');
-- any attribute name has a placeholder
SELECT dyn_project('{"hi-there $":{"N":"1"},"é":{"N":"2"},"[0]":{"N":"3"}}', '#a,#b,#c', '{"#a":"hi-there $","#b":"é","#c":"[0]"}');

-- P12: indexes
SELECT q, project(q, bx(), '{}') FROM unnest(ARRAY['l[0]', 'l[00]', 'l[2147483647]', 'l[4294967294]', 'l[4294967295]', 'l[99999999999999999999]', 'l[-1]',
	'l[0.4]', 'l[+1]', 'l[1e0]', 'l[:i]', 'l[#i]', 'l[a]', 'l[]', 'l[0', 'l 0]', 'l[0]]', '[0]', 'l.[0]', 'l.0', 'l[0]k', 'l[0 1]']) q;

-- P13: bare names
SELECT q, project(q, bx(), '{}') FROM unnest(ARRAY['a1_B', 'hi-there', '_a', '1a', 'a b', 'a$', 'é', 'a.', '.a', 'a..b', 'a."b"', E'a\tb', E'a,\n b']) q;
SELECT apply(bx(), 'SET hi-there = :v'), apply(bx(), 'SET _a = :v');

-- P14: placeholders
SELECT m('#1 = :1', '{"#1":"n"}', '{":1":{"N":"5"}}'), m('#_ = :_', '{"#_":"n"}', '{":_":{"N":"5"}}'), m('#A_9 = :9_a', '{"#A_9":"n"}', '{":9_a":{"N":"5"}}');
SELECT q, m(q, '{}', '{}') FROM unnest(ARRAY['# = n', 'n = :', '#a-b = n', '##a = n', 'n = ::a', 'n = :#a', '#é = n', 'n = : v']) q;
SELECT n, m('n = n', n) FROM unnest(ARRAY['{"a":"n"}', '{"#":"n"}', '{"":"n"}', '{"#a-b":"n"}', '{":a":"n"}', '{"#é":"n"}', '{"#a":5}', '{"#a":null}',
	'{"#a":["n"]}', '{"#a":{"S":"n"}}', '{"#a":""}', '[]', '"#a"', '5', 'null']::jsonb[]) n;
SELECT v, m('n = n', NULL, v) FROM unnest(ARRAY['{"a":{"N":"5"}}', '{":":{"N":"5"}}', '{":a-b":{"N":"5"}}', '{"#a":{"N":"5"}}', '{":é":{"N":"5"}}',
	'{":a\u0000":{"N":"5"}}']::dyn_item[]) v;
\x
SELECT length(p), m('#' || p || ' = :' || p, jsonb_build_object('#' || p, 'n'), jsonb_build_object(':' || p, 5)) AS both, m('#' || p || ' = n', '{}')
	AS "in the text", m('n = :' || p) AS "in the text, value",
       regexp_replace(m('n = n', jsonb_build_object('#' || p, 'n')), 'x+', 'x') AS "in the names",
         regexp_replace(m('n = n', NULL, jsonb_build_object(':' || p, 5)), 'x+', 'x') AS "in the values"
FROM (VALUES (repeat('x', 254)), (repeat('x', 255))) v (p);
\x
SELECT length(n) AS "bytes of a name", dyn_project('{"n":{"N":"5"}}', 'n, #a', jsonb_build_object('#a', n)) FROM (VALUES (repeat('x', 65535))) v (n);
SELECT m('#a = n', jsonb_build_object('#a', repeat('x', 65536)));

-- P15: undefined
\x
SELECT m('n = :x'), m('#a = n'), m('n = :x', '{}', '{}'), m('#a = n', '{"#b":"n"}'), m('n = :x', NULL, '{":xx":{"N":"5"}}'), m('m.#A = n', '{"#a":"n"}');
\x

-- P16: unused, whatever the evaluation looks at
\x
SELECT m('n = :a', NULL, '{":a":{"N":"5"},":zz":{"N":"5"}}'), m('n = n', '{"#a":"n"}'), m('#n = :a', '{"#a":"n","#n":"n"}', '{":a":{"N":"5"}}'),
	m('n = :a OR s = :b', NULL, '{":a":{"N":"5"},":b":{"S":"x"}}');
\x
SELECT m('n = n', '{}', '{}'), project('n', bx(), '{"#x":"y"}');
-- W19: of a false condition too
SELECT m('n = :a AND attribute_exists(nope)', NULL, '{":a":{"N":"6"},":zz":{"N":"5"}}'), apply(NULL, 'REMOVE a', 'ALL_NEW', '{":zz":{"N":"5"}}');

-- P18: keywords in any case, functions in lower case
SELECT q, m(q, NULL, vals_of(q)) FROM unnest(ARRAY['n bEtWeEn :1 aNd :9', 'nOt n iN (:9) oR n = :9', 'BEGINS_WITH(s, :hel)', 'Size(s) = :5',
	'attribute_Exists(s)']) q;
SELECT apply('{"a":{"N":"1"},"b":{"N":"1"},"c":{"N":"1"},"s":{"SS":["a","b"]}}', 'sEt a = :5 ReMoVe b aDd c :1 dElEtE s :ss1'),
	apply('{}', 'SET a = IF_NOT_EXISTS(b, :5)');

-- P19: white space
SELECT m(E'n=:5', NULL, vals_of(':5')), m(E' \t\r\n n \n = \t :5 \f' || chr(11), NULL, vals_of(':5')), m('n=:9 OR(n=:5)', NULL, vals_of('n=:9 OR(n=:5)')),
	m('NOT(n=:5)AND(n=:5)', NULL, vals_of(':5'));

-- P20: empty is not absent
\x
SELECT m(''), m('  '), project(''), project(' '), apply(bx(), ''), apply(bx(), ' ');
\x

-- P21: limits and their neighbours
SELECT n, m(rpad('n = :5', n), NULL, vals_of(':5')), left(project(rpad('n', n)), 80), left(apply('{}', rpad('SET n = :5', n)), 80)
	FROM unnest(ARRAY[4096, 4097]) n;
SELECT octet_length(e), m(e, NULL, vals_of(':5')) FROM (SELECT rpad('n = :5', 4095) || 'é') x (e);
SELECT n AS operators, m('n=:5' || repeat(' OR n=:5', (n - 1) / 2) || CASE WHEN n % 2 = 0 THEN ' AND NOT n=:5' ELSE '' END, NULL, vals_of(':5'))
	FROM unnest(ARRAY[299, 301]) n;
SELECT n AS operators, m(repeat('NOT ', n - 1) || 'n=:5', NULL, vals_of(':5')) FROM unnest(ARRAY[300, 301]) n;
SELECT n AS functions, left(m('attribute_exists(n)' || repeat(' or size(n)=n', n), NULL, NULL), 80) FROM unnest(ARRAY[99, 100]) n;
SELECT n AS additions, left(apply('{"n":{"N":"1"}}', 'SET ' || string_agg('a' || i || '=n+:1', ',')), 80) FROM unnest(ARRAY[300, 301]) n,
	generate_series(1, n) i GROUP BY n ORDER BY n;
SELECT n AS elements, m('attribute_exists(a' || repeat('.b', n / 2) || repeat('[0]', n - n / 2 - 1) || ')') FROM unnest(ARRAY[32, 33, 1000]) n;
SELECT n AS elements, length(dyn_project('{}', 'b, a' || repeat('.b', n - 1))::text) FROM unnest(ARRAY[32]) n;
SELECT dyn_project('{}', 'b, a' || repeat('.b', 32));
SELECT n AS elements, left(apply('{}', 'REMOVE b, a' || repeat('[1]', n - 1)), 80),
	left(apply('{}', 'SET a = if_not_exists(a' || repeat('.b', n - 1) || ', :1)'), 80) FROM unnest(ARRAY[32, 33]) n;
SELECT n AS listed, m('n IN (' || string_agg(':v' || i, ',') || ')', NULL, jsonb_object_agg(':v' || i, i)) FROM unnest(ARRAY[100, 101]) n,
	generate_series(1, n) i GROUP BY n ORDER BY n;
\x
SELECT m(repeat('(', 4000)), m(repeat('(', 2000) || 'n=:5' || repeat(')', 2000), NULL, vals_of(':5')),
	m(repeat('NOT (', 290) || 'n=:5' || repeat(')', 290), NULL, vals_of(':5')), m(repeat('size(', 800)), left(apply('{}', 'SET a = ' || repeat('(', 4000)), 80);
\x
SELECT m('#a = n', (SELECT jsonb_object_agg('#n' || i, repeat('x', 60000)) || '{"#a":"n"}' FROM generate_series(1, 35) i));

-- P22: parentheses
SELECT q, m(q, NULL, vals_of(q)) FROM unnest(ARRAY['(n = :5)', '((n = :5))', '((n = :5) AND (s = :hello))', '(((n = :5) AND (s = :hello)))', '(NOT (n = :9))',
	'(n) = :5', '((n)) = :5', 'n = ((:5))', '(size(s)) = (n)', '(attribute_exists(n))', '((attribute_exists(n)))', 'n IN ((:5))']) q;
\x
SELECT apply('{}', 'SET a = (:5)'), apply('{}', 'SET a = (:5 + :1)'), apply('{}', 'SET a = ((:5))'), apply('{}', 'SET a = ((:5 + :1))'),
	apply('{}', 'SET a = (:5) + (:1)');
\x

-- P25: without values, and vals in each of their forms
SELECT m('attribute_not_exists(nope)'), dyn_matches(bx(), 'n = :v', vals => '{":v":5}'::jsonb), dyn_matches(bx(), 'n = :v', vals => '{":v":5}'::json),
	dyn_matches(bx(), 'n = :v', vals => '{":v":{"N":"5"}}');
SELECT dyn_matches(bx(), 'n = :v', vals => '{":v":{"N":"5"}}'::jsonb);

DROP SCHEMA expr CASCADE;
