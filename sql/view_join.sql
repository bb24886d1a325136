-- Joins of views of entities: by scans of indexes whose conditions come from join clauses, and right with any plan.
\pset format unaligned
\pset tuples_only on
SET TIME ZONE 'UTC';
SET client_min_messages = warning;
CREATE SCHEMA relational;
CREATE SCHEMA item;
SET search_path = item, public;
SELECT dyn_create_table('item.music', 'pk S', 'sk S',
	global_indexes => '{"ByAlbum": {"partition_key": "g1 S", "sort_key": "h1 S"}, "ByGenre": {"partition_key": "genre S", "sort_key": "ms N"}}');
SELECT dyn_create_entity('item.music', 'artist', '{"pk": "ARTIST#<artistid>", "sk": "#"}', '{"artistid": "N integer", "name": "S", "country": "S"}');
SELECT dyn_create_entity('item.music', 'album', '{"pk": "ARTIST#<artistid>", "sk": "ALBUM#<albumid:05>", "g1": "ALBUM#<albumid>", "h1": "#"}',
  '{"albumid": "N smallint", "artistid": "N integer", "title": "S", "released": "S date"}');
SELECT dyn_create_entity('item.music', 'track', '{"pk": "TRACK#<trackid>", "sk": "#", "g1": "ALBUM#<albumid>", "h1": "TRACK#<trackid:06>"}',
  '{"trackid": "N bigint", "albumid": "N bigint", "name": {"type": "S", "stored": "n"}, "genre": "S", "ms": "N", "released": "S date"}');
SELECT dyn_create_entity('item.music', 'sale', '{"pk": "SALE#<shop>#<saleid>", "sk": "#"}',
	'{"shop": "S varchar(20)", "saleid": "N integer", "buyer": "S uuid"}');
SELECT dyn_create_entity('item.music', 'line', '{"pk": "SALE#<shop>#<saleid>", "sk": "LINE#<no:03>"}',
	'{"shop": "S varchar(20)", "saleid": "N integer", "no": "N integer", "trackid": "N bigint"}');
SELECT dyn_create_entity('item.music', 'buyer', '{"pk": "BUYER#<buyer>", "sk": "#"}', '{"buyer": "S uuid", "name": "S"}');
SELECT dyn_create_entity('item.music', 'day', '{"pk": "DAY#<day>", "sk": "#"}', '{"day": "S date", "note": "S"}');
SELECT dyn_create_entity('item.music', 'event', '{"pk": "LOG#<host>", "sk": "<at>#<id>"}', '{"host": "S", "at": "S timestamptz", "id": "N integer"}');
SELECT dyn_create_entity('item.music', 'visit', '{"pk": "VISIT#<month:month>", "sk": "<place:03>#<rank:-04>#<at:hour>"}',
	'{"month": "S date", "place": "N smallint", "rank": "N integer", "at": "S timestamp"}');
-- all of these are in an index
SELECT dyn_create_entity('item.music', 'play', '{"pk": "PLAY#<at>", "sk": "#", "g1": "ALBUM#<albumid>", "h1": "PLAY#<trackid:04>"}',
	'{"at": "N integer", "albumid": {"type": "N bigint", "required": true}, "trackid": {"type": "N bigint", "required": true}}');
SELECT count(dyn_create_entity_view('item.music', e)) FROM unnest('{artist,album,track,sale,line,buyer,day,event,visit,play}'::text[]) e;
SELECT dyn_create_entity_view('item.music', 'album', 'album_i', index_name => 'ByAlbum'),
	dyn_create_entity_view('item.music', 'track', 'track_i', index_name => 'ByAlbum'),
	dyn_create_entity_view('item.music', 'track', 'track_g', index_name => 'ByGenre');

-- the same data in ordinary tables
CREATE TABLE relational.artist AS SELECT i AS artistid, 'artist ' || i AS name, CASE WHEN i % 5 <> 0 THEN 'country ' || i % 3 END AS country
	FROM generate_series(1, 30) i;
CREATE TABLE relational.album AS SELECT i::int2 AS albumid, i * 7 % 25 + 1 AS artistid, 'album ' || i AS title, CASE WHEN i % 4 <> 0
	THEN date '2020-01-01' + i END AS released FROM generate_series(1, 70) i;
CREATE TABLE relational.track AS SELECT i::int8 AS trackid, nullif(i * 11 % 75, 3)::int8 AS albumid, 'track ' || i AS name, CASE WHEN i % 7 <> 0
	THEN 'genre ' || i % 7 END AS genre, (i * 31 % 40)::numeric AS ms, date '2020-01-01' + i % 80 AS released FROM generate_series(1, 600) i;
