# dyn_propose_migration() of a schema whose tables come, go and change their names meanwhile: the server stays up, and no call
# fails.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nfsync = off");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION dynamo_table;
	CREATE SCHEMA vanish;
	CREATE TABLE vanish.stays (id int PRIMARY KEY, v text);
	CREATE ROLE reader LOGIN;
	GRANT USAGE ON SCHEMA vanish TO reader;
	GRANT SELECT ON vanish.stays TO reader;
	ALTER DEFAULT PRIVILEGES IN SCHEMA vanish GRANT SELECT ON TABLES TO reader;
});

# Changes tables until it is told to stop; each statement is a transaction of its own
my $changes = q{
	DO $$
	BEGIN
		WHILE to_regclass('stop') IS NULL LOOP
			FOR i IN 1 .. 20 LOOP
				EXECUTE format('CREATE TABLE vanish.t%s_%s (id int PRIMARY KEY, stays_id int REFERENCES vanish.stays)', $1, i);
				COMMIT;
			END LOOP;
			FOR i IN 1 .. 20 LOOP
				IF i % 3 = 0 THEN
					EXECUTE format('ALTER TABLE vanish.t%s_%s RENAME TO u%s_%s', $1, i, $1, i);
					COMMIT;
					EXECUTE format('DROP TABLE vanish.u%s_%s', $1, i);
				ELSE
					EXECUTE format('DROP TABLE vanish.t%s_%s', $1, i);
				END IF;
				COMMIT;
			END LOOP;
		END LOOP;
	END $$;
};
my @sessions;
for my $n (1 .. 2)
{
	(my $sql = $changes) =~ s/\$1/$n/g;
	my $session = { out => '', err => '' };
	$session->{run} = IPC::Run::start([ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-c', $sql ],
		'>', \$session->{out}, '2>', \$session->{err});
	push @sessions, $session;
}

my ($calls, $failed, $several) = (0, '', 0);
wait_until('calls see tables that come and go', sub {
	my ($ret, $out, $err) = $node->psql('postgres',
		q{SELECT count(*) FILTER (WHERE line LIKE '%dyn_create_entity(%') FROM generate_series(1, 20) n,
			dyn_propose_migration('items', '{vanish.*}', NULL, '{}') line GROUP BY n},
		extra_params => [ '-U', 'reader' ]);
	$calls++;
	$failed ||= "$ret: $err" if $ret != 0;
	$several++ if grep { $_ > 1 } split /\n/, $out // '';
	return $failed || $several >= 10;
});
is($failed, '', "no call failed, of 20 * $calls");
$node->safe_psql('postgres', 'CREATE TABLE stop ()');
for my $session (@sessions)
{
	$session->{run}->finish;
	is($session->{err}, '', 'the tables could be changed');
}
my ($ret, $out, $err) = $node->psql('postgres', "SELECT dyn_propose_migration('items', '{vanish.t1_1}')", extra_params => [ '-U', 'reader' ]);
like($err, qr/relation "vanish.t1_1" does not exist/, 'a table that is named must be there');

# The extension itself vanishes while the call waits for a table
$node->safe_psql('postgres', 'CREATE DATABASE leaving');
$node->safe_psql('leaving', 'CREATE EXTENSION dynamo_table; CREATE TABLE waits (id int PRIMARY KEY)');
my $dropper = $node->background_psql('leaving');
$dropper->query_safe('BEGIN; LOCK TABLE waits');
my ($proposed, $error) = ('', '');
my $caller = IPC::Run::start([ 'psql', '-XqAt', '-d', $node->connstr('leaving'), '-c', "SELECT dyn_propose_migration('items', '{public.*}')" ],
	'>', \$proposed, '2>', \$error);
wait_for($node, "SELECT count(*) = 1 FROM pg_locks WHERE NOT granted AND relation = 'waits'::regclass", 'leaving');
$dropper->query_safe('DROP EXTENSION dynamo_table; COMMIT');
$caller->finish;
like($error, qr/^ERROR:  extension "dynamo_table" does not exist$/m, 'the call says that the extension is gone');
$dropper->quit;
unlike(slurp_file($node->logfile), qr/terminated by signal/, 'no server process has crashed');
done_testing();
