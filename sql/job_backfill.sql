-- "For items where …, set …": a backfill of new attributes and keys; docs/semantics.md, M29.
\set SHOW_CONTEXT never
SELECT dyn_create_table('app', 'PK S', 'SK S');
INSERT INTO app (item) SELECT jsonb_build_object('PK', 'POST#' || lpad(i::text, 3, '0'), 'SK', 'POST#' || lpad(i::text, 3, '0'), 'Type', 'Post', 'Seq', i)
	FROM generate_series(1, 100) i;
INSERT INTO app (item) SELECT jsonb_build_object('PK', 'POST#' || lpad((i % 10)::text, 3, '0'), 'SK', 'LIKE#' || i, 'Type', 'Like')
	FROM generate_series(1, 50) i;
CALL dyn_create_index('app', 'GSI1', 'GSI1PK S', 'GSI1SK S');

-- 15.4: decorate the posts, and only these; attributes may be taken from keys
CALL dyn_backfill('app', filter => '#t = :post AND attribute_not_exists(GSI1PK)', update => 'SET GSI1PK = PK, GSI1SK = SK', names => '{"#t": "Type"}',
	vals => '{":post":{"S":"Post"}}');
SELECT count(*), count("GSI1PK"), count(*) FILTER (WHERE "GSI1PK" = pk AND "GSI1SK" = sk) FROM (SELECT *, "PK" AS pk, "SK" AS sk FROM app) a;
-- again: nothing is left, and nothing is written
SELECT sum(xmin::text::bigint) AS before FROM app \gset
CALL dyn_backfill('app', filter => '#t = :post AND attribute_not_exists(GSI1PK)', update => 'SET GSI1PK = PK, GSI1SK = SK', names => '{"#t": "Type"}',
	vals => '{":post":{"S":"Post"}}');
CALL dyn_backfill('app', filter => '#t = :post', update => 'SET GSI1PK = PK, GSI1SK = SK', names => '{"#t": "Type"}', vals => '{":post":{"S":"Post"}}');
SELECT sum(xmin::text::bigint) = :before AS unchanged FROM app;

-- 15.1: only where it is missing; no filter: all items; the filter may use keys
CALL dyn_backfill('app', 'SET Born = if_not_exists(Born, :b)', NULL, vals => '{":b":{"S":"2000"}}');
SELECT count(*) FROM app WHERE item ->> 'Born' = '2000';
CALL dyn_backfill('app', 'REMOVE Born', 'begins_with(SK, :l) AND PK < :p', vals => '{":l":{"S":"LIKE#"},":p":{"S":"POST#004"}}');
SELECT count(*) FROM app WHERE NOT item ? 'Born';
-- the filter says which items, the condition guards: an item that either leaves out is left alone
CALL dyn_backfill('app', 'ADD Hits :one', 'Seq <= :n', vals => '{":n":{"N":"10"},":one":{"N":"1"},":three":{"N":"3"}}', condition => 'Seq > :three');
SELECT count(*), sum((item ->> 'Hits')::int) FROM app WHERE item ? 'Hits';
-- plain JSON for names and values
CALL dyn_backfill('app', 'REMOVE Hits', 'attribute_exists(Hits)', vals => NULL);
SELECT count(*) FROM app WHERE item ? 'Hits';

-- small batches: many transactions and chunks give the same
CALL dyn_backfill('app', 'ADD Hits :one', 'attribute_exists(Seq)', vals => '{":one":{"N":"1"}}', batch_size => 1);
SELECT count(*), sum((item ->> 'Hits')::int) FROM app WHERE item ? 'Hits';
CALL dyn_backfill('app', 'ADD Hits :one', 'attribute_exists(Seq)', vals => '{":one":{"N":"1"}}', batch_size => 7);
SELECT count(*), sum((item ->> 'Hits')::int) FROM app WHERE item ? 'Hits';
SELECT name, step, state, rows_done, rows_skipped, problems, rate, time_left, sessions FROM dyn_jobs ORDER BY job DESC LIMIT 2;

-- a rate keeps a session to that: 30 items at 20 a second
SELECT clock_timestamp() AS start \gset
CALL dyn_backfill('app', 'ADD Hits :one', 'Seq <= :n', vals => '{":n":{"N":"30"},":one":{"N":"1"}}', max_rate => 20);
SELECT clock_timestamp() - :'start' >= interval '1.4 s' AS throttled;

