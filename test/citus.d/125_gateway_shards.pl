# A gateway sends a request about one item, or one item collection, to the node that has the shard: by OIDs of roles that
# differ between nodes, while shards are moved and split, and while nodes come and go.
use strict;
use warnings;

use Digest::SHA qw(sha256_hex hmac_sha256 hmac_sha256_hex);
use FindBin;
use HTTP::Tiny;
use IPC::Run;
use JSON::PP;
use POSIX qw(strftime);
use PostgreSQL::Test::Utils;
use Test::More;
use CitusNodes;
use DynamoTable;

my $program = $ENV{GATEWAY} or plan skip_all => 'the gateway is not built';
my $citus = CitusNodes->new;
my $json = JSON::PP->new->canonical;
my $http = HTTP::Tiny->new(timeout => 60);

# Roles that are made on a node alone let OIDs differ.
$citus->sql(1, 'SET citus.enable_ddl_propagation = off; ' . join(';', map { "CREATE ROLE only_here$_" } 1 .. 7));
$citus->sql(0, q{CREATE ROLE gateway LOGIN NOINHERIT; CREATE ROLE shop LOGIN; CREATE ROLE "te'n ant" LOGIN; GRANT CREATE ON SCHEMA public TO shop;
	GRANT shop, "te'n ant" TO gateway});
$citus->sql($_, q{GRANT EXECUTE ON FUNCTION dynamo_internal.request_as, dynamo_internal.gateway_keys TO gateway}) for 0 .. 2;
isnt($citus->sql(0, q{SELECT 'shop'::regrole::oid}), $citus->sql(1, q{SELECT 'shop'::regrole::oid}), 'a role has other OIDs on other nodes');

# Tables of all types of keys, by SQL literals of the keys of items
my %key = (
	s => sub { +{ S => "p$_[0]ä\"\\" } },
	n => sub { +{ N => $_[0] % 2 ? "-$_[0].250e3" : "$_[0]00.0" } },
	b => sub { +{ B => [ 'AAEC', 'Af8=', '/wAB', 'gIA=', '/w==' ]->[ $_[0] % 5 ] } });
$citus->sql(0, qq{SET ROLE shop; SELECT dyn_create_table('$_', 'pk ' || upper('$_'), 'sk S'); SELECT dyn_distribute_table('$_')}) for sort keys %key;

my $folder = PostgreSQL::Test::Utils::tempdir();
my %secret;
my @gateways;

# Starts a gateway in front of a node, and returns it.
sub start_gateway
{
	my ($n, @settings) = @_;
	my %gateway = (log => "$folder/log" . @gateways);
	push @settings, '--auth', 'none', '--auth-role', 'shop' unless grep { $_ eq '--key-file' } @settings;
	$gateway{run} = IPC::Run::start([ $program, '--listen', '127.0.0.1:0', '--metrics', '--database',
		'user=gateway dbname=postgres host=' . $citus->node($n)->host . ' port=' . $citus->node($n)->port, @settings ], '>', $gateway{log}, '2>&1');
	wait_until('the gateway listens', sub {
		my $said = -e $gateway{log} ? slurp_file($gateway{log}) : '';
		die "the gateway does not listen: $said" if !$gateway{run}->pumpable;
		($gateway{address}) = $said =~ /listening.* address=(\S+)/;
		return ($gateway{address}, $said);
	});
	push @gateways, \%gateway;
	return \%gateway;
}

# Signs a request by Signature Version 4, if the gateway asks for that.
sub headers
{
	my ($address, $target, $body, $key) = @_;
	my %headers = ('x-amz-target' => $target, 'content-type' => 'application/x-amz-json-1.0');
	return \%headers unless $key;
	my $date = strftime('%Y%m%dT%H%M%SZ', gmtime);
	my @scope = (substr($date, 0, 8), 'eu-west-1', 'dynamodb', 'aws4_request');
	my $canonical = join("\n", 'POST', '/', '', "host:$address", "x-amz-date:$date", "x-amz-target:$target", '', 'host;x-amz-date;x-amz-target', sha256_hex($body));
	my $sign = "AWS4$secret{$key}";
	$sign = hmac_sha256($_, $sign) for @scope;
	my $signature = hmac_sha256_hex(join("\n", 'AWS4-HMAC-SHA256', $date, join('/', @scope), sha256_hex($canonical)), $sign);
	return { %headers, 'x-amz-date' => $date, authorization =>
		"AWS4-HMAC-SHA256 Credential=$key/@{[ join('/', @scope) ]}, SignedHeaders=host;x-amz-date;x-amz-target, Signature=$signature" };
}

sub call
{
	my ($gateway, $operation, $request, $key) = @_;
	my $body = $json->encode($request);
	my $answer = $http->post("http://$gateway->{address}/",
		{ headers => headers($gateway->{address}, "DynamoDB_20120810.$operation", $body, $key), content => $body });
	return { status => $answer->{status}, body => $answer->{status} == 599 ? $answer->{content} : $json->decode($answer->{content}) };
}

# Figures of /metrics: of the names, and of the label of a node where there is one.
sub metric
{
	my ($gateway, $name, $n, $label) = @_;
	my $node = defined $n ? join(':', $citus->address($n)) : '';
	my $line = defined $n ? qq($name\{node="$node",$label\}) : $name;
	my ($value) = $http->get("http://$gateway->{address}/metrics")->{content} =~ /^\Q$line\E (\S+)$/m;
	return $value;
}

