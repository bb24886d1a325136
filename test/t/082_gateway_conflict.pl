# Requests of gateways that run into other transactions: a transaction is cancelled, and says for which of its actions.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;
use Frontend;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', 'client_min_messages = warning');
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION dynamo_table;
	CREATE ROLE gateway LOGIN;
	CREATE ROLE tenant;
	GRANT tenant TO gateway;
	GRANT EXECUTE ON FUNCTION dynamo_internal.request_as, dynamo_internal.gateway_keys TO gateway;
	CREATE SCHEMA tenant AUTHORIZATION tenant;
	ALTER ROLE gateway SET search_path = tenant, public;
	SET ROLE tenant;
	SET search_path = tenant, public;
	SELECT dyn_create_table('app', 'pk S');
	SELECT dyn_put('app', format('{"pk":{"S":"%s"}}', k)::dyn_item) FROM unnest('{a,b,c}'::text[]) k});

# As the gateway, which waits for nobody longer than it is told to.
sub gateway
{
	my (%settings) = @_;
	my $gateway = Frontend->new($node, 'gateway');
	$gateway->prepare('request', 'SELECT dynamo_internal.request_as($1, $2, $3)');
	$gateway->query("SET $_ = '$settings{$_}'") foreach keys %settings;
	return $gateway;
}

sub writes { return '{"TransactItems":[' . join(',',
	map { qq({"Update":{"TableName":"app","Key":{"pk":{"S":"$_"}},"UpdateExpression":"ADD n :n","ExpressionAttributeValues":{":n":{"N":"1"}}}}) } @_) . ']}' }
sub puts { return '{"TransactItems":[' . join(',', map { qq({"Put":{"TableName":"app","Item":{"pk":{"S":"$_"}}}}) } @_) . ']}' }
sub put { return qq({"TableName":"app","Item":{"pk":{"S":"$_[0]"}}}) }
sub key { return qq({"TableName":"app","Key":{"pk":{"S":"$_[0]"}}}) }

my $none = '{"Code":"None"}';
my $conflict = '{"Code":"TransactionConflict","Message":"Transaction is ongoing for the item"}';
sub is_cancelled
{
	my ($answer, $name, @reasons) = @_;
	is($answer->{error}{C}, 'YD003', "$name: TransactionCanceledException");
	is($answer->{error}{M}, 'Transaction cancelled, please refer cancellation reasons for specific reasons ['
		. join(', ', map { /"Code":"(\w+)"/ } @reasons) . ']', "$name: the message");
	is($answer->{error}{D}, '{"CancellationReasons":[' . join(',', @reasons) . ']}', "$name: the reasons");
}

my $psql = $node->background_psql('postgres');
$psql->query_safe('SET search_path = tenant, public');

foreach my $store (qw(on off))
{
	# a lock that is not to be had in time
	my $gateway = gateway('dynamo_table.direct_store' => $store, lock_timeout => '50ms');
	$psql->query_safe(q{BEGIN; SELECT FROM app WHERE pk = 'b' FOR UPDATE});
	is_cancelled($gateway->execute('request', 'tenant', 'TransactWriteItems', writes('a', 'b', 'c')), "$store, lock timeout", $none, $conflict, $none);
	# what is written by one statement
	is_cancelled($gateway->execute('request', 'tenant', 'TransactWriteItems', puts('c', 'b', 'a')), "$store, lock timeout: puts", $conflict, $conflict, $conflict);
	is($gateway->execute('request', 'tenant', 'PutItem', put('b'))->{error}{C}, '55P03', "$store, lock timeout: PutItem");
	is_deeply($gateway->execute('request', 'tenant', 'TransactGetItems', '{"TransactItems":[{"Get":' . key('b') . '}]}')->{rows},
		[ ['{"Responses":[{"Item":{"pk":{"S":"b"}}}]}'] ],
		"$store: readers wait for nobody");
	$psql->query_safe('COMMIT');
	# the table of the first action
	$psql->query_safe('BEGIN; LOCK TABLE app');
	is_cancelled($gateway->execute('request', 'tenant', 'TransactWriteItems', writes('a', 'b')), "$store, lock of the table", $conflict, $none);
	is_cancelled($gateway->execute('request', 'tenant', 'TransactGetItems', '{"TransactItems":[{"Get":' . key('b') . '}]}'),
		"$store, lock of the table: TransactGetItems", $conflict);
	$psql->query_safe('COMMIT');
	# in a transaction of the caller's it is the caller's to begin again
	$psql->query_safe(q{BEGIN; SELECT FROM app WHERE pk = 'b' FOR UPDATE});
	my ($rc, $out, $err) = $node->psql('postgres', "SET search_path = tenant, public; SET lock_timeout = 50; SELECT dyn_request('TransactWriteItems', '"
	  . writes('a', 'b') . "')", extra_params => [ '-v', 'VERBOSITY=sqlstate' ]);
	like($err, qr/ERROR:  55P03$/, "$store, lock timeout: dyn_request");
	$psql->query_safe('COMMIT');
	$gateway->close;
}

