-- dyn_detach(): a table of items becomes an ordinary table

-- of all types, with an index, time to live, a covering index, entities, a pattern
CREATE ROLE detach_owner;
GRANT CREATE ON SCHEMA public TO detach_owner;
SET ROLE detach_owner;
SELECT dyn_create_table('left', 'pk S', 'sk N', global_indexes => '{"GSI1": {"partition_key": "GSI1PK S", "sort_key": "At N"},
	"GSI2": {"partition_key": "At N", "covering": true}, "GSI3": {"partition_key": "At N", "projection": "KEYS_ONLY"},
	"GSI4": {"partition_key": "GSI1PK S", "covering": true}}');
COMMENT ON TABLE "left" IS 'kept';
GRANT SELECT (pk, item), INSERT ON "left" TO PUBLIC;
SELECT dyn_put('left', '{"pk": {"S": "a"}, "sk": {"N": "1"}, "S": {"S": ""}, "N": {"N": "12345678901234567890123456789012345678"}, "E": {"N": "1E-130"},
	"B": {"B": "AAEC"},
	"T": {"BOOL": true}, "0": {"NULL": true}, "L": {"L": [{"N": "1"}, {"S": "x"}]}, "M": {"M": {"a": {"SS": ["y", "z"]}}}, "SS": {"SS": ["b", "a"]},
	"NS": {"NS": ["2", "1.5"]},
	"BS": {"BS": ["AA=="]}, "quote\"\\u0000''": {"S": "\\u0000"}}');
SELECT dyn_put('left', '{"pk": {"S": "a"}, "sk": {"N": "2.5"}, "GSI1PK": {"S": "g"}, "At": {"N": "100"}}');
SELECT dyn_put('left', '{"pk": {"S": "\u0001"}, "sk": {"N": "-3"}, "GSI1PK": {"S": "g"}, "At": {"N": "50"}}');
CALL dyn_enable_ttl('left', 'At');
CREATE INDEX left_pk_lower ON "left" (lower(pk));
ALTER TABLE "left" ADD COLUMN seen date DEFAULT '2024-05-01', ADD CHECK (length(pk) < 10);
ALTER TABLE "left" ENABLE ROW LEVEL SECURITY;
CREATE POLICY all_rows ON "left" USING (pk <> 'hidden');
CREATE TABLE before AS SELECT pk, sk, "GSI1PK", "At", item::text AS exact, seen FROM "left";
CREATE TABLE plain AS SELECT pk, sk, item::jsonb AS item FROM "left";
CREATE TABLE identity AS SELECT oid, relowner, relacl, relname, relrowsecurity FROM pg_class WHERE relname = 'left';

-- a dry run changes nothing
SELECT regexp_replace(dyn_detach('left', dry_run => true), '[0-9]+ bytes', 'N bytes') AS plan;
SELECT amname, a.atttypid::regtype FROM pg_class c JOIN pg_am m ON m.oid = relam JOIN pg_attribute a ON attrelid = c.oid AND attname = 'item' WHERE relname =
	'left';
SELECT count(*) FROM dyn_scan('left');

-- plain JSON
SELECT count(*) > 5 AS done FROM dyn_detach('left');
SELECT amname, a.atttypid::regtype, a.attnotnull, obj_description(c.oid, 'pg_class') FROM pg_class c JOIN pg_am m ON m.oid = relam
	JOIN pg_attribute a ON attrelid = c.oid AND attname = 'item' WHERE relname = 'left';
SELECT i.* FROM identity i EXCEPT SELECT oid, relowner, relacl, relname, relrowsecurity FROM pg_class WHERE relname = 'left';
SELECT attacl FROM pg_attribute WHERE attrelid = '"left"'::regclass AND attname = 'item';
SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = '"left"'::regclass ORDER BY indexrelid::regclass::text COLLATE "C";
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = '"left"'::regclass AND contype <> 'n' ORDER BY conname;
SELECT tgname FROM pg_trigger WHERE tgrelid = '"left"'::regclass;
SELECT provider, label FROM pg_seclabel WHERE objoid = '"left"'::regclass;
SELECT attname FROM pg_attribute WHERE attrelid = '"left"'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum;
-- each row
SELECT count(*) AS same FROM "left" JOIN plain USING (pk, sk, item);
SELECT count(*) AS same FROM "left" l JOIN before b USING (pk, sk, seen) WHERE l."GSI1PK" IS NOT DISTINCT FROM b."GSI1PK" AND l."At" IS NOT DISTINCT
	FROM b."At";
