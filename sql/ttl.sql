-- Time to live: docs/semantics.md, TT01 to TT09, TT11 to TT16, ST11 as far as removal goes.
\set SHOW_CONTEXT never
\set service ttl_worker
\set ECHO none
\i test/sql/switch_off.sql
\set ECHO all
CREATE SCHEMA ttl;
SET search_path = ttl, public;
CREATE FUNCTION ago(seconds numeric) RETURNS text LANGUAGE sql AS $$ SELECT (floor(extract(epoch FROM clock_timestamp())) - seconds)::text $$;
CREATE FUNCTION keys(name text) RETURNS text LANGUAGE sql AS $$ SELECT string_agg(i ->> 'id', ' ' ORDER BY i ->> 'id') FROM dyn_scan(name) i $$;
CREATE FUNCTION attempt(query text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE query;
  RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
  RETURN coalesce(dyn_error_name(SQLSTATE), SQLSTATE) || ': ' || SQLERRM;
END $$;

-- TT01, TT13: one attribute for a table; a table without items has it at once
SELECT dyn_create_table('session', 'id S', global_indexes => '{"UserIndex": {"partition_key": "user S", "projection": "KEYS_ONLY"}}');
CALL dyn_enable_ttl('session', 'expires');
SELECT dyn_describe_table('session') -> 'TimeToLiveDescription', dyn_describe_table('session') -> 'HideExpired',
	dyn_describe_table('session') -> 'AttributeDefinitions';
\d session
CALL dyn_enable_ttl('session', 'expires');
CALL dyn_enable_ttl('session', 'other');
CALL dyn_enable_ttl('session', '');
CALL dyn_enable_ttl(NULL, 'other');
CALL dyn_enable_ttl('nothing', 'other');
SELECT dyn_request('UpdateTimeToLive', '{"TableName": "session", "TimeToLiveSpecification": {"Enabled": false, "AttributeName": "other"}}');

-- TT02 to TT07: what is due, and what is not; no value refuses a write
SELECT dyn_put('session', format('{"id":{"S":"%s"},"user":{"S":"u"},"expires":%s}', id, value)::dyn_item) FROM (VALUES
  ('past', format('{"N":"%s"}', ago(60))), ('fraction', format('{"N":"%s.5"}', ago(60))), ('exponent', format('{"N":"%s"}', ago(60)::numeric / 1e9 || 'e9')),
  ('future', format('{"N":"%s"}', ago(-600))), ('milliseconds', format('{"N":"%s"}', ago(60)::numeric * 1000)),
  ('five years', format('{"N":"%s"}', ago(157788000 + 60))), ('nearly five years', format('{"N":"%s"}', ago(157788000 - 60))),
  ('bad data', '{"N":"162777600"}'),
  ('zero', '{"N":"0"}'), ('negative', '{"N":"-1"}'), ('huge', '{"N":"9.9e125"}'), ('tiny', '{"N":"1e-130"}'), ('string', format('{"S":"%s"}', ago(60))),
  ('binary', '{"B":"AQ=="}'),
  ('null', '{"NULL":true}'), ('set', format('{"NS":["%s"]}', ago(60))), ('nested', format('{"M":{"expires":{"N":"%s"}}}', ago(60)))) v (id, value) \g /dev/null
SELECT dyn_put('session', '{"id":{"S":"none"}}');
-- what never will be: milliseconds and larger ones by the btree, other types among the last rows; NULL says that it is not to
SELECT never_due FROM dyn_ttl_tables WHERE relation = 'session'::regclass;
SELECT dyn_create_table('told', 'id S');
CALL dyn_enable_ttl('told', 'expires');
SELECT dyn_put('told', '{"id":{"S":"never"},"expires":{"NULL":true}}'), dyn_put('told', '{"id":{"S":"last"},"expires":{"N":"99999999999.9"}}'),
	(SELECT never_due FROM dyn_ttl_tables WHERE relation = 'told'::regclass);
INSERT INTO told (item) VALUES ('{"id":{"S":"1"},"expires":{"N":"100000000000"}}'), ('{"id":{"S":"2"},"expires":{"S":"soon"}}');
SELECT dyn_update('told', '{"id":{"S":"2"}}', 'SET expires = :e', vals => '{":e":{"S":"sooner"}}');
SELECT never_due FROM dyn_ttl_tables WHERE relation = 'told'::regclass;
-- the last rows are looked at, and not the first
INSERT INTO told (item) SELECT format('{"id":{"S":"%s"}}', 1000000 + i)::dyn_item FROM generate_series(1, 3000) i;
SELECT never_due FROM dyn_ttl_tables WHERE relation = 'told'::regclass;
INSERT INTO told (item) VALUES ('{"id":{"S":"9"},"expires":{"S":"soon"}}');
SELECT never_due FROM dyn_ttl_tables WHERE relation = 'told'::regclass;
SELECT dyn_drop_table('told');
SELECT id FROM session WHERE "~ttl" IS NULL ORDER BY id;
-- TT08, TT09: until it is swept it is there, also for writes
SELECT dyn_get('session', '{"id":{"S":"past"}}') ->> 'id' AS got, (SELECT count(*) FROM dyn_query('session', 'id = :i', vals => '{":i":{"S":"past"}}'))
	AS queried,
  (SELECT count(*) FROM dyn_query('session', '#u = :u', names => '{"#u":"user"}', vals => '{":u":{"S":"u"}}', index_name => 'UserIndex')) AS indexed,
  (SELECT count(*) FROM dyn_scan('session', filter => 'expires > :now', vals => format('{":now":{"N":"%s"}}', ago(0))::dyn_item)) AS filtered;
SELECT dyn_update('session', '{"id":{"S":"past"}}', 'SET seen = :s', vals => '{":s":{"N":"1"}}', condition => 'attribute_exists(id)',
	return_values => 'UPDATED_NEW');
CALL dyn_sweep_ttl('session');
SELECT keys('session');
-- TT11: out of the indexes as well
SELECT count(*) FROM dyn_query('session', '#u = :u', names => '{"#u":"user"}', vals => '{":u":{"S":"u"}}', index_name => 'UserIndex');
CALL dyn_sweep_ttl('session');

-- whatever writes an item: the column follows it, and is nobody's to write
INSERT INTO session (item, "~ttl") VALUES ('{"id":{"S":"sql"},"expires":{"N":"2e9"}}', 5) RETURNING "~ttl";
INSERT INTO session (item) VALUES ('{"id":{"S":"sql"},"expires":{"N":"2e9"}}') RETURNING "~ttl";
UPDATE session SET "~ttl" = 5 WHERE id = 'sql' RETURNING "~ttl";
UPDATE session SET item = '{"id":{"S":"sql"}}' WHERE id = 'sql' RETURNING "~ttl";
SELECT dyn_update('session', '{"id":{"S":"sql"}}', 'SET expires = :e', vals => '{":e":{"N":"1.5"}}');
SELECT dyn_batch_write('session', puts => ARRAY['{"id":{"S":"batch"},"expires":{"N":"3"}}'::dyn_item]);
SELECT dyn_transact('[{"Put":{"TableName":"session","Item":{"id":{"S":"transact"},"expires":{"N":"4"}}}}]');
SELECT id, "~ttl" FROM session WHERE id IN ('sql', 'batch', 'transact') ORDER BY id;
SET session_replication_role = replica;
SELECT attempt($$ INSERT INTO session (item, id, "~ttl") VALUES ('{"id":{"S":"r"},"expires":{"N":"6"}}', 'r', 7) $$) ~ 'dynamo_keys|cannot have another value'
	AS refused;
RESET session_replication_role;
ALTER TABLE session DISABLE TRIGGER USER;
SELECT attempt($$ INSERT INTO session (item, id, "~ttl") VALUES ('{"id":{"S":"r"},"expires":{"N":"6"}}', 'r', 7) $$);
SELECT attempt($$ INSERT INTO session (item, id, "user") VALUES ('{"id":{"S":"r"},"expires":{"N":"6"}}', 'r', NULL) $$);
ALTER TABLE session ENABLE ALWAYS TRIGGER "~dynamo_keys";

-- TT10 is test/isolation/specs/ttl_*.  TT12: items that were there before; the attribute's name needs quotes
SELECT dyn_create_table('old', 'id S');
SELECT dyn_put('old', jsonb_build_object('id', 'i' || i, 'ends "at"', ago(i * 10)::numeric)) FROM generate_series(-3, 3) i WHERE i <> 0 \g /dev/null
SELECT dyn_put('old', '{"id":{"S":"text"},"ends \"at\"":{"S":"x"}}');
CALL dyn_sweep_ttl('old');
CALL dyn_enable_ttl('old', 'ends "at"');
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'old'::regclass AND contype = 'c';
CALL dyn_sweep_ttl('old');
SELECT keys('old');

-- TT13: another attribute only after the first
CALL dyn_enable_ttl('old', 'other');
CALL dyn_disable_ttl('old');
CALL dyn_disable_ttl('old');
SELECT dyn_describe_table('old') -> 'TimeToLiveDescription';
\d old
\set VERBOSITY terse
CALL dyn_enable_ttl('old', 'other');
SELECT dyn_request('DescribeTimeToLive', '{"TableName": "old"}');
SELECT dyn_request('UpdateTimeToLive', '{"TableName": "old", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "other"}}');

-- TT15: the attribute may be a key, of the table and of an index, and of any type there
SELECT dyn_create_table('log', 'id S', 'at N', global_indexes => '{"ByTime": {"partition_key": "kind S", "sort_key": "at N"}}');
CALL dyn_enable_ttl('log', 'at');
SELECT dyn_put('log', format('{"id":{"S":"l"},"kind":{"S":"k"},"at":{"N":"%s"}}', ago(i * 10))::dyn_item) FROM generate_series(-2, 2) i
	WHERE i <> 0 \g /dev/null
CALL dyn_sweep_ttl('log');
SELECT count(*), count(*) FILTER (WHERE "at" = "~ttl") FROM log;
SELECT count(*) FROM dyn_query('log', 'kind = :k AND #a > :now', names => '{"#a":"at"}',
	vals => format('{":k":{"S":"k"},":now":{"N":"%s"}}', ago(0))::dyn_item, index_name => 'ByTime');
CALL dyn_create_index('session', 'ByExpiry', 'expires S');
SELECT dyn_put('session', '{"id":{"S":"i"},"expires":{"S":"soon"}}');
SELECT attempt($$ SELECT dyn_put('session', '{"id":{"S":"i"},"expires":{"N":"1"}}') $$);
SELECT count(*) FROM dyn_query('session', 'expires = :e', vals => '{":e":{"S":"soon"}}', index_name => 'ByExpiry');
CALL dyn_drop_index('session', 'ByExpiry');
SELECT attempt($$ SELECT dyn_put('session', '{"id":{"S":"i"},"expires":{"N":"1"}}') $$);
SELECT dyn_create_table('taken', 'id S');
ALTER TABLE taken ADD COLUMN "~ttl" numeric;
CALL dyn_enable_ttl('taken', 'expires');
SELECT attempt($$ SELECT dyn_create_table('named', '~ttl S', 'id S') $$);
CALL dyn_enable_ttl('named', 'expires');

-- it goes where the table goes
ALTER TABLE session RENAME TO renamed;
CREATE SCHEMA ttl_elsewhere;
ALTER TABLE renamed SET SCHEMA ttl_elsewhere;
SELECT dyn_put('ttl_elsewhere.renamed', format('{"id":{"S":"due"},"expires":{"N":"%s"}}', ago(1))::dyn_item);
CALL dyn_sweep_ttl('ttl_elsewhere.renamed');
SELECT relation, attribute, status, hide_expired, due_items, oldest_due, deleted, errors, last_error FROM dyn_ttl_tables WHERE relation =
	'ttl_elsewhere.renamed'::regclass;

-- TT14: a sweep reads what is due, and an update of another attribute changes no index
SELECT dyn_create_table('many', 'id S');
CALL dyn_enable_ttl('many', 'expires');
INSERT INTO many (item) SELECT format('{"id":{"S":"%s"},"n":{"N":"1"},"expires":{"N":"%s"}}', i, ago(CASE WHEN i % 1000 = 0 THEN 60 ELSE -3600 END))::dyn_item
	FROM generate_series(1, 10000) i;
SELECT due_items, oldest_due BETWEEN now() - interval '70 s' AND now() - interval '60 s' AS oldest FROM dyn_ttl_tables WHERE relation = 'many'::regclass;
SELECT pg_stat_force_next_flush();
SELECT pg_stat_reset_single_table_counters('many'::regclass), pg_stat_reset_single_table_counters('many_ttl'::regclass);
CALL dyn_sweep_ttl('many');
SELECT pg_stat_force_next_flush();
SELECT seq_scan, n_tup_del, (SELECT idx_tup_read FROM pg_stat_user_indexes WHERE indexrelid = 'many_ttl'::regclass) AS read FROM pg_stat_user_tables
	WHERE relid = 'many'::regclass;
SELECT dyn_update('many', jsonb_build_object('id', (i * 50 - 1)::text), 'ADD n :one', vals => '{":one":{"N":"1"}}') FROM generate_series(1, 200) i \g /dev/null
SELECT pg_stat_force_next_flush();
SELECT n_tup_upd, n_tup_hot_upd = n_tup_upd AS hot FROM pg_stat_user_tables WHERE relid = 'many'::regclass;

-- TT16: a write with a time costs what one without does
SELECT dyn_request('PutItem', json_build_object('TableName', 'many', 'Item', item, 'ReturnConsumedCapacity', 'TOTAL'))
	FROM unnest(ARRAY['{"id":{"S":"c"}}', '{"id":{"S":"c"},"expires":{"N":"4e9"}}']::json[]) item;

-- a btree that somebody dropped: nothing expires, and enabling it again makes it whole
DROP INDEX many_ttl;
SELECT status FROM dyn_ttl_tables WHERE relation = 'many'::regclass;
CALL dyn_sweep_ttl('many');
CALL dyn_enable_ttl('many', 'expires');
SELECT status FROM dyn_ttl_tables WHERE relation = 'many'::regclass;

-- in a transaction it is declared; a worker does the rest
BEGIN;
SELECT dyn_create_table('empty', 'id S');
CALL dyn_enable_ttl('empty', 'expires');
SELECT dyn_request('DescribeTimeToLive', '{"TableName": "empty"}');
COMMIT;
BEGIN;
CALL dyn_disable_ttl('empty');
SELECT dyn_request('DescribeTimeToLive', '{"TableName": "empty"}');
ROLLBACK;
SELECT dyn_put('empty', format('{"id":{"S":"1"},"expires":{"N":"%s"}}', ago(1))::dyn_item);
BEGIN;
CALL dyn_disable_ttl('empty');
SELECT dyn_request('DescribeTimeToLive', '{"TableName": "empty"}');
COMMIT;
CREATE PROCEDURE await(name text, wanted text) LANGUAGE plpgsql AS $$
DECLARE
  found text;
BEGIN
  FOR i IN 1 .. 1200 LOOP
    SELECT dyn_request('DescribeTimeToLive', json_build_object('TableName', name)) #>> '{TimeToLiveDescription,TimeToLiveStatus}' INTO found;
    COMMIT;
    IF found = wanted AND NOT EXISTS (SELECT FROM pg_stat_activity WHERE backend_type LIKE 'dynamo_table index%') THEN
      RETURN;
    END IF;
    PERFORM pg_sleep(0.05);
    COMMIT;
  END LOOP;
  RAISE WARNING 'time to live is %', found;
END $$;
CALL await('ttl.empty', 'DISABLED');
BEGIN;
CALL dyn_enable_ttl('empty', 'expires', hide_expired => true);
SELECT dyn_request('DescribeTimeToLive', '{"TableName": "empty"}');
SELECT attempt($$ SELECT dyn_request('UpdateTimeToLive',
	'{"TableName": "empty", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "expires"}}') $$);
COMMIT;
CALL await('ttl.empty', 'ENABLED');
CALL dynamo_internal.resume_ttl('empty');
CALL dynamo_internal.resume_ttl('taken');
CALL dyn_sweep_ttl('empty');
SELECT count(*) FROM empty;

-- what cannot have it
CREATE TEMP TABLE plain (id int PRIMARY KEY);
CALL dyn_enable_ttl('plain', 'expires');
SET search_path = pg_temp, ttl, public;
SELECT dyn_create_table('brief', 'id S');
SET search_path = ttl, public;
CALL dyn_enable_ttl('brief', 'expires');
SELECT dyn_put('brief', format('{"id":{"S":"1"},"expires":{"N":"%s"}}', ago(1))::dyn_item);
CALL dyn_sweep_ttl('brief');
SELECT dyn_put('brief', format('{"id":{"S":"1"},"expires":{"N":"%s"}}', ago(1))::dyn_item);
BEGIN;
CALL dyn_disable_ttl('brief');
ROLLBACK;
CALL dyn_disable_ttl('brief');
SELECT pg_get_constraintdef(oid), convalidated FROM pg_constraint WHERE conrelid = 'brief'::regclass AND contype = 'c';

\set VERBOSITY default
SET client_min_messages = warning;
DROP SCHEMA ttl, ttl_elsewhere CASCADE;
\set ECHO none
\i test/sql/switch_on.sql
\set ECHO all
