# A request for items at the node that has their shards works on these itself, as the typed calls do, where it is a transaction
# by itself; what it writes on other nodes is committed with that.  From PostgreSQL 16 on Citus hides what that takes, so all is statements
# where a request writes on several nodes, or has a token.
use strict;
use warnings;

use FindBin;
use IPC::Run;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;
use CitusNodes;
use DynamoTable;

my $citus = CitusNodes->new;
$citus->sql(0, q{SELECT dyn_create_table('app', 'pk S', 'sk S')});
$citus->sql(0, q{CALL dyn_create_index('app', 'by_n', 'n N')});
$citus->sql(0, q{SELECT dyn_distribute_table('app')});
# with a local index, so that item collections have a limit
$citus->sql(0, q{SELECT dyn_request('CreateTable', '{"TableName":"limited","BillingMode":"PAY_PER_REQUEST",
	"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"S"},
		{"AttributeName":"l","AttributeType":"S"}],
	"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],
	"LocalSecondaryIndexes":[{"IndexName":"by_l","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"l","KeyType":"RANGE"}],
		"Projection":{"ProjectionType":"ALL"}}]}')});
$citus->sql(0, q{SELECT dyn_distribute_table('limited')});
my $json = JSON::PP->new->canonical;
my $joins = $citus->sql(0, 'SHOW server_version_num') < 160000;

# What the script prints on a node, and the statements that Citus executes for it: on this node, and on others.
sub run
{
	my ($n, $script) = @_;
	my ($rc, $out, $err) = $citus->node($n)->psql('postgres', "SET citus.log_remote_commands = on; SET citus.log_local_commands = on;\n$script");
	my @statements = $err =~ /(?:issuing|executing the command locally:) (\w+.*)/g;
	return { out => $out, err => join("\n", grep { /ERROR|DETAIL:  \{/ } split /\n/, $err), statements => \@statements };
}

sub request { return sprintf q{SELECT dyn_request('%s', $j$%s$j$);}, $_[0], $json->encode($_[1]) }
sub key { return { pk => { S => $_[0] }, sk => { S => $_[1] // '1' } } }
sub named { return (TableName => 'app', @_) }
my %one = (ExpressionAttributeValues => { ':one' => { N => '1' } });

# Partition keys by the worker that has them; the first two of one shard.
my %placed = map { split /\|/ } split /\n/,
	$citus->sql(0, q{SELECT 'p' || i, get_shard_id_for_distribution_column('app', 'p' || i) FROM generate_series(1, 40) i});
my %worker = $citus->placements('app');
my @home;
push @{ $home[ $worker{ $placed{$_} } ] }, $_ for sort keys %placed;

sub together
{
	my ($n) = @_;
	my %of;
	push @{ $of{ $placed{$_} } }, $_ for @{ $home[$n] };
	my ($two) = grep { @$_ > 1 } values %of;
	return @$two[ 0, 1 ];
}

my ($here, $too) = together(1);
my ($apart) = grep { $placed{$_} != $placed{$here} } @{ $home[1] };
my $there = $home[2][0];
my $table = '"app"';

# Every request for items on one node: what it is, and a list of operation and request.
sub operations
{
	my ($pk, $other) = @_;
	my $update = { named(Key => key($pk), UpdateExpression => 'ADD n :one', %one, ReturnValues => 'ALL_NEW') };
	my $where = "WHERE pk = '$pk' AND sk = '1'";
	return (
		[ PutItem => { named(Item => { %{ key($pk) }, n => { N => '1' } }, ReturnConsumedCapacity => 'TOTAL') } ],
		[ PutItem => { named(Item => key($pk), ConditionExpression => 'attribute_not_exists(pk)') } ],
		[ GetItem => { named(Key => key($pk), ReturnConsumedCapacity => 'INDEXES') } ],
		[ UpdateItem => $update ],
		[ UpdateItem => { %$update, ConditionExpression => 'n > :one' } ],
		[ Query => { named(KeyConditionExpression => 'pk = :p', ExpressionAttributeValues => { ':p' => { S => $pk } }) } ],
		[ TransactWriteItems => { TransactItems => [
			{ Update => { named(Key => key($pk), UpdateExpression => 'ADD n :one', %one) } },
			{ Put => { named(Item => { %{ key($other) }, n => { N => '5' } }) } },
			{ Put => { named(Item => { %{ key($other, '2') }, n => { N => '6' } }) } },
			{ Delete => { named(Key => key($other, '3')) } },
			{ ConditionCheck => { named(Key => key($pk, 'gone'), ConditionExpression => 'attribute_not_exists(pk)') } } ] } ],
		[ TransactWriteItems => { TransactItems => [
			{ Update => { named(Key => key($pk), UpdateExpression => 'ADD n :one', %one) } },
			{ ConditionCheck => { named(Key => key($other), ConditionExpression => 'attribute_not_exists(pk)') } } ] } ],
		[ TransactGetItems => { TransactItems => [ { Get => { named(Key => key($pk)) } }, { Get => { named(Key => key($other, 'gone')) } } ] } ],
		[ TransactGetItems => { TransactItems => [ { Get => { named(Key => key($pk)) } } ] } ],
		[ BatchWriteItem => { RequestItems => { app => [ { PutRequest => { Item => key($pk, '4') } }, { PutRequest => { Item => key($other, '4') } },
			{ DeleteRequest => { Key => key($other, '2') } } ] } } ],
		[ BatchGetItem => { RequestItems => { app => { Keys => [ key($pk, '4'), key($other, '4'), key($other, '2') ] } } } ],
		[ ExecuteStatement => { Statement => "SELECT * FROM $table $where" } ],
		[ ExecuteStatement => { Statement => "SELECT * FROM $table WHERE pk IN ['$pk', '$other']" } ],
		[ ExecuteStatement => { Statement => "INSERT INTO $table VALUE {'pk': '$pk', 'sk': '5'}" } ],
		[ ExecuteStatement => { Statement => "INSERT INTO $table VALUE {'pk': '$pk', 'sk': '5'}" } ],
		[ ExecuteStatement => { Statement => "UPDATE $table SET n = n + 1 $where RETURNING ALL NEW *" } ],
		[ ExecuteStatement => { Statement => "DELETE FROM $table WHERE pk = '$pk' AND sk = '5'" } ],
		[ ExecuteTransaction => { TransactStatements => [ map { { Statement => "UPDATE $table SET n = n + 1 WHERE pk = '$_' AND sk = '1'" } } $pk, $other ] } ],
		[ DeleteItem => { named(Key => key($pk), ReturnValues => 'ALL_OLD') } ]);
}

for my $case ([ 'one shard', $here, $too ], [ 'shards of one node', $here, $apart ])
{
	my ($what, $pk, $other) = @$case;
	my @answers;
	for my $n (1, 2)
	{
		for (operations($pk, $other))
		{
			my $said = run($n, request(@$_));
			my @statements = @{ $said->{statements} };
			is(join("\n", @statements), '', "$what, node $n: $_->[0] is no statement") if $n == 1;
			ok(@statements > 0, "$what, node $n: $_->[0] is one where the item is elsewhere") or diag($said->{err}) if $n == 2;
			push @{ $answers[$n] }, "$_->[0]: $said->{out}$said->{err}";
		}
		push @{ $answers[$n] }, $citus->sql(0, 'SELECT * FROM dyn_scan($$app$$)');
		$citus->sql(0, 'DELETE FROM app');
	}
	is(join("\n", @{ $answers[1] }), join("\n", @{ $answers[2] }), "$what: answers, errors and items are the same");
}

# The limit of item collections counts what the request itself has written.
for my $n (1, 2)
{
	my @puts = map { { TableName => 'limited', Item => { %{ key($here, "large$_") }, l => { S => 'l' }, d => { S => 'x' x 700 } } } } 1 .. 2;
	my $limit = "SET dynamo_table.item_collection_size_limit = '2kB';";
	like(run($n, $limit . request(TransactWriteItems => { TransactItems => [ map { { Put => $_ } } @puts ] }))->{err}, qr/ItemCollectionSizeLimitExceeded/,
		"node $n: a transaction makes a collection too large");
	is(run($n, $limit . request(PutItem => $puts[0]))->{err}, '', "node $n: one item does not");
	like(run($n, $limit . request(PutItem => $puts[1]))->{err}, qr/ollection size exceeded|would be too large/, "node $n: two do");
	$citus->sql(0, 'DELETE FROM limited');
}

# SQL's functions of several items, and its pages
$citus->sql(0, qq{SELECT dyn_batch_write('app', ARRAY['{"pk":{"S":"$here"},"sk":{"S":"1"}}', '{"pk":{"S":"$too"},"sk":{"S":"1"}}']::dyn_item[])});
is(join("\n", @{ run(1, $_)->{statements} }), '', "no statement: $_") for
	qq{SELECT dyn_batch_write('app', '{"{\\"pk\\":{\\"S\\":\\"$here\\"},\\"sk\\":{\\"S\\":\\"2\\"}}"}');},
	qq{SELECT * FROM dyn_batch_get('app', '{"{\\"pk\\":{\\"S\\":\\"$here\\"},\\"sk\\":{\\"S\\":\\"2\\"}}"}');},
	qq{SELECT * FROM dyn_query_page('app', 'pk = :p', vals => '{":p":{"S":"$here"}}');},
	qq{SELECT * FROM dyn_execute('SELECT * FROM app WHERE pk = ''$here''');},
	qq{SELECT dyn_transact('[{"Delete":{"TableName":"app","Key":{"pk":{"S":"$here"},"sk":{"S":"2"}}}}]');};

# What is written on this node and on another is one transaction.
my @both = map { { Update => { named(Key => key($_), UpdateExpression => 'ADD n :one', %one) } } } $here, $there;
my $said = run(1, request(TransactWriteItems => { TransactItems => \@both }));
is($said->{out}, '{}', 'a transaction over nodes');
is(scalar(grep { /^PREPARE TRANSACTION/ } @{ $said->{statements} }), 1, '… is prepared on the other node');
is(scalar(grep { /app_$placed{$here}\b/ } @{ $said->{statements} }) == 0, $joins, '… and writes to the shard of this one itself, if Citus can be told');
is($citus->sql(0, qq{SELECT sum((i ->> 'n')::int) FROM dyn_scan('app') i}), 2, '… and has written both');
$citus->node(1)->psql('postgres', request(TransactWriteItems => { TransactItems => [ @both[ 0, 1 ],
	{ ConditionCheck => { named(Key => key($there, 'gone'), ConditionExpression => 'attribute_exists(pk)') } } ] }));
is($citus->sql(0, qq{SELECT sum((i ->> 'n')::int) FROM dyn_scan('app') i}), 2, 'or none of them');

# A token is kept with what it stands for, on whichever node it is.
my $nodes = 0;
for my $token (map { "token$_" } 1 .. 8)
{
	my $request = request(TransactWriteItems => { ClientRequestToken => $token, TransactItems => [ $both[0] ] });
	$said = run(1, $request);
	is(scalar(grep { /app_\d/ } @{ $said->{statements} }) == 0, $joins, "$token: the shard is written to without a statement, if Citus can be told");
	$nodes |= 1 << scalar(grep { /^PREPARE TRANSACTION/ } @{ $said->{statements} });
	run($_, $request) for 1, 2;
}
is($nodes, 3, 'tokens are on both nodes, and those of the other one are committed in two phases');
is($citus->sql(0, qq{SELECT dyn_get('app', '{"pk":{"S":"$here"},"sk":{"S":"1"}}') ->> 'n'}), 9, 'and each of them was used once');

# What encloses the request may do more.
my $update = request(UpdateItem => { named(Key => key($here), UpdateExpression => 'ADD n :one', %one) });
my $put = request(PutItem => { named(Item => key($there)) });
cmp_ok(scalar(@{ run(1, $_)->{statements} }), '>', 0, "statements: $_") for
	"BEGIN; $update $put COMMIT;", $update =~ s/;$/\\;/r . $put, $update =~ s/;$/, 1;/r, "SET dynamo_table.direct_store = off; $update";
is($citus->sql(0, qq{SELECT dyn_get('app', '{"pk":{"S":"$here"},"sk":{"S":"1"}}') ->> 'n'}), 13, 'with the same result');

# When Citus looks for deadlocks it knows a request by a name, or takes it for one transaction with all others of the node.
my ($holder, $waiter) = map { $citus->node(1)->background_psql('postgres') } 1, 2;
$holder->query_safe("BEGIN; $update");
$waiter->query_until(qr/started/, "\\echo started\n$update\n\\echo done\n");
ok($citus->node(1)->poll_query_until('postgres', 'SELECT count(*) = 1 FROM dump_local_wait_edges() WHERE blocking_transaction_num <> waiting_transaction_num'),
	'a request that waits has a name');
$holder->query_safe('ROLLBACK');
$waiter->query_until(qr/done/, '');
$_->quit for $holder, $waiter;
is($citus->sql(0, qq{SELECT dyn_get('app', '{"pk":{"S":"$here"},"sk":{"S":"1"}}') ->> 'n'}), 14, '… and is done');

# Triggers of another table may write anything.
$citus->sql(1, qq{SET citus.enable_ddl_propagation = off; SELECT dyn_create_table('plain', 'pk S');
	CREATE FUNCTION also() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN
		PERFORM dyn_update('app', '{"pk":{"S":"$here"},"sk":{"S":"1"}}', 'ADD n :one', vals => '{":one":{"N":"1"}}');
		PERFORM dyn_update('app', '{"pk":{"S":"$there"},"sk":{"S":"1"}}', 'ADD n :one', vals => '{":one":{"N":"1"}}');
		RETURN NEW; END \$\$;
	CREATE TRIGGER also BEFORE INSERT ON plain FOR EACH ROW EXECUTE FUNCTION also()});
$said = run(1, request(TransactWriteItems => { TransactItems => [ { Put => { TableName => 'plain', Item => { pk => { S => 'x' } } } }, $both[0] ] }));
is($said->{out}, '{}', 'a transaction with another table, whose trigger writes');
cmp_ok(scalar(grep { /app_$placed{$here}\b/ } @{ $said->{statements} }), '>', 1, '… is statements');
is($citus->sql(0, qq{SELECT dyn_get('app', '{"pk":{"S":"$here"},"sk":{"S":"1"}}') ->> 'n'}), 16, '… and each has counted');

# Roles, as gateways name them
$citus->sql(0, q{CREATE ROLE reader LOGIN; CREATE ROLE writer LOGIN; CREATE ROLE nologin; CREATE ROLE updater LOGIN;
	GRANT SELECT ON app TO reader, updater; GRANT UPDATE ON app TO updater; GRANT SELECT, INSERT, UPDATE, DELETE ON app TO writer, nologin});
my $delete = { named(Key => key($here)) };
my $check = { TransactItems => [ { ConditionCheck => { named(Key => key($here, 'gone'), ConditionExpression => 'attribute_not_exists(pk)') } } ] };
my $as = sub {
	my ($n, $role, $operation, $request) = @_;
	return run($n, "PREPARE r AS SELECT dynamo_internal.request_as(\$1, \$2, \$3, \$4); EXECUTE r('$role', '$operation', \$j\$" .
		$json->encode($request) . q{$j$, '');});
};
for my $n (1, 2)
{
	like($as->($n, 'reader', DeleteItem => $delete)->{err}, qr/not authorized to perform: dynamodb:DeleteItem/, "node $n: who only reads deletes nothing");
	like($as->($n, 'updater', TransactWriteItems => $check)->{err}, qr/not authorized to perform/, '… and who may not insert keeps nothing absent');
	is($as->($n, 'writer', TransactWriteItems => $check)->{out}, '{}', '… and who may, does');
}
for my $role (qw(writer nologin))
{
	$said = $as->(1, $role, UpdateItem => { named(Key => key($here), UpdateExpression => 'ADD n :one', %one) });
	is("$said->{out}$said->{err}@{ $said->{statements} }", '{}', "a gateway's request for $role is no statement");
}
$citus->sql(0, q{ALTER TABLE app ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON app TO writer USING (sk <> '1')});
is($as->(1, 'writer', GetItem => $delete)->{out}, '{}', 'a policy hides an item');
like($as->(1, 'writer', PutItem => { named(Item => key($here)) })->{err}, qr/not authorized/, '… and keeps it as it is');
$citus->sql(0, 'ALTER TABLE app DISABLE ROW LEVEL SECURITY');

# What a request has found absent stays so until it ends, and deadlocks are none: transactions from all nodes in any order.
sub transfer
{
	my ($from, $to) = @_;
	my $add = sub { { Update => { named(Key => key($_[0]), UpdateExpression => 'ADD n :n', ExpressionAttributeValues => { ':n' => { N => $_[1] } }) } } };
	my $gone = { ConditionCheck => { named(Key => key($from, 'gone'), ConditionExpression => 'attribute_not_exists(pk)') } };
	return request(TransactWriteItems => { TransactItems => [ $add->($from, '1'), $add->($to, '-1'), $gone ] });
}
my $load = "\\set a random(1, 12)\n\\set b random(13, 24)\n\\set o random(0, 1)\n\\if :o\n" .
	transfer('t:a', 't:b') . "\n\\else\n" . transfer('t:b', 't:a') . "\n\\endif\n";
my @loads = map { DynamoTable::start_load($citus->node($_), 3, 6, $load) } 0 .. 2;
my $mover = $citus->start(0, map { sprintf "SELECT citus_move_shard_placement(%s, '%s', %d, '%s', %d, 'block_writes')", $placed{$here}, @$_ }
	([ $citus->address(1), $citus->address(2) ], [ $citus->address(2), $citus->address(1) ]));
my @counts = map { DynamoTable::finish_load($_) } @loads;
my (undef, $moved) = $citus->finish($mover);
is(join("\n", @$moved), '', 'a shard is moved there and back meanwhile');
diag($_->{err}) for grep { $_->{err} =~ /ERROR|abort/ } @loads;
is(scalar(grep { defined } @counts), 3, 'transactions from three nodes have no errors');
is($citus->sql(0, q{SELECT sum((i ->> 'n')::int) FROM dyn_scan('app', filter => 'begins_with(pk, :t)', vals => '{":t":{"S":"t"}}') i}), 0, 'and are atomic');
is($citus->sql(0, q{SELECT count(*) FROM dyn_check_table('app')}), 0, 'the table is sound');

done_testing();
