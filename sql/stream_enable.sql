-- Needs logical decoding.
SELECT current_setting('wal_level') <> 'logical' AS skipped \gset
\if :skipped
\echo skipped: wal_level is not logical
\quit
\endif
-- Change streams of tables: ST04 as far as declaring goes, ST10; the slot itself is in test/t/051_stream_slot.pl.
\set SHOW_CONTEXT never
\set service stream_collector
\set ECHO none
\i test/sql/switch_off.sql
\set ECHO all
CREATE SCHEMA stream_enable;
SET search_path = stream_enable, public;
CREATE FUNCTION attempt(query text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE query;
  RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
  RETURN coalesce(dyn_error_name(SQLSTATE), SQLSTATE) || ': ' || SQLERRM;
END $$;
-- times are not the same twice
CREATE FUNCTION masked(t text) RETURNS text LANGUAGE sql AS $$
  SELECT regexp_replace(regexp_replace(t, '\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}', 'LABEL', 'g'), '(?<=label": |disabled": )\d{13}', 'TIME', 'g') $$;
CREATE FUNCTION identity(t regclass) RETURNS text LANGUAGE sql AS $$
  SELECT relreplident::text || coalesce(' ' || (SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = t AND indisreplident), '') FROM pg_class
    WHERE oid = t $$;
CREATE FUNCTION argument(t regclass) RETURNS text LANGUAGE sql AS $$
  SELECT masked(substring(pg_get_triggerdef(oid) FROM '\(''.*\)$')) FROM pg_trigger WHERE tgrelid = t AND tgname = '~dynamo_keys' $$;
CREATE FUNCTION streams(t regclass) RETURNS TABLE (relation regclass, stream_arn text, view_type text, shards int, status text, label_is_time bool,
	disabled bool, identity_suffices bool) LANGUAGE sql AS $$
  SELECT s.relation, masked(s.stream_arn), s.view_type, s.shards, s.status, right(s.stream_arn, 23) = s.label
    AND to_char(s.enabled_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS') = s.label,
    s.disabled_at >= s.enabled_at, s.identity_suffices FROM dyn_streams s WHERE s.relation = t ORDER BY s.label $$;

SELECT dyn_create_table('app', 'pk S', 'sk S', global_indexes => '{"GSI1": {"partition_key": "g S"}}');

-- no stream without a slot, and no slot that nobody has asked for
SELECT state, slot_name = 'dynamo_table_' || (SELECT oid FROM pg_database WHERE datname = current_database()) AS named, lag, lag_bytes FROM dyn_stream_slots;
SELECT dyn_enable_stream('app', 'NEW_IMAGE');
SELECT attempt($$ SELECT dyn_request('UpdateTable', '{"TableName": "app", "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"}}') $$);
SELECT attempt($$ SELECT dyn_request('CreateTable',
	'{"TableName": "created", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "S"}],
  "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}], "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"}}') $$),
    to_regclass('created');
SELECT count(*) FROM pg_replication_slots WHERE database = current_database();
SELECT attempt('CALL dyn_setup_streams()');
CALL dyn_setup_streams();
SELECT state, wal_status, collected_lsn = confirmed_lsn AS collected_all, coalesce(failover, false) AS failover, active_pid FROM dyn_stream_slots;
SELECT after_lsn = '0/0' AS first, before_lsn = collected_lsn AS before, noticed <= clock_timestamp() AS noticed FROM dynamo_internal.stream_gaps,
	dyn_stream_slots;

-- ST04: the view types, and the replica identity that each needs
SELECT masked(dyn_enable_stream('app', 'KEYS_ONLY')), identity('app'), argument('app');
SELECT * FROM streams('app');
SELECT masked((dyn_describe_table('app') - 'KeySchema' - 'AttributeDefinitions' - 'GlobalSecondaryIndexes' - 'ProvisionedThroughput' -
	'BillingModeSummary')::text);
-- ST10: enabled is enabled, whatever the view
SELECT attempt($$ SELECT dyn_enable_stream('app', 'KEYS_ONLY') $$), attempt($$ SELECT dyn_enable_stream('arn:aws:dynamodb:x:1:table/app', 'NEW_IMAGE') $$);
-- unless that one is wanted
SELECT masked(dyn_enable_stream('app', 'KEYS_ONLY', if_not_exists => true)), dyn_enable_stream('app', 'KEYS_ONLY', 4, true) =
	dyn_describe_table('app') ->> 'LatestStreamArn' AS same;
SELECT dyn_enable_stream('app', if_not_exists => true);
SELECT dyn_enable_stream('app', 'KEYS_ONLY', 2, true);
SELECT dyn_disable_stream('app'), identity('app'), argument('app');
SELECT attempt($$ SELECT dyn_disable_stream('app') $$), attempt($$ SELECT dyn_disable_stream('arn:aws:dynamodb:x:1:table/app') $$);
SELECT * FROM streams('app');
SELECT masked((dyn_describe_table('app') -> 'StreamSpecification')::text), masked(dyn_describe_table('app') ->> 'LatestStreamArn'),
	masked(dyn_describe_table('app') ->> 'LatestStreamLabel');
SELECT masked(dyn_enable_stream('app', 'NEW_IMAGE', shards => 1)), identity('app'), argument('app');
SELECT dyn_disable_stream('app');
SET dynamo_table.stream_shards = 7;
SELECT masked(dyn_enable_stream('app', 'OLD_IMAGE')), identity('app'), argument('app');
RESET dynamo_table.stream_shards;
SELECT dyn_disable_stream('app'), identity('app');
SELECT masked(dyn_enable_stream('app', 'NEW_AND_OLD_IMAGES', 64)), identity('app');
SELECT * FROM streams('app');
-- labels grow within a transaction too, which can be rolled back
SELECT dyn_disable_stream('app');
BEGIN;
SELECT count(DISTINCT l) AS labels, bool_and(l COLLATE "C" > before) AS later
	FROM (SELECT max(label) AS before FROM dyn_streams WHERE relation = 'app'::regclass) b,
  LATERAL (SELECT dyn_enable_stream('app', 'KEYS_ONLY') AS l UNION ALL SELECT dyn_disable_stream('app')::text
    UNION ALL SELECT dyn_enable_stream('app', 'KEYS_ONLY')) e WHERE l <> '';
SELECT count(*) AS streams, bool_and(label COLLATE "C" > before COLLATE "C") AS growing
	FROM (SELECT label, lag(label, 1, '') OVER () AS before FROM dyn_streams WHERE relation = 'app'::regclass) s;
ROLLBACK;
SELECT count(*) AS streams, count(*) FILTER (WHERE status = 'ENABLED') AS enabled FROM dyn_streams WHERE relation = 'app'::regclass;
SELECT count(DISTINCT label) AS labels FROM dyn_streams WHERE relation = 'app'::regclass;

-- streams that cannot have records any more are dropped from the list at the next change, but not the last one
CREATE OR REPLACE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON app FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S', 'sk S',
  '{"name": "GSI1", "type": "global", "partition_key": ["g S"], "projection": "ALL"}',
  '{"settings": {"streams": [{"label": 1700000000000, "view_type": "OLD_IMAGE", "shards": 2, "disabled": 1700000000001},
  {"label": 1700000000005, "view_type": "KEYS_ONLY", "shards": 3, "disabled": 1700000000007}]}}');
ALTER TABLE app ENABLE ALWAYS TRIGGER "~dynamo_keys";
SELECT label, status, disabled_at AT TIME ZONE 'UTC' AS disabled_at FROM dyn_streams WHERE relation = 'app'::regclass;
SELECT dyn_describe_table('app') ->> 'LatestStreamArn';
SELECT masked(dyn_enable_stream('app', 'KEYS_ONLY')), argument('app');
SELECT dyn_disable_stream('app'), argument('app');
-- a label is later than the last one, whatever the clock says, and than a gap that was noticed before
CREATE OR REPLACE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON app FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S', 'sk S',
  '{"name": "GSI1", "type": "global", "partition_key": ["g S"], "projection": "ALL"}',
  '{"settings": {"streams": [{"label": 4100000000000, "view_type": "OLD_IMAGE", "shards": 2, "disabled": 4100000000000}]}}');
