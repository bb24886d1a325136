-- Covering indexes: entries carry what the index projects, and reads get the same by either store as from the rows.
\set VERBOSITY terse
-- definitions
SELECT dyn_create_table('bad', 'pk S', global_indexes => '{"G": {"partition_key": "a S", "covering": "expression"}}');
SELECT dyn_create_table('bad', 'pk S', global_indexes => '{"G": {"partition_key": "a S", "covering": 1}}');
SELECT dyn_create_table('bad', 'pk S', global_indexes => '{"G": {"partition_key": "a S", "entry_limit": 10}}');
SELECT dyn_create_table('bad', 'pk S', global_indexes => '{"ttl": {"partition_key": "~ttl_item S", "covering": true}}');
SELECT min_val, max_val FROM pg_settings WHERE name = 'dynamo_table.covering_entry_limit';
SELECT dyn_create_table('cover', 'pk S', 'sk N',
  global_indexes => '{"Whole": {"partition_key": "a S", "sort_key": "b N", "covering": true}, "Computed": {"partition_key": "a S",
    "sort_key": "b N", "covering": true},
    "Two": {"partition_key": "a S", "projection": "INCLUDE", "non_key_attributes": ["c", "d", "pk", "a"], "covering": true},
    "Keys": {"partition_key": "b N", "projection": "KEYS_ONLY", "covering": true},
    "Plain": {"partition_key": "a S", "sort_key": "b N"}}',
  local_indexes => '{"Local": {"sort_key": "b N", "projection": "INCLUDE", "non_key_attributes": ["d"], "covering": true}}');
SELECT attname, format_type(atttypid, NULL) AS type, attstattarget FROM pg_attribute WHERE attrelid = 'cover'::regclass AND attname LIKE '~%' ORDER BY 1;
SELECT relname, reloptions FROM pg_class WHERE oid = 'cover'::regclass OR oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = 'cover'::regclass)
	ORDER BY 1;
SELECT conrelid::regclass FROM pg_constraint WHERE conname = 'dynamo_keys' AND convalidated;

-- items of every size around the limit, of bytes that compress and of bytes that do not
CREATE FUNCTION covering_noise(seed int, n int) RETURNS text LANGUAGE sql IMMUTABLE AS
  $$ SELECT left(string_agg(sha512((seed || '/' || i)::bytea)::text, ''), n) FROM generate_series(0, n / 100) i $$;
SELECT count(dyn_put('cover', jsonb_build_object('pk', 'p' || i % 10, 'sk', i, 'a', 'a' || i % 3, 'b', i / 2.0, 'c', CASE WHEN i % 2 = 0 THEN i END, 'd',
	left('d' || i, i % 5 + 1),
  'pad', CASE WHEN i % 4 = 0 THEN repeat('pad', i) ELSE covering_noise(i, i * 2 + i % 7) END)::dyn_item)) FROM generate_series(1, 700) i;
SELECT count(dyn_put('cover', jsonb_build_object('pk', 'p' || i, 'sk', i, 'd', i)::dyn_item)) FROM generate_series(1, 50) i;
INSERT INTO cover(item) SELECT format('{"pk":{"S":"long"},"sk":{"N":"%s"},"a":{"S":"%s"},"b":{"N":"1"},"d":{"NULL":true}}', i, repeat('k', i))::dyn_item
	FROM generate_series(700, 1000, 3) i;
-- what is short is carried, and what is long is not, unless it compresses
SELECT octet_length(item::text) < 900 AS short, count(*) FILTER (WHERE "~Whole_item" IS NOT NULL) > 0 AS carried,
	count(*) FILTER (WHERE "~Whole_item" IS NULL) > 0 AS not_carried,
  count(*) FILTER (WHERE "~Two_item" IS NULL) AS part_not_carried FROM cover WHERE a IS NOT NULL AND b IS NOT NULL AND octet_length(a) < 700 GROUP BY 1
    ORDER BY 1;

