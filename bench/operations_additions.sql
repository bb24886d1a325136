-- What tables may have beside the columns and indexes of their items, the same on both sides, and a table of each kind with it.  In the statements
-- RELATION is the table, and ITEM its column of items; ours and by_hand is what only one of them runs.
\set QUIET on
CREATE TABLE additions (n serial, addition text, suffix text, both_sides text DEFAULT '', ours text DEFAULT '', by_hand text DEFAULT '');
CREATE TABLE states (state text PRIMARY KEY);
INSERT INTO states SELECT 'status#' || i FROM generate_series(0, 99) i;
CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
INSERT INTO additions (addition, suffix, both_sides) VALUES
	('an index', '_index', $$CREATE INDEX ON RELATION ((ITEM->>'address'))$$),
	('a column', '_column', $$ALTER TABLE RELATION ADD label text$$),
	('a column and an index over it', '_indexed_column', $$ALTER TABLE RELATION ADD label text; CREATE INDEX ON RELATION (label)$$),
	('a trigger', '_trigger', $$CREATE TRIGGER look AFTER INSERT OR UPDATE ON RELATION FOR EACH ROW EXECUTE FUNCTION look()$$),
	('a foreign key', '_foreign_key', $$ALTER TABLE RELATION ADD state text GENERATED ALWAYS AS (ITEM->>'gsi1pk') STORED REFERENCES states$$);
-- the same attributes are tested: those that must be there, the types of all, and what keys are made of
INSERT INTO additions (addition, suffix, ours, by_hand) VALUES ('enforcement', '_enforced',
	$$SELECT dyn_create_entity('RELATION', 'Order', '{"pk": "customer#<customer:06>", "sk": "order#<order:06>", "gsi1pk": "<gsi1pk>", "gsi1sk": "<gsi1sk>",
		"gsi2pk": "product#<order>", "gsi2sk": "<gsi2sk>", "gsi3pk": "<gsi3pk>", "gsi3sk": "<gsi3sk>"}',
		'{"customer": "N", "order": "N", "n": {"type": "N", "required": true}, "status": {"type": "S", "required": true}, "note": "S", "address": "S",
		"gsi1pk": "S", "gsi1sk": "S", "gsi2sk": "S", "gsi3pk": "S", "gsi3sk": "S"}', type_attribute => NULL);
		SELECT dyn_enforce_entities('RELATION')$$,
	$$ALTER TABLE RELATION ADD CHECK (data ?& '{pk,sk,customer,order,n,status}' AND
		data->>'pk' = 'customer#' || lpad(data->>'customer', 6, '0') AND data->>'sk' = 'order#' || lpad(data->>'order', 6, '0') AND data->>'gsi2pk' = 'product#' ||
			(data->>'order') AND
		jsonb_typeof(data->'customer') = 'number' AND jsonb_typeof(data->'order') = 'number' AND jsonb_typeof(data->'n') = 'number'
			AND jsonb_typeof(data->'status') = 'string' AND
		jsonb_typeof(data->'note') = 'string' AND jsonb_typeof(data->'address') = 'string' AND jsonb_typeof(data->'gsi1pk') = 'string'
			AND jsonb_typeof(data->'gsi1sk') = 'string' AND
		jsonb_typeof(data->'gsi2sk') = 'string' AND jsonb_typeof(data->'gsi3pk') = 'string' AND jsonb_typeof(data->'gsi3sk') = 'string')$$);
INSERT INTO variants (variant) VALUES ('the same by hand');

-- The tables of one addition, with the items of the first collections in random order.
CREATE PROCEDURE add_tables(suffix text, collections int) LANGUAGE plpgsql AS $$
DECLARE
	addition additions := a FROM additions a WHERE a.suffix = $1;
	ours text := 'app' || suffix;
	by_hand text := 'expressions' || suffix;
BEGIN
	PERFORM create_ours(ours);
	PERFORM create_expressions(by_hand);
	EXECUTE replace(replace(addition.both_sides || ';' || addition.ours, 'RELATION', ours), 'ITEM', 'item');
	EXECUTE replace(replace(addition.both_sides || ';' || addition.by_hand, 'RELATION', by_hand), 'ITEM', 'data');
	CREATE TEMP TABLE source ON COMMIT DROP AS SELECT declared(c, i, plain(c, i, repeat('x', 60))) AS item FROM generate_series(0, collections - 1) c,
		generate_series(0, 99) i ORDER BY random();
	EXECUTE format('INSERT INTO %I (item) SELECT item::dyn_item FROM source', ours);
	EXECUTE format('INSERT INTO %I (pk, sk, data) SELECT item->>''pk'', item->>''sk'', item FROM source', by_hand);
END $$;
