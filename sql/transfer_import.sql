-- dyn_import_lines() and dyn_import(): DynamoDB JSON lines into a table.
\set SHOW_CONTEXT never
CREATE SCHEMA transfer_import;
SET search_path = transfer_import, public;
SELECT dyn_create_table('app', 'pk S', 'sk N', global_indexes => '{"GSI1": {"partition_key": "g S"}}');
CREATE FUNCTION why(call text, OUT state text, OUT message text, OUT detail text, OUT hint text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE call;
	message := 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
END $$;

-- items, bare and as an export has them; blank lines, a byte order mark, lines that end with CR; the last line of a key wins
SELECT * FROM dyn_import_lines('app',
	e'\ufeff{"Item":{"pk":{"S":"a"},"sk":{"N":"1"},"v":{"S":"first"}}}\r\n \t \n{"pk":{"S":"a"},"sk":{"N":"2"},"g":{"S":"x"}}\r\n\n'
	'{"Item":{"pk":{"S":"a"},"sk":{"N":"1.0"},"v":{"L":[{"B":"AAE="},{"NULL":true}]}}}\n{"sk":{"N":"-3"},"pk":{"S":"\\u0000\\ud83d\\ude00"}}');
SELECT item FROM app ORDER BY pk, sk;
SELECT pk, sk FROM app WHERE g = 'x';
SELECT * FROM dyn_import_lines('app', '');
SELECT * FROM dyn_import_lines('app', e'\n\n');
SELECT dyn_import_lines('APP', '');

-- items with attributes that are named like the members around items
SELECT dyn_create_table('odd', 'Item S');
SELECT dyn_create_table('maps', 'k S');
SELECT written FROM dyn_import_lines('odd',
	e'{"Item":{"S":"bare"}}\n{"Item":{"Item":{"S":"wrapped"}}}\n{"Item":{"S":"N"},"Keys":{"N":"5"}}\n{"Keys":{"M":{}},"Item":{"S":"keys first"}}');
SELECT item FROM odd ORDER BY "Item";
SELECT written FROM dyn_import_lines('maps',
	e'{"Item":{"M":{"a":{"S":"x"}}},"k":{"S":"bare, a map"}}\n{"Item":{"M":{"S":"x"},"k":{"S":"wrapped, an attribute M"}}}\n'
	'{"Item":{"M":{"M":{"M":{"S":"x"}}},"k":{"S":"wrapped, a map M"}}}\n'
	'{"Item":{"M":{"M":{"M":{"S":{"S":"x"}}}}},"k":{"S":"bare, a map M with a map"}}\n{"Item":{"M":{}},"k":{"S":"bare, an empty map"}}\n'
	'{"NewImage":{"BOOL":true},"k":{"S":"bare, like a change"}}\n{"Metadata":{"M":{"WriteTimestampMicros":{"N":"1"}}},"k":{"S":"bare, like metadata"}}');
SELECT item FROM maps ORDER BY k;

-- changes of an incremental export; metadata in whatever form
SELECT * FROM dyn_import_lines('app',
	e'{"Metadata":{"WriteTimestampMicros":{"N":"1"}},"Keys":{"pk":{"S":"a"},"sk":{"N":"1"}},"OldImage":{"pk":{"S":"a"},"sk":{"N":"1"}}}\n'
	'{"Metadata":{"WriteTimestampMicros":1680109764000000},"Keys":{"pk":{"S":"a"},"sk":{"N":"7"}},"NewImage":{"pk":{"S":"a"},"sk":{"N":"7"}}}\n'
	'{"Keys":{"pk":{"S":"a"},"sk":{"N":"2"}},"Metadata":{"WriteTimestampMicros":"3"},"OldImage":{"pk":{"S":"a"},"sk":{"N":"2"},"g":{"S":"x"}},'
	'"NewImage":{"pk":{"S":"a"},"sk":{"N":"2"},"g":{"S":"y"}}}\n'
	'{"NewImage":{"pk":{"S":"b"},"sk":{"N":"1"}}}\n{"Keys":{"pk":{"S":"b"},"sk":{"N":"1"}}}\n{"Keys":{"pk":{"S":"never"},"sk":{"N":"1"}}}');
SELECT item FROM app WHERE pk IN ('a', 'b') ORDER BY pk, sk;

-- what is wrong with a line: all of it is rolled back
CREATE TABLE bad (n serial, line text);
INSERT INTO bad (line) VALUES ('nonsense'), ('{"Item"'), ('{"Item":{"pk":{"S":"a"},"sk":{"N":"1"}}'), ('{"Item":{"pk":{"S":"a"},"sk":{"N":"1"}}} x'),
	('{"Item":5}'), ('{"Item":{}}'), ('{}'), ('[]'), ('5'),
	('{"Item":{"pk":{"S":"a"},"sk":{"N":"1"}},"Rest":1}'), ('{"Item":{"pk":{"S":"a"},"sk":{"N":"1"}},"Item":{"pk":{"S":"a"},"sk":{"N":"1"}}}'),
	('{"Item":{"pk":{"S":"a"},"sk":{"N":"1"}},"Keys":{"pk":{"S":"a"},"sk":{"N":"1"}}}'),
	('{"Metadata":{}}'), ('{"Metadata":{"a":[1,'), ('{"Keys":{"pk":{"S":"a"}}}'), ('{"Keys":{"pk":{"S":"a"},"sk":{"N":"1"},"more":{"S":"x"}}}'),
	('{"Item":{"pk":{"S":"a"},"sk":{"S":"1"}}}'), ('{"Item":{"pk":{"S":""},"sk":{"N":"1"}}}'),
	('{"Item":{"pk":{"S":"a"},"sk":{"N":"one"}}}'), ('{"Item":{"pk":{"S":"a"},"sk":{"N":"1"},"g":{"N":"5"}}}'), ('{"pk":"plain","sk":1}'),
	(e'{"pk":{"S":"a\tb"},"sk":{"N":"1"}}'),
	('{"Item":{"pk":{"S":"a"},"sk":{"N":"1"},"g":{"S":"' || repeat('x', 3000) || '"}}}'),
	('{"Item":{"pk":{"S":"a"},"sk":{"N":"1"},"v":{"S":"' || repeat('x', 409600) || '"}}}');
SELECT n, w.* FROM bad, why(format('SELECT dyn_import_lines(''app'', %L)', e'{"pk":{"S":"z"},"sk":{"N":"1"}}\n\n' || line)) w ORDER BY n;
SELECT count(*) FROM app WHERE pk = 'z';
-- or they are skipped
SELECT items, written, skipped, jsonb_array_length(errors), errors -> 0 AS first, errors -> 19 AS of_the_index
	FROM dyn_import_lines('app', (SELECT string_agg(line, e'\n' ORDER BY n) FROM bad) || e'\n{"pk":{"S":"z"},"sk":{"N":"1"}}', on_error => 'skip');
SELECT items, written, skipped, jsonb_array_length(errors) AS told, errors -> 99 ->> 'line' AS last
	FROM dyn_import_lines('app', repeat(e'nonsense\n', 150) || e'{"pk":{"S":"z"},"sk":{"N":"2"}}', on_error => 'skip');
SELECT pk, sk FROM app WHERE pk = 'z' ORDER BY sk;
-- of which as much is told as people read
SELECT skipped, length(errors -> 0 ->> 'detail') AS told FROM dyn_import_lines('app', repeat('x', 100000), on_error => 'skip');

-- what is there: replaced, kept, or an error
SELECT * FROM dyn_import_lines('app',
	e'{"pk":{"S":"z"},"sk":{"N":"1"},"v":{"S":"new"}}\n{"pk":{"S":"z"},"sk":{"N":"3"},"v":{"S":"one"}}\n{"pk":{"S":"z"},"sk":{"N":"3"},"v":{"S":"two"}}',
	on_conflict => 'keep');
SELECT item FROM app WHERE pk = 'z' ORDER BY sk;
SELECT * FROM why($$SELECT dyn_import_lines('app', e'{"pk":{"S":"z"},"sk":{"N":"4"}}\n{"pk":{"S":"z"},"sk":{"N":"1"}}', on_conflict => 'error')$$);
SELECT * FROM why($$SELECT dyn_import_lines('app', e'{"pk":{"S":"z"},"sk":{"N":"4"}}\n{"pk":{"S":"z"},"sk":{"N":"4"}}', on_conflict => 'error')$$);
SELECT * FROM dyn_import_lines('app', e'{"pk":{"S":"z"},"sk":{"N":"4"}}\n{"pk":{"S":"z"},"sk":{"N":"1"}}\n{"pk":{"S":"z"},"sk":{"N":"4"}}',
	on_conflict => 'error', on_error => 'skip');
SELECT * FROM why($$SELECT dyn_import_lines('app', '{"Keys":{"pk":{"S":"z"},"sk":{"N":"1"}}}', on_conflict => 'keep')$$);
SELECT count(*) FROM app WHERE pk = 'z';

-- what only the write tells: the line is found
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.item ->> 'v' = 'refused' THEN RAISE 'not this one'
	USING DETAIL = 'It is refused.'; END IF; RETURN NEW; END $$;
CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON app FOR EACH ROW EXECUTE FUNCTION refuse();
SELECT string_agg(format('{"pk":{"S":"t"},"sk":{"N":"%s"},"v":{"S":"%s"}}', i, CASE WHEN i IN (77, 500) THEN 'refused' ELSE 'fine' END), e'\n' ORDER BY i)
	AS lines FROM generate_series(1, 1000) i \gset
SELECT * FROM why(format('SELECT dyn_import_lines(''app'', %L)', :'lines'));
SELECT * FROM dyn_import_lines('app', :'lines', on_error => 'skip');
SELECT count(*) FROM app WHERE pk = 't';
DROP TRIGGER refuse ON app;
-- but not that the session is ended, or that something else is wrong
CREATE FUNCTION cancel() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE query_canceled; END $$;
CREATE TRIGGER cancel BEFORE INSERT OR UPDATE ON app FOR EACH ROW EXECUTE FUNCTION cancel();
SELECT dyn_import_lines('app', '{"pk":{"S":"t"},"sk":{"N":"-1"}}', on_error => 'skip');
DROP TRIGGER cancel ON app;

-- local indexes: their rules, and the limit of collections
SELECT dyn_create_table('local', 'pk S', 'sk S', local_indexes => '{"LSI": {"sort_key": "l S"}}');
SELECT string_agg(format('{"pk":{"S":"p"},"sk":{"S":"%s"},"l":{"S":"l"},"v":{"S":"%s"}}', i, repeat('x', 10000)), e'\n') AS lines
	FROM generate_series(1, 60) i \gset
SET dynamo_table.item_collection_size_limit = 500;
SELECT items, written, skipped, errors -> 0 ->> 'message' AS first FROM dyn_import_lines('local', :'lines', on_error => 'skip');
SELECT * FROM why(format('SELECT dyn_import_lines(''local'', %L, on_conflict => ''keep'')', replace(:'lines', '"p"', '"q"')));
RESET dynamo_table.item_collection_size_limit;

-- arguments
SELECT * FROM why($$SELECT dyn_import_lines(NULL, '')$$);
SELECT * FROM why($$SELECT dyn_import_lines('app', NULL)$$);
SELECT * FROM why($$SELECT dyn_import_lines('none', '')$$);
SELECT * FROM why($$SELECT dyn_import_lines('app', '', on_conflict => 'merge')$$);
SELECT * FROM why($$SELECT dyn_import_lines('app', '', on_error => 'ignore')$$);

-- the rows of a table, in batches with commits
CREATE TABLE lines (line text);
INSERT INTO lines SELECT CASE WHEN i % 100 = 0 THEN NULL ELSE format('{"Item":{"pk":{"S":"r%s"},"sk":{"N":"%s"},"v":{"S":"%s"}}}', i % 7, i,
	repeat('x', i % 1000)) END FROM generate_series(1, 5000) i;
CALL dyn_import('app', 'lines', batch_size => 100);
CALL dyn_import('app', 'lines');
CALL dyn_import('app', 'lines', on_conflict => 'keep');
SELECT count(*), sum(length(item ->> 'v')) FROM app WHERE pk LIKE 'r%';
-- lines that are in TOAST; json and jsonb; domains; a temporary table
CREATE DOMAIN json_line AS json;
CREATE TEMPORARY TABLE other (id int, line json_line, note varchar, "B" jsonb);
INSERT INTO other SELECT i, format('{"pk":{"S":"o"},"sk":{"N":"%s"},"v":{"S":"%s"}}', i,
	(SELECT string_agg(md5(i * 1000 + k || ''), '') FROM generate_series(1, 1000) k))::json, 'note', '{"Item": {"pk": {"S": "j"}, "sk": {"N": "1"}}}'
	FROM generate_series(1, 20) i;
CALL dyn_import('app', 'other', 'line', batch_size => 1);
CALL dyn_import('app', 'other', 'B');
SELECT pk, count(*), max(length(item ->> 'v')) FROM app WHERE pk IN ('o', 'j') GROUP BY pk ORDER BY pk;
CALL dyn_import('app', 'other');
CALL dyn_import('app', 'other', 'id');
CALL dyn_import('app', 'other', 'none');
ALTER TABLE lines DROP COLUMN line;
CALL dyn_import('app', 'lines');
CREATE MATERIALIZED VIEW kept_lines AS SELECT '{"pk":{"S":"m"},"sk":{"N":"1"}}'::text AS line;
CALL dyn_import('app', 'kept_lines');
CREATE VIEW seen AS SELECT '{}'::text AS line;
CALL dyn_import('app', 'seen');
-- the batches before the one with the error stay
CREATE TABLE part (line text);
INSERT INTO part SELECT format('{"pk":{"S":"part"},"sk":{"N":"%s"},"v":{"S":"%s"}}', i, repeat('x', 1000)) FROM generate_series(1, 1000) i;
INSERT INTO part VALUES ('nonsense');
CALL dyn_import('app', 'part', batch_size => 50);
SELECT count(*) BETWEEN 500 AND 999 AS most FROM app WHERE pk = 'part';
CALL dyn_import('app', 'part', on_error => 'skip');
CALL dyn_import('app', 'part', batch_size => 0);
CALL dyn_import('app', 'part', batch_size => 1000001);
CALL dyn_import('app', NULL);
CALL dyn_import('app', '0'::regclass);
CALL dyn_import('app', '4294967295'::regclass);
CALL dyn_import('app', 'app_pkey');
CALL dyn_import(NULL, 'part');
CALL dyn_import('none', 'part');
CALL dyn_import('app', 'part', on_conflict => 'x');
BEGIN;
CALL dyn_import('app', 'part');
ROLLBACK;
SET default_transaction_isolation = 'serializable';
CALL dyn_import('app', 'kept_lines');
RESET default_transaction_isolation;
SET default_transaction_read_only = on;
CALL dyn_import('app', 'kept_lines');
RESET default_transaction_read_only;

-- formats: lines of plain JSON; numbers have all their digits
SELECT dyn_create_table('fmt', 'pk S', 'sk N', global_indexes => '{"GSI1": {"partition_key": "g N"}, "GSI2": {"partition_key": "b B"}}');
CREATE FUNCTION import_text(lines text, format text DEFAULT 'auto', types jsonb DEFAULT NULL, on_error text DEFAULT 'stop', OUT result text, OUT errors jsonb)
	LANGUAGE plpgsql AS $$
BEGIN
	TRUNCATE fmt;
	SELECT format('items %s, written %s, kept %s, skipped %s', r.items, r.written, r.kept, r.skipped), r.errors INTO result, errors
		FROM dyn_import_lines('fmt', lines, on_error => on_error, format => format, types => types) r;
END $$;
CREATE FUNCTION stored(lines text, format text DEFAULT 'auto') RETURNS SETOF dyn_item LANGUAGE plpgsql AS $$
BEGIN
	PERFORM import_text(lines, format);
	RETURN QUERY SELECT item FROM fmt ORDER BY pk, sk;
END $$;
SELECT * FROM import_text(e'\ufeff \r\n{"pk":"a","sk":12345678901234567890123456789012345678,"n":-1.50e3,"yes":true,"no":false,"none":null,"l":[1,"a",'
	'{"m":[]}],"m":{"S":"x"},"\\u00e9":"\\u0000\\ud83d\\ude00"}\r\n\n{"m":{"a":1},"sk":2,"pk":"{\\"Item\\""}');
SELECT item FROM fmt ORDER BY pk;
SELECT * FROM import_text(e'{"pk":"a","sk":1}\n{"pk":{"S":"b"},"sk":{"N":"2"}}\n{"pk":"a"\n{"pk":"a","sk":123456789012345678901234567890123456789}\n{"pk":"a",'
	'"sk":"2"}\n5\n{"pk":"","sk":1}\n{"pk":"b","sk":1,"pk":"c"}', on_error => 'skip');
SELECT * FROM import_text(e'{"pk":{"S":"b"},"sk":{"N":"2"}}\n{"pk":"a","sk":1}', on_error => 'skip');
SELECT * FROM import_text('{"pk":{"S":"b"},"sk":{"N":"2"}}', 'plain', on_error => 'skip');
SELECT * FROM import_text('{"pk":"b","sk":2}', 'json', on_error => 'skip');
-- the key tells the two apart, wherever it is; without one, that nothing is an object but values
SELECT * FROM stored('{"m":{"S":"x"},"o":{"a":{}},"pk":"a","sk":1}');
SELECT * FROM stored('{"Item":{"m":{"S":"x"},"pk":{"S":"a"},"sk":{"N":"1"}}}');
SELECT * FROM stored('{"Items":[{"pk":"no item"}],"pk":"a","sk":1}');
SELECT * FROM import_text('{"sk":{"N":"1"},"n":5}', on_error => 'skip');
SELECT * FROM import_text('{"x":"a"}', on_error => 'skip');
SELECT * FROM import_text(e'{"Metadata":5,"Keys":{"pk":{"S":"x"},"sk":{"N":"1"}}}\n{"Keys":{"pk":"x"}}', on_error => 'skip');

-- CSV: keys have the types of the table, the others S or what types says; what is empty is not there, unless it is quoted
SELECT * FROM import_text(e'pk,sk,g,b,"a ""quoted"", name",formula\r\na,1,7,AAE=,"x, ""y""\r\nz",=1+1\r\n"b",2,,,,""\r\n\r\nc,3,,,"",@SUM(A1)\n');
SELECT item FROM fmt ORDER BY pk;
SELECT * FROM import_text(e'\ufeffsk,pk\n1,a\n2,"b"');
SELECT * FROM import_text(e'pk,sk,n,yes,bin,list,map,ss,ns,bs,unset\na,1,1.50,TRUE,AAE=,"[1,""a"",null]","{""a"":{""S"":""x""}}","[""b"",""a""]","[2,1.0]",'
	'"[""AAE=""]",\nb,2,,false,"",[],{},,,,', types =>
	'{"n": "N", "yes": "BOOL", "bin": "B", "list": "L", "map": "M", "ss": "SS", "ns": "NS", "bs": "BS", "unset": "N"}');
SELECT item FROM fmt ORDER BY pk;
-- wrong records are named by the line where they begin
SELECT result, e ->> 'line' AS line, e ->> 'message' AS message
	FROM import_text(e'pk,sk,n,l,s\nok,1,,,\na,1,x,,\na,x,,,\n,1,,,\na,1,,5,\na,1,,"[1],""w"":[2]",\na,1,,"[1",\na,1,,,5\na,1,,,"[1]"\na,1,,,"[""a"",""a""]"\n'
	'a,1,,,[]\n'
	'a,1\na,1,,,,\na"b,1,,,\n"a"b,1,,,\n"a\n\nb",x,,,\n"a",1,,"' || repeat('[', 5000) || e'",\na,\x01,,,\n"""",1,,,\nok,2,,,',
	types => '{"n": "N", "l": "L", "s": "SS"}', on_error => 'skip'), jsonb_array_elements(errors) e;
SELECT pk, sk FROM fmt ORDER BY pk, sk;
SELECT * FROM why($$SELECT import_text(e'pk,sk\na,1\nb,2\n"c\n,"",3\n')$$);
SELECT * FROM why($$SELECT import_text(e'pk,sk\na,1\nb,x')$$);
SELECT w.state, w.message, w.detail FROM unnest('{"","a,b","pk,sk,pk","pk,sk,,x","pk,\"s\"k","\"pk,sk","pk,sk,\"a\n\u001b[31m\"","pk;sk"}'::text[]) WITH
	ORDINALITY u (h, n), why(format('SELECT import_text(%L, ''csv'')', h)) w ORDER BY n;
SELECT w.message FROM why($$SELECT import_text(e'pk,sk,"a\n\t","a\n\t"')$$) w;
SELECT w.message, w.hint FROM unnest('{"[]","5","{\"A\": \"N\"}","{\"sk\": \"S\"}","{\"A\\\"\\n\": \"n\"}","{\"A\\\"\\n\": \"NULL\"}","{\"A\\\"\\n\": 5}",
	"{\"A\\\"\\n\": {\"S\": 1}}","{\"sk\": \"N\"}"}'::text[]) WITH ORDINALITY u (t, n),
	why(format('SELECT import_text(e''pk,sk,"A""\n"\nx,1,y'', types => %L)', t)) w ORDER BY n;
SELECT * FROM why($$SELECT import_text('{"pk":"a","sk":1}', types => '{"n": "N"}')$$);
-- what has no header with the keys is lines, as it was before
SELECT * FROM import_text(e'pk,other\na,1', on_error => 'skip');
SELECT * FROM why($$SELECT import_text(e'pk,other\na,1')$$);
SELECT * FROM why($$SELECT import_text(e'{"pk"')$$);
SELECT * FROM import_text(e'pk;sk\na;1', on_error => 'skip');

-- the output of a scan, in one line or many; DynamoDB JSON, or plain JSON; items in an array; several pages
SELECT * FROM stored(e'{\n    "Items": [\n        {\n            "pk": {\n                "S": "a]}\\\\\\""\n            },\n            "sk": {"N": "1"}\n'
	'        },\n {"pk":{"S":"b"},"sk":{"N":"2"}}\n    ],\n    "Count": 2,\n    "ScannedCount": 2,\n    "ConsumedCapacity": null\n}\n');
SELECT * FROM stored('{"$metadata":{"httpStatusCode":200,"a":["]}"]},"Count":2,"Items":[{"pk":"a","sk":1,"m":{"S":5}},{"pk":"b","sk":2}],
	"LastEvaluatedKey":{"pk":"b"},"ScannedCount":-2.5e1}{"Items":[],"Count":0} {"Items":[{"sk":1,"pk":"c"}]}');
SELECT * FROM stored(' [{"pk":{"S":"a"},"sk":{"N":"1"}}, {"Item":{"pk":{"S":"b"},"sk":{"N":"1"}}}]');
SELECT result, errors FROM import_text('{"Items":[]}'), import_text('[]') AS i(r, e);
SELECT result, e ->> 'item' AS item, e ->> 'message' AS message
	FROM import_text('{"Items":[{"pk":{"S":"a"},"sk":{"N":"1"}}, {"pk":{"S":"a"}}, 5, "x", null, [{}], {"pk":{"S":"a"},"sk":{"N":"x"}},' || repeat('[', 5000) ||
	repeat(']', 5000) || ',{"pk":{"S":"b"},"sk":{"N":"1"}}]}', on_error => 'skip'), jsonb_array_elements(errors) e;
SELECT * FROM why($$SELECT import_text('{"Items":[{"pk":{"S":"a"},"sk":{"N":"1"}},{"pk":{"S":"b"},"sk":{"S":"1"}}]}')$$);
-- cut in the middle, or wrong around the items: nothing can be skipped
SELECT d, w.state, w.message, w.detail FROM unnest('{"{\"Items\":[{\"pk\":{\"S\":\"a\"},\"sk\":{\"N\":\"1\"}},{\"pk\":{\"S\":",
	"{\"Items\":[{\"pk\":{\"S\":\"a\"},\"sk\":{\"N\":\"1\"}}","{\"Items\":[{\"pk\":{\"S\":\"a\"},\"sk\":{\"N\":\"1\"}}]","{\"Items\":[","{","{\"Items\"",
	"{\"Items\":","{\"Items\":[{\"a\\","{\"Items\":[}","{\"Items\":[,]}","{\"Items\":[{} {}]}",
	"{\"Items\":[{},]}","{\"Count\":0}","{\"Items\":null}","{\"Items\":5}","{\"Items\":[]}x","{\"Items\":[],}",
	"{\"Items\":[],\"Items\":[]}","{\"Items\" [}","{Items:[]}","x","","[","[1","{\"a\":}","{\"Items\":[]]"}'::text[]) WITH ORDINALITY u (d, n),
	why(format('SELECT import_text(%L, ''document'', on_error => ''skip'')', d)) w ORDER BY n;

-- documents of other kinds: items over several lines, arrays, bodies of BatchWriteItem; errors have the line where the item begins
SELECT * FROM stored(e'{\n  "pk": {"S": "a"},\n  "sk": {"N": "1"}\n}\n{\n"pk":{"S":"b"},"sk":{"N":"1"}}{"Item":{"pk":{"S":"c"},"sk":{"N":"1"}}}\n');
SELECT * FROM stored(e'{"pk": "a", "sk": 1,\n "l": [1, {"a": "]}"}]}\n\n[{"pk": "b", "sk": 1}]');
SELECT * FROM stored(e'{"pk": {"S": "a"}, "sk": {"N": "1"}}{"pk": {"S": "b"}, "sk": {"N": "1"}}', 'document');
SELECT result, errors FROM import_text(e'{\n"pk":{"S":"a"},\n"sk":{"N":"1"}}\n\n{"pk":{"S":"a"},\n"sk":5}\n{"sk":{"N":"1"}}', on_error => 'skip');
SELECT * FROM why($$SELECT import_text(e'{\n"pk":{"S":"a"},\n"sk":{"N":"1"}}\n{"pk":{"S":"a"}}')$$);
-- a line that was cut is one
SELECT result, errors FROM import_text(e'{"pk":{"S":"a"}\n{"pk":{"S":"a"},"sk":{"N":"1"}}\n{"pk":{"S":"b"},\n"sk":{"N":"1"}}', on_error => 'skip');
SELECT * FROM stored(e'{"T":[{"PutRequest":{"Item":{"pk":{"S":"a"},"sk":{"N":"1"}}}}],"ReturnConsumedCapacity":"TOTAL"}\n'
	'{"T":[{"PutRequest":{"Item":{"pk":{"S":"b"},"sk":{"N":"1"},"PutRequest":{"M":{"Item":{"S":"x"}}}}}}]}');
SELECT * FROM stored('{"ReturnConsumedCapacity":"NONE",
	"RequestItems":{"pk":[{"PutRequest":{"Item":{"pk":{"S":"a"},"sk":{"N":"1"}}}}],"pk":[{"Item":{"pk":{"S":"b"},"sk":{"N":"1"}}}]}}');
SELECT * FROM stored(e'{"PutRequest":{"Item":{"pk":{"S":"a"},"sk":{"N":"1"}}}}\n{"pk":{"S":"b"},"sk":{"N":"1"},"PutRequest":{"M":{"Item":{"S":"x"}}}}');
SELECT result, errors
	FROM import_text(e'{"T":[\n{"DeleteRequest":{"Key":{"pk":{"S":"a"},"sk":{"N":"1"}}}},\n{"PutRequest":{"Item":{"pk":{"S":"a"},"sk":{"N":"1"}}}},'
	'{"PutRequest":{}},{"PutRequest":5},{"PutRequest":{"Item":5}},{"PutRequest":{"Item":{"pk":{"S":"a"},"sk":{"N":"1"}},"Item":{}}},\n{"PutRequest":{"Key":{}}},'
	' 5,'
	'{"PutRequest":{"Item":{"pk":{"S":"a"},"sk":{"N":"1"}}},"Item":{"pk":{"S":"a"},"sk":{"N":"1"}}}]}', on_error => 'skip');
SELECT * FROM why($$SELECT import_text(e'{"T":[\n{"DeleteRequest":{"Key":{"pk":{"S":"a"},"sk":{"N":"1"}}}}]}')$$);
-- which table: nothing is written before all are known
SELECT w.* FROM unnest(ARRAY['{"A":[{"PutRequest":{"Item":{"pk":{"S":"a"},"sk":{"N":"1"}}}}],"B\u0001\"":[]}', '{"A":[{"PutRequest":{}}]' ||
	(SELECT string_agg(format(',"T%s":[]', i), '' ORDER BY i) FROM generate_series(1, 30) i) || '}']) d,
	unnest(ARRAY['NULL', quote_literal('none')]) t, why(format('SELECT dyn_import_lines(''fmt'', %L, from_table => %s)', d, t)) w;
SELECT written FROM dyn_import_lines('fmt',
	'{"A":[{"PutRequest":{"Item":{"pk":{"S":"a"},"sk":{"N":"1"}}}}],
	"B":[{"PutRequest":{"Item":{"pk":{"S":"b"},"sk":{"N":"1"}}}},{"PutRequest":{"Item":{"pk":{"S":"c"},"sk":{"N":"1"}}}}],"A":5}', from_table => 'B');
SELECT item FROM fmt ORDER BY pk;
SELECT w.* FROM unnest(ARRAY['{"Items":[]}', '[]', e'pk,sk', '{"pk":"a"}', '{"pk":{"S":"a"}}', '{"A":[{"PutRequest":{"Item":{"pk":{"S":"a"}}}}],"B":[',
	'{"A":[{"PutRequest":{}}]} x', '{"' || repeat('A', 1025) || '":[{"PutRequest":{}}]}']) d,
	why(format('SELECT dyn_import_lines(''fmt'', %L, from_table => ''A'')', d)) w;
-- Ion is known, and not read
SELECT w.* FROM unnest(ARRAY[e'$ion_1_0 {Item:{pk:"a",sk:1.}}\n', e' \n$ion_1_0 {Item:']) d, why(format('SELECT dyn_import_lines(''fmt'', %L)', d)) w;

-- CSV with other delimiters and with a header that is given
TRUNCATE fmt;
SELECT written FROM dyn_import_lines('fmt', e'pk;sk;"a;b"\n"x;y";1;p,q\nz;2;\n', delimiter => ';');
SELECT written FROM dyn_import_lines('fmt', e'\t3\t\r\nb\t4\t"c""d"', delimiter => e'\t', header => e'n\tsk\tpk', on_error => 'skip');
SELECT errors FROM dyn_import_lines('fmt', e'\t3\t\r\nb\t4\t"c""d"', delimiter => e'\t', header => e'n\tsk\tpk', on_error => 'skip');
SELECT written FROM dyn_import_lines('fmt', e'"1",one\n2,two', header => 'sk,"pk"', types => '{"sk": "N"}');
SELECT item FROM fmt ORDER BY pk;
SELECT w.message FROM unnest(ARRAY['', 'ab', '"', e'\n', 'é']) d, why(format('SELECT dyn_import_lines(''fmt'', ''pk'', delimiter => %L)', d)) w;
SELECT w.message FROM unnest(ARRAY['', 'pk', 'pk,sk,pk', e'pk,sk\nx,1', '"pk,sk', '"pk"x,sk']) h,
	why(format('SELECT dyn_import_lines(''fmt'', ''a,1'', header => %L)', h)) w;
SELECT w.message FROM unnest('{"delimiter => '','', format => ''json''","header => ''pk'', format => ''plain''",
	"header => ''pk'', format => ''document''"}'::text[]) o, why(format('SELECT dyn_import_lines(''fmt'', ''a,1'', %s)', o)) w;

-- under a condition: each line sees what those before it have left, and what does not meet it is skipped
TRUNCATE fmt;
SELECT written FROM dyn_import_lines('fmt', e'{"pk":"a","sk":1,"v":1}\n{"pk":"b","sk":1,"v":5}');
SELECT string_agg(format('{"pk":"%s","sk":1,"v":%s}', p, v), e'\n' ORDER BY v, p) AS lines FROM unnest('{a,b,c}'::text[]) p, generate_series(2, 4) v \gset
SELECT * FROM dyn_import_lines('fmt', :'lines', condition => 'attribute_not_exists(pk) OR #v < :v', names => '{"#v": "v"}', vals => '{":v": {"N": "3"}}');
SELECT item FROM fmt ORDER BY pk;
SELECT items, written, kept, skipped FROM dyn_import_lines('fmt', :'lines', condition => 'attribute_not_exists(pk)');
SELECT items, written, kept, skipped FROM dyn_import_lines('fmt', :'lines', condition => 'attribute_exists(pk)');
SELECT items, written, kept, skipped FROM dyn_import_lines('fmt', e'{"pk":"d","sk":1}\n{"pk":"d","sk":1,"v":1}\n{"pk":"d","sk":1,"v":2}',
	condition => 'attribute_not_exists(v)');
SELECT item FROM fmt ORDER BY pk;
SELECT w.message, w.hint FROM unnest('{"condition => ''pk =''","condition => ''pk = :x''","condition => ''attribute_exists(pk)'', on_conflict => ''keep''",
	"condition => ''attribute_exists(pk)'', vals => ''{\":x\": {\"S\": \"x\"}}''","names => ''{\"#a\": \"a\"}''"}'::text[]) o,
	why(format('SELECT dyn_import_lines(''fmt'', ''{"pk":"a","sk":1}'', %s)', o)) w;
SELECT * FROM why($$SELECT dyn_import_lines('fmt', '{"Keys":{"pk":{"S":"a"},"sk":{"N":"1"}}}', condition => 'attribute_exists(pk)')$$);

-- rows that are lines of CSV or of a document, and the pieces of a file, which end anywhere
CREATE TABLE csv_lines (line text);
INSERT INTO csv_lines VALUES ('pk,sk,n'), ('a,1,"two'), ('lines"'), (NULL), ('b,x,'), ('c,3,');
CALL dyn_import('fmt', 'csv_lines', on_error => 'skip', types => '{"n": "S"}');
CREATE TABLE documents (document json);
INSERT INTO documents VALUES ('{"Items":[{"pk":{"S":"d"},"sk":{"N":"1"}}],"Count":1}'), ('{"Items":[{"pk":{"S":"e"},"sk":{"N":"1"}},
	{"pk":{"S":"f"}}]}');