CREATE FUNCTION covering_expected(which text) RETURNS SETOF text LANGUAGE sql STABLE AS $$
  SELECT (CASE which WHEN 'Two' THEN (SELECT jsonb_object_agg(key, value) FROM jsonb_each(item::text::jsonb) WHERE key IN ('pk', 'sk', 'a', 'c', 'd'))
    WHEN 'Local' THEN (SELECT jsonb_object_agg(key, value) FROM jsonb_each(item::text::jsonb) WHERE key IN ('pk', 'sk', 'b', 'd'))
    WHEN 'Keys' THEN (SELECT jsonb_object_agg(key, value) FROM jsonb_each(item::text::jsonb) WHERE key IN ('pk', 'sk', 'b')) ELSE item::text::jsonb END)::text
  FROM cover WHERE CASE which WHEN 'Two' THEN item ? 'a' WHEN 'Keys' THEN item ? 'b' WHEN 'Local' THEN item ? 'b' ELSE item ? 'a' AND item ? 'b' END $$;
-- what reads return that rows do not have, or the other way round, by both stores, forward and in segments
CREATE FUNCTION covering_differences() RETURNS TABLE (store text, index_name text, n bigint, too_much bigint, too_little bigint) LANGUAGE plpgsql AS $$
DECLARE seen text[];
BEGIN
  FOREACH store IN ARRAY ARRAY['on', 'off'] LOOP
    PERFORM set_config('dynamo_table.direct_store', store, false);
    FOREACH index_name IN ARRAY ARRAY['Whole', 'Computed', 'Two', 'Keys', 'Plain', 'Local'] LOOP
      seen := ARRAY(SELECT i::text::jsonb::text FROM dyn_scan('cover', index_name) i);
      n := cardinality(seen);
      SELECT count(*) INTO too_much FROM (SELECT unnest(seen) EXCEPT ALL SELECT covering_expected(index_name)) x;
      SELECT count(*) INTO too_little FROM (SELECT covering_expected(index_name) EXCEPT ALL SELECT unnest(seen)) x;
      SELECT too_much + count(*) INTO too_much FROM (SELECT i::text::jsonb::text FROM generate_series(0, 2) s,
        dyn_scan('cover', index_name, segment => s, total_segments => 3) i
        EXCEPT ALL SELECT unnest(seen)) x;
      RETURN NEXT;
    END LOOP;
  END LOOP;
  RESET dynamo_table.direct_store;
END $$;
SELECT * FROM covering_differences();

-- the visibility map decides whether rows are looked at
SET synchronous_commit = on;
VACUUM cover;
SET dynamo_table.direct_store = on;
SELECT index_name, index_only, store, items_read, rows_skipped > 0 AS skipped, rows_skipped < items_read AS some_read
  FROM unnest(ARRAY['Whole', 'Computed', 'Two', 'Plain']) i, dyn_explain('cover', 'a = :a', i, vals => '{":a":{"S":"a1"}}');
SELECT index_only, rows_skipped > 0 AS skipped FROM dyn_explain('cover', 'pk = :p', 'Local', vals => '{":p":{"S":"p1"}}');
-- a filter, a projection or a count that looks at no more than what is carried needs no row, and others do
SELECT index_only FROM dyn_explain('cover', 'a = :a', 'Two', filter => 'attribute_exists(c)', projection => 'd', vals => '{":a":{"S":"a1"}}');
SELECT index_only FROM dyn_explain('cover', 'pk = :p', 'Local', filter => 'attribute_exists(c)', vals => '{":p":{"S":"p1"}}');
SELECT index_only FROM dyn_explain('cover', 'pk = :p', 'Local', select_mode => 'ALL_ATTRIBUTES', vals => '{":p":{"S":"p1"}}');
SELECT index_only FROM dyn_explain('cover', 'a = :a', 'Two', select_mode => 'COUNT', vals => '{":a":{"S":"a1"}}');
SELECT index_only, rows_skipped > 0 AS skipped FROM unnest(ARRAY['SELECT * FROM cover.Whole WHERE a = ''a1''', 'SELECT c FROM cover.Two WHERE a = ''a1''',
	'SELECT a FROM cover.Plain WHERE a = ''a1''', 'SELECT * FROM cover.Plain WHERE a = ''a1''', 'DELETE FROM cover WHERE pk = ''p1'' AND sk = 1']) s,
	dyn_explain_statement(s);
