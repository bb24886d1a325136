-- Indexes of users have what is in the table, whichever store writes: unique ones, ones over expressions, of a part of the rows, of any method.
\pset format unaligned
\pset tuples_only on
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS amcheck;
RESET client_min_messages;
SELECT dyn_create_table('app', 'pk S', 'sk N', global_indexes => '{"GSI1": {"partition_key": "g S"}}');
CREATE FUNCTION key(sk int) RETURNS dyn_item LANGUAGE sql RETURN jsonb_build_object('pk', 'a', 'sk', sk)::dyn_item;
CREATE FUNCTION put(sk int, VARIADIC attributes text[] DEFAULT '{}') RETURNS dyn_item LANGUAGE sql RETURN dyn_put('app',
	(key(sk)::jsonb || jsonb_object(attributes))::dyn_item);
CREATE FUNCTION set_to(sk int, attribute text, val text) RETURNS dyn_item LANGUAGE sql
	RETURN dyn_update('app', key(sk), 'SET #a = :v', names => jsonb_build_object('#a', attribute), vals => jsonb_build_object(':v', val),
		return_values => 'ALL_NEW');
CREATE FUNCTION number(item dyn_item, name text) RETURNS int IMMUTABLE LANGUAGE sql RETURN (item ->> name)::int;

-- unique: each item for itself, items of one call among each other
CREATE UNIQUE INDEX one_mail ON app ((item ->> 'mail'));
SELECT put(1, 'mail', 'ann'), put(2, 'mail', 'bob'), put(3), put(4);
SELECT put(3, 'mail', 'ann');
SELECT put(1, 'mail', 'ann', 'again', 'yes');
SELECT put(5, 'mail', 'bob');
SELECT set_to(2, 'mail', 'ann');
SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"N":"5"},"mail":{"S":"ann"}}', 'attribute_not_exists(pk)');
SELECT dyn_batch_write('app', '[{"pk":{"S":"a"},"sk":{"N":"5"},"mail":{"S":"cid"}},{"pk":{"S":"a"},"sk":{"N":"6"},"mail":{"S":"cid"}}]', NULL);
SELECT dyn_batch_write('app', '[{"pk":{"S":"a"},"sk":{"N":"2"},"mail":{"S":"ann"}},{"pk":{"S":"a"},"sk":{"N":"1"},"mail":{"S":"bob"}}]', NULL);
SELECT dyn_transact('[{"Delete": {"TableName": "app", "Key": {"pk":{"S":"a"},"sk":{"N":"1"}}}}, {"Put": {"TableName": "app",
	"Item": {"pk":{"S":"a"},"sk":{"N":"7"},"mail":{"S":"ann"}}}}]');
SELECT dyn_transact('[{"Delete": {"TableName": "app", "Key": {"pk":{"S":"a"},"sk":{"N":"7"}}}}, {"Put": {"TableName": "app",
	"Item": {"pk":{"S":"a"},"sk":{"N":"1"},"mail":{"S":"ann"}}}}]');
SELECT * FROM dyn_import_lines('app', e'{"pk":{"S":"a"},"sk":{"N":"8"},"mail":{"S":"dan"}}\n{"pk":{"S":"a"},"sk":{"N":"9"},"mail":{"S":"bob"}}',
	on_error => 'skip');
SELECT item FROM app ORDER BY sk;
-- NULLs that are equal, and a part of the rows
CREATE UNIQUE INDEX one_without ON app (pk, (item ->> 'side')) NULLS NOT DISTINCT WHERE sk < 2;
SELECT put(0);
SELECT put(0, 'side', 'left');
SELECT dyn_update('app', key(0), 'REMOVE side');
SELECT put(7), put(8);
DROP INDEX one_without, one_mail;
-- deferred
ALTER TABLE app ADD CONSTRAINT one_g UNIQUE (g) DEFERRABLE INITIALLY DEFERRED;
SELECT put(1, 'g', 'x'), put(2, 'g', 'y');
SELECT put(3, 'g', 'x');
BEGIN;
SELECT put(1, 'g', 'y');
SELECT put(2, 'g', 'x');
COMMIT;
SELECT dyn_transact('[{"Put": {"TableName": "app", "Item": {"pk":{"S":"a"},"sk":{"N":"1"},"g":{"S":"x"}}}}, {"Put": {"TableName": "app",
	"Item": {"pk":{"S":"a"},"sk":{"N":"2"},"g":{"S":"y"}}}}]');
