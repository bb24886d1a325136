-- Following statements of many rows: all that they change is made again at once (M27, M16)
\pset format unaligned
SET client_min_messages = warning;
CREATE SCHEMA fs;
CREATE TABLE fs.customers (id int PRIMARY KEY, name text);
CREATE TABLE fs.orders (id int PRIMARY KEY, customer_id int REFERENCES fs.customers ON UPDATE CASCADE ON DELETE CASCADE, total numeric(10, 2), note text);
CREATE INDEX ON fs.orders (customer_id);
CREATE TABLE fs.lines (id int PRIMARY KEY, order_id int REFERENCES fs.orders ON UPDATE CASCADE ON DELETE CASCADE, product text);
CREATE INDEX ON fs.lines (order_id);
CREATE TABLE fs.things (id int PRIMARY KEY, code text NOT NULL UNIQUE DEFERRABLE, v text);
CREATE TABLE fs.paths (path int[] PRIMARY KEY, up int[] REFERENCES fs.paths, v text);
SELECT dyn_create_table('fst', 'pk S', 'sk S');
SELECT dyn_create_entity('fst', 'Order', '{"pk": "CUSTOMER#<CustomerId>", "sk": "ORDER#<Id:05>"}',
	'{"CustomerId": {"type": "N integer"}, "Id": {"type": "N integer"}, "Total": {"type": "N numeric"}, "Note": {"type": "S text"},
	"CustomerName": {"type": "S text"}, "Products": {"type": "L text[]"}}');
SELECT dyn_create_entity('fst', 'Thing', '{"pk": "THING#<Id>", "sk": "#"}',
	'{"Id": {"type": "N integer"}, "Code": {"type": "S text"}, "V": {"type": "S text"}}');
SELECT dyn_create_entity('fst', 'Code', '{"pk": "CODE#<Code>", "sk": "#"}', '{"Code": {"type": "S text"}, "V": {"type": "S text"}}');
SELECT dyn_create_entity('fst', 'Path', '{"pk": "PATH#<Path>", "sk": "#"}', '{"Path": {"type": "S text"}, "V": {"type": "S text"}, "Up": {"type": "S text"}}');
SELECT dyn_create_migration('fst', 'fs', '[
	{"entity": "Order", "from": "fs.orders", "parents": {"c": {"from": "fs.customers", "on": {"id": "customer_id"}, "attributes": {"CustomerName": "name"}}},
		"children": {"Products": {"from": "fs.lines", "on": {"order_id": "id"}, "as": "list", "value": "product"}}},
	{"entity": "Thing", "from": "fs.things"},
	{"entity": "Code", "from": "fs.things", "where": "code <> ''hidden''"},
	{"entity": "Path", "from": "fs.paths", "attributes": {"Path": "array_to_string(path, ''.'')", "V": "v"},
		"parents": {"u": {"from": "fs.paths", "on": {"path": "up"}, "attributes": {"Up": "v"}}}}]');
SELECT dyn_follow_migration('fs');
CREATE FUNCTION fs.shows(OUT item dyn_item) RETURNS SETOF dyn_item LANGUAGE sql AS 'SELECT item FROM fst ORDER BY pk, sk';
CREATE FUNCTION fs.wrong(OUT step text, OUT source_row text, OUT difference text) RETURNS SETOF record LANGUAGE sql AS $$ SELECT step, source_row, difference
	FROM dyn_verify_migration('fs') $$;
