-- M32: items that must be one of the declared entities, whichever way they are written.
\set SHOW_CONTEXT never
SELECT dyn_create_table('shop', 'PK S', 'SK S', global_indexes => '{"GSI1": {"partition_key": "GSI1PK S", "sort_key": "GSI1SK S"}}');
-- nothing to enforce yet
SELECT dyn_enforce_entities('shop');
SELECT dyn_enforce_entities('shop', false);
SELECT dyn_create_entity('shop', 'Customer', '{"PK": "CUSTOMER#<Id>", "SK": "CUSTOMER#<Id>"}',
	'{"Id": "S", "Age": "N smallint", "Name": {"type": "S", "stored": "n"}}');
SELECT dyn_create_entity('shop', 'Order', '{"PK": "CUSTOMER#<Id>", "SK": "ORDER#<No:05>", "GSI1PK": [{"when": {"Open": true},
	"template": "OPEN"}], "GSI1SK": [{"when": {"Open": true}, "template": "<No:05>"}]}',
	'{"Id": "S", "No": "N integer", "Open": "BOOL", "Total": {"type": "N numeric(8,2)", "required": true}}');
SELECT dyn_create_entity('shop', 'Marker', '{"PK": "EMAIL#<Email>", "SK": "EMAIL#<Email>"}', '{"Email": "S"}', type_attribute => NULL);
-- off by default
SELECT dyn_put('shop', '{"PK":{"S":"x"},"SK":{"S":"y"}}');
SELECT tgname, tgenabled FROM pg_trigger WHERE tgrelid = 'shop'::regclass ORDER BY 1;
-- turning it on looks at no item that is there
SELECT dyn_enforce_entities('shop');
SELECT tgname, tgenabled FROM pg_trigger WHERE tgrelid = 'shop'::regclass ORDER BY 1;

-- what the entities make is accepted, and what a client makes in the same way
SELECT dyn_put_entity('shop', 'Customer', jsonb '{"Id": "ann", "Name": "Ann"}');
SELECT dyn_put('shop', jsonb '{"PK": "CUSTOMER#bob", "SK": "CUSTOMER#bob", "Type": "Customer", "Id": "bob", "Age": 7, "extra": []}');
SELECT dyn_put('shop', jsonb '{"PK": "EMAIL#a@b.c", "SK": "EMAIL#a@b.c", "Email": "a@b.c"}');
INSERT INTO shop (item) VALUES (jsonb '{"PK": "CUSTOMER#bob", "SK": "ORDER#00001", "Type": "Order", "Id": "bob", "No": 1, "Total": 9.5}');

-- of no entity: another type, a key that is of none
SELECT dyn_put('shop', jsonb '{"PK": "CUSTOMER#bob", "SK": "CUSTOMER#bob", "Type": "Client"}');
SELECT dyn_put('shop', jsonb '{"PK": "CUSTOMER#bob", "SK": "CUSTOMER#bob"}');
\set VERBOSITY sqlstate
SELECT dyn_put('shop', jsonb '{"PK": "EMAIL#a#b", "SK": "EMAIL#a#b", "Email": "a#b"}');
\set VERBOSITY default
-- of one, and wrong in it: a key, an index key, a type, a value, a name, something missing
SELECT dyn_put('shop', jsonb '{"PK": "CUSTOMER#bob", "SK": "CUSTOMER#ann", "Type": "Customer", "Id": "bob"}');
SELECT dyn_put('shop', jsonb '{"PK": "CUSTOMER#bob", "SK": "ORDER#00001", "Type": "Order", "Id": "bob", "No": 1, "Total": 1, "Open": true}');
SELECT dyn_put('shop', jsonb '{"PK": "CUSTOMER#bob", "SK": "ORDER#00001", "Type": "Order", "Id": "bob", "No": 1, "Total": 1,
	"GSI1PK": "OPEN", "GSI1SK": "00002"}');
