# The gateway's map of shards is not spoiled by who may do little: owners of other tables, who lock them for as long as they like,
# temporary tables, requests that make and drop tables of other names, and who listens at the address of a node.
use strict;
use warnings;

use HTTP::Tiny;
use IO::Socket::INET;
use IPC::Run;
use POSIX ();
use PostgreSQL::Test::Utils;
use Test::More;
use CitusNodes;
use DynamoTable;

my $program = $ENV{GATEWAY} or plan skip_all => 'the gateway is not built';
my $citus = CitusNodes->new;
my $folder = PostgreSQL::Test::Utils::tempdir();
$citus->sql(0, q{CREATE ROLE gateway LOGIN NOINHERIT; CREATE ROLE shop LOGIN; CREATE ROLE other LOGIN; GRANT CREATE ON SCHEMA public TO shop, other;
	GRANT shop TO gateway});
$citus->sql($_, q{GRANT EXECUTE ON FUNCTION dynamo_internal.request_as, dynamo_internal.gateway_keys TO gateway}) for 0 .. 2;
$citus->sql(0, q{SET ROLE other; SELECT dyn_create_table('locked', 'pk S', distributed => true)});
# This one is none of items: its constraint has the name of a definition only.
$citus->sql(0, q{SET ROLE other; CREATE TABLE planted (pk text PRIMARY KEY, CONSTRAINT dynamo_definition CHECK (pk IS NOT NULL));
	SELECT create_distributed_table('planted', 'pk', colocate_with => 'none')});

my $lock = $citus->node(0)->background_psql('postgres');
$citus->sql(0, q{SET ROLE shop; SELECT dyn_create_table('app', 'pk S', distributed => true)});
# which nobody else can mean by the name
$lock->query_safe('SET ROLE other; CREATE TEMP TABLE app ()');
$lock->query_safe('SET ROLE other; BEGIN; LOCK TABLE locked IN ACCESS EXCLUSIVE MODE');

my $gateway = IPC::Run::start([ $program, '--listen', '127.0.0.1:0', '--metrics', '--auth', 'none', '--auth-role', 'shop', '--database',
	'user=gateway dbname=postgres host=' . $citus->node(0)->host . ' port=' . $citus->node(0)->port ], '>', "$folder/log", '2>&1');
