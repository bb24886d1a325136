-- Columns of users, whichever store writes: defaults, identity and generated columns, domains, columns that may not be NULL.
\pset null NULL
\set SHOW_CONTEXT never
SELECT dyn_create_table('app', 'pk S', 'sk N', global_indexes => '{"GSI1": {"partition_key": "g S"}}');
CREATE FUNCTION key(sk int) RETURNS dyn_item LANGUAGE sql RETURN jsonb_build_object('pk', 'a', 'sk', sk)::dyn_item;
CREATE FUNCTION put(sk int, VARIADIC attributes text[] DEFAULT '{}') RETURNS dyn_item LANGUAGE sql RETURN dyn_put('app',
	(key(sk)::jsonb || jsonb_object(attributes))::dyn_item);
CREATE FUNCTION set_to(sk int, attribute text, val text) RETURNS dyn_item LANGUAGE sql
	RETURN dyn_update('app', key(sk), 'SET #a = :v', names => jsonb_build_object('#a', attribute), vals => jsonb_build_object(':v', val),
		return_values => 'ALL_NEW');

-- an insert takes defaults, a replacement leaves columns as they are; a row that was there has the default of its time
SELECT put(1);
CREATE SEQUENCE numbers;
ALTER TABLE app ADD COLUMN gone text DEFAULT 'gone', ADD COLUMN id int GENERATED ALWAYS AS IDENTITY, ADD COLUMN made text NOT NULL DEFAULT 'then',
	ADD COLUMN number int DEFAULT nextval('numbers') * 10, ADD COLUMN maker name DEFAULT current_user, ADD COLUMN empty int;
ALTER TABLE app DROP COLUMN gone, ALTER made SET DEFAULT 'now';
SELECT put(2);
SELECT put(2, 'x', 'y');
SELECT set_to(1, 'x', 'y'), set_to(3, 'x', 'y');
SELECT dyn_batch_write('app', '[{"pk":{"S":"a"},"sk":{"N":"4"}},{"pk":{"S":"a"},"sk":{"N":"2"}}]', NULL);
UPDATE app SET made = 'by hand', empty = 1 WHERE sk = 3;
SELECT set_to(3, 'x', 'z');
SELECT dyn_transact('[{"Put": {"TableName": "app", "Item": {"pk":{"S":"a"},"sk":{"N":"5"}}}}, {"Put": {"TableName": "app",
	"Item": {"pk":{"S":"a"},"sk":{"N":"3"},"x":{"S":"put"}}}}]');
SELECT written FROM dyn_import_lines('app', '{"pk":{"S":"a"},"sk":{"N":"6"}}');
SELECT sk, item ->> 'x' AS x, id, made, number, maker = current_user AS maker, empty FROM app ORDER BY sk;
-- a default that fails
ALTER TABLE app ALTER empty SET DEFAULT 1 / (nextval('numbers') - nextval('numbers') + 1);
SELECT put(7);
SELECT put(1);
ALTER TABLE app ALTER empty DROP DEFAULT, DROP COLUMN maker;

-- a default of a column that is derived does not stand in for an attribute that the item does not have
ALTER TABLE app ALTER g SET DEFAULT 'no group';
SELECT put(9), put(10, 'g', 'mine'), put(9, 'x', 'y');
SELECT set_to(11, 'x', 'y');
SELECT dyn_batch_write('app', '[{"pk":{"S":"a"},"sk":{"N":"12"}},{"pk":{"S":"a"},"sk":{"N":"13"}}]', NULL);
SELECT sk, g FROM app WHERE sk > 8 ORDER BY sk;
SELECT * FROM dyn_check_table('app');
DELETE FROM app WHERE sk > 8;
ALTER TABLE app ALTER g DROP DEFAULT;

-- generated columns are of the item that is stored
ALTER TABLE app ADD COLUMN x text GENERATED ALWAYS AS (item ->> 'x') STORED, ADD COLUMN whole text GENERATED ALWAYS AS (pk || '/' || (item ->> 'y')) STORED,
	ADD COLUMN pages int GENERATED ALWAYS AS (100 / (item ->> 'n')::int) STORED;
