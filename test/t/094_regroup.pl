# dyn_regroup() beside writers, streams and decoding, and killed in the midst: no change is lost, none has a record that is not
# due, and tables and indexes are sound.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(allows_streaming => 'logical');
allow_plugin($node);
$node->append_conf('postgresql.conf', q{
	shared_preload_libraries = dynamo_table
	max_connections = 40
	max_prepared_transactions = 2
	restart_after_crash = on
	max_wal_size = 2GB
	log_statement = none
});
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION dynamo_table');
$node->safe_psql('postgres', 'CALL dyn_setup_streams()');

sub value
{
	my ($sql) = @_;
	return $node->safe_psql('postgres', $sql);
}

# Makes a table whose collections are on as many pages as they can be.
sub scattered
{
	my ($table, $collections, $items) = @_;
	value(qq{SELECT dyn_create_table('$table', 'p S', 's N', global_indexes => '{"ByKind": {"partition_key": "kind S"}}')});
	value(qq{SET dynamo_table.placement = off; INSERT INTO $table (item) SELECT jsonb_build_object('p', 'c' || p, 's', s, 'v', 0, 'kind', 'k' || s % 7,
		'filling', repeat('x', 200)) FROM generate_series(1, $items) s, generate_series(1, $collections) p ORDER BY s, p});
	value("VACUUM ANALYZE $table");
	value("SELECT dyn_enable_stream('$table', 'NEW_IMAGE')");
}

sub ratio
{
	my ($table) = @_;
	return value("SELECT round((pages / ideal_pages)::numeric, 2) FROM dyn_table_statistics('$table', 0) WHERE kind = 'table'");
}

# Alone: a stream gets no record, and a decoder of the server's own sees no transaction that is not marked as no change.
scattered('quiet', 100, 60);
value("SELECT pg_create_logical_replication_slot('decoded', 'test_decoding')");
value('CREATE TABLE before_it AS SELECT p, s, item FROM quiet');
cmp_ok(ratio('quiet'), '>', 10, 'collections are scattered');
value("CALL dyn_regroup('quiet')");
cmp_ok(ratio('quiet'), '<=', 1.2, 'collections are together');
is(value('SELECT count(*) FROM ((TABLE before_it EXCEPT SELECT p, s, item FROM quiet) UNION ALL (SELECT p, s, item FROM quiet EXCEPT TABLE before_it)) d'),
	'0', 'and have the items that they had');
is(value(q{SELECT count(*) FROM pg_logical_slot_get_changes('decoded', NULL, NULL, 'only-local', 'on') WHERE data LIKE 'table public.quiet:%'}), '0',
	'who decodes only what is local gets no change');
value('CALL dyn_collect_streams()');
is(value(q{SELECT count(*) FROM dyn_read_stream('quiet')}), '0', 'the stream has no record');

# What a function of an index writes is decoded as ever.
value(q{CREATE TABLE written (p text);
	CREATE FUNCTION written_length(text) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.written VALUES ($1); RETURN length($1); END $$;
	CREATE FUNCTION constant_length(text) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN public.written_length($1); END $$});
scattered('writing', 10, 60);
value('CREATE INDEX ON writing (constant_length(p))');
value(q{TRUNCATE written; SELECT count(*) FROM pg_logical_slot_get_changes('decoded', NULL, NULL)});
value("CALL dyn_regroup('writing')");
cmp_ok(value('SELECT count(*) FROM written'), '>', 500, 'a function of an index writes');
is(value(q{SELECT count(*) FROM pg_logical_slot_get_changes('decoded', NULL, NULL, 'only-local', 'on') WHERE data LIKE 'table public.written: INSERT%'}),
	value('SELECT count(*) FROM written'), 'all of which is decoded');
is(value(q{SELECT count(*) FROM pg_logical_slot_get_changes('decoded', NULL, NULL, 'only-local', 'on') WHERE data LIKE 'table public.writing:%'}), '0',
	'but not the moves');

# A snapshot from before keeps what has left in its place: the job waits, says so, and goes on.
scattered('waiting', 40, 60);
my $reader = $node->background_psql('postgres');
$reader->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM waiting');
my $size = value("SELECT pg_relation_size('waiting')");
my ($out, $err) = ('', '');
my $job = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', "CALL dyn_regroup('waiting')" ], '>', \$out, '2>', \$err);
wait_for($node, q{SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE 'CALL dyn_regroup%' AND wait_event = 'PgSleep'});
sleep 2;
cmp_ok(value("SELECT pg_relation_size('waiting')"), '<', 1.2 * $size, 'the table does not grow meanwhile');
is($reader->query_safe('SELECT count(*) FROM waiting'), '2400', 'the reader sees what it saw');
$reader->query_safe('COMMIT');
$reader->quit;
ok($job->finish, 'the job ends') or diag $err;
cmp_ok(ratio('waiting'), '<=', 1.2, 'and has moved all');

# A plan that was made of a file that the table no longer has is dropped: VACUUM FULL has put collections together.
scattered('rewritten', 60, 60);
$job = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', "CALL dyn_regroup('rewritten', max_rate => 500)" ], '>', \$out, '2>', \$err);
wait_for($node, q{SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE 'CALL dyn_regroup%' AND wait_event = 'PgSleep'});
value('VACUUM FULL rewritten');
ok($job->finish, 'the job ends') or diag $err;
cmp_ok(ratio('rewritten'), '<=', 1.2, 'and leaves what VACUUM FULL has put together');

