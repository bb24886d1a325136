-- What writes do to secondary indexes: docs/semantics.md, I06 to I09, I18 to I22, I26, I28, K09, L03, L14, M26, T13.
SELECT dyn_create_table('app', 'pk S', 'sk S',
  global_indexes => '{"GSI1": {"partition_key": "GSI1PK S", "sort_key": "GSI1SK S"}, "number": {"partition_key": "GSI1PK S", "sort_key": "n N"},
    "bytes": {"partition_key": "b B"}, "inverted": {"partition_key": "sk S", "sort_key": "pk S"}}',
  local_indexes => '{"local": {"sort_key": "l S", "projection": "KEYS_ONLY"}}');
CREATE VIEW entries AS SELECT pk, sk, "GSI1PK" AS gpk, "GSI1SK" AS gsk, n, b, l FROM app ORDER BY pk, sk;

-- I06, I07, I19, I20: in, moved, out, overwritten
SELECT dyn_put('app', '{"pk":{"S":"1"},"sk":{"S":"a"}}'), dyn_put('app',
	'{"pk":{"S":"1"},"sk":{"S":"b"},"GSI1PK":{"S":"x"},"GSI1SK":{"S":"y"},"n":{"N":"1.50"},"b":{"B":"AAE="},"l":{"S":"z"}}'),
       dyn_put('app', '{"pk":{"S":"1"},"sk":{"S":"c"},"GSI1PK":{"S":"only this"}}');
TABLE entries;
SELECT dyn_update('app', '{"pk":{"S":"1"},"sk":{"S":"a"}}', 'SET GSI1PK = :a, n = :n', vals => '{":a":{"S":"new"},":n":{"N":"-7"}}');
SELECT dyn_update('app', '{"pk":{"S":"1"},"sk":{"S":"b"}}', 'SET GSI1SK = :a ADD n :n REMOVE b', vals => '{":a":{"S":"moved"},":n":{"N":"1"}}');
SELECT dyn_update('app', '{"pk":{"S":"1"},"sk":{"S":"made"}}', 'SET l = :a', vals => '{":a":{"S":"l"}}');
TABLE entries;
SELECT dyn_put('app', '{"pk":{"S":"1"},"sk":{"S":"b"}}'), dyn_delete('app', '{"pk":{"S":"1"},"sk":{"S":"c"}}');
SELECT dyn_update('app', '{"pk":{"S":"1"},"sk":{"S":"a"}}', 'REMOVE GSI1PK') AS i28;
TABLE entries;

-- I08, I09: every write path refuses what cannot be a key
\set VERBOSITY terse
SELECT dyn_put('app', '{"pk":{"S":"2"},"sk":{"S":"a"},"GSI1PK":{"BOOL":true}}');
SELECT dyn_put('app', '{"pk":{"S":"2"},"sk":{"S":"a"},"GSI1PK":{"NULL":true}}');
SELECT dyn_put('app', '{"pk":{"S":"2"},"sk":{"S":"a"},"GSI1PK":{"S":""}}');
SELECT dyn_put('app', '{"pk":{"S":"2"},"sk":{"S":"a"},"b":{"B":""}}', 'attribute_not_exists(pk)');
SELECT dyn_put('app', '{"pk":{"S":"1"},"sk":{"S":"a"},"n":{"S":"1"}}', return_values => 'ALL_OLD');
SELECT dyn_update('app', '{"pk":{"S":"1"},"sk":{"S":"a"}}', 'SET l = :v', vals => '{":v":{"L":[]}}');
SELECT dyn_update('app', '{"pk":{"S":"2"},"sk":{"S":"new"}}', 'SET l = :v', vals => '{":v":{"SS":["a"]}}');
INSERT INTO app (item) VALUES ('{"pk":{"S":"2"},"sk":{"S":"a"},"l":{"N":"1"}}');
INSERT INTO app (item) VALUES ('{"pk":{"S":"1"},"sk":{"S":"a"},"l":{"N":"1"}}') ON CONFLICT DO NOTHING;
UPDATE app SET item = '{"pk":{"S":"1"},"sk":{"S":"a"},"l":{"S":""}}' WHERE sk = 'a';
MERGE INTO app USING (SELECT 'a' AS sk) s ON app.sk = s.sk WHEN MATCHED THEN UPDATE SET item = '{"pk":{"S":"1"},"sk":{"S":"a"},"l":{"S":""}}';
COPY app (item) FROM stdin;
{"pk":{"S":"2"},"sk":{"S":"a"},"n":{"S":"1"}}
\.
-- what a statement says of the columns has to be what the item has
INSERT INTO app (item, "GSI1PK", n) VALUES ('{"pk":{"S":"3"},"sk":{"S":"a"},"GSI1PK":{"S":"p"}}', 'other', 5);
INSERT INTO app (item, "GSI1PK", n) VALUES ('{"pk":{"S":"3"},"sk":{"S":"a"},"GSI1PK":{"S":"p"}}', 'p', NULL);
UPDATE app SET "GSI1PK" = 'other', l = 'x' WHERE pk = '3';
UPDATE app SET l = 'x' WHERE pk = '3';
SELECT * FROM entries WHERE pk = '3';
COPY app (item, n) FROM stdin;
{"pk":{"S":"3"},"sk":{"S":"b"},"n":{"N":"9"}}	4
\.
COPY app (item, n) FROM stdin;
{"pk":{"S":"3"},"sk":{"S":"b"},"n":{"N":"9"}}	9.00
\.
SELECT * FROM entries WHERE pk = '3';

