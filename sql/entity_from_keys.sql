-- Attributes that items have only in their keys: made by a refresh and by imports, and told of by views; docs/semantics.md, M29.
\pset format unaligned
SELECT dyn_create_table('app', 'pk S', 'sk S', global_indexes => '{"GSI1": {"partition_key": "GSI1PK S", "sort_key": "GSI1SK S"}}');
SELECT dyn_create_entity('app', 'Customer', '{"pk": "CUST#<id>", "sk": "PROFILE"}', '{"id": "S", "name": "S"}', type_attribute => NULL);
SELECT dyn_create_entity('app', 'Order', '{"pk": "CUST#<customer>", "sk": "ORDER#<day>#<number:05>", "GSI1PK": "S#<status>", "GSI1SK": "<rank:-03>#<paid>"}',
	'{"customer": "S", "day": "S date", "number": {"type": "N integer", "stored": "n"}, "status": "S", "rank": "N integer", "paid": "BOOL", "total": "N numeric(8,2)"}');
SELECT dyn_create_entity('app', 'Line', '{"pk": "LINE#<order>x<no>", "sk": "<mail:lower>#<at:day>"}',
	'{"order": "S", "no": "N", "mail": "S", "at": "S timestamptz"}', type_attribute => NULL);
-- as other programs write them
SELECT count(dyn_put('app', i::dyn_item)) FROM unnest(ARRAY[
	'{"pk":{"S":"CUST#7"},"sk":{"S":"PROFILE"},"name":{"S":"Ada"}}',
	'{"pk":{"S":"CUST#7"},"sk":{"S":"ORDER#2024-05-01#00012"},"total":{"N":"5.5"},"GSI1PK":{"S":"S#open"},"GSI1SK":{"S":"989#true"}}',
	'{"pk":{"S":"CUST#7"},"sk":{"S":"ORDER#2024-05-02#00013"},"total":{"N":"6"},"customer":{"S":"7"}}',
	'{"pk":{"S":"CUST#7"},"sk":{"S":"ORDER#2024-05-03#00014"},"total":{"N":"6"},"customer":{"S":"8"}}',
	'{"pk":{"S":"CUST#8"},"sk":{"S":"ORDER#yesterday#00015"}}',
	'{"pk":{"S":"CUST#8"},"sk":{"S":"ORDER#2024-05-03#16"}}',
	'{"pk":{"S":"CUST#8"},"sk":{"S":"ORDER#2024-05-03#00017"},"Type":{"S":"Other"}}',
	'{"pk":{"S":"LINE#axb12"},"sk":{"S":"a@x#2024-05-01"}}',
	'{"pk":{"S":"LINE#abx1.50"},"sk":{"S":"a@x#2024-05-01"}}',
	'{"pk":{"S":"LINE#abx1.5"},"sk":{"S":"a@x#2024-05-01"},"mail":{"S":"A@x"},"at":{"S":"2024-05-01T10:00:00Z"}}']) i;
-- a view that shows nothing of them says so, and what there is to do
SELECT dyn_create_entity_view('app', 'Customer', 'customers');
SELECT dyn_create_entity_view('app', 'Order', 'orders');
SELECT dyn_create_entity_view('app', 'Line', 'lines');
SELECT count(*) FROM orders;
-- a refresh as before makes nothing of keys
\set VERBOSITY terse
CALL dyn_refresh_entity('app', 'Customer');
SELECT item FROM app WHERE sk = 'PROFILE';
CALL dyn_refresh_entity('app', 'Customer', from_keys => true);
CALL dyn_refresh_entity('app', 'Order', from_keys => true);
CALL dyn_refresh_entity('app', 'Line', from_keys => true);
SELECT item FROM app ORDER BY pk, sk;
SELECT what, problem FROM dyn_job_problems WHERE relation = 'app'::regclass ORDER BY source_row::text COLLATE "C", job;
SELECT * FROM customers;
SELECT * FROM orders ORDER BY number;
SELECT * FROM lines;
-- nothing is left to do, and nothing is done again
CALL dyn_refresh_entity('app', 'Order', from_keys => true);
SELECT dyn_create_entity_view('app', 'Order', 'orders');
CALL dyn_refresh_entity('app', 'Order', from_keys => NULL);

