-- The formats that are on disk, in dumps and on the wire, byte by byte, as src/item/item.h and src/item/number.c draw them.  The bytes
-- are literals, so a server on which they differ, for its architecture or for a change in the code, is found here.
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
-- what is stored after the length: the format byte and the value
CREATE CAST (bytea AS dyn_value) WITHOUT FUNCTION;
CREATE CAST (dyn_value AS bytea) WITHOUT FUNCTION;
CREATE CAST (bytea AS dyn_item) WITHOUT FUNCTION;
CREATE CAST (dyn_item AS bytea) WITHOUT FUNCTION;
CREATE TEMP TABLE samples (name text, value text, bytes text);
INSERT INTO samples VALUES
	('empty string', '{"S":""}', '1001'),
	('string', '{"S":"abc"}', '1001616263'),
	('UTF-8', '{"S":"é€😀"}', '1001c3a9e282acf09f9880'),
	('U+0000', '{"S":"a\u0000b"}', '1001610062'),
	('binary, empty', '{"B":""}', '1003'),
	('binary', '{"B":"AAF/gP8="}', '100300017f80ff'),
	('true', '{"BOOL":true}', '1014'),
	('false', '{"BOOL":false}', '1004'),
	('null', '{"NULL":true}', '1005'),
	('number', '{"N":"0"}', '1002'),
	('number', '{"N":"1"}', '1002c102'),
	('number', '{"N":"-1"}', '10023e63'),
	('number', '{"N":"9"}', '1002c10a'),
	('number', '{"N":"10"}', '1002c10b'),
	('number', '{"N":"-10"}', '10023e5a'),
	('number', '{"N":"99"}', '1002c164'),
	('number', '{"N":"100"}', '1002c202'),
	('number', '{"N":"12345"}', '1002c302182e'),
	('number', '{"N":"-12345"}', '10023c634d37'),
	('number', '{"N":"0.5"}', '1002c033'),
	('number', '{"N":"-0.5"}', '10023f32'),
	('number', '{"N":"0.05"}', '1002c006'),
	('number', '{"N":"3.14"}', '1002c1040f'),
	('number', '{"N":"1000000"}', '1002c402'),
	('number', '{"N":"99999999999999999999999999999999999999"}', '1002d364646464646464646464646464646464646464'),
	('number', '{"N":"-99999999999999999999999999999999999999"}', '10022c01010101010101010101010101010101010101'),
	('number', '{"N":"1E-130"}', '10028002'),
	('number', '{"N":"-1E-130"}', '10027f63'),
	('number', '{"N":"9.9999999999999999999999999999999999999E+125"}', '1002ff64646464646464646464646464646464646464'),
	('number', '{"N":"-9.9999999999999999999999999999999999999E+125"}', '10020001010101010101010101010101010101010101'),
	('number', '{"N":"12345678901234567890123456789012345678"}', '1002d30d23394f5b0d23394f5b0d23394f5b0d23394f'),
	('number', '{"N":"0.00000012345678901234567890123456789012345678"}', '1002bd0d23394f5b0d23394f5b0d23394f5b0d23394f'),
	('empty list', '{"L":[]}', '100600'),
	('empty map', '{"M":{}}', '100700'),
	('list', '{"L":[{"S":"a"},{"N":"1"},{"NULL":true},{"L":[]}]}', '10060402050608016102c102050600'),
	('map, names in order of bytes', '{"M":{"b":{"N":"2"},"a":{"S":"x"},"ab":{"BOOL":true},"é":{"NULL":true},"Z":{"B":"AA=="}}}',
	'10070504080c1115015a03000161017802616214016202c10302c3a905'),
	('strings', '{"SS":["b","a","","ab"]}', '1008040001030461616262'),
	('numbers', '{"NS":["10","-1","0","2","-0.5"]}', '10090502040406083e633f32c103c10b'),
	('binaries', '{"BS":["/w==","AA==","AAE="]}', '100a03010304000001ff'),
	('nested 31 times', '{"M":{"m":{"L":[{"M":{"m":{"L":[{"M":{"m":{"L":[{"M":{"m":{"L":[{"M":{"m":{"L":[{"M":{"m":{"L":[{"M":{"m":{"L":[{"M":{"m":{"L":[{"M":{"m":{"L":[{"M":{"m":{"L":[{"M":{"m":{"L":[{"M":{"m":{"L":[{"M":{"m":{"L":[{"M":{"m":{"L":[{"M":{"m":{"L":[{"M":{"m":{"N":"1"}}}]}}}]}}}]}}}]}}}]}}}]}}}]}}}]}}}]}}}]}}}]}}}]}}}]}}}]}}}]}}}', '1007017d016d060178070175016d06017007016d016d060168070165016d06016007015d016d060158070155016d06015007014d016d060148070145016d06014007013d016d060138070135016d06013007012d016d060128070125016d06012007011d016d060118070115016d06011007010d016d060108070105016d02c102'),
	('name of 128 bytes', '{"M":{"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn":{"NULL":true}}}', '1007018380016e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e05'),
	('width 1, at its end', '{"L":[{"S":"ssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssss"}]}', '100601ff017373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373'),
	('width 2, at its begin', '{"L":[{"S":"sssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssss"}]}', '10160100000101737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373737373'),
	('all types', '{"M":{"s":{"S":"x"},"n":{"N":"-12.5"},"b":{"B":"AQI="},"t":{"BOOL":true},"z":{"NULL":true},"l":{"L":[{"N":"7"},{"M":{"y":{"N":"1"}}}]},"m":{"M":{"x":{"M":{"z":{"NULL":true}}}}},"ss":{"SS":["p","q"]},"ns":{"NS":["1","-2"]},"bs":{"BS":["AQ=="]}}}', '10070a050c1d2a303b3f484b4e01620301020262730a010101016c0602030b02c108070105017902c102016d0701080178070103017a05016e023e5832026e73090202043e62c10201730178027373080201027071017414017a05')
