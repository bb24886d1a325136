-- dyn_put(), dyn_get(), dyn_delete(): docs/semantics.md, K06 to K19, W01 to W08, W14, W20, R05 to R07, L03.
SELECT dyn_create_table('mov', 'Actor S', 'Movie S');
SELECT dyn_create_table('nums', 'p S', 'c N');
SELECT dyn_create_table('bins', 'p B', 'c B');
SELECT dyn_create_table('hash', 'p S');

-- W01, W05, W07, W08: put, get, replace in full, delete, get
SELECT dyn_put('mov', '{"Actor":{"S":"Tom Hanks"},"Movie":{"S":"Toy Story"},"Role":{"S":"Woody"},"Year":{"N":"1995"}}');
SELECT dyn_get('mov', '{"Actor":{"S":"Tom Hanks"},"Movie":{"S":"Toy Story"}}');
SELECT dyn_put('mov', '{"Actor":{"S":"Tom Hanks"},"Movie":{"S":"Toy Story"},"Genre":{"S":"Children''s"}}');
SELECT dyn_get('mov', '{"Actor":{"S":"Tom Hanks"},"Movie":{"S":"Toy Story"}}');
SELECT dyn_delete('mov', '{"Actor":{"S":"Tom Hanks"},"Movie":{"S":"Toy Story"}}');
SELECT dyn_get('mov', '{"Actor":{"S":"Tom Hanks"},"Movie":{"S":"Toy Story"}}') IS NULL AS missing;
-- W14 deleting what is not there succeeds
SELECT dyn_delete('mov', '{"Actor":{"S":"Tom Hanks"},"Movie":{"S":"Toy Story"}}');

-- K01 types are free per item
SELECT dyn_put('hash', '{"p":{"S":"1"},"a":{"S":"x"}}'), dyn_put('hash', '{"p":{"S":"2"},"a":{"N":"3"}}');
-- K02, K03, K10 identity
SELECT dyn_put('hash', '{"p":{"S":"1"}}');
SELECT count(*) FROM hash;
SELECT dyn_put('mov', ('{"Actor":{"S":"A"},"Movie":{"S":"' || m || '"}}')::dyn_item) FROM unnest(ARRAY['1', '2', '1']) m;
SELECT count(*) FROM mov;

-- R05, R06, R07 return values
SELECT dyn_put('mov', '{"Actor":{"S":"A"},"Movie":{"S":"1"},"v":{"N":"1"}}', return_values => 'NONE') IS NULL AS none;
SELECT dyn_put('mov', '{"Actor":{"S":"A"},"Movie":{"S":"1"},"v":{"N":"2"}}', return_values => 'ALL_OLD');
SELECT dyn_put('mov', '{"Actor":{"S":"A"},"Movie":{"S":"new"}}', return_values => 'ALL_OLD') IS NULL AS there_was_none;
SELECT dyn_delete('mov', '{"Actor":{"S":"A"},"Movie":{"S":"1"}}', return_values => 'ALL_OLD');
SELECT dyn_delete('mov', '{"Actor":{"S":"A"},"Movie":{"S":"1"}}', return_values => 'ALL_OLD') IS NULL AS there_was_none;
SELECT dyn_put('mov', '{"Actor":{"S":"A"},"Movie":{"S":"1"}}', return_values => 'UPDATED_NEW');
SELECT dyn_put('mov', '{"Actor":{"S":"A"},"Movie":{"S":"1"}}', return_values => 'none');
SELECT dyn_delete('mov', '{"Actor":{"S":"A"},"Movie":{"S":"1"}}', return_values => 'ALL_NEW');
SELECT dyn_put('mov', '{"Actor":{"S":"A"},"Movie":{"S":"1"}}', return_values => NULL) IS NULL AS none;