ALTER TABLE app ENABLE ALWAYS TRIGGER "~dynamo_keys";
SELECT right(dyn_enable_stream('app', 'KEYS_ONLY'), 23), dyn_disable_stream('app'), substring(pg_get_triggerdef(oid) FROM '\{"settings.*\}') FROM pg_trigger
	WHERE tgrelid = 'app'::regclass AND tgname = '~dynamo_keys';
BEGIN;
INSERT INTO dynamo_internal.stream_gaps VALUES ('FFFFFFFF/0', 'FFFFFFFF/1', '2110-01-01 00:00:00.0005+00');
SELECT right(dyn_enable_stream('app', 'KEYS_ONLY'), 23);
ROLLBACK;
DROP TABLE app;

-- the replica identity is what it was before, unless somebody has changed it
SELECT dyn_create_table('tab', 'pk S');
ALTER TABLE tab ADD "other Key" integer NOT NULL DEFAULT 0;
CREATE UNIQUE INDEX "Other ""key" ON tab ("other Key");
ALTER TABLE tab REPLICA IDENTITY USING INDEX "Other ""key";
SELECT dyn_enable_stream('tab', 'NEW_AND_OLD_IMAGES') IS NULL AS enabled, identity('tab'), argument('tab');
SELECT dyn_disable_stream('tab'), identity('tab'), argument('tab');
SELECT dyn_enable_stream('tab', 'KEYS_ONLY') IS NULL AS enabled, identity('tab');
SELECT dyn_disable_stream('tab'), identity('tab');
-- by an index that is gone
SELECT dyn_enable_stream('tab', 'OLD_IMAGE') IS NULL AS enabled, identity('tab');
DROP INDEX "Other ""key";
SELECT dyn_disable_stream('tab'), identity('tab');
-- by the index of the primary key
ALTER TABLE tab REPLICA IDENTITY USING INDEX tab_pkey;
SELECT dyn_enable_stream('tab', 'NEW_IMAGE') IS NULL AS enabled, identity('tab');
SELECT dyn_disable_stream('tab'), identity('tab');
ALTER TABLE tab REPLICA IDENTITY NOTHING;
SELECT dyn_enable_stream('tab', 'NEW_IMAGE') IS NULL AS enabled, identity('tab');
SELECT dyn_disable_stream('tab'), identity('tab');
-- full suffices for all
ALTER TABLE tab REPLICA IDENTITY FULL;
SELECT dyn_enable_stream('tab', 'NEW_IMAGE') IS NULL AS enabled, identity('tab');
SELECT dyn_disable_stream('tab'), identity('tab');
SELECT dyn_enable_stream('tab', 'OLD_IMAGE') IS NULL AS enabled, identity('tab');
SELECT dyn_disable_stream('tab'), identity('tab');
-- somebody's change in between
ALTER TABLE tab REPLICA IDENTITY DEFAULT;
SELECT dyn_enable_stream('tab', 'OLD_IMAGE') IS NULL AS enabled, identity('tab');
ALTER TABLE tab REPLICA IDENTITY NOTHING;
SELECT status, identity_suffices FROM dyn_streams WHERE relation = 'tab'::regclass AND status = 'ENABLED';
SELECT object, problem, advice FROM dyn_check_table('tab');
BEGIN;
ALTER TABLE tab REPLICA IDENTITY FULL;
ALTER TABLE tab SET UNLOGGED;
SELECT object, problem, advice FROM dyn_check_table('tab');
ROLLBACK;
SELECT dyn_disable_stream('tab'), identity('tab');
-- what the setting says may be anything
CREATE OR REPLACE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON tab FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S',
  '{"settings": {"streams": [{"label": 1700000000000, "view_type": "OLD_IMAGE", "shards": 2}], "replica_identity": "FULL; DROP TABLE tab"}}');
