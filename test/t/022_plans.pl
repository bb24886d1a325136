# Q04, Q22, S05: every read is an ordered scan of the index that it names, and begins where it
# has to, whatever the statistics say.  (The direct store has no plans.)
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', q{
	session_preload_libraries = 'auto_explain'
	auto_explain.log_min_duration = 0
	auto_explain.log_nested_statements = on
	auto_explain.log_level = notice
	jit_above_cost = 0
	autovacuum = off
	dynamo_table.direct_store = off
});
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION dynamo_table');

my @conditions = ('', ' AND SORT = :a', ' AND SORT < :a', ' AND SORT <= :a', ' AND SORT > :a', ' AND SORT >= :a',
	' AND SORT BETWEEN :a AND :b', ' AND begins_with(SORT, :a)');

# What is queried: its partition and sort key, whether keys are all it has, and the rest of the key of an entry
# and of its columns.  Rest is read as the partition key as well.
my %indexes = (
	'' => { partition => 'pk', sort => 'sk', columns => 'pk, sk', key => '"pk":{"S":"PK"},"sk":{"S":"s3"}' },
	ByGroup => { partition => 'g', sort => 'h', columns => 'g, h, pk, sk', key => '"g":{"S":"PK"},"h":{"S":"s3"},"pk":{"S":"a"},"sk":{"S":"b"}' },
	KeysOnly => { partition => 'g', sort => 'j', columns => 'g, j, pk, sk', key => '"g":{"S":"PK"},"j":{"S":"s3"},"pk":{"S":"a"},"sk":{"S":"b"}', only => 1 },
	# two collections of half the table each, in the order of the table's own keys
	ByKind => { partition => 'kind', columns => 'kind, pk, sk', key => '"kind":{"S":"PK"},"pk":{"S":"a"},"sk":{"S":"b"}' },
	Local => { partition => 'pk', sort => 'h', columns => 'pk, h, sk', key => '"pk":{"S":"PK"},"h":{"S":"s3"},"sk":{"S":"b"}' },
);

# The statements that calls() causes, by index.
my %statements;

# The calls of a session: get, and each kind of query in both directions, with a limit and a start key; scans, and
# segments of them
sub calls
{
	my ($table, $pk) = @_;
	my $sql = "SELECT dyn_get('$table', '{\"pk\":{\"S\":\"$pk\"},\"sk\":{\"S\":\"s5\"}}');\n";
	%statements = ('' => 1);
	for my $index (sort keys %indexes)
	{
		my $i = $indexes{$index};
		my $value = $i->{partition} eq 'kind' ? 'even' : $pk;
		my $named = $index eq '' ? '' : ", index_name => '$index'";
		my $key = "{$i->{key}}";
		$key =~ s/PK/$value/;
		for my $condition ($i->{sort} ? @conditions : (''))
		{
			my $vals = qq|{":p":{"S":"$value"}|;
			$vals .= ',":a":{"S":"s"}' if $condition =~ /:a/;
			$vals .= ',":b":{"S":"t"}' if $condition =~ /:b/;
			(my $where = "$i->{partition} = :p$condition") =~ s/SORT/$i->{sort}/;
			for my $rest ('', ', forward => false', ', max_items => 2', ", start_key => '$key'", ", start_key => '$key', forward => false")
			{
				# behind "= :a" there is nothing
				$statements{$index}++ unless $condition =~ / = / && $rest =~ /start_key => .*"s3"/;
				$sql .= "SELECT count(*) FROM dyn_query('$table', '$where', vals => '$vals}'$rest$named);\n";
			}
		}
		for my $rest ('', ', max_items => 2', ", start_key => '$key'", ', segment => 1, total_segments => 3', ', segment => 0, total_segments => 1000')
		{
			$statements{$index}++;
			$sql .= "SELECT count(*) FROM dyn_scan('$table'$rest$named);\n";
		}
	}
	return $sql;
}

# All plans of the statements that the extension ran: nothing in them but scans of the index whose order they ask for.
sub check_plans
{
	my ($name, $notices, $table) = @_;
	my @plans = grep { m{Query Text: (?:/\* of relation \d+ \*/ )?SELECT .* FROM public\.$table } } split /NOTICE:  duration/, $notices;
	for my $index (sort keys %indexes)
	{
		my $i = $indexes{$index};
		my $postgres = $index eq '' ? "${table}_pkey" : qq("${table}_$index");
		(my $columns = $i->{columns}) =~ s/, /( DESC)?, /g;
		my @own = grep { /ORDER BY $columns( DESC)?$/m || ($index eq '' && !/ORDER BY/) } @plans;
		cmp_ok(scalar @own, '>=', $statements{$index}, "$name: plans of '$index' were logged");
		my @bad = grep { !/Index (Only )?Scan( Backward)? using $postgres / || /Seq Scan|Bitmap|Sort |JIT/ } @own;
		is(scalar @bad, 0, "$name: ordered scans of '$index' only") or diag($bad[0]);
		my @filters = grep { /Filter/ } @own;
		is(scalar @filters, 0, "$name: no filter, so only rows of the answer are read") or diag($filters[0]);
		my @fetched = $i->{only} ? grep { !/Index Only Scan/ } @own : ();
		is(scalar @fetched, 0, "$name: keys come from the index alone") or diag($fetched[0]);
		@plans = grep { my $plan = $_; !grep { $_ eq $plan } @own } @plans;
	}
	is(scalar @plans, 0, "$name: nothing else ran") or diag($plans[0]);
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
	$node->safe_psql('postgres', "SET auto_explain.log_min_duration = -1; SELECT count(*)
		FROM (SELECT dyn_put('$table', jsonb_build_object('pk', 'p' || c, 'sk', 's' || i, 'g', 'p' || c, 'h', 's' || i % 7, 'j', 's' || i % 5, 'kind', CASE i % 2
		WHEN 0 THEN 'even' ELSE 'odd' END, 'pad', repeat('x', 50))) FROM generate_series(1, $collections) c, generate_series(1, $items) i) x");
}

sub create
{
	my ($table) = @_;
	$node->safe_psql('postgres', "SELECT dyn_create_table('$table', 'pk S', 'sk S',
		global_indexes => '{\"ByGroup\":{\"partition_key\":\"g S\",\"sort_key\":\"h S\",\"projection\":\"ALL\"},
			\"KeysOnly\":{\"partition_key\":\"g S\",\"sort_key\":\"j S\",\"projection\":\"KEYS_ONLY\"},
			\"ByKind\":{\"partition_key\":\"kind S\",\"projection\":\"ALL\"}}',
		local_indexes => '{\"Local\":{\"sort_key\":\"h S\",\"projection\":\"ALL\"}}')");
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
$node->safe_psql('postgres', "SET auto_explain.log_min_duration = -1; SELECT count(*)
	FROM (SELECT dyn_put('half', jsonb_build_object('pk', 'big', 'sk', 's' || i, 'g', 'big', 'h', 's' || i % 7, 'j', 's' || i % 5, 'kind', 'even'))
	FROM generate_series(1, 1000) i) x");
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
