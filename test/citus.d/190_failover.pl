# A worker fails over to its standby.  Where that has no slot for streams, readers of its shards are told that changes are missing,
# its log says so, and dyn_stream_slots of all nodes lists it; a reset ends that with a gap.
use strict;
use warnings;

use JSON::PP;
use PostgreSQL::Test::Cluster;
use Test::More;
use CitusNodes;
use DynamoTable;

my $citus = CitusNodes->new('citus.enable_change_data_capture = on');

sub request
{
	my ($n, $operation, $request) = @_;
	my $json = JSON::PP->new->canonical->encode($request);
	return decode_json($citus->sql($n, "SELECT dyn_request('$operation', \$j\$$json\$j\$)"));
}

sub put
{
	my ($kind) = @_;
	$citus->sql(0, qq{SELECT dyn_put('app', jsonb_build_object('pk', 'p' || i, 'sk', '$kind')::dyn_item) FROM generate_series(1, 40) i});
}

sub slots
{
	my ($n) = @_;
	return $citus->sql($n, q{SELECT string_agg(state, ' ' ORDER BY state) FROM dyn_stream_slots});
}

$citus->sql(0, q{SELECT dyn_create_table('app', 'pk S', 'sk S'); SELECT dyn_distribute_table('app')});
$citus->sql($_, 'CALL dyn_setup_streams()') for 0 .. 2;
is(slots($_), 'ready ready ready', "node $_ lists the slots of all nodes") for 0 .. 2;
is($citus->sql(1, q{SELECT count(*), count(node), count(DISTINCT node), count(collected_lsn), count(lag) FROM dyn_stream_slots}), '3|2|2|3|3',
	'its own without a name');
is($citus->sql(1, q{CREATE ROLE nologin; SET ROLE nologin; SELECT string_agg(state, ' ' ORDER BY state) FROM dyn_stream_slots}),
	'ready unreachable unreachable',
	'a role that cannot log in elsewhere sees its own');
my $arn = $citus->sql(0, q{SELECT dyn_enable_stream('app', 'NEW_AND_OLD_IMAGES')});

# a standby of node 2
my $primary = $citus->node(2);
my $standby = PostgreSQL::Test::Cluster->new('standby');
$primary->backup('base');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
# Citus has made a key, and the group may read the files of a backup
chmod 0600, $standby->data_dir . '/server.key';
$standby->append_conf('postgresql.conf', "citus.local_hostname = '" . $standby->host . "'");
$standby->start;
put('first');
$citus->sql($_, 'CALL dyn_collect_streams()') for 0 .. 2;

# iterators that have read all there is
my %iterator;
sub shards
{
	my @shards = @{ request(0, 'DescribeStream', { StreamArn => $arn })->{StreamDescription}{Shards} };
	return map { $_->{ShardId} } grep { !$_->{SequenceNumberRange}{EndingSequenceNumber} } @shards;
}
wait_until('all shards are described', sub { my $n = () = shards(); return ($n == 8, $n) });
my $group = $citus->sql(0, sprintf("SELECT groupid FROM pg_dist_node WHERE nodename = '%s' AND nodeport = %d", $citus->address(2)));
my @moved = grep { /-0*$group-/ } shards();
cmp_ok(scalar(@moved), '>', 0, 'the node has shards of the stream');
my $records = 0;
for my $id (shards())
{
	my $iterator = request(0, 'GetShardIterator', { StreamArn => $arn, ShardId => $id, ShardIteratorType => 'TRIM_HORIZON' })->{ShardIterator};
	for (;;)
	{
		my $page = request(0, 'GetRecords', { ShardIterator => $iterator });
		$records += @{ $page->{Records} };
		$iterator = $page->{NextShardIterator};
		last if !@{ $page->{Records} };
	}
	$iterator{$id} = $iterator;
}
is($records, 40, 'all changes are read');

# the failover, as docs/scaling.md says
$primary->wait_for_catchup($standby);
my ($old_host, $old_port) = $citus->address(2);
$primary->stop('immediate');
$standby->promote;
$citus->sql(0, sprintf("SELECT citus_update_node(nodeid, '%s', %d) FROM pg_dist_node WHERE nodename = '$old_host' AND nodeport = $old_port",
	$standby->host, $standby->port));
$citus->{nodes}[2] = $standby;
put('second');
is($citus->sql($_, q{SELECT count(*) FROM dyn_scan('app')}), 80, "node $_ reads and writes at the promoted node") for 0 .. 2;

for my $n (0 .. 2)
{
	is(slots($n), 'ready ready slot missing', "node $n lists the missing slot");
	my %told;
	for my $id (@moved)
	{
		my $err;
		$citus->node($n)->psql('postgres', "\\set VERBOSITY verbose\nSELECT dyn_request('GetRecords', '{\"ShardIterator\": \"$iterator{$id}\"}')",
			stderr => \$err);
		$told{ $err =~ /ERROR:  YD011: [Cc]hanges after the position are not collected: slot missing/ ? 'told' : $err }++;
	}
	is(join(' ', sort keys %told), 'told', "node $n: readers of its shards are told");
}
wait_until('the log tells', sub {
	my $log = PostgreSQL::Test::Utils::slurp_file($standby->logfile);
	return ($log =~ /WARNING:  change streams in database "postgres" are broken: slot missing/, substr($log, -500));
});
pass('a worker of the promoted node has found it');
$citus->sql($_, 'CALL dyn_collect_streams()') for 0, 1;
my ($other) = grep { my $id = $_; !grep { $_ eq $id } @moved } shards();
cmp_ok(scalar(@{ request(2, 'GetRecords', { ShardIterator => $iterator{$other} })->{Records} }), '>', 0, 'other shards are read on');

# after the reset there is a gap, and then all again
$standby->safe_psql('postgres', 'CALL dyn_setup_streams()');
is(slots($_), 'ready ready ready', "node $_: ready again") for 0 .. 2;
put('third');
$citus->sql($_, 'CALL dyn_collect_streams()') for 0 .. 2;
my $err;
$citus->node(1)->psql('postgres', "\\set VERBOSITY verbose\nSELECT dyn_request('GetRecords', '{\"ShardIterator\": \"$iterator{$moved[0]}\"}')",
	stderr => \$err);
like($err, qr/ERROR:  YD011: [Cc]hanges after the position were not collected\nDETAIL:  The stream goes on after sequence number/,
	'readers are told of the gap');
my $third = 0;
for my $id (@moved)
{
	my $iterator = request(1, 'GetShardIterator', { StreamArn => $arn, ShardId => $id, ShardIteratorType => 'LATEST' })->{ShardIterator};
	$iterator{$id} = $iterator;
}
put('fourth');
$citus->sql($_, 'CALL dyn_collect_streams()') for 0 .. 2;
$third += @{ request(1, 'GetRecords', { ShardIterator => $iterator{$_} })->{Records} } for @moved;
is($third, $citus->sql(0, sprintf("SELECT count(*) FROM app WHERE sk = 'fourth' AND get_shard_id_for_distribution_column('app', pk) IN
	(SELECT shardid FROM pg_dist_placement WHERE groupid = %d)", $group)), 'and then all changes are there again');

done_testing();
