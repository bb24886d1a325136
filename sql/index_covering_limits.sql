-- Covering indexes at their limits: definitions that nobody should write, entries of every size, roles that may see a part.
\set VERBOSITY terse
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS amcheck;
-- the function of the constraint, called with any text: a definition, an error, and never another definition than the one that is given
CREATE TABLE covering_definitions (n int GENERATED ALWAYS AS IDENTITY, definition text);
INSERT INTO covering_definitions (definition) VALUES (''), ('{}'), ('[]'), ('{"keys": ["a S"], "limit": 1000, "compression": "pglz"}'),
	('{"keys": ["a S"], "limit": 9, "compression": "pglz"}'),
  ('{"keys": ["a S"], "limit": 0, "compression": "pglz"}'), ('{"keys": ["a S"], "limit": -1, "compression": "pglz"}'),
  ('{"keys": ["a S"], "limit": 2705, "compression": "pglz"}'), ('{"keys": ["a S"], "limit": 9223372036854775807, "compression": "pglz"}'),
  ('{"keys": ["a S"], "limit": 1000, "compression": "zstd"}'), ('{"keys": ["a S"], "limit": 1000, "compression": ""}'),
  ('{"keys": ["a N"], "limit": 1000, "compression": "pglz"}'), ('{"keys": [], "limit": 1000, "compression": "pglz"}'),
  ('{"keys": ["a"], "limit": 1000, "compression": "pglz"}'), ('{"keys": "a S", "limit": 1000, "compression": "pglz"}'),
  ('{"keys": ["a S", "a S", "a S", "a S", "a S", "a S", "a S", "a S", "a S", "a S", "a S"], "limit": 1000, "compression": "pglz"}'),
  ('{"keys": ["a S"], "attributes": ["z", "b"], "limit": 1000, "compression": "pglz"}'),
  ('{"keys": ["a S"], "attributes": ["z", "b", "z"], "limit": 1000, "compression": "pglz"}'),
  ('{"keys": ["a S"], "attributes": [], "limit": 1000, "compression": "pglz"}'),
  ('{"keys": ["a S"], "attributes": [1], "limit": 1000, "compression": "pglz"}'),
  ('{"keys": ["a S"], "attributes": "b", "limit": 1000, "compression": "pglz"}'), ('{"keys": ["a S"], "limit": 1000, "compression": "pglz", "more": 1}'),
  (repeat('{"keys": ', 10000));
DO $$
DECLARE
	r record;
	matches boolean;
BEGIN
	SET LOCAL client_min_messages = notice;
	FOR r IN SELECT * FROM covering_definitions ORDER BY n LOOP
		BEGIN
			matches := dynamo_internal.keys_match('{"a":{"S":"x"},"b":{"N":"1"},"c":{"S":"y"},"z":{"BOOL":true}}', ARRAY['a S', r.definition], 'x'::text,
				'{"b":{"N":"1"},"z":{"BOOL":true}}'::dyn_item);
			RAISE NOTICE '% %', r.n, matches;
		EXCEPTION WHEN OTHERS THEN
			RAISE NOTICE '% %: %', r.n, SQLSTATE, SQLERRM;
		END;
	END LOOP;
END $$;
DROP TABLE covering_definitions;

-- no entry exceeds what a btree takes: keys that nearly fill it, of bytes that do not compress, leave no room for an item, nor for the mark that there is none
CREATE FUNCTION covering_noise(seed text, n int) RETURNS bytea LANGUAGE sql IMMUTABLE
	AS $$ SELECT substr(string_agg(sha512((seed || '/' || i)::bytea), ''), 1, n) FROM generate_series(0, n / 64) i $$;
CREATE FUNCTION covering_item(seed text, key int, pad int) RETURNS dyn_item LANGUAGE sql IMMUTABLE AS $$
  SELECT jsonb_build_object('pk', jsonb_build_object('S', seed), 'sk', jsonb_build_object('N', pad::text), 'a',
    jsonb_build_object('S', left(encode(covering_noise(seed, 650), 'base64'), 650)), 'b',
    jsonb_build_object('B', translate(encode(covering_noise('b' || seed, 1000), 'base64'), E'\n', '')),
    'c', jsonb_build_object('B', translate(encode(covering_noise('c' || seed, key), 'base64'), E'\n', '')), 'n',
    jsonb_build_object('N', '-12345678901234567890123456789012345678'),
    'pad', jsonb_build_object('B', translate(encode(covering_noise('p' || seed, pad), 'base64'), E'\n', '')))::text::dyn_item $$;
SET dynamo_table.covering_entry_limit = 2704;
SELECT dyn_create_table('covering_edge', 'pk S', 'sk N',
	global_indexes => '{"Second": {"partition_key": ["a S", "n N"], "sort_key": ["b B", "c B"], "covering": true},
	"Column": {"partition_key": ["a S", "n N"], "sort_key": ["b B", "c B"], "covering": true},
  "Part": {"partition_key": ["a S", "n N"], "sort_key": ["b B", "c B"], "projection": "INCLUDE", "non_key_attributes": ["pad"], "covering": true}}');
