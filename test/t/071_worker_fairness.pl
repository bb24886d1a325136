# TT08: background workers and two owners: tables that hold up or end their workers cost others little, and so do index builds that wait.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', q{
	shared_preload_libraries = dynamo_table
	dynamo_table.ttl_interval = 1s
	dynamo_table.ttl_max_workers = 1
	dynamo_table.ttl_pause = 0
	max_worker_processes = 16
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

sub set_conf
{
	my ($conf) = @_;
	$node->append_conf('postgresql.conf', $conf);
	$node->reload;
}

# As its owner: a table with time to live.
sub create_table
{
	my ($owner, $name) = @_;
	value(qq{SET SESSION AUTHORIZATION $owner; SELECT dyn_create_table('$name', 'id S')});
	value(qq{SET SESSION AUTHORIZATION $owner; CALL dyn_enable_ttl('$name', 'expires')});
}

sub add_due
{
	my ($name, $items) = @_;
	value(qq{INSERT INTO "$name" (item) SELECT jsonb_build_object('id', gen_random_uuid(), 'expires', floor(extract(epoch FROM clock_timestamp())) - 1)
		FROM generate_series(1, $items)});
}

value(q{
	CREATE EXTENSION dynamo_table;
	CREATE ROLE bad LOGIN;
	CREATE ROLE good LOGIN;
	GRANT CREATE ON SCHEMA public TO bad, good;
	CREATE FUNCTION stay() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
	  LOOP
		BEGIN
		  PERFORM pg_catalog.pg_sleep(600);
		EXCEPTION WHEN query_canceled THEN
		END;
	  END LOOP;
	END $$;
	CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_catalog.pg_sleep(0.01); RETURN OLD; END $$});

# Sweeps: tables of one owner catch the cancel, and their workers have to be ended. Between the moment at which an item of another owner
# expires and that at which it is gone, one or two of them have their turn, however many there are.
my $bad = 8;
create_table('bad', "bad$_") for 1 .. $bad;
create_table('good', 'good');
value("CREATE TRIGGER stay BEFORE DELETE ON bad$_ FOR EACH ROW EXECUTE FUNCTION stay()"), add_due("bad$_", 1) for 1 .. $bad;
my $failed = q{SELECT coalesce(sum(failures), 0) FROM dynamo_internal.ttl_sweeps WHERE relation <> 'public.good'::regclass};
value(qq{CREATE TABLE turns (failed bigint);
	CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS \$\$ BEGIN INSERT INTO public.turns $failed; RETURN NULL; END \$\$;
	CREATE TRIGGER note AFTER DELETE ON good FOR EACH ROW EXECUTE FUNCTION note()});
wait_for($node, "SELECT ($failed) > 0");
my $most = 0;
while (value(q{SELECT count(*) FROM dynamo_internal.ttl_sweeps WHERE failures > 0}) < $bad)
{
	add_due('good', 10);
	my $before = value($failed);
	wait_for($node, q{SELECT count(*) = 0 FROM good});
	my $passed = value('SELECT max(failed) FROM turns') - $before;
	$most = $passed if $passed > $most;
}
value('DROP FUNCTION note CASCADE');
cmp_ok($most, '<=', 3, 'items of one owner do not wait for all tables of another');
wait_for($node, q{SELECT max(failures) >= 2 FROM dynamo_internal.ttl_sweeps});
is(value(q{SELECT count(*) FROM dynamo_internal.ttl_sweeps WHERE failures > 0 AND retry_at <> swept + 2 ^ (failures - 1) * interval '1 s'}), '0',
	'each table doubles its own back-off');
is(value(q{SELECT last_error FROM dynamo_internal.ttl_sweeps WHERE relation = 'good'::regclass}), '', 'and not that of the other owner');
my $failures = value($failed);
$node->restart;
wait_for($node, "SELECT ($failed) > $failures");
cmp_ok(value(q{SELECT min(failures) FROM dynamo_internal.ttl_sweeps WHERE relation <> 'good'::regclass}), '>=', 1, 'a restart forgets no failure');
value("DROP TABLE bad$_") for 1 .. $bad;

# Several workers in one database, which leave it when it is dropped
value('CREATE DATABASE many');
$node->safe_psql('many', q{CREATE EXTENSION dynamo_table;
	CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_catalog.pg_sleep(0.01); RETURN OLD; END $$});
