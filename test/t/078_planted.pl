# Functions and operators that a role has made in the extension's schema, by the names of those that the install script, views and
# statements of C code call, and with exactly the types that they are called with: none of them runs for anybody else.
use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $library = build_library('planted/calls.c');

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
allow_plugin($node);
$node->append_conf('postgresql.conf', qq{
wal_level = logical
autovacuum = off
max_worker_processes = 16
shared_preload_libraries = '$library, dynamo_table'
});
$node->start;

sub database
{
	my ($name) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $name");
	$node->safe_psql($name, q{GRANT CREATE ON SCHEMA public TO planter});
}
$node->safe_psql('postgres', q{CREATE ROLE planter});

# Every feature, in one database.
my $features = "$FindBin::RealBin/../sql/hostile_names.sql";
sub try_everything
{
	my ($database, $name) = @_;
	my (undef, undef, $err) = $node->psql($database, undef, extra_params => [ '-v', "n=$name", '-f', $features ]);
	is($err, '', "every feature in $database");
}
my $views = q{SET search_path = pg_catalog; SELECT c.oid::regclass FROM pg_depend d JOIN pg_class c ON c.oid = d.objid AND c.relkind = 'v'
	WHERE d.classid = 'pg_class'::regclass AND d.deptype = 'e' AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'dynamo_table')};
sub read_views
{
	my ($database) = @_;
	my @names = split /\n/, $node->safe_psql($database, $views);
	cmp_ok(scalar @names, '>=', 8, 'there are views');
	for my $name (@names)
	{
		my ($status, undef, $err) = $node->psql($database, "SELECT * FROM $name");
		is("$status: $err", '0: ', "$name in $database");
	}
}
database('plain');
$node->safe_psql('plain', 'CREATE EXTENSION dynamo_table');
my $installed = -s $node->logfile;
try_everything('plain', 'one');
read_views('plain');
# what is stored, and so never parsed again
$node->safe_psql('plain', qq{CREATE FUNCTION pg_temp.calls_of(text) RETURNS void LANGUAGE c AS '$library';
	SELECT pg_temp.calls_of(tree) FROM (SELECT ev_action::text FROM pg_rewrite WHERE oid >= 16384 UNION ALL SELECT prosqlbody::text FROM pg_proc WHERE oid >= 16384
		UNION ALL SELECT adbin::text FROM pg_attrdef UNION ALL SELECT conbin::text FROM pg_constraint WHERE oid >= 16384
		UNION ALL SELECT unnest(ARRAY[polqual::text, polwithcheck::text]) FROM pg_policy UNION ALL SELECT tgqual::text FROM pg_trigger
		UNION ALL SELECT unnest(ARRAY[indexprs::text, indpred::text]) FROM pg_index WHERE indexrelid >= 16384) v (tree) WHERE tree IS NOT NULL});

# What is called, and whether it is by a statement of C code's.
sub calls
{
	my ($log) = @_;
	my @lines = split /\n/, $log;
	# what functions of the features call is none of the extension's
	return map {
		my ($call) = $lines[$_] =~ /another could be called: (.*)/;
		defined $call ? [ $call, scalar($lines[ $_ + 1 ] =~ /DETAIL: +(?!.*(?:key_of|jsonb_build_object\(name|tgtype &))/) ] : ();
	} 0 .. $#lines;
}
my %called = map { $_->[0] => 0 } calls(slurp_file($node->logfile));
$called{ $_->[0] } = 1 for grep { $_->[1] } calls(slurp_file($node->logfile, $installed));
cmp_ok(scalar(keys %called), '>', 30, 'calls that another function or operator could take over');
cmp_ok(scalar(grep { $_ } values %called), '>', 10, 'some of them of statements');
note(join "\n", sort keys %called);

# Make those that can be made with the types that there are.
sub plant
{
	my ($database) = @_;
	my ($n, $made) = (0, 0);
	for my $call (sort keys %called)
	{
		my ($kind, $name, $types) = $call =~ /^(\w+) \S+ (.*) \((.*)\)$/ or die $call;
		my @types = map { s/pg_catalog\.unknown/text/r } split /, /, $types;
		$name =~ s/^"(.*)"$/$1/ if $kind eq 'operator';
		my $function = $kind eq 'operator' ? 'public.planted_' . $n++ : "public.$name";
		my $arguments = join ', ', grep { $_ ne 'NONE' } @types;
		my $result = $kind eq 'operator' ? 'boolean' : 'text';
		my $sql = "SET ROLE planter; CREATE FUNCTION $function($arguments) RETURNS $result LANGUAGE plpgsql AS \$\$ BEGIN RAISE EXCEPTION 'planted: % runs',
			\$n\$$call\$n\$; END \$\$;";
		if ($kind eq 'operator')
		{
			my @sides = map { "$_->[0] = $_->[1]" } grep { $_->[1] ne 'NONE' } [ LEFTARG => $types[0] ], [ RIGHTARG => $types[1] ];
			$sql .= "CREATE OPERATOR public.$name (" . join(', ', @sides, "FUNCTION = $function") . ');';
		}
		my ($status, undef, $err) = $node->psql($database, $sql, on_error_stop => 1);
		# types that come with the extension are not there before it
		if ($status == 0) { $made++ } else { note("$call: $err") }
	}
	return $made;
}
my $depending = q{SET search_path = pg_catalog; SELECT pg_describe_object(classid, objid, objsubid) FROM pg_depend
	WHERE deptype = 'n' AND refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass)
	AND refobjid IN (SELECT oid FROM pg_proc WHERE proowner = 'planter'::regrole UNION ALL SELECT oid FROM pg_operator WHERE oprowner = 'planter'::regrole)
	AND NOT (classid = 'pg_operator'::regclass AND objid IN (SELECT oid FROM pg_operator WHERE oprowner = 'planter'::regrole))};

