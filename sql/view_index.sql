-- The view of an entity uses the indexes in which all of its items are, and does without one that is dropped.
\pset format unaligned
\pset tuples_only on
\set VERBOSITY terse
CREATE SCHEMA shop;
SET search_path = shop, public;
SELECT dyn_create_table('app', 'pk S', 'sk S', global_indexes => '{"GSI1": {"partition_key": "g1 S", "sort_key": "h1 S"},
	"GSI2": {"partition_key": "g2 S"}, "ByDay": {"partition_key": "day S", "sort_key": "no N"}}', local_indexes => '{"ByPrice": {"sort_key": "price N"}}');
-- all is required in GSI1, of which a part is a constant, in ByDay and ByPrice; not in GSI2
SELECT dyn_create_entity('app', 'Line', '{"pk": "INVOICE#<invoice>", "sk": "LINE#<no:03>", "g1": "TRACK#<track>", "h1": "LINE", "g2": "<note>"}',
  '{"invoice": "N integer", "no": "N integer", "track": {"type": "N integer", "required": true, "stored": "t"}, "price": {"type": "N",
  "required": true}, "note": "S", "day": {"type": "S", "required": true}, "tags": "L jsonb"}');
-- what a template of several, a condition or a value in a map makes may be missing
SELECT dyn_create_entity('app', 'Odd', '{"pk": "ODD#<id>", "sk": "#", "g1": [{"when": {"kind": "a"}, "template": "A#<id>"},
	{"template": "B#<id>"}], "h1": "#", "g2": "<place.city>"}',
  '{"id": "N", "kind": "S", "place": {"type": "M", "required": true}}');
SELECT dyn_create_entity('app', 'Fixed', '{"pk": "FIXED#<id>", "sk": "#", "g1": "FIXED", "h1": "#"}', '{"id": "N"}');
SELECT dyn_create_entity_view('app', 'Line'), dyn_create_entity_view('app', 'Line', index_name => 'GSI1'),
	dyn_create_entity_view('app', 'Line', unnest => 'tags'), dyn_create_entity_view('app', 'Odd'), dyn_create_entity_view('app', 'Fixed');
CREATE FUNCTION keys_of_view(view regclass) RETURNS text LANGUAGE sql AS $$ SELECT string_agg(k[1], ' ')
	FROM regexp_matches(pg_get_viewdef(view), '(?:, |AND |\()t?\.?(\w+)(?:\)| IS NOT NULL)', 'g') k $$;