CALL dyn_import('fmt', 'documents', on_error => 'skip');
SELECT item FROM fmt ORDER BY pk;
-- a row is an item, though it has several lines
TRUNCATE documents;
INSERT INTO documents VALUES (e'{"pk": {"S": "g"},\n"sk": {"N": "1"}}'), (e'{"pk": {"S": "h"}\n}'), ('{"pk": {"S": "h"}, "sk": {"N": "1"}}');
CALL dyn_import('fmt', 'documents', on_error => 'skip');
-- a body of BatchWriteItem as rows; what is refused goes to a table
CREATE TABLE refused (n serial, line text);
TRUNCATE documents;
INSERT INTO documents VALUES ('{"A":[{"PutRequest":{"Item":{"pk":{"S":"h"},"sk":{"N":"1"}}}}]}'),
	('{"B":[{"PutRequest":{"Item":{"pk":{"S":"i"},"sk":{"N":"1"}}}},{"DeleteRequest":{}},5]}');
CALL dyn_import('fmt', 'documents', on_error => 'skip', refused => 'refused');
CALL dyn_import('fmt', 'documents', on_error => 'skip', from_table => 'B', refused => 'refused');
CALL dyn_import('fmt', 'documents', on_error => 'skip', from_table => 'A', condition => 'attribute_not_exists(pk)', refused => 'refused');
SELECT * FROM refused ORDER BY n;
-- what is refused has a limit in a transaction, as items have
CREATE TABLE nonsense (line text);
INSERT INTO nonsense SELECT repeat('x', 3000) FROM generate_series(1, 14000);
CREATE TABLE refused_nonsense (line text);
CALL dyn_import('fmt', 'nonsense', on_error => 'skip', format => 'json', batch_size => 20000, refused => 'refused_nonsense') \gset
SELECT count(*) AS refused, count(DISTINCT xmin::text) > 2 AS in_several, max(length(line)) < 3000 AS short FROM refused_nonsense;
DROP TABLE nonsense, refused_nonsense;
CALL dyn_import('fmt', 'documents', refused => 'documents');
CALL dyn_import('fmt', 'documents', refused => 'csv_lines', column_name => 'x');
CALL dyn_import('fmt', 'documents', refused => '0'::regclass);
CREATE FUNCTION pieces(file bytea, size int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	DROP TABLE IF EXISTS file;
	CREATE TABLE file (note int, piece bytea);
	ALTER TABLE file ALTER piece SET STORAGE EXTERNAL;
	INSERT INTO file SELECT i, CASE WHEN i % 10 < 9 THEN substring(file FROM i / 10 * 9 * size + i % 10 * size + 1 FOR size) END
		FROM generate_series(0, length(file) / size / 9 * 10 + 20) i;
END $$;
SET client_min_messages = warning;
SELECT pieces(convert_to(e'\ufeffpk,sk,v\r\n', 'UTF8') || convert_to(string_agg(format(e'"é%s",%s,"%s\n""%s"""\r\n', i, i, i, repeat('ü', i % 50)), ''),
	'UTF8'), 7) FROM generate_series(1, 1000) i;
TRUNCATE fmt;
CALL dyn_import('fmt', 'file', batch_size => 60);
SELECT count(*), sum(sk), bool_and(pk = 'é' || sk AND item ->> 'v' = format(e'%s\n"%s"', sk, repeat('ü', sk::int % 50))) FROM fmt;
SELECT pieces(convert_to(format('{"Count":1, "Items": [%s]}', string_agg(format('{"pk": {"S": "é%s\"]}"}, "sk": {"N": "%s"}}', i, i), e',\n')), 'UTF8'), 5)
	FROM generate_series(1, 1000) i;
CALL dyn_import('fmt', 'file', 'piece', batch_size => 60);
SELECT count(*), sum(sk) FROM fmt WHERE pk LIKE '%]}';
SELECT pieces(convert_to(format(E'{"RequestItems": {\n"A\u00e9": [%s],\n"B": [%s]}}',
	string_agg(format('{"PutRequest":{"Item":{"pk": {"S": "A"}, "sk": {"N": "%s"}}}}', i), e',\n'),
	string_agg(format('{"PutRequest":{"Item":{"pk": {"S": "B"}, "sk": {"N": "%s"}}}}', CASE i WHEN 500 THEN 'x' ELSE i::text END), e',\n')), 'UTF8'), 700)
	FROM generate_series(1, 1000) i;
CALL dyn_import('fmt', 'file', 'piece', batch_size => 60);
CALL dyn_import('fmt', 'file', 'piece', batch_size => 60, from_table => 'B', on_error => 'skip');
SELECT pk, count(*), sum(sk) FROM fmt WHERE pk IN ('A', 'B') GROUP BY pk;
SELECT pieces(convert_to(string_agg(format(e'{\n\t"pk": {"S": "lines"},\n\t"sk": {"N": "%s"}\n}\n', i), ''), 'UTF8') || repeat(e'\n', 100000)::bytea ||
	'{"a"'::bytea, 700) FROM generate_series(1, 2000) i;
CALL dyn_import('fmt', 'file', 'piece', batch_size => 60);
SELECT count(*), sum(sk) FROM fmt WHERE pk = 'lines';
SELECT pieces('{"'::bytea || '\xff'::bytea || '":[{"PutRequest":{}}]}', 5);
CALL dyn_import('fmt', 'file', format => 'document');
-- lines by their numbers, among them one that is not UTF-8, one with U+0000, and one that is longer than any item
SELECT pieces('{"pk":{"S":"x"},"sk":{"N":"1"}}' || '\x0a7b22706b223a7b2253223a22ff227d7d0a'::bytea || '{"pk":{"S":"' || '\x00'::bytea ||
	e'"},"sk":{"N":"1"}}\r\n\n' || convert_to(repeat('é', 9000000), 'UTF8') || e'\n{"pk":{"S":"x"},"sk":{"N":"2"}}\nnonsense', 500000);
CALL dyn_import('fmt', 'file', on_error => 'skip');
SELECT count(*) FROM fmt WHERE pk = 'x';
CALL dyn_import('fmt', 'file');
SELECT pieces(convert_to(e'pk,sk\na,1\n"' || repeat('é', 9000000), 'UTF8'), 500000);
CALL dyn_import('fmt', 'file', on_error => 'skip');
SELECT pieces(convert_to('{"Items":[{"pk":{"S":"a"},"sk":{"N":"1"}},"' || repeat('é', 9000000), 'UTF8'), 500000);
CALL dyn_import('fmt', 'file', on_error => 'skip');
SELECT pieces(e'\\xff'::bytea || 'pk,sk', 500000);
CALL dyn_import('fmt', 'file', on_error => 'skip', format => 'csv');
SELECT pieces('', 500000);
CALL dyn_import('fmt', 'file');
CALL dyn_import('fmt', 'file', format => 'xml');
CALL dyn_import('fmt', 'file', types => '5');
DROP TABLE file;
RESET client_min_messages;

-- rights: those of the caller, on the lines and on the items
CREATE ROLE transfer_user;
GRANT USAGE ON SCHEMA transfer_import TO transfer_user;
GRANT SELECT ON kept_lines TO transfer_user;
SET ROLE transfer_user;
SELECT * FROM why($$SELECT dyn_import_lines('app', '{"pk":{"S":"m"},"sk":{"N":"1"}}')$$);
SELECT * FROM why($$SELECT dyn_import_lines('app', '{"pk":{"S":"m"},"sk":{"N":"1"}}', on_error => 'skip')$$);
CALL dyn_import('app', 'kept_lines');
CALL dyn_import('app', 'part');
RESET ROLE;
GRANT SELECT, INSERT, UPDATE ON app TO transfer_user;
SET ROLE transfer_user;
CALL dyn_import('app', 'part');
CALL dyn_import('app', 'kept_lines');
RESET ROLE;
-- policies, and names that are put in front of ours
ALTER TABLE app ENABLE ROW LEVEL SECURITY;
CREATE POLICY mine ON app TO transfer_user USING (pk = 'mine') WITH CHECK (pk = 'mine');
CREATE SCHEMA hostile;
CREATE FUNCTION hostile.unnest(anyarray) RETURNS SETOF anyelement LANGUAGE plpgsql AS $$ BEGIN RAISE 'hostile'; END $$;
CREATE FUNCTION hostile.tidge(tid, tid) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'hostile'; END $$;
CREATE OPERATOR hostile.>= (LEFTARG = tid, RIGHTARG = tid, FUNCTION = hostile.tidge);
CREATE DOMAIN hostile.text AS integer;
GRANT USAGE ON SCHEMA hostile TO transfer_user;
SET search_path = hostile, pg_catalog, transfer_import, public;
SET ROLE transfer_user;
SELECT * FROM public.dyn_import_lines('app', e'{"pk":{"S":"mine"},"sk":{"N":"1"}}\n{"pk":{"S":"other"},"sk":{"N":"1"}}\n{"pk":{"S":"mine"},"sk":{"N":"2"}}',
	on_error => 'skip');
SELECT * FROM transfer_import.why($$SELECT public.dyn_import_lines('app', e'{"pk":{"S":"mine"},"sk":{"N":"3"}}\n{"pk":{"S":"other"},"sk":{"N":"1"}}')$$);
CALL public.dyn_import('app', 'kept_lines', on_error => 'skip');
SELECT pk, sk FROM app ORDER BY sk;
RESET ROLE;
SET search_path = transfer_import, public;
DROP SCHEMA hostile CASCADE;
DROP OWNED BY transfer_user;
DROP ROLE transfer_user;
SET client_min_messages = warning;
DROP SCHEMA transfer_import CASCADE;
