-- A write by the functions that leaves an item as it is locks its row, and writes none: docs/semantics.md, ST03.
\set SHOW_CONTEXT never
-- what a call says, and whether it has left all rows where they were
CREATE FUNCTION try(call text, relation text DEFAULT 'app') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	rows constant text := format('SELECT array_agg((tableoid, ctid, xmin, item)::text ORDER BY ctid) FROM %I', relation);
	before text[];
	after text[];
	result text;
BEGIN
	EXECUTE rows INTO before;
	BEGIN
		EXECUTE 'SELECT ' || call INTO result;
	EXCEPTION WHEN OTHERS THEN
		result := SQLSTATE || ' ' || SQLERRM;
	END;
	EXECUTE rows INTO after;
	RETURN concat_ws(' ', CASE WHEN before = after THEN 'kept' WHEN cardinality(before) = cardinality(after) THEN 'written' ELSE 'made or removed' END, result);
END $$;
CREATE FUNCTION tries(calls text[], relation text DEFAULT 'app') RETURNS TABLE (result text) LANGUAGE plpgsql AS $$
DECLARE
	call text;
BEGIN
	FOREACH call IN ARRAY calls LOOP
		result := try(call, relation);
		RETURN NEXT;
	END LOOP;
END $$;
SELECT dyn_create_table('app', 'pk S', 'sk N', global_indexes => '{"GSI1":{"partition_key":"g S"}}', local_indexes => '{"LSI1":{"sort_key":"l N"}}');
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"1"},"g":{"S":"x"},"l":{"N":"1"},"n":{"N":"5"},"m":{"M":{"a":{"N":"1"},"b":{"L":[{"NULL":true}]}}},
	"s":{"SS":["x","y"]},"ns":{"NS":["1","2"]},"b":{"B":"AAEC"}}');
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"2"}}');

-- puts: numbers in another form, attributes, maps and sets in another order; and what is another item
SELECT * FROM tries(ARRAY[
	$$dyn_put('app', item) FROM app WHERE sk = 1$$,
	$$dyn_put('app', item, return_values => 'ALL_OLD') = item FROM app WHERE sk = 1$$,
	$$dyn_put('app', '{"b":{"B":"AAEC"},"ns":{"NS":["2.0","1e0"]},"s":{"SS":["y","x"]},"m":{"M":{"b":{"L":[{"NULL":true}]},"a":{"N":"1.0"}}},"n":{"N":"5.00"},
		"l":{"N":"0.1e1"},"g":{"S":"x"},"sk":{"N":"1.000"},"pk":{"S":"a"}}')$$,
	$$dyn_put('app', item, 'n = :n', vals => '{":n":{"N":"5"}}') FROM app WHERE sk = 1$$,
	$$dyn_put('app', item, 'attribute_not_exists(nothing)', return_values => 'ALL_OLD') ->> 'n' FROM app WHERE sk = 1$$,
	$$dyn_put('app', item, 'n = :n', vals => '{":n":{"N":"6"}}') FROM app WHERE sk = 1$$,
	$$dyn_put('app', item, 'attribute_not_exists(pk)') FROM app WHERE sk = 1$$,
	$$dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"2"}}')$$,
	$$dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"2"},"n":{"N":"1"}}')$$,
	$$dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"2"},"n":{"N":"2"}}')$$,
	$$dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"2"},"n":{"S":"2"}}')$$,
	$$dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"2"}}', return_values => 'ALL_OLD')$$,
	$$dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"3"}}')$$]);

