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
SELECT * FROM dyn_import_lines('app', e'\ufeff{"Item":{"pk":{"S":"a"},"sk":{"N":"1"},"v":{"S":"first"}}}\r\n \t \n{"pk":{"S":"a"},"sk":{"N":"2"},"g":{"S":"x"}}\r\n\n'
	'{"Item":{"pk":{"S":"a"},"sk":{"N":"1.0"},"v":{"L":[{"B":"AAE="},{"NULL":true}]}}}\n{"sk":{"N":"-3"},"pk":{"S":"\\u0000\\ud83d\\ude00"}}');
SELECT item FROM app ORDER BY pk, sk;
SELECT pk, sk FROM app WHERE g = 'x';
SELECT * FROM dyn_import_lines('app', '');
SELECT * FROM dyn_import_lines('app', e'\n\n');
SELECT dyn_import_lines('APP', '');

-- items with attributes that are named like the members around items
SELECT dyn_create_table('odd', 'Item S');
SELECT dyn_create_table('maps', 'k S');
SELECT written FROM dyn_import_lines('odd', e'{"Item":{"S":"bare"}}\n{"Item":{"Item":{"S":"wrapped"}}}\n{"Item":{"S":"N"},"Keys":{"N":"5"}}\n{"Keys":{"M":{}},"Item":{"S":"keys first"}}');
SELECT item FROM odd ORDER BY "Item";
SELECT written FROM dyn_import_lines('maps', e'{"Item":{"M":{"a":{"S":"x"}}},"k":{"S":"bare, a map"}}\n{"Item":{"M":{"S":"x"},"k":{"S":"wrapped, an attribute M"}}}\n'
	'{"Item":{"M":{"M":{"M":{"S":"x"}}},"k":{"S":"wrapped, a map M"}}}\n{"Item":{"M":{"M":{"M":{"S":{"S":"x"}}}}},"k":{"S":"bare, a map M with a map"}}\n{"Item":{"M":{}},"k":{"S":"bare, an empty map"}}\n'
	'{"NewImage":{"BOOL":true},"k":{"S":"bare, like a change"}}\n{"Metadata":{"M":{"WriteTimestampMicros":{"N":"1"}}},"k":{"S":"bare, like metadata"}}');
SELECT item FROM maps ORDER BY k;

-- changes of an incremental export; metadata in whatever form
SELECT * FROM dyn_import_lines('app', e'{"Metadata":{"WriteTimestampMicros":{"N":"1"}},"Keys":{"pk":{"S":"a"},"sk":{"N":"1"}},"OldImage":{"pk":{"S":"a"},"sk":{"N":"1"}}}\n'
	'{"Metadata":{"WriteTimestampMicros":1680109764000000},"Keys":{"pk":{"S":"a"},"sk":{"N":"7"}},"NewImage":{"pk":{"S":"a"},"sk":{"N":"7"}}}\n'
	'{"Keys":{"pk":{"S":"a"},"sk":{"N":"2"}},"Metadata":{"WriteTimestampMicros":"3"},"OldImage":{"pk":{"S":"a"},"sk":{"N":"2"},"g":{"S":"x"}},"NewImage":{"pk":{"S":"a"},"sk":{"N":"2"},"g":{"S":"y"}}}\n'
	'{"NewImage":{"pk":{"S":"b"},"sk":{"N":"1"}}}\n{"Keys":{"pk":{"S":"b"},"sk":{"N":"1"}}}\n{"Keys":{"pk":{"S":"never"},"sk":{"N":"1"}}}');
SELECT item FROM app WHERE pk IN ('a', 'b') ORDER BY pk, sk;

-- what is wrong with a line: all of it is rolled back
CREATE TABLE bad (n serial, line text);
INSERT INTO bad (line) VALUES ('nonsense'), ('{"Item"'), ('{"Item":{"pk":{"S":"a"},"sk":{"N":"1"}}'), ('{"Item":{"pk":{"S":"a"},"sk":{"N":"1"}}} x'), ('{"Item":5}'), ('{"Item":{}}'), ('{}'), ('[]'), ('5'),
	('{"Item":{"pk":{"S":"a"},"sk":{"N":"1"}},"Rest":1}'), ('{"Item":{"pk":{"S":"a"},"sk":{"N":"1"}},"Item":{"pk":{"S":"a"},"sk":{"N":"1"}}}'), ('{"Item":{"pk":{"S":"a"},"sk":{"N":"1"}},"Keys":{"pk":{"S":"a"},"sk":{"N":"1"}}}'),
	('{"Metadata":{}}'), ('{"Metadata":{"a":[1,'), ('{"Keys":{"pk":{"S":"a"}}}'), ('{"Keys":{"pk":{"S":"a"},"sk":{"N":"1"},"more":{"S":"x"}}}'), ('{"Item":{"pk":{"S":"a"},"sk":{"S":"1"}}}'), ('{"Item":{"pk":{"S":""},"sk":{"N":"1"}}}'),
	('{"Item":{"pk":{"S":"a"},"sk":{"N":"one"}}}'), ('{"Item":{"pk":{"S":"a"},"sk":{"N":"1"},"g":{"N":"5"}}}'), ('{"pk":"plain","sk":1}'), (e'{"pk":{"S":"a\tb"},"sk":{"N":"1"}}'),
	('{"Item":{"pk":{"S":"a"},"sk":{"N":"1"},"g":{"S":"' || repeat('x', 3000) || '"}}}'), ('{"Item":{"pk":{"S":"a"},"sk":{"N":"1"},"v":{"S":"' || repeat('x', 409600) || '"}}}');
