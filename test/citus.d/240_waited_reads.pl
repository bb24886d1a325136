# Reads that wait while a table is distributed, or brought back, see its items or say that the transaction is to be repeated.  The shards
# are on the coordinator, which does not ask itself over a connection: a snapshot from before would not show their rows.
use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;
use CitusNodes;
use DynamoTable;

my $citus = CitusNodes->new;
$citus->sql(0, q{SELECT citus_set_node_property(nodename, nodeport, 'shouldhaveshards', groupid = 0) FROM pg_dist_node});
$citus->sql(0, q{SELECT dyn_create_table('app', 'pk S', 'sk S', global_indexes => '{"I": {"partition_key": "g S"}}');
	SELECT dyn_put('app', jsonb_build_object('pk', 'p' || i % 4, 'sk', i::text, 'g', 'g')::dyn_item) FROM generate_series(1, 20) i});

my $key = q{{"pk":{"S":"p1"},"sk":{"S":"1"}}};
my %reads = (
	get => qq{SELECT count(dyn_get('app', '$key'))},
	query => q{SELECT count(*) FROM dyn_query('app', 'pk = :p', vals => '{":p":{"S":"p1"}}')},
	'query of an index' => q{SELECT count(*) FROM dyn_query('app', 'g = :g', 'I', vals => '{":g":{"S":"g"}}')},
	'get of many' => qq{SELECT count(*) FROM dyn_batch_get('app', ARRAY['$key', '{"pk":{"S":"p2"},"sk":{"S":"2"}}']::dyn_item[])},
	scan => q{SELECT count(*) FROM dyn_scan('app')},
	'query beside others' => q{SELECT count(*) FROM pg_namespace n, dyn_query('app', 'pk = :p', vals => '{":p":{"S":"p1"}}') WHERE nspname = 'public'},
	'get of a transaction' => qq{BEGIN; SELECT count(dyn_get('app', '$key')); COMMIT});
my %expected = (get => 1, query => 5, 'query of an index' => 20, 'get of many' => 2, scan => 20, 'query beside others' => 5, 'get of a transaction' => 1);

# Returns what the reads answer that have waited for a change.
sub meanwhile
{
	my ($change) = @_;
	my $session = $citus->node(0)->background_psql('postgres');
	$session->query_safe("SET client_min_messages = warning; BEGIN; SELECT $change");
	my %runs = map { $_ => $citus->start(0, $reads{$_}) } keys %reads;
	wait_for($citus->node(0), sprintf(q{SELECT count(*) >= %d FROM pg_locks WHERE NOT granted}, scalar(keys %reads)));
	$session->query_safe('COMMIT');
	$session->quit;
	return map { $_ => [ $citus->finish($runs{$_}) ] } keys %runs;
}

my %answers = meanwhile("dyn_distribute_table('app')");
for my $read (sort keys %reads)
{
	my ($out, $errors) = @{ $answers{$read} };
	is("@$out @$errors", "$expected{$read} ", "$read, while the table is distributed");
}
is($citus->sql(0, q{SELECT bool_and(groupid = 0) FROM pg_dist_placement}), 't', 'the shards are on the coordinator');

%answers = meanwhile("dyn_undistribute_table('app')");
for my $read (sort keys %reads)
{
	my ($out, $errors) = @{ $answers{$read} };
	like("@$out @$errors", qr/^ psql:.*ERROR:  table "app" was created or rewritten by a concurrent transaction$/, "$read, while it is brought back");
}
is($citus->sql(0, $reads{$_}), $expected{$_}, "$_, afterwards") for grep { $reads{$_} !~ /BEGIN/ } sort keys %reads;
done_testing();
