-- Migrations: rows of relations to items (M27; D17, D18)
\pset format unaligned
SET client_min_messages = warning;
CREATE SCHEMA shop;
SET search_path = shop, public;

-- D17: a clothing shop in five tables
CREATE TABLE manufacturers (id int PRIMARY KEY, name text NOT NULL);
CREATE TABLE items (id int PRIMARY KEY, name text, manufacturer_id int REFERENCES manufacturers);
CREATE TABLE item_prices (id int PRIMARY KEY, item_id int REFERENCES items, size text, price numeric(10, 2));
CREATE TABLE categories (id int PRIMARY KEY, name text);
CREATE TABLE items_categories (item_id int REFERENCES items, category_id int REFERENCES categories, PRIMARY KEY (item_id, category_id));
INSERT INTO manufacturers VALUES (1, 'Nike'), (2, 'Adidas');
INSERT INTO items VALUES (1, 'Shirt', 1), (2, 'Cap', 2);
INSERT INTO item_prices VALUES (1, 1, 'M', 20), (2, 1, 'L', 22.5), (3, 2, NULL, 9.99);
INSERT INTO categories VALUES (1, 'Womens'), (2, 'T-shirt'), (3, 'Sportswear'), (4, 'Nebraska'), (5, 'Hats');
INSERT INTO items_categories VALUES (1, 1), (1, 2), (1, 3), (2, 4), (2, 5);
SELECT dyn_create_table('clothes', 'pk S', 'sk S');
SELECT dyn_create_entity('clothes', 'Item', '{"pk": "ITEM#<ItemId>", "sk": "#ITEM"}', '{"ItemId": {"type": "N integer", "required": true},
	"Name": {"type": "S text"}, "Manufacturer": {"type": "S text"}, "Categories": {"type": "SS text[]"}, "PriceCount": {"type": "N integer"},
	"Prices": {"type": "L jsonb"}, "BySize": {"type": "M jsonb"}, "Sizes": {"type": "L text[]"}}');
SELECT dyn_create_entity('clothes', 'Price', '{"pk": "ITEM#<ItemId>", "sk": "PRICE#<PriceId:05>"}', '{"ItemId": {"type": "N integer"},
	"PriceId": {"type": "N integer"}, "Size": {"type": "S text"}, "Price": {"type": "N numeric(10,2)"}, "Gross": {"type": "N numeric"}}');
SELECT dyn_create_entity('clothes', 'ItemCategory', '{"pk": "ITEM#<ItemId>", "sk": "CATEGORY#<CategoryId>"}', '{"ItemId": {"type": "N integer"},
	"CategoryId": {"type": "N integer"}, "Category": {"type": "S text"}}');
SELECT dyn_create_migration('clothes', 'shop', '[
	{"entity": "Item", "from": "items", "attributes": {"ItemId": "id"},
		"parents": {"m": {"from": "manufacturers", "on": {"id": "manufacturer_id"}, "attributes": {"Manufacturer": "name"}}},
		"children": {
			"Categories": {"from": "items_categories", "on": {"item_id": "id"}, "join": {"categories": {"id": "category_id"}}, "as": "set", "value": "categories.name"},
			"PriceCount": {"from": "item_prices", "on": {"item_id": "id"}, "as": "count"},
			"Prices": {"from": "item_prices", "on": {"item_id": "id"}, "as": "list", "value": {"Price": "price", "Size": "size"}},
			"Sizes": {"from": "item_prices", "on": {"item_id": "id"}, "as": "list", "value": "size", "order": ["price DESC"]},
			"BySize": {"from": "item_prices", "on": {"item_id": "id"}, "where": "size IS NOT NULL", "as": "map", "key": "size", "value": "price"}}},
	{"entity": "Price", "from": "item_prices", "attributes": {"PriceId": "id", "Gross": "round(src.price * 1.19, 2) -- with tax"}},
	{"name": "Links", "entity": "ItemCategory", "from": "items_categories",
		"parents": {"c": {"from": "categories", "on": {"id": "category_id"}, "attributes": {"Category": "c.name"}}}}]');
RESET search_path;
SET search_path = pg_catalog;
SELECT * FROM dynamo_internal.migration_steps();
SELECT * FROM public.dyn_jobs;
SELECT step, entity, source_row, item, problem FROM public.dyn_preview_migration('shop', 1);
SELECT count(*) FROM shop.clothes;
CALL public.dyn_migrate('shop');
SELECT item::text FROM shop.clothes ORDER BY pk, sk;
-- every join of the original is one query: an item with its prices and categories
SELECT item OPERATOR(public.->>) 'sk' FROM public.dyn_query('shop.clothes', 'pk = :p', vals => '{":p": {"S": "ITEM#1"}}') item;
SET client_min_messages = notice;
SELECT * FROM public.dyn_verify_migration('shop');
SET client_min_messages = warning;
-- again changes nothing
CREATE TABLE public.before AS SELECT ctid AS place, xmin AS writer, pk, sk FROM shop.clothes;
CALL public.dyn_migrate('shop', batch_size => 2);
SELECT count(*) FROM public.before b JOIN shop.clothes c ON c.ctid = b.place AND c.xmin = b.writer;
DROP TABLE public.before;
SELECT dense_rank() OVER (ORDER BY job) AS run, kind, name, relation, number, step, state, rows_done, rows_skipped, rows_expected, percent, problems,
	sessions, pids, followed FROM public.dyn_jobs;
