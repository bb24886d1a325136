# ST06, ST07, ST11: collectors. Every change that was committed is collected exactly once and in order, whatever is killed; and they are there when
# they are wanted, and gone when not. $DYNAMO_TABLE_STRESS_SECONDS says how long the load lasts.
use strict;
use warnings;

use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $seconds = $ENV{DYNAMO_TABLE_STRESS_SECONDS} || 5;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
DynamoTable::allow_plugin($node);
$node->append_conf('postgresql.conf', q{
	shared_preload_libraries = dynamo_table
	wal_level = logical
	max_worker_processes = 16
	dynamo_table.ttl_interval = 1s
	dynamo_table.ttl_pause = 0
	dynamo_table.ttl_reread_interval = 0
	restart_after_crash = on
	autovacuum = off
	log_statement = none
});
$node->start;

sub value
{
	my ($sql, $dbname) = @_;
	return $node->safe_psql($dbname // 'postgres', $sql);
}

sub configure
{
	my ($setting) = @_;
	$node->append_conf('postgresql.conf', $setting);
	$node->reload;
}

my $collectors = q{FROM pg_stat_activity WHERE backend_type = 'dynamo_table stream collector'};

sub wait_for_collector
{
	my ($dbname) = @_;
	$dbname //= 'postgres';
	wait_for($node, "SELECT count(*) = 1 $collectors AND datname = '$dbname' AND state = 'active'");
	return value("SELECT pid $collectors AND datname = '$dbname'");
}

# Until the launcher has had its turn: for another service it has looked twice for databases with something to do.
sub a_round
{
	for (1 .. 2)
	{
		value(q{SELECT dyn_put('due', jsonb_build_object('id', 'a', 'expires', floor(extract(epoch FROM clock_timestamp())) - 10))});
		wait_for($node, 'SELECT count(*) = 0 FROM due');
	}
}

# Without a call: a worker comes with the slot, and listeners are told
value(q{CREATE EXTENSION dynamo_table; SELECT dyn_create_table('app', 'pk S'), dyn_create_table('due', 'id S'); CALL dyn_enable_ttl('due', 'expires')});
is(value("SELECT count(*) $collectors"), '0', 'no collector before there is a slot');
value(q{CALL dyn_setup_streams()});
my $pid = wait_for_collector();
value(q{SELECT dyn_enable_stream('app', 'NEW_AND_OLD_IMAGES')});
my $listener = $node->background_psql('postgres');
$listener->query_safe('LISTEN dynamo_table_stream');
value(q{SELECT dyn_put('app', '{"pk":{"S":"first"}}')});
wait_until('a listener is told which table has records', sub {
	my $said = $listener->query('SELECT 1');
	return (scalar($said =~ /notification "dynamo_table_stream" with payload "public.app" received/), $said);
});
$listener->quit;
wait_for($node, 'SELECT count(*) = 1 FROM dynamo_internal.stream_records');
is(value('CALL dyn_collect_streams()'), '0', 'a call returns when the worker has all');
value(q{SELECT dyn_put('app', jsonb_build_object('pk', i::text)) FROM generate_series(1, 1000) i; CALL dyn_collect_streams()});
is(value('SELECT count(*) FROM dynamo_internal.stream_records'), '1001', 'of what was committed before');

# A server that does nothing else comes to rest; what others write moves the slot on, but for records of no transaction,
# such as those of pages that are pruned
value('CREATE TABLE other AS SELECT i FROM generate_series(1, 10000) i');
wait_for($node, q{SELECT pg_current_wal_lsn() - confirmed_flush_lsn < 2000 FROM pg_replication_slots});
wait_for_rest($node);
pass('and it says so without end');

# Off and on
configure('dynamo_table.stream_collector = off');
wait_for($node, "SELECT count(*) = 0 $collectors");
value(q{SELECT dyn_put('app', '{"pk":{"S":"off"}}')});
a_round();
is(value(q{SELECT count(*) FROM dynamo_internal.stream_records WHERE keys ->> 'pk' = 'off'}), '0', 'off: nothing is collected');
is(value('CALL dyn_collect_streams()'), '1', 'but by a call');
configure('dynamo_table.stream_collector = on');
value(q{SELECT dyn_put('app', '{"pk":{"S":"on"}}')});
wait_for($node, q{SELECT count(*) = 1 FROM dynamo_internal.stream_records WHERE keys ->> 'pk' = 'on'});
$pid = wait_for_collector();
value("SELECT pg_terminate_backend($pid)");
wait_for($node, "SELECT count(*) = 1 $collectors AND pid <> $pid");
pass('a collector that was ended is followed by another');

# A transaction is collected as a whole, whatever temporary files others may have
configure("work_mem = 64kB\ntemp_file_limit = 1MB");
value(q{SELECT count(dyn_put('app', jsonb_build_object('pk', 'large ' || i, 'v', repeat('x', 1000)))) FROM generate_series(1, 3000) i});
wait_for($node, q{SELECT count(*) = 3000 FROM dynamo_internal.stream_records WHERE keys ->> 'pk' LIKE 'large %'});
configure("work_mem = 4MB\ntemp_file_limit = -1");
pass('a transaction with more records than fit into temporary files of a session');

# A collector that begins has the lock before its progress is known; a call waits for it
my $blocker = $node->background_psql('postgres');
$blocker->query_safe('BEGIN; LOCK TABLE dynamo_internal.stream_state');
value("SELECT pg_terminate_backend(pid) $collectors");
wait_for($node, "SELECT count(*) = 1 $collectors AND wait_event_type = 'Lock'");
my %call = (in => '', out => '', err => '');
my $call = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', q{SET application_name = 'call'}, '-c', 'CALL dyn_collect_streams()' ],
	'<', \$call{in}, '>', \$call{out}, '2>', \$call{err});
