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

-- dyn_detach(): vector indexes go, and the plan says what does the same with pgvector
SET client_min_messages = warning;
CREATE TABLE copy AS SELECT item FROM notes;
CREATE FUNCTION plan(format text, dry_run boolean DEFAULT false) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT d FROM dyn_detach('notes', format, dry_run) d WHERE d ~ '^-- (Refused|Vector|An index)|^DROP (MAT|TRIGGER "~dynamo_v)' $$;
-- with the statement that the plan names
CREATE FUNCTION plan_and_index(format text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN SELECT plan(format) LOOP
		RETURN NEXT line;
		IF line ~ 'CREATE INDEX' THEN
			EXECUTE regexp_replace(line, '^.*(CREATE INDEX) CONCURRENTLY', '\1');
		END IF;
	END LOOP;
	RETURN QUERY SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'notes'::regclass AND NOT indisprimary;
END $$;
CALL dyn_create_vector_index('notes', 'ap"prox', 'm', 3, 'EUCLIDEAN', 'hnsw', filters => '{Text S}');
SELECT plan('columns', true);
SELECT count(*) FROM dyn_search('notes', 'ap"prox', '{1,0,0}', 10);
-- what others make of the entries stays in the way
CREATE VIEW mine AS SELECT count(*) FROM notes_near;
SELECT plan('columns');
DROP VIEW mine;
-- an index in the making, and a trigger of the table that names a relation of another owner
BEGIN;
SELECT dyn_request('UpdateTable', '{"TableName": "notes", "VectorIndexUpdates": [{"Create": {"IndexName": "later", "VectorAttribute": {"AttributeName": "m"},
	"Projection": {"ProjectionType": "ALL"}, "Dimensions": 3, "DistanceFunction": "DOT_PRODUCT"}}]}') -> 'TableDescription' ->> 'TableStatus' AS status;
SELECT plan('columns');
ROLLBACK;
BEGIN;
CREATE TABLE others (i int);
CREATE CONSTRAINT TRIGGER "~dynamo_vector_x" AFTER DELETE ON notes FROM others FOR EACH ROW EXECUTE FUNCTION
	dynamo_internal.keep_vectors('{"name": "x", "attribute": "x", "dimensions": 2001, "distance": "COSINE", "method": "exact", "projection": "ALL"}');
SELECT plan('jsonb', true);
DROP VIEW note;
SELECT count(*) FROM plan('jsonb');
SELECT tgname FROM pg_trigger WHERE tgrelid = 'notes'::regclass;
ROLLBACK;

SELECT plan_and_index('columns');
SELECT relname, relkind FROM pg_class WHERE relnamespace = 'vector_models'::regnamespace AND relname LIKE 'note%' ORDER BY relname COLLATE "C";
SELECT tgname FROM pg_trigger WHERE tgrelid = 'notes'::regclass;
SELECT m, item FROM notes ORDER BY pk, sk;
SELECT * FROM note ORDER BY "Tenant", "Id";
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT pk, sk FROM notes ORDER BY (m::"Types".vector(3)) OPERATOR("Types".<->) '[1,0,0]' LIMIT 1;
SELECT pk, sk FROM notes ORDER BY (m::"Types".vector(3)) OPERATOR("Types".<->) '[1,0,0]' LIMIT 1;
RESET enable_seqscan;

-- in other forms: an array, JSON, what no column has
CREATE PROCEDURE make(type text) LANGUAGE plpgsql AS $$
BEGIN
	DROP TABLE notes CASCADE;
	PERFORM dyn_create_table('notes', 'pk S', 'sk S');
	PERFORM declare(type);
	INSERT INTO notes (item) SELECT item FROM copy;
END $$;
CALL make('VECTOR(3)');
CALL dyn_create_vector_index('notes', 'near', 'm', 3, 'DOT_PRODUCT', 'hnsw');
SELECT plan_and_index('columns');
CALL make('L');
CALL dyn_create_vector_index('notes', 'near', 'm', 3, method => 'hnsw');
SELECT plan_and_index('columns');
CALL make('L');
CALL dyn_create_vector_index('notes', 'near', 'm', 3, method => 'hnsw');
SELECT plan_and_index('jsonb');
CALL make('L');
CALL dyn_create_vector_index('notes', 'near', 'm', 3, method => 'hnsw');
CALL dyn_create_vector_index('notes', 'large', 'm''s', 2001, method => 'hnsw');
SELECT plan('jsonb', true);
SELECT plan_and_index('dynamodb');
-- a migration of relational rows with vectors
CREATE SCHEMA shop;
CREATE TABLE shop.product (id int PRIMARY KEY, name text, e "Types".vector(3), any_size "Types".vector);
INSERT INTO shop.product VALUES (1, 'red', '[1,0,0.5]', '[1]'), (2, 'blue', '[0,0,1]', NULL), (3, 'none', NULL, NULL);
DO $$
DECLARE
	statement text;
BEGIN
	FOR statement IN SELECT dyn_propose_migration('vector_models.products', '{shop.*}') LOOP
		EXECUTE statement;
	END LOOP;
END $$;
SELECT attributes FROM dyn_entities('products');
CALL dyn_migrate('products');
SELECT item->'e' AS e, item->'any_size' AS any_size FROM products ORDER BY item->>'id';
CALL dyn_create_vector_index('products', 'near', 'e', 3);
SELECT item->>'name' AS name FROM dyn_search('products', 'near', '{0,0,1}');
DROP SCHEMA shop CASCADE;
\set ECHO none
DROP SCHEMA vector_models CASCADE;
DROP EXTENSION vector;
DROP SCHEMA "Types";
