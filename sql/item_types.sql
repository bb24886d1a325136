-- The ten attribute types: docs/semantics.md, T01 to T24.

-- T01 ten types go in and come out
SELECT '{"s":{"S":"text"},"n":{"N":"5"},"b":{"B":"AQID"},"t":{"BOOL":true},"f":{"BOOL":false},"z":{"NULL":true},
  "l":{"L":[{"N":"1"},{"S":"two"},{"M":{"k":{"N":"3"}}}]},"m":{"M":{"a":{"N":"1"},"q":{"M":{"c":{"S":"d"}}}}},
  "ss":{"SS":["a","b","c"]},"ns":{"NS":["1","2"]},"bs":{"BS":["AQ==","Ag=="]}}'::dyn_item;

-- T02 types are explicit
SELECT '{"a":{"S":"1565954664"}}'::dyn_item = '{"a":{"N":"1565954664"}}'::dyn_item AS t02;

-- T03 typed JSON
SELECT '{"a":{"N":"5"}}'::dyn_item;
SELECT '{"a":{"N":5}}'::dyn_item;
SELECT '{"a":{"X":"5"}}'::dyn_item;
SELECT '{"a":{"S":"a","N":"1"}}'::dyn_item;

-- T04 plain form in and out
SELECT '{"Year":1994,"ok":true,"none":null,"list":[1,"a"],"map":{"k":"v"}}'::jsonb::dyn_item;
SELECT ('{"Year":{"N":"1994"}}'::dyn_item)::jsonb;

-- T05 38 digits, 1E-130 to 9.99E+125, never rounded
SELECT '{"n":{"N":"12345678901234567890123456789012345678"}}'::dyn_item;
SELECT '{"n":{"N":"-0.00000000000000000000000000000000000012345678901234567890123456789012345678"}}'::dyn_item;
SELECT '{"n":{"N":"123456789012345678901234567890123456789"}}'::dyn_item;
SELECT '{"n":{"N":"1234567890123456789012345678901234567890"}}'::dyn_item;
SELECT '{"n":{"N":"1.2345678901234567890123456789012345678901"}}'::dyn_item;
SELECT '{"n":{"N":"1e126"}}'::dyn_item;
SELECT '{"n":{"N":"-1e126"}}'::dyn_item;
SELECT '{"n":{"N":"1e-131"}}'::dyn_item;
SELECT '{"n":{"N":"1e99999999999999999999"}}'::dyn_item;
SELECT '{"n":{"N":"1e-99999999999999999999"}}'::dyn_item;
SELECT '{"n":{"N":"9.9999999999999999999999999999999999999e125"}}'::dyn_item ->> 'n'
  = repeat('9', 38) || repeat('0', 88) AS largest;
SELECT '{"n":{"N":"1e-130"}}'::dyn_item ->> 'n' = '0.' || repeat('0', 129) || '1' AS smallest;

-- integers of few digits are read and written by themselves: they and their neighbours, both ways
SELECT count(*), count(*) FILTER (WHERE item ->> 'n' <> i::text OR dynamo_internal.attribute(item, 'n', 'N', NULL::bigint) <> i) AS wrong
FROM (SELECT i, jsonb_build_object('n', i)::dyn_item AS item FROM (SELECT generate_series(-200, 20200) UNION ALL
	SELECT m * (10::numeric ^ e)::bigint + d FROM generate_series(0, 17) e, generate_series(1, 9) m, generate_series(-2, 2) d) AS n (i)) AS items;

-- T06 canonical form
SELECT n, ('{"N":"' || n || '"}')::dyn_value ->> 'x' IS NULL AS no_map, ('{"N":"' || n || '"}')::dyn_value
  FROM unnest(ARRAY['0001.230', '1.0', '+3', '-0', '0', '0.000', '-0.0e5', '1e0', '1E2', '1e+2', '120e-1', '.5', '5.',
    '-12.50', '100', '1000', '0.01', '0.001', '99', '99.9', '-99.99', '100.01', '0e999']) n;
SELECT '{"n":{"N":" 1"}}'::dyn_item;
SELECT '{"n":{"N":"1 "}}'::dyn_item;
SELECT '{"n":{"N":""}}'::dyn_item;
SELECT '{"n":{"N":"1 2"}}'::dyn_item;
SELECT '{"n":{"N":"NaN"}}'::dyn_item;
SELECT '{"n":{"N":"Infinity"}}'::dyn_item;
SELECT '{"n":{"N":"1e"}}'::dyn_item;
SELECT '{"n":{"N":"1e1.5"}}'::dyn_item;
SELECT '{"n":{"N":"."}}'::dyn_item;
SELECT '{"n":{"N":"--1"}}'::dyn_item;
SELECT '{"n":{"N":"1.2.3"}}'::dyn_item;
SELECT '{"n":{"N":"0x10"}}'::dyn_item;

