-- Views of entities: attributes as values of SQL, columns, lists, indexes, rights; docs/semantics.md, M28.
\pset format unaligned
-- attribute(): by the stored name, as the type of the sample; what is not of the type is NULL
CREATE TYPE mood AS ENUM ('calm', 'cross');
CREATE DOMAIN small AS integer CHECK (VALUE < 10);
CREATE TABLE i (item dyn_item);
INSERT INTO i VALUES ('{"s":{"S":"a"},"n":{"N":"5"},"half":{"N":"5.5"},"b":{"B":"AAEC"},"t":{"BOOL":true},"null":{"NULL":true},
	"when":{"S":"2024-05-01T10:20:30Z"},
  "mood":{"S":"cross"},"list":{"L":[{"N":"1"},{"N":"2"}]},"map":{"M":{"x":{"S":"y"}}},"set":{"SS":["x","y"]},
  "u":{"S":"A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"}}');
SELECT dynamo_internal.attribute(item, 's', 'S', NULL::text) s, dynamo_internal.attribute(item, 'n', 'N', NULL::integer) n,
	dynamo_internal.attribute(item, 'half', 'N', NULL::integer) no_integer,
  dynamo_internal.attribute(item, 'half', 'N', NULL::numeric) half, dynamo_internal.attribute(item, 'n', 'N', NULL::small) domain,
    dynamo_internal.attribute(item, 'b', 'B', NULL::bytea) b,
  dynamo_internal.attribute(item, 't', 'BOOL', NULL::boolean) t, dynamo_internal.attribute(item, 'null', 'S', NULL::text) nothing,
    dynamo_internal.attribute(item, 'nope', 'S', NULL::text) absent,
  dynamo_internal.attribute(item, 's', 'N', NULL::numeric) other, dynamo_internal.attribute(item, 'when', 'S', NULL::timestamptz) AT TIME ZONE 'UTC' "when",
  dynamo_internal.attribute(item, 'mood', 'S', NULL::mood) mood, dynamo_internal.attribute(item, 's', 'S', NULL::mood) no_mood,
    dynamo_internal.attribute(item, 'list', 'L', NULL::integer[]) list,
  dynamo_internal.attribute(item, 'map', 'M', NULL::jsonb) map, dynamo_internal.attribute(item, 'set', 'SS', NULL::text[]) "set",
    dynamo_internal.attribute(item, 'u', 'S', NULL::uuid) u FROM i;
SELECT dynamo_internal.attribute(NULL, 's', 'S', NULL::text) IS NULL AS null_item, pg_typeof(dynamo_internal.attribute(item, 'n', 'N', 0::smallint)) FROM i;
SELECT dynamo_internal.attribute(item, 's', 'X', NULL::text) FROM i;
SELECT dynamo_internal.attribute(item, 's', 'S text', NULL::text) FROM i;
SELECT dynamo_internal.attribute(item, 's', 'SS', NULL::text) FROM i;
SELECT dynamo_internal.attribute(item, NULL, 'S', NULL::text) FROM i;
-- types that change from row to row
SELECT dynamo_internal.attribute(item, name, type, NULL::jsonb) FROM i, (VALUES ('map', 'M'), ('list', 'L'), ('map', 'L')) v (name, type);
DROP TABLE i;

SELECT dyn_create_table('app', 'pk S', 'sk S', global_indexes => '{"GSI1": {"partition_key": "GSI1PK S", "sort_key": "GSI1SK S"},
	"ByStatus": {"partition_key": "Status S", "sort_key": "Priority N"},
  "Turned": {"partition_key": "sk S", "sort_key": "pk S"}}');
SELECT dyn_create_entity('app', 'Org', '{"pk":"ORG#<OrgId>","sk":"#METADATA#","GSI1PK":"ORGANIZATIONS","GSI1SK":"<Name:upper>"}',
	'{"OrgId":"S","Name":"S","Founded":"S date"}');