SELECT dyn_put('shop', jsonb '{"PK": "CUSTOMER#bob", "SK": "CUSTOMER#bob", "Type": "Customer", "Id": "bob", "Age": 70000}');
SELECT dyn_put('shop', jsonb '{"PK": "CUSTOMER#bob", "SK": "CUSTOMER#bob", "Type": "Customer", "Id": "bob", "Age": "7", "Name": "Bob"}');
SELECT dyn_put('shop', jsonb '{"PK": "CUSTOMER#bob", "SK": "ORDER#1", "Type": "Order", "Id": "bob", "No": 1}');
SELECT dyn_put('shop', jsonb '{"PK": "CUSTOMER#bob", "SK": "ORDER#00001", "Type": "Order", "No": 1, "Total": 1000000}');
SELECT dyn_put('shop', jsonb '{"PK": "CUSTOMER#bob", "SK": "ORDER#00001", "Type": "Order", "Id": "bob", "No": 100000, "Total": 1}');

-- every way to write: SQL, COPY, updates, batches, transactions, requests
INSERT INTO shop (item) VALUES (jsonb '{"PK": "a", "SK": "b"}');
UPDATE shop SET item = jsonb '{"PK": "CUSTOMER#bob", "SK": "CUSTOMER#bob"}' WHERE "SK" = 'CUSTOMER#bob';
\copy shop (item) FROM STDIN
{"PK":{"S":"a"},"SK":{"S":"c"}}
\.
SELECT dyn_update('shop', jsonb '{"PK": "CUSTOMER#bob", "SK": "CUSTOMER#bob"}', 'SET Age = :a', vals => '{":a":{"S":"old"}}');
SELECT dyn_update('shop', jsonb '{"PK": "CUSTOMER#bob", "SK": "CUSTOMER#bob"}', 'SET Age = :a', vals => '{":a":{"N":"8"}}', return_values => 'ALL_NEW');
SELECT dyn_update('shop', jsonb '{"PK": "CUSTOMER#new", "SK": "CUSTOMER#new"}', 'SET Age = :a', vals => '{":a":{"N":"8"}}');
SELECT dyn_batch_write('shop', ARRAY['{"PK":{"S":"CUSTOMER#cid"},"SK":{"S":"CUSTOMER#cid"},"Type":{"S":"Customer"},"Id":{"S":"cid"}}',
	'{"PK":{"S":"a"},"SK":{"S":"d"}}']::dyn_item[]);
SELECT dyn_transact('[{"Put": {"TableName": "shop", "Item": {"PK":{"S":"CUSTOMER#cid"},"SK":{"S":"CUSTOMER#cid"},"Type":{"S":"Customer"},"Id":{"S":"cid"}}}},
	{"Put": {"TableName": "shop", "Item": {"PK":{"S":"a"},"SK":{"S":"d"}}}}]');
SELECT dyn_transact('[{"Put": {"TableName": "shop", "Item": {"PK":{"S":"CUSTOMER#cid"},"SK":{"S":"CUSTOMER#cid"},"Type":{"S":"Customer"},"Id":{"S":"cid"}}}}]');
SELECT dyn_request('PutItem', '{"TableName": "shop", "Item": {"PK":{"S":"a"},"SK":{"S":"e"}}}');
-- absence that is kept by a placeholder is no item; deletes and conditions go on
SELECT dyn_delete('shop', jsonb '{"PK": "none", "SK": "none"}', 'attribute_not_exists(PK)');
SELECT dyn_transact('[{"ConditionCheck": {"TableName": "shop", "Key": {"PK":{"S":"none"},"SK":{"S":"none"}},
	"ConditionExpression": "attribute_not_exists(PK)"}}]');
SELECT dyn_delete('shop', jsonb '{"PK": "x", "SK": "y"}', return_values => 'ALL_OLD');
-- the replica role writes no other items; who disables triggers has decided for himself
SET session_replication_role = replica;
INSERT INTO shop (item) VALUES (jsonb '{"PK": "a", "SK": "b"}');
RESET session_replication_role;
SELECT i ->> 'SK' FROM dyn_scan('shop') i ORDER BY 1;

