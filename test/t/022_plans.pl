# Q04, Q22: every read is an ordered index scan of one collection, whatever the statistics say.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', q{
	session_preload_libraries = 'auto_explain'
	auto_explain.log_min_duration = 0
	auto_explain.log_nested_statements = on
	auto_explain.log_level = notice
	jit_above_cost = 0
	autovacuum = off
});
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION dynamo_table');

my @conditions = ('', ' AND sk = :a', ' AND sk < :a', ' AND sk <= :a', ' AND sk > :a', ' AND sk >= :a',
	' AND sk BETWEEN :a AND :b', ' AND begins_with(sk, :a)');

# The calls of a session: get, and each kind of query in both directions, with a limit and a start key.
sub calls
{
	my ($table, $pk) = @_;
	my $sql = "SELECT dyn_get('$table', '{\"pk\":{\"S\":\"$pk\"},\"sk\":{\"S\":\"s5\"}}');\n";
	for my $condition (@conditions)
	{
		my $vals = qq|{":p":{"S":"$pk"}|;
		$vals .= ',":a":{"S":"s"}' if $condition =~ /:a/;
		$vals .= ',":b":{"S":"t"}' if $condition =~ /:b/;
		for my $rest ('', ', forward => false', ', max_items => 2', qq{, start_key => '{"pk":{"S":"$pk"},"sk":{"S":"s3"}}', forward => false})
		{
			$sql .= "SELECT count(*) FROM dyn_query('$table', 'pk = :p$condition', vals => '$vals}'$rest);\n";
		}
	}
	return $sql;
}

# All plans of the statements that the extension ran, and nothing in them but index scans.
sub check_plans
{
	my ($name, $notices, $table) = @_;
	my @plans = grep { /Query Text: SELECT item FROM public\.$table / } split /NOTICE:  duration/, $notices;
	cmp_ok(scalar @plans, '>=', 1 + 4 * @conditions, "$name: plans were logged");
	my @bad = grep { !/(Index Scan|Index Only Scan)( Backward)? using ${table}_pkey/ || /Seq Scan|Bitmap|Sort|JIT/ } @plans;
	is(scalar @bad, 0, "$name: ordered index scans only") or diag($bad[0]);
	my @filters = grep { /Filter/ } @plans;
	is(scalar @filters, 0, "$name: no filter, so only rows of the answer are read") or diag($filters[0]);
}

sub session
{
	my ($name, $table, $pk) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', calls($table, $pk), on_error_die => 1);
	check_plans($name, $err, $table);
}

sub fill
{
	my ($table, $collections, $items) = @_;
	$node->safe_psql('postgres', "SET auto_explain.log_min_duration = -1; SELECT count(*) FROM (SELECT dyn_put('$table', jsonb_build_object('pk', 'p' || c, 'sk', 's' || i, 'pad', repeat('x', 50))) FROM generate_series(1, $collections) c, generate_series(1, $items) i) x");
}

sub create
{
	my ($table) = @_;
	$node->safe_psql('postgres', "SELECT dyn_create_table('$table', 'pk S', 'sk S')");
}

create('tiny');
fill('tiny', 1, 7);
session('seven items, no statistics', 'tiny', 'p1');
$node->safe_psql('postgres', 'VACUUM ANALYZE tiny');
session('seven items', 'tiny', 'p1');

create('empty');
$node->safe_psql('postgres', 'VACUUM ANALYZE empty');
session('empty', 'empty', 'p1');
fill('empty', 50, 100);
session('analysed empty and then filled', 'empty', 'p7');

create('bare');
fill('bare', 50, 100);
session('no statistics', 'bare', 'p7');

create('half');
fill('half', 50, 20);
$node->safe_psql('postgres', "UPDATE pg_class SET relallvisible = 0 WHERE relname = 'half'");
$node->safe_psql('postgres', "SET auto_explain.log_min_duration = -1; SELECT count(*) FROM (SELECT dyn_put('half', jsonb_build_object('pk', 'big', 'sk', 's' || i)) FROM generate_series(1, 1000) i) x");
$node->safe_psql('postgres', 'ANALYZE half');
session('one collection holds half the table', 'half', 'big');

# One session, before and after another one's ANALYZE, VACUUM and DDL; and under settings that
# would have it otherwise
my ($in, $out, $err) = ('', '', '');
my $h = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres') ], '<', \$in, '>', \$out, '2>', \$err);

sub ask
{
	my ($name, $before) = @_;
	($out, $err) = ('', '');
	$in .= "$before\n" . calls('half', 'big') . "\\echo end of calls\n\\warn end of calls\n";
	$h->pump until $out =~ /end of calls/ && $err =~ /end of calls/;
	check_plans($name, $err, 'half');
}
ask('a session', '');
$node->safe_psql('postgres', 'VACUUM ANALYZE half');
ask('the same session after VACUUM ANALYZE by another', '');
$node->safe_psql('postgres', 'CREATE INDEX half_bait ON half (pk); ANALYZE half; DROP INDEX half_bait');
ask('the same session after an index came and went', '');
ask('force_custom_plan', 'SET plan_cache_mode = force_custom_plan;');
ask('another search_path', "SET search_path = pg_catalog, public;");
ask('another role', "CREATE ROLE other SUPERUSER; SET ROLE other;");
ask('enable_indexscan = off', 'SET enable_indexscan = off;');
$in .= "\\q\n";
$h->finish;

done_testing();