SELECT dyn_create_entity('app', 'User', '{"pk":"ORG#<OrgId>","sk":"USER#<UserId>"}',
	'{"OrgId":"S","UserId":"S uuid","Emails":"SS","Mood":"S mood","Address":"M","Nicks":"L text[]"}');
SELECT dyn_create_entity('app', 'Ticket',
	'{"pk":"TICKET#<Number:06>","sk":"TICKET","GSI1PK":"ORG#<OrgId>",
	"GSI1SK":[{"when":{"Closed":null},"template":"OPEN#<Number:06>"},{"template":"CLOSED#<Number:06>"}]}',
  '{"OrgId":"S","Number":"N integer","Title":{"type":"S","stored":"t"},"Status":"S","Priority":"N smallint","Closed":"S timestamptz(0)","Lines":"L",
    "Hours":"NS"}');
SELECT count(*) FROM (VALUES
  ('Org', '{"OrgId":"1","Name":"Happy Inc","Founded":"2001-02-03"}'::jsonb), ('Org', '{"OrgId":"2","Name":"abc"}'),
  ('User', '{"OrgId":"1","UserId":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11","Mood":"calm","Address":{"City":"Berlin"},"Nicks":["b","a"]}'),
  ('User', '{"OrgId":"2","UserId":"b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}'),
  ('Ticket', '{"OrgId":"1","Number":7,"Title":"seven","Status":"new","Priority":1,"Lines":[{"what":"a","hours":[1,2]},"text",null]}'),
  ('Ticket', '{"OrgId":"1","Number":8,"Title":"eight","Closed":"2024-05-01T10:00:00Z"}'),
  ('Ticket', '{"OrgId":"2","Number":9,"Status":"new","Priority":2,"Owner":"not declared"}')) v (e, a), dyn_put_entity('app', e, a);
SELECT dyn_update('app', '{"pk":{"S":"ORG#1"},"sk":{"S":"USER#a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}}', 'SET Emails = :e',
	vals => '{":e":{"SS":["a@x","b@x"]}}');
SELECT dyn_create_entity_view('app', 'Org'), dyn_create_entity_view('app', 'User'), dyn_create_entity_view('app', 'Ticket', 'tickets');
SELECT attname, atttypid::regtype FROM pg_attribute WHERE attrelid IN ('"User"'::regclass, 'tickets'::regclass) AND attnum > 0
	ORDER BY attrelid::regclass::text, attnum;
SELECT reloptions FROM pg_class WHERE oid = 'tickets'::regclass;
SELECT * FROM "Org" ORDER BY 1;
SELECT * FROM "User" ORDER BY 1;
SELECT "Number", "Title", "OrgId", "Status", "Priority", "Closed" AT TIME ZONE 'UTC' AS closed, "Lines" FROM tickets ORDER BY 1;
-- joins of what was never in two tables
SELECT o."Name", count(t."Number"), array_agg(t."Title" ORDER BY "Number") FROM "Org" o LEFT JOIN tickets t USING ("OrgId") GROUP BY 1 ORDER BY 1;

-- lists and sets, element by element
SELECT dyn_create_entity_view('app', 'User', unnest => 'Emails'), dyn_create_entity_view('app', 'User', 'nicks', unnest => 'Nicks'),
	dyn_create_entity_view('app', 'Ticket', 'lines', 'Lines');
SELECT * FROM "User_Emails";
SELECT "OrgId", "position", element FROM nicks;
SELECT * FROM lines;
SELECT "Number", "position", h.ordinality AS nested, h.value FROM lines, jsonb_array_elements(element -> 'hours') WITH ORDINALITY h
	WHERE jsonb_typeof(element) = 'object';
SELECT dyn_create_entity_view('app', 'Ticket', unnest => 'Title');
SELECT dyn_create_entity_view('app', 'Ticket', unnest => 'Nope');

