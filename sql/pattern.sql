-- Access patterns of a project-management tool, declared, drawn and run by name: docs/semantics.md, E02 to E20, M01, M13.
\pset format unaligned
SELECT dyn_create_table('projects', 'PK S', 'SK S', global_indexes => '{"project-employee-index": {"partition_key": "SK S", "sort_key": "PK S"},
  "filter-by-name": {"partition_key": "PK S", "sort_key": "data S"}, "on-hold": {"partition_key": "isOnHold S"}}');
SELECT dyn_create_entity('projects', 'Organization', '{"PK":"ORG#<orgId>","SK":"#METADATA#<orgId>","data":"ORG#<name>"}',
  '{"orgId":"S","name":"S","tier":"S"}');
SELECT dyn_create_entity('projects', 'Project',
	'{"PK":"ORG#<orgId>","SK":"PRO#<type>#<projectId>","data":[{"when":{"unlisted":null},"template":"PRO#<name>"}]}',
  '{"orgId":"S","projectId":"S","type":"S","name":"S","isOnHold":"S","unlisted":"BOOL"}');
SELECT dyn_create_entity('projects', 'Employee', '{"PK":"ORG#<orgId>","SK":"EMP#<employeeId>","data":"EMP#<name>"}',
  '{"orgId":"S","employeeId":"S","name":"S","email":"S","born":"S date"}');
SELECT dyn_create_entity('projects', 'ProjectEmployee', '{"PK":"ORG#<orgId>#PRO#<projectId>","SK":"ORG#<orgId>#EMP#<employeeId>"}',
  '{"orgId":"S","projectId":"S","employeeId":"S","employee":"S","project":"S","joined":"S date"}');
SELECT count(*) FROM (VALUES
  ('Organization', '{"orgId":"1","name":"Happy Inc","tier":"professional"}'::jsonb),
  ('Organization', '{"orgId":"2","name":"ABC Incorporation","tier":"professional"}'),
  ('Project', '{"orgId":"1","projectId":"100","type":"agile","name":"Project X"}'),
  ('Project', '{"orgId":"1","projectId":"101","type":"agile","name":"Project Y"}'),
  ('Project', '{"orgId":"1","projectId":"102","type":"fixed bid","name":"Project F1","unlisted":true}'),
  ('Project', '{"orgId":"2","projectId":"300","type":"agile","name":"ABC Project"}'),
  ('Employee', '{"orgId":"1","employeeId":"200","name":"Manoj Fernando","email":"manoj@happy.example","born":"1990-01-01"}'),
  ('Employee', '{"orgId":"1","employeeId":"201","name":"John Doe"}'),
  ('Employee', '{"orgId":"1","employeeId":"202","name":"Jane Doe"}'),
  ('ProjectEmployee', '{"orgId":"1","projectId":"100","employeeId":"200","employee":"Manoj Fernando","project":"Project X","joined":"2020-01-02"}'),
  ('ProjectEmployee', '{"orgId":"1","projectId":"101","employeeId":"200","employee":"Manoj Fernando","project":"Project Y","joined":"2020-02-03"}'),
  ('ProjectEmployee', '{"orgId":"1","projectId":"100","employeeId":"201","employee":"John Doe","project":"Project X","joined":"2020-03-04"}'),
  ('ProjectEmployee', '{"orgId":"1","projectId":"101","employeeId":"202","employee":"Jane Doe","project":"Project Y","joined":"2020-04-05"}')) v (e, a),
  dyn_put_entity('projects', e, a);

SELECT dyn_create_access_pattern('projects', 'create_organization', 'PutItem',
	'{"Item":{"PK":{"S":"ORG#<orgId>"},"SK":{"S":"#METADATA#<orgId>"},"Type":{"S":"Organization"},"orgId":{"S":"<orgId>"},"name":{"S":"<name>"},
	"data":{"S":"ORG#<name>"}},
  "ConditionExpression":"attribute_not_exists(PK)"}', 'Organization', 'E01: refused if it is there');
