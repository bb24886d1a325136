# Shards that two sessions use, on one node that looks like one of Citus: locks that are taken, and those that are not waited for.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION dynamo_table');
$node->safe_psql('postgres', $_) for (slurp_file('test/sql/like_citus.sql'), q{SELECT dyn_create_table('app', 'pk S', distributed => true)});
my ($low, $high) = (102010, 102012);
$node->safe_psql('postgres', qq{SET allow_system_table_mods = on;
	INSERT INTO pg_catalog.pg_dist_shard VALUES ('app', $low, '-2147483648', '-1'), ('app', $high, '0', '2147483647');
	INSERT INTO pg_catalog.pg_dist_placement VALUES ($low, 0), ($high, 0)});
my $key = $node->safe_psql('postgres', q{SELECT 'k' || i FROM generate_series(1, 100) i WHERE hashtext('k' || i) > 0 LIMIT 1});

# The lock of a shard is named by its place among the others, which the split of another one changes.
my $session = $node->background_psql('postgres', on_error_stop => 1);
my $locks = q{SELECT string_agg(classid || '', ' ' ORDER BY classid::text) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 8};
my $put = qq{SELECT dyn_put('app', '{"pk":{"S":"$key"}}')};
$session->query_safe("BEGIN; $put");
is($session->query_safe($locks), 1, 'a write keeps its shard, the second one');
$node->safe_psql('postgres', qq{SET allow_system_table_mods = on;
	UPDATE pg_catalog.pg_dist_shard SET shardminvalue = '-1000' WHERE shardid = $low;
	INSERT INTO pg_catalog.pg_dist_shard VALUES ('app', $low + 1, '-2147483648', '-1001');
	INSERT INTO pg_catalog.pg_dist_placement VALUES ($low + 1, 0);
	UPDATE pg_class SET relpages = relpages WHERE oid = 'app'::regclass});
$session->query_safe($put);
is($session->query_safe($locks), '1 2', '… and the third one, when another has been split');
$session->query_safe('COMMIT');

# Sizes of shards wait for no lock, that of an index neither.
$node->safe_psql('postgres', qq{CREATE TABLE app_$high (LIKE app INCLUDING ALL) USING dynamo_table;
	ALTER TABLE app_$high RENAME CONSTRAINT dynamo_definition TO dynamo_definition_$high});
my $sizes = qq{SELECT (dynamo_internal.shard_sizes(ARRAY['public.app_$high'], 1))[2] > 0};
$node->safe_psql('postgres', qq{INSERT INTO app_$high (item, pk) VALUES ('{"pk":{"S":"$key"}}', '$key')});
is($node->safe_psql('postgres', $sizes), 't', 'the size of a shard');
$session->query_safe("BEGIN; REINDEX INDEX app_${high}_pkey");
is($node->safe_psql('postgres', "SET lock_timeout = '1min'; $sizes"), 'f', '… which is not known while an index is locked');
$session->query_safe('COMMIT');
$session->quit;
done_testing();