CREATE FUNCTION conditions(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'Scan|Index Cond' THEN
			RETURN NEXT trim(line, '-> ');
		END IF;
	END LOOP;
END $$;
SELECT v, keys_of_view(quote_ident(v)::regclass) FROM unnest('{Line,Line_GSI1,Line_tags,Odd,Fixed}'::text[]) v;
SELECT replace(pg_get_viewdef('"Fixed"'), 't.', '');

INSERT INTO "Line" (invoice, no, track, price, note, day, tags) SELECT i / 5, i % 5, i % 40, i % 7, CASE WHEN i % 2 = 0 THEN 'n' || i END, 'd', '[1, 2]'
	FROM generate_series(1, 1000) i;
INSERT INTO "Fixed" SELECT i FROM generate_series(1, 20) i;
-- no other statistics, and so plans, than these
ALTER TABLE app SET (autovacuum_enabled = off);
ANALYZE app;
-- a constant, a parameter, a list, a join, and all of it
SELECT conditions('SELECT * FROM "Line" WHERE track = 7');
SELECT conditions('SELECT * FROM "Line" WHERE track IN (7, 8)');
SELECT conditions('SELECT * FROM "Line" WHERE invoice = 3 AND price < 2 AND price = 1');
SET plan_cache_mode = force_generic_plan;
PREPARE lines(int) AS SELECT count(*) FROM "Line" WHERE track = $1;
SELECT conditions('EXECUTE lines(7)');
EXECUTE lines(7);
RESET plan_cache_mode;
DEALLOCATE lines;
SELECT conditions('SELECT * FROM (VALUES (1), (2)) v (x) JOIN "Line" ON track = x');
SELECT count(*) FROM (VALUES (1), (2)) v (x) JOIN "Line" ON track = x;
SELECT conditions('SELECT * FROM "Line" WHERE day = ''d'' AND no = 3');
-- an index that has the items with an attribute alone: where the query requires that
SELECT conditions('SELECT * FROM "Line" WHERE note = ''n4''');
-- under row-level security
CREATE ROLE dyn_reader;
GRANT USAGE ON SCHEMA shop TO dyn_reader;
GRANT SELECT ON "Line" TO dyn_reader;
GRANT SELECT (pk, sk, g1, h1, day, no, price, g2, item) ON app TO dyn_reader;
ALTER TABLE app ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON app USING (sk <> 'LINE#001');
SET ROLE dyn_reader;
SELECT conditions('SELECT * FROM "Line" WHERE track = 7');
SELECT count(*) FROM "Line" WHERE track = 6;
RESET ROLE;
ALTER TABLE app DISABLE ROW LEVEL SECURITY;
SELECT count(*) FROM "Line" WHERE track = 6;

-- items whose keys of an index are missing or others are none of the entity, whatever the plan
SELECT count(dyn_put('app', i::dyn_item)) FROM unnest(ARRAY[
  '{"Type": {"S": "Line"}, "pk": {"S": "INVOICE#900"}, "sk": {"S": "LINE#001"}, "invoice": {"N": "900"}, "no": {"N": "1"}, "t": {"N": "7"},
  "price": {"N": "1"}, "day": {"S": "d"}}',
  '{"Type": {"S": "Line"}, "pk": {"S": "INVOICE#900"}, "sk": {"S": "LINE#002"}, "invoice": {"N": "900"}, "no": {"N": "2"}, "t": {"N": "7"},
  "price": {"N": "1"}, "day": {"S": "d"}, "g1": {"S": "TRACK#7"}}',
  '{"Type": {"S": "Line"}, "pk": {"S": "INVOICE#900"}, "sk": {"S": "LINE#003"}, "invoice": {"N": "900"}, "no": {"N": "3"}, "t": {"N": "7"},
  "price": {"N": "1"}, "day": {"S": "d"}, "g1": {"S": "TRACK#8"}, "h1": {"S": "LINE"}}',
  '{"Type": {"S": "Line"}, "pk": {"S": "INVOICE#900"}, "sk": {"S": "LINE#004"}, "invoice": {"N": "900"}, "no": {"N": "4"},
  "price": {"N": "1"}, "day": {"S": "d"}, "g1": {"S": "TRACK#7"}, "h1": {"S": "LINE"}}',
  '{"Type": {"S": "Line"}, "pk": {"S": "INVOICE#900"}, "sk": {"S": "LINE#005"}, "invoice": {"N": "900"}, "no": {"N": "5"}, "t": {"N": "7"},
  "day": {"S": "d"}, "g1": {"S": "TRACK#7"}, "h1": {"S": "LINE"}}']) i;
CREATE FUNCTION answers(query text) RETURNS TABLE (answer text, plans bigint) LANGUAGE plpgsql AS $$
DECLARE
	sets text;
	found text[];
	one text;
BEGIN
	FOREACH sets IN ARRAY ARRAY['on,on,on', 'on,off,off', 'off,on,off', 'off,off,on'] LOOP
		PERFORM set_config('enable_seqscan', split_part(sets, ',', 1), true), set_config('enable_indexscan', split_part(sets, ',', 2), true),
			set_config('enable_bitmapscan', split_part(sets, ',', 3), true);
		EXECUTE query INTO one;
		found = found || one;
	END LOOP;
	RETURN QUERY SELECT x, count(*) FROM unnest(found) x GROUP BY 1;
END $$;
SELECT a.* FROM unnest(ARRAY['SELECT count(*) FROM "Line"', 'SELECT count(*) FROM "Line" WHERE track = 7', 'SELECT count(*) FROM "Line" WHERE track = 8',
	'SELECT count(*) FROM "Line" WHERE invoice = 900',
  'SELECT count(*) FROM "Line" WHERE invoice = 900 AND price = 1', 'SELECT count(*) FROM (VALUES (7), (8)) v (x) JOIN "Line" ON track = x',
  'SELECT count(*) FROM "Line_tags" WHERE invoice = 900']) q, answers(q) a;
SELECT key ->> 'sk' AS sk, problem, detail FROM dyn_check_entities('app') ORDER BY 1, 3;
-- unless the view is to test no more than the keys of the table
SELECT dyn_create_entity_view('app', 'Line', 'tested_less', use_indexes => NULL);
SELECT dyn_create_entity_view('app', 'Line', 'tested_less', use_indexes => false);
SELECT keys_of_view('tested_less');
SELECT a.* FROM unnest(ARRAY['SELECT count(*) FROM tested_less', 'SELECT count(*) FROM tested_less WHERE track = 7']) q, answers(q) a;
SELECT count(*) FROM dyn_check_entities('app') WHERE key IS NULL;
DROP VIEW tested_less;
SELECT count(dyn_delete('app', jsonb_build_object('pk', 'INVOICE#900', 'sk', 'LINE#00' || i))) FROM generate_series(1, 5) i;
SELECT count(*) FROM dyn_check_entities('app');

