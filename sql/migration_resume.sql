-- Runs that were interrupted: gone on with as long as they would make the same items, and else begun anew (M27)
\pset format unaligned
SET client_min_messages = warning;
CREATE SCHEMA mr;
CREATE TABLE mr.rows (id int PRIMARY KEY, v text);
INSERT INTO mr.rows SELECT i, 'v' || i FROM generate_series(1, 20) i;
SELECT dyn_create_table('mrt', 'pk S', 'sk S');
SELECT dyn_create_entity('mrt', 'Row', '{"pk": "ROW#<Id>", "sk": "#"}', '{"Id": {"type": "N integer"}, "V": {"type": "S text"}}');
SELECT dyn_create_migration('mrt', 'mr', '[{"entity": "Row", "from": "mr.rows"}]');
CREATE FUNCTION mr.stop() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF new.pk = 'ROW#11' THEN RAISE EXCEPTION 'stop' USING errcode =
	'io_error'; END IF; RETURN new; END $$;
CREATE TRIGGER stop BEFORE INSERT ON mrt FOR EACH ROW EXECUTE FUNCTION mr.stop();
\set VERBOSITY terse
CALL dyn_migrate('mr', batch_size => 5);
-- goes on: what was changed behind it is not seen
UPDATE mr.rows SET v = 'changed' WHERE id = 2;
ALTER TABLE mrt DISABLE TRIGGER stop;
CALL dyn_migrate('mr', batch_size => 5);
SELECT source_row, difference FROM dyn_verify_migration('mr');
-- the entity was declared again
DELETE FROM mrt;
ALTER TABLE mrt ENABLE TRIGGER stop;
CALL dyn_migrate('mr', batch_size => 5);
SELECT dyn_create_entity('mrt', 'Row', '{"pk": "ROW#<Id>", "sk": "#X"}', '{"Id": {"type": "N integer"}, "V": {"type": "S text"}}');
ALTER TABLE mrt DISABLE TRIGGER stop;
CALL dyn_migrate('mr', batch_size => 5);
SELECT difference, count(*) FROM dyn_verify_migration('mr') GROUP BY 1;
-- following was begun in between, so nobody has followed what was changed before
DELETE FROM mrt;
ALTER TABLE mrt ENABLE TRIGGER stop;
CALL dyn_migrate('mr', batch_size => 5);
UPDATE mr.rows SET v = 'changed again' WHERE id = 3;
SELECT dyn_follow_migration('mr');
ALTER TABLE mrt DISABLE TRIGGER stop;
CALL dyn_migrate('mr', batch_size => 5);
SELECT source_row, difference FROM dyn_verify_migration('mr');
SELECT dyn_follow_migration('mr', enabled => false);
-- functions that refuse a row, with long messages
CREATE FUNCTION mr.checked(text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN IF length($1) > 100 THEN RAISE EXCEPTION 'too long: %',
	$1; END IF; RETURN $1; END $$;
INSERT INTO mr.rows VALUES (21, repeat('long', 100000));
SELECT dyn_create_migration('mrt', 'mr', '[{"entity": "Row", "from": "mr.rows", "attributes": {"V": "mr.checked(v)"}}]');
CALL dyn_migrate('mr');
SELECT what, source_row, length(problem), right(problem, 9) FROM dyn_job_problems WHERE name = 'mr';
SELECT source_row, left(difference, 20) FROM dyn_verify_migration('mr');
DROP TABLE mrt;
DROP SCHEMA mr CASCADE;
