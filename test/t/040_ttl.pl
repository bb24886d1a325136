# TT10, TT14, ST11: sweeps on demand while others write, their marks in logical decoding, crashes, standbys, dumps.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(allows_streaming => 'logical');
$node->append_conf('postgresql.conf', 'max_prepared_transactions = 2');
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION dynamo_table;
	SELECT dyn_create_table('app', 'id S');
	CREATE FUNCTION due(name text, n int) RETURNS void LANGUAGE sql AS $$
		INSERT INTO app (item) SELECT jsonb_build_object('id', name || i, 'pad', repeat('x', 300), 'expires', floor(extract(epoch FROM clock_timestamp())) - 1 - i)
			FROM generate_series(1, n) i $$});

sub value
{
	my ($sql) = @_;
	return $node->safe_psql('postgres', $sql);
}

# Marks: each batch is a transaction of its own with nothing else, and so is each batch of items that are filled in.
value("SELECT due('old', 3)");
value("SELECT pg_create_logical_replication_slot('slot', 'test_decoding')");
my (undef, undef, $told) = $node->psql('postgres', "CALL dyn_enable_ttl('app', 'expires')");
like($told, qr/expired items of table "app" are removed by dyn_sweep_ttl only/, 'without preloading it says that nothing runs by itself');
my $oid = value("SELECT 'app'::regclass::oid");

# What a statement's transactions did to the table, a letter for each change, and the marks.
sub changes
{
	my $changes = value(q{SELECT string_agg(CASE WHEN data LIKE 'message:%' THEN '[' || substring(data FROM 'content:(\w+ \w+ \d+)') || ']'
		WHEN data = 'BEGIN' THEN '(' WHEN data = 'COMMIT' THEN ')'
		ELSE substring(data FROM 'table (?:public\.)?([\w.]+: [A-Z])') || ';' END, '') FROM pg_logical_slot_get_changes('slot', NULL, NULL, 'include-xids', '0')});
	$changes =~ s/\(\)//g;
	return $changes;
}
my $filled = changes();
like($filled, qr/\(\[backfill start $oid\](app: U;){3}\[backfill end $oid\]\)/, 'the updates that fill columns are marked');
value("CALL dyn_sweep_ttl('app', batch_size => 2)");
is(changes(), "([expiry start $oid]app: D;app: D;[expiry end $oid])([expiry start $oid]app: D;[expiry end $oid])(dynamo_internal.ttl_sweeps: I;)",
	'the deletes of a batch are marked, and a transaction of their own');
value(q{SELECT dyn_put('app', '{"id":{"S":"u"},"expires":{"N":"1"}}'), dyn_delete('app', '{"id":{"S":"u"}}')});
is(changes(), '(app: I;app: D;)', 'a delete by a user is not');
value("SELECT due('trigger', 1)");
value(q{CREATE FUNCTION more() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN DELETE FROM public.app WHERE id = 'other'; RETURN OLD; END $$;
	CREATE TRIGGER more AFTER DELETE ON app FOR EACH ROW WHEN (OLD.id = 'trigger1') EXECUTE FUNCTION more();
	SELECT dyn_put('app', '{"id":{"S":"other"}}')});
changes();
value("CALL dyn_sweep_ttl('app')");
like(changes(), qr/^\(\[expiry start $oid\](app: D;){2}\[expiry end $oid\]\)/, 'what a trigger does is between the marks too');
value('DROP FUNCTION more CASCADE');
value("SELECT pg_drop_replication_slot('slot')");
value('ALTER SYSTEM SET wal_level = replica');
$node->restart;

