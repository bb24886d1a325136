-- Twins, a table with covering indexes and one with plain ones: every request gets the same answer, consumed capacity and pages included.
\set VERBOSITY terse
SET client_min_messages = warning;
CREATE FUNCTION twins_create(name text, covering text) RETURNS text LANGUAGE sql AS $$
  SELECT set_config('dynamo_table.covering_indexes', covering, true) || ' ' ||
    (dyn_request('CreateTable', jsonb_build_object('TableName', name, 'BillingMode', 'PAY_PER_REQUEST',
    'KeySchema', '[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]'::jsonb,
    'AttributeDefinitions', '[{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "N"},
    {"AttributeName": "g", "AttributeType": "S"}, {"AttributeName": "h", "AttributeType": "N"}]'::jsonb,
    'GlobalSecondaryIndexes', '[{"IndexName": "All", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}, {"AttributeName": "h",
    "KeyType": "RANGE"}], "Projection": {"ProjectionType": "ALL"}},
      {"IndexName": "Include", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["note", "parts"]}},
      {"IndexName": "Keys", "KeySchema": [{"AttributeName": "h", "KeyType": "HASH"}], "Projection": {"ProjectionType": "KEYS_ONLY"}}]'::jsonb,
    'LocalSecondaryIndexes', '[{"IndexName": "Local", "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "h",
    "KeyType": "RANGE"}], "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["note"]}},
      {"IndexName": "LocalAll", "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "h", "KeyType": "RANGE"}],
        "Projection": {"ProjectionType": "ALL"}}]'::jsonb)::text::json) #>> '{TableDescription,TableStatus}') $$;
SELECT twins_create('twin_covering', 'on'), twins_create('twin_plain', 'off');
-- the third has other ones
SELECT dyn_create_table('twin_second', 'pk S', 'sk N',
	global_indexes => '{"All": {"partition_key": "g S", "sort_key": "h N", "covering": true}, "Include": {"partition_key": "g S",
	"projection": "INCLUDE", "non_key_attributes": ["note", "parts"], "covering": true},
  "Keys": {"partition_key": "h N", "projection": "KEYS_ONLY", "covering": true}}',
    local_indexes => '{"Local": {"sort_key": "h N", "projection": "INCLUDE", "non_key_attributes": ["note"]},
    "LocalAll": {"sort_key": "h N", "covering": true}}');
SELECT relname, pg_get_indexdef(indexrelid) ~ 'INCLUDE' AS covering FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE relname ~ '^twin_' ORDER BY 1;
INSERT INTO twin_plain (item) SELECT jsonb_strip_nulls(jsonb_build_object('pk', 'p' || n % 20, 'sk', n, 'g', CASE WHEN n % 7 > 0 THEN 'g' || n % 5 END, 'h',
	CASE WHEN n % 11 > 0 THEN n / 8.0 END, 'note', CASE n % 3 WHEN 0 THEN repeat('note ' || n, n % 50) WHEN 1 THEN '' END,
  'parts', CASE WHEN n % 4 = 0 THEN to_jsonb(ARRAY[n, n * 2]) END, 'rest', repeat(md5(n::text), n % 37), 'flag', n % 2 = 0))::dyn_item
  FROM generate_series(1, 180) n;
-- what a JSON has no plain form for: a binary value, sets, a name with U+0001, long numbers
INSERT INTO twin_plain (item) SELECT format('{"pk":{"S":"p1"},"sk":{"N":"%s"},"g":{"S":"g1"},"h":{"N":"%s"},"note":{"BS":["AA==","AQ=="]},
	"parts":{"NS":["1","2.50"]},"\u0001":{"S":"\u0001"},"rest":{"NULL":true},"deep":{"M":{"a":{"L":[{"M":{}}]}}}}', n, n * 0.125)::dyn_item
	FROM generate_series(1001, 1012) n;
INSERT INTO twin_covering (item) SELECT item FROM twin_plain;
INSERT INTO twin_second (item) SELECT item FROM twin_plain;