wait_for($node, q{SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'call' AND wait_event IN ('Extension', 'PgSleep')});
$blocker->query_safe('COMMIT');
$call->finish;
is($call{err}, '', 'a call waits for a collector that has just begun');
like($call{out}, qr/^\d+$/m, 'and returns how much was collected');
$blocker->quit;
for my $round (1 .. 3)
{
	value(q{SELECT dyn_disable_stream('app'); CALL dyn_teardown_streams()});
	value('CALL dyn_setup_streams(); CALL dyn_collect_streams()');
	value(q{SELECT dyn_enable_stream('app', 'NEW_AND_OLD_IMAGES')});
}
pass('also right after a set-up');

# A collector that fails ends with an error, and another one tries again
value('ALTER TABLE dynamo_internal.stream_state RENAME TO hidden');
value(q{SELECT dyn_put('app', '{"pk":{"S":"failed"}}')});
$node->wait_for_log(qr/ERROR: .*table "dynamo_internal.stream_state" of the extension is missing/);
value('ALTER TABLE dynamo_internal.hidden RENAME TO stream_state');
wait_for($node, q{SELECT count(*) = 1 FROM dynamo_internal.stream_records WHERE keys ->> 'pk' = 'failed'});
pass('after an error');

# Several databases, each by itself; templates can be copied, and a database goes when its slot has gone
value('CREATE DATABASE second');
value(q{CREATE EXTENSION dynamo_table; SELECT dyn_create_table('app', 'pk S')}, 'second');
value('CALL dyn_setup_streams()', 'second');
wait_for_collector('second');
value(q{SELECT dyn_enable_stream('app', 'KEYS_ONLY')}, 'second');
value(q{SELECT dyn_put('app', '{"pk":{"S":"second"}}')}, 'second');
wait_for($node, 'SELECT count(*) = 1 FROM dynamo_internal.stream_records', 'second');
is(value(q{SELECT count(*) FROM dynamo_internal.stream_records WHERE keys ->> 'pk' = 'second'}), '0', 'a database has its own changes only');
value('CREATE DATABASE third TEMPLATE second');
pass('a collector makes room for a copy of its database');
wait_for_collector('second');
is($node->psql('postgres', 'DROP DATABASE second'), 3, 'a database with a slot in use is not dropped');
value(q{SELECT dyn_disable_stream('app')}, 'second');
value('CALL dyn_teardown_streams()', 'second');
value('DROP DATABASE second');
pass('but when it has none');
value('DROP DATABASE third');

