-- Conditions and updates through the functions: docs/semantics.md, W09 to W21, C01 to C03, C38 to C44, K18, R05 to R12, U35 to U38.
-- (What expressions mean is tested in expr_*.sql.)
SELECT dyn_create_table('tab', 'p S', 'sk S');
CREATE FUNCTION key(p text, sk text DEFAULT 'a') RETURNS dyn_item LANGUAGE sql IMMUTABLE AS $$ SELECT jsonb_build_object('p', p, 'sk', sk)::dyn_item $$;
CREATE FUNCTION state() RETURNS SETOF dyn_item LANGUAGE sql AS $$ SELECT item FROM tab ORDER BY p, sk $$;
-- an error with all its parts
CREATE FUNCTION why(call text, OUT state text, OUT message text, OUT detail text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'SELECT ' || call;
	message := 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
END $$;

-- W09, C18, C19, C38 put if it is not there; the condition sees the item of the full key
SELECT dyn_put('tab', '{"p":{"S":"u"},"sk":{"S":"a"},"n":{"N":"1"}}', 'attribute_not_exists(p)');
SELECT (why($$dyn_put('tab', '{"p":{"S":"u"},"sk":{"S":"a"},"n":{"N":"2"}}', 'attribute_not_exists(p)')$$)).*;
SELECT dyn_put('tab', '{"p":{"S":"u"},"sk":{"S":"b"},"n":{"N":"2"}}', 'attribute_not_exists(p)');
SELECT dyn_put('tab', '{"p":{"S":"u"},"sk":{"S":"b"},"n":{"N":"3"}}', 'n = :two', vals => '{":two":{"N":"2.0"}}', return_values => 'ALL_OLD');
SELECT (why($$dyn_put('tab', '{"p":{"S":"new"},"sk":{"S":"b"}}', 'n = :two', vals => '{":two":{"N":"2"}}')$$)).*;
SELECT state();
-- C02, W17, W18, C44 a failed condition changes nothing and has a code of its own; the item on request
SELECT (why($$dyn_put('tab', '{"p":{"S":"u"},"sk":{"S":"a"}}', 'n > :n', vals => '{":n":{"N":"5"}}',
	return_values_on_condition_check_failure => 'ALL_OLD')$$)).*;
SELECT (why($$dyn_put('tab', '{"p":{"S":"none"},"sk":{"S":"a"}}', 'n > :n', vals => '{":n":{"N":"5"}}',
	return_values_on_condition_check_failure => 'ALL_OLD')$$)).*;
SELECT (why($$dyn_delete('tab', key('u'), 'n > :n', vals => '{":n":{"N":"5"}}', return_values_on_condition_check_failure => 'ALL_OLD')$$)).*;
SELECT (why($$dyn_update('tab', key('u'), 'SET n = :n', 'n > :n', vals => '{":n":{"N":"5"}}', return_values_on_condition_check_failure => 'ALL_OLD')$$)).*;
SELECT (why($$dyn_put('tab', '{"p":{"S":"u"},"sk":{"S":"a"}}', 'n > :n', vals => '{":n":{"N":"5"}}',
	return_values_on_condition_check_failure => 'UPDATED_OLD')$$)).*;
SELECT dyn_error_name('YD002');
SELECT state();

-- W10, W11 update creates or changes; W12 without an expression; W13 what only removes creates nothing
SELECT dyn_update('tab', key('k'), 'SET a = :a', vals => '{":a":{"N":"1"}}', return_values => 'ALL_NEW');
SELECT dyn_update('tab', key('k'), 'SET b = :a', vals => '{":a":{"N":"2"}}', return_values => 'ALL_NEW');
SELECT dyn_update('tab', key('k2'), return_values => 'ALL_NEW'), dyn_update('tab', key('k2'), return_values => 'ALL_OLD'),
	dyn_update('tab', key('k'), return_values => 'ALL_NEW');
SELECT dyn_update('tab', key('k3'), 'REMOVE a', return_values => 'ALL_NEW'),
	dyn_update('tab', key('k3'), 'DELETE ss :s', vals => '{":s":{"SS":["x"]}}', return_values => 'ALL_OLD'), dyn_get('tab', key('k3'));
SELECT dyn_update('tab', key('k4'), 'ADD c :n', vals => '{":n":{"N":"7"}}', return_values => 'UPDATED_NEW');
SELECT (why($$dyn_update('tab', key('k5'), 'SET a = :a', 'attribute_exists(p)', vals => '{":a":{"N":"1"}}')$$)).*;
SELECT dyn_update('tab', key('k5'), NULL, 'attribute_not_exists(p)') IS NULL AS created;
SELECT (why($$dyn_update('tab', key('k5'), NULL, 'attribute_not_exists(p)')$$)).*;
SELECT state();

-- R05 to R11
SELECT dyn_put('tab', '{"p":{"S":"r"},"sk":{"S":"a"},"b":{"S":"dog"},"n":{"N":"1"},"a":{"M":{"b":{"N":"1"},"c":{"L":[{"N":"1"},{"N":"2"},{"N":"3"}]}}}}');
SELECT r, dyn_update('tab', key('r'), 'SET n = n + :one, fresh = :one', vals => '{":one":{"N":"1"}}', return_values => r)
	FROM unnest(ARRAY['NONE', 'ALL_OLD', 'UPDATED_OLD', 'ALL_NEW', 'UPDATED_NEW', NULL]) r;
SELECT dyn_update('tab', key('r'), 'SET a.c[1] = :seven', vals => '{":seven":{"N":"7"}}', return_values => 'UPDATED_OLD') AS r11,
       dyn_update('tab', key('r'), 'REMOVE b', return_values => 'UPDATED_NEW') AS r10,
         dyn_update('tab', key('r'), 'SET zz = :one', vals => '{":one":{"N":"1"}}', return_values => 'UPDATED_OLD') AS r09;
SELECT (why($$dyn_update('tab', key('r'), 'REMOVE b', return_values => 'all_new')$$)).*;
SELECT (why($$dyn_put('tab', key('r'), return_values => 'ALL_NEW')$$)).*;

-- W15 delete with a condition
SELECT (why($$dyn_delete('tab', key('nope'), 'attribute_exists(p)')$$)).*;
SELECT dyn_delete('tab', key('nope'), 'attribute_not_exists(p)', return_values => 'ALL_OLD') IS NULL AS nothing;
SELECT (why($$dyn_delete('tab', key('r'), '#o = :me', '{"#o":"owner"}', '{":me":{"S":"ada"}}')$$)).*;
SELECT dyn_delete('tab', key('r'), 'attribute_not_exists(#o)', '{"#o":"owner"}', return_values => 'ALL_OLD') ->> 'n' AS deleted;

-- W19 everything is validated before anything is read: a bad request is V even where the condition would fail
SELECT c.*, (why(c)).* FROM unnest(ARRAY[
  $$dyn_put('tab', key('u'), 'attribute_not_exists(p)', vals => '{":unused":{"S":"x"}}')$$, $$dyn_put('tab', key('u'), 'attribute_not_exists(p')$$,
  $$dyn_put('tab', key('u'), '')$$,
  $$dyn_put('tab', key('u'), 'p = :x')$$, $$dyn_put('tab', key('u'), vals => '{":x":{"S":"x"}}')$$, $$dyn_put('tab', key('u'), names => '{"#x":"x"}')$$,
  $$dyn_update('tab', key('u'), 'SET a = :x, a = :x', 'attribute_not_exists(p)', vals => '{":x":{"S":"x"}}')$$,
  $$dyn_update('tab', key('u'), 'SET', 'attribute_not_exists(p)')$$,
  $$dyn_update('tab', key('u'), 'SET a = nope', 'attribute_not_exists(p)')$$, $$dyn_delete('tab', key('u'), 'size(p)')$$,
  $$dyn_update('tab', key('nope'), 'SET #p = :url', vals => '{":url":{"S":"x"}}')$$]) c;
-- K18 keys do not change
SELECT c.*, (why(c)).* FROM unnest(ARRAY[
  $$dyn_update('tab', key('u'), 'SET sk = :x', vals => '{":x":{"S":"x"}}')$$, $$dyn_update('tab', key('u'), 'REMOVE p')$$,
  $$dyn_update('tab', key('u'), 'ADD #s :x', names => '{"#s":"sk"}', vals => '{":x":{"N":"1"}}')$$,
  $$dyn_update('tab', key('u'), 'DELETE sk :x', vals => '{":x":{"SS":["1"]}}')$$, $$dyn_update('tab', key('u'), 'SET p.x = :x', vals => '{":x":{"S":"x"}}')$$,
  $$dyn_update('tab', key('u'), 'SET copied = sk')$$,
  $$dyn_update('tab', '{"p":{"S":"u"}}', 'SET a = sk')$$, $$dyn_update('nope', key('u'), 'SET a = sk')$$, $$dyn_update(NULL, key('u'))$$,
  $$dyn_update('tab', NULL)$$]) c;
-- W20, W21 the size of what an update makes
SELECT dyn_put('tab', jsonb_build_object('p', 'big', 'sk', 'a', 'l', jsonb_build_array(repeat('x', 404000))));
SELECT (why($$dyn_update('tab', key('big'), 'SET l = list_append(l, :more)', vals => jsonb_build_object(':more', jsonb_build_array(repeat('y', 6000))))$$)).*;
SELECT dyn_size(dyn_get('tab', key('big'))), dyn_size(dyn_update('tab', key('big'), 'SET l = list_append(l, :more)',
	vals => jsonb_build_object(':more', jsonb_build_array(repeat('y', 5000))), return_values => 'ALL_NEW'));
SELECT dyn_delete('tab', key('big'));

-- an error in an update leaves the item: U10, U11
SELECT (why($$dyn_update('tab', key('u'), 'SET n = n + :x, b = :x', vals => '{":x":{"S":"x"}}')$$)).*;
SELECT (why($$dyn_update('tab', key('u'), 'SET m = nope + :x', vals => '{":x":{"N":"1"}}')$$)).*;
SELECT dyn_get('tab', key('u'));

-- U36 counters; C39 a tracker that admits three; C40 permission; C42 never below zero; C43 ownership
SELECT dyn_update('tab', key('c'), 'ADD visits :one', vals => '{":one":{"N":"1"}}', return_values => 'UPDATED_NEW') FROM generate_series(1, 3);
SELECT j, (why(format($$dyn_update('tab', key('tracker'), 'ADD jobs :job', 'attribute_not_exists(jobs) OR size(jobs) < :max',
	vals => '{":job":{"SS":["%s"]},":max":{"N":"3"}}')$$, j))).state FROM unnest(ARRAY['a', 'b', 'c', 'd']) j;
SELECT dyn_put('tab', '{"p":{"S":"org"},"sk":{"S":"a"},"Admins":{"SS":["JeffBezos","AndyJassy"]},"balance":{"N":"5"}}');
SELECT u, (why(format($$dyn_update('tab', key('org'), 'SET tier = :p', 'contains(#a, :u)', '{"#a":"Admins"}', '{":p":{"S":"pro"},":u":{"S":"%s"}}')$$,
	u))).state FROM unnest(ARRAY['JeffBezos', 'Jeff Bezos']) u;
SELECT n, (why(format($$dyn_update('tab', key('org'), 'SET balance = balance - :n', 'balance >= :n', vals => '{":n":{"N":"%s"}}')$$, n))).state
	FROM unnest(ARRAY[6, 3, 3, 2]) n;
SELECT dyn_get('tab', key('org'));
-- optimistic locking
SELECT v, (why(format($$dyn_update('tab', key('c'), 'SET v = :new', 'attribute_not_exists(v) OR v = :old', vals => '{":new":{"N":"%s"},":old":{"N":"%s"}}')$$,
	v + 1, v))).state FROM unnest(ARRAY[1, 2, 2]) v;

-- a failed condition, caught: the caller's transaction goes on
BEGIN;
INSERT INTO tab (item) VALUES ('{"p":{"S":"tx"},"sk":{"S":"a"}}');
DO $$ BEGIN PERFORM dyn_put('tab', key('tx'), 'attribute_not_exists(p)'); EXCEPTION WHEN SQLSTATE 'YD002' THEN RAISE NOTICE 'caught: %', SQLERRM; END $$;
SELECT dyn_update('tab', key('tx'), 'SET n = :n', 'attribute_exists(p)', vals => '{":n":{"N":"1"}}', return_values => 'ALL_NEW');
COMMIT;

-- an update of attributes is HOT
SELECT dyn_create_table('hot', 'p S');
SELECT count(*) FROM (SELECT dyn_put('hot', jsonb_build_object('p', i::text, 'pad', repeat('x', 200), 'n', 0)) FROM generate_series(1, 200) i) s;
SELECT count(*) FROM (SELECT dyn_update('hot', jsonb_build_object('p', (i % 200 + 1)::text), 'SET n = n + :one', vals => '{":one":{"N":"1"}}')
	FROM generate_series(1, 20) i) s;
SELECT sum((item->>'n')::int) FROM hot;

-- F01, F06 to F10: filters and projections of queries
SELECT dyn_create_table('mov', 'Actor S', 'Movie S');
SELECT count(dyn_put('mov', i)) FROM unnest(ARRAY['{"Actor":"Tom Hanks","Movie":"Cast Away","Role":"Chuck Noland","Year":2000,"Genre":"Drama"}',
	'{"Actor":"Tom Hanks","Movie":"Toy Story","Role":"Woody","Year":1995,"Genre":"Children''s"}',
  '{"Actor":"Tim Allen","Movie":"Toy Story","Role":"Buzz Lightyear","Year":1995,"Genre":"Children''s"}',
  '{"Actor":"Natalie Portman","Movie":"Black Swan","Role":"Nina Sayers","Year":2010,"Genre":"Drama"}']::jsonb[]) i;
SELECT dyn_query('mov', 'Actor = :a', vals => '{":a":{"S":"Tom Hanks"},":g":{"S":"Drama"}}', filter => 'Genre = :g') AS f01;
SELECT dyn_query('mov', 'Actor = :a', vals => '{":a":{"S":"Tom Hanks"},":g":{"S":"Drama"}}', filter => 'Genre = :g', projection => '#y',
	names => '{"#y":"Year"}') AS f07;
SELECT dyn_query('mov', 'Actor = :a', vals => '{":a":{"S":"Tom Hanks"},":g":{"S":"Drama"}}', filter => 'nope <> :g', projection => 'Movie') AS f08;
SELECT dyn_query('mov', 'Actor = :a', vals => '{":a":{"S":"Tom Hanks"}}', projection => 'nope') AS j02;
SELECT dyn_query('mov', 'Actor = :a', vals => '{":a":{"S":"Tom Hanks"},":g":{"S":"Children''s"}}', filter => 'Genre = :g', max_items => 1,
	projection => 'Movie') AS first_that_matches;
SELECT c.*, (why(c)).* FROM unnest(ARRAY[
  $$dyn_query('mov', 'Actor = :a', vals => '{":a":{"S":"T"},":m":{"S":"x"}}', filter => 'Movie = :m')$$,
  $$dyn_query('mov', 'Actor = :a', vals => '{":a":{"S":"T"}}', filter => '#y = Movie', names => '{"#y":"Year"}')$$,
  $$dyn_query('mov', 'Actor = :a', vals => '{":a":{"S":"Nobody"},":n":{"N":"1"}}', filter => 'begins_with(s, :n)')$$,
  $$dyn_query('mov', 'Actor = :a', vals => '{":a":{"S":"T"}}', filter => '')$$,
  $$dyn_query('mov', 'Actor = :a', vals => '{":a":{"S":"T"}}', projection => 'a,,b')$$,
  $$dyn_query('mov', 'Actor = :a', vals => '{":a":{"S":"T"}}', projection => 'a, a.b')$$,
  $$dyn_query('mov', 'Actor = :a', vals => '{":a":{"S":"T"}}', projection => 'Year')$$,
  $$dyn_query('mov', 'Actor = :a', vals => '{":a":{"S":"T"}}', names => '{"#x":"Year"}')$$]) c;
-- W06, J01, J02
SELECT dyn_get('mov', '{"Actor":{"S":"Tim Allen"},"Movie":{"S":"Toy Story"}}', projection => '#r, #y', names => '{"#r":"Role","#y":"Year"}'),
	dyn_get('mov', '{"Actor":{"S":"Tim Allen"},"Movie":{"S":"Toy Story"}}', projection => 'nope'),
       dyn_get('mov', '{"Actor":{"S":"nobody"},"Movie":{"S":"Toy Story"}}', projection => 'nope') IS NULL AS missing;
SELECT (why($$dyn_get('mov', '{"Actor":{"S":"Tim Allen"},"Movie":{"S":"Toy Story"}}', projection => '')$$)).*;
SELECT (why($$dyn_get('mov', '{"Actor":{"S":"Tim Allen"},"Movie":{"S":"Toy Story"}}', names => '{"#r":"Role"}')$$)).*;

-- F02 the language of conditions; F03 not on key attributes; F09 an item that has expired is there until it is deleted
SELECT dyn_put('mov', '{"Actor":{"S":"Tom Hanks"},"Movie":{"S":"Big"},"TTL":{"N":"1700000000"}}');
SELECT dyn_query('mov', 'Actor = :a', vals => '{":a":{"S":"Tom Hanks"},":x":{"S":"ram"}}', filter => 'contains(Genre, :x) AND attribute_not_exists(nope)',
	projection => 'Movie') AS f02;
SELECT c.*, (why(c)).*
	FROM unnest(ARRAY[$$dyn_query('mov', 'Actor = :a', vals => '{":a":{"S":"T"},":m":{"S":"x"}}', filter => '#m = :m OR Genre = :m', names => '{"#m":"Movie"}')$$,
  $$dyn_query('mov', 'Actor = :a', vals => '{":a":{"S":"T"}}', filter => 'attribute_exists(Actor)')$$,
  $$dyn_query('mov', 'Actor = :a', vals => '{":a":{"S":"T"}}', filter => 'size(Movie) > Genre')$$]) c;
SELECT dyn_query('mov', 'Actor = :a', names => '{"#ttl":"TTL"}', vals => '{":a":{"S":"Tom Hanks"},":now":{"N":"1800000000"}}',
	filter => 'attribute_not_exists(#ttl) OR #ttl > :now', projection => 'Movie') AS f09,
       dyn_get('mov', '{"Actor":{"S":"Tom Hanks"},"Movie":{"S":"Big"}}') IS NOT NULL AS stored;

-- R08 the whole item after an update is what triggers have made of it, and what a partition's have
CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql
	AS $$ BEGIN NEW.item := dyn_apply(NEW.item, 'SET stamp = :op', vals => jsonb_build_object(':op', TG_OP)); RETURN NEW; END $$;
CREATE TRIGGER a_stamp BEFORE INSERT OR UPDATE ON tab FOR EACH ROW EXECUTE FUNCTION stamp();
SELECT op, dyn_update('tab', key('stamped'), 'SET n = :n', vals => '{":n":{"N":"1"}}', return_values => 'ALL_NEW') FROM unnest(ARRAY['insert', 'update']) op;
SELECT dyn_get('tab', key('stamped')), dyn_update('tab', key('unstamped'), 'REMOVE n', return_values => 'ALL_NEW') IS NULL AS none;
DROP TRIGGER a_stamp ON tab;
CREATE TABLE parted (item dyn_item NOT NULL, p text COLLATE "C" NOT NULL, sk text COLLATE "C" NOT NULL, PRIMARY KEY (p, sk)) PARTITION BY HASH (p);
CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 1, REMAINDER 0);
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON parted FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('p S', 'sk S');
CREATE TRIGGER a_stamp BEFORE INSERT OR UPDATE ON parted_0 FOR EACH ROW EXECUTE FUNCTION stamp();
SELECT op, dyn_update('parted', key('stamped'), 'SET n = :n', vals => '{":n":{"N":"1"}}', return_values => 'ALL_NEW') FROM unnest(ARRAY['insert', 'update']) op;
DROP TABLE parted;
DROP FUNCTION stamp;