# Beside writers.  Each notes what it has done in the same transaction, while it has the item locked.
scattered('busy', 500, 60);
value(q{
	CREATE TABLE done (id bigserial PRIMARY KEY, p text, s numeric, v numeric);
	CREATE FUNCTION change(p text, s int) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		key dyn_item := jsonb_build_object('p', p, 's', s);
		item dyn_item;
	BEGIN
		IF random() < 0.8 THEN
			item := dyn_update('busy', key, 'SET filling = :p ADD v :n', vals => jsonb_build_object(':n', 1, ':p', repeat('x', 200)), return_values => 'ALL_NEW');
			INSERT INTO done (p, s, v) VALUES (p, s, (item->>'v')::numeric);
		ELSE
			item := dyn_delete('busy', key, return_values => 'ALL_OLD');
			IF item IS NOT NULL THEN
				INSERT INTO done (p, s, v) VALUES (p, s, NULL);
			END IF;
		END IF;
	END $$});
my $script = "\\set p random(1, 500)\n\\set s random(1, 60)\nSELECT change('c' || :p, :s);\n";
my $model = q{SELECT count(*) FROM (SELECT DISTINCT ON (p, s) p, s, v FROM done ORDER BY p, s, id DESC) d FULL JOIN
	(SELECT p, s, (item->>'v')::numeric AS v FROM busy) b USING (p, s) WHERE coalesce(d.v, 0) IS DISTINCT FROM coalesce(b.v, 0)
	OR (d.v IS NULL AND d.p IS NOT NULL AND b.p IS NOT NULL AND EXISTS (SELECT FROM done o WHERE o.p = d.p AND o.s = d.s AND o.v IS NULL
		AND o.id = (SELECT max(id) FROM done m WHERE m.p = d.p AND m.s = d.s)))};

sub regroup
{
	return IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', "CALL dyn_regroup('busy')" ], '>', \$out, '2>', \$err);
}

for my $round (1 .. 4)
{
	my $load = start_load($node, 4, 60, $script);
	await_load($node, 4);
	$job = regroup();
	wait_for($node, q{SELECT bool_or(rows_done > 0) FROM dyn_jobs WHERE relation = 'busy'::regclass AND state = 'running'});
	my $pid = value(q{SELECT pid FROM pg_stat_activity WHERE query LIKE 'CALL dyn_regroup%'});
	kill 'KILL', $pid;
	$job->finish;
	$load->{harness}->finish;
	wait_until_up($node);
	is(value($model), '0', "killed, round $round: no change is lost");
}
check_storage($node, 'killed in the midst');
my $load = start_load($node, 4, 600, $script);
await_load($node, 4);
$job = regroup();
ok($job->finish, 'it ends beside writers') or diag $err;
stop_load($load);
ok(finish_load($load), 'none of which has an error');
is(value($model), '0', 'no change is lost');
is(value(q{SELECT state FROM dyn_jobs WHERE relation = 'busy'::regclass}), 'finished', 'one job has gone on all the time');
cmp_ok(ratio('busy'), '<', 4, 'collections are together, but for what was locked or came meanwhile');
value("CALL dyn_regroup('busy')");
cmp_ok(ratio('busy'), '<=', 1.4, 'which the next one moves');
value('CALL dyn_collect_streams()');
is(value(q{SELECT count(*) FROM dyn_read_stream('busy', max_records => 10000000)}), value('SELECT count(*) FROM done'),
	'the stream has a record of each change, and no other');
check_storage($node, 'at the end');

# An index that is declared stops the job, which goes on when the index is there.  A prepared transaction starts no worker, so
# the index is not there until somebody calls for it.
scattered('indexed', 60, 60);
$job = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', "CALL dyn_regroup('indexed', max_rate => 100)" ], '>', \$out, '2>', \$err);
wait_for($node, q{SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE 'CALL dyn_regroup%' AND wait_event = 'PgSleep'});
value(q{BEGIN; SELECT dyn_request('UpdateTable', '{"TableName": "indexed", "AttributeDefinitions": [{"AttributeName": "v", "AttributeType": "N"}],
	"GlobalSecondaryIndexUpdates": [{"Create": {"IndexName": "ByValue", "KeySchema": [{"AttributeName": "v", "KeyType": "HASH"}],
	"Projection": {"ProjectionType": "ALL"}}}]}'); PREPARE TRANSACTION 'declared'});
value(q{COMMIT PREPARED 'declared'});
ok(!$job->finish, 'an index stops it');
like($err, qr/an index or time to live of table "indexed" is being created/, 'which it says');
value(q{CALL dynamo_internal.resume_index('public.indexed', 'ByValue')});
is(value(q{SELECT count(*) FROM dyn_query('indexed', 'v = :v', 'ByValue', vals => '{":v": {"N": "0"}}')}), '3600', 'the index has all items');
value("CALL dyn_regroup('indexed')");
cmp_ok(ratio('indexed'), '<=', 1.2, 'it goes on when the index is there');
is(value(q{SELECT count(*) FROM dyn_query('indexed', 'v = :v', 'ByValue', vals => '{":v": {"N": "0"}}')}), '3600', 'which finds what has moved');
check_storage($node, 'with an index');

done_testing();
