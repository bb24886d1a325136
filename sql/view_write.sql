-- Writing to views of entities.
\pset format unaligned
\set SHOW_CONTEXT never
\pset tuples_only on
SET TIME ZONE 'UTC';
SET DATESTYLE = ISO;
SELECT dyn_create_table('app', 'pk S', 'sk S', global_indexes => '{"GSI1": {"partition_key": "GSI1PK S", "sort_key": "GSI1SK S"}}',
	local_indexes => '{"ByDue": {"sort_key": "Due S"}}');
SELECT dyn_create_entity('app', 'Project',
	'{"pk":"ORG#<OrgId>","sk":"PRO#<ProjectId:05>","GSI1PK":"LEAD#<Lead>",
	"GSI1SK":[{"when":{"Closed":null},"template":"OPEN#<Name>"},{"template":"CLOSED#<Name>"}]}',
  '{"OrgId":"S","ProjectId":"N integer","Name":{"type":"S","required":true,"stored":"n"},"Lead":"S","Closed":"S timestamptz(0)","Budget":"N numeric(10,2)",
    "Tags":"SS","Lines":"L","Meta":"M","Due":"S date","Key":{"type":"S","default":"ksuid"}}');
SELECT dyn_create_entity_view('app', 'Project'), dyn_create_entity_view('app', 'Project', index_name => 'GSI1'),
	dyn_create_entity_view('app', 'Project', unnest => 'Tags');

-- INSERT: keys, type attribute and defaults are made
INSERT INTO "Project" ("OrgId", "ProjectId", "Name", "Lead", "Budget", "Tags", "Lines", "Meta", "Due")
  VALUES ('1', 7, 'seven', 'ada', 12.345, '{b,a,b}', '[1,{"x":null}]', '{"y":[true]}', '2024-05-01')
  RETURNING "OrgId", "ProjectId", "Name", "Budget", "Tags", "Lines", "Meta", "Due", length("Key");
SELECT item #- '{Key}' FROM (SELECT dyn_get('app', '{"pk":{"S":"ORG#1"},"sk":{"S":"PRO#00007"}}')::jsonb AS item) i;
INSERT INTO "Project" ("OrgId", "ProjectId", "Name", "Key") SELECT '1', i, 'name ' || i, 'given' FROM generate_series(1, 3) i;
SELECT "ProjectId", "Name", "Key" FROM "Project" WHERE "ProjectId" < 4 ORDER BY 1;
-- one that is there
INSERT INTO "Project" ("OrgId", "ProjectId", "Name") VALUES ('1', 7, 'again');
-- a view has no unique constraint: the errors name the calls
INSERT INTO "Project" ("OrgId", "ProjectId", "Name") VALUES ('1', 7, 'again') ON CONFLICT DO NOTHING;
PREPARE upsert AS INSERT INTO "Project" ("OrgId", "ProjectId", "Name") VALUES ('1', 7, 'again') ON CONFLICT ("OrgId", "ProjectId") DO UPDATE SET "Name" =
	EXCLUDED."Name";
WITH more AS (INSERT INTO "Project_GSI1" ("OrgId", "ProjectId", "Name") VALUES ('1', 7, 'again') ON CONFLICT DO NOTHING RETURNING 1) SELECT count(*) FROM more;
SELECT dyn_put_entity('app', 'Project', '{"OrgId": "1", "ProjectId": 7, "Name": "again"}'::jsonb, 'attribute_not_exists(pk)');
-- but a view that PostgreSQL updates by itself has the constraints of its table
DO $$ BEGIN EXECUTE format('CREATE VIEW simple AS SELECT item, pk, sk FROM app t WHERE %s',
	(SELECT regexp_replace(pg_get_viewdef('"Project"'), '^.* WHERE \((.*)\);$', '\1'))); END $$;
INSERT INTO simple (item) VALUES ('{"pk":{"S":"ORG#1"},"sk":{"S":"PRO#00007"}}') ON CONFLICT (pk, sk) DO NOTHING;
DROP VIEW simple;
-- what a declaration does not allow
INSERT INTO "Project" ("OrgId", "ProjectId") VALUES ('1', 8);
INSERT INTO "Project" ("OrgId", "Name") VALUES ('1', 'x');
INSERT INTO "Project" ("OrgId", "ProjectId", "Name") VALUES ('1#2', 8, 'x');
INSERT INTO "Project" ("OrgId", "ProjectId", "Name") VALUES ('1', 123456, 'x');
INSERT INTO "Project" ("OrgId", "ProjectId", "Name", "Budget") VALUES ('1', 8, 'x', 'NaN');
INSERT INTO "Project" ("OrgId", "ProjectId", "Name", "Lead") VALUES ('1', 8, 'x', repeat('x', 3000));
SELECT count(*) FROM "Project";

