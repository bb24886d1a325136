-- Items whose bytes are damaged: an error or a result, and never what lies beside them in memory
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
-- only who may read all of the server's memory anyway can make such values
CREATE CAST (bytea AS dyn_item) WITHOUT FUNCTION;
CREATE CAST (bytea AS dyn_value) WITHOUT FUNCTION;

-- N: no digit, more digits than a number has, digits that are none, and what is no number at all
SELECT v::dyn_value FROM (VALUES ('\x1002c1'::bytea)) t (v);
SELECT ('\x1002c1'::bytea || decode(repeat('02', 20), 'hex'))::dyn_value;
SELECT ('\x1002c1'::bytea || decode(repeat('61', 5000), 'hex'))::dyn_value;
SELECT '\x1002c1ff'::bytea::dyn_value;
SELECT '\x1002616263'::bytea::dyn_value ->> 'x';
SELECT '\x10070105016e02c1fe'::bytea::dyn_item ->> 'n';
SELECT '\x10070105016e02c1fe'::bytea::dyn_item::jsonb;
SELECT dynamo_internal.attribute('\x10070105016e02c1fe'::bytea::dyn_item, 'n', 'N', NULL::bigint);
SELECT dyn_apply('\x10070105016e02c1fe'::bytea::dyn_item, 'SET n = n + :n', vals => '{":n":{"N":"1"}}');
SELECT dyn_size('\x10070104016e02c1'::bytea::dyn_item);
\set VERBOSITY terse
-- nothing, an unknown type, a wrong width, a count and an end behind the end, a name that is longer than its entry, a value that is not there
SELECT '\x'::bytea::dyn_value;
SELECT '\x10'::bytea::dyn_value;
SELECT '\x1000'::bytea::dyn_value;
SELECT '\x100b'::bytea::dyn_value;
SELECT '\x103701'::bytea::dyn_value;
SELECT '\x1006ff01'::bytea::dyn_value;
SELECT '\x1026ffffffff'::bytea::dyn_value;
SELECT '\x100602010501'::bytea::dyn_value;
SELECT '\x10060202010101'::bytea::dyn_value;
SELECT '\x10070103ff0161'::bytea::dyn_item;
SELECT '\x10070103ffffff'::bytea::dyn_item;
SELECT '\x100701020161'::bytea::dyn_item;
SELECT '\x10070100'::bytea::dyn_item;
-- deeper than the stack
SELECT count(v::text) FROM (SELECT ('\x10'::bytea || string_agg(decode('26' || '01000000' || lpad(to_hex(d % 256), 2, '0') ||
	lpad(to_hex(d / 256 % 256), 2, '0') ||
	lpad(to_hex(d / 65536), 2, '0') || '00', 'hex'), '' ORDER BY i) || '\x04')::dyn_value AS v
	FROM (SELECT i, (100000 - i) * 9 + 1 AS d FROM generate_series(1, 100000) i) l) x;
SELECT dyn_size(v) FROM (SELECT ('\x10'::bytea || string_agg(decode('26' || '01000000' || lpad(to_hex(d % 256), 2, '0') ||
	lpad(to_hex(d / 256 % 256), 2, '0') ||
	lpad(to_hex(d / 65536), 2, '0') || '00', 'hex'), '' ORDER BY i) || '\x04')::dyn_item AS v
	FROM (SELECT i, (100000 - i) * 9 + 1 AS d FROM generate_series(1, 100000) i) l) x;

