# Change streams and the promotion of a standby.  ST07, ST08, ST09: what was collected survives; what was
# not, where the slot did not come along, is a gap that every reader is told of; from 17 on a failover
# slot goes on without one.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $settings = q{
wal_level = logical
shared_preload_libraries = 'dynamo_table'
log_statement = none
autovacuum = off
};

sub start_pair
{
	my ($name, $primary_settings, $standby_settings, $slot) = @_;
	my $primary = PostgreSQL::Test::Cluster->new("${name}_primary");
	$primary->init(allows_streaming => 'logical');
	$primary->append_conf('postgresql.conf', $settings . $primary_settings);
	allow_plugin($primary);
	$primary->start;
	$primary->safe_psql('postgres', "SELECT pg_create_physical_replication_slot('$slot')") if $slot;
	$primary->backup('base');
	my $standby = PostgreSQL::Test::Cluster->new("${name}_standby");
	$standby->init_from_backup($primary, 'base', has_streaming => 1);
	$standby->append_conf('postgresql.conf', $standby_settings);
	if ($slot)
	{
		my $conninfo = $primary->connstr . ' dbname=postgres';
		$standby->append_conf('postgresql.conf', "primary_slot_name = '$slot'\nprimary_conninfo = '$conninfo'");
	}
	$standby->start;
	return ($primary, $standby);
}

sub declare_table
{
	my ($node, $arguments) = @_;
	$node->safe_psql('postgres', $_) for (
		'CREATE EXTENSION dynamo_table',
		"CALL dyn_setup_streams($arguments)",
		q{SELECT dyn_create_table('app', 'pk S')},
		q{SELECT dyn_enable_stream('app', 'NEW_AND_OLD_IMAGES')});
}

sub put_items
{
	my ($node, $from, $to) = @_;
	$node->safe_psql('postgres',
		"SELECT dyn_put('app', jsonb_build_object('pk', 'k' || i, 'n', i)) FROM generate_series($from, $to) i");
}

# The numbers of the items whose records a reader gets from the beginning, or the error.
sub numbers
{
	my ($node, $position) = @_;
	$position //= 'TRIM_HORIZON';
	my ($rc, $out, $err) = $node->psql('postgres',
		"SELECT string_agg(new_image ->> 'n', ' ') FROM dyn_read_stream('app', '$position', max_records => 1000)");
	return $rc == 0 ? $out : $err;
}

sub series { return join(' ', $_[0] .. $_[1]); }

sub is_collected
{
	my ($node, $from, $to, $name) = @_;
	$node->poll_query_until('postgres',
		"SELECT string_agg(new_image ->> 'n', ' ') = '" . series($from, $to) . "' FROM dyn_read_stream('app', 'TRIM_HORIZON', max_records => 1000)")
	  or diag('got: ' . numbers($node));
	is(numbers($node), series($from, $to), $name);
}

# Without a failover slot.

my ($primary, $standby) = start_pair('plain', '', '', undef);
declare_table($primary, '');
put_items($primary, 1, 20);
is_collected($primary, 1, 20, 'the worker collects');
$primary->wait_for_catchup($standby);
is(numbers($standby), series(1, 20), 'ST08: a standby reads what was collected');

# What the primary had committed, but not collected, when it went away.
$primary->safe_psql('postgres', 'ALTER SYSTEM SET dynamo_table.stream_collector = off');
$primary->reload;
wait_for($primary, 'SELECT NOT bool_or(active) FROM pg_replication_slots');
put_items($primary, 21, 30);
$primary->wait_for_catchup($standby);
$primary->stop('immediate');
$standby->promote;

is($standby->safe_psql('postgres', 'SELECT state FROM dyn_stream_slots'),
	'slot missing', 'the promoted server has no slot, and says so');
is(numbers($standby), series(1, 20), 'ST07: what was collected is there');
put_items($standby, 31, 40);
my ($rc, $out, $err) = $standby->psql('postgres', 'CALL dyn_setup_streams()');
is($rc, 0, 'streams are set up again');
like($err, qr/WARNING/, 'with a warning');
put_items($standby, 41, 50);
is($standby->safe_psql('postgres', 'SELECT state FROM dyn_stream_slots'), 'ready', 'then all is well');

my $last = $standby->safe_psql('postgres',
	"SELECT max(sequence_number) FROM dyn_read_stream('app', 'TRIM_HORIZON', max_records => 1000)");
$err = numbers($standby, $last);
like($err, qr/ERROR/, 'who reads on comes to the gap');
my ($next) = $err =~ /DETAIL:.*?(1\d{32})/s;
ok(defined $next, 'and is told where it ends') or diag($err);
wait_for($standby, "SELECT count(*) = 10 FROM dyn_read_stream('app', '$next', max_records => 1000)");
is(numbers($standby, $next), series(41, 50), 'ST09: from there on nothing is missing');
$standby->stop;

# With one.

SKIP:
{
	skip 'failover slots came with 17', 9 if $primary->pg_version < 17;

	my ($old, $new) = start_pair('failover', "synchronized_standby_slots = 'physical'",
		"sync_replication_slots = off\nhot_standby_feedback = on", 'physical');
	declare_table($old, 'failover => true');
	put_items($old, 1, 20);
	is_collected($old, 1, 20, 'the worker collects by a failover slot');
	is($old->safe_psql('postgres', 'SELECT failover, synced FROM dyn_stream_slots'), 't|f', 'no standby has the slot yet');
	is($new->safe_psql('postgres', 'SELECT state, synced IS NULL FROM dyn_stream_slots'), 'standby|t', 'as the standby says');
	# there are no more writes, and the standby begins to synchronize: the slot moves on for it all the same
	$new->append_conf('postgresql.conf', 'sync_replication_slots = on');
	$new->reload;
	ok($new->poll_query_until('postgres', 'SELECT synced FROM dyn_stream_slots'), 'a standby takes the slot over on an idle server');
	ok($old->poll_query_until('postgres', 'SELECT synced FROM dyn_stream_slots'), 'and the primary knows');
	# what came last is noted by now
	wait_for($old, 'SELECT confirmed_lsn = collected_lsn FROM dyn_stream_slots');
	wait_for_rest($old);
	pass('then the server is idle');
	$old->safe_psql('postgres', 'ALTER SYSTEM SET dynamo_table.stream_collector = off');
	$old->reload;
	wait_for($old, q{SELECT NOT bool_or(active) FROM pg_replication_slots WHERE plugin = 'dynamo_table'});
	put_items($old, 21, 30);
	$old->wait_for_catchup($new);
	$old->stop('immediate');
	$new->promote;
	is($new->safe_psql('postgres', 'SELECT state FROM dyn_stream_slots'), 'ready', 'the slot came along');
	put_items($new, 31, 40);
	is_collected($new, 1, 40, 'ST07: nothing is missing, and nothing doubled');
	is($new->safe_psql('postgres', 'SELECT count(*) FROM dynamo_internal.stream_gaps'), '1', 'and no gap was made');
	$new->stop;
}

done_testing();
