-- Sweeps of the shards of a distributed table, as far as one node without Citus shows them: its catalogs are tables of the same
-- names here, and the shards are made by hand.  test/citus has the rest.
\set SHOW_CONTEXT never
\set VERBOSITY terse
SET client_min_messages = warning;
\set service ttl_worker
\set ECHO none
\i test/sql/switch_off.sql
\i test/sql/like_citus.sql
\set ECHO all
SET allow_system_table_mods = on;
UPDATE pg_catalog.pg_dist_local_group SET groupid = 1;
-- answers of nodes
CREATE FUNCTION pg_catalog.run_command_on_all_nodes(command text, OUT nodeid int, OUT success bool, OUT result text) RETURNS SETOF record LANGUAGE plpgsql AS $$
BEGIN
  RAISE WARNING '%', command;
  RETURN QUERY TABLE answers;
END $$;
CREATE TABLE answers (nodeid int, success bool, result text);

CREATE ROLE regress_ttl_shards;
CREATE SCHEMA ttl_shards AUTHORIZATION regress_ttl_shards;
SET search_path = ttl_shards, public;
SET ROLE regress_ttl_shards;
SELECT dyn_create_table('app', 'pk S');
CALL dyn_enable_ttl('app', 'expires');
ALTER TABLE app ADD CONSTRAINT dynamo_definition CHECK ('["pk S", "{\"settings\": {\"ttl_attribute\": \"expires\"}}"]'::text IS NOT NULL);
DROP TRIGGER "~dynamo_keys" ON app;
CREATE TABLE app_1 (LIKE app INCLUDING ALL) USING dynamo_table;
CREATE TABLE app_2 (LIKE app INCLUDING ALL) USING dynamo_table;
CREATE TABLE app_3 (LIKE app INCLUDING ALL) USING dynamo_table;
-- expired long ago, expired, and not
CREATE FUNCTION fill(shard regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('INSERT INTO %s (item, pk, "~ttl") SELECT jsonb_build_object(''pk'', i::text, ''expires'', t), i::text, t FROM (SELECT i, floor(extract(epoch
    FROM now())) + i * 1000 - 5500 AS t FROM generate_series(1, 10) i) i ON CONFLICT DO NOTHING', shard);
END $$;
SELECT fill('app_1'), fill('app_2'), fill('app_3');
RESET ROLE;
CREATE VIEW rows AS SELECT * FROM (SELECT tableoid::regclass AS shard, count(*)
	FROM (SELECT tableoid FROM app UNION ALL SELECT tableoid FROM app_1 UNION ALL SELECT tableoid FROM app_2 UNION ALL SELECT tableoid FROM app_3) r
	GROUP BY 1) r ORDER BY shard::text;
-- without Citus' word these are no tables of items
CALL dynamo_internal.sweep_shards('app', 10, 0, true);
CALL dyn_sweep_ttl('app_1');
TABLE rows;

-- 1 is here; 2 is here, but unfinished; 3 is elsewhere, and left here
INSERT INTO pg_dist_partition VALUES ('app', 'h');
INSERT INTO pg_dist_shard VALUES ('app', 3, '1000', '2000'), ('app', 1, '-2000', '-1000'), ('app', 2, '-999', '999');
INSERT INTO pg_dist_placement VALUES (1, 1, 1), (1, 5, 1), (2, 1, 4), (3, 2, 1);
INSERT INTO pg_dist_node VALUES (1, 1, 'here', 1), (2, 2, 'there', 2);
-- sessions look again
ALTER TABLE app SET (fillfactor = 90);
ALTER TABLE app_1 SET (fillfactor = 90);
ALTER TABLE app_2 SET (fillfactor = 90);
ALTER TABLE app_3 SET (fillfactor = 90);
SELECT relation, due_items, deleted FROM dyn_ttl_tables WHERE relation::text ~ '^app';
CALL dynamo_internal.sweep_shards('app', 2, 0, true);
TABLE rows;
SELECT relation, due_items, deleted, errors FROM dyn_ttl_tables WHERE relation::text ~ '^app';
-- another model of replication
UPDATE pg_dist_partition SET repmodel = 'c';
SELECT fill('app_1');
CALL dynamo_internal.sweep_shards('app', 10, 0, true);
UPDATE pg_dist_partition SET repmodel = 's';
-- all together
CALL dynamo_internal.sweep_shards('app', 10, 1000000, false);
TABLE rows;

-- calls for the whole table
INSERT INTO answers VALUES (1, true, '3'), (2, true, '4');
CALL dyn_sweep_ttl('app');
CALL dyn_sweep_ttl('app', batch_size => 5, time_budget => '1 min', from_start => false);
UPDATE answers SET success = false, result = 'ERROR:  something' WHERE nodeid = 2;
CALL dyn_sweep_ttl('app');
CALL dyn_sweep_ttl();
-- where Citus does not work, other tables are listed and swept
SELECT dyn_create_table('plain', 'pk S');
CALL dyn_enable_ttl('plain', 'expires');
SELECT dyn_put('plain', jsonb_build_object('pk', 'a', 'expires', floor(extract(epoch FROM now())) - 10));
UPDATE answers SET success = true, result = '0';
ALTER FUNCTION pg_catalog.shard_name RENAME TO shard_name_of;
SELECT relation, due_items FROM dyn_ttl_tables WHERE relation::text ~ '^(app|plain)' ORDER BY relation::text;
CALL dyn_sweep_ttl();
ALTER FUNCTION pg_catalog.shard_name_of RENAME TO shard_name;

-- nodes that answer nothing
UPDATE answers SET result = NULL;
CALL dyn_sweep_ttl('app');
UPDATE answers SET success = NULL;
CALL dyn_sweep_ttl('app');
-- shards of a table that was dropped meanwhile have no names
CREATE OR REPLACE FUNCTION pg_catalog.shard_name(name regclass, id bigint, skip_public bool DEFAULT true) RETURNS text LANGUAGE sql AS 'SELECT NULL';
SELECT relation, due_items FROM dyn_ttl_tables WHERE relation::text ~ '^(app|plain)' ORDER BY relation::text;
CALL dynamo_internal.sweep_shards('app', 10, 0, true);

-- rights
CREATE ROLE regress_ttl_stranger;
GRANT USAGE ON SCHEMA ttl_shards TO regress_ttl_stranger;
SET ROLE regress_ttl_stranger;
CALL dyn_sweep_ttl('app');
CALL dynamo_internal.sweep_shards('app', 10, 0, true);
CALL dynamo_internal.sweep_shards(1, 10, 0, true);
CALL dynamo_internal.sweep_shards('app', NULL, 0, true);
BEGIN;
CALL dynamo_internal.sweep_shards('app', 10, 0, true);
ROLLBACK;
RESET ROLE;
CALL dynamo_internal.sweep_shards('pg_class', 10, 0, true);

DROP SCHEMA ttl_shards CASCADE;
DROP OWNED BY regress_ttl_shards, regress_ttl_stranger;
DROP ROLE regress_ttl_shards, regress_ttl_stranger;
SET search_path = public;
DROP TABLE answers;
DROP FUNCTION pg_catalog.run_command_on_all_nodes;
\set ECHO none
\i test/sql/unlike_citus.sql
\i test/sql/switch_on.sql
\set ECHO all
