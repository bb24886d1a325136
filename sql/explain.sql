-- dyn_explain(): docs/semantics.md, Q04, Q06, Q22, S05; pages are bounded, since their number depends on the server, and on the
-- snapshots that others have while the table is vacuumed.
SELECT dyn_create_table('app', 'pk S', 'sk N',
	global_indexes => '{"GSI1":{"partition_key":"GSI1PK S","sort_key":"GSI1SK S","projection":"ALL"},
	"Keys":{"partition_key":"GSI1PK S","sort_key":"b B","projection":"KEYS_ONLY"},"Sparse":{"partition_key":"hold S","projection":"ALL"}}');
SELECT count(dyn_put('app', jsonb_build_object('pk', 'p' || c, 'sk', s, 'GSI1PK', 'g' || s % 10, 'GSI1SK', 'p' || c || '#' || s, 'body', repeat('x', 200)) ||
	CASE WHEN c = 7 AND s <= 3 THEN '{"hold":"y"}' ELSE '{}' END::jsonb)) FROM generate_series(1, 20) c, generate_series(1, 100) s;
SELECT count(dyn_update('app', jsonb_build_object('pk', 'p' || c, 'sk', s), 'SET b = :b', vals => '{":b":{"B":"AAH/"}}')) FROM generate_series(1, 20) c,
	generate_series(1, 10) s;
VACUUM ANALYZE app;
\x on
SELECT index_name, postgres_index, range, direction, items_read, items_returned, bytes_read, pages_read BETWEEN 3 AND 8 AS few_pages, index_only
	FROM dyn_explain('app', 'pk = :p AND sk BETWEEN :a AND :b', vals => '{":p":{"S":"p7"},":a":{"N":"11"},":b":{"N":"20"}}');
SELECT index_name, postgres_index, range, direction, items_read, items_returned, bytes_read, pages_read BETWEEN 3 AND 40 AS few_pages, index_only
	FROM dyn_explain('app', 'GSI1PK = :p AND begins_with(GSI1SK, :a)', vals => '{":p":{"S":"g3"},":a":{"S":"p1#"},":b":{"N":"50"}}', filter => 'sk > :b',
	forward => false, index_name => 'GSI1');
SELECT index_name, postgres_index, range, direction, items_read, items_returned, bytes_read, pages_read BETWEEN 2 AND 40 AS few_pages, index_only
	FROM dyn_explain('app', 'GSI1PK = :p AND b >= :b', vals => '{":p":{"S":"g3"},":b":{"B":"AAE="}}', index_name => 'Keys');
SELECT index_name, postgres_index, range, items_read, bytes_read, pages_read BETWEEN 3 AND 12 AS few_pages, index_only
	FROM dyn_explain('app', index_name => 'Sparse');
\x off
-- ranges in words, with bounds and positions; the position takes the place of the bound that it lies behind
SELECT c, forward, k, range, items_read FROM (VALUES (' AND sk = :s', '{":p":{"S":"p7"},":s":{"N":"5.0"}}'::dyn_item,
	'{"pk":{"S":"p7"},"sk":{"N":"4"}}'::dyn_item), (' AND sk = :s', '{":p":{"S":"p7"},":s":{"N":"5.0"}}', '{"pk":{"S":"p7"},"sk":{"N":"5"}}'),
  (' AND sk > :s', '{":p":{"S":"p7"},":s":{"N":"90"}}', '{"pk":{"S":"p7"},"sk":{"N":"95"}}'),
  (' AND sk > :s', '{":p":{"S":"p7"},":s":{"N":"90"}}', '{"pk":{"S":"p7"},"sk":{"N":"5"}}'),
  (' AND sk <= :s', '{":p":{"S":"p7"},":s":{"N":"9"}}', '{"pk":{"S":"p7"},"sk":{"N":"5"}}'),
  (' AND sk BETWEEN :s AND :t', '{":p":{"S":"p7"},":s":{"N":"-1"},":t":{"N":"9"}}', NULL),
  ('', '{":p":{"S":"p7"}}', NULL), ('', '{":p":{"S":"it''s\u0000\u0001"}}', NULL)) v (c, vals, k), unnest(ARRAY[true, false]) forward,
  dyn_explain('app', 'pk = :p' || c, vals => vals, start_key => k, forward => forward) ORDER BY c, vals::text, k::text, forward DESC;
SELECT forward, range, items_read FROM unnest(ARRAY[true, false]) forward,
	dyn_explain('app', 'GSI1PK = :p AND GSI1SK <= :s', vals => '{":p":{"S":"g3"},":s":{"S":"p2"}}',
	start_key => '{"GSI1PK":{"S":"g3"},"GSI1SK":{"S":"p19#43"},"pk":{"S":"p19"},"sk":{"N":"43"}}', index_name => 'GSI1', forward => forward);
