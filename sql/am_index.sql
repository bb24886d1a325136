-- index builds on dynamo_table tables
\getenv abs_srcdir PG_ABS_SRCDIR
\set check_storage :abs_srcdir '/test/sql/check_storage.sql'
\set ECHO none
\i :check_storage
\set ECHO all

CREATE TABLE am_i (id int PRIMARY KEY, v int, w text, b int4range) USING dynamo_table;
INSERT INTO am_i SELECT i, i % 100, md5(i::text), int4range(i, i + 1) FROM generate_series(1, 5000) i;
UPDATE am_i SET v = v WHERE id % 7 = 0;
UPDATE am_i SET v = v + 1 WHERE id % 11 = 0;
DELETE FROM am_i WHERE id % 13 = 0;

-- every index access method scans the table through the same callback
CREATE INDEX am_i_v ON am_i (v);
CREATE INDEX am_i_expr ON am_i (upper(w)) WHERE v < 50;
CREATE INDEX am_i_include ON am_i (v) INCLUDE (w);
CREATE INDEX am_i_hash ON am_i USING hash (w);
CREATE INDEX am_i_brin ON am_i USING brin (id) WITH (pages_per_range = 4);
CREATE INDEX am_i_gist ON am_i USING gist (b);
CREATE INDEX am_i_spgist ON am_i USING spgist (b);
CREATE INDEX am_i_gin ON am_i USING gin (to_tsvector('simple', w));
ALTER TABLE am_i ADD CONSTRAINT am_i_excl EXCLUDE USING gist (b WITH &&);
SELECT brin_summarize_new_values('am_i_brin') >= 0 AS summarized;
SELECT brin_desummarize_range('am_i_brin', 0);
SELECT brin_summarize_range('am_i_brin', 0);
SELECT check_storage('am_i');

CREATE FUNCTION am_counts(OUT method name, OUT rows bigint) RETURNS SETOF record LANGUAGE plpgsql AS $$
BEGIN
	SET LOCAL enable_seqscan = off;
	method := 'btree'; SELECT count(*) INTO rows FROM am_i WHERE v = 5; RETURN NEXT;
	method := 'partial'; SELECT count(*) INTO rows FROM am_i WHERE upper(w) = upper(md5('205')) AND v < 50; RETURN NEXT;
	method := 'hash'; SELECT count(*) INTO rows FROM am_i WHERE w = md5('205'); RETURN NEXT;
	method := 'brin'; SELECT count(*) INTO rows FROM am_i WHERE id BETWEEN 200 AND 300; RETURN NEXT;
	method := 'gist'; SELECT count(*) INTO rows FROM am_i WHERE b <@ int4range(200, 301); RETURN NEXT;
	method := 'gin'; SELECT count(*) INTO rows FROM am_i WHERE to_tsvector('simple', w) @@ to_tsquery('simple', md5('205')); RETURN NEXT;
END $$;
SELECT * FROM am_counts();

-- concurrently
CREATE INDEX CONCURRENTLY am_i_cic ON am_i (w, v);
\set VERBOSITY terse
CREATE UNIQUE INDEX CONCURRENTLY am_i_unique ON am_i (v);
\set VERBOSITY default
SELECT indexrelid::regclass, indisvalid FROM pg_index WHERE indexrelid IN ('am_i_cic'::regclass, 'am_i_unique'::regclass) ORDER BY 1::text;
DROP INDEX CONCURRENTLY am_i_unique;
REINDEX INDEX CONCURRENTLY am_i_cic;
REINDEX TABLE CONCURRENTLY am_i;
REINDEX TABLE am_i;
SELECT * FROM am_counts();
SELECT check_storage('am_i');

-- in parallel: workers go through the same callback
SET min_parallel_table_scan_size = 0;
SET max_parallel_maintenance_workers = 2;
SET maintenance_work_mem = '128MB';
ALTER TABLE am_i SET (parallel_workers = 2);
CREATE INDEX am_i_parallel ON am_i (v, id);
-- The leader waits here until it hears that a worker has evaluated the expression.
CREATE FUNCTION am_worker(int) RETURNS int IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS $$
BEGIN
	IF (SELECT backend_type = 'parallel worker' FROM pg_catalog.pg_stat_activity
		WHERE pid = pg_catalog.pg_backend_pid()) THEN
		RAISE EXCEPTION 'a worker got here';
	END IF;
	FOR i IN 1..6000 LOOP
		PERFORM pg_catalog.pg_sleep(0.01);
	END LOOP;
	RAISE EXCEPTION 'no worker came';
END $$;
\set VERBOSITY terse
CREATE INDEX am_i_worker ON am_i (am_worker(id));
\set VERBOSITY default
CREATE INDEX am_i_parallel_2 ON am_i (w, id);
-- 17 builds BRIN in parallel too, 18 GIN
CREATE INDEX am_i_parallel_brin ON am_i USING brin (v);
CREATE INDEX am_i_parallel_gin ON am_i USING gin (to_tsvector('simple', w));
SELECT count(*) FROM am_i WHERE to_tsvector('simple', w) @@ to_tsquery('simple', md5('205'));
SELECT check_storage('am_i');
RESET maintenance_work_mem;
RESET max_parallel_maintenance_workers;
RESET min_parallel_table_scan_size;

DROP TABLE am_i;
DROP FUNCTION am_counts(), am_worker(int), check_storage(regclass);
DROP EXTENSION amcheck;
