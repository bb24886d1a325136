# Indexes that are distributed by their own key: written with the items, read from one shard, built, checked, dropped.
use strict;
use warnings;

use FindBin;
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;
use CitusNodes;
use DynamoTable;

my $citus = CitusNodes->new(join("\n", 'deadlock_timeout = 100ms', 'citus.recover_2pc_interval = 2s', 'dynamo_table.ttl_interval = 1',
	'dynamo_table.ttl_probe_interval = 1'));
my $coordinator = $citus->node(0);

sub is_right
{
	my ($table, $what) = @_;
	is($citus->sql(0, qq{SELECT object, problem FROM dyn_check_table('$table')}), '', $what);
}

my $indexes = q{{"All": {"partition_key": "g S", "sort_key": "r N", "distribution": "key"},
	"Keys": {"partition_key": "h S", "projection": "KEYS_ONLY", "distribution": "key"},
	"Some": {"partition_key": ["g S", "h S"], "projection": "INCLUDE", "non_key_attributes": ["v"], "distribution": "key"},
	"With": {"partition_key": "g S", "sort_key": "r N"}}};

# Definitions
$citus->fails(0, qq{SELECT dyn_create_table('one', 'pk S', global_indexes => '$indexes')}, qr/index "All" cannot be distributed by its key/,
	'a table of one node has none');
$citus->fails(0, q{SELECT dyn_create_table('one', 'pk S', distributed => true, global_indexes => '{"G": {"partition_key": "g S", "distribution": "node"}}')},
	qr/distribution/, 'another word is refused');
$citus->sql(0, qq{SELECT dyn_create_table('app', 'pk S', 'sk N', distributed => true, global_indexes => '$indexes')});
is($citus->sql(0, q{SELECT string_agg(i ->> 'IndexName' || coalesce(' ' || (i ->> 'Distribution'), ''), ', ' ORDER BY i ->> 'IndexName')
	FROM jsonb_array_elements(dyn_describe_table('app') -> 'GlobalSecondaryIndexes') i}), 'All key, Keys key, Some key, With', 'they are described');
is($citus->sql(0, q{SELECT string_agg(table_name::text || ' ' || distribution_column || ' ' || shard_count, ', '
	ORDER BY table_name::text COLLATE "C") FROM citus_tables
	WHERE table_name::text LIKE '%app%'}), '"app_All" g 8, "app_Keys" h 8, "app_Some" g 8, app pk 8', 'and distributed by their keys');
is_right('app', 'a new table is right');

