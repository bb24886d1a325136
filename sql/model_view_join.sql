-- Joins of views of entities: by scans of indexes whose conditions come from join clauses, and right with any plan.
\pset format unaligned
\pset tuples_only on
SET TIME ZONE 'UTC';
SET client_min_messages = warning;
CREATE SCHEMA relational;
CREATE SCHEMA item;
SET search_path = item, public;
SELECT dyn_create_table('item.music', 'pk S', 'sk S', global_indexes => '{"ByAlbum": {"partition_key": "g1 S", "sort_key": "h1 S"}, "ByGenre": {"partition_key": "genre S", "sort_key": "ms N"}}');
SELECT dyn_create_entity('item.music', 'artist', '{"pk": "ARTIST#<artistid>", "sk": "#"}', '{"artistid": "N integer", "name": "S", "country": "S"}');
SELECT dyn_create_entity('item.music', 'album', '{"pk": "ARTIST#<artistid>", "sk": "ALBUM#<albumid:05>", "g1": "ALBUM#<albumid>", "h1": "#"}',
  '{"albumid": "N smallint", "artistid": "N integer", "title": "S", "released": "S date"}');
SELECT dyn_create_entity('item.music', 'track', '{"pk": "TRACK#<trackid>", "sk": "#", "g1": "ALBUM#<albumid>", "h1": "TRACK#<trackid:06>"}',
  '{"trackid": "N bigint", "albumid": "N bigint", "name": {"type": "S", "stored": "n"}, "genre": "S", "ms": "N", "released": "S date"}');
SELECT dyn_create_entity('item.music', 'sale', '{"pk": "SALE#<shop>#<saleid>", "sk": "#"}', '{"shop": "S varchar(20)", "saleid": "N integer", "buyer": "S uuid"}');
SELECT dyn_create_entity('item.music', 'line', '{"pk": "SALE#<shop>#<saleid>", "sk": "LINE#<no:03>"}', '{"shop": "S varchar(20)", "saleid": "N integer", "no": "N integer", "trackid": "N bigint"}');
SELECT dyn_create_entity('item.music', 'buyer', '{"pk": "BUYER#<buyer>", "sk": "#"}', '{"buyer": "S uuid", "name": "S"}');
SELECT dyn_create_entity('item.music', 'day', '{"pk": "DAY#<day>", "sk": "#"}', '{"day": "S date", "note": "S"}');
SELECT count(dyn_create_entity_view('item.music', e)) FROM unnest('{artist,album,track,sale,line,buyer,day}'::text[]) e;
SELECT dyn_create_entity_view('item.music', 'album', 'album_i', index_name => 'ByAlbum'), dyn_create_entity_view('item.music', 'track', 'track_i', index_name => 'ByAlbum'), dyn_create_entity_view('item.music', 'track', 'track_g', index_name => 'ByGenre');

-- the same data in ordinary tables
CREATE TABLE relational.artist AS SELECT i AS artistid, 'artist ' || i AS name, CASE WHEN i % 5 <> 0 THEN 'country ' || i % 3 END AS country FROM generate_series(1, 30) i;
CREATE TABLE relational.album AS SELECT i::int2 AS albumid, i * 7 % 25 + 1 AS artistid, 'album ' || i AS title, CASE WHEN i % 4 <> 0 THEN date '2020-01-01' + i END AS released FROM generate_series(1, 70) i;
CREATE TABLE relational.track AS SELECT i::int8 AS trackid, nullif(i * 11 % 75, 3)::int8 AS albumid, 'track ' || i AS name, CASE WHEN i % 7 <> 0 THEN 'genre ' || i % 7 END AS genre, (i * 31 % 40)::numeric AS ms, date '2020-01-01' + i % 80 AS released FROM generate_series(1, 600) i;
CREATE TABLE relational.sale AS SELECT 'shop ' || i % 4 AS shop, i / 4 AS saleid, CASE WHEN i % 3 <> 0 THEN md5((i % 10)::text)::uuid END AS buyer FROM generate_series(1, 60) i;
CREATE TABLE relational.line AS SELECT 'shop ' || i % 4 AS shop, i / 4 % 16 AS saleid, i / 64 AS no, (i * 17 % 650)::int8 AS trackid FROM generate_series(1, 300) i;
CREATE TABLE relational.buyer AS SELECT md5(i::text)::uuid AS buyer, 'buyer ' || i AS name FROM generate_series(0, 12) i;
CREATE TABLE relational.day AS SELECT date '2020-01-01' + i AS day, 'day ' || i AS note FROM generate_series(0, 60, 3) i;
SELECT (SELECT count(dyn_put_entity('item.music', 'artist', to_json(x)::dyn_item)) FROM relational.artist x), (SELECT count(dyn_put_entity('item.music', 'album', to_json(x)::dyn_item)) FROM relational.album x),
  (SELECT count(dyn_put_entity('item.music', 'track', to_json(x)::dyn_item)) FROM relational.track x), (SELECT count(dyn_put_entity('item.music', 'sale', to_json(x)::dyn_item)) FROM relational.sale x),
  (SELECT count(dyn_put_entity('item.music', 'line', to_json(x)::dyn_item)) FROM relational.line x), (SELECT count(dyn_put_entity('item.music', 'buyer', to_json(x)::dyn_item)) FROM relational.buyer x),
  (SELECT count(dyn_put_entity('item.music', 'day', to_json(x)::dyn_item)) FROM relational.day x);
