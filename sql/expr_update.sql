-- Updates: docs/semantics.md, U01 to U33, U37, U38, R08 to R11, T07, T17, W10 to W13, W21.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set fixture :abs_srcdir '/test/expr/fixture.sql'
\i :fixture
\set ECHO all
-- U01-U03: verbs and clauses; what an update of BX changes
SELECT e, change(e) FROM unnest(ARRAY['SET n = :1', 'REMOVE n', 'ADD n :1', 'DELETE ss :ss1', 'PUT n :1', 'n = :1', 'SET', 'REMOVE', 'ADD', 'DELETE',
	'REMOVE s SET n = :1 ADD two :1 DELETE ss :ss1',
  'DELETE ss :ss1 ADD two :1 SET n = :1 REMOVE s', 'SET n = :1, s = :v, fresh = :two', 'SET n = :1 SET s = :v', 'REMOVE n REMOVE s', 'ADD n :1 ADD two :1',
  'DELETE ss :ss1 SET n = :1 DELETE ns :ns', 'SET n = :1,', 'SET n = :1, REMOVE s',
  'SET n = :1, SET s = :v', ', SET n = :1', 'SET n = :1; REMOVE s', 'REMOVE remove', 'REMOVE remove, n SET a.b = remove']) e;

-- U04: the right-hand sides are those of the old item
\x
SELECT apply('{"a":{"N":"1"},"b":{"N":"2"}}', 'SET a = b, b = a'), apply('{"p":{"S":"k"}}', 'SET x = :1, y = x'),
	apply('{"a":{"N":"1"}}', 'SET b = a REMOVE a'), apply('{"a":{"N":"1"}}', 'SET b = a + :1 ADD a :5');
\x

-- U05, U06: overlaps and conflicts over all clauses, after placeholders, whatever the item
SELECT e, apply('{"a":{"N":"1"}}', e) FROM unnest(ARRAY['SET a = :1 REMOVE a', 'SET a = :1, a.b = :2', 'SET a.b = :1, a = :2', 'SET a = :1 ADD a :1',
	'REMOVE a, a', 'REMOVE a.b, a.b.c', 'DELETE ss :ss1 ADD ss :cd', 'SET n = :1, #n = :2', 'REMOVE a[1] SET a[1] = :1', 'REMOVE a[1] SET a[1].b = :1',
  'SET a.b = :1, a[1] = :2', 'REMOVE a[1] SET a.b = :1', 'SET a.b.c = :1, a.b[0] = :1', 'SET #x = :1, n = :2', 'ADD a.b :1 DELETE a[0] :ss1']) e;

-- U07, U08, U38
SELECT e, change(e) FROM unnest(ARRAY['SET n = :x', 'SET s = :l', 'SET z = :null', 'SET m = :k', 'SET y = nope', 'SET y = m.q', 'SET y = l[2].k',
	'SET y = l[3]', 'SET y = m.nope', 'SET y = n.x', 'SET y = #y', 'SET #odd = :v', 'SET y = n', 'SET y = (n)']) e;

-- U09-U12: arithmetic
SELECT e, change(e) FROM unnest(ARRAY['SET n = n + :1', 'SET n = n - :9', 'SET n = :10 - n', 'SET n = two + m.a', 'SET y = :p1 + :p2', 'SET y = :e22 + :1',
	'SET y = n - n', 'SET y = :a + :1', 'SET y = :1 + :list', 'SET y = :1 - :null', 'SET n = n + :1 + :2', 'SET n = :1 + n - :2',
  'SET n = (n + :1) - :2', 'SET n = n + (two)', 'SET c = c + :1', 'SET c = :1 - c', 'SET s = s + :1', 'SET n = :1 + s', 'SET n = n + ss', 'SET n = n +',
  'SET n = + n', 'SET n = -:1', 'SET n = n * :1', 'SET n = n+:1', 'SET n = n-two',
  'SET y = :e50 + :1', 'SET y = :9e125 + :9e125', 'SET y = if_not_exists(c, :0) + :1', 'SET n = if_not_exists(n, :0) - if_not_exists(c, :1)',
  'SET y = if_not_exists(s, :0) + :1', 'SET y = list_append(l, l) + :1', 'SET y = :1 + list_append(l, l)']) e;
-- T05, T07: 38 digits and the ends of the range, and what leaves them
SELECT a, b, apply(format('{"a":{"N":"%s"},"b":{"N":"%s"}}', a, b)::dyn_item, 'SET a = a + b REMOVE b') AS sum,
	apply(format('{"a":{"N":"%s"},"b":{"N":"%s"}}', a, b)::dyn_item, 'SET a = a - b REMOVE b') AS difference
