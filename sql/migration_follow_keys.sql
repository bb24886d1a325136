-- Following rows that get other keys, and items whose templates need not all attributes (M27)
\pset format unaligned
SET client_min_messages = warning;
CREATE SCHEMA fk;
CREATE TABLE fk.customers (id int PRIMARY KEY, name text);
CREATE TABLE fk.orders (id int PRIMARY KEY, customer_id int REFERENCES fk.customers ON UPDATE CASCADE ON DELETE CASCADE, note text);
CREATE TABLE fk.lines (id int PRIMARY KEY, order_id int REFERENCES fk.orders ON UPDATE CASCADE ON DELETE CASCADE, product text);
CREATE TABLE fk.places (id int PRIMARY KEY, code text UNIQUE NOT NULL, kind text, part text);
SELECT dyn_create_table('fkt', 'pk S', 'sk S');
SELECT dyn_create_entity('fkt', 'Order', '{"pk": "CUSTOMER#<CustomerId>", "sk": "ORDER#<Id:05>"}',
	'{"CustomerId": {"type": "N integer"}, "Id": {"type": "N integer"}, "Note": {"type": "S text"}, "CustomerName": {"type": "S text"},
	"Products": {"type": "L text[]"}}');
SELECT dyn_create_entity('fkt', 'Place', '{"pk": "PLACE#<Code>", "sk": [{"when": {"Kind": "a"}, "template": "A#<Part>"}, {"template": "B#"}]}',
	'{"Code": {"type": "S text"}, "Kind": {"type": "S text"}, "Part": {"type": "S text"}}');
SELECT dyn_create_migration('fkt', 'fk', '[
	{"entity": "Order", "from": "fk.orders", "parents": {"c": {"from": "fk.customers", "on": {"id": "customer_id"}, "attributes": {"CustomerName": "name"}}},
		"children": {"Products": {"from": "fk.lines", "on": {"order_id": "id"}, "as": "list", "value": "product"}}},
	{"entity": "Place", "from": "fk.places"}]');
SELECT dyn_follow_migration('fk');
CREATE FUNCTION fk.shows(OUT item dyn_item) RETURNS SETOF dyn_item LANGUAGE sql AS 'SELECT item FROM fkt ORDER BY pk, sk';
CREATE FUNCTION fk.wrong(OUT step text, OUT source_row text, OUT difference text) RETURNS SETOF record LANGUAGE sql AS $$ SELECT step, source_row, difference
	FROM dyn_verify_migration('fk') $$;
INSERT INTO fk.customers VALUES (1, 'Ada'), (2, 'Grace');
INSERT INTO fk.orders VALUES (1, 1, 'x'), (2, 1, 'y');
INSERT INTO fk.lines VALUES (1, 1, 'apple'), (2, 2, 'pear');
-- the row's own key stays, and that of its item does not
UPDATE fk.orders SET customer_id = 2 WHERE id = 1;
SELECT * FROM fk.shows();
SELECT * FROM fk.wrong();
-- twice in a statement's cascades, and in a transaction that is undone in part
UPDATE fk.customers SET id = 3 WHERE id = 2;
UPDATE fk.orders SET id = 5, customer_id = 1 WHERE id = 1;
BEGIN;
UPDATE fk.orders SET customer_id = 3 WHERE id = 5;
SAVEPOINT s;
UPDATE fk.orders SET customer_id = 1 WHERE id = 2;
DELETE FROM fk.customers WHERE id = 3;
ROLLBACK TO s;
UPDATE fk.lines SET order_id = 2 WHERE id = 1;
COMMIT;
SELECT * FROM fk.shows();
SELECT * FROM fk.wrong();
DELETE FROM fk.customers WHERE id = 3;
SELECT * FROM fk.wrong();
-- NULL in what only some of the templates use
INSERT INTO fk.places VALUES (1, 'c', NULL, NULL), (2, 'd', 'a', 'p'), (3, 'e', 'b', NULL);
SELECT item FROM fkt WHERE pk LIKE 'PLACE%' ORDER BY pk;
UPDATE fk.places SET kind = 'a', part = 'q' WHERE id = 1;
UPDATE fk.places SET kind = NULL WHERE id = 2;
SELECT item FROM fkt WHERE pk LIKE 'PLACE%' ORDER BY pk;
SELECT * FROM fk.wrong();
-- from 18 on: triggers do not have virtual columns
CREATE TABLE fk.virtuals (id int PRIMARY KEY, base text);
DO $$ BEGIN
	IF current_setting('server_version_num')::int < 180000 THEN RETURN; END IF;
	EXECUTE 'ALTER TABLE fk.virtuals ADD code text GENERATED ALWAYS AS (upper(base)) VIRTUAL';
	PERFORM dyn_create_migration('fkt', 'fv', '[{"entity": "Place", "from": "fk.virtuals"}]');
	PERFORM dyn_follow_migration('fv');
	RAISE EXCEPTION 'it is followed';
EXCEPTION WHEN feature_not_supported THEN NULL;
END $$;
DROP SCHEMA fk CASCADE;
DROP TABLE fkt;
