-- Values of one type are never taken for those of another: who calls needs no rights for trying
\pset format unaligned
\pset tuples_only on
CREATE ROLE hostile_types_caller;
SET ROLE hostile_types_caller;

-- text as a number, with as many digits as it has; bytes as a map, whose lengths lead out of it
SELECT dynamo_internal.entity_key(NULL::text, '{"entity":"X","keys":{"pk":"A#<n>"},"attributes":{"n":"N"}}', 2, false, repeat('abc', 10));
SELECT dynamo_internal.entity_key(NULL::bytea, '{"entity":"X","keys":{"pk":"<m.x.y>"},"attributes":{"m":"M"}}', 1, false, '\x01ff0178170100ff7f017903'::bytea);
SELECT dynamo_internal.entity_key(NULL::text, '{"entity":"X","keys":{"pk":"A#<s>"},"attributes":{"s":"S"}}', 2, false, VARIADIC ARRAY['x']);
-- as it is meant
SELECT dynamo_internal.entity_key(NULL::text, '{"entity":"X","keys":{"pk":"A#<n>"},"attributes":{"n":"N"}}', 2, false, 12);
SELECT dynamo_internal.entity_key(NULL::bytea, '{"entity":"X","keys":{"pk":"<b>"},"attributes":{"b":"B"}}', 1, false, '\x01ff'::bytea);
-- what no attribute of that type can be is in no key; the number of values and of parts is that of the template
SELECT dynamo_internal.entity_key(NULL::text, '{"entity":"X","keys":{"pk":"A#<n>"},"attributes":{"n":"N"}}', 2, false, 'NaN'::float8) IS NULL;
SELECT dynamo_internal.entity_key(NULL::text, '{"entity":"X","keys":{"pk":"A#<n>"},"attributes":{"n":"N"}}', 3, false, 12);
SELECT dynamo_internal.entity_key(NULL::text, '{"entity":"X","keys":{"pk":"A#<n>"},"attributes":{"n":"N"}}', -1, false, 12);
SELECT dynamo_internal.entity_key(NULL::text, '{"entity":"X","keys":{"pk":"A#<n>"},"attributes":{"n":"N"}}', 2147483647, false, 12);
SELECT dynamo_internal.entity_key(NULL::text, '{"entity":"X","keys":{"pk":"A#<n>"},"attributes":{"n":"N"}}', 2, false, 12, 13);
SELECT dynamo_internal.entity_key(NULL::integer, '{"entity":"X","keys":{"pk":"A#<n>"},"attributes":{"n":"N"}}', 2, false, 12);
SELECT dynamo_internal.entity_key(NULL::text, NULL, 2, false, 12);

