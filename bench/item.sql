\set QUIET on
\pset pager off
CREATE EXTENSION dynamo_table;

-- 20 attributes as an application has them: keys, strings, numbers, flags, a map, a list, a set
CREATE TABLE texts AS
SELECT i AS id, format('{"PK":{"S":"ORG#%s"},"SK":{"S":"TICKET#%s"},"Type":{"S":"Ticket"},"TicketId":{"S":"%s"},"OrgName":{"S":"Organization %s"},'
  '"Title":{"S":"Printer on floor %s is out of paper"},"Description":{"S":"%s"},"Status":{"S":"open"},"Priority":{"N":"%s"},'
  '"CreatedAt":{"S":"2023-09-05T22:31:54Z"},"UpdatedAt":{"S":"2023-09-06T08:01:%s"},"Assignee":{"S":"USER#%s"},"Estimate":{"N":"%s.5"},'
  '"IsBillable":{"BOOL":true},"ClosedAt":{"NULL":true},"Tags":{"SS":["hardware","printer","floor-%s"]},'
  '"Address":{"M":{"Street":{"S":"Main Street %s"},"City":{"S":"Springfield"}}},'
  '"Comments":{"L":[{"S":"first"},{"S":"second"}]},"GSI1PK":{"S":"ORG#%s#OPEN"},"GSI1SK":{"S":"2023-09-05#%s"}}',
  i % 100, i, i, i % 100, i % 12, repeat(md5(i::text) || ' ', 4), i % 5, lpad((i % 60)::text, 2, '0'), i % 1000, i % 40, i % 12, i, i % 100, i) AS item
FROM generate_series(1, 2000) i;
CREATE TABLE items AS SELECT id, item::dyn_item AS item FROM texts;
CREATE TABLE jsons AS SELECT id, item::jsonb AS item FROM texts;
VACUUM ANALYZE texts, items, jsons;

CREATE TABLE results (measure text, dyn_us numeric, jsonb_us numeric);
CREATE FUNCTION timed(query text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	started timestamptz := clock_timestamp();
BEGIN
	EXECUTE query;
	RETURN extract(epoch FROM clock_timestamp() - started) * 1e6 / 20000;
END $$;
CREATE PROCEDURE measure(measure text, dyn text, jsonb text, rounds int) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM timed(dyn), timed(jsonb);
	FOR i IN 1 .. rounds LOOP
		INSERT INTO results SELECT measure, timed(dyn), timed(jsonb);
	END LOOP;
END $$;
-- ten passes over 2,000 items, so that the scan itself does not count
CALL measure('input', 'SELECT count(item::dyn_item) FROM texts, generate_series(1, 10)', 'SELECT count(item::jsonb) FROM texts, generate_series(1, 10)',
	:rounds);
CALL measure('output', 'SELECT sum(length(item::text)) FROM items, generate_series(1, 10)',
	'SELECT sum(length(item::text)) FROM jsons, generate_series(1, 10)', :rounds);
CALL measure('->>', 'SELECT count(item->>''Status'') FROM items, generate_series(1, 10)',
  'SELECT count(item->''Status''->>''S'') FROM jsons, generate_series(1, 10)', :rounds);

\echo
SELECT measure, round(percentile_cont(0.5) WITHIN GROUP (ORDER BY dyn_us)::numeric, 3) AS "dyn_item, us",
       round(percentile_cont(0.5) WITHIN GROUP (ORDER BY jsonb_us)::numeric, 3) AS "jsonb, us",
       round(percentile_cont(0.5) WITHIN GROUP (ORDER BY jsonb_us / dyn_us)::numeric, 2) AS "times as fast"
FROM results GROUP BY measure ORDER BY measure;
SELECT sum(pg_column_size(i.item)) / 2000 AS "dyn_item, bytes", sum(pg_column_size(j.item)) / 2000 AS "jsonb, bytes",
       round(sum(pg_column_size(i.item))::numeric / sum(pg_column_size(j.item)), 2) AS "part of the size",
       round(avg(length(t.item))) AS "text, bytes"
FROM items i JOIN jsons j USING (id) JOIN texts t USING (id);