-- UPDATE: what it changes, and the keys of indexes that are made of that; attributes that are not declared stay
SELECT dyn_update('app', '{"pk":{"S":"ORG#1"},"sk":{"S":"PRO#00007"}}', 'SET extra = :x', vals => '{":x":{"NS":["1","2"]}}');
UPDATE "Project" SET "Name" = upper("Name"), "Closed" = '2024-06-01 12:00:00.7+02', "Tags" = NULL, "Budget" = "Budget" + 1 WHERE "ProjectId" = 7
  RETURNING "ProjectId", "Name", "Closed", "Tags", "Budget", "Lead";
SELECT item #- '{Key}' FROM (SELECT dyn_get('app', '{"pk":{"S":"ORG#1"},"sk":{"S":"PRO#00007"}}')::jsonb AS item) i;
UPDATE "Project" SET "Lead" = NULL, "Due" = NULL, "Lines" = '[]', "Meta" = '{}' WHERE "OrgId" = '1' AND "ProjectId" = 7;
SELECT item #- '{Key}' FROM (SELECT dyn_get('app', '{"pk":{"S":"ORG#1"},"sk":{"S":"PRO#00007"}}')::jsonb AS item) i;
UPDATE "Project" SET "Lead" = 'bob' WHERE "ProjectId" < 3;
SELECT item ->> 'GSI1PK', item ->> 'GSI1SK' FROM dyn_scan('app', index_name => 'GSI1') item;
UPDATE "Project" SET "Name" = "Name" WHERE "ProjectId" = 7 RETURNING "Name";
UPDATE "Project" SET "Name" = 'x' WHERE "ProjectId" = 99;
-- the key stays
UPDATE "Project" SET "ProjectId" = 8 WHERE "ProjectId" = 7;
UPDATE "Project" SET "OrgId" = '2';
UPDATE "Project" SET "Name" = NULL WHERE "ProjectId" = 7;
UPDATE "Project" SET "Lead" = 'a#b' WHERE "ProjectId" = 7;
-- an attribute that is not of its type is NULL; the item can be written when that is put right
SELECT dyn_update('app', '{"pk":{"S":"ORG#1"},"sk":{"S":"PRO#00001"}}', 'SET Budget = :x', vals => '{":x":{"S":"much"}}');
UPDATE "Project" SET "Lead" = 'eve' WHERE "ProjectId" = 1;
UPDATE "Project" SET "Lead" = 'eve', "Budget" = 1 WHERE "ProjectId" = 1 RETURNING "Budget";

-- DELETE
DELETE FROM "Project" WHERE "ProjectId" IN (1, 99) RETURNING "OrgId", "ProjectId", "Lead";
SELECT "ProjectId" FROM "Project" ORDER BY 1;
-- views of what is in an index, and of elements
UPDATE "Project_GSI1" SET "Name" = 'renamed' WHERE "Lead" = 'bob' RETURNING "ProjectId", "Name";
UPDATE "Project_GSI1" SET "Lead" = NULL WHERE "Lead" = 'bob';
INSERT INTO "Project_GSI1" ("OrgId", "ProjectId", "Name") VALUES ('1', 9, 'no lead');
INSERT INTO "Project_GSI1" ("OrgId", "ProjectId", "Name", "Lead") VALUES ('1', 9, 'lead', 'zoe') RETURNING "ProjectId";
DELETE FROM "Project_GSI1" WHERE "Lead" = 'zoe';
INSERT INTO "Project_Tags" VALUES ('1', 1, 1, 'a');
DELETE FROM "Project_Tags";
-- a row that the same statement has changed already
UPDATE "Project" p SET "Name" = v.x FROM (VALUES ('a'), ('b')) v (x) WHERE "ProjectId" = 2;
-- the statement's own transaction
BEGIN;
UPDATE "Project" SET "Budget" = 1 WHERE "ProjectId" = 2;
UPDATE "Project" SET "Budget" = "Budget" + 1 WHERE "ProjectId" = 2 RETURNING "Budget";
ROLLBACK;
SELECT "Budget" FROM "Project" WHERE "ProjectId" = 2;

