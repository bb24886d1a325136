# TT08: background workers through restarts, crashes and promotion, without preloading, and without a free worker.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $workers = q{SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'dynamo_table%'};
my $add_due = q{INSERT INTO app (item) SELECT jsonb_build_object('id', gen_random_uuid(), 'expires',
	floor(extract(epoch FROM clock_timestamp())) - 1 - i % 1000)};
my $node;

sub value
{
	my ($sql) = @_;
	return $node->safe_psql('postgres', $sql);
}

# The worker in a sweep; returns its process.
sub wait_for_sweep
{
	my $worker = q{FROM pg_stat_activity WHERE backend_type = 'dynamo_table ttl worker' AND query = 'sweeping expired items of public.app'};
	my $pid = '';
	wait_for($node, "SELECT count(*) > 0 $worker") while ($pid = value("SELECT pid $worker")) eq '';
	return $pid;
}

sub set_worker
{
	my ($setting) = @_;
	$node->append_conf('postgresql.conf', "dynamo_table.ttl_worker = $setting");
	$node->reload;
}

$node = PostgreSQL::Test::Cluster->new('main');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', q{
	shared_preload_libraries = dynamo_table
	dynamo_table.ttl_interval = 1s
	dynamo_table.ttl_probe_interval = 1d
	dynamo_table.ttl_batch_size = 20
	dynamo_table.ttl_pause = 0
	dynamo_table.ttl_reread_interval = 0
	restart_after_crash = on
	autovacuum = off
	log_statement = none
});
$node->start;
value(q{
	CREATE EXTENSION dynamo_table;
	SELECT dyn_create_table('app', 'id S');
	CALL dyn_enable_ttl('app', 'expires');
	CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.01); RETURN OLD; END $$;
	CREATE TRIGGER slow BEFORE DELETE ON app FOR EACH ROW EXECUTE FUNCTION slow()});

# A restart in the middle of a sweep: what is left goes afterwards
value("$add_due FROM generate_series(1, 20000) i");
wait_for_sweep();
$node->restart;
cmp_ok(value('SELECT count(*) FROM app'), '>', 0, 'a restart in a sweep');
my $left = value('SELECT count(*) FROM app');
wait_for($node, "SELECT count(*) < $left FROM app");
pass('which goes on after it');

# kill -9 of the worker, and of the server, in the middle of a sweep
my $log_before = -s $node->logfile;
# a worker may end by itself before it is killed
1 until kill('KILL', wait_for_sweep());
$node->wait_for_log(qr/all server processes terminated; reinitializing/, $log_before);
wait_until_up($node);
$left = value('SELECT count(*) FROM app');
cmp_ok($left, '>', 0, 'kill -9 of a worker');
wait_for($node, "SELECT count(*) < $left FROM app");
pass('after which another goes on');
wait_for_sweep();
crash($node);
$left = value('SELECT count(*) FROM app');
cmp_ok($left, '>', 0, 'kill -9 of the server');
wait_for_sweep();
value('DROP TRIGGER slow ON app');
wait_for($node, 'SELECT count(*) = 0 FROM app');
pass('after which all goes');
check_storage($node, 'after crashes');

# kill of the launcher, with a new one after it
my $launcher = q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'dynamo_table launcher'};
my $pid = value($launcher);
value("SELECT pg_terminate_backend($pid)");
wait_for($node, "SELECT count(*) = 1 FROM ($launcher) l WHERE pid <> $pid");
value("$add_due FROM generate_series(1, 10) i");
wait_for($node, 'SELECT count(*) = 0 FROM app');
pass('a new launcher');

# A standby does nothing by itself, and begins when it is promoted
my $primary = $node;
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;
value("$add_due FROM generate_series(1, 10) i");
wait_for($node, 'SELECT count(*) = 0 FROM app');
set_worker('off');
$primary->restart;
value("$add_due FROM generate_series(1, 10) i");
$primary->wait_for_catchup($standby);
$primary->stop;
$node = $standby;
is(value('SELECT count(*) FROM app'), '10', 'a standby has the items');
is(value($workers), '0', 'and no worker');
is($node->psql('postgres', 'CALL dyn_sweep_ttl()'), 3, 'nor could it');
$standby->promote;
wait_for($node, 'SELECT count(*) = 0 FROM app');
is(value("SELECT count(*) FROM ($launcher) l"), '1', 'promoted: the items go');

# All workers are taken (the launcher, the server's own, one that builds an index): the log says so, and the sweep comes when one is free
set_worker('off');
$node->append_conf('postgresql.conf', 'max_worker_processes = 3');
$node->restart;
value(q{SELECT dyn_create_table('other', 'id S'); SELECT dyn_put('other', '{"id":{"S":"a"},"k":{"S":"b"}}')});
my $holder = $node->background_psql('postgres');
$holder->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
my %build = (out => '', err => '');
# what the launcher has looked for at its start may be in the way for a moment
wait_until('an index is built', sub {
	$build{harness}->pump_nb if $build{harness};
	if (!$build{harness} || !$build{harness}->pumpable)
	{
		$build{harness}->finish if $build{harness};
		$build{harness} = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', q{CALL dyn_create_index('other', 'Keys', 'k S')} ],
			'>', \$build{out}, '2>', \$build{err});
	}
	return (value(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'dynamo_table index'}) eq '1', $build{err});
});
value("$add_due FROM generate_series(1, 10) i");
set_worker('on');
$node->wait_for_log(qr/LOG:  no background worker is free to remove expired items\n.*DETAIL: .*\n.*HINT:  Increase max_worker_processes\./);
is(value('SELECT count(*) FROM app'), '10', 'no worker is free');
$holder->query_safe('COMMIT');
$holder->quit;
$build{harness}->finish;
wait_for($node, 'SELECT count(*) = 0 FROM app');
is(scalar(() = slurp_file($node->logfile) =~ /no background worker is free to remove/g), 1, 'the log says so once');
$node->stop;

# Nor without a launcher, which has no worker left
$node->append_conf('postgresql.conf', 'max_worker_processes = 0');
$node->start;
my (undef, undef, $told) = $node->psql('postgres', q{SELECT dyn_create_table('none', 'k S'); CALL dyn_enable_ttl('none', 'expires')});
like($told, qr/NOTICE:  expired items of table "none" are removed by dyn_sweep_ttl only\nHINT:  The launcher of background workers does not run/,
	'without a launcher: a notice');
$node->stop;

# Without preloading nothing runs, and the procedure does it
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''\nmax_worker_processes = 8");
$node->start;
my ($rc, $out, $err) = $node->psql('postgres', q{CALL dyn_enable_ttl('other', 'expires')});
like($err, qr/NOTICE:  expired items of table "other" are removed by dyn_sweep_ttl only\nHINT: /, 'not preloaded: a notice');
value("$add_due FROM generate_series(1, 10) i");
is(value($workers), '0', 'no worker');
is(value('CALL dyn_sweep_ttl()'), '10', 'the procedure');
is(value('SELECT count(*) FROM app'), '0', 'removes them');
$node->stop;
done_testing();
