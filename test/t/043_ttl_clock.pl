# A clock that jumps, under the server: sweeps and collectors go on by the new time.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $node = PostgreSQL::Test::Cluster->new('main');
my $folder = $node->basedir;

# It tells the server the clock, and the seconds that are in a file.
my $clock = build_library('neighbour/clock.c');

sub set_clock
{
	my ($seconds) = @_;
	open(my $file, -e "$folder/offset" ? '+<:raw' : '>:raw', "$folder/offset") or die "offset: $!";
	print $file pack('l', $seconds);
	close $file;
}

set_clock(0);
$node->init;
allow_plugin($node);
$node->append_conf('postgresql.conf', q{
	shared_preload_libraries = dynamo_table
	wal_level = logical
	max_worker_processes = 16
	dynamo_table.ttl_interval = 1s
	dynamo_table.ttl_probe_interval = 1s
	autovacuum = off
	log_statement = none
});
{
	local $ENV{LD_PRELOAD} = join ':', grep { $_ } $ENV{LD_PRELOAD}, "$clock.so";
	local $ENV{CLOCK_OFFSET} = "$folder/offset";
	$node->start;
}

sub value { return $node->safe_psql('postgres', $_[0]); }

# One item that expires after so many seconds.
sub put
{
	my ($key, $seconds) = @_;
	value(qq{SELECT dyn_put('app', jsonb_build_object('pk', '$key', 'e', floor(extract(epoch FROM clock_timestamp()))::bigint + $seconds)::dyn_item)});
}

sub gone
{
	my ($key) = @_;
	wait_for($node, qq{SELECT count(*) = 0 FROM app WHERE item ->> 'pk' = '$key'});
	wait_for($node, qq{SELECT count(*) = 1 FROM dyn_read_stream('app') WHERE event_name = 'REMOVE' AND expired AND keys ->> 'pk' = '$key'});
	pass("$key is removed, and that is collected");
}

value(q{CREATE EXTENSION dynamo_table; SELECT dyn_create_table('app', 'pk S')});
value(q{CALL dyn_setup_streams()});
value(q{SELECT dyn_enable_stream('app', 'KEYS_ONLY', 1)});
value(q{CALL dyn_enable_ttl('app', 'e')});
put('past', -60);
put('future', 5000);
gone('past');
my $before = value('SELECT extract(epoch FROM clock_timestamp())');
set_clock(7200);
cmp_ok(value('SELECT extract(epoch FROM clock_timestamp())'), '>', $before + 7000, 'the server has another clock');
gone('future');
put('after the jump', -60);
gone('after the jump');
$node->stop;

done_testing();
