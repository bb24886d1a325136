# ST10: shards that are split while their stream is written and read. A reader who comes to the end of a shard
# before it goes on with its children sees all changes of each item, once and in order, whatever is killed.
# $DYNAMO_TABLE_STRESS_SECONDS says how long the load lasts.
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
	max_prepared_transactions = 5
	# partitions of the log are ten seconds wide
	dynamo_table.stream_retention = 240
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

# A call waits for the worker, which may be on its way.
sub catch_up
{
	wait_until('all is collected', sub {
		my ($status, undef, $error) = $node->psql('postgres', 'CALL dyn_collect_streams()');
		return ($status == 0, $error);
	});
}

my $helpers = q{
	CREATE FUNCTION latest(name text) RETURNS text LANGUAGE sql AS $$ SELECT stream_arn FROM dyn_streams WHERE relation = name::regclass ORDER BY label DESC
		LIMIT 1 $$;
	CREATE FUNCTION shards(name text) RETURNS TABLE (id text, parent text, first text, last text) LANGUAGE plpgsql AS $$
	DECLARE
		page json;
		after text;
	BEGIN
		LOOP
			page := dyn_request('DescribeStream', json_build_object('StreamArn', latest(name), 'ExclusiveStartShardId', after)) -> 'StreamDescription';
			RETURN QUERY SELECT s ->> 'ShardId', s ->> 'ParentShardId', s #>> '{SequenceNumberRange,StartingSequenceNumber}',
				s #>> '{SequenceNumberRange,EndingSequenceNumber}'
				FROM json_array_elements(page -> 'Shards') s;
			after := page ->> 'LastEvaluatedShardId';
			EXIT WHEN after IS NULL;
		END LOOP;
	END $$;
	-- which shards there are, and which of them are closed
	CREATE FUNCTION shown(name text) RETURNS text LANGUAGE sql AS $$
		SELECT string_agg(right(id, 8)::int || coalesce('<' || right(parent, 8)::int, '') || CASE WHEN last IS NULL THEN '' ELSE '.' END, ' ' ORDER BY id)
			FROM shards(name) $$;
	CREATE FUNCTION records(name text, shard int, kind text DEFAULT 'TRIM_HORIZON', at text DEFAULT NULL) RETURNS text LANGUAGE sql AS $$
		SELECT json_array_length(r -> 'Records') || CASE WHEN r ->> 'NextShardIterator' IS NULL THEN ' and the end' ELSE ' and more' END
		FROM (SELECT regexp_replace(min(id), '.{8}$', lpad(shard::text, 8, '0')) AS id FROM shards(name)) s,
			LATERAL dyn_request('GetRecords', json_build_object('ShardIterator', dyn_request('GetShardIterator',
			json_build_object('StreamArn', latest(name), 'ShardIteratorType', kind, 'SequenceNumber', at, 'ShardId', s.id)) ->> 'ShardIterator')) r $$;
	CREATE FUNCTION put(name text, key text) RETURNS void LANGUAGE sql AS $$ SELECT dyn_put(name, jsonb_build_object('pk', key)) $$};

value('CREATE EXTENSION dynamo_table');
value('CALL dyn_setup_streams()');
value($helpers);

sub make
{
	my ($table, $shards) = @_;
	value("SELECT dyn_create_table('$table', 'pk S'); SELECT dyn_enable_stream('$table', 'NEW_IMAGE', $shards)");
}

# In an idle cluster, nothing but the mark tells where the parent has ended
make('idle', 1);
value(q{SELECT put('idle', 'a')});
value(q{SELECT dyn_alter_stream('idle', 2)});
wait_for($node, q{SELECT shown('idle') = '0. 1<0 2<0'});
is(value(q{SELECT records('idle', 0), records('idle', 1), records('idle', 2, 'LATEST')}), '1 and the end|0 and more|0 and more',
	'a split in a cluster where nothing else happens');

# What was taken back did not happen
make('undone', 1);
value(q{BEGIN; SELECT dyn_alter_stream('undone', 2); ROLLBACK});
value(q{BEGIN; SELECT put('undone', 'a'); SAVEPOINT s; SELECT dyn_alter_stream('undone', 2); SELECT put('undone', 'b'); ROLLBACK TO s;
	SELECT put('undone', 'c'); COMMIT});
value(q{BEGIN; SELECT dyn_alter_stream('undone', 4); PREPARE TRANSACTION 'p'; ROLLBACK PREPARED 'p'});
catch_up();
is(value(q{SELECT shown('undone'), records('undone', 0), count(*) FROM dynamo_internal.stream_ends WHERE relation = 'undone'::regclass}), '0|2 and more|0',
	'taken back, with the transaction, a part of it, or when it was prepared');
