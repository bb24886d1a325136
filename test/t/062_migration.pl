# M27: a migration of 50,000 rows goes on after kill -9 where it was, is shared by sessions, and is followed while clients
# write to the relational tables; both sides are equal afterwards. DYN_TEST_ROWS is the number of rows.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $rows = $ENV{DYN_TEST_ROWS} // 50000;
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', q{
	restart_after_crash = on
	max_wal_size = 2GB
	client_min_messages = warning
});
$node->start;
$node->safe_psql('postgres', qq{
	CREATE EXTENSION dynamo_table;
	CREATE TABLE customers (id int PRIMARY KEY, name text NOT NULL);
	CREATE TABLE orders (id int PRIMARY KEY, customer_id int NOT NULL REFERENCES customers, total numeric, state text NOT NULL);
	CREATE TABLE lines (order_id int REFERENCES orders ON DELETE CASCADE, n int, product text, PRIMARY KEY (order_id, n));
	CREATE INDEX ON orders (customer_id);
	INSERT INTO customers SELECT i, 'customer ' || i FROM generate_series(1, 100) i;
	INSERT INTO orders SELECT i, 1 + i % 100, i / 7.0, 'open' FROM generate_series(1, $rows) i;
	INSERT INTO lines SELECT i, n, md5(i || '.' || n) FROM generate_series(1, $rows, 5) i, generate_series(1, 2) n;
	ANALYZE;
	SELECT dyn_create_table('app', 'pk S', 'sk S');
	SELECT dyn_create_entity('app', 'Customer', '{"pk": "CUSTOMER#<CustomerId>", "sk": "#"}',
		'{"CustomerId": {"type": "N integer"}, "Name": {"type": "S text"}, "Open": {"type": "N bigint"}}');
	SELECT dyn_create_entity('app', 'Order', '{"pk": "CUSTOMER#<CustomerId>", "sk": "ORDER#<OrderId:010>"}',
		'{"CustomerId": {"type": "N integer"}, "OrderId": {"type": "N integer"},
		"Total": {"type": "N numeric"}, "State": {"type": "S text"}, "Name": {"type": "S text"}, "Products": {"type": "L text[]"}}');
	SELECT dyn_create_migration('app', 'shop', '[
		{"entity": "Customer", "from": "customers", "attributes": {"CustomerId": "id"},
			"children": {"Open": {"from": "orders", "on": {"customer_id": "id"}, "as": "count", "where": "state = ''open''"}}},
		{"entity": "Order", "from": "orders", "where": "state <> ''draft''", "attributes": {"OrderId": "id", "Total": "round(total, 2)"},
			"parents": {"c": {"from": "customers", "on": {"id": "customer_id"}, "attributes": {"Name": "name"}}},
			"children": {"Products": {"from": "lines", "on": {"order_id": "id"}, "as": "list", "value": "product"}}}]');
});

sub value
{
	my ($sql) = @_;
	return $node->safe_psql('postgres', $sql);
}

# A statement in a session of its own.
sub begin
{
	my ($sql) = @_;
	my %session = (out => '', err => '');
	$session{harness} = IPC::Run::start([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-c', $sql ],
		'>', \$session{out}, '2>', \$session{err});
	return \%session;
}

my $done = q{SELECT coalesce(sum(rows_done), 0) FROM dyn_jobs};
my $wrong = q{SELECT count(*) FROM dyn_verify_migration('shop')};

# A trigger keeps calls from being through before they are looked at.
value(q{
	CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.001); RETURN NEW; END $$;
	CREATE TRIGGER slow BEFORE INSERT ON app FOR EACH ROW EXECUTE FUNCTION slow()});