SELECT item FROM "left" WHERE sk = 1;
-- it is read and written as any table
INSERT INTO "left" (pk, sk, item) VALUES ('new', 1, '{"pk": "new", "sk": 1}');
INSERT INTO "left" (item) VALUES ('{"pk": "new", "sk": 2}');
INSERT INTO "left" (pk, sk, item) VALUES ('a', 1, '{}');
UPDATE "left" SET item = item || '{"Name": "n"}' WHERE pk = 'new' RETURNING pk, sk, item;
DELETE FROM "left" WHERE pk = 'new';
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM "left" WHERE pk = 'a' AND sk < 2 ORDER BY sk;
EXPLAIN (COSTS OFF) SELECT * FROM "left" WHERE "GSI1PK" = 'g' AND "At" IS NOT NULL ORDER BY "At";
RESET enable_seqscan;
-- it is no table of items
SELECT dyn_get('left', '{"pk": {"S": "a"}, "sk": {"N": "1"}}');
SELECT dyn_detach('left');
DROP TABLE "left", plain, before, identity;

-- DynamoDB JSON is exact, and has U+0000, which jsonb and text cannot have
SELECT dyn_create_table('exact', 'pk S');
SELECT dyn_put('exact', '{"pk": {"S": "a"}, "Z": {"S": "x\u0000y"}, "SS": {"SS": ["b", "a"]}, "B": {"B": "AAEC"}, "N": {"N": "9.99E125"}}');
SELECT dyn_put('exact', '{"pk": {"S": "b"}, "Z": {"S": "\\u0000"}}');
CREATE TABLE before AS SELECT pk, item::text AS exact FROM exact;
SELECT dyn_detach('exact');
SELECT line FROM dyn_detach('exact', dry_run => true) line LIMIT 1;
SELECT count(*) > 0 AS done FROM dyn_detach('exact', 'dynamodb');
SELECT count(*) AS same FROM exact JOIN before ON exact.pk = before.pk AND item::text = exact;
SELECT item, pg_typeof(item), item::text::dyn_item ->> 'pk' AS again FROM exact ORDER BY pk;
DROP TABLE exact, before;

-- typed columns by entity, and the views of entities over them
SELECT dyn_create_table('shop', 'pk S', 'sk S',
	global_indexes => '{"GSI1": {"partition_key": "GSI1PK S", "sort_key": "GSI1SK S"}, "ByEmail": {"partition_key": "Email S"}}');
SELECT dyn_create_entity('shop', 'Customer', '{"pk": "CUST#<Email>", "sk": "CUST"}',
	'{"Email": "S text", "Name": "S text", "Since": {"type": "S timestamptz(3)", "stored": "s"}, "Tags": "SS text[]", "Photo": "B bytea", "Age": "N integer",
		"Key": "S text"}');
SELECT dyn_create_entity('shop', 'Order', '{"pk": "CUST#<Email>", "sk": "ORDER#<Number:05>", "GSI1PK": "STATUS#<Status>", "GSI1SK": "<At>"}',
	'{"Email": "S text", "Number": "N integer", "Status": "S text", "At": "S text", "Lines": "L jsonb", "Key": "S uuid", "item": "S text", "Paid": "BOOL"}');
SELECT dyn_create_entity('shop', 'Note', '{"pk": "NOTE#<Id>", "sk": "NOTE"}', '{"Id": "S text", "Text": "S text"}', type_attribute => NULL);
SELECT dyn_create_access_pattern('shop', 'orders', 'Query',
	'{"KeyConditionExpression": "pk = :pk", "ExpressionAttributeValues": {":pk": {"S": "CUST#<Email>"}}}', 'Order', notes => e'a\n; DROP TABLE shop');
