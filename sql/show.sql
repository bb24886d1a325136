-- dyn_table_chart(): item collections as people draw them.
\pset format unaligned
\pset tuples_only on
SELECT dyn_create_table('shop', 'PK S', 'SK S', global_indexes => '{"GSI1": {"partition_key": "GSI1PK S", "sort_key": "GSI1SK S"}, "Few": {"partition_key": "Type S", "projection": "KEYS_ONLY"},
  "Places": {"partition_key": ["Country S", "City S"], "sort_key": "Number N"}}');
SELECT dyn_table_chart('shop');
SELECT count(dyn_put('shop', item)) FROM (VALUES
  ('{"PK":"CUSTOMER#ada","SK":"CUSTOMER#ada","Type":"Customer","Name":"Ada Lovelace","Email":"ada@example.org"}'::jsonb),
  ('{"PK":"CUSTOMER#ada","SK":"ORDER#2023-02","Type":"Order","Total":12.50,"GSI1PK":"ORDER#2023-02","GSI1SK":"ORDER","Lines":[1,{"a":null}]}'),
  ('{"PK":"CUSTOMER#ada","SK":"ORDER#2023-01","Type":"Order","Total":7,"GSI1PK":"ORDER#2023-01","GSI1SK":"ORDER"}'),
  ('{"PK":"ITEM#1","SK":"ORDER#2023-01","Type":"Item","Title":"A long title that does not fit into its column","GSI1PK":"ORDER#2023-01","GSI1SK":"ITEM#1"}'),
  ('{"PK":"ITEM#2","SK":"ORDER#2023-01","Type":"Item","Title":"漢字の題名","GSI1PK":"ORDER#2023-01","GSI1SK":"ITEM#2","Gift":true}'),
  ('{"PK":"PLACE","SK":"b","Country":"UK","City":"London","Number":10}'), ('{"PK":"PLACE","SK":"a","Country":"UK","City":"London","Number":9.5}'), ('{"PK":"PLACE","SK":"c","Country":"UK","City":"Leeds","Number":1}')) v (item);
SELECT dyn_table_chart('shop');
SELECT dyn_table_chart('shop', 'GSI1', max_columns => 2);
SELECT dyn_table_chart('shop', 'Few');
SELECT dyn_table_chart('shop', 'Places', max_columns => 0);
SELECT dyn_table_chart('shop', max_items => 3, max_columns => 1, max_width => 10);
SELECT dyn_table_chart('shop', max_width => 4, max_columns => 1, max_items => 8);
-- what no terminal could show
SELECT dyn_create_table('odd', 'p B');
SELECT dyn_put('odd', '{"p":{"B":"AAEC"},"s":{"S":"a\u0000b\nc\u007f\u200b\u0301"},"set":{"NS":["3","1"]},"":{"S":"x"}}');
SELECT dyn_put('odd', '{"p":{"B":"AAEC"},"s":{"S":"a\u0000b\nc\u007f\u0301|"},"set":{"NS":["3","1"]},"name\nof\u0000it":{"S":""}}');
SELECT dyn_table_chart('odd');
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
-- wrong arguments
-- Markdown
SELECT dyn_put('shop', '{"PK":{"S":"a|b"},"SK":{"S":"<i>*"}}');
SELECT dyn_table_chart('shop', format => 'markdown', max_columns => 2, max_width => 12);
SELECT dyn_table_chart('shop', format => 'html');
SELECT dyn_table_chart('nope');
SELECT dyn_table_chart('shop', 'nope');
SELECT dyn_table_chart('shop', max_items => 0);
SELECT dyn_table_chart('shop', max_columns => -1);
SELECT dyn_table_chart('shop', max_width => 3);
SELECT dyn_table_chart(NULL);
SELECT dyn_table_chart('shop', max_items => NULL);
DROP TABLE shop, odd;
DROP ROLE dyn_reader;