CREATE VIEW relational.album_i WITH (security_invoker) AS SELECT * FROM relational.album;
CREATE VIEW relational.track_i WITH (security_invoker) AS SELECT * FROM relational.track WHERE albumid IS NOT NULL;
CREATE VIEW relational.track_g WITH (security_invoker) AS SELECT * FROM relational.track WHERE genre IS NOT NULL;

-- items that are of no entity, or not in an index, since their attributes are missing, of another type, or contradict their keys
SELECT count(dyn_put('item.music', i::dyn_item)) FROM unnest(ARRAY[
  '{"Type": {"S": "artist"}, "pk": {"S": "ARTIST#1"}, "sk": {"S": "other"}, "artistid": {"N": "1"}, "name": {"S": "of another sort key"}}',
  '{"Type": {"S": "artist"}, "pk": {"S": "ARTIST#2#"}, "sk": {"S": "#"}, "artistid": {"N": "2"}, "name": {"S": "of another key"}}',
  '{"Type": {"S": "artist"}, "pk": {"S": "ARTIST#99"}, "sk": {"S": "#"}, "name": {"S": "without a number"}}',
  '{"Type": {"S": "artist"}, "pk": {"S": "ARTIST#98"}, "sk": {"S": "#"}, "artistid": {"S": "98"}, "name": {"S": "a string"}}',
  '{"Type": {"S": "album"}, "pk": {"S": "ARTIST#1"}, "sk": {"S": "ALBUM#00099"}, "artistid": {"N": "2"}, "albumid": {"N": "99"}}',
  '{"Type": {"S": "track"}, "pk": {"S": "TRACK#9001"}, "sk": {"S": "#"}, "g1": {"S": "ALBUM#7"}, "h1": {"S": "TRACK#009001"}, "trackid": {"N": "9001"}, "albumid": {"N": "8"}, "ms": {"N": "5"}}',
  '{"Type": {"S": "track"}, "pk": {"S": "TRACK#9002"}, "sk": {"S": "#"}, "g1": {"S": "ALBUM#7"}, "h1": {"S": "TRACK#009002"}, "trackid": {"N": "9002"}}',
  '{"Type": {"S": "track"}, "pk": {"S": "TRACK#9003"}, "sk": {"S": "#"}, "trackid": {"N": "9003"}, "albumid": {"S": "7"}}',
  '{"Type": {"S": "line"}, "pk": {"S": "SALE#shop 1#1"}, "sk": {"S": "LINE#900"}, "shop": {"S": "shop 2"}, "saleid": {"N": "1"}, "no": {"N": "900"}}',
  '{"Type": {"S": "day"}, "pk": {"S": "DAY#2020-01-02T00:00"}, "sk": {"S": "#"}, "day": {"S": "2020-01-02T00:00"}}',
  '{"Type": {"S": "other"}, "pk": {"S": "ARTIST#1"}, "sk": {"S": "#2"}, "artistid": {"N": "1"}}']) i;
