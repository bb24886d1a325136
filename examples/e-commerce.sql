\set ECHO all
-- An online shop: customers with addresses, orders and their lines.
-- It teaches: two attributes that are both unique, a parent read with its newest children, one to many in an
-- index, a map for what is few, transactions, and updates that never make what was not there.

-- PK and SK have neutral names, since each kind of item has its own keys in them.
SELECT dyn_create_table('store', 'PK S', 'SK S', global_indexes => '{"GSI1": {"partition_key": "GSI1PK S", "sort_key": "GSI1SK S"}}');

SELECT count(dyn_create_entity('store', entity, keys::jsonb, attributes)) AS entities FROM (VALUES
  -- Addresses are few (20 at most) and never looked for by themselves: a map on the customer, name → address.
  ('Customer', '{"PK": "CUSTOMER#<Username>", "SK": "CUSTOMER#<Username>"}',
     '{"Username": "S", "Email": {"type": "S", "required": true}, "Name": "S", "Addresses": "M"}'),
  -- Only a primary key is unique.  The e-mail address must be unique too, so it is the key of an item of its own.
  ('CustomerEmail', '{"PK": "CUSTOMEREMAIL#<Email:lower>", "SK": "CUSTOMEREMAIL#<Email:lower>"}',
     '{"Email": "S", "Username": "S"}'),
  -- Orders lie in the customer's collection.  "#" sorts before letters, so they come before the customer, the
  -- oldest first: read backward from the end, the customer comes first and then the newest orders.
  -- A KSUID begins with its time, so identifiers sort by time.
  ('Order', '{"PK": "CUSTOMER#<Username>", "SK": "#ORDER#<OrderId>", "GSI1PK": "ORDER#<OrderId>", "GSI1SK": "ORDER#<OrderId>"}',
     '{"Username": "S", "OrderId": {"type": "S", "default": "ksuid"}, "CreatedAt": "S timestamptz(0)", "Status": "S", "Amount": "N numeric", "NumberItems": "N integer"}'),
  -- Lines would lie between the orders there.  They meet their order in GSI1 instead, where "ITEM#" < "ORDER#".
  ('OrderItem', '{"PK": "ORDER#<OrderId>#ITEM#<ItemId>", "SK": "ORDER#<OrderId>#ITEM#<ItemId>", "GSI1PK": "ORDER#<OrderId>", "GSI1SK": "ITEM#<ItemId>"}',
     '{"OrderId": "S", "ItemId": "S", "Description": "S", "Price": "N numeric", "Quantity": "N integer"}')
) v (entity, keys, attributes);

SELECT count(dyn_create_access_pattern('store', name, operation, request::jsonb, entity, notes)) AS access_patterns FROM (VALUES
  ('create_customer', 'TransactWriteItems', '{"TransactItems": [
     {"Put": {"Item": {"PK": {"S": "CUSTOMER#<Username>"}, "SK": {"S": "CUSTOMER#<Username>"}, "Type": {"S": "Customer"},
                "Username": {"S": "<Username>"}, "Email": {"S": "<Email>"}, "Name": {"S": "<Name>"}, "Addresses": {"M": {}}},
              "ConditionExpression": "attribute_not_exists(PK)"}},
     {"Put": {"Item": {"PK": {"S": "CUSTOMEREMAIL#<Email>"}, "SK": {"S": "CUSTOMEREMAIL#<Email>"}, "Type": {"S": "CustomerEmail"},
                "Email": {"S": "<Email>"}, "Username": {"S": "<Username>"}},
              "ConditionExpression": "attribute_not_exists(PK)"}}]}', 'Customer', 'both unique, or nothing; Email in small letters'),
  ('customer_and_orders', 'Query', '{"KeyConditionExpression": "PK = :c", "ScanIndexForward": false, "Limit": 3,
     "ExpressionAttributeValues": {":c": {"S": "CUSTOMER#<Username>"}}}', 'Customer, Order', 'the customer, then the newest orders'),
  ('older_orders', 'Query', '{"KeyConditionExpression": "PK = :c AND SK < :last", "ScanIndexForward": false, "Limit": 2,
     "ExpressionAttributeValues": {":c": {"S": "CUSTOMER#<Username>"}, ":last": {"S": "#ORDER#<OrderId>"}}}', 'Order', 'the next page, by the last order of this one'),
  ('order_and_items', 'Query', '{"IndexName": "GSI1", "KeyConditionExpression": "GSI1PK = :o", "ScanIndexForward": false,
     "ExpressionAttributeValues": {":o": {"S": "ORDER#<OrderId>"}}}', 'Order, OrderItem', 'the order, then its lines'),
  ('update_order', 'UpdateItem', '{"Key": {"PK": {"S": "CUSTOMER#<Username>"}, "SK": {"S": "#ORDER#<OrderId>"}}, "UpdateExpression": "SET #status = :status",
     "ConditionExpression": "attribute_exists(PK)", "ExpressionAttributeNames": {"#status": "Status"},
     "ExpressionAttributeValues": {":status": {"S": "<Status>"}}, "ReturnValues": "UPDATED_NEW"}', 'Order', 'never makes an order')
) v (name, operation, request, entity, notes);

