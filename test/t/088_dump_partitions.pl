# Dumps of databases with followed tables, partitioned ones too, restored in parallel: without an error, with all triggers as they
# were, and followed as before; by a session that has not loaded the library, and where it is preloaded.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nfsync = off\ndeadlock_timeout = 100ms");
$node->start;
my $dir = $node->basedir;

sub value
{
	my ($db, $sql) = @_;
	return $node->safe_psql($db, $sql);
}

value('postgres', 'CREATE DATABASE source; CREATE ROLE owner LOGIN');
value('source', q{
	CREATE EXTENSION dynamo_table;
	CREATE SCHEMA shop AUTHORIZATION owner;
	CREATE SCHEMA aa AUTHORIZATION owner;
	SET ROLE owner;
	SET search_path = shop, public;
	CREATE TABLE customers (region text, id int, name text, PRIMARY KEY (region, id)) PARTITION BY LIST (region);
	CREATE TABLE customers_eu PARTITION OF customers FOR VALUES IN ('eu');
	CREATE TABLE customers_rest PARTITION OF customers DEFAULT;
	CREATE TABLE orders (id int, day date, region text, customer int, total numeric, PRIMARY KEY (id, day, region),
		FOREIGN KEY (region, customer) REFERENCES customers (region, id)) PARTITION BY RANGE (day);
	CREATE INDEX ON orders (region, customer);
	CREATE TABLE orders_1 PARTITION OF orders FOR VALUES FROM ('2024-01-01') TO ('2024-02-01');
	CREATE TABLE orders_2 PARTITION OF orders FOR VALUES FROM ('2024-02-01') TO ('2024-03-01') PARTITION BY LIST (region);
	-- comes before its parent in a dump, and has its columns in another order
	CREATE TABLE aa.orders_2_eu (gone int, region text NOT NULL, customer int, day date NOT NULL, id int NOT NULL, total numeric);
	ALTER TABLE aa.orders_2_eu DROP COLUMN gone;
	ALTER TABLE orders_2 ATTACH PARTITION aa.orders_2_eu FOR VALUES IN ('eu');
	CREATE TABLE orders_2_rest PARTITION OF orders_2 DEFAULT;
	CREATE TABLE plain (id int PRIMARY KEY, region text, customer int, v text, FOREIGN KEY (region, customer) REFERENCES customers);
	INSERT INTO customers SELECT r, i, r || i FROM unnest('{eu,us,asia}'::text[]) r, generate_series(1, 20) i;
	INSERT INTO orders SELECT i, date '2024-01-01' + i % 59, (ARRAY['eu', 'us', 'asia'])[i % 3 + 1], i % 20 + 1, i FROM generate_series(1, 600) i;
	INSERT INTO plain SELECT i, 'eu', i, 'v' FROM generate_series(1, 20) i;
	-- one table of items comes first in a dump, and one last
	SELECT dyn_create_table('aa.items', 'pk S', 'sk S'), dyn_create_table('zitems', 'pk S', 'sk S')});
