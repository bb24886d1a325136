-- Needs logical decoding, and prepared transactions.
SELECT current_setting('wal_level') <> 'logical' OR current_setting('max_prepared_transactions') = '0' AS skipped \gset
\if :skipped
\echo skipped: wal_level is not logical, or max_prepared_transactions is 0
\quit
\endif
-- The output plugin: docs/semantics.md, ST01 to ST07, ST11 to ST13, ST15.
\set SHOW_CONTEXT never
\set VERBOSITY terse
\set service ttl_worker
\set ECHO none
\i test/sql/switch_off.sql
\set ECHO all
CREATE SCHEMA stream;
SET search_path = stream, public;
SELECT slot_name FROM pg_create_logical_replication_slot('plugin', 'dynamo_table');

-- What was committed since it was asked last: number in its transaction, event, table, keys, images, what else there is to say.
CREATE FUNCTION show(data text) RETURNS text LANGUAGE sql AS $$
SELECT concat_ws(' ', substring(d ->> 'SequenceNumber' FROM 22)::bigint, j ->> 'eventName', regexp_replace(j ->> 'eventSourceARN', '.*:table/', ''),
	d ->> 'Keys',
  'new ' || (d ->> 'NewImage'), 'old ' || (d ->> 'OldImage'), CASE WHEN (d ->> 'Incomplete')::boolean THEN 'incomplete' END, 'by ' ||
  (j #>> '{userIdentity,principalId}'),
  CASE WHEN d ->> 'StreamViewType' <> 'NEW_AND_OLD_IMAGES' THEN d ->> 'StreamViewType' END)
FROM (SELECT data::json, data::json -> 'dynamodb') AS r (j, d) $$;
CREATE FUNCTION peek(VARIADIC options text[] DEFAULT '{}') RETURNS SETOF text LANGUAGE sql AS
$$ SELECT show(data) FROM pg_logical_slot_peek_changes('plugin', NULL, NULL, VARIADIC options) $$;
CREATE FUNCTION get(VARIADIC options text[] DEFAULT '{}') RETURNS SETOF text LANGUAGE sql AS
$$ SELECT show(data) FROM pg_logical_slot_get_changes('plugin', NULL, NULL, VARIADIC options) $$;
-- the derive trigger as enabling a stream leaves it
CREATE FUNCTION settings(name text, settings json) RETURNS void LANGUAGE plpgsql AS $$
DECLARE arguments text;
BEGIN
  SELECT string_agg(quote_literal(a), ', ' ORDER BY n) INTO arguments FROM pg_trigger,
    LATERAL string_to_table(encode(tgargs, 'escape'), '\000') WITH ORDINALITY AS s (a, n)
    WHERE tgrelid = name::regclass AND tgname = '~dynamo_keys' AND a <> '' AND a NOT LIKE '{"settings":%';
  EXECUTE format('CREATE OR REPLACE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON %s FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys(%s)',
    name::regclass, arguments || coalesce(', ' || quote_literal('{"settings":' || settings || '}'), ''));
END $$;

-- ST01, ST05: a record for each change, with all its members
SELECT dyn_create_table('app', 'pk S', 'sk N');
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"1"},"v":{"S":"x\"ä\n"}}');
SELECT dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}', 'SET v = :v', vals => '{":v":{"SS":["b","a"]}}');
SELECT dyn_delete('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}');
SELECT peek();
SELECT regexp_replace(data, '(:)\d{10}(?=,)|\d{33}|[0-9a-f]{32}', '\1#', 'g') AS data FROM pg_logical_slot_peek_changes('plugin', NULL, NULL) LIMIT 1;
SELECT abs((j #>> '{dynamodb,ApproximateCreationDateTime}')::numeric - extract(epoch FROM now())) < 600 AS time,
	j #>> '{dynamodb,SequenceNumber}' ~ '^1\d{32}$' AS sequence, j ->> 'eventID' ~ '^[0-9a-f]{32}$' AS id,
  (substring(j #>> '{dynamodb,SequenceNumber}' FROM 2 FOR 20)::numeric + '0/0'::pg_lsn) > lsn AS "committed after it was written"
  FROM (SELECT data::json AS j, lsn FROM pg_logical_slot_peek_changes('plugin', NULL, NULL)) r;
SELECT bool_and(data COLLATE "C" > before COLLATE "C") AS "in the order of text too", count(*)
  FROM (SELECT data, lag(data) OVER (ORDER BY n) AS before FROM (SELECT data::json #>> '{dynamodb,SequenceNumber}', n
    FROM pg_logical_slot_peek_changes('plugin', NULL, NULL) WITH ORDINALITY AS c (lsn, xid, data, n)) r (data, n)) s WHERE before IS NOT NULL;
-- decoded again, each is the same
SELECT (SELECT array_agg(data) FROM pg_logical_slot_peek_changes('plugin', NULL, NULL)) =
	(SELECT array_agg(data) FROM pg_logical_slot_get_changes('plugin', NULL, NULL)) AS same;
SELECT get();
-- what JSON can say and Postgres' json cannot
SELECT dyn_put('app', '{"pk":{"S":"u\u0000"},"sk":{"N":"1"}}');
SELECT dyn_delete('app', '{"pk":{"S":"u\u0000"},"sk":{"N":"1"}}');
SELECT substring(data FROM '"Keys":[^,]*') AS keys FROM pg_logical_slot_get_changes('plugin', NULL, NULL);

-- ST02, ST03: what happened to the item, whatever asked for it; with the whole old row in the WAL no record without a change
ALTER TABLE app REPLICA IDENTITY FULL;
SELECT dyn_update('app', '{"pk":{"S":"b"},"sk":{"N":"1"}}', 'SET n = :n', vals => '{":n":{"N":"5"}}');
SELECT dyn_put('app', '{"pk":{"S":"b"},"sk":{"N":"1"},"n":{"N":"6"},"m":{"M":{"x":{"N":"1"},"y":{"NULL":true}}}}');
SELECT dyn_put('app', '{"m":{"M":{"y":{"NULL":true},"x":{"N":"1.0"}}},"n":{"N":"6.00"},"sk":{"N":"1e0"},"pk":{"S":"b"}}');
SELECT dyn_update('app', '{"pk":{"S":"b"},"sk":{"N":"1"}}', 'SET n = :n', vals => '{":n":{"N":"6"}}');
SELECT dyn_delete('app', '{"pk":{"S":"none"},"sk":{"N":"1"}}');
SELECT dyn_put('app', '{"pk":{"S":"b"},"sk":{"N":"1"}}', condition => 'attribute_not_exists(pk)');
SELECT dyn_delete('app', '{"pk":{"S":"b"},"sk":{"N":"1"}}');
SELECT get();

-- ST04: view types; SizeBytes counts keys and the images that there are
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"1"},"v":{"N":"1"}}');
SELECT dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}', 'SET v = :v', vals => '{":v":{"S":"22"}}');
SELECT dyn_delete('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}');
SELECT show(data), data::json #>> '{dynamodb,SizeBytes}' AS size FROM unnest('{KEYS_ONLY,NEW_IMAGE,OLD_IMAGE,NEW_AND_OLD_IMAGES}'::text[]) v,
  LATERAL pg_logical_slot_peek_changes('plugin', NULL, NULL, 'view-type', v);
SELECT get('format', 'plain');
-- an old image that was asked for and is not in the WAL
ALTER TABLE app REPLICA IDENTITY DEFAULT;
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"1"},"v":{"N":"1"}}');
SELECT dyn_update('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}', 'SET v = :v', vals => '{":v":{"S":"22"}}');
SELECT dyn_delete('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}');
SELECT peek('view-type', v) FROM unnest('{KEYS_ONLY,NEW_IMAGE,OLD_IMAGE,NEW_AND_OLD_IMAGES}'::text[]) v;
SELECT get();
-- as nothing can say that an item is the same, an update is a change
INSERT INTO app (item) VALUES ('{"pk":{"S":"a"},"sk":{"N":"1"}}');
UPDATE app SET item = item;
SELECT get();