-- a view that is older than the declaration shows what is written, or it is not written
SELECT dyn_create_entity('app', 'Project', '{"pk":"O#<OrgId>","sk":"PRO#<ProjectId:05>"}', '{"OrgId":"S","ProjectId":"N integer","Name":"S"}');
INSERT INTO "Project" ("OrgId", "ProjectId", "Name") VALUES ('1', 10, 'x');
INSERT INTO "Project" ("OrgId", "ProjectId", "Name", "Lead") VALUES ('1', 10, 'x', 'column of an attribute that is gone');
UPDATE "Project" SET "Name" = 'x';
-- columns of attributes that are not declared any more, in a view that shows the right items
SELECT dyn_create_entity('app', 'Project', '{"pk":"ORG#<OrgId>","sk":"PRO#<ProjectId:05>"}', '{"OrgId":"S","ProjectId":"N integer","Name":"S","Due":"S date"}');
INSERT INTO "Project" ("OrgId", "ProjectId", "Name", "Lead") VALUES ('1', 10, 'x', 'column of an attribute that is gone');
SELECT dyn_create_entity('app', 'Other', '{"pk":"O#<OrgId>","sk":"PRO#<ProjectId:05>"}', '{"OrgId":"S","ProjectId":"N integer","Name":"S"}');
SELECT dyn_drop_entity('app', 'Project');
UPDATE "Project" SET "Name" = 'x';
-- the trigger is for these views alone
CREATE VIEW plain AS SELECT 1 AS a;
CREATE TRIGGER t INSTEAD OF INSERT ON plain FOR EACH ROW EXECUTE FUNCTION dynamo_internal.entity_view_change();
INSERT INTO plain VALUES (2);
CREATE TRIGGER t BEFORE INSERT ON app FOR EACH ROW EXECUTE FUNCTION dynamo_internal.entity_view_change();
INSERT INTO app (item) VALUES ('{"pk":{"S":"a"},"sk":{"S":"b"}}');
DROP VIEW plain;
DROP TRIGGER t ON app;

-- a key of an attribute that is written in another way than its type prints: not found, which is no success
SELECT dyn_create_entity('app', 'Event', '{"pk":"EVENT#<Id>","sk":"<At>"}', '{"Id":"S","At":"S timestamptz","Note":"S"}');
SELECT dyn_create_entity_view('app', 'Event');
SELECT dyn_put('app', '{"Type":"Event","pk":"EVENT#1","sk":"2024-05-01T10:00:00Z","Id":"1","At":"2024-05-01T10:00:00Z"}'::jsonb);
INSERT INTO "Event" VALUES ('2', '2024-05-01T10:00:00Z');
UPDATE "Event" SET "Note" = 'x';
DELETE FROM "Event";
UPDATE "Event" SET "Note" = 'x' WHERE "Id" = '2' RETURNING "Id", "Note";
DELETE FROM "Event" WHERE "Id" = '2' RETURNING "Id";

-- a key that depends on another attribute, in a column that is no part of it
SELECT dyn_create_entity('app', 'Task', '{"pk":"TASKS#<Team>","sk":[{"when":{"Urgent":true},"template":"A#<Id:05>"},{"template":"B#<Id:05>"}]}',
	'{"Team":"S","Id":"N integer","Urgent":"BOOL","Note":"S"}');
SELECT dyn_create_entity_view('app', 'Task');
INSERT INTO "Task" ("Team", "Id", "Urgent", "Note") VALUES ('x', 1, true, 'a'), ('x', 2, NULL, 'b');
UPDATE "Task" SET "Note" = upper("Note") RETURNING *;
UPDATE "Task" SET "Urgent" = true WHERE "Id" = 2;
DELETE FROM "Task" RETURNING "Id";
-- columns of what templates make are returned as they are made, and columns of a domain by its constraints of now
CREATE DOMAIN mark AS integer CHECK (VALUE > 0);
SELECT dyn_create_entity('app', 'Grade', '{"pk":"GRADE#<Id>","sk":"#","GSI1PK":"NAME#<Name>"}', '{"Id":"S","Name":"S","Mark":"N mark"}');
CREATE VIEW grades WITH (security_invoker) AS SELECT dynamo_internal.attribute(t.item, 'Id', 'S', NULL::text) AS id,
	dynamo_internal.attribute(t.item, 'Name', 'S', NULL::text) AS name,
		dynamo_internal.attribute(t.item, 'Mark', 'N', NULL::mark) AS mark, dynamo_internal.attribute(t.item, 'GSI1PK', 'S', NULL::text) AS made
	FROM app t WHERE dynamo_internal.is_entity(t.item,
		'{"entity": "Grade", "type_attribute": "Type", "type": "Grade", "keys": {"pk": "GRADE#<Id>"}, "attributes": {"Id": "S"}}', t.pk);
CREATE TRIGGER t INSTEAD OF INSERT OR UPDATE OR DELETE ON grades FOR EACH ROW EXECUTE FUNCTION dynamo_internal.entity_view_change();
INSERT INTO grades VALUES ('1', 'one', 1) RETURNING *;
UPDATE grades SET name = 'uno' RETURNING *;
ALTER DOMAIN mark DROP CONSTRAINT mark_check;
ALTER DOMAIN mark ADD CONSTRAINT mark_check CHECK (VALUE < 0) NOT VALID;
UPDATE grades SET name = 'one' RETURNING *;
UPDATE grades SET mark = -1 RETURNING *;
DELETE FROM grades RETURNING *;
DROP VIEW grades;
SELECT dyn_drop_entity('app', 'Grade');
DROP DOMAIN mark;

