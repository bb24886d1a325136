-- An update that changes no key attribute is HOT and writes no page of any of five indexes, however the keys are stored.
CREATE EXTENSION pageinspect;
CREATE FUNCTION last_change(relation regclass) RETURNS pg_lsn LANGUAGE sql AS
  $$ SELECT max((page_header(get_raw_page(relation::text, b::int))).lsn)
    FROM generate_series(0, pg_relation_size(relation) / current_setting('block_size')::int - 1) b $$;
CREATE FUNCTION index_changes(relation regclass) RETURNS SETOF text LANGUAGE sql AS
  $$ SELECT format('%s %s', indexrelid::regclass, last_change(indexrelid::regclass)) FROM pg_index WHERE indrelid = relation ORDER BY 1 $$;
SELECT dyn_create_table('hot', 'pk S', 'sk N', fillfactor => 50,
	global_indexes => '{"GSI1": {"partition_key": "a S", "sort_key": "b N"}, "GSI2": {"partition_key": "b N"}, "GSI3": {"partition_key": "c B"},
  "GSI4": {"partition_key": "sk N", "sort_key": "pk S", "projection": "KEYS_ONLY"}, "GSI5": {"partition_key": ["a S", "l S"]}}');
SELECT dyn_create_table('large', 'pk S', fillfactor => 30, global_indexes => '{"GSI1": {"partition_key": "a S", "sort_key": "b S"}}');
ALTER TABLE hot SET (autovacuum_enabled = off);
ALTER TABLE large SET (autovacuum_enabled = off);
INSERT INTO hot (item) SELECT format('{"pk":{"S":"p%s"},"sk":{"N":"%s.50"},"a":{"S":"a%s"},"b":{"N":"%s.100"},"c":{"B":"%s"},"l":{"S":"l"},"pad":{"S":"%s"},
	"n":{"N":"0"}}',
  i % 10, i, i % 7, i, encode(i::text::bytea, 'base64'), repeat('pad', 40))::dyn_item FROM generate_series(1, 2000) i;
-- rows over 2 kB, in which the keys are compressed
INSERT INTO large (item) SELECT jsonb_build_object('pk', i::text, 'a', repeat('a', 2000), 'b', repeat('b', 1000), 'n', 0)::dyn_item
	FROM generate_series(1, 20) i;
SELECT bool_and(pg_column_size(a) < 200) AS compressed FROM large;

CREATE TEMP TABLE before AS SELECT index_changes(t) AS change FROM unnest(ARRAY['hot', 'large']::regclass[]) t;
SELECT count(*) FROM before;
BEGIN;
SELECT count(dyn_update('hot', format('{"pk":{"S":"p%s"},"sk":{"N":"%s.5"}}', i % 10, i)::dyn_item, 'ADD n :one SET m = :m',
	vals => '{":one":{"N":"1"},":m":{"M":{}}}', return_values => 'ALL_NEW'))
  FROM generate_series(1, 2000, 34) i;
SELECT count(dyn_put('hot', dyn_apply(item, 'SET n = :n', vals => '{":n":{"N":"2"}}'), return_values => 'ALL_OLD')) AS replaced FROM hot WHERE sk::int % 34 =
	12;
UPDATE hot SET item = dyn_apply(item, 'ADD n :one', vals => '{":one":{"N":"1"}}') WHERE sk::int % 34 = 24;
SELECT count(dyn_update('large', jsonb_build_object('pk', i::text), 'ADD n :one', vals => '{":one":{"N":"1"}}', return_values => 'ALL_NEW'))
	FROM generate_series(1, 20) i;
SELECT relname, n_tup_upd, n_tup_upd = n_tup_hot_upd AS all_hot FROM pg_stat_xact_user_tables WHERE relname IN ('hot', 'large') ORDER BY 1;
COMMIT;
SELECT change FROM (SELECT index_changes(t) AS change FROM unnest(ARRAY['hot', 'large']::regclass[]) t) a EXCEPT TABLE before;

-- a key that changes is no HOT update
BEGIN;
SELECT dyn_update('hot', '{"pk":{"S":"p1"},"sk":{"N":"1.5"}}', 'SET b = :b', vals => '{":b":{"N":"5"}}');
SELECT n_tup_upd - n_tup_hot_upd AS not_hot FROM pg_stat_xact_user_tables WHERE relname = 'hot';
COMMIT;
SELECT count(*) FROM (SELECT index_changes('hot') EXCEPT TABLE before) c;

-- updates that change the key of one index let the btree of the other be rid of old entries, by either store
CREATE PROCEDURE change_one(relation text, rounds int) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM dyn_create_table(relation, 'pk S', global_indexes => '{"GSI1": {"partition_key": "a S"}, "GSI2": {"partition_key": "b S"}}');
	EXECUTE format('ALTER TABLE %I SET (autovacuum_enabled = off)', relation);
	PERFORM dyn_put(relation, jsonb_build_object('pk', i::text, 'a', 'a', 'b', i::text)) FROM generate_series(1, 200) i;
	FOR r IN 1 .. rounds LOOP
		PERFORM dyn_update(relation, jsonb_build_object('pk', i::text), 'SET a = :a', vals => format('{":a":{"S":"a%s"}}', r)::dyn_item)
			FROM generate_series(1, 200) i;
		COMMIT;
	END LOOP;
END $$;
SET dynamo_table.direct_store = on;
CALL change_one('by_direct', 30);
SET dynamo_table.direct_store = off;
CALL change_one('by_statement', 30);
RESET dynamo_table.direct_store;
SELECT pg_relation_size('"by_direct_GSI2"') <= 2 * pg_relation_size('"by_statement_GSI2"') AS as_small;
DROP TABLE by_direct, by_statement;
DROP PROCEDURE change_one;

DROP TABLE hot, large;
DROP FUNCTION index_changes, last_change;
DROP EXTENSION pageinspect;
