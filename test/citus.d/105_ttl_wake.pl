# dyn_enable_ttl() wakes the sweepers of all nodes; those of a node without tables with time to live look for some as often as
# they would sweep.  While it goes on nothing is removed, and whoever sweeps is told so.
use strict;
use warnings;

use Test::More;
use CitusNodes;
use DynamoTable;

# no sweeper comes by itself
my $citus = CitusNodes->new("dynamo_table.ttl_interval = 1h\ndynamo_table.ttl_probe_interval = 1d");

sub no_workers
{
	wait_for($citus->node($_), q{SELECT count(*) = 0 AND (SELECT now() - pg_postmaster_start_time() > interval '8 s') FROM pg_stat_activity
		WHERE backend_type = 'dynamo_table ttl worker'}) for 0 .. 2;
}

sub put_expired
{
	my ($table) = @_;
	$citus->sql(0, qq{SELECT dyn_put('$table', jsonb_build_object('pk', 'p' || i, 'expires', floor(extract(epoch FROM now())) - 100)::dyn_item)
		FROM generate_series(1, 60) i});
}

$citus->sql(0, q{SELECT dyn_create_table('app', 'pk S'); SELECT dyn_distribute_table('app')});
put_expired('app');
no_workers();

# in the making: a shard seems to be on its way, which waits for the declaration, and what comes then waits for that
my ($shard) = sort keys %{ { $citus->placements('app') } };
my $waits = q{SELECT bool_or(NOT granted) FROM pg_locks WHERE locktype = 'advisory'};
my $enabling = $citus->start(0, 'BEGIN', q{CALL dyn_enable_ttl('app', 'expires')}, qq{DO \$\$ BEGIN WHILE NOT ($waits) LOOP PERFORM pg_sleep(0.01);
	END LOOP; END \$\$},
	'COMMIT');
wait_for($citus->node(0), q{SELECT EXISTS (SELECT FROM pg_stat_activity WHERE query ~ '^DO')});
my $mover = $citus->node(0)->background_psql('postgres');
$mover->query_safe("BEGIN; SELECT lock_shard_metadata(7, ARRAY[$shard])");
my (undef, $errors) = $citus->finish($enabling);
is(join('', @$errors), '', 'time to live is declared');
is($citus->sql($_, q{SELECT status FROM dyn_ttl_tables}), 'ENABLING', "node $_: it is being enabled") for 0 .. 2;
for my $n (0, 1)
{
	my ($out, $err);
	ok($citus->node($n)->psql('postgres', q{CALL dyn_sweep_ttl('app')}, stderr => \$err) != 0, "node $n: no sweep before it is enabled");
	like($err, qr/time to live of table "app" is not enabled\nDETAIL:  Its status is ENABLING/, 'which is said');
	$citus->node($n)->psql('postgres', q{CALL dyn_sweep_ttl()}, stdout => \$out, stderr => \$err);
	is($out, 0, 'nor of all tables');
	like($err, qr/WARNING:  expired items of table "app" were left: its time to live is not enabled yet/, 'with a warning');
}
my $err;
$citus->node(1)->psql('postgres', q{CALL dynamo_internal.sweep_shards('app', 10, 0, true)}, stderr => \$err);
like($err, qr/ERROR:  time to live of table "app" is not enabled yet/, 'a node that does not know yet says so');
is($citus->sql(0, 'SELECT count(*) FROM app'), 60, 'nothing is gone');
$mover->query_safe('COMMIT');
$mover->quit;
wait_for($citus->node(0), 'SELECT count(*) = 0 FROM app');
pass('the items of all nodes are removed at once');

# a worker that has seen no table with time to live finds the one that is distributed, too
my $new = $citus->add;
$citus->sql(0, q{CALL dyn_disable_ttl('app'); SELECT dyn_create_table('late', 'pk S'); CALL dyn_enable_ttl('late', 'expires')});
for my $n (0 .. $new)
{
	$citus->sql($n, q{ALTER SYSTEM SET dynamo_table.ttl_interval = 1});
	$citus->node($n)->restart;
}
$citus->sql(0, q{SELECT dyn_distribute_table('late')});
$citus->move_all('late', $new);
put_expired('late');
wait_for($citus->node(0), 'SELECT count(*) = 0 FROM late');
pass('a node that gets its first shards sweeps them');

done_testing();
