# A physical standby: replay, reads, sound files, promotion.  N01: no consistent reads of items.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', "log_statement = none\nautovacuum = off");
$primary->start;
create_twins($primary);
$primary->safe_psql('postgres', 'CREATE EXTENSION amcheck');
$primary->backup('base');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;

my $load = start_load($primary, 4, 3, <<'EOS');
\set id random(1, 5000)
BEGIN;
SELECT pg_advisory_xact_lock(:id);
INSERT INTO ours VALUES (:id, :id, repeat('n', :id)) ON CONFLICT (id) DO UPDATE SET grp = ours.grp + 1, v = left(ours.v, 100);
INSERT INTO twin VALUES (:id, :id, repeat('n', :id)) ON CONFLICT (id) DO UPDATE SET grp = twin.grp + 1, v = left(twin.v, 100);
COMMIT;
EOS
$primary->safe_psql('postgres', $_) for (
	'CREATE INDEX CONCURRENTLY ours_extra ON ours (lower(left(v, 9)))',
	'VACUUM ours',
	# of the indexes, not of the table: docs/operations.md says what the server can lose then
	map { "REINDEX INDEX CONCURRENTLY $_" } qw(ours_pkey ours_grp ours_extra));
ok(finish_load($load), 'load on the primary') or diag($load->{err});
$primary->safe_psql('postgres', $_) for (
	'DELETE FROM ours WHERE id % 10 = 0; DELETE FROM twin WHERE id % 10 = 0',
	'VACUUM (FREEZE) ours', 'VACUUM FULL ours',
	q{SELECT dyn_create_table('app', 'pk S', 'sk S', local_indexes => '{"Local":{"sort_key":"x N","projection":"ALL"}}',
		global_indexes => '{"Column": {"partition_key": "sk S", "covering": true}, "Second": {"partition_key": "sk S", "covering": true},
		"Part": {"partition_key": "sk S", "projection": "INCLUDE", "non_key_attributes": ["x"], "covering": true}}')},
	q{SELECT dyn_put('app', '{"pk":{"S":"a"},"sk":{"S":"b"},"x":{"N":"1"}}')},
	q{SELECT dyn_create_table('unlogged', 'pk S'); ALTER TABLE unlogged SET UNLOGGED},
	'VACUUM app', q{CALL dyn_enable_ttl('app', 'expires')}, q{CALL dyn_enable_ttl('unlogged', 'expires')},
	q{CREATE ROLE gateway LOGIN; CREATE ROLE tenant; GRANT tenant TO gateway; GRANT SELECT ON app TO tenant;
		GRANT EXECUTE ON FUNCTION dynamo_internal.request_as TO gateway});
$primary->wait_for_catchup($standby);

SKIP:
{
	my $startup = $standby->safe_psql('postgres',
		"SELECT pid FROM pg_stat_activity WHERE backend_type = 'startup'");
	my $maps = "/proc/$startup/maps";
	skip 'no such file here', 1 unless -r $maps;
	unlike(slurp_file($maps), qr/dynamo_table\.so/, 'recovery does without the library');
}

twins_agree($standby, 'standby');
is( $standby->safe_psql('postgres', 'SELECT md5(string_agg(o::text, chr(10) ORDER BY ctid)) FROM ours o'),
	$primary->safe_psql('postgres', 'SELECT md5(string_agg(o::text, chr(10) ORDER BY ctid)) FROM ours o'),
	'the rows stand in the same places on both');
is( $standby->safe_psql('postgres', 'SET enable_seqscan = off; SET enable_bitmapscan = off; SELECT count(*) FROM ours WHERE grp >= 0'),
	$standby->safe_psql('postgres', 'SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off; SELECT count(*) FROM ours
		WHERE grp >= 0'),
	'an index and the table say the same on the standby');
is($standby->safe_psql('postgres',
		"SELECT count(*) FROM (SELECT bt_index_check(indexrelid, true) FROM pg_index WHERE indrelid = 'ours'::regclass) c"),
	'3', 'the indexes are sound on the standby');

my @reads = (
	q{dyn_get('app', '{"pk":{"S":"a"},"sk":{"S":"b"}}'},
	q{dyn_query('app', 'pk = :a', vals => '{":a":{"S":"a"}}'},
	q{dyn_query('app', 'pk = :a', vals => '{":a":{"S":"a"}}', index_name => 'Local'},
	q{dyn_scan('app'}, q{dyn_scan('app', segment => 0, total_segments => 1},
	q{dyn_execute('SELECT sk FROM app WHERE pk = ?', '[{"S":"a"}]'}, q{dyn_execute_page('SELECT * FROM app."Local" WHERE pk = ''a''', page_size => 1});
for my $read (@reads)
{
	is($standby->safe_psql('postgres', "SELECT count(*) FROM $read)"), '1', "$read) on the standby");
	is($primary->safe_psql('postgres', "SELECT count(*) FROM $read, consistent_read => true)"), '1', 'consistent on the primary');
	my ($status, $out, $err) = $standby->psql('postgres', "\\set VERBOSITY verbose\nSELECT count(*) FROM $read, consistent_read => true)");
	like($err, qr/55000: consistent reads are not possible on a standby.*HINT/s, 'consistent on the standby');
}

# requests of gateways
my %requests = (
	GetItem => '{"TableName":"app","Key":{"pk":{"S":"a"},"sk":{"S":"b"}}}',
	Query => '{"TableName":"app","IndexName":"Local","KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":{"S":"a"}}}',
	Scan => '{"TableName":"app"}',
	BatchGetItem => '{"RequestItems":{"app":{"Keys":[{"pk":{"S":"a"},"sk":{"S":"b"}}]}}}');
for my $operation (sort keys %requests)
{
	for my $store ('on', 'off')
	{
		like($standby->safe_psql('postgres', "SET dynamo_table.direct_store = $store;
			SELECT dynamo_internal.request_as('tenant', '$operation', '$requests{$operation}')", extra_params => [ '-U', 'gateway' ]),
			qr/"x":\{"N":"1"\}/, "$operation of a gateway on the standby, direct store $store");
	}
}

for my $index ('Column', 'Second', 'Part')
{
	is($standby->safe_psql('postgres', qq{SELECT index_only, store, rows_skipped >= 0, i
		FROM dyn_query('app', 'sk = :b', vals => '{":b":{"S":"b"}}', index_name => '$index') i, dyn_explain('app', index_name => '$index')}),
		't|direct|t|{"pk":{"S":"a"},"sk":{"S":"b"},"x":{"N":"1"}}', "covering index $index on the standby");
}
is($standby->safe_psql('postgres', q{SELECT count(*) FROM dyn_check_table('app')}), '0', 'the check of a table on the standby');

for my $setting ('on', 'off')
{
	my ($status, $out, $err) = $standby->psql('postgres', qq{SET dynamo_table.direct_store = $setting; SELECT dyn_get('unlogged', '{"pk":{"S":"a"}}')});
	like($err, qr/cannot access temporary or unlogged relations during recovery/, "no unlogged table on the standby, direct store $setting");
}

is($standby->safe_psql('postgres', 'SELECT relation, due_items FROM dyn_ttl_tables ORDER BY relation::text'), "app|0\nunlogged|",
	'an unlogged table hides nothing of the others');
my ($status, $out, $err) = $standby->psql('postgres', q{SELECT * FROM dyn_table_statistics('unlogged')});
like($err, qr/cannot access temporary or unlogged relations during recovery/, 'nor has it statistics on the standby');
for my $call (q{dyn_create_table('new', 'pk S')}, q{dyn_request('CreateTable', '{"TableName":"new","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],
	"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],"BillingMode":"PAY_PER_REQUEST"}')})
{
	($status, $out, $err) = $standby->psql('postgres', "\\set VERBOSITY verbose\nSELECT $call");
	like($err, qr/25006: cannot execute CREATE TABLE in a read-only transaction/, 'no table is created on the standby');
}

$standby->promote;
$primary->stop;
$standby->safe_psql('postgres', $_) for (
	'INSERT INTO ours SELECT i, i, i FROM generate_series(10001, 11000) i; INSERT INTO twin SELECT i, i, i FROM generate_series(10001, 11000) i',
	'CREATE INDEX CONCURRENTLY ours_more ON ours (grp, id)',
	'VACUUM FULL ours');
twins_agree($standby, 'promoted');
check_storage($standby, 'promoted');
$standby->stop;
done_testing();
