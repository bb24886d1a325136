-- Migrations: rows that cannot become items, collisions, and what is refused (M27, M03)
\pset format unaligned
SET client_min_messages = warning;
CREATE SCHEMA trouble;
CREATE TABLE trouble.users (id int PRIMARY KEY, name text, email text, born date, n numeric);
INSERT INTO trouble.users VALUES (1, 'ada', 'ADA@x', '2000-01-01', 1), (2, 'a#b', 'b@x', NULL, 2), (3, NULL, 'ada@x', NULL, 0), (4, 'd', 'Ada@x', NULL, 'NaN'),
	(5, 'e', 'e@x', NULL, 5), (6, 'f', '', NULL, 6);
SELECT dyn_create_table('people', 'pk S', 'sk S');
SELECT dyn_create_entity('people', 'User', '{"pk": "USER#<Name>", "sk": "#"}',
	'{"Name": {"type": "S text"}, "Id": {"type": "N integer"}, "N": {"type": "N numeric"}, "Inverse": {"type": "N numeric"}}');
SELECT dyn_create_migration('people', 'users', '[{"entity": "User", "from": "trouble.users", "attributes": {"Inverse": "1 / n"}}]');
SELECT source_row, item IS NOT NULL AS makes_item, problem FROM dyn_preview_migration('users', 1);
CALL dyn_migrate('users', batch_size => 2);
SELECT item FROM people;
SELECT step, what, source_row, problem FROM dyn_job_problems WHERE name = 'users';
SELECT source_row, key, difference FROM dyn_verify_migration('users');
-- what only the write refuses
CREATE FUNCTION trouble.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	IF NEW.pk = 'USER#e' THEN RAISE EXCEPTION 'not e'; END IF;
	RETURN NEW; END $$;
CREATE TRIGGER refuse BEFORE INSERT ON people FOR EACH ROW EXECUTE FUNCTION trouble.refuse();
DELETE FROM people;
CALL dyn_migrate('users');
SELECT pk FROM people ORDER BY 1;
SELECT source_row, problem FROM dyn_job_problems WHERE name = 'users' AND problem LIKE '%not e%';
DROP TRIGGER refuse ON people;
DELETE FROM people;

-- several rows make one item: nothing is overwritten, and all are named
SELECT dyn_create_entity('people', 'Email', '{"pk": "EMAIL#<Email:lower>", "sk": "#"}', '{"Email": {"type": "S text"}, "Id": {"type": "N integer"}}');
SELECT dyn_create_migration('people', 'emails', '[{"entity": "Email", "from": "trouble.users"}]');
SELECT source_row, problem FROM dyn_preview_migration('emails', 0);
CALL dyn_migrate('emails', batch_size => 1);
SELECT item FROM people ORDER BY pk;
SELECT what, source_row, problem FROM dyn_job_problems WHERE name = 'emails' ORDER BY source_row;
-- and of two steps
CREATE TABLE trouble.admins (name text PRIMARY KEY);
INSERT INTO trouble.admins VALUES ('e'), ('g');
DELETE FROM people;
SELECT dyn_create_migration('people', 'two', '[{"entity": "User", "from": "trouble.users", "where": "id = 5"}, {"name": "Admins",
	"entity": "User", "from": "trouble.admins"}]');
CALL dyn_migrate('two');
SELECT item FROM people ORDER BY pk;
SELECT step, what, source_row, problem FROM dyn_job_problems WHERE name = 'two' ORDER BY source_row;
-- an item that is there, with other content
DELETE FROM people;
SELECT dyn_put('people', '{"pk": {"S": "USER#g"}, "sk": {"S": "#"}, "x": {"N": "1"}}');
SELECT step, source_row, problem FROM dyn_preview_migration('two', 0);