-- K06 to K09, W02: the full key, of its types, not empty
SELECT dyn_put('mov', '{"Actor":{"S":"T"}}');
SELECT dyn_put('mov', '{"Movie":{"S":"T"}}');
SELECT dyn_put('mov', '{}');
SELECT dyn_put('mov', '{"Actor":{"S":"T"},"Movie":{"N":"5"}}');
SELECT dyn_put('mov', '{"Actor":{"NULL":true},"Movie":{"S":"5"}}');
SELECT dyn_put('mov', '{"Actor":{"S":""},"Movie":{"S":"a"}}');
SELECT dyn_put('mov', '{"Actor":{"S":"a"},"Movie":{"S":""}}');
SELECT dyn_put('bins', '{"p":{"B":""},"c":{"B":"AQ=="}}');
SELECT dyn_put('mov', '{"Actor":{"S":"a"},"Movie":{"S":"b"},"note":{"S":""}}');
SELECT dyn_get('mov', '{"Actor":{"N":"1"},"Movie":{"S":"x"}}');
SELECT dyn_get('mov', '{"Actor":{"S":"Tom Hanks"}}');
SELECT dyn_get('mov', '{"Actor":{"S":"Tom Hanks"},"Movie":{"S":"x"},"Year":{"N":"1"}}');
SELECT dyn_get('mov', '{}');
SELECT dyn_get('mov', '{"Actor":{"S":"a"},"Movie":{"S":""}}');
SELECT dyn_delete('mov', '{"Actor":{"S":"a"}}');
SELECT dyn_delete('mov', '{"Actor":{"S":"a"},"Movie":{"S":"b"},"x":{"S":"y"}}');
SELECT dyn_delete('mov', '{"Actor":{"S":"a"},"Movie":{"B":"AQ=="}}');
SELECT dyn_put(NULL, '{}');
SELECT dyn_put('mov', NULL);
SELECT dyn_get('mov', NULL);
SELECT dyn_get(NULL, '{}');
SELECT dyn_delete('mov', NULL);
SELECT dyn_put('mov', '{"Actor":"Tom","Movie":"plain JSON as text"}');
SELECT dyn_put('mov', '{"Actor":"Tom","Movie":"plain JSON as jsonb"}'::jsonb);
SELECT dyn_get('mov', '{"Actor":"Tom","Movie":"plain JSON as jsonb"}'::jsonb);
SELECT dyn_get('mov', '{"Actor":{"S":"Tom"},"Movie":{"S":"x"}}'::jsonb);
\set VERBOSITY terse
SELECT dyn_get('mov', '{"Actor":{"S":"Tom"},"Movie":{"S":"x"}}'::text);
\set VERBOSITY default

-- K12 numbers are keys by value, K14 in the order of their values
SELECT dyn_put('nums', ('{"p":{"S":"a"},"c":{"N":"' || n || '"}}')::dyn_item) FROM unnest(ARRAY['1', '1.00', '1e0', '01']) n;
SELECT count(*) FROM nums;
SELECT dyn_put('nums', ('{"p":{"S":"b"},"c":{"N":"' || n || '"}}')::dyn_item)
	FROM unnest(ARRAY['10', '9', '-1', '1.5', '2e1', '0', '-1e125', '1e-130', '9.9e125']) n;
SELECT item->>'c' AS number FROM nums WHERE p = 'b' ORDER BY c;
-- K13 strings in the order of their UTF-8 bytes, K15 bytes unsigned
SELECT dyn_put('mov', ('{"Actor":{"S":"order"},"Movie":{"S":"' || s || '"}}')::dyn_item)
	FROM unnest(ARRAY['b', 'B', 'a', '#x', '10', '9', 'é', '¿', 'z', '😀', '\uffff']) s;
SELECT string_agg("Movie", ' ' ORDER BY "Movie") FROM mov WHERE "Actor" = 'order';
SELECT dyn_put('bins', ('{"p":{"B":"AA=="},"c":{"B":"' || s || '"}}')::dyn_item) FROM unnest(ARRAY['gA==', 'fw==', 'AA==', 'fwA=']) s;
SELECT c FROM bins ORDER BY p, c;
-- K19 any string is a key, in its place: U+0000 before U+0001 before U+0002
SELECT dyn_put('mov', ('{"Actor":{"S":"nul"},"Movie":{"S":"' || s || '"}}')::dyn_item)
	FROM unnest(ARRAY['a\u0000b', 'a\u0000', 'a', 'a\u0001', 'a\u0001\u0000', 'a\u0002', 'a\u0000\u0000', '\u0000', '\u0001', 'b']) s;
SELECT item FROM mov WHERE "Actor" = 'nul' ORDER BY "Movie";
SELECT dyn_get('mov', '{"Actor":{"S":"nul"},"Movie":{"S":"a\u0000b"}}');
SELECT dyn_delete('mov', '{"Actor":{"S":"nul"},"Movie":{"S":"a\u0001\u0000"}}', return_values => 'ALL_OLD');