SELECT dyn_enforce_entities('shop');
SELECT dyn_put_entity('shop', 'Customer',
	'{"Email": {"S": "a@x"}, "Name": {"S": "Ada"}, "Since": {"S": "2024-05-01T10:00:00.123Z"}, "Tags": {"SS": ["v", "w"]}, "Age": {"N": "36"}, "Key": {"S": "k"},
	"more": {"M": {"a": {"L": [{"N": "1"}]}}}}');
SELECT dyn_put_entity('shop', 'Order', '{"Email": "a@x", "Number": 1, "Status": "OPEN", "At": "2024", "Lines": [{"q": 1}, {"q": 2}],
	"Key": "00000000-0000-0000-0000-000000000001", "item": "i", "Paid": true}'::jsonb);
SELECT dyn_put_entity('shop', 'Order', '{"Email": "a@x", "Number": 2}'::jsonb);
SELECT dyn_put_entity('shop', 'Note', '{"Id": "n1", "Text": "note"}'::jsonb);
SELECT dyn_enforce_entities('shop', false);
-- values that a column holds in another form or not exactly stay in the item too
SELECT dyn_put('shop', '{"pk": {"S": "CUST#f"}, "sk": {"S": "CUST"}, "Type": {"S": "Customer"}, "Email": {"S": "f"},
	"s": {"S": "2024-05-01T10:00:00.1234567Z"}}');
SELECT dyn_put('shop', '{"pk": {"S": "CUST#g"}, "sk": {"S": "CUST"}, "Type": {"S": "Customer"}, "Email": {"S": "g"},
	"s": {"S": "2024-05-01T12:00:00.100+02:00"}}');
SELECT dyn_put('shop', '{"pk": {"S": "CUST#h"}, "sk": {"S": "CUST"}, "Type": {"S": "Customer"}, "Email": {"S": "h"}, "s": {"S": "2024-05-01T10:00:00.000Z"},
	"Tags": {"L": [{"S": "v"}]}}');
SELECT dyn_put('shop', '{"pk": {"S": "\u0001"}, "sk": {"S": "1"}}');
-- of no entity; and a value that is not of the declared type
SELECT dyn_put('shop', '{"pk": "other", "sk": "1", "Age": "old", "Email": "b@x", "Name": "B"}'::jsonb);
SELECT dyn_create_entity_view('shop', 'Customer');
SELECT dyn_create_entity_view('shop', 'Order', 'order''s "view"');
SELECT dyn_create_entity_view('shop', 'Order', index_name => 'GSI1');
SELECT dyn_create_entity_view('shop', 'Order', unnest => 'Lines');
SELECT dyn_create_entity_view('shop', 'Customer', unnest => 'Tags');
SELECT dyn_create_entity_view('shop', 'Note');
ALTER VIEW "Note" RENAME COLUMN "Text" TO body;
CREATE VIEW names AS SELECT "Name" FROM "Customer";
GRANT SELECT ON "Customer" TO PUBLIC;
CREATE TABLE views AS SELECT oid, relname, relacl, reloptions FROM pg_class WHERE relkind = 'v' AND relowner = 'detach_owner'::regrole;
CREATE TABLE customers AS SELECT * FROM "Customer";
CREATE TABLE orders AS SELECT * FROM "order's ""view""";
CREATE TABLE before AS SELECT pk, sk, item::jsonb AS item FROM shop;
-- these views depend on the items; plain JSON would not do for them
SELECT dyn_detach('shop');
\pset format unaligned
SELECT regexp_replace(dyn_detach('shop', 'columns', dry_run => true), '[0-9]+ bytes', 'N bytes') AS plan;
\pset format aligned
SELECT count(*) > 0 AS done FROM dyn_detach('shop', format => 'columns');
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'shop'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum;
SELECT pk, sk, "Type", entity, item AS rest FROM shop ORDER BY pk, sk;
SELECT pk, sk, "Name", s AT TIME ZONE 'UTC' AS s, "Tags", "Age", "Key", "Key_2", "Lines", "Paid" FROM shop ORDER BY pk, sk;
-- nothing is lost
SELECT pk, sk FROM before EXCEPT SELECT pk, sk FROM shop;
SELECT pk, sk, k FROM before CROSS JOIN jsonb_object_keys(item) k WHERE NOT EXISTS (SELECT FROM shop d CROSS JOIN jsonb_each_text(to_jsonb(d) || d.item) e
	WHERE d.pk = before.pk AND d.sk = before.sk AND e.value IS NOT NULL AND (e.key = k OR e.key ~ ('_' || k || '$') OR k = 'item' AND e.key LIKE 'item_%'));
