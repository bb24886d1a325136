# TT08: background workers remove expired items: where, with whose rights, and what happens to tables that fail, and to tables and databases
# that go meanwhile.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
# no probe but the first one ever finds anything, and what is due is looked for every second
$node->append_conf('postgresql.conf', q{
	shared_preload_libraries = dynamo_table
	dynamo_table.ttl_interval = 1s
	dynamo_table.ttl_probe_interval = 1d
	dynamo_table.ttl_pause = 0
	dynamo_table.ttl_reread_interval = 0
	autovacuum = off
	log_statement = none
});
$node->start;

my $base = 'postgres';

sub value
{
	my ($sql, $dbname) = @_;
	return $node->safe_psql($dbname // $base, $sql);
}

# A table with time to live and as many items that have expired.
sub create_table
{
	my ($name, $items, $dbname) = @_;
	value(qq{SELECT dyn_create_table('$name', 'id S')}, $dbname);
	value(qq{CALL dyn_enable_ttl('$name', 'expires')}, $dbname);
	add_due($name, $items, $dbname);
}

sub add_due
{
	my ($name, $items, $dbname) = @_;
	value(qq{INSERT INTO "$name" (item) SELECT jsonb_build_object('id', gen_random_uuid(), 'expires',
		floor(extract(epoch FROM clock_timestamp())) - 1 - i % 1000) FROM generate_series(1, $items) i}, $dbname);
}

sub create_database
{
	my ($dbname) = @_;
	value("CREATE DATABASE $dbname");
	value(q{CREATE EXTENSION dynamo_table;
		CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.01); RETURN OLD; END $$}, $dbname);
}

# Every item takes ten milliseconds.
sub slow_down
{
	my ($name, $dbname) = @_;
	value("CREATE TRIGGER slow BEFORE DELETE ON $name FOR EACH ROW EXECUTE FUNCTION slow()", $dbname);
}

# A worker is at work on a table.
sub wait_for_sweep
{
	my ($name, $dbname) = @_;
	wait_for($node, "SELECT count(*) > 0 FROM pg_stat_activity WHERE backend_type = 'dynamo_table ttl worker' AND datname = '$dbname' AND state = 'active'
		AND query = 'sweeping expired items of public.$name'");
}

sub wait_until_empty
{
	my ($name, $dbname) = @_;
	wait_for($node, "SELECT count(*) = 0 FROM $name", $dbname);
}

value(q{CREATE EXTENSION dynamo_table;
	CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.01); RETURN OLD; END $$});

# The launcher, which is in no database
wait_for($node, q{SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'dynamo_table launcher'});
is(value(q{SELECT application_name, datname IS NULL FROM pg_stat_activity WHERE backend_type = 'dynamo_table launcher'}), 'dynamo_table launcher|t',
	'the launcher');

# What expires goes, and nothing else; dyn_enable_ttl() says nothing
value(q{SELECT dyn_create_table('app', 'id S')});
my ($rc, $out, $err) = $node->psql($base, q{CALL dyn_enable_ttl('app', 'expires')});
is($err, '', 'preloaded: no notice');
value(q{SELECT dyn_put('app', '{"id":{"S":"later"},"expires":{"N":"4000000000"}}'), dyn_put('app', '{"id":{"S":"never"}}')});
add_due('app', 5000);
wait_for($node, q{SELECT count(*) = 2 FROM app});
is(value(q{SELECT string_agg(id, ' ' ORDER BY id) FROM app}), 'later never', 'what has not expired stays');
wait_for($node, q{SELECT deleted = 5000 FROM dyn_ttl_tables WHERE relation = 'app'::regclass});
is(value(q{SELECT due_items, errors, retry_at IS NULL, last_sweep > now() - interval '1 h' FROM dyn_ttl_tables WHERE relation = 'app'::regclass}), '0|0|t|t',
	'the status');
wait_for($node, q{SELECT n_tup_del = 5000 FROM pg_stat_user_tables WHERE relname = 'app'});

