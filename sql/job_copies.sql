-- Copies of other items' attributes, which dyn_refresh_entity() keeps (M29)
\set SHOW_CONTEXT never
\pset format unaligned
SELECT dyn_create_table('shop', 'PK S', 'SK S', global_indexes => '{"GSI1": {"partition_key": "GSI1PK S", "sort_key": "GSI1SK S"}}');
SELECT dyn_create_entity('shop', 'Maker', '{"PK": "MAKER#<MakerId>", "SK": "#"}',
	'{"MakerId": "N integer", "Name": {"type": "S", "stored": "n"}, "Land": "S"}'::jsonb);
SELECT dyn_create_entity('shop', 'Item', '{"PK": "ITEM#<ItemId>", "SK": "#", "GSI1PK": "MADE#<MakerName>", "GSI1SK": "ITEM#<ItemId>"}',
	'{"ItemId": "N integer", "Maker": "N integer",
	"MakerName": {"type": "S", "stored": "mn", "copy": {"entity": "Maker", "attribute": "Name", "by": {"MakerId": "Maker"}}},
	"Land": {"type": "S", "copy": {"entity": "Maker", "attribute": "Land", "by": {"MakerId": "Maker"}}}}'::jsonb);
SELECT attributes -> 'MakerName' FROM dyn_entities('shop') WHERE entity = 'Item';
SELECT count(dyn_put_entity('shop', 'Maker', jsonb_build_object('MakerId', i, 'Name', 'maker ' || i, 'Land', 'land ' || i))) FROM generate_series(1, 3) i;
SELECT count(dyn_put_entity('shop', 'Item', jsonb_strip_nulls(jsonb_build_object('ItemId', i, 'Maker', CASE WHEN i % 5 > 0 THEN i % 5 END))))
	FROM generate_series(1, 10) i;
CREATE FUNCTION items() RETURNS TABLE (key text, maker text, name text, land text, index_key text) LANGUAGE sql AS $$
	SELECT "PK", item ->> 'Maker', item ->> 'mn', item ->> 'Land', "GSI1PK" FROM shop WHERE "PK" LIKE 'ITEM%' ORDER BY length("PK"), "PK" $$;
CALL dyn_refresh_entity('shop', 'Item', batch_size => 3);
SELECT * FROM items();
-- owners change, go and come
SELECT dyn_update_entity('shop', 'Maker', '{"MakerId": 1}'::jsonb, 'SET #n = :n REMOVE Land', names => '{"#n": "Name"}', vals => '{":n": "one"}'::jsonb);
SELECT dyn_delete_entity('shop', 'Maker', '{"MakerId": 2}'::jsonb);
SELECT dyn_put_entity('shop', 'Maker', '{"MakerId": 4, "Name": "four"}'::jsonb);
SELECT dyn_update_entity('shop', 'Item', '{"ItemId": 8}'::jsonb, 'REMOVE Maker');
CALL dyn_refresh_entity('shop', 'Item');
SELECT * FROM items();
-- again: nothing is written
SELECT sum(xmin::text::bigint) AS before FROM shop \gset
CALL dyn_refresh_entity('shop', 'Item');
SELECT sum(xmin::text::bigint) = :before AS unchanged FROM shop;
-- what is required, and what makes no key, are problems of single items
SELECT dyn_create_entity('shop', 'Part', '{"PK": "PART#<PartId>", "SK": "#"}', '{"PartId": "N", "Of": "S",
	"Maker": {"type": "N", "required": true, "copy": {"entity": "Box", "attribute": "Maker", "by": {"Id": "Of"}}}}'::jsonb);
CALL dyn_refresh_entity('shop', 'Part');
SELECT dyn_create_entity('shop', 'Box', '{"PK": "BOX#<Id>", "SK": "#"}', '{"Id": "S"}'::jsonb);
CALL dyn_refresh_entity('shop', 'Part');
SELECT dyn_create_entity('shop', 'Box', '{"PK": "BOX#<Id>", "SK": "#"}', '{"Nr": "S", "Id": "S", "Maker": "N"}'::jsonb);
SELECT dyn_put_entity('shop', 'Box', '{"Id": "a", "Maker": 7}'::jsonb);
SELECT dyn_put_entity('shop', 'Part', jsonb_build_object('PartId', i, 'Of', o, 'Maker', 1)) FROM (VALUES (1, 'a'), (2, 'b'), (3, 'a#b')) v(i, o);
CALL dyn_refresh_entity('shop', 'Part');
SELECT "PK", item ->> 'Maker' AS maker FROM shop WHERE "PK" LIKE 'PART%' ORDER BY 1;
SELECT source_row, problem FROM dyn_job_problems ORDER BY 1;
-- what cannot be declared
SELECT dyn_create_entity('shop', 'No', '{"PK": "NO#<A>", "SK": "#"}', '{"A": "S", "B": {"type": "S", "copy": "Maker"}}'::jsonb);
SELECT dyn_create_entity('shop', 'No', '{"PK": "NO#<A>", "SK": "#"}',
	'{"A": "S", "B": {"type": "S", "copy": {"entity": "Maker", "attribute": "Name"}}}'::jsonb);
SELECT dyn_create_entity('shop', 'No', '{"PK": "NO#<A>", "SK": "#"}',
	'{"A": "S", "B": {"type": "S", "copy": {"entity": "Maker", "attribute": "Name", "by": {"MakerId": 1}}}}'::jsonb);
SELECT dyn_create_entity('shop', 'No', '{"PK": "NO#<A>", "SK": "#"}',
	'{"A": "S", "B": {"type": "S", "copy": {"entity": "Maker", "attribute": "Name", "by": {"MakerId": "C"}}}}'::jsonb);
SELECT dyn_create_entity('shop', 'No', '{"PK": "NO#<A>", "SK": "#"}',
	'{"A": "N", "B": {"type": "S", "copy": {"entity": "Maker", "attribute": "Name", "by": {"Maker": "A"}}}}'::jsonb);
CALL dyn_refresh_entity('shop', 'No');
-- whom policies hide items from does not take hidden owners for gone
CREATE ROLE regress_copier;
GRANT ALL ON shop TO regress_copier;
ALTER TABLE shop ENABLE ROW LEVEL SECURITY;
CREATE POLICY items ON shop TO regress_copier USING ("PK" LIKE 'ITEM%');
SET ROLE regress_copier;
CALL dyn_refresh_entity('shop', 'Item');
RESET ROLE;
SELECT * FROM items() LIMIT 1;
DROP FUNCTION items;
DROP TABLE shop;
DROP ROLE regress_copier;