-- the direct store looks for a row where the statement has read it, if it is there, and in the index otherwise
SET dynamo_table.direct_store = on;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
BEGIN;
SELECT dyn_create_table('fresh', 'pk S');
SELECT dyn_create_entity('fresh', 'Row', '{"pk":"ROW#<Id:05>"}', '{"Id":"N integer","Note":"S"}'), dyn_create_entity_view('fresh', 'Row', 'fresh_rows');
INSERT INTO fresh_rows SELECT i, repeat('x', 400) FROM generate_series(1, 60) i;
CREATE FUNCTION scans(statement text, OUT scans bigint, OUT ids text) LANGUAGE plpgsql AS $$
BEGIN
	scans := -pg_stat_get_xact_numscans('fresh_pkey'::regclass);
	EXECUTE 'WITH w AS (' || statement || ' RETURNING "Id") SELECT string_agg("Id"::text, '','' ORDER BY "Id") FROM w' INTO ids;
	scans := scans + pg_stat_get_xact_numscans('fresh_pkey'::regclass);
END $$;
SELECT statement, s.* FROM unnest(ARRAY['UPDATE fresh_rows SET "Note" = $n$a$n$ WHERE "Id" = 1', 'UPDATE fresh_rows SET "Note" = $n$a$n$ WHERE "Id" = 60',
	'UPDATE fresh_rows SET "Note" = $n$b$n$ WHERE "Id" < 4',
	'DELETE FROM fresh_rows WHERE "Id" = 2']) WITH ORDINALITY c (statement, i), scans(statement) s ORDER BY i;
SELECT "Note" FROM fresh_rows WHERE "Id" = 60;
SET LOCAL enable_indexscan = off;
SET LOCAL enable_seqscan = on;
SELECT statement, s.* FROM unnest(ARRAY['UPDATE fresh_rows SET "Note" = $n$c$n$ WHERE "Id" < 4',
	'DELETE FROM fresh_rows WHERE "Id" = 3']) WITH ORDINALITY c (statement, i), scans(statement) s ORDER BY i;
-- the row that was read last was on a page that is gone
TRUNCATE fresh;
INSERT INTO fresh_rows VALUES (60, 'again');
SELECT s.* FROM scans('UPDATE fresh_rows SET "Note" = $n$d$n$') s;
SELECT * FROM fresh_rows;
ROLLBACK;
RESET enable_seqscan;
RESET enable_bitmapscan;
RESET dynamo_table.direct_store;

-- by the rights of whoever writes, and row-level security
SELECT dyn_create_entity('app', 'Project', '{"pk":"ORG#<OrgId>","sk":"PRO#<ProjectId:05>"}', '{"OrgId":"S","ProjectId":"N integer","Name":"S"}');
SELECT dyn_create_entity_view('app', 'Project', 'mine');
INSERT INTO mine ("OrgId", "ProjectId", "Name") VALUES ('2', 1, 'of another');
CREATE ROLE dyn_view_writer;
GRANT SELECT, INSERT, UPDATE, DELETE ON mine TO dyn_view_writer;
GRANT SELECT ON app TO dyn_view_writer;
SET ROLE dyn_view_writer;
INSERT INTO mine ("OrgId", "ProjectId") VALUES ('1', 20);
UPDATE mine SET "Name" = 'x' WHERE "ProjectId" = 2;
DELETE FROM mine WHERE "ProjectId" = 2;
RESET ROLE;
GRANT ALL ON app TO dyn_view_writer;
ALTER TABLE app ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON app USING (pk = 'ORG#1');
SET ROLE dyn_view_writer;
INSERT INTO mine ("OrgId", "ProjectId", "Name") VALUES ('1', 20, 'mine');
INSERT INTO mine ("OrgId", "ProjectId", "Name") VALUES ('2', 20, 'not mine');
INSERT INTO mine ("OrgId", "ProjectId", "Name") VALUES ('2', 1, 'not mine, and there');
WITH changed AS (UPDATE mine SET "Name" = 'all of mine' WHERE "OrgId" IN ('1', '2') RETURNING "OrgId", "ProjectId") SELECT * FROM changed ORDER BY 1, 2;
DELETE FROM mine WHERE "OrgId" = '2';
RESET ROLE;
SELECT "OrgId", "ProjectId", "Name" FROM mine ORDER BY 1, 2;
DROP OWNED BY dyn_view_writer;
DROP ROLE dyn_view_writer;
SET client_min_messages = warning;
DROP TABLE app CASCADE;
