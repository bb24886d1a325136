-- Views of entities that are not what they were made as: nothing is written by them that is not of the declared type
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
SELECT dyn_create_table('ledger', 'pk S');
SELECT dyn_create_entity('ledger', 'Entry', '{"pk":"ENTRY#<Id>"}', '{"Id":"S","Amount":"S","At":"S timestamptz","Tags":"SS text[]"}');
SELECT dyn_create_entity_view('ledger', 'Entry');
INSERT INTO "Entry" VALUES ('1', 'abc', '2024-05-01 10:00Z', '{a}');

-- an attribute that is no part of a key gets another type; whatever the view's column has is no number
SELECT dyn_create_entity('ledger', 'Entry', '{"pk":"ENTRY#<Id>"}', '{"Id":"S","Amount":"N","At":"S timestamptz","Tags":"SS text[]"}');
INSERT INTO "Entry" ("Id", "Amount") VALUES ('2', 'abc');
INSERT INTO "Entry" ("Id", "Amount") VALUES ('2', repeat('x', 10000));
INSERT INTO "Entry" ("Id") VALUES ('2');
UPDATE "Entry" SET "Amount" = 'def';
DELETE FROM "Entry";
SELECT * FROM "Entry";
SELECT entity, problem, detail FROM dyn_check_entities('ledger') ORDER BY 2, 3;
-- what the hint says
SELECT dyn_create_entity_view('ledger', 'Entry');
DROP VIEW "Entry";
SELECT dyn_create_entity_view('ledger', 'Entry');
INSERT INTO "Entry" ("Id", "Amount") VALUES ('2', 12.5);
SELECT "Id", "Amount" FROM "Entry" ORDER BY 1;

-- another type of DynamoDB's for the same type of SQL: the view can be made anew as it is
SELECT dyn_create_entity('ledger', 'Entry', '{"pk":"ENTRY#<Id>"}', '{"Id":"S","Amount":"N","At":"N timestamptz","Tags":"L text[]"}');
INSERT INTO "Entry" ("Id", "At") VALUES ('3', '2024-05-01 10:00Z');
SELECT dyn_create_entity_view('ledger', 'Entry');
INSERT INTO "Entry" ("Id", "At", "Tags") VALUES ('3', '2024-05-01 10:00Z', '{b}');
SELECT item FROM ledger WHERE pk = 'ENTRY#3';
-- modifiers are of the type
SELECT dyn_create_entity('ledger', 'Entry', '{"pk":"ENTRY#<Id>"}', '{"Id":"S","Amount":"N numeric(5,1)","At":"N timestamptz(0)","Tags":"L text[]"}');
INSERT INTO "Entry" ("Id", "Amount") VALUES ('4', 1);
SELECT count(*) FROM dyn_check_entities('ledger') WHERE problem = 'view out of date';
-- a column whose attribute is gone shows what there is, and cannot be written to
SELECT dyn_create_entity('ledger', 'Entry', '{"pk":"ENTRY#<Id>"}', '{"Id":"S","At":"N timestamptz","Tags":"L text[]"}');
INSERT INTO "Entry" ("Id", "Amount") VALUES ('5', 1);
INSERT INTO "Entry" ("Id") VALUES ('5');
SELECT "Id", "Amount" FROM "Entry" ORDER BY 1;

-- made by hand, with the function and the trigger of such views
SELECT dyn_create_entity('ledger', 'Entry', '{"pk":"ENTRY#<Id>"}', '{"Id":"S","Amount":"N"}');
CREATE VIEW by_hand AS SELECT dynamo_internal.attribute(t.item, 'Id', 'S', NULL::text) AS "Id", dynamo_internal.attribute(t.item, 'Amount', 'N', NULL::text)
	AS "Amount"
	FROM ledger t WHERE dynamo_internal.is_entity(t.item,
		'{"entity": "Entry", "type_attribute": "Type", "type": "Entry", "keys": {"pk": "ENTRY#<Id>"}, "attributes": {"Id": "S"}}', t.pk);
CREATE TRIGGER t INSTEAD OF INSERT OR UPDATE OR DELETE ON by_hand FOR EACH ROW EXECUTE FUNCTION dynamo_internal.entity_view_change();
INSERT INTO by_hand VALUES ('6', repeat('abc', 100));
SELECT * FROM by_hand;
CREATE OR REPLACE VIEW by_hand AS SELECT dynamo_internal.attribute(t.item, 'Id', 'S', NULL::text) AS "Id",
	dynamo_internal.attribute(t.item, 'Id', 'S', NULL::text) AS "Amount"
	FROM ledger t WHERE dynamo_internal.is_entity(t.item,
		'{"entity": "Entry", "type_attribute": "Type", "type": "Entry", "keys": {"pk": "ENTRY#<Id>"}, "attributes": {"Id": "S"}}', t.pk);
INSERT INTO by_hand VALUES ('6', '7');
UPDATE by_hand SET "Amount" = 'x';
CREATE OR REPLACE VIEW by_hand AS SELECT dynamo_internal.attribute(t.item, 'Id', 'S', NULL::text) AS "Id",
	dynamo_internal.attribute(t.item, 'Amount', 'N', NULL::numeric)::text AS "Amount"
	FROM ledger t WHERE dynamo_internal.is_entity(t.item,
		'{"entity": "Entry", "type_attribute": "Type", "type": "Entry", "keys": {"pk": "ENTRY#<Id>"}, "attributes": {"Id": "S"}}', t.pk);
INSERT INTO by_hand VALUES ('6', '7');
INSERT INTO by_hand VALUES ('6') RETURNING *;
SELECT item FROM ledger WHERE pk = 'ENTRY#6';
DROP TABLE ledger CASCADE;