-- L03 key sizes, in bytes, on reads too; and what one entry of a btree can hold
SELECT dyn_put('mov', jsonb_build_object('Actor', repeat('x', 2048), 'Movie', repeat('y', 1024)));
SELECT dyn_get('mov', jsonb_build_object('Actor', repeat('x', 2048), 'Movie', repeat('y', 1024))) IS NOT NULL AS found;
SELECT dyn_put('mov', jsonb_build_object('Actor', repeat('x', 2049), 'Movie', 'y'));
SELECT dyn_put('mov', jsonb_build_object('Actor', repeat('é', 1025), 'Movie', 'y'));
SELECT dyn_put('mov', jsonb_build_object('Actor', 'x', 'Movie', repeat('y', 1025)));
SELECT dyn_get('mov', jsonb_build_object('Actor', repeat('x', 2049), 'Movie', 'y'));
SELECT dyn_delete('mov', jsonb_build_object('Actor', 'x', 'Movie', repeat('y', 1025)));
CREATE FUNCTION noise(n int) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT left(string_agg(md5(i::text), ''), n) FROM generate_series(1, n / 32 + 1) i $$;
SELECT dyn_put('mov', jsonb_build_object('Actor', noise(2048), 'Movie', noise(630))) IS NULL AS fits;
\set VERBOSITY terse
SELECT dyn_put('mov', jsonb_build_object('Actor', noise(2048), 'Movie', noise(1024)));
INSERT INTO mov (item) SELECT jsonb_build_object('Actor', noise(2048), 'Movie', noise(1024))::dyn_item;
\set VERBOSITY default

-- W20 large items: to TOAST and back
SELECT dyn_put('hash', jsonb_build_object('p', 'large', 'a', noise(400000)));
SELECT dyn_size(dyn_get('hash', '{"p":{"S":"large"}}'));
SELECT dyn_size(dyn_put('hash', jsonb_build_object('p', 'large', 'a', noise(300000)), return_values => 'ALL_OLD'));
SELECT dyn_size(dyn_delete('hash', '{"p":{"S":"large"}}', return_values => 'ALL_OLD'));
SELECT dyn_put('hash', jsonb_build_object('p', 'large', 'a', repeat('x', 410000)));
SELECT dyn_get('hash', '{"p":{"S":"large"}}') IS NULL AS missing;

-- N08 own writes are seen; a savepoint takes them back
BEGIN;
SELECT dyn_put('hash', '{"p":{"S":"tx"}}');
SAVEPOINT s;
SELECT dyn_put('hash', '{"p":{"S":"tx"},"a":{"N":"2"}}');
ROLLBACK TO s;
SELECT dyn_get('hash', '{"p":{"S":"tx"}}');
ROLLBACK;
SELECT dyn_get('hash', '{"p":{"S":"tx"}}') IS NULL AS missing;

-- repeatable read and serializable
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT dyn_put('hash', '{"p":{"S":"serial"}}', return_values => 'ALL_OLD');
SELECT dyn_put('hash', '{"p":{"S":"serial"},"a":{"N":"2"}}', return_values => 'ALL_OLD');
SELECT dyn_delete('hash', '{"p":{"S":"serial"}}', return_values => 'ALL_OLD');
COMMIT;

-- the settings of a user do not change what is done
SET plan_cache_mode = force_custom_plan;
SET enable_indexscan = off;
SELECT dyn_put('hash', '{"p":{"S":"set"}}', return_values => 'ALL_OLD'), dyn_get('hash', '{"p":{"S":"1"}}');
RESET plan_cache_mode;
RESET enable_indexscan;
-- the stores have contexts of their own for it
\set SHOW_CONTEXT never
BEGIN READ ONLY;
SELECT dyn_get('hash', '{"p":{"S":"1"}}');
SELECT dyn_put('hash', '{"p":{"S":"1"}}');
ROLLBACK;
\set SHOW_CONTEXT errors

