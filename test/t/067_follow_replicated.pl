# A followed table that is the target of a subscription: changes that are applied fire no statement trigger, and are followed all the same;
# also in a copy of the database that pg_dump has made.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $publisher = PostgreSQL::Test::Cluster->new('publisher');
$publisher->init(allows_streaming => 'logical');
$publisher->start;
my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');
$subscriber->init;
$subscriber->start;

my $tables = q{
	CREATE TABLE orders (id int PRIMARY KEY, customer int NOT NULL, note text);
	CREATE TABLE lines (id int PRIMARY KEY, order_id int REFERENCES orders, product text);
};
$_->safe_psql('postgres', $tables) for $publisher, $subscriber;
$publisher->safe_psql('postgres', q{
	INSERT INTO orders SELECT i, i % 3, 'copied' FROM generate_series(1, 20) i;
	INSERT INTO lines SELECT i, i, 'copied' FROM generate_series(1, 20) i;
	CREATE PUBLICATION pub FOR TABLE orders, lines});

sub follow
{
	my ($node, $db) = @_;
	$node->safe_psql($db, q{SELECT dyn_follow_migration('shop')});
	return;
}

sub is_equal
{
	my ($node, $db, $count, $what) = @_;
	is($node->safe_psql($db, q{SELECT count(*) FROM app}), $count, "$what: the items are there");
	is($node->safe_psql($db, q{SELECT count(*) FROM dyn_verify_migration('shop')}), 0, "$what: rows and items are equal");
	return;
}

$subscriber->safe_psql('postgres', q{
	CREATE EXTENSION dynamo_table;
	SELECT dyn_create_table('app', 'pk S', 'sk S');
	SELECT dyn_create_entity('app', 'Order', '{"pk": "CUSTOMER#<Customer>", "sk": "ORDER#<Id:05>"}',
		'{"Customer": {"type": "N integer"}, "Id": {"type": "N integer"}, "Note": {"type": "S text"}, "Lines": {"type": "N bigint"}}');
	SELECT dyn_create_migration('app', 'shop',
		'[{"entity": "Order", "from": "orders", "children": {"Lines": {"from": "lines", "on": {"order_id": "id"}, "as": "count"}}}]')});
follow($subscriber, 'postgres');
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION sub CONNECTION '" . $publisher->connstr . ' dbname=postgres' . "' PUBLICATION pub");
$subscriber->wait_for_subscription_sync($publisher, 'sub');
is_equal($subscriber, 'postgres', 20, 'the initial copy');

my @changes = (
	['inserts', q{INSERT INTO orders SELECT i, i % 3, 'new' FROM generate_series(21, 40) i; INSERT INTO lines SELECT i, i, 'new' FROM generate_series(21, 40) i},
		40],
	['updates', q{UPDATE orders SET note = 'updated', customer = customer + 1 WHERE id % 2 = 0; UPDATE lines SET order_id = 1 WHERE id % 5 = 0}, 40],
	['deletes', q{DELETE FROM lines WHERE id > 30 OR order_id = 7; DELETE FROM orders WHERE id > 30
		AND NOT EXISTS (SELECT FROM lines WHERE order_id = orders.id)}, 30]);
for my $change (@changes)
{
	my ($what, $sql, $count) = @$change;
	$publisher->safe_psql('postgres', $sql);
	$publisher->wait_for_catchup('sub');
	is_equal($subscriber, 'postgres', $count, "applied $what");
}
$subscriber->safe_psql('postgres', q{UPDATE orders SET note = 'here' WHERE id < 4});
is_equal($subscriber, 'postgres', 30, 'changes of the subscriber itself');

# A dump keeps the triggers as they are, and the end of following finds all of them.
my $triggers = q{SELECT string_agg(format('%s %s %s %s %s', tgrelid::regclass, tgname, tgenabled, tgtype, tgnewtable), E'\n' ORDER BY tgrelid::regclass::text,
	tgname) FROM pg_trigger WHERE tgname LIKE '~dynamo_follow%'};
my $dump = $subscriber->basedir . '/dump.sql';
$subscriber->command_ok(['pg_dump', '--no-subscriptions', '-f', $dump, '-d', $subscriber->connstr('postgres')], 'the database is dumped');
$subscriber->safe_psql('postgres', 'CREATE DATABASE copy');
$subscriber->command_ok(['psql', '-qX', '-v', 'ON_ERROR_STOP=1', '-f', $dump, '-d', $subscriber->connstr('copy')], 'and restored');
is($subscriber->safe_psql('copy', $triggers), $subscriber->safe_psql('postgres', $triggers), 'with the triggers as they were');
is_equal($subscriber, 'copy', 30, 'restored');
$subscriber->safe_psql('copy', q{UPDATE orders SET note = 'in the copy'; INSERT INTO orders VALUES (100, 1, 'in the copy')});
is_equal($subscriber, 'copy', 31, 'followed in the copy');
$subscriber->safe_psql('copy', q{SELECT dyn_follow_migration('shop', enabled => false)});
is($subscriber->safe_psql('copy', q{SELECT count(*) FROM pg_trigger WHERE tgname LIKE '~dynamo_follow%'}), 0, 'no trigger is left');
$subscriber->safe_psql('postgres', 'DROP SUBSCRIPTION sub');
done_testing();
