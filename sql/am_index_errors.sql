-- An index build that fails leaves the session with the table's own access method. What shows
-- it is VACUUM FULL: it sorts by the primary key if the table is still ours.
\getenv abs_srcdir PG_ABS_SRCDIR
\set check_storage :abs_srcdir '/test/sql/check_storage.sql'
\set ECHO none
\i :check_storage
\set ECHO all

CREATE TABLE am_e (id int PRIMARY KEY, v text) USING dynamo_table;
INSERT INTO am_e SELECT i, i FROM generate_series(9, 1, -1) i;
CREATE FUNCTION am_fails_at(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	IF $1::text = pg_catalog.current_setting('am.fail_at', true) THEN
		RAISE EXCEPTION 'failed at %', $1;
	END IF;
	RETURN $1;
END $$;
CREATE INDEX am_e_i ON am_e (am_fails_at(id));
CREATE PROCEDURE am_shuffle() LANGUAGE sql AS $$
	DELETE FROM am_e; INSERT INTO am_e SELECT i, i FROM generate_series(9, 1, -1) i
$$;
\set VERBOSITY terse

-- REINDEX sends no invalidation for the table
SET am.fail_at = 5;
REINDEX INDEX am_e_i;
SET am.fail_at = 0;
VACUUM FULL am_e;
SELECT array_agg(id ORDER BY ctid) FROM am_e;

-- the same below an exception handler, in a subtransaction
CALL am_shuffle();
SET am.fail_at = 5;
DO $$
BEGIN
	REINDEX INDEX am_e_i;
EXCEPTION WHEN raise_exception THEN
	RAISE NOTICE 'caught: %', SQLERRM;
END $$;
SET am.fail_at = 0;
VACUUM FULL am_e;
SELECT array_agg(id ORDER BY ctid) FROM am_e;

-- amcheck's scan, which runs through the same callback
CALL am_shuffle();
SET am.fail_at = 5;
SELECT bt_index_check('am_e_i', true);
SET am.fail_at = 0;
VACUUM FULL am_e;
SELECT array_agg(id ORDER BY ctid) FROM am_e;

-- builds: the index is gone, or left invalid by CONCURRENTLY; the table works on
CALL am_shuffle();
SET am.fail_at = 3;
CREATE INDEX am_e_broken ON am_e ((am_fails_at(id) + 1));
CREATE INDEX CONCURRENTLY am_e_broken ON am_e ((am_fails_at(id) + 1));
REINDEX INDEX CONCURRENTLY am_e_i;
SET am.fail_at = 0;
SELECT indexrelid::regclass, indisvalid FROM pg_index WHERE indrelid = 'am_e'::regclass ORDER BY indexrelid::regclass::text;
VACUUM FULL am_e;
SELECT array_agg(id ORDER BY ctid) FROM am_e;
INSERT INTO am_e VALUES (10, 'ten');
REINDEX TABLE am_e;
SELECT check_storage('am_e');

-- A build inside a build: an expression builds an index on another table. While that runs, a
-- grant makes the session rebuild its entry of the outer table.
CREATE TABLE am_e_inner (id int PRIMARY KEY, v int) USING dynamo_table;
INSERT INTO am_e_inner SELECT i, i FROM generate_series(9, 1, -1) i;
CREATE FUNCTION am_execute(text) RETURNS void LANGUAGE plpgsql AS 'BEGIN EXECUTE $1; END';
CREATE FUNCTION am_grants(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	IF $1 = 5 THEN
		PERFORM public.am_execute('GRANT SELECT ON public.am_e TO PUBLIC');
	END IF;
	RETURN public.am_fails_at($1);
END $$;
CREATE FUNCTION am_nests(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	IF $1 = 5 THEN
		PERFORM public.am_execute('CREATE INDEX am_e_inner_i ON public.am_e_inner (public.am_grants(v))');
	END IF;
	RETURN $1;
END $$;
SET am.fail_at = 2;
CREATE INDEX am_e_nest ON am_e (am_nests(id));
SET am.fail_at = 0;
CREATE INDEX am_e_nest ON am_e (am_nests(id));
DROP INDEX am_e_nest;
CALL am_shuffle();
VACUUM FULL am_e;
VACUUM FULL am_e_inner;
SELECT array_agg(id ORDER BY ctid) FROM am_e;
SELECT array_agg(id ORDER BY ctid) FROM am_e_inner;
SELECT check_storage('am_e') UNION ALL SELECT check_storage('am_e_inner');

\set VERBOSITY default
DROP TABLE am_e, am_e_inner;
DROP PROCEDURE am_shuffle();
DROP FUNCTION am_fails_at(int), am_nests(int), am_grants(int), am_execute(text), check_storage(regclass);
DROP EXTENSION amcheck;
