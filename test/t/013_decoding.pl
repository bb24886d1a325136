# Logical decoding and replication: a table of ours gives the same records as a heap.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $node = PostgreSQL::Test::Cluster->new('publisher');
$node->init(allows_streaming => 'logical');
$node->start;
create_twins($node);
$node->safe_psql('postgres', "SELECT pg_create_logical_replication_slot('$_', 'test_decoding')")
  for ('slot_ours', 'slot_twin');

# The same statements on both, in transactions of their own.
my @statements = (
	"INSERT INTO TAB VALUES (5001, 1, 'one'), (5002, 2, repeat('toast', 1000))",
	'UPDATE TAB SET grp = 7 WHERE id = 5002',
	'UPDATE TAB SET id = 6002 WHERE id = 5002',
	"INSERT INTO TAB VALUES (5001, 1, 'again') ON CONFLICT (id) DO UPDATE SET v = excluded.v",
	"INSERT INTO TAB VALUES (5003, 1, 'new') ON CONFLICT DO NOTHING",
	"BEGIN; SAVEPOINT a; INSERT INTO TAB VALUES (5004, 4, 'no'); ROLLBACK TO a; INSERT INTO TAB VALUES (5005, 5, 'yes'); COMMIT",
	'VACUUM FULL TAB',
	'ALTER TABLE TAB ALTER grp TYPE bigint',
	'ALTER TABLE TAB REPLICA IDENTITY FULL',
	'UPDATE TAB SET grp = grp + 1 WHERE id = 6002',
	'DELETE FROM TAB WHERE id = 6002',
	"COPY TAB FROM stdin;\n7001\t1\tcopied\n\\.\n",
	'CREATE INDEX CONCURRENTLY ON TAB (v) WHERE length(v) < 100',
	'TRUNCATE TAB',
	"INSERT INTO TAB VALUES (1, 1, 'last')");
foreach my $statement (@statements)
{
	foreach my $table ('ours', 'twin')
	{
		(my $sql = $statement) =~ s/\bTAB\b/$table/g;
		$node->safe_psql('postgres', $sql);
	}
}
sub records
{
	my ($table) = @_;
	my $records = $node->safe_psql('postgres',
		"SELECT data FROM pg_logical_slot_get_changes('slot_$table', NULL, NULL, 'include-xids', '0') WHERE data LIKE 'table public.$table:%'");
	$records =~ s/public\.$table:/public.TAB:/g;
	return $records;
}
my ($ours, $twin) = (records('ours'), records('twin'));
is($ours, $twin, 'the same records as for a heap');
like($ours, qr/unchanged-toast-datum/, 'an unchanged TOAST value is marked');
like($ours, qr/old-key:/, 'old keys are there');
like($ours, qr/TRUNCATE/, 'TRUNCATE is there');
is(scalar(() = $ours =~ /INSERT:/g), 6, 'rewrites give no records');
check_storage($node, 'publisher');

# A write by the functions that leaves an item as it is gives no record; plain SQL does: docs/semantics.md, ST03.
$node->safe_psql('postgres', q{
	CREATE EXTENSION IF NOT EXISTS dynamo_table;
	SELECT dyn_create_table('items', 'pk S');
	SELECT dyn_put('items', jsonb_build_object('pk', i::text, 'n', i)) FROM generate_series(1, 3) i;
	SELECT pg_create_logical_replication_slot('slot_items', 'test_decoding');
});
sub changes
{
	$node->safe_psql('postgres', $_[0]);
	return $node->safe_psql('postgres',
		"SELECT count(*) FROM pg_logical_slot_get_changes('slot_items', NULL, NULL) WHERE data LIKE 'table public.items:%'");
}
foreach my $store ('on', 'off')
{
	my $set = "SET dynamo_table.direct_store = $store;";
	is(changes("$set SELECT dyn_put('items', item) FROM items"), 0, "no record of puts, direct store $store");
	is(changes("$set SELECT dyn_update('items', item_key, 'SET n = n') FROM (SELECT jsonb_build_object('pk', pk)::dyn_item AS item_key FROM items) k"),
		0, "no record of updates, direct store $store");
	is(changes("$set SELECT dyn_batch_write('items', ARRAY(SELECT item FROM items))"), 0, "no record of a batch, direct store $store");
	is(changes("$set SELECT dyn_batch_write('items',
		ARRAY(SELECT dyn_apply(item, 'SET n = n + :d', vals => jsonb_build_object(':d', CASE pk WHEN '2' THEN 1 ELSE 0 END)) FROM items))"),
		1, "a record of the item of a batch that changes, direct store $store");
}
is(changes('UPDATE items SET item = item'), 3, 'records of plain SQL');

# A subscriber with a table of ours, fed by a table of ours.
my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');
$subscriber->init;
$subscriber->start;
$subscriber->safe_psql('postgres',
	'CREATE EXTENSION dynamo_table; CREATE TABLE ours (id int PRIMARY KEY, grp bigint, v text) USING dynamo_table');
$node->safe_psql('postgres', 'CREATE PUBLICATION p FOR TABLE ours');
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION s CONNECTION '" . $node->connstr . " dbname=postgres' PUBLICATION p");
$subscriber->wait_for_subscription_sync($node, 's');
$node->safe_psql('postgres', $_)
  for ("INSERT INTO ours SELECT i, i, repeat(md5(i::text), i) FROM generate_series(2, 200) i",
	'UPDATE ours SET grp = -id WHERE id % 3 = 0', 'DELETE FROM ours WHERE id % 7 = 0');
$node->wait_for_catchup('s');
is( $subscriber->safe_psql('postgres', 'SELECT count(*), md5(string_agg(o::text, chr(10) ORDER BY id)) FROM ours o'),
	$node->safe_psql('postgres', 'SELECT count(*), md5(string_agg(o::text, chr(10) ORDER BY id)) FROM ours o'),
	'the subscriber has the same rows');
check_storage($subscriber, 'subscriber');
$subscriber->stop;
$node->stop;
done_testing();
