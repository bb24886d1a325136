-- Batches through the typed functions: docs/semantics.md, B01 to B10, L10.
SELECT dyn_create_table('tab', 'p S', 'n N', global_indexes => '{"GSI": {"partition_key": "g S"}}');
SELECT dyn_create_table('other', 'p S', 'n N');
CREATE FUNCTION key(p text, n int) RETURNS dyn_item LANGUAGE sql IMMUTABLE AS $$ SELECT jsonb_build_object('p', p, 'n', n)::dyn_item $$;
CREATE FUNCTION keys(p text, first int, last int) RETURNS dyn_item[] LANGUAGE sql AS $$ SELECT array_agg(key(p, i) ORDER BY i)
	FROM generate_series(first, last) i $$;
CREATE FUNCTION why(call text, OUT state text, OUT message text, OUT detail text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'SELECT ' || call;
	message := 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
END $$;

-- B02 puts and deletes; a put replaces; deleting what is not there is nothing
SELECT dyn_batch_write('tab', ARRAY['{"p":{"S":"a"},"n":{"N":"2"},"v":{"S":"two"}}', '{"p":{"S":"a"},"n":{"N":"1"},"v":{"S":"one"}}']::dyn_item[]);
SELECT dyn_batch_write('tab', puts => ARRAY['{"p":"a","n":10,"v":"ten"}', '{"p":"a","n":2}']::jsonb[], deletes => ARRAY[key('a', 1), key('b', 1)]);
SELECT item FROM tab ORDER BY p, n;
SELECT dyn_batch_write('tab', deletes => '{"{\"p\":{\"S\":\"a\"},\"n\":{\"N\":\"10\"}}"}');
-- items of a statement
SELECT dyn_batch_write('tab', (SELECT array_agg(jsonb_build_object('p', 'c', 'n', i, 'g', 'g' || i % 2)::dyn_item) FROM generate_series(9, 1, -1) i));
SELECT item FROM tab WHERE g = 'g1' ORDER BY n;
-- puts and deletes whose keys take turns
SELECT dyn_batch_write('tab', ARRAY[key('c', 8), key('c', 2), key('c', 20)], ARRAY[key('c', 7), key('c', 1), key('c', 3)]);
SELECT n, g FROM tab WHERE p = 'c' ORDER BY n;
-- an empty string, a number and bytes as keys
SELECT dyn_create_table('bytes', 'b B');
SELECT dyn_batch_write('bytes', ARRAY['{"b":{"B":"/w=="}}', '{"b":{"B":"AA=="}}']::dyn_item[], ARRAY['{"b":{"B":"AQ=="}}']::dyn_item[]);
SELECT dyn_batch_get('bytes', ARRAY['{"b":{"B":"AA=="}}', '{"b":{"B":"AQ=="}}', '{"b":{"B":"/w=="}}']::dyn_item[]);

-- B01, B09 gets: in the order of the keys, without what is not there; projection for all of them
SELECT dyn_batch_get('tab', ARRAY[key('c', 20), key('x', 1), key('c', 4), key('a', 2)]);
SELECT dyn_batch_get('tab', ARRAY[key('c', 20), key('c', 4)], projection => '#g, n', names => '{"#g":"g"}');
SELECT dyn_batch_get('tab', ARRAY[key('x', 20)]);
SELECT dyn_batch_get('tab', ARRAY[key('c', 4)], consistent_read => true);
SELECT (why($$dyn_batch_get('tab', keys('c', 1, 1), projection => '#g', names => '{"#x":"g"}')$$)).*;
SELECT (why($$dyn_batch_get('tab', keys('c', 1, 1), projection => 'n', names => '{"#x":"g"}')$$)).*;

-- B06 all of it is checked before anything is written
SELECT (why($$dyn_batch_write('tab', ARRAY['{"p":"n","n":1}', '{"p":"n"}', '{"p":"n","n":3}']::jsonb[])$$)).*;
SELECT (why($$dyn_batch_write('tab', ARRAY['{"p":"n","n":1}', '{"p":"n","n":"2"}']::jsonb[])$$)).*;
SELECT (why($$dyn_batch_write('tab', ARRAY['{"p":"n","n":1}', '{"p":"n","n":2,"g":5}']::jsonb[])$$)).*;
SELECT (why($$dyn_batch_write('tab', ARRAY['{"p":"n","n":1}']::jsonb[], ARRAY['{"p":"n","n":2,"g":"5"}']::jsonb[])$$)).*;
SELECT (why($$dyn_batch_write('tab', ARRAY['{"p":"n","n":1}']::jsonb[], ARRAY['{"p":"n"}']::jsonb[])$$)).*;
SELECT (why($$dyn_batch_write('tab', ARRAY[key('n', 1), NULL])$$)).*;
SELECT (why($$dyn_batch_write('tab', ARRAY[key('n', 1), jsonb_build_object('p', 'n', 'n', 2, 'v', repeat('x', 409600))])$$)).*;
SELECT (why($$dyn_batch_get('tab', ARRAY[key('n', 1), '{"p":"n"}'::jsonb])$$)).*;
SELECT count(*) AS b06 FROM tab WHERE p = 'n';

-- B07, L10 limits
SELECT (why($$dyn_batch_write('tab', keys('l', 1, 26))$$)).*;
SELECT (why($$dyn_batch_write('tab', keys('l', 1, 20), keys('m', 1, 6))$$)).*;
SELECT (why($$dyn_batch_write('tab', keys('l', 1, 20), keys('m', 1, 5))$$)).*;
SELECT (why($$dyn_batch_write('tab', keys('l', 1, 25))$$)).*;
SELECT count(*) AS b07 FROM tab WHERE p = 'l';
SELECT state, message FROM why($$dyn_batch_write('tab')$$);
SELECT (why($$dyn_batch_write('tab', '{}', '{}')$$)).*;
SELECT (why($$dyn_batch_write(NULL, keys('l', 1, 2))$$)).*;
SELECT (why($$dyn_batch_get('tab', keys('l', 1, 101))$$)).*;
SELECT count(*) AS b07 FROM dyn_batch_get('tab', keys('l', 1, 100));
SELECT (why($$dyn_batch_get('tab', '{}')$$)).*;
SELECT (why($$dyn_batch_get('tab', NULL)$$)).*;
SELECT (why($$dyn_batch_write('none', keys('l', 1, 2))$$)).*;
SELECT (why($$dyn_batch_get('none', keys('l', 1, 2))$$)).*;
-- 25 items of full size
SELECT dyn_batch_write('other', (SELECT array_agg(jsonb_build_object('p', 'big', 'n', i, 'v', repeat('x', 409000))::dyn_item) FROM generate_series(1, 25) i));
SELECT count(*), sum(dyn_size(item)) FROM other;
SELECT count(*), sum(dyn_size(i)) FROM dyn_batch_get('other', keys('big', 1, 25)) i;

-- B08 one item twice; numbers are equal by value
SELECT (why($$dyn_batch_write('tab', ARRAY[key('d', 1), key('e', 1), key('d', 1)])$$)).*;
SELECT (why($$dyn_batch_write('tab', ARRAY[key('d', 1)], ARRAY['{"p":{"S":"d"},"n":{"N":"1.0"}}']::dyn_item[])$$)).*;
SELECT (why($$dyn_batch_get('tab', ARRAY[key('d', 1), key('d', 2), key('d', 1)])$$)).*;
SELECT count(*) AS b08 FROM tab WHERE p = 'd';

-- B10 a batch is atomic here, and part of the caller's transaction
CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.n = 3 THEN RAISE 'number 3'; END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER stop BEFORE INSERT ON tab FOR EACH ROW EXECUTE FUNCTION stop();
SELECT (why($$dyn_batch_write('tab', keys('t', 1, 5))$$)).*;
SELECT count(*) AS b10 FROM tab WHERE p = 't';
-- a write that a trigger takes back
CREATE OR REPLACE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN CASE WHEN NEW.n <> 3 THEN NEW END; END $$;
SELECT (why($$dyn_batch_write('tab', keys('t', 1, 5))$$)).*;
DROP TRIGGER stop ON tab;
BEGIN;
SELECT dyn_batch_write('tab', keys('t', 1, 5));
SELECT count(*) FROM dyn_batch_get('tab', keys('t', 1, 9));
ROLLBACK;
SELECT count(*) FROM dyn_batch_get('tab', keys('t', 1, 9));

-- a partitioned table
CREATE TABLE part (item dyn_item NOT NULL, p text COLLATE "C" NOT NULL, n numeric NOT NULL, PRIMARY KEY (p, n)) PARTITION BY HASH (p);
CREATE TABLE part0 PARTITION OF part FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE part1 PARTITION OF part FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON part FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('p S', 'n N');
SELECT dyn_batch_write('part', keys('a', 1, 3) || keys('b', 1, 3) || keys('c', 1, 3), keys('z', 1, 2));
SELECT dyn_batch_write('part', keys('b', 1, 1), keys('a', 1, 2) || keys('c', 2, 2));
SELECT dyn_batch_get('part', keys('a', 1, 3) || keys('b', 1, 1) || keys('c', 1, 3));

-- rights are the caller's
CREATE ROLE regress_batch;
SET ROLE regress_batch;
SELECT (why($$dyn_batch_get('tab', keys('l', 1, 2))$$)).*;
SELECT (why($$dyn_batch_write('tab', keys('l', 1, 2))$$)).*;
RESET ROLE;
-- a hostile search_path
CREATE SCHEMA hostile;
CREATE FUNCTION hostile.unnest(dyn_item[], text[], numeric[]) RETURNS SETOF record LANGUAGE plpgsql AS $$ BEGIN RAISE 'hostile'; END $$;
CREATE FUNCTION hostile.unnest(anyarray) RETURNS SETOF anyelement LANGUAGE plpgsql AS $$ BEGIN RAISE 'hostile'; END $$;
SET search_path = hostile, pg_catalog, public;
SELECT dyn_batch_write('public.tab', public.keys('h', 1, 2));
RESET search_path;

DROP SCHEMA hostile CASCADE;
DROP ROLE regress_batch;
DROP TABLE tab, other, bytes, part;
DROP FUNCTION key, keys, why, stop;
