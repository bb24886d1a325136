-- PartiQL statements have the rights of who runs them: privileges, row-level security, and dynamo_table.partiql_scans.
\set SHOW_CONTEXT never
CREATE SCHEMA partiql_rights;
SET search_path = partiql_rights, public;
CREATE ROLE regress_partiql_owner;
CREATE ROLE regress_partiql_user LOGIN;
GRANT USAGE ON SCHEMA partiql_rights TO regress_partiql_user;
GRANT ALL ON SCHEMA partiql_rights TO regress_partiql_owner;
CREATE FUNCTION why(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	EXECUTE 'SELECT count(*) FROM ' || call INTO n;
	RETURN n;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
-- what a statement says, and the call that does the same; changes are taken back
CREATE FUNCTION each(role text, rights text, OUT what text, OUT partiql text, OUT same boolean) RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
	called text;
	calls text[] := ARRAY[
		['get', 'dyn_execute(''SELECT * FROM app WHERE pk = ''''a'''' AND sk = 1'')',
		'dyn_query(''app'', ''pk = :p AND sk = :s'', vals => ''{":p":{"S":"a"},":s":{"N":"1"}}'')'],
		['query', 'dyn_execute(''SELECT * FROM app WHERE pk = ''''a'''''')', 'dyn_query(''app'', ''pk = :p'', vals => ''{":p":{"S":"a"}}'')'],
		['index', 'dyn_execute(''SELECT * FROM app.byKind WHERE kind = ''''k'''''')',
		'dyn_query(''app'', ''kind = :p'', index_name => ''byKind'', vals => ''{":p":{"S":"k"}}'')'],
		['scan', 'dyn_execute(''SELECT * FROM app'')', 'dyn_scan(''app'')'],
		['page', 'dyn_execute_page(''SELECT * FROM app'')', 'dyn_scan_page(''app'')'],
		['explain', 'dyn_explain_statement(''SELECT * FROM app'')', 'dyn_explain(''app'')'],
		['insert', 'dyn_execute(''INSERT INTO app VALUE {''''pk'''': ''''n'''', ''''sk'''': 1}'')',
		'generate_series(1, 1) i WHERE dyn_put(''app'', ''{"pk":{"S":"n"},"sk":{"N":"1"}}'', condition => ''attribute_not_exists(pk)'') IS NOT NULL'],
		['update', 'dyn_execute(''UPDATE app SET n = 1 WHERE pk = ''''a'''' AND sk = 1 RETURNING ALL NEW *'')',
		'generate_series(1, 1) i WHERE dyn_update(''app'', ''{"pk":{"S":"a"},"sk":{"N":"1"}}'', ''SET n = :n'',
		condition => ''attribute_exists(pk)'', vals => ''{":n":{"N":"1"}}'', return_values => ''ALL_NEW'') IS NOT NULL'],
		['delete', 'dyn_execute(''DELETE FROM app WHERE pk = ''''a'''' AND sk = 1 RETURNING ALL OLD *'')',
		'generate_series(1, 1) i WHERE dyn_delete(''app'', ''{"pk":{"S":"a"},"sk":{"N":"1"}}'', return_values => ''ALL_OLD'') IS NOT NULL']];
BEGIN
	BEGIN
		EXECUTE rights;
		EXECUTE format('SET LOCAL ROLE %I', role);
		FOR i IN 1 .. array_length(calls, 1) LOOP
			BEGIN
				partiql := why(calls[i][2]);
				RAISE EXCEPTION USING ERRCODE = 'ZZ001';
			EXCEPTION WHEN SQLSTATE 'ZZ001' THEN
			END;
			BEGIN
				called := why(calls[i][3]);
				RAISE EXCEPTION USING ERRCODE = 'ZZ001';
			EXCEPTION WHEN SQLSTATE 'ZZ001' THEN
			END;
			what := calls[i][1];
			same := called = partiql;
			RETURN NEXT;
		END LOOP;
		RAISE EXCEPTION USING ERRCODE = 'ZZ000';
	EXCEPTION WHEN SQLSTATE 'ZZ000' THEN
	END;
END $$;
SET ROLE regress_partiql_owner;
SELECT dyn_create_table('app', 'pk S', 'sk N', global_indexes => '{"byKind":{"partition_key":"kind S"}}');
SELECT count(dyn_put('app', jsonb_build_object('pk', p, 'sk', s, 'kind', 'k'))) FROM unnest(ARRAY['a', 'b']) p, generate_series(1, 2) s;
RESET ROLE;

-- privileges: of others and of columns
SELECT rights, e.* FROM unnest(ARRAY['SELECT 1', 'GRANT SELECT ON app TO regress_partiql_user', 'GRANT SELECT, INSERT ON app TO regress_partiql_user',
	'GRANT SELECT, INSERT, UPDATE ON app TO regress_partiql_user', 'GRANT SELECT, DELETE ON app TO regress_partiql_user',
	'GRANT INSERT, UPDATE, DELETE ON app TO regress_partiql_user', 'GRANT SELECT (pk, sk) ON app TO regress_partiql_user',
	'GRANT SELECT (item, pk, sk, kind), UPDATE (item, kind) ON app TO regress_partiql_user']) WITH ORDINALITY r (rights, i),
	each('regress_partiql_user', rights) e ORDER BY i;
SELECT * FROM each('regress_partiql_owner', 'REVOKE SELECT ON app FROM regress_partiql_owner');
-- no table is told about to who has no rights on it, and no lock is waited for
SET ROLE regress_partiql_user;
SELECT why('dyn_execute(''SELECT nothing FROM app.nothing'')'), why('dyn_explain_statement(''DELETE FROM app WHERE nothing = 1'')');
RESET ROLE;

-- row-level security
SET ROLE regress_partiql_owner;
ALTER TABLE app ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON app USING (pk = 'a') WITH CHECK (pk = 'a' AND sk < 10);
GRANT SELECT, INSERT, UPDATE, DELETE ON app TO regress_partiql_user;
RESET ROLE;
SELECT * FROM each('regress_partiql_user', 'SELECT 1');
SET ROLE regress_partiql_user;
SELECT dyn_execute('SELECT pk, sk FROM app');
SELECT dyn_execute('SELECT pk, sk FROM app.byKind WHERE kind = ?', '["k"]'::jsonb), dyn_execute('SELECT pk, sk FROM app WHERE pk = ?', '["a"]'::json);
SELECT dyn_execute('SELECT pk, sk FROM app WHERE pk IN [''a'', ''b'']');
SELECT items, scanned_count FROM dyn_execute_page('SELECT pk, sk FROM app WHERE pk IN [''a'', ''b'']');
SELECT range, items_read, store, store_reason FROM dyn_explain_statement('SELECT pk, sk FROM app WHERE pk IN [''a'', ''b'']');
SELECT dyn_execute('UPDATE app SET n = 1 WHERE pk = ''b'' AND sk = 1');
SELECT dyn_execute('UPDATE app SET n = 1 WHERE pk = ''b'' AND sk = 1 AND kind = ''k''', return_values_on_condition_check_failure => 'ALL_OLD');
SELECT dyn_execute('DELETE FROM app WHERE pk = ''b'' AND sk = 1 RETURNING ALL OLD *');
SELECT dyn_execute('INSERT INTO app VALUE {''pk'': ''c'', ''sk'': 1}');
SELECT dyn_execute('INSERT INTO app VALUE {''pk'': ''a'', ''sk'': 10}');
SELECT dyn_execute('INSERT INTO app VALUE {''pk'': ''a'', ''sk'': 3}');
-- a token gives who has it no more than he may see
RESET ROLE;
SELECT next_token AS token FROM dyn_execute_page('SELECT pk, sk FROM app', page_size => 1) \gset
SET ROLE regress_partiql_user;
SELECT items FROM dyn_execute_page('SELECT pk, sk FROM app', next_token => :'token');
RESET ROLE;
ALTER TABLE app DISABLE ROW LEVEL SECURITY;
REVOKE ALL ON app FROM regress_partiql_user;
SET ROLE regress_partiql_user;
SELECT dyn_execute_page('SELECT pk, sk FROM app', next_token => :'token');
RESET ROLE;
GRANT SELECT, INSERT, UPDATE, DELETE ON app TO regress_partiql_user;

-- scans can be forbidden, to a role for example, which then cannot allow them
ALTER ROLE regress_partiql_user SET dynamo_table.partiql_scans = off;
ALTER ROLE regress_partiql_user SET search_path = partiql_rights, public;
SELECT current_user AS me \gset
\c - regress_partiql_user
SHOW dynamo_table.partiql_scans;
SELECT dyn_execute('SELECT pk, sk FROM app');
SELECT dyn_execute('SELECT pk, sk FROM app WHERE sk = 1');
SELECT dyn_execute('SELECT pk, sk FROM app.byKind WHERE kind > ''a''');
SELECT why(format('%s(%L)', f, s)) FROM unnest(ARRAY['dyn_execute', 'dyn_execute_page', 'dyn_explain_statement']) f,
	unnest(ARRAY['SELECT pk FROM app WHERE pk = ''a'' OR sk = 1', 'SELECT pk FROM app WHERE pk > ''a''',
	'SELECT pk FROM app WHERE pk IN [''a'', ''b''] AND sk = 1', 'SELECT pk FROM app.byKind WHERE kind = ''k''',
	'SELECT pk FROM app WHERE pk = ''a'' AND pk = ''b''', 'UPDATE app SET n = 1 WHERE pk = ''a'' AND sk = 1 RETURNING ALL NEW *']) s;
SELECT dyn_request('ExecuteStatement', '{"Statement": "SELECT pk FROM app WHERE sk = 1"}');
SELECT dyn_request('ExecuteStatement', '{"Statement": "SELECT sk FROM app WHERE pk = ''b'' AND n = 1"}');
-- other errors come first: of the statement, its table and its keys
SELECT why(format('dyn_execute(%L)', s)) FROM unnest(ARRAY['SELECT', 'SELECT * FROM nothing', 'SELECT * FROM app.nothing', 'SELECT * FROM app ORDER BY pk']) s;
SET dynamo_table.partiql_scans = on;
BEGIN;
SET LOCAL dynamo_table.partiql_scans = on;
ROLLBACK;
SELECT set_config('dynamo_table.partiql_scans', 'on', false);
RESET dynamo_table.partiql_scans;
ALTER ROLE regress_partiql_user SET dynamo_table.partiql_scans = on;
ALTER ROLE regress_partiql_user RESET dynamo_table.partiql_scans;
RESET ALL;
SHOW dynamo_table.partiql_scans;
CREATE FUNCTION pg_temp.allowed() RETURNS bigint LANGUAGE sql SET dynamo_table.partiql_scans = on AS $$ SELECT count(*)
	FROM dyn_execute('SELECT pk FROM app') $$;
\c - :me
\set SHOW_CONTEXT never
-- a function of an administrator may, for the one statement that needs it
SET search_path = partiql_rights, public;
CREATE FUNCTION counted() RETURNS bigint LANGUAGE sql SECURITY DEFINER SET search_path = partiql_rights, public SET dynamo_table.partiql_scans = on
	AS $$ SELECT count(*) FROM dyn_execute('SELECT pk FROM app') $$;
SELECT setdatabase, setconfig FROM pg_db_role_setting WHERE setrole = 'regress_partiql_user'::regrole;
\c - regress_partiql_user
SELECT counted();
SELECT why('dyn_execute(''SELECT pk FROM app'')');
-- nor before the library knows the setting, where it is not preloaded: then it is refused later
\c - regress_partiql_user
SET client_min_messages = error;
DO $$
BEGIN
	SET dynamo_table.partiql_scans = on;
EXCEPTION WHEN insufficient_privilege THEN
	RAISE NOTICE 'it is preloaded';
END $$;
SELECT why('dyn_execute(''SELECT pk FROM app'')');
SHOW dynamo_table.partiql_scans;
\c - regress_partiql_user
SET client_min_messages = error;
BEGIN;
DO $$
BEGIN
	PERFORM set_config('dynamo_table.partiql_scans', 'on', true);
EXCEPTION WHEN insufficient_privilege THEN
	RAISE NOTICE 'it is preloaded';
END $$;
SELECT why('dyn_execute(''SELECT pk FROM app'')');
COMMIT;
SELECT why('dyn_execute(''SELECT pk FROM app'')');
\c - :me
SET client_min_messages = error;
DROP SCHEMA partiql_rights CASCADE;
DROP ROLE regress_partiql_user, regress_partiql_owner;
