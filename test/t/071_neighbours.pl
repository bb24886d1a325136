# Beside another library: the names that ours shows, and the slots of a backend that it takes.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $neighbour = build_library('neighbour/neighbour.c');

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
allow_plugin($node);
$node->append_conf('postgresql.conf', q{
	wal_level = logical
	max_worker_processes = 16
	autovacuum = off
});

sub value
{
	my ($sql) = @_;
	return $node->safe_psql('postgres', $sql);
}

# What a library shows is what the server looks up: functions of the catalog and their records, the
# library's own entries, and those of background workers.
$node->start;
value('CREATE EXTENSION dynamo_table');
my @functions = split /\n/, value(q{SELECT DISTINCT prosrc FROM pg_proc WHERE probin = '$libdir/dynamo_table'});
my @expected = sort @functions, (map { "pg_finfo_$_" } @functions), 'Pg_magic_func', '_PG_init', '_PG_output_plugin_init',
	map { "dyn_${_}_main" } qw(index_later launcher statement visit);
my ($library) = glob(configured('pkglibdir') . '/dynamo_table.*');
my ($symbols) = run_command([ 'nm', '-D', '--defined-only', $library ]);
my @shown = sort map { (split)[2] } split /\n/, $symbols;
is(join("\n", @shown), join("\n", @expected), 'the library shows what the server looks up');

# All that keeps something of relations is used in one session.
my $everything = q{
	SELECT dyn_create_table('app', 'pk S', 'sk S');
	CALL dyn_setup_streams();
	SELECT dyn_enable_stream('app', 'NEW_IMAGE');
	SELECT dyn_create_entity('app', 'Row', '{"pk": "ROW#<Id>", "sk": "#"}', '{"Id": "N integer", "Name": "S"}');
	SELECT dyn_enforce_entities('app');
	SELECT dyn_put('app', '{"pk": {"S": "ROW#1"}, "sk": {"S": "#"}, "Id": {"N": "1"}, "Name": {"S": "a"}, "Type": {"S": "Row"}}');
	CREATE TABLE source (id int PRIMARY KEY, name text);
	SELECT dyn_create_migration('app', 'm', '[{"entity": "Row", "from": "source", "attributes": {"Id": "id", "Name": "name"}}]');
	SELECT dyn_follow_migration('m');
	INSERT INTO source VALUES (2, 'b');
	CREATE INDEX ON app ((item ->> 'Name'));
	SELECT dyn_put('app', '{"pk": {"S": "ROW#3"}, "sk": {"S": "#"}, "Id": {"N": "3"}, "Name": {"S": "c"}, "Type": {"S": "Row"}}');
	CALL dyn_collect_streams();
	SELECT string_agg(item ->> 'Name', ',' ORDER BY pk) || ' ' || (SELECT count(*) FROM dyn_read_stream('app')) FROM app};

# A join of views by keys, which the planner makes in a hook that other libraries may have too.
my $join = q{
	SET enable_hashjoin = off;
	SET enable_mergejoin = off;
	SET enable_material = off;
	SET enable_seqscan = off;
	SET enable_bitmapscan = off;
	EXPLAIN (COSTS OFF) SELECT * FROM generate_series(1, 3) i LEFT JOIN "Row" r ON r."Id" = i};
sub make_view
{
	value(q{SELECT dyn_create_table('app', 'pk S', 'sk S');
		SELECT dyn_create_entity('app', 'Row', '{"pk": "ROW#<Id>", "sk": "#"}', '{"Id": "N integer", "Name": "S"}');
		SELECT dyn_create_entity_view('app', 'Row')});
}
make_view();
like(value($join), qr/Index Cond:.*entity_key/, 'without preloading, the first statement of a session has the key of a join');
value('DROP TABLE app CASCADE');

# The neighbour comes first, and leaves one slot.
for my $setting ('session_preload_libraries', 'shared_preload_libraries')
{
	my $before = $setting =~ /^session/ ? $neighbour : "$neighbour, dynamo_table";
	$node->append_conf('postgresql.conf', "$setting = '$before'");
	$node->restart;
	like(value($everything), qr/^a,b,c 3$/m, "everything works with one slot left, $setting");
	value(q{SELECT dyn_put('app', '{"pk": {"S": "ROW#4"}, "sk": {"S": "#"}, "Id": {"N": "4"}, "Name": {"S": "d"}, "Type": {"S": "Row"}}')});
	if ($setting =~ /^shared/)
	{
		ok($node->poll_query_until('postgres', "SELECT count(*) = 4 FROM dyn_read_stream('app')"), 'so does the collector');
	}
	value(q{SELECT dyn_create_entity_view('app', 'Row')});
	like(value($join), qr/Index Cond:.*entity_key/, "a join has its key with another hook before ours, $setting");
	value('DROP VIEW "Row"');
	value("SELECT dyn_disable_stream('app'); CALL dyn_teardown_streams(); SELECT dyn_follow_migration('m', enabled => false), dyn_drop_migration('m');
		DROP TABLE source; SELECT dyn_drop_table('app')");
	$node->append_conf('postgresql.conf', "$setting = ''");
}

# Ours comes first.
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'dynamo_table, $neighbour'");
$node->restart;
value("CREATE FUNCTION neighbour_answers(integer) RETURNS bigint AS '$neighbour' LANGUAGE c STRICT");
is(value('SELECT neighbour_answers(1)'), '-1', 'the other library calls its own function');
value("CREATE FUNCTION neighbour_planned() RETURNS bigint AS '$neighbour' LANGUAGE c STRICT");
make_view();
like(value("$join; SELECT neighbour_planned() > 1"), qr/Index Cond:.*entity_key.*^t$/ms,
	'a join has its key with another hook behind ours, which is called too');
unlike(slurp_file($node->logfile), qr/callback_list slots|of another library|terminated by signal/, 'no session ended');

$node->stop;
done_testing();
