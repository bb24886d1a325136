-- Projections: docs/semantics.md, J02 to J08, P08, P09, P24.
\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set fixture :abs_srcdir '/test/expr/fixture.sql'
\i :fixture
\set ECHO all
-- J02: only what is listed; none of it is an item without attributes
SELECT project('n'), project('nope'), project('nope', '{}'), dyn_project(NULL, 'n') IS NULL AS "no item", dyn_project(bx(), NULL) IS NULL AS "no projection";

-- J03, P11: attributes, map steps, list indexes
\x
SELECT project('n, m.q.c, l[0]'), project('l[2].k'), project('#n,#m.#q'), project('b,t,z,ss,ns,bs,el,em');
\x

-- J04: structure stays, picks merge, list elements close up in their own order
\x
SELECT project('l[2].k, l[0]'), project('m.q.c, m.a'), project('m.q, l[1], m.a'), project('l[2], l[1], l[0]');
\x
SELECT dyn_project('{"a":{"M":{"b":{"L":[{"N":"0"},{"N":"1"},{"M":{"x":{"N":"2"},"y":{"L":[{"N":"3"},{"N":"4"}]}}}]}}}}', e)
FROM unnest(ARRAY['a.b[2].y', 'a.b[2].y[1]', 'a.b[2].y[1], a.b[0]', 'a.b[2].y[1], a.b[2].x, a.b[2].y[0]', 'a.b[2].z, a.b[1]', 'a']) e;

-- J05: overlaps and conflicts, after placeholders, whatever the item
SELECT e, project(e, '{}') FROM unnest(ARRAY['a, a', 'a, a.b', 'a.b, a', 'a.b, a[0]', 'a[0], a.b', 'a[0], a[1]', 'a[0], a[0]', 'a[0], a[00]', 'a[0].b, a[0]',
	'a[0], a[0][1]', 'a.b.c, a.b.d, a.e', 'a.b.c, a.b.c.d.e',
  '#n, n', 'm.#q, m.q', 'm.#q, m', 'n, #1', '#x, a.b', 'a.b, a.b[0], c', 'a.b.c, a[1].b.c', 'z, y, x, a.b.c, a.b, w']) e;

-- J06, P24: what leads nowhere is left out, with the maps and lists around it
SELECT e, project(e) FROM unnest(ARRAY['m.nope, n', 'n.x', 'm[0]', 'l.k', 'l[3]', 'l[3], l[1]', 'l[0].k, l[2].k', 'm.q.c.d', 'm.q.nope', 'ss[0]', 's[0]',
	'em.a', 'el[0]', 'em', 'el', 'l[2].k.x, m.q.x']) e;

-- J08: syntax
SELECT e, project(e) FROM unnest(ARRAY['', ',', 'n,', ',n', 'n,,s', 'n s', 'n = n', 'n AND s', '(n)', 'size(s)', ':v', 'n, :v', 'SET n', 'n;s', '*']) e;

-- the item's own names in any number: 400 paths of 500 attributes, in no order
SELECT (SELECT count(*) FROM jsonb_object_keys(p::jsonb)) AS attributes, p->>'a7' AS a7, p ? 'a401' AS a401
FROM (SELECT dyn_project((SELECT jsonb_object_agg('a' || i, i) FROM generate_series(1, 500) i)::dyn_item,
	(SELECT string_agg('a' || (i * 7919) % 401, ',') FROM generate_series(1, 400) i)) AS p) x;
DROP SCHEMA expr CASCADE;