(TABLE customers EXCEPT ALL TABLE "Customer") UNION ALL (TABLE "Customer" EXCEPT ALL TABLE customers);
(TABLE orders EXCEPT ALL TABLE "order's ""view""") UNION ALL (TABLE "order's ""view""" EXCEPT ALL TABLE orders);
TABLE "Note";
TABLE names;
TABLE "Order_GSI1";
TABLE "Order_Lines" ORDER BY "position";
TABLE "Customer_Tags" ORDER BY "position";
TABLE views EXCEPT SELECT oid, relname, relacl, reloptions FROM pg_class;
SELECT regexp_replace(pg_get_viewdef('"Customer"'::regclass, 1000), '\mt\.', '', 'g');
-- views of a plain table can be written to as Postgres has it
UPDATE "Customer" SET "Age" = 37;
SELECT DISTINCT "Age" FROM shop WHERE sk = 'CUST';
INSERT INTO shop (pk, sk, "Type", "Email", "Name", item) VALUES ('CUST#c@x', 'CUST', 'Customer', 'c@x', 'C', '{}');
SELECT count(*) FROM "Customer";
DROP TABLE shop CASCADE;
DROP TABLE views, customers, orders, before;

-- what is in the way is listed, and nothing is changed
SELECT dyn_create_table('used', 'pk S', 'sk S', global_indexes => '{"GSI1": {"partition_key": "g S"}}');
SELECT dyn_put('used', '{"pk": "a", "sk": "1", "g": "x"}'::jsonb);
CREATE VIEW items AS SELECT item FROM used;
CREATE VIEW keys AS SELECT pk, sk FROM used;
CREATE VIEW U&"\000a; DROP TABLE used" AS SELECT item FROM used;
CREATE INDEX used_name ON used ((item ->> 'name'));
CREATE POLICY mine ON used USING (item ->> 'owner' = current_user);
ALTER TABLE used ADD CONSTRAINT named CHECK (item ? 'g'), ADD COLUMN more dyn_value, ADD COLUMN kind text GENERATED ALWAYS AS (item ->> 'kind') STORED;
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TRIGGER seen BEFORE UPDATE OF item ON used FOR EACH ROW EXECUTE FUNCTION nothing();
\set VERBOSITY default
SELECT dyn_detach('used');
\set VERBOSITY terse
SELECT line FROM dyn_detach('used', 'dynamodb', true) line WHERE line LIKE '-- Refused%';
SELECT count(*) FROM dyn_query('used', 'pk = :p', vals => '{":p": "a"}'::jsonb);
DROP TABLE used CASCADE;
DROP FUNCTION nothing;

-- a view whose items do not agree with the declaration would get other rows
SELECT dyn_create_table('wrong', 'pk S');
SELECT dyn_create_entity('wrong', 'E', '{"pk": "E#<Id>"}', '{"Id": "S text"}');
SELECT dyn_create_entity_view('wrong', 'E');
SELECT dyn_put('wrong', '{"pk": "E#2", "Id": "1", "Type": "E"}'::jsonb);
SELECT dyn_detach('wrong', 'columns');
SELECT count(*) FROM dyn_scan('wrong');
DROP TABLE wrong CASCADE;