INSERT INTO relational.artist VALUES (NULL, 'a string', NULL);
INSERT INTO relational.track VALUES (9001, 8, NULL, NULL, 5, NULL), (9002, NULL, NULL, NULL, NULL, NULL), (9003, NULL, NULL, NULL, NULL, NULL);
CREATE OR REPLACE VIEW relational.track_i WITH (security_invoker) AS SELECT * FROM relational.track WHERE albumid IS NOT NULL AND trackid <> 9001;
CREATE OR REPLACE VIEW relational.track_g WITH (security_invoker) AS SELECT * FROM relational.track WHERE genre IS NOT NULL AND ms IS NOT NULL;
ANALYZE item.music;
ANALYZE relational.artist, relational.album, relational.track, relational.sale, relational.line, relational.buyer, relational.day;

CREATE TABLE setting (name text, sets text);
INSERT INTO setting VALUES ('default', ''), ('nested loops', 'enable_hashjoin=off,enable_mergejoin=off,enable_seqscan=off'), ('bitmaps', 'enable_hashjoin=off,enable_mergejoin=off,enable_seqscan=off,enable_indexscan=off'),
  ('no bitmaps', 'enable_bitmapscan=off,enable_material=off,enable_hashjoin=off,enable_mergejoin=off'), ('no memoize', 'enable_memoize=off,enable_hashjoin=off,enable_mergejoin=off'),
  ('parallel', 'parallel_setup_cost=0,parallel_tuple_cost=0,min_parallel_table_scan_size=0,min_parallel_index_scan_size=0,enable_hashjoin=off,enable_mergejoin=off'),
  ('as written', 'join_collapse_limit=1,from_collapse_limit=1,enable_hashjoin=off,enable_mergejoin=off'), ('geqo', 'geqo_threshold=2,enable_hashjoin=off,enable_mergejoin=off'), ('hashes', 'enable_nestloop=off');

