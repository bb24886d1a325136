-- A migration of many steps: whoever writes to a table or migrates a step has nothing to do with the others (M27)
\pset format unaligned
\set VERBOSITY terse
SET client_min_messages = warning;
CREATE SCHEMA mm;
SELECT dyn_create_table('mmt', 'pk S', 'sk S');
CREATE FUNCTION mm.steps() RETURNS jsonb LANGUAGE sql AS $$
	SELECT jsonb_agg(jsonb_build_object('entity', 'T' || i, 'from', 'mm.t' || i) ||
		CASE WHEN i > 1 THEN jsonb_build_object('parents', jsonb_build_object('p', jsonb_build_object('from', 'mm.t' || i / 2, 'on', '{"id": "p"}'::jsonb,
			'attributes', '{"PName": "name"}'::jsonb))) ELSE '{}' END ORDER BY i) FROM generate_series(1, 30) i
$$;
DO $$
BEGIN
	FOR i IN 1..30 LOOP
		EXECUTE format('CREATE TABLE mm.t%s (id int PRIMARY KEY, p int, name text)', i);
		EXECUTE format('INSERT INTO mm.t%s SELECT g, g, ''n'' || g FROM generate_series(1, 50) g', i);
		PERFORM dyn_create_entity('mmt', 'T' || i, jsonb_build_object('pk', format('T%s#<Id>', i), 'sk', '#'),
			'{"Id": "N integer", "P": "N integer", "Name": "S", "PName": "S"}'::jsonb);
	END LOOP;
	PERFORM dyn_create_migration('mmt', 'mm', mm.steps());
END $$;
-- batches do not read the declarations again
CREATE FUNCTION mm.reads() RETURNS bigint LANGUAGE sql AS $$
	SELECT sum(pg_stat_get_numscans(oid))::bigint FROM pg_class WHERE oid = 'pg_seclabel'::regclass OR
		oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = 'pg_seclabel'::regclass) $$;
SELECT pg_stat_force_next_flush();
SELECT mm.reads() AS before \gset
CALL dyn_migrate('mm', 'T7', batch_size => 1);
SELECT pg_stat_force_next_flush();
SELECT mm.reads() - :before < 40 AS few;
CALL dyn_migrate('mm');
SELECT count(*) FROM mmt;
SELECT dyn_follow_migration('mm');
-- a write reads the steps of its table: its own, and those whose parent it is
\c -
\pset format unaligned
\set VERBOSITY terse
BEGIN;
UPDATE mm.t7 SET name = 'seven' WHERE id = 7;
SELECT relname FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
	WHERE l.pid = pg_backend_pid() AND c.relnamespace = 'mm'::regnamespace AND c.relkind = 'r' GROUP BY 1 ORDER BY length(relname), relname;
COMMIT;
SELECT item ->> 'Name' AS name, item ->> 'PName' AS parent FROM mmt WHERE pk IN ('T7#7', 'T14#7', 'T15#7') ORDER BY pk;
-- so a table that is not as it was stops writers of the tables that are in a step with it, and no others
ALTER TABLE mm.t30 RENAME TO other;
UPDATE mm.t7 SET name = 'nine' WHERE id = 7;
UPDATE mm.t15 SET name = 'nine' WHERE id = 7;
UPDATE mm.other SET name = 'nine' WHERE id = 7;
SELECT * FROM dyn_verify_migration('mm');
ALTER TABLE mm.other RENAME TO t30;
UPDATE mm.t15 SET name = 'ten' WHERE id = 7;
UPDATE mm.t30 SET name = 'ten' WHERE id = 7;
SELECT * FROM dyn_verify_migration('mm');
-- a name that has to be quoted
SELECT dyn_follow_migration('mm', enabled => false);
ALTER TABLE mm.t30 RENAME TO "T ""30""\";
SELECT dyn_create_migration('mmt', 'mm', '[{"entity": "T30", "from": "mm.\"T \"\"30\"\"\\\""}, {"entity": "T1", "from": "mm.t1"}]');
SELECT dyn_follow_migration('mm');
UPDATE mm."T ""30""\" SET name = 'quoted' WHERE id = 7;
SELECT item ->> 'Name' FROM mmt WHERE pk = 'T30#7';
SELECT dyn_drop_migration('mm');
SELECT dyn_follow_migration('mm', enabled => false);
SELECT dyn_drop_migration('mm');
SELECT dyn_drop_table('mmt');
SET client_min_messages = warning;
DROP SCHEMA mm CASCADE;