-- a backfill whose expressions name them
SELECT dyn_put('app', '{"pk":{"S":"CUST#30"},"sk":{"S":"ORDER#2024-06-01#00030"}}'),
	dyn_put('app', '{"pk":{"S":"CUST#30"},"sk":{"S":"ORDER#2024-06-01#00031"}}');
CALL dyn_backfill('app', 'SET #d = customer', 'n = :n', names => '{"#d": "doubled"}', vals => '{":n":{"N":"30"}}');
CALL dyn_backfill('app', 'SET #d = customer', 'n = :n', names => '{"#d": "doubled"}', vals => '{":n":{"N":"30"}}', from_keys => true);
CALL dyn_backfill('app', 'SET #d = customer', 'n = :n', names => '{"#d": "doubled"}', vals => '{":n":{"N":"30"}}', from_keys => NULL);
SELECT item FROM app WHERE pk = 'CUST#30' ORDER BY sk;

\set VERBOSITY default
-- keys that two entities could have: neither is chosen
SELECT dyn_create_entity('app', 'Twin', '{"pk": "CUST#<id>", "sk": "PROFILE"}', '{"id": "S"}', type_attribute => NULL);
SELECT written FROM dyn_import_lines('app', '{"pk":{"S":"CUST#9"},"sk":{"S":"PROFILE"}}', from_keys => true);
SELECT item FROM app WHERE pk = 'CUST#9';
SELECT dyn_drop_entity('app', 'Twin');

-- imports
SELECT written, errors FROM dyn_import_lines('app', '{"pk":{"S":"CUST#20"},"sk":{"S":"ORDER#2024-05-01#00001"}}
{"pk":{"S":"CUST#20"},"sk":{"S":"PROFILE"},"id":{"S":"21"}}
{"pk":{"S":"else"},"sk":{"S":"PROFILE"}}', from_keys => true);
SELECT written FROM dyn_import_lines('app', '{"pk":{"S":"CUST#21"},"sk":{"S":"ORDER#2024-05-01#00001"}}');
CREATE TABLE pieces (line text);
INSERT INTO pieces VALUES ('{"Item":{"pk":{"S":"CUST#22"},"sk":{"S":"ORDER#2024-05-01#00001"}}}');
CALL dyn_import('app', 'pieces', from_keys => true);
SELECT item FROM app WHERE pk >= 'CUST#20' AND pk < 'CUST#3' OR pk = 'else' ORDER BY pk, sk;
SELECT dyn_import_lines('app', '{}', from_keys => NULL);

-- the view is told to be empty by who may read the table, and by nobody else; and a domain's check has the owner's rights
CREATE ROLE keys_owner;
GRANT CREATE, USAGE ON SCHEMA public TO keys_owner;
SET ROLE keys_owner;
CREATE FUNCTION whoami(text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE NOTICE 'checked by %', current_user; RETURN true; END $$;
CREATE DOMAIN checked AS text CHECK (whoami(VALUE));
SELECT dyn_create_table('owned', 'pk S');
SELECT dyn_create_entity('owned', 'Thing', '{"pk": "T#<id>"}', '{"id": "S", "what": "S checked"}');
SELECT dyn_put('owned', '{"pk":{"S":"T#1"},"what":{"S":"x"}}');
RESET ROLE;
SELECT dyn_create_entity_view('owned', 'Thing');
DROP VIEW "Thing";
CREATE ROLE keys_other;
GRANT CREATE ON SCHEMA public TO keys_other;
GRANT INSERT ON owned TO keys_other;
SET ROLE keys_other;
SELECT dyn_create_entity_view('owned', 'Thing', 'unread');
RESET ROLE;
DROP VIEW unread, orders, customers, lines;
DROP TABLE pieces, app, owned;
DROP DOMAIN checked;
DROP FUNCTION whoami;
REVOKE ALL ON SCHEMA public FROM keys_owner, keys_other;
DROP ROLE keys_owner, keys_other;
