-- Needs logical decoding.
SELECT current_setting('wal_level') <> 'logical' AS skipped \gset
\if :skipped
\echo skipped: wal_level is not logical
\quit
\endif
-- dyn_collect_streams(): records move from the slot into the extension's tables, exactly once.
\set VERBOSITY terse
\set service stream_collector
\set ECHO none
\i test/sql/switch_off.sql
\set ECHO all
SELECT 'dynamo_table_' || oid AS slot FROM pg_database WHERE datname = current_database() \gset

-- who may, and where
CALL dyn_collect_streams();
CREATE ROLE collect_user;
GRANT CREATE ON SCHEMA public TO collect_user;
SET ROLE collect_user;
CALL dyn_collect_streams();
RESET ROLE;
BEGIN;
CALL dyn_collect_streams();
ROLLBACK;
DO $$ DECLARE n bigint; BEGIN CALL dyn_collect_streams(n); EXCEPTION WHEN active_sql_transaction THEN RAISE NOTICE '%', SQLERRM; END $$;
SET default_transaction_read_only = on;
CALL dyn_collect_streams();
RESET default_transaction_read_only;
SET client_min_messages = warning;
CALL dyn_setup_streams();
RESET client_min_messages;
CALL dyn_collect_streams();

-- what was collected, by table, in order; places grow
CREATE FUNCTION collected(name text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT format('%s %s%s%s', r.event, coalesce(r.keys::text, 'all'), ' new ' || r.new_image::text, ' old ' || r.old_image::text)
	FROM dynamo_internal.stream_records r WHERE relation = name::regclass ORDER BY lsn, ordinal, shard $$;
CREATE FUNCTION forget() RETURNS void LANGUAGE sql AS 'DELETE FROM dynamo_internal.stream_records';
SELECT dyn_create_table('col_app', 'pk S', 'sk S'), dyn_create_table('col_keys', 'pk S'), dyn_create_table('col_none', 'pk S');
SELECT dyn_put('col_app', '{"pk":{"S":"before"},"sk":{"S":"enabled"}}');
SELECT dyn_enable_stream('col_app', 'NEW_AND_OLD_IMAGES') IS NOT NULL, dyn_enable_stream('col_keys', 'KEYS_ONLY', 1) IS NOT NULL;

-- ST01, ST02, ST04: the three events, and tables without a stream
SELECT dyn_put('col_app', '{"pk":{"S":"a"},"sk":{"S":"1"},"n":{"N":"1"}}');
SELECT dyn_update('col_app', '{"pk":{"S":"a"},"sk":{"S":"1"}}', 'SET n = n + :one', vals => '{":one":{"N":"1"}}');
SELECT dyn_delete('col_app', '{"pk":{"S":"a"},"sk":{"S":"1"}}');
SELECT dyn_put('col_keys', '{"pk":{"S":"k"},"big":{"S":"x"}}');
SELECT dyn_put('col_none', '{"pk":{"S":"k"}}');
CALL dyn_collect_streams();
SELECT collected('col_app');
SELECT collected('col_keys');
SELECT count(*) FROM dynamo_internal.stream_records WHERE relation = 'col_none'::regclass;
CALL dyn_collect_streams();
SELECT count(*), count(*) FILTER (WHERE committed <= collected), count(DISTINCT (lsn, ordinal)) FROM dynamo_internal.stream_records;

-- ST07: nothing of what was rolled back
SELECT forget();
BEGIN;
SELECT dyn_put('col_app', '{"pk":{"S":"rolled"},"sk":{"S":"back"}}');
ROLLBACK;
BEGIN;
SELECT dyn_put('col_app', '{"pk":{"S":"kept"},"sk":{"S":"1"}}');
SAVEPOINT s;
SELECT dyn_put('col_app', '{"pk":{"S":"rolled"},"sk":{"S":"back"}}');
SELECT dyn_delete('col_app', '{"pk":{"S":"kept"},"sk":{"S":"1"}}');
ROLLBACK TO s;
SELECT dyn_put('col_app', '{"pk":{"S":"kept"},"sk":{"S":"2"}}');
SAVEPOINT s;
SELECT dyn_put('col_app', '{"pk":{"S":"kept"},"sk":{"S":"3"}}');
RELEASE s;
COMMIT;
CALL dyn_collect_streams();
SELECT collected('col_app');
SELECT count(DISTINCT lsn), array_agg(ordinal ORDER BY ordinal) FROM dynamo_internal.stream_records;

-- ST06: the changes of an item in their order, also by more than one round
SELECT forget();
SELECT dyn_put('col_app', '{"pk":{"S":"order"},"sk":{"S":"1"},"n":{"N":"0"}}');
CALL dyn_collect_streams();
DO $$
DECLARE
	n bigint;
BEGIN
	FOR i IN 1..100 LOOP
		PERFORM dyn_update('col_app', '{"pk":{"S":"order"},"sk":{"S":"1"}}', 'SET n = n + :one', vals => '{":one":{"N":"1"}}');
		COMMIT;
		IF i % 25 = 0 THEN
			CALL dyn_collect_streams(n);
		END IF;
	END LOOP;
END $$;
CALL dyn_collect_streams();
SELECT count(*), array_agg((new_image ->> 'n')::int ORDER BY lsn, ordinal) = array_agg(i::int ORDER BY i) AS ordered
	FROM (SELECT *, row_number() OVER (ORDER BY lsn, ordinal) - 1 AS i FROM dynamo_internal.stream_records) r;

-- ST12: one record for each item of a transaction or batch, none for a condition check
SELECT forget();
SELECT dyn_transact('[{"Put":{"TableName":"col_app","Item":{"pk":{"S":"t"},"sk":{"S":"1"}}}},
	{"Put":{"TableName":"col_app","Item":{"pk":{"S":"t"},"sk":{"S":"2"}}}},
	{"Put":{"TableName":"col_keys","Item":{"pk":{"S":"t"}}}},
	{"ConditionCheck":{"TableName":"col_app","Key":{"pk":{"S":"absent"},"sk":{"S":"1"}},"ConditionExpression":"attribute_not_exists(pk)"}}]');
CALL dyn_collect_streams();
SELECT event, keys FROM dynamo_internal.stream_records ORDER BY keys::text;
SELECT count(DISTINCT lsn), array_agg(ordinal ORDER BY ordinal) FROM dynamo_internal.stream_records;

-- a TRUNCATE, and a table that is gone when its changes are collected
SELECT forget();
TRUNCATE col_keys;
SELECT dyn_put('col_keys', '{"pk":{"S":"again"}}');
CALL dyn_collect_streams();
SELECT collected('col_keys');
SELECT forget();
SELECT dyn_put('col_keys', '{"pk":{"S":"late"}}');
SELECT 'col_keys'::regclass::oid AS gone \gset
DROP TABLE col_keys;
CALL dyn_collect_streams();
SELECT relation = :gone AS of_it, event, keys FROM dynamo_internal.stream_records;

-- a transaction that memory does not hold, and items out of line
SELECT forget();
SET work_mem = '64kB';
INSERT INTO col_app (item) SELECT jsonb_build_object('pk', 'many', 'sk', to_char(i, 'FM00000'), 'pad', repeat(md5(i::text), 1 + i % 10))
	FROM generate_series(1, 30000) i;
INSERT INTO col_app (item) SELECT jsonb_build_object('pk', 'large', 'sk', i::text, 'pad',
	(SELECT string_agg(md5((i * 10000 + j)::text), '') FROM generate_series(1, 3000) j))
	FROM generate_series(1, 3) i;
CALL dyn_collect_streams();
RESET work_mem;
SELECT count(*), count(DISTINCT lsn), min(ordinal), max(ordinal) FROM dynamo_internal.stream_records WHERE keys ->> 'pk' = 'many';
SELECT count(*) FROM dynamo_internal.stream_records r JOIN col_app a ON a.pk = r.keys ->> 'pk' AND a.sk = r.keys ->> 'sk' AND a.item = r.new_image;

-- ST07: a crash after records were stored, and before the slot was told: the slot as it was comes back
SELECT forget();
SELECT slot_name = 'col_copy' FROM pg_copy_logical_replication_slot(:'slot', 'col_copy');
SELECT dyn_put('col_app', '{"pk":{"S":"once"},"sk":{"S":"1"}}');
CALL dyn_collect_streams();
SELECT pg_drop_replication_slot(:'slot');
SELECT slot_name = :'slot' FROM pg_copy_logical_replication_slot('col_copy', :'slot');
SELECT r.confirmed_flush_lsn < s.collected AS behind FROM pg_replication_slots r, dynamo_internal.stream_state s WHERE r.slot_name = :'slot';
SELECT dyn_put('col_app', '{"pk":{"S":"once"},"sk":{"S":"2"}}');
CALL dyn_collect_streams();
SELECT collected('col_app');
SELECT r.confirmed_flush_lsn = s.collected AS in_step FROM pg_replication_slots r, dynamo_internal.stream_state s WHERE r.slot_name = :'slot';

-- a slot that somebody else has moved, and one that is gone: nothing is collected, and it is said what helps
\set VERBOSITY default
SELECT dyn_put('col_app', '{"pk":{"S":"lost"},"sk":{"S":"1"}}');
SELECT end_lsn IS NOT NULL FROM pg_replication_slot_advance(:'slot', pg_current_wal_lsn());
CALL dyn_collect_streams();
SELECT pg_drop_replication_slot(:'slot');
CALL dyn_collect_streams();
SELECT count(*) FROM dynamo_internal.stream_records WHERE keys ->> 'pk' = 'lost';
\set VERBOSITY terse
SELECT slot_name = :'slot' FROM pg_copy_logical_replication_slot('col_copy', :'slot');
CALL dyn_collect_streams();
SELECT count(*) FROM dynamo_internal.stream_records WHERE keys ->> 'pk' = 'lost';
SELECT pg_drop_replication_slot('col_copy');

-- while there is nothing for streams, the slot goes on all the same
CREATE TABLE col_other AS SELECT i, repeat('x', 500) FROM generate_series(1, 1000) i;
SELECT pg_current_wal_insert_lsn() AS here \gset
CALL dyn_collect_streams();
-- a collector writes down such progress once a second
SELECT set_config('col.here', :'here', false), set_config('col.slot', :'slot', false) \gset
DO $$ BEGIN
	FOR i IN 1..600 LOOP
		EXIT WHEN (SELECT confirmed_flush_lsn >= current_setting('col.here')::pg_lsn FROM pg_replication_slots WHERE slot_name = current_setting('col.slot'));
		PERFORM pg_sleep(0.1);
	END LOOP;
END $$;
SELECT confirmed_flush_lsn >= :'here' AS moved FROM pg_replication_slots WHERE slot_name = :'slot';
DROP TABLE col_other;

-- partitions: a span of time, members of the extension, nobody's but the owner's
SELECT count(*) > 0 AS some, bool_and(d.refobjid IS NOT NULL) AS members,
	bool_and(NOT EXISTS (SELECT FROM aclexplode(c.relacl) a WHERE a.grantee <> c.relowner)) AS owned
	FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
		LEFT JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass
	WHERE i.inhparent = 'dynamo_internal.stream_records'::regclass;

-- ST09: records are trimmed when they expire, with their last place noted; default privileges give no rights
ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC, collect_user;
-- a new session has what was set, and none has to wait for it
ALTER SYSTEM SET dynamo_table.stream_retention = '1s';
SELECT pg_reload_conf();
\c -
SHOW dynamo_table.stream_retention;
-- a partition that is there stays as wide as it is
DO $$
DECLARE
	p regclass;
BEGIN
	FOR p IN SELECT inhrelid FROM pg_inherits WHERE inhparent = 'dynamo_internal.stream_records'::regclass LOOP
		EXECUTE format('ALTER EXTENSION dynamo_table DROP TABLE %1$s; DROP TABLE %1$s', p);
	END LOOP;
END $$;
DO $$
DECLARE
	n bigint;
BEGIN
	FOR i IN 1..4 LOOP
		PERFORM dyn_put('col_app', jsonb_build_object('pk', 'trim', 'sk', i::text));
		COMMIT;
		CALL dyn_collect_streams(n);
		PERFORM pg_sleep(1);
	END LOOP;
	COMMIT;
	PERFORM pg_sleep(1);
	PERFORM dyn_put('col_app', jsonb_build_object('pk', 'trim', 'sk', 'last'));
	COMMIT;
	CALL dyn_collect_streams(n);
END $$;
SELECT DISTINCT keys ->> 'sk' IN ('4', 'last') AS late FROM dynamo_internal.stream_records;
SELECT count(*) AS streams, bool_and(t.relation = 'col_app'::regclass) AS of_tables_there,
		bool_and((t.lsn, t.ordinal) < (SELECT r.lsn, r.ordinal FROM dynamo_internal.stream_records r ORDER BY r.lsn, r.ordinal LIMIT 1)) AS before
	FROM dynamo_internal.stream_trimmed t;
SELECT count(*) < 6 AS few, bool_and(NOT EXISTS (SELECT FROM aclexplode(c.relacl) a WHERE a.grantee <> c.relowner)) AS owned
	FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'dynamo_internal.stream_records'::regclass;
ALTER DEFAULT PRIVILEGES REVOKE ALL ON TABLES FROM PUBLIC, collect_user;
ALTER SYSTEM RESET dynamo_table.stream_retention;
SELECT pg_reload_conf();
\c -
LOAD 'dynamo_table';
SHOW dynamo_table.stream_retention;

-- what of partitions is made by another width joins what is there
SELECT dyn_put('col_app', '{"pk":{"S":"wide"},"sk":{"S":"1"}}');
SELECT pg_sleep(1.1);
CALL dyn_collect_streams();
SELECT count(*) FROM dynamo_internal.stream_records WHERE keys ->> 'pk' = 'wide';

-- ST09: a clock that was ahead and is set back; records keep their order and expire all the same, also after a reset
ALTER SYSTEM SET dynamo_table.stream_retention = '1s';
SELECT pg_reload_conf();
\c -
UPDATE dynamo_internal.stream_state SET collected_at = collected_at + '300 days', records_at = records_at + '300 days';
SELECT dyn_put('col_app', '{"pk":{"S":"ahead"},"sk":{"S":"1"}}');
CALL dyn_collect_streams();
SELECT pg_drop_replication_slot(:'slot');
SET client_min_messages = error;
CALL dyn_setup_streams();
RESET client_min_messages;
DO $$
DECLARE
	n bigint;
BEGIN
	FOR i IN 2..5 LOOP
		PERFORM dyn_put('col_app', jsonb_build_object('pk', 'ahead', 'sk', i::text));
		COMMIT;
		CALL dyn_collect_streams(n);
		PERFORM pg_sleep(1.1);
	END LOOP;
END $$;
SELECT bool_and(collected > now() + '299 days') AS ahead, bool_and(growing) AS growing
	FROM (SELECT collected, collected >= lag(collected, 1, collected) OVER (ORDER BY lsn, ordinal) AS growing FROM dynamo_internal.stream_records
		WHERE keys ->> 'pk' = 'ahead') r;
SELECT pg_sleep(3.5);
SELECT dyn_put('col_app', '{"pk":{"S":"ahead"},"sk":{"S":"last"}}');
CALL dyn_collect_streams();
SELECT keys ->> 'sk' AS sk FROM dynamo_internal.stream_records WHERE keys ->> 'pk' = 'ahead';
SELECT collected_at < now() + '1 minute' AS by_the_clock FROM dyn_stream_slots;
ALTER SYSTEM RESET dynamo_table.stream_retention;
SELECT pg_reload_conf();

SELECT dyn_disable_stream('col_app');
CALL dyn_teardown_streams();
SELECT dyn_drop_table('col_app'), dyn_drop_table('col_none');
REVOKE CREATE ON SCHEMA public FROM collect_user;
DROP ROLE collect_user;
DROP FUNCTION collected(text), forget();
\set ECHO none
\i test/sql/switch_on.sql
\set ECHO all
