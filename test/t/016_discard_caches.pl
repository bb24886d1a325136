# Every catalog access throws all caches away: the relcache entry is rebuilt wherever it may be.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;
use Ledger;

my $node = PostgreSQL::Test::Cluster->new('discard');
$node->init;
$node->start;
if ($node->safe_psql('postgres', "SELECT max_val FROM pg_settings WHERE name = 'debug_discard_caches'") eq '0')
{
	$node->stop;
	plan skip_all => 'the server has no debug_discard_caches';
}
$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION dynamo_table;
	CREATE TABLE ours (id int PRIMARY KEY, v text) USING dynamo_table WITH (parallel_workers = 2);
	INSERT INTO ours SELECT i, repeat(i::text, 500) FROM generate_series(60, 1, -1) i;
	CREATE FUNCTION opens_a_table(text) RETURNS int IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS
		'BEGIN RETURN length($1) + (SELECT count(*) FROM pg_catalog.pg_am WHERE false); END';
	SELECT dyn_create_table('app', 'pk S', 'sk N', global_indexes => '{"GSI1":{"partition_key":"g S","projection":"KEYS_ONLY"}}');
	SELECT dyn_put('app', jsonb_build_object('pk', 'a', 'sk', n, 'g', 'x')) FROM generate_series(1, 5) n});
create_ledger($node);
my @statements = (
	'CREATE INDEX ours_1 ON ours (opens_a_table(v))',
	'CREATE INDEX CONCURRENTLY ours_2 ON ours (v) WHERE opens_a_table(v) > 0',
	'REINDEX INDEX ours_1',
	'REINDEX INDEX CONCURRENTLY ours_2',
	"SET min_parallel_table_scan_size = 0;\nCREATE INDEX ours_3 ON ours (opens_a_table(v), id)",
	'ALTER TABLE ours SET ACCESS METHOD heap',
	'ALTER TABLE ours SET ACCESS METHOD dynamo_table',
	'VACUUM FULL ours',
	'VACUUM ours',
	"SELECT dyn_create_table('items', 'id S'); SELECT dyn_put('items', jsonb_build_object('id', '1', 'e', floor(extract(epoch FROM now())) - 60))",
	"CALL dyn_enable_ttl('items', 'e', hide_expired => true)",
	"SELECT 1 / (dyn_get('items', '{\"id\":{\"S\":\"1\"}}') IS NULL)::int, 1 / (SELECT due_items FROM dyn_ttl_tables)",
	"CALL dyn_sweep_ttl('items', batch_size => 1)",
	'SELECT 1 / deleted FROM dyn_ttl_tables',
	"CALL dyn_disable_ttl('items')",
	"SELECT dyn_put('booked', booked_item(1, 1)), booked_add(1, 1)",
	"SELECT dyn_batch_write('booked', ARRAY[booked_item(1, 3)], ARRAY[booked_key(3)])",
	"SELECT dyn_delete('booked', booked_key(1), return_values => 'ALL_OLD')");
foreach my $statement (@statements)
{
	my ($status, $out, $err) = $node->psql('postgres', "SET debug_discard_caches = 1;\n$statement;\n");
	is($status, 0, $statement) or diag($err);
}
my %reads = (
	q{dyn_get('app', '{"pk":{"S":"a"},"sk":{"N":"2"}}')} => '2',
	q{dyn_query('app', 'pk = :p', vals => '{":p":{"S":"a"}}', start_key => '{"pk":{"S":"a"},"sk":{"N":"3"}}')} => '4 5',
	q{dyn_query('app', 'g = :g', vals => '{":g":{"S":"x"}}', index_name => 'GSI1', forward => false, max_items => 3)} => '5 4 3',
	q{dyn_scan('app', index_name => 'GSI1', segment => 0, total_segments => 1)} => '1 2 3 4 5',
	q{dyn_batch_get('app', ARRAY['{"pk":{"S":"a"},"sk":{"N":"2"}}', '{"pk":{"S":"a"},"sk":{"N":"5"}}']::dyn_item[])} => '2 5');
foreach my $read (sort keys %reads)
{
	is($node->safe_psql('postgres', "SET debug_discard_caches = 1;\nSELECT string_agg(item ->> 'sk', ' ') FROM $read item"), $reads{$read}, $read);
}
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_index WHERE NOT indisvalid'), '0', 'all indexes are valid');
is($node->safe_psql('postgres', 'SELECT bool_and(id > before OR before IS NULL) FROM (SELECT id, lag(id) OVER (ORDER BY ctid) AS before FROM ours) o'),
	't', 'VACUUM FULL sorted');
ledger_agrees($node, 'after all');
check_storage($node, 'after all');
$node->stop;
done_testing();
