# Placement under many writers, with VACUUM, growing updates, deletes, short sessions and a crash:
# nothing is damaged, and the table stays within bounds.  With $DYNAMO_TABLE_STRESS_SECONDS, as the long tests have it, three times as
# much is written.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $times = $ENV{DYNAMO_TABLE_STRESS_SECONDS} ? 3 : 1;
my $node = PostgreSQL::Test::Cluster->new('placement');
$node->init;
$node->append_conf('postgresql.conf',
	"log_statement = none\nautovacuum_naptime = 1s\nmax_connections = 50\nsynchronous_commit = off");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION dynamo_table; CREATE EXTENSION amcheck');

sub create_rows
{
	my ($name) = @_;
	$node->safe_psql('postgres', "DROP TABLE IF EXISTS $name;"
		. "CREATE TABLE $name (pk int, sk int, v text, PRIMARY KEY (pk, sk)) USING dynamo_table WITH (fillfactor = 90)");
}

# How many times the pages that its live rows would fill a table has.
sub bloat
{
	my ($name) = @_;
	return $node->safe_psql('postgres', "SELECT pg_relation_size('$name') / greatest((SELECT sum(pg_column_size(t.*) + 12) FROM $name t) / 0.85, 8192)");
}

# Until a query is true: how large a table is depends on how much was written, which is no matter of time.
sub run_load
{
	my ($until, %scripts) = @_;
	my %load;
	$load{$_} = start_load($node, $scripts{$_}[0], 3600, $scripts{$_}[1]) foreach keys %scripts;
	wait_for($node, $until);
	stop_load($load{$_}) foreach keys %load;
	foreach my $name (sort keys %load)
	{
		my $rounds = finish_load($load{$name});
		ok($rounds, "$name: " . ($rounds // 0) . " rounds without an error") or diag($load{$name}{err});
	}
}

# Eight writers of one collection, and of many, which come to 70 rows each.
my ($written, $collections) = (7000 * $times, 100 * $times);
create_rows('hot');
create_rows('many');
$node->safe_psql('postgres', 'CREATE SEQUENCE numbers CACHE 100');
run_load(
	"SELECT (SELECT count(*) > $written FROM hot) AND (SELECT count(*) > $written FROM many)",
	'one collection' => [ 8, "INSERT INTO hot SELECT 1, nextval('numbers'), repeat('x', 200);\n" ],
	'many collections' => [ 4, <<"EOS" ],
\\set pk random(1, $collections)
INSERT INTO many SELECT :pk, nextval('numbers'), repeat('x', 200);
EOS
	vacuum => [ 1, "VACUUM hot;\nVACUUM many;\n\\sleep 200 ms\n" ]);
cmp_ok(bloat('hot'), '<', 1.5, 'the pages of one collection are filled');
cmp_ok(bloat('many'), '<', 2.5, 'so are those of many');
cmp_ok($node->safe_psql('postgres', q{
	SELECT sum(n) / sum(ideal) FROM (SELECT count(DISTINCT (ctid::text::point)[0]) AS n, ceil(count(*) / 30.0) AS ideal
									 FROM many GROUP BY pk) p}), '<', 8, 'collections are together');
check_storage($node, 'writers');

# The same number of rows comes and goes; they grow, and subtransactions take some back.
my $churned_rows = 3000 * $times;
create_rows('churn');
$node->safe_psql('postgres', "INSERT INTO churn SELECT i % 200, i, repeat('x', 100) FROM generate_series(1, $churned_rows) i");
my %churn = (
	churn => [ 6, <<"EOS" . <<'EOS' ],
\\set sk random(1, $churned_rows)
EOS
\set len random(1, 600)
\set op random(1, 100)
\if :op <= 40
INSERT INTO churn VALUES (:sk % 200, :sk, repeat('x', 100)) ON CONFLICT (pk, sk) DO UPDATE SET v = repeat('y', :len);
\elif :op <= 70
DELETE FROM churn WHERE pk = :sk % 200 AND sk = :sk;
\elif :op <= 90
UPDATE churn SET v = repeat('z', :len * 2) WHERE pk = :sk % 200 AND sk = :sk;
\else
BEGIN;
SAVEPOINT s;
INSERT INTO churn VALUES (:sk % 200, :sk, 'gone') ON CONFLICT (pk, sk) DO UPDATE SET v = repeat('gone', :len);
ROLLBACK TO s;
INSERT INTO churn VALUES (:sk % 200, :sk, 'back') ON CONFLICT (pk, sk) DO NOTHING;
COMMIT;
\endif
EOS
	vacuum => [ 1, "VACUUM churn;\n\\sleep 100 ms\n" ],
	invalidations => [ 1, "GRANT SELECT ON churn TO PUBLIC;\n\\sleep 20 ms\nREVOKE SELECT ON churn FROM PUBLIC;\n\\sleep 20 ms\n" ]);
# Whether there were as many changes and runs of VACUUM as so many parts have.
sub churned
{
	my ($parts) = @_;
	return "SELECT n_tup_ins + n_tup_upd + n_tup_del > (1 + $parts * 3) * $churned_rows AND vacuum_count > $parts * 20 FROM pg_stat_user_tables
		WHERE relname = 'churn'";
}
run_load(churned(1), %churn);
my $before = $node->safe_psql('postgres', "SELECT pg_relation_size('churn')");
run_load(churned(2), %churn);
my $after = $node->safe_psql('postgres', "SELECT pg_relation_size('churn')");
cmp_ok($after, '<', 2 * $before, "churn does not let the table grow: from $before to $after bytes");
check_storage($node, 'churn');

# Every session inserts one row: no page is left behind by each.
create_rows('short');
my $file = $node->basedir . '/short.sql';
append_to_file($file, "\\set pk random(1, 1000000)\nINSERT INTO short VALUES (:pk, 1, repeat('x', 250)) ON CONFLICT DO NOTHING;\n");
$node->command_ok([ 'pgbench', '-n', '-C', '-c', '4', '-t', 50 * $times, '-f', $file, 'postgres' ],
	'sessions of one insert');
cmp_ok($node->safe_psql('postgres', "SELECT pg_relation_size('short') / 8192"),
	'<', 100 * $times, 'many short sessions fill pages together');
create_rows('short_hot');
append_to_file($file, "INSERT INTO short_hot SELECT 1, nextval('numbers'), repeat('x', 250);\n");
$node->command_ok([ 'pgbench', '-n', '-C', '-c', '4', '-t', 40 * $times, '-f', $file, 'postgres' ],
	'sessions of one insert into one collection');
cmp_ok($node->safe_psql('postgres', "SELECT pg_relation_size('short_hot') / 8192"),
	'<', 30 * $times, 'those of one collection too');

# A crash in the middle: what was committed is there, and what was opened is found again.
$node->safe_psql('postgres', 'ALTER SYSTEM SET synchronous_commit = on');
$node->reload;
create_rows('crashed');
my $load = start_load($node, 6, 60, <<'EOS');
\set pk random(1, 200)
BEGIN;
INSERT INTO crashed SELECT :pk, nextval('numbers'), repeat('x', 200) FROM generate_series(1, 3);
UPDATE crashed SET v = repeat('y', 500) WHERE (pk, sk) IN (SELECT pk, sk FROM crashed WHERE pk = :pk ORDER BY sk LIMIT 1);
COMMIT;
EOS
wait_for($node, 'SELECT count(*) > 2000 FROM crashed');
crash($node);
finish_load($load);
is($node->safe_psql('postgres', 'SELECT count(*) % 3 FROM crashed'), '0', 'transactions are there or not');
check_storage($node, 'crash');
my $rows = $node->safe_psql('postgres', 'SELECT count(*) FROM crashed');
$node->safe_psql('postgres', "VACUUM crashed; INSERT INTO crashed SELECT i % 200, nextval('numbers'), repeat('x', 200) FROM generate_series(1, 3000) i");
is($node->safe_psql('postgres', 'SELECT count(*) FROM crashed'), $rows + 3000, 'writes go on after the crash');
check_storage($node, 'after the crash');
$node->stop;
done_testing();