-- what is in an index
SELECT dyn_create_entity_view('app', 'Org', index_name => 'GSI1'), dyn_create_entity_view('app', 'Ticket', index_name => 'GSI1'),
	dyn_create_entity_view('app', 'Ticket', 'by_status', index_name => 'ByStatus'),
  dyn_create_entity_view('app', 'Ticket', index_name => 'Turned');
SELECT "Number" FROM by_status ORDER BY 1;
SELECT "Number" FROM "Ticket_GSI1" ORDER BY 1;
SELECT "Number" FROM "Ticket_Turned" ORDER BY 1;
SELECT dyn_create_entity_view('app', 'User', index_name => 'GSI1');
SELECT dyn_create_entity_view('app', 'User', index_name => 'Nope');

-- an item is in the view of its entity if its keys are where it belongs; what its other keys are does not matter there
SELECT dyn_put('app', '{"pk":{"S":"TICKET#10"},"sk":{"S":"TICKET"},"Type":{"S":"Ticket"},"Number":{"N":"10"}}');
SELECT dyn_put('app', '{"pk":{"S":"TICKET#000011"},"sk":{"S":"TICKET"},"Type":{"S":"Ticket"},"Number":{"N":"11"},"OrgId":{"S":"1"},"GSI1PK":{"S":"else"},
	"GSI1SK":{"S":"OPEN#000011"}}');
SELECT dyn_put('app', '{"pk":{"S":"ORG#1"},"sk":{"S":"USER#A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A12"},"Type":{"S":"User"},"OrgId":{"S":"1"},
	"UserId":{"S":"A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A12"}}');
SELECT dyn_put('app', '{"pk":{"S":"TICKET#000012"},"sk":{"S":"TICKET"},"Type":{"S":"Other"},"Number":{"N":"12"}}');
SELECT "Number" FROM tickets ORDER BY 1;
SELECT "Number" FROM "Ticket_GSI1" ORDER BY 1;
SELECT count(*) FROM "User";
-- an attribute that is not of its type is NULL, and is no error
SELECT dyn_put('app', '{"pk":{"S":"TICKET#000013"},"sk":{"S":"TICKET"},"Type":{"S":"Ticket"},"Number":{"N":"13"},"OrgId":{"S":"1"},"Hours":{"SS":["high"]},
	"Lines":{"S":"x"},"Closed":{"S":"yesterday"}}');
SELECT "Number", "Hours", "Lines", "Closed" FROM tickets WHERE "Number" = 13;
SELECT count(*) FROM lines WHERE "Number" = 13;

-- an entity that is declared again has its view made again: columns stay where they are, and more come behind them
SELECT dyn_create_entity('app', 'Org', '{"pk":"ORG#<OrgId>","sk":"#METADATA#","GSI1PK":"ORGANIZATIONS","GSI1SK":"<Name>"}',
	'{"OrgId":"S","Name":"S","Founded":"S date","Address":"M"}');
SELECT dyn_create_entity_view('app', 'Org');
SELECT attname FROM pg_attribute WHERE attrelid = '"Org"'::regclass ORDER BY attnum;
SELECT dyn_create_entity('app', 'Org', '{"pk":"ORG#<OrgId>","sk":"#METADATA#"}', '{"OrgId":"S","Name":"S"}');
\set SHOW_CONTEXT never
SELECT dyn_create_entity_view('app', 'Org');
\set SHOW_CONTEXT errors
DROP VIEW "Org" CASCADE;
SELECT dyn_create_entity_view('app', 'Org');
-- names that are taken
CREATE VIEW taken AS SELECT 1 AS "OrgId";
SELECT dyn_create_entity_view('app', 'Org', 'taken');
SELECT dyn_create_entity_view('app', 'Org', 'app');
SELECT dyn_create_entity_view('app', 'Org', 'User');
SELECT dyn_create_entity_view('app', 'Nope');
SELECT dyn_create_entity_view('nope', 'Org');
SELECT dyn_create_entity_view(NULL, 'Org');
SELECT dyn_create_entity_view('app', 'Org', repeat('n', 80));
-- renamed tables, columns and types are followed
ALTER TABLE app RENAME TO "the app";
ALTER TYPE mood RENAME TO temper;
ALTER VIEW "User" RENAME COLUMN "Mood" TO temper;
SELECT "OrgId", temper FROM "User" ORDER BY 1;
ALTER TABLE "the app" RENAME TO app;
ALTER TYPE temper RENAME TO mood;