for my $name ('one', 'two', 'three')
{
	value(qq{SELECT dyn_create_table('$name', 'id S')}, 'many');
	value(qq{CALL dyn_enable_ttl('$name', 'expires')}, 'many');
	value(qq{CREATE TRIGGER slow BEFORE DELETE ON $name FOR EACH ROW EXECUTE FUNCTION slow();
		INSERT INTO $name (item) SELECT jsonb_build_object('id', gen_random_uuid(), 'expires', floor(extract(epoch FROM clock_timestamp())) - 1)
			FROM generate_series(1, 5000)}, 'many');
}
set_conf("dynamo_table.ttl_max_workers = 2\ndynamo_table.ttl_batch_size = 20");
my $at_work = q{FROM pg_stat_activity WHERE backend_type = 'dynamo_table ttl worker' AND datname = 'many' AND query LIKE 'sweeping%'};
wait_for($node, "SELECT count(DISTINCT query) = 2 AND count(*) = 2 $at_work");
pass('two workers sweep tables of one database');
is($node->psql('postgres', 'DROP DATABASE many'), 0, 'and leave it when it is dropped');

# A worker that dies takes the server with it. Its table is left alone for longer, the others go on.
set_conf('dynamo_table.ttl_max_workers = 1');
create_table('bad', 'deadly');
value('CREATE TRIGGER slow BEFORE DELETE ON deadly FOR EACH ROW EXECUTE FUNCTION slow()');
add_due('deadly', 5000);
# The server kills it, which is never late for it.
my $kill = q{DO $$
	DECLARE worker int := (SELECT max(pid) FROM pg_stat_activity WHERE backend_type = 'dynamo_table ttl worker'
		AND query = 'sweeping expired items of public.deadly');
	BEGIN
	  IF worker IS NOT NULL THEN
		EXECUTE format('COPY (SELECT) TO PROGRAM %L', 'kill -KILL ' || worker);
	  END IF;
	END $$};
for my $crash (1 .. 2)
{
	my $log = -s $node->logfile;
	# one that dies when its sweep has just ended has not failed
	wait_until('a worker dies in a sweep', sub {
		$node->psql('postgres', $kill);
		wait_until_up($node);
		my $failures = value(q{SELECT failures FROM dynamo_internal.ttl_sweeps WHERE relation = 'deadly'::regclass});
		return ($failures eq $crash, $failures);
	});
	is(value(q{SELECT last_error, retry_at - swept = 4 * 2 ^ (failures - 1) * interval '1 s' FROM dynamo_internal.ttl_sweeps WHERE relation = 'deadly'::regclass}),
		'the server went down during its sweep|t', "crash $crash is noted with the table");
	$node->wait_for_log(qr/WARNING:  expired items of table "public.deadly" cannot be removed: the server went down during its sweep/, $log);
	add_due('good', 10);
	wait_for($node, q{SELECT count(*) = 0 FROM good});
}
value(q{DROP TRIGGER slow ON deadly});
wait_for($node, q{SELECT count(*) = 0 FROM deadly});
wait_for($node, q{SELECT failures = 0 FROM dynamo_internal.ttl_sweeps WHERE relation = 'deadly'::regclass});
pass('and it is tried again');

# A table whose settings were forged: what does not fit is an error of its own, however it was made
value(q{SET SESSION AUTHORIZATION bad;
	SELECT dyn_create_table('forged', 'id S');
	ALTER TABLE forged ADD "~ttl" text;
	CREATE INDEX ON forged ("~ttl") WHERE "~ttl" IS NOT NULL;
	CREATE OR REPLACE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON forged FOR EACH ROW
		EXECUTE FUNCTION dynamo_internal.derive_keys('id S', '{"settings": {"ttl_attribute": "expires"}}')});
wait_for($node, q{SELECT failures > 0 FROM dynamo_internal.ttl_sweeps WHERE relation = 'forged'::regclass});
like(value(q{SELECT last_error FROM dynamo_internal.ttl_sweeps WHERE relation = 'forged'::regclass}), qr/has not the shape of a table of items/,
	'a column of another type');
add_due('good', 10);
wait_for($node, q{SELECT count(*) = 0 FROM good});

# Index builds that wait for an old snapshot: as many workers of a database as may be, of which a role has all but one; the others queue.
sub table_with_item
{
	my ($owner, $name) = @_;
	value(qq{SET SESSION AUTHORIZATION $owner; SELECT dyn_create_table('$name', 'id S'); SELECT dyn_put('$name', '{"id":{"S":"i"},"k":{"S":"v"}}')});
}

