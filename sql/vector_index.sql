-- Vector indexes: made, kept by every write, dropped; docs/semantics.md, VS01 to VS14, VS20 to VS29.
SELECT NOT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector') AS missing \gset
\if :missing
\echo skipped: pgvector is not installed
\quit
\endif
\set SHOW_CONTEXT never
\set VERBOSITY terse
CREATE SCHEMA vector_index;
SET search_path = vector_index, public;
CREATE FUNCTION attempt(query text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE query;
  RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
  RETURN coalesce(dyn_error_name(SQLSTATE), SQLSTATE) || ': ' || SQLERRM;
END $$;
-- an item with a vector; NULL: without
CREATE FUNCTION doc(id text, vector float8[], more jsonb DEFAULT '{}') RETURNS dyn_item LANGUAGE sql AS $$
  SELECT (jsonb_build_object('id', id) || CASE WHEN vector IS NULL THEN '{}' ELSE jsonb_build_object('e', vector) END || more)::dyn_item $$;

-- without pgvector
SELECT dyn_create_table('app', 'id S');
SELECT dyn_put('app', doc('old', '{1,2,3}', '{"tenant": "a", "lang": "en"}'));
SELECT dyn_put('app', doc('bad', '{1,2}', '{"tenant": "a"}'));
SELECT dyn_put('app', doc('none', NULL));
\set VERBOSITY default
CALL dyn_create_vector_index('app', 'emb', 'e', 3);
\set VERBOSITY terse
CREATE EXTENSION vector SCHEMA public;
SELECT extversion AS version FROM pg_extension WHERE extname = 'vector' \gset
UPDATE pg_extension SET extversion = '0.8.3' WHERE extname = 'vector';
\set VERBOSITY default
CALL dyn_create_vector_index('app', 'emb', 'e', 3);
\set VERBOSITY terse
UPDATE pg_extension SET extversion = :'version' WHERE extname = 'vector';

-- what is refused
CALL dyn_create_vector_index('app', 'emb', 'e', 0);
CALL dyn_create_vector_index('app', 'emb', 'e', 4097);
CALL dyn_create_vector_index('app', 'emb', 'e', NULL);
CALL dyn_create_vector_index('app', 'emb', NULL, 3);
CALL dyn_create_vector_index('app', 'emb', '', 3);
CALL dyn_create_vector_index('app', 'emb', 'e', 3, 'MANHATTAN');
CALL dyn_create_vector_index('app', 'emb', 'e', 3, method => 'flat');
CALL dyn_create_vector_index('app', 'emb', 'e', 4001, method => 'hnsw');
CALL dyn_create_vector_index('app', 'emb', 'e', 3, hash_key => 'tenant');
CALL dyn_create_vector_index('app', 'emb', 'e', 3, hash_key => 'tenant S', filters => '{lang S,tenant S}');
CALL dyn_create_vector_index('app', 'emb', 'e', 3, filters => '{e S}');
CALL dyn_create_vector_index('app', 'emb', 'e', 3, filters =>
	string_to_array('a S,b S,c S,d S,f S,g S,h S,i S,j S,k S,l S,m S,n S,o S,p S,q S,r S,s S,t S,u S,v S', ','));
CALL dyn_create_vector_index('app', 'emb', 'e', 3, projection => 'INCLUDE');
CALL dyn_create_vector_index('app', 'emb', 'e', 3, projection => 'KEYS_ONLY', non_key_attributes => '{a}');
CALL dyn_create_vector_index('nowhere', 'emb', 'e', 3);
SELECT dyn_create_table('unlogged', 'id S');
ALTER TABLE unlogged SET UNLOGGED;
CALL dyn_create_vector_index('unlogged', 'emb', 'e', 3);

-- items that were there, and those that come
CALL dyn_create_vector_index('app', 'emb', 'e', 3, hash_key => 'tenant S', filters => '{lang S}');
TABLE app_emb;
\d app_emb
SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'app'::regclass AND tgname LIKE '~dynamo_vector%' ORDER BY 1;
CALL dyn_create_vector_index('app', 'emb', 'e', 3, hash_key => 'tenant S', filters => '{lang S}');
CALL dyn_create_vector_index('app', 'emb', 'e', 3, hash_key => 'tenant S', filters => '{lang S}', if_not_exists => true);
CALL dyn_create_vector_index('app', 'emb', 'e', 3, if_not_exists => true);
CALL dyn_create_vector_index('app', 'other', 'e', 4);
CALL dyn_create_index('app', 'GSI1', 'gsi S');
CALL dyn_create_vector_index('app', 'GSI1', 'e', 3);
CALL dyn_create_index('app', 'emb', 'gsi S');
SELECT * FROM dyn_index_violations('app');

-- wrong vectors and hash keys
SELECT attempt($$SELECT dyn_put('app', doc('x', '{1,2}', '{"tenant": "a"}'))$$);
SELECT attempt($$SELECT dyn_put('app', doc('x', '{}', '{"tenant": "a"}'))$$);
SELECT attempt($$SELECT dyn_put('app', '{"id":{"S":"x"},"e":{"S":"a"}}')$$);
SELECT attempt($$SELECT dyn_put('app', '{"id":{"S":"x"},"e":{"NS":["1","2","3"]}}')$$);
SELECT attempt($$SELECT dyn_put('app', '{"id":{"S":"x"},"e":{"L":[{"N":"1"},{"S":"1"},{"N":"1"}]}}')$$);
SELECT attempt($$SELECT dyn_put('app', '{"id":{"S":"x"},"e":{"L":[{"N":"1"},{"N":"-1e40"},{"N":"1"}]}}')$$);
SELECT attempt($$SELECT dyn_put('app', '{"id":{"S":"x"},"e":{"L":[{"N":"1"},{"N":"3.4028236e38"},{"N":"1"}]}}')$$);
SELECT attempt($$SELECT dyn_put('app', doc('x', '{1,2,3}', '{"tenant": 1}'))$$);
SELECT attempt($$SELECT dyn_put('app', doc('x', '{1,2,3}', '{"tenant": ""}'))$$);
SELECT attempt($$INSERT INTO app(item) VALUES (doc('x', '{1,2}'))$$);
SELECT attempt($$SELECT dyn_update('app', '{"id":{"S":"old"}}', 'SET e = :v', vals => '{":v":{"L":[]}}')$$);
SELECT count(*) FROM app WHERE id = 'x';
-- the item of before is let alone, and its vector may not be replaced by another wrong one
SELECT dyn_update('app', '{"id":{"S":"bad"}}', 'SET seen = :v', vals => '{":v":{"N":"1"}}');
UPDATE app SET item = dyn_apply(item, 'SET seen = :v', vals => '{":v":{"N":"2"}}') WHERE id = 'bad';
SELECT attempt($$SELECT dyn_update('app', '{"id":{"S":"bad"}}', 'SET e = :v', vals => '{":v":{"L":[]}}')$$);
SELECT dyn_update('app', '{"id":{"S":"bad"}}', 'SET e = :v', vals => '{":v":{"L":[{"N":"3"},{"N":"2"},{"N":"1"}]}}');
-- what fits into 32 bits, and rounds to 0
SELECT dyn_put('app', '{"id":{"S":"ends"},"tenant":{"S":"a"},"e":{"L":[{"N":"3.4028234e38"},{"N":"-3.4028234e38"},{"N":"1e-100"}]}}');
TABLE app_emb ORDER BY 3;
SELECT dyn_delete('app', '{"id":{"S":"ends"}}'), dyn_delete('app', '{"id":{"S":"bad"}}');

-- every way to write
CREATE VIEW entries AS SELECT partition_key, hash_key, vector, filters FROM app_emb ORDER BY 1;
SELECT dyn_batch_write('app', puts => ARRAY[doc('b1', '{1,0,0}', '{"tenant": "b"}'), doc('b2', '{0,1,0}')]);
SELECT dyn_transact('[{"Put": {"TableName": "app", "Item": {"id":{"S":"t1"}, "tenant":{"S":"b"}, "lang":{"N":"1"},
	"e":{"L":[{"N":"0"},{"N":"0"},{"N":"1"}]}}}}]');
