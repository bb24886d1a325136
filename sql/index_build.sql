-- A global secondary index comes to a table with items, and goes again: I05, I10, I25.
\set SHOW_CONTEXT never
SELECT dyn_create_table('app', 'pk S', 'sk S');
SELECT count(*) FILTER (WHERE dyn_put('app', jsonb_build_object('pk', 'p' || i % 10, 'sk', 's' || i, 'GSI1PK', 'g' || i % 3, 'GSI1SK', i)) IS NULL)
	FROM generate_series(1, 900) i;
SELECT count(*) FILTER (WHERE dyn_put('app', jsonb_build_object('pk', 'sparse', 'sk', 's' || i, 'GSI1PK', 'g' || i)) IS NULL) FROM generate_series(1, 50) i;

-- items whose attributes cannot be keys are left out
SELECT dyn_put('app', '{"pk":{"S":"bad"},"sk":{"S":"type"},"GSI1PK":{"N":"1"},"GSI1SK":{"N":"1"}}');
SELECT dyn_put('app', '{"pk":{"S":"bad"},"sk":{"S":"both"},"GSI1PK":{"BOOL":true},"GSI1SK":{"S":"1"}}');
SELECT dyn_put('app', '{"pk":{"S":"bad"},"sk":{"S":"empty"},"GSI1PK":{"S":""},"GSI1SK":{"N":"1"}}');
SELECT dyn_put('app', jsonb_build_object('pk', 'bad', 'sk', 'long', 'GSI1PK', repeat('x', 2049), 'GSI1SK', 1));
SELECT dyn_put('app', jsonb_build_object('pk', 'bad', 'sk', string_agg(md5(i::text), ''), 'GSI1PK', string_agg(md5('x' || i), '') ||
	string_agg(md5('y' || i), ''), 'GSI1SK', 1)) FROM generate_series(1, 31) i;
CALL dyn_create_index('app', 'GSI1', 'GSI1PK S', 'GSI1SK N');
\d app
SELECT count(*), count(DISTINCT "GSI1PK"), sum("GSI1SK") FROM app WHERE "GSI1PK" IS NOT NULL AND "GSI1SK" IS NOT NULL;
SELECT count(*) FROM app WHERE item ->> 'GSI1PK' = 'g1' AND item ? 'GSI1SK';
SELECT left(key ->> 'sk', 5) AS sk, (SELECT count(*) FROM json_object_keys(key::json)) AS keys, index_name, attribute, reason FROM dyn_index_violations('app')
	ORDER BY key ->> 'sk', attribute;
SELECT count(*) FROM dyn_index_violations('app', 'GSI1');
SELECT * FROM dyn_index_violations('app', 'GSI2');
SELECT * FROM dyn_index_violations('nothing');
SELECT * FROM dyn_index_violations(NULL);
SELECT * FROM dyn_jobs WHERE kind IN ('index', 'time to live');

-- such an item can be changed in everything else, and enters once it is repaired
SELECT dyn_update('app', '{"pk":{"S":"bad"},"sk":{"S":"type"}}', 'SET x = :x', vals => '{":x":{"N":"1"}}');
SELECT dyn_update('app', '{"pk":{"S":"bad"},"sk":{"S":"type"}}', 'SET GSI1PK = :x', vals => '{":x":{"N":"2"}}');
SELECT dyn_update('app', '{"pk":{"S":"bad"},"sk":{"S":"type"}}', 'SET GSI1PK = :x', vals => '{":x":{"S":"repaired"}}');
SELECT pk, sk, "GSI1SK" FROM app WHERE "GSI1PK" = 'repaired' AND "GSI1SK" = 1;
SELECT count(*) FROM dyn_index_violations('app');

