-- dyn_execute() and dyn_execute_page(): PartiQL for SQL users.
\set SHOW_CONTEXT never
CREATE SCHEMA partiql;
SET search_path = partiql, public;
SELECT dyn_create_table('app', 'pk S', 'sk N',
	global_indexes => '{"byKind":{"partition_key":"kind S","sort_key":"sk N","projection":"INCLUDE","non_key_attributes":["v"]}}',
	local_indexes => '{"byRank":{"sort_key":"rank N","projection":"KEYS_ONLY"}}');

-- writes: rows are what RETURNING asks for
SELECT dyn_execute('INSERT INTO app VALUE {''pk'': ''a'', ''sk'': 1, ''kind'': ''x'', ''v'': <<''p'', ''q''>>, ''rank'': 9}');
SELECT dyn_execute('INSERT INTO app VALUE {''pk'': ''a'', ''sk'': 1}');
SELECT dyn_execute('UPDATE app SET v = set_add(v, <<''r''>>) SET n = 1 REMOVE rank WHERE pk = ''a'' AND sk = 1');
SELECT dyn_execute('UPDATE app SET n = n + 1 WHERE pk = ''a'' AND sk = 1 RETURNING ' || clause || ' *')
	FROM unnest(ARRAY['ALL OLD', 'ALL NEW', 'MODIFIED OLD', 'MODIFIED NEW']) clause;
SELECT dyn_execute('FROM app WHERE pk = ''a'' AND sk = 1 SET v = <<''p''>> REMOVE gone RETURNING MODIFIED NEW *');
SELECT dyn_execute('UPDATE app SET n = 50 WHERE pk = ''nobody'' AND sk = 1');
SELECT dyn_execute('UPDATE app SET n = 5 WHERE pk = ''a'' AND sk = 1 AND n > 100');
SELECT dyn_execute('UPDATE app SET n = 7 WHERE pk = ''a'' AND sk = 1 AND n > 100', return_values_on_condition_check_failure => 'ALL_OLD');
SELECT dyn_execute('DELETE FROM app WHERE pk = ''nobody'' AND sk = 1 RETURNING ALL OLD *');
SELECT dyn_execute('DELETE FROM app WHERE pk = ''a'' AND sk = 1 AND n = 1 RETURNING ALL OLD *');
SELECT dyn_execute('DELETE FROM app WHERE pk = ''a'' AND sk = 1 AND n = 5 RETURNING ALL OLD *');
SELECT count(*) FROM app;
-- errors
SELECT dyn_execute('UPDATE app SET n = 5 WHERE pk = ''a''');
SELECT dyn_execute('SELEC * FROM app');
SELECT dyn_execute('SELECT Count FROM app');
SELECT dyn_execute('SELECT * FROM app WHERE pk = upper(''a'')');
SELECT dyn_execute('SELECT * FROM nothing');
SELECT dyn_execute('SELECT * FROM app.nothing WHERE kind = ''x''');
SELECT dyn_execute('EXISTS(SELECT * FROM app WHERE pk = ''a'' AND sk = 1 AND n = 2)');
SELECT dyn_execute('');

-- parameters of each type: as text
SELECT dyn_execute('INSERT INTO app VALUE {''pk'': ?, ''sk'': ?, ''kind'': ?, ''b'': ?, ''bool'': ?, ''null'': ?, ''l'': ?, ''m'': ?, ''ss'': ?, ''ns'': ?,
	''bs'': ?}',
	'[{"S": "p"}, {"N": "12345678901234567890123456789012345678"}, {"S": "it''s ? \u0000 \"x\""}, {"B": "AAH/"}, {"BOOL": true},
	{"NULL": true}, {"L": [{"N": "1"}, {"S": ""}]}, {"M": {"a b": {"N": "1E-130"}}}, {"SS": ["b", "a"]}, {"NS": ["1.0", "2"]}, {"BS": ["AA==", "AQ=="]}]');