# Every kind of write, at every node: of other nodes, of this one, in a transaction.
for my $n (0 .. 2)
{
	my $item = sub { my ($sk, $more) = @_; qq({"pk":{"S":"p$n"},"sk":{"N":"$sk"}$more}) };
	my $all = q{,"g":{"S":"g%s"},"r":{"N":"%s"},"h":{"S":"h"},"v":{"S":"v"},"w":{"S":"w"}};
	for my $statement (
		(map { "SELECT dyn_put('app', '" . $item->($_, sprintf($all, $_ % 3, $_)) . "')" } 1 .. 12),
		q{SELECT dyn_put('app', '} . $item->(1, sprintf($all, 7, 1)) . q{')},                              # another key
		q{SELECT dyn_put('app', '} . $item->(2, '') . q{')},                                                # leaves the indexes
		q{SELECT dyn_put('app', '} . $item->(20, sprintf($all, 1, 1)) . q{', condition => 'attribute_not_exists(pk)')},
		q{SELECT dyn_update('app', '} . $item->(3, '') . q{', 'SET g = :g', vals => '{":g":{"S":"moved"}}')},
		q{SELECT dyn_update('app', '} . $item->(4, '') . q{', 'SET v = :g', vals => '{":g":{"S":"other"}}')},
		q{SELECT dyn_update('app', '} . $item->(5, '') . q{', 'SET w = :g', vals => '{":g":{"S":"other"}}', condition => 'v = :v')}
			=~ s/"other"\}\}/"other"},":v":{"S":"v"}}/r,
		q{SELECT dyn_update('app', '} . $item->(6, '') . q{', 'REMOVE h')},
		q{SELECT dyn_update('app', '} . $item->(30, '') . q{', 'SET g = :g, r = :r', vals => '{":g":{"S":"new"},":r":{"N":"1"}}')},
		q{SELECT dyn_delete('app', '} . $item->(7, '') . q{')},
		q{SELECT dyn_delete('app', '} . $item->(8, '') . q{', condition => 'h = :h', vals => '{":h":{"S":"h"}}')},
		q{SELECT dyn_batch_write('app', ARRAY['} . $item->(9, sprintf($all, 'b', 9)) . q{', '} . $item->(40, sprintf($all, 'b', 40)) . q{']::dyn_item[],
			ARRAY['} . $item->(10, '') . q{']::dyn_item[])},
		qq{SELECT dyn_transact('[{"Put": {"TableName": "app", "Item": {"pk":{"S":"t$n"},"sk":{"N":"1"}@{[ sprintf($all, 't', 1) ]}}}},
			{"Update": {"TableName": "app", "Key": {"pk":{"S":"p$n"},"sk":{"N":"11"}}, "UpdateExpression": "SET g = :g", "ExpressionAttributeValues": {":g":{"S":"t"}}}},
			{"Delete": {"TableName": "app", "Key": {"pk":{"S":"p$n"},"sk":{"N":"12"}}}},
			{"ConditionCheck": {"TableName": "app", "Key": {"pk":{"S":"absent"},"sk":{"N":"1"}}, "ConditionExpression": "attribute_not_exists(pk)"}}]')},
		qq{SELECT dyn_execute('INSERT INTO "app" VALUE {''pk'': ''q$n'', ''sk'': 1, ''g'': ''q'', ''r'': 1, ''h'': ''h''}')},
		qq{SELECT dyn_execute('UPDATE "app" SET "g" = ''q2'' WHERE "pk" = ''q$n'' AND "sk" = 1')},
		qq{SELECT dyn_execute('INSERT INTO "app" VALUE {''pk'': ''q$n'', ''sk'': 2, ''g'': ''q'', ''r'': 1, ''h'': ''h''}')},
		qq{SELECT dyn_execute('DELETE FROM "app" WHERE "pk" = ''q$n'' AND "sk" = 2')},
		qq{SELECT dyn_request('PutItem', '{"TableName":"app","Item":{"pk":{"S":"r$n"},"sk":{"N":"1"}@{[ sprintf($all, 'r', 1) ]}}}'::jsonb)},
		qq{SELECT dyn_request('UpdateItem', '{"TableName":"app","Key":{"pk":{"S":"r$n"},"sk":{"N":"1"}},"UpdateExpression":"SET r = r + :n, v = :v",
			"ExpressionAttributeValues":{":n":{"N":"1"},":v":{"S":"z"}}}'::jsonb)},
		qq{BEGIN; SELECT dyn_put('app', '{"pk":{"S":"b$n"},"sk":{"N":"1"}@{[ sprintf($all, 1, 1) ]}}'); SAVEPOINT s;
			SELECT dyn_put('app', '{"pk":{"S":"b$n"},"sk":{"N":"2"}@{[ sprintf($all, 1, 2) ]}}');
			SELECT dyn_put('app', '{"pk":{"S":"b$n"},"sk":{"N":"1"}@{[ sprintf($all, 2, 1) ]}}'); ROLLBACK TO s;
			SELECT dyn_delete('app', '{"pk":{"S":"r$n"},"sk":{"N":"1"}}'); COMMIT})
	{
		my ($code, $err) = $citus->call($n, $statement);
		is($code, 0, "node $n writes") or diag("$statement: $err");
	}
	$citus->fails($n, q{SELECT dyn_put('app', '} . $item->(9, sprintf($all, 'no', 1)) . q{', condition => 'attribute_not_exists(pk)')}, qr/condition/i,
		'a condition that fails');
}
is_right('app', 'all indexes are what the items say');
is($citus->sql(0, q{SELECT string_agg(n::text, ' ') FROM (SELECT count(*) AS n FROM dyn_scan('app', 'All') UNION ALL
	SELECT count(*) FROM dyn_scan('app', 'With')) x}) =~ s/^(\d+) \1$/same/r,
	'same', 'both kinds have the same items');

