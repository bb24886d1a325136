-- Aggregates over the view of an entity, and over an own table with the same rows.
CREATE TABLE tracks (id bigint PRIMARY KEY, album bigint, name text, composer text, milliseconds bigint, bytes bigint, price numeric);
INSERT INTO tracks SELECT i, i / 10, 'track ' || md5(i::text), 'composer ' || md5((i / 7)::text), 100000 + i * 37 % 400000, 1000000 + i * 7919 % 9000000, 0.99
	FROM generate_series(1, 35000) i;
SELECT dyn_create_table('music', 'PK S', 'SK S') \g /dev/null
SELECT dyn_create_entity('music', 'Track', '{"PK": "TRACK#<Id>", "SK": "#"}',
	'{"Id": "N bigint", "Album": "N bigint", "Name": "S", "Composer": "S", "Milliseconds": "N bigint", "Bytes": "N bigint", "Price": "N"}') \g /dev/null
SELECT dyn_create_entity('music', 'Album', '{"PK": "ALBUM#<Id>", "SK": "#"}', '{"Id": "N bigint", "Title": "S"}') \g /dev/null
SELECT dyn_create_entity_view('music', 'Track', 'track_view'), dyn_create_entity_view('music', 'Album', 'album_view') \g /dev/null
INSERT INTO track_view ("Id", "Album", "Name", "Composer", "Milliseconds", "Bytes", "Price") SELECT * FROM tracks;
INSERT INTO album_view ("Id", "Title") SELECT i, 'album ' || md5(i::text) FROM generate_series(1, 6500) i;
VACUUM ANALYZE;
SELECT pg_sleep(1) \g /dev/null
VACUUM ANALYZE;

CREATE TABLE aggregates (n int, query text, of_view text, of_table text);
INSERT INTO aggregates VALUES
	(1, 'count(*)', 'SELECT count(*) FROM track_view', 'SELECT count(*) FROM tracks'),
	(2, 'sum of one column', 'SELECT sum("Milliseconds") FROM track_view', 'SELECT sum(milliseconds) FROM tracks'),
	(3, 'five columns', 'SELECT sum("Milliseconds"), sum("Bytes"), max("Album"), max("Name"), min("Composer") FROM track_view',
		'SELECT sum(milliseconds), sum(bytes), max(album), max(name), min(composer) FROM tracks');
CREATE TABLE aggregate_results (n int, view_ms numeric, table_ms numeric);
CREATE FUNCTION timed(query text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	started timestamptz := clock_timestamp();
BEGIN
	EXECUTE query;
	RETURN extract(epoch FROM clock_timestamp() - started) * 1e3;
END $$;
CREATE PROCEDURE measure_aggregates(rounds int) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM timed(of_view), timed(of_table) FROM aggregates;
	FOR i IN 1 .. rounds LOOP
		INSERT INTO aggregate_results SELECT n, timed(of_view), timed(of_table) FROM aggregates;
	END LOOP;
END $$;
SET max_parallel_workers_per_gather = 0;
CALL measure_aggregates(:rounds);

\echo
SELECT query, round(min(view_ms), 1) AS "view, ms", round(min(table_ms), 1) AS "own table, ms", round(min(view_ms) / min(table_ms), 1) AS "times as long"
FROM aggregate_results JOIN aggregates USING (n) GROUP BY n, query ORDER BY n;
