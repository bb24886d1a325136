# Modules that watch statements.  pg_stat_statements and auto_explain measure the call as the client
# has sent it, and no more: the store stays what it is.  A module that has a say in permissions, such
# as pgaudit, makes every call statements, and so it sees each of them.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

sub has_library
{
	return -e configured('pkglibdir') . "/$_[0].so";
}

my $permissions = build_library('neighbour/permissions.c');

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nlog_statement = none");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION dynamo_table;
	SELECT dyn_create_table('app', 'pk S', 'sk S', global_indexes => '{"GSI1": {"partition_key": "g S"}}');
	CREATE TABLE audit (pk text);
	SELECT dyn_create_table('watched', 'pk S');
	CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO audit VALUES (NEW.pk); RETURN NULL; END $$;
	CREATE TRIGGER audit AFTER INSERT ON watched FOR EACH ROW EXECUTE FUNCTION audit();
	SET client_min_messages = error;
	CALL dyn_enable_ttl('app', 'expires');
});

# What a session says to statements, after settings.
sub said
{
	my ($settings, $statements) = @_;
	my ($out, $err);
	IPC::Run::run([ 'psql', '-XAtq', '-d', $node->connstr('postgres') ], '<', \"$settings;\n$statements;", '>', \$out, '2>&1');
	return $out;
}

sub preload
{
	$node->append_conf('postgresql.conf', "shared_preload_libraries = '$_[0]'");
	$node->restart;
}

my $store = q{SELECT string_agg(DISTINCT store, ' ') FROM dyn_explain('app', 'pk = :p', vals => '{":p":{"S":"a"}}')};

# Each call, and the privileges that a module is asked for.
my @calls = (
	[ q{SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"S":"a"},"g":{"S":"g"}}')}, 'INSERT', 'WRITE' ],
	[ q{SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"S":"a"}}', 'attribute_exists(pk)', return_values => 'ALL_OLD')}, 'UPDATE', 'WRITE' ],
	[ q{SELECT dyn_update('app', '{"pk":{"S":"a"},"sk":{"S":"a"}}', 'ADD n :n', vals => '{":n":{"N":"1"}}')}, 'UPDATE', 'WRITE' ],
	[ q{SELECT dyn_get('app', '{"pk":{"S":"a"},"sk":{"S":"a"}}')}, 'SELECT', 'READ' ],
	[ q{SELECT count(*) FROM dyn_query('app', 'pk = :p', vals => '{":p":{"S":"a"}}')}, 'SELECT', 'READ' ],
	[ q{SELECT count(*) FROM dyn_query('app', 'g = :p', vals => '{":p":{"S":"g"}}', index_name => 'GSI1')}, 'SELECT', 'READ' ],
	[ q{SELECT count(*) FROM dyn_scan('app')}, 'SELECT', 'READ' ],
	[ q{SELECT count(*) FROM dyn_batch_get('app', '[{"pk":{"S":"a"},"sk":{"S":"a"}}]')}, 'SELECT', 'READ' ],
	[ q{SELECT count(*) FROM dyn_transact_get('[{"Get": {"TableName": "app", "Key": {"pk":{"S":"a"},"sk":{"S":"a"}}}}]')}, 'SELECT', 'READ' ],
	[ q{SELECT dyn_batch_write('app', '[{"pk":{"S":"a"},"sk":{"S":"b"}},{"pk":{"S":"a"},"sk":{"S":"c"}}]', NULL)}, 'INSERT', 'WRITE' ],
	[ q{SELECT dyn_batch_write('app', NULL, '[{"pk":{"S":"a"},"sk":{"S":"b"}}]')}, 'DELETE', 'WRITE' ],
	[ q{SELECT dyn_transact('[{"Put": {"TableName": "app", "Item": {"pk":{"S":"a"},"sk":{"S":"d"}}}}]')}, 'INSERT', 'WRITE' ],
	[ q{SELECT dyn_transact('[{"Delete": {"TableName": "app", "Key": {"pk":{"S":"a"},"sk":{"S":"d"}}}}]')}, 'DELETE', 'WRITE' ],
	[ q{SELECT dyn_transact('[{"ConditionCheck": {"TableName": "app", "Key": {"pk":{"S":"a"},"sk":{"S":"z"}},
		"ConditionExpression": "attribute_not_exists(pk)"}}]')}, 'SELECT', 'READ' ],
	[ q{SELECT dyn_delete('app', '{"pk":{"S":"a"},"sk":{"S":"a"}}', return_values => 'ALL_OLD')}, 'DELETE', 'WRITE' ],
	[ q{SELECT written FROM dyn_import_lines('app', format('{"pk":{"S":"a"},"sk":{"S":"e"},"expires":{"N":"%s"}}', extract(epoch FROM now())::bigint - 100))},
		'INSERT', 'WRITE' ],
	[ q{CALL dyn_backfill('app', 'ADD n :n', 'pk = :p', vals => '{":n":{"N":"1"},":p":{"S":"a"}}')}, 'UPDATE', 'WRITE' ],
	[ q{SELECT count(*) FROM dyn_export('app')}, 'SELECT', 'READ' ],
	[ q{CALL dyn_sweep_ttl('app')}, 'DELETE', 'WRITE' ]);

# Nobody watches: which calls are served without statements is what the rest is compared with.
is(said('', $store), "direct\n", 'the direct store serves the table');