SELECT n, w.* FROM bad, why(format('SELECT dyn_import_lines(''app'', %L)', e'{"pk":{"S":"z"},"sk":{"N":"1"}}\n\n' || line)) w ORDER BY n;
SELECT count(*) FROM app WHERE pk = 'z';
-- or they are skipped
SELECT items, written, skipped, jsonb_array_length(errors), errors -> 0 AS first, errors -> 19 AS of_the_index
	FROM dyn_import_lines('app', (SELECT string_agg(line, e'\n' ORDER BY n) FROM bad) || e'\n{"pk":{"S":"z"},"sk":{"N":"1"}}', on_error => 'skip');
SELECT items, written, skipped, jsonb_array_length(errors) AS told, errors -> 99 ->> 'line' AS last
	FROM dyn_import_lines('app', repeat(e'nonsense\n', 150) || e'{"pk":{"S":"z"},"sk":{"N":"2"}}', on_error => 'skip');
SELECT pk, sk FROM app WHERE pk = 'z' ORDER BY sk;

-- what is there: replaced, kept, or an error
SELECT * FROM dyn_import_lines('app', e'{"pk":{"S":"z"},"sk":{"N":"1"},"v":{"S":"new"}}\n{"pk":{"S":"z"},"sk":{"N":"3"},"v":{"S":"one"}}\n{"pk":{"S":"z"},"sk":{"N":"3"},"v":{"S":"two"}}', 'keep');
SELECT item FROM app WHERE pk = 'z' ORDER BY sk;
SELECT * FROM why($$SELECT dyn_import_lines('app', e'{"pk":{"S":"z"},"sk":{"N":"4"}}\n{"pk":{"S":"z"},"sk":{"N":"1"}}', 'error')$$);
SELECT * FROM why($$SELECT dyn_import_lines('app', e'{"pk":{"S":"z"},"sk":{"N":"4"}}\n{"pk":{"S":"z"},"sk":{"N":"4"}}', 'error')$$);
SELECT * FROM dyn_import_lines('app', e'{"pk":{"S":"z"},"sk":{"N":"4"}}\n{"pk":{"S":"z"},"sk":{"N":"1"}}\n{"pk":{"S":"z"},"sk":{"N":"4"}}', 'error', 'skip');
SELECT * FROM why($$SELECT dyn_import_lines('app', '{"Keys":{"pk":{"S":"z"},"sk":{"N":"1"}}}', 'keep')$$);
SELECT count(*) FROM app WHERE pk = 'z';

-- what only the write tells: the line is found
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.item ->> 'v' = 'refused' THEN RAISE 'not this one' USING DETAIL = 'It is refused.'; END IF; RETURN NEW; END $$;
CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON app FOR EACH ROW EXECUTE FUNCTION refuse();
SELECT string_agg(format('{"pk":{"S":"t"},"sk":{"N":"%s"},"v":{"S":"%s"}}', i, CASE WHEN i IN (77, 500) THEN 'refused' ELSE 'fine' END), e'\n' ORDER BY i) AS lines FROM generate_series(1, 1000) i \gset
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
SELECT string_agg(format('{"pk":{"S":"p"},"sk":{"S":"%s"},"l":{"S":"l"},"v":{"S":"%s"}}', i, repeat('x', 10000)), e'\n') AS lines FROM generate_series(1, 60) i \gset
SET dynamo_table.item_collection_size_limit = 500;
SELECT items, written, skipped, errors -> 0 ->> 'message' AS first FROM dyn_import_lines('local', :'lines', on_error => 'skip');
SELECT * FROM why(format('SELECT dyn_import_lines(''local'', %L, ''keep'')', replace(:'lines', '"p"', '"q"')));
RESET dynamo_table.item_collection_size_limit;

-- arguments
SELECT * FROM why($$SELECT dyn_import_lines(NULL, '')$$);
SELECT * FROM why($$SELECT dyn_import_lines('app', NULL)$$);
SELECT * FROM why($$SELECT dyn_import_lines('none', '')$$);
SELECT * FROM why($$SELECT dyn_import_lines('app', '', 'merge')$$);
SELECT * FROM why($$SELECT dyn_import_lines('app', '', on_error => 'ignore')$$);

-- the rows of a table, in batches with commits
CREATE TABLE lines (line text);
INSERT INTO lines SELECT CASE WHEN i % 100 = 0 THEN NULL ELSE format('{"Item":{"pk":{"S":"r%s"},"sk":{"N":"%s"},"v":{"S":"%s"}}}', i % 7, i, repeat('x', i % 1000)) END FROM generate_series(1, 5000) i;
CALL dyn_import('app', 'lines', batch_size => 100);
CALL dyn_import('app', 'lines');
CALL dyn_import('app', 'lines', on_conflict => 'keep');
SELECT count(*), sum(length(item ->> 'v')) FROM app WHERE pk LIKE 'r%';
-- lines that are in TOAST; json and jsonb; domains; a temporary table
CREATE DOMAIN json_line AS json;
CREATE TEMPORARY TABLE other (id int, line json_line, note varchar, "B" jsonb);
INSERT INTO other SELECT i, format('{"pk":{"S":"o"},"sk":{"N":"%s"},"v":{"S":"%s"}}', i, (SELECT string_agg(md5(i * 1000 + k || ''), '') FROM generate_series(1, 1000) k))::json, 'note', '{"Item": {"pk": {"S": "j"}, "sk": {"N": "1"}}}' FROM generate_series(1, 20) i;
CALL dyn_import('app', 'other', 'line', 1);
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
SELECT * FROM public.dyn_import_lines('app', e'{"pk":{"S":"mine"},"sk":{"N":"1"}}\n{"pk":{"S":"other"},"sk":{"N":"1"}}\n{"pk":{"S":"mine"},"sk":{"N":"2"}}', on_error => 'skip');
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
