-- The remote store's statements, on one node without Citus: its catalog is a table of the same name here, and the table's rows
-- stay where they are.  test/citus has the rest.
SELECT dyn_create_table('app', 'pk S', 'sk N', '{"ByKind":{"partition_key":"kind S","sort_key":"n N"}}');
\set ECHO none
\i test/sql/like_citus.sql
\set ECHO all
SET client_min_messages = error;
SELECT dyn_distribute_table('app');
RESET client_min_messages;
CREATE FUNCTION key(pk text, sk int) RETURNS dyn_item LANGUAGE sql IMMUTABLE AS $$ SELECT jsonb_build_object('pk', pk, 'sk', sk)::dyn_item $$;
CREATE FUNCTION item(pk text, sk int, kind text, n int) RETURNS dyn_item LANGUAGE sql IMMUTABLE
	AS $$ SELECT jsonb_build_object('pk', pk, 'sk', sk, 'kind', kind, 'n', n)::dyn_item $$;
CREATE FUNCTION why(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE detail text;
BEGIN
  EXECUTE 'SELECT ' || call;
  RETURN 'done';
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
  RETURN SQLSTATE || ' ' || SQLERRM || ' ' || detail;
END $$;
SELECT store, store_reason FROM dyn_explain('app', 'pk = :p', vals => '{":p":{"S":"a"}}');

-- single items: columns of indexes are given
SELECT dyn_put('app', item('a', 1, 'k', 1));
SELECT dyn_put('app', item('a', 1, 'k', 2), return_values => 'ALL_OLD') ->> 'n' AS old;
SELECT dyn_put('app', key('a', 2), condition => 'attribute_not_exists(pk)');
SELECT why($$dyn_put('app', key('a', 2), condition => 'attribute_not_exists(pk)')$$);
SELECT dyn_update('app', key('a', 2), 'SET kind = :k, n = :n', vals => '{":k":{"S":"k"},":n":{"N":"7"}}', return_values => 'ALL_NEW');
SELECT dyn_update('app', key('new', 1), 'SET x = :n', vals => '{":n":{"N":"7"}}', return_values => 'ALL_NEW');
SELECT dyn_update('app', key('a', 2), 'REMOVE kind', return_values => 'UPDATED_OLD');
SELECT dyn_delete('app', key('new', 1), return_values => 'ALL_OLD');
SELECT dyn_delete('app', key('new', 1), return_values => 'ALL_OLD');
SELECT pk, sk, kind, n FROM app ORDER BY 1, 2;
-- what stays as it is, is not written
CREATE FUNCTION row_place() RETURNS SETOF text LANGUAGE sql AS $$ SELECT ctid::text FROM app WHERE pk = 'a' AND sk = 1 $$;
SELECT row_place() AS before \gset
SELECT dyn_put('app', item('a', 1, 'k', 2)), dyn_update('app', key('a', 1), 'SET n = n'),
	dyn_batch_write('app', ARRAY[item('a', 1, 'k', 2), item('a', 3, 'k', 2)]);
SELECT row_place() = :'before' AS unwritten;
-- unless a column of it has not been filled yet, as before a backfill
SET client_min_messages = warning;
ALTER TABLE app DROP CONSTRAINT dynamo_keys;
UPDATE app SET n = NULL, kind = NULL WHERE pk = 'a' AND sk = 1;
SELECT dyn_put('app', item('a', 1, 'k', 2));
SELECT kind, n FROM app WHERE pk = 'a' AND sk = 1;
UPDATE app SET n = NULL, kind = NULL WHERE pk = 'a' AND sk = 1;
SELECT dyn_update('app', key('a', 1), 'SET n = n');
SELECT kind, n FROM app WHERE pk = 'a' AND sk = 1;
RESET client_min_messages;

-- ranges of more than a chunk, where many keys of an index are equal
DELETE FROM app;
SELECT count(dyn_batch_write('app', items)) FROM (SELECT array_agg(item('p' || i % 3, i, 'k', i / 1000)) AS items FROM generate_series(0, 2999) i
	GROUP BY i / 25) b;
SELECT count(*), count(DISTINCT i ->> 'sk') FROM dyn_scan('app') i;
SELECT count(*), count(DISTINCT i ->> 'sk') FROM generate_series(0, 2) s, dyn_scan('app', segment => s, total_segments => 3) i;
SELECT forward, count(*), count(DISTINCT i ->> 'sk'), bool_and(later) AS in_order FROM (
	SELECT forward, i, coalesce(CASE WHEN forward THEN (i ->> 'sk')::int > lag((i ->> 'sk')::int) OVER w
		ELSE (i ->> 'sk')::int < lag((i ->> 'sk')::int) OVER w END, true) AS later
	FROM (VALUES (true), (false)) f(forward), dyn_query('app', 'pk = :p', vals => '{":p":{"S":"p1"}}', forward => forward) WITH ORDINALITY AS q(i, o) WINDOW w
		AS (PARTITION BY forward ORDER BY o)) s GROUP BY 1 ORDER BY 1;
SELECT forward, count(*), count(DISTINCT i ->> 'sk') FROM (VALUES (true), (false)) f(forward),
	dyn_query('app', 'kind = :k', 'ByKind', vals => '{":k":{"S":"k"}}', forward => forward) i GROUP BY 1 ORDER BY 1;
SELECT count(*), min((i ->> 'sk')::int), max((i ->> 'sk')::int) FROM dyn_query('app', 'kind = :k AND n = :n', 'ByKind',
	vals => '{":k":{"S":"k"},":n":{"N":"1"}}') i;
SELECT i ->> 'sk' AS sk FROM dyn_query('app', 'pk = :p AND sk BETWEEN :a AND :b', vals => '{":p":{"S":"p1"},":a":{"N":"1"},":b":{"N":"10"}}',
	forward => false) i;
SELECT i ->> 'sk' AS sk FROM dyn_query('app', 'pk = :p', filter => 'n > :a AND NOT contains(kind, :p)', vals => '{":p":{"S":"p1"},":a":{"N":"1"}}',
	max_items => 2) i;
-- items of a size
SELECT count(dyn_put('app', jsonb_build_object('pk', 'big', 'sk', i, 'x', repeat('x', 200000))::dyn_item)) FROM generate_series(1, 120) i;
SELECT count(*), count(DISTINCT i ->> 'sk') FROM dyn_query('app', 'pk = :p', vals => '{":p":{"S":"big"}}', projection => 'sk') i;
DELETE FROM app WHERE pk = 'big';
SET plan_cache_mode = force_generic_plan;
SELECT count(*) FROM dyn_scan('app');
SET plan_cache_mode = force_custom_plan;
SELECT count(*) FROM dyn_scan('app');
RESET plan_cache_mode;

-- transactions: absence is held by a row that leaves nothing behind
SELECT dyn_transact('[{"ConditionCheck":{"TableName":"app","Key":{"pk":{"S":"gone"},"sk":{"N":"1"}},"ConditionExpression":"attribute_not_exists(pk)"}},
	{"Delete":{"TableName":"app","Key":{"pk":{"S":"gone"},"sk":{"N":"2"}}}}, {"Put":{"TableName":"app","Item":{"pk":{"S":"t"},"sk":{"N":"1"}}}}]');
SELECT pk, sk FROM app WHERE pk IN ('gone', 't');
-- tokens are in the table that nodes share, by the role's name
CREATE FUNCTION add_one(token text) RETURNS boolean LANGUAGE sql AS $$
	SELECT dyn_transact('[{"Update":{"TableName":"app","Key":{"pk":{"S":"t"},"sk":{"N":"1"}},"UpdateExpression":"ADD n :n",
	"ExpressionAttributeValues":{":n":{"N":"1"}}}}]', token) $$;