-- 15.5: items that would become invalid are noted and left, the others are changed
CALL dyn_backfill('app', filter => 'Seq > :n', update => 'ADD #t :one', names => '{"#t": "Type"}', vals => '{":n":{"N":"98"},":one":{"N":"1"}}');
SELECT p.name, p.step, p.what, p.source_row, p.problem FROM dyn_job_problems p ORDER BY p.noted_at;
UPDATE app SET item = dyn_apply(item, 'SET Seq = :s', vals => '{":s":{"S":"ninety"}}') WHERE "PK" = 'POST#090' AND "SK" = 'POST#090';
CALL dyn_backfill('app', 'SET GSI1SK = Seq', 'begins_with(PK, :p) AND attribute_exists(Seq)', vals => '{":p":{"S":"POST#09"}}');
SELECT p.source_row, p.problem FROM dyn_job_problems p WHERE name LIKE 'SET GSI1SK%' ORDER BY p.noted_at;
SELECT "PK", "GSI1SK" FROM app WHERE "PK" >= 'POST#09' AND "SK" >= 'POST' ORDER BY 1;
CALL dyn_backfill('app', 'SET Large1 = :l, Large2 = :l', 'PK = :p AND SK = :p', vals => jsonb_build_object(':p', 'POST#001', ':l', repeat('x', 204800)));
SELECT p.problem FROM dyn_job_problems p WHERE name LIKE 'SET Large%';

-- what only the write finds is noted, too
ALTER TABLE app ADD CONSTRAINT hits CHECK ((item ->> 'Hits')::int <> 1000);
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW."PK" = 'POST#042' THEN RAISE 'not this one'; END IF; RETURN NEW; END $$;
CREATE TRIGGER refuse BEFORE UPDATE ON app FOR EACH ROW EXECUTE FUNCTION refuse();
CALL dyn_backfill('app', 'SET Hits = :h', 'begins_with(PK, :p) AND attribute_exists(Seq)', vals => '{":h":{"N":"999"},":p":{"S":"POST#04"}}');
CALL dyn_backfill('app', 'ADD Hits :one', 'PK = :p AND attribute_exists(Seq)', vals => '{":one":{"N":"1"},":p":{"S":"POST#043"}}');
SELECT p.name, p.source_row, p.problem FROM dyn_job_problems p JOIN dyn_jobs USING (job) WHERE p.name ~ 'Hits' ORDER BY p.noted_at;
SELECT "PK", item ->> 'Hits' AS hits FROM app WHERE "PK" LIKE 'POST#04%' AND "SK" LIKE 'POST%' ORDER BY 1;
DROP TRIGGER refuse ON app;
ALTER TABLE app DROP CONSTRAINT hits;

-- tables with a partition key only, and with numbers and bytes as keys
SELECT dyn_create_table('users', 'PK S');
INSERT INTO users (item) VALUES ('{"PK":{"S":"USER#ana"},"Username":{"S":"ana"}}'), ('{"PK":{"S":"USER#ben"},"Username":{"S":"ben"},"Birthdate":{"S":"1990"}}');
CALL dyn_backfill('users', 'SET Birthdate = :b', 'attribute_not_exists(Birthdate)', vals => '{":b":{"S":"1988"}}');
SELECT item FROM users ORDER BY "PK";
SELECT dyn_create_table('odd', 'p B', 's N');
INSERT INTO odd (item) SELECT dyn_item(format('{"p":{"B":"%s"},"s":{"N":"%s"}}', encode(decode(lpad(to_hex(i % 7), 2, '0') || '00ff', 'hex'), 'base64'),
	(i - 50) * 1.5)::text) FROM generate_series(1, 100) i;
CALL dyn_backfill('odd', 'ADD n :one', NULL, vals => '{":one":{"N":"1"}}', batch_size => 1);
SELECT count(*), sum((item ->> 'n')::int) FROM odd;
SELECT dyn_create_table('nul', 'p S', 's S');
INSERT INTO nul (item) SELECT dyn_item(format('{"p":{"S":"a\u0000%s"},"s":{"S":"{\"\\,%s"}}', i % 3, i)) FROM generate_series(1, 60) i;
CALL dyn_backfill('nul', 'ADD n :one', NULL, vals => '{":one":{"N":"1"}}', batch_size => 1);
SELECT count(*), sum((item ->> 'n')::int) FROM nul;
SELECT dyn_create_table('nothing_in_it', 'p S');
CALL dyn_backfill('nothing_in_it', 'SET a = :one', NULL, vals => '{":one":{"N":"1"}}');

