-- Migrations: all common types, and back by the entity's attributes (M27, M24)
\pset format unaligned
SET client_min_messages = warning;
CREATE SCHEMA kinds;
CREATE TYPE kinds.mood AS ENUM ('calm', 'cross');
CREATE DOMAIN kinds.percent AS int CHECK (VALUE BETWEEN 0 AND 100);
CREATE TYPE kinds.pair AS (a int, b text);
CREATE TABLE kinds.everything (id bigint PRIMARY KEY, i2 smallint, i4 int, i8 bigint, num numeric(12, 3), f4 real, f8 double precision, txt text, vc varchar(5),
	ch char(4), b boolean, d date, ts timestamp, tz timestamptz, t time, iv interval, u uuid, ip inet, m kinds.mood, p kinds.percent, bin bytea,
	j json, jb jsonb, ia int[], ta text[], na numeric[], ba bytea[], r int4range, c money, pair kinds.pair, bits bit(3));
INSERT INTO kinds.everything VALUES (1, -5, 70000, 5000000000, 1234.500, 1.5, 0.1, 'héllo', 'abc', 'ab', true, '2024-05-01', '2024-05-01 10:20:30.5',
	'2024-05-01 10:20:30.5+02',
	'10:20', '1 day 02:03:04', '6b1c3c1e-4b52-4b6e-8f6e-5a0b1c2d3e4f', '10.0.0.1/8', 'calm', 50, '\x0102ff', '{"k": [1, null, {"z": true}]}',
	'{"k": [1, null, {"z": true}]}',
	'{1,NULL,3}', '{b,a,b}', '{1.50,2}', '{"\\x01","\\x02"}', '[1,5)', '$12.50', '(1,x)', '101'),
	(2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
	NULL, NULL, NULL, NULL, NULL),
	(3, 0, 0, 0, 0, -0.0, 1e-20, '', '', '', false, '1969-12-31', '1969-12-31', '1969-12-31 00:00Z', '00:00', '0', '00000000-0000-0000-0000-000000000000', '::1',
	'cross', 0, '',
	'{}', '[]', '{}', '{}', '{}', '{}', 'empty', '$0', '(,)', '000');
SELECT dyn_create_table('kinds', 'pk S', 'sk S');
SELECT dyn_create_entity('kinds', 'All', '{"pk": "ALL#<Id>", "sk": "-"}',
	'{"Id": {"type": "N bigint"}, "I2": {"type": "N smallint"}, "I4": {"type": "N integer"}, "I8": {"type": "N bigint"}, "Num": {"type": "N numeric"},
	"F4": {"type": "N real"}, "F8": {"type": "N double precision"}, "Txt": {"type": "S text"}, "Vc": {"type": "S varchar(5)"}, "Ch": {"type": "S char(4)"},
	"B": {"type": "BOOL boolean"}, "BNumber": {"type": "N boolean"},
	"D": {"type": "S date"}, "DEpoch": {"type": "N date"}, "Ts": {"type": "S timestamp"}, "Tz": {"type": "S timestamptz(3)"},
	"TzEpoch": {"type": "N timestamptz"}, "T": {"type": "S time"}, "Iv": {"type": "S interval"},
	"U": {"type": "S uuid"}, "Ip": {"type": "S inet"}, "M": {"type": "S kinds.mood"}, "P": {"type": "N kinds.percent"}, "Bin": {"type": "B bytea"},
	"Base64": {"type": "S bytea"}, "J": {"type": "M json"}, "Jb": {"type": "M jsonb"},
	"JText": {"type": "S jsonb"}, "Ia": {"type": "L integer[]"}, "Ta": {"type": "SS text[]"}, "Na": {"type": "NS numeric[]"}, "Ba": {"type": "BS bytea[]"},
	"R": {"type": "S int4range"}, "C": {"type": "S money"},
	"Pair": {"type": "S kinds.pair"}, "Bits": {"type": "S bit(3)"}}');
SELECT dyn_create_migration('kinds', 'kinds', '[{"entity": "All", "from": "kinds.everything", "attributes": {"BNumber": "b", "DEpoch": "d",
	"TzEpoch": "tz", "Base64": "bin", "JText": "jb"}}]');
-- no setting of the session has a say
SET DateStyle = 'German'; SET IntervalStyle = 'iso_8601'; SET TimeZone = 'Asia/Tokyo'; SET extra_float_digits = -15; SET bytea_output = 'escape';
CALL dyn_migrate('kinds');
SELECT e.key, e.value FROM kinds k, jsonb_each_text(k.item::jsonb) e WHERE k.pk = 'ALL#1' ORDER BY e.key COLLATE "C";
SELECT item FROM kinds WHERE pk = 'ALL#2';
SELECT item FROM kinds WHERE pk = 'ALL#3';
SELECT source_row, problem FROM dyn_job_problems WHERE name = 'kinds';
UPDATE kinds.everything SET jb = '{"a": ""}' WHERE id = 3;
CALL dyn_migrate('kinds');
SELECT item FROM kinds WHERE pk = 'ALL#3';
RESET DateStyle; RESET IntervalStyle; RESET TimeZone; RESET extra_float_digits; RESET bytea_output;
SELECT * FROM dyn_verify_migration('kinds') WHERE difference NOT LIKE 'error:%';
-- other types than the columns': cast; what does not fit is a problem, and never cut
CREATE TABLE kinds.casts (id int PRIMARY KEY, v text);
INSERT INTO kinds.casts VALUES (1, '12'), (2, 'twelve'), (3, '123456');
SELECT dyn_create_entity('kinds', 'Cast', '{"pk": "CAST#<Id>", "sk": "-"}',
	'{"Id": {"type": "S text"}, "Number": {"type": "N integer"}, "Short": {"type": "S varchar(3)"}}');
SELECT dyn_create_migration('kinds', 'casts', '[{"entity": "Cast", "from": "kinds.casts", "attributes": {"Number": "v", "Short": "v"}}]');
CALL dyn_migrate('casts');
SELECT item FROM kinds WHERE pk LIKE 'CAST#%';
SELECT source_row, problem FROM dyn_job_problems WHERE name = 'casts';
-- keys of such types, in batches of one
CREATE TABLE kinds.keys (c char(3), t timestamptz, m kinds.mood, n numeric, PRIMARY KEY (c, t, m, n));
INSERT INTO kinds.keys SELECT c, t::timestamptz, m::kinds.mood, n FROM unnest('{b,abc}'::text[]) c,
	unnest('{2024-01-01 00:00+00,2024-01-01 00:00:00.123456+00}'::text[]) t,
	unnest('{cross,calm}'::text[]) m, unnest('{1.10,-5}'::numeric[]) n;
SELECT dyn_create_entity('kinds', 'Key', '{"pk": "KEY#<C>", "sk": "<T>#<M>#<N>"}',
	'{"C": {"type": "S char(3)"}, "T": {"type": "S timestamptz"}, "M": {"type": "S kinds.mood"}, "N": {"type": "N numeric"}}');
SELECT dyn_create_migration('kinds', 'keys', '[{"entity": "Key", "from": "kinds.keys"}]');
CALL dyn_migrate('keys', batch_size => 1);
SELECT pk, sk FROM kinds WHERE pk LIKE 'KEY#%' ORDER BY 1, 2;
SELECT * FROM dyn_verify_migration('keys');
DROP TABLE kinds;
DROP SCHEMA kinds CASCADE;
