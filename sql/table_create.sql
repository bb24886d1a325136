-- dyn_create_table(), dyn_drop_table(), dyn_describe_table(): docs/semantics.md, K01 to K05, K20 to K23.
SELECT dyn_create_table('app', 'pk S', 'sk S');
\d app
SELECT reloptions, amname FROM pg_class c JOIN pg_am a ON a.oid = c.relam WHERE relname = 'app';
SELECT dyn_describe_table('app') - 'TableSizeBytes';

-- K02, K04, K05 any names, S, N or B, with a sort key or without
SELECT dyn_create_table('Movies', 'Actor S', 'Movie S', fillfactor => 70);
SELECT dyn_create_table('hash-only', 'Customer Id N');
-- a list is a name as well, but hardly meant as one
BEGIN;
SELECT dyn_create_table('list', 'pk S, sk S');
ROLLBACK;
SELECT dyn_create_table('bytes.and.dots', 'b B', 'n N');
SELECT dyn_describe_table('hash-only') - 'TableSizeBytes', dyn_describe_table('bytes.and.dots') -> 'AttributeDefinitions';
SELECT reloptions FROM pg_class WHERE relname = 'Movies';

-- K04 no other type
SELECT dyn_create_table('bad', 'pk BOOL');
SELECT dyn_create_table('bad', 'pk SS');
SELECT dyn_create_table('bad', 'pk s');
SELECT dyn_create_table('bad', 'pk');
SELECT dyn_create_table('bad', 'S');
SELECT dyn_create_table('bad', ' S');
SELECT dyn_create_table('bad', '');
SELECT dyn_create_table('bad', 'pk S', 'pk N');
SELECT dyn_create_table('bad', NULL);
SELECT dyn_create_table(NULL, 'pk S');
SELECT dyn_create_table('bad', 'pk S', fillfactor => 5);

