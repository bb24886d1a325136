-- Code of users that meddles with the call within which it runs: it writes the very row, or changes what the call has open, whichever store writes.
\pset format unaligned
\pset tuples_only on
\set SHOW_CONTEXT never
\set VERBOSITY terse
SELECT dyn_create_table('app', 'pk S', 'sk N', global_indexes => '{"GSI1": {"partition_key": "g S"}, "GSI2": {"partition_key": "h N"}}');
SELECT dyn_create_table('other', 'pk S');
CREATE FUNCTION key(sk int) RETURNS dyn_item LANGUAGE sql RETURN jsonb_build_object('pk', 'a', 'sk', sk)::dyn_item;
CREATE FUNCTION item(sk int, VARIADIC attributes text[] DEFAULT '{}') RETURNS dyn_item LANGUAGE sql RETURN (key(sk)::jsonb ||
	jsonb_object(attributes))::dyn_item;
CREATE FUNCTION put(sk int, VARIADIC attributes text[] DEFAULT '{}') RETURNS dyn_item LANGUAGE sql RETURN dyn_put('app', item(sk, VARIADIC attributes));
-- carries out the statement in the setting, once, and not for what that statement writes
CREATE FUNCTION meddle() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	statement text := current_setting('test.statement', true);
BEGIN
	IF statement <> '' AND pg_trigger_depth() = 1 THEN
		EXECUTE statement;
	END IF;
	RETURN coalesce(NEW, OLD);
END $$;
-- the call with such a statement within it, and what is there after that
CREATE FUNCTION during(statement text, call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	DELETE FROM app;
	INSERT INTO app (item) VALUES (item(1, 'n', '1')), (item(2, 'n', '2'));
	PERFORM set_config('test.statement', statement, true);
	BEGIN
		EXECUTE call INTO result;
	EXCEPTION WHEN OTHERS THEN
		result := SQLSTATE || ' ' || SQLERRM;
	END;
	PERFORM set_config('test.statement', '', true);
	RETURN concat_ws(' ', result, '--', (SELECT string_agg(item::text, ' ' ORDER BY sk) FROM app));
END $$;
CREATE FUNCTION all_during() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT during(statement, call)
	FROM unnest(ARRAY['UPDATE app SET item = item(1, ''n'', ''9'') WHERE sk = 1', 'INSERT INTO app (item) VALUES (item(3, ''n'', ''9''))',
		'DELETE FROM app WHERE sk = 1',
			'SELECT put(1, ''n'', ''9'')', 'SELECT put(3, ''n'', ''9'')', 'SELECT FROM app FOR UPDATE']) WITH ORDINALITY s (statement, s),
		unnest(ARRAY['SELECT put(1, ''v'', ''x'')', 'SELECT put(3, ''v'', ''x'')',
			'SELECT dyn_update(''app'', key(1), ''SET n = :n'', vals => ''{":n":{"N":"5"}}'', return_values => ''ALL_NEW'')',
			'SELECT dyn_delete(''app'', key(1), return_values => ''ALL_OLD'')', 'SELECT dyn_delete(''app'', key(3), return_values => ''ALL_OLD'')',
			'SELECT dyn_batch_write(''app'', ARRAY[item(1), item(3)])']) WITH ORDINALITY c (call, c)
	ORDER BY s, c $$;
CREATE TRIGGER meddle BEFORE INSERT ON app FOR EACH ROW EXECUTE FUNCTION meddle();
SELECT all_during();
DROP TRIGGER meddle ON app;
CREATE TRIGGER meddle BEFORE UPDATE OR DELETE ON app FOR EACH ROW EXECUTE FUNCTION meddle();
SELECT all_during();
DROP TRIGGER meddle ON app;
CREATE TRIGGER meddle BEFORE INSERT OR UPDATE OR DELETE ON app FOR EACH STATEMENT EXECUTE FUNCTION meddle();
SELECT all_during();
DROP TRIGGER meddle ON app;
CREATE TRIGGER meddle AFTER INSERT OR UPDATE OR DELETE ON app FOR EACH ROW EXECUTE FUNCTION meddle();
SELECT all_during();
DROP TRIGGER meddle ON app;

-- a trigger that runs as its owner, for several rows
CREATE FUNCTION owned() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$ BEGIN RAISE NOTICE '% in %', TG_OP,
	current_setting('search_path'); RETURN coalesce(NEW, OLD); END $$;
CREATE TRIGGER owned BEFORE INSERT OR UPDATE OR DELETE ON app FOR EACH ROW EXECUTE FUNCTION owned();
SELECT dyn_batch_write('app', ARRAY[item(4), item(5), item(6)]);
SELECT dyn_batch_write('app', ARRAY[item(4, 'v', 'x'), item(5, 'v', 'x')], ARRAY[key(6)]);
SELECT dyn_transact('[{"Put": {"TableName": "app", "Item": {"pk":{"S":"a"},"sk":{"N":"4"}}}}, {"Put": {"TableName": "app",
	"Item": {"pk":{"S":"a"},"sk":{"N":"5"}}}}]');
