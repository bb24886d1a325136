# Items of many keys are read by one statement for each node, or in larger transactions for each shard, with the same result.
use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;
use CitusNodes;

my $citus = CitusNodes->new;
my @tables = qw(n s);
for (@tables)
{
	$citus->sql(0, sprintf(q{SELECT dyn_create_table('%s', 'pk %s', 'sk S'); SELECT dyn_distribute_table('%1$s')}, $_, uc $_));
	$citus->sql(0, qq{SELECT dyn_put('$_',
		format('{"pk":{"%s":"%s"},"sk":{"S":"a"},"v":{"N":"%2\$s"}}', upper('$_'), i)::dyn_item) FROM generate_series(1, 60) i});
}

# 80 keys, of which 20 have no item
sub keys_of
{
	my ($type) = @_;
	my @keys = map { sprintf('"{\"pk\":{\"%s\":\"%d\"},\"sk\":{\"S\":\"a\"}}"', uc $type, 81 - $_) } 1 .. 80;
	return "'{" . join(',', @keys) . "}'::dyn_item[]";
}

sub commands
{
	my ($n, $script) = @_;
	my ($rc, $stdout, $stderr) = $citus->node($n)->psql('postgres', "SET citus.log_remote_commands = on;\nSET citus.log_local_commands = on;\n$script");
	return $stderr;
}
sub asked { return scalar(() = $_[0] =~ /(?:issuing|locally:) SELECT dynamo_internal\.get_items/g) }
sub got   { return scalar(() = $_[0] =~ /(?:issuing|locally:) SELECT item FROM/g) }

for my $table (@tables)
{
	my $keys = keys_of($table);
	my $all = join("\n", map { 61 - $_ } 1 .. 60);
	for my $n (0 .. 2)
	{
		my $said = commands($n, "SELECT dyn_batch_get('$table', $keys)");
		is(asked($said), $n == 0 ? 2 : 1, "$table: node $n asks each other node that has some once");
		is(got($said), 0, '… and for no key alone');
		is($citus->sql($n, "SELECT (i ->> 'v')::int FROM dyn_batch_get('$table', $keys) i"), $all, '… and gets the items in the order of the keys');
		$said = commands($n, "BEGIN; SELECT dyn_batch_get('$table', $keys); COMMIT");
		is(asked($said), 8, '… in a block each shard');
		is(got($said), 0, '… and no key alone');
		is($citus->sql($n, "BEGIN; SELECT (i ->> 'v')::int FROM dyn_batch_get('$table', $keys) i; COMMIT"), $all, '… with the same items');
		is($citus->sql($n, sprintf(q{SELECT jsonb_array_length(dyn_request('BatchGetItem', '{"RequestItems":{"%s":{"Keys":[%s]}}}')::jsonb -> 'Responses' -> '%1$s')},
			$table, join(',', map { sprintf('{"pk":{"%s":"%d"},"sk":{"S":"a"}}', uc $table, $_) } 1 .. 80))), 60, '… and by a request');
	}
	like(commands(0, "SELECT dyn_batch_get('$table', ARRAY['{\"pk\":{\"" . uc($table) . "\":\"1\"},\"sk\":{\"S\":\"a\"}}']::dyn_item[])"),
		qr/SELECT item FROM/, 'a single key is a get');
}

