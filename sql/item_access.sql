-- Reaching into items: -> ->> #> #>> ?, casts to plain JSON, equality, hashing, storage.
CREATE TABLE bx (item dyn_item);
INSERT INTO bx VALUES ('{"p":{"S":"x"},"n":{"N":"5"},"s":{"S":"hello"},"b":{"B":"AQIDBAUGBwg="},"t":{"BOOL":true},"z":{"NULL":true},
  "l":{"L":[{"N":"1"},{"S":"two"},{"M":{"k":{"N":"3"}}}]},"m":{"M":{"a":{"N":"1"},"q":{"M":{"c":{"S":"d"}}}}},
  "ss":{"SS":["a","b","c"]},"ns":{"NS":["1","2"]},"bs":{"BS":["AQ==","Ag=="]},"el":{"L":[]},"em":{"M":{}},
  "a.b":{"S":"a dot is part of the name"}}');

SELECT k, item -> k AS value, item ->> k AS text, item ? k AS "exists", pg_typeof(item -> k)
  FROM bx, unnest(ARRAY['p','n','s','b','t','z','l','m','ss','ns','bs','el','em','a.b','nope','']) k;
SELECT item -> 'm' -> 'q' -> 'c', item -> 'm' -> 'q' ->> 'c', item -> 'l' -> 1, item -> 'l' ->> -1, item -> 'm' ? 'q' FROM bx;
-- of something else than a map or a list there is nothing
SELECT item -> 'n' -> 'x', item -> 'n' -> 0, item -> 'ss' -> 0, item -> 'l' -> 'x', item -> 'm' -> 0, item -> 'l' -> 3, item -> 'l' -> -4 FROM bx;
SELECT p, item #> p AS value, item #>> p AS text FROM bx, (VALUES ('{m,q,c}'::text[]), ('{l,2,k}'), ('{l,-3}'), ('{l,x}'), ('{l,1x}'), ('{l,""}'), ('{l,-}'),
  ('{l,99999999999999999999}'), ('{m,nope}'), ('{n,x}'), ('{l,NULL}'), ('{NULL}'), ('{a.b}'), ('{z}')) v (p);
SELECT item #> '{}' = (item::text::dyn_item) #> '{}' AS whole, item #> '{}' -> 'n' FROM bx;
SELECT '{"a":{"S":"x"}}'::dyn_item -> NULL, NULL::dyn_item -> 'a', NULL::dyn_item ? 'a';

-- plain form: sets are arrays, bytes base64
SELECT item::jsonb FROM bx;
SELECT item::json FROM bx;
SELECT to_jsonb(bx) FROM bx;
SELECT (item -> 'n')::jsonb::numeric + 1, (item -> 'ns')::jsonb, (item -> 's')::json, (item -> 't')::jsonb, (item -> 'z')::jsonb FROM bx;
SELECT '{"n":{"N":"-1e-130"}}'::dyn_item::jsonb -> 'n' = to_jsonb(-1e-130::numeric) AS small;

-- U+0000 can be had as a typed value, not as text
SELECT '{"a":{"S":"x\u0000"}}'::dyn_item -> 'a', '{"a":{"S":"x\u0000"}}'::dyn_item ? 'a';
SELECT '{"a":{"S":"x\u0000"}}'::dyn_item ->> 'a';
SELECT '{"a":{"L":[{"S":"x\u0000"}]}}'::dyn_item ->> 'a';
SELECT '{"a":{"S":"x\u0000"}}'::dyn_item::json;
SELECT '{"a\u0000":{"S":"x"}}'::dyn_item::jsonb;
SELECT '{"SS":["x\u0000"]}'::dyn_value::jsonb;

-- many attributes: the search finds each and nothing between
CREATE TABLE wide AS SELECT jsonb_object_agg('attr' || i, i)::dyn_item AS item FROM generate_series(1, 999, 2) i;
SELECT count(*) FILTER (WHERE item ->> ('attr' || i) = i::text), count(*) FILTER (WHERE item ? ('attr' || i)), count(*) FROM wide, generate_series(0, 1000) i;

-- equality and hashing
SELECT a = b AS eq, a <> b AS ne, dynamo_internal.item_hash(a) = dynamo_internal.item_hash(b) AS hash, dynamo_internal.item_hash_extended(a, 7) =
	dynamo_internal.item_hash_extended(b, 7) AS extended
  FROM (VALUES ('{"a":{"NS":["2","1.0"]},"b":{"S":"x"}}'::dyn_item, '{"b":{"S":"x"},"a":{"NS":["1","2"]}}'::dyn_item),
               ('{"a":{"S":"x"}}', '{"a":{"S":"y"}}'), ('{"a":{"S":"x"}}', '{"a":{"B":"eA=="}}'), ('{"a":{"S":"x"}}', '{}')) v (a, b);
