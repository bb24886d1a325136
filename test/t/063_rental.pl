# A relational sample of 17 tables becomes one table of items, by two sessions and through kills of a session and of the server;
# then every foreign key's join is one Query, and reports over views of the entities are those over the relations.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;
use Rental;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', q{
	restart_after_crash = on
	autovacuum = off
	shared_buffers = 128MB
	max_wal_size = 4GB
	max_parallel_workers_per_gather = 0
});
$node->start;
load_rental($node, 1);

sub value
{
	my ($sql) = @_;
	return $node->safe_psql('postgres', $sql);
}

my $rows = 0;
$rows += value("SELECT count(*) FROM rental.$_")
  for split /\n/, value(q{SELECT relname FROM pg_class WHERE relnamespace = 'rental'::regnamespace AND relkind = 'r'});
cmp_ok($rows, '>=', 50000, 'rows of the relations');
cmp_ok(value(q{SELECT count(*) FROM pg_class WHERE relnamespace = 'rental'::regnamespace AND relkind = 'r'}), '>=', 15, 'relations');
cmp_ok(value(q{SELECT count(*) FROM dyn_entities('video')}), '>=', 8, 'entities');
is(value('SELECT count(*) FROM foreign_keys'), value(q{SELECT count(*) FROM pg_constraint WHERE contype = 'f' AND connamespace = 'rental'::regnamespace}),
	'an access pattern for each foreign key');

# Two sessions, made slow by a trigger; kill -9 of one of them, which ends all, and then of the server.
value(q{
	CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.001); RETURN NEW; END $$;
	CREATE TRIGGER slow BEFORE INSERT ON video FOR EACH ROW EXECUTE FUNCTION slow()});
my $done = q{(SELECT sum(rows_done) FROM dyn_jobs WHERE kind = 'migration')};
my @sessions = map { begin_migration($node, 100) } 1 .. 2;
wait_for($node, "SELECT $done > 5000");
my $pid = value(q{SELECT min(pid) FROM pg_stat_activity WHERE query LIKE 'CALL dyn_migrate%'});
ok($pid ne "", 'a session is at work');
kill 9, $pid;
end_session($_) for @sessions;
wait_until_up($node);
my $before = value("SELECT $done");
# commits of the last moments had not reached the disk
cmp_ok($before, '>', 0, 'what was done before kill -9 of a session is known');
cmp_ok(value('SELECT count(*) FROM video'), '>=', $before, 'and its items are there');

@sessions = map { begin_migration($node, 100) } 1 .. 2;
wait_for($node, "SELECT $done > $before + 4000");
crash($node);
end_session($_) for @sessions;
cmp_ok(value("SELECT $done"), '<', $rows, 'the server is killed in the middle');

value('DROP TRIGGER slow ON video');
@sessions = map { begin_migration($node, 500) } 1 .. 2;
my $said = join '', map { end_session($_) } @sessions;
unlike($said, qr/ERROR|WARNING/, 'the same call finishes it, without problems');
is(value("SELECT $done"), $rows, 'each row was done once');
is(value('SELECT count(*) FROM video'), $rows, 'and is an item');
is(value(q{SELECT count(DISTINCT item ->> 'Type') FROM video}), '17', 'of 17 types');
migration_is_equal($node, 'after it');
is(value(q{SELECT count(*) FROM dyn_check_entities('video')}), '0', 'all items are as their entities say');

# Every foreign key: the rows that refer to a row by one Query, of all or of some of the rows that are referred to.
value(q{
	CREATE FUNCTION joins(f foreign_keys) RETURNS TABLE (parents bigint, children bigint, differing bigint) LANGUAGE plpgsql AS $$
	BEGIN
		RETURN QUERY EXECUTE format('WITH p AS (SELECT %1$I AS parent, array_agg(%2$I::text ORDER BY %2$I::text) AS joined FROM rental.%3$I
				WHERE %1$I IS NOT NULL GROUP BY 1 ORDER BY md5(%1$I::text) LIMIT 150)
			SELECT count(*), sum(cardinality(joined)), count(*) FILTER (WHERE joined IS DISTINCT FROM
				(SELECT array_agg(i ->> %4$L ORDER BY i ->> %4$L) FROM dyn_run_access_pattern(''video'', %5$L, jsonb_build_object(%6$L, parent)) i)) FROM p',
			f.col, f.key, f.relation, f.item_key, 'fk_' || f.relation || '_' || f.col, f.attribute);
	END $$});
for my $key (split /\n/, value(q{SELECT relation || '.' || col FROM foreign_keys ORDER BY 1}))
{
	my ($parents, $children, $differing) = split /\|/, value(qq{SELECT (joins(f)).* FROM foreign_keys f WHERE relation || '.' || col = '$key'});
	ok($parents > 0 && $differing == 0, "$key: $parents Queries give the $children rows of the join");
}
is(value(q{SELECT count(*) FROM dyn_run_access_pattern('video', 'fk_rental_customer_id', '{"CustomerId": {"N": "1000000"}}')}), '0',
	'a Query for a row that is not there finds nothing');

value('VACUUM ANALYZE video');
make_report_views($node);
my @reports = reports();
cmp_ok(@reports, '>=', 6, 'reports');
for my $report (@reports)
{
	my ($title, $sql) = @$report;
	$sql =~ s/;\s*$//;
	value("SET search_path = rental; CREATE TABLE public.by_rows AS SELECT row_number() OVER () AS line, r.* FROM ($sql) r");
	value("SET statement_timeout = '60s'; SET search_path = video_views, rental; CREATE TABLE public.by_views AS SELECT row_number() OVER () AS line, r.*
		FROM ($sql) r");
	my $differing = value('SELECT * FROM ((TABLE by_rows EXCEPT ALL TABLE by_views) UNION ALL (TABLE by_views EXCEPT ALL TABLE by_rows)) d ORDER BY line LIMIT 6');
	cmp_ok(value('SELECT count(*) FROM by_rows'), '>', 3, "$title: there is something to tell");
	is($differing, '', "$title: over the views as over the relations");
	value('DROP TABLE by_rows, by_views');
}
check_storage($node, 'in the end');
$node->stop;
done_testing();
