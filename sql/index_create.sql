-- Secondary indexes of a new table: docs/semantics.md, I02 to I04, I12 to I14, I17, I25, I26, K04, L07 to L09.
SELECT dyn_create_table('app', 'pk S', 'sk S',
  global_indexes => '{"GSI1": {"partition_key": "GSI1PK S", "sort_key": "GSI1SK N"},
    "inverted": {"partition_key": "sk S", "sort_key": "pk S", "projection": "KEYS_ONLY"},
    "shares": {"partition_key": ["GSI1PK S"], "sort_key": "sk S", "projection": "INCLUDE", "non_key_attributes": ["Role", "Name"]},
    "hash-only": {"partition_key": "m.a B"},
    "several": {"partition_key": ["tenant S", "region S"], "sort_key": ["year N", "month N", "GSI1SK N"]}}',
  local_indexes => '{"by-date": {"sort_key": "date S"}, "by-size": {"sort_key": "size N", "projection": "KEYS_ONLY"}}');
\d app
SELECT jsonb_pretty(dyn_describe_table('app') - 'TableSizeBytes');

-- the same keys share a btree, the table's own keys need none
SELECT dyn_create_table('same', 'pk S', 'sk S', global_indexes => '{"one": {"partition_key": "a S"}, "two": {"partition_key": "a S", "projection": "KEYS_ONLY"},
  "table": {"partition_key": "pk S", "sort_key": "sk S"}, "t-hash": {"partition_key": "pk S"}}');
SELECT indexname FROM pg_indexes WHERE tablename = 'same' ORDER BY 1;
SELECT i ->> 'IndexName' AS name, i ->> 'IndexStatus' AS status FROM jsonb_array_elements(dyn_describe_table('same') -> 'GlobalSecondaryIndexes') i ORDER BY 1;

-- names that are no identifiers, and names that are taken
SELECT dyn_create_table('names', 'item S', 'ctid N', global_indexes => jsonb_build_object(
  'idx.' || repeat('x', 70), jsonb_build_object('partition_key', repeat('a', 100) || ' S', 'sort_key', 'xmin N'), 'UPPER',
  '{"partition_key": "Customer Id S"}'::jsonb));
\d names
CREATE TABLE taken_gsi1 ();
SELECT dyn_create_table('taken', 'p S', global_indexes => '{"gsi1": {"partition_key": "a S"}}');
SELECT indexname FROM pg_indexes WHERE tablename = 'taken' ORDER BY 1;
SELECT dyn_put('taken', '{"p":{"S":"x"},"a":{"S":"y"}}');
DROP TABLE taken, taken_gsi1;

-- wrong definitions
\set VERBOSITY terse
CREATE FUNCTION try(global jsonb, local jsonb DEFAULT NULL, sort_key text DEFAULT 'sk S') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  detail text;
BEGIN
  PERFORM dyn_create_table('try', 'pk S', sort_key, global_indexes => global, local_indexes => local);
  DROP TABLE try;
  RETURN 'created';
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
  RETURN SQLSTATE || ' ' || SQLERRM || coalesce(' / ' || nullif(detail, ''), '');
END $$;
SELECT left(definition::text, 90) AS definition, try(jsonb_build_object('GSI', definition))
	FROM (VALUES ('"x"'::jsonb), ('{}'), ('{"partition_key": null}'), ('{"partition_key": 1}'), ('{"partition_key": "a"}'),
  ('{"partition_key": "a BOOL"}'), ('{"partition_key": "a SS"}'), ('{"partition_key": []}'), ('{"partition_key": ["a S", 1]}'),
  ('{"partition_key": "a S", "sort_key": "a S"}'),
  ('{"partition_key": "a S", "sort_key": "a N"}'), ('{"partition_key": "pk N"}'), ('{"partition_key": ["a S", "b S", "c S", "d S", "e S"]}'),
  ('{"partition_key": ["a S", "b S", "c S", "d S"], "sort_key": ["e S", "f S", "g S", "h S"]}'),
  ('{"partition_key": "a S", "sort_key": ["e S", "f S", "g S", "h S", "i S"]}'),
  ('{"partition_key": "a S", "projection": "SOME"}'), ('{"partition_key": "a S", "projection": 1}'), ('{"partition_key": "a S", "projection": "INCLUDE"}'),
  ('{"partition_key": "a S", "projection": "INCLUDE", "non_key_attributes": []}'), ('{"partition_key": "a S", "non_key_attributes": ["b"]}'),
  ('{"partition_key": "a S", "projection": "INCLUDE", "non_key_attributes": ["b", "c", "b"]}'),
  ('{"partition_key": "a S", "projection": "INCLUDE", "non_key_attributes": [""]}'),
  ('{"partition_key": "a S", "projection": "INCLUDE", "non_key_attributes": "b"}'), ('{"partition_key": "a S", "sortkey": "b S"}'),
  ('{"partition_key": "a S", "status": "CREATING"}'),
  (jsonb_build_object('partition_key', repeat('a', 256) || ' S')), (jsonb_build_object('partition_key', repeat('a', 255) || ' S'))) v (definition);