# A slot that a standby takes over is not confirmed beyond what the standby has, which may be less than what was collected
if ($node->pg_version >= 17)
{
	value('CREATE DATABASE failover');
	value(q{CREATE EXTENSION dynamo_table; SELECT dyn_create_table('app', 'pk S')}, 'failover');
	value(q{CALL dyn_setup_streams(failover => true)}, 'failover');
	value(q{SELECT dyn_enable_stream('app', 'KEYS_ONLY')}, 'failover');
	wait_for_collector('failover');
	value(q{SELECT pg_create_physical_replication_slot('standby', true)});
	configure(q{synchronized_standby_slots = 'standby'});
	wait_for($node, q{SELECT current_setting('synchronized_standby_slots') = 'standby'}, 'failover');
	# another collector begins with that
	my $before = wait_for_collector('failover');
	value("SELECT pg_terminate_backend($before)");
	wait_for($node, "SELECT count(*) = 1 $collectors AND datname = 'failover' AND state = 'active' AND pid <> $before");
	wait_for_rest($node);
	my $confirmed = value('SELECT confirmed_lsn FROM dyn_stream_slots', 'failover');
	for my $i (1 .. 3)
	{
		value(qq{SELECT dyn_put('app', '{"pk":{"S":"$i"}}')}, 'failover');
		wait_for($node, "SELECT count(*) = $i FROM dynamo_internal.stream_records", 'failover');
	}
	wait_for_rest($node);
	is(value("SELECT confirmed_lsn = '$confirmed' AND confirmed_lsn < collected_lsn FROM dyn_stream_slots", 'failover'), 't',
		'a failover slot stays behind its standby');
	value(q{SELECT pg_replication_slot_advance('standby', pg_current_wal_lsn())});
	wait_for($node, q{SELECT confirmed_lsn = collected_lsn FROM dyn_stream_slots}, 'failover');
	pass('and goes on when that has the records');
	configure(q{synchronized_standby_slots = ''});
	value(q{SELECT pg_drop_replication_slot('standby')});
	value(q{SELECT dyn_disable_stream('app')}, 'failover');
	value('CALL dyn_teardown_streams()', 'failover');
	value('DROP DATABASE failover');
}

# Trimming goes on while nothing is collected, and a long reader is not in the way of others
configure("dynamo_table.stream_retention = 1s\nlog_lock_waits = on");
value(q{DO $$ DECLARE p regclass; BEGIN
	FOR p IN SELECT inhrelid FROM pg_inherits WHERE inhparent = 'dynamo_internal.stream_records'::regclass LOOP
		EXECUTE format('ALTER EXTENSION dynamo_table DROP TABLE %1$s; DROP TABLE %1$s', p);
	END LOOP; END $$});
my $reader = $node->background_psql('postgres');
my $written = 0;
my $log_before = -s $node->logfile;
# a record may be trimmed before it is read
wait_until('a reader has a partition', sub {
	value(sprintf(q{SELECT dyn_put('app', '{"pk":{"S":"trimmed"},"n":{"N":"%d"}}')}, $written++));
	my $read = $reader->query_safe('BEGIN; SELECT count(*) FROM dynamo_internal.stream_records');
	$reader->query_safe('COMMIT') if !$read;
	return ($read, "$written items were written");
});
$node->wait_for_log(qr/still waiting for AccessExclusiveLock on relation/, $log_before);
cmp_ok(value(q{SELECT count(*) FROM dynamo_internal.stream_records}), '>=', 1, 'ST09: a partition that is read stays');
$reader->query_safe('COMMIT');
wait_for($node, q{SELECT count(*) = 0 FROM dynamo_internal.stream_records});
is(value(q{SELECT count(*) FROM dynamo_internal.stream_trimmed WHERE relation = 'app'::regclass}), '1', 'and is dropped then');
$reader->quit;
configure("dynamo_table.stream_retention = 1d\nlog_lock_waits = off");

#
# The load
#

# What is true is written by the same transactions: the changes of a key are numbered, and an item has the number of the change that wrote it.
value(q{
	SELECT dyn_create_table('items', 'pk S'), dyn_create_table('fleeting', 'id S');
	SELECT dyn_enable_stream('items', 'NEW_AND_OLD_IMAGES'), dyn_enable_stream('fleeting', 'OLD_IMAGE');
	CALL dyn_enable_ttl('fleeting', 'expires');
	CREATE TABLE keys (pk text PRIMARY KEY, version int NOT NULL DEFAULT 0, item int);
	INSERT INTO keys (pk) SELECT 'k' || i FROM generate_series(1, 200) i;
	CREATE TABLE done (pk text, n int, event "char", version int, PRIMARY KEY (pk, n));
	CREATE TABLE born (id text PRIMARY KEY);

	CREATE FUNCTION change(key text, remove boolean, pad int) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		k keys;
	BEGIN
		UPDATE keys SET version = version + 1 WHERE pk = key RETURNING * INTO k;
		IF k.item IS NULL THEN
			PERFORM dyn_put('items', jsonb_build_object('pk', key, 'version', k.version, 'g', 'g' || k.version % 10, 'pad', repeat('x', pad)));
			INSERT INTO done VALUES (key, k.version, 'I', k.version);
		ELSIF remove THEN
			PERFORM dyn_delete('items', jsonb_build_object('pk', key));
			INSERT INTO done VALUES (key, k.version, 'R', k.item);
		ELSE
			PERFORM dyn_update('items', jsonb_build_object('pk', key), 'SET version = :v, g = :g',
				vals => json_build_object(':v', json_build_object('N', k.version::text), ':g', json_build_object('S', 'g' || k.version % 10))::text::dyn_item);
			INSERT INTO done VALUES (key, k.version, 'M', k.version);
		END IF;
		UPDATE keys SET item = CASE WHEN NOT remove OR item IS NULL THEN version END WHERE pk = key;
	END $$;

	-- several keys, always in the same order, in subtransactions of which some are rolled back
	CREATE FUNCTION step(r int) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		key text;
	BEGIN
		FOR key IN SELECT DISTINCT 'k' || to_char(1 + (r / i) % 200, 'FM000') FROM generate_series(1, 1 + r % 4) i ORDER BY 1 LOOP
			key := 'k' || substr(key, 2)::int;
			BEGIN
				PERFORM change(key, (r + length(key)) % 5 = 0, r % 3000);
				IF r % 7 = 0 THEN
					RAISE division_by_zero;
				END IF;
			EXCEPTION WHEN division_by_zero THEN
				NULL;
			END;
		END LOOP;
		INSERT INTO born SELECT 'f' || nextval('fleeting_ids') WHERE r % 5 = 0 RETURNING id INTO key;
		IF FOUND THEN
			PERFORM dyn_put('fleeting', jsonb_build_object('id', key, 'expires', floor(extract(epoch FROM clock_timestamp())) - 10));
		END IF;
	END $$;
	CREATE SEQUENCE fleeting_ids});

