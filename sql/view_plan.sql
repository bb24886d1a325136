-- What the planner makes of conditions on views of entities: conditions on keys, which indexes can use.
\pset format unaligned
\pset tuples_only on
SET TIME ZONE 'UTC';
SET DATESTYLE = ISO;
CREATE TYPE color AS ENUM ('red', 'blue');
SELECT dyn_create_table('app', 'pk S', 'sk S', global_indexes => '{"GSI1": {"partition_key": "GSI1PK S", "sort_key": "GSI1SK S"},
	"ByStatus": {"partition_key": "Status S", "sort_key": "Priority N"}}');
SELECT dyn_create_entity('app', 'Org', '{"pk":"ORG#<OrgId>","sk":"#METADATA#","GSI1PK":"ORGANIZATIONS","GSI1SK":"<Name:upper>"}', '{"OrgId":"S","Name":"S"}');
SELECT dyn_create_entity('app', 'Project',
	'{"pk":"ORG#<OrgId>","sk":"PRO#<Kind>#<ProjectId:05>","GSI1PK":"LEAD#<Lead>",
	"GSI1SK":[{"when":{"Closed":null},"template":"OPEN#<ProjectId:05>"},{"template":"CLOSED#<ProjectId:05>"}]}',
  '{"OrgId":{"type":"S","stored":"o"},"Kind":"S varchar(20)","ProjectId":"N integer","Lead":"S uuid","Closed":"BOOL","Status":"S","Priority":"N bigint",
    "Due":"S date"}');
-- each type by itself
SELECT dyn_create_entity('app', 'Odd', '{"pk":"ODD#<Uuid>","sk":"<Date>#<Color>#<Number>#<Time:day>#<Loose>#<Map.City>"}',
  '{"Uuid":"S uuid","Date":"S date","Color":"S color","Number":"N","Time":"S timestamptz","Loose":"S char(10)","Map":"M"}');
SELECT dyn_create_entity_view('app', 'Org'), dyn_create_entity_view('app', 'Org', index_name => 'GSI1'), dyn_create_entity_view('app', 'Project'),
	dyn_create_entity_view('app', 'Project', index_name => 'GSI1'),
  dyn_create_entity_view('app', 'Project', 'by_status', index_name => 'ByStatus'), dyn_create_entity_view('app', 'Odd');
