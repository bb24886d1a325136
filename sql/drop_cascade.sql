-- What depends on a table, or on the columns of an index, keeps it: callers are told of it, and cascade drops it.
\set SHOW_CONTEXT never
CREATE SCHEMA drop_cascade;
CREATE ROLE dyn_cascade_owner;
CREATE ROLE dyn_cascade_stranger;
GRANT ALL ON SCHEMA drop_cascade TO dyn_cascade_owner, dyn_cascade_stranger;
SET search_path = drop_cascade, public;
CREATE FUNCTION attempt(operation text, request json) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM dyn_request(operation, request);
  RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
  RETURN coalesce(dyn_error_name(SQLSTATE), SQLSTATE) || ': ' || SQLERRM;
END $$;
CREATE FUNCTION status(name text) RETURNS text LANGUAGE sql AS $$
  SELECT string_agg(concat_ws(' ', i ->> 'IndexName', i ->> 'IndexStatus'), ', ') FROM dyn_describe_table(name) t,
    jsonb_array_elements(t -> 'GlobalSecondaryIndexes') i $$;

SET ROLE dyn_cascade_owner;
SELECT dyn_create_table('app', 'pk S', 'sk S', global_indexes => '{"City": {"partition_key": "city S", "sort_key": "n N"}, "Line": {"partition_key": "g S"}}');
CALL dyn_enable_ttl('app', 'until');
SELECT dyn_create_entity('app', 'Line', '{"pk": "L#<id>", "sk": "L", "g": "G#<id>"}', '{"id": "S"}');
SELECT dyn_put('app', jsonb_build_object('pk', 'p', 'sk', 's' || i, 'city', 'c', 'n', i, 'until', i)) FROM generate_series(1, 30) i \g /dev/null
SELECT dyn_create_entity_view('app', 'Line', 'own_lines');
GRANT SELECT ON app TO dyn_cascade_stranger;
SET ROLE dyn_cascade_stranger;
CREATE VIEW of_items AS SELECT item FROM app;
CREATE VIEW of_city AS SELECT city FROM app;
CREATE MATERIALIZED VIEW of_n AS SELECT n FROM app WITH NO DATA;
CREATE VIEW of_view AS SELECT city FROM of_city;
CREATE VIEW of_ttl AS SELECT "~ttl" FROM app;
SELECT dyn_create_entity_view('app', 'Line', 'strange_lines');
CREATE FUNCTION of_rows(app) RETURNS int LANGUAGE sql AS 'SELECT 1';

-- nothing has begun when it is refused
SET ROLE dyn_cascade_owner;
CALL dyn_drop_index('app', 'City');
CALL dyn_drop_index('app', 'City', cascade => NULL);
CALL dyn_drop_index('app', 'Line');
CALL dyn_disable_ttl('app');
SELECT attempt('UpdateTable', '{"TableName": "app", "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "City"}}]}');
SELECT attempt('UpdateTimeToLive', '{"TableName": "app", "TimeToLiveSpecification": {"Enabled": false, "AttributeName": "until"}}');
SELECT status('app'), (SELECT status FROM dyn_ttl_tables WHERE relation = 'app'::regclass);
SELECT dyn_drop_table('app');
SELECT attempt('DeleteTable', '{"TableName": "app"}');

-- only the table's owner
SET ROLE dyn_cascade_stranger;
CALL dyn_drop_index('app', 'City', cascade => true);
CALL dyn_disable_ttl('app', cascade => true);
SELECT dyn_drop_table('app', cascade => true);

-- what depends goes, and nothing else: views of the owner's can do without
SET ROLE dyn_cascade_owner;
CALL dyn_drop_index('app', 'City', cascade => true);
CALL dyn_drop_index('app', 'Line', true);
BEGIN;
CALL dyn_disable_ttl('app', cascade => true);
ROLLBACK;
CALL dyn_disable_ttl('app', cascade => true);
SELECT relname FROM pg_class WHERE relnamespace = 'drop_cascade'::regnamespace AND relkind IN ('v', 'm') ORDER BY relname;
SELECT object, problem FROM dyn_check_table('app');
SELECT status('app');

-- other objects than views
SELECT dyn_create_table('parts', 'pk S', global_indexes => '{"G": {"partition_key": "g S"}}');
CREATE POLICY by_g ON parts USING (g > 'a');
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER on_g AFTER UPDATE ON parts FOR EACH ROW WHEN (NEW.g IS NULL) EXECUTE FUNCTION nothing();
CREATE INDEX ON parts (pk, g) WHERE g > 'b';
CREATE STATISTICS of_both ON pk, g FROM parts;
CREATE TABLE other (pk text COLLATE "C" REFERENCES parts, r parts, rs parts[]);
CALL dyn_drop_index('parts', 'G');
CALL dyn_drop_index('parts', 'G', cascade => true);
SELECT dyn_drop_table('parts');
SELECT format('CREATE VIEW many_%s AS SELECT * FROM parts', lpad(i::text, 2, '0')) FROM generate_series(1, 12) i \gexec
SELECT dyn_drop_table('parts');
\set VERBOSITY terse
SELECT dyn_drop_table('parts', cascade => true);
SELECT dyn_drop_table('app', cascade => true);
\d other
DROP TABLE other;

-- a table on which nothing depends, with all that is its own
SELECT dyn_create_table('alone', 'pk S', global_indexes => '{"G": {"partition_key": "g S"}}');
CREATE POLICY by_g ON alone USING (g > 'a');
CREATE TRIGGER on_g AFTER UPDATE ON alone FOR EACH ROW WHEN (NEW.g IS NULL) EXECUTE FUNCTION nothing();
ALTER TABLE alone ADD parent text COLLATE "C" REFERENCES alone, ADD serial int GENERATED ALWAYS AS IDENTITY, ADD length int GENERATED ALWAYS
	AS (length(g)) STORED;
CREATE RULE note AS ON UPDATE TO alone WHERE NEW.g = 'never' DO ALSO SELECT 1;
SELECT dyn_drop_table('alone');

RESET ROLE;
DROP SCHEMA drop_cascade CASCADE;
DROP ROLE dyn_cascade_owner, dyn_cascade_stranger;