# a block sees what it has written, by whatever connections
my $keys = keys_of('s');
is($citus->sql($_, qq{BEGIN; DELETE FROM s WHERE pk IN ('1', '2', '3');
	SELECT dyn_put('s', '{"pk":{"S":"70"},"sk":{"S":"a"},"v":{"N":"70"}}'); SELECT dyn_put('s', '{"pk":{"S":"71"},"sk":{"S":"a"},"v":{"N":"71"}}');
	SELECT count(*), max((i ->> 'v')::int) FROM dyn_batch_get('s', $keys) i; ROLLBACK}) =~ s/\n//gr, '59|71', "node $_ sees its own writes") for 0 .. 2;
is($citus->sql($_, "SELECT count(*) FROM dyn_batch_get('s', $keys)"), 60, '… and not what it took back') for 0 .. 2;

# rights
$citus->sql(0, q{CREATE ROLE nobody LOGIN; CREATE ROLE reader LOGIN; CREATE ROLE part LOGIN; GRANT SELECT ON s TO reader;
	GRANT SELECT (item, pk, sk) ON s TO part});
for my $n (0 .. 2)
{
	is($citus->sql($n, "SET ROLE $_; SELECT count(*) FROM dyn_batch_get('s', $keys)"), 60, "$_ reads") for qw(reader part);
	like(commands($n, "SET ROLE nobody; SELECT dyn_batch_get('s', $keys)"), qr/ERROR:  permission denied for table s/, 'and nobody else');
	like(commands($n, "SET ROLE nobody; SELECT dynamo_internal.get_items('s', $keys)"), qr/ERROR:  permission denied for table s/, '… as a node');
}
$citus->sql(0, q{ALTER TABLE s ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON s TO reader USING (pk <> '5')});
is($citus->sql($_, "SET ROLE reader; SELECT count(*) FROM dyn_batch_get('s', $keys)"), 59, 'policies hide items') for 0 .. 2;
$citus->sql(0, 'ALTER TABLE s DISABLE ROW LEVEL SECURITY');
like(commands(1, "SELECT dynamo_internal.$$_[0]"), $$_[1], $$_[0])
	for [ q{get_items('pg_class', '{}')}, qr/not a distributed table of items/ ], [ q{get_items('s', NULL)}, qr/keys must not be null/ ],
	[ q{get_items('s', ARRAY[NULL]::dyn_item[])}, qr/ERROR/ ], [ q{get_items('s', ARRAY['{"a":{"S":"b"}}']::dyn_item[])}, qr/ERROR/ ];
is($citus->sql($_, "SELECT dynamo_internal.get_items('s', $keys) IS NULL"), 't', 'a node that has not all shards answers nothing') for 0 .. 2;

# a shard whose owner gives it other keys
$citus->sql(0, q{CREATE ROLE owner LOGIN; GRANT CREATE ON SCHEMA public TO owner; SET ROLE owner; SELECT dyn_create_table('theirs', 'pk S');
	SELECT dyn_distribute_table('theirs')});
my ($shard, $key) = split /\|/, $citus->sql(1, q{SELECT shard_name('theirs', p.shardid), i FROM generate_series(1, 60) i, pg_dist_placement p,
	pg_dist_local_group g WHERE p.groupid = g.groupid AND p.shardid = get_shard_id_for_distribution_column('theirs', i::text) LIMIT 1});
my ($suffix) = $shard =~ /(_[0-9]+)$/;
like(commands(1, qq{SET ROLE owner; SET citus.enable_manual_changes_to_shards = on; DROP TABLE $shard; CREATE TABLE $shard (item dyn_item NOT NULL,
	pk text COLLATE "C" NOT NULL, sk text COLLATE "C" NOT NULL, CONSTRAINT theirs_pkey$suffix PRIMARY KEY (pk, sk),
	CONSTRAINT dynamo_definition CHECK ('["pk S", "sk S"]'::text IS NOT NULL),
	CONSTRAINT dynamo_keys CHECK (dynamo_internal.keys_match(item, '{"pk S","sk S"}'::text[], pk, sk)));
	SELECT dynamo_internal.get_items('theirs', ARRAY['{"pk":{"S":"$key"}}']::dyn_item[])}),
	qr/ERROR:  key attribute "sk" is missing/, 'keys are those of the shard');

# it does not wait for the table, for which whoever changes it may have locked it here and wait for the node that asks
my $locking = $citus->start(2, 'SET citus.enable_ddl_propagation = off', 'BEGIN', 'LOCK TABLE s', 'SELECT pg_sleep(600)');
$citus->node(2)->poll_query_until('postgres', q{SELECT EXISTS (SELECT FROM pg_locks
	WHERE relation = 's'::regclass AND mode = 'AccessExclusiveLock' AND granted)});
is($citus->sql($_, "SET statement_timeout = '60s'; SELECT count(*) FROM dyn_batch_get('s', $keys)"), 60,
	"node $_ reads a table that is locked at node 2") for 0, 1;
$citus->sql(2, q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query ~ '^SELECT pg_sleep'});
$citus->finish($locking);

# expired items
$citus->sql(0, q{CALL dyn_enable_ttl('n', 'ttl', hide_expired => true)});
$citus->sql(0, q{SELECT dyn_update('n', '{"pk":{"N":"3"},"sk":{"S":"a"}}', 'SET #t = :t', names => '{"#t":"ttl"}',
	vals => format('{":t":{"N":"%s"}}', floor(extract(epoch FROM now())) - 100)::dyn_item)});
is($citus->sql($_, "SELECT count(*) FROM dyn_batch_get('n', @{[ keys_of('n') ]})"), 59, "node $_ hides what has expired") for 0 .. 2;

# many statements on shards of the node itself: Citus adds a plan at each
for my $n (0 .. 2)
{
	my $gets = q{SELECT count(dyn_get('s', format('{"pk":{"S":"%s"},"sk":{"S":"a"}}', 1 + i % 60)::dyn_item)) FROM generate_series(1, 600) i;};
	my $memory = q{SELECT sum(total_bytes) FROM pg_backend_memory_contexts;};
	my (undef, $before, undef, $after) = split /\n/, $citus->sql($n, "$gets $memory $gets $memory");
	cmp_ok($after - $before, '<', 3 * 1024 * 1024, "node $n: plans take no more memory after more calls");
}

done_testing();