SELECT item FROM app;
-- and so they find what they have made, in conditions of all kinds
SELECT count(*) FROM dyn_execute('SELECT * FROM app WHERE pk = ? AND sk = ? AND kind = ? AND b = ? AND "bool" = ? AND "null" = ? AND l = ? AND m = ?
	AND ss = ? AND ns = ? AND bs = ?',
	'[{"S": "p"}, {"N": "12345678901234567890123456789012345678.0"}, {"S": "it''s ? \u0000 \"x\""}, {"B": "AAH/"}, {"BOOL": true},
	{"NULL": true}, {"L": [{"N": "1.0"}, {"S": ""}]}, {"M": {"a b": {"N": "1E-130"}}}, {"SS": ["a", "b"]}, {"NS": ["2", "1"]}, {"BS": ["AQ==", "AA=="]}]');
-- as json and jsonb, plain
SELECT dyn_execute('UPDATE app SET kind = ?, l = ?, n = ?, t = ?, nil = ? WHERE pk = ? AND sk = ? RETURNING MODIFIED NEW *',
	'["z", [1.50, {"N": "0", "M": null}, []], -98765432109876543210987654321098765432, "\u0000", null, "p", 12345678901234567890123456789012345678]'::json);
SELECT dyn_execute('UPDATE app SET kind = ?, l = ?, n = ?, t = ?, nil = ? WHERE pk = ? AND sk = ? RETURNING MODIFIED NEW *',
	jsonb_build_array('y', ARRAY[1.50], -98765432109876543210987654321098765432, true, null, 'p', 12345678901234567890123456789012345678));
-- as values, of items or of SQL
SELECT dyn_execute('SELECT kind FROM app WHERE pk = ? AND sk = ?', ARRAY[item -> 'pk', item -> 'sk']) FROM app;
SELECT dyn_execute('UPDATE app SET day = ?, n = ? WHERE pk = ? AND sk = ? RETURNING MODIFIED NEW *',
	ARRAY[dyn_to_value(date '2026-01-02'), dyn_to_value(1.0), '{"S":"p"}', item -> 'sk']) FROM app WHERE pk = 'p';
