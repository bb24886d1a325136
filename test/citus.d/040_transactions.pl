# Transactions over nodes are as on one machine: conditions, absence, locks, tokens, and what readers see of them.
use strict;
use warnings;

use FindBin;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;
use CitusNodes;
use DynamoTable;

my $citus = CitusNodes->new('citus.distributed_deadlock_detection_factor = 2');

sub key { my ($pk) = @_; return qq{{"pk":{"S":"$pk"},"sk":{"S":"1"}}} }
sub get { my ($pk, $table) = @_; return sprintf q{{"Get":{"TableName":"%s","Key":%s}}}, $table // 'app', key($pk) }

sub add
{
	my ($pk, $by, $table) = @_;
	return sprintf q{{"Update":{"TableName":"%s","Key":%s,"UpdateExpression":"ADD n :n","ExpressionAttributeValues":{":n":{"N":"%s"}}}}}, $table // 'app',
		key($pk), $by;
}
sub absent { my ($pk) = @_; return sprintf q{{"ConditionCheck":{"TableName":"app","Key":%s,"ConditionExpression":"attribute_not_exists(pk)"}}}, key($pk) }
sub transact { my ($token, @actions) = @_; return sprintf q{SELECT dyn_transact('[%s]'%s)}, join(', ', @actions), $token ? ", '$token'" : '' }

# One statement on each of the nodes at the same time; returns what each has printed, errors too.
sub at_once
{
	my @sql = @_;
	my @runs = map { { n => $_, out => '', err => '' } } 0 .. $#sql;
	for my $run (@runs)
	{
		my $node = $citus->node($run->{n} % 3);
		$run->{harness} = IPC::Run::start([ 'psql', '-XAtq', '-v', 'VERBOSITY=verbose', '-h', $node->host, '-p', $node->port, '-c', $sql[ $run->{n} ], 'postgres' ],
			'>', \$run->{out}, '2>', \$run->{err});
	}
	$_->{harness}->finish for @runs;
	return map { $_->{out} . $_->{err} } @runs;
}

# The same script of pgbench's from each node for some seconds; none may have an error.
sub load_all
{
	my ($name, $script) = @_;
	my @loads = map { DynamoTable::start_load($citus->node($_), 2, 4, $script) } 0 .. 2;
	my @counts = map { DynamoTable::finish_load($_) } @loads;
	diag($_->{err}) for grep { $_->{err} =~ /ERROR|abort/ } @loads;
	is(scalar(grep { defined } @counts), 3, "$name: no errors");
	my $sum = 0;
	$sum += $_ // 0 for @counts;
	return $sum;
}

# tables whose OIDs are in one order here, and in another there
$citus->sql(2, 'CREATE TABLE filler ()');
$citus->sql(0, q{SELECT dyn_create_table('zebra', 'pk S', 'sk S'); SELECT dyn_distribute_table('zebra')});
$citus->sql(0, q{SELECT dyn_create_table('app', 'pk S', 'sk S'); SELECT dyn_distribute_table('app')});

# increments
my $n = load_all('increments', q{SELECT dyn_update('app', '} . key('counter') . q{', 'ADD n :n', vals => '{":n":{"N":"1"}}');});
is($citus->sql(0, q{SELECT dyn_get('app', '} . key('counter') . q{') ->> 'n'}), $n, 'each of the increments from three nodes has counted');

# one of many creates
my @created = at_once((q{SELECT dyn_put('app', '} . key('first') . q{', condition => 'attribute_not_exists(pk)')}) x 9);
is(scalar(grep { /YD002/ } @created), 8, 'of many conditional puts one creates the item');

# transactions over shards and tables, in any order of their actions, wait for each other in one direction
$n = load_all('transactions', q{\set a random(1, 4)
\set b random(5, 8)
\set o random(0, 1)
\if :o
} . transact('', add('t:a', 1), add('t:b', -1), add('x', 1, 'zebra')) . q{;
\else
} . transact('', add('x', 1, 'zebra'), add('t:b', -1), add('t:a', 1)) . q{;
\endif
} =~ s/"t:([ab])"/"t' || :$1 || '"/gr);
is($citus->sql(1, q{SELECT sum((i ->> 'n')::int) FROM dyn_scan('app', filter => 'begins_with(pk, :t)', vals => '{":t":{"S":"t"}}') i}), 0, 'they are atomic');
is($citus->sql(2, q{SELECT dyn_get('zebra', '} . key('x') . q{') ->> 'n'}), $n, 'and all of them were done');

# two-phase commits
my ($out, $err);
$citus->node(0)->psql('postgres', 'SET citus.log_remote_commands = on; ' . transact('', map { add("p$_", 1) } 1 .. 8), stderr => \$err);
like($err, qr/PREPARE TRANSACTION/, 'a transaction over shards is committed in two phases');

# batches in any order
load_all('batches', q{\set r random(0, 1000000)
SELECT dyn_batch_write('app', (SELECT array_agg(jsonb_build_object('pk', 'b' || i % 5, 'sk', i::text, 'n', :r)::dyn_item ORDER BY random())
	FROM generate_series(1, 20) i));});
is($citus->sql(0, q{SELECT count(*) FROM dyn_scan('app', filter => 'begins_with(pk, :t)', vals => '{":t":{"S":"b"}}') i}), 20,
	'batches of the same items from all nodes');

# absence is held until the end of the transaction, also from other nodes
my $holder = $citus->node(1)->background_psql('postgres');
$holder->query_safe('BEGIN; ' . transact('', absent('gone'), add('other', 1)));
my $writer = $citus->node(2)->background_psql('postgres', on_error_stop => 0);
$writer->query_until(qr/started/, q{\echo started
SELECT dyn_put('app', '} . key('gone') . qq{');
\\echo done
});
wait_for($citus->node(1), q{SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query ~ 'app_|_put')
	OR EXISTS (SELECT FROM run_command_on_all_nodes($$SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query ~ 'app_|_put'$$)
		WHERE result <> '0')});
