# Nodes are killed and come back while all nodes run transactions over shards of several: afterwards each
# transaction is there as a whole or not at all, and those that were answered are there.
use strict;
use warnings;

use Test::More;
use CitusNodes;

# What a dead node has left prepared keeps its locks until Citus recovers it, by default in a minute.
my $citus = CitusNodes->new(join("\n", 'deadlock_timeout = 100ms', 'citus.recover_2pc_interval = 2s'));
$citus->sql(0, q{
	SELECT dyn_create_table('bank', 'pk S', 'sk S');
	SELECT dyn_create_table('log', 'pk S');
	SELECT dyn_distribute_table('bank');
	SELECT dyn_distribute_table('log');
	SELECT dyn_batch_write('bank', array_agg(jsonb_build_object('pk', 'a' || i, 'sk', '0', 'balance', 1000)::dyn_item)) FROM generate_series(0, 19) i});

# Sessions end when there is a row in their node's table.
$citus->sql($_, 'CREATE TABLE ended ()') for 0 .. 2;

# Moves 1 to 9 from an account to another and notes it.
my $next = 0;
sub transfer
{
	my ($from, $to, $amount, $id) = (int(rand(20)), int(rand(19)), 1 + int(rand(9)), $next++);
	$to = 19 if $to == $from;
	my $add = sub {
		return qq({"Update": {"TableName": "bank", "Key": {"pk": {"S": "a$_[0]"}, "sk": {"S": "0"}}, "UpdateExpression": "ADD balance :n",
			"ExpressionAttributeValues": {":n": {"N": "$_[1]"}}}});
	};
	# on the node of one of them that is written directly, and by statements on the others
	return ("SELECT dyn_transact('[" . $add->($from, -$amount) . ', ' . $add->($to, $amount) .
		qq~, {"Put": {"TableName": "log", "Item": {"pk": {"S": "id$id"}, "from": {"S": "a$from"}, "to": {"S": "a$to"}, "amount": {"N": "$amount"}}}}]')~,
		qq{\\if :ERROR\n\\else\n\\echo id$id\n\\endif\nSELECT EXISTS (SELECT FROM ended) AS ended FROM pg_sleep(0.005) \\gset\n\\if :ended\n\\q\n\\endif\n});
}

sub load
{
	my ($clients, $transfers, $work) = @_;
	my @runs = map { $citus->start($_ % 3, map { transfer() } 1 .. $transfers) } 1 .. $clients;
	$work->();
	return grep { /^id/ } map { my ($rows) = $citus->finish($_); @$rows } @runs;
}

# Wait until so many more are noted.
sub await_transfers
{
	my ($more) = @_;
	my $noted = $citus->sql(0, 'SELECT count(*) FROM log');
	ok($citus->node(0)->poll_query_until('postgres', "SELECT count(*) >= $noted + $more FROM log"), 'the load goes on');
}

my @all;
for my $victim (1, 2, 0)
{
	my @answered = load(6, 5000, sub {
		for (1 .. 2)
		{
			await_transfers(100);
			$citus->crash($victim);
		}
		await_transfers(100);
		$citus->sql($_, 'INSERT INTO ended DEFAULT VALUES') for 0 .. 2;
	});
	$citus->sql($_, 'TRUNCATE ended') for 0 .. 2;
	cmp_ok(scalar(@answered), '>', 100, "transactions are answered beside the death of node $victim");
	push @all, @answered;

	$citus->sql($_, 'SELECT recover_prepared_transactions()') for 0 .. 2;
	is(join(' ', map { $citus->sql($_, 'SELECT count(*) FROM pg_prepared_xacts') } 0 .. 2), '0 0 0', 'none waits for its end');
	for my $n (0 .. 2)
	{
		my %noted = map { $_ => 1 } split /\n/, $citus->sql($n, q{SELECT i ->> 'pk' FROM dyn_scan('log') i});
		is(scalar(grep { !$noted{$_} } @all), 0, "node $n reads all that were answered");
		is($citus->sql($n, q{SELECT sum((i ->> 'balance')::int) FROM dyn_scan('bank') i}), '20000', 'the sum is what it was');
		is($citus->sql($n, q{
			WITH moved AS (SELECT i ->> 'from' AS account, -(i ->> 'amount')::int AS amount FROM dyn_scan('log') i
						   UNION ALL SELECT i ->> 'to', (i ->> 'amount')::int FROM dyn_scan('log') i)
			SELECT count(*) FROM dyn_scan('bank') i
			WHERE (i ->> 'balance')::int <> 1000 + (SELECT coalesce(sum(amount), 0) FROM moved WHERE account = i ->> 'pk')}),
			'0', 'each account has what is noted');
	}
}

my @answered = load(6, 20, sub { });
is(scalar(@answered), 120, 'all goes on');

done_testing();