-- a view that was changed by hand is made again unless it needs an item for more
SELECT dyn_create_table('changed', 'pk S');
SELECT dyn_create_entity('changed', 'E', '{"pk": "E#<Id>"}', '{"Id": "S text", "N": "N integer"}');
SELECT dyn_create_entity_view('changed', 'E');
SELECT dyn_put_entity('changed', 'E', '{"Id": "1", "N": 5}'::jsonb);
CREATE OR REPLACE VIEW "E" AS SELECT dynamo_internal.attribute(t.item, 'Id', 'S', NULL::text) AS "Id",
	dynamo_internal.attribute(t.item, 'N', 'N', NULL::integer) AS "N"
	FROM changed t WHERE dynamo_internal.is_entity(t.item,
		'{"entity": "E", "type_attribute": "Type", "type": "E", "keys": {"pk": "E#<Id>"}, "attributes": {"Id": "S"}}', t.pk) AND t.pk > 'A';
SELECT line FROM dyn_detach('changed', 'columns', true) line WHERE line LIKE '-- Refused%';
CREATE OR REPLACE VIEW "E" AS SELECT dynamo_internal.attribute(t.item, 'Id', 'S', NULL::text) AS "Id",
	dynamo_internal.attribute(t.item, 'N', 'N', NULL::integer) AS "N"
	FROM changed t WHERE dynamo_internal.is_entity('{"pk":{"S":"E#1"},"Id":{"S":"1"},"Type":{"S":"E"}}',
		'{"entity": "E", "type_attribute": "Type", "type": "E", "keys": {"pk": "E#<Id>"}, "attributes": {"Id": "S"}}', t.pk);
SELECT line FROM dyn_detach('changed', 'columns', true) line WHERE line LIKE '-- Refused%';
CREATE OR REPLACE VIEW "E" AS SELECT dynamo_internal.attribute(t.item, 'Id', 'S', NULL::text) AS "Id",
	dynamo_internal.attribute(t.item, 'N', 'N', NULL::integer) AS "N"
	FROM changed t WHERE dynamo_internal.is_entity(t.item,
		'{"entity": "E", "type_attribute": "Type", "type": "E", "keys": {"pk": "E#<Id>"}, "attributes": {"Id": "S"}}', t.pk) LIMIT 1;
SELECT line FROM dyn_detach('changed', 'columns', true) line WHERE line LIKE '-- Refused%';
CREATE OR REPLACE VIEW "E" AS SELECT dynamo_internal.attribute(t.item, 'Id', 'S', NULL::text) AS "Id",
	dynamo_internal.attribute(t.item, 'N', 'N', NULL::integer) AS "N"
	FROM changed t WHERE dynamo_internal.is_entity(t.item,
		'{"entity": "E", "type_attribute": "Type", "type": "E", "keys": {"pk": "E#<Id>"}, "attributes": {"Id": "S"}}', t.pk);
SELECT count(*) > 0 AS done FROM dyn_detach('changed', 'columns');
TABLE "E";
DROP TABLE changed CASCADE;

-- a migration that is followed
CREATE TABLE source (id int PRIMARY KEY);
SELECT dyn_create_table('target', 'pk S');
SELECT dyn_create_entity('target', 'E', '{"pk": "E#<Id>"}', '{"Id": "N integer"}');
SELECT dyn_create_migration('target', 'detach', '[{"entity": "E", "from": "source"}]');
SELECT dyn_follow_migration('detach');
SELECT dyn_detach('target');
SELECT dyn_follow_migration('detach', enabled => false);
SELECT count(*) > 0 AS done FROM dyn_detach('target');
DROP TABLE target, source;

