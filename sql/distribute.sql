-- Distributed tables, as far as one node without Citus shows them: Citus' catalogs are tables of the same names and columns here,
-- and its functions only write these.  test/citus has the rest.
SELECT dyn_create_table('app', 'pk S', 'sk N');
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}');

-- without Citus
SELECT dyn_distribute_table('app');
SELECT dyn_create_table('other', 'pk S', distributed => true);
SELECT dyn_create_table('other', 'pk S', colocate_with => 'app');
SELECT dyn_create_table('other', 'pk S', shard_count => 4);
SELECT dyn_undistribute_table('app');
SELECT dyn_undistribute_table('none');
CREATE TABLE plain (a int PRIMARY KEY);
SELECT dyn_undistribute_table('plain');

-- a definition says nothing of a table that is not distributed, nor of one that has its trigger
CREATE TABLE forged (item dyn_item NOT NULL, pk text COLLATE "C" PRIMARY KEY, CONSTRAINT dynamo_definition CHECK ('["pk S"]'::text IS NOT NULL));
SELECT dyn_put('forged', '{"pk":{"S":"a"}}');
SELECT dyn_request('ListTables', '{}');
ALTER TABLE app ADD CONSTRAINT dynamo_definition CHECK ('["sk N"]'::text IS NOT NULL);
SELECT dyn_get('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}');
SELECT store = 'remote' AS remote FROM dyn_explain('app', 'pk = :a', vals => '{":a":{"S":"a"}}');
ALTER TABLE app DROP CONSTRAINT dynamo_definition;

\set ECHO none
\i test/sql/like_citus.sql
\set ECHO all
SET allow_system_table_mods = on;

-- a function that hides one of Citus' is not called
CREATE SCHEMA evil;
CREATE FUNCTION evil.create_distributed_table(regclass, text, colocate_with text, shard_count int) RETURNS void LANGUAGE plpgsql
	AS $$ BEGIN RAISE EXCEPTION 'evil'; END $$;
SET search_path = evil, pg_catalog, public;
SELECT dyn_distribute_table('app');
RESET search_path;
DROP SCHEMA evil CASCADE;
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'app'::regclass AND contype = 'c' ORDER BY 1;
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'app'::regclass;
SELECT dyn_get('app', '{"pk":{"S":"a"},"sk":{"N":"1"}}');
SELECT dyn_distribute_table('app');

-- definitions change as triggers' arguments do
SELECT dyn_alter_table('app', '{"placement": false}');
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'app'::regclass AND conname = 'dynamo_definition';
SELECT dyn_describe_table('app') -> 'Placement' AS placement;

-- options
SELECT dyn_create_table('app', 'pk S', distributed => true);
SELECT dyn_create_table('Second', 'pk S', 'sk S', '{"G":{"partition_key":"g S"}}', distributed => true, colocate_with => 'app');
SELECT dyn_create_table('third', 'pk S', distributed => true, shard_count => 4);
SELECT dyn_create_table('fourth', 'pk S', distributed => true, shard_count => 0);
SELECT dyn_create_table('fourth', 'pk S', distributed => true, shard_count => 4, colocate_with => 'app');
SELECT dyn_create_table('one', 'pk S');
SELECT dyn_create_table('fourth', 'pk S', distributed => true, colocate_with => 'one');
SELECT dyn_distribute_table('one', 'none');

-- lists
SELECT dyn_request('ListTables', '{}');
SELECT dyn_request('DescribeTable', '{"TableName":"Second"}') -> 'Table' -> 'GlobalSecondaryIndexes' -> 0 ->> 'IndexName' AS index;

