-- BatchExecuteStatement and ExecuteTransaction: what several PartiQL statements do together
\pset format unaligned
\pset tuples_only on
CREATE FUNCTION request(operation text, request text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE d text;
BEGIN
  RETURN dyn_request(operation, request::json);
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS d = PG_EXCEPTION_DETAIL;
  RETURN concat_ws(' / ', coalesce(dyn_error_name(SQLSTATE), SQLSTATE) || ': ' || SQLERRM, nullif(d, ''));
END $$;
CREATE FUNCTION list(name text, VARIADIC statements text[]) RETURNS text LANGUAGE sql AS
  $$ SELECT json_build_object(name, json_agg(json_build_object('Statement', s)))::text FROM unnest(statements) s $$;
CREATE FUNCTION batch(VARIADIC statements text[]) RETURNS text LANGUAGE sql AS $$
	SELECT request('BatchExecuteStatement', list('Statements', VARIADIC statements)) $$;
CREATE FUNCTION tx(VARIADIC statements text[]) RETURNS text LANGUAGE sql AS $$
	SELECT request('ExecuteTransaction', list('TransactStatements', VARIADIC statements)) $$;
SELECT dyn_create_table('tab', 'pk S', 'sk N', global_indexes => '{"ByG": {"partition_key": "g S"}}', local_indexes => '{"ByL": {"sort_key": "l N"}}');
SELECT dyn_create_table('other', 'pk S');
SELECT batch($$INSERT INTO tab VALUE {'pk': 'a', 'sk': 1, 'n': 1, 'g': 'x'}$$, $$INSERT INTO other VALUE {'pk': 'a', 'n': 1}$$,
	$$INSERT INTO tab VALUE {'pk': 'a', 'sk': 2, 'n': 2}$$);

-- each statement of a batch succeeds or fails by itself; what it has begun is undone
SELECT batch($$INSERT INTO tab VALUE {'pk': 'a', 'sk': 1}$$, $$UPDATE tab SET n = n + 1 WHERE pk = 'a' AND sk = 2 RETURNING MODIFIED NEW *$$,
	$$DELETE FROM other WHERE pk = 'none' RETURNING ALL OLD *$$,
  $$INSERT INTO tab VALUE {'pk': 'b', 'sk': 1, 'g': 5}$$, $$INSERT INTO tab VALUE {'pk': 'b'}$$, $$UPDATE tab SET n = g + 1 WHERE pk = 'a' AND sk = 3$$,
  $$UPDATE nope SET n = 1 WHERE pk = 'a'$$,
  $$UPDATE tab SET n = 1 WHERE pk = 'a'$$, $$UPDATE tab SET n = 1 WHERE pk = 5 AND sk = 9$$, $$DELETE tab$$,
  $$EXISTS(SELECT * FROM tab WHERE pk = 'a' AND sk = 1 AND n = 1)$$);
SELECT item FROM tab ORDER BY pk, sk;
SELECT batch($$SELECT * FROM tab WHERE pk = 'a' AND sk = 1$$, $$SELECT nope FROM tab WHERE sk = 2 AND pk = 'a'$$, $$SELECT n FROM other WHERE pk IN ['a']$$,
	$$SELECT * FROM other WHERE pk = 'z'$$, $$SELECT * FROM other WHERE pk = 'c' AND pk = 'c'$$,
  $$SELECT * FROM other WHERE pk = 'a' AND pk = 'b'$$, $$SELECT * FROM other WHERE pk = 'a' OR pk = 'a'$$, $$SELECT * FROM tab.ByG WHERE g = 'x'$$,
  $$SELECT * FROM tab WHERE pk = 'a' AND sk = '1'$$, $$SELECT * FROM nope WHERE pk = 'a'$$);
-- what concerns the whole
SELECT batch($$SELECT * FROM other WHERE pk = 'a'$$, $$SELECT n FROM other WHERE pk = 'b'$$,
	$$SELECT n FROM "arn:aws:dynamodb:local:000000000000:table/other" WHERE pk = 'a'$$);
SELECT batch($$SLECT$$, $$INSERT INTO other VALUE {'pk': 'b'}$$, $$DELETE FROM other WHERE pk = 'b'$$);
SELECT batch($$INSERT INTO other VALUE {'pk': 'b'}$$, $$SELECT * FROM other WHERE pk = 'a'$$), batch($$SLECT$$, $$SELECT n FROM other WHERE pk = 'a'$$);
SELECT n, left(request('BatchExecuteStatement', list('Statements',
	VARIADIC (SELECT array_agg(format($$SELECT * FROM other WHERE pk = '%s'$$, i)) FROM generate_series(1, n) i))), 100) FROM unnest(ARRAY[25, 26]) n;
SELECT request('BatchExecuteStatement', r) FROM unnest(ARRAY['{}', '{"Statements":null}', '{"Statements":[]}', '{"Statements":[{}]}',
	'{"Statements":[{"Statement":""}]}', '{"Statements":[{"Statement":5}]}', '{"Statements":{"Statement":"x"}}',
	'{"Statements":[{"Statement":"x","Parameters":[]}]}',
  '{"Statements":[{"Statement":"SELECT * FROM other WHERE pk = ?","Parameters":[{"N":"x"}]},{"Statement":"SELECT * FROM other WHERE pk = ?"},
    {"Statement":"SELECT n FROM other WHERE pk = ?","Parameters":[{"S":"a"},{"NULL":true}]}]}',
    '{"Statements":[{"Statement":"SELECT * FROM other WHERE pk = ?","Parameters":[{"S":5}]}]}']) r;

