-- What functions.py calls functions on: tables of two owners, and whatever else may be given for a table.
SET client_min_messages = error;
-- It is made again from time to time, since calls drop and change it; roles stay.
SET client_min_messages = error;
DROP SCHEMA IF EXISTS fuzz, hostile CASCADE;
DROP FOREIGN DATA WRAPPER IF EXISTS fuzz_wrapper CASCADE;
DROP OWNED BY fuzz_owner, fuzz_stranger CASCADE;
CREATE SCHEMA fuzz AUTHORIZATION fuzz_owner;
GRANT USAGE ON SCHEMA fuzz TO PUBLIC;
GRANT CREATE ON DATABASE :"DBNAME" TO fuzz_owner;
GRANT CREATE ON SCHEMA public TO fuzz_owner;
SET search_path = fuzz, public;
-- those who look up an operator or a function by the caller's search_path find these
CREATE SCHEMA hostile;
GRANT USAGE ON SCHEMA hostile TO PUBLIC;
CREATE FUNCTION hostile.taken() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'a name was looked up on the search_path of the caller'
	USING ERRCODE = 'HS001'; END $$;
CREATE FUNCTION hostile.eq(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT hostile.taken()';
CREATE FUNCTION hostile.eq(oid, oid) RETURNS boolean LANGUAGE sql AS 'SELECT hostile.taken()';
CREATE FUNCTION hostile.eq(bigint, bigint) RETURNS boolean LANGUAGE sql AS 'SELECT hostile.taken()';
CREATE FUNCTION hostile.eq(numeric, numeric) RETURNS boolean LANGUAGE sql AS 'SELECT hostile.taken()';
CREATE OPERATOR hostile.= (LEFTARG = text, RIGHTARG = text, FUNCTION = hostile.eq);
CREATE OPERATOR hostile.= (LEFTARG = oid, RIGHTARG = oid, FUNCTION = hostile.eq);
CREATE OPERATOR hostile.= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = hostile.eq);
CREATE OPERATOR hostile.= (LEFTARG = numeric, RIGHTARG = numeric, FUNCTION = hostile.eq);
CREATE OPERATOR hostile.> (LEFTARG = text, RIGHTARG = text, FUNCTION = hostile.eq);
CREATE OPERATOR hostile.< (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = hostile.eq);
CREATE FUNCTION hostile.coalesce_all(text) RETURNS text LANGUAGE sql AS 'SELECT hostile.taken()::text';
CREATE FUNCTION hostile.lower(text) RETURNS text LANGUAGE sql AS 'SELECT hostile.taken()::text';
CREATE FUNCTION hostile.count(anyelement) RETURNS bigint LANGUAGE sql AS 'SELECT hostile.taken()::int::bigint';
CREATE FUNCTION hostile.now() RETURNS timestamptz LANGUAGE sql AS 'SELECT hostile.taken()::text::timestamptz';
CREATE VIEW hostile.pg_class AS SELECT hostile.taken() AS oid;
GRANT SELECT ON hostile.pg_class TO PUBLIC;

CREATE TYPE fuzz.mood AS ENUM ('calm', 'cross');
CREATE DOMAIN fuzz.small AS integer CHECK (VALUE < 10);
CREATE DOMAIN fuzz.smalls AS fuzz.small[] CHECK (array_length(VALUE, 1) < 4);
CREATE TYPE fuzz.pair AS (a integer, b text);
GRANT CREATE ON SCHEMA fuzz TO fuzz_owner;

-- a superuser's, and one that others may use
SELECT dyn_create_table('sup', 'pk S', 'sk S', global_indexes => '{"GSI1": {"partition_key": "g S", "sort_key": "h N"}}');
SELECT dyn_put('sup', '{"pk":{"S":"a"},"sk":{"S":"1"},"g":{"S":"x"},"h":{"N":"1"}}');
SELECT dyn_create_table('granted', 'pk S', 'sk S');
GRANT SELECT, INSERT, UPDATE, DELETE ON granted TO fuzz_owner, fuzz_stranger;

SET SESSION AUTHORIZATION fuzz_owner;
SET search_path = fuzz, public;
SELECT dyn_create_table('app', 'pk S', 'sk S',
	global_indexes => '{"GSI1": {"partition_key": "GSI1PK S", "sort_key": "GSI1SK S"}, "ByStatus": {"partition_key": "Status S", "sort_key": "Priority N"},
  "Turned": {"partition_key": "sk S", "sort_key": "pk S"}, "Keys": {"partition_key": "Blob B", "projection": "KEYS_ONLY"}}',
  local_indexes => '{"LSI1": {"sort_key": "l S"}}');
