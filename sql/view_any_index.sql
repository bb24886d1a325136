-- Views of entities beside indexes of any operator class, collation, expression and predicate, which the owner of a table may make.
\pset format unaligned
\pset tuples_only on
CREATE ROLE any_index_role;
GRANT CREATE ON SCHEMA public TO any_index_role;
SET ROLE any_index_role;
-- what a role makes by hand, with no declaration
CREATE TEMP TABLE p (item dyn_item, pk text COLLATE "C");
INSERT INTO p SELECT '{}', 'A#' || i FROM generate_series(1, 500) i;
CREATE INDEX ON p (pk text_pattern_ops);
ANALYZE p;
DO $$
BEGIN
	EXECUTE 'EXPLAIN SELECT 1 FROM p WHERE dynamo_internal.is_entity(item, ''{"entity":"P","keys":{"pk":"A#<id>"},"attributes":{"id":"S"}}'',
		pk) AND dynamo_internal.attribute(item,''id'',''S'',NULL::text) = ''17''';
END $$;
-- whose expressions the planner asks for statistics of, for BRIN without saying of which table
CREATE INDEX ON p USING brin (lower(pk));
EXPLAIN (COSTS OFF) SELECT 1 FROM p WHERE dynamo_internal.is_entity(item, '{"entity":"P","keys":{"pk":"A#<id>"},"attributes":{"id":"S"}}', pk) AND lower(pk) =
	'a#1';
DROP TABLE p;
-- a view, and what is asked of it
SELECT dyn_create_table('anyindex', 'pk S', 'sk S', global_indexes => '{"GSI1": {"partition_key": "GSI1PK S", "sort_key": "GSI1SK S"}}');
SELECT dyn_create_entity('anyindex', 'Order', '{"pk":"CUSTOMER#<Customer>","sk":"ORDER#<Number:05>","GSI1PK":"STATUS#<Status>","GSI1SK":"<Day>"}',
  '{"Customer":"S","Number":"N integer","Status":"S","Day":"S date"}'), dyn_create_entity_view('anyindex', 'Order'),
  dyn_create_entity_view('anyindex', 'Order', index_name => 'GSI1');
SELECT count(*) FROM generate_series(1, 400) n, dyn_put_entity('anyindex', 'Order',
  jsonb_build_object('Customer', 'c' || n / 20, 'Number', n, 'Status', CASE n % 3 WHEN 0 THEN 'open' ELSE 'paid' END, 'Day', date '2026-01-01' + n));
SELECT count(*) FROM generate_series(1, 100) n, dyn_put('anyindex', jsonb_build_object('pk', 'OTHER#' || n, 'sk', 'x'));
ANALYZE anyindex;
CREATE TEMP TABLE queries (query text, expected text);
INSERT INTO queries VALUES ('SELECT "Number" AS n FROM "Order" WHERE "Customer" = ''c7'''),
  ('SELECT "Number" AS n FROM "Order" WHERE "Customer" = ''c7'' AND "Number" BETWEEN 143 AND 150'),
  ('SELECT "Number" AS n FROM "Order" WHERE "Customer" IN (''c3'', ''c4'', NULL)'), ('SELECT "Number" AS n FROM "Order"'),
  ('SELECT "Number" AS n FROM "Order_GSI1" WHERE "Status" = ''open'' AND "Day" > ''2026-11-01'''),
  ('(SELECT "Number" AS n FROM "Order_GSI1" WHERE "Status" = ''paid'' ORDER BY "Day" DESC LIMIT 3)'),
  ('(SELECT "Number" AS n FROM "Order" WHERE "Customer" = ''c7'' ORDER BY "Number" LIMIT 3)'),
  ('SELECT o."Number" AS n FROM (VALUES (''c1''), (''c2''), (NULL)) v (c) JOIN "Order" o ON o."Customer" = v.c'),
  ('SELECT count(*)::int AS n FROM "Order" GROUP BY "Customer"'),
  ('SELECT o."Number" AS n FROM "Order" o JOIN "Order_GSI1" g ON g."Customer" = o."Customer" AND g."Number" = o."Number"');