SELECT count(*) FROM (VALUES ('Org', '{"OrgId":"1","Name":"Happy Inc"}'::jsonb), ('Org', '{"OrgId":"2","Name":"ABC"}'),
  ('Project', '{"OrgId":"1","Kind":"agile","ProjectId":1,"Lead":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11","Status":"new","Priority":5}'),
  ('Project', '{"OrgId":"1","Kind":"agile","ProjectId":2,"Lead":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11","Closed":true,"Status":"new","Priority":3}'),
  ('Project', '{"OrgId":"1","Kind":"fixed bid","ProjectId":3}'), ('Project', '{"OrgId":"2","Kind":"agile","ProjectId":1}'),
  ('Odd', '{"Uuid":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11","Date":"2024-05-01","Color":"red","Number":5,"Time":"2024-06-01T10:00:00Z","Loose":"loose",
    "Map":{"City":"Berlin"}}')) v (e, a), dyn_put_entity('app', e, a);

CREATE FUNCTION plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'Scan|Index Cond' THEN
			RETURN NEXT regexp_replace(regexp_replace(line, '''\{"entity".*?\}\}''::text', 'DEFINITION', 'g'), '\$0|\(InitPlan (expr_)?1\).col1', 'SUBQUERY');
		END IF;
	END LOOP;
END $$;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
-- the table's key: a literal, the partition, a prefix of the sort key, all of it
SELECT plan('SELECT * FROM "Org"');
SELECT plan('SELECT * FROM "Org" WHERE "OrgId" = ''1''');
SELECT plan('SELECT * FROM "Project" WHERE "OrgId" = ''1''');
SELECT plan('SELECT * FROM "Project" WHERE "OrgId" = ''1'' AND "Kind" = ''agile''');
SELECT plan('SELECT * FROM "Project" WHERE "OrgId" = ''1'' AND "ProjectId" = 1 AND ''agile'' = "Kind"');
SELECT plan('SELECT * FROM "Project" WHERE "Kind" = ''agile''');
-- what comes later says nothing of the beginning
SELECT plan('SELECT * FROM "Project" WHERE "OrgId" = ''1'' AND "ProjectId" = 1');
-- integers of other widths; a numeric is compared as one
SELECT plan('SELECT * FROM "Project" WHERE "OrgId" = ''1'' AND "Kind" = ''agile'' AND "ProjectId" = 1::bigint');
SELECT plan('SELECT * FROM "Project" WHERE "OrgId" = ''1'' AND "Kind" = ''agile'' AND "ProjectId" = 1.0');
-- values that cannot be in a key are in no key, which is no error
SELECT plan('SELECT * FROM "Project" WHERE "OrgId" = ''1#2''');
SELECT plan('SELECT * FROM "Project" WHERE "OrgId" = ''1'' AND "Kind" = ''agile'' AND "ProjectId" = 100000');
SELECT count(*) FROM "Project" WHERE "OrgId" = '1#2' OR ("OrgId" = '1' AND "Kind" = 'agile' AND "ProjectId" = -1);
SELECT count(*) FROM "Project" WHERE "OrgId" = '1#2';
SELECT count(*) FROM "Project" WHERE "OrgId" = '1' AND "Kind" = 'agile' AND "ProjectId" = 100000;
SELECT count(*) FROM "Project" WHERE "OrgId" = '';
-- answers are those of a sequential scan
SELECT "ProjectId" FROM "Project" WHERE "OrgId" = '1' ORDER BY 1;
SELECT "ProjectId" FROM "Project" WHERE "OrgId" = '1' AND "Kind" = 'agile' ORDER BY 1;
SELECT "ProjectId" FROM "Project" WHERE "OrgId" = '1' AND "Kind" = 'fixed bid' AND "ProjectId" = 3;
-- other operators, and equality that is none of values as they are stored, give no condition
SELECT plan('SELECT * FROM "Org" WHERE "OrgId" <> ''1''');
SELECT plan('SELECT * FROM "Org" WHERE upper("OrgId") = ''1''');
SELECT plan('SELECT * FROM "Org" WHERE "OrgId" = random()::text');

-- lists of constants that make whole keys
SELECT plan('SELECT * FROM "Org" WHERE "OrgId" IN (''1'', ''2'', ''#'', NULL)');
SELECT plan('SELECT * FROM "Project" WHERE "OrgId" IN (''1'', ''2'') AND "Kind" IN (''agile'', ''fixed bid'')');
SELECT plan('SELECT * FROM "Org" WHERE "OrgId" NOT IN (''1'', ''2'')');
-- a list is of no use where a value that is not constant comes after it
SELECT plan('SELECT * FROM "Project" WHERE "OrgId" = ''1'' AND "Kind" IN (''agile'', ''fixed bid'') AND "ProjectId" = (SELECT 1)');
SELECT count(*) FROM "Project" WHERE "OrgId" = '1' AND "Kind" IN ('agile', 'fixed bid') AND "ProjectId" = (SELECT 1);
-- ranges of what is ordered in keys as it is in SQL
SELECT plan('SELECT * FROM "Project" WHERE "OrgId" = ''1'' AND "Kind" = ''agile'' AND "ProjectId" > 5 AND "ProjectId" <= 70');
SELECT plan('SELECT * FROM "Project" WHERE "OrgId" = ''1'' AND "Kind" = ''agile'' AND "ProjectId" >= -1');
SELECT plan('SELECT * FROM "Project" WHERE "OrgId" = ''1'' AND "Kind" > ''agile''');
SELECT plan('SELECT * FROM "Odd" WHERE "Uuid" < ''a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'' AND "Date" BETWEEN ''2024-05-01'' AND ''2024-06-01''');
SELECT plan('SELECT * FROM "Odd" WHERE "Date" >= ''2024-05-01'' AND "Date" < ''infinity''');
SELECT plan('SELECT * FROM "Odd" WHERE "Date" = ''2024-05-01'' AND "Color" = ''red'' AND "Number" = 5 AND "Time" >= ''2024-06-01 10:00Z''
	AND "Time" < ''2024-06-03 12:00Z''');
SELECT plan('SELECT * FROM "Odd" WHERE "Date" >= now()::date');

-- indexes, of what is in them: a constant template, and one whose alternatives differ
SELECT plan('SELECT * FROM "Org_GSI1"');
SELECT plan('SELECT * FROM "Org_GSI1" WHERE "Name" = ''Happy Inc''');
SELECT plan('SELECT * FROM "Project_GSI1" WHERE "Lead" = ''a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11''');
SELECT plan('SELECT * FROM "Project_GSI1" WHERE "Lead" = ''a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'' AND "ProjectId" = 1');
SELECT "ProjectId" FROM "Project_GSI1" WHERE "Lead" = 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11' ORDER BY 1;
SELECT plan('SELECT * FROM by_status WHERE "Status" = ''new'' AND "Priority" = 5');
SELECT "ProjectId" FROM by_status WHERE "Status" = 'new' AND "Priority" = 5;
SELECT plan('SELECT * FROM by_status WHERE "Status" = ''new''');
-- the view of the table may show what is not in the index, so the index is no help there
SELECT plan('SELECT * FROM "Project" WHERE "Lead" = ''a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11''');

-- types: those that are read in more ways than one, written in one way
SELECT plan('SELECT * FROM "Odd" WHERE "Uuid" = ''A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'' AND "Date" = ''2024-05-01'' AND "Color" = ''red'' AND "Number" = 5.00
	AND "Time" = ''2024-06-01''');
SELECT count(*) FROM "Odd" WHERE "Uuid" = 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11' AND "Date" = '2024-05-01' AND "Color" = 'red' AND "Number" = 5.00;
SELECT plan('SELECT * FROM "Odd" WHERE "Date" = ''2024-05-01''::timestamp');
SELECT count(*) FROM "Odd" WHERE "Loose" = 'loose   ' AND "Uuid" = 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11';

-- parameters, and plans for all of them
SET plan_cache_mode = force_generic_plan;
PREPARE generic(text, text) AS SELECT "ProjectId" FROM "Project" WHERE "OrgId" = $1 AND "Kind" = $2 ORDER BY 1;
SELECT plan('EXECUTE generic(''1'', ''agile'')');
EXECUTE generic('1', 'agile');
EXECUTE generic('1', 'a#b');
EXECUTE generic('1#', 'agile');
EXECUTE generic(NULL, 'agile');
EXECUTE generic('2', 'agile');
PREPARE colored(color) AS SELECT count(*) FROM "Odd" WHERE "Uuid" = 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11' AND "Date" = '2024-05-01' AND "Color" = $1;
EXECUTE colored('red');
EXECUTE colored('blue');
SET plan_cache_mode = force_custom_plan;
SELECT plan('EXECUTE generic(''1'', ''agile'')');
EXECUTE generic('1', 'agile');
RESET plan_cache_mode;
-- values of the statement's time
SELECT plan('SELECT * FROM "Org" WHERE "OrgId" = current_setting(''application_name'')');
SELECT plan('SELECT * FROM "Org" WHERE "OrgId" = (SELECT ''1'')');
SELECT count(*) FROM "Org" WHERE "OrgId" = (SELECT max("OrgId") FROM "Org");
-- joins: what one side must equal, the other must too
SELECT ltrim(line, '-> ') FROM plan('SELECT * FROM "Org" o JOIN "Project" p USING ("OrgId") WHERE o."OrgId" = ''1''') line ORDER BY 1;
SELECT o."Name", p."ProjectId" FROM "Org" o JOIN "Project" p USING ("OrgId") WHERE o."OrgId" = '1' ORDER BY 2;
SELECT o."Name", p."ProjectId" FROM "Org" o LEFT JOIN "Project" p ON p."OrgId" = o."OrgId" AND p."Kind" = 'fixed bid' ORDER BY 1, 2;
-- below outer joins, whose conditions and whose NULLs are the join's
SELECT plan('SELECT * FROM (VALUES (''1''), (''2'')) v (x) LEFT JOIN "Project" p ON p."OrgId" = ''1'' AND p."Kind" = ''agile''');
SELECT v.x, p."ProjectId" FROM (VALUES ('1'), ('2')) v (x) LEFT JOIN "Project" p ON p."OrgId" = '1' AND p."Kind" = 'agile' ORDER BY 1, 2;
SELECT v.x, p."ProjectId" FROM (VALUES ('1'), ('2')) v (x) LEFT JOIN "Project" p ON p."OrgId" = '1#' ORDER BY 1, 2;
SELECT ltrim(line, '-> ') FROM plan('SELECT * FROM (VALUES (''1''), (''2'')) v (x) LEFT JOIN "Project" p ON p."OrgId" = v.x WHERE p."OrgId" = ''1''') line
	ORDER BY 1;
SELECT v.x, p."ProjectId" FROM (VALUES ('1'), ('2')) v (x) LEFT JOIN "Project" p ON p."OrgId" = v.x WHERE p."OrgId" = '1' ORDER BY 1, 2;
SELECT v.x FROM (VALUES ('1'), ('2'), ('3')) v (x) LEFT JOIN "Project" p ON p."OrgId" = v.x WHERE p."OrgId" IS NULL ORDER BY 1;
SELECT v.x, o."Name" FROM (VALUES ('1'), ('2'), ('3')) v (x) FULL JOIN "Org" o ON o."OrgId" = v.x AND o."OrgId" = '1' ORDER BY 1, 2;
-- a label of an enum is renamed while a plan is kept
SET plan_cache_mode = force_generic_plan;
PREPARE red AS SELECT count(*) FROM "Odd" WHERE "Date" = '2024-05-01' AND "Color" = 'red'::color;
SELECT plan('EXECUTE red');
EXECUTE red;
ALTER TYPE color RENAME VALUE 'red' TO 'scarlet';
EXECUTE red;
ALTER TYPE color RENAME VALUE 'scarlet' TO 'red';
EXECUTE red;
RESET plan_cache_mode;

-- a subquery is asked once for each row, and uses the index each time
SELECT plan('SELECT (SELECT count(*) FROM "Project" p WHERE p."OrgId" = o.x) FROM (VALUES (''1''), (''2'')) o (x)');
SELECT x, (SELECT count(*) FROM "Project" p WHERE p."OrgId" = o.x) FROM (VALUES ('1'), ('2'), ('#'), (NULL)) o (x);
-- row-level security: a condition on a key is one of an index, since it is compared by a leakproof operator
CREATE ROLE dyn_planner;
GRANT SELECT ON app, "Org" TO dyn_planner;
GRANT EXECUTE ON FUNCTION plan TO dyn_planner;
ALTER TABLE app ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON app USING (pk <> 'ORG#2');
SET ROLE dyn_planner;
SELECT plan('SELECT * FROM "Org" WHERE "OrgId" = ''2''');
SELECT * FROM "Org";
RESET ROLE;
DROP OWNED BY dyn_planner;
DROP ROLE dyn_planner;
ALTER TABLE app DISABLE ROW LEVEL SECURITY;

-- who may read a view need have no right to use the schemas of its types and functions
CREATE ROLE dyn_schemaless;
CREATE SCHEMA shop;
CREATE SCHEMA types;
CREATE TYPE types.size AS ENUM ('s', 'm');
SELECT dyn_create_table('shop.shop', 'pk S');
SELECT dyn_create_entity('shop.shop', 'Shirt', '{"pk":"SHIRT#<Id>#<Size>"}', '{"Id":"S","Size":"S types.size"}');
SELECT dyn_create_entity_view('shop.shop', 'Shirt');
SELECT count(*) FROM dyn_put_entity('shop.shop', 'Shirt', '{"Id":"1","Size":"s"}'::jsonb);
GRANT USAGE ON SCHEMA shop TO dyn_schemaless;
GRANT SELECT, UPDATE ON shop.shop, shop."Shirt" TO dyn_schemaless;
REVOKE USAGE ON SCHEMA public FROM PUBLIC;
SET ROLE dyn_schemaless;
SELECT * FROM shop."Shirt" WHERE "Id" = current_setting('search_path') OR "Size" IS NOT NULL;
SELECT * FROM shop."Shirt" WHERE "Id" = current_setting('search_path');
RESET ROLE;
GRANT USAGE ON SCHEMA public TO PUBLIC;
SET ROLE dyn_schemaless;
UPDATE shop."Shirt" SET "Size" = "Size" WHERE "Id" = pg_catalog.lower('1') RETURNING *;
RESET ROLE;
SET client_min_messages = warning;
DROP SCHEMA shop CASCADE;
DROP SCHEMA types CASCADE;
RESET client_min_messages;
DROP ROLE dyn_schemaless;

-- 20,000 items: the planner chooses the index by itself, and knows about how many items there are of an entity
RESET enable_seqscan;
RESET enable_bitmapscan;
SELECT count(*) FROM generate_series(1, 200) o, dyn_put_entity('app', 'Org', jsonb_build_object('OrgId', 'x' || o, 'Name', 'n' || o));
SELECT count(*) FROM generate_series(1, 200) o, generate_series(1, 99) p,
  dyn_put_entity('app', 'Project', jsonb_build_object('OrgId', 'x' || o, 'Kind', CASE WHEN p % 2 = 0 THEN 'agile' ELSE 'fixed' END, 'ProjectId', p, 'Lead',
    md5(o::text)::uuid));
ANALYZE app;
SELECT plan('SELECT * FROM "Project" WHERE "OrgId" = ''x17''');
SELECT plan('SELECT * FROM "Project" WHERE "OrgId" = ''x17'' AND "Kind" = ''agile'' AND "ProjectId" = 4');
SELECT plan('SELECT * FROM "Project" WHERE "OrgId" = ''x17'' AND "Kind" = ''agile'' AND "ProjectId" IN (4, 6)');
SELECT plan('SELECT * FROM "Project_GSI1" WHERE "Lead" = ''70efdf2e-c9b0-8607-9795-c442636b55fb''');
SELECT plan('SELECT * FROM "Org_GSI1" WHERE "Name" = ''n3''');
SELECT plan('SELECT count(*) FROM "Project"');
SELECT count(*) FROM "Project" WHERE "OrgId" = 'x17';
SELECT count(*) FROM "Project_GSI1" WHERE "Lead" = '70efdf2e-c9b0-8607-9795-c442636b55fb';
CREATE FUNCTION estimate(query text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE result json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO result;
	RETURN (result #>> '{0,Plan,Plan Rows}')::numeric;
END $$;
CREATE FUNCTION inner_rows(query text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE result json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO result;
	RETURN (result #>> '{0,Plan,Plans,1,Plan Rows}')::numeric;
END $$;
SELECT estimate('SELECT * FROM "Project"') BETWEEN 15000 AND 20100 AS projects, estimate('SELECT * FROM "Org"') BETWEEN 100 AND 400 AS organizations;
-- beginnings of both keys come together
SELECT dyn_create_entity('app', 'Person', '{"pk": "PERSON#<Name>", "sk": "#PERSON"}', '{"Name": "S"}'), dyn_create_entity_view('app', 'Person');
SELECT count(*) FROM generate_series(1, 400) n, dyn_put_entity('app', 'Person', jsonb_build_object('Name', 'n' || n));
ANALYZE app;
SELECT estimate('SELECT * FROM "Person"') BETWEEN 200 AND 800 AS persons;
-- values that make keys, and views of indexes
SELECT estimate('SELECT * FROM "Person" WHERE "Name" = ''n7''') AS one,
	estimate('SELECT * FROM "Project" WHERE "OrgId" = ''x17'' AND "Kind" = ''agile'' AND "ProjectId" = 4') AS one;
SELECT estimate('SELECT * FROM "Project_GSI1"') BETWEEN 15000 AND 20100 AS projects, estimate('SELECT * FROM "Org_GSI1"') BETWEEN 100 AND 400 AS organizations,
  estimate('SELECT * FROM "Project_GSI1" WHERE "Lead" = ''70efdf2e-c9b0-8607-9795-c442636b55fb''') BETWEEN 50 AND 200 AS of_one_lead;
-- what a join reads of a collection for each of its rows
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT inner_rows('SELECT * FROM (VALUES (''x3''), (''x4'')) v (x) JOIN "Project" p ON p."OrgId" = v.x') BETWEEN 20 AND 200 AS of_one_organization,
  inner_rows('SELECT * FROM (VALUES (''n3''), (''n4'')) v (x) JOIN "Person" p ON p."Name" = v.x') AS one;
RESET enable_hashjoin;
RESET enable_mergejoin;
-- an estimate that is kept is given up with the statistics
SELECT count(*) FROM generate_series(401, 2000) n, dyn_put_entity('app', 'Person', jsonb_build_object('Name', 'n' || n));
ANALYZE app;
SELECT estimate('SELECT * FROM "Person"') BETWEEN 1500 AND 2500 AS persons;
-- of an attribute that keys begin with, and of another one by statistics of its own
SELECT estimate('SELECT * FROM "Project" WHERE "Kind" = ''agile''') BETWEEN 5000 AND 15000 AS known;
SELECT estimate('SELECT * FROM "Project" WHERE "ProjectId" < 90') BETWEEN 15000 AND 20100 AS known;
CREATE STATISTICS numbers ON (dynamo_internal.attribute(item, 'ProjectId', 'N', NULL::integer)) FROM app;
ANALYZE app;
SELECT estimate('SELECT * FROM "Project" WHERE "ProjectId" < 90') BETWEEN 15000 AND 20100 AS known;
SELECT estimate('SELECT * FROM "Project" WHERE "Kind" = ''agile''') BETWEEN 5000 AND 15000 AS known;
DROP FUNCTION plan, estimate, inner_rows;
DEALLOCATE ALL;
SET client_min_messages = warning;
DROP TABLE app CASCADE;
DROP TYPE color;
