-- Attributes of every class of types: written, read by views, and left as columns; docs/semantics.md, M28.
\pset format unaligned
SET timezone = 'UTC';
CREATE TYPE hue AS ENUM ('red', 'blue');
CREATE TYPE pair AS (a integer, b text);
CREATE DOMAIN flag AS boolean NOT NULL;
CREATE DOMAIN checked_flag AS boolean CHECK (VALUE IS NOT NULL);
CREATE DOMAIN title AS varchar(20);
CREATE DOMAIN small AS integer CHECK (VALUE < 10);
CREATE DOMAIN price AS numeric(8, 2) NOT NULL;
CREATE DOMAIN labels AS text[] NOT NULL;
CREATE DOMAIN inner_flag AS flag;
SELECT dyn_create_table('t', 'pk S');
SELECT dyn_create_entity('t', 'One', '{"pk": "ONE#<id>"}', '{"id": "N integer",
	"text": "S", "varchar5": "S varchar(5)", "char5": "S char(5)", "bpchar": "S bpchar", "name": "S name",
	"int2": "N smallint", "int8": "N bigint", "numeric": "N numeric", "numeric82": "N numeric(8,2)", "tens": "N numeric(4)", "numeric_text": "S numeric(8,2)",
	"float4": "N real", "float8": "N float8", "money": "S money", "bool": "BOOL", "bool_n": "N boolean", "bool_s": "S boolean",
	"bytea": "B", "bytea_s": "S bytea", "timestamp0": "S timestamp(0)", "timestamptz3": "S timestamptz(3)", "timestamptz_n": "N timestamptz(0)",
	"date": "S date", "date_n": "N date", "time": "S time", "time2": "S time(2)", "timetz": "S timetz", "interval0": "S interval(0)", "uuid": "S uuid",
	"inet": "S inet", "cidr": "S cidr", "macaddr": "S macaddr", "bit5": "S bit(5)", "varbit5": "S bit varying(5)", "hue": "S hue", "pair": "S pair",
	"json": "M json", "jsonb": "L jsonb", "range": "S int4range", "point": "S point", "xid": "S oid",
	"list": "L integer[]", "list_numeric": "L numeric(6,1)[]", "list_varchar": "L varchar(3)[]", "list_bool": "L flag[]",
	"ss": "SS", "ns": "NS numeric(6,1)[]", "bs": "BS", "nothing": "NULL",
	"flag": {"type": "BOOL flag", "required": true}, "checked": {"type": "BOOL checked_flag", "required": true}, "inner_flag": "BOOL inner_flag",
	"title": "S title", "small": "N small", "price": "N price", "labels": "L labels", "label_set": "SS labels"}');
SELECT dyn_create_entity_view('t', 'One', 'one');
-- the columns have the types that are declared
SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attnum) FROM pg_attribute
	WHERE attrelid = 'one'::regclass AND attnum > 0;

-- written by the view, and by a call
INSERT INTO one VALUES (1,
	'a', 'abcde', 'ab', 'ab ', 'n', 2, 8, 1.50, 265.40, 12, 265.40, 0.5, 0.25, 12.5, true, false, true,
	'\x0102', '\x0102', '2024-05-01 10:20:30', '2024-05-01 10:20:30.123+00', '2024-05-01 10:20:30+00',
	'2024-05-01', '2024-05-01', '10:20:30', '10:20:30.25', '10:20:30+01', '1 day 00:00:01', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11',
	'10.0.0.1', '10.0.0.0/8', '08:00:2b:01:02:03', '10101', '101', 'blue', '(1,x)',
	'{"a": 1}', '[1, "b"]', '[1,5)', '(1,2)', 7,
	'{1,2}', '{1.5,2}', '{abc,d}', '{true,false}',
	'{a,b}', '{1.5,2}', '{"\\x01","\\x02"}', NULL,
	true, false, true, 'a title', 9, 12.30, '{l,m}', '{l,m}');
SELECT dyn_get('t', '{"pk":{"S":"ONE#1"}}');
\x on
SELECT * FROM one;
\x off
-- each column is read alone, as joins and sorts carry them
SELECT * FROM (SELECT * FROM one ORDER BY id OFFSET 0) o JOIN LATERAL (SELECT flag AS f, price AS p, labels AS l, checked AS c) x ON true \gset got_
\echo :got_numeric82 :got_char5 :got_timestamp0 :got_bit5 :got_flag :got_p :got_l :got_c

