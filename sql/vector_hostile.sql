-- Vector indexes and roles that mean harm: forged triggers and entries, planted names, code of owners.
SELECT NOT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector') AS missing \gset
\if :missing
\echo skipped: pgvector is not installed
\quit
\endif
\set SHOW_CONTEXT never
\set VERBOSITY terse
SET client_min_messages = warning;
CREATE EXTENSION vector SCHEMA public;
CREATE ROLE regress_vector_victim;
CREATE ROLE regress_vector_mallory;
CREATE SCHEMA victim AUTHORIZATION regress_vector_victim;
CREATE SCHEMA mallory AUTHORIZATION regress_vector_mallory;
GRANT USAGE ON SCHEMA victim TO PUBLIC;
GRANT USAGE ON SCHEMA mallory TO PUBLIC;
CREATE FUNCTION public.attempt(query text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE query;
  RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
  RETURN coalesce(dyn_error_name(SQLSTATE), SQLSTATE) || ': ' || SQLERRM;
END $$;
SET ROLE regress_vector_victim;
SELECT dyn_create_table('victim.app', 'id S');
RESET ROLE;
CALL dyn_create_vector_index('victim.app', 'emb', 'e', 2, 'EUCLIDEAN', hash_key => 'tenant S');
SELECT dyn_put('victim.app', '{"id":{"S":"1"},"tenant":{"S":"t"},"e":{"L":[{"N":"1"},{"N":"2"}]}}');
SELECT relowner::regrole, relacl IS NULL OR relacl::text NOT LIKE '%,%' AS alone FROM pg_class WHERE oid = 'victim.app_emb'::regclass;

-- what a role with nothing can do
SET ROLE regress_vector_mallory;
SET search_path = mallory, public;
SELECT attempt('SELECT dynamo_internal.keep_vectors()'), attempt('SELECT dynamo_internal.vectors_truncated()');
CALL dyn_create_vector_index('victim.app', 'mine', 'e', 2);
CALL dyn_drop_index('victim.app', 'emb');
SELECT attempt($$SELECT dyn_search('victim.app', 'emb', '{1,2}', 1, 'tenant = :t', vals => '{":t":{"S":"t"}}')$$);
-- an ordinary table with such a trigger
CREATE TABLE plain (item dyn_item);
CREATE TRIGGER "~dynamo_vector_x" AFTER INSERT OR UPDATE OR DELETE ON plain FOR EACH ROW EXECUTE FUNCTION dynamo_internal.keep_vectors('{}');
CREATE TRIGGER t AFTER TRUNCATE ON plain EXECUTE FUNCTION dynamo_internal.vectors_truncated();
SELECT attempt($$INSERT INTO plain VALUES ('{"e":{"L":[]}}')$$);
TRUNCATE plain;
CREATE TRIGGER "~dynamo_vector_y" BEFORE INSERT ON plain FOR EACH ROW EXECUTE FUNCTION dynamo_internal.keep_vectors('{}');
SELECT attempt($$INSERT INTO plain VALUES ('{"e":{"L":[]}}')$$);
-- a table of items whose trigger names entries of others, or what has none
SELECT dyn_create_table('mallory.app', 'id S');
\set spec '{"name": "emb", "attribute": "e", "dimensions": 2, "distance": "EUCLIDEAN", "method": "exact", "hash_key": "tenant S", "projection": "ALL"}'
CREATE CONSTRAINT TRIGGER "~dynamo_vector_emb" AFTER INSERT OR UPDATE OR DELETE ON app FROM victim.app_emb
	FOR EACH ROW EXECUTE FUNCTION dynamo_internal.keep_vectors(:'spec');
CREATE TABLE entries (vector vector(2), filters dyn_item, a text COLLATE "C", h text COLLATE "C");
CREATE CONSTRAINT TRIGGER "~dynamo_vector_emb" AFTER INSERT OR UPDATE OR DELETE ON app FROM entries
	FOR EACH ROW EXECUTE FUNCTION dynamo_internal.keep_vectors(:'spec');
\set item '{"id":{"S":"1"},"tenant":{"S":"t"},"e":{"L":[{"N":"1"},{"N":"2"}]}}'
SELECT attempt(format('SELECT dyn_put(%L, %L)', 'mallory.app', :'item'));
SELECT attempt($$SELECT dyn_search('app', 'emb', '{1,2}', 1, 'tenant = :t', vals => '{":t":{"S":"t"}}')$$);
DROP TABLE entries;
SELECT dyn_put('mallory.app', :'item');
CREATE MATERIALIZED VIEW entries AS SELECT 1::bigint AS vector, 2 AS filters, 3 AS a, 4 AS h;
CREATE CONSTRAINT TRIGGER "~dynamo_vector_emb" AFTER INSERT OR UPDATE OR DELETE ON app FROM entries
	FOR EACH ROW EXECUTE FUNCTION dynamo_internal.keep_vectors(:'spec');
SELECT attempt($$SELECT dyn_delete('mallory.app', '{"id":{"S":"1"}}')$$);
SELECT attempt($$SELECT dyn_search('app', 'emb', '{1,2}', 1, 'tenant = :t', vals => '{":t":{"S":"t"}}')$$);
DROP MATERIALIZED VIEW entries;
-- definitions that no call makes
CREATE MATERIALIZED VIEW entries AS
	SELECT '[1,2]'::vector(2) AS vector, NULL::dyn_item AS filters, 'x'::text COLLATE "C" AS a, 't'::text COLLATE "C" AS h;
CREATE CONSTRAINT TRIGGER "~dynamo_vector_emb" AFTER INSERT OR UPDATE OR DELETE ON app FROM entries
	FOR EACH ROW EXECUTE FUNCTION dynamo_internal.keep_vectors('no json');
SELECT attempt(format('SELECT dyn_put(%L, %L)', 'mallory.app', :'item'));
DROP TRIGGER "~dynamo_vector_emb" ON app;
CREATE CONSTRAINT TRIGGER "~dynamo_vector_emb" AFTER INSERT OR UPDATE OR DELETE ON app FROM entries FOR EACH ROW
	EXECUTE FUNCTION dynamo_internal.keep_vectors('{"name": "emb", "attribute": "e", "dimensions": 30000, "distance": "EUCLIDEAN", "method": "exact"}');
SELECT attempt(format('SELECT dyn_put(%L, %L)', 'mallory.app', :'item'));
DROP TRIGGER "~dynamo_vector_emb" ON app;
-- entries without items
CREATE FUNCTION forged() RETURNS SETOF record LANGUAGE sql SET search_path FROM CURRENT AS
	$$SELECT '[1,2]'::vector, NULL::dyn_item, 'nobody'::text, 't'::text$$;
DROP MATERIALIZED VIEW entries;
CREATE MATERIALIZED VIEW entries AS SELECT * FROM forged() AS e(vector vector(2), filters dyn_item, a text COLLATE "C", h text COLLATE "C");
CREATE UNIQUE INDEX ON entries (a);
CREATE CONSTRAINT TRIGGER "~dynamo_vector_emb" AFTER INSERT OR UPDATE OR DELETE ON app FROM entries
	FOR EACH ROW EXECUTE FUNCTION dynamo_internal.keep_vectors(:'spec');
SELECT attempt($$SELECT dyn_search('app', 'emb', '{1,2}', 1, 'tenant = :t', vals => '{":t":{"S":"t"}}')$$);
SELECT dyn_put('mallory.app', :'item');
-- its code has its owner's rights only: with a superuser's it would say so
CREATE FUNCTION whoami(text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS
	$$BEGIN RAISE WARNING 'code of % as %', 'mallory', current_user; RETURN $1; END $$;
CREATE INDEX ON entries (whoami(a));
CREATE INDEX ON entries (h) WHERE whoami(h) IS NOT NULL;
RESET ROLE;
SELECT dyn_put('mallory.app', '{"id":{"S":"2"},"tenant":{"S":"t"},"e":{"L":[{"N":"1"},{"N":"2"}]}}');
SELECT attempt($$SELECT dyn_search('mallory.app', 'emb', '{1,2}', 1, 'tenant = :t', vals => '{":t":{"S":"t"}}')$$);
TRUNCATE mallory.app;
SELECT dyn_drop_table('mallory.app');

-- relations of others, which a trigger that gets its name later takes past the look at it
RESET ROLE;
SET search_path = public;
SET ROLE regress_vector_victim;
CREATE TABLE victim.secret AS SELECT 'bait'::text AS a;
CREATE MATERIALIZED VIEW victim.unfilled AS SELECT 1 AS a WITH NO DATA;
GRANT TRIGGER ON victim.secret, victim.unfilled TO PUBLIC;
SET ROLE regress_vector_mallory;
SELECT dyn_create_table('mallory.app', 'id S');
CREATE CONSTRAINT TRIGGER plain AFTER INSERT OR UPDATE OR DELETE ON mallory.app FROM victim.secret
	FOR EACH ROW EXECUTE FUNCTION dynamo_internal.keep_vectors(:'spec');
ALTER TRIGGER plain ON mallory.app RENAME TO "~dynamo_vector_emb";
CREATE TRIGGER t AFTER TRUNCATE ON mallory.app EXECUTE FUNCTION dynamo_internal.vectors_truncated();
BEGIN;
TRUNCATE mallory.app;
SELECT mode FROM pg_locks WHERE relation = 'victim.secret'::regclass AND pid = pg_backend_pid();
COMMIT;
CALL dyn_drop_index('mallory.app', 'emb');
SELECT tgname FROM pg_trigger WHERE tgrelid = 'mallory.app'::regclass ORDER BY tgname;
CREATE CONSTRAINT TRIGGER plain AFTER INSERT OR UPDATE OR DELETE ON mallory.app FROM victim.unfilled
	FOR EACH ROW EXECUTE FUNCTION dynamo_internal.keep_vectors(:'spec');
ALTER TRIGGER plain ON mallory.app RENAME TO "~dynamo_vector_emb";
CALL dyn_create_vector_index('mallory.app', 'emb', 'e', 2, 'EUCLIDEAN', hash_key => 'tenant S');
CALL dyn_drop_index('mallory.app', 'emb');
SELECT to_regclass('victim.secret'), relispopulated FROM pg_class WHERE oid = 'victim.unfilled'::regclass;
-- what a view depends on is kept, and a view is not given away with the table
ALTER TABLE mallory.app ADD COLUMN extra text;
CREATE VIEW mallory.view AS SELECT extra AS a FROM mallory.app;
CREATE MATERIALIZED VIEW mallory.stored AS SELECT e.* FROM
	dynamo_internal.vector_entries('mallory.app', 'emb') AS e(vector vector(2), filters dyn_item, a text COLLATE "C", h text COLLATE "C")
	WHERE mallory.whoami(a) <> '' WITH NO DATA;
CREATE CONSTRAINT TRIGGER "~dynamo_vector_emb" AFTER INSERT OR UPDATE OR DELETE ON mallory.app FROM mallory.view
	FOR EACH ROW EXECUTE FUNCTION dynamo_internal.keep_vectors(:'spec');
CREATE CONSTRAINT TRIGGER "~dynamo_vector_x" AFTER INSERT OR UPDATE OR DELETE ON mallory.app FROM mallory.stored
	FOR EACH ROW EXECUTE FUNCTION dynamo_internal.keep_vectors(:'spec');
ALTER TABLE mallory.app ALTER COLUMN extra TYPE int USING 1;
RESET ROLE;
ALTER TABLE mallory.app OWNER TO regress_vector_victim;
SELECT oid::regclass, relowner::regrole FROM pg_class WHERE oid IN ('mallory.view'::regclass, 'mallory.stored'::regclass) ORDER BY 1;
DROP TABLE mallory.app CASCADE;
-- an index of type hnsw by a function without arguments, which has failed
SET ROLE regress_vector_mallory;
SELECT dyn_create_table('mallory.app', 'id S');
CALL dyn_create_vector_index('mallory.app', 'long', 'e', 2500, 'EUCLIDEAN', 'hnsw');
CREATE FUNCTION mallory.half() RETURNS halfvec IMMUTABLE LANGUAGE plpgsql AS $$BEGIN RETURN '[1]'; END $$;
REFRESH MATERIALIZED VIEW mallory.app_long WITH NO DATA;
DROP INDEX mallory.app_long_vector_idx;
CREATE INDEX CONCURRENTLY ON mallory.app_long USING hnsw ((mallory.half()) halfvec_l2_ops);
CALL dyn_create_vector_index('mallory.app', 'long', 'e', 2500, 'EUCLIDEAN', 'hnsw');
SELECT dyn_drop_table('mallory.app');
RESET ROLE;

-- code of the owner does not find temporary tables of who writes
GRANT INSERT, UPDATE, SELECT, TRUNCATE ON victim.app TO regress_vector_mallory;
CALL dyn_create_vector_index('victim.app', 'long', 'l', 2001, 'EUCLIDEAN', 'hnsw');
SET ROLE regress_vector_mallory;
CREATE TEMPORARY VIEW rates AS SELECT 'code of mallory as ' || current_user AS rate;
SELECT dyn_put('victim.app', '{"id":{"S":"2"},"tenant":{"S":"t"},"e":{"L":[{"N":"1"},{"N":"3"}]}}');
SELECT dyn_put('victim.app', jsonb_build_object('id', 'long', 'l', array_fill(1, ARRAY[2001]))::dyn_item);
SET ROLE regress_vector_victim;
CREATE FUNCTION victim.rated(text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$BEGIN RETURN $1 || (SELECT rate FROM rates); END $$;
CREATE INDEX ON victim.app_emb (victim.rated(hash_key)) WHERE hash_key <> 't';
SET ROLE regress_vector_mallory;
SELECT attempt($$SELECT dyn_put('victim.app', '{"id":{"S":"2"},"tenant":{"S":"u"},"e":{"L":[{"N":"1"},{"N":"3"}]}}')$$);
SELECT attempt('TRUNCATE victim.app');
DROP VIEW rates;
RESET ROLE;
DROP INDEX victim.app_emb_rated_idx;
CALL dyn_drop_index('victim.app', 'long');
-- names that are planted before those of pgvector
SET ROLE regress_vector_mallory;
CREATE TYPE mallory.vector AS (x int);
CREATE TYPE mallory.halfvec AS (x int);
CREATE FUNCTION mallory.cosine_distance(vector, vector) RETURNS float8 LANGUAGE plpgsql AS $$BEGIN RAISE WARNING 'planted'; RETURN 0; END $$;
CREATE FUNCTION mallory.l2_distance(public.vector, public.vector) RETURNS float8 LANGUAGE plpgsql AS $$BEGIN RAISE WARNING 'planted'; RETURN 0; END $$;
CREATE OPERATOR mallory.<-> (LEFTARG = public.vector, RIGHTARG = public.vector, FUNCTION = mallory.l2_distance);
CREATE FUNCTION mallory.vector_entries(regclass, text) RETURNS SETOF record LANGUAGE sql AS $$SELECT 1$$;
RESET ROLE;
SET search_path = mallory, public, pg_catalog;
CALL dyn_create_vector_index('victim.app', 'planted', 'e', 2, 'EUCLIDEAN', 'hnsw');
SELECT dyn_put('victim.app', '{"id":{"S":"2"},"tenant":{"S":"t"},"e":{"L":[{"N":"1"},{"N":"3"}]}}');
SELECT item->>'id', score FROM dyn_search('victim.app', 'planted', '{1,3}');
REFRESH MATERIALIZED VIEW victim.app_planted;
CALL dyn_drop_index('victim.app', 'planted');
RESET search_path;
-- entries are not to be had by policies, nor by functions that look at them
ALTER TABLE victim.app ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON victim.app TO regress_vector_mallory;
CREATE POLICY mine ON victim.app USING (item->>'tenant' = current_user);
SET ROLE regress_vector_mallory;
SELECT count(*) FROM dyn_search('victim.app', 'emb', '{1,2}', 1, 'tenant = :t', vals => '{":t":{"S":"t"}}');
SELECT attempt('SELECT * FROM victim.app_emb'),
	attempt('SET LOCAL client_min_messages = error; ANALYZE victim.app_emb'), attempt($$CREATE INDEX ON victim.app_emb (whoami(hash_key))$$);
-- a sample, which is how nodes of Citus search, is for who may read all of the relation
SET ROLE regress_vector_victim;
CREATE TABLE victim.shard (vector vector(2), filters dyn_item, partition_key text COLLATE "C");
INSERT INTO victim.shard SELECT format('[%s,0]', i)::vector, format('{"f":{"S":"%s"}}', i)::dyn_item, i FROM generate_series(1, 5) i;
CREATE TABLE victim.parent (LIKE victim.shard);
ALTER TABLE victim.shard INHERIT victim.parent;
GRANT SELECT (partition_key) ON victim.shard TO regress_vector_mallory;
RESET ROLE;
CREATE FUNCTION pg_temp.sample(relation text, wanted text, most int = 1) RETURNS text LANGUAGE plpgsql AS $$
DECLARE found text;
BEGIN
	EXECUTE format('SELECT string_agg(partition_key, '','') FROM %s TABLESAMPLE dynamo_internal.nearest($1, $2, $3, ''{}'', $4, $5, true)', relation)
		INTO found USING '{"name":"i","attribute":"v","dimensions":2,"distance":"EUCLIDEAN","method":"exact","projection":"ALL","filters":["f S"]}',
		'{3,0}'::real[], CASE WHEN wanted IS NULL THEN '' ELSE 'f = :f' END,
		CASE WHEN wanted IS NULL THEN '{}' ELSE jsonb_build_object(':f', jsonb_build_object('S', wanted))::text END, most;
	RETURN coalesce(found, '-');
EXCEPTION WHEN OTHERS THEN
	RETURN SQLERRM;
END $$;
GRANT EXECUTE ON FUNCTION pg_temp.sample TO PUBLIC;
SET ROLE regress_vector_mallory;
SELECT pg_temp.sample('victim.shard', '4'), pg_temp.sample('victim.shard', NULL);
SET ROLE regress_vector_victim;
SELECT pg_temp.sample('victim.shard', '4'), pg_temp.sample('victim.shard', NULL, 3), pg_temp.sample('victim.parent', '4');
GRANT SELECT ON victim.shard TO regress_vector_mallory;
ALTER TABLE victim.shard ENABLE ROW LEVEL SECURITY;
CREATE POLICY one ON victim.shard USING (partition_key = '1');
SET ROLE regress_vector_mallory;
SELECT pg_temp.sample('victim.shard', '4'), pg_temp.sample('victim.shard', NULL);
RESET ROLE;
\set ECHO none
RESET ROLE;
DROP SCHEMA victim, mallory CASCADE;
DROP FUNCTION public.attempt;
DROP EXTENSION vector;
DROP ROLE regress_vector_victim, regress_vector_mallory;
