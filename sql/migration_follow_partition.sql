-- Following partitioned tables, and single partitions
\pset format unaligned
SET client_min_messages = warning;
CREATE SCHEMA fp;
CREATE TABLE fp.customers (region text, id int, name text, PRIMARY KEY (region, id)) PARTITION BY LIST (region);
CREATE TABLE fp."cust EU" PARTITION OF fp.customers FOR VALUES IN ('eu');
CREATE TABLE fp.customers_rest PARTITION OF fp.customers DEFAULT;
CREATE TABLE fp.orders (id int, day date, region text, customer int, total numeric, PRIMARY KEY (id, day, region)) PARTITION BY RANGE (day);
CREATE TABLE fp.orders_1 PARTITION OF fp.orders FOR VALUES FROM ('2024-01-01') TO ('2024-02-01');
CREATE TABLE fp.orders_2 (gone int, total numeric, customer int, day date NOT NULL, region text NOT NULL, id int NOT NULL) PARTITION BY LIST (region);
ALTER TABLE fp.orders_2 DROP COLUMN gone;
CREATE TABLE fp.orders_2_eu (more int, region text NOT NULL, customer int, day date NOT NULL, id int NOT NULL, total numeric);
ALTER TABLE fp.orders_2_eu DROP COLUMN more;
ALTER TABLE fp.orders_2 ATTACH PARTITION fp.orders_2_eu FOR VALUES IN ('eu');
CREATE TABLE fp.orders_2_rest PARTITION OF fp.orders_2 DEFAULT;
ALTER TABLE fp.orders ATTACH PARTITION fp.orders_2 FOR VALUES FROM ('2024-02-01') TO ('2024-03-01');
SELECT dyn_create_table('fpt', 'pk S', 'sk S');
SELECT dyn_create_entity('fpt', 'Customer', '{"pk": "CUSTOMER#<Region>#<Id>", "sk": "#"}',
	'{"Region": {"type": "S text"}, "Id": {"type": "N integer"}, "Name": {"type": "S text"}, "Orders": {"type": "N bigint"}}');
SELECT dyn_create_entity('fpt', 'Order', '{"pk": "ORDER#<Id>", "sk": "<Day>#<Region>"}',
	'{"Id": {"type": "N integer"}, "Region": "S", "Day": {"type": "S date"}, "Total": {"type": "N numeric"}, "Name": {"type": "S text"}}');
SELECT dyn_create_entity('fpt', 'February', '{"pk": "EU#<Id>", "sk": "<Day>#<Region>"}',
	'{"Id": {"type": "N integer"}, "Region": "S", "Day": {"type": "S date"}, "Total": {"type": "N numeric"}}');
SELECT dyn_create_entity('fpt', 'Some', '{"pk": "SOME#<Id>", "sk": "<Day>#<Region>"}',
	'{"Id": {"type": "N integer"}, "Region": "S", "Day": {"type": "S date"}, "Total": {"type": "N numeric"}}');
SELECT dyn_create_migration('fpt', 'fp', '[
	{"entity": "Customer", "from": "fp.customers", "children": {"Orders": {"from": "fp.orders", "on": {"region": "region", "customer": "id"}, "as": "count"}}},
	{"entity": "Order", "from": "fp.orders",
		"parents": {"c": {"from": "fp.customers", "on": {"region": "region", "id": "customer"}, "attributes": {"Name": "name"}}}},
	{"entity": "February", "from": "fp.orders_2", "attributes": {"Total": "total * 2"}},
	{"entity": "Some", "from": "fp.orders_2_eu"}]');
SELECT dyn_follow_migration('fp');
SELECT tgrelid::regclass, count(*), string_agg(DISTINCT tgenabled::text, '') FROM pg_trigger WHERE tgname LIKE '~dynamo_follow%' GROUP BY 1
	ORDER BY 1::text COLLATE "C";
CREATE FUNCTION fp.shows(OUT item dyn_item) RETURNS SETOF dyn_item LANGUAGE sql AS 'SELECT item FROM fpt ORDER BY pk, sk';
CREATE FUNCTION fp.wrong(OUT source_row text, OUT difference text) RETURNS SETOF record LANGUAGE sql AS $$ SELECT source_row, difference
	FROM dyn_verify_migration('fp') $$;
