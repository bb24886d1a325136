-- dyn_query_page(), dyn_scan_page(): docs/semantics.md, Q08 to Q12, Q16, Q17, S02, S03, L02, L13.
-- Q08, Q11, Q16: page_size counts what is evaluated
SELECT dyn_create_table('app', 'pk S', 'sk N',
	global_indexes => '{"Keys":{"partition_key":"g S","sort_key":"h S","projection":"KEYS_ONLY"},
	"Some":{"partition_key":"g S","sort_key":"h S","projection":"INCLUDE","non_key_attributes":["k"]},
	"All":{"partition_key":"g S","sort_key":"h S","projection":"ALL"}}',
  local_indexes => '{"Local":{"sort_key":"h S","projection":"KEYS_ONLY"}}');
SELECT count(dyn_put('app', jsonb_build_object('pk', 'a', 'sk', s, 'k', s % 3))) FROM generate_series(1, 3) s;
SELECT page_size, p.* FROM unnest(ARRAY[1, 2, 3, 4, NULL]) page_size, dyn_query_page('app', 'pk = :a', vals => '{":a":{"S":"a"},":z":{"N":"0"}}',
	filter => 'k = :z', page_size => page_size) p;
SELECT page_size, p.* FROM unnest(ARRAY[2, 3]) page_size, dyn_query_page('app', 'pk = :a', vals => '{":a":{"S":"a"},":z":{"N":"0"}}', filter => 'k = :z',
	projection => 'sk', forward => false, page_size => page_size) p;
SELECT * FROM dyn_query_page('app', 'pk = :a', vals => '{":a":{"S":"a"}}', page_size => 1, start_key => '{"pk":{"S":"a"},"sk":{"N":"3"}}');
SELECT * FROM dyn_query_page('app', 'pk = :a AND sk = :s', vals => '{":a":{"S":"a"},":s":{"N":"2"}}', page_size => 1);
SELECT * FROM dyn_query_page('app', 'pk = :a AND sk = :s', vals => '{":a":{"S":"a"},":s":{"N":"2"}}', start_key => '{"pk":{"S":"a"},"sk":{"N":"2"}}');
SELECT items, item_count FROM dyn_query_page('app', 'pk = :a', vals => '{":a":{"S":"nobody"}}');
SELECT items, item_count, scanned_count FROM dyn_query_page('app', 'pk = :a', vals => '{":a":{"S":"a"},":z":{"N":"0"}}', filter => 'k = :z',
	select_mode => 'COUNT');
SELECT dyn_query_page('app', 'pk = :a', vals => '{":a":{"S":"a"}}', page_size => 0);
SELECT dyn_query_page('app', 'pk = :a', vals => '{":a":{"S":"a"}}', page_size => -5);
SELECT dyn_query_page(NULL, 'pk = :a');
SELECT dyn_query_page('app', NULL);
SELECT count(*) FROM dyn_query_page('app', 'pk = :a', vals => '{":a":{"S":"a"}}', page_size => 9223372036854775807);

-- Q09, L02: a page ends with the item that reaches 1,048,576 bytes, before filter and projection
SELECT count(dyn_put('app', ('{"pk":{"S":"big"},"sk":{"N":"' || s || '"},"pad":{"S":"' || repeat('x', 100000) || '"}}')::dyn_item))
	FROM generate_series(1, 30) s;
SELECT item_count, scanned_count, last_evaluated_key->'sk' AS sk, cardinality(items) FROM dyn_query_page('app', 'pk = :a', vals => '{":a":{"S":"big"}}');
SELECT item_count, scanned_count, last_evaluated_key->'sk' AS sk FROM dyn_query_page('app', 'pk = :a', vals => '{":a":{"S":"big"}}', projection => 'sk',
	page_size => 100, forward => false);
SELECT item_count, scanned_count, last_evaluated_key->'sk' AS sk FROM dyn_query_page('app', 'pk = :a', vals => '{":a":{"S":"big"}}', select_mode => 'COUNT',
	page_size => 10);
SELECT item_count, scanned_count, items, last_evaluated_key->'sk' AS s03
	FROM dyn_query_page('app', 'pk = :a', vals => '{":a":{"S":"big"}}', filter => 'attribute_exists(nope)');
WITH RECURSIVE page AS (SELECT 1 AS n, p.* FROM dyn_scan_page('app', filter => 'attribute_exists(nope)') p UNION ALL SELECT n + 1, p.* FROM page,
	dyn_scan_page('app', filter => 'attribute_exists(nope)', start_key => page.last_evaluated_key) p WHERE page.last_evaluated_key IS NOT NULL)
  SELECT n, item_count, scanned_count, last_evaluated_key FROM page;
SELECT count(*) AS complete FROM dyn_query('app', 'pk = :a', vals => '{":a":{"S":"big"}}');
-- to the byte: 1,024 items of 1,024 bytes are a page, of 1,023 one more
SELECT count(dyn_put('app', item)) FROM (SELECT jsonb_build_object('pk', 'n' || bytes, 'sk', s, 'pad',
	repeat('x', bytes - dyn_size(jsonb_build_object('pk', 'n' || bytes, 'sk', s, 'pad', '')))) AS item FROM unnest(ARRAY[1023, 1024]) bytes,
	generate_series(1001, 2100) s) x;
SELECT bytes, scanned_count FROM unnest(ARRAY[1023, 1024]) bytes, dyn_query_page('app', 'pk = :a', vals => jsonb_build_object(':a', 'n' || bytes));
-- of an index it is what the index projects, as in the size of its entries
SELECT count(dyn_put('app', ('{"pk":{"S":"p' || s || '"},"sk":{"N":"1"},"g":{"S":"x"},"h":{"S":"' || lpad(s::text, 4, '0') || '"},"k":{"S":"' ||
	repeat('k', 10000) || '"},"pad":{"S":"' || repeat('x', 90000) || '"}}')::dyn_item)) FROM generate_series(1, 150) s;
SELECT index, item_count, scanned_count, last_evaluated_key FROM unnest(ARRAY['Keys', 'Some', 'All']) index,
	dyn_query_page('app', 'g = :x', vals => '{":x":{"S":"x"}}', index_name => index);
SELECT index, item_count, scanned_count, last_evaluated_key FROM unnest(ARRAY['Keys', 'Some', 'All']) index,
	dyn_scan_page('app', index_name => index, select_mode => 'COUNT');
SELECT count(dyn_put('app', jsonb_build_object('pk', 'loc', 'sk', s, 'h', repeat('h', 100), 'pad', repeat('x', 20000)))) FROM generate_series(1, 100) s;
SELECT scanned_count, dyn_size(items[1]) FROM dyn_query_page('app', 'pk = :x', vals => '{":x":{"S":"loc"}}', index_name => 'Local');
SELECT scanned_count, dyn_size(items[1]) FROM dyn_query_page('app', 'pk = :x', vals => '{":x":{"S":"loc"}}', index_name => 'Local',
	select_mode => 'ALL_ATTRIBUTES');
SELECT scanned_count, dyn_size(items[1]) FROM dyn_query_page('app', 'pk = :x', vals => '{":x":{"S":"loc"}}');
-- N09: each page sees what is there when it is read
SELECT last_evaluated_key AS key FROM dyn_query_page('app', 'pk = :a', vals => '{":a":{"S":"a"}}', page_size => 1) \gset
SELECT dyn_delete('app', '{"pk":{"S":"a"},"sk":{"N":"2"}}');
SELECT items FROM dyn_query_page('app', 'pk = :a', vals => '{":a":{"S":"a"}}', start_key => :'key');
SELECT dyn_drop_table('app');