-- a key of a join is one that dynamo_internal.entity_key() makes
CREATE TABLE query (id int GENERATED ALWAYS AS IDENTITY, text text, joins boolean);
INSERT INTO query (joins, text) VALUES
  (true, 'SELECT * FROM artist JOIN album USING (artistid)'),
  (true, 'SELECT * FROM artist a JOIN album b USING (artistid) JOIN track_i t USING (albumid) WHERE a.artistid = 7'),
  (true, 'SELECT a.name, b.title, t.name FROM track t JOIN album_i b USING (albumid) JOIN artist a USING (artistid) WHERE t.trackid = 77'),
  (true, 'SELECT * FROM artist a LEFT JOIN album b USING (artistid)'),
  (true, 'SELECT * FROM album b RIGHT JOIN artist a ON a.artistid = b.artistid AND b.title LIKE ''%1'''),
  (false, 'SELECT * FROM artist a FULL JOIN album b ON a.artistid = b.artistid'),
  (true, 'SELECT * FROM artist a WHERE EXISTS (SELECT FROM album b WHERE b.artistid = a.artistid AND b.released > ''2020-02-01'')'),
  (true, 'SELECT * FROM artist a WHERE NOT EXISTS (SELECT FROM album b WHERE b.artistid = a.artistid)'),
  (true, 'SELECT * FROM album_i b WHERE albumid IN (SELECT albumid FROM track_i t WHERE t.ms = 5)'),
  (true, 'SELECT * FROM artist a WHERE a.artistid NOT IN (SELECT b.artistid FROM album b WHERE b.artistid = a.artistid)'),
  (true, 'SELECT a.name, (SELECT count(*) FROM album b WHERE b.artistid = a.artistid) FROM artist a'),
  (true, 'SELECT * FROM artist a, LATERAL (SELECT * FROM album b WHERE b.artistid = a.artistid ORDER BY albumid LIMIT 1) x'),
  (true, 'SELECT * FROM artist a LEFT JOIN LATERAL (SELECT b.albumid, a.name || b.title AS both FROM album b WHERE b.artistid = a.artistid) x ON true'),
  (true, 'SELECT * FROM (VALUES (1), (2), (NULL), (1000), (-1)) v (x) LEFT JOIN album b ON b.artistid = v.x LEFT JOIN track_i t USING (albumid)'),
  (true, 'SELECT * FROM generate_series(1, 5) x JOIN track t ON t.trackid = x'),
  (true, 'SELECT * FROM generate_series(1, 5::int8) x JOIN artist a ON a.artistid = x'),
  (true, 'SELECT * FROM (VALUES (5000000000), (1), (NULL)) v (x) LEFT JOIN album_i b ON b.albumid = v.x'),
  (true, 'SELECT * FROM (VALUES (1::int2), (2)) v (x) LEFT JOIN album_i b ON b.albumid = v.x JOIN track t ON t.trackid = v.x'),
  (false, 'SELECT * FROM (VALUES (1.0), (1.5), (2)) v (x) JOIN artist a ON a.artistid = v.x'),
  (true, 'SELECT * FROM (VALUES (5.0), (5.00), (5.5), (''NaN''), (NULL)) v (x) JOIN track_g t ON t.ms = v.x AND t.genre = ''genre 3'''),
  (true, 'SELECT * FROM (VALUES (''genre 1''), (''genre 2''), (''''), (''x'')) v (x) LEFT JOIN track_g t ON t.genre = v.x AND t.ms = 5'),
  (true, 'SELECT * FROM (SELECT 1 AS x UNION ALL SELECT 4 UNION ALL SELECT 2000) v JOIN album b ON b.artistid = v.x'),
  (true, 'SELECT * FROM (SELECT artistid FROM artist WHERE country = ''country 1'' UNION ALL SELECT artistid FROM album WHERE title LIKE ''%2'') v JOIN album b USING (artistid)'),
  (true, 'WITH x AS MATERIALIZED (SELECT albumid FROM album_i WHERE released < ''2020-01-20'') SELECT * FROM x JOIN track_i t USING (albumid)'),
  (true, 'WITH RECURSIVE x AS (SELECT 8 AS id, 1 AS depth UNION ALL SELECT b.albumid / 2, depth + 1 FROM x JOIN album b ON b.artistid = x.id WHERE depth < 4) SELECT * FROM x'),
  (true, 'SELECT * FROM album b1 JOIN album b2 ON b2.artistid = b1.artistid AND b2.albumid > b1.albumid'),
  (true, 'SELECT * FROM track t1 JOIN track_i t2 ON t2.albumid = t1.albumid WHERE t1.trackid = 100'),
  (true, 'SELECT a.country, count(*), sum(t.ms), count(DISTINCT b.albumid) FROM artist a JOIN album b USING (artistid) JOIN track_i t USING (albumid) GROUP BY 1'),
  (true, 'SELECT * FROM sale s JOIN line l USING (shop, saleid)'),
  (true, 'SELECT * FROM (VALUES (''shop 1'')) v (x), generate_series(1, 3) y, line l WHERE l.shop = v.x AND l.saleid = y'),
  (true, 'SELECT * FROM (VALUES (''shop 1''), (''shop 1#1''), (''''), (NULL)) v (x) LEFT JOIN line l ON l.shop = v.x AND l.saleid = 1'),
  (true, 'SELECT * FROM (VALUES (''shop 1''), (''shop 2'')) v (x) LEFT JOIN line l ON l.shop = v.x'),
  (false, 'SELECT * FROM generate_series(1, 3) y JOIN line l ON l.saleid = y'),
  (true, 'SELECT * FROM sale s JOIN line l USING (shop, saleid) JOIN track t USING (trackid) LEFT JOIN album_i b USING (albumid) LEFT JOIN artist a USING (artistid) WHERE s.saleid = 3'),
  (true, 'SELECT * FROM sale s LEFT JOIN buyer b USING (buyer)'),
  (true, 'SELECT * FROM album b JOIN day d ON d.day = b.released'),
  (false, 'SELECT * FROM album b JOIN day d ON d.day = b.released::timestamp'),
  (true, 'SELECT * FROM artist a LEFT JOIN (album b JOIN track_i t USING (albumid)) ON b.artistid = a.artistid AND t.ms = 7'),
  (true, 'SELECT * FROM artist a LEFT JOIN (SELECT coalesce(b.artistid, 0) AS artistid, b.title FROM album b) x USING (artistid) LEFT JOIN album c USING (artistid)'),
  (true, 'SELECT * FROM artist a LEFT JOIN album b ON b.artistid = a.artistid LEFT JOIN track_i t ON t.albumid = b.albumid AND b.released IS NOT NULL WHERE t.trackid IS NULL'),
  (true, 'SELECT * FROM artist a LEFT JOIN album b USING (artistid) WHERE coalesce(b.albumid, -1) = -1'),
  (true, 'SELECT * FROM (SELECT a.artistid, a.country FROM artist a LEFT JOIN day d ON d.note = a.name) x LEFT JOIN album b ON b.artistid = x.artistid JOIN artist c ON c.artistid = b.artistid'),
  (false, 'SELECT * FROM artist a JOIN album b ON b.artistid = a.artistid OR b.albumid = a.artistid'),
  (true, 'SELECT * FROM artist a JOIN album b ON b.artistid = a.artistid AND (b.albumid < 5 OR a.country IS NULL)'),
  (true, 'SELECT * FROM artist a JOIN album b ON b.artistid = a.artistid + 1'),
  (true, 'SELECT * FROM (SELECT DISTINCT artistid FROM album WHERE albumid < 20) x JOIN artist a USING (artistid)'),
  (true, 'SELECT * FROM (SELECT artistid, count(*) FROM album GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5) x JOIN artist a USING (artistid)'),
  (true, 'SELECT *, row_number() OVER (PARTITION BY a.artistid ORDER BY b.albumid) FROM artist a JOIN album b USING (artistid) WHERE a.artistid IN (3, 4)'),
  (true, 'SELECT count(*) FROM artist a JOIN album b USING (artistid) JOIN track_i t USING (albumid) JOIN line l USING (trackid) JOIN sale s USING (shop, saleid) JOIN buyer u USING (buyer)'),
  (true, 'SELECT * FROM artist a JOIN LATERAL (SELECT * FROM album b WHERE b.artistid = a.artistid UNION ALL SELECT * FROM album b WHERE b.albumid = a.artistid) x ON true');