-- rights, and which tables are colocated: those with as many shards, the same type of partition key, and one owner
CREATE ROLE distribute_owner;
CREATE ROLE distribute_other;
GRANT CREATE ON SCHEMA public TO distribute_owner;
GRANT SELECT ON app TO distribute_owner;
SET ROLE distribute_owner;
SELECT dyn_create_table('colocated', 'pk S', distributed => true, colocate_with => 'app');
SELECT dyn_create_table('colocated', 'pk S', distributed => true);
SELECT dyn_create_table('beside', 'pk S', distributed => true);
SELECT dyn_create_table('few', 'pk S', distributed => true, shard_count => 4);
SELECT dyn_create_table('number', 'pk N', distributed => true);
SELECT kind, name FROM dyn_table_statistics('beside');
RESET ROLE;
ALTER TABLE colocated OWNER TO distribute_other;
SET ROLE distribute_owner;
SELECT kind, name FROM dyn_table_statistics('beside');
SELECT dyn_create_table('joined', 'pk S', distributed => true, colocate_with => 'beside');
SELECT dyn_create_table('apart', 'pk S', distributed => true);
DROP TABLE beside, few, number, joined, apart;
RESET ROLE;
DROP TABLE colocated;
DELETE FROM pg_catalog.pg_dist_partition p WHERE NOT EXISTS (SELECT FROM pg_class WHERE oid = p.logicalrelid);
REVOKE SELECT ON app FROM distribute_owner;
SET ROLE distribute_owner;
SELECT dyn_create_table('owned', 'pk S');
GRANT SELECT ON owned TO distribute_other;
SET ROLE distribute_other;
SELECT dyn_distribute_table('owned');
SELECT dyn_undistribute_table('owned');
SELECT dyn_distribute_table('app');
RESET ROLE;

-- a worker
UPDATE pg_catalog.pg_dist_local_group SET groupid = 2;
SELECT dyn_distribute_table('one');
SELECT dyn_undistribute_table('app');
UPDATE pg_catalog.pg_dist_local_group SET groupid = 0;

-- what stands in the way
\set VERBOSITY default
CREATE TABLE parts (item dyn_item NOT NULL, pk text COLLATE "C" NOT NULL, PRIMARY KEY (pk)) PARTITION BY HASH (pk);
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON parts FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S');
SELECT dyn_distribute_table('parts');
CREATE TABLE parts1 PARTITION OF parts FOR VALUES WITH (MODULUS 1, REMAINDER 0);
SELECT dyn_distribute_table('parts1');
SET client_min_messages = warning;
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
RESET client_min_messages;
CREATE TRIGGER mine AFTER INSERT ON one FOR EACH ROW EXECUTE FUNCTION nothing();
ALTER TABLE one DISABLE TRIGGER mine;
SELECT dyn_distribute_table('one');
DROP TRIGGER mine ON one;
ALTER TABLE one ADD COLUMN p int REFERENCES plain;
SELECT dyn_distribute_table('one');
ALTER TABLE one DROP COLUMN p;
ALTER TABLE plain ADD COLUMN pk text COLLATE "C" REFERENCES one;
SELECT dyn_distribute_table('one');
ALTER TABLE plain DROP COLUMN pk;
ALTER TABLE one ADD COLUMN u int UNIQUE DEFERRABLE;
SELECT dyn_distribute_table('one');
ALTER TABLE one DROP COLUMN u;
CREATE RULE r AS ON DELETE TO one DO ALSO NOTHING;
SELECT dyn_distribute_table('one');
DROP RULE r ON one;
CREATE TABLE above ();
ALTER TABLE one INHERIT above;
SELECT dyn_distribute_table('one');
ALTER TABLE one NO INHERIT above;
SELECT dyn_create_entity('one', 'Thing', '{"pk":"T#<id>"}', '{"id":"S","n":"N"}');
SELECT dyn_enforce_entities('one');
SELECT dyn_distribute_table('one');
SELECT dyn_enforce_entities('one', false);
SELECT dyn_create_migration('one', 'moved', '[{"from":"plain","entity":"Thing","attributes":{"id":"a","n":"a"}}]');
SELECT dyn_follow_migration('moved');
SELECT dyn_distribute_table('one');
SELECT dyn_follow_migration('moved', enabled => false), dyn_drop_migration('moved');
CREATE TEMP TABLE temporary (item dyn_item NOT NULL, pk text COLLATE "C" PRIMARY KEY);
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON temporary FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S');
SELECT dyn_distribute_table('temporary');
SELECT dyn_distribute_table('plain');
SELECT dyn_distribute_table('none');

-- what a distributed table cannot have
SELECT dyn_create_entity('third', 'Thing', '{"pk":"T#<id>"}', '{"id":"S","n":"N"}');
SELECT dyn_enforce_entities('third');
SELECT dyn_detach('third');
SELECT dyn_create_migration('third', 'moved', '[{"from":"plain","entity":"Thing","attributes":{"id":"a","n":"a"}}]');
SELECT dyn_follow_migration('moved');
SELECT dyn_drop_migration('moved');
SELECT dyn_create_entity_view('third', 'Thing', 'things');
SELECT dyn_undistribute_table('third');
DROP VIEW things;
CREATE VIEW below AS SELECT item FROM third;
CREATE VIEW upon AS SELECT item FROM below;
CREATE TRIGGER mine INSTEAD OF INSERT ON upon FOR EACH ROW EXECUTE FUNCTION nothing();
SELECT dyn_undistribute_table('third');
DROP VIEW below CASCADE;

