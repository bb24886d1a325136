-- the access method dynamo_table: every kind of table, every kind of statement
\getenv abs_srcdir PG_ABS_SRCDIR
\set check_storage :abs_srcdir '/test/sql/check_storage.sql'
\set ECHO none
\i :check_storage
\set ECHO all

CREATE FUNCTION am(tab regclass) RETURNS name LANGUAGE sql AS
	'SELECT amname FROM pg_am a JOIN pg_class c ON c.relam = a.oid WHERE c.oid = tab';

-- TOAST is heap, and values that live there come back whole
CREATE TABLE am_t (pk text, sk int, item text, PRIMARY KEY (pk, sk)) USING dynamo_table;
SELECT am('am_t'), am(reltoastrelid::regclass) FROM pg_class WHERE oid = 'am_t'::regclass;
ALTER TABLE am_t ALTER item SET STORAGE EXTERNAL;
INSERT INTO am_t SELECT 'p' || i % 3, i, repeat(md5(i::text), CASE WHEN i % 10 = 0 THEN 300 ELSE 1 END)
	FROM generate_series(1, 100) i;
SELECT count(*), sum(length(item)), count(*) FILTER (WHERE item = repeat(md5(sk::text), length(item) / 32))
	FROM am_t;
SELECT pg_relation_size(reltoastrelid) > 0 AS toasted FROM pg_class WHERE oid = 'am_t'::regclass;
UPDATE am_t SET item = repeat(item, 2) WHERE sk = 10;
SELECT length(item), item = repeat(md5('10'), 600) AS same FROM am_t WHERE sk = 10;
DELETE FROM am_t WHERE sk = 20;
VACUUM am_t;
SELECT check_storage('am_t');

-- ON CONFLICT, MERGE, RETURNING, locking
INSERT INTO am_t VALUES ('p1', 1, 'x'), ('new', 1, 'y')
	ON CONFLICT (pk, sk) DO UPDATE SET item = excluded.item || '!' RETURNING *;
INSERT INTO am_t VALUES ('new', 1, 'z') ON CONFLICT DO NOTHING RETURNING *;
MERGE INTO am_t t USING (VALUES ('new', 1), ('new', 2), ('p1', 1)) s (pk, sk) ON t.pk = s.pk AND t.sk = s.sk
	WHEN MATCHED AND s.pk = 'p1' THEN DELETE
	WHEN MATCHED THEN UPDATE SET item = 'merged'
	WHEN NOT MATCHED THEN INSERT VALUES (s.pk, s.sk, 'inserted');
SELECT * FROM am_t WHERE pk = 'new' OR sk = 1 ORDER BY pk, sk FOR UPDATE;
DELETE FROM am_t WHERE pk = 'new' RETURNING *;
INSERT INTO am_t VALUES ('p2', 2, 'again');

-- savepoints, TID and TID range scans, samples, cursors
BEGIN;
INSERT INTO am_t VALUES ('s', 1, 'stays');
SAVEPOINT a;
INSERT INTO am_t VALUES ('s', 2, 'goes');
UPDATE am_t SET item = 'goes' WHERE pk = 's';
ROLLBACK TO a;
SELECT * FROM am_t WHERE pk = 's';
COMMIT;
SELECT count(*) FROM am_t WHERE ctid = (SELECT ctid FROM am_t WHERE pk = 's');
SELECT count(*) = (SELECT count(*) FROM am_t) AS all_rows FROM am_t WHERE ctid >= '(0,0)';
SELECT count(*) = (SELECT count(*) FROM am_t) AS all_rows FROM am_t TABLESAMPLE BERNOULLI (100);
SELECT count(*) = (SELECT count(*) FROM am_t) AS all_rows FROM am_t TABLESAMPLE SYSTEM (100);
BEGIN;
DECLARE c CURSOR FOR SELECT pk FROM am_t WHERE pk = 's' FOR UPDATE;
FETCH c;
UPDATE am_t SET item = 'by cursor' WHERE CURRENT OF c RETURNING *;
COMMIT;

-- foreign keys, between both kinds of table
CREATE TABLE am_child (id int PRIMARY KEY, pk text, sk int,
	FOREIGN KEY (pk, sk) REFERENCES am_t ON DELETE CASCADE) USING dynamo_table;
CREATE TABLE am_heap_child (id int PRIMARY KEY REFERENCES am_child) USING heap;
INSERT INTO am_child VALUES (1, 's', 1), (2, 'p2', 2);
INSERT INTO am_heap_child VALUES (2);
INSERT INTO am_child VALUES (3, 'nobody', 1);
DELETE FROM am_t WHERE pk = 's';
SELECT id FROM am_child;
DELETE FROM am_t WHERE pk = 'p2' AND sk = 2;

