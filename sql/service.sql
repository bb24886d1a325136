-- What the service has done since 2026 (docs/semantics.md, SV) where functions of SQL show it; requests are in
-- test/conformance/messages/service.json
\pset format unaligned
\pset tuples_only on
CREATE FUNCTION why(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text;
BEGIN
	EXECUTE 'SELECT ' || statement INTO result;
	RETURN coalesce(left(result, 60), 'NULL');
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE FUNCTION nested(levels int, inside text DEFAULT '{"S":"x"}') RETURNS text LANGUAGE sql AS $$ SELECT repeat('{"M":{"n":', levels) || inside ||
	repeat('}}', levels) $$;
CREATE FUNCTION deep(pk text, levels int) RETURNS text LANGUAGE sql AS $$ SELECT format('{"pk":{"S":"%s"},"d":%s}', pk, nested(levels)) $$;
SELECT dyn_create_table('sv', 'pk S');

-- SV01: size() counts units of UTF-16, dyn_size() bytes of UTF-8
SELECT s, dyn_matches(jsonb_build_object('s', s), 'size(s) = :n', vals => jsonb_build_object(':n', n)) AS units, dyn_size(jsonb_build_object('s', s)) - 1
	AS bytes
FROM (VALUES ('', 0), ('abc', 3), ('é', 1), ('é𝄞', 3), ('こんにちは', 5), (U&'e\0301', 2), (U&'\D7FF\E000\FFFF', 3), (U&'\+010000\+10FFFF', 4),
	(repeat('𝄞', 50000), 100000)) v (s, n) WHERE length(s) < 100
UNION ALL SELECT 'long', dyn_matches(jsonb_build_object('s', repeat('é𝄞a', 50000)), 'size(s) = :n', vals => '{":n":{"N":"200000"}}'),
	dyn_size(jsonb_build_object('s', repeat('é𝄞a', 50000))) - 1;
SELECT dyn_matches('{"s":{"S":"a\u0000\ud834\udd1e"}}', 'size(s) = :n AND size(:s) = :n', vals => '{":n":{"N":"4"},":s":{"S":"\ud834\udd1e\u0000b"}}');
SELECT dyn_put('sv', '{"pk":{"S":"é𝄞"},"s":{"S":"é𝄞"}}') IS NULL;
SELECT count(*) FROM dyn_query('sv', 'pk = :p', filter => 'size(s) = :n', vals => '{":p":{"S":"é𝄞"},":n":{"N":"3"}}');
SELECT count(*) FROM dyn_scan('sv', filter => 'size(pk) = :n AND size(s) < :m', vals => '{":n":{"N":"3"},":m":{"N":"6"}}');
SELECT dyn_execute('SELECT s FROM sv WHERE size(s) = 3 AND size(pk) <> 6');
SELECT why($$dyn_update('sv', '{"pk":{"S":"é𝄞"}}', 'REMOVE s', 'size(s) > :n', vals => '{":n":{"N":"3"}}')$$);

-- SV02: 31 levels in what a call brings or makes, 32 in what is stored
SELECT n, f, why(format(f, deep('a', n), nested(n))) FROM generate_series(31, 32) n,
	unnest(ARRAY['dyn_put(''sv'', %L)', 'count(*) FROM dyn_batch_write(''sv'', puts => ARRAY[%L]::dyn_item[])',
	'dyn_matches(''{}'', ''d <> :d'', vals => format(''{":d":%%s}'', %2$L)::dyn_item)',
	'dyn_apply(''{}'', ''SET d = :d'', vals => format(''{":d":%%s}'', %2$L)::dyn_item) IS NOT NULL',
	'dyn_update(''sv'', ''{"pk":{"S":"a"}}'', ''SET e = :d'', vals => format(''{":d":%%s}'', %2$L)::dyn_item)',
	'dyn_apply(%1$L, ''SET e = d'') IS NOT NULL', 'dyn_apply(%1$L, ''SET e = if_not_exists(e, d)'') IS NOT NULL',
	'count(*) FROM dyn_query(''sv'', ''pk = :p'', filter => ''d = :d'', vals => format(''{":p":{"S":"x"},":d":%%s}'', %2$L)::dyn_item)',
	'count(*) FROM dyn_scan(''sv'', filter => ''d = :d'', vals => format(''{":d":%%s}'', %2$L)::dyn_item)',
	'count(*) FROM dyn_execute(''UPDATE sv SET e = ? WHERE pk = ''''a'''''', format(''[%%s]'', %2$L))',
	'count(*) FROM dyn_execute(''UPDATE sv SET e = ? WHERE pk = ''''a'''''', ARRAY[%2$L]::dyn_value[])',
	'dyn_transact(format(''[{"Put":{"TableName":"sv","Item":%%s}}]'', %1$L))',
	'dyn_transact(format(''[{"Update":{"TableName":"sv","Key":{"pk":{"S":"a"}},"UpdateExpression":"SET d = :d","ExpressionAttributeValues":{":d":%%s}}}]'', '
	'%2$L))',
	'dyn_transact(format(''[{"ConditionCheck":{"TableName":"sv","Key":{"pk":{"S":"a"}},"ConditionExpression":"d <> :d",'
		'"ExpressionAttributeValues":{":d":%%s}}}]'', %2$L))']) f ORDER BY f, n;
-- input, casts, statements of SQL
INSERT INTO sv VALUES (deep('old', 32)::dyn_item);
INSERT INTO sv (item) SELECT ('{"pk":"jsonb","d":' || repeat('[', 32) || repeat(']', 32) || '}')::jsonb;
SELECT why('''' || deep('a', 33) || '''::dyn_item');
CREATE TABLE copies (item dyn_item);
INSERT INTO copies SELECT item FROM sv WHERE pk IN ('old', 'jsonb');
SELECT count(*) FROM copies c JOIN sv USING (item);
DELETE FROM sv WHERE pk IN ('old', 'jsonb');
INSERT INTO sv (item) SELECT item FROM copies;
UPDATE sv SET item = dyn_apply(item, 'SET x = :x', vals => '{":x":{"N":"1"}}') WHERE pk = 'old';
SELECT dyn_update('sv', '{"pk":{"S":"old"}}', 'SET y = :x, d.n.x = :x REMOVE x', vals => '{":x":{"N":"1"}}', return_values => 'UPDATED_NEW');
SELECT why($$dyn_update('sv', '{"pk":{"S":"old"}}', 'SET e = d')$$), why($$dyn_update('sv', '{"pk":{"S":"old"}}', 'SET e = d.n') IS NULL$$);
SELECT why($$dyn_put('sv', item) FROM sv WHERE pk = 'old'$$);
SELECT count(*) FROM dyn_check_table('sv');
SELECT dyn_get('sv', '{"pk":{"S":"old"}}', projection => 'pk'), (dyn_delete('sv', '{"pk":{"S":"old"}}', return_values => 'ALL_OLD')) ->> 'pk';

-- SV04: sizes of numbers
SELECT n, dyn_size(format('{"n":{"N":"%s"}}', n)::dyn_item) - 1 AS size
	FROM unnest(ARRAY['3.14159', '12345.6', '-3.14159', '100', '0', '-0.00', '1', '10.5', '100.05', '0.05', '0.005', '-0.0123', '1e125', '1e-130',
	'1000000.000001', '12345678901234567890.123456789012345678', '1234567890123456789.0123456789012345678', '99.9', '-99.99']) n;
SELECT dyn_size('{"n":{"NS":["3.14159","100","-0.5"]}}') - 1;
-- an item that was not too large before has grown
SELECT n, why(format($$dyn_put('sv', jsonb_build_object('pk', 'full', 'n', 3.14159, 'x', repeat('x', 409600 - 13 + %s))) IS NULL$$, n))
	FROM generate_series(0, 1) n;
DELETE FROM sv WHERE pk = 'full';
INSERT INTO sv (item) VALUES (jsonb_build_object('pk', 'full', 'n', 3.14159, 'x', repeat('x', 409600 - 13 + 1)));
SELECT dyn_size(item) FROM sv WHERE pk = 'full';
SELECT why($$dyn_update('sv', '{"pk":{"S":"full"}}', 'SET y = :n REMOVE n', vals => '{":n":{"N":"1"}}') IS NULL$$),
	why($$dyn_update('sv', '{"pk":{"S":"full"}}', 'SET z = :n', vals => '{":n":{"N":"1"}}')$$);
SELECT why($$jsonb_build_object('pk', 'full', 'n', 3.14159, 'x', repeat('x', 409600 - 13 + 2))::dyn_item$$);
-- with the copy in a local index
SELECT dyn_create_table('svl', 'pk S', 'sk S', local_indexes => '{"ByL": {"sort_key": "l N"}}');
SELECT n, why(format($$dyn_put('svl', jsonb_build_object('pk', 'p', 'sk', 's', 'l', 3.14159, 'x', repeat('x', %s))) IS NULL$$, 204800 - 13 + n))
	FROM generate_series(0, 1) n;
INSERT INTO svl (item) VALUES (jsonb_build_object('pk', 'p', 'sk', 't', 'l', 3.14159, 'x', repeat('x', 204800 - 13 + 1)));
SELECT why($$dyn_update('svl', '{"pk":{"S":"p"},"sk":{"S":"t"}}', 'SET l = :l', vals => '{":l":{"N":"2.71828"}}') IS NULL$$);
DO $$ BEGIN INSERT INTO svl (item) VALUES (jsonb_build_object('pk', 'p', 'sk', 'u', 'l', 3.14159, 'x', repeat('x', 204800 - 13 + 2))); EXCEPTION WHEN OTHERS
	THEN RAISE NOTICE '% %', SQLSTATE, SQLERRM; END $$;

-- SV05: the exponent of zero, which the type ignores
SELECT '{"n":{"N":"0e126"},"m":{"N":"-0.0e-99999999999999999999"}}'::dyn_item;
SELECT n, why(format($$count(*) FROM dyn_execute('SELECT * FROM sv WHERE n = ?', '[{"N":"%s"}]')$$, n)),
	why(format($$count(*) FROM dyn_execute('SELECT * FROM sv WHERE n = %s')$$, n)),
	why(format($$dyn_transact('[{"Put":{"TableName":"sv","Item":{"pk":{"S":"z"},"n":{"N":"%s"}}}}]')$$, n))
		FROM unnest(ARRAY['0e125', '0e126', '0e-130', '0e-131', '0.0e126']) n;

-- SV12: an empty key refuses a transaction
SELECT why(format('dyn_transact(''[{"%s":{"TableName":"sv",%s}}]'')', k, r))
	FROM (VALUES ('Put', '"Item":{"pk":{"S":""}}'), ('Update', '"Key":{"pk":{"S":""}},"UpdateExpression":"REMOVE x"'), ('Delete', '"Key":{"pk":{"S":""}}'),
	('ConditionCheck', '"Key":{"pk":{"S":""}},"ConditionExpression":"attribute_exists(pk)"')) v (k, r);
SELECT why('count(*) FROM dyn_transact_get(''[{"Get":{"TableName":"sv","Key":{"pk":{"S":""}}}}]'')');

-- SV15: list indexes
SELECT i, dyn_apply('{"l":{"L":[{"N":"0"}]}}', 'SET l[' || i || '] = :1', vals => '{":1":{"N":"1"}}'),
	why(format($$dyn_project('{"l":{"L":[]}}', 'l[%s]')$$, i)) FROM unnest(ARRAY['2147483647', '2147483648', '4294967294']) i;
SELECT why($$dyn_project('{}', 'l[4294967295]')$$);

-- SV20: what is set beyond the end of a list is not found at its place
SELECT e, dyn_apply('{"l":{"L":[{"S":"a"},{"S":"b"}]},"m":{"M":{"l":{"L":[]}}},"ss":{"L":[{"SS":["x"]}]}}', e, vals => v::dyn_item,
	return_values => 'UPDATED_NEW')
FROM (VALUES ('SET l[2] = :1', '{":1":{"N":"1"}}'), ('SET l[3] = :1', '{":1":{"N":"1"}}'), ('SET l[5] = :1, l[3] = :2', '{":1":{"N":"1"},":2":{"N":"2"}}'),
	('SET l[2] = :1, l[9] = :2', '{":1":{"N":"1"},":2":{"N":"2"}}'), ('REMOVE l[0] SET l[2] = :1', '{":1":{"N":"1"}}'),
	('REMOVE l[1] SET l[2] = :1, l[0] = :2', '{":1":{"N":"1"},":2":{"N":"2"}}'),
	('SET m.l[0] = :1', '{":1":{"N":"1"}}'), ('SET m.l[1] = :1', '{":1":{"N":"1"}}'), ('SET m.l[1] = :1, m.x = :1', '{":1":{"N":"1"}}'),
	('DELETE ss[0] :s SET ss[1] = :1', '{":1":{"N":"1"},":s":{"SS":["x"]}}'), ('DELETE ss[0] :s SET ss[1] = :1', '{":1":{"N":"1"},":s":{"SS":["y"]}}')) u (e, v);

-- SV22: too many digits of a sum
SELECT why($$dyn_apply('{"n":{"N":"12345678901234567890123456789012345678"}}', 'SET n = n + :v', vals => '{":v":{"N":"0.1"}}')$$);

DROP TABLE sv, svl, copies;
DROP FUNCTION why, nested, deep;
