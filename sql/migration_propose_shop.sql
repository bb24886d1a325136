-- dyn_propose_migration() with the questions of two shops: keys and indexes follow from them, and a read gives what a question returns and no more
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
SET timezone = 'UTC';
SET datestyle = ISO;
CREATE SCHEMA shop;
CREATE SCHEMA items;
SET search_path = shop, public;

-- a shop whose schema declares few foreign keys, like dellstore2
CREATE TABLE categories (category int PRIMARY KEY, categoryname text NOT NULL);
CREATE TABLE products (prod_id int PRIMARY KEY, category int NOT NULL, title text NOT NULL, actor text NOT NULL, price numeric(12,2) NOT NULL,
	special smallint);
CREATE TABLE inventory (prod_id int PRIMARY KEY, quan_in_stock int NOT NULL, sales int NOT NULL);
CREATE TABLE customers (customerid int PRIMARY KEY, firstname text NOT NULL, username text NOT NULL UNIQUE, password text NOT NULL, gender char(1));
CREATE TABLE orders (orderid int PRIMARY KEY, orderdate date NOT NULL, customerid int REFERENCES customers ON DELETE SET NULL, netamount
	numeric(12,2) NOT NULL);
CREATE TABLE orderlines (orderlineid int NOT NULL, orderid int NOT NULL REFERENCES orders ON DELETE CASCADE, prod_id int NOT NULL, quantity
	smallint NOT NULL,
	orderdate date NOT NULL, PRIMARY KEY (orderid, orderlineid));
CREATE TABLE reviews (review_id int PRIMARY KEY, prod_id int NOT NULL REFERENCES products, customerid int NOT NULL REFERENCES customers, stars int
	NOT NULL,
	written timestamptz NOT NULL, body text);
INSERT INTO categories SELECT i, 'Category ' || i FROM generate_series(1, 16) i;
INSERT INTO products SELECT i, i % 16 + 1, 'Title ' || i, 'Actor ' || i % 400, i % 30 + 0.99, (i % 8 = 0)::int FROM generate_series(1, 2400) i;
INSERT INTO inventory SELECT i, i % 100, i % 7 FROM generate_series(1, 2400) i;
INSERT INTO customers SELECT i, 'Name ' || i, 'user' || i, 'secret' || i % 3, CASE WHEN i % 2 = 0 THEN 'M' ELSE 'F' END FROM generate_series(1,
	300) i;
-- the first customer has 400 orders
INSERT INTO orders SELECT i, date '2024-01-01' + (i * 7) % 360, CASE WHEN i <= 400 THEN 1 WHEN i % 50 <> 0 THEN i % 300 + 1 END, i FROM
	generate_series(1, 3000) i;
INSERT INTO orderlines SELECT n, i, (i * n) % 2400 + 1, n, o.orderdate FROM generate_series(1, 3000) i JOIN orders o ON o.orderid = i,
	generate_series(1, 3) n;
INSERT INTO reviews SELECT i, (i * 37) % 200 + 1, i % 300 + 1, i % 5 + 1, timestamptz '2024-01-01 00:00+00' + i * interval '5 hours', 'Text' FROM
	generate_series(1, 1500) i;

-- Runs a proposal as it is, and compares both sides.
CREATE TABLE ran (i int GENERATED ALWAYS AS IDENTITY, statement text);
CREATE PROCEDURE run_proposal(target text, sources text[], queries text[]) LANGUAGE plpgsql AS $$
DECLARE
	text text;
BEGIN
	TRUNCATE ran;
	FOR text IN SELECT dyn_propose_migration(target, sources, queries => queries) LOOP
		EXECUTE text;
		INSERT INTO ran (statement) VALUES (text);
	END LOOP;
