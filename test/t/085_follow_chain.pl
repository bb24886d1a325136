# Writers of partitioned tables, of rows that refer to each other without a foreign key or by a deferred one, and of grandparents,
# while dyn_migrate() runs and after it: in the end rows and items are equal. What a subscription applies to partitions is followed, too.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;
use Rental;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(allows_streaming => 'logical');
$node->append_conf('postgresql.conf', q{
	autovacuum = off
	deadlock_timeout = 100ms
});
$node->start;

sub value
{
	my ($sql, $db) = @_;
	return $node->safe_psql($db // 'postgres', $sql);
}

my $tables = q{
	CREATE TABLE films (id int PRIMARY KEY, title text NOT NULL);
	CREATE TABLE copies (id int, store int, film int, PRIMARY KEY (store, id)) PARTITION BY LIST (store);
	CREATE TABLE copies_1 PARTITION OF copies FOR VALUES IN (1);
	CREATE TABLE copies_rest PARTITION OF copies DEFAULT PARTITION BY HASH (id);
	CREATE TABLE copies_a PARTITION OF copies_rest FOR VALUES WITH (MODULUS 2, REMAINDER 0);
	CREATE TABLE copies_b PARTITION OF copies_rest FOR VALUES WITH (MODULUS 2, REMAINDER 1);
	CREATE TABLE customers (id int PRIMARY KEY, name text);
	CREATE TABLE rentals (id int, month int, customer int REFERENCES customers DEFERRABLE INITIALLY DEFERRED, store int, copy int,
		PRIMARY KEY (id, month)) PARTITION BY LIST (month);
	CREATE TABLE rentals_1 PARTITION OF rentals FOR VALUES IN (1);
	CREATE TABLE rentals_2 (copy int, store int, customer int, month int NOT NULL, id int NOT NULL);
	ALTER TABLE rentals ATTACH PARTITION rentals_2 FOR VALUES IN (2);
	CREATE TABLE rentals_rest PARTITION OF rentals DEFAULT;
	CREATE TABLE payments (id int PRIMARY KEY, rental int, month int, amount int);
	CREATE INDEX ON rentals (customer);
	CREATE INDEX ON rentals (store, copy);
	CREATE INDEX ON copies (film);
	CREATE INDEX ON payments (rental, month);
};
my $declare = q{
	SELECT dyn_create_table('app', 'pk S', 'sk S');
	SELECT dyn_create_entity('app', 'Rental', '{"pk": "RENTAL#<Id>", "sk": "M#<Month:02>"}',
		'{"Id": "N integer", "Month": "N integer", "Customer": "S", "Film": "S", "Payments": "N bigint"}');
	SELECT dyn_create_entity('app', 'Customer', '{"pk": "CUSTOMER#<Id>", "sk": "#"}', '{"Id": "N integer", "Name": "S", "Rentals": "N bigint"}');
	SELECT dyn_create_entity('app', 'January', '{"pk": "JANUARY#<Id>", "sk": "M#<Month:02>"}', '{"Id": "N integer", "Month": "N integer", "Store": "N integer"}');
	SELECT dyn_create_migration('app', 'chain', '[
		{"entity": "Rental", "from": "rentals",
			"parents": {"u": {"from": "customers", "on": {"id": "customer"}, "attributes": {"Customer": "name"}},
				"c": {"from": "copies", "on": {"store": "store", "id": "copy"},
					"parents": {"f": {"from": "films", "on": {"id": "film"}, "attributes": {"Film": "title"}}}}},
			"children": {"Payments": {"from": "payments", "on": {"rental": "id", "month": "month"}, "as": "count"}}},
		{"entity": "Customer", "from": "customers", "children": {"Rentals": {"from": "rentals", "on": {"customer": "id"}, "as": "count"}}},
		{"entity": "January", "from": "rentals_1"}]')};

sub is_equal
{
	my ($db, $what) = @_;
	is(value(q{SELECT step || ' ' || coalesce(source_row, key::text) || ' ' || difference FROM dyn_verify_migration('chain') LIMIT 10}, $db), '',
		"$what: rows and items are equal");
	return;
}

value('CREATE EXTENSION dynamo_table') if value(q{SELECT count(*) FROM pg_extension WHERE extname = 'dynamo_table'}) eq '0';
value("$tables; $declare");
value(q{
	INSERT INTO films SELECT i, 'Film ' || i FROM generate_series(1, 20) i;
	INSERT INTO copies SELECT i, i % 4, 1 + i % 25 FROM generate_series(1, 60) i;
	INSERT INTO customers SELECT i, 'Customer ' || i FROM generate_series(1, 20) i;
	INSERT INTO rentals SELECT i, 1 + i % 4, 1 + i % 20, i % 4, 1 + i % 70 FROM generate_series(1, 400) i;
	INSERT INTO payments SELECT i, i % 450, 1 + i % 4, i FROM generate_series(1, 600) i;
	CREATE SEQUENCE ids START 1000;
	CREATE SEQUENCE conflicts;
	CREATE FUNCTION change(what int, n int) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		CASE what
			WHEN 1 THEN INSERT INTO rentals SELECT nextval('ids'), 1 + n % 4, 1 + n % 20, n % 4, 1 + n % 70 WHERE EXISTS (SELECT FROM customers WHERE id = 1 + n % 20);
			WHEN 2 THEN UPDATE rentals SET month = 1 + n % 5 WHERE id = 1 + n % 400;
			WHEN 3 THEN UPDATE rentals SET store = n % 4, copy = 1 + n % 70 WHERE id = 1 + n % 400;
			WHEN 4 THEN DELETE FROM rentals WHERE id = 1 + n % 400;
			WHEN 5 THEN INSERT INTO rentals_1 VALUES (1 + n % 400, 1, NULL, n % 4, 1 + n % 60) ON CONFLICT (id, month) DO UPDATE SET copy = excluded.copy;
			WHEN 6 THEN UPDATE films SET title = 'Title ' || n WHERE id = 1 + n % 25;
			WHEN 7 THEN INSERT INTO films VALUES (1 + n % 25, 'New ' || n) ON CONFLICT DO NOTHING;
			WHEN 8 THEN DELETE FROM films WHERE id = 1 + n % 25;
			WHEN 9 THEN UPDATE copies SET film = 1 + n % 25 WHERE id = 1 + n % 60;
			WHEN 10 THEN UPDATE copies SET store = n % 4 WHERE id = 1 + n % 60 AND NOT EXISTS (SELECT FROM copies WHERE store = n % 4 AND id = 1 + n % 60);
			WHEN 11 THEN INSERT INTO copies VALUES (1 + n % 70, n % 4, 1 + n % 25) ON CONFLICT DO NOTHING;
			WHEN 12 THEN DELETE FROM copies WHERE id = 1 + n % 70 AND store = n % 4;
			WHEN 13 THEN INSERT INTO payments VALUES (nextval('ids'), n % 450, 1 + n % 4, n);
			WHEN 14 THEN DELETE FROM payments WHERE id = n % 600;
			WHEN 15 THEN INSERT INTO rentals VALUES (nextval('ids'), 2, 1000 + n % 50, 1, 1); INSERT INTO customers VALUES (1000 + n % 50, 'late')
				ON CONFLICT DO NOTHING;
			ELSE DELETE FROM customers WHERE id = 1000 + n % 50; DELETE FROM rentals WHERE customer = 1000 + n % 50;
		END CASE;
		SET CONSTRAINTS ALL IMMEDIATE;
	EXCEPTION WHEN deadlock_detected OR serialization_failure OR unique_violation OR foreign_key_violation OR SQLSTATE 'YD004' THEN
		PERFORM nextval('conflicts');
	END $$;
	SELECT dyn_follow_migration('chain')});

my $load = start_load($node, 4, $ENV{DYN_TEST_SECONDS} // 6, q{
\set a random(1, 16)
\set b random(1, 16)
\set n random(1, 1000000)
\set m random(1, 1000000)
\set end random(1, 6)
BEGIN;
SELECT change(:a, :n);
SELECT change(:b, :m);
\if :end = 1
ROLLBACK;
\else
COMMIT;
\endif
});
my ($status, $out, $err) = $node->psql('postgres', q{CALL dyn_migrate('chain')});
is($status, 0, 'the migration ends while others write') or diag($err);
my $count = finish_load($load);
ok($count, 'writers have met no error') or diag($load->{err});
diag("$count transactions, " . value('SELECT last_value - 1 FROM conflicts') . ' conflicts');
is_equal('postgres', 'after the writes');
cmp_ok(value(q{SELECT count(*) FROM app WHERE item ? 'Film'}), '>', 0, 'items have titles of films');
cmp_ok(value(q{SELECT count(*) FROM rentals WHERE id >= 1000}), '>', 0, 'there are new rows');

# The same tables as the target of a subscription, whose worker fires row triggers alone.
$node->safe_psql('postgres', 'CREATE DATABASE target');
value("CREATE EXTENSION IF NOT EXISTS dynamo_table; $tables; $declare; SELECT dyn_follow_migration('chain')", 'target');
value(q{CREATE PUBLICATION pub FOR TABLE films, copies, customers, rentals, payments; SELECT pg_create_logical_replication_slot('sub', 'pgoutput')});
value("CREATE SUBSCRIPTION sub CONNECTION '" . $node->connstr . " dbname=postgres' PUBLICATION pub WITH (create_slot = false, slot_name = 'sub')", 'target');
$node->wait_for_subscription_sync($node, 'sub', 'target');
is_equal('target', 'the initial copy');
value(q{SELECT change(1 + i % 14, i * 7919) FROM generate_series(1, 200) i});
value(q{UPDATE rentals SET month = month + 10 WHERE id % 2 = 0});
$node->wait_for_catchup('sub');
is(value('SELECT count(*) FROM rentals', 'target'), value('SELECT count(*) FROM rentals'), 'changes are applied');
is_equal('target', 'applied changes');
is_equal('postgres', 'changes of the publisher');

# A dump keeps the triggers of partitions as they are.
my $triggers = q{SELECT string_agg(format('%s %s %s %s %s', tgrelid::regclass, tgname, tgenabled, tgtype, tgparentid <> 0), E'\n'
	ORDER BY tgrelid::regclass::text COLLATE "C", tgname) FROM pg_trigger WHERE tgname LIKE '~dynamo_follow%'};
my $dump = $node->basedir . '/dump.sql';
$node->command_ok(['pg_dump', '-f', $dump, '-d', $node->connstr('postgres')], 'the database is dumped');
value('CREATE DATABASE copy');
$node->command_ok(['psql', '-qX', '-v', 'ON_ERROR_STOP=1', '-f', $dump, '-d', $node->connstr('copy')], 'and restored');
is(value($triggers, 'copy'), value($triggers), 'with the triggers as they were');
is_equal('copy', 'restored');
value(q{SELECT change(1 + i % 14, i * 7919) FROM generate_series(1, 50) i}, 'copy');
is_equal('copy', 'followed in the copy');
value(q{SELECT dyn_follow_migration('chain', enabled => false)}, 'copy');
is(value(q{SELECT count(*) FROM pg_trigger WHERE tgname LIKE '~dynamo_follow%'}, 'copy'), '0', 'no trigger is left');
value(q{ALTER SUBSCRIPTION sub DISABLE; ALTER SUBSCRIPTION sub SET (slot_name = NONE); DROP SUBSCRIPTION sub}, 'target');
$node->stop;
done_testing();
