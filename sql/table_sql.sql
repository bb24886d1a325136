-- Key columns follow the item in whatever way a row is written.
\set SHOW_CONTEXT never
SELECT dyn_create_table('app', 'pk S', 'sk S');
CREATE VIEW wrong_keys AS SELECT * FROM app WHERE NOT dynamo_internal.keys_match(item, ARRAY['pk S', 'sk S'], pk, sk);

-- plain SQL: what it gives for a key column is what the item has, or an error; in an update it may be what was there
INSERT INTO app (item) VALUES ('{"pk":{"S":"a"},"sk":{"S":"1"},"n":{"N":"1"}}');
INSERT INTO app (item, pk, sk) VALUES ('{"pk":{"S":"a"},"sk":{"S":"2"}}', 'x', 'y') RETURNING pk, sk;
INSERT INTO app (item, pk) VALUES ('{"pk":{"S":"a"},"sk":{"S":"2"}}', 'a') RETURNING pk, sk;
INSERT INTO app VALUES ('{"pk":{"S":"a"},"sk":{"S":"1"}}');
INSERT INTO app (item) VALUES ('{"pk":{"S":"a"}}');
INSERT INTO app (item) VALUES (NULL);
UPDATE app SET item = '{"pk":{"S":"a"},"sk":{"S":"2"},"new":{"S":"x"}}' WHERE sk = '2' RETURNING *;
UPDATE app SET item = '{"pk":{"S":"a"},"sk":{"S":"3"}}' WHERE sk = '2';
UPDATE app SET pk = 'b' WHERE sk = '2' RETURNING pk;
UPDATE app SET pk = 'a', sk = sk, item = '{"pk":{"S":"a"},"sk":{"S":"2"},"new":{"S":"x"}}' WHERE sk = '2' RETURNING pk;
UPDATE app SET sk = NULL WHERE sk = '2' RETURNING sk;
DELETE FROM app WHERE pk = 'a' AND sk = '2' RETURNING item;

-- ON CONFLICT, MERGE, COPY
INSERT INTO app (item) VALUES ('{"pk":{"S":"a"},"sk":{"S":"1"},"n":{"N":"2"}}') ON CONFLICT (pk, sk) DO UPDATE SET item = EXCLUDED.item RETURNING *;
INSERT INTO app (item) VALUES ('{"pk":{"S":"a"},"sk":{"S":"1"}}') ON CONFLICT DO NOTHING;
MERGE INTO app USING (VALUES ('{"pk":{"S":"a"},"sk":{"S":"1"},"m":{"N":"1"}}'::dyn_item), ('{"pk":{"S":"a"},"sk":{"S":"m"}}')) v (i)
  ON app.pk = v.i->>'pk' AND app.sk = v.i->>'sk' WHEN MATCHED THEN UPDATE SET item = v.i WHEN NOT MATCHED THEN INSERT (item) VALUES (v.i);
COPY app (item) FROM STDIN;
{"pk":{"S":"c"},"sk":{"S":"1"}}
{"pk":{"S":"c"},"sk":{"S":"2"}}
\.
COPY app FROM STDIN;
{"pk":{"S":"c"},"sk":{"S":"3"}}	given	wrong
\.
COPY app FROM STDIN;
{"pk":{"S":"c"},"sk":{"S":"3"}}	c	3
\.
COPY app (item) FROM STDIN;
{"pk":{"S":"c"},"sk":{"N":"4"}}
\.
SELECT * FROM app ORDER BY pk, sk;
COPY app TO STDOUT;

-- past the trigger: a later user trigger, the replica role, disabled triggers
CREATE FUNCTION meddle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.sk := 'meddled'; RETURN NEW; END $$;
CREATE TRIGGER "~~after" BEFORE INSERT OR UPDATE ON app FOR EACH ROW EXECUTE FUNCTION meddle();
INSERT INTO app (item) VALUES ('{"pk":{"S":"d"},"sk":{"S":"1"}}');
SELECT dyn_put('app', '{"pk":{"S":"d"},"sk":{"S":"1"}}');
DROP TRIGGER "~~after" ON app;
CREATE TRIGGER before BEFORE INSERT OR UPDATE ON app FOR EACH ROW EXECUTE FUNCTION meddle();
INSERT INTO app (item) VALUES ('{"pk":{"S":"d"},"sk":{"S":"1"}}') RETURNING sk;
DROP TRIGGER before ON app;
INSERT INTO app (item) VALUES ('{"pk":{"S":"d"},"sk":{"S":"1"}}') RETURNING sk;
CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.item := jsonb_set(NEW.item::jsonb, '{stamped}', 'true')::dyn_item; RETURN NEW; END $$;
CREATE TRIGGER stamp BEFORE INSERT ON app FOR EACH ROW EXECUTE FUNCTION stamp();
SELECT dyn_put('app', '{"pk":{"S":"d"},"sk":{"S":"stamp"}}'), dyn_get('app', '{"pk":{"S":"d"},"sk":{"S":"stamp"}}');
SELECT dyn_get('app', '{"pk":{"S":"d"},"sk":{"S":"stamp"}}');
DROP TRIGGER stamp ON app;
SET session_replication_role = replica;
INSERT INTO app (item, pk, sk) VALUES ('{"pk":{"S":"e"},"sk":{"S":"1"}}', 'x', 'y') RETURNING pk, sk;
INSERT INTO app (item, pk, sk) VALUES ('{"pk":{"S":"e"},"sk":{"S":"1"}}', 'e', '1') RETURNING pk, sk;
RESET session_replication_role;
ALTER TABLE app DISABLE TRIGGER ALL;
INSERT INTO app (item, pk, sk) VALUES ('{"pk":{"S":"f"},"sk":{"S":"1"}}', 'x', 'y');
INSERT INTO app (item, pk, sk) VALUES ('{"pk":{"S":"f"},"sk":{"S":"1"}}', 'f', '1');
UPDATE app SET item = '{"pk":{"S":"f"},"sk":{"S":"2"}}' WHERE pk = 'f';
UPDATE app SET sk = '2' WHERE pk = 'f';
SELECT dyn_put('app', '{"pk":{"S":"f"},"sk":{"S":"3"}}');
ALTER TABLE app ENABLE TRIGGER ALL;
SET session_replication_role = replica;
INSERT INTO app (item, pk, sk) VALUES ('{"pk":{"S":"g"},"sk":{"S":"1"}}', 'x', 'y');
INSERT INTO app (item, pk, sk) VALUES ('{"pk":{"S":"g"},"sk":{"S":"1"}}', 'g', '1');
RESET session_replication_role;
SELECT count(*) AS wrong FROM wrong_keys;

