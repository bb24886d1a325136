-- Legacy parameters of dyn_request(): Expected, AttributeUpdates, KeyConditions, QueryFilter, ScanFilter, ConditionalOperator, AttributesToGet.
-- ask() gives the answer, or the SQLSTATE's exception with the message.
\pset format unaligned
CREATE FUNCTION ask(operation text, request text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE detail text;
BEGIN
  RETURN dyn_request(operation, request::json);
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
  RETURN coalesce(dyn_error_name(SQLSTATE), SQLSTATE) || ': ' || SQLERRM || CASE WHEN detail <> '' THEN ' / ' || detail ELSE '' END;
END $$;
SELECT dyn_create_table('legacy', 'pk S');
-- items whose attribute "a" has each type, and one without it
SELECT count(dyn_put('legacy', format('{"pk":{"S":"%s"},"a":%s}', i, a)::dyn_item))
	FROM (VALUES ('s1', '{"S":"hello"}'), ('s2', '{"S":"help"}'), ('n1', '{"N":"5"}'), ('n2', '{"N":"12"}'),
  ('b1', '{"B":"aGVsbG8="}'), ('bool', '{"BOOL":true}'), ('null', '{"NULL":true}'), ('l', '{"L":[{"S":"x"},{"N":"5"},{"BOOL":true}]}'),
  ('m', '{"M":{"x":{"N":"5"}}}'),
  ('ss', '{"SS":["hello","x"]}'), ('ns', '{"NS":["5","6"]}'), ('bs', '{"BS":["aGVsbG8="]}')) v (i, a);
SELECT dyn_put('legacy', '{"pk":{"S":"-"},"other":{"N":"1"}}');

-- which items a filter leaves
CREATE FUNCTION left_by(filter text, operator text DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE answer text := ask('Scan', format('{"TableName":"legacy","ScanFilter":%s%s}', filter, ',"ConditionalOperator":"' || operator || '"'));
BEGIN
  IF answer NOT LIKE '{%' THEN RETURN answer; END IF;
  RETURN (SELECT coalesce(string_agg(i -> 'pk' ->> 'S', ' ' ORDER BY i -> 'pk' ->> 'S' COLLATE "C"), '(none)')
    FROM json_array_elements(answer::json -> 'Items') i);
END $$;

-- each operator on each type
SELECT f, left_by(format('{"a":{"ComparisonOperator":%s}}', f)) FROM (VALUES
  ('"EQ","AttributeValueList":[{"S":"hello"}]'), ('"EQ","AttributeValueList":[{"N":"5.00"}]'), ('"EQ","AttributeValueList":[{"B":"aGVsbG8="}]'),
  ('"EQ","AttributeValueList":[{"BOOL":true}]'),
  ('"EQ","AttributeValueList":[{"NULL":true}]'), ('"EQ","AttributeValueList":[{"SS":["x","hello"]}]'), ('"EQ","AttributeValueList":[{"M":{"x":{"N":"5"}}}]'),
  ('"EQ","AttributeValueList":[{"L":[{"S":"x"},{"N":"5"},{"BOOL":true}]}]'), ('"NE","AttributeValueList":[{"S":"hello"}]'),
  ('"NE","AttributeValueList":[{"NS":["6","5"]}]'),
  ('"LT","AttributeValueList":[{"S":"help"}]'), ('"LE","AttributeValueList":[{"S":"help"}]'), ('"GT","AttributeValueList":[{"N":"5"}]'),
  ('"GE","AttributeValueList":[{"N":"5"}]'), ('"GE","AttributeValueList":[{"B":"aA=="}]'),
  ('"NOT_NULL"'), ('"NULL"'), ('"NOT_NULL","AttributeValueList":[]'), ('"CONTAINS","AttributeValueList":[{"S":"hello"}]'),
  ('"CONTAINS","AttributeValueList":[{"N":"5"}]'),
  ('"NOT_CONTAINS","AttributeValueList":[{"S":"hello"}]'), ('"NOT_CONTAINS","AttributeValueList":[{"B":"aGVsbG8="}]'),
  ('"BEGINS_WITH","AttributeValueList":[{"S":"hel"}]'), ('"BEGINS_WITH","AttributeValueList":[{"B":"aGU="}]'),
  ('"IN","AttributeValueList":[{"N":"12"},{"N":"5"}]'), ('"IN","AttributeValueList":[{"S":"nothing"}]'),
  ('"BETWEEN","AttributeValueList":[{"N":"6"},{"N":"12"}]'), ('"BETWEEN","AttributeValueList":[{"S":"h"},{"S":"hello"}]')) v (f);

-- numbers of values, and their types
SELECT f, left_by(format('{"a":{"ComparisonOperator":%s}}', f)) FROM (VALUES
  ('"EQ"'), ('"EQ","AttributeValueList":[]'), ('"NE","AttributeValueList":[{"N":"1"},{"N":"2"}]'), ('"NULL","AttributeValueList":[{"N":"1"}]'),
  ('"NOT_NULL","AttributeValueList":[{"N":"1"}]'),
  ('"BETWEEN","AttributeValueList":[{"N":"1"}]'), ('"BETWEEN","AttributeValueList":[{"N":"1"},{"N":"2"},{"N":"3"}]'), ('"IN","AttributeValueList":[]'),
  ('"IN","AttributeValueList":[{"N":"1"},{"S":"1"}]'), ('"BETWEEN","AttributeValueList":[{"N":"1"},{"S":"1"}]'),
  ('"BETWEEN","AttributeValueList":[{"N":"2"},{"N":"1"}]'),
  ('"IN","AttributeValueList":[{"L":[]}]'), ('"LT","AttributeValueList":[{"SS":["a"]}]'), ('"GE","AttributeValueList":[{"BOOL":true}]'),
  ('"CONTAINS","AttributeValueList":[{"SS":["a"]}]'),
  ('"NOT_CONTAINS","AttributeValueList":[{"M":{}}]'), ('"BEGINS_WITH","AttributeValueList":[{"N":"1"}]'),
  ('"BETWEEN","AttributeValueList":[{"NULL":true},{"NULL":true}]'),
  ('"eq","AttributeValueList":[{"N":"1"}]'), ('"EQ","AttributeValueList":[{"N":"x"}]'), ('"EQ","AttributeValueList":[5]'), ('"EQ","AttributeValueList":{}'),
  ('"EQ","Value":{"N":"1"}')) v (f);
SELECT left_by('{"a":{"AttributeValueList":[{"N":"1"}]}}'), left_by('{"":{"ComparisonOperator":"NULL"}}'),
	left_by('{"a":{"ComparisonOperator":"NULL"},"a":{"ComparisonOperator":"NULL"}}');

-- AND and OR
SELECT left_by('{"a":{"ComparisonOperator":"NOT_NULL"},"pk":{"ComparisonOperator":"BEGINS_WITH","AttributeValueList":[{"S":"s"}]}}') AS "default",
       left_by('{"a":{"ComparisonOperator":"EQ","AttributeValueList":[{"N":"5"}]},"pk":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"l"}]},
         "other":{"ComparisonOperator":"NOT_NULL"}}', 'OR') AS "or",
       left_by('{"a":{"ComparisonOperator":"EQ","AttributeValueList":[{"N":"5"}]},"pk":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"l"}]}}', 'AND')
         AS "and", left_by('{}') AS "empty";
SELECT left_by('{}', 'AND') AS "nothing to join", left_by('{"a":{"ComparisonOperator":"NULL"}}', 'OR') AS "one",
	left_by('{"a":{"ComparisonOperator":"NULL"},"b":{"ComparisonOperator":"NULL"}}', 'and') AS "lower case";

-- names are names: reserved words, dots, placeholders
SELECT dyn_put('legacy', '{"pk":{"S":"odd"},"Name":{"S":"x"},"a.b":{"N":"1"},"#n":{"N":"2"},"l[0]":{"N":"3"},"é":{"N":"4"}}');
SELECT left_by('{"Name":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"x"}]},"a.b":{"ComparisonOperator":"EQ","AttributeValueList":[{"N":"1"}]},
	"#n":{"ComparisonOperator":"EQ","AttributeValueList":[{"N":"2"}]},
  "l[0]":{"ComparisonOperator":"EQ","AttributeValueList":[{"N":"3"}]},"\u00e9":{"ComparisonOperator":"EQ","AttributeValueList":[{"N":"4"}]}}') AS all_of_them,
  left_by('{"a.x":{"ComparisonOperator":"NOT_NULL"}}') AS no_path;
SELECT ask('GetItem', '{"TableName":"legacy","Key":{"pk":{"S":"odd"}},"AttributesToGet":["a.b","Name","#n","nope"]}');
SELECT ask('UpdateItem', '{"TableName":"legacy","Key":{"pk":{"S":"odd"}},
	"AttributeUpdates":{"a.b":{"Action":"ADD","Value":{"N":"1"}},"Name":{"Action":"DELETE"},"#n":{"Value":{"S":"put"}}},"ReturnValues":"ALL_NEW"}');
SELECT dyn_delete('legacy', '{"pk":{"S":"odd"}}');

-- the same as the expression: each operator with each value, and with pairs of them
CREATE TABLE legacy_values (v text);
INSERT INTO legacy_values VALUES ('{"S":"hello"}'), ('{"S":"hel"}'), ('{"S":"x"}'), ('{"N":"5"}'), ('{"N":"6"}'), ('{"N":"12"}'), ('{"B":"aGVsbG8="}'),
	('{"B":"aA=="}'), ('{"BOOL":true}'), ('{"NULL":true}'),
  ('{"L":[{"S":"x"},{"N":"5"},{"BOOL":true}]}'), ('{"M":{"x":{"N":"5"}}}'), ('{"SS":["hello","x"]}'), ('{"NS":["5","6"]}'), ('{"BS":["aGVsbG8="]}');
CREATE FUNCTION left_by_expression(filter text, vals text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  RETURN (SELECT coalesce(string_agg(item ->> 'pk', ' ' ORDER BY item ->> 'pk' COLLATE "C"), '(none)')
    FROM dyn_scan('legacy', filter => filter, names => '{"#a":"a"}', vals => vals::dyn_item) item);
EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE;
END $$;
CREATE TABLE legacy_matrix AS
  SELECT op, v AS value, left_by(format('{"a":{"ComparisonOperator":"%s","AttributeValueList":[%s]}}', op, v)) AS legacy,
    left_by_expression(expression, format('{":v":%s}', v)) AS expression
  FROM (VALUES ('EQ', '#a = :v'), ('NE', '#a <> :v'), ('LE', '#a <= :v'), ('LT', '#a < :v'), ('GE', '#a >= :v'), ('GT', '#a > :v'),
    ('CONTAINS', 'contains(#a, :v)'),
    ('NOT_CONTAINS', 'attribute_exists(#a) AND NOT contains(#a, :v)'), ('BEGINS_WITH', 'begins_with(#a, :v)'), ('IN', '#a IN (:v)')) o (op, expression),
    legacy_values
  UNION ALL
  SELECT op, x.v || ', ' || y.v, left_by(format('{"a":{"ComparisonOperator":"%s","AttributeValueList":[%s,%s]}}', op, x.v, y.v)),
    left_by_expression(expression, format('{":v":%s,":w":%s}', x.v, y.v))
  FROM (VALUES ('IN', '#a IN (:v, :w)'), ('BETWEEN', '#a BETWEEN :v AND :w')) o (op, expression), legacy_values x, legacy_values y;
SELECT op, count(*) AS cases, sum((legacy = expression)::int) AS same, sum((legacy ~ 'ValidationException' AND expression = 'YD001')::int) AS both_refused,
  sum((legacy ~ 'ValidationException' AND expression <> 'YD001')::int) AS refused, sum((legacy !~ 'ValidationException' AND legacy <> expression)::int)
    AS different FROM legacy_matrix GROUP BY op ORDER BY op;
-- what only the legacy form refuses
SELECT op, count(*), string_agg(DISTINCT substring(legacy FROM '(?:is not valid for|AttributeValueList must be of) (.*)'), ', ') AS reasons FROM legacy_matrix
	WHERE legacy ~ 'ValidationException' AND expression <> 'YD001' GROUP BY op ORDER BY op;

-- Expected: Value and Exists, or an operator
SELECT e, ask('PutItem', format('{"TableName":"legacy","Item":{"pk":{"S":"n1"},"a":{"N":"5"}},"Expected":%s}', e)) FROM (VALUES
  ('{"a":{"Value":{"N":"5"}}}'), ('{"a":{"Value":{"N":"6"}}}'), ('{"a":{"Value":{"S":"5"}}}'), ('{"nope":{"Value":{"N":"5"}}}'),
  ('{"a":{"Exists":true,"Value":{"N":"5"}}}'), ('{"nope":{"Exists":false}}'), ('{"a":{"Exists":false}}'),
  ('{"a":{"ComparisonOperator":"GT","AttributeValueList":[{"N":"4"}]}}'), ('{"a":{"ComparisonOperator":"GT","Value":{"N":"5"}}}'),
  ('{"a":{"ComparisonOperator":"NOT_NULL"}}'), ('{"a":{"ComparisonOperator":"NULL"}}'), ('{}'),
  ('{"a":{"Value":{"N":"5"}},"nope":{"Exists":false}}'), ('{"a":{"Value":{"N":"5"}},"nope":{"ComparisonOperator":"NOT_NULL"}}'),
  ('{"a":{"Exists":true}}'), ('{"a":{}}'), ('{"a":{"Exists":false,"Value":{"N":"5"}}}'), ('{"a":{"Exists":true,"ComparisonOperator":"NULL"}}'),
  ('{"a":{"Value":{"N":"5"},"AttributeValueList":[{"N":"5"}]}}'),
  ('{"a":{"ComparisonOperator":"EQ","Value":{"N":"5"},"AttributeValueList":[{"N":"5"}]}}'), ('{"a":{"AttributeValueList":[{"N":"5"}]}}'),
  ('{"a":{"ComparisonOperator":"EQ"}}'), ('{"a":{"ComparisonOperator":"BETWEEN","Value":{"N":"5"}}}'),
  ('{"a":{"Other":1}}'), ('{"a":null}'), ('[]')) v (e);
SELECT ask('PutItem', '{"TableName":"legacy","Item":{"pk":{"S":"new"}},"Expected":{"pk":{"Exists":false}}}') AS create,
       ask('PutItem', '{"TableName":"legacy","Item":{"pk":{"S":"new"}},"Expected":{"pk":{"Exists":false}},"ReturnValuesOnConditionCheckFailure":"ALL_OLD"}')
         AS again,
       ask('DeleteItem', '{"TableName":"legacy","Key":{"pk":{"S":"new"}},"Expected":{"a":{"Exists":false},"b":{"Value":{"N":"1"}}}}') AS "and",
       ask('DeleteItem', '{"TableName":"legacy","Key":{"pk":{"S":"new"}},"Expected":{"a":{"Exists":false},"b":{"Value":{"N":"1"}}},"ConditionalOperator":"OR",
         "ReturnValues":"ALL_OLD"}') AS "or",
       ask('PutItem', '{"TableName":"legacy","Item":{"pk":{"S":"new"}},"ConditionalOperator":"OR"}') AS alone,
       ask('PutItem', '{"TableName":"legacy","Item":{"pk":{"S":"new"}},"Expected":{"a":{"Exists":false}},"ConditionalOperator":"AND"}') AS one;

-- AttributeUpdates: each action, with ReturnValues
CREATE FUNCTION updated(updates text, return_values text DEFAULT 'ALL_NEW', key text DEFAULT 'u') RETURNS text LANGUAGE sql AS
  $$ SELECT ask('UpdateItem', format('{"TableName":"legacy","Key":{"pk":{"S":"%s"}},"AttributeUpdates":%s,"ReturnValues":"%s"}', key, updates,
    return_values)) $$;
SELECT updated('{"n":{"Action":"PUT","Value":{"N":"1"}},"s":{"Value":{"S":"x"}},"ss":{"Action":"ADD","Value":{"SS":["a","b"]}},
	"l":{"Action":"ADD","Value":{"L":[{"S":"a"}]}},"c":{"Action":"ADD","Value":{"N":"-2.5"}},"gone":{"Action":"DELETE"}}') AS made;
SELECT updated('{"n":{"Action":"ADD","Value":{"N":"41"}},"ss":{"Action":"ADD","Value":{"SS":["b","c"]}},
	"l":{"Action":"ADD","Value":{"L":[{"S":"a"},{"N":"1"}]}}}', 'UPDATED_NEW') AS added;
SELECT updated('{"n":{"Action":"DELETE"},"ss":{"Action":"DELETE","Value":{"SS":["a","z"]}},"nope":{"Action":"DELETE","Value":{"NS":["1"]}}}', 'UPDATED_OLD')
	AS deleted_old;
SELECT updated('{"ss":{"Action":"DELETE","Value":{"SS":["b","c"]}},"s":{"Action":"PUT","Value":{"M":{"x":{"L":[]}}}}}', 'UPDATED_NEW') AS emptied;
SELECT updated('{"s":{"Action":"DELETE"}}', 'ALL_OLD') AS all_old, updated('{}') AS unchanged, updated('{"c":{"Action":"ADD","Value":{"N":"1"}}}', 'NONE')
	AS none;
SELECT u, updated(u) FROM (VALUES ('{"c":{"Action":"ADD","Value":{"NS":["1"]}}}'), ('{"l":{"Action":"ADD","Value":{"N":"1"}}}'),
	('{"c":{"Action":"ADD","Value":{"L":[]}}}'), ('{"c":{"Action":"DELETE","Value":{"NS":["1"]}}}'),
  ('{"c":{"Action":"ADD","Value":{"N":"1e125"}}}'), ('{"c":{"Action":"ADD","Value":{"S":"1"}}}'), ('{"c":{"Action":"ADD","Value":{"BOOL":true}}}'),
  ('{"c":{"Action":"ADD","Value":{"M":{}}}}'), ('{"c":{"Action":"DELETE","Value":{"N":"1"}}}'),
  ('{"c":{"Action":"DELETE","Value":{"L":[]}}}'), ('{"c":{"Action":"ADD"}}'), ('{"c":{"Action":"PUT"}}'), ('{"c":{}}'),
  ('{"c":{"Action":"put","Value":{"N":"1"}}}'), ('{"c":{"Value":{"N":"1"}},"c":{"Value":{"N":"1"}}}'),
  ('{"":{"Value":{"N":"1"}}}'), ('{"pk":{"Value":{"S":"other"}}}'), ('{"c":{"Value":{"SS":[]}}}')) v (u);
-- where there is no item
SELECT updated('{"a":{"Action":"DELETE"},"b":{"Action":"DELETE","Value":{"SS":["a"]}}}', 'ALL_NEW', 'absent') AS deletes,
	dyn_get('legacy', '{"pk":{"S":"absent"}}') IS NULL AS makes_none;
SELECT updated('{"a":{"Action":"DELETE"},"b":{"Action":"ADD","Value":{"N":"3"}}}', 'ALL_NEW', 'absent') AS adds, updated('{}', 'ALL_NEW', 'absent2') AS nothing;
SELECT ask('UpdateItem', '{"TableName":"legacy","Key":{"pk":{"S":"absent"}},"AttributeUpdates":{"b":{"Action":"ADD","Value":{"N":"1"}}},
	"Expected":{"b":{"Value":{"N":"3"}}},"ReturnValues":"UPDATED_NEW"}') AS met,
       ask('UpdateItem', '{"TableName":"legacy","Key":{"pk":{"S":"absent"}},"AttributeUpdates":{"b":{"Action":"ADD","Value":{"N":"1"}}},
         "Expected":{"b":{"Value":{"N":"3"}}},"ReturnValues":"UPDATED_NEW"}') AS not_met;
-- the same as the update expression: each action with each value on each value, and on none
CREATE FUNCTION updated_by_expression(item dyn_item, update text, vals text, return_values text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  RETURN coalesce('{"Attributes":' || dyn_apply(item, update, '{"#a":"a"}', vals::dyn_item, return_values)::text || '}', '{}');
EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE;
END $$;
SELECT dyn_create_table('legacy_both', 'pk S');
CREATE FUNCTION updated_both(old text, action text, value text, return_values text, OUT legacy text, OUT expression text) LANGUAGE plpgsql AS $$
DECLARE key text := md5(concat_ws(' ', old, action, value, return_values)); item dyn_item := format('{"pk":{"S":"%s"},"b":{"N":"1"}%s}', key, ',"a":' || old);
BEGIN
  PERFORM dyn_put('legacy_both', item);
  expression := updated_by_expression(item, CASE WHEN value IS NULL THEN 'REMOVE #a' WHEN action = 'PUT' THEN 'SET #a = :v' ELSE action || ' #a :v' END,
    CASE WHEN value IS NULL THEN '{}' ELSE format('{":v":%s}', value) END, return_values);
  legacy := ask('UpdateItem', format('{"TableName":"legacy_both","Key":{"pk":{"S":"%s"}},"AttributeUpdates":{"a":{"Action":"%s"%s}},"ReturnValues":"%s"}',
    key, action, ',"Value":' || value, return_values));
END $$;
CREATE TABLE legacy_updates AS
  SELECT action, old, value, returned, b.* FROM unnest('{PUT,ADD,DELETE}'::text[]) action, (SELECT v FROM legacy_values UNION ALL SELECT NULL) o (old),
    (SELECT v FROM legacy_values UNION ALL SELECT NULL) n (value),
    unnest('{ALL_NEW,UPDATED_NEW,UPDATED_OLD}'::text[]) returned, updated_both(old, action, value, returned) b WHERE value IS NOT NULL OR action = 'DELETE';
SELECT action, count(*) AS cases, sum((legacy = expression)::int) AS same, sum((legacy ~ 'ValidationException' AND expression = 'YD001')::int) AS both_refused,
  sum((legacy <> expression AND NOT (legacy ~ 'ValidationException' AND expression = 'YD001'))::int) AS different FROM legacy_updates GROUP BY action
    ORDER BY action;
-- lists alone
SELECT old, value, returned, regexp_replace(legacy, '[0-9a-f]{32}', 'key') AS legacy FROM legacy_updates WHERE legacy <> expression
	AND NOT (legacy ~ 'ValidationException' AND expression = 'YD001') ORDER BY old, value, returned;

-- many attributes
SELECT length(updated((SELECT json_object_agg('x' || i, json_build_object('Value', json_build_object('N', i::text)))::text FROM generate_series(1, 3000) i),
	'UPDATED_NEW', 'many')) > 60000 AS many;
SELECT left_by((SELECT json_object_agg('x' || i, json_build_object('ComparisonOperator', 'EQ', 'AttributeValueList',
	json_build_array(json_build_object('N', i::text))))::text FROM generate_series(1, 3000) i)) AS many;
SELECT left_by(format('{"a":{"ComparisonOperator":"IN","AttributeValueList":[%s]}}',
	(SELECT string_agg(format('{"N":"%s"}', i), ',') FROM generate_series(1, 1000) i))) AS in_many;
SELECT count(dyn_delete('legacy', jsonb_build_object('pk', k))) FROM unnest('{u,absent,absent2,many,new}'::text[]) k;

-- KeyConditions, of a table and of an index
SELECT dyn_create_table('music', 'Artist S', 'Year N',
	global_indexes => '{"Genres":{"partition_key":"Genre S","sort_key":"Title S","projection":"KEYS_ONLY"}}');
SELECT count(dyn_put('music', jsonb_build_object('Artist', a, 'Year', y, 'Title', t, 'Genre', g, 'Plays', p)))
	FROM (VALUES ('Ada', 1990, 'One', 'Rock', 5), ('Ada', 1995, 'Two', 'Pop', 7), ('Ada', 2001, 'Three', 'Rock', 9),
  ('Ada', 2010, 'Twelve', 'Rock', 1), ('Bob', 1990, 'Blue', 'Pop', 3)) v (a, y, t, g, p);
CREATE FUNCTION titles(conditions text, rest text DEFAULT '') RETURNS text LANGUAGE plpgsql AS $$
DECLARE answer text := ask('Query', format('{"TableName":"music","KeyConditions":%s%s}', conditions, rest));
BEGIN
  IF answer NOT LIKE '{%' THEN RETURN answer; END IF;
  RETURN (SELECT coalesce(string_agg(i -> 'Title' ->> 'S', ' '), '(none)') FROM json_array_elements(answer::json -> 'Items') i);
END $$;
CREATE FUNCTION ada(operator text) RETURNS text LANGUAGE sql AS
  $$ SELECT titles(format('{"Artist":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"Ada"}]},"Year":{"ComparisonOperator":%s}}', operator)) $$;
SELECT titles('{"Artist":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"Ada"}]}}') AS all_of_it,
	titles('{"Artist":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"Ada"}]}}', ',"ScanIndexForward":false') AS backward;
SELECT c, ada(c) FROM (VALUES ('"EQ","AttributeValueList":[{"N":"1995"}]'), ('"LT","AttributeValueList":[{"N":"1995"}]'),
	('"LE","AttributeValueList":[{"N":"1995"}]'), ('"GT","AttributeValueList":[{"N":"1995"}]'), ('"GE","AttributeValueList":[{"N":"1995"}]'),
  ('"BETWEEN","AttributeValueList":[{"N":"1995"},{"N":"2001"}]'), ('"BETWEEN","AttributeValueList":[{"N":"2001"},{"N":"1995"}]'),
  ('"BEGINS_WITH","AttributeValueList":[{"S":"19"}]'), ('"EQ","AttributeValueList":[{"S":"1995"}]'),
  ('"NE","AttributeValueList":[{"N":"1995"}]'), ('"IN","AttributeValueList":[{"N":"1995"}]'), ('"NULL"'), ('"NOT_NULL"'),
  ('"CONTAINS","AttributeValueList":[{"N":"1995"}]'), ('"NOT_CONTAINS","AttributeValueList":[{"N":"1995"}]'), ('"EQ"')) v (c);
SELECT titles('{"Genre":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"Rock"}]},
	"Title":{"ComparisonOperator":"BEGINS_WITH","AttributeValueList":[{"S":"T"}]}}', ',"IndexName":"Genres"') AS index,
       titles('{"Genre":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"Rock"}]}}', ',"IndexName":"Genres","AttributesToGet":["Title","Artist"]')
         AS projected,
       titles('{"Genre":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"Rock"}]}}', ',"IndexName":"Genres","AttributesToGet":["Plays"]') AS unprojected,
       titles('{"Genre":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"Rock"}]}}',
         ',"IndexName":"Genres","QueryFilter":{"Plays":{"ComparisonOperator":"NULL"}}') AS unprojected_filter;
SELECT titles('{}') AS none, titles('{"Year":{"ComparisonOperator":"EQ","AttributeValueList":[{"N":"1990"}]}}') AS no_partition_key,
       titles('{"Artist":{"ComparisonOperator":"GT","AttributeValueList":[{"S":"Ada"}]}}') AS range_of_partitions,
       titles('{"Artist":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"Ada"}]},"Plays":{"ComparisonOperator":"EQ","AttributeValueList":[{"N":"1"}]}}')
         AS no_key,
       titles((SELECT json_object_agg('k' || i, '{"ComparisonOperator":"EQ","AttributeValueList":[{"N":"1"}]}'::json)::text FROM generate_series(1, 9) i))
         AS too_many;

-- QueryFilter
CREATE FUNCTION filtered(filter text, rest text DEFAULT '') RETURNS text LANGUAGE sql AS
  $$ SELECT titles('{"Artist":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"Ada"}]}}', format(',"QueryFilter":%s%s', filter, rest)) $$;
SELECT filtered('{"Plays":{"ComparisonOperator":"GT","AttributeValueList":[{"N":"4"}]}}') AS gt,
       filtered('{"Plays":{"ComparisonOperator":"GT","AttributeValueList":[{"N":"4"}]},
         "Genre":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"Rock"}]}}') AS "and",
       filtered('{"Plays":{"ComparisonOperator":"GT","AttributeValueList":[{"N":"8"}]},"Genre":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"Pop"}]}}',
         ',"ConditionalOperator":"OR"') AS "or",
       filtered('{}') AS empty, filtered('{"Year":{"ComparisonOperator":"EQ","AttributeValueList":[{"N":"1995"}]}}') AS sort_key,
         filtered('{"Artist":{"ComparisonOperator":"NOT_NULL"}}') AS partition_key,
       filtered('{"Plays":{"ComparisonOperator":"NULL"}}', ',"ConditionalOperator":"OR"') AS one;
-- items are counted before and after the filter
SELECT ask('Query', '{"TableName":"music","KeyConditions":{"Artist":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"Ada"}]}},
	"QueryFilter":{"Genre":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"Pop"}]}},"AttributesToGet":["Title"]}');

