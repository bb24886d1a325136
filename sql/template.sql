-- Key templates: what they render, what they refuse, how they are compared.
SET search_path = public, dynamo_internal;
-- M03: parts of attributes; a missing one is NULL, as an index key it is left out
SELECT render('ORG#<OrgName>', '{"OrgName":{"S":"MICROSOFT"}}'),
	render('ORG#<OrgId>#PRO#<ProjectId>', '{"OrgId":{"S":"a"},"ProjectId":{"S":"b"}}'),
	render('ORG#<OrgId>#PRO#<ProjectId>', '{"OrgId":{"S":"a"}}') AS missing;
SELECT render('ORG#<OrgName>', jsonb '{"OrgName": "MICROSOFT"}');
-- M05, M09: a leading "#", and literals of any kind
SELECT render('#METADATA#<Id>', jsonb '{"Id": "a"}'), render('a<<b>c<Id>>', jsonb '{"Id": "x"}'), render('METADATA', '{}'),
	render('→<Id>é', jsonb '{"Id": "ü"}');
-- what is in maps; a step on the way that is no map is missing
SELECT render('<Address.City>#<Address.Street.No>', jsonb '{"Address": {"City": "London", "Street": {"No": 10}}}'),
	render('<Address.City>', jsonb '{"Address": "London"}'), render('<Address.City>', jsonb '{"Address": {}}');

-- M22: padded numbers sort by value, and refuse what does not fit
SELECT i, k FROM unnest(ARRAY[1, 2, 10, 99999, 0]) i, render('READING#<N:05>', jsonb_build_object('N', i)) k ORDER BY k COLLATE "C";
SELECT render('parrot:words:<N:06>', jsonb_build_object('N', i)) FROM unnest(ARRAY[3, 101, 201]) i;
SELECT render('READING#<N:05>', jsonb '{"N": 100000}');
SELECT render('READING#<N:01>', jsonb '{"N": 10}');
SELECT render('READING#<N:05>', jsonb '{"N": -1}');
SELECT render('READING#<N:05>', jsonb '{"N": 1.5}');
SELECT render('READING#<N:05>', jsonb '{"N": "1"}');
SELECT render('READING#<N:038>', jsonb '{"N": 99999999999999999999999999999999999999}');
SELECT render('READING#<N:05>', jsonb '{"N": 1e100}');
-- the difference, so that ascending keys are descending numbers
SELECT i, k FROM unnest(ARRAY[1, 2, 10, 11, 100]) i, render('READING#<N:-05>', jsonb_build_object('N', i)) k ORDER BY k COLLATE "C";
SELECT render('ISSUE#OPEN#<N:-08>', jsonb '{"N": 99999999}'), render('ISSUE#OPEN#<N:-08>', jsonb '{"N": 0}');
SELECT render('READING#<N:-05>', jsonb '{"N": 100000}');

-- upper and lower case
SELECT render('<Name:upper>#<Name:lower>', jsonb '{"Name": "DeBrie"}');
SELECT render('<Name:upper>', jsonb '{"Name": 1}');
SELECT render('<Name:upper>', '{"Name":{"S":"a\u0000b"}}');
-- M24: the beginning of a timestamp, of text and of seconds
SELECT u, render('<At:' || u || '>', jsonb '{"At": "2024-05-01T10:20:30.123456Z"}'), render('<At:' || u || '>', jsonb '{"At": 1714558830.9}')
	FROM unnest(ARRAY['year', 'month', 'day', 'hour', 'minute', 'second']) u;
SELECT render('<At:day>', jsonb '{"At": "2024-05-01"}'), render('<At:month>', jsonb '{"At": "2024-05"}'),
	render('<At:second>', jsonb '{"At": "2024-05-01T10:20:30"}'),
	render('<At:minute>', jsonb '{"At": "2024-05-01T10:20Z"}');
SELECT render('<At:second>', jsonb '{"At": -0.5}'), render('<At:second>', jsonb '{"At": -62135596800}'),
	render('<At:second>', jsonb '{"At": 253402300799}');
-- all the days of four centuries, as the server counts them
SELECT count(*) FROM generate_series(timestamp '1803-01-01', '2203-12-31', '1 day') d
	WHERE render('<At:day>', jsonb_build_object('At', extract(epoch FROM d))) <> to_char(d, 'YYYY-MM-DD');
