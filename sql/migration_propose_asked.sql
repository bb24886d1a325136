-- dyn_propose_migration(): what the database is asked, and the reads that answer it
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
CREATE SCHEMA asked;
SET search_path = asked, public;

CREATE TABLE customer (customer_id int PRIMARY KEY, name text NOT NULL, city text, since date NOT NULL);
CREATE TABLE staff (staff_id int PRIMARY KEY, name text NOT NULL, manager_id int REFERENCES staff);
CREATE TABLE orders (order_id int PRIMARY KEY, customer_id int NOT NULL REFERENCES customer, staff_id int REFERENCES staff, placed timestamptz NOT NULL,
	open boolean NOT NULL);
CREATE TABLE line (order_id int REFERENCES orders, line_no int, product_id int NOT NULL, amount int NOT NULL, PRIMARY KEY (order_id, line_no));
CREATE TABLE product (product_id int PRIMARY KEY, title text NOT NULL, price numeric(8,2) NOT NULL);
ALTER TABLE line ADD FOREIGN KEY (product_id) REFERENCES product;
CREATE TABLE tag (tag_id int PRIMARY KEY, word text NOT NULL);
CREATE TABLE product_tag (product_id int REFERENCES product, tag_id int REFERENCES tag, PRIMARY KEY (product_id, tag_id));
CREATE TABLE elsewhere (id int PRIMARY KEY, order_id int);
CREATE VIEW order_lines AS SELECT o.order_id AS id, o.placed, l.line_no, l.amount FROM orders o JOIN line l USING (order_id);
INSERT INTO customer VALUES (1, 'Ada', 'London', '2024-01-01'), (2, 'Grace', 'New York', '2024-02-01');
INSERT INTO staff VALUES (1, 'Ann', NULL), (2, 'Bob', 1), (3, 'Cem', 1);
INSERT INTO product SELECT i, 'Product ' || i, i FROM generate_series(1, 5) i;
INSERT INTO tag VALUES (1, 'new'), (2, 'red');
INSERT INTO product_tag VALUES (1, 1), (1, 2), (2, 2);
INSERT INTO orders VALUES (1, 1, 1, '2024-03-01 10:00+00', true), (2, 1, 2, '2024-03-02 10:00+00', false), (3, 2, 2, '2024-03-03 10:00+00', true);
INSERT INTO line SELECT o, n, n, o * n FROM generate_series(1, 3) o, generate_series(1, 3) n;

-- Comments and statements of the access patterns alone: they are the last rows.
CREATE FUNCTION asked(VARIADIC queries text[]) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT text FROM dyn_propose_migration('asked_items', '{customer,staff,orders,line,product,tag,product_tag}', queries => queries) WITH ORDINALITY AS p(text, i)
	WHERE i >= (SELECT max(i) FROM dyn_propose_migration('asked_items', '{customer,staff,orders,line,product,tag,product_tag}',
		queries => queries) WITH ORDINALITY AS p(text, i)
		WHERE text LIKE '-- Access patterns, from%')
$$;

SELECT count(*) FROM dyn_propose_migration('asked_items', '{customer}', queries => '{}') AS text WHERE text LIKE '-- Access%';
SELECT count(*) FROM dyn_propose_migration('asked_items', '{customer}') AS text WHERE text LIKE '-- Access%';

