# pg_dump in its variants, into a fresh database: the same items and the same behaviour.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;

my $setup = q{
	CREATE EXTENSION dynamo_table;
	SELECT dyn_create_table('app', 'pk S', 'sk S', global_indexes => '{"GSI1": {"partition_key": "GSI1PK S", "sort_key": "n N"},
		"inverted": {"partition_key": "sk S", "sort_key": "pk S", "projection": "INCLUDE", "non_key_attributes": ["a\"b", "é"]}}');
	SELECT dyn_create_table('covering', 'pk S', 'sk S',
		global_indexes => '{"Column": {"partition_key": "g S", "covering": true}, "Second": {"partition_key": "g S", "sort_key": "sk S", "covering": true},
		"Part": {"partition_key": "sk S", "projection": "INCLUDE", "non_key_attributes": ["it''s \"é\"", "n"], "covering": true}}',
		local_indexes => '{"Local": {"sort_key": "n N", "covering": true}}');
	SELECT dyn_create_table('Orders.2024', 'User Name S', 'OrderId N', fillfactor => 70, local_indexes => '{"by-date": {"sort_key": "date S"}}');
	SELECT dyn_alter_table('app', '{"tags": {"it''s \\"é\\"": "x"}}');
	SELECT dyn_request('UpdateTimeToLive', '{"TableName": "app", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "expires at"}}');
	SELECT dyn_request('UpdateTable', '{"TableName": "app", "DeletionProtectionEnabled": true, "BillingMode": "PROVISIONED",
		"ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6}, "GlobalSecondaryIndexUpdates": [
		{"Update": {"IndexName": "GSI1", "ProvisionedThroughput": {"ReadCapacityUnits": 7, "WriteCapacityUnits": 8}}},
		{"Update": {"IndexName": "inverted", "ProvisionedThroughput": {"ReadCapacityUnits": 9, "WriteCapacityUnits": 10}}}]}');
	SELECT dyn_request('CreateTable', '{"TableName": "shop", "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
		"KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}], "BillingMode": "PAY_PER_REQUEST", "OnDemandThroughput": {"MaxReadRequestUnits": 3},
		"WarmThroughput": {"WriteUnitsPerSecond": 4001}, "SSESpecification": {"Enabled": true}}');
};
$node->safe_psql('postgres', 'CREATE DATABASE source');
$node->safe_psql('source', $setup);
$node->safe_psql('source', q{
	CREATE TABLE other (id int PRIMARY KEY);
	SELECT dyn_put('app', jsonb_build_object('pk', 'p' || i % 10, 'sk', 's' || i, 'GSI1PK', 'g' || i % 3, 'n', i * 0.5, 'pad', repeat(md5(i::text), i)))
		FROM generate_series(1, 300) i;
	SELECT dyn_put('app', '{"pk":{"S":"\u0000\u0001"},"sk":{"S":"\ud83d\ude00"},"all":{"L":[{"NS":["1"]},{"B":"AQ=="},{"NULL":true}]}}');
	SELECT dyn_put('covering', jsonb_build_object('pk', 'p' || i % 10, 'sk', 's' || i, 'g', 'g' || i % 3, 'n', i, 'it''s "é"', 'é', 'pad',
		repeat(md5(i::text), i % 70))) FROM generate_series(1, 300) i;
	SELECT dyn_put('Orders.2024', jsonb_build_object('User Name', 'u', 'OrderId', i / 4.0)) FROM generate_series(1, 100) i;
	-- what calls do not make any more: 32 levels, and a number that has grown by a byte
	INSERT INTO app (item) SELECT ('{"pk":"before","sk":"deep","d":' || repeat('[', 32) || repeat(']', 32) || '}')::jsonb;
	INSERT INTO app (item) SELECT jsonb_build_object('pk', 'before', 'sk', 'large', 'n', 3.14159, 'x', repeat('x', 409600 - 21));
});
is($node->safe_psql('source', q{SELECT dyn_size(item) FROM app WHERE pk = 'before' AND sk = 'large'}), '409601', 'an item of before');

# Covering indexes answer alike, and carry what the items have.
sub covering_alike
{
	my ($db, $name) = @_;
	my $entries = q{SELECT index, store, index_only, count(*), md5(string_agg(i::text, chr(10) ORDER BY i::text))
		FROM unnest(ARRAY['Column', 'Second', 'Part', 'Local']) index, dyn_scan('covering', index) i,
		dyn_explain('covering', index_name => index) GROUP BY 1, 2, 3 ORDER BY 1};
	is($node->safe_psql($db, $entries), $node->safe_psql('source', $entries), "$name: the same entries");
	is($node->safe_psql($db, q{SELECT string_agg(object || ': ' || problem, '; ') FROM dyn_check_table('covering') WHERE object NOT LIKE 'trigger%'}), '',
		"$name: what is carried is what the items have");
}

# The lines of a dump, but for what is another in each; rows may be in another order.
sub dumped
{
	my ($db) = @_;
	my ($dump) = run_command([ 'pg_dump', '-d', $node->connstr($db) ]);
	return join "\n", sort grep { !/^\\(un)?restrict / } split /\n/, $dump;
}

