# Whose rights code of a table's owner has, on all nodes, when a superuser distributes the table, works on it, and takes it
# back.  What runs says so in the servers' logs, which no ROLLBACK takes back.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;
use CitusNodes;

my $citus = CitusNodes->new;
my @read = (0) x 3;

# What has run since the last look, and as whom.
sub ran
{
	my %ran;
	for my $n (0 .. 2)
	{
		my $log = slurp_file($citus->node($n)->logfile, $read[$n]);
		$read[$n] += length $log;
		$ran{"$1 as $2"}++ while $log =~ /owner's (\w+) runs as (\w+)/g;
	}
	return join ', ', sort keys %ran;
}

# Whether what a superuser calls runs the owner's code, and with no other rights.
sub by_superuser
{
	my ($call, $what) = @_;
	my ($code, $err) = $citus->call(0, $call);
	is($code, 0, $call) or diag($err);
	is(ran(), join(', ', map { "$_ as hostile" } @$what), '… runs code with its owner\'s rights');
}

$citus->sql(0, q{
	CREATE ROLE hostile LOGIN; CREATE SCHEMA hostile AUTHORIZATION hostile; SET ROLE hostile;
	CREATE FUNCTION hostile.tell(what text, value text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS
		$$ BEGIN RAISE LOG 'owner''s % runs as %', what, current_user; RETURN value; END $$;
	SELECT dyn_create_table('hostile.t', 'pk S');
	ALTER TABLE hostile.t ADD COLUMN made text GENERATED ALWAYS AS (hostile.tell('column', pk)) STORED,
		ADD CHECK (hostile.tell('constraint', pk) = pk);
	CREATE INDEX ON hostile.t (hostile.tell('index', pk));
	SELECT count(dyn_put('hostile.t', jsonb_build_object('pk', 'p' || i, 'a', 'a')::dyn_item)) FROM generate_series(1, 40) i});
ran();

# The table of tokens is made with the first distributed table, whoever makes that.
$citus->sql(0, q{SET ROLE hostile; SET citus.shard_replication_factor = 2; SET citus.shard_count = 1;
	SELECT dyn_create_table('hostile.first', 'pk S', distributed => true)});
is($citus->sql(0, q{SELECT repmodel, count(*) FROM pg_dist_partition JOIN pg_dist_shard USING (logicalrelid) JOIN pg_dist_placement USING (shardid)
	WHERE logicalrelid = 'dynamo_internal.shared_tokens'::regclass GROUP BY 1}), 's|32', 'settings of a role are not those of the tokens of all');

by_superuser(q{SELECT dyn_distribute_table('hostile.t')}, [qw(column constraint index)]);
by_superuser(q{CALL dyn_create_index('hostile.t', 'byA', 'a S')}, [qw(constraint)]);
by_superuser(q{CALL dyn_backfill('hostile.t', 'SET b = :b', NULL, vals => '{":b": {"S": "b"}}')}, [qw(constraint)]);
for my $call (
	q{SELECT * FROM dyn_check_table('hostile.t')}, q{SELECT * FROM dyn_table_statistics('hostile.t')}, q{SELECT * FROM dyn_index_violations('hostile.t')},
	q{CALL dyn_enable_ttl('hostile.t', 'e')}, q{CALL dyn_sweep_ttl('hostile.t')}, q{CALL dyn_disable_ttl('hostile.t')},
	q{CALL dyn_create_index('hostile.t', 'byKey', 'a S', distribution => 'key')}, q{CALL dyn_drop_index('hostile.t', 'byKey')},
	q{SELECT dyn_describe_table('hostile.t')})
{
	my ($code, $err) = $citus->call(0, $call);
	is($code, 0, $call) or diag($err);
	unlike(ran(), qr/ as (?!hostile)/, '… runs no code with other rights');
}

# Items that policies hide from the owner, too, would not be copied.
$citus->sql(0, q{SET ROLE hostile; CREATE POLICY seen ON hostile.t USING (pk < 'p2');
	ALTER TABLE hostile.t ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY});
for my $role (qw(hostile postgres))
{
	$citus->fails(0, "SET ROLE $role; SELECT dyn_undistribute_table('hostile.t')",
		qr/cannot be made a table of one node\n.*Row-level security is forced on its owner/,
		"$role loses no items");
}
$citus->sql(0, q{SET ROLE hostile; ALTER TABLE hostile.t NO FORCE ROW LEVEL SECURITY});
ran();
by_superuser(q{SELECT dyn_undistribute_table('hostile.t')}, [qw(column constraint index)]);
is($citus->sql(0, q{SELECT count(*), min(tableowner) FROM hostile.t, pg_tables WHERE schemaname = 'hostile' AND tablename = 't'}), '40|hostile',
	'the items are there, and the table is its owner\'s');
$citus->sql(0, q{SET ROLE hostile; ALTER TABLE hostile.t FORCE ROW LEVEL SECURITY});
for my $role (qw(hostile postgres))
{
	$citus->fails(0, "SET ROLE $role; SELECT dyn_distribute_table('hostile.t')", qr/cannot be distributed\n.*Row-level security is forced on its owner/,
		"$role distributes no table with them");
}

done_testing();