-- one read: of an item, of a collection, of an index
SELECT asked('SELECT * FROM customer WHERE customer_id = 5',
	'SELECT * FROM orders o JOIN line l ON l.order_id = o.order_id WHERE o.order_id = $1',
	'SELECT * FROM orders WHERE customer_id = $1 ORDER BY order_id DESC LIMIT 10',
	'SELECT * FROM orders WHERE customer_id = $1 ORDER BY placed',
	'SELECT * FROM orders WHERE customer_id = $1 AND open AND placed >= $2 AND placed < $3',
	'SELECT count(*) FROM orders WHERE $1 = customer_id',
	'SELECT tag_id FROM product_tag WHERE product_id = $1',
	'SELECT product_id FROM product_tag WHERE tag_id = $1',
	'SELECT * FROM staff WHERE manager_id = $1',
	'SELECT id, line_no FROM order_lines WHERE id = $1',
	'SELECT * FROM line WHERE (order_id, line_no) = ($1, $2)',
	'SELECT * FROM customer WHERE customer_id IN (1, 2, 3)',
	'WITH o AS (SELECT * FROM orders) SELECT * FROM (SELECT customer_id AS c, open FROM o) x WHERE x.c = 7 AND lower(x.open::text) = $1',
	'SELECT c.name, o.placed FROM customer c LEFT JOIN orders o ON o.customer_id = c.customer_id AND o.open WHERE c.customer_id = $1',
	'SELECT * FROM orders o WHERE o.order_id = $1 AND EXISTS (SELECT FROM line l WHERE l.order_id = o.order_id AND l.amount > 5)',
	'SELECT *, (SELECT count(*) FROM line l WHERE l.order_id = o.order_id) FROM orders o WHERE o.order_id = $1',
	'SELECT o.* FROM orders o JOIN customer c USING (customer_id) WHERE c.customer_id = $1',
	'SELECT * FROM customer WHERE customer_id = 6 FOR UPDATE;');

