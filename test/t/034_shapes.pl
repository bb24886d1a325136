# Random statements on tables with triggers, foreign keys, constraints, columns and indexes of their
# users, by the direct store in one database and by the SPI store in another: answers, errors, rows,
# what triggers have written, what indexes have and what is decoded from the WAL are the same.
# $SEED and $SHAPES (names with spaces in between) repeat a run, $STATEMENTS makes it longer, which it is in the long tests.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;
use Shapes;

my $seed = $ENV{SEED} // int(rand(1 << 30));
my $count = $ENV{STATEMENTS} // ($ENV{DYNAMO_TABLE_STRESS_SECONDS} ? 300 : 100);
my @shapes = $ENV{SHAPES} ? split(' ', $ENV{SHAPES}) : shape_names();
diag("seed $seed");

my $node = PostgreSQL::Test::Cluster->new('shapes');
$node->init;
allow_plugin($node);
$node->append_conf('postgresql.conf', "wal_level = logical\nlog_statement = none\nlog_min_messages = fatal\nautovacuum = off\nfsync = off\n"
  . "max_locks_per_transaction = 500");
$node->start;
$node->safe_psql('postgres', 'CREATE ROLE writer');
my %stores = (direct => 'on', spi => 'off');
for my $store (sort keys %stores)
{
	$node->safe_psql('postgres', "CREATE DATABASE $store; ALTER DATABASE $store SET dynamo_table.direct_store = $stores{$store}");
	$node->safe_psql($store, "CREATE EXTENSION dynamo_table; CREATE EXTENSION amcheck; SELECT pg_create_logical_replication_slot('$store', 'test_decoding')");
}

# What is compared after the statements: rows, what triggers have written, changes as they are decoded, and what indexes have.
sub state_of
{
	my ($shape) = @_;
	my $state = "RESET ROLE;\nRESET session_replication_role;\nSELECT * FROM app ORDER BY pk, sk;\nSELECT what FROM audit ORDER BY id;\n"
	  . "SELECT data FROM pg_logical_slot_get_changes(current_database(), NULL, NULL, 'include-xids', '0') WHERE data ~ '^table $shape\\.'"
	  . (shape_cascades($shape) ? ' ORDER BY data' : '') . ";\n";
	for my $query (shape_checks($shape))
	{
		$state .= "SET enable_seqscan = on; SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off;\n"
		  . "CREATE TEMP TABLE by_rows AS $query;\n"
		  . "SET enable_seqscan = off; SET enable_indexscan = on; SET enable_indexonlyscan = on; SET enable_bitmapscan = on;\nCREATE TEMP TABLE by_index AS $query;\n"
		  . "SELECT 'only by the index', * FROM (TABLE by_index EXCEPT ALL TABLE by_rows) d;\n"
		  . "SELECT 'only in rows', * FROM (TABLE by_rows EXCEPT ALL TABLE by_index) d;\nDROP TABLE by_rows, by_index;\n";
	}
	return $state . shape_end($shape) . ";\n";
}

# What psql says to a script: answers, notices, and errors with their SQLSTATE, DETAIL, HINT and the object that they name.
sub answers
{
	my ($store, $script) = @_;
	my $file = $node->basedir . '/script.sql';
	my $out;
	unlink $file;
	append_to_file($file, $script);
	IPC::Run::run([ 'psql', '-XAtq', '-d', $node->connstr($store), '-f', $file ], '>', \$out, '2>&1');
	$out =~ s/^psql:\S+:\d+: //mg;
	$out =~ s/^LOCATION:.*\n//mg;
	return $out;
}

# The statement, and the first lines in which two answers to it differ.
sub difference
{
	my @direct = split /\n/, $_[0];
	my @spi = split /\n/, $_[1];
	my $statement = $direct[0];
	while (@direct && @spi && $direct[0] eq $spi[0])
	{
		shift @direct;
		shift @spi;
	}
	my $lines = join "\n", $statement, map({ "direct: $_" } grep { defined } @direct[ 0 .. 3 ]), map({ "SPI:    $_" } grep { defined } @spi[ 0 .. 3 ]);
	$lines =~ s/(x{9})x+|(y{9})y+/($1 || $2) . '...'/ge;
	return $lines;
}