FROM (VALUES ('0', '0'), ('1', '-1'), ('-1', '-1'), ('99', '1'), ('0.01', '0.99'), ('99999999999999999999999999999999999999', '1'),
	('99999999999999999999999999999999999998', '1'), ('12345678901234567890123456789012345678', '0.1'),
  ('1234567890123456789012345678901234567', '0.1'), ('9.9999999999999999999999999999999999999e125', '1e88'),
  ('9.9999999999999999999999999999999999999e125', '1e87'), ('1e-130', '1e-130'), ('1.5e-130', '1e-130'), ('1e-130', '-1e-130'),
  ('1e37', '1'), ('1e38', '1'), ('1e37', '-1'), ('1e38', '-1'), ('-1e38', '1'), ('1e125', '1e-130'), ('100', '-99.5'),
  ('1000000000000000000000000000000000000.1', '-1000000000000000000000000000000000000')) v (a, b);

-- U13-U15: functions
SELECT e, change(e) FROM unnest(ARRAY['SET b = if_not_exists(n, :9)', 'SET y = if_not_exists(nope, :9)',
	'SET y = if_not_exists(nope, if_not_exists(nope2, :9))', 'SET y = if_not_exists(nope, n)', 'SET y = if_not_exists(nope, nope2)',
	'SET y = if_not_exists(m.q.c, :9)', 'SET n = if_not_exists(n, :9)', 'SET y = if_not_exists(z, :9)',
  'SET y = if_not_exists(:1, :9)', 'SET y = if_not_exists(nope)', 'SET y = if_not_exists(nope, :1, :2)', 'SET y = if_not_exists(nope, :1 + :2)',
  'SET y = if_not_exists(nope, list_append(l, l))', 'SET y = if_not_exists(if_not_exists(n, :1), :2)', 'SET y = size(s)', 'SET y = attribute_exists(s)',
  'SET y = contains(s, :a)', 'SET y = dog(s)',
  'SET l = list_append(l, :list)', 'SET l = list_append(:list, l)', 'SET y = list_append(:list, :list)', 'SET l = list_append(l, l)',
  'SET y = list_append(if_not_exists(y, :el), :list)', 'SET y = list_append(:list, if_not_exists(l, :el))', 'SET y = list_append(el, :list)',
  'SET y = list_append(nope, :list)', 'SET y = list_append(n, :list)', 'SET y = list_append(:list, s)', 'SET y = list_append(:1, l)',
  'SET y = list_append(l, :ss)', 'SET y = list_append(l)', 'SET y = list_append(l, :list, l)', 'SET y = list_append(list_append(l, l), l)',
  'SET y = list_append(l, :1 + :2)', 'SET y = list_append(if_not_exists(y, :1), :list)',
  'SET y = LIST_APPEND(l, l)', 'list_append(l, :list)', 'SET list_append(l, :list)']) e;

-- U16-U18, U32: paths to set
SELECT e, change(e) FROM unnest(ARRAY['SET m.z = :1', 'SET m.a = :2', 'SET m.q.e = :1, m.q.c = :2', 'SET nope.z = :1', 'SET n.z = :1', 'SET m.nope.z = :1',
	'SET l.z = :1', 'SET m[0] = :1', 'SET nope[0] = :1', 'SET ss[0] = :1', 'SET em.x = :1', 'SET el[3] = :1', 'SET l[2].k = :1, l[2].j = :2', 'SET l[3].k = :1',
	'SET l[0].k = :1',
  'SET l[0] = :v', 'SET l[2] = :v', 'SET l[3] = :v', 'SET l[7] = :v', 'SET l[9] = :a, l[5] = :d', 'SET l[5] = l[0], l[0] = l[5]',
  'SET l[5] = l[0], l[0] = l[1]', 'SET n :1', 'SET n', 'SET n = ', 'SET = :1', 'SET n == :1', 'SET n = :1 :2', 'SET :v = :1', 'SET (n) = :1', 'SET n <> :1',
  'SET n = n = :1']) e;

-- U19-U23, U31: removal; all indexes are those of the old list
SELECT e, change(e) FROM unnest(ARRAY['REMOVE nope', 'REMOVE n, s', 'REMOVE l[0]', 'REMOVE l[0], l[2]', 'REMOVE l[17]', 'REMOVE l[0], l[1], l[2]',
	'REMOVE l[2].k', 'REMOVE l[2].nope', 'REMOVE m.a', 'REMOVE m.a, m.q', 'REMOVE m.q.c', 'REMOVE m.nope', 'REMOVE nope.x', 'REMOVE n.x', 'REMOVE m.nope.x',
	'REMOVE m[0]', 'REMOVE l.x', 'REMOVE l[3].x', 'REMOVE ss[0]',
  'REMOVE n :1', 'REMOVE :1', 'REMOVE n = :1', 'REMOVE n s', 'REMOVE size(s)', 'REMOVE l[1] SET l[0] = l[2]', 'REMOVE l[0] SET l[9] = :v',
  'SET l[1] = :v, l[8] = l[0] REMOVE l[2], l[0]']) e;