-- a trigger that takes a write back is an error, and no endless retry
CREATE FUNCTION suppress() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE TRIGGER a_suppress BEFORE INSERT OR UPDATE ON tab FOR EACH ROW EXECUTE FUNCTION suppress();
SELECT c.*, (why(c)).* FROM unnest(ARRAY[$$dyn_put('tab', key('s'))$$, $$dyn_put('tab', key('s'), 'attribute_not_exists(p)')$$,
	$$dyn_put('tab', key('s'), return_values => 'ALL_OLD')$$, $$dyn_update('tab', key('s'), 'SET a = :a', vals => '{":a":{"S":"x"}}')$$,
  $$dyn_put('tab', key('u'), 'attribute_exists(p)')$$, $$dyn_update('tab', key('u'), 'SET a = :a', vals => '{":a":{"S":"x"}}')$$]) c;
DROP TRIGGER a_suppress ON tab;
CREATE TRIGGER a_suppress BEFORE DELETE ON tab FOR EACH ROW EXECUTE FUNCTION suppress();
SELECT c.*, (why(c)).* FROM unnest(ARRAY[$$dyn_delete('tab', key('u'))$$, $$dyn_delete('tab', key('u'), 'attribute_exists(p)')$$,
	$$dyn_delete('tab', key('nope'))$$]) c;
