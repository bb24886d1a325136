# Nodes are killed and come back while all nodes run transactions over shards of several: afterwards each
# transaction is there as a whole or not at all, and those that were answered are there.
use strict;
use warnings;

use Test::More;
use Time::HiRes qw(usleep);
use CitusNodes;

my $citus = CitusNodes->new('deadlock_timeout = 100ms');
$citus->sql(0, q{
	SELECT dyn_create_table('bank', 'pk S', 'sk S');
	SELECT dyn_create_table('log', 'pk S');
	SELECT dyn_distribute_table('bank');
	SELECT dyn_distribute_table('log');
	SELECT dyn_batch_write('bank', array_agg(jsonb_build_object('pk', 'a' || i, 'sk', '0', 'balance', 1000)::dyn_item)) FROM generate_series(0, 19) i});

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
	return ("SELECT 'id$id' FROM (SELECT dyn_transact('[" . $add->($from, -$amount) . ', ' . $add->($to, $amount) .
		qq~, {"Put": {"TableName": "log", "Item": {"pk": {"S": "id$id"}, "from": {"S": "a$from"}, "to": {"S": "a$to"}, "amount": {"N": "$amount"}}}}]')) x~,
		'SELECT pg_sleep(0.005)');
}

sub load
{
	my ($clients, $transfers, $work) = @_;
	my @runs = map { $citus->start($_ % 3, map { transfer() } 1 .. $transfers) } 1 .. $clients;
	$work->();
	my $alive = grep { $_->{harness}->pumpable } @runs;
	my @answered;
	for my $run (@runs)
	{
		my ($rows, $errors) = $citus->finish($run);
		push @answered, @$rows;
	}
	return ($alive, @answered);
}

my @all;
for my $victim (1, 2, 0)
{
	my ($alive, @answered) = load(6, 300, sub {
		for (1 .. 2)
		{
			usleep(700_000);
			$citus->crash($victim);
		}
		usleep(500_000);
	});
	cmp_ok($alive, '>', 0, "the load outlasts the death of node $victim");
	cmp_ok(scalar(@answered), '>', 50, 'transactions are answered');
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

my ($alive, @answered) = load(6, 20, sub { });
is(scalar(@answered), 120, 'all goes on');

done_testing();
