-- KSUIDs: identifiers that sort by their time.
SET timezone = 'UTC';
-- the vector
SELECT dyn_ksuid(NULL, '\x0AF14D665D6068ACBE766CF717E210D69C94D115'), dyn_ksuid_bytes('1YnlHOfSSk3DhX4BR6lMAceAo1V'),
	dyn_ksuid_time('1YnlHOfSSk3DhX4BR6lMAceAo1V');
-- the smallest and the largest
SELECT dyn_ksuid(NULL, decode(repeat('00', 20), 'hex')), dyn_ksuid(NULL, '\xff'),
	dyn_ksuid_bytes('aWgEPTl1tmebfsQzFP4bxwgy80V');
SELECT dyn_ksuid('2014-05-13 16:53:20', '\x00'), dyn_ksuid(dyn_ksuid_time('aWgEPTl1tmebfsQzFP4bxwgy80V'), '\xff');
SELECT dyn_ksuid_time('000000000000000000000000000'), dyn_ksuid_time('aWgEPTl1tmebfsQzFP4bxwgy80V');

-- new ones are of their second, all different, and sort by time
SELECT count(DISTINCT k), bool_and(length(k) = 27), bool_and(dyn_ksuid_time(k) = '2020-03-07 13:02:30'),
	bool_and(k COLLATE "C" BETWEEN dyn_ksuid('2020-03-07 13:02:30.999', '\x00') AND dyn_ksuid('2020-03-07 13:02:30', '\xff'))
	FROM (SELECT dyn_ksuid('2020-03-07 13:02:30.5') FROM generate_series(1, 1000)) t(k);
SELECT bool_and(a < b) FROM (SELECT dyn_ksuid(t) COLLATE "C", dyn_ksuid(t + interval '1 s') COLLATE "C"
	FROM generate_series(timestamptz '2014-05-13 16:53:20', '2150-06-19 23:21:34', '10 years 7 hours 13 s') t) t(a, b);
SELECT dyn_ksuid_time(dyn_ksuid()) BETWEEN date_trunc('second', statement_timestamp()) AND clock_timestamp();
-- bytes and text, there and back, in the same order
SELECT count(*), bool_and(dyn_ksuid_bytes(dyn_ksuid(NULL, b)) = b),
	bool_and(b < lead OR lead IS NULL), bool_and(k < next OR next IS NULL)
	FROM (SELECT b, lead(b) OVER w, k, lead(k) OVER w AS next
		FROM (SELECT b, dyn_ksuid(NULL, b) COLLATE "C" AS k
			FROM (SELECT substr(sha256(i::text::bytea), 1, 20) AS b FROM generate_series(1, 500) i) a) c
		WINDOW w AS (ORDER BY b)) d;

-- a window of time: the highest of the last second and the lowest of the first
SELECT dyn_create_table('ksuids', 'PK S', 'SK S');
SELECT dyn_put('ksuids', jsonb_build_object('PK', 'p', 'SK', dyn_ksuid(NULL, decode(lpad(to_hex(s), 8, '0') || repeat(p, 16), 'hex')), 'n', s || p))
	FROM (VALUES (0, 'aa'), (1, 'bb'), (2, '11'), (2, 'ff'), (3, '00')) v(s, p);
SELECT i ->> 'n' FROM dyn_query('ksuids', 'PK = :p', vals => '{":p":{"S":"p"}}') i;
SELECT i ->> 'n' FROM dyn_query('ksuids', 'PK = :p AND SK BETWEEN :a AND :b', vals => jsonb_build_object(':p', 'p',
	':a', dyn_ksuid('2014-05-13 16:53:21', '\x00'), ':b', dyn_ksuid('2014-05-13 16:53:22', '\xff'))) i;
DROP TABLE ksuids;

-- what is none
SELECT dyn_ksuid_time('1YnlHOfSSk3DhX4BR6lMAceAo1');
SELECT dyn_ksuid_time('1YnlHOfSSk3DhX4BR6lMAceAo1-');
SELECT dyn_ksuid_bytes('aWgEPTl1tmebfsQzFP4bxwgy80W');
SELECT dyn_ksuid_bytes('zzzzzzzzzzzzzzzzzzzzzzzzzzz');
SELECT dyn_ksuid(NULL, '\x0000');
SELECT dyn_ksuid('2020-03-07 13:02:30', '\x0AF14D665D6068ACBE766CF717E210D69C94D115');
SELECT dyn_ksuid('2014-05-13 16:53:19');
SELECT dyn_ksuid('2150-06-19 23:21:36', '\x00');
SELECT dyn_ksuid('infinity');
SELECT dyn_ksuid(now(), NULL), dyn_ksuid_time(NULL);
RESET timezone;