-- temporary tables
CREATE TEMPORARY TABLE passing (item dyn_item NOT NULL, pk text COLLATE "C" PRIMARY KEY,
	CONSTRAINT dynamo_keys CHECK (dynamo_internal.keys_match(item, '{"pk S"}', pk))) USING dynamo_table;
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON passing FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S');
ALTER TABLE passing ENABLE ALWAYS TRIGGER "~dynamo_keys";
SELECT dyn_put('passing', '{"pk": "a"}'::jsonb);
SELECT count(*) > 0 AS done FROM dyn_detach('passing');
TABLE passing;
DROP TABLE passing;
-- a domain as the type of the item; foreign keys stay
CREATE DOMAIN small_item AS dyn_item CHECK (dyn_size(VALUE) < 5000);
CREATE TABLE referred (item small_item NOT NULL, pk text COLLATE "C" PRIMARY KEY,
	CONSTRAINT dynamo_keys CHECK (dynamo_internal.keys_match(item, '{"pk S"}', pk))) USING dynamo_table;
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON referred FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S');
ALTER TABLE referred ENABLE ALWAYS TRIGGER "~dynamo_keys";
SELECT dyn_put('referred', '{"pk": "a"}'::jsonb);
CREATE TABLE refers (pk text REFERENCES referred);
INSERT INTO refers VALUES ('a');
SELECT count(*) > 0 AS done FROM dyn_detach('referred');
DELETE FROM referred;
TABLE referred;
DROP TABLE refers, referred;
DROP DOMAIN small_item;
-- partitioned tables are refused
CREATE TABLE parts (item dyn_item NOT NULL, pk text COLLATE "C" NOT NULL, PRIMARY KEY (pk),
	CONSTRAINT dynamo_keys CHECK (dynamo_internal.keys_match(item, '{"pk S"}', pk))) PARTITION BY HASH (pk);
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON parts FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S');
SELECT dyn_detach('parts', dry_run => true);
DROP TABLE parts;

-- policies that hide rows from the owner hide none from the plan
SELECT dyn_create_table('hidden', 'pk S');
SELECT dyn_put('hidden', '{"pk": {"S": "a"}, "Z": {"S": "x\u0000y"}}');
ALTER TABLE hidden ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
SELECT count(*) FROM hidden;
\set VERBOSITY default
SELECT dyn_detach('hidden');
\set VERBOSITY terse
SELECT count(*) > 0 AS done FROM dyn_detach('hidden', 'dynamodb');
ALTER TABLE hidden NO FORCE ROW LEVEL SECURITY;
TABLE hidden;
DROP TABLE hidden;

-- views that people have written become ones of the columns too, whatever else is in them
SELECT dyn_create_table('written', 'pk S', 'sk S', global_indexes => '{"GSI1": {"partition_key": "g S"}}');
SELECT dyn_create_entity('written', 'Customer', '{"pk": "C#<Id>", "sk": "C", "g": "N#<Name>"}', '{"Id": "S text", "Name": "S text", "Tags": "L text[]"}');
SELECT dyn_put_entity('written', 'Customer', '{"Id": "1", "Name": "Ada", "Tags": ["x", "y"]}'::jsonb);
SELECT dyn_put_entity('written', 'Customer', '{"Id": "2", "Name": "Bo"}'::jsonb);
SELECT dyn_create_entity_view('written', 'Customer');
-- 16 and later print columns without the table's alias where there is one table
SELECT regexp_replace(substring(pg_get_viewdef('"Customer"'::regclass) FROM 'WHERE (.*);'), '([(]|, )(t[.])?(item|pk|sk|g)([,)])', '\1t.\3\4', 'g')
	AS is_customer,
	$$dynamo_internal.attribute(t.item, 'Id', 'S', NULL::text) AS "Id"$$ AS id,
	$$unnest(dynamo_internal.attribute(t.item, 'Tags', 'L', NULL::text[])) WITH ORDINALITY u (element, "position")$$ AS tags \gset
