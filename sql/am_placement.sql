-- Placement: the rows of a collection on the same pages.
CREATE SCHEMA placement;
SET search_path = placement, public;
-- pages of a table, and the average over its collections
CREATE FUNCTION pages(rel regclass, OUT per_collection numeric, OUT used bigint) LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('SELECT avg(n), (SELECT count(DISTINCT (ctid::text::point)[0]) FROM %1$s) FROM (SELECT count(DISTINCT (ctid::text::point)[0]) AS n FROM %1$s
    GROUP BY pk) p', rel) INTO per_collection, used;
END $$;
-- 100 rows for each of 50 collections, in random order; four pages' worth each
CREATE TABLE source AS SELECT i % 50 AS pk, i / 50 AS sk, repeat(md5(i::text), 8) AS v FROM generate_series(0, 4999) i ORDER BY hashint4(i);

CREATE TABLE heaped (pk int, sk int, v text, PRIMARY KEY (pk, sk)) USING heap;
CREATE TABLE placed (pk int, sk int, v text, PRIMARY KEY (pk, sk)) USING dynamo_table;
INSERT INTO heaped TABLE source;
INSERT INTO placed TABLE source;
SELECT p.per_collection < h.per_collection / 5 AS together, p.used < h.used * 1.25 AS bounded FROM pages('placed') p, pages('heaped') h;
SELECT count(*) FROM (TABLE placed EXCEPT ALL TABLE source) d;

-- collections that grow alike leave shared pages early: 400 of four full pages are on less than seven each, in a little more space
CREATE TABLE wide AS SELECT i % 400 AS pk, i / 400 AS sk, substr(repeat(md5(i::text), 8), 1, 240) AS v FROM generate_series(0, 39999) i ORDER BY hashint4(i);
CREATE TABLE large_heaped (LIKE heaped INCLUDING INDEXES) USING heap WITH (fillfactor = 90);
CREATE TABLE large (LIKE placed INCLUDING INDEXES) USING dynamo_table WITH (fillfactor = 90);
INSERT INTO large_heaped TABLE wide;
INSERT INTO large TABLE wide;
SELECT p.per_collection < 7 AS together, p.used < h.used * 1.2 AS bounded FROM pages('large') p, pages('large_heaped') h;

-- small collections that all grow: 3,000 of eight rows take little more than a heap
CREATE TABLE small AS SELECT i % 3000 AS pk, i / 3000 AS sk, substr(repeat(md5(i::text), 8), 1, 240) AS v FROM generate_series(0, 23999) i ORDER BY hashint4(i);
TRUNCATE large_heaped, large;
INSERT INTO large_heaped TABLE small;
INSERT INTO large TABLE small;
SELECT p.per_collection < 2.3 AS together, p.used < h.used * 1.25 AS bounded FROM pages('large') p, pages('large_heaped') h;

-- where collections do not grow, a new one gets room for as many rows as the others have: 3 and 8 rows, 40 collections at a time
CREATE TABLE settled AS SELECT n, hashint4(i / n) AS pk, i AS sk, substr(repeat(md5(i::text), 8), 1, 240) AS v,
	i + n * 40 * (hashint4(i)::float8 / 4294967296) AS t FROM unnest('{3, 8}'::int[]) n, generate_series(0, 23999) i;
CREATE TABLE settled_pages (n int, per_collection numeric, used bigint);
DO $$
DECLARE rows int;
BEGIN
  FOREACH rows IN ARRAY '{3, 8}'::int[] LOOP
    TRUNCATE large;
    INSERT INTO large SELECT pk, sk, v FROM settled WHERE n = rows ORDER BY t;
    INSERT INTO settled_pages SELECT rows, p.* FROM pages('large') p;
  END LOOP;
END$$;
SELECT n, s.per_collection < 1.7 AS together, s.used < h.used * 1.25 AS bounded FROM settled_pages s, pages('large_heaped') h ORDER BY n;

-- a table that is filled with large collections, and then with those of one row, keeps no room for more rows of these
TRUNCATE large;
INSERT INTO large SELECT i / 1000, i, substr(repeat(md5(i::text), 8), 1, 240) FROM generate_series(0, 7999) i;
CREATE TABLE before AS SELECT used FROM pages('large');
INSERT INTO large SELECT i, 0, substr(repeat(md5(i::text), 8), 1, 240) FROM generate_series(10000, 12999) i;
SELECT (p.used - b.used) * 8192 < 1.35 * 3000 * 288 AS bounded FROM pages('large') p, before b;

