# Both stores and plain SQL write to one table, each transaction by one of them, while its indexes are
# rebuilt and it is vacuumed: rows, columns and indexes agree. $DYNAMO_TABLE_STRESS_SECONDS says how
# long (5).
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $seconds = $ENV{DYNAMO_TABLE_STRESS_SECONDS} || 5;

my $node = PostgreSQL::Test::Cluster->new('stores');
$node->init;
$node->append_conf('postgresql.conf', "log_statement = none\nautovacuum_naptime = 1s\nsynchronous_commit = off");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION dynamo_table;
	CREATE EXTENSION amcheck;
	SET client_min_messages = warning;
	SELECT dyn_create_table('app', 'pk S', 'sk N', global_indexes => '{"GSI1": {"partition_key": "g S", "sort_key": "sk N"}, "GSI2": {"partition_key": "h N"},
		"Column": {"partition_key": "g S", "sort_key": "n N", "covering": true}, "Second": {"partition_key": "g S", "sort_key": "h N", "covering": true},
		"Part": {"partition_key": "g S", "projection": "INCLUDE", "non_key_attributes": ["n", "note"], "covering": true}}');
	CALL dyn_enable_ttl('app', 'n');
	CREATE TABLE twin (k int PRIMARY KEY, item dyn_item);
	CREATE FUNCTION key(k int) RETURNS dyn_item IMMUTABLE LANGUAGE sql AS $$ SELECT jsonb_build_object('pk', 'p' || k % 50, 'sk', k)::dyn_item $$;
	CREATE FUNCTION item(k int, v int) RETURNS dyn_item IMMUTABLE LANGUAGE sql AS
		$$ SELECT (key(k)::jsonb || jsonb_build_object('g', 'g' || v % 7, 'n', 0, 'note', repeat('x', v * 40)) ||
			CASE WHEN v % 2 = 0 THEN jsonb_build_object('h', v) ELSE '{}' END)::dyn_item $$;
	CREATE FUNCTION add(k int, attribute text, v int) RETURNS dyn_item LANGUAGE sql AS $$
		SELECT dyn_update('app', key(k), 'ADD #a :v', names => jsonb_build_object('#a', attribute), vals => jsonb_build_object(':v', v)) $$;
	CREATE FUNCTION move(k int, v int) RETURNS dyn_item LANGUAGE sql AS
		$$ SELECT dyn_update('app', key(k), 'SET g = :g, note = :note REMOVE h', vals => jsonb_build_object(':g', 'g' || v % 7, ':note', repeat('y', v * 100))) $$;
});

# Under the lock of the key, the twin has what the transaction's own reads say.
my %load;
$load{writers} = start_load($node, 6, $seconds, <<'EOS');
\set direct random(0, 1)
\set k random(1, 1000)
\set v random(1, 40)
\set op random(1, 100)
SET dynamo_table.direct_store = :direct;
BEGIN;
SELECT pg_advisory_xact_lock(:k);
\if :op <= 20
SELECT dyn_put('app', item(:k, :v));
\elif :op <= 30
SELECT dyn_put('app', item(:k, :v), return_values => 'ALL_OLD');
\elif :op <= 50
SELECT add(:k, 'n', :v);
\elif :op <= 65
SELECT move(:k, :v);
\elif :op <= 75
SELECT dyn_delete('app', key(:k));
\elif :op <= 82
SAVEPOINT s;
SELECT dyn_put('app', item(:k, :v)), dyn_delete('app', key(:k)), dyn_put('app', item(:k, 40 - :v));
ROLLBACK TO s;
SELECT add(:k, 'h', :v);
\elif :op <= 90
SELECT dyn_batch_write('app', ARRAY[item(:k, :v)]), add(:k, 'n', :v);
\elif :op <= 95
UPDATE app SET item = item(:k, :v) WHERE pk = 'p' || :k % 50 AND sk = :k;
\else
DELETE FROM app WHERE pk = 'p' || :k % 50 AND sk = :k;
\endif
DELETE FROM twin WHERE k = :k;
INSERT INTO twin SELECT :k, item FROM dyn_get('app', key(:k)) item WHERE item IS NOT NULL;
COMMIT;
EOS

