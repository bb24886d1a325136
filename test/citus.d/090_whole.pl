# What is said of a distributed table is said of the whole: sizes, counts, explanations, views of entities.
use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;
use CitusNodes;

my $citus = CitusNodes->new;
$citus->sql(0, q{
	SELECT dyn_create_table('app', 'pk S', 'sk S', global_indexes => '{"G": {"partition_key": "g S", "sort_key": "h N"}}',
		local_indexes => '{"L": {"sort_key": "h N"}}');
	SELECT dyn_distribute_table('app');
	SELECT dyn_create_entity('app', 'Org', '{"pk":"ORG#<Id>","sk":"ORG"}', '{"Id":"S","Name":"S"}');
	SELECT dyn_create_entity('app', 'Person', '{"pk":"ORG#<Id>","sk":"PERSON#<Person>"}', '{"Id":"S","Person":"S"}');
	SELECT dyn_put_entity('app', 'Org', jsonb_build_object('Id', i::text, 'Name', 'name' || i)::dyn_item) FROM generate_series(1, 200) i;
	SELECT dyn_put_entity('app', 'Person', jsonb_build_object('Id', i::text, 'Person', p::text, 'g', 'g', 'h', i * 10 + p)::dyn_item)
		FROM generate_series(1, 200) i, generate_series(1, 5) p;
	SELECT dyn_create_entity_view('app', 'Org', 'orgs');
	SELECT dyn_create_entity_view('app', 'Person', 'persons');
	ANALYZE app});

for my $n (0 .. 2)
{
	is($citus->sql($n, q{SELECT d -> 'ItemCount', d -> 'GlobalSecondaryIndexes' -> 0 -> 'ItemCount', d -> 'LocalSecondaryIndexes' -> 0 -> 'ItemCount'
		FROM dyn_describe_table('app') d}),
		'1200|1000|1000', "node $n counts the items of all shards");
	my $size = q{SELECT sum(result::bigint) FROM run_command_on_placements('app', $$SELECT pg_table_size('%s')$$)};
	is($citus->sql($n, q{SELECT dyn_describe_table('app') -> 'TableSizeBytes'}), $citus->sql($n, $size), 'and their sizes');
	my $node = $citus->sql($n, q{SELECT format('%s:%s', nodename, nodeport) FROM pg_dist_node JOIN pg_dist_placement USING (groupid)
		WHERE shardid = get_shard_id_for_distribution_column('app', 'ORG#7')});
	is($citus->sql($n, q{SELECT postgres_index, store, store_reason, items_read FROM dyn_explain('app', 'pk = :p', vals => '{":p":{"S":"ORG#7"}}')}),
		"app_pkey|remote|it is distributed, one shard is read, on node $node|6", 'a collection is in one shard');
	is($citus->sql($n, q{SELECT postgres_index, store, store_reason, items_read
		FROM dyn_explain('app', 'g = :g', index_name => 'G', vals => '{":g":{"S":"g"}}', max_items => 10)}),
		'"app_G"|remote|it is distributed, 8 shards on 2 nodes are read|10', 'an index is in all');
	is($citus->sql($n, q{SELECT "Name" FROM orgs WHERE "Id" = '7'}), 'name7', 'a view finds an item');
	like($citus->sql($n, q{EXPLAIN SELECT * FROM orgs WHERE "Id" = '7'}), qr/Task Count: 1\n/, 'in one shard');
	like($citus->sql($n, q{PREPARE p(text) AS SELECT * FROM orgs WHERE "Id" = $1; EXPLAIN EXECUTE p('7')}), qr/Task Count: 1\n/, 'also by a parameter');
	is($citus->sql($n, q{SELECT count(*), count(DISTINCT o."Name") FROM orgs o JOIN persons p USING ("Id") WHERE o."Id" = '7' AND p."Id" = '7'}), '5|1',
		'which joins two views');
	is($citus->sql($n, q{SELECT count(*) FROM persons}), 1000, 'without a key the view has the items of all shards');
	is($citus->sql($n, q{SELECT (SELECT count(*) FROM orgs), "Name" FROM orgs WHERE "Id" IN ('7', '8') ORDER BY 2 LIMIT 1}), '200|name7',
		'also with several keys');
}

