# I05, N05: an index comes to a large table while others write; crashes, cancels and missing workers in between lose nothing.
# DYN_TEST_ITEMS is the number of items: by default 50,000, whose table is larger than the 1,024 pages from which it is vacuumed meanwhile,
# and 300,000 in the long tests.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $items = $ENV{DYN_TEST_ITEMS} // ($ENV{DYNAMO_TABLE_STRESS_SECONDS} ? 300000 : 50000);
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', q{
	max_connections = 40
	log_statement = none
	restart_after_crash = on
	max_wal_size = 2GB
	synchronous_commit = on
});
$node->start;
$node->safe_psql('postgres', "CREATE EXTENSION dynamo_table; CREATE EXTENSION amcheck; SELECT dyn_create_table('app', 'pk S', 'sk S')");
$node->safe_psql('postgres', qq{
	INSERT INTO app (item) SELECT jsonb_build_object('pk', 'p' || i % 10000, 'sk', 's' || i, 'GSI1PK', 'g' || i % 1000, 'GSI1SK', i,
		'GSI2PK', 'h' || i % 7, 'pad', repeat(md5(i::text), 5)) FROM generate_series(1, $items) i});

sub value
{
	my ($sql) = @_;
	return $node->safe_psql('postgres', $sql);
}

# A statement in a session of its own.
sub begin
{
	my ($sql) = @_;
	my %session = (out => '', err => '');
	$session{harness} = IPC::Run::start([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-c', $sql ],
		'>', \$session{out}, '2>', \$session{err});
	return \%session;
}

# Returns whether it went well.
sub end
{
	my ($session) = @_;
	return eval { $session->{harness}->finish };
}

sub status
{
	my ($index) = @_;
	return value(qq{SELECT i ->> 'IndexStatus' FROM jsonb_array_elements(dyn_describe_table('app') -> 'GlobalSecondaryIndexes') i
		WHERE i ->> 'IndexName' = '$index'});
}

# Table and index agree, and the index has what a btree must have.
sub check_index
{
	my ($name, $index, @keys) = @_;
	is(status($index), 'ACTIVE', "$name: active");
	my $all = join ' AND ', map { qq{item ? '$_'} } @keys;
	my $columns = join ' AND ', map { qq{"$_" IS NOT NULL} } @keys;
	my $wrong = join ' OR ', map { qq{"$_"::text IS DISTINCT FROM item ->> '$_'} } @keys;
	is(value("SELECT count(*) FROM app WHERE $wrong"), 0, "$name: columns are what the items say");
	is(value("SET enable_seqscan = off; SELECT count(*) FROM app WHERE $columns"), value("SELECT count(*) FROM app WHERE $all"),
		"$name: as many entries as items");
	is(value("SELECT count(*) FROM pg_index WHERE indrelid = 'app'::regclass AND NOT (indisvalid AND indisready AND indislive)"), 0, "$name: nothing half built");
	my ($rc, $out, $err) = $node->psql('postgres', "SELECT bt_index_check(indexrelid, true) FROM pg_index WHERE indrelid = 'app'::regclass");
	is($err, '', "$name: btrees are complete");
}

# While pgbench writes; no session may wait for long.
my $pages = value("SELECT pg_relation_size('app')");
{
	local $ENV{PGOPTIONS} = '-c lock_timeout=10s';
	my $load = start_load($node, 4, 3600, qq{
\\set i random(1, $items)
\\set g random(1, 1000)
SELECT dyn_update('app', jsonb_build_object('pk', 'p' || :i % 10000, 'sk', 's' || :i), 'SET GSI1SK = :v', vals => jsonb_build_object(':v', :g));
SELECT dyn_put('app', jsonb_build_object('pk', 'load', 'sk', gen_random_uuid(), 'GSI1PK', 'g' || :g, 'GSI1SK', :i));
INSERT INTO app (item) SELECT jsonb_build_object('pk', 'sql', 'sk', gen_random_uuid(), 'GSI1PK', 'g' || :g);
});
	wait_for($node, q{SELECT count(*) > 100 FROM app WHERE pk = 'load'});
	my $build = begin(q{CALL dyn_create_index('app', 'GSI1', 'GSI1PK S', 'GSI1SK N')});
	wait_for($node, q{SELECT count(*) > 0 FROM dyn_jobs WHERE kind = 'index' AND step = 'filling columns' AND percent > 0 AND relation = 'app'::regclass});
	ok(end($build), 'built under load') or diag($build->{err});
	like($build->{err}, qr/NOTICE:  index "GSI1" of table "app" is active/, 'says so');
	stop_load($load);
	my $transactions = finish_load($load);
	ok(defined $transactions, 'no writer waited or failed') or diag($load->{err});
	is(value(q{SELECT count(*) FROM app WHERE pk = 'load'}), $transactions, 'every write is there');
}
check_index('under load', 'GSI1', 'GSI1SK');
# VACUUM after each part lets the space of old rows be used again. How much of it depends on the writers' snapshots: the
# table was 1.2 times as large on an idle machine, 1.5 on a busy one, and 1.7 where a snapshot kept all old rows.
cmp_ok(value("SELECT vacuum_count FROM pg_stat_user_tables WHERE relname = 'app'"), '>=', 4, 'vacuumed while its columns were filled');
cmp_ok(value("SELECT pg_relation_size('app')"), '<', 1.8 * $pages * value('SELECT count(*) FROM app') / $items, 'the table has not doubled');

# kill -9 in the backfill; writers know what was acknowledged
my @writers = map {
	my $n = $_;
	my $file = $node->basedir . "/writer$n.sql";
	append_to_file($file, join '', map { "SELECT $_ FROM dyn_put('app', jsonb_build_object('pk', 'w$n', 'sk', '$_', 'GSI2PK', 'w$n'));\n" } 1 .. 100000);
	my %writer = (out => '', err => '');
	$writer{harness} = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-f', $file ], '>', \$writer{out}, '2>', \$writer{err});
	\%writer;
} 1 .. 2;
my $call = q{CALL dyn_create_index('app', 'GSI2', 'GSI2PK S', projection => 'KEYS_ONLY')};
my $build = begin($call);
wait_for($node, q{SELECT count(*) > 0 FROM dyn_jobs WHERE step = 'filling columns' AND percent > 20});
crash($node);
ok(!end($build), 'the call ended with the server');
is(status('GSI2'), 'CREATING', 'after a crash in the backfill: still in the making');
my $filled = value('SELECT count("GSI2PK") FROM app');
cmp_ok($filled, '>', 0, 'a part is filled');
cmp_ok($filled, '<', $items, 'and a part is not');

# kill -9 for the worker in the build, which another session's snapshot holds up: all sessions go
my $holder = begin('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1; SELECT pg_sleep(600)');
wait_for($node, q{SELECT count(*) > 0 FROM pg_stat_activity WHERE query LIKE 'BEGIN ISO%' AND backend_xmin IS NOT NULL AND wait_event = 'PgSleep'});
$build = begin($call);
my $worker = q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'dynamo_table index' AND wait_event = 'virtualxid'
	AND query LIKE 'CREATE INDEX CONCURRENTLY%'};