-- writing makes the keys
INSERT INTO "Line" (invoice, no, track, price, day) VALUES (901, 1, 7, 1, 'd') RETURNING track;
UPDATE "Line" SET track = 39 WHERE invoice = 901 RETURNING track;
SELECT g1, h1 FROM app WHERE pk = 'INVOICE#901';
UPDATE "Line" SET track = NULL WHERE invoice = 901;
DELETE FROM "Line" WHERE track = 39 AND invoice = 901;

-- an attribute that is not required any more: the view is out of date
SELECT dyn_create_entity('app', 'Line', '{"pk": "INVOICE#<invoice>", "sk": "LINE#<no:03>", "g1": "TRACK#<track>", "h1": "LINE", "g2": "<note>"}',
  '{"invoice": "N integer", "no": "N integer", "track": {"type": "N integer", "stored": "t"}, "price": {"type": "N", "required": true},
  "note": "S", "day": {"type": "S", "required": true}, "tags": "L jsonb"}');
SELECT detail FROM dyn_check_entities('app');
INSERT INTO "Line" (invoice, no, price, day) VALUES (902, 1, 1, 'd');
SELECT dyn_create_entity_view('app', 'Line'), dyn_create_entity_view('app', 'Line', unnest => 'tags');
SELECT keys_of_view('"Line"');
SELECT detail FROM dyn_check_entities('app');
INSERT INTO "Line" (invoice, no, price, day) VALUES (902, 1, 1, 'd') RETURNING track;
DELETE FROM "Line" WHERE invoice = 902;
-- one that is, and was not: the view is as right as it was
SELECT dyn_create_entity('app', 'Line', '{"pk": "INVOICE#<invoice>", "sk": "LINE#<no:03>", "g1": "TRACK#<track>", "h1": "LINE", "g2": "<note>"}',
  '{"invoice": "N integer", "no": "N integer", "track": {"type": "N integer", "required": true, "stored": "t"}, "price": {"type": "N",
  "required": true}, "note": "S", "day": {"type": "S", "required": true}, "tags": "L jsonb"}');
SELECT detail FROM dyn_check_entities('app');
INSERT INTO "Line" (invoice, no, track, price, day) VALUES (902, 1, 7, 1, 'd') RETURNING track;
SELECT dyn_create_entity_view('app', 'Line'), dyn_create_entity_view('app', 'Line', unnest => 'tags'), keys_of_view('"Line"');
SELECT keys_of_view('"Line"');

-- an index is dropped: the views lose its keys and nothing else, and one of what is in it is in the way
ALTER VIEW "Line" RENAME COLUMN note TO remark;
ALTER VIEW "Line" SET (security_barrier = true);
CREATE VIEW over AS SELECT track, count(*) FROM "Line" GROUP BY 1;
SELECT '"Line"'::regclass::oid AS before, (SELECT array_agg(attname::text ORDER BY attnum) FROM pg_attribute WHERE attrelid = '"Line"'::regclass)
	AS columns \gset
CREATE ROLE dyn_owner;
GRANT CREATE, USAGE ON SCHEMA shop TO dyn_owner;
CREATE TABLE kept AS SELECT * FROM "Line";
ALTER TABLE app OWNER TO dyn_owner;
SET ROLE dyn_owner;
\set VERBOSITY default
CALL dyn_drop_index('shop.app', 'GSI1');
SELECT dyn_request('UpdateTable', '{"TableName": "shop.app", "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "GSI1"}}]}');
\set VERBOSITY terse
RESET ROLE;
ALTER TABLE app OWNER TO CURRENT_USER;
ALTER VIEW "Line" OWNER TO dyn_owner;
SELECT i ->> 'IndexName', i ->> 'IndexStatus' FROM jsonb_array_elements(dyn_describe_table('app') -> 'GlobalSecondaryIndexes') i ORDER BY 1;
CALL dyn_drop_index('app', 'GSI1');
DROP VIEW "Line_GSI1";
CALL dyn_drop_index('app', 'GSI1');
SELECT keys_of_view('"Line"'), keys_of_view('"Line_tags"'), keys_of_view('"Fixed"');
SELECT '"Line"'::regclass::oid = :before AND (SELECT array_agg(attname::text ORDER BY attnum) FROM pg_attribute WHERE attrelid = '"Line"'::regclass) =
	:'columns' AS same, reloptions, pg_get_userbyid(relowner) FROM pg_class WHERE oid = '"Line"'::regclass;