SELECT dyn_create_access_pattern('projects', 'get_organization', 'GetItem', '{"Key":{"PK":{"S":"ORG#<orgId>"},"SK":{"S":"#METADATA#<orgId>"}}}',
	'Organization', 'E02');
SELECT dyn_create_access_pattern('projects', 'set_tier', 'UpdateItem',
	'{"Key":{"PK":{"S":"ORG#<orgId>"},"SK":{"S":"#METADATA#<orgId>"}},"UpdateExpression":"SET #t = :t","ExpressionAttributeNames":{"#t":"tier"},
  "ExpressionAttributeValues":{":t":{"S":"<tier>"}},"ReturnValues":"ALL_NEW"}', 'Organization', 'E03');
SELECT dyn_create_access_pattern('projects', 'drop_organization', 'DeleteItem',
	'{"Key":{"PK":{"S":"ORG#<orgId>"},"SK":{"S":"#METADATA#<orgId>"}},"ReturnValues":"ALL_OLD"}', 'Organization', 'E04');
SELECT dyn_create_access_pattern('projects', 'projects', 'Query',
	'{"KeyConditionExpression":"PK = :o AND begins_with(SK, :s)","ExpressionAttributeValues":{":o":{"S":"ORG#<orgId>"},":s":{"S":"PRO#"}}}', 'Project', 'E05');
SELECT dyn_create_access_pattern('projects', 'employees', 'Query',
	'{"KeyConditionExpression":"PK = :o AND begins_with(SK, :s)","ExpressionAttributeValues":{":o":{"S":"ORG#<orgId>"},":s":{"S":"EMP#"}}}', 'Employee', 'E06');
SELECT dyn_create_access_pattern('projects', 'projects_and_employees', 'Query',
	'{"KeyConditionExpression":"PK = :o AND SK BETWEEN :a AND :b","ExpressionAttributeValues":{":o":{"S":"ORG#<orgId>"},":a":{"S":"EMP#"},":b":{"S":"PRO#~"}}}',
	'Project, Employee', 'E07');
SELECT dyn_create_access_pattern('projects', 'organization_by_name', 'Query',
	'{"IndexName":"filter-by-name","KeyConditionExpression":"PK = :o AND #data = :n","ExpressionAttributeNames":{"#data":"data"},
  "ExpressionAttributeValues":{":o":{"S":"ORG#<orgId>"},":n":{"S":"ORG#<name>"}}}', 'Organization', 'E08');
SELECT dyn_create_access_pattern('projects', 'project', 'GetItem', '{"Key":{"PK":{"S":"ORG#<orgId>"},"SK":{"S":"PRO#<type>#<projectId>"}}}', 'Project', 'E09');
SELECT dyn_create_access_pattern('projects', 'projects_by_name', 'Query',
	'{"IndexName":"filter-by-name","KeyConditionExpression":"PK = :o AND begins_with(#data, :n)","ExpressionAttributeNames":{"#data":"data"},
  "ExpressionAttributeValues":{":o":{"S":"ORG#<orgId>"},":n":{"S":"PRO#<name>"}}}', 'Project', 'E10: not those that are unlisted');
SELECT dyn_create_access_pattern('projects', 'team', 'Query',
	'{"KeyConditionExpression":"PK = :p","ExpressionAttributeValues":{":p":{"S":"ORG#<orgId>#PRO#<projectId>"}},"ProjectionExpression":"employee"}',
	'ProjectEmployee', 'E11');
SELECT dyn_create_access_pattern('projects', 'projects_of_type', 'Query',
	'{"KeyConditionExpression":"PK = :o AND begins_with(SK, :s)","ExpressionAttributeValues":{":o":{"S":"ORG#<orgId>"},":s":{"S":"PRO#<type>"}}}', 'Project',
	'E12, E13');
SELECT dyn_create_access_pattern('projects', 'on_hold', 'Scan',
	'{"IndexName":"on-hold","ProjectionExpression":"#n","ExpressionAttributeNames":{"#n":"name"}}', 'Project', 'E14: a sparse index');