-- what cannot be
CALL dyn_create_index('app', 'GSI1', 'GSI1PK S', 'GSI1SK N');
\echo :SQLSTATE
CALL dyn_create_index('app', 'GSI1', 'other S');
\echo :SQLSTATE
BEGIN;
CALL dyn_create_index('app', 'GSI2', 'x S');
\echo :SQLSTATE
ROLLBACK;
DO $$ BEGIN CALL dyn_create_index('app', 'GSI2', 'x S'); EXCEPTION WHEN OTHERS THEN RAISE NOTICE '% %', sqlstate, sqlerrm; END $$;
BEGIN;
CALL dyn_drop_index('app', 'GSI1');
ROLLBACK;
-- nor in a subtransaction, the end of which frees what the calls have left
BEGIN;
SAVEPOINT one;
CALL dyn_drop_index('app', 'GSI1');
ROLLBACK TO one;
CALL dynamo_internal.resume_index('app', 'GSI1');
ROLLBACK TO one;
CALL dynamo_internal.resume_ttl('app');
ROLLBACK TO one;
SAVEPOINT two;
SAVEPOINT three;
COMMIT;
CALL dyn_create_index('nothing', 'GSI2', 'x S');
\echo :SQLSTATE
CALL dyn_create_index(NULL, 'GSI2', 'x S');
CALL dyn_create_index('app', NULL, 'x S');
CALL dyn_create_index('app', 'GSI2', NULL::text);
CALL dyn_create_index('app', 'GSI2', 'x');
CALL dyn_create_index('app', 'GSI2', 'x S', 'x S');
CALL dyn_create_index('app', 'GSI2', 'x S', 'GSI1PK N');
CALL dyn_create_index('app', 'GSI2', 'x S', projection => 'SOME');
CALL dyn_create_index('app', 'GSI2', 'x S', projection => 'INCLUDE');
CALL dyn_create_index('app', 'GSI2', 'x S', projection => 'INCLUDE', non_key_attributes => ARRAY['a', NULL]);
CALL dyn_create_index('app', 'GSI2', 'x S', non_key_attributes => ARRAY['a']);
CALL dyn_create_index('app', 'GSI2', ARRAY['a S', 'b S', 'c S', 'd S', 'e S']);
CALL dyn_create_index('app', 'GSI2', ARRAY['a S', NULL]);
CALL dyn_drop_index('app', 'GSI2');
\echo :SQLSTATE
CALL dyn_drop_index('nothing', 'GSI2');
\echo :SQLSTATE
CREATE ROLE index_other;
SET ROLE index_other;
CALL dyn_create_index('app', 'GSI2', 'x S');
\echo :SQLSTATE
CALL dyn_drop_index('app', 'GSI1');
SELECT * FROM dyn_index_violations('app');
RESET ROLE;
ALTER TABLE app ADD COLUMN taken int;
CALL dyn_create_index('app', 'GSI2', 'taken S');
\echo :SQLSTATE
ALTER TABLE app DROP COLUMN taken;
SELECT dyn_describe_table('app') -> 'GlobalSecondaryIndexes' -> 1 AS no_second;

-- projections are kept; a key of one index may be another's: I12, I13, I26
CALL dyn_create_index('app', 'GSI2', 'GSI1PK S', 'sk S', 'INCLUDE', ARRAY['b', 'a']);
CALL dyn_create_index('app', 'GSI3', 'GSI1PK S', projection => 'KEYS_ONLY');
SELECT jsonb_path_query_array(dyn_describe_table('app'), '$.GlobalSecondaryIndexes[*].Projection');
CALL dyn_drop_index('app', 'GSI1');
CALL dyn_drop_index('app', 'GSI3');
SELECT attname FROM pg_attribute WHERE attrelid = 'app'::regclass AND attnum > 0 AND NOT attisdropped;
SELECT count(*) FROM app WHERE "GSI1PK" = 'repaired';
CALL dyn_drop_index('app', 'GSI2');
\d app

-- keys of the table, in turn; the primary key's order needs no btree of its own: I22
CALL dyn_create_index('app', 'Inverted', 'sk S', 'pk S');
CALL dyn_create_index('app', 'Same', 'pk S', 'sk S');
\d app
CALL dyn_drop_index('app', 'Same');
CALL dyn_drop_index('app', 'Inverted');
\d app

