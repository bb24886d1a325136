-- Writes past the executor, and whatever makes them statements: both obey the same rules.  In each case a write of every kind.
\set SHOW_CONTEXT never
SET dynamo_table.direct_store = on;
CREATE FUNCTION write_all(relation text) RETURNS TABLE (call text, result text) LANGUAGE plpgsql AS $$
DECLARE
	calls text[] := ARRAY[
		$c$dyn_put(%L, '{"pk":{"S":"a"},"sk":{"N":"1"},"g":{"S":"x"},"n":{"N":"1"}}', return_values => 'ALL_OLD')$c$,
		$c$dyn_put(%L, '{"pk":{"S":"a"},"sk":{"N":"2"},"g":{"S":"x"}}', 'attribute_not_exists(pk)')$c$,
		$c$dyn_put(%L, '{"pk":{"S":"a"},"sk":{"N":"1"},"g":{"S":"y"},"n":{"N":"5"}}')$c$,
		$c$dyn_update(%L, '{"pk":{"S":"a"},"sk":{"N":"1"}}', 'ADD n :n', vals => '{":n":{"N":"1"}}', return_values => 'ALL_NEW')$c$,
		$c$dyn_update(%L, '{"pk":{"S":"a"},"sk":{"N":"2"}}', 'REMOVE g', return_values => 'ALL_NEW')$c$,
		$c$dyn_update(%L, '{"pk":{"S":"a"},"sk":{"N":"3"}}', 'SET g = :g', vals => '{":g":{"S":"z"}}', return_values => 'ALL_NEW')$c$,
		$c$dyn_update(%L, '{"pk":{"S":"a"},"sk":{"N":"1"}}', 'SET g = :g', vals => '{":g":{"N":"1"}}')$c$,
		$c$dyn_delete(%L, '{"pk":{"S":"a"},"sk":{"N":"2"}}', return_values => 'ALL_OLD')$c$,
		$c$dyn_delete(%L, '{"pk":{"S":"a"},"sk":{"N":"3"}}', 'attribute_exists(nothing)')$c$,
		$c$dyn_batch_write(%L, ARRAY['{"pk":{"S":"a"},"sk":{"N":"4"},"g":{"S":"x"}}', '{"pk":{"S":"a"},"sk":{"N":"1"},"g":{"S":"x"}}']::dyn_item[],
			ARRAY['{"pk":{"S":"a"},"sk":{"N":"3"}}']::dyn_item[])$c$];
BEGIN
	FOREACH call IN ARRAY calls LOOP
		call := format(call, relation);
		BEGIN
			EXECUTE 'SELECT ' || call INTO result;
		EXCEPTION WHEN OTHERS THEN
			result := SQLSTATE || ' ' || SQLERRM;
		END;
		call := regexp_replace(call, '\(.*', '');
		RETURN NEXT;
	END LOOP;
	EXECUTE format('SELECT string_agg(concat(item->>''sk'', '' '', pk, '' '', sk, '' '', g, '' '', item->>''n''), '', '' ORDER BY sk) FROM %I',
		relation) INTO result;
	call := 'rows';
	RETURN NEXT;
	SELECT string_agg(i->>'sk', ', ') FROM dyn_query(relation, 'g = :g', vals => '{":g":{"S":"x"}}', index_name => 'GSI1') i INTO result;
	call := 'index';
	RETURN NEXT;
	EXECUTE format('DELETE FROM %I', relation);
END $$;
-- the same by statements
CREATE FUNCTION same_by_statements(relation text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	direct text[];
	statements text[];
BEGIN
	SELECT array_agg(w::text) FROM write_all(relation) w INTO direct;
	SET LOCAL dynamo_table.direct_store = off;
	SELECT array_agg(w::text) FROM write_all(relation) w INTO statements;
	SET LOCAL dynamo_table.direct_store = on;
	RETURN direct = statements;
END $$;
-- which store writes: only a statement is in the context of its error
CREATE FUNCTION write_store(relation text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	context text;
BEGIN
	SET LOCAL transaction_read_only = on;
	PERFORM dyn_put(relation, '{"pk":{"S":"a"},"sk":{"N":"1"}}');
	RETURN 'none';
EXCEPTION WHEN read_only_sql_transaction THEN
	GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
	RETURN CASE WHEN context LIKE '%INSERT INTO%' THEN 'sql' ELSE 'direct' END;
END $$;

SELECT dyn_create_table('app', 'pk S', 'sk N', global_indexes => '{"GSI1":{"partition_key":"g S"},"Same":{"partition_key":"g S","projection":"KEYS_ONLY"}}');
CREATE TABLE alone AS SELECT * FROM write_all('app');
TABLE alone;
SELECT write_store('app');
-- what differs from a table of items alone
CREATE FUNCTION differences(relation text) RETURNS TABLE (call text, result text) LANGUAGE sql AS $$ SELECT * FROM write_all(relation) EXCEPT TABLE alone
	ORDER BY 1, 2 $$;
SELECT same_by_statements('app'), write_store('app');

-- a trigger of the user's, before and after the row and the statement
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE '% % %', TG_WHEN, TG_LEVEL, TG_OP;
	RETURN coalesce(NEW, OLD);
END $$;
CREATE TRIGGER tell AFTER INSERT OR UPDATE OR DELETE ON app FOR EACH STATEMENT EXECUTE FUNCTION tell();
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}');
SELECT dyn_delete('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}');
DROP TRIGGER tell ON app;
CREATE TRIGGER tell BEFORE UPDATE ON app FOR EACH ROW EXECUTE FUNCTION tell();
SELECT dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}', 'SET g = :g', vals => '{":g":{"S":"x"}}');
SELECT dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}', 'SET g = :g', vals => '{":g":{"S":"y"}}');
SELECT write_store('app');
DROP TRIGGER tell ON app;
SELECT write_store('app');
DELETE FROM app;