-- T07 the order of numbers, which arithmetic and sets rely on: a set comes out sorted by value
SELECT '{"NS":["10","9","-1","1.5","2e1","0","-1.5","-10","1e-130","-1e125","1e125","0.5","-0.5","-1.55"]}'::dyn_value;

-- T08 bytes
SELECT '{"b":{"B":"AQID"}}'::dyn_item, dyn_size('{"b":{"B":"AQID"}}');
SELECT '{"BS":["gA==","fw==","AA==","gAA="]}'::dyn_value;
SELECT '{"b":{"B":"AQI"}}'::dyn_item;
SELECT '{"b":{"B":"AQ=D"}}'::dyn_item;
SELECT '{"b":{"B":"AQ==AQ=="}}'::dyn_item;
SELECT '{"b":{"B":"A*ID"}}'::dyn_item;
SELECT '{"b":{"B":"AQ ID"}}'::dyn_item;
SELECT '{"b":{"B":"===="}}'::dyn_item;
SELECT '{"b":{"B":5}}'::dyn_item;

-- T09 BOOL
SELECT '{"t":{"BOOL":true},"f":{"BOOL":false}}'::dyn_item;
SELECT '{"t":{"BOOL":"true"}}'::dyn_item;
SELECT '{"t":{"BOOL":null}}'::dyn_item;

-- T10 NULL is a value
SELECT '{"z":{"NULL":true}}'::dyn_item ? 'z' AS exists,
       '{"z":{"NULL":true}}'::dyn_item -> 'z' = '{"NULL":true}' AS equal,
       '{"z":{"NULL":true}}'::dyn_item ->> 'z' AS as_text;

-- T11 its payload is true
SELECT '{"z":{"NULL":false}}'::dyn_item;
SELECT '{"z":{"NULL":null}}'::dyn_item;

-- T12, T13 lists and maps may be empty; maps have no order
SELECT '{"l":{"L":[]},"m":{"M":{}}}'::dyn_item;
SELECT '{"m":{"M":{"a":{"N":"1"},"b":{"N":"2"}}}}'::dyn_item = '{"m":{"M":{"b":{"N":"2"},"a":{"N":"1"}}}}'::dyn_item AS t13;
SELECT '{"L":[{"N":"1"},{"N":"2"}]}'::dyn_value = '{"L":[{"N":"2"},{"N":"1"}]}'::dyn_value AS lists_have_order;

-- T14, L12 32 levels
SELECT length((('{"d":' || repeat('{"L":[', 32) || repeat(']}', 32) || '}')::dyn_item)::text) AS levels_32;
SELECT ('{"d":' || repeat('{"L":[', 33) || repeat(']}', 33) || '}')::dyn_item;
SELECT ('{"d":' || repeat('{"M":{"a":', 33) || '{"S":"x"}' || repeat('}}', 33) || '}')::dyn_item;
SELECT ('{"d":' || repeat('{"L":[', 32) || '{"SS":["a set is a leaf"]}' || repeat(']}', 32) || '}')::dyn_item IS NOT NULL AS ok;
SELECT ('{"d":' || repeat('{"L":[', 10000) || repeat(']}', 10000) || '}')::dyn_item;
SELECT ('{"d":' || repeat('[', 33) || repeat(']', 33) || '}')::json::dyn_item;
SELECT ('{"d":' || repeat('[', 33) || repeat(']', 33) || '}')::jsonb::dyn_item;
SELECT ('{"d":' || repeat('[', 32) || repeat(']', 32) || '}')::jsonb::dyn_item = ('{"d":' || repeat('[', 32) || repeat(']', 32) || '}')::json::dyn_item AS same;

-- T15 homogeneous sets
SELECT '{"s":{"SS":["a",5]}}'::dyn_item;
SELECT '{"s":{"SS":["a",{"S":"b"}]}}'::dyn_item;
SELECT '{"s":{"NS":["1","b"]}}'::dyn_item;
SELECT '{"s":{"NS":[1]}}'::dyn_item;
SELECT '{"s":{"BS":["AQ==","b"]}}'::dyn_item;

-- T16 no duplicates, numbers by value
SELECT '{"s":{"SS":["a","b","a"]}}'::dyn_item;
SELECT '{"s":{"NS":["1","2","1.0"]}}'::dyn_item;
SELECT '{"s":{"BS":["AQ==","AQ=="]}}'::dyn_item;

-- T17 never empty
SELECT '{"s":{"SS":[]}}'::dyn_item;
SELECT '{"s":{"NS":[]}}'::dyn_item;
SELECT '{"s":{"BS":[]}}'::dyn_item;

-- T18 no order
SELECT '{"SS":["a","b"]}'::dyn_value = '{"SS":["b","a"]}'::dyn_value AS t18;

