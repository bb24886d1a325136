-- Transactions through the typed functions: docs/semantics.md, X01 to X15, L10.
SELECT dyn_create_table('tab', 'p S', 'sk S', global_indexes => '{"GSI": {"partition_key": "g S"}}');
SELECT dyn_create_table('other', 'p S');
CREATE FUNCTION key(p text, sk text DEFAULT 'a') RETURNS json LANGUAGE sql IMMUTABLE
	AS $$ SELECT json_build_object('p', json_build_object('S', p), 'sk', json_build_object('S', sk)) $$;
-- an action on the item p of tab; more are its other members
CREATE FUNCTION act(kind text, p text, more jsonb DEFAULT '{}', item jsonb DEFAULT '{}') RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
	SELECT jsonb_build_object(kind, jsonb_build_object('TableName', 'tab', CASE WHEN kind = 'Put' THEN 'Item' ELSE 'Key' END, key(p)::jsonb || item) || more)
$$;
CREATE FUNCTION transact(token text, VARIADIC actions jsonb[]) RETURNS boolean LANGUAGE sql AS $$ SELECT dyn_transact(to_json(actions), token) $$;
CREATE FUNCTION state() RETURNS SETOF dyn_item LANGUAGE sql AS $$ SELECT item FROM tab ORDER BY p, sk $$;
CREATE FUNCTION why(call text, OUT state text, OUT message text, OUT detail text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'SELECT ' || call;
	message := 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
END $$;

-- X01, X03 all four kinds over two tables, each with its own names and values
SELECT dyn_transact('[
  {"Put": {"TableName": "tab", "Item": {"p": {"S": "put"}, "sk": {"S": "a"}, "n": {"N": "1"}}}},
  {"Put": {"TableName": "other", "Item": {"p": {"S": "upd"}, "s": {"SS": ["b", "a"]}, "nul": {"S": "x\u0000y"}},
    "ConditionExpression": "attribute_not_exists(p)"}},
  {"Update": {"TableName": "tab", "Key": {"p": {"S": "upd"}, "sk": {"S": "a"}}, "UpdateExpression": "SET #v = :v",
    "ExpressionAttributeNames": {"#v": "value"}, "ExpressionAttributeValues": {":v": {"N": "1"}}}},
  {"Update": {"TableName": "tab", "Key": {"p": {"S": "upd"}, "sk": {"S": "b"}}, "UpdateExpression": "SET #v = :v",
    "ExpressionAttributeNames": {"#v": "other"}, "ExpressionAttributeValues": {":v": {"S": "one"}}}}]');
SELECT state();
SELECT item FROM other;
SELECT dyn_transact('[
  {"ConditionCheck": {"TableName": "other", "Key": {"p": {"S": "upd"}}, "ConditionExpression": "contains(s, :a)",
    "ExpressionAttributeValues": {":a": {"S": "a"}}}},
  {"ConditionCheck": {"TableName": "other", "Key": {"p": {"S": "none"}}, "ConditionExpression": "attribute_not_exists(p)"}},
  {"Delete": {"TableName": "tab", "Key": {"p": {"S": "put"}, "sk": {"S": "a"}}, "ConditionExpression": "n = :one",
    "ExpressionAttributeValues": {":one": {"N": "1.0"}}}},
  {"Delete": {"TableName": "tab", "Key": {"p": {"S": "none"}, "sk": {"S": "a"}}}},
  {"Update": {"TableName": "tab", "Key": {"p": {"S": "none"}, "sk": {"S": "b"}}, "UpdateExpression": "REMOVE x"}},
  {"Update": {"TableName": "tab", "Key": {"p": {"S": "upd"}, "sk": {"S": "b"}}, "UpdateExpression": "REMOVE x"}}]');
SELECT state();
SELECT count(*) FROM other;
-- what drivers send, and what SQL builds
SELECT dyn_transact(json_build_array(json_build_object('Put', json_build_object('TableName', 'tab', 'Item',
	'{"p":"built","sk":"a","l":[1,"x"]}'::jsonb::dyn_item::text::json))));
PREPARE by_text(text) AS SELECT dyn_transact($1::json);
EXECUTE by_text('[{"Delete":{"TableName":"tab","Key":{"p":{"S":"built"},"sk":{"S":"a"}}}}]');

-- X02 a condition check writes nothing, and must have a condition
SELECT (why($$transact(NULL, act('ConditionCheck', 'upd', '{"ConditionExpression":"attribute_not_exists(p)"}'), act('Delete', 'upd2'))$$)).*;
SELECT (why($$transact(NULL, act('ConditionCheck', 'upd'))$$)).*;
-- X04, X05 all reasons, in order, with the item that is asked for
DELETE FROM tab;
SELECT transact(NULL, act('Put', 'one', item => '{"n":{"N":"1"}}'), act('Put', 'two', item => '{"n":{"S":"x"}}'));
SELECT (why($$transact(NULL, act('Put', 'new'), act('Put', 'one', '{"ConditionExpression":"attribute_not_exists(p)"}'), act('Put', 'new2'),
	act('Delete', 'two', '{"ConditionExpression":"attribute_not_exists(p)","ReturnValuesOnConditionCheckFailure":"ALL_OLD"}'))$$)).*;
SELECT (why($$transact(NULL, act('Update', 'none',
	'{"UpdateExpression":"REMOVE a","ConditionExpression":"attribute_exists(p)","ReturnValuesOnConditionCheckFailure":"ALL_OLD"}'))$$)).*;
SELECT (why($$transact(NULL, act('ConditionCheck', 'one',
	'{"ConditionExpression":"n > :two","ExpressionAttributeValues":{":two":{"N":"2"}},"ReturnValuesOnConditionCheckFailure":"NONE"}'))$$)).*;
SELECT (why($$transact(NULL, act('ConditionCheck', 'one',
	'{"ConditionExpression":"attribute_exists(p)","ReturnValuesOnConditionCheckFailure":"UPDATED_OLD"}'))$$)).*;
-- X04 what an update finds wrong: a missing operand, a bad path, a wrong type, an index key of another type, a large item, beside a failed condition
SELECT (why($$transact(NULL, act('Update', 'none', '{"UpdateExpression":"SET n = n + :i","ExpressionAttributeValues":{":i":{"N":"1"}}}'),
	act('Update', 'one', '{"UpdateExpression":"SET m.a = :i","ExpressionAttributeValues":{":i":{"N":"1"}}}'),
  act('Update', 'two', '{"UpdateExpression":"SET n = n + :i","ExpressionAttributeValues":{":i":{"N":"1"}}}'),
    act('Update', 'three', '{"UpdateExpression":"SET g = if_not_exists(n, :i)","ExpressionAttributeValues":{":i":{"N":"1"}}}'),
  act('Put', 'four', '{"ConditionExpression":"attribute_exists(p)"}'))$$)).*;
SELECT transact(NULL, act('Put', 'large', item => jsonb_build_object('v', jsonb_build_object('S', repeat('x', 400000)))));
SELECT (why($$transact(NULL, act('Update', 'large', jsonb_build_object('UpdateExpression', 'SET w = :w', 'ExpressionAttributeValues',
	jsonb_build_object(':w', jsonb_build_object('S', repeat('y', 20000))))))$$)).*;
DELETE FROM tab WHERE p = 'large';
SELECT state();

-- X06 one action for an item; keys are equal by value
SELECT (why($$transact(NULL, act('Put', 'k'), act('Delete', 'j'), act('ConditionCheck', 'k', '{"ConditionExpression":"attribute_exists(p)"}'))$$)).*;
SELECT (why($$transact(NULL, act('Put', 'k'), act('Put', 'k', '{"TableName":"public.tab"}'))$$)).*;
-- X07, X08, L10 limits
CREATE FUNCTION puts(n int, size int) RETURNS json LANGUAGE sql AS $$ SELECT json_agg(act('Put', 'b' || i,
	item => jsonb_build_object('v', jsonb_build_object('S', repeat('x', size))))) FROM generate_series(1, n) i $$;
SELECT (why('dyn_transact(puts(100, 0))')).*;
SELECT (why('dyn_transact(puts(101, 0))')).*;
SELECT (why($$dyn_transact('[]')$$)).*;
SELECT (why('dyn_transact(puts(40, 100000))')).*;
SELECT (why('dyn_transact(puts(50, 100000))')).*;
-- it is the request that counts: deleting more than that is fine
SELECT transact(NULL, VARIADIC (SELECT array_agg(act('Put', 'c' || i, item => jsonb_build_object('v', jsonb_build_object('S', repeat('x', 100000)))))
	FROM generate_series(1, 20) i));
SELECT transact(NULL, VARIADIC (SELECT array_agg(act('Delete', p)) FROM tab WHERE dyn_size(item) > 100000));
DELETE FROM tab WHERE p LIKE 'b%';
SELECT count(*) FROM tab;

-- X13, X14 malformed requests
SELECT (why(format('dyn_transact(%L)', bad))).* FROM (VALUES
 ('{}'), ('[1]'), ('[{}]'), ('[{"Get":{"TableName":"tab","Key":{"p":{"S":"a"},"sk":{"S":"a"}}}}]'), ('[{"Put":{"TableName":"tab"}}]'),
 ('[{"Put":{"Item":{"p":{"S":"a"}}}}]'),
 ('[{"Delete":{"TableName":"tab","Key":{"p":{"S":"a"},"sk":{"S":"a"}},"IndexName":"GSI"}}]'),
 ('[{"Delete":{"TableName":"tab","Key":{"p":{"S":"a"},"sk":{"S":"a"}},"TableName":"tab"}}]'),
 ('[{"Delete":{"TableName":"tab","Key":{"p":{"S":"a"},"sk":{"S":"a"}}}, "Put":{}}]'), ('[{"Delete":{"TableName":5,"Key":{"p":{"S":"a"},"sk":{"S":"a"}}}}]'),
 ('[{"Delete":{"TableName":"tab","Key":[]}}]'),
 ('[{"Update":{"TableName":"tab","Key":{"p":{"S":"a"},"sk":{"S":"a"}}}}]'), ('[{"Delete":{"TableName":"tab","Key":{"p":{"S":"a"},"sk":{"X":"a"}}}}]'),
 ('[{"Delete":{"TableName":"tab","Key":{"p":{"S":"a"},"sk":"a"}}}]'),
 ('[{"Delete":{"TableName":"tab","Key":{"p":{"S":"a"},"sk":{"S":"a"}},"ConditionExpression":"#a = :b","ExpressionAttributeNames":{"#a":1}}}]'),
 ('[{"Delete":{"TableName":"tab","Key":{"p":{"S":"a"},"sk":{"S":"a"}},"ConditionExpression":"attribute_exists(#a)",'
   '"ExpressionAttributeNames":{"#a":"p","#a":"p"}}}]'),
 ('[{"Delete":{"TableName":"t\u0000b","Key":{"p":{"S":"a"},"sk":{"S":"a"}}}}]'),
 ('[{"Delete":{"TableName":"none","Key":{"p":{"S":"a"},"sk":{"S":"a"}}}}]')) v (bad);
SELECT (why('dyn_transact(NULL)')).*;
-- of an expression, in whatever action, before anything is looked at
SELECT (why($$transact(NULL, act('Put', 'one', '{"ConditionExpression":"attribute_not_exists(p)"}'),
	act('Update', 'z', '{"UpdateExpression":"SET a = :v","ExpressionAttributeValues":{":v":{"N":"1"},":u":{"N":"1"}}}'))$$)).*;
SELECT (why($$transact(NULL, act('Update', 'z', '{"UpdateExpression":"SET a = "}'))$$)).*;
SELECT transact(NULL, act('Put', 'z'), act('Update', 'zz', '{"UpdateExpression":"SET a = :x"}'));
-- of a key, an index key or an update of one: the reason of the first such action
SELECT (why($$transact(NULL, act('Put', 'one', '{"ConditionExpression":"attribute_not_exists(p)"}'), act('Delete', 'x', item => '{"sk":{"N":"1"}}'),
	act('Delete', 'y', item => '{"sk":{"N":"1"}}'))$$)).*;
SELECT (why($$transact(NULL, act('Delete', 'x', item => '{"more":{"N":"1"}}'))$$)).*;
SELECT (why($$transact(NULL, act('Put', 'x'), act('Put', 'y', item => '{"g":{"N":"1"}}'))$$)).*;
SELECT (why($$transact(NULL, act('Update', 'x', '{"UpdateExpression":"SET sk = :v","ExpressionAttributeValues":{":v":{"S":"1"}}}'))$$)).*;
SELECT state();

-- X15 in a transaction of the caller's a cancelled one takes back itself alone
CREATE TABLE plain (n int);
DO $$
BEGIN
	INSERT INTO plain VALUES (1);
	PERFORM transact(NULL, act('Put', 'kept'));
	BEGIN
		PERFORM transact('t', act('Put', 'lost'), act('Put', 'kept', '{"ConditionExpression":"attribute_not_exists(p)"}'));
	EXCEPTION WHEN SQLSTATE 'YD003' THEN
		RAISE NOTICE '%', SQLERRM;
	END;
	INSERT INTO plain VALUES (2);
END $$;
SELECT count(*) FROM plain;
SELECT state();

-- X09 tokens
CREATE FUNCTION add_one(token text) RETURNS boolean LANGUAGE sql AS $$ SELECT transact(token,
	act('Update', 'sum', '{"UpdateExpression":"ADD n :one","ExpressionAttributeValues":{":one":{"N":"1"}}}')) $$;
SELECT add_one('token'), add_one('token');
SELECT add_one('token');
SELECT dyn_transact('[{"Update":{"Key":{"sk":{"S":"a"},"p":{"S":"sum"}}, "ExpressionAttributeValues":{":one":{"N":"1.0"}},
	"UpdateExpression":"ADD n :one", "TableName":"tab"}}]', 'token');
