-- dyn_check_table: nothing about tables that are as they were made, a row with advice for each kind of damage.
\set SHOW_CONTEXT never
\pset format unaligned
SET client_min_messages = warning;
CREATE FUNCTION damage(relation text, items int DEFAULT 100) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT regexp_replace(regexp_replace(concat_ws(' | ', object, problem, 'key ' || key::text, 'at ' || place::text) || E'\n    ' || advice, '\(\d+,\d+\)',
		'(…)', 'g'), 'pg_temp_\d+', 'pg_temp', 'g')
	FROM dyn_check_table(relation, items) WITH ORDINALITY ORDER BY object = 'item', key::text, ordinality $$;
-- what the advice of all rows says, done
CREATE PROCEDURE follow_advice(relation text) LANGUAGE plpgsql AS $$
DECLARE statements text[] := ARRAY(SELECT advice FROM dyn_check_table(relation)); statement text;
BEGIN
	FOREACH statement IN ARRAY statements LOOP
		IF statement ~ '^(ALTER|CREATE|UPDATE|REINDEX|WITH)' THEN EXECUTE replace(statement, ' CONCURRENTLY', ''); END IF;
	END LOOP;
END $$;

-- as they were made: keys of all types, indexes of all kinds, settings, names that need quotes
SELECT dyn_create_table('app', 'pk S', 'sk N', global_indexes => '{"GSI1": {"partition_key": "g S", "sort_key": "h N"},
	"Several": {"partition_key": ["a S", "b N"], "sort_key": ["c B"]}, "Inverted": {"partition_key": "sk N", "sort_key": "pk S"}}',
	local_indexes => '{"LSI1": {"sort_key": "l B"}}');
SELECT count(dyn_put('app', jsonb_build_object('pk', 'p' || i % 7, 'sk', i, 'g', CASE WHEN i % 2 = 0 THEN 'g' || i END, 'h', i, 'a', 'a', 'b', i, 'until',
	4000000000 + i, 'big', repeat('x', i * 10)) - CASE WHEN i % 2 = 0 THEN '' ELSE 'g' END)) FROM generate_series(1, 300) i;
CALL dyn_enable_ttl('app', 'until');
SELECT dyn_create_table('Odd-na.mes', 'item B', '~ttl S', global_indexes => '{"an.index": {"partition_key": "ctid S"}}');
SELECT dyn_put('Odd-na.mes', '{"item":{"B":"AAE="},"~ttl":{"S":"a\u0000b\u0001"},"ctid":{"S":"x"}}');
SELECT dyn_create_table('single', 'pk N');
SELECT dyn_put('single', '{"pk":{"N":"-1e-130"}}'), dyn_put('single', '{"pk":{"N":"0"}}');
SELECT dyn_create_entity('single', 'E', '{"pk": "<Id>"}', '{"Id": "N"}'), dyn_enforce_entities('single');
CREATE TEMP TABLE scratch (LIKE app INCLUDING ALL) USING dynamo_table;
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON scratch FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S', 'sk N',
	'{"name": "GSI1", "type": "global", "partition_key": ["g S"], "sort_key": ["h N"]}');
SELECT damage('app'), damage('Odd-na.mes'), damage('single');
-- its constraint covers more than its trigger derives, and the trigger is not ALWAYS
SELECT damage('scratch');
DROP TABLE scratch;
-- items that an index leaves out are no damage: they are older than it
SELECT dyn_create_table('older', 'pk S');
SELECT dyn_put('older', '{"pk":{"S":"a"},"g":{"N":"1"}}'), dyn_put('older', jsonb_build_object('pk', 'b', 'g', repeat('x', 3000)));
CALL dyn_create_index('older', 'GSI1', 'g S');
SELECT count(*) FROM dyn_index_violations('older');
SELECT damage('older');
DROP TABLE older;

