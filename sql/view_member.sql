-- Items that are of an entity or not, one after the other, with attributes at other places in each.
\pset format unaligned
\pset tuples_only on
SELECT dyn_create_table('member', 'pk S', 'sk S');
SELECT dyn_create_entity('member', 'E', '{"pk": "E#<m>-<n:03>", "sk": [{"when": {"x": "y"}, "template": "<t.city:upper>#<m>"}, {"template": "#<n>"}]}',
	'{"m": "S", "n": "N integer", "t": "M", "x": "S"}');
SELECT dyn_create_entity('member', 'Exact', '{"pk": "D#<d>", "sk": "<u>"}', '{"u": "S uuid", "d": "S date"}');
SELECT dyn_create_entity_view('member', 'E', 'member_e'), dyn_create_entity_view('member', 'Exact', 'member_exact');
-- before, between and behind those that matter there are others
CREATE TABLE member_items AS SELECT i, fits, ((jsonb_build_object('m', 'a' || i, 'n', i, 'Type', CASE WHEN fits = 1 THEN 'e' ELSE 'E' END, 'pk',
	format('E#a%s-%s', i + (fits = 2)::int, lpad(i::text, 3, '0')))
		|| CASE WHEN i % 3 = 0 THEN jsonb_build_object('x', 'y', 't', '{"a": 1, "city": "b"}'::jsonb, 'sk', 'B#a' || i || repeat('x', (fits = 3)::int))
			ELSE jsonb_build_object('sk', '#' || i || repeat('x', (fits = 3)::int)) END
		|| CASE WHEN i % 2 = 0 THEN '{"A": 1, "M": 2, "o": 3, "z": 4}' ELSE '{}' END::jsonb || CASE WHEN i % 5 = 0 THEN '{"l": 1, "nn": 2, "pj": 3, "ww": 3}'
			ELSE '{}'::jsonb END
		) - CASE WHEN fits = 4 THEN 'm' ELSE '' END)::dyn_item AS item FROM generate_series(1, 200) i,
			LATERAL (SELECT CASE WHEN i % 7 = 0 THEN i % 5 ELSE 0 END AS fits) f;
INSERT INTO member (item) SELECT item FROM member_items ORDER BY i;
INSERT INTO member (item) VALUES ('{"pk":{"S":"D#2024-01-01"},"sk":{"S":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"},"Type":{"S":"Exact"},"d":{"S":"2024-01-01"},
	"u":{"S":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}}'),
	('{"pk":{"S":"D#20240101"},"sk":{"S":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"},"Type":{"S":"Exact"},"a":{"N":"1"},"d":{"S":"20240101"},
		"u":{"S":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}}'),
	('{"pk":{"S":"D#2024-01-01"},"sk":{"S":"A0EEBC99-9c0b-4ef8-bb6d-6bb9bd380a11"},"Type":{"S":"Exact"},"d":{"S":"2024-01-01"},"e":{"N":"1"},
		"u":{"S":"A0EEBC99-9c0b-4ef8-bb6d-6bb9bd380a11"}}'),
	('{"pk":{"S":"D#2024-01-02"},"sk":{"S":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"},"Type":{"S":"Exact"},"a":{"N":"1"},"b":{"N":"1"},"d":{"S":"2024-01-02"},
		"u":{"S":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}}');
SET enable_indexscan = off;
SET enable_bitmapscan = off;
SELECT count(*), sum(n) FROM member_e;
SELECT count(*), sum(i) FROM member_items WHERE fits = 0;
SELECT * FROM (SELECT n FROM member_e EXCEPT SELECT i FROM member_items WHERE fits = 0) a;
SELECT * FROM (SELECT i FROM member_items WHERE fits = 0 EXCEPT SELECT n FROM member_e) a;
SELECT * FROM member_exact ORDER BY d;
-- names that are no constants, and change from row to row
SELECT count(*), count(*) FILTER (WHERE v = item ->> name) FROM (SELECT item, name, dynamo_internal.attribute(item, name, 'S', NULL::text) AS v FROM member,
	(VALUES ('m'), ('pk'), ('x'), ('Type')) n (name)) s WHERE v IS NOT NULL;
RESET enable_indexscan;
RESET enable_bitmapscan;
DROP TABLE member, member_items CASCADE;