SELECT range, items_read FROM dyn_explain('app', start_key => '{"pk":{"S":"p9"},"sk":{"N":"43"}}');
SELECT range, items_read FROM dyn_explain('app', start_key => '{"pk":{"S":"p9"},"sk":{"N":"43"},"GSI1PK":{"S":"g8"},"b":{"B":"/w=="}}', index_name => 'Keys');
-- Q04: what is read is what is asked for; Q06, Q08: of a page no more than its items; a filter saves nothing
SELECT items_read, items_returned, bytes_read FROM dyn_explain('app', 'pk = :p', vals => '{":p":{"S":"p7"}}', forward => false, page_size => 20);
SELECT items_read, items_returned, bytes_read FROM dyn_explain('app', 'pk = :p', vals => '{":p":{"S":"p7"},":n":{"N":"95"}}', filter => 'GSI1SK = :n',
	page_size => 20);
SELECT items_read, items_returned FROM dyn_explain('app', 'pk = :p', vals => '{":p":{"S":"p7"},":n":{"S":"p7#4"}}', filter => 'begins_with(GSI1SK, :n)',
	max_items => 2);
-- each page begins where the one before ended: the last page of a long read costs what the first one does
CREATE FUNCTION page_costs(condition text, vals dyn_item, index text, forward boolean, OUT pages int, OUT most int, OUT same boolean) LANGUAGE plpgsql AS $$
DECLARE
	key dyn_item;
	page record;
	cost record;
	ids int := 0;
BEGIN
	pages := 0;
	most := 0;
	LOOP
		SELECT * INTO page FROM dyn_query_page('app', condition, vals => vals, forward => forward, page_size => 5, start_key => key, index_name => index);
		SELECT * INTO cost FROM dyn_explain('app', condition, vals => vals, forward => forward, page_size => 5, start_key => key, index_name => index);
		ids := ids + page.item_count;
		pages := pages + 1;
		most := greatest(most, cost.pages_read);
		key := page.last_evaluated_key;
		EXIT WHEN key IS NULL;
	END LOOP;
	same := ids = (SELECT count(*) FROM dyn_query('app', condition, vals => vals, index_name => index));
END $$;
SELECT c, index, forward, pages, most <= 12 AS few, same FROM unnest(ARRAY[true, false]) forward,
	(VALUES ('pk = :p', NULL, '{":p":{"S":"p7"}}'::dyn_item), ('pk = :p AND sk > :s', NULL, '{":p":{"S":"p7"},":s":{"N":"3"}}'),
	('pk = :p AND sk < :s', NULL, '{":p":{"S":"p7"},":s":{"N":"97"}}'),
  ('GSI1PK = :p', 'GSI1', '{":p":{"S":"g5"}}'), ('GSI1PK = :p AND GSI1SK >= :s', 'GSI1', '{":p":{"S":"g5"},":s":{"S":"p1"}}'),
  ('GSI1PK = :p AND begins_with(GSI1SK, :s)', 'GSI1', '{":p":{"S":"g5"},":s":{"S":"p"}}'),
  ('GSI1PK = :p AND b <= :s', 'Keys', '{":p":{"S":"g5"},":s":{"B":"/w=="}}')) v (c, index, vals),
  page_costs(c, vals, index, forward) ORDER BY c, forward;
-- index-only: keys, of indexes that project no more, or where a query asks for no more
SELECT index, projection, filter, page_size, index_only, items_read FROM (VALUES ('Keys', NULL, NULL, NULL), ('Keys', 'sk', NULL, NULL),
	('Keys', NULL, 'sk > :n', 5), ('GSI1', NULL, NULL, NULL), ('GSI1', 'pk, sk', NULL, NULL), ('GSI1', 'pk, sk', NULL, 5), ('GSI1', 'pk, body', NULL, NULL),
	('GSI1', 'pk', 'body > :n', NULL)) v (index, projection, filter, page_size),
  dyn_explain('app', 'GSI1PK = :g', vals => CASE WHEN filter IS NULL THEN '{":g":{"S":"g3"}}'::dyn_item ELSE '{":g":{"S":"g3"},":n":{"N":"0"}}' END,
    filter => filter, projection => projection, index_name => index, page_size => page_size);
SELECT projection, index_only, items_returned FROM unnest(ARRAY['pk, sk', 'sk', 'sk, body']) projection,
	dyn_explain('app', 'pk = :p', vals => '{":p":{"S":"p7"}}', projection => projection);
SELECT index_only, items_returned FROM dyn_explain('app', index_name => 'Sparse', select_mode => 'COUNT');
-- which store serves the table, and why not the direct one
SET dynamo_table.direct_store = on;
SELECT dyn_create_table('served', 'pk S', 'sk N', global_indexes => '{"GSI1":{"partition_key":"g S","projection":"ALL"}}');
SELECT store, store_reason, write_store, write_store_reason FROM dyn_explain('served');
CREATE FUNCTION stores(relation text, OUT reads text, OUT writes text) LANGUAGE sql AS $$
	SELECT store || coalesce(': ' || store_reason, ''), write_store || coalesce(': ' || write_store_reason, '') FROM dyn_explain(relation, max_items => 1) $$;
