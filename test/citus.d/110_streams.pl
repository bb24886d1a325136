# The stream of a distributed table has the shards of all nodes, read from any node; a shard that is moved or split
# ends one and begins others, and no change is lost or told twice.
use strict;
use warnings;

use FindBin;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;
use CitusNodes;
use DynamoTable;

my $citus = CitusNodes->new('citus.enable_change_data_capture = on');

sub request
{
	my ($n, $operation, $request, $as) = @_;
	my $json = JSON::PP->new->canonical->encode($request);
	return decode_json($citus->sql($n, ($as ? "SET ROLE $as; " : '')
			. "SELECT dyn_request('$operation', \$j\$$json\$j\$)"));
}

sub fails
{
	my ($n, $sql, $like, $name) = @_;
	my ($status, undef, $error) = $citus->node($n)->psql('postgres', $sql);
	ok($status != 0, "$name: refused");
	like($error, $like, $name);
}

sub describe
{
	my ($n, $arn) = @_;
	my @shards;
	my $last;
	do
	{
		my $page = request($n, 'DescribeStream',
			{ StreamArn => $arn, Limit => 5, $last ? (ExclusiveStartShardId => $last) : () })->{StreamDescription};
		push @shards, @{ $page->{Shards} };
		$last = $page->{LastEvaluatedShardId};
	} while $last;
	return @shards;
}

# Collect what was committed, and wait until the shards of the stream that have not ended are those that the table has now, or none.
sub collect
{
	my ($arn, $enabled) = @_;
	my $placed = $citus->sql(0, q{SELECT string_agg(format('%s-%s-%s', lpad(to_hex(n.groupid), 8, '0'), lpad(to_hex(r.shardid), 16, '0'),
		lpad(to_hex(result::bigint), 8, '0')), ' ' ORDER BY r.shardid)
		FROM run_command_on_placements('app', $$SELECT '%s'::regclass::oid::bigint$$) r JOIN pg_dist_node n USING (nodename, nodeport)});
	wait_until('the shards of the stream are noted', sub {
		$citus->sql($_, 'CALL dyn_collect_streams()') for 0 .. $#{ $citus->{nodes} };
		my @open = map { $_->{ShardId} =~ /^shardId-\d+-(.*)/ } grep { !$_->{SequenceNumberRange}{EndingSequenceNumber} } describe(0, $arn);
		my $noted = join(' ', sort { substr($a, 9) cmp substr($b, 9) } @open);
		return ($noted eq ($enabled ? $placed : ''), $noted);
	});
}

