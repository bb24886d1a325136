-- Following tables with composite keys: foreign keys that name columns in another order than the parent's key, MATCH FULL, keys
-- that are partly NULL, and parents and children that several columns find (M27)
\pset format unaligned
SET client_min_messages = error;
CREATE SCHEMA fc;
CREATE TABLE fc.lands (code text, zone bigint, name text, PRIMARY KEY (code, zone));
CREATE TABLE fc.towns (nr int, code text, zone int, name text, PRIMARY KEY (zone, nr, code),
	FOREIGN KEY (zone, code) REFERENCES fc.lands (zone, code) ON UPDATE CASCADE ON DELETE CASCADE);
-- in another order than in the parent, partly NULL
CREATE TABLE fc.shops (id int PRIMARY KEY, tcode text, tnr int, tzone smallint, label text,
	FOREIGN KEY (tnr, tcode, tzone) REFERENCES fc.towns (nr, code, zone) ON UPDATE CASCADE ON DELETE SET NULL (tnr));
-- MATCH FULL
CREATE TABLE fc.staff (s int, n numeric, lcode text, lzone bigint, boss_s int, boss_n numeric, label text, PRIMARY KEY (n, s),
	FOREIGN KEY (lzone, lcode) REFERENCES fc.lands (zone, code) MATCH FULL ON UPDATE CASCADE ON DELETE SET NULL,
	FOREIGN KEY (boss_s, boss_n) REFERENCES fc.staff (s, n) ON UPDATE CASCADE ON DELETE SET NULL DEFERRABLE);
-- a link of two, without a foreign key of one of them
CREATE TABLE fc.works (s int, n numeric, zone int, nr int, code text, hours int, PRIMARY KEY (s, n, nr, zone, code),
	FOREIGN KEY (n, s) REFERENCES fc.staff (n, s) ON UPDATE CASCADE ON DELETE CASCADE);
SELECT dyn_create_table('fct', 'pk S', 'sk S');
SELECT dyn_create_entity('fct', 'Land', '{"pk": "LAND#<Code>#<Zone>", "sk": "#"}',
	'{"Code": {"type": "S text"}, "Zone": {"type": "N bigint"}, "Name": {"type": "S text"}, "Towns": {"type": "L text[]"}, "Staff": {"type": "N bigint"}}');
SELECT dyn_create_entity('fct', 'Town', '{"pk": "LAND#<Code>#<Zone>", "sk": "TOWN#<Nr:02>"}',
	'{"Code": {"type": "S text"}, "Zone": {"type": "N integer"}, "Nr": {"type": "N integer"}, "Name": {"type": "S text"},
	"Land": {"type": "S text"}, "Shops": {"type": "L text[]"}, "Hours": {"type": "L integer[]"}, "Workers": {"type": "L text[]"}}');
SELECT dyn_create_entity('fct', 'Shop', '{"pk": "SHOP#<Id>", "sk": "#"}',
	'{"Id": {"type": "N integer"}, "Label": {"type": "S text"}, "Town": {"type": "S text"}, "Land": {"type": "S text"}}');
SELECT dyn_create_entity('fct', 'Staff', '{"pk": "STAFF#<S>#<N>", "sk": "#"}',
	'{"S": {"type": "N integer"}, "N": {"type": "N numeric"}, "Label": {"type": "S text"}, "Land": {"type": "S text"},
	"Boss": {"type": "S text"}, "BossLand": {"type": "S text"}, "Reports": {"type": "L text[]"}}');
SELECT dyn_create_entity('fct', 'Work', '{"pk": "WORK#<Zone>#<Nr>#<Code>", "sk": "BY#<S:02>#<N>"}',
	'{"S": {"type": "N integer"}, "N": {"type": "N numeric"}, "Zone": {"type": "N integer"}, "Nr": {"type": "N integer"}, "Code": {"type": "S text"},
	"Hours": {"type": "N integer"}, "Town": {"type": "S text"}, "Land": {"type": "S text"}, "Who": {"type": "S text"}, "Boss": {"type": "S text"}}');
