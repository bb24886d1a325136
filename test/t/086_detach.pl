# dyn_detach(): what is left needs nothing of the extension to be dumped, restored, read and written; and who uses the
# table meanwhile waits, and then works or fails clearly.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(allows_streaming => 'logical');
$node->append_conf('postgresql.conf', "max_replication_slots = 4\nmax_connections = 20");
allow_plugin($node);
$node->start;

sub value
{
	my ($sql, $dbname) = @_;
	return $node->safe_psql($dbname // 'postgres', $sql);
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

sub refused
{
	my ($sql) = @_;
	my ($code, $out, $err) = $node->psql('postgres', $sql);
	return $err;
}

# One session holds what another one waits for, until it is told to let go.
sub hold
{
	my $holder = begin('SELECT pg_advisory_lock(1); SELECT pg_sleep(600)');
	wait_for($node, q{SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND (classid, objid) = (0, 1) AND granted});
	return $holder;
}

sub let_go
{
	my ($holder) = @_;
	value(q{SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND (classid, objid) = (0, 1) AND granted});
	end($holder);
}

sub check_all
{
	my ($store) = @_;

	value(qq{
		DROP EXTENSION IF EXISTS dynamo_table CASCADE;
		CREATE EXTENSION dynamo_table;
		ALTER DATABASE postgres SET dynamo_table.direct_store = $store;
		DROP TABLE IF EXISTS app, shop CASCADE});
	value(q{
		SELECT dyn_create_table('app', 'pk S', 'sk N', global_indexes => '{"GSI1": {"partition_key": "g S", "covering": true}}');
		SELECT dyn_put('app', jsonb_build_object('pk', 'p' || i % 10, 'sk', i, 'g', 'g' || i % 3, 'pad', repeat('x', i), 'more', jsonb_build_array(i, null, true)))
			FROM generate_series(1, 500) i;
		SELECT dyn_create_table('shop', 'pk S', 'sk S');
		SELECT dyn_create_entity('shop', 'Order', '{"pk": "C#<Email>", "sk": "O#<Number:05>"}', '{"Email": "S text", "Number": "N integer", "Total": "N numeric"}');
		SELECT dyn_put_entity('shop', 'Order', jsonb_build_object('Email', 'e' || i % 7, 'Number', i, 'Total', i / 7.0::numeric)) FROM generate_series(1, 300) i;
		SELECT dyn_create_entity_view('shop', 'Order');
		CREATE SCHEMA IF NOT EXISTS kept;
		DROP TABLE IF EXISTS kept.app, kept.shop;
		CREATE TABLE kept.app AS SELECT pk, sk, g, item::jsonb AS item FROM app;
		CREATE TABLE kept.shop AS SELECT * FROM "Order"});
	my $oids = value(q{SELECT 'app'::regclass::oid, 'shop'::regclass::oid, '"Order"'::regclass::oid});

	# A writer's transaction is waited for, and nobody waits behind the call meanwhile.
	value(q{SELECT dyn_put('app', '{"pk": "w", "sk": 1}'::jsonb)});
	my $holder = hold();
	my $writer = begin(q{BEGIN; SELECT dyn_put('app', '{"pk": "w", "sk": 2}'::jsonb); SELECT pg_advisory_xact_lock(1); COMMIT});
	wait_for($node, q{SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND (classid, objid) = (0, 1) AND NOT granted});
	my $detach = begin(q{SELECT count(*) FROM dyn_detach('app')});
	wait_for($node, q{SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE '%dyn_detach(_app%' AND pid <> pg_backend_pid() AND state = 'active'});
	value(q{SET lock_timeout = '60s'; SELECT dyn_put('app', '{"pk": "w", "sk": 3}'::jsonb)});
	is(value(q{SELECT amname FROM pg_class c JOIN pg_am a ON a.oid = relam WHERE c.oid = 'app'::regclass}), 'dynamo_table',
		"$store: it waits for the writer, who is not in the way of others");
	let_go($holder);
	ok(end($writer), "$store: a writer that was first") or diag($writer->{err});
	ok(end($detach), "$store: detached after it") or diag($detach->{err});
	is(value(q{SELECT count(*), count(*) FILTER (WHERE pk = 'w') FROM app}), '503|3', "$store: all items");
	is(value(q{SELECT count(*) FROM kept.app JOIN app USING (pk, sk, g, item)}), 500, "$store: row by row");

	# Who comes while the table is rewritten waits, and finds an ordinary table.
	$holder = hold();
	$detach = begin(q{BEGIN; SELECT count(*) FROM dyn_detach('shop', 'columns'); SELECT pg_advisory_xact_lock(1); COMMIT});
	wait_for($node, q{SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND (classid, objid) = (0, 1) AND NOT granted});
	my %waits = (
		put => q{SELECT dyn_put('shop', '{"pk": "a", "sk": "b"}'::jsonb)},
		item => q{INSERT INTO shop (item) VALUES ('{"pk": "a", "sk": "b"}')},
		row => q{INSERT INTO shop (pk, sk, item) VALUES ('a', 'b', '{}')},
		entity => q{SELECT dyn_update_entity('shop', 'Order', '{"Email": "e1", "Number": 1}'::jsonb, 'SET #t = :t', names => '{"#t": "Total"}',
			vals => '{":t": 1}'::jsonb)},
		view => q{UPDATE "Order" SET "Total" = 0 WHERE "Number" = 2},
		read => q{SELECT sum("Number") FROM "Order"},
		query => q{SELECT count(*) FROM dyn_query('shop', 'pk = :p', vals => '{":p": "C#e1"}'::jsonb)});
	my %sessions = map { $_ => begin($waits{$_}) } keys %waits;
	wait_for($node, 'SELECT count(*) = ' . keys(%waits) . q{ FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND wait_event = 'relation'});
	let_go($holder);
	ok(end($detach), "$store: into columns") or diag($detach->{err});
	my %ended = map { $_ => end($sessions{$_}) } keys %sessions;
	ok($ended{$_}, "$store: $_ works afterwards") or diag($sessions{$_}{err}) for qw(row view read);
	is($sessions{read}{out}, "45150\n", "$store: what was read");
	like($sessions{$_}{err}, qr/"shop" is not a table of items/, "$store: $_ fails afterwards") for qw(put entity query);
	like($sessions{item}{err}, qr/null value in column "pk"/, "$store: item fails afterwards");
	is(value(q{SELECT "Total" FROM "Order" WHERE "Number" = 2}), 0, "$store: written by the view");
	is(value(q{SELECT count(*) FROM kept.shop JOIN "Order" USING ("Email", "Number", "Total")}), 299, "$store: the other rows are equal");
	is(value(q{SELECT 'app'::regclass::oid, 'shop'::regclass::oid, '"Order"'::regclass::oid}), $oids, "$store: the same relations");

	# Nothing of the extension is needed any more.
	value('DROP EXTENSION dynamo_table');
	is(value(q{SELECT count(*) FROM app WHERE pk = 'p1' AND sk < 100}), 10, "$store: read without the extension");
	value(q{UPDATE app SET item = item || '{"new": 1}' WHERE pk = 'p1' AND sk = 1; INSERT INTO app (pk, sk, item) VALUES ('z', 1, '{}'); DELETE FROM app
		WHERE pk = 'z'});
	value('VACUUM FULL app; VACUUM shop; REINDEX TABLE app');
	my $dump = $node->basedir . "/$store.sql";
	$node->command_ok([ 'pg_dump', '-f', $dump, 'postgres' ], "$store: dump");
	unlike(slurp_file($dump), qr/dyn|extension/i, "$store: the dump names nothing of the extension");
	value(qq{CREATE DATABASE "$store" TEMPLATE template0});
	$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $dump, $store ], "$store: restore");
	my $sum = q{SELECT (SELECT md5(string_agg(app::text, ',' ORDER BY pk, sk)) FROM app), (SELECT md5(string_agg(o::text, ',' ORDER BY "Number")) FROM "Order" o)};
	is(value($sum, $store), value($sum), "$store: restored");
}

