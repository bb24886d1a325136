-- Between SQL values and attributes: dyn_to_value(), as migrations and views write them.
SET timezone = 'Asia/Kolkata';
SET extra_float_digits = 0;
SET datestyle = 'SQL, DMY';
SET bytea_output = 'escape';
SET intervalstyle = 'sql_standard';
-- numbers
SELECT dyn_to_value(v) FROM unnest(ARRAY[0, 1, -1, 99, 100, 32767, -32768]::smallint[]) v;
SELECT dyn_to_value(v) FROM unnest(ARRAY[2147483647, -2147483648, 1000000, -100]) v;
SELECT dyn_to_value(v) FROM unnest(ARRAY[9223372036854775807, -9223372036854775808, 10000000000, -99]) v;
SELECT dyn_to_value(v) FROM unnest(ARRAY[0, 1.50, -0.001, 12345678901234567890123456789012345678, 1e125, 1e-130]::numeric[]) v;
SELECT dyn_to_value(v) FROM unnest(ARRAY[0.1, 1e20, -1.5e-5, 0.30000000000000004]::float8[]) v;
SELECT dyn_to_value(v) FROM unnest(ARRAY[0.1, 16777216, 1e-37]::float4[]) v;
SELECT dyn_to_value(v, 'S') FROM unnest(ARRAY[1.50, -2]::numeric[]) v;
-- all integers go the same way as their numerics
SELECT count(*) FROM (SELECT (hashint8extended(i, 0) >> (i % 64)::int) AS v FROM generate_series(1, 20000) i) t
	WHERE dyn_to_value(v)::text <> dyn_to_value(v::numeric)::text;
-- numbers of all lengths, with the point anywhere, as they are and as a cast rounds them
CREATE TEMP TABLE numbers AS SELECT trim_scale(sign * (left('98765432109876543210', digits) || tail)::numeric * ('1e' || place)::numeric) AS n
	FROM generate_series(1, 20) digits, generate_series(-24, 6) place, (VALUES (1), (-1)) s (sign), (VALUES (''), ('0'), ('9')) t (tail);
SELECT count(*), count(*) FILTER (WHERE n::text <> dynamo_internal.attribute(item, 'v', 'N', NULL::numeric)::text) AS other
	FROM numbers, LATERAL (SELECT format('{"v":{"N":"%s"}}', n)::dyn_item AS item) i;
SELECT count(*), count(small) AS fit,
	count(*) FILTER (WHERE CASE WHEN abs(round(n, 2)) < 10000 THEN n::numeric(6, 2)::text END IS DISTINCT FROM small::text) AS other
	FROM numbers, LATERAL (SELECT dynamo_internal.attribute(format('{"v":{"N":"%s"}}', n)::dyn_item, 'v', 'N', NULL::numeric(6,2)) AS small) i;
SELECT dyn_to_value('NaN'::numeric);
SELECT dyn_to_value('-Infinity'::numeric);
SELECT dyn_to_value('NaN'::float8);
SELECT dyn_to_value('Infinity'::float4);
SELECT dyn_to_value(1e126::numeric);
SELECT dyn_to_value(1e300::float8);
SELECT dyn_to_value(123456789012345678901234567890123456789::numeric);
-- text; the blanks at the end of a char are none
SELECT dyn_to_value('a'::text), dyn_to_value(''::text), dyn_to_value('ü'::varchar(3)), dyn_to_value('ab '::char(5)), dyn_to_value('n'::name);
-- boolean, bytea, uuid
SELECT dyn_to_value(v), dyn_to_value(v, 'N'), dyn_to_value(v, 'S') FROM unnest(ARRAY[true, false]) v;
SELECT dyn_to_value('\x00ff'::bytea), dyn_to_value('\x00ff'::bytea, 'S'), dyn_to_value('0123ABCD-4567-89ef-0123-456789abcdef'::uuid);
-- M24: timestamps in UTC and ISO 8601 whatever the settings, of one width, or as seconds
SELECT dyn_to_value(v), dyn_to_value(v, 'S timestamptz(3)'), dyn_to_value(v, 'S timestamptz(0)'), dyn_to_value(v, 'N')
	FROM unnest(ARRAY['2024-05-01 10:20:30.123456+00', '1969-12-31 23:59:59.5+00', '0001-01-01 00:00:00+00', '9999-12-31 23:59:59.999999+00']::timestamptz[]) v;