SELECT render('<At:hour>', jsonb '{"At": "2024-05-01"}');
SELECT render('<At:day>', jsonb '{"At": "2024-05-01T10:20:30+02:00"}');
SELECT render('<At:day>', jsonb '{"At": "2024-13-01"}');
SELECT render('<At:day>', jsonb '{"At": "2024-05-0"}');
SELECT render('<At:day>', jsonb '{"At": "May 1"}');
SELECT render('<At:day>', jsonb '{"At": "2024-05-01T10:20:30.Z"}');
SELECT render('<At:day>', jsonb '{"At": -62135596801}');
SELECT render('<At:day>', jsonb '{"At": 1e20}');
SELECT render('<At:day>', jsonb '{"At": true}');

-- a part may not hold what divides it from others, but for a "-" before the last one
SELECT render('QUOTA-<Quarter>', jsonb '{"Quarter": "2024-Q1"}'), render('QUOTA-<Quarter:upper>', jsonb '{"Quarter": "-q1-"}'),
	render('BALANCE-<N>', jsonb '{"N": -5}'), render('<Year>-<Rest>', jsonb '{"Year": 2024, "Rest": "05-01"}');
SELECT render('<Year>-<Rest>', jsonb '{"Year": "2024-05", "Rest": "01"}');
SELECT render('QUOTA-<Quarter>-', jsonb '{"Quarter": "2024-Q1"}');
-- the text of a number
SELECT render('<N:text>', jsonb '{"N": 5}'), render('<N:text>', jsonb '{"N": true}'), render('<N:text>', jsonb '{"N": "a-#"}');
SELECT render('ORG#<OrgId>', jsonb '{"OrgId": "1#PRO#2"}');
SELECT render('<State>#<City>#<Zip>', jsonb '{"State": "NE", "City": "A#B", "Zip": "1"}');
SELECT render('<City>#', jsonb '{"City": "A#B"}');
SELECT render('ORG#<OrgId>', jsonb '{"OrgId": ""}');
SELECT render('ORG#<OrgId>', '{"OrgId":{"B":"AA=="}}');
SELECT render('ORG#<A.Bee>', jsonb '{"A": {"Bee": [1]}}');
SELECT render('<Country>:<City>', jsonb '{"Country": "UK", "City": "New York/#1"}') AS other_punctuation;
-- letters between two parts: the first may not hold what could be taken for them
SELECT render('<Kind>REACTION#<Owner>', jsonb '{"Kind": "ISSUE", "Owner": "o"}'),
	render('<Kind>REACTION#<Owner>', jsonb '{"Kind": "REACTIONRE", "Owner": "o"}');
SELECT render('<Kind>REACTION#<Owner>', jsonb '{"Kind": "REACTION#", "Owner": "o"}');
SELECT render('<A>aa<B>', jsonb '{"A": "xa", "B": "o"}');
SELECT render('<A>.<B>', jsonb '{"A": 1.5, "B": 2}');
SELECT render('<A>x<B>', jsonb '{"A": -1.5, "B": 20}');
SELECT render('ORG#<OrgId>', '{"OrgId":{"S":"a\u0000b"}}');

-- what is no template
SELECT render('', '{}');
SELECT render('<', '{}');
SELECT render('a<b', '{}');
SELECT render('<>', '{}');
SELECT render('<a.>', '{}');
SELECT render('<.a>', '{}');
SELECT render('<:05>', '{}');
SELECT render('<a:>', '{}');
SELECT render('<a:5>', '{}');
SELECT render('<a:00>', '{}');
SELECT render('<a:0>', '{}');
SELECT render('<a:039>', '{}');
SELECT render('<a:0x>', '{}');
SELECT render('<a:->', '{}');
SELECT render('<a:-0>', '{}');
SELECT render('<a:Upper>', '{}');
SELECT render('<a:upper,05>', '{}');
SELECT render('<a><b>', '{}');
SELECT render(NULL, '{}'), render('a', NULL);

