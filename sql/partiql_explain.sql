-- dyn_explain_statement(): what PartiQL statements read and write; pages are bounded, since their number depends on the server.
CREATE SCHEMA partiql_explain;
SET search_path = partiql_explain, public;
SELECT dyn_create_table('app', 'pk S', 'sk N',
	global_indexes => '{"byKind":{"partition_key":"kind S","sort_key":"sk N","projection":"ALL"},"keys":{"partition_key":"kind S","projection":"KEYS_ONLY"}}',
	local_indexes => '{"byRank":{"sort_key":"rank N","projection":"KEYS_ONLY"}}');
SELECT count(dyn_put('app', jsonb_build_object('pk', p, 'sk', s, 'kind', 'k' || s % 2, 'rank', -s, 'v', repeat('x', 100))))
	FROM unnest(ARRAY['a', 'b', 'c']) p, generate_series(1, 100) s;
VACUUM ANALYZE app;
CREATE FUNCTION accesses(statement text, parameters text DEFAULT NULL, max_items bigint DEFAULT NULL, page_size bigint DEFAULT NULL)
	RETURNS TABLE (action text, index text, postgres_index regclass, range text, direction text, condition text, items text, few_pages boolean,
		index_only boolean) LANGUAGE sql AS $$
	SELECT action, index_name, postgres_index, range, direction, condition, items_returned || '/' || items_read, pages_read <= items_read + 10, index_only
		FROM dyn_explain_statement(statement, parameters, max_items, page_size) $$;
-- one read, of the table
SELECT * FROM accesses('SELECT * FROM app WHERE pk = ?', '[{"S":"a"}]');
SELECT * FROM accesses('SELECT * FROM app WHERE pk = ''a'' AND sk = 5');
SELECT * FROM accesses('SELECT * FROM app WHERE pk = ''a'' AND sk > 5 AND sk <= 9 ORDER BY sk DESC');
SELECT * FROM accesses('SELECT * FROM app WHERE pk = ''a'' AND sk BETWEEN ? AND ?', '[{"N":"95"},{"N":"9999"}]');
-- with a condition on what was read, as it is written
SELECT * FROM accesses('SELECT * FROM app WHERE pk = ''a'' AND sk < 10 AND kind = ? -- behind it', '[{"S":"k0"}]');
SELECT condition FROM accesses($$select sk from app where
	pk = 'a' and /* a remark */ (v = 'it''s' or not kind = "kind")
	order by sk;$$);
SELECT * FROM accesses('SELECT * FROM app WHERE pk = ''a'' AND sk <> 5');
-- several, in their order
SELECT * FROM accesses('SELECT * FROM app WHERE pk IN [''b'', ''a''] AND sk IN (1, 2)');
SELECT * FROM accesses('SELECT * FROM app WHERE (pk = ''a'' AND sk < 3 AND rank > -2) OR (pk = ''c'' AND sk > 98) ORDER BY pk DESC, sk DESC');
SELECT * FROM accesses('SELECT * FROM app WHERE pk = ''a'' AND (sk = 1 OR sk = 3 OR sk > 99)');
-- none at all
SELECT * FROM accesses('SELECT * FROM app WHERE pk = ''a'' AND sk > 5 AND sk < 5');
SELECT * FROM accesses('SELECT * FROM app WHERE pk = ''a'' AND pk = ''b''');
-- indexes
SELECT * FROM accesses('SELECT * FROM app.byKind WHERE kind = ''k0'' AND sk = 50');
SELECT * FROM accesses('SELECT * FROM app.keys WHERE kind IN [''k0'', ''k7'']');
SELECT * FROM accesses('SELECT v FROM app.byRank WHERE pk = ''b'' AND rank < -98');
-- scans
SELECT * FROM accesses('SELECT * FROM app');
SELECT * FROM accesses('SELECT * FROM app WHERE sk = 5');
SELECT * FROM accesses('SELECT * FROM app WHERE pk > ''b''');
SELECT * FROM accesses('SELECT * FROM app WHERE pk = ''a'' OR sk = 5');
SELECT * FROM accesses('SELECT * FROM app.byKind WHERE pk = ''a''');
-- limits: reads that are not reached are there
SELECT * FROM accesses('SELECT * FROM app WHERE pk IN [''a'', ''b'', ''c''] AND sk > 50 AND kind = ''k1''', max_items => 60);
SELECT * FROM accesses('SELECT * FROM app WHERE pk IN [''a'', ''b'', ''c'']', page_size => 100);
SELECT * FROM accesses('SELECT * FROM app WHERE v = ''y''', page_size => 1);
-- where the next page begins
SELECT range, items_read FROM dyn_execute_page('SELECT sk FROM app WHERE pk IN [''a'', ''b'']', page_size => 130) p,
	dyn_explain_statement('SELECT sk FROM app WHERE pk IN [''a'', ''b'']', next_token => p.next_token);
SELECT range, items_read FROM dyn_execute_page('SELECT sk FROM app', page_size => 130) p,
	dyn_explain_statement('SELECT sk FROM app', page_size => 10, next_token => p.next_token);
