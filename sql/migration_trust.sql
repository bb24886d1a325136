-- Whoever may make a trigger can forge declarations and followers; those of others go on
\pset format unaligned
SET client_min_messages = warning;
CREATE ROLE regress_owner;
CREATE ROLE regress_mallory;
CREATE SCHEMA mto AUTHORIZATION regress_owner;
CREATE SCHEMA mtm AUTHORIZATION regress_mallory;
GRANT USAGE ON SCHEMA mto, mtm TO PUBLIC;
SET ROLE regress_owner;
SET search_path = mto, public;
CREATE TABLE mto.rows (id int PRIMARY KEY, v text);
SELECT dyn_create_table('mtitems', 'pk S');
SELECT dyn_create_entity('mtitems', 'Row', '{"pk": "ROW#<Id>"}', '{"Id": {"type": "N integer"}, "V": {"type": "S text"}}');
SELECT dyn_create_migration('mtitems', 'mt', '[{"entity": "Row", "from": "mto.rows"}]');
SELECT dyn_follow_migration('mt');
GRANT SELECT ON mto.rows TO regress_mallory;
-- the same name, of somebody else
SET ROLE regress_mallory;
SET search_path = mtm, public;
SELECT dyn_create_table('mtforged', 'pk S');
SELECT dyn_create_entity('mtforged', 'Row', '{"pk": "ROW#<Id>"}', '{"Id": {"type": "N integer"}, "V": {"type": "S text"}}');
CREATE FUNCTION mtm.gain(text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE WARNING 'runs as %', current_user; RETURN $1; END $$;
SELECT dyn_create_migration('mtforged', 'mu', '[{"entity": "Row", "from": "mto.rows", "attributes": {"V": "mtm.gain(v)"}}]');
GRANT ALL ON mtforged TO PUBLIC;
DO $$ BEGIN
	EXECUTE format('SECURITY LABEL FOR dynamo_table ON TABLE mtforged IS %L',
		(SELECT replace(label, '"mu"', '"mt"') FROM pg_seclabels WHERE objoid = 'mtforged'::regclass));
END $$;
CREATE TABLE mtm.other (id int);
CREATE TRIGGER "~dynamo_follow forged" AFTER INSERT ON mtm.other FOR EACH ROW EXECUTE FUNCTION dynamo_internal.migration_changed('mt');
RESET ROLE;
RESET search_path;
INSERT INTO mto.rows VALUES (1, 'a');
\c -
SET client_min_messages = warning;
\pset format unaligned
INSERT INTO mto.rows VALUES (2, 'b');
SELECT item FROM mto.mtitems ORDER BY pk;
SELECT * FROM dyn_verify_migration('mt');
SET ROLE regress_owner;
SELECT count(*) FROM dyn_verify_migration('mt');
SELECT dyn_follow_migration('mt', enabled => false);
SELECT dyn_create_migration('mto.mtitems', 'mt', '[{"entity": "Row", "from": "mto.rows"}]');
-- what nobody can read
SET ROLE regress_mallory;
SECURITY LABEL FOR dynamo_table ON TABLE mtm.mtforged IS '{"migrations": [{"rubbish": 1}]}';
SET ROLE regress_owner;
SELECT name, followed FROM dyn_jobs WHERE name = 'mt';
SELECT dyn_follow_migration('mt');
SET ROLE regress_mallory;
SECURITY LABEL FOR dynamo_table ON TABLE mtm.mtforged IS '{"migrations": [{"migration": "mv", "steps": ["rubbish"]}]}';
SET ROLE regress_owner;
SELECT name, followed FROM dyn_jobs WHERE name IN ('mt', 'mv');
-- the declaration is gone, and the name is taken by somebody who would like to run his expressions as others
SECURITY LABEL FOR dynamo_table ON TABLE mto.mtitems IS NULL;
SET ROLE regress_mallory;
SECURITY LABEL FOR dynamo_table ON TABLE mtm.mtforged IS NULL;
DROP TABLE mtm.other;
SELECT dyn_create_entity('mtm.mtforged', 'Row', '{"pk": "ROW#<Id>"}', '{"Id": {"type": "N integer"}, "V": {"type": "S text"}}');
SELECT dyn_create_migration('mtm.mtforged', 'mt', '[{"entity": "Row", "from": "mto.rows", "attributes": {"V": "mtm.gain(v)"}}]');
RESET ROLE;
INSERT INTO mto.rows VALUES (3, 'c');
SET ROLE regress_owner;
SELECT dyn_follow_migration('mt', enabled => false);
INSERT INTO mto.rows VALUES (5, 'c');
-- so owners have to trust each other
RESET ROLE;
ALTER TABLE mto.rows OWNER TO postgres;
GRANT regress_mallory TO regress_owner;
SET ROLE regress_owner;
DROP TABLE mto.mtitems;
SELECT dyn_create_table('mto.mtitems', 'pk S');
SELECT dyn_create_entity('mto.mtitems', 'Row', '{"pk": "ROW#<Id>"}', '{"Id": {"type": "N integer"}, "V": {"type": "S text"}}');
RESET ROLE;
SELECT dyn_create_migration('mto.mtitems', 'mw', '[{"entity": "Row", "from": "mto.rows"}]');
SELECT dyn_follow_migration('mw');
ALTER TABLE mto.rows OWNER TO regress_mallory;
SELECT dyn_follow_migration('mw');
INSERT INTO mto.rows VALUES (4, 'd');
SELECT item FROM mto.mtitems;
DROP SCHEMA mto CASCADE;
DROP SCHEMA mtm CASCADE;
DROP ROLE regress_owner;
DROP ROLE regress_mallory;