CREATE FUNCTION answer(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE found text;
BEGIN
	EXECUTE 'SELECT count(*) || '' rows, sum '' || sum(n) FROM (' || query || ') q' INTO found;
	RETURN found;
END $$;
UPDATE queries SET expected = answer(query);
SELECT expected FROM queries;
-- each operator class that takes a text, by its name; each collation; expressions, predicates, orders
CREATE TEMP TABLE definitions AS
SELECT format(f, quote_ident(nspname) || '.' || quote_ident(opcname), quote_ident(amname)) AS definition
FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod JOIN pg_namespace n ON n.oid = opcnamespace,
  (VALUES ('USING %2$s (pk %1$s)'), ('USING %2$s (pk COLLATE "default" %1$s)'), ('USING %2$s (pk COLLATE "POSIX" %1$s) WHERE pk >= ''CUSTOMER#c1'''),
  ('USING %2$s ((pk || sk) %1$s)')) v (f)
WHERE opcintype IN ('text'::regtype, 'bpchar'::regtype) AND nspname = 'pg_catalog' AND NOT (opcintype = 'bpchar'::regtype AND f LIKE '%COLLATE%');
INSERT INTO definitions SELECT d FROM (VALUES ('(pk text_pattern_ops, sk text_pattern_ops)'), ('(pk text_pattern_ops DESC, sk NULLS FIRST)'),
	('(pk COLLATE "default", sk)'), ('(pk, sk COLLATE "default")'),
  ('(sk, pk)'), ('(pk DESC, sk DESC)'), ('(pk) INCLUDE (sk)'), ('(lower(pk), sk)'), ('(pk, sk) WHERE sk LIKE ''ORDER#%'''), ('(pk) WHERE pk LIKE ''OTHER%'''),
  ('("GSI1PK" text_pattern_ops, "GSI1SK" varchar_pattern_ops)'),
  ('("GSI1PK" COLLATE "default", "GSI1SK")'), ('("GSI1SK" COLLATE "default" DESC, "GSI1PK")')) v (d);
DO $$
DECLARE d text; q record; plain text; made int := 0;
BEGIN
	FOR d IN SELECT definition FROM definitions LOOP
		BEGIN
			EXECUTE 'CREATE INDEX by_hand ON anyindex ' || d;
		EXCEPTION WHEN datatype_mismatch OR undefined_object OR feature_not_supported OR wrong_object_type THEN
			CONTINUE;
		END;
		made := made + 1;
		FOREACH plain IN ARRAY ARRAY['on', 'off'] LOOP
			-- by any scan, and by none but those of indexes
			PERFORM set_config('enable_seqscan', plain, true), set_config('enable_bitmapscan', plain, true);
			FOR q IN SELECT * FROM queries LOOP
				IF answer(q.query) IS DISTINCT FROM q.expected THEN
					RAISE WARNING '% with %: %, and not %', q.query, d, answer(q.query), q.expected;
				END IF;
			END LOOP;
		END LOOP;
		DROP INDEX by_hand;
	END LOOP;
	RAISE NOTICE '%', CASE WHEN made > 25 THEN 'enough indexes' ELSE made || ' indexes' END;
END $$;
-- what a plan tells of keys that a role may not see is what the statistics say: nothing that was written since
RESET ROLE;
CREATE ROLE any_index_reader;
ALTER TABLE anyindex ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON anyindex TO any_index_reader USING (pk = 'CUSTOMER#c1');
GRANT SELECT ON anyindex, "Order" TO any_index_reader;
CREATE FUNCTION plan(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE found text;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO found;
	RETURN md5(found);
END $$;
-- of templates that a role makes up
CREATE TEMP TABLE guesses AS SELECT
	format('SELECT 1 FROM anyindex WHERE dynamo_internal.is_entity(item, ''{"entity":"P","keys":{"pk":"%s<id>"},"attributes":{"id":"S"}}'', pk)%s', prefix,
	value) AS query
FROM unnest('{CUSTOMER#,HIDDEN#,HIDDEN#1}'::text[]) prefix, unnest(ARRAY['', $$ AND dynamo_internal.attribute(item, 'id', 'S', NULL::text) = '17'$$,
  $$ AND dynamo_internal.attribute(item, 'id', 'S', NULL::text) > '1'$$, $$ GROUP BY dynamo_internal.attribute(item, 'id', 'S', NULL::text)$$]) value;
GRANT SELECT ON guesses TO any_index_reader;
SET ROLE any_index_reader;
CREATE TEMP TABLE before AS SELECT query, plan(query) FROM guesses;
RESET ROLE;
SELECT count(*) FROM dyn_put('anyindex', '{"pk":"HIDDEN#17","sk":"x"}'::jsonb);
SET ROLE any_index_reader;
SELECT count(*) AS plans, count(*) FILTER (WHERE plan(query) IS DISTINCT FROM plan) AS others FROM before;
RESET ROLE;
SET client_min_messages = warning;
DROP FUNCTION answer, plan;
DROP TABLE before, guesses;
DROP TABLE anyindex CASCADE;
REVOKE CREATE ON SCHEMA public FROM any_index_role;
DROP OWNED BY any_index_role, any_index_reader;
DROP ROLE any_index_role, any_index_reader;