-- an error that DynamoDB does not have ends the batch, and nothing is left of it
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.pk = 'no' THEN RAISE 'refused'; END IF; RETURN NEW; END $$;
CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON other FOR EACH ROW EXECUTE FUNCTION refuse();
SELECT batch($$INSERT INTO other VALUE {'pk': 'b'}$$, $$INSERT INTO other VALUE {'pk': 'no'}$$, $$DELETE FROM other WHERE pk = 'a'$$);
SELECT tx($$INSERT INTO other VALUE {'pk': 'b'}$$, $$INSERT INTO other VALUE {'pk': 'no'}$$, $$DELETE FROM other WHERE pk = 'a'$$);
SELECT item FROM other;
DROP TRIGGER refuse ON other;

-- capacity: of what has succeeded, by table
SELECT request('BatchExecuteStatement', r)
	FROM unnest(ARRAY[$${"ReturnConsumedCapacity":"INDEXES",
	"Statements":[{"Statement":"UPDATE tab SET g = 'y' WHERE pk = 'a' AND sk = 1"},{"Statement":"INSERT INTO other VALUE {'pk': 'a'}"},
	{"Statement":"DELETE FROM tab WHERE pk = 'none' AND sk = 1"}]}$$,
  $${"ReturnConsumedCapacity":"TOTAL","Statements":[{"Statement":"SELECT * FROM tab WHERE pk = 'a' AND sk = 1","ConsistentRead":true},
    {"Statement":"SELECT * FROM other WHERE pk = 'a'"},{"Statement":"SELECT * FROM other WHERE pk = 'none'"}]}$$,
  $${"ReturnConsumedCapacity":"TOTAL","Statements":[{"Statement":"INSERT INTO other VALUE {'pk': 'a'}"}]}$$,
  $${"ReturnConsumedCapacity":"SOME","Statements":[{"Statement":"INSERT INTO other VALUE {'pk': 'a'}"}]}$$]) r;
-- a table is there once, also if its schema is read again in between
CREATE FUNCTION invalidate() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN EXECUTE format('GRANT SELECT ON %I TO CURRENT_USER', TG_TABLE_NAME); RETURN NULL;
	END $$;