-- ST06, ST07: in the order of commits, and nothing that was rolled back
SELECT dyn_put('app', format('{"pk":{"S":"k"},"sk":{"N":"1"},"v":{"N":"%s"}}', i)::dyn_item) FROM generate_series(1, 100) i \g /dev/null
SELECT array_agg(substring(get FROM '"v":{"N":"(\d+)"') ORDER BY n) = array_agg(n::text ORDER BY n) AS ordered, count(*), max(substring(get FROM '^\d+')::int)
	AS last FROM get() WITH ORDINALITY g (get, n) WHERE get LIKE '% {"pk":{"S":"k"}%';
BEGIN;
SELECT dyn_put('app', '{"pk":{"S":"no"},"sk":{"N":"1"}}');
ROLLBACK;
BEGIN;
SELECT dyn_put('app', '{"pk":{"S":"yes"},"sk":{"N":"1"}}');
SAVEPOINT s;
SELECT dyn_put('app', '{"pk":{"S":"no"},"sk":{"N":"1"}}');
ROLLBACK TO s;
SELECT dyn_put('app', '{"pk":{"S":"yes"},"sk":{"N":"2"}}');
SAVEPOINT s;
SELECT dyn_put('app', '{"pk":{"S":"yes"},"sk":{"N":"3"}}');
RELEASE s;
COMMIT;
BEGIN;
SELECT dyn_put('app', '{"pk":{"S":"prepared"},"sk":{"N":"1"}}');
PREPARE TRANSACTION 'stream';
SELECT peek();
SELECT dyn_put('app', '{"pk":{"S":"between"},"sk":{"N":"1"}}');
COMMIT PREPARED 'stream';
SELECT get();

