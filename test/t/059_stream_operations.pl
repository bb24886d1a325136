# What an administrator does with streams, and what the log says of it.
use strict;
use warnings;

use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
DynamoTable::allow_plugin($node);
$node->append_conf('postgresql.conf', q{
	wal_level = logical
	max_worker_processes = 16
	autovacuum = off
	log_statement = none
	log_checkpoints = off
	log_min_messages = warning
	dynamo_table.ttl_interval = 1s
	dynamo_table.ttl_probe_interval = 1s
});
$node->start;

sub value
{
	my ($sql, $dbname) = @_;
	return $node->safe_psql($dbname // 'postgres', $sql);
}

# What a statement says; with its SQLSTATE if it is an error.
sub says
{
	my ($sql, $dbname) = @_;
	my ($status, $out, $err) = $node->psql($dbname // 'postgres', "\\set VERBOSITY verbose\n$sql");
	return $err;
}

sub log_since
{
	my ($offset) = @_;
	return substr(slurp_file($node->logfile), $offset);
}

my $setup = q{CREATE EXTENSION dynamo_table; CALL dyn_setup_streams(); SELECT dyn_create_table('app', 'pk S'); SELECT dyn_enable_stream('app', 'KEYS_ONLY')};
my $put = q{SELECT dyn_put('app', '{"pk":{"S":"a"}}')};
value('CREATE DATABASE calls');
value($setup, 'calls');

# Without background workers: calls that find something, and nothing
my $offset = -s $node->logfile;
value($put, 'calls');
is(value('CALL dyn_collect_streams()', 'calls'), '1', 'a call collects');
value('CALL dyn_collect_streams()', 'calls') for 1 .. 3;
is(log_since($offset), '', 'calls that collect are not logged');
value('SET log_min_messages = debug1; CALL dyn_collect_streams()', 'calls');
like(log_since($offset), qr/logical decoding found consistent point/, 'but at the level DEBUG1');

# What a call writes has an origin, and what the session writes afterwards has none
value(q{SELECT pg_create_logical_replication_slot('others', 'test_decoding')}, 'calls');
value($put =~ s/"a"/"o"/r, 'calls');
is(value(q{CALL dyn_collect_streams(); CREATE TABLE plain (i int); INSERT INTO plain VALUES (1)}, 'calls'), '1', 'a call collects one more');
my $decoded = q{SELECT data ~ 'dynamo_internal.stream_state', count(*)
	FROM pg_logical_slot_peek_changes('others', NULL, NULL, 'skip-empty-xacts', '1', 'only-local', '%d')
	WHERE data ~ '^table (dynamo_internal|public.plain)' GROUP BY 1 ORDER BY 1};
is(value(sprintf($decoded, 0), 'calls'), "f|1\nt|1", 'its progress can be decoded by others');
is(value(sprintf($decoded, 1), 'calls'), 'f|1', 'who leave it out by its origin');
value(q{SELECT pg_drop_replication_slot('others')}, 'calls');
$offset = -s $node->logfile;
# from 19 on a session says so at the level DEBUG1 only
my $level = value('SHOW server_version_num') < 190000 ? 'warning' : 'debug1';
value("SET log_min_messages = $level; SELECT count(*) FROM pg_logical_slot_peek_changes((SELECT slot_name FROM dyn_stream_slots), NULL, NULL)", 'calls');
like(log_since($offset), qr/starting logical decoding/, 'and so is whatever else decodes in a session');
$offset = -s $node->logfile;
$node->psql('calls', 'SELECT pg_terminate_backend(pg_backend_pid())');
like(log_since($offset), qr/FATAL:  terminating connection/, 'a session of a user that is ended is logged');

# DROP EXTENSION, in a session that has not used the library
my $warning = qr/WARNING: .* replication slot "(dynamo_table_\d+)" is not dropped with the extension.*pg_drop_replication_slot\('\1'\)/s;
like(says('DROP EXTENSION dynamo_table CASCADE', 'calls'), $warning, 'DROP EXTENSION warns of the slot');
value('DROP DATABASE calls');
is(value('SELECT count(*) FROM pg_replication_slots'), '0', 'DROP DATABASE drops a slot that no process reads');

# With background workers
$node->append_conf('postgresql.conf', 'shared_preload_libraries = dynamo_table');
$node->restart;
my $collectors = q{FROM pg_stat_activity WHERE backend_type = 'dynamo_table stream collector' AND state = 'active' AND datname};

sub wait_for_collector
{
	my ($dbname) = @_;
	wait_for($node, "SELECT count(*) = 1 $collectors = '$dbname'");
}

sub create_database
{
	my ($dbname) = @_;
	value("CREATE DATABASE $dbname");
	value($setup, $dbname);
	wait_for_collector($dbname);
}

create_database('app');
value($put, 'app');
wait_for_collector('app');

# Switched off in one database
create_database('other');
value(q{SELECT dyn_create_table('ttl', 'pk S'); CALL dyn_enable_ttl('ttl', 'e')}, $_) for 'app', 'other';
$offset = -s $node->logfile;
value('ALTER DATABASE other SET dynamo_table.stream_collector = off');
value('ALTER DATABASE other SET dynamo_table.ttl_worker = off');
wait_for($node, "SELECT count(*) = 0 $collectors = 'other'");
is(value("SELECT count(*) $collectors = 'app'"), '1', 'a collector is switched off for one database');
is(value(q{SELECT active FROM pg_replication_slots WHERE database = 'other'}), 'f', 'and leaves its slot');
my $since = value('SELECT now()');
wait_for($node, "SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'dynamo_table ttl worker' AND datname = 'other' AND backend_start < '$since'");
value(q{SELECT dyn_put('ttl', jsonb_build_object('pk', 'a', 'e', extract(epoch FROM now())::bigint - 60)::dyn_item)}, 'other');
# databases are visited in the order in which they ask
value(q{SELECT dyn_put('ttl', jsonb_build_object('pk', 'a', 'e', extract(epoch FROM now())::bigint - 60)::dyn_item)}, 'app'),
	wait_for($node, 'SELECT count(*) = 0 FROM ttl', 'app') for 1 .. 2;
is(value('SELECT count(*) FROM ttl', 'other'), '1', 'and so is the removal of expired items');
is(value("SELECT count(*) $collectors = 'other'"), '0', 'it stays off');
value('ALTER DATABASE other RESET dynamo_table.stream_collector');
value('ALTER DATABASE other SET dynamo_table.ttl_worker = on');
wait_for_collector('other');
pass('and on again');
wait_for($node, 'SELECT count(*) = 0 FROM ttl', 'other');
is(log_since($offset), '', 'and the log is empty');
value('CREATE ROLE plain LOGIN; ALTER DATABASE other OWNER TO plain');
like(says(q{SET ROLE plain; ALTER DATABASE other SET dynamo_table.stream_collector = off}), qr/ERROR:  42501/,
	'the slot is the server\'s, so the owner of a database needs a grant for that');

# A value of the database's own does not stand against the configuration
value('ALTER DATABASE other SET dynamo_table.stream_collector = on');
value(q{SELECT pg_terminate_backend(pid) } . "$collectors = 'other'");
wait_for_collector('other');
$node->append_conf('postgresql.conf', 'dynamo_table.stream_collector = off');
$node->reload;
wait_for($node, q{SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'dynamo_table stream collector'});
pass('off in the configuration is off for all');
$node->append_conf('postgresql.conf', 'dynamo_table.stream_collector = on');
$node->reload;
wait_for_collector($_) foreach 'app', 'other';

# DROP EXTENSION beside a collector at work, whatever drops it
my $drop = 'DROP EXTENSION dynamo_table CASCADE';
$offset = -s $node->logfile;
value($put, 'other');
like(says('BEGIN; DROP SCHEMA public, dynamo_internal CASCADE; ROLLBACK', 'other'), $warning, 'DROP SCHEMA warns as well');
like(says("BEGIN; $drop; ROLLBACK", 'other'), $warning, 'with a collector DROP EXTENSION warns');
# A user's session that collects waits for the drop, which does not wait for it as it would for a worker: for ten seconds it would sleep.
value('ALTER DATABASE other SET dynamo_table.stream_collector = off');
wait_for($node, "SELECT count(*) = 0 $collectors = 'other'");
my $holder = $node->background_psql('other');
$holder->query_safe('BEGIN; SELECT FROM dynamo_internal.stream_state FOR UPDATE');
value($put, 'other');
my $collector = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('other'), '-c', 'CALL dyn_collect_streams()' ], '>', \my $collected, '2>', \my $failed);
wait_for($node, q{SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE 'CALL%' AND wait_event_type = 'Lock'});
my $dropper = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('other'), '-c', 'BEGIN', '-c', $drop, '-c', 'ROLLBACK' ], '>', \my $dropped, '2>',
	\my $told);