-- updates
SELECT * FROM tries(ARRAY[
	$$dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}', 'SET n = n, g = if_not_exists(g, :g)', vals => '{":g":{"S":"z"}}')$$,
	$$dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}', 'SET n = :n', vals => '{":n":{"N":"5.00"}}', return_values => 'UPDATED_NEW')$$,
	$$dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}', 'SET n = :n', vals => '{":n":{"N":"5"}}', return_values => 'UPDATED_OLD')$$,
	$$dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}', 'ADD s :s, n :n DELETE ns :ns REMOVE nothing, m.x, m.b[7]',
		vals => '{":s":{"SS":["x"]},":n":{"N":"0"},":ns":{"NS":["3"]}}', return_values => 'ALL_NEW') = item FROM app WHERE sk = 1$$,
	$$dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}', 'SET m.a = m.a', 'n = :n', vals => '{":n":{"N":"5"}}', return_values => 'ALL_OLD') = item FROM app
		WHERE sk = 1$$,
	$$dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}', 'SET m.a = m.a', 'n = :n', vals => '{":n":{"N":"6"}}')$$,
	$$dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}', 'SET m.x.y = :n', vals => '{":n":{"N":"6"}}')$$,
	$$dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}')$$,
	$$dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"9"}}', 'REMOVE n')$$,
	$$dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}', 'ADD n :n', vals => '{":n":{"N":"1"}}', return_values => 'UPDATED_NEW')$$,
	$$dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}', 'SET g = :g, n = :n', vals => '{":g":{"S":"y"},":n":{"N":"5"}}', return_values => 'UPDATED_NEW')$$,
	$$dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}', 'REMOVE g', return_values => 'UPDATED_OLD')$$,
	$$dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}', 'SET g = :g', vals => '{":g":{"S":"x"}}')$$]);

-- several items: each for itself
CREATE TEMP TABLE places AS SELECT sk, ctid AS place FROM app;
SELECT dyn_batch_write('app', ARRAY['{"pk":{"S":"a"},"sk":{"N":"2"}}', '{"pk":{"S":"a"},"sk":{"N":"3"},"n":{"N":"1"}}',
	'{"pk":{"S":"a"},"sk":{"N":"4"}}']::dyn_item[] || (SELECT item FROM app WHERE sk = 1));
SELECT sk, app.ctid = place AS kept FROM app LEFT JOIN places USING (sk) ORDER BY sk;
TRUNCATE places;
INSERT INTO places SELECT sk, ctid FROM app;
SELECT dyn_transact(jsonb_build_array(
	jsonb_build_object('Put', jsonb_build_object('TableName', 'app', 'Item', '{"pk":{"S":"a"},"sk":{"N":"2.0"}}'::jsonb)),
	jsonb_build_object('Put', jsonb_build_object('TableName', 'app', 'Item', '{"pk":{"S":"a"},"sk":{"N":"3"},"n":{"N":"2"}}'::jsonb)),
	jsonb_build_object('Put', jsonb_build_object('TableName', 'app', 'Item', '{"pk":{"S":"a"},"sk":{"N":"4"}}'::jsonb, 'ConditionExpression',
		'attribute_exists(pk)')),
	jsonb_build_object('Update', jsonb_build_object('TableName', 'app', 'Key', '{"pk":{"S":"a"},"sk":{"N":"1"}}'::jsonb, 'UpdateExpression', 'SET n = n')))::json);
SELECT sk, app.ctid = place AS kept FROM app LEFT JOIN places USING (sk) ORDER BY sk;
SELECT * FROM tries(ARRAY[
	$$dyn_batch_write('app', ARRAY(SELECT item FROM app))$$,
	$$dyn_batch_write('app', ARRAY(SELECT item FROM app), ARRAY['{"pk":{"S":"a"},"sk":{"N":"9"}}']::dyn_item[])$$,
	$$dyn_transact('[{"Put":{"TableName":"app","Item":{"pk":{"S":"a"},"sk":{"N":"2"}}}},{"Put":{"TableName":"app","Item":{"pk":{"S":"a"},"sk":{"N":"4"}}}}]')$$,
	$$dyn_transact('[{"Put":{"TableName":"app","Item":{"pk":{"S":"a"},"sk":{"N":"2"}},"ConditionExpression":"attribute_not_exists(n)"}},
		{"ConditionCheck":{"TableName":"app","Key":{"pk":{"S":"a"},"sk":{"N":"4"}},"ConditionExpression":"attribute_exists(pk)"}}]')$$,
	$$dyn_transact('[{"Update":{"TableName":"app","Key":{"pk":{"S":"a"},"sk":{"N":"1"}},"UpdateExpression":"REMOVE nothing","ConditionExpression":"n = :n",
		"ExpressionAttributeValues":{":n":{"N":"5"}}}}]')$$,
	$$dyn_transact('[{"Put":{"TableName":"app","Item":{"pk":{"S":"a"},"sk":{"N":"2"}}}},
		{"Update":{"TableName":"app","Key":{"pk":{"S":"a"},"sk":{"N":"1"}},"UpdateExpression":"SET n = n","ConditionExpression":"n = :n",
		"ExpressionAttributeValues":{":n":{"N":"6"}}}}]')$$]);