my $script = q{
\set r random(1, 1000000)
\set commit random(1, 10)
BEGIN;
SELECT step(:r);
\if :commit = 1
ROLLBACK;
\else
COMMIT;
\endif
};

sub disturb
{
	my ($what) = @_;
	if ($what == 0)
	{
		crash($node);
		return 'kill -9 of the server';
	}
	if ($what == 1)
	{
		my $victim = value("SELECT pid $collectors AND datname = 'postgres'");
		return '' if $victim eq '';
		kill('KILL', $victim);
		return 'kill -9 of the collector';
	}
	if ($what == 2)
	{
		my $victim = value(q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1});
		return '' if $victim eq '';
		kill('KILL', $victim);
		return 'kill -9 of a session';
	}
	if ($what == 3)
	{
		value("SELECT pg_terminate_backend(pid) $collectors");
		return 'end of the collector';
	}
	# what takes longer than a session may live now
	$node->psql('postgres', q{CALL dyn_create_index('items', 'by_g', 'g S'); CALL dyn_drop_index('items', 'by_g')});
	return 'an index that is filled';
}

# For some seconds, and until each disturbance has been there and enough was written.
my $end = time + $seconds;
for (my $i = 0; $i < 5 || time < $end || value('SELECT count(*) FROM done') <= 500; $i++)
{
	my $load = start_load($node, 4, 3, $script);
	select(undef, undef, undef, 0.5 + rand(2));
	my $what = disturb($i < 5 ? $i : int(rand(5)));
	finish_load($load);
	wait_until_up($node);
	note($what);
}

wait_for($node, 'SELECT count(*) = 0 FROM fleeting');
# a call waits for the worker, which may be on its way
wait_until('all is collected', sub {
	my ($status, undef, $error) = $node->psql('postgres', 'CALL dyn_collect_streams()');
	return ($status == 0, $error);
});
cmp_ok(value('SELECT count(*) FROM done'), '>', 500, 'there was a load');

my $told = q{SELECT r.keys ->> 'pk' AS pk, row_number() OVER (PARTITION BY r.keys ->> 'pk' ORDER BY r.lsn, r.ordinal) AS n, r.event,
		(coalesce(r.new_image, r.old_image) ->> 'version')::int AS version
	FROM dynamo_internal.stream_records r WHERE r.relation = 'items'::regclass};
is(value("SELECT count(*) FROM (SELECT pk, n::bigint, event, version FROM done EXCEPT ALL $told) d"), '0', 'ST06, ST07: no change is missing or out of order');
is(value("SELECT count(*) FROM ($told EXCEPT ALL SELECT pk, n::bigint, event, version FROM done) d"), '0', 'and none is there that was not committed');
is(value(q{SELECT count(*) FROM dynamo_internal.stream_records} . ' WHERE incomplete'), '0', 'all images are there');
is(value(q{SELECT count(*) FROM (SELECT lsn, ordinal FROM dynamo_internal.stream_records GROUP BY lsn, ordinal HAVING count(*) > 1) d}), '0',
	'no place is there twice');