RESET search_path;

-- D18: customers and orders, one of which belongs to nobody
CREATE TABLE shop.customers (customer_id int PRIMARY KEY, name text);
CREATE TABLE shop.orders (order_id int PRIMARY KEY, customer_id int, total numeric, at timestamptz);
INSERT INTO shop.customers VALUES (741, 'Ada'), (742, 'Grace');
INSERT INTO shop.orders VALUES (11578, 741, 12.50, '2024-05-01 12:00+02'), (11579, 910, 3, '2024-05-02 12:00+02');
SELECT dyn_create_table('crm', 'pk S', 'sk S');
SELECT dyn_create_entity('crm', 'Customer', '{"pk": "CUSTOMER#<CustomerId>", "sk": "#PROFILE"}',
	'{"CustomerId": {"type": "N integer"}, "Name": {"type": "S text"}}');
SELECT dyn_create_entity('crm', 'Order', '{"pk": "CUSTOMER#<CustomerId>", "sk": "ORDER#<OrderId>"}', '{"CustomerId": {"type": "N integer"},
	"OrderId": {"type": "N integer"}, "CustomerName": {"type": "S text"}, "Total": {"type": "N numeric"}, "At": {"type": "S timestamptz(0)"}}');
SELECT dyn_create_migration('crm', 'crm', '[{"entity": "Customer", "from": "shop.customers"},
	{"entity": "Order", "from": "shop.orders", "parents": {"c": {"from": "shop.customers", "on": {"customer_id": "customer_id"},
		"attributes": {"CustomerName": "name"}, "orphans": "skip"}}}]');
SELECT step, source_row, item, problem FROM dyn_preview_migration('crm', 0);
SELECT step, count(*), count(item) FROM dyn_preview_migration('crm', NULL) GROUP BY step ORDER BY step;
CALL dyn_migrate('crm');
SELECT item FROM crm ORDER BY pk, sk;
SELECT step, what, source_row, problem FROM dyn_job_problems WHERE name = 'crm';
SELECT * FROM dyn_verify_migration('crm');
-- kept, without what the parent would have given
SELECT dyn_create_migration('crm', 'crm', '[{"entity": "Customer", "from": "shop.customers"},
	{"entity": "Order", "from": "shop.orders", "where": "total > 0", "parents": {"c": {"from": "shop.customers", "on": {"customer_id": "customer_id"},
		"attributes": {"CustomerName": "name"}}}}]');
CALL dyn_migrate('crm', 'Order');
SELECT item FROM crm WHERE pk = 'CUSTOMER#910';
SELECT step, what, source_row FROM dyn_job_problems WHERE job = (SELECT max(job) FROM dyn_jobs WHERE name = 'crm');
SELECT * FROM dyn_verify_migration('crm');
SELECT step, state, rows_done, rows_skipped, problems FROM dyn_jobs WHERE name = 'crm' AND finished_at IS NULL;
-- the rest of it
CALL dyn_migrate('crm');
SELECT step, state, rows_done FROM dyn_jobs WHERE job = (SELECT max(job) FROM dyn_jobs WHERE name = 'crm');

-- a query as the source
SELECT dyn_create_entity('crm', 'Month', '{"pk": "MONTH#<Month>", "sk": "#TOTAL"}',
	'{"Month": {"type": "S text"}, "Total": {"type": "N numeric"}, "Orders": {"type": "N bigint"}}');
SELECT dyn_create_migration('crm', 'months',
	'[{"entity": "Month", "query": "SELECT to_char(at, ''YYYY-MM'') AS month, sum(total) AS total, count(*) AS orders FROM shop.orders GROUP BY 1",
	"key": ["month"]}]');
CALL dyn_migrate('months');
SELECT item FROM crm WHERE pk LIKE 'MONTH#%';
SELECT * FROM dyn_verify_migration('months');
SELECT dyn_drop_migration('months');
SELECT * FROM dyn_verify_migration('months');

-- a key of several columns, text and negative numbers among them, in batches of one
CREATE TABLE shop.places (country text COLLATE "C", n int, v text, PRIMARY KEY (country, n));
INSERT INTO shop.places SELECT c, n, c || n FROM unnest(ARRAY['de', 'a b', 'it''s', 'ü']) c, generate_series(-2, 2) n;
SELECT dyn_create_table('places', 'pk S', 'sk S');
SELECT dyn_create_entity('places', 'Place', '{"pk": "<Country>", "sk": "N#<N>"}',
	'{"Country": {"type": "S text"}, "N": {"type": "N integer"}, "V": {"type": "S text"}}');
SELECT dyn_create_migration('places', 'places', '[{"entity": "Place", "from": "shop.places"}]');
CALL dyn_migrate('places', batch_size => 1);
SELECT * FROM dyn_verify_migration('places');
SELECT count(*) FROM places;
DROP TABLE crm, places;
DROP SCHEMA shop CASCADE;