-- T19 empty strings and bytes
SELECT '{"note":{"S":""},"b":{"B":""},"l":{"L":[{"S":""}]},"m":{"M":{"x":{"S":""}}},"ss":{"SS":["","a"]},"bs":{"BS":[""]}}'::dyn_item;

-- T20 absence is neither NULL nor empty
SELECT '{"a":{"S":""}}'::dyn_item ? 'nope' AS exists, '{}'::dyn_item -> 'nope' IS NULL AS absent;

-- T21 and T22: no other types
SELECT '{"d":{"D":"2020"}}'::dyn_item;
SELECT '{"d":{"s":"2020"}}'::dyn_item;
SELECT '{"d":{"":"2020"}}'::dyn_item;
SELECT '{"d":{}}'::dyn_item;

-- T23 deep equality
SELECT '{"L":[{"N":"1"},{"M":{"a":{"N":"2"}}}]}'::dyn_value = '{"L":[{"N":"1.0"},{"M":{"a":{"N":"2.0"}}}]}'::dyn_value AS t23,
       '{"a":{"N":"5"}}'::dyn_item = '{"a":{"N":"5.00"}}'::dyn_item AS by_value,
       '{"a":{"N":"5"}}'::dyn_item <> '{"a":{"N":"-5"}}'::dyn_item AS differ;

-- T24 sizes
SELECT dyn_size('{"shirt-color":{"S":"R"},"shirt-size":{"S":"M"}}') AS t24;
SELECT v, dyn_size(('{"a":' || v || '}')::dyn_item) - 1 AS size FROM unnest(ARRAY[
  '{"S":""}', '{"S":"é"}', '{"S":"\u0000"}', '{"B":"AQID"}', '{"BOOL":true}', '{"NULL":true}',
  '{"N":"0"}', '{"N":"1"}', '{"N":"12"}', '{"N":"123"}', '{"N":"-123"}', '{"N":"1e100"}', '{"N":"0.001"}',
  '{"N":"12345678901234567890123456789012345678"}',
  '{"L":[]}', '{"L":[{"S":"a"},{"NULL":true}]}', '{"M":{}}', '{"M":{"ab":{"S":"c"}}}',
  '{"SS":["a","bc"]}', '{"NS":["1","-22"]}', '{"BS":["AQID",""]}']) v;

-- L01 409,600 bytes, names and values
SELECT dyn_size(('{"a":{"S":"' || repeat('x', 409599) || '"}}')::dyn_item) AS l01;
SELECT ('{"a":{"S":"' || repeat('x', 409600) || '"}}')::dyn_item;
SELECT dyn_size(jsonb_build_object('a', repeat('x', 409599))) AS jsonb_l01;
SELECT jsonb_build_object('a', repeat('x', 409600))::dyn_item;
SELECT json_build_object('a', repeat('x', 409600))::dyn_item;
SELECT ('{"a":{"S":"' || repeat('x', 5000000) || '"}}')::dyn_item;
SELECT ('{"a":{"L":[' || repeat('{"NULL":true},', 2000000) || '{"NULL":true}]}}')::dyn_item;
SELECT dynamo_internal.item_in(('{' || string_agg('"a' || i || '":{"S":"' || repeat('x', 100) || '"}', ',' ORDER BY i) || '}')::cstring)
	FROM generate_series(1, 50000) i;

-- K23 names
SELECT dyn_size(('{"' || repeat('n', 65535) || '":{"S":""}}')::dyn_item) AS k23;
SELECT ('{"' || repeat('n', 65536) || '":{"S":""}}')::dyn_item;
SELECT ('{"m":{"M":{"' || repeat('n', 65536) || '":{"S":""}}}}')::dyn_item;
SELECT '{"":{"S":"x"}}'::dyn_item;
SELECT '{"m":{"M":{"":{"S":"x"}}}}'::dyn_item;
SELECT '{"":"x"}'::jsonb::dyn_item;
SELECT '{"m":{"":"x"}}'::json::dyn_item;

-- K19 any Unicode in strings and names
SELECT '{"p\u0000q":{"S":"a\u0000b"},"\u00e9":{"S":"\ud83d\ude00 \"\\\/\b\f\n\r\t\u0001"}}'::dyn_item;
SELECT '{"p":{"S":"a\u0000b"}}'::dyn_item = '{"p":{"S":"a\u0000c"}}'::dyn_item AS told_apart;

-- escapes at every place in a string, and what needs none
SELECT bool_and(('{"a":{"S":' || to_json(s) || '}}')::dyn_item::text = '{"a":{"S":' || to_json(s) || '}}') AS printed, count(*)
FROM (SELECT repeat('x', before) || c || repeat('é', after) AS s FROM generate_series(0, 17) before, generate_series(0, 9) after,
  unnest(ARRAY['', '"', '\', E'\x01', E'\x1f', ' ', '!', '#', '[', ']', E'\x7f', E'\n', '""', E'"\\\t']) c) v;
