-- EXPLAIN names the entity where a view has its definition, which stays what it is in the catalog.
\pset format unaligned
\pset tuples_only on
SELECT dyn_create_table('app', 'pk S', 'sk S');
SELECT dyn_create_entity('app', 'O''rg "x"', '{"pk":"ORG#<OrgId>","sk":"ORG"}', '{"OrgId":"S","Name":"S"}'), dyn_create_entity_view('app', 'O''rg "x"', 'org');
SELECT count(*) FROM generate_series(1, 300) i, dyn_put_entity('app', 'O''rg "x"', jsonb_build_object('OrgId', i::text, 'Name', 'n' || i % 3));
VACUUM ANALYZE app;
CREATE FUNCTION explain_lines(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		RETURN NEXT line;
	END LOOP;
END $$;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT explain_lines('SELECT * FROM org WHERE "OrgId" = ''7''');
RESET enable_seqscan;
SET enable_indexscan = off;
SELECT explain_lines('SELECT count(*) FROM org');
SELECT explain_lines('SELECT count(*) FROM (SELECT FROM app LIMIT 1) a JOIN app b ON dynamo_internal.is_entity(b.item,
	''{"entity":"mine","keys":{"pk":"A"},"attributes":{}}'', b.pk)');
RESET enable_indexscan;
RESET enable_bitmapscan;
-- in the workers of a parallel plan
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET min_parallel_index_scan_size = 0;
SELECT explain_lines('SELECT count(*) FROM org WHERE "Name" = ''n1''');
SELECT count(*) FROM org WHERE "Name" = 'n1';
RESET max_parallel_workers_per_gather;
-- prepared, with a plan that is kept
SET plan_cache_mode = force_generic_plan;
PREPARE one(text) AS SELECT "Name" FROM org WHERE "OrgId" = $1;
EXECUTE one('5');
EXECUTE one('9');
SELECT explain_lines('EXECUTE one(''5'')');
RESET plan_cache_mode;
-- the catalog has the definition
SELECT pg_get_viewdef('org') LIKE '%''{"entity": "O''''rg%''::text%' AS text, pg_get_viewdef('org') LIKE '%dynamo_internal.entity%' AS constant;
-- nobody makes such a constant
SELECT 'Org'::dynamo_internal.entity;
SELECT '{"entity":"e","keys":{"pk":"A"},"attributes":{}}'::text::dynamo_internal.entity;
SELECT dynamo_internal.is_entity('{"pk":{"S":"A"}}', '{"entity":"e","keys":{"pk":"A"},"attributes":{}}'::dynamo_internal.entity, 0);
-- a text that is not given in the statement, or none, is read where the function is called
SELECT dynamo_internal.is_entity('{"pk":{"S":"A"}}', d, 0) FROM (VALUES ('{"entity":"e","keys":{"pk":"A"},"attributes":{}}')) v (d);
SELECT dynamo_internal.is_entity('{"pk":{"S":"A"}}', '{"entity":"e","keys":{"pk":"A"},"attributes":{}}', 0);
-- a role without USAGE on the schema of what the extension has for itself, which reads the view
CREATE ROLE regress_explain;
GRANT SELECT ON app, org TO regress_explain;
SET ROLE regress_explain;
EXPLAIN (COSTS OFF) SELECT * FROM org;
SELECT count(*) FROM org;
RESET ROLE;
-- another server is sent the text
CREATE EXTENSION postgres_fdw;
CREATE SERVER other FOREIGN DATA WRAPPER postgres_fdw OPTIONS (extensions 'dynamo_table');
CREATE FOREIGN TABLE far (item dyn_item, pk text) SERVER other;
EXPLAIN (VERBOSE, COSTS OFF) SELECT pk FROM far WHERE dynamo_internal.is_entity(item, '{"entity":"mine","keys":{"pk":"A"},"attributes":{}}', pk);
DROP EXTENSION postgres_fdw CASCADE;
DROP FUNCTION explain_lines;
DROP TABLE app CASCADE;
DROP ROLE regress_explain;
