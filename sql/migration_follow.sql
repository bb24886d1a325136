-- Following changes of relational tables (M27, M16)
\set SHOW_CONTEXT never
\pset format unaligned
SET client_min_messages = warning;
CREATE SCHEMA fw;
CREATE TABLE fw.customers (id int PRIMARY KEY, name text);
CREATE TABLE fw.tags (id int PRIMARY KEY, name text);
CREATE TABLE fw.orders (id int PRIMARY KEY, customer_id int, code text UNIQUE NOT NULL, total numeric, archived boolean NOT NULL DEFAULT false, boss int);
CREATE TABLE fw.lines (id int PRIMARY KEY, order_id int, product text);
CREATE TABLE fw.order_tags (order_id int REFERENCES fw.orders, tag_id int REFERENCES fw.tags, PRIMARY KEY (order_id, tag_id));
SELECT dyn_create_table('fwt', 'pk S', 'sk S');
SELECT dyn_create_entity('fwt', 'Customer', '{"pk": "CUSTOMER#<CustomerId>", "sk": "#"}',
	'{"CustomerId": {"type": "N integer"}, "Name": {"type": "S text"}, "Orders": {"type": "N integer"}}');
SELECT dyn_create_entity('fwt', 'Order', '{"pk": "ORDER#<Code>", "sk": "#"}',
	'{"Code": {"type": "S text"}, "CustomerId": {"type": "N integer"}, "CustomerName": {"type": "S text"}, "Total": {"type": "N numeric"},
	"Products": {"type": "L text[]"}, "Tags": {"type": "SS text[]"}, "Boss": {"type": "S text"}}');
SELECT dyn_create_entity('fwt', 'Line', '{"pk": "LINES#<OrderId:05>", "sk": "LINE#<Id:05>"}',
	'{"OrderId": {"type": "N integer"}, "Id": {"type": "N integer"}, "Product": {"type": "S text"}}');
SELECT dyn_create_migration('fwt', 'fw', '[
	{"entity": "Line", "from": "fw.lines"},
	{"entity": "Customer", "from": "fw.customers", "attributes": {"CustomerId": "id"},
		"children": {"Orders": {"from": "fw.orders", "on": {"customer_id": "id"}, "as": "count", "where": "NOT archived"}}},
	{"entity": "Order", "from": "fw.orders", "where": "NOT archived", "attributes": {"Total": "total * 2"},
		"parents": {"c": {"from": "fw.customers", "on": {"id": "customer_id"}, "attributes": {"CustomerName": "name"}},
			"b": {"from": "fw.orders", "on": {"id": "boss"}, "attributes": {"Boss": "code"}}},
		"children": {"Products": {"from": "fw.lines", "on": {"order_id": "id"}, "as": "list", "value": "product"},
			"Tags": {"from": "fw.order_tags", "on": {"order_id": "id"}, "join": {"fw.tags": {"id": "tag_id"}}, "as": "set", "value": "tags.name"}}}]');
ALTER TABLE fw.orders ADD FOREIGN KEY (customer_id) REFERENCES fw.customers NOT VALID;
ALTER TABLE fw.orders ADD FOREIGN KEY (boss) REFERENCES fw.orders;
ALTER TABLE fw.lines ADD FOREIGN KEY (order_id) REFERENCES fw.orders ON DELETE CASCADE ON UPDATE CASCADE;
SELECT dyn_follow_migration('fw');
SELECT dyn_follow_migration('fw');
SELECT DISTINCT followed FROM dyn_jobs WHERE name = 'fw';
SELECT dyn_create_migration('fwt', 'fw', '[]');
CREATE FUNCTION fw.shows(OUT item dyn_item) RETURNS SETOF dyn_item LANGUAGE sql AS 'SELECT item FROM fwt ORDER BY pk, sk';
CREATE FUNCTION fw.wrong(OUT step text, OUT source_row text, OUT difference text) RETURNS SETOF record LANGUAGE sql AS $$ SELECT step, source_row, difference
	FROM dyn_verify_migration('fw') $$;