sub read_shard
{
	my ($n, $arn, $id, $type, %more) = @_;
	my $iterator = request($n, 'GetShardIterator',
		{ StreamArn => $arn, ShardId => $id, ShardIteratorType => $type // 'TRIM_HORIZON', %more })->{ShardIterator};
	my (@records, $page);
	do
	{
		$page = request($n, 'GetRecords', { ShardIterator => $iterator, Limit => 50 });
		push @records, @{ $page->{Records} };
		$iterator = $page->{NextShardIterator};
	} while $iterator && @{ $page->{Records} };
	return (\@records, $iterator);
}

# All records of a stream as a consumer gets them that reads parents before their children.
sub read_stream
{
	my ($n, $arn) = @_;
	my (@records, %done);
	my @shards = describe($n, $arn);
	my %known = map { ($_->{ShardId} => 1) } @shards;
	while (my @ready = grep { !$done{ $_->{ShardId} } && (!$_->{ParentShardId} || !$known{ $_->{ParentShardId} } || $done{ $_->{ParentShardId} }) }
		@shards)
	{
		for my $shard (@ready)
		{
			my ($found, $iterator) = read_shard($n, $arn, $shard->{ShardId});
			is(defined $iterator ? 1 : 0, $shard->{SequenceNumberRange}{EndingSequenceNumber} ? 0 : 1,
				'a shard that has ended has no next iterator') if $shard->{SequenceNumberRange}{EndingSequenceNumber};
			push @records, @$found;
			$done{ $shard->{ShardId} } = 1;
		}
	}
	is(scalar(keys %done), scalar(@shards), 'all shards were read');
	return @records;
}

# Item by item, a record's old image is the new one before it, and the last one is the item; sequence numbers and ids are unique, and
# the numbers of an item collection grow.
sub check_history
{
	my ($name, @records) = @_;
	my (%item, %last, %ids, @wrong);
	for my $record (@records)
	{
		my $change = $record->{dynamodb};
		my $key = "$change->{Keys}{pk}{S}/$change->{Keys}{sk}{S}";
		my $json = JSON::PP->new->canonical;
		push @wrong, "id $record->{eventID}" if $ids{ $record->{eventID} }++;
		push @wrong, "$key: order" if ($last{ $change->{Keys}{pk}{S} } // '') ge $change->{SequenceNumber};
		$last{ $change->{Keys}{pk}{S} } = $change->{SequenceNumber};
		my $old = $change->{OldImage} ? $json->encode($change->{OldImage}) : '';
		push @wrong, "$key: $record->{eventName} $change->{SequenceNumber} from $old after " . ($item{$key} // 'nothing') . " by $last{$key}"
			if ($item{$key} // '') ne $old;
		$last{$key} = "$record->{eventID} $change->{SequenceNumber}";
		$item{$key} = $change->{NewImage} ? $json->encode($change->{NewImage}) : '';
	}
	is(join("\n", @wrong[ 0 .. ($#wrong > 5 ? 5 : $#wrong) ]), '', "$name: each change once, in order");
	my $items = join("\n", sort grep { $_ } values %item);
	my $table = join("\n", sort map { JSON::PP->new->canonical->encode(decode_json($_)) }
		split /\n/, $citus->sql(0, q{SELECT i FROM dyn_scan('app') i}));
	is($items, $table, "$name: and together they are the table");
}

#
# Enabling
#
$citus->sql(0, q{SELECT dyn_create_table('app', 'pk S', 'sk S'); SELECT dyn_distribute_table('app')});
$citus->sql(0, q{CREATE ROLE reader LOGIN; CREATE ROLE other LOGIN; GRANT SELECT ON app TO reader});
$citus->sql($_, 'CALL dyn_setup_streams()') for 0, 1;
fails(0, q{SELECT dyn_enable_stream('app', 'KEYS_ONLY')}, qr/node \d+ is not ready: change streams are: not set up/, 'a node without a slot');
$citus->sql(2, 'CALL dyn_setup_streams()');
fails(0, q{SELECT dyn_enable_stream('app', 'KEYS_ONLY', 2)}, qr/has no number of shards/, 'a number of shards');
my $arn = $citus->sql(0, q{SELECT dyn_enable_stream('app', 'NEW_AND_OLD_IMAGES')});
fails(0, q{SELECT dyn_alter_stream('app', 2)}, qr/cannot be split/, 'splitting shards of the stream');
fails(0, q{SELECT * FROM dyn_read_stream('app')}, qr/cannot be read as a whole/, 'reading the stream as one');
collect($arn, 1);
is(scalar(describe($_, $arn)), 8, "node $_ describes a shard of the stream for each of the table") for 0 .. 2;

#
# Writing from all nodes, reading at all nodes
#
for my $n (0 .. 2)
{
	$citus->sql($n, qq{SELECT dyn_put('app', jsonb_build_object('pk', 'p' || i, 'sk', '$n', 'n', i)::dyn_item) FROM generate_series(1, 20) i;
		SELECT dyn_update('app', jsonb_build_object('pk', 'p' || i, 'sk', '$n')::dyn_item, 'SET n = n + :one', vals => '{":one": {"N": "1"}}')
			FROM generate_series(1, 10) i;
		SELECT dyn_delete('app', jsonb_build_object('pk', 'p' || i, 'sk', '$n')::dyn_item) FROM generate_series(1, 5) i});
}
$citus->sql(0, q{SELECT dyn_transact(('[' || string_agg(format(
	'{"Put": {"TableName": "app", "Item": {"pk": {"S": "p%s"}, "sk": {"S": "t"}}}}', i), ',') || ']')::json) FROM generate_series(1, 20) i});
# an absent item gets no record, though a place is held for it, by a statement or on the node of the shard itself
$citus->sql($_, qq{SELECT dyn_transact('[{"Delete": {"TableName": "app", "Key": {"pk": {"S": "none"}, "sk": {"S": "a"}}}},
	{"Put": {"TableName": "app", "Item": {"pk": {"S": "p1"}, "sk": {"S": "u$_"}}}}]')}) for 0 .. 2;
collect($arn, 1);
for my $n (0 .. 2)
{
	my @records = read_stream($n, $arn);
	is(scalar(@records), 3 * (20 + 10 + 5 + 1) + 20, "node $n has all records");
	check_history("read at node $n", @records);
}
my ($shard) = describe(0, $arn);
my ($records) = read_shard(0, $arn, $shard->{ShardId});
my $second = $records->[1]{dynamodb}{SequenceNumber};
my ($rest) = read_shard(0, $arn, $shard->{ShardId}, 'AT_SEQUENCE_NUMBER', SequenceNumber => $second);
is($rest->[0]{dynamodb}{SequenceNumber}, $second, 'AT_SEQUENCE_NUMBER');
($rest) = read_shard(0, $arn, $shard->{ShardId}, 'AFTER_SEQUENCE_NUMBER', SequenceNumber => $second);
is(scalar(@$rest), @$records - 2, 'AFTER_SEQUENCE_NUMBER');
($rest) = read_shard(1, $arn, $shard->{ShardId}, 'LATEST');
is(scalar(@$rest), 0, 'LATEST');
ok(scalar(@{ request(2, 'DescribeStream', { StreamArn => $arn }, 'reader')->{StreamDescription}{Shards} }) == 8, 'a role with SELECT describes it');
fails(1, qq{SET ROLE other; SELECT dyn_request('DescribeStream', '{"StreamArn": "$arn"}')}, qr/permission denied|not authorized/, 'a role without');
like($citus->sql(1, q{SET ROLE other; SELECT dynamo_internal.stream_node_shards('app'::regclass, 1)}), qr/permission denied/,
	'nor does it get an answer from a node');

#
# Moves, splits and a crash under load
#
my @load = map {
	my $n = $_;
	my $file = PostgreSQL::Test::Utils::tempdir() . "/load$n.sql";
	append_to_file($file, qq{\\set i random(1, 40)
SELECT dyn_update('app', jsonb_build_object('pk', 'p' || :i, 'sk', 'load$n')::dyn_item, 'ADD n :one', vals => '{":one": {"N": "1"}}');
\\sleep 2 ms
});
	my ($host, $port) = $citus->address($n);
	my $out = '';
	{ harness => IPC::Run::start([ $citus->node($n)->installed_command('pgbench'), '-n', '-c', 4, '-T', 3600, '-f', $file, '-h', $host, '-p', $port,
			'--max-tries=100', 'postgres' ], '>', \$out, '2>', \$out), out => \$out }
} 0;
await_load($citus->node(0), 4);
my %placements = $citus->placements('app');
my @ids = sort keys %placements;
my $new = $citus->add;
$citus->sql($new, 'CALL dyn_setup_streams()');
for my $mode ('block_writes', 'force_logical')
{
	for my $to (2, $new, 1)
	{
		my ($id) = $mode eq 'block_writes' ? $ids[0] : $ids[1];
		%placements = $citus->placements('app');
		$citus->move($id, $placements{$id}, $to, $mode) if $placements{$id} != $to;
	}
}
%placements = $citus->placements('app');
my ($node) = $citus->sql(0, "SELECT nodeid FROM citus_shards JOIN pg_dist_node USING (nodename, nodeport) WHERE shardid = $ids[2]");
my $half = $citus->sql(0, "SELECT (shardminvalue::bigint + shardmaxvalue::bigint) / 2 FROM pg_dist_shard WHERE shardid = $ids[2]");
$citus->sql(0, "SELECT citus_split_shard_by_split_points($ids[2], ARRAY['$half'], ARRAY[$node, $node], 'block_writes')");
$citus->crash(1);
stop_load($_) for @load;
$_->{harness}->finish for @load;
collect($arn, 1);
check_history('after moves, a split and a crash', read_stream(0, $arn));
my @shards = describe(2, $arn);
is(scalar(grep { $_->{SequenceNumberRange}{EndingSequenceNumber} } @shards) >= 5, 1, 'shards have ended');
is(scalar(grep { !$_->{SequenceNumberRange}{EndingSequenceNumber} } @shards), 9, 'those that there are have not');

$citus->sql(0, q{SELECT dyn_disable_stream('app')});
collect($arn, 0);
@shards = describe(0, $arn);
is(scalar(grep { !$_->{SequenceNumberRange}{EndingSequenceNumber} } @shards), 0, 'all end with the stream');

done_testing();