-- parameters as values and as plain JSON
SELECT range FROM dyn_explain_statement('SELECT * FROM app WHERE pk = ? AND sk < ?', ARRAY[dyn_to_value('it''s'::text), dyn_to_value(7.50)]);
SELECT range FROM dyn_explain_statement('SELECT * FROM app WHERE pk = ? AND sk < ?', '["it''s", 7.50]'::jsonb);

-- writes, which are not done
SELECT * FROM accesses('INSERT INTO app VALUE {''pk'': ''a'', ''sk'': 1}');
SELECT * FROM accesses('UPDATE app SET n = 1 WHERE sk = ? AND pk = ?', '[{"N":"1.0"},{"S":"a"}]');
SELECT * FROM accesses('UPDATE app SET n = 1 WHERE pk = ''a'' AND sk = 1 AND attribute_not_exists(n) RETURNING ALL NEW *');
SELECT * FROM accesses('FROM app WHERE pk = ''a'' AND sk = 1 AND rank < 0 REMOVE v');
SELECT * FROM accesses('DELETE FROM app WHERE pk = ''a'' AND sk = 1');
SELECT * FROM accesses('DELETE FROM app WHERE pk = ''a'' AND (sk = 1 AND kind = ''k0'')');
SELECT dyn_execute('SELECT * FROM app WHERE pk = ''a'' AND sk = 1') ->> 'v' IS NOT NULL AS untouched, count(*) FROM app;
BEGIN READ ONLY;
SELECT action FROM accesses('DELETE FROM app WHERE pk = ''a'' AND sk = 1');
COMMIT;
-- the lock is that of a read
BEGIN;
SELECT count(*) FROM accesses('UPDATE app SET n = 1 WHERE pk = ''a'' AND sk = 1');
SELECT mode FROM pg_locks WHERE relation = 'app'::regclass;
COMMIT;

-- errors are those of the call
SELECT dyn_explain_statement(NULL);
SELECT dyn_explain_statement('SELECT * FROM app WHERE pk = ?');
SELECT dyn_explain_statement('SELECT * FROM app WHERE pk = ?', '["a"]');
SELECT dyn_explain_statement('SELECT * FROM app WHERE pk = 1');
SELECT dyn_explain_statement('SELECT * FROM nothing');
SELECT dyn_explain_statement('UPDATE app SET pk = ''b'' WHERE pk = ''a'' AND sk = 1');
SELECT dyn_explain_statement('UPDATE app SET n = 1 WHERE pk = ''a''');
SELECT dyn_explain_statement('DELETE FROM app WHERE pk = ''a'' AND sk = ''1''');
SELECT dyn_explain_statement('INSERT INTO app VALUE {''pk'': ''a''}');
SELECT dyn_explain_statement('INSERT INTO nothing VALUE {''pk'': ''a''}');
SELECT dyn_explain_statement('EXISTS(SELECT * FROM app WHERE pk = ''a'')');
SELECT dyn_explain_statement('SELECT * FROM app', page_size => 0);
SELECT dyn_explain_statement('DELETE FROM app WHERE pk = ''a'' AND sk = 1', next_token => 'x');
-- dyn_explain() is not taken for it
SELECT dyn_explain('SELECT * FROM app');
SELECT range FROM dyn_explain('app', 'pk = :p', vals => '{":p":"a"}'::jsonb);

-- which store serves it, and why not the direct one
CREATE FUNCTION stores(statement text) RETURNS text LANGUAGE sql AS $$ SELECT action || ': ' || store || coalesce(', ' || store_reason, '')
	FROM dyn_explain_statement(statement) LIMIT 1 $$;
CREATE VIEW statements AS SELECT * FROM unnest(ARRAY['SELECT sk FROM app WHERE pk = ''a'' AND sk = 1',
	'SELECT sk FROM app.byKind WHERE kind = ''k0'' AND sk = 2', 'INSERT INTO app VALUE {''pk'': ''a'', ''sk'': 1}',
	'UPDATE app SET n = 1 WHERE pk = ''a'' AND sk = 1', 'DELETE FROM app WHERE pk = ''a'' AND sk = 1']) s;
SET dynamo_table.direct_store = on;
SELECT stores(s) FROM statements;
SET dynamo_table.direct_store = off;
SELECT stores(s) FROM statements;
SET dynamo_table.direct_store = on;
CREATE ROLE regress_partiql_explain;
GRANT USAGE ON SCHEMA partiql_explain TO regress_partiql_explain;
GRANT SELECT, UPDATE ON app TO regress_partiql_explain;
GRANT SELECT ON statements TO regress_partiql_explain;
SET ROLE regress_partiql_explain;
SELECT stores(s) FROM statements;
RESET ROLE;
REVOKE SELECT, UPDATE ON app FROM regress_partiql_explain;
SET ROLE regress_partiql_explain;
SELECT stores('DELETE FROM app WHERE pk = ''a'' AND sk = 1');
RESET ROLE;
RESET dynamo_table.direct_store;
SET client_min_messages = error;
DROP SCHEMA partiql_explain CASCADE;
DROP ROLE regress_partiql_explain;
