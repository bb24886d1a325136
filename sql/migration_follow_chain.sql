-- Following rows that refer to each other without a foreign key, or by one that is deferred; and parents of parents
\pset format unaligned
SET client_min_messages = warning;
CREATE SCHEMA fc;
CREATE TABLE fc.countries (code text PRIMARY KEY, name text);
CREATE TABLE fc.films (id int PRIMARY KEY, title text NOT NULL, country text);
CREATE TABLE fc."in ventory" (id int PRIMARY KEY, "film ""id" int REFERENCES fc.films DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE fc.staff (id bigint PRIMARY KEY, name text, boss bigint);
CREATE TABLE fc.rentals (id int PRIMARY KEY, copy int REFERENCES fc."in ventory" ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED, clerk int);
CREATE TABLE fc.payments (id int PRIMARY KEY, rental_id int REFERENCES fc.rentals DEFERRABLE INITIALLY DEFERRED, amount numeric, kind text);
CREATE TABLE fc.kinds (kind text PRIMARY KEY, label text);
CREATE INDEX ON fc.films (country);
CREATE INDEX ON fc.payments (rental_id);
CREATE INDEX ON fc."in ventory" ("film ""id");
SELECT dyn_create_table('fct', 'pk S');
SELECT dyn_create_entity('fct', 'Rental', '{"pk": "RENTAL#<Id:05>"}',
	'{"Id": {"type": "N integer"}, "Title": {"type": "S text", "required": true}, "Country": {"type": "S text"},
	"Clerk": {"type": "S text"}, "Boss": {"type": "S text"}, "Payments": {"type": "N bigint"}, "Kinds": {"type": "SS text[]"}}');
SELECT dyn_create_migration('fct', 'fc', '[{"entity": "Rental", "from": "fc.rentals",
	"parents": {"i": {"from": "fc.\"in ventory\"", "on": {"id": "copy"},
			"parents": {"f": {"from": "fc.films", "on": {"id": "film \"id"}, "attributes": {"Title": "title"},
				"parents": {"c": {"from": "fc.countries", "on": {"code": "country"}, "attributes": {"Country": "upper(name)"}}}}}},
		"s": {"from": "fc.staff", "on": {"id": "clerk"}, "attributes": {"Clerk": "name"},
			"parents": {"s": {"from": "fc.staff", "on": {"id": "boss"}, "attributes": {"Boss": "s.name"}, "orphans": "skip"}}}},
	"children": {"Payments": {"from": "fc.payments", "on": {"rental_id": "id"}, "as": "count"},
		"Kinds": {"from": "fc.payments", "on": {"rental_id": "id"}, "join": {"fc.kinds": {"kind": "kind"}}, "as": "set", "value": "kinds.label"}}}]');
SELECT jsonb_pretty(m::jsonb -> 0 -> 'parents') FROM (SELECT label::jsonb -> 'migrations' -> 0 -> 'steps' FROM pg_seclabels WHERE objoid = 'fct'::regclass)
	AS l (m);
SELECT dyn_follow_migration('fc');
CREATE FUNCTION fc.shows(OUT item dyn_item) RETURNS SETOF dyn_item LANGUAGE sql AS 'SELECT item FROM fct ORDER BY pk';
CREATE FUNCTION fc.wrong(OUT source_row text, OUT difference text) RETURNS SETOF record LANGUAGE sql AS $$ SELECT source_row, difference
	FROM dyn_verify_migration('fc') $$;