-- a search_path with other things of the same names
CREATE SCHEMA hostile;
CREATE FUNCTION hostile.attribute(dyn_item, text, text, anyelement) RETURNS anyelement LANGUAGE sql AS 'SELECT $4';
CREATE FUNCTION hostile.is_entity(dyn_item, text, text) RETURNS boolean LANGUAGE sql AS 'SELECT true';
CREATE FUNCTION hostile.unnest(text[]) RETURNS SETOF text LANGUAGE sql AS 'SELECT ''no''::text';
CREATE TYPE hostile.text AS ENUM ('no');
SET search_path = hostile, public, pg_catalog;
SELECT dyn_create_entity_view('app', 'User', 'safe'), dyn_create_entity_view('app', 'User', 'safe_nicks', unnest => 'Nicks');
RESET search_path;
SELECT "OrgId" FROM safe ORDER BY 1;
SELECT element FROM safe_nicks;
DROP SCHEMA hostile CASCADE;

-- by the rights of whoever asks, and row-level security
CREATE ROLE dyn_view_reader;
GRANT SELECT ON tickets, "Ticket_GSI1" TO dyn_view_reader;
SET ROLE dyn_view_reader;
SELECT "Number" FROM tickets;
SELECT dyn_create_entity_view('app', 'Ticket');
RESET ROLE;
GRANT SELECT ON app TO dyn_view_reader;
ALTER TABLE app ENABLE ROW LEVEL SECURITY;
CREATE POLICY odd ON app FOR SELECT USING (item ->> 'Number' IN ('7', '9'));
SET ROLE dyn_view_reader;
SELECT "Number" FROM tickets ORDER BY 1;
SELECT "Number" FROM tickets WHERE "Number" = 8;
SELECT "Number" FROM "Ticket_GSI1" WHERE "OrgId" = '2';
RESET ROLE;
-- the functions by themselves
SELECT dynamo_internal.is_entity('{"pk":{"S":"A#1"},"a":{"N":"1"}}', '{"entity":"e","keys":{"pk":"A#<a>"},"attributes":{"a":"N"}}', 0);
SELECT dynamo_internal.is_entity('{"pk":{"S":"A#1"},"a":{"N":"1"}}', '{"entity":"e","keys":{"pk":"A#<a>","sk":"B"},"attributes":{"a":"N"}}', 0);
SELECT dynamo_internal.is_entity('{"pk":{"S":"A#1"},"a":{"N":"1"}}', 'nonsense', 0);
SELECT dynamo_internal.is_entity(item, definition, 0) FROM app, (VALUES ('{}'), ('{"a":1}')) v (definition);
-- a definition that is no constant is read again whenever it changes
SELECT d, dynamo_internal.is_entity('{"pk":{"S":"A#1"},"a":{"N":"1"}}', replace('{"entity":"e","keys":{"pk":"D#<a>"},"attributes":{"a":"N"}}', 'D', d), 0)
	FROM (VALUES ('A'), ('B'), ('A')) v (d);
DO $$
DECLARE d text;
BEGIN
	FOREACH d IN ARRAY ARRAY['A', 'B', 'A'] LOOP
		d := replace('{"entity":"e","keys":{"pk":"D#<a>"},"attributes":{"a":"N"}}', 'D', d);
		RAISE NOTICE '%', dynamo_internal.is_entity('{"pk":{"S":"A#1"},"a":{"N":"1"}}', d, 0);
	END LOOP;
