\set ECHO all
-- A project-management tool for many organizations: everything of one organization lies in its
-- item collection, and the sort keys say what it is.

SELECT dyn_create_table('happy-projects', 'PK S', 'SK S');
SELECT dyn_put('happy-projects', item) FROM (VALUES
  ('{"PK":"ORG#1","SK":"#METADATA#1","name":"Happy Inc","tier":"professional","data":"ORG#Happy Inc"}'::jsonb),
  ('{"PK":"ORG#1","SK":"PRO#agile#100","name":"Project X","projectId":"100","data":"PRO#Project X"}'),
  ('{"PK":"ORG#1","SK":"PRO#agile#101","name":"Project Y","projectId":"101","data":"PRO#Project Y"}'),
  ('{"PK":"ORG#1","SK":"PRO#fixed bid#102","name":"Project F1","projectId":"102"}'),
  ('{"PK":"ORG#1","SK":"EMP#200","name":"Manoj Fernando","email":"manoj@happy.example","data":"EMP#Manoj Fernando"}'),
  ('{"PK":"ORG#1","SK":"EMP#201","name":"John Doe","email":"john@happy.example","data":"EMP#John Doe"}'),
  ('{"PK":"ORG#1","SK":"EMP#202","name":"Jane Doe","email":"jane@happy.example","data":"EMP#Jane Doe"}'),
  ('{"PK":"ORG#1#PRO#100","SK":"ORG#1#EMP#200","employee":"Manoj Fernando","project":"Project X","joined":"2020-01-02"}'),
  ('{"PK":"ORG#1#PRO#101","SK":"ORG#1#EMP#200","employee":"Manoj Fernando","project":"Project Y","joined":"2020-02-03"}'),
  ('{"PK":"ORG#1#PRO#100","SK":"ORG#1#EMP#201","employee":"John Doe","project":"Project X","joined":"2020-03-04"}'),
  ('{"PK":"ORG#1#PRO#101","SK":"ORG#1#EMP#202","employee":"Jane Doe","project":"Project Y","joined":"2020-04-05"}'),
  ('{"PK":"ORG#2","SK":"#METADATA#2","name":"ABC Incorporation","tier":"professional","data":"ORG#ABC Incorporation"}'),
  ('{"PK":"ORG#2","SK":"PRO#agile#300","name":"ABC Project","projectId":"300","data":"PRO#ABC Project"}')
) v (item);

-- Read an organization
SELECT dyn_get('happy-projects', '{"PK":{"S":"ORG#1"},"SK":{"S":"#METADATA#1"}}')::jsonb;

-- All projects of an organization
SELECT item->>'SK' AS sk, item->>'name' AS name
  FROM dyn_query('happy-projects', 'PK = :org AND begins_with(SK, :type)', vals => '{":org":{"S":"ORG#1"},":type":{"S":"PRO#"}}') AS item;

-- All employees
SELECT item->>'SK' AS sk, item->>'name' AS name
  FROM dyn_query('happy-projects', 'PK = :org AND begins_with(SK, :type)', vals => '{":org":{"S":"ORG#1"},":type":{"S":"EMP#"}}') AS item;

-- Projects and employees together, without the organization itself
SELECT item->>'SK' AS sk, item->>'name' AS name
  FROM dyn_query('happy-projects', 'PK = :org AND SK BETWEEN :from AND :to', vals => '{":org":{"S":"ORG#1"},":from":{"S":"EMP#"},":to":{"S":"PRO#~"}}') AS item;

-- Agile projects, and those with a fixed bid
SELECT item->>'name' AS agile
  FROM dyn_query('happy-projects', 'PK = :org AND begins_with(SK, :type)', vals => '{":org":{"S":"ORG#1"},":type":{"S":"PRO#agile"}}') AS item;
SELECT item->>'name' AS fixed_bid
  FROM dyn_query('happy-projects', 'PK = :org AND begins_with(SK, :type)', vals => '{":org":{"S":"ORG#1"},":type":{"S":"PRO#fixed bid"}}') AS item;

-- The employees of a project
SELECT item->>'employee' AS employee, item->>'joined' AS joined
  FROM dyn_query('happy-projects', 'PK = :project', vals => '{":project":{"S":"ORG#1#PRO#100"}}') AS item;

