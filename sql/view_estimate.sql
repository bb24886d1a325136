-- How many rows the planner expects of views of entities: of joins, groups, and of few items among many.
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
SELECT dyn_create_table('app', 'pk S', 'sk S', global_indexes => '{"GSI1": {"partition_key": "g1 S", "sort_key": "h1 S"},
	"ByStatus": {"partition_key": "status S", "sort_key": "total N"}}');
SELECT dyn_create_entity('app', 'customer', '{"pk": "CUSTOMER#<customer>", "sk": "#CUSTOMER", "g1": "COUNTRY#<country>", "h1": "CUSTOMER#<customer:05>"}',
	'{"customer": "N integer", "country": "S", "referrer": "N integer"}');
SELECT dyn_create_entity('app', 'country', '{"pk": "COUNTRY#<country>", "sk": "#COUNTRY"}', '{"country": "S", "name": "S"}');
SELECT dyn_create_entity('app', 'order', '{"pk": "ORDER#<order>", "sk": "#ORDER", "g1": "CUSTOMER#<customer>", "h1": "ORDER#<order:05>"}',
	'{"order": "N integer", "customer": "N bigint", "status": "S", "total": "N", "shop": "N integer"}');
SELECT dyn_create_entity('app', 'line', '{"pk": "ORDER#<order>", "sk": "LINE#<no:03>", "g1": "PRODUCT#<product>", "h1": "LINE#<order:05>#<no:03>"}',
	'{"order": "N integer", "no": "N integer", "product": "S varchar(20)"}');
SELECT dyn_create_entity('app', 'product', '{"pk": "PRODUCT#<product>", "sk": "#PRODUCT"}', '{"product": "S varchar(20)"}');
SELECT dyn_create_entity('app', 'shop', '{"pk": "SHOP#<shop>", "sk": "#SHOP"}', '{"shop": "N integer", "country": "S"}');
SELECT dyn_create_entity('app', 'visit', '{"pk": "VISIT#<shop>#<customer>", "sk": "<at>"}', '{"shop": "N integer", "customer": "N integer", "at": "S"}');
SELECT dyn_create_entity('app', 'damage', '{"pk": "DAMAGE#<product>", "sk": "<at>"}', '{"product": "S", "at": "S"}');
SELECT count(dyn_create_entity_view('app', e)) FROM unnest('{customer,country,order,line,product,shop,visit,damage}'::text[]) e;
SELECT dyn_create_entity_view('app', 'customer', 'customer_i', index_name => 'GSI1'), dyn_create_entity_view('app', 'order', 'order_i', index_name => 'GSI1'),
  dyn_create_entity_view('app', 'line', 'line_i', index_name => 'GSI1'), dyn_create_entity_view('app', 'order', 'order_s', index_name => 'ByStatus');
SELECT count(dyn_put_entity('app', 'customer', jsonb_build_object('customer', i, 'country', 'c' || i % 20, 'referrer', i % 40))) FROM generate_series(1, 400) i;
SELECT count(dyn_put_entity('app', 'country', jsonb_build_object('country', 'c' || i, 'name', 'country ' || i))) FROM generate_series(0, 21) i;
SELECT count(dyn_put_entity('app', 'order', jsonb_build_object('order', i, 'customer', 1 + i * 7 % 300, 'status', 's' || i % 5, 'total', i % 100, 'shop',
	1 + i % 3))) FROM generate_series(1, 3000) i;
SELECT count(dyn_put_entity('app', 'line', jsonb_build_object('order', 1 + i % 2000, 'no', i / 2000, 'product', 'p' || i % 150)))
	FROM generate_series(1, 6000) i;
SELECT count(dyn_put_entity('app', 'product', jsonb_build_object('product', 'p' || i))) FROM generate_series(0, 199) i;
SELECT count(dyn_put_entity('app', 'shop', jsonb_build_object('shop', i, 'country', 'c' || i))) FROM generate_series(1, 3) i;
SELECT count(dyn_put_entity('app', 'visit', jsonb_build_object('shop', 1 + i % 30, 'customer', i / 30, 'at', 'a' || i))) FROM generate_series(1, 900) i;
SELECT count(dyn_put_entity('app', 'damage', jsonb_build_object('product', 'p' || i, 'at', 'a' || i))) FROM generate_series(1, 30) i;

-- rows of a query, and whether as many are expected, or at most twice as many or half as many
CREATE FUNCTION expected(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan json;
	expected float;
	found float;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF, FORMAT JSON) ' || query INTO plan;
	plan := plan->0->'Plan';
	expected := (plan->>'Plan Rows')::float;
	found := (plan->>'Actual Rows')::float;
	RETURN CASE WHEN expected BETWEEN greatest(found, 1) / 2 AND greatest(found, 1) * 2 THEN found || ' as expected' ELSE expected || ' instead of ' || found END;
END $$;
-- no statistics: what is there is supposed
SELECT count(*) FROM customer c JOIN order_i o USING (customer);
VACUUM ANALYZE app;
SET max_parallel_workers_per_gather = 0;

-- entities, of many items and of few, also between two bounds of a histogram
SELECT v, expected(format('SELECT * FROM %I', v))
	FROM unnest('{customer,customer_i,country,order,order_i,order_s,line,line_i,product,shop,visit,damage}'::text[]) v;