-- the constraint holds where no trigger does
ALTER TABLE app DISABLE TRIGGER "~dynamo_keys";
CREATE FUNCTION try(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE statement;
  RETURN 'done';
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
SELECT statement, try(statement) FROM unnest(ARRAY[$$UPDATE app SET item = '{"pk":{"S":"3"},"sk":{"S":"a"},"GSI1PK":{"S":"q"}}' WHERE pk = '3' AND sk = 'a'$$,
  $$UPDATE app SET "GSI1PK" = NULL WHERE pk = '3'$$, $$UPDATE app SET n = 3 WHERE pk = '3' AND sk = 'a'$$,
  $$INSERT INTO app (item, pk, sk) VALUES ('{"pk":{"S":"4"},"sk":{"S":"a"},"b":{"B":"AA=="}}', '4', 'a')$$,
  $$INSERT INTO app (item, pk, sk, b) VALUES ('{"pk":{"S":"4"},"sk":{"S":"a"},"b":{"B":"AA=="}}', '4', 'a', '\x00')$$,
  $$INSERT INTO app (item, pk, sk, b) VALUES ('{"pk":{"S":"4"},"sk":{"S":"b"},"b":{"B":""}}', '4', 'b', '')$$]) statement;
ALTER TABLE app ENABLE ALWAYS TRIGGER "~dynamo_keys";
SET session_replication_role = replica;
SELECT dyn_put('app', '{"pk":{"S":"5"},"sk":{"S":"a"},"GSI1PK":{"S":"replicated"}}');
RESET session_replication_role;
SELECT * FROM entries WHERE pk = '5';

-- L03: lengths by what a key is in an index
CREATE FUNCTION noise(n integer) RETURNS text LANGUAGE sql AS
  $$ SELECT substr(string_agg(encode(sha512(i::text::bytea), 'base64'), ''), 1, n) FROM generate_series(1, n / 64 + 1) i $$;
CREATE FUNCTION put(VARIADIC attributes text[]) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM dyn_put('app', (jsonb_object(attributes) || '{"pk":"6","sk":"a"}')::dyn_item);
  RETURN 'done';
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
SELECT put('GSI1PK', noise(2048)), put('GSI1PK', noise(2049)), put('l', repeat('x', 1024)), put('l', repeat('x', 1025)),
	put('GSI1PK', noise(2048), 'GSI1SK', repeat('x', 1024)) AS compressible,
       put('GSI1PK', noise(2048), 'GSI1SK', noise(1024)) AS together, put('l', repeat('é', 512)), put('l', repeat('é', 513));
SELECT dyn_put('app', jsonb_build_object('pk', repeat('x', 1025), 'sk', 'a')) AS sort_key_of_inverted;

-- U+0000 and U+0001 stand escaped, in order
SELECT dyn_put('app', '{"pk":{"S":"7"},"sk":{"S":"a"},"GSI1PK":{"S":"a\u0000b"},"l":{"S":"\u0001"}}');
SELECT encode(gpk::bytea, 'escape'), encode(l::bytea, 'hex') FROM entries WHERE pk = '7';

-- items that were there before an index may be updated in everything else, and keep out of it
CREATE TABLE old (item dyn_item NOT NULL, p text COLLATE "C" PRIMARY KEY,
	CONSTRAINT dynamo_keys CHECK (dynamo_internal.keys_match(item, '{p S}', p))) USING dynamo_table;
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON old FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('p S');
INSERT INTO old (item) SELECT jsonb_build_object('p', p, 'n', 0, 'a', a)::dyn_item
	FROM (VALUES ('type', '1'::jsonb), ('empty', '""'), ('long', to_jsonb(repeat('x', 1025))), ('good', '"x"'), ('large', to_jsonb(noise(1000)))) v (p, a);
UPDATE old SET item = item::jsonb || jsonb_build_object('b', noise(2000)) WHERE p = 'large';
ALTER TABLE old ADD a text COLLATE "C", ADD b text COLLATE "C", DROP CONSTRAINT dynamo_keys;
ALTER TABLE old ADD CONSTRAINT dynamo_keys CHECK (dynamo_internal.keys_match(item, '{p S,b S,a S}', p, b, a)) NOT VALID;
CREATE OR REPLACE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON old FOR EACH ROW
  EXECUTE FUNCTION dynamo_internal.derive_keys('p S', '{"name": "GSI", "type": "global", "partition_key": "b S", "sort_key": "a S", "status": "CREATING"}');
SELECT p, dynamo_internal.keys_missing(tableoid, item, b, a), dynamo_internal.keys_match(item, '{p S,b S,a S}', p, b, a) FROM old ORDER BY p;
SELECT dyn_update('old', jsonb_build_object('p', p), 'ADD n :one', vals => '{":one":{"N":"1"}}', return_values => 'UPDATED_NEW')
	FROM unnest(ARRAY['type', 'empty', 'long', 'good', 'large']) p;
SELECT p, length(a) AS a, length(b) AS b, dynamo_internal.keys_missing(tableoid, item, b, a) FROM old ORDER BY p;
ALTER TABLE old VALIDATE CONSTRAINT dynamo_keys;
SELECT dyn_update('old', '{"p":{"S":"type"}}', 'ADD a :one', vals => '{":one":{"N":"1"}}');
SELECT dyn_update('old', '{"p":{"S":"large"}}', 'SET b = :b', vals => jsonb_build_object(':b', noise(1999)));
SELECT dyn_update('old', '{"p":{"S":"type"}}', 'SET a = :s', vals => '{":s":{"S":"repaired"}}'),
	dyn_update('old', '{"p":{"S":"large"}}', 'SET b = :s', vals => '{":s":{"S":"small"}}');
SELECT dyn_put('old', '{"p":{"S":"empty"},"a":{"S":""},"n":{"N":"1"}}');
SELECT dyn_put('old', '{"p":{"S":"empty"},"a":{"S":""},"n":{"N":"1"}}', 'attribute_exists(p)');
SELECT p, length(a) AS a, length(b) AS b FROM old ORDER BY p;
SELECT dynamo_internal.keys_missing(tableoid, item, a) FROM old;
SELECT dynamo_internal.keys_missing('pg_class'::regclass, item, a) FROM old;
SELECT dynamo_internal.keys_missing(NULL, item, a), dynamo_internal.keys_missing(tableoid, NULL, a) FROM old;
SELECT dynamo_internal.keys_missing(0::oid, item, a) FROM old;
SELECT dynamo_internal.keys_missing(4294967295::oid, item, a) FROM old;
-- rights are looked at before the table is locked
CREATE ROLE keys_other;
SET ROLE keys_other;
SELECT dynamo_internal.keys_missing('old'::regclass, '{"p":{"S":"a"}}'::dyn_item, NULL::text, NULL::text);
RESET ROLE;
GRANT SELECT (p) ON old TO keys_other;
SET ROLE keys_other;
SELECT dynamo_internal.keys_missing('old'::regclass, '{"p":{"S":"a"}}'::dyn_item, NULL::text, NULL::text);
RESET ROLE;
REVOKE ALL ON old FROM keys_other;
DROP ROLE keys_other;

-- L14: an item and its copies in local indexes
SELECT dyn_create_table('local', 'pk S', 'sk S', local_indexes => '{"all": {"sort_key": "l S"}, "keys": {"sort_key": "k S", "projection": "KEYS_ONLY"},
  "part": {"sort_key": "i S", "projection": "INCLUDE", "non_key_attributes": ["big"]}}');
CREATE FUNCTION put_local(size integer, VARIADIC keys text[]) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM dyn_put('local', (jsonb_build_object('pk', 'p', 'sk', 's', 'big', repeat('x', size)) || jsonb_object(keys, keys))::dyn_item);
  RETURN 'done';
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
SELECT put_local(250000, 'x'), put_local(250000, 'l'), put_local(204000, 'l'), put_local(250000, 'k'), put_local(250000, 'i'), put_local(136000, 'l', 'i'),
	put_local(137000, 'l', 'i');
-- by hand: pk 3 and sk 3 bytes, big 3 + n; l 2; the copy the same
SELECT put_local(204800 - 11, 'l') AS limit, put_local(204800 - 10, 'l') AS above;
INSERT INTO local (item) VALUES (jsonb_build_object('pk', 'p', 'sk', 't', 'l', 'l', 'big', repeat('x', 204800)));

DROP VIEW entries;
DROP TABLE app, old, local;
DROP FUNCTION try, noise, put, put_local;