SELECT apply('{"a":{"L":[{"N":"2"},{"N":"3"},{"N":"4"},{"N":"5"},{"N":"6"},{"N":"7"}]}}', 'REMOVE a[1] SET a[3] = :17', vals => '{":17":{"N":"17"}}'),
	apply('{"a":{"L":[{"N":"2"},{"N":"3"},{"N":"4"},{"N":"5"},{"N":"6"}]}}', 'REMOVE a[1], a[2]');
\x
SELECT apply(NULL, 'REMOVE nope.x') IS NULL AS "no item", apply(NULL, 'REMOVE a[0].x SET b = :1'), apply(NULL, 'SET a.b = :1'),
	apply(NULL, 'SET a.b = :1 REMOVE a.c'), apply('{}', 'REMOVE nope.x');
\x

-- U24-U30, U33, T17: ADD and DELETE
SELECT e, change(e) FROM unnest(ARRAY['ADD n :1', 'ADD n :n1', 'ADD fresh :5', 'ADD ss :cd', 'ADD ss :ss1', 'ADD fresh :cd', 'ADD ns :ns5', 'ADD ns :ns',
	'ADD bs :bs', 'ADD s :1', 'ADD n :ns', 'ADD ss :ns', 'ADD ss :1', 'ADD l :list', 'ADD n :s5', 'ADD ss :d', 'ADD z :1', 'ADD n :null', 'ADD m :em',
	'ADD m.a :1', 'ADD m.fresh :5', 'ADD m.q.fresh :cd', 'ADD l[0] :1', 'ADD l[1] :1', 'ADD l[7] :1', 'ADD nope.x :1',
  'ADD n two', 'ADD n', 'ADD n = :1', 'ADD n :1 :2', 'ADD n :1 + :2', 'ADD n if_not_exists(n, :1)', 'ADD n (:1)', 'DELETE ss :az', 'DELETE ss :cd',
  'DELETE ss :ss', 'DELETE ns :ns', 'DELETE bs :bs', 'DELETE nope :ss1', 'DELETE n :ns5', 'DELETE ss :ns', 'DELETE ss :a', 'DELETE n :5', 'DELETE l :list',
  'DELETE ss ss', 'DELETE ss', 'DELETE ss = :ss1', 'DELETE m.a :ss1', 'DELETE m.nope :ss1', 'DELETE nope.x :ss1']) e;
SELECT apply('{"m":{"M":{"s":{"SS":["a"]},"t":{"SS":["a","z","b"]}}},"l":{"L":[{"SS":["a"]},{"SS":["a","b"]},{"N":"1"}]}}',
	'DELETE m.s :az, m.t :az, l[0] :az, l[1] :az');
SELECT apply(apply('{"ss":{"SS":["a","b"]}}', 'ADD ss :cd')::dyn_item, 'ADD ss :cd'),
	apply('{"ns":{"NS":["-1","10","9"]}}', 'ADD ns :v', vals => '{":v":{"NS":["-2","9.0","1e1","0.5","100"]}}'),
	apply('{"ns":{"NS":["-1","10","9"]}}', 'DELETE ns :v', vals => '{":v":{"NS":["9.0","1e1","0.5"]}}');
SELECT apply('{"c":{"N":"99999999999999999999999999999999999999"}}', 'ADD c :p1'), apply('{"c":{"N":"1"}}', 'ADD c :n1');

-- W10-W13: an item that does not exist; NULL is none
SELECT e, apply(NULL, e) AS "no item", apply('{"p":{"S":"k"}}', e) AS "item"
	FROM unnest(ARRAY['SET a = :1', 'ADD c :5', 'ADD s :cd', 'REMOVE a', 'DELETE s :cd', 'REMOVE a.b, c[1]', 'DELETE a.b :cd', 'REMOVE a SET b = :1',
	'SET a = p', 'SET a = if_not_exists(p, :1)', 'SET a = c + :1']) e;
SELECT dyn_apply('{}', NULL) IS NULL AS "no update, no answer";

