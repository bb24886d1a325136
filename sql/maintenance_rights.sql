-- What runs of an owner's code, and as whom, when a superuser works on the owner's table: maintenance has the rights of the owner, calls on items
-- those of the caller, as INSERT has.
\pset format unaligned
\pset tuples_only on
SET client_min_messages = error;
CREATE ROLE rights_owner;
CREATE SCHEMA hostile AUTHORIZATION rights_owner;
GRANT CREATE ON SCHEMA public TO rights_owner;
SET ROLE rights_owner;
CREATE TABLE hostile.ran (call text, what text, who name);
GRANT ALL ON hostile.ran TO PUBLIC;
GRANT USAGE ON SCHEMA hostile TO PUBLIC;
CREATE FUNCTION hostile.write(what text) RETURNS void LANGUAGE sql AS $$ INSERT INTO hostile.ran
	VALUES (current_setting('test.call', true), what, current_user) $$;
-- what says of itself that it is immutable may run wherever an expression is evaluated, or planned
CREATE FUNCTION hostile.note(what text, anything anyelement) RETURNS boolean LANGUAGE plpgsql IMMUTABLE
	AS $$ BEGIN PERFORM hostile.write(what); RETURN true; END $$;
CREATE FUNCTION hostile.fired() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM hostile.write('trigger ' || TG_NAME),
	set_config('test.left', 'behind', false); RETURN coalesce(NEW, OLD); END $$;
CREATE FUNCTION hostile.constant() RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM hostile.write('planned expression'); RETURN 'x'; END $$;
SELECT dyn_create_table('victim', 'pk S', 'sk S');
SELECT count(dyn_put('victim', jsonb_build_object('pk', 'P#' || i, 'sk', 'S', 'a', 'A' || i, 'Type', 'Thing', 'Id', i::text, 'expires', 1)))
	FROM generate_series(1, 5) i;
SELECT dyn_create_entity('victim', 'Thing', '{"pk":"P#<Id>","sk":"S"}', '{"Id":"S","a":"S"}'), dyn_create_entity_view('victim', 'Thing');
RESET ROLE;
GRANT rights_owner TO CURRENT_USER;
SET ROLE rights_owner;
-- all that an owner can hang on a table
CREATE TRIGGER before_row BEFORE INSERT OR UPDATE OR DELETE ON victim FOR EACH ROW EXECUTE FUNCTION hostile.fired();
CREATE TRIGGER after_statement AFTER INSERT OR UPDATE OR DELETE ON victim EXECUTE FUNCTION hostile.fired();
CREATE CONSTRAINT TRIGGER deferred AFTER INSERT OR UPDATE OR DELETE ON victim DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION hostile.fired();
ALTER TABLE victim ADD CONSTRAINT hostile_check CHECK (hostile.note('check', pk));
ALTER TABLE victim ADD COLUMN generated boolean GENERATED ALWAYS AS (hostile.note('generated', pk)) STORED;
CREATE INDEX hostile_expression ON victim (hostile.note('index expression', pk));
CREATE INDEX hostile_constant ON victim ((hostile.constant() || pk));
CREATE INDEX hostile_predicate ON victim (sk) WHERE hostile.note('index predicate', pk);
CREATE STATISTICS hostile_statistics ON hostile.note('statistics', pk), sk FROM victim;
CREATE RULE hostile_rule AS ON DELETE TO victim WHERE hostile.note('rule', OLD.pk) AND false DO ALSO SELECT 1;
RESET ROLE;
TRUNCATE hostile.ran;

-- maintenance: nothing runs as the superuser who calls
CREATE VIEW said AS SELECT call, string_agg(DISTINCT what, ', ' ORDER BY what) FILTER (WHERE who = 'rights_owner') AS as_owner,
	string_agg(DISTINCT what || ' as ' || who, ', ') FILTER (WHERE who <> 'rights_owner') AS as_others
	FROM hostile.ran GROUP BY call ORDER BY call;
