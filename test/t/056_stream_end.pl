# ST10: the end of a disabled stream. It is written once, in the order of commits, so readers find it although nothing else happens in the cluster;
# and no stream has one that goes on.
use strict;
use warnings;

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
	max_prepared_transactions = 5
	autovacuum = off
	log_statement = none
});
$node->start;

sub value { return $node->safe_psql('postgres', $_[0]); }

value('CREATE EXTENSION dynamo_table');
value('CALL dyn_setup_streams()');
value(q{
	CREATE FUNCTION latest(name text) RETURNS text LANGUAGE sql AS $$ SELECT stream_arn FROM dyn_streams WHERE relation = name::regclass ORDER BY label DESC
		LIMIT 1 $$;
	CREATE FUNCTION shard(arn text, which text) RETURNS text LANGUAGE sql AS $$
		SELECT dyn_request('DescribeStream', json_build_object('StreamArn', arn)) #>> ARRAY['StreamDescription', 'Shards', '0', 'SequenceNumberRange', which] $$;
	CREATE FUNCTION has_end(arn text) RETURNS boolean LANGUAGE sql AS $$ SELECT shard(arn, 'EndingSequenceNumber') IS NOT NULL $$;
	-- how many records GetRecords gives, and whether there is a next iterator
	CREATE FUNCTION reads(arn text, kind text DEFAULT 'TRIM_HORIZON') RETURNS text LANGUAGE sql AS $$
		SELECT json_array_length(r -> 'Records') || CASE WHEN r ->> 'NextShardIterator' IS NULL THEN ' and the end' ELSE ' and more' END
		FROM dyn_request('GetRecords', json_build_object('ShardIterator',
			dyn_request('GetShardIterator', json_build_object('StreamArn', arn, 'ShardIteratorType', kind,
			'ShardId', dyn_request('DescribeStream', json_build_object('StreamArn', arn)) #>> '{StreamDescription,Shards,0,ShardId}')) ->> 'ShardIterator')) r $$;
	CREATE FUNCTION put(name text, key text) RETURNS void LANGUAGE sql AS $$ SELECT dyn_put(name, jsonb_build_object('pk', key)) $$});

# A table with a stream, and its ARN.
sub make
{
	my ($table) = @_;
	value("SELECT dyn_create_table('$table', 'pk S'); SELECT dyn_enable_stream('$table', 'NEW_IMAGE', 1)");
	return value("SELECT latest('$table')");
}

# All that was committed is collected, as a reader is told.
sub catch_up { value('CALL dyn_collect_streams()'); }

# An idle cluster: there are no writes after the disabling
my $arn = make('plain');
value(q{SELECT put('plain', 'a')});
catch_up();
is(value("SELECT has_end('$arn'), reads('$arn')"), 'f|1 and more', 'an enabled stream has no end');
value(q{SELECT dyn_disable_stream('plain')});
wait_for($node, "SELECT has_end('$arn')");
is(value("SELECT reads('$arn'), reads('$arn', 'LATEST')"), '1 and the end|0 and the end', 'a disabled one has, though nothing else happens');
is(value("SELECT shard('$arn', 'EndingSequenceNumber') = max(sequence_number) FROM dyn_read_stream('plain')"), 't', 'it ends with its last record');

# By a request, and without any record
$arn = make('empty');
value(q{SELECT dyn_request('UpdateTable', '{"TableName": "empty", "StreamSpecification": {"StreamEnabled": false}}')});
wait_for($node, "SELECT has_end('$arn')");
is(value("SELECT reads('$arn')"), '0 and the end', 'UpdateTable does the same');

# What the same transaction has written before belongs to it; the next stream has what comes after
$arn = make('both');
value(q{BEGIN; SELECT put('both', 'before'); SELECT dyn_disable_stream('both'); SELECT put('both', 'between');
	SELECT dyn_enable_stream('both', 'NEW_IMAGE', 1); SELECT put('both', 'after'); COMMIT});
wait_for($node, "SELECT has_end('$arn')");
is(value("SELECT reads('$arn'), reads(latest('both')), has_end(latest('both'))"), '1 and the end|1 and more|f', 'disabled and enabled in one transaction');
value(q{SELECT dyn_disable_stream('both')});
wait_for($node, q{SELECT has_end(latest('both'))});
is(value("SELECT reads('$arn'), reads(latest('both'))"), '1 and the end|1 and the end', 'each has its end');
value(q{BEGIN; SELECT dyn_enable_stream('both', 'NEW_IMAGE', 1); SELECT put('both', 'short'); SELECT dyn_disable_stream('both'); COMMIT});
wait_for($node, q{SELECT has_end(latest('both'))});
is(value(q{SELECT reads(latest('both')), count(*) FROM dynamo_internal.stream_ends WHERE relation = 'both'::regclass}), '1 and the end|3',
	'enabled and disabled in one transaction');

# What was taken back did not happen
$arn = make('undone');
value(q{BEGIN; SELECT dyn_disable_stream('undone'); ROLLBACK});
value(q{BEGIN; SELECT put('undone', 'a'); SAVEPOINT s; SELECT dyn_disable_stream('undone'); ROLLBACK TO s; SELECT put('undone', 'b'); COMMIT});
catch_up();
is(value("SELECT has_end('$arn'), reads('$arn'), count(*) FROM dynamo_internal.stream_ends WHERE relation = 'undone'::regclass"), 'f|2 and more|0',
	'taken back, with the transaction or a part of it');
value(q{BEGIN; SELECT dyn_disable_stream('undone'); PREPARE TRANSACTION 'p'; ROLLBACK PREPARED 'p'});
catch_up();
is(value("SELECT has_end('$arn'), count(*) FROM dynamo_internal.stream_ends WHERE relation = 'undone'::regclass"), 'f|0', 'or prepared before');
value(q{BEGIN; SELECT put('undone', 'c'); SELECT dyn_disable_stream('undone'); PREPARE TRANSACTION 'p'});
catch_up();
is(value("SELECT has_end('$arn'), reads('$arn')"), 'f|2 and more', 'what is prepared is not done');
value(q{COMMIT PREPARED 'p'});
wait_for($node, "SELECT has_end('$arn')");
is(value("SELECT reads('$arn')"), '3 and the end', 'until it is committed');

# No other role can end a stream
$arn = make('forged');
my $oid = value(q{SELECT 'forged'::regclass::oid});
value("SELECT pg_logical_emit_message(true, 'dynamo_table', 'closing start $oid' || s)
	FROM (VALUES (''), (' 0'), (' 00112233445566778899aabbccddeeff')) v (s)");
catch_up();
is(value("SELECT has_end('$arn'), count(*) FROM dynamo_internal.stream_ends WHERE relation = 'forged'::regclass"), 'f|0',
	'a mark that is not signed ends nothing');

# A table that goes in the same transaction blocks no other session
value(q{BEGIN; SELECT dyn_disable_stream('forged'); DROP TABLE forged; COMMIT});
$arn = make('later');
value(q{SELECT put('later', 'a')});
catch_up();
is(value("SELECT reads('$arn')"), '1 and more', 'a table that was dropped with its stream');

# Collected once, whatever happens to the server
$node->stop('immediate');
$node->start;
is(value(q{SELECT reads(latest('plain'))}), '1 and the end', 'the end survives a crash');
value('ALTER SYSTEM SET dynamo_table.stream_collector = off');
$node->reload;
wait_for($node, 'SELECT active_pid IS NULL FROM dyn_stream_slots');
value(q{SELECT put('later', 'b'); SELECT dyn_disable_stream('later')});
is(value("SELECT has_end('$arn'), reads('$arn')"), 'f|1 and more', 'there is no end before it was collected');
$node->stop('immediate');
$node->start;
catch_up();
is(value("SELECT has_end('$arn'), reads('$arn')"), 't|2 and the end', 'and then all is there');

# A disabling that is never decoded: a new slot begins behind it
$arn = make('lost');
value(q{SELECT put('lost', 'a')});
catch_up();
value(q{SELECT put('lost', 'b'); SELECT dyn_disable_stream('lost')});
value('SELECT pg_drop_replication_slot(slot_name) FROM dyn_stream_slots');
is(value("SELECT has_end('$arn')"), 'f', 'without the slot nobody knows');
value('CALL dyn_setup_streams()');
is(value("SELECT has_end('$arn')"), 't', 'a new slot ends what was disabled before it');
is(value("SELECT reads('$arn', 'LATEST')"), '0 and the end', 'for a reader behind the gap');
my $busy = $node->background_psql('postgres');
value(q{SELECT dyn_create_table('held', 'pk S'); SELECT dyn_enable_stream('held', 'NEW_IMAGE', 1)});
$busy->query_safe(q{BEGIN; SELECT dyn_disable_stream('held')});
value('SELECT pg_drop_replication_slot(slot_name) FROM dyn_stream_slots');
my ($rc, $out, $err) = $node->psql('postgres', 'CALL dyn_setup_streams()');
like($err, qr/change streams are being set up, enabled or torn down by another session/, 'and is not made while one is being disabled');
$busy->query_safe('COMMIT');
$busy->quit;
value('CALL dyn_setup_streams()');
is(value(q{SELECT has_end(latest('held'))}), 't', 'so none is missed');

# The rights that disabling needs are looked at before any lock
value(q{SELECT dyn_create_table('mine', 'pk S'); SELECT dyn_enable_stream('mine', 'NEW_IMAGE', 1); CREATE ROLE stranger; GRANT SELECT ON mine TO stranger});
($rc, $out, $err) = $node->psql('postgres', q{SET ROLE stranger; BEGIN; SELECT dyn_disable_stream('mine')});
like($err, qr/must be owner of table mine/, 'not by others');

# Nothing comes any more when all is taken down
value(q{SELECT dyn_disable_stream('mine')});
value('CALL dyn_teardown_streams()');
is(value(q{SELECT has_end(latest('mine'))}), 't', 'all streams have ended that were taken down');
$node->stop;
done_testing();