for my $table ('aa.items', 'shop.zitems')
{
	my $name = $table =~ /aa/ ? 'first' : 'last';
	value('source', qq{
		SET ROLE owner;
		SET search_path = shop, public;
		SELECT dyn_create_entity('$table', 'Customer', '{"pk": "CUSTOMER#<Region>#<Id>", "sk": "#"}',
			'{"Region": "S", "Id": "N integer", "Name": "S", "Orders": "N bigint"}');
		SELECT dyn_create_entity('$table', 'Order', '{"pk": "ORDER#<Id>", "sk": "<Day>#<Region>"}',
			'{"Id": "N integer", "Region": "S", "Day": {"type": "S date"}, "Total": "N numeric", "Name": "S"}');
		SELECT dyn_create_entity('$table', 'European', '{"pk": "EU#<Id>", "sk": "<Day>#<Region>"}',
			'{"Id": "N integer", "Region": "S", "Day": {"type": "S date"}, "Total": "N numeric"}');
		SELECT dyn_create_entity('$table', 'February', '{"pk": "FEB#<Id>", "sk": "<Day>#<Region>"}',
			'{"Id": "N integer", "Region": "S", "Day": {"type": "S date"}, "Total": "N numeric"}');
		SELECT dyn_create_entity('$table', 'Plain', '{"pk": "PLAIN#<Id>", "sk": "#"}', '{"Id": "N integer", "V": "S", "Name": "S"}');
		SELECT dyn_create_migration('$table', '$name', '[
			{"entity": "Customer", "from": "customers", "children": {"Orders": {"from": "orders", "on": {"region": "region", "customer": "id"}, "as": "count"}}},
			{"entity": "Order", "from": "orders", "parents": {"c": {"from": "customers", "on": {"region": "region", "id": "customer"}, "attributes": {"Name": "name"}}}},
			{"entity": "February", "from": "orders_2"},
			{"entity": "European", "from": "aa.orders_2_eu"},
			{"entity": "Plain", "from": "plain", "parents": {"c": {"from": "customers", "on": {"region": "region", "id": "customer"},
				"attributes": {"Name": "name"}}}}]');
		SELECT dyn_follow_migration('$name')});
	value('source', "SET ROLE owner; CALL dyn_migrate('$name')");
}
# a partition that has come since
value('source', q{SET ROLE owner; CREATE TABLE shop.orders_3 PARTITION OF shop.orders FOR VALUES FROM ('2024-03-01') TO ('2024-04-01')});

my $triggers = q{
	SELECT c.relname, t.tgname, t.tgenabled, pg_get_triggerdef(t.oid), p.tgrelid::regclass,
		EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_trigger'::regclass AND objid = t.oid AND refobjid IN ('aa.items'::regclass, 'shop.zitems'::regclass))
	FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid LEFT JOIN pg_trigger p ON p.oid = t.tgparentid
	WHERE t.tgname LIKE '~dynamo_follow%' ORDER BY 1, 2};
my $made = value('source', $triggers);
# 2 migrations: plain 6; row triggers of customers 3, of orders 6, of orders_2 3, of orders_2_eu 1; for TRUNCATE 3 + 5, 3 and 1
is(() = $made =~ /^/mg, 2 * 31, 'triggers of all tables');

my $later = 'partition shop.orders_3 came after';
sub verified
{
	my ($db, $name, $preloaded) = @_;
	my $wrong = value($db, "SET client_min_messages = warning; SELECT step, source_row, difference FROM dyn_verify_migration('$name')");
	return 1 if $preloaded ? $wrong eq '' : $wrong =~ /^\|\|\Q$later\E[^\n]*$/;
	diag("$db: $wrong; indexes that are not valid: " . value($db, 'SELECT indexrelid::regclass FROM pg_index WHERE NOT indisvalid'));
	return 0;
}

