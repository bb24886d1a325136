-- DDL on tables that a migration follows, and on the table of items (M27)
\pset format unaligned
SET client_min_messages = warning;
CREATE ROLE regress_target;
CREATE ROLE regress_source;
GRANT regress_source TO regress_target;
CREATE SCHEMA md;
CREATE SCHEMA "md's" AUTHORIZATION regress_target;
GRANT ALL ON SCHEMA md, public TO regress_source, regress_target;
SET ROLE regress_source;
CREATE TABLE md.customers (id int PRIMARY KEY, name text, spare text);
CREATE TABLE md.orders (id int PRIMARY KEY, customer_id int REFERENCES md.customers, total numeric, note text);
CREATE TABLE md."Order ""lines""" (id int PRIMARY KEY, "Order's" int REFERENCES md.orders, "product ""name""" text);
SET ROLE regress_target;
SELECT dyn_create_table('md''s.it"ems', 'pk S', 'sk S');
SELECT dyn_create_entity('md''s.it"ems', 'Customer', '{"pk": "CUSTOMER#<Id>", "sk": "#"}', '{"Id": "N integer", "Name": "S", "Spare": "S"}');
SELECT dyn_create_entity('md''s.it"ems', 'Order', '{"pk": "ORDER#<Id>", "sk": "#"}', '{"Id": "N integer", "CustomerName": "S", "Total": "N numeric", "Note": "S", "Products": "L text[]"}');
SELECT dyn_create_migration('md''s.it"ems', e'm\n''d', '[{"entity": "Customer", "from": "md.customers", "attributes": {"Spare": "upper(spare)"}},
	{"entity": "Order", "from": "md.orders", "attributes": {"Total": "total * 2"},
		"parents": {"c": {"from": "md.customers", "on": {"id": "customer_id"}, "attributes": {"CustomerName": "name"}}},
		"children": {"Products": {"from": "md.\"Order \"\"lines\"\"\"", "on": {"Order''s": "id"}, "as": "list", "value": "\"product \"\"name\"\"\""}}}]');
SELECT dyn_follow_migration(e'm\n''d');
CREATE FUNCTION "md's".followers() RETURNS bigint LANGUAGE sql AS $$ SELECT count(*) FROM pg_catalog.pg_trigger WHERE tgname LIKE '~dynamo_follow%' $$;
INSERT INTO md.customers VALUES (1, 'Ada', 's');
INSERT INTO md.orders VALUES (1, 1, 5, 'n');
INSERT INTO md."Order ""lines""" VALUES (1, 1, 'p');
SELECT item FROM "md's"."it""ems";
-- the table of items is not dropped while it is followed
DROP TABLE "md's"."it""ems";
SELECT dyn_drop_table('md''s.it"ems');
SELECT dyn_request('DeleteTable', '{"TableName": "md''s.it\"ems"}');
\set VERBOSITY terse
DROP SCHEMA "md's";
RESET ROLE;
DROP OWNED BY regress_target;
SET ROLE regress_target;
ALTER TABLE "md's"."it""ems" RENAME TO items;
SELECT dyn_drop_table('md''s.items');
DROP TABLE "md's".items;
SELECT dyn_request('DeleteTable', '{"TableName": "md''s.items"}');
\set VERBOSITY default
SELECT "md's".followers();
-- with CASCADE the triggers go too, and are listed
SET client_min_messages = notice;
BEGIN;
DROP TABLE "md's".items CASCADE;
SELECT "md's".followers();
INSERT INTO md.customers VALUES (2, 'Grace', 's');
ROLLBACK;
\set VERBOSITY terse
BEGIN;
DROP SCHEMA "md's" CASCADE;
ROLLBACK;
BEGIN;
RESET ROLE;
DROP OWNED BY regress_target CASCADE;
ROLLBACK;
\set VERBOSITY default
SET client_min_messages = warning;
-- sources go alone or with the table of items, and another role's may go
BEGIN;
SET ROLE regress_source;
DROP TABLE md."Order ""lines""", md.orders, md.customers;
SELECT count(*) FROM pg_trigger WHERE tgname LIKE '~dynamo_follow%';
SET ROLE regress_target;
DROP TABLE "md's".items;
ROLLBACK;
BEGIN;
DROP TABLE md."Order ""lines""", md.orders, md.customers, "md's".items;
ROLLBACK;
SET ROLE regress_source;
BEGIN;
RESET ROLE;
DROP OWNED BY regress_source;
ROLLBACK;
SELECT dyn_drop_table('md''s.items');
RESET ROLE;
-- a table that follows nothing, and one whose triggers only look like it
SELECT dyn_create_table('mdother', 'pk S');
SELECT dyn_drop_table('mdother');
SELECT dyn_create_table('mdother', 'pk S');
CREATE FUNCTION md.nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER "~dynamo_follow" AFTER INSERT ON mdother WHEN ('mdother'::regclass IS NOT NULL) EXECUTE FUNCTION md.nothing('x');
SELECT dyn_drop_table('mdother');
SELECT dyn_create_table('mdother', 'pk S');
CREATE TRIGGER "~dynamo_follow" AFTER INSERT ON md.orders WHEN ('mdother'::regclass IS NOT NULL) EXECUTE FUNCTION md.nothing('x');
SELECT dyn_drop_table('mdother');
DROP TRIGGER "~dynamo_follow" ON md.orders;
SELECT dyn_drop_table('mdother');
-- when it is followed no longer
SELECT dyn_unfollow_migration(e'm\n''d');
SELECT "md's".followers();
SELECT dyn_drop_table('md''s.items');
DROP SCHEMA md CASCADE;
DROP SCHEMA "md's" CASCADE;
DROP OWNED BY regress_source, regress_target;
DROP ROLE regress_source, regress_target;