CREATE TABLE eq (id int, item dyn_item);
INSERT INTO eq SELECT i, ('{"k":{"N":"' || i % 100 || '.0"}}')::dyn_item FROM generate_series(1, 1000) i;
CREATE INDEX ON eq USING hash (item);
ANALYZE eq;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM eq WHERE item = '{"k":{"N":"7"}}';
SELECT count(*) FROM eq WHERE item = '{"k":{"N":"7"}}';
RESET enable_seqscan;
SELECT count(*), count(DISTINCT item::text) FROM (SELECT DISTINCT item FROM eq) d;
SELECT count(*) FROM eq a JOIN eq b USING (item);
SELECT count(*) FROM (SELECT item -> 'k' AS v FROM eq GROUP BY 1) g;
CREATE TABLE parts (item dyn_item) PARTITION BY HASH (item);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parts SELECT item FROM eq;
SELECT count(*) > 0 AS both FROM parts_0 UNION ALL SELECT count(*) > 0 FROM parts_1;

-- order: types, then numbers by value, strings and binary by bytes
SELECT v FROM (VALUES ('{"S":"b"}'::dyn_value), ('{"N":"10"}'), ('{"N":"9.5"}'), ('{"N":"-3"}'), ('{"N":"-20"}'), ('{"S":"B"}'), ('{"S":"é"}'),
	('{"B":"/w=="}'), ('{"B":"AA=="}'), ('{"S":""}'), ('{"N":"0"}')) v (v) ORDER BY v;
SELECT a < b AS lt, a <= b AS le, a > b AS gt, a >= b AS ge, dynamo_internal.item_cmp(a, b) <> 0 AS ne
	FROM (VALUES ('{"a":{"N":"9"}}'::dyn_item, '{"a":{"N":"10"}}'::dyn_item), ('{"a":{"N":"10"}}', '{"a":{"N":"9"}}'),
	('{"a":{"N":"1"}}', '{"a":{"N":"1.0"}}')) v (a, b);
SELECT count(DISTINCT item), count(DISTINCT item -> 'k') FROM eq;
CREATE TABLE once (item dyn_item UNIQUE);
INSERT INTO once VALUES ('{"a":{"N":"1"}}');
INSERT INTO once VALUES ('{"a":{"N":"1.0"}}');
INSERT INTO once VALUES ('{"a":{"N":"1.0"}}') ON CONFLICT DO NOTHING;
CREATE INDEX eq_k ON eq ((item -> 'k'));
ANALYZE eq;
SET enable_seqscan = off; SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT item -> 'k' AS k FROM eq WHERE item -> 'k' >= '{"N":"98"}' ORDER BY item -> 'k' DESC LIMIT 3;
SELECT item -> 'k' AS k FROM eq WHERE item -> 'k' >= '{"N":"98"}' ORDER BY item -> 'k' DESC LIMIT 3;
RESET enable_seqscan; RESET enable_bitmapscan;
SELECT row(1, item) < row(1, '{"k":{"N":"3"}}'::dyn_item) AS rows FROM eq WHERE id IN (2, 3) ORDER BY id;

-- a number beside an attribute
SELECT count(*) FILTER (WHERE item -> 'k' > 97) AS gt, count(*) FILTER (WHERE item -> 'k' >= 97.0) AS ge, count(*) FILTER (WHERE item -> 'k' < 2) AS lt,
	count(*) FILTER (WHERE item -> 'k' <= 2::bigint) AS le, count(*) FILTER (WHERE item -> 'k' = 2) AS eq, count(*) FILTER (WHERE item -> 'k' <> 2) AS ne,
	count(*) FILTER (WHERE item -> 'none' > 2) AS absent FROM eq;
SELECT '{"a":{"S":"5"}}'::dyn_item -> 'a' > 3;
EXPLAIN (COSTS OFF, VERBOSE) SELECT FROM eq WHERE item -> 'k' > 3;

-- stored inline, compressed, and out of line: always the same item
SELECT attstorage FROM pg_attribute WHERE attrelid = 'bx'::regclass AND attname = 'item';
CREATE TABLE stored (id int, inline dyn_item, external dyn_item, extended dyn_item);
ALTER TABLE stored ALTER external SET STORAGE EXTERNAL, ALTER extended SET STORAGE EXTENDED;
INSERT INTO stored SELECT i, d, d, d FROM (SELECT i, jsonb_build_object('k', i, 'pad', repeat(md5(i::text), i * 10))::dyn_item AS d
  FROM generate_series(0, 300, 50) i) s;
SELECT id, inline = external AND external = extended AND inline::text = extended::text AND inline::text = external::text AS same,
  extended ->> 'k' = id::text AS found, dynamo_internal.item_send(inline) = dynamo_internal.item_send(external) AS sent FROM stored ORDER BY id;
SELECT count(*) FROM stored WHERE pg_column_size(external) > 2000;

DROP TABLE bx, wide, eq, parts, stored;