INSERT INTO fw.customers VALUES (1, 'Ada'), (2, 'Grace');
INSERT INTO fw.orders VALUES (10, 1, 'A', 5), (11, 2, 'B', 1.5), (12, NULL, 'C', NULL);
INSERT INTO fw.lines VALUES (1, 10, 'apple'), (2, 10, 'pear'), (3, 11, 'fig');
INSERT INTO fw.tags VALUES (1, 'new'), (2, 'gift');
INSERT INTO fw.order_tags VALUES (10, 1), (10, 2), (11, 2);
SELECT * FROM fw.shows();
SELECT * FROM fw.wrong();
-- parents, children, joins, and the rows that items are made of
UPDATE fw.customers SET name = 'ADA' WHERE id = 1;
UPDATE fw.tags SET name = 'present' WHERE id = 2;
UPDATE fw.lines SET order_id = 11 WHERE id = 2;
UPDATE fw.lines SET id = 30 WHERE id = 3;
DELETE FROM fw.order_tags WHERE order_id = 10 AND tag_id = 1;
UPDATE fw.orders SET customer_id = 2, boss = 11 WHERE id = 10;
UPDATE fw.orders SET boss = 12 WHERE id = 12;
SELECT * FROM fw.shows();
SELECT * FROM fw.wrong();
-- the condition, the key, a key that is swapped in one statement, the step's own key
UPDATE fw.orders SET archived = true WHERE id = 10;
SELECT count(*) FROM fwt WHERE pk = 'ORDER#A';
INSERT INTO fw.lines VALUES (4, 10, 'plum');
UPDATE fw.orders SET archived = false, code = 'AA' WHERE id = 10;
ALTER TABLE fw.orders DROP CONSTRAINT orders_code_key, ADD UNIQUE (code) DEFERRABLE;
UPDATE fw.orders SET code = CASE code WHEN 'AA' THEN 'B' ELSE 'AA' END WHERE code IN ('AA', 'B');
DELETE FROM fw.order_tags WHERE order_id = 11;
UPDATE fw.orders SET boss = NULL WHERE boss = 11;
UPDATE fw.orders SET id = 13 WHERE id = 11;
SELECT * FROM fw.shows();
SELECT * FROM fw.wrong();
-- deletes, with what goes along; replaced by another row of the same key
DELETE FROM fw.orders WHERE id = 13;
BEGIN;
DELETE FROM fw.orders WHERE id = 12;
INSERT INTO fw.orders VALUES (14, 1, 'C', 3);
COMMIT;
WITH gone AS (DELETE FROM fw.orders WHERE id = 14 RETURNING code) INSERT INTO fw.orders SELECT 15, 2, code, 9 FROM gone;
SELECT * FROM fw.wrong();
-- in the caller's transaction
BEGIN;
INSERT INTO fw.orders VALUES (20, 1, 'T', 1);
SELECT item ->> 'Orders' FROM fwt WHERE pk = 'CUSTOMER#1';
ROLLBACK;
SELECT * FROM fw.wrong();
-- a row that cannot become an item fails
INSERT INTO fw.orders VALUES (21, 1, '', 1);
INSERT INTO fw.orders VALUES (21, 1, 'N', 'NaN');
INSERT INTO fw.orders VALUES (21, 1, '', 1, true);
SELECT * FROM fw.wrong();
TRUNCATE fw.lines;
-- whatever the session's search_path and settings are
CREATE FUNCTION pg_temp.round(numeric) RETURNS numeric LANGUAGE sql AS 'SELECT 0';
CREATE SCHEMA evil;
CREATE FUNCTION evil.multiply(numeric, integer) RETURNS numeric LANGUAGE sql AS 'SELECT 666';
CREATE OPERATOR evil.* (leftarg = numeric, rightarg = integer, function = evil.multiply);
CREATE FUNCTION evil.never(integer, integer) RETURNS boolean LANGUAGE sql AS 'SELECT false';
CREATE OPERATOR evil.= (leftarg = integer, rightarg = integer, function = evil.never);
CREATE TABLE evil.customers AS SELECT 1 AS id, 'evil' AS name;
SET search_path = evil, public, pg_catalog;
INSERT INTO fw.orders VALUES (22, 1, 'E', 4);
CALL dyn_migrate('fw');
SELECT item ->> 'Total', item ->> 'CustomerName' FROM fwt WHERE pk = 'ORDER#E';
RESET search_path;
SELECT * FROM fw.wrong();
-- writers need rights on the items, and see all rows of the source
CREATE ROLE regress_writer;
GRANT USAGE ON SCHEMA fw TO regress_writer;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA fw TO regress_writer;
SET ROLE regress_writer;
INSERT INTO fw.orders VALUES (30, 1, 'W', 4);
RESET ROLE;
GRANT SELECT, INSERT, UPDATE, DELETE ON fwt TO regress_writer;
REVOKE UPDATE ON fw.customers FROM regress_writer;
SET ROLE regress_writer;
INSERT INTO fw.orders VALUES (30, 1, 'W', 4);
RESET ROLE;
SELECT item ->> 'CustomerName' FROM fwt WHERE pk = 'ORDER#W';
ALTER TABLE fw.lines ENABLE ROW LEVEL SECURITY;
SET ROLE regress_writer;
INSERT INTO fw.orders VALUES (31, 1, 'W2', 4);
RESET ROLE;
ALTER TABLE fw.lines DISABLE ROW LEVEL SECURITY;
-- row-level security of the items
ALTER TABLE fwt ENABLE ROW LEVEL SECURITY;
CREATE POLICY most ON fwt TO regress_writer USING (pk <> 'ORDER#no');
SET ROLE regress_writer;
INSERT INTO fw.orders VALUES (31, 1, 'no', 4);
INSERT INTO fw.orders VALUES (31, 1, 'yes', 4);
RESET ROLE;
SELECT * FROM fw.wrong();
-- names change, and so do declarations
ALTER TABLE fwt RENAME TO fwt2;
INSERT INTO fw.orders VALUES (32, 1, 'renamed', 4);
ALTER TABLE fwt2 RENAME TO fwt;
SELECT dyn_create_entity('fwt', 'Customer', '{"pk": "CUSTOMER#<CustomerId>", "sk": "#"}',
	'{"CustomerId": {"type": "N integer"}, "Name": {"type": "S text", "stored": "n"}, "Orders": {"type": "N integer"}}');
