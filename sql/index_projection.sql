-- What reads of indexes return: docs/semantics.md, I12 to I18, Q17, F07; reads of keys alone.
CREATE FUNCTION why(call text, OUT state text, OUT message text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'SELECT ' || call;
	message := 'accepted';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT;
END $$;
SELECT dyn_create_table('app', 'PK S', 'SK S',
	global_indexes => '{"Keys":{"partition_key":"g S","sort_key":"n N","projection":"KEYS_ONLY"},
	"Some":{"partition_key":"g S","sort_key":"n N","projection":"INCLUDE","non_key_attributes":["Role","absent","m.a"]},
    "All":{"partition_key":"g S","sort_key":"n N","projection":"ALL"}}',
  local_indexes => '{"LKeys":{"sort_key":"n N","projection":"KEYS_ONLY"},"LSome":{"sort_key":"n N","projection":"INCLUDE","non_key_attributes":["Role"]},
    "LAll":{"sort_key":"n N","projection":"ALL"}}');
SELECT dyn_put('app', '{"PK":{"S":"p"},"SK":{"S":"s"},"g":{"S":"x"},"n":{"N":"1.50"},"Role":{"M":{"a":{"S":"admin"},"b":{"L":[{"S":"y"}]}}},
	"m":{"M":{"a":{"S":"nested"}}},"m.a":{"S":"dotted"},"extra":{"SS":["b","a"]}}');
SELECT dyn_put('app', '{"PK":{"S":"p"},"SK":{"S":"t"},"g":{"S":"x"},"n":{"N":"2"},"extra":{"S":"unlike"}}');

-- I12 to I14, I17: what each has
SELECT index, i AS item FROM unnest(ARRAY['Keys', 'Some', 'All']) index, dyn_query('app', 'g = :g', vals => '{":g":{"S":"x"}}', index_name => index) i;
SELECT index, i AS item FROM unnest(ARRAY['LKeys', 'LSome', 'LAll']) index, dyn_query('app', 'PK = :p', vals => '{":p":{"S":"p"}}', index_name => index) i;
SELECT index, i AS item FROM unnest(ARRAY['Keys', 'Some', 'LKeys', 'LSome']) index, dyn_scan('app', index_name => index) i;
-- Q17 modes
CREATE FUNCTION select_modes(index text, OUT mode text, OUT projection text, OUT answer text) RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
	local boolean := index IS NULL OR index LIKE 'L%';
BEGIN
	FOR mode, projection IN SELECT m, p FROM unnest(ARRAY[NULL, 'ALL_ATTRIBUTES', 'ALL_PROJECTED_ATTRIBUTES', 'SPECIFIC_ATTRIBUTES', 'COUNT']) m,
		unnest(ARRAY[NULL, 'n, SK', '#r.a, SK', 'extra']) p LOOP
		BEGIN
			SELECT CASE WHEN q.items IS NULL THEN '' ELSE array_to_string(q.items, ' ') END || '/' || item_count INTO answer
				FROM dyn_query_page('app', CASE WHEN local THEN 'PK = :v' ELSE 'g = :v' END,
			  vals => jsonb_build_object(':v', CASE WHEN local THEN 'p' ELSE 'x' END), names => CASE WHEN projection LIKE '#r%' THEN '{"#r":"Role"}'::jsonb END,
			    projection => projection, index_name => index, select_mode => mode, page_size => 1) q;
		EXCEPTION WHEN OTHERS THEN
			answer := SQLERRM;
		END;
		RETURN NEXT;
	END LOOP;
END $$;
SELECT index, s.* FROM unnest(ARRAY['Keys', 'Some', 'LKeys', 'LSome', NULL]) index, select_modes(index) s;
SELECT m, (why(format('dyn_scan(''app'', select_mode => %L)', m))).* FROM unnest(ARRAY['count', 'all_attributes', '', 'ALL', 'ALL_ATTRIBUTES']) m;
-- F07: to the filter of a scan what a global index does not project is missing
SELECT index, f, (SELECT array_agg(i -> 'SK') FROM dyn_scan('app', filter => f, index_name => index) i) AS found
FROM unnest(ARRAY['Keys', 'Some', 'All', 'LKeys']) index, unnest(ARRAY['attribute_exists(extra)', 'attribute_not_exists(extra)']) f;
SELECT array_agg(i -> 'SK') AS found, (SELECT array_agg(i) FROM dyn_scan('app', filter => 'attribute_exists(#r.a) AND attribute_not_exists(m)',
	names => '{"#r":"Role"}', index_name => 'Some') i) AS items FROM dyn_scan('app', filter => 'size(#r.b) = :1', names => '{"#r":"Role"}',
	vals => '{":1":{"N":"1"}}', index_name => 'Some') i;