DROP TRIGGER a_suppress ON tab;

-- the function in the store's UPDATE is not for others
SELECT dynamo_internal.store_change(1, key('u'));

-- an item that row-level security hides is not absent
CREATE ROLE dyn_tenant;
GRANT SELECT, INSERT, UPDATE, DELETE ON tab TO dyn_tenant;
ALTER TABLE tab ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON tab TO dyn_tenant USING (p = 'c') WITH CHECK (p = 'c' OR p = 'u');
SET ROLE dyn_tenant;
SELECT c.*, (why(c)).* FROM unnest(ARRAY[$$dyn_put('tab', key('u'), 'attribute_not_exists(p)')$$,
	$$dyn_update('tab', key('u'), 'SET a = :a', vals => '{":a":{"S":"x"}}')$$, $$dyn_update('tab', key('org'), 'SET a = :a', vals => '{":a":{"S":"x"}}')$$,
  $$dyn_delete('tab', key('u'), 'attribute_exists(p)')$$, $$dyn_update('tab', key('c'), 'SET a = :a', vals => '{":a":{"S":"x"}}')$$]) c;
RESET ROLE;

-- U08, U13: an update that creates its item sees the key, a condition sees no item
SELECT r, dyn_update('tab', key('new ' || r), 'SET copied = sk, kept = if_not_exists(p, :a), a = if_not_exists(nope, :a)',
	'attribute_not_exists(p) AND NOT sk = :s', vals => '{":a":{"N":"1"},":s":{"S":"s"}}', return_values => r)
	FROM unnest(ARRAY['ALL_NEW', 'UPDATED_NEW', 'UPDATED_OLD', 'ALL_OLD']) r;
SELECT (why($$dyn_update('tab', key('none'), 'SET a = sk', 'attribute_exists(sk)')$$)).*, dyn_get('tab', key('none'));
SELECT (why($$dyn_update('tab', key('none'), 'SET a = sk.x')$$)).*;
SELECT dyn_transact('[{"Update":{"TableName":"tab","Key":{"p":{"S":"in a transaction"},"sk":{"S":"a"}},
	"UpdateExpression":"SET copied = sk, kept = if_not_exists(p, sk)"}}]');
SELECT dyn_get('tab', key('in a transaction'));

DROP TABLE tab, hot, mov;
DROP FUNCTION key, state, why, suppress;
DROP ROLE dyn_tenant;
