# Calls from all nodes for the same items: of those who put an item that is absent one wins, increments
# are all there, and calls that write many items of several shards do not wait for each other in a circle.
use strict;
use warnings;

use Test::More;
use CitusNodes;

my $citus = CitusNodes->new('deadlock_timeout = 100ms');
$citus->sql(0, q{SELECT dyn_create_table('app', 'pk S', 'sk S'); SELECT dyn_distribute_table('app')});

# What a function or a statement has to be asked with; each is a session of its own on each node.
sub from_all_nodes
{
	my ($sessions, $statement, $times) = @_;
	my @runs = map { my $n = $_ % 3; $citus->start($n, map { $statement->($n, $_) } 1 .. $times) } 0 .. $sessions - 1;
	my (@rows, @errors);
	for my $run (@runs)
	{
		my ($rows, $errors) = $citus->finish($run);
		push @rows, @$rows;
		push @errors, @$errors;
	}
	return (\@rows, \@errors);
}

sub key { return qq({"pk":{"S":"$_[0]"},"sk":{"S":"0"}}) }

# Absence: by the condition of a put, by an insert of PartiQL, by a transaction with another item.
my %puts = (
	condition => sub { qq{SELECT '$_[1]' FROM (SELECT dyn_put('app', '{"pk":{"S":"a$_[1]"},"sk":{"S":"0"},"by":{"N":"$_[0]"}}',
		condition => 'attribute_not_exists(pk)')) x} },
	partiql => sub { qq{SELECT '$_[1]' FROM (SELECT count(*) FROM dyn_execute(\$\$INSERT INTO app VALUE {'pk': 'b$_[1]', 'sk': '0'}\$\$)) x} },
	transaction => sub { qq{SELECT '$_[1]' FROM (SELECT dyn_transact('[{"Update": {"TableName": "app", "Key": ${\key("d" . $_[1] % 5)},
		"UpdateExpression": "ADD n :o", "ExpressionAttributeValues": {":o": {"N": "1"}}}},
		{"ConditionCheck": {"TableName": "app", "Key": ${\key("none$_[1]")}, "ConditionExpression": "attribute_not_exists(pk)"}},
		{"Put": {"TableName": "app", "Item": ${\key("c$_[1]")}, "ConditionExpression": "attribute_not_exists(pk)"}}]')) x} });
for my $what (sort keys %puts)
{
	my ($won, $errors) = from_all_nodes(6, $puts{$what}, 60);
	is(join(' ', sort { $a <=> $b } @$won), join(' ', 1 .. 60), "$what: each of 60 puts is won once");
	my @others = grep { !/condition|conditional|duplicate|cancelled|conflict/i } @$errors;
	is("@others[0 .. ($#others > 2 ? 2 : $#others)]", '', "$what: all others are told that the item is there");
}
is($citus->sql(1, q{SELECT sum((i ->> 'n')::int) FROM dyn_scan('app', filter => 'attribute_exists(n)') i}), '60', 'a transaction that loses changes nothing');

# Increments of few items, by calls and by transactions.
my ($done, $errors) = from_all_nodes(6, sub {
	my $update = sprintf(q{'%s', 'ADD n :o', vals => '{":o": {"N": "1"}}'}, key('i' . $_[1] % 3));
	return "SELECT 1 FROM (SELECT dyn_update('app', $update)) x";
}, 80);
is("@$errors[0 .. ($#$errors > 2 ? 2 : $#$errors)]", '', 'increments do not fail');
is(scalar(@$done), 480, 'all are answered');
is($citus->sql(2, q{SELECT sum((dyn_get('app', ('{"pk":{"S":"i' || k || '"},"sk":{"S":"0"}}')::dyn_item) ->> 'n')::int) FROM generate_series(0, 2) k}), '480',
	'and all are there');

# Batches and transactions over all shards, their items in any order.
my $seed = 7;
my $mixed = sub {
	my ($n, $i) = @_;
	$seed = ($seed * 1103515245 + 12345) % 2147483648;
	my @keys = map { (($_ * 7 + $seed) % 13) } 1 .. 12;
	my %seen;
	@keys = grep { !$seen{$_}++ } @keys;
	return sprintf(q{SELECT 'batch' FROM (SELECT dyn_batch_write('app', '[%s]')) x},
		join(', ', map { qq({"pk":{"S":"m$_"},"sk":{"S":"b"},"n":{"N":"$n"}}) } @keys))
		if $i % 2;
	return sprintf(q{SELECT 'transaction' FROM (SELECT dyn_transact('[%s]')) x}, join(', ', map {
		qq({"Update": {"TableName": "app", "Key": {"pk":{"S":"m$_"},"sk":{"S":"t"}}, "UpdateExpression": "ADD n :o",
			"ExpressionAttributeValues": {":o": {"N": "1"}}}}) } @keys[0 .. 3]));
};
($done, $errors) = from_all_nodes(9, $mixed, 40);
is("@$errors[0 .. ($#$errors > 2 ? 2 : $#$errors)]", '', 'nothing fails, nor is a deadlock');
is(scalar(@$done), 360, 'batches and transactions are answered');
is($citus->sql(0, q{SELECT sum((i ->> 'n')::int) FROM dyn_scan('app', filter => 'sk = :t', vals => '{":t": {"S": "t"}}') i}), 180 * 4,
	'transactions are whole');

# A shard that Citus has moved or split between two steps of a statement is a conflict, too.  A policy says what Citus says then, on the shard.
$citus->sql(0, q{CREATE ROLE reader LOGIN; GRANT SELECT ON app TO reader;
	CREATE FUNCTION misses() RETURNS boolean LANGUAGE plpgsql AS
		$$BEGIN RAISE 'could not find valid entry for shard placement 1' USING ERRCODE = 'internal_error'; END$$;
	ALTER TABLE app ENABLE ROW LEVEL SECURITY; CREATE POLICY misses ON app TO reader USING (misses())});
for my $n (0 .. 2)
{
	for my $call (qq{dyn_get('app', '${\key('i0')}')}, qq{dyn_request('GetItem', '{"TableName":"app","Key":${\key('i0')}}')})
	{
		my (undef, undef, $error) = $citus->node($n)->psql('postgres', "\\set VERBOSITY verbose\nSET ROLE reader;\nSELECT $call;");
		like($error, qr/ERROR:  40001: /, "node $n: a shard that is gone is a conflict: $call");
	}
}

done_testing();
