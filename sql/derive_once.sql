-- A call derives the columns of a row once, and looks for each attribute once.  Servers with assertions count it.
SELECT dyn_create_table('app', 'pk S', 'sk S', global_indexes => '{"g1": {"partition_key": "a S", "sort_key": "b S"},
	"g2": {"partition_key": "c S", "sort_key": "d S"}, "g3": {"partition_key": "e S", "sort_key": "f N"}}');
CREATE FUNCTION counters() RETURNS bigint[] LANGUAGE sql AS $$
	SELECT array_agg(n[1]::bigint) FROM regexp_matches(coalesce(current_setting('dynamo_table.derive_counters', true), ''), '\d+', 'g') n $$;
-- what a call adds to the counters, or as expected where nothing counts or statements of SQL write
CREATE FUNCTION added(before bigint[], expected bigint[]) RETURNS bigint[] LANGUAGE sql AS $$
	SELECT CASE WHEN coalesce(current_setting('dynamo_table.derive_counters', true), '') = '' OR NOT current_setting('dynamo_table.direct_store')::bool
		THEN expected
		ELSE (SELECT array_agg(c - b) FROM unnest(counters(), before) u(c, b)) END $$;
\set item '{"pk":{"S":"p"},"sk":{"S":"s"},"a":{"S":"1"},"b":{"S":"2"},"c":{"S":"3"},"d":{"S":"4"},"e":{"S":"5"},"f":{"N":"6"}}'
SELECT dyn_put('app', :'item');
SELECT coalesce(counters(), '{}') AS before \gset
SELECT dyn_put('app', :'item');
SELECT added(:'before', '{1,8}') AS replaced;
SELECT coalesce(counters(), '{}') AS before \gset
SELECT dyn_put('app', replace(:'item', '"p"', '"q"')::dyn_item);
SELECT added(:'before', '{1,8}') AS inserted;
-- the key and its condition are looked for as well
SELECT coalesce(counters(), '{}') AS before \gset
SELECT dyn_update('app', '{"pk":{"S":"q"},"sk":{"S":"s"}}', 'SET n = :n', vals => '{":n":{"N":"1"}}');
SELECT (added(:'before', '{1,10}'))[1] AS changed;
SELECT coalesce(counters(), '{}') AS before \gset
SELECT dyn_batch_write('app', ARRAY[:'item', replace(:'item', '"p"', '"r"')]::dyn_item[]);
SELECT added(:'before', '{2,16}') AS batch;
SELECT coalesce(counters(), '{}') AS before \gset
SELECT dyn_transact(format('[{"Put": {"TableName": "app", "Item": %s}}, {"Put": {"TableName": "app", "Item": %s}}]', :'item',
	replace(:'item', '"p"', '"t"'))::json);
SELECT added(:'before', '{2,16}') AS transaction;
-- what users add to a table needs none of that, as long as it does not rewrite the item; enforcement looks for more, but derives nothing
ALTER TABLE app ADD COLUMN made timestamptz DEFAULT now(), ADD CHECK (pk <> '');
CREATE UNIQUE INDEX ON app (pk, sk, a);
CREATE TABLE child (pk text COLLATE "C", sk text COLLATE "C", FOREIGN KEY (pk, sk) REFERENCES app);
SELECT dyn_put('app', :'item');
SELECT coalesce(counters(), '{}') AS before \gset
SELECT dyn_put('app', replace(:'item', '"p"', '"u"')::dyn_item), dyn_put('app', replace(:'item', '"1"', '"2"')::dyn_item);
SELECT added(:'before', '{2,16}') AS with_additions;
SELECT dyn_create_entity('app', 'E', '{"pk": "E#<p>", "sk": "E#<p>"}', '{"p": "S"}');
SELECT dyn_enforce_entities('app');
SELECT dyn_put_entity('app', 'E', jsonb '{"p": "a"}');
SELECT coalesce(counters(), '{}') AS before \gset
SELECT dyn_put_entity('app', 'E', jsonb '{"p": "b"}');
SELECT (added(:'before', '{1,8}'))[1] AS enforced;
DROP TABLE child, app;
DROP FUNCTION added, counters;