SELECT dyn_to_value(v), dyn_to_value(v, 'N') FROM unnest(ARRAY['2024-05-01 10:20:30', '1999-12-31 23:59:59.000001']::timestamp[]) v;
SELECT dyn_to_value(v), dyn_to_value(v, 'N') FROM unnest(ARRAY['2024-02-29', '1970-01-01', '0001-01-01', '9999-12-31']::date[]) v;
SELECT count(*) FROM (SELECT timestamptz '1900-01-01' + i * interval '12345.678901 s' * 1000 AS v FROM generate_series(1, 1000) i) t
	WHERE dyn_to_value(v)::jsonb #>> '{}' <> to_char(v AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');
SELECT dyn_to_value('infinity'::timestamptz);
SELECT dyn_to_value('-infinity'::date);
SELECT dyn_to_value('10000-01-01'::date);
SELECT dyn_to_value('0001-12-31 BC'::date, 'N');
SELECT dyn_to_value('294276-12-31 23:59:59.999999'::timestamp, 'N');
SELECT dyn_to_value('4714-11-24 00:00:00 BC'::timestamp);
-- JSON: maps and lists, or text
SELECT dyn_to_value('{"a": [1, null, {"b": true}], "c": "x"}'::jsonb), dyn_to_value('[1, [], {}]'::jsonb, 'L'), dyn_to_value('{"b":  1}'::json),
	dyn_to_value('{"b":  1}'::json, 'S');
SELECT dyn_to_value('[]'::jsonb, 'M');
SELECT dyn_to_value('{}'::jsonb, 'L');
SELECT dyn_to_value('1'::jsonb);
SELECT dyn_to_value('{"a": 1e200}'::jsonb);
SELECT dyn_to_value('{"": 1}'::jsonb);
SELECT dyn_to_value((repeat('[', 34) || repeat(']', 34))::jsonb, 'L') IS NULL;
-- arrays: lists, with NULLs and dimensions; sets, each element once; an empty set is absent
SELECT dyn_to_value(ARRAY[1, NULL, 3]), dyn_to_value(ARRAY[[1, 2], [3, 4]]), dyn_to_value('{}'::text[]), dyn_to_value(ARRAY['a', 'b']),
	dyn_to_value('[3:4]={7,8}'::int[]);
SELECT dyn_to_value(ARRAY['b', 'a', 'b'], 'SS'), dyn_to_value(ARRAY[10, 9, 10], 'NS'), dyn_to_value(ARRAY['\x01', '\x00']::bytea[], 'BS'),
	dyn_to_value('{}'::text[], 'SS') IS NULL AS absent;
SELECT dyn_to_value(ARRAY['2024-05-01', '2023-05-01']::date[], 'SS'), dyn_to_value(ARRAY[true, false], 'NS'),
	dyn_to_value(ARRAY['{"a": 1}', '[2]', '3', 'null']::jsonb[]), dyn_to_value(ARRAY[1.5, 2]::float8[], 'NS');
SELECT dyn_to_value(ARRAY['a', NULL], 'SS');
SELECT dyn_to_value(ARRAY['a', ''], 'SS');
SELECT dyn_to_value(ARRAY[['a'], ['b']], 'SS');
SELECT dyn_to_value(ARRAY[['1'], ['2']]::jsonb[]);
SELECT dyn_to_value(ARRAY['NaN', 1]::float8[]);
-- types with nothing of their own, enums, domains: as they print
CREATE TYPE mood AS ENUM ('good', 'bad');
CREATE DOMAIN positive AS integer CHECK (VALUE > 0);
CREATE DOMAIN moods AS mood[];
SELECT dyn_to_value('10.0.0.0/8'::cidr), dyn_to_value('[1,5)'::int4range), dyn_to_value('1 day 02:03:04'::interval), dyn_to_value('12:30'::time),
	dyn_to_value('[2024-05-01 00:00:00+00,)'::tstzrange), dyn_to_value(0.30000000000000004::float8, 'S'), dyn_to_value('good'::mood), dyn_to_value(5::positive),
	dyn_to_value('{good,bad}'::moods), dyn_to_value('{good,bad}'::moods, 'SS'), dyn_to_value(row(1, 'a')::record::text);
SELECT dyn_to_value(NULL::int), dyn_to_value(1, NULL);
SELECT dyn_to_value(1, 'S integer'), dyn_to_value(1::positive, 'N integer');
SELECT dyn_to_value(1, 'N text');
SELECT dyn_to_value(1, 'N bigint');
SELECT dyn_to_value('a'::text, 'N');
SELECT dyn_to_value('a'::text, 'NULL');
SELECT dyn_to_value(v, t) FROM (VALUES (1, 'N'), (2, 'S'), (3, NULL)) x(v, t);