-- dyn_request: answers and capacity are those of a write
SELECT * FROM tries(ARRAY[
	$$dyn_request('PutItem', json_build_object('TableName', 'app', 'Item', item::text::json, 'ReturnConsumedCapacity', 'INDEXES')) FROM app WHERE sk = 2$$,
	$$dyn_request('PutItem', json_build_object('TableName', 'app', 'Item', item::text::json, 'ReturnValues', 'ALL_OLD', 'ReturnConsumedCapacity', 'INDEXES',
		'ReturnItemCollectionMetrics', 'SIZE')) FROM app WHERE sk = 3$$,
	$$dyn_request('PutItem', json_build_object('TableName', 'app', 'Item', item::text::json, 'Expected', '{"n":{"Value":{"N":"2"}}}'::json)) FROM app WHERE sk =
		3$$,
	$$dyn_request('UpdateItem', '{"TableName":"app","Key":{"pk":{"S":"a"},"sk":{"N":"1"}},"UpdateExpression":"SET n = n","ReturnValues":"UPDATED_NEW",
		"ReturnConsumedCapacity":"INDEXES"}')$$,
	$$dyn_request('UpdateItem', '{"TableName":"app","Key":{"pk":{"S":"a"},"sk":{"N":"3"}},
		"AttributeUpdates":{"n":{"Action":"PUT","Value":{"N":"2"}},"x":{"Action":"DELETE"}},"ReturnValues":"ALL_NEW"}')$$,
	$$dyn_request('BatchWriteItem', json_build_object('RequestItems', json_build_object('app',
		json_agg(json_build_object('PutRequest', json_build_object('Item', item::text::json)))), 'ReturnConsumedCapacity', 'TOTAL')) FROM app$$,
	$$dyn_request('TransactWriteItems', json_build_object('TransactItems',
		json_agg(json_build_object('Put', json_build_object('TableName', 'app', 'Item', item::text::json))), 'ReturnConsumedCapacity', 'TOTAL')) FROM app$$]);

-- large items: compressed, and in TOAST
SELECT dyn_create_table('large', 'pk S');
INSERT INTO large (item) SELECT jsonb_build_object('pk', 'compressed', 'v', repeat('v', 100000));
INSERT INTO large (item) SELECT jsonb_build_object('pk', 'toasted', 'v', string_agg(md5(i::text), '')) FROM generate_series(1, 3000) i;
SELECT pk, pg_column_size(item) > 8000 AS outside FROM large ORDER BY pk;
SELECT * FROM tries(ARRAY[
	$$count(dyn_put('large', item, return_values => 'ALL_OLD')) FROM large$$,
	$$count(dyn_update('large', jsonb_build_object('pk', pk), 'SET v = v', return_values => 'ALL_NEW')) FROM large$$,
	$$dyn_batch_write('large', ARRAY(SELECT item FROM large))$$,
	$$dyn_put('large', jsonb_build_object('pk', pk, 'v', overlay(item->>'v' PLACING '-' FROM 96000 FOR 1))) FROM large WHERE pk = 'toasted'$$,
	$$dyn_put('large', jsonb_build_object('pk', pk, 'v', overlay(item->>'v' PLACING '-' FROM 50000 FOR 1))) FROM large WHERE pk = 'compressed'$$], 'large');
SELECT pk, position('-' IN item->>'v') FROM large ORDER BY pk;
DROP TABLE large;

-- what the transaction itself wrote before, and has taken back
BEGIN;
SELECT try($$dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"2"},"n":{"N":"2"}}')$$);
SELECT try($$dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"2"},"n":{"N":"2"}}')$$);
SELECT try($$dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"2"}}')$$);
SAVEPOINT s;
SELECT try($$dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"2"},"n":{"N":"2"}}')$$);
ROLLBACK TO s;
SELECT try($$dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"2"}}')$$);
SELECT try($$dyn_delete('app', '{"pk":{"S":"a"},"sk":{"N":"2"}}')$$);
SELECT try($$dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"2"}}')$$);
COMMIT;

