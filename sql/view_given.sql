-- Views of all items of an entity use an index that has only those with certain attributes, where a query requires these; docs/semantics.md, M28.
\pset format unaligned
\pset tuples_only on
SELECT dyn_create_table('shop', 'pk S', 'sk S', global_indexes => '{"ByCustomer": {"partition_key": "g1 S", "sort_key": "h1 S"},
	"ByRegion": {"partition_key": "region S"}, "ByBoth": {"partition_key": "g3 S", "sort_key": "h3 S"}, "ByState": {"partition_key": "g4 S"}}');
SELECT dyn_create_entity('shop', 'Order', '{"pk": "ORDER#<id:06>", "sk": "ORDER", "g1": "CUST#<customer>", "h1": "<day>#<id:06>",
	"g3": "SHIP#<shipper>", "h3": "C#<customer>", "g4": [{"when": {"state": "open"}, "template": "OPEN#<id:06>"}]}',
	'{"id": "N integer", "customer": {"type": "N integer", "stored": "c"}, "shipper": "N integer", "day": {"type": "S date", "required": true}, "region": "S",
	"state": "S", "paid": "BOOL"}');
SELECT dyn_create_entity('shop', 'Customer', '{"pk": "CUST#<customer>", "sk": "CUST"}', '{"customer": "N integer", "name": "S"}');
CREATE FUNCTION keys_in_indexes(view regclass) RETURNS text LANGUAGE sql AS $$ SELECT string_agg(m[1] || ' given ' || m[2], ', ')
	FROM regexp_matches(pg_get_viewdef(view), '"given": \[([^]]*)\], "keys": {("\w+")', 'g') k, LATERAL (SELECT ARRAY[k[2], k[1]] AS m) x $$;
SELECT dyn_create_entity_view('shop', 'Order', 'orders'), dyn_create_entity_view('shop', 'Customer', 'customers'),
	dyn_create_entity_view('shop', 'Order', 'orders_alone', use_indexes => false);
SELECT keys_in_indexes('orders'), keys_in_indexes('orders_alone');
INSERT INTO orders SELECT i, CASE WHEN i % 10 > 0 THEN i % 300 END, CASE WHEN i % 7 > 0 THEN i % 7 END, date '2024-01-01' + i % 100,
	CASE WHEN i % 3 > 0 THEN 'r' || i % 50 END, 'open', i % 2 = 0 FROM generate_series(1, 4000) i;