-- requests: each index by ways to read
CREATE TABLE twin_requests (n int GENERATED ALWAYS AS IDENTITY, action text, request jsonb);
INSERT INTO twin_requests (action, request) SELECT action, jsonb_build_object('TableName', 'TWIN', 'ReturnConsumedCapacity', 'INDEXES') || index || ways
  FROM (VALUES ('{"IndexName": "All"}'::jsonb, 'g = :g', '{":g": {"S": "g1"}}'::jsonb), ('{"IndexName": "Include"}', 'g = :g', '{":g": {"S": "g1"}}'),
    ('{"IndexName": "Keys"}', 'h = :h', '{":h": {"N": "2.5"}}'),
    ('{"IndexName": "Local"}', 'pk = :p AND h > :h', '{":p": {"S": "p1"}, ":h": {"N": "3"}}'),
    ('{"IndexName": "LocalAll"}', 'pk = :p', '{":p": {"S": "p1"}}'), ('{}', 'pk = :p', '{":p": {"S": "p1"}}')) i (index, condition, condition_values),
  LATERAL (SELECT 'Scan' AS action, w AS ways FROM (VALUES ('{}'::jsonb), ('{"Limit": 7}'), ('{"Select": "COUNT"}'),
    ('{"Select": "COUNT", "FilterExpression": "attribute_exists(note)"}'),
    ('{"FilterExpression": "size(note) > :s", "ExpressionAttributeValues": {":s": {"N": "20"}}}'),
      ('{"ProjectionExpression": "pk, note"}'), ('{"ProjectionExpression": "sk"}'), ('{"ProjectionExpression": "parts[0], rest"}'),
      ('{"Segment": 1, "TotalSegments": 3}'), ('{"Segment": 2, "TotalSegments": 3, "Limit": 11, "FilterExpression": "attribute_not_exists(parts)"}'),
      ('{"Select": "ALL_ATTRIBUTES"}'), ('{"Select": "ALL_PROJECTED_ATTRIBUTES"}'),
      ('{"FilterExpression": "flag = :t", "ExpressionAttributeValues": {":t": {"BOOL": true}}}')) v (w)
    UNION ALL SELECT 'Query', w || jsonb_build_object('KeyConditionExpression', condition, 'ExpressionAttributeValues', condition_values ||
      coalesce(w -> 'ExpressionAttributeValues', '{}'))
      FROM (VALUES ('{}'::jsonb), ('{"ScanIndexForward": false}'), ('{"Limit": 3}'), ('{"Limit": 1, "ScanIndexForward": false}'), ('{"Select": "COUNT"}'),
        ('{"FilterExpression": "attribute_exists(note)", "Limit": 5}'), ('{"ProjectionExpression": "note"}'), ('{"ProjectionExpression": "rest, sk"}'),
        ('{"Select": "ALL_ATTRIBUTES"}'), ('{"Select": "ALL_PROJECTED_ATTRIBUTES", "Limit": 4}'),
        ('{"FilterExpression": "contains(note, :c)", "ExpressionAttributeValues": {":c": {"S": "9"}}}')) v (w)) w;
INSERT INTO twin_requests (action, request) SELECT 'ExecuteStatement', jsonb_build_object('Statement', s, 'ReturnConsumedCapacity', 'INDEXES') || w
	FROM unnest(ARRAY['SELECT * FROM "TWIN"."All" WHERE g = ''g1''', 'SELECT * FROM "TWIN"."Include" WHERE g IN [''g1'', ''g3'']',
  'SELECT note FROM "TWIN"."Include" WHERE g = ''g1'' AND attribute_type(note, ''S'')', 'SELECT rest FROM "TWIN"."All" WHERE g = ''g1'' ORDER BY h DESC',
  'SELECT * FROM "TWIN"."Local" WHERE pk = ''p1'' AND h > 5', 'SELECT * FROM "TWIN"."LocalAll"', 'SELECT rest FROM "TWIN"."Include"',
  'SELECT rest FROM "TWIN"."Local" WHERE pk = ''p1''']) s, (VALUES ('{}'::jsonb), ('{"Limit": 6}')) v (w);

