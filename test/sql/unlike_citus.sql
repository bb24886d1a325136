-- Removes what like_citus.sql has made.
SET allow_system_table_mods = on;
DROP FUNCTION pg_catalog.shard_name, pg_catalog.master_run_on_worker, pg_catalog.create_distributed_table,
	pg_catalog.truncate_local_data_after_distributing_table, pg_catalog.undistribute_table;
DROP TABLE pg_catalog.pg_dist_partition, pg_catalog.pg_dist_shard, pg_catalog.pg_dist_placement, pg_catalog.pg_dist_node, pg_catalog.pg_dist_local_group,
	pg_catalog.pg_dist_colocation;
RESET citus.shard_count;
RESET citus.shard_replication_factor;
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I RESET citus.shard_replication_factor', current_database()); END $$;
RESET allow_system_table_mods;
