-- dyn_query(): docs/semantics.md, Q01 to Q07, Q18, Q21, Q23, KC01 to KC17; its data sets D and E.
CREATE FUNCTION sks(table_name text, condition text, vals dyn_item, names jsonb DEFAULT NULL, forward boolean DEFAULT true, max_items bigint DEFAULT NULL,
  start_key dyn_item DEFAULT NULL, attribute text DEFAULT 'sk') RETURNS text LANGUAGE sql AS
  $$ SELECT coalesce(string_agg(item->>attribute, ', '), '(none)') FROM dyn_query(table_name, condition, names => names, vals => vals, forward => forward,
    max_items => max_items, start_key => start_key) AS item $$;

-- D01 to D08: organizations, users, tickets
SELECT dyn_create_table('app', 'pk S', 'sk S');
SELECT count(dyn_put('app', item)) FROM (VALUES
  ('{"pk":"ORG#MICROSOFT","sk":"METADATA#MICROSOFT","OrgName":"Microsoft","PlanType":"Enterprise"}'::jsonb),
  ('{"pk":"ORG#MICROSOFT","sk":"USER#SATYANADELLA","UserName":"Satya Nadella","UserType":"Admin"}'),
  ('{"pk":"ORG#MICROSOFT","sk":"USER#BILLGATES","UserName":"Bill Gates","UserType":"Member"}'),
  ('{"pk":"ORG#AMAZON","sk":"USER#JEFFBEZOS","UserName":"Jeff Bezos","UserType":"Admin"}'),
  ('{"pk":"ORG#AMAZON","sk":"METADATA#AMAZON","OrgName":"Amazon","PlanType":"Pro"}'),
  ('{"pk":"TICKET#123","sk":"TICKET#123","CreatedDate":"2023-09-05 22:31:54"}'), ('{"pk":"TICKET#456","sk":"TICKET#456"}')) v (item);
SELECT dyn_get('app', '{"pk":{"S":"ORG#MICROSOFT"},"sk":{"S":"METADATA#MICROSOFT"}}') AS d01;
SELECT dyn_query('app', 'pk = :pk', vals => '{":pk":{"S":"ORG#AMAZON"}}') AS d02;
SELECT dyn_query('app', 'pk = :pk AND begins_with(sk, :p)', vals => '{":pk":{"S":"ORG#MICROSOFT"},":p":{"S":"USER#"}}') AS d03;
SELECT dyn_get('app', '{"pk":{"S":"ORG#AMAZON"},"sk":{"S":"USER#JEFFBEZOS"}}') ->> 'UserType' AS d03b;
SELECT sks('app', 'pk = :pk', '{":pk":{"S":"ORG#MICROSOFT"}}') AS d08;

-- D09 addresses, D10 to D13 pets
SELECT count(dyn_put('app', jsonb_build_object('pk', p, 'sk', s))) FROM (VALUES ('England', 'London:Westminster:Downing St:10'),
	('England', 'London:Westminster:Abbey Rd:3'),
  ('England', 'Leeds:Centre:Briggate:1'), ('pets', 'dog:command:sit'), ('pets', 'dog:command:stay'), ('pets', 'dog:command:roll'), ('pets', 'dog:commander:x'),
  ('pets', 'cat:treeclimbed:spruce'), ('pets', 'cat:treeclimbed:elm'), ('pets', 'cat:treeclimbed:oak'), ('pets', 'parrot:words:000003'),
  ('pets', 'parrot:words:000101'), ('pets', 'parrot:words:000201'),
  ('pets', 'dog:whiskers:000008')) v (p, s);
SELECT sks('app', 'pk = :c AND begins_with(sk, :p)', '{":c":{"S":"England"},":p":{"S":"London:"}}') AS d09,
       sks('app', 'pk = :c AND begins_with(sk, :p)', '{":c":{"S":"England"},":p":{"S":"London:Westminster:Downing St:"}}') AS d09b;
