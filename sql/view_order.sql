-- The order of an attribute that keys begin with: the index gives it, so the latest items of a collection are read, and not all of it.
\pset format unaligned
\pset tuples_only on
SELECT dyn_create_table('app', 'pk S', 'sk S', global_indexes => '{"GSI1": {"partition_key": "GSI1PK S", "sort_key": "GSI1SK S"},
	"GSI2": {"partition_key": "GSI2PK S", "sort_key": "GSI2SK S"}}');
SELECT dyn_create_entity('app', 'Order', '{"pk": "C#<Customer>", "sk": "ORDER#<Id:05>#<Kind>", "GSI1PK": "K#<Kind>",
	"GSI1SK": "<Day>#<Id:-05>", "GSI2PK": "C#<Customer>", "GSI2SK": "BACK#<Id:-05>"}',
  '{"Customer": "N integer", "Kind": "S", "Id": "N smallint", "Day": "S date", "At": "S timestamp"}');
SELECT dyn_create_entity('app', 'Note', '{"pk": "C#<Customer>", "sk": "NOTE#<At>", "GSI1PK": "K#<Month>", "GSI1SK": "<Day:month>#<Customer:05>"}',
	'{"Customer": "N integer", "At": "S timestamp", "Month": "S", "Day": "S date"}');
SELECT dyn_create_entity_view('app', 'Order'), dyn_create_entity_view('app', 'Order', index_name => 'GSI1'),
	dyn_create_entity_view('app', 'Order', index_name => 'GSI2'),
  dyn_create_entity_view('app', 'Note'), dyn_create_entity_view('app', 'Note', index_name => 'GSI1');
INSERT INTO "Order" ("Customer", "Kind", "Id", "Day") SELECT i % 3, CASE WHEN i % 2 = 0 THEN 'new' ELSE 'old' END, i * 37 % 1999, date '2024-01-01' + i % 50
	FROM generate_series(1, 1500) i;
INSERT INTO "Note" ("Customer", "At", "Month", "Day") SELECT i % 3, timestamp '2024-01-01' + i * interval '1 day', 'm', date '2024-01-01' + i
	FROM generate_series(1, 300) i;
-- too large for the attribute's type in the views, which is smallint, and so NULL there; not in the entity; of another entity
SELECT dyn_put('app', '{"pk": "C#1", "sk": "ORDER#40000#new", "Type": "Order", "Customer": 1, "Kind": "new", "Id": 40000,
	"Day": "2024-01-01", "GSI1PK": "K#new", "GSI1SK": "2024-01-01#59999", "GSI2PK": "C#1", "GSI2SK": "BACK#59999"}'::jsonb),
  dyn_put('app', '{"pk": "C#1", "sk": "ORDER#00007#new", "Type": "Order", "Customer": 1, "Kind": "new", "Id": 8}'::jsonb),
    dyn_put('app', '{"pk": "C#1", "sk": "ORDER#00006#new", "Type": "Else", "Customer": 1, "Kind": "new", "Id": 6}'::jsonb) \g /dev/null
SELECT count(*) FROM "Order" WHERE "Id" IS NULL;
VACUUM ANALYZE app;

-- How a query is sorted, and whether the rows come as they do if all are sorted
CREATE FUNCTION sorted(columns text, source text, condition text, sort text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	how text := 'another plan';
	query text := format('SELECT %s FROM %s WHERE %s ORDER BY %s', columns, source, condition, sort);
	rows text[];
	expected text[];
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query || ' LIMIT 5' LOOP
		IF line ~ 'Sort|Index Scan Backward|Index Scan' THEN
			how := substring(line, 'Incremental Sort|Sort|Index Scan Backward|Index Scan');
			EXIT;
		END IF;
	END LOOP;
	EXECUTE format('SELECT array_agg(q::text) FROM (%s) q', query) INTO rows;
	EXECUTE format('SELECT array_agg(q::text) FROM (SELECT * FROM (SELECT %s FROM %s WHERE %s OFFSET 0) o ORDER BY %s) q', columns, source, condition,
		sort) INTO expected;
	RETURN how || CASE WHEN rows = expected THEN ', as sorted' ELSE ', WRONG' END;
END $$;
SET enable_bitmapscan = off;
SET enable_seqscan = off;
SET enable_sort = off;

-- a padded number, in both directions; the number that the type does not hold is where NULLs are
SELECT sorted('"Id"', '"Order"', '"Customer" = 1', '"Id"');
SELECT sorted('"Id"', '"Order"', '"Customer" = 1', '"Id" DESC');
SELECT sorted('"Id"', '"Order"', '"Customer" = 1 AND "Id" BETWEEN 100 AND 900', '"Id" DESC');
-- digits that are subtracted from nines
SELECT sorted('"Id"', '"Order_GSI1"', '"Kind" = ''new'' AND "Day" = ''2024-01-05''', '"Id"');
SELECT sorted('"Id"', '"Order_GSI1"', '"Kind" = ''new'' AND "Day" = ''2024-01-05''', '"Id" DESC');
-- a date, alone and before another column
SELECT sorted('"Day"', '"Order_GSI1"', '"Kind" = ''new''', '"Day" DESC');
SELECT sorted('"Day", "Id"', '"Order_GSI1"', '"Kind" = ''new''', '"Day", "Id"');
-- what comes after a date that is known
SELECT sorted('"Id"', '"Order_GSI1"', '"Kind" = ''new'' AND "Day" = ''2024-01-07''', '"Id" DESC');
-- NULLs at the other end, another expression, an attribute that comes later, several collections, and the part of a date
SELECT sorted('"Id"', '"Order"', '"Customer" = 1', '"Id" NULLS FIRST');
SELECT sorted('"Id"', '"Order"', '"Customer" = 1', '"Id" DESC NULLS LAST');
SELECT sorted('"Id"', '"Order"', '"Customer" = 1', '-"Id"');
SELECT sorted('"Kind"', '"Order"', '"Customer" = 1', '"Kind"');
SELECT sorted('"Id", "Customer"', '"Order"', '"Customer" IN (1, 2)', '"Id", "Customer"');
SELECT sorted('"Id", "Customer"', '"Order"', 'true', '"Id", "Customer"');
SELECT sorted('"Day"', '"Note_GSI1"', '"Month" = ''m''', '"Day"');
-- a timestamp may be written in several forms, of which only the days are in order
SELECT sorted('"At"', '"Note"', '"Customer" = 1', '"At"');

-- for each row of another table, and the greatest
SELECT count(*) FROM generate_series(0, 2) c, LATERAL (SELECT "Id" FROM "Order" WHERE "Customer" = c ORDER BY "Id" DESC LIMIT 2) o;
SELECT c, "Id" FROM generate_series(0, 2, 2) c, LATERAL (SELECT "Id" FROM "Order" WHERE "Customer" = c ORDER BY "Id" DESC LIMIT 2) o;
SELECT max("Id"), min("Id") FROM "Order" WHERE "Customer" = 1;
PREPARE latest(int) AS SELECT "Id" FROM "Order" WHERE "Customer" = $1 ORDER BY "Id" DESC LIMIT 2;
SET plan_cache_mode = force_generic_plan;
EXECUTE latest(2);
RESET plan_cache_mode;
DEALLOCATE latest;
DROP FUNCTION sorted;
SET client_min_messages = warning;
DROP TABLE app CASCADE;
