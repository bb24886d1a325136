-- Triggers of users fire as in statements, whichever store writes: which, in which order, on what, and what they make of a write.
\pset format unaligned
\pset tuples_only on
\set SHOW_CONTEXT never
SELECT dyn_create_table('app', 'pk S', 'sk N', global_indexes => '{"GSI1": {"partition_key": "g S"}}');
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE '% % % %', TG_NAME, TG_WHEN, TG_OP, CASE WHEN TG_LEVEL = 'ROW'
		THEN concat_ws(' ', (CASE WHEN TG_OP <> 'INSERT' THEN OLD.item END)::text, '=>', (CASE WHEN TG_OP <> 'DELETE' THEN NEW.item END)::text) END;
	RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
END $$;
CREATE TRIGGER stmt_before BEFORE INSERT OR UPDATE OR DELETE ON app FOR EACH STATEMENT EXECUTE FUNCTION tell();
CREATE TRIGGER stmt_after AFTER INSERT OR UPDATE OR DELETE ON app FOR EACH STATEMENT EXECUTE FUNCTION tell();
CREATE TRIGGER row_before BEFORE INSERT OR UPDATE OR DELETE ON app FOR EACH ROW EXECUTE FUNCTION tell();
CREATE TRIGGER row_after AFTER INSERT OR UPDATE OR DELETE ON app FOR EACH ROW EXECUTE FUNCTION tell();

-- a put that inserts, one that replaces, one that changes nothing
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"1"},"n":{"N":"1"}}');
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"1"},"n":{"N":"2"}}');
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"1"},"n":{"N":"2"}}');
-- puts that look at the item first
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"1"},"n":{"N":"3"}}', return_values => 'ALL_OLD');
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"2"}}', 'attribute_not_exists(pk)');
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"2"}}', 'attribute_not_exists(pk)');
-- updates, with and without the item
SELECT dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}', 'ADD n :n', vals => '{":n":{"N":"1"}}', return_values => 'UPDATED_NEW');
SELECT dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"3"}}', 'ADD n :n', vals => '{":n":{"N":"1"}}');
SELECT dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"3"}}', 'ADD n :n', 'n > :n', vals => '{":n":{"N":"1"}}');
-- deletes
SELECT dyn_delete('app', '{"pk":{"S":"a"},"sk":{"N":"3"}}');
SELECT dyn_delete('app', '{"pk":{"S":"a"},"sk":{"N":"3"}}');
SELECT dyn_delete('app', '{"pk":{"S":"a"},"sk":{"N":"2"}}', return_values => 'ALL_OLD');
-- batches and transactions: as many statements as there are
SELECT dyn_batch_write('app', '[{"pk":{"S":"b"},"sk":{"N":"1"}},{"pk":{"S":"a"},"sk":{"N":"1"}}]', '[{"pk":{"S":"b"},"sk":{"N":"7"}}]');
SELECT dyn_transact('[{"Put": {"TableName": "app", "Item": {"pk":{"S":"b"},"sk":{"N":"2"}}}}, {"Delete": {"TableName": "app",
	"Key": {"pk":{"S":"b"},"sk":{"N":"1"}}}},
	{"Update": {"TableName": "app", "Key": {"pk":{"S":"a"},"sk":{"N":"1"}}, "UpdateExpression": "SET n = :n", "ExpressionAttributeValues": {":n":{"N":"9"}}}}]');
DROP TRIGGER stmt_before ON app;
DROP TRIGGER stmt_after ON app;
DROP TRIGGER row_before ON app;
DROP TRIGGER row_after ON app;

-- WHEN and UPDATE OF: the item is what a call updates, other columns are not
CREATE TRIGGER of_item AFTER UPDATE OF item ON app FOR EACH ROW EXECUTE FUNCTION tell();
CREATE TRIGGER of_g AFTER UPDATE OF g ON app FOR EACH ROW EXECUTE FUNCTION tell();
CREATE TRIGGER when_g AFTER UPDATE ON app FOR EACH ROW WHEN (OLD.g IS DISTINCT FROM NEW.g) EXECUTE FUNCTION tell();
CREATE TRIGGER when_before BEFORE UPDATE ON app FOR EACH ROW WHEN (NEW.item ? 'g') EXECUTE FUNCTION tell();
SELECT dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}', 'SET g = :g', vals => '{":g":{"S":"x"}}');
SELECT dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}', 'SET n = :n', vals => '{":n":{"N":"1"}}');
SELECT dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}', 'REMOVE g');
DROP TRIGGER of_item ON app;
DROP TRIGGER of_g ON app;
DROP TRIGGER when_g ON app;
DROP TRIGGER when_before ON app;