-- another declaration counts at once, for this session too
SELECT dyn_create_entity('shop', 'Customer', '{"PK": "CUSTOMER#<Id>", "SK": "CUSTOMER#<Id>"}', '{"Id": "S", "Age": "S"}');
SELECT dyn_update('shop', jsonb '{"PK": "CUSTOMER#bob", "SK": "CUSTOMER#bob"}', 'SET Age = :a', vals => '{":a":{"S":"old"}}');
SELECT dyn_drop_entity('shop', 'Marker');
SELECT dyn_put('shop', jsonb '{"PK": "EMAIL#a@b.c", "SK": "EMAIL#a@b.c", "Email": "a@b.c"}');
BEGIN;
SELECT dyn_enforce_entities('shop', false);
SELECT dyn_put('shop', jsonb '{"PK": "a", "SK": "f"}');
ROLLBACK;
SELECT dyn_put('shop', jsonb '{"PK": "a", "SK": "f"}');
-- what a restore of data does to triggers changes nothing about what is enforced, and the next change of the table mends it
ALTER TABLE shop DISABLE TRIGGER ALL;
SELECT dyn_put('shop', jsonb '{"PK": "a", "SK": "f"}');
SELECT dyn_delete('shop', jsonb '{"PK": "a", "SK": "f"}');
ALTER TABLE shop ENABLE TRIGGER ALL;
SELECT dyn_put('shop', jsonb '{"PK": "a", "SK": "f"}');
SELECT tgname, tgenabled FROM pg_trigger WHERE tgrelid = 'shop'::regclass ORDER BY 1;
SELECT dyn_enforce_entities('shop');
SELECT tgname, tgenabled FROM pg_trigger WHERE tgrelid = 'shop'::regclass ORDER BY 1;
SELECT dyn_enforce_entities('shop', false);
SELECT dyn_put('shop', jsonb '{"PK": "a", "SK": "f"}');
SELECT dyn_delete('shop', jsonb '{"PK": "a", "SK": "f"}');
ALTER TABLE shop DISABLE TRIGGER ALL;
ALTER TABLE shop ENABLE TRIGGER ALL;
SELECT tgname, tgenabled FROM pg_trigger WHERE tgrelid = 'shop'::regclass ORDER BY 1;
SELECT dyn_put('shop', jsonb '{"PK": "a", "SK": "f"}');
SELECT dyn_delete('shop', jsonb '{"PK": "a", "SK": "f"}');
-- any change of the table
CALL dyn_enable_ttl('shop', 'until');
SELECT tgname, tgenabled FROM pg_trigger WHERE tgrelid = 'shop'::regclass ORDER BY 1;
ALTER TABLE shop DISABLE TRIGGER ALL;
SELECT dyn_alter_table('shop', '{"placement": false}');
SELECT tgname, tgenabled FROM pg_trigger WHERE tgrelid = 'shop'::regclass ORDER BY 1;
ALTER TABLE shop DISABLE TRIGGER ALL;
SELECT dyn_enforce_entities('shop', false);
SELECT tgname, tgenabled FROM pg_trigger WHERE tgrelid = 'shop'::regclass ORDER BY 1;
SELECT dyn_enforce_entities('shop');
-- the last entity does not go before it
SELECT dyn_drop_entity('shop', 'Order');
SELECT dyn_drop_entity('shop', 'Customer');
SELECT dyn_enforce_entities('shop', false);
SELECT dyn_drop_entity('shop', 'Customer');
SELECT dyn_put('shop', jsonb '{"PK": "a", "SK": "f"}');
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'shop'::regclass;