# Two sweepers beside clients that prolong items: what was prolonged stays, and all else goes.
value("SELECT due('p', 30000); CREATE TABLE prolonged (id text)");
value(q{CREATE FUNCTION prolong(i int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM dyn_update('app', jsonb_build_object('id', 'p' || i), 'SET expires = :e', condition => 'attribute_exists(id)', vals => '{":e":{"N":"4e9"}}');
	INSERT INTO prolonged VALUES ('p' || i);
EXCEPTION WHEN sqlstate 'YD002' THEN NULL;
END $$});
my $load = start_load($node, 4, 600, "\\set i random(1, 30000)\nSELECT prolong(:i);\n");
my @sweepers = map { start_load($node, 1, 600, "CALL dyn_sweep_ttl('app', batch_size => 7, time_budget => '0.2 s');\n") } 1 .. 2;
wait_for($node, 'SELECT deleted > 1000 AND (SELECT count(*) > 1000 FROM prolonged) FROM dyn_ttl_tables');
stop_load($_), finish_load($_) for (@sweepers, $load);
value("CALL dyn_sweep_ttl('app')");
is(value('SELECT count(*) FROM prolonged p WHERE NOT EXISTS (SELECT FROM app WHERE id = p.id)'), 0, 'no item that was prolonged is gone');
is(value('SELECT count(*) FROM app a WHERE NOT EXISTS (SELECT FROM prolonged WHERE id = a.id)'), 0, 'all others are');
is(value(q{SELECT (SELECT count(DISTINCT id) FROM prolonged) + deleted - 4 FROM dyn_ttl_tables}), 30000, 'each removal was counted once');

# Begun, and not ended: a prepared transaction starts no worker. Writes keep the column; each way of going on does.
value(q{SELECT dyn_create_table('begun', 'id S'); SELECT dyn_put('begun', '{"id":{"S":"1"},"expires":{"N":"2e9"}}')});
sub leave
{
	my ($call) = @_;
	my (undef, undef, $err) = $node->psql('postgres', "BEGIN; $call; PREPARE TRANSACTION 'left'; COMMIT PREPARED 'left'");
	like($err, qr/WARNING:  a prepared transaction starts no background worker to go on with time to live of table "begun"/, "$call in a prepared transaction");
	return $err =~ /HINT:  Run (CALL .*)\.$/m ? $1 : '';
}
sub status
{
	return value(q{SELECT dyn_request('DescribeTimeToLive', '{"TableName": "begun"}') #>> '{TimeToLiveDescription,TimeToLiveStatus}'});
}
my $again = leave("CALL dyn_enable_ttl('begun', 'expires', true)");
is($again, q{CALL dynamo_internal.resume_ttl('public.begun')}, 'with the call that goes on');
is(status(), 'ENABLING', 'it is left half done');
like(($node->psql('postgres', "CALL dyn_sweep_ttl('begun')"))[2], qr/time to live of table "begun" is not enabled/, 'no sweep yet');
value(q{SELECT dyn_put('begun', '{"id":{"S":"2"},"expires":{"N":"2e9"}}')});
is(value(q{SELECT id FROM begun WHERE "~ttl" IS NOT NULL}), '2', 'writes fill the column');
value("CALL dyn_enable_ttl('begun', 'expires')");
is(status() . value(q{SELECT hide_expired FROM dyn_ttl_tables WHERE relation = 'begun'::regclass}), 'ENABLEDt', 'the same call ends it, as it was begun');
is(value(q{SELECT count(*) FROM begun WHERE "~ttl" = 2000000000}), 2, 'with all items');
leave("CALL dyn_disable_ttl('begun')");
is(status(), 'DISABLING', 'disabling is left half done');
value("CALL dyn_enable_ttl('begun', 'expires')");
is(status(), 'ENABLED', 'enabling it again takes that back');
value(leave("CALL dyn_disable_ttl('begun')"));
is(status(), 'DISABLED', 'the same call again ends it');
value('DROP TABLE begun');

# A crash between batches: what was removed is, the rest is for the next sweep.
value(q{TRUNCATE app; SELECT due('c', 2000);
	CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.005); RETURN OLD; END $$;
	CREATE TRIGGER slow BEFORE DELETE ON app FOR EACH ROW EXECUTE FUNCTION slow()});
my $sweep = start_load($node, 1, 1, "CALL dyn_sweep_ttl('app', batch_size => 5);\n");
wait_for($node, 'SELECT count(*) < 1900 FROM app');
crash($node);
eval { finish_load($sweep) };
my $left = value('SELECT count(*) FROM app');
cmp_ok($left, '<', 1900, 'what was committed before the crash is gone');
cmp_ok($left, '>', 0, 'and some is left');
value('DROP FUNCTION slow CASCADE');
is(value("CALL dyn_sweep_ttl('app')"), $left, 'the next sweep removes it');
is(value("CALL dyn_sweep_ttl('app')"), 0, 'and one that passes what is left of it in the index');
check_storage($node, 'after a crash');

# A standby shows what is due, hides it, and removes nothing until it is promoted.
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
value("SELECT due('s', 10)");
$node->psql('postgres', "CALL dyn_enable_ttl('app', 'expires', hide_expired => true)");
$node->wait_for_catchup($standby);
is($standby->safe_psql('postgres', 'SELECT due_items FROM dyn_ttl_tables'), 10, 'a standby counts what is due');
is($standby->safe_psql('postgres', q{SELECT dyn_get('app', '{"id":{"S":"s1"}}') IS NULL, count(*) FROM app}), 't|10', 'and hides it');
my (undef, undef, $refused) = $standby->psql('postgres', "CALL dyn_sweep_ttl('app')");
like($refused, qr/cannot execute dyn_sweep_ttl in a read-only transaction/, 'and does not sweep');
$standby->promote;
is($standby->safe_psql('postgres', "CALL dyn_sweep_ttl('app')"), 10, 'once promoted it does');
$standby->stop;

# A dump, restored: items expire there as here.
my $dump = $node->basedir . '/dump.sql';
$node->command_ok([ 'pg_dump', '-f', $dump, '-d', $node->connstr('postgres') ], 'dump');
value('CREATE DATABASE restored');
$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', $dump, '-d', $node->connstr('restored') ], 'restore');
is($node->safe_psql('restored', 'SELECT attribute, status, hide_expired, due_items, last_sweep, deleted FROM dyn_ttl_tables'), 'expires|ENABLED|t|10||0',
	'the restored table knows its attribute, and begins anew');
is($node->safe_psql('restored', 'CALL dyn_sweep_ttl()'), 10, 'and items expire there');
is(value('SELECT count(*) FROM app'), 10, 'but not here');

$node->stop;
done_testing();