-- plain SQL uses the primary key
ANALYZE app;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT item->>'UserName' FROM app WHERE pk = 'ORG#1' AND sk >= 'USER#' ORDER BY sk;
RESET enable_seqscan;

-- a partitioned table: plain SQL names the key columns, since routing comes first
CREATE TABLE parted (item dyn_item NOT NULL, pk text COLLATE "C" NOT NULL, sk numeric NOT NULL, PRIMARY KEY (pk, sk),
  CONSTRAINT dynamo_keys CHECK (dynamo_internal.keys_match(item, ARRAY['pk S', 'sk N'], pk, sk))) PARTITION BY HASH (pk);
CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0) USING dynamo_table;
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1) USING dynamo_table;
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON parted FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S', 'sk N');
SELECT dyn_put('parted', ('{"pk":{"S":"' || p || '"},"sk":{"N":"' || i || '"}}')::dyn_item, return_values => 'ALL_OLD') FROM generate_series(1, 2) i,
	unnest(ARRAY['a', 'b', 'c', 'd']) p;
SELECT dyn_put('parted', '{"pk":{"S":"a"},"sk":{"N":"1"},"n":{"N":"5"}}', return_values => 'ALL_OLD'),
	dyn_delete('parted', '{"pk":{"S":"b"},"sk":{"N":"2"}}', return_values => 'ALL_OLD');
SELECT dyn_get('parted', '{"pk":{"S":"a"},"sk":{"N":"1"}}');
INSERT INTO parted (item) VALUES ('{"pk":{"S":"z"},"sk":{"N":"1"}}');
INSERT INTO parted (item, pk, sk) VALUES ('{"pk":{"S":"z"},"sk":{"N":"1"}}', 'z', 1);
INSERT INTO parted (item, pk, sk) VALUES ('{"pk":{"S":"z"},"sk":{"N":"2"}}', 'z', 3) RETURNING pk, sk;
INSERT INTO parted (item, pk, sk) VALUES ('{"pk":{"S":"z"},"sk":{"N":"2"}}', 'z', 2.0) RETURNING pk, sk;
SELECT count(*), count(DISTINCT tableoid) FROM parted;

-- privileges and row-level security are the caller's
CREATE ROLE dyn_reader;
CREATE ROLE dyn_nobody;
GRANT SELECT ON app TO dyn_reader;
SET ROLE dyn_nobody;
SELECT dyn_get('app', '{"pk":{"S":"a"},"sk":{"S":"1"}}');
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"S":"1"}}');
SELECT dyn_delete('app', '{"pk":{"S":"a"},"sk":{"S":"1"}}');
SELECT dyn_drop_table('app');
SET ROLE dyn_reader;
SELECT dyn_get('app', '{"pk":{"S":"a"},"sk":{"S":"1"}}');
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"S":"1"}}');
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"S":"1"}}', return_values => 'ALL_OLD');
SELECT dyn_delete('app', '{"pk":{"S":"a"},"sk":{"S":"1"}}');
RESET ROLE;
-- K24 only items of some partition keys
GRANT SELECT, INSERT, UPDATE, DELETE ON app TO dyn_reader;
ALTER TABLE app ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON app TO dyn_reader USING (pk = 'a') WITH CHECK (pk = 'a');
SET ROLE dyn_reader;
SELECT dyn_get('app', '{"pk":{"S":"a"},"sk":{"S":"1"}}') IS NOT NULL AS seen, dyn_get('app', '{"pk":{"S":"c"},"sk":{"S":"1"}}') IS NOT NULL AS hidden;
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"S":"new"}}');
SELECT dyn_put('app', '{"pk":{"S":"c"},"sk":{"S":"new"}}');
SELECT dyn_put('app', '{"pk":{"S":"c"},"sk":{"S":"1"}}');
SELECT dyn_delete('app', '{"pk":{"S":"c"},"sk":{"S":"1"}}', return_values => 'ALL_OLD');
RESET ROLE;
SELECT dyn_get('app', '{"pk":{"S":"c"},"sk":{"S":"1"}}');
SET ROLE dyn_reader;
SELECT dyn_get('app', '{"pk":{"S":"c"},"sk":{"S":"1"}}');
RESET ROLE;

DROP VIEW wrong_keys;
DROP TABLE app, parted;
DROP FUNCTION meddle, stamp;
DROP ROLE dyn_reader, dyn_nobody;