SELECT * FROM dyn_execute($$INSERT INTO "app" VALUE {'id': 'p1', 'tenant': 'b', 'e': [1, 1, 1]}$$);
INSERT INTO app(item) SELECT doc('s' || i, ARRAY[i, i, i], '{"tenant": "c"}') FROM generate_series(1, 2) i;
COPY app(item) FROM STDIN;
{"id":{"S":"c1"},"tenant":{"S":"c"},"e":{"L":[{"N":"7"},{"N":"8"},{"N":"9"}]}}
\.
SELECT dyn_request('PutItem', '{"TableName": "app", "Item": {"id":{"S":"r1"},"tenant":{"S":"c"},"e":{"L":[{"N":"1"},{"N":"1"},{"N":"2"}]}}}');
TABLE entries;
UPDATE app SET item = dyn_apply(item, 'SET tenant = :t', vals => '{":t":{"S":"d"}}') WHERE id LIKE 's%';
SELECT * FROM dyn_execute($$UPDATE "app" SET lang = 'de' WHERE id = 'p1'$$);
SELECT dyn_update('app', '{"id":{"S":"b2"}}', 'SET tenant = :t', vals => '{":t":{"S":"b"}}');
SELECT dyn_update('app', '{"id":{"S":"b1"}}', 'REMOVE tenant');
SELECT dyn_update('app', '{"id":{"S":"r1"}}', 'REMOVE e');
SELECT dyn_update('app', '{"id":{"S":"t1"}}', 'SET e[0] = :v', vals => '{":v":{"N":"5"}}');
INSERT INTO app(item) VALUES (doc('c1', '{9,9,9}', '{"tenant": "z"}')) ON CONFLICT (id) DO UPDATE SET item = EXCLUDED.item;
DELETE FROM app WHERE id = 'old';
SELECT dyn_update('app', '{"id":{"S":"p1"}}', 'SET nothing = :v', vals => '{":v":{"N":"1"}}');
TABLE entries;
-- several changes of one key by one command
WITH a AS (SELECT dyn_put('app', doc('m', '{1,2,3}', '{"tenant": "m"}'))), b AS (SELECT dyn_put('app', doc('m', '{4,5,6}', '{"tenant": "m"}')))
SELECT count(*) FROM a, b;
SELECT * FROM entries WHERE partition_key = 'm';