SELECT i FROM dyn_query('cover', 'a = :a AND b = :b', 'Whole', projection => 'pk, sk, d', vals => '{":a":{"S":"a1"},":b":{"N":"1"}}') i;
SET dynamo_table.direct_store = off;
-- plans read the column from the index alone
SELECT index_name, index_only, store, rows_skipped FROM unnest(ARRAY['Whole', 'Computed', 'Two', 'Plain']) i,
	dyn_explain('cover', 'a = :a', i, vals => '{":a":{"S":"a1"}}');
RESET dynamo_table.direct_store;

-- writes: whatever plain SQL gives for the column, it is the item's
UPDATE cover SET "~Whole_item" = '{"x":{"S":"wrong"}}', "~Two_item" = NULL WHERE pk = 'p1';
INSERT INTO cover (item, "~Whole_item") VALUES ('{"pk":{"S":"new"},"sk":{"N":"1"},"a":{"S":"a1"},"b":{"N":"2"},"c":{"S":"c"}}', '{"x":{"S":"wrong"}}');
COPY cover (item) FROM stdin;
{"pk":{"S":"new"},"sk":{"N":"2"},"a":{"S":"a1"},"b":{"N":"3"},"c":{"S":"c"}}
\.
SELECT count(dyn_update('cover', jsonb_build_object('pk', 'p' || i % 10, 'sk', i), 'SET d = :d ADD n :one',
	vals => '{":d":{"S":"changed"},":one":{"N":"1"}}')) FROM generate_series(1, 700, 13) i;
SELECT count(dyn_update('cover', jsonb_build_object('pk', 'p' || i % 10, 'sk', i), 'SET #p = :d, b = :b', names => '{"#p": "pad"}',
	vals => jsonb_build_object(':d', repeat('x', i), ':b', i))) FROM generate_series(3, 700, 29) i;
SELECT count(dyn_update('cover', jsonb_build_object('pk', 'p' || i % 10, 'sk', i), 'REMOVE a')) FROM generate_series(5, 700, 31) i;
SELECT count(dyn_delete('cover', jsonb_build_object('pk', 'p' || i % 10, 'sk', i))) FROM generate_series(7, 700, 37) i;
SELECT * FROM covering_differences();
SELECT count(*) FROM dyn_check_table('cover');
-- without the trigger the constraint refuses what is not the item's, and takes NULL
ALTER TABLE cover DISABLE TRIGGER "~dynamo_keys";
UPDATE cover SET "~Whole_item" = '{"x":{"S":"wrong"}}' WHERE pk = 'p2' AND sk = 2;
UPDATE cover SET "~Two_item" = '{"d":{"S":"wrong"}}' WHERE pk = 'p2' AND sk = 2;
UPDATE cover SET "~Whole_item" = NULL, "~Two_item" = NULL WHERE pk = 'p2' AND a IS NOT NULL AND sk % 3 = 0;
ALTER TABLE cover ENABLE ALWAYS TRIGGER "~dynamo_keys";
SELECT * FROM covering_differences();
SELECT problem, count(*) > 0 AS some FROM dyn_check_table('cover') GROUP BY 1 ORDER BY 1;
UPDATE cover SET item = item WHERE pk = 'p2';
SELECT count(*) FROM dyn_check_table('cover');
SET session_replication_role = replica;
UPDATE cover SET "~Whole_item" = '{"x":{"S":"wrong"}}' WHERE pk = 'p2' AND sk = 2;
RESET session_replication_role;
SELECT * FROM covering_differences();

-- updates of what is not carried stay HOT
SELECT dyn_create_table('covering_hot', 'pk S', fillfactor => 50,
	global_indexes => '{"G": {"partition_key": "a S", "projection": "INCLUDE", "non_key_attributes": ["c"], "covering": true}}');