is(value(q{SELECT string_agg(DISTINCT format('%s %s', event, expired), ', ' ORDER BY format('%s %s', event, expired)) FROM dynamo_internal.stream_records
	WHERE relation = 'fleeting'::regclass}), 'I f, R t',
	'ST11: what expired was removed by the service');
is(value(q{SELECT count(*) FROM (SELECT id FROM born EXCEPT ALL SELECT keys ->> 'id' FROM dynamo_internal.stream_records WHERE relation = 'fleeting'::regclass
	AND event = 'R') d}), '0', 'each of it');
is(value(q{SELECT count(*) FROM (SELECT keys ->> 'id' FROM dynamo_internal.stream_records WHERE relation = 'fleeting'::regclass AND event = 'R' EXCEPT ALL
	SELECT id FROM born) d}), '0', 'once');
is(value(q{SELECT bool_and(collected >= before) FROM (SELECT collected, lag(collected) OVER (ORDER BY lsn, ordinal) AS before
	FROM dynamo_internal.stream_records) r}), 't', 'times of collection do not go back');
wait_for_collector();
is(value('SELECT state FROM dyn_stream_slots'), 'ready', 'the slot is where it should be');
check_storage($node, 'after the load');

# A collector that fails
value('ALTER TABLE dynamo_internal.stream_state RENAME TO elsewhere');
value("SELECT pg_terminate_backend(pid) $collectors");
wait_for($node, q{SELECT state = 'failing' AND last_error LIKE '%stream_state%' AND last_error_at < clock_timestamp() FROM dyn_stream_slots});
pass('a collector that fails says so');
is(value('CREATE ROLE plain; SET ROLE plain; SELECT state, last_error IS NULL FROM dyn_stream_slots'), 'failing|t', 'to every role, but not why');
value('ALTER TABLE dynamo_internal.elsewhere RENAME TO stream_state');
wait_for($node, q{SELECT state = 'ready' FROM dyn_stream_slots});
is(value('SELECT last_error IS NOT NULL FROM dyn_stream_slots'), 't', 'its last error is known after it as well');

# No free worker, which is told once
configure('dynamo_table.stream_collector = off');
wait_for($node, "SELECT count(*) = 0 $collectors");
$node->append_conf('postgresql.conf', "max_worker_processes = 1\nmax_parallel_workers = 0\nmax_logical_replication_workers = 0\n"
  . "dynamo_table.stream_collector = on\ndynamo_table.ttl_worker = off");
my $offset = -s $node->logfile;
$node->restart;
$node->wait_for_log(qr/no background worker is free to collect changes of items/, $offset);
# which the launcher finds later
configure('dynamo_table.ttl_worker = on');
$node->wait_for_log(qr/no background worker is free to remove expired items/, $offset);
my $log = substr(slurp_file($node->logfile), $offset);
is(scalar(() = $log =~ /no background worker is free to collect/g), 1, 'without a free worker: it is reported once');
wait_for($node, q{SELECT state = 'no free worker' FROM dyn_stream_slots});
pass('and the slot is not called ready');
value(q{SELECT dyn_put('app', '{"pk":{"S":"no worker"}}')});
is(value('CALL dyn_collect_streams()'), '1', 'and a call collects');
is(value(q{SELECT count(dyn_enable_stream('later', 'KEYS_ONLY')) FROM dyn_create_table('later', 'pk S')}), '1', 'and a stream can be enabled');

# Without preloading
$node->append_conf('postgresql.conf', 'max_worker_processes = 8');
$node->restart;
wait_for_collector();
wait_for($node, q{SELECT state = 'ready' FROM dyn_stream_slots});
# A database that is read-only for a while
value('ALTER DATABASE postgres SET default_transaction_read_only = on');
value("SELECT pg_terminate_backend(pid) $collectors");
wait_for($node, "SELECT count(*) = 0 $collectors");
value(q{SET default_transaction_read_only = off; SELECT dyn_put('app', '{"pk":{"S":"read-only"}}');
	ALTER DATABASE postgres RESET default_transaction_read_only});
wait_for($node, q{SELECT count(*) = 1 FROM dynamo_internal.stream_records WHERE keys ->> 'pk' = 'read-only'});
pass('a collector comes again to a database that was read-only');
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''");
$node->restart;
value(q{SELECT dyn_put('app', '{"pk":{"S":"not preloaded"}}')});
is(value('CALL dyn_collect_streams()'), '1', 'not preloaded: a call collects');
is(value(q{SET synchronous_commit = off; DO $$ BEGIN PERFORM dyn_put('app', '{"pk":{"S":"asynchronous"}}'); END $$; CALL dyn_collect_streams()}), '1',
	'also what its session has committed without waiting for the disk');
$node->stop;

done_testing();