wait_for($node, q{SELECT count(*) = 1 FROM pg_locks WHERE classid = 'pg_extension'::regclass AND NOT granted});
$holder->query_safe('COMMIT');
$holder->quit;
my $slept = 0;
while ($dropper->pumpable)
{
	$dropper->pump_nb;
	$slept += value("SELECT count(*) FROM pg_stat_activity WHERE query = '$drop' AND wait_event = 'PgSleep'");
}
$dropper->finish;
$collector->finish;
is($slept, 0, 'a session that collects does not keep DROP EXTENSION waiting');
unlike($told, qr/ERROR/, 'which succeeds');
like("$collected$failed", qr/^\d+\n$/, 'and goes on after a rollback');
value('ALTER DATABASE other RESET dynamo_table.stream_collector');
wait_for_collector('other');
# The drop waits for a collector before it locks tables.
my $locker = $node->background_psql('other');
$locker->query_safe('BEGIN; LOCK TABLE dynamo_internal.stream_state IN ACCESS EXCLUSIVE MODE');
value($put, 'other');
wait_for($node, "SELECT count(*) = 1 $collectors = 'other' AND wait_event_type = 'Lock'");
$dropper = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('other'), '-v', 'VERBOSITY=verbose', '-c', $drop ], '>', \$dropped, '2>', \$told);
wait_for($node, q{SELECT count(*) = 1 FROM pg_locks WHERE classid = 'pg_extension'::regclass AND NOT granted});
$locker->query_safe('COMMIT');
$locker->quit;
$dropper->finish;
like($told, $warning, 'and again after a rollback');
# whatever had been collecting has noticed it
wait_for($node, "SELECT count(*) = 0 $collectors = 'other'");
unlike(log_since($offset) =~ s/^.*(?:WARNING|DETAIL|HINT|STATEMENT):.*\n//gmr, qr/FATAL|ERROR/, 'no process fails');

# A database that has streams
$offset = -s $node->logfile;
like(says('DROP DATABASE app'), qr/ERROR:  55006/, 'a collector is in the way of DROP DATABASE');
like(says('CALL dyn_teardown_streams()', 'app'), qr/ERROR:  55006.*force => true/s, 'and an enabled stream in that of a teardown');
like(log_since($offset), qr/ERROR/, 'both are errors');
$offset = -s $node->logfile;
like(says('CALL dyn_teardown_streams(force => true)', 'app'),
	qr/WARNING: .* changes of 1 table with an enabled stream are not collected.*Enabled: (public\.)?app/s, 'by force it warns');
is(value('SELECT state FROM dyn_stream_slots', 'app'), 'not set up', 'and there is nothing left');
is(value(q{SELECT dyn_put('app', '{"pk":{"S":"b"}}') IS NULL}, 'app'), 't', 'items can be written');
is(value('CALL dyn_setup_streams(); SELECT status FROM dyn_streams', 'app'), 'ENABLED', 'streams go on after another set-up');
wait_for_collector('app');
value($put, 'app');
like(says(q{SELECT * FROM dyn_read_stream('app', max_wait => '5s')}, 'app'), qr/YD011/, 'and a reader from the beginning is told of the gap');
value('CALL dyn_teardown_streams(force => true)', 'app');
value('DROP DATABASE app');
value('DROP DATABASE other');
create_database('other');
value('ALTER DATABASE other SET dynamo_table.stream_collector = off');
wait_for($node, "SELECT count(*) = 0 $collectors = 'other'");
value('DROP DATABASE other WITH (FORCE)');
is(value('SELECT count(*) FROM pg_replication_slots'), '0', 'switched off from outside, a database can be dropped as well');

# A database that is moved: what was written before is collected, and nothing is taken for what was not
value(q{SET allow_in_place_tablespaces = on; CREATE TABLESPACE elsewhere LOCATION ''});
create_database('app');
$offset = -s $node->logfile;
value($put, 'app');
wait_until('the database is moved', sub { my $error = says('ALTER DATABASE app SET TABLESPACE elsewhere'); return ($error eq '', $error) });
wait_for_collector('app');
value($put =~ s/"a"/"b"/r, 'app');
wait_for($node, q{SELECT string_agg(keys ->> 'pk', ' ') = 'a b' FROM dyn_read_stream('app')}, 'app');
is(value('SELECT count(*) FROM dynamo_internal.stream_gaps WHERE after_lsn > \'0/0\'', 'app'), '0', 'a database that is moved has no gap');
unlike(log_since($offset), qr/cannot be decoded|are in no stream/, 'and nothing fails');

# A server that stops while all kinds of workers are there
$node->stop;
# A client of this test may still be leaving, and is told to end as well.
unlike(log_since($offset) =~ s/^.* 059_stream_operations\.pl FATAL:.*\n//gmr, qr/FATAL/, 'no worker that is told to end calls that fatal');
$node->start;
$node->stop('immediate');

done_testing();
