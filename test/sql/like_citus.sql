-- Makes a database look like one of Citus to the extension, although there is one node only: the rows of
-- a "distributed" table stay where they are, and the remote store's statements read and write them.
-- What changes the catalog tells of its call.
SET allow_system_table_mods = on;
CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass NOT NULL, partmethod "char" NOT NULL, repmodel "char" NOT NULL DEFAULT 's', colocationid int NOT NULL DEFAULT 1);
CREATE UNIQUE INDEX pg_dist_partition_logical_relid_index ON pg_catalog.pg_dist_partition (logicalrelid);
CREATE TABLE pg_catalog.pg_dist_local_group (groupid int PRIMARY KEY);
INSERT INTO pg_catalog.pg_dist_local_group VALUES (0);
CREATE TABLE pg_catalog.pg_dist_object (classid oid NOT NULL, objid oid NOT NULL, colocationid int);
CREATE FUNCTION pg_catalog.create_distributed_function(regprocedure, text, text) RETURNS void LANGUAGE sql AS '';
CREATE FUNCTION pg_catalog.create_distributed_table(name regclass, col text, kind text DEFAULT 'hash', colocate_with text DEFAULT 'default',
	shard_count int DEFAULT NULL) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	RAISE WARNING 'create_distributed_table(%, %, %, %)', name, col, colocate_with, shard_count;
	INSERT INTO pg_catalog.pg_dist_partition VALUES (name, 'h');
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