-- triggers
ALTER TABLE app DISABLE TRIGGER ALL;
SELECT damage('app');
ALTER TABLE app ENABLE REPLICA TRIGGER "~dynamo_keys";
SELECT damage('app');
ALTER TABLE app ENABLE TRIGGER ALL;
SELECT damage('app');
CALL follow_advice('app');
SELECT damage('app');
ALTER TABLE single DISABLE TRIGGER ALL;
ALTER TABLE single ENABLE TRIGGER ALL;
SELECT damage('single');
CALL follow_advice('single');
SELECT damage('single');
CREATE FUNCTION later() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TRIGGER "~later" BEFORE UPDATE ON single FOR EACH ROW EXECUTE FUNCTION later();
CREATE TRIGGER "~~after" AFTER UPDATE ON single FOR EACH ROW EXECUTE FUNCTION later();
CREATE TRIGGER "~~statement" BEFORE UPDATE ON single FOR EACH STATEMENT EXECUTE FUNCTION later();
CREATE TRIGGER "~~delete" BEFORE DELETE ON single FOR EACH ROW EXECUTE FUNCTION later();
SELECT damage('single');
ALTER TRIGGER "~later" ON single RENAME TO earlier;
DROP TRIGGER "~~delete" ON single;
SELECT damage('single');
DROP TRIGGER "~dynamo_keys" ON single;
SELECT damage('single');
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON single FOR EACH ROW EXECUTE FUNCTION later();
SELECT damage('single');
CREATE OR REPLACE TRIGGER "~dynamo_keys" AFTER INSERT ON single FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk N');
SELECT damage('single');
CREATE OR REPLACE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE OF item ON single FOR EACH ROW
	WHEN (NEW.pk > 0) EXECUTE FUNCTION dynamo_internal.derive_keys('pk N');
SELECT damage('single');
CALL follow_advice('single');
SELECT damage('single');
-- arguments: none, of another type, too many, objects that are none, settings that are none
CREATE OR REPLACE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON single FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys();
SELECT damage('single');
CREATE OR REPLACE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON single FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk X', '{"name": 1',
	'{"settings": {"ttl_attribute": 5}}', 'more');
SELECT damage('single');
CREATE OR REPLACE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON single FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S');
SELECT damage('single');
CREATE OR REPLACE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON single FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk N',
	'{"settings": {"ttl_attribute": "t"}}');
SELECT damage('single');
CREATE OR REPLACE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON single FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk N',
	'{"name": "GSI1", "type": "global", "partition_key": ["g S"]}', '{"name": "GSI1", "type": "global", "partition_key": ["g S"]}');
SELECT damage('single');
CREATE OR REPLACE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON single FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk N');
ALTER TABLE single ENABLE ALWAYS TRIGGER "~dynamo_keys";
-- declarations
SECURITY LABEL FOR dynamo_table ON TABLE single IS '{"entities": [{"name": "nonsense"}]}';
SELECT damage('single');
SECURITY LABEL FOR dynamo_table ON TABLE single IS '{"entities": [{"entity": "A", "keys": {"pk": "<B>"}, "attributes": {"B": 1}}]}';
SELECT damage('single');
SECURITY LABEL FOR dynamo_table ON TABLE single IS NULL;
SELECT damage('single');
CREATE OR REPLACE TRIGGER "~dynamo_model_check" BEFORE INSERT OR UPDATE ON single FOR EACH ROW EXECUTE FUNCTION later();
SELECT damage('single');
DROP TRIGGER "~dynamo_model_check" ON single;
SELECT damage('single');

-- the constraint: missing, other columns, another function of that name, not validated
ALTER TABLE app DROP CONSTRAINT dynamo_keys;
SELECT damage('app');
ALTER TABLE app ADD CONSTRAINT dynamo_keys CHECK (dynamo_internal.keys_match(item, '{"pk S","sk N"}', pk, sk));
SELECT damage('app');
ALTER TABLE app DROP CONSTRAINT dynamo_keys, ADD CONSTRAINT dynamo_keys CHECK (dynamo_internal.keys_match(item, '{"rubbish"}', pk) OR true);
SELECT damage('app');
CALL follow_advice('app');
SELECT damage('app');
CALL follow_advice('app');
SELECT damage('app');
ALTER TABLE single DROP CONSTRAINT dynamo_keys, ADD CONSTRAINT dynamo_keys CHECK (dynamo_internal.keys_match(item, '{"pk N"}', pk)) NOT VALID;
SELECT damage('single');
CALL follow_advice('single');
SELECT damage('single');