SELECT item ->> 'n' AS n FROM tab WHERE p = 'sum';
SELECT (why($$transact('token', act('Update', 'sum', '{"UpdateExpression":"ADD n :two","ExpressionAttributeValues":{":two":{"N":"1"}}}'))$$)).*;
SELECT (why($$transact('token', act('Delete', 'sum'))$$)).*;
-- the token of what failed is free
SELECT (why($$transact('failed', act('Put', 'sum', '{"ConditionExpression":"attribute_not_exists(p)"}'))$$)).*;
SELECT add_one('failed');
-- 1 to 36 characters
SELECT (why($$add_one('')$$)).*;
SELECT add_one(repeat('ü', 36));
SELECT (why($$add_one(repeat('x', 37))$$)).*;
-- after ten minutes it is forgotten, and some call deletes it
SELECT token, expires - now() > interval '9 minutes' AND expires - now() < interval '11 minutes' AS ten_minutes FROM dynamo_internal.transact_tokens
	ORDER BY token;
UPDATE dynamo_internal.transact_tokens SET expires = now();
SELECT add_one('token');
SELECT token FROM dynamo_internal.transact_tokens;
SELECT transact('token', act('Delete', 'sum'));
UPDATE dynamo_internal.transact_tokens SET expires = now();
SELECT transact('token', act('Delete', 'sum'));
-- a token is for the tables that it was used on, whatever they are called
CREATE FUNCTION put(name text, token text) RETURNS boolean LANGUAGE sql
	AS $$ SELECT dyn_transact(format('[{"Put":{"TableName":"%s","Item":{"pk":{"S":"a"}}}}]', name)::json, token) $$;