-- a row that is kept is locked as one that is written, whatever the write
BEGIN;
SELECT dyn_put('app', item) FROM app WHERE sk = 1;
SELECT dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"2"}}', 'REMOVE nothing');
SELECT dyn_batch_write('app', ARRAY(SELECT item FROM app WHERE sk > 2));
SELECT sk, xmax = pg_current_xact_id()::xid AS locked FROM app ORDER BY sk;
ROLLBACK;

-- plain SQL always writes
TRUNCATE places;
INSERT INTO places SELECT sk, ctid FROM app;
UPDATE app SET item = item WHERE sk = 1;
INSERT INTO app (item) SELECT item FROM app WHERE sk = 2 ON CONFLICT (pk, sk) DO UPDATE SET item = EXCLUDED.item;
SELECT sk, app.ctid = place AS kept FROM app JOIN places USING (sk) ORDER BY sk;

-- errors come first: a key of an index that cannot be one, which the item had before the index
SELECT dyn_create_table('older', 'pk S');
SELECT dyn_put('older', '{"pk":{"S":"a"},"g":{"N":"1"}}');
SELECT dyn_put('older', '{"pk":{"S":"b"},"g":{"S":"x"}}');
-- by hand, so that its columns are missing
ALTER TABLE older ADD g text COLLATE "C", DROP CONSTRAINT dynamo_keys;
CREATE OR REPLACE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON older FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S',
	'{"name": "GSI1", "type": "global", "partition_key": ["g S"], "projection": "ALL"}');
ALTER TABLE older ENABLE ALWAYS TRIGGER "~dynamo_keys";
CREATE INDEX ON older (g, pk) WHERE g IS NOT NULL;
SELECT * FROM tries(ARRAY[
	$$dyn_put('older', '{"pk":{"S":"a"},"g":{"N":"1"}}')$$,
	$$dyn_update('older', '{"pk":{"S":"a"}}', 'REMOVE nothing')$$,
	$$dyn_put('older', '{"pk":{"S":"b"},"g":{"S":"x"}}')$$,
	$$dyn_put('older', '{"pk":{"S":"b"},"g":{"S":"x"}}')$$], 'older');
SELECT pk, g FROM older ORDER BY pk;
DROP TABLE older;

-- users' triggers: those before the row have their say, those after it have no row
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE '% % %', TG_WHEN, TG_LEVEL, TG_OP;
	RETURN NEW;
END $$;
CREATE TRIGGER a BEFORE UPDATE ON app FOR EACH ROW EXECUTE FUNCTION tell();
CREATE TRIGGER b AFTER UPDATE ON app FOR EACH ROW EXECUTE FUNCTION tell();
CREATE TRIGGER c AFTER INSERT OR UPDATE ON app FOR EACH STATEMENT EXECUTE FUNCTION tell();
SELECT try($$dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"2"}}')$$);
SELECT try($$dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"2"},"n":{"N":"1"}}')$$);
SELECT try($$dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"2"}}', 'SET n = n')$$);
SELECT try($$dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"2"}}', 'REMOVE n')$$);
DROP TRIGGER a ON app;
DROP TRIGGER b ON app;
DROP TRIGGER c ON app;
-- one that takes updates back, one that fails, one that changes what is written
CREATE FUNCTION take_back() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE FUNCTION complain() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$;
CREATE FUNCTION count_up() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.item := dyn_apply(NEW.item, 'SET version = if_not_exists(version, :zero) + :one', vals => '{":zero":{"N":"0"},":one":{"N":"1"}}');
	RETURN NEW;