-- all rows come before those that they refer to
BEGIN;
INSERT INTO fc.payments VALUES (1, 1, 5, 'card'), (2, 1, 6, 'cash'), (3, 2, 7, 'card');
INSERT INTO fc.kinds VALUES ('card', 'by card');
INSERT INTO fc.rentals VALUES (1, 10, 7), (2, 11, 8);
SELECT count(*) FROM fct;
INSERT INTO fc."in ventory" VALUES (10, 100), (11, 101);
SELECT count(*) FROM fct;
INSERT INTO fc.films VALUES (100, 'Arrival', 'us'), (101, 'Brazil', 'uk');
COMMIT;
SELECT * FROM fc.shows();
INSERT INTO fc.countries VALUES ('uk', 'Great Britain'), ('us', 'America');
INSERT INTO fc.kinds VALUES ('cash', 'in cash');
INSERT INTO fc.staff VALUES (7, 'Mike', NULL), (8, 'Jon', 7);
SELECT * FROM fc.shows();
SELECT * FROM fc.wrong();
-- changes at each level
UPDATE fc.countries SET name = 'United States' WHERE code = 'us';
UPDATE fc.films SET title = 'Arrival!' WHERE id = 100;
UPDATE fc.films SET country = 'us' WHERE id = 101;
UPDATE fc.staff SET name = 'Michael' WHERE id = 7;
SELECT * FROM fc.shows();
UPDATE fc."in ventory" SET "film ""id" = 100 WHERE id = 11;
UPDATE fc.rentals SET copy = 11, clerk = 8 WHERE id = 1;
DELETE FROM fc.countries WHERE code = 'us';
SELECT * FROM fc.shows();
SELECT * FROM fc.wrong();
-- a key that many refer to changes, and there and back
UPDATE fc.staff SET id = 9, boss = 9 WHERE id = 7;
SELECT * FROM fc.shows();
UPDATE fc.staff SET boss = NULL WHERE id = 8;
SELECT * FROM fc.wrong();
-- rows go before those that refer to them; nothing is left of a transaction that fails
BEGIN;
DELETE FROM fc.films WHERE id = 100;
SELECT count(*) FROM fct;
ROLLBACK;
BEGIN;
DELETE FROM fc.films WHERE id = 100;
COMMIT;
SELECT count(*) FROM fct;
BEGIN;
DELETE FROM fc.films;
DELETE FROM fc."in ventory";
DELETE FROM fc.rentals WHERE id = 2;
DELETE FROM fc.payments WHERE rental_id = 1;
INSERT INTO fc.rentals VALUES (1, NULL, NULL);
COMMIT;
SELECT * FROM fc.shows();
-- what is wrong with a row whatever its parents are is an error as before
INSERT INTO fc.films VALUES (200, 'C', NULL);
INSERT INTO fc."in ventory" VALUES (20, 200);
INSERT INTO fc.rentals VALUES (3, NULL, NULL);
INSERT INTO fc.rentals VALUES (3, 20, 1);
SELECT * FROM fc.shows();
SELECT * FROM fc.wrong();
-- more rows than values are locked of
BEGIN;
INSERT INTO fc.payments SELECT 1000 + i, 1000 + i, 1, 'card' FROM generate_series(1, 2000) i;
INSERT INTO fc.rentals SELECT 1000 + i, 20, 7 FROM generate_series(1, 2000) i;
SELECT count(*) < 600 FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid();
COMMIT;
SELECT count(*) FROM fc.wrong();
SELECT count(*) FROM fct WHERE (item ->> 'Payments') = '1';
-- a writer with few rights and a search_path of his own; policies that hide rows of a parent of a parent
CREATE ROLE regress_chain_owner;
CREATE ROLE regress_chain_writer;
GRANT USAGE, CREATE ON SCHEMA fc TO regress_chain_owner, regress_chain_writer;
ALTER TABLE fc.films OWNER TO regress_chain_owner;
ALTER TABLE fc.films FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE, DELETE ON fct TO regress_chain_writer;
GRANT SELECT ON ALL TABLES IN SCHEMA fc TO regress_chain_writer;
GRANT INSERT, UPDATE, DELETE ON fc.rentals TO regress_chain_writer;
CREATE SCHEMA fc_evil AUTHORIZATION regress_chain_writer;
SET ROLE regress_chain_writer;
CREATE FUNCTION fc_evil.never(integer, integer) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'runs as %', current_user; RETURN false; END $$;
CREATE OPERATOR fc_evil.= (leftarg = integer, rightarg = integer, function = fc_evil.never);
CREATE FUNCTION fc_evil.unnest(integer[]) RETURNS SETOF integer LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'runs as %', current_user; END $$;
CREATE TABLE fc_evil.films AS SELECT 200 AS id, 'Evil' AS title, NULL::text AS country;
SET search_path = fc_evil, fc, public, pg_catalog;
INSERT INTO fc.rentals VALUES (4, 20, 5), (5, 20, NULL);
DELETE FROM fc.rentals AS r WHERE r.id OPERATOR(pg_catalog.=) 5;
RESET search_path;
SELECT item FROM fct WHERE pk IN ('RENTAL#00004', 'RENTAL#00005');
RESET ROLE;
REVOKE SELECT ON fc.films FROM regress_chain_writer;
\set SHOW_CONTEXT never
SET ROLE regress_chain_writer;
INSERT INTO fc.rentals VALUES (5, 20, NULL);
RESET ROLE;
GRANT SELECT ON fc.films TO regress_chain_writer;
ALTER TABLE fc.films ENABLE ROW LEVEL SECURITY;
SET ROLE regress_chain_writer;
INSERT INTO fc.rentals VALUES (5, 20, NULL);
RESET ROLE;
ALTER TABLE fc.films DISABLE ROW LEVEL SECURITY;
SET ROLE regress_chain_owner;
SELECT dyn_create_migration('fct', 'fc', '[]');
SELECT dyn_follow_migration('fc');
SELECT dyn_follow_migration('fc', enabled => false);
RESET ROLE;
SELECT * FROM fc.wrong();
ALTER TABLE fc.films OWNER TO CURRENT_USER;
DROP SCHEMA fc_evil CASCADE;
DROP OWNED BY regress_chain_owner, regress_chain_writer;
DROP ROLE regress_chain_owner;
DROP ROLE regress_chain_writer;
-- values that are equal and are not the same bytes, and types that differ
SELECT dyn_follow_migration('fc', enabled => false);
CREATE TABLE fc.p (n numeric PRIMARY KEY, v text NOT NULL);
CREATE TABLE fc.q (t char(5) PRIMARY KEY, v text);
CREATE TABLE fc.s (id int PRIMARY KEY, n int, t text, u char(8));
SELECT dyn_create_entity('fct', 'S', '{"pk": "S#<Id>"}',
	'{"Id": {"type": "N integer"}, "N": {"type": "S text", "required": true}, "T": {"type": "S text"}, "U": {"type": "S text"}}');
