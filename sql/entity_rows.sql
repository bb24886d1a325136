-- Modelling practice: docs/semantics.md, M15 to M19, M21, M23, M26, M30, M31, M34, M35.  M33 is test/t/054_stream_example.pl.
\set SHOW_CONTEXT never
\set service ttl_worker
\set ECHO none
\i test/sql/switch_off.sql
\set ECHO all
CREATE SCHEMA entity_rows;
SET search_path = entity_rows, public;
CREATE FUNCTION why(call text, OUT state text, OUT message text, OUT detail text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'SELECT ' || call;
	message := 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
END $$;
SELECT dyn_create_table('app', 'pk S', 'sk S', global_indexes => '{"GSI1": {"partition_key": "GSI1PK S", "sort_key": "GSI1SK S"}}');

-- M15, M31 a user and his orders have one partition key: one query that reads four items, where there would be a join; its items are next to each other
SELECT dyn_put('app', i::jsonb) FROM (VALUES ('{"pk":"USER#alexdebrie","sk":"#PROFILE#alexdebrie","Type":"User","Name":"Alex"}'),
	('{"pk":"USER#alexdebrie","sk":"ORDER#5e7272b7","Type":"Order"}'),
	('{"pk":"USER#alexdebrie","sk":"ORDER#2e7abecc","Type":"Order"}'), ('{"pk":"USER#alexdebrie","sk":"ORDER#42ef295e","Type":"Order"}'),
	('{"pk":"USER#nedstark","sk":"ORDER#1","Type":"Order"}')) v (i);
SELECT q ->> 'sk' AS m31 FROM dyn_query('app', 'pk = :p', vals => '{":p": {"S": "USER#alexdebrie"}}') q;
SELECT items_read, items_returned, index_only FROM dyn_explain('app', 'pk = :p', vals => '{":p": {"S": "USER#alexdebrie"}}');
-- and nothing chases references: an expression has no other item to speak of
SELECT * FROM why($$dyn_query('app', 'pk = :p', names => '{"#o": "OrderId"}', vals => '{":p": {"S": "USER#alexdebrie"}}', filter => 'JOIN(#o)')$$);

-- M18 a relationship is an item of its own, found from both sides; M16 it holds a copy of a name, and those that hold one are found through the collection
SELECT dyn_put('app', jsonb_build_object('pk', 'ORG#1#PRO#' || p, 'sk', 'ORG#1#EMP#' || e, 'GSI1PK', 'ORG#1#EMP#' || e, 'GSI1SK', 'ORG#1#PRO#' || p, 'Type',
	'ProjectEmployee', 'ProjectName', 'Project ' || p))
	FROM (VALUES ('X', 'manoj'), ('Y', 'manoj'), ('X', 'john'), ('Y', 'jane')) v (p, e);
SELECT q ->> 'sk' AS employees_of_x FROM dyn_query('app', 'pk = :p', vals => '{":p": {"S": "ORG#1#PRO#X"}}') q;
SELECT q ->> 'pk' AS projects_of_manoj FROM dyn_query('app', 'GSI1PK = :e', vals => '{":e": {"S": "ORG#1#EMP#manoj"}}', index_name => 'GSI1') q;
-- the same again is the same item
SELECT dyn_put('app', '{"pk":"ORG#1#PRO#X","sk":"ORG#1#EMP#john","GSI1PK":"ORG#1#EMP#john","GSI1SK":"ORG#1#PRO#X","Type":"ProjectEmployee",
	"ProjectName":"Project X"}'::jsonb);
SELECT count(*) AS m18 FROM app WHERE item ->> 'Type' = 'ProjectEmployee';
SELECT count(dyn_update('app', jsonb_build_object('pk', q ->> 'pk', 'sk', q ->> 'sk'), 'SET ProjectName = :n', vals => '{":n": {"S": "Renamed"}}',
	return_values => 'ALL_NEW')) AS m16
	FROM dyn_query('app', 'pk = :p', vals => '{":p": {"S": "ORG#1#PRO#X"}}') q;
SELECT q ->> 'ProjectName' AS m16 FROM dyn_query('app', 'GSI1PK = :e', vals => '{":e": {"S": "ORG#1#EMP#manoj"}}', index_name => 'GSI1') q;

-- M17 few bounded things are a map inside their parent: no entity of their own, no second item
SELECT dyn_update('app', '{"pk":"USER#alexdebrie","sk":"#PROFILE#alexdebrie"}'::jsonb, 'SET Addresses = :a',
	vals => '{":a": {"M": {"Home": {"M": {"City": {"S": "Omaha"}}}}}}');
SELECT dyn_update('app', '{"pk":"USER#alexdebrie","sk":"#PROFILE#alexdebrie"}'::jsonb, 'SET Addresses.Office = :a',
	vals => '{":a": {"M": {"City": {"S": "London"}}}}', condition => 'attribute_not_exists(Addresses.Office)');
SELECT dyn_get('app', '{"pk":"USER#alexdebrie","sk":"#PROFILE#alexdebrie"}'::jsonb, projection => 'Addresses') AS m17;
SELECT count(*) AS m17 FROM dyn_query('app', 'pk = :p', vals => '{":p": {"S": "USER#alexdebrie"}}');

-- M19 a second attribute that must be unique is a second item: both are written, or none
SELECT dyn_transact('[{"Put":{"TableName":"app","Item":{"pk":{"S":"USER#a"},"sk":{"S":"USER#a"},"Email":{"S":"a@x"}},
	"ConditionExpression":"attribute_not_exists(pk)"}},
	{"Put":{"TableName":"app","Item":{"pk":{"S":"EMAIL#a@x"},"sk":{"S":"EMAIL#a@x"}},"ConditionExpression":"attribute_not_exists(pk)"}}]');
