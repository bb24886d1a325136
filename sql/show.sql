-- dyn_table_chart(): item collections as people draw them.
\pset format unaligned
\pset tuples_only on
SELECT dyn_create_table('shop', 'PK S', 'SK S', global_indexes => '{"GSI1": {"partition_key": "GSI1PK S", "sort_key": "GSI1SK S"},
	"Few": {"partition_key": "Type S", "projection": "KEYS_ONLY"},
  "Places": {"partition_key": ["Country S", "City S"], "sort_key": "Number N"}}');
SELECT dyn_table_chart('shop');
SELECT count(dyn_put('shop', item)) FROM (VALUES
  ('{"PK":"CUSTOMER#ada","SK":"CUSTOMER#ada","Type":"Customer","Name":"Ada Lovelace","Email":"ada@example.org"}'::jsonb),
  ('{"PK":"CUSTOMER#ada","SK":"ORDER#2023-02","Type":"Order","Total":12.50,"GSI1PK":"ORDER#2023-02","GSI1SK":"ORDER","Lines":[1,{"a":null}]}'),
  ('{"PK":"CUSTOMER#ada","SK":"ORDER#2023-01","Type":"Order","Total":7,"GSI1PK":"ORDER#2023-01","GSI1SK":"ORDER"}'),
  ('{"PK":"ITEM#1","SK":"ORDER#2023-01","Type":"Item","Title":"A long title that does not fit into what a value may take","GSI1PK":"ORDER#2023-01",
    "GSI1SK":"ITEM#1"}'),
  ('{"PK":"ITEM#2","SK":"ORDER#2023-01","Type":"Item","Title":"漢字の題名","GSI1PK":"ORDER#2023-01","GSI1SK":"ITEM#2","Gift":true}'),
  ('{"PK":"PLACE","SK":"b","Country":"UK","City":"London","Number":10}'), ('{"PK":"PLACE","SK":"a","Country":"UK","City":"London","Number":9.5}'),
  ('{"PK":"PLACE","SK":"c","Country":"UK","City":"Leeds","Number":1}')) v (item);
SELECT dyn_table_chart('shop');
SELECT dyn_table_chart('shop', 'GSI1', max_attributes => 2);
SELECT dyn_table_chart('shop', 'Few');
SELECT dyn_table_chart('shop', 'Places', max_attributes => 0);
SELECT dyn_table_chart('shop', max_items => 3, max_attributes => 1, value_width => 10);
SELECT dyn_table_chart('shop', value_width => 4, max_attributes => 1, max_items => 8);
-- no line is wider than the terminal, whose widths of characters are those of the server
CREATE FUNCTION columns_of(line text) RETURNS bigint LANGUAGE sql AS $$
	SELECT sum(CASE WHEN c ~ '[　-鿿가-힣＀-￠😀-🙏]' THEN 2 WHEN c ~ '[\u0300-\u036f\u200d]'
	THEN 0 ELSE 1 END) FROM regexp_split_to_table(line, '') c $$;
SELECT dyn_table_chart('shop', max_items => 5, width => 40);
SELECT dyn_table_chart('shop', 'Places', width => 20);
SELECT dyn_create_table('wide', 'p S', 's S');
SELECT count(dyn_put('wide', jsonb_build_object('p', 'コレクション' || i % 3, 's', repeat('漢字', i), 'e', repeat('😀', i * 2), 'é' ||
	repeat(U&'e\0301', i),
	repeat('x', i * 3), 'text', repeat('one two, ', i)))) FROM generate_series(1, 12) i;
SELECT dyn_table_chart('wide', max_items => 6, width => 48);
SELECT w AS wider_than, line FROM generate_series(40, 120) w, dyn_table_chart('wide', width => w) line WHERE columns_of(line) > w;
SELECT w AS wider_than, line FROM generate_series(30, 120) w, dyn_table_chart('shop', 'GSI1', width => w) line WHERE columns_of(line) > w;
-- nothing is lost where it is narrow
SELECT dyn_create_table('narrow', 'p S', 's S');
SELECT dyn_put('narrow', '{"p":"z","s":"abcdefghijklmnopqrstuvwxyz","t":"漢abcdefghijklmnopqrstuvwxyz"}'::jsonb);
SELECT dyn_table_chart('narrow', width => 20);
SELECT dyn_table_chart('narrow', width => 21);
-- what no terminal should get
SELECT dyn_create_table('odd', 'p B');
SELECT dyn_put('odd', '{"p":{"B":"AAEC"},"s":{"S":"a\u0000b\nc\u007f\u200b\u0301"},"set":{"NS":["3","1"]},"":{"S":"x"}}');
SELECT dyn_put('odd', '{"p":{"B":"AAEC"},"s":{"S":"a\u0000b\nc\u007f\u0301|"},"set":{"NS":["3","1"]},"name\nof\u0000it":{"S":""}}');
SELECT dyn_put('odd', '{"p":{"B":"AAED"},"clear":{"S":"\u001b[2J\u009b2J\u0085\u0090x\u009c"},"turn":{"S":"\u202egnihton\u202c\u2067\u200f"},
	"list":{"L":[{"S":"\u001b\u009b\u2028"}]},"tag\udb40\udc41\u009b":{"S":"\u00ad\ufeff"},"family":{"S":"👩‍👧"}}');
SELECT dyn_table_chart('odd', value_width => 80);
SELECT dyn_table_chart('odd', format => 'markdown', value_width => 80);
SELECT line AS unsafe FROM dyn_table_chart('odd') line WHERE line ~ U&'[\0001-\001f\007f-\009f\200e\200f\202a-\202e\2066-\2069\feff]';
-- lines of characters that the client has
SET client_encoding = 'LATIN1';
SELECT dyn_table_chart('shop', value_width => 8, max_items => 2);
SELECT dyn_entity_chart('shop');
RESET client_encoding;
-- by the rights of the caller
CREATE ROLE dyn_reader;
SET ROLE dyn_reader;
SELECT dyn_table_chart('shop');
RESET ROLE;
GRANT SELECT ON shop TO dyn_reader;
ALTER TABLE shop ENABLE ROW LEVEL SECURITY;
CREATE POLICY items ON shop USING ("PK" LIKE 'ITEM#%');
SET ROLE dyn_reader;
SELECT dyn_table_chart('shop', 'GSI1');
RESET ROLE;
-- Markdown
SELECT dyn_put('shop', '{"PK":{"S":"a|b"},"SK":{"S":"<i>*"},"x|&lt;":{"S":"`[y](z)"}}');
SELECT dyn_table_chart('shop', format => 'markdown', max_attributes => 2, value_width => 12);
-- wrong arguments
SELECT dyn_table_chart('shop', format => 'html');
SELECT dyn_table_chart('nope');
SELECT dyn_table_chart('shop', 'nope');
SELECT dyn_table_chart('shop', max_items => 0);
SELECT dyn_table_chart('shop', max_attributes => -1);
SELECT dyn_table_chart('shop', value_width => 3);
SELECT dyn_table_chart('shop', width => 19);
SELECT dyn_table_chart('shop', width => 1001);
SELECT dyn_table_chart('shop', width => NULL);
SELECT dyn_table_chart(NULL);
SELECT dyn_table_chart('shop', max_items => NULL);
DROP TABLE shop, odd, wide, narrow;
DROP FUNCTION columns_of;
DROP ROLE dyn_reader;
