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