-- T14: levels of nesting, where the value ends up
CREATE FUNCTION nested(levels int) RETURNS text AS $$ SELECT repeat('{"L":[', levels) || repeat(']}', levels) $$ LANGUAGE sql;
SELECT n, left(apply('{"m":{"M":{}}}', e, 'ALL_NEW', format('{":v":%s}', nested(n))::dyn_item), 60), e
FROM (VALUES (31, 'SET a = :v'), (32, 'SET a = :v'), (30, 'SET m.a = :v'), (31, 'SET m.a = :v')) v (n, e);
SELECT left(apply(format('{"a":%s,"b":{"M":{"c":{"M":{}}}}}', nested(n))::dyn_item, e), 100), n, e
FROM (VALUES (29, 'SET b.c.d = a'), (30, 'SET b.c.d = a'), (31, 'SET b.c = a[0]'), (31, 'SET b.c.d = a[0]'), (31, 'SET b = list_append(a, a)'),
	(31, 'SET b.c = list_append(a, a)'), (30, 'SET b.c = list_append(a, a)'), (32, 'SET b = a'), (32, 'SET b = a[0]')) v (n, e);

-- W20, W21, L01: the size of the result
SELECT n, left(apply(jsonb_build_object('a', repeat('x', n))::dyn_item, 'SET b = :v'), 40) FROM unnest(ARRAY[409597, 409598]) n;
SELECT left(apply(jsonb_build_object('l', jsonb_build_array(repeat('x', 399 * 1024)))::dyn_item, 'SET l = list_append(l, :v)', 'ALL_NEW',
	jsonb_build_object(':v', jsonb_build_array(repeat('x', 5000)))), 80);
SELECT left(apply('{}', 'SET ' || string_agg('a' || i || '=:v', ','), 'ALL_NEW', jsonb_build_object(':v', repeat('x', 400000))), 80)
	FROM generate_series(1, 400) i;

-- U37: see expr_placeholders

-- R08-R11: what is returned
SELECT r, apply('{"a":{"N":"1"},"b":{"S":"x"}}', 'SET a = a + :1', r) FROM unnest(ARRAY['ALL_NEW', 'ALL_OLD', 'UPDATED_NEW', 'UPDATED_OLD', 'NONE', 'all_new',
	'']) r;
SELECT item, e, apply(item, e, 'UPDATED_OLD') AS old, apply(item, e, 'UPDATED_NEW') AS new FROM (VALUES
  ('{"b":{"S":"dog"}}'::dyn_item, 'SET b = :x, c = :y'), ('{"b":{"S":"x"}}', 'SET b = :x'), ('{"b":{"S":"x"}}', 'SET c = :x'),
  ('{"b":{"S":"x"}}', 'REMOVE b'), ('{"b":{"S":"x"}}', 'REMOVE c'), ('{"b":{"S":"x"},"c":{"N":"1"}}', 'REMOVE b ADD c :1'),
  ('{"a":{"M":{"b":{"N":"1"},"c":{"L":[{"N":"1"},{"N":"2"},{"N":"3"}]}}}}', 'SET a.c[1] = :5'),
  ('{"a":{"L":[{"N":"1"},{"N":"2"},{"N":"3"}]}}', 'REMOVE a[0] SET a[2] = :5'), ('{"a":{"L":[{"N":"1"},{"N":"2"},{"N":"3"}]}}', 'SET a[9] = :5, a[0] = :1'),
  ('{"a":{"L":[{"N":"1"},{"N":"2"}]}}', 'REMOVE a[0]'),
  ('{"a":{"M":{"b":{"N":"1"}}}}', 'REMOVE a.b SET c = :1'), ('{"s":{"SS":["a","b"]}}', 'DELETE s :az'), ('{"s":{"SS":["a"]}}', 'DELETE s :az'),
  ('{"s":{"SS":["a"]}}', 'ADD s :cd'), ('{"l":{"L":[{"SS":["a"]},{"M":{"x":{"N":"1"}}}]}}', 'DELETE l[0] :az SET l[1].x = :2'),
  (NULL, 'SET a = :1'), (NULL, 'ADD a :1'), (NULL, 'REMOVE a')) v (item, e);

-- a message is whole, however long its path
DO $$
BEGIN
	PERFORM dyn_apply('{}', 'SET a = #a' || repeat('.#a', 31), jsonb_build_object('#a', repeat('é', 32)));
EXCEPTION WHEN SQLSTATE 'YD001' THEN
	RAISE WARNING '% characters, % bytes: %...%', length(SQLERRM), octet_length(SQLERRM), left(SQLERRM, 70), right(SQLERRM, 10);
END $$;

-- counting in a loop of statements, and swapping ends
DO $$
DECLARE
	i dyn_item := '{}';
BEGIN
	FOR n IN 1 .. 1000 LOOP
		i := dyn_apply(i, 'SET l = list_append(if_not_exists(l, :e), :v) ADD c :p', NULL,
			jsonb_build_object(':e', '[]'::jsonb, ':v', jsonb_build_array(n), ':p', 0.1));
	END LOOP;
	RAISE WARNING '% % %', i->>'c', i->'l'->>999, jsonb_array_length(i::jsonb->'l');
END $$;
DROP SCHEMA expr CASCADE;