ALTER TABLE tab REPLICA IDENTITY FULL;
SELECT dyn_disable_stream('tab'), identity('tab');
SELECT tgenabled FROM pg_trigger WHERE tgrelid = 'tab'::regclass AND tgname = '~dynamo_keys';
DROP TABLE tab;

-- requests
SELECT masked((d -> 'TableDescription' -> 'StreamSpecification')::text), masked(d #>> '{TableDescription,LatestStreamArn}'),
	masked(d #>> '{TableDescription,LatestStreamLabel}')
FROM dyn_request('CreateTable', '{"TableName": "Created", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": [{"AttributeName": "a",
	"AttributeType": "S"}],
  "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}], "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"}}') d;
SELECT masked((d -> 'Table' -> 'StreamSpecification')::text), masked(d #>> '{Table,LatestStreamArn}'), identity('"Created"'), d #>> '{Table,TableStatus}'
	AS status FROM dyn_request('DescribeTable', '{"TableName": "Created"}') d;
CREATE FUNCTION update_stream(specification text, more text DEFAULT '') RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  RETURN masked(coalesce((dyn_request('UpdateTable', ('{"TableName": "Created", "StreamSpecification": ' || specification || more ||
    '}')::json) #> '{TableDescription,StreamSpecification}')::text, 'none'));
EXCEPTION WHEN OTHERS THEN
  RETURN coalesce(dyn_error_name(SQLSTATE), SQLSTATE) || ': ' || SQLERRM;
END $$;
SELECT s, update_stream(s) FROM unnest(ARRAY['{}', '{"StreamViewType": "KEYS_ONLY"}', '{"StreamEnabled": true}',
	'{"StreamEnabled": true, "StreamViewType": "ALL"}', '{"StreamEnabled": false, "StreamViewType": "KEYS_ONLY"}',
  '{"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"}', '{"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"}', '{"StreamEnabled": false}',
  '{"StreamEnabled": false}', '{"StreamEnabled": true, "StreamViewType": "OLD_IMAGE"}']) s;
SELECT view_type, status FROM streams('"Created"');
SELECT identity('"Created"');
-- with other settings: all or nothing
SELECT update_stream('{"StreamEnabled": true, "StreamViewType": "OLD_IMAGE"}', ', "TableClass": "STANDARD"'),
	dyn_describe_table('Created') -> 'TableClassSummary';
SELECT update_stream('{"StreamEnabled": false}', ', "TableClass": "STANDARD"'), dyn_describe_table('Created') -> 'TableClassSummary', identity('"Created"');
SELECT dyn_request('TagResource', '{"ResourceArn": "arn:aws:dynamodb:local:000000000000:table/Created", "Tags": [{"Key": "streams", "Value": "1"}]}');
SELECT substring(argument('"Created"') FROM '"streams.*');
SELECT dyn_request('CreateTable', '{"TableName": "without", "BillingMode": "PAY_PER_REQUEST",
	"AttributeDefinitions": [{"AttributeName": "a", "AttributeType": "S"}],
  "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}], "StreamSpecification": {"StreamEnabled": false}}') #>> '{TableDescription,LatestStreamArn}';
DROP TABLE "Created", without;

-- tables that have none
SELECT dyn_create_table('plain', 'pk S');
SELECT dyn_create_table('parent', 'pk S');
CREATE TABLE child () INHERITS (parent);
SELECT dyn_enable_stream('parent', 'KEYS_ONLY');
DROP TABLE parent CASCADE;
ALTER TABLE plain SET UNLOGGED;
SELECT dyn_enable_stream('plain', 'KEYS_ONLY');
ALTER TABLE plain SET LOGGED;
CREATE TEMP TABLE temporary (LIKE plain INCLUDING ALL);
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON temporary FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S');
SELECT dyn_enable_stream('temporary', 'KEYS_ONLY');
CREATE TABLE parts (item dyn_item NOT NULL, pk text COLLATE "C" PRIMARY KEY) PARTITION BY HASH (pk);
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON parts FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S');
CREATE TABLE part PARTITION OF parts FOR VALUES WITH (MODULUS 1, REMAINDER 0);
SELECT dyn_enable_stream('parts', 'KEYS_ONLY');
SELECT dyn_enable_stream('part', 'KEYS_ONLY');
SELECT dyn_enable_stream('pg_class', 'KEYS_ONLY');
SELECT dyn_enable_stream('nothing', 'KEYS_ONLY');
SELECT dyn_disable_stream('nothing');
SELECT dyn_enable_stream(NULL, 'KEYS_ONLY');
SELECT dyn_enable_stream('plain', NULL);
SELECT dyn_disable_stream(NULL);
SELECT dyn_enable_stream('plain', 'keys_only');
SELECT dyn_enable_stream('plain', 'KEYS_ONLY', 0);
SELECT dyn_enable_stream('plain', 'KEYS_ONLY', 65);
-- a table that was made unlogged later says so
SELECT dyn_enable_stream('plain', 'KEYS_ONLY') IS NULL AS enabled;
ALTER TABLE plain SET UNLOGGED;
SELECT status, identity_suffices FROM streams('plain');
ALTER TABLE plain SET LOGGED;

SELECT dyn_disable_stream('plain');

-- rights: the owner enables, who may read sees it, and nobody sees more
CREATE ROLE regress_stream_owner;
CREATE ROLE regress_stream_other;
CREATE ROLE regress_stream_admin REPLICATION;
GRANT USAGE, CREATE ON SCHEMA stream_enable TO regress_stream_owner;
GRANT USAGE ON SCHEMA stream_enable TO regress_stream_other, regress_stream_admin;
SET ROLE regress_stream_owner;
SELECT dyn_create_table('owned', 'pk S');
SELECT dyn_enable_stream('owned', 'OLD_IMAGE') IS NULL AS enabled;
SELECT dyn_enable_stream('plain', 'KEYS_ONLY');
SELECT dyn_disable_stream('plain');
SELECT relation, status FROM dyn_streams;
SELECT state FROM dyn_stream_slots;
SELECT count(*) FROM dynamo_internal.stream_state;
CALL dyn_setup_streams();
CALL dyn_teardown_streams();
SET ROLE regress_stream_other;
SELECT relation, status FROM dyn_streams;
SELECT state FROM dyn_stream_slots;
SELECT attempt($$ SELECT dyn_disable_stream('owned') $$);
RESET ROLE;
GRANT SELECT ON owned TO regress_stream_other;
SET ROLE regress_stream_other;
SELECT relation, status FROM dyn_streams;
RESET search_path;
SELECT relation, regexp_replace(stream_arn, '.{23}$', 'LABEL') FROM dyn_streams;
SET search_path = stream_enable, public;
-- whose settings are broken hinders nobody, and times that no label can have are broken
RESET ROLE;
SELECT dyn_create_table('broken', 'pk S');
CREATE OR REPLACE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON broken FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S',
	'{"settings": {"streams": [{"label": 1}]}}');
SELECT dyn_describe_table('broken');
SELECT relation, status FROM dyn_streams ORDER BY relation::text;
CREATE OR REPLACE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON broken FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S',
	'{"settings": {"streams": [{"label": 253402300800000, "shards": 1}]}}');
SELECT dyn_describe_table('broken');
SELECT relation, status FROM dyn_streams ORDER BY relation::text;
CREATE OR REPLACE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON broken FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S',
	'{"settings": {"streams": [{"label": 253402300799999, "shards": 1, "disabled": 9223372036854775807}]}}');
SELECT relation, status FROM dyn_streams ORDER BY relation::text;

-- the slot goes when no stream is enabled any more
SET ROLE regress_stream_admin;
CALL dyn_setup_streams();
CALL dyn_teardown_streams();
RESET ROLE;
SELECT dyn_disable_stream('owned');
SET ROLE regress_stream_admin;
CALL dyn_teardown_streams();
CALL dyn_teardown_streams();
RESET ROLE;
SELECT state FROM dyn_stream_slots;
SELECT (SELECT count(*) FROM dynamo_internal.stream_gaps) + (SELECT count(*) FROM dynamo_internal.stream_state) + (SELECT count(*) FROM pg_replication_slots
	WHERE database = current_database()) AS left_over;
SELECT attempt($$ SELECT dyn_enable_stream('plain', 'KEYS_ONLY') $$);
DROP SCHEMA stream_enable CASCADE;
DROP ROLE regress_stream_owner, regress_stream_other, regress_stream_admin;
\set ECHO none
\i test/sql/switch_on.sql
\set ECHO all
