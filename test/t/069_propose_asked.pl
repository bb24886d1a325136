# dyn_propose_migration() takes what the database is asked from pg_stat_statements: the caller's statements of this database,
# and those of other roles only if he may see them.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', q{
	shared_preload_libraries = 'pg_stat_statements'
	pg_stat_statements.track = top
});
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION dynamo_table;
	CREATE SCHEMA stats;
	CREATE EXTENSION pg_stat_statements SCHEMA stats;
	CREATE DATABASE other;
	CREATE ROLE reader LOGIN;
	CREATE TABLE customers (id int PRIMARY KEY, name text NOT NULL);
	CREATE TABLE orders (id int PRIMARY KEY, customer_id int NOT NULL REFERENCES customers, total numeric);
	CREATE TABLE elsewhere (id int);
	GRANT SELECT ON customers, orders TO reader;
	GRANT CREATE ON SCHEMA public TO reader;
	GRANT USAGE ON SCHEMA stats TO reader;
});
$node->safe_psql('other', 'CREATE TABLE customers (id int PRIMARY KEY, name text)');
$node->safe_psql('postgres', 'SELECT stats.pg_stat_statements_reset()');

# One text, whatever the constants are
$node->safe_psql('postgres', "SELECT * FROM orders WHERE customer_id = $_") for (1 .. 3);
$node->safe_psql('postgres', "SELECT name FROM customers WHERE id = 7; SELECT count(*) FROM elsewhere; SET work_mem = '5MB'");
$node->safe_psql('other', 'SELECT 1 FROM customers WHERE id = 8');
$node->safe_psql('postgres', "SELECT total FROM orders WHERE id = 9", extra_params => [ '-U', 'reader' ]);

sub proposed
{
	my ($user) = @_;
	return $node->safe_psql('postgres',
		"SELECT t FROM dyn_propose_migration('items', '{customers,orders}') t WHERE t LIKE '-- Access%' OR t LIKE '%dyn_create_access_pattern(%'",
		extra_params => [ '-U', $user ]);
}

my $owner = proposed('postgres');
like($owner, qr/^-- Access patterns, from pg_stat_statements:\n-- Q1 /, 'the source is named');
like($owner, qr/^-- Q1 \(calls: 3\): SELECT \* FROM orders WHERE customer_id = \$1$/m, 'a statement has its calls, the most frequent one comes first');
like($owner, qr/^-- Q\d \(calls: 1\): SELECT name FROM customers WHERE id = \$1$/m, 'another statement');
like($owner, qr/^-- Q\d \(calls: 1\): SELECT total FROM orders WHERE id = \$1$/m, 'a superuser sees those of others');
like($owner, qr{^-- Q1 +\| one read +\| GSI1 +\| Q1_orders +\|}m, 'it is answered by an index');
unlike($owner, qr/elsewhere|work_mem|SELECT .1 FROM customers/, 'no statement about other things or of another database');

unlike($node->safe_psql('postgres', "SELECT dyn_propose_migration('items', '{customers,orders}', queries => ARRAY['SELECT 1 FROM orders WHERE id = 1'])"),
	qr/GSI1PK/, 'a foreign key that no question reads by is in no index');
like($node->safe_psql('postgres', "SELECT dyn_propose_migration('items', '{customers,orders}')", extra_params => [ '-U', 'reader' ]),
	qr/GSI1PK/, 'unless there are questions that are not shown');
my $reader = proposed('reader');
like($reader, qr/^-- It does not show the statements of some other roles to this role\.$/m, 'it is said that some are hidden');
like($reader, qr/^-- Q1 \(calls: 1\): SELECT total FROM orders WHERE id = \$1$/m, "the role's own statement");
unlike($reader, qr/customer_id = \$1|SELECT name/, 'none of others');

$node->safe_psql('postgres', 'REVOKE SELECT ON stats.pg_stat_statements FROM PUBLIC');
like(proposed('reader'), qr/^-- It cannot be read: permission denied for view pg_stat_statements$/m, 'without the privilege on the view it says so');
$node->safe_psql('postgres', 'REVOKE USAGE ON SCHEMA stats FROM reader');
like(proposed('reader'), qr/^-- It cannot be read: permission denied for schema stats$/m, 'and on the schema');

$node->stop;
done_testing();