SKIP:
{
	skip 'the server lacks pg_stat_statements or auto_explain', 1 if !has_library('pg_stat_statements') || !has_library('auto_explain');
	preload('pg_stat_statements, auto_explain');
	$node->safe_psql('postgres', 'CREATE EXTENSION pg_stat_statements');
	is(said('', $store), "direct\n", 'modules that measure leave the store alone');

	my $put = q{SELECT dyn_put('app', '{"pk":{"S":"s"},"sk":{"S":"s"}}')};
	my $watched = q{SELECT dyn_put('watched', '{"pk":{"S":"s"}}')};
	for my $case ([ 'on', 'direct store' ], [ 'off', 'SPI store' ])
	{
		my ($direct, $name) = @$case;
		for my $track (qw(top all))
		{
			$node->safe_psql('postgres', 'SELECT pg_stat_statements_reset(); DELETE FROM app; DELETE FROM watched');
			said("SET pg_stat_statements.track = '$track'; SET dynamo_table.direct_store = $direct", "$put;$put;$watched");
			my $statements = "FROM pg_stat_statements WHERE query";
			is($node->safe_psql('postgres', "SELECT calls, rows, total_exec_time > 0, shared_blks_hit + shared_blks_read + shared_blks_dirtied > 0, wal_records > 0,
				wal_bytes > 100 $statements ~ 'dyn_put..1' AND toplevel"),
				'3|3|t|t|t|t', "$name, track = $track: the call has its time, pages and WAL");
			is($node->safe_psql('postgres', "SELECT count(*) > 0 $statements ~ 'INTO public.app'"), $direct eq 'off' && $track eq 'all' ? 't' : 'f',
				"$name, track = $track: statements inside");
			is($node->safe_psql('postgres', "SELECT count(*) $statements ~ 'INTO audit'"), $track eq 'all' ? '1' : '0',
				"$name, track = $track: statements of a trigger");
		}
		for my $nested (qw(off on))
		{
			my $explained = said("SET client_min_messages = log; SET auto_explain.log_min_duration = 0; SET auto_explain.log_analyze = on;
				SET auto_explain.log_buffers = on; SET auto_explain.log_wal = on; "
				  . "SET auto_explain.log_nested_statements = $nested; SET dynamo_table.direct_store = $direct", "DELETE FROM app;\n$put;\nDELETE FROM watched;\n$watched");
			like($explained, qr/Query Text: SELECT dyn_put\('app'.*\n.*Result .*actual time=.*\n.*Buffers: shared hit=\d+.*\n.*WAL: records=\d+/,
				"$name, nested $nested: the plan of the call has its time, pages and WAL");
			my $inside = $nested eq 'on' ? 1 : 0;
			is($explained =~ /Insert on public\.app|Insert on app/ ? 1 : 0, $direct eq 'off' ? $inside : 0, "$name, nested $nested: plans inside");
			is($explained =~ /Insert on audit/ ? 1 : 0, $inside, "$name, nested $nested: plans of a trigger");
		}
	}
}

# A module that has a say in permissions is asked for each call, whatever the setting says.
preload($permissions);
is(said('SET dynamo_table.direct_store = on; SET client_min_messages = warning', $store), "sql\n", 'a module that has a say in permissions: statements');
is(said('SET dynamo_table.direct_store = on; SET client_min_messages = warning',
	q{SELECT store_reason, write_store_reason FROM dyn_explain('app', max_items => 1)}),
	"a module checks permissions|a module checks permissions\n", 'dyn_explain says why');
for my $call (@calls)
{
	my ($statement, $privilege) = @$call;
	my $asked = said('SET dynamo_table.direct_store = on', $statement);
	like($asked, qr/^NOTICE:  permission on app:[A-Z ]* $privilege\b/m, "it is asked: $statement");
	unlike($asked, qr/ERROR/, "no error: $statement");
}

SKIP:
{
	skip 'the server lacks pgaudit', 1 if !has_library('pgaudit');
	preload('pgaudit');
	$node->safe_psql('postgres', q{
		CREATE EXTENSION pgaudit;
		CREATE ROLE auditor;
		GRANT DELETE ON app TO auditor;
		DELETE FROM app;
	});
	my $settings = "SET dynamo_table.direct_store = on; SET pgaudit.log_client = on; SET pgaudit.log_level = notice";
	is(said("$settings", $store), "sql\n", 'pgaudit: statements');
	my $session = "$settings; SET pgaudit.log_relation = on; SET pgaudit.log = 'read, write, function'";
	for my $call (@calls)
	{
		my ($statement, $privilege, $class) = @$call;
		my ($function) = $statement =~ /(dyn_\w+)/;
		my $audited = said($session, $statement);
		like($audited, qr/AUDIT: SESSION,\d+,\d+,$class,$privilege,TABLE,public\.app,/, "the session's log has the statement: $statement");
		like($audited, qr/AUDIT: SESSION,\d+,\d+,FUNCTION,EXECUTE,FUNCTION,public\.$function,/, "and the call: $statement") if $statement =~ /^SELECT/;
	}
	my $object = "$settings; SET pgaudit.role = 'auditor'";
	my $put = said($object, $calls[0][0]);
	unlike($put, qr/AUDIT/, 'a write that the auditor is not told of');
	like(said($object, q{SELECT dyn_delete('app', '{"pk":{"S":"a"},"sk":{"S":"a"}}')}), qr/AUDIT: OBJECT,\d+,\d+,WRITE,DELETE,TABLE,public\.app,/,
		'the log of objects has what the auditor has a privilege for');
}

check_storage($node, 'in the end');
$node->stop;
done_testing();