-- what cannot be declared
SELECT dyn_create_migration('people', '', '[]');
SELECT dyn_create_migration('people', 'm', '[]');
SELECT dyn_create_migration('people', 'm', '{}');
SELECT dyn_create_migration('people', 'm', '[{"entity": "User", "from": "trouble.users", "attribute": {}}]');
SELECT dyn_create_migration('people', 'm', '[{"entity": "Nobody", "from": "trouble.users"}]');
SELECT dyn_create_migration('people', 'm', '[{"entity": "User"}]');
SELECT dyn_create_migration('people', 'm', '[{"entity": "User", "from": "trouble.nothing"}]');
SELECT dyn_create_migration('people', 'm', '[{"entity": "User", "from": "trouble.users", "key": ["nothing"]}]');
SELECT dyn_create_migration('people', 'm', '[{"entity": "User", "from": "trouble.users", "attributes": {"Nothing": "id"}}]');
SELECT dyn_create_migration('people', 'm', '[{"entity": "User", "from": "trouble.users", "attributes": {"Id": "nothing"}}]');
SELECT dyn_create_migration('people', 'm', '[{"entity": "User", "from": "trouble.users", "attributes": {"Id": "1), (2"}}]');
SELECT dyn_create_migration('people', 'm', '[{"entity": "User", "from": "trouble.users", "attributes": {"Id": "id, id"}}]');
SELECT dyn_create_migration('people', 'm', '[{"entity": "User", "from": "trouble.users", "attributes": {"Id": "1 FROM x; DROP TABLE people"}}]');
SELECT dyn_create_migration('people', 'm', '[{"entity": "User", "query": "DELETE FROM trouble.users RETURNING *", "key": ["id"]}]');
SELECT dyn_create_migration('people', 'm', '[{"entity": "User", "query": "SELECT * FROM trouble.users"}]');
SELECT dyn_create_migration('people', 'm', '[{"entity": "User", "query": "SELECT * FROM users", "key": ["id"]}]');
SELECT dyn_create_migration('people', 'm', '[{"entity": "User", "from": "trouble.users"}, {"entity": "User", "from": "trouble.admins"}]');
SELECT dyn_create_migration('people', 'm', '[{"entity": "User", "from": "trouble.users", "parents": {"p": {"from": "trouble.users",
	"on": {"email": "email"}}}}]');
SELECT dyn_create_migration('people', 'm', '[{"entity": "User", "from": "trouble.users", "children": {"N": {"from": "trouble.admins",
	"on": {"name": "name"}, "as": "list", "value": "name"}}}]');
SELECT dyn_create_migration('people', 'm', '[{"entity": "User", "from": "trouble.users", "children": {"N": {"from": "trouble.admins",
	"on": {"name": "name"}, "as": "bag"}}}]');
SELECT dyn_create_migration('nothing', 'm', '[]');
SELECT dyn_drop_migration('nothing');
CALL dyn_migrate('nothing');
CALL dyn_migrate('two', 'nothing');
CALL dyn_migrate('two', batch_size => 0);
BEGIN; CALL dyn_migrate('two'); ROLLBACK;
SELECT * FROM dyn_preview_migration('two', -1);
SELECT * FROM dynamo_internal.migration_items(NULL);
-- defaults that differ each time
SELECT dyn_create_entity('people', 'Log', '{"pk": "LOG#<Id>", "sk": "#"}', '{"Id": {"type": "S text", "default": "ksuid"}, "N": {"type": "N numeric"}}');
CREATE TABLE trouble.logs (n int PRIMARY KEY, id text);
INSERT INTO trouble.logs VALUES (1, 'x'), (2, NULL);
SELECT dyn_create_migration('people', 'logs', '[{"entity": "Log", "query": "SELECT n FROM trouble.logs", "key": ["n"]}]');
SELECT dyn_create_migration('people', 'logs', '[{"entity": "Log", "from": "trouble.logs"}]');
SELECT source_row, item, problem FROM dynamo_internal.migration_items('logs');
-- a key that is none
CREATE VIEW trouble.names AS SELECT left(email, 1) AS id, 1 AS n FROM trouble.users;
SELECT dyn_create_migration('people', 'names', '[{"entity": "Log", "from": "trouble.names"}]');
SELECT dyn_create_migration('people', 'names', '[{"entity": "Log", "from": "trouble.names", "key": ["id"]}]');
CALL dyn_migrate('names');
SELECT step, what, source_row, problem FROM dyn_job_problems WHERE name = 'names';
-- stops its step alone, until it is one
DELETE FROM people;
SELECT dyn_create_migration('people', 'parts', '[{"entity": "Log", "from": "trouble.names", "key": ["id"]}, {"entity": "User", "from": "trouble.admins"},
	{"name": "Emails", "entity": "Email", "from": "trouble.users", "attributes": {"Email": "id::text"}}]');