SELECT count(*) FROM ((TABLE kept EXCEPT ALL TABLE "Line") UNION ALL (TABLE "Line" EXCEPT ALL TABLE kept)) d;
SELECT count(*) FROM over;
INSERT INTO "Line" (invoice, no, track, price, day) VALUES (903, 1, 7, 1, 'd') RETURNING track;
SELECT count(*) FROM "Line_tags" WHERE invoice = 3;
-- privileges on the column are not asked for any more
SET ROLE dyn_reader;
SELECT count(*) FROM "Line" WHERE invoice = 3;
RESET ROLE;

-- one is created beside: the views stay as they are until they are made again, and not before it is filled
CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'stop'; END $$;
CREATE TRIGGER stop BEFORE UPDATE ON app FOR EACH ROW EXECUTE FUNCTION stop();
CALL dyn_create_index('app', 'GSI1', 'g1 S', 'h1 S');
DROP TRIGGER stop ON app;
SELECT count(*) FROM app WHERE g1 IS NULL AND item ->> 'g1' IS NOT NULL;
ALTER VIEW "Line" RENAME COLUMN remark TO note;
ALTER VIEW "Line" OWNER TO CURRENT_USER;
SELECT dyn_create_entity_view('app', 'Line'), dyn_create_entity_view('app', 'Fixed');
SELECT keys_of_view('"Line"'), keys_of_view('"Fixed"');
SELECT count(*) FROM "Line";
CALL dyn_create_index('app', 'GSI1', 'g1 S', 'h1 S');
SELECT keys_of_view('"Line"');
SELECT detail FROM dyn_check_entities('app');
SELECT dyn_create_entity_view('app', 'Line'), dyn_create_entity_view('app', 'Fixed');
SELECT keys_of_view('"Line"'), keys_of_view('"Fixed"');
SELECT count(*) FROM "Line";
SELECT conditions('SELECT * FROM "Line" WHERE track = 7');
-- without its btree it is none
DROP INDEX "app_GSI1";
SELECT dyn_create_entity_view('app', 'Line');
SELECT keys_of_view('"Line"');
CALL dyn_drop_index('app', 'GSI1');
SELECT keys_of_view('"Line"'), keys_of_view('"Fixed"');

-- a column that another index has as well stays, and so does what the view says of it
CALL dyn_create_index('app', 'One', 'g1 S');
CALL dyn_create_index('app', 'Two', 'g1 S', 'h1 S');
SELECT dyn_create_entity_view('app', 'Line');
SELECT keys_of_view('"Line"');
CALL dyn_drop_index('app', 'Two');
SELECT keys_of_view('"Line"');
SELECT detail FROM dyn_check_entities('app');

-- items that are older than an index, which cannot be in it
SELECT dyn_create_table('old', 'pk S');
SELECT count(dyn_put('old', jsonb_build_object('pk', 'T#' || i, 'Type', 'Thing', 'id', i, 'long', repeat('x', i * 1000), 'g', repeat('x', i * 1000) || '#' ||
	i))) FROM generate_series(1, 3) i;
CALL dyn_create_index('old', 'G', 'g S');
SELECT dyn_create_entity('old', 'Thing', '{"pk": "T#<id>", "g": "<long>#<id>"}', '{"id": "N", "long": {"type": "S", "required": true}}');
SELECT dyn_create_entity_view('old', 'Thing');
SELECT a.* FROM answers('SELECT string_agg(id::text, '','') FROM "Thing"') a;
SELECT key ->> 'pk' AS pk, problem, detail FROM dyn_check_entities('old');

-- what cannot be read, or says something else, is left alone
SELECT dyn_create_table('plain', 'pk S');
CALL dyn_create_index('plain', 'G', 'g S');
CREATE VIEW broken AS SELECT pk FROM plain WHERE dynamo_internal.is_entity(item, '{"entity": ', pk) AND dynamo_internal.is_entity(item, '{"entity": ', g);
CALL dyn_drop_index('plain', 'G');
DROP VIEW broken;
CREATE VIEW alone AS SELECT pk FROM plain WHERE dynamo_internal.is_entity(item, '{"entity": "A", "required": true, "keys": {"g": "x"}, "attributes": {}}', g);
CALL dyn_drop_index('plain', 'G');
DROP VIEW alone;
CALL dyn_drop_index('plain', 'G');

SET client_min_messages = warning;
DROP SCHEMA shop CASCADE;
DROP ROLE dyn_reader, dyn_owner;
