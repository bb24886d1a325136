-- Items of entities in transactions and batches: PutEntity, UpdateEntity, DeleteEntity, CheckEntity.
SELECT dyn_create_table('shop', 'PK S', 'SK S', global_indexes => '{"GSI1": {"partition_key": "GSI1PK S", "sort_key": "GSI1SK S"}}');
SELECT dyn_create_entity('shop', 'Customer', '{"PK": "CUSTOMER#<Id>", "SK": "CUSTOMER#<Id>"}',
	'{"Id": "S", "Age": "N smallint", "Orders": "N integer", "Name": {"type": "S", "stored": "n"}}');
SELECT dyn_create_entity('shop', 'Order', '{"PK": "CUSTOMER#<Id>", "SK": "ORDER#<OrderId>", "GSI1PK": "STATUS#<Status>", "GSI1SK": "<OrderId>"}',
	'{"Id": "S", "OrderId": {"type": "S", "default": "ksuid"}, "Status": {"type": "S", "required": true}, "At": {"type": "S timestamptz(3)",
	"default": "now"}, "ExpiresAt": "N timestamptz"}');
-- other templates that make the same keys
SELECT dyn_create_entity('shop', 'Client', '{"PK": "CUSTOMER#<Id>", "SK": "CUSTOMER#<Id>"}', '{"Id": "S"}');
CREATE FUNCTION act(kind text, entity text, attributes jsonb, more jsonb DEFAULT '{}') RETURNS jsonb LANGUAGE sql AS $$
	SELECT jsonb_build_object(kind, jsonb_build_object('TableName', 'shop', 'Entity', entity, 'Attributes', attributes::dyn_item::text::jsonb) || more) $$;
CREATE FUNCTION transact(token text, VARIADIC actions jsonb[]) RETURNS boolean LANGUAGE sql AS $$ SELECT dyn_transact(to_json(actions), token) $$;
CREATE FUNCTION written(token text, VARIADIC actions jsonb[], OUT action int, OUT item dyn_item) RETURNS SETOF record LANGUAGE sql AS $$ SELECT *
	FROM dyn_transact_returning(to_json(actions), token) $$;