-- an update of other attributes leaves entries alone and stays HOT
SELECT dyn_put('app', doc('hot', '{1,2,3}', '{"tenant": "hot"}'));
SELECT pg_stat_force_next_flush();
SELECT ctid AS place FROM app_emb WHERE partition_key = 'hot' \gset
VACUUM app;
SELECT n_tup_hot_upd AS hot FROM pg_stat_user_tables WHERE relid = 'app'::regclass \gset
SELECT count(dyn_update('app', '{"id":{"S":"hot"}}', 'SET n = :n', vals => format('{":n":{"N":"%s"}}', i)::dyn_item)) FROM generate_series(1, 20) i;
UPDATE app SET item = dyn_apply(item, 'SET n = :n', vals => '{":n":{"N":"0"}}') WHERE id = 'hot';
SELECT pg_stat_force_next_flush();
SELECT n_tup_hot_upd - :hot AS hot FROM pg_stat_user_tables WHERE relid = 'app'::regclass;
SELECT ctid = :'place' AS same FROM app_emb WHERE partition_key = 'hot';

-- 1,000 changes of vectors that are taken back
CREATE TABLE before AS TABLE entries;
BEGIN;
SELECT count(dyn_update('app', '{"id":{"S":"hot"}}', 'SET e[1] = :n', vals => format('{":n":{"N":"%s"}}', i)::dyn_item)) FROM generate_series(1, 1000) i;
DELETE FROM app WHERE id < 'd';
SAVEPOINT s;
TRUNCATE app;
SELECT count(*) FROM entries;
ROLLBACK TO s;
SELECT * FROM entries WHERE partition_key = 'hot';
ROLLBACK;
(TABLE before EXCEPT ALL TABLE entries) UNION ALL (TABLE entries EXCEPT ALL TABLE before);

-- replication applies changes as a replica
SET session_replication_role = replica;
INSERT INTO app(item, id) VALUES (doc('replica', '{1,2,3}', '{"tenant": "hot"}'), 'replica');
RESET session_replication_role;
SELECT count(*) FROM entries WHERE partition_key = 'replica';

-- nobody writes entries
INSERT INTO app_emb(vector) VALUES ('[1,2,3]');
DELETE FROM app_emb;
TRUNCATE app_emb;
CREATE RULE r AS ON INSERT TO app_emb DO INSTEAD NOTHING;
CREATE TRIGGER t BEFORE INSERT ON app_emb FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys();