CREATE TRIGGER invalidate AFTER UPDATE ON tab FOR EACH ROW EXECUTE FUNCTION invalidate();
SELECT request('BatchExecuteStatement', $${"ReturnConsumedCapacity":"INDEXES",
	"Statements":[{"Statement":"UPDATE tab SET g = 'z' WHERE pk = 'a' AND sk = 1"},{"Statement":"UPDATE tab SET g = 'z' WHERE pk = 'a' AND sk = 2"}]}$$);
SELECT batch($$UPDATE tab SET g = 'y' WHERE pk = 'a' AND sk = 1$$, $$UPDATE tab REMOVE g WHERE pk = 'a' AND sk = 2$$);
DROP TRIGGER invalidate ON tab;
SELECT request('ExecuteTransaction', r) FROM unnest(ARRAY[$${"ReturnConsumedCapacity":"INDEXES",
	"TransactStatements":[{"Statement":"UPDATE tab SET g = 'x' WHERE pk = 'a' AND sk = 1"},
	{"Statement":"EXISTS(SELECT * FROM other WHERE pk = 'a' AND n = 1)"}]}$$,
  $${"ReturnConsumedCapacity":"TOTAL","TransactStatements":[{"Statement":"SELECT * FROM tab WHERE pk = 'a' AND sk = 1"},
    {"Statement":"SELECT * FROM other WHERE pk = 'none'"}]}$$]) r;

-- a transaction: EXISTS sees no attributes where there is no item; of two values of a key the first is the item's
SELECT e, tx(e, $$UPDATE tab SET seen = 1 WHERE pk = 'a' AND sk = 1$$)
	FROM unnest(ARRAY[$$EXISTS(SELECT * FROM other WHERE pk = 'none' AND attribute_not_exists(pk))$$,
	$$EXISTS(SELECT * FROM other WHERE pk = 'a' AND attribute_not_exists(pk))$$,
  $$EXISTS(SELECT * FROM other WHERE n IS MISSING AND pk = 'none')$$, $$EXISTS(SELECT * FROM other WHERE pk = 'a' AND pk = 'b')$$,
  $$EXISTS(SELECT * FROM other WHERE pk = 'a' AND pk = 'a' AND n = 1)$$, $$EXISTS(SELECT * FROM other WHERE pk = 'a' AND NOT (pk = 'b' OR n IN [2, 3]))$$,
  $$EXISTS(SELECT * FROM other WHERE pk = 'a' AND n IS NUMERIC AND n IS NOT NULL)$$, $$EXISTS(SELECT * FROM other WHERE pk = 'a' AND n IS STRING)$$,
  $$EXISTS(SELECT * FROM other WHERE pk IN ['a'] AND n = 1)$$, $$EXISTS(SELECT * FROM other WHERE pk = 'a' OR n = 1)$$, $$EXISTS(SELECT * FROM other)$$,
  $$EXISTS(SELECT * FROM tab.ByG WHERE g = 'x' AND n = 1)$$, $$EXISTS(SELECT * FROM other WHERE pk = 5 AND n = 1)$$,
  $$EXISTS(SELECT * FROM nope WHERE pk = 'a' AND n = 1)$$, $$EXISTS(DELETE FROM other WHERE pk = 'a')$$]) e;
SELECT request('ExecuteTransaction', $${"TransactStatements":[{"Statement":"EXISTS(SELECT * FROM other WHERE pk = ? AND n = ?)",
	"Parameters":[{"S":"a"},{"N":"1"}]},{"Statement":"INSERT INTO other VALUE {'pk':'c','of':?}","Parameters":[{"B":"AAEC"}]}]}$$);
