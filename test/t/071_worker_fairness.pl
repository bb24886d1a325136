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

sub wait_for
{
	my ($sql) = @_;
	$node->poll_query_until('postgres', $sql) or BAIL_OUT("never true: $sql");
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
	value(qq{SET SESSION AUTHORIZATION $owner; CALL dyn_ttl_enable('$name', 'expires')});
}

sub add_due
{
	my ($name, $items) = @_;
	value(qq{INSERT INTO "$name" (item) SELECT jsonb_build_object('id', gen_random_uuid(), 'expires', floor(extract(epoch FROM clock_timestamp())) - 1) FROM generate_series(1, $items)});
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
my $failed = q{SELECT coalesce(sum(failures), 0) FROM dyn_ttl_sweeps WHERE relation <> 'good'::regclass};
wait_for("SELECT ($failed) > 0");
my $most = 0;
while (value(q{SELECT count(*) FROM dyn_ttl_sweeps WHERE failures > 0}) < $bad)
{
	my $before = value($failed);
	add_due('good', 10);
	wait_for(q{SELECT count(*) = 0 FROM good});
	my $passed = value($failed) - $before;
	$most = $passed if $passed > $most;
}
cmp_ok($most, '<=', 3, 'items of one owner do not wait for all tables of another');
wait_for(q{SELECT max(failures) >= 2 FROM dyn_ttl_sweeps});
is(value(q{SELECT count(*) FROM dyn_ttl_sweeps WHERE failures > 0 AND retry_at <> swept + 2 ^ (failures - 1) * interval '1 s'}), '0', 'each table doubles its own back-off');
is(value(q{SELECT last_error FROM dyn_ttl_sweeps WHERE relation = 'good'::regclass}), '', 'and not that of the other owner');
my $failures = value($failed);
$node->restart;
wait_for("SELECT ($failed) > $failures");
cmp_ok(value(q{SELECT min(failures) FROM dyn_ttl_sweeps WHERE relation <> 'good'::regclass}), '>=', 1, 'a restart forgets no failure');
value("DROP TABLE bad$_") for 1 .. $bad;

# Several workers in one database, which leave it when it is dropped
value('CREATE DATABASE many');
$node->safe_psql('many', q{CREATE EXTENSION dynamo_table;
	CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_catalog.pg_sleep(0.01); RETURN OLD; END $$});
for my $name ('one', 'two', 'three')
{
	value(qq{SELECT dyn_create_table('$name', 'id S')}, 'many');
	value(qq{CALL dyn_ttl_enable('$name', 'expires')}, 'many');
	value(qq{CREATE TRIGGER slow BEFORE DELETE ON $name FOR EACH ROW EXECUTE FUNCTION slow();
		INSERT INTO $name (item) SELECT jsonb_build_object('id', gen_random_uuid(), 'expires', floor(extract(epoch FROM clock_timestamp())) - 1) FROM generate_series(1, 20000)}, 'many');
}
set_conf("dynamo_table.ttl_max_workers = 2\ndynamo_table.ttl_batch_size = 20");
my $at_work = q{FROM pg_stat_activity WHERE backend_type = 'dynamo_table ttl worker' AND datname = 'many' AND query LIKE 'sweeping%'};
wait_for("SELECT count(DISTINCT query) = 2 AND count(*) = 2 $at_work");
pass('two workers sweep tables of one database');
is($node->psql('postgres', 'DROP DATABASE many'), 0, 'and leave it when it is dropped');

# A worker that dies takes the server with it. Its table is left alone for longer, the others go on.
set_conf('dynamo_table.ttl_max_workers = 1');
create_table('bad', 'deadly');
value('CREATE TRIGGER slow BEFORE DELETE ON deadly FOR EACH ROW EXECUTE FUNCTION slow()');
add_due('deadly', 20000);
for my $crash (1 .. 2)
{
	my $worker = q{FROM pg_stat_activity WHERE backend_type = 'dynamo_table ttl worker' AND query = 'sweeping expired items of public.deadly'};
	my $pid = '';
	wait_for("SELECT count(*) > 0 $worker") while ($pid = value("SELECT max(pid) $worker")) eq '';
	my $log = -s $node->logfile;
	kill('KILL', $pid);
	$node->wait_for_log(qr/all server processes terminated; reinitializing/, $log);
	$node->poll_query_until('postgres', 'SELECT true');
	wait_for("SELECT failures = $crash FROM dyn_ttl_sweeps WHERE relation = 'deadly'::regclass");
	is(value(q{SELECT last_error, retry_at - swept = 4 * 2 ^ (failures - 1) * interval '1 s' FROM dyn_ttl_sweeps WHERE relation = 'deadly'::regclass}),
		'the server went down during its sweep|t', "crash $crash is noted with the table");
	$node->wait_for_log(qr/WARNING:  expired items of table "public.deadly" cannot be removed: the server went down during its sweep/, $log);
	add_due('good', 10);
	wait_for(q{SELECT count(*) = 0 FROM good});
}
value(q{DROP TRIGGER slow ON deadly});
wait_for(q{SELECT count(*) = 0 FROM deadly});
wait_for(q{SELECT failures = 0 FROM dyn_ttl_sweeps WHERE relation = 'deadly'::regclass});
pass('and it is tried again');

# A table whose settings were forged: what does not fit is an error of its own, however it was made
value(q{SET SESSION AUTHORIZATION bad;
	SELECT dyn_create_table('forged', 'id S');
	ALTER TABLE forged ADD "~ttl" text;
	CREATE INDEX ON forged ("~ttl") WHERE "~ttl" IS NOT NULL;
	CREATE OR REPLACE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON forged FOR EACH ROW EXECUTE FUNCTION dyn_derive_keys('id S', '{"settings": {"ttl_attribute": "expires"}}')});
wait_for(q{SELECT failures > 0 FROM dyn_ttl_sweeps WHERE relation = 'forged'::regclass});
like(value(q{SELECT last_error FROM dyn_ttl_sweeps WHERE relation = 'forged'::regclass}), qr/has not the shape of a table of items/, 'a column of another type');
add_due('good', 10);
wait_for(q{SELECT count(*) = 0 FROM good});

$node->stop;
done_testing();
