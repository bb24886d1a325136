-- dyn_grant_keys(): actions and leading keys of roles, checked by calls and by row-level security
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
CREATE ROLE regress_keys_owner;
CREATE ROLE regress_keys_a;
CREATE ROLE regress_keys_b;
CREATE ROLE regress_keys_app;
CREATE ROLE regress_keys_group;
CREATE ROLE regress_keys_member IN ROLE regress_keys_group;
CREATE ROLE regress_keys_late;
CREATE SCHEMA keys AUTHORIZATION regress_keys_owner;
GRANT USAGE ON SCHEMA keys TO PUBLIC;
SET search_path = keys, public;
CREATE FUNCTION try(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text;
BEGIN
  EXECUTE statement INTO result;
  RETURN coalesce(result, '-');
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
SET ROLE regress_keys_owner;
SELECT dyn_create_table('app', 'pk S', 'sk S');
CALL dyn_create_index('app', 'by_kind', 'kind S', 'sk S');
CALL dyn_create_index('app', 'some', 'kind S', 'n N', projection => 'KEYS_ONLY');
SELECT dyn_put('app', jsonb_build_object('pk', t, 'sk', 'i' || i, 'kind', 'K' || i, 'n', i)) FROM unnest(ARRAY['A', 'B']) t, generate_series(1, 2) i;
GRANT SELECT, INSERT, UPDATE, DELETE ON app TO regress_keys_app;
SELECT dyn_grant_keys('app', 'regress_keys_a',
	'{GetItem,Query,PutItem,UpdateItem,DeleteItem,BatchGetItem,BatchWriteItem,ConditionCheckItem,PartiQL*}', '{A}');
SELECT dyn_grant_keys('app', 'regress_keys_b', '{dynamodb:Get*}', '{B}');
SELECT dyn_grant_keys('app', 'regress_keys_b', '{Query}', '{K1}', 'some');
SELECT dyn_grant_keys('app', 'regress_keys_group', '{Query,UpdateItem}', '{"${role}#*"}');
GRANT SELECT ON app TO regress_keys_late;
SELECT relation, role, index_name, leading_keys, actions FROM dyn_key_grants ORDER BY 2::text, 3;
SELECT polname, polcmd, polroles::regrole[], pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid) FROM pg_policy
	WHERE polrelid = 'app'::regclass ORDER BY 1;
SELECT replace(relacl::text, 'Dxtm', 'Dxt') AS relacl FROM pg_class WHERE oid = 'app'::regclass;

