# Covering indexes come to a table in use and go again: cancels, ends of sessions and of the server in between lose nothing and
# change nothing of what was settled; entries, columns and rows agree. $DYNAMO_TABLE_STRESS_SECONDS says how long it is written (5).
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $seconds = $ENV{DYNAMO_TABLE_STRESS_SECONDS} || 5;
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum_naptime = 1s\nmax_connections = 30\nrestart_after_crash = on\nsynchronous_commit = on");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION dynamo_table;
	CREATE EXTENSION amcheck;
	SELECT dyn_create_table('app', 'pk S', 'sk N');
	CREATE FUNCTION key(k int) RETURNS dyn_item IMMUTABLE LANGUAGE sql AS $$ SELECT jsonb_build_object('pk', 'p' || k % 50, 'sk', k)::dyn_item $$;
	CREATE FUNCTION item(k int, v int) RETURNS dyn_item IMMUTABLE LANGUAGE sql AS $$
		SELECT (key(k)::jsonb || jsonb_build_object('n', v, 'pad', CASE WHEN v % 2 = 0 THEN repeat('pad', v * 30)
			ELSE (SELECT string_agg(md5(v || '/' || i), '') FROM generate_series(1, v) i) END)
			|| CASE WHEN v % 5 > 0 THEN jsonb_build_object('g', 'g' || v % 7) ELSE '{}' END)::dyn_item $$;
	INSERT INTO app (item) SELECT item(k, k % 60) FROM generate_series(1, 1500) k});

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

# The definition that the table has, without its status.
sub definition
{
	my ($index) = @_;
	return value(qq{SELECT (substring(pg_get_triggerdef(oid) FROM '(\\{"name": "$index".*?\\})''')::jsonb - 'status')::text FROM pg_trigger
		WHERE tgrelid = 'app'::regclass AND tgname = '~dynamo_keys'});
}

# By both stores the index has, of the items with its keys, what it projects; and nothing else is wrong.
sub check_index
{
	my ($name, $index, $condition, $part) = @_;
	is(status($index), 'ACTIVE', "$name: active");
	$part = $part ? "(SELECT jsonb_object_agg(key, value) FROM jsonb_each(item::text::jsonb) WHERE key IN ($part))::text::dyn_item" : 'item';
	foreach my $direct (qw(on off))
	{
		is(value(qq{SET dynamo_table.direct_store = $direct;
			WITH entries AS MATERIALIZED (SELECT i::text FROM dyn_scan('app', '$index') i), expected AS MATERIALIZED (SELECT ($part)::text FROM app WHERE $condition)
			SELECT count(*) FROM ((TABLE entries EXCEPT ALL TABLE expected) UNION ALL (TABLE expected EXCEPT ALL TABLE entries)) d}), '0',
				"$name: entries are what the rows have, direct_store = $direct");
	}
	check_table($name);
}

sub check_table
{
	my ($name) = @_;
	is(value(q{SELECT string_agg(object || ': ' || problem, '; ') FROM dyn_check_table('app')}), '', "$name: nothing is wrong");
	is(($node->psql('postgres', q{SELECT bt_index_check(indexrelid, true) FROM pg_index WHERE indrelid = 'app'::regclass}))[2], '', "$name: btrees are complete");
	is(value(q{SELECT count(*) FROM pg_index WHERE indrelid = 'app'::regclass AND NOT indisvalid}), 0, "$name: nothing is half built");
}

my $worker = q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'dynamo_table index' AND wait_event = 'virtualxid'
	AND query LIKE 'CREATE INDEX CONCURRENTLY%'};

# Interrupted while another session's snapshot holds up the build; the call that is advised goes on, in a session with other settings.
my %ways = (
	cancel => sub { value('SELECT pg_cancel_backend(pids[1]) FROM dyn_jobs') },
	'end of the worker' => sub { value("SELECT pg_terminate_backend(pid) FROM ($worker) w") },
	'kill of the session' => sub { kill 'KILL', value('SELECT pids[1] FROM dyn_jobs'); wait_until_up($node) });
for my $made (
	[ 'Chosen', q{'g S', 'n N', covering => true}, q{item ? 'g'}, '', 'cancel', '"covering": "column"' ],
	[ 'Column', q{'g S', 'n N', covering => true}, q{item ? 'g'}, '', 'kill of the session', '"covering": "column"' ],
	[ 'Second', q{'g S', covering => true}, q{item ? 'g'}, '', 'end of the worker', '"covering": "column"' ],
	[ 'Part', q{'n N', projection => 'INCLUDE', non_key_attributes => ARRAY['g', 'it''s'], covering => true}, 'true', q{'pk', 'sk', 'n', 'g'}, 'cancel',
		'"covering": "column"' ])
{
	my ($index, $arguments, $condition, $part, $way, $settled) = @$made;
	my $name = "$index, $way";
	my $call = "CALL dyn_create_index('app', '$index', $arguments)";
	my $holder = begin('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1; SELECT pg_sleep(600)');
	wait_for($node, q{SELECT count(*) > 0 FROM pg_stat_activity WHERE query LIKE 'BEGIN ISO%' AND backend_xmin IS NOT NULL AND wait_event = 'PgSleep'});
	my $build = do { local $ENV{PGOPTIONS} = '-c dynamo_table.covering_entry_limit=700'; begin($call) };
	wait_for($node, "SELECT count(*) > 0 FROM ($worker) w");
	is(value('SELECT step FROM dyn_jobs'), 'building', "$name: the progress says so");
	$ways{$way}->();
	ok(!end($build), "$name: the call fails");
	value(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'BEGIN ISO%'}) if $way ne 'kill of the session';
	end($holder);
	is(status($index), 'CREATING', "$name: still in the making");
	like(($node->psql('postgres', "SELECT count(*) FROM dyn_scan('app', '$index')"))[2], qr/cannot be read/, "$name: not read yet");
	my $before = definition($index);
	like($before, qr/$settled/, "$name: how it is covering is settled");
	like($before, qr/"entry_limit": 700/, "$name: and its limit");
	like(($node->psql('postgres', $call =~ s/, covering.*/)/r))[2], qr/with another definition is there/, "$name: an index that is not covering is another one");
	value(q{SELECT count(dyn_put('app', item(k, k % 59))) FROM generate_series(1, 300) k});
	my $advice = value(qq{SELECT substring(advice FROM 'CALL .*;') FROM dyn_check_table('app') WHERE object = 'index "$index"'});
	my ($rc, $out, $err) = $node->psql('postgres', $way eq 'cancel' ? $call : $advice);
	is($rc, 0, "$name: goes on") or diag("$advice\n$err");
	is(definition($index), $before, "$name: with what was settled");
	check_index($name, $index, $condition, $part);
}

