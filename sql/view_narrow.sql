-- Joins and sorts of views carry the attributes that are asked for, and not items.
\pset format unaligned
\pset tuples_only on
SELECT dyn_create_table('app', 'pk S', 'sk S') \g /dev/null
SELECT dyn_create_entity('app', 'Album', '{"pk": "ALBUM#<Id>", "sk": "ALBUM"}', '{"Id": "N integer", "Title": "S", "Notes": "S"}') \g /dev/null
SELECT dyn_create_entity('app', 'Track', '{"pk": "TRACK#<TrackId>", "sk": "TRACK"}',
	'{"TrackId": "N integer", "Id": "N integer", "Name": "S", "Notes": "S"}') \g /dev/null
SELECT dyn_create_entity_view('app', 'Album'), dyn_create_entity_view('app', 'Track') \g /dev/null
INSERT INTO "Album" SELECT i, 'title ' || i, repeat('album ', 100) FROM generate_series(1, 100) i;
INSERT INTO "Track" SELECT i, i % 100 + 1, 'name ' || i, repeat('track ', 100) FROM generate_series(1, 1000) i;
VACUUM ANALYZE app;
-- What the nodes of a plan hand on: whole items, or attributes of them
CREATE FUNCTION carried(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	node text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || query LOOP
		node := coalesce(substring(line,
			'(?:->  |^)((?:Seq|Index|Bitmap Heap) Scan|Hash Join|Merge Join|Nested '
			'Loop|Hash|Sort|HashAggregate|GroupAggregate|Aggregate|WindowAgg|Unique|Limit|Gather)\M'), node);
		node := regexp_replace(node, '.*Scan', 'Scan');
		IF line ~ 'Output:' THEN
			RETURN NEXT format('%s: %s', node, coalesce((SELECT string_agg(DISTINCT coalesce(m[1], 'item'), ' ' ORDER BY coalesce(m[1], 'item'))
				FROM regexp_matches(line, '(?:attribute\([\w.]*item, ''(\w+)''|\Mitem\M|\mitem\M)', 'g') m), '-'));
		END IF;
	END LOOP;
END $$;
SET max_parallel_workers_per_gather = 0;
SET enable_nestloop = off;
SET enable_mergejoin = off;
SELECT carried('SELECT a."Title", t."Name" FROM "Album" a JOIN "Track" t USING ("Id")');
SELECT carried('SELECT a."Title", count(*), max(length(t."Name")) FROM "Album" a JOIN "Track" t USING ("Id") GROUP BY 1');
SELECT carried('SELECT a."Title" || t."Name" FROM "Album" a JOIN "Track" t ON t."Id" = a."Id" AND t."TrackId" > a."Id" ORDER BY a."Title", t."TrackId"');
SET enable_hashjoin = off;
SET enable_mergejoin = on;
SELECT carried('SELECT a."Title", t."Name" FROM "Album" a JOIN "Track" t USING ("Id")');
RESET enable_hashjoin;
-- not where the item itself is asked for, and of its table alone
SELECT carried('SELECT a."Title", t.item FROM "Album" a JOIN app t ON t.item ->> ''Id'' = a."Id"::text AND t.item ->> ''sk'' = ''TRACK''');
SELECT carried($$SELECT t.item, dynamo_internal.attribute(t.item, 'Id', 'N', NULL::integer), a."Title" FROM app t JOIN "Album" a ON a."Id" =
	dynamo_internal.attribute(t.item, 'Id', 'N', NULL::integer) WHERE dynamo_internal.is_entity(t.item,
	'{"entity": "Track", "type_attribute": "Type", "type": "Track", "keys": {"sk": "TRACK"}, "attributes": {}}', t.sk)$$);
-- nor where rows are parameters of what they are joined with, or may be locked
RESET enable_nestloop;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT carried('SELECT a."Title", t."Name" FROM "Track" t JOIN "Album" a USING ("Id") WHERE t."TrackId" < 20');
RESET enable_hashjoin;
RESET enable_mergejoin;
-- an item that a semijoin hands on though nobody needs it
SET enable_hashjoin = off;
SET enable_nestloop = off;
SELECT count(*) FROM "Album" a JOIN "Track" t ON t."Id" = a."Id" WHERE EXISTS (SELECT FROM "Track" e WHERE e."TrackId" = a."Id" AND e."Name" LIKE 'name%');
RESET enable_hashjoin;
RESET enable_nestloop;
-- what comes out is the same
CREATE TABLE albums AS TABLE "Album";
CREATE TABLE tracks AS TABLE "Track";
CREATE TABLE queries (query text);
INSERT INTO queries VALUES
	('SELECT a."Title", t."Name" FROM "Album" a JOIN "Track" t USING ("Id")'),
	('SELECT a, t FROM "Album" a JOIN "Track" t USING ("Id")'),
	('SELECT a."Title", sum(t."TrackId"), grouping(a."Title") FROM "Album" a JOIN "Track" t USING ("Id") GROUP BY ROLLUP (a."Title", t."Name")
		HAVING count(t."Notes") > 0'),
	('SELECT a."Title", row_number() OVER (PARTITION BY a."Id" ORDER BY t."TrackId"), sum(t."TrackId") OVER (PARTITION BY a."Title" || ''x'') FROM "Album" a
		JOIN "Track" t USING ("Id")'),
	('SELECT DISTINCT ON (a."Title") a."Title", t."Name" FROM "Album" a JOIN "Track" t USING ("Id") ORDER BY a."Title", t."TrackId" DESC'),
	('SELECT a."Title", (SELECT count(*) FROM "Track" u WHERE u."TrackId" < t."TrackId" AND u."Id" = a."Id") FROM "Album" a JOIN "Track" t USING ("Id")
		WHERE a."Id" < 9'),
	('SELECT a."Title", u.n FROM "Album" a JOIN "Track" t USING ("Id") CROSS JOIN LATERAL unnest(ARRAY[a."Id", t."TrackId"]) u (n)'),
	('SELECT a."Title", t."Name", b."Title" FROM "Album" a LEFT JOIN "Track" t ON t."Id" = a."Id" AND t."TrackId" % 7 = 0 JOIN "Album" b ON b."Id" = a."Id" + 1'),
	('SELECT a."Title" FROM "Album" a WHERE a."Id" IN (SELECT t."Id" FROM "Track" t WHERE t."TrackId" % 3 = 0)'),
	('SELECT a."Title" FROM "Album" a WHERE NOT EXISTS (SELECT FROM "Track" t WHERE t."Id" = a."Id" AND t."TrackId" < a."Id")'),
	('SELECT a."Title", array_agg(t."Name" ORDER BY t."TrackId" DESC) FROM "Album" a JOIN "Track" t USING ("Id") GROUP BY a."Title"'),
	('SELECT generate_series(1, a."Id" % 3), t."Name" FROM "Album" a JOIN "Track" t USING ("Id")'),
	('SELECT a."Id", t."TrackId" FROM "Album" a JOIN "Track" t USING ("Id") UNION SELECT t."TrackId", t."Id" FROM "Track" t
		JOIN "Album" a ON a."Id" = t."TrackId"'),
	('SELECT x."Title", x.n FROM (SELECT a."Title", a."Id", count(*) AS n FROM "Album" a JOIN "Track" t USING ("Id") GROUP BY 1, 2) x
		JOIN "Track" t ON t."TrackId" = x."Id"');
CREATE FUNCTION differences(settings text) RETURNS TABLE (query text, n bigint) LANGUAGE plpgsql AS $$
DECLARE
	own text;
	setting text;
BEGIN
	FOREACH setting IN ARRAY string_to_array(settings, ' ') LOOP
		PERFORM set_config(split_part(setting, '=', 1), split_part(setting, '=', 2), true);
	END LOOP;
	FOR query IN SELECT q.query FROM queries q LOOP
		own := replace(replace(query, '"Album" ', 'albums '), '"Track" ', 'tracks ');
		EXECUTE format('SELECT count(*) FROM ((SELECT x::text FROM (%1$s) x EXCEPT ALL SELECT x::text FROM (%2$s) x) UNION ALL (SELECT x::text FROM (%2$s) x
			EXCEPT ALL SELECT x::text FROM (%1$s) x)) d', query, own) INTO n;
		IF n > 0 THEN
			RETURN NEXT;
		END IF;
	END LOOP;
END $$;
SELECT count(*) FROM queries;
SELECT format('SELECT %L, d.* FROM differences(%L) d', s, s)
	FROM unnest('{"enable_hashjoin=on","enable_hashjoin=off","enable_hashjoin=off enable_mergejoin=off","enable_hashagg=off enable_nestloop=off",
	"enable_hashjoin=off enable_nestloop=off enable_incremental_sort=off",
	"max_parallel_workers_per_gather=2 parallel_setup_cost=0 parallel_tuple_cost=0 min_parallel_table_scan_size=0 min_parallel_index_scan_size=0",
	"geqo_threshold=2","join_collapse_limit=1 from_collapse_limit=1","work_mem=64kB"}'::text[]) s \gexec
-- cursors, locks and writes
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT a."Title", t."TrackId" FROM "Album" a JOIN "Track" t USING ("Id") ORDER BY 1, 2;
FETCH 2 FROM c;
MOVE LAST c;
FETCH BACKWARD 2 FROM c;
SELECT count(*) FROM (SELECT a."Title", t."Name" FROM "Album" a JOIN "Track" t USING ("Id") WHERE a."Id" < 3 FOR UPDATE) x;
UPDATE "Track" t SET "Name" = a."Title" FROM "Album" a WHERE a."Id" = t."Id" AND a."Id" < 3;
SELECT count(*) FROM "Track" t JOIN "Album" a ON a."Title" = t."Name";
ROLLBACK;
DROP TABLE app CASCADE;
DROP TABLE albums, tracks, queries;
-- a call whose other arguments are not constants stays where it is: its columns are not those of the table
CREATE ROLE narrow_reader;
CREATE TABLE secrets (item dyn_item, pk text COLLATE "C", secret text);
INSERT INTO secrets SELECT jsonb_build_object('pk', 'P' || i, 'Type', 'U', 'id', i::text, 'j', 'x')::dyn_item, 'P' || i, 'secret' FROM generate_series(1, 3) i;
GRANT SELECT (item, pk) ON secrets TO narrow_reader;
GRANT CREATE ON SCHEMA public TO narrow_reader;
SET ROLE narrow_reader;
CREATE TABLE asked (a text, b text, c text);
INSERT INTO asked VALUES ('x', 'y', 'z');
CREATE FUNCTION seen(text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'seen: %', $1; RETURN 'id'; END $$;
SET enable_nestloop = off;
SELECT count(dynamo_internal.attribute(t.item, seen(o.c), 'S', NULL::text)), count(dynamo_internal.attribute(t.item, 'id', 'S', NULL::text))
	FROM secrets t JOIN asked o ON o.a = dynamo_internal.attribute(t.item, 'j', 'S', NULL::text)
	WHERE dynamo_internal.is_entity(t.item, '{"entity": "U", "type_attribute": "Type", "type": "U", "keys": {"pk": "P<id>"}, "attributes": {"id": "S"}}', t.pk);
SELECT dynamo_internal.attribute(t.item, 'id', 'S', a)
	FROM secrets t, unnest(ARRAY[NULL::text, NULL]) a WHERE dynamo_internal.is_entity(t.item,
		'{"entity": "U", "type_attribute": "Type", "type": "U", "keys": {"pk": "P<id>"}, "attributes": {"id": "S"}}', t.pk) ORDER BY 1 LIMIT 1;
RESET enable_nestloop;
RESET ROLE;
DROP OWNED BY narrow_reader;
DROP TABLE secrets;
DROP ROLE narrow_reader;
