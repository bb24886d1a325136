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
ok($citus->sql(0, q{SELECT 'shop'::regrole::oid}) != $citus->sql(1, q{SELECT 'shop'::regrole::oid}), 'a role has other OIDs on other nodes');

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
	my $canonical = join("\n", 'POST', '/', '', "host:$address", "x-amz-date:$date", "x-amz-target:$target", '',
		'host;x-amz-date;x-amz-target', sha256_hex($body));
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
		my $calls = $citus->sql($n, "SELECT coalesce(sum(calls), 0) FROM dyn_operations
			WHERE operation = '$operation' AND relation = '$table'::regclass");
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
		for my $i (1 .. 3)
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
	is(call($gateway, 'CreateTable', { TableName => "plain$n", BillingMode => 'PAY_PER_REQUEST',
		AttributeDefinitions => [ { AttributeName => 'pk', AttributeType => 'S' } ],
		KeySchema => [ { AttributeName => 'pk', KeyType => 'HASH' } ] })->{status}, 200, 'a table is created');
	is(call($gateway, 'PutItem', { TableName => "plain$n", Item => { pk => { S => 'a' } } })->{status}, 200, '… and written to');
	is(call($gateway, 'GetItem', { TableName => 'nowhere', Key => { pk => { S => 'a' } } })->{body}{__type},
		'com.amazonaws.dynamodb.v20120810#ResourceNotFoundException',
		'a table that is not there');
	is(call($gateway, 'GetItem', { TableName => 's', Key => { pk => { S => 'a' } } })->{body}{message}, 'The provided key element does not match the schema',
		'a request that is wrong');
	is(call($gateway, 'Scan', { TableName => 's' })->{status}, 200, 'a scan');
}
my $gateway = $gateways[0];

