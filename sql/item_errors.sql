-- Malformed input: each error has its SQLSTATE, its place and its reason.
CREATE FUNCTION why(input text, type text DEFAULT 'dyn_item', OUT state text, OUT message text, OUT detail text) AS $$
BEGIN
	EXECUTE format('SELECT %L::%s', input, type);
	message := 'accepted';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
END $$ LANGUAGE plpgsql;

-- no JSON
SELECT i, (why(i)).* FROM unnest(ARRAY['', ' ', '{', '}', '{"a"', '{"a":', '{"a":{', '{"a":{"S"', '{"a":{"S":', '{"a":{"S":"x"',
  '{"a":{"S":"x"}', '{"a":{"S":"x"}}}', '{"a":{"S":"x"},}', '{,}', '{"a" {"S":"x"}}', '{"a":{"S" "x"}}', '{"a":{"L":[}}',
  '{"a":{"L":[{"S":"x"},]}}', '{"a":{"L":[{"S":"x"} {"S":"y"}]}}', '{"a":{"SS":["x" "y"]}}', '{"a":{"SS":["x",]}}', '{a:{"S":"x"}}', '{"a":{S:"x"}}',
  '{"a":{"S":"x}}', '{"a":{"S":"\x"}}', '{"a":{"S":"\u12"}}', '{"a":{"S":"\u12G4"}}', E'{"a":{"S":"\t"}}', '{"a":{"S":''x''}}', 'x', '{"a":tru}',
  '{"a":{"S":"x"}} {}', '{1:{"S":"x"}}', '{"é":{"S":"é"},"ü":x}']) i;

-- no item
SELECT i, (why(i)).* FROM unnest(ARRAY['[]', '"a"', '5', 'null', 'true', '{"a":5}', '{"a":"x"}', '{"a":null}', '{"a":[]}',
  '{"a":{"b":"c"}}', '{"a":{"L":{"0":{"S":"x"}}}}', '{"a":{"L":"x"}}', '{"a":{"L":[5]}}', '{"a":{"M":[]}}', '{"a":{"M":{"b":5}}}', '{"a":{"SS":"x"}}',
  '{"a":{"SS":{}}}', '{"a":{"S":null}}', '{"a":{"S":true}}', '{"a":{"S":{}}}', '{"a":{"N":null}}', '{"a":{5:"x"}}']) i;

-- where: characters, not bytes, and the document path
SELECT i, (why(i)).* FROM unnest(ARRAY[
  '{"ééé":{"N":"x"}}', '{"a":{"L":[{"S":"x"},{"M":{"b":{"L":[{"N":"1"},{"N":"2"},{"N":"no"}]}}}]}}',
  '{"a":{"S":"x"},"b":{"N":"1"},"a":{"S":"y"}}', '{"m":{"M":{"x":{"M":{"k":{"S":"1"},"k":{"S":"2"}}}}}}',
  '{"a":{"L":[{"SS":["q","r","q"]}]}}', '{"a\u0000b":{"N":"\u0000"}}']) i;
SELECT (why('{"' || repeat('long', 50) || '":{"N":"' || repeat('x', 200) || '"}}')).*;

-- surrogates
SELECT i, (why(i)).* FROM unnest(ARRAY['{"a":{"S":"\ud800"}}', '{"a":{"S":"\udc00"}}', '{"a":{"S":"\udc00\ud800"}}',
  '{"a":{"S":"\ud800x"}}', '{"a":{"S":"\ud800\ud800"}}', '{"a":{"S":"\ud800\n"}}', '{"\ud800":{"S":"x"}}', '{"a":{"SS":["\ud800"]}}',
  '{"a":{"\ud800":"x"}}', '{"a":{"S":"\ud83d\ude00"}}', '{"a":{"\u0053":"x"}}']) i;

-- bytes that are not UTF-8 do not get as far
SELECT convert_from('\x7b2261223a7b2253223a22ff227d7d', 'UTF8')::dyn_item;

-- plain JSON
SELECT i, (why(i, 'json::dyn_item')).*, (why(i, 'jsonb::dyn_item')).* FROM unnest(ARRAY['[]', '5', '"x"', 'null', '{"n":1e126}',
  '{"n":1e-131}', '{"a":{"b":[1,123456789012345678901234567890123456789]}}', '{"pk":{"S":"a"}}', '{"pk":{"S":"a"},"sk":{"N":"5"}}',
  '{"a":{"S":"\ud800"}}']) i;
SELECT (why('{"a":1,"a":2}', 'json::dyn_item')).*;
SELECT '{"a":"\u0000"}'::json::dyn_item;

-- values
SELECT i, (why(i, 'dyn_value')).* FROM unnest(ARRAY['', '{}', '5', '"x"', '[]', '{"S":"x"}', '{"S":"x"}x', '{"S":"x","N":"1"}', '{"Q":"x"}',
	'{"L":[{"S":5}]}']) i;

-- an item from text needs the cast: no parameter is guessed at
CREATE TABLE params (item dyn_item);
INSERT INTO params SELECT '{"a":{"S":"x"}}'::text;
INSERT INTO params SELECT '{"a":{"S":"x"}}'::varchar;
INSERT INTO params SELECT '{"a":{"S":"x"}}'::text::dyn_item;
INSERT INTO params VALUES ('{"a":{"S":"x"}}'), ('{"a":"x"}'::json), ('{"a":"x"}'::jsonb);
SELECT item, count(*) FROM params GROUP BY item;

-- the hints
SELECT '{"a":"x"}'::dyn_item;
SELECT '{"pk":{"S":"a"}}'::jsonb::dyn_item;
SELECT '{"pk":{"S":"a\u0000"}}'::dyn_item::jsonb;

-- one format for a database: UTF8
SELECT current_database() AS here \gset
CREATE DATABASE latin ENCODING LATIN1 TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C';
\c latin
\set VERBOSITY terse
CREATE EXTENSION dynamo_table;
\set VERBOSITY default
\c :here
DROP DATABASE latin;
DROP TABLE params;
DROP FUNCTION why;