my $address;
wait_until('the gateway listens', sub {
	my $said = -e "$folder/log" ? slurp_file("$folder/log") : '';
	($address) = $said =~ /listening.* address=(\S+)/;
	return ($address, $said);
});
wait_until('the map is loaded while a table is locked', sub {
	my ($is) = (HTTP::Tiny->new->get("http://$address/metrics")->{content} // '') =~ /^dynamo_shard_map_tables (\S+)$/m;
	return (($is // '') eq '3', $is);
});
sub call
{
	my ($operation, $body) = @_;
	return HTTP::Tiny->new->post("http://$address/", { headers => { 'x-amz-target' => "DynamoDB_20120810.$operation",
		'content-type' => 'application/x-amz-json-1.0' }, content => $body })->{content};
}
wait_until('a table is found at its nodes while another session has a temporary one of that name', sub {
	my $said = call('GetItem', '{"TableName":"app","Key":{"pk":{"S":"a"}}}');
	my ($sent) = HTTP::Tiny->new->get("http://$address/metrics")->{content} =~ /^dynamo_node_requests_total\{.*sent_to="node"} ([1-9]\d*)$/m;
	return (defined $sent, $said);
});
is($citus->sql(0, q{SELECT count(*) FROM pg_stat_activity WHERE usename = 'gateway' AND wait_event_type = 'Lock'}), 0,
	'… and no session of the gateway waits for it');

my %tables;
for my $n (1 .. 10)
{
	like(call('CreateTable', qq({"TableName":"plain$n","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"pk",
		"AttributeType":"S"}],"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]})), qr/ACTIVE/, 'a table is made');
	my ($is) = HTTP::Tiny->new->get("http://$address/metrics")->{content} =~ /^dynamo_shard_map_tables (\S+)$/m;
	$tables{ $is // 'none' }++;
	like(call('DeleteTable', qq({"TableName":"plain$n"})), qr/DELETING/, '… and dropped');
}
is_deeply(\%tables, { 3 => 10 }, '… and the others stay in the map');
$lock->query_safe('ROLLBACK');
$lock->quit;
$gateway->signal('TERM');
$gateway->finish;

# At the address of a node somebody else listens, and answers everything without a row.
my $stranger = IO::Socket::INET->new(Listen => 20, LocalAddr => '127.0.0.1') or die;
my $pid = fork() // die;
if ($pid == 0)
{
	my $say = sub { my ($client, $type, $text) = @_; print $client pack('a N a*', $type, 4 + length $text, $text); };
	while (my $client = $stranger->accept)
	{
		next if (fork() // die) > 0;
		$client->autoflush(1);
		# a request for encryption, and then the start
		while (read($client, my $head, 8) == 8)
		{
			my ($length, $code) = unpack('N N', $head);
			read($client, my $rest, $length - 8);
			last if $code == 196608;
			print $client 'N';
		}
		$say->($client, 'R', pack('N', 0));
		$say->($client, 'Z', 'I');
		while (read($client, my $head, 5) == 5)
		{
			my ($type, $length) = unpack('a N', $head);
			read($client, my $rest, $length - 4);
			$say->($client, '1', '') if $type eq 'P';
			$say->($client, '2', '') if $type eq 'B';
			$say->($client, 'T', pack('n', 4) . pack('Z* N n N n N n', 'a', 0, 0, 25, -1, -1, 0) x 4) if $type eq 'D';
			$say->($client, 'C', "SELECT 0\0") if $type eq 'E';
			$say->($client, 'Z', 'I') if $type eq 'S';
		}
		POSIX::_exit(0);
	}
}
$gateway = IPC::Run::start([ $program, '--listen', '127.0.0.1:0', '--auth', 'none', '--auth-role', 'shop', '--database',
	'user=gateway dbname=postgres host=' . $citus->node(0)->host . ' port=' . $citus->node(0)->port,
	'--nodes', join(':', $citus->address(1)) . '=127.0.0.1:' . $stranger->sockport ], '>', "$folder/log2", '2>&1');
wait_until('the gateway tells of the stranger', sub {
	my $said = slurp_file("$folder/log2");
	($address) = $said =~ /listening.* address=(\S+)/;
	call('GetItem', qq({"TableName":"app","Key":{"pk":{"S":"k$_"}}})) for $address ? 1 .. 10 : ();
	return ($said =~ /it does not answer as Postgres does/, $said);
});
like(call('GetItem', '{"TableName":"app","Key":{"pk":{"S":"a"}}}'), qr/^{}$/, '… and goes on');
$gateway->signal('TERM');
$gateway->finish;
kill KILL => $pid;

# A node that hangs when the gateway starts: sessions that wait for it do not add up.  One may be about to end when the next begins.
kill STOP => $citus->node(2)->{_pid};
$gateway = IPC::Run::start([ $program, '--listen', '127.0.0.1:0', '--auth', 'none', '--auth-role', 'shop', '--database',
	'user=gateway dbname=postgres host=' . $citus->node(0)->host . ' port=' . $citus->node(0)->port ], '>', "$folder/log3", '2>&1');
my $most = 0;
for (1 .. 32)
{
	sleep 1;
	my $asks = $citus->sql(0, q{SELECT count(*) FROM pg_stat_activity WHERE usename = 'gateway' AND state = 'active' AND query ~ 'master_run_on_worker'});
	$most = $asks if $asks > $most;
}
kill CONT => $citus->node(2)->{_pid};
ok($most == 1 || $most == 2, 'one session at a time waits for a node that hangs') or diag($most);
$gateway->signal('TERM');
$gateway->finish;
done_testing();