-- AttributesToGet
SELECT a, ask('GetItem', format('{"TableName":"music","Key":{"Artist":{"S":"Ada"},"Year":{"N":"1990"}},"AttributesToGet":%s}', a))
	FROM (VALUES ('["Title"]'), ('["Plays","Artist"]'), ('["nope"]'), ('["Title","Title"]'), ('[]'), ('[""]'), ('[1]'), ('"Title"')) v (a);
SELECT ask('GetItem', format('{"TableName":"music","Key":{"Artist":{"S":"Ada"},"Year":{"N":"1990"}},"AttributesToGet":%s}',
	(SELECT json_agg('x' || i) FROM generate_series(1, 256) i))) AS too_many;
SELECT ask('Scan', '{"TableName":"music","AttributesToGet":["Plays"],"ScanFilter":{"Artist":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"Bob"}]}}}')
	AS scan,
       ask('Scan', '{"TableName":"music","AttributesToGet":["Plays"],"Select":"SPECIFIC_ATTRIBUTES",
         "ScanFilter":{"Artist":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"Bob"}]}}}') AS specific,
       ask('Scan', '{"TableName":"music","AttributesToGet":["Plays"],"Select":"ALL_ATTRIBUTES"}') AS all_attributes;

SELECT dyn_put('music', format('{"Artist":{"S":"Cid"},"Year":{"N":"%s"},"Long":{"S":"%s"}}', y, repeat('x', 300000))::dyn_item)
	FROM generate_series(1999, 2000) y;
