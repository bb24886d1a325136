-- Makes a database look like one of Citus to the extension, although there is one node only: the rows of
-- a "distributed" table stay where they are, and the remote store's statements read and write them.  It has no shards, unless
-- rows of the catalogs say so.  What changes the catalogs tells of its call.  unlike_citus.sql removes it all.
SET allow_system_table_mods = on;
CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass NOT NULL, partmethod "char" NOT NULL, repmodel "char" NOT NULL DEFAULT 's',
	colocationid int NOT NULL DEFAULT 1);
CREATE UNIQUE INDEX pg_dist_partition_logical_relid_index ON pg_catalog.pg_dist_partition (logicalrelid);
CREATE TABLE pg_catalog.pg_dist_colocation (colocationid int PRIMARY KEY, shardcount int NOT NULL, replicationfactor int NOT NULL DEFAULT 1,
	distributioncolumntype oid NOT NULL);
CREATE TABLE pg_catalog.pg_dist_shard (logicalrelid regclass NOT NULL, shardid bigint NOT NULL, shardminvalue text, shardmaxvalue text);
CREATE TABLE pg_catalog.pg_dist_placement (shardid bigint NOT NULL, groupid int NOT NULL, shardstate int NOT NULL DEFAULT 1);
CREATE TABLE pg_catalog.pg_dist_node (nodeid int NOT NULL, groupid int NOT NULL, nodename text NOT NULL, nodeport int NOT NULL,
	noderole text NOT NULL DEFAULT 'primary');
CREATE TABLE pg_catalog.pg_dist_local_group (groupid int PRIMARY KEY);
INSERT INTO pg_catalog.pg_dist_local_group VALUES (0);
GRANT SELECT ON pg_catalog.pg_dist_partition, pg_catalog.pg_dist_shard, pg_catalog.pg_dist_placement, pg_catalog.pg_dist_node, pg_catalog.pg_dist_local_group,
	pg_catalog.pg_dist_colocation TO PUBLIC;
SET citus.shard_count = 8;
SET citus.shard_replication_factor = 1;
-- other sessions have it, too
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET citus.shard_replication_factor = 1', current_database()); END $$;
CREATE FUNCTION pg_catalog.shard_name(name regclass, id bigint, skip_public bool DEFAULT true) RETURNS text LANGUAGE sql AS $$ SELECT relname || '_' || id
	FROM pg_class WHERE oid = name $$;
CREATE FUNCTION pg_catalog.master_run_on_worker(text[], int[], text[], bool, OUT node_name text, OUT node_port int, OUT success bool, OUT result text)
	RETURNS SETOF record LANGUAGE sql AS $$ SELECT ''::text, 0, false, ''::text WHERE false $$;
CREATE FUNCTION pg_catalog.create_distributed_table(name regclass, col text, kind text DEFAULT 'hash', colocate_with text DEFAULT 'default',
	shard_count int DEFAULT NULL) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
	RAISE WARNING 'create_distributed_table(%, %, %, %)', name, col, colocate_with, shard_count;
	IF colocate_with = 'none' THEN
		INSERT INTO pg_catalog.pg_dist_colocation SELECT (SELECT 1 + count(*) FROM pg_catalog.pg_dist_colocation), coalesce(shard_count, 8), 1, atttypid
			FROM pg_attribute WHERE attrelid = name AND attname = col;
		INSERT INTO pg_catalog.pg_dist_partition SELECT name, 'h', 's', max(colocationid) FROM pg_catalog.pg_dist_colocation;
	ELSE
		INSERT INTO pg_catalog.pg_dist_partition SELECT name, 'h', 's', colocationid FROM pg_catalog.pg_dist_partition WHERE logicalrelid = colocate_with::regclass;
	END IF;
	-- sessions forget what they know of the table, as with Citus
	EXECUTE format('ALTER TABLE %s RESET (parallel_workers)', name);
END $$;
CREATE FUNCTION pg_catalog.truncate_local_data_after_distributing_table(name regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN RAISE WARNING 'truncate_local_data_after_distributing_table(%)', name; END $$;
CREATE FUNCTION pg_catalog.undistribute_table(name regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	RAISE WARNING 'undistribute_table(%)', name;
	DELETE FROM pg_catalog.pg_dist_partition WHERE logicalrelid = name;
	EXECUTE format('ALTER TABLE %s RESET (parallel_workers)', name);
END $$;
RESET allow_system_table_mods;
