-- Needs logical decoding.
SELECT current_setting('wal_level') <> 'logical' AS skipped \gset
\if :skipped
\echo skipped: wal_level is not logical
\quit
\endif
-- What an owner can store past the check of a table of items: bytes that are no item, and a trigger that says what is not so. Who decodes leaves that out,
-- and goes on with all else.
\set VERBOSITY terse
SET client_min_messages = warning;
CREATE SCHEMA stream_invalid;
SET search_path = stream_invalid, public;
CALL dyn_setup_streams();
SELECT count(*) FROM pg_create_logical_replication_slot('plugin', 'dynamo_table');
-- as some extension may have it; a text or bytea that is taken for an item
CREATE CAST (bytea AS dyn_item) WITHOUT FUNCTION;
SELECT dyn_create_table('poisoned', 'pk S'), dyn_create_table('sound', 'pk S');
SELECT count(dyn_enable_stream(t, 'NEW_AND_OLD_IMAGES', 1)) FROM (VALUES ('poisoned'), ('sound')) v (t);
ALTER TABLE poisoned DISABLE TRIGGER ALL;
DO $$ DECLARE c name; BEGIN
  FOR c IN SELECT conname FROM pg_constraint WHERE conrelid = 'poisoned'::regclass AND contype = 'c' LOOP
    EXECUTE format('ALTER TABLE poisoned DROP CONSTRAINT %I', c);
  END LOOP;
END $$;
CREATE TABLE wrong (what text PRIMARY KEY, bytes bytea);
INSERT INTO wrong VALUES ('empty', ''), ('one byte', '\x10'), ('no root', '\x1007'), ('unknown format', '\x2006'), ('flags', '\x1206'),
	('map of nothing', '\x1007'),
  ('a string', '\x1001616263'), ('a number', '\x1002ff0178'), ('offsets', '\x1007ff00'), ('placeholder', '\x1107'), ('zero type', '\x1000'),
  ('cut', '\x100701'),
  ('no number', '\x10070108016e02ff01781701'), ('long n', '\x100701ff' || '\x016e02'::bytea || decode(repeat('61', 252), 'hex'));
-- each new, then valid, then invalid again, then removed
INSERT INTO poisoned (pk, item) SELECT what, bytes::dyn_item FROM wrong;
UPDATE poisoned SET item = jsonb_build_object('pk', pk, 'valid', true)::dyn_item;
UPDATE poisoned p SET item = w.bytes::dyn_item FROM wrong w WHERE p.pk = w.what AND length(w.bytes) > 1;
DELETE FROM poisoned WHERE pk <> 'long n';
SELECT dyn_put('sound', '{"pk":{"S":"a"}}');
CALL dyn_collect_streams() \gset
SELECT keys ->> 'pk' AS pk, event_name, new_image ->> 'valid' AS new, old_image ->> 'valid' AS old, incomplete FROM dyn_read_stream('poisoned') ORDER BY 1,
	sequence_number;
SELECT keys, event_name FROM dyn_read_stream('sound');
-- the plugin itself, as pg_recvlogical has it
SELECT data::json -> 'dynamodb' -> 'Keys' ->> 'pk' AS pk, data::json ->> 'eventName' AS event, count(*) FROM pg_logical_slot_get_changes('plugin', NULL, NULL)
	GROUP BY 1, 2 ORDER BY 1, 2;

-- a trigger's arguments: an attribute of time to live that is no number, keys that are none together, settings of any kind
CREATE FUNCTION forge(name regclass, VARIADIC arguments text[]) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
  EXECUTE format('CREATE OR REPLACE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON %s FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys(%s)', name,
    (SELECT string_agg(quote_literal(a), ', ') FROM unnest(arguments) a));
  EXECUTE format('ALTER TABLE %s DISABLE TRIGGER ALL', name);
END $$;
CREATE FUNCTION settings(more text, stream text DEFAULT '') RETURNS text LANGUAGE sql AS $$
  SELECT format('{"settings": {"streams": [{"label": 1700000000123, "view_type": "NEW_AND_OLD_IMAGES", "shards": 1%s}]%s}}', stream, more) $$;
