-- PartiQL has the privileges of the caller, and shows what row-level security shows
\pset format unaligned
\pset tuples_only on
CREATE FUNCTION run(statement text, more text DEFAULT '{}') RETURNS text LANGUAGE plpgsql AS $$
DECLARE d text;
BEGIN
  RETURN dyn_request('ExecuteStatement', (more::jsonb || jsonb_build_object('Statement', statement))::text);
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS d = PG_EXCEPTION_DETAIL;
  RETURN concat_ws(' / ', coalesce(dyn_error_name(SQLSTATE), SQLSTATE), SQLERRM, d);
END $$;
CREATE ROLE dyn_pq_reader;
CREATE ROLE dyn_pq_writer;
CREATE ROLE dyn_pq_owner;
CREATE TABLE statements (n int PRIMARY KEY, statement text);
INSERT INTO statements SELECT ordinality, s FROM unnest(ARRAY['SELECT sk FROM app WHERE pk = ''a'' AND sk = ''1''', 'SELECT sk FROM app WHERE pk = ''a''',
	'SELECT sk FROM app WHERE x > 0', 'SELECT sk FROM app.i WHERE g = ''g''',
  'INSERT INTO app VALUE {''pk'': ''new'', ''sk'': ''1''}', 'INSERT INTO app VALUE {''pk'': ''a'', ''sk'': ''2''}',
  'UPDATE app SET x = 9 WHERE pk = ''a'' AND sk = ''2'' RETURNING ALL NEW *', 'UPDATE app SET x = 9 WHERE pk = ''a'' AND sk = ''1'' RETURNING MODIFIED OLD *',
  'DELETE FROM app WHERE pk = ''a'' AND sk = ''2'' RETURNING ALL OLD *', 'DELETE FROM app WHERE pk = ''a'' AND sk = ''1'' AND x = 5']) WITH ORDINALITY s(s);
GRANT SELECT ON statements TO dyn_pq_reader, dyn_pq_writer, dyn_pq_owner;
SELECT dyn_create_table('app', 'pk S', 'sk S', global_indexes => '{"i": {"partition_key": "g S"}}');
SELECT run(format('INSERT INTO app VALUE {''pk'': ''a'', ''sk'': ''%s'', ''x'': %s, ''g'': ''g'', ''owner'': ''%s''}', i, i, CASE i % 2 WHEN 1
	THEN 'dyn_pq_owner' ELSE 'another' END)) FROM generate_series(1, 4) i;

-- privileges: none, to read, to write
SET ROLE dyn_pq_reader;
SELECT n, run(statement) FROM statements ORDER BY n;
RESET ROLE;
GRANT SELECT ON app TO dyn_pq_reader;
SET ROLE dyn_pq_reader;
SELECT n, run(statement) FROM statements ORDER BY n;
RESET ROLE;
-- of some columns
REVOKE ALL ON app FROM dyn_pq_reader;
GRANT SELECT (pk, sk) ON app TO dyn_pq_reader;
SET ROLE dyn_pq_reader;
SELECT n, run(statement) FROM statements WHERE n <= 4 ORDER BY n;
RESET ROLE;
GRANT INSERT ON app TO dyn_pq_writer;
SET ROLE dyn_pq_writer;
SELECT n, run(statement) FROM statements ORDER BY n;
RESET ROLE;

-- policies: of four items the role sees two
GRANT SELECT, INSERT, UPDATE, DELETE ON app TO dyn_pq_owner;
ALTER TABLE app ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON app USING (item ->> 'owner' = current_user) WITH CHECK (item ->> 'owner' = current_user);
-- a token that a role with more rights was given: who continues reads with his own
SELECT run('SELECT sk FROM app WHERE pk = ''a''', '{"Limit": 2}')::json ->> 'NextToken' AS token \gset
SET ROLE dyn_pq_owner;
SELECT n, run(statement) FROM statements WHERE n <= 4 ORDER BY n;
SELECT run('SELECT sk FROM app WHERE pk = ''a''', json_build_object('NextToken', :'token')::text);
-- a page counts what is seen, and its token has nothing else
SELECT run('SELECT sk FROM app WHERE pk = ''a''', '{"Limit": 1}')::json ->> 'NextToken' AS token \gset
SELECT run('SELECT sk FROM app WHERE pk = ''a''', json_build_object('NextToken', :'token', 'Limit', 1)::text)::jsonb - 'NextToken';
-- what is not seen can neither be read, changed, deleted nor replaced
SELECT run('SELECT * FROM app WHERE pk = ''a'' AND sk = ''2''');
SELECT run('UPDATE app SET x = 9 WHERE pk = ''a'' AND sk = ''2'' RETURNING ALL OLD *', '{"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}');
SELECT run('DELETE FROM app WHERE pk = ''a'' AND sk = ''2'' RETURNING ALL OLD *');
SELECT split_part(run('INSERT INTO app VALUE {''pk'': ''a'', ''sk'': ''2'', ''owner'': ''dyn_pq_owner''}'), ' / ', 1);
SELECT split_part(run('INSERT INTO app VALUE {''pk'': ''new'', ''sk'': ''1'', ''owner'': ''another''}'), ' / ', 1);
SELECT split_part(run('UPDATE app SET owner = ''another'' WHERE pk = ''a'' AND sk = ''1'''), ' / ', 1);
SELECT run('INSERT INTO app VALUE {''pk'': ''new'', ''sk'': ''1'', ''owner'': ''dyn_pq_owner''}'),
	run('UPDATE app SET x = 8 WHERE pk = ''a'' AND sk = ''3'' RETURNING MODIFIED NEW *'), run('DELETE FROM app WHERE pk = ''a'' AND sk = ''1'' AND x = 1');
RESET ROLE;
SELECT item FROM app ORDER BY pk, sk;

SELECT dyn_drop_table('app');
DROP FUNCTION run;
DROP TABLE statements;
DROP ROLE dyn_pq_reader, dyn_pq_writer, dyn_pq_owner;
