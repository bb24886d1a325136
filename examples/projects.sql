\set ECHO all
-- A project-management tool for many organizations, each of which sees its own data alone.
-- It teaches: tenants by partition key, kinds of items by sort key, an index that turns the table round, an index for
-- names, a sparse index against a filter, indexes on a table in use, and views for reports.

SELECT dyn_create_table('happy-projects', 'PK S', 'SK S');

-- All of one organization begins with its identifier, so that no query reads two of them.  The sort key says what
-- an item is: "#" < "E" < "P", so the organization is followed by its employees and then its projects, these by type.
SELECT count(dyn_create_entity('happy-projects', entity, keys::jsonb, attributes)) AS entities FROM (VALUES
  ('Organization', '{"PK": "ORG#<orgId>", "SK": "#METADATA#<orgId>"}', '{"orgId": "S", "name": "S", "tier": "S"}'),
  ('Project', '{"PK": "ORG#<orgId>", "SK": "PRO#<type>#<projectId>"}', '{"orgId": "S", "projectId": "S", "type": "S", "name": "S", "isOnHold": "S"}'),
  ('Employee', '{"PK": "ORG#<orgId>", "SK": "EMP#<employeeId>"}', '{"orgId": "S", "employeeId": "S", "name": "S", "email": "S", "born": "S date"}'),
  -- Who works on what is many to many: a link, under its project.  Names are copied, so that a list needs no second read.
  ('ProjectEmployee', '{"PK": "ORG#<orgId>#PRO#<projectId>", "SK": "ORG#<orgId>#EMP#<employeeId>"}',
     '{"orgId": "S", "projectId": "S", "employeeId": "S", "employee": "S", "project": "S", "joined": "S date"}')) v (entity, keys, attributes);

-- E01: create organizations, and projects and employees; E20: assign employees to projects.  All are rows of views.
SELECT dyn_create_entity_view('happy-projects', entity) FROM (VALUES ('Organization'), ('Project'), ('Employee'), ('ProjectEmployee')) v (entity);
INSERT INTO "Organization" ("orgId", "name", "tier") VALUES ('1', 'Happy Inc', 'professional'), ('2', 'ABC Incorporation', 'professional');
INSERT INTO "Project" ("orgId", "projectId", "type", "name") VALUES
  ('1', '100', 'agile', 'Project X'), ('1', '101', 'agile', 'Project Y'), ('1', '102', 'fixed bid', 'Project F1'), ('2', '300', 'agile', 'ABC Project');
INSERT INTO "Employee" ("orgId", "employeeId", "name", "email", "born") VALUES
  ('1', '200', 'Jane Doe', 'jane@happy.example', '1990-01-01'), ('1', '201', 'John Doe', 'john@happy.example', '1988-02-02'), ('1', '202', 'Manoj Fernando', 'manoj@happy.example', '1985-03-03');
INSERT INTO "ProjectEmployee" ("orgId", "projectId", "employeeId", "employee", "project", "joined") VALUES
  ('1', '100', '202', 'Manoj Fernando', 'Project X', '2020-01-02'), ('1', '101', '202', 'Manoj Fernando', 'Project Y', '2020-02-03'),
  ('1', '100', '201', 'John Doe', 'Project X', '2020-03-04'), ('1', '101', '200', 'Jane Doe', 'Project Y', '2020-04-05');