# each shard reads its btree as far as the limit
like($citus->sql(0, q{EXPLAIN SELECT g, h, pk, sk FROM app WHERE g = 'g' AND h IS NOT NULL ORDER BY g, h, pk, sk LIMIT 10}),
	qr/Task Count: 8\n.*Limit.*Index (Only )?Scan using "?app_G_\d+/s, 'a shard reads its index up to the limit');

# a role whose sessions on other nodes do not find "public"
$citus->sql(0, 'CREATE ROLE reader LOGIN; GRANT SELECT ON app TO reader; ALTER ROLE reader SET search_path = nowhere');
is($citus->sql(0, q{SET ROLE reader; SELECT dyn_describe_table('app') -> 'ItemCount'}), 1200, 'shards are found whatever the search_path is');

# what everybody may call
for my $call (q{stream_node_shards('pg_class', 1)}, q{stream_node_records('pg_class', 1, 1, 'TRIM_HORIZON', 1, 'x', 'local')})
{
	is($citus->sql(0, "SELECT dynamo_internal.$call ->> 'message'"), 'Requested resource not found', "$call: no table of items");
}
# statistics are of all shards, from each node
for my $n (0 .. 2)
{
	is($citus->sql($n, q{SELECT kind, name, items FROM dyn_table_statistics('app', 0) WHERE kind <> 'table' UNION ALL
		SELECT 'table', name, items FROM dyn_table_statistics('app', 0) WHERE kind = 'table' AND index_scans IS NULL AND hot_share IS NULL}),
		"entity|Org|200\nentity|Person|1000\nindex|G|1000\nindex|L|1000\ntable|app|1200", "node $n counts items by entity and index");
	is($citus->sql($n, q{SELECT bytes = (SELECT sum(dyn_size(item)) FROM app), disk_bytes = (dyn_describe_table('app') ->> 'TableSizeBytes')::bigint
		FROM dyn_table_statistics('app', 0) WHERE kind = 'table'}), 't|t', 'with all bytes');
	is($citus->sql($n, q{SELECT bool_and(items BETWEEN 600 AND 2400) FROM unnest(ARRAY[3, 100]) t, dyn_table_statistics('app', 0, t) WHERE kind = 'table'}), 't',
		'or nearly, by a sample');
	is($citus->sql($n, q{SELECT count(*), count(DISTINCT partition_key::text), min(items), max(items), sum(bytes) = (SELECT sum(dyn_size(item)) FROM app)
		FROM dyn_table_statistics('app', 1000) WHERE kind = 'collection'}), '200|200|6|6|t', 'and each collection once');
}

# operations are counted where they are carried out, each once; the shards' nodes do not count what another one does with statements
sub counted
{
	return join(' / ', map { $citus->sql($_, q{SELECT string_agg(concat_ws(' ', operation, index_name, calls, errors, items_returned, items_written), ', '
		ORDER BY operation, index_name)
		FROM dyn_operations WHERE relation = 'app'::regclass}) } 0 .. 2);
}
$citus->sql($_, 'SELECT dynamo_internal.reset_operations()') for 0 .. 2;
my $home = $citus->sql(0, q{SELECT nodeport FROM pg_dist_node JOIN pg_dist_placement USING (groupid)
	WHERE shardid = get_shard_id_for_distribution_column('app', 'ORG#7')})
	== ($citus->address(1))[1] ? 1 : 2;
my $key = q('{"pk":{"S":"ORG#7"},"sk":{"S":"ORG"}}');
$citus->sql($_, "SELECT dyn_update('app', $key, 'SET a = pk')") for 0 .. 2;
is(counted(), join(' / ', '', map { $_ == $home ? 'UpdateItem 3 0 0 3' : '' } 1, 2), 'a call that is sent counts where the item is');
$citus->sql(0, "BEGIN; SELECT dyn_update('app', $key, 'SET a = pk'); COMMIT;
	SELECT dyn_query('app', 'g = :g', 'G', vals => '{\":g\":{\"S\":\"g\"}}', max_items => 7)");
$citus->node(0)->psql('postgres', "SELECT dyn_delete('app', $key, 'attribute_not_exists(pk)')");
is(counted() =~ s|/.*||r, 'DeleteItem 1 1 0 0, Query G 1 0 7 0, UpdateItem 1 0 0 1 ', 'and one that is not sent where it was made');
is($citus->sql(2, q{SELECT operation, sum(calls)
	FROM run_command_on_all_nodes($$SELECT coalesce(json_agg(o), '[]') FROM dyn_operations o WHERE relation = 'app'::regclass$$),
	json_to_recordset(result::json) AS o(operation text, calls bigint) GROUP BY 1 ORDER BY 1}), "DeleteItem|1\nQuery|1\nUpdateItem|4",
	'the sum of all nodes');

cmp_ok($citus->sql(1, q{SELECT sum(result::bigint)
	FROM run_command_on_placements('app', $$SELECT coalesce(sum(idx_scan), 0) FROM pg_stat_all_indexes WHERE relid = '%s'::regclass$$)}),
	'>', 0, 'nodes have the scans of indexes');

# a node that is down is no silent zero
$citus->node(2)->stop;
my ($out, $err);
ok($citus->node(0)->psql('postgres', q{SELECT dyn_describe_table('app')}, stdout => \$out, stderr => \$err) != 0, 'sizes need all nodes');
like($err, qr/does not say how large its shards are/, 'and the error names the one that is down');

ok($citus->node(0)->psql('postgres', q{SELECT dyn_table_statistics('app')}) != 0, 'statistics likewise');

done_testing();