wait_for($node, "SELECT count(*) > 0 FROM ($worker) w");
is(value('SELECT kind, step FROM dyn_jobs'), 'index|building', 'the progress says so');
kill 'KILL', value($worker);
ok(!end($build), 'the call ended with its worker');
end($holder);
wait_until_up($node);
is(status('GSI2'), 'CREATING', 'after a crash in the build: still in the making');
is(value(q{SELECT count(*) FROM pg_index WHERE indrelid = 'app'::regclass AND NOT indisvalid}), 1, 'the btree is not valid');
$node->safe_psql('postgres', $call);
for my $n (1 .. 2)
{
	end($writers[ $n - 1 ]);
	my @lines = grep { /^\d+$/ } split /\n/, $writers[ $n - 1 ]{out};
	my $last = @lines ? $lines[-1] : 0;
	cmp_ok($last, '>', 0, "writer $n wrote");
	is(value(qq{SET enable_seqscan = off; SELECT count(*) FROM app WHERE "GSI2PK" = 'w$n' AND sk::int <= $last}), $last,
		"writer $n: all $last acknowledged items are in the index");
}
is(value(q{SELECT count(*) FROM app WHERE "GSI2PK" IS DISTINCT FROM item ->> 'GSI2PK'}), 0, 'columns are what the items say');
check_storage($node, 'after crashes');
$node->safe_psql('postgres', q{CALL dyn_drop_index('app', 'GSI2')});
is(status('GSI2'), '', 'dropped');

