# Requests over distributed tables: request_as() at the coordinator and at a worker, and the gateway in front of both.
use strict;
use warnings;

use FindBin;
use HTTP::Tiny;
use IPC::Run;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;
use CitusNodes;
use DynamoTable;

my $citus = CitusNodes->new;

# What the documents say: roles from the coordinator, EXECUTE on each node.
$citus->sql(0, q{CREATE ROLE gateway LOGIN NOINHERIT; CREATE ROLE shop LOGIN; GRANT CREATE ON SCHEMA public TO shop; GRANT shop TO gateway;
	CREATE ROLE mute; GRANT mute TO gateway});
$citus->sql($_, q{GRANT EXECUTE ON FUNCTION dynamo_internal.request_as, dynamo_internal.gateway_keys TO gateway}) for 0 .. 2;
$citus->sql(0, q{SET ROLE shop; SELECT dyn_create_table('shop', 'pk S', 'sk S'); SELECT dyn_distribute_table('shop'); GRANT SELECT, INSERT ON shop TO mute});

my %key = (pk => { S => 'a' }, sk => { S => '1' });

# Answer, or the error, as the role.
sub request_as
{
	my ($n, $role, $operation, $request) = @_;
	my ($result, $out, $err) = $citus->node($n)->psql('postgres', sprintf('SELECT dynamo_internal.request_as(%s, %s, %s)',
		map { "'$_'" } $role, $operation, encode_json($request)), extra_params => [ '-U', 'gateway' ]);
	return $result == 0 ? decode_json($out) : { error => $err };
}

for my $n (0, 1)
{
	for my $i (1 .. 8)
	{
		request_as($n, 'shop', 'PutItem', { TableName => 'shop', Item => { pk => { S => "p$i" }, sk => { S => "$n" }, n => { N => '1' } } });
	}
	is(request_as($n, 'shop', 'Scan', { TableName => 'shop', Select => 'COUNT' })->{Count}, 8 * ($n + 1), "requests at node $n write to all nodes");
	is_deeply(request_as($n, 'shop', 'UpdateItem', { TableName => 'shop', Key => { pk => { S => 'p1' }, sk => { S => "$n" } }, UpdateExpression => 'ADD n :one',
		ExpressionAttributeValues => { ':one' => { N => '1' } }, ReturnValues => 'UPDATED_NEW' }), { Attributes => { n => { N => '2' } } }, 'an update');
	like(request_as($n, 'shop', 'DeleteItem', { TableName => 'shop', Key => { pk => { S => 'p1' }, sk => { S => "$n" } }, ConditionExpression => 'n > :n',
		ExpressionAttributeValues => { ':n' => { N => '2' } } })->{error}, qr/conditional request failed/, 'a condition');
	is_deeply(request_as($n, 'shop', 'TransactWriteItems',
		{ TransactItems => [ map { { Put => { TableName => 'shop', Item => { pk => { S => "t$_" }, sk => { S => "$n" } } } } } 1 .. 8 ] }),
		{}, 'a transaction over shards');
	is(@{ request_as($n, 'shop', 'TransactGetItems',
		{ TransactItems => [ map { { Get => { TableName => 'shop', Key => { pk => { S => "t$_" }, sk => { S => "$n" } } } } } 1 .. 8 ] })->{Responses} },
		8, 'and one that reads');
	is(@{ request_as($n, 'shop', 'BatchGetItem', { RequestItems => {
		shop => { Keys => [ map { { pk => { S => "t$_" }, sk => { S => "$n" } } } 1 .. 8 ] } } })->{Responses}{shop} }, 8, 'a batch');
	request_as($n, 'shop', 'BatchWriteItem', { RequestItems => {
		shop => [ map { { DeleteRequest => { Key => { pk => { S => "t$_" }, sk => { S => "$n" } } } } } 1 .. 8 ] } });
	is(@{ request_as($n, 'shop', 'ExecuteStatement', { Statement => q{SELECT * FROM shop WHERE begins_with(pk, ''t'')} })->{Items} }, 0,
		'and one that writes, and a statement');
	# rights
	like(request_as($n, 'postgres', 'Scan', { TableName => 'shop' })->{error}, qr/is a superuser/, 'no superuser');
	like(request_as($n, 'mute', 'DeleteItem', { TableName => 'shop', Key => \%key })->{error}, qr/not authorized to perform: dynamodb:DeleteItem/,
		'privileges count');
	like(request_as($n, 'mute', 'Scan', { TableName => 'shop' })->{error}, qr/role "mute" is not permitted to log in.*rights of role "mute"/s,
		'a role without LOGIN cannot reach other nodes');
}

# the program
SKIP:
{
	my $program = $ENV{GATEWAY};
	skip 'the gateway is not built', 6 unless $program;

	my ($log, @gateways, @urls);
	for my $n (0, 1)
	{
		my $file = PostgreSQL::Test::Utils::tempdir() . '/log';
		push @gateways, IPC::Run::start([ $program, '--listen', '127.0.0.1:0', '--auth', 'none', '--auth-role', 'shop', '--database',
			'user=gateway dbname=postgres ' . join(' ', map { "$_->[0]=$_->[1]" } [ host => $citus->node($n)->host ], [ port => $citus->node($n)->port ]) ],
			'>', $file, '2>&1');
		my $address;
		wait_until('the gateway listens', sub {
			my $said = -e $file ? slurp_file($file) : '';
			die "the gateway does not listen: $said" if !$gateways[-1]->pumpable;
			($address) = $said =~ /listening.* address=(\S+)/;
			return ($address, $said);
		});
		push @urls, "http://$address/";
	}
	my $http = HTTP::Tiny->new;
	my $call = sub
	{
		my ($n, $operation, $request) = @_;
		return $http->post($urls[$n], { headers => { 'X-Amz-Target' => "DynamoDB_20120810.$operation", 'Content-Type' => 'application/x-amz-json-1.0' },
			content => encode_json($request) });
	};
	is($call->($_, 'PutItem', { TableName => 'shop', Item => \%key })->{status}, 200, "the gateway of node $_") for 0, 1;

	# an item that a client was told of is there, whatever happens to a worker
	my (%told, %status);
	my $end = time + $PostgreSQL::Test::Utils::timeout_default;
	for (my ($i, $failed) = (0, 0); ($failed < 20 || !$status{500}) && time < $end; $i++)
	{
		kill KILL => $citus->node(2)->{_pid} if $i == 50;
		my $status = $call->($i % 2, 'PutItem', { TableName => 'shop', Item => { pk => { S => "k$i" }, sk => { S => '1' } } })->{status};
		$told{"k$i"} = 1 if $status == 200;
		$status{$status}++;
		$failed++ if $status != 200;
	}
	note explain \%status;
	ok($status{500} && !grep({ !/^(200|500|503)$/ } keys %status), 'writes to a dead worker fail in a way that SDKs repeat');
	$citus->crash(2);
	my %there = map { $_ => 1 } split /\n/, $citus->sql(0, q{SELECT pk FROM shop WHERE starts_with(pk, 'k')});
	is_deeply([ grep { !$there{$_} } keys %told ], [], 'writes that were answered are there');
	is($call->($_, 'PutItem', { TableName => 'shop', Item => \%key })->{status}, 200, "gateways go on, $_") for 0, 1;
	$_->kill_kill for @gateways;
}

done_testing();
