# With dynamo_table.distribute_new_tables, CreateTable at any node makes a distributed table, and a worker has the coordinator carry out
# what changes one.
use strict;
use warnings;

use JSON::PP;
use Test::More;
use CitusNodes;
use DynamoTable;

my $citus = CitusNodes->new("citus.enable_change_data_capture = on\ndynamo_table.distribute_new_tables = on");
$citus->sql($_, 'CALL dyn_setup_streams()') for 0 .. 2;

sub request
{
	my ($n, $operation, $request) = @_;
	return decode_json($citus->sql($n, "SELECT dyn_request('$operation', \$j\$" . JSON::PP->new->canonical->encode($request) . "\$j\$)"));
}

sub fails
{
	my ($n, $before, $operation, $request, $like, $name) = @_;
	my ($status, undef, $err) = $citus->node($n)->psql('postgres',
		"\\set VERBOSITY verbose\n$before SELECT dyn_request('$operation', \$j\$" . JSON::PP->new->canonical->encode($request) . "\$j\$)");
	like($err, $like, "node $n: $name");
}

sub definition
{
	my ($name, %more) = @_;
	return { TableName => $name, BillingMode => 'PAY_PER_REQUEST',
		AttributeDefinitions => [ map { { AttributeName => $_, AttributeType => 'S' } } 'pk', 'sk', 'g' ],
		KeySchema => [ { AttributeName => 'pk', KeyType => 'HASH' }, { AttributeName => 'sk', KeyType => 'RANGE' } ],
		GlobalSecondaryIndexes => [ { IndexName => 'ByG', KeySchema => [ { AttributeName => 'g', KeyType => 'HASH' } ],
			Projection => { ProjectionType => 'ALL' } } ],
		Tags => [ { Key => 'team', Value => 'blue' } ], %more };
}

for my $n (0 .. 2)
{
	my $name = "made_$n";
	my $table = request($n, 'CreateTable', definition($name, StreamSpecification => { StreamEnabled => JSON::PP::true, StreamViewType => 'NEW_IMAGE' }))
		->{TableDescription};
	is($table->{TableStatus}, 'ACTIVE', "node $n creates a table");
	ok($table->{LatestStreamArn}, 'with a stream');
	for my $m (0 .. 2)
	{
		my $described = request($m, 'DescribeTable', { TableName => $name })->{Table};
		is("$described->{TableId} $described->{LatestStreamArn} $described->{GlobalSecondaryIndexes}[0]{IndexName}",
			"$table->{TableId} $table->{LatestStreamArn} ByG", "which node $m has, too");
		is($citus->sql($m, "SELECT count(*) FROM pg_dist_shard WHERE logicalrelid = '$name'::regclass"), 8, 'with its shards');
		is(request($m, 'ListTagsOfResource', { ResourceArn => $table->{TableArn} })->{Tags}[0]{Value}, 'blue', 'and its tags');
		request($m, 'PutItem', { TableName => $name, Item => { pk => { S => "p$m" }, sk => { S => 'a' }, g => { S => 'g' } } });
	}
	is(request($n, 'Scan', { TableName => $name, Select => 'COUNT' })->{Count}, 3, 'items are written at all nodes');
	is(request($n, 'Query', { TableName => $name, IndexName => 'ByG', KeyConditionExpression => 'g = :g', ExpressionAttributeValues => { ':g' => { S => 'g' } },
		Select => 'COUNT' })->{Count}, 3, 'and are in the index');
	$citus->sql($_, 'CALL dyn_collect_streams()') for 0 .. 2;
	wait_until('the stream is described', sub {
		my $shards = () = @{ request($n, 'DescribeStream', { StreamArn => $table->{LatestStreamArn} })->{StreamDescription}{Shards} };
		return ($shards == 8, $shards);
	});
}