-- types with constraints and functions of their own, looked for by the declaration's search_path and no other
CREATE SCHEMA kinds;
CREATE TYPE kinds.mood AS ENUM ('good', 'bad');
CREATE DOMAIN kinds.even AS integer CHECK (VALUE % 2 = 0);
SET search_path = kinds, public;
SELECT dyn_create_entity('shop', 'Typed', '{"PK": "T#<Id>", "SK": "T"}',
	'{"Id": "S", "Mood": "S mood", "Even": "N even", "Net": "S inet", "When": "S timestamptz", "Moods": "SS mood[]", "Evens": "L even[]",
	"Code": "S varchar(3)"}');
RESET search_path;
SELECT attributes FROM dyn_entities('shop');
SELECT dyn_enforce_entities('shop');
CREATE SCHEMA evil;
CREATE TYPE evil.mood AS ENUM ('evil');
CREATE DOMAIN evil.text AS pg_catalog.text CHECK (VALUE = 'evil');
CREATE DOMAIN evil.timestamptz AS pg_catalog.text CHECK (VALUE = 'evil');
CREATE FUNCTION evil.model_check() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
SET search_path = evil, public, pg_catalog;
SELECT dyn_put_entity('public.shop', 'Typed', jsonb '{"Id": "1", "Mood": "good", "Even": 2, "Net": "10.0.0.0/8",
	"When": "2024-05-01T00:00:00Z", "Evens": [2, null, 4], "Code": "äöü"}');
SELECT dyn_put_entity('public.shop', 'Typed', jsonb_build_object('Id', '2') || v) FROM (VALUES (jsonb '{"Mood": "evil"}')) v(v);
SELECT dyn_put_entity('public.shop', 'Typed', jsonb '{"Id": "2", "Even": 3}');
SELECT dyn_put_entity('public.shop', 'Typed', jsonb '{"Id": "2", "Net": "ten"}');
SELECT dyn_put_entity('public.shop', 'Typed', jsonb '{"Id": "2", "When": "evil"}');
SELECT dyn_put_entity('public.shop', 'Typed', jsonb '{"Id": "2", "Evens": [2, 3]}');
SELECT dyn_put_entity('public.shop', 'Typed', jsonb '{"Id": "2", "Code": "long"}');
SELECT dyn_put_entity('public.shop', 'Typed', '{"Id":{"S":"2"},"Moods":{"SS":["good","evil"]}}');
SELECT dyn_enforce_entities('public.shop', false);
SELECT dyn_enforce_entities('public.shop');
RESET search_path;
-- the names of schemas and types may change; the declaration has the old ones, which is an error and not another type
\set SHOW_CONTEXT errors
ALTER SCHEMA kinds RENAME TO sorts;
SELECT dyn_put('shop', jsonb '{"PK": "T#3", "SK": "T", "Id": "3", "Type": "Typed"}');
ALTER SCHEMA sorts RENAME TO kinds;
\set SHOW_CONTEXT never
SELECT dyn_put('shop', jsonb '{"PK": "T#3", "SK": "T", "Id": "3", "Type": "Typed"}');

