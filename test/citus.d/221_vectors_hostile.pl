# Vector indexes of distributed tables: what roles with some rights make of samples, marks of the store, and code of owners.
use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;
use CitusNodes;
use DynamoTable;

my $citus = CitusNodes->new;

# The node of a shard of a table, and the shard, by a key.
sub shard_of
{
	my ($table, $key) = @_;
	my ($shard, $place) = split /\|/, $citus->sql(0, qq{SELECT s.shardid, n.nodename || ':' || n.nodeport FROM pg_dist_shard s
		JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node n USING (groupid)
		WHERE s.shardid = get_shard_id_for_distribution_column('$table', '$key'::text)});
	return ($place eq join(':', $citus->address(1)) ? 1 : 2, "${table}_$shard");
}

my @v = map { qq({"N":"$_"}) } 0 .. 9;
$citus->sql($_, 'CREATE EXTENSION IF NOT EXISTS vector') for 0;
$citus->sql(0, q{CREATE ROLE owner LOGIN; CREATE ROLE other LOGIN; CREATE ROLE caller LOGIN; GRANT CREATE ON SCHEMA public TO owner, other, caller;
	SET ROLE owner; SELECT dyn_create_table('app', 'pk S', 'sk N', distributed => true)});
$citus->sql(0, q{SET ROLE owner; CALL dyn_create_vector_index('app', 'near', 'v', 2, 'EUCLIDEAN', filters => ARRAY['secret S'])});
$citus->sql(0, qq{SET ROLE owner; SELECT dyn_put('app', '{"pk":{"S":"$_->[0]"},"sk":{"N":"1"},"secret":{"S":"$_->[0]"},"v":{"L":[$v[$_->[1]],$v[0]]}}')})
	for [ 'mine', 1 ], [ 'hers', 5 ], [ 'his', 6 ], [ 'its', 7 ];
$citus->sql(0, q{SET ROLE owner; GRANT SELECT, INSERT, UPDATE, DELETE ON app TO caller; ALTER TABLE app ENABLE ROW LEVEL SECURITY;
	CREATE POLICY p ON app USING (pk = 'mine')});

# A sample of what policies hide is refused, where its size would tell of that.
my $definition = q{{"name":"near","attribute":"v","dimensions":2,"distance":"EUCLIDEAN","method":"exact","projection":"ALL","filters":["secret S"]}};
my ($home, $mine) = shard_of('app', 'mine');
for ([ 0, 'app' ], [ 1, 'app' ], [ 2, 'app' ], [ $home, $mine ])
{
	my ($n, $relation) = @$_;
	$citus->fails($n, qq{SET ROLE caller; SET citus.override_table_visibility = off;
		SELECT pk FROM $relation TABLESAMPLE dynamo_internal.nearest('$definition', '{1,0}', '', '{}', '{}', 9, true)},
		qr/cannot be sampled under row-level security/, "a sample of $relation at node $n");
	is($citus->sql($n, q{SET ROLE caller; SELECT item ->> 'pk', score FROM dyn_search('app', 'near', '{5,0}', 5)}), 'mine|4', 'a search is not');
}

# What a statement reads is not what it writes: entries of items that policies hide stay as they are.
for my $key ('hers', 'his', 'its', 'mine')
{
	my ($n, undef) = shard_of('app', $key);
	next if $n != $home;
	my $item = qq{{"pk":{"S":"$key"},"sk":{"N":"1"},"secret":{"S":"forged"},"v":{"L":[$v[9],$v[9]]}}};
	my ($code, $err) = $citus->call($n, qq{SET ROLE caller; SET citus.enable_manual_changes_to_shards = on; SET citus.override_table_visibility = off;
		CREATE TEMP TABLE forged (LIKE $mine); INSERT INTO forged (item, pk, sk) VALUES ('$item', '$key', 1);
		UPDATE $mine SET item = item WHERE pk = 'mine' AND EXISTS (SELECT FROM forged WHERE dynamo_internal.entries_kept(item))
		RETURNING dynamo_internal.entries_kept(item)});
	is($code, 0, "a writer has an item of $key read") or diag($err);
	is($citus->sql(0, q{SELECT object, problem FROM dyn_check_table('app')}), '', '… and no entry of it is written');
	$citus->call($n, qq{SET ROLE caller; SET citus.enable_manual_changes_to_shards = on; SET citus.override_table_visibility = off;
		CREATE TEMP TABLE forged (LIKE $mine); INSERT INTO forged (item, pk, sk) VALUES ('$item', '$key', 1);
		DELETE FROM $mine WHERE pk = 'mine' AND NOT EXISTS (SELECT FROM forged WHERE dynamo_internal.entries_kept(item))
		RETURNING dynamo_internal.entries_kept(item)});
	is($citus->sql(0, q{SELECT object, problem FROM dyn_check_table('app')}), '', '… nor deleted');
}
my $version = $citus->sql(0, 'SHOW server_version_num');
my $returning = sub { $version >= $_[0] ? "RETURNING dynamo_internal.entries_kept($_[1])" : '' };
$citus->fails($home, qq{SET ROLE caller; SET citus.enable_manual_changes_to_shards = on; SET citus.override_table_visibility = off; $_},
	qr/can be written by calls and requests only/, "a statement that would leave a wrong entry: $_")
	for "MERGE INTO $mine a USING (SELECT 'mine' AS pk) b ON a.pk = b.pk WHEN MATCHED THEN DELETE " . $returning->(170000, 'a.item'),
	"UPDATE $mine SET item = item " . $returning->(180000, 'old.item');

# The owner's role reads entries under policies: code of the owner would find temporary tables.
$citus->fails(0, q{SET ROLE caller; CREATE TEMP TABLE t (); SELECT * FROM dyn_search('app', 'near', '{1,0}', 1)},
	qr/session with temporary tables/, 'a session with temporary tables is refused');

# A definition by hand names the table of another role, which stays one in the session that meets it.
$citus->sql(0, q{SET ROLE other; SELECT dyn_create_table('prey', 'pk S', 'sk N', distributed => true);
	SELECT dyn_put('prey', '{"pk":{"S":"x"},"sk":{"N":"1"}}'); GRANT SELECT ON prey TO caller});
$citus->sql(0, q{SET ROLE owner; ALTER TABLE app DISABLE ROW LEVEL SECURITY});
my $check = $citus->sql(0, q{SELECT replace(pg_get_constraintdef(oid), 'app_near', 'prey') FROM pg_constraint
	WHERE conrelid = 'app'::regclass AND conname = 'dynamo_definition'});
$citus->sql(0, qq{SET ROLE owner; ALTER TABLE app DROP CONSTRAINT dynamo_definition; ALTER TABLE app ADD CONSTRAINT dynamo_definition $check});
my ($out, $err) = ('', '');
$citus->node($home)->psql('postgres', qq{SET ROLE caller; SELECT dyn_get('prey', '{"pk":{"S":"x"},"sk":{"N":"1"}}') ->> 'pk';
	SELECT dyn_put('app', '{"pk":{"S":"mine"},"sk":{"N":"1"},"v":{"L":[$v[1],$v[0]]}}');
	SELECT dyn_get('prey', '{"pk":{"S":"x"},"sk":{"N":"1"}}') ->> 'pk'}, stdout => \$out, stderr => \$err, on_error_stop => 0);
is($out, "x\nx", 'the table of another role is as it was');
like($err, qr/^psql:[^\n]*relation "prey" does not have the entries of vector index "near" of table "app_?\d*"/, 'and has no entries');
done_testing();