RESET dynamo_table.covering_entry_limit;
CREATE TABLE covering_tried (n int, way text, result text);
DO $$
DECLARE
	way text;
	result text;
BEGIN
	FOREACH way IN ARRAY '{on,off,sql}'::text[] LOOP
		PERFORM set_config('dynamo_table.direct_store', CASE way WHEN 'off' THEN 'off' ELSE 'on' END, true);
		PERFORM set_config('default_toast_compression', 'pglz', true) WHERE way = 'off';
		FOR n IN 940 .. 1023 LOOP
			result := 'stored';
			BEGIN
				IF way = 'sql' THEN
					INSERT INTO covering_edge (item) VALUES (covering_item(rpad(way, 3, '_') || n, n, n % 11));
				ELSE
					PERFORM dyn_put('covering_edge', covering_item(rpad(way, 3, '_') || n, n, n % 11));
				END IF;
			EXCEPTION WHEN OTHERS THEN
				result := SQLSTATE || ' ' || SQLERRM;
			END;
			INSERT INTO covering_tried VALUES (n, way, result);
		END LOOP;
	END LOOP;
END $$;
SELECT way, result, count(*) > 5 AS many FROM covering_tried GROUP BY way, result ORDER BY way, result;
SELECT count(DISTINCT max) = 1 AS "same limit" FROM (SELECT max(n) FROM covering_tried WHERE result = 'stored' GROUP BY way) x;
-- items around the limit, by bytes that do not compress
SELECT count(dyn_put('covering_edge', jsonb_set(jsonb_set(covering_item('s' || n, 10, n)::text::jsonb, '{a,S}', '"short"'), '{b,B}',
	'"AA=="')::text::dyn_item)) FROM generate_series(2400, 2700, 3) n;
SELECT count(*) FILTER (WHERE "~Column_item" IS NULL) > 10 AS too_long, count("~Column_item") > 10 AS carried, count("~Part_item") > count("~Column_item")
	AS part FROM covering_edge WHERE a = 'short';
SELECT index_name, count(*) = (SELECT count(*) FROM covering_edge) AS all FROM unnest(ARRAY['Second', 'Column', 'Part']) index_name,
	dyn_scan('covering_edge', index_name) GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM dyn_check_table('covering_edge');
SET default_toast_compression = pglz;
VACUUM FULL covering_edge;
REINDEX TABLE CONCURRENTLY covering_edge;
RESET default_toast_compression;
SELECT bool_and(bt_index_check(indexrelid, true) IS NOT NULL) AS sound FROM pg_index WHERE indrelid = 'covering_edge'::regclass;
SELECT bool_and(bt_index_parent_check(indexrelid, true) IS NOT NULL) AS sound FROM pg_index WHERE indrelid = 'covering_edge'::regclass;
DROP TABLE covering_edge, covering_tried;
DROP FUNCTION covering_item, covering_noise;

-- roles that may see a part of the columns: both stores read what they may, and refuse the rest
SELECT dyn_create_table('covering_rights', 'pk S', 'sk S',
	global_indexes => '{"Column": {"partition_key": "a S", "covering": true}, "Second": {"partition_key": "a S", "sort_key": "b S", "covering": true},
  "Part": {"partition_key": "b S", "projection": "INCLUDE", "non_key_attributes": ["c"], "covering": true}}');
INSERT INTO covering_rights (item) SELECT format('{"pk":{"S":"%s"},"sk":{"S":"s"},"a":{"S":"a"},"b":{"S":"b"},"c":{"S":"c%s"},"d":{"S":"secret"}}', i,
	i)::dyn_item FROM generate_series(1, 5) i;
CREATE ROLE regress_covering_item;
CREATE ROLE regress_covering_carried;
CREATE ROLE regress_covering_keys;
CREATE ROLE regress_covering_rows;
GRANT SELECT (item, pk, sk, a, b) ON covering_rights TO regress_covering_item;
GRANT SELECT (pk, sk, a, b, "~Column_item", "~Part_item") ON covering_rights TO regress_covering_carried;
GRANT SELECT (pk, sk, a, b) ON covering_rights TO regress_covering_keys;
GRANT SELECT ON covering_rights TO regress_covering_rows;
CREATE FUNCTION covering_seen(role text) RETURNS TABLE (index_name text, seen text, keys text, explained text, same_by_sql boolean) LANGUAGE plpgsql AS $$
DECLARE
	store text;
	before text;
