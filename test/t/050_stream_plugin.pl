# ST01, ST06, ST07, ST15: the output plugin over a replication connection, with large transactions, through crashes, and beside
# other databases, roles, standbys and copies of the database.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(allows_streaming => 'logical');
$node->append_conf('postgresql.conf', "max_prepared_transactions = 2\nlogical_decoding_work_mem = 4MB\nautovacuum = off\nshared_buffers = 16MB");
allow_plugin($node);
$node->start;

sub value
{
	my ($sql, $dbname) = @_;
	return $node->safe_psql($dbname // 'postgres', $sql);
}

# Records as they are, but for what changes from one run to the next.
sub plainly
{
	my ($records) = @_;
	$records =~ s/"ApproximateCreationDateTime":\d+,|"eventID":"\w+",|"SequenceNumber":"\d+",|"event(Version|Source)":"[^"]*",|"awsRegion":"[^"]*",//g;
	return $records;
}

value('CREATE DATABASE other');
value('CREATE EXTENSION dynamo_table', $_) for ('postgres', 'other');
value("SELECT dyn_create_table('app', 'id S')", $_) for ('postgres', 'other');

# The server has not loaded the library before the slot asks for it.
value("SELECT pg_create_logical_replication_slot('$_', 'dynamo_table')") for ('slot', 'received', 'large');
value("SELECT dyn_put('app', '{\"id\":{\"S\":\"1\"},\"v\":{\"S\":\"ä\"}}'), dyn_put('app', '{\"id\":{\"S\":\"2\"}}')");
value("SELECT dyn_put('app', '{\"id\":{\"S\":\"not here\"}}')", 'other');
my $records = value("SELECT data FROM pg_logical_slot_get_changes('slot', NULL, NULL)");
is(plainly($records),
	'{"eventName":"INSERT","dynamodb":{"Keys":{"id":{"S":"1"}},"NewImage":{"id":{"S":"1"},"v":{"S":"ä"}},"SizeBytes":9,'
	  . '"StreamViewType":"NEW_AND_OLD_IMAGES"},"eventSourceARN":"arn:aws:dynamodb:local:000000000000:table/app"}' . "\n"
	  . '{"eventName":"INSERT","dynamodb":{"Keys":{"id":{"S":"2"}},"NewImage":{"id":{"S":"2"}},"SizeBytes":6,'
	  . '"StreamViewType":"NEW_AND_OLD_IMAGES"},"eventSourceARN":"arn:aws:dynamodb:local:000000000000:table/app"}',
	'records of this database, none of the other');

# pg_recvlogical: the same bytes, whatever the client's encoding is said to be.
sub receive
{
	my ($until, @options) = @_;
	my ($out, $err) = ('', '');
	local $ENV{PGCLIENTENCODING} = 'LATIN1';
	IPC::Run::run(['pg_recvlogical', '-d', $node->connstr('postgres'), '-S', 'received', '--start', '-f', '-', '--no-loop', '--endpos', $until,
			map { ('-o', $_) } @options], '>', \$out, '2>', \$err, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	return ($out, $err);
}
my $now = value('SELECT pg_current_wal_insert_lsn()');
value("SELECT pg_logical_emit_message(false, 'end', 'of it')");
my ($out, $err) = receive($now, 'format=typed', 'view-type=NEW_AND_OLD_IMAGES');
is($out, "$records\n", 'pg_recvlogical gets the same');
($out, $err) = receive($now, 'nonsense=1');
like($err, qr/unknown option "nonsense".*HINT:  Known options are: tables, view-type, format, only-streams/s, 'options are checked there too');

# A transaction of 100,000 changes, with subtransactions that are rolled back: nothing is kept of it, and each is there once.
value(q{CREATE PROCEDURE many(label text, n int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. n / 1000 LOOP
		INSERT INTO app (item) SELECT jsonb_build_object('id', label || j, 'pad', repeat('x', 200)) FROM generate_series(i * 1000, i * 1000 + 999) j;
		BEGIN
			UPDATE app SET item = dyn_apply(item, 'SET gone = :g', vals => '{":g":{"S":"x"}}') WHERE id = label || (i * 1000);
			RAISE EXCEPTION 'back';
		EXCEPTION WHEN OTHERS THEN NULL;
		END;
	END LOOP;
END $$});
value("SELECT count(*) FROM pg_logical_slot_get_changes('large', NULL, NULL)");
value("CALL many('many', 100000)");
my $read = value(q{SELECT count(*) || ' ' || count(DISTINCT number) || ' ' || max(right(number, 12)::int) FROM
	(SELECT data::json #>> '{dynamodb,SequenceNumber}' AS number FROM pg_logical_slot_peek_changes('large', NULL, NULL, 'view-type', 'KEYS_ONLY')) c});
is($read, '100000 100000 100000', 'each of 100,000 changes in one transaction has a record and a number');
value("SELECT pg_create_logical_replication_slot('crash', 'dynamo_table')");
is(value("SELECT count(*) FROM pg_logical_slot_peek_changes('large', NULL, NULL) WHERE data LIKE '%gone%'"), 0, 'what was rolled back inside it has none');

# The memory of a session that decodes: what it keeps of output is on disk.
sub peak
{
	my ($slot) = @_;
	return (split /\n/, value("SELECT count(*) FROM pg_logical_slot_peek_changes('$slot', NULL, NULL);
		SELECT substring(pg_read_file('/proc/self/status') FROM 'VmHWM:\\s+(\\d+) kB')"))[1];
}
my ($little, $much) = (peak('crash'), peak('large'));
cmp_ok($much - $little, '<', 25_000, "it took $much kB, and $little kB when there was little");
($out, $err) = receive(value('SELECT pg_current_wal_insert_lsn()'), 'view-type=KEYS_ONLY');
is(scalar(() = $out =~ /"id":\{"S":"many/g), 100000, 'pg_recvlogical gets each once');
($out, $err) = receive(value('SELECT pg_current_wal_insert_lsn()'), 'tables=nothing');
is($out, '', 'and nothing of tables that are left out');

# After a crash in the middle, decoding goes on from the confirmed position with the same records and numbers.
value("SELECT count(*) FROM pg_logical_slot_get_changes('crash', NULL, NULL)");
value("INSERT INTO app (item) SELECT jsonb_build_object('id', 'crash$_.' || j) FROM generate_series(1, 3) j") for (1 .. 10);
my $peek = "SELECT string_agg(data, ' ') FROM pg_logical_slot_peek_changes('crash', NULL, NULL)";
my $whole = value($peek);
my $first = value("SELECT string_agg(data, ' ') FROM pg_logical_slot_get_changes('crash', NULL, 10)");
is(substr($whole, 0, length $first), $first, 'the first part of it is the same');
value('CHECKPOINT');
$node->stop('immediate');
$node->start;
my $rest = value($peek);
is($rest, substr($whole, -length $rest), 'after a crash the rest is');
is("$first $rest", $whole, 'and nothing is missing, or there twice');

# Prepared before the crash, committed after it.
value("BEGIN; SELECT dyn_put('app', '{\"id\":{\"S\":\"prepared\"}}'); PREPARE TRANSACTION 'p'; SELECT dyn_put('app', '{\"id\":{\"S\":\"before\"}}')");
$node->stop('immediate');
$node->start;
value("SELECT count(*) FROM pg_logical_slot_get_changes('crash', NULL, NULL)");
value("COMMIT PREPARED 'p'");
like(value("SELECT data FROM pg_logical_slot_get_changes('crash', NULL, NULL)"),
	qr/^\{"eventID":"\w+","eventName":"INSERT",[^\n]*"Keys":\{"id":\{"S":"prepared"\}\}[^\n]*$/,
	'what was prepared before a crash and committed after it has its record then');

# A role that may decode and no more reads no secret, and its marks are none; slots need no rights on tables.
value('CREATE ROLE reader LOGIN REPLICATION');
value("SELECT dyn_put('app', '{\"id\":{\"S\":\"marked\"}}')");
value("SELECT count(*) FROM pg_logical_slot_get_changes('crash', NULL, NULL)");
value("SELECT dyn_transact('[{\"Delete\":{\"TableName\":\"app\",\"Key\":{\"id\":{\"S\":\"none\"}}}}]')");
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_logical_slot_get_changes('crash', NULL, NULL)", extra_params => [ '-U', 'reader' ]), 0,
	'marks are read with nobody\'s rights');
cmp_ok(scalar($node->psql('postgres', 'SELECT * FROM dynamo_internal.stream_secret', extra_params => [ '-U', 'reader' ])), '!=', 0, 'the secret is not');

# From 16 on a standby can decode, and reads the secret there.
SKIP:
{
	skip 'no logical decoding on standbys', 1 if value('SHOW server_version_num') < 160000;
	$node->backup('backup');
	my $standby = PostgreSQL::Test::Cluster->new('standby');
	$standby->init_from_backup($node, 'backup', has_streaming => 1);
	$standby->append_conf('postgresql.conf', "hot_standby_feedback = on\nprimary_slot_name = 'physical'");
	value("SELECT pg_create_physical_replication_slot('physical')");
	$standby->start;
	my $create = IPC::Run::start([ 'pg_recvlogical', '-d', $standby->connstr('postgres'), '-P', 'dynamo_table', '-S', 'standby', '--create-slot' ]);
	# its snapshot begins at what only the primary can write
	wait_until('a slot on the standby', sub {
		value('SELECT pg_log_standby_snapshot()');
		return $standby->safe_psql('postgres', q{SELECT count(*) FROM pg_replication_slots WHERE slot_name = 'standby' AND confirmed_flush_lsn IS NOT NULL});
	});
	$create->finish;
	value("SELECT dyn_transact('[{\"Delete\":{\"TableName\":\"app\",\"Key\":{\"id\":{\"S\":\"none\"}}}},
		{\"Put\":{\"TableName\":\"app\",\"Item\":{\"id\":{\"S\":\"streamed\"}}}}]')");
	$node->wait_for_replay_catchup($standby);
	like($standby->safe_psql('postgres', "SELECT data FROM pg_logical_slot_get_changes('standby', NULL, NULL)"), qr/^[^\n]*"INSERT"[^\n]*streamed[^\n]*$/,
		'a standby decodes, and reads the marks');
	$standby->stop;
	value("SELECT pg_drop_replication_slot('physical')");
	value("SELECT count(*) FROM pg_logical_slot_get_changes('crash', NULL, NULL)");
}

# The past with the extension dropped since, and another in its place: its marks cannot be read, its tables can.
value("SELECT dyn_put('app', '{\"id\":{\"S\":\"last\"}}'); SELECT dyn_transact('[{\"Delete\":{\"TableName\":\"app\",\"Key\":{\"id\":{\"S\":\"none\"}}}}]')");
value('DROP EXTENSION dynamo_table CASCADE; CREATE EXTENSION dynamo_table');
value("SELECT dyn_create_table('app', 'id S'); SELECT dyn_put('app', '{\"id\":{\"S\":\"new\"}}');
	SELECT dyn_transact('[{\"Delete\":{\"TableName\":\"app\",\"Key\":{\"id\":{\"S\":\"none\"}}}}]')");
is(value(q{SELECT string_agg((data::json ->> 'eventName') || ' ' || (data::json #>> '{dynamodb,Keys,id,S}'), ', ')
	FROM pg_logical_slot_get_changes('crash', NULL, NULL)}),
	'INSERT last, REMOVE none, INSERT new', 'the time before another extension of that name can be decoded');

# The secret's table is rewritten; a copy of the database has it too.
value("SELECT dyn_transact('[{\"Delete\":{\"TableName\":\"app\",\"Key\":{\"id\":{\"S\":\"none\"}}}}]')");
value('VACUUM FULL dynamo_internal.stream_secret');
value("SELECT dyn_transact('[{\"Delete\":{\"TableName\":\"app\",\"Key\":{\"id\":{\"S\":\"none\"}}}}]')");
is(value("SELECT count(*) FROM pg_logical_slot_get_changes('crash', NULL, NULL)"), 0, 'marks from before and after a rewrite of the secret are read');
value('CREATE DATABASE copy TEMPLATE postgres', 'other');
value("SELECT pg_create_logical_replication_slot('copy', 'dynamo_table');
	SELECT dyn_transact('[{\"Delete\":{\"TableName\":\"app\",\"Key\":{\"id\":{\"S\":\"none\"}}}},
	{\"Put\":{\"TableName\":\"app\",\"Item\":{\"id\":{\"S\":\"copied\"}}}}]')", 'copy');
like(value("SELECT data FROM pg_logical_slot_get_changes('copy', NULL, NULL)", 'copy'), qr/^[^\n]*"INSERT"[^\n]*copied[^\n]*$/,
	'a copy of a database signs and reads its marks');

# A dump has none of it, and what is restored has another.
my $dump = $node->basedir . '/dump.sql';
$node->run_log(['pg_dump', '-d', $node->connstr('postgres'), '-f', $dump]);
unlike(slurp_file($dump), qr/dynamo_internal.stream_secret/, 'a dump has no secret');
value('CREATE DATABASE restored');
$node->run_log(['psql', '-q', '-d', $node->connstr('restored'), '-f', $dump]);
cmp_ok(value('SELECT md5(secret) FROM dynamo_internal.stream_secret', 'restored'), 'ne', value('SELECT md5(secret) FROM dynamo_internal.stream_secret'),
	'a restored database has its own');

# Below wal_level = logical nothing is marked, and nothing has to be read for it.
value("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = 'postgres'");
value("SELECT pg_drop_replication_slot('copy')", 'copy');
value('DELETE FROM dynamo_internal.stream_secret');
cmp_ok(scalar($node->psql('postgres', "SELECT dyn_transact('[{\"Delete\":{\"TableName\":\"app\",\"Key\":{\"id\":{\"S\":\"none\"}}}}]')")), '!=', 0,
	'without a secret what has to be marked fails');
$node->append_conf('postgresql.conf', 'wal_level = replica');
$node->restart;
value("SELECT dyn_transact('[{\"Delete\":{\"TableName\":\"app\",\"Key\":{\"id\":{\"S\":\"none\"}}}}]')");
check_storage($node, 'main');
$node->stop;
done_testing();
