-- dyn_regroup(): collections that lie on many pages are moved to few, while the table is used.
\getenv abs_srcdir PG_ABS_SRCDIR
\set check_storage :abs_srcdir '/test/sql/check_storage.sql'
\set ECHO none
\i :check_storage
\set ECHO all
CREATE ROLE regress_regroup_owner;
CREATE ROLE regress_regroup_other;
GRANT CREATE ON SCHEMA public TO regress_regroup_owner;
SET ROLE regress_regroup_owner;
SELECT dyn_create_table('scattered', 'pk S', 'sk S', global_indexes => '{"ByV": {"partition_key": "v S"}}');
-- an owner's code in an index, and triggers of all kinds
CREATE FUNCTION noted_length(text) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF current_user <> 'regress_regroup_owner' THEN
		RAISE EXCEPTION 'the index runs as %', current_user;
	END IF;
	RETURN length($1);
END $$;
CREATE INDEX scattered_length ON scattered (noted_length(sk));
CREATE INDEX scattered_partial ON scattered (sk) WHERE pk < 'p3';
CREATE INDEX scattered_brin ON scattered USING brin (pk);
ALTER TABLE scattered ADD CONSTRAINT one_sk UNIQUE (sk, pk) DEFERRABLE INITIALLY DEFERRED, ADD dropped int, ADD kept text DEFAULT 'kept';
ALTER TABLE scattered DROP dropped;
SET dynamo_table.placement = off;
-- 40 collections of 1 to 118 items, some of which are out of line, each on as many pages as it can be
INSERT INTO scattered (item) SELECT jsonb_build_object('pk', 'p' || p, 'sk', lpad(s::text, 4, '0'), 'v', 'v' || s, 'text', repeat('x', 250),
		'long', CASE WHEN s % 50 = 1 THEN (SELECT string_agg(md5(i::text || s), '') FROM generate_series(1, 100) i) ELSE '' END)::dyn_item
	FROM generate_series(1, 118) s, generate_series(1, 40) p WHERE s < p * 3 ORDER BY s, p;
RESET dynamo_table.placement;
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '% fires', tg_name; END $$;
CREATE TRIGGER row_before BEFORE UPDATE ON scattered FOR EACH ROW EXECUTE FUNCTION refuse();
CREATE TRIGGER row_after AFTER UPDATE OR INSERT ON scattered FOR EACH ROW EXECUTE FUNCTION refuse();
CREATE TRIGGER statement AFTER UPDATE ON scattered FOR EACH STATEMENT EXECUTE FUNCTION refuse();
CREATE CONSTRAINT TRIGGER deferred AFTER UPDATE ON scattered DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse();
ALTER TABLE scattered ENABLE ALWAYS TRIGGER row_after;
VACUUM ANALYZE scattered;
CREATE TABLE before_it AS SELECT pk, sk, item, kept FROM scattered;
CREATE FUNCTION state() RETURNS TABLE (collections bigint, scattered boolean, ideal boolean, same boolean) LANGUAGE sql AS $$
	SELECT (SELECT count(DISTINCT pk) FROM scattered), pages > 10 * ideal_pages, pages <= 1.2 * ideal_pages, NOT EXISTS (TABLE before_it EXCEPT ALL
		SELECT pk, sk, item, kept FROM scattered) AND (SELECT count(*) FROM before_it) = (SELECT count(*) FROM scattered)
	FROM dyn_table_statistics('scattered') WHERE kind = 'table' $$;
SELECT * FROM state();
SELECT kind, pages > 10 * ideal_pages AS scattered FROM dyn_table_statistics('scattered', 1) ORDER BY kind;
SELECT pg_relation_size('scattered') AS size \gset
RESET ROLE;
-- a superuser has it done with the owner's rights, whatever policies there are
ALTER TABLE scattered ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
\set VERBOSITY terse
CALL dyn_regroup('scattered');
\set VERBOSITY default
ALTER TABLE scattered DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY;
SET ROLE regress_regroup_owner;
SELECT * FROM state();
SELECT kind, pages <= 1.2 * ideal_pages AS ideal FROM dyn_table_statistics('scattered', 1) WHERE kind = 'table';
-- it has grown by some pages, to which the first rows that made room went
SELECT pg_relation_size('scattered') <= 1.3 * :size AS small;
-- each index finds all rows
SET enable_seqscan = off;
SELECT count(*) FROM scattered WHERE noted_length(sk) = 4;
SELECT count(*) FROM scattered WHERE sk >= '' AND pk < 'p3';
SELECT count(*) FROM scattered WHERE pk = 'p39';
SELECT count(*) FROM dyn_query('scattered', 'v = :v', 'ByV', vals => '{":v": {"S": "v1"}}');
RESET enable_seqscan;
RESET ROLE;
SELECT * FROM check_storage('scattered');
SET ROLE regress_regroup_owner;
-- as jobs are shown; the second time there is hardly anything to be moved
SELECT kind, relation, name, state, rows_done > 2000 AS many, rows_done + rows_skipped AS rows, percent, problems FROM dyn_jobs WHERE kind = 'regroup';
\set VERBOSITY terse
CALL dyn_regroup('scattered', max_rate => 1000000);
\set VERBOSITY default
SELECT rows_done < 100 AS few, state FROM dyn_jobs WHERE kind = 'regroup' ORDER BY job;

