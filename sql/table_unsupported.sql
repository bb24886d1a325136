-- Tables of items that inherit, or are inherited from, and tables that Citus manages: every call refuses them.
-- What the calls on a table say: states and messages, and how many calls there were.
CREATE FUNCTION calls(name text) RETURNS TABLE (state text, message text, detail text, calls bigint) LANGUAGE plpgsql AS $$
DECLARE
  key constant text := '{"pk":{"S":"a"},"sk":{"N":"1"}}';
  statements text[] := ARRAY[
    'dyn_get(%1$L, %2$L)', 'dyn_put(%1$L, %2$L)', 'dyn_update(%1$L, %2$L, ''SET v = pk'')', 'dyn_delete(%1$L, %2$L)',
    'dyn_query(%1$L, ''pk = :a'', vals => ''{":a":{"S":"a"}}'')', 'dyn_query_page(%1$L, ''pk = :a'', vals => ''{":a":{"S":"a"}}'')',
    'dyn_scan(%1$L)', 'dyn_scan_page(%1$L)', 'dyn_explain(%1$L)', 'dyn_execute(format(''SELECT * FROM %%I'', %1$L))',
    'dyn_execute_page(format(''SELECT * FROM %%I WHERE pk = ?'', %1$L), ''[{"S":"a"}]'')',
    'dyn_execute(format(''INSERT INTO %%I VALUE {''''pk'''': ''''a'''', ''''sk'''': 1}'', %1$L))',
    'dyn_explain_statement(format(''DELETE FROM %%I WHERE pk = ''''a'''' AND sk = 1'', %1$L))', 'dyn_table_chart(%1$L)',
    'dyn_export(%1$L)',
    'dyn_batch_get(%1$L, ARRAY[%2$L]::dyn_item[])', 'dyn_batch_write(%1$L, ARRAY[%2$L]::dyn_item[])',
    'dyn_transact(''[{"Put":{"TableName":"%1$s","Item":%2$s}}]'')', 'dyn_transact_get(''[{"Get":{"TableName":"%1$s","Key":%2$s}}]'')',
    'dyn_import_lines(%1$L, %2$L)', 'dyn_describe_table(%1$L)', 'dyn_alter_table(%1$L, ''{"placement": false}'')', 'dyn_drop_table(%1$L)',
    'dyn_index_violations(%1$L)',
    'dynamo_internal.keys_missing(%1$L::regclass, %2$L::dyn_item, NULL::numeric)', 'dyn_enable_stream(%1$L, ''KEYS_ONLY'')', 'dyn_disable_stream(%1$L)',
    'dyn_read_stream(%1$L)',
    'dyn_create_entity(%1$L, ''E'', ''{"pk":"E#<i>"}'', ''{"i":"S"}'')', 'dyn_drop_entity(%1$L, ''Thing'')', 'dyn_enforce_entities(%1$L)', 'dyn_entities(%1$L)',
    'dyn_entity_keys(%1$L, ''Thing'', ''{"id":{"S":"1"}}'')', 'dyn_put_entity(%1$L, ''Thing'', ''{"id":{"S":"1"}}'')',
    'dyn_get_entity(%1$L, ''Thing'', ''{"id":{"S":"1"}}'')',
    'dyn_create_entity_view(%1$L, ''Thing'')', 'dyn_entity_chart(%1$L)', 'dyn_check_entities(%1$L)', 'dyn_access_pattern_chart(%1$L)',
    'dyn_run_access_pattern(%1$L, ''P'')',
    'dyn_create_access_pattern(%1$L, ''Q'', ''Scan'', ''{}'')', 'dyn_create_migration(%1$L, ''other'', ''[]'')',
    'dyn_request(''PutItem'', ''{"TableName":"%1$s","Item":%2$s}'')', 'dyn_request(''GetItem'', ''{"TableName":"%1$s","Key":%2$s}'')',
    'dyn_request(''UpdateItem'', ''{"TableName":"%1$s","Key":%2$s}'')', 'dyn_request(''DeleteItem'', ''{"TableName":"%1$s","Key":%2$s}'')',
    'dyn_request(''Scan'', ''{"TableName":"%1$s"}'')',
    'dyn_request(''Query'', ''{"TableName":"%1$s","KeyConditionExpression":"pk = :a","ExpressionAttributeValues":{":a":{"S":"a"}}}'')',
    'dyn_request(''BatchGetItem'', ''{"RequestItems":{"%1$s":{"Keys":[%2$s]}}}'')',
    'dyn_request(''BatchWriteItem'', ''{"RequestItems":{"%1$s":[{"PutRequest":{"Item":%2$s}}]}}'')',
    'dyn_request(''TransactWriteItems'', ''{"TransactItems":[{"Put":{"TableName":"%1$s","Item":%2$s}}]}'')',
    'dyn_request(''TransactGetItems'', ''{"TransactItems":[{"Get":{"TableName":"%1$s","Key":%2$s}}]}'')',
    'dyn_request(''DescribeTable'', ''{"TableName":"%1$s"}'')', 'dyn_request(''DeleteTable'', ''{"TableName":"%1$s"}'')',
    'dyn_request(''DescribeTimeToLive'', ''{"TableName":"%1$s"}'')',
    'dyn_request(''UpdateTable'', ''{"TableName":"%1$s","DeletionProtectionEnabled":true}'')',
    'dyn_request(''UpdateTimeToLive'', ''{"TableName":"%1$s","TimeToLiveSpecification":{"AttributeName":"ttl","Enabled":true}}'')'];
  statement text;