-- indexes that are made for it, several reads
SELECT asked('SELECT * FROM customer WHERE city = $1 ORDER BY name',
	'SELECT * FROM orders WHERE open AND placed > now() - interval ''1 day''',
	'SELECT p.title, l.amount FROM line l JOIN product p USING (product_id) WHERE l.order_id = $1',
	'SELECT l.* FROM orders o JOIN line l USING (order_id) WHERE o.customer_id = $1',
	'SELECT s.name, m.name FROM staff s JOIN staff m ON m.staff_id = s.manager_id WHERE s.staff_id = $1',
	'SELECT * FROM customer WHERE city = $1 AND since BETWEEN $2 AND $3',
	'SELECT l.amount, c.name, s.name FROM line l JOIN orders o USING (order_id) JOIN customer c USING (customer_id) LEFT JOIN staff s USING (staff_id)
		WHERE l.product_id = $1');

-- an item beside its own owner is not in the collection of those that it owns
CREATE TABLE parcel (order_id int REFERENCES orders, parcel_no int, PRIMARY KEY (order_id, parcel_no));
SELECT text ~ '-- Q1 +. two reads ' FROM dyn_propose_migration('asked_items', '{customer,orders,line,parcel}', '{"orders": "customer"}',
	queries => ARRAY['SELECT * FROM orders o JOIN line USING (order_id) WHERE o.order_id = 1 AND o.customer_id = 1']) AS text WHERE text LIKE '-- Access%';
DROP TABLE parcel;

-- conditions that say the same of both sides of a join
SELECT asked('SELECT * FROM customer c JOIN orders o USING (customer_id) WHERE c.customer_id = $1 AND o.customer_id = $1 ORDER BY o.placed DESC LIMIT 5',
	'SELECT * FROM orders WHERE customer_id = 1 AND staff_id = 2 OR customer_id = 1 AND open');

-- SQL over views
SELECT asked('SELECT city, count(*) FROM customer GROUP BY city',
	'SELECT * FROM customer WHERE since > $1',
	'SELECT * FROM customer WHERE customer_id = 1 OR city = ''x''',
	'SELECT customer_id FROM customer UNION SELECT order_id FROM orders',
	'SELECT * FROM orders FULL JOIN line USING (order_id)',
	'SELECT * FROM orders TABLESAMPLE system (10) WHERE order_id = 1',
	'WITH RECURSIVE r AS (SELECT staff_id FROM staff WHERE staff_id = 1 UNION ALL SELECT s.staff_id FROM staff s JOIN r ON s.manager_id = r.staff_id) SELECT *
		FROM r',
	'SELECT * FROM orders o JOIN elsewhere e USING (order_id) WHERE o.order_id = 1',
	'SELECT * FROM orders JOIN unnest($1::int[]) AS u(i) ON u.i = order_id',
	'SELECT * FROM orders o LEFT JOIN line l ON l.order_id = o.order_id AND l.order_id = 5',
	'SELECT * FROM orders o WHERE NOT EXISTS (SELECT FROM line l WHERE l.order_id = o.order_id AND l.order_id = 5)',
	'SELECT * FROM (SELECT * FROM orders ORDER BY placed LIMIT 5) x WHERE x.customer_id = 1',
	'SELECT * FROM orders o WHERE o.order_id = 1 AND o.order_id IN (SELECT order_id FROM line ORDER BY amount LIMIT 3)',
	'SELECT * FROM orders o CROSS JOIN LATERAL (SELECT count(*) FROM line l WHERE l.order_id = o.order_id AND l.order_id = 5) x',
	'MERGE INTO customer c USING staff s ON s.staff_id = c.customer_id WHEN MATCHED THEN DELETE',
	'SELECT * INTO made FROM customer WHERE customer_id = 1',
	'WITH d AS (DELETE FROM line WHERE order_id = 1 RETURNING *) SELECT * FROM d');

-- writes
SELECT asked('INSERT INTO customer VALUES ($1, $2, $3, $4) ON CONFLICT (customer_id) DO UPDATE SET name = EXCLUDED.name',
	'INSERT INTO customer SELECT staff_id, name, name, now() FROM staff',
	'UPDATE customer SET name = $1 WHERE customer_id = $2',
	'UPDATE line SET line_no = $1 WHERE order_id = $2 AND line_no = $3',
	'UPDATE customer SET name = $1',
	'DELETE FROM line WHERE order_id = $1',
	'DELETE FROM line USING orders WHERE line.order_id = orders.order_id AND orders.order_id = $1');

-- not classified, each by itself
SELECT asked('SELEC 1', '-- nothing', 'SELECT 1; SELECT 2', 'SELECT * FROM nowhere', 'SELECT nothing FROM customer', 'VACUUM customer', 'SELECT 1',
	'SELECT * FROM elsewhere', 'SELECT * FROM customer WHERE name = $70000', 'SELECT 1/0 FROM customer WHERE customer_id = 1',
	'SELECT ' || repeat('(', 50000) || '1' || repeat(')', 50000), repeat('x', 200000));
SELECT dyn_propose_migration('asked_items', '{customer}', queries => ARRAY['SELECT 1', NULL]);

-- Nothing breaks out of a comment.
SELECT asked(E'SELECT *\n\tFROM customer\r\n-- x\n;\\echo broken\n', E'SELECT "a\nDROP TABLE customer;\u0085\u2028\u202Eb" FROM customer',
	E'SELECT 1 FROM customer -- \x1b[31m');
SELECT count(*) FROM asked(E'SELECT *\n\tFROM customer\r\n-- x\n;\\echo broken\n', E'SELECT "a\nDROP TABLE customer;\u0085\u2028\u202Eb" FROM customer') AS line
	WHERE rtrim(line, E'\n') ~ '(^|\n)(?!--)';

-- Nothing of a query runs, and no lock is kept.
CREATE FUNCTION loud(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE EXCEPTION 'loud was called'; END $$;
CREATE DOMAIN loud_number AS int CHECK (loud(VALUE) > 0);
CREATE TYPE loud_row AS (number loud_number);
SELECT asked('SELECT loud(1) FROM customer WHERE customer_id = loud(1)', 'SELECT ''(1)''::loud_row FROM customer', 'SELECT loud_row ''(1)'' FROM customer',
	'SELECT * FROM customer WHERE ''{1}''::loud_number[] IS NULL', 'SELECT CAST(''1'' AS loud_number) FROM customer',
	'WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r) CYCLE i SET c TO loud_row ''(1)'' DEFAULT loud_row ''(2)'' USING p SELECT * FROM r,
		customer',
	'SELECT extract(year FROM since), date_trunc(''day'', since), interval ''1 day'', ''a'' || ''b'', ''x'' FROM customer WHERE customer_id = 1
		AND city = ANY (''{a,b}'')');
BEGIN;
SELECT count(*) FROM asked('DELETE FROM customer WHERE customer_id = loud(1)', 'SELECT * FROM elsewhere WHERE id = loud(2)');
SELECT relation::regclass, mode FROM pg_locks WHERE pid = pg_backend_pid() AND (mode = 'RowExclusiveLock' OR relation = 'elsewhere'::regclass) AND relation >=
	16384;
ROLLBACK;
SELECT count(*) FROM customer;

-- the rights of the caller
CREATE ROLE asked_reader;
GRANT USAGE ON SCHEMA asked TO asked_reader;
GRANT SELECT ON customer, orders TO asked_reader;
GRANT SELECT ON order_lines TO asked_reader;
SET ROLE asked_reader;
SELECT text FROM dyn_propose_migration('asked_items', '{customer,orders}',
	queries => ARRAY['SELECT * FROM line', 'SELECT * FROM orders JOIN line USING (order_id)',
	'DELETE FROM customer', 'SELECT * FROM customer WHERE customer_id = 1', 'SELECT * FROM order_lines WHERE id = 1']) text
	WHERE text LIKE '-- Access%';
RESET ROLE;

-- All of it runs as it is, and the patterns give what the queries give.
DO $$
DECLARE
	statement text;
BEGIN
	FOR statement IN SELECT dyn_propose_migration('asked_items', '{customer,staff,orders,line,product,tag,product_tag}',
		queries => ARRAY['SELECT * FROM customer WHERE customer_id = 5',
			'SELECT * FROM orders o JOIN line l ON l.order_id = o.order_id WHERE o.order_id = $1',
			'SELECT * FROM orders WHERE customer_id = $1 ORDER BY order_id DESC LIMIT 10',
			'SELECT * FROM orders WHERE customer_id = $1 AND open AND placed >= $2 AND placed < $3',
			'SELECT * FROM customer c JOIN orders o USING (customer_id) WHERE c.customer_id = $1',
			'SELECT product_id FROM product_tag WHERE tag_id = $1',
			'SELECT * FROM line WHERE order_id = $1',
			'SELECT * FROM staff WHERE manager_id = $1']) LOOP
		EXECUTE statement;
	END LOOP;
END $$;
CALL dyn_migrate('asked_items');
\pset format aligned
\pset tuples_only off
SELECT dyn_access_pattern_chart('asked_items');

SELECT item FROM dyn_run_access_pattern('asked_items', 'Q1_customer', '{"customer_id": {"N": "1"}}') AS item;
SELECT item->>'Type' AS type, item->>'line_no' AS line_no FROM dyn_run_access_pattern('asked_items', 'Q2_line', '{"order_id": {"N": "2"}}') AS item;
SELECT item->>'order_id' AS order_id FROM dyn_run_access_pattern('asked_items', 'Q3_orders', '{"customer_id": {"N": "1"}}') AS item;
SELECT item->>'order_id' AS order_id FROM dyn_run_access_pattern('asked_items', 'Q4_orders',
	'{"customer_id": {"N": "1"}, "placed_from": {"S": "2024-01-01T00:00:00.000000Z"}, "placed_to": {"S": "2024-03-02T10:00:00.000000Z"}}') AS item;
SELECT item->>'Type' AS type, item->>'order_id' AS order_id FROM dyn_run_access_pattern('asked_items', 'Q5_orders', '{"customer_id": {"N": "1"}}') AS item;
SELECT item->>'product_id' AS product_id FROM dyn_run_access_pattern('asked_items', 'Q6_product_tag', '{"tag_id": {"N": "2"}}') AS item;
SELECT item->>'line_no' AS line_no FROM dyn_run_access_pattern('asked_items', 'Q7_line', '{"order_id": {"N": "3"}}') AS item;
SELECT item->>'name' AS name FROM dyn_run_access_pattern('asked_items', 'Q8_staff', '{"manager_id": {"N": "1"}}') AS item;

-- pg_stat_statements that is not loaded with the server
CREATE EXTENSION pg_stat_statements SCHEMA asked;
SELECT text ~ '^-- Access patterns, from pg_stat_statements:\n-- It cannot be read: .* must be loaded via .*\n$'
	FROM dyn_propose_migration('asked_items', '{customer}') AS text
	WHERE text LIKE '-- Access%';
DROP EXTENSION pg_stat_statements;
DROP SCHEMA asked CASCADE;
DROP ROLE asked_reader;
