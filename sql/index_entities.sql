-- Models on overloaded, sparse and inverted indexes: docs/semantics.md, D04 to D08, D15, E08 to E24, I21, I22, I24, I28, I29, M20 to M26, R04.
\set SHOW_CONTEXT never
CREATE FUNCTION list(table_name text, condition text, vals jsonb, index text DEFAULT NULL, attribute text DEFAULT 'SK', names jsonb DEFAULT NULL,
	forward boolean DEFAULT true, max_items bigint DEFAULT NULL) RETURNS text LANGUAGE sql AS
  $$ SELECT coalesce(string_agg(item ->> attribute, ', '), '(none)') FROM dyn_query(table_name, condition, names => names, vals => vals, forward => forward,
    max_items => max_items, index_name => index) item $$;

-- D04 to D08: organizations, users, tickets
SELECT dyn_create_table('org', 'PK S', 'SK S', global_indexes => '{"GSI1": {"partition_key": "GSI1PK S", "sort_key": "GSI1SK S"}}');
SELECT count(dyn_put('org', item)) FROM (VALUES
  ('{"PK":"ORG#MICROSOFT","SK":"METADATA#MICROSOFT","OrgName":"Microsoft"}'::jsonb), ('{"PK":"ORG#AMAZON","SK":"METADATA#AMAZON","OrgName":"Amazon"}'),
  ('{"PK":"ORG#MICROSOFT","SK":"USER#BILLGATES","GSI1PK":"ORG#MICROSOFT#USER#BILLGATES","GSI1SK":"USER#BILLGATES"}'),
  ('{"PK":"ORG#MICROSOFT","SK":"USER#SATYANADELLA","GSI1PK":"ORG#MICROSOFT#USER#SATYANADELLA","GSI1SK":"USER#SATYANADELLA"}'),
  ('{"PK":"ORG#AMAZON","SK":"USER#JEFFBEZOS","GSI1PK":"ORG#AMAZON#USER#JEFFBEZOS","GSI1SK":"USER#JEFFBEZOS"}'),
  ('{"PK":"TICKET#123","SK":"TICKET#123","GSI1PK":"ORG#MICROSOFT#USER#BILLGATES","GSI1SK":"TICKET#123","CreatedDate":"2023-09-05 22:31:54"}'),
  ('{"PK":"TICKET#456","SK":"TICKET#456","GSI1PK":"ORG#MICROSOFT#USER#BILLGATES","GSI1SK":"TICKET#456"}')) v (item);
SELECT (SELECT count(*) FROM dyn_scan('org')) AS d04, dyn_get('org', '{"PK":{"S":"TICKET#123"},"SK":{"S":"TICKET#123"}}') ->> 'CreatedDate' AS m26,
       (SELECT count(*) FROM dyn_scan('org', index_name => 'GSI1')) AS d05,
       list('org', 'GSI1PK = :u', '{":u":"ORG#MICROSOFT#USER#BILLGATES"}', 'GSI1') AS d06,
       list('org', 'GSI1PK = :u', '{":u":"ORG#MICROSOFT#USER#BILLGATES"}', 'GSI1', forward => false, max_items => 3) AS d07_m25_r04,
       list('org', 'PK = :o', '{":o":"ORG#MICROSOFT"}') AS d08;

-- D15: all organizations by name
SELECT dyn_put('org', '{"PK":"ORG#BERKSHIRE","SK":"ORG#","GSI1PK":"ORGANIZATIONS","GSI1SK":"Berkshire Hathaway"}'::jsonb),
	dyn_put('org', '{"PK":"ORG#FACEBOOK","SK":"ORG#","GSI1PK":"ORGANIZATIONS","GSI1SK":"Facebook"}'::jsonb);
SELECT list('org', 'GSI1PK = :o', '{":o":"ORGANIZATIONS"}', 'GSI1', 'GSI1SK') AS d15;