SELECT sks('app', 'pk = :c AND begins_with(sk, :p)', '{":c":{"S":"pets"},":p":{"S":"cat:treeclimbed:"}}') AS d10;
SELECT sks('app', 'pk = :c AND sk BETWEEN :a AND :b', '{":c":{"S":"pets"},":a":{"S":"parrot:words:000006"},":b":{"S":"parrot:words:999999"}}') AS d11;
SELECT sks('app', 'pk = :c AND sk BETWEEN :a AND :b', '{":c":{"S":"pets"},":a":{"S":"parrot:words:000000"},":b":{"S":"parrot:words:000004"}}') AS d12;
SELECT sks('app', 'pk = :c AND begins_with(sk, :p)', '{":c":{"S":"pets"},":p":{"S":"dog:command"}}') AS d13,
       sks('app', 'pk = :c AND begins_with(sk, :p)', '{":c":{"S":"pets"},":p":{"S":"dog:command:"}}') AS d13b;

-- E05 to E07, E11 to E13, E22
SELECT dyn_create_table('happy-projects', 'PK S', 'SK S');
SELECT count(dyn_put('happy-projects', jsonb_build_object('PK', p, 'SK', s, 'data', 'x')))
	FROM (VALUES ('ORG#1', '#METADATA#1'), ('ORG#1', 'PRO#agile#100'), ('ORG#1', 'PRO#fixed bid#102'),
  ('ORG#1', 'PRO#agile#101'), ('ORG#1', 'EMP#200'), ('ORG#1', 'EMP#202'), ('ORG#1', 'EMP#201'), ('ORG#1#PRO#100', 'ORG#1#EMP#200'),
  ('ORG#1#PRO#100', 'ORG#1#EMP#201'), ('ORG#2', '#METADATA#2')) v (p, s);
SELECT condition, sks('happy-projects', 'PK = :org' || condition, vals, attribute => 'SK') FROM (VALUES
  (' AND begins_with(SK, :p)', '{":org":{"S":"ORG#1"},":p":{"S":"PRO#"}}'::dyn_item), (' AND begins_with(SK, :p)', '{":org":{"S":"ORG#1"},":p":{"S":"EMP#"}}'),
  ('', '{":org":{"S":"ORG#1"}}'), (' AND SK BETWEEN :a AND :b', '{":org":{"S":"ORG#1"},":a":{"S":"EMP#"},":b":{"S":"PRO#~"}}'),
  ('', '{":org":{"S":"ORG#1#PRO#100"}}'),
  (' AND begins_with(SK, :p)', '{":org":{"S":"ORG#1"},":p":{"S":"PRO#agile"}}'),
  (' AND begins_with(SK, :p)', '{":org":{"S":"ORG#1"},":p":{"S":"PRO#fixed bid"}}'),
  ('', '{":org":{"S":"ORG#2"}}')) v (condition, vals);

-- Q01 to Q06, Q18, KC02 to KC06: each operator, both directions
SELECT dyn_create_table('mov', 'Actor S', 'Movie S');
SELECT count(dyn_put('mov', jsonb_build_object('Actor', 'T', 'Movie', m))) FROM unnest(ARRAY['a', 'c', 'e', 'b', 'd', '#', 'B', 'é']) m;
SELECT c, sks('mov', 'Actor = :a' || c, v, attribute => 'Movie') AS forward, sks('mov', 'Actor = :a' || c, v, forward => false, attribute => 'Movie')
	AS backward,
       sks('mov', 'Actor = :a' || c, v, max_items => 2, attribute => 'Movie') AS two,
         sks('mov', 'Actor = :a' || c, v, forward => false, max_items => 2, attribute => 'Movie') AS last_two
  FROM (VALUES ('', '{":a":{"S":"T"}}'::dyn_item), (' AND Movie = :m', '{":a":{"S":"T"},":m":{"S":"c"}}'),
    (' AND Movie = :m', '{":a":{"S":"T"},":m":{"S":"cc"}}'),
    (' AND Movie < :m', '{":a":{"S":"T"},":m":{"S":"c"}}'), (' AND Movie <= :m', '{":a":{"S":"T"},":m":{"S":"c"}}'),
    (' AND Movie > :m', '{":a":{"S":"T"},":m":{"S":"c"}}'),
    (' AND Movie >= :m', '{":a":{"S":"T"},":m":{"S":"c"}}'), (' AND Movie BETWEEN :m AND :n', '{":a":{"S":"T"},":m":{"S":"b"},":n":{"S":"d"}}'),
    (' AND Movie BETWEEN :m AND :m', '{":a":{"S":"T"},":m":{"S":"b"}}'), (' AND begins_with(Movie, :m)', '{":a":{"S":"T"},":m":{"S":"c"}}'),
    ('', '{":a":{"S":"Nobody"}}')) v (c, v);