SELECT put(1, 'x', 'one', 'y', '1', 'n', '7');
SELECT put(1, 'x', 'two', 'y', '1', 'n', '5');
SELECT put(1, 'x', 'three', 'n', '0');
SELECT dyn_update('app', key(1), 'REMOVE x SET y = :y', vals => '{":y":{"S":"2"}}', return_values => 'ALL_NEW');
SELECT set_to(2, 'n', 'none');
CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.item := dyn_apply(NEW.item, 'SET x = :x', vals => '{":x":{"S":"by a trigger"}}');
	NEW.made := TG_OP;
	NEW.x := 'not this';
	RETURN NEW;
END $$;
CREATE TRIGGER change BEFORE INSERT OR UPDATE ON app FOR EACH ROW EXECUTE FUNCTION change();
SELECT put(2, 'n', '3');
SELECT put(8);
SELECT dyn_delete('app', key(6), return_values => 'ALL_OLD');
SELECT sk, x, whole, pages, made, id FROM app ORDER BY sk;
DROP TRIGGER change ON app;
-- triggers of a column that is generated fire when the item is updated
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE '% % %: % => %', TG_NAME, TG_WHEN, TG_OP, OLD.x, NEW.x; RETURN NEW; END $$;
CREATE TRIGGER of_x AFTER UPDATE OF x ON app FOR EACH ROW EXECUTE FUNCTION tell();
CREATE TRIGGER of_made AFTER UPDATE OF made ON app FOR EACH ROW EXECUTE FUNCTION tell();
CREATE TRIGGER changed AFTER UPDATE ON app FOR EACH ROW WHEN (OLD.x IS DISTINCT FROM NEW.x) EXECUTE FUNCTION tell();
SELECT set_to(8, 'x', 'other');
SELECT set_to(8, 'y', 'other');
DROP TRIGGER of_x ON app;
DROP TRIGGER of_made ON app;
DROP TRIGGER changed ON app;

-- columns that may not be NULL, domains
DELETE FROM app WHERE x IS NULL;
ALTER TABLE app ALTER x SET NOT NULL;
SELECT put(1);
SELECT put(1, 'x', 'is set');
SELECT dyn_update('app', key(1), 'REMOVE x');
CREATE DOMAIN small AS int CHECK (VALUE < 100);
ALTER TABLE app ALTER x DROP NOT NULL, ADD COLUMN bounded small DEFAULT nextval('numbers');
SELECT put(2);
SELECT setval('numbers', 98);
SELECT put(3), put(3);
SELECT put(4);
SELECT put(3, 'replaced', 'yes');
ALTER TABLE app DROP COLUMN bounded, DROP COLUMN number, ADD COLUMN needed int NOT NULL DEFAULT 1;
ALTER TABLE app ALTER needed DROP DEFAULT;
SELECT put(5);
SELECT put(3, 'replaced', 'again');
SELECT dyn_update('app', key(5), 'SET x = :x', vals => '{":x":{"S":"x"}}');
SELECT sk, item, needed FROM app ORDER BY sk;

-- a type with a default of its own
SET client_min_messages = warning;
CREATE TYPE seven;
CREATE FUNCTION seven_in(cstring) RETURNS seven LANGUAGE internal IMMUTABLE STRICT AS 'int4in';
CREATE FUNCTION seven_out(seven) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'int4out';
CREATE TYPE seven (INPUT = seven_in, OUTPUT = seven_out, LIKE = int4, DEFAULT = '7');
ALTER TABLE app DROP COLUMN needed, ADD COLUMN of_type seven;
SELECT put(6);
SELECT sk, of_type FROM app WHERE sk IN (3, 6) ORDER BY sk;

DROP TABLE app;
DROP TYPE seven CASCADE;
RESET client_min_messages;
DROP DOMAIN small;
DROP SEQUENCE numbers;
DROP FUNCTION key, put, set_to, change, tell;