-- a trigger changes the item: columns, limits and conditions of the next call are those of what it makes; what it writes into columns does not stay
CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.item := CASE NEW.item ->> 'act'
		WHEN 'group' THEN dyn_apply(NEW.item, 'SET g = :g', vals => jsonb_build_object(':g', 'by ' || TG_OP))
		WHEN 'ungroup' THEN dyn_apply(NEW.item, 'REMOVE g')
		WHEN 'wrong' THEN dyn_apply(NEW.item, 'SET g = :g', vals => '{":g": {"N": "1"}}')
		WHEN 'long' THEN dyn_apply(NEW.item, 'SET g = :g', vals => jsonb_build_object(':g', repeat('x', 3000)))
		WHEN 'large' THEN dyn_apply(NEW.item, 'SET body = :g', vals => jsonb_build_object(':g', repeat('x', 410000)))
		ELSE NEW.item END;
	IF NEW.item ->> 'act' = 'none' THEN
		NEW.item := NULL;
	END IF;
	NEW.g := 'only the column';
	RETURN NEW;
END $$;
CREATE TRIGGER change BEFORE INSERT OR UPDATE ON app FOR EACH ROW EXECUTE FUNCTION change();
CREATE FUNCTION put(what text, sk int DEFAULT 5) RETURNS dyn_item LANGUAGE sql RETURN dyn_put('app',
	jsonb_build_object('pk', 'c', 'sk', sk, 'g', 'given', 'act', what));
SELECT put('group');
SELECT put('group');
TABLE app;
SELECT item FROM dyn_query('app', 'g = :g', vals => '{":g":{"S":"by UPDATE"}}', index_name => 'GSI1') item;
SELECT put('ungroup');
SELECT dyn_update('app', '{"pk":{"S":"c"},"sk":{"N":"5"}}', 'SET act = :d', vals => '{":d":{"S":"group"}}', return_values => 'ALL_NEW');
SELECT pk, sk, g FROM app WHERE pk = 'c';
SELECT put('wrong');
SELECT put('wrong', 6);
SELECT dyn_update('app', '{"pk":{"S":"c"},"sk":{"N":"5"}}', 'SET act = :d', vals => '{":d":{"S":"wrong"}}');
SELECT put('long');
SELECT put('large');
SELECT put('none');
SELECT dyn_transact('[{"Put": {"TableName": "app", "Item": {"pk":{"S":"c"},"sk":{"N":"6"},"act":{"S":"group"}}}},
	{"Put": {"TableName": "app", "Item": {"pk":{"S":"c"},"sk":{"N":"7"},"act":{"S":"long"}}}}]');
SELECT dyn_batch_write('app', '[{"pk":{"S":"c"},"sk":{"N":"6"},"act":{"S":"group"}},{"pk":{"S":"c"},"sk":{"N":"5"},"act":{"S":"group"}}]', NULL);
SELECT * FROM dyn_import_lines('app', e'{"pk":{"S":"c"},"sk":{"N":"6"},"act":{"S":"ungroup"}}\n{"pk":{"S":"c"},"sk":{"N":"8"},"act":{"S":"group"}}');
CALL dyn_backfill('app', 'SET seen = :s', 'pk = :c', vals => '{":s":{"N":"1"},":c":{"S":"c"}}');
SELECT * FROM app WHERE pk = 'c' ORDER BY sk;
DROP TRIGGER change ON app;