SELECT dyn_create_migration('fct', 'fs', '[{"entity": "S", "from": "fc.s", "parents": {"p": {"from": "fc.p", "on": {"n": "n"},
	"attributes": {"N": "v"}}, "q": {"from": "fc.q", "on": {"t": "t"}, "attributes": {"T": "v"}},
	"u": {"from": "fc.q", "on": {"t": "u"}, "attributes": {"U": "v"}}}}]');
SELECT dyn_follow_migration('fs');
INSERT INTO fc.s VALUES (1, 1, 'a', 'b'), (2, 2, 'b', 'a'), (3, 3, 'c', NULL);
INSERT INTO fc.p VALUES (1.00, 'one'), (2.0, 'two');
SELECT item FROM fct WHERE pk LIKE 'S#%' ORDER BY pk;
INSERT INTO fc.q VALUES ('a', 'letter a'), ('b', 'letter b');
SELECT item FROM fct WHERE pk LIKE 'S#%' ORDER BY pk;
-- row 3 has no parent, which it cannot do without
SELECT source_row, difference FROM dyn_verify_migration('fs');
CALL dyn_migrate('fs');
SELECT what, source_row, problem FROM dyn_job_problems WHERE name = 'fs';
-- what a declaration may not be
SELECT dyn_create_migration('fct', 'no', '[{"entity": "S", "from": "fc.s", "parents": {"p": {"from": "fc.p", "on": {"n": "n"},
	"parents": {"q": {"from": "fc.q", "on": {"t": "t"}}}}}}]');
SELECT dyn_create_migration('fct', 'no', '[{"entity": "S", "from": "fc.s", "parents": {"p": {"from": "fc.p", "on": {"n": "n"},
	"parents": {"q": {"from": "fc.q", "on": {"v": "v"}}}}}}]');
SELECT dyn_create_migration('fct', 'no', '[{"entity": "S", "from": "fc.s", "parents": {"p": {"from": "fc.p", "on": {"n": "n"}, "parents": {"q": []}}}}]');
SELECT dyn_create_migration('fct', 'no', '[{"entity": "S", "from": "fc.s", "parents": {"p": {"from": "fc.p", "on": {"n": "n"}, "parents": []}}}]');
DROP SCHEMA fc CASCADE;
DROP TABLE fct;