GRANT USAGE ON SCHEMA item, relational TO PUBLIC;
GRANT SELECT ON ALL TABLES IN SCHEMA item, relational TO PUBLIC;

CREATE FUNCTION answer(query text, schema text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text;
BEGIN
	PERFORM set_config('search_path', schema || ', public', true);
	EXECUTE format('SELECT string_agg(to_jsonb(x)::text, E''\n'' ORDER BY to_jsonb(x)::text COLLATE "C") FROM (%s) x', query) INTO result;
	RETURN coalesce(result, 'nothing');
END $$;
CREATE FUNCTION explain(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	result text = '';
BEGIN
	PERFORM set_config('search_path', 'item, public', true);
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		result = result || line || E'\n';
	END LOOP;
	RETURN result;
END $$;
-- the queries whose answers differ, and those that do not use a key of a join with any of the settings although they could, or do although they cannot
CREATE FUNCTION check_joins() RETURNS TABLE (problem text, query text) LANGUAGE plpgsql AS $$
DECLARE
	q item.query;
	s item.setting;
	expected text;
	used boolean;
	pair text;
BEGIN
	FOR q IN SELECT * FROM item.query ORDER BY id LOOP
		expected = item.answer(q.text, 'relational');
		used = false;
		FOR s IN SELECT * FROM item.setting LOOP
			FOREACH pair IN ARRAY string_to_array(s.sets, ',') LOOP
				PERFORM set_config(split_part(pair, '=', 1), split_part(pair, '=', 2), true);
			END LOOP;
			used = used OR item.explain(q.text) ~ 'Index Cond: .*entity_key';
			IF item.answer(q.text, 'item') <> expected THEN
				RETURN QUERY SELECT 'differs: ' || s.name, q.text;
			END IF;
			FOREACH pair IN ARRAY string_to_array(s.sets, ',') LOOP
				PERFORM set_config(split_part(pair, '=', 1), (SELECT boot_val FROM pg_settings WHERE name = split_part(pair, '=', 1)), true);
			END LOOP;
		END LOOP;
		IF used <> q.joins THEN
			RETURN QUERY SELECT CASE WHEN used THEN 'uses a key' ELSE 'uses no key' END, q.text;
		END IF;
	END LOOP;
END $$;
SELECT count(*) AS queries FROM query;
SELECT * FROM check_joins();

-- plans for all values
CREATE FUNCTION generic(query text, value text) RETURNS TABLE (keys boolean, same boolean) LANGUAGE plpgsql AS $$
DECLARE
	expected text = item.answer(replace(query, '$1', quote_nullable(value) || '::int'), 'relational');
	result text;
BEGIN
	PERFORM set_config('search_path', 'item, public', true), set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_hashjoin', 'off', true),
		set_config('enable_mergejoin', 'off', true);
	EXECUTE format('PREPARE generic(int) AS %s', query);
	keys = item.explain(format('EXECUTE generic(%L)', value)) ~ 'Index Cond: .*entity_key.*Index Cond: .*entity_key';
	EXECUTE 'DEALLOCATE generic';
	EXECUTE format('PREPARE generic(int) AS SELECT string_agg(to_jsonb(x)::text, E''\n'' ORDER BY to_jsonb(x)::text COLLATE "C") FROM (%s) x', query);
	EXECUTE format('EXECUTE generic(%L)', value) INTO result;
	EXECUTE 'DEALLOCATE generic';
	same = coalesce(result, 'nothing') = expected;
	RETURN NEXT;
END $$;
SELECT v, g.* FROM unnest('{7,3,1000,-1,NULL}'::int[]) v, generic('SELECT * FROM artist a JOIN album b USING (artistid) JOIN track_i t USING (albumid) WHERE a.artistid = $1', v::text) g;
SELECT v, g.* FROM unnest('{7,3,1000,-1,NULL}'::int[]) v, generic('SELECT * FROM track t LEFT JOIN album_i b USING (albumid) LEFT JOIN artist a USING (artistid) WHERE t.trackid = $1', v::text) g;

-- row-level security: what is compared by a leakproof operator, which those of numbers are not, is a condition all the same
CREATE ROLE dyn_joiner;
GRANT SELECT ON query, setting TO dyn_joiner;
ALTER TABLE music ENABLE ROW LEVEL SECURITY;
ALTER TABLE relational.artist ENABLE ROW LEVEL SECURITY;
ALTER TABLE relational.album ENABLE ROW LEVEL SECURITY;
CREATE POLICY items ON music USING (pk <> 'ARTIST#7' AND pk NOT LIKE 'ARTIST#1%');
CREATE POLICY artists ON relational.artist USING (artistid IS NULL OR artistid <> 7 AND artistid::text NOT LIKE '1%');
CREATE POLICY albums ON relational.album USING (artistid <> 7 AND artistid::text NOT LIKE '1%');
SET ROLE dyn_joiner;
SELECT * FROM check_joins();
SELECT explain('SELECT FROM artist WHERE artistid = 3') ~ 'Index Cond: .*ARTIST#3', explain('SELECT FROM track_g WHERE genre = ''genre 1'' AND ms = 5') ~ 'Index Cond: .*genre 1.*ms = ';
-- no function sees rows that the policy hides
CREATE FUNCTION pg_temp.show(text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS $$ BEGIN RAISE WARNING 'seen: %', $1; RETURN true; END $$;
SELECT name FROM artist WHERE artistid = 7 AND pg_temp.show(name);
SELECT a.name FROM (VALUES (1), (3)) v (x) JOIN artist a ON a.artistid = v.x AND pg_temp.show(a.name);
RESET ROLE;
ALTER TABLE music DISABLE ROW LEVEL SECURITY;
ALTER TABLE relational.artist DISABLE ROW LEVEL SECURITY;
ALTER TABLE relational.album DISABLE ROW LEVEL SECURITY;
DROP OWNED BY dyn_joiner;
DROP ROLE dyn_joiner;

-- writes from joins
SELECT explain('UPDATE track t SET name = '''' FROM line l WHERE t.trackid = l.trackid AND l.shop = ''shop 1'' AND l.saleid = 1') ~ 'Index Cond: .*entity_key';
UPDATE track t SET name = b.title || t.name FROM album b WHERE b.albumid = t.albumid AND b.artistid = 4;
UPDATE relational.track t SET name = b.title || t.name FROM relational.album b WHERE b.albumid = t.albumid AND b.artistid = 4;
DELETE FROM line l USING sale s WHERE s.shop = l.shop AND s.saleid = l.saleid AND s.buyer IS NULL;
DELETE FROM relational.line l USING relational.sale s WHERE s.shop = l.shop AND s.saleid = l.saleid AND s.buyer IS NULL;
SELECT answer('SELECT * FROM track', 'item') = answer('SELECT * FROM track', 'relational'), answer('SELECT * FROM line', 'item') = answer('SELECT * FROM line', 'relational');
-- a table with children is read whole
CREATE TABLE more () INHERITS (music);
SELECT answer(text, 'item') = answer(text, 'relational') FROM query WHERE id = 2;
DROP SCHEMA item, relational CASCADE;