-- as the text form of an array, as drivers send arrays without a type
SELECT dyn_execute('SELECT kind FROM app WHERE pk = ? AND kind = ?', '{"{\"S\":\"p\"}","{\"S\":\"y\"}"}');
SELECT dyn_execute('SELECT kind FROM app WHERE pk = ''p''', p) FROM unnest(ARRAY[' [ ] ', '{}', NULL]) p;
SELECT dyn_execute('SELECT kind FROM app WHERE pk = ''p''', '{}'::dyn_value[]);
SELECT dyn_execute('SELECT kind FROM app WHERE pk = ''p''', NULL::dyn_value[]), dyn_execute('SELECT kind FROM app WHERE pk = ''p''', NULL::jsonb);
-- what no statement has a parameter for is not looked at
SELECT dyn_execute('SELECT kind FROM app WHERE pk = ?', '["p", "surplus"]'::jsonb);
-- nothing of a value is text of the statement
SELECT dyn_execute('SELECT kind FROM app WHERE pk = ?', jsonb_build_array($$x' OR pk = 'p$$));
SELECT dyn_execute('SELECT kind FROM app WHERE pk = ''?''');
-- errors, which come before those of the statement
\set VERBOSITY terse
SELECT dyn_execute('SELECT', p) FROM (VALUES ('[{"N": "abc"}]')) v (p);
\set VERBOSITY default
CREATE FUNCTION why(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	message text;
	detail text;
	hint text;
BEGIN
	EXECUTE 'SELECT ' || call;
	RETURN 'fine';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(' | ', SQLSTATE, message, nullif(detail, ''), nullif(hint, ''));
END $$;
SELECT p, why(format('dyn_execute(''SELECT * FROM app WHERE pk = ?'', %L)', p))
	FROM unnest(ARRAY['', ' ', '[', 'x', '"x"', '7', 'null', '[1]', '["x"]', '[null]', '[{}]', '[{"S": 1}]', '[{"S": "a"}] x', '[{"S": "a", "N": "1"}]',
	'[{"N": ""}]', '[{"N": "1E126"}]', '[{"NULL": false}]',
	'[{"SS": ["a", "a"]}]', '[{"SS": []}]', '[{"B": "?"}]', '{NULL}', '{"x"}', '{', '{{"{\"S\":\"a\"}"},{"{\"S\":\"b\"}"}}', '[]']) p;
SELECT left(why(format('dyn_execute(''SELECT * FROM app WHERE pk = ?'', %L)', repeat('[{"L":', 40))), 80);
SELECT p, why(format('dyn_execute(''SELECT * FROM app WHERE pk = ?'', %L::jsonb)', p)),
	why(format('dyn_execute(''SELECT * FROM app WHERE pk = ?'', %L::json)', p))
	FROM unnest(ARRAY['"p"', '{}', '[]', '[{"S": "p"}]', '[{"M": {}}]', '[{"": 1}]', '[1e126]']) p;
SELECT p, why(format('dyn_execute(''SELECT * FROM app WHERE pk = ?'', %L::dyn_value[])', p))
	FROM unnest(ARRAY['{NULL}', '{"{\"S\":1}"}', '{}', '{"{\"N\":\"1\"}"}']) p;
SELECT why('dyn_execute(''SELECT * FROM app WHERE pk = ?'', (SELECT format(''[%s]'', string_agg(''{"S":"a"}'', '','')) FROM generate_series(1, 10000)))');
SELECT why(format('dyn_execute(%L)', 'SELECT * FROM app WHERE pk = ''' || repeat('x', 8200) || ''''));
-- NULL arguments
SELECT dyn_execute(NULL);
SELECT dyn_execute(NULL, '[]');
SELECT dyn_execute('SELECT kind FROM app WHERE pk = ''p''', NULL, NULL, NULL, NULL);
SELECT item_count, next_token FROM dyn_execute_page('SELECT kind FROM app WHERE pk = ''p''', NULL, NULL, NULL, NULL, NULL);
SELECT dyn_execute('SELECT kind FROM app', max_items => 0);
SELECT dyn_execute('SELECT kind FROM app', return_values_on_condition_check_failure => 'SOME');
DELETE FROM app;

-- reads
SELECT dyn_execute('INSERT INTO app VALUE {''pk'': ?, ''sk'': ?, ''kind'': ?, ''rank'': ?, ''v'': ?}', jsonb_build_array(p, s, 'k' || s % 2, -s, p || s))
	FROM unnest(ARRAY['a', 'b', 'c']) p, generate_series(1, 6) s;
SELECT dyn_execute('SELECT pk, sk FROM app WHERE pk IN [''c'', ''a''] AND sk BETWEEN 2 AND 3 ORDER BY pk DESC, sk');
SELECT dyn_execute('SELECT pk, sk FROM app.byKind WHERE kind = ''k1'' AND sk > 3');
SELECT dyn_execute('SELECT v, rank FROM app.byRank WHERE pk = ''a'' AND rank < -4');
SELECT dyn_execute('SELECT * FROM app.byRank WHERE pk = ''a'' AND rank < -4');
SELECT count(*), sum((i ->> 'sk')::int) FROM dyn_execute('SELECT sk FROM app WHERE v <> ''a1''') i;
SELECT dyn_execute('SELECT sk FROM app WHERE pk = ? AND sk > 1 AND rank < -2', '[{"S": "a"}]', max_items => 2);
SELECT dyn_execute('SELECT sk FROM app WHERE pk = ''a'' AND sk = 1', consistent_read => true);
SELECT dyn_execute('SELECT sk FROM app.byKind WHERE kind = ''k1''', consistent_read => true);

-- pages
SELECT items, item_count, scanned_count, next_token IS NULL AS last FROM dyn_execute_page('SELECT sk FROM app WHERE pk = ''a'' AND rank < -2', page_size => 3);
CREATE FUNCTION pages(statement text, parameters text, page_size bigint, OUT pages int, OUT counts bigint[], OUT scanned bigint[],
	OUT same boolean) LANGUAGE plpgsql AS $$
DECLARE
	page record;
	found dyn_item[] := '{}';
	token text;
BEGIN
	pages := 0;
	LOOP
		SELECT * INTO page FROM dyn_execute_page(statement, parameters, page_size => page_size, next_token => token);
		found := found || page.items;
		counts := counts || page.item_count;
		scanned := scanned || page.scanned_count;
		pages := pages + 1;
		token := page.next_token;
		EXIT WHEN token IS NULL;
	END LOOP;
	same := found = ARRAY(SELECT dyn_execute(statement, parameters));
END $$;
SELECT statement, p.* FROM unnest(ARRAY['SELECT * FROM app', 'SELECT * FROM app WHERE sk > 3', 'SELECT sk FROM app WHERE pk = ?',
	'SELECT sk FROM app WHERE pk IN [?, ''c''] AND sk > 2 ORDER BY pk DESC', 'SELECT * FROM app.byKind WHERE kind = ''k0'' AND v > ''b''',
	'SELECT * FROM app WHERE pk = ? AND pk = ''z''']) statement, pages(statement, '[{"S":"a"}]', 4) p;
-- a token is that of its statement, its parameters and this database
SELECT next_token AS token FROM dyn_execute_page('SELECT sk FROM app WHERE pk = ?', '["a"]'::jsonb, page_size => 2) \gset
SELECT items FROM dyn_execute_page('SELECT sk FROM app WHERE pk = ?', '[{"S":"a"}]', page_size => 9, next_token => :'token');
SELECT dyn_execute_page('SELECT sk FROM app WHERE pk = ?', '["b"]'::jsonb, next_token => :'token');
SELECT dyn_execute_page('SELECT sk FROM app WHERE pk = ? ', '["a"]'::jsonb, next_token => :'token');
SELECT dyn_execute_page('SELECT sk FROM app WHERE pk = ?', '["a"]'::jsonb, next_token => overlay(:'token' PLACING 'x' FROM length(:'token') - 5));
SELECT dyn_execute_page('SELECT sk FROM app WHERE pk = ?', '["a"]'::jsonb, next_token => t) FROM unnest(ARRAY['?']) t;
SELECT dyn_execute_page('SELECT sk FROM app WHERE pk = ?', '["a"]'::jsonb, next_token => repeat(:'token', 1000));
SELECT dyn_execute_page('SELECT sk FROM app WHERE pk = ?', '["a"]'::jsonb, next_token => '');
SELECT dyn_execute_page('DELETE FROM app WHERE pk = ? AND sk = 1', '["a"]'::jsonb, next_token => :'token');
SELECT dyn_execute_page('SELECT sk FROM app', page_size => 0);
-- a write is one page
SELECT * FROM dyn_execute_page('UPDATE app SET v = 1 WHERE pk = ''a'' AND sk = 1 RETURNING MODIFIED NEW *');
SELECT * FROM dyn_execute_page('UPDATE app SET v = 2 WHERE pk = ''a'' AND sk = 1');
SELECT dyn_execute_page('UPDATE app SET v = 2 WHERE pk = ''a'' AND sk = 1 AND v = 3', return_values_on_condition_check_failure => 'ALL_OLD');

-- in transactions, savepoints and functions, prepared, and in cursors
BEGIN;
SELECT dyn_execute('INSERT INTO app VALUE {''pk'': ''t'', ''sk'': 1}');
SAVEPOINT s;
SELECT dyn_execute('UPDATE app SET n = 1 WHERE pk = ''t'' AND sk = 1 RETURNING ALL NEW *');
ROLLBACK TO s;
SELECT dyn_execute('SELECT * FROM app WHERE pk = ''t''');
DECLARE c CURSOR FOR SELECT i ->> 'sk' AS sk FROM dyn_execute('SELECT sk FROM app WHERE pk = ''a'' ORDER BY sk DESC') i;
FETCH 2 FROM c;
SELECT dyn_execute('DELETE FROM app WHERE pk = ''a'' AND sk = 4 RETURNING ALL OLD *');
FETCH 2 FROM c;
ROLLBACK;
SELECT dyn_execute('SELECT * FROM app WHERE pk = ''t''');
BEGIN READ ONLY;
SELECT dyn_execute('SELECT sk FROM app WHERE pk = ''a'' AND sk = 4');
SELECT dyn_execute('DELETE FROM app WHERE pk = ''a'' AND sk = 4');
ROLLBACK;
PREPARE statement AS SELECT dyn_execute($1, $2);
EXECUTE statement ('SELECT sk FROM app WHERE pk = ? AND sk < ?', '[{"S":"b"},{"N":"3"}]');
EXECUTE statement ('INSERT INTO app VALUE {''pk'': ?, ''sk'': ?}', '[{"S":"t"},{"N":"3"}]');
EXECUTE statement ('DELETE FROM app WHERE pk = ? AND sk = ? RETURNING ALL OLD *', '{"{\"S\":\"t\"}","{\"N\":\"3\"}"}');
PREPARE plain (jsonb) AS SELECT dyn_execute('SELECT sk FROM app WHERE pk = ? AND sk = ?', $1);
EXECUTE plain ('["b", 3]');
-- a table that is made again is another one
DO $$
DECLARE
	kind text;
	n int;
BEGIN
	FOREACH kind IN ARRAY ARRAY['S', 'N', 'S'] LOOP
		PERFORM dyn_create_table('again', 'pk ' || kind);
		PERFORM dyn_execute('INSERT INTO again VALUE {''pk'': ?}', jsonb_build_array(CASE kind WHEN 'N' THEN '1'::jsonb ELSE '"one"' END));
		SELECT count(*) INTO n FROM dyn_execute('SELECT * FROM again WHERE pk = ?', jsonb_build_array(CASE kind WHEN 'N' THEN '1'::jsonb ELSE '"one"' END));
		RAISE NOTICE '%: %', kind, n;
		PERFORM dyn_drop_table('again');
	END LOOP;
END $$;
-- what a function writes its next statement reads, and a query sees what was there when it began
CREATE FUNCTION twice() RETURNS SETOF dyn_item LANGUAGE plpgsql AS $$
BEGIN
	PERFORM dyn_execute('INSERT INTO app VALUE {''pk'': ''f'', ''sk'': 1}');
	RETURN QUERY SELECT dyn_execute('UPDATE app SET n = 1 WHERE pk = ''f'' AND sk = 1 RETURNING ALL NEW *');
	RETURN QUERY SELECT dyn_execute('SELECT sk, n FROM app WHERE pk = ''f''');
	PERFORM dyn_execute('DELETE FROM app WHERE pk = ''f'' AND sk = 1');
	RETURN QUERY SELECT dyn_execute('SELECT sk, n FROM app WHERE pk = ''f''');
END $$;
SELECT twice();
DO $$
BEGIN
	PERFORM dyn_execute('INSERT INTO app VALUE {''pk'': ''a'', ''sk'': 1}');
EXCEPTION WHEN SQLSTATE 'YD017' THEN
	RAISE NOTICE '%: %', dyn_error_name(SQLSTATE), SQLERRM;
END $$;
-- a row for each item, in FROM, in a select list and laterally
SELECT p, i FROM (VALUES ('a'), ('z'), ('b')) v (p), dyn_execute('SELECT sk FROM app WHERE pk = ? AND sk < 3', jsonb_build_array(p)) i;
SELECT p, dyn_execute('SELECT sk FROM app WHERE pk = ? AND sk < 3', jsonb_build_array(p)) FROM (VALUES ('a'), ('z'), ('b')) v (p);

-- names by the search_path; schemas, and names of all kinds
SELECT dyn_create_table('a "b".c', 'k S');
SELECT dyn_execute('INSERT INTO "a ""b"".c" VALUE {''k'': ''1'', ''it''''s'': 1}');
SELECT dyn_execute('SELECT "it''s" FROM "a ""b"".c" WHERE k = ''1''');
SET search_path = public;
SELECT partiql.why($$dyn_execute('SELECT sk FROM app WHERE pk = ''a'' AND sk = 2')$$);
SELECT dyn_execute('SELECT sk FROM "partiql.app" WHERE pk = ''a'' AND sk = 2');
SELECT dyn_execute('SELECT sk FROM "partiql.app"."byRank" WHERE pk = ''a'' AND rank = -2');
-- nothing is looked up by what somebody has put before pg_catalog
CREATE SCHEMA hostile;
CREATE FUNCTION hostile.taken() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'looked up on the search_path'; END $$;
CREATE FUNCTION hostile.eq(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT hostile.taken()';
CREATE FUNCTION hostile.eq(numeric, numeric) RETURNS boolean LANGUAGE sql AS 'SELECT hostile.taken()';
CREATE OPERATOR hostile.= (LEFTARG = text, RIGHTARG = text, FUNCTION = hostile.eq);
CREATE OPERATOR hostile.= (LEFTARG = numeric, RIGHTARG = numeric, FUNCTION = hostile.eq);
CREATE FUNCTION hostile.dyn_execute(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT hostile.taken()';
SET search_path = hostile, partiql, pg_catalog;
SELECT public.dyn_execute('UPDATE app SET w = 1 WHERE pk = ''a'' AND sk = 2 AND v = ''a2'' RETURNING MODIFIED NEW *', '[]');
SELECT public.dyn_execute('SELECT w FROM app WHERE pk = ''a'' AND sk = 2', '{}'::public.dyn_value[]);
SELECT item_count FROM public.dyn_execute_page('SELECT v FROM app.byKind WHERE kind = ''k1''');
SELECT action FROM public.dyn_explain_statement('SELECT w FROM app');
SET client_min_messages = error;
DROP SCHEMA hostile CASCADE;
SET search_path = partiql, public;

-- entities are enforced, and streams have the changes
SELECT dyn_create_table('shop', 'pk S', 'sk S');
SELECT dyn_create_entity('shop', 'Order', '{"pk": "C#<Customer>", "sk": "O#<Id>"}', '{"Customer": "S", "Id": "S", "Total": "N"}');
SELECT dyn_enforce_entities('shop');
SELECT dyn_execute('INSERT INTO shop VALUE {''pk'': ?, ''sk'': ?, ''Customer'': ''1'', ''Id'': ''7'', ''Total'': 3, ''Type'': ''Order''}',
	'["C#1", "O#7"]'::jsonb);
SELECT why($$dyn_execute('INSERT INTO shop VALUE {''pk'': ?, ''sk'': ?, ''Customer'': ''2'', ''Id'': ''7'', ''Total'': 3, ''Type'': ''Order''}',
	'["C#1", "O#8"]'::jsonb)$$);
SELECT why($$dyn_execute('UPDATE shop SET Total = ''much'' WHERE pk = ''C#1'' AND sk = ''O#7''')$$);
SELECT dyn_execute('UPDATE shop SET Total = Total + ? WHERE pk = ''C#1'' AND sk = ''O#7'' RETURNING ALL NEW *', '[0.5]'::jsonb);

-- T14: a parameter is the value of an attribute, and has 31 levels, as text and as a value of SQL
SELECT dyn_create_table('deep', 'pk S');
CREATE FUNCTION nested(n int) RETURNS text LANGUAGE sql RETURN repeat('{"L":[', n) || '{"S":"x"}' || repeat(']}', n);
SELECT n, why(format('dyn_execute(%L, %L)', format('INSERT INTO deep VALUE {''pk'': ''text %s'', ''v'': ?}', n), format('[%s]', nested(n))))
	FROM generate_series(31, 32) n;
SELECT n, why(format('dyn_execute(%L, %L)', format('INSERT INTO deep VALUE {''pk'': ''array %s'', ''v'': ?}', n), ARRAY[nested(n)]))
	FROM generate_series(31, 32) n;
SELECT n, why(format('dyn_execute(%L, ARRAY[%L::dyn_value])', 'UPDATE deep SET v = ? WHERE pk = ''text 31''', nested(n))) FROM generate_series(31, 32) n;
SELECT n, why(format('dyn_request(%L, %L)', 'ExecuteStatement',
	format('{"Statement":"INSERT INTO deep VALUE {''pk'': ''request %s'', ''v'': ?}","Parameters":[%s]}', n, nested(n)))) FROM generate_series(31, 32) n;
SELECT n, why(format('dyn_request(%L, %L)', 'UpdateItem', format('{"TableName":"deep","Key":{"pk":{"S":"legacy %s"}},"AttributeUpdates":{"v":{"Value":%s}}}',
	n, nested(n)))) FROM generate_series(31, 32) n;
-- what is stored can be read as text again
SELECT pk, item::text::dyn_item = item AS same FROM deep ORDER BY pk;
DROP SCHEMA partiql CASCADE;