-- The last project by its key: the collection read backwards
SELECT item->>'name' AS last
  FROM dyn_query('happy-projects', 'PK = :org', vals => '{":org":{"S":"ORG#1"}}', forward => false, max_items => 1) AS item;

-- Another organization sees nothing of it
SELECT item->>'name' AS name FROM dyn_query('happy-projects', 'PK = :org', vals => '{":org":{"S":"ORG#2"}}') AS item;

-- Change an organization: it keeps what the update does not name
SELECT dyn_update('happy-projects', '{"PK":{"S":"ORG#1"},"SK":{"S":"#METADATA#1"}}', 'SET orgId = :id', vals => '{":id":{"S":"1"}}', return_values => 'ALL_NEW')::jsonb;

-- A project's type is part of its key: to change it, delete and put, in one transaction
BEGIN;
SELECT dyn_delete('happy-projects', '{"PK":{"S":"ORG#1"},"SK":{"S":"PRO#agile#101"}}', 'attribute_exists(PK)', return_values => 'ALL_OLD') ->> 'name' AS was;
SELECT dyn_put('happy-projects', '{"PK":"ORG#1","SK":"PRO#fixed bid#101","name":"Project Y","projectId":"101","data":"PRO#Project Y"}'::jsonb, 'attribute_not_exists(PK)');
COMMIT;

-- Create an employee once, change the email address, delete
SELECT dyn_put('happy-projects', '{"PK":"ORG#1","SK":"EMP#203","name":"New Hand","email":"new@happy.example"}'::jsonb, 'attribute_not_exists(PK)');
SELECT dyn_update('happy-projects', '{"PK":{"S":"ORG#1"},"SK":{"S":"EMP#203"}}', 'SET email = :e', 'email = :old',
                  vals => '{":e":{"S":"hand@happy.example"},":old":{"S":"new@happy.example"}}', return_values => 'UPDATED_NEW');
SELECT dyn_delete('happy-projects', '{"PK":{"S":"ORG#1"},"SK":{"S":"EMP#203"}}');
SELECT dyn_get('happy-projects', '{"PK":{"S":"ORG#1"},"SK":{"S":"EMP#203"}}') IS NULL AS gone;

-- Projects on hold, by a filter: all projects are read, those on hold returned
SELECT dyn_update('happy-projects', '{"PK":{"S":"ORG#1"},"SK":{"S":"PRO#agile#100"}}', 'SET isOnHold = :t', vals => '{":t":{"S":"yes"}}');
SELECT item->>'name' AS on_hold
  FROM dyn_query('happy-projects', 'PK = :org AND begins_with(SK, :type)', vals => '{":org":{"S":"ORG#1"},":type":{"S":"PRO#"}}', filter => 'attribute_exists(isOnHold)') AS item;

-- The table lives, and new questions come: indexes are added while it is used
CALL dyn_create_index('happy-projects', 'filter-by-name', 'PK S', 'data S');
CALL dyn_create_index('happy-projects', 'project-employee-index', 'SK S', 'PK S');
CALL dyn_create_index('happy-projects', 'on-hold', 'isOnHold S', projection => 'INCLUDE', non_key_attributes => '{name}');

-- Names that begin with "J", an employee's projects, projects on hold: each reads what it returns
SELECT item->>'name' AS name FROM dyn_query('happy-projects', 'PK = :org AND begins_with(#data, :name)', names => '{"#data":"data"}', vals => '{":org":{"S":"ORG#1"},":name":{"S":"EMP#J"}}', index_name => 'filter-by-name') AS item;
SELECT item->>'project' AS project FROM dyn_query('happy-projects', 'SK = :employee', vals => '{":employee":{"S":"ORG#1#EMP#200"}}', index_name => 'project-employee-index') AS item;
SELECT item->>'name' AS on_hold FROM dyn_scan('happy-projects', index_name => 'on-hold') AS item;
SELECT range, items_read, items_returned, pages_read
  FROM dyn_explain('happy-projects', 'SK = :employee', vals => '{":employee":{"S":"ORG#1#EMP#200"}}', index_name => 'project-employee-index');