DROP TRIGGER owned ON app;

-- rows that a default or a check writes are none of the call's
DELETE FROM app;
CREATE FUNCTION log() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	UPDATE app SET item = item WHERE pk = 'log';
	INSERT INTO app (item, logs) SELECT jsonb_build_object('pk', 'log', 'sk', count(*)), 0 FROM app;
	RETURN 1;
END $$;
ALTER TABLE app ADD COLUMN logs int;
ALTER TABLE app ALTER logs SET DEFAULT log();
SELECT put(1), put(2), put(1, 'v', 'x');
SELECT dyn_batch_write('app', ARRAY[item(2, 'v', 'y'), item(3)]);
SELECT item, logs FROM app ORDER BY pk, sk;
ALTER TABLE app DROP COLUMN logs;
CREATE FUNCTION checked(pk text, sk numeric) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	IF pk = 'a' THEN
		UPDATE app SET item = item WHERE app.pk = 'log' AND app.sk = 0;
		INSERT INTO app (item) SELECT jsonb_build_object('pk', 'log', 'sk', 1 - checked.sk) ON CONFLICT DO NOTHING;
	END IF;
	RETURN true;
END $$;
ALTER TABLE app ADD CONSTRAINT checked CHECK (checked(pk, sk));
SELECT put(1, 'v', 'y'), put(7);
SELECT item FROM app WHERE sk < 0 OR sk = 7 ORDER BY sk;
ALTER TABLE app DROP CONSTRAINT checked;

-- what a call has open stays; what is added in the middle of it holds from the next statement on
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE '% % %', TG_TABLE_NAME, TG_OP, NEW.item; RETURN NEW; END $$;
CREATE FUNCTION transact() RETURNS boolean LANGUAGE sql AS $$
	SELECT dyn_transact('[{"Put": {"TableName": "app", "Item": {"pk":{"S":"a"},"sk":{"N":"1"}}}}, {"Put": {"TableName": "other", "Item": {"pk":{"S":"a"}}}},
		{"Update": {"TableName": "app", "Key": {"pk":{"S":"a"},"sk":{"N":"2"}}, "UpdateExpression": "SET g = :g", "ExpressionAttributeValues": {":g":{"S":"x"}}}}]')
		$$;
CREATE FUNCTION all_statements() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	statement text;
BEGIN
	FOREACH statement IN ARRAY ARRAY['DROP INDEX "app_GSI1"', 'REINDEX INDEX "app_GSI1"', 'CREATE INDEX ON app (h)', 'TRUNCATE app',
		'ALTER TABLE app ADD COLUMN more int', 'ALTER TABLE other ENABLE ROW LEVEL SECURITY',
		'CREATE OR REPLACE TRIGGER tell AFTER INSERT OR UPDATE ON other FOR EACH ROW EXECUTE FUNCTION tell()',
		'CREATE OR REPLACE TRIGGER tell BEFORE INSERT OR UPDATE ON app FOR EACH ROW EXECUTE FUNCTION tell()',
		'CREATE OR REPLACE RULE nothing AS ON INSERT TO other DO INSTEAD NOTHING', 'SET LOCAL transaction_read_only = on',
		'SET LOCAL dynamo_table.direct_store = off'] LOOP
		BEGIN
			RAISE NOTICE '%', statement;
			RETURN NEXT during(statement, 'SELECT transact()');
			RAISE SQLSTATE 'UNDO1';
		EXCEPTION WHEN SQLSTATE 'UNDO1' THEN
		END;
	END LOOP;
END $$;
CREATE TRIGGER meddle BEFORE INSERT OR UPDATE ON app FOR EACH ROW EXECUTE FUNCTION meddle();
SELECT all_statements();
DROP TRIGGER meddle ON app;
-- no trigger is left
DELETE FROM app;
SELECT put(1);
CREATE FUNCTION dropped() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN DROP TRIGGER IF EXISTS "~dynamo_keys" ON app; RETURN true; END $$;
ALTER TABLE app ADD CONSTRAINT dropped CHECK (dropped()) NOT VALID;
SET client_min_messages = warning;
BEGIN;
SELECT 'updated' FROM dyn_update('app', key(1), 'SET n = :n', vals => '{":n":{"N":"5"}}', return_values => 'ALL_NEW');
SELECT item FROM app;
ROLLBACK;
RESET client_min_messages;

DROP TABLE app, other;
DROP FUNCTION key, item, put, meddle, during, all_during, log(), checked, tell, transact, all_statements, dropped, owned;
