-- dyn_entity_chart(): the keys of entities as a chart; docs/semantics.md, M02.
\pset format unaligned
\pset tuples_only on
SELECT dyn_create_table('shop', 'PK S', 'SK S', global_indexes => '{"GSI1": {"partition_key": "GSI1PK S", "sort_key": "GSI1SK S"},
	"ByStatus": {"partition_key": "Status S", "sort_key": "Total N"}, "Turned": {"partition_key": "SK S", "sort_key": "PK S"},
  "Many": {"partition_key": ["Country S", "City S"]}}');
SELECT dyn_entity_chart('shop');
SELECT dyn_create_entity('shop', 'Customer', '{"PK":"CUSTOMER#<Username>","SK":"CUSTOMER#<Username>"}',
	'{"Username":"S","Country":"S","Town":{"type":"S","stored":"City"}}');
SELECT dyn_create_entity('shop', 'Order',
	'{"PK":"CUSTOMER#<Username>","SK":"#ORDER#<OrderId>","GSI1PK":"ORDER#<OrderId>",
	"GSI1SK":[{"when":{"Status":"PLACED","Gift":null},"template":"PLACED#<Day:day>"},{"template":"ORDER#<Day:day>"}]}',
  '{"Username":"S","OrderId":"S","Status":"S","Gift":"BOOL","Total":"N","Day":"S date"}');
SELECT dyn_create_entity('shop', 'Order|Item',
	'{"PK":"ORDER#<OrderId>#ITEM#<ItemId:04>","SK":"ITEM``|<<#<ItemId:04>","GSI1PK":"ORDER#<OrderId>","GSI1SK":"ITEM#<ItemId:-04>"}',
	'{"OrderId":"S","ItemId":"N"}', type_attribute => NULL);
SELECT dyn_entity_chart('shop');
SELECT dyn_entity_chart('shop', 'markdown');
SELECT dyn_entity_chart('shop', 'html');
SELECT dyn_entity_chart('nope');
SELECT dyn_entity_chart(NULL);
DROP TABLE shop;