SELECT item_count, scanned_count FROM dyn_scan_page('app', filter => 'attribute_exists(extra)', index_name => 'Keys', select_mode => 'COUNT');
-- I15 filters too; I16 a local index fetches
SELECT c, (why(c)).*
	FROM unnest(ARRAY['dyn_query(''app'', ''g = :g'', vals => ''{":g":{"S":"x"}}'', filter => ''attribute_exists(extra)'', index_name => ''Keys'')',
	'dyn_query(''app'', ''g = :g'', vals => ''{":g":{"S":"x"}}'', filter => ''attribute_exists(extra)'', index_name => ''Some'')',
  'dyn_query(''app'', ''g = :g'', vals => ''{":g":{"S":"x"}}'', filter => ''attribute_exists(SK)'', index_name => ''Keys'')',
  'dyn_query(''app'', ''g = :g'', vals => ''{":g":{"S":"x"}}'', filter => ''attribute_exists(absent)'', index_name => ''Some'')',
  'dyn_query(''app'', ''g = :g'', vals => ''{":g":{"S":"x"}}'', filter => ''attribute_exists(m.a)'', index_name => ''Some'')',
  'dyn_query(''app'', ''g = :g'', vals => ''{":g":{"S":"x"}}'', names => ''{"#m":"m.a"}'', filter => ''attribute_exists(#m)'', index_name => ''Some'')',
  'dyn_scan(''app'', filter => ''attribute_exists(extra)'', index_name => ''Keys'')',
  'dyn_scan(''app'', filter => ''attribute_exists(extra)'', index_name => ''All'')',
  'dyn_scan(''app'', filter => ''attribute_exists(extra)'', index_name => ''LKeys'')', 'dyn_scan(''app'', index_name => ''Some'', projection => ''m'')',
  'dyn_query(''app'', ''g = :g'', vals => ''{":g":{"S":"x"}}'', index_name => ''Keys'', select_mode => ''COUNT'')']) c;
SELECT i AS i16 FROM dyn_query('app', 'PK = :p', names => '{"#r":"Role"}', vals => '{":p":{"S":"p"}}', filter => 'attribute_exists(extra)',
	projection => '#r, extra', index_name => 'LKeys') i;
SELECT i AS f07 FROM dyn_query('app', 'PK = :p', vals => '{":p":{"S":"p"},":o":{"S":"unlike"}}', filter => 'extra = :o', index_name => 'LKeys') i;
SELECT i AS f07 FROM dyn_query('app', 'PK = :p', vals => '{":p":{"S":"p"},":o":{"S":"unlike"}}', filter => 'extra = :o', projection => 'n',
	index_name => 'LAll') i;
-- I18: indexes are read by queries and scans alone
SELECT (why('dyn_get(''app'', ''{"g":{"S":"x"},"n":{"N":"1.5"}}'')')).*;

-- keys are rebuilt from the index's columns: all types, the escaped characters, long and short, and all forms of a number
SELECT dyn_create_table('types', 'id S',
	global_indexes => '{"SNB":{"partition_key":["s S","n N","b B"],"projection":"KEYS_ONLY"},
	"NBS":{"partition_key":["n N","b B"],"sort_key":["s S"],"projection":"KEYS_ONLY"}}');
CREATE TEMP TABLE original AS SELECT ('{"id":{"S":"' || id || '"},"s":{"S":"' || s || '"},"n":{"N":"' || n || '"},"b":{"B":"' ||
	replace(encode(b, 'base64'), E'\n', '') || '"},"rest":{"BOOL":true}}')::dyn_item AS item
  FROM (SELECT row_number() OVER (ORDER BY s COLLATE "C", n COLLATE "C", b) AS id, *
    FROM unnest(ARRAY['x', '\u0000', '\u0001', 'a\u0000\u0001\u0001\u0000b', '\u0002\u0001', 'ÿ\ud83d\ude00', repeat('long', 250)]) s,
    unnest(ARRAY['0', '-0.0', '1.50', '-1E+2', '99999999999999999999999999999999999999', '1E-130', '9.9999999999999999999999999999999999999E+125',
      '-0.00000000000000000000000000000000000001']) n, unnest(ARRAY['\x00', '\x0001', '\x01', '\xff', decode(repeat('ab', 1000), 'hex')]::bytea[]) b) v;
SELECT count(dyn_put('types', item)) FROM original;
SELECT index, count(*), count(DISTINCT i::text), bool_and(i = dyn_project(o.item, 'id, s, n, b')) AS same FROM unnest(ARRAY['SNB', 'NBS']) index,
	dyn_scan('types', index_name => index) i LEFT JOIN original o ON o.item->>'id' = i->>'id' GROUP BY index ORDER BY index;
SELECT count(*), bool_and(i = dyn_get('types', dyn_project(i, 'id'), projection => 'id')) AS same FROM dyn_scan('types', projection => 'id') i;
SELECT i FROM dyn_query('types', 's = :s AND n = :n AND b = :b', vals => '{":s":{"S":"a\u0000\u0001\u0001\u0000b"},":n":{"N":"1.5"},":b":{"B":"AAE="}}',
	index_name => 'SNB') i;
SELECT i FROM dyn_query('types', 'n = :n AND b = :b AND begins_with(s, :s)', vals => '{":s":{"S":"\u0000"},":n":{"N":"0"},":b":{"B":"/w=="}}',
	index_name => 'NBS', select_mode => 'ALL_PROJECTED_ATTRIBUTES') i;

SELECT dyn_drop_table(t) FROM unnest(ARRAY['app', 'types']) t;
DROP TABLE original;
DROP FUNCTION why, select_modes;