SELECT add_one('once'), add_one('once');
SELECT dyn_get('app', key('t', 1)) ->> 'n' AS n;
SELECT role = current_user AS by_name, token FROM dynamo_internal.shared_tokens;
SELECT token FROM dynamo_internal.transact_tokens;
SELECT why($$dyn_transact('[{"Put":{"TableName":"app","Item":{"pk":{"S":"t"},"sk":{"N":"1"}}}}]', 'once')$$);
UPDATE dynamo_internal.shared_tokens SET expires = now();
SELECT add_one('once');
UPDATE dynamo_internal.shared_tokens SET expires = now(), token = 'expired';
SELECT add_one('once');
SELECT token FROM dynamo_internal.shared_tokens;
-- those of other tables are where they were
SELECT dyn_create_table('local', 'pk S');
SELECT dyn_transact('[{"Put":{"TableName":"local","Item":{"pk":{"S":"t"}}}}]', 'here');
SELECT token FROM dynamo_internal.transact_tokens;
SELECT dyn_transact('[{"Put":{"TableName":"local","Item":{"pk":{"S":"t"}}}}, {"Put":{"TableName":"app","Item":{"pk":{"S":"t"},"sk":{"N":"2"}}}}]', 'both');
SELECT token FROM dynamo_internal.shared_tokens ORDER BY 1;

