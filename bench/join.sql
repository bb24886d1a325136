-- Customers with orders and their lines, :customers of each size, as three tables and as one table of items.
\set QUIET on
CREATE EXTENSION dynamo_table;
SELECT setseed(0.5) \g /dev/null
CREATE TABLE sizes (size int PRIMARY KEY, orders int);
INSERT INTO sizes VALUES (0, 2), (1, 10), (2, 40);
CREATE TABLE marks (round int, size int, variant int, done int, cpu bigint);
CREATE TABLE pages (size int, variant int, pages bigint);

CREATE TABLE customers (id int PRIMARY KEY, name text, email text);
CREATE TABLE orders (id int PRIMARY KEY, customer_id int NOT NULL REFERENCES customers, placed timestamptz, status text, address text);
CREATE TABLE lines (id int PRIMARY KEY, order_id int NOT NULL REFERENCES orders, product text, quantity int, price numeric);
CREATE INDEX ON orders (customer_id);
CREATE INDEX ON lines (order_id);
SELECT dyn_create_table('app', 'pk S', 'sk S') \g /dev/null

-- in random order: an order has its place in time, and its number
INSERT INTO customers SELECT id, 'Customer ' || id, format('customer.%s@example.org', id) FROM generate_series(1, 3 * :customers) id ORDER BY random();
INSERT INTO orders SELECT row_number() OVER (), customer_id, '2024-01-01'::timestamptz + row_number() OVER () * interval '1 min', 'shipped',
	format('%s Main Street, Springfield, %s', customer_id, md5(customer_id::text))
	FROM (SELECT s.size * :customers + c AS customer_id FROM sizes s, generate_series(1, :customers) c, generate_series(1, s.orders) ORDER BY random()) o;
INSERT INTO lines SELECT o.id * 3 + n, o.id, format('Product %s: %s', o.id * 7919 % 10000, md5(n::text)), n, 9.99 * n FROM orders o, generate_series(0, 2) n
	ORDER BY o.id, n;
INSERT INTO app (item) SELECT item || jsonb_build_object('pk', 'CUSTOMER#' || lpad(customer_id::text, 6, '0')) FROM (
	SELECT id AS customer_id, 0 AS order_id, id AS n, jsonb_build_object('sk', 'CUSTOMER', 'Type', 'Customer', 'Name', name, 'Email', email) AS item FROM customers
	UNION ALL
	SELECT customer_id, id, -1, jsonb_build_object('sk', format('ORDER#%s', lpad(id::text, 8, '0')), 'Type', 'Order', 'Placed', placed, 'Status', status,
		'Address', address) FROM orders
	UNION ALL
	SELECT customer_id, order_id, l.id, jsonb_build_object('sk', format('ORDER#%s#LINE#%s', lpad(order_id::text, 8, '0'), l.id % 3 + 1), 'Type', 'Line',
		'Product', product, 'Quantity', quantity, 'Price', price)
		FROM lines l JOIN orders o ON o.id = order_id
) v ORDER BY order_id, n;
SET synchronous_commit = on;
DO 'BEGIN PERFORM pg_current_xact_id(); END';
VACUUM ANALYZE;

-- what is read outside of shared buffers, by customers who are not beside each other; the first one warms the session up
CREATE PROCEDURE count_pages(variant int, customers int, statement text) LANGUAGE plpgsql AS $$
DECLARE
	size int; i int; plan json;
BEGIN
	FOR size IN SELECT s.size FROM sizes s LOOP
		FOR i IN 0 .. 20 LOOP
			EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT json) ' || format(statement, size * customers + 1 + i * (customers / 21)) INTO plan;
			INSERT INTO pages SELECT size, variant, (plan->0->'Plan'->>'Shared Read Blocks')::bigint WHERE i > 0;
		END LOOP;
	END LOOP;
END $$;

CREATE VIEW medians AS
SELECT size, variant, percentile_cont(0.5) WITHIN GROUP (ORDER BY cpu) AS cpu
	FROM (SELECT round, size, variant, (max(cpu) - min(cpu)) / 1000.0 / (max(done) - min(done)) AS cpu FROM marks GROUP BY round, size, variant) m GROUP BY size,
		variant;
CREATE VIEW results AS
SELECT s.orders * 4 + 1 AS items, (ARRAY['dyn_query of the collection', 'join of three tables', 'join as one JSON document'])[variant + 1] AS read,
	round(avg(pages), 1) AS "pages read", round(m.cpu::numeric, 1) AS "server CPU, µs",
	round(avg(pages) / first_value(avg(pages)) OVER (PARTITION BY size ORDER BY variant), 2) AS "pages, of ours",
	round((m.cpu / first_value(m.cpu) OVER (PARTITION BY size ORDER BY variant))::numeric, 2) AS "CPU, of ours"
	FROM pages JOIN medians m USING (size, variant) JOIN sizes s USING (size) GROUP BY s.orders, size, variant, m.cpu ORDER BY size, variant;