# "on" and "off" are words of SQL, and name databases all the same
check_all($_) for qw(on off);

# A change stream has to be disabled first.
value(q{CREATE EXTENSION dynamo_table; SELECT dyn_create_table('streamed', 'pk S')});
value('CALL dyn_setup_streams()');
value(q{SELECT dyn_enable_stream('streamed', 'NEW_AND_OLD_IMAGES')});
like(refused(q{SELECT dyn_detach('streamed')}), qr/a change stream is enabled; call dyn_disable_stream\(\)/, 'a stream is refused');
value(q{SELECT dyn_disable_stream('streamed')});
like(value(q{SELECT dyn_detach('streamed')}), qr/^-- Records of past change streams/m, 'past streams are told');
is(value(q{SELECT relreplident FROM pg_class WHERE relname = 'streamed'}), 'd', 'the replica identity is as before the stream');
value('CALL dyn_teardown_streams()');
value('DROP EXTENSION dynamo_table');

# An index that is being made.
value(q{CREATE EXTENSION dynamo_table; SELECT dyn_create_table('built', 'pk S')});
my $snapshot = begin('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1; SELECT pg_sleep(600)');
wait_for($node, q{SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND backend_xmin IS NOT NULL});
my $build = begin(q{CALL dyn_create_index('built', 'GSI1', 'g S')});
wait_for($node, q{SELECT count(*) > 0 FROM dyn_jobs WHERE relation = 'built'::regclass});
like(refused(q{SELECT dyn_detach('built')}), qr/ERROR/, 'an index is being made');
like(value(q{SELECT dyn_detach('built', dry_run => true)}), qr/^-- Refused: index "GSI1" is CREATING/m, 'and that is told');
value(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'});
end($snapshot);
ok(end($build), 'made') or diag($build->{err});
value(q{SELECT dyn_detach('built')});
$node->stop;
done_testing();
