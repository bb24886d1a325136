-- dyn_sweep_ttl(): batches, limits, rights, errors; docs/semantics.md, TT08, TT10, TT14.
\set SHOW_CONTEXT never
\set VERBOSITY terse
\set service ttl_worker
\set ECHO none
\i test/sql/switch_off.sql
\set ECHO all
CREATE SCHEMA ttl_sweep;
SET search_path = ttl_sweep, public;
CREATE FUNCTION due(name text, from_id int, to_id int) RETURNS void LANGUAGE sql AS $$
  SELECT dyn_put(name, jsonb_build_object('id', i::text, 'expires', floor(extract(epoch FROM clock_timestamp())) - 1000 + i))
    FROM generate_series(from_id, to_id) i $$;
CREATE FUNCTION attempt(query text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE query;
  RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
  RETURN coalesce(dyn_error_name(SQLSTATE), SQLSTATE) || ': ' || SQLERRM;
END $$;
CREATE VIEW status AS SELECT relation, due_items, last_sweep > now() - interval '1 min' AS swept, deleted, errors, last_error FROM dyn_ttl_tables
	WHERE relation::text IN ('app', 'other', 'own', 'hidden') ORDER BY relation::text;
SELECT dyn_create_table('app', 'id S'), dyn_create_table('other', 'id S');
CALL dyn_enable_ttl('app', 'expires');
CALL dyn_enable_ttl('other', 'expires');
TABLE status;

-- batches of one transaction each
CREATE TABLE removed (id text, transaction xid8 DEFAULT pg_current_xact_id(), role name DEFAULT current_user);
CREATE FUNCTION remember() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO ttl_sweep.removed VALUES (OLD.id);
  RETURN OLD;
END $$;
CREATE TRIGGER remember BEFORE DELETE ON app FOR EACH ROW EXECUTE FUNCTION remember();
SELECT due('app', 1, 25), due('other', 1, 3);
CALL dyn_sweep_ttl('app', batch_size => 10);
SELECT n FROM (SELECT min(transaction::text::bigint) AS t, count(*) AS n FROM removed GROUP BY transaction) t ORDER BY t;
CALL dyn_sweep_ttl(time_budget => '1 min');
TABLE status;
CALL dyn_sweep_ttl('app', batch_size => 0);
CALL dyn_sweep_ttl('app', time_budget => '0 s');
CALL dyn_sweep_ttl('app', time_budget => '-1 day');
CALL dyn_sweep_ttl('nothing');
BEGIN;
CALL dyn_sweep_ttl('app');
ROLLBACK;
SELECT attempt('CALL dyn_sweep_ttl()');
SET default_transaction_read_only = on;
CALL dyn_sweep_ttl('app');
RESET default_transaction_read_only;
-- the budget ends it between two batches
CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_sleep(0.01);
  RETURN OLD;
END $$;
CREATE TRIGGER slow BEFORE DELETE ON app FOR EACH ROW EXECUTE FUNCTION slow();
SELECT due('app', 1, 3);
CALL dyn_sweep_ttl('app', batch_size => 1, time_budget => '1 us');
CALL dyn_sweep_ttl('app', batch_size => 1, time_budget => '9 ms');
DROP TRIGGER slow ON app;
CALL dyn_sweep_ttl('app');
-- whatever the session's isolation level
SET default_transaction_isolation = serializable;
SELECT due('app', 1, 3);
CALL dyn_sweep_ttl('app');
RESET default_transaction_isolation;
-- where much was removed, the next sweep begins there: what was written with a time before that waits, unless it is looked for
SELECT due('app', 1, 300);
CALL dyn_sweep_ttl('app');
SELECT due('app', 1, 3);
CALL dyn_sweep_ttl();
CALL dyn_sweep_ttl('app', from_start => false);
CALL dyn_sweep_ttl('app');
SELECT due('app', 1, 3);
CALL dyn_sweep_ttl(from_start => true);
TRUNCATE removed;

-- rights: who may delete may sweep; whoever calls, triggers run as the owner, with nobody's search_path
CREATE ROLE regress_ttl_owner;
CREATE ROLE regress_ttl_caller;
GRANT USAGE, CREATE ON SCHEMA ttl_sweep TO regress_ttl_owner, regress_ttl_caller;
GRANT SELECT ON status TO regress_ttl_owner;
GRANT INSERT ON removed TO regress_ttl_owner;
SET ROLE regress_ttl_owner;
SELECT dyn_create_table('own', 'id S');
CALL dyn_enable_ttl('own', 'expires');
CREATE TRIGGER remember BEFORE DELETE ON own FOR EACH ROW EXECUTE FUNCTION remember();
SELECT due('own', 1, 1);
SET ROLE regress_ttl_caller;
CALL dyn_sweep_ttl('own');
CALL dyn_sweep_ttl();
SELECT relation FROM dyn_ttl_tables WHERE relation = 'own'::regclass;
SELECT attempt('TABLE dynamo_internal.ttl_sweeps');
CALL dyn_enable_ttl('own', 'expires');
CALL dyn_disable_ttl('own');
CALL dynamo_internal.resume_ttl('own');
SET ROLE regress_ttl_owner;
GRANT DELETE ON own TO regress_ttl_caller;
SET ROLE regress_ttl_caller;
CALL dyn_sweep_ttl('own');
SET ROLE regress_ttl_owner;
SELECT due('own', 2, 2);
RESET ROLE;
CALL dyn_sweep_ttl();
SELECT id, role FROM removed ORDER BY id;
-- not the way to a superuser's rights, nor to another's
SET ROLE regress_ttl_owner;
CREATE FUNCTION escalate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('role', 'postgres', false);
  RETURN OLD;
END $$;
CREATE FUNCTION escalate_later() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO ttl_sweep.removed VALUES ('deferred ' || OLD.id);
  RETURN NULL;
END $$;
CREATE TRIGGER escalate BEFORE DELETE ON own FOR EACH ROW EXECUTE FUNCTION escalate();
SELECT due('own', 3, 3);
RESET ROLE;
CALL dyn_sweep_ttl('own');
CALL dyn_sweep_ttl();
SELECT current_user = session_user AS itself, current_setting('search_path');
DROP TRIGGER escalate ON own;
CREATE CONSTRAINT TRIGGER later AFTER DELETE ON own DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION escalate_later();
CALL dyn_sweep_ttl('own');
SELECT id, role FROM removed WHERE id LIKE 'deferred%';
TABLE status;
-- functions in the predicate of an owner's index are not called to find out whether it is the right one
SET ROLE regress_ttl_owner;
SELECT dyn_create_table('lure', 'id S');
CALL dyn_enable_ttl('lure', 'expires');
CREATE FUNCTION note_caller() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF current_user <> 'regress_ttl_owner' THEN
    RAISE WARNING 'called by another';
  END IF;
  RETURN true;
END $$;
CREATE FUNCTION called() RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN ttl_sweep.note_caller(); END $$;
DROP INDEX lure_ttl;
CREATE INDEX lure_bait ON lure ("~ttl") WHERE ttl_sweep.called();
CREATE INDEX lure_ttl ON lure ("~ttl") WHERE "~ttl" IS NOT NULL;
SELECT due('lure', 1, 1);
RESET ROLE;
\c -
SET search_path = ttl_sweep, public;
SELECT due_items FROM dyn_ttl_tables WHERE relation = 'lure'::regclass;
\c -
SET search_path = ttl_sweep, public;
CALL dyn_sweep_ttl('lure');
DROP TABLE lure;
-- a search_path of the caller's leads nowhere
SET ROLE regress_ttl_owner;
CREATE FUNCTION unqualified() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO removed VALUES (OLD.id);
  RETURN OLD;
END $$;
CREATE TRIGGER unqualified BEFORE DELETE ON own FOR EACH ROW EXECUTE FUNCTION unqualified();
SELECT due('own', 4, 4);
RESET ROLE;
CALL dyn_sweep_ttl('own');
DROP TRIGGER unqualified ON own;
CALL dyn_sweep_ttl('own');

-- nor does a temporary table of his, which a name without a schema finds all the same
SET ROLE regress_ttl_owner;
CREATE TRIGGER unqualified BEFORE DELETE ON own FOR EACH ROW EXECUTE FUNCTION unqualified();
SELECT due('own', 5, 5);
\c -
SET search_path = ttl_sweep, public;
SET SESSION AUTHORIZATION regress_ttl_caller;
CREATE TEMP TABLE removed (id text);
GRANT INSERT ON removed TO PUBLIC;
CREATE FUNCTION bait() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE WARNING 'bait called by %', current_user;
  RETURN NEW;
END $$;
CREATE TRIGGER bait BEFORE INSERT ON removed FOR EACH ROW EXECUTE FUNCTION bait();
CALL dyn_sweep_ttl('own');
\c -
SET search_path = ttl_sweep, public;
-- which is no fault of the table, so background workers do not wait
SELECT last_error, retry_at FROM dyn_ttl_tables WHERE relation = 'own'::regclass;
DROP TRIGGER unqualified ON own;
CALL dyn_sweep_ttl('own');

-- an error concerns one table, and what was removed before stays so
CREATE FUNCTION object() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.id = '3' THEN
    RAISE EXCEPTION 'not number %', OLD.id USING DETAIL = 'It is needed.';
  END IF;
  RETURN OLD;
END $$;
CREATE TRIGGER object BEFORE DELETE ON app FOR EACH ROW EXECUTE FUNCTION object();
SELECT due('app', 1, 5), due('other', 1, 2);
CALL dyn_sweep_ttl(batch_size => 1);
SELECT string_agg(id, ' ' ORDER BY id) FROM app;
CALL dyn_sweep_ttl('app', batch_size => 1);
TABLE status;
-- it may quote an item, so roles from which policies hide some do not see it
CREATE ROLE regress_ttl_reader;
GRANT USAGE ON SCHEMA ttl_sweep TO regress_ttl_reader;
GRANT SELECT ON app TO regress_ttl_reader;
SET ROLE regress_ttl_reader;
SELECT errors, last_error FROM dyn_ttl_tables WHERE relation = 'app'::regclass;
RESET ROLE;
CREATE POLICY one ON app USING (id = '4');
ALTER TABLE app ENABLE ROW LEVEL SECURITY;
SET ROLE regress_ttl_reader;
SELECT errors, last_error FROM dyn_ttl_tables WHERE relation = 'app'::regclass;
RESET ROLE;
ALTER TABLE app DISABLE ROW LEVEL SECURITY;
DROP POLICY one ON app;
DROP OWNED BY regress_ttl_reader;
DROP ROLE regress_ttl_reader;
DROP TRIGGER object ON app;
-- a trigger that keeps an item
CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN CASE WHEN OLD.id <> '4' THEN OLD END; END $$;
CREATE TRIGGER keep BEFORE DELETE ON app FOR EACH ROW EXECUTE FUNCTION keep();
CALL dyn_sweep_ttl('app');
CALL dyn_sweep_ttl('app');
DROP TRIGGER keep ON app;
CALL dyn_sweep_ttl('app');
TABLE status;

-- what ends the statement ends its transaction as well
CREATE FUNCTION cancel() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'as by statement_timeout' USING ERRCODE = 'query_canceled';
END $$;
CREATE TRIGGER cancel BEFORE DELETE ON app FOR EACH ROW EXECUTE FUNCTION cancel();
SELECT due('app', 1, 1);
CALL dyn_sweep_ttl();
CALL dyn_sweep_ttl('app');
DROP TRIGGER cancel ON app;
CALL dyn_sweep_ttl('app');

-- row-level security that is forced on the owner would hide items
SET ROLE regress_ttl_owner;
SELECT dyn_create_table('hidden', 'id S');
CALL dyn_enable_ttl('hidden', 'expires');
SELECT due('hidden', 1, 2);
ALTER TABLE hidden ENABLE ROW LEVEL SECURITY;
CREATE POLICY one ON hidden USING (id = '1');
SELECT due_items FROM status WHERE relation = 'hidden'::regclass;
ALTER TABLE hidden FORCE ROW LEVEL SECURITY;
SELECT due_items FROM status WHERE relation = 'hidden'::regclass;
CALL dyn_sweep_ttl('hidden');
CALL dyn_disable_ttl('hidden');
CALL dyn_enable_ttl('hidden', 'expires');
ALTER TABLE hidden NO FORCE ROW LEVEL SECURITY;
CALL dyn_enable_ttl('hidden', 'expires');
CALL dyn_sweep_ttl('hidden');
RESET ROLE;

-- a broken table keeps nobody from the others, and conditions see nothing of what others may not
SET ROLE regress_ttl_owner;
CREATE TABLE broken (id text, item dyn_item);
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT ON broken FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('id S', '{"settings": {"ttl_attribute": "e"}}');
CREATE TABLE unreadable (id text, item dyn_item);
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT ON unreadable FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('id S', '{"settings": {"ttl_attribute": ');
GRANT SELECT ON broken TO PUBLIC;
SELECT due('own', 5, 5);
RESET ROLE;
SELECT relation FROM status WHERE relation = 'own'::regclass;
CALL dyn_sweep_ttl();
SELECT count(*) FROM own;
DROP TABLE broken, unreadable;
SET ROLE regress_ttl_caller;
SELECT dyn_create_table('mine', 'id S');
CALL dyn_enable_ttl('mine', 'expires');
CREATE FUNCTION leak(n bigint) RETURNS boolean LANGUAGE plpgsql STRICT COST 0.0001 AS $$
BEGIN
  RAISE NOTICE 'seen: %', n;
  RETURN true;
END $$;
SET enable_nestloop = off;
SELECT relation FROM dyn_ttl_tables WHERE last_sweep IS NOT NULL AND leak(extract(epoch FROM last_sweep)::bigint);
RESET enable_nestloop;
RESET ROLE;

-- a table that goes takes its row along with the next that comes
DROP TABLE other;
SELECT count(*) FROM dynamo_internal.ttl_sweeps s WHERE NOT EXISTS (SELECT FROM pg_class WHERE oid = s.relation);
SELECT dyn_create_table('next', 'id S');
CALL dyn_enable_ttl('next', 'expires');
SELECT count(*) FROM dynamo_internal.ttl_sweeps s WHERE NOT EXISTS (SELECT FROM pg_class WHERE oid = s.relation);

-- time to live that was given to a partitioned table by hand: its partitions have the items
CREATE TABLE parts (item dyn_item NOT NULL, id text COLLATE "C" PRIMARY KEY, "~ttl" numeric) PARTITION BY HASH (id);
CREATE TABLE parts0 PARTITION OF parts FOR VALUES WITH (MODULUS 1, REMAINDER 0);
CREATE INDEX ON parts ("~ttl") WHERE "~ttl" IS NOT NULL;
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON parts FOR EACH ROW
  EXECUTE FUNCTION dynamo_internal.derive_keys('id S', '{"settings": {"ttl_attribute": "expires"}}');
INSERT INTO parts (item, id) SELECT jsonb_build_object('id', 'a', 'expires', floor(extract(epoch FROM now())) - 1), 'a';
SELECT relation, status, due_items FROM dyn_ttl_tables WHERE relation::text LIKE 'parts%' ORDER BY 1;
SELECT count, oldest IS NULL FROM dynamo_internal.ttl_due('parts', 0) AS due(count, oldest);
CALL dyn_sweep_ttl('parts');
CALL dyn_sweep_ttl();
SELECT count(*) FROM parts;

SET client_min_messages = warning;
DROP SCHEMA ttl_sweep CASCADE;
DROP ROLE regress_ttl_owner, regress_ttl_caller;
\set ECHO none
\i test/sql/switch_on.sql
\set ECHO all
