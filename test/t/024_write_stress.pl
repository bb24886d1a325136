# W16, U36, C39, C42: what conditions and counters promise holds with a hundred sessions, also where
# triggers change items and note changes; and an update that touches no key attribute is HOT.  Each session makes three times as many
# calls with $DYNAMO_TABLE_STRESS_SECONDS, as the long tests have it.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $times = $ENV{DYNAMO_TABLE_STRESS_SECONDS} ? 3 : 1;
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "max_connections = 130\nautovacuum = off\nlog_statement = none");
$node->start;
# Triggers number the versions of an item and note the changes of its counter.
$node->safe_psql('postgres', q{
	CREATE EXTENSION dynamo_table;
	SELECT dyn_create_table('app', 'pk S');
	CREATE FUNCTION n(item dyn_item) RETURNS int IMMUTABLE LANGUAGE sql RETURN coalesce((item ->> 'n')::int, 0);
	ALTER TABLE app ADD COLUMN id int GENERATED ALWAYS AS IDENTITY, ADD COLUMN n int GENERATED ALWAYS AS (n(item)) STORED;
	CREATE UNIQUE INDEX one ON app ((item ->> 'pk'), id);
	CREATE TABLE changes (pk text, delta int);
	CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		NEW.item := dyn_apply(NEW.item, 'SET versions = :v',
			vals => jsonb_build_object(':v', CASE WHEN TG_OP = 'UPDATE' THEN (OLD.item ->> 'versions')::int ELSE 0 END + 1));
		RETURN NEW;
	END $$;
	CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO changes VALUES (NEW.pk, NEW.n - coalesce(OLD.n, 0)); RETURN NULL; END $$;
	CREATE TRIGGER change BEFORE INSERT OR UPDATE ON app FOR EACH ROW EXECUTE FUNCTION change();
	CREATE TRIGGER note AFTER INSERT OR UPDATE ON app FOR EACH ROW EXECUTE FUNCTION note();
});

# A pgbench run whose script may fail conditions: YD002 ends a transaction, not a client.  Each
# transaction takes one of the two stores, so they meet each other.
sub stress
{
	my ($name, $clients, $transactions, $script) = @_;
	(my $file = $node->basedir . "/$name.sql") =~ s/ /_/g;
	append_to_file($file, "\\set direct random(0, 1)\nSET dynamo_table.direct_store = :direct;\n$script");
	$node->command_checks_all([ 'pgbench', '-n', '-c', $clients, '-j', 4, '-t', $transactions, '-f', $file, 'postgres' ],
		0, [qr{transactions actually processed: (\d+)/\1\n}], [qr/^((?!ERROR).)*$/s], $name);
}

sub value
{
	my ($sql) = @_;
	return $node->safe_psql('postgres', $sql);
}

# A call in which a failed condition is an answer.
$node->safe_psql('postgres', q{
	CREATE FUNCTION try(call text) RETURNS boolean LANGUAGE plpgsql AS $$
	BEGIN
		EXECUTE 'SELECT ' || call;
		RETURN true;
	EXCEPTION WHEN SQLSTATE 'YD002' THEN
		RETURN false;
	END $$});

# 100 sessions in the two ways to count; the items do not exist before
my $increments = 100 * 30 * $times;
stress('increments with ADD', 100, 30 * $times, q{SELECT dyn_update('app', '{"pk":{"S":"add"}}', 'ADD n :one', vals => '{":one":{"N":"1"}}');});
is(value(q{SELECT dyn_get('app', '{"pk":{"S":"add"}}') ->> 'n'}), $increments, 'ADD counts every increment');
stress('increments with SET', 100, 30 * $times,
	q{SELECT dyn_update('app', '{"pk":{"S":"set"}}', 'SET n = if_not_exists(n, :zero) + :one', vals => '{":one":{"N":"1"},":zero":{"N":"0"}}');});
is(value(q{SELECT dyn_get('app', '{"pk":{"S":"set"}}') ->> 'n'}), $increments, 'SET counts every increment');