# Nodes of partition keys of the table s
sub keys_of
{
	my ($n) = @_;
	my %placements = $citus->placements('s');
	return grep { $placements{$_->[1]} == $n } map { [ split /\|/ ] } split /\n/,
		$citus->sql(0, q{SELECT 'k' || i, get_shard_id_for_distribution_column('s', 'k' || i) FROM generate_series(1, 60) i});
}
my @on = (undef, map { [ map { $_->[0] } keys_of($_) ] } 1, 2);
sub put { return call($_[0], PutItem => { TableName => $_[3] // 's', Item => { pk => { S => $_[1] }, sk => { S => '1' } } }, $_[2]) }
sub get { return call($_[0], GetItem => { TableName => $_[3] // 's', Key => { pk => { S => $_[1] }, sk => { S => '1' } } }, $_[2]) }

# Batches go to the nodes in parts.
my @batch = map { { pk => { S => $_ }, sk => { S => 'batch "1"' } } } @{ $on[1] }[ 0 .. 8 ], @{ $on[2] }[ 0 .. 8 ];
counted($_, 's') for qw(BatchWriteItem BatchGetItem);
is_deeply(call($gateway, BatchWriteItem => { RequestItems => {
		s => [ map { { PutRequest => { Item => { %$_, a => { S => 'a' }, b => { S => ']}' } } } } } @batch ] } }),
	{ status => 200, body => { UnprocessedItems => {} } }, 'a batch is written');
is(counted('BatchWriteItem', 's'), '0 1 1', '… by each node its part');
my $keys = { Keys => [ @batch, { pk => { S => $on[1][0] }, sk => { S => 'none' } } ] };
my $said = call($gateway, BatchGetItem => { RequestItems => {
	s => { %$keys, ConsistentRead => JSON::PP::true, ProjectionExpression => '#a, pk', ExpressionAttributeNames => { '#a' => 'a' } },
	plain0 => { Keys => [ { pk => { S => 'a' } } ] } } });
is(counted('BatchGetItem', 's'), '0 1 1', '… and read, with one of another table');
is_deeply([ sort { $a->{pk}{S} cmp $b->{pk}{S} } @{ $said->{body}{Responses}{s} } ],
	[ map { { pk => $_->{pk}, a => { S => 'a' } } } sort { $a->{pk}{S} cmp $b->{pk}{S} } @batch ], '… as it asks for');
is_deeply([ $said->{body}{Responses}{plain0}, $said->{body}{UnprocessedKeys} ], [ [ { pk => { S => 'a' } } ], {} ], '… and nothing is left');
is_deeply(call($gateway, BatchWriteItem => { RequestItems => { s => [ map { { DeleteRequest => { Key => $_ } } } @batch[ 0 .. 3 ] ],
	plain0 => [ { PutRequest => { Item => { pk => { S => 'b' } } } } ] } })->{body}, { UnprocessedItems => {} }, 'deletes, and another table');
is(counted('BatchWriteItem', 's'), '0 1 0', '… of one node');
is(@{ call($gateway, BatchGetItem => { RequestItems => { s => $keys } })->{body}{Responses}{s} }, @batch - 4, '… which are gone');
counted('BatchGetItem', 's');
# What parts have consumed is added: it is what one node says of the whole.
for ([ BatchGetItem => { RequestItems => { s => $keys }, ReturnConsumedCapacity => 'TOTAL' } ],
	[ BatchWriteItem => { RequestItems => { s => [ map { { PutRequest => { Item => $_ } } } @batch ] },
		ReturnConsumedCapacity => 'INDEXES', ReturnItemCollectionMetrics => 'SIZE' } ])
{
	my ($operation, $request) = @$_;
	$said = call($gateway, $operation => $request)->{body}{ConsumedCapacity};
	is(counted($operation, 's'), '0 1 1', "$operation that asks for its capacity goes in parts");
	my $whole = $citus->sql(0, qq{SELECT dyn_request('$operation', \$j\$@{[ $json->encode($request) ]}\$j\$)});
	is_deeply($said, $json->decode($whole)->{ConsumedCapacity}, '… which are added');
	counted($operation, 's');
}

for my $wrong ([ BatchGetItem => { s => { Keys => [ @batch, $batch[0] ] } }, qr/duplicates/ ],
	[ BatchGetItem => { s => { Keys => [ map { { pk => { S => "p$_" }, sk => { S => '1' } } } 1 .. 101 ] } }, qr/less than or equal to 100/ ],
	[ BatchWriteItem => { s => [ map { { PutRequest => { Item => { pk => { S => "p$_" }, sk => { S => '1' } } } } } 1 .. 26 ] }, qr/less than or equal to 25/ ],
	[ BatchGetItem => { s => { Keys => [ @batch, { pk => { S => 'a' } } ] } }, qr/does not match the schema/ ],
	[ BatchGetItem => { s => { Keys => [ @batch[ 0, 10 ] ] }, nowhere => { Keys => [ $batch[0] ] } }, qr/not found/ ],
	[ BatchGetItem => { s => [ @batch ] }, qr/./ ])
{
	$said = call($gateway, $wrong->[0], { RequestItems => $wrong->[1] });
	ok($said->{status} == 400 && ($said->{body}{message} // $said->{body}{Message}) =~ $wrong->[2], "what is wrong with a batch is told: $wrong->[2]")
		or diag(explain($said));
}

# Access keys stand for roles by OIDs, which are others on the nodes.
my $superuser = 'user=postgres dbname=postgres host=' . $citus->node(0)->host . ' port=' . $citus->node(0)->port;
system($program, '--create-key-file', "$folder/key") == 0 or die;
sub create_key
{
	my ($role) = @_;
	my $said = qx{'$program' --create-key "$role" --key-file '$folder/key' --database '$superuser'};
	my ($id) = $said =~ /ACCESS_KEY_ID=(\S+)/;
	($secret{$id}) = $said =~ /SECRET_ACCESS_KEY=(\S+)/;
	return $id;
}
my $shop = create_key('shop');
my $tenant = create_key("te'n ant");
my $signed = start_gateway(0, '--key-file', "$folder/key", '--region', 'eu-west-1');
wait_until('keys are known', sub { my $status = get($signed, 'a', $shop)->{status}; return ($status == 200, $status) });
wait_for_nodes($signed, $shop);
for my $home (1, 2)
{
	counted($_, 's') for qw(PutItem GetItem);
	is(put($signed, $on[$home][0], $shop)->{status}, 200, "a signed write of an item of node $home");
	is(counted('PutItem', 's'), join(' ', map { $_ == $home ? 1 : 0 } 0 .. 2), '… is done there');
	like(put($signed, $on[$home][0], $tenant)->{body}{__type} // '', qr/AccessDenied/, '… and who may not is refused');
	$citus->sql(0, qq{GRANT SELECT ON s TO "te'n ant"});
	is(get($signed, $on[$home][0], $tenant)->{status}, 200, '… until it is granted');
	is(counted('GetItem', 's'), join(' ', map { $_ == $home ? 1 : 0 } 0 .. 2), '… and read there');
	$citus->sql(0, qq{REVOKE SELECT ON s FROM "te'n ant"});
	is(get($signed, $on[$home][0], $tenant)->{status}, 400, '… and revoked');
}
$citus->sql(0, q{DROP ROLE "te'n ant"; CREATE ROLE "te'n ant" LOGIN; GRANT "te'n ant" TO gateway; GRANT SELECT ON s TO "te'n ant"});
ok(get($signed, $on[$_][0], $tenant)->{status} != 200, "a role that has the name of one that was dropped is another, node $_") for 1, 2;

# What a name means is what it means at the gateway's own node.
$citus->sql(0, q{CREATE SCHEMA shop AUTHORIZATION shop; SET citus.enable_ddl_propagation = off; SET ROLE shop;
	SELECT public.dyn_create_table('shop.s', 'pk S', 'sk S')});
wait_until('a table comes before a distributed one', sub {
	put($gateway, $on[2][0]); my $n = $citus->sql(0, 'SELECT count(*) FROM shop.s'); return ($n == 1, $n) });
$citus->sql(0, 'DELETE FROM public.s');
is(put($gateway, $_)->{status}, 200, 'it is written') for @{ $on[1] }[ 0 .. 4 ], @{ $on[2] }[ 0 .. 4 ];
is($citus->sql(0, 'SELECT (SELECT count(*) FROM shop.s), (SELECT count(*) FROM public.s)'), '10|0', '… and not the distributed one');
is(put($gateway, $_, undef, 'public.s')->{status}, 200, 'that has a name, too') for $on[1][0], $on[2][0];
is($citus->sql(0, 'SELECT count(*) FROM public.s'), 2, '… which is written');
# the same name on a node alone
$citus->sql(2, q{SET citus.enable_ddl_propagation = off; CREATE SCHEMA IF NOT EXISTS shop; GRANT ALL ON SCHEMA shop TO shop; SET ROLE shop;
	SELECT public.dyn_create_table('shop.s', 'pk S', 'sk S')});
$citus->sql(0, 'DROP TABLE shop.s');
wait_until('the distributed table is found again', sub {
	put($gateway, $on[1][1]); my $n = $citus->sql(0, 'SELECT count(*) FROM public.s'); return ($n == 3, $n) });
is(put($gateway, $_)->{status}, 200, 'a name that another node has for a table of its own') for @{ $on[2] }[ 0 .. 4 ];
is($citus->sql(0, 'SELECT count(*) FROM public.s'), 7, '… is not taken for that');
is($citus->sql(2, 'SELECT count(*) FROM shop.s'), 0, '… which is not written to');
$citus->sql(2, 'SET citus.enable_ddl_propagation = off; DROP TABLE shop.s');
# a table that is made again
$citus->sql(0, q{SET ROLE shop; SELECT dyn_drop_table('n'); SELECT dyn_create_table('n', 'other S')});
for my $i (1 .. 6)
{
	my $said = call($gateway, PutItem => { TableName => 'n', Item => { other => { S => 'a' }, pk => { N => "$i" } } });
	is($said->{status}, 200, 'a table that takes the place of another') or diag(explain($said));
}
$citus->sql(0, q{SET ROLE shop; SELECT dyn_distribute_table('n')});

# Increments while all shards move, and two are split: none is lost or done twice, and none fails.
sub start_clients
{
	my ($clients, $gateways, $send) = @_;
	my @clients;
	for my $client (1 .. $clients)
	{
		my $file = "$folder/client" . $client;
		my $pid = fork() // die;
		if ($pid == 0)
		{
			my %count;
			for (my $i = 0; !-e "$folder/stop"; $i++)
			{
				$count{ $send->($gateways->[ ($client + $i) % @$gateways ], $client, $i) }++;
			}
			append_to_file($file, $json->encode(\%count));
			POSIX::_exit(0);
		}
		push @clients, { pid => $pid, file => $file };
	}
	return \@clients;
}

sub finish_clients
{
	my ($clients) = @_;
	my %count;
	append_to_file("$folder/stop", '');
	for (@$clients)
	{
		waitpid($_->{pid}, 0);
		my $one = $json->decode(slurp_file($_->{file}));
		$count{$_} += $one->{$_} for keys %$one;
		unlink $_->{file};
	}
	unlink "$folder/stop";
	return \%count;
}

$citus->sql(0, 'DELETE FROM public.s');
my $clients = start_clients(3, [ @gateways[ 0, 1 ] ], sub {
	my ($g, $client, $i) = @_;
	return call($g, UpdateItem => { TableName => 's', Key => { pk => { S => 'k' . ($i % 20 + 1) }, sk => { S => '1' } },
		UpdateExpression => 'ADD n :n', ExpressionAttributeValues => { ':n' => { N => '1' } } })->{status};
});
for my $move (0 .. 7)
{
	my %placements = $citus->placements('s');
	my ($shard) = (sort keys %placements)[$move];
	$citus->move($shard, $placements{$shard}, 3 - $placements{$shard}, $move % 2 ? 'block_writes' : 'force_logical');
}
my %placements = $citus->placements('s');
for my $shard ((sort keys %placements)[ 0 .. 1 ])
{
	my ($from, $to) = split /\|/, $citus->sql(0, "SELECT shardminvalue, shardmaxvalue FROM pg_dist_shard WHERE shardid = $shard");
	my @nodes = map { $citus->sql(0, sprintf("SELECT nodeid FROM pg_dist_node WHERE nodename = '%s' AND nodeport = %d", $citus->address($_))) } 1, 2;
	$citus->sql(0, sprintf(q{SELECT citus_split_shard_by_split_points(%s, ARRAY['%d'], ARRAY[%d, %d], 'block_writes')}, $shard, ($from + $to) / 2, @nodes));
}
my $count = finish_clients($clients);
is(join(' ', keys %$count), '200', 'no increment fails while shards move and are split') or diag(explain($count));
is($citus->sql(0, q{SELECT sum((item ->> 'n')::int) FROM s}), $count->{200}, '… and each is there once');

# Then requests go to where the shards are by now.
@on = (undef, map { [ map { $_->[0] } keys_of($_) ] } 1, 2);
wait_until('the map is that of now', sub {
	my @before = not_sent($gateway);
	counted('GetItem', 's');
	get($gateway, $_) for @{ $on[1] }[ 0 .. 4 ], @{ $on[2] }[ 0 .. 4 ];
	my $said = counted('GetItem', 's') . " @{[ map { $_ - shift @before } not_sent($gateway) ]}";
	return ($said eq '0 5 5 0 0', $said);
});

# A new node
my $new = $citus->add;
$citus->sql($new, q{GRANT EXECUTE ON FUNCTION dynamo_internal.request_as, dynamo_internal.gateway_keys TO gateway});
my ($moved) = grep { $placements{ $_->[1] } // 0 } keys_of(1);
$citus->move($moved->[1], 1, $new);
wait_until('a new node is used', sub {
	my $before = metric($gateway, 'dynamo_node_requests_total', $new, 'sent_to="node"') // 0;
	get($gateway, $moved->[0]);
	my $sent = (metric($gateway, 'dynamo_node_requests_total', $new, 'sent_to="node"') // 0) - $before;
	return ($sent == 1, $sent);
});
$citus->move($moved->[1], $new, 1);
$citus->sql(0, sprintf("SELECT citus_remove_node('%s', %d)", $citus->address($new)));
wait_until('a node that has left the cluster has no connections', sub {
	my $idle = metric($gateway, 'dynamo_node_connections', $new, 'state="idle"'); return ($idle eq '0', $idle) });
is(get($gateway, $moved->[0])->{status}, 200, 'what was there is read where it is by now');

# kill -9 of a node under writes: those of other nodes do not notice.
$clients = start_clients(2, [ $gateway ], sub {
	my ($g, $client, $i) = @_;
	my $key = "c$client-$i";
	my $status = put($g, $key)->{status};
	append_to_file("$folder/told$client", "$key\n") if $status == 200;
	return $status;
});
wait_until('writes are done', sub { my $n = -e "$folder/told1" && -e "$folder/told2" ? () = slurp_file("$folder/told1") =~ /\n/g : 0; return ($n > 100, $n) });
kill KILL => $citus->node(2)->{_pid};
my $begun = time;
my %others;
$others{ put($gateway, $_)->{status} }++ for (@{ $on[1] }[ 0 .. 9 ]) x 3;
is(join(' ', keys %others), '200', 'items of another node are written while one is down') or diag(explain(\%others));
cmp_ok(time - $begun, '<', 20, '… without waiting');
my %lost;
$lost{ put($gateway, $_)->{status} }++ for (@{ $on[2] }[ 0 .. 4 ]) x 2;
is(join(' ', grep { !/^50[03]$/ } keys %lost), '', 'its own fail in a way that SDKs repeat') or diag(explain(\%lost));
$said = call($gateway, BatchGetItem => { RequestItems => { s => $keys } });
is($said->{status}, 200, 'a batch is read as far as nodes are up');
is(@{ $said->{body}{UnprocessedKeys}{s}{Keys} // [] }, grep({ my $key = $_; grep { $key->{pk}{S} eq $_ } @{ $on[2] } } @{ $keys->{Keys} }),
	'… and the rest is left to be asked again');
$citus->crash(2);
wait_for_nodes($gateway);
my $rest = call($gateway, BatchGetItem => { RequestItems => $said->{body}{UnprocessedKeys} });
is_deeply($rest->{body}{UnprocessedKeys}, {}, '… as it is when the node is up');
$count = finish_clients($clients);
note explain $count;
is(join(' ', grep { !/^(200|500|503)$/ } keys %$count), '', 'so do those of clients');
my %told = map { $_ => 1 } map { split /\n/, slurp_file("$folder/told$_") } 1, 2;
my %there = map { $_ => 1 } split /\n/, $citus->sql(0, q{SELECT pk FROM s WHERE starts_with(pk, 'c')});
is_deeply([ grep { !$there{$_} } keys %told ], [], '… and writes that were answered are there');
is(put($gateway, $on[2][0])->{status}, 200, 'the node is written to again');

# A node that hangs
my @processes = map { /^(\d+)$/ } split /\n/, $citus->sql(2, q{SELECT pid FROM pg_stat_activity WHERE usename = 'gateway'});
kill STOP => $citus->node(2)->{_pid}, @processes;
my $hanging = start_clients(1, [ $gateway ], sub { return put($_[0], $on[2][ $_[2] % 5 ])->{status} });
sleep 2;
%others = ();
$begun = time;
$others{ put($gateway, $_)->{status} }++ for (@{ $on[1] }[ 0 .. 9 ]) x 3;
is(join(' ', keys %others), '200', 'items of another node are written while one hangs') or diag(explain(\%others));
cmp_ok(time - $begun, '<', 20, '… without waiting for that');
kill CONT => $citus->node(2)->{_pid}, @processes;
finish_clients($hanging);
wait_for_nodes($gateway);

# The server of "database" is down: what is about items of nodes goes on, and what goes by it does not.
$citus->node(0)->stop('immediate');
is(get($gateway, $on[$_][0])->{status}, 200, "without the server of the gateway items of node $_ are read") for 1, 2;
is(put($gateway, $on[$_][0])->{status}, 200, '… and written') for 1, 2;
is(call($gateway, Scan => { TableName => 's' })->{status}, 503, '… and nothing is scanned');
$citus->node(0)->start;
wait_until('it is back', sub { my $status = call($gateway, Scan => { TableName => 's' })->{status}; return ($status == 200, $status) });

# Where nodes are not wanted, or not reached, requests go on as they do without.
my $off = start_gateway(0, '--nodes', 'off');
is(put($off, $on[$_][0])->{status}, 200, "nodes are not used: $_") for 1, 2;
like(slurp_file($off->{log}), qr/not sent to nodes of Citus by themselves: the setting/, '… which the log says');
my @elsewhere = map { join(':', $citus->address($_)) . '=/nowhere:1' } 1, 2;
my $unreached = start_gateway(0, '--nodes', "@elsewhere");
wait_until('the map is loaded', sub { my $is = metric($unreached, 'dynamo_shard_map_tables') // ''; return ($is eq '3', $is) });
is(put($unreached, $on[$_][0])->{status}, 200, "nodes are not reached: $_") for (1, 2) x 3;
wait_until('the log says so', sub { my $said = slurp_file($unreached->{log}); return ($said =~ m{could not connect to /nowhere:1}, $said) });
# another server at the address of a node
my $wrong = start_gateway(0, '--nodes', join(':', $citus->address(1)) . '=' . join(':', $citus->address(2)));
wait_until('another server is not used', sub {
	put($wrong, $on[1][0]); my $said = slurp_file($wrong->{log}); return ($said =~ /another server has that address/, $said) });
is(put($wrong, $on[1][0])->{status}, 200, '… and requests are answered');

is($citus->sql(0, q{SELECT count(*) FROM dyn_check_table('s')}), 0, 'the table is sound');
for (@gateways)
{
	$_->{run}->signal('TERM');
	$_->{run}->finish;
	is($_->{run}->result(0), 0, 'a gateway ends');
	unlike(slurp_file($_->{log}), qr/runtime error|Sanitizer/, 'nothing is wrong with a gateway');
}

done_testing();