-- pages that updates and VACUUM have emptied are found again, and the size stays
TRUNCATE large;
INSERT INTO large SELECT * FROM wide WHERE pk < 100 ORDER BY pk, sk;
CREATE INDEX ON large (md5(v));
CREATE TABLE sizes AS SELECT 0 AS round, used FROM pages('large');
\set ECHO none
SELECT format('UPDATE large SET v = substr(md5(v) || v, 1, 240) WHERE sk %% 8 = %s', i % 8), 'VACUUM large',
	format('INSERT INTO sizes SELECT %s, pg_relation_size(''large'') / 8192', i / 8) FROM generate_series(8, 39) i \gexec
\set ECHO all
SELECT max(used) < 1.3 * min(used) AS bounded, max(used) FILTER (WHERE round = 4) = max(used) FILTER (WHERE round = 2) AS stays FROM sizes;

-- COPY places its rows as INSERT does: of a table without row triggers, of one with them, and of items
CREATE TABLE copied (LIKE placed INCLUDING INDEXES) USING dynamo_table;
\set rows 'PROGRAM $$awk \'BEGIN { for (i = 0; i < 5000; i++) printf "%d\t%d\t%0256d\\n", i % 50, int(i / 50), i }\'$$'
COPY copied FROM :rows;
SELECT p.per_collection < h.per_collection / 5 AS together, p.used < h.used * 1.35 AS bounded FROM pages('copied') p, pages('heaped') h;
SET enable_seqscan = off;
SELECT count(*), sum(v::int) FROM copied WHERE (pk, sk) >= (0, 0);
RESET enable_seqscan;
TRUNCATE copied;
CREATE FUNCTION same() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TRIGGER same BEFORE INSERT ON copied FOR EACH ROW EXECUTE FUNCTION same();
COPY copied FROM :rows;
SELECT p.per_collection < h.per_collection / 5 AS together FROM pages('copied') p, pages('heaped') h;
SELECT dyn_create_table('copied_items', 'pk S', 'sk S');
COPY copied_items (item) FROM PROGRAM $$awk 'BEGIN { for (i = 0; i < 5000; i++) printf "{\"pk\":{\"S\":\"%d\"},\"sk\":{\"S\":\"%d\"},\"v\":{\"S\":\"%0200d\"}}\n", i % 50, i / 50, i }'$$;
SELECT items, pages < 20 AS together FROM dyn_table_statistics('copied_items') WHERE kind = 'table';
-- but not into a file of its own transaction, nor with the setting off
DROP TRIGGER same ON copied;
BEGIN;
TRUNCATE copied;
COPY copied FROM :rows;
SELECT per_collection > 60 AS scattered FROM pages('copied');
ROLLBACK;
SET dynamo_table.placement = off;
TRUNCATE copied;
COPY copied FROM :rows;
SELECT per_collection > 60 AS scattered FROM pages('copied');
RESET dynamo_table.placement;
-- a row that is refused in the middle of many
COPY copied FROM PROGRAM $$awk 'BEGIN { for (i = 0; i < 900; i++) printf "%d\t%d\t%0256d\n", i % 50, 1000 + i, i; print "1\t1\tdouble" }'$$;
SELECT count(*) FROM copied;
-- sorted rows, many of one collection at a time, fill pages
TRUNCATE copied;
COPY copied FROM PROGRAM $$awk 'BEGIN { for (i = 0; i < 5000; i++) printf "%d\t%d\t%0256d\n", i / 1000, i, i }'$$;
SELECT used < 190 AS bounded, per_collection < 40 AS together FROM pages('copied');

-- the setting turns it off, for a session
BEGIN;
CREATE TABLE off (LIKE placed INCLUDING INDEXES) USING dynamo_table;
SET LOCAL dynamo_table.placement = off;
INSERT INTO off TABLE source;
SELECT p.per_collection = h.per_collection AS as_heap, p.used = h.used AS same_size FROM pages('off') p, pages('heaped') h;
ROLLBACK;