CREATE TABLE relational.sale AS SELECT 'shop ' || i % 4 AS shop, i / 4 AS saleid, CASE WHEN i % 3 <> 0 THEN md5((i % 10)::text)::uuid END AS buyer
	FROM generate_series(1, 60) i;
CREATE TABLE relational.line AS SELECT 'shop ' || i % 4 AS shop, i / 4 % 16 AS saleid, i / 64 AS no, (i * 17 % 650)::int8 AS trackid
	FROM generate_series(1, 300) i;
CREATE TABLE relational.buyer AS SELECT md5(i::text)::uuid AS buyer, 'buyer ' || i AS name FROM generate_series(0, 12) i;
CREATE TABLE relational.day AS SELECT date '2020-01-01' + i AS day, 'day ' || i AS note FROM generate_series(0, 60, 3) i;
SELECT (SELECT count(dyn_put_entity('item.music', 'artist', to_json(x)::dyn_item)) FROM relational.artist x),
	(SELECT count(dyn_put_entity('item.music', 'album', to_json(x)::dyn_item)) FROM relational.album x),
  (SELECT count(dyn_put_entity('item.music', 'track', to_json(x)::dyn_item)) FROM relational.track x),
  (SELECT count(dyn_put_entity('item.music', 'sale', to_json(x)::dyn_item)) FROM relational.sale x),
  (SELECT count(dyn_put_entity('item.music', 'line', to_json(x)::dyn_item)) FROM relational.line x),
  (SELECT count(dyn_put_entity('item.music', 'buyer', to_json(x)::dyn_item)) FROM relational.buyer x),
  (SELECT count(dyn_put_entity('item.music', 'day', to_json(x)::dyn_item)) FROM relational.day x);
CREATE TABLE relational.event AS SELECT 'host ' || i % 3 AS host, CASE WHEN i % 6 = 5 THEN date_trunc('day', at) ELSE at END AS at, i AS id
	FROM generate_series(1, 300) i, LATERAL (SELECT timestamptz '2024-02-25 22:30:30Z' + i * interval '67 minutes' + i % 4 * interval '100 milliseconds' AS at) x;
-- a timestamp is written in many ways
SELECT count(dyn_put('item.music', jsonb_build_object('Type', 'event', 'pk', 'LOG#' || host, 'sk', text || '#' || id, 'host', host, 'at', text, 'id', id)))
	FROM relational.event, LATERAL (SELECT CASE id % 6 WHEN 0 THEN to_char(at, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
  WHEN 1 THEN to_char(at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') WHEN 2 THEN to_char(at + interval '15:59', 'YYYY-MM-DD"T"HH24:MI:SS.MS"+15:59"') WHEN 3
    THEN to_char(at - interval '15:59', 'YYYY-MM-DD"T"HH24:MI:SS.MS"-15:59"')
  WHEN 4 THEN to_char(at, 'YYYY-MM-DD HH24:MI:SS.MS') ELSE to_char(at, 'YYYY-MM-DD') END AS text) x;
CREATE TABLE relational.visit AS SELECT date '2024-01-15' + i * 5 % 400 AS month, (i % 20)::int2 AS place, i * 7 % 100 AS rank,
	timestamp '2024-01-15 00:10:20.5' + i * 5 % 400 * interval '25 hours' AS at FROM generate_series(1, 300) i;
SELECT count(dyn_put_entity('item.music', 'visit', to_json(x)::dyn_item)) FROM relational.visit x;
CREATE TABLE relational.play AS SELECT i AS at, (i * 13 % 30)::int8 AS albumid, (i * 7 % 20)::int8 AS trackid FROM generate_series(1, 100) i;
SELECT count(dyn_put_entity('item.music', 'play', to_json(x)::dyn_item)) FROM relational.play x;
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
  '{"Type": {"S": "track"}, "pk": {"S": "TRACK#9001"}, "sk": {"S": "#"}, "g1": {"S": "ALBUM#7"}, "h1": {"S": "TRACK#009001"},
  "trackid": {"N": "9001"}, "albumid": {"N": "8"}, "ms": {"N": "5"}}',
  '{"Type": {"S": "track"}, "pk": {"S": "TRACK#9002"}, "sk": {"S": "#"}, "g1": {"S": "ALBUM#7"}, "h1": {"S": "TRACK#009002"}, "trackid": {"N": "9002"}}',
  '{"Type": {"S": "track"}, "pk": {"S": "TRACK#9003"}, "sk": {"S": "#"}, "trackid": {"N": "9003"}, "albumid": {"S": "7"}}',
  '{"Type": {"S": "line"}, "pk": {"S": "SALE#shop 1#1"}, "sk": {"S": "LINE#900"}, "shop": {"S": "shop 2"}, "saleid": {"N": "1"}, "no": {"N": "900"}}',
  '{"Type": {"S": "day"}, "pk": {"S": "DAY#2020-01-02T00:00"}, "sk": {"S": "#"}, "day": {"S": "2020-01-02T00:00"}}',
  '{"Type": {"S": "album"}, "pk": {"S": "ARTIST#1"}, "sk": {"S": "ALBUM#00098"}, "artistid": {"N": "1"}, "albumid": {"N": "98"},
  "title": {"S": "in no index"}}',
  '{"Type": {"S": "play"}, "pk": {"S": "PLAY#9001"}, "sk": {"S": "#"}, "at": {"N": "9001"}, "albumid": {"N": "7"}, "trackid": {"N": "7"},
  "g1": {"S": "ALBUM#7"}}',
  '{"Type": {"S": "play"}, "pk": {"S": "PLAY#9002"}, "sk": {"S": "#"}, "at": {"N": "9002"}, "albumid": {"N": "7"}, "trackid": {"N": "7"},
  "g1": {"S": "ALBUM#8"}, "h1": {"S": "PLAY#0007"}}',
  '{"Type": {"S": "play"}, "pk": {"S": "PLAY#9003"}, "sk": {"S": "#"}, "at": {"N": "9003"}, "trackid": {"N": "7"}, "g1": {"S": "ALBUM#7"},
  "h1": {"S": "PLAY#0007"}}',
  '{"Type": {"S": "other"}, "pk": {"S": "ARTIST#1"}, "sk": {"S": "#2"}, "artistid": {"N": "1"}}']) i;
