-- rewrites of dynamo_table tables: VACUUM FULL sorts, CLUSTER, SET ACCESS METHOD
\getenv abs_srcdir PG_ABS_SRCDIR
\set check_storage :abs_srcdir '/test/sql/check_storage.sql'
\set ECHO none
\i :check_storage
\set ECHO all

CREATE FUNCTION am(tab regclass) RETURNS name LANGUAGE sql AS
	'SELECT amname FROM pg_am a JOIN pg_class c ON c.relam = a.oid WHERE c.oid = tab';
-- "pages per collection" says how well a table keeps together what belongs together
CREATE TABLE am_r (pk int, sk int, other int, item text, PRIMARY KEY (pk, sk)) USING dynamo_table;
CREATE INDEX am_r_other ON am_r (other);
CREATE VIEW am_r_pages AS SELECT round(avg(pages), 1) AS per_collection FROM
	(SELECT count(DISTINCT (ctid::text::point)[0]) AS pages FROM am_r GROUP BY pk) p;
CREATE VIEW am_r_sorted AS SELECT
	bool_and(coalesce((pk, sk) > before, true)) AS by_key, bool_and(coalesce(other > before_other, true)) AS by_other
	FROM (SELECT pk, sk, lag((pk, sk)) OVER w AS before, other, lag(other) OVER w AS before_other
		  FROM am_r WINDOW w AS (ORDER BY ctid)) r;
SET dynamo_table.placement = off;
INSERT INTO am_r SELECT i % 50, i, i, repeat(md5(i::text), 8) FROM generate_series(1, 2500) i;
SELECT per_collection > 40 AS scattered FROM am_r_pages;

-- the setting
SHOW dynamo_table.sort_on_vacuum_full;
SELECT context, vartype, boot_val FROM pg_settings WHERE name = 'dynamo_table.sort_on_vacuum_full';
SET dynamo_table.sort_on_vacuum_full = maybe;
SET dynamo_table.no_such_setting = 1;

SET dynamo_table.sort_on_vacuum_full = off;
VACUUM FULL am_r;
SELECT * FROM am_r_sorted;
RESET dynamo_table.sort_on_vacuum_full;
VACUUM FULL am_r;
SELECT * FROM am_r_sorted;
SELECT per_collection < 4 AS together FROM am_r_pages;
SELECT check_storage('am_r');

-- a heap keeps its order
ALTER TABLE am_r SET ACCESS METHOD heap;
DELETE FROM am_r WHERE pk = 0;
INSERT INTO am_r SELECT 0, i, i, 'late' FROM generate_series(50, 2500, 50) i;
VACUUM FULL am_r;
SELECT * FROM am_r_sorted;
-- and becomes ours without being sorted
ALTER TABLE am_r SET ACCESS METHOD dynamo_table;
SELECT am('am_r'), am(reltoastrelid::regclass) FROM pg_class WHERE oid = 'am_r'::regclass;
SELECT * FROM am_r_sorted;
VACUUM FULL am_r;
SELECT * FROM am_r_sorted;
SELECT check_storage('am_r');

-- update chains, dead rows, dropped and added columns, TOAST values
ALTER TABLE am_r DROP COLUMN item;
ALTER TABLE am_r ADD COLUMN v int DEFAULT 7, ADD COLUMN big text;
ALTER TABLE am_r ALTER big SET STORAGE EXTERNAL;
UPDATE am_r SET big = repeat('z', 5000) WHERE sk % 100 = 1;
DELETE FROM am_r WHERE sk % 10 = 2;
BEGIN;
UPDATE am_r SET v = v + 1 WHERE sk % 10 = 3;
UPDATE am_r SET v = v + 1 WHERE sk % 20 = 3;
COMMIT;
VACUUM FULL am_r;
SELECT * FROM am_r_sorted;
SELECT v, count(*), sum(length(big)) FROM am_r GROUP BY v ORDER BY v;
SELECT check_storage('am_r');

-- CLUSTER, by key and by choice; VACUUM FULL then keeps to the choice
CLUSTER am_r USING am_r_pkey;
SELECT * FROM am_r_sorted;
CLUSTER am_r USING am_r_other;
SELECT * FROM am_r_sorted;
INSERT INTO am_r VALUES (1, -1, 0);
SELECT * FROM am_r_sorted;
VACUUM FULL am_r;
SELECT * FROM am_r_sorted;
INSERT INTO am_r VALUES (1, -2, -1);
CLUSTER am_r;
SELECT * FROM am_r_sorted;
ALTER TABLE am_r SET WITHOUT CLUSTER;
VACUUM FULL am_r;
SELECT * FROM am_r_sorted;
SELECT check_storage('am_r');

-- a choice that cannot be sorted by, and tables without a primary key, stay as they are
CREATE TABLE am_r_gist (id int PRIMARY KEY, p point) USING dynamo_table;
INSERT INTO am_r_gist SELECT i, point(i, i) FROM generate_series(9, 1, -1) i;
CREATE INDEX am_r_gist_p ON am_r_gist USING gist (p);
ALTER TABLE am_r_gist CLUSTER ON am_r_gist_p;
VACUUM FULL am_r_gist;
SELECT array_agg(id ORDER BY ctid) FROM am_r_gist;
ALTER TABLE am_r_gist DROP CONSTRAINT am_r_gist_pkey, SET WITHOUT CLUSTER;
VACUUM FULL am_r_gist;
SELECT array_agg(id ORDER BY ctid) FROM am_r_gist;
-- a deferrable key will do
ALTER TABLE am_r_gist ADD PRIMARY KEY (id) INCLUDE (p) DEFERRABLE INITIALLY DEFERRED;
VACUUM FULL am_r_gist;
SELECT array_agg(id ORDER BY ctid) FROM am_r_gist;
VACUUM (FULL, ANALYZE, FREEZE) am_r_gist;
SELECT check_storage('am_r_gist');

-- unlogged and temporary tables, and a rewrite in the transaction that made the table
CREATE UNLOGGED TABLE am_r_unlogged (id int PRIMARY KEY) USING dynamo_table;
INSERT INTO am_r_unlogged SELECT i FROM generate_series(9, 1, -1) i;
VACUUM FULL am_r_unlogged;
SELECT array_agg(id ORDER BY ctid) FROM am_r_unlogged;
CREATE TEMP TABLE am_r_temp (id int PRIMARY KEY) USING dynamo_table;
INSERT INTO am_r_temp SELECT i FROM generate_series(9, 1, -1) i;
VACUUM FULL am_r_temp;
SELECT array_agg(id ORDER BY ctid) FROM am_r_temp;
BEGIN;
CREATE TABLE am_r_new (id int PRIMARY KEY, v text) USING heap;
INSERT INTO am_r_new SELECT i, repeat('w', i) FROM generate_series(1, 2000) i;
ALTER TABLE am_r_new SET ACCESS METHOD dynamo_table;
CREATE INDEX ON am_r_new (v text_pattern_ops);
CLUSTER am_r_new USING am_r_new_pkey;
ALTER TABLE am_r_new ALTER id TYPE bigint;
ROLLBACK;
SELECT to_regclass('am_r_new');

DROP VIEW am_r_pages, am_r_sorted;
DROP TABLE am_r, am_r_gist, am_r_unlogged, am_r_temp;
DROP FUNCTION am(regclass), check_storage(regclass);
DROP EXTENSION amcheck;
