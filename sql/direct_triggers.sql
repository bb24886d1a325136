-- Which store writes a table with more than its own: a function that runs within the write has a statement in its context, or none.
\pset format unaligned
\pset tuples_only on
\set SHOW_CONTEXT never
SET dynamo_table.direct_store = on;
CREATE FUNCTION store() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	context text;
BEGIN
	GET DIAGNOSTICS context = PG_CONTEXT;
	RETURN CASE WHEN context ~ 'SQL statement "[^"]*(INSERT|UPDATE|DELETE)' THEN 'sql' ELSE 'direct' END;
END $$;
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE '% % % by %', TG_WHEN, TG_LEVEL, TG_OP, store();
	RETURN coalesce(NEW, OLD);
END $$;
CREATE FUNCTION tell_rows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE '% by %: %', TG_OP, store(), (SELECT string_agg(item::text, ' ') FROM new_rows);
	RETURN NULL;
END $$;
SELECT dyn_create_table('app', 'pk S', global_indexes => '{"GSI1": {"partition_key": "g S"}}');
CREATE FUNCTION calls() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM dyn_put('app', '{"pk":{"S":"a"},"g":{"S":"x"}}');
	PERFORM dyn_put('app', '{"pk":{"S":"a"},"g":{"S":"y"}}');
	PERFORM dyn_update('app', '{"pk":{"S":"a"}}', 'SET g = :g', vals => '{":g":{"S":"z"}}');
	PERFORM dyn_batch_write('app', ARRAY['{"pk":{"S":"b"}}', '{"pk":{"S":"a"}}']::dyn_item[]);
	PERFORM dyn_delete('app', '{"pk":{"S":"a"}}');
	PERFORM dyn_batch_write('app', deletes => ARRAY['{"pk":{"S":"b"}}']::dyn_item[]);
END $$;

CREATE TRIGGER a_before BEFORE INSERT OR UPDATE OR DELETE ON app FOR EACH ROW EXECUTE FUNCTION tell();
SELECT calls();
DROP TRIGGER a_before ON app;
CREATE TRIGGER a_before BEFORE INSERT OR UPDATE OR DELETE ON app FOR EACH STATEMENT EXECUTE FUNCTION tell();
SELECT calls();
DROP TRIGGER a_before ON app;
CREATE TRIGGER an_after AFTER INSERT OR UPDATE OR DELETE ON app FOR EACH ROW EXECUTE FUNCTION tell();
SELECT calls();
DROP TRIGGER an_after ON app;
CREATE TRIGGER rows_inserted AFTER INSERT ON app REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tell_rows();
CREATE TRIGGER rows_updated AFTER UPDATE ON app REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION tell_rows();
SELECT calls();
DROP TRIGGER rows_inserted ON app;
DROP TRIGGER rows_updated ON app;
CREATE CONSTRAINT TRIGGER deferred AFTER INSERT OR UPDATE OR DELETE ON app DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION tell();
BEGIN;
SELECT dyn_put('app', '{"pk":{"S":"a"}}');
SELECT 'commit';
COMMIT;
SELECT dyn_delete('app', '{"pk":{"S":"a"}}');
DROP TRIGGER deferred ON app;