-- K22 names: those that a relation may have, and longer ones
SELECT dyn_create_table('', 'pk S');
SELECT dyn_create_table(repeat('x', 256), 'pk S');
SELECT dyn_create_table('app', 'pk S');
CREATE FUNCTION name_it(name text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	described jsonb;
	arn text;
BEGIN
	PERFORM dyn_create_table(name, 'pk S', global_indexes => jsonb_build_object(name, '{"partition_key": "g S"}'::jsonb));
	PERFORM dyn_put(name, '{"pk": {"S": "a"}, "g": {"S": "b"}}');
	described := dyn_request('DescribeTable', json_build_object('TableName', name)) -> 'Table';
	arn := described ->> 'TableArn';
	RETURN jsonb_build_object('name', described ->> 'TableName', 'arn', arn, 'by arn', dyn_get(arn, '{"pk": {"S": "a"}}') -> 'g',
		'found', (SELECT count(*) FROM dyn_query(name, 'g = :g', vals => '{":g": {"S": "b"}}', index_name => name)),
		'indexes', (SELECT json_agg(i ->> 'IndexArn') FROM jsonb_array_elements(described -> 'GlobalSecondaryIndexes') i));
END $$;
SELECT name_it(name) FROM unnest(ARRAY['x', 'with space', 'drop table"', 'Straße/100%', 'a:b', E'two\nlines', '*', repeat('é', 40)]) name;
SELECT dyn_request('ListTables', '{"Limit": 2, "ExclusiveStartTableName": "two\nlines"}');
SELECT dyn_request('ListTables', json_build_object('Limit', 1, 'ExclusiveStartTableName', 'with'));
SELECT dyn_get('arn:aws:dynamodb:x:1:table/' || name, '{"pk": {"S": "a"}}') IS NOT NULL AS there
	FROM unnest(ARRAY['x', '%78', 'Stra%C3%9Fe%2F100%25', 'Straße%2f100%25']) name;
SELECT dyn_get('arn:aws:dynamodb:x:1:table/' || name, '{"pk": {"S": "a"}}') FROM unnest(ARRAY['Straße/100%']) name;
SELECT dyn_get('arn:aws:dynamodb:x:1:table/x%7', '{"pk": {"S": "a"}}');
SELECT dyn_get('arn:aws:dynamodb:x:1:table/%FF', '{"pk": {"S": "a"}}');
SELECT dyn_request('CreateTable', '{"TableName": "with space", "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
	"KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}], "BillingMode": "PAY_PER_REQUEST"}');
SELECT dyn_request('UpdateTable', '{"TableName": "with space", "DeletionProtectionEnabled": true}') -> 'TableDescription' ->> 'TableName' AS updated;
SELECT dyn_request('TagResource', '{"ResourceArn": "arn:aws:dynamodb:local:000000000000:table/with%20space", "Tags": [{"Key": "a", "Value": "b"}]}');
SELECT dyn_request('UpdateTable', '{"TableName": "with space", "DeletionProtectionEnabled": false}') -> 'TableDescription' ->> 'TableName' AS updated;
SELECT dyn_drop_table(name) FROM unnest(ARRAY['x', 'with space', 'drop table"', 'Straße/100%', 'a:b', E'two\nlines', '*', repeat('é', 40)]) name;
SELECT dyn_create_table('long' || repeat('x', 251), 'pk S');
SELECT dyn_put('long' || repeat('x', 251), '{"pk":{"S":"a"}}');
SELECT dyn_get('long' || repeat('x', 251), '{"pk":{"S":"a"}}');
SELECT relname FROM pg_class WHERE relname ~ '^long' AND relkind = 'r';
SELECT dyn_get('nope', '{"pk":{"S":"a"}}');
SELECT dyn_get('', '{"pk":{"S":"a"}}');
SELECT dyn_get('pg_class', '{"pk":{"S":"a"}}');
SELECT dyn_drop_table('nope');
SELECT dyn_drop_table('pg_class');
SELECT dyn_describe_table('nope');

SELECT dyn_get(repeat('é', 300), '{"pk":{"S":"a"}}');
-- what no column can be called, a table can
SELECT dyn_create_table('item', 'pk S'), dyn_create_table('ctid', 'pk S');
SELECT dyn_put('item', '{"pk":{"S":"a"}}');
SELECT item FROM item;
SELECT dyn_drop_table('item'), dyn_drop_table('ctid');

-- columns: names that cannot be identifiers, or that a column has already
SELECT dyn_create_table('odd', 'item S', 'ctid S');
SELECT dyn_put('odd', '{"item":{"S":"i"},"ctid":{"S":"c"}}');
SELECT dyn_create_table('longkey', repeat('é', 100) || ' S', repeat('k', 255) || ' N');
SELECT dyn_put('longkey', jsonb_build_object(repeat('é', 100), 'p', repeat('k', 255), 1));
SELECT attname, octet_length(attname) FROM pg_attribute WHERE attrelid IN ('odd'::regclass, 'longkey'::regclass) AND attnum > 1;
SELECT dyn_create_table('toolong', repeat('k', 256) || ' S');

-- K23, quoting: an attribute name that would like to be SQL
SELECT dyn_create_table('quoted', 'a"); DROP TABLE app; -- S', 'it''s {a,\b} S');
SELECT dyn_put('quoted', '{"a\"); DROP TABLE app; --":{"S":"x"},"it''s {a,\\b}":{"S":"y"}}');
SELECT * FROM quoted;

-- a schema in the name; the whole name comes second
CREATE SCHEMA prod;
SELECT dyn_create_table('prod.users', 'pk S');
SELECT dyn_put('prod.users', '{"pk":{"S":"in schema prod"}}');
SELECT item FROM prod.users;
SELECT dyn_create_table('test.users', 'pk S');
SELECT dyn_put('test.users', '{"pk":{"S":"whole name"}}');
SELECT item FROM "test.users";
SELECT dyn_create_table('prod.users', 'pk S');
SET search_path = pg_catalog;
SELECT public.dyn_get('prod.users', '{"pk":{"S":"in schema prod"}}');
SELECT public.dyn_create_table('prod.others', 'pk S');
SELECT public.dyn_put('prod.others', '{"pk":{"S":"x"}}', return_values => 'ALL_OLD');
SELECT public.dyn_delete('prod.others', '{"pk":{"S":"x"}}', return_values => 'ALL_OLD');
RESET search_path;
-- a temporary table does not take the place of one that is named with its schema; nor does a schema that is not to be used hide one
CREATE TEMP TABLE "prod.users" (LIKE prod.users INCLUDING ALL);
SELECT dyn_get('prod.users', '{"pk":{"S":"in schema prod"}}');
CREATE SCHEMA test;
CREATE ROLE regress_elsewhere;
GRANT SELECT ON "test.users" TO regress_elsewhere;
SET ROLE regress_elsewhere;
SELECT dyn_get('test.users', '{"pk":{"S":"whole name"}}');
SELECT dyn_get('test.others', '{"pk":{"S":"x"}}');
RESET ROLE;
DROP TABLE pg_temp."prod.users";
-- nor of one that is not there, or is not in a schema
CREATE TEMP TABLE "prod.none" (LIKE prod.users INCLUDING ALL);
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON pg_temp."prod.none" FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S');
CREATE TEMP TABLE "none.none" (LIKE prod.users INCLUDING ALL);
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON pg_temp."none.none" FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S');
SELECT dyn_put('prod.none', '{"pk":{"S":"x"}}');
SELECT dyn_put('none.none', '{"pk":{"S":"x"}}');
SET search_path = pg_temp, public;
SELECT dyn_put('none.none', '{"pk":{"S":"x"}}');
RESET search_path;
DROP TABLE pg_temp."prod.none", pg_temp."none.none";
REVOKE ALL ON "test.users" FROM regress_elsewhere;
DROP ROLE regress_elsewhere;
DROP SCHEMA test;

-- a hostile search_path: operators and functions of others are not called
CREATE SCHEMA evil;
CREATE FUNCTION evil.eq(text, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'called'; END $$;
CREATE OPERATOR evil.= (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.eq);
CREATE FUNCTION evil.keys_match(dyn_item, text[], text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'called'; END $$;
SET search_path = evil, pg_catalog, public;
SELECT dyn_create_table('safe', 'pk S');
SELECT dyn_put('safe', '{"pk":{"S":"x"}}', return_values => 'ALL_OLD'), dyn_get('safe', '{"pk":{"S":"x"}}');
RESET search_path;

-- rename, move and drop by plain SQL, in one session with what is cached of the table
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"S":"b"}}');
ALTER TABLE app RENAME TO renamed;
SELECT dyn_get('app', '{"pk":{"S":"a"},"sk":{"S":"b"}}');
SELECT dyn_get('renamed', '{"pk":{"S":"a"},"sk":{"S":"b"}}');
ALTER TABLE renamed SET SCHEMA prod;
SELECT dyn_get('prod.renamed', '{"pk":{"S":"a"},"sk":{"S":"b"}}');
ALTER SCHEMA prod RENAME TO live;
SELECT dyn_get('live.renamed', '{"pk":{"S":"a"},"sk":{"S":"b"}}');
ALTER TABLE live.renamed RENAME COLUMN sk TO "sort key";
SELECT dyn_put('live.renamed', '{"pk":{"S":"a"},"sk":{"S":"c"}}', return_values => 'ALL_OLD'), dyn_get('live.renamed', '{"pk":{"S":"a"},"sk":{"S":"c"}}');
ALTER TABLE live.renamed ADD COLUMN extra int DEFAULT 5;
SELECT dyn_put('live.renamed', '{"pk":{"S":"a"},"sk":{"S":"d"}}');
SELECT * FROM live.renamed;
DROP TABLE live.renamed;
SELECT dyn_get('live.renamed', '{"pk":{"S":"a"},"sk":{"S":"b"}}');
BEGIN;
SELECT dyn_create_table('app', 'pk N');
SELECT dyn_put('app', '{"pk":{"N":"1"}}');
ROLLBACK;
SELECT dyn_create_table('app', 'pk S');
SELECT dyn_put('app', '{"pk":{"S":"1"}}');
SELECT dyn_drop_table('app');
SELECT dyn_put('app', '{"pk":{"S":"1"}}');

-- the same shape as plain DDL
CREATE TABLE plain (item dyn_item NOT NULL, pk text COLLATE "C" NOT NULL, sk numeric NOT NULL, PRIMARY KEY (pk, sk),
  CHECK (dynamo_internal.keys_match(item, ARRAY['pk S', 'sk N'], pk, sk))) USING dynamo_table;
SELECT dyn_put('plain', '{"pk":{"S":"a"},"sk":{"N":"1"}}');
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON plain FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S', 'sk N');
SELECT dyn_put('plain', '{"pk":{"S":"a"},"sk":{"N":"1"}}');
SELECT dyn_describe_table('plain') -> 'KeySchema', dyn_get('plain', '{"pk":{"S":"a"},"sk":{"N":"1.0"}}');

-- and shapes that are wrong
CREATE TABLE wrong (item dyn_item NOT NULL, pk text NOT NULL PRIMARY KEY);
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON wrong FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S');
SELECT dyn_put('wrong', '{"pk":{"S":"a"}}');
INSERT INTO wrong (item) VALUES ('{"pk":{"S":"a"}}');
ALTER TABLE wrong ALTER pk TYPE bytea USING NULL;
SELECT dyn_put('wrong', '{"pk":{"S":"a"}}');
ALTER TABLE wrong DROP CONSTRAINT wrong_pkey;
SELECT dyn_put('wrong', '{"pk":{"S":"a"}}');
CREATE OR REPLACE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON wrong FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk X');
ALTER TABLE wrong ADD PRIMARY KEY (pk);
SELECT dyn_put('wrong', '{"pk":{"S":"a"}}');
CREATE OR REPLACE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON wrong FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk B', 'sk B');
SELECT dyn_put('wrong', '{"pk":{"S":"a"}}');
CREATE OR REPLACE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON wrong FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk B');
SELECT dyn_put('wrong', '{"pk":{"B":"AQ=="}}');
CREATE TRIGGER other BEFORE INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk B');
ALTER TABLE wrong DISABLE TRIGGER "~dynamo_keys";
DROP TRIGGER "~dynamo_keys" ON wrong;
INSERT INTO wrong (item, pk) VALUES ('{"pk":{"B":"AQ=="}}', 'x');
DROP TRIGGER other ON wrong;
CREATE TRIGGER other AFTER INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk B');
INSERT INTO wrong (item, pk) VALUES ('{"pk":{"B":"AQ=="}}', 'x');
SELECT dynamo_internal.keys_match('{}', ARRAY['pk S'], 5);
\set VERBOSITY terse
SELECT dynamo_internal.keys_match('{}', ARRAY['pk S']);
\set VERBOSITY default
SELECT dynamo_internal.keys_match('{}', ARRAY['pk S'], VARIADIC ARRAY['x']);
SELECT dynamo_internal.keys_match('{}', ARRAY[NULL], 'x'::text);
SELECT dynamo_internal.keys_match('{"pk":{"S":"x"}}', ARRAY['pk S'], 'x'::text), dynamo_internal.keys_match('{"pk":{"S":"x"}}', ARRAY['pk S'], 'y'::text),
       dynamo_internal.keys_match('{"pk":{"S":"x"}}', ARRAY['pk S'], NULL::text), dynamo_internal.keys_match('{"pk":{"N":"5"}}', ARRAY['pk S'], NULL::text),
       dynamo_internal.keys_match('{"pk":{"N":"5"}}', ARRAY['pk S'], '5'::text), dynamo_internal.keys_match(NULL, ARRAY['pk S'], 'x'::text);
SELECT k, dynamo_internal.keys_match('{"pk":{"S":"x"},"sk":{"N":"1"}}', ARRAY[k], 'x'::text) FROM unnest(ARRAY['pk S', 'sk S', 'pk S']) k;

DROP TABLE "Movies", "hash-only", "bytes.and.dots", "test.users", odd, longkey, quoted, plain, wrong;
DO $$ DECLARE t text; BEGIN SELECT relname INTO t FROM pg_class WHERE relname ~ '^long' AND relkind = 'r'; EXECUTE format('DROP TABLE %I', t); END $$;
DROP SCHEMA live, evil CASCADE;
