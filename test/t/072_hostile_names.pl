# Names that look like formats, SQL or arguments: every feature works with them, and gives what it gives with others.
use strict;
use warnings;

use FindBin;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my @names = (
	'plain', '%s%s%n t%2$s%3$s%4$n%1$s', q{it's "so" back\\slash\\'\\"}, "  two  blanks line\nfeed\ttab\r", '$$ $x$ $1 \\1',
	q{'; DROP TABLE victim; --}, q{"; DROP TABLE victim; --}, "Gr\xc3\xb6\xc3\x9fe \xe6\x9d\xb1\xe4\xba\xac \xf0\x9f\x9a\x80",
	'-x', q[;-- {a,b}[1] {"settings": :n :'n' @], 'select');

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
allow_plugin($node);
$node->append_conf('postgresql.conf', "wal_level = logical\nautovacuum = off\nmax_worker_processes = 16");
$node->start;

# Databases, and schemas of the extension, have names, too.
my $strange = q{d%s%n "x" 'y' \\};
for my $database ('postgres', $strange)
{
	my $schema = $database eq $strange ? q{"e%2$s%n ""x"" 'y' \\"} : 'public';
	$node->safe_psql('postgres', 'CREATE DATABASE "d%s%n ""x"" \'y\' \\"') if $database eq $strange;
	$node->safe_psql($database, "CREATE SCHEMA IF NOT EXISTS $schema; GRANT USAGE ON SCHEMA $schema TO PUBLIC;
		CREATE EXTENSION dynamo_table SCHEMA $schema; CREATE TABLE public.victim ()");
}

sub shown
{
	my ($name) = @_;
	return $name =~ s/[^ -~]/?/gr;
}

my $script = "$FindBin::RealBin/../sql/hostile_names.sql";
my $expected;

sub try_everything
{
	my ($database, $name) = @_;
	my ($status, $out, $err) = $node->psql($database, undef, extra_params => [ '-v', "n=$name", '-f', $script ]);
	is($err, '', 'every feature with <' . shown($name) . '>');
	$expected //= $out;
	is($out, $expected, 'and as with others');
}
try_everything('postgres', $_) for @names;
try_everything($strange, "other $_") for @names[ 0 .. 3 ];

# The command, as a role with the name, whose schema has it, too.
my $file = $node->basedir . q{/out %s'".json};
sub command
{
	my ($name, @arguments) = @_;
	my ($out, $err);
	IPC::Run::run([ 'dynamo_table', shift @arguments, '-q', '-h', $node->host, '-p', $node->port, '-d', 'postgres', '-U', $name =~ tr/\n\r/  /r, @arguments ],
		'<', \'', '>', \$out, '2>', \$err);
	return "$?: $err";
}
for my $name (@names)
{
	is(command($name, 'export', '--table', $name, '--entity', $name, $file), '0: ', 'exported: <' . shown($name) . '>');
	is(command($name, 'import', '--table', $name, $file), '0: ', 'imported');
	is(command($name, 'export', '--table', $name, '--format', 'csv', "$file.csv"), '0: ', 'exported as CSV');
	is(command($name, 'export', '--table', $name, '--entity', $name, '--format', 'csv', "$file.csv"), '0: ', 'and by entity');
}

# A dump restores it all.
my $dump = $node->basedir . '/dump.sql';
$node->command_ok([ 'pg_dump', '-f', $dump, '-d', $node->connstr('postgres') ], 'dumped');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
my ($status, $out, $err) = $node->psql('restored', undef, extra_params => [ '-v', 'ON_ERROR_STOP=1', '-f', $dump ]);
is($err =~ s/^.*(?:NOTICE|WARNING|HINT|DETAIL).*\n?//gmr, '', 'restored');
my $contents = q{SELECT count(*), md5(string_agg(line, ',' ORDER BY nspname, line))
	FROM pg_namespace n JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = n.nspname,
		LATERAL (SELECT set_config('search_path', quote_ident(nspname) || ', public', false)) s, LATERAL %s};
for my $call ('dyn_export(nspname) line', q{(SELECT p::text FROM dyn_run_access_pattern(nspname, nspname, '{"i": {"S": "002"}}') p) q(line)})
{
	my $before = $node->safe_psql('postgres', sprintf($contents, $call));
	cmp_ok((split /\|/, $before)[0], '>=', scalar @names, 'there are rows');
	is($node->safe_psql('restored', sprintf($contents, $call)), $before, "which are the same: $call");
}

is($node->safe_psql($_, 'SELECT count(*) FROM public.victim'), '0', 'nobody was harmed') for ('postgres', $strange);
unlike(slurp_file($node->logfile), qr/terminated by signal/, 'no crash');

$node->stop;
done_testing();
