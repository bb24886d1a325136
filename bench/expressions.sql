\set QUIET on
\pset pager off
CREATE EXTENSION dynamo_table;

-- 100,000 items of some 310 bytes: a list of 0 to 9 elements, a set of tags, and what an application has beside
CREATE TABLE texts AS
SELECT i AS id, format('{"PK":{"S":"ORG#%s"},"SK":{"S":"TICKET#%s"},"Type":{"S":"Ticket"},'
  '"Title":{"S":"Printer on floor %s is out of paper"},"Status":{"S":"open"},'
  '"Priority":{"N":"%s"},"CreatedAt":{"S":"2023-09-05T22:31:54Z"},"Assignee":{"S":"USER#%s"},'
  '"Description":{"S":"%s %s"},"a":{"L":[%s]},"tags":{"SS":["hardware","floor-%s","%s"]}}',
  i % 100, i, i % 12, i % 5, i % 40, md5(i::text), md5((-i)::text),
  (SELECT coalesce(string_agg(format('{"N":"%s"}', j), ','), '') FROM generate_series(1, i % 10) j), i % 12,
  CASE WHEN i % 3 = 0 THEN 'urgent' ELSE 'later' END) AS item
FROM generate_series(1, 100000) i;
CREATE TABLE items AS SELECT id, item::dyn_item AS item FROM texts;
CREATE TABLE typed AS SELECT id, item::jsonb AS item FROM texts;
CREATE TABLE plain AS SELECT id, item::dyn_item::jsonb AS item FROM texts;
VACUUM ANALYZE items, typed, plain;

CREATE TABLE results (dyn_ms numeric, typed_ms numeric, plain_ms numeric);
CREATE TABLE answers (dyn bigint, typed bigint, plain bigint);
CREATE FUNCTION timed(query text, OUT ms numeric, OUT answer bigint) LANGUAGE plpgsql AS $$
DECLARE
	started timestamptz := clock_timestamp();
BEGIN
	EXECUTE query INTO answer;
	ms := extract(epoch FROM clock_timestamp() - started) * 1e3;
END $$;
CREATE PROCEDURE measure(dyn text, typed text, plain text, rounds int) LANGUAGE plpgsql AS $$
DECLARE
	d record; t record; p record;
BEGIN
	FOR i IN 0 .. rounds LOOP
		SELECT * INTO d FROM timed(dyn);
		SELECT * INTO t FROM timed(typed);
		SELECT * INTO p FROM timed(plain);
		-- the first round warms up
		CONTINUE WHEN i = 0;
		INSERT INTO results VALUES (d.ms, t.ms, p.ms);
		INSERT INTO answers VALUES (d.answer, t.answer, p.answer);
	END LOOP;
END $$;
CALL measure(
  $q$ SELECT count(*) FROM items WHERE dyn_matches(item, 'size(a) > :n AND contains(tags, :t)', vals => '{":n":{"N":"3"},":t":{"S":"urgent"}}') $q$,
  $q$ SELECT count(*) FROM typed WHERE jsonb_array_length(item->'a'->'L') > 3 AND item->'tags'->'SS' ? 'urgent' $q$,
  $q$ SELECT count(*) FROM plain WHERE jsonb_array_length(item->'a') > 3 AND item->'tags' ? 'urgent' $q$, :rounds);

\echo
SELECT round(avg(pg_column_size(i.item))) AS "dyn_item, bytes", round(avg(pg_column_size(t.item))) AS "typed jsonb",
	round(avg(pg_column_size(p.item))) AS "plain jsonb"
FROM items i JOIN typed t USING (id) JOIN plain p USING (id);
SELECT min(dyn) AS "items found", bool_and(dyn = typed AND dyn = plain) AS "the same" FROM answers;
SELECT filter, round(percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)::numeric, 1) AS ms,
       round(percentile_cont(0.5) WITHIN GROUP (ORDER BY ms / dyn_ms)::numeric, 2) AS "times as long as dyn_matches"
FROM results, LATERAL (VALUES (1, 'dyn_matches', dyn_ms), (2, 'by hand, DynamoDB JSON in jsonb', typed_ms), (3, 'by hand, plain jsonb', plain_ms)) v (n,
	filter, ms)
GROUP BY n, filter ORDER BY n;
