# Collectors that die. Where one has died is known to the next one, also after a crash of the cluster; what several have died at is passed over, which readers
# of that table, or of all if the table is not known, are told as of any gap. What ends a collector otherwise passes nothing over.
use strict;
use warnings;

use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
allow_plugin($node);
$node->append_conf('postgresql.conf', q{
	shared_preload_libraries = dynamo_table
	wal_level = logical
	restart_after_crash = on
	dynamo_table.stream_collector = off
	dynamo_table.ttl_worker = off
	autovacuum = off
	log_statement = none
});
$node->start;

sub value { return $node->safe_psql('postgres', $_[0]); }

sub error_of
{
	my ($sql) = @_;
	my ($code, $out, $err) = $node->psql('postgres', $sql);
	return $err;
}

sub keys_of { return value("SELECT string_agg(keys ->> 'pk', ' ' ORDER BY sequence_number) FROM dyn_read_stream('$_[0]')"); }

value('CREATE EXTENSION dynamo_table');
value('CALL dyn_setup_streams()');
for my $table (qw(broken sound))
{
	value("SELECT dyn_create_table('$table', 'pk S'); SELECT dyn_enable_stream('$table', 'KEYS_ONLY', 1)");
}
value(q{CREATE FUNCTION put(name text, key text) RETURNS void LANGUAGE sql AS $$ SELECT dyn_put(name, jsonb_build_object('pk', key)) $$});

#
# Errors: a catalog that was changed by hand while the table was written to, so that it cannot be decoded, and put right again
#

value(q{SELECT put('broken', 'before'), put('sound', 'before')});
$node->safe_psql('postgres', q{
	SET allow_system_table_mods = on;
	BEGIN;
	SELECT put('sound', 'same transaction');
	SELECT put('broken', 'lost');
	CREATE TEMP TABLE was AS SELECT atttypid FROM pg_attribute WHERE attrelid = 'broken'::regclass AND attname = 'item';
	UPDATE pg_attribute SET atttypid = 999999 WHERE attrelid = 'broken'::regclass AND attname = 'item';
	DELETE FROM broken;
	UPDATE pg_attribute SET atttypid = (TABLE was) WHERE attrelid = 'broken'::regclass AND attname = 'item';
	COMMIT});
value(q{SELECT put('broken', 'after'), put('sound', 'after')});
my $log = -s $node->logfile;
like(error_of('CALL dyn_collect_streams()'), qr/cache lookup failed for type 999999/, "attempt $_ fails") for 1 .. 3;
is(error_of('CALL dyn_collect_streams()'), '', 'and three are enough');
is(keys_of('sound'), 'before same transaction after', 'then the other table has all');
like(error_of(q{SELECT dyn_read_stream('broken', (SELECT sequence_number FROM dyn_read_stream('broken') LIMIT 1))}),
	qr/changes after the position were not collected/, 'a reader of the broken one is told');
my ($next) = error_of(q{SELECT dyn_read_stream('broken', (SELECT sequence_number FROM dyn_read_stream('broken') LIMIT 1))})
  =~ /goes on after sequence number (1\d{32})/;
is(value("SELECT string_agg(keys ->> 'pk', ' ') FROM dyn_read_stream('broken', '$next')"), 'after', 'and where it goes on');
is(value(q{SELECT count(*) FROM dynamo_internal.stream_gaps WHERE relation = 'broken'::regclass AND after_lsn < before_lsn}), '1', 'the gap is of that table');
like(substr(slurp_file($node->logfile), $log),
	qr/changes of table "broken" \(OID \d+\) in the transaction committed at [0-9A-F]+\/[0-9A-F]+ are in no stream, since collectors have died there/,
	'the log names table and place');
value(q{SELECT put('broken', 'later')});
value('CALL dyn_collect_streams()');
is(value("SELECT string_agg(keys ->> 'pk', ' ') FROM dyn_read_stream('broken', '$next')"), 'after later', 'and all goes on');