-- who is not the owner may not declare, and writes as he may
CREATE ROLE model_writer;
GRANT SELECT, INSERT, UPDATE, DELETE ON shop TO model_writer;
SET ROLE model_writer;
SELECT dyn_create_entity('shop', 'X', '{}', '{}');
SELECT dyn_drop_entity('shop', 'Typed');
SELECT dyn_enforce_entities('shop', false);
SELECT count(*) FROM dyn_entities('shop');
SELECT dyn_put_entity('shop', 'Typed', jsonb '{"Id": "4", "Mood": "bad"}');
SELECT dyn_put_entity('shop', 'Typed', jsonb '{"Id": "4", "Even": 5}');
SELECT dyn_get_entity('shop', 'Typed', jsonb '{"Id": "4"}');
RESET ROLE;
REVOKE ALL ON shop FROM model_writer;
SET ROLE model_writer;
SELECT dyn_put_entity('shop', 'Typed', jsonb '{"Id": "5"}');
SELECT dyn_get_entity('shop', 'Typed', jsonb '{"Id": "4"}');
SELECT dyn_update_entity('shop', 'Typed', jsonb '{"Id": "4"}', 'REMOVE Mood');
SELECT dyn_delete_entity('shop', 'Typed', jsonb '{"Id": "4"}');
RESET ROLE;
-- row-level security holds for items of entities too
GRANT SELECT, INSERT, UPDATE, DELETE ON shop TO model_writer;
CREATE POLICY own ON shop TO model_writer USING (item ->> 'Id' <> '1');
ALTER TABLE shop ENABLE ROW LEVEL SECURITY;
SET ROLE model_writer;
SELECT dyn_get_entity('shop', 'Typed', jsonb '{"Id": "1"}'), dyn_get_entity('shop', 'Typed', jsonb '{"Id": "4"}');
SELECT dyn_delete_entity('shop', 'Typed', jsonb '{"Id": "1"}', return_values => 'ALL_OLD');
SELECT dyn_update_entity('shop', 'Typed', jsonb '{"Id": "4"}', 'SET Mood = :m', vals => '{":m":{"S":"good"}}', return_values => 'ALL_NEW');
RESET ROLE;
DROP TABLE shop;
DROP OWNED BY model_writer;
DROP ROLE model_writer;

-- a trigger that others have written: what it declares is checked when it is read
SELECT dyn_create_table('forged', 'PK S');
CREATE TRIGGER "~dynamo_model_check" BEFORE INSERT OR UPDATE ON forged FOR EACH ROW EXECUTE FUNCTION dynamo_internal.model_check('{"entity": "B"}');
SELECT dyn_put('forged', jsonb '{"PK": "a"}');
SECURITY LABEL FOR dynamo_table ON TABLE forged IS '{"entities": [{"entity": "A", "keys": {"PK": "<B>"}, "attributes": {"B": "S", "C": 1}}]}';
SELECT * FROM dyn_entities('forged');
SELECT dyn_put('forged', jsonb '{"PK": "a"}');
SELECT dyn_create_entity('forged', 'A', '{"PK": "<PK>"}', '{"PK": "S"}', NULL);
SELECT dyn_put('forged', jsonb '{"PK": "a"}');
SECURITY LABEL FOR dynamo_table ON TABLE forged IS '{"entities": [{"nonsense": 1}]}';
SELECT dyn_put('forged', jsonb '{"PK": "a"}');
SELECT dynamo_internal.model_check();
CREATE TRIGGER after AFTER INSERT ON forged FOR EACH ROW EXECUTE FUNCTION dynamo_internal.model_check();
SELECT dyn_put('forged', jsonb '{"PK": "a"}');
DROP TRIGGER after ON forged;
DROP TRIGGER "~dynamo_model_check" ON forged;
SELECT dyn_put('forged', jsonb '{"PK": "b"}');
DROP TABLE forged;
DROP SCHEMA kinds, evil CASCADE;

-- items from before are no obstacle to an index or to time to live, which only fill columns: M32
SELECT dyn_create_table('before', 'PK S', 'SK S');
SELECT dyn_put('before', jsonb '{"PK": "x", "SK": "y", "G": "g", "until": 4000000000}');
SELECT dyn_create_entity('before', 'Customer', '{"PK": "CUSTOMER#<Id>", "SK": "CUSTOMER#<Id>"}', '{"Id": "S"}');
SELECT dyn_enforce_entities('before');
SET client_min_messages = warning;
CALL dyn_create_index('before', 'GSI1', 'G S');
CALL dyn_enable_ttl('before', 'until');
RESET client_min_messages;
SELECT dyn_query('before', 'G = :g', index_name => 'GSI1', vals => '{":g":{"S":"g"}}');
UPDATE before SET item = item;
UPDATE before SET item = jsonb '{"PK": "x", "SK": "y", "G": "h"}';
SELECT dyn_drop_table('before');