# Whoever waits for this one: the gateway's connection is in the middle of a request meanwhile.
sub wait_for_waiters { my ($n) = @_; wait_for($node, "SELECT count(*) = $n FROM pg_stat_activity WHERE wait_event_type = 'Lock'") }

# a serialization failure
foreach my $case ([ 'TransactWriteItems', writes('a', 'b') ], [ 'PutItem', put('b') ])
{
	my $gateway = gateway(default_transaction_isolation => 'repeatable read');
	$psql->query_safe(q{BEGIN; UPDATE app SET item = item WHERE pk = 'b'});
	$gateway->send('request', 'tenant', @$case);
	wait_for_waiters(1);
	$psql->query_safe('COMMIT');
	my $answer = $gateway->answer;
	is_cancelled($answer, 'serialization failure', $none, $conflict) if $case->[0] eq 'TransactWriteItems';
	is($answer->{error}{C}, '40001', 'serialization failure: PutItem') if $case->[0] eq 'PutItem';
	$gateway->close;
}

# A deadlock, of which the gateway is the victim: it has locked a and waits for b, which a third session holds meanwhile; the
# second one, which holds c, waits for a, and does not look for deadlocks; then the gateway comes to wait for c.
foreach my $case ([ 'TransactWriteItems', writes('c', 'a', 'b') ],
	[ 'BatchWriteItem', '{"RequestItems":{"app":[' . join(',', map { qq({"DeleteRequest":{"Key":{"pk":{"S":"$_"}}}}) } qw(a b c)) . ']}}' ])
{
	my $gateway = gateway();
	my $other = $node->background_psql('postgres');
	$node->safe_psql('postgres', q{ALTER ROLE gateway SET deadlock_timeout = '10ms'});
	$gateway->close;
	$gateway = gateway('dynamo_table.direct_store' => 'on');
	$psql->query_safe(q{BEGIN; SET LOCAL deadlock_timeout = '1h'; SELECT FROM app WHERE pk = 'c' FOR UPDATE});
	$other->query_safe(q{BEGIN; SELECT FROM tenant.app WHERE pk = 'b' FOR UPDATE});
	$gateway->send('request', 'tenant', @$case);
	wait_for_waiters(1);
	$psql->query_until(qr/asked/, "\\echo asked\nSELECT FROM app WHERE pk = 'a' FOR UPDATE;\n");
	wait_for_waiters(2);
	$other->query_safe('COMMIT');
	my $answer = $gateway->answer;
	is_cancelled($answer, 'deadlock', $conflict, $none, $none) if $case->[0] eq 'TransactWriteItems';
	is($answer->{error}{C}, 'YD004', 'deadlock: BatchWriteItem') if $case->[0] eq 'BatchWriteItem';
	$psql->query_safe('COMMIT');
	$other->quit;
	$gateway->close;
}
$psql->quit;

is($node->safe_psql('postgres', q{SELECT string_agg(item::text, ' ' ORDER BY pk) FROM tenant.app}), '{"pk":{"S":"a"}} {"pk":{"S":"b"}} {"pk":{"S":"c"}}',
	'nothing was written');
done_testing();