SELECT dyn_create_access_pattern('projects', 'on_hold_by_filter', 'Query',
	'{"KeyConditionExpression":"PK = :o AND begins_with(SK, :s)","FilterExpression":"attribute_exists(isOnHold)",
  "ExpressionAttributeValues":{":o":{"S":"ORG#<orgId>"},":s":{"S":"PRO#"}}}', 'Project', 'E15: reads all projects');
SELECT dyn_create_access_pattern('projects', 'set_email', 'UpdateItem',
	'{"Key":{"PK":{"S":"ORG#<orgId>"},"SK":{"S":"EMP#<employeeId>"}},"UpdateExpression":"SET email = :e","ConditionExpression":"attribute_exists(PK)",
  "ExpressionAttributeValues":{":e":{"S":"<email>"}},"ReturnValues":"UPDATED_NEW"}', 'Employee', 'E16');
SELECT dyn_create_access_pattern('projects', 'projects_of_employee', 'Query', '{"IndexName":"project-employee-index","KeyConditionExpression":"SK = :e",
  "ExpressionAttributeValues":{":e":{"S":"ORG#<orgId>#EMP#<employeeId>"}},"ProjectionExpression":"#p","ExpressionAttributeNames":{"#p":"project"}}',
    'ProjectEmployee', 'E17: the index turned round');
SELECT dyn_create_access_pattern('projects', 'employees_by_name', 'Query',
	'{"IndexName":"filter-by-name","KeyConditionExpression":"PK = :o AND begins_with(#data, :n)","ExpressionAttributeNames":{"#data":"data"},
  "ExpressionAttributeValues":{":o":{"S":"ORG#<orgId>"},":n":{"S":"EMP#<name>"}}}', 'Employee', 'E18');
SELECT dyn_create_access_pattern('projects', 'move_project', 'TransactWriteItems',
	'{"TransactItems":[{"Delete":{"Key":{"PK":{"S":"ORG#<orgId>"},"SK":{"S":"PRO#<type>#<projectId>"}},"ConditionExpression":"attribute_exists(PK)"}},
  {"Put":{"Item":{"PK":{"S":"ORG#<orgId>"},"SK":{"S":"PRO#<new>#<projectId>"},"Type":{"S":"Project"},"orgId":{"S":"<orgId>"},"type":{"S":"<new>"},
    "projectId":{"S":"<projectId>"},"name":{"S":"<name>"},"data":{"S":"PRO#<name>"}}}}]}', 'Project', 'E09: the type is part of the key');
SELECT dyn_create_access_pattern('projects', 'two_organizations', 'TransactGetItems',
	'{"TransactItems":[{"Get":{"Key":{"PK":{"S":"ORG#<one>"},"SK":{"S":"#METADATA#<one>"}}}},
	{"Get":{"TableName":"projects","Key":{"PK":{"S":"ORG#<other>"},"SK":{"S":"#METADATA#<other>"}}}}]}', 'Organization');

-- M01: the chart
SELECT dyn_access_pattern_chart('projects');
SELECT dyn_access_pattern_chart('projects', 'markdown');
SELECT entity, access_pattern, operation, index_name, parameters FROM dyn_access_patterns('projects') WHERE access_pattern LIKE '%by_name' OR access_pattern =
	'move_project';

-- M13: each by its name
CREATE FUNCTION run(pattern text, parameters jsonb) RETURNS SETOF text LANGUAGE sql AS
  $$SELECT coalesce(item ->> 'name', item ->> 'employee', item ->> 'project', item::text)
    FROM dyn_run_access_pattern('projects', pattern, parameters::dyn_item) item$$;