INSERT INTO customers SELECT i, 'c' || i FROM generate_series(0, 299) i;
-- other statistics, and so plans, than these are nobody's
ALTER TABLE shop SET (autovacuum_enabled = off);
ANALYZE shop;
CREATE FUNCTION conditions(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'Scan|Index Cond' THEN
			RETURN NEXT trim(line, '-> ');
		END IF;
	END LOOP;
END $$;
SELECT conditions('SELECT * FROM orders WHERE customer = 77');
SELECT conditions('SELECT * FROM orders WHERE customer IN (77, 78)');
SELECT conditions('SELECT * FROM orders WHERE customer = 77 ORDER BY day DESC LIMIT 2');
SELECT conditions('SELECT * FROM orders WHERE customer = 77 AND day >= ''2024-03-01''');
SELECT conditions('SELECT * FROM orders WHERE region = ''r5''');
SELECT conditions('SELECT o.* FROM customers c JOIN orders o USING (customer) WHERE c.customer = 77');
SELECT conditions('SELECT o.* FROM (VALUES (77), (78)) v (x) JOIN orders o ON o.customer = v.x');
SELECT conditions('SELECT * FROM (VALUES (77), (78)) v (x) LEFT JOIN orders o ON o.customer = v.x');
-- a join requires it of all rows that find partners
SET enable_nestloop = off;
SET enable_seqscan = off;
SELECT conditions('SELECT * FROM orders o JOIN generate_series(1, 1000) x ON o.shipper = x WHERE o.customer < 5');
SELECT conditions('SELECT * FROM orders o LEFT JOIN generate_series(1, 1000) x ON o.shipper = x WHERE o.customer < 5');
RESET enable_nestloop;
RESET enable_seqscan;
-- only where all attributes are required: an order with a shipper and no customer is not in the index
SELECT conditions('SELECT * FROM orders WHERE shipper = 3');
SELECT conditions('SELECT * FROM orders WHERE shipper = 3 AND customer = 3');
SELECT conditions('SELECT * FROM orders WHERE shipper = 3 AND customer IS NOT NULL AND paid');
-- and not where a condition holds of NULL
SELECT conditions('SELECT * FROM orders WHERE customer = 77 OR customer IS NULL');
SELECT conditions('SELECT * FROM orders WHERE customer IS NOT DISTINCT FROM 77');
SELECT conditions('SELECT * FROM orders WHERE coalesce(customer, 77) = 77');
PREPARE by_customer(integer) AS SELECT count(*) FROM orders WHERE customer = $1;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE by_customer(77);
EXECUTE by_customer(77);
EXECUTE by_customer(NULL);
DEALLOCATE by_customer;
RESET plan_cache_mode;

-- items whose keys of an index are missing, or others, are none of the entity, whatever the plan
SELECT count(dyn_put('shop', i::dyn_item)) FROM unnest(ARRAY[
	'{"Type":{"S":"Order"},"pk":{"S":"ORDER#900001"},"sk":{"S":"ORDER"},"id":{"N":"900001"},"c":{"N":"77"},"day":{"S":"2024-01-01"}}',
	'{"Type":{"S":"Order"},"pk":{"S":"ORDER#900002"},"sk":{"S":"ORDER"},"id":{"N":"900002"},"c":{"N":"77"},"day":{"S":"2024-01-01"},
		"g1":{"S":"CUST#78"},"h1":{"S":"2024-01-01#900002"}}',
	'{"Type":{"S":"Order"},"pk":{"S":"ORDER#900003"},"sk":{"S":"ORDER"},"id":{"N":"900003"},"c":{"N":"77"},"day":{"S":"2024-01-01"},
		"g1":{"S":"CUST#77"}}',
	'{"Type":{"S":"Order"},"pk":{"S":"ORDER#900004"},"sk":{"S":"ORDER"},"id":{"N":"900004"},"c":{"N":"77"},
		"g1":{"S":"CUST#77"},"h1":{"S":"2024-01-01#900004"}}',
	'{"Type":{"S":"Order"},"pk":{"S":"ORDER#900005"},"sk":{"S":"ORDER"},"id":{"N":"900005"},"c":{"S":"77"},"day":{"S":"2024-01-01"}}',
	'{"Type":{"S":"Order"},"pk":{"S":"ORDER#900006"},"sk":{"S":"ORDER"},"id":{"N":"900006"},"g1":{"S":"CUST#77"},"h1":{"S":"x"}}',
	'{"Type":{"S":"Order"},"pk":{"S":"ORDER#900007"},"sk":{"S":"ORDER"},"id":{"N":"900007"},"c":{"N":"77"},"day":{"S":"2024-01-01"},
		"g1":{"S":"CUST#77"},"h1":{"S":"2024-01-01#900007"}}']) i;