SELECT dyn_create_migration('fct', 'fc', '[
 {"entity": "Land", "from": "fc.lands", "attributes": {"Code": "code", "Zone": "zone", "Name": "name"},
   "children": {"Towns": {"from": "fc.towns", "on": {"code": "code", "zone": "zone"}, "as": "list", "value": "towns.name", "order": ["nr"]},
   "Staff": {"from": "fc.staff", "on": {"lzone": "zone", "lcode": "code"}, "as": "count"}}},
 {"entity": "Town", "from": "fc.towns", "attributes": {"Code": "code", "Zone": "zone", "Nr": "nr", "Name": "name"},
   "parents": {"l": {"from": "fc.lands", "on": {"zone": "zone", "code": "code"}, "attributes": {"Land": "name"}}},
   "children": {"Shops": {"from": "fc.shops", "on": {"tcode": "code", "tzone": "zone", "tnr": "nr"}, "as": "list", "value": "label", "order": ["id"]},
     "Hours": {"from": "fc.works", "on": {"nr": "nr", "code": "code", "zone": "zone"}, "as": "list", "value": "hours", "order": ["s", "n"]},
     "Workers": {"from": "fc.works", "on": {"nr": "nr", "code": "code", "zone": "zone"}, "join": {"fc.staff": {"n": "n", "s": "s"}}, "as": "list",
       "value": "staff.label", "order": ["works.s", "works.n"]}}},
 {"entity": "Shop", "from": "fc.shops", "attributes": {"Id": "id", "Label": "label"},
   "parents": {"t": {"from": "fc.towns", "on": {"code": "tcode", "nr": "tnr", "zone": "tzone"}, "attributes": {"Town": "name"},
     "parents": {"l": {"from": "fc.lands", "on": {"code": "code", "zone": "zone"}, "attributes": {"Land": "name"}}}}}},
 {"entity": "Staff", "from": "fc.staff", "attributes": {"S": "s", "N": "n", "Label": "label"},
   "parents": {"l": {"from": "fc.lands", "on": {"code": "lcode", "zone": "lzone"}, "attributes": {"Land": "name"}},
     "b": {"from": "fc.staff", "on": {"n": "boss_n", "s": "boss_s"}, "attributes": {"Boss": "label"},
       "parents": {"bl": {"from": "fc.lands", "on": {"code": "lcode", "zone": "lzone"}, "attributes": {"BossLand": "name"}}}}},
   "children": {"Reports": {"from": "fc.staff", "on": {"boss_s": "s", "boss_n": "n"}, "as": "list", "value": "label", "order": ["s", "n"]}}},
 {"entity": "Work", "from": "fc.works", "attributes": {"S": "s", "N": "n", "Zone": "zone", "Nr": "nr", "Code": "code", "Hours": "hours"},
   "parents": {"t": {"from": "fc.towns", "on": {"zone": "zone", "nr": "nr", "code": "code"}, "attributes": {"Town": "name"},
   "parents": {"l": {"from": "fc.lands", "on": {"zone": "zone", "code": "code"}, "attributes": {"Land": "name"}}}},
     "w": {"from": "fc.staff", "on": {"n": "n", "s": "s"}, "attributes": {"Who": "label"},
       "parents": {"b": {"from": "fc.staff", "on": {"s": "boss_s", "n": "boss_n"}, "attributes": {"Boss": "label"}}}}}}]');
SELECT dyn_follow_migration('fc');
CREATE FUNCTION fc.shows(OUT item dyn_item) RETURNS SETOF dyn_item LANGUAGE sql AS 'SELECT item FROM fct ORDER BY pk, sk';
CREATE FUNCTION fc.wrong(OUT step text, OUT source_row text, OUT difference text) RETURNS SETOF record LANGUAGE sql AS $$ SELECT step, source_row, difference
	FROM dyn_verify_migration('fc') $$;