SELECT run('get_organization', '{"orgId":"1"}');
SELECT run('projects', '{"orgId":"1"}');
SELECT run('employees', '{"orgId":"1"}');
SELECT run('projects_and_employees', '{"orgId":"1"}');
SELECT run('organization_by_name', '{"orgId":"1","name":"Happy Inc"}');
SELECT run('project', '{"orgId":"1","type":"fixed bid","projectId":"102"}');
SELECT run('projects_by_name', '{"orgId":"1","name":"Project"}');
SELECT run('projects_by_name', '{"orgId":"1","name":"Project X"}');
SELECT run('team', '{"orgId":"1","projectId":"100"}');
SELECT run('projects_of_type', '{"orgId":"1","type":"agile"}');
SELECT run('projects_of_type', '{"orgId":"1","type":"fixed bid"}');
SELECT count(dyn_update_entity('projects', 'Project', e.a, 'SET isOnHold = :y', vals => '{":y":{"S":"yes"}}', return_values => 'ALL_NEW'))
  FROM (VALUES ('{"orgId":"1","type":"agile","projectId":"100"}'::jsonb), ('{"orgId":"1","type":"fixed bid","projectId":"102"}')) e (a);
SELECT run('on_hold', '{}');
SELECT item FROM dyn_run_access_pattern('projects', 'on_hold') item;
SELECT run('on_hold_by_filter', '{"orgId":"1"}');
SELECT run('set_email', '{"orgId":"1","employeeId":"201","email":"john@happy.example"}');
SELECT run('projects_of_employee', '{"orgId":"1","employeeId":"200"}');
SELECT run('employees_by_name', '{"orgId":"1","name":"J"}');
SELECT run('move_project', '{"orgId":"1","type":"agile","projectId":"101","new":"fixed bid","name":"Project Y"}');
SELECT run('projects_of_type', '{"orgId":"1","type":"fixed bid"}');
SELECT run('two_organizations', '{"one":"1","other":"2"}');
SELECT run('create_organization', '{"orgId":"3","name":"New Inc"}');
SELECT run('set_tier', '{"orgId":"3","tier":"free"}');
SELECT run('create_organization', '{"orgId":"3","name":"New Inc"}');
SELECT run('drop_organization', '{"orgId":"3"}');
SELECT run('get_organization', '{"orgId":"3"}');
-- E22: another organization
SELECT run('projects', '{"orgId":"2"}');

-- all pages, unless the pattern has a Limit; whole parameters keep their type; sets
SELECT dyn_create_table('events', 'Device S', 'At N');
SELECT count(*) FROM generate_series(1, 300) i, dyn_put('events', jsonb_build_object('Device', 'd', 'At', i, 'Pad', repeat('x', 10000)));
SELECT dyn_create_access_pattern('events', 'since', 'Query',
	'{"KeyConditionExpression":"Device = :d AND #at >= :t","ExpressionAttributeNames":{"#at":"At"},
	"ExpressionAttributeValues":{":d":{"S":"<device>"},":t":{"N":"<since>"}}}');
SELECT dyn_create_access_pattern('events', 'latest', 'Query',
	'{"KeyConditionExpression":"Device = :d","ExpressionAttributeValues":{":d":{"S":"<device>"}},"ScanIndexForward":false,"Limit":3}');
SELECT dyn_create_access_pattern('events', 'tagged', 'Scan', '{"FilterExpression":"tags = :s OR #at = :n OR b = :b","ExpressionAttributeNames":{"#at":"At"},
  "ExpressionAttributeValues":{":s":{"SS":["<one>","<<two>","x<one>y"]},":n":{"NS":["<number>","<other>"]},":b":{"BS":["<bytes>"]}}}');
SELECT count(*), min(item ->> 'At'), max((item ->> 'At')::int) FROM dyn_run_access_pattern('events', 'since', '{"device":"d","since":1}'::jsonb) item;
SELECT count(*) FROM dyn_run_access_pattern('events', 'since', '{"device":{"S":"d"},"since":{"N":"299.5"}}') item;
SELECT item ->> 'At' FROM dyn_run_access_pattern('events', 'latest', '{"device":"d"}'::jsonb) item;
SELECT parameters FROM dyn_access_patterns('events');
SELECT dyn_put('events', '{"Device":{"S":"s"},"At":{"N":"1"},"tags":{"SS":["a","<two>","xay"]}}');
SELECT item ->> 'Device' FROM dyn_run_access_pattern('events', 'tagged', '{"one":{"S":"a"},"number":{"N":"5"},"other":{"N":"6"},"bytes":{"B":"AAEC"}}') item;
SELECT dyn_run_access_pattern('events', 'tagged', '{"one":{"S":"a"},"number":{"S":"5"},"other":{"N":"6"},"bytes":{"B":"AAEC"}}');