BEGIN
	EXECUTE format('SET LOCAL ROLE %I', role);
	FOREACH index_name IN ARRAY ARRAY['Column', 'Second', 'Part'] LOOP
		before := NULL;
		FOREACH store IN ARRAY ARRAY['off', 'on'] LOOP
			PERFORM set_config('dynamo_table.direct_store', store, true);
			BEGIN
				SELECT count(*) || ' ' || max(i::text) INTO seen FROM dyn_scan('covering_rights', index_name) i;
			EXCEPTION WHEN OTHERS THEN
				seen := SQLERRM;
			END;
			BEGIN
				SELECT count(*) || ' ' || max(i::text) INTO keys FROM dyn_scan('covering_rights', index_name, projection => 'b') i;
			EXCEPTION WHEN OTHERS THEN
				keys := SQLERRM;
			END;
			BEGIN
				SELECT e.store || ' ' || e.index_only INTO explained FROM dyn_explain('covering_rights', index_name => covering_seen.index_name) e;
			EXCEPTION WHEN OTHERS THEN
				explained := SQLERRM;
			END;
			before := coalesce(before, concat_ws('|', seen, keys));
		END LOOP;
		same_by_sql := before = concat_ws('|', seen, keys);
		RETURN NEXT;
	END LOOP;
	RESET ROLE;
END $$;
VACUUM covering_rights;
SELECT * FROM covering_seen('regress_covering_item');
SELECT * FROM covering_seen('regress_covering_carried');
SELECT * FROM covering_seen('regress_covering_keys');
SELECT * FROM covering_seen('regress_covering_rows');
ALTER TABLE covering_rights ENABLE ROW LEVEL SECURITY;
CREATE POLICY covering_policy ON covering_rights TO regress_covering_rows USING (pk IN ('1', '2'));
SELECT * FROM covering_seen('regress_covering_rows');
SET ROLE regress_covering_rows;
SET client_min_messages = notice;
SELECT count(*) FROM dyn_check_table('covering_rights');
SET client_min_messages = warning;
RESET ROLE;
ALTER TABLE covering_rights DISABLE ROW LEVEL SECURITY;

SET dynamo_table.direct_store = on;
-- btrees by hand, and columns that are altered: none serves but what the definition says, and the check tells what is wrong
CREATE FUNCTION covering_with(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	problems text;
	reads text[];
	store text;
BEGIN
	EXECUTE statement;
	SELECT string_agg(object || ': ' || problem, '; ') INTO problems FROM dyn_check_table('covering_rights');
	FOR i IN 0 .. 1 LOOP
		BEGIN
			SELECT e.store || CASE WHEN e.index_only THEN ' alone' ELSE '' END INTO store
				FROM dyn_explain('covering_rights', index_name => (ARRAY['Second', 'Column'])[i + 1]) e;
		EXCEPTION WHEN OTHERS THEN
			store := SQLSTATE;
		END;
		reads := reads || store;
	END LOOP;
	RAISE EXCEPTION USING MESSAGE = concat_ws(' / ', 'Second ' || reads[1], 'Column ' || reads[2], problems);
EXCEPTION WHEN OTHERS THEN
	RETURN SQLERRM;
END $$;
SELECT covering_with(s) FROM unnest(ARRAY['SELECT 1', 'ALTER TABLE covering_rights ALTER "~Column_item" TYPE text USING NULL',
	'ALTER TABLE covering_rights ALTER "~Column_item" SET NOT NULL', 'ALTER TABLE covering_rights ALTER "~Column_item" SET DEFAULT ''{}''',
  'ALTER TABLE covering_rights RENAME "~Column_item" TO other', 'ALTER TABLE covering_rights DROP "~Column_item" CASCADE',
  'CREATE DOMAIN covering_domain AS dyn_item; ALTER TABLE covering_rights ALTER "~Column_item" TYPE covering_domain',
  'ALTER TABLE covering_rights DROP "~Column_item" CASCADE; ALTER TABLE covering_rights ADD "~Column_item" dyn_item GENERATED ALWAYS AS (item) STORED; CREATE '
    'INDEX ON covering_rights (a, pk, sk) INCLUDE ("~Column_item") WHERE a IS NOT NULL',
  'DROP INDEX "covering_rights_Column"; CREATE INDEX ON covering_rights (a, pk, sk) INCLUDE ("~Column_item", "~Part_item") WHERE a IS NOT NULL',
  'DROP INDEX "covering_rights_Column"; CREATE INDEX ON covering_rights (a, pk, sk) INCLUDE ("~Part_item") WHERE a IS NOT NULL',
  'DROP INDEX "covering_rights_Column"; CREATE INDEX ON covering_rights (a, pk, sk) INCLUDE (item) WHERE a IS NOT NULL',
  'DROP INDEX "covering_rights_Column"; CREATE INDEX ON covering_rights (a, pk, sk) WHERE a IS NOT NULL',
  'DROP INDEX "covering_rights_Column"; CREATE UNIQUE INDEX ON covering_rights (a, pk, sk) INCLUDE ("~Column_item")',
  'CREATE INDEX ON covering_rights ((("~Column_item")::text)); CREATE INDEX ON covering_rights (a) INCLUDE ("~Column_item")']) s;

DROP TABLE covering_rights;
DROP FUNCTION covering_seen, covering_with;
DROP ROLE regress_covering_item, regress_covering_carried, regress_covering_keys, regress_covering_rows;
