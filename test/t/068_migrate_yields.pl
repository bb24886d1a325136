# dyn_migrate() pauses after each batch as long as others write to the tables that it reads, and no longer.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION dynamo_table;
	CREATE TABLE orders (id int PRIMARY KEY, note text);
	CREATE TABLE lines (id int PRIMARY KEY, order_id int NOT NULL REFERENCES orders);
	CREATE INDEX ON lines (order_id);
	CREATE TABLE others (id int PRIMARY KEY);
	INSERT INTO orders SELECT i, 'open' FROM generate_series(1, 4000) i;
	INSERT INTO others VALUES (1);
	SELECT dyn_create_table('app', 'pk S');
	SELECT dyn_create_entity('app', 'Order', '{"pk": "ORDER#<Id>"}', '{"Id": {"type": "N integer"}, "Note": {"type": "S text"}, "Lines": {"type": "N bigint"}}');
	SELECT dyn_create_migration('app', 'shop',
		'[{"entity": "Order", "from": "orders", "children": {"Lines": {"from": "lines", "on": {"order_id": "id"}, "as": "count"}}}]')});

# A statement in a session of its own.
sub begin
{
	my ($sql) = @_;
	my %session = (out => '', err => '');
	$session{harness} = IPC::Run::start([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-c', $sql ],
		'>', \$session{out}, '2>', \$session{err});
	return \%session;
}

my $job = q{FROM pg_stat_activity WHERE query LIKE 'CALL dyn_migrate%' AND state = 'active'};
for my $table ('orders', 'lines')
{
	my $writer = $node->background_psql('postgres');
	$writer->query_safe("BEGIN; DELETE FROM $table WHERE id < 0");
	my $session = begin(q{CALL dyn_migrate('shop', batch_size => 1, restart => true)});
	ok($node->poll_query_until('postgres', "SELECT count(*) = 1 $job AND wait_event = 'PgSleep'"), "a batch yields to a writer of $table");
	$writer->query_safe('COMMIT');
	$writer->quit;
	IPC::Run::finish($session->{harness});
	is($node->safe_psql('postgres', 'SELECT count(*) FROM app'), 4000, 'the migration ends');
	is($node->safe_psql('postgres', q{SELECT count(*) FROM dyn_verify_migration('shop')}), 0, 'and is whole');
}

# 4,000 batches that yield to nobody take seconds; with a pause of 9 ms each they would take half a minute, and sleep all the time.
my $writer = $node->background_psql('postgres');
$writer->query_safe('BEGIN; DELETE FROM others');
my $session = begin(q{CALL dyn_migrate('shop', batch_size => 1, restart => true)});
my $slept = 0;
wait_for($node, "SELECT count(*) = 1 $job");
while ($node->safe_psql('postgres', "SELECT count(*) $job"))
{
	$slept += $node->safe_psql('postgres', "SELECT count(*) $job AND wait_event = 'PgSleep'");
}
is($slept, 0, 'a writer of another table is no reason to yield');
$writer->query_safe('ROLLBACK');
$writer->quit;
IPC::Run::finish($session->{harness});
$node->stop;
done_testing();
