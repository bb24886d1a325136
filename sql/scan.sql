-- dyn_scan(), dyn_scan_page(): docs/semantics.md, S01 to S10, Q07, F04, L13, N03, R02, I01.
CREATE FUNCTION why(call text, OUT state text, OUT message text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'SELECT ' || call;
	message := 'accepted';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT;
END $$;

-- S01, S04, S08
SELECT dyn_create_table('mov', 'Actor S', 'Movie S', global_indexes => '{"Genres":{"partition_key":"Genre S","projection":"ALL"}}',
	local_indexes => '{"Years":{"sort_key":"Year N","projection":"ALL"}}');
SELECT count(dyn_put('mov', item)) FROM (VALUES ('{"Actor":"Tom Hanks","Movie":"Cast Away","Genre":"Drama","Year":2000}'::jsonb),
	('{"Actor":"Tom Hanks","Movie":"Toy Story","Genre":"Children''s","Year":1995}'),
  ('{"Actor":"Tim Allen","Movie":"Toy Story","Genre":"Children''s"}'), ('{"Actor":"Natalie Portman","Movie":"Black Swan"}')) v (item);
SELECT i->>'Actor' AS actor, i->>'Movie' AS movie FROM dyn_scan('mov') i;
SELECT i->>'Actor' AS s04 FROM dyn_scan('mov', filter => 'Actor = :a', vals => '{":a":{"S":"Tom Hanks"}}') i;
SELECT i->>'Actor' AS f04 FROM dyn_scan('mov', filter => 'Movie = :m AND begins_with(Actor, :t)', vals => '{":m":{"S":"Toy Story"},":t":{"S":"T"}}') i;
SELECT i AS s08 FROM dyn_scan('mov', projection => '#y', names => '{"#y":"Year"}') i;
SELECT * FROM dyn_scan_page('mov', select_mode => 'COUNT');
SELECT count(*) FROM dyn_scan('mov', consistent_read => true);
-- S05 an index has the items that have its keys, in the order of collections and keys
SELECT i->>'Actor' AS s05 FROM dyn_scan('mov', index_name => 'Genres') i;
SELECT i->>'Movie' AS s05 FROM dyn_scan('mov', index_name => 'Years', consistent_read => true) i;
SELECT i->>'Movie' AS s04 FROM dyn_scan('mov', filter => 'Genre = :g', vals => '{":g":{"S":"Drama"}}', index_name => 'Genres') i;
-- S02, S03: pages, and what a filter leaves of them
SELECT page_size, p.* FROM generate_series(1, 5) page_size, dyn_scan_page('mov', filter => 'Genre = :g', vals => '{":g":{"S":"Drama"}}',
	projection => 'Movie', page_size => page_size) p;
SELECT i->>'Movie' AS after FROM dyn_scan('mov', start_key => '{"Actor":{"S":"Tim Allen"},"Movie":{"S":"A"}}') i;
SELECT i->>'Movie' AS after FROM dyn_scan('mov', start_key => '{"Actor":{"S":"Tom Hanks"},"Movie":{"S":"Toy Story"}}') i;
SELECT i->>'Movie' AS two FROM dyn_scan('mov', max_items => 2) i;

-- V
SELECT c, (why(c)).* FROM unnest(ARRAY['dyn_scan(NULL)', 'dyn_scan(''nope'')', 'dyn_scan(''mov'', index_name => ''nope'')',
	'dyn_scan(''mov'', index_name => ''Genres'', consistent_read => true)', 'dyn_scan(''mov'', max_items => 0)', 'dyn_scan_page(''mov'', page_size => 0)',
	'dyn_scan_page(''mov'', page_size => -1)',
  'dyn_scan(''mov'', segment => 0)', 'dyn_scan(''mov'', total_segments => 1)', 'dyn_scan(''mov'', segment => 4, total_segments => 4)',
  'dyn_scan(''mov'', segment => -1, total_segments => 4)', 'dyn_scan(''mov'', segment => 0, total_segments => 0)',
  'dyn_scan(''mov'', segment => 0, total_segments => 1000001)',
  'dyn_scan(''mov'', segment => 999999, total_segments => 1000000)', 'dyn_scan(''mov'', segment => 0, total_segments => 1)',
  'dyn_scan(''mov'', start_key => ''{"Actor":{"S":"x"}}'')',
  'dyn_scan(''mov'', index_name => ''Genres'', start_key => ''{"Actor":{"S":"x"},"Movie":{"S":"x"}}'')', 'dyn_scan(''mov'', filter => ''x = :x'')',
  'dyn_scan(''mov'', vals => ''{":x":{"S":"x"}}'')', 'dyn_scan(''mov'', select_mode => ''COUNT'')', 'dyn_scan(''mov'', forward => false)']) c;

-- S06: segments of table and index are disjoint and together complete, in pages too
SELECT dyn_create_table('seg', 'p S', 's N',
	global_indexes => '{"Groups":{"partition_key":["g N"],"sort_key":["b B"],"projection":"ALL"},"Many":{"partition_key":["g N","p S"],"projection":"KEYS_ONLY"},
	"Single":{"partition_key":"u B","projection":"KEYS_ONLY"}}');
SELECT count(dyn_put('seg', jsonb_build_object('p', 'p' || c, 's', s, 'g', (c * s) % 17, 'pad', repeat('x', c))::dyn_item)) FROM generate_series(1, 40) c,
	generate_series(1, 1 + c * c / 10) s;
SELECT count(dyn_update('seg', jsonb_build_object('p', 'p' || c, 's', s), 'SET u = :u, b = :b',
	vals => ('{":u":{"B":"' || encode(int4send(c * 1000 + s), 'base64') || '"},":b":{"B":"' || encode(int4send(s % 3), 'base64') || '"}}')::dyn_item))
	FROM generate_series(1, 40) c, generate_series(1, 1 + c * c / 20) s;
CREATE FUNCTION segment_ids(index text, segment int, total int, size int, filter text DEFAULT NULL, vals dyn_item DEFAULT NULL)
	RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	page record;
	start dyn_item;
BEGIN
	LOOP
		SELECT * INTO page FROM dyn_scan_page('seg', filter => filter, vals => vals, index_name => index, segment => segment, total_segments => total,
			page_size => size, start_key => start);
		RETURN QUERY SELECT (i->>'p') || '/' || (i->>'s') FROM unnest(page.items) i;
		start := page.last_evaluated_key;
		EXIT WHEN start IS NULL;
	END LOOP;
END $$;
CREATE TEMP TABLE whole AS SELECT index, (i->>'p') || '/' || (i->>'s') AS id FROM unnest(ARRAY[NULL, 'Groups', 'Many', 'Single']) index,
	dyn_scan('seg', index_name => index) i;
SELECT index, count(*), count(DISTINCT id) FROM whole GROUP BY index ORDER BY index;
CREATE TEMP TABLE parts AS SELECT index, total, size, segment, id FROM unnest(ARRAY[NULL, 'Groups', 'Many', 'Single']) index, unnest(ARRAY[1, 4, 100]) total,
	unnest(ARRAY[7, 1000]) size, generate_series(0, total - 1) segment, segment_ids(index, segment, total, size) id;
SELECT index, total, size, count(*), count(DISTINCT id), count(DISTINCT segment) > total / 10 AS spread,
  (SELECT count(*) FROM whole w WHERE w.index IS NOT DISTINCT FROM p.index
  AND NOT EXISTS (SELECT FROM parts q WHERE q.index IS NOT DISTINCT FROM p.index AND q.total = p.total AND q.size = p.size AND q.id = w.id)) AS missing
  FROM parts p GROUP BY index, total, size ORDER BY index, total, size;
-- collections stay whole
SELECT index, total, count(*) AS collections, max(n) AS segments_each FROM (SELECT index, total, split_part(id, '/', 1) AS p, count(DISTINCT segment) AS n
	FROM parts WHERE index IS NULL GROUP BY 1, 2, 3) x GROUP BY 1, 2 ORDER BY 2;
-- the complete form, with a filter, a projection, a limit
SELECT count(*), count(DISTINCT i::text) FROM generate_series(0, 3) segment,
	dyn_scan('seg', filter => 's = :s', vals => '{":s":{"N":"1"}}', projection => 'p', index_name => 'Groups', segment => segment, total_segments => 4) i;
SELECT segment, count(*) FROM generate_series(0, 3) segment, dyn_scan('seg', segment => segment, total_segments => 4, max_items => 3) i GROUP BY 1 ORDER BY 1;
SELECT sum(item_count), sum(scanned_count) FROM generate_series(0, 99) segment,
	dyn_scan_page('seg', filter => 's <= :s', vals => '{":s":{"N":"2"}}', segment => segment, total_segments => 100, select_mode => 'COUNT');
-- S07
SELECT n, count(*) FILTER (WHERE state IS NULL) AS accepted, count(*) FILTER (WHERE state = 'YD001') AS refused, min(message) FILTER (WHERE state IS NOT NULL)
	FROM generate_series(1, 3) n, generate_series(0, 3) segment,
  LATERAL why(format('dyn_scan(''seg'', segment => %s, total_segments => 4, start_key => %L)', segment, jsonb_build_object('p', 'p' || n, 's', 1)::dyn_item))
    GROUP BY n ORDER BY n;
SELECT count(*) FILTER (WHERE state IS NULL) AS accepted FROM generate_series(0, 3) segment,
	LATERAL why(format('dyn_scan(''seg'', index_name => ''Groups'', segment => %s, total_segments => 4, start_key => ''{"g":{"N":"5.0"},"b":{"B":"AA=="},'
	'"p":{"S":"nope"},"s":{"N":"1"}}'')', segment));
-- segments do not depend on how a number is written
SELECT count(DISTINCT id) FROM generate_series(0, 3) segment, LATERAL (SELECT i->>'g' AS id
	FROM dyn_scan('seg', filter => 'g = :g', vals => '{":g":{"N":"10"}}', index_name => 'Groups', segment => segment, total_segments => 4) i) x;

-- Q23 without a sort key: collections of one item
SELECT dyn_create_table('one', 'id N');
SELECT count(dyn_put('one', jsonb_build_object('id', i))) FROM generate_series(1, 500) i;
SELECT total, count(*), count(DISTINCT i::text) FROM unnest(ARRAY[1, 2, 4, 100, 1000]) total, generate_series(0, total - 1) segment,
	dyn_scan('one', segment => segment, total_segments => total) i GROUP BY total ORDER BY total;
SELECT last_evaluated_key FROM dyn_scan_page('one', page_size => 5);
SELECT count(*) FROM dyn_scan('one', start_key => '{"id":{"N":"5"}}');
SELECT dyn_create_table('none', 'id S');
SELECT * FROM dyn_scan_page('none');
SELECT * FROM dyn_scan_page('none', segment => 3, total_segments => 4, page_size => 1);

-- privileges and row-level security
CREATE ROLE regress_reader;
SET ROLE regress_reader;
SELECT (why('dyn_scan(''mov'', index_name => ''Genres'')')).*;
SELECT (why('dyn_scan(''mov'', segment => 0, total_segments => 4)')).*;
RESET ROLE;
GRANT SELECT ON mov TO regress_reader;
ALTER TABLE mov ENABLE ROW LEVEL SECURITY;
CREATE POLICY drama ON mov TO regress_reader USING ("Actor" <> 'Tim Allen');
SET ROLE regress_reader;
SELECT count(*) FROM dyn_scan('mov');
SELECT count(*) FROM dyn_scan('mov', index_name => 'Genres');
SELECT count(*) FROM generate_series(0, 3) segment, dyn_scan('mov', segment => segment, total_segments => 4);
RESET ROLE;

SELECT dyn_drop_table(t) FROM unnest(ARRAY['mov', 'seg', 'one', 'none']) t;
DROP TABLE whole, parts;
DROP ROLE regress_reader;
DROP FUNCTION why, segment_ids;