SELECT id FROM orders WHERE id > 900000 ORDER BY id;
SELECT key ->> 'pk' AS pk, problem, detail FROM dyn_check_entities('shop') ORDER BY key ->> 'pk', detail;
CREATE TABLE queries (query text);
INSERT INTO queries VALUES ('SELECT o FROM orders o WHERE customer = 77'), ('SELECT o FROM orders o WHERE customer IN (77, 78, NULL)'),
	('SELECT o FROM orders o WHERE shipper = 3 AND customer > 100'), ('SELECT o FROM orders o WHERE shipper = 3'),
	('SELECT o FROM orders o WHERE region = ''r5'''),
	('SELECT (c, o) FROM customers c LEFT JOIN orders o USING (customer) WHERE c.customer BETWEEN 70 AND 80'),
	('SELECT (c, o) FROM customers c RIGHT JOIN orders o USING (customer) WHERE o.id > 3900'),
	('SELECT c FROM customers c WHERE NOT EXISTS (SELECT FROM orders o WHERE o.customer = c.customer)'),
	('SELECT c FROM customers c WHERE c.customer IN (SELECT customer FROM orders WHERE region = ''r5'')'),
	('SELECT o FROM orders o WHERE NOT EXISTS (SELECT FROM customers c WHERE c.customer = o.customer)'),
	('SELECT o FROM orders o WHERE NOT EXISTS (SELECT FROM customers c WHERE c.customer = o.customer AND c.name = ''c77'')'),
	('SELECT o FROM orders o WHERE EXISTS (SELECT FROM customers c WHERE c.customer = o.customer AND c.name < ''c2'')'),
	('SELECT (o, c) FROM orders o LEFT JOIN customers c ON c.customer = o.customer AND c.name < ''c2'''),
	('SELECT (o, c) FROM orders o FULL JOIN customers c ON c.customer = o.customer'),
	('SELECT (o, c.name) FROM orders o JOIN customers c ON c.customer = o.customer OR o.customer IS NULL AND c.customer = 5'),
	('SELECT (o, c.name) FROM customers c JOIN orders o ON o.customer = c.customer WHERE c.name LIKE ''c1%'''),
	('SELECT (a, b) FROM orders a JOIN orders b ON b.customer = a.shipper WHERE a.id < 50'),
	('SELECT o FROM (SELECT o FROM orders o WHERE customer = 77 ORDER BY day, id LIMIT 3) x'),
	('SELECT (x, n) FROM generate_series(75, 80) x, LATERAL (SELECT count(*) AS n FROM orders o WHERE o.customer = x) y');
CREATE FUNCTION answers(setting text) RETURNS TABLE (query text, rows bigint, hash text) LANGUAGE plpgsql AS $$
DECLARE q text;
BEGIN
	FOR q IN SELECT x.query FROM queries x LOOP
		RETURN QUERY EXECUTE format('SELECT %L, count(*), md5(string_agg(q::text, ''|'' ORDER BY q::text)) FROM (%s) q', q, q);
	END LOOP;
END $$;
SET enable_indexscan = off; SET enable_bitmapscan = off;
CREATE TABLE expected AS SELECT * FROM answers('scans');
RESET enable_indexscan; RESET enable_bitmapscan;
SELECT rows, query FROM expected;
SELECT 'default', * FROM (SELECT * FROM answers('') EXCEPT SELECT * FROM expected) d;
SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
SELECT 'indexes', * FROM (SELECT * FROM answers('') EXCEPT SELECT * FROM expected) d;
SET enable_bitmapscan = off; SET enable_material = off; SET enable_memoize = off;
SELECT 'plain indexes', * FROM (SELECT * FROM answers('') EXCEPT SELECT * FROM expected) d;
RESET ALL;
-- a role reads the view with its own rights on the columns, and policies hold
CREATE ROLE given_reader;
GRANT SELECT ON orders, shop TO given_reader;
ALTER TABLE shop ENABLE ROW LEVEL SECURITY;
CREATE POLICY first_half ON shop USING (pk < 'ORDER#002000');
SET ROLE given_reader;
SELECT conditions('SELECT * FROM orders WHERE customer = 77');
SELECT count(*) FROM orders WHERE customer = 77;
RESET ROLE;
ALTER TABLE shop DISABLE ROW LEVEL SECURITY;
-- writing: keys are made and go with the attribute
INSERT INTO orders (id, customer, day) VALUES (5001, 78, '2024-01-01'), (5002, NULL, '2024-01-01');
UPDATE orders SET customer = NULL WHERE id = 5001;
UPDATE orders SET customer = 78 WHERE id = 5002;
SELECT id FROM orders WHERE customer = 78 AND id > 5000;
SELECT pk, g1, h1 FROM shop WHERE pk > 'ORDER#005000' AND pk < 'ORDER#006';
-- a declaration by which items may lack the key of an index is another one; and the view is not held by the index
SELECT dyn_create_entity('shop', 'Order', '{"pk": "ORDER#<id:06>", "sk": "ORDER", "g1": "CUST#<customer>", "h1": "<day>#<id:06>"}',
	'{"id": "N integer", "customer": {"type": "N integer", "stored": "c"}, "shipper": "N integer", "day": "S date", "region": "S", "state": "S", "paid": "BOOL"}');