is($citus->sql(0, q{SELECT dyn_get('app', '} . key('gone') . q{') IS NULL}), 't', 'whoever inserts a key that is held absent waits');
$holder->query_safe('COMMIT');
$writer->query_until(qr/done/, '');
$writer->quit;
is($citus->sql(0, q{SELECT dyn_get('app', '} . key('gone') . q{') IS NULL}), 'f', 'and inserts it after the commit');
is($citus->sql(0, q{SELECT count(*) FROM dyn_scan('app', filter => 'pk = :p', vals => '{":p":{"S":"other"}}')}), 1, 'the transaction has written');
$holder->quit;

# what readers see of a transaction is all of it, or nothing
$citus->sql(0, transact('', add('left', 50), add('right', 50)));
my @movers = map { DynamoTable::start_load($citus->node($_), 1, 5, transact('', add('left', 1), add('right', -1)) . ';') } 0 .. 2;
my @readers = map { DynamoTable::start_load($citus->node($_), 1, 4,
	q{SELECT 1 / (sum((i ->> 'n')::int) = 100)::int FROM dyn_transact_get('[} . get('right') . ', ' . get('left') . q{]') i;}) } 0 .. 2;
is(scalar(grep { !defined DynamoTable::finish_load($_) } @readers), 0, 'transactions that read several items see others as a whole');
DynamoTable::finish_load($_) for @movers;
# also where items come and go
my $both = q{[{"Put":{"TableName":"app","Item":%s}},{"Put":{"TableName":"app","Item":%s}}]};
my @makers = map { DynamoTable::start_load($citus->node($_), 1, 5,
	sprintf(q{SELECT dyn_transact('} . $both . q{');}, key('c1'), key('c2')) . "\n" .
	sprintf(q{SELECT dyn_transact('[{"Delete":{"TableName":"app","Key":%s}},{"Delete":{"TableName":"app","Key":%s}}]');}, key('c1'), key('c2'))) } 0 .. 1;
@readers = map { DynamoTable::start_load($citus->node($_), 1, 4,
	q{SELECT 1 / (count(i) % 2 = 0)::int FROM dyn_transact_get('[} . get('c1') . ', ' . get('c2') . q{]') i;}) } 0 .. 2;
is(scalar(grep { !defined DynamoTable::finish_load($_) } @readers), 0, 'and items that come together, together');
DynamoTable::finish_load($_) for @makers;