-- ST12: transactions and batches; what keeps items absent is no item, whatever the view and the replica identity
ALTER TABLE app REPLICA IDENTITY FULL;
SELECT dyn_create_table('other', 'id S');
CREATE PROCEDURE absent() LANGUAGE plpgsql AS $$ BEGIN
  PERFORM dyn_transact('[{"ConditionCheck":{"TableName":"app","Key":{"pk":{"S":"absent"},"sk":{"N":"1"}},"ConditionExpression":"attribute_not_exists(pk)"}},
    {"Delete":{"TableName":"other","Key":{"id":{"S":"absent"}}}},
    {"ConditionCheck":{"TableName":"other","Key":{"id":{"S":"absent too"}},"ConditionExpression":"attribute_not_exists(id)"}},
    {"Put":{"TableName":"app","Item":{"pk":{"S":"t"},"sk":{"N":"1"}}}}, {"Put":{"TableName":"other","Item":{"id":{"S":"t"}}}},
    {"Update":{"TableName":"app","Key":{"pk":{"S":"t"},"sk":{"N":"2"}},"UpdateExpression":"SET v = :v","ExpressionAttributeValues":{":v":{"N":"1"}}}}]');
END $$;
CALL absent();
SELECT peek('view-type', v) FROM unnest('{KEYS_ONLY,OLD_IMAGE,NEW_AND_OLD_IMAGES}'::text[]) v;
SELECT get();
-- the transaction ends with a condition that does not hold
SELECT dyn_transact('[{"Delete":{"TableName":"other","Key":{"id":{"S":"absent"}}}}, {"Put":{"TableName":"other","Item":{"id":{"S":"no"}}}},
  {"ConditionCheck":{"TableName":"other","Key":{"id":{"S":"t"}},"ConditionExpression":"attribute_not_exists(id)"}}]');
SELECT dyn_batch_write('other', ARRAY['{"id":{"S":"b1"}}', '{"id":{"S":"b2"}}']::dyn_item[], ARRAY['{"id":{"S":"t"}}', '{"id":{"S":"none"}}']::dyn_item[]);
SELECT get();
-- an absent item that is kept so, and then is put by the same transaction
BEGIN;
SELECT dyn_transact('[{"Delete":{"TableName":"other","Key":{"id":{"S":"late"}}}}]');
SELECT dyn_put('other', '{"id":{"S":"late"}}');
SELECT dyn_delete('other', '{"id":{"S":"late"}}');
COMMIT;
SELECT get();