-- how often the triggers are called
CREATE FUNCTION fs.calls(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || statement LOOP
		IF line LIKE 'Trigger ~dynamo_follow%' THEN RETURN NEXT regexp_replace(line, ' [0-9a-f]{8}', ''); END IF;
	END LOOP;
END $$;
SELECT tgname ~ '^~dynamo_follow_[a-z_]+ [0-9a-f]{8}$' AS named, regexp_replace(tgname, ' .*', '') AS kind, tgenabled, tgtype & 1 AS row, tgoldtable,
	tgnewtable FROM pg_trigger WHERE tgrelid = 'fs.orders'::regclass AND tgname LIKE '~dynamo%' ORDER BY tgname;
SELECT fs.calls('INSERT INTO fs.customers SELECT i, ''c'' || i FROM generate_series(1, 3) i');
SELECT fs.calls('INSERT INTO fs.orders SELECT i, 1 + i % 3, i, NULL FROM generate_series(1, 4) i');
SELECT fs.calls('INSERT INTO fs.lines SELECT i, 1 + i % 4, ''p'' || i FROM generate_series(1, 8) i');
SELECT fs.calls('UPDATE fs.orders SET total = total + 1');
SELECT * FROM fs.shows();
SELECT * FROM fs.wrong();
-- one statement that inserts and updates, and one that deletes too
INSERT INTO fs.orders VALUES (4, 2, 40, 'again'), (5, 2, 50, 'new') ON CONFLICT (id) DO UPDATE SET note = excluded.note, customer_id = excluded.customer_id;
INSERT INTO fs.orders VALUES (4, 1, 40, 'no'), (6, 3, 60, 'yes') ON CONFLICT DO NOTHING;
MERGE INTO fs.orders o USING (VALUES (1, 'merged'), (2, NULL), (7, 'also')) AS v (id, note) ON o.id = v.id
	WHEN MATCHED AND v.note IS NULL THEN DELETE WHEN MATCHED THEN UPDATE SET note = v.note, customer_id = 3 WHEN NOT MATCHED THEN INSERT
		VALUES (v.id, 1, 70, v.note);
COPY fs.orders FROM stdin;
8	1	80	copied
9	2	90	copied
\.
WITH gone AS (DELETE FROM fs.orders WHERE id = 8 RETURNING *), changed
	AS (UPDATE fs.orders SET note = 'cte' WHERE id IN (3, 9)) INSERT INTO fs.orders SELECT id + 10, customer_id, total, 'moved' FROM gone;
SELECT item FROM fst WHERE pk LIKE 'CUSTOMER%' ORDER BY pk, sk;
SELECT * FROM fs.wrong();
-- cascades, to two levels
UPDATE fs.customers SET id = id + 10;
UPDATE fs.orders SET id = id + 100 WHERE id < 5;
SELECT * FROM fs.wrong();
DELETE FROM fs.customers WHERE id = 11;
SELECT item FROM fst WHERE pk LIKE 'CUSTOMER%' ORDER BY pk, sk;
SELECT * FROM fs.wrong();
-- rows that swap keys, and keys that go round
INSERT INTO fs.things SELECT i, 'c' || i, 'v' || i FROM generate_series(1, 4) i;
UPDATE fs.things SET code = 'c' || (1 + id % 4);
SELECT item FROM fst WHERE pk ~ 'CODE|THING' ORDER BY pk;
UPDATE fs.things SET code = CASE id WHEN 1 THEN 'hidden' ELSE code END, v = 'w' || id;
SELECT item FROM fst WHERE pk ~ 'CODE|THING' ORDER BY pk;
SELECT * FROM fs.wrong();
-- one bad row, one that the step does not take
INSERT INTO fs.things VALUES (5, 'ok', 'v'), (6, '', 'v');
UPDATE fs.things SET v = 'x', code = CASE id WHEN 2 THEN '' ELSE code END;
SELECT * FROM fs.wrong();
-- keys of a type that has no arrays, made by an expression; rows of the table that refer to each other
INSERT INTO fs.paths VALUES ('{1}', NULL, 'a'), ('{1,1}', '{1}', 'b'), ('{1,2}', '{1}', 'c'), ('{1,2,1}', '{1,2}', 'd');
UPDATE fs.paths SET v = upper(v) WHERE path IN ('{1}', '{1,2}');
UPDATE fs.paths SET up = '{1,1}' WHERE path = '{1,2,1}';
DELETE FROM fs.paths WHERE path = '{1,2}';
SELECT item FROM fst WHERE pk LIKE 'PATH%' ORDER BY pk;
SELECT * FROM fs.wrong();
-- triggers of the application that write to the tables again, from rows and from items
CREATE FUNCTION fs.again() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	IF new.v LIKE 'again%' THEN UPDATE fs.things SET v = 'changed by a trigger' WHERE id = new.id; END IF; RETURN NULL; END $$;
CREATE TRIGGER again AFTER INSERT OR UPDATE ON fs.things FOR EACH ROW EXECUTE FUNCTION fs.again();
INSERT INTO fs.things VALUES (7, 'c7', 'again'), (8, 'c8', 'once');
UPDATE fs.things SET v = 'again ' || v WHERE id IN (1, 8);
SELECT id, v FROM fs.things ORDER BY id;
SELECT * FROM fs.wrong();
DROP TRIGGER again ON fs.things;
CREATE FUNCTION fs.back() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	IF new.item ->> 'V' = 'first' THEN UPDATE fs.things SET v = 'by an item' WHERE id IN (2, 8) AND v <> 'by an item'; END IF; RETURN NULL; END $$;
CREATE TRIGGER back AFTER INSERT OR UPDATE ON fst FOR EACH ROW EXECUTE FUNCTION fs.back();
UPDATE fs.things SET v = CASE id WHEN 1 THEN 'first' ELSE 'other' END;
SELECT id, v FROM fs.things ORDER BY id;
SELECT * FROM fs.wrong();
DROP TRIGGER back ON fst;
-- more rows than are worked on at once, and than stay in memory
SET work_mem = '64kB';
INSERT INTO fs.things SELECT i, 'many' || i, 'v' FROM generate_series(1000, 3999) i;
INSERT INTO fs.orders SELECT i, 12, i, 'many' FROM generate_series(1000, 2499) i;
UPDATE fs.things SET v = 'w', code = code || 'x' WHERE id >= 1000;
UPDATE fs.orders SET id = id + 10000, customer_id = 13 WHERE id >= 1000;
UPDATE fs.customers SET name = 'thirteen' WHERE id = 13;
RESET work_mem;
INSERT INTO fs.things SELECT i, 'more' || i, 'v' FROM generate_series(10000, 21000) i;
SELECT split_part(pk, '#', 1) AS kind, count(*) FROM fst GROUP BY 1 ORDER BY 1;
SELECT * FROM fs.wrong();
INSERT INTO fs.customers SELECT i, 'c' FROM generate_series(1000, 1299) i;
INSERT INTO fs.orders SELECT i, 1000 + i % 300, i, 'many' FROM generate_series(20000, 41999) i;
UPDATE fs.customers SET name = 'with many' WHERE id >= 1000;
SELECT item ->> 'CustomerName' AS name, count(*) FROM fst WHERE pk LIKE 'CUSTOMER#1___' GROUP BY 1;
SELECT * FROM fs.wrong();
DELETE FROM fs.things WHERE id >= 1000;
DELETE FROM fs.orders WHERE note = 'many';
SELECT split_part(pk, '#', 1) AS kind, count(*) FROM fst GROUP BY 1 ORDER BY 1;
SELECT * FROM fs.wrong();
-- what replication applies fires row triggers, and no others
SET session_replication_role = replica;
SELECT fs.calls('INSERT INTO fs.things SELECT i, ''r'' || i, ''v'' FROM generate_series(20, 22) i');
SELECT fs.calls('UPDATE fs.things SET v = ''replicated'' WHERE id BETWEEN 20 AND 22');
SELECT fs.calls('DELETE FROM fs.things WHERE id = 22');
TRUNCATE fs.lines;
RESET session_replication_role;
SELECT item FROM fst WHERE pk LIKE 'THING#2_' ORDER BY pk;
SELECT * FROM fs.wrong();
-- a followed table does not become a part of another one, whose statements would not fire its triggers
CREATE TABLE fs.parted (LIKE fs.things) PARTITION BY RANGE (id);
ALTER TABLE fs.parted ATTACH PARTITION fs.things DEFAULT;
CREATE TABLE fs.parent (id int NOT NULL);
ALTER TABLE fs.things INHERIT fs.parent;
SELECT dyn_follow_migration('fs', enabled => false);
SELECT count(*) FROM pg_trigger WHERE tgname LIKE '~dynamo_follow%';
-- a trigger that does not have all rows is none of ours
CREATE TRIGGER few AFTER UPDATE ON fs.things REFERENCING NEW TABLE AS n FOR EACH STATEMENT EXECUTE FUNCTION dynamo_internal.migration_changed('fs');
UPDATE fs.things SET v = 'few' WHERE id = 20;
DROP TABLE fst;
DROP SCHEMA fs CASCADE;
