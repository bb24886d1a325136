-- Parsed expressions are kept by kind, text and names: nothing may tell a kept one from a new one, and they must not pile up.
CREATE FUNCTION kept() RETURNS bigint AS $$ SELECT count(*) FROM pg_backend_memory_contexts WHERE name = 'dynamo_table expression' $$ LANGUAGE sql;
CREATE FUNCTION try(item dyn_item, expression text, names jsonb DEFAULT NULL, vals dyn_item DEFAULT NULL) RETURNS text AS $$
BEGIN
	RETURN dyn_matches(item, expression, names, vals);
EXCEPTION WHEN SQLSTATE 'YD001' THEN
	RETURN SQLERRM;
END $$ LANGUAGE plpgsql;

-- one text, many names and values, twice over
SELECT round, names, vals, try('{"a":{"N":"1"},"b":{"N":"2"}}', '#x = :v', names, vals) FROM generate_series(1, 2) round,
	(VALUES (1, '{"#x":"a"}'::jsonb, '{":v":{"N":"1"}}'::dyn_item), (2, '{"#x":"b"}', '{":v":{"N":"1"}}'), (3, '{"#x":"b"}', '{":v":{"N":"2"}}'),
  (4, '{"#x":"b"}', NULL), (5, NULL, '{":v":{"N":"2"}}'), (6, '{"#y":"b"}', '{":v":{"N":"2"}}'), (7, '{"#x":"b","#y":"b"}', '{":v":{"N":"2"}}'),
  (8, '{"#x":"b"}', '{":v":{"N":"2"},":w":{"N":"2"}}'), (9, '{"#x":"a"}', '{":v":{"S":"1"}}')) v (n, names, vals) ORDER BY round, n;
SELECT round, vals, try('{"a":{"N":"1"}}', 'a < :v', NULL, vals) FROM generate_series(1, 2) round,
	(VALUES (1, '{":v":{"N":"2"}}'::dyn_item), (2, '{":v":{"L":[]}}'), (3, '{":v":{"S":"2"}}'), (4, NULL)) v (n, vals) ORDER BY round, n;
SELECT try('{}', 'a ='), try('{}', 'a ='), try('{}', 'name = a'), try('{}', 'name = a');
-- one text of several kinds
SELECT try('{"a":{"N":"1"}}', 'a'), dyn_project('{"a":{"N":"1"},"b":{"N":"1"}}', 'a');
SELECT dyn_matches('{"a":{"N":"1"}}', 'attribute_exists(a)'), dyn_project('{"a":{"N":"1"}}', 'attribute_exists');

-- more than are kept, also while one that has fallen out is in use
SELECT count(*) FROM generate_series(1, 1000) i WHERE dyn_matches('{}', format('attribute_not_exists(a%s)', i))
	AND dyn_matches(jsonb_build_object('n', i), 'n > :n', NULL, '{":n":{"N":"400"}}');
SELECT kept();
SELECT count(*) FROM generate_series(1, 1000) i WHERE dyn_matches(jsonb_build_object('n', i), '#n = :n', jsonb_build_object('#n', 'n'),
	jsonb_build_object(':n', i)) AND dyn_matches('{}', 'attribute_not_exists(#a)', jsonb_build_object('#a', i::text));
SELECT kept();

-- errors keep nothing, nor do more names than are worth it
SELECT count(try('{}', format('a%s = :v AND', i))), count(try('{}', format('a%s = :v', i))) FROM generate_series(1, 1000) i;
SELECT kept();
SELECT count(*) FROM generate_series(1, 50) i WHERE dyn_matches('{}', 'attribute_not_exists(#a)', jsonb_build_object('#a', i || repeat('x', 10000)));
SELECT kept();

-- one item a row, one expression a row
SELECT dyn_apply(jsonb_build_object('n', i), e, NULL, jsonb_build_object(':v', i)) FROM generate_series(1, 3) i,
	unnest(ARRAY['SET n = n + :v', 'SET m = :v', 'ADD n :v']) e ORDER BY e, i;
DO $$
BEGIN
	FOR i IN 1 .. 3 LOOP
		IF NOT dyn_matches(jsonb_build_object('n', i), 'n = :v', NULL, jsonb_build_object(':v', i)) THEN RAISE EXCEPTION '%', i; END IF;
		BEGIN
			PERFORM dyn_matches('{}', 'n = :v', NULL, jsonb_build_object(':w', i));
		EXCEPTION WHEN SQLSTATE 'YD001' THEN
			RAISE NOTICE '%: %', i, SQLERRM;
		END;
	END LOOP;
END $$;
DROP FUNCTION kept(), try(dyn_item, text, jsonb, dyn_item);