# They are there before the extension comes.
database('planted');
cmp_ok(plant('planted'), '>', 25, 'planted');
$node->safe_psql('planted', 'CREATE EXTENSION dynamo_table');
is($node->safe_psql('planted', $depending), '', 'nothing depends on what was planted');
read_views('planted');
$node->safe_psql('planted', q{SELECT dyn_create_table('app', 'pk S', 'sk S'); SELECT dyn_put('app', '{"pk": {"S": "a"}, "sk": {"S": "b"}}')});

# A dump has them too.
my $dump = $node->basedir . '/dump.sql';
$node->command_ok([ 'pg_dump', '-f', $dump, '-d', $node->connstr('planted') ], 'dumped');
database('restored');
is(scalar(grep { /\S/ && !/WARNING|HINT|DETAIL/ } split /\n/, ($node->psql('restored', undef, extra_params => [ '-v', 'ON_ERROR_STOP=1', '-f', $dump ]))[2]),
	0, 'restored');
is($node->safe_psql('restored', $depending), '', 'and nothing depends on them');
is($node->safe_psql('restored', q{SELECT dyn_get('app', '{"pk": {"S": "a"}, "sk": {"S": "b"}}') IS NOT NULL}), 't', 'with its items');
read_views('restored');

# What only statements of C code call, once the extension is there.
database('late');
$node->safe_psql('late', 'CREATE EXTENSION dynamo_table');
%called = map { $_ => 1 } grep { $called{$_} } keys %called;
cmp_ok(plant('late'), '>', 10, 'planted for statements');
try_everything('late', 'two');
read_views('late');
is($node->safe_psql('late', $depending), '', 'nothing depends on what was planted');
is(scalar(grep { /ERROR:  planted: / } split /\n/, slurp_file($node->logfile)), 0, 'none of them ran');

# What the owner of a database has set changes nothing that is stored.
SKIP:
{
	skip 'from 19 on strings have one form', 1 if $node->safe_psql('postgres', 'SHOW server_version_num') >= 190000;
	my $stored = q{SET search_path = pg_catalog; SELECT definition FROM (SELECT pg_get_viewdef(oid) FROM pg_class WHERE relkind = 'v' AND oid >= 16384
		UNION ALL SELECT coalesce(pg_get_function_sqlbody(oid), prosrc) FROM pg_proc WHERE oid >= 16384
		UNION ALL SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE oid >= 16384) d (definition) ORDER BY definition COLLATE "C"};
	database($_) for qw(standard other);
	$node->safe_psql('postgres', 'ALTER DATABASE other SET standard_conforming_strings = off');
	$node->safe_psql($_, 'CREATE EXTENSION dynamo_table') for qw(standard other);
	is($node->safe_psql('other', $stored), $node->safe_psql('standard', $stored), 'the same is stored whatever strings have for backslashes');
}

$node->stop;
done_testing();
