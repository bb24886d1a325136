-- Attributes stay in the order in which they are declared: in the label, in lists, in views.
\pset format unaligned
\pset tuples_only on
CREATE SCHEMA ordered;
SET search_path = ordered, public;
SELECT dyn_create_table('tab', 'pk S', 'sk S');
CREATE FUNCTION names(entity text) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(a, ' ' ORDER BY n) FROM dyn_entities('tab') e, json_object_keys(e.attributes) WITH ORDINALITY k (a, n) WHERE e.entity = $1 $$;
CREATE FUNCTION columns(view regclass) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = $1 $$;
-- an untyped literal, and what goes through drivers: texts without a type, and with one
SELECT dyn_create_entity('tab', 'Literal', '{"pk": "L#<m>", "sk": "#"}', '{"z": "S", "m": "N", "a": {"default": "now", "type": "S timestamptz"}, "Z": "S"}');
PREPARE untyped AS SELECT dyn_create_entity($1, $2, $3, $4);
EXECUTE untyped('tab', 'Untyped', '{"pk": "U#<m>", "sk": "#"}', '{"z": "S", "m": "N", "a": "S"}');
PREPARE typed(varchar, varchar, jsonb, varchar) AS SELECT dyn_create_entity($1, $2, $3, $4);
EXECUTE typed('tab', 'Typed', '{"pk": "T#<m>", "sk": "#"}', '{"z": "S", "m": "N", "a": "S"}');
SELECT dyn_create_entity('tab', 'Text', '{"pk": "X#<m>", "sk": "#"}', '{"z": "S", "m": "N",' || ' "a": "S"}');
SELECT dyn_create_entity('tab', 'Json', '{"pk": "J#<m>", "sk": "#"}', json_build_object('z', 'S', 'm', 'N', 'a', 'S'), type_attribute => NULL);
SELECT dyn_create_entity('tab', entity => 'Named', attributes => '{"z": "S", "m": "N", "a": "S"}', keys => '{"pk": "N#<m>", "sk": "#"}');
DO $$ DECLARE t text := '{"z": "S", "m": "N", "a": "S"}'; j json := t; BEGIN
	PERFORM dyn_create_entity('tab', 'Pl', '{"pk": "P#<m>", "sk": "#"}', t), dyn_create_entity('tab', 'Pj', '{"pk": "Q#<m>", "sk": "#"}', j); END $$;
-- jsonb has no order
SELECT dyn_create_entity('tab', 'Jsonb', '{"pk": "B#<m>", "sk": "#"}', '{"zz": "S", "m": "N", "a": "S"}'::jsonb);
PREPARE of_driver(text, text, jsonb, jsonb) AS SELECT dyn_create_entity($1, $2, $3, $4);
EXECUTE of_driver('tab', 'Binary', '{"pk": "I#<m>", "sk": "#"}', '{"zz": "S", "m": "N", "a": "S"}');
SELECT entity, names(entity), columns(dyn_create_entity_view('tab', entity)) FROM dyn_entities('tab');
-- what the label says, which is what a dump has
SELECT label::json -> 'entities' -> 0 -> 'attributes' FROM pg_seclabels WHERE objoid = 'tab'::regclass;
SELECT label FROM pg_seclabels WHERE objoid = 'tab'::regclass \gset
SECURITY LABEL FOR dynamo_table ON TABLE tab IS NULL;
SECURITY LABEL FOR dynamo_table ON TABLE tab IS :'label';
SELECT names('Literal');
DROP VIEW "Literal";
SELECT columns(dyn_create_entity_view('tab', 'Literal'));
-- another order is no other entity; a view keeps its columns where they are
SELECT dyn_create_entity('tab', 'Literal', '{"pk": "L#<m>", "sk": "#"}', '{"m": "N", "Z": "S", "new": "BOOL", "a": "S timestamptz", "z": "S"}');
SELECT problem, detail FROM dyn_check_entities('tab') WHERE problem ~ 'view';
SELECT names('Literal'), columns(dyn_create_entity_view('tab', 'Literal'));
INSERT INTO "Literal" (z, m, "new") VALUES ('last', 7, true);
SELECT z, m, "new" FROM "Literal" WHERE m = 7;
-- names that are there twice, are escaped, or are as those of a declaration
SELECT dyn_create_entity('tab', 'Twice', '{"pk": "W#<m>", "sk": "#"}', '{"z": "N", "\u006d": "N", "type": "S", "z": "S", "attributes": "M", "\"": "S"}');
SELECT names('Twice'), columns(dyn_create_entity_view('tab', 'Twice')), attributes ->> 'z' FROM dyn_entities('tab') WHERE entity = 'Twice';
-- the elements of a list have the attributes of the key in its order
SELECT dyn_create_entity('tab', 'List', '{"pk": "A#<z>", "sk": "<b>"}', '{"b": "S", "l": "L", "z": "S"}');
SELECT columns(dyn_create_entity_view('tab', 'List', unnest => 'l')), columns(dyn_create_entity_view('tab', 'List'));
-- what is no declaration
SELECT dyn_create_entity('tab', 'Bad', '{"pk": "L#<m>", "sk": "#"}', '{"m": "N"');
SELECT dyn_create_entity('tab', 'Bad', '{"pk": "L#<m>", "sk": "#"}', '["m"]');
SELECT dyn_create_entity('tab', 'Bad', '{"pk": "L#<m>", "sk": "#"}', '"m"'::json);
SELECT dyn_create_entity('tab', 'Bad', '{"pk": "L#<m>", "sk": "#"}', '{"m": "N\u0000"}'::json);
SELECT dyn_create_entity('tab', 'Bad', '{"pk": "L#<m>", "sk": "#"}', ''::text);
SELECT dyn_create_entity('tab', 'Bad', '{"pk": "L#<m>", "sk": "#"}', NULL);
-- a label by hand
SECURITY LABEL FOR dynamo_table ON TABLE tab IS '{"entities": [{"attributes": {"z": "S", "z": "S", "m": "N", "a": "S"}, "entity": "E",
	"keys": {"pk": "L#<m>", "sk": "#"}}]}';
SELECT columns(dyn_create_entity_view('tab', 'E'));
SECURITY LABEL FOR dynamo_table ON TABLE tab IS '{"entities": [{"attributes": {"z": "S", "a": "S", "m": "N"}, "entity": "E",
	"keys": {"pk": "L#<m>", "sk": "#"}}]}';
SELECT columns(dyn_create_entity_view('tab', 'E', 'second'));
SECURITY LABEL FOR dynamo_table ON TABLE tab IS '{"entities": [{"attributes": ["z"], "entity": "E", "keys": {"pk": "L#<m>", "sk": "#"}}]}';
SELECT columns(dyn_create_entity_view('tab', 'E', 'third'));
RESET search_path;
SET client_min_messages = error;
DROP SCHEMA ordered CASCADE;
