\set QUIET on
\pset pager off
CREATE EXTENSION dynamo_table;

SELECT dyn_create_table('items', 'pk S', 'sk S') \g /dev/null
SELECT dyn_create_entity('items', 'Task', '{"pk": "PROJECT#<Project>", "sk": "TASK#<Id:05>"}',
	'{"Project": "S text", "Id": "N integer", "Title": "S text", "N": "N integer"}', 'Type') \g /dev/null
SELECT dyn_create_entity_view('items', 'Task', 'tasks') \g /dev/null
INSERT INTO tasks ("Project", "Id", "Title", "N") SELECT 'p' || i % 100, i, repeat('x', 200), 0 FROM generate_series(1, 10000) i;
VACUUM ANALYZE items;

CREATE TABLE results (planned_us numeric, prepared_us numeric, call_us numeric);
CREATE TABLE parameters AS SELECT "Project" AS project, "Id" AS id FROM tasks ORDER BY md5("Id"::text) LIMIT 1000;
CREATE FUNCTION planned() RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	started timestamptz := clock_timestamp();
	p parameters;
BEGIN
	FOR p IN SELECT * FROM parameters LOOP
		EXECUTE format('UPDATE tasks SET "N" = "N" + 1 WHERE "Project" = %L AND "Id" = %s', p.project, p.id);
	END LOOP;
	RETURN extract(epoch FROM clock_timestamp() - started) * 1e3;
END $$;
CREATE FUNCTION prepared() RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	started timestamptz := clock_timestamp();
	p parameters;
BEGIN
	FOR p IN SELECT * FROM parameters LOOP
		UPDATE tasks SET "N" = "N" + 1 WHERE "Project" = p.project AND "Id" = p.id;
	END LOOP;
	RETURN extract(epoch FROM clock_timestamp() - started) * 1e3;
END $$;
CREATE FUNCTION call() RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	started timestamptz := clock_timestamp();
	p parameters;
BEGIN
	FOR p IN SELECT * FROM parameters LOOP
		PERFORM dyn_update_entity('items', 'Task', jsonb_build_object('Project', p.project, 'Id', p.id), 'SET N = N + :one', vals => '{":one":{"N":"1"}}');
	END LOOP;
	RETURN extract(epoch FROM clock_timestamp() - started) * 1e3;
END $$;
CREATE PROCEDURE measure(rounds int) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM planned(), prepared(), call();
	COMMIT;
	FOR i IN 1 .. rounds LOOP
		INSERT INTO results SELECT planned(), prepared(), call();
		COMMIT;
	END LOOP;
END $$;
CALL measure(:rounds);

\echo
SELECT update, round(percentile_cont(0.5) WITHIN GROUP (ORDER BY us)::numeric, 1) AS us,
	round(percentile_cont(0.5) WITHIN GROUP (ORDER BY us / call_us)::numeric, 2) AS "times as long as dyn_update_entity"
FROM results, LATERAL (VALUES (1, 'of the view, planned', planned_us), (2, 'of the view, prepared', prepared_us), (3, 'dyn_update_entity', call_us)) v (n,
	update, us)
GROUP BY n, update ORDER BY n;
