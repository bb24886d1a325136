# docs/semantics.md, M29: a backfill by two sessions while others write, through kills of a session and of the server.
# It has no guard, so an item that was changed twice would show it.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $items = 20000;
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', q{
	restart_after_crash = on
	autovacuum = off
});
$node->start;
$node->safe_psql(
	'postgres', qq{
	CREATE EXTENSION dynamo_table;
	SELECT dyn_create_table('app', 'pk S', 'sk N');
	INSERT INTO app (item) SELECT jsonb_build_object('pk', 'user#' || i % 500, 'sk', i, 'kind', CASE WHEN i % 4 = 0 THEN 'other' ELSE 'user' END)
		FROM generate_series(1, $items) i;
	CREATE TABLE added (sk int);
	CREATE TABLE gone (sk int PRIMARY KEY);
	ANALYZE app});

sub value
{
	my ($sql) = @_;
	return $node->safe_psql('postgres', $sql);
}

my $call = q{CALL dyn_backfill('app', 'ADD Touched :one SET g = pk', 'kind = :u', vals => jsonb_build_object(':u', 'user', ':one', 1), batch_size => 25,
	max_rate => %s)};

# A session that takes part.
sub begin
{
	my ($rate) = @_;
	my %session = (out => '', err => '');
	$session{harness} = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', sprintf($call, $rate) ],
		'>', \$session{out}, '2>', \$session{err});
	return \%session;
}

sub end
{
	my ($session) = @_;
	eval { $session->{harness}->finish };
	return $session->{err};
}

# Writers: each change and each delete is in a table as well, by the same transaction.
my $writes = q{
\set tens random(0, } . ($items / 10 - 1) . q{)
\set ones random(1, 9)
\set n :tens * 10 + :ones
\set what random(1, 10)
BEGIN;
\if :what = 1
SELECT dyn_delete('app', jsonb_build_object('pk', 'user#' || :tens * 10 % 500, 'sk', :tens * 10));
INSERT INTO gone VALUES (:tens * 10) ON CONFLICT DO NOTHING;
\elif :what = 2
UPDATE app SET item = dyn_apply(item, 'ADD Writes :one', vals => jsonb_build_object(':one', 1)) WHERE pk = 'user#' || :n % 500 AND sk = :n;
INSERT INTO added VALUES (:n);
\else
SELECT dyn_update('app', jsonb_build_object('pk', 'user#' || :n % 500, 'sk', :n), 'ADD Writes :one', vals => jsonb_build_object(':one', 1));
INSERT INTO added VALUES (:n);
\endif
COMMIT;
};
my $progress = q{FROM dyn_jobs WHERE kind = 'backfill'};

# Two sessions share the work, and a third one sees how far they are.
my $load = start_load($node, 2, 600, $writes);
my @sessions = (begin(100), begin(100));
wait_for($node, "SELECT sessions = 2 AND state = 'running' AND rows_done > 300 AND rate > 0 AND rows_expected > 0 AND time_left IS NOT NULL $progress");
wait_for($node, 'SELECT count(*) > 1 FROM dynamo_internal.job_chunks WHERE done > 0');
pass('two sessions are at work on chunks of their own, and others see it');
is(value("SELECT bool_and(step IS NULL AND scale(rate) <= 1 AND time_left = date_trunc('second', time_left)) $progress"), 't',
	'the only step has no name, rate and time are as people read them');
my ($status, $out, $err) = $node->psql('postgres', sprintf(q{\set VERBOSITY sqlstate
} . $call, '1000, restart => true'));
like($err, qr/55006/, 'a job that others are working on is not begun again');

# One is ended by another's pg_terminate_backend, and its chunk is gone on with.
is(value(q{SELECT pg_terminate_backend(min(pid)) FROM pg_stat_activity WHERE query LIKE 'CALL dyn_backfill%'}), 't', 'one session is ended');
wait_for($node, "SELECT sessions = 1 $progress");

# kill -9 of the other: all sessions end, and the server comes back by itself.
my $before = value("SELECT rows_done $progress");
my $pid = value(q{SELECT min(pid) FROM pg_stat_activity WHERE query LIKE 'CALL dyn_backfill%'});
kill 9, $pid;
end($_) for @sessions;
finish_load($load);
wait_until_up($node);
is(value("SELECT state || ' ' || sessions $progress"), 'interrupted 0', 'after kill -9 of a session the job is interrupted');
cmp_ok(value("SELECT rows_done $progress"), '>', 0, 'what was done is known');

# The same call goes on; kill -9 of the server.
$load = start_load($node, 2, 600, $writes);
@sessions = (begin(300), begin(300));
wait_for($node, "SELECT rows_done > $before + 1000 $progress");
crash($node);
end($_) for @sessions;
finish_load($load);
is(value("SELECT state || ' ' || count(*) OVER () $progress"), 'interrupted 1', 'after kill -9 of the server it is still the same job');