-- ST13: a record of the table, none of its indexes, nor of making one on items that are there
SELECT dyn_create_table('indexed', 'id S', global_indexes => '{"One": {"partition_key": "a S"}, "Two": {"partition_key": "b S", "sort_key": "a S"}}');
SELECT dyn_put('indexed', '{"id":{"S":"1"},"a":{"S":"a"},"b":{"S":"b"}}');
SELECT dyn_put('indexed', '{"id":{"S":"2"},"c":{"S":"c"}}');
SELECT get();
CALL dyn_create_index('indexed', 'Three', 'c S');
SELECT id, c FROM indexed ORDER BY id;
ALTER TABLE indexed REPLICA IDENTITY FULL;
SELECT dyn_update('indexed', '{"id":{"S":"1"}}', 'SET d = :d', vals => '{":d":{"S":"d"}}');
CALL dyn_create_index('indexed', 'Four', 'd S');
CALL dyn_drop_index('indexed', 'Three');
SELECT id, d FROM indexed ORDER BY id;
SELECT get();

-- ST11: what time to live removes is said to be removed by it, with and without old images
SELECT dyn_create_table('session', 'id S');
CALL dyn_enable_ttl('session', 'expires');
CREATE FUNCTION companion() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN DELETE FROM stream.session WHERE id = OLD.id || ' companion'; RETURN OLD; END $$;
CREATE TRIGGER companion AFTER DELETE ON session FOR EACH ROW EXECUTE FUNCTION companion();
CREATE PROCEDURE expire() LANGUAGE plpgsql AS $$ BEGIN
  PERFORM dyn_put('session', jsonb_build_object('id', id, 'expires', floor(extract(epoch FROM clock_timestamp())) + after))
    FROM (VALUES ('old', -60), ('old companion', 60)) v (id, after);
END $$;
CALL expire();
SELECT regexp_replace(get, '\d{10}', '#', 'g') AS get FROM get();
CALL dyn_sweep_ttl('session');
SELECT get();
ALTER TABLE session REPLICA IDENTITY FULL;
CALL expire();
SELECT dyn_put('session', '{"id":{"S":"user"},"expires":{"N":"1"}}');
CALL dyn_sweep_ttl('session', from_start => true);
SELECT dyn_delete('session', '{"id":{"S":"user"}}');
SELECT regexp_replace(get, '\d{10}', '#', 'g') AS get FROM get();
DROP TABLE session;

-- Marks that the extension has not signed, for this transaction, are none.
SELECT dyn_put('other', '{"id":{"S":"forged"},"v":{"N":"1"}}');
SELECT count(*) FROM get();
BEGIN;
SELECT true FROM unnest('{expiry,backfill,placeholder}'::text[]) kind, unnest(ARRAY['', ' ' || repeat('0', 32), ' ' || repeat('0', 200)]) signature,
  pg_logical_emit_message(true, 'dynamo_table', kind || ' start ' || 'other'::regclass::oid || signature) \g /dev/null
UPDATE other SET item = '{"id":{"S":"forged"},"v":{"N":"2"}}' WHERE id = 'forged';
DELETE FROM other WHERE id = 'forged';
SELECT true FROM pg_logical_emit_message(true, 'dynamo_table', ''), pg_logical_emit_message(true, 'dynamo_table', '\x00ff'::bytea) b,
	pg_logical_emit_message(false, 'dynamo_table', 'x') c;
