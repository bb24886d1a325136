-- Attributes of entities that are vectors: lists of so many numbers.
\set VERBOSITY terse
SELECT dyn_create_table('notes', 'pk S', 'sk S');
CREATE FUNCTION declare(type text) RETURNS json LANGUAGE sql AS $$
	SELECT dyn_create_entity('notes', 'Note', '{"pk":"T#<Tenant>","sk":"NOTE#<Id:03>"}',
		json_build_object('Tenant', 'S', 'Id', 'N integer', 'Text', 'S', 'Meaning', json_build_object('type', type, 'stored', 'm')));
	SELECT attributes #> '{Meaning,type}' FROM dyn_entities('notes') $$;

-- types
SELECT declare(t) FROM unnest('{VECTOR(4096),VECTOR(3) real[],VECTOR(3) double precision[],VECTOR(03) numeric(4\,2)[],VECTOR(3)}'::text[]) t;
SELECT declare('VECTOR');
SELECT declare('VECTOR()');
SELECT declare('VECTOR(0)');
SELECT declare('VECTOR(4097)');
SELECT declare('VECTOR(99999999999999999999)');
SELECT declare('VECTOR(-3)');
SELECT declare('VECTOR(3');
SELECT declare('VECTOR(3))');
SELECT declare('vector(3)');
SELECT declare('VECTOR(3) text[]');
SELECT declare('VECTOR(3) real');
SELECT declare('VECTOR(3) jsonb');
SELECT dyn_create_entity('notes', 'Bad', '{"pk":"<V>","sk":"x"}', '{"V":"VECTOR(3)"}');

-- items
SELECT dyn_put_entity('notes', 'Note', '{"Tenant": "a", "Id": 1, "Text": "red", "Meaning": [1, 0.1234567890123, -2e10]}'::jsonb);
SELECT item FROM notes;
SELECT dyn_put_entity('notes', 'Note', '{"Tenant": "a", "Id": 2, "Text": "without"}'::jsonb);
SELECT dyn_put_entity('notes', 'Note', '{"Tenant": "a", "Id": 3, "Meaning": [1, 2]}'::jsonb);
SELECT dyn_put_entity('notes', 'Note', '{"Tenant": "a", "Id": 3, "Meaning": [1, 2, 3, 4]}'::jsonb);
SELECT dyn_put_entity('notes', 'Note', '{"Tenant": "a", "Id": 3, "Meaning": [1, "2", 3]}'::jsonb);
SELECT dyn_put_entity('notes', 'Note', '{"Tenant": "a", "Id": 3, "Meaning": [1, null, 3]}'::jsonb);
SELECT dyn_put_entity('notes', 'Note', '{"Tenant": "a", "Id": 3, "Meaning": [1, 1e39, 3]}'::jsonb);
SELECT dyn_put_entity('notes', 'Note', '{"Tenant": "a", "Id": 3, "Meaning": [[1, 2, 3]]}'::jsonb);
SELECT dyn_put_entity('notes', 'Note', '{"Tenant": "a", "Id": 3, "Meaning": [[1], [2], [3]]}'::jsonb);
SELECT dyn_put_entity('notes', 'Note', '{"Tenant": "a", "Id": 3, "Meaning": []}'::jsonb);
\set VERBOSITY default
SELECT dyn_put_entity('notes', 'Note', '{"Tenant": "a", "Id": 3, "Meaning": "[1,2,3]"}'::jsonb);
\set VERBOSITY terse
SELECT dyn_update_entity('notes', 'Note', '{"Tenant": "a", "Id": 1}'::jsonb, 'SET Meaning = :m', vals => '{":m": {"L": [{"N": "1"}]}}');
SELECT dyn_enforce_entities('notes');
SELECT dyn_put('notes', '{"pk":{"S":"T#a"},"sk":{"S":"NOTE#004"},"Type":{"S":"Note"},"Tenant":{"S":"a"},"Id":{"N":"4"},"m":{"L":[{"N":"1"}]}}');
SELECT dyn_enforce_entities('notes', false);
SELECT dyn_put('notes', '{"pk":{"S":"T#a"},"sk":{"S":"NOTE#004"},"Type":{"S":"Note"},"Tenant":{"S":"a"},"Id":{"N":"4"},"m":{"L":[{"N":"1"}]}}');
SELECT problem FROM dyn_check_entities('notes');

-- views
SELECT dyn_create_entity_view('notes', 'Note', 'note');
\d note
SELECT * FROM note ORDER BY "Id";
UPDATE note SET "Text" = 'crimson' WHERE "Id" = 1;
SELECT item->'m' AS unchanged FROM notes WHERE sk = 'NOTE#001';
UPDATE note SET "Meaning" = '{0.1,1e-7,3}' WHERE "Id" = 1;
INSERT INTO note ("Tenant", "Id", "Meaning") VALUES ('b', 1, '[5:7]={1,2,3}'), ('b', 2, NULL);
SELECT item->'m' AS m FROM notes ORDER BY pk, sk;
UPDATE note SET "Meaning" = '{1,2}' WHERE "Id" = 1;
UPDATE note SET "Meaning" = '{}' WHERE "Id" = 1;
UPDATE note SET "Meaning" = '{1,NULL,3}' WHERE "Id" = 1;
UPDATE note SET "Meaning" = '{{1,2,3}}' WHERE "Id" = 1;
UPDATE note SET "Meaning" = '{1,NaN,3}' WHERE "Id" = 1;
-- a declaration of other dimensions
SELECT declare('VECTOR(2)');
UPDATE note SET "Text" = 'red' WHERE "Id" = 1;
SELECT problem FROM dyn_check_entities('notes');
SELECT dyn_create_entity_view('notes', 'Note', 'note');
SELECT "Id", "Meaning" FROM note ORDER BY 1;
SELECT declare('VECTOR(3)');
SELECT dyn_create_entity_view('notes', 'Note', 'note');

-- values
SELECT dyn_to_value('{1,2,3}'::real[], 'VECTOR(3)'), dyn_to_value('{1,2,3}'::int[], 'VECTOR(3)');
SELECT dyn_to_value('{1,2}'::real[], 'VECTOR(3)');
SELECT dyn_to_value('[1,2,3]'::text, 'VECTOR(3)');
SELECT dynamo_internal.attribute('{"m":{"L":[{"N":"1"},{"N":"2"}]}}', 'm', t, NULL::numeric[]) FROM unnest('{VECTOR(2),VECTOR(1),L}'::text[]) t;
SELECT dynamo_internal.attribute('{"m":{"L":[{"N":"1"},{"N":"2"}]}}', 'm', 'VECTOR(2)', NULL::text);

-- an ordinary table
SELECT count(*) AS columns FROM dyn_detach('notes', 'columns') d WHERE d ~ 'ADD COLUMN m real\[\]';
SELECT pk, sk, m, item FROM notes ORDER BY pk, sk;
SELECT * FROM note ORDER BY "Tenant", "Id";