-- those of one key, which is a constant, or not known yet
SELECT expected('SELECT * FROM order_i WHERE customer = 7');
SELECT expected('SELECT * FROM line WHERE "order" = 7');
SELECT expected('SELECT * FROM line_i WHERE product = ''p7''');
SELECT expected('SELECT * FROM customer_i WHERE country = ''c7''');
SELECT expected('SELECT * FROM order_i WHERE customer = (SELECT 7)');
SELECT expected('SELECT * FROM customer_i WHERE country = (SELECT ''c7'')');
SELECT expected('SELECT * FROM customer WHERE customer = (SELECT 7)');
SELECT expected('SELECT * FROM line_i WHERE product = ''p#7''');

-- joins of all with all
SELECT expected('SELECT FROM customer c JOIN order_i o USING (customer)');
SELECT expected('SELECT FROM customer_i c JOIN order_i o USING (customer)');
SELECT expected('SELECT FROM country c JOIN customer_i USING (country)');
SELECT expected('SELECT FROM "order" o JOIN line l USING ("order")');
SELECT expected('SELECT FROM product JOIN line_i USING (product)');
SELECT expected('SELECT FROM customer c JOIN order_i o USING (customer) JOIN line l USING ("order") JOIN country y USING (country)');
SELECT expected('SELECT FROM order_i a JOIN order_i b USING (customer)');
-- an attribute that no key of the view has: as a foreign key
SELECT expected('SELECT FROM shop s JOIN "order" o USING (shop)');
SELECT expected('SELECT FROM customer c JOIN "order" o USING (customer)');
SELECT expected('SELECT FROM customer c JOIN customer r ON r.customer = c.referrer');
-- keys of two attributes, of neither of which anything is known by itself
SELECT expected('SELECT FROM visit a JOIN visit b USING (shop, customer)');
-- with an ordinary table
CREATE TABLE mail AS SELECT i % 400 + 1 AS customer, i AS id FROM generate_series(1, 800) i;
ANALYZE mail;
SELECT expected('SELECT FROM customer JOIN mail USING (customer)');
SELECT expected('SELECT FROM order_i JOIN mail USING (customer)');
SELECT expected('SELECT FROM "order" o JOIN mail USING (customer)');
-- those of some parents
SELECT expected('SELECT FROM country c JOIN customer_i USING (country) WHERE c.country = ''c1''');
SELECT expected('SELECT FROM customer c JOIN order_i o USING (customer) WHERE c.customer = 7');
SELECT expected('SELECT FROM customer c JOIN order_i o USING (customer) JOIN line l USING ("order") WHERE c.customer = 8');
-- outer, semi and anti joins
SELECT expected('SELECT FROM customer c LEFT JOIN order_i o USING (customer)');
SELECT expected('SELECT FROM customer c LEFT JOIN order_i o USING (customer) LEFT JOIN line l ON l."order" = o."order"');
SELECT expected('SELECT FROM customer c WHERE EXISTS (SELECT FROM order_i o WHERE o.customer = c.customer)');
SELECT expected('SELECT FROM customer c WHERE NOT EXISTS (SELECT FROM order_i o WHERE o.customer = c.customer)');
SELECT expected('SELECT FROM "order" o WHERE NOT EXISTS (SELECT FROM line l WHERE l."order" = o."order")');
SELECT expected('SELECT FROM product p WHERE product IN (SELECT product FROM line_i)');
-- groups
SELECT expected('SELECT customer, count(*) FROM order_i GROUP BY customer');
SELECT expected('SELECT "order" FROM line GROUP BY 1');
SELECT expected('SELECT DISTINCT product FROM line_i');
SELECT expected('SELECT "order" FROM "order" GROUP BY 1');
SELECT expected('SELECT o.customer, count(l.no) FROM order_i o LEFT JOIN line l USING ("order") GROUP BY 1');

-- the index that is not there is none of any plan
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_hashjoin = off;
SELECT count(*) FROM customer c JOIN order_i o USING (customer);
SELECT count(*) FROM customer c JOIN order_i o ON o.customer = c.referrer;
SELECT max(customer), min(country) FROM customer;
RESET enable_seqscan;
RESET enable_bitmapscan;
RESET enable_hashjoin;
-- roles that see some of the rows
CREATE ROLE dyn_estimate;
GRANT SELECT ON app, customer, order_i TO dyn_estimate;
GRANT EXECUTE ON FUNCTION expected TO dyn_estimate;
ALTER TABLE app ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON app USING (pk <> 'CUSTOMER#2');
SET ROLE dyn_estimate;
SELECT expected('SELECT FROM customer c JOIN order_i o USING (customer)');
RESET ROLE;
DROP OWNED BY dyn_estimate;
DROP ROLE dyn_estimate;
ALTER TABLE app DISABLE ROW LEVEL SECURITY;
-- what has changed is estimated again once there are new statistics
SELECT count(dyn_put_entity('app', 'product', jsonb_build_object('product', 'p' || i))) FROM generate_series(1000, 3000) i;
SELECT count(dyn_put_entity('app', 'line', jsonb_build_object('order', 1 + i % 2000, 'no', 500 + i / 2000, 'product', 'p' || i)))
	FROM generate_series(1000, 3000) i;
ANALYZE app;
SELECT expected('SELECT FROM product');
SELECT expected('SELECT FROM product JOIN line_i USING (product)');
SELECT expected('SELECT product FROM line_i GROUP BY 1');
DROP FUNCTION expected;
DROP TABLE mail;
DROP TABLE app CASCADE;