SELECT left(name, 10) AS name, left(try(jsonb_build_object(name, '{"partition_key": "a S"}'::jsonb)), 60) AS try
	FROM unnest(ARRAY['', 'ab', 'abc', 'a b', 'a"b', 'é__', repeat('x', 255), repeat('x', 256)]) name;
SELECT try('[]'), try('{"GSI": {"partition_key": "a S"}, "other": {"partition_key": "a N"}}') AS two_types,
	try('{"same": {"partition_key": "a S"}}', '{"same": {"sort_key": "a S"}}') AS i25;
-- I04, L07
SELECT try(NULL, '{"LSI": {"sort_key": "a S"}}', NULL) AS hash_only, try(NULL, '{"LSI": {"partition_key": "pk S", "sort_key": "a S"}}') AS partition_key,
       try(NULL, '{"LSI": {}}') AS no_sort_key, try(NULL, '{"LSI": {"sort_key": ["a S", "b S"]}}') AS two, try(NULL, '{"LSI": {"sort_key": "pk S"}}') AS pk;
SELECT n, try(NULL, (SELECT jsonb_object_agg('LSI' || i, jsonb_build_object('sort_key', 'a' || i || ' S')) FROM generate_series(1, n) i)) AS l07
	FROM unnest(ARRAY[5, 6]) n;
-- L08, L09
SELECT n, try((SELECT jsonb_object_agg('GSI' || i, jsonb_build_object('partition_key', 'a' || i || ' S')) FROM generate_series(1, n) i)) AS l08
	FROM unnest(ARRAY[20, 21]) n;
SELECT n, try((SELECT jsonb_object_agg('GSI' || i, jsonb_build_object('partition_key', 'a' || i || ' S', 'projection', 'INCLUDE', 'non_key_attributes',
    (SELECT jsonb_agg('n' || j) FROM generate_series(1, CASE WHEN i = 1 THEN 60 ELSE n END) j))) FROM generate_series(1, 2) i)) AS l09
    FROM unnest(ARRAY[40, 41]) n;
SELECT try((SELECT jsonb_object_agg('GSI' || i, jsonb_build_object('partition_key',
	(SELECT jsonb_agg('a' || i || '_' || j || ' S') FROM generate_series(1, 4) j),
    'sort_key', (SELECT jsonb_agg('b' || i || '_' || j || ' S') FROM generate_series(1, 4) j))) FROM generate_series(1, 13) i)) AS columns;
\set VERBOSITY default

-- as plain DDL
CREATE TABLE plain (
  item dyn_item NOT NULL, p text COLLATE "C" PRIMARY KEY, a text COLLATE "C", n numeric,
  CONSTRAINT dynamo_keys CHECK (dynamo_internal.keys_match(item, '{p S,a S,n N}', p, a, n))
) USING dynamo_table;
CREATE INDEX ON plain (a, n, p) WHERE a IS NOT NULL AND n IS NOT NULL;
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON plain FOR EACH ROW
  EXECUTE FUNCTION dynamo_internal.derive_keys('p S', '{"name": "GSI", "type": "global", "partition_key": "a S", "sort_key": "n N"}');
CREATE FUNCTION status(t text) RETURNS text LANGUAGE sql AS
  $$ SELECT string_agg(format('%s %s', i ->> 'IndexName', i ->> 'IndexStatus'), ', ' ORDER BY i ->> 'IndexName')
    FROM jsonb_array_elements(dyn_describe_table(t) -> 'GlobalSecondaryIndexes') i $$;