-- M08: several items wanted from a table without a sort key
SELECT dyn_create_table('sessions', 'Token S');
SELECT dyn_create_access_pattern('sessions', 'sessions', 'Query',
	'{"KeyConditionExpression":"#t = :t","ExpressionAttributeNames":{"#t":"Token"},"ExpressionAttributeValues":{":t":{"S":"<t>"}}}');

-- what is wrong with a pattern is said when it is declared
SELECT dyn_create_access_pattern('projects', 'p', 'CreateTable', '{}');
SELECT dyn_create_access_pattern('projects', '', 'Scan', '{}');
SELECT dyn_create_access_pattern('projects', 'p', 'Scan', '[]');
SELECT dyn_create_access_pattern('projects', 'p', 'Scan', NULL);
SELECT dyn_create_access_pattern('projects', 'p', 'Scan', '{"TableName":"projects"}');
SELECT dyn_create_access_pattern('projects', 'p', 'Scan', '{"IndexName":"nope"}');
SELECT dyn_create_access_pattern('projects', 'p', 'Scan', '{"Nope":1}');
SELECT dyn_create_access_pattern('projects', 'p', 'Query', '{}');
SELECT dyn_create_access_pattern('projects', 'p', 'Query',
	'{"KeyConditionExpression":"PK = :o AND data = :d","ExpressionAttributeValues":{":o":{"S":"ORG#<orgId>"},":d":{"S":"x"}}}');
SELECT dyn_create_access_pattern('projects', 'p', 'Query',
	'{"KeyConditionExpression":"PK = :o AND name = :d","ExpressionAttributeValues":{":o":{"S":"ORG#<orgId>"},":d":{"S":"x"}}}');
SELECT dyn_create_access_pattern('projects', 'p', 'Query',
	'{"KeyConditionExpression":"PK = :o","ExpressionAttributeValues":{":o":{"S":"ORG#<orgId>"},":x":{"S":"x"}}}');
SELECT dyn_create_access_pattern('projects', 'p', 'Query', '{"KeyConditionExpression":"PK = :o","ExpressionAttributeValues":{":o":{"N":"<orgId>"}}}');
SELECT dyn_create_access_pattern('projects', 'p', 'Query', '{"KeyConditionExpression":"PK = :o","ExpressionAttributeValues":{":o":{"S":"ORG#<orgId"}}}');
SELECT dyn_create_access_pattern('projects', 'p', 'GetItem', '{"Key":{"PK":{"S":"ORG#<orgId>"}}}');
SELECT dyn_create_access_pattern('projects', 'p', 'PutItem', '{"Item":{"PK":{"S":"ORG#<orgId>"}}}');
SELECT dyn_create_access_pattern('projects', 'p', 'UpdateItem',
	'{"Key":{"PK":{"S":"a"},"SK":{"S":"b"}},"UpdateExpression":"SET SK = :s","ExpressionAttributeValues":{":s":{"S":"<s>"}}}');
SELECT dyn_create_access_pattern('projects', 'p', 'TransactWriteItems', '{"TransactItems":[{"Put":{"Item":{"PK":{"S":"<a>"},"SK":{"S":"x"}}}},{"Get":{}}]}');
SELECT dyn_create_access_pattern('projects', 'p', 'TransactGetItems', '{"TransactItems":[{"Get":{"Key":{"PK":{"S":"<a>"}}}}]}');
SELECT count(*) FROM dyn_access_patterns('projects') WHERE access_pattern = 'p';
-- and of parameters when it is run
SELECT dyn_run_access_pattern('projects', 'nope');
SELECT dyn_run_access_pattern('projects', 'projects');
SELECT dyn_run_access_pattern('projects', 'projects', '{"orgId":"1","type":"x"}'::jsonb);
SELECT dyn_run_access_pattern('projects', 'projects', '{"orgId":"1#PRO#100"}'::jsonb);
SELECT dyn_run_access_pattern('projects', 'projects', '{"orgId":null}'::jsonb);
SELECT dyn_access_pattern_chart('projects', 'html');