;
-- from text to bytes, and back: what differs
SELECT name, value, bytes, encode(value::dyn_value::bytea, 'hex') FROM samples WHERE value::dyn_value::bytea <> decode(bytes, 'hex');
SELECT name, bytes, decode(bytes, 'hex')::dyn_value FROM samples WHERE decode(bytes, 'hex')::dyn_value <> value::dyn_value
	OR decode(bytes, 'hex')::dyn_value::text::dyn_value::bytea <> decode(bytes, 'hex');
-- as items: the same bytes
SELECT name FROM samples WHERE value LIKE '{"M":%' AND (value::json -> 'M')::text::dyn_item::bytea <> decode(bytes, 'hex');
-- on the wire: the version of that form, and the same bytes
SELECT name FROM samples WHERE dynamo_internal.value_send(value::dyn_value) <> '\x01' || decode(bytes, 'hex');
-- as rows of a table, read from its pages
CREATE TABLE stored (value dyn_value);
INSERT INTO stored SELECT value::dyn_value FROM samples;
SELECT count(*) FROM stored s JOIN samples v ON s.value::bytea = decode(v.bytes, 'hex');
SELECT count(*) FROM samples;

-- each power of ten, both signs: the exponent's byte and one digit
SELECT e, sign, encode(v::bytea, 'hex')
	FROM (SELECT e, sign, floor((e + 2) / 2.0)::int AS hundreds,
			CASE WHEN (e + 1) % 2 = 0 THEN 10 ELSE 1 END AS digit, format('{"N":"%s1E%s"}', sign, e)::dyn_value AS v
		FROM generate_series(-130, 125) e, unnest(ARRAY['', '-']) sign) n
	WHERE v::bytea <> '\x1002'::bytea || CASE sign WHEN '' THEN set_byte(set_byte('\x0000', 0, 128 + hundreds + 64), 1, digit + 1)
		ELSE set_byte(set_byte('\x0000', 0, 127 - (hundreds + 64)), 1, 100 - digit) END;
-- in their order
SELECT count(*) FROM (SELECT substr(v::bytea, 3) AS bytes, lag(substr(v::bytea, 3)) OVER (ORDER BY e) AS before
	FROM (SELECT e, format('{"N":"1E%s"}', e)::dyn_value AS v FROM generate_series(-130, 125) e) n) o WHERE bytes <= before;

-- the mark of a placeholder for an item that is absent, of which nobody sees more than an item
SELECT dynamo_internal.item_send('\x110700'::bytea::dyn_item), '\x110700'::bytea::dyn_item;

-- columns of keys; bytes 00 and 01 are escaped in S
SELECT dyn_create_table('keyed', 's S', 'n N');
CALL dyn_create_index('keyed', 'by_b', 'b B');
CALL dyn_create_index('keyed', 'covering', 'b B', projection => 'INCLUDE', non_key_attributes => ARRAY['v'], covering => true);
SELECT dyn_put('keyed', '{"s":{"S":"a\u0000\u0001é"},"n":{"N":"-12.50"},"b":{"B":"AAH/"},"v":{"S":"x"},"w":{"S":"y"}}');
SELECT encode(convert_to(s, 'UTF8'), 'hex'), encode(numeric_send(n), 'hex'), encode(b, 'hex') FROM keyed;
SELECT attname, atttypid::regtype FROM pg_attribute WHERE attrelid = 'keyed'::regclass AND attnum > 0 ORDER BY attnum;
SELECT encode("~covering_item"::bytea, 'hex') FROM keyed;

-- what dumps and pg_upgrade have of a table
CALL dyn_enable_ttl('keyed', 'w');
SELECT dyn_create_entity('keyed', 'Note', '{"s": "NOTE#<Id>", "n": "<Number>"}', '{"Id": "S", "Number": "N"}');
-- without the compression, which is lz4 or, if the server was built without that, pglz
SELECT regexp_replace(pg_get_triggerdef(oid), ', "compression": "(lz4|pglz)"', '') FROM pg_trigger WHERE tgrelid = 'keyed'::regclass ORDER BY tgname;
SELECT label FROM pg_seclabels WHERE objoid = 'keyed'::regclass;
SELECT c.relname || ' (' || string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', ' ORDER BY a.attnum) || ')'
	FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
	WHERE c.relnamespace = 'dynamo_internal'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition GROUP BY c.relname ORDER BY c.relname;

DROP TABLE stored, keyed;
DROP CAST (bytea AS dyn_value);
DROP CAST (dyn_value AS bytea);
DROP CAST (bytea AS dyn_item);
DROP CAST (dyn_item AS bytea);
