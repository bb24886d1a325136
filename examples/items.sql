\set ECHO all
-- Items going in and out: DynamoDB JSON, plain JSON, and SQL on both.
\pset null '(null)'

-- An item is written as DynamoDB JSON; each value says its type.
CREATE TABLE tickets (item dyn_item);
INSERT INTO tickets VALUES
  ('{"PK":{"S":"ORG#LUMEN"},"SK":{"S":"TICKET#123"},"Title":{"S":"Printer on fire"},"Priority":{"N":"1"},
     "Tags":{"SS":["printer","fire"]},"Reporter":{"M":{"Name":{"S":"Bob"},"Floor":{"N":"3.50"}}},"ClosedAt":{"NULL":true}}');

-- A json or jsonb value is plain JSON; strings become S, numbers N, objects M, arrays L.
INSERT INTO tickets VALUES
  ('{"PK":"ORG#LUMEN","SK":"TICKET#456","Title":"More coffee","Priority":2,"Votes":["Ann","Bob"]}'::jsonb);

-- What is stored is canonical: names sorted, numbers in one form, 3.50 is 3.5.
SELECT item FROM tickets;

-- Attributes as text, typed, nested; and the size by DynamoDB's rules.
SELECT item->>'Title' AS title, (item->>'Priority')::numeric AS priority, item->'Tags' AS tags,
       item#>>'{Reporter,Name}' AS reporter, item ? 'Votes' AS has_votes, dyn_size(item) AS bytes
  FROM tickets ORDER BY priority;

-- Back to plain JSON, for everything that Postgres does with it.
SELECT jsonb_pretty(item::jsonb) FROM tickets WHERE item->>'SK' = 'TICKET#123';

-- Equality is by value: order in maps and sets, and the way a number is written, do not matter.
SELECT '{"a":{"NS":["1","2.0"]},"b":{"S":"x"}}'::dyn_item = '{"b":{"S":"x"},"a":{"NS":["2","1.0"]}}'::dyn_item AS equal;

-- And bad input is told what and where it is.
\set ON_ERROR_STOP off
INSERT INTO tickets VALUES ('{"PK":{"S":"ORG#UMBRA"},"Sizes":{"NS":["1","2","1.0"]}}');
INSERT INTO tickets VALUES ('{"PK":"ORG#UMBRA"}');