END $$;
CREATE FUNCTION all_writes() RETURNS SETOF text LANGUAGE sql AS $fn$
SELECT tries(ARRAY[
	$$dyn_put('app', item) FROM app WHERE sk = 2$$,
	$$dyn_put('app', item, 'attribute_exists(pk)') FROM app WHERE sk = 2$$,
	$$dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"2"}}', 'SET n = n', 'attribute_exists(n)')$$,
	$$dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"2"}}', 'REMOVE nothing', return_values => 'ALL_NEW')$$,
	$$dyn_batch_write('app', ARRAY(SELECT item FROM app WHERE sk < 4))$$,
	$$dyn_transact('[{"Update":{"TableName":"app","Key":{"pk":{"S":"a"},"sk":{"N":"2"}},"UpdateExpression":"REMOVE nothing"}}]')$$]) $fn$;
SELECT * FROM all_writes();
CREATE TRIGGER a BEFORE UPDATE ON app FOR EACH ROW EXECUTE FUNCTION take_back();
SELECT * FROM all_writes();
DROP TRIGGER a ON app;
CREATE TRIGGER a BEFORE UPDATE ON app FOR EACH ROW WHEN (NEW.sk = 1) EXECUTE FUNCTION take_back();
SELECT * FROM all_writes();
DROP TRIGGER a ON app;
CREATE TRIGGER a BEFORE UPDATE ON app FOR EACH ROW EXECUTE FUNCTION complain();
SELECT * FROM all_writes();
DROP TRIGGER a ON app;
CREATE TRIGGER a BEFORE UPDATE ON app FOR EACH ROW EXECUTE FUNCTION count_up();
SELECT * FROM all_writes();
DROP TRIGGER a ON app;
-- one that makes a change into none
CREATE FUNCTION old_one() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.item := OLD.item; RETURN NEW; END $$;
CREATE TRIGGER a BEFORE UPDATE ON app FOR EACH ROW EXECUTE FUNCTION old_one();
SELECT try($$dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"3"}}', 'SET n = :n', vals => '{":n":{"N":"77"}}', return_values => 'ALL_NEW')$$);
DROP TRIGGER a ON app;
-- in a trigger's function statements are plain SQL, and calls are calls
SELECT dyn_create_table('noted', 'pk S');
SELECT dyn_put('noted', '{"pk":{"S":"sql"}}'), dyn_put('noted', '{"pk":{"S":"call"}}');
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE noted SET item = item WHERE pk = 'sql';
	PERFORM dyn_put('noted', '{"pk":{"S":"call"}}');
	UPDATE app SET item = item WHERE sk = 4;
	RETURN NEW;
END $$;
CREATE TRIGGER a BEFORE UPDATE ON app FOR EACH ROW WHEN (NEW.sk = 2) EXECUTE FUNCTION note();
CREATE TEMP TABLE here AS SELECT pk, ctid AS place FROM noted UNION ALL SELECT 'app ' || sk, ctid FROM app;
SELECT dyn_put('app', item) FROM app WHERE sk = 2;
SELECT here.pk, place = coalesce(noted.ctid, app.ctid) AS kept FROM here LEFT JOIN noted USING (pk) LEFT JOIN app ON here.pk = 'app ' || app.sk
	ORDER BY here.pk;
DROP TRIGGER a ON app;
-- and so are those of a rule
CREATE RULE also AS ON UPDATE TO app DO ALSO UPDATE noted SET item = item WHERE pk = 'sql';
SELECT try($$dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"2"}}', 'REMOVE nothing')$$, 'noted'),
	try($$dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"2"}}', 'REMOVE nothing')$$);
DROP RULE also ON app;
DROP TABLE noted;
-- where the derive trigger does not fire, nothing is kept
ALTER TABLE app DISABLE TRIGGER "~dynamo_keys";
SELECT try($$dyn_put('app', item) FROM app WHERE sk = 2$$);
ALTER TABLE app ENABLE ALWAYS TRIGGER "~dynamo_keys";
SET session_replication_role = replica;
SELECT try($$dyn_put('app', item) FROM app WHERE sk = 2$$);
RESET session_replication_role;