#
# Crashes: in a transaction in which decoding waits for a lock, where it can be found and killed
#

value(q{SELECT put('sound', 'one')});
value(q{SELECT dyn_create_table('closing', 'pk S'); SELECT dyn_enable_stream('closing', 'KEYS_ONLY', 1)});
# its mark is read with the extension's secret
value(q{BEGIN; SELECT put('sound', 'fatal'); SELECT dyn_disable_stream('closing'); COMMIT});
value(q{SELECT put('sound', 'two')});

# Have a call die in that transaction, and the cluster with it; false if it does not come there.
sub die_there
{
	my $blocker = $node->background_psql('postgres', on_error_stop => 0);
	$blocker->query_safe('BEGIN; LOCK TABLE dynamo_internal.stream_secret');
	my %call = (in => '', out => '', err => '');
	my $call = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', q{SET application_name = 'call'}, '-c', 'CALL dyn_collect_streams()' ],
		'<', \$call{in}, '>', \$call{out}, '2>', \$call{err});
	my $pid;
	wait_until('the call comes there, or ends', sub {
		$call->pump_nb;
		$pid = value(q{SELECT pid FROM pg_stat_activity WHERE application_name = 'call' AND wait_event_type = 'Lock'});
		return $pid ne '' || !$call->pumpable;
	});
	if ($pid eq '')
	{
		$call->finish;
		is($call{err}, '', 'the call ends well');
		$blocker->quit;
		return 0;
	}
	kill('KILL', $pid);
	$call->finish;
	eval { $blocker->quit };
	wait_until_up($node);
	return 1;
}

# to be told to end is no death
my $blocker = $node->background_psql('postgres');
$blocker->query_safe('BEGIN; LOCK TABLE dynamo_internal.stream_secret');
like(error_of(q{SET lock_timeout = '200ms'; CALL dyn_collect_streams()}), qr/lock timeout/, "a lock that is not had, attempt $_") for 1 .. 5;
$blocker->query_safe('ROLLBACK');
$blocker->quit;

my $deaths = 0;
$deaths++ while $deaths < 10 && die_there();
is($deaths, 4, 'the first death leaves no place, and three more are enough');
my $after = value(q{SELECT max(sequence_number) FROM dyn_read_stream('sound') WHERE keys ->> 'pk' = 'one'});
my $err = error_of("SELECT dyn_read_stream('sound', '$after')");
like($err, qr/changes after the position were not collected/, 'nobody knows of which table, so all readers are told');
($next) = $err =~ /goes on after sequence number (1\d{32})/;
is(value("SELECT string_agg(keys ->> 'pk', ' ') FROM dyn_read_stream('sound', '$next')"), 'two', 'and nothing else is missing');
is(value(q{SELECT count(*) FROM dynamo_internal.stream_gaps WHERE relation = 0 AND after_lsn > '0/0'}), '1', 'one transaction was passed over');
is(value('SELECT state FROM dyn_stream_slots'), 'ready', 'the slot is as it was');

# A worker that ends because another process has crashed has not died of what it decodes
my $file = q{pg_read_binary_file('pg_replslot/' || (SELECT slot_name FROM dyn_stream_slots) || '/dynamo_table')};
value(q{SELECT dyn_create_table('others', 'pk S'); SELECT dyn_enable_stream('others', 'KEYS_ONLY', 1)});
value('ALTER SYSTEM SET dynamo_table.stream_collector = on');
$node->reload;
wait_for($node, 'SELECT active_pid IS NOT NULL FROM dyn_stream_slots');
my $victim = $node->background_psql('postgres', on_error_stop => 0);
my $pid = $victim->query('SELECT pg_backend_pid()');
$victim->query_safe(q{BEGIN; SELECT dyn_disable_stream('others')});
$blocker = $node->background_psql('postgres', on_error_stop => 0);
$blocker->query_safe('BEGIN; LOCK TABLE dynamo_internal.stream_secret');
$victim->query_safe('COMMIT');
wait_for($node, q{SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = (SELECT active_pid FROM dyn_stream_slots)});
is(value("SELECT substring($file FROM 5 FOR 4) <> '\\x00000000'"), 't', 'a worker is at work');
# none is to begin after the crash
value('ALTER SYSTEM SET dynamo_table.stream_collector = off');
$node->reload;
kill('KILL', $pid);
eval { $victim->quit };
eval { $blocker->quit };
wait_until_up($node);
is(value("SELECT substring($file FROM 5 FOR 8) = '\\x0000000000000000'"), 't', 'and has not died when another process crashed');
value('CALL dyn_collect_streams()');

