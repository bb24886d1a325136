# Reading streams while changes are collected: waiting readers (ST08), copies of a table as a beginning, old snapshots and
# what is trimmed (ST09), the end of a disabled stream (ST10), and reading on a standby.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use File::Temp qw(tempfile);
use Test::More;
use DynamoTable;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(allows_streaming => 'logical');
allow_plugin($node);
$node->append_conf('postgresql.conf', q{
	shared_preload_libraries = dynamo_table
	# partitions of the log are ten seconds wide
	dynamo_table.stream_retention = 240
	autovacuum = off
	log_statement = none
});
$node->start;
$node->safe_psql('postgres', q{CREATE EXTENSION dynamo_table});
$node->safe_psql('postgres', q{CALL dyn_setup_streams()});
$node->safe_psql('postgres', q{SELECT dyn_create_table('app', 'pk S', 'sk N'); SELECT dyn_create_table('other', 'pk S')});
$node->safe_psql('postgres', qq{SELECT dyn_enable_stream('$_', 'NEW_AND_OLD_IMAGES')}) for qw(app other);

sub value
{
	my ($sql, $on) = @_;
	return ($on // $node)->safe_psql('postgres', $sql);
}

sub put
{
	my ($pk, $from, $to) = @_;
	value(qq{SELECT count(dyn_put('app', jsonb_build_object('pk', '$pk', 'sk', i))) FROM generate_series($from, $to) i});
}

sub error_of
{
	my ($sql, $on) = @_;
	my ($code, $out, $err) = ($on // $node)->psql('postgres', $sql);
	return $err;
}

# ST06, with what is really collected
value(q{SELECT count(dyn_put('app', jsonb_build_object('pk', 'one', 'sk', 1, 'n', i))) FROM generate_series(1, 100) i});
value('CALL dyn_collect_streams()');
is(value(q{SELECT string_agg(new_image ->> 'n', ',') = (SELECT string_agg(i::text, ',') FROM generate_series(1, 100) i) FROM dyn_read_stream('app')}), 't',
	'100 changes of an item are 100 records in order');
is(value(q{SELECT count(*) FROM (SELECT sequence_number, lag(sequence_number) OVER () AS before FROM dyn_read_stream('app')) v
	WHERE before >= sequence_number}), '0', 'and their numbers grow');
value('BEGIN; SELECT dyn_put(\'app\', \'{"pk":{"S":"truncated"},"sk":{"N":"1"}}\'); TRUNCATE app, other; COMMIT');
value('CALL dyn_collect_streams()');
is(value(q{SELECT count(*), count(DISTINCT sequence_number) FROM dyn_read_stream('app') WHERE event_name = 'TRUNCATE'}), '4|4',
	'TRUNCATE is a record of each shard, with a place of its own');

# waiting
my $reader = $node->background_psql('postgres');
my $start = time;
$reader->query_until(qr/begun/, qq{\\echo begun\nSELECT keys ->> 'pk', event_name FROM dyn_read_stream('app', 'LATEST', max_wait => '60 s');\n});
wait_for($node, q{SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE 'SELECT keys%' AND wait_event_type = 'Extension'});
is(value(q{SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE a.query LIKE 'SELECT keys%' AND l.relation IN
	('app'::regclass, (SELECT oid FROM pg_class WHERE relname = 'stream_records'))}), '0', 'who waits has locked neither the table nor the records');
value(q{SELECT dyn_put('other', '{"pk":{"S":"not his"}}')});
put('woken', 1, 1);
like($reader->query(q{SELECT 'after'}), qr/woken\|INSERT/, 'a waiting reader is woken by a record of its table');
cmp_ok(time - $start, '<', 60, 'before its time');
$reader->quit;

my $canceled = $node->background_psql('postgres', on_error_stop => 0);
$canceled->query_until(qr/begun/, qq{\\echo begun\nSELECT 'canceled' FROM dyn_read_stream('app', 'LATEST', max_wait => '60 s');\n});
wait_for($node, q{SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE 'SELECT ''canceled%' AND wait_event_type = 'Extension'});
value(q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'SELECT ''canceled%' AND pid <> pg_backend_pid()});
wait_for($node, q{SELECT count(*) = 0 FROM pg_stat_activity WHERE query LIKE 'SELECT ''canceled%' AND state = 'active'});
pass('waiting can be canceled');
$canceled->quit;

# Readers that follow while many write: each gets everything once, in the order of each writer.
sub follow
{
	my ($from, $until) = @_;
	return qq{
		DO \$\$
		DECLARE
		  at text := '$from';
		  r record;
		BEGIN
		  LOOP
		    FOR r IN SELECT * FROM dyn_read_stream('app', at, max_records => 37, max_wait => '5 s') LOOP
		      at := r.sequence_number;
		      INSERT INTO seen SELECT current_setting('application_name'), r.keys ->> 'pk', (r.keys ->> 'sk')::int, at;
		      IF r.keys ->> 'pk' = '$until' THEN RETURN; END IF;
		    END LOOP;
		    COMMIT;
		  END LOOP;
		END \$\$;
	};
}
value('CREATE TABLE seen (reader text, pk text, sk int, at text, n serial)');
my $position = value('SELECT dyn_stream_position()');
my @readers;
for my $i (1 .. 2)
{
	my $psql = $node->background_psql('postgres');
	$psql->query_until(qr/begun/, qq{\\echo begun\nSET application_name = 'reader $i';\n} . follow($position, 'end'));
	push @readers, $psql;
}
my ($fh, $script) = tempfile();
print $fh q{
\set n random(1, 5)
INSERT INTO app (item) SELECT jsonb_build_object('pk', 'c' || :client_id, 'sk', nextval('counter'), 'i', i) FROM generate_series(1, :n) i;
};
close $fh;
value('CREATE SEQUENCE counter');
$node->command_ok([ 'pgbench', '-n', '-f', $script, '-c', '4', '-t', '250', 'postgres' ], 'writers');
put('end', 1, 1);
$_->quit for @readers;
is(value(q{SELECT count(*) FROM (SELECT pk, sk FROM app WHERE pk LIKE 'c%' EXCEPT ALL SELECT pk, sk FROM seen WHERE reader = 'reader 1') v}), '0',
	'a reader has missed nothing');
is(value(q{SELECT count(*) FROM (SELECT pk, sk, at FROM seen WHERE reader = 'reader 1' EXCEPT ALL SELECT pk, sk, at FROM seen WHERE reader = 'reader 2') v}),
	'0', 'the other one has the same');
is(value(q{SELECT count(*), count(DISTINCT (reader, pk, sk)) FROM seen}),
	value(q{SELECT 2 * count(*), 2 * count(*) FROM app WHERE pk LIKE 'c%' OR pk = 'end'}), 'each once');
is(value(q{SELECT count(*) FROM (SELECT sk, lag(sk) OVER (PARTITION BY reader, pk ORDER BY n) AS before FROM seen) v WHERE before > sk}), '0',
	'in the order of each writer');

# A copy of the table is a beginning: with what comes after its position, nothing is missed and nothing comes twice.
my $writers = $node->background_psql('postgres');
$writers->query_safe(q{BEGIN; SELECT dyn_put('app', '{"pk":{"S":"slow"},"sk":{"N":"1"}}')});
my $copier = $node->background_psql('postgres');
$copier->query_until(qr/begun/, q{
\echo begun
BEGIN;
LOCK TABLE app IN SHARE MODE;
CREATE TABLE copy AS SELECT dyn_stream_position() AS position, array_agg(pk) FILTER (WHERE pk = 'slow') AS slow FROM app;
COMMIT;
});
wait_for($node, q{SELECT count(*) = 1 FROM pg_locks WHERE relation = 'app'::regclass AND mode = 'ShareLock' AND NOT granted});
$writers->query_safe('COMMIT');
$writers->quit;
$copier->query_safe('SELECT 1');
$copier->quit;
put('later', 1, 1);
value('CALL dyn_collect_streams()');
is(value('SELECT slow FROM copy'), '{slow}', 'the copy has what was written when it was asked for');
is(value(q{SELECT string_agg(keys ->> 'pk', ' ') FROM copy, dyn_read_stream('app', position)}), 'later', 'and the stream goes on behind it');

# An old snapshot does not show that something was trimmed, but its reader is told.
my $old = $node->background_psql('postgres', on_error_stop => 0);
$old->query_safe(q{BEGIN ISOLATION LEVEL REPEATABLE READ});
cmp_ok($old->query_safe(qq{SELECT count(*) FROM dyn_read_stream('app', '$position')}), '>', 0, 'an old snapshot shows records');
value('ALTER SYSTEM SET dynamo_table.stream_retention = 1');
value('SELECT pg_reload_conf()');
wait_for($node, q{SELECT count(*) = 1 FROM dynamo_internal.stream_trimmed WHERE relation = 'app'::regclass});
wait_for($node, q{SELECT count(*) = 0 FROM dynamo_internal.stream_records WHERE relation = 'app'::regclass});
$old->query(qq{SELECT count(*) FROM dyn_read_stream('app', '$position')});
like($old->{stderr}, qr/the position is before the oldest record of the stream/, 'until they were trimmed, which is an error then');
$old->quit;
like(error_of(qq{\\set VERBOSITY verbose\nSELECT count(*) FROM dyn_read_stream('app', '$position')}),
	qr/YD011.*The stream goes on after sequence number 1\d{32}\./s, 'of all readers');
value('ALTER SYSTEM RESET dynamo_table.stream_retention');
value('SELECT pg_reload_conf()');

# ST10: the end of a stream that was disabled by a transaction which had written before, and committed late.
sub records
{
	my ($iterator) = @_;
	return value(qq{SELECT json_array_length(r -> 'Records') || '|' || coalesce(r ->> 'NextShardIterator', '')
		FROM dyn_request('GetRecords', json_build_object('ShardIterator', '$iterator')) r});
}
value(q{SELECT dyn_disable_stream('other'); SELECT dyn_enable_stream('other', 'KEYS_ONLY', 1)});
my $arn = value(q{SELECT stream_arn FROM dyn_streams WHERE relation = 'other'::regclass AND status = 'ENABLED'});
my $shard = value(qq{SELECT dyn_request('DescribeStream', '{"StreamArn":"$arn"}') #>> '{StreamDescription,Shards,0,ShardId}'});
my $disabling = $node->background_psql('postgres');
$disabling->query_safe(q{BEGIN; SELECT dyn_put('other', '{"pk":{"S":"last"}}'); SELECT dyn_disable_stream('other')});
put('between', 1, 10);
value('CALL dyn_collect_streams()');
# what commits from now on is not collected
value('ALTER SYSTEM SET dynamo_table.stream_collector = off');
value('SELECT pg_reload_conf()');
wait_for($node, 'SELECT active_pid IS NULL FROM dyn_stream_slots');
$disabling->query_safe('COMMIT');
$disabling->quit;
my $iterator = value(qq{SELECT dyn_request('GetShardIterator',
	'{"StreamArn":"$arn","ShardId":"$shard","ShardIteratorType":"TRIM_HORIZON"}') ->> 'ShardIterator'});
like(records($iterator), qr/^0\|arn/, 'no end before it was collected') for 1 .. 2;
unlike(value(qq{SELECT dyn_request('DescribeStream', '{"StreamArn":"$arn"}')}), qr/EndingSequenceNumber/, 'nor in its description');
value('ALTER SYSTEM RESET dynamo_table.stream_collector');
value('SELECT pg_reload_conf()');
my $got = 0;
wait_until('the stream has an end', sub {
	my $page = records($iterator);
	(my $n, $iterator) = $page =~ /^(\d+)\|(.*)$/s;
	$got += $n;
	return ($iterator eq '', $page);
});
is($got, 1, 'what was written by it comes, and then the stream has an end');
like(value(qq{SELECT dyn_request('DescribeStream', '{"StreamArn":"$arn"}') #>> '{StreamDescription,StreamStatus}'}), qr/DISABLED/, 'as its description says');

# On a standby.
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
put('standby', 1, 5);
value('CALL dyn_collect_streams()');
$node->wait_for_catchup($standby);
is(value(q{SELECT string_agg(keys ->> 'sk', ',') FROM dyn_read_stream('app') WHERE keys ->> 'pk' = 'standby'}, $standby), '1,2,3,4,5',
	'a standby has the records');
is(value(q{SELECT count(*) FROM dyn_read_stream('app', dyn_stream_position())}, $standby), '0', 'and a position');
my $there = $standby->background_psql('postgres');
$there->query_until(qr/begun/, qq{\\echo begun\nSELECT keys ->> 'pk', event_name FROM dyn_read_stream('app', 'LATEST', max_wait => '60 s');\n});
wait_for($standby, q{SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE 'SELECT keys%' AND state = 'active' AND wait_event IS NOT NULL});
put('woken there', 1, 1);
like($there->query(q{SELECT 'after'}), qr/woken there\|INSERT/, 'who waits there gets what comes');
$there->quit;
$standby->stop;
$node->stop;
done_testing();