sub update_table
{
	my ($owner, $name) = @_;
	value(qq{SET SESSION AUTHORIZATION $owner; SELECT dyn_request('UpdateTable',
		'{"TableName": "$name", "AttributeDefinitions": [{"AttributeName": "k", "AttributeType": "S"}],
		"GlobalSecondaryIndexUpdates": [{"Create": {"IndexName": "by-k", "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}],
			"Projection": {"ProjectionType": "ALL"}}}]}') IS NULL});
}

sub active
{
	my ($name) = @_;
	return qq{SELECT coalesce(bool_and(i ->> 'IndexStatus' = 'ACTIVE'), false)
		FROM jsonb_array_elements(dyn_describe_table('$name') -> 'GlobalSecondaryIndexes') i};
}

my $requests = q{SELECT count(*) FROM dynamo_internal.index_requests};
my $index_workers = q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'dynamo_table index'};
my @tables = map { "index$_" } 1 .. 5;
table_with_item('bad', $_) for @tables;
table_with_item('good', 'goods');
my $old = $node->background_psql('postgres');
$old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
update_table('bad', $_) for @tables;
update_table('good', 'goods');
is(value($requests), '6', 'each request is noted');
wait_for($node, qq{SELECT count(*) = 2 FROM pg_stat_activity WHERE backend_type = 'dynamo_table index' AND wait_event_type = 'Lock'
	AND wait_event = 'virtualxid'});
is(value(q{SELECT count(DISTINCT usename) FROM pg_stat_activity WHERE backend_type = 'dynamo_table index'}), '2', 'each owner has a worker that waits');
# each commit starts a worker, which ends at once where there is no place
ok($node->poll_query_until('postgres', "SELECT ($index_workers) <= 2"), 'of two, however many requests there are');
is(value(q{SELECT max(most) FROM (SELECT pg_sleep(0.1),
	(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'dynamo_table index' AND application_name LIKE '%table %') AS most
	FROM generate_series(1, 5)) s}) <= 2, 1, 'and stays so');

# One that holds a place dies: its request waits for another time, and the next one has the place, also when the time of the first one has
# come. A call waits as well.
wait_for($node, q{SELECT begun_at + interval '5 s' < clock_timestamp() FROM dynamo_internal.index_requests WHERE relation = 'index1'::regclass});
my $pid = value(q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'dynamo_table index' AND usename = 'bad' AND wait_event = 'virtualxid'});
value("SELECT pg_terminate_backend($pid)");
wait_for($node, qq{SELECT count(*) = 2 FROM pg_stat_activity WHERE backend_type = 'dynamo_table index' AND wait_event = 'virtualxid' AND pid <> $pid});
is(value(q{SELECT string_agg(relation::regclass::text, ' ' ORDER BY relation) FROM dynamo_internal.index_requests WHERE attempts > 0}), 'index1 index2 goods',
	'when a worker is ended the next request has its place, and no other');
table_with_item('bad', 'forth');
my %call = (out => '', err => '');
$call{harness} = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', q{SET SESSION AUTHORIZATION bad}, '-c',
	q{CALL dyn_create_index('forth', 'by-k', 'k S')} ],
	'>', \$call{out}, '2>', \$call{err});
$call{harness}->pump until $call{err} =~ /waiting for one of the 2 workers for indexes/;
pass('a call waits as well');
$old->query_safe('COMMIT');
wait_for($node, active($_)) for ('goods', @tables);
$call{harness}->finish;
is($call{harness}->result(0), 0, 'the call has its turn');
wait_for($node, "$requests" =~ s/count\(\*\)/count(*) = 0/r);
pass('all requests are done');

# What was declared is found again after a restart, and after a crash
table_with_item('bad', $_) for ('held', 'queued');
for my $stop (sub { $node->restart }, sub { crash($node) })
{
	$old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
	update_table('bad', $_) for ('held', 'queued');
	wait_for($node, q{SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'dynamo_table index' AND wait_event = 'virtualxid'});
	$stop->();
	wait_until_up($node);
	wait_for($node, active($_)) for ('held', 'queued');
	pass('requests are found again');
	$old->quit;
	$old = $node->background_psql('postgres');
	value(qq{SET SESSION AUTHORIZATION bad; CALL dyn_drop_index('$_', 'by-k')}) for ('held', 'queued');
}
$old->quit;

# A build that fails is over, and not begun again and again
table_with_item('bad', 'refusing');
value(q{CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not this one'; END $$;
	CREATE TRIGGER refuse BEFORE UPDATE ON refusing FOR EACH ROW EXECUTE FUNCTION refuse()});
my $log_before = -s $node->logfile;
update_table('bad', 'refusing');
$node->wait_for_log(qr/ERROR:  not this one/, $log_before);
wait_for($node, "$requests" =~ s/count\(\*\)/count(*) = 0/r);
is(scalar(() = slurp_file($node->logfile, $log_before) =~ /ERROR:  not this one/g), 1, 'a build that fails is not repeated');

$node->stop;
done_testing();
