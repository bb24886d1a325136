\set ECHO all
-- A model of a project-management tool: what kinds of items there are, what is asked of them, and views for reports.

SELECT dyn_create_table('tracker', 'pk S', 'sk S', global_indexes => '{"GSI1": {"partition_key": "GSI1PK S", "sort_key": "GSI1SK S"}}');

-- Entities: the templates of their keys, and the types of their attributes
SELECT dyn_create_entity('tracker', 'Org', '{"pk": "ORG#<OrgId>", "sk": "#METADATA#"}', '{"OrgId": "S", "Name": {"type": "S", "required": true}, "Plan": "S"}');
SELECT dyn_create_entity('tracker', 'Project', '{"pk": "ORG#<OrgId>", "sk": "PRO#<Kind>#<ProjectId:05>", "GSI1PK": "LEAD#<Lead>", "GSI1SK": "PRO#<ProjectId:05>"}',
                  '{"OrgId": "S", "Kind": "S", "ProjectId": "N integer", "Name": "S", "Lead": "S", "Due": "S date", "Budget": "N numeric", "Tags": "SS"}');
SELECT dyn_entity_chart('tracker');

-- Views: written to like tables
SELECT dyn_create_entity_view('tracker', 'Org'), dyn_create_entity_view('tracker', 'Project'), dyn_create_entity_view('tracker', 'Project', index_name => 'GSI1'), dyn_create_entity_view('tracker', 'Project', unnest => 'Tags');
INSERT INTO "Org" ("OrgId", "Name", "Plan") VALUES ('1', 'Happy Inc', 'pro'), ('2', 'ABC Incorporation', 'free');
INSERT INTO "Project" ("OrgId", "Kind", "ProjectId", "Name", "Lead", "Due", "Budget", "Tags") VALUES
  ('1', 'agile', 1, 'Project X', 'manoj', '2024-05-01', 1000, '{web,urgent}'), ('1', 'agile', 2, 'Project Y', 'john', NULL, 250.50, '{web}'),
  ('1', 'fixed bid', 3, 'Project F1', NULL, '2024-12-31', 9000, NULL), ('2', 'agile', 1, 'ABC Project', 'jane', NULL, 10, NULL);
UPDATE "Project" SET "Lead" = 'manoj', "Budget" = "Budget" * 2 WHERE "OrgId" = '1' AND "ProjectId" = 2 RETURNING "Name", "Lead", "Budget";

-- What the table has of it
SELECT dyn_table_chart('tracker');

-- Reports, with joins of what lies in one table
SELECT o."Name", p."Kind", count(*), sum(p."Budget") AS budget FROM "Org" o JOIN "Project" p USING ("OrgId") GROUP BY 1, 2 ORDER BY 1, 2;
SELECT element AS tag, count(*) FROM "Project_Tags" GROUP BY 1 ORDER BY 1;

-- Conditions on attributes are conditions on keys for the planner
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM "Project" WHERE "OrgId" = '1' AND "Kind" = 'agile';
EXPLAIN (COSTS OFF) SELECT * FROM "Project_GSI1" WHERE "Lead" = 'manoj';
RESET enable_seqscan;

-- Access patterns: the requests that the application sends, by name
SELECT dyn_create_access_pattern('tracker', 'organization', 'GetItem', '{"Key": {"pk": {"S": "ORG#<OrgId>"}, "sk": {"S": "#METADATA#"}}}', 'Org');
SELECT dyn_create_access_pattern('tracker', 'projects_of_kind', 'Query', '{"KeyConditionExpression": "pk = :o AND begins_with(sk, :k)",
  "ExpressionAttributeValues": {":o": {"S": "ORG#<OrgId>"}, ":k": {"S": "PRO#<Kind>#"}}}', 'Project', 'in the order of their numbers');
SELECT dyn_create_access_pattern('tracker', 'projects_of_lead', 'Query', '{"IndexName": "GSI1", "KeyConditionExpression": "GSI1PK = :l",
  "ExpressionAttributeValues": {":l": {"S": "LEAD#<Lead>"}}}', 'Project', 'of all organizations');
SELECT dyn_access_pattern_chart('tracker');
SELECT item ->> 'Name' AS name FROM dyn_run_access_pattern('tracker', 'projects_of_kind', '{"OrgId": {"S": "1"}, "Kind": {"S": "agile"}}') item;
SELECT item ->> 'Name' AS name FROM dyn_run_access_pattern('tracker', 'projects_of_lead', '{"Lead": {"S": "manoj"}}') item;

-- What is not as declared
SELECT dyn_put('tracker', '{"pk":{"S":"ORG#1"},"sk":{"S":"PRO#agile#00004"},"Type":{"S":"Project"},"OrgId":{"S":"1"},"Kind":{"S":"agile"},"ProjectId":{"S":"4"}}');
SELECT entity, problem, detail FROM dyn_check_entities('tracker');