SET dynamo_table.max_batch_size = '400kB';
SELECT r, ask('BatchGetItem', '{"RequestItems":{"music":' || r || '}}') FROM (VALUES
  ('{"Keys":[{"Artist":{"S":"Ada"},"Year":{"N":"1990"}},{"Artist":{"S":"Ada"},"Year":{"N":"1995"}}],"AttributesToGet":["Title","nope"]}'),
  ('{"Keys":[{"Artist":{"S":"Cid"},"Year":{"N":"1999"}},{"Artist":{"S":"Cid"},"Year":{"N":"2000"}}],"AttributesToGet":["Year","Artist"]}'),
  ('{"Keys":[{"Artist":{"S":"Ada"},"Year":{"N":"1990"}}],"AttributesToGet":["a"],"ProjectionExpression":"b"}'),
  ('{"Keys":[{"Artist":{"S":"Ada"},"Year":{"N":"1990"}}],"AttributesToGet":[]}')) v (r);
RESET dynamo_table.max_batch_size;

-- both kinds in one request
SELECT op, r, ask(op, '{"TableName":"music",' || r || '}') FROM (VALUES
  ('GetItem', '"Key":{"Artist":{"S":"Ada"},"Year":{"N":"1990"}},"AttributesToGet":["a"],"ProjectionExpression":"b"'),
  ('PutItem', '"Item":{"Artist":{"S":"Ada"},"Year":{"N":"1990"}},"Expected":{"a":{"Exists":true}},"ConditionalOperator":"OR",'
    '"ConditionExpression":"attribute_exists(b)"'),
  ('DeleteItem', '"Key":{"Artist":{"S":"Ada"},"Year":{"N":"1990"}},"Expected":{},"ConditionExpression":"attribute_exists(b)"'),
  ('UpdateItem', '"Key":{"Artist":{"S":"Ada"},"Year":{"N":"1990"}},"AttributeUpdates":{},"Expected":{},"ConditionalOperator":"OR","UpdateExpression":"REMOVE '
    'a","ConditionExpression":"attribute_exists(b)"'),
  ('UpdateItem', '"Key":{"Artist":{"S":"Ada"},"Year":{"N":"1990"}},"AttributeUpdates":{"a":{"Action":"DELETE"}},"ConditionExpression":"attribute_exists(b)"'),
  ('UpdateItem', '"Key":{"Artist":{"S":"Ada"},"Year":{"N":"1990"}},"ConditionalOperator":"OR","UpdateExpression":"REMOVE a"'),
  ('Query', '"KeyConditions":{},"QueryFilter":{},"ConditionalOperator":"OR","AttributesToGet":["a"],"KeyConditionExpression":"a = :a","FilterExpression":"b",'
    '"ProjectionExpression":"c"'),
  ('Query', '"KeyConditions":{},"QueryFilter":{},"FilterExpression":"b"'), ('Scan', '"ScanFilter":{},"ProjectionExpression":"b"'),
  ('Scan', '"AttributesToGet":["a"],"FilterExpression":"b"')) v (op, r);
-- but KeyConditions may go with the other expressions
SELECT titles('{"Artist":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"Ada"}]}}',
	',"FilterExpression":"Plays > :p","ExpressionAttributeValues":{":p":{"N":"4"}},"ProjectionExpression":"Title"') AS key_conditions;
