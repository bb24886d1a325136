-- Background workers of a :service, ttl_worker or stream_collector, do nothing in this database from here on, until switch_on.sql.
-- A worker that connects has a lock on the database until it has read its settings, and is in pg_stat_activity before it ends that.
SELECT format('ALTER DATABASE %I SET dynamo_table.%s = off', current_database(), :'service') \gexec
SELECT set_config('regress.worker', 'dynamo_table ' || replace(:'service', '_', ' '), false) AS worker \gset
DO $$
BEGIN
	WHILE EXISTS (SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.objid
			WHERE l.classid = 'pg_database'::regclass AND d.datname = current_database() AND l.pid <> pg_backend_pid()) LOOP
		PERFORM pg_sleep(0.01);
	END LOOP;
	WHILE EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND backend_type = current_setting('regress.worker')) LOOP
		PERFORM pg_sleep(0.01), pg_stat_clear_snapshot();
	END LOOP;
END $$;
