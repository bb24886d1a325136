-- What to do about attributes and names that do not fit: hints for those who meet entities first.
\set SHOW_CONTEXT never
SELECT dyn_create_table('app', 'PK S', 'SK S', global_indexes => '{"GSI1": {"partition_key": "GSI1PK S", "sort_key": "GSI1SK N"}}');
SELECT dyn_put_entity('app', 'Session', '{}'::jsonb);
CREATE DOMAIN day AS date;
SELECT dyn_create_entity('app', 'Session', '{"PK": "USER#<User>", "SK": "SESSION#<No:03>"}',
	'{"User": "S", "No": "N integer", "ExpiresAt": "N timestamptz", "At": "S timestamptz(3)", "Local": "S timestamp", "Day": "S date",
	"Days": "N day", "Id": "S uuid",
	"Tags": "SS", "Codes": "NS", "Hashes": "BS", "Picture": "B", "Ok": "BOOL", "Doc": "M", "List": "L", "Nothing": "NULL", "Small": "N smallint",
	"Total": {"type": "N", "required": true}, "Short": {"type": "S", "stored": "s"}}');
CREATE FUNCTION put(more jsonb) RETURNS dyn_item LANGUAGE sql AS $$ SELECT dyn_put_entity('app', 'Session', '{"User": "a", "No": 1, "Total": 1}' || more) $$;
-- times and dates, and what makes them
SELECT put(jsonb_build_object('ExpiresAt', timestamptz '2024-05-06 07:08:09+00'));
SELECT put(jsonb_build_object('ExpiresAt', dyn_to_value(now(), 'N')));
SELECT put('{"At": "yesterday noon"}');
SELECT put('{"At": 1715000000}');
SELECT put(jsonb_build_object('At', dyn_to_value(now(), 'S timestamp(3) with time zone')));
SELECT put('{"Local": true}');
SELECT put(jsonb_build_object('Local', dyn_to_value(localtimestamp, 'S')));
SELECT put('{"Day": "2024-05-06T00:00:00"}');
SELECT put(jsonb_build_object('Day', dyn_to_value(current_date, 'S')));
SELECT put('{"Days": "2024-05-06"}');
SELECT put(jsonb_build_object('Days', dyn_to_value(current_date, 'N')));
-- other values of a wrong type; of the right type nothing more can be said
SELECT put('{"User": 7}');
SELECT put('{"Id": 7}');
SELECT put('{"Id": "x"}');
SELECT put('{"No": "1"}');
SELECT put('{"Small": 70000}');
SELECT put('{"Ok": "true"}');
SELECT put('{"Doc": "{}"}');
SELECT put('{"List": {}}');
SELECT put('{"Tags": ["a"]}');
SELECT put('{"Codes": [1]}');
SELECT put('{"Hashes": ["AAE="]}');
SELECT put('{"Picture": "AAE="}');
SELECT put('{"Nothing": 1}');
SELECT dyn_put_entity('app', 'Session', '{"User": {"S": "a"}, "No": {"N": "2"}, "Total": {"N": "1"}, "Tags": {"SS": ["a"]},
	"Codes": {"NS": ["7"]}, "Hashes": {"BS": ["AAE="]}, "Picture": {"B": "AAE="}, "Doc": {"M": {"a": {"N": "7"}}}, "List": {"L": [{"N": "7"}]}}');
-- also in updates and transactions
SELECT dyn_update_entity('app', 'Session', '{"User": "a", "No": 2}'::jsonb, 'SET ExpiresAt = :t', vals => '{":t": "now"}'::jsonb);
SELECT dyn_transact('[{"DeleteEntity": {"TableName": "app", "Entity": "Session", "Attributes": {"User": {"S": "a"}, "No": {"N": "7"}}}},
	{"PutEntity": {"TableName": "app", "Entity": "Session", "Attributes": {"User": {"S": "a"}, "No": {"N": "1"}, "ExpiresAt": {"S": "now"}}}}]');
SELECT dyn_transact('[{"UpdateEntity": {"TableName": "app", "Entity": "Session", "Attributes": {"User": {"S": "a"}, "No": {"N": "2"}},
	"UpdateExpression": "SET ExpiresAt = :t", "ExpressionAttributeValues": {":t": {"S": "now"}}}}]');
SELECT dyn_batch_write('app', entities => '[{"PutEntity": {"Entity": "Session", "Attributes": {"User": {"N": "7"}}}}]');
-- names, and what is missing
SELECT dyn_put_entity('app', 'Session', '{"User": "a", "No": 1, "total": 1}'::jsonb);
SELECT put('{"Total": null}');
SELECT dyn_get_entity('app', 'Session', '{"user": "a", "No": 1}'::jsonb);
SELECT dyn_get_entity('app', 'Session', '{"User": "a"}'::jsonb);
SELECT dyn_update_entity('app', 'Session', '{"User": "a", "no": 1}'::jsonb);
SELECT put('{"s": "x"}');
SELECT put('{"PK": "x"}');
SELECT put('{"Type": "x"}');
SELECT put('{"PK": "USER#a", "SK": "SESSION#001", "Type": "Session"}');
SELECT dyn_put_entity('app', 'session', '{}'::jsonb);
SELECT dyn_put_entity('app', 'Sessions', '{}'::jsonb);
-- expressions
SELECT dyn_put_entity('app', 'Session', '{"User": "a", "No": 1, "Total": 1}'::jsonb, 'attribute_not_exists(User)');
SELECT dyn_put_entity('app', 'Session', '{"User": "a", "No": 1, "Total": 1}'::jsonb, 'attribute_exists(#User)', names => '{"#User": "User"}');
SELECT dyn_query('app', 'PK = :p AND Status = :s', vals => '{":p": {"S": "USER#a"}, ":s": {"S": "x"}}');
-- views
SELECT dyn_create_entity_view('app', 'Session', unnest => 'tags');
SELECT dyn_create_entity_view('app', 'Session', unnest => 'Nope');
SELECT dyn_create_entity_view('app', 'session');
SELECT dyn_create_entity_view('app', 'Session', 'sessions');
INSERT INTO sessions ("User", "No", "Total") VALUES ('a', 1, 2) ON CONFLICT DO NOTHING;
DROP VIEW sessions;
DROP TABLE app;
DROP FUNCTION put;
DROP DOMAIN day;