# What must be the same, and how a table of items has to behave.
sub same_and_alive
{
	my ($db, $name, $tables) = @_;
	for my $table (@$tables)
	{
		my $rows = "SELECT count(*), md5(string_agg(t::text, chr(10) ORDER BY t::text)) FROM \"$table\" t";
		is($node->safe_psql($db, $rows), $node->safe_psql('source', $rows), "$name: the same rows in $table");
		my $describe = "SELECT regexp_replace(dyn_describe_table('$table')::text, '\"(ItemCount|TableSizeBytes|IndexSizeBytes)\": [0-9]+', '', 'g')";
		is($node->safe_psql($db, $describe), $node->safe_psql('source', $describe), "$name: the same description of $table");
		my $settings = qq{SELECT dyn_request('DescribeTimeToLive', '{"TableName": "$table"}'),
			dyn_request('ListTagsOfResource', '{"ResourceArn": "arn:aws:dynamodb:local:000000000000:table/$table"}')};
		is($node->safe_psql($db, $settings), $node->safe_psql('source', $settings), "$name: the same settings of $table");
	}
	covering_alike($db, $name) if grep { $_ eq 'covering' } @$tables;
	return unless grep { $_ eq 'app' } @$tables;
	is($node->safe_psql($db, q{SELECT dyn_get('app', '{"pk":{"S":"\u0000\u0001"},"sk":{"S":"\ud83d\ude00"}}') -> 'all'}),
		'{"L":[{"NS":["1"]},{"B":"AQ=="},{"NULL":true}]}', "$name: an item by its key");
	$node->safe_psql($db, q{INSERT INTO app (item) VALUES ('{"pk":{"S":"new"},"sk":{"S":"1"}}')});
	is($node->safe_psql($db, q{SELECT pk, sk FROM app WHERE pk = 'new'}), 'new|1', "$name: keys are derived");
	my ($refused) = ($node->psql($db, q{INSERT INTO app (item) VALUES ('{"pk":{"S":"bad"},"sk":{"S":"1"},"n":{"S":"1"}}')}))[2];
	like($refused, qr/key attribute "n" of index "GSI1" must be of type N/, "$name: keys of indexes are checked");
	is($node->safe_psql($db, q{SELECT count(*) FROM jsonb_array_elements(dyn_describe_table('app') -> 'GlobalSecondaryIndexes') i
		WHERE i ->> 'IndexStatus' = 'ACTIVE'}), '2',
		"$name: the indexes are active");
	my ($rc, $out, $err) = $node->psql($db, q{SET session_replication_role = replica; INSERT INTO app (item, pk, sk)
		VALUES ('{"pk":{"S":"new"},"sk":{"S":"2"}}', 'x', 'y') RETURNING pk, sk});
	ok($out eq 'new|2' || $err =~ /violates check constraint "dynamo_keys"|cannot have another value than its item/,
		"$name: keys are right or refused under the replica role");
	my $unprotected = ($node->psql($db, q{SELECT dyn_drop_table('app')}))[2];
	like($unprotected, qr/protected against deletion/, "$name: protection holds");
	# what a restore has changed of triggers
	$node->safe_psql($db, q{SELECT advice FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid, dyn_check_table(relname) WHERE tgname = '~dynamo_keys' \gexec})
	  if $name =~ /triggers disabled/;
	check_storage($node, $name, $db);
}

sub restore
{
	my ($name, $tables, $before, @options) = @_;
	(my $db = "db $name") =~ s/\W+/_/g;
	my $file = $node->basedir . "/$db.sql";
	$node->command_ok([ 'pg_dump', '-d', $node->connstr('source'), '-f', $file, @options ], "$name: dump");
	$node->safe_psql('postgres', "CREATE DATABASE $db");
	$node->safe_psql($db, $before) if $before;
	$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($db), '-f', $file ], "$name: restore");
	same_and_alive($db, $name, $tables);
}

# a table of CreateTable has an id, which is another one each time
my $both = [ 'app', 'Orders.2024', 'covering' ];
my $all = [ @$both, 'shop' ];
restore('whole', $all, '');
# in its own database, which no check has written to
$node->safe_psql('postgres', 'CREATE DATABASE again');
$node->command_ok([ 'pg_dump', '-d', $node->connstr('source'), '-f', $node->basedir . '/again.sql' ], 'again: dump');
$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('again'), '-f', $node->basedir . '/again.sql' ], 'again: restore');
is(dumped('again'), dumped('source'), 'a dump of what was restored is the same dump');
restore('one table', ['app'], 'CREATE EXTENSION dynamo_table', '-t', 'app');
restore('covering indexes', ['covering'], 'CREATE EXTENSION dynamo_table', '-t', 'covering');
restore('without another', $all, '', '-T', 'other');
restore('data only', $both, "$setup CREATE TABLE other (id int PRIMARY KEY)", '--data-only');
restore('data only with triggers disabled', $both, "$setup CREATE TABLE other (id int PRIMARY KEY)", '--data-only', '--disable-triggers');
restore('inserts', $all, '', '--inserts');
restore('inserts with columns', $both, '', '--column-inserts');

# The custom format in parallel
my $dir = $node->basedir . '/directory';
$node->command_ok([ 'pg_dump', '-d', $node->connstr('source'), '-Fd', '-j', 2, '-f', $dir ], 'directory: dump');
$node->safe_psql('postgres', 'CREATE DATABASE parallel');
$node->command_ok([ 'pg_restore', '-d', $node->connstr('parallel'), '-j', 2, $dir ], 'directory: restore');
same_and_alive('parallel', 'directory', $all);
check_storage($node, 'directory', 'parallel');

done_testing();