# All is as it was, and is followed.
sub restored
{
	my ($db, $preloaded) = @_;
	is(value($db, $triggers), $made, "$db: triggers");
	my ($ret, $out, $err) = $node->psql($db, 'TRUNCATE shop.orders_1', extra_params => [ '-U', 'owner' ]);
	like($err, qr/table "orders_1" cannot be truncated, since migration "(first|last)" follows it/,
		"$db: TRUNCATE is refused by a session that has not loaded the library");
	($ret, $out, $err) = $node->psql($db, 'DROP TABLE shop.zitems');
	like($err, qr/trigger ~dynamo_follow_row_\S+ \w+ on table shop\.orders depends on table shop\.zitems/, "$db: it is known what depends on the items");
	value($db, $_) foreach (
		"SET ROLE owner; UPDATE shop.customers SET name = upper(name) WHERE id = 3; UPDATE aa.orders_2_eu SET total = 7 WHERE id % 7 = 0",
		"SET ROLE owner; INSERT INTO shop.orders SELECT 1000 + i, date '2024-01-20' + i, 'eu', 5, i FROM generate_series(1, 60) i; DELETE FROM shop.orders_2
			WHERE id % 5 = 0",
		"SET ROLE owner; UPDATE shop.orders SET day = day + 29 WHERE day BETWEEN '2024-01-05' AND '2024-01-10'; UPDATE shop.plain SET v = 'w', customer = 4
			WHERE id < 5",
		"SET ROLE owner; SET check_function_bodies = off; UPDATE shop.orders_1 SET total = 8 WHERE id < 9; DELETE FROM shop.orders_3 WHERE id > 1050;
			INSERT INTO shop.orders_3 VALUES (5000, '2024-03-31', 'us', 1, 1)");
	is(value($db, "SELECT (SELECT item ->> 'Name' FROM aa.items WHERE pk = 'PLAIN#3'),
		(SELECT count(*) FROM shop.zitems WHERE pk IN ('ORDER#5000', 'ORDER#1060'))"), 'eu4|1', "$db: followed");
	ok(verified($db, $_, $preloaded), "$db: all items of migration $_") foreach ('first', 'last');
	value($db, "SET ROLE owner; SELECT dyn_follow_migration('first', enabled => false); SELECT dyn_follow_migration('first')");
	ok(verified($db, 'first', 1), "$db: followed anew, with triggers of all partitions");
	($ret, $out, $err) = $node->psql($db, 'TRUNCATE shop.orders_3', extra_params => [ '-U', 'owner' ]);
	like($err, qr/table "orders_3" cannot be truncated/, "$db: of later ones too");
}

# Restores into a new database.  Parallel jobs of pg_restore may run into a deadlock of the server's own, between the
# indexes of a partition that are attached and a foreign key that is checked, either of which may be the victim; then all
# is done again.
my $own_deadlock = qr/deadlock detected.*Command was: ALTER (INDEX \S+ ATTACH PARTITION|TABLE (ONLY )?\S+\s+ADD CONSTRAINT \S+ FOREIGN KEY)/s;

sub restore
{
	my ($db, $name, @runs) = @_;
	my ($ok, $out, $err);
	for my $try (1 .. 20)
	{
		value('postgres', "DROP DATABASE IF EXISTS $db");
		value('postgres', "CREATE DATABASE $db");
		for my $options (@runs)
		{
			$ok = $node->run_log([ 'pg_restore', '--exit-on-error', @$options, '-d', $db, "$dir/dump" ], '>', \$out, '2>', \$err);
			last if !$ok;
		}
		last if $ok || $err !~ $own_deadlock || $err =~ /dynamo/;
	}
	ok($ok, "$name: restored") or diag($err);
}

sub restore_all
{
	my ($tag, $preloaded, %ways) = @_;
	for my $way (sort keys %ways)
	{
		my $db = "${tag}_$way";
		restore($db, $db, $ways{$way});
		restored($db, $preloaded);
	}
}

$node->command_ok([ 'pg_dump', '-Fd', '-j3', '-f', "$dir/dump", 'source' ], 'pg_dump -j');
ok(verified('source', $_, 0), "source: all items of migration $_") foreach ('first', 'last');
restore_all('plain', 0, one => [], jobs => ['-j4'], more => ['-j8']);
# once is luck, more so in the long tests
for my $round (1 .. ($ENV{DYNAMO_TABLE_STRESS_SECONDS} ? 8 : 2))
{
	restore('round', "round $round", ['-j4']);
	ok(verified('round', $_, 0), "round $round: all items of migration $_") foreach ('first', 'last');
}

# by sections
restore('apart', 'apart', map { [ '-j4', "--section=$_" ] } ('pre-data', 'data', 'post-data'));
restored('apart', 0);
# preloaded: a partition without a trigger is safe in all sessions
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'dynamo_table'");
$node->restart;
restore_all('preloaded', 1, jobs => ['-j4']);
restore('fresh', 'fresh', ['-j4']);
my ($ret, $out, $err) = $node->psql('fresh', 'TRUNCATE shop.orders_3', extra_params => [ '-U', 'owner' ]);
like($err, qr/table "orders_3" cannot be truncated, since migration "(first|last)" follows it/,
	'fresh: TRUNCATE of a later partition is refused by a session that has called nothing');
unlike(slurp_file($node->logfile), qr/terminated by signal/, 'no crash');
done_testing();
