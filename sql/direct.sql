-- The direct store reads what nothing but a table of items has a say in; all else are SQL statements.  Both say the same.
\set SHOW_CONTEXT never
SET dynamo_table.direct_store = on;
SELECT dyn_create_table('app', 'pk S', 'sk N', global_indexes => '{"GSI1":{"partition_key":"g B","projection":"KEYS_ONLY"}}');
SELECT count(dyn_put('app', ('{"pk":{"S":"a"},"sk":{"N":"' || n || '"},"g":{"B":"AAE="}}')::dyn_item)) FROM generate_series(1, 3) n;
-- which store reads the table, its index, and what it returns
CREATE FUNCTION reads(relation text) RETURNS TABLE (own text, global text, got text, queried text, index_queried text) LANGUAGE sql AS $$
	SELECT (SELECT store FROM dyn_explain(relation, 'pk = :p', vals => '{":p":{"S":"a"}}')),
	       (SELECT store FROM dyn_explain(relation, 'g = :g', vals => '{":g":{"B":"AAE="}}', index_name => 'GSI1')),
	       dyn_get(relation, '{"pk":{"S":"a"},"sk":{"N":"2"}}') ->> 'sk',
	       (SELECT string_agg(i->>'sk', ' ') FROM dyn_query(relation, 'pk = :p', vals => '{":p":{"S":"a"}}') i),
	       (SELECT string_agg(i->>'sk', ' ') FROM dyn_query(relation, 'g = :g', vals => '{":g":{"B":"AAE="}}', index_name => 'GSI1', forward => false) i)
$$;
CREATE FUNCTION why(relation text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM reads(relation);
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
SELECT * FROM reads('app');
SET dynamo_table.direct_store = off;
SELECT * FROM reads('app');
RESET dynamo_table.direct_store;
SET dynamo_table.direct_store = on;
SELECT store FROM dyn_explain('app');
SELECT range, store FROM dyn_explain('app', 'pk = :p AND sk < :n', vals => '{":p":{"S":"a"},":n":{"N":"2"}}', start_key => '{"pk":{"S":"a"},"sk":{"N":"5"}}');

-- privileges: none, of columns, of the table, of a role that one is a member of; a view's and a function's owner are other roles
CREATE ROLE dyn_direct;
CREATE ROLE dyn_direct_group;
SET ROLE dyn_direct;
SELECT why('app');
RESET ROLE;
GRANT SELECT (pk, sk) ON app TO dyn_direct;
SET ROLE dyn_direct;
SELECT why('app');
RESET ROLE;
GRANT SELECT (item, g) ON app TO dyn_direct;
SET ROLE dyn_direct;
SELECT * FROM reads('app');
RESET ROLE;
REVOKE SELECT (item, pk, sk, g) ON app FROM dyn_direct;
GRANT SELECT ON app TO dyn_direct_group;
GRANT dyn_direct_group TO dyn_direct;
SET ROLE dyn_direct;
SELECT * FROM reads('app');
RESET ROLE;
REVOKE dyn_direct_group FROM dyn_direct;
CREATE FUNCTION reads_as_owner(relation text) RETURNS SETOF text LANGUAGE sql SECURITY DEFINER AS $$ SELECT i->>'sk'
	FROM dyn_query(relation, 'pk = :p', vals => '{":p":{"S":"a"}}') i $$;
SET ROLE dyn_direct;
SELECT why('app');
SELECT string_agg(i, ' ') FROM reads_as_owner('app') i;
RESET ROLE;
GRANT SELECT ON app TO dyn_direct;

-- policies, for the owner too while they are there
ALTER TABLE app ENABLE ROW LEVEL SECURITY;
CREATE POLICY second ON app FOR SELECT USING (sk = 2);
SELECT * FROM reads('app');
SET ROLE dyn_direct;
SELECT * FROM reads('app');
RESET ROLE;
ALTER TABLE app DISABLE ROW LEVEL SECURITY;
SET ROLE dyn_direct;
SELECT * FROM reads('app');
RESET ROLE;

-- children, for as long as there are any
CREATE TABLE child () INHERITS (app);
INSERT INTO child (item, pk, sk, g) VALUES ('{"pk":{"S":"a"},"sk":{"N":"9"},"g":{"B":"AAE="}}', 'a', 9, '\x0001');
SELECT * FROM reads('app');
DROP TABLE child;
SELECT * FROM reads('app');

-- a rule for writes and a trigger have no say in reads
CREATE RULE forget AS ON DELETE TO app DO ALSO NOTHING;
SELECT * FROM reads('app');
DROP RULE forget ON app;

-- partitions: the whole by a statement, each for itself
CREATE TABLE parted (LIKE app INCLUDING ALL) PARTITION BY HASH (pk);
CREATE TABLE part PARTITION OF parted FOR VALUES WITH (MODULUS 1, REMAINDER 0) USING dynamo_table;
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON parted FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S', 'sk N',
	'{"name": "GSI1", "type": "global", "partition_key": ["g B"], "projection": "KEYS_ONLY"}');