-- all pages of an answer, or the error
CREATE FUNCTION twin_answer(action text, request jsonb, twin text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer jsonb;
	answers text := '';
BEGIN
	request := replace(request::text, 'TWIN', twin)::jsonb;
	FOR page IN 1 .. 400 LOOP
		answer := dyn_request(action, request::text::json)::text;
		answers := answers || answer::text;
		EXIT WHEN answer -> 'LastEvaluatedKey' IS NULL AND answer -> 'NextToken' IS NULL;
		request := request || CASE WHEN answer ? 'NextToken' THEN jsonb_build_object('NextToken', answer -> 'NextToken')
			ELSE jsonb_build_object('ExclusiveStartKey', answer -> 'LastEvaluatedKey') END;
	END LOOP;
	RETURN regexp_replace(replace(answers, twin, 'TWIN'), '"NextToken": "[^"]*"', 'more', 'g');
EXCEPTION WHEN OTHERS THEN
	RETURN replace(SQLERRM, twin, 'TWIN');
END $$;
CREATE FUNCTION twin_differences() RETURNS TABLE (store text, twin text, requests bigint, errors bigint, differing bigint, example text) LANGUAGE plpgsql AS $$
BEGIN
	FOREACH store IN ARRAY ARRAY['on', 'off'] LOOP
		PERFORM set_config('dynamo_table.direct_store', store, true);
		FOREACH twin IN ARRAY ARRAY['twin_covering', 'twin_second'] LOOP
			SELECT count(*), count(*) FILTER (WHERE NOT plain LIKE '{%'), count(*) FILTER (WHERE plain <> covering),
				min(r.action || ' ' || r.request || E'\n' || left(plain, 200) || E'\n' || left(covering, 200)) FILTER (WHERE plain <> covering)
				INTO requests, errors, differing, example FROM twin_requests r, twin_answer(r.action, r.request, 'twin_plain') plain,
					twin_answer(r.action, r.request, twin) covering;
			RETURN NEXT;
		END LOOP;
	END LOOP;
END $$;
SELECT * FROM twin_differences();
SELECT left(answer, 90) AS error, count(*) FROM twin_requests r, twin_answer(r.action, r.request, 'twin_plain') answer WHERE NOT answer LIKE '{%' GROUP BY 1
	ORDER BY 1;
VACUUM twin_covering, twin_second, twin_plain;
SELECT * FROM twin_differences();

-- writes consume the same
CREATE FUNCTION twin_write(n int, twin text) RETURNS text LANGUAGE sql AS $$
  SELECT replace(concat(dyn_request('UpdateItem',
    format('{"TableName": "%s", "Key": {"pk": {"S": "p%s"}, "sk": {"N": "%s"}}, "UpdateExpression": "SET note = :n, h = :h REMOVE parts",
    "ExpressionAttributeValues": {":n": {"S": "%s"}, ":h": {"N": "%s"}}, "ReturnConsumedCapacity": "INDEXES", "ReturnValues": "ALL_NEW"}', twin, n % 20, n,
    repeat('n', n), n)::json),
    dyn_request('UpdateItem', format('{"TableName": "%s", "Key": {"pk": {"S": "p%s"}, "sk": {"N": "%s"}}, "UpdateExpression": "ADD counted :n",
      "ExpressionAttributeValues": {":n": {"N": "1"}}, "ReturnConsumedCapacity": "INDEXES", "ReturnValues": "UPDATED_NEW"}', twin, n % 20, n)::json),
    dyn_request('PutItem', format('{"TableName": "%s", "Item": {"pk": {"S": "p%s"}, "sk": {"N": "%s"}, "g": {"S": "g%s"}},
      "ReturnConsumedCapacity": "INDEXES", "ReturnValues": "ALL_OLD"}', twin, n % 20, n + 1, n % 3)::json),
    dyn_request('DeleteItem', format('{"TableName": "%s", "Key": {"pk": {"S": "p%s"}, "sk": {"N": "%s"}},
      "ReturnConsumedCapacity": "INDEXES", "ReturnValues": "ALL_OLD"}', twin, n % 20, n + 20)::json)), twin, 'TWIN') $$;
CREATE TABLE twin_writes AS SELECT n, twin, twin_write(n, twin) AS answer FROM generate_series(1, 150, 17) n,
	unnest(ARRAY['twin_plain', 'twin_covering', 'twin_second']) twin;
SELECT count(*), count(*) FILTER (WHERE answers > 1) AS differing FROM (SELECT n, count(DISTINCT answer) AS answers FROM twin_writes GROUP BY n) x;
-- what expires is not shown, by indexes that do not project when it does; and is swept
CALL dyn_enable_ttl('twin_plain', 'expires', hide_expired => true);
CALL dyn_enable_ttl('twin_covering', 'expires', hide_expired => true);
CALL dyn_enable_ttl('twin_second', 'expires', hide_expired => true);
CREATE FUNCTION twin_expire(twin text) RETURNS bigint LANGUAGE sql AS $$
  SELECT count(dyn_update(twin, jsonb_build_object('pk', 'p' || n % 20, 'sk', n), 'SET expires = :e',
    vals => jsonb_build_object(':e', CASE WHEN n % 2 = 0 THEN 1000000000 ELSE 4000000000 END), return_values => 'ALL_NEW'))
    FROM generate_series(5, 180, 3) n $$;
SELECT twin, twin_expire(twin) FROM unnest(ARRAY['twin_plain', 'twin_covering', 'twin_second']) twin;
SELECT store, twin, errors, differing, example FROM twin_differences();
SELECT i, index_only FROM unnest(ARRAY['All', 'Include', 'Keys', 'LocalAll']) i, dyn_explain('twin_covering', index_name => i);
CALL dyn_disable_ttl('twin_plain');
CALL dyn_disable_ttl('twin_covering');
CALL dyn_disable_ttl('twin_second');
SELECT problem, count(*) FROM unnest(ARRAY['twin_plain', 'twin_covering', 'twin_second']) twin, dyn_check_table(twin) GROUP BY 1;

-- tables that go with the session, that are not logged, that are in parts; and in a serializable transaction
CREATE TEMP TABLE twin_temporary (LIKE twin_covering INCLUDING ALL) USING dynamo_table;
CREATE TABLE twin_parted (LIKE twin_covering INCLUDING ALL) PARTITION BY HASH (pk);
CREATE TABLE twin_part_0 PARTITION OF twin_parted FOR VALUES WITH (MODULUS 2, REMAINDER 0) USING dynamo_table;
CREATE TABLE twin_part_1 PARTITION OF twin_parted FOR VALUES WITH (MODULUS 2, REMAINDER 1) USING dynamo_table;
CREATE TABLE twin_parted_second (LIKE twin_second INCLUDING ALL) PARTITION BY HASH (pk);
CREATE TABLE twin_second_0 PARTITION OF twin_parted_second FOR VALUES WITH (MODULUS 1, REMAINDER 0) USING dynamo_table;
\set ECHO none
SELECT replace(regexp_replace(pg_get_triggerdef(oid), ' ON \S+', ' ON %s'), '%s', t) AS statement FROM pg_trigger,
	(VALUES ('twin_covering', 'twin_temporary'), ('twin_covering', 'twin_parted'), ('twin_second', 'twin_parted_second')) v (source, t) WHERE tgrelid =
	source::regclass AND tgname ~ '^~dynamo' AND NOT tgisinternal \gexec
\set ECHO all
ALTER TABLE twin_second SET UNLOGGED;
INSERT INTO twin_temporary (item) SELECT item FROM twin_plain;
INSERT INTO twin_parted (item, pk, sk, g, h) SELECT item, pk, sk, g, h FROM twin_plain;
INSERT INTO twin_parted_second (item, pk, sk, g, h) SELECT item, pk, sk, g, h FROM twin_plain;
VACUUM ANALYZE twin_covering, twin_temporary, twin_parted, twin_parted_second, twin_second;
CREATE FUNCTION twin_scans() RETURNS TABLE (twin text, index_name text, entries bigint, differing bigint, explained text) LANGUAGE plpgsql AS $$
BEGIN
	FOREACH twin IN ARRAY ARRAY['twin_covering', 'twin_second', 'twin_temporary', 'twin_parted', 'twin_parted_second', 'twin_part_1', 'twin_second_0'] LOOP
		FOREACH index_name IN ARRAY ARRAY['All', 'Include', 'Keys', 'Local', 'LocalAll'] LOOP
			BEGIN
				SELECT count(*) INTO entries FROM dyn_scan(twin, index_name);
				SELECT count(*) INTO differing FROM (SELECT i::text FROM dyn_scan(twin, index_name) i EXCEPT ALL SELECT i::text
					FROM dyn_scan('twin_plain', index_name) i) x;
				SELECT e.store || CASE WHEN e.index_only THEN ' alone' ELSE '' END INTO explained FROM dyn_explain(twin, index_name => twin_scans.index_name) e;
			EXCEPTION WHEN OTHERS THEN
				explained := SQLERRM;
			END;
			RETURN NEXT;
		END LOOP;
	END LOOP;
END $$;
SET dynamo_table.direct_store = on;
SELECT * FROM twin_scans();
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT sum(entries), sum(differing) FROM twin_scans();
COMMIT;
SET dynamo_table.direct_store = off;
SELECT sum(entries), sum(differing) FROM twin_scans();
RESET dynamo_table.direct_store;
SELECT problem, count(*) FROM unnest(ARRAY['twin_temporary', 'twin_parted', 'twin_parted_second', 'twin_second']) twin, dyn_check_table(twin)
	WHERE problem <> 'it does not fire for the replica role' GROUP BY 1;
-- plain SQL reads the keys from the index alone, as from a plain one
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS off) SELECT pk, sk FROM twin_covering WHERE g = 'g1' AND h = 2.5;
EXPLAIN (COSTS off) SELECT pk, sk FROM twin_second WHERE g = 'g1' AND h = 2.5;
RESET enable_seqscan;
RESET enable_bitmapscan;
DROP TABLE twin_covering, twin_plain, twin_second, twin_requests, twin_writes, twin_temporary, twin_parted, twin_parted_second;
DROP FUNCTION twins_create, twin_answer, twin_differences, twin_write, twin_expire, twin_scans;