-- alone, or with what fails, nothing is written; all statements are judged
SELECT tx($$EXISTS(SELECT * FROM other WHERE pk = 'a' AND n = 1)$$), tx($$EXISTS(SELECT * FROM other WHERE pk = 'a' AND n = 2)$$);
SELECT tx($$UPDATE tab SET n = n + 1 WHERE pk = 'a' AND sk = 1$$, $$UPDATE tab SET n = 5 WHERE pk = 'a' AND sk = 7$$, $$INSERT INTO other VALUE {'pk': 'a'}$$,
	$$DELETE FROM tab WHERE pk = 'none' AND sk = 2 AND n = 100$$, $$UPDATE tab SET n = nope + 1 WHERE pk = 'a' AND sk = 2 AND n > 0$$);
SELECT tx($$UPDATE tab SET n = n + 1 WHERE pk = 'a' AND sk = 1$$, $$UPDATE tab SET n = 5 WHERE pk = 'a' AND sk = 7$$, $$INSERT INTO other VALUE {'pk': 'a'}$$,
	$$DELETE FROM tab WHERE pk = 'a' AND sk = 2 AND n = 100$$, $$DELETE FROM tab WHERE pk = 'none' AND sk = 2 AND n = 100$$);
-- what does not fit its table is told of all of them, before an item that is there twice
SELECT tx($$UPDATE tab SET n = 1 WHERE pk = 'a'$$, $$INSERT INTO other VALUE {'n': 1}$$, $$DELETE FROM nope WHERE pk = 'a'$$,
	$$UPDATE tab SET n = 1 WHERE pk = 'a' AND sk = 1$$, $$DELETE FROM tab WHERE pk = 'a' AND sk IN [1]$$, $$UPDATE tab SET sk = 1 WHERE pk = 'a' AND sk = 5$$,
	$$DELETE FROM other WHERE pk = 'a' AND pk = 'b'$$, $$INSERT INTO tab VALUE {'pk': 'q', 'sk': 1, 'g': 5}$$);
SELECT tx($$UPDATE tab SET n = 1 WHERE pk = 'a'$$, $$DELETE FROM tab WHERE pk = 'a' AND sk = 1$$, $$UPDATE tab SET n = 1 WHERE pk = 'a' AND sk = 1$$);
SELECT tx($$INSERT INTO other VALUE {'pk': 'a'}$$, $$DELETE FROM other WHERE pk = 'a'$$),
	tx($$INSERT INTO other VALUE {'pk': 'e'}$$, $$INSERT INTO other VALUE {'pk': 'e'}$$);
SELECT tx($$SELECT * FROM other WHERE pk = 'a'$$, $$SELECT * FROM tab WHERE pk = 'a' AND sk = '1'$$, $$SELECT * FROM nope WHERE pk = 'a'$$),
	tx($$SELECT * FROM other WHERE pk = 'a'$$, $$SELECT n FROM other WHERE pk = 'a'$$);
-- errors of the text are of the whole
SELECT s, tx($$DELETE FROM nope WHERE pk = 'a'$$, s)
	FROM unnest(ARRAY[$$DELETE FROM other WHERE$$, $$UPDATE other SET n = upper(n) WHERE pk = 'a'$$, $$DELETE FROM other WHERE pk = 'a' RETURNING ALL OLD *$$,
	$$DELETE FROM nope WHERE pk = 'a' RETURNING ALL OLD *$$, $$DELETE FROM other.x WHERE pk = 'a'$$, $$SELECT * FROM other WHERE pk = 'a'$$,
	$$DELETE FROM other WHERE pk = ?$$]) s;
SELECT s, tx($$SELECT * FROM other WHERE pk = 'a'$$, s)
	FROM unnest(ARRAY[$$SELECT * FROM other$$, $$SELECT * FROM tab WHERE pk = 'a'$$, $$SELECT * FROM tab.ByG WHERE g = 'x'$$,
	$$SELECT * FROM other WHERE pk = 'a' OR pk = 'a'$$, $$SELECT * FROM other WHERE pk = 'b' AND n = 1$$, $$SELECT nope FROM tab WHERE pk = 'a' AND sk = 1$$]) s;
