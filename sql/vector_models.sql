-- Entities whose vectors are pgvector's, joins with searches, and tables with vector indexes that become ordinary ones.
SELECT NOT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector') AS missing \gset
\if :missing
\echo skipped: pgvector is not installed
\quit
\endif
\set VERBOSITY terse
CREATE SCHEMA "Types";
CREATE EXTENSION vector SCHEMA "Types";
CREATE SCHEMA vector_models;
SET search_path = vector_models, public;
SELECT dyn_create_table('notes', 'pk S', 'sk S');
CALL dyn_create_vector_index('notes', 'near', 'm', 3, hash_key => 'pk S');
CREATE FUNCTION declare(type text) RETURNS json LANGUAGE sql AS $$
	SELECT dyn_create_entity('notes', 'Note', '{"pk":"T#<Tenant>","sk":"NOTE#<Id:03>"}',
		json_build_object('Tenant', 'S', 'Id', 'N integer', 'Text', 'S', 'Meaning', json_build_object('type', type, 'stored', 'm')));
	SELECT attributes #> '{Meaning,type}' FROM dyn_entities('notes') $$;

-- types
SELECT declare(t) FROM unnest(ARRAY['VECTOR(3) "Types".vector(3)', 'VECTOR(3) "Types".vector']) t;
SELECT declare('VECTOR(3) vector');
SELECT declare('VECTOR(3) "Types".vector(2)');
SELECT declare('VECTOR(3) "Types".halfvec(3)');
CREATE DOMAIN three AS "Types".vector(3);
SELECT declare('VECTOR(3) three');
SELECT declare('L "Types".vector(3)');

-- items and views
SELECT dyn_put_entity('notes', 'Note', a::jsonb) FROM unnest(ARRAY['{"Tenant": "a", "Id": 1, "Text": "red", "Meaning": [1, 0.1234567890123, 0]}',
	'{"Tenant": "a", "Id": 2, "Text": "green", "Meaning": [0, 1, 0]}', '{"Tenant": "b", "Id": 1, "Meaning": [0, 0, 1]}', '{"Tenant": "b", "Id": 2}']) a;
SELECT dyn_put_entity('notes', 'Note', '{"Tenant": "a", "Id": 3, "Meaning": [1, 2]}'::jsonb);
SELECT dyn_put_entity('notes', 'Note', '{"Tenant": "a", "Id": 3, "Meaning": [1, 2, "3"]}'::jsonb);
SELECT dyn_create_entity_view('notes', 'Note', 'note');
\d note
SELECT * FROM note ORDER BY "Tenant", "Id";
UPDATE note SET "Text" = 'crimson' WHERE "Tenant" = 'a' AND "Id" = 1;
SELECT item->'m' AS unchanged FROM notes WHERE pk = 'T#a' AND sk = 'NOTE#001';
UPDATE note SET "Meaning" = '[0.1,0.2,-3e5]' WHERE "Tenant" = 'b' AND "Id" = 2;
SELECT item->'m' AS m FROM notes WHERE pk = 'T#b' AND sk = 'NOTE#002';
UPDATE note SET "Meaning" = '[1,2]' WHERE "Tenant" = 'b' AND "Id" = 2;
SELECT dyn_to_value('[1,2]'::"Types".vector, 'VECTOR(2)'), dyn_to_value('[1,2]'::"Types".vector);
SELECT dyn_to_value('[1,2]'::"Types".vector, 'VECTOR(3)');

-- a search joined with the view
SELECT n."Text", n."Meaning" OPERATOR("Types".<->) '[1,0,0]' < 0.2 AS near
	FROM dyn_search('notes', 'near', '{1,0,0}', 2, 'pk = :p', vals => '{":p":{"S":"T#a"}}') s
	JOIN note n ON n."Tenant" = s.item->>'Tenant' AND n."Id" = (s.item->>'Id')::int ORDER BY s.score;
