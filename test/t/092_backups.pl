# Point-in-time recovery of tables where the server archives its WAL: enabled then and described so, and no longer
# when it does not; dumped and restored with the table; and a restore to a point in time that brings the item back.
use strict;
use warnings;

use File::Spec;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(has_archiving => 1, allows_streaming => 1);
# the server's own folder is another one
my $archive = File::Spec->rel2abs($node->archive_dir);
$node->append_conf('postgresql.conf', qq{archive_command = 'cp "%p" "$archive/%f"'});
allow_plugin($node);
$node->start;
$node->safe_psql('postgres', q{CREATE EXTENSION dynamo_table; CREATE ROLE owner LOGIN; GRANT CREATE ON SCHEMA public TO owner; SET ROLE owner;
	SELECT dyn_create_table('app', 'pk S'), dyn_create_table('plain', 'pk S')});

sub described
{
	my ($table, $dbname, $of) = @_;
	return ($of // $node)->safe_psql($dbname // 'postgres',
		qq{SELECT concat_ws(' ', d ->> 'ContinuousBackupsStatus', d #>> '{PointInTimeRecoveryDescription,PointInTimeRecoveryStatus}',
		d #>> '{PointInTimeRecoveryDescription,RecoveryPeriodInDays}')
		FROM (SELECT dyn_request('DescribeContinuousBackups', '{"TableName": "$table"}') -> 'ContinuousBackupsDescription') q (d)});
}

sub update
{
	my ($specification) = @_;
	my ($code, $out, $err) = $node->psql('postgres',
		qq{SET ROLE owner; SELECT dyn_request('UpdateContinuousBackups', '{"TableName": "app", "PointInTimeRecoverySpecification": {$specification}}')});
	return $err;
}

sub reload
{
	my (%settings) = @_;
	$node->append_conf('postgresql.conf', "$_ = '$settings{$_}'") for keys %settings;
	$node->restart;
	return;
}

# a server that archives
is(described('app'), 'ENABLED DISABLED', 'a server that archives its WAL has continuous backups of all tables');
is(update('"PointInTimeRecoveryEnabled": true, "RecoveryPeriodInDays": 14'), '', 'point-in-time recovery is enabled');
is(described('app'), 'ENABLED ENABLED 14', 'and described so');
is(described('plain'), 'ENABLED DISABLED', 'of that table alone');

# with the table: to another database, and to another point in time
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok(['bash', '-c', 'pg_dump -h ' . $node->host . ' -p ' . $node->port . ' postgres | psql -qX -v ON_ERROR_STOP=1 -h ' . $node->host . ' -p '
  . $node->port . ' restored'], 'a dump is restored');
is(described('app', 'restored'), 'ENABLED ENABLED 14', 'with what is said of the table');
is(described('plain', 'restored'), 'ENABLED DISABLED', 'and of others');
$node->backup('base');
$node->safe_psql('postgres', q{SELECT dyn_put('app', '{"pk": {"S": "kept"}}')});
my $time = $node->safe_psql('postgres', 'SELECT pg_sleep(0.1); SELECT clock_timestamp()');
$time =~ s/^\s+//;
my $wal = $node->safe_psql('postgres', q{SELECT pg_sleep(0.1); SELECT dyn_delete('app', '{"pk": {"S": "kept"}}');
	SELECT pg_walfile_name(pg_current_wal_lsn()); SELECT pg_switch_wal()});
$wal =~ s/.*\b([0-9A-F]{24})\b.*/$1/s;
$node->poll_query_until('postgres', "SELECT last_archived_wal >= '$wal' FROM pg_stat_archiver") or die 'WAL is not archived';
my $past = PostgreSQL::Test::Cluster->new('past');
$past->init_from_backup($node, 'base', has_restoring => 1, standby => 0);
$past->append_conf('postgresql.conf', qq{restore_command = 'cp "$archive/%f" "%p"'});
$past->append_conf('postgresql.conf', "recovery_target_time = '$time'\nrecovery_target_action = 'promote'");
$past->start;
$past->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die 'the restored server does not come up';
is($past->safe_psql('postgres', q{SELECT dyn_get('app', '{"pk": {"S": "kept"}}') IS NOT NULL}), 't',
	'a server that is restored to the point in time has the item');
is(described('app', 'postgres', $past), 'ENABLED ENABLED 14', 'and what was said of the table');
$past->stop;

# a server that does not, for one reason or the other
reload(archive_command => '');
is(described('app'), 'DISABLED DISABLED', 'without a command nothing is archived');
like(update('"PointInTimeRecoveryEnabled": true'), qr/cannot be enabled: the server does not archive its WAL: set archive_mode and archive_command/,
	'nor enabled');
reload(archive_mode => 'off');
is(described('app'), 'DISABLED DISABLED', 'nor with the mode off');
is(described('app', 'restored'), 'DISABLED DISABLED', 'of no table');
reload('dynamo_table.continuous_backups' => 'accept');
is(described('app'), 'ENABLED ENABLED 14', 'what was said comes back where the administrator takes it');
is(update('"PointInTimeRecoveryEnabled": false'), '', 'it is disabled');
is(described('app'), 'ENABLED DISABLED', 'and described so');
is(update('"PointInTimeRecoveryEnabled": true'), '', 'and enabled');
is(described('app'), 'ENABLED ENABLED 35', 'for as long as the service does');

# and one that does, whose administrator refuses
reload(archive_mode => 'always', archive_command => 'true', 'dynamo_table.continuous_backups' => 'refuse');
like(update('"PointInTimeRecoveryEnabled": true'), qr/cannot be enabled: the setting dynamo_table.continuous_backups is "refuse"/,
	'an administrator who refuses');
is(described('app'), 'DISABLED DISABLED', 'is believed');
reload('dynamo_table.continuous_backups' => 'archive');
is(described('app'), 'ENABLED ENABLED 35', 'archive_mode = always archives');

$node->stop;
done_testing();
