-- Run by bench/placement.
SET client_min_messages = warning;
-- the same part of a table each time that it is read
SET synchronize_seqscans = off;
CREATE EXTENSION dynamo_table;

CREATE FUNCTION make(name text, am text, storage text DEFAULT 'MAIN') RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('DROP TABLE IF EXISTS %I', name);
  EXECUTE format('CREATE TABLE %I (pk text COLLATE "C", sk text COLLATE "C", v text, PRIMARY KEY (pk, sk)) USING %I WITH (fillfactor = 90)', name, am);
  EXECUTE format('ALTER TABLE %I ALTER v SET STORAGE %s', name, storage);
END $$;

-- Pages of collections, and what their rows would fill alone at this fillfactor.
CREATE FUNCTION measure(name text, OUT items bigint, OUT per_collection numeric, OUT ideal_per_collection numeric, OUT pages bigint, OUT ideal bigint,
	OUT mb numeric, OUT toast_pages bigint)
LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format($q$
    SELECT sum(n), avg(p), avg(ceil(bytes / 7344)), sum(p), sum(ceil(bytes / 7344))
    FROM (SELECT count(*) AS n, count(DISTINCT (ctid::text::point)[0]) AS p,
                 sum(((CASE WHEN pg_column_size(v) > 8160 THEN 18
                   ELSE pg_column_size(v) END + pg_column_size(pk) + pg_column_size(sk) + 31) / 8 * 8 + 4))::float AS bytes
          FROM %I GROUP BY pk) c$q$, name) INTO items, per_collection, ideal_per_collection, pages, ideal;
  per_collection := round(per_collection, 2);
  ideal_per_collection := round(ideal_per_collection, 2);
  mb := round(pg_relation_size(name::regclass) / 1048576.0, 1);
  toast_pages := (SELECT pg_relation_size(reltoastrelid) / 8192 FROM pg_class WHERE oid = name::regclass);
END $$;

-- Nanoseconds of CPU of this backend.
CREATE FUNCTION cpu() RETURNS numeric LANGUAGE sql VOLATILE AS $$ SELECT split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::numeric $$;

CREATE TABLE results (what text, heap_per numeric, per numeric, ideal numeric, ratio numeric, heap_mb numeric, mb numeric, size_ratio numeric,
	toast_pages bigint);
CREATE PROCEDURE report(label text) LANGUAGE plpgsql AS $$
DECLARE
  h record;
  p record;
BEGIN
  SELECT * INTO h FROM measure('h');
  SELECT * INTO p FROM measure('p');
  INSERT INTO results VALUES (label, h.per_collection, p.per_collection, p.ideal_per_collection, round(p.pages::numeric / p.ideal, 2), h.mb, p.mb,
    round(pg_relation_size('p')::numeric / pg_relation_size('h'), 3), p.toast_pages);
END $$;

CREATE TABLE costs (what text, turn int, heap numeric, placed numeric);
-- The same rows into both tables, by turns; what it costs is the backend's CPU.
CREATE PROCEDURE load(label text, statement text, n bigint, h text DEFAULT 'h', p text DEFAULT 'p') LANGUAGE plpgsql AS $$
DECLARE
  t0 numeric;
  t1 numeric;
  t2 numeric;
BEGIN
  FOR turn IN 1..3 LOOP
    EXECUTE format('TRUNCATE %I, %I', h, p);
    COMMIT;
    t0 := cpu();
    EXECUTE replace(statement, '$t', h);
    COMMIT;
    t1 := cpu();
    EXECUTE replace(statement, '$t', p);
    COMMIT;
    t2 := cpu();
    INSERT INTO costs VALUES (label, turn, (t1 - t0) / 1000 / n, (t2 - t1) / 1000 / n);
    COMMIT;
  END LOOP;
END $$;

SELECT make('h', 'heap'), make('p', 'dynamo_table') \g /dev/null
SELECT setseed(0.5) \g /dev/null
CREATE UNLOGGED TABLE uniform AS SELECT format('COLLECTION#%s', i % (:rows / 100)) AS pk, format('ITEM#%s', lpad((i / (:rows / 100))::text, 6, '0')) AS sk,
	substr(repeat(md5(i::text), 8), 1, 230) AS v
  FROM generate_series(0, :rows - 1) i ORDER BY hashint4(i);