sub sent { return map { metric($_[0], 'dynamo_node_requests_total', $_, 'sent_to="node"') // 0 } 1, 2 }
sub not_sent { return map { metric($_[0], 'dynamo_node_requests_total', $_, 'sent_to="database"') // 0 } 1, 2 }

# The map is loaded, and the gateway is connected to the workers.
sub wait_for_nodes
{
	my ($gateway, $key) = @_;
	wait_until('the gateway uses both workers', sub {
		call($gateway, 'GetItem', { TableName => 's', Key => { pk => { S => "w$_" }, sk => { S => '1' } } }, $key) for 1 .. 20;
		my $down = join(' ', map { metric($gateway, 'dynamo_node_connections', $_, 'state="down"') // 'none' } 1, 2);
		return ($down eq '0 0', $down);
	});
}

# Calls of each node since the last time, of an operation on a table.
my %counted;
sub counted
{
	my ($operation, $table) = @_;
	my @calls;
	for my $n (0 .. 2)
	{
		my $calls = $citus->sql($n, "SELECT coalesce(sum(calls), 0) FROM dyn_operations WHERE operation = '$operation' AND relation = '$table'::regclass");
		push @calls, $calls - ($counted{"$operation $table $n"} // 0);
		$counted{"$operation $table $n"} = $calls;
	}
	return join(' ', @calls);
}

sub home_of
{
	my ($table, $key) = @_;
	my ($type, $value) = %$key;
	$value = $type eq 'B' ? "decode('$value', 'base64')" : $type eq 'N' ? "$value" : "'$value'";
	my %placements = $citus->placements($table);
	return $placements{ $citus->sql(0, "SELECT get_shard_id_for_distribution_column('$table', $value)") };
}

# Each operation about an item goes to the node that has it, whichever node the gateway is in front of.
sub operations
{
	my ($table, $pk) = @_;
	my $item = { pk => $pk, sk => { S => '1' } };
	return (
		[ PutItem => { TableName => $table, Item => { %$item, n => { N => '1' } } } ],
		[ UpdateItem => { TableName => $table, Key => $item, UpdateExpression => 'ADD n :n', ExpressionAttributeValues => { ':n' => { N => '1' } } } ],
		[ GetItem => { TableName => $table, Key => $item, ConsistentRead => JSON::PP::true } ],
		[ Query => { TableName => $table, KeyConditionExpression => 'begins_with(sk, :s) AND #k = :p', ExpressionAttributeNames => { '#k' => 'pk' },
			ExpressionAttributeValues => { ':p' => $pk, ':s' => { S => '1' } } } ],
		[ Query => { TableName => $table, KeyConditions => { pk => { ComparisonOperator => 'EQ', AttributeValueList => [ $pk ] } } } ],
		[ DeleteItem => { TableName => $table, Key => $item, ReturnValues => 'ALL_OLD' } ]);
}

for my $n (0, 1)
{
	my $gateway = start_gateway($n);
	wait_until('the gateway has loaded the map', sub { my $is = metric($gateway, 'dynamo_shard_map_tables') // ''; return ($is eq '3', $is) });
	if ($n == 0) { wait_for_nodes($gateway) } else { wait_until('… and uses the other worker', sub {
		call($gateway, 'GetItem', { TableName => 's', Key => { pk => { S => "w$_" }, sk => { S => '1' } } }) for 1 .. 20;
		my $down = metric($gateway, 'dynamo_node_connections', 2, 'state="down"') // 'none'; return ($down eq '0', $down) }) }
	counted($_, 's') for qw(GetItem);
	my @not = not_sent($gateway);
	for my $table (sort keys %key)
	{
		for my $i (1 .. 5)
		{
			my $pk = $key{$table}->($i);
			my $home = home_of($table, $pk);
			for (operations($table, $pk))
			{
				my ($operation, $request) = @$_;
				my $said = call($gateway, $operation, $request);
				is($said->{status}, 200, "gateway $n: $operation of $table") or diag(explain($said));
				is(counted($operation, $table), join(' ', map { $_ == $home ? 1 : 0 } 0 .. 2), '… is done by the node of its shard');
				is($said->{body}{Count} // $said->{body}{Item}{n}{N} // $said->{body}{Attributes}{n}{N}, $operation eq 'Query' ? 1 : 2, '… with its answer')
					if $operation =~ /Query|Get|Delete/;
			}
		}
	}
	is(join(' ', not_sent($gateway)), "@not", 'nothing went another way');
	# what is not about one shard, or about a table that is not distributed, is done as before
	is(call($gateway, 'CreateTable', { TableName => "plain$n", BillingMode => 'PAY_PER_REQUEST', AttributeDefinitions => [ { AttributeName => 'pk', AttributeType => 'S' } ],
		KeySchema => [ { AttributeName => 'pk', KeyType => 'HASH' } ] })->{status}, 200, 'a table is created');
	is(call($gateway, 'PutItem', { TableName => "plain$n", Item => { pk => { S => 'a' } } })->{status}, 200, '… and written to');
	is(call($gateway, 'GetItem', { TableName => 'nowhere', Key => { pk => { S => 'a' } } })->{body}{__type}, 'com.amazonaws.dynamodb.v20120810#ResourceNotFoundException',
		'a table that is not there');
	is(call($gateway, 'GetItem', { TableName => 's', Key => { pk => { S => 'a' } } })->{body}{message}, 'The provided key element does not match the schema',
		'a request that is wrong');
	is(call($gateway, 'Scan', { TableName => 's' })->{status}, 200, 'a scan');
}
my $gateway = $gateways[0];

done_testing();