-- refreshed, they are the same
CREATE TABLE again AS TABLE entries;
REFRESH MATERIALIZED VIEW app_emb;
REFRESH MATERIALIZED VIEW CONCURRENTLY app_emb;
SELECT count(*) FROM ((TABLE again EXCEPT ALL TABLE entries) UNION ALL (TABLE entries EXCEPT ALL TABLE again)) t;
-- what dyn_check_table() says
SELECT * FROM dyn_check_table('app');
ALTER TABLE app DISABLE TRIGGER "~dynamo_vector_emb";
SELECT dyn_delete('app', '{"id":{"S":"s1"}}'), dyn_put('app', doc('unkept', '{1,2,3}', '{"tenant": "u"}'));
UPDATE app SET item = dyn_apply(item, 'SET e[0] = :v', vals => '{":v":{"N":"77"}}') WHERE id = 's2';
ALTER TABLE app ENABLE ALWAYS TRIGGER "~dynamo_vector_emb";
SELECT object, problem, advice FROM dyn_check_table('app');
REFRESH MATERIALIZED VIEW app_emb WITH NO DATA;
SELECT object, problem, advice FROM dyn_check_table('app');
CALL dyn_create_vector_index('app', 'emb', 'e', 3, hash_key => 'tenant S', filters => '{lang S}');
SELECT * FROM dyn_check_table('app');
BEGIN;
DROP INDEX app_emb_partition_key_idx;
SELECT object, problem, advice FROM dyn_check_table('app');
SELECT attempt($$SELECT dyn_put('app', doc('unkept', '{1,2,4}', '{"tenant": "u"}'))$$);
ROLLBACK;
SELECT kind, name, items, bytes > 0 AS bytes, disk_bytes > 0 AS disk FROM dyn_table_statistics('app') WHERE kind ~ 'index';
TRUNCATE app;
SELECT count(*) FROM entries;
SELECT dyn_put('app', doc('new', '{1,2,3}', '{"tenant": "hot"}'));
TABLE entries;

-- hnsw, and long vectors
DROP VIEW entries;
CALL dyn_create_vector_index('app', 'near', 'e', 3, 'EUCLIDEAN', 'hnsw', projection => 'INCLUDE', non_key_attributes => '{title}');
CALL dyn_create_vector_index('app', 'long', 'long', 3072, 'DOT_PRODUCT', 'hnsw');
SELECT dyn_put('app', doc('long', NULL, jsonb_build_object('long', array(SELECT (i % 7) - 3.5 FROM generate_series(1, 3072) i))));
SELECT indexdef FROM pg_indexes WHERE schemaname = 'vector_index' AND tablename IN ('app_near', 'app_long') ORDER BY 1;
SELECT attname, attstorage FROM pg_attribute WHERE attrelid IN ('app_near'::regclass, 'app_long'::regclass) AND attname = 'vector' ORDER BY 2;

-- at most five
CALL dyn_create_vector_index('app', 'four', 'e', 3);
CALL dyn_create_vector_index('app', 'five', 'e', 3);
CALL dyn_create_vector_index('app', 'six', 'e', 3);

-- a new owner, new names
CREATE ROLE regress_vector_owner;
CREATE ROLE regress_vector_reader;
GRANT USAGE, CREATE ON SCHEMA vector_index TO regress_vector_owner;
GRANT USAGE ON SCHEMA vector_index TO regress_vector_reader;
ALTER DEFAULT PRIVILEGES IN SCHEMA vector_index GRANT SELECT ON TABLES TO PUBLIC, regress_vector_reader;
ALTER DEFAULT PRIVILEGES FOR ROLE regress_vector_owner IN SCHEMA vector_index GRANT SELECT ON TABLES TO PUBLIC, regress_vector_reader;
ALTER TABLE app OWNER TO regress_vector_owner;
ALTER TABLE app RENAME TO "App";
ALTER TABLE "App" SET SCHEMA public;
SELECT relname, relowner::regrole FROM pg_class WHERE relkind = 'm' AND relnamespace IN ('vector_index'::regnamespace, 'public'::regnamespace) ORDER BY 1;
SELECT dyn_put('App', doc('renamed', '{1,2,4}', '{"tenant": "hot"}'));
ALTER EXTENSION vector SET SCHEMA vector_index;
SELECT dyn_put('App', doc('moved', '{1,2,5}', '{"tenant": "hot"}'));
SELECT partition_key, vector FROM app_near ORDER BY 1;
ALTER TABLE "App" SET SCHEMA vector_index;
CALL dyn_drop_index('App', 'five');
CALL dyn_create_vector_index('App', 'five', 'e', 3);
SELECT a.grantee::regrole, count(*) > 0 AS any FROM pg_class c, aclexplode(c.relacl) a WHERE c.oid = '"App_five"'::regclass GROUP BY 1;