CREATE UNLOGGED TABLE zipf AS SELECT format('COLLECTION#%s', floor(:rows / 4 * power(random(), 3))) AS pk, format('ITEM#%s', i) AS sk,
	substr(repeat(md5(i::text), 8), 1, 230) AS v
  FROM generate_series(0, :rows - 1) i ORDER BY hashint4(i);

CALL load('INSERT, collections of 100', 'INSERT INTO $t TABLE uniform', :rows);
CALL report('collections of 100');
SELECT format('COPY (SELECT * FROM uniform) TO %L', :'dir' || '/uniform') \gexec
SELECT format('COPY (SELECT * FROM uniform ORDER BY pk, sk) TO %L', :'dir' || '/sorted') \gexec
CALL load('COPY, collections of 100', format('COPY $t FROM %L', :'dir' || '/uniform'), :rows);
CALL report('… by COPY');
CALL load('COPY, the same in the order of the key', format('COPY $t FROM %L', :'dir' || '/sorted'), :rows);
-- a query of a collection, warm
TRUNCATE h, p;
INSERT INTO h TABLE uniform;
INSERT INTO p TABLE uniform;
CREATE TABLE queries (turn int, heap numeric, placed numeric);
DO $$
DECLARE
  t0 numeric;
  t1 numeric;
  t2 numeric;
BEGIN
  FOR turn IN 1..5 LOOP
    t0 := cpu();
    FOR i IN 1..500 LOOP PERFORM v FROM h WHERE pk = format('COLLECTION#%s', i) ORDER BY sk; END LOOP;
    t1 := cpu();
    FOR i IN 1..500 LOOP PERFORM v FROM p WHERE pk = format('COLLECTION#%s', i) ORDER BY sk; END LOOP;
    t2 := cpu();
    INSERT INTO queries VALUES (turn, (t1 - t0) / 500e6, (t2 - t1) / 500e6);
  END LOOP;
END $$;

CALL load('INSERT, collections of 1 to 15,000', 'INSERT INTO $t TABLE zipf', :rows);
CALL report('collections of 1 to 15,000');
CREATE UNLOGGED TABLE gone AS SELECT * FROM zipf WHERE hashtext(sk) % 10 IN (0, 1, 2, -1, -2);
DELETE FROM h USING gone g WHERE h.pk = g.pk AND h.sk = g.sk AND hashtext(g.sk) % 10 IN (0, 1, 2, -1, -2);
DELETE FROM p USING gone g WHERE p.pk = g.pk AND p.sk = g.sk AND hashtext(g.sk) % 10 IN (0, 1, 2, -1, -2);
VACUUM h, p;
INSERT INTO h SELECT * FROM gone ORDER BY hashtext(sk || 'x');
INSERT INTO p SELECT * FROM gone ORDER BY hashtext(sk || 'x');
CALL report('… some 30 % deleted, VACUUM, inserted again');
TRUNCATE h, p;
INSERT INTO h TABLE zipf;
INSERT INTO p TABLE zipf;
UPDATE h SET v = v || v WHERE hashtext(sk) % 5 = 0;
UPDATE p SET v = v || v WHERE hashtext(sk) % 5 = 0;
VACUUM h, p;
CALL report('… a fifth to a third updated to twice the length');

TRUNCATE h, p;
INSERT INTO h SELECT pk, sk, (SELECT string_agg(md5(sk || i), '') FROM generate_series(1, 94) i) FROM uniform LIMIT :rows / 20;
INSERT INTO p SELECT pk, sk, (SELECT string_agg(md5(sk || i), '') FROM generate_series(1, 94) i) FROM uniform LIMIT :rows / 20;
CALL report('rows of 3 kB');
TRUNCATE h, p;
INSERT INTO h SELECT pk, sk, (SELECT string_agg(md5(sk || i), '') FROM generate_series(1, 625) i) FROM uniform LIMIT :rows / 100;
INSERT INTO p SELECT pk, sk, (SELECT string_agg(md5(sk || i), '') FROM generate_series(1, 625) i) FROM uniform LIMIT :rows / 100;
CALL report('rows of 20 kB');