# tokens
for my $round (1 .. 5)
{
	my @answers = at_once((transact("token$round", add("once$round", 1), add('once', 1))) x 6);
	is(join('', sort map { s/\s//gr } @answers), 'ffffft', "a token that is sent to all nodes at once is used once ($round)");
}
is($citus->sql(1, q{SELECT dyn_get('app', '} . key('once') . q{') ->> 'n'}), 5, 'and what it stands for was done once');
like((at_once(transact('token1', add('once', 2))))[0], qr/YD\d+: +the token was used for another request/, 'another request with it is refused');
$citus->sql(2, q{UPDATE dynamo_internal.shared_tokens SET expires = now()});
is((at_once(transact('token1', add('once', 2))))[0], "t\n", 'until it has expired');
is($citus->sql(1, 'SET plan_cache_mode = force_generic_plan; ' . join('; ', map { transact("generic$_", add('generic', 1)) } 1 .. 7)), join("\n", ('t') x 7),
	'in any plan_cache_mode');
is($citus->sql(0, q{SELECT count(*) FROM dynamo_internal.transact_tokens}), 0, 'tokens of distributed tables are in one table of all nodes');

# a deadlock of several calls
my @sessions = map { $citus->node($_)->background_psql('postgres', on_error_stop => 0) } 1, 2;
$sessions[0]->query('\set VERBOSITY verbose');
$sessions[1]->query('\set VERBOSITY verbose');
$sessions[0]->query_safe('BEGIN; ' . transact('', add('d1', 1)));
$sessions[1]->query_safe('BEGIN; ' . transact('', add('d4', 1)));
$sessions[0]->query_until(qr/started/, "\\echo started\n" . transact('', add('d4', 1)) . ";\n\\echo done\n");
$sessions[1]->query_until(qr/started/, "\\echo started\n" . transact('', add('d1', 1)) . ";\n\\echo done\n");
$_->query_until(qr/done/, '') for @sessions;
my $said = join '', map { $_->{stderr} } @sessions;
# from PostgreSQL 16 on Citus does not tell the extension why it cancels, and gives the error its code when it is sent; it may find the
# deadlock first also where both shards are on one node
my ($conflict, $cancelled) = (qr/YD\d+:\s+transaction\sconflict:\sdeadlock/, qr/40P01:\s+canceling\sthe\stransaction\ssince\sit\swas\sinvolved/);
my $hidden = $citus->sql(0, 'SHOW server_version_num') >= 160000;
like($said, $hidden ? qr/$conflict|$cancelled/ : $conflict, 'a deadlock of nodes is a conflict');
unlike($said, $hidden ? qr/57014/ : qr/$cancelled|57014/, 'and nothing else');
$_->quit for @sessions;

# rights
$citus->sql(0, 'CREATE ROLE reader LOGIN; GRANT SELECT ON app TO reader; CREATE ROLE nobody_logs_in; GRANT SELECT ON app TO nobody_logs_in');
my $as = sub { my ($role, $sql) = @_; my ($out, $err);
	$citus->node(0)->psql('postgres', "SET citus.log_remote_commands = on; SET ROLE $role; $sql", stdout => \$out, stderr => \$err); return "$out$err" };
like($as->('reader', q{SELECT dyn_get('app', '} . key('once') . q{')}), qr/"once"/, 'a role with SELECT reads');
like($as->('reader', q{SELECT dyn_put('app', '} . key('once') . q{')}), qr/permission denied for table app/, 'and may not write');
my $refused = $as->('reader', q{BEGIN; SELECT dyn_put('app', '} . key('once') . q{')});
like($refused, qr/permission denied for table app/, 'nor in a larger transaction');
unlike($refused, qr/issuing/, 'which is found before anything is sent');
$refused = $as->('reader', q{SELECT dyn_transact_get('[} . get('once') . ', ' . get('left') . q{]')});
like($refused, qr/permission denied for table app.*takes SELECT, INSERT, UPDATE and DELETE/s, 'nor lock what it reads together');
unlike($refused, qr/issuing/, 'also found before');
like($as->('reader', q{SELECT dyn_transact_get('[} . get('once') . q{]')}), qr/"once"/, 'one item takes no lock');
like($as->('nobody_logs_in', q{SELECT dyn_get('app', '} . key('once') . q{')}), qr/role "nobody_logs_in" is not permitted to log in/, 'a role without LOGIN');
like($as->('postgres', q{BEGIN READ ONLY; SELECT dyn_transact_get('[} . get('once') . ', ' . get('left') . q{]')}),
	qr/cannot lock items of distributed tables in a read-only transaction/, 'read-only transactions take no locks');

# savepoints, cursors, plpgsql, settings of Citus
is($citus->sql(0, q{BEGIN; SAVEPOINT a; SELECT dyn_put('app', '} . key('s1') . q{'); ROLLBACK TO a; SELECT dyn_put('app', '} . key('s2') . q{'); COMMIT;
	SELECT dyn_get('app', '} . key('s1') . q{') IS NULL, dyn_get('app', '} . key('s2') . q{') IS NULL}) =~ s/^\n+//r, 't|f', 'savepoints');
is($citus->sql(0, q{DO $$ BEGIN
		PERFORM dyn_put('app', '} . key('s3') . q{');
		BEGIN
			PERFORM dyn_put('app', '} . key('s3') . q{', condition => 'attribute_not_exists(pk)');
		EXCEPTION WHEN SQLSTATE 'YD002' THEN
			PERFORM dyn_put('app', '} . key('s4') . q{');
		END;
	END $$;
	SELECT dyn_get('app', '} . key('s4') . q{') IS NULL}), 'f', 'exceptions in plpgsql');
is($citus->sql(0, q{BEGIN; SET LOCAL citus.multi_shard_modify_mode = 'sequential'; SET LOCAL citus.enable_local_execution = off;
	SELECT dyn_put('app', '} . key('s5') . q{'); SELECT dyn_get('app', '} . key('s5') . q{') ->> 'pk'; COMMIT}) =~ s/^\n+//r, 's5',
		'a transaction sees what it has written');
my ($rr, $other) = map { $citus->node($_)->background_psql('postgres', on_error_stop => 0) } 1, 0;
$rr->query('\set VERBOSITY verbose');
$rr->query_safe(q{BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT dyn_get('app', '} . key('s5') . q{')});
$other->query_safe(transact('', add('s5', 1)));
$rr->query(transact('', add('s5', 1)));
like($rr->{stderr}, qr/40001/, 'at REPEATABLE READ a conflict is one of serialization, as on one machine');
$_->quit for $rr, $other;

done_testing();
