# Indexes of a distributed table in use: created, also with writers, locked rows and a worker that dies; dropped.
use strict;
use warnings;

use FindBin;
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;
use CitusNodes;
use DynamoTable;

my $citus = CitusNodes->new;
my $coordinator = $citus->node(0);

sub call
{
	my ($sql) = @_;
	my ($stdout, $stderr) = ('', '');
	my $code = $coordinator->psql('postgres', $sql, stdout => \$stdout, stderr => \$stderr);
	return ($code, $stderr);
}

# Every item that has the attributes is found, and what is found is what the items say.
sub index_is_right
{
	my ($index, $attribute, $what) = @_;
	is($citus->sql(0, qq{
		WITH entries AS (SELECT i FROM dyn_scan('app', '$index') i), items AS (SELECT i FROM dyn_scan('app') i WHERE dynamo_internal.has_attribute(i, '$attribute'))
		SELECT (SELECT count(*) FROM items) > 0, (SELECT count(*) FROM (SELECT i FROM entries EXCEPT ALL SELECT i FROM items) x),
			(SELECT count(*) FROM (SELECT i FROM items EXCEPT ALL SELECT i FROM entries) x)}),
		't|0|0', $what);
}

sub comes_true
{
	my ($sql, $what) = @_;
	ok($coordinator->poll_query_until('postgres', $sql), $what);
}

$citus->sql(0, q{SELECT dyn_create_table('app', 'pk S', 'sk N'); SELECT dyn_distribute_table('app')});
$citus->sql(0, q{SELECT count(dyn_batch_write('app',
	ARRAY(SELECT jsonb_build_object('pk', 'p' || p, 'sk', s, 'v', 'v' || s % 5, 'w', s, 'u', s, 'x', s, 'pad', repeat('x', 200))::dyn_item
	FROM generate_series(1, 25) s))) FROM generate_series(1, 400) p});

# alone
my ($code, $notices) = call(q{CALL dyn_create_index('app', 'ByV', 'v S')});
is($code, 0, 'an index is created');
like($notices, qr/Items filled in: 10000\. /, 'all rows were filled in');
index_is_right('ByV', 'v', 'the index has all items');
is($citus->sql($_, q{SELECT count(*) FROM dyn_query('app', 'v = :v', index_name => 'ByV', vals => '{":v":{"S":"v3"}}')}), 2000, "and node $_ queries it")
  for 0 .. 2;
($code, $notices) = call(q{CALL dyn_create_index('app', 'ByU', 'u S')});
like($notices, qr/Items filled in: 0\. Items with key attributes that are left out: 10000\./, 'keys of another type are left out');

# covering
($code, $notices) = call(q{CALL dyn_create_index('app', 'Column', 'v S', 'w N', covering => true);
	CALL dyn_create_index('app', 'Second', 'v S', 'w N', covering => true)});
is($code, 0, 'covering indexes are created');
index_is_right($_, 'v', "index $_ has all items") for qw(Column Second);

# a worker refuses DDL, as Citus does
my ($out, $err);
ok($citus->node(1)->psql('postgres', q{CALL dyn_create_index('app', 'Elsewhere', 'w N')}, stdout => \$out, stderr => \$err) != 0, 'a worker creates none');
like($err, qr/operation is not allowed on this node/, 'and says why');
is($citus->sql(0, q{SELECT count(*) FROM jsonb_array_elements(dyn_describe_table('app') -> 'GlobalSecondaryIndexes') i
	WHERE i ->> 'IndexName' = 'Elsewhere'}), 0, 'nothing is left of it');

# writers at all nodes, and a row that is locked for a while: it is waited for at the end
my @writers = map { start_load($citus->node($_), 1, 3600, qq{
\\set i random(0, 1000000)
SELECT dyn_put('app', jsonb_build_object('pk', 'p' || 1 + (:i * 7 + $_) % 400, 'sk', 1 + :i % 25, 'v', 'n' || :i, 'w', :i, 'x', :i)::dyn_item);
}) } 0 .. 2;
await_load($citus->node($_), 1) for 0 .. 2;
$citus->sql(0, q{SELECT dyn_put('app', '{"pk":{"S":"q"},"sk":{"N":"1"}}')});
my $locker = $coordinator->background_psql('postgres');
$locker->query_safe(q{BEGIN; SELECT dyn_update('app', '{"pk":{"S":"q"},"sk":{"N":"1"}}', 'SET locked = :l, x = :l', vals => '{":l":{"N":"1"}}')});
my $create = IPC::Run::start([ 'psql', '-XAtq', '-d', $coordinator->connstr('postgres'), '-c', q{CALL dyn_create_index('app', 'ByX', 'x N')} ], '<', \undef,
	'>', \$out, '2>', \$err);