-- KC12 order and sides are free, P19 white space, P18 case
SELECT c, sks('mov', c, '{":a":{"S":"T"},":m":{"S":"c"}}', attribute => 'Movie')
	FROM unnest(ARRAY['Movie = :m AND Actor = :a', ':a = Actor AND :m = Movie', ':a=Actor AND :m<Movie', 'Actor = :a and :m >= Movie',
  '(Actor = :a) AND (Movie > :m)', '(Actor = :a AND Movie > :m)', E'Actor\t=\n:a   AND  begins_with ( Movie , :m )']) c;
-- P04, P05, P17 names; E19 a reserved word needs one
SELECT sks('mov', '#a = :a AND #m > :m', '{":a":{"S":"T"},":m":{"S":"c"}}', '{"#a":"Actor","#m":"Movie"}', attribute => 'Movie');
SELECT dyn_create_table('res', 'PK S', 'data S');
SELECT dyn_put('res', '{"PK":{"S":"x"},"data":{"S":"EMP#Manoj"}}');
SELECT dyn_query('res', 'PK = :p AND begins_with(data, :d)', vals => '{":p":{"S":"x"},":d":{"S":"EMP#"}}');
SELECT dyn_query('res', 'PK = :p AND begins_with(#d, :d)', vals => '{":p":{"S":"x"},":d":{"S":"EMP#"}}', names => '{"#d":"data"}');
-- Q23 a table with a partition key only
SELECT dyn_create_table('hash', 'p S');
SELECT dyn_put('hash', '{"p":{"S":"x"},"n":{"N":"5"}}');
SELECT dyn_query('hash', 'p = :p', vals => '{":p":{"S":"x"}}');
SELECT dyn_query('hash', 'p = :p', vals => '{":p":{"S":"y"}}');
SELECT dyn_query('hash', 'p = :p', vals => '{":p":{"S":"x"}}', start_key => '{"p":{"S":"x"}}');

-- numbers and bytes as sort keys
SELECT dyn_create_table('nums', 'p S', 'c N');
SELECT count(dyn_put('nums', ('{"p":{"S":"a"},"c":{"N":"' || n || '"}}')::dyn_item)) FROM unnest(ARRAY['10', '9', '-1', '1.5', '2e1', '0', '-1.5']) n;
SELECT c, sks('nums', 'p = :p' || c, v, attribute => 'c') FROM (VALUES ('', '{":p":{"S":"a"}}'::dyn_item),
	(' AND c > :c', '{":p":{"S":"a"},":c":{"N":"1.50"}}'),
  (' AND c BETWEEN :c AND :d', '{":p":{"S":"a"},":c":{"N":"-1"},":d":{"N":"9.0"}}'), (' AND c = :c', '{":p":{"S":"a"},":c":{"N":"0.2e2"}}'),
  (' AND c <= :c', '{":p":{"S":"a"},":c":{"N":"-1"}}')) v (c, v);
SELECT dyn_create_table('bins', 'p S', 'c B');
SELECT count(dyn_put('bins', ('{"p":{"S":"a"},"c":{"B":"' || encode(b::bytea, 'base64') || '"}}')::dyn_item))
	FROM unnest(ARRAY['\x00', '\x7f', '\x80', '\xff', '\xffff', '\xfeff', '\xff00', '\xffffff01']) b;
SELECT p, sks('bins', 'p = :p AND begins_with(c, :c)', ('{":p":{"S":"a"},":c":{"B":"' || encode(p::bytea, 'base64') || '"}}')::dyn_item, attribute => 'c')
	FROM unnest(ARRAY['\xff', '\xffff', '\xfe', '\x00', '\xffffff']) p;

