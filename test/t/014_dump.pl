# pg_dump and restore keep the access method, unless told not to.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
create_twins($node);
$node->safe_psql(
	'postgres', q{
	CREATE TABLE parts (id int PRIMARY KEY, v text) PARTITION BY RANGE (id);
	CREATE TABLE part_1 PARTITION OF parts FOR VALUES FROM (0) TO (100) USING dynamo_table;
	CREATE TABLE part_2 PARTITION OF parts FOR VALUES FROM (100) TO (200) USING heap;
	INSERT INTO parts SELECT i, i FROM generate_series(0, 199) i;
	CREATE MATERIALIZED VIEW matview USING dynamo_table AS SELECT id, length(v) FROM ours;
	CREATE INDEX ON ours (lower(left(v, 5))) WHERE grp < 25});
my $methods = q{SELECT string_agg(c.relname || ' ' || a.amname, ', ' ORDER BY c.relname) FROM pg_class c JOIN pg_am a ON a.oid = c.relam
	WHERE c.relkind IN ('r', 'm') AND c.relnamespace = 'public'::regnamespace
		AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = c.oid AND deptype = 'e')};
my $expected = 'matview dynamo_table, ours dynamo_table, part_1 dynamo_table, part_2 heap, twin heap';
is($node->safe_psql('postgres', $methods), $expected, 'before');

my $dir = $node->basedir;
sub restored
{
	my ($dbname, $name, $expected_methods) = @_;
	is($node->safe_psql($dbname, $methods), $expected_methods, "$name: access methods");
	twins_agree($node, $name, $dbname);
	is($node->safe_psql($dbname, 'SELECT count(*) FROM parts'), '200', "$name: partitions");
}

$node->command_ok([ 'pg_dump', '-f', "$dir/plain.sql", 'postgres' ], 'pg_dump');
like(slurp_file("$dir/plain.sql"), qr/SET default_table_access_method = dynamo_table;/, 'the dump names it');
$node->safe_psql('postgres', 'CREATE DATABASE plain');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/plain.sql", 'plain' ], 'psql restores');
restored('plain', 'plain', $expected);
check_storage($node, 'plain', 'plain');

$node->command_ok([ 'pg_dump', '-Fd', '-j2', '-f', "$dir/directory", 'postgres' ], 'pg_dump -Fd -j');
$node->safe_psql('postgres', 'CREATE DATABASE directory');
$node->command_ok([ 'pg_restore', '-j2', '--exit-on-error', '-d', 'directory', "$dir/directory" ], 'pg_restore -j');
restored('directory', 'directory', $expected);
check_storage($node, 'directory', 'directory');

# Two ways out: the dump without the access method, and a restore that leaves it out.
(my $all_heap = $expected) =~ s/dynamo_table/heap/g;
$node->command_ok([ 'pg_dump', '--no-table-access-method', '-f', "$dir/heap.sql", 'postgres' ], 'pg_dump --no-table-access-method');
unlike(slurp_file("$dir/heap.sql"), qr/default_table_access_method/, 'the dump names none');
$node->safe_psql('postgres', 'CREATE DATABASE heap');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/heap.sql", 'heap' ], 'psql restores');
restored('heap', 'heap', $all_heap);
$node->safe_psql('postgres', 'CREATE DATABASE heap2');
$node->command_ok([ 'pg_restore', '--no-table-access-method', '--exit-on-error', '-d', 'heap2', "$dir/directory" ],
	'pg_restore --no-table-access-method');
restored('heap2', 'heap2', $all_heap);

# The tools that look at the access method's OID leave our tables out; this is what the manual says.
my ($status, $out, $err) = $node->psql('plain', "SELECT * FROM verify_heapam('ours')");
like($err, qr/only heap AM is supported/, 'verify_heapam refuses a table of ours');
$node->command_ok([ 'pg_amcheck', 'plain' ], 'pg_amcheck passes by');

# The rescue: the files are heap's, so with the catalog changed the tables are heaps, even where
# the library is lost.
$node->safe_psql('plain', q{UPDATE pg_proc SET probin = '$libdir/lost' WHERE probin = '$libdir/dynamo_table'});
($status, $out, $err) = $node->psql('plain', 'SELECT count(*) FROM ours');
like($err, qr/could not access file ".*lost"/, 'without the library a table of ours cannot be read');
$node->safe_psql(
	'plain', q{
	BEGIN;
	UPDATE pg_class SET relam = (SELECT oid FROM pg_am WHERE amname = 'heap')
		WHERE relam = (SELECT oid FROM pg_am WHERE amname = 'dynamo_table');
	DELETE FROM pg_depend WHERE classid = 'pg_class'::regclass AND refclassid = 'pg_am'::regclass
		AND refobjid = (SELECT oid FROM pg_am WHERE amname = 'dynamo_table');
	COMMIT});
$node->safe_psql('plain', 'DROP EXTENSION dynamo_table');
restored('plain', 'rescued', $all_heap);
$node->safe_psql('plain', 'REINDEX TABLE ours; VACUUM FULL ours');
is($node->safe_psql('plain', "SELECT count(*) FROM verify_heapam('ours')"), '0', 'rescued: sound');
$node->stop;
done_testing();