-- what differs in each run: identifiers and times
CREATE FUNCTION mask(t text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT regexp_replace(regexp_replace(t, '\m[0-9A-Za-z]{27}\M', '(ksuid)', 'g'),
	'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z', '(time)', 'g') $$;
CREATE FUNCTION state() RETURNS SETOF text LANGUAGE sql AS $$ SELECT mask(item::text) FROM shop ORDER BY "PK" COLLATE "C", "SK" COLLATE "C" $$;
CREATE FUNCTION why(call text, OUT state text, OUT message text, OUT detail text, OUT hint text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'SELECT ' || call;
	message := 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	message := mask(message);
	detail := mask(detail);
END $$;
\x

-- All four, beside DynamoDB's own: keys, defaults, the type attribute, stored names, and conditions and updates by declared names.
SELECT dyn_put_entity('shop', 'Customer', '{"Id": "bob", "Name": "Bob"}'::jsonb),
	dyn_put_entity('shop', 'Order', '{"Id": "bob", "OrderId": "1", "Status": "NEW"}'::jsonb);
SELECT transact(NULL,
	act('PutEntity', 'Customer', '{"Id": "ann", "Name": "Ann", "Age": null}', '{"ConditionExpression": "attribute_not_exists(PK)"}'),
	act('PutEntity', 'Order', '{"Id": "ann", "Status": "NEW"}'),
	act('UpdateEntity', 'Order', '{"Id": "bob", "OrderId": "1"}',
		'{"UpdateExpression": "SET #s = :p", "ExpressionAttributeNames": {"#s": "Status"}, "ExpressionAttributeValues": {":p": {"S": "PAID"}}}'),
	act('CheckEntity', 'Customer', '{"Id": "bob"}', '{"ConditionExpression": "#n = :bob", "ExpressionAttributeNames": {"#n": "Name"},
		"ExpressionAttributeValues": {":bob": {"S": "Bob"}}}'),
	'{"Put": {"TableName": "shop", "Item": {"PK": {"S": "x"}, "SK": {"S": "x"}}}}');
SELECT state();
SELECT transact(NULL, act('DeleteEntity', 'Order', '{"Id": "bob", "OrderId": "1"}',
	'{"ConditionExpression": "#s = :p", "ExpressionAttributeNames": {"#s": "Status"}, "ExpressionAttributeValues": {":p": {"S": "PAID"}}}'),
	act('DeleteEntity', 'Customer', '{"Id": "nobody"}'), act('CheckEntity', 'Customer', '{"Id": "none"}', '{"ConditionExpression": "attribute_not_exists(PK)"}'),
		'{"Delete": {"TableName": "shop", "Key": {"PK": {"S": "x"}, "SK": {"S": "x"}}}}');
-- an update that makes its item of the attributes; one without an expression, which makes index keys again
SELECT transact(NULL, act('UpdateEntity', 'Customer', '{"Id": "cid", "Name": "Cid"}',
	'{"UpdateExpression": "ADD Orders :one", "ExpressionAttributeValues": {":one": {"N": "1"}}}'));
SELECT dyn_update('shop', (SELECT jsonb_build_object('PK', "PK", 'SK', "SK") FROM shop WHERE "SK" LIKE 'ORDER%')::dyn_item, 'SET #s = :d',
	names => '{"#s": "Status"}', vals => '{":d": {"S": "DONE"}}');
SELECT transact(NULL, act('UpdateEntity', 'Order', (SELECT jsonb_build_object('Id', 'ann', 'OrderId', item->>'OrderId') FROM shop WHERE "SK" LIKE 'ORDER%')));
SELECT state();

-- Items that actions ask for: with what was generated, by declared names, numbered as the actions.
SELECT action, mask(item::text) AS item FROM written(NULL, act('PutEntity', 'Order', '{"Id": "cid", "Status": "NEW"}', '{"ReturnValues": "ALL_NEW"}'),
	act('PutEntity', 'Customer', '{"Id": "dan", "Name": "Dan"}', '{"ReturnValues": "NONE"}'),
		'{"Delete": {"TableName": "shop", "Key": {"PK": {"S": "x"}, "SK": {"S": "x"}}}}',
	act('UpdateEntity', 'Customer', '{"Id": "cid"}', '{"UpdateExpression": "ADD Orders :one",
		"ExpressionAttributeValues": {":one": {"N": "1"}}, "ReturnValues": "ALL_NEW"}'),
	act('UpdateEntity', 'Customer', '{"Id": "eve"}', '{"UpdateExpression": "REMOVE Age", "ReturnValues": "ALL_NEW"}'),
	act('PutEntity', 'Order', '{"Id": "cid", "Status": "OLD"}', '{"ReturnValues": "ALL_NEW"}'));
SELECT count(*) FROM written(NULL, act('PutEntity', 'Order', '{"Id": "fay", "Status": "NEW"}',
	'{"ReturnValues": "ALL_NEW", "ConditionExpression": "attribute_not_exists(PK)"}')) r;
SELECT action FROM written(NULL, act('DeleteEntity', 'Customer', '{"Id": "dan"}'));
-- the single call
SELECT mask(dyn_put_entity('shop', 'Order', '{"Id": "gus", "Status": "NEW"}'::jsonb, return_values => 'ALL_NEW')::text);
SELECT dyn_put_entity('shop', 'Customer', '{"Id": "gus", "Name": "Gus"}'::jsonb, return_values => 'ALL_OLD'),
	dyn_put_entity('shop', 'Customer', '{"Id": "gus", "Name": "Guy"}'::jsonb, return_values => 'ALL_NEW'),
	dyn_put_entity('shop', 'Customer', '{"Id": "gus"}'::jsonb, 'attribute_exists(PK)', return_values => 'ALL_OLD'),
		dyn_put_entity('shop', 'Customer', '{"Id": "gus", "Age": 5}'::jsonb, 'attribute_exists(PK)', return_values => 'ALL_NEW');
SELECT (why($$dyn_put_entity('shop', 'Customer', '{"Id": "gus"}'::jsonb, return_values => 'UPDATED_NEW')$$)).*;

-- A token: what was generated is no part of what is asked for, and comes back as it was.
CREATE TEMP TABLE first AS SELECT * FROM written('token', act('PutEntity', 'Order', '{"Id": "hal", "Status": "NEW"}', '{"ReturnValues": "ALL_NEW"}'),
	act('PutEntity', 'Customer', '{"Id": "hal"}'));
SELECT dyn_update_entity('shop', 'Order', jsonb_build_object('Id', 'hal', 'OrderId', item->>'OrderId'), 'SET #s = :s', names => '{"#s": "Status"}',
	vals => '{":s": {"S": "PAID"}}') FROM first;
SELECT a.action, a.item = f.item AS same FROM written('token', act('PutEntity', 'Order', '{"Id": "hal", "Status": "NEW"}', '{"ReturnValues": "ALL_NEW"}'),
	act('PutEntity', 'Customer', '{"Id": "hal"}')) a JOIN first f USING (action);
SELECT count(*), count(*) FILTER (WHERE item->>'Status' = 'PAID') AS paid FROM shop WHERE "PK" = 'CUSTOMER#hal' AND "SK" LIKE 'ORDER%';
-- neither are other attributes, another entity, a condition, a plain put, or what is returned
SELECT (why($$written('token', act('PutEntity', 'Order', '{"Id": "hal", "Status": "OLD"}', '{"ReturnValues": "ALL_NEW"}'),
	act('PutEntity', 'Customer', '{"Id": "hal"}'))$$)).*;
SELECT (why($$written('token', act('PutEntity', 'Order', '{"Id": "hal", "Status": "NEW"}', '{"ReturnValues": "ALL_NEW"}'),
	act('PutEntity', 'Client', '{"Id": "hal"}'))$$)).*;
SELECT (why($$written('token', act('PutEntity', 'Order', '{"Id": "hal", "Status": "NEW"}',
	'{"ReturnValues": "ALL_NEW", "ConditionExpression": "attribute_not_exists(PK)"}'), act('PutEntity', 'Customer', '{"Id": "hal"}'))$$)).*;
SELECT (why($$transact('token', act('PutEntity', 'Order', '{"Id": "hal", "Status": "NEW"}'), act('PutEntity', 'Customer', '{"Id": "hal"}'))$$)).*;
-- true and false
SELECT transact('two', act('PutEntity', 'Order', '{"Id": "ida", "Status": "NEW"}')),
	transact('two', act('PutEntity', 'Order', '{"Status": "NEW", "Id": "ida"}'));
SELECT count(*) FROM shop WHERE "PK" = 'CUSTOMER#ida';
SELECT count(*) FROM written('two', act('PutEntity', 'Order', '{"Status": "NEW", "Id": "ida"}'));
-- a token that has expired is a new one, and what it returned is forgotten
UPDATE dynamo_internal.transact_tokens SET expires = now() - interval '1 second' WHERE token = 'token';
SELECT transact('token', act('PutEntity', 'Customer', '{"Id": "hal"}')), transact('token', act('PutEntity', 'Customer', '{"Id": "hal"}'));
SELECT token, returned IS NULL AS "no items" FROM dynamo_internal.transact_tokens WHERE token = 'token';

-- Reasons, by the action: attributes that do not fit, what an update finds, a condition, with the item by declared names.
SELECT (why($$transact(NULL, act('PutEntity', 'Customer', '{"Id": "new"}'), act('PutEntity', 'Order', '{"Id": "new"}'),
	act('PutEntity', 'Customer', '{"Id": "new", "Age": 70000}'))$$)).*;
SELECT (why($$transact(NULL, act('PutEntity', 'Customer', '{"Name": "x"}'))$$)).*;
SELECT (why($$transact(NULL, act('UpdateEntity', 'Order', '{"Id": "new"}', '{"UpdateExpression": "REMOVE a"}'),
	act('DeleteEntity', 'Order', '{"Id": "new"}'))$$)).*;
SELECT (why($$transact(NULL, act('PutEntity', 'Customer', '{"Id": "new"}'),
	act('UpdateEntity', 'Customer', '{"Id": "cid"}', '{"UpdateExpression": "SET Age = Orders + :big", "ExpressionAttributeValues": {":big": {"N": "70000"}}}'),
	act('UpdateEntity', 'Order', '{"Id": "new", "OrderId": "1"}', '{"UpdateExpression": "SET a = :big", "ExpressionAttributeValues": {":big": {"N": "70000"}}}'),
	act('CheckEntity', 'Customer', '{"Id": "bob"}', '{"ConditionExpression": "Orders = :big",
		"ExpressionAttributeValues": {":big": {"N": "70000"}}, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}'))$$)).*;
SELECT (why($$transact(NULL, act('UpdateEntity', 'Customer', '{"Id": "cid"}',
	'{"UpdateExpression": "SET PK = :p", "ExpressionAttributeValues": {":p": {"S": "x"}}}'))$$)).*;
SELECT (why($$transact(NULL, act('UpdateEntity', 'Customer', '{"Id": "cid"}',
	'{"UpdateExpression": "SET #t = :p", "ExpressionAttributeNames": {"#t": "Type"}, "ExpressionAttributeValues": {":p": {"S": "x"}}}'))$$)).*;
SELECT (why($$transact(NULL, act('UpdateEntity', 'Customer', '{"Id": "cid"}',
	'{"UpdateExpression": "SET Id = :p", "ExpressionAttributeValues": {":p": {"S": "x"}}}'))$$)).*;
SELECT dyn_get_entity('shop', 'Customer', '{"Id": "new"}'::jsonb), dyn_get_entity('shop', 'Customer', '{"Id": "cid"}'::jsonb);
-- a domain whose constraint raises the error that is caught
CREATE FUNCTION odd(n int) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN PERFORM 1; IF n % 2 = 0 THEN RAISE 'even' USING ERRCODE =
	'YD001'; END IF; RETURN true; END $$;
CREATE DOMAIN odd_number AS int CHECK (odd(VALUE));
SELECT dyn_create_entity('shop', 'Odd', '{"PK": "ODD#<Id>", "SK": "ODD"}', '{"Id": "S", "n": "N odd_number"}');
SELECT transact(NULL, act('PutEntity', 'Odd', '{"Id": "a", "n": 1}'));
SELECT state FROM why($$transact(NULL, act('PutEntity', 'Odd', '{"Id": "b", "n": 2}'))$$);
SELECT state FROM why($$transact(NULL, act('UpdateEntity', 'Odd', '{"Id": "a"}',
	'{"UpdateExpression": "SET n = :n", "ExpressionAttributeValues": {":n": {"N": "2"}}}'))$$);
SELECT dyn_drop_entity('shop', 'Odd');
DROP DOMAIN odd_number;
-- an item of another entity with the same key: changed, deleted and checked by nobody, also where nothing else is asked; a put replaces it
SELECT (why($$transact(NULL, act('UpdateEntity', 'Client', '{"Id": "cid"}', '{"UpdateExpression": "REMOVE a"}'),
	act('PutEntity', 'Customer', '{"Id": "new"}'))$$)).*;
SELECT (why($$transact(NULL, act('DeleteEntity', 'Client', '{"Id": "cid"}'))$$)).*;
SELECT (why($$transact(NULL, act('PutEntity', 'Customer', '{"Id": "bob"}', '{"ConditionExpression": "attribute_not_exists(PK)"}'),
	act('DeleteEntity', 'Client', '{"Id": "cid"}'))$$)).*;
SELECT (why($$transact(NULL, act('CheckEntity', 'Client', '{"Id": "cid"}', '{"ConditionExpression": "attribute_exists(PK)"}'))$$)).*;
SELECT transact(NULL, act('PutEntity', 'Client', '{"Id": "cid"}'));
SELECT item FROM shop WHERE "SK" = 'CUSTOMER#cid';
-- one item, whatever the entities
SELECT (why($$transact(NULL, act('PutEntity', 'Client', '{"Id": "one"}'), act('PutEntity', 'Customer', '{"Id": "one"}'))$$)).*;
SELECT (why($$transact(NULL, act('PutEntity', 'Client', '{"Id": "one"}'),
	'{"Delete": {"TableName": "public.shop", "Key": {"PK": {"S": "CUSTOMER#one"}, "SK": {"S": "CUSTOMER#one"}}}}')$$)).*;
SELECT transact(NULL, act('PutEntity', 'Order', '{"Id": "one", "Status": "a"}'), act('PutEntity', 'Order', '{"Id": "one", "Status": "a"}'));

-- What cannot be an action.
SELECT (why(format('dyn_transact(%L)', bad))).* FROM (VALUES ('[{"PutEntity": {}}]'), ('[{"PutEntity": {"TableName": "shop", "Entity": "Customer"}}]'),
	('[{"PutEntity": {"TableName": "shop", "Attributes": {}}}]'),
	('[{"PutEntity": {"TableName": "shop", "Entity": "Customer", "Attributes": {"Id": "plain"}}}]'),
	('[{"PutEntity": {"TableName": "shop", "Entity": "Customer", "Attributes": []}}]'),
	('[{"PutEntity": {"TableName": "shop", "Entity": 5, "Attributes": {}}}]'), ('[{"PutEntity": {"TableName": "shop", "Entity": null, "Attributes": {}}}]'),
	('[{"PutEntity": {"TableName": "shop", "Entity": "a\u0000b", "Attributes": {}}}]'),
	('[{"PutEntity": {"TableName": "shop", "Entity": "Customer", "Attributes": {}, "Item": {}}}]'),
	('[{"PutEntity": {"TableName": "shop", "Entity": "Customer", "Attributes": {}, "Entity": "Order"}}]'),
	('[{"PutEntity": {"TableName": "shop", "Entity": "nobody''s \"entity\"\n", "Attributes": {}}}]'),
	('[{"PutEntity": {"TableName": "none", "Entity": "Customer", "Attributes": {}}}]'), ('[{"PutEntity": {"TableName": "shop", "Entity": "", "Attributes": {}}}]'),
	('[{"CheckEntity": {"TableName": "shop", "Entity": "Customer", "Attributes": {"Id": {"S": "a"}}}}]'),
	('[{"CheckEntity": {"TableName": "shop", "Entity": "Customer", "Attributes": {}, "ReturnValues": "ALL_NEW"}}]'),
	('[{"PutEntity": {"TableName": "shop", "Entity": "Customer", "Attributes": {}, "ReturnValues": "ALL_OLD"}}]'),
	('[{"PutEntity": {"TableName": "shop", "Entity": "Customer", "Attributes": {}, "UpdateExpression": "REMOVE a"}}]'),
	('[{"PutEntity": null}]'), ('[{"PutEntity": null, "DeleteEntity": {"TableName": "shop", "Entity": "Customer", "Attributes": {"Id": {"S": "a"}}}}]'),
	('[{"PutEntity": {"TableName": "shop", "Entity": "Customer", "Attributes": {}}, "Put": {"TableName": "shop", "Item": {}}}]'), ('[{"GetEntity": {}}]'),
	('[{"putEntity": {}}]'),
	('[{"UpdateEntity": {"TableName": "shop", "Entity": "Customer", "Attributes": {"Id": {"S": "a"}}, "UpdateExpression": "SET"}}]'),
	('[{"PutEntity": {"TableName": "shop", "Entity": "Customer", "Attributes": {"Id": {"S": "a"}}, "ReturnValues": "ALL_NEW"}}]')) v (bad);
SELECT (why(format('dyn_transact_returning(%L)', bad))).* FROM (VALUES ('[]'), ('{}'), ('x')) v (bad);
SELECT (why($$dyn_transact_returning(NULL)$$)).*;
SELECT (why($$dyn_transact_returning('[]'::jsonb, '')$$)).*;
-- too many are told before one is looked up
SELECT (why($$dyn_transact((SELECT json_agg(act('PutEntity', 'nobody', '{}')) FROM generate_series(1, 101)))$$)).*;
SELECT count(*), count(DISTINCT item->>'OrderId') AS ids FROM dyn_transact_returning((SELECT jsonb_agg(act('PutEntity', 'Order',
	jsonb_build_object('Id', 'many', 'Status', i::text), '{"ReturnValues": "ALL_NEW"}')) FROM generate_series(1, 100) i));
SELECT (why($$dyn_transact((SELECT json_agg(act('PutEntity', 'Order', jsonb_build_object('Id', 'many', 'Status', 'S', 'v', repeat('x', 100000))))
	FROM generate_series(1, 50) i))$$)).*;
-- DynamoDB has no such actions
SELECT (why($$dyn_request('TransactWriteItems', json_build_object('TransactItems', json_build_array(act('PutEntity', 'Customer', '{"Id": "x"}'))))$$)).*;

-- Batches: puts and deletes of several entities, beside others.
SELECT dyn_batch_write('shop', ARRAY['{"PK": "b", "SK": "1"}']::jsonb[]::dyn_item[],
	entities => '[{"PutEntity": {"Entity": "Customer", "Attributes": {"Id": {"S": "bat"}, "Name": {"S": "Bat"}}}},
	{"PutEntity": {"Entity": "Order", "Attributes": {"Id": {"S": "bat"}, "Status": {"S": "NEW"}}}},
	{"DeleteEntity": {"Entity": "Customer", "Attributes": {"Id": {"S": "ann"}}}}, {"DeleteEntity": {"Entity": "Customer", "Attributes": {"Id": {"S": "no"}}}}]');
SELECT state() OFFSET (SELECT count(*) - 3 FROM shop WHERE "PK" <= 'CUSTOMER#bat' COLLATE "C") LIMIT 3;
SELECT dyn_batch_write('shop', '[{"PK": {"S": "b"}, "SK": {"S": "2"}}]', '[{"PK": {"S": "b"}, "SK": {"S": "1"}}]',
	'[{"DeleteEntity": {"Entity": "Customer", "Attributes": {"Id": {"S": "bat"}}}}]');
SELECT dyn_batch_write('shop', entities => jsonb_build_array(jsonb_build_object('PutEntity',
	'{"Entity": "Customer", "Attributes": {"Id": {"S": "bay"}}}'::jsonb)));
SELECT mask("SK") AS "SK" FROM shop WHERE "PK" IN ('b', 'CUSTOMER#bat', 'CUSTOMER#bay', 'CUSTOMER#ann') ORDER BY mask("SK") COLLATE "C";
SELECT (why(format('dyn_batch_write(%L, entities => %L)', 'shop', bad))).*
	FROM (VALUES ('[]'), ('{}'), ('[1]'), ('[{}]'), ('[{"PutEntity": null}]'), ('[{"UpdateEntity": {}}]'),
	('[{"PutEntity": {"TableName": "shop", "Entity": "Customer", "Attributes": {}}}]'),
	('[{"PutEntity": {"Entity": "Customer", "Attributes": {"Id": {"S": "a"}}}, "DeleteEntity": {"Entity": "Customer", "Attributes": {"Id": {"S": "b"}}}}]'),
	('[{"PutEntity": {"Entity": "nobody", "Attributes": {}}}]'),
	('[{"PutEntity": {"Entity": "Customer", "Attributes": {"Id": {"S": "a"}}}}, {"PutEntity": {"Entity": "Order", "Attributes": {"Id": {"S": "a"}}}}]'),
	('[{"DeleteEntity": {"Entity": "Order", "Attributes": {"Id": {"S": "a"}}}}]'),
	('[{"PutEntity": {"Entity": "Customer", "Attributes": {"Id": {"S": "a"}}}}, {"DeleteEntity": {"Entity": "Client", "Attributes": {"Id": {"S": "a"}}}}]'),
	('[{"PutEntity": {"Entity": "Customer", "Attributes": {"Id": {"S": "a"}}}}, {"DeleteEntity": {"Entity": "Client", "Attributes": {"Id": {"S": "bob"}}}}]')) v
	(bad);
SELECT (why(format('dyn_batch_write(%L, entities => %L::text)', 'shop', bad))).*
	FROM (VALUES ('x'), ('[{"PutEntity": {"Entity": "a\u0000", "Attributes": {}}}]'),
	('[{"PutEntity": {"Entity": "Customer", "Entity": "Order", "Attributes": {}}}]'), ('[] []')) v (bad);
SELECT dyn_batch_write('shop', entities => '[{"PutEntity": {"Entity": "Customer", "Attributes": {"Id": {"S": "nul"}, "Name": {"S": "a\u0000b"}}}}]');
SELECT dyn_get_entity('shop', 'Customer', '{"Id": "nul"}'::jsonb);
SELECT (why($$dyn_batch_write('shop', entities => (SELECT jsonb_agg('{"PutEntity": {"Entity": "nobody", "Attributes": {}}}'::jsonb)
	FROM generate_series(1, 26)))$$)).*;
SELECT (why($$dyn_batch_write('none', entities => '[{"PutEntity": {"Entity": "Customer", "Attributes": {}}}]')$$)).*;
SELECT count(*) FROM shop WHERE "PK" IN ('CUSTOMER#a', 'CUSTOMER#bob');

-- Triggers may make another item of what is put; what is returned is what is there.
CREATE FUNCTION older() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.item := (NEW.item::jsonb || '{"Age": 99}')::dyn_item; RETURN NEW; END $$;
CREATE TRIGGER older BEFORE INSERT OR UPDATE ON shop FOR EACH ROW WHEN (NEW."SK" LIKE 'CUSTOMER#%') EXECUTE FUNCTION older();
SELECT dyn_put_entity('shop', 'Customer', '{"Id": "old", "Name": "Old"}'::jsonb, return_values => 'ALL_NEW');
SELECT action, item FROM written(NULL, act('PutEntity', 'Customer', '{"Id": "old1", "Age": 1}', '{"ReturnValues": "ALL_NEW"}'),
	act('PutEntity', 'Customer', '{"Id": "old2", "Age": 1}', '{"ReturnValues": "ALL_NEW"}'),
	act('UpdateEntity', 'Customer', '{"Id": "old"}', '{"UpdateExpression": "SET Age = :a", "ExpressionAttributeValues": {":a": {"N": "3"}},
		"ReturnValues": "ALL_NEW"}'));
DROP TRIGGER older ON shop;

-- Views show what transactions and batches write, and write among them.
SELECT dyn_create_entity_view('shop', 'Order', 'orders');
BEGIN;
INSERT INTO orders ("Id", "OrderId", "Status") VALUES ('vic', '1', 'NEW');
SELECT transact(NULL, act('UpdateEntity', 'Order', '{"Id": "vic", "OrderId": "1"}',
	'{"UpdateExpression": "SET ExpiresAt = :t", "ExpressionAttributeValues": {":t": {"N": "1700000000"}}}'),
	act('PutEntity', 'Order', '{"Id": "vic", "OrderId": "2", "Status": "OLD", "At": "2024-05-06T07:08:09.000Z"}'));
UPDATE orders SET "Status" = 'DONE' WHERE "Id" = 'vic' AND "OrderId" = '2';
SELECT dyn_batch_write('shop', entities => '[{"PutEntity": {"Entity": "Order", "Attributes": {"Id": {"S": "vic"}, "OrderId": {"S": "3"},
	"Status": {"S": "NEW"}}}}]');
SELECT "OrderId", "Status", "ExpiresAt" AT TIME ZONE 'UTC' AS "ExpiresAt", abs(extract(epoch FROM "At" - now())) < 0.002 AS now FROM orders WHERE "Id" = 'vic'
	ORDER BY 1;
COMMIT;
DROP VIEW orders;

-- Enforced entities, and a declaration that is gone.
SELECT dyn_enforce_entities('shop');
SELECT (why($$transact(NULL, act('PutEntity', 'Customer', '{"Id": "enf"}'),
	'{"Put": {"TableName": "shop", "Item": {"PK": {"S": "x"}, "SK": {"S": "x"}}}}')$$)).*;
SELECT transact(NULL, act('PutEntity', 'Customer', '{"Id": "enf"}'), act('UpdateEntity', 'Customer', '{"Id": "bob"}',
	'{"UpdateExpression": "SET Age = :a", "ExpressionAttributeValues": {":a": {"N": "3"}}}'));
SELECT dyn_batch_write('shop', entities => '[{"PutEntity": {"Entity": "Customer", "Attributes": {"Id": {"S": "enf"}}}}]');
SELECT dyn_drop_entity('shop', 'Client');
SELECT (why($$transact(NULL, act('PutEntity', 'Client', '{"Id": "a"}'))$$)).*;

-- Privileges and row-level security are those of the caller.
CREATE ROLE regress_reader;
GRANT SELECT ON shop TO regress_reader;
SET ROLE regress_reader;
SELECT (why($$transact(NULL, act('PutEntity', 'Customer', '{"Id": "role"}'))$$)).*;
SELECT (why($$transact(NULL, act('PutEntity', 'nobody', '{}'))$$)).*;
SELECT (why($$dyn_batch_write('shop', entities => '[{"DeleteEntity": {"Entity": "Customer", "Attributes": {"Id": {"S": "bob"}}}}]')$$)).*;
RESET ROLE;
GRANT INSERT, UPDATE, DELETE ON shop TO regress_reader;
ALTER TABLE shop ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON shop TO regress_reader USING ("PK" LIKE 'CUSTOMER#r%');
SET ROLE regress_reader;
SELECT action, mask(item::text) AS item FROM written('mine', act('PutEntity', 'Customer', '{"Id": "rob", "Name": "Rob"}', '{"ReturnValues": "ALL_NEW"}'),
	act('PutEntity', 'Order', '{"Id": "rob", "Status": "NEW"}', '{"ReturnValues": "ALL_NEW"}'));
SELECT (why($$transact(NULL, act('PutEntity', 'Customer', '{"Id": "sam"}'))$$)).*;
SELECT (why($$transact(NULL, act('CheckEntity', 'Customer', '{"Id": "bob"}',
	'{"ConditionExpression": "attribute_exists(PK)", "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}'))$$)).*;
SELECT transact(NULL, act('DeleteEntity', 'Customer', '{"Id": "bob"}'));
-- the tokens of others are not this role's
RESET ROLE;
SELECT action, item->>'Name' AS name FROM written('mine', act('PutEntity', 'Customer', '{"Id": "rob", "Name": "Rob"}', '{"ReturnValues": "ALL_NEW"}'),
	act('PutEntity', 'Order', '{"Id": "rob", "Status": "NEW"}', '{"ReturnValues": "ALL_NEW"}'));
SELECT count(*) FROM shop WHERE "PK" IN ('CUSTOMER#rob', 'CUSTOMER#bob');

DROP TABLE shop;
DROP OWNED BY regress_reader;
DROP ROLE regress_reader;
DELETE FROM dynamo_internal.transact_tokens;
DROP FUNCTION act, transact, written, mask, state, why, older, odd;