-- by the parent, by a partition, by one in between
INSERT INTO fp.customers VALUES ('eu', 1, 'Ada'), ('us', 1, 'Grace');
INSERT INTO fp.orders VALUES (1, '2024-01-05', 'eu', 1, 5), (2, '2024-02-05', 'eu', 1, 6), (3, '2024-02-06', 'us', 1, 7);
INSERT INTO fp.orders_2 (id, day, region, customer, total) VALUES (4, '2024-02-07', 'eu', 1, 8), (5, '2024-02-08', 'asia', 2, 9);
INSERT INTO fp.orders_2_eu (id, day, region, customer, total) VALUES (6, '2024-02-09', 'eu', 1, 10);
INSERT INTO fp.customers_rest VALUES ('asia', 2, 'Linus');
SELECT * FROM fp.shows();
SELECT * FROM fp.wrong();
-- rows that move, and changes of parents in partitions
UPDATE fp.orders SET day = '2024-02-01' WHERE id = 1;
UPDATE fp.orders_2 SET region = 'us' WHERE id = 2;
UPDATE fp.orders SET day = '2024-01-31', region = 'us' WHERE id = 4;
UPDATE fp."cust EU" SET name = 'ADA';
UPDATE fp.customers SET region = 'eu' WHERE name = 'Linus';
UPDATE fp.orders SET region = 'eu' WHERE customer = 2;
SELECT * FROM fp.shows();
SELECT * FROM fp.wrong();
DELETE FROM fp.orders WHERE id = 5;
DELETE FROM fp.orders_2_eu WHERE id = 6;
MERGE INTO fp.orders o USING (VALUES (1), (7)) AS v (id) ON o.id = v.id WHEN MATCHED THEN UPDATE SET day = '2024-01-02' WHEN NOT MATCHED THEN INSERT
	VALUES (v.id, '2024-02-02', 'eu', 1, 3);
