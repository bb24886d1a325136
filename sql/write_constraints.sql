-- Constraints of users hold for calls, whichever store writes: foreign keys from and to the table, checks, exclusion constraints.
\pset format unaligned
\pset tuples_only on
\set SHOW_CONTEXT never
SELECT dyn_create_table('app', 'pk S', 'sk N', global_indexes => '{"GSI1": {"partition_key": "g S"}}');
CREATE FUNCTION key(sk int) RETURNS dyn_item LANGUAGE sql RETURN jsonb_build_object('pk', 'a', 'sk', sk)::dyn_item;
CREATE FUNCTION put(sk int, VARIADIC attributes text[] DEFAULT '{}') RETURNS dyn_item LANGUAGE sql RETURN dyn_put('app',
	(key(sk)::jsonb || jsonb_object(attributes))::dyn_item);
CREATE FUNCTION set_to(sk int, attribute text, val text) RETURNS dyn_item LANGUAGE sql
	RETURN dyn_update('app', key(sk), 'SET #a = :v', names => jsonb_build_object('#a', attribute), vals => jsonb_build_object(':v', val),
		return_values => 'ALL_NEW');

-- a column that is derived for an index refers to another table
CREATE TABLE groups (id text COLLATE "C" PRIMARY KEY);
INSERT INTO groups VALUES ('g1'), ('g2');
ALTER TABLE app ADD CONSTRAINT known_group FOREIGN KEY (g) REFERENCES groups;
SELECT put(1, 'g', 'g1'), put(2);
SELECT put(3, 'g', 'g3');
SELECT set_to(2, 'g', 'g3');
SELECT set_to(2, 'g', 'g2');
SELECT dyn_batch_write('app', '[{"pk":{"S":"a"},"sk":{"N":"4"},"g":{"S":"g1"}},{"pk":{"S":"a"},"sk":{"N":"5"},"g":{"S":"g5"}}]', NULL);
SELECT dyn_transact('[{"Put": {"TableName": "app", "Item": {"pk":{"S":"a"},"sk":{"N":"4"},"g":{"S":"g4"}}}}, {"Delete": {"TableName": "app",
	"Key": {"pk":{"S":"a"},"sk":{"N":"1"}}}}]');
SELECT dyn_import_lines('app', '{"pk":{"S":"a"},"sk":{"N":"4"},"g":{"S":"g4"}}');
SET client_min_messages = error;
CALL dyn_backfill('app', 'SET g = :v', 'sk > :n', vals => '{":v":{"S":"g4"},":n":{"N":"1"}}');
RESET client_min_messages;
DELETE FROM groups WHERE id = 'g1';
SELECT item FROM app ORDER BY sk;
-- deferred: at the end of the transaction
ALTER TABLE app ALTER CONSTRAINT known_group DEFERRABLE INITIALLY DEFERRED;
BEGIN;
SELECT put(3, 'g', 'g3');
INSERT INTO groups VALUES ('g3');
COMMIT;
BEGIN;
SELECT put(4, 'g', 'g4');
SELECT dyn_delete('app', key(4));
SELECT put(4, 'g', 'g4');
COMMIT;
-- what the key refers to is deleted with what refers to it
ALTER TABLE app DROP CONSTRAINT known_group, ADD COLUMN parent text GENERATED ALWAYS AS (item ->> 'parent') STORED REFERENCES groups ON DELETE CASCADE;
SELECT put(5, 'parent', 'g1'), put(6, 'parent', 'g2');
SELECT put(7, 'parent', 'g7');
SELECT set_to(6, 'parent', 'g1');
DELETE FROM groups WHERE id = 'g1';
SELECT item FROM app ORDER BY sk;
ALTER TABLE app DROP COLUMN parent;

-- other tables refer to the table
CREATE TABLE follows (n int, pk text COLLATE "C", sk numeric, FOREIGN KEY (pk, sk) REFERENCES app ON DELETE CASCADE);
CREATE TABLE forgets (n int, pk text COLLATE "C", sk numeric, FOREIGN KEY (pk, sk) REFERENCES app ON DELETE SET NULL);
CREATE TABLE holds (n int, pk text COLLATE "C", sk numeric, CONSTRAINT held FOREIGN KEY (pk, sk) REFERENCES app DEFERRABLE INITIALLY DEFERRED);
-- with triggers of its own
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE '% of %: %', TG_OP, TG_TABLE_NAME, OLD; RETURN NULL; END $$;
CREATE TRIGGER tell AFTER DELETE ON follows FOR EACH ROW EXECUTE FUNCTION tell();
CREATE TRIGGER tell AFTER UPDATE ON forgets FOR EACH ROW EXECUTE FUNCTION tell();
SELECT put(11), put(12), put(13);
INSERT INTO follows VALUES (1, 'a', 11), (2, 'a', 12), (3, 'a', 12);
INSERT INTO forgets VALUES (1, 'a', 11), (2, 'a', 12);
INSERT INTO holds VALUES (1, 'a', 13);
SELECT dyn_delete('app', key(11), return_values => 'ALL_OLD');
SELECT dyn_batch_write('app', NULL, '[{"pk":{"S":"a"},"sk":{"N":"12"}},{"pk":{"S":"a"},"sk":{"N":"99"}}]');
TABLE follows;
TABLE forgets;
SELECT dyn_delete('app', key(13));
SELECT dyn_transact('[{"Delete": {"TableName": "app", "Key": {"pk":{"S":"a"},"sk":{"N":"13"}}}}]');
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"13"},"replaced":{"BOOL":true}}', return_values => 'ALL_OLD');
BEGIN;
SELECT dyn_delete('app', key(13));
DELETE FROM holds;
COMMIT;
BEGIN;
SELECT put(13);
INSERT INTO holds VALUES (1, 'a', 13);
SELECT dyn_delete('app', key(13));
SELECT put(13, 'again', 'yes');
COMMIT;
SELECT dyn_get('app', key(13));
DROP TABLE follows, forgets, holds;
DELETE FROM app;