UPDATE fw.customers SET name = 'Ada L.' WHERE id = 1;
SELECT item FROM fwt WHERE pk = 'CUSTOMER#1';
ALTER TABLE fw.orders ADD COLUMN more int, DROP COLUMN boss;
INSERT INTO fw.orders VALUES (33, 1, 'broken', 4);
ALTER TABLE fw.lines RENAME TO rows;
INSERT INTO fw.customers VALUES (3, 'c');
SELECT dyn_follow_migration('fw', enabled => false);
INSERT INTO fw.customers VALUES (3, 'c');
SELECT dyn_follow_migration('fw', enabled => false);
SELECT count(*) FROM pg_trigger WHERE tgname LIKE '~dynamo_follow%';
-- what cannot be followed
ALTER TABLE fw.rows RENAME TO lines;
SELECT dyn_create_migration('fwt', 'no', '[{"entity": "Customer", "query": "SELECT id AS customer_id FROM fw.customers", "key": ["customer_id"]}]');
SELECT dyn_follow_migration('no');
SELECT dyn_create_migration('fwt', 'no', '[{"entity": "Customer", "from": "fw.customers", "attributes": {"CustomerId": "id",
	"Orders": "(SELECT count(*) FROM fw.orders o WHERE o.customer_id = src.id)"}}]');