-- several attributes
SELECT count(*) FILTER (WHERE dyn_put('app', jsonb_build_object('pk', 'm' || i, 'sk', 's', 'a', 'a' || i % 2, 'b', i % 3, 'c', 'c' || i % 5) || CASE
	WHEN i < 50 THEN '{"d":"d"}' ELSE '{}' END::jsonb) IS NULL) FROM generate_series(1, 60) i;
CALL dyn_create_index('app', 'Several', ARRAY['a S', 'b N'], ARRAY['c S', 'd S']);
\d "app_Several"
SELECT count(*) FROM app WHERE a = 'a1' AND b = 2 AND c IS NOT NULL AND d IS NOT NULL;
CALL dyn_drop_index('app', 'Several');

-- the btree dropped by plain SQL: the index is built again, or goes
CALL dyn_create_index('app', 'GSI1', 'GSI1PK S', 'GSI1SK N');
DROP INDEX "app_GSI1";
SELECT dyn_describe_table('app') #>> '{GlobalSecondaryIndexes,0,IndexStatus}' AS status;
CALL dyn_create_index('app', 'GSI1', 'GSI1PK S');
\echo :SQLSTATE
CALL dyn_create_index('app', 'GSI1', 'GSI1PK S', 'GSI1SK N');
SELECT dyn_describe_table('app') #>> '{GlobalSecondaryIndexes,0,IndexStatus}' AS status;
DROP INDEX "app_GSI1";
CALL dyn_drop_index('app', 'GSI1');
\d app

-- a name that is taken; a btree that somebody has made already
CREATE INDEX "app_GSI1" ON app (pk);
CALL dyn_create_index('app', 'GSI1', 'GSI1PK S', 'GSI1SK N');
SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 'app'::regclass ORDER BY 1;
DROP INDEX "app_GSI1", "app_GSI1_1";
CREATE INDEX made ON app ("GSI1PK", "GSI1SK", pk, sk) WHERE "GSI1PK" IS NOT NULL AND "GSI1SK" IS NOT NULL;
CALL dyn_create_index('app', 'GSI1', 'GSI1PK S', 'GSI1SK N');
DROP INDEX made;
CALL dyn_create_index('app', 'GSI1', 'GSI1PK S', 'GSI1SK N');
SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 'app'::regclass ORDER BY 1;

-- what a crash can leave: half of the declaration, rows without columns, a btree that is not valid
UPDATE pg_index SET indisvalid = false WHERE indexrelid = '"app_GSI1"'::regclass;
CREATE OR REPLACE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON app FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S', 'sk S',
	'{"name": "GSI1", "type": "global", "status": "CREATING", "partition_key": ["GSI1PK S"], "sort_key": ["GSI1SK N"]}');
ALTER TABLE app DISABLE TRIGGER "~dynamo_keys", DROP CONSTRAINT dynamo_keys;
UPDATE app SET "GSI1PK" = NULL WHERE sk > 's5';
UPDATE app SET "GSI1PK" = 'wrong' WHERE pk = 'sparse';
CALL dyn_create_index('app', 'GSI1', 'GSI1PK S');
CALL dyn_create_index('app', 'GSI1', 'GSI1PK S', 'GSI1SK N');
\d app
SELECT count(*) FROM app WHERE "GSI1PK" IS NOT NULL AND "GSI1SK" IS NOT NULL;
UPDATE pg_index SET indisvalid = false WHERE indexrelid = '"app_GSI1"'::regclass;
CALL dyn_drop_index('app', 'GSI1');
\d app
DROP TABLE app;

