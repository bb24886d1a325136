-- Query on indexes: docs/semantics.md, Q01 to Q24, KC01 to KC17, I03, I11, I17, I22, I26, I27, R02, N03, N04, on global and local indexes.
CREATE FUNCTION sks(table_name text, index text, condition text, vals dyn_item, names jsonb DEFAULT NULL, forward boolean DEFAULT true,
	max_items bigint DEFAULT NULL,
  start_key dyn_item DEFAULT NULL, attribute text DEFAULT 'sk') RETURNS text LANGUAGE sql AS
  $$ SELECT coalesce(string_agg(item->>attribute, ' '), '(none)') FROM dyn_query(table_name, condition, names => names, vals => vals, forward => forward,
    max_items => max_items, start_key => start_key, index_name => index) AS item $$;
CREATE FUNCTION why(table_name text, index text, condition text, vals dyn_item, rest text DEFAULT '', OUT state text, OUT message text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT dyn_query(%L, %L, vals => %L, index_name => %L%s)', table_name, condition, vals, index, rest);
	message := 'accepted';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT;
END $$;

-- Q19, I03: MOV with its indexes
SELECT dyn_create_table('mov', 'Actor S', 'Movie S', global_indexes => '{"MoviesIndex":{"partition_key":"Movie S","sort_key":"Actor S","projection":"ALL"},
    "Genres":{"partition_key":"Genre S","projection":"ALL"}}', local_indexes => '{"Years":{"sort_key":"Year N","projection":"ALL"}}');
SELECT count(dyn_put('mov', item)) FROM (VALUES ('{"Actor":"Tom Hanks","Movie":"Cast Away","Genre":"Drama","Year":2000}'::jsonb),
	('{"Actor":"Tom Hanks","Movie":"Toy Story","Genre":"Children''s","Year":1995}'),
  ('{"Actor":"Tim Allen","Movie":"Toy Story","Genre":"Children''s","Year":1995}'),
  ('{"Actor":"Natalie Portman","Movie":"Black Swan","Genre":"Drama"}')) v (item);
SELECT sks('mov', 'MoviesIndex', 'Movie = :m', '{":m":{"S":"Toy Story"}}', attribute => 'Actor') AS q19,
	sks('mov', 'Years', 'Actor = :a', '{":a":{"S":"Tom Hanks"}}', attribute => 'Movie') AS i03,
       sks('mov', 'Years', 'Actor = :a AND #y > :y', '{":a":{"S":"Tom Hanks"},":y":{"N":"1995.0"}}', '{"#y":"Year"}', attribute => 'Movie') AS kc05,
       sks('mov', 'Genres', 'Genre = :g', '{":g":{"S":"Drama"}}', attribute => 'Actor') AS genres,
         sks('mov', 'Genres', 'Genre = :g', '{":g":{"S":"Drama"}}', attribute => 'Actor', forward => false) AS backward,
       sks('mov', 'Genres', 'Genre = :g', '{":g":{"S":"Nobody"}}') AS q18;
-- Q20, KC01, KC02: unknown indexes, the table's keys on an index, other attributes
SELECT index, c, (why('mov', index, c, v)).* FROM (VALUES ('nope', 'Movie = :a', '{":a":{"S":"x"}}'::dyn_item), ('', 'Movie = :a', '{":a":{"S":"x"}}'),
	('moviesindex', 'Movie = :a', '{":a":{"S":"x"}}'), ('MoviesIndex', 'Actor = :a', '{":a":{"S":"x"}}'),
  ('MoviesIndex', 'Movie > :a', '{":a":{"S":"x"}}'), ('MoviesIndex', 'Movie = :a AND Genre = :a', '{":a":{"S":"x"}}'),
  ('Genres', 'Genre = :a AND Actor = :a', '{":a":{"S":"x"}}'), ('Genres', 'Genre = :a AND Movie = :a', '{":a":{"S":"x"}}'),
  ('MoviesIndex', 'Movie = :a', '{":a":{"N":"5"}}'), ('MoviesIndex', 'Movie = :a', '{":a":{"S":""}}'),
  ('MoviesIndex', 'Movie = :a AND Actor <> :a', '{":a":{"S":"x"}}'), ('MoviesIndex', 'contains(Movie, :a)', '{":a":{"S":"x"}}'),
  ('MoviesIndex', 'Movie = :a AND Actor > :a AND Actor < :a', '{":a":{"S":"x"}}'),
  ('MoviesIndex', 'Movie = :a AND Actor BETWEEN :a AND :b', '{":a":{"S":"x"},":b":{"S":"w"}}'), ('Years', 'Movie = :a', '{":a":{"S":"x"}}')) v (index, c, v);
-- R02, Q24, N03, N04
SELECT rest, (why('mov', 'MoviesIndex', 'Movie = :a', '{":a":{"S":"x"}}', rest)).*
	FROM unnest(ARRAY[', consistent_read => true', ', consistent_read => false', ', consistent_read => NULL']) rest;
SELECT (why('mov', 'Years', 'Actor = :a', '{":a":{"S":"x"}}', ', consistent_read => true')).*;
SELECT (why('mov', NULL, 'Actor = :a', '{":a":{"S":"x"}}', ', consistent_read => true')).*;
SELECT dyn_get('mov', '{"Actor":{"S":"Tom Hanks"},"Movie":{"S":"Cast Away"}}', projection => 'Genre', consistent_read => true);
-- F03, F05: the keys of the index, and the table's that are not among them; Year is a reserved word
SELECT (why('mov', 'Genres', 'Genre = :a', '{":a":{"S":"Drama"}}', ', filter => ''Genre = :a''')).*;
SELECT (why('mov', 'MoviesIndex', 'Movie = :a', '{":a":{"S":"Drama"}}', ', filter => ''Actor = :a''')).*;
SELECT (why('mov', 'Years', 'Actor = :a', '{":a":{"S":"Drama"}}', ', filter => ''#y = :a'', names => ''{"#y":"Year"}''')).*;
SELECT dyn_query('mov', 'Genre = :g', vals => '{":g":{"S":"Drama"},":a":{"S":"Tom"}}', filter => 'begins_with(Actor, :a)', index_name => 'Genres') AS f05;
SELECT dyn_query('mov', 'Actor = :g', vals => '{":g":{"S":"Tom Hanks"},":a":{"S":"Toy"}}', filter => 'begins_with(Movie, :a)', index_name => 'Years') AS f05;
SELECT (why('mov', 'Genres', 'Genre = :a', '{":a":{"S":"Nobody"},":n":{"N":"5"}}', ', filter => ''begins_with(Actor, :n)''')).* AS f10;

-- I11, Q10 to Q14: equal index keys, one item a page, both ways
SELECT dyn_create_table('ties', 'pk S', 'sk N',
	global_indexes => '{"ByG":{"partition_key":"g S","sort_key":"h N","projection":"ALL"},"HashG":{"partition_key":"g S","projection":"ALL"}}',
  local_indexes => '{"LocH":{"sort_key":"h N","projection":"ALL"}}');
SELECT count(dyn_put('ties', jsonb_build_object('pk', p, 'sk', s, 'g', 'x', 'h', s / 3, 'id', p || s))) FROM unnest(ARRAY['a', 'b', 'c']) p,
	generate_series(1, 5) s;
CREATE FUNCTION pages(index text, condition text, vals dyn_item, forward boolean, size int, OUT ids text, OUT keys text) LANGUAGE plpgsql AS $$
DECLARE
	page record;
	start dyn_item;
BEGIN
	ids := '';
	LOOP
		SELECT * INTO page FROM dyn_query_page('ties', condition, vals => vals, forward => forward, page_size => size, start_key => start, index_name => index);
		ids := ids || coalesce((SELECT string_agg(i->>'id', ' ') FROM unnest(page.items) i), '') || '|';
		start := page.last_evaluated_key;
		keys := coalesce(keys, start::text);
		EXIT WHEN start IS NULL;
	END LOOP;
END $$;
SELECT index, forward, size, p.* FROM unnest(ARRAY['ByG', 'HashG', 'LocH']) index, unnest(ARRAY[true, false]) forward, unnest(ARRAY[1, 4, 100]) size,
  LATERAL pages(index, CASE index WHEN 'LocH' THEN 'pk = :p' ELSE 'g = :p' END, CASE index WHEN 'LocH' THEN '{":p":{"S":"b"}}'::dyn_item
    ELSE '{":p":{"S":"x"}}' END, forward, size) p ORDER BY index, forward DESC, size;
SELECT c, forward, (pages('ByG', 'g = :p' || c, v, forward, 2)).ids FROM unnest(ARRAY[true, false]) forward,
	(VALUES (' AND h = :h', '{":p":{"S":"x"},":h":{"N":"1"}}'::dyn_item), (' AND h > :h', '{":p":{"S":"x"},":h":{"N":"0"}}'),
  (' AND h >= :h', '{":p":{"S":"x"},":h":{"N":"1"}}'), (' AND h < :h', '{":p":{"S":"x"},":h":{"N":"1"}}'),
  (' AND h <= :h', '{":p":{"S":"x"},":h":{"N":"0"}}'), (' AND h BETWEEN :h AND :i', '{":p":{"S":"x"},":h":{"N":"0"},":i":{"N":"1"}}')) v (c, v) ORDER BY 1, 2;
-- Q14: a position needs no item, and may lie before or behind what is asked for; of a wrong shape it is refused
SELECT k, sks('ties', 'ByG', 'g = :p AND h BETWEEN :a AND :b', '{":p":{"S":"x"},":a":{"N":"0"},":b":{"N":"1"}}', start_key => k, attribute => 'id') AS forward,
  sks('ties', 'ByG', 'g = :p AND h BETWEEN :a AND :b', '{":p":{"S":"x"},":a":{"N":"0"},":b":{"N":"1"}}', start_key => k, attribute => 'id', forward => false)
    AS backward,
  sks('ties', 'ByG', 'g = :p AND h = :a', '{":p":{"S":"x"},":a":{"N":"1"}}', start_key => k, attribute => 'id') AS equal,
    sks('ties', 'ByG', 'g = :p AND h > :a', '{":p":{"S":"x"},":a":{"N":"0"}}', start_key => k, attribute => 'id') AS above,
  sks('ties', 'ByG', 'g = :p AND h < :a', '{":p":{"S":"x"},":a":{"N":"1"}}', start_key => k, attribute => 'id', forward => false) AS below
  FROM (SELECT jsonb_build_object('g', 'x', 'h', h, 'pk', p, 'sk', s)::dyn_item AS k
    FROM (VALUES (-1, 'b', 3), (0, 'a', 99), (0, 'b', 1.5), (0, '', 0), (0.5, 'b', 1), (1, 'b', 4), (1, 'zz', 0), (2, 'a', 1)) v (h, p, s) WHERE p <> '') x;
SELECT k, (why('ties', 'ByG', 'g = :p', '{":p":{"S":"x"}}', format(', start_key => %L', k))).*
	FROM unnest(ARRAY['{"pk":{"S":"a"},"sk":{"N":"1"}}', '{"g":{"S":"x"},"h":{"N":"1"}}', '{"g":{"S":"y"},"h":{"N":"1"},"pk":{"S":"a"},"sk":{"N":"1"}}',
  '{"g":{"S":"x"},"h":{"S":"1"},"pk":{"S":"a"},"sk":{"N":"1"}}', '{"g":{"S":"x"},"h":{"N":"1"},"pk":{"S":""},"sk":{"N":"1"}}',
  '{"g":{"S":"x"},"h":{"N":"1"},"pk":{"S":"a"},"sk":{"N":"1"},"z":{"N":"1"}}', '{"g":{"S":"x"},"h":{"N":"1"},"pk":{"S":"a"},"sk":{"N":"1"}}']::dyn_item[]) k;
SELECT (why('ties', NULL, 'pk = :p', '{":p":{"S":"x"}}', ', start_key => ''{"g":{"S":"x"},"h":{"N":"1"},"pk":{"S":"a"},"sk":{"N":"1"}}''')).*;
-- Q15: what is written between pages
BEGIN;
CREATE TEMP TABLE page AS SELECT * FROM dyn_query_page('ties', 'g = :p', vals => '{":p":{"S":"x"}}', page_size => 5, index_name => 'ByG');
SELECT string_agg(i->>'id', ' ') FROM page, unnest(items) i;
SELECT dyn_delete('ties', key => jsonb_build_object('pk', i->>'pk', 'sk', (i->>'sk')::int)) FROM page, unnest(items) i WHERE i->>'id' IN ('c1', 'b2');
SELECT dyn_put('ties', '{"pk":"c","sk":1.5,"g":"x","h":0,"id":"after"}'::jsonb);
SELECT dyn_put('ties', '{"pk":"a","sk":0.5,"g":"x","h":0,"id":"before"}'::jsonb);
SELECT dyn_update('ties', '{"pk":"a","sk":5}'::jsonb, 'SET h = :h', vals => '{":h":{"N":"-5"}}');
SELECT string_agg(i->>'id', ' ') FROM page, dyn_query('ties', 'g = :p', vals => '{":p":{"S":"x"}}', start_key => last_evaluated_key, index_name => 'ByG') i;
ROLLBACK;

-- I22, I26, I27: inverted, shared, descending
SELECT dyn_create_table('app', 'PK S', 'SK S',
	global_indexes => '{"Inverted":{"partition_key":"SK S","sort_key":"PK S","projection":"ALL"},
	"GSI1":{"partition_key":"GSI1PK S","sort_key":"GSI1SK S","projection":"ALL"},"Shared":{"partition_key":"GSI1PK S","sort_key":"SK S","projection":"ALL"}}');
SELECT count(dyn_put('app', item))
	FROM (VALUES ('{"PK":"ORG#MICROSOFT","SK":"USER#BILLGATES","GSI1PK":"ORG#MICROSOFT#USER#BILLGATES","GSI1SK":"USER#BILLGATES"}'::jsonb),
	('{"PK":"TICKET#123","SK":"TICKET#123","GSI1PK":"ORG#MICROSOFT#USER#BILLGATES","GSI1SK":"TICKET#123"}'),
  ('{"PK":"TICKET#456","SK":"TICKET#456","GSI1PK":"ORG#MICROSOFT#USER#BILLGATES","GSI1SK":"TICKET#456"}'),
  ('{"PK":"TICKET#789","SK":"TICKET#789","GSI1PK":"ORG#MICROSOFT#USER#BILLGATES"}'), ('{"PK":"ORG#1#PRO#100","SK":"ORG#1#EMP#200"}'),
  ('{"PK":"ORG#1#PRO#101","SK":"ORG#1#EMP#200"}')) v (item);
SELECT sks('app', 'GSI1', 'GSI1PK = :u', '{":u":{"S":"ORG#MICROSOFT#USER#BILLGATES"}}', attribute => 'SK', forward => false) AS i27,
	sks('app', 'Inverted', 'SK = :e', '{":e":{"S":"ORG#1#EMP#200"}}', attribute => 'PK') AS i22,
  sks('app', 'Shared', 'GSI1PK = :u AND begins_with(SK, :t)', '{":u":{"S":"ORG#MICROSOFT#USER#BILLGATES"},":t":{"S":"TICKET#"}}', attribute => 'SK') AS i26;
SELECT last_evaluated_key FROM unnest(ARRAY['Inverted', 'GSI1', 'Shared', NULL]) index,
	LATERAL (SELECT CASE index WHEN 'Inverted' THEN 'SK' WHEN 'GSI1' THEN 'GSI1PK' WHEN 'Shared' THEN 'GSI1PK' ELSE 'PK' END AS k) k,
  LATERAL dyn_query_page('app', k || ' = :v', vals => jsonb_build_object(':v', CASE k WHEN 'SK' THEN 'ORG#1#EMP#200' WHEN 'PK' THEN 'TICKET#123'
    ELSE 'ORG#MICROSOFT#USER#BILLGATES' END), page_size => 1, index_name => index);

-- multi-attribute keys: all of the partition key, then the sort key from the left
SELECT dyn_create_table('multi', 'id S',
	global_indexes => '{"Many":{"partition_key":["tenant S","region N"],"sort_key":["a S","b N","c B"],"projection":"ALL"}}');
SELECT count(dyn_put('multi', ('{"id":{"S":"' || t || r || a || b || c || '"},"tenant":{"S":"' || t || '"},"region":{"N":"' || r || '"},"a":{"S":"' || a ||
	'"},"b":{"N":"' || b || '"},"c":{"B":"' || encode(c::text::bytea, 'base64') || '"}}')::dyn_item))
  FROM unnest(ARRAY['t', 'u']) t, generate_series(1, 2) r, unnest(ARRAY['x', 'y', 'yy']) a, generate_series(9, 10) b, unnest(ARRAY['p', 'q']) c;
SELECT c, sks('multi', 'Many', 'tenant = :t AND #r = :r' || c, v, '{"#r":"region"}', attribute => 'id') AS forward,
	sks('multi', 'Many', 'tenant = :t AND #r = :r' || c, v, '{"#r":"region"}', attribute => 'id', forward => false, max_items => 2) AS last_two
  FROM (VALUES ('', '{":t":{"S":"t"},":r":{"N":"1"}}'::dyn_item), (' AND a = :a', '{":t":{"S":"t"},":r":{"N":"1"},":a":{"S":"y"}}'),
    (' AND begins_with(a, :a)', '{":t":{"S":"t"},":r":{"N":"2"},":a":{"S":"y"}}'), (' AND a > :a', '{":t":{"S":"t"},":r":{"N":"1"},":a":{"S":"x"}}'),
    (' AND a = :a AND b > :b', '{":t":{"S":"t"},":r":{"N":"1"},":a":{"S":"y"},":b":{"N":"9"}}'),
    (' AND b = :b AND a = :a AND c < :c', '{":t":{"S":"u"},":r":{"N":"1"},":a":{"S":"y"},":b":{"N":"9"},":c":{"B":"cQ=="}}'),
    (' AND b = :b AND a = :a AND c = :c', '{":t":{"S":"u"},":r":{"N":"1"},":a":{"S":"y"},":b":{"N":"9"},":c":{"B":"cQ=="}}'),
    (' AND a = :a AND b BETWEEN :b AND :c', '{":t":{"S":"u"},":r":{"N":"1.0"},":a":{"S":"x"},":b":{"N":"9.5"},":c":{"N":"11"}}')) v (c, v);
SELECT c, (why('multi', 'Many', c, v, ', names => ''{"#r":"region"}''')).*
	FROM (VALUES ('tenant > :t AND #r = :r', '{":t":{"S":"t"},":r":{"N":"1"}}'::dyn_item), ('#r = :t', '{":t":{"N":"1"}}'),
	('tenant = :t AND #r > :r', '{":t":{"S":"t"},":r":{"N":"1"}}'), ('tenant = :t AND #r = :r AND b = :r', '{":t":{"S":"t"},":r":{"N":"1"}}'),
  ('tenant = :t AND #r = :r AND a > :t AND b = :r', '{":t":{"S":"t"},":r":{"N":"1"}}'),
  ('tenant = :t AND #r = :r AND a = :t AND c = :c', '{":t":{"S":"t"},":r":{"N":"1"},":c":{"B":"cQ=="}}'),
  ('tenant = :t AND #r = :r AND id = :t', '{":t":{"S":"t"},":r":{"N":"1"}}'),
  ('tenant = :t AND #r = :r AND a = :r', '{":t":{"S":"t"},":r":{"N":"1"}}'),
  ('tenant = :t AND #r = :r AND a < :t AND b < :r', '{":t":{"S":"t"},":r":{"N":"1"}}')) v (c, v);
SELECT c, k, sks('multi', 'Many', 'tenant = :t AND #r = :r AND a = :a' || c,
	('{":t":{"S":"t"},":r":{"N":"1"},":a":{"S":"y"}' || CASE c WHEN '' THEN '' ELSE ',":b":{"N":"9"}' END || '}')::dyn_item, '{"#r":"region"}', start_key => k,
	attribute => 'id')
  FROM unnest(ARRAY['', ' AND b = :b', ' AND b > :b', ' AND b <= :b']) c,
    (SELECT ('{"tenant":{"S":"t"},"region":{"N":"1"},"id":{"S":"t1y9p"},"a":{"S":"' || a || '"},"b":{"N":"' || b || '"},"c":{"B":"cA=="}}')::dyn_item AS k
    FROM unnest(ARRAY['x', 'y', 'z']) a, unnest(ARRAY[8, 9, 10]) b) k;

-- N and B as partition keys, U+0000 and U+0001 in index keys, and prefixes of them
SELECT dyn_create_table('types', 'id S',
	global_indexes => '{"ByN":{"partition_key":"n N","sort_key":"b B","projection":"ALL"},"ByB":{"partition_key":"b B","sort_key":"s S","projection":"ALL"},
	"ByS":{"partition_key":"one N","sort_key":"s S","projection":"ALL"}}');
SELECT count(dyn_put('types', ('{"id":{"S":"' || i || '"},"one":{"N":"1"},"n":{"N":"' || n || '"},"b":{"B":"' || encode(b::bytea, 'base64') ||
	'"},"s":{"S":"' || s || '"}}')::dyn_item)) FROM (VALUES (1, '1.50', '\x00', 'a\u0000'), (2, '15e-1', '\x0001', 'a\u0000a'), (3, '-7', '\xff', 'a\u0001'),
  (4, '1.5', '\xffff', 'a\u0001a'), (5, '-7.0', '\xff', 'a'), (6, '0', '\xff', 'a\u0002'), (7, '1E+2', '\x01', 'ÿ'), (8, '1', '\xff', 'a\udbff\udfff')) v (i,
  n, b, s);
SELECT sks('types', 'ByN', 'n = :n', '{":n":{"N":"1.5"}}', attribute => 'id') AS n,
	sks('types', 'ByN', 'n = :n AND begins_with(b, :b)', '{":n":{"N":"-7"},":b":{"B":"/w=="}}', attribute => 'id') AS nb,
	sks('types', 'ByN', 'n = :n', '{":n":{"N":"100"}}', attribute => 'id') AS hundred,
  sks('types', 'ByB', 'b = :b', '{":b":{"B":"/w=="}}', attribute => 'id') AS b,
    sks('types', 'ByS', 'one = :n AND begins_with(s, :s)', '{":n":{"N":"1"},":s":{"S":"a\u0000"}}', attribute => 'id') AS nul,
    sks('types', 'ByS', 'one = :n AND begins_with(s, :s)', '{":n":{"N":"1"},":s":{"S":"a\u0001"}}', attribute => 'id') AS soh,
  sks('types', 'ByS', 'one = :n AND s > :s', '{":n":{"N":"1"},":s":{"S":"a\u0001"}}', attribute => 'id') AS above,
    sks('types', 'ByS', 'one = :n', '{":n":{"N":"1"}}', attribute => 'id') AS all;
SELECT string_agg(last_evaluated_key::text, ' ' ORDER BY size) FROM generate_series(1, 4) size,
	dyn_query_page('types', 'one = :n', vals => '{":n":{"N":"1"}}', page_size => size, index_name => 'ByS', projection => 'id');
SELECT sks('types', 'ByS', 'one = :n', '{":n":{"N":"1"}}', start_key => '{"id":{"S":"0"},"one":{"N":"1"},"s":{"S":"a\u0001"}}', attribute => 'id') AS after,
	sks('types', 'ByS', 'one = :n', '{":n":{"N":"1"}}', start_key => '{"id":{"S":"4"},"one":{"N":"1"},"s":{"S":"a\u0001"}}', attribute => 'id', forward => false)
	AS before;

-- I01, I06: what is not there, is in no index; a new index key moves the item
SELECT dyn_update('types', '{"id":"1"}'::jsonb, 'REMOVE s SET n = :n', vals => '{":n":{"N":"-7"}}');
SELECT sks('types', 'ByN', 'n = :n', '{":n":{"N":"1.5"}}', attribute => 'id') AS left, sks('types', 'ByN', 'n = :n', '{":n":{"N":"-7"}}', attribute => 'id')
	AS came, sks('types', 'ByS', 'one = :n AND begins_with(s, :s)', '{":n":{"N":"1"},":s":{"S":"a\u0000"}}', attribute => 'id') AS out;

-- a partitioned table has its indexes in parts
CREATE TABLE parts (item dyn_item NOT NULL, pk text COLLATE "C" NOT NULL, sk numeric NOT NULL, g text COLLATE "C", PRIMARY KEY (pk, sk),
  CONSTRAINT dynamo_keys CHECK (dynamo_internal.keys_match(item, '{"pk S","sk N","g S"}'::text[], pk, sk, g))) PARTITION BY HASH (pk);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON parts FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S', 'sk N',
	'{"name": "GSI1", "type": "global", "partition_key": ["g S"], "projection": "KEYS_ONLY"}');
