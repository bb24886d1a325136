# TT08: one launcher for all that runs by itself. No service waits for another: not for one that is slow, not
# for a database that is locked, not for one that has taken the server down, and not for one that is switched off.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
allow_plugin($node);
$node->append_conf('postgresql.conf', q{
	shared_preload_libraries = dynamo_table
	wal_level = logical
	dynamo_table.ttl_interval = 1s
	dynamo_table.ttl_max_workers = 1
	dynamo_table.ttl_pause = 0
	dynamo_table.ttl_batch_size = 10
	max_worker_processes = 16
	max_logical_replication_workers = 0
	max_parallel_workers = 0
	restart_after_crash = on
	autovacuum = off
	log_statement = none
});
$node->start;

sub value
{
	my ($sql, $dbname) = @_;
	return $node->safe_psql($dbname // 'postgres', $sql);
}

sub set_conf
{
	my ($conf) = @_;
	$node->append_conf('postgresql.conf', $conf);
	$node->reload;
}

sub pid_of
{
	my ($type, $and) = @_;
	my $worker = "FROM pg_stat_activity WHERE backend_type = 'dynamo_table $type'" . ($and // '');
	my $pid = '';
	wait_for($node, "SELECT count(*) > 0 $worker") while ($pid = value("SELECT max(pid) $worker")) eq '';
	return $pid;
}

sub add_due
{
	my ($name, $items, $dbname) = @_;
	value(qq{INSERT INTO "$name" (item) SELECT jsonb_build_object('id', gen_random_uuid(), 'expires', floor(extract(epoch FROM clock_timestamp())) - 1)
		FROM generate_series(1, $items)}, $dbname);
}

# Tables of the three services in a database: with items that expire, and with a stream.
sub prepare
{
	my ($dbname) = @_;
	value(q{CREATE EXTENSION dynamo_table;
		CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_catalog.pg_sleep(0.01); RETURN OLD; END $$}, $dbname);
	value(q{SELECT dyn_create_table('swept', 'id S')}, $dbname);
	value(q{CALL dyn_enable_ttl('swept', 'expires')}, $dbname);
	value('CREATE TRIGGER slow BEFORE DELETE ON swept FOR EACH ROW EXECUTE FUNCTION slow()', $dbname);
	value('CALL dyn_setup_streams()', $dbname);
	value(q{SELECT dyn_create_table('streamed', 'id S'); SELECT dyn_enable_stream('streamed', 'KEYS_ONLY', 1)}, $dbname);
}

my $change = 0;

# A change comes to its stream by itself.
sub is_collected
{
	my ($name, $dbname) = @_;
	$change++;
	value(qq{SELECT dyn_put('streamed', '{"id":{"S":"$change"}}')}, $dbname);
	wait_for($node, qq{SELECT count(*) = 1 FROM dyn_read_stream('streamed') WHERE keys ->> 'id' = '$change'}, $dbname);
	pass($name);
}

prepare('postgres');
is(value(q{SELECT string_agg(backend_type, ' ') FROM pg_stat_activity WHERE backend_type LIKE 'dynamo_table%launcher'}), 'dynamo_table launcher',
	'one launcher');
is_collected('changes are collected');

# A new launcher leaves the collector alone, and does not start another
my $collector = pid_of('stream collector');
my $launcher = pid_of('launcher');
value("SELECT pg_terminate_backend($launcher)");
wait_for($node, "SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'dynamo_table launcher' AND pid <> $launcher");
add_due('swept', 1);
wait_for($node, 'SELECT count(*) = 0 FROM swept');
is(value(q{SELECT string_agg(pid::text, ' ') FROM pg_stat_activity WHERE backend_type = 'dynamo_table stream collector'}), $collector,
	'a new launcher leaves the collector alone');

# Sweeps that take all of the time that they have: a collector begins all the same
add_due('swept', 20000);
pid_of('ttl worker', q{ AND query LIKE 'sweeping%'});
value("SELECT pg_terminate_backend($collector)");
is_collected('a collector begins while sweeps go on');
cmp_ok(pid_of('stream collector'), '!=', $collector, 'a new one');

# A sweep takes the server down: the collector begins again, and the table is left alone
my $log = -s $node->logfile;
# a worker may end by itself before it is killed
1 until kill('KILL', pid_of('ttl worker', q{ AND query LIKE 'sweeping%'}));
$node->wait_for_log(qr/all server processes terminated; reinitializing/, $log);
wait_until_up($node);
is_collected('a collector begins after a sweep has taken the server down');
wait_for($node, q{SELECT last_error = 'the server went down during its sweep' FROM dynamo_internal.ttl_sweeps WHERE relation = 'swept'::regclass});
value('DROP TRIGGER slow ON swept; TRUNCATE swept');

# A database that is locked: those of others are visited, and it is visited when it can be
value('CREATE DATABASE locked');
prepare('locked');
is_collected('changes of another database', 'locked');
set_conf("dynamo_table.ttl_worker = off\ndynamo_table.stream_collector = off");
wait_for($node, q{SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = 'locked'});
my $holder = $node->background_psql('postgres');
$holder->query_safe('BEGIN; ALTER DATABASE locked RENAME TO unlocked');
set_conf("dynamo_table.ttl_worker = on\ndynamo_table.stream_collector = on");
is_collected('a database is locked, and changes of another are collected');
add_due('swept', 10);
wait_for($node, 'SELECT count(*) = 0 FROM swept');
pass('and its items go');
is(value(q{SELECT count(*) FROM pg_locks WHERE NOT granted}), '0', 'nobody waits for the lock');
$holder->query_safe('COMMIT');
$holder->quit;
add_due('swept', 10, 'unlocked');
wait_for($node, 'SELECT count(*) = 0 FROM swept', 'unlocked');
is_collected('afterwards it has its turn', 'unlocked');
value(q{SELECT dyn_disable_stream('streamed')}, 'unlocked');
value('CALL dyn_teardown_streams()', 'unlocked');
value('DROP DATABASE unlocked');

# Requests for indexes are found again, whether or not items are removed
set_conf('dynamo_table.ttl_worker = off');
value(q{SELECT dyn_create_table('indexed', 'id S'); SELECT dyn_put('indexed', '{"id":{"S":"i"},"k":{"S":"v"}}')});
$holder = $node->background_psql('postgres');
$holder->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
value(q{SELECT dyn_request('UpdateTable', '{"TableName": "indexed", "AttributeDefinitions": [{"AttributeName": "k", "AttributeType": "S"}],
	"GlobalSecondaryIndexUpdates": [{"Create": {"IndexName": "by-k", "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}],
		"Projection": {"ProjectionType": "ALL"}}}]}') IS NULL});
wait_for($node, q{SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'dynamo_table index' AND wait_event = 'virtualxid'});
$node->restart;
wait_for($node, q{SELECT count(*) = 0 FROM dynamo_internal.index_requests});
is(value(q{SELECT dyn_describe_table('indexed') -> 'GlobalSecondaryIndexes' -> 0 ->> 'IndexStatus'}), 'ACTIVE',
	'a request is gone on with, though no items are removed');
$holder->quit;

# One worker for all: sweeps that could go on and on let a collector have its turn, which keeps it
value('CREATE TRIGGER slow BEFORE DELETE ON swept FOR EACH ROW EXECUTE FUNCTION slow()');
set_conf("dynamo_table.stream_collector = off\ndynamo_table.ttl_worker = on\nmax_worker_processes = 2");
$node->restart;
add_due('swept', 20000);
pid_of('ttl worker', q{ AND query LIKE 'sweeping%'});
$log = -s $node->logfile;
set_conf('dynamo_table.stream_collector = on');
is_collected('the only worker is free for a collector after some sweeps');
$node->wait_for_log(qr/no background worker is free to remove expired items/, $log);
pass('and the log says what has none');

$node->stop;
done_testing();