-- several items are read under locks, also of tables that are not distributed; one is not
BEGIN;
SELECT count(*) FROM dyn_transact_get('[{"Get":{"TableName":"app","Key":{"pk":{"S":"t"},"sk":{"N":"1"}}}}]') i;
SELECT locktype FROM pg_locks WHERE relation = 'app'::regclass AND mode = 'RowShareLock';
SELECT i FROM dyn_transact_get('[{"Get":{"TableName":"app","Key":{"pk":{"S":"t"},"sk":{"N":"2"}}}},
	{"Get":{"TableName":"app","Key":{"pk":{"S":"gone"},"sk":{"N":"2"}}}}, {"Get":{"TableName":"local","Key":{"pk":{"S":"t"}}}}]') i;
SELECT xmax = pg_current_xact_id()::xid AS locked FROM app WHERE pk = 't' AND sk = 2;
SELECT xmax = pg_current_xact_id()::xid AS locked FROM local;
SELECT count(DISTINCT relation) FROM pg_locks WHERE relation IN ('app'::regclass, 'local'::regclass) AND mode = 'RowExclusiveLock';
COMMIT;
SELECT count(*) FROM dyn_batch_get('app', ARRAY[key('t', 1), key('t', 2)]);
CREATE ROLE regress_remote;
GRANT SELECT ON app, local TO regress_remote;
SET ROLE regress_remote;
SELECT why($$dyn_transact_get('[{"Get":{"TableName":"app","Key":{"pk":{"S":"t"},"sk":{"N":"2"}}}}, {"Get":{"TableName":"local","Key":{"pk":{"S":"t"}}}}]')$$);
SELECT count(*) FROM dyn_transact_get('[{"Get":{"TableName":"app","Key":{"pk":{"S":"t"},"sk":{"N":"2"}}}}]');
SELECT count(*) FROM dyn_batch_get('app', ARRAY[key('t', 1), key('t', 2)]);
RESET ROLE;
BEGIN READ ONLY;
SELECT why($$dyn_transact_get('[{"Get":{"TableName":"app","Key":{"pk":{"S":"t"},"sk":{"N":"2"}}}},
	{"Get":{"TableName":"app","Key":{"pk":{"S":"t"},"sk":{"N":"1"}}}}]')$$);
COMMIT;

-- row-level security: what a policy checks is written
GRANT ALL ON app TO regress_remote;
ALTER TABLE app ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON app TO regress_remote USING (pk <> 'p2') WITH CHECK (pk <> 'p2' AND sk < 5000);
SET ROLE regress_remote;
SELECT count(*) FROM dyn_scan('app');
SELECT why($$dyn_put('app', key('t', 5000))$$);
SELECT why($$dyn_put('app', key('p2', 2))$$);
SELECT why($$dyn_update('app', key('p2', 2), 'SET n = n')$$);
SELECT why($$dyn_put('app', key('t', 3))$$);
-- and what it hides is not there
SELECT count(*), count(i) FROM dyn_transact_get('[{"Get":{"TableName":"app","Key":{"pk":{"S":"t"},"sk":{"N":"1"}}}},
	{"Get":{"TableName":"app","Key":{"pk":{"S":"p2"},"sk":{"N":"2"}}}}, {"Get":{"TableName":"app","Key":{"pk":{"S":"p2"},"sk":{"N":"-1"}}}}]') i;
RESET ROLE;

SET client_min_messages = warning;
\set ECHO none
\i test/sql/unlike_citus.sql
\set ECHO all
DROP TABLE app, local;
DELETE FROM dynamo_internal.shared_tokens;
DELETE FROM dynamo_internal.transact_tokens;
DROP FUNCTION key, item, why, row_place, add_one;
DROP ROLE regress_remote;
