# The slot of change streams: made, lost, replaced, removed: docs/semantics.md, ST04, ST09, ST10.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $node;

sub value
{
	my ($sql, $dbname) = @_;
	return $node->safe_psql($dbname // 'postgres', $sql);
}

# What a statement says: notices, warnings, errors with their SQLSTATE.
sub says
{
	my ($sql, $dbname) = @_;
	my ($status, $out, $err) = $node->psql($dbname // 'postgres', "\\set VERBOSITY verbose\n$sql");
	return $err;
}

sub state
{
	my ($dbname) = @_;
	return value('SELECT state FROM dyn_stream_slots', $dbname);
}

sub gaps
{
	return value('SELECT count(*) FROM dynamo_internal.stream_gaps');
}

# Items that the slot has, as "INSERT a".
sub changes
{
	return value(q{SELECT string_agg((data::json ->> 'eventName') || ' ' || (data::json #>> '{dynamodb,Keys,pk,S}'), ' ')
		FROM pg_logical_slot_peek_changes((SELECT slot_name FROM dyn_stream_slots), NULL, NULL, 'only-streams', 'on')});
}

$node = PostgreSQL::Test::Cluster->new('main');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', q{
	max_replication_slots = 4
	max_wal_senders = 0
	wal_level = minimal
	max_slot_wal_keep_size = 32MB
	min_wal_size = 32MB
	max_wal_size = 32MB
	wal_keep_size = 0
	autovacuum = off
	log_statement = none
});
$node->start;
my $version = value('SHOW server_version_num');
value(q{CREATE EXTENSION dynamo_table;
	SELECT dyn_create_table('app', 'pk S'), dyn_create_table('other', 'pk S');
	CREATE ROLE nobody LOGIN; CREATE ROLE replicator LOGIN REPLICATION});

# What has to be there first.
is(state(), 'wal_level too low', 'wal_level too low');
like(says('CALL dyn_setup_streams()'), qr/ERROR:  55000: change streams need "wal_level" to be "(logical|replica)".*HINT/s, 'setup needs wal_level');
like(says(q{SELECT dyn_enable_stream('app', 'NEW_IMAGE')}), qr/ERROR:  YD001: .*change streams need "wal_level"/, 'enabling needs wal_level');
unlike(says('CALL dyn_teardown_streams()'), qr/ERROR/, 'teardown does not');
# From 19 on "replica" is enough: a slot makes the server write what decoding needs.
my $enough = $version < 190000 ? 'logical' : 'replica';
$node->append_conf('postgresql.conf', "max_wal_senders = 4\nwal_level = replica");
$node->restart;
is(state() eq 'wal_level too low' ? 'logical' : 'replica', $enough, 'the level that is enough');
$node->append_conf('postgresql.conf', "wal_level = $enough");
$node->restart;
SKIP:
{
	skip 'this minor lets any library be an output plugin', 3
	  unless value("SELECT current_setting('output_plugin_libraries', true) IS NOT NULL") eq 't';
	is(state(), 'plugin not allowed', 'plugin not allowed');
	like(says('CALL dyn_setup_streams()'), qr/ERROR:  55000: library "dynamo_table" may not be used as an output plugin\nHINT:.*"output_plugin_libraries"/,
		'setup needs the plugin');
	is(value('SET output_plugin_libraries = \'pgoutput\', \'dynamo_table\', \'x\'; SELECT state FROM dyn_stream_slots'), 'not set up', 'a list');
}
if (allow_plugin($node))
{
	$node->reload;
	wait_for($node, q{SELECT state = 'not set up' FROM dyn_stream_slots});
}
is(state(), 'not set up', 'not set up');
like(says('BEGIN; CALL dyn_setup_streams(); COMMIT'), qr/ERROR:  25001: dyn_setup_streams cannot run inside a transaction block/, 'not in a transaction block');
like(says("BEGIN; CALL dyn_${_}_streams()"), qr/ERROR:  25001: dyn_${_}_streams cannot/, "nor $_") for ('teardown');
like(says('SET default_transaction_read_only = on; CALL dyn_setup_streams()'), qr/ERROR:  25006/, 'not read-only');
like(says('SET ROLE nobody; CALL dyn_setup_streams()'),
	qr/ERROR:  42501: permission denied for procedure dyn_setup_streams\nDETAIL:  It is for roles with the REPLICATION/, 'not without REPLICATION');
if ($version < 170000)
{
	like(says('CALL dyn_setup_streams(failover => true)'), qr/ERROR:  0A000: failover slots need PostgreSQL 17\nHINT/, 'no failover slots here');
}
else
{
	value('CALL dyn_setup_streams(failover => true)');
	is(value('SELECT failover FROM dyn_stream_slots'), 't', 'a failover slot');
	value('SELECT pg_drop_replication_slot(slot_name) FROM dyn_stream_slots; ');
	value('CALL dyn_setup_streams(failover => true)');
	is(value('SELECT failover FROM dyn_stream_slots'), 't', 'and another one');
	value('SELECT pg_replication_slot_advance(slot_name, pg_current_wal_lsn()) FROM dyn_stream_slots');
	is(state(), 'slot ahead', 'advanced');
	value('CALL dyn_setup_streams()');
	is(value('SELECT failover FROM dyn_stream_slots'), 't', 'which stays one');
	value('CALL dyn_teardown_streams(); CALL dyn_setup_streams()');
	like(says('CALL dyn_setup_streams(failover => true)'), qr/ERROR:  55000: replication slot "dynamo_table_\d+" is there already, and not for failover/,
		'it is not changed');
	value('CALL dyn_teardown_streams()');
}
value("SELECT pg_create_physical_replication_slot('physical' || i) FROM generate_series(1, 4) i");
like(says('CALL dyn_setup_streams()'), qr/ERROR:  53400: all replication slots are in use/, 'not without a free slot');
is(value('SELECT count(*) FROM dynamo_internal.stream_gaps') . state(), '0not set up', 'nothing is left of that');
value("SELECT pg_drop_replication_slot('physical' || i) FROM generate_series(1, 4) i");

# Set up, by a role that owns nothing; twice; begun and not ended.
is(says('SET ROLE replicator; SET dynamo_table.direct_store = on; CALL dyn_setup_streams()') =~ /ERROR/, '', 'set up');
is(state(), 'ready', 'ready');
is(value('SELECT count(*) FROM dynamo_internal.stream_gaps, dyn_stream_slots WHERE after_lsn = \'0/0\' AND before_lsn = confirmed_lsn
	AND confirmed_lsn = collected_lsn'), '1', 'what was before is a gap');
like(says('CALL dyn_setup_streams()'), qr/NOTICE:  00000: change streams are set up already/, 'once is enough');
is(gaps(), '1', 'which changes nothing');
value('DELETE FROM dynamo_internal.stream_state');
is(state(), 'not set up', 'a slot without a row');
value('CALL dyn_setup_streams()');
is(state() . gaps(), 'ready1', 'is set up by the next call');
is(value('SELECT count(*) FROM pg_replication_slots'), '1', 'with one slot');
value('DELETE FROM dynamo_internal.stream_state');
value('CALL dyn_teardown_streams()');
is(value('SELECT count(*) FROM pg_replication_slots') . gaps(), '00', 'or goes by a teardown');

# Calls at the same time keep apart, and wait only for running transactions.
value('CALL dyn_setup_streams()');
my $session = $node->background_psql('postgres');
$session->query_safe(q{BEGIN; SELECT dyn_enable_stream('app', 'KEYS_ONLY')});
like(says("CALL dyn_${_}_streams()"), qr/ERROR:  YD009: change streams are being set up, enabled/, "$_ keeps off who enables")
  for ('setup', 'teardown');
value(q{SELECT dyn_enable_stream('other', 'KEYS_ONLY'); SELECT dyn_disable_stream('other')});
$session->query_safe('ROLLBACK');
value('CALL dyn_teardown_streams()');
$session->query_safe(q{BEGIN; INSERT INTO other (item) VALUES ('{"pk":{"S":"before"}}')});
like(says("SET statement_timeout = '200ms'; CALL dyn_setup_streams()"), qr/ERROR:  57014/, 'who waits can be cancelled');
is(value('SELECT count(*) FROM pg_replication_slots') . value("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") . state(), '00not set up',
	'and leaves nothing');
my $setup = IPC::Run::start([ 'psql', '-X', '-d', $node->connstr('postgres'), '-c', 'CALL dyn_setup_streams()' ], '>', \my $out, '2>', \my $err);
wait_for($node, q{SELECT count(*) = 1 FROM pg_stat_activity WHERE query = 'CALL dyn_setup_streams()' AND wait_event_type = 'Lock'});
like(says('CALL dyn_setup_streams()'), qr/ERROR:  YD009: change streams are being set up/, 'one setup at a time');
like(says(q{SELECT dyn_enable_stream('app', 'KEYS_ONLY')}), qr/ERROR:  YD009: change streams are being set up/, 'and nothing is enabled meanwhile');
$session->query_safe('COMMIT');
ok($setup->finish, 'it ends with the transaction') or diag($err);
is(state(), 'ready', 'ready again');
value('DELETE FROM other');

# ST10: a change is in the stream if it is made after that was enabled, in whatever transaction.
my $writer = $node->background_psql('postgres');
$writer->query_safe(q{BEGIN; INSERT INTO app (item) VALUES ('{"pk":{"S":"early"}}')});
my $enabling = IPC::Run::start([ 'psql', '-X', '-d', $node->connstr('postgres'), '-c', q{SELECT dyn_enable_stream('app', 'NEW_AND_OLD_IMAGES')} ], '>', \$out,
	'2>', \$err);
wait_for($node, q{SELECT count(*) = 1 FROM pg_locks WHERE relation = 'app'::regclass AND NOT granted});
$session->query_safe(q{BEGIN ISOLATION LEVEL REPEATABLE READ; INSERT INTO other (item) VALUES ('{"pk":{"S":"elsewhere"}}')});
$writer->query_safe('COMMIT');
ok($enabling->finish, 'who enables waits for writers') or diag($err);
$session->query_safe(q{INSERT INTO app (item) VALUES ('{"pk":{"S":"straddling"}}'); COMMIT});
value(q{SELECT dyn_put('app', '{"pk":{"S":"late"}}'); SELECT dyn_put('app', '{"pk":{"S":"early"},"a":{"N":"1"}}')});
value(q{BEGIN; SELECT dyn_put('app', '{"pk":{"S":"same"}}'); SELECT dyn_disable_stream('app'); SELECT dyn_put('app', '{"pk":{"S":"gone"}}'); COMMIT;
	SELECT dyn_put('app', '{"pk":{"S":"after"}}')});
is(changes(), 'INSERT straddling INSERT late MODIFY early INSERT same', 'what was written while it was enabled');
value(q{SELECT dyn_enable_stream('app', 'NEW_AND_OLD_IMAGES')});

# Slots that are missing, advanced, in use, lost.
sub broken
{
	my ($name, $state) = @_;
	my $collected = value('SELECT collected_lsn FROM dyn_stream_slots');
	my $before = gaps();
	is(state(), $state, "$name: $state");
	like(says(q{SELECT dyn_enable_stream('other', 'KEYS_ONLY')}), qr/ERROR:  YD001: .*broken: $state/, "$name: nothing can be enabled");
	like(says('SET ROLE replicator; CALL dyn_setup_streams()'), qr/WARNING:  01000: changes committed from $collected to before \S+ are in no stream/,
		"$name: setup says what is missing");
	is(state(), 'ready', "$name: ready again");
	is(gaps(), $before + 1, "$name: a gap");
	is(value("SELECT count(*) FROM dynamo_internal.stream_gaps, dyn_stream_slots WHERE after_lsn = '$collected' AND before_lsn = collected_lsn
		AND collected_lsn = confirmed_lsn AND noticed > ALL (SELECT enabled_at FROM dyn_streams)"),
		'1', "$name: from what was collected to the new slot");
	value(qq{SELECT dyn_put('app', '{"pk":{"S":"$name"}}')});
	is(changes(), "INSERT $name", "$name: changes are in the new slot");
	like(says('CALL dyn_setup_streams()'), qr/NOTICE:  00000: change streams are set up already/, "$name: nothing more to mend");
}
value('SELECT pg_drop_replication_slot(slot_name) FROM dyn_stream_slots');
broken('dropped', 'slot missing');
value('SELECT pg_replication_slot_advance(slot_name, pg_current_wal_lsn()) FROM dyn_stream_slots');
broken('advanced', 'slot ahead');
# a set-up that has made the slot, and no more
value('SELECT pg_drop_replication_slot(slot_name) FROM dyn_stream_slots');
value("SELECT pg_create_logical_replication_slot(slot_name, 'dynamo_table') FROM dyn_stream_slots");
broken('crashed', 'slot ahead');
# a label that is no time is not what later ones have to be larger than
value(q{SELECT dyn_create_table('forged', 'pk S'); CREATE OR REPLACE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON forged FOR EACH ROW
	EXECUTE FUNCTION dynamo_internal.derive_keys('pk S', '{"settings": {"streams": [{"label": 253402300799999, "shards": 1}]}}');
	SELECT pg_drop_replication_slot(slot_name) FROM dyn_stream_slots});
value('CALL dyn_setup_streams()');
value(q{DROP TABLE forged; SELECT dyn_enable_stream('other', 'KEYS_ONLY')});
is(value(q{SELECT bool_and(enabled_at < now() + interval '1 minute') FROM dyn_streams WHERE relation = 'other'::regclass}), 't',
	'a forged label keeps nobody from enabling a stream');
value(q{SELECT dyn_disable_stream('other')});
is(value('SELECT wal_status, retained_wal_bytes > 0, safe_wal_size > 0, lag_bytes > 0, lag >= interval \'0\' FROM dyn_stream_slots'), 'reserved|t|t|t|t',
	'figures');

# another process reads from it
my $reader = IPC::Run::start([ 'pg_recvlogical', '-d', $node->connstr('postgres'), '--slot', value('SELECT slot_name FROM dyn_stream_slots'), '--start', '-f',
	'-' ], '>', \$out, '2>', \$err);
wait_for($node, 'SELECT active_pid IS NOT NULL FROM dyn_stream_slots');
value(q{SELECT dyn_disable_stream('app')});
like(says('CALL dyn_teardown_streams()'), qr/ERROR:  55006: replication slot "dynamo_table_\d+" is active for PID \d+/, 'who reads from the slot is named');
is(value('SELECT count(*) FROM dynamo_internal.stream_state') , '1', 'and nothing was removed');
$reader->signal('TERM');
$reader->finish;
wait_for($node, 'SELECT active_pid IS NULL FROM dyn_stream_slots');
value(q{SELECT dyn_enable_stream('app', 'NEW_AND_OLD_IMAGES')});
value('CALL dyn_setup_streams()');

# ST09: it does not hold more WAL than it may
for (1 .. 30)
{
	value("SELECT pg_logical_emit_message(false, 'x', repeat('x', 4000000)); SELECT pg_switch_wal(); CHECKPOINT");
	last if state() eq 'slot lost';
}
broken('lost', 'slot lost');

$session->quit;
$writer->quit;

# A copy of the database has no streams of its own.
value('CREATE DATABASE copy TEMPLATE postgres');
is(state('copy'), 'not set up', 'a copy is not set up');
is(value('SELECT count(*) FROM dynamo_internal.stream_state', 'copy'), '1', 'though it has the row');
like(says(q{SELECT dyn_enable_stream('other', 'KEYS_ONLY')}, 'copy'), qr/ERROR:  YD001: .*change streams are not set up in database "copy"/, 'and says so');
value(q{CREATE TABLE records_copy PARTITION OF dynamo_internal.stream_records FOR VALUES FROM (MINVALUE) TO (MAXVALUE);
	INSERT INTO dynamo_internal.stream_records VALUES ('app'::regclass, 1, 0, 'I', false, false, '0/1', 1, now(), now(), 1)}, 'copy');
value('CALL dyn_setup_streams()', 'copy');
is(value('SELECT (SELECT count(*) FROM dynamo_internal.stream_records), (SELECT count(*) FROM dynamo_internal.stream_state), count(*),
	min(after_lsn) = \'0/0\' FROM dynamo_internal.stream_gaps', 'copy'), '0|1|1|t', 'what was copied is gone');
is(state('copy'), 'ready', 'the copy is set up');
is(state(), 'ready', 'the other one still is');
is(value("SELECT count(*) FROM dynamo_internal.stream_gaps WHERE noticed > ALL (SELECT enabled_at FROM dyn_streams)", 'copy'), '1',
	'the gap concerns the streams that were copied');
value('DROP TABLE app, other; CALL dyn_teardown_streams()', 'copy');
value('DROP DATABASE copy');

# A dump has the stream, and no slot.
my $dir = $node->basedir;
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$dir/dump", 'postgres' ], 'pg_dump');
value('CREATE DATABASE restored');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', 'restored', "$dir/dump" ], 'pg_restore');
is(state('restored'), 'not set up', 'a restored database is not set up');
is( value('SELECT relation, view_type, status, label, identity_suffices FROM dyn_streams ORDER BY label', 'restored'),
	value('SELECT relation, view_type, status, label, identity_suffices FROM dyn_streams ORDER BY label'),
	'its table has the stream');
like(value("SELECT count(*), sum(1) FROM dyn_scan('app')", 'restored'), qr/^\d+\|\d+$/, 'and can be used');
value(q{SELECT dyn_put('app', '{"pk":{"S":"restored"}}')}, 'restored');
value('CALL dyn_setup_streams()', 'restored');
is(value("SELECT count(*) FROM dynamo_internal.stream_gaps WHERE noticed > ALL (SELECT enabled_at FROM dyn_streams)", 'restored'), '1', 'set up, it has a gap');
value(q{SELECT dyn_disable_stream('app'); SELECT dyn_enable_stream('app', 'KEYS_ONLY')}, 'restored');
is(value("SELECT count(*) FROM dynamo_internal.stream_gaps WHERE noticed > (SELECT enabled_at FROM dyn_streams WHERE status = 'ENABLED')", 'restored'), '0',
	'which does not concern a new stream');
like(says('SET ROLE replicator; CALL dyn_teardown_streams()', 'restored'), qr/ERROR:  55006: 1 table has an enabled stream\nDETAIL:  Enabled: public.app/,
	'teardown tells what is enabled');
# DROP DATABASE drops a slot that is not in use
value('DROP DATABASE restored');
is(value("SELECT count(*) FROM pg_replication_slots WHERE database <> 'postgres'"), '0', 'the slot goes with the database');

# A standby has what was collected, and no slot.
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
$node->wait_for_catchup($standby);
my $primary = $node;
my $collected = value('SELECT collected_lsn FROM dyn_stream_slots');
$node = $standby;
is(value('SET ROLE nobody; SELECT state, collected_lsn, active_pid FROM dyn_stream_slots'), "standby|$collected|", 'the status on a standby');
is(value('SELECT relation, status FROM dyn_streams ORDER BY label DESC LIMIT 1'), 'app|ENABLED', 'streams on a standby');
is(value('SET ROLE nobody; SELECT count(*) FROM dyn_streams'), '0', 'for who may see them');
like(says("CALL dyn_${_}_streams()"), qr/ERROR:  25006: cannot execute dyn_${_}_streams during recovery/, "no $_ on a standby")
  for ('setup', 'teardown');
like(says($_), qr/ERROR:  25006: cannot execute/, "not on a standby: $_")
  for (q{SELECT dyn_enable_stream('other', 'KEYS_ONLY')}, q{SELECT dyn_disable_stream('app')});
$primary->stop;
$standby->promote;
broken('promoted', 'slot missing');
value(q{SELECT dyn_disable_stream('app'); CALL dyn_teardown_streams()});
is(state() . gaps(), 'not set up0', 'removed');

# DROP EXTENSION leaves a slot, which the next setup replaces.
value('CALL dyn_setup_streams(); DROP TABLE app, other; DROP EXTENSION dynamo_table');
is(value('SELECT count(*) FROM pg_replication_slots'), '1', 'the slot stays');
value('CREATE EXTENSION dynamo_table');
is(state(), 'not set up', 'and is not taken for one that is set up');
value('CALL dyn_setup_streams()');
is(value("SELECT state, (SELECT count(*) FROM pg_replication_slots) FROM dyn_stream_slots"), 'ready|1', 'it was replaced');
$node->stop;
done_testing();