-- what depends on what
\set VERBOSITY default
DROP EXTENSION vector;
\set VERBOSITY terse
CREATE VIEW on_entries AS SELECT * FROM "App_five";
CALL dyn_drop_index('App', 'five');
CALL dyn_drop_index('App', 'five', cascade => true);
DROP MATERIALIZED VIEW app_four;
SELECT tgname FROM pg_trigger WHERE tgrelid = '"App"'::regclass AND tgname LIKE '~dynamo_vector%' ORDER BY 1;
SELECT dyn_put('App', doc('after', '{1,2,6}', '{"tenant": "hot"}'));
CALL dyn_drop_index('App', 'emb');
CALL dyn_drop_index('App', 'emb');
CALL dyn_drop_index('App', 'near');
CALL dyn_drop_index('App', 'long');
SELECT tgname FROM pg_trigger WHERE tgrelid = '"App"'::regclass AND tgname LIKE '~dynamo_vector%' ORDER BY 1;
SELECT dyn_put('App', doc('after', '{1,2}', '{"tenant": 1}'));
CALL dyn_create_vector_index('App', 'emb', 'e', 3);
BEGIN;
DROP EXTENSION vector CASCADE;
SELECT dyn_put('App', doc('without', '{1,2}'));
ROLLBACK;
-- numbers that an index of type hnsw does not take, of long vectors
SELECT dyn_create_table('half', 'id S');
CREATE FUNCTION half(id text, n numeric) RETURNS dyn_item LANGUAGE sql AS
  $$SELECT jsonb_build_object('id', id, 'e', array_fill(n, ARRAY[2001]))::dyn_item$$;
SELECT dyn_put('half', half('too large', -65520)), dyn_put('half', half('a', 65519)), dyn_put('half', half('b', -1));
CALL dyn_create_vector_index('half', 'emb', 'e', 2001, 'EUCLIDEAN', 'hnsw');
SELECT attempt($$SELECT dyn_put('half', half('new', 1e20))$$);
SELECT item->>'id' FROM dyn_search('half', 'emb', array_fill(70000, ARRAY[2001])::real[]);
SELECT dyn_drop_table('half');
-- rows that another trigger changes before that of the index is told
SELECT dyn_create_table('changed', 'id S');
CALL dyn_create_vector_index('changed', 'emb', 'e', 1);
CREATE FUNCTION again() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF pg_trigger_depth() = 1 AND TG_OP = 'DELETE' THEN
    PERFORM dyn_put('changed', jsonb_build_object('id', OLD.id, 'e', '[7]'::jsonb)::dyn_item);
  ELSIF pg_trigger_depth() = 1 AND NEW.id = 'gone' THEN
    PERFORM dyn_delete('changed', '{"id": "gone"}'::jsonb::dyn_item);
  ELSIF pg_trigger_depth() = 1 THEN
    UPDATE changed SET item = jsonb_build_object('id', NEW.id, 'e', '[9]'::jsonb)::dyn_item WHERE id = NEW.id;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER again AFTER INSERT OR UPDATE OR DELETE ON changed FOR EACH ROW EXECUTE FUNCTION again();
CREATE FUNCTION numbered(id text, n int) RETURNS dyn_item LANGUAGE sql AS
  $$SELECT jsonb_build_object('id', id, 'e', ARRAY[n])::dyn_item$$;
INSERT INTO changed (item) VALUES (numbered('a', 1)), (numbered('gone', 1));
SELECT partition_key, vector FROM changed_emb;
UPDATE changed SET item = numbered('a', 2);
SELECT partition_key, vector FROM changed_emb;
DELETE FROM changed;
SELECT partition_key, vector FROM changed_emb;
DROP TRIGGER again ON changed;
WITH gone AS (DELETE FROM changed RETURNING id) INSERT INTO changed (item) SELECT numbered(id, 5) FROM gone;
SELECT partition_key, vector FROM changed_emb ORDER BY 1;
SELECT * FROM dyn_check_table('changed');
SELECT dyn_drop_table('changed');
SELECT dyn_drop_table('App');
SELECT count(*) FROM pg_class WHERE relkind = 'm' AND relnamespace = 'vector_index'::regnamespace;
\set ECHO none
SET client_min_messages = warning;
DROP SCHEMA vector_index CASCADE;
DROP EXTENSION vector;
DROP OWNED BY regress_vector_owner, regress_vector_reader;
DROP ROLE regress_vector_owner, regress_vector_reader;
