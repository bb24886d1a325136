# A migration that items follow: the relational sample is written by several clients while dyn_migrate() runs and after it, and
# in the end rows and items are equal. Then cut-over.
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
	autovacuum = off
	shared_buffers = 128MB
	max_wal_size = 4GB
	max_parallel_workers_per_gather = 0
	deadlock_timeout = 100ms
});
$node->start;
load_rental($node, 1);

sub value
{
	my ($sql) = @_;
	return $node->safe_psql('postgres', $sql);
}

# What an application does, each in a transaction, which begins again (here: does nothing) after a deadlock; one in six is rolled back.
value(q{
	CREATE SEQUENCE rental.rental_ids START 100000;
	CREATE SEQUENCE rental.payment_ids START 2000000000;
	CREATE SEQUENCE rental.conflicts;
	CREATE FUNCTION rental.write(what int, c int, f int, copy int, old bigint, n int) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		id bigint;
	BEGIN
		IF what <= 4 THEN
			id := nextval('rental.rental_ids');
			INSERT INTO rental.rental VALUES (id, copy, c, 1 + n % 25, now(), now() + interval '3 days', NULL);
			INSERT INTO rental.payment VALUES (nextval('rental.payment_ids'), id, c, 1 + n % 25, n % 900 / 100.0, 'card', now());
		ELSIF what = 5 THEN
			UPDATE rental.rental SET returned = now(), customer_id = CASE WHEN n % 5 = 0 THEN c ELSE customer_id END WHERE rental_id = old;
		ELSIF what = 6 THEN
			DELETE FROM rental.payment WHERE rental_id = old;
			DELETE FROM rental.rental WHERE rental_id = old;
		ELSIF what = 7 THEN
			UPDATE rental.customer SET name = 'Customer ' || n, email = NULL WHERE customer_id = c;
		ELSIF what = 8 THEN
			UPDATE rental.address SET street = n || ' New Street', city_id = CASE WHEN n % 4 = 0 THEN 1 + n % 150 ELSE city_id END WHERE address_id = 31 + n % 869;
		ELSIF what = 9 THEN
			UPDATE rental.customer SET address_id = 31 + n % 869, store_id = 1 + n % 5 WHERE customer_id = c;
		ELSIF what = 10 THEN
			INSERT INTO rental.film_category VALUES (f, 1 + n % 12) ON CONFLICT DO NOTHING;
		ELSIF what = 11 THEN
			DELETE FROM rental.film_category WHERE film_id = f;
		ELSIF what = 12 THEN
			UPDATE rental.film SET title = 'Film ' || n, original_language_id = nullif(n % 9, 0) WHERE film_id = f;
		ELSIF what = 13 THEN
			UPDATE rental.payment SET amount = n % 700 / 100.0 WHERE payment_id = old;
		ELSE
			DELETE FROM rental.wish WHERE film_id = f;
			INSERT INTO rental.wish VALUES (c, f, current_date) ON CONFLICT DO NOTHING;
		END IF;
	EXCEPTION WHEN deadlock_detected OR SQLSTATE 'YD004' THEN
		PERFORM nextval('rental.conflicts');
	END $$;
	SELECT dyn_follow_migration('rental')});

my $writes = q{
\set what random(1, 14)
\set customer random(1, 700)
\set film random(1, 1200)
\set copy random(1, 5000)
\set old random(1, 16000)
\set n random(1, 1000000)
\set end random(1, 6)
BEGIN;
SELECT rental.write(:what, :customer, :film, :copy, :old, :n);
\if :end = 1
ROLLBACK;
\else
COMMIT;
\endif
};

my $seconds = $ENV{DYN_TEST_SECONDS} // 8;
my $load = start_load($node, 4, $seconds, $writes);
my @sessions = map { begin_migration($node, 300) } 1 .. 2;
my $said = join '', map { end_session($_) } @sessions;
unlike($said, qr/ERROR|WARNING/, 'the migration ends while others write');
is(value(q{SELECT count(*) FROM dyn_jobs WHERE kind = 'migration' AND state <> 'finished'}), '0', 'all steps are finished');
my $count = finish_load($load);
ok($count, 'writers have met no error') or diag($load->{err});
my $conflicts = value('SELECT last_value - 1 FROM rental.conflicts');
note("$conflicts of $count transactions met a deadlock");
migration_is_equal($node, 'after the writes');
is(value(q{SELECT count(*) FROM dyn_check_entities('video')}), '0', 'all items are as their entities say');
cmp_ok(value(q{SELECT count(*) FROM rental.rental WHERE rental_id >= 100000}), '>', 0, 'there are rows of the application');

# single statements, each followed at once
sub item_of
{
	my ($pk, $sk, $attribute) = @_;
	return value(qq{SELECT dyn_get('video', '{"pk":{"S":"$pk"},"sk":{"S":"$sk"}}') ->> '$attribute'});
}
value(q{UPDATE rental.language SET name = 'Danish (dansk)' WHERE language_id = 1});
is(value(q{SELECT count(*) FROM dyn_run_access_pattern('video', 'fk_film_language_id', '{"LanguageId": {"N": "1"}}') i
	WHERE i ->> 'LanguageName' <> 'Danish (dansk)'}), '0',
	'a name that is copied to all films of a language is new in all of them');
value(q{INSERT INTO rental.category VALUES (13, 'Silent', 2); INSERT INTO rental.film_category VALUES (7, 13)});
like(item_of('FILM#7', '#FILM', 'Categories'), qr/Silent/, 'a category comes to a film');
value(q{DELETE FROM rental.film_category WHERE category_id = 13});
unlike(item_of('FILM#7', '#FILM', 'Categories') // '', qr/Silent/, 'and goes');
is(item_of('FILM#7', 'CATEGORY#0000000013', 'FilmId'), '', 'as does the item of the link');
migration_is_equal($node, 'after single statements');
my ($status, $out, $err) = $node->psql('postgres', 'TRUNCATE rental.wish');
ok($status != 0, 'a table that items follow cannot be truncated');

# cut-over: nothing follows any more, and the items stay
value(q{SELECT dyn_follow_migration('rental', enabled => false)});
is(value(q{SELECT count(*) FROM pg_trigger WHERE tgname LIKE '~dynamo_follow%'}), '0', 'no trigger is left');
my $before = value('SELECT count(*) FROM video');
value(q{DELETE FROM rental.wish; UPDATE rental.customer SET name = 'x' WHERE customer_id = 1});
is(value('SELECT count(*) FROM video'), $before, 'after the cut-over the items are on their own');
check_storage($node, 'in the end');
$node->stop;
done_testing();