SELECT dyn_create_entity('app', 'Org', '{"pk":"ORG#<OrgId>","sk":"#METADATA#","GSI1PK":"ORGANIZATIONS","GSI1SK":"<Name:upper>"}',
	'{"OrgId":"S","Name":"S","Founded":"S date"}');
SELECT dyn_create_entity('app', 'User', '{"pk":"ORG#<OrgId>","sk":"USER#<UserId>"}',
	'{"OrgId":"S","UserId":"S uuid","Emails":"SS","Mood":"S fuzz.mood","Address":"M","Nicks":"L text[]"}');
SELECT dyn_create_entity('app', 'Ticket', '{"pk":"TICKET#<Number:06>","sk":"TICKET","GSI1PK":"ORG#<OrgId>",
  "GSI1SK":[{"when":{"Closed":null},"template":"OPEN#<Number:06>"},{"template":"CLOSED#<Number:06>"}]}',
  '{"OrgId":"S","Number":"N integer","Title":{"type":"S","stored":"t"},"Status":"S","Priority":"N smallint",
  "Closed":"S timestamptz(0)","Lines":"L","Hours":"NS"}');
SELECT count(dyn_put_entity('app', e, a)) FROM (VALUES
  ('Org', '{"OrgId":"1","Name":"Happy Inc","Founded":"2001-02-03"}'::jsonb), ('Org', '{"OrgId":"2","Name":"abc"}'),
  ('User', '{"OrgId":"1","UserId":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11","Mood":"calm","Address":{"City":"Berlin"},"Nicks":["b","a"]}'),
  ('Ticket', '{"OrgId":"1","Number":7,"Title":"seven","Status":"new","Priority":1,"Lines":[{"what":"a","hours":[1,2]},"text",null]}'),
  ('Ticket', '{"OrgId":"2","Number":9,"Status":"new","Priority":2,"Owner":"not declared"}')) v (e, a);
SELECT dyn_create_entity_view('app', 'Org'), dyn_create_entity_view('app', 'User'), dyn_create_entity_view('app', 'Ticket'),
	dyn_create_entity_view('app', 'Ticket', index_name => 'GSI1'), dyn_create_entity_view('app', 'User', unnest => 'Nicks');
SELECT dyn_create_access_pattern('app', 'org', 'GetItem', '{"Key":{"pk":{"S":"ORG#<orgId>"},"sk":{"S":"#METADATA#"}}}', 'Org', 'notes'),
  dyn_create_access_pattern('app', 'users', 'Query',
    '{"KeyConditionExpression":"pk = :o AND begins_with(sk, :s)","ExpressionAttributeValues":{":o":{"S":"ORG#<orgId>"},":s":{"S":"USER#"}}}', 'User'),
  dyn_create_access_pattern('app', 'priority', 'UpdateItem',
  '{"Key":{"pk":{"S":"TICKET#<number>"},"sk":{"S":"TICKET"}},"UpdateExpression":"SET #p = :p",
  "ExpressionAttributeNames":{"#p":"Priority"},"ExpressionAttributeValues":{":p":{"N":"<priority>"}}}', 'Ticket');
SELECT dyn_create_table('num', 'pk N', 'sk B'), dyn_create_table('solo', 'pk S'), dyn_create_table('multi', 'pk S', 'sk N', fillfactor => 50),
	dyn_create_table('target', 'pk S', 'sk S');
INSERT INTO num (item) VALUES ('{"pk":{"N":"1"},"sk":{"B":"AAEC"}}'), ('{"pk":{"N":"-1.5e10"},"sk":{"B":"AA=="},"big":{"S":"x"}}');
INSERT INTO solo (item) SELECT format('{"pk":{"S":"%s"},"expires":{"N":"%s"}}', n, n * 400000000)::dyn_item FROM generate_series(1::bigint, 9) n;
INSERT INTO multi (item) SELECT format('{"pk":{"S":"%s"},"sk":{"N":"%s"},"v":{"L":[{"N":"1"},{"S":"%s"}]}}', n % 3, n, repeat('x', n * 300))::dyn_item
	FROM generate_series(1, 30) n;
