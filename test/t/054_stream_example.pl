# ST07, ST14: the consumer of examples/stream-search.sql follows a table under load while it, the server and the collector are
# killed at random moments, and in the end has what it has to have: every effect once.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use File::Temp qw(tempfile);
use IPC::Run;
use Test::More;
use Time::HiRes qw(sleep);
use DynamoTable;

my $rounds = $ENV{STREAM_ROUNDS} // 6;
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(allows_streaming => 'logical');
allow_plugin($node);
$node->append_conf('postgresql.conf', q{
	shared_preload_libraries = dynamo_table
	dynamo_table.ttl_interval = 1s
	dynamo_table.ttl_probe_interval = 1s
	autovacuum = off
	log_statement = none
	client_connection_check_interval = 500ms
	fsync = off
	restart_after_crash = on
});
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION dynamo_table');
my ($code, $out, $err) = $node->psql('postgres', slurp_file('examples/stream-search.sql'), on_error_die => 1);
like($out, qr/^P1\|Red bicycle\nP2\|Blue bicycle$/m, 'the example finds what is there');
like($out, qr/^available\|1\|1\nsold\|1\|0$/m, 'it has counted, and noticed that an item has expired');
like($out, qr/^0$/m, 'and there are no differences');

sub value
{
	return $node->safe_psql('postgres', $_[0]);
}

# Changes of all kinds: few keys, so that most are changed many times; some of them are rolled back, and some expire.
my ($fh, $script) = tempfile();
print $fh q{
\set id random(1, 500)
\set status random(1, 3)
\set kind random(1, 100)
\if :kind <= 60
SELECT dyn_put('products', jsonb_build_object('id', 'L' || :id, 'name', 'word' || :kind || ' thing', 'status', 's' || :status));
\elif :kind <= 75
SELECT dyn_update('products', jsonb_build_object('id', 'L' || :id), 'SET #s = :s', names => '{"#s":"status"}',
	vals => jsonb_build_object(chr(58) || 's', 's' || :status));
\elif :kind <= 88
SELECT dyn_delete('products', jsonb_build_object('id', 'L' || :id));
\elif :kind <= 92
BEGIN;
INSERT INTO products (item) SELECT jsonb_build_object('id', gen_random_uuid(), 'status', 'rolled back') FROM generate_series(1, 3);
ROLLBACK;
\elif :kind <= 98
BEGIN;
SAVEPOINT a;
SELECT dyn_put('products', jsonb_build_object('id', 'L' || :id, 'name', 'never', 'status', 'never'));
ROLLBACK TO a;
SELECT dyn_put('products', jsonb_build_object('id', 'E' || :id, 'name', 'short', 'status', 's' || :status, 'expires', floor(extract(epoch FROM now()))));
COMMIT;
\else
SELECT count(*) FROM products;
\endif
};
close $fh;

sub load_products
{
	my ($seed) = @_;
	my %run = (out => '');
	$run{handle} = IPC::Run::start([ 'pgbench', '-n', '-M', 'simple', '-f', $script, '-c', '3', '-T', '600', "--random-seed=$seed", $node->connstr('postgres')
	  . ' application_name=pgbench' ],
		'>', \$run{out}, '2>', \$run{err});
	return \%run;
}

sub start_consumer
{
	my %run = ();
	$run{handle} = IPC::Run::start([ 'psql', '-X', '-d', $node->connstr('postgres') . ' application_name=consumer', '-c', 'CALL products_follow()' ], '>',
		\$run{out}, '2>', \$run{err});
	return \%run;
}

# The end of a process that this test has started.
sub stop
{
	my ($run) = @_;
	$run->{handle}->kill_kill(grace => 1);
}

sub kill_backend
{
	my ($where) = @_;
	my $pid = value("SELECT pid FROM pg_stat_activity WHERE $where LIMIT 1");
	kill 'KILL', $pid if $pid;
	return $pid;
}

srand(54);
my ($applied, $crashes) = (0, 0);
for my $round (1 .. $rounds)
{
	my $load = load_products($round);
	my $consumer = start_consumer();
	wait_for($node, q{SELECT count(DISTINCT application_name) = 2 FROM pg_stat_activity WHERE application_name IN ('consumer', 'pgbench')});
	# at any moment of their work
	sleep(rand(1.5));
	my $way = $round % 3;
	if ($way == 0)
	{
		# only the consumer's client goes; its session may finish what it is at
		stop($consumer);
	}
	elsif ($way == 1)
	{
		# the consumer's session is killed, and with it the server starts again
		$crashes++ if kill_backend(q{application_name = 'consumer'});
	}
	else
	{
		$node->stop('immediate');
		$node->start;
		$crashes++;
	}
	wait_until_up($node);
	stop($_) for $load, $consumer;
	value(q{TRUNCATE products}) if $round == 3;
}
cmp_ok($crashes, '>=', $rounds / 2, 'the server has crashed some times');

# Whatever was on the way arrives, and nothing is doubled.
wait_for($node, q{SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name IN ('consumer', 'pgbench')});
wait_for($node, q{SELECT count(*) = 0 FROM products WHERE item ? 'expires'});
value('CALL dyn_collect_streams()');
($code, $out, $err) = $node->psql('postgres', q{CALL products_follow('1 s')}, on_error_die => 1);
unlike($err, qr/begin anew/, 'it went on, and did not begin again');
is(value(q{SELECT * FROM products_differences}), '', 'search table and counters are those of the items');
cmp_ok(value(q{SELECT sum(expired) FROM product_counts}), '>', 0, 'expired items were told');
is(value(q{SELECT count(*) FROM product_counts WHERE status IN ('never', 'rolled back')}), '0', 'and nothing that was rolled back');

# Two at a time wait for each other, and do nothing twice.
my $load = load_products(99);
my @consumers = (start_consumer(), start_consumer());
wait_for($node, q{SELECT count(*) = 2 FROM pg_stat_activity WHERE application_name = 'consumer'});
my $records = value('SELECT count(*) FROM dynamo_internal.stream_records');
wait_for($node, "SELECT count(*) > $records + 1000 FROM dynamo_internal.stream_records");
stop($load);
wait_for($node, q{SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'pgbench'});
wait_for($node, q{SELECT count(*) = 0 FROM products WHERE item ? 'expires'});
stop($_) for @consumers;
value(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'consumer'});
value('CALL dyn_collect_streams()');
value(q{CALL products_follow('1 s')});
is(value(q{SELECT * FROM products_differences}), '', 'two consumers do the work of one');

# A gap: the copy is made again.
value(q{SELECT count(dyn_put('products', jsonb_build_object('id', 'G' || i, 'status', 'gap'))) FROM generate_series(1, 10) i});
value('CALL dyn_collect_streams()');
value(q{INSERT INTO dynamo_internal.stream_gaps SELECT '0/0', pg_current_wal_insert_lsn(), now()});
($code, $out, $err) = $node->psql('postgres', q{CALL products_follow('1 s')}, on_error_die => 1);
like($err, qr/begin anew: changes after the position were not collected/, 'where changes are missing it begins again');
is(value(q{SELECT * FROM products_differences}), '', 'and is right again');
$node->stop;
done_testing();
