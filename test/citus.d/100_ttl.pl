# Items of distributed tables expire: each node sweeps the shards that it has, wherever they move.
use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;
use CitusNodes;
use DynamoTable;

# The default interval is too long for a test.
my $citus = CitusNodes->new(join("\n", 'dynamo_table.ttl_interval = 1', 'dynamo_table.ttl_probe_interval = 1',
	'dynamo_table.ttl_batch_size = 10'));
my $put = q{SELECT dyn_put('app', jsonb_build_object('pk', '%s' || i, 'sk', 's', 'expires', floor(extract(epoch FROM now())) + %d))
	FROM generate_series(1, %d) i};

sub put
{
	my ($n, $prefix, $seconds, $count) = @_;
	$citus->sql($n, sprintf($put, $prefix, $seconds, $count));
}

sub count
{
	my ($prefix) = @_;
	return $citus->sql(0, "SELECT count(*) FROM app WHERE starts_with(pk, '$prefix')");
}

sub comes_to
{
	my ($prefix, $count, $what) = @_;
	ok($citus->node(0)->poll_query_until('postgres', "SELECT count(*) FROM app WHERE starts_with(pk, '$prefix')", $count), $what);
}

sub set_workers
{
	my ($setting) = @_;
	for my $n (0 .. $#{ $citus->{nodes} })
	{
		$citus->sql($n, "ALTER SYSTEM SET dynamo_table.ttl_worker = $setting");
		$citus->node($n)->reload;
	}
	# a visit lasts up to 4 seconds
	return if $setting eq 'on';
	for my $node (@{ $citus->{nodes} })
	{
		wait_for($node, q{SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'dynamo_table ttl worker')});
	}
}

$citus->sql(0, q{CREATE ROLE owner LOGIN; GRANT CREATE ON SCHEMA public TO owner; CREATE ROLE sweeper LOGIN; CREATE ROLE nobody});
$citus->sql(0, q{SET ROLE owner; SELECT dyn_create_table('app', 'pk S', 'sk S')});
$citus->sql(0, q{SET ROLE owner; CALL dyn_enable_ttl('app', 'expires')});
$citus->sql(0, q{SET ROLE owner; SELECT dyn_distribute_table('app'); GRANT DELETE ON app TO sweeper, nobody});

# Until the workers of all nodes have had their turns: what has expired in another table is gone, and that again.  That table is not colocated with
# the first, whose locks would be its own.
$citus->sql(0, q{SET ROLE owner; SELECT dyn_create_table('turns', 'pk S')});
$citus->sql(0, q{SET ROLE owner; CALL dyn_enable_ttl('turns', 'expires')});
$citus->sql(0, q{SET ROLE owner; SELECT dyn_distribute_table('turns', shard_count => 4)});

sub turns
{
	for (1 .. 2)
	{
		$citus->sql(0, q{SELECT count(dyn_put('turns', jsonb_build_object('pk', i::text, 'expires', floor(extract(epoch FROM now())) - 100)::dyn_item))
			FROM generate_series(1, 100) i});
		wait_for($citus->node(0), 'SELECT count(*) = 0 FROM turns');
	}
}

# every node by itself
put($_, "gone$_", -100, 100) for 0 .. 2;
put(0, 'stays', 3600, 100);
comes_to('gone', 0, 'expired items are removed from the shards of all nodes');
is(count('stays'), 100, 'others stay');
like($citus->sql($_, q{SELECT deleted > 0 AND errors = 0 FROM dyn_ttl_tables WHERE relation = 'app'::regclass}), qr/t/, "node $_ tells what it has done")
	for 1, 2;
is($citus->sql(0, q{SELECT sum(result::int) FROM run_command_on_all_nodes($$SELECT coalesce(sum(deleted), 0) FROM dyn_ttl_tables
	WHERE relation = 'app'::regclass$$)}), 300,
	'all nodes together tell of all items');