# An index of the user's comes and goes.
$load{builders} = start_load($node, 1, $seconds, <<'EOS');
REINDEX INDEX CONCURRENTLY "app_GSI1";
REINDEX INDEX CONCURRENTLY "app_GSI2";
REINDEX INDEX CONCURRENTLY "app_Column";
REINDEX INDEX CONCURRENTLY "app_Second";
REINDEX INDEX CONCURRENTLY "app_Part";
CREATE INDEX CONCURRENTLY extra ON app ((item ->> 'n'));
\sleep 100 ms
DROP INDEX CONCURRENTLY extra;
\sleep 300 ms
EOS
$load{vacuum} = start_load($node, 1, $seconds, "VACUUM app;\n\\sleep 100 ms\n");

foreach my $name (sort keys %load)
{
	my $rounds = finish_load($load{$name});
	ok($rounds, "$name: " . ($rounds // 0) . " rounds without an error") or diag($load{$name}{err});
}

# A covering index has the items of the twin that go into it, each with what the index projects, forward and backward.
sub covering_agrees
{
	my ($when, $set, $index, $condition, $part) = @_;
	foreach my $forward (qw(true false))
	{
		is($node->safe_psql('postgres', qq{
			$set
			WITH entries AS MATERIALIZED (SELECT i::text FROM generate_series(0, 6) v,
				dyn_query('app', 'g = :g', vals => jsonb_build_object(':g', 'g' || v), index_name => '$index', forward => $forward) i),
				expected AS MATERIALIZED (SELECT ($part)::text FROM twin WHERE item ? 'g' AND $condition)
			SELECT count(*) FROM ((TABLE entries EXCEPT ALL TABLE expected) UNION ALL (TABLE expected EXCEPT ALL TABLE entries)) d}), '0',
				"$when: $index, forward = $forward");
	}
}

sub agree
{
	my ($when) = @_;
	is($node->safe_psql('postgres', 'SELECT count(*) FROM (SELECT item::text FROM app EXCEPT SELECT item::text FROM twin) a'), '0',
		"$when: no item that nobody has read");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM (SELECT item::text FROM twin EXCEPT SELECT item::text FROM app) a'), '0', "$when: no item is lost");
	my $match = $node->safe_psql('postgres', "SELECT substr(pg_get_constraintdef(oid), 7) FROM pg_constraint WHERE conrelid = 'app'::regclass AND contype = 'c'");
	is($node->safe_psql('postgres', "SELECT count(*) FROM app WHERE NOT $match"), '0', "$when: columns are what items say");
	foreach my $direct (qw(on off))
	{
		is($node->safe_psql('postgres', qq{
			SET dynamo_table.direct_store = $direct;
			SELECT count(*) FROM generate_series(0, 6) v,
				LATERAL (SELECT string_agg(i::text, ',' ORDER BY (i->>'sk')::int, i->>'pk') AS items
					FROM dyn_query('app', 'g = :g', vals => jsonb_build_object(':g', 'g' || v), index_name => 'GSI1') i) q,
				LATERAL (SELECT string_agg(item::text, ',' ORDER BY (item->>'sk')::int, item->>'pk') AS items FROM twin WHERE item->>'g' = 'g' || v) t
			WHERE q.items IS DISTINCT FROM t.items}), '0', "$when: the index has the items, direct_store = $direct");
		covering_agrees("$when, direct_store = $direct", "SET dynamo_table.direct_store = $direct;", @$_)
		  for [ 'Column', q{item ? 'n'}, 'item' ], [ 'Second', q{item ? 'h'}, 'item' ],
		  [ 'Part', 'true', q{(SELECT jsonb_object_agg(key, value) FROM jsonb_each(item::text::jsonb) WHERE key IN ('pk', 'sk', 'g', 'n', 'note'))::text::dyn_item} ];
	}
	is($node->safe_psql('postgres', q{SELECT string_agg(object || ': ' || problem, '; ') FROM dyn_check_table('app')}), '',
		"$when: what is carried is what items say");
	$node->safe_psql('postgres', q{SELECT bt_index_parent_check(indexrelid, true) FROM pg_index WHERE indrelid = 'app'::regclass});
	check_storage($node, $when);
}

agree('after the stress');
crash($node);
agree('after a crash');
$node->stop;
done_testing();