value(q{BEGIN; SELECT put('undone', 'd'); SELECT dyn_alter_stream('undone', 2); SELECT put('undone', 'e'); PREPARE TRANSACTION 'p'});
catch_up();
is(value(q{SELECT shown('undone'), records('undone', 0)}), '0|2 and more', 'what is prepared is not done');
value(q{COMMIT PREPARED 'p'});
catch_up();
is(value(q{SELECT shown('undone'), records('undone', 0), count(*) FROM dyn_read_stream('undone') WHERE shard > 0}), '0. 1<0 2<0|3 and the end|1',
	'until it is committed');

# A split that is not collected, and then is, by another server process
value('ALTER SYSTEM SET dynamo_table.stream_collector = off');
$node->reload;
wait_for($node, 'SELECT active_pid IS NULL FROM dyn_stream_slots');
value(q{SELECT put('idle', 'b'); SELECT dyn_alter_stream('idle', 4); SELECT put('idle', 'c')});
is(value(q{SELECT shown('idle')}), '0. 1<0 2<0', 'children come with the end of their parents');
$node->stop('immediate');
$node->start;
catch_up();
is(value(q{SELECT shown('idle'), count(*) FROM dyn_read_stream('idle')}), '0. 1<0. 2<0. 3<1 4<2 5<1 6<2|3', 'which a crash does not lose');

# A split in a transaction that the server cannot decode, before or behind what it fails at: the shards end at the next record at the latest
value(q{
	CREATE TABLE written (t text);
	CREATE FUNCTION write(t text) RETURNS void LANGUAGE sql VOLATILE AS $$ INSERT INTO written VALUES (t) $$;
	CREATE FUNCTION writes(t text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM write(t); RETURN t; END $$;
	CREATE TABLE hostile (id serial PRIMARY KEY, t text);
	CREATE INDEX ON hostile (writes(t))});
my $undecodable = q{INSERT INTO hostile (t) VALUES ('x') ON CONFLICT DO NOTHING};
for my $steps ([ $undecodable, q{SELECT dyn_alter_stream('torn', 2)} ], [ q{SELECT dyn_alter_stream('torn', 2)}, $undecodable ])
{
	make('torn', 1);
	value(q{SELECT put('torn', 'a')});
	value("BEGIN; SELECT put('torn', 'lost'); $$steps[0]; $$steps[1]; COMMIT");
	catch_up();
	value(q{SELECT put('torn', 'b')});
	catch_up();
	is(value(q{SELECT shown('torn'), string_agg(keys ->> 'pk', ' ') FROM dyn_read_stream('torn', max_records => 1)}), '0. 1<0 2<0|a',
		'a split in a transaction that cannot be decoded');
	is(value(q{SELECT string_agg(keys ->> 'pk', ' ') FROM dynamo_internal.stream_records WHERE relation = 'torn'::regclass AND shard > 0}), 'b',
		'whose children have what comes after it');
	my (undef, undef, $told) = $node->psql('postgres',
		q{SELECT records('torn', 0, 'AFTER_SEQUENCE_NUMBER', (SELECT max(sequence_number) FROM dyn_read_stream('torn', max_records => 1)))});
	like($told, qr/Changes after the position were not collected/, 'and the reader of the parent is told that something is missing');
	value(q{DROP TABLE torn});
}

# A split that is never decoded: a new slot begins behind it
value(q{SELECT dyn_alter_stream('idle', 8); SELECT put('idle', 'lost')});
value('SELECT pg_drop_replication_slot(slot_name) FROM dyn_stream_slots');
my ($rc, $out, $err) = $node->psql('postgres', q{SELECT dyn_alter_stream('idle', 16)});
like($err, qr/change streams in database "postgres" are broken: slot missing/, 'without the slot, nothing is split');
value('CALL dyn_setup_streams()');
is(value(q{SELECT shown('idle')}), '0. 1<0. 2<0. 3<1. 4<2. 5<1. 6<2. 7<3 8<4 9<5 10<6 11<3 12<4 13<5 14<6',
	'a new slot ends the shards that were split before it');
is(value(q{SELECT records('idle', 3, 'LATEST'), records('idle', 7), records('idle', 0), records('idle', 1, 'LATEST')}),
	'0 and the end|0 and more|1 and the end|0 and the end', 'for readers of the others, without a gap');
value(q{SELECT put('idle', 'd')});
catch_up();
is(value(q{SELECT count(*) FROM generate_series(7, 14) s WHERE records('idle', s) = '1 and more'}), '1', 'and what comes is in their children');

# A dump has the numbers of shards; where they have ended is known when streams are set up, or by the first record
my $dump = $node->basedir . '/dump.sql';
$node->command_ok([ 'pg_dump', '-f', $dump, '-t', 'idle', 'postgres' ], 'dump');
for my $database (qw(before after))
{
	value("CREATE DATABASE $database");
	value('CREATE EXTENSION dynamo_table', $database);
	value('CALL dyn_setup_streams()', $database) if $database eq 'after';
	$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $database, '-f', $dump ], 'restore');
	value($helpers, $database);
	like(value(q{SELECT substring(pg_get_triggerdef(oid) FROM '"shards".*\]') FROM pg_trigger WHERE tgrelid = 'idle'::regclass AND tgname = '~dynamo_keys'},
		$database), qr/"shards": 8, "earlier_shards": \[1, 2, 4\]/, 'its settings');
}
value('CALL dyn_setup_streams()', 'before');
is(value(q{SELECT shown('idle')}, 'before'), '0. 1<0. 2<0. 3<1. 4<2. 5<1. 6<2. 7<3 8<4 9<5 10<6 11<3 12<4 13<5 14<6', 'restored before streams were set up');
is(value(q{SELECT shown('idle')}, 'after'), '0', 'restored after that');
value(q{SELECT put('idle', 'first')}, 'after');
value('CALL dyn_collect_streams()', 'after');
is(value(q{SELECT shown('idle')}, 'after'), '0. 1<0. 2<0. 3<1. 4<2. 5<1. 6<2. 7<3 8<4 9<5 10<6 11<3 12<4 13<5 14<6', 'and written to');
value(q{SELECT dyn_alter_stream('idle', 64); SELECT put('idle', 'second'); SELECT dyn_disable_stream('idle')}, $_) for qw(before after);
for my $database (qw(before after))
{
	value('CALL dyn_collect_streams()', $database);
	is(value(q{SELECT count(*), count(last), bool_and(first <= last) FROM shards('idle')}, $database), '79|79|t', 'it can be split again, and disabled');
	value('CALL dyn_teardown_streams()', $database);
	value("DROP DATABASE $database");
}

