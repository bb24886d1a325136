-- Verifying both ways, and going on after changes (M27)
\pset format unaligned
SET client_min_messages = warning;
CREATE SCHEMA vf;
CREATE TABLE vf.t (id int PRIMARY KEY, v text, n int);
INSERT INTO vf.t SELECT i, 'v' || i, i FROM generate_series(1, 2500) i;
SELECT dyn_create_table('vft', 'pk S', 'sk S');
SELECT dyn_create_entity('vft', 'T', '{"pk": "T#<Id>", "sk": "#"}',
	'{"Id": {"type": "N integer"}, "V": {"type": "S text"}, "N": {"type": "N integer", "stored": "n"}}');
SELECT dyn_create_migration('vft', 'vf', '[{"entity": "T", "from": "vf.t", "where": "n > 0"}]');
SELECT count(*) FROM dyn_verify_migration('vf');
CALL dyn_migrate('vf');
SET client_min_messages = notice;
SELECT * FROM dyn_verify_migration('vf');
-- what is missing, different, or not made by any row
SELECT dyn_delete('vft', '{"pk": {"S": "T#7"}, "sk": {"S": "#"}}');
SELECT dyn_update('vft', '{"pk": {"S": "T#8"}, "sk": {"S": "#"}}', 'SET V = :v, extra = :v REMOVE n', vals => '{":v": {"S": "other"}}');
SELECT dyn_put('vft', '{"pk": {"S": "T#9999"}, "sk": {"S": "#"}, "Type": {"S": "T"}, "Id": {"N": "9999"}}');
SELECT dyn_put('vft', '{"pk": {"S": "X"}, "sk": {"S": "not of the entity"}}');
UPDATE vf.t SET n = -1 WHERE id = 9;
SELECT * FROM dyn_verify_migration('vf') ORDER BY key::text;
-- it does not depend on memory
SET work_mem = '64kB';
SELECT count(*) FROM dyn_verify_migration('vf');
RESET work_mem;
-- migrated again: what is not made by a row stays
CALL dyn_migrate('vf', batch_size => 100);
SELECT * FROM dyn_verify_migration('vf') ORDER BY key::text;
-- one snapshot, whatever others do, and one's own changes are seen
BEGIN ISOLATION LEVEL REPEATABLE READ;
DELETE FROM vf.t WHERE id = 10;
SELECT * FROM dyn_verify_migration('vf') WHERE key ->> 'pk' = 'T#10';
ROLLBACK;
-- a call site that outlives its transaction, as the check of a domain does in a variable, has nothing of the one before
CREATE TYPE vf.pair AS (a int, b int);
CREATE DOMAIN vf.checked AS vf.pair CHECK (dynamo_internal.migration_key('vf', '{"pk": {"S": "x"}, "sk": {"S": "y"}}'::dyn_item, false) IS NULL);
CREATE PROCEDURE vf.outlives() LANGUAGE plpgsql AS $$
DECLARE
	variable vf.checked := row(1, 2);
BEGIN
	variable.a := 3;
	PERFORM dyn_drop_migration('vf');
	COMMIT;
	variable.a := 4;
END $$;
CALL vf.outlives();
DROP TABLE vft;
SELECT * FROM dyn_verify_migration('vf');
DROP SCHEMA vf CASCADE;