# what changes a table
for my $n (1, 2)
{
	my $name = "made_$n";
	fails($n, '', 'CreateTable', definition($name), qr/ERROR:  YD009: .*$name/, 'a table that is there');
	fails($n, '', 'CreateTable', definition('wrong', KeySchema => [ { AttributeName => 'none', KeyType => 'HASH' } ]), qr/ERROR:  YD001: /,
		'a wrong definition');
	fails($n, 'BEGIN;', 'CreateTable', definition('late'), qr/ERROR:  25001: CreateTable of a distributed table cannot be part of a transaction here/,
		'not within a transaction');
	is(request($n, 'UpdateTable', { TableName => $name, DeletionProtectionEnabled => JSON::PP::true })->{TableDescription}{DeletionProtectionEnabled}, 1,
		"node $n updates a table");
	fails($n, '', 'DeleteTable', { TableName => $name }, qr/ERROR:  YD001: .*protect/i, 'deletion protection');
	request($n, 'UpdateTable', { TableName => $name, DeletionProtectionEnabled => JSON::PP::false });
	is(request($n, 'UpdateTable', { TableName => $name, StreamSpecification => { StreamEnabled => JSON::PP::false } })->{TableDescription}{StreamSpecification},
		undef, 'disables its stream');
	request($n, 'UpdateTimeToLive', { TableName => $name, TimeToLiveSpecification => { Enabled => JSON::PP::true, AttributeName => 'expires' } });
	wait_for($citus->node($n), "SELECT status = 'ENABLED' FROM dyn_ttl_tables WHERE relation = '$name'::regclass");
	request($n, 'UpdateTable', { TableName => $name, AttributeDefinitions => [ { AttributeName => 'h', AttributeType => 'S' } ],
		GlobalSecondaryIndexUpdates => [ { Create => { IndexName => 'ByH', KeySchema => [ { AttributeName => 'h', KeyType => 'HASH' } ],
			Projection => { ProjectionType => 'ALL' } } } ] });
	wait_for($citus->node($n), "SELECT bool_or(i ->> 'IndexName' = 'ByH' AND i ->> 'IndexStatus' = 'ACTIVE')
		FROM jsonb_array_elements(dyn_describe_table('$name') -> 'GlobalSecondaryIndexes') i");
	pass('and has time to live and an index made');
	request($n, 'DeleteTable', { TableName => $name });
	is($citus->sql($_, "SELECT to_regclass('$name') IS NULL"), 't', "node $_ has it no more") for 0 .. 2;
}

# the rights and the search_path are the caller's
$citus->sql(0, q{CREATE ROLE maker LOGIN; CREATE ROLE other LOGIN; CREATE SCHEMA shop AUTHORIZATION maker; CREATE ROLE asleep});
$citus->sql(1, q{SET ROLE maker; SET search_path = shop, public; SELECT dyn_request('CreateTable', '} . JSON::PP->new->encode(definition('orders')) . q{')});
is($citus->sql(2, q{SELECT relowner::regrole FROM pg_class WHERE oid = 'shop.orders'::regclass}), 'maker', 'a table is made where the caller would make it');
# as a gateway sends it
my $deleted = decode_json($citus->sql(2, q{SET search_path = shop, public;
	SELECT dynamo_internal.request_as('maker', 'CreateTable', '} . JSON::PP->new->encode(definition('shop.sent')) . q{', 'eu-west-1')}));
like($deleted->{TableDescription}{TableArn}, qr/^arn:aws:dynamodb:eu-west-1:.*sent$/, 'a gateway creates a table, in its region');
is($citus->sql(0, q{SELECT count(*) FROM pg_dist_partition WHERE logicalrelid = 'shop.sent'::regclass}), 1, 'at the coordinator');
fails(1, 'SET ROLE other; SET search_path = shop, public;', 'DeleteTable', { TableName => 'orders' }, qr/ERROR:  YD0\d\d: |ERROR:  42501/,
	'others do not delete it');
fails(1, 'SET ROLE other; SET search_path = shop, public;', 'CreateTable', definition('mine'), qr/ERROR:  (YD0\d\d|42501|3F000): /,
	'nor create any in that schema');
is($citus->sql(0, q{SELECT count(*) FROM pg_dist_partition WHERE logicalrelid::text ~ 'orders'}), 1, 'it is there still');
fails(1, 'SET ROLE asleep;', 'CreateTable', definition('x'), qr/ERROR:  08006: the coordinator cannot carry out the request/i, 'a role that cannot log in');
fails(0, '', 'CreateTable', definition('late', StreamSpecification => { StreamEnabled => JSON::PP::true }), qr/ERROR:  YD001/, 'an incomplete stream');
is($citus->sql($_, q{SELECT to_regclass('late') IS NULL AND to_regclass('x') IS NULL}), 't', "node $_ has nothing of what was refused") for 0 .. 2;
for my $sql (q{SELECT dynamo_internal.coordinator_request('PutItem', '{}', 'public', '')},
	q{SELECT dynamo_internal.coordinator_request('DeleteTable', NULL, 'public', '')})
{
	ok($citus->node(0)->psql('postgres', $sql) != 0, "refused: $sql");
}
$citus->node(0)->stop;
fails(1, '', 'CreateTable', definition('down'), qr/ERROR:  \S+: the coordinator cannot carry out the request/i, 'nor without the coordinator');
fails(1, '', 'GetItem', { TableName => 'made_0', Key => { pk => { S => 'p1' }, sk => { S => 'a' } } }, qr/^$/, 'while items are read');

done_testing();