SELECT request('ExecuteTransaction', r) FROM unnest(ARRAY['{}', '{"TransactStatements":[]}', '{"TransactStatements":[{}]}',
	'{"TransactStatements":[{"Statement":"x","Parameters":[{"N":"x"}]}]}', '{"TransactStatements":[{"Statement":"x"}],"ClientRequestToken":""}',
  '{"TransactStatements":[{"Statement":"UPDATE other SET n = 7 WHERE pk = ''a'' AND n > 5","ReturnValuesOnConditionCheckFailure":"ALL_OLD"}]}',
  '{"TransactStatements":[{"Statement":"INSERT INTO other VALUE {''pk'':''a''}","ReturnValuesOnConditionCheckFailure":"ALL_OLD"}]}']) r;
SELECT n, left(request('ExecuteTransaction', list('TransactStatements',
	VARIADIC (SELECT array_agg(format($$DELETE FROM other WHERE pk = 'x%s'$$, i)) FROM generate_series(1, n) i))), 100) FROM unnest(ARRAY[100, 101]) n;
SELECT item FROM tab ORDER BY pk, sk;
SELECT item FROM other ORDER BY pk;
-- the size of a transaction is that of its statements and parameters
SELECT n, left(request('ExecuteTransaction', (SELECT json_build_object('TransactStatements',
	json_agg(json_build_object('Statement', format($$INSERT INTO other VALUE {'pk': 'big%s', 'x': ?}$$, i), 'Parameters',
	json_build_array(json_build_object('S', repeat('x', 100000)))))) FROM generate_series(1, n) i)::text), 100) FROM unnest(ARRAY[40, 42]) n;
SELECT count(*) FROM other WHERE pk LIKE 'big%';
SELECT n, left(request('ExecuteTransaction', list('TransactStatements',
	VARIADIC (SELECT array_agg(format($$DELETE FROM other WHERE pk = 'big%s'$$, i)) FROM generate_series(1, n) i))), 100) FROM unnest(ARRAY[100]) n;

-- an item collection that is full: of one statement in a batch, and a reason of a transaction
SET dynamo_table.item_collection_size_limit = 1;
SELECT batch(format($$INSERT INTO tab VALUE {'pk': 'full', 'sk': 1, 'l': 1, 'x': '%s'}$$, repeat('x', 700)), $$INSERT INTO other VALUE {'pk': 'room'}$$),
	batch($$INSERT INTO other VALUE {'pk': 'more'}$$, format($$INSERT INTO tab VALUE {'pk': 'full', 'sk': 2, 'l': 1, 'x': '%s'}$$, repeat('x', 700)));
SELECT tx($$DELETE FROM other WHERE pk = 'room'$$, format($$INSERT INTO tab VALUE {'pk': 'full', 'sk': 2, 'l': 1, 'x': '%s'}$$, repeat('x', 700)));
RESET dynamo_table.item_collection_size_limit;
SELECT batch($$DELETE FROM other WHERE pk = 'room'$$, $$DELETE FROM other WHERE pk = 'more'$$, $$DELETE FROM tab WHERE pk = 'full' AND sk = 1$$);

-- pages: one ends at 1 MB, and the item that was read last may be gone when the next begins
SELECT count(dyn_put('tab', jsonb_build_object('pk', 'page', 'sk', i, 'x', repeat('x', 300000)))) FROM generate_series(1, 8) i;
SELECT json_array_length(r -> 'Items') AS items, r ->> 'NextToken' AS token
	FROM dyn_request('ExecuteStatement', $${"Statement": "SELECT sk FROM tab WHERE pk = 'page'"}$$) r \gset