# Reads, at every node
my %answers;
for my $n (0 .. 2)
{
	my $answer = $citus->sql($n, q{
		SELECT 'q', i FROM dyn_query('app', 'g = :g', index_name => 'All', vals => '{":g":{"S":"g1"}}') WITH ORDINALITY q(i, o);
		SELECT 'd', i FROM dyn_query('app', 'g = :g AND r BETWEEN :a AND :b', index_name => 'All', forward => false,
			vals => '{":g":{"S":"g0"},":a":{"N":"1"},":b":{"N":"9"}}') i;
		SELECT 'k', i FROM dyn_query('app', 'h = :h', index_name => 'Keys', vals => '{":h":{"S":"h"}}') i ORDER BY i;
		SELECT 's', i FROM dyn_query('app', 'g = :g AND h = :h', index_name => 'Some', filter => 'v = :v',
			vals => '{":g":{"S":"g1"},":h":{"S":"h"},":v":{"S":"v"}}') i;
		SELECT 'x', i FROM dyn_execute('SELECT "pk", "sk" FROM "app"."All" WHERE "g" = ''t''') i;
		SELECT 'c', dyn_request('Query', '{"TableName":"app","IndexName":"All","KeyConditionExpression":"g = :g","ExpressionAttributeValues":{":g":{"S":"g1"}},
			"Select":"COUNT","ReturnConsumedCapacity":"INDEXES"}'::jsonb)});
	$answers{$answer}++;
	is($citus->sql($n, q{WITH RECURSIVE pages(items, k, i) AS (
			SELECT p.response -> 'Items', p.response -> 'LastEvaluatedKey', 1 FROM (SELECT dyn_request('Query',
				'{"TableName":"app","IndexName":"Keys","Limit":2,"KeyConditionExpression":"h = :h",
				"ExpressionAttributeValues":{":h":{"S":"h"}}}'::jsonb)::jsonb AS response) p
			UNION ALL SELECT p.response -> 'Items', p.response -> 'LastEvaluatedKey', i + 1 FROM pages, LATERAL (SELECT dyn_request('Query',
				jsonb_build_object('TableName', 'app', 'IndexName', 'Keys', 'Limit', 2, 'KeyConditionExpression', 'h = :h', 'ExpressionAttributeValues',
					'{":h":{"S":"h"}}'::jsonb, 'ExclusiveStartKey', k))::jsonb AS response) p WHERE k IS NOT NULL AND i < 100)
		SELECT count(*) = count(DISTINCT e) AND count(*) = (SELECT count(*) FROM dyn_scan('app', 'Keys')) FROM pages, jsonb_array_elements(items) e}), 't',
		"pages have each item once at node $n");
	is($citus->sql($n, q{SELECT sum(n) FROM (SELECT count(*) AS n FROM dyn_scan('app', 'All', segment => 0, total_segments => 3) UNION ALL
		SELECT count(*) FROM dyn_scan('app', 'All', segment => 1, total_segments => 3) UNION ALL
		SELECT count(*) FROM dyn_scan('app', 'All', segment => 2, total_segments => 3)) s}), $citus->sql($n, q{SELECT count(*) FROM dyn_scan('app', 'With')}),
		'so have segments');
}
# A scan goes shard by shard, so all segments together read each entry once.
my $read = q{SELECT sum(result::bigint) FROM run_command_on_placements('"app_All"', $$SELECT coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)
	FROM pg_stat_all_tables WHERE relid = '%s'::regclass$$)};
my ($before, $entries) = ($citus->sql(0, $read), $citus->sql(0, q{SELECT count(*) FROM dyn_scan('app', 'With')}));
is($citus->sql(0, q{SET citus.max_cached_conns_per_worker = 0; SELECT count(DISTINCT i) FROM generate_series(0, 15) s,
	dyn_scan('app', 'All', segment => s, total_segments => 16) i}), $entries, 'many segments have each item, too');
ok($coordinator->poll_query_until('postgres', "SELECT ($read) >= $before + $entries"), '… which is read');
cmp_ok($citus->sql(0, $read) - $before, '<', 2 * $entries, '… and not for each segment');
is(scalar(keys %answers), 1, 'all nodes answer the same') or diag(join("\n--\n", keys %answers));
is($citus->sql(1, q{SELECT string_agg(i ->> 'r', ' ') FROM dyn_query('app', 'g = :g', index_name => 'All', vals => '{":g":{"S":"g1"}}') i}),
	$citus->sql(1, q{SELECT string_agg(i ->> 'r', ' ' ORDER BY (i ->> 'r')::int) FROM dyn_scan('app') i WHERE i ->> 'g' = 'g1' AND i ? 'r'}), 'in order');
like($citus->sql(1, q{SELECT store_reason FROM dyn_explain('app', 'g = :g', index_name => 'All', vals => '{":g":{"S":"g1"}}')}), qr/one shard of it is read/,
	'and one shard is asked');

$citus->sql($_, 'VACUUM ANALYZE') for 0 .. 2;
is($citus->sql(1, q{SELECT i ->> 'ItemCount' = (SELECT count(*)::text FROM dyn_scan('app', 'All')) AND (i ->> 'IndexSizeBytes')::bigint > 0
	FROM jsonb_array_elements(dyn_describe_table('app') -> 'GlobalSecondaryIndexes') i WHERE i ->> 'IndexName' = 'All'}), 't', 'sizes are those of its entries');

# What is not ours does not write, and reads are for those who may read the table.
my $refused = qr/can be written by calls and requests only/;
my ($shard, $place) = split /\|/, $citus->sql(0, q{SELECT s.shardid, n.nodename || ':' || n.nodeport FROM pg_dist_shard s JOIN pg_dist_placement USING (shardid)
	JOIN pg_dist_node n USING (groupid) WHERE s.shardid = get_shard_id_for_distribution_column('app', 'p0'::text)});
my $home = $place eq join(':', $citus->address(1)) ? 1 : 2;
for my $n (0 .. 2)
{
	$citus->fails($n, $_, $refused, "plain SQL does not write at node $n: $_") for (
		q{INSERT INTO app (item, pk, sk) VALUES ('{"pk":{"S":"p0"},"sk":{"N":"99"}}', 'p0', 99)},
		q{UPDATE app SET item = item WHERE pk = 'p0' AND sk = 1},
		q{DELETE FROM app WHERE pk = 'p0'}, q{DELETE FROM app},
		q{WITH gone AS (DELETE FROM app WHERE pk = 'p0' RETURNING 1) SELECT count(*) FROM gone},
		q{INSERT INTO app (item, pk, sk) SELECT item, pk, sk FROM app ON CONFLICT (pk, sk) DO UPDATE SET item = EXCLUDED.item},
		q{TRUNCATE app});
	$citus->fails($n, qq{COPY app (item, pk, sk) FROM STDIN;\n{"pk":{"S":"p0"},"sk":{"N":"99"}}\tp0\t99\n\\.\n}, $refused, 'nor does COPY');
}
$citus->fails($home, qq{SET citus.enable_manual_changes_to_shards = on; DELETE FROM app_$shard}, $refused, 'nor at a shard');
$citus->fails($home, qq{SET citus.enable_manual_changes_to_shards = on; TRUNCATE app_$shard}, $refused, 'nor TRUNCATE of one');
is_right('app', 'nothing of that was done');
$citus->sql(0, q{CREATE ROLE reader LOGIN; CREATE ROLE writer LOGIN; CREATE ROLE nobody LOGIN; GRANT SELECT ON app TO reader;
	GRANT SELECT, INSERT, UPDATE, DELETE ON app TO writer});
my $query = q{SELECT count(*) > 0 FROM dyn_query('app', 'g = :g', index_name => 'All', vals => '{":g":{"S":"g1"}}')};
for my $n (0 .. 2)
{
	is($citus->sql($n, "SET ROLE reader; $query"), 't', "a reader of the table reads the index at node $n");
	is($citus->sql($n, qq{SET ROLE writer; SELECT dyn_put('app', '{"pk":{"S":"w$n"},"sk":{"N":"1"},"g":{"S":"w"},"r":{"N":"1"}}')}), '', 'a writer writes');
	$citus->fails($n, "SET ROLE nobody; $query", qr/permission denied for table app/, 'and nobody else');
	$citus->fails($n, qq{SET ROLE writer; SELECT * FROM "app_All"}, qr/permission denied for table app_All/, 'entries are the owner\'s');
	$citus->fails($n, qq{SET ROLE writer; DELETE FROM "app_All"}, qr/permission denied for table app_All/, 'also to write');
}
is_right('app', 'the entries of a writer are there');
$citus->sql(0, q{ALTER TABLE app ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON app USING (pk LIKE 'w%')});
for my $n (0 .. 2)
{
	$citus->fails($n, "SET ROLE reader; $query", qr/cannot be read under row-level security/, "policies do not hold for entries at node $n");
	is($citus->sql($n, qq{SET ROLE writer; SELECT dyn_update('app', '{"pk":{"S":"w$n"},"sk":{"N":"1"}}', 'SET g = :g', vals => '{":g":{"S":"w2"}}')}), '',
		'who may write an item writes its entries');
	$citus->fails($n, qq{SET ROLE writer; SELECT dyn_put('app', '{"pk":{"S":"p$n"},"sk":{"N":"1"},"g":{"S":"w"},"r":{"N":"1"}}')}, qr/row-level security/,
		'and who may not does not');
	is($citus->sql($n, $query), 't', 'the owner reads');
}
$citus->sql(0, q{DROP POLICY p ON app; ALTER TABLE app DISABLE ROW LEVEL SECURITY});
is_right('app', 'and all is right');

# Faults are found.
sub finds
{
	my ($sql, $error, $what) = @_;
	$citus->sql(0, "CREATE TABLE saved AS SELECT * FROM \"app_All\"; $sql");
	like($citus->sql(0, q{SELECT problem FROM dyn_check_table('app')}), $error, $what);
	$citus->sql(0, q{DELETE FROM "app_All"; INSERT INTO "app_All" SELECT * FROM saved; DROP TABLE saved});
}
finds(q{DELETE FROM "app_All" WHERE g = 'w2'}, qr/3 are missing, 0 wrong, 0 of no item/, 'entries that are missing are found');
finds(q{UPDATE "app_All" SET item = '{"pk":{"S":"x"}}' WHERE g = 'w2'}, qr/0 are missing, 3 wrong, 0 of no item/, 'and wrong ones');
finds(q{INSERT INTO "app_All" SELECT item, 'x', r, pk, sk FROM "app_All" WHERE g = 'w2'}, qr/0 are missing, 0 wrong, 3 of no item/, 'and those of no item');
is_right('app', 'all is right again');
$citus->sql(0, q{ALTER TABLE "app_All" RENAME TO gone});
like($citus->sql(0, q{SELECT problem FROM dyn_check_table('app')}), qr/does not have the entries of index "All"/, 'a table that is gone is found');
$citus->fails($_, q{SELECT dyn_put('app', '{"pk":{"S":"p0"},"sk":{"N":"50"},"g":{"S":"w"},"r":{"N":"1"}}')}, qr/gone|does not have the entries|does not exist/,
	"and nothing is written without it at node $_") for 0 .. 2;
$citus->sql(0, q{ALTER TABLE gone RENAME TO "app_All"});
is_right('app', 'nothing was');

# Time to live
$citus->sql(0, q{CALL dyn_enable_ttl('app', 'expires')});
$citus->sql(0, q{SELECT count(dyn_put('app', jsonb_build_object('pk', 'e' || i, 'sk', 1, 'g', 'e', 'r', i, 'h', 'e',
	'expires', floor(extract(epoch FROM now())) - 10)::dyn_item))
	FROM generate_series(1, 40) i});
wait_for($coordinator, q{SELECT count(*) = 0 FROM app WHERE pk LIKE 'e%'});
is_right('app', 'expired items take their entries along');
$citus->sql(0, q{SELECT count(dyn_put('app', jsonb_build_object('pk', 'e' || i, 'sk', 1, 'g', 'e', 'r', i, 'h', 'e',
	'expires', floor(extract(epoch FROM now())) - 10)::dyn_item))
	FROM generate_series(1, 40) i});
is(($citus->call(1, q{CALL dyn_sweep_ttl('app')}))[0], 0, 'a sweep on demand');
wait_for($coordinator, q{SELECT count(*) = 0 FROM app WHERE pk LIKE 'e%'});
is_right('app', 'so do those of a sweep on demand');
$citus->sql(0, q{CALL dyn_disable_ttl('app')});
is_right('app', 'and the end of it changes nothing');

# Built beside writers, at all nodes; dropped
$citus->sql(0, q{SELECT count(dyn_batch_write('app', ARRAY(SELECT
	jsonb_build_object('pk', 'f' || p, 'sk', s, 'g', 'f' || s % 5, 'r', s, 'x', 'x' || s, 'y', p)::dyn_item
	FROM generate_series(1, 25) s))) FROM generate_series(1, 60) p});
my @writers = map { start_load($citus->node($_), 1, 3600, qq{
\\set i random(0, 1000000)
SELECT dyn_put('app', jsonb_build_object('pk', 'f' || 1 + (:i * 7 + $_) % 60, 'sk', 1 + :i % 25, 'g', 'n' || :i % 9, 'r', :i, 'x', 'n' || :i % 50)::dyn_item);
}) } 0 .. 2;
await_load($citus->node($_), 1) for 0 .. 2;
my ($code, $notices) = $citus->call(0, q{CALL dyn_create_index('app', 'ByX', 'x S', 'sk N', distribution => 'key')});
is($code, 0, 'an index is created beside writers') or diag($notices);
like($notices, qr/making entries/, 'with entries of its own');
stop_load($_) for @writers;
is(scalar(grep { !defined finish_load($_) } @writers), 0, 'no write fails beside it') or diag(map { $_->{err} } @writers);
is_right('app', 'it has what was there and what was written');
is($citus->sql(2, q{SELECT count(*) > 0 FROM dyn_scan('app', 'ByX')}), 't', 'and is read');
($code, $notices) = $citus->call(0, q{CALL dyn_drop_index('app', 'ByX')});
is($code, 0, 'an index is dropped') or diag($notices);
is($citus->sql(0, q{SELECT string_agg(result, ',') FROM run_command_on_all_nodes($$SELECT count(*) FROM pg_class WHERE relname LIKE 'app_ByX%'$$)}), '0,0,0',
	'with its entries on all nodes');
is_right('app', 'and nothing else');

# An item that is older than the index and has no place in it, as the build says, can be changed, and goes
my $large = q{(SELECT string_agg(md5(i::text), '') FROM generate_series(1, 60) i)};
$citus->sql(0, q{SELECT dyn_create_table('wide', 'pk S', distributed => true)});
$citus->sql(0, qq{DO \$\$BEGIN PERFORM dyn_put('wide', jsonb_build_object('pk', n || $large, 'g', $large)::dyn_item)
	FROM (VALUES ('a'), ('b'), ('c')) v(n); END\$\$});
$citus->fails(0, q{CALL dyn_create_index('wide', 'G', 'g S', distribution => 'key')}, qr/index row size/, 'keys that are too large together');
for my $n (0 .. 2)
{
	my $key = qq{jsonb_build_object('pk', '@{[ ('a' .. 'c')[$n] ]}' || $large)::dyn_item};
	my $write = ("dyn_delete('wide', $key)", "dyn_put('wide', $key)", "dyn_update('wide', $key, 'REMOVE g')")[$n];
	is(($citus->call($n, "SELECT $write"))[1], '', "its item can be written at node $n");
}
$citus->sql(0, q{CALL dyn_create_index('wide', 'G', 'g S', distribution => 'key')});
is_right('wide', 'and then the index can be made');
$citus->sql(0, q{SELECT dyn_drop_table('wide')});

# By requests, with the setting; a build that a crash cuts off is finished
$citus->sql(0, q{SET dynamo_table.distribute_new_indexes = 'key'; SELECT dyn_request('UpdateTable', '{"TableName":"app",
	"AttributeDefinitions":[{"AttributeName":"y","AttributeType":"N"}],
	"GlobalSecondaryIndexUpdates":[{"Create":{"IndexName":"ByY","KeySchema":[{"AttributeName":"y","KeyType":"HASH"}],
	"Projection":{"ProjectionType":"KEYS_ONLY"}}}]}'::jsonb)});
wait_for($coordinator, q{SELECT EXISTS (SELECT FROM pg_class WHERE relname = 'app_ByY')});
$citus->crash(0);
my $status = q{SELECT i ->> 'IndexStatus' FROM jsonb_array_elements(dyn_describe_table('app') -> 'GlobalSecondaryIndexes') i WHERE i ->> 'IndexName' = 'ByY'};
# a worker goes on with it at some time; unless it does already
$citus->call(0, q{CALL dynamo_internal.resume_index('app', 'ByY')});
wait_for($coordinator, "SELECT ($status) = 'ACTIVE'");
pass('UpdateTable creates one, and the coordinator died meanwhile');
is_right('app', 'which has all items');

# Moves under load, killed nodes: afterwards index = table
sub end_of_kills
{
	my ($what) = @_;
	stop_load($_) for @writers;
	finish_load($_) for @writers;
	$citus->sql($_, 'SELECT recover_prepared_transactions()') for 0 .. 2;
	wait_for($citus->node($_), 'SELECT count(*) = 0 FROM pg_prepared_xacts') for 0 .. 2;
	is_right('app', $what);
}
my $load = q{
\set i random(0, 1000000)
\set n random(1, 60)
SELECT dyn_put('app', jsonb_build_object('pk', 'f' || :n, 'sk', 1 + :i % 25, 'g', 'k' || :i % 9, 'r', :i, 'h', 'h' || :i % 50, 'y', :i % 7)::dyn_item);
SELECT dyn_delete('app', jsonb_build_object('pk', 'f' || :n, 'sk', 1 + :i % 11)::dyn_item);
};
@writers = map { start_load($citus->node($_), 1, 3600, $load) } 0 .. 2;
await_load($citus->node($_), 1) for 0 .. 2;
$citus->move_all($_, 1, 'force_logical') for 'app', '"app_All"';
$citus->move_all($_, 2) for 'app', '"app_All"';
my ($split, $from, $to) = split /\|/, $citus->sql(0, q{SELECT shardid, shardminvalue, shardmaxvalue FROM pg_dist_shard
	WHERE logicalrelid = 'app'::regclass LIMIT 1});
$citus->sql(0, sprintf(q{SELECT citus_split_shard_by_split_points(%s, ARRAY['%d'], ARRAY[nodeid, nodeid], 'block_writes')
	FROM pg_dist_node WHERE nodeport = %d AND nodename = '%s'},
	$split, ($from + $to) / 2, ($citus->address(2))[1, 0]));
end_of_kills('index is table after moves and a split under load');
for my $victim (1, 2, 0)
{
	@writers = map { start_load($citus->node($_), 2, 3600, $load) } grep { $_ != $victim } 0 .. 2;
	await_load($citus->node($_), 2) for grep { $_ != $victim } 0 .. 2;
	$citus->crash($victim);
	end_of_kills("index is table after the death of node $victim");
}

my $older = $citus->node(1)->background_psql('postgres', on_error_stop => 0);
$citus->sql(0, q{SELECT dyn_put('app', '{"pk":{"S":"two"},"sk":{"N":"1"},"g":{"S":"zero"},"r":{"N":"1"}}')});
$older->query('\set VERBOSITY verbose');
$older->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class');
$citus->move_all('"app_All"', 1);
$older->query(q{SELECT dyn_delete('app', '{"pk":{"S":"two"},"sk":{"N":"1"}}'); COMMIT});
like($older->{stderr}, qr/40001/, 'an entry that has been moved here since the snapshot is not deleted without a word');
$older->quit;

# Between PREPARE and COMMIT PREPARED: a node that waits for a standby, in vain, has written the one and not the other.
my $is_waiting = q{SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND backend_type = 'client backend')};
sub wait_in_vain
{
	my ($n, $value) = @_;
	$citus->set($n, 'synchronous_standby_names', 'nobody');
	my $run = $citus->start(0, qq{SELECT dyn_put('app', '{"pk":{"S":"two"},"sk":{"N":"1"},"g":{"S":"$value"},"r":{"N":"1"}}')});
	wait_for($citus->node($n), $is_waiting);
	return $run;
}
sub die_and_recover
{
	my ($run, @nodes) = @_;
	$citus->sql($_, q{ALTER SYSTEM RESET synchronous_standby_names}) for @nodes;
	$citus->crash($_) for 0, grep { $_ != 0 } @nodes;
	$citus->finish($run);
	end_of_kills('index is table');
	return $citus->sql(0, q{SELECT dyn_get('app', '{"pk":{"S":"two"},"sk":{"N":"1"}}') ->> 'g'});
}
@writers = ();
$citus->sql(0, q{SELECT dyn_put('app', '{"pk":{"S":"two"},"sk":{"N":"1"},"g":{"S":"first"},"r":{"N":"1"}}')});
my $run = wait_in_vain(1, 'second');
is(die_and_recover($run, 1), 'first', 'a write that was not prepared everywhere is undone');
$run = wait_in_vain(0, 'second');
is(join(' ', map { $citus->sql($_, 'SELECT count(*) FROM pg_prepared_xacts') } 1, 2), '1 1', 'item and entry are prepared');
is(die_and_recover($run, 0), 'second', 'and one that was prepared is there');

# A node commits its part later than the others: the next writer of the item sees the item, and its entry not yet.
$run = wait_in_vain(0, 'third');
$citus->sql(0, q{SET synchronous_commit = local; ALTER DATABASE postgres SET synchronous_commit = local});
$citus->set(1, 'synchronous_standby_names', 'nobody');
$citus->set(0, 'synchronous_standby_names');
wait_for($citus->node(1), $is_waiting);
my $next = $citus->start(0, q{SELECT dyn_put('app', '{"pk":{"S":"two"},"sk":{"N":"1"},"g":{"S":"fourth"},"r":{"N":"1"}}')});
wait_until('the next write waits for the entry, or is done', sub {
	my $waits = $citus->sql(1, q{SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted)});
	my $item = $citus->sql(0, q{SELECT dyn_get('app', '{"pk":{"S":"two"},"sk":{"N":"1"}}')});
	return (scalar($waits eq 't' || $item =~ /fourth/), $waits, $item);
});
$citus->set(1, 'synchronous_standby_names');
is_deeply([ map { @$_ } map { ($citus->finish($_))[1] } $run, $next ], [], 'both are done then');
is_right('app', 'and the entry of the first has gone');
$citus->sql(0, q{ALTER DATABASE postgres RESET synchronous_commit});

# So does a new index: who knows it writes to shards that are not there yet.
$citus->sql(0, q{SELECT dyn_create_table('late', 'pk S', distributed => true)});
$citus->set(0, 'synchronous_standby_names', 'nobody');
$run = $citus->start(0, q{CALL dyn_create_index('late', 'K', 'g S', distribution => 'key')});
wait_for($citus->node(0), $is_waiting);
wait_for($citus->node($_), 'SELECT EXISTS (SELECT FROM pg_prepared_xacts)') for 1, 2;
$citus->sql(0, q{SET synchronous_commit = local; ALTER DATABASE postgres SET synchronous_commit = local});
$citus->set(1, 'synchronous_standby_names', 'nobody');
$citus->set(0, 'synchronous_standby_names');
wait_for($citus->node(1), $is_waiting);
my $is_declared = q{SELECT dyn_describe_table('late') ? 'GlobalSecondaryIndexes'};
wait_for($citus->node(2), $is_declared);
my @late = map { [ $citus->call(2, q{\set VERBOSITY sqlstate} . "\n" . qq{SELECT dyn_put('late', '{"pk":{"S":"p$_"},"g":{"S":"g$_"}}')}) ] } 1 .. 20;
my %seen = map { $_->[1] =~ /ERROR:\s+(\S+)/ ? ($1 => 1) : () } @late;
is(join(' ', keys %seen), '40001', 'a write whose entry has no shard yet is to be tried again');
$citus->set(1, 'synchronous_standby_names');
is_deeply(($citus->finish($run))[1], [], 'the index is made');
$citus->sql(2, qq{SELECT dyn_put('late', '{"pk":{"S":"p$_"},"g":{"S":"g$_"}}')}) for 1 .. 20;
is_right('late', 'and has all of them');
$citus->sql(0, q{ALTER DATABASE postgres RESET synchronous_commit});

# Names that have to be quoted, in every place.
$citus->sql(0, q{CREATE SCHEMA "Sch e'ma"; SELECT dyn_create_table($$Sch e'ma.t"a'b$$, $$p"k'; S$$, distributed => true,
	global_indexes => '{"i\\"n''d; ex": {"partition_key": "g\\"'' S", "sort_key": "r N", "distribution": "key"}}')});
for my $n (0 .. 2)
{
	$citus->sql($n, qq{SELECT dyn_put(\$\$Sch e'ma.t"a'b\$\$, jsonb_build_object(\$\$p"k';\$\$, 'x$n', \$\$g"'\$\$, 'a', 'r', $n)::dyn_item)});
	is($citus->sql($n, q{SELECT count(*) FROM dyn_query($$Sch e'ma.t"a'b$$, '#g = :g AND r >= :r', index_name => $$i"n'd; ex$$, names => '{"#g": "g\\"''"}',
		vals => '{":g":{"S":"a"},":r":{"N":"0"}}')}), $n + 1, "names are quoted at node $n");
}
is($citus->sql(0, q{SELECT object, problem FROM dyn_check_table($$Sch e'ma.t"a'b$$)}), '', 'and by the check');
is($citus->sql(0, q{SELECT dyn_describe_table($$Sch e'ma.t"a'b$$) #>> '{GlobalSecondaryIndexes,0,IndexSizeBytes}' <> '0'}), 't',
	'and where shards are asked for their sizes');
is(($citus->call(0, q{CALL dyn_drop_index($$Sch e'ma.t"a'b$$, $$i"n'd; ex$$)}))[0], 0, 'and dropped');

# An owner who is no superuser, a writer, time to live; the way back
$citus->sql(0, q{CREATE ROLE keeper LOGIN; GRANT CREATE ON SCHEMA public TO keeper});
$citus->sql(0, q{SET ROLE keeper; SELECT dyn_create_table('kept', 'pk S', distributed => true, global_indexes =>
	'{"G": {"partition_key": "g S", "distribution": "key"}}'); GRANT SELECT, INSERT, UPDATE, DELETE ON kept TO writer});
for my $n (0 .. 2)
{
	$citus->sql($n, qq{SET ROLE writer; SELECT dyn_put('kept', '{"pk":{"S":"$n"},"g":{"S":"g"},"expires":{"N":"1"}}')});
	is(($citus->call($n, q{CREATE TEMP TABLE t (); SET ROLE writer; SELECT dyn_put('kept', '{"pk":{"S":"temp"},"g":{"S":"g"}}')}))[0], 0,
		"a session with temporary tables writes at node $n");
	is($citus->sql($n, q{SET ROLE writer; SELECT count(*) FROM dyn_query('kept', 'g = :g', index_name => 'G', vals => '{":g":{"S":"g"}}')}), $n + 2,
		'a writer reads what was written');
}
$citus->sql(0, q{SET ROLE keeper; CALL dyn_create_index('kept', 'H', 'pk S', projection => 'KEYS_ONLY', distribution => 'key')});
is_right('kept', 'the entries of an owner are right');
is($citus->sql(0, q{SELECT string_agg(DISTINCT relowner::regrole::text, ' ') FROM pg_class WHERE relname ~ '^kept'}), 'keeper', 'and all are the owner\'s');
$citus->fails(0, q{SET ROLE writer; UPDATE kept SET item = item RETURNING true}, $refused, 'a writer writes by calls only');
for (q{ADD COLUMN code int DEFAULT 1}, q{ADD COLUMN code text GENERATED ALWAYS AS (lower(g)) STORED}, q{ADD CONSTRAINT code CHECK (item IS NOT NULL)})
{
	$citus->sql(0, qq{ALTER TABLE "kept_G" $_});
	$citus->fails(0, q{CREATE TEMP TABLE t (); SET ROLE writer; SELECT dyn_put('kept', '{"pk":{"S":"temp2"},"g":{"S":"g"}}')}, qr/with temporary tables/,
		"code of the owner does not see temporary tables: $_");
	$citus->sql(0, q{ALTER TABLE "kept_G" DROP } . (/(COLUMN|CONSTRAINT)/)[0] . ' code');
}
my $temporary = q{CREATE TEMP TABLE t (); SET ROLE writer;
	SELECT dyn_put('kept', jsonb_build_object('pk', 'temp' || i, 'g', 'g' || random())::dyn_item)
	FROM generate_series(3, 30) i};
is(($citus->call(1, $temporary))[0], 0, 'and where there is no code it does no harm');
$citus->sql(0, q{CREATE POLICY seen ON "kept_G" USING (true); ALTER TABLE "kept_G" ENABLE ROW LEVEL SECURITY; ALTER TABLE "kept_G" FORCE ROW LEVEL SECURITY});
$citus->fails(1, $temporary, qr/with temporary tables/, 'policies for the owner are code');
$citus->sql(0, q{ALTER TABLE "kept_G" DISABLE ROW LEVEL SECURITY; ALTER TABLE "kept_G" NO FORCE ROW LEVEL SECURITY; DROP POLICY seen ON "kept_G"});
my $shard = $citus->sql(1, q{SELECT format('%I', 'kept_G_' || s.shardid) FROM pg_dist_shard s JOIN pg_dist_placement USING (shardid)
	JOIN pg_dist_local_group USING (groupid) WHERE logicalrelid = '"kept_G"'::regclass LIMIT 1});
my $by_hand = 'SET citus.enable_manual_changes_to_shards = on; SET citus.enable_ddl_propagation = off; SET ROLE keeper;';
$citus->sql(1, "$by_hand CREATE TRIGGER code BEFORE INSERT ON $shard FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()");
$citus->fails(1, $temporary, qr/with temporary tables/, 'and a trigger of a shard that the session writes to');
$citus->sql(1, "$by_hand DROP TRIGGER code ON $shard");

# With a setting Citus sends what a client says together with SET LOCAL over the connection of each role.
my $sent = q{SET citus.propagate_set_commands = 'local'; BEGIN; SET LOCAL the.thing = '1'\; DO $$BEGIN IF current_user <> 'writer' THEN
	RAISE 'code of writer as %', current_user; END IF; END$$;};
my @uses = (q{SELECT dyn_put('kept', '{"pk":{"S":"sent"},"g":{"S":"sent"}}')},
	q{SELECT * FROM dyn_query('kept', 'g = :g', index_name => 'G', vals => '{":g":{"S":"g"}}')},
	q{SELECT dyn_transact('[{"Put":{"TableName":"kept","Item":{"pk":{"S":"sent"}}}}]', 'token')});
for my $use (@uses)
{
	$citus->fails($_, "SET SESSION AUTHORIZATION writer; $sent $use", qr/in a transaction that sends settings/, "so it is refused at node $_: $use") for 0, 1;
}
$citus->fails(0, "SET SESSION AUTHORIZATION writer; BEGIN; $uses[2]; SET LOCAL citus.propagate_set_commands = 'local'", qr/settings cannot be sent/,
	'and so is what would send them afterwards');
$citus->fails(0, q{BEGIN; SET LOCAL work_mem = '1MB'; SET ROLE writer;
	SELECT dyn_put('kept', '{"pk":{"S":"not sent"}}'); SET LOCAL work_mem = '2MB'; SELECT 1/0},
	qr/division by zero/, 'but not what is not sent');
is(($citus->call(1, q{SET ROLE keeper; CALL dyn_enable_ttl('kept', 'expires')}))[0] != 0, 1, 'a worker changes no table');
$citus->sql(0, q{SET ROLE keeper; CALL dyn_enable_ttl('kept', 'not yet'); CALL dyn_disable_ttl('kept'); CALL dyn_enable_ttl('kept', 'expires')});
$citus->sql(0, q{SELECT dyn_put('kept', jsonb_build_object('pk', 'due', 'g', 'g', 'expires', floor(extract(epoch FROM now())) - 10)::dyn_item)});
wait_for($coordinator, q{SELECT count(*) = 0 FROM kept WHERE pk = 'due'});
is_right('kept', 'sweeps have the rights of the owner');
$citus->fails(0, q{SET ROLE keeper; SELECT dyn_undistribute_table('kept')}, qr/cannot be made a table of one node/, 'such a table stays distributed');
$citus->sql(0, q{SELECT undistribute_table('kept'); SELECT dyn_distribute_table('kept')});
is($citus->sql(0, q{SELECT string_agg(i ->> 'IndexStatus', ' ') FROM jsonb_array_elements(dyn_describe_table('kept') -> 'GlobalSecondaryIndexes') i}),
	'CREATING CREATING', 'distributed anew its indexes have to be built');
$citus->sql(0, q{CALL dyn_create_index('kept', 'G', 'g S', distribution => 'key')});
$citus->sql(0, q{CALL dyn_create_index('kept', 'H', 'pk S', projection => 'KEYS_ONLY', distribution => 'key')});
is_right('kept', 'and are right then');
$citus->sql(0, q{SET ROLE keeper; SELECT dyn_drop_table('kept')});

# The table goes with its entries.
$citus->sql(0, q{SELECT dyn_drop_table('app')});
is($citus->sql(0, q{SELECT string_agg(result, ',') FROM run_command_on_all_nodes($$SELECT count(*) FROM pg_class WHERE relname ~ '^app(_|$)'$$)}), '0,0,0',
	'a table is dropped with its entries');

done_testing();