SELECT dyn_create_table('one', 'pk S'), dyn_create_table('two', 'pk S');
SELECT put('one', 'same'), put('one', 'same');
TRUNCATE one;
SELECT put('one', 'same');
ALTER TABLE one RENAME TO three;
ALTER TABLE two RENAME TO one;
SELECT (why($$put('one', 'same')$$)).*;
SELECT count(*) FROM one;
ALTER TABLE one RENAME TO two;
ALTER TABLE three RENAME TO one;
SELECT put('one', 'same');
SELECT dyn_drop_table('one');
SELECT dyn_create_table('one', 'pk S');
SELECT (why($$put('one', 'same')$$)).*;
SELECT put('one', 'other');
SELECT count(*) FROM one;
SELECT dyn_drop_table('one'), dyn_drop_table('two');
DROP FUNCTION put;
-- at the higher isolation levels too
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT add_one('serial'), add_one('serial');
COMMIT;
-- they are a role's own; nobody may see the table, and nothing of the caller's runs with the owner's rights
CREATE ROLE regress_transact;
GRANT SELECT, INSERT, UPDATE, DELETE ON tab TO regress_transact;
CREATE SCHEMA hostile AUTHORIZATION regress_transact;
SET ROLE regress_transact;
CREATE FUNCTION hostile.equal(text, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'hostile'; END $$;
CREATE OPERATOR hostile.= (LEFTARG = text, RIGHTARG = text, FUNCTION = hostile.equal);
CREATE FUNCTION hostile.later(timestamptz, timestamptz) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'hostile'; END $$;
CREATE OPERATOR hostile.<= (LEFTARG = timestamptz, RIGHTARG = timestamptz, FUNCTION = hostile.later);
CREATE TABLE hostile.transact_tokens (role oid, token text, request bytea, expires timestamptz);
SET search_path = hostile, pg_catalog, public;
SELECT public.dyn_transact('[{"Put":{"TableName":"public.tab","Item":{"p":{"S":"role"},"sk":{"S":"a"}}}}]', 'serial');
SELECT public.dyn_transact('[{"Put":{"TableName":"public.tab","Item":{"p":{"S":"role"},"sk":{"S":"a"}}}}]', 'serial');
SELECT current_user, current_setting('search_path');
RESET search_path;
SELECT * FROM dynamo_internal.transact_tokens;
DELETE FROM dynamo_internal.transact_tokens;
-- rights are the caller's: what a check takes
SELECT (why($$dyn_transact('[{"Put":{"TableName":"other","Item":{"p":{"S":"role"}}}}]')$$)).*;
RESET ROLE;
GRANT SELECT, UPDATE ON other TO regress_transact;
SET ROLE regress_transact;
SELECT dyn_transact('[{"ConditionCheck":{"TableName":"other","Key":{"p":{"S":"absent"}},"ConditionExpression":"attribute_not_exists(p)"}}]');
RESET ROLE;
REVOKE UPDATE ON other FROM regress_transact;
SET ROLE regress_transact;
SELECT (why($$dyn_transact('[{"ConditionCheck":{"TableName":"other","Key":{"p":{"S":"absent"}},"ConditionExpression":"attribute_not_exists(p)"}}]')$$)).*;
RESET ROLE;
-- row-level security: a hidden item is an absent one until it is written
ALTER TABLE tab ENABLE ROW LEVEL SECURITY;
CREATE POLICY most ON tab USING (p <> 'role');
SET ROLE regress_transact;
SELECT transact(NULL, act('ConditionCheck', 'role', '{"ConditionExpression":"attribute_not_exists(p)"}'), act('Delete', 'kept'));
SELECT transact(NULL, act('Delete', 'role'));
SELECT (why($$transact(NULL, act('Put', 'role', '{"ConditionExpression":"attribute_not_exists(p)"}'))$$)).*;
RESET ROLE;
ALTER TABLE tab DISABLE ROW LEVEL SECURITY;
SELECT state();

-- Placeholders, which keep items absent, are no rows: no trigger, constraint or other index sees them, and nothing stays
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE '% %', TG_OP, COALESCE(NEW.item, OLD.item); RETURN COALESCE(NEW, OLD); END $$;
CREATE TRIGGER tell BEFORE INSERT OR UPDATE OR DELETE ON tab FOR EACH ROW EXECUTE FUNCTION tell();
CREATE TRIGGER tell_after AFTER INSERT OR UPDATE OR DELETE ON tab FOR EACH ROW EXECUTE FUNCTION tell();
DELETE FROM tab WHERE NOT item ? 'n';
ALTER TABLE tab ADD CHECK (item ? 'n'), ADD extra int NOT NULL DEFAULT 1;
BEGIN;
SELECT transact(NULL, act('Delete', 'd1'), act('Delete', 'sum'), act('ConditionCheck', 'd2', '{"ConditionExpression":"attribute_not_exists(p)"}'),
	act('Update', 'd3', '{"UpdateExpression":"REMOVE x"}'));
SELECT state();
-- the transaction that holds an item absent may make it
SELECT transact(NULL, act('Put', 'd1', item => '{"n":{"N":"1"}}'), act('Update', 'd2',
	'{"UpdateExpression":"SET n = :n","ExpressionAttributeValues":{":n":{"N":"2"}}}'));
INSERT INTO tab (item) VALUES ('{"p":{"S":"d3"},"sk":{"S":"a"},"n":{"N":"3"}}');
SELECT state();
COMMIT;
SELECT state();
ANALYZE tab;
REINDEX TABLE tab;
VACUUM FULL tab;
SELECT state();


-- a partitioned table, whose partitions have their columns in another order
CREATE TABLE part (item dyn_item NOT NULL, p text COLLATE "C" NOT NULL, PRIMARY KEY (p)) PARTITION BY LIST (p);
CREATE TABLE part0 (extra int, p text COLLATE "C" NOT NULL, item dyn_item NOT NULL);
ALTER TABLE part0 DROP extra;
ALTER TABLE part ATTACH PARTITION part0 FOR VALUES IN ('a', 'b');
CREATE TABLE part1 PARTITION OF part FOR VALUES IN ('c');
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON part FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('p S');
SELECT dyn_transact('[{"Put":{"TableName":"part","Item":{"p":{"S":"a"}}}},{"Delete":{"TableName":"part","Key":{"p":{"S":"b"}}}},
	{"Delete":{"TableName":"part","Key":{"p":{"S":"c"}}}},{"Delete":{"TableName":"part","Key":{"p":{"S":"nowhere"}}}}]');
SELECT tableoid::regclass, item FROM part;

-- X10 reads: in order, NULL for what is not there, each with its own projection
SELECT dyn_transact_get('[{"Get":{"TableName":"tab","Key":{"p":{"S":"d2"},"sk":{"S":"a"}},"ProjectionExpression":"#n","ExpressionAttributeNames":{"#n":"n"}}},
  {"Get":{"TableName":"tab","Key":{"p":{"S":"none"},"sk":{"S":"a"}}}}, {"Get":{"TableName":"other","Key":{"p":{"S":"upd"}}}},
  {"Get":{"TableName":"tab","Key":{"p":{"S":"d1"},"sk":{"S":"a"}},"ProjectionExpression":"nothing"}}]');
SELECT (why($$dyn_transact_get('[{"Get":{"TableName":"tab","Key":{"p":{"S":"a"},"sk":{"S":"a"}}}},
	{"Get":{"TableName":"tab","Key":{"p":{"S":"a"},"sk":{"S":"a"}}}}]')$$)).*;
SELECT (why($$dyn_transact_get('[{"Get":{"TableName":"tab","Key":{"p":{"S":"a"},"sk":{"S":"a"}}}},
	{"Get":{"TableName":"tab","Key":{"p":{"S":"a"},"sk":{"N":"1"}}}}]')$$)).*;
SELECT (why($$dyn_transact_get('[{"Get":{"TableName":"tab","Key":{"p":{"S":"a"},"sk":{"S":"a"}},"ConditionExpression":"a"}}]')$$)).*;
SELECT (why($$dyn_transact_get('[{"Put":{}}]')$$)).*;
SELECT (why($$dyn_transact_get('[]')$$)).*;
SELECT (why($$dyn_transact_get((SELECT json_agg(act('Get', 'g' || i)) FROM generate_series(1, 101) i))$$)).*;
SELECT count(*), count(i) FROM dyn_transact_get((SELECT json_agg(act('Get', 'g' || i)) FROM generate_series(1, 100) i)) i;
ALTER TABLE tab DISABLE TRIGGER tell, DISABLE TRIGGER tell_after, DROP CONSTRAINT tab_item_check;
SELECT transact(NULL, VARIADIC (SELECT array_agg(act('Put', 'g' || i, item => jsonb_build_object('v', jsonb_build_object('S', repeat('x', 400000)))))
	FROM generate_series(1, 10) i));
SELECT transact(NULL, act('Put', 'g11', item => jsonb_build_object('v', jsonb_build_object('S', repeat('x', 400000)))));
SELECT count(i) FROM dyn_transact_get((SELECT json_agg(act('Get', 'g' || i)) FROM generate_series(1, 10) i)) i;
SELECT (why($$dyn_transact_get((SELECT json_agg(act('Get', 'g' || i)) FROM generate_series(1, 11) i))$$)).*;

DROP SCHEMA hostile CASCADE;
DROP TABLE tab, other, plain, part;
DROP ROLE regress_transact;
DROP FUNCTION key, act, transact, state, why, puts, add_one, tell;