CREATE INDEX ON parts (g, pk, sk) WHERE g IS NOT NULL;
SELECT count(dyn_put('parts', jsonb_build_object('pk', p::text, 'sk', s, 'g', 'g' || s % 2))) FROM generate_series(1, 8) p, generate_series(1, 3) s;
SELECT string_agg((i->>'pk') || '/' || (i->>'sk'), ' ') AS query FROM dyn_query('parts', 'g = :g', vals => '{":g":{"S":"g1"}}', index_name => 'GSI1') i;
SELECT string_agg((i->>'pk') || '/' || (i->>'sk'), ' ') AS backward FROM dyn_query('parts', 'g = :g', vals => '{":g":{"S":"g1"}}', index_name => 'GSI1',
	forward => false, start_key => '{"g":{"S":"g1"},"pk":{"S":"6"},"sk":{"N":"2"}}') i;
SELECT string_agg((i->>'pk') || '/' || (i->>'sk'), ' ') AS scan FROM dyn_scan('parts', start_key => '{"pk":{"S":"6"},"sk":{"N":"2"}}') i;
SELECT count(*) AS segments FROM generate_series(0, 3) segment, dyn_scan('parts', index_name => 'GSI1', segment => segment, total_segments => 4);

-- privileges and row-level security are those of the table
CREATE ROLE regress_reader;
SET ROLE regress_reader;
SELECT (why('app', 'GSI1', 'GSI1PK = :u', '{":u":{"S":"ORG#MICROSOFT#USER#BILLGATES"}}')).*;
RESET ROLE;
GRANT SELECT ON app TO regress_reader;
ALTER TABLE app ENABLE ROW LEVEL SECURITY;
CREATE POLICY tickets ON app TO regress_reader USING (item->>'SK' <> 'TICKET#456');
SET ROLE regress_reader;
SELECT sks('app', 'GSI1', 'GSI1PK = :u', '{":u":{"S":"ORG#MICROSOFT#USER#BILLGATES"}}', attribute => 'SK') AS visible;
SELECT item_count, scanned_count, last_evaluated_key FROM dyn_query_page('app', 'GSI1PK = :u', vals => '{":u":{"S":"ORG#MICROSOFT#USER#BILLGATES"}}',
	index_name => 'GSI1', page_size => 2, select_mode => 'COUNT');
RESET ROLE;

-- Q20, I05: an index that is not ACTIVE, here since somebody has dropped its btree
DROP INDEX "mov_Genres";
SELECT dyn_query('mov', 'Genre = :g', vals => '{":g":{"S":"Drama"}}', index_name => 'Genres');
SELECT dyn_scan_page('mov', index_name => 'Genres');

SELECT dyn_drop_table(t) FROM unnest(ARRAY['app', 'mov', 'ties', 'multi', 'types', 'parts']) t;
DROP ROLE regress_reader;
DROP FUNCTION sks, why, pages;
