# kill -9 under load, twice, and more often in the long tests: what was committed is there, and the files are sound.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;
use Ledger;

my $node = PostgreSQL::Test::Cluster->new('crash');
$node->init;
# Preloaded here, on demand in the other tests. Often a checkpoint, so that recovery meets full-page images and torn progress alike.
$node->append_conf('postgresql.conf', "shared_preload_libraries = dynamo_table\nlog_statement = none\ncheckpoint_timeout = 30s\nmax_wal_size = 32MB\n"
  . "autovacuum_naptime = 1s");
$node->start;
create_twins($node);
create_ledger($node);
$node->safe_psql('postgres',
	'CREATE UNLOGGED TABLE unlogged (id int PRIMARY KEY) USING dynamo_table; CREATE TABLE acknowledged (round int PRIMARY KEY) USING dynamo_table');

# Transactions on the table of the ledgers that a timeout cuts off, in a psql that goes on
sub start_hasty
{
	my ($name) = @_;
	my %hasty = (out => '', err => '');
	$hasty{harness} = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-f', hasty_ledger_file($node, $name, 300, 20000) ],
		'>', \$hasty{out}, '2>', \$hasty{err});
	return \%hasty;
}

for my $round (1 .. ($ENV{DYNAMO_TABLE_STRESS_SECONDS} ? 5 : 2))
{
	my $before = $node->safe_psql('postgres', 'SELECT count(*) FROM ours');
	my $writers = start_load($node, 4, 600, <<'EOS');
\set id random(10000, 100000000)
\set old random(1, 2000)
BEGIN;
SELECT pg_advisory_xact_lock(:old);
INSERT INTO ours VALUES (:id, :old, repeat('n', :old)) ON CONFLICT DO NOTHING;
INSERT INTO twin VALUES (:id, :old, repeat('n', :old)) ON CONFLICT DO NOTHING;
UPDATE ours SET grp = :id % 100, v = md5(v) WHERE id = :old;
UPDATE twin SET grp = :id % 100, v = md5(v) WHERE id = :old;
INSERT INTO unlogged VALUES (:id) ON CONFLICT DO NOTHING;
COMMIT;
EOS
	my $calls = start_load($node, 4, 600, ledger_script(300));
	my $hasty = start_hasty("hasty$round");
	my $builders = start_load($node, 1, 600, <<'EOS');
CREATE INDEX CONCURRENTLY IF NOT EXISTS ours_extra ON ours (lower(left(v, 5)));
VACUUM ours;
DROP INDEX CONCURRENTLY IF EXISTS ours_extra;
CHECKPOINT;
EOS
	wait_for($node, "SELECT count(*) > $before + 1000 FROM ours");
	wait_until('calls are cut off', sub {
		$hasty->{harness}->pump_nb;
		return ((() = $hasty->{err} =~ /canceling statement due to statement timeout/g) >= 20, $hasty->{err});
	});
	$node->safe_psql('postgres', "INSERT INTO acknowledged VALUES ($round)");
	my $log_before = -s $node->logfile;
	crash($node);
	ok(!defined finish_load($_), "round $round: the load was cut off") for ($writers, $calls, $builders);
	unlike($calls->{err}, qr/ERROR: /, "round $round: calls had no error before");
	eval { $hasty->{harness}->finish };
	like(slurp_file($node->logfile, $log_before), qr/redo starts at/, "round $round: recovery ran");
	cmp_ok($node->safe_psql('postgres', 'SELECT count(*) FROM ours'),
		'>', $before + 1000, "round $round: committed rows are there");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM acknowledged'),
		$round, "round $round: so is the last row that was acknowledged");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM unlogged'),
		'0', "round $round: the unlogged table is empty");
	twins_agree($node, "round $round");
	ledger_agrees($node, "round $round");
	check_storage($node, "round $round");
	$node->safe_psql('postgres', 'DROP INDEX IF EXISTS ours_extra');
}
$node->safe_psql('postgres', 'VACUUM FULL ours');
twins_agree($node, 'after VACUUM FULL');
check_storage($node, 'after VACUUM FULL');
$node->stop;
done_testing();