-- columns
ALTER TABLE single ALTER item DROP NOT NULL;
SELECT damage('single');
CALL follow_advice('single');
ALTER TABLE single RENAME item TO thing;
SELECT damage('single');
ALTER TABLE single RENAME thing TO item;
SELECT damage('single');
CREATE FUNCTION damage_after(relation text, VARIADIC statements text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE statement text; found text[];
BEGIN
	BEGIN
		FOREACH statement IN ARRAY statements LOOP EXECUTE statement; END LOOP;
		found := ARRAY(SELECT damage(relation, 3));
		RAISE 'undone' USING ERRCODE = 'YYYYY';
	EXCEPTION WHEN SQLSTATE 'YYYYY' THEN RETURN QUERY SELECT unnest(found);
	END;
END $$;
SELECT damage_after('app', 'DELETE FROM app WHERE g IS NULL', 'ALTER TABLE app ALTER g SET NOT NULL');
SELECT damage_after('app', 'ALTER TABLE app DROP COLUMN g CASCADE');
SELECT damage_after('app', 'ALTER TABLE app DROP CONSTRAINT dynamo_keys', 'ALTER TABLE app ALTER g TYPE varchar(100) COLLATE "C"');
SELECT damage_after('app', 'ALTER TABLE app ALTER g TYPE text COLLATE "POSIX"');
SELECT damage_after('app', 'ALTER TABLE app DROP CONSTRAINT dynamo_keys', 'ALTER TABLE app ALTER h TYPE numeric(20, 2)');
SELECT damage_after('app', 'ALTER TABLE app DROP COLUMN "~ttl" CASCADE');
SELECT damage_after('single', 'ALTER TABLE single DROP CONSTRAINT dynamo_keys', 'DELETE FROM single WHERE pk <> 0', 'ALTER TABLE single ALTER pk TYPE int');

-- the primary key
SELECT damage_after('app', 'ALTER TABLE app DROP CONSTRAINT app_pkey');
SELECT damage_after('app', 'ALTER TABLE app DROP CONSTRAINT app_pkey, ADD PRIMARY KEY (pk, sk) DEFERRABLE');
SELECT damage_after('app', 'ALTER TABLE app DROP CONSTRAINT app_pkey, ADD PRIMARY KEY (sk, pk)');
SELECT damage_after('app', 'ALTER TABLE app DROP CONSTRAINT app_pkey, ADD PRIMARY KEY (pk, sk, a)');
SELECT damage_after('app', 'UPDATE pg_index SET indisvalid = false WHERE indexrelid = ''app_pkey''::regclass');

-- btrees
SELECT damage_after('app', 'DROP INDEX "app_GSI1", "app_Several", "app_Inverted", "app_LSI1", app_ttl');
SELECT damage_after('app', 'DROP INDEX "app_GSI1"', 'CREATE INDEX "app_GSI1" ON app (g, h, pk, sk) WHERE g > ''a''');
SELECT damage_after('app', 'DROP INDEX "app_GSI1"', 'CREATE INDEX "app_GSI1" ON app (g, h DESC, pk, sk)');
SELECT damage_after('app', 'DROP INDEX "app_GSI1"', 'CREATE INDEX "app_GSI1" ON app (h, g, pk, sk)');
SELECT damage_after('app', 'UPDATE pg_index SET indisvalid = false WHERE indexrelid = ''"app_GSI1"''::regclass');
SELECT damage_after('app', 'DROP INDEX "app_GSI1", app_ttl', 'CALL follow_advice(''app'')');
-- an index that is unfinished: its rows are no damage
CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'stop'; END $$;
CREATE TRIGGER stop BEFORE UPDATE ON app FOR EACH ROW EXECUTE FUNCTION stop();
CALL dyn_create_index('app', 'Half', 'big S');
SELECT damage('app');
DROP TRIGGER stop ON app;
CALL dyn_create_index('public.app', 'Half', 'big S');
SELECT damage('app');
CALL dyn_drop_index('app', 'Half');

-- columns that are not what the item has
ALTER TABLE app DISABLE TRIGGER ALL, DROP CONSTRAINT dynamo_keys;
UPDATE app SET g = 'wrong' WHERE sk = 1;
UPDATE app SET g = 'wrong' WHERE sk = 2;
UPDATE app SET g = NULL WHERE sk = 4;
UPDATE app SET "~ttl" = 5 WHERE sk = 6;
UPDATE app SET pk = 'other' WHERE sk = 7;
UPDATE app SET sk = 'NaN' WHERE sk = 8;
INSERT INTO app (item, pk, sk) VALUES ('{"pk":{"S":"x"}}', 'x', 1), ('{"pk":{"S":"x"},"sk":{"S":"2"}}', 'x', 2);
SELECT damage('app');
SELECT count(*) FROM damage('app', 2);
SET client_min_messages = notice;
SELECT count(*) FROM dyn_check_table('app', 2) WHERE object = 'item';
SELECT count(*) FROM dyn_check_table('app', 0) WHERE object = 'item';
SELECT count(*) FROM dyn_check_table('app', NULL) WHERE object = 'item';
SET client_min_messages = warning;
-- nothing that reads keys alone takes such a number for one
SELECT count(*) FROM dyn_query('app', 'pk = :p', vals => '{":p":{"S":"p1"}}', projection => 'sk');
SELECT count(*) FROM dyn_scan('app', projection => 'pk, sk');
DELETE FROM app WHERE pk = 'x';
CALL follow_advice('app');
SELECT damage('app');
CALL follow_advice('app');
SELECT damage('app');
SELECT pk, sk FROM app WHERE sk IN (7, 8);

-- bytes that are no item: put there by a superuser's cast, or by the catalog
CREATE FUNCTION bytes(text) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$ SELECT decode($1, 'hex') $$;
CREATE TABLE raw (pk text COLLATE "C" PRIMARY KEY, item bytea NOT NULL);
INSERT INTO raw SELECT 'valid', substr(dynamo_internal.item_send('{"pk":{"S":"valid"}}'), 2);
INSERT INTO raw SELECT 'k' || n, bytes(h) FROM unnest(ARRAY['', '10', '11', '1009', '1000', '10ff', '10097f', '100901ffffffff', '1039ffffffffffffffff',
	'10290100000002000000', '1001616263', '1002ff', '100a0178170100ff7f017903']) WITH ORDINALITY AS b(h, n);
INSERT INTO raw SELECT 'long', bytes('1009' || repeat('ff', 20000));
INSERT INTO raw SELECT 'm' || i, set_byte(b, i, 255)
	FROM (SELECT substr(dynamo_internal.item_send('{"pk":{"S":"abc"},"n":{"N":"-12.5"},"l":{"L":[{"SS":["a","b"]},{"M":{"x":{"BOOL":true}}}]}}'), 2) b) s,
	generate_series(0, length(b) - 1) i;
INSERT INTO raw SELECT 't' || i, substr(b, 1, i)
	FROM (SELECT substr(dynamo_internal.item_send('{"pk":{"S":"abc"},"n":{"N":"-12.5"},"l":{"L":[{"SS":["a","b"]},{"M":{"x":{"BOOL":true}}}]}}'), 2) b) s,
	generate_series(0, length(b) - 1) i;
CREATE CAST (bytea AS dyn_item) WITHOUT FUNCTION;
ALTER TABLE raw ALTER item TYPE dyn_item USING item::dyn_item;
DROP CAST (bytea AS dyn_item);
SELECT damage('raw', 3);
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON raw FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S');
ALTER TABLE raw ENABLE ALWAYS TRIGGER "~dynamo_keys";
SELECT object, problem, count(*), count(key), min(key::text) AS first, count(DISTINCT place) AS places FROM dyn_check_table('raw', NULL) GROUP BY 1, 2
	ORDER BY 3;
SELECT count(*) FROM raw;
-- what the advice says, by places
DO $$ DECLARE bad record; BEGIN
	FOR bad IN SELECT substring(advice FROM 'DELETE.*;') AS statement FROM dyn_check_table('raw', NULL)
		WHERE problem ~ 'bytes' LOOP EXECUTE bad.statement; END LOOP;
END $$;
CALL follow_advice('raw');
CALL follow_advice('raw');
TABLE raw;
SELECT damage('raw');
DROP TABLE raw;

-- partitions: what is wrong says where
CREATE TABLE whole (item dyn_item NOT NULL, pk text COLLATE "C" NOT NULL, sk numeric NOT NULL, PRIMARY KEY (pk, sk),
	CONSTRAINT dynamo_keys CHECK (dynamo_internal.keys_match(item, '{"pk S","sk N"}', pk, sk))) PARTITION BY HASH (pk);
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON whole FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S', 'sk N');
CREATE TABLE part0 PARTITION OF whole FOR VALUES WITH (MODULUS 2, REMAINDER 0) USING dynamo_table;
CREATE TABLE part1 PARTITION OF whole FOR VALUES WITH (MODULUS 2, REMAINDER 1) USING dynamo_table;
ALTER TABLE whole ENABLE ALWAYS TRIGGER "~dynamo_keys";
INSERT INTO whole (item, pk, sk) SELECT jsonb_build_object('pk', 'p' || i, 'sk', i), 'p' || i, i FROM generate_series(1, 20) i;
SELECT damage('whole'), damage('part0');
-- a restore of data is at each partition for itself; a call that changes the table is for all of them
SELECT dyn_create_entity('whole', 'E', '{"pk": "p<n>", "sk": "<n>"}', '{"n": "N"}'), dyn_enforce_entities('whole');
ALTER TABLE part1 DISABLE TRIGGER ALL;
ALTER TABLE part1 ENABLE TRIGGER ALL;
SELECT relation, object, problem FROM dyn_check_table('whole');
SELECT dyn_enforce_entities('whole');
SELECT damage('whole');
INSERT INTO whole (item, pk, sk) VALUES ('{"pk":{"S":"q"},"sk":{"N":"1"}}', 'q', 1);
SELECT dyn_enforce_entities('whole', false);
INSERT INTO whole (item, pk, sk) VALUES ('{"pk":{"S":"q"},"sk":{"N":"1"}}', 'q', 1);
SELECT damage('whole');
ALTER TABLE part0 DISABLE TRIGGER "~dynamo_keys";
ALTER TABLE whole DROP CONSTRAINT dynamo_keys;
UPDATE part0 SET sk = 100 WHERE sk = (SELECT min(sk) FROM part0);
SELECT relation, object, problem, key, advice ~ 'part0' AS there FROM dyn_check_table('whole');
DROP TABLE whole;

-- children
CREATE TABLE child (CHECK (sk > 1000)) INHERITS (app);
SELECT damage('app');
DROP TABLE child;
SELECT damage('app');

-- rights: SELECT, of all of it; no lock without it; policies hold
CREATE ROLE check_reader;
SET ROLE check_reader;
SELECT damage('app');
SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND relation = 'app'::regclass;
RESET ROLE;
GRANT SELECT (item) ON app TO check_reader;
SET ROLE check_reader;
SELECT damage('app');
RESET ROLE;
GRANT SELECT ON app TO check_reader;
ALTER TABLE app DISABLE TRIGGER ALL, DROP CONSTRAINT dynamo_keys;
UPDATE app SET h = 0 WHERE sk < 3;
CREATE POLICY seen ON app TO check_reader USING (sk > 1);
ALTER TABLE app ENABLE ROW LEVEL SECURITY;
SET ROLE check_reader;
SET client_min_messages = notice;
SELECT problem, key FROM dyn_check_table('app') WHERE object = 'item';
SET client_min_messages = warning;
RESET ROLE;
ALTER TABLE app DISABLE ROW LEVEL SECURITY;
CALL follow_advice('app');
CALL follow_advice('app');
-- hostile search_path
CREATE SCHEMA evil;
CREATE TABLE evil.app ();
SET search_path = evil, pg_catalog, public;
SELECT public.damage('app');
SELECT count(*) FROM public.dyn_check_table('public.app');
RESET search_path;
-- what it is not about
SELECT damage('nothing');
SELECT damage('pg_class');
CREATE VIEW single_view AS TABLE single;
SELECT damage('single_view');
SELECT damage(NULL);
SELECT damage('app', -1);
DROP TABLE app, "Odd-na.mes", single CASCADE;
DROP SCHEMA evil CASCADE;
DROP FUNCTION damage, damage_after, later, stop, bytes;
DROP PROCEDURE follow_advice;
DROP ROLE check_reader;