-- replaced, removed; the owner alone; by the rights of the caller
SELECT dyn_create_access_pattern('projects', 'projects', 'Query', '{"KeyConditionExpression":"PK = :o","ExpressionAttributeValues":{":o":{"S":"ORG#<org>"}}}',
	notes => 'a|b <c> `d`');
SELECT dyn_drop_access_pattern('projects', 'team');
SELECT dyn_drop_access_pattern('projects', 'team');
SELECT access_pattern, parameters, notes FROM dyn_access_patterns('projects') LIMIT 5;
SELECT line FROM dyn_access_pattern_chart('projects', 'markdown') WITH ORDINALITY chart (line, n) WHERE n = 7;
CREATE ROLE dyn_pattern_reader;
SET ROLE dyn_pattern_reader;
SELECT dyn_create_access_pattern('projects', 'mine', 'Scan', '{}');
SELECT dyn_drop_access_pattern('projects', 'projects');
SELECT run('get_organization', '{"orgId":"1"}');
RESET ROLE;
GRANT SELECT ON projects TO dyn_pattern_reader;
SET ROLE dyn_pattern_reader;
SELECT run('get_organization', '{"orgId":"1"}');
SELECT run('set_tier', '{"orgId":"1","tier":"free"}');
-- a pattern has the rights of whoever runs it: it is about tables of its owner's alone, also if its owner has written it into the label
RESET ROLE;
GRANT CREATE ON SCHEMA public TO dyn_pattern_reader;
GRANT ALL ON projects TO dyn_pattern_reader;
SET ROLE dyn_pattern_reader;
SELECT dyn_create_table('lure', 'pk S');
SELECT dyn_create_access_pattern('lure', 'read', 'GetItem', '{"Key":{"pk":{"S":"x"}}}');
SELECT dyn_create_access_pattern('lure', 'write', 'TransactWriteItems',
	'{"TransactItems":[{"Delete":{"TableName":"projects","Key":{"PK":{"S":"ORG#1"},"SK":{"S":"#METADATA#1"}}}}]}');
SECURITY LABEL FOR dynamo_table ON TABLE lure IS '{"access_patterns":[
	{"pattern":"read","operation":"DeleteItem","request":{"TableName":"projects","Key":{"PK":{"S":"ORG#1"},"SK":{"S":"#METADATA#1"}}}},
	{"pattern":"write","operation":"TransactWriteItems","request":{"TransactItems":[
		{"Delete":{"TableName":"projects","Key":{"PK":{"S":"ORG#1"},"SK":{"S":"#METADATA#1"}}}}]}}]}';
RESET ROLE;
SELECT dyn_run_access_pattern('lure', 'read');
SELECT dyn_run_access_pattern('lure', 'write');
SELECT access_pattern, operation FROM dyn_access_patterns('lure');
SELECT count(*) FROM run('get_organization', '{"orgId":"1"}');
DROP TABLE lure;
REVOKE ALL ON SCHEMA public FROM dyn_pattern_reader;
-- a place to begin at is for the first of several pages
SELECT dyn_create_table('pages', 'p S', 's N');
SELECT count(dyn_put('pages', jsonb_build_object('p', 'x', 's', i, 'v', repeat('v', 10000)))) FROM generate_series(1, 300) i;
SELECT dyn_create_access_pattern('pages', 'after', 'Query',
	'{"KeyConditionExpression":"p = :p","ExpressionAttributeValues":{":p":{"S":"x"}},"ExclusiveStartKey":{"p":{"S":"x"},"s":{"N":"<s>"}}}');
SELECT count(*), min((i ->> 's')::integer) FROM dyn_run_access_pattern('pages', 'after', '{"s":{"N":"10"}}') i;
SELECT dyn_run_access_pattern('pages', 'after', '{"s":{"N":"10"},"t":{"N":"10"}}');
DROP TABLE pages;
DROP FUNCTION run;
DROP TABLE projects, events, sessions;
DROP ROLE dyn_pattern_reader;