-- All pairs: what can be written is what can be read, by whichever way a writer is made
RESET ROLE;
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE DOMAIN positive AS integer CHECK (VALUE > 0);
CREATE DOMAIN texts AS text[];
CREATE FUNCTION outcome(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE statement INTO result;
	RETURN 'ok';
EXCEPTION WHEN OTHERS THEN
	RETURN CASE WHEN SQLERRM LIKE '%the two types do not go together' THEN 'no' ELSE SQLSTATE || ' ' || SQLERRM END;
END $$;
CREATE TEMP TABLE attempts AS
	SELECT t.number, t.sql, c.place, c.code, w.way, outcome(format(w.statement, c.code, t.sql, t.value)) AS outcome
	FROM (VALUES (1, 'text', '1'), (2, 'varchar', '1'), (3, 'bpchar', '1'), (4, 'name', '1'), (5, '"char"', '1'), (6, 'smallint', '1'),
			(7, 'integer', '1'), (8, 'bigint', '1'), (9, 'numeric', '1'), (10, 'real', '1'), (11, 'float8', '1'), (12, 'oid', '1'),
			(13, 'money', '1'), (14, 'boolean', 'true'), (15, 'bytea', '\x01'), (16, 'timestamp', '2024-01-01'), (17, 'timestamptz', '2024-01-01'),
			(18, 'date', '2024-01-01'), (19, 'time', '10:00'), (20, 'interval', '1 day'), (21, 'uuid', '00000000-0000-0000-0000-000000000000'),
			(22, 'json', '{"a":1}'), (23, 'jsonb', '{"a":1}'), (24, 'text[]', '{1}'), (25, 'integer[]', '{1}'), (26, 'bytea[]', '{"\\x01"}'),
			(27, 'jsonb[]', '{1}'), (28, 'numeric[]', '{1}'), (29, 'oidvector', '1 2'), (30, 'int2vector', '1 2'), (31, 'int4range', '[1,2)'),
			(32, 'point', '(1,1)'), (33, 'mood', 'ok'), (34, 'positive', '1'), (35, 'texts', '{1}'), (36, 'texts[]', '{"{1}"}'), (37, 'dyn_item', '{}'),
			(38, 'dyn_value', '{"S":"1"}')) t (number, sql, value),
		(VALUES (1, 'S'), (2, 'N'), (3, 'B'), (4, 'BOOL'), (5, 'NULL'), (6, 'L'), (7, 'M'), (8, 'SS'), (9, 'NS'), (10, 'BS')) c (place, code),
		(VALUES ('read', 'SELECT dynamo_internal.attribute(''{"a":{"S":"1"}}'', ''a'', %1$L, NULL::%2$s)::text'),
			('write', 'SELECT dyn_to_value(%3$L::%2$s, %1$L)'),
			('key', 'SELECT dynamo_internal.entity_key(NULL::text, ''{"entity":"X","keys":{"pk":"<a>"},"attributes":{"a":"%1$s"}}'', 1, false, %3$L::%2$s)')) w (way,
			statement);
-- templates have attributes of some types only, and a NULL is nothing that can be written
SELECT DISTINCT outcome FROM attempts WHERE outcome NOT IN ('ok', 'no')
	AND NOT (way = 'key' AND outcome LIKE 'YD001 invalid entity %') AND NOT (code = 'NULL' AND outcome LIKE 'YD001 an attribute cannot be a value%')
	AND NOT (code IN ('L', 'M') AND outcome LIKE 'YD001 an attribute cannot be JSON that is no %') ORDER BY 1;
SELECT sql, code, string_agg(way || ': ' || outcome, ', ' ORDER BY way) FROM attempts
	WHERE NOT (way = 'key' AND outcome LIKE 'YD001 invalid entity %') GROUP BY sql, code HAVING count(*) FILTER (WHERE outcome = 'no') NOT IN (0, count(*))
		ORDER BY 1, 2;
SELECT sql, string_agg(code, ' ' ORDER BY place) FROM attempts WHERE way = 'read' AND outcome <> 'no' GROUP BY number, sql ORDER BY number;
DROP TABLE attempts;

-- A vector has one dimension and no NULLs, which its own functions rely on: no list is one
SELECT dynamo_internal.attribute('{"l":{"L":[]}}', 'l', 'L', NULL::oidvector);
SELECT dynamo_internal.attribute('{"l":{"S":"1 2"}}', 'l', 'S', NULL::oidvector);
SELECT dyn_to_value('1 2'::oidvector);

-- What was made for one type is not used for another one that a variable has in the next call
DO $$
DECLARE
	t text;
BEGIN
	FOREACH t IN ARRAY ARRAY['N', 'S', 'N', 'S text'] LOOP
		BEGIN
			RAISE NOTICE '%', dyn_to_value(1, t);
		EXCEPTION WHEN OTHERS THEN
			RAISE NOTICE '%', SQLERRM;
		END;
	END LOOP;
END $$;
DO $$
DECLARE
	k text[];
BEGIN
	FOREACH k SLICE 1 IN ARRAY ARRAY[ARRAY['a S'], ARRAY['b S'], ARRAY['a N'], ARRAY['a S']] LOOP
		BEGIN
			RAISE NOTICE '% %', k, dynamo_internal.keys_match('{"a":{"S":"x"},"b":{"S":"y"}}', k, 'x'::text);
		EXCEPTION WHEN OTHERS THEN
			RAISE NOTICE '% %', k, SQLERRM;
		END;
	END LOOP;
END $$;

-- SQL in a migration means the same whatever settings the session has: where a string ends is not for them to say
CREATE TABLE hostile_source (id integer PRIMARY KEY, name text);
INSERT INTO hostile_source VALUES (7, 'x');
SELECT dyn_create_table('hostile_items', 'pk S');
SELECT dyn_create_entity('hostile_items', 'Row', '{"pk":"ROW#<Id>"}', '{"Id":"N integer","N1":"N integer","T1":"S"}');
-- 19 has no other strings than these
SELECT current_setting('server_version_num')::int < 190000 AS other_strings \gset
\if :other_strings
SET standard_conforming_strings = off;
SET escape_string_warning = off;
\endif
SELECT dyn_create_migration('hostile_items', 'shift',
	$$[{"entity":"Row","from":"hostile_source","attributes":{"Id":"id","N1":"7","T1":"'\\' || ') AS integer), CAST((name --'"}}]$$);
SELECT problem, item ->> 'T1' FROM dyn_preview_migration('shift');
RESET standard_conforming_strings;
SELECT problem, item ->> 'T1' FROM dyn_preview_migration('shift');
\if :other_strings
RESET escape_string_warning;
\endif

DROP TABLE hostile_items, hostile_source;
DROP FUNCTION outcome;
DROP DOMAIN texts, positive;
DROP TYPE mood;
DROP ROLE hostile_types_caller;