-- checks, which may fail to be evaluated at all
CREATE FUNCTION number(item dyn_item, name text) RETURNS int IMMUTABLE LANGUAGE sql RETURN (item ->> name)::int;
ALTER TABLE app ADD CONSTRAINT few CHECK (number(item, 'n') < 5), ADD CONSTRAINT one_of CHECK (g IN ('x', 'y'));
SELECT put(1, 'n', '1', 'g', 'x'), put(2, 'n', '4'), put(3);
SELECT put(1, 'n', '5');
SELECT put(1, 'g', 'z');
SELECT put(1, 'n', 'many');
SELECT put(1, 'n', '7', 'g', 'z');
SELECT dyn_update('app', key(2), 'SET n = :v', vals => '{":v":{"N":"5"}}');
SELECT dyn_update('app', key(4), 'SET n = :v', vals => '{":v":{"N":"5"}}');
SELECT dyn_batch_write('app', '[{"pk":{"S":"a"},"sk":{"N":"1"},"n":{"N":"2"}},{"pk":{"S":"a"},"sk":{"N":"2"},"n":{"N":"6"}}]',
	'[{"pk":{"S":"a"},"sk":{"N":"3"}}]');
SELECT dyn_import_lines('app', e'{"pk":{"S":"a"},"sk":{"N":"1"},"n":{"N":"3"}}\n{"pk":{"S":"a"},"sk":{"N":"2"},"n":{"N":"6"}}', on_error => 'skip');
SET client_min_messages = error;
CALL dyn_backfill('app', 'ADD n :v', 'pk = :a', vals => '{":v":{"N":"1"},":a":{"S":"a"}}');
RESET client_min_messages;
SELECT item FROM app ORDER BY sk;
-- one that is not valid holds for what is written
ALTER TABLE app DROP CONSTRAINT few, ADD CONSTRAINT few CHECK (number(item, 'n') < 4) NOT VALID;
SELECT dyn_update('app', key(2), 'SET note = :v', vals => '{":v":{"N":"1"}}');
SELECT dyn_update('app', key(2), 'SET n = :v', vals => '{":v":{"N":"3"}}', return_values => 'ALL_NEW');
ALTER TABLE app DROP CONSTRAINT few, DROP CONSTRAINT one_of;
DELETE FROM app;

-- exclusion constraints: at once, for a part of the rows, deferred
ALTER TABLE app ADD CONSTRAINT apart EXCLUDE USING gist (int4range(number(item, 'a'), number(item, 'b')) WITH &&) WHERE (sk < 10);
SELECT put(1, 'a', '1', 'b', '4'), put(2, 'a', '4', 'b', '6'), put(11, 'a', '1', 'b', '9');
SELECT put(3, 'a', '3', 'b', '5');
SELECT put(1, 'a', '1', 'b', '2');
SELECT set_to(1, 'b', '5');
SELECT set_to(1, 'b', '3');
SELECT put(3, 'a', '3', 'b', '4');
SELECT dyn_batch_write('app', '[{"pk":{"S":"a"},"sk":{"N":"4"},"a":{"N":"20"},"b":{"N":"25"}},{"pk":{"S":"a"},"sk":{"N":"5"},"a":{"N":"24"},"b":{"N":"30"}}]',
	NULL);
SELECT dyn_transact('[{"Delete": {"TableName": "app", "Key": {"pk":{"S":"a"},"sk":{"N":"1"}}}}, {"Put": {"TableName": "app",
	"Item": {"pk":{"S":"a"},"sk":{"N":"6"},"a":{"N":"1"},"b":{"N":"3"}}}}]');
ALTER TABLE app DROP CONSTRAINT apart, ADD CONSTRAINT apart EXCLUDE USING hash (g WITH =) DEFERRABLE INITIALLY DEFERRED;
SELECT put(1, 'g', 'x');
SELECT put(2, 'g', 'x');
BEGIN;
SELECT put(2, 'g', 'x');
SELECT set_to(1, 'g', 'y');
COMMIT;
BEGIN;
SELECT set_to(1, 'g', 'x');
SET CONSTRAINTS apart IMMEDIATE;
COMMIT;
SELECT item FROM app ORDER BY sk;

DROP TABLE app, groups;
DROP FUNCTION put, set_to, key, number, tell;