SELECT * FROM why($$dyn_transact('[{"Put":{"TableName":"app","Item":{"pk":{"S":"USER#b"},"sk":{"S":"USER#b"},"Email":{"S":"a@x"}},
	"ConditionExpression":"attribute_not_exists(pk)"}},
	{"Put":{"TableName":"app","Item":{"pk":{"S":"EMAIL#a@x"},"sk":{"S":"EMAIL#a@x"}},"ConditionExpression":"attribute_not_exists(pk)"}}]')$$);
SELECT pk AS m19 FROM app WHERE pk LIKE 'EMAIL#%' OR pk IN ('USER#a', 'USER#b') ORDER BY pk;

-- M21 one attribute of an index for many things, each behind a prefix of its own
SELECT dyn_create_table('pets', 'id S', global_indexes => '{"facts": {"partition_key": "kind S", "sort_key": "fact S"}}');
SELECT dyn_put('pets', jsonb_build_object('id', i::text, 'kind', 'pet', 'fact', f))
	FROM unnest(ARRAY['dog:command:sit', 'dog:command:roll', 'dog:command:fetch', 'dog:commander:x', 'cat:treeclimbed:oak', 'cat:treeclimbed:elm',
	'parrot:words:000003', 'parrot:words:000101', 'cat:legs:3:whiskers:8', 'cat:legs:4:whiskers:8', 'cat:legs:4:whiskers:9']) WITH ORDINALITY AS x (f, i);
SELECT q ->> 'fact' AS m21 FROM dyn_query('pets', 'kind = :k AND begins_with(fact, :f)', vals => '{":k": {"S": "pet"}, ":f": {"S": "dog:command:"}}',
	index_name => 'facts') q;
-- M23 a value in the middle is found behind each value before it only: a query for each, no pattern within a key
SELECT legs, q ->> 'fact' AS m23 FROM unnest(ARRAY['3', '4']) legs, dyn_query('pets', 'kind = :k AND begins_with(fact, :f)',
	vals => jsonb_build_object(':k', 'pet', ':f', 'cat:legs:' || legs || ':whiskers:8'), index_name => 'facts') q ORDER BY 1;
SELECT * FROM why($$dyn_query('pets', 'kind = :k AND contains(fact, :f)', vals => '{":k": {"S": "pet"}, ":f": {"S": "whiskers:8"}}', index_name => 'facts')$$);
SELECT * FROM why($$dyn_query('pets', 'kind = :k AND (begins_with(fact, :f) OR begins_with(fact, :g))',
	vals => '{":k": {"S": "pet"}, ":f": {"S": "a"}, ":g": {"S": "b"}}', index_name => 'facts')$$);