-- the project-management tool
SELECT dyn_create_table('happy-projects', 'PK S', 'SK S', global_indexes => '{"project-employee-index": {"partition_key": "SK S", "sort_key": "PK S"},
  "filter-by-name": {"partition_key": "PK S", "sort_key": "data S"}, "on-hold": {"partition_key": "isOnHold S"}}');
SELECT count(dyn_put('happy-projects', item)) FROM (VALUES
  ('{"PK":"ORG#1","SK":"#METADATA#1","name":"Happy Inc","data":"ORG#Happy Inc"}'::jsonb),
  ('{"PK":"ORG#2","SK":"#METADATA#2","name":"ABC Incorporation","data":"ORG#ABC Incorporation"}'),
  ('{"PK":"ORG#1","SK":"PRO#agile#100","name":"Project X","data":"PRO#Project X"}'),
  ('{"PK":"ORG#1","SK":"PRO#agile#101","name":"Project Y","data":"PRO#Project Y"}'), ('{"PK":"ORG#1","SK":"PRO#fixed bid#102","name":"Project F1"}'),
  ('{"PK":"ORG#1","SK":"EMP#200","name":"Manoj Fernando","data":"EMP#Manoj Fernando"}'),
  ('{"PK":"ORG#1","SK":"EMP#201","name":"John Doe","data":"EMP#John Doe"}'), ('{"PK":"ORG#1","SK":"EMP#202","name":"Jane Doe","data":"EMP#Jane Doe"}'),
  ('{"PK":"ORG#1#PRO#100","SK":"ORG#1#EMP#200","name":"Manoj"}'), ('{"PK":"ORG#1#PRO#101","SK":"ORG#1#EMP#200","name":"Manoj"}'),
  ('{"PK":"ORG#1#PRO#100","SK":"ORG#1#EMP#201","name":"John"}'), ('{"PK":"ORG#1#PRO#101","SK":"ORG#1#EMP#202","name":"Jane"}')) v (item);
SELECT list('happy-projects', 'PK = :o AND #d = :d', '{":o":"ORG#1",":d":"ORG#Happy Inc"}', 'filter-by-name', 'name', '{"#d":"data"}') AS e08,
       list('happy-projects', 'PK = :o AND begins_with(#d, :d)', '{":o":"ORG#1",":d":"PRO#Project"}', 'filter-by-name', 'name', '{"#d":"data"}') AS e10,
       list('happy-projects', 'PK = :o AND begins_with(#d, :d)', '{":o":"ORG#1",":d":"EMP#J"}', 'filter-by-name', 'name', '{"#d":"data"}') AS e18,
       list('happy-projects', 'SK = :e', '{":e":"ORG#1#EMP#200"}', 'project-employee-index', 'PK') AS e17,
         list('happy-projects', 'PK = :o AND #d > :d', '{":o":"ORG#2",":d":"A"}', 'filter-by-name', 'name', '{"#d":"data"}') AS e22,
       (SELECT count(*) FROM dyn_scan('happy-projects', index_name => 'project-employee-index')) = (SELECT count(*) FROM dyn_scan('happy-projects')) AS e24;
SELECT list('happy-projects', 'PK = :o AND begins_with(data, :d)', '{":o":"ORG#1",":d":"EMP#J"}', 'filter-by-name') AS e19;
-- E21: an item that gets its key later
SELECT dyn_update('happy-projects', '{"PK":{"S":"ORG#1"},"SK":{"S":"PRO#fixed bid#102"}}', 'SET #d = :d', names => '{"#d":"data"}',
	vals => '{":d":{"S":"PRO#Project F1"}}');
SELECT list('happy-projects', 'PK = :o AND begins_with(#d, :d)', '{":o":"ORG#1",":d":"PRO#Project"}', 'filter-by-name', 'name', '{"#d":"data"}') AS e21;