# A small table from here on.  A cancel, or the end of the worker or the caller, in the build: nothing stays behind running.
$node->safe_psql('postgres', q{DROP TABLE app; SELECT dyn_create_table('app', 'pk S', 'sk S');
	INSERT INTO app (item) SELECT jsonb_build_object('pk', 'p' || i % 10, 'sk', i::text, 'GSI2PK', 'h' || i % 7) FROM generate_series(1, 5000) i});
for my $way (
	[ 'cancel', 'SELECT pg_cancel_backend(pids[1]) FROM dyn_jobs', qr/canceling statement due to user request/ ],
	[ 'end of the session', 'SELECT pg_terminate_backend(pids[1]) FROM dyn_jobs', qr/terminating connection due to administrator command/ ],
	[ 'cancel of the worker', "SELECT pg_cancel_backend(pid) FROM ($worker) w", qr/ERROR:  canceling statement due to user request/ ],
	[ 'end of the worker', "SELECT pg_terminate_backend(pid) FROM ($worker) w", qr/ERROR:  terminating background worker/ ])
{
	my ($name, $sql, $error) = @$way;
	$holder = begin('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1; SELECT pg_sleep(600)');
	wait_for($node, q{SELECT count(*) > 0 FROM pg_stat_activity WHERE query LIKE 'BEGIN ISO%' AND backend_xmin IS NOT NULL AND wait_event = 'PgSleep'});
	$build = begin($call);
	wait_for($node, "SELECT count(*) > 0 FROM ($worker) w");
	value($sql);
	ok(!end($build), "$name: the call fails");
	like($build->{err}, $error, "$name: with the error");
	is(value(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'dynamo_table index'}), 0, "$name: no worker is left");
	is(value('SELECT count(*) FROM dyn_jobs'), 0, "$name: no progress is left");
	is(status('GSI2'), 'CREATING', "$name: still in the making");
	value(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'BEGIN ISO%'});
	end($holder);
}
$node->safe_psql('postgres', $call);
check_index('after cancels', 'GSI2', 'GSI2PK');

# Time to live is told from an index.
$holder = begin('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1; SELECT pg_sleep(600)');
wait_for($node, q{SELECT count(*) > 0 FROM pg_stat_activity WHERE query LIKE 'BEGIN ISO%' AND backend_xmin IS NOT NULL AND wait_event = 'PgSleep'});
$build = begin(q{CALL dyn_enable_ttl('app', 'expires')});
wait_for($node, "SELECT count(*) > 0 FROM ($worker) w");
is(value('SELECT job, kind, relation, name, number, step, state, rows_done, rows_expected, problems, sessions FROM dyn_jobs'),
	'|time to live|app||6|building|running|0||0|1', 'time to live: the progress says so');
value(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'BEGIN ISO%'});
end($holder);
ok(end($build), 'time to live: it is built');

# Rows of a batch are found by their blocks
$node->safe_psql('postgres', q{CALL dyn_drop_index('app', 'GSI2')});
my ($rc, $out, $err) = $node->psql('postgres', qq{
	LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; SET auto_explain.log_nested_statements = on; SET auto_explain.log_level = notice;
	SET enable_tidscan = off; SET jit_above_cost = 0;
	$call});