BEGIN
  CREATE TEMP TABLE results (state text, message text, detail text);
  FOREACH statement IN ARRAY statements LOOP
    BEGIN
      EXECUTE format('SELECT count(*) FROM ' || statement || ' x', name, key);
      INSERT INTO results VALUES ('', statement);
    EXCEPTION WHEN OTHERS THEN
      GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
      INSERT INTO results VALUES (SQLSTATE, SQLERRM, detail);
    END;
  END LOOP;
  RETURN QUERY SELECT r.state, r.message, r.detail, count(*) FROM results r GROUP BY 1, 2, 3 ORDER BY 1, 2;
  DROP TABLE results;
END $$;
-- A store each.
CREATE FUNCTION stores(name text) RETURNS TABLE (direct boolean, state text, message text, detail text, calls bigint) LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY SELECT true, * FROM calls(name);
  SET LOCAL dynamo_table.direct_store = off;
  RETURN QUERY SELECT false, * FROM calls(name);
END $$;

\set service ttl_worker
\set ECHO none
\i test/sql/switch_off.sql
\set ECHO all
SELECT dyn_create_table('apex', 'pk S', 'sk N');
CALL dyn_enable_ttl('apex', 'expires');
SELECT dyn_create_entity('apex', 'Thing', '{"pk":"T#<id>","sk":"<n>"}', '{"id":"S","n":"N"}');
SELECT dyn_create_access_pattern('apex', 'P', 'Scan', '{}');
SELECT dyn_create_entity_view('apex', 'Thing', 'things');
CREATE TABLE origin (id text PRIMARY KEY, n numeric NOT NULL);
SELECT dyn_create_migration('apex', 'moved', '[{"from":"origin","entity":"Thing","attributes":{"id":"id","n":"n"}}]');
SELECT dyn_follow_migration('moved');
SELECT dyn_put('apex', '{"pk":{"S":"a"},"sk":{"N":"1"},"expires":{"N":"1"}}');