SELECT :items, count(dyn_delete('tab', jsonb_build_object('pk', 'page', 'sk', :items)));
SELECT request('ExecuteStatement', format($${"Statement": "SELECT sk FROM tab WHERE pk = 'page'", "NextToken": "%s"}$$, :'token'))::json -> 'Items';
SELECT batch(VARIADIC (SELECT array_agg(format($$DELETE FROM tab WHERE pk = 'page' AND sk = %s$$, i)) FROM generate_series(1, 8) i)) ~ 'Error';

-- tokens: the statement's text and its parameters are what is done again; those of TransactWriteItems are others
SELECT request('ExecuteTransaction', format($${"ClientRequestToken":"t",
	"TransactStatements":[{"Statement":"UPDATE other SET n = n + ?%s WHERE pk = 'a'","Parameters":[{"N":"%s"}]}]}$$, s, n))
	FROM (VALUES ('', 1), ('', 1), ('', 2), (' ', 1)) v (s, n);
SELECT request('TransactWriteItems', $${"ClientRequestToken":"t",
	"TransactItems":[{"Update":{"TableName":"other","Key":{"pk":{"S":"a"}},"UpdateExpression":"SET n = n + :n",
	"ExpressionAttributeValues":{":n":{"N":"10"}}}}]}$$) FROM generate_series(1, 2);
SELECT request('ExecuteTransaction', $${"ClientRequestToken":"t","ReturnConsumedCapacity":"TOTAL",
	"TransactStatements":[{"Statement":"UPDATE other SET n = n + ? WHERE pk = 'a'","Parameters":[{"N":"1"}]}]}$$);
SELECT item FROM other WHERE pk = 'a';
SELECT statements, token FROM dynamo_internal.transact_tokens ORDER BY 1, 2;
DELETE FROM dynamo_internal.transact_tokens;

-- privileges and row-level security are the caller's, of each statement
CREATE ROLE regress_partiql_several;
GRANT SELECT ON tab TO regress_partiql_several;
GRANT SELECT, INSERT, UPDATE, DELETE ON other TO regress_partiql_several;
ALTER TABLE other ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON other USING (pk <> 'c') WITH CHECK (pk <> 'd');
SET ROLE regress_partiql_several;
SELECT batch($$UPDATE tab SET n = 1 WHERE pk = 'a' AND sk = 1$$, $$UPDATE other SET n = 0 WHERE pk = 'a'$$, $$UPDATE other SET n = 0 WHERE pk = 'c'$$,
	$$INSERT INTO other VALUE {'pk': 'd'}$$, $$DELETE FROM "dynamo_internal.transact_tokens" WHERE pk = 'a'$$);
SELECT batch($$SELECT * FROM other WHERE pk = 'a'$$, $$SELECT * FROM other WHERE pk = 'c'$$, $$SELECT sk FROM tab WHERE pk = 'a' AND sk = 1$$);
SELECT tx($$UPDATE tab SET n = 1 WHERE pk = 'a' AND sk = 1$$, $$UPDATE other SET n = 5 WHERE pk = 'a'$$), tx($$INSERT INTO other VALUE {'pk': 'd'}$$),
	tx($$UPDATE other SET n = 5 WHERE pk = 'c'$$), tx($$EXISTS(SELECT * FROM tab WHERE pk = 'a' AND sk = 1 AND n = 5)$$);
SELECT tx($$SELECT * FROM other WHERE pk = 'a'$$, $$SELECT * FROM other WHERE pk = 'c'$$);
RESET ROLE;
REVOKE SELECT ON tab FROM regress_partiql_several;
SET ROLE regress_partiql_several;
SELECT batch($$SELECT * FROM tab WHERE pk = 'a' AND sk = 1$$, $$SELECT pk FROM other WHERE pk = 'a'$$), tx($$SELECT * FROM tab WHERE pk = 'a' AND sk = 1$$);
RESET ROLE;

DROP TABLE tab, other;
DROP FUNCTION request, list, batch, tx, refuse;
DROP ROLE regress_partiql_several;