CREATE FUNCTION stores_after(change text, OUT reads text, OUT writes text) LANGUAGE plpgsql AS $$
BEGIN
	BEGIN
		EXECUTE change;
		SELECT s.reads, s.writes INTO reads, writes FROM stores('served') s;
		RAISE EXCEPTION USING ERRCODE = 'ZZ000';
	EXCEPTION WHEN SQLSTATE 'ZZ000' THEN
	END;
END $$;
CREATE DOMAIN document AS dyn_item;
CREATE FUNCTION as_it_is() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN new; END $$;
CREATE ROLE dyn_explainer;
SELECT change, s.* FROM unnest(ARRAY['SELECT 1', 'SET LOCAL dynamo_table.direct_store = off', 'ALTER TABLE served ENABLE ROW LEVEL SECURITY',
	'ALTER TABLE served SET ACCESS METHOD heap', 'CREATE RULE r AS ON DELETE TO served DO ALSO NOTHING',
	'ALTER TABLE served ALTER item TYPE document', 'ALTER TABLE served ALTER g SET NOT NULL', 'ALTER TABLE served ALTER sk TYPE numeric(38)',
	'ALTER TABLE served DISABLE TRIGGER "~dynamo_keys"',
	'CREATE TRIGGER "~~last" BEFORE INSERT ON served FOR EACH ROW EXECUTE FUNCTION as_it_is()',
	'CREATE TRIGGER first BEFORE INSERT ON served FOR EACH ROW EXECUTE FUNCTION as_it_is()', 'ALTER TABLE served ADD note text DEFAULT $n$x$n$',
	'ALTER TABLE served DROP CONSTRAINT served_pkey; ALTER TABLE served ADD CONSTRAINT served_pkey PRIMARY KEY (pk, sk) INCLUDE (g)',
	'UPDATE pg_index SET indcheckxmin = true WHERE indexrelid = $i$served_pkey$i$::regclass',
	'GRANT SELECT (item, pk, sk, g), INSERT (item), UPDATE ON served TO dyn_explainer; SET LOCAL ROLE dyn_explainer',
	'GRANT SELECT, INSERT (item), UPDATE ON served TO dyn_explainer; SET LOCAL ROLE dyn_explainer',
	'GRANT SELECT, INSERT, UPDATE (item) ON served TO dyn_explainer; SET LOCAL ROLE dyn_explainer',
	'GRANT SELECT, INSERT, UPDATE ON served TO dyn_explainer; SET LOCAL ROLE dyn_explainer',
	'GRANT SELECT ON served TO dyn_explainer; SET LOCAL ROLE dyn_explainer']) WITH ORDINALITY c (change, i), stores_after(change) s ORDER BY i;
-- the same words for a query, and of an index
BEGIN;
ALTER TABLE served ENABLE ROW LEVEL SECURITY;
SELECT store, store_reason, write_store, write_store_reason FROM dyn_explain('served', 'pk = :p', vals => '{":p":{"S":"a"}}');
ROLLBACK;
BEGIN;
UPDATE pg_index SET indcheckxmin = true WHERE indexrelid = '"served_GSI1"'::regclass;
SELECT index, store, store_reason, write_store FROM unnest(ARRAY['GSI1', NULL]) index, dyn_explain('served', index_name => index);
ROLLBACK;
-- an old snapshot, which does not look for what it writes either
BEGIN ISOLATION LEVEL REPEATABLE READ;
UPDATE pg_index SET indcheckxmin = true WHERE indexrelid = 'served_pkey'::regclass;
SELECT * FROM stores('served');
ROLLBACK;
-- partitioned tables and partitions
CREATE TABLE parted (LIKE served INCLUDING ALL) PARTITION BY HASH (pk);
CREATE TABLE part PARTITION OF parted FOR VALUES WITH (MODULUS 1, REMAINDER 0) USING dynamo_table;
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON parted FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S', 'sk N',
	'{"name": "GSI1", "type": "global", "partition_key": ["g S"], "projection": "ALL"}');
SELECT relation, s.* FROM unnest(ARRAY['parted', 'part']) relation, stores(relation) s;
DROP TABLE parted, served;
DROP FUNCTION stores, stores_after, as_it_is;
DROP DOMAIN document;
DROP ROLE dyn_explainer;
RESET dynamo_table.direct_store;
-- errors are those of the call itself
SELECT dyn_explain(NULL);
SELECT dyn_explain('app', 'sk = :p', vals => '{":p":{"N":"1"}}');
SELECT dyn_explain('app', forward => false);
SELECT dyn_explain('app', index_name => 'nope');
SELECT dyn_explain('app', page_size => 0);
DROP FUNCTION page_costs;
SELECT dyn_drop_table('app');