# Dropped and made again while it is written, by plain SQL and by both stores; UpdateTable's are made by a worker.
my $load = sub {
	return start_load($node, 3, $_[0], <<'EOS');
\set direct random(0, 1)
\set k random(1, 1650)
\set v random(0, 60)
\set op random(1, 100)
SET dynamo_table.direct_store = :direct;
\if :op <= 40
SELECT dyn_put('app', item(:k, :v));
\elif :op <= 60
SELECT dyn_update('app', key(:k), 'SET #p = if_not_exists(n, :more) ADD n :more', names => '{"#p": "pad"}', vals => '{":more": {"N": "3"}}');
\elif :op <= 75
SELECT dyn_delete('app', key(:k));
\elif :op <= 90
INSERT INTO app (item) VALUES (item(:k, :v)) ON CONFLICT (pk, sk) DO UPDATE SET item = excluded.item;
\else
BEGIN;
SELECT dyn_put('app', item(:k, :v));
ROLLBACK;
\endif
EOS
};
my $writers = $load->($seconds);
my ($rc, $out, $err) = (0, '', '');
value("CALL dyn_drop_index('app', '$_')") for 'Column', 'Second';
value(q{CALL dyn_create_index('app', 'Column', 'g S', 'n N', covering => true)});
($rc, $out, $err) = $node->psql('postgres', q{CALL dyn_create_index('app', 'Second', 'g S', covering => true)});
like($err, qr/NOTICE:  index "Second" of table "app" is active.*Items filled in: \d+\. /s, 'says how many items were filled in');
value(q{REINDEX INDEX CONCURRENTLY "app_Column"});
value(q{REINDEX INDEX CONCURRENTLY "app_Second"});
value(q{SET dynamo_table.covering_indexes = on; SELECT dyn_request('UpdateTable',
	'{"TableName": "app", "AttributeDefinitions": [{"AttributeName": "g", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "N"}],
	"GlobalSecondaryIndexUpdates": [
	{"Create": {"IndexName": "Asked", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
		"Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["pad"]}}}]}')});
wait_for($node, q{SELECT count(*) > 0 FROM jsonb_array_elements(dyn_describe_table('app') -> 'GlobalSecondaryIndexes') i WHERE i ->> 'IndexName' = 'Asked'
	AND i ->> 'IndexStatus' = 'ACTIVE'});
like(definition('Asked'), qr/"covering": "column"/, 'UpdateTable makes covering indexes if it is told to');
ok(defined finish_load($writers), 'no writer failed') or diag($writers->{err});
my @indexes = ([ 'Chosen', q{item ? 'g' AND item ? 'n'}, '' ], [ 'Column', q{item ? 'g' AND item ? 'n'}, '' ], [ 'Second', q{item ? 'g'}, '' ],
	[ 'Part', q{item ? 'n'}, q{'pk', 'sk', 'n', 'g'} ], [ 'Asked', q{item ? 'g'}, q{'pk', 'sk', 'g', 'pad'} ]);
check_index('written meanwhile', @$_) for @indexes;

# The server ends while writers and a build are at work.
value(q{CALL dyn_drop_index('app', 'Column')});
$writers = $load->(600);
wait_for($node, q{SELECT sum(n_tup_ins + n_tup_upd) > 0 FROM pg_stat_user_tables WHERE relname = 'app'});
my $build = begin(q{CALL dyn_create_index('app', 'Column', 'g S', 'n N', covering => true)});
wait_for($node, q{SELECT count(*) > 0 FROM dyn_jobs});
crash($node);
end($build);
end($writers);
value(q{CALL dyn_create_index('app', 'Column', 'g S', 'n N', covering => true)}) if status('Column') ne 'ACTIVE';
check_index('after a crash', @$_) for @indexes;

# VACUUM FULL, CLUSTER and the end of all of them
value('VACUUM FULL app');
value('CLUSTER app USING app_pkey');
value('VACUUM app');
check_index('after rewrites', @$_) for @indexes;
value(q{SELECT dyn_request('UpdateTable', '{"TableName": "app", "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "Asked"}}]}')});
wait_for($node, q{SELECT dyn_describe_table('app')::text !~ 'Asked'});
value("CALL dyn_drop_index('app', '$_')") for qw(Chosen Column Second Part);
check_table('without indexes');
is(value(q{SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'app'::regclass AND attnum > 0 AND NOT attisdropped}),
	'item pk sk', 'no column is left');
check_storage($node, 'at the end');
$node->stop;
done_testing();
