# dyn_operations: what is counted of calls, in shared memory of a server that preloads the library.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;
use Frontend;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', join("\n", "shared_preload_libraries = 'dynamo_table'", 'dynamo_table.max_tracked_operations = 100',
	'max_prepared_transactions = 2', 'autovacuum = off', 'restart_after_crash = on', 'log_min_messages = log'));
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION dynamo_table;
	SELECT dyn_create_table('app', 'pk S', 'sk S', global_indexes => '{"GSI1": {"partition_key": "g S"}}');
	SELECT dyn_create_table('other', 'pk S');
	CREATE ROLE reader LOGIN; CREATE ROLE nobody LOGIN; CREATE ROLE watcher LOGIN IN ROLE pg_monitor;
	CREATE ROLE tenant;
	GRANT INSERT ON other TO reader; GRANT SELECT, INSERT, UPDATE ON other TO tenant});

# The counts of a table's operations: of each the numbers that are not 0, by the first letters of their names.
sub counted
{
	my ($table, $server, $database) = @_;
	return ($server // $node)->safe_psql($database // 'postgres', qq{
		SELECT string_agg(operation || coalesce('(' || index_name || ')', '') ||
			concat(' c', calls, ' e' || nullif(errors, 0), ' f' || nullif(conditional_failures, 0),
			' x' || nullif(conflicts, 0), ' read' || nullif(items_read, 0), ' returned' || nullif(items_returned, 0), ' w' || nullif(items_written, 0)), ', '
			ORDER BY operation, index_name) FROM dyn_operations WHERE relation = to_regclass('$table')});
}
sub reset_all { $node->safe_psql('postgres', 'SELECT dynamo_internal.reset_operations()') }

# Without its errors, which are meant.
sub try { $node->psql('postgres', $_[0], on_error_stop => 0) }

# all actions, each by its typed function
try(q{
	SELECT dyn_put('app', format('{"pk":{"S":"a"},"sk":{"S":"%s"},"g":{"S":"x"},"n":{"N":"%s"}}', i, i)::dyn_item) FROM generate_series(1, 4) i;
	SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"S":"1"}}', 'attribute_not_exists(pk)');
	SELECT dyn_put('app', '{"pk":{"S":"a"}}');
	SELECT dyn_get('app', '{"pk":{"S":"a"},"sk":{"S":"1"}}');
	SELECT dyn_get('app', '{"pk":{"S":"a"},"sk":{"S":"9"}}');
	SELECT dyn_update('app', '{"pk":{"S":"a"},"sk":{"S":"1"}}', 'ADD n :n', vals => '{":n":{"N":"1"}}');
	SELECT dyn_update('app', '{"pk":{"S":"a"},"sk":{"S":"1"}}', 'ADD n :n', 'n > :n', vals => '{":n":{"N":"10"}}');
	SELECT dyn_delete('app', '{"pk":{"S":"a"},"sk":{"S":"4"}}');
	SELECT dyn_query('app', 'pk = :p', filter => 'n > :n', vals => '{":p":{"S":"a"},":n":{"N":"2"}}');
	SELECT dyn_query('app', 'g = :g', 'GSI1', vals => '{":g":{"S":"x"}}', max_items => 2);
	SELECT dyn_scan('app', 'GSI1');
	SELECT dyn_batch_write('app', ARRAY['{"pk":{"S":"b"},"sk":{"S":"1"}}', '{"pk":{"S":"b"},"sk":{"S":"2"}}']::dyn_item[],
		ARRAY['{"pk":{"S":"b"},"sk":{"S":"3"}}']::dyn_item[]);
	SELECT dyn_batch_get('app', ARRAY['{"pk":{"S":"b"},"sk":{"S":"1"}}', '{"pk":{"S":"b"},"sk":{"S":"8"}}']::dyn_item[]);
	SELECT dyn_get('missing', '{"pk":{"S":"a"}}')});
is(counted('app'), 'BatchGetItem c1 read1 returned1, BatchWriteItem c1 w3, DeleteItem c1 w1, GetItem c2 read1 returned1, '
	. 'PutItem c6 e2 f1 w4, Query(GSI1) c1 read2 returned2, Query c1 read3 returned1, Scan(GSI1) c1 read3 returned3, UpdateItem c2 e1 f1 w1', 'typed functions');