SELECT entity, detail FROM dyn_check_entities('shop') WHERE problem = 'view out of date';
SELECT dyn_create_entity_view('shop', 'Order', 'orders');
SELECT conditions('SELECT * FROM orders WHERE customer = 77');
SELECT conditions('SELECT * FROM orders WHERE customer = 77 AND day = ''2024-01-01''');
CALL dyn_drop_index('shop', 'ByCustomer');
SELECT keys_in_indexes('orders');
SELECT count(*) FROM orders WHERE customer = 77;
-- left, it shows the same
SELECT count(*) > 0 AS done FROM dyn_detach('shop', 'columns');
SELECT count(*) FROM orders WHERE customer = 77;
SELECT count(*) FROM orders;
DROP TABLE queries, expected;
DROP FUNCTION conditions, answers, keys_in_indexes;
DROP VIEW orders, orders_alone, customers;
DROP TABLE shop;
DROP ROLE given_reader;
-- the calls of a scan are one, which selects what they select by themselves, whatever is in the columns
CREATE TABLE combined AS SELECT item::jsonb::dyn_item AS item, pk COLLATE "C" AS pk, g1, g2, h1, h2 FROM
	unnest(ARRAY['{"t": "E", "x": 1, "y": 2, "n": 7}', '{"t": "E", "x": 1, "n": 7}', '{"t": "E", "y": 2, "n": 7}', '{"t": "E", "n": 7}',
		'{"t": "F", "x": 1, "y": 2, "n": 7}', '{"x": 1, "y": 2, "n": 7}', '{"t": "E", "x": 1, "y": "2", "n": 7}', '{"t": "E", "x": 1, "y": 2}']) AS item,
	unnest(ARRAY['E#7', 'E#8', NULL]) AS pk, unnest(ARRAY['X#1', 'X#2', NULL]) AS g1, unnest(ARRAY['Y#2', 'Y#1', NULL]) AS g2,
	unnest(ARRAY['N#7', 'N#8', NULL]) AS h1, unnest(ARRAY['N#7', 'N#8', NULL]) AS h2;
CREATE INDEX ON combined (pk);
SELECT string_agg(format('dynamo_internal.%s(item, ''{"entity": "E", "type_attribute": "t", "type": "E", %s"keys": {"%s": "%s"}, "attributes": {%s}}'', %3$s)',
	CASE WHEN given = '' THEN 'is_entity' ELSE 'is_entity_in_index' END, given, key, template, attributes), ' AND ' ORDER BY n) AS calls
	FROM (VALUES (1, '', 'pk', 'E#<n>', '"n": "N"'), (2, '"required": true, "given": ["x"], ', 'g1', 'X#<x>', '"x": "N"'),
		(3, '"required": true, "given": ["x"], ', 'h1', 'N#<n>', '"n": "N", "x": "N"'),
		(4, '"required": true, "given": ["y"], ', 'g2', 'Y#<y>', '"y": "N"'),
		(5, '"required": true, "given": ["y"], ', 'h2', 'N#<n>', '"n": "N", "y": "N"')) v (n, given, key, template, attributes) \gset
SELECT count(*), count(DISTINCT g1), count(*) FILTER (WHERE h1 IS DISTINCT FROM h2) FROM combined WHERE :calls;
SELECT count(*), count(DISTINCT g1), count(*) FILTER (WHERE h1 IS DISTINCT FROM h2) FROM combined WHERE (:calls) IS TRUE;
EXPLAIN (COSTS OFF) SELECT FROM combined WHERE :calls;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT count(*), count(DISTINCT g1), count(*) FILTER (WHERE h1 IS DISTINCT FROM h2) FROM combined WHERE :calls;
EXPLAIN (COSTS OFF) SELECT FROM combined WHERE :calls;
RESET enable_seqscan;
RESET enable_bitmapscan;
-- a strict call is not true of a NULL in its column, although its definition says nothing of the item
\set strict 'dynamo_internal.is_entity(item, ''{"entity": "E", "given": ["x"], "keys": {"g1": "X#<x>"}, "attributes": {"x": "N"}}'', g1)'
SELECT count(*) FROM combined WHERE :calls AND :strict;
SELECT count(*) FROM combined WHERE :calls AND (:strict) IS TRUE;
DROP TABLE combined;