SET test.call = 'dyn_create_index';
CALL dyn_create_index('victim', 'I', 'a S');
SET test.call = 'dyn_enable_ttl';
CALL dyn_enable_ttl('victim', 'never');
SET test.call = 'dyn_disable_ttl';
CALL dyn_disable_ttl('victim');
SET test.call = 'UpdateTable';
SELECT dyn_request('UpdateTable', '{"TableName":"victim","AttributeDefinitions":[{"AttributeName":"Type","AttributeType":"S"}],
	"GlobalSecondaryIndexUpdates":[{"Create":{"IndexName":"JJJ","KeySchema":[{"AttributeName":"Type","KeyType":"HASH"}],
	"Projection":{"ProjectionType":"ALL"}}}]}') IS NOT NULL AS updated;
DO $$ BEGIN WHILE EXISTS (SELECT FROM dynamo_internal.index_requests) LOOP COMMIT; PERFORM pg_sleep(0.02); END LOOP; END $$;
SET test.call = 'dyn_drop_index';
CALL dyn_drop_index('victim', 'I');
SET test.call = 'dyn_backfill';
CALL dyn_backfill('victim', 'SET c = :c', 'attribute_exists(a)', vals => '{":c": {"S": "c"}}');
SET test.call = 'dyn_refresh_entity';
CALL dyn_refresh_entity('victim', 'Thing');
SET test.call = 'dyn_regroup';
CALL dyn_regroup('victim');
SET test.call = 'dyn_sweep_ttl';
CALL dyn_enable_ttl('victim', 'expires');
CALL dyn_sweep_ttl('victim');
SET ROLE rights_owner;
CREATE TABLE hostile.rows (id text PRIMARY KEY, a text);
INSERT INTO hostile.rows VALUES ('m1', 'x');
CREATE FUNCTION hostile.value(text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN PERFORM hostile.write('expression of a step'); RETURN $1; END $$;
SELECT dyn_create_migration('victim', 'rights', '[{"entity": "Thing", "from": "hostile.rows", "attributes": {"a": "hostile.value(a)"},
	"where": "hostile.note(''condition of a step'', a)"},
	{"name": "query", "entity": "Thing", "query": "SELECT id || ''q'' AS id, hostile.value(a) AS a FROM hostile.rows", "key": ["id"]}]');
RESET ROLE;
SET test.call = 'dyn_preview_migration';
SELECT count(*) FROM dyn_preview_migration('rights');
SET test.call = 'migration_items';
SELECT count(*) FROM dynamo_internal.migration_items('rights');
SET test.call = 'dyn_migrate';
CALL dyn_migrate('rights');
SET test.call = 'dyn_verify_migration';
SELECT count(*) FROM dyn_verify_migration('rights');
SET test.call = 'dyn_index_violations';
SELECT count(*) FROM dyn_index_violations('victim');
SET test.call = 'dyn_check_table';
SELECT count(*) FROM dyn_check_table('victim');
SELECT * FROM said;
TRUNCATE hostile.ran;
-- nor stays what it sets
SELECT current_setting('test.left', true);

-- calls on items: as INSERT, with the rights of the caller
SET test.call = 'INSERT';
INSERT INTO victim (item) VALUES ('{"pk":{"S":"Q"},"sk":{"S":"1"}}');
SET test.call = 'dyn_put';
SELECT dyn_put('victim', '{"pk":{"S":"Q"},"sk":{"S":"2"}}');
SELECT call, as_owner, replace(as_others, current_user, 'caller') FROM said;
TRUNCATE hostile.ran;

-- a caller who has not the rights of the owner has his own, which policies and triggers see
CREATE ROLE rights_caller;
GRANT SELECT, UPDATE ON victim TO rights_caller;
ALTER TABLE victim ENABLE ROW LEVEL SECURITY;
CREATE POLICY part ON victim TO rights_caller USING (hostile.note('policy', pk) AND sk = '2');
SET ROLE rights_caller;
SET test.call = 'dyn_backfill with policies';
CALL dyn_backfill('victim', 'SET d = :d', 'attribute_exists(pk)', vals => '{":d": {"S": "d"}}');
RESET ROLE;
SELECT problem FROM dyn_job_problems;
SELECT pk, sk FROM victim WHERE item ? 'd';
SELECT * FROM said;
DROP VIEW said;
DROP TABLE victim CASCADE;
DROP SCHEMA hostile CASCADE;
DROP OWNED BY rights_owner, rights_caller;
DROP ROLE rights_owner, rights_caller;
