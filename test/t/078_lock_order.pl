# Locks in one order, and what is in the way is waited for: sweeps beside DROP EXTENSION, and changes of tables and builds of indexes beside statements of
# users that wait for them.
use strict;
use warnings;

use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
allow_plugin($node);
# a worker looks for deadlocks when the user's session has long begun to wait
$node->append_conf('postgresql.conf', q{
	wal_level = logical
	deadlock_timeout = 3s
	dynamo_table.max_index_workers = 1
	autovacuum = off
});
$node->start;

sub value { return $node->safe_psql('postgres', $_[0]); }

# Statements in a session of their own; each element is one.
sub begin
{
	my %session = (out => '', err => '');
	$session{harness} = IPC::Run::start([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-v', 'VERBOSITY=verbose', '-d', $node->connstr('postgres'),
		map { ('-c', $_) } @_ ],
		'>', \$session{out}, '2>', \$session{err});
	return \%session;
}

# What it has said, when it has ended.
sub end
{
	my ($session) = @_;
	$session->{harness}->finish;
	return $session->{err};
}

sub holding
{
	my $session = $node->background_psql('postgres');
	$session->query_safe($_[0]);
	return $session;
}

sub release
{
	my ($session, $sql) = @_;
	$session->query_safe($sql);
	$session->quit;
}

value(q{CREATE EXTENSION dynamo_table});
value(q{CALL dyn_setup_streams()});
value("SELECT dyn_create_table('$_', 'pk S')") for qw(app other swept);

# A sweep locks the extension before the table
value(q{CALL dyn_enable_ttl('swept', 'e')});
value(q{CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(1); RETURN old; END $$;
	CREATE TRIGGER wait BEFORE DELETE ON swept FOR EACH ROW EXECUTE FUNCTION wait();
	SELECT dyn_put('swept', jsonb_build_object('pk', 'a', 'e', extract(epoch FROM now())::bigint - 60)::dyn_item)});
my $holder = holding('SELECT pg_advisory_lock(1)');
my $sweep = begin(q{CALL dyn_sweep_ttl('swept')});
wait_for($node, q{SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted});
my $drop = begin('BEGIN', 'DROP EXTENSION dynamo_table CASCADE', 'ROLLBACK');
wait_for($node, q{SELECT count(*) = 1 FROM pg_locks WHERE NOT granted AND locktype <> 'advisory'});
is(value(q{SELECT classid::regclass FROM pg_locks WHERE NOT granted AND locktype <> 'advisory'}), 'pg_extension',
	'DROP EXTENSION waits for a sweep before it locks tables');
release($holder, 'SELECT pg_advisory_unlock(1)');
unlike(end($sweep), qr/ERROR/, 'the sweep goes on');
unlike(end($drop), qr/ERROR/, 'and then the drop');
is(value('SELECT count(*) FROM swept'), '0', 'all is removed');

# CREATE INDEX CONCURRENTLY waits for the snapshots of those who wait for it
sub beside_concurrent_build
{
	my ($name, @sql) = @_;
	my $writer = holding(q{BEGIN; SELECT dyn_put('app', '{"pk":{"S":"a"}}')});
	my $build = begin("CREATE INDEX CONCURRENTLY $name ON app ((item ->> 'x'))");
	wait_for($node, q{SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX CONCURRENTLY%' AND wait_event_type = 'Lock'});
	my $change = begin(@sql);
	wait_for($node, q{SELECT count(*) = 1 FROM pg_locks WHERE relation = 'app'::regclass AND NOT granted});
	release($writer, 'COMMIT');
	my $error = end($change);
	is(end($build), '', "$name: a user's build is finished");
	return $error;
}
like(beside_concurrent_build('one', q{SET statement_timeout = '15s'}, q{SELECT dyn_enable_stream('app', 'NEW_AND_OLD_IMAGES')}),
	qr/^(?:|ERROR:  YD\d+: table "app" is in use by other transactions.*)$/s,
	'a call that has a snapshot is told to try again, and not of a deadlock, before 20 s are over');
value(q{SELECT dyn_enable_stream('app', 'KEYS_ONLY') WHERE NOT EXISTS (SELECT FROM dyn_streams)});
unlike(beside_concurrent_build('two', q{CALL dyn_enable_ttl('app', 'e')}), qr/ERROR/, 'a procedure waits');
is(value(q{SELECT attribute FROM dyn_ttl_tables WHERE relation = 'app'::regclass}), 'e', 'and goes on');

# A build of ours waits for a transaction that comes to wait for it: one that has only to wait for its place in between
$holder = holding('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
my $other = begin(q{CALL dyn_create_index('other', 'ByKey', 'k S')});
wait_for($node, q{SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'dynamo_table index' AND wait_event_type = 'Lock'});
my $build = begin(q{CALL dyn_create_index('app', 'ByKey', 'k S')});
wait_until('the second build waits for a place',
	sub { $build->{harness}->pump_nb; return (scalar($build->{err} =~ /waiting for one of the 1 workers/), $build->{err}) });
my $user = holding(q{SET deadlock_timeout = '1h'; BEGIN; SELECT dyn_put('app', '{"pk":{"S":"b"},"k":{"S":"k"}}')});
release($holder, 'COMMIT');
unlike(end($other), qr/ERROR/, 'a build is finished');
wait_for($node, q{SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'dynamo_table index' AND wait_event_type = 'Lock'});
release($user, 'ALTER TABLE app SET (fillfactor = 90); COMMIT');
my $said = end($build);
unlike($said, qr/ERROR/, 'one that has met a deadlock as well');
like($said, qr/building.*building/s, 'it begins again') or diag($said);
is(value(q{SELECT count(*) FROM dyn_query('app', 'k = :k', vals => '{":k":{"S":"k"}}', index_name => 'ByKey')}), '1', 'and the index has all items');
check_storage($node, 'afterwards');

done_testing();