INSERT INTO relational.artist VALUES (NULL, 'a string', NULL);
INSERT INTO relational.track VALUES (9002, NULL, NULL, NULL, NULL, NULL), (9003, NULL, NULL, NULL, NULL, NULL);
CREATE OR REPLACE VIEW relational.track_i WITH (security_invoker) AS SELECT * FROM relational.track WHERE albumid IS NOT NULL;
CREATE OR REPLACE VIEW relational.track_g WITH (security_invoker) AS SELECT * FROM relational.track WHERE genre IS NOT NULL AND ms IS NOT NULL;
ANALYZE item.music;
ANALYZE relational.artist, relational.album, relational.track, relational.sale, relational.line, relational.buyer, relational.day, relational.event,
	relational.visit, relational.play;

CREATE TABLE setting (name text, sets text);
INSERT INTO setting VALUES ('default', ''), ('nested loops', 'enable_hashjoin=off,enable_mergejoin=off,enable_seqscan=off'),
	('bitmaps', 'enable_hashjoin=off,enable_mergejoin=off,enable_seqscan=off,enable_indexscan=off'),
  ('no bitmaps', 'enable_bitmapscan=off,enable_material=off,enable_hashjoin=off,enable_mergejoin=off'),
  ('no memoize', 'enable_memoize=off,enable_hashjoin=off,enable_mergejoin=off'),
  ('parallel', 'parallel_setup_cost=0,parallel_tuple_cost=0,min_parallel_table_scan_size=0,min_parallel_index_scan_size=0,enable_hashjoin=off,'
    'enable_mergejoin=off'),
  ('as written', 'join_collapse_limit=1,from_collapse_limit=1,enable_hashjoin=off,enable_mergejoin=off'),
  ('geqo', 'geqo_threshold=2,enable_hashjoin=off,enable_mergejoin=off'), ('hashes', 'enable_nestloop=off');

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
  (true, 'SELECT * FROM (VALUES (5.0), (5.00), (5.5), (''NaN''), (NULL)) v (x) LEFT JOIN track_g t ON t.ms = v.x AND t.genre = ''genre 3'''),
  (true, 'SELECT * FROM (VALUES (''genre 1''), (''genre 2''), (''''), (''x'')) v (x) LEFT JOIN track_g t ON t.genre = v.x AND t.ms = 5'),
  (true, 'SELECT * FROM (SELECT 1 AS x UNION ALL SELECT 4 UNION ALL SELECT 2000) v JOIN album b ON b.artistid = v.x'),
  (true, 'SELECT * FROM (SELECT artistid FROM artist WHERE country = ''country 1'' UNION ALL SELECT artistid FROM album WHERE title LIKE ''%2'') v
    JOIN album b USING (artistid)'),
  (true, 'WITH x AS MATERIALIZED (SELECT albumid FROM album_i WHERE released < ''2020-01-20'') SELECT * FROM x JOIN track_i t USING (albumid)'),
  (true, 'WITH RECURSIVE x AS (SELECT 8 AS id, 1 AS depth UNION ALL SELECT b.albumid / 2, depth + 1 FROM x JOIN album b ON b.artistid = x.id WHERE depth < 4
    AND x.id > 0) SELECT * FROM x'),
  (true, 'SELECT * FROM album b1 JOIN album b2 ON b2.artistid = b1.artistid AND b2.albumid > b1.albumid'),
  (true, 'SELECT * FROM track t1 JOIN track_i t2 ON t2.albumid = t1.albumid WHERE t1.trackid = 100'),
  (true, 'SELECT a.country, count(*), sum(t.ms), count(DISTINCT b.albumid) FROM artist a JOIN album b USING (artistid) JOIN track_i t USING (albumid)
    GROUP BY 1'),
  (true, 'SELECT * FROM sale s JOIN line l USING (shop, saleid)'),
  (true, 'SELECT * FROM (VALUES (''shop 1'')) v (x), generate_series(1, 3) y, line l WHERE l.shop = v.x AND l.saleid = y'),
  (true, 'SELECT * FROM (VALUES (''shop 1''), (''shop 1#1''), (''''), (NULL)) v (x) LEFT JOIN line l ON l.shop = v.x AND l.saleid = 1'),
  (true, 'SELECT * FROM (VALUES (''shop 1''), (''shop 2'')) v (x) LEFT JOIN line l ON l.shop = v.x'),
  (false, 'SELECT * FROM generate_series(1, 3) y JOIN line l ON l.saleid = y'),
  (true, 'SELECT * FROM sale s JOIN line l USING (shop, saleid) JOIN track t USING (trackid) LEFT JOIN album_i b USING (albumid) LEFT JOIN artist a
    USING (artistid) WHERE s.saleid = 3'),
  (true, 'SELECT * FROM sale s LEFT JOIN buyer b USING (buyer)'),
  (true, 'SELECT * FROM album b JOIN day d ON d.day = b.released'),
  (false, 'SELECT * FROM album b JOIN day d ON d.day = b.released::timestamp'),
  (true, 'SELECT * FROM artist a LEFT JOIN (album b JOIN track_i t USING (albumid)) ON b.artistid = a.artistid AND t.ms = 7'),
  (true, 'SELECT * FROM artist a LEFT JOIN (SELECT coalesce(b.artistid, 0) AS artistid, b.title FROM album b) x USING (artistid) LEFT JOIN album c
    USING (artistid)'),
  (true, 'SELECT * FROM artist a LEFT JOIN album b ON b.artistid = a.artistid LEFT JOIN track_i t ON t.albumid = b.albumid AND b.released IS NOT NULL
    WHERE t.trackid IS NULL'),
  (true, 'SELECT * FROM artist a LEFT JOIN album b USING (artistid) WHERE coalesce(b.albumid, -1) = -1'),
  (true, 'SELECT * FROM (SELECT a.artistid, a.country FROM artist a LEFT JOIN day d ON d.note = a.name) x LEFT JOIN album b ON b.artistid = x.artistid
    JOIN artist c ON c.artistid = b.artistid'),
  (false, 'SELECT * FROM artist a JOIN album b ON b.artistid = a.artistid OR b.albumid = a.artistid'),
  (true, 'SELECT * FROM artist a JOIN album b ON b.artistid = a.artistid AND (b.albumid < 5 OR a.country IS NULL)'),
  (true, 'SELECT * FROM artist a JOIN album b ON b.artistid = a.artistid + 1'),
  (true, 'SELECT * FROM (SELECT DISTINCT artistid FROM album WHERE albumid < 20) x JOIN artist a USING (artistid)'),
  (true, 'SELECT * FROM (SELECT artistid, count(*) FROM album GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5) x JOIN artist a USING (artistid)'),
  (true, 'SELECT *, row_number() OVER (PARTITION BY a.artistid ORDER BY b.albumid) FROM artist a JOIN album b USING (artistid) WHERE a.artistid IN (3, 4)'),
  (true, 'SELECT count(*) FROM artist a JOIN album b USING (artistid) JOIN track_i t USING (albumid) JOIN line l USING (trackid) JOIN sale s USING (shop,
    saleid) JOIN buyer u USING (buyer)'),
  (true, 'SELECT * FROM artist a JOIN LATERAL (SELECT * FROM album b WHERE b.artistid = a.artistid UNION ALL SELECT * FROM album b
    WHERE b.albumid = a.artistid) x ON true');
-- views of all items, by an index in which they are
INSERT INTO query (joins, text) VALUES
  (true, 'SELECT * FROM track t JOIN album b USING (albumid) WHERE t.trackid = 77'),
  (true, 'SELECT * FROM (VALUES (7::int8), (8), (98), (NULL), (-1)) v (x) LEFT JOIN album b ON b.albumid = v.x LEFT JOIN play p ON p.albumid = v.x'),
  (true, 'SELECT * FROM artist a JOIN album b USING (artistid) JOIN play p USING (albumid) WHERE a.artistid = 7'),
  (true, 'SELECT * FROM play p JOIN album b ON b.albumid = p.albumid JOIN play q ON q.albumid = b.albumid AND q.trackid = p.trackid'),
  (true, 'SELECT * FROM album b WHERE NOT EXISTS (SELECT FROM play p WHERE p.albumid = b.albumid)'),
  (true, 'SELECT * FROM (VALUES (7), (8)) v (x) JOIN track t ON t.albumid = v.x'),
  (false, 'SELECT * FROM (VALUES (7), (8)) v (x) JOIN play p ON p.trackid = v.x');
INSERT INTO query (text) SELECT * FROM unnest(ARRAY['SELECT * FROM album WHERE albumid = 7', 'SELECT * FROM album WHERE albumid IN (7, 8, 98, 99)',
	'SELECT * FROM play WHERE albumid = 7', 'SELECT * FROM play WHERE albumid = 8 AND trackid = 7',
  'SELECT * FROM play WHERE albumid IN (7, 8) AND trackid = 7', 'SELECT * FROM play WHERE trackid = 7', 'SELECT count(*), sum(at) FROM play',
  'SELECT count(*) FROM album']) text;
-- lists and ranges, of constants and of joins
INSERT INTO query (text) SELECT * FROM unnest(ARRAY[
  'SELECT * FROM artist WHERE artistid IN (1, 7, 7, 1000, -1, NULL)',
  'SELECT * FROM artist WHERE artistid = ANY (''{}'')',
  'SELECT * FROM album a WHERE artistid = 7 AND albumid IN (1, 2, 8, 26)',
  'SELECT * FROM album a WHERE artistid IN (3, 4, 7) AND albumid = 26',
  'SELECT * FROM album a WHERE artistid IN (3, 4, 7) AND albumid IN (26, 30, 31)',
  'SELECT * FROM album a WHERE artistid NOT IN (3, 4, 7)',
  'SELECT * FROM album a WHERE artistid = ALL (''{3,3}'')',
  'SELECT * FROM line WHERE shop IN (''shop 1'', ''shop 2'', ''#'') AND saleid = 3',
  'SELECT * FROM line WHERE shop = ''shop 1'' AND saleid IN (1, 3) AND no IN (0, 1)',
  'SELECT * FROM line WHERE shop IN (''shop 1'', ''shop 2'') AND saleid IN (1, 3)',
  'SELECT * FROM line WHERE shop IN (''shop 1'', ''shop 2'')',
  'SELECT * FROM buyer WHERE buyer IN (md5(''1'')::uuid, md5(''2'')::uuid)',
  'SELECT * FROM day WHERE day IN (''2020-01-01'', ''2020-01-04'', ''infinity'')',
  'SELECT * FROM event WHERE host IN (''host 1'', ''host 2'') AND at >= ''2024-03-01''',
  'SELECT * FROM album a WHERE artistid = 7 AND albumid > 1 AND albumid <= 26',
  'SELECT * FROM album a WHERE artistid = 7 AND albumid BETWEEN -5 AND 100',
  'SELECT * FROM album a WHERE 7 = artistid AND 26 >= albumid AND 1 < albumid',
  'SELECT * FROM day WHERE day >= ''2020-01-10'' AND day < ''2020-01-20''',
  'SELECT * FROM day WHERE day >= ''-infinity'' AND day < ''infinity''',
  'SELECT * FROM day WHERE day > ''2020-01-10'' AND day > ''2020-02-10''',
  'SELECT * FROM day WHERE day BETWEEN ''4000-01-01 BC'' AND ''20000-01-01''',
  'SELECT * FROM buyer WHERE buyer < ''80000000-0000-0000-0000-000000000000''',
  'SELECT * FROM event WHERE host = ''host 1'' AND at = ''2024-02-26 00:00Z''',
  'SELECT * FROM event WHERE host = ''host 1'' AND at >= ''2024-02-29 12:00Z'' AND at < ''2024-02-29 18:30:30.1Z''',
  'SELECT * FROM event WHERE host = ''host 1'' AND at > ''2024-03-05 00:00Z''',
  'SELECT * FROM event WHERE host = ''host 2'' AND at <= ''2024-02-27 00:00Z''',
  'SELECT * FROM event WHERE host = ''host 2'' AND at BETWEEN ''-infinity'' AND ''9999-12-31 20:00Z''',
  'SELECT * FROM event WHERE host = ''host 0'' AND at > timestamptz ''2024-03-01Z'' - (now() - now())',
  'SELECT * FROM visit WHERE month = ''2024-05-09''',
  'SELECT * FROM visit WHERE month BETWEEN ''2024-05-09'' AND ''2024-07-09''',
  'SELECT * FROM visit WHERE month = ''2024-05-09'' AND place < 7',
  'SELECT * FROM visit WHERE month = ''2024-05-09'' AND place = 4 AND rank > 50',
  'SELECT * FROM visit WHERE month = ''2024-05-09'' AND place = 4 AND rank BETWEEN 10 AND 1000000',
  'SELECT * FROM visit WHERE month IN (''2024-05-09'', ''2024-06-13'', ''2024-06-18'') AND place = 3 AND rank <= 80',
  'SELECT v.* FROM visit v JOIN relational.visit x USING (month, place, rank) WHERE v.at = x.at AND x.rank < 30']) text;
INSERT INTO query (joins, text) VALUES
  (NULL, 'SELECT * FROM (VALUES (1, 20), (3, 3), (NULL, 5), (-5, 100000)) v (a, b) LEFT JOIN album b ON b.artistid = 7 AND b.albumid BETWEEN v.a AND v.b'),
  (NULL, 'SELECT * FROM (VALUES (date ''2020-01-04'', date ''2020-01-08''), (''-infinity'', ''2020-01-05''), (''2020-02-20'', ''infinity''), (NULL,
    ''2020-01-10'')) v (a, b) LEFT JOIN day d ON d.day >= v.a AND d.day < v.b'),
  (true, 'SELECT * FROM (VALUES (timestamptz ''2024-02-29 12:00Z''), (''2024-03-05 00:00Z''), (''infinity''), (''-infinity''), (NULL)) v (a) LEFT
    JOIN event e ON e.host = ''host 1'' AND e.at > v.a AND e.at < v.a + interval ''5 hours'''),
  (true, 'SELECT * FROM generate_series(1, 3) x LEFT JOIN event e ON e.at = timestamptz ''2024-02-26 00:00Z'' + x * interval ''1 day''
    AND e.host = ''host '' || x'),
  (NULL, 'SELECT * FROM generate_series(0, 20, 5) x LEFT JOIN visit v ON v.month = ''2024-05-09'' AND v.place = 4 AND v.rank < x * 5');
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
SELECT v, g.* FROM unnest('{7,3,1000,-1,NULL}'::int[]) v,
	generic('SELECT * FROM artist a JOIN album b USING (artistid) JOIN track_i t USING (albumid) WHERE a.artistid = $1', v::text) g;
SELECT v, g.* FROM unnest('{7,3,1000,-1,NULL}'::int[]) v,
	generic('SELECT * FROM track t LEFT JOIN album_i b USING (albumid) LEFT JOIN artist a USING (artistid) WHERE t.trackid = $1', v::text) g;

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
SELECT explain('SELECT FROM artist WHERE artistid = 3') ~ 'Index Cond: .*ARTIST#3',
	explain('SELECT FROM track_g WHERE genre = ''genre 1'' AND ms = 5') ~ 'Index Cond: .*genre 1.*ms = ';
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
SELECT answer('SELECT * FROM track', 'item') = answer('SELECT * FROM track', 'relational'), answer('SELECT * FROM line', 'item') =
	answer('SELECT * FROM line', 'relational');
-- a table with children is read whole
CREATE TABLE more () INHERITS (music);
SELECT answer(text, 'item') = answer(text, 'relational') FROM query WHERE id = 2;
DROP SCHEMA item, relational CASCADE;
