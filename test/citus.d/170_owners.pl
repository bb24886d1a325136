# Tables of several owners, whose shards move under load: no write is lost that was answered.  Citus replicates the
# shards of colocated tables by one subscription for each owner, and does not wait for all of these.
use strict;
use warnings;

use Test::More;
use CitusNodes;
use DynamoTable;

# With one worker for subscriptions, that of one of several owners has not begun when the others have come as far.
my $citus = CitusNodes->new('max_logical_replication_workers = 1');
my @owners = qw(ann joe);
my %done;

my $increment = q{
\set k random(1, 30)
SELECT dyn_update('%s', '{"pk":{"S":"c:k"}}', 'ADD n :one', vals => '{":one":{"N":"1"}}');
\sleep 5 ms
};

# The number of groups in which Citus keeps the shards of these tables on the same nodes.
sub groups
{
	return $citus->sql(0, "SELECT count(DISTINCT colocationid) FROM pg_dist_partition WHERE logicalrelid::text = ANY ('{" . join(',', @_) . "}')");
}

# What a statement warns of.
sub warning
{
	my ($role, $sql) = @_;
	my (undef, undef, $err) = $citus->node(0)->psql('postgres', "SET ROLE $role; $sql", on_error_stop => 1);
	return $err =~ s/^psql:<stdin>:\d+: //mgr;
}

# Move shards of tables while their owners increment counters in them from all nodes.
sub move_under_load
{
	my ($mode, $name, %owner) = @_;
	my %loads;
	for my $table (sort keys %owner)
	{
		local $ENV{PGUSER} = $owner{$table};
		$loads{$table} = [ map { start_load($citus->node($_), 2, 3600, sprintf($increment, $table)) } 0 .. 2 ];
	}
	await_load($citus->node($_), 2 * keys %owner) for 0 .. 2;
	for my $table (sort keys %owner)
	{
		my %placements = $citus->placements($table);
		$citus->move($_, $placements{$_}, 3 - $placements{$_}, $mode) for (sort keys %placements)[ 0 .. 2 ];
	}
	for my $table (sort keys %owner)
	{
		stop_load($_) for @{ $loads{$table} };
		my @counts = map { finish_load($_) } @{ $loads{$table} };
		is(scalar(grep { !defined } @counts), 0, "$name: no call for $table fails") or diag(map { $_->{err} } @{ $loads{$table} });
		$done{$table} += $_ // 0 for @counts;
		is($citus->sql($_, "SELECT sum((item ->> 'n')::int) FROM $table"), $done{$table}, "$name: node $_ reads what was written to $table") for 0 .. 2;
	}
}

for my $owner (@owners)
{
	$citus->sql(0, "CREATE ROLE $owner LOGIN; CREATE SCHEMA $owner AUTHORIZATION $owner");
	is(warning($owner, "SELECT dyn_create_table('$owner.app', 'pk S', distributed => true)"), '', "$owner is not warned");
	$citus->sql(0, "SET ROLE $owner; SELECT dyn_create_table('$owner.beside', 'pk S'); SELECT dyn_distribute_table('$owner.beside')");
}
is(groups("$_.app", "$_.beside"), 1, "tables of $_ are colocated") for @owners;
is(groups(map { "$_.app" } @owners), 2, 'tables of two owners are in two groups');
$citus->sql(0, "SET ROLE ann; SELECT dyn_create_table('ann.$_', 'pk N', distributed => true, shard_count => 3)") for qw(few few2);
is(groups('ann.few', 'ann.few2'), 1, 'tables of as many shards are colocated where their number is given');
$citus->sql(0, q{CREATE TABLE plain (id int PRIMARY KEY); SELECT create_distributed_table('plain', 'id')});
is(groups('plain', 'dynamo_internal.shared_tokens'), 2, 'tokens are not colocated with a table that has a number as its key');
move_under_load('force_logical', 'moves by replication', map { ("$_.app" => $_) } @owners);

# A table that is given to somebody else stays where it is.
$citus->sql(0, q{ALTER TABLE ann.beside OWNER TO joe; GRANT ALL ON SCHEMA ann TO joe});
my $warned = qr/^WARNING:  tables of several owners are colocated with table "app"\nDETAIL:  They belong to ann, joe\..*\nHINT:  .*block_writes/;
like(warning('ann', q{SELECT dyn_table_statistics('ann.app')}), $warned, 'statistics tell of several owners');
is(warning('joe', q{SELECT dyn_table_statistics('joe.app')}), '', '… in this group alone');
like(warning('ann', q{SELECT dyn_create_table('ann.more', 'pk S', distributed => true, colocate_with => 'ann.app')}),
	qr/^WARNING:  tables of several owners .* "more"/,
	'and so does who colocates one more');
is(warning('ann', q{SELECT dyn_create_table('ann.apart', 'pk S', distributed => true)}), '', 'a new table is not colocated with them');
is(groups('ann.app', 'ann.apart', 'joe.app'), 3, '… nor with those of another owner');
$citus->sql(0, 'GRANT SELECT ON ann.apart TO joe');
like(warning('joe', q{SELECT dyn_create_table('joe.more', 'pk S', distributed => true, colocate_with => 'ann.apart')}),
	qr/cannot be distributed\nDETAIL:  The table that it is to be colocated with has another owner/, 'nor if that is asked for');
move_under_load('block_writes', 'moves that block writes', 'ann.app' => 'ann', 'ann.beside' => 'joe');

done_testing();