-- tables of items, with and without placement
SELECT dyn_create_table('items_h', 'pk S', 'sk S'), dyn_create_table('items_p', 'pk S', 'sk S') \g /dev/null
SELECT dyn_alter_table('items_h', '{"placement": false}') \g /dev/null
CREATE UNLOGGED TABLE items AS SELECT jsonb_build_object('pk', pk, 'sk', sk, 'v', substr(v, 1, 180))::dyn_item AS item FROM uniform LIMIT :rows / 4;
CALL load('INSERT of items', 'INSERT INTO $t (item) TABLE items', :rows / 4, 'items_h', 'items_p');
SELECT format('COPY (SELECT item FROM items) TO %L', :'dir' || '/items') \gexec
CALL load('COPY of items', format('COPY $t (item) FROM %L', :'dir' || '/items'), :rows / 4, 'items_h', 'items_p');
CALL load('dyn_put', 'SELECT count(dyn_put(''$t'', item)) FROM items', :rows / 4, 'items_h', 'items_p');

-- WAL of a row: right after a checkpoint every page that is touched is logged whole
DROP TABLE h, p;
SELECT make('h', 'heap'), make('p', 'dynamo_table') \g /dev/null
INSERT INTO h SELECT * FROM uniform LIMIT :rows / 2;
INSERT INTO p SELECT * FROM uniform LIMIT :rows / 2;
CREATE TABLE wal (what text, heap numeric, placed numeric);
CREATE PROCEDURE wal(label text, first bigint, n bigint) LANGUAGE plpgsql AS $$
DECLARE
  l0 pg_lsn := pg_current_wal_insert_lsn();
  l1 pg_lsn;
BEGIN
  INSERT INTO h SELECT * FROM uniform OFFSET first LIMIT n;
  l1 := pg_current_wal_insert_lsn();
  INSERT INTO p SELECT * FROM uniform OFFSET first LIMIT n;
  INSERT INTO wal VALUES (label, (l1 - l0) / n, (pg_current_wal_insert_lsn() - l1) / n);
END $$;
CHECKPOINT;
CALL wal('first rows after a checkpoint', :rows / 2, :rows / 500);
CALL wal('many rows later', :rows / 2 + :rows / 500, :rows / 4);

-- Collections that all stop growing at so many rows; a page has 24.
CREATE TABLE stopped (rows int, heap_mb numeric, mb numeric, size_ratio numeric);
CREATE PROCEDURE stop(n int) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM make('h', 'heap'), make('p', 'dynamo_table');
  INSERT INTO h SELECT * FROM uniform LIMIT (SELECT count(DISTINCT pk) FROM uniform) * n;
  INSERT INTO p SELECT * FROM uniform LIMIT (SELECT count(DISTINCT pk) FROM uniform) * n;
  INSERT INTO stopped VALUES (n, round(pg_relation_size('h') / 1048576.0, 1), round(pg_relation_size('p') / 1048576.0, 1),
    round(pg_relation_size('p')::numeric / pg_relation_size('h'), 2));
END $$;
CALL stop(6);
CALL stop(12);
CALL stop(24);
CALL stop(48);

\pset tuples_only off
\pset format aligned
\pset footer off
\echo 'pages per collection'
SELECT what, heap_per AS heap, per AS placed, ideal, ratio AS "placed / ideal", heap_mb AS "heap MB", mb AS "placed MB", size_ratio AS "size ratio",
	toast_pages AS "TOAST pages" FROM results;
\echo 'CPU microseconds of an insert, medians of three'
SELECT what, round(percentile_cont(0.5) WITHIN GROUP (ORDER BY heap)::numeric, 2) AS heap,
	round(percentile_cont(0.5) WITHIN GROUP (ORDER BY placed)::numeric, 2) AS placed,
  round(percentile_cont(0.5) WITHIN GROUP (ORDER BY heap / placed)::numeric, 2) AS "heap / placed" FROM costs GROUP BY what ORDER BY min(turn), 1;
\echo 'CPU milliseconds of a warm query of 100 rows'
SELECT round(percentile_cont(0.5) WITHIN GROUP (ORDER BY heap)::numeric, 3) AS heap,
	round(percentile_cont(0.5) WITHIN GROUP (ORDER BY placed)::numeric, 3) AS placed,
  round(percentile_cont(0.5) WITHIN GROUP (ORDER BY heap / placed)::numeric, 2) AS "heap / placed" FROM queries;
\echo 'WAL bytes of a row'
SELECT what, round(heap) AS heap, round(placed) AS placed FROM wal;
\echo 'collections of 100 that stop growing'
SELECT rows, heap_mb AS "heap MB", mb AS "placed MB", size_ratio AS "size ratio" FROM stopped;