# A shard that moves is left alone, and so is one that Citus does not have on the node.
my ($shard) = $citus->sql(0, q{SELECT get_shard_id_for_distribution_column('app', 'moving1')});
my %placements = $citus->placements('app');
my ($here, $there) = ($placements{$shard}, 3 - $placements{$shard});
set_workers('off');
put(0, 'moving', -100, 100);
my $locked = $citus->sql(0, "SELECT count(*) FROM app WHERE starts_with(pk, 'moving') AND get_shard_id_for_distribution_column('app', pk) = $shard");
my $mover = $citus->node($here)->background_psql('postgres');
$mover->query_safe("BEGIN; SELECT lock_shard_metadata(7, ARRAY[$shard])");
$citus->sql($there, "SET citus.enable_ddl_propagation = off; SET citus.enable_manual_changes_to_shards = on;
	SET allow_system_table_mods = on; CREATE TABLE app_$shard (LIKE app INCLUDING ALL) USING dynamo_table;
	ALTER TABLE app_$shard OWNER TO owner");
$citus->sql($there, "INSERT INTO app_$shard SELECT i.item, i.item ->> 'pk', i.item ->> 'sk', 1
	FROM (SELECT jsonb_build_object('pk', 'left', 'sk', 's', 'expires', 1)::dyn_item AS item) i");
set_workers('on');
comes_to('moving', $locked, 'items of other shards are removed');
turns();
is(count('moving'), $locked, 'items of a shard that is locked for a move stay');
$mover->query_safe('COMMIT');
$mover->quit;
comes_to('moving', 0, 'and are removed when it has moved');
is($citus->sql($there, "SELECT count(*) FROM app_$shard"), 1, 'a shard that is not placed on the node is not swept');
$citus->sql($there, "SET citus.enable_manual_changes_to_shards = on; SET citus.enable_ddl_propagation = off; DROP TABLE app_$shard");

# moves during sweeps
put(1, 'many', -100, 5000);
%placements = $citus->placements('app');
for my $mode (qw(block_writes force_logical))
{
	$citus->move($_, $placements{$_}, 3 - $placements{$_}, $mode) for (sort keys %placements)[ 0 .. 2 ];
	%placements = $citus->placements('app');
}
comes_to('many', 0, 'shards are swept on while they move');
is(count('stays'), 100, 'and nothing else is removed');

# a node that comes, and dies
my $new = $citus->add;
$citus->move_all('app', $new);
put(1, 'later', -100, 300);
comes_to('later', 0, 'a new node sweeps the shards that it has got');
put(1, 'last', -100, 2000);
$citus->crash($new);
comes_to('last', 0, 'and goes on after a kill -9');
is(count('stays'), 100, 'nothing else is removed by that');

# calls, from any node
set_workers('off');
$citus->move($_, $new, 1) for (sort keys %placements)[ 0 .. 3 ];
for my $n (0 .. $new)
{
	put(0, 'called', -100, 100);
	is($citus->sql($n, q{SET ROLE sweeper; CALL dyn_sweep_ttl('app')}), 100, "a call at node $n sweeps the whole table");
}
put(0, 'called', -100, 100);
is($citus->sql(0, 'CALL dyn_sweep_ttl()'), 100, 'and so does a call for all tables');
put(0, 'called', -100, 100);
my ($result, $out, $err) = $citus->node(2)->psql('postgres', q{SET ROLE nobody; CALL dyn_sweep_ttl('app')});
like($err, qr/were not removed on all nodes/, 'a role that cannot log in on the nodes is told so');
like($err, qr/has to be able to log in there/, 'and why');
is(count('called'), 100, 'nothing is removed then');
($result, $out, $err) = $citus->node(2)->psql('postgres', q{CREATE ROLE other LOGIN; SET ROLE other; CALL dynamo_internal.sweep_shards('app', 10, 0, true)});
like($err, qr/permission denied/, 'a role without DELETE sweeps no shards');
set_workers('on');
comes_to('called', 0, 'workers need no role that can log in');

# hidden until they are removed, on all nodes and by all paths
set_workers('off');
$citus->sql(0, q{SET ROLE owner; CALL dyn_enable_ttl('app', 'expires', hide_expired => true)});
put(0, 'hidden', -100, 10);
is($citus->sql($_, q{SELECT count(dyn_get('app', format('{"pk":{"S":"hidden%s"},"sk":{"S":"s"}}', i)::dyn_item)) FROM generate_series(1, 10) i}), 0,
	"node $_ hides expired items from dyn_get") for 0 .. $new;
is($citus->sql($_, q{SELECT count(*) FROM dyn_scan('app') i WHERE starts_with(i ->> 'pk', 'hidden')}), 0, "and from dyn_scan")
	for 0 .. $new;
is(count('hidden'), 10, 'they are there');

# ended
$citus->sql(0, q{SET ROLE owner; CALL dyn_disable_ttl('app')});
set_workers('on');
turns();
is(count('hidden'), 10, 'nothing expires when time to live is disabled');
is($citus->sql($_, q{SELECT count(*) FROM dyn_ttl_tables WHERE relation = 'app'::regclass}), 0, "node $_ knows") for 0 .. $new;

# declared anew while the table is in use
($result, $out, $err) = $citus->node(2)->psql('postgres', q{SET ROLE owner; CALL dyn_enable_ttl('app', 'expires')});
like($err, qr/HINT:  Connect to the coordinator/, 'a worker declares nothing');
$citus->sql(0, q{SET ROLE owner; CALL dyn_enable_ttl('app', 'expires')});
comes_to('hidden', 0, 'items of before expire on all nodes');
is(count('stays'), 100, 'others stay');
is($citus->sql($_, q{SELECT status, hide_expired FROM dyn_ttl_tables WHERE relation = 'app'::regclass}), 'ENABLED|f', "node $_ knows again") for 0 .. $new;

# as a request, which a background worker completes
$citus->sql(0, q{SET ROLE owner; SELECT dyn_request('UpdateTimeToLive',
	'{"TableName":"app","TimeToLiveSpecification":{"AttributeName":"expires","Enabled":false}}')});
ok($citus->node(0)->poll_query_until('postgres', q{SELECT count(*) FROM dyn_ttl_tables WHERE relation = 'app'::regclass}, 0), 'UpdateTimeToLive ends it');
put(0, 'asked', -100, 50);
$citus->sql(0, q{SET ROLE owner; SELECT dyn_request('UpdateTimeToLive',
	'{"TableName":"app","TimeToLiveSpecification":{"AttributeName":"expires","Enabled":true}}')});
comes_to('asked', 0, 'and begins it');
is(count('stays'), 100, 'others stay');

done_testing();