END $$;
-- types of DynamoDB's that change from row to row, and a type that no column has
SELECT t, dynamo_internal.attribute('{"a":{"N":"1"}}', 'a', t, NULL::bool) FROM (VALUES ('N'), ('S'), ('BOOL'), ('N')) v (t);
SELECT dynamo_internal.attribute('{"a":{"S":"(1,2)"}}', 'a', 'S', ROW(1, 2));
SELECT DISTINCT dynamo_internal.is_entity(item, NULL, 0) IS NULL FROM app;
-- only what columns of keys can be, and nothing that changes from row to row
SELECT dynamo_internal.entity_key(NULL::bigint, '{"entity":"e","keys":{"pk":"<a>"},"attributes":{"a":"S"}}', 1, false, 'x'::text);
SELECT dynamo_internal.entity_key(NULL::jsonb, '{"entity":"e","keys":{"pk":"<a>"},"attributes":{"a":"S"}}', 1, false, 'x'::text);
SELECT dynamo_internal.entity_key(NULL::text, d, 1, false, 'x'::text) FROM (VALUES ('{"entity":"e","keys":{"pk":"<a>"},"attributes":{"a":"S"}}'), ('')) v (d);
CREATE TABLE odd (item dyn_item, k inet PRIMARY KEY);
INSERT INTO odd VALUES ('{"pk":{"S":"A"}}', '::1');
SET enable_seqscan = off;
SELECT count(*) FROM odd WHERE dynamo_internal.is_entity(item, '{"entity":"e","keys":{"pk":"A"},"attributes":{}}', k);
SELECT count(*) FROM odd a, odd b WHERE dynamo_internal.is_entity(a.item, '{"entity":"e","keys":{"pk":"A"},"attributes":{}}', host(b.k));
RESET enable_seqscan;
DROP TABLE odd;
SELECT dynamo_internal.entity_key(NULL::text, '{"entity":"e","keys":{"pk":"A#<a>#B"},"attributes":{"a":"N"}}', 2, false, 5);
SELECT dynamo_internal.entity_key(NULL::text, '{"entity":"e","keys":{"pk":"A#<a>#B"},"attributes":{"a":"N"}}', 2, true, 5);
SELECT dynamo_internal.entity_key(NULL::text, '{"entity":"e","keys":{"pk":"<a>#B"},"attributes":{"a":"S"}}', 1, true, U&'\+10FFFF'::text) > U&'\+10FFFF'
	AS above_all;
SELECT dynamo_internal.entity_key(NULL::text, '{"entity":"e","keys":{"pk":"A#<a>#B"},"attributes":{"a":"N"}}', 3, false, 'NaN'::numeric) IS NULL AS no_number,
  dynamo_internal.entity_key(NULL::text, '{"entity":"e","keys":{"pk":"A#<a>#B"},"attributes":{"a":"S"}}', 3, false, 'x#y'::text) IS NULL AS delimiter,
  dynamo_internal.entity_key(NULL::numeric, '{"entity":"e","keys":{"pk":"A#<a>#B"},"attributes":{"a":"S"}}', 3, false, 'x'::text) IS NULL AS no_string;
SELECT dynamo_internal.entity_key(NULL::text, '{"entity":"e","keys":{"pk":"A#<a>#B"},"attributes":{"a":"N"}}', 9, false, 5);
SELECT dynamo_internal.entity_key(NULL::text, '{"entity":"e","keys":{"pk":"A#<a>#B"},"attributes":{"a":"N"}}', 3, false, 5, 6);
SET client_min_messages = warning;
DROP TABLE app CASCADE;
DROP VIEW taken;
DROP TYPE mood;
DROP DOMAIN small;
DROP ROLE dyn_view_reader;