-- Create Customer: two items in one transaction.
SELECT dyn_run_access_pattern('store', 'create_customer', '{"Username": "ann", "Email": "ann@shop.example", "Name": "Ann"}'::jsonb);
SELECT dyn_run_access_pattern('store', 'create_customer', '{"Username": "bob", "Email": "bob@shop.example", "Name": "Bob"}'::jsonb);
-- The reasons say which of the two is taken: the e-mail address, the user name, or both.
SELECT dyn_run_access_pattern('store', 'create_customer', '{"Username": "carol", "Email": "ann@shop.example", "Name": "Carol"}'::jsonb);
SELECT dyn_run_access_pattern('store', 'create_customer', '{"Username": "ann", "Email": "other@shop.example", "Name": "Another Ann"}'::jsonb);
SELECT dyn_get_entity('store', 'Customer', '{"Username": "carol"}'::jsonb) IS NULL AS no_half_of_carol;

-- Create and update an address: an element of the map.  A name may be anything, since it is given apart from the
-- expression.  The condition holds the limit of 20, and does not let a new customer come to be by mistake.
SELECT dyn_update_entity('store', 'Customer', '{"Username": "ann"}'::jsonb, 'SET Addresses.#name = :address',
  'attribute_exists(PK) AND (attribute_exists(Addresses.#name) OR size(Addresses) < :max)', names => jsonb_build_object('#name', name),
  vals => jsonb_build_object(':address', address, ':max', 20)) IS NULL AS done FROM (VALUES
  ('Home', '{"Street": "1 High Street", "City": "Omaha"}'::jsonb),
  ('Mum''s "new" house', '{"Street": "7 Hill Road", "City": "Lincoln"}'),
  ('Home', '{"Street": "2 High Street", "City": "Omaha"}')) v (name, address);
SELECT jsonb_pretty(dyn_get_entity('store', 'Customer', '{"Username": "ann"}'::jsonb)::jsonb -> 'Addresses') AS addresses;
-- Delete an address.
SELECT dyn_update_entity('store', 'Customer', '{"Username": "ann"}'::jsonb, 'REMOVE Addresses.#name', 'attribute_exists(PK)',
  names => jsonb_build_object('#name', 'Mum''s "new" house'), return_values => 'ALL_NEW')::jsonb AS customer;

