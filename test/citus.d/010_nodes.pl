# A distributed table is one table from each node, new ones as well, and after a node's kill -9.
use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;
use CitusNodes;

my $citus = CitusNodes->new;

sub count_from
{
	my ($n) = @_;
	return $citus->sql($n, q{SELECT sum((i ->> 'n')::int) FROM dyn_scan('app') i});
}

$citus->sql(0, q{SELECT dyn_create_table('app', 'pk S', 'sk S'); SELECT dyn_distribute_table('app')});
for my $n (0 .. 2)
{
	$citus->sql($n, qq{SELECT dyn_put('app', jsonb_build_object('pk', 'p' || i, 'sk', '$n', 'n', i)::dyn_item) FROM generate_series(1, 20) i});
}
is(count_from($_), 630, "node $_ reads what all have put") for 0 .. 2;

my %placements = $citus->placements('app');
is(scalar(keys %placements), 8, 'the table has shards');
is(join(' ', sort { $a <=> $b } values %placements), '1 1 1 1 2 2 2 2', 'and both workers have some');

# A call for one item is for one shard, and commits in one phase.
for my $call (
	q{dyn_put('app', '{"pk":{"S":"p1"},"sk":{"S":"0"},"n":{"N":"1"},"new":{"N":"1"}}')},
	q{dyn_put('app', '{"pk":{"S":"p1"},"sk":{"S":"0"},"n":{"N":"1"}}', condition => 'n = :n', vals => '{":n": {"N": "1"}}')},
	q{dyn_put('app', '{"pk":{"S":"other"},"sk":{"S":"0"}}', condition => 'attribute_not_exists(pk)')},
	q{dyn_update('app', '{"pk":{"S":"other"},"sk":{"S":"0"}}', 'ADD calls :n', vals => '{":n": {"N": "1"}}')},
	q{dyn_delete('app', '{"pk":{"S":"other"},"sk":{"S":"0"}}', return_values => 'ALL_OLD')})
{
	my ($out, $err);
	$citus->node(0)->psql('postgres', "SET citus.log_remote_commands = on; BEGIN; SELECT $call; COMMIT", stdout => \$out, stderr => \$err);
	my %shards = map { $_ => 1 } $err =~ /app_(\d+)/g;
	is(scalar(keys %shards), 1, "one shard: $call") or diag($err);
	unlike($err, qr/ERROR|PREPARE TRANSACTION/, "and one phase: $call");
}

my $new = $citus->add;
is(count_from($new), 630, 'a new node reads it');
$citus->move_all('app', $new);
%placements = $citus->placements('app');
is(join(' ', values %placements), join(' ', ($new) x 8), 'the new node has all shards');
$citus->crash($new);
is(count_from($_), 630, "node $_ reads it from there after a kill -9") for 0 .. $new;

done_testing();