-- constraints, defaults, generated columns and indexes say it as well
CREATE FUNCTION told(what text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE '% by %', what, store();
	RETURN what;
END $$;
CREATE FUNCTION told_ever(what text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	RAISE NOTICE '% by %', what, public.store();
	RETURN what;
END $$;
ALTER TABLE app ADD CONSTRAINT checked CHECK (told('check ' || pk) IS NOT NULL);
SELECT calls();
ALTER TABLE app DROP CONSTRAINT checked;
ALTER TABLE app ADD COLUMN made text;
ALTER TABLE app ALTER made SET DEFAULT told('default');
SELECT calls();
ALTER TABLE app DROP COLUMN made;
-- of a derived column it is evaluated, and then overwritten, by nothing too
ALTER TABLE app ALTER g SET DEFAULT told('default');
SELECT dyn_put('app', '{"pk":{"S":"a"}}');
SELECT dyn_put('app', '{"pk":{"S":"a"},"g":{"S":"x"}}');
SELECT dyn_put('app', '{"pk":{"S":"b"}}');
SELECT dyn_update('app', '{"pk":{"S":"a"}}', 'REMOVE g');
TABLE app;
ALTER TABLE app ALTER g DROP DEFAULT;
DELETE FROM app;
SET client_min_messages = warning;
ALTER TABLE app ADD COLUMN made text GENERATED ALWAYS AS (told_ever(pk || g)) STORED;
RESET client_min_messages;
SELECT calls();
ALTER TABLE app DROP COLUMN made;
-- it also asks for rows that are deleted, as long as another session may see them
SET client_min_messages = warning;
CREATE INDEX expression ON app (told_ever(g)) WHERE told_ever(pk) <> '';
RESET client_min_messages;
SELECT calls();
DROP INDEX expression;
SELECT calls();

-- a key that a trigger changes: one error, whichever write it is
CREATE FUNCTION rekey() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.item := dyn_apply(NEW.item, 'SET pk = :k', vals => jsonb_build_object(':k', NEW.pk || '2'));
	RETURN NEW;
END $$;
CREATE FUNCTION errors(call text) RETURNS TABLE (store text, error text) LANGUAGE plpgsql AS $$
BEGIN
	FOREACH store IN ARRAY ARRAY['on', 'off'] LOOP
		PERFORM set_config('dynamo_table.direct_store', store, true);
		BEGIN
			EXECUTE call;
			RAISE 'none';
		EXCEPTION WHEN OTHERS THEN
			error := SQLSTATE || ' ' || SQLERRM;
		END;
		RETURN NEXT;
	END LOOP;
END $$;
CREATE FUNCTION all_errors() RETURNS TABLE (call text, store text, error text) LANGUAGE sql AS $$
	SELECT * FROM (VALUES ($c$SELECT dyn_put('app', '{"pk":{"S":"n"}}')$c$), ($c$SELECT dyn_put('app', '{"pk":{"S":"a"},"n":{"N":"1"}}')$c$),
		($c$SELECT dyn_put('app', '{"pk":{"S":"n"}}', 'attribute_not_exists(pk)')$c$), ($c$SELECT dyn_put('app', '{"pk":{"S":"a"}}', return_values => 'ALL_OLD')$c$),
		($c$SELECT dyn_update('app', '{"pk":{"S":"a"}}', 'SET n = :n', vals => '{":n":{"N":"1"}}')$c$),
		($c$SELECT dyn_update('app', '{"pk":{"S":"n"}}', 'SET n = :n', vals => '{":n":{"N":"1"}}')$c$),
		($c$SELECT dyn_batch_write('app', ARRAY['{"pk":{"S":"n"}}', '{"pk":{"S":"n2"}}']::dyn_item[])$c$)) v (call), errors(call) $$;
SELECT dyn_put('app', '{"pk":{"S":"a"}}');
CREATE TRIGGER rekey BEFORE INSERT ON app FOR EACH ROW EXECUTE FUNCTION rekey();
SELECT * FROM all_errors();
DROP TRIGGER rekey ON app;
CREATE TRIGGER rekey BEFORE UPDATE ON app FOR EACH ROW EXECUTE FUNCTION rekey();
SELECT * FROM all_errors();
TABLE app;

-- a trigger that writes the row of its own statement
DROP TRIGGER rekey ON app;
CREATE FUNCTION write_same() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF pg_trigger_depth() = 1 THEN
		PERFORM dyn_put('app', dyn_apply(NEW.item, 'SET nested = :n', vals => '{":n":{"BOOL":true}}'));
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER write_same BEFORE INSERT ON app FOR EACH ROW EXECUTE FUNCTION write_same();
SELECT * FROM all_errors();
DROP TRIGGER write_same ON app;
CREATE TRIGGER write_same BEFORE UPDATE ON app FOR EACH ROW EXECUTE FUNCTION write_same();
SELECT * FROM all_errors();
DROP TRIGGER write_same ON app;
CREATE FUNCTION write_all() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF pg_trigger_depth() = 1 THEN
		UPDATE app SET item = dyn_apply(item, 'SET nested = :n', vals => '{":n":{"BOOL":true}}');
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER write_all BEFORE INSERT OR UPDATE OR DELETE ON app FOR EACH STATEMENT EXECUTE FUNCTION write_all();
SELECT * FROM all_errors();
SELECT * FROM errors($c$SELECT dyn_delete('app', '{"pk":{"S":"a"}}')$c$);
DROP TRIGGER write_all ON app;
TABLE app;

-- a trigger that suppresses an insert: an error, unless there is an item
CREATE FUNCTION suppress() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER suppress BEFORE INSERT ON app FOR EACH ROW EXECUTE FUNCTION suppress();
SELECT * FROM all_errors();
SELECT * FROM errors($c$SELECT dyn_transact('[{"Put": {"TableName": "app", "Item": {"pk":{"S":"n"}}}}]')$c$);
SELECT * FROM errors($c$SELECT dyn_transact('[{"Put": {"TableName": "app", "Item": {"pk":{"S":"n"}}, "ConditionExpression": "attribute_not_exists(pk)"}}]')$c$);
SELECT * FROM errors($c$SELECT dyn_transact('[{"Put": {"TableName": "app", "Item": {"pk":{"S":"a"}}, "ConditionExpression": "attribute_not_exists(pk)"}}]')$c$);
SELECT * FROM errors($c$SELECT dyn_transact('[{"Update": {"TableName": "app", "Key": {"pk":{"S":"n"}}, "UpdateExpression": "SET n = :n",
	"ExpressionAttributeValues": {":n":{"N":"1"}}}}]')$c$);
SELECT * FROM errors($c$SELECT dyn_import_lines('app', '{"Item":{"pk":{"S":"n"}}}', on_conflict => 'keep')$c$);
DROP TRIGGER suppress ON app;

-- a trigger that changes the table: the rest of the call is statements
CREATE FUNCTION add_trigger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	CREATE TRIGGER added BEFORE INSERT OR UPDATE OR DELETE ON app FOR EACH ROW EXECUTE FUNCTION tell();
	RETURN NULL;
END $$;
SELECT dyn_put('app', '{"pk":{"S":"n"}}');
CREATE TRIGGER add_trigger AFTER INSERT ON app FOR EACH ROW EXECUTE FUNCTION add_trigger();
SELECT dyn_batch_write('app', ARRAY['{"pk":{"S":"m"}}']::dyn_item[], ARRAY['{"pk":{"S":"n"}}']::dyn_item[]);
DROP TRIGGER add_trigger ON app;
SELECT dyn_delete('app', '{"pk":{"S":"m"}}');
DROP TRIGGER added ON app;
CREATE TRIGGER rekey BEFORE UPDATE ON app FOR EACH ROW EXECUTE FUNCTION rekey();

-- after the derive trigger nobody sees to the columns but their constraint, so that is for statements
ALTER TRIGGER rekey ON app RENAME TO "~later";
CREATE TRIGGER a_before BEFORE INSERT ON app FOR EACH ROW EXECUTE FUNCTION tell();
SELECT dyn_put('app', '{"pk":{"S":"new"}}');
DROP TABLE app;
DROP FUNCTION all_errors, errors, suppress, add_trigger, write_all, write_same, rekey, told_ever, told, calls, tell_rows, tell, store;