# Errors of a part of them make a test that says nothing.
my %found;
for my $shape (@shapes)
{
	# tokens of the shapes before, which end after ten minutes, and not at the same time in both databases
	my $script = "DELETE FROM dynamo_internal.transact_tokens;\n\\set ON_ERROR_STOP on\nSET client_min_messages = warning;\n" . shape_setup($shape)
	  . "\n\\set ON_ERROR_STOP off\nRESET client_min_messages;\n\\set VERBOSITY verbose\n\\set SHOW_CONTEXT never\n";
	my $n = 0;
	for my $statements (shape_statements($shape, $seed, $count))
	{
		$n++;
		for my $statement (@$statements)
		{
			(my $shown = $statement) =~ s/(x{9})x+|(y{9})y+|([0-9a-f]{9})[0-9a-f]{5000,}/($1 || $2 || $3) . '...'/ge;
			$shown =~ s/\\/\\\\/g;
			$shown =~ s/'/''/g;
			$script .= "\\echo '== $n: $shown'\n$statement" . ($statement =~ /^\\/ ? '' : ';') . "\n";
		}
	}
	# only a statement is in the context of its error
	$script .= "\\echo '== store'\nRESET dynamo_table.direct_store;\n\\set SHOW_CONTEXT always\nBEGIN READ ONLY;\n"
	  . "SELECT dyn_put('app', jsonb '{\"pk\": \"p1\", \"sk\": 1, \"P\": \"1\", \"S\": 1, \"Type\": \"E\", \"code\": \"x\"}');\nROLLBACK;\n"
	  . "\\set SHOW_CONTEXT never\n";
	$script .= "\\echo '== state'\n" . state_of($shape);
	my %said = map { $_ => answers($_, $script) } sort keys %stores;
	my %writes = map { $_ => $said{$_} =~ s/^== store\n(.*?)(?=^== )//sm ? ($1 =~ /CONTEXT:.*INSERT INTO/s ? 'spi' : 'direct') : 'none' } keys %said;
	is("$writes{direct} $writes{spi}", (shape_needs_statements($shape) ? 'spi' : 'direct') . ' spi', "$shape: the stores are two");
	my %parts = map { $_ => [ split /^(?=== )/m, $said{$_} ] } keys %said;
	my $differences = 0;
	for my $i (0 .. ($#{ $parts{direct} } > $#{ $parts{spi} } ? $#{ $parts{direct} } : $#{ $parts{spi} }))
	{
		my ($direct, $spi) = map { $parts{$_}[$i] // 'nothing' } qw(direct spi);
		next if $direct eq $spi;
		diag("$shape, seed $seed:\n" . difference($direct, $spi)) if $differences++ < 3;
	}
	is($differences, 0, "$shape: both stores say the same");
	like($said{direct}, qr/^== state\n/m, "$shape: the script ran to its end");
	unlike($said{direct}, qr/only by the index|only in rows/, "$shape: indexes have what rows have");
	my @unexpected = $said{direct} =~ /^(?:ERROR:  (?:XX|42(?!8C9|P07|701)|22(?!012|P02)).*|.*server closed.*)$/mg;
	is(join("\n", @unexpected), '', "$shape: nothing unexpected");
	$found{$1}++ while $said{direct} =~ /^ERROR:  (\w+)/mg;
	note("$shape: " . (() = $said{direct} =~ /^== /mg) . ' statements, ' . (() = $said{direct} =~ /^ERROR:/mg) . ' errors, '
	  . (() = $said{direct} =~ /^ERROR:  25P02/mg) . ' of them after another');
}
check_storage($node, $_, $_) for sort keys %stores;
note('errors: ' . join(', ', map { "$_ $found{$_}" } sort keys %found));
if (!$ENV{SHAPES})
{
	cmp_ok($found{$_} // 0, '>', 0, "error $_ came up") for qw(09000 23502 23503 23505 23514 23P01 YD001 YD002 YD003);
}
$node->stop;
done_testing();