-- KC08, KC09 prefixes at the ends of what an upper bound can be
SELECT count(dyn_put('app', ('{"pk":{"S":"edge"},"sk":{"S":"' || s || '"}}')::dyn_item))
	FROM unnest(ARRAY['a', 'b', 'ÿÿÿ', 'cÿbÿ', 'ÿÿ', 'ÿ', 'x\ud7ff', 'x\ud7ffz', 'x\ue000', 'x\udbff\udfff', 'x\udbff\udfff\udbff\udfff', 'y',
  '\udbff\udfff', '\udbff\udfff!', 'z\u0000', 'z\u0000a', 'z\u0001', 'z\u0001a', 'z\u0002', 'z', 'z\u007f', 'z\u0080', 'z\u07ff', 'z\u0800', 'z\uffff',
  'z\ud800\udc00']) s;
SELECT p, (SELECT string_agg((item->'sk')::text, ' ') FROM dyn_query('app', 'pk = :p AND begins_with(sk, :s)',
	vals => ('{":p":{"S":"edge"},":s":{"S":"' || p || '"}}')::dyn_item) AS item)
  FROM unnest(ARRAY['ÿÿ', 'x\ud7ff', 'x\udbff\udfff', '\udbff\udfff', 'z\u0000', 'z\u0001', 'z\u007f', 'z\u07ff', 'z\uffff', 'x\ue000', 'z\ud800\udc00',
    'no']) p;
SELECT p, (SELECT string_agg((item->'sk')::text, ' ') FROM dyn_query('app', 'pk = :p AND sk > :s',
	vals => ('{":p":{"S":"edge"},":s":{"S":"' || p || '"}}')::dyn_item, max_items => 2) AS item),
  (SELECT string_agg((item->'sk')::text, ' ') FROM dyn_query('app', 'pk = :p AND sk < :s', vals => ('{":p":{"S":"edge"},":s":{"S":"' || p || '"}}')::dyn_item,
  max_items => 2, forward => false) AS item)
  FROM unnest(ARRAY['z\u0000', 'z\u0001', 'x\ud7ff', 'ÿÿ']) p;