-- E14, E15, I28, I29: a sparse index reads what is on hold, a filter reads all
SELECT count(dyn_put('happy-projects', jsonb_build_object('PK', 'ORG#3', 'SK', 'PRO#agile#' || i, 'name', 'Project ' || i))) FROM generate_series(100, 199) i;
SELECT count(dyn_update('happy-projects', jsonb_build_object('PK', 'ORG#3', 'SK', 'PRO#agile#' || i), 'SET isOnHold = :y', vals => '{":y":{"S":"yes"}}'))
	FROM unnest(ARRAY[110, 120, 130]) i;
SELECT items_read, items_returned FROM dyn_explain('happy-projects', index_name => 'on-hold');
SELECT items_read, items_returned, pages_read > 0 AS pages FROM dyn_explain('happy-projects', 'isOnHold = :y', vals => '{":y":{"S":"yes"}}',
	index_name => 'on-hold');
SELECT items_read, items_returned FROM dyn_explain('happy-projects', 'PK = :o AND begins_with(SK, :p)', vals => '{":o":{"S":"ORG#3"},":p":{"S":"PRO#"}}',
	filter => 'attribute_exists(isOnHold)');
SELECT dyn_update('happy-projects', '{"PK":{"S":"ORG#3"},"SK":{"S":"PRO#agile#120"}}', 'REMOVE isOnHold');
SELECT items_read FROM dyn_explain('happy-projects', index_name => 'on-hold');

-- M20 to M24: hierarchies, namespaces, padded numbers and dates in one overloaded index
SELECT dyn_create_table('overloaded', 'id S', global_indexes => '{"facts": {"partition_key": "keeper S", "sort_key": "fact S"}}');
SELECT count(dyn_put('overloaded', jsonb_build_object('id', i, 'keeper', 'o', 'fact', f)))
	FROM unnest(ARRAY['London:Westminster:Downing St:10', 'London:Westminster:Abbey Rd:3', 'Leeds:Centre:Briggate:1',
  'dog:command:sit', 'dog:command:stay', 'dog:command:roll', 'dog:commander:x', 'dog:whiskers:000008', 'cat:treeclimbed:spruce', 'cat:whiskers:000008',
  'parrot:words:000003', 'parrot:words:000101', 'parrot:words:000201',
  'seen:2020-01-11T10:00:00Z', 'seen:2020-01-16T08:30:00Z', 'seen:2020-02-01T00:00:00Z']) WITH ORDINALITY v (f, n), LATERAL (SELECT n::text) w (i);
CREATE FUNCTION facts(condition text, VARIADIC bounds text[]) RETURNS text LANGUAGE sql AS
  $$ SELECT list('overloaded', 'keeper = :o AND ' || condition, (SELECT jsonb_object_agg(':' || chr(96 + i::int), b)
    FROM unnest(bounds) WITH ORDINALITY v (b, i)) || '{":o":"o"}', 'facts', 'fact') $$;
SELECT facts('begins_with(fact, :a)', 'London:') AS m20, facts('begins_with(fact, :a)', 'London:Westminster:Abbey Rd:') AS deeper;
SELECT facts('begins_with(fact, :a)', 'dog:command:') AS m21, facts('begins_with(fact, :a)', 'dog:command') AS d13;
SELECT facts('fact BETWEEN :a AND :b', 'parrot:words:000002', 'parrot:words:000005') AS m22, facts('fact > :a', 'parrot:words:000101') AS above;
SELECT facts('fact = :a', 'dog:whiskers:000008') AS m23, facts('fact = :a', 'cat:whiskers:000008') AS another_query;
SELECT facts('fact BETWEEN :a AND :b', 'seen:2020-01-10', 'seen:2020-01-20') AS m24;

-- I24: a collection of an index has no bound of its own
SELECT count(dyn_put('overloaded', jsonb_build_object('id', 'large' || i, 'keeper', 'large', 'fact', i::text, 'pad', repeat('x', 300000))))
	FROM generate_series(1, 10) i;
SELECT count(*), sum(dyn_size(item)) FROM dyn_query('overloaded', 'keeper = :o', vals => '{":o":{"S":"large"}}', index_name => 'facts') item;

DROP TABLE org, "happy-projects", overloaded;
DROP FUNCTION list, facts;