SELECT dyn_create_table('covering_warm', 'pk S', fillfactor => 50, global_indexes => '{"G": {"partition_key": "a S", "covering": true}}');
INSERT INTO covering_hot (item) SELECT format('{"pk":{"S":"%s"},"a":{"S":"a"},"c":{"N":"1"},"n":{"N":"0"}}', i)::dyn_item FROM generate_series(1, 100) i;
INSERT INTO covering_warm (item) SELECT CASE WHEN i % 2 = 0 THEN dyn_apply(item, 'REMOVE a') ELSE item END FROM covering_hot,
	LATERAL (SELECT (item ->> 'pk')::int AS i) x;
BEGIN;
SELECT count(dyn_update('covering_hot', jsonb_build_object('pk', i::text), 'ADD n :one', vals => '{":one":{"N":"1"}}')) FROM generate_series(1, 100) i;
SELECT count(dyn_update('covering_warm', jsonb_build_object('pk', i::text), 'ADD n :one', vals => '{":one":{"N":"1"}}')) FROM generate_series(1, 100) i;
SELECT relname, n_tup_upd, n_tup_hot_upd FROM pg_stat_xact_user_tables WHERE relname IN ('covering_hot', 'covering_warm') ORDER BY 1;
COMMIT;

-- an index of a table that is filled
\set VERBOSITY default
SELECT dyn_create_table('covering_filled', 'pk S', 'sk N');
INSERT INTO covering_filled (item) SELECT item FROM cover;
UPDATE covering_filled SET item = dyn_apply(item, 'SET r = d') WHERE sk % 20 = 0;
CALL dyn_create_index('covering_filled', 'Dense', 'a S', 'b N', covering => true);
CALL dyn_create_index('covering_filled', 'Rare', 'r S', covering => true);
\set VERBOSITY terse
CALL dyn_create_index('covering_filled', 'Chosen', 'a S', 'b N', covering => true);
CALL dyn_create_index('covering_filled', 'Part', ARRAY['a S'], projection => 'INCLUDE', non_key_attributes => '{d}', covering => true);
SELECT attname FROM pg_attribute WHERE attrelid = 'covering_filled'::regclass AND attname LIKE '~%' AND NOT attisdropped ORDER BY 1;
SELECT count(*) = count("~Chosen_item") AS all_carried, count(*) FILTER (WHERE octet_length(item::text) > 2000) AS longer FROM covering_filled
	WHERE a IS NOT NULL AND b IS NOT NULL AND octet_length(item::text) < 500;
SELECT count(*) FROM dyn_check_table('covering_filled');
CREATE EXTENSION IF NOT EXISTS amcheck;
SELECT c.relname, bt_index_check(c.oid, true) FROM pg_index i JOIN pg_class c ON c.oid = indexrelid
	WHERE indrelid IN ('covering_filled'::regclass, 'cover'::regclass) ORDER BY indrelid, 1;
SELECT count(*) FROM (SELECT i::text FROM dyn_scan('covering_filled', 'Dense') i EXCEPT ALL SELECT i::text FROM dyn_scan('covering_filled', 'Chosen') i) x;
REINDEX INDEX "covering_filled_Dense";
VACUUM FULL covering_filled;
SELECT count(*) FROM dyn_scan('covering_filled', 'Dense') i;
CALL dyn_drop_index('covering_filled', 'Dense');
CALL dyn_drop_index('covering_filled', 'Chosen');
CALL dyn_drop_index('covering_filled', 'Part');
SELECT attname FROM pg_attribute WHERE attrelid = 'covering_filled'::regclass AND attname LIKE '~%' AND NOT attisdropped ORDER BY 1;
-- requests have a setting for it
SET dynamo_table.covering_indexes = on;
SELECT dyn_request('CreateTable', '{"TableName": "asked", "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}], "BillingMode": "PAY_PER_REQUEST",
  "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "a", "AttributeType": "S"}],
  "GlobalSecondaryIndexes": [{"IndexName": "GSI", "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"}}]}') IS
    NOT NULL AS made;
SELECT pg_get_indexdef('"asked_GSI"'::regclass) ~ 'INCLUDE' AS covering;
DROP TABLE asked, cover, covering_hot, covering_warm, covering_filled;
DROP FUNCTION covering_differences, covering_expected, covering_noise;
