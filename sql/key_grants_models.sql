-- Grants by leading keys, where models read and write: entities, their views, access patterns, jobs; and foreign keys, rules and cursors
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
CREATE ROLE regress_models_owner;
CREATE ROLE regress_models_a;
CREATE SCHEMA models AUTHORIZATION regress_models_owner;
GRANT ALL ON SCHEMA models TO regress_models_a;
SET search_path = models, public;
CREATE FUNCTION try(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text;
BEGIN
  EXECUTE statement INTO result;
  RETURN coalesce(result, '-');
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
SET ROLE regress_models_owner;
SELECT dyn_create_table('app', 'pk S', 'sk S', local_indexes => '{"ByNote": {"sort_key": "note S"}}',
	global_indexes => '{"ByState": {"partition_key": "state S", "sort_key": "sk S"}}');
SELECT dyn_create_entity('app', 'Order', '{"pk": "T#<Tenant>", "sk": "O#<Id>"}', '{"Tenant": "S", "Id": "S", "note": "S", "state": "S"}');
SELECT dyn_create_entity_view('app', 'Order', 'orders');
SELECT dyn_put_entity('app', 'Order', jsonb_build_object('Tenant', t, 'Id', i::text, 'note', 'n' || i, 'state', 'open'))
	FROM unnest(ARRAY['a', 'b']) t, generate_series(1, 2) i;
SELECT dyn_create_access_pattern('app', 'orders of', 'Query',
	'{"KeyConditionExpression": "pk = :pk", "ExpressionAttributeValues": {":pk": {"S": "T#<Tenant>"}}}');
SELECT dyn_create_access_pattern('app', 'all', 'Scan', '{}');
SELECT dyn_grant_keys('app', 'regress_models_a', '{GetItem,Query,PutItem,UpdateItem,DeleteItem,ConditionCheckItem,PartiQLUpdate}', '{"T#a"}');
SELECT dyn_grant_keys('app', 'regress_models_a', '{Query}', '{"T#a"}', 'ByNote');
GRANT SELECT, INSERT, UPDATE, DELETE ON orders TO regress_models_a;
RESET ROLE;
CREATE VIEW calls AS SELECT * FROM (VALUES
	(1, $$SELECT string_agg("Tenant" || "Id", ' ') FROM orders$$),
	(2, $$SELECT count(*) FROM orders WHERE "Tenant" = 'b' AND "Id" = '1'$$),
	(3, $$SELECT count(*) FROM orders WHERE state = 'open'$$),
	(4, $$INSERT INTO orders ("Tenant", "Id") VALUES ('b', '1')$$),
	(5, $$INSERT INTO orders ("Tenant", "Id") VALUES ('b', '3')$$),
	(6, $$INSERT INTO orders ("Tenant", "Id") VALUES ('a', '3') RETURNING "Id"$$),
	(7, $$UPDATE orders SET note = 'x' WHERE "Tenant" = 'b' RETURNING 1$$),
	(8, $$UPDATE orders SET note = 'x' WHERE "Id" = '1' RETURNING "Tenant"$$),
	(9, $$DELETE FROM orders WHERE "Id" = '3' RETURNING "Tenant"$$),
	(10, $$SELECT dyn_get_entity('app', 'Order', '{"Tenant": {"S": "b"}, "Id": {"S": "1"}}')$$),
	(11, $$SELECT dyn_get_entity('app', 'Order', '{"Tenant": {"S": "a"}, "Id": {"S": "1"}}')$$),
	(12, $$SELECT dyn_update_entity('app', 'Order', '{"Tenant": {"S": "b"}, "Id": {"S": "1"}}', 'SET note = note', condition => 'attribute_exists(pk)')$$),
	(13, $$SELECT dyn_delete_entity('app', 'Order', '{"Tenant": {"S": "b"}, "Id": {"S": "9"}}')$$),
	(14, $$SELECT count(*) FROM dyn_query('app', 'pk = :p AND note = :n', vals => '{":p": {"S": "T#b"}, ":n": {"S": "n1"}}', index_name => 'ByNote')$$),
	(15, $$SELECT count(*) FROM dyn_query('app', 'pk = :p AND note = :n', vals => '{":p": {"S": "T#a"}, ":n": {"S": "n2"}}', index_name => 'ByNote')$$),
	(16, $$SELECT count(*) FROM dyn_run_access_pattern('app', 'orders of', '{"Tenant": {"S": "b"}}')$$),
	(17, $$SELECT count(*) FROM dyn_run_access_pattern('app', 'orders of', '{"Tenant": {"S": "a"}}')$$),
	(18, $$SELECT count(*) FROM dyn_run_access_pattern('app', 'all', '{}')$$),
	(19, $$SELECT count(*) FROM dyn_check_entities('app')$$),
	(20, $$SELECT dyn_request('PutItem', '{"TableName": "app", "ReturnItemCollectionMetrics": "SIZE", "Item": {"pk": {"S": "T#a"}, "sk": {"S": "m"}}}') ->>
		'ItemCollectionMetrics' IS NOT NULL$$),
	(21, $$SELECT dyn_transact('[{"PutEntity": {"Entity": "Order", "TableName": "app", "Attributes": {"Tenant": {"S": "b"}, "Id": {"S": "1"}}}}]')$$),
	(22, $$SELECT count(*) FROM dyn_table_chart('app')$$),
	(23, $$SELECT count(*) FROM dyn_explain_statement('UPDATE app SET x = 1 WHERE pk = ''T#b'' AND sk = ''O#1''')$$),
	(24, $$SELECT store = CASE WHEN current_setting('dynamo_table.direct_store')::bool THEN 'direct' ELSE 'sql' END
		FROM dyn_explain_statement('UPDATE app SET x = 1 WHERE pk = ''T#a'' AND sk = ''O#1''')$$),
	(25, $$CREATE TABLE mine (pk text, sk text, FOREIGN KEY (pk, sk) REFERENCES app)$$)) v (n, call);
GRANT SELECT ON calls TO regress_models_a;
SET ROLE regress_models_a;
SELECT n, try(call) FROM calls ORDER BY n;
CALL dyn_refresh_entity('app', 'Order');
SET ROLE regress_models_owner;
SELECT pk, sk, item ->> 'note' FROM app ORDER BY 1, 2;

-- a role's own table, whose trigger writes to the view: what it writes is asked for, though a call is under way
SET ROLE regress_models_a;
CREATE TABLE audit (what text);
CREATE FUNCTION meddle() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO audit SELECT 'sees ' || string_agg(DISTINCT "Tenant", ',') FROM orders;
  INSERT INTO audit VALUES (try($q$UPDATE orders SET note = 'stolen' WHERE "Tenant" = 'b' RETURNING note$q$)),
    (try($q$INSERT INTO orders ("Tenant", "Id") VALUES ('b', '7')$q$)), (try($q$SELECT dyn_get('app', '{"pk": {"S": "T#b"}, "sk": {"S": "O#1"}}')$q$));
  RETURN NULL;
END $$;
CREATE TABLE told (what text);
CREATE TRIGGER meddle AFTER INSERT ON told FOR EACH ROW EXECUTE FUNCTION meddle();
GRANT INSERT ON told TO regress_models_owner;
SET ROLE regress_models_owner;
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO told VALUES (NEW.pk); RETURN NULL; END $$;
CREATE TRIGGER tell AFTER UPDATE ON app FOR EACH ROW EXECUTE FUNCTION tell();
SET ROLE regress_models_a;
SELECT dyn_update('app', '{"pk": {"S": "T#a"}, "sk": {"S": "O#1"}}', 'SET n = :n', vals => '{":n": {"N": "1"}}', return_values => 'UPDATED_NEW');
SELECT * FROM audit;
SET ROLE regress_models_owner;
DROP TRIGGER tell ON app;

-- a setting that turns policies off, cursors that outlive a change of role, and a grant that goes while they are open
SET ROLE regress_models_a;
SET row_security = off;
SELECT try('SELECT count(*) FROM app'), try($$SELECT count(*) > 0 FROM dyn_query('app', 'pk = :p', vals => '{":p": {"S": "T#b"}}')$$);
RESET row_security;
PREPARE q AS SELECT count(*) FROM dyn_query('app', 'pk = :p', vals => '{":p": {"S": "T#b"}}');
SET ROLE regress_models_owner;
EXECUTE q;
SET ROLE regress_models_a;
EXECUTE q;
PREPARE own AS SELECT count(*) FROM dyn_query('app', 'pk = :p', vals => '{":p": {"S": "T#a"}}');
EXECUTE own;
SET ROLE regress_models_owner;
SELECT dyn_revoke_keys('app', 'regress_models_a', '{Query}', '{"T#a"}');
SET ROLE regress_models_a;
EXECUTE own;
SELECT count(*) FROM app;

RESET ROLE;
SET client_min_messages = error;
DROP OWNED BY regress_models_a, regress_models_owner CASCADE;
DROP SCHEMA IF EXISTS models CASCADE;
DROP ROLE regress_models_owner, regress_models_a;
