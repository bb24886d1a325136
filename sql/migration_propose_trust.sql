-- Whoever proposes reads tables of others: code of their owners has no more rights than the owners, and the caller sees no more than it may
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
CREATE ROLE regress_proposer;
CREATE ROLE regress_mallory;
CREATE SCHEMA pt AUTHORIZATION regress_mallory;
GRANT USAGE ON SCHEMA pt TO PUBLIC;
CREATE TABLE secret (v text);
INSERT INTO secret VALUES ('hidden');
GRANT SELECT ON secret TO regress_proposer;
CREATE FUNCTION told(target text, sources text[]) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT line FROM public.dyn_propose_migration(target, sources, NULL, ARRAY[]::text[]) p, regexp_split_to_table(p, '\n') line
		WHERE line ~ '^-- ([?]|[a-z_]+: |Size)' OR line ~ 'dyn_create_entity[(]' $$;
SET ROLE regress_mallory;
-- what a view, a policy, an index, a statistics object and a constraint call tells who runs it, and what it may do
CREATE FUNCTION pt.gain(i int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE stolen text := 'nothing';
BEGIN
	IF current_user = 'regress_mallory' AND current_setting('pt.quiet', true) = 'on' THEN
		RETURN i;
	END IF;
	BEGIN SELECT v INTO stolen FROM public.secret; EXCEPTION WHEN insufficient_privilege THEN stolen := 'no privilege'; END;
	BEGIN EXECUTE 'SET ROLE postgres'; stolen := stolen || ', role taken'; EXCEPTION WHEN OTHERS THEN NULL; END;
	RAISE WARNING 'runs as %: %', current_user, stolen;
	RETURN i;
END $$;
SET pt.quiet = on;
CREATE TABLE pt.items (id int PRIMARY KEY, v int);
INSERT INTO pt.items VALUES (1, 1), (2, 2);
CREATE TABLE pt.hidden (id int PRIMARY KEY, v int);
INSERT INTO pt.hidden VALUES (1, 1), (7654321, 2);
CREATE TABLE pt.indexed (id int PRIMARY KEY, v int);
INSERT INTO pt.indexed VALUES (1, 1);
CREATE INDEX ON pt.indexed (v) WHERE pt.gain(1) = 1;
CREATE VIEW pt.shown AS SELECT id, pt.gain(v) AS v FROM pt.items;
ALTER TABLE pt.hidden ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON pt.hidden USING (pt.gain(id) < 1000);
GRANT SELECT ON ALL TABLES IN SCHEMA pt TO regress_proposer;
RESET pt.quiet;
RESET ROLE;
\c -
\pset format unaligned
\pset tuples_only on
-- a superuser
SELECT told('x', '{pt.indexed}');
SELECT told('x', '{pt.shown}');
SELECT told('x', '{pt.hidden}');
-- another role that may read more than the owner, and less than all rows
\c -
\pset format unaligned
\pset tuples_only on
SET ROLE regress_proposer;
SELECT told('x', '{pt.indexed}');
SELECT told('x', '{pt.shown}');
SELECT told('x', '{pt.hidden}');
RESET ROLE;
-- forced on the owner as well: a superuser sees all rows, the owner does not
ALTER TABLE pt.hidden FORCE ROW LEVEL SECURITY;
SELECT told('x', '{pt.hidden}');
SET ROLE regress_mallory;
SELECT told('x', '{pt.hidden}');
RESET ROLE;
-- the caller's own privileges are asked first, on all columns and on the schema
REVOKE SELECT ON pt.items FROM regress_proposer;
GRANT SELECT (id) ON pt.items TO regress_proposer;
SET ROLE regress_proposer;
SELECT told('x', '{pt.items}');
RESET ROLE;
GRANT SELECT ON pt.items TO regress_proposer;
REVOKE USAGE ON SCHEMA pt FROM PUBLIC;
SET ROLE regress_proposer;
SELECT told('x', '{pt.items}');
SELECT told('x', '{pt.*}');
RESET ROLE;
-- an owner that may not read its own table
REVOKE SELECT ON pt.items FROM regress_mallory;
SELECT told('x', '{pt.items}');
GRANT SELECT ON pt.items TO regress_mallory;
ALTER SCHEMA pt OWNER TO postgres;
REVOKE USAGE ON SCHEMA pt FROM regress_mallory;
SELECT told('x', '{pt.items}');
SELECT told('x', '{pt.shown}');
-- partitions may be foreign tables, which depend on who reads them
CREATE FOREIGN DATA WRAPPER regress_pt;
CREATE SERVER regress_pt FOREIGN DATA WRAPPER regress_pt;
CREATE TABLE pt.parts (id int, v int) PARTITION BY LIST (id);
CREATE TABLE pt.parts_1 PARTITION OF pt.parts FOR VALUES IN (1);
GRANT SELECT ON pt.parts TO regress_proposer;
GRANT USAGE ON SCHEMA pt TO regress_proposer;
INSERT INTO pt.parts VALUES (1, 1);
SET ROLE regress_proposer;
SELECT told('x', '{pt.parts}');
RESET ROLE;
CREATE FOREIGN TABLE pt.parts_2 PARTITION OF pt.parts FOR VALUES IN (2) SERVER regress_pt;
SET ROLE regress_proposer;
SELECT told('x', '{pt.parts}');
RESET ROLE;
SET client_min_messages = error;
DROP SCHEMA pt CASCADE;
DROP SERVER regress_pt CASCADE;
DROP FOREIGN DATA WRAPPER regress_pt;
DROP FUNCTION told(text, text[]);
DROP TABLE secret;
DROP ROLE regress_proposer, regress_mallory;