-- Place an order: the order and its lines, if the customer is there.  The check holds until the transaction ends, so
-- nobody can delete the customer in between.  The token makes it safe to send the call again: it is done once.
PREPARE place_order AS SELECT dyn_transact('[
  {"CheckEntity": {"TableName": "store", "Entity": "Customer", "Attributes": {"Username": {"S": "ann"}}, "ConditionExpression": "attribute_exists(PK)"}},
  {"PutEntity": {"TableName": "store", "Entity": "Order", "ConditionExpression": "attribute_not_exists(PK)", "Attributes":
     {"Username": {"S": "ann"}, "OrderId": {"S": "2aWyo4xV8VFLmF4mpbUV2fRqo97"}, "CreatedAt": {"S": "2024-01-05T10:00:00Z"}, "Status": {"S": "DELIVERED"}, "Amount": {"N": "67.43"}, "NumberItems": {"N": "2"}}}},
  {"PutEntity": {"TableName": "store", "Entity": "OrderItem", "ConditionExpression": "attribute_not_exists(PK)", "Attributes":
     {"OrderId": {"S": "2aWyo4xV8VFLmF4mpbUV2fRqo97"}, "ItemId": {"S": "kettle"}, "Description": {"S": "Red kettle"}, "Price": {"N": "42.43"}, "Quantity": {"N": "1"}}}},
  {"PutEntity": {"TableName": "store", "Entity": "OrderItem", "ConditionExpression": "attribute_not_exists(PK)", "Attributes":
     {"OrderId": {"S": "2aWyo4xV8VFLmF4mpbUV2fRqo97"}, "ItemId": {"S": "cup"}, "Description": {"S": "Blue cup"}, "Price": {"N": "12.50"}, "Quantity": {"N": "2"}}}}]', token => 'order-1') AS done;
EXECUTE place_order;
EXECUTE place_order;
-- An order of a customer who is not there.
SELECT dyn_transact('[
  {"CheckEntity": {"TableName": "store", "Entity": "Customer", "Attributes": {"Username": {"S": "nobody"}}, "ConditionExpression": "attribute_exists(PK)"}},
  {"PutEntity": {"TableName": "store", "Entity": "Order", "Attributes": {"Username": {"S": "nobody"}, "Status": {"S": "PLACED"}}}}]');

-- More orders, as rows of views: each row is an item, with the keys that its entity makes.
SELECT dyn_create_entity_view('store', 'Customer'), dyn_create_entity_view('store', 'Order'), dyn_create_entity_view('store', 'OrderItem');
INSERT INTO "Order" ("Username", "OrderId", "CreatedAt", "Status", "Amount", "NumberItems") VALUES
  ('ann', '2bBVLDOzL9YX7s4lNGH02Cu6Nqo', '2024-01-19 18:20Z', 'DELIVERED', 12.50, 1),
  ('ann', '2bnxZhjrvdh2N3zAGOlhSRYYChK', '2024-02-02 09:05Z', 'SHIPPED', 84.86, 1),
  ('ann', '2cEkoY5d1L9lohVcrk71qwCcBGf', '2024-02-11 20:45Z', 'PLACED', 25.00, 1),
  ('bob', '2cLbqzp3La9KN81TAQjebe23WUz', '2024-02-14 07:00Z', 'PLACED', 42.43, 1);
INSERT INTO "OrderItem" ("OrderId", "ItemId", "Description", "Price", "Quantity") VALUES
  ('2bBVLDOzL9YX7s4lNGH02Cu6Nqo', 'cup', 'Blue cup', 12.50, 1),
  ('2bnxZhjrvdh2N3zAGOlhSRYYChK', 'kettle', 'Red kettle', 42.43, 2),
  ('2cEkoY5d1L9lohVcrk71qwCcBGf', 'cup', 'Blue cup', 12.50, 2),
  ('2cLbqzp3La9KN81TAQjebe23WUz', 'kettle', 'Red kettle', 42.43, 1);

-- View customer and newest orders: one read, and the customer is the first line.
SELECT item->>'Type' AS type, item->>'Name' AS name, item->>'OrderId' AS order_id, item->>'Status' AS status
  FROM dyn_run_access_pattern('store', 'customer_and_orders', '{"Username": "ann"}'::jsonb) item;