-- a trigger suppresses writes: a call does not answer that they were done
CREATE FUNCTION suppress() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE TRIGGER suppress BEFORE INSERT ON app FOR EACH ROW WHEN (NEW.item ? 'suppress') EXECUTE FUNCTION suppress();
CREATE TRIGGER suppress_update BEFORE UPDATE ON app FOR EACH ROW WHEN (OLD.pk = 'a') EXECUTE FUNCTION suppress();
CREATE TRIGGER suppress_delete BEFORE DELETE ON app FOR EACH ROW WHEN (OLD.pk = 'a') EXECUTE FUNCTION suppress();
SELECT dyn_put('app', '{"pk":{"S":"d"},"sk":{"N":"1"},"suppress":{"N":"1"}}');
SELECT dyn_put('app', '{"pk":{"S":"d"},"sk":{"N":"1"},"suppress":{"N":"1"}}', 'attribute_not_exists(pk)');
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"1"},"x":{"N":"1"}}');
SELECT dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}', 'SET x = :x', vals => '{":x":{"N":"1"}}');
SELECT dyn_update('app', '{"pk":{"S":"d"},"sk":{"N":"1"}}', 'SET suppress = :x', vals => '{":x":{"N":"1"}}');
SELECT dyn_delete('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}');
SELECT dyn_batch_write('app', '[{"pk":{"S":"d"},"sk":{"N":"1"},"suppress":{"N":"1"}},{"pk":{"S":"d"},"sk":{"N":"2"}}]', NULL);
SELECT dyn_batch_write('app', NULL, '[{"pk":{"S":"a"},"sk":{"N":"1"}},{"pk":{"S":"b"},"sk":{"N":"2"}}]');
SELECT dyn_transact('[{"Put": {"TableName": "app", "Item": {"pk":{"S":"d"},"sk":{"N":"1"},"suppress":{"N":"1"}}}}]');
SELECT pk, sk FROM app WHERE pk IN ('a', 'b', 'd') ORDER BY 1, 2;
DROP TRIGGER suppress ON app;
DROP TRIGGER suppress_update ON app;
DROP TRIGGER suppress_delete ON app;

-- transition tables have the rows of the statement
CREATE FUNCTION tell_rows() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	old_rows text;
	new_rows text;
BEGIN
	IF TG_OP <> 'INSERT' THEN
		SELECT string_agg(pk || sk, ' ' ORDER BY pk, sk) INTO old_rows FROM was;
	END IF;
	IF TG_OP <> 'DELETE' THEN
		SELECT string_agg(pk || sk || coalesce(g, ''), ' ' ORDER BY pk, sk) INTO new_rows FROM becomes;
	END IF;
	RAISE NOTICE '% %: % => %', TG_LEVEL, TG_OP, old_rows, new_rows;
	RETURN NULL;
END $$;
CREATE TRIGGER inserted AFTER INSERT ON app REFERENCING NEW TABLE AS becomes FOR EACH STATEMENT EXECUTE FUNCTION tell_rows();
CREATE TRIGGER updated AFTER UPDATE ON app REFERENCING OLD TABLE AS was NEW TABLE AS becomes FOR EACH STATEMENT EXECUTE FUNCTION tell_rows();
CREATE TRIGGER deleted AFTER DELETE ON app REFERENCING OLD TABLE AS was FOR EACH STATEMENT EXECUTE FUNCTION tell_rows();
CREATE TRIGGER updated_row AFTER UPDATE ON app REFERENCING OLD TABLE AS was NEW TABLE AS becomes FOR EACH ROW EXECUTE FUNCTION tell_rows();
SELECT dyn_put('app', '{"pk":{"S":"e"},"sk":{"N":"1"},"g":{"S":"x"}}');
SELECT dyn_batch_write('app', '[{"pk":{"S":"e"},"sk":{"N":"2"},"g":{"S":"x"}},{"pk":{"S":"e"},"sk":{"N":"1"},"g":{"S":"y"}},
	{"pk":{"S":"c"},"sk":{"N":"5"},"g":{"S":"y"}}]', NULL);
SELECT dyn_update('app', '{"pk":{"S":"e"},"sk":{"N":"1"}}', 'REMOVE g');
SELECT dyn_delete('app', '{"pk":{"S":"e"},"sk":{"N":"1"}}');
DROP TRIGGER inserted ON app;
DROP TRIGGER updated ON app;
DROP TRIGGER deleted ON app;
DROP TRIGGER updated_row ON app;