-- M26 a ticket is found by its id, and with its user by the index
SELECT dyn_put('app', i::jsonb) FROM (VALUES ('{"pk":"TICKET#123","sk":"TICKET#123","GSI1PK":"ORG#M#USER#BILL","GSI1SK":"TICKET#123"}'),
	('{"pk":"TICKET#456","sk":"TICKET#456","GSI1PK":"ORG#M#USER#BILL","GSI1SK":"TICKET#456"}'),
	('{"pk":"ORG#M","sk":"USER#BILL","GSI1PK":"ORG#M#USER#BILL","GSI1SK":"USER#BILL"}')) v (i);
SELECT dyn_get('app', '{"pk":"TICKET#123","sk":"TICKET#123"}'::jsonb) IS NOT NULL AS m26;
SELECT q ->> 'GSI1SK' AS m26 FROM dyn_query('app', 'GSI1PK = :u', vals => '{":u": {"S": "ORG#M#USER#BILL"}}', index_name => 'GSI1', forward => false) q;
SELECT count(*) AS m26 FROM dyn_query('app', 'pk = :p', vals => '{":p": {"S": "ORG#M"}}');

-- M30 several tables are as good as one: a transaction goes over them, and over SQL's
SELECT dyn_create_table('users', 'id S');
SELECT dyn_create_table('posts', 'id S');
SELECT dyn_transact('[{"Put":{"TableName":"users","Item":{"id":{"S":"u"},"posts":{"N":"1"}}}},
	{"Put":{"TableName":"posts","Item":{"id":{"S":"p"},"user":{"S":"u"}}}}]');
SELECT * FROM why($$dyn_transact('[{"Update":{"TableName":"users","Key":{"id":{"S":"u"}},"UpdateExpression":"ADD posts :1",
	"ExpressionAttributeValues":{":1":{"N":"1"}}}},
	{"Put":{"TableName":"posts","Item":{"id":{"S":"p"}},"ConditionExpression":"attribute_not_exists(id)"}}]')$$);
SELECT u.item ->> 'posts' AS m30, p.item ->> 'user' AS m30 FROM users u JOIN posts p ON p.item ->> 'user' = u.id;

-- M34 what is typed so far is a prefix of the sort key of an index
SELECT dyn_put('app', jsonb_build_object('pk', 'ORG#1', 'sk', 'EMP#' || n, 'GSI1PK', 'NAMES#ORG#1', 'GSI1SK', 'EMP#' || name))
	FROM unnest(ARRAY['John Doe', 'Jane Doe', 'Manoj Fernando']) WITH ORDINALITY AS x (name, n);
SELECT q ->> 'GSI1SK' AS m34 FROM dyn_query('app', 'GSI1PK = :o AND begins_with(GSI1SK, :t)', vals => '{":o": {"S": "NAMES#ORG#1"}, ":t": {"S": "EMP#J"}}',
	index_name => 'GSI1', max_items => 10) q;

-- M35 a session store: put with a time to live, get and delete by token
SELECT dyn_create_table('sessions', 'token S');
SET client_min_messages = warning;
CALL dyn_enable_ttl('sessions', 'expires', hide_expired => true);
RESET client_min_messages;
SELECT dyn_put('sessions', jsonb_build_object('token', t, 'user', 'u', 'expires', floor(extract(epoch FROM now())) + s),
	condition => 'attribute_not_exists(#t)', names => '{"#t": "token"}') FROM (VALUES ('now', 3600), ('past', -10)) v (t, s);
SELECT dyn_get('sessions', '{"token":"now"}'::jsonb, projection => '#u', names => '{"#u":"user"}') AS m35,
	dyn_get('sessions', '{"token":"past"}'::jsonb) IS NULL AS expired;
SELECT dyn_delete('sessions', '{"token":"now"}'::jsonb);
SELECT dyn_get('sessions', '{"token":"now"}'::jsonb) IS NULL AS m35;
CALL dyn_sweep_ttl('sessions');

SET client_min_messages = warning;
DROP SCHEMA entity_rows CASCADE;
\set ECHO none
\i test/sql/switch_on.sql
\set ECHO all