INSERT INTO parted SELECT * FROM app;
SELECT * FROM reads('parted');
SELECT * FROM reads('part');

-- another access method
ALTER TABLE app SET ACCESS METHOD heap;
SELECT * FROM reads('app');
ALTER TABLE app SET ACCESS METHOD dynamo_table;
SELECT * FROM reads('app');

-- what the transaction has changed: rows, an index that it has built, a new file
BEGIN;
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"2.5"},"g":{"B":"AAE="}}');
REINDEX TABLE app;
SELECT * FROM reads('app');
TRUNCATE app;
SELECT * FROM reads('app');
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"7"}}');
SELECT * FROM reads('app');
ROLLBACK;
SELECT * FROM reads('app');

-- an index that some snapshots may not use; catalogs say so from the transaction on that has built it
BEGIN;
UPDATE pg_index SET indcheckxmin = true WHERE indexrelid = '"app_GSI1"'::regclass;
SELECT * FROM reads('app');
UPDATE pg_index SET indcheckxmin = true WHERE indexrelid = 'app_pkey'::regclass;
SELECT * FROM reads('app');
COMMIT;
SELECT * FROM reads('app');

-- a btree that has more entries than the index: items without the key are none of it
DROP INDEX "app_GSI1";
CREATE INDEX ON app (g, pk, sk);
SELECT dyn_put('app', '{"pk":{"S":"b"},"sk":{"N":"1"}}');
SELECT index, store, items_read FROM unnest(ARRAY['GSI1', NULL]) index, dyn_explain('app', index_name => index);
SELECT count(*), count(DISTINCT i->>'sk') FROM generate_series(0, 2) s, dyn_scan('app', index_name => 'GSI1', segment => s, total_segments => 3) i;

-- an unlogged table
ALTER TABLE app SET UNLOGGED;
SELECT * FROM reads('app');

-- keys that their entries have compressed
SELECT count(dyn_put('app', jsonb_build_object('pk', repeat('k', 900), 'sk', n))) FROM generate_series(1, 100) n;
SELECT count(*) FROM generate_series(1, 101) n WHERE dyn_get('app', jsonb_build_object('pk', repeat('k', 900), 'sk', n)) IS NOT NULL;
SELECT count(dyn_delete('app', jsonb_build_object('pk', repeat('k', 900), 'sk', n), return_values => 'ALL_OLD')) FROM generate_series(1, 101) n;

-- an error in the middle of a read leaves nothing behind, and the next one finds everything
SELECT count(dyn_put('app', jsonb_build_object('pk', 'large', 'sk', n, 'body', repeat(md5(n::text), 30)))) FROM generate_series(1, 300) n;
SET work_mem = '64kB';
SET temp_file_limit = 0;
DO $$
BEGIN
	FOR i IN 1..2 LOOP
		BEGIN
			PERFORM count(*) FROM dyn_query('app', 'pk = :p', vals => '{":p":{"S":"large"}}');
		EXCEPTION WHEN configuration_limit_exceeded THEN
			RAISE NOTICE 'error %', SQLSTATE;
		END;
	END LOOP;
END $$;
RESET temp_file_limit;
SELECT count(*) FROM dyn_query('app', 'pk = :p', vals => '{":p":{"S":"large"}}');
RESET work_mem;

-- statistics count what is read as they count any scan
CREATE FUNCTION scans(setting text, call text, OUT store text, OUT scans bigint, OUT fetched bigint) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('dynamo_table.direct_store', setting, true);
	store := e.store FROM dyn_explain('app') e;
	scans := -pg_stat_get_xact_numscans('app_pkey'::regclass);
	fetched := -pg_stat_get_xact_tuples_fetched('app_pkey'::regclass);
	EXECUTE call;
	scans := scans + pg_stat_get_xact_numscans('app_pkey'::regclass);
	fetched := fetched + pg_stat_get_xact_tuples_fetched('app_pkey'::regclass);
END $$;
SELECT scans.*, call FROM unnest(ARRAY[$$SELECT dyn_get('app', '{"pk":{"S":"a"},"sk":{"N":"2"}}')$$,
	$$SELECT dyn_query('app', 'pk = :p', vals => '{":p":{"S":"a"}}')$$]) call,
  unnest(ARRAY['on', 'off']) setting, scans(setting, call);

DROP TABLE app, parted;
DROP FUNCTION reads, why, reads_as_owner, scans;
DROP ROLE dyn_direct, dyn_direct_group;
