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
SELECT dyn_create_entity('md''s.it"ems', 'Order', '{"pk": "ORDER#<Id>", "sk": "#"}',
	'{"Id": "N integer", "CustomerName": "S", "Total": "N numeric", "Note": "S", "Products": "L text[]"}');
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
-- tables that are followed change: the next write says which migration does not fit, and what to call
SET ROLE regress_target;
GRANT USAGE ON SCHEMA "md's" TO regress_source;
GRANT SELECT, INSERT, UPDATE, DELETE ON "md's".items TO regress_source;
SET ROLE regress_source;
BEGIN;
ALTER TABLE md."Order ""lines""" RENAME "product ""name""" TO "it's gone";
INSERT INTO md."Order ""lines""" VALUES (2, 1, 'p');
ROLLBACK;
\set VERBOSITY terse
\set SHOW_CONTEXT never
CREATE FUNCTION md.after(ddl text, write text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
BEGIN
	EXECUTE ddl;
	EXECUTE write;
	RAISE EXCEPTION USING errcode = 'P0001', message = 'written';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN sqlstate || ' ' || sqlerrm || coalesce(' | ' || nullif(detail, ''), '');
END $$;
SELECT md.after('ALTER TABLE md.orders RENAME note TO n', 'INSERT INTO md.orders VALUES (2, 1, 1)');
SELECT md.after('ALTER TABLE md.orders RENAME note TO n', 'DELETE FROM md.orders WHERE id = 77');
SELECT md.after('ALTER TABLE md.orders RENAME total TO t', 'UPDATE md.orders SET note = 7');
SELECT md.after('ALTER TABLE md.orders RENAME id TO i', 'INSERT INTO md.customers VALUES (2)');
SELECT md.after('ALTER TABLE md."Order ""lines""" RENAME "Order''s" TO x', 'INSERT INTO md.orders VALUES (2, 1, 1)');
SELECT md.after('ALTER TABLE md.customers RENAME name TO "na\me"', 'UPDATE md.customers SET spare = 1');
SELECT md.after('ALTER TABLE md.customers DROP spare', 'INSERT INTO md.customers VALUES (2)');
SELECT md.after('ALTER TABLE md.customers DROP name', 'INSERT INTO md.customers VALUES (2)');
SELECT md.after('ALTER TABLE md.orders DROP id CASCADE', 'INSERT INTO md.orders VALUES (1)');
SELECT md.after('ALTER TABLE md.orders ALTER total TYPE text', 'INSERT INTO md.orders VALUES (2, 1, 1)');
SELECT md.after('ALTER TABLE md.orders ALTER total TYPE bytea USING NULL', 'INSERT INTO md.orders VALUES (2, 1, NULL)');
SELECT md.after('ALTER TABLE md.orders ALTER total TYPE bigint', 'INSERT INTO md.orders VALUES (2, 1, 1)');
SELECT md.after('ALTER TABLE md."Order ""lines""" RENAME TO l', 'INSERT INTO md.l VALUES (2, 1, 1)');
SELECT md.after('ALTER TABLE md."Order ""lines""" SET SCHEMA public', 'INSERT INTO md.orders VALUES (2, 1, 1)');
SELECT md.after('ALTER TABLE md."Order ""lines""" SET SCHEMA public', 'INSERT INTO public."Order ""lines""" VALUES (2, 1, 1)');
SELECT md.after('DROP TABLE md."Order ""lines"""', 'INSERT INTO md.orders VALUES (2, 1, 1)');
SELECT md.after('ALTER TABLE md.customers RENAME TO c; CREATE TABLE md.customers (LIKE md.c INCLUDING ALL)', 'INSERT INTO md.c VALUES (2)');
SELECT md.after('ALTER TABLE md.customers RENAME TO c; CREATE TABLE md.customers (LIKE md.c INCLUDING ALL)', 'INSERT INTO md.orders VALUES (2, NULL, 1)');
SELECT md.after('ALTER TABLE md.orders ADD more int, ADD yet text DEFAULT 7, DROP customer_id CASCADE', 'INSERT INTO md.orders VALUES (2, 1)');
SELECT md.after('ALTER TABLE md.orders ADD more int, ADD yet text DEFAULT 7', 'INSERT INTO md.orders VALUES (2, 1)');
SELECT md.after('TRUNCATE md."Order ""lines"""', 'SELECT 1');
SELECT md.after('TRUNCATE md.customers CASCADE', 'SELECT 1');
-- the other functions of the migration say so too
RESET ROLE;
ALTER FUNCTION md.after(text, text) OWNER TO regress_target;
SET ROLE regress_target;
SELECT md.after('ALTER TABLE md.orders RENAME total TO t', $$SELECT dyn_verify_migration(e'm\n''d')$$);
SELECT md.after('ALTER TABLE md.orders RENAME id TO i', $$SELECT dyn_preview_migration(e'm\n''d')$$);
SELECT md.after('ALTER TABLE md.orders RENAME id TO i', $$SELECT dyn_follow_migration(e'm\n''d', enabled => false)$$);
BEGIN;
SELECT dyn_follow_migration(e'm\n''d', enabled => false);
SELECT md.after('ALTER TABLE md.orders RENAME total TO t', $$SELECT dyn_follow_migration(e'm\n''d')$$);
SELECT md.after('ALTER TABLE md.orders RENAME id TO i', $$SELECT dyn_follow_migration(e'm\n''d')$$);
\set VERBOSITY default
ALTER TABLE md.orders RENAME id TO i;
SELECT * FROM dyn_verify_migration(e'm\n''d');
ROLLBACK;
-- the table of items is one no longer, or lacks the entity
\set VERBOSITY terse
SELECT md.after('DROP TRIGGER "~dynamo_keys" ON "md''s".items', 'INSERT INTO md.customers VALUES (2)');
SELECT md.after('ALTER TABLE "md''s".items DROP item CASCADE', 'INSERT INTO md.customers VALUES (2)');
SELECT md.after($$SELECT dyn_drop_entity('md''s.items', 'Order')$$, 'INSERT INTO md.customers VALUES (2)');
-- a writer without privileges is told of these, and of nothing else
\set VERBOSITY default
SET ROLE regress_target;
REVOKE INSERT ON "md's".items FROM regress_source;
SET ROLE regress_source;
INSERT INTO md.customers VALUES (2);
RESET ROLE;
CREATE ROLE regress_nobody;
GRANT USAGE ON SCHEMA md TO regress_nobody;
GRANT INSERT ON md.customers TO regress_nobody;
SET ROLE regress_nobody;
INSERT INTO md.customers VALUES (2);
RESET ROLE;
ALTER TABLE md.customers RENAME spare TO other;
SET ROLE regress_nobody;
INSERT INTO md.customers VALUES (2);
RESET ROLE;
ALTER TABLE md.customers RENAME other TO spare;
REVOKE ALL ON SCHEMA md FROM regress_nobody;
REVOKE ALL ON md.customers FROM regress_nobody;
DROP ROLE regress_nobody;
-- new columns are no difference of items, and are reported
\set VERBOSITY terse
SET ROLE regress_target;
GRANT INSERT ON "md's".items TO regress_source;
SELECT * FROM dyn_verify_migration(e'm\n''d');
SET ROLE regress_source;
ALTER TABLE md.orders ADD more int, ADD "a""b
c" text, ADD gone text;
ALTER TABLE md.orders DROP gone;
ALTER TABLE md."Order ""lines""" ADD more int;
INSERT INTO md.orders VALUES (2, 1, 1, 'n', 4, 'five');
SET ROLE regress_target;
SELECT * FROM dyn_verify_migration(e'm\n''d');
-- declared again, the migration knows them
BEGIN;
SELECT dyn_follow_migration(e'm\n''d', enabled => false);
SELECT dyn_create_migration('md''s.items', e'm\n''d', '[{"entity": "Customer", "from": "md.customers"}]');
SELECT step, entity, source_row, key, difference FROM dyn_verify_migration(e'm\n''d') WHERE entity = 'Customer';
SELECT dyn_create_migration('md''s.items', e'm\n''d', '[{"entity": "Customer", "from": "md.customers", "columns": ["id", "no", "name"]}]');
SELECT step, entity, source_row, key, difference FROM dyn_verify_migration(e'm\n''d') WHERE entity = 'Customer';
SELECT dyn_create_migration('md''s.items', e'm\n''d', '[{"entity": "Customer", "query": "SELECT * FROM md.customers", "key": ["id"]}]');
SELECT step, entity, source_row, key, difference FROM dyn_verify_migration(e'm\n''d') WHERE entity = 'Customer';
SAVEPOINT s;
SELECT dyn_create_migration('md''s.items', e'm\n''d', '[{"entity": "Customer", "query": "SELECT * FROM md.customers", "key": ["id"], "columns": ["id"]}]');
ROLLBACK TO s;
SELECT dyn_create_migration('md''s.items', e'm\n''d', '[{"entity": "Customer", "from": "md.customers", "columns": [7]}]');
ROLLBACK TO s;
SELECT dyn_create_migration('md''s.items', e'm\n''d', '[{"entity": "Customer", "from": "md.customers", "columns": []}]');
ROLLBACK;
RESET ROLE;
\set VERBOSITY default
-- when it is followed no longer
SELECT dyn_follow_migration(e'm\n''d', enabled => false);
SELECT "md's".followers();
SELECT dyn_drop_table('md''s.items');
DROP SCHEMA md CASCADE;
DROP SCHEMA "md's" CASCADE;
DROP OWNED BY regress_source, regress_target;
DROP ROLE regress_source, regress_target;