wait_for($coordinator, q{SELECT bool_or(result = 't') FROM run_command_on_all_nodes($$SELECT EXISTS (SELECT FROM pg_stat_activity w, pg_stat_activity h
	WHERE h.state = 'idle in transaction' AND h.pid = ANY (pg_blocking_pids(w.pid)))$$)});
$locker->query_safe('COMMIT');
$locker->quit;
ok($create->finish, 'an index is created beside writers') or diag($err);
stop_load($_) for @writers;
is(scalar(grep { !defined finish_load($_) } @writers), 0, 'no write fails beside it') or diag(map { $_->{err} } @writers);
index_is_right('ByX', 'x', 'it has what they have written');
index_is_right('ByV', 'v', 'the first one, too');
is($citus->sql(0, q{SELECT count(*) FROM dyn_query('app', 'x = :x', index_name => 'ByX', filter => 'locked = :x', vals => '{":x":{"N":"1"}}')}), 1,
	'and the locked item as it was committed');

# UpdateTable, which background workers go on with
$citus->sql(0, q{SELECT dyn_request('UpdateTable', '{"TableName":"app","AttributeDefinitions":[{"AttributeName":"pad","AttributeType":"S"}],
	"GlobalSecondaryIndexUpdates":[
		{"Create":{"IndexName":"ByPad","KeySchema":[{"AttributeName":"pad","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}}]}'::jsonb)});
sub status { return qq{SELECT i ->> 'IndexStatus' FROM jsonb_array_elements(dyn_describe_table('app') -> 'GlobalSecondaryIndexes') i
	WHERE i ->> 'IndexName' = '$_[0]'} }
comes_true("SELECT (" . status('ByPad') . ") = 'ACTIVE'", 'UpdateTable creates an index');
index_is_right('ByPad', 'pad', 'which has all items');
$citus->sql(0, q{SELECT dyn_request('UpdateTable', '{"TableName":"app","GlobalSecondaryIndexUpdates":[{"Delete":{"IndexName":"ByPad"}}]}'::jsonb)});
comes_true("SELECT NOT EXISTS (" . status('ByPad') . ") AND NOT EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'dynamo_table index')",
	'and deletes it');
for my $index (qw(ByU ByV Column Second ByX))
{
	($code, $notices) = call(qq{CALL dyn_drop_index('app', '$index')});
	is($code, 0, "index $index is dropped") or diag($notices);
}
is($citus->sql(0, q{SELECT count(*) FROM run_command_on_placements('app', $$SELECT count(*) FROM pg_attribute WHERE attrelid = '%s'::regclass AND attnum > 0
	AND NOT attisdropped$$) WHERE result <> '3'}), 0, 'with their columns, on all shards');
is($citus->sql(0, q{SELECT count(*) FROM run_command_on_placements('app', $$SELECT bool_and(convalidated) FROM pg_constraint WHERE conrelid = '%s'::regclass
	AND conname ~ '^dynamo_keys'$$) WHERE result <> 't'}), 0, 'and a constraint that is valid');
$citus->sql(0, q{SELECT dyn_create_table('plain', 'pk S', global_indexes => '{"G":{"partition_key":"g S"}}');
	SELECT dyn_put('plain', '{"pk":{"S":"p"},"g":{"S":"g"}}')});
($code, $notices) = call(q{CALL dyn_drop_index('plain', 'G')});
is($citus->sql(0, q{SELECT bool_and(convalidated) FROM pg_constraint WHERE conrelid = 'plain'::regclass AND contype = 'c'}), 't',
	'as it is on a table of one node');

# a worker that dies: the call waits for it, and is finished
$create = IPC::Run::start([ 'psql', '-XAtq', '-d', $coordinator->connstr('postgres'), '-c', q{CALL dyn_create_index('app', 'ByV', 'v S')} ], '<', \undef, '>',
	\$out, '2>', \$err);
comes_true(q{SELECT EXISTS (SELECT FROM dyn_jobs WHERE step ~ 'fill' AND percent IS NOT NULL)}, 'rows are being filled in');
$citus->crash(1);
if (!$create->finish)
{
	# it died in a step that is not asked again: the same call does the rest
	diag($err);
	($code, $notices) = call(q{CALL dyn_create_index('app', 'ByV', 'v S')});
	is($code, 0, 'the same call does the rest') or diag($notices);
}
index_is_right('ByV', 'v', 'the index has all items after a kill -9 of a worker');
is($citus->sql(0, q{SELECT count(*) FROM dyn_scan('app')}), 10001, 'and no item is lost');

done_testing();