$load = start_load($node, 2, 600, $writes);
@sessions = map { begin(4000) } 1 .. 2;
my @ends = map { end($_) } @sessions;
is(scalar(grep { /dyn_backfill of table "app" is finished/ } @ends), 2, 'both sessions end when it is finished');
is(scalar(grep { /ERROR/ } @ends), 0, 'none has met an error');
wait_for($node, 'SELECT count(*) > 500 FROM added');
stop_load($load);
ok(defined finish_load($load), 'others have written meanwhile') or diag($load->{err});
is(value("SELECT state || ' ' || problems || ' ' || count(*) OVER () $progress"), 'finished 0 1', 'it is finished');
cmp_ok(value("SELECT rows_done + rows_skipped $progress"), '<=', $items, 'no item was looked at twice');

is(value(q{SELECT count(*) FROM app WHERE item ->> 'kind' = 'user' AND (item ->> 'Touched' IS DISTINCT FROM '1' OR item ->> 'g' IS DISTINCT FROM pk)}),
	'0', 'each item that had to be changed was changed once');
is(value(q{SELECT count(*) FROM app WHERE item ->> 'kind' = 'other' AND item ? 'Touched'}), '0', 'no other was');
is(value(q{SELECT count(*) FROM app JOIN gone USING (sk)}), '0', 'no item that was deleted has come back');
is(value(q{SELECT count(*) FROM (SELECT sk, count(*) AS n FROM added GROUP BY sk) a JOIN app USING (sk) WHERE (item ->> 'Writes')::int <> n}),
	'0', 'no update of others was lost');
is(value(q{SELECT count(*) FROM app JOIN (SELECT sk FROM app EXCEPT SELECT sk FROM added) a USING (sk) WHERE item ? 'Writes'}), '0',
	'and none came of nothing');
is(value('SELECT count(*) FROM dynamo_internal.job_chunks WHERE NOT complete'), '0', 'no chunk is left');

# A call after the end is a new job.
value(sprintf($call, 'NULL'));
is(value(q{SELECT count(*) FROM app WHERE item ->> 'kind' = 'user' AND item ->> 'Touched' <> '2'}), '0', 'the same call after the end is another one');

# A session that has nothing left to begin waits for the others, and does what one of them leaves behind.
value(q{SELECT dyn_create_table('few', 'pk S', 'sk N');
	INSERT INTO few (item) SELECT jsonb_build_object('pk', 'a', 'sk', i) FROM generate_series(1, 10) i});
my $holder = $node->background_psql('postgres', on_error_die => 1);
$holder->query_safe(q{BEGIN; SELECT item FROM few WHERE sk = 7 FOR UPDATE});
$call = q{CALL dyn_backfill('few', 'ADD Touched :one', NULL, vals => jsonb_build_object(':one', 1), max_rate => %s)};
my $few = q{FROM dyn_jobs WHERE relation = 'few'::regclass};
my $pids = q{SELECT pid FROM pg_stat_activity WHERE query LIKE 'CALL dyn_backfill(''few''%' AND wait_event_type = 'Lock' AND wait_event};
my $first = begin('NULL');
wait_for($node, "SELECT count(*) = 1 FROM ($pids IN ('transactionid', 'tuple')) p");
my $second = begin('NULL');
wait_for($node, "SELECT count(*) = 1 FROM ($pids = 'advisory') p");
($status, $out, $err) = $node->psql('postgres', q{\set VERBOSITY sqlstate
} . q{CALL dyn_backfill('few', 'ADD Touched :one', NULL, vals => jsonb_build_object(':one', 1), wait => false)});
like($err, qr/55006/, 'a session that is told not to wait says that others are at work');
is(value("SELECT count(pg_terminate_backend(pid)) FROM ($pids IN ('transactionid', 'tuple')) p"), '1', 'the one at work is ended');
wait_for($node, "SELECT count(*) = 1 FROM ($pids IN ('transactionid', 'tuple')) p");
pass('the one that has waited goes on with its chunk');
$holder->query_safe('COMMIT');
$holder->quit;
end($first);
my $said = end($second);
like($said, qr/waiting for other sessions.*finished/s, 'it said that it waits, and finishes');
is(value(q{SELECT count(*) FILTER (WHERE item ->> 'Touched' = '1') || ' of ' || count(*) FROM few}), '10 of 10', 'each item was changed once');
is(value("SELECT state || ' ' || count(*) OVER () $few"), 'finished 1', 'by one job');
($status, $out, $err) = $node->psql('postgres', q{
	SET dynamo_table.progress_interval = 0;
	CALL dyn_backfill('few', 'ADD Again :one', NULL, vals => jsonb_build_object(':one', 1), batch_size => 2)});
like($err, qr/NOTICE:  backfill "ADD Again :one": \d+ rows, \d+ a second, time left unknown/, 'how far it is');
check_storage($node, 'in the end');
$node->stop;
done_testing();
