# Calls while their shards are moved and split: none is lost, and none is done twice or in a wrong place.
use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use CitusNodes;
use DynamoTable;

my $citus = CitusNodes->new;

$citus->sql(0, q{SELECT dyn_create_table('app', 'pk S', 'sk S'); SELECT dyn_distribute_table('app')});
$citus->sql(0, q{SELECT dyn_put('app', jsonb_build_object('pk', 'p' || i, 'sk', 'x', 'n', 0)::dyn_item) FROM generate_series(0, 19) i});

# Increments from each node, until the last shard has moved: as literals, which are sent; as parameters of
# prepared statements, which are sent as well; and as an expression, which is executed by statements.
my $folder = $PostgreSQL::Test::Utils::tmp_check;
append_to_file("$folder/literal.sql", <<'SQL');
\set p random(0, 19)
SELECT dyn_update('app', '{"pk":{"S":"p:p"},"sk":{"S":"x"}}', 'ADD n :one', vals => '{":one":{"N":"1"}}');
SQL
append_to_file("$folder/prepared.sql", <<'SQL');
\set p random(0, 19)
SELECT format('{"pk":{"S":"p%s"},"sk":{"S":"x"}}', :p::text) AS key, 'ADD n ' || chr(58) || 'one' AS one, '{"' || chr(58) || 'one":{"N":"1"}}' AS vals \gset
SELECT dyn_update('app', :key, :one, vals => :vals);
SQL
append_to_file("$folder/statements.sql", <<'SQL');
\set p random(0, 19)
SELECT dyn_update('app', format('{"pk":{"S":"p%s"},"sk":{"S":"x"}}', :p)::dyn_item, 'ADD n :one', vals => '{":one":{"N":"1"}}');
SQL

sub start_calls
{
	my ($n, $script, $mode) = @_;
	my ($out, $err) = ('', '');
	my $node = $citus->node($n);
	my $run = IPC::Run::start([ 'pgbench', '-n', '-c', '2', '-T', '3600', '-M', $mode, '-h', $node->host, '-p', $node->port, '-f', "$folder/$script.sql",
		'postgres' ],
		'>', \$out, '2>', \$err);
	return { harness => $run, out => \$out, err => \$err };
}

my @loads = (start_calls(0, 'literal', 'simple'), start_calls(1, 'literal', 'simple'), start_calls(2, 'literal', 'simple'),
	start_calls(0, 'prepared', 'prepared'), start_calls(1, 'statements', 'simple'));
await_load($citus->node(0), 4);
await_load($citus->node(1), 4);
await_load($citus->node(2), 2);
for my $move (0 .. 7)
{
	my %placements = $citus->placements('app');
	my ($shard) = (sort keys %placements)[$move];
	$citus->move($shard, $placements{$shard}, 3 - $placements{$shard}, $move % 2 ? 'block_writes' : 'force_logical');
}
my %placements = $citus->placements('app');
for my $shard ((sort keys %placements)[ 0 .. 1 ])
{
	my ($from, $to) = split /\|/, $citus->sql(0, "SELECT shardminvalue, shardmaxvalue FROM pg_dist_shard WHERE shardid = $shard");
	my @nodes = map { $citus->sql(0, sprintf("SELECT nodeid FROM pg_dist_node WHERE nodename = '%s' AND nodeport = %d", $citus->address($_))) } 1, 2;
	$citus->sql(0, sprintf(q{SELECT citus_split_shard_by_split_points(%s, ARRAY['%d'], ARRAY[%d, %d], 'block_writes')},
		$shard, ($from + $to) / 2, @nodes));
}
stop_load($_) for @loads;
my $done = 0;
for my $load (@loads)
{
	$load->{harness}->finish;
	my ($n) = ${ $load->{out} } =~ /actually processed: (\d+)/;
	unlike(${ $load->{err} }, qr/ERROR/, 'no call fails');
	cmp_ok($n, '>', 100, "$n calls");
	$done += $n;
}
is($citus->sql($_, q{SELECT sum((item ->> 'n')::int) FROM app}), $done, "node $_ reads what the calls have done") for 0 .. 2;
is($citus->sql($_, q{SELECT sum((dyn_get('app', jsonb_build_object('pk', 'p' || i, 'sk', 'x')::dyn_item) ->> 'n')::int) FROM generate_series(0, 19) i}),
	$done, '… also by calls') for 0 .. 2;

# Each item is where its key belongs, and nowhere else.
my $misplaced = $citus->sql(0, q{SELECT sum(result::int) FROM run_command_on_shards('app',
	$$SELECT count(*) FROM %1$s, pg_dist_shard s WHERE s.shardid = substring('%1$s' FROM '\d+$')::bigint
		AND NOT hashtext(pk) BETWEEN s.shardminvalue::int AND s.shardmaxvalue::int$$)});
is($misplaced, 0, 'no shard has an item of another one');

# A call whose plan is kept while its shard moves away finds the item.
my $psql = $citus->node(0)->background_psql('postgres', on_error_stop => 0);
my $get = q{SELECT dyn_get('app', '{"pk":{"S":"p1"},"sk":{"S":"x"}}') ->> 'pk'};
$psql->query_safe(q{PREPARE g AS SELECT dyn_get('app', '{"pk":{"S":"p1"},"sk":{"S":"x"}}');
	PREPARE u AS SELECT dyn_update('app', '{"pk":{"S":"p1"},"sk":{"S":"x"}}', 'SET kept = :k', vals => '{":k":{"S":"1"}}')});
$psql->query_safe('EXECUTE g; EXECUTE u');
my ($shard) = $citus->sql(0, q{SELECT get_shard_id_for_distribution_column('app', 'p1')});
my %now = $citus->placements('app');
$citus->move($shard, $now{$shard}, 3 - $now{$shard});
like($psql->query_safe('EXECUTE g'), qr/"p1"/, 'a kept plan finds an item after its shard has moved');
$citus->sql(0, q{SELECT dyn_update('app', '{"pk":{"S":"p1"},"sk":{"S":"x"}}', 'REMOVE kept')});
$psql->query_safe('EXECUTE u');
is($citus->sql($_, q{SELECT item ->> 'kept' FROM app WHERE pk = 'p1'}), 1, "… and writes it, as node $_ reads") for 0 .. 2;
$psql->quit;

done_testing();