-- Each byte of an item with all types in it, changed in each way that may matter, read in each way
CREATE TEMP TABLE damaged AS
	SELECT i, c, set_byte(b, i, c) AS bytes
	FROM (SELECT substr(dynamo_internal.item_send('{"n":{"N":"-12.5"},"a":{"S":"x"},"l":{"L":[{"N":"7"},{"M":{"y":{"N":"1"}}}]},
		"m":{"M":{"x":{"M":{"z":{"NULL":true}}}}},"ss":{"SS":["p","q"]},
			"ns":{"NS":["1","-2"]},"bs":{"BS":["AQ=="]},"b":{"B":"AQI="},"t":{"BOOL":true},"pk":{"S":"k"}}'), 2)) o (b),
		generate_series(1, length(b) - 1) i, unnest(ARRAY[0, 1, 2, 7, 10, 15, 27, 39, 55, 127, 128, 193, 255]) c
	WHERE get_byte(b, i) <> c;
INSERT INTO damaged SELECT -n, 0, substr(b, 1, n)
	FROM (SELECT substr(dynamo_internal.item_send('{"a":{"S":"x"},"l":{"L":[{"N":"7"},{"L":[]}]},"ns":{"NS":["1","2"]}}'), 2)) o (b), generate_series(2, 40) n;
CREATE FUNCTION read_all(v bytea) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	item dyn_item := v::dyn_item;
	statement text;
	result text;
BEGIN
	FOREACH statement IN ARRAY ARRAY['SELECT $1::text', 'SELECT $1::json', 'SELECT $1::jsonb', 'SELECT $1 -> ''l''', 'SELECT ($1 -> ''l'') -> 1',
		'SELECT $1 ->> ''a''', 'SELECT $1 ->> ''n''',
			'SELECT $1 #>> ''{m,x,z}''', 'SELECT $1 ? ''t''', 'SELECT dyn_size($1)', 'SELECT $1 = $1', 'SELECT dynamo_internal.item_hash($1)',
			'SELECT dynamo_internal.item_send($1)',
			'SELECT dyn_matches($1, ''size(l) > :n AND contains(ss, :s) OR ns = :x OR begins_with(a, :s) OR m.x.z < :n OR contains(l, :n)'',
				vals => ''{":n":{"N":"1"},":s":{"S":"q"},":x":{"NS":["1"]}}'')',
			'SELECT dyn_project($1, ''l[1].y, m.x, a, ns'')',
			'SELECT dyn_apply($1, ''SET n = n + :n, m.x.w = :n, l = list_append(l, :l) REMOVE a ADD ns :x DELETE ss :s'',
				vals => ''{":n":{"N":"1"},":x":{"NS":["5"]},":s":{"SS":["p"]},":l":{"L":[]}}'')',
			'SELECT dynamo_internal.attribute($1, ''ns'', ''NS'', NULL::numeric[])', 'SELECT dynamo_internal.attribute($1, ''l'', ''L'', NULL::jsonb)',
			'SELECT dynamo_internal.attribute($1, ''m'', ''M'', NULL::jsonb)',
			'SELECT dynamo_internal.attribute($1, ''n'', ''N'', NULL::timestamptz)', 'SELECT dynamo_internal.attribute($1, ''ss'', ''SS'', NULL::text[])',
			'SELECT dynamo_internal.attribute($1, ''l'', ''L'', NULL::integer[])',
			'SELECT dynamo_internal.render(''A#<a>#<m.x>#<n:05>'', $1)', 'SELECT dynamo_internal.keys_match($1, ''{pk S,n N}'', ''k''::text, -12.5)',
			'SELECT dynamo_internal.is_entity($1, ''{"entity":"X","keys":{"pk":"<a>"},"attributes":{"a":"S","n":"N"}}'', ''k''::text)'] LOOP
		BEGIN
			EXECUTE statement INTO result USING item;
			RETURN NEXT 'ok';
		EXCEPTION WHEN OTHERS THEN
			RETURN NEXT CASE WHEN SQLSTATE LIKE 'XX%' OR SQLSTATE LIKE '58%' THEN SQLSTATE ELSE 'ok' END;
		END;
	END LOOP;
END $$;
SELECT outcome, count(*) > 100 FROM damaged, read_all(bytes) outcome GROUP BY outcome ORDER BY 1;

-- stored: reading says so, and the item can be replaced and deleted
SELECT dyn_create_table('damaged_items', 'pk S');
INSERT INTO damaged_items (item) VALUES ('{"pk":{"S":"a"},"v":{"S":"x"}}'),
	((substr(dynamo_internal.item_send('{"pk":{"S":"b"},"v":{"S":"xxx"}}'), 2, length(dynamo_internal.item_send('{"pk":{"S":"b"},"v":{"S":"xxx"}}')) - 5) ||
	'\x02787878'::bytea)::dyn_item),
	((substr(dynamo_internal.item_send('{"pk":{"S":"c"},"v":{"S":"xxx"}}'), 2, length(dynamo_internal.item_send('{"pk":{"S":"c"},"v":{"S":"xxx"}}')) - 5) ||
	'\x06787878'::bytea)::dyn_item);
SELECT count(*) FROM damaged_items;
SELECT * FROM damaged_items ORDER BY pk;
COPY damaged_items TO STDOUT;
SELECT dyn_get('damaged_items', '{"pk":{"S":"b"}}');
SELECT dyn_scan('damaged_items');
SELECT dyn_query('damaged_items', 'pk = :p', filter => 'v > :n', vals => '{":p":{"S":"b"},":n":{"N":"1"}}');
SELECT dyn_request('Scan', '{"TableName": "damaged_items"}');
SELECT dyn_request('GetItem', '{"TableName": "damaged_items", "Key": {"pk": {"S": "c"}}}');
SELECT dyn_update('damaged_items', '{"pk":{"S":"b"}}', 'SET v = v + :n', vals => '{":n":{"N":"1"}}');
SELECT dyn_export('damaged_items');
SELECT dyn_delete('damaged_items', '{"pk":{"S":"b"}}');
SELECT dyn_put('damaged_items', '{"pk":{"S":"c"},"v":{"S":"y"}}');
SELECT item FROM damaged_items ORDER BY pk;

DROP TABLE damaged_items;
DROP FUNCTION read_all;
DROP CAST (bytea AS dyn_item);
DROP CAST (bytea AS dyn_value);