-- two of them at once, one of which was interrupted: the constraint is proved when nothing is unfinished any more
SELECT dyn_create_table('two', 'pk S');
SELECT count(*) FILTER (WHERE dyn_put('two', jsonb_build_object('pk', i::text, 'g', 'x', 'h', 'y', 'until', 4000000000)) IS NULL) FROM generate_series(1, 3) i;
CREATE VIEW two_state AS SELECT convalidated, (SELECT regexp_replace(pg_get_triggerdef(oid), '^.*dynamo_internal.derive_keys', '') FROM pg_trigger
	WHERE tgrelid = conrelid AND tgname = '~dynamo_keys') ~ 'CREATING' AS unfinished,
	(SELECT count(*) FROM pg_attribute WHERE attrelid = conrelid AND attnum > 0 AND NOT attisdropped) AS columns FROM pg_constraint WHERE conrelid =
	'two'::regclass AND contype = 'c';
CALL dyn_enable_ttl('two', 'until');
CALL dyn_create_index('two', 'GSI2', 'h S');
CREATE FUNCTION two_stop() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'stop'; END $$;
CREATE TRIGGER stop BEFORE UPDATE ON two FOR EACH ROW EXECUTE FUNCTION two_stop();
CALL dyn_create_index('two', 'GSI1', 'g S');
ALTER TABLE two DISABLE TRIGGER stop;
CALL dyn_drop_index('two', 'GSI2');
TABLE two_state;
CALL dyn_disable_ttl('two');
TABLE two_state;
CALL dyn_create_index('two', 'GSI1', 'g S');
TABLE two_state;
-- the same of time to live that is disabled by the rest of a call, and of an index that is given up
CALL dyn_enable_ttl('two', 'until');
ALTER TABLE two ENABLE TRIGGER stop;
CALL dyn_create_index('two', 'GSI2', 'h S');
ALTER TABLE two DISABLE TRIGGER stop;
DO $$ BEGIN
	EXECUTE (SELECT regexp_replace(replace(pg_get_triggerdef(oid), 'CREATE TRIGGER', 'CREATE OR REPLACE TRIGGER'), '("ttl_attribute": "until")',
		'\1, "ttl_status": "DELETING"')
		FROM pg_trigger WHERE tgrelid = 'two'::regclass AND tgname = '~dynamo_keys');
END $$;
CALL dynamo_internal.resume_ttl('two'::regclass);
TABLE two_state;
CALL dyn_drop_index('two', 'GSI2');
TABLE two_state;
DROP TABLE two CASCADE;
DROP FUNCTION two_stop;

-- limits; local indexes
SELECT dyn_create_table('many', 'pk S', 'sk S', global_indexes => (SELECT jsonb_object_agg('GSI' || i, '{"partition_key":"x S"}'::jsonb)
	FROM generate_series(1, 20) i), local_indexes => '{"LSI1":{"sort_key":"l S"}}');
CALL dyn_create_index('many', 'GSI21', 'x S');
\echo :SQLSTATE
CALL dyn_drop_index('many', 'LSI1');
\echo :SQLSTATE
CALL dyn_create_index('many', 'LSI1', 'x S');
CALL dyn_drop_index('many', 'GSI7');
SELECT count(*) FROM pg_index WHERE indrelid = 'many'::regclass;
CALL dyn_create_index('many', 'GSI7', 'x S');
SELECT count(*) FROM pg_index WHERE indrelid = 'many'::regclass;
DROP TABLE many;