-- so does one for each table of items
SELECT dyn_create_table('app', 'pk S', 'sk N');
SELECT dyn_describe_table('app') -> 'Placement' AS placement;
SELECT dyn_alter_table('app', '{"placement": false}');
SELECT dyn_describe_table('app') -> 'Placement' AS placement;
SELECT tgargs FROM (SELECT regexp_replace(pg_get_triggerdef(oid), '.*dynamo_internal.derive_keys', '') AS tgargs FROM pg_trigger WHERE tgrelid =
	'app'::regclass AND tgname = '~dynamo_keys') t;
CREATE FUNCTION fill(items text) RETURNS numeric LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('TRUNCATE %I', items);
  EXECUTE format('INSERT INTO %I (item) SELECT jsonb_build_object(''pk'', pk::text, ''sk'', sk, ''v'', v)::dyn_item FROM source', items);
  RETURN (SELECT per_collection FROM pages(items::regclass));
END $$;
SELECT fill('app') > 60 AS scattered;
SELECT dyn_alter_table('app', '{"placement": true}');
SELECT dyn_describe_table('app') -> 'Placement' AS placement;
SELECT fill('app') < 20 AS together;
-- in the same transaction, and taken back with it
BEGIN;
SELECT dyn_alter_table('app', '{"placement": false}');
SELECT fill('app') > 60 AS scattered;
ROLLBACK;
SELECT fill('app') < 20 AS together;
-- plain puts and the pages that collections are on
TRUNCATE app;
SELECT count(dyn_put('app', jsonb_build_object('pk', pk::text, 'sk', sk, 'v', v)::dyn_item, return_values => 'ALL_OLD')) FROM source;
SELECT items, pages < 20 AS together, ideal_pages BETWEEN 4 AND 6 AS ideal FROM dyn_table_statistics('app') WHERE kind = 'table';
VACUUM FULL app;
SELECT pages / ideal_pages < 1.5 AS sorted FROM dyn_table_statistics('app') WHERE kind = 'table';

-- errors
\set VERBOSITY sqlstate
SELECT dyn_alter_table('nothing', '{"placement": false}');
SELECT dyn_alter_table('source', '{"placement": false}');
CREATE ROLE placement_reader;
GRANT USAGE ON SCHEMA placement TO placement_reader;
SET ROLE placement_reader;
SELECT dyn_alter_table('app', '{"placement": false}');
RESET ROLE;
\set VERBOSITY default
-- a reader sees what row-level security shows him
GRANT SELECT ON app TO placement_reader;
ALTER TABLE app ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON app TO placement_reader USING (pk < '2' AND sk < 10);
SET ROLE placement_reader;
SELECT items, pages < 20 AS together, ideal_pages = 1 AS ideal FROM dyn_table_statistics('app') WHERE kind = 'table';
RESET ROLE;
DROP TABLE app;

-- the fillfactor is kept
CREATE TABLE half (LIKE placed INCLUDING INDEXES) USING dynamo_table WITH (fillfactor = 50);
INSERT INTO half TABLE source;
SELECT p.used > h.used * 1.5 AS emptier, p.used < h.used * 3 AS bounded, p.per_collection < 25 AS together FROM pages('half') p, pages('heaped') h;
SELECT max(n) <= 15 AS kept FROM (SELECT count(*) AS n FROM half GROUP BY (ctid::text::point)[0]) p;
CREATE TABLE tenth (LIKE placed INCLUDING INDEXES) USING dynamo_table WITH (fillfactor = 10);
INSERT INTO tenth TABLE source;
SELECT max(n) <= 3 AS kept FROM (SELECT count(*) AS n FROM tenth GROUP BY (ctid::text::point)[0]) p;

-- rows that go out of line are short, and rows that are compressed as long as they are then
CREATE TABLE long (pk int, sk int, v text, PRIMARY KEY (pk, sk)) USING dynamo_table;
CREATE TABLE squeezed (LIKE long INCLUDING INDEXES) USING dynamo_table;
ALTER TABLE long ALTER v SET STORAGE EXTERNAL;
ALTER TABLE squeezed ALTER v SET STORAGE MAIN;
INSERT INTO long SELECT i % 20, i, repeat(md5(i::text), 640) FROM generate_series(1, 1000) i;
INSERT INTO squeezed SELECT i % 20, i, repeat(md5(i::text), 100) FROM generate_series(1, 1000) i;
SELECT used < 40 AS short, per_collection < 6 AS together FROM pages('long');
SELECT used < 60 AS short, per_collection < 4 AS together FROM pages('squeezed');