CALL dyn_migrate('parts');
SELECT pk FROM people ORDER BY 1;
SELECT step, what, source_row, problem FROM dyn_job_problems WHERE name = 'parts';
SELECT step, state, rows_done FROM dyn_jobs WHERE name = 'parts' ORDER BY 1;
SELECT step, source_row, difference FROM dyn_verify_migration('parts');
CREATE OR REPLACE VIEW trouble.names AS SELECT DISTINCT left(email, 1) AS id, 1 AS n FROM trouble.users WHERE email <> '';
CALL dyn_migrate('parts');
SELECT pk FROM people WHERE pk LIKE 'LOG%' ORDER BY 1;
SELECT step, source_row, difference FROM dyn_verify_migration('parts');
CREATE OR REPLACE VIEW trouble.names AS SELECT left(email, 1) AS id, 1 AS n FROM trouble.users;
DELETE FROM people;
-- a map with a key twice
SELECT dyn_create_entity('people', 'Group', '{"pk": "GROUP#<Id>", "sk": "#"}', '{"Id": {"type": "N integer"}, "Members": {"type": "M jsonb"}}');
SELECT dyn_create_migration('people', 'groups', '[{"entity": "Group", "from": "trouble.logs", "where": "n = 1", "attributes": {"Id": "n"},
	"children": {"Members": {"from": "trouble.names", "on": {"n": "n"}, "as": "map", "key": "id", "value": "n"}}}]');
SELECT source_row, item, problem FROM dynamo_internal.migration_items('groups');
-- names are looked up in all of the database
SELECT dyn_create_table('others', 'pk S', 'sk S');
SELECT dyn_create_entity('others', 'User', '{"pk": "USER#<Id>", "sk": "#"}', '{"Id": {"type": "N integer"}}');
SELECT dyn_create_migration('others', 'two', '[{"entity": "User", "from": "trouble.users"}]');
-- the source changes its shape
SELECT dyn_create_migration('others', 'users2', '[{"entity": "User", "from": "trouble.users"}]');
ALTER TABLE trouble.users RENAME TO persons;
CALL dyn_migrate('users2');
ALTER TABLE trouble.persons RENAME TO users;
CALL dyn_migrate('users2');
SELECT * FROM dyn_verify_migration('users2');

-- rights: only those who have the rights of the owner of the items run a migration
CREATE ROLE regress_migrator;
GRANT USAGE ON SCHEMA trouble TO regress_migrator;
GRANT TRIGGER ON others TO regress_migrator;
SET ROLE regress_migrator;
SELECT dyn_create_migration('others', 'mine', '[{"entity": "User", "from": "trouble.users"}]');
SELECT dyn_drop_migration('users2');
SELECT dyn_follow_migration('users2');
SELECT name, step FROM dynamo_internal.migration_steps();
CALL dyn_migrate('users2');
SELECT count(*) FROM dynamo_internal.migration_items('users2');
RESET ROLE;
GRANT SELECT, INSERT, UPDATE, DELETE ON others TO regress_migrator;
SET ROLE regress_migrator;
SELECT count(*) FROM dynamo_internal.migration_items('users2');
SELECT * FROM dyn_verify_migration('users2');
SELECT * FROM dyn_preview_migration('users2');
CALL dyn_migrate('users2', restart => true);
RESET ROLE;
-- it reads with these rights, whoever calls
ALTER TABLE others OWNER TO regress_migrator;
CALL dyn_migrate('users2', restart => true);
GRANT SELECT ON trouble.users TO regress_migrator;
SELECT count(*) FROM dynamo_internal.migration_items('users2');
-- row-level security of the target
ALTER TABLE others ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY most ON others TO regress_migrator USING (pk <> 'USER#3') WITH CHECK (pk <> 'USER#3');
DELETE FROM others;
SET ROLE regress_migrator;
CALL dyn_migrate('users2', restart => true);
SELECT source_row, difference FROM dyn_verify_migration('users2');
SELECT step, state, rows_done FROM dyn_jobs;
RESET ROLE;
SELECT source_row, difference FROM dyn_verify_migration('users2');
SELECT pk FROM others ORDER BY 1;
DROP TABLE people, others;
DROP SCHEMA trouble CASCADE;
DROP ROLE regress_migrator;