INSERT INTO fp.orders VALUES (7, '2024-02-02', 'eu', 1, 3) ON CONFLICT (id, day, region) DO UPDATE SET total = 4;
SELECT * FROM fp.wrong();
-- partitions come with triggers, and go without
CREATE TABLE fp.orders_3 PARTITION OF fp.orders FOR VALUES FROM ('2024-03-01') TO ('2024-04-01');
INSERT INTO fp.orders VALUES (8, '2024-03-02', 'eu', 1, 3);
INSERT INTO fp.orders_3 VALUES (9, '2024-03-03', 'us', 1, 3);
SELECT * FROM fp.wrong();
CREATE TABLE fp.orders_4 (customer int, total numeric, id int NOT NULL, day date NOT NULL, region text NOT NULL);
ALTER TABLE fp.orders ATTACH PARTITION fp.orders_4 FOR VALUES FROM ('2024-04-01') TO ('2024-05-01');
INSERT INTO fp.orders_4 (id, day, region, customer) VALUES (10, '2024-04-03', 'us', 1);
SELECT * FROM fp.wrong();
-- of an attached partition with rows, the rows are to be migrated; of a detached one, deleted before
CREATE TABLE fp.orders_5 AS SELECT 11 AS id, date '2024-05-05' AS day, 'eu'::text AS region, 1 AS customer, 4::numeric AS total;
ALTER TABLE fp.orders_5 ALTER id SET NOT NULL, ALTER day SET NOT NULL, ALTER region SET NOT NULL;
ALTER TABLE fp.orders ATTACH PARTITION fp.orders_5 FOR VALUES FROM ('2024-05-01') TO ('2024-06-01');
SELECT * FROM fp.wrong();
CALL dyn_migrate('fp');
SELECT * FROM fp.wrong();
DELETE FROM fp.orders_1;
ALTER TABLE fp.orders DETACH PARTITION fp.orders_1;
SELECT count(*) FROM pg_trigger WHERE tgname LIKE '~dynamo_follow_row%' AND tgrelid = 'fp.orders_1'::regclass;
INSERT INTO fp.orders_1 VALUES (12, '2024-01-01', 'eu', 1, 4);
SELECT * FROM fp.wrong();
TRUNCATE fp.orders_1;
TRUNCATE fp.orders_2_eu;
TRUNCATE fp.orders;
-- partitions that came later have no trigger for that: created, attached, with partitions of its own
CREATE TABLE fp.orders_6 PARTITION OF fp.orders FOR VALUES FROM ('2024-06-01') TO ('2024-07-01') PARTITION BY LIST (region);
CREATE TABLE fp.orders_6_eu PARTITION OF fp.orders_6 FOR VALUES IN ('eu');
INSERT INTO fp.orders VALUES (13, '2024-06-02', 'eu', 1, 3);
TRUNCATE fp.orders_3;
TRUNCATE fp.customers_rest, fp.orders_4;
TRUNCATE fp.orders_6;
TRUNCATE fp.orders_6_eu;
CREATE ROLE regress_part_reader;
GRANT USAGE ON SCHEMA fp TO regress_part_reader;
SET ROLE regress_part_reader;
TRUNCATE fp.orders_3;
RESET ROLE;
ALTER TABLE fp.orders DETACH PARTITION fp.orders_3;
TRUNCATE fp.orders_3;
ALTER TABLE fp.orders ATTACH PARTITION fp.orders_3 FOR VALUES FROM ('2024-03-01') TO ('2024-04-01');
SELECT * FROM fp.wrong();
CALL dyn_migrate('fp');
DELETE FROM fpt WHERE pk IN ('ORDER#8', 'ORDER#9', 'ORDER#1', 'EU#1', 'SOME#1') AND NOT EXISTS (SELECT FROM fp.orders o WHERE pk = 'ORDER#' || o.id);
-- with triggers of their own all of them are refused by all sessions
BEGIN;
SELECT dyn_follow_migration('fp', enabled => false);
SELECT dyn_follow_migration('fp');
COMMIT;
SELECT * FROM fp.wrong();
SELECT c.relname FROM pg_class c WHERE relnamespace = 'fp'::regnamespace AND relispartition AND relkind IN ('r', 'p')
	AND NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = c.oid AND tgname LIKE '~dynamo_follow_truncate%') ORDER BY 1;