-- Pagination: the identifier of the last order goes into the address of the next page.
SELECT item->>'OrderId' AS order_id, item->>'CreatedAt' AS created, item->>'Amount' AS amount
  FROM dyn_run_access_pattern('store', 'older_orders', '{"Username": "ann", "OrderId": "2bnxZhjrvdh2N3zAGOlhSRYYChK"}'::jsonb) item;

-- View order and items: the index has them together, the order first when it is read backward.
SELECT item->>'Type' AS type, item->>'Status' AS status, item->>'Description' AS description, item->>'Price' AS price, item->>'Quantity' AS quantity
  FROM dyn_run_access_pattern('store', 'order_and_items', '{"OrderId": "2aWyo4xV8VFLmF4mpbUV2fRqo97"}'::jsonb) item;

-- Update order: the index has the new status in the same step.  A wrong identifier is refused; without the condition it
-- would make an item of that key that has nothing but a status.
SELECT dyn_run_access_pattern('store', 'update_order', '{"Username": "ann", "OrderId": "2cEkoY5d1L9lohVcrk71qwCcBGf", "Status": "SHIPPED"}'::jsonb);
SELECT item->>'Status' AS status FROM dyn_run_access_pattern('store', 'order_and_items', '{"OrderId": "2cEkoY5d1L9lohVcrk71qwCcBGf"}'::jsonb) item LIMIT 1;
SELECT dyn_run_access_pattern('store', 'update_order', '{"Username": "ann", "OrderId": "2cEkoY5d1L9lohVcrk71qwXXXXX", "Status": "SHIPPED"}'::jsonb);
-- Numbers are decimal and exact.
SELECT dyn_update_entity('store', 'Order', '{"Username": "ann", "OrderId": "2aWyo4xV8VFLmF4mpbUV2fRqo97"}'::jsonb, 'SET Amount = Amount - :discount',
  'Amount >= :discount', vals => '{":discount": 0.1}'::jsonb, return_values => 'UPDATED_NEW')->>'Amount' AS amount;

-- Change an e-mail address: the old item goes, the new one comes, and the customer follows, together or not at all.
SELECT dyn_transact('[
  {"DeleteEntity": {"TableName": "store", "Entity": "CustomerEmail", "Attributes": {"Email": {"S": "ann@shop.example"}},
     "ConditionExpression": "Username = :u", "ExpressionAttributeValues": {":u": {"S": "ann"}}}},
  {"PutEntity": {"TableName": "store", "Entity": "CustomerEmail", "Attributes": {"Email": {"S": "ann@lumen.example"}, "Username": {"S": "ann"}},
     "ConditionExpression": "attribute_not_exists(PK)"}},
  {"UpdateEntity": {"TableName": "store", "Entity": "Customer", "Attributes": {"Username": {"S": "ann"}}, "UpdateExpression": "SET Email = :new",
     "ConditionExpression": "Email = :old", "ExpressionAttributeValues": {":new": {"S": "ann@lumen.example"}, ":old": {"S": "ann@shop.example"}}}}]') AS done;
SELECT "PK" FROM store WHERE "PK" LIKE 'CUSTOMEREMAIL#%' ORDER BY 1;

-- What was declared, and what the table and its index hold.  Customers and e-mail addresses are not in GSI1.
\pset tuples_only on
SELECT dyn_entity_chart('store');
SELECT dyn_table_chart('store');
SELECT dyn_table_chart('store', 'GSI1');
SELECT dyn_access_pattern_chart('store');
\pset tuples_only off

-- Reports that no key serves are SQL, with joins.
SELECT c."Name", count(DISTINCT o."OrderId") AS orders, sum(i."Price" * i."Quantity") AS worth, string_agg(DISTINCT i."Description", ', ') AS bought
  FROM "Customer" c JOIN "Order" o USING ("Username") JOIN "OrderItem" i USING ("OrderId") GROUP BY 1 ORDER BY 1;
-- Nothing is other than declared.
SELECT count(*) AS problems FROM dyn_check_entities('store');