CALL dyn_enable_ttl('solo', 'expires', true);
-- if there are streams
SELECT dyn_enable_stream('num', 'NEW_AND_OLD_IMAGES', 2), dyn_enable_stream('multi', 'KEYS_ONLY') FROM dyn_stream_slots WHERE state = 'ready';
SELECT dyn_put('num', '{"pk":{"N":"2"},"sk":{"B":"AAEC"}}');
-- sources of migrations and imports
CREATE TABLE people (id integer PRIMARY KEY, name text NOT NULL, born date, boss integer REFERENCES people, mood fuzz.mood, doc jsonb, tags text[]);
INSERT INTO people VALUES (1, 'Ada', '1815-12-10', NULL, 'calm', '{"a":1}', '{x,y}'), (2, 'Grace', NULL, 1, NULL, NULL, NULL);
CREATE TABLE orders (id integer PRIMARY KEY, person integer REFERENCES people, total numeric(10, 2), at timestamptz, code bytea);
INSERT INTO orders VALUES (10, 1, 5, '2024-05-01', '\x00'), (11, 2, NULL, NULL, NULL);
CREATE TABLE lines (line text);
INSERT INTO lines VALUES ('{"Item":{"pk":{"S":"imported"},"sk":{"S":"1"}}}'), ('{"pk":{"S":"i"},"sk":{"S":"2"}}'), ('garbage'), (NULL);
SELECT dyn_create_entity('target', 'Person', '{"pk":"PERSON#<Id>","sk":"PERSON#<Id>"}',
	'{"Id":"N integer","Name":"S","Born":"S date","Boss":"S","Orders":"N"}'),
  dyn_create_entity('target', 'Order', '{"pk":"PERSON#<Person>","sk":"ORDER#<Id:06>"}',
    '{"Id":"N integer","Person":"N integer","Total":"N numeric","At":"S timestamptz(0)"}');
SELECT dyn_create_migration('target', 'people',
	'[{"entity": "Person", "from": "fuzz.people", "attributes": {"Name": "upper(name)"},
	"parents": {"b": {"from": "fuzz.people", "on": {"id": "boss"}, "attributes": {"Boss": "name"}}},
    "children": {"Orders": {"from": "fuzz.orders", "on": {"person": "id"}, "as": "count"}}},
  {"entity": "Order", "from": "fuzz.orders", "where": "total > 0", "attributes": {"Person": "person"}}]');
CALL dyn_migrate('people');
-- what is no table of items, or one in a way of its own
CREATE TABLE plain (id integer PRIMARY KEY, v text) USING heap;
CREATE TABLE handmade (item dyn_item NOT NULL, pk text COLLATE "C" NOT NULL PRIMARY KEY) USING dynamo_table;
CREATE TABLE heaped (item dyn_item, pk text COLLATE "C" PRIMARY KEY) USING heap;
CREATE TABLE empty () USING dynamo_table;
CREATE VIEW view_app AS SELECT * FROM app;
CREATE MATERIALIZED VIEW mat_app AS SELECT * FROM app;
CREATE SEQUENCE seq;
CREATE TABLE parted (item dyn_item NOT NULL, pk text COLLATE "C" NOT NULL, PRIMARY KEY (pk)) PARTITION BY LIST (pk);
CREATE TABLE part PARTITION OF parted DEFAULT;
SELECT dyn_create_table('parent', 'pk S'), dyn_create_table('secured', 'pk S', 'sk S'), dyn_create_table('odd', 'pk S'),
	dyn_create_table('triggered', 'pk S', 'sk S'), dyn_create_table('forged', 'pk S', 'sk S',
  global_indexes => '{"GSI1": {"partition_key": "g S", "sort_key": "h N"}}'), dyn_create_table('renamed', 'pk S', 'sk S');
CREATE TABLE child () INHERITS (parent);
ALTER TABLE renamed RENAME pk TO other;
ALTER TABLE odd RENAME TO "odd %s '\ ""name";
ALTER TABLE secured ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY few ON secured USING (pk < 'm') WITH CHECK (pk < 'n');
CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END; END $$;
CREATE TRIGGER "~~late" BEFORE INSERT OR UPDATE OR DELETE ON triggered FOR EACH ROW EXECUTE FUNCTION noted();
CREATE FUNCTION lookup(text) RETURNS dyn_item LANGUAGE sql AS $$ SELECT dyn_get('app', jsonb_build_object('pk', $1, 'sk', '#METADATA#')) $$;
RESET SESSION AUTHORIZATION;
CREATE FOREIGN DATA WRAPPER fuzz_wrapper;
CREATE SERVER fuzz_server FOREIGN DATA WRAPPER fuzz_wrapper;
CREATE FOREIGN TABLE fuzz.far (item dyn_item, pk text) SERVER fuzz_server;