my @plans = grep { m{Query Text: (/\* of relation \d+ \*/ )?(UPDATE|SELECT pg_catalog.count)} } split /NOTICE:  duration/, $err;
cmp_ok(scalar(grep { m{Query Text: (/\* of relation \d+ \*/ )?UPDATE} } @plans), '>', 1, 'plans were logged');
is(scalar(grep { !/Tid Range Scan/ || /Seq Scan|Index Scan|Bitmap/ } @plans), 0, 'all read by ranges of blocks')
  or diag((grep { /Seq Scan|Index Scan|Bitmap/ } @plans)[0]);
$node->safe_psql('postgres', q{CALL dyn_drop_index('app', 'GSI2')});

# A table that is in use all the time: locked for a moment between two others
my $user = $node->background_psql('postgres');
$user->query_safe(q{BEGIN; SELECT pk FROM app LIMIT 1});
$build = begin($call);
wait_for($node, q{SELECT count(*) > 0 FROM pg_locks WHERE relation = 'app'::regclass AND NOT granted});
is($node->psql('postgres', q{SET lock_timeout = '1min'; SELECT dyn_put('app', '{"pk":{"S":"meanwhile"},"sk":{"S":"1"},"GSI2PK":{"S":"m"}}')}), 0,
	'a write passes a build that waits');
is(value(q{SELECT count(*) FROM pg_attribute WHERE attrelid = 'app'::regclass AND attname = 'GSI2PK'}), 0, 'which still waits');
$user->query_safe('COMMIT');
$user->quit;
ok(end($build), 'and gets its turn');
$node->safe_psql('postgres', q{CALL dyn_drop_index('app', 'GSI2')});

# A role without LOGIN, of a session that was given to it
$node->safe_psql('postgres', q{CREATE ROLE nologin; GRANT ALL ON SCHEMA public TO nologin; ALTER TABLE app OWNER TO nologin});
($rc, $out, $err) = $node->psql('postgres', "SET SESSION AUTHORIZATION nologin; $call");
if ($node->pg_version < 17)
{
	like($err, qr/role "nologin" is not permitted to log in.*background worker that connects as the session's user/s,
		'the worker has no more rights than the session');
}
else
{
	is($rc, 0, 'the worker connects as a role without LOGIN');
}
$node->safe_psql('postgres', "SET ROLE nologin; $call") if $rc;
is(value(q{SELECT relowner::regrole FROM pg_class WHERE relname = 'app_GSI2'}), 'nologin', 'the btree belongs to the owner of the table');
check_index('by a role', 'GSI2', 'GSI2PK');

# No worker to be had: the error says what to run
$node->safe_psql('postgres', q{CALL dyn_drop_index('app', 'GSI2'); ALTER TABLE app OWNER TO CURRENT_USER});
$node->append_conf('postgresql.conf', 'max_worker_processes = 0');
$node->restart;
($rc, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\n$call");
like($err, qr/ERROR:  53400: no background worker is free/, 'no worker: an error');
my ($statement) = $err =~ /call dyn_create_index again: (CREATE INDEX .*)$/m;
ok(defined $statement, 'with the statement') or diag($err);
$node->safe_psql('postgres', $statement);
is(status('GSI2'), 'CREATING', 'run by hand');
$node->safe_psql('postgres', $call);
check_index('by hand', 'GSI2', 'GSI2PK');
($rc, $out, $err) = $node->psql('postgres', q{CALL dyn_drop_index('app', 'GSI2')});
($statement) = $err =~ /call dyn_drop_index again: (DROP INDEX .*)$/m;
ok(defined $statement, 'and for the drop') or diag($err);
$node->safe_psql('postgres', $statement);
$node->safe_psql('postgres', q{CALL dyn_drop_index('app', 'GSI2')});
is(status('GSI2'), '', 'dropped');

done_testing();
