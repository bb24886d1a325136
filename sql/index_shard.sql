-- Rows of a shard of a distributed table get the columns of an index: a shard has no trigger, and its definition in a constraint.
\set ECHO none
\i test/sql/like_citus.sql
\set ECHO all
SET allow_system_table_mods = on;
SELECT dyn_create_table('app', 'pk S', 'sk N');
INSERT INTO pg_catalog.pg_dist_shard VALUES ('app', 102008);
INSERT INTO pg_catalog.pg_dist_placement VALUES (102008, 0);
SELECT dyn_create_table('app_102008', 'pk S', 'sk N');
SELECT count(dyn_put('app_102008', jsonb_build_object('pk', 'p' || i % 7, 'sk', i, 'v', CASE WHEN i % 4 > 0 THEN 'v' || i % 3 END, 'u', i)::dyn_item))
	FROM generate_series(1, 400) i WHERE i % 4 > 0;
SELECT count(dyn_put('app_102008', jsonb_build_object('pk', 'p' || i % 7, 'sk', i, 'v', i)::dyn_item)) FROM generate_series(1, 400) i WHERE i % 4 = 0;
DROP TRIGGER "~dynamo_keys" ON app_102008;
ALTER TABLE app_102008 ADD COLUMN v text COLLATE "C", DROP CONSTRAINT dynamo_keys,
  ADD CONSTRAINT dynamo_keys CHECK (dynamo_internal.keys_match(item, ARRAY['pk S', 'sk N', 'v S'], pk, sk, v)) NOT VALID,
  ADD CONSTRAINT dynamo_definition CHECK
    ('["pk S", "sk N", "{\"name\": \"ByV\", \"type\": \"global\", \"partition_key\": [\"v S\"], \"projection\": \"ALL\", \"status\": \"CREATING\"}"]'::text IS
    NOT NULL) NOT VALID;

INSERT INTO pg_catalog.pg_dist_partition VALUES ('app', 'h');
-- the first call tells the filenode and the blocks
SELECT split_part(r, ' ', 1)::oid = c.relfilenode AS filenode, split_part(r, ' ', 2)::bigint * 8192 = pg_relation_size('app_102008') AS blocks, r ~ ' 0 0 0$'
	AS nothing
  FROM pg_class c, dynamo_internal.fill_shard('app_102008', 'ByV', 0, 0, 10, false) r WHERE c.oid = 'app_102008'::regclass;
SELECT relfilenode AS node FROM pg_class WHERE oid = 'app_102008'::regclass \gset
-- rows that lack columns, those that got them, those that are left out
CREATE VIEW filled AS SELECT count(*) AS rows, count(v) AS filled, count(*) FILTER (WHERE v = dynamo_internal.get_attribute_text(item, 'v')) AS right
	FROM app_102008;
SELECT r[3] > 0 AS lacking, r[4] = r[3] AS updated, r[5] > 0 AS left_out
	FROM CAST(string_to_array(dynamo_internal.fill_shard('app_102008', 'ByV', :node, 0, 1, false), ' ') AS bigint[]) r;
-- one by one
SELECT regexp_replace(dynamo_internal.fill_shard('app_102008', 'ByV', :node, 0, 1000, true), '^\d+ \d+', '');
SELECT regexp_replace(dynamo_internal.fill_shard('app_102008', 'ByV', :node, 0, 1000, false), '^\d+ \d+ \d+ \d+', '');
SELECT * FROM filled;
SELECT regexp_replace(dynamo_internal.fill_shard('app_102008', 'ByV', :node, 0, 1000, true), '^\d+ \d+', '');
ALTER TABLE app_102008 VALIDATE CONSTRAINT dynamo_keys;
-- sizes are read where the rows are; what is not there counts with 0
VACUUM ANALYZE app_102008;
SELECT s[1] AS items, s[2] = pg_table_size('app_102008') AS bytes, s[3:] AS index
	FROM dynamo_internal.shard_sizes(ARRAY['public.app_102008', 'public.app_102009', NULL], 2) s;
CREATE INDEX ON app_102008 (v, pk, sk) WHERE v IS NOT NULL;
SELECT s[3] AS items, s[4] = pg_relation_size('app_102008_v_pk_sk_idx') AS bytes FROM dynamo_internal.shard_sizes(ARRAY['public.app_102008'], 2) s;
SELECT dynamo_internal.shard_sizes(ARRAY['public.app_102008'], 1), dynamo_internal.shard_sizes(ARRAY['pg_catalog.pg_class'], 1);
SELECT dynamo_internal.shard_sizes(ARRAY['app_102008'], 100000);
-- the owner alone
CREATE ROLE regress_stranger;
GRANT SELECT, INSERT, UPDATE ON app_102008 TO regress_stranger;
SET ROLE regress_stranger;
SELECT dynamo_internal.fill_shard('app_102008', 'ByV', :node, 0, 1000, true);
RESET ROLE;
REVOKE ALL ON app_102008 FROM regress_stranger;
SET ROLE regress_stranger;
SELECT dynamo_internal.fill_shard('app_102008', 'ByV', :node, 0, 1000, true);
SELECT dynamo_internal.shard_sizes(ARRAY['public.app_102008'], 2);
RESET ROLE;
DROP ROLE regress_stranger;
-- what is wrong
SELECT dynamo_internal.fill_shard('app_102008', 'Other', :node, 0, 1, false);
SELECT dynamo_internal.fill_shard('app_102008', NULL, :node, 0, 1, false);
SELECT dynamo_internal.fill_shard('pg_class', 'ByV', :node, 0, 1, false);
SELECT dynamo_internal.fill_shard('app_102008', 'ByV', NULL, 0, 1, false);
DROP VIEW filled;
\set ECHO none
\i test/sql/unlike_citus.sql
\set ECHO all
DROP TABLE app, app_102008;