TRUNCATE fp.orders_3;
TRUNCATE fp.orders_6_eu;
-- what becomes of a whole partition is told
ALTER TABLE fp.orders DETACH PARTITION fp.orders_4;
DROP TABLE fp.orders_6;
CREATE TABLE fp.orders_7 AS SELECT 14 AS id, date '2024-07-05' AS day, 'eu'::text AS region, 1 AS customer, 4::numeric AS total;
ALTER TABLE fp.orders_7 ALTER id SET NOT NULL, ALTER day SET NOT NULL, ALTER region SET NOT NULL;
ALTER TABLE fp.orders ATTACH PARTITION fp.orders_7 FOR VALUES FROM ('2024-07-01') TO ('2024-08-01');
SELECT * FROM fp.wrong();
REVOKE ALL ON SCHEMA fp FROM regress_part_reader;
DROP ROLE regress_part_reader;
-- unwinding
SELECT dyn_follow_migration('fp', enabled => false);
SELECT count(*) FROM pg_trigger WHERE tgname LIKE '~dynamo_follow%';
-- a column that rows have by its default alone
CREATE TABLE fp.added (id int PRIMARY KEY) PARTITION BY RANGE (id);
CREATE TABLE fp.added_1 PARTITION OF fp.added FOR VALUES FROM (0) TO (10);
CREATE TABLE fp.added_2 (gone int, id int NOT NULL);
ALTER TABLE fp.added_2 DROP COLUMN gone;
ALTER TABLE fp.added ATTACH PARTITION fp.added_2 FOR VALUES FROM (10) TO (20);
INSERT INTO fp.added VALUES (1), (11);
ALTER TABLE fp.added ADD COLUMN day date NOT NULL DEFAULT '2024-01-01', ADD COLUMN region text NOT NULL DEFAULT 'eu', ADD COLUMN total numeric DEFAULT 7;
SELECT dyn_create_migration('fpt', 'fa', '[{"entity": "Some", "from": "fp.added"}]');
SELECT dyn_follow_migration('fa');
CALL dyn_migrate('fa');
SELECT item FROM fpt WHERE pk LIKE 'SOME#1%' ORDER BY pk, sk;
UPDATE fp.added SET total = 8 WHERE id = 11;
SELECT item FROM fpt WHERE pk LIKE 'SOME#1%' ORDER BY pk, sk;
DELETE FROM fp.added;
SELECT count(*) FROM fpt WHERE pk IN ('SOME#1', 'SOME#11');
SELECT dyn_follow_migration('fa', enabled => false);
-- owners: of the table of items, the table and each partition
CREATE ROLE regress_part_owner;
CREATE ROLE regress_part_other;
GRANT ALL ON SCHEMA fp TO regress_part_owner, regress_part_other;
CREATE TABLE fp.r (id int PRIMARY KEY, v text) PARTITION BY RANGE (id);
CREATE TABLE fp.r_1 PARTITION OF fp.r FOR VALUES FROM (0) TO (10);
CREATE TABLE fp.r_2 PARTITION OF fp.r FOR VALUES FROM (10) TO (20);
ALTER TABLE fp.r OWNER TO regress_part_owner;
ALTER TABLE fp.r_1 OWNER TO regress_part_owner;
ALTER TABLE fp.r_2 OWNER TO regress_part_other;
SET ROLE regress_part_owner;
SET search_path = fp, public;
SELECT dyn_create_table('rt', 'pk S');
SELECT dyn_create_entity('rt', 'R', '{"pk": "R#<Id>"}', '{"Id": {"type": "N integer"}, "V": {"type": "S text"}}');
SELECT dyn_create_migration('rt', 'fpr', '[{"entity": "R", "from": "r"}]');
SELECT dyn_follow_migration('fpr');
RESET ROLE;
SELECT dyn_follow_migration('fpr');
ALTER TABLE r_2 OWNER TO regress_part_owner;
SET ROLE regress_part_owner;
SELECT dyn_follow_migration('fpr');
INSERT INTO r VALUES (1, 'a'), (11, 'b');
RESET ROLE;
ALTER TABLE r_2 OWNER TO regress_part_other;
SET ROLE regress_part_other;
INSERT INTO r_2 VALUES (12, 'c');
RESET ROLE;
SET ROLE regress_part_owner;
SELECT dyn_follow_migration('fpr', enabled => false);
RESET ROLE;
SELECT dyn_follow_migration('fpr', enabled => false);
SELECT item FROM rt ORDER BY pk;
ALTER TABLE rt OWNER TO postgres;
RESET search_path;
-- what is not followed
CREATE FOREIGN DATA WRAPPER fp_none;
CREATE SERVER fp_none FOREIGN DATA WRAPPER fp_none;
CREATE TABLE fp.c (id int, r int) PARTITION BY RANGE (r);
CREATE FOREIGN TABLE fp.c_1 PARTITION OF fp.c FOR VALUES FROM (20) TO (30) SERVER fp_none;
SELECT dyn_create_entity('fp.rt', 'C', '{"pk": "C#<Id>"}', '{"Id": {"type": "N integer"}, "N": {"type": "N bigint"}}');
CREATE TABLE fp.d (id int PRIMARY KEY);
SELECT dyn_create_migration('fp.rt', 'fpc', '[{"entity": "C", "from": "fp.d", "children": {"N": {"from": "fp.c", "on": {"r": "id"}, "as": "count"}}}]');
SELECT dyn_follow_migration('fpc');
DROP FOREIGN DATA WRAPPER fp_none CASCADE;
CREATE TABLE fp.i (id int PRIMARY KEY, v text);
CREATE TABLE fp.i_1 () INHERITS (fp.i);
SELECT dyn_create_migration('fp.rt', 'fpr', '[{"entity": "R", "from": "fp.i"}]');
SELECT dyn_follow_migration('fpr');
DROP TABLE fpt;
DROP SCHEMA fp CASCADE;
DROP ROLE regress_part_owner;
DROP ROLE regress_part_other;