-- Q10, Q12, Q14 paging: each item once, in order, both ways, under each kind of condition; the start key need not exist
CREATE FUNCTION pages(condition text, vals dyn_item, forward boolean, page int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	start dyn_item;
	items dyn_item[];
	result text := '';
BEGIN
	LOOP
		SELECT array_agg(i) INTO items FROM dyn_query('mov', condition, vals => vals, forward => forward, max_items => page, start_key => start) i;
		EXIT WHEN items IS NULL;
		result := result || (SELECT string_agg(i->>'Movie', '') FROM unnest(items) i) || '|';
		start := items[cardinality(items)];
	END LOOP;
	RETURN result;
END $$;
SELECT c, page, pages('Actor = :a' || c, v, true, page), pages('Actor = :a' || c, v, false, page)
  FROM generate_series(1, 3) page, (VALUES ('', '{":a":{"S":"T"}}'::dyn_item), (' AND Movie < :m', '{":a":{"S":"T"},":m":{"S":"c"}}'),
    (' AND Movie <= :m', '{":a":{"S":"T"},":m":{"S":"c"}}'),
    (' AND Movie >= :m', '{":a":{"S":"T"},":m":{"S":"b"}}'), (' AND Movie > :m', '{":a":{"S":"T"},":m":{"S":"b"}}'),
    (' AND Movie BETWEEN :m AND :n', '{":a":{"S":"T"},":m":{"S":"b"},":n":{"S":"e"}}'),
    (' AND begins_with(Movie, :m)', '{":a":{"S":"T"},":m":{"S":"c"}}')) v (c, v) ORDER BY c, page;
SELECT s, sks('mov', 'Actor = :a AND Movie BETWEEN :m AND :n', '{":a":{"S":"T"},":m":{"S":"b"},":n":{"S":"d"}}',
	start_key => ('{"Actor":{"S":"T"},"Movie":{"S":"' || s || '"}}')::dyn_item, attribute => 'Movie') AS forward,
  sks('mov', 'Actor = :a AND Movie BETWEEN :m AND :n', '{":a":{"S":"T"},":m":{"S":"b"},":n":{"S":"d"}}',
    start_key => ('{"Actor":{"S":"T"},"Movie":{"S":"' || s || '"}}')::dyn_item, forward => false, attribute => 'Movie') AS backward,
  sks('mov', 'Actor = :a AND begins_with(Movie, :m)', '{":a":{"S":"T"},":m":{"S":"c"}}',
    start_key => ('{"Actor":{"S":"T"},"Movie":{"S":"' || s || '"}}')::dyn_item, forward => false, attribute => 'Movie') AS prefix
  FROM unnest(ARRAY['A', 'b', 'bb', 'c', 'cz', 'd', 'z']) s;
SELECT sks('mov', 'Actor = :a', '{":a":{"S":"T"}}', start_key => '{"Actor":{"S":"T"}}');
SELECT sks('mov', 'Actor = :a', '{":a":{"S":"T"}}', start_key => '{"Actor":{"S":"U"},"Movie":{"S":"a"}}');
SELECT sks('mov', 'Actor = :a', '{":a":{"S":"T"}}', start_key => '{"Actor":{"S":"T"},"Movie":{"N":"5"}}');
SELECT sks('mov', 'Actor = :a', '{":a":{"S":"T"}}', start_key => '{"Actor":{"S":"T"},"Movie":{"S":"a"},"x":{"S":"y"}}');
SELECT sks('mov', 'Actor = :a', '{":a":{"S":"T"}}', max_items => 0);
SELECT sks('mov', 'Actor = :a', '{":a":{"S":"T"}}', max_items => -1);

-- V: what a key condition cannot be
CREATE FUNCTION why(condition text, vals dyn_item, names jsonb DEFAULT NULL, table_name text DEFAULT 'mov', OUT state text, OUT message text) LANGUAGE plpgsql
	AS $$
BEGIN
	PERFORM dyn_query(table_name, condition, names => names, vals => vals);
	message := 'accepted';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT;
END $$;
SELECT w.* FROM unnest(ARRAY['Movie = :a', 'Actor > :a', 'Actor < :a', 'begins_with(Actor, :a)', 'Actor BETWEEN :a AND :a', 'Genre = :a',
	'Actor = :a AND Genre = :a', 'Actor = :a OR Movie = :a',
  'NOT Actor = :a', 'Actor = :a AND Movie <> :a', 'Actor = :a AND Movie IN (:a)', 'Actor = :a AND contains(Movie, :a)',
  'Actor = :a AND attribute_exists(Movie)', 'Actor = :a AND size(Movie) > :a',
  'Actor = :a AND Movie > :a AND Movie < :a', 'Actor = :a AND Actor = :a', 'Actor = Movie', 'Actor = :a AND Movie = Actor', 'Actor.x = :a', 'Actor[0] = :a',
  'Actor', ':a', ':a = :a', '', ' ', 'Actor = ', 'Actor = "T"', 'Actor = 5',
  '((Actor = :a))', 'Actor = :a)', '(Actor = :a', 'Actor = :a,', 'Actor == :a', 'Actor != :a', 'begins_with(Movie, :a) AND',
  'Actor = :a AND begins_with(Movie)', 'Actor = :a AND BEGINS_WITH(Movie, :a)', '#x = :a', 'Actor = :nope', 'Ac-tor = :a', 'Year = :a',
  'Actor = :a AND ends_with(Movie, :a)', repeat('(', 4000), repeat('(', 2000) || 'Actor = :a' || repeat(')', 2000), repeat('(', 4000) || 'Actor = :a' ||
  repeat(')', 4000), 'Actor = :a AND Movie = :' || repeat('x', 5000)]) c, LATERAL (SELECT left(c, 60) AS condition, (why(c, '{":a":{"S":"T"}}')).*) w;
SELECT length(c), (why(c, '{":a":{"S":"T"}}')).* FROM (VALUES ('Actor = :a' || repeat(' ', 4096 - 10)), ('Actor = :a' || repeat(' ', 4097 - 10))) v (c);
SELECT c, v, (why(c, v)).* FROM (VALUES ('Actor = :a', '{":a":{"S":"T"},":b":{"S":"x"}}'::dyn_item), ('Actor = :a', NULL), ('Actor = :a', '{}'),
	('Actor = :a', '{"a":{"S":"T"}}'), ('Actor = :a', '{":a":{"N":"5"}}'), ('Actor = :a', '{":a":{"S":""}}'),
  ('Actor = :a', '{":a":{"SS":["T"]}}'), ('Actor = :a AND Movie = :b', '{":a":{"S":"T"},":b":{"N":"5"}}'),
  ('Actor = :a AND Movie < :b', '{":a":{"S":"T"},":b":{"BOOL":true}}'), ('Actor = :a AND Movie BETWEEN :b AND :a', '{":a":{"S":"T"},":b":{"S":"Z"}}'),
  ('Actor = :a AND Movie BETWEEN :a AND :b', '{":a":{"S":"T"},":b":{"N":"5"}}'), ('Actor = :a AND begins_with(Movie, :b)', '{":a":{"S":"T"},":b":{"N":"5"}}'),
  ('Actor = :a AND begins_with(Movie, :b)', '{":a":{"S":"T"},":b":{"S":""}}')) v (c, v);
SELECT (why('Actor = :a', ('{":a":{"S":"' || repeat('x', 2049) || '"}}')::dyn_item)).*;
SELECT (why('p = :p AND begins_with(c, :c)', '{":p":{"S":"a"},":c":{"N":"1"}}', NULL, 'nums')).*;
SELECT n, (why('#a = :a', '{":a":{"S":"T"}}', n)).* FROM unnest(ARRAY['{"#a":"Actor","#b":"x"}', '{"a":"Actor"}', '{"#a":5}', '{"#a":""}', '["#a"]',
	'{"#a":"Nope"}', '{"#a":"Actor"}']::jsonb[]) n;
SELECT (why('x = :a', '{":a":{"S":"T"}}', NULL, 'nope')).*;
SELECT dyn_query(NULL, 'x');
SELECT dyn_query('mov', NULL);
SELECT dyn_query('mov', 'Actor = :a', vals => '{":a":"T"}');
SELECT sks('mov', 'Actor = :a', '{":a":"T"}'::jsonb, max_items => 1, attribute => 'Movie') AS plain_values;

-- the answer is of one snapshot, and is there as far as it is asked for
SELECT count(*) FROM (SELECT dyn_query('mov', 'Actor = :a', vals => '{":a":{"S":"T"}}') LIMIT 3) q;
SELECT item->>'Movie', (SELECT count(*) FROM dyn_query('mov', 'Actor = :a AND Movie < :m', vals => jsonb_build_object(':a', 'T', ':m', item->>'Movie'))
	AS before)
  FROM dyn_query('mov', 'Actor = :a', vals => '{":a":{"S":"T"}}') AS item;
BEGIN;
DECLARE c CURSOR FOR SELECT dyn_query('mov', 'Actor = :a', vals => '{":a":{"S":"T"}}') ->> 'Movie';
FETCH 2 FROM c;
SELECT dyn_delete('mov', '{"Actor":{"S":"T"},"Movie":{"S":"b"}}');
FETCH 2 FROM c;
ROLLBACK;

-- a LIMIT comes too late, in FROM and in the list; max_items ends the read
SELECT dyn_create_table('long', 'pk S', 'n N');
SELECT count(*) FROM generate_series(1, 100) i, LATERAL (SELECT dyn_put('long', jsonb_build_object('pk', 'a', 'n', i))) p;
CREATE FUNCTION rows_read(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	before bigint := (SELECT idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relid = 'long'::regclass);
	item dyn_item;
BEGIN
	EXECUTE query INTO item;
	RETURN (SELECT idx_tup_fetch - before FROM pg_stat_xact_user_tables WHERE relid = 'long'::regclass);
END $$;
SELECT rows_read($$ SELECT item FROM dyn_query('long', 'pk = :a', vals => '{":a":{"S":"a"}}') item LIMIT 1 $$) AS query_limit,
	rows_read($$ SELECT dyn_query('long', 'pk = :a', vals => '{":a":{"S":"a"}}') LIMIT 1 $$) AS in_list,
	rows_read($$ SELECT item FROM dyn_query('long', 'pk = :a', vals => '{":a":{"S":"a"}}', max_items => 1) item $$) AS query_max_items,
	rows_read($$ SELECT item FROM dyn_scan('long') item LIMIT 1 $$) AS scan_limit, rows_read($$ SELECT item FROM dyn_scan('long', max_items => 1) item $$)
		AS scan_max_items;

SELECT dyn_drop_table(t) FROM unnest(ARRAY['app', 'happy-projects', 'mov', 'res', 'hash', 'nums', 'bins', 'long']) t;
DROP FUNCTION sks, pages, why, rows_read;