# Databases that had nothing are told of: by a call, and when a worker has finished what a transaction began; one that is new, and one with an odd name
for my $dbname ('second', 'Third "one"')
{
	$node->safe_psql($base, 'CREATE DATABASE "' . ($dbname =~ s/"/""/gr) . '"');
	$node->safe_psql($dbname, 'CREATE EXTENSION dynamo_table');
}
create_table('app', 100, 'second');
wait_until_empty('app', 'second');
value(q{SELECT dyn_create_table('Odd-Name', 'id S')}, 'Third "one"');
add_due('Odd-Name', 100, 'Third "one"');
value(q{BEGIN; CALL dyn_enable_ttl('Odd-Name', 'expires'); COMMIT}, 'Third "one"');
wait_until_empty('"Odd-Name"', 'Third "one"');
add_due('app', 10);
wait_for($node, q{SELECT count(*) = 2 FROM app});
pass('three databases');

# A worker has the rights of the table's owner alone, and no code can leave them
value(q{
	CREATE ROLE owner;
	GRANT ALL ON SCHEMA public TO owner;
	CREATE TABLE seen (what text, result text);
	ALTER TABLE seen OWNER TO owner;
	SET ROLE owner;
	CREATE FUNCTION try(what text) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
	  EXECUTE what;
	  INSERT INTO public.seen VALUES (what, 'done');
	EXCEPTION WHEN OTHERS THEN
	  INSERT INTO public.seen VALUES (what, SQLSTATE);
	END $$;
	CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
	  INSERT INTO public.seen VALUES (TG_NAME, current_user), (TG_NAME || ' path', current_setting('search_path'));
	  PERFORM public.try('SET ROLE postgres'), public.try('SET SESSION AUTHORIZATION postgres'), public.try('RESET ROLE'),
	  	public.try('RESET SESSION AUTHORIZATION'),
		public.try('ALTER ROLE owner SUPERUSER'), public.try('CREATE TEMP TABLE t ()'), public.try('SET search_path = public');
	  RETURN OLD;
	END $$});
create_table('own', 0);
value(q{ALTER TABLE own OWNER TO owner;
	CREATE TRIGGER before BEFORE DELETE ON own FOR EACH ROW EXECUTE FUNCTION look();
	CREATE CONSTRAINT TRIGGER deferred AFTER DELETE ON own DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION look()});
add_due('own', 1);
wait_until_empty('own');
is(value(q{SELECT string_agg(DISTINCT what || ': ' || result, '; ' ORDER BY what || ': ' || result) FROM seen}),
	join('; ', 'ALTER ROLE owner SUPERUSER: 42501', 'CREATE TEMP TABLE t (): 42501', 'RESET ROLE: 42501', 'RESET SESSION AUTHORIZATION: 42501',
		'SET ROLE postgres: 42501', 'SET SESSION AUTHORIZATION postgres: 42501', 'SET search_path = public: done',
		'before path: pg_catalog, pg_temp', 'before: owner', 'deferred path: public', 'deferred: owner'), 'as the owner, without a way out');
is(value(q{SELECT rolsuper FROM pg_roles WHERE rolname = 'owner'}), 'f', 'who is no superuser by that');
value(q{DROP TRIGGER before ON own; DROP TRIGGER deferred ON own});

# A table that fails, and one whose owner may not delete: the others go on, and these are tried again less and less often
value(q{CREATE FUNCTION object() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not this one' USING DETAIL = 'It is needed.'; END $$});
create_table('failing', 0);
value(q{CREATE TRIGGER object BEFORE DELETE ON failing FOR EACH ROW EXECUTE FUNCTION object(); REVOKE DELETE ON own FROM owner});
add_due('failing', 10);
add_due('own', 10);
wait_for($node, q{SELECT min(errors) >= 2 FROM dyn_ttl_tables WHERE relation IN ('failing'::regclass, 'own'::regclass)});
is(value(q{SELECT bool_and(retry_at = swept + 2 ^ (failures - 1) * interval '1 s') FROM dynamo_internal.ttl_sweeps WHERE failures > 0}), 't',
	'the second time later than the first');
is(value(q{SELECT relation, last_error FROM dyn_ttl_tables WHERE errors > 0 ORDER BY relation::text}),
	join("\n", 'failing|not this one', 'own|permission denied for table own'), 'the status says why');
my $log = slurp_file($node->logfile);
my $log_before;
like($log,
	qr/WARNING:  expired items of table "public.failing" cannot be removed: not this one\n.*DETAIL:  It is needed.\n.*CONTEXT:  background worker in database "postgres"/,
	'and so does the log');
add_due('app', 10);
wait_for($node, q{SELECT count(*) = 2 FROM app});
is(value('SELECT count(*) FROM failing'), '10', 'the other table goes on');
value(q{DROP TRIGGER object ON failing; GRANT DELETE ON own TO owner});
wait_until_empty('failing');
wait_until_empty('own');
wait_for($node, q{SELECT count(*) = 0 FROM dynamo_internal.ttl_sweeps WHERE failures > 0 OR retry_at IS NOT NULL OR last_error IS NOT NULL});

# What takes too long is cancelled and tried in smaller batches; what cannot be cancelled takes its worker with it; the others go on
create_table('slow', 0);
slow_down('slow');
add_due('slow', 3000);
wait_for($node, q{SELECT last_error = 'a batch of up to 1000 items takes longer than a worker may stay' FROM dyn_ttl_tables WHERE relation = 'slow'::regclass});
wait_for($node, q{SELECT deleted > 0 AND deleted % 100 = 0 AND last_error IS NULL FROM dyn_ttl_tables WHERE relation = 'slow'::regclass});
pass('a slow table gets smaller batches');
value(q{DROP TRIGGER slow ON slow});
wait_until_empty('slow');
create_table('stubborn', 0);
value(q{
	CREATE FUNCTION stay() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
	  LOOP
		BEGIN
		  PERFORM pg_sleep(600);
		EXCEPTION WHEN query_canceled THEN
		END;
	  END LOOP;
	END $$;
	CREATE TRIGGER stay BEFORE DELETE ON stubborn FOR EACH ROW EXECUTE FUNCTION stay()});
add_due('stubborn', 1);
wait_for($node, q{SELECT last_error = 'the background worker ended before its sweep' AND retry_at IS NOT NULL FROM dyn_ttl_tables
	WHERE relation = 'stubborn'::regclass});
add_due('app', 10);
wait_for($node, q{SELECT count(*) = 2 FROM app});
pass('a table that holds its worker does not hold the others');
value(q{DROP TRIGGER stay ON stubborn});
wait_until_empty('stubborn');

# One that is locked is left alone, which is no failure
$log_before = -s $node->logfile;
my $holder = $node->background_psql($base);
$holder->query_safe(q{BEGIN; LOCK TABLE stubborn});
add_due('app', 10);
wait_for($node, q{SELECT count(*) = 2 FROM app});
$holder->query_safe('COMMIT');
$holder->quit;
add_due('stubborn', 10);
wait_until_empty('stubborn');
unlike(slurp_file($node->logfile, $log_before), qr/WARNING|ERROR|FATAL/, 'a table that was locked');

# DROP TABLE in the middle of its sweep
$node->append_conf('postgresql.conf', 'dynamo_table.ttl_batch_size = 20');
$node->reload;
create_table('going', 0);
slow_down('going');
add_due('going', 5000);
wait_for_sweep('going', 'postgres');
$log_before = -s $node->logfile;
value('DROP TABLE going');
add_due('app', 10);
wait_for($node, q{SELECT count(*) = 2 FROM app});
unlike(slurp_file($node->logfile, $log_before), qr/WARNING|ERROR|FATAL/, 'DROP TABLE in a sweep: nothing to complain about');

# DROP DATABASE and CREATE DATABASE in the middle of a sweep, which goes on in the copy as well
create_database('source');
create_table('app', 0, 'source');
slow_down('app', 'source');
add_due('app', 8000, 'source');
wait_for_sweep('app', 'source');
is($node->psql($base, 'CREATE DATABASE copy TEMPLATE source'), 0, 'CREATE DATABASE … TEMPLATE of a database in a sweep');
cmp_ok(value('SELECT count(*) FROM app', 'copy'), '>', 0, 'before it is done');
wait_for_sweep('app', 'copy');
wait_for_sweep('app', 'source');
for my $dbname ('source', 'copy')
{
	wait_for_sweep('app', $dbname);
	is($node->psql($base, "DROP DATABASE $dbname"), 0, "DROP DATABASE $dbname in a sweep");
}
add_due('app', 10);
wait_for($node, q{SELECT count(*) = 2 FROM app});
pass('the others go on');

# A database with default_transaction_read_only, and one without the extension any more
value('ALTER DATABASE second SET default_transaction_read_only = on');
value(q{SET default_transaction_read_only = off;
	INSERT INTO app (item) VALUES ('{"id":"due","expires":1}'::jsonb),
		(jsonb_build_object('id', 'x', 'expires', floor(extract(epoch FROM clock_timestamp())) - 1))}, 'second');
$node->restart;
add_due('app', 10);
wait_for($node, q{SELECT count(*) = 2 FROM app});
is(value('SELECT count(*) FROM app', 'second'), '2', 'read-only by default: nothing is removed');
value('ALTER DATABASE second RESET default_transaction_read_only');
$node->restart;
wait_for($node, q{SELECT count(*) = 1 FROM app}, 'second');

# A database in which something is amiss does not delay others, and is visited again
$log_before = -s $node->logfile;
value('ALTER TABLE dynamo_internal.ttl_sweeps RENAME TO elsewhere', 'second');
$node->wait_for_log(qr/ERROR:  table "dynamo_internal.ttl_sweeps" of the extension is missing/, $log_before);
add_due('app', 10);
wait_for($node, q{SELECT count(*) = 2 FROM app});
value('ALTER TABLE dynamo_internal.elsewhere RENAME TO ttl_sweeps', 'second');
add_due('app', 10, 'second');
wait_for($node, q{SELECT count(*) = 1 FROM app}, 'second');
pass('a database whose visits failed');
value('DROP EXTENSION dynamo_table CASCADE', 'second');
value('CREATE EXTENSION dynamo_table', 'second');
create_table('app', 10, 'second');
wait_until_empty('app', 'second');

# Switched off, and on again
$node->append_conf('postgresql.conf', 'dynamo_table.ttl_worker = off');
$node->restart;
add_due('app', 10);
$node->restart;
# a launcher that waits has found nothing to do
wait_for($node, q{SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'dynamo_table launcher' AND wait_event_type = 'Extension'});
is(value('SELECT count(*) FROM app'), '12', 'off: nothing is removed');
is(value(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'dynamo_table ttl worker'}), '0', 'and no worker runs');
(undef, undef, $err) = $node->psql($base, q{SELECT dyn_create_table('off', 'id S'); CALL dyn_enable_ttl('off', 'expires')});
like($err, qr/NOTICE:  expired items of table "off" are removed by dyn_sweep_ttl only\nHINT:  Set dynamo_table.ttl_worker to on/, 'which is said');
$node->append_conf('postgresql.conf', 'dynamo_table.ttl_worker = on');
$node->reload;
wait_for($node, q{SELECT count(*) = 2 FROM app});
pass('on again');

# More databases ask for a visit, after they were found to have nothing, than requests are kept for
value('CREATE DATABASE many0');
value('CREATE EXTENSION dynamo_table', 'many0');
value("CREATE DATABASE many$_ TEMPLATE many0") for 1 .. 17;
for (1 .. 2)
{
	add_due('app', 10);
	wait_for($node, q{SELECT count(*) = 2 FROM app});
}
$node->append_conf('postgresql.conf', 'dynamo_table.ttl_worker = off');
$node->reload;
create_table('more', 1, "many$_") for 0 .. 17;
$node->append_conf('postgresql.conf', 'dynamo_table.ttl_worker = on');
$node->reload;
wait_until_empty('more', "many$_") for 0 .. 17;
pass('many databases');

$node->stop;
done_testing();