CREATE FUNCTION change(name text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
  EXECUTE format('INSERT INTO %I (pk, item) VALUES (''forged'', ''{"pk":{"S":"forged"},"n":{"S":"abc"}}'')', name);
  EXECUTE format('UPDATE %I SET item = ''{"pk":{"S":"forged"},"n":{"S":"abd"}}'' WHERE pk = ''forged''', name);
  EXECUTE format('DELETE FROM %I', name);
END $$;
DO $$
DECLARE
  given text[];
BEGIN
  FOREACH given SLICE 1 IN ARRAY ARRAY[
    ['pk S', settings(', "ttl_attribute": "n"')], ['pk S', settings(', "ttl_attribute": ""')], ['pk S', settings(', "name": "poisoned\u0000"')],
    ['pk S', settings(', "tags": {"a": "b"}, "x": 1')],
    ['pk S', settings('', ', "disabled": 1')], ['pk S', settings('', ', "disabled": -1')], ['pk S', settings('', ', "shards": 9999999999')],
    ['pk S', settings('', ', "label": 1e125')],
    ['pk S', '{"settings": {}}'], ['pk S', '{"settings":'], ['pk S', '{"settings": ' || repeat('[', 5000)],
    ['pk S', '{"settings": ' || repeat('{"a":', 40) || '1' || repeat('}', 40) || '}'],
    ['pk N', settings('')], ['pk', settings('')], ['', settings('')], [repeat('k', 70000) || ' S', settings('')], ['n S', settings('')],
    ['missing S', settings('')]] LOOP
    PERFORM forge('poisoned', VARIADIC given);
    PERFORM change('poisoned');
  END LOOP;
END $$;
-- two columns of the key with one attribute
SELECT dyn_create_table('doubled', 'pk S', 'sk S');
ALTER TABLE doubled DISABLE TRIGGER ALL;
SELECT forge('doubled', 'pk S', 'pk S', settings(''));
DO $$ DECLARE c name; BEGIN
  FOR c IN SELECT conname FROM pg_constraint WHERE conrelid = 'doubled'::regclass AND contype = 'c' LOOP
    EXECUTE format('ALTER TABLE doubled DROP CONSTRAINT %I', c);
  END LOOP;
END $$;
INSERT INTO doubled (pk, sk, item) VALUES ('a', 'b', '{"pk":{"S":"a"}}'), ('a', 'c', '\x1007'::bytea::dyn_item);
DELETE FROM doubled;
-- marks that are none
SELECT count(pg_logical_emit_message(true, 'dynamo_table', m)) FROM (VALUES (''), ('expiry'), ('expiry start'), ('expiry start 1'),
	('expiry start 99999999999999999999 x'), (repeat('x', 99)), (repeat('x', 100)), (repeat('x', 5000)),
  ('closing end ' || 'poisoned'::regclass::oid), (repeat('%s%n', 20))) v (m);
SELECT count(pg_logical_emit_message(true, 'dynamo_table', m)) FROM (VALUES ('\x00'::bytea), ('\x657870697279'), ('\xff00ff'),
	('\x65787069727920737461727420310020')) v (m);
-- the shard of a reference table of Citus, which has no bounds
\set ECHO none
\i test/sql/like_citus.sql
\set ECHO all
SET allow_system_table_mods = on;
CREATE TABLE reference (item dyn_item NOT NULL, pk text COLLATE "C" PRIMARY KEY);
CREATE TABLE reference_102008 (LIKE reference INCLUDING ALL, CONSTRAINT dynamo_definition_102008 CHECK
  ('["pk S", "{\"settings\": {\"streams\": [{\"label\": 1, \"view_type\": \"KEYS_ONLY\", \"shards\": 1}]}}"]'::text IS NOT NULL));
INSERT INTO pg_catalog.pg_dist_partition VALUES ('reference', 'n');
INSERT INTO pg_catalog.pg_dist_shard VALUES ('reference', 102008);
INSERT INTO pg_catalog.pg_dist_placement VALUES (102008, 0);
INSERT INTO reference_102008 VALUES ('{"pk":{"S":"a"}}', 'a');
SELECT dyn_put('sound', '{"pk":{"S":"b"}}');
CALL dyn_collect_streams() \gset
SELECT keys, event_name FROM dyn_read_stream('sound');
SELECT count(*) FROM dynamo_internal.stream_placements;
\set ECHO none
\i test/sql/unlike_citus.sql
\set ECHO all
SELECT count(*) >= 1 AS goes_on FROM pg_logical_slot_get_changes('plugin', NULL, NULL) WHERE data::json -> 'dynamodb' -> 'Keys' #>> '{pk,S}' = 'b';
SELECT state FROM dyn_stream_slots;
SELECT pg_drop_replication_slot('plugin');
SELECT dyn_disable_stream('sound');
DROP TABLE poisoned, doubled, reference, reference_102008;
CALL dyn_teardown_streams();
DROP CAST (bytea AS dyn_item);
DROP SCHEMA stream_invalid CASCADE;
