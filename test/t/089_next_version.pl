# Versions that follow each other: the library is replaced under a server that runs, and the extension is updated in each database.
# Sessions and workers go on, or there is an error that says which versions do not fit and what to do.  test/next-version has made
# the two versions after this one.
use strict;
use warnings;

use File::Basename qw(dirname basename);
use File::Copy qw(copy);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;
use Frontend;

my $next = $ENV{NEXT_VERSION} // '';
plan skip_all => 'test/tap makes the versions for this test' unless -d $next;
my ($bindir, $library, $extension, $versions) = map { my $line = slurp_file("$next/$_"); chomp $line; $line } qw(bindir library extension versions);
my ($first, $second, $third) = split ' ', $versions;

# As a package does: files are replaced, and never written to.
sub place
{
	my ($from, $to) = @_;
	copy($from, "$to.new") or die "copy $from: $!";
	chmod 0755, "$to.new";
	rename("$to.new", $to) or die "rename: $!";
}

sub install
{
	my ($version) = @_;
	place("$next/$version/dynamo_table.so", $library);
	place($_, "$extension/" . basename($_)) foreach glob("$next/$version/dynamo_table--*.sql"), "$next/$version/dynamo_table.control";
}

my $node;

sub value
{
	my ($sql, $dbname) = @_;
	return $node->safe_psql($dbname // 'postgres', $sql);
}

# In a new session: the message, the hint and the SQLSTATE of the error.
sub fails
{
	my ($sql, $message, $hint, $what, $dbname) = @_;
	my ($rc, $out, $err) = $node->psql($dbname // 'postgres', "\\set VERBOSITY verbose\n$sql");
	like($err, qr/ERROR:  55000: \Q$message\E\n(?:LINE .*\n.*\n)?HINT:  \Q$hint\E/, $what);
}

sub start_node
{
	my ($name) = @_;
	my $new = PostgreSQL::Test::Cluster->new($name, install_path => dirname($bindir));
	$new->init;
	DynamoTable::allow_plugin($new);
	$new->append_conf('postgresql.conf', $name eq 'loaded' ? '' : q{
		shared_preload_libraries = dynamo_table
		wal_level = logical
		dynamo_table.ttl_interval = 1s
		dynamo_table.ttl_probe_interval = 1s
		dynamo_table.ttl_reread_interval = 0
		autovacuum = off
	});
	$new->start;
	return $new;
}

my $reconnect = 'Install the library of that version. Then reconnect, or restart the server if dynamo_table is in shared_preload_libraries.';
my $update = 'Run ALTER EXTENSION dynamo_table UPDATE in this database.';
my $make = q{
	CREATE EXTENSION dynamo_table;
	SELECT dyn_create_table('app', 'pk S', 'sk S');
	CALL dyn_create_index('app', 'by_kind', 'kind S', 'sk S');
	SELECT dyn_create_entity('app', 'Note', '{"pk": "NOTE#<Id>", "sk": "NOTE"}', '{"Id": "S", "n": "N", "kind": "S"}');
	SELECT dyn_create_entity_view('app', 'Note', 'note');
	SELECT dyn_enforce_entities('app');
	SELECT dyn_put_entity('app', 'Note', jsonb_build_object('Id', i::text, 'n', i, 'kind', 'k')) FROM generate_series(1, 100) i;
};
my $all = q{SELECT count(*), sum(n) FROM note};
my $items = q{SELECT count(*) FROM app WHERE item ->> 'kind' = 'k'};

# Libraries that each session loads for itself
install($first);
$node = start_node('loaded');
value($make);
value('CREATE TABLE plain (i int PRIMARY KEY) USING dynamo_table; CREATE SCHEMA s');
value('CREATE DATABASE later');
value($make, 'later');
my $old = Frontend->new($node, $node->safe_psql('postgres', 'SELECT current_user'));
is($old->query($all), '100|5050', "a session with library $first");
is($old->query(q{SELECT dyn_error_name('YD002')}), 'ConditionalCheckFailedException', 'calls a function');
my $gateway = Frontend->new($node, $node->safe_psql('postgres', 'SELECT current_user'));
value('CREATE ROLE tenant');
my $request = q{SELECT dynamo_internal.request_as('tenant', 'ListTables', '{}')};
is($gateway->query($request), '{"TableNames":[]}', 'a gateway\'s');

install($second);
is($old->query($all), '100|5050', 'goes on while the library is replaced');
is(value(qq{SELECT extversion FROM pg_extension WHERE extname = 'dynamo_table'; $all}), "$first\n100|5050", "library $second works with objects of $first");
is(value(q{SELECT dyn_error_name('YD002')}), 'ConditionalCheckFailedException', 'also where it has another symbol now');
like($old->query('ALTER EXTENSION dynamo_table UPDATE'),
	qr/^ERROR: version \Q$second\E of extension "dynamo_table" needs the library of that version, but the library that is loaded has version \Q$first\E$/,
	'a session that has loaded the older library does not update');
is(value(q{SELECT extversion FROM pg_extension WHERE extname = 'dynamo_table'}), $first, 'nothing is left of that');

# what a session keeps of tables from before
my $open = Frontend->new($node, $node->safe_psql('postgres', 'SELECT current_user'));
is($open->query($all), '100|5050', "a session with library $second");
is(value(qq{ALTER EXTENSION dynamo_table UPDATE; SELECT dyn_next(); SELECT dyn_error_name('YD002'); $all; $items}),
	"$second\nConditionalCheckFailedException\n100|5050\n100", 'another updates the extension');
is($open->query("$all; SELECT dyn_next()"), "100|5050\n$second", 'and the first one goes on');
my $message = 'extension "dynamo_table" has version %s in this database, but the library that is loaded has version %s';
is($old->query(q{SELECT dyn_get('app', '{"pk": "NOTE#1", "sk": "NOTE"}'::jsonb)}), 'ERROR: ' . sprintf($message, $second, $first),
	'the session with the older library does not go on');
is($old->query(q{SELECT dyn_put('app', '{"pk": "NOTE#0", "sk": "NOTE", "Id": "0"}'::jsonb)}), 'ERROR: ' . sprintf($message, $second, $first),
	'nor does it write');
is($old->query('SELECT 1'), '1', 'but it lives');
is(eval { $gateway->query($request) }, undef, 'a session of a gateway ends, so that it gets another one');
is($gateway->{fatal}{M}, sprintf($message, $second, $first), '… and says why');
check_storage($node, 'after the update');

# From a database of one version to another
my $dump = $node->basedir . '/later.sql';
command_ok([ "$bindir/pg_dump", '-f', $dump, $node->connstr('later') ], "dump of a database with $first");
value('CREATE DATABASE restored');
$node->command_ok([ "$bindir/psql", '-XAtq', '-v', 'ON_ERROR_STOP=1', '-f', $dump, $node->connstr('restored') ], "restored as $second");
is(value("SELECT dyn_next(); $all; $items", 'restored'), "$second\n100|5050\n100", 'with its data');
check_storage($node, 'restored', 'restored');

# A library that works with no objects from before
install($third);
fails($_, sprintf($message, $second, $third), $update, "library $third with objects of $second: $_")
  foreach q{SELECT dyn_get('app', '{"pk": "NOTE#1", "sk": "NOTE"}'::jsonb)}, 'SELECT * FROM note', 'TABLE app', q{SELECT dyn_error_name('YD001')};
fails('SELECT * FROM note', sprintf($message, $first, $third), $update, "with objects of $first", 'later');
my ($rc, $out, $err) = $node->psql('later', q{SELECT dyn_error_name('YD002')});
like($err, qr/could not find function "dyn_error_name" in file/, 'a symbol that it has no longer');
is(value("ALTER EXTENSION dynamo_table UPDATE; $all"), '100|5050', 'until these are updated');
is(value("ALTER EXTENSION dynamo_table UPDATE; SELECT extversion FROM pg_extension WHERE extname = 'dynamo_table'; $all", 'later'),
	"$third\n100|5050", 'by two steps at once');

# and back
install($second);
fails($_, sprintf($message, $third, $second), $reconnect, "library $second with objects of $third: $_")
  foreach q{SELECT dyn_get('app', '{"pk": "NOTE#1", "sk": "NOTE"}'::jsonb)}, 'SELECT * FROM note', 'TABLE app';
ok(defined value('VACUUM FREEZE app; DROP TABLE plain; DROP SCHEMA s'), 'what any library can do: tables are vacuumed, and anything is dropped');
is(value('BEGIN; CREATE EXTENSION hstore; DROP EXTENSION hstore; ROLLBACK; SELECT 1', 'later'), '1', 'other extensions too');
$node->stop;

# A library that is preloaded: workers
unlink "$extension/dynamo_table--$first--$second.sql", "$extension/dynamo_table--$second--$third.sql";
install($first);
$node = start_node('preloaded');
value($make);
value(q{SELECT dyn_create_table('old', 'pk S'); CALL dyn_enable_ttl('old', 'expires'); CALL dyn_setup_streams(); SELECT dyn_enable_stream('old', 'KEYS_ONLY')});

# The collector has the change and the TTL worker the expired item.
sub works
{
	my ($what) = @_;
	value(qq{SELECT dyn_put('old', jsonb_build_object('pk', '$what', 'expires', extract(epoch FROM now())::int - 10)),
		dyn_put('old', '{"pk": "$what stays"}'::jsonb)});
	ok($node->poll_query_until('postgres', qq{SELECT count(*) = 3 FROM dynamo_internal.stream_records WHERE keys::text LIKE '%"$what%'}),
		"$what: the collector and the worker of time to live work");
	is(value(q{SELECT count(*) FROM old WHERE item ? 'expires'}), '0', "$what: the item is gone");
}
works('before');
install($second);
works('replaced');
fails('ALTER EXTENSION dynamo_table UPDATE',
	qq{version $second of extension "dynamo_table" needs the library of that version, but the library that is loaded has version $first},
	$reconnect, 'no update before the server is restarted');
$node->restart;
works('restarted');
value('ALTER EXTENSION dynamo_table UPDATE');
works('updated');
is(value("SELECT dyn_next(); $all"), "$second\n100|5050", 'with all there was');

# pg_upgrade to a cluster whose library is newer, and works with no objects from before
value(q{SELECT dyn_disable_stream('old')});
value('CALL dyn_teardown_streams()');
$node->stop;
install($third);
my $before = $node;
$node = start_node('upgraded');
$node->stop;
command_ok(
	[ "$bindir/pg_upgrade", '--no-sync', '-b', $bindir, '-B', $bindir, '-d', $before->data_dir, '-D', $node->data_dir,
		'-s', $node->host, '-p', $before->port, '-P', $node->port ], 'pg_upgrade');
my $log = -s $node->logfile;
$node->start;
my $wrong = qr/ERROR:  extension "dynamo_table" has version \Q$second\E in this database, but the library that is loaded has version \Q$third\E/;
$node->wait_for_log($wrong, $log);
pass('a worker says what is wrong');
is(value('SELECT count(*) FROM pg_stat_activity WHERE backend_type = $$dynamo_table launcher$$'), '1', 'and the server goes on');
fails($all, sprintf($message, $second, $third), $update, 'as sessions do');
value('ALTER EXTENSION dynamo_table UPDATE');
is(value($all), '100|5050', 'the extension is updated after that');
value(q{CALL dyn_setup_streams(); SELECT dyn_enable_stream('old', 'KEYS_ONLY')});
works('upgraded');
$node->stop;

done_testing();