-- sessions with other defaults, other roles, other kinds of tables
CREATE ROLE index_owner;
GRANT CREATE ON SCHEMA public TO index_owner;
SET ROLE index_owner;
SELECT dyn_create_table('mine', 'pk S');
SELECT dyn_put('mine', '{"pk":{"S":"a"},"x":{"S":"1"}}');
SET default_transaction_isolation = 'repeatable read';
SET search_path = pg_catalog;
SET enable_tidscan = off;
CALL public.dyn_create_index('public.mine', 'GSI1', 'x S');
RESET default_transaction_isolation;
RESET search_path;
RESET enable_tidscan;
SELECT relname, relowner::regrole FROM pg_class WHERE relname = 'mine_GSI1';
SELECT x FROM mine;
CALL dyn_drop_index('mine', 'GSI1');
SET default_transaction_isolation = 'serializable';
SET default_transaction_read_only = on;
CALL dyn_create_index('mine', 'GSI1', 'x S');
RESET default_transaction_read_only;
RESET default_transaction_isolation;
ALTER TABLE mine ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CALL dyn_create_index('mine', 'GSI1', 'x S');
\echo :SQLSTATE
ALTER TABLE mine NO FORCE ROW LEVEL SECURITY;
CALL dyn_create_index('mine', 'GSI1', 'x S');
SELECT x FROM mine;
RESET ROLE;
CREATE ROLE index_member IN ROLE index_owner LOGIN NOINHERIT;
SET SESSION AUTHORIZATION index_member;
CALL dyn_drop_index('mine', 'GSI1');
SET ROLE index_owner;
CALL dyn_drop_index('mine', 'GSI1');
DO $$ BEGIN CALL dyn_create_index('mine', 'GSI1', 'x S'); CALL dyn_drop_index('mine', 'GSI1'); END $$;
CREATE PROCEDURE pg_temp.both() LANGUAGE plpgsql AS $$ BEGIN FOR i IN 1..2 LOOP CALL dyn_create_index('mine', 'GSI' || i, 'x S'); END LOOP; END $$;
CALL pg_temp.both();
DROP PROCEDURE pg_temp.both;
RESET SESSION AUTHORIZATION;
DROP TABLE mine;
REVOKE CREATE ON SCHEMA public FROM index_owner;
DROP ROLE index_owner, index_other, index_member;
CREATE TEMP TABLE session_items (item dyn_item NOT NULL, pk text COLLATE "C" PRIMARY KEY);
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON session_items FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S');
INSERT INTO session_items (item) VALUES ('{"pk":{"S":"a"},"x":{"S":"1"}}');
CALL dyn_create_index('session_items', 'GSI1', 'x S');
SELECT x FROM session_items;
CALL dyn_drop_index('session_items', 'GSI1');
CREATE TABLE parted (item dyn_item NOT NULL, pk text COLLATE "C" PRIMARY KEY) PARTITION BY HASH (pk);
CREATE TABLE part PARTITION OF parted FOR VALUES WITH (MODULUS 1, REMAINDER 0);
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON parted FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S');
CALL dyn_create_index('parted', 'GSI1', 'x S');
\echo :SQLSTATE
CALL dyn_create_index('part', 'GSI1', 'x S');
DROP TABLE parted;

-- triggers of the table: one that takes updates back, one that takes the columns back
SELECT dyn_create_table('guarded', 'pk S');
SELECT dyn_put('guarded', '{"pk":{"S":"a"},"x":{"S":"1"}}');
CREATE FUNCTION no_update() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE TRIGGER guard BEFORE UPDATE ON guarded FOR EACH ROW EXECUTE FUNCTION no_update();
CALL dyn_create_index('guarded', 'GSI1', 'x S');
\echo :SQLSTATE
SELECT dyn_describe_table('guarded') #>> '{GlobalSecondaryIndexes,0,IndexStatus}' AS status;
CREATE OR REPLACE FUNCTION no_update() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.x = NULL; RETURN NEW; END $$;
ALTER TRIGGER guard ON guarded RENAME TO "~~guard";
CALL dyn_create_index('guarded', 'GSI1', 'x S');
\echo :SQLSTATE
DROP TRIGGER "~~guard" ON guarded;
CALL dyn_create_index('guarded', 'GSI1', 'x S');
CREATE VIEW uses AS SELECT x FROM guarded;
CALL dyn_drop_index('guarded', 'GSI1');
SELECT dyn_describe_table('guarded') #>> '{GlobalSecondaryIndexes,0,IndexStatus}' AS status;
DROP VIEW uses;
CALL dyn_drop_index('guarded', 'GSI1');
\d guarded
DROP TABLE guarded;
DROP FUNCTION no_update;
