-- dyn_export(): items as lines of DynamoDB JSON.
\set SHOW_CONTEXT never
CREATE SCHEMA transfer_export;
SET search_path = transfer_export, public;
SELECT dyn_create_table('app', 'pk S', 'sk N');
SELECT written FROM dyn_import_lines('app',
	e'{"pk":{"S":"b"},"sk":{"N":"2"},"Type":{"S":"User"},"v":{"M":{"l":{"L":[{"N":"1.50"},{"BOOL":false},{"NULL":true}]}}}}\n{"pk":{"S":"b"},"sk":{"N":"10"},'
	'"Type":{"S":"Order"}}\n'
	'{"pk":{"S":"a"},"sk":{"N":"1"},"v":{"S":"quotes \\" \\\\ \\u0000 \\u0001 \\n ü"},"s":{"SS":["x","y"]},"b":{"BS":["AAE="]},"n":{"NS":["1","2"]}}');
-- in the order of the keys
SELECT dyn_export('app');
SELECT dyn_export('app', wrapped => false);
SELECT * FROM dyn_export('app', filter => '#t = :t', names => '{"#t": "Type"}', vals => '{":t": {"S": "User"}}');
COPY (SELECT dyn_export('app')) TO STDOUT WITH (FORMAT csv, QUOTE e'\x01', DELIMITER e'\x02');
-- what comes out can go in
SELECT dyn_create_table('copy', 'pk S', 'sk N');
SELECT items, written FROM dyn_import_lines('copy', (SELECT string_agg(line, e'\n') FROM dyn_export('app') line));
SELECT count(*) AS different FROM app FULL JOIN copy USING (pk, sk) WHERE app.item IS DISTINCT FROM copy.item;
-- an empty table; a table of no sort key
SELECT dyn_create_table('empty', 'id S');
SELECT count(*) FROM dyn_export('empty');

-- by pages: of items, of bytes, with filters that leave whole pages out; each item once, in order
SELECT written FROM dyn_import_lines('app', (SELECT string_agg(format('{"pk":{"S":"c%s"},"sk":{"N":"%s"},"v":{"S":"%s"}}', i % 3, i, repeat('x', i % 500)),
	e'\n') FROM generate_series(1, 4321) i));
SET dynamo_table.max_page_size = 5000;
SELECT count(*), count(DISTINCT line) FROM dyn_export('app') line;
RESET dynamo_table.max_page_size;
SELECT count(*), count(DISTINCT line) FROM dyn_export('app') line;
SELECT bool_and(ordered) FROM (SELECT (p, s) > lag((p, s)) OVER (ORDER BY n) AS ordered
	FROM (SELECT (line::dyn_item ->> 'pk') COLLATE "C" AS p, (line::dyn_item ->> 'sk')::int AS s, n FROM dyn_export('app', wrapped => false) WITH ORDINALITY
	AS x (line, n)) l) y;
SELECT line FROM dyn_export('app', filter => 'sk > :n', vals => '{":n": {"N": "4320"}}') line;
SELECT count(*) FROM dyn_export('app', filter => 'sk > :n', vals => '{":n": {"N": "5000"}}') line;
-- a caller that stops takes no more; several in one statement; its own snapshot
SELECT left(line, 40) FROM (SELECT dyn_export('app') AS line) x LIMIT 2;
SELECT left(dyn_export('app'), 20) AS a, left(dyn_export('copy'), 20) AS b LIMIT 4;
SELECT count(dyn_put('copy', jsonb_build_object('pk', 'new', 'sk', n))) FROM dyn_export('copy') WITH ORDINALITY AS x (line, n);
SELECT count(*) FROM dyn_export('copy');

-- an entity
CREATE FUNCTION why(call text, OUT state text, OUT message text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE call;
	message := 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT;
END $$;
SELECT * FROM why($$SELECT dyn_export('app', 'User')$$);
SELECT dyn_create_table('kinds', 'pk S', 'sk S');
SELECT dyn_create_entity('kinds', 'User', '{"pk": "USER#<Name>", "sk": "USER#<Name>"}', '{"Name": "S text", "Mail": {"type": "S text", "stored": "m"}}');
SELECT dyn_create_entity('kinds', 'Order', '{"pk": "USER#<Name>", "sk": "ORDER#<Id:03>"}', '{"Name": "S text", "Id": "N integer"}');
SELECT dyn_put_entity('kinds', 'User', '{"Name": "ann", "Mail": "a@x"}'::jsonb);
SELECT dyn_put_entity('kinds', 'Order', jsonb_build_object('Name', 'ann', 'Id', i)) FROM generate_series(1, 3) i;
SELECT dyn_export('kinds', 'User');
SELECT dyn_export('kinds', 'Order', wrapped => false, filter => 'Id > :1', vals => '{":1": {"N": "1"}}');
-- arguments and rights
SELECT * FROM why($$SELECT dyn_export(NULL)$$);
SELECT * FROM why($$SELECT dyn_export('none')$$);
SELECT * FROM why($$SELECT dyn_export('app', filter => 'nonsense')$$);
SELECT * FROM why($$SELECT dyn_export('app', vals => '{":n": {"N": "5000"}}')$$);
CREATE ROLE transfer_reader;
GRANT USAGE ON SCHEMA transfer_export TO transfer_reader;
SET ROLE transfer_reader;
SELECT * FROM why($$SELECT dyn_export('app')$$);
RESET ROLE;
GRANT SELECT ON app TO transfer_reader;
ALTER TABLE app ENABLE ROW LEVEL SECURITY;
CREATE POLICY a ON app TO transfer_reader USING (pk = 'b');
SET ROLE transfer_reader;
SET search_path = pg_temp, pg_catalog, transfer_export, public;
SELECT dyn_export('app', wrapped => false);
SET search_path = transfer_export, public;
RESET ROLE;
DROP OWNED BY transfer_reader;
DROP ROLE transfer_reader;
-- expired items are left out where reads leave them out
SELECT dyn_create_table('session', 'id S');
CALL dyn_enable_ttl('session', 'expires', true);
SELECT written FROM dyn_import_lines('session', e'{"id":{"S":"gone"},"expires":{"N":"1700000000"}}\n{"id":{"S":"there"}}');
SELECT dyn_export('session');
SET client_min_messages = warning;
DROP SCHEMA transfer_export CASCADE;