-- a template is no longer than keys and names need
SELECT length(render(repeat('x', 4096), '{}'));
SELECT render(repeat('x', 4097), '{}');
SELECT render(repeat('<a>x', 1000000), '{}');

-- Whatever is rendered can be read back in one way only, and is recognised: all short strings of letters that templates
-- have in them, in two attributes.
CREATE FUNCTION try_render(template text, vals dyn_item) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN render(template, vals);
EXCEPTION WHEN SQLSTATE 'YD001' THEN
	RETURN NULL;
END $$;
CREATE TEMP TABLE strings AS WITH RECURSIVE s(s) AS (SELECT '' UNION ALL SELECT s || c FROM s, unnest(ARRAY['a', 'R', '#']) c WHERE length(s) < 4) SELECT s
	FROM s;
CREATE TEMP TABLE rendered AS SELECT t, a.s AS a, b.s AS b, r FROM unnest(ARRAY['<A>#<B>', '#<A>##<B>', '<A>R<B>', '<A>aR<B>', '<A>aa<B>', 'R<A>a#<B>a',
	'#<A>R#<B>']) t, strings a, strings b,
	try_render(t, jsonb_build_object('A', a.s, 'B', b.s)) r WHERE length(a.s) < 4 AND length(b.s) < 3 AND r IS NOT NULL;
SELECT t, count(*), count(*) = count(DISTINCT r) AS injective FROM rendered GROUP BY t ORDER BY t COLLATE "C";
SELECT dyn_create_table('forms', 'PK S');
SELECT dyn_create_entity('forms', 'E', '{"PK": "#<A>##<B>"}', '{"A": "S", "B": "S"}', NULL);
SELECT count(*), count(*) FILTER (WHERE dyn_entity_attributes('forms', jsonb_build_object('PK', r)) IS NULL) AS not_recognised FROM rendered WHERE t =
	'#<A>##<B>';
SELECT count(*), count(*) FILTER (WHERE dyn_entity_attributes('forms', jsonb_build_object('PK', x)) IS NOT NULL) AS recognised
	FROM (SELECT a.s || b.s AS x FROM strings a, strings b UNION SELECT s FROM strings) x WHERE x NOT IN (SELECT r FROM rendered WHERE t = '#<A>##<B>')
		AND length(x) < 6;
DROP TABLE forms, rendered, strings;
DROP FUNCTION try_render;

-- a key that is a string, of a number or a boolean alone
SELECT dyn_create_table('shards', 'pk S', 'sk N', global_indexes => '{"GSI1": {"partition_key": "g S", "sort_key": "sk N"}}');
SELECT dyn_create_entity('shards', 'Order', '{"pk": "<Paid>", "sk": "<Id>", "g": "<Bucket>"}',
	'{"Id": "N integer", "Bucket": "N integer", "Paid": "BOOL"}'::jsonb);
SELECT keys FROM dyn_entities('shards');
SELECT dyn_create_entity('shards', 'Order', '{"pk": "<Paid>", "sk": "<Id>", "g": "<Bucket>"}',
	'{"Id": "N integer", "Bucket": "N integer", "Paid": "BOOL"}'::jsonb,
	if_not_exists => true);
SELECT count(dyn_put_entity('shards', 'Order', jsonb_build_object('Id', i, 'Bucket', i % 10, 'Paid', i % 2 = 0))) FROM generate_series(1, 25) i;
SELECT item FROM shards WHERE pk = 'true' AND sk = 14;
SELECT string_agg(i ->> 'Id', ' ') FROM dyn_query('shards', 'g = :g', 'GSI1', vals => '{":g": {"S": "4"}}') i;
SELECT dyn_create_entity_view('shards', 'Order');
SELECT * FROM "Order" WHERE "Paid" AND "Id" = 14;
SELECT count(*) FROM "Order" WHERE "Bucket" > 4;
SELECT dyn_enforce_entities('shards');
UPDATE "Order" SET "Bucket" = 11 WHERE "Id" = 14;
SELECT item ->> 'g' FROM shards WHERE sk = 14;
SELECT dyn_put('shards', '{"pk": "true", "sk": 50, "Id": 50, "Paid": true, "Bucket": 1, "g": "2", "Type": "Order"}'::jsonb);
DROP TABLE shards CASCADE;