INSERT INTO fc.lands VALUES ('a', 1, 'A1'), ('a', 2, 'A2'), ('b', 1, 'B1');
INSERT INTO fc.towns VALUES (1, 'a', 1, 'First'), (2, 'a', 1, 'Second'), (1, 'b', 1, 'Third');
COPY fc.shops FROM STDIN;
1	a	1	1	whole
2	a	\N	1	partly
3	\N	9	7	nowhere
4	b	1	1	third
\.
INSERT INTO fc.staff VALUES (1, 1, 'a', 1, NULL, NULL, 'Ada'), (2, 1.0, 'b', 1, 1, 1.00, 'Grace'), (1, 2.5, NULL, NULL, 1, NULL, 'Linus');
-- no foreign key says that the town exists
INSERT INTO fc.works VALUES (1, 1, 1, 1, 'a', 10), (2, 1, 1, 1, 'a', 20), (1, 2.5, 3, 3, 'z', 30);
SELECT * FROM fc.shows();
SELECT * FROM fc.wrong();
-- one column of two, through cascades to children and grandchildren
UPDATE fc.lands SET zone = 5 WHERE code = 'b';
SELECT item FROM fc.shows() WHERE item ->> 'pk' ~ 'b|SHOP#4|STAFF#2';
SELECT * FROM fc.wrong();
UPDATE fc.lands SET code = 'c' WHERE code = 'a' AND zone = 1;
UPDATE fc.staff SET n = 7 WHERE s = 1 AND n = 1;
UPDATE fc.staff SET s = 3 WHERE s = 1 AND n = 7;
SELECT * FROM fc.shows();
SELECT * FROM fc.wrong();
-- equal and written differently; one column of three
UPDATE fc.staff SET n = 7.00 WHERE n = 7;
UPDATE fc.towns SET nr = nr + 2 WHERE code = 'c';
UPDATE fc.works SET zone = 1, nr = 3, code = 'c' WHERE s = 1;
SELECT * FROM fc.wrong();
-- a key gets whole, and partly NULL
UPDATE fc.shops SET tnr = 3, tcode = 'c' WHERE id = 2;
UPDATE fc.shops SET tzone = NULL WHERE id = 1;
SELECT item FROM fc.shows() WHERE item ->> 'pk' ~ 'SHOP';
UPDATE fc.staff SET boss_s = 3 WHERE s = 1;
UPDATE fc.staff SET boss_n = 7 WHERE s = 1;
UPDATE fc.staff SET lcode = NULL WHERE s = 3;
UPDATE fc.staff SET lcode = NULL, lzone = NULL WHERE s = 3;
SELECT item FROM fc.shows() WHERE item ->> 'pk' ~ 'STAFF';
SELECT * FROM fc.wrong();
-- a parent that comes after what refers to it, by other statements
INSERT INTO fc.works VALUES (1, 2.5, 2, 8, 'a', 3);
MERGE INTO fc.towns t USING (VALUES (8, 'a', 2), (3, 'c', 1)) AS v (nr, code, zone) ON t.nr = v.nr AND t.code = v.code AND t.zone = v.zone
	WHEN MATCHED THEN UPDATE SET name = 'merged' WHEN NOT MATCHED THEN INSERT (nr, code, zone, name) VALUES (v.nr, v.code, v.zone, 'late');
INSERT INTO fc.lands VALUES ('a', 2, 'again') ON CONFLICT (code, zone) DO UPDATE SET name = excluded.name, zone = 4;
SELECT item FROM fc.shows() WHERE item ->> 'pk' ~ 'LAND|WORK|SHOP#2';
SELECT * FROM fc.wrong();
-- in a transaction with deferred checks that is undone in part
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
INSERT INTO fc.staff VALUES (8, 8, NULL, NULL, 9, 9, 'early');
SAVEPOINT s;
DELETE FROM fc.lands WHERE code = 'c';
ROLLBACK TO s;
INSERT INTO fc.staff VALUES (9, 9, 'b', 5, NULL, NULL, 'late');
COMMIT;
SELECT item FROM fc.shows() WHERE item ->> 'pk' ~ 'STAFF#[89]';
SELECT * FROM fc.wrong();
-- SET NULL of one column and of both, and cascades
DELETE FROM fc.towns WHERE nr = 3 AND code = 'c';
DELETE FROM fc.lands WHERE code = 'b';
DELETE FROM fc.staff WHERE s = 3;
SELECT * FROM fc.shows();
SELECT * FROM fc.wrong();
\set VERBOSITY terse
TRUNCATE fc.towns CASCADE;
TRUNCATE fc.works;
\set VERBOSITY default
-- as the worker that applies replicated changes: by rows, and no foreign key is checked
SET session_replication_role = replica;
UPDATE fc.towns SET code = 'q' WHERE nr = 8;
INSERT INTO fc.shops VALUES (9, 'q', 8, 4, 'applied');
UPDATE fc.towns SET zone = zone + 1, nr = 1 WHERE code = 'q';
UPDATE fc.shops SET (tnr, tzone) = (1, 5) WHERE id = 9;
SELECT item FROM fc.shows() WHERE item ->> 'pk' ~ '#q|SHOP#9';
SELECT * FROM fc.wrong();
RESET session_replication_role;
-- the check that all this is seen by
ALTER TABLE fc.lands DISABLE TRIGGER ALL;
UPDATE fc.lands SET name = 'unseen' WHERE code = 'c';
ALTER TABLE fc.lands ENABLE TRIGGER ALL;
SELECT * FROM fc.wrong();
DROP SCHEMA fc CASCADE;
DROP TABLE fct;