-- inherited from
CREATE TABLE child () INHERITS (apex);
SELECT * FROM stores('apex');
\set VERBOSITY terse
CALL dyn_create_index('apex', 'ByV', 'v S');
CALL dyn_drop_index('apex', 'ByV');
CALL dynamo_internal.resume_index('apex', 'ByV');
CALL dyn_enable_ttl('apex', 'other');
CALL dyn_disable_ttl('apex');
CALL dyn_sweep_ttl('apex');
CALL dyn_import('apex', 'origin');
CALL dyn_backfill('apex', 'SET v = pk', NULL);
CALL dyn_refresh_entity('apex', 'Thing');
CALL dyn_migrate('moved');
SELECT dyn_follow_migration('moved');
SELECT count(*) FROM dyn_verify_migration('moved');
INSERT INTO things (id, n) VALUES ('1', 1);
INSERT INTO origin VALUES ('1', 1);
-- a sweep of all says why, and goes on
SELECT dyn_create_table('later', 'pk S');
CALL dyn_enable_ttl('later', 'expires');
SELECT dyn_put('later', jsonb_build_object('pk', 'a', 'expires', extract(epoch FROM now())::bigint - 10)::dyn_item);
CALL dyn_sweep_ttl();
-- they are in the lists
SELECT relation, attribute FROM dyn_ttl_tables WHERE relation IN ('apex'::regclass, 'later'::regclass) ORDER BY relation;
SELECT DISTINCT name, relation FROM dynamo_internal.migration_steps();
-- SQL works as ever
INSERT INTO apex (item) VALUES ('{"pk":{"S":"a"},"sk":{"N":"2"}}');
INSERT INTO child (pk, sk, item) VALUES ('a', 2, '{"pk":{"S":"a"},"sk":{"N":"2"}}');
SELECT tableoid::regclass, pk, sk FROM apex ORDER BY sk, tableoid;
-- the flag stays when the last child goes, and means nothing
DROP TABLE child;
SELECT relhassubclass FROM pg_class WHERE oid = 'apex'::regclass;
SELECT dyn_get('apex', '{"pk":{"S":"a"},"sk":{"N":"2"}}');
SET dynamo_table.direct_store = on;
SELECT store FROM dyn_explain('apex', 'pk = :a', vals => '{":a":{"S":"a"}}');
RESET dynamo_table.direct_store;
CALL dyn_create_index('apex', 'ByV', 'v S');
INSERT INTO origin VALUES ('2', 2);
INSERT INTO things (id, n) VALUES ('3', 3);
SELECT id, n FROM things ORDER BY id;

-- a child
CREATE TABLE above (note text);
CREATE TABLE other (note text);
SELECT dyn_create_table('below', 'pk S', 'sk N');
SELECT dyn_put('below', '{"pk":{"S":"a"},"sk":{"N":"1"}}');
ALTER TABLE below ADD note text;
ALTER TABLE below INHERIT above;
SELECT * FROM stores('below');
-- in a transaction that looks before and after
BEGIN;
ALTER TABLE below NO INHERIT above;
SELECT dyn_get('below', '{"pk":{"S":"a"},"sk":{"N":"1"}}');
SAVEPOINT s;
ALTER TABLE below INHERIT above;
SELECT dyn_get('below', '{"pk":{"S":"a"},"sk":{"N":"1"}}');
ROLLBACK TO s;
SELECT dyn_get('below', '{"pk":{"S":"a"},"sk":{"N":"1"}}');
COMMIT;
SELECT dyn_get('below', '{"pk":{"S":"a"},"sk":{"N":"1"}}');

-- Citus' own catalog by name and columns; where Citus writes it, it invalidates the relation as well
SET allow_system_table_mods = on;
CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass NOT NULL, partmethod "char" NOT NULL);
CREATE UNIQUE INDEX pg_dist_partition_logical_relid_index ON pg_catalog.pg_dist_partition (logicalrelid);
RESET allow_system_table_mods;
SELECT dyn_get('below', '{"pk":{"S":"a"},"sk":{"N":"1"}}');
SET allow_system_table_mods = on;
INSERT INTO pg_catalog.pg_dist_partition VALUES ('below', 'h'), ('origin', 'h');
RESET allow_system_table_mods;
ALTER TABLE below SET (fillfactor = 80);
\set VERBOSITY default
SELECT * FROM stores('below');
CALL dyn_import('apex', 'origin');
SET allow_system_table_mods = on;
DELETE FROM pg_catalog.pg_dist_partition;
SELECT dyn_get('below', '{"pk":{"S":"a"},"sk":{"N":"1"}}');
DROP TABLE pg_catalog.pg_dist_partition;
RESET allow_system_table_mods;
SELECT dyn_get('below', '{"pk":{"S":"a"},"sk":{"N":"1"}}');

SET client_min_messages = warning;
SELECT dyn_follow_migration('moved', enabled => false), dyn_drop_migration('moved');
DROP VIEW things;
DROP TABLE apex, below, above, other, later, origin;
DROP FUNCTION stores, calls;
\set ECHO none
\i test/sql/switch_on.sql
\set ECHO all