-- And back, by attribute(): there and back nothing changes, whatever the settings.
CREATE FUNCTION again(value anyelement, type text) RETURNS anyelement LANGUAGE sql AS
	$$ SELECT dynamo_internal.attribute(('{"v":' || dyn_to_value(value, type)::text || '}')::dyn_item, 'v', type, value) $$;
SELECT bool_and(v = again(v, t)) FROM unnest(ARRAY[0, -1, 32767, -32768]::smallint[]) v, unnest(ARRAY['N', 'S']) t;
SELECT bool_and(v = again(v, t)) FROM unnest(ARRAY[0, 2147483647, -2147483648]) v, unnest(ARRAY['N', 'S']) t;
SELECT bool_and(v = again(v, t)) FROM unnest(ARRAY[9223372036854775807, -9223372036854775808, 1000000000000]) v, unnest(ARRAY['N', 'S']) t;
SELECT bool_and(v = again(v, t)) FROM unnest(ARRAY[0, -1.50, 1e125, 1e-130]::numeric[]) v, unnest(ARRAY['N', 'S']) t;
SELECT bool_and(v = again(v, t)) FROM unnest(ARRAY[0.1, -1e-5, 0.30000000000000004, 1e22]::float8[]) v, unnest(ARRAY['N', 'S']) t;
SELECT bool_and(v = again(v, t)) FROM unnest(ARRAY[0.1, -1e-5, 16777217]::float4[]) v, unnest(ARRAY['N', 'S']) t;
SELECT bool_and(v = again(v, t)) FROM unnest(ARRAY[true, false]) v, unnest(ARRAY['BOOL', 'N', 'S']) t;
SELECT bool_and(v = again(v, t)) FROM unnest(ARRAY['2024-05-01 10:20:30.123456+00', '0001-01-01 00:00:00+00', '9999-12-31 23:59:59.999999+00',
	'1969-12-31 23:59:59.5+00']::timestamptz[]) v, unnest(ARRAY['S', 'N']) t;
SELECT bool_and(v = again(v, t)) FROM unnest(ARRAY['2024-05-01 10:20:30.123456', '0001-01-01', '1969-12-31 23:59:59.5']::timestamp[]) v,
	unnest(ARRAY['S', 'N']) t;
SELECT bool_and(v = again(v, t)) FROM unnest(ARRAY['2024-02-29', '0001-01-01', '9999-12-31']::date[]) v, unnest(ARRAY['S', 'N']) t;
SELECT again('a'::text, 'S'), again('x '::char(4), 'S') = 'x', again('\x00ff'::bytea, 'B') = '\x00ff', again('\x00ff'::bytea, 'S') = '\x00ff',
	again('0123abcd-4567-89ef-0123-456789abcdef'::uuid, 'S');
SELECT again('{"a": [1, null], "b": {}}'::jsonb, 'M'), again('[1, [2]]'::jsonb, 'L'), again('{"a":  1}'::json, 'M'), again('{"a":  1}'::json, 'S'),
	again('"x"'::jsonb, 'S');
SELECT again(ARRAY[1, NULL, 3], 'L'), again(ARRAY[[1, 2], [3, 4]], 'L'), again('{}'::int[], 'L'), again(ARRAY['b', 'a'], 'SS'), again(ARRAY[3, 20], 'NS'),
	again(ARRAY['{"a": 1}', '[2]']::jsonb[], 'L');
SELECT again('10.0.0.0/8'::cidr, 'S'), again('-1 day 02:03:04'::interval, 'S') = '-1 day 02:03:04', again('[2024-05-01 00:00:00+00,)'::tstzrange, 'S') =
	'[2024-05-01 00:00:00+00,)', again('bad'::mood, 'S'), again(5::positive, 'N');
-- timestamps that others have written
SELECT t, dynamo_internal.attribute(jsonb_build_object('v', t), 'v', 'S', NULL::timestamptz) AT TIME ZONE 'UTC' AS utc
	FROM unnest(ARRAY['2024-05-01', '2024-05-01 10:20', '2024-05-01T10:20:30', '2024-05-01T10:20:30.5+02:00', '2024-05-01T10:20:30-0130',
	'2024-05-01T10:20:30.123456789Z', '2024-05-01T10:20:30+05', '2024-02-30', '2024-05-01T24:00:00Z', '2024-05-01T10:20:30ZZ', '2024-05-01T', 'May 1 2024',
	'0000-01-01', '2024-05-01T10:20:30+99:00', 'infinity', '']) t;
