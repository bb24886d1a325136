-- Following rows whose keys have booleans, dates and enums, and columns with any JSON
\pset format unaligned
SET client_min_messages = warning;
CREATE SCHEMA fv;
CREATE TYPE fv.mood AS ENUM ('sad', 'ha#ppy', 'Ä "x"');
CREATE TABLE fv.flags (id int, active boolean, mood fv.mood, day date, at timestamptz, PRIMARY KEY (id, active, mood, day, at));
SELECT dyn_create_table('fvt', 'pk S', 'sk S');
SELECT dyn_create_entity('fvt', 'Flag', '{"pk": "FLAG#<Id>", "sk": "<Active>|<Mood>|<Day>|<At>"}',
	'{"Id": "N integer", "Active": "BOOL", "Mood": "S fv.mood", "Day": "S date", "At": "S timestamptz"}');
SELECT dyn_create_entity('fvt', 'Text', '{"pk": "TEXT#<Id>", "sk": "<Active>|<Mood>|<Day>|<At>"}',
	'{"Id": "S", "Active": "S", "Mood": "S", "Day": "S", "At": "S"}');
SELECT dyn_create_entity('fvt', 'Number', '{"pk": "NUMBER#<Id>", "sk": "<Active:01>|<Mood>|<Day>|<At>"}',
	'{"Id": "N bigint", "Active": "N integer", "Mood": "S fv.mood", "Day": "S date", "At": "S timestamptz"}');
SELECT dyn_create_migration('fvt', 'fv', '[{"entity": "Flag", "from": "fv.flags"}, {"entity": "Text", "from": "fv.flags"},
	{"entity": "Number", "from": "fv.flags"}]');
SELECT dyn_follow_migration('fv');
CREATE FUNCTION fv.wrong(OUT source_row text, OUT difference text) RETURNS SETOF record LANGUAGE sql AS $$ SELECT source_row, difference
	FROM dyn_verify_migration('fv') $$;
INSERT INTO fv.flags VALUES (1, true, 'sad', '2024-01-02', '2024-01-02 03:04:05.6+02'), (1, false, 'sad', '2024-01-02', '2024-01-02 03:04:05+02'),
	(2, true, 'ha#ppy', '2024-01-03', 'epoch');
SELECT item FROM fvt ORDER BY pk, sk;
SELECT * FROM fv.wrong();
SET TimeZone = 'Asia/Tokyo';
SET DateStyle = 'German';
UPDATE fv.flags SET active = NOT active;
UPDATE fv.flags SET mood = 'Ä "x"', day = day + 1, at = at + interval '1 day' WHERE active;
DELETE FROM fv.flags WHERE id = 2;
SELECT pk, sk FROM fvt ORDER BY pk, sk;
SELECT * FROM fv.wrong();
RESET TimeZone;
RESET DateStyle;
CALL dyn_migrate('fv');
SELECT * FROM fv.wrong();
-- by the view of the entity
SELECT dyn_create_entity_view('fvt', 'Flag', 'flag_items');
SELECT "Id", "Active", "Mood" FROM flag_items WHERE "Id" = 1 ORDER BY 2;
SELECT count(*) FROM flag_items WHERE "Id" = 1 AND "Active" AND "Mood" = 'Ä "x"' AND "Day" = '2024-01-03';
SELECT dyn_follow_migration('fv', enabled => false);
-- what a boolean has no format for
SELECT dyn_create_entity('fvt', 'No', '{"pk": "<Active:upper>#"}', '{"Active": "BOOL"}');
SELECT dyn_create_entity('fvt', 'No', '{"pk": "<Active:01>#"}', '{"Active": "BOOL"}');
SELECT dyn_create_entity('fvt', 'No', '{"pk": "<Active>"}', '{"Active": "SS"}');
-- any JSON: as text, with what no other attribute holds
CREATE TABLE fv.documents (id int PRIMARY KEY, j jsonb, k json);
SELECT dyn_create_entity('fvt', 'Document', '{"pk": "DOCUMENT#<Id:02>", "sk": "#"}', '{"Id": "N integer", "J": "S jsonb", "K": "S json"}');
SELECT dyn_create_migration('fvt', 'fd', '[{"entity": "Document", "from": "fv.documents"}]');
SELECT dyn_follow_migration('fd');
INSERT INTO fv.documents VALUES (1, '[1, "a", {"b": null}]', '[1, 1.0, 1e3]'), (2, '"x"', '"x"'), (3, 'null', 'null'), (4, NULL, NULL),
	(5, '12.50', '{"b": 1, "b": 2}'), (6, 'true', ' { "z" : "\u0000" } '), (7, '{}', '[]'),
	(8, '1e200', '1234567890123456789012345678901234567890');
INSERT INTO fv.documents SELECT 9, (repeat('[', 100) || repeat(']', 100))::jsonb, (repeat('{"a":', 100) || '1' || repeat('}', 100))::json;
UPDATE fv.documents SET j = k::jsonb WHERE id < 4;
UPDATE fv.documents SET j = '{"a": [1]}' WHERE id = 2;
INSERT INTO fv.documents SELECT 10, jsonb_build_object('a', repeat('x', 500000)), NULL;
SELECT item ->> 'Id' AS id, left(item ->> 'J', 50) AS j, left(item ->> 'K', 50) AS k FROM fvt WHERE pk LIKE 'DOCUMENT#%' ORDER BY pk;
SELECT difference FROM dyn_verify_migration('fd');
SELECT dyn_create_entity_view('fvt', 'Document', 'document_items');
SELECT id, v."J" IS NOT DISTINCT FROM d.j AS j, v."K"::text IS NOT DISTINCT FROM d.k::text AS k FROM fv.documents d LEFT JOIN document_items v ON v."Id" =
	d.id ORDER BY id;
SELECT "Id" FROM document_items WHERE jsonb_typeof("J") = 'object' ORDER BY 1;
SELECT key FROM dyn_check_entities('fvt');
SELECT dyn_follow_migration('fd', enabled => false);
-- objects alone: the row is at fault
SELECT dyn_create_entity('fvt', 'Object', '{"pk": "OBJECT#<Id:02>", "sk": "#"}', '{"Id": "N integer", "J": "M jsonb", "K": "M json"}');
SELECT dyn_create_migration('fvt', 'fo', '[{"entity": "Object", "from": "fv.documents"}]');
CALL dyn_migrate('fo');
SELECT source_row, problem FROM dyn_job_problems WHERE name = 'fo';
SELECT dyn_follow_migration('fo');
INSERT INTO fv.documents VALUES (20, '[]', NULL);
INSERT INTO fv.documents VALUES (20, NULL, '{"z": "\u0000"}');
INSERT INTO fv.documents SELECT 20, NULL, (repeat('{"a":', 100) || '1' || repeat('}', 100))::json;
INSERT INTO fv.documents VALUES (20, 'null', NULL);
INSERT INTO fv.documents VALUES (20, '{"a": 1e200}', NULL);
INSERT INTO fv.documents VALUES (20, '{"a": [null]}', '{"b": 1, "b": 2}');
SELECT item FROM fvt WHERE pk = 'OBJECT#20';
DROP TABLE fvt CASCADE;
DROP SCHEMA fv CASCADE;
