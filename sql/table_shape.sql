-- Tables made by hand whose shape is not quite that of a table of items: an error, and never bytes read as what they are not.
\set SHOW_CONTEXT never
CREATE FUNCTION derive(table_name text, VARIADIC keys text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON %I FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys(%s)',
		table_name, (SELECT string_agg(quote_literal(k), ', ') FROM unnest(keys) k));
END $$;

-- an item of another type, here and there
CREATE TABLE numbers (item int NOT NULL, pk text COLLATE "C" PRIMARY KEY);
INSERT INTO numbers VALUES (77, 'a');
SELECT derive('numbers', 'pk S');
SELECT dyn_get('numbers', '{"pk":{"S":"a"}}');
SELECT dyn_put('numbers', '{"pk":{"S":"a"}}');
SELECT dyn_query('numbers', 'pk = :p', vals => '{":p":{"S":"a"}}');
INSERT INTO numbers VALUES (78, 'b');
ALTER TABLE numbers ALTER item TYPE dyn_item USING '{"pk":{"S":"a"}}';
SELECT dyn_get('numbers', '{"pk":{"S":"a"}}');
ALTER TABLE numbers ALTER item TYPE text;
SELECT dyn_get('numbers', '{"pk":{"S":"a"}}');
INSERT INTO numbers VALUES (repeat('7x', 40), 'b');
ALTER TABLE numbers ALTER item TYPE dyn_value USING '{"S":"a"}';
SELECT dyn_get('numbers', '{"pk":{"S":"a"}}');

-- an item that may be null
CREATE TABLE nulls (item dyn_item, pk text COLLATE "C" PRIMARY KEY);
INSERT INTO nulls VALUES (NULL, 'a');
SELECT derive('nulls', 'pk S');
SELECT dyn_get('nulls', '{"pk":{"S":"a"}}');
SELECT dyn_query('nulls', 'pk = :p', vals => '{":p":{"S":"a"}}');
SELECT dyn_delete('nulls', '{"pk":{"S":"a"}}', return_values => 'ALL_OLD');
INSERT INTO nulls VALUES (NULL, 'b');
DELETE FROM nulls;
ALTER TABLE nulls ALTER item SET NOT NULL;
SELECT dyn_put('nulls', '{"pk":{"S":"a"}}', return_values => 'ALL_OLD');
ALTER TABLE nulls ALTER item DROP NOT NULL;
SELECT dyn_get('nulls', '{"pk":{"S":"a"}}');

-- a domain over dyn_item is one, and its constraints hold
CREATE DOMAIN small_item AS dyn_item CHECK (dyn_size(VALUE) < 20);
CREATE TABLE domains (item small_item NOT NULL, pk text COLLATE "C" PRIMARY KEY);
SELECT derive('domains', 'pk S');
SELECT dyn_put('domains', '{"pk":{"S":"a"}}');
SELECT dyn_put('domains', '{"pk":{"S":"a"},"a":{"S":"more than twenty bytes"}}');
SELECT dyn_put('domains', '{"pk":{"S":"a"},"a":{"S":"more than twenty bytes"}}', return_values => 'ALL_OLD');
SELECT dyn_get('domains', '{"pk":{"S":"a"}}');

-- a primary key that includes other columns: long keys are tried as an entry without them
CREATE TABLE includes (item dyn_item NOT NULL, pk text COLLATE "C", sk text COLLATE "C", a1 text, a2 text, a3 text, a4 text, a5 text, a6 text, a7 text, a8 text,
  b1 text, b2 text, b3 text, b4 text, b5 text, b6 text, b7 text, b8 text, c1 text, c2 text, c3 text, c4 text, c5 text, c6 text, c7 text, c8 text,
  PRIMARY KEY (pk, sk) INCLUDE (a1, a2, a3, a4, a5, a6, a7, a8, b1, b2, b3, b4, b5, b6, b7, b8, c1, c2, c3, c4, c5, c6, c7, c8));
SELECT derive('includes', 'pk S', 'sk S');
SELECT dyn_put('includes', jsonb_build_object('pk', repeat('x', 2048), 'sk', repeat('y', 1024)));
SELECT dyn_get('includes', jsonb_build_object('pk', repeat('x', 2048), 'sk', repeat('y', 1024))) IS NOT NULL AS found;

-- keys that are no constant are checked as well, and do not pile up in memory
CREATE FUNCTION memory() RETURNS numeric LANGUAGE sql VOLATILE AS 'SELECT sum(used_bytes) FROM pg_backend_memory_contexts';
SELECT count(*) FILTER (WHERE match), max(memory) - min(memory) < 1000000 AS stays
  FROM (SELECT dynamo_internal.keys_match('{"pk":{"S":"a"}}', ARRAY['pk S', 'n' || i || ' S'], 'a'::text, NULL::text) AS match, CASE WHEN i % 20000 = 1
    THEN memory() END AS memory FROM generate_series(1, 40001) i) m;

DROP TABLE includes, numbers, nulls, domains;
DROP DOMAIN small_item;
DROP FUNCTION derive, memory;

-- a primary key whose columns changed places
SELECT dyn_create_table('swapped', 'pk S', 'sk S');
SELECT dyn_put('swapped', '{"pk":{"S":"a"},"sk":{"S":"b"}}');
ALTER TABLE swapped DROP CONSTRAINT swapped_pkey, ADD PRIMARY KEY (sk, pk);
SELECT dyn_get('swapped', '{"pk":{"S":"a"},"sk":{"S":"b"}}');
ALTER TABLE swapped DROP CONSTRAINT swapped_pkey, ADD PRIMARY KEY (pk, sk);
SELECT dyn_get('swapped', '{"pk":{"S":"a"},"sk":{"S":"b"}}');
DROP TABLE swapped;

-- a trigger's settings are its own, also while a call of ours runs
SELECT dyn_create_table('settings', 'pk S');
CREATE FUNCTION report_mode() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'plan_cache_mode is %', current_setting('plan_cache_mode');
	SET plan_cache_mode = force_generic_plan; RETURN NEW; END $$;
CREATE TRIGGER mode BEFORE INSERT ON settings FOR EACH ROW EXECUTE FUNCTION report_mode();
SELECT dyn_put('settings', '{"pk":{"S":"a"}}');
SHOW plan_cache_mode;
RESET plan_cache_mode;
DROP TABLE settings;
DROP FUNCTION report_mode;
