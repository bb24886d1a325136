\set ECHO all
-- Organizations, users and tickets in one table: an organization and its users are one item
-- collection, so one query reads them together; a ticket has a collection of its own, and joins its
-- user's in the index GSI1.

SELECT dyn_create_table('app', 'pk S', 'sk S', global_indexes => '{"GSI1": {"partition_key": "GSI1PK S", "sort_key": "GSI1SK S"}}');
SELECT dyn_put('app', item) FROM (VALUES
  ('{"pk":"ORG#MICROSOFT","sk":"METADATA#MICROSOFT","OrgName":"Microsoft","PlanType":"Enterprise"}'::jsonb),
  ('{"pk":"ORG#MICROSOFT","sk":"USER#BILLGATES","UserName":"Bill Gates","UserType":"Member","GSI1PK":"ORG#MICROSOFT#USER#BILLGATES","GSI1SK":"USER#BILLGATES"}'),
  ('{"pk":"ORG#MICROSOFT","sk":"USER#SATYANADELLA","UserName":"Satya Nadella","UserType":"Admin","GSI1PK":"ORG#MICROSOFT#USER#SATYANADELLA","GSI1SK":"USER#SATYANADELLA"}'),
  ('{"pk":"ORG#AMAZON","sk":"METADATA#AMAZON","OrgName":"Amazon","PlanType":"Pro"}'),
  ('{"pk":"ORG#AMAZON","sk":"USER#JEFFBEZOS","UserName":"Jeff Bezos","UserType":"Admin","GSI1PK":"ORG#AMAZON#USER#JEFFBEZOS","GSI1SK":"USER#JEFFBEZOS"}'),
  ('{"pk":"TICKET#123","sk":"TICKET#123","CreatedDate":"2023-09-05 22:31:54","GSI1PK":"ORG#MICROSOFT#USER#BILLGATES","GSI1SK":"TICKET#123"}'),
  ('{"pk":"TICKET#456","sk":"TICKET#456","CreatedDate":"2023-09-06 08:10:00","GSI1PK":"ORG#MICROSOFT#USER#BILLGATES","GSI1SK":"TICKET#456"}')
) v (item);

-- One organization
SELECT dyn_get('app', '{"pk":{"S":"ORG#MICROSOFT"},"sk":{"S":"METADATA#MICROSOFT"}}')::jsonb;

-- An organization with its users: one query, no join
SELECT item->>'sk' AS sk, item::jsonb FROM dyn_query('app', 'pk = :org', vals => '{":org":{"S":"ORG#AMAZON"}}') AS item;

-- Only the users
SELECT item->>'UserName' AS name, item->>'UserType' AS type
  FROM dyn_query('app', 'pk = :org AND begins_with(sk, :user)', vals => '{":org":{"S":"ORG#MICROSOFT"},":user":{"S":"USER#"}}') AS item;

-- One user, one ticket
SELECT dyn_get('app', '{"pk":{"S":"ORG#AMAZON"},"sk":{"S":"USER#JEFFBEZOS"}}') ->> 'UserType' AS type,
       dyn_get('app', '{"pk":{"S":"TICKET#123"},"sk":{"S":"TICKET#123"}}') ->> 'CreatedDate' AS created;

-- A user with the tickets, the newest first
SELECT item->>'GSI1SK' AS sk, item->>'CreatedDate' AS created
  FROM dyn_query('app', 'GSI1PK = :user', vals => '{":user":{"S":"ORG#MICROSOFT#USER#BILLGATES"}}', index_name => 'GSI1', forward => false) AS item;

-- Table and index as people draw them
\pset tuples_only on
SELECT dyn_table_chart('app', max_columns => 3, max_width => 30);
SELECT dyn_table_chart('app', 'GSI1', max_columns => 0, max_width => 40);
\pset tuples_only off

-- The same table in SQL: all tickets by age, which no key serves
SELECT item->>'pk' AS ticket, item->>'CreatedDate' AS created FROM app WHERE pk LIKE 'TICKET#%' ORDER BY created DESC;