-- triggers see what was written
CREATE FUNCTION am_note() RETURNS trigger LANGUAGE plpgsql AS
	$$BEGIN RAISE NOTICE '%: % -> %', TG_OP, OLD.item, NEW.item; RETURN NULL; END$$;
CREATE TRIGGER note AFTER UPDATE ON am_t FOR EACH ROW EXECUTE FUNCTION am_note();
UPDATE am_t SET item = 'new' WHERE sk = 2;

-- COPY, TRUNCATE
COPY am_t FROM stdin;
copied	1	one
copied	2	two
\.
COPY (SELECT * FROM am_t WHERE pk = 'copied' ORDER BY sk) TO stdout;
BEGIN;
TRUNCATE am_t CASCADE;
SELECT count(*) FROM am_t;
ROLLBACK;
SELECT count(*) > 0 AS back FROM am_t;
SELECT check_storage('am_t') UNION ALL SELECT check_storage('am_child');

-- unlogged, temporary
CREATE UNLOGGED TABLE am_unlogged (id int PRIMARY KEY, v text) USING dynamo_table;
INSERT INTO am_unlogged SELECT i, repeat('x', i) FROM generate_series(1, 500) i;
ALTER TABLE am_unlogged SET LOGGED;
ALTER TABLE am_unlogged SET UNLOGGED;
SELECT am('am_unlogged'), count(*), sum(length(v)) FROM am_unlogged;
SELECT check_storage('am_unlogged');
CREATE TEMP TABLE am_temp (id int PRIMARY KEY, v text) USING dynamo_table ON COMMIT DELETE ROWS;
BEGIN;
INSERT INTO am_temp SELECT i, i FROM generate_series(1, 500) i;
CREATE INDEX ON am_temp (v);
SELECT am('am_temp'), count(*) FROM am_temp;
SELECT check_storage('am_temp');
COMMIT;
SELECT count(*) FROM am_temp;

-- partitions
CREATE TABLE am_parts (k int, v text, PRIMARY KEY (k)) PARTITION BY HASH (k);
CREATE TABLE am_part_0 PARTITION OF am_parts FOR VALUES WITH (MODULUS 2, REMAINDER 0) USING dynamo_table;
CREATE TABLE am_part_1 PARTITION OF am_parts FOR VALUES WITH (MODULUS 2, REMAINDER 1) USING heap;
INSERT INTO am_parts SELECT i, i FROM generate_series(1, 1000) i;
CREATE INDEX ON am_parts (v);
UPDATE am_parts SET k = k + 1000 WHERE k <= 500;
SELECT count(*) FROM am_parts WHERE k > 500;
SELECT am('am_part_0'), am('am_part_1');
SELECT check_storage('am_part_0') UNION ALL SELECT check_storage('am_part_1');

-- as the default: CREATE TABLE, CREATE TABLE AS, SELECT INTO, materialized views
SET default_table_access_method = dynamo_table;
CREATE TABLE am_default (id int PRIMARY KEY, v text);
CREATE TABLE am_ctas AS SELECT i AS id, repeat('y', i) AS v FROM generate_series(1, 300) i;
SELECT * INTO am_into FROM am_ctas;
CREATE MATERIALIZED VIEW am_matview AS SELECT id, v FROM am_ctas;
CREATE UNIQUE INDEX ON am_matview (id);
DELETE FROM am_ctas WHERE id > 100;
REFRESH MATERIALIZED VIEW am_matview;
INSERT INTO am_ctas VALUES (0, 'zero');
REFRESH MATERIALIZED VIEW CONCURRENTLY am_matview;
SELECT am('am_default'), am('am_ctas'), am('am_into'), am('am_matview'), count(*) FROM am_matview;
SELECT check_storage(t) FROM unnest('{am_default, am_ctas, am_into, am_matview}'::regclass[]) t;
RESET default_table_access_method;

-- the extension cannot go while a table needs it
\set VERBOSITY terse
DROP EXTENSION dynamo_table;
\set VERBOSITY default

DROP MATERIALIZED VIEW am_matview;
DROP TABLE am_default, am_ctas, am_into, am_parts, am_temp, am_unlogged, am_heap_child, am_child, am_t;
DROP FUNCTION am(regclass), am_note(), check_storage(regclass);
DROP EXTENSION amcheck;