-- a table whose collections of one page are on several
SELECT dyn_create_table('small', 'pk S', 'sk N');
SET dynamo_table.placement = off;
INSERT INTO small (item) SELECT jsonb_build_object('pk', 'p' || p, 'sk', s, 'text', repeat('x', 250))::dyn_item
	FROM generate_series(1, 4) s, generate_series(1, 300) p ORDER BY s, p;
RESET dynamo_table.placement;
\set VERBOSITY terse
CALL dyn_regroup('small');
\set VERBOSITY default
SELECT pages <= 1.1 * ideal_pages AS ideal FROM dyn_table_statistics('small') WHERE kind = 'table';

-- rows of which no two fit on a page are where they can be
SELECT dyn_create_table('halves', 'pk S', 'sk N');
ALTER TABLE halves ALTER item SET STORAGE PLAIN;
INSERT INTO halves (item) SELECT jsonb_build_object('pk', 'p' || p, 'sk', s, 'text', repeat('x', 3850))::dyn_item
	FROM generate_series(1, 5) s, generate_series(1, 20) p ORDER BY s, p;
CALL dyn_regroup('halves');

-- an interrupted job goes on
SELECT dyn_create_table('slow', 'pk S', 'sk S');
SET dynamo_table.placement = off;
INSERT INTO slow (item) SELECT jsonb_build_object('pk', 'p' || p, 'sk', lpad(s::text, 4, '0'), 'text', repeat('x', 250))::dyn_item
	FROM generate_series(1, 100) s, generate_series(1, 30) p ORDER BY s, p;
RESET dynamo_table.placement;
SET statement_timeout = '500ms';
CALL dyn_regroup('slow', max_rate => 100);
RESET statement_timeout;
SELECT state, rows_done FROM dyn_jobs WHERE kind = 'regroup' AND relation = 'slow'::regclass;
SET ROLE regress_regroup_other;
CALL dyn_regroup('slow');
SET ROLE regress_regroup_owner;
\set VERBOSITY terse
CALL dyn_regroup('slow');
\set VERBOSITY default
SELECT state, rows_done > 2800 AS many FROM dyn_jobs WHERE kind = 'regroup' AND relation = 'slow'::regclass;
SELECT pages <= 1.2 * ideal_pages AS ideal FROM dyn_table_statistics('slow') WHERE kind = 'table';

-- what fills pages while rows leave is seen by no command of an index's expression: its columns would be null
SELECT dyn_create_table('watched', 'pk S', 'sk S');
CREATE TABLE saw (nulls bigint, rows bigint);
CREATE FUNCTION watch(dyn_item) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN 1; END';
CREATE INDEX watched_item ON watched (watch(item));
SET dynamo_table.placement = off;
INSERT INTO watched (item) SELECT jsonb_build_object('pk', 'p' || s % 20, 'sk', s::text, 'text', repeat('x', 200)) FROM generate_series(1, 400) s;
RESET dynamo_table.placement;
CREATE OR REPLACE FUNCTION watch(dyn_item) RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	INSERT INTO public.saw SELECT count(*) FILTER (WHERE num_nulls(item, pk, sk) > 0), count(*) FROM public.watched;
	RETURN 1;
END $$;
\set VERBOSITY terse
CALL dyn_regroup('watched');
\set VERBOSITY default
SELECT count(*) > 0 AS looked, max(nulls) AS nulls, min(rows), max(rows) FROM saw;
DROP TABLE saw;

-- what it refuses
CALL dyn_regroup('missing');
CALL dyn_regroup(NULL);
CALL dyn_regroup('small', 0);
BEGIN;
CALL dyn_regroup('small');
ROLLBACK;
CREATE TABLE as_heap (item dyn_item NOT NULL, pk text COLLATE "C" NOT NULL, sk text COLLATE "C" NOT NULL, PRIMARY KEY (pk, sk)) USING heap;
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON as_heap FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S', 'sk S');
CALL dyn_regroup('as_heap');
SELECT dyn_create_table('one_key', 'pk S');
CALL dyn_regroup('one_key');
CREATE TEMP TABLE temporary (item dyn_item NOT NULL, pk text COLLATE "C" NOT NULL, sk text COLLATE "C" NOT NULL, PRIMARY KEY (pk, sk)) USING dynamo_table;
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON temporary FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S', 'sk S');
CALL dyn_regroup('temporary');
DROP TABLE temporary;
ALTER TABLE small ADD EXCLUDE USING btree (pk WITH =, sk WITH =);
CALL dyn_regroup('small');
RESET ROLE;
DROP TABLE before_it;
SELECT dyn_drop_table(t) FROM unnest(ARRAY['scattered', 'small', 'slow', 'halves', 'one_key', 'as_heap', 'watched']) t;
DROP OWNED BY regress_regroup_owner;
DROP ROLE regress_regroup_owner, regress_regroup_other;