-- what cannot be
BEGIN;
CALL dyn_backfill('app', 'REMOVE a', NULL);
\echo :SQLSTATE
ROLLBACK;
DO $$ BEGIN CALL dyn_backfill('app', 'REMOVE a', NULL); EXCEPTION WHEN OTHERS THEN RAISE NOTICE '% %', sqlstate, sqlerrm; END $$;
CALL dyn_backfill('none', 'REMOVE a', NULL);
\echo :SQLSTATE
CALL dyn_backfill('app', NULL, NULL);
\echo :SQLSTATE
CALL dyn_backfill(NULL, 'REMOVE a', NULL);
CALL dyn_backfill('app', 'SET PK = :a', NULL, vals => '{":a":{"S":"1"}}');
\echo :SQLSTATE
CALL dyn_backfill('app', 'REMOVE b', 'a = :a');
CALL dyn_backfill('app', 'REMOVE b', 'a = :a', vals => '{":a":{"S":"1"},":b":{"S":"1"}}');
CALL dyn_backfill('app', 'REMOVE b', 'a = ');
CALL dyn_backfill('app', 'REMOVE b', NULL, condition => 'a b');
CALL dyn_backfill('app', 'REMOVE b', NULL, batch_size => 0);
\echo :SQLSTATE
CALL dyn_backfill('app', 'REMOVE b', NULL, batch_size => 100001);
CALL dyn_backfill('app', 'REMOVE b', NULL, max_rate => 0);

-- whoever may not read and change all items may not begin; nobody sees jobs of others, but of tables of his own
CREATE ROLE job_reader;
CREATE ROLE job_writer;
CREATE ROLE job_owner;
GRANT SELECT ON app TO job_reader;
GRANT SELECT, UPDATE ON app TO job_writer;
GRANT CREATE ON SCHEMA public TO job_owner;
SET ROLE job_reader;
CALL dyn_backfill('app', 'REMOVE b', NULL);
\echo :SQLSTATE
SELECT count(*) FROM dyn_jobs;
SELECT count(*) FROM dyn_job_problems;
SELECT * FROM dynamo_internal.jobs;
SELECT * FROM dynamo_internal.job_chunks;
SELECT * FROM dynamo_internal.job_notes;
SET ROLE job_writer;
CALL dyn_backfill('app', 'REMOVE b', 'Seq = :n', vals => '{":n":{"N":"1"}}');
SELECT kind, relation, name, state FROM dyn_jobs;
RESET ROLE;
ALTER TABLE app OWNER TO job_owner;
SET ROLE job_owner;
SELECT count(*) > 10 AS of_the_table FROM dyn_jobs;
SET ROLE job_reader;
SELECT count(*) FROM dyn_jobs;
RESET ROLE;

-- a job that is not finished belongs to who began it; the table's owner can begin it anew
CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW."PK" = 'POST#060' THEN RAISE SQLSTATE '53000' USING MESSAGE =
	'out of something'; END IF; RETURN NEW; END $$;