is(value(q{SELECT string_agg(concat_ws(' ', pk, count, sum), ', ' ORDER BY pk) FROM (SELECT pk, count(*), sum(delta) FROM changes GROUP BY pk) c}),
	"add $increments $increments, set $increments $increments", 'triggers note every increment');
is(value(q{SELECT string_agg(concat_ws(' ', pk, n, item ->> 'versions'), ', ' ORDER BY pk) FROM app}),
	"add $increments $increments, set $increments $increments", 'and number every version');

# A set that may have ten members
stress('capped set', 100, 7 * $times, q{
\set drawn random(1, 100000)
SELECT try(format($$dyn_update('app', '{"pk":{"S":"jobs"}}', 'ADD running :job', 'attribute_not_exists(running) OR size(running) < :cap',
	vals => '{":job":{"SS":["j%s"]},":cap":{"N":"10"}}')$$, :drawn));
});
is(value(q{SELECT jsonb_array_length((dyn_get('app', '{"pk":{"S":"jobs"}}') -> 'running')::jsonb)}), '10', 'the set is full and not more');

# Withdrawals from a balance, deposits between; what succeeded adds up
$node->safe_psql('postgres', q{SELECT dyn_put('app', '{"pk":{"S":"account"},"balance":{"N":"500"}}'); CREATE TABLE done (amount int)});
stress('balance', 100, 10 * $times, q{
\set amount random(1, 30)
INSERT INTO done SELECT -:amount WHERE try(format($$dyn_update('app', '{"pk":{"S":"account"}}', 'SET balance = balance - :n', 'balance >= :n',
	vals => '{":n":{"N":"%s"}}')$$, :amount));
});
my $balance = value(q{SELECT dyn_get('app', '{"pk":{"S":"account"}}') ->> 'balance'});
cmp_ok($balance, '>=', 0, 'the balance is never below zero');
is(value('SELECT 500 + sum(amount) FROM done'), $balance, 'every withdrawal that succeeded, and no other, counts');

# Creates and deletes of one key by condition take turns
stress('create and delete', 50, 15 * $times, q{
\set create random(0, 1)
INSERT INTO done SELECT 1000000 WHERE :create = 1 AND try($$dyn_put('app', '{"pk":{"S":"flip"}}', 'attribute_not_exists(pk)')$$);
INSERT INTO done SELECT -1000000 WHERE :create = 0 AND try($$dyn_delete('app', '{"pk":{"S":"flip"}}', 'attribute_exists(pk)')$$);
});
is(value('SELECT count(*) FILTER (WHERE amount = 1000000) - count(*) FILTER (WHERE amount = -1000000) FROM done'),
	value(q{SELECT count(*) FROM app WHERE pk = 'flip'}), 'creates and deletes take turns');

# HOT: at the default fillfactor, after every page has had its first update.  One session: an old version
# that another one's snapshot may still see takes room that the next update wants.
$node->safe_psql('postgres', q{
	SELECT dyn_create_table('hot', 'pk S', 'sk S');
	SELECT count(dyn_put('hot', jsonb_build_object('pk', 'p' || i % 10, 'sk', 's' || i, 'pad', repeat('x', 150), 'n', 0))) FROM generate_series(1, 2000) i});
my $updates = q{
\set i random(1, 2000)
SELECT dyn_update('hot', jsonb_build_object('pk', 'p' || :i % 10, 'sk', 's' || :i), 'SET n = n + :one', vals => '{":one":{"N":"1"}}');};
stress('updates to warm up', 1, 4000, $updates);
$node->safe_psql('postgres', 'VACUUM hot');
my $before = value("SELECT pg_stat_force_next_flush(), n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'hot'");
stress('updates without a key', 1, 4000, $updates);
wait_for($node, "SELECT n_tup_upd >= 8000 FROM pg_stat_user_tables WHERE relname = 'hot'");
my (undef, $upd0, $hot0) = split /\|/, $before;
my ($upd, $hot) = split /\|/, value("SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'hot'");
is($upd - $upd0, 4000, 'all updates counted');
is($hot - $hot0, 4000, 'all of them HOT');
check_storage($node, 'after the stress');

done_testing();
