# What PostgreSQL 19 gives tables of items: docs/versions.md.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

# of a release candidate too
my ($major) = configured('version') =~ /(\d+)/;
plan skip_all => 'all of it came with PostgreSQL 19' if $major < 19;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
allow_plugin($node);
$node->append_conf('postgresql.conf', "autovacuum = off\nfsync = off\nwal_level = replica\nmax_wal_senders = 4\nmax_replication_slots = 4");
$node->start;

sub value
{
	my ($sql) = @_;
	return $node->safe_psql('postgres', $sql);
}

value(q{
	CREATE EXTENSION dynamo_table;
	CREATE EXTENSION pg_visibility;
	SELECT dyn_create_table('app', 'pk S', 'sk N',
		global_indexes => '{"kinds": {"partition_key": "kind S", "projection": "INCLUDE", "non_key_attributes": ["n"]}}')});

# logical decoding comes and goes with the slot
is(value('SHOW effective_wal_level'), 'replica', 'nothing is decoded');
value('CALL dyn_setup_streams()');
is(value('SHOW effective_wal_level'), 'logical', 'the slot is enough');
is(value('SELECT state FROM dyn_stream_slots'), 'ready', 'its state');
value(q{SELECT dyn_enable_stream('app', 'NEW_AND_OLD_IMAGES')});
value(q{SELECT dyn_put('app', jsonb_build_object('pk', (i % 20)::text, 'sk', i, 'kind', 'a', 'n', 0, 'note', repeat('x', 300))) FROM generate_series(1, 500) i
	ORDER BY random()});
value('CALL dyn_collect_streams()');
is(value(q{SELECT count(*), count(new_image) FROM dyn_read_stream('app')}), '500|500', 'all changes are collected');
value(q{SELECT dyn_disable_stream('app')});
value('CALL dyn_teardown_streams()');
wait_for($node, q{SELECT current_setting('effective_wal_level') = 'replica'});

# reads mark pages
sub visible
{
	return value(q{SELECT all_visible FROM pg_visibility_map_summary('app')});
}
value(q{SELECT dyn_update('app', jsonb_build_object('pk', (i % 20)::text, 'sk', i), 'SET n = n + :one', vals => '{":one": 1}'::jsonb)
	FROM generate_series(1, 500) i});
is(visible(), 0, 'no page is visible to all');
value(q{SELECT dyn_query('app', 'kind = :k', vals => '{":k": "a"}'::jsonb, index_name => 'kinds', projection => 'pk, n')});
cmp_ok(visible(), '>', 0, 'queries mark pages as visible to all');

# REPACK sorts, and without a lock on the table it is for heap alone
value(q{CREATE TABLE plain (a int, b int, v text, PRIMARY KEY (a, b)) USING dynamo_table; SET dynamo_table.placement = off; INSERT INTO plain SELECT i % 10,
	i, repeat('v', 50) FROM generate_series(1, 1000) i ORDER BY random()});
my %tables = ('app' => 'pk, sk', 'plain' => 'a, b');
for my $table (sort keys %tables)
{
	my $key = $tables{$table};
	my $sorted = qq{SELECT bool_and(n = m) FROM (SELECT row_number() OVER (ORDER BY ctid) AS n, row_number() OVER (ORDER BY $key) AS m FROM $table) r};
	is(value($sorted), 'f', "$table: not sorted");
	value("REPACK $table");
	is(value($sorted), 't', "$table: REPACK sorts it");
	my ($ret, $out, $err) = $node->psql('postgres', "REPACK (CONCURRENTLY) $table");
	like($err, qr/only supported for the "heap" access method/, "$table: not with CONCURRENTLY");
}
is(value(q{SELECT count(*) FROM dyn_check_table('app')}), 0, 'the table is as it was');
check_storage($node, 'after REPACK');

# statements
my $put = q{INSERT INTO app (item) VALUES ('{"pk":{"S":"1"},"sk":{"N":"%s"},"n":{"N":"7"}}') ON CONFLICT (pk, sk) DO SELECT FOR UPDATE RETURNING item ->> 'n'};
is(value(sprintf($put, 1)), 1, 'ON CONFLICT DO SELECT: an item that is there');
is(value(sprintf($put, 1001)), 7, 'a new item');
is(value(q{INSERT INTO plain VALUES (1, 1, 'w'), (1, 1001, 'w') ON CONFLICT (a, b) DO SELECT RETURNING left(v, 1)}), "v\nw", 'rows');
is(value(q{COPY (SELECT item FROM app WHERE sk = 1001) TO STDOUT (FORMAT json)}), '{"item":{"n":7,"pk":"1","sk":1001}}', 'COPY as JSON');
is(value(q{SELECT count(*) > 0 FROM pg_stat_autovacuum_scores WHERE relid = 'app'::regclass}), 't', 'scores of autovacuum');
done_testing();
