# What the TAP tests of the storage share.
package DynamoTable;

use strict;
use warnings;

use Carp;
use Exporter 'import';
use File::Basename qw(basename);
use File::Temp qw(tempdir);
use FindBin;
use Frontend;
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

our @EXPORT = qw(check_storage create_twins twins_agree start_load await_load stop_load finish_load crash wait_for wait_for_rest wait_until wait_until_up
	allow_plugin configured build_library);

# A psql costs more than most of what it is started for, and a test starts hundreds.  So those that wait ask in one session again and
# again, and statements that psql would only pass on are sent by the test itself, each psql's session by one of its own.
{
	no warnings qw(redefine prototype);

	*PostgreSQL::Test::Cluster::poll_query_until = sub {
		my ($node, $dbname, $query, $expected) = @_;
		$expected //= 't';
		my ($session, $seen);
		my $end = time + $PostgreSQL::Test::Utils::timeout_default;
		while (time <= $end)
		{
			$seen = eval { ($session //= Frontend->of_environment($node, $dbname))->query($query) };
			# the server may come back
			($session, $seen) = (undef, $@) if !defined $seen;
			if ($seen eq $expected)
			{
				$session->close;
				return 1;
			}
			usleep(100_000);
		}
		diag("poll_query_until timed out executing this query:\n$query\nexpecting this output:\n$expected\nlast actual query output:\n$seen");
		return 0;
	};

	my $safe_psql = \&PostgreSQL::Test::Cluster::safe_psql;
	*PostgreSQL::Test::Cluster::safe_psql = sub {
		my ($node, $dbname, $sql, %params) = @_;
		my @statements = %params ? () : _plain_statements($sql);
		return $safe_psql->(@_) unless @statements;
		my $session = Frontend->of_environment($node, $dbname);
		my @rows = map { $session->rows($_) } @statements;
		$session->close;
		return join("\n", @rows);
	};

	# From major 17 on clusters are copies of $INITDB_TEMPLATE where nothing else is asked for, which take a tenth of initdb's time.
	my $system_or_bail = \&PostgreSQL::Test::Utils::system_or_bail;
	*PostgreSQL::Test::Utils::system_or_bail = sub {
		return $system_or_bail->("@_" =~ /^initdb -D (\S+) -A trust -N$/ && $ENV{INITDB_TEMPLATE} ? ('cp', '-RPp', $ENV{INITDB_TEMPLATE}, $1) : @_);
	};
}

# The statements of a text of SQL.  None where psql does more than to pass them on, or where the end of a statement is harder to find.
sub _plain_statements
{
	my ($sql) = @_;
	return () if $sql =~ /\\|\b(COPY|ATOMIC|RULE)\b/i;
	my @statements = ('');
	while ($sql =~ /\G('[^']*'|"[^"]*"|(\$\w*\$).*?\g2|--[^\n]*|[^'"\$;-]+|.)/gs)
	{
		if ($1 eq ';') { push @statements, '' }
		else { $statements[-1] .= $1 }
	}
	return grep { /\S/ } @statements;
}

# Wait until a query is true.  After minutes this gives up, and tells what the server does instead.
sub wait_for
{
	my ($node, $sql, $dbname) = @_;
	return if $node->poll_query_until($dbname // 'postgres', $sql);
	my (undef, $activity) = $node->psql('postgres',
		q{SELECT pid, backend_type, datname, state, wait_event_type, wait_event, backend_xmin, left(query, 200) FROM pg_stat_activity ORDER BY backend_start});
	croak("never true: $sql\n" . ($activity // 'no answer'));
}

# Wait until a condition holds, and return the first value that it returns.  All of its values are told when this gives up.
sub wait_until
{
	my ($what, $condition) = @_;
	my @seen;
	my $end = time + $PostgreSQL::Test::Utils::timeout_default;
	while (!(@seen = $condition->())[0])
	{
		croak("$what: never, but: @seen") if time > $end;
		usleep(100_000);
	}
	return $seen[0];
}

# Wait until a server writes no WAL any more: for longer than a collector waits before it notes how far it has come.
sub wait_for_rest
{
	my ($node) = @_;
	my ($last, $same) = ('', 0);
	wait_until('the server comes to rest', sub {
		my $end = $node->safe_psql('postgres', 'SELECT pg_current_wal_insert_lsn()');
		$same = $end eq $last ? $same + 1 : 0;
		$last = $end;
		return ($same >= 20, $end);
	});
}

# Whether a process is there, and neither killed nor a zombie that its parent has not looked after yet.
sub _lives
{
	my ($pid) = @_;
	open my $status, '<', "/proc/$pid/status" or return 0;
	my $text = do { local $/; <$status> };
	return $text =~ /^State:\s+[^ZX]/m && !grep { hex(substr $_, -3) & 0x100 } $text =~ /^S\w*Pnd:\s+(\w+)/mg;
}

# Wait for a server that restarts by itself.  It has done so when it answers, and all processes that it knows of live: until
# it has noticed that one of them was killed, it goes on to answer.  This is not done by poll_query_until(), which writes its query to psql, which may
# have gone by then.
sub wait_until_up
{
	my ($node) = @_;
	wait_until('the server comes back', sub {
		my $well = IPC::Run::run([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', 'SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()' ],
			'>', \my $out, '2>', \my $err);
		return ($well && !(grep { !_lives($_) } split(' ', $out)), $err);
	});
}

# Every table of ours in a database, and its indexes, are sound.
sub check_storage
{
	my ($node, $name, $dbname) = @_;
	$dbname //= 'postgres';
	$node->safe_psql($dbname, slurp_file("$FindBin::RealBin/../sql/check_storage.sql"));
	my $found = $node->safe_psql(
		$dbname, q{
		WITH ours AS (SELECT c.oid FROM pg_class c JOIN pg_am a ON a.oid = c.relam
					  WHERE a.amname = 'dynamo_table' AND c.relkind IN ('r', 'm'))
		SELECT (count(*) > 0)::text FROM ours
		UNION ALL
		SELECT f FROM ours, check_storage(ours.oid) f});
	is($found, 'true', "$name: tables and indexes are sound");
	check_tables($node, $name, $dbname);
}

# dyn_check_table() finds nothing wrong with any table of items in a database.
sub check_tables
{
	my ($node, $name, $dbname) = @_;
	return if $node->safe_psql($dbname, q{SELECT to_regproc('dyn_check_table') IS NULL}) eq 't';
	# schemas may have any names, so each is the search_path
	my $checks = $node->safe_psql($dbname, q{
		SELECT format('SET search_path = %I; SELECT * FROM %I.dyn_check_table(%L);', n.nspname,
			(SELECT pronamespace::regnamespace FROM pg_proc WHERE proname = 'dyn_check_table'), c.relname)
		FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE t.tgname = '~dynamo_keys' AND t.tgparentid = 0});
	is($node->safe_psql($dbname, $checks), '', "$name: nothing is wrong with tables of items");
}

# Let a cluster that was made use the output plugin. Newer minors ask for it, older ones do not know
# the setting; returns whether this is a newer one.
sub allow_plugin
{
	my ($node) = @_;
	my ($config, $errors) = run_command([ 'postgres', '--describe-config' ]);
	return 0 unless $config =~ /^output_plugin_libraries\t/m;
	$node->append_conf('postgresql.conf', "output_plugin_libraries = 'pgoutput, test_decoding, dynamo_table'");
	return 1;
}

# What pg_config tells of the server that is tested.
sub configured
{
	my ($what) = @_;
	my ($out) = run_command([ 'pg_config', "--$what" ]);
	return $out;
}

# The path without .so of a library that the server can load, made of a source file of test/.
sub build_library
{
	my ($source) = @_;
	my $folder = tempdir('libraryXXXX', TMPDIR => 1, CLEANUP => 1);
	chmod 0755, $folder;
	my $library = "$folder/" . basename($source, '.c');
	system_or_bail('gcc', '-shared', '-fPIC', '-O1', '-I', configured('includedir-server'), '-o', "$library.so", "$FindBin::RealBin/../$source");
	return $library;
}

# A table of ours and a heap that every load script writes in the same transactions.
sub create_twins
{
	my ($node, $dbname) = @_;
	$node->safe_psql(
		$dbname // 'postgres', q{
		CREATE EXTENSION IF NOT EXISTS dynamo_table;
		CREATE TABLE ours (id int PRIMARY KEY, grp int, v text) USING dynamo_table WITH (fillfactor = 90);
		CREATE TABLE twin (id int PRIMARY KEY, grp int, v text) USING heap;
		ALTER TABLE ours ALTER v SET STORAGE EXTERNAL;
		ALTER TABLE twin ALTER v SET STORAGE EXTERNAL;
		CREATE INDEX ours_grp ON ours (grp);
		INSERT INTO ours SELECT i, i % 50, repeat(md5(i::text), 1 + i % 3) FROM generate_series(1, 2000) i;
		INSERT INTO twin TABLE ours});
}

sub twins_agree
{
	my ($node, $name, $dbname) = @_;
	my $differing = $node->safe_psql($dbname // 'postgres',
		'SELECT count(*) FROM ((TABLE ours EXCEPT TABLE twin) UNION ALL (TABLE twin EXCEPT TABLE ours)) d');
	is($differing, '0', "$name: both tables hold the same rows");
}

# A pgbench in the background; returns what finish_load() wants.
sub start_load
{
	my ($node, $clients, $seconds, $script) = @_;
	my $file = $node->basedir . '/load' . int(rand(1e9)) . '.sql';
	append_to_file($file, $script);
	my %load = (out => '', err => '');
	local $ENV{PGHOST} = $node->host;
	local $ENV{PGPORT} = $node->port;
	$load{harness} = IPC::Run::start(
		[ 'pgbench', '-n', '-c', $clients, '-j', $clients, '-T', $seconds,
			'-f', $file, 'postgres' ],
		'>', \$load{out}, '2>', \$load{err});
	return \%load;
}

# Wait until so many clients of loads are at work at a node, where nothing else of the test is.
sub await_load
{
	my ($node, $clients) = @_;
	wait_for($node, "SELECT count(*) = $clients FROM pg_stat_activity
		WHERE application_name = current_setting('application_name') AND pid <> pg_backend_pid() AND query <> ''");
}

# Let a load that is at work end now as it would after its seconds: SIGALRM is how pgbench notices those.
sub stop_load
{
	my ($load) = @_;
	$load->{harness}->signal('ALRM');
}

# Wait for it; returns the number of times that its script ran, or undef if it ended early.
sub finish_load
{
	my ($load) = @_;
	my $well = $load->{harness}->finish;
	my ($count) = $load->{out} =~ /number of transactions actually processed: (\d+)/;
	return $count if $well && $load->{err} !~ /ERROR|abort/;
	return undef;
}

# kill -9 for the postmaster, and the next start. Its children hold the shared memory until they
# notice that it is gone.
sub crash
{
	my ($node) = @_;
	my $pid = $node->{_pid};
	$node->kill9;
	wait_until('the server starts after the crash', sub { !kill(0, $pid) && $node->start(fail_ok => 1) });
}

1;