# transactions count with each of their tables
reset_all();
is(counted('app'), '', 'reset');
try(q{
	SELECT dyn_transact('[{"Put":{"TableName":"app","Item":{"pk":{"S":"t"},"sk":{"S":"1"}}}},{"Delete":{"TableName":"app","Key":{"pk":{"S":"t"},"sk":{"S":"2"}}}},
		{"ConditionCheck":{"TableName":"other","Key":{"pk":{"S":"t"}},"ConditionExpression":"attribute_not_exists(pk)"}}]');
	SELECT dyn_transact('[{"Put":{"TableName":"app","Item":{"pk":{"S":"t"},"sk":{"S":"1"}}}},
		{"ConditionCheck":{"TableName":"other","Key":{"pk":{"S":"t"}},"ConditionExpression":"attribute_exists(pk)"}}]');
	SELECT dyn_transact('[{"Put":{"TableName":"app","Item":{"pk":{"S":"t"}}}}]');
	SELECT dyn_transact_get('[{"Get":{"TableName":"app","Key":{"pk":{"S":"t"},"sk":{"S":"1"}}}},{"Get":{"TableName":"other","Key":{"pk":{"S":"t"}}}}]')});
is(counted('app'), 'TransactGetItems c1 read1 returned1, TransactWriteItems c3 e2 f1 w2', 'transactions');
is(counted('other'), 'TransactGetItems c1, TransactWriteItems c2 e1 f1', 'their other table');
reset_all();
try(q{
	SELECT dyn_transact_get('[{"Get":{"TableName":"app","Key":{"pk":{"S":"t"},"sk":{"S":"1"}}}},
		{"Get":{"TableName":"public.app","Key":{"pk":{"S":"t"},"sk":{"S":"2"}}}}]')});
is(counted('app'), 'TransactGetItems c1 read1 returned1', 'once, by whatever names');

# other front ends
reset_all();
try(q{
	SELECT dyn_request('PutItem', '{"TableName":"app","Item":{"pk":{"S":"r"},"sk":{"S":"1"}}}');
	SELECT dyn_request('PutItem', '{"TableName":"app","Item":{"pk":{"S":"r"},"sk":{"S":"1"}},"ConditionExpression":"attribute_not_exists(pk)"}');
	SELECT dyn_request('Query', '{"TableName":"app","KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":{"S":"r"}}}');
	SELECT dyn_request('TransactWriteItems',
		'{"TransactItems":[{"Put":{"TableName":"app","Item":{"pk":{"S":"r"},"sk":{"S":"1"}},"ConditionExpression":"attribute_not_exists(pk)"}}]}');
	SELECT dyn_execute($$INSERT INTO app VALUE {'pk': 'r', 'sk': '1'}$$);
	SELECT dyn_execute($$SELECT * FROM app WHERE pk = 'r'$$);
	SELECT dyn_execute($$SELECT * FROM app$$);
	SELECT dynamo_internal.request_as('tenant', 'PutItem', '{"TableName":"other","Item":{"pk":{"S":"g"}}}')});
like(counted('app'), qr/^PutItem c3 e2 f2 w1, Query c2 read2 returned2, Scan c1 read(\d+) returned\1, TransactWriteItems c1 e1 f1$/, 'requests and PartiQL');
is(counted('other'), 'PutItem c1 w1', 'requests of gateways');

# attempts: what is rolled back was done nevertheless, and an error that PL/pgSQL handles was one
reset_all();
$node->safe_psql('postgres', q{
	BEGIN; SELECT dyn_put('other', '{"pk":{"S":"x"}}'); ROLLBACK;
	DO $$ BEGIN PERFORM dyn_put('other', '{"pk":{"S":"g"}}', 'attribute_not_exists(pk)'); EXCEPTION WHEN SQLSTATE 'YD002' THEN NULL; END $$;
	SET dynamo_table.track_operations = off; SELECT dyn_get('other', '{"pk":{"S":"g"}}')});
is(counted('other'), 'PutItem c2 e1 f1 w1', 'attempts, unless they are not tracked');

# conflicts: a lock that is not to be had, a deadlock, and a snapshot that is too old
reset_all();
my $one = $node->background_psql('postgres', on_error_stop => 0);
$one->query_safe(q{BEGIN; SELECT dyn_update('app', '{"pk":{"S":"r"},"sk":{"S":"1"}}', 'SET a = pk')});
try(q{SET lock_timeout = '20ms'; SELECT dyn_update('app', '{"pk":{"S":"r"},"sk":{"S":"1"}}', 'SET a = pk')});
is(counted('app'), 'UpdateItem c2 e1 x1 w1', 'a lock that was not to be had');
$one->query_safe('COMMIT');
$one->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM app');
$node->safe_psql('postgres', q{SELECT dyn_update('app', '{"pk":{"S":"r"},"sk":{"S":"1"}}', 'SET a = sk')});
$one->query(q{SELECT dyn_update('app', '{"pk":{"S":"r"},"sk":{"S":"1"}}', 'SET a = pk')});
$one->query('ROLLBACK');
$one->{stderr} = '';
is(counted('app'), 'UpdateItem c4 e2 x2 w2', 'a snapshot that was too old');

# a session's counts are there at once, and stay when it has gone
reset_all();
$one->query_safe(q{SELECT dyn_get('app', '{"pk":{"S":"r"},"sk":{"S":"1"}}') FROM generate_series(1, 10)});
is(counted('app'), 'GetItem c10 read10 returned10', 'a session that is idle');
$one->quit;
is(counted('app'), 'GetItem c10 read10 returned10', 'a session that has ended');
my $load = $node->basedir . '/load.sql';
append_to_file($load, q{SELECT dyn_get('app', '{"pk":{"S":"r"},"sk":{"S":"1"}}');} . "\n" . q{SELECT dyn_scan('app', max_items => 1);});
$node->command_ok([ 'pgbench', '-n', '-M', 'prepared', '-c', '8', '-t', '50', '-f', $load, 'postgres' ], 'sessions side by side');
$node->command_ok([ 'pgbench', '-n', '-C', '-c', '4', '-t', '5', '-f', $load, 'postgres' ], 'sessions one after the other');
is(counted('app'), 'GetItem c430 read430 returned430, Scan c420 read420 returned420', 'no call is lost, and none counted twice');

# who sees what
sub seen_by
{
	my ($role) = @_;
	my ($rc, $out) = $node->psql('postgres', 'SELECT DISTINCT relation FROM dyn_operations ORDER BY 1', extra_params => [ '-U', $role ]);
	return $out;
}
$node->safe_psql('postgres', q{SELECT dyn_put('other', '{"pk":{"S":"x"}}')});
is(seen_by('reader'), 'other', 'with some privilege on one of the tables');
is(seen_by('nobody'), '', 'with none');
is(seen_by('watcher'), "app\nother", 'pg_monitor sees all');
for my $forbidden ('SELECT dynamo_internal.reset_operations()', 'SET dynamo_table.track_operations = off', 'SET dynamo_table.max_tracked_operations = 100000')
{
	ok($node->psql('postgres', $forbidden, extra_params => [ '-U', 'nobody' ]) != 0, "others may not: $forbidden");
}
# other databases have their own
$node->safe_psql('postgres', 'CREATE DATABASE second');
$node->safe_psql('second', q{CREATE EXTENSION dynamo_table; SELECT dyn_create_table('app', 'pk S'); SELECT dyn_get('app', '{"pk":{"S":"a"}}')});
is(counted('app', $node, 'second'), 'GetItem c1', 'another database');
is(counted('app'), 'GetItem c430 read430 returned430, Scan c420 read420 returned420', 'and this one');

# what is dropped is forgotten; an entry of a later table begins anew
$node->safe_psql('postgres', q{
	BEGIN; DROP TABLE app; ROLLBACK;
	BEGIN; SAVEPOINT s; DROP TABLE app; ROLLBACK TO s; COMMIT});
is(counted('app'), 'GetItem c430 read430 returned430, Scan c420 read420 returned420', 'a drop that was rolled back');
my $two = $node->background_psql('postgres');
$two->query_safe(q{SELECT dyn_create_table('short', 'pk S'); SELECT dyn_get('short', '{"pk":{"S":"a"}}')});
$node->safe_psql('postgres', 'DROP TABLE short');
$two->query_safe(q{SELECT dyn_create_table('short', 'pk S'); SELECT dyn_get('short', '{"pk":{"S":"a"}}')});
is(counted('short'), 'GetItem c1', 'another one of its name');

# A drop that is prepared is one when that is committed, and leaves room for others when somebody looks.
for (1, 2)
{
	$node->safe_psql('postgres', q{
		CREATE SCHEMA prepared;
		SET search_path = prepared, public;
		SELECT dyn_create_table('t' || i, 'pk S') FROM generate_series(1, 60) i;
		SELECT dyn_get('t' || i, '{"pk":{"S":"a"}}') FROM generate_series(1, 60) i;
		SET client_min_messages = warning;
		BEGIN; DROP SCHEMA prepared CASCADE; SAVEPOINT s; DROP TABLE public.app; ROLLBACK TO s; PREPARE TRANSACTION 'drop'});
	$node->safe_psql('postgres', q{COMMIT PREPARED 'drop'});
	counted('app');
}
unlike(slurp_file($node->logfile), qr/counters of operations do not suffice/, 'a drop that is prepared');
is(counted('app'), 'GetItem c430 read430 returned430, Scan c420 read420 returned420', 'and what it does not drop');

# No room: what comes later is not counted, and nobody loses what there is.  The session that is still there counts on.
$node->safe_psql('postgres', q{
	CREATE ROLE many LOGIN; CREATE SCHEMA many AUTHORIZATION many;
	SET SESSION AUTHORIZATION many; SET search_path = many, public;
	SELECT dyn_create_table('t' || i, 'pk S') FROM generate_series(1, 150) i;
	SELECT dyn_get('t' || i, '{"pk":{"S":"a"}}') FROM generate_series(1, 150) i});
is(counted('app'), 'GetItem c430 read430 returned430, Scan c420 read420 returned420', 'others keep what they have');
is(counted('app', $node, 'second'), 'GetItem c1', 'in other databases too');
$two->query_safe(q{SELECT dyn_get('short', '{"pk":{"S":"a"}}')});
is(counted('short'), 'GetItem c2', 'also in the session that has it');
my ($left, $all) = split /\|/, $node->safe_psql('postgres', q{SELECT count(*) FILTER (WHERE relation::text LIKE 'many.%'), count(*) FROM dyn_operations});
ok($left > 50 && $left < 100, "entries of the one with many tables: $left");
is($all, 99, 'as many as there is room for, and one of the other database');
my $log = slurp_file($node->logfile);
is(() = $log =~ /counters of operations do not suffice/g, 1, 'the log says so once');
$two->quit;
$node->safe_psql('postgres', 'SET client_min_messages = warning; DROP OWNED BY many CASCADE');
is(counted('many.t1'), '', 'dropped tables are not shown');
# which leaves room
$node->safe_psql('postgres', q{
	SELECT dyn_create_table('w' || i, 'pk S') FROM generate_series(1, 40) i;
	SELECT dyn_get('w' || i, '{"pk":{"S":"a"}}') FROM generate_series(1, 3), generate_series(1, 40) i});
is($node->safe_psql('postgres', q{SELECT count(*), min(calls), max(calls) FROM dyn_operations WHERE relation::text ~ '^w\d'}), '40|3|3', 'room again');
$node->safe_psql('postgres', 'DROP DATABASE second');

# a standby counts its own reads
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
$standby->safe_psql('postgres', q{SELECT dyn_get('app', '{"pk":{"S":"r"},"sk":{"S":"1"}}')});
is(counted('app', $standby), 'GetItem c1 read1 returned1', 'a standby');
$standby->stop;

# a crash and a restart begin at 0
my $victim = Frontend->new($node, 'postgres');
$victim->query(q{SELECT dyn_get('app', '{"pk":{"S":"r"},"sk":{"S":"1"}}')});
my $pid = $node->safe_psql('postgres', q{SELECT pid FROM pg_stat_activity WHERE query LIKE 'SELECT dyn_get%' AND pid <> pg_backend_pid()});
kill 'KILL', $pid;
wait_until_up($node);
is(counted('app'), '', 'after a crash');
$node->safe_psql('postgres', q{SELECT dyn_get('app', '{"pk":{"S":"r"},"sk":{"S":"1"}}')});
is(counted('app'), 'GetItem c1 read1 returned1', 'and then on');
$node->restart;
is(counted('app'), '', 'after a restart');

# dropped tables leave room, one by one and with their database, as soon as somebody looks
my $offset = -s $node->logfile;
$node->safe_psql('postgres', 'CREATE DATABASE third');
my $create = q{SELECT dyn_create_table('d' || i, 'pk S') FROM generate_series(1, 60) i; SELECT dyn_get('d' || i, '{"pk":{"S":"a"}}')
	FROM generate_series(1, 60) i};
$node->safe_psql('postgres', $create);
$node->safe_psql('postgres', q{SELECT dyn_drop_table('d' || i) FROM generate_series(1, 60) i});
counted('app');
$node->safe_psql('third', "CREATE EXTENSION dynamo_table; $create");
$node->safe_psql('postgres', 'DROP DATABASE third');
counted('app');
$node->safe_psql('postgres', $create);
# so do tables that never were
$node->safe_psql('postgres', q{BEGIN; SELECT dyn_create_table('n' || i, 'pk S'), dyn_get('n' || i, '{"pk":{"S":"a"}}') FROM generate_series(1, 60) i;
	ROLLBACK}) for 1, 2;
unlike(slurp_file($node->logfile, $offset), qr/counters of operations do not suffice/, 'what is dropped leaves room');
$node->safe_psql('postgres', q{SELECT dyn_get('d' || i, '{"pk":{"S":"a"}}'), dyn_scan('d' || i) FROM generate_series(1, 60) i});
like(slurp_file($node->logfile, $offset), qr/counters of operations do not suffice/, 'as long as there is any');

done_testing();