-- columns of users, which a put leaves as they are
ALTER TABLE app ADD note text DEFAULT 'default', ADD copy text GENERATED ALWAYS AS (pk || '!') STORED, ADD gone int DEFAULT 1;
ALTER TABLE app DROP gone;
UPDATE app SET note = 'mine' WHERE sk = 2;
SELECT * FROM all_writes();
SELECT note, copy FROM app WHERE sk = 2;
CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.note := NEW.note || '.'; RETURN NEW; END $$;
CREATE TRIGGER a BEFORE UPDATE ON app FOR EACH ROW EXECUTE FUNCTION stamp();
SELECT * FROM all_writes();
SELECT note, copy FROM app WHERE sk = 2;
DROP TRIGGER a ON app;
ALTER TABLE app DROP note, DROP copy;

-- row-level security: a row that is hidden, one that may be updated, and one that may not be as it is
CREATE ROLE regress_nochange;
GRANT SELECT, INSERT, UPDATE, DELETE ON app TO regress_nochange;
ALTER TABLE app ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON app TO regress_nochange USING (sk <> 4) WITH CHECK (sk <> 4);
CREATE FUNCTION policies() RETURNS SETOF text LANGUAGE sql AS $fn$
SELECT * FROM all_writes()
UNION ALL SELECT tries(ARRAY[
	$$dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"4"}}')$$,
	$$dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"4"}}', 'attribute_exists(pk)')$$,
	$$dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"4"}}', return_values => 'ALL_OLD')$$,
	$$dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"4"}}', 'REMOVE nothing')$$,
	$$dyn_batch_write('app', ARRAY['{"pk":{"S":"a"},"sk":{"N":"4"}}', '{"pk":{"S":"a"},"sk":{"N":"2"}}']::dyn_item[])$$]) $fn$;
SET ROLE regress_nochange;
SELECT * FROM policies();
RESET ROLE;
ALTER POLICY p ON app WITH CHECK (true);
SET ROLE regress_nochange;
SELECT * FROM policies();
RESET ROLE;
CREATE POLICY u ON app AS RESTRICTIVE FOR UPDATE TO regress_nochange USING (true) WITH CHECK (sk <> 2);
SET ROLE regress_nochange;
SELECT * FROM policies();
RESET ROLE;
-- the owner's and the superuser's writes they do not concern
SELECT * FROM policies();
DROP POLICY p ON app;
DROP POLICY u ON app;
ALTER TABLE app DISABLE ROW LEVEL SECURITY;
-- privileges are those of a write
REVOKE UPDATE ON app FROM regress_nochange;
SET ROLE regress_nochange;
SELECT * FROM all_writes();
RESET ROLE;
REVOKE ALL ON app FROM regress_nochange;
DROP ROLE regress_nochange;
BEGIN READ ONLY;
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"2"}}');
ROLLBACK;

-- partitions, whose columns stand in another order
CREATE TABLE part (item dyn_item NOT NULL, p text COLLATE "C" NOT NULL, n numeric NOT NULL, note text, PRIMARY KEY (p, n)) PARTITION BY LIST (p);
CREATE TABLE part0 PARTITION OF part FOR VALUES IN ('a');
CREATE TABLE part1 (note text, n numeric NOT NULL, p text COLLATE "C" NOT NULL, item dyn_item NOT NULL);
ALTER TABLE part ATTACH PARTITION part1 FOR VALUES IN ('b');
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON part FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('p S', 'n N');
INSERT INTO part (item, p, n) SELECT jsonb_build_object('p', k, 'n', 1, 'v', 1), k, 1 FROM unnest(ARRAY['a', 'b']) k;
SELECT * FROM tries(ARRAY[
	$$count(dyn_put('part', item, return_values => 'ALL_OLD')) FROM part$$,
	$$count(dyn_put('part', item)::text) FROM part$$,
	$$count(dyn_update('part', jsonb_build_object('p', p, 'n', n), 'SET v = v', return_values => 'ALL_NEW')) FROM part$$,
	$$dyn_batch_write('part', ARRAY(SELECT item FROM part))$$,
	$$count(dyn_put('part1', item)::text) FROM part1$$,
	$$dyn_put('part', '{"p":{"S":"b"},"n":{"N":"1"}}')$$], 'part');
SELECT p, n, note, item FROM part ORDER BY p;
DROP TABLE part;

DROP TABLE app;
DROP FUNCTION try, tries, all_writes, policies, tell, take_back, complain, count_up, old_one, note, stamp;