SELECT dynamo_internal.attribute('{"v":{"S":"2024-05-01T10:20:30.987654Z"}}', 'v', 'S', NULL::timestamptz) AT TIME ZONE 'UTC',
	dynamo_internal.attribute('{"v":{"S":"2024-05-01T10:20:30+02:00"}}', 'v', 'S', NULL::timestamp),
	dynamo_internal.attribute('{"v":{"S":"2024-05-01T10:20:30Z"}}', 'v', 'S', NULL::timestamp);
-- what is not of the type is NULL, and no error
SELECT dynamo_internal.attribute(v, 'v', 'N', NULL::smallint) AS i2, dynamo_internal.attribute(v, 'v', 'N', NULL::integer) AS i4,
	dynamo_internal.attribute(v, 'v', 'N', NULL::bigint) AS i8, dynamo_internal.attribute(v, 'v', 'N', NULL::numeric) AS n,
	dynamo_internal.attribute(v, 'v', 'N', NULL::real) AS r,
	dynamo_internal.attribute(v, 'v', 'N', NULL::boolean) AS b, dynamo_internal.attribute(v, 'v', 'N', NULL::timestamptz) AT TIME ZONE 'UTC' AS ts,
		dynamo_internal.attribute(v, 'v', 'N', NULL::positive) AS pos
	FROM unnest(ARRAY['{"v":{"N":"1"}}', '{"v":{"N":"1.5"}}', '{"v":{"N":"999.994"}}', '{"v":{"N":"999.995"}}', '{"v":{"N":"40000"}}', '{"v":{"N":"3e9"}}',
		'{"v":{"N":"1e19"}}', '{"v":{"N":"1e100"}}', '{"v":{"N":"-1e-100"}}', '{"v":{"S":"1"}}', '{"v":{"NULL":true}}', '{}']::dyn_item[]) v;
SELECT dynamo_internal.attribute(v, 'v', 'S', NULL::text) AS t, dynamo_internal.attribute(v, 'v', 'S', NULL::varchar) AS vc,
	dynamo_internal.attribute(v, 'v', 'S', NULL::uuid) AS u, dynamo_internal.attribute(v, 'v', 'S', NULL::bytea) AS b,
	dynamo_internal.attribute(v, 'v', 'S', NULL::mood) AS m,
	dynamo_internal.attribute(v, 'v', 'S', NULL::inet) AS i, dynamo_internal.attribute(v, 'v', 'S', NULL::jsonb) AS j,
		dynamo_internal.attribute(v, 'v', 'S', NULL::integer) AS n, dynamo_internal.attribute(v, 'v', 'S', NULL::boolean) AS bool
	FROM unnest(ARRAY['{"v":{"S":"1"}}', '{"v":{"S":"äöü"}}', '{"v":{"S":"a\u0000b"}}', '{"v":{"S":"true"}}', '{"v":{"S":"10.0.0.1"}}', '{"v":{"S":"good"}}',
		'{"v":{"S":"Zz=="}}', '{"v":{"S":"0123abcd-4567-89ef-0123-456789abcdeg"}}', '{"v":{"S":""}}']::dyn_item[]) v;
SELECT dynamo_internal.attribute(v, 'v', 'L', NULL::integer[]) AS ints, dynamo_internal.attribute(v, 'v', 'L', NULL::jsonb) AS l,
	dynamo_internal.attribute(v, 'v', 'M', NULL::jsonb) AS m, dynamo_internal.attribute(v, 'v', 'SS', NULL::mood[]) AS moods
	FROM unnest(ARRAY['{"v":{"L":[]}}', '{"v":{"L":[{"N":"1"},{"S":"x"}]}}', '{"v":{"L":[{"L":[{"N":"1"}]},{"L":[{"N":"1"},{"N":"2"}]}]}}',
		'{"v":{"L":[{"L":[{"N":"1"}]},{"N":"2"}]}}', '{"v":{"L":[{"L":[]}]}}', '{"v":{"L":[{"S":"\u0000"}]}}',
	'{"v":{"M":{"a\u0000":{"N":"1"}}}}', '{"v":{"M":{"a":{"B":"AA=="}}}}', '{"v":{"SS":["good","evil"]}}', '{"v":{"SS":["good","bad"]}}']::dyn_item[]) v;
DROP FUNCTION again;
DROP DOMAIN moods, positive;
DROP TYPE mood;
