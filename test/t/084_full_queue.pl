# A role that listens, is idle in a transaction, and notifies by another session fills up the queue of
# notifications.  Commits with a notification fail then, but keys of gateways can be disabled.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;

# 8 GB before
plan skip_all => 'the size of the queue is fixed before PostgreSQL 17' if $node->pg_version < 17;

$node->append_conf('postgresql.conf', 'max_notify_queue_pages = 64');
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION dynamo_table;
	CREATE ROLE mallory LOGIN;
	SELECT dyn_create_access_key('KEY', 'mallory', 'x');
});

my $listener = $node->background_psql('postgres', extra_params => [ '-U', 'mallory' ]);
$listener->query_safe('LISTEN anything');
$listener->query_safe('BEGIN');
my ($status, $out, $err) = (0);
for (1 .. 100)
{
	($status, $out, $err) = $node->psql('postgres', "SELECT count(pg_notify('anything', n || repeat('x', 7900))) FROM generate_series(1, 10) n",
		extra_params => [ '-U', 'mallory' ]);
	last if $status != 0;
}
like($err, qr/too many notifications/, 'the queue is full');

is($node->safe_psql('postgres', q{SELECT dyn_alter_access_key('KEY', enabled => false); SELECT state FROM dyn_access_keys}), "\ndisabled",
	'a key is disabled nevertheless');

$listener->query_safe('COMMIT');
$listener->quit;
$node->safe_psql('postgres', q{SELECT dyn_drop_access_key('KEY')});
is($node->safe_psql('postgres', 'SELECT count(*) FROM dyn_access_keys'), 0, 'and dropped');
$node->stop;
done_testing();
