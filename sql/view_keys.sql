-- The conditions of a view for each key, wherever its table is read.
\pset format unaligned
\pset tuples_only on
CREATE TABLE plain (item dyn_item, a text COLLATE "C", b text COLLATE "C");
INSERT INTO plain SELECT i, 'A#' || (i ->> 'x'), 'B#' || (i ->> 'y') FROM (SELECT jsonb_build_object('Type', 'E', 'a', 'A#' || x, 'b', 'B#' || y, 'x', x, 'y',
	y)::dyn_item AS i FROM generate_series(1, 20) x, generate_series(1, 20) y) v;
CREATE INDEX plain_a_b ON plain (a, b) WHERE a IS NOT NULL AND b IS NOT NULL;
ANALYZE plain;
\set of_a '''{"entity": "E", "type_attribute": "Type", "keys": {"a": "A#<x>"}, "attributes": {"x": "N"}}'''
\set of_b '''{"entity": "E", "type_attribute": "Type", "keys": {"b": "B#<y>"}, "attributes": {"y": "N"}}'''
CREATE VIEW v AS SELECT dynamo_internal.attribute(item, 'x', 'N', NULL::int) AS x, dynamo_internal.attribute(item, 'y', 'N', NULL::int) AS y FROM plain
	WHERE dynamo_internal.is_entity(item, :of_a, a) AND dynamo_internal.is_entity(item, :of_b, b);
CREATE FUNCTION conditions(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'Filter|Cond' THEN
			RETURN NEXT trim(line);
		END IF;
	END LOOP;
END $$;
SELECT count(*) FROM v;
SELECT conditions('SELECT FROM v');
-- in scans of indexes and of bitmaps; joins have conditions of their own beside them
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT conditions('SELECT FROM v WHERE x = 3');
SET enable_bitmapscan = on;
SET enable_indexscan = off;
SELECT conditions('SELECT FROM v WHERE x = 3');
SELECT conditions('SELECT FROM v WHERE x IN (3, 4) OR y = 5');
RESET enable_seqscan;
RESET enable_indexscan;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SET enable_memoize = off;
SET enable_bitmapscan = off;
SELECT conditions('SELECT FROM (VALUES (3), (4)) w (x) LEFT JOIN v USING (x)');
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;
RESET enable_memoize;
RESET enable_bitmapscan;
-- any key counts, as its column has it: one that is null is not in the view, whatever the item says
BEGIN;
UPDATE plain SET b = NULL WHERE b = 'B#7';
SELECT count(*) FROM v;
UPDATE plain SET b = 'B#7', item = (item::jsonb || '{"b": "B#8"}')::dyn_item WHERE b IS NULL;
SELECT count(*) FROM v;
UPDATE plain SET item = (item::jsonb - 'x')::dyn_item WHERE a = 'A#7';
SELECT count(*) FROM v;
ROLLBACK;
-- or where one of two definitions must hold
SELECT count(*) FROM plain WHERE dynamo_internal.is_entity(item, :of_a, a) OR dynamo_internal.is_entity(item, :of_b, b);
-- three keys
ALTER TABLE plain ADD c text COLLATE "C";
UPDATE plain SET c = 'C', item = (item::jsonb || '{"c": "C"}')::dyn_item WHERE a < 'A#2';
SELECT count(*) FROM v;
SELECT count(*) FROM plain WHERE dynamo_internal.is_entity(item, :of_a, a)
	AND dynamo_internal.is_entity(item, replace(replace(:of_a, '"a"', '"c"'), 'A#<x>', 'C'), c) AND dynamo_internal.is_entity(item, :of_b, b);
-- a condition that comes later, of a policy or of a view that is a barrier, stays behind what comes first
ALTER TABLE plain ENABLE ROW LEVEL SECURITY;
CREATE FUNCTION allowed(text) RETURNS boolean LANGUAGE plpgsql COST 1000 AS 'BEGIN RETURN $1 < ''A#2''; END';
CREATE POLICY first_ones ON plain USING (dynamo_internal.is_entity(item,
	'{"entity": "E", "type_attribute": "Type", "keys": {"a": "A#<x>"}, "attributes": {"x": "N"}}', a) AND allowed(a));
CREATE ROLE regress_keys;
GRANT SELECT ON plain TO regress_keys;
SET ROLE regress_keys;
SELECT conditions(format($$SELECT FROM plain WHERE dynamo_internal.is_entity(item, %L, a) AND dynamo_internal.is_entity(item, %L, b)$$, :of_a, :of_b));
SELECT count(*) FROM plain WHERE dynamo_internal.is_entity(item, :of_b, b);
RESET ROLE;
-- the table's rows, and those of partitions
CREATE TABLE parts (LIKE plain) PARTITION BY LIST (a);
CREATE TABLE part_1 PARTITION OF parts FOR VALUES IN ('A#1');
CREATE TABLE part_0 PARTITION OF parts DEFAULT;
INSERT INTO parts SELECT * FROM plain;
SELECT conditions(format($$SELECT FROM parts WHERE dynamo_internal.is_entity(item, %L, a) AND dynamo_internal.is_entity(item, %L, b)$$, :of_a, :of_b));
SELECT count(*) FROM parts WHERE dynamo_internal.is_entity(item, :of_a, a) AND dynamo_internal.is_entity(item, :of_b, b);
DROP VIEW v;
DROP TABLE plain, parts;
DROP ROLE regress_keys;