SELECT count(dyn_create_access_pattern('happy-projects', name, operation, request::jsonb, entity, notes)) AS access_patterns FROM (VALUES
  ('organization', 'GetItem', '{"Key": {"PK": {"S": "ORG#<orgId>"}, "SK": {"S": "#METADATA#<orgId>"}}}', 'Organization', NULL),
  ('everything', 'Query', '{"KeyConditionExpression": "PK = :o", "ExpressionAttributeValues": {":o": {"S": "ORG#<orgId>"}}}', 'Organization, Employee, Project', NULL),
  ('projects_and_employees', 'Query', '{"KeyConditionExpression": "PK = :o AND SK BETWEEN :e AND :p", "ExpressionAttributeValues": {":o": {"S": "ORG#<orgId>"}, ":e": {"S": "EMP#"}, ":p": {"S": "PRO#~"}}}',
     'Employee, Project', 'without the organization'),
  ('projects', 'Query', '{"KeyConditionExpression": "PK = :o AND begins_with(SK, :p)", "ExpressionAttributeValues": {":o": {"S": "ORG#<orgId>"}, ":p": {"S": "PRO#"}}}', 'Project', 'by type'),
  ('projects_of_type', 'Query', '{"KeyConditionExpression": "PK = :o AND begins_with(SK, :p)", "ExpressionAttributeValues": {":o": {"S": "ORG#<orgId>"}, ":p": {"S": "PRO#<type>#"}}}', 'Project', NULL),
  ('project', 'GetItem', '{"Key": {"PK": {"S": "ORG#<orgId>"}, "SK": {"S": "PRO#<type>#<projectId>"}}}', 'Project', NULL),
  ('employees', 'Query', '{"KeyConditionExpression": "PK = :o AND begins_with(SK, :e)", "ExpressionAttributeValues": {":o": {"S": "ORG#<orgId>"}, ":e": {"S": "EMP#"}}}', 'Employee', NULL),
  ('employee', 'GetItem', '{"Key": {"PK": {"S": "ORG#<orgId>"}, "SK": {"S": "EMP#<employeeId>"}}}', 'Employee', NULL),
  ('team', 'Query', '{"KeyConditionExpression": "PK = :p", "ExpressionAttributeValues": {":p": {"S": "ORG#<orgId>#PRO#<projectId>"}}}', 'ProjectEmployee', NULL),
  ('on_hold_by_filter', 'Query', '{"KeyConditionExpression": "PK = :o AND begins_with(SK, :p)", "FilterExpression": "attribute_exists(isOnHold)",
     "ExpressionAttributeValues": {":o": {"S": "ORG#<orgId>"}, ":p": {"S": "PRO#"}}}', 'Project', 'reads all projects')) v (name, operation, request, entity, notes);

-- E02: read an organization.
SELECT item->>'name' AS name, item->>'tier' AS tier FROM dyn_run_access_pattern('happy-projects', 'organization', '{"orgId": "1"}'::jsonb) item;
-- E05, E06: all projects, all employees.
SELECT item->>'SK' AS sk, item->>'name' AS name FROM dyn_run_access_pattern('happy-projects', 'projects', '{"orgId": "1"}'::jsonb) item;
SELECT item->>'SK' AS sk, item->>'name' AS name FROM dyn_run_access_pattern('happy-projects', 'employees', '{"orgId": "1"}'::jsonb) item;
-- E07: both together.  The whole collection has the organization too; a range from one kind to the other leaves it out.
SELECT item->>'SK' AS sk, item->>'name' AS name FROM dyn_run_access_pattern('happy-projects', 'everything', '{"orgId": "1"}'::jsonb) item;
SELECT count(*) FROM dyn_run_access_pattern('happy-projects', 'projects_and_employees', '{"orgId": "1"}'::jsonb);
-- E12, E13: by type, since the type is part of the key.
SELECT item->>'name' AS agile FROM dyn_run_access_pattern('happy-projects', 'projects_of_type', '{"orgId": "1", "type": "agile"}'::jsonb) item;
SELECT item->>'name' AS fixed_bid FROM dyn_run_access_pattern('happy-projects', 'projects_of_type', '{"orgId": "1", "type": "fixed bid"}'::jsonb) item;
-- E11: employees of a project.
SELECT item->>'employee' AS employee, item->>'joined' AS joined FROM dyn_run_access_pattern('happy-projects', 'team', '{"orgId": "1", "projectId": "100"}'::jsonb) item;
-- E20: to assign somebody again is to put the same item again.
SELECT dyn_put_entity('happy-projects', 'ProjectEmployee', '{"orgId": "1", "projectId": "100", "employeeId": "201", "employee": "John Doe", "project": "Project X", "joined": "2020-03-04"}'::jsonb);
SELECT count(*) AS team FROM dyn_run_access_pattern('happy-projects', 'team', '{"orgId": "1", "projectId": "100"}'::jsonb);
-- E22: another organization's key finds nothing of this one.
SELECT item->>'name' AS name FROM dyn_run_access_pattern('happy-projects', 'everything', '{"orgId": "2"}'::jsonb) item;

-- E03: change an organization; it keeps what the update does not name.
SELECT dyn_update_entity('happy-projects', 'Organization', '{"orgId": "2"}'::jsonb, 'SET tier = :t', 'attribute_exists(PK)', vals => '{":t": "premium"}'::jsonb, return_values => 'ALL_NEW')::jsonb AS organization;
-- E04: delete one; its projects stay, since nothing cascades.
SELECT dyn_delete_entity('happy-projects', 'Organization', '{"orgId": "2"}'::jsonb, return_values => 'ALL_OLD')->>'name' AS deleted;
SELECT item->>'name' AS left_behind FROM dyn_run_access_pattern('happy-projects', 'everything', '{"orgId": "2"}'::jsonb) item;

-- E09: a project's type is part of its key.  To change it, delete and put, in one transaction.
SELECT dyn_transact('[
  {"DeleteEntity": {"TableName": "happy-projects", "Entity": "Project", "Attributes": {"orgId": {"S": "1"}, "type": {"S": "agile"}, "projectId": {"S": "101"}}, "ConditionExpression": "attribute_exists(PK)"}},
  {"PutEntity": {"TableName": "happy-projects", "Entity": "Project", "Attributes": {"orgId": {"S": "1"}, "type": {"S": "fixed bid"}, "projectId": {"S": "101"}, "name": {"S": "Project Y"}}, "ConditionExpression": "attribute_not_exists(PK)"}}]') AS moved;
SELECT item->>'name' AS name FROM dyn_run_access_pattern('happy-projects', 'project', '{"orgId": "1", "type": "fixed bid", "projectId": "101"}'::jsonb) item;
-- In SQL it is a transaction block, as ever.
BEGIN;
DELETE FROM "Project" WHERE "orgId" = '1' AND "type" = 'fixed bid' AND "projectId" = '101' RETURNING "name";
INSERT INTO "Project" ("orgId", "projectId", "type", "name") VALUES ('1', '101', 'agile', 'Project Y');
COMMIT;

-- E16: an employee comes, gets another address if nobody else has changed it, and goes.
INSERT INTO "Employee" ("orgId", "employeeId", "name", "email") VALUES ('1', '203', 'New Hand', 'new@happy.example');
SELECT dyn_update_entity('happy-projects', 'Employee', '{"orgId": "1", "employeeId": "203"}'::jsonb, 'SET email = :new', 'email = :old',
  vals => '{":new": "hand@happy.example", ":old": "new@happy.example"}'::jsonb, return_values => 'UPDATED_NEW')->>'email' AS email;
SELECT dyn_delete_entity('happy-projects', 'Employee', '{"orgId": "1", "employeeId": "203"}'::jsonb);
SELECT count(*) FROM dyn_run_access_pattern('happy-projects', 'employee', '{"orgId": "1", "employeeId": "203"}'::jsonb);

-- E15: of 100 projects three are on hold.  A filter returns three, and reads a hundred.
INSERT INTO "Project" ("orgId", "projectId", "type", "name", "isOnHold")
  SELECT '3', to_char(n, 'FM000'), 'agile', 'Project ' || n, CASE WHEN n % 33 = 1 AND n < 99 THEN 'yes' END FROM generate_series(1, 100) n;
SELECT items_read, items_returned FROM dyn_explain('happy-projects', 'PK = :o AND begins_with(SK, :p)', filter => 'attribute_exists(isOnHold)', vals => '{":o": "ORG#3", ":p": "PRO#"}'::jsonb);
SELECT item->>'name' AS on_hold FROM dyn_run_access_pattern('happy-projects', 'on_hold_by_filter', '{"orgId": "3"}'::jsonb) item;

-- E21: the table lives, and new questions come.  Indexes are added while it is used.
-- Turned round, the links of one employee are one collection (all items are in it: each has both keys).
CALL dyn_create_index('happy-projects', 'project-employee-index', 'SK S', 'PK S');
-- Names within an organization.  An attribute of its own says what to be found by, with the kind before it.
CALL dyn_create_index('happy-projects', 'filter-by-name', 'PK S', 'data S');
-- Sparse: only projects on hold have the key.
CALL dyn_create_index('happy-projects', 'on-hold', 'isOnHold S', projection => 'INCLUDE', non_key_attributes => '{name}');
-- What is to be found by name gets the key by its entity, and existing items by a job.  Project F1 is not to be found.
SELECT count(dyn_create_entity('happy-projects', entity, keys::jsonb, attributes)) AS entities FROM (VALUES
  ('Organization', '{"PK": "ORG#<orgId>", "SK": "#METADATA#<orgId>", "data": "ORG#<name>"}', '{"orgId": "S", "name": "S", "tier": "S"}'),
  ('Project', '{"PK": "ORG#<orgId>", "SK": "PRO#<type>#<projectId>", "data": [{"when": {"unlisted": null}, "template": "PRO#<name>"}], "isOnHold": "<isOnHold>"}',
     '{"orgId": "S", "projectId": "S", "type": "S", "name": "S", "isOnHold": "S", "unlisted": "BOOL"}'),
  ('Employee', '{"PK": "ORG#<orgId>", "SK": "EMP#<employeeId>", "data": "EMP#<name>"}', '{"orgId": "S", "employeeId": "S", "name": "S", "email": "S", "born": "S date"}')) v (entity, keys, attributes);
SELECT dyn_update_entity('happy-projects', 'Project', '{"orgId": "1", "type": "fixed bid", "projectId": "102"}'::jsonb, 'SET unlisted = :true', vals => '{":true": true}'::jsonb);
CALL dyn_refresh_entity('happy-projects', 'Organization');
CALL dyn_refresh_entity('happy-projects', 'Project');
CALL dyn_refresh_entity('happy-projects', 'Employee');

-- E19: "data" is a reserved word, so the request has a placeholder for it.
SELECT dyn_create_access_pattern('happy-projects', 'by_name', 'Query', '{"IndexName": "filter-by-name", "KeyConditionExpression": "PK = :o AND begins_with(data, :n)",
  "ExpressionAttributeValues": {":o": {"S": "ORG#<orgId>"}, ":n": {"S": "<kind>#<name>"}}}');
SELECT count(dyn_create_access_pattern('happy-projects', name, operation, request::jsonb, entity, notes)) AS access_patterns FROM (VALUES
  ('by_name', 'Query', '{"IndexName": "filter-by-name", "KeyConditionExpression": "PK = :o AND begins_with(#data, :n)", "ExpressionAttributeNames": {"#data": "data"},
     "ExpressionAttributeValues": {":o": {"S": "ORG#<orgId>"}, ":n": {"S": "<kind>#<name>"}}}', 'Organization, Employee, Project', 'kind is ORG, EMP or PRO'),
  ('projects_of_employee', 'Query', '{"IndexName": "project-employee-index", "KeyConditionExpression": "SK = :e", "ExpressionAttributeValues": {":e": {"S": "ORG#<orgId>#EMP#<employeeId>"}}}', 'ProjectEmployee', NULL),
  ('on_hold', 'Scan', '{"IndexName": "on-hold"}', 'Project', 'reads nothing else')) v (name, operation, request, entity, notes);

-- E08, E10, E18: by name, or how a name begins, within an organization whose identifier is known.  (Who knows but an organization's
-- name needs an index that has the name as its partition key.)
SELECT item->>'name' AS organization FROM dyn_run_access_pattern('happy-projects', 'by_name', '{"orgId": "1", "kind": "ORG", "name": "Happy Inc"}'::jsonb) item;
SELECT item->>'name' AS project FROM dyn_run_access_pattern('happy-projects', 'by_name', '{"orgId": "1", "kind": "PRO", "name": "Project"}'::jsonb) item;
SELECT item->>'name' AS employee FROM dyn_run_access_pattern('happy-projects', 'by_name', '{"orgId": "1", "kind": "EMP", "name": "J"}'::jsonb) item;
-- E17: projects of an employee.
SELECT item->>'project' AS project FROM dyn_run_access_pattern('happy-projects', 'projects_of_employee', '{"orgId": "1", "employeeId": "202"}'::jsonb) item;
-- E14: on hold by the sparse index: three are read.  One goes on, and leaves the index.
SELECT items_read, items_returned FROM dyn_explain('happy-projects', index_name => 'on-hold');
UPDATE "Project" SET "isOnHold" = NULL WHERE "orgId" = '3' AND "type" = 'agile' AND "projectId" = '034';
SELECT item->>'name' AS on_hold FROM dyn_run_access_pattern('happy-projects', 'on_hold') item ORDER BY 1;
-- E24: the index that is turned round has all items.
SELECT (SELECT count(*) FROM dyn_scan('happy-projects', index_name => 'project-employee-index')) = count(*) AS all_items FROM dyn_scan('happy-projects');

-- What was declared, and what the table and its indexes hold.
DELETE FROM "Project" WHERE "orgId" = '3' AND "isOnHold" IS NULL;
\pset tuples_only on
SELECT dyn_entity_chart('happy-projects');
SELECT dyn_table_chart('happy-projects');
SELECT dyn_table_chart('happy-projects', 'filter-by-name');
SELECT dyn_table_chart('happy-projects', 'on-hold');
SELECT dyn_access_pattern_chart('happy-projects');
\pset tuples_only off

-- Reports join the kinds of items like tables.  (A condition on the attributes of a key reads the key's index.)
SELECT o."name" AS organization, p."type", count(DISTINCT p."projectId") AS projects, count(l."employeeId") AS assignments
  FROM "Organization" o JOIN "Project" p USING ("orgId") LEFT JOIN "ProjectEmployee" l USING ("orgId", "projectId") GROUP BY 1, 2 ORDER BY 1, 2;
SELECT count(*) AS problems FROM dyn_check_entities('happy-projects');