# kill -9 in the middle, twice; what was committed is not done again
my $before = 0;
for my $part (1 .. 2)
{
	my $call = begin(q{CALL dyn_migrate('shop', batch_size => 20)});
	wait_for($node, "SELECT ($done) > $before + $rows / 10");
	# the session is gone, and the server with it; once more while it starts again
	kill 'KILL', value(q{SELECT pid FROM pg_stat_activity WHERE query LIKE 'CALL dyn_migrate%'});
	crash($node) if $part == 2;
	wait_until_up($node);
	ok(!eval { $call->{harness}->finish }, "the call of part $part ended with the server");
	my $kept = value($done);
	cmp_ok($kept, '>', $before, "what was done of part $part is known");
	cmp_ok($kept, '<', $rows, "and it was not all");
	is(value(q{SELECT string_agg(DISTINCT state, ',') FROM dyn_jobs WHERE step = 'Order'}), 'interrupted', 'the progress says so');
	$before = $kept;
}

# two sessions do the rest
my @calls = map { begin(q{CALL dyn_migrate('shop', batch_size => 20)}) } 1 .. 2;
wait_for($node, q{SELECT bool_or(sessions = 2 AND cardinality(pids) = 2) FROM dyn_jobs});
value('DROP TRIGGER slow ON app');
ok($_->{harness}->finish, 'a session has done its part') for @calls;
is(value(q{SELECT string_agg(DISTINCT state, ',') FROM dyn_jobs}), 'finished', 'the migration is finished');
is(value($done), $rows + 100, 'each row was done once');
is(value($wrong), 0, 'both sides are equal');
is(value(q{SELECT count(*) FROM dyn_job_problems WHERE name = 'shop'}), 0, 'no row had a problem');

# clients write while it is followed, and while it is migrated once more by two sessions
value(q{SELECT dyn_follow_migration('shop')});
my $script = $node->basedir . '/writes.sql';
append_to_file($script, qq{
\\set order random(1, $rows)
\\set customer random(1, 100)
\\set new $rows + 1000000 * (1 + :client_id) + random(1, 1000)
\\set n random(1, 5)
BEGIN;
UPDATE orders SET total = total + 1, state = (ARRAY['open', 'paid', 'draft'])[1 + :order % 3] WHERE id = :order;
COMMIT;
BEGIN;
INSERT INTO lines VALUES (:order, :n, 'p' || :n) ON CONFLICT (order_id, n) DO UPDATE SET product = EXCLUDED.product || lines.n;
COMMIT;
BEGIN;
INSERT INTO orders VALUES (:new, :customer, 1, 'open') ON CONFLICT DO NOTHING;
COMMIT;
DELETE FROM lines WHERE order_id = :order AND n = :n - 1;
DELETE FROM orders WHERE id = :new - 1;
UPDATE orders SET customer_id = :customer WHERE id = :order;
});
my $load = IPC::Run::start([ 'pgbench', '-n', '-c', 4, '-j', 2, '-T', 8, '--max-tries=10', '-f', $script, $node->connstr('postgres') ],
	'>', \my $out, '2>', \my $errors);
$node->safe_psql('postgres', q{UPDATE customers SET name = name || '!' WHERE id = 7}) for 1 .. 3;
@calls = map { begin(q{CALL dyn_migrate('shop')}) } 1 .. 2;
ok($_->{harness}->finish, 'migrating meanwhile') for @calls;
ok($load->finish, 'clients have written') or diag($errors);
like($out, qr/transactions actually processed: [1-9]\d\d/, 'and not little');
is(value($wrong), 0, 'both sides are equal after all that');
value(q{DELETE FROM orders WHERE id % 10 = 0; SELECT dyn_follow_migration('shop', enabled => false)});
is(value($wrong), 0, 'and when it is followed no longer');
# How far it is, by the names of migration and step.
my ($status, $said, $told) = $node->psql('postgres', q{
	SET client_min_messages = notice;
	SET dynamo_table.progress_interval = 0;
	CALL dyn_migrate('shop', 'Customer', batch_size => 20)});
like($told, qr/NOTICE:  migration "shop", step "Customer": \d+ of about \d+ rows, \d+ a second, time left \d/, 'a step is told of by its name');
check_storage($node, 'after a migration');
$node->stop;

done_testing();