-- keys that come out of line
CREATE TABLE keys (pk text, sk text, v text);
ALTER TABLE keys ALTER sk SET STORAGE EXTERNAL;
INSERT INTO keys SELECT repeat('k', i % 3 + 1), repeat(i::text, 700), repeat('v', 100) FROM generate_series(1, 100) i;
CREATE TABLE long_keys (pk text, sk text, v text, PRIMARY KEY (pk, sk)) USING dynamo_table;
INSERT INTO long_keys TABLE keys;
SELECT count(*) FROM (TABLE long_keys EXCEPT TABLE keys) d;

-- a key of one column, none, or one that is checked later: as heap
CREATE TABLE one (pk int, sk int, v text, id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY) USING dynamo_table;
CREATE TABLE none (pk int, sk int, v text) USING dynamo_table;
CREATE TABLE later (pk int, sk int, v text, PRIMARY KEY (pk, sk) DEFERRABLE INITIALLY DEFERRED) USING dynamo_table;
INSERT INTO one TABLE source;
INSERT INTO none TABLE source;
INSERT INTO later TABLE source;
SELECT rel, per_collection > 60 AS scattered FROM unnest('{one, none, later}'::regclass[]) rel, pages(rel);
-- it begins when there is a key
ALTER TABLE none ADD PRIMARY KEY (pk, sk);
INSERT INTO none SELECT pk + 100, sk, v FROM source;
SELECT avg(n) < 20 AS together FROM (SELECT count(DISTINCT (ctid::text::point)[0]) AS n FROM none WHERE pk >= 100 GROUP BY pk) p;
ALTER TABLE none DROP CONSTRAINT none_pkey;
INSERT INTO none SELECT pk + 200, sk, v FROM source;
SELECT avg(n) > 60 AS scattered FROM (SELECT count(DISTINCT (ctid::text::point)[0]) AS n FROM none WHERE pk >= 200 GROUP BY pk) p;

-- an update that leaves its page goes to the others of its collection
CREATE TABLE moving (LIKE placed INCLUDING INDEXES) USING dynamo_table;
INSERT INTO moving TABLE source;
UPDATE moving SET v = v || v || v WHERE sk % 3 = 0;
VACUUM moving;
SELECT per_collection < 25 AS together, used < 600 AS bounded FROM pages('moving');
UPDATE moving SET pk = pk + 1000 WHERE pk < 10;
SELECT avg(n) < 25 AS together FROM (SELECT count(DISTINCT (ctid::text::point)[0]) AS n FROM moving WHERE pk >= 1000 GROUP BY pk) p;

-- rows aimed at one full page do not each open another
CREATE TABLE full_page (pk int, sk int, v text, PRIMARY KEY (pk, sk)) USING dynamo_table;
INSERT INTO full_page SELECT 1, i, repeat('x', 200) FROM generate_series(1, 33) i;
INSERT INTO full_page SELECT 1, i, repeat('x', 200) FROM generate_series(1001, 1100) i;
SELECT pg_relation_size('full_page') / current_setting('block_size')::int <= 6 AS bounded;
-- nor do collections of one row
CREATE TABLE single (pk int, sk int, v text, PRIMARY KEY (pk, sk)) USING dynamo_table;
INSERT INTO single SELECT i, 1, repeat('x', 200) FROM generate_series(1, 10000) i;
SELECT pg_relation_size('single') / current_setting('block_size')::int < 1.1 * 10000 / 33 AS bounded;
-- rows in the order of the key take no more than on a heap
CREATE TABLE sorted (pk int, sk int, v text, PRIMARY KEY (pk, sk)) USING dynamo_table;
INSERT INTO sorted SELECT * FROM source ORDER BY pk, sk;
SELECT s.used <= h.used * 1.1 AS bounded, s.per_collection < 6 AS together FROM pages('sorted') s, pages('heaped') h;