CREATE TRIGGER stop BEFORE UPDATE ON app FOR EACH ROW EXECUTE FUNCTION stop();
SET ROLE job_writer;
CALL dyn_backfill('app', 'SET Gone = :g', 'attribute_exists(Seq)', vals => '{":g":{"BOOL":true}}', batch_size => 10);
SELECT state, rows_done, rows_skipped, sessions FROM dyn_jobs WHERE state <> 'finished';
RESET ROLE;
CREATE ROLE job_other;
GRANT SELECT, UPDATE ON app TO job_other;
SET ROLE job_other;
CALL dyn_backfill('app', 'SET Gone = :g', 'attribute_exists(Seq)', vals => '{":g":{"BOOL":true}}', batch_size => 10);
CALL dyn_backfill('app', 'SET Gone = :g', 'attribute_exists(Seq)', vals => '{":g":{"BOOL":true}}', batch_size => 10, restart => true);
RESET ROLE;
DROP TRIGGER stop ON app;
-- who began it goes on where it was
SET ROLE job_writer;
CALL dyn_backfill('app', 'SET Gone = :g', 'attribute_exists(Seq)', vals => '{":g":{"BOOL":true}}', batch_size => 10);
RESET ROLE;
CREATE TRIGGER stop BEFORE UPDATE ON app FOR EACH ROW EXECUTE FUNCTION stop();
SET ROLE job_writer;
CALL dyn_backfill('app', 'REMOVE Gone', 'attribute_exists(Seq)', batch_size => 10);
SET ROLE job_owner;
DROP TRIGGER stop ON app;
CALL dyn_backfill('app', 'REMOVE Gone', 'attribute_exists(Seq)', batch_size => 10, restart => true);
RESET ROLE;

-- row-level security: what a role does not see or may not change is not changed
CREATE POLICY see ON app FOR SELECT TO job_writer USING ("PK" < 'POST#050');
CREATE POLICY change ON app FOR UPDATE TO job_writer USING ("PK" < 'POST#020') WITH CHECK ((item ->> 'Seq')::int <> 7);
ALTER TABLE app ENABLE ROW LEVEL SECURITY;
SET ROLE job_writer;
CALL dyn_backfill('app', 'SET Seen = :g', 'attribute_exists(Seq)', vals => '{":g":{"BOOL":true}}');
RESET ROLE;
SELECT count(*), min("PK"), max("PK") FROM app WHERE item ? 'Seen';
SELECT source_row, problem FROM dyn_job_problems WHERE name LIKE 'SET Seen%';
ALTER TABLE app DISABLE ROW LEVEL SECURITY;

-- a search_path that would have other operators and functions
CREATE SCHEMA evil;
CREATE FUNCTION evil.no(text, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'evil'; END $$;
CREATE OPERATOR evil.= (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.no);
CREATE FUNCTION evil.no(bigint, bigint) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'evil'; END $$;
CREATE OPERATOR evil.= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = evil.no);
CREATE FUNCTION evil.sha256(bytea) RETURNS bytea LANGUAGE plpgsql AS $$ BEGIN RAISE 'evil'; END $$;
SET search_path = evil, public, pg_catalog;
CALL dyn_backfill('app', 'SET Evil = :n', 'Seq = :n', vals => '{":n":{"N":"1"}}');
RESET search_path;

-- jobs of a table that is gone are forgotten; finished ones after some days
SELECT count(DISTINCT relation) FROM dyn_jobs;
DROP TABLE users, odd, nul, nothing_in_it;
SELECT count(DISTINCT relation) FROM dyn_jobs;
UPDATE dynamo_internal.jobs SET finished = finished - interval '8 days' WHERE name LIKE 'ADD%';
CALL dyn_backfill('app', 'REMOVE b', NULL);
SELECT count(*) AS old FROM dynamo_internal.jobs j WHERE name LIKE 'ADD%' OR NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = j.relation);
SELECT count(*) AS of_none FROM dynamo_internal.job_chunks c WHERE NOT EXISTS (SELECT FROM dynamo_internal.jobs j WHERE j.job = c.job);
SELECT count(*) AS of_none FROM dynamo_internal.job_notes c WHERE NOT EXISTS (SELECT FROM dynamo_internal.jobs j WHERE j.job = c.job);

-- changes are real ones: by the other isolation levels, too
SET default_transaction_isolation = 'serializable';
CALL dyn_backfill('app', 'SET Lvl = :n', 'Seq = :n', vals => '{":n":{"N":"2"}}');
RESET default_transaction_isolation;
SET dynamo_table.direct_store = off;
CALL dyn_backfill('app', 'SET Lvl = :n', 'Seq = :n', vals => '{":n":{"N":"3"}}');
RESET dynamo_table.direct_store;
SELECT item ->> 'Lvl' AS lvl FROM app WHERE item ? 'Lvl' ORDER BY "PK";

DROP TABLE app;
DROP SCHEMA evil CASCADE;
DROP FUNCTION refuse, stop;
REVOKE ALL ON SCHEMA public FROM job_owner;
DROP ROLE job_reader, job_writer, job_owner, job_other;