-- constraint triggers that are deferred: at the end of the transaction, or when they are asked for
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE '% %', TG_OP, NEW.item;
	IF EXISTS (SELECT FROM app WHERE pk = NEW.pk AND sk = NEW.sk AND item ? 'refuse') THEN
		RAISE EXCEPTION 'refused: %', NEW.item USING ERRCODE = 'check_violation';
	END IF;
	RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER refuse AFTER INSERT OR UPDATE ON app DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse();
SELECT dyn_put('app', '{"pk":{"S":"f"},"sk":{"N":"1"},"refuse":{"N":"1"}}');
BEGIN;
SELECT dyn_put('app', '{"pk":{"S":"f"},"sk":{"N":"1"},"refuse":{"N":"1"}}');
SELECT dyn_update('app', '{"pk":{"S":"f"},"sk":{"N":"1"}}', 'REMOVE refuse');
COMMIT;
BEGIN;
SELECT dyn_update('app', '{"pk":{"S":"f"},"sk":{"N":"1"}}', 'SET refuse = :x', vals => '{":x":{"N":"1"}}');
SAVEPOINT s;
SET CONSTRAINTS refuse IMMEDIATE;
ROLLBACK TO s;
SELECT dyn_delete('app', '{"pk":{"S":"f"},"sk":{"N":"1"}}', return_values => 'ALL_OLD');
SET CONSTRAINTS refuse IMMEDIATE;
SELECT dyn_put('app', '{"pk":{"S":"f"},"sk":{"N":"1"},"refuse":{"N":"1"}}');
COMMIT;
SELECT count(*) FROM app WHERE pk = 'f';
DROP TRIGGER refuse ON app;

-- triggers that write: to the row that is being written, to others of the table
DELETE FROM app;
CREATE FUNCTION go_on() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE '% %, % rows', TG_WHEN, NEW.item, (SELECT count(*) FROM app);
	IF TG_WHEN = 'BEFORE' AND NEW.item ? 'twice' THEN
		PERFORM dyn_update('app', jsonb_build_object('pk', NEW.pk, 'sk', NEW.sk), 'ADD n :one', vals => '{":one": {"N": "1"}}');
	ELSIF TG_WHEN = 'AFTER' AND NEW.sk < 3 THEN
		PERFORM dyn_put('app', dyn_apply(NEW.item, 'SET sk = sk + :one', vals => '{":one": {"N": "1"}}'));
		PERFORM dyn_update('app', jsonb_build_object('pk', NEW.pk, 'sk', 0), 'ADD n :one', vals => '{":one": {"N": "1"}}');
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER before_writes BEFORE UPDATE ON app FOR EACH ROW EXECUTE FUNCTION go_on();
CREATE TRIGGER after_writes AFTER INSERT ON app FOR EACH ROW WHEN (NEW.sk > 0) EXECUTE FUNCTION go_on();
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"0"}}');
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}');
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"1"},"twice":{"N":"1"}}');
SELECT dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}', 'SET twice = :x', vals => '{":x":{"N":"1"}}');
SELECT item FROM app ORDER BY sk;
DROP TRIGGER before_writes ON app;
DROP TRIGGER after_writes ON app;

-- triggers that fire for the replica role, always, and never
CREATE TRIGGER replica AFTER UPDATE ON app FOR EACH ROW EXECUTE FUNCTION tell();
CREATE TRIGGER always BEFORE UPDATE ON app FOR EACH ROW EXECUTE FUNCTION tell();
CREATE TRIGGER origin AFTER UPDATE ON app FOR EACH STATEMENT EXECUTE FUNCTION tell();
CREATE TRIGGER never AFTER UPDATE ON app FOR EACH ROW EXECUTE FUNCTION tell();
ALTER TABLE app ENABLE REPLICA TRIGGER replica, ENABLE ALWAYS TRIGGER always, DISABLE TRIGGER never;
SELECT dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"0"}}', 'SET x = :x', vals => '{":x":{"N":"1"}}');
SET session_replication_role = replica;
SELECT dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"0"}}', 'SET x = :x', vals => '{":x":{"N":"2"}}');
RESET session_replication_role;

DROP TABLE app;
DROP FUNCTION tell, change, put, suppress, tell_rows, refuse, go_on;