SELECT dyn_follow_migration('no');
SELECT dyn_create_migration('fwt', 'no', '[{"entity": "Customer", "from": "fw.customers", "attributes": {"CustomerId": "id", "Name": "random()::text"}}]');
SELECT dyn_follow_migration('no');
SELECT dyn_create_migration('fwt', 'no', '[{"entity": "Customer", "from": "fw.orders", "attributes": {"CustomerId": "id"}},
	{"name": "Again", "entity": "Customer", "from": "fw.customers", "attributes": {"CustomerId": "id"}}]');
SELECT dyn_follow_migration('no');
SELECT dyn_create_migration('fwt', 'no', '[{"entity": "Order", "from": "fw.orders", "attributes": {"Total": "total"},
	"parents": {"c": {"from": "fw.customers", "on": {"id": "customer_id"}, "attributes": {"Code": "name"}}}}]');
SELECT dyn_follow_migration('no');
SELECT dyn_create_entity('fwt', 'Upper', '{"pk": "UPPER#<Code:upper>", "sk": "#"}', '{"Code": {"type": "S text"}}');
SELECT dyn_create_migration('fwt', 'no', '[{"entity": "Upper", "from": "fw.orders"}]');
SELECT dyn_follow_migration('no');
CREATE TABLE fw.parts (id int PRIMARY KEY);
CREATE TABLE fw.child () INHERITS (fw.parts);
SELECT dyn_create_migration('fwt', 'no', '[{"entity": "Customer", "from": "fw.parts", "attributes": {"CustomerId": "id"}}]');
SELECT dyn_follow_migration('no');
ALTER TABLE fw.child ADD PRIMARY KEY (id);
SELECT dyn_create_migration('fwt', 'no', '[{"entity": "Customer", "from": "fw.child", "attributes": {"CustomerId": "id"}}]');
SELECT dyn_follow_migration('no');
-- triggers that ALTER TABLE has disabled, or enabled in another way than they were made
CREATE TABLE fw.switched (id int PRIMARY KEY);
CREATE TABLE fw.split (id int PRIMARY KEY) PARTITION BY RANGE (id);
CREATE TABLE fw.split_1 PARTITION OF fw.split DEFAULT;
SELECT dyn_create_table('switched', 'pk S');
SELECT dyn_create_entity('switched', 'A', '{"pk": "A#<Id>"}', '{"Id": "N integer"}');
SELECT dyn_create_entity('switched', 'B', '{"pk": "B#<Id>"}', '{"Id": "N integer"}');
SELECT dyn_create_migration('switched', 'switched', '[{"entity": "A", "from": "fw.switched"}, {"entity": "B", "from": "fw.split"}]');
SELECT * FROM dyn_verify_migration('switched');
SELECT dyn_follow_migration('switched');
SELECT * FROM dyn_verify_migration('switched');
ALTER TABLE fw.switched DISABLE TRIGGER USER;
ALTER TABLE fw.split_1 DISABLE TRIGGER USER;
SELECT * FROM dyn_verify_migration('switched');
ALTER TABLE fw.switched ENABLE TRIGGER USER;
SELECT difference FROM dyn_verify_migration('switched');
SELECT dyn_follow_migration('switched', enabled => false);
SELECT dyn_follow_migration('switched');
SELECT * FROM dyn_verify_migration('switched');
DROP TABLE switched CASCADE;
ALTER TABLE fw.customers OWNER TO regress_writer;
SELECT dyn_create_migration('fwt', 'no', '[{"entity": "Customer", "from": "fw.customers", "attributes": {"CustomerId": "id"}}]');
SET ROLE regress_writer;
SELECT dyn_follow_migration('no');
RESET ROLE;
DROP TABLE fwt;
DROP SCHEMA fw CASCADE;
DROP SCHEMA evil CASCADE;
DROP ROLE regress_writer;