-- and what a table of another migration cannot be
SELECT dyn_create_entity('one', 'Other', '{"pk":"O#<id>"}', '{"id":"S"}');
SELECT dyn_create_migration('one', 'moved', '[{"from":"third","entity":"Other","attributes":{"id":"pk"}}]');
SELECT dyn_follow_migration('moved');
SELECT dyn_drop_migration('moved');

-- tables that Citus manages otherwise
INSERT INTO pg_catalog.pg_dist_partition VALUES ('plain', 'n'), ('one', 'h');
ALTER TABLE one SET (fillfactor = 90);
SELECT dyn_get('one', '{"pk":{"S":"a"}}');
SELECT dyn_distribute_table('one');
SELECT dyn_undistribute_table('one');
DELETE FROM pg_catalog.pg_dist_partition WHERE logicalrelid IN ('plain'::regclass, 'one'::regclass);

-- hostile definitions of a distributed table
INSERT INTO pg_catalog.pg_dist_partition VALUES ('forged', 'h');
SELECT dyn_put('forged', '{"pk":{"S":"a"}}');
\set VERBOSITY terse
CREATE FUNCTION shout() RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE WARNING 'called'; RETURN '["pk S"]'; END $$;
CREATE FUNCTION try(condition text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  ALTER TABLE forged DROP CONSTRAINT IF EXISTS dynamo_definition;
  EXECUTE 'ALTER TABLE forged ADD CONSTRAINT dynamo_definition CHECK (' || condition || ') NOT VALID';
  RETURN dyn_get('forged', '{"pk":{"S":"a"}}');
EXCEPTION WHEN OTHERS THEN
  RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
SELECT c, try(c) FROM (VALUES (1, '''["pk S"]''::text IS NOT NULL'), (2, '''["pk S"]''::text IS NULL'), (3, '5 IS NOT NULL'),
	(4, '''["pk S"]''::jsonb IS NOT NULL'),
  (5, 'NULL::text IS NOT NULL'), (6, 'ROW(''["pk S"]''::text) IS NOT NULL'), (7, 'shout() IS NOT NULL'), (8, '(''["pk S"]'' || ''''::text) IS NOT NULL'),
  (9, 'pk IS NOT NULL'),
  (10, 'true'), (11, '''["pk S"]''::name IS NOT NULL'), (12, '''["pk S"]''::bytea IS NOT NULL'), (13, '(''["pk S"]''::text IS NOT NULL) AND true'),
  (20, '''''::text IS NOT NULL'), (21, '''[]''::text IS NOT NULL'), (22, '''{}''::text IS NOT NULL'), (23, '''["pk S"''::text IS NOT NULL'),
  (24, '''["pk S"] x''::text IS NOT NULL'),
  (25, '''[1]''::text IS NOT NULL'), (26, '''[["pk S"]]''::text IS NOT NULL'), (27, '''["pk"]''::text IS NOT NULL'), (28, '''["pk N"]''::text IS NOT NULL'),
  (29, '''["pk S", "{}"]''::text IS NOT NULL'), (30, '''["pk S", "x"]''::text IS NOT NULL'), (31, '''["pk S\u0000"]''::text IS NOT NULL'),
  (32, '''["pk S", "{\"settings\": 1}"]''::text IS NOT NULL')) x(n, c) ORDER BY n;
SELECT try('''' || repeat('[', 100000) || '''::text IS NOT NULL');
SELECT dyn_request('ListTables', '{}');
SELECT object, problem FROM dyn_check_table('forged');
DROP FUNCTION shout CASCADE;

-- the definition dropped, and put back as dyn_check_table() advises
ALTER TABLE third DROP CONSTRAINT dynamo_definition;
\set VERBOSITY default
SELECT dyn_get('third', '{"pk":{"S":"a"}}');
SELECT relation, object, problem, advice AS advice FROM dyn_check_table('third');
SELECT split_part(advice, 'it is: ', 2) AS mend FROM dyn_check_table('third') \gset
:mend
SELECT count(*) FROM dyn_check_table('third');

-- items of it
SELECT dyn_put('third', '{"pk":{"S":"a"},"v":{"N":"1"}}');
ALTER TABLE third DROP CONSTRAINT dynamo_keys;
INSERT INTO third (item, pk) VALUES ('{"pk":{"S":"x"}}', 'y''s');
SELECT relation, object, problem, advice, key, place FROM dyn_check_table('third');

-- back, by the function and by Citus alone
SELECT dyn_undistribute_table('app');
SELECT tgenabled, pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'app'::regclass;
SELECT count(*) FROM pg_constraint WHERE conrelid = 'app'::regclass AND conname = 'dynamo_definition';
SELECT count(*) FROM dyn_check_table('app');
INSERT INTO app (item) VALUES ('{"pk":{"S":"a"},"sk":{"N":"2"}}');
SELECT dyn_query('app', 'pk = :a', vals => '{":a":{"S":"a"}}');
SELECT pg_catalog.undistribute_table('"Second"');
SELECT dyn_scan('Second');
SELECT dyn_distribute_table('Second');
SELECT pg_catalog.undistribute_table('"Second"');
SELECT dyn_undistribute_table('Second');
SELECT dyn_scan('Second');

-- shards, by the names that Citus gives them
CREATE TABLE third_102008 (LIKE third INCLUDING ALL);
ALTER TABLE third_102008 RENAME CONSTRAINT dynamo_definition TO dynamo_definition_102008;
SELECT dyn_get('third_102008', '{"pk":{"S":"a"}}');
INSERT INTO pg_catalog.pg_dist_shard VALUES ('third', 102008, '-2147483648', '-1');
INSERT INTO pg_catalog.pg_dist_placement VALUES (102008, 1);
SELECT dyn_get('third_102008', '{"pk":{"S":"a"}}');
UPDATE pg_catalog.pg_dist_placement SET groupid = 0;
SELECT dyn_get('third_102008', '{"pk":{"S":"a"}}');
SELECT dyn_put('third_102008', '{"pk":{"S":"a"}}');
SELECT dyn_drop_table('third_102008');
SELECT dyn_distribute_table('third_102008');
SELECT dyn_undistribute_table('third_102008');
SELECT dyn_request('GetItem', '{"TableName":"third_102008","Key":{"pk":{"S":"a"}}}');
SELECT dyn_request('ListTables', '{}');
SELECT object, problem FROM dyn_check_table('third_102008');
-- it takes the keys of its hashes alone
CREATE FUNCTION insert_all() RETURNS TABLE (key text, belongs boolean, result text) LANGUAGE plpgsql AS $$
BEGIN
  FOR key IN SELECT 'k' || i FROM generate_series(1, 6) i LOOP
    belongs := hashtext(key) < 0;
    BEGIN
      INSERT INTO third_102008 (item, pk) VALUES (jsonb_build_object('pk', key)::dyn_item, key);
      result := 'inserted';
    EXCEPTION WHEN check_violation THEN result := SQLERRM;
    END;
    RETURN NEXT;
  END LOOP;
END $$;
SELECT * FROM insert_all();
-- until it is one, it takes all of them, as when Citus copies rows to it
UPDATE pg_catalog.pg_dist_placement SET groupid = 1;
TRUNCATE third_102008;
SELECT count(*) FILTER (WHERE result = 'inserted') FROM insert_all();
UPDATE pg_catalog.pg_dist_placement SET groupid = 0;
ALTER TABLE third_102008 DROP CONSTRAINT dynamo_shard;
SELECT object, problem, advice FROM dyn_check_table('third_102008') WHERE object LIKE '%dynamo_shard%';
SELECT dynamo_internal.shard_takes('third_102008'::regclass, 'a'::text), dynamo_internal.shard_takes(0, 'a'::text),
	dynamo_internal.shard_takes('third_102008'::regclass, '(1,2)'::point);
-- one of another owner, or with another number, is none
ALTER TABLE third_102008 OWNER TO distribute_owner;
SELECT dyn_get('third_102008', '{"pk":{"S":"a"}}');
ALTER TABLE third_102008 OWNER TO CURRENT_USER;
ALTER TABLE third_102008 RENAME TO third_102009;
SELECT dyn_get('third_102009', '{"pk":{"S":"a"}}');

\set ECHO none
\i test/sql/unlike_citus.sql
\set ECHO all
DROP TABLE app, plain, forged, "Second", third, third_102009, one, owned, parts, above, temporary;
DROP FUNCTION try, nothing, insert_all;
REVOKE CREATE ON SCHEMA public FROM distribute_owner;
DROP ROLE distribute_owner, distribute_other;
