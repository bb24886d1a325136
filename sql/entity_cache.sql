-- Declarations, and definitions of entities' items, which views have, are kept parsed: none is taken for another, and they must not pile up.
CREATE FUNCTION kept() RETURNS bigint AS $$ SELECT count(*) FROM pg_backend_memory_contexts WHERE name = 'dynamo_table member' $$ LANGUAGE sql;
SELECT dyn_create_table('cached', 'pk S', 'sk S');
SELECT dyn_create_entity('cached', 'Note', '{"pk": "OWNER#<Owner>", "sk": "NOTE#<Id:05>"}', '{"Owner": "S uuid", "Id": "N integer", "Text": "S text"}', 'Type');
SELECT dyn_create_entity_view('cached', 'Note', 'notes');
INSERT INTO notes SELECT '00000000-0000-0000-0000-00000000000a', i, 'text' FROM generate_series(1, 3) i;

-- in a new session a view's definitions, one for each key and one of all, are read once, whatever is done with it
\c
SELECT "Text" FROM notes WHERE "Owner" = '00000000-0000-0000-0000-00000000000a' AND "Id" = 2;
UPDATE notes SET "Text" = 'one' WHERE "Owner" = '00000000-0000-0000-0000-00000000000a' AND "Id" = 1;
UPDATE notes SET "Text" = 'two' WHERE "Id" = 2;
DELETE FROM notes WHERE "Id" = 3;
SELECT kept();
SELECT "Id", "Text" FROM notes ORDER BY "Id";

-- a view that is made again has other definitions, and is judged by them
SELECT dyn_create_entity('cached', 'Note', '{"pk": "OWNER#<Owner>", "sk": "MEMO#<Id:05>"}', '{"Owner": "S uuid", "Id": "N integer", "Text": "S text"}', 'Type');
SELECT dyn_create_entity_view('cached', 'Note', 'notes');
SELECT count(*) FROM notes;
INSERT INTO notes VALUES ('00000000-0000-0000-0000-00000000000a', 7, 'seven');
SELECT "Id", "Text" FROM notes;

-- more than are kept, also while those that have fallen out are in use: 256, and the two of the view that the session has written to
CREATE FUNCTION ours(i int) RETURNS text AS $$ SELECT format('{"entity": "e", "keys": {"pk": "A%s#<a>"}, "attributes": {"a": "N"}}', i) $$ LANGUAGE sql;
SELECT count(*), bool_and(dynamo_internal.is_entity(format('{"pk":{"S":"A%s#1"},"a":{"N":"1"}}', i)::dyn_item, ours(i), 0)),
	bool_or(dynamo_internal.is_entity(format('{"pk":{"S":"A%s#1"},"a":{"N":"1"}}', i)::dyn_item, ours(i + 1), 0)) FROM generate_series(1, 300) i;
SELECT count(*) FROM notes, generate_series(1, 300) i WHERE dynamo_internal.is_entity('{"pk":{"S":"A0#1"},"a":{"N":"1"}}', ours(0), 0)
	AND NOT dynamo_internal.is_entity('{"pk":{"S":"A0#1"},"a":{"N":"1"}}', ours(i), 0);
SELECT kept();
-- an error keeps nothing
SELECT dynamo_internal.is_entity('{"pk":{"S":"A"}}', '{"entity": "e", "keys": {"pk": "<b>"}, "attributes": {"a": "N"}}', 0);
SELECT dynamo_internal.is_entity('{"pk":{"S":"A"}}', '{"entity": "e", "keys": {"pk": "<b>"}, "attributes": {"a": "N"}}', 0);
SELECT kept();

-- what somebody writes himself may be another thing by another search_path, and is read each time
CREATE SCHEMA elsewhere;
CREATE DOMAIN elsewhere.uuid AS text;
\set definition '{"entity":"e","keys":{"pk":"A#<a>"},"attributes":{"a":"S uuid"}}'
\set item '{"pk":{"S":"A#x"},"a":{"S":"x"}}'
SELECT dynamo_internal.is_entity(:'item', :'definition', 0);
BEGIN;
SET LOCAL search_path = elsewhere, pg_catalog, public;
SELECT dynamo_internal.is_entity(:'item', :'definition', 0);
ROLLBACK;
SELECT dynamo_internal.is_entity(:'item', :'definition', 0);
SELECT kept();

-- declarations of a table are read when they are asked for, once, until one of them changes
\c
CREATE FUNCTION parsed() RETURNS bigint AS $$ SELECT count(*) FROM pg_backend_memory_contexts WHERE name = 'dynamo_table declaration' $$ LANGUAGE sql;
SELECT dyn_create_access_pattern('cached', 'note', 'GetItem', '{"Key": {"pk": {"S": "OWNER#<owner>"}, "sk": {"S": "MEMO#<id:05>"}}}');
SELECT dyn_create_access_pattern('cached', 'notes', 'Query',
	'{"KeyConditionExpression": "pk = :pk", "ExpressionAttributeValues": {":pk": {"S": "OWNER#<owner>"}}}');
\set parameters '{"owner": {"S": "00000000-0000-0000-0000-00000000000a"}, "id": {"N": "7"}}'
SELECT parsed();
SELECT n, dyn_run_access_pattern('cached', 'note', :'parameters')->>'Text' AS text FROM generate_series(1, 3) n;
SELECT parsed();
SELECT dyn_get_entity('cached', 'Note', '{"Owner": {"S": "00000000-0000-0000-0000-00000000000a"}, "Id": {"N": "7"}}')->>'Text' AS text
	FROM generate_series(1, 2);
SELECT parsed();
SELECT dyn_drop_access_pattern('cached', 'notes');
SELECT dyn_run_access_pattern('cached', 'note', :'parameters')->>'Text' AS text;
SELECT parsed();
-- what a transaction has declared is gone with it
BEGIN;
SELECT dyn_create_access_pattern('cached', 'note', 'GetItem', '{"Key": {"pk": {"S": "OWNER#<owner>"}, "sk": {"S": "MEMO#00008"}}}');
SELECT dyn_run_access_pattern('cached', 'note', '{"owner": {"S": "00000000-0000-0000-0000-00000000000a"}}')->>'Text' AS text;
ROLLBACK;
SELECT dyn_run_access_pattern('cached', 'note', :'parameters')->>'Text' AS text;

DROP SCHEMA elsewhere CASCADE;
DROP FUNCTION kept(), parsed(), ours(int);
DROP VIEW notes;
SELECT dyn_drop_table('cached');