# A worker does not come back at once, and leaves the cluster to others; when all is well that is forgotten
value('ALTER SYSTEM SET dynamo_table.stream_collector = on');
$node->reload;
value(q{SELECT put('sound', 'three')});
wait_for($node, qq{SELECT count(*) = 2 FROM dyn_read_stream('sound', '$next')});
pass('a worker goes on');
is(value(q{SELECT size FROM pg_stat_file('pg_replslot/' || (SELECT slot_name FROM dyn_stream_slots) || '/dynamo_table')}) > 0, 1,
	'what is known of deaths is in the folder of the slot');
value('ALTER SYSTEM SET dynamo_table.stream_collector = off');
$node->reload;
wait_for($node, 'SELECT active_pid IS NULL FROM dyn_stream_slots');

#
# Transactions that the server cannot decode, and any user can write: an index whose function writes, and INSERT … ON CONFLICT
#

value(q{
	CREATE TABLE written (t text);
	CREATE FUNCTION write(t text) RETURNS void LANGUAGE sql VOLATILE AS $$ INSERT INTO written VALUES (t) $$;
	CREATE FUNCTION writes(t text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM write(t); RETURN t; END $$;
	CREATE TABLE hostile (id int PRIMARY KEY, t text);
	CREATE INDEX ON hostile (writes(t))});
my $gaps = value('SELECT count(*) FROM dynamo_internal.stream_gaps');
value(qq{SELECT put('sound', 'h$_'); BEGIN; SELECT put('sound', 'hostile'); INSERT INTO hostile VALUES ($_, 'x') ON CONFLICT DO NOTHING; COMMIT}) for 1 .. 10;
value(q{SELECT put('sound', 'h last')});
is(value('CALL dyn_collect_streams()'), '11', 'what cannot be decoded holds nobody up');
is(value('SELECT count(*) FROM dynamo_internal.stream_gaps') - $gaps, '10', 'and readers are told of each');
like(slurp_file($node->logfile), qr/the transaction committed at [0-9A-F\/]+ cannot be decoded: /, 'and the log says why');
is(value(q{SELECT string_agg(keys ->> 'pk', ' ' ORDER BY lsn) FROM dynamo_internal.stream_records WHERE relation = 'sound'::regclass
	AND keys ->> 'pk' LIKE 'h%'}),
	join(' ', (map { "h$_" } 1 .. 10), 'h last'), 'nothing of such a transaction is stored, and all of others');

#
# Changes that the WAL does not have: of a table without a replica identity, and of one that is unlogged for a while
#

sub removed { value("SELECT dyn_delete('$_[0]', jsonb_build_object('pk', '$_[1]'))"); }
sub gaps_of { return value("SELECT count(*) FROM dynamo_internal.stream_gaps WHERE relation = '$_[0]'::regclass"); }

# What a reader of a table gets after a position, and the position from which it goes on behind a gap, if one comes then
sub read_after
{
	my ($table, $position) = @_;
	my $last = value("SELECT max(sequence_number) FROM dyn_read_stream('$table', '$position')");
	my $keys = value("SELECT string_agg(event_name || ' ' || (keys ->> 'pk'), ', ' ORDER BY sequence_number) FROM dyn_read_stream('$table', '$position')");
	my ($next) = error_of("SELECT dyn_read_stream('$table', '$last')") =~ /goes on after sequence number (1\d{32})/;
	return ($keys, $next);
}

value("SELECT dyn_create_table('$_', 'pk S'); SELECT dyn_enable_stream('$_', 'KEYS_ONLY', 1)") for qw(lossy loses fast);
value(qq{SELECT put('lossy', '$_'), put('loses', '$_')}) for qw(a b c);
value('ALTER TABLE lossy REPLICA IDENTITY NOTHING; ALTER TABLE loses REPLICA IDENTITY NOTHING');
value('CALL dyn_collect_streams()');
is(gaps_of('lossy'), '0', 'a table without a replica identity has lost nothing yet');
removed('lossy', 'a');
value(q{SELECT put('lossy', 'd')});
value('CALL dyn_collect_streams()');
my ($keys, $goes_on) = read_after('lossy', 'TRIM_HORIZON');
is($keys, 'INSERT a, INSERT b, INSERT c', 'but where an item is removed, its stream has a gap');
is((read_after('lossy', $goes_on))[0], 'INSERT d', 'behind which it goes on');
value(q{SELECT put('lossy', 'e'); BEGIN; SELECT dyn_delete('lossy', '{"pk":{"S":"b"}}'), dyn_delete('loses', '{"pk":{"S":"b"}}'), put('lossy', 'f'); COMMIT});
value('CALL dyn_collect_streams()');
($keys, my $again) = read_after('lossy', $goes_on);
is($keys, 'INSERT d, INSERT e, INSERT f', 'with the next one it comes later, and what is stored before can be read');
is(gaps_of('lossy') . gaps_of('loses'), '11', 'one for each table, however many there are');
is((read_after('lossy', 'TRIM_HORIZON'))[0], 'INSERT a, INSERT b, INSERT c, INSERT d, INSERT e, INSERT f', 'by those who begin, too');
value('ALTER TABLE lossy REPLICA IDENTITY DEFAULT');
removed('lossy', 'c');
value('CALL dyn_collect_streams()');
is(value("SELECT string_agg(event_name || ' ' || (keys ->> 'pk'), ', ') FROM dyn_read_stream('lossy', '$again')"), 'REMOVE c',
	'with its replica identity the stream is complete again');
value('ALTER TABLE lossy REPLICA IDENTITY NOTHING');
removed('lossy', 'd');
value('CALL dyn_collect_streams()');
like(error_of("SELECT dyn_read_stream('lossy', (SELECT max(sequence_number) FROM dyn_read_stream('lossy', '$again')))"),
	qr/changes after the position were not collected/, 'and without it no more');

value(q{SELECT put('fast', 'logged')});
value('ALTER TABLE fast SET UNLOGGED');
value(q{SELECT put('fast', 'unlogged')});
value('ALTER TABLE fast SET LOGGED');
value(q{SELECT put('fast', 'again')});
value('CALL dyn_collect_streams()');
($keys, $goes_on) = read_after('fast', 'TRIM_HORIZON');
is($keys, 'INSERT logged', 'where it is logged again, its stream has a gap');
is((read_after('fast', $goes_on))[0], 'INSERT again', 'behind which it is complete');
value(q{BEGIN; ALTER TABLE fast SET UNLOGGED; SELECT put('fast', 'in between'); ALTER TABLE fast SET LOGGED; COMMIT});
value('VACUUM FULL fast; ALTER TABLE fast SET LOGGED');
value('CALL dyn_collect_streams()');
($keys, $goes_on) = read_after('fast', $goes_on);
is($keys, 'INSERT again', 'as where both are done in one transaction');
ok($goes_on, 'and it is told again');

value('SELECT dyn_disable_stream(t) FROM (VALUES (\'sound\'), (\'broken\'), (\'lossy\'), (\'loses\'), (\'fast\')) v (t)');
my $slot = value('SELECT slot_name FROM dyn_stream_slots');
value('CALL dyn_teardown_streams()');
ok(!-e $node->data_dir . "/pg_replslot/$slot", 'and goes with it');
$node->stop;
done_testing();