-- an item that row-level security hides can be neither returned nor replaced, and no call waits for it to appear
SELECT dyn_put('hash', '{"p":{"S":"theirs"}}');
CREATE ROLE dyn_single_user;
-- by a policy's own error or by ours: minor releases differ in what ON CONFLICT checks
CREATE FUNCTION refused(call text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'SELECT ' || call;
	RETURN false;
EXCEPTION WHEN insufficient_privilege OR triggered_action_exception THEN
	RETURN true;
END $$;
GRANT SELECT, INSERT, UPDATE, DELETE ON hash TO dyn_single_user;
ALTER TABLE hash ENABLE ROW LEVEL SECURITY;
CREATE POLICY see ON hash FOR SELECT USING (item->>'owner' = current_user);
CREATE POLICY add ON hash FOR INSERT WITH CHECK (true);
CREATE POLICY change ON hash FOR UPDATE USING (true);
CREATE POLICY remove ON hash FOR DELETE USING (true);
SET ROLE dyn_single_user;
SELECT dyn_get('hash', '{"p":{"S":"theirs"}}') IS NULL AS hidden;
SELECT refused($$dyn_put('hash', '{"p":{"S":"theirs"},"owner":{"S":"dyn_single_user"}}')$$);
SELECT refused($$dyn_put('hash', '{"p":{"S":"theirs"},"owner":{"S":"dyn_single_user"}}', return_values => 'ALL_OLD')$$);
SELECT refused($$dyn_put('hash', '{"p":{"S":"theirs"},"owner":{"S":"dyn_single_user"}}', 'attribute_not_exists(p)')$$);
SELECT refused($$dyn_update('hash', '{"p":{"S":"theirs"}}', 'SET #o = :o', names => '{"#o":"owner"}', vals => '{":o":{"S":"dyn_single_user"}}')$$);
SELECT dyn_delete('hash', '{"p":{"S":"theirs"}}', return_values => 'ALL_OLD') IS NULL AS not_deleted;
RESET ROLE;
SELECT dyn_put('hash', '{"p":{"S":"theirs"},"owner":{"S":"them"}}');
ALTER POLICY see ON hash USING (item->>'owner' = current_user OR NOT item ? 'owner');
SET ROLE dyn_single_user;
SELECT refused($$dyn_update('hash', '{"p":{"S":"theirs"}}', return_values => 'ALL_NEW')$$);
SELECT dyn_put('hash', '{"p":{"S":"mine"},"owner":{"S":"dyn_single_user"}}', return_values => 'ALL_OLD') IS NULL AS none;
SELECT dyn_put('hash', '{"p":{"S":"mine"},"owner":{"S":"dyn_single_user"},"a":{"N":"2"}}', return_values => 'ALL_OLD');
RESET ROLE;
DROP POLICY see ON hash;
DROP POLICY add ON hash;
DROP POLICY change ON hash;
DROP POLICY remove ON hash;
ALTER TABLE hash DISABLE ROW LEVEL SECURITY;
SELECT dyn_get('hash', '{"p":{"S":"theirs"}}');
DROP FUNCTION refused;
DROP OWNED BY dyn_single_user;
DROP ROLE dyn_single_user;

-- a user's trigger that refuses a row, or gives it the key of another
CREATE FUNCTION user_trigger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.p = 'refused' THEN RETURN NULL; END IF;
	NEW.item := (NEW.item::jsonb || jsonb_build_object('p', lower(NEW.p)))::dyn_item;
	RETURN NEW;
END $$;
\set SHOW_CONTEXT never
CREATE TRIGGER user_trigger BEFORE INSERT ON hash FOR EACH ROW EXECUTE FUNCTION user_trigger();
SELECT dyn_put('hash', '{"p":{"S":"refused"}}', return_values => 'ALL_OLD') IS NULL AS none, dyn_get('hash', '{"p":{"S":"refused"}}') IS NULL AS missing;
SELECT dyn_put('hash', '{"p":{"S":"LOWER"}}', return_values => 'ALL_OLD') IS NULL AS none;
SELECT dyn_put('hash', '{"p":{"S":"LOWER"},"a":{"N":"2"}}', return_values => 'ALL_OLD');
SELECT dyn_update('hash', '{"p":{"S":"refused"}}', return_values => 'ALL_NEW');
SELECT dyn_get('hash', '{"p":{"S":"lower"}}');
DROP TRIGGER user_trigger ON hash;
SELECT dyn_put('hash', '{"p":{"S":"lower"}}');
CREATE OR REPLACE FUNCTION user_trigger() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER user_trigger BEFORE DELETE ON hash FOR EACH ROW EXECUTE FUNCTION user_trigger();
SELECT dyn_delete('hash', '{"p":{"S":"lower"}}', return_values => 'ALL_OLD');
SELECT dyn_delete('hash', '{"p":{"S":"not there"}}', return_values => 'ALL_OLD') IS NULL AS none;
DROP TRIGGER user_trigger ON hash;
\set SHOW_CONTEXT errors
DROP FUNCTION user_trigger;

-- many rows in one statement, the functions' own memory
SELECT count(dyn_put('nums', ('{"p":{"S":"many"},"c":{"N":"' || i || '"}}')::dyn_item)), count(*) FROM generate_series(1, 5000) i;
SELECT count(dyn_get('nums', ('{"p":{"S":"many"},"c":{"N":"' || i || '"}}')::dyn_item)) FROM generate_series(1, 5000) i;

-- nothing is kept of tables that are gone, also no plans
SET dynamo_table.direct_store = off;
DO $$
BEGIN
	FOR i IN 1..10 LOOP
		PERFORM dyn_create_table('come.and.go', 'p S'), dyn_put('come.and.go', '{"p":{"S":"a"}}');
		PERFORM dyn_drop_table('come.and.go');
		COMMIT;
	END LOOP;
END $$;
SELECT count(*) < 10 AS few FROM pg_backend_memory_contexts WHERE name = 'dynamo_table schema';
SELECT count(*) < 10 AS few FROM pg_backend_memory_contexts WHERE name = 'CachedPlanSource' AND ident LIKE '%come.and.go%';
RESET dynamo_table.direct_store;

DROP FUNCTION noise;
SELECT dyn_drop_table(t) FROM unnest(ARRAY['mov', 'nums', 'bins', 'hash']) t;
