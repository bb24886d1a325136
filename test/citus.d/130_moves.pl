# Shards move, are split and are rebalanced on to a new node while all nodes increment counters and put
# new items under a condition: no call fails, nothing is lost, nothing is done twice.
use strict;
use warnings;

use Test::More;
use CitusNodes;
use DynamoTable;

my $citus = CitusNodes->new;
$citus->sql(0, q{
	SELECT dyn_create_table('app', 'pk S', 'sk S', global_indexes => '{"byKind": {"partition_key": "kind S", "sort_key": "at N"}}');
	SELECT dyn_distribute_table('app')});
my ($increments, $puts) = (0, 0);

my $increment = q{
\set k random(1, 30)
SELECT dyn_update('app', '{"pk":{"S":"c:k"},"sk":{"S":"0"}}', 'ADD n :one', vals => '{":one":{"N":"1"}}');
\sleep 5 ms
};
my $put = q{
\set id random(1, 1000000000000000)
\set k random(1, 200)
SELECT dyn_put('app', '{"pk":{"S":"p:k"},"sk":{"S":":id"},"kind":{"S":"new"},"at":{"N":":id"}}', condition => 'attribute_not_exists(pk)');
\sleep 5 ms
};

# What is there must be what was answered, from each node, by the table and by the index.
sub check
{
	my ($name, $last) = @_;
	for my $n (0 .. $last)
	{
		is($citus->sql($n, q{SELECT sum((i ->> 'n')::int) FROM dyn_scan('app', filter => 'attribute_exists(n)') i}), $increments,
			"$name: node $n reads all increments");
		is($citus->sql($n, q{SELECT count(*) FROM dyn_query('app', 'kind = :k', vals => '{":k":{"S":"new"}}', index_name => 'byKind')}),
			$puts, "$name: node $n reads all items that were put");
	}
	is($citus->sql(0, q{SELECT sum((dyn_get('app', ('{"pk":{"S":"c' || k || '"},"sk":{"S":"0"}}')::dyn_item) ->> 'n')::int) FROM generate_series(1, 30) k}),
		$increments, "$name: each is found by its key");
}

# Do something under load from these nodes, which lasts until it is done.
sub under_load
{
	my ($name, $last, $work) = @_;
	my @increments = map { start_load($citus->node($_), 2, 3600, $increment) } 0 .. $last;
	my @puts = map { start_load($citus->node($_), 1, 3600, $put) } 0 .. $last;
	$increments[$_]{what} = "increments at node $_" for 0 .. $last;
	$puts[$_]{what} = "puts at node $_" for 0 .. $last;
	await_load($citus->node($_), 3) for 0 .. $last;
	$work->();
	stop_load($_) for @increments, @puts;
	my @done = map { finish_load($_) } @increments, @puts;
	is(scalar(grep { !defined } @done), 0, "$name: no call fails")
	  or diag(map { my $run = $_; map { "$run->{what}: $_" } grep { /ERROR/ } split /^/, $run->{err} } @increments, @puts);
	$increments += $_ // 0 for @done[0 .. $last];
	$puts += $_ // 0 for @done[$last + 1 .. $#done];
	check($name, $last);
}

for my $mode ('block_writes', 'force_logical')
{
	my %placements = $citus->placements('app');
	my @shards = (sort keys %placements)[0 .. 3];
	under_load("moves with $mode", 2, sub {
		$citus->move($_, $placements{$_}, 3 - $placements{$_}, $mode) for @shards;
	});
	my %after = $citus->placements('app');
	is(join(' ', map { $after{$_} + $placements{$_} } @shards), '3 3 3 3', "shards have moved with $mode");
}

my $shard = (sort keys %{ { $citus->placements('app') } })[-1];
under_load('a split', 2, sub {
	$citus->sql(0, qq{
		SELECT citus_split_shard_by_split_points(shardid, ARRAY[((shardminvalue::bigint + shardmaxvalue::bigint) / 2)::text],
			(SELECT array_agg(nodeid::int) FROM pg_dist_node WHERE shouldhaveshards), 'block_writes')
		FROM pg_dist_shard WHERE shardid = $shard});
});
is(scalar(keys %{ { $citus->placements('app') } }), 9, 'a shard was split');

my $new;
under_load('a rebalance on to a new node', 2, sub {
	$new = $citus->add;
	$citus->sql(0, q{SELECT rebalance_table_shards(shard_transfer_mode => 'force_logical')});
});
my %placements = $citus->placements('app');
cmp_ok(scalar(grep { $_ == $new } values %placements), '>=', 2, 'the new node has shards');
check('afterwards', $new);
under_load('load from all nodes', $new, sub {
	wait_for($citus->node(0), "SELECT count(*) > $puts + 300 FROM app");
});

done_testing();