-- a constraint, a column with a default, one that is generated, and an index of the user's
ALTER TABLE app ADD CONSTRAINT small CHECK ((item->>'n')::int < 6);
SELECT * FROM differences('app');
SELECT same_by_statements('app'), write_store('app');
ALTER TABLE app DROP CONSTRAINT small;
ALTER TABLE app ADD COLUMN made text DEFAULT 'default', ADD COLUMN copy text GENERATED ALWAYS AS (pk || '!') STORED;
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}');
SELECT made, copy FROM app;
DELETE FROM app;
SELECT same_by_statements('app'), write_store('app');
ALTER TABLE app DROP COLUMN made, DROP COLUMN copy;
SELECT * FROM differences('app');
CREATE UNIQUE INDEX only_one ON app (g);
SELECT * FROM differences('app');
SELECT same_by_statements('app'), write_store('app');
DROP INDEX only_one;
CREATE INDEX by_n ON app ((item->>'n'));
SELECT * FROM differences('app');
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"1"},"n":{"N":"7"}}');
SET enable_seqscan = off;
SELECT pk FROM app WHERE item->>'n' = '7';
RESET enable_seqscan;
DROP INDEX by_n;
DELETE FROM app;

-- columns that take less than is derived
ALTER TABLE app ALTER g SET NOT NULL;
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}');
SELECT * FROM differences('app');
SELECT same_by_statements('app'), write_store('app');
ALTER TABLE app ALTER g DROP NOT NULL, ALTER sk TYPE numeric(3, 1);
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"1000"}}');
ALTER TABLE app ALTER sk TYPE numeric;
SELECT * FROM differences('app');

-- an index of the table's own keys is the primary key's btree, which has one entry for each row
CREATE EXTENSION pageinspect;
SELECT dyn_create_table('same', 'pk S', 'sk N',
	global_indexes => '{"GSI1":{"partition_key":"pk S","sort_key":"sk N"},"GSI2":{"partition_key":"g S"},"GSI3":{"partition_key":"g S"}}');
SELECT count(*) FROM pg_index WHERE indrelid = 'same'::regclass;
SELECT write_store('same');
SELECT dyn_put('same', jsonb_build_object('pk', 'a', 'sk', i, 'g', 'g' || i)) FROM generate_series(1, 3) i;
SELECT dyn_update('same', '{"pk":{"S":"a"},"sk":{"N":"1"}}', 'SET g = :g', vals => '{":g":{"S":"x"}}');
SELECT indexrelid::regclass, (SELECT count(*) FROM bt_page_items(indexrelid::regclass::text, 1)) AS entries FROM pg_index WHERE indrelid = 'same'::regclass
	ORDER BY 1;
DROP TABLE same;
DROP EXTENSION pageinspect;

-- time to live is ours
SET client_min_messages = error;
CALL dyn_enable_ttl('app', 'n');
RESET client_min_messages;
SELECT * FROM differences('app');
SELECT same_by_statements('app'), write_store('app');
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"1"},"n":{"N":"7"}}');
SELECT dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}', 'ADD n :n', vals => '{":n":{"N":"1.5"}}');
SET enable_seqscan = off;
SELECT "~ttl" FROM app WHERE "~ttl" BETWEEN 7 AND 9;
RESET enable_seqscan;
CALL dyn_disable_ttl('app');
DELETE FROM app;

-- a foreign key that refers to the table, and a rule
CREATE TABLE child (pk text COLLATE "C", sk numeric, FOREIGN KEY (pk, sk) REFERENCES app);
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"2"}}');
INSERT INTO child VALUES ('a', 2);
SELECT dyn_delete('app', '{"pk":{"S":"a"},"sk":{"N":"2"}}');
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"2"},"g":{"S":"x"}}');
SELECT write_store('app');
DROP TABLE child;
SELECT write_store('app');
DELETE FROM app;
CREATE RULE keep AS ON DELETE TO app DO INSTEAD NOTHING;
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"2"}}');
SELECT dyn_delete('app', '{"pk":{"S":"a"},"sk":{"N":"2"}}');
SELECT write_store('app');
DROP RULE keep ON app;
SELECT write_store('app');
SELECT dyn_delete('app', '{"pk":{"S":"a"},"sk":{"N":"2"}}', return_values => 'ALL_OLD');