-- calls
RESET ROLE;
CREATE VIEW calls AS SELECT * FROM (VALUES
  ('get', $$SELECT dyn_get('app', '{"pk":{"S":"KEY"},"sk":{"S":"i1"}}')$$),
  ('get nothing', $$SELECT dyn_get('app', '{"pk":{"S":"KEY"},"sk":{"S":"none"}}')$$),
  ('put', $$SELECT dyn_put('app', '{"pk":{"S":"KEY"},"sk":{"S":"i3"}}', return_values => 'ALL_OLD')$$),
  ('put nothing', $$SELECT dyn_put('app', '{"pk":{"S":"KEY"},"sk":{"S":"i3"}}', condition => 'attribute_not_exists(pk)')$$),
  ('update', $$SELECT dyn_update('app', '{"pk":{"S":"KEY"},"sk":{"S":"i1"}}', 'SET x = :x', vals => '{":x":{"N":"1"}}',
	return_values => 'ALL_NEW')$$),
  ('delete', $$SELECT dyn_delete('app', '{"pk":{"S":"KEY"},"sk":{"S":"i3"}}', return_values => 'ALL_OLD')$$),
  ('query', $$SELECT count(*) FROM dyn_query('app', 'pk = :p', vals => '{":p":{"S":"KEY"}}')$$),
  ('query by_kind', $$SELECT count(*) FROM dyn_query('app', 'kind = :p', vals => '{":p":{"S":"K1"}}', index_name => 'by_kind')$$),
  ('query some', $$SELECT string_agg(q::text, ' ') FROM dyn_query('app', 'kind = :p', vals => '{":p":{"S":"K1"}}', index_name => 'some') q$$),
  ('query some of K2', $$SELECT count(*) FROM dyn_query('app', 'kind = :p', vals => '{":p":{"S":"K2"}}', index_name => 'some')$$),
  ('scan', $$SELECT count(*) FROM dyn_scan('app')$$),
  ('scan by_kind', $$SELECT count(*) FROM dyn_scan('app', index_name => 'by_kind')$$),
  ('batch get', $$SELECT count(*) FROM dyn_batch_get('app',
	'{"{\"pk\":{\"S\":\"KEY\"},\"sk\":{\"S\":\"i1\"}}","{\"pk\":{\"S\":\"KEY\"},\"sk\":{\"S\":\"i2\"}}"}'::dyn_item[])$$),
  ('batch get both', $$SELECT count(*) FROM dyn_batch_get('app',
	'{"{\"pk\":{\"S\":\"A\"},\"sk\":{\"S\":\"i1\"}}","{\"pk\":{\"S\":\"B\"},\"sk\":{\"S\":\"i2\"}}"}'::dyn_item[])$$),
  ('batch write', $$SELECT dyn_batch_write('app', puts => '{"{\"pk\":{\"S\":\"KEY\"},\"sk\":{\"S\":\"b1\"}}"}'::dyn_item[],
	deletes => '{"{\"pk\":{\"S\":\"KEY\"},\"sk\":{\"S\":\"b2\"}}"}'::dyn_item[])$$),
  ('transact', $$SELECT dyn_request('TransactWriteItems',
	'{"TransactItems":[{"Put":{"TableName":"app","Item":{"pk":{"S":"KEY"},"sk":{"S":"t1"}}}},
	{"ConditionCheck":{"TableName":"app","Key":{"pk":{"S":"KEY"},"sk":{"S":"none"}},"ConditionExpression":"attribute_not_exists(pk)"}},
	{"Delete":{"TableName":"app","Key":{"pk":{"S":"KEY"},"sk":{"S":"gone"}}}},
	{"Update":{"TableName":"app","Key":{"pk":{"S":"KEY"},"sk":{"S":"t2"}},"UpdateExpression":"SET x = pk"}}]}')$$),
  ('transact check', $$SELECT dyn_request('TransactWriteItems',
	'{"TransactItems":[{"Put":{"TableName":"app","Item":{"pk":{"S":"A"},"sk":{"S":"t1"}}}},
	{"ConditionCheck":{"TableName":"app","Key":{"pk":{"S":"KEY"},"sk":{"S":"i1"}},"ConditionExpression":"attribute_exists(pk)"}}]}')$$),
  ('transact get', $$SELECT dyn_request('TransactGetItems',
	'{"TransactItems":[{"Get":{"TableName":"app","Key":{"pk":{"S":"KEY"},"sk":{"S":"i1"}},"ProjectionExpression":"pk"}}]}')$$),
  ('token', $$SELECT dyn_request('TransactWriteItems',
	'{"ClientRequestToken":"t","TransactItems":[{"Put":{"TableName":"app","Item":{"pk":{"S":"KEY"},"sk":{"S":"t3"}}}}]}')$$),
  ('start key', $$SELECT dyn_request('Query',
	'{"TableName":"app","KeyConditionExpression":"pk = :p",
	"ExpressionAttributeValues":{":p":{"S":"KEY"}},
	"ExclusiveStartKey":{"pk":{"S":"B"},"sk":{"S":"i1"}},"Select":"COUNT"}')$$),
  ('select', $$SELECT count(*) FROM dyn_execute('SELECT * FROM app WHERE pk = ''KEY''')$$),
  ('select in', $$SELECT count(*) FROM dyn_execute('SELECT * FROM app WHERE pk IN [''A'', ''B'']')$$),
  ('select or', $$SELECT count(*) FROM dyn_execute('SELECT * FROM app WHERE pk = ''A'' OR pk = ''B''')$$),
  ('select index', $$SELECT count(*) FROM dyn_execute('SELECT * FROM app.by_kind WHERE kind = ''K1''')$$),
  ('insert', $$SELECT dyn_execute('INSERT INTO app VALUE {''pk'':''KEY'',''sk'':''p1''}')$$),
  ('insert twice', $$SELECT dyn_execute('INSERT INTO app VALUE {''pk'':''KEY'',''sk'':''i1''}')$$),
  ('set', $$SELECT dyn_execute('UPDATE app SET x = 1 WHERE pk = ''KEY'' AND sk = ''p1''')$$),
  ('set nothing', $$SELECT dyn_execute('UPDATE app SET x = 1 WHERE pk = ''KEY'' AND sk = ''p9''')$$),
  ('remove', $$SELECT dyn_execute('DELETE FROM app WHERE pk = ''KEY'' AND sk = ''p1''')$$),
  ('statements', $$SELECT dyn_request('BatchExecuteStatement', '{"Statements":[
	{"Statement":"SELECT pk FROM app WHERE pk = ''KEY'' AND sk = ''i1''"},
	{"Statement":"SELECT pk FROM app WHERE pk = ''A'' AND sk = ''i1''"}]}')$$),
  ('transaction', $$SELECT dyn_request('ExecuteTransaction', '{"TransactStatements":[
	{"Statement":"SELECT pk FROM app WHERE pk = ''KEY'' AND sk = ''i1''"}]}')$$),
  ('explain', $$SELECT store = CASE WHEN current_setting('dynamo_table.direct_store')::bool THEN 'direct' ELSE 'sql' END FROM dyn_explain('app',
	'pk = :p', vals => '{":p":{"S":"KEY"}}')$$),
  ('statistics', $$SELECT count(*) FROM dyn_table_statistics('app')$$),
  ('export', $$SELECT count(*) FROM dyn_export('app')$$),
  ('sql select', $$SELECT string_agg(DISTINCT pk, ',') FROM app$$),
  ('sql count', $$SELECT count(*) FROM app TABLESAMPLE system (100)$$),
  ('sql insert', $$INSERT INTO app (item) VALUES ('{"pk":{"S":"KEY"},"sk":{"S":"s1"}}') RETURNING sk$$),
  ('sql insert there', $$INSERT INTO app (item) VALUES ('{"pk":{"S":"KEY"},"sk":{"S":"i1"}}') RETURNING sk$$),
  ('sql update', $$WITH u AS (UPDATE app SET item = item WHERE pk = 'KEY' RETURNING 1) SELECT count(*) FROM u$$),
  ('sql delete', $$WITH u AS (DELETE FROM app WHERE pk = 'KEY' AND sk = 's1' RETURNING 1) SELECT count(*) FROM u$$),
  ('sql on conflict', $$INSERT INTO app (item) VALUES ('{"pk":{"S":"KEY"},"sk":{"S":"i1"}}') ON CONFLICT (pk,
	sk) DO NOTHING RETURNING sk$$)) v (name, call);
GRANT SELECT ON calls TO PUBLIC;
SET ROLE regress_keys_a;
SELECT name, key, try(replace(call, 'KEY', key)) FROM calls, unnest(ARRAY['A', 'B']) key;
SET ROLE regress_keys_b;
SELECT name, key, try(replace(call, 'KEY', key)) FROM calls, unnest(ARRAY['A', 'B']) key;
SET ROLE regress_keys_app;
SELECT name, key, try(replace(call, 'KEY', key)) FROM calls, unnest(ARRAY['B']) key;

-- a role without a grant is left to policies: it sees nothing
SET ROLE regress_keys_late;
SELECT try($$SELECT dyn_get('app', '{"pk":{"S":"A"},"sk":{"S":"i1"}}')$$), try('SELECT count(*) FROM dyn_scan(''app'')'), try('SELECT count(*)
	FROM app');

-- members have what their role is granted, and the name in ${role} is that of who calls; what was planned before does not outlive a membership
RESET ROLE;
GRANT regress_keys_late TO regress_keys_member;
SELECT dyn_put('app', '{"pk":{"S":"regress_keys_member#1"},"sk":{"S":"m"}}'), dyn_put('app', '{"pk":{"S":"regress_keys_group#1"},"sk":{"S":"g"}}');
SET ROLE regress_keys_member;
SELECT try(format($$SELECT count(*) FROM dyn_query('app', 'pk = :p', vals => '{":p":{"S":"%s"}}')$$, k))
	FROM unnest(ARRAY['regress_keys_member#1', 'regress_keys_group#1', 'regress_keys_member']) k;
SELECT pk FROM app;
SET ROLE regress_keys_group;
SELECT pk FROM app;
RESET ROLE;
ALTER ROLE regress_keys_group RENAME TO "regress_keys_*";
SET ROLE "regress_keys_*";
SELECT pk FROM app;
SELECT try($$SELECT count(*) FROM dyn_query('app', 'pk = :p', vals => '{":p":{"S":"regress_keys_member#1"}}')$$);
RESET ROLE;
REVOKE "regress_keys_*" FROM regress_keys_member;
SET ROLE regress_keys_member;
SELECT try($$SELECT count(*) FROM dyn_query('app', 'pk = :p', vals => '{":p":{"S":"regress_keys_member#1"}}')$$);
RESET ROLE;
ALTER ROLE "regress_keys_*" RENAME TO regress_keys_group;

-- code of the owner that a call fires is plain SQL of who calls, and what it calls is asked again
SET ROLE regress_keys_owner;
CREATE TABLE seen (what text);
GRANT ALL ON seen TO PUBLIC;
CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
  INSERT INTO seen SELECT current_user || ' sees ' || string_agg(DISTINCT pk, ',') FROM app;
  BEGIN
    INSERT INTO seen SELECT 'reads ' || count(*) FROM public.dyn_query('app', 'pk = :p', vals => '{":p":{"S":"B"}}');
  EXCEPTION WHEN insufficient_privilege THEN INSERT INTO seen VALUES (SQLERRM); END;
  RETURN NULL; END$$;
CREATE FUNCTION everything() RETURNS bigint LANGUAGE sql SECURITY DEFINER SET search_path = keys, public AS $$SELECT count(*) FROM dyn_scan('app')$$;
CREATE TRIGGER look AFTER INSERT OR UPDATE ON app FOR EACH ROW EXECUTE FUNCTION look();
SET ROLE regress_keys_a;
SELECT try($$SELECT dyn_put('app', '{"pk":{"S":"A"},"sk":{"S":"i1"},"again":{"S":"x"}}')$$), everything() > 10;
SELECT * FROM seen;
SET ROLE regress_keys_owner;
DROP TRIGGER look ON app;

-- restrictive policies hold for calls too
CREATE POLICY no_i2 ON app AS RESTRICTIVE TO regress_keys_a USING (sk <> 'i2');
SET ROLE regress_keys_a;
SELECT string_agg(sk, ' ' ORDER BY sk) FROM app;
SELECT dyn_get('app', '{"pk":{"S":"A"},"sk":{"S":"i1"}}') ->> 'sk', dyn_get('app', '{"pk":{"S":"A"},"sk":{"S":"i2"}}') ->> 'sk',
  (SELECT string_agg(q ->> 'sk', ' ') FROM dyn_query('app', 'pk = :p', vals => '{":p":{"S":"A"}}') q);
SELECT try($$SELECT dyn_put('app', '{"pk":{"S":"A"},"sk":{"S":"i2"}}')$$);
SET ROLE regress_keys_owner;
DROP POLICY no_i2 ON app;
-- what planning a call runs is plain SQL, too
CREATE FUNCTION peek() RETURNS text STABLE LANGUAGE plpgsql AS $$BEGIN
  IF current_setting('keys.peek', true) = 'on' THEN
    PERFORM set_config('keys.peek', 'off', false);
    PERFORM set_config('keys.peek', (SELECT string_agg(DISTINCT pk, ',') FROM keys.app), false);
  END IF;
  RETURN 'none'; END$$;
CREATE POLICY peeks ON app AS RESTRICTIVE TO regress_keys_a USING (sk <> keys.peek());
SET ROLE regress_keys_a;
SET keys.peek = on;
SELECT string_agg(q ->> 'sk', ' ') FROM dyn_query('app', 'pk = :p', vals => '{":p":{"S":"A"}}') q;
SHOW keys.peek;
SET ROLE regress_keys_owner;
DROP POLICY peeks ON app;

-- streams, counts and what reads the whole table
SET ROLE regress_keys_a;
SELECT try('SELECT count(*) FROM dyn_table_statistics(''app'')'), try('SELECT count(*) FROM dyn_check_table(''app'')'),
  try('SELECT dyn_describe_table(''app'') ->> ''ItemCount'''), try('SELECT items FROM dyn_tables WHERE table_name = ''app''');
SELECT count(*) FROM pg_stats WHERE tablename = 'app';
CALL dyn_sweep_ttl('app');
SELECT try('SELECT count(*) FROM dyn_ttl_tables WHERE due_items IS NOT NULL');
SET ROLE regress_keys_app;
SELECT try('SELECT count(*) FROM dyn_read_stream(''app'')'), try('SELECT (dyn_describe_table(''app'') ->> ''ItemCount'')::int > 10');
CALL dyn_sweep_ttl('app');
SET ROLE regress_keys_a;
SELECT try($$SELECT count(*) FROM dyn_read_stream('app')$$);
SELECT try(format($$SELECT written FROM dyn_import_lines('app', '{"Item":{"pk":{"S":"%s"},"sk":{"S":"imported"}}}')$$, key))
	FROM unnest(ARRAY['A', 'B']) key;
COPY (SELECT pk FROM app WHERE sk = 'i1') TO STDOUT;

-- hostile policies by an owner: constants of any value, and none
SET ROLE regress_keys_owner;
CREATE POLICY h1 ON app TO regress_keys_b USING (dynamo_internal.key_granted(pk, NULL, NULL, NULL));
CREATE POLICY h2 ON app TO regress_keys_b USING (dynamo_internal.key_granted(pk, ',,x,Scan,', '', '{{a,b},{NULL,"${"}}'));
CREATE POLICY h3 ON app TO regress_keys_b USING (dynamo_internal.key_granted(pk, lower(pk), NULL, ARRAY[pk]));
CREATE POLICY h4 ON app TO PUBLIC USING (dynamo_internal.key_granted(1, 'Query', NULL, '{}'));
SELECT role, index_name, leading_keys, actions FROM dyn_key_grants WHERE role::text NOT LIKE 'regress_keys_[ag]%' ORDER BY 1::text, 2, 3;
SET ROLE regress_keys_b;
SELECT try('SELECT count(*) > 0 FROM dyn_scan(''app'')'), try($$SELECT dyn_get('app', '{"pk":{"S":"A"},"sk":{"S":"i1"}}')$$),
	try('SELECT count(*) > 0 FROM app');
SET ROLE regress_keys_owner;
-- another function of that name, and patterns that take hours
RESET ROLE;
CREATE FUNCTION dynamo_internal.key_granted(key text, actions int, index int, leading_keys int) RETURNS boolean LANGUAGE sql AS 'SELECT false';
CREATE POLICY h5 ON app TO regress_keys_late USING (dynamo_internal.key_granted(pk, 1, 2, 3));
SELECT count(*) FROM dyn_key_grants WHERE role = 'regress_keys_late'::regrole;
DROP POLICY h5 ON app;
DROP FUNCTION dynamo_internal.key_granted(text, int, int, int);
SET statement_timeout = '200ms';
SELECT dynamo_internal.key_granted(repeat('a', 8000000), '', NULL, ARRAY['*' || repeat('a', 4000000) || 'b']);
RESET statement_timeout;
SET ROLE regress_keys_owner;
DROP POLICY h1 ON app; DROP POLICY h2 ON app; DROP POLICY h3 ON app; DROP POLICY h4 ON app;

-- requests without a key, of which the call warns; a value is whole, numbers and bytes are as IAM has them, and * and ? stand for others
SET client_min_messages = notice;
SELECT dyn_create_table('num', 'k N'), dyn_create_table('bytes', 'k B');
SELECT dyn_put('num', jsonb_build_object('k', k)) FROM unnest(ARRAY[1, 10, 1.5]) k;
SELECT dyn_put('bytes', '{"k":{"B":"AQI="}}'), dyn_put('bytes', '{"k":{"B":"AQM="}}');
SELECT dyn_grant_keys('num', 'regress_keys_a', '{Get*,Scan,Query}', '{1.5,10}'), dyn_grant_keys('bytes', 'regress_keys_a', '{GetItem,Query}',
	'{AQI=}');
SET ROLE regress_keys_a;
SELECT try(format($$SELECT dyn_get('num', '{"k":{"N":"%s"}}')$$, k)) FROM unnest(ARRAY['1.50', '10', '1']) k;
SELECT count(*) FROM dyn_scan('num');
SELECT k FROM num ORDER BY 1;
SELECT try($$SELECT dyn_get('bytes', '{"k":{"B":"AQI="}}')$$), try($$SELECT dyn_get('bytes', '{"k":{"B":"AQM="}}')$$), (SELECT count(*) FROM bytes);
RESET ROLE;
SELECT pattern, string_agg(key, ' ' ORDER BY key COLLATE "C") FROM unnest(ARRAY['a', 'a*', '*a', '?', '??', '*', 'a${*}', '${?}', '${$}{*}',
	'*b*d', 'a*b*c*d', '']) pattern,
  unnest(ARRAY['a', 'ab', 'ba', 'a*', '?', 'é', '${*}', '', 'abcbd', 'éé']) key WHERE dynamo_internal.key_granted(key, '', NULL,
	ARRAY[pattern]) GROUP BY 1 ORDER BY pattern COLLATE "C";

-- each action by itself has the privileges that it takes, with an item and without one
SET ROLE regress_keys_owner;
SELECT dyn_create_table('one', 'k S');
CREATE FUNCTION one(action text, call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text;
BEGIN
  PERFORM dyn_grant_keys('one', 'regress_keys_a', ARRAY[action], '{A,B,OTHER}');
  SET LOCAL ROLE regress_keys_a;
  result := try(replace(call, 'KEY', 'A')) || ' ' || try(replace(call, 'KEY', 'B'));
  SET LOCAL ROLE regress_keys_owner;
  PERFORM dyn_revoke_keys('one', 'regress_keys_a');
  RETURN result;
END $$;
SELECT dyn_put('one', '{"k":{"S":"A"}}');
SELECT action, one(action, call) FROM (VALUES ('GetItem', $$SELECT dyn_get('one', '{"k":{"S":"KEY"}}')$$),
  ('PutItem', $$SELECT dyn_put('one', '{"k":{"S":"KEY"}}', return_values => 'ALL_OLD')$$), ('DeleteItem', $$SELECT dyn_delete('one', '{"k":{"S":"KEY"}}')$$),
  ('UpdateItem', $$SELECT dyn_update('one', '{"k":{"S":"KEY"}}', return_values => 'ALL_NEW')$$),
  ('BatchWriteItem', $$SELECT dyn_batch_write('one', puts => '{"{\"k\":{\"S\":\"A\"}}"}'::dyn_item[], deletes => '{"{\"k\":{\"S\":\"B\"}}"}'::dyn_item[])$$),
  ('PartiQLDelete', $$SELECT dyn_execute('DELETE FROM one WHERE k = ''KEY''')$$),
  ('PartiQLInsert', $$SELECT dyn_execute('INSERT INTO one VALUE {''k'': ''KEY''}')$$),
  ('PartiQLUpdate', $$SELECT dyn_execute('UPDATE one SET a = 1 WHERE k = ''KEY''')$$),
  ('ConditionCheckItem', $$SELECT dyn_transact('[{"ConditionCheck": {"TableName": "one", "Key": {"k": {"S": "KEY"}},
	"ConditionExpression": "attribute_exists(k)"}}]')$$),
  ('ConditionCheckItem', $$SELECT dyn_transact('[{"ConditionCheck": {"TableName": "one", "Key": {"k": {"S": "OTHER"}},
	"ConditionExpression": "attribute_not_exists(k)"}}]')$$),
  ('DeleteItem', $$SELECT dyn_transact('[{"Delete": {"TableName": "one", "Key": {"k": {"S": "KEY"}}}}]')$$),
  ('UpdateItem', $$SELECT dyn_transact('[{"Update": {"TableName": "one", "Key": {"k": {"S": "KEY"}}, "UpdateExpression": "REMOVE x"}}]')$$)) v (action, call);

-- errors
SET ROLE regress_keys_owner;
SELECT try(c) FROM unnest(ARRAY[$$SELECT dyn_grant_keys('app', 'regress_keys_a', '{Fly}', '{A}')$$, $$SELECT dyn_grant_keys('app',
	'regress_keys_a', '{DescribeTable}')$$, $$SELECT dyn_grant_keys('app', 'regress_keys_a', '{}')$$,
  $$SELECT dyn_grant_keys('app', 'regress_keys_a', '{GetItem}', '{}')$$, $$SELECT dyn_grant_keys('app', 'regress_keys_a', '{GetItem}',
	'{NULL}')$$, $$SELECT dyn_grant_keys('app', 'regress_keys_a', '{GetItem}', '{"${aws:username}"}')$$,
  $$SELECT dyn_grant_keys('app', 'regress_keys_a', '{GetItem}', '{A}', 'some')$$, $$SELECT dyn_grant_keys('app', 'regress_keys_a', '{Query}',
	'{A}', 'none')$$, $$SELECT dyn_grant_keys('app', 'regress_keys_owner', '{Query}', '{A}')$$,
  $$SELECT dyn_grant_keys('app', 0, '{Query}', '{A}')$$, $$SELECT dyn_grant_keys('nowhere', 'regress_keys_a', '{Query}', '{A}')$$,
	$$SELECT dyn_grant_keys('app', 'regress_keys_a', NULL)$$]) c;
SET ROLE regress_keys_a;
SELECT try($$SELECT dyn_grant_keys('app', 'regress_keys_a', '{Query}', '{B}')$$), try($$SELECT dyn_revoke_keys('app', 'regress_keys_b')$$);
SET ROLE regress_keys_owner;
SELECT dyn_create_table('open', 'k S');
GRANT SELECT ON open TO PUBLIC;
SELECT try($$SELECT dyn_grant_keys('open', 'regress_keys_a', '{Query}', '{A}')$$);
REVOKE SELECT ON open FROM PUBLIC;
GRANT SELECT (k) ON open TO regress_keys_app;
-- a role whose rights come from another one, too
GRANT ALL ON open TO regress_keys_group;
RESET ROLE;
GRANT regress_keys_group TO regress_keys_member;
SET ROLE regress_keys_owner;
SELECT dyn_grant_keys('open', 'regress_keys_member', '{Query}', '{A}');
SELECT policyname, roles FROM pg_policies WHERE tablename = 'open' ORDER BY 1;
-- and one that had all
SELECT dyn_grant_keys('open', 'regress_keys_group', '{Query}', '{A}');
SELECT policyname, roles FROM pg_policies WHERE tablename = 'open' ORDER BY 1;

-- what was granted is revoked: some actions, what is not there, all; after the last one the table is as it was before the first
SELECT dyn_revoke_keys('app', 'regress_keys_a', '{PartiQL*,Batch*,UpdateItem,Query}', '{A}'), dyn_revoke_keys('app', 'regress_keys_a',
	'{GetItem}'), dyn_revoke_keys('app', 'regress_keys_late');
SELECT dyn_grant_keys('app', 'regress_keys_a', '{Put*,GetItem}', '{A,A}');
SELECT role, index_name, leading_keys, actions FROM dyn_key_grants WHERE relation = 'app'::regclass AND role = 'regress_keys_a'::regrole;
SET ROLE regress_keys_a;
SELECT try($$SELECT dyn_get('app', '{"pk":{"S":"A"},"sk":{"S":"i1"}}') ->> 'sk'$$), try($$SELECT count(*) FROM dyn_query('app', 'pk = :p',
	vals => '{":p":{"S":"A"}}')$$), (SELECT count(*) FROM app);
SET ROLE regress_keys_owner;
SELECT dyn_revoke_keys('app', 'regress_keys_a'), dyn_revoke_keys('app', 'regress_keys_b'), dyn_revoke_keys('app', 'regress_keys_group');
SELECT relrowsecurity, replace(relacl::text, 'Dxtm', 'Dxt') AS relacl, (SELECT count(*) FROM pg_policy WHERE polrelid = c.oid)
	FROM pg_class c WHERE oid = 'app'::regclass;
SELECT dyn_revoke_keys('open', 'regress_keys_member'), dyn_revoke_keys('open', 'regress_keys_group');
SELECT relrowsecurity, replace(relacl::text, 'Dxtm', 'Dxt') AS relacl, (SELECT count(*) FROM pg_policy WHERE polrelid = c.oid)
	FROM pg_class c WHERE oid = 'open'::regclass;

-- roles that are dropped, with what they own; the grants of others stay, and so does the table's protection
SELECT dyn_grant_keys('open', 'regress_keys_b', '{Query}', '{B}'), dyn_grant_keys('open', 'regress_keys_a', '{Query}', '{A}');
RESET ROLE;
SELECT try('DROP ROLE regress_keys_b');
DROP OWNED BY regress_keys_b, regress_keys_app;
DROP ROLE regress_keys_b, regress_keys_app;
SELECT policyname, roles FROM pg_policies WHERE tablename = 'open' ORDER BY 1;
ALTER TABLE open RENAME TO shut;
ALTER TABLE shut RENAME COLUMN k TO "the key";
SELECT relation, role, leading_keys, actions FROM dyn_key_grants WHERE relation = 'shut'::regclass;
SELECT try('CALL dyn_detach(''num'')'), try('SELECT * FROM dyn_detach(''num'')');

\set VERBOSITY terse
DROP SCHEMA keys CASCADE;
DELETE FROM dynamo_internal.transact_tokens;
DROP OWNED BY regress_keys_owner, regress_keys_a, regress_keys_group, regress_keys_member, regress_keys_late;
DROP ROLE regress_keys_owner, regress_keys_a, regress_keys_group, regress_keys_member, regress_keys_late;