COMMIT;
SELECT get();
SELECT slot_name FROM pg_create_logical_replication_slot('marks', 'test_decoding');
SELECT dyn_transact('[{"Delete":{"TableName":"other","Key":{"id":{"S":"absent"}}}}]');
SELECT substring(data FROM 'content:(.*)') AS mark FROM pg_logical_slot_get_changes('marks', NULL, NULL) WHERE data LIKE 'message:%' LIMIT 1 \gset
SELECT pg_drop_replication_slot('marks');
SELECT :'mark' ~ '^placeholder start \d+ [0-9a-f]{32}$' AS signed;
SELECT dyn_put('other', '{"id":{"S":"replayed"}}');
BEGIN;
SELECT true FROM pg_logical_emit_message(true, 'dynamo_table', :'mark');
DELETE FROM other WHERE id = 'replayed';
COMMIT;
SELECT get();
-- nobody reads the secret
CREATE ROLE regress_stream;
SET ROLE regress_stream;
SELECT * FROM dynamo_internal.stream_secret;
RESET ROLE;
DROP ROLE regress_stream;
SELECT count(*), min(length(secret)) FROM dynamo_internal.stream_secret;

-- ST15: values that TOAST keeps out of line
SELECT dyn_create_table('large', 'id S');
INSERT INTO large (item) SELECT jsonb_build_object('id', 'x', 'small', 1, 'large', string_agg(md5(i::text), '')) FROM generate_series(1, 9600) i;
SELECT md5(get), length(get) FROM get();
SELECT dyn_update('large', '{"id":{"S":"x"}}', 'SET small = small + :one', vals => '{":one":{"N":"1"}}');
SELECT length(j #>> '{NewImage,large,S}') AS large, j #>> '{NewImage,small,N}' AS new, j -> 'OldImage' AS old
	FROM (SELECT data::json -> 'dynamodb' FROM pg_logical_slot_get_changes('plugin', NULL, NULL)) r (j);
ALTER TABLE large REPLICA IDENTITY FULL;
SELECT dyn_update('large', '{"id":{"S":"x"}}', 'SET small = small + :one', vals => '{":one":{"N":"1"}}');
SELECT md5(j #>> '{OldImage,large,S}') = md5(j #>> '{NewImage,large,S}') AS same, length(j #>> '{OldImage,large,S}') AS large, j #>> '{NewImage,small,N}'
	AS new, j #>> '{OldImage,small,N}' AS old
  FROM (SELECT data::json -> 'dynamodb' FROM pg_logical_slot_get_changes('plugin', NULL, NULL)) r (j);

-- Plain SQL: further columns are nothing to items
CREATE TABLE plain (item dyn_item NOT NULL, note text, "pk" text COLLATE "C" PRIMARY KEY,
	CONSTRAINT dynamo_keys CHECK (dynamo_internal.keys_match(item, ARRAY['pk S'], pk)));
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON plain FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S');
INSERT INTO plain SELECT jsonb_build_object('pk', i::text, 'large', (SELECT string_agg(md5(n::text), '') FROM generate_series(1, 1000 * i) n)), 'note'
	FROM generate_series(0, 1) AS i;
SELECT count(*) FROM get();
UPDATE plain SET note = 'out of line, and not' WHERE pk = '1';
UPDATE plain SET note = 'inline' WHERE pk = '0';
SELECT get();
ALTER TABLE plain REPLICA IDENTITY FULL;
UPDATE plain SET note = 'nothing';
COPY plain (item) FROM stdin;
{"pk":{"S":"copied"}}
{"pk":{"S":"copied too"}}
\.
INSERT INTO plain (item) VALUES ('{"pk":{"S":"copied"},"v":{"N":"1"}}'), ('{"pk":{"S":"new"}}') ON CONFLICT (pk) DO UPDATE SET item = excluded.item;
INSERT INTO plain (item) VALUES ('{"pk":{"S":"copied"}}') ON CONFLICT DO NOTHING;
SELECT get();
-- another key, where nothing but the constraint is there
ALTER TABLE plain DISABLE TRIGGER ALL;
ALTER TABLE plain REPLICA IDENTITY DEFAULT;
UPDATE plain SET item = '{"pk":{"S":"moved"}}', pk = 'moved' WHERE pk = 'copied';
ALTER TABLE plain REPLICA IDENTITY FULL;
UPDATE plain SET item = '{"pk":{"S":"moved again"}}', pk = 'moved again' WHERE pk = 'moved';
SELECT get('view-type', 'NEW_AND_OLD_IMAGES');
ALTER TABLE plain ENABLE TRIGGER ALL;
-- nothing in the WAL to know a deleted item by
ALTER TABLE plain REPLICA IDENTITY NOTHING;
DELETE FROM plain WHERE pk LIKE 'copied%';
DELETE FROM plain WHERE pk = 'new';
UPDATE plain SET item = '{"pk":{"S":"moved again"},"v":{"N":"2"}}' WHERE pk = 'moved again';
SELECT get();
ALTER TABLE plain REPLICA IDENTITY DEFAULT;

-- Rewrites give nothing, TRUNCATE a record for a table
SELECT dyn_put('app', format('{"pk":{"S":"t"},"sk":{"N":"%s"}}', i)::dyn_item) FROM generate_series(1, 100) i \g /dev/null
SELECT count(*) FROM get();
VACUUM FULL app;
CLUSTER app USING app_pkey;
ALTER TABLE app SET ACCESS METHOD heap;
ALTER TABLE app SET ACCESS METHOD dynamo_table;
SELECT get();
TRUNCATE app, other;
SELECT get('view-type', 'NEW_IMAGE');

-- Streams: a change belongs to the stream that was enabled when it was written, and has its view
SELECT settings('app', '{"streams": [{"label": 1700000000123, "view_type": "KEYS_ONLY", "shards": 4}]}');
SELECT dyn_put('app', '{"pk":{"S":"s"},"sk":{"N":"1"},"v":{"N":"1"}}'), dyn_put('other', '{"id":{"S":"s"}}');
SELECT settings('app', '{"streams": [{"label": 1700000000123, "view_type": "KEYS_ONLY", "shards": 4, "disabled": 1700000000999}]}');
SELECT dyn_put('app', '{"pk":{"S":"s"},"sk":{"N":"1"},"v":{"N":"2"}}');
BEGIN;
SELECT dyn_put('app', '{"pk":{"S":"s"},"sk":{"N":"2"}}'), dyn_put('other', '{"id":{"S":"s"},"v":{"N":"1"}}');
SELECT settings('app', '{"streams": [{"label": 1700000000123, "view_type": "KEYS_ONLY", "shards": 4, "disabled": 1700000000999},
	{"label": 1800000000123, "view_type": "OLD_IMAGE", "shards": 3}]}');
SELECT dyn_update('app', '{"pk":{"S":"s"},"sk":{"N":"1"}}', 'SET v = :v', vals => '{":v":{"N":"3"}}');
COMMIT;
TRUNCATE app;
SELECT dyn_put('app', '{"pk":{"S":"s"},"sk":{"N":"3"}}');
SELECT peek();
-- only-streams: numbers count what is in streams; a TRUNCATE is one for each shard
SELECT peek('only-streams', v) FROM unnest('{yes,off}'::text[]) v;
BEGIN;
TRUNCATE app;
SELECT dyn_put('app', '{"pk":{"S":"s"},"sk":{"N":"3"}}');
COMMIT;
SELECT get('only-streams', 'true', 'view-type', 'NEW_IMAGE');

-- The past is decoded as it was: attributes, names, places, tables that are gone
SELECT settings('app', NULL);
ALTER TABLE app REPLICA IDENTITY FULL;
SELECT dyn_put('app', '{"pk":{"S":"p"},"sk":{"N":"1"}}');
ALTER TABLE app ADD COLUMN more text DEFAULT 'more';
UPDATE app SET item = '{"pk":{"S":"p"},"sk":{"N":"1"},"v":{"N":"2"}}' WHERE sk = 1;
ALTER TABLE app DROP COLUMN more;
ALTER TABLE app RENAME pk TO key;
UPDATE app SET item = '{"pk":{"S":"p"},"sk":{"N":"1"},"v":{"N":"3"}}' WHERE sk = 1;
ALTER TABLE app RENAME TO "Moved ""app""";
SELECT dyn_put('Moved "app"', '{"pk":{"S":"p"},"sk":{"N":"1"},"v":{"N":"4"}}');
CREATE SCHEMA "else,where";
ALTER TABLE "Moved ""app""" SET SCHEMA "else,where";
UPDATE "else,where"."Moved ""app""" SET item = '{"pk":{"S":"p"},"sk":{"N":"1"},"v":{"N":"5"}}' WHERE sk = 1;
ALTER SCHEMA "else,where" RENAME TO elsewhere;
UPDATE elsewhere."Moved ""app""" SET item = '{"pk":{"S":"p"},"sk":{"N":"1"},"v":{"N":"6"}}' WHERE sk = 1;
DROP SCHEMA elsewhere CASCADE;
-- option tables, by the names that tables had
SELECT 'else,where' AS tables, peek('tables', '"else,where"."Moved ""app"""') UNION ALL SELECT 'elsewhere', peek('tables', ' elsewhere."Moved ""app""" ')
	UNION ALL SELECT 'any', peek('tables', 'none,"Moved ""app""", OTHER');
SELECT get();

-- A partition's changes are those of the table that has the trigger
CREATE TABLE parts (item dyn_item NOT NULL, pk text COLLATE "C" PRIMARY KEY,
	CONSTRAINT dynamo_keys CHECK (dynamo_internal.keys_match(item, ARRAY['pk S'], pk))) PARTITION BY RANGE (pk);
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON parts FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S');
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM ('a') TO ('m');
CREATE TABLE parts_2 (pk text COLLATE "C" NOT NULL, dropped int, item dyn_item NOT NULL,
	CONSTRAINT dynamo_keys CHECK (dynamo_internal.keys_match(item, ARRAY['pk S'], pk)));
ALTER TABLE parts_2 DROP COLUMN dropped;
ALTER TABLE parts ATTACH PARTITION parts_2 FOR VALUES FROM ('m') TO ('z');
INSERT INTO parts (item, pk) VALUES ('{"pk":{"S":"b"}}', 'b'), ('{"pk":{"S":"n"}}', 'n');
SELECT settings('parts', '{"streams": [{"label": 1700000000123, "view_type": "NEW_IMAGE", "shards": 1}]}');
DELETE FROM parts WHERE pk = 'n';
SELECT dyn_transact('[{"Delete":{"TableName":"parts","Key":{"pk":{"S":"q"}}}},
	{"Update":{"TableName":"parts","Key":{"pk":{"S":"b"}},"UpdateExpression":"SET v = :v","ExpressionAttributeValues":{":v":{"N":"1"}}}}]');
ALTER TABLE parts RENAME TO divided;
INSERT INTO parts_1 (item) VALUES ('{"pk":{"S":"c"}}');
TRUNCATE parts_1;
TRUNCATE divided;
ALTER TABLE divided DETACH PARTITION parts_1;
INSERT INTO parts_1 (item, pk) VALUES ('{"pk":{"S":"d"}}', 'd');
SELECT get();

-- What an owner does to his table raises no error
CREATE TABLE odd (item dyn_item NOT NULL, pk text COLLATE "C" PRIMARY KEY);
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON odd FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S');
CREATE FUNCTION odd(step text, statement text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
  EXECUTE statement;
  ALTER TABLE odd DISABLE TRIGGER ALL;
  EXECUTE format('INSERT INTO odd (item, pk) VALUES (%L, %L)', json_build_object('pk', json_build_object('S', step)), step);
END $$;
CREATE FUNCTION arguments(VARIADIC arguments text[]) RETURNS text LANGUAGE sql AS
$$ SELECT 'CREATE OR REPLACE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON odd FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys(' ||
	string_agg(quote_literal(a), ', ') || ')' FROM unnest(arguments) a $$;
SELECT odd('no type', arguments('pk'));
SELECT odd('fine 1', arguments('pk S'));
SELECT odd('another type', arguments('pk N'));
SELECT odd('settings', arguments('pk S', '{"settings":{"unknown":1}}'));
SELECT odd('settings 2', arguments('pk S', '{"settings":'));
SELECT odd('settings 3', arguments('pk S', '{"settings":{"streams":[{"label":1}]}}'));
SELECT odd('settings 4', arguments('pk S', '{"settings":{"streams":[{"label":253402300800000,"shards":1}]}}'));
SELECT odd('settings 5', arguments('pk S', '{"settings":{"streams":[{"label":9223372036854775807,"shards":1}]}}'));
SELECT odd('settings 6', arguments('pk S', '{"settings":{"streams":[{"label":1,"shards":1,"disabled":9223372036854775807}]}}'));
SELECT odd('nesting', arguments('pk S', '{"settings":' || repeat('[', 20000)));
SELECT odd('an index', arguments('pk S', '{"nonsense"}'));
SELECT odd('neither', arguments('pk S', '{"nonsense'));
SELECT odd('swapped', arguments('pk S', '{"settings":{}}', 'pk S'));
SELECT odd('fine 2', arguments('pk S'));
SELECT odd('no key', 'ALTER TABLE odd DROP CONSTRAINT odd_pkey');
SELECT odd('fine 3', 'ALTER TABLE odd ADD PRIMARY KEY (pk)');
SELECT odd('nullable', 'ALTER TABLE odd ALTER item DROP NOT NULL');
SELECT odd('no trigger', 'ALTER TABLE odd ALTER item SET NOT NULL; DROP TRIGGER "~dynamo_keys" ON odd');
SELECT odd('not ours', 'CREATE TRIGGER "~dynamo_keys" BEFORE UPDATE ON odd FOR EACH ROW
	EXECUTE FUNCTION suppress_redundant_updates_trigger(); ALTER TABLE odd DISABLE TRIGGER ALL');
SELECT odd('fine 4', 'DROP TRIGGER "~dynamo_keys" ON odd; ' || arguments('pk S'));
SELECT odd('text', 'ALTER TABLE odd ALTER item TYPE text');
SELECT odd('renamed', 'ALTER TABLE odd RENAME item TO thing; ALTER TABLE odd ALTER thing DROP NOT NULL; ALTER TABLE odd ADD COLUMN item text');
SELECT get('tables', 'odd');
-- an item that has not the key of its row
ALTER TABLE odd DROP COLUMN item;
ALTER TABLE odd ADD COLUMN item dyn_item NOT NULL DEFAULT '{}';
INSERT INTO odd (pk) VALUES ('by the column');
UPDATE odd SET item = '{"pk":{"N":"1"}}' WHERE pk = 'by the column';
SELECT get('tables', 'odd');
CREATE TABLE numbers (item dyn_item NOT NULL DEFAULT '{}', n numeric PRIMARY KEY);
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON numbers FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('n N');
ALTER TABLE numbers DISABLE TRIGGER ALL;
INSERT INTO numbers (n) VALUES ('NaN'), ('1e200'), (1.50);
SELECT get('tables', 'numbers');

-- Options
SELECT get('table', 'app');
SELECT get('tables', ' ');
SELECT get('tables', 'a,');
SELECT get('tables', '"a');
SELECT get('tables', 'a.b.c');
SELECT get('view-type', 'new_image');
SELECT get('format', 'api');
SELECT get('only-streams', 'often');
SELECT get('include-xids', '0');
\set VERBOSITY default
SELECT get('', '');
SELECT get('view-type', '');
SELECT get('tables', 'a.');
\set VERBOSITY terse

-- Texts for a client with another encoding are converted, if they can be
INSERT INTO plain (item) VALUES ('{"pk":{"S":"ä"}}');
SET client_encoding = latin1;
SELECT peek('tables', 'plain') = format('1 INSERT plain {"pk":{"S":"%s"}} new {"pk":{"S":"%1$s"}}', U&'\00e4') AS converted;
RESET client_encoding;
INSERT INTO plain (item) VALUES ('{"pk":{"S":"日本"}}');
SET client_encoding = latin1;
SELECT peek('tables', 'plain');
RESET client_encoding;

SELECT pg_drop_replication_slot('plugin');
\set VERBOSITY terse
SET client_min_messages = warning;
DROP SCHEMA stream CASCADE;
\set ECHO none
\i test/sql/switch_on.sql
\set ECHO all