-- an item that lacks what is required, and has other values than the types: NULL
SELECT dyn_put('t', '{"pk":{"S":"ONE#2"},"Type":{"S":"One"},"id":{"N":"2"},"flag":{"S":"yes"},"small":{"N":"11"},"numeric82":{"N":"1234567.1"},
	"varchar5":{"S":"abcdef"},"bit5":{"S":"1"},"price":{"N":"12345678"},"labels":{"S":"x"},"tens":{"N":"1.5"},"timestamp0":{"S":"2024-05-01T10:20:30.7"}}');
SELECT id, flag, checked, inner_flag, small, numeric82, varchar5, bit5, price, labels, label_set, tens, timestamp0 FROM one ORDER BY id;
SELECT id FROM one WHERE flag IS NULL AND price IS NULL AND labels IS NULL;
SELECT a.id, b.flag, b.price FROM one a LEFT JOIN one b ON b.id = a.id + 1 ORDER BY a.id;
-- plain values of the domain cannot be NULL, as in a table
INSERT INTO one (id, flag) VALUES (3, NULL);
INSERT INTO one (id, flag, checked) VALUES (3, true, NULL);
INSERT INTO one (id, flag, checked, inner_flag, price, labels, label_set) VALUES (3, true, true, true, 1.005, '{}', '{}')
	RETURNING id, flag, price, labels, label_set;
UPDATE one SET numeric82 = 7, flag = false, checked = true, small = 1, varchar5 = 'a', bit5 = '11111', price = 1, labels = '{}'
	WHERE id = 2 RETURNING id, numeric82, flag, checked, tens;
UPDATE one SET numeric82 = 123456789 WHERE id = 2;
-- a declaration with another modifier
SELECT dyn_create_entity('t', 'Two', '{"pk": "TWO#<id>"}', '{"id": "N integer", "price": "N numeric(8,2)", "flag": "BOOL", "numeric82": "N numeric(8,2)"}');
SELECT dyn_create_entity_view('t', 'Two', 'two');
INSERT INTO two VALUES (1, 3, true, 1);
SELECT dyn_create_entity('t', 'Two', '{"pk": "TWO#<id>"}', '{"id": "N integer", "price": "N numeric(10,2)", "flag": "BOOL", "numeric82": "N numeric(8,2)"}');
SELECT problem, detail FROM dyn_check_entities('t') WHERE problem LIKE 'view%';
INSERT INTO two VALUES (2, 3, true, 1);
SELECT dyn_create_entity_view('t', 'Two', 'two');
DROP VIEW two;
SELECT dyn_create_entity_view('t', 'Two', 'two');
SELECT * FROM two;
SELECT pg_get_viewdef('two') LIKE '%NULL::numeric(10,2))::numeric(10,2) AS price%' AS cast;

-- left: the same columns, and the views show the same
CREATE TABLE before AS SELECT to_jsonb(o) AS row FROM one o;
CREATE TABLE before_two AS SELECT to_jsonb(o) AS row FROM two o;
-- json is a keyword of 16 and later
SELECT replace(line, '"json" json', 'json pg_catalog.json') FROM dyn_detach('t', 'columns', dry_run => true) line
	WHERE line LIKE '-- Column%' OR line LIKE '%ADD COLUMN%' \g (format=unaligned tuples_only=on)
SELECT count(*) > 0 AS done FROM dyn_detach('t', 'columns');
SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attnum) FROM pg_attribute
	WHERE attrelid = 't'::regclass AND attnum > 0 AND NOT attisdropped;
SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attnum) FROM pg_attribute
	WHERE attrelid = 'one'::regclass AND attnum > 0;
SELECT row FROM before EXCEPT ALL SELECT to_jsonb(o) FROM one o;
SELECT row FROM before_two EXCEPT ALL SELECT to_jsonb(o) FROM two o;
SELECT count(*) FROM one;
-- what a column would not give back stays in the item
SELECT pk, item FROM t ORDER BY pk;
SELECT pg_get_viewdef('two') LIKE '%price_2 AS price%' AS plain;
SELECT id, flag, price FROM one ORDER BY id;
DROP VIEW one, two;
DROP TABLE t, before, before_two;
RESET timezone;
DROP DOMAIN inner_flag, checked_flag, title, small, price, labels, flag;
DROP TYPE hue, pair;
