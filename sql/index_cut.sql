-- What is cut off at any statement of a change leaves nothing behind: the same call does the rest, and the constraint is valid then.
\set SHOW_CONTEXT never
\set VERBOSITY terse
SET client_min_messages = warning;
CREATE SCHEMA index_cut;
SET search_path = index_cut, public;
-- the n-th statement of DDL from now on fails, in whatever session
CREATE SEQUENCE statements;
GRANT ALL ON statements TO PUBLIC;
CREATE TABLE cut (n bigint);
GRANT SELECT ON cut TO PUBLIC;
INSERT INTO cut VALUES (0);
CREATE FUNCTION cut_off() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
  IF nextval('index_cut.statements') = (SELECT n FROM index_cut.cut) THEN
    RAISE EXCEPTION 'cut off at %', tg_tag;
  END IF;
END $$;
CREATE PROCEDURE cut_at(place bigint) LANGUAGE sql AS $$ UPDATE index_cut.cut SET n = place; SELECT setval('index_cut.statements', 1, false) $$;
SELECT dyn_create_table('app', 'pk S', global_indexes => '{"Kept": {"partition_key": "kept S"}}');
SELECT dyn_put('app', jsonb_build_object('pk', 'p' || i, 'kept', 'k', 'city', 'c' || i % 3, 'until', i)) FROM generate_series(1, 30) i \g /dev/null
CREATE FUNCTION state(OUT valid bool, OUT columns text, OUT problem text) LANGUAGE sql AS $$
  SELECT (SELECT convalidated FROM pg_constraint WHERE conrelid = 'app'::regclass AND contype = 'c'),
    (SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'app'::regclass AND attnum > 1 AND NOT attisdropped),
    (SELECT string_agg(concat_ws(': ', object, problem), '; ') FROM dyn_check_table('app')) $$;
CREATE PROCEDURE await() LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1 .. 2400 LOOP
    EXIT WHEN NOT EXISTS (SELECT FROM dynamo_internal.index_requests WHERE relation = 'index_cut.app'::regclass)
      AND NOT EXISTS (SELECT FROM pg_stat_activity WHERE backend_type LIKE 'dynamo_table index%');
    COMMIT;
    PERFORM pg_sleep(0.05);
    COMMIT;
  END LOOP;
END $$;
CREATE EVENT TRIGGER index_cut ON ddl_command_start WHEN TAG IN ('ALTER TABLE', 'CREATE TRIGGER') EXECUTE FUNCTION cut_off();

-- a column that goes leaves a valid constraint valid
SELECT 'CALL dyn_create_index(''app'', ''City'', ''city S'')', format('CALL cut_at(%s)', n), 'CALL dyn_drop_index(''app'', ''City'')', 'SELECT * FROM state()',
    'CALL cut_at(0)', 'CALL dyn_drop_index(''app'', ''City'')', 'SELECT * FROM state()' FROM generate_series(1, 6) n \gexec
CALL dyn_create_index('app', 'City', 'city S');
CALL cut_at(0);
CALL dyn_drop_index('app', 'City');
SELECT last_value FROM statements;

-- one that was never filled in: the constraint is validated first
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no update'; END $$;
CREATE TRIGGER refuse BEFORE UPDATE ON app FOR EACH ROW EXECUTE FUNCTION refuse();
SELECT 'CALL dyn_create_index(''app'', ''City'', ''city S'')', format('CALL cut_at(%s)', n), 'CALL dyn_drop_index(''app'', ''City'')', 'SELECT * FROM state()',
    'CALL cut_at(0)', 'CALL dyn_drop_index(''app'', ''City'')', 'SELECT * FROM state()' FROM generate_series(1, 6) n \gexec
DROP TRIGGER refuse ON app;
-- and a creation that is cut off when all is filled in
SELECT format('CALL cut_at(%s)', n), 'CALL dyn_create_index(''app'', ''City'', ''city S'')', 'SELECT * FROM state()',
    'CALL cut_at(0)', 'CALL dyn_create_index(''app'', ''City'', ''city S'')', 'SELECT * FROM state()', 'CALL dyn_drop_index(''app'', ''City'')'
    FROM generate_series(1, 5) n \gexec

-- time to live
SELECT 'CALL dyn_enable_ttl(''app'', ''until'')', format('CALL cut_at(%s)', n), 'CALL dyn_disable_ttl(''app'')', 'SELECT * FROM state()',
    'CALL cut_at(0)', 'CALL dyn_disable_ttl(''app'')', 'SELECT * FROM state()' FROM generate_series(1, 6) n \gexec
-- while an index waits to be filled in, that one's call validates the constraint
CREATE TRIGGER refuse BEFORE UPDATE ON app FOR EACH ROW EXECUTE FUNCTION refuse();
CALL dyn_create_index('app', 'City', 'city S');
DROP TRIGGER refuse ON app;
CALL dyn_drop_index('app', 'Kept');
SELECT * FROM state();
CALL dyn_create_index('app', 'City', 'city S');
SELECT * FROM state();

-- requests: a worker that is cut off leaves the rest to the next, or to the same request, which may come too late
CALL cut_at(0);
CALL dyn_drop_index('app', 'City');
CREATE PROCEDURE ask(operation text, request json) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM public.dyn_request(operation, ('{"TableName": "index_cut.app"}'::jsonb || request::jsonb)::json);
EXCEPTION WHEN SQLSTATE 'YD001' OR SQLSTATE 'YD008' THEN
  NULL;
END $$;
CREATE FUNCTION ttl(enabled bool) RETURNS text LANGUAGE sql AS $$
  SELECT format('CALL ask(''UpdateTimeToLive'', ''{"TimeToLiveSpecification": {"AttributeName": "until", "Enabled": %s}}'')', enabled::text) $$;
CREATE FUNCTION city(change text) RETURNS text LANGUAGE sql AS $$
  SELECT format('CALL ask(''UpdateTable'', ''{"GlobalSecondaryIndexUpdates": [%s]}'')', change) $$;
CREATE FUNCTION create_city() RETURNS text LANGUAGE sql AS $$
  SELECT replace(city('{"Create": {"IndexName": "City", "KeySchema": [{"AttributeName": "city", "KeyType": "HASH"}],
    "Projection": {"ProjectionType": "ALL"}}}'),
    '{"Global', '{"AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "city", "AttributeType": "S"}], "Global') $$;
\set ECHO none
SELECT ttl(true), 'CALL await()', format('CALL cut_at(%s)', n), ttl(false), 'CALL await()',
    'CALL cut_at(0)', ttl(false), 'CALL await()', 'SELECT * FROM state()' FROM generate_series(4, 4) n \gexec
SELECT create_city(), 'CALL await()', format('CALL cut_at(%s)', n), city('{"Delete": {"IndexName": "City"}}'), 'CALL await()',
    'CALL cut_at(0)', city('{"Delete": {"IndexName": "City"}}'), 'CALL await()', 'SELECT * FROM state()' FROM generate_series(3, 4) n \gexec
CREATE TRIGGER refuse BEFORE UPDATE ON app FOR EACH ROW EXECUTE FUNCTION refuse();
SELECT create_city(), 'CALL await()', 'SELECT * FROM state()', format('CALL cut_at(%s)', n), city('{"Delete": {"IndexName": "City"}}'), 'CALL await()',
    'CALL cut_at(0)', city('{"Delete": {"IndexName": "City"}}'), 'CALL await()', 'SELECT * FROM state()' FROM generate_series(4, 5) n \gexec
\set ECHO all

DROP EVENT TRIGGER index_cut;
DROP SCHEMA index_cut CASCADE;