SELECT replace(:'is_customer', 't.sk)', 't.g)') AS swapped \gset
CREATE VIEW w_left AS SELECT :id, u.element FROM written t LEFT JOIN LATERAL :tags ON true WHERE :is_customer;
CREATE VIEW w_inner AS SELECT :id, u.element FROM written t JOIN LATERAL :tags ON u.element = 'x' WHERE :is_customer;
CREATE VIEW w_self AS SELECT :id, t2.sk FROM written t JOIN written t2 USING (pk) WHERE :is_customer;
CREATE VIEW w_right AS SELECT :id, t2.pk FROM written t RIGHT JOIN written t2 ON t.pk < t2.pk AND :is_customer;
CREATE VIEW w_sample AS SELECT :id FROM written t TABLESAMPLE BERNOULLI (0) WHERE :is_customer;
CREATE VIEW w_lock AS SELECT :id FROM written t WHERE :is_customer FOR UPDATE;
CREATE VIEW w_only AS SELECT :id FROM ONLY written t WHERE :is_customer ORDER BY 1 LIMIT 1;
CREATE VIEW w_cross AS SELECT :id, u.element FROM written t, :tags WHERE :is_customer;
CREATE VIEW w_collation AS SELECT dynamo_internal.attribute(t.item, 'Id', 'S', t.sk) AS "Id" FROM written t WHERE :is_customer;
CREATE VIEW w_inside AS WITH c AS (SELECT :id FROM written t WHERE :is_customer) SELECT pk, (SELECT max("Id") FROM c) AS last FROM written o
	WHERE EXISTS (SELECT FROM written t WHERE :is_customer AND t.pk = o.pk);
CREATE VIEW w_group WITH (security_barrier) AS SELECT 'C#' || dynamo_internal.attribute(t.item, 'Id', 'S', NULL::text) AS key, count(*) FROM written t
	GROUP BY 1;
-- not if they need an item for more
CREATE VIEW w_item AS SELECT :id, t.item IS NULL AS lacks FROM written t WHERE :is_customer;
CREATE VIEW w_outer AS SELECT :id, (SELECT dyn_size(t.item)) AS size FROM written t WHERE :is_customer;
CREATE VIEW w_check AS SELECT pk, :id FROM written t WHERE :is_customer WITH LOCAL CHECK OPTION;
\set VERBOSITY default
SELECT dyn_detach('written', 'columns');
\set VERBOSITY terse
DROP VIEW w_item, w_outer, w_check;
-- what would have other rows is an error
CREATE VIEW w_column AS SELECT :id FROM written t WHERE :swapped;
SELECT dyn_detach('written', 'columns');
DROP VIEW w_column;
CREATE VIEW w_bad AS SELECT :id FROM written t WHERE dynamo_internal.is_entity(t.item,
	'{"entity": "Customer", "keys": {"pk": "<Id><Id>"}, "attributes": {"Id": "S"}}', t.pk);
SELECT dyn_detach('written', 'columns');
DROP VIEW w_bad;
SELECT string_agg(format('CREATE TABLE before_%s AS TABLE %1$s', relname), '; ') AS copies,
	string_agg(format('SELECT %L AS view, (SELECT count(*) FROM %1$I) AS rows, (SELECT count(*) FROM (TABLE %1$I EXCEPT ALL TABLE before_%1$s) d) AS others',
	relname), ' UNION ALL ' ORDER BY relname) AS compare
	FROM pg_class WHERE relname ~ '^w_' AND relkind = 'v' \gset
:copies;
SELECT count(*) > 0 AS done FROM dyn_detach('written', 'columns');
:compare;
SELECT collation_name FROM information_schema.columns WHERE table_name = 'w_collation' AND column_name = 'Id';
-- 18 leaves out the alias where a name is clear without
SELECT replace(pg_get_viewdef('w_inside'::regclass), 'SELECT o.pk', 'SELECT pk') AS pg_get_viewdef;
SELECT reloptions FROM pg_class WHERE relname = 'w_group';
SELECT string_agg('before_' || relname, ', ') AS copies FROM pg_class WHERE relname ~ '^w_' AND relkind = 'v' \gset
DROP TABLE :copies;
DROP TABLE written CASCADE;

-- arguments, and rights
SELECT dyn_create_table('mine', 'pk S');
GRANT ALL ON mine TO PUBLIC;
SELECT dyn_detach(NULL);
SELECT dyn_detach('mine', 'xml');
SELECT dyn_detach('mine', NULL);
SELECT dyn_detach('mine', 'jsonb', NULL);
SELECT dyn_detach('nowhere');
RESET ROLE;
CREATE ROLE detach_other;
SET ROLE detach_other;
SELECT dyn_detach('mine');
SELECT dyn_detach('mine', dry_run => true);
RESET ROLE;

