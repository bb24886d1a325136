# Logical replication to a second cluster: key columns stay right there, or the row is refused.
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

$_->safe_psql('postgres', "CREATE EXTENSION dynamo_table;
	SELECT dyn_create_table('app', 'pk S', 'sk S',
	global_indexes => '{\"Column\": {\"partition_key\": \"sk S\", \"covering\": true}, \"Second\": {\"partition_key\": \"sk S\", \"covering\": true}}')")
  for $publisher, $subscriber;
$publisher->safe_psql('postgres', q{
	SELECT dyn_put('app', jsonb_build_object('pk', 'p' || i % 7, 'sk', 's' || i, 'pad',
		(SELECT string_agg(md5(i || '/' || n), '') FROM generate_series(1, i) n))) FROM generate_series(1, 200) i;
	CREATE PUBLICATION pub FOR TABLE app});
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION sub CONNECTION '" . $publisher->connstr . ' dbname=postgres' . "' PUBLICATION pub");
$subscriber->wait_for_subscription_sync($publisher, 'sub');

my $digest = 'SELECT count(*), md5(string_agg(app::text, chr(10) ORDER BY pk, sk)) FROM app';
is($subscriber->safe_psql('postgres', $digest), $publisher->safe_psql('postgres', $digest), 'the initial copy is the same');

$publisher->safe_psql('postgres', q{
	SELECT dyn_put('app', jsonb_build_object('pk', 'p' || i % 7, 'sk', 's' || i, 'new', i)) FROM generate_series(100, 300) i;
	SELECT dyn_delete('app', jsonb_build_object('pk', 'p' || i % 7, 'sk', 's' || i)) FROM generate_series(1, 50) i;
	SELECT dyn_put('app', '{"pk":{"S":"\u0000"},"sk":{"S":"\u0001"}}');
	UPDATE app SET item = jsonb_set(item::jsonb, '{sql}', '1')::dyn_item WHERE pk = 'p3'});
$publisher->wait_for_catchup('sub');
is($subscriber->safe_psql('postgres', $digest), $publisher->safe_psql('postgres', $digest), 'puts, deletes and SQL updates arrive');
is($subscriber->safe_psql('postgres', q{SELECT count(*) FROM app WHERE NOT dynamo_internal.keys_match(item, ARRAY['pk S', 'sk S'], pk, sk)}), 0,
	'no key column is wrong');
is($subscriber->safe_psql('postgres', q{SELECT count(*) FROM dyn_check_table('app')}), 0, 'covering indexes carry there what the items have');
is($subscriber->safe_psql('postgres', qq{SELECT count("~Column_item") > 100, count(*) FILTER (WHERE "~Column_item" IS NULL) > 10 FROM app}), 't|t',
	'where that is not too long');
for my $index ('Column', 'Second')
{
	my $entries = "SELECT count(*), md5(string_agg(i::text, chr(10) ORDER BY i::text)) FROM dyn_scan('app', '$index') i";
	is($subscriber->safe_psql('postgres', $entries), $publisher->safe_psql('postgres', $entries), "$index has the same entries");
}
is($subscriber->safe_psql('postgres', q{SELECT dyn_get('app', '{"pk":{"S":"\u0000"},"sk":{"S":"\u0001"}}') IS NOT NULL}), 't', 'items are found by their keys');

# What keeps an item absent arrives as the deletion of nothing, also where whole rows are sent, in binary.
$publisher->safe_psql('postgres', 'ALTER TABLE app REPLICA IDENTITY FULL');
$subscriber->safe_psql('postgres', 'ALTER SUBSCRIPTION sub SET (binary = true)');
$publisher->safe_psql('postgres', q{
	SELECT dyn_transact('[{"Put": {"TableName": "app", "Item": {"pk": {"S": "held"}, "sk": {"S": "1"}}}},
		{"ConditionCheck": {"TableName": "app", "Key": {"pk": {"S": "held"}, "sk": {"S": "2"}}, "ConditionExpression": "attribute_not_exists(pk)"}}]')});
$publisher->wait_for_catchup('sub');
is($subscriber->safe_psql('postgres', $digest), $publisher->safe_psql('postgres', $digest), 'transactions that keep items absent arrive');

# A publisher without rules sends a row whose columns are wrong: the apply worker stops at it.
$publisher->safe_psql('postgres', 'CREATE TABLE loose (item dyn_item NOT NULL, pk text NOT NULL, sk text NOT NULL, PRIMARY KEY (pk, sk));
	CREATE PUBLICATION loose FOR TABLE loose');
$subscriber->safe_psql('postgres', "SELECT dyn_create_table('loose', 'pk S', 'sk S')");
$subscriber->safe_psql('postgres', 'ALTER TABLE loose DISABLE TRIGGER ALL');
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION loose CONNECTION '" . $publisher->connstr . ' dbname=postgres' . "' PUBLICATION loose");
$subscriber->wait_for_subscription_sync($publisher, 'loose');
my $offset = -s $subscriber->logfile;
$publisher->safe_psql('postgres', q{INSERT INTO loose VALUES ('{"pk":{"S":"a"},"sk":{"S":"b"}}', 'x', 'y')});
$subscriber->wait_for_log(qr/violates check constraint "dynamo_keys"/, $offset);
is($subscriber->safe_psql('postgres', 'SELECT count(*) FROM loose'), 0, 'a row with wrong key columns is refused by apply');
$subscriber->safe_psql('postgres', 'ALTER SUBSCRIPTION loose DISABLE; ALTER SUBSCRIPTION loose SET (slot_name = NONE); DROP SUBSCRIPTION loose');

# A trigger that makes requests of gateways in an apply worker, which has no client to look for.
$_->safe_psql('postgres', 'CREATE TABLE inbox (request text)') for $publisher, $subscriber;
$subscriber->safe_psql('postgres', q{
	CREATE ROLE tenant;
	GRANT ALL ON loose TO tenant;
	ALTER TABLE loose ENABLE TRIGGER ALL;
	CREATE TABLE settings (looks text);
	CREATE FUNCTION request() RETURNS trigger LANGUAGE plpgsql SET search_path = public AS $$
		BEGIN
			PERFORM dynamo_internal.request_as('tenant', 'PutItem', new.request);
			INSERT INTO public.settings VALUES (current_setting('client_connection_check_interval'));
			RETURN new;
		END $$;
	CREATE TRIGGER request BEFORE INSERT ON inbox FOR EACH ROW EXECUTE FUNCTION request();
	ALTER TABLE inbox ENABLE ALWAYS TRIGGER request});
$publisher->safe_psql('postgres', 'CREATE PUBLICATION inbox FOR TABLE inbox');
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION inbox CONNECTION '" . $publisher->connstr . ' dbname=postgres' . "' PUBLICATION inbox");
$subscriber->wait_for_subscription_sync($publisher, 'inbox');
$publisher->safe_psql('postgres', q{INSERT INTO inbox VALUES ('{"TableName":"loose","Item":{"pk":{"S":"by"},"sk":{"S":"trigger"}}}')});
$publisher->wait_for_catchup('inbox');
is($subscriber->safe_psql('postgres', 'SELECT looks, pk, sk FROM settings, loose'), '0|by|trigger', 'a request of a trigger in an apply worker');

done_testing();