BEGIN;
SELECT put(3, 'g', 'x');
SET CONSTRAINTS one_g IMMEDIATE;
COMMIT;
BEGIN;
SET CONSTRAINTS one_g IMMEDIATE;
SELECT put(3, 'g', 'x');
COMMIT;
ALTER TABLE app DROP CONSTRAINT one_g;
-- with columns beside the key
CREATE UNIQUE INDEX with_more ON app (g) INCLUDE (sk, item);
SELECT put(3, 'g', 'x');
SELECT put(1, 'g', 'z', 'note', 'in the index');
SELECT dyn_update('app', key(1), 'SET note = :n', vals => '{":n":{"S":"changed"}}', return_values => 'ALL_NEW');
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT item FROM app WHERE g = 'z';
DROP INDEX with_more;
DELETE FROM app;

-- expressions, parts of the rows, other methods; each is asked alone
CREATE INDEX by_n ON app (number(item, 'n'));
CREATE INDEX low ON app (pk, sk DESC) INCLUDE (g) WHERE number(item, 'n') < 5;
CREATE INDEX by_hash ON app USING hash ((item ->> 'mail'));
CREATE INDEX by_word ON app USING gin (string_to_array(item ->> 'note', ' '));
CREATE INDEX by_range ON app USING gist (int4range(number(item, 'n'), number(item, 'n') + 2));
CREATE INDEX by_block ON app USING brin (sk);
RESET enable_bitmapscan;
SELECT put(1, 'n', '1', 'mail', 'ann', 'note', 'red green', 'g', 'x'), put(2, 'n', '7', 'mail', 'bob', 'note', 'blue', 'g', 'y'), put(3);
SELECT put(1, 'n', '8', 'mail', 'bob', 'note', 'blue red', 'g', 'x');
SELECT set_to(2, 'n', '2'), set_to(3, 'note', 'red');
SELECT dyn_batch_write('app', '[{"pk":{"S":"a"},"sk":{"N":"4"},"n":{"N":"3"},"note":{"S":"green"}},
	{"pk":{"S":"a"},"sk":{"N":"5"},"n":{"N":"9"},"mail":{"S":"ann"}}]', '[{"pk":{"S":"a"},"sk":{"N":"3"}}]');
SELECT set_to(5, 'n', 'none');
CREATE FUNCTION found() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT 'by_n ' || string_agg(sk || ':' || number(item, 'n'), ' ' ORDER BY sk) FROM app WHERE number(item, 'n') > 0
	UNION ALL SELECT 'low ' || string_agg(concat(sk, g), ' ' ORDER BY sk) FROM app WHERE number(item, 'n') < 5 AND pk = 'a'
	UNION ALL SELECT 'by_hash ' || string_agg(sk::text, ' ' ORDER BY sk) FROM app WHERE item ->> 'mail' = 'ann'
	UNION ALL SELECT 'by_word ' || string_agg(sk::text, ' ' ORDER BY sk) FROM app WHERE string_to_array(item ->> 'note', ' ') @> '{red}'
	UNION ALL SELECT 'by_range ' || string_agg(sk::text, ' ' ORDER BY sk) FROM app WHERE int4range(number(item, 'n'), number(item, 'n') + 2) @> 4
	UNION ALL SELECT 'by_block ' || string_agg(sk::text, ' ' ORDER BY sk) FROM app WHERE sk BETWEEN 2 AND 4 $$;
SELECT found();
RESET enable_seqscan;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_bitmapscan = off;
SELECT found();
RESET enable_indexscan;
RESET enable_indexonlyscan;
RESET enable_bitmapscan;
SELECT bt_index_check(c.oid, true) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam WHERE i.indrelid = 'app'::regclass
	AND a.amname = 'btree';
-- an expression that fails refuses the write
CREATE INDEX fails ON app ((1 / nullif(number(item, 'n'), 1)));
SELECT put(6, 'n', '0');
SELECT put(6, 'n', '1');
SELECT dyn_update('app', key(6), 'SET n = :v', vals => '{":v":{"N":"0"}}');
DROP INDEX fails;

-- an update of nothing that an index looks at is HOT
DROP INDEX by_n, low, by_hash, by_word, by_range, by_block;
CREATE INDEX by_sk ON app (sk) INCLUDE (g);
VACUUM app;
BEGIN;
SELECT pg_stat_get_xact_tuples_updated('app'::regclass) AS updated, pg_stat_get_xact_tuples_hot_updated('app'::regclass) AS hot \gset
SELECT set_to(1, 'note', 'hot'), set_to(2, 'g', 'not hot');
SELECT pg_stat_get_xact_tuples_updated('app'::regclass) - :updated, pg_stat_get_xact_tuples_hot_updated('app'::regclass) - :hot;
COMMIT;

DROP TABLE app;
DROP FUNCTION key, put, set_to, number, found;