-- our own trigger switched off, our constraint replaced by one that fails
ALTER TABLE app DISABLE TRIGGER "~dynamo_keys";
SELECT * FROM differences('app');
SELECT same_by_statements('app'), write_store('app');
ALTER TABLE app ENABLE ALWAYS TRIGGER "~dynamo_keys";
-- declarations have no say, unless entities are enforced
SELECT dyn_create_entity('app', 'E', '{"pk": "<pk>", "sk": "<sk>"}', '{"pk": "S", "sk": "N"}', NULL);
SELECT write_store('app');
SELECT dyn_enforce_entities('app');
SELECT write_store('app');
SELECT dyn_enforce_entities('app', false);
ALTER TABLE app ADD CONSTRAINT other CHECK (dynamo_internal.keys_match(item, '{"other S"}', pk));
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"2"}}');
ALTER TABLE app DROP CONSTRAINT other;

-- privileges: of columns, of the wrong kind, none
CREATE ROLE dyn_direct_writer;
GRANT SELECT, INSERT ON app TO dyn_direct_writer;
SET ROLE dyn_direct_writer;
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}');
SELECT dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}', 'SET a = pk');
SELECT dyn_delete('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}');
SELECT dyn_batch_write('app', ARRAY['{"pk":{"S":"a"},"sk":{"N":"1"}}', '{"pk":{"S":"a"},"sk":{"N":"2"}}']::dyn_item[]);
RESET ROLE;
GRANT UPDATE (item) ON app TO dyn_direct_writer;
SET ROLE dyn_direct_writer;
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}');
SELECT dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}', 'SET a = pk', return_values => 'ALL_NEW');
SELECT dyn_delete('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}');
RESET ROLE;
GRANT DELETE ON app TO dyn_direct_writer;
REVOKE SELECT ON app FROM dyn_direct_writer;
SET ROLE dyn_direct_writer;
SELECT dyn_delete('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}');
RESET ROLE;
DROP OWNED BY dyn_direct_writer;
DROP ROLE dyn_direct_writer;
DELETE FROM app;

-- a published table needs something to be known by
SET client_min_messages = error;
CREATE PUBLICATION dyn_direct FOR TABLE app;
RESET client_min_messages;
ALTER TABLE app REPLICA IDENTITY NOTHING;
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}');
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}', return_values => 'ALL_OLD');
SELECT dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}', 'SET a = pk');
SELECT dyn_delete('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}');
DROP PUBLICATION dyn_direct;
ALTER TABLE app REPLICA IDENTITY DEFAULT;

-- what one transaction wrote it sees, whatever it is in; what is rolled back has not been
DELETE FROM app;
BEGIN;
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"1"},"g":{"S":"x"}}');
SAVEPOINT s;
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"2"},"g":{"S":"x"}}'), dyn_delete('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}', return_values => 'ALL_OLD'),
	dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"1"},"g":{"S":"y"}}', return_values => 'ALL_OLD'),
		dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"2"}}', 'SET g = :g', vals => '{":g":{"S":"y"}}', return_values => 'ALL_NEW');
SELECT i->>'sk' FROM dyn_query('app', 'g = :g', vals => '{":g":{"S":"y"}}', index_name => 'GSI1') i;
ROLLBACK TO s;
SELECT dyn_query('app', 'pk = :p', vals => '{":p":{"S":"a"}}');
COMMIT;
SELECT dyn_query('app', 'g = :g', vals => '{":g":{"S":"x"}}', index_name => 'GSI1');
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}', 'ADD n :n', vals => '{":n":{"N":"1"}}') FROM generate_series(1, 3);
SELECT dyn_get('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}');
COMMIT;

-- a temporary table may be written where nothing else may
CREATE TEMP TABLE scratch (LIKE app INCLUDING ALL) USING dynamo_table;
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON scratch FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S', 'sk N');
ALTER TABLE scratch ENABLE ALWAYS TRIGGER "~dynamo_keys";
BEGIN READ ONLY;
SELECT dyn_put('scratch', '{"pk":{"S":"a"},"sk":{"N":"1"}}');
SELECT dyn_delete('scratch', '{"pk":{"S":"a"},"sk":{"N":"1"}}', return_values => 'ALL_OLD');
SELECT dyn_delete('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}');
ROLLBACK;
DROP TABLE app, scratch;
DROP TABLE alone;
DROP FUNCTION differences, same_by_statements, write_all, write_store, tell;