END $$;
-- The lines of the proposal that was run which match a pattern.
CREATE FUNCTION said(pattern text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT line FROM ran, regexp_split_to_table(statement, '\n') line WHERE line ~ pattern ORDER BY i $$;
-- What the reads of the access patterns read and return, with values for their parameters.
CREATE FUNCTION explained(target text, vals jsonb) RETURNS TABLE (pattern text, index_name text, direction text, items_read bigint, items_returned
	bigint,
	range text) LANGUAGE plpgsql AS $$
DECLARE
	statement text;
	request text;
	value record;
BEGIN
	FOR statement IN SELECT r.statement FROM ran r WHERE r.statement LIKE '%dyn_create_access_pattern(%' ORDER BY i LOOP
		pattern := substring(statement FROM $r$', '([^']*)', '(?:Query|GetItem)',$r$);
		request := substring(statement FROM $r$\n\t'(.*)', '[^']*'\);$r$);
		FOR value IN SELECT * FROM jsonb_each_text(vals) LOOP
			request := regexp_replace(request, format('<%s(:0[0-9]+)?>', value.key), value.value, 'g');
		END LOOP;
		IF request::jsonb ? 'Key' THEN
			SELECT count(*), count(*) INTO items_read, items_returned FROM dyn_get(target, (request::jsonb -> 'Key')::text::dyn_item) item WHERE
	item IS NOT NULL;
			index_name := NULL; direction := 'item'; range := NULL;
		ELSE
			SELECT e.index_name, e.direction, e.items_read, e.items_returned, e.range INTO index_name, direction, items_read, items_returned, range
				FROM dyn_explain(target, request::jsonb ->> 'KeyConditionExpression', request::jsonb ->> 'IndexName',
					names => request::jsonb -> 'ExpressionAttributeNames', vals => (request::jsonb -> 'ExpressionAttributeValues')::text::dyn_item,
					forward => coalesce((request::jsonb ->> 'ScanIndexForward')::boolean, true), max_items => (request::jsonb ->> 'Limit')::bigint) e;
		END IF;
		RETURN NEXT;
	END LOOP;
END $$;

CALL run_proposal('items.shop', '{categories,products,inventory,customers,orders,orderlines,reviews}', ARRAY[
	'SELECT customerid FROM customers WHERE username = $1 AND password = $2',
	'SELECT * FROM customers c LEFT JOIN orders o ON o.customerid = c.customerid WHERE c.customerid = $1 ORDER BY o.orderdate DESC LIMIT 20',
	'SELECT * FROM orders WHERE customerid = $1 AND orderdate BETWEEN $2 AND $3',
	'SELECT * FROM orders WHERE customerid = $1 AND orderdate > $2 AND orderdate < $3 ORDER BY orderdate DESC, orderid DESC LIMIT $4',
	'SELECT * FROM orderlines WHERE orderid = $1 AND orderlineid < $2 ORDER BY orderlineid DESC LIMIT 2',
	'SELECT * FROM orders o JOIN orderlines l USING (orderid) WHERE o.orderid = $1',
	'SELECT l.quantity, p.title FROM orderlines l JOIN products p ON p.prod_id = l.prod_id WHERE l.orderid = $1',
	'SELECT p.*, i.quan_in_stock FROM products p JOIN inventory i ON i.prod_id = p.prod_id WHERE p.prod_id = $1',
	'SELECT * FROM products WHERE category = $1 AND special = 1 LIMIT 12',
	'SELECT * FROM products WHERE category = $1 ORDER BY title LIMIT 10',
	'SELECT * FROM reviews WHERE prod_id = $1 ORDER BY written DESC LIMIT 5',
	-- these are for views
	'SELECT * FROM customers WHERE gender = $1',
	'SELECT * FROM products WHERE title LIKE $1',
	'SELECT * FROM orders ORDER BY netamount DESC LIMIT 10',
	'SELECT * FROM orders WHERE customerid = $1 ORDER BY netamount DESC LIMIT 10',
	'SELECT * FROM products WHERE category = $1 AND actor = $2 AND title LIKE $3',
	'SELECT count(*) FROM orders WHERE customerid = $1',
	'SELECT o.* FROM orders o JOIN customers c ON c.customerid = o.customerid WHERE c.gender = $1 ORDER BY o.orderdate DESC LIMIT 20',
	-- these are not of one collection
	'SELECT * FROM customers c, orders o WHERE c.customerid = $1 AND o.customerid = $2']);
-- Only what is asked, and what a cascade looks up, is in an index; the rest is said, and so are columns that look like foreign keys.
SELECT said('^\t.*("PK": "|"partition_key")|No question|^-- \?');
-- Keys are sorted by the date; a parent is behind its children; no password, no gender and no flag is in a key.
SELECT said('^-- GSI');
SELECT said('^-- (Q[0-9]| *\||Query|---)');
CALL dyn_migrate('shop');
SELECT * FROM dyn_verify_migration('shop');
-- Each reads what it returns, at most its limit, and what a flag leaves out.
SELECT * FROM explained('items.shop', '{"username": "user7", "customerid": "1", "orderdate_from": "2024-03-01", "orderdate_to": "2024-03-10",
	"orderid": "9", "orderlineid_to": "0003", "prod_id": "9", "category": "9", "special": "1", "actor": "Actor 9"}');
-- and that is right: the bounds of a range are in it or not, as the question says, and the latest come first, after the customer
SELECT count(*) FILTER (WHERE orderdate BETWEEN '2024-03-01' AND '2024-03-10'), count(*) FILTER (WHERE orderdate > '2024-03-01' AND orderdate <
	'2024-03-10')
	FROM orders WHERE customerid = 1;
SELECT count(*), min(item ->> 'orderdate'), max(item ->> 'orderdate') FROM dyn_run_access_pattern('items.shop', 'Q3_orders', '{"customerid": {"N":
	"1"},
	"orderdate_from": {"S": "2024-03-01"}, "orderdate_to": {"S": "2024-03-10"}}') item;
SELECT count(*), min(item ->> 'orderdate'), max(item ->> 'orderdate') FROM dyn_run_access_pattern('items.shop', 'Q4_orders', '{"customerid": {"N":
	"1"},
	"orderdate_from": {"S": "2024-03-01"}, "orderdate_to": {"S": "2024-03-10"}}') item;
SELECT count(*) FILTER (WHERE item ->> 'Type' = 'customers'), string_agg(item ->> 'orderdate', ',') = (SELECT string_agg(orderdate::text, ',')
	FROM (SELECT orderdate FROM orders WHERE customerid = 1 ORDER BY orderdate DESC LIMIT 20) o)
	FROM dyn_run_access_pattern('items.shop', 'Q2_orders', '{"customerid": {"N": "1"}}') item;
-- Items of an owner that is named have their own key in an index if a question asks by it, and a date that may be NULL is no sort key of all items.
SELECT line FROM dyn_propose_migration('items.x', '{customers,orders}', '{"orders": "customers"}', ARRAY['SELECT * FROM orders WHERE customerid = $1',
	'SELECT * FROM orders WHERE customerid = $1 ORDER BY orderdate DESC LIMIT 5']) p, regexp_split_to_table(p, '\n') line
	WHERE line ~ '"PK": "ORD|No question|^-- (Q[0-9]|Query)';
SELECT line FROM dyn_propose_migration('items.x', '{customers,orders}', '{"orders": "customers"}', ARRAY['SELECT * FROM orders WHERE orderid = $1']) p,
	regexp_split_to_table(p, '\n') line WHERE line ~ '"PK": "CUSTOMERS#.*ORDERS|No question|^-- (Q[0-9]|Query)';
ALTER TABLE orders ADD shipped date;
UPDATE orders SET shipped = orderdate + 3 WHERE orderid % 2 = 0;
SELECT line FROM dyn_propose_migration('items.x', '{customers,orders}', queries => ARRAY['SELECT * FROM orders WHERE customerid = $1 AND shipped > $2',
	'SELECT * FROM orders WHERE customerid = $1', 'SELECT * FROM orders WHERE customerid = $1 ORDER BY shipped DESC LIMIT 5']) p,
	regexp_split_to_table(p, '\n') line WHERE line ~ '"PK": "ORD|No question|^-- (Q[0-9]|Query)';
-- Of a table without rows nothing is known, so it may be large.
CREATE TABLE empty (id int PRIMARY KEY, customerid int NOT NULL REFERENCES customers, kind text NOT NULL, at timestamptz NOT NULL, n int NOT NULL);
SELECT line FROM dyn_propose_migration('items.x', '{customers,empty}', queries => ARRAY['SELECT * FROM empty WHERE customerid = $1 AND kind = $2',
	'SELECT * FROM empty WHERE kind = $1 ORDER BY at DESC LIMIT 5', 'SELECT max(n) FROM empty WHERE customerid = $1']) p,
	regexp_split_to_table(p, '\n') line WHERE line ~ '"PK": "EMPTY|No question|^-- (Q[0-9]|Query)';
-- The largest collection decides, not the average one.
CREATE TABLE skewed (id int PRIMARY KEY, kind text NOT NULL, n int NOT NULL);
INSERT INTO skewed SELECT i, CASE WHEN i <= 300 THEN 'common' ELSE 'k' || i END, -i FROM generate_series(1, 1000) i;
SELECT line FROM dyn_propose_migration('items.x', '{skewed}', queries => ARRAY['SELECT * FROM skewed WHERE kind = $1',
	'SELECT * FROM skewed WHERE kind = $1 ORDER BY n LIMIT 5']) p, regexp_split_to_table(p, '\n') line WHERE line ~ '^-- Q';
-- Without questions all foreign keys have their places.
SELECT count(*) FROM dyn_propose_migration('items.x', '{shop.*}', queries => '{}') p, regexp_split_to_table(p, '\n') line
	WHERE line ~ '^-- GSI.: (all of one|by its own)' OR line ~ 'No question';

-- a larger schema, like AdventureWorks: orders have eight foreign keys
CREATE TABLE person (businessentityid int PRIMARY KEY, lastname text NOT NULL);
CREATE TABLE emailaddress (businessentityid int REFERENCES person, emailaddressid int, emailaddress text NOT NULL, PRIMARY KEY (businessentityid,
	emailaddressid));
CREATE TABLE salesterritory (territoryid int PRIMARY KEY, name text NOT NULL);
CREATE TABLE salesperson (businessentityid int PRIMARY KEY REFERENCES person, territoryid int REFERENCES salesterritory);
CREATE TABLE customer (customerid int PRIMARY KEY, personid int REFERENCES person, territoryid int REFERENCES salesterritory);
CREATE TABLE address (addressid int PRIMARY KEY, city text NOT NULL);
CREATE TABLE shipmethod (shipmethodid int PRIMARY KEY, name text NOT NULL);
CREATE TABLE creditcard (creditcardid int PRIMARY KEY, cardtype text NOT NULL);
CREATE TABLE currencyrate (currencyrateid int PRIMARY KEY, rate numeric NOT NULL);
CREATE TABLE salesorderheader (salesorderid int PRIMARY KEY, orderdate timestamp NOT NULL, status smallint NOT NULL, customerid int NOT NULL
	REFERENCES customer,
	salespersonid int REFERENCES salesperson, territoryid int REFERENCES salesterritory, billtoaddressid int NOT NULL REFERENCES address,
	shiptoaddressid int NOT NULL REFERENCES address, shipmethodid int NOT NULL REFERENCES shipmethod, creditcardid int REFERENCES creditcard,
	currencyrateid int REFERENCES currencyrate, totaldue numeric NOT NULL);
CREATE TABLE productsubcategory (productsubcategoryid int PRIMARY KEY, name text NOT NULL);
CREATE TABLE product (productid int PRIMARY KEY, name text NOT NULL, productsubcategoryid int REFERENCES productsubcategory);
CREATE TABLE productcosthistory (productid int REFERENCES product, startdate timestamp, standardcost numeric NOT NULL, PRIMARY KEY (productid,
	startdate));
CREATE TABLE salesorderdetail (salesorderid int REFERENCES salesorderheader ON DELETE CASCADE, salesorderdetailid int, productid int NOT NULL
	REFERENCES product,
	orderqty smallint NOT NULL, PRIMARY KEY (salesorderid, salesorderdetailid));
CREATE TABLE transactionhistory (transactionid int PRIMARY KEY, productid int NOT NULL REFERENCES product, transactiondate timestamp NOT NULL,
	quantity int NOT NULL);
CREATE TABLE vendor (businessentityid int PRIMARY KEY, name text NOT NULL);
CREATE TABLE productvendor (productid int REFERENCES product, businessentityid int REFERENCES vendor, price numeric NOT NULL,
	PRIMARY KEY (productid, businessentityid));
CREATE TABLE department (departmentid int PRIMARY KEY, name text NOT NULL);
CREATE TABLE employeedepartmenthistory (businessentityid int REFERENCES person, departmentid int REFERENCES department, startdate date, enddate date,
	PRIMARY KEY (businessentityid, startdate, departmentid));
INSERT INTO person SELECT i, 'Person ' || i FROM generate_series(1, 400) i;
INSERT INTO emailaddress SELECT i, n, format('p%s_%s@example.com', i, n) FROM generate_series(1, 400) i, generate_series(1, 2) n;
INSERT INTO salesterritory SELECT i, 'Territory ' || i FROM generate_series(1, 10) i;
INSERT INTO salesperson SELECT i, i % 10 + 1 FROM generate_series(1, 17) i;
INSERT INTO customer SELECT i, i + 100, i % 10 + 1 FROM generate_series(1, 300) i;
INSERT INTO address SELECT i, 'City ' || i % 40 FROM generate_series(1, 300) i;
INSERT INTO shipmethod SELECT i, 'Method ' || i FROM generate_series(1, 5) i;
INSERT INTO creditcard SELECT i, 'Card ' || i % 4 FROM generate_series(1, 200) i;
INSERT INTO currencyrate SELECT i, i * 0.1 FROM generate_series(1, 20) i;
INSERT INTO salesorderheader SELECT i, timestamp '2023-01-01' + (i * 37 % 700) * interval '1 day', 5, i % 300 + 1, CASE WHEN i % 3 = 0 THEN i % 17
	+ 1 END,
	i % 10 + 1, i % 300 + 1, i * 7 % 300 + 1, i % 5 + 1, i % 200 + 1, nullif(i % 21, 0), i * 1.5 FROM generate_series(1, 4000) i;
INSERT INTO productsubcategory SELECT i, 'Sub ' || i FROM generate_series(1, 37) i;
INSERT INTO product SELECT i, 'Product ' || i, nullif(i % 38, 0) FROM generate_series(1, 500) i;
INSERT INTO productcosthistory SELECT i, timestamp '2020-01-01' + n * interval '1 year', i + n FROM generate_series(1, 500) i, generate_series(1,
	4) n;
INSERT INTO salesorderdetail SELECT i, n, (i * n) % 500 + 1, n FROM generate_series(1, 4000) i, generate_series(1, 3) n;
INSERT INTO transactionhistory SELECT i, i % 20 + 1, timestamp '2024-01-01' + i * interval '1 hour', i % 9 FROM generate_series(1, 5000) i;
INSERT INTO vendor SELECT i, 'Vendor ' || i FROM generate_series(1, 30) i;
INSERT INTO productvendor SELECT i, i % 30 + 1, i FROM generate_series(1, 500) i;
INSERT INTO department SELECT i, 'Department ' || i FROM generate_series(1, 16) i;
INSERT INTO employeedepartmenthistory SELECT i, i % 16 + 1, date '2010-01-01' + i FROM generate_series(1, 290) i;

SELECT line FROM dyn_propose_migration('items.works',
	'{salesorderheader,customer,salesperson,salesterritory,address,shipmethod,creditcard,currencyrate}',
	queries => '{}') p, regexp_split_to_table(p, '\n') line WHERE line ~ '^\t.*"partition_key"';
CALL run_proposal('items.works',
	'{person,emailaddress,salesterritory,salesperson,customer,address,shipmethod,creditcard,currencyrate,salesorderheader,
	productsubcategory,product,productcosthistory,salesorderdetail,transactionhistory,vendor,productvendor,department,employeedepartmenthistory}',
	ARRAY[
	'SELECT * FROM person p JOIN emailaddress e USING (businessentityid) WHERE p.businessentityid = $1',
	'SELECT p.* FROM emailaddress e JOIN person p USING (businessentityid) WHERE e.emailaddress = $1',
	'SELECT * FROM customer c JOIN salesorderheader h USING (customerid) WHERE c.customerid = $1 ORDER BY h.orderdate DESC LIMIT 10',
	'SELECT * FROM salesorderheader h JOIN salesorderdetail d USING (salesorderid) WHERE h.salesorderid = $1',
	'SELECT d.orderqty, p.name FROM salesorderdetail d JOIN product p USING (productid) WHERE d.salesorderid = $1',
	'SELECT * FROM salesorderheader WHERE salespersonid = $1 AND orderdate >= $2 AND orderdate < $3',
	'SELECT * FROM productcosthistory WHERE productid = $1 ORDER BY startdate DESC LIMIT 1',
	'SELECT * FROM product WHERE productsubcategoryid = $1',
	'SELECT * FROM employeedepartmenthistory WHERE businessentityid = $1',
	'SELECT * FROM employeedepartmenthistory WHERE departmentid = $1 ORDER BY startdate DESC LIMIT 20',
	'SELECT * FROM transactionhistory WHERE productid = $1 AND transactiondate >= $2',
	'SELECT v.name, pv.price FROM productvendor pv JOIN vendor v USING (businessentityid) WHERE pv.productid = $1',
	'SELECT p.name, pv.price FROM productvendor pv JOIN product p USING (productid) WHERE pv.businessentityid = $1',
	'SELECT * FROM salesorderheader ORDER BY orderdate DESC LIMIT 10',
	'SELECT h.*, s.name, a.city, c.personid FROM salesorderheader h JOIN customer c USING (customerid) JOIN shipmethod s USING (shipmethodid)
		JOIN address a ON a.addressid = h.shiptoaddressid WHERE h.salesorderid = $1']);
SELECT said('^\t.*("PK": "|"partition_key")|No question');
SELECT said('^-- (Q[0-9]+ |Query|---)');
CALL dyn_migrate('works');
SELECT * FROM dyn_verify_migration('works');
SELECT * FROM explained('items.works', '{"businessentityid": "7", "emailaddress": "p7_2@example.com", "customerid": "7", "salesorderid": "77",
	"productid": "7",
	"salespersonid": "7", "orderdate_from": "2023-04-01T00:00:00.000000", "orderdate_to": "2023-07-01T00:00:00.000000", "productsubcategoryid": "7",
	"departmentid": "7", "transactiondate_from": "2024-06-01T00:00:00.000000", "shipmethodid": "1", "addressid": "7"}');
SELECT count(*) FROM salesorderheader WHERE salespersonid = 7 AND orderdate >= '2023-04-01' AND orderdate < '2023-07-01';
SELECT count(*) FROM transactionhistory WHERE productid = 7 AND transactiondate >= '2024-06-01';

-- The size of the table of items is estimated with the room that placement and btrees leave: within a tenth, here.
CREATE TABLE nutrient (nutr_no char(3) PRIMARY KEY, units text NOT NULL);
CREATE TABLE food (ndb_no char(5) PRIMARY KEY, long_desc text NOT NULL, n_factor float8);
CREATE TABLE food_data (ndb_no char(5) REFERENCES food, nutr_no char(3) REFERENCES nutrient, nutr_val float8 NOT NULL, num_data_pts float8 NOT NULL,
	std_error float8, src_cd int NOT NULL, PRIMARY KEY (ndb_no, nutr_no));
INSERT INTO nutrient SELECT lpad(i::text, 3, '0'), 'g' FROM generate_series(1, 136) i;
INSERT INTO food SELECT lpad(i::text, 5, '0'), 'Long ' || md5(i::text), 6.25 FROM generate_series(1, 700) i;
INSERT INTO food_data SELECT lpad(i::text, 5, '0'), lpad(n::text, 3, '0'), n * 1.37, i % 9, 0.1, 4 FROM generate_series(1, 700) i, generate_series(1, 36) n;
CALL run_proposal('items.food_items', '{nutrient,food,food_data}', ARRAY[]::text[]);
CALL dyn_migrate('food_items');
SELECT abs(substring(said, 'about ([0-9.]+) MB')::numeric * 1024 * 1024 / pg_total_relation_size('items.food_items') - 1) < 0.1 FROM said('^-- Size');

SET client_min_messages = error;
DROP SCHEMA shop, items CASCADE;
