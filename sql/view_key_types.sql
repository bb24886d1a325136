-- Keys of every class of types are looked up by the attributes of views; docs/semantics.md, M28.
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
CREATE EXTENSION citext;
CREATE TYPE hue AS ENUM ('red', 'blue');
CREATE DOMAIN code AS text CHECK (VALUE <> 'refused');
CREATE DOMAIN number AS numeric;
CREATE DOMAIN padded AS char(5) NOT NULL;
CREATE DOMAIN mail AS citext;
SELECT dyn_create_table('keys', 'pk S', 'sk S');
RESET client_min_messages;

-- what the planner makes of a condition on an attribute; and whether the rows are those of a scan of the table
CREATE FUNCTION key_condition(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text; found text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS off) ' || query LOOP
		found := coalesce(found, substring(line from 'Index Cond: (.*)'));
	END LOOP;
	RETURN found;
END $$;
CREATE FUNCTION look_up(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE condition text; searched text[]; scanned text[];
BEGIN
	SET LOCAL enable_seqscan = off;
	condition := key_condition(query);
	EXECUTE format('SELECT array_agg(q::text ORDER BY q::text) FROM (%s) q', query) INTO searched;
	SET LOCAL enable_seqscan = on; SET LOCAL enable_indexscan = off; SET LOCAL enable_bitmapscan = off;
	EXECUTE format('SELECT array_agg(q::text ORDER BY q::text) FROM (%s) q', query) INTO scanned;
	SET LOCAL enable_indexscan = on; SET LOCAL enable_bitmapscan = on;
	RETURN concat_ws(' ', coalesce(cardinality(searched), 0),
		CASE WHEN searched IS DISTINCT FROM scanned THEN format('BUT %s', coalesce(cardinality(scanned), 0)) END, condition);
END $$;
-- each value as an item of its own, then looked up
CREATE PROCEDURE try(type text, "values" text[], template text DEFAULT 'K#<k>') LANGUAGE plpgsql AS $$
DECLARE value text; sql text := substr(type, strpos(type, ' ') + 1);
BEGIN
	IF to_regclass('keyed') IS NOT NULL THEN DROP VIEW keyed; END IF;
	DELETE FROM keys;
	PERFORM dyn_create_entity('keys', 'Keyed', jsonb_build_object('pk', template, 'sk', 'S'),
		json_build_object('k', type, 'other', 'N integer')::text);
	PERFORM dyn_create_entity_view('keys', 'Keyed', 'keyed');
	FOREACH value IN ARRAY "values" LOOP
		EXECUTE format('INSERT INTO keyed VALUES (%L, 1)', value);
	END LOOP;
	ANALYZE keys;
	FOREACH value IN ARRAY "values" LOOP
		RAISE INFO '%, % = %: %', sql, CASE template WHEN 'K#<k>' THEN 'k' ELSE template END, value,
			look_up(format('SELECT * FROM keyed WHERE k = %L::%s', value, sql));
	END LOOP;
END $$;

CALL try('S char(5)', '{a,ab,"a b","abcde",""}');
CALL try('S char(5)', '{a,ab,"a b","abcde"}');
SELECT look_up('SELECT * FROM keyed WHERE k = ''ab   '''), look_up('SELECT * FROM keyed WHERE k = ''ab''::text'),
	look_up('SELECT * FROM keyed WHERE k = ''ab   ''::text'), look_up('SELECT * FROM keyed WHERE k IN (''a'', ''ab  '')');
-- blanks at the end are not stored, and an item that has them is not shown
SELECT dyn_put('keys', '{"pk":{"S":"K#ab  "},"sk":{"S":"S"},"Type":{"S":"Keyed"},"k":{"S":"ab  "}}');
SELECT look_up('SELECT * FROM keyed WHERE k = ''ab''');
SELECT entity, problem, detail FROM dyn_check_entities('keys');
CALL try('S bpchar', '{a,ab}');
CALL try('S name', '{a,ab}');
SELECT look_up('SELECT * FROM keyed WHERE k = ''ab''::text'), look_up('SELECT * FROM keyed WHERE k = ' || quote_literal(repeat('a', 70)));
CALL try('S code', '{a,ab}');
CALL try('S padded', '{a,ab}');
CALL try('S varchar(3)', '{a,ab}');
CALL try('N number', '{1,1.50,-3}');
CALL try('N numeric(6,2)', '{1,1.50,-3}');
SELECT dyn_put('keys', '{"pk":{"S":"K#1.501"},"sk":{"S":"S"},"Type":{"S":"Keyed"},"k":{"N":"1.501"}}');
SELECT look_up('SELECT * FROM keyed WHERE k = 1.5'), look_up('SELECT * FROM keyed WHERE k IN (1, 1.5, 7)');
CALL try('N numeric(8)', '{1,150}', 'K#<k:08>');
SELECT look_up('SELECT * FROM keyed WHERE k > 1'), look_up('SELECT * FROM keyed WHERE k <= 150.5');
CALL try('BOOL', '{true,false}');
SELECT look_up('SELECT * FROM keyed WHERE k'), look_up('SELECT * FROM keyed WHERE NOT k'), look_up('SELECT * FROM keyed WHERE k IS NOT NULL');
PREPARE by_boolean(boolean) AS SELECT * FROM keyed WHERE k = $1;
SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off;
EXPLAIN (COSTS off) EXECUTE by_boolean(true);
EXECUTE by_boolean(false);
RESET plan_cache_mode; RESET enable_seqscan;
DEALLOCATE by_boolean;
CALL try('N boolean', '{true,false}');
CALL try('S boolean', '{true,false}');
CALL try('S bytea', '{"\\x01ff","\\x"}');
CALL try('S bytea', '{"\\x01ff","\\x02"}');
CALL try('S inet', '{10.0.0.1,10.0.0.1/8,fe80::1}');
CALL try('S macaddr', '{08:00:2b:01:02:03}');
CALL try('S time', '{10:20,10:20:30.5}', 'K#<k>#');
CALL try('S time(1)', '{10:20,10:20:30.56}');
CALL try('S timetz', '{10:20+00,10:20+02}');
CALL try('S bit(3)', '{101,010}');
CALL try('S oid', '{1,20}');
CALL try('S integer', '{1,20}');
SELECT dyn_put('keys', '{"pk":{"S":"K#020"},"sk":{"S":"S"},"Type":{"S":"Keyed"},"k":{"S":"020"}}');
SELECT look_up('SELECT * FROM keyed WHERE k = 20');
CALL try('S hue', '{red,blue}');
CALL try('S uuid', '{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}');
CALL try('S date', '{2024-05-01}');
CALL try('N date', '{2024-05-01,1969-12-31}');
CALL try('N timestamptz', '{2024-05-01 10:20:30.5Z}');
CALL try('N timestamp(0)', '{2024-05-01 10:20:30.5}');
CALL try('S timestamp(0)', '{2024-05-01 10:20:30.5}');
-- citext: a key in lower case is found in any, and one as it is only as text
CALL try('S citext', '{a,Ab}', 'K#<k:lower>');
SELECT look_up('SELECT * FROM keyed WHERE k = ''aB'''), look_up('SELECT * FROM keyed WHERE k = ''Ab''::text'),
	look_up('SELECT * FROM keyed WHERE k IN (''A'', ''AB'', ''c'')');
CALL try('S mail', '{a,Ab}', 'K#<k:lower>');
CALL try('S citext', '{a,Ab}');
SELECT look_up('SELECT * FROM keyed WHERE k = ''aB'''), look_up('SELECT * FROM keyed WHERE k::text = ''Ab''');
CALL try('S citext', '{a}', 'K#<k:upper>');
-- types whose equal values are written in several ways
CALL try('N float8', '{0.5,-0}');
CALL try('S interval', '{24:00:00}');
CALL try('S numeric', '{1.50}');
CALL try('S cidr', '{10.0.0.0/8}');
CALL try('S money', '{1}');

-- joins: the partners of a row are looked up by its values
SELECT dyn_create_entity('keys', 'Line', '{"pk": "K#<k>", "sk": "L#<line:03>"}', '{"k": "S char(5)", "line": "N integer", "amount": "N numeric(6,2)"}');
SELECT dyn_create_entity_view('keys', 'Line', 'lines');
CALL try('S char(5)', '{a,ab}');
INSERT INTO lines SELECT k, i, i + 0.5 FROM keyed, generate_series(1, 3) i;
INSERT INTO keyed SELECT i, 2 FROM generate_series(1, 500) i;
INSERT INTO lines SELECT i, 1, 1 FROM generate_series(1, 500) i;
ANALYZE keys;
SELECT k, sum(amount) FROM keyed JOIN lines USING (k) WHERE keyed.other = 1 GROUP BY k ORDER BY k;
SELECT key_condition('SELECT amount FROM (VALUES (''ab''::char(5)), (''a'')) v (k) JOIN lines USING (k)');
SELECT key_condition('SELECT amount FROM (VALUES (''ab''::text), (''a'')) v (k) JOIN lines ON lines.k = v.k');
EXPLAIN (COSTS off) SELECT amount FROM keyed JOIN lines USING (k) WHERE k = 'ab';
-- writing finds the item by its key
UPDATE lines SET amount = 7 WHERE k = 'ab' AND line = 2 RETURNING *;
DELETE FROM keyed WHERE k = 'a' RETURNING k;
DROP VIEW keyed, lines;
SELECT dyn_drop_table('keys');
DROP FUNCTION look_up, key_condition;
DROP PROCEDURE try;
DROP DOMAIN code, number, padded, mail;
DROP TYPE hue;
DROP EXTENSION citext;