-- partitions, triggers that write the same table, subtransactions that take rows back, truncation
CREATE TABLE parts (pk int, sk int, v text, PRIMARY KEY (pk, sk)) PARTITION BY RANGE (pk);
SET default_table_access_method = dynamo_table;
CREATE TABLE parts_low PARTITION OF parts FOR VALUES FROM (0) TO (25);
CREATE TABLE parts_high PARTITION OF parts FOR VALUES FROM (25) TO (1000);
RESET default_table_access_method;
INSERT INTO parts TABLE source;
SELECT rel, per_collection < 20 AS together FROM unnest('{parts_low, parts_high}'::regclass[]) rel, pages(rel);
CREATE FUNCTION twin() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  BEGIN
    INSERT INTO placed VALUES (NEW.pk + 2000, NEW.sk, NEW.v);
    IF NEW.sk % 2 = 0 THEN RAISE EXCEPTION 'undo'; END IF;
  EXCEPTION WHEN raise_exception THEN
  END;
  RETURN NEW;
END $$;
TRUNCATE placed;
CREATE TRIGGER twin BEFORE INSERT ON placed FOR EACH ROW WHEN (NEW.pk < 1000) EXECUTE FUNCTION twin();
INSERT INTO placed TABLE source;
SELECT count(*), count(*) FILTER (WHERE pk >= 2000) AS twins FROM placed;
BEGIN;
SAVEPOINT s;
DELETE FROM placed;
ROLLBACK TO s;
TRUNCATE placed;
INSERT INTO placed TABLE source;
COMMIT;
DELETE FROM placed WHERE sk > 2;
VACUUM placed;
INSERT INTO placed SELECT pk + 3000, sk, v FROM source;
SELECT count(*) FROM placed;
CREATE TEMP TABLE transient (LIKE placed INCLUDING INDEXES) USING dynamo_table;
INSERT INTO transient TABLE source;
SELECT per_collection < 20 AS together FROM pages('transient');

-- a file that is cut off on the spot, since it is of the same transaction
SELECT dyn_create_table('cut', 'pk S', 'sk N');
CREATE FUNCTION put_items() RETURNS bigint LANGUAGE sql AS
$$SELECT count(*) FROM placement.source, dyn_put('cut', jsonb_build_object('pk', pk::text, 'sk', sk, 'v', v)::dyn_item)$$;
BEGIN;
TRUNCATE cut;
SELECT put_items();
TRUNCATE cut;
INSERT INTO cut (item) SELECT jsonb_build_object('pk', pk::text, 'sk', sk, 'v', v) FROM source;
SELECT per_collection < 20 AS together FROM pages('cut');
DO $$BEGIN
  FOR i IN 1..3 LOOP
    TRUNCATE cut;
    PERFORM put_items();
  END LOOP;
END$$;
SAVEPOINT s;
TRUNCATE cut;
SELECT put_items();
TRUNCATE cut;
INSERT INTO cut (item) VALUES ('{"pk": {"S": "1"}, "sk": {"N": "1"}}');
ROLLBACK TO s;
SELECT put_items();
TRUNCATE cut;
SELECT put_items();
SAVEPOINT s;
TRUNCATE cut;
RELEASE s;
SELECT put_items();
TRUNCATE cut;
SELECT put_items();
COMMIT;
SELECT count(*) FROM cut;
BEGIN;
CREATE TABLE fresh (LIKE placed INCLUDING INDEXES) USING dynamo_table;
INSERT INTO fresh TABLE source;
TRUNCATE fresh;
INSERT INTO fresh TABLE source;
TRUNCATE fresh;
COPY fresh FROM stdin (FREEZE);
1	1	frozen
\.
INSERT INTO fresh SELECT pk, sk + 1000, v FROM source;
CLUSTER fresh USING fresh_pkey;
DELETE FROM fresh;
INSERT INTO fresh TABLE source;
ALTER TABLE fresh SET UNLOGGED;
INSERT INTO fresh SELECT pk, sk + 1000, v FROM source;
TRUNCATE fresh;
INSERT INTO fresh TABLE source;
ALTER TABLE fresh SET TABLESPACE pg_default;
ALTER TABLE fresh SET LOGGED;
INSERT INTO fresh SELECT pk, sk + 1000, v FROM source;
COMMIT;
SELECT count(*) FROM fresh;
CREATE TEMP TABLE emptied (LIKE placed INCLUDING INDEXES) USING dynamo_table ON COMMIT DELETE ROWS;
BEGIN;
INSERT INTO emptied TABLE source;
COMMIT;
BEGIN;
INSERT INTO emptied TABLE source;
SELECT count(*) FROM emptied;
COMMIT;

\set VERBOSITY terse
SET client_min_messages = warning;
DROP SCHEMA placement CASCADE;
DROP ROLE placement_reader;