SELECT status('plain');
INSERT INTO plain (item) VALUES ('{"p":{"S":"1"},"a":{"S":"x"},"n":{"N":"2.50"}}') RETURNING *;
-- which btrees will do
DROP INDEX plain_a_n_p_idx;
SELECT status('plain');
CREATE INDEX wrong ON plain (a, n) WHERE a IS NOT NULL AND n IS NOT NULL;
SELECT status('plain') AS no_table_key;
DROP INDEX wrong; CREATE INDEX wrong ON plain (a, n, p) WHERE a > 'b' AND n IS NOT NULL;
SELECT status('plain') AS other_predicate;
DROP INDEX wrong; CREATE INDEX wrong ON plain (a, n, p) WHERE a IS NOT NULL AND item IS NULL;
SELECT status('plain') AS other_column;
DROP INDEX wrong; CREATE INDEX wrong ON plain (a, n DESC, p);
SELECT status('plain') AS other_order;
DROP INDEX wrong; CREATE INDEX wrong ON plain (a text_pattern_ops, n, p);
SELECT status('plain') AS other_opclass;
DROP INDEX wrong; CREATE INDEX wrong ON plain (a COLLATE "POSIX", n, p);
SELECT status('plain') AS other_collation;
DROP INDEX wrong; CREATE INDEX wrong ON plain (n, a, p);
SELECT status('plain') AS other_columns;
DROP INDEX wrong; CREATE INDEX wrong ON plain (a, n, (p || 'x'));
SELECT status('plain') AS expression;
DROP INDEX wrong; CREATE INDEX enough ON plain (a, n, p) INCLUDE (item);
SELECT status('plain') AS enough;
DROP INDEX enough; CREATE UNIQUE INDEX enough ON plain (a, n, p) WHERE n IS NOT NULL;
SELECT status('plain') AS enough;

-- K21: rename, move and drop as any other
ALTER TABLE plain RENAME TO renamed;
CREATE SCHEMA elsewhere;
ALTER TABLE renamed SET SCHEMA elsewhere;
ALTER INDEX elsewhere.enough RENAME TO other;
SELECT status('elsewhere.renamed');
INSERT INTO elsewhere.renamed (item) VALUES ('{"p":{"S":"2"},"a":{"S":"x"},"n":{"S":"2.50"}}');
SELECT dyn_put('elsewhere.renamed', '{"p":{"S":"2"},"a":{"S":"x"}}');
SELECT p, a, n FROM elsewhere.renamed ORDER BY p;
SELECT dyn_drop_table('elsewhere.renamed');
SELECT count(*) FROM pg_class WHERE relnamespace = 'elsewhere'::regnamespace;
DROP SCHEMA elsewhere;

-- triggers that say what is not so
CREATE FUNCTION define(VARIADIC args text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  detail text;
BEGIN
  EXECUTE 'CREATE OR REPLACE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON same FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('
    || (SELECT string_agg(quote_literal(a), ', ') FROM unnest(args) a) || ')';
  PERFORM dyn_put('same', '{"pk":{"S":"1"},"sk":{"S":"1"}}');
  RETURN 'fine';
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
  RETURN SQLSTATE || ' ' || SQLERRM || coalesce(' / ' || nullif(detail, ''), '');
END $$;
SELECT a, define('pk S', 'sk S', a) FROM unnest(ARRAY['{"name": "one", "type": "global", "partition_key": ["a S"]}', '', 'x', '{', '{}', '{"name": "one"}',
	'{"name": "one", "type": "global"}',
  '{"name": "one", "type": "other", "partition_key": "a S"}', '{"name": 1, "type": "global", "partition_key": "a S"}',
  '{"name": "one", "type": "global", "partition_key": ["b S"]}',
  '{"name": "one", "type": "global", "partition_key": ["a N"]}', '{"name": "one", "type": "global", "partition_key": ["item S"]}',
  '{"name": "one", "type": "global", "partition_key": ["a S", "pk N"]}',
  '{"name": "one", "type": "global", "partition_key": ["a S"], "status": "x"}', '{"name": "one", "type": "global", "partition_key": ["a S"], "x": 1}', '[]']) a;
SELECT define('pk S', '{"name": "one", "type": "global", "partition_key": ["a S"]}');

DROP TABLE app, same, names;
DROP FUNCTION try, status, define;