# Under load
value('ALTER SYSTEM RESET dynamo_table.stream_collector');
$node->reload;
value(q{
	SELECT dyn_create_table('items', 'pk S');
	SELECT dyn_enable_stream('items', 'NEW_IMAGE', 1);
	CREATE TABLE versions (pk text PRIMARY KEY, n int NOT NULL);
	-- a version of an item, one after the other
	CREATE FUNCTION step(r int) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		version int;
	BEGIN
		INSERT INTO versions AS v VALUES ('k' || r % 40, 1) ON CONFLICT (pk) DO UPDATE SET n = v.n + 1 RETURNING n INTO version;
		PERFORM dyn_put('items', jsonb_build_object('pk', 'k' || r % 40, 'v', version));
	END $$;
	-- a reader, who knows of each shard where it is
	CREATE TABLE leases (shard text PRIMARY KEY, at text, ended boolean NOT NULL DEFAULT false);
	CREATE TABLE seen (n bigserial PRIMARY KEY, shard text, sequence text, pk text, v int);
	CREATE FUNCTION follow() RETURNS bigint LANGUAGE plpgsql AS $$
	DECLARE
		lease leases;
		page json;
		found bigint := 0;
	BEGIN
		INSERT INTO leases SELECT id FROM shards('items') s WHERE parent IS NULL OR EXISTS (SELECT FROM leases l WHERE l.shard = s.parent AND ended)
			ON CONFLICT DO NOTHING;
		FOR lease IN SELECT * FROM leases WHERE NOT ended ORDER BY shard LOOP
			LOOP
				page := dyn_request('GetRecords', json_build_object('Limit', 100, 'ShardIterator',
					dyn_request('GetShardIterator', json_build_object('StreamArn', latest('items'), 'ShardId', lease.shard,
					'ShardIteratorType', CASE WHEN lease.at IS NULL THEN 'TRIM_HORIZON' ELSE 'AFTER_SEQUENCE_NUMBER' END, 'SequenceNumber', lease.at)) ->> 'ShardIterator'));
				INSERT INTO seen (shard, sequence, pk, v) SELECT lease.shard, r #>> '{dynamodb,SequenceNumber}', r #>> '{dynamodb,Keys,pk,S}',
					(r #>> '{dynamodb,NewImage,v,N}')::int
					FROM json_array_elements(page -> 'Records') WITH ORDINALITY v (r, i) ORDER BY i;
				lease.at := coalesce(page #>> ARRAY['Records', (json_array_length(page -> 'Records') - 1)::text, 'dynamodb', 'SequenceNumber'], lease.at);
				found := found + json_array_length(page -> 'Records');
				UPDATE leases SET at = lease.at, ended = page ->> 'NextShardIterator' IS NULL WHERE shard = lease.shard;
				EXIT WHEN page ->> 'NextShardIterator' IS NULL OR json_array_length(page -> 'Records') = 0;
			END LOOP;
		END LOOP;
		RETURN found;
	END $$});

my $script = q{
\set r random(1, 1000000)
\set s random(1, 1000000)
\set commit random(1, 10)
BEGIN;
SELECT step(least(:r % 40, :s % 40));
SELECT step(greatest(:r % 40, :s % 40));
\if :commit = 1
ROLLBACK;
\else
COMMIT;
\endif
};

my $collectors = q{FROM pg_stat_activity WHERE backend_type = 'dynamo_table stream collector'};

sub disturb
{
	my ($what) = @_;
	if ($what == 0)
	{
		crash($node);
		return 'kill -9 of the server';
	}
	my $victim = value("SELECT pid $collectors AND datname = 'postgres'");
	kill('KILL', $victim) if $victim ne '';
	return 'kill -9 of the collector';
}

# Two, four, eight, ... shards; the lock may be refused, and the answer be lost with the server.
my $shards = 1;
my $end = time + $seconds;
for (my $i = 0; time < $end || $shards < 64 || value('SELECT coalesce(sum(n), 0) FROM versions') <= 200; $i++)
{
	my $load = start_load($node, 4, 2, $script);
	select(undef, undef, undef, 0.3 + rand(0.5));
	if ($shards < 64 && $node->psql('postgres', 'SELECT dyn_alter_stream(\'items\', ' . 2 * $shards . ')') == 0)
	{
		$shards *= 2;
		note("$shards shards");
	}
	$node->psql('postgres', 'SELECT follow()');
	if ($i % 2 == 1 || $shards == 64)
	{
		note(disturb($i % 4 == 1 ? 0 : 1));
		wait_until_up($node);
		my ($now) = value(q{SELECT shards FROM dyn_streams WHERE relation = 'items'::regclass});
		$shards = $now;
	}
	finish_load($load);
	wait_until_up($node);
	$node->psql('postgres', 'SELECT follow()');
}
catch_up();
# children of children may be new to the reader
for (my $quiet = 0; $quiet < 8;)
{
	$quiet = value('SELECT follow()') eq '0' ? $quiet + 1 : 0;
}
is(value(q{SELECT shards FROM dyn_streams WHERE relation = 'items'::regclass}), '64', 'the shards were split six times');
cmp_ok(value('SELECT sum(n) FROM versions'), '>', 200, 'there was a load');
is(value('SELECT count(DISTINCT shard) > 40 FROM seen'), 't', 'in shards of all generations');
is(value(q{SELECT count(*) FROM (SELECT pk, v, row_number() OVER (PARTITION BY pk ORDER BY n) AS i FROM seen) s WHERE v <> i}), '0',
	'all changes of an item came in order, and once');
is(value(q{SELECT string_agg(pk, ' ') FROM versions v WHERE n <> (SELECT count(*) FROM seen s WHERE s.pk = v.pk)}), '', 'and none is missing');
is(value('SELECT count(*) FROM (SELECT sequence FROM seen GROUP BY sequence HAVING count(*) > 1) s'), '0', 'no number is there twice');
is(value(q{SELECT count(*), count(*) FILTER (WHERE ended) FROM leases}), '127|63', 'the reader has come to the end of all shards that were split');
is(value(q{SELECT count(*) FROM seen JOIN shards('items') s ON s.id = seen.shard WHERE sequence < first OR sequence > last}), '0',
	'their numbers are within those of their shards');
DynamoTable::check_tables($node, 'after the load');

# Closed shards go with their records; what is open stays
value('ALTER SYSTEM SET dynamo_table.stream_retention = 1');
$node->reload;
wait_for($node, q{SELECT count(*) = 64 AND bool_and(last IS NULL) FROM shards('items')});
is(value(q{SELECT min(right(id, 8)::int), max(right(id, 8)::int), count(parent) FROM shards('items')}), '63|126|64',
	'expired shards are gone, and the others have kept their numbers');
is(value(q{SELECT count(*) FROM json_array_elements(dyn_request('DescribeStream', json_build_object('StreamArn', latest('items'), 'ShardFilter',
	json_build_object('Type', 'CHILD_SHARDS', 'ShardId', (SELECT max(parent) FROM shards('items'))))) #> '{StreamDescription,Shards}')}), '2',
	'a reader who was at their end finds its children');
$node->stop;
done_testing();