-- what is made again is made by the owner, who may not be able to
CREATE SCHEMA closed;
GRANT USAGE ON SCHEMA closed TO detach_owner;
SELECT dyn_create_table('closed.items', 'pk S', global_indexes => '{"G": {"partition_key": "At N", "covering": true}}');
SELECT dyn_create_entity('closed.items', 'E', '{"pk": "E#<Id>"}', '{"Id": "S text"}');
SELECT dyn_create_entity_view('closed.items', 'E');
ALTER TABLE closed.items OWNER TO detach_owner;
ALTER VIEW closed."E" OWNER TO detach_owner;
SELECT dyn_detach('closed.items', 'columns');
SELECT dyn_detach('closed.items');
GRANT CREATE ON SCHEMA closed TO detach_owner;
SELECT count(*) > 0 AS done FROM dyn_detach('closed.items', 'columns');
DROP SCHEMA closed CASCADE;

-- a superuser runs none of the owner's code with other rights than the owner's
SET ROLE detach_owner;
CREATE FUNCTION whoami(text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN IF current_user <> 'detach_owner' THEN RAISE 'runs as %', current_user;
	END IF; RETURN $1; END $$;
CREATE DOMAIN checked AS text CHECK (VALUE IS NULL OR whoami(VALUE) IS NOT NULL);
SELECT dyn_create_entity('mine', 'E', '{"pk": "E#<Id>"}', '{"Id": "S text", "D": "S checked"}');
CREATE INDEX ON mine (whoami(pk));
SELECT dyn_put('mine', '{"pk": "E#1", "Id": "1", "D": "d", "Type": "E"}'::jsonb);
-- a label is one line in the plan
SECURITY LABEL FOR dynamo_table ON TABLE mine IS
	e'{"entities": [{"entity": "E",\n "keys": {"pk": "E#<Id>"}, "type_attribute": "Type", "type": "E", "attributes": {"Id": {"type": "S text"}, "D": {"type": "S '
	'public.checked"}}}],\n"x":\n1}';
RESET ROLE;
SELECT line FROM dyn_detach('mine', 'columns') line WHERE line LIKE '-- Goes%';
SELECT * FROM mine;
SELECT current_user = session_user AS same, current_setting('search_path');

DROP TABLE mine;
DROP FUNCTION whoami CASCADE;
DROP DOMAIN checked;
REVOKE ALL ON SCHEMA public FROM detach_owner;
DROP ROLE detach_owner, detach_other;

-- where strings take backslashes for escapes, as 19 has none
SELECT current_setting('server_version_num')::int < 190000 AS other_strings \gset
\if :other_strings
SET standard_conforming_strings = off;
SET escape_string_warning = off;
\endif
SELECT dyn_create_table('strings', 'pk S');
SELECT dyn_create_entity('strings', 'E', '{"pk": "E#<Id>"}', '{"Id": "S text", "At": "S timestamptz"}');
SELECT dyn_put('strings', '{"pk": "E#1", "Id": "1", "At": "2024-01-02T03:04:05.120000Z", "Type": "E"}'::jsonb);
SELECT count(*) > 0 AS done FROM dyn_detach('strings', 'columns');
SELECT item, pk, "Id", "At" = '2024-01-02 03:04:05.12+00' AS same FROM strings;
DROP TABLE strings;
RESET standard_conforming_strings;
\if :other_strings
RESET escape_string_warning;
\endif

-- a btree that is made again is where it was
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE regress_detach LOCATION '';
SELECT dyn_create_table('spaced', 'pk S', global_indexes => '{"G": {"partition_key": "g S", "covering": true}}');
ALTER INDEX "spaced_G" SET TABLESPACE regress_detach;
SELECT count(*) > 0 AS done FROM dyn_detach('spaced');
SELECT pg_get_indexdef(c.oid), spcname FROM pg_class c LEFT JOIN pg_tablespace s ON s.oid = reltablespace WHERE relname = 'spaced_G';
DROP TABLE spaced;
DROP TABLESPACE regress_detach;
