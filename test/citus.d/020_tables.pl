# Distributed tables as objects: how they are made, changed, checked, refused and made tables of one node again.
use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;
use CitusNodes;

my $citus = CitusNodes->new;

# The error of a statement, without its context.
sub error_of
{
	my ($n, $sql) = @_;
	my ($result, $out, $err) = $citus->node($n)->psql('postgres', $sql);
	$err =~ s/^psql:<stdin>:\d+: //mg;
	$err =~ s/\nCONTEXT:.*//s;
	return $result == 0 ? 'no error' : $err;
}

# What each node says, if they agree.
sub everywhere
{
	my ($sql) = @_;
	my @answers = map { $citus->sql($_, $sql) } 0 .. 2;
	return $answers[0] eq $answers[1] && $answers[1] eq $answers[2] ? $answers[0] : join(' / ', @answers);
}

sub on_shards
{
	my ($table, $expression) = @_;
	return $citus->sql(0, "SELECT string_agg(DISTINCT result, ' / ') FROM run_command_on_shards('$table', \$x\$ $expression \$x\$)");
}

# making them
$citus->sql(0, q{SELECT dyn_create_table('app', 'pk S', 'sk N', '{"G":{"partition_key":"g S"}}', distributed => true)});
$citus->sql(0, q{SELECT dyn_create_table('beside', 'pk S', distributed => true, colocate_with => 'app')});
$citus->sql(0, q{SELECT dyn_create_table('few', 'pk N', distributed => true, shard_count => 3)});
is($citus->sql(0, q{SELECT count(DISTINCT colocation_id) FROM citus_tables WHERE table_name IN ('app'::regclass, 'beside'::regclass)}),
	'1', 'a table is put beside another one');
is(scalar(keys %{ { $citus->placements('few') } }), 3, 'a table has the shards that it was given');
like(error_of(0, q{SELECT dyn_create_table('no', 'pk N', distributed => true, colocate_with => 'app')}),
	qr/cannot colocate tables/, 'not beside one with a key of another type');
like(error_of(1, q{SELECT dyn_create_table('no', 'pk N', distributed => true)}),
	qr/cannot be distributed from this node/, 'and not on a worker');

$citus->sql(0, q{SELECT dyn_create_table('grown', 'pk S', 'sk N', '{"G":{"partition_key":"g S"}}');
	INSERT INTO grown (item) SELECT jsonb_build_object('pk', 'p' || i % 10, 'sk', i, 'g', 'x', 'long', repeat(md5(i::text), 300))::dyn_item
		FROM generate_series(1, 200) i});
$citus->sql(0, q{SELECT dyn_distribute_table('grown', colocate_with => 'app')});
is(everywhere(q{SELECT count(*) || ' ' || sum(sk) FROM grown}), '200 20100', 'a table that is distributed keeps its items');
is($citus->sql(0, q{SELECT pg_total_relation_size('grown') - pg_indexes_size('grown')}), '8192', 'and none is left on the coordinator');
is(everywhere(q{SELECT count(*) FROM dyn_query('grown', 'pk = :a', vals => '{":a":{"S":"p3"}}')}), '20', 'they are read by their key');
is(on_shards('grown', q{SELECT count(*) FROM pg_trigger WHERE tgrelid = '%s'::regclass}), '0', 'shards have no trigger');

# lists and settings on all nodes
is(everywhere(q{SELECT dyn_request('ListTables', '{}')}), '{"TableNames":["app","beside","few","grown"]}', 'all nodes list them, and no shards');
$citus->sql(0, q{SELECT dyn_alter_table('app', '{"placement": false, "tags": {"team": "a"}}')});
$citus->sql(0, q{CALL dyn_enable_ttl('app', 'expires')});
$citus->sql(1, q{SELECT dyn_create_entity('app', 'Thing', '{"pk":"T#<id>","sk":"<n>"}', '{"id":"S","n":"N"}')});
$citus->sql(2, q{SELECT dyn_create_access_pattern('app', 'P', 'Scan', '{}')});
is(everywhere(q{SELECT entity FROM dyn_entities('app')}), 'Thing', 'an entity declared on a worker is known to all nodes');
is(everywhere(q{SELECT access_pattern FROM dyn_access_patterns('app')}), 'P', 'an access pattern too');
is(everywhere(q{SELECT attribute || ' ' || status FROM dyn_ttl_tables}), 'expires ENABLED', 'time to live too');
is(everywhere(q{SELECT d ->> 'Placement' || ' ' ||
	(SELECT tags FROM (SELECT dyn_request('ListTagsOfResource', json_build_object('ResourceArn', d ->> 'TableArn'))::text AS tags) x)
	FROM dyn_describe_table('app') d}), 'false {"Tags":[{"Key":"team","Value":"a"}]}', 'and settings and tags');
like(on_shards('app', q{SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = '%s'::regclass AND conname LIKE 'dynamo_definition%%'}),
	qr/^[^\/]*"expires[^\/]*placement[^\/]*$/, 'all shards have the definition as it is now');
like(error_of(1, q{SELECT dyn_alter_table('app', '{"placement": true}')}), qr/operation is not allowed on this node/,
	'definitions are changed on the coordinator');

# plain SQL
like(error_of(0, q{INSERT INTO app (item) VALUES ('{"pk":{"S":"a"},"sk":{"N":"1"}}')}), qr/without a partition column value/, 'nothing fills columns');
is(error_of($_, qq{INSERT INTO app (item, pk, sk, g) VALUES ('{"pk":{"S":"a"},"sk":{"N":"$_"},"g":{"S":"x"}}', 'a', $_, 'x')}), 'no error',
	"plain SQL that gives them works on node $_") for 0 .. 2;
like(error_of($_, q{INSERT INTO app (item, pk, sk) VALUES ('{"pk":{"S":"a"},"sk":{"N":"9"}}', 'b', 9)}), qr/violates check constraint "dynamo_keys/,
	"a wrong key is refused on node $_") for 0 .. 2;
like(error_of(0, q{INSERT INTO app (item, pk, sk) VALUES ('{"pk":{"S":"a"},"sk":{"N":"9"},"g":{"S":"x"}}', 'a', 9)}),
	qr/violates check constraint "dynamo_keys/, 'and a missing key of an index');
is(error_of(1, qq{COPY app (item, pk, sk) FROM stdin;\n{"pk":{"S":"b"},"sk":{"N":"1"}}\tb\t1\n\\.\n}), 'no error', 'COPY works');
like(error_of(1, qq{COPY app (item, pk, sk) FROM stdin;\n{"pk":{"S":"b"},"sk":{"N":"1"}}\tc\t1\n\\.\n}), qr/violates check constraint "dynamo_keys/,
	'and is refused with a wrong key');
is(error_of(2, q{UPDATE app SET item = '{"pk":{"S":"b"},"sk":{"N":"1"},"v":{"N":"5"}}' WHERE pk = 'b' AND sk = 1}), 'no error', 'UPDATE of the item works');
like(error_of(2, q{UPDATE app SET item = '{"pk":{"S":"c"},"sk":{"N":"1"}}' WHERE pk = 'b' AND sk = 1}), qr/violates check constraint "dynamo_keys/,
	'and is refused with another key');
is(everywhere(q{SELECT dyn_get('app', '{"pk":{"S":"b"},"sk":{"N":"1"}}') ->> 'v'}), '5', 'calls read what SQL wrote');
is($citus->sql(0, q{SELECT count(*) FROM dyn_check_table('app')}), '0', 'nothing is wrong with the table');

# shards by name
my ($shard) = map { "app_$_" } grep { { $citus->placements('app') }->{$_} == 1 } sort keys %{ { $citus->placements('app') } };
my $named = qr/It is a shard of a distributed table\.\nHINT:  Use table "app"\./;
like(error_of(1, sprintf('SET citus.override_table_visibility = off; SELECT %s', sprintf($_, $shard))), $named, "not on a shard: $_")
	for q{dyn_put('%s', '{"pk":{"S":"a"},"sk":{"N":"1"}}')}, q{dyn_get('%s', '{"pk":{"S":"a"},"sk":{"N":"1"}}')}, q{dyn_scan('%s')},
	q{dyn_drop_table('%s')}, q{dyn_alter_table('%s', '{"placement": true}')}, q{dyn_undistribute_table('%s')},
	q{dyn_request('DeleteTable', '{"TableName":"%s"}')}, q{dyn_execute('SELECT * FROM "%s"')}, q{dyn_enable_stream('%s', 'KEYS_ONLY')};
my %outcomes;
for my $i (1 .. 40)
{
	my $error = error_of(1, qq{INSERT INTO $shard (item, pk, sk) VALUES ('{"pk":{"S":"d$i"},"sk":{"N":"1"}}', 'd$i', 1)});
	my $found = $citus->sql(0, qq{SELECT dyn_get('app', '{"pk":{"S":"d$i"},"sk":{"N":"1"}}') IS NOT NULL});
	$outcomes{ ($error eq 'no error' ? 'inserted' : $error =~ /check constraint "dynamo_shard/ ? 'refused' : $error) . " $found" }++;
}
is(join(', ', sort keys %outcomes), 'inserted t, refused f', 'plain SQL on a shard inserts what calls find there, and nothing else');
$citus->sql(0, q{DELETE FROM app WHERE pk LIKE 'd%'});

# the owner and others; renames
$citus->sql(0, 'CREATE ROLE joe LOGIN; CREATE ROLE ann LOGIN; CREATE SCHEMA apps; GRANT USAGE, CREATE ON SCHEMA apps TO joe;
	GRANT USAGE ON SCHEMA apps TO ann');
$citus->sql(0, 'ALTER TABLE app RENAME TO renamed; ');
$citus->sql(0, 'ALTER TABLE renamed SET SCHEMA apps');
$citus->sql(0, 'ALTER TABLE apps.renamed OWNER TO joe');
is(everywhere(q{SELECT dyn_get('apps.renamed', '{"pk":{"S":"b"},"sk":{"N":"1"}}') ->> 'v'}), '5', 'it is read by its new name');
$citus->sql($_, qq{SET ROLE joe; SELECT dyn_put('apps.renamed', '{"pk":{"S":"j"},"sk":{"N":"$_"}}')}) for 0 .. 2;
is(everywhere(q{SELECT count(*) FROM dyn_query('apps.renamed', 'pk = :a', vals => '{":a":{"S":"j"}}')}), '3', 'its new owner writes to it');
like(error_of(0, q{SET ROLE ann; SELECT dyn_undistribute_table('apps.renamed')}), qr/permission denied/, 'others may not change it');
$citus->sql(0, q{GRANT SELECT ON apps.renamed TO ann});
like(error_of(0, q{SET ROLE ann; SELECT dyn_undistribute_table('apps.renamed')}), qr/must be owner/, 'nor if they may read it');
$citus->sql(0, q{SET ROLE joe; SELECT dyn_create_table('apps.joes', 'pk S', distributed => true); SELECT dyn_put('apps.joes', '{"pk":{"S":"a"}}');
	SELECT dyn_drop_table('apps.joes')});
is($citus->sql(0, q{SELECT count(*) FROM citus_tables WHERE table_name::text = 'apps.joes'}), '0', 'a role makes and drops one of its own');

# definitions go where shards go
my $new = $citus->add;
$citus->move_all('beside', $new);
is($citus->sql($_, q{SELECT dyn_get('apps.renamed', '{"pk":{"S":"b"},"sk":{"N":"1"}}') ->> 'v'}), '5', "node $_ reads from moved shards") for 0 .. $new;
$citus->sql(0, q{SELECT dyn_alter_table('apps.renamed', '{"placement": true}')});
$citus->sql(0, q{SELECT dyn_alter_table('apps.renamed', '{"placement": false}')});
my ($first, $from, $to) = split /\|/, $citus->sql(0,
	q{SELECT shardid, shardminvalue, shardmaxvalue FROM pg_dist_shard WHERE logicalrelid = 'apps.renamed'::regclass ORDER BY shardminvalue::int LIMIT 1});
my $number = $citus->sql(0, sprintf q{SELECT nodeid FROM pg_dist_node WHERE nodeport = %d AND nodename = '%s'}, reverse $citus->address($new));
$citus->sql(0, sprintf q{SELECT citus_split_shard_by_split_points(%d, ARRAY['%d'], ARRAY[%d, %d], 'block_writes')}, $first, ($from + $to) / 2, $number,
	$number);
is(scalar(keys %{ { $citus->placements('apps.renamed') } }), 9, 'a shard was split');
$citus->sql(0, q{SELECT dyn_alter_table('apps.renamed', '{"placement": true}')});
is($citus->sql($_, q{SELECT count(*) FROM dyn_scan('apps.renamed')}), '7', "node $_ reads all of them") for 0 .. $new;
unlike(on_shards('apps.renamed', q{SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = '%s'::regclass AND conname LIKE 'dynamo_definition%%'}),
	qr{/|placement}, 'and a change reaches all shards');
is($citus->sql(0, q{SELECT count(*) FROM dyn_check_table('apps.renamed')}), '0', 'nothing is wrong with it');
$citus->sql(0, q{SELECT dyn_put('apps.renamed', jsonb_build_object('pk', 's' || i, 'sk', i)::dyn_item) FROM generate_series(1, 50) i});
is($citus->sql(1, q{SELECT count(*) FROM generate_series(1, 50) i, dyn_query('apps.renamed', 'pk = :a', vals => jsonb_build_object(':a', 's' || i)) q}), '50',
	'writes go to the right shards');

# a migration into one
$citus->sql(0, q{CREATE TABLE origin (id text PRIMARY KEY, n int); INSERT INTO origin SELECT 'm' || i, i FROM generate_series(1, 20) i;
	SELECT dyn_create_entity('beside', 'Moved', '{"pk":"M#<id>"}', '{"id":"S","n":"N"}');
	SELECT dyn_create_migration('beside', 'moved', '[{"from":"origin","entity":"Moved","attributes":{"id":"id","n":"n"}}]')});
$citus->sql(0, q{CALL dyn_migrate('moved')});
is($citus->sql(0, q{SELECT count(*) FROM dyn_verify_migration('moved')}), '0', 'a migration fills one');
$citus->sql(0, q{SELECT dyn_delete('beside', '{"pk":{"S":"M#m7"}}')});
is($citus->sql(0, q{SELECT count(*) FROM dyn_verify_migration('moved')}), '1', 'and is verified');

# the definition dropped
$citus->sql(0, 'ALTER TABLE few DROP CONSTRAINT dynamo_definition');
like(error_of($_, q{SELECT dyn_get('few', '{"pk":{"N":"1"}}')}), qr/"few" is not a table of items/,
	"without its definition it is no table of items on node $_") for 0 .. 2;
my ($advice) = $citus->sql(0, q{SELECT split_part(advice, 'it is: ', 2) FROM dyn_check_table('few')});
$citus->sql(0, $advice);
is(everywhere(q{SELECT dyn_get('few', '{"pk":{"N":"1"}}') IS NULL}), 't', 'dyn_check_table() tells how to bring it back');

# what a dump has
my $dump = $citus->node(0)->basedir . '/dump.sql';
$citus->node(0)->command_ok([ 'pg_dump', '-f', $dump, '-t', 'grown', 'postgres' ], 'pg_dump');
$citus->sql(0, 'CREATE DATABASE restored');
$citus->node(0)->safe_psql('restored', 'CREATE EXTENSION dynamo_table');
$citus->node(0)->command_ok([ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-f', $dump, 'restored' ], 'restored where Citus is not');
my ($result, $out, $err) = $citus->node(0)->psql('restored', q{SELECT dyn_scan('grown')});
like($err, qr/dyn_undistribute_table\(\) to make it a table of one node/, 'the restored table says what it needs');
$citus->node(0)->safe_psql('restored', q{SELECT dyn_undistribute_table('grown')});
is($citus->node(0)->safe_psql('restored', q{INSERT INTO grown (item) VALUES ('{"pk":{"S":"p1"},"sk":{"N":"999"}}'); SELECT count(*) FROM dyn_scan('grown');
	SELECT count(*) FROM dyn_check_table('grown')}),
	"201\n0", 'and is a table of one node');

# and back
$citus->sql(0, q{SELECT dyn_create_entity_view('apps.renamed', 'Thing', 'things')});
like(error_of(0, q{SELECT dyn_undistribute_table('apps.renamed')}), qr/View apps\.things would lose its triggers/, 'a view with triggers is in the way');
$citus->sql(0, 'DROP VIEW apps.things');
$citus->fails(0, 'BEGIN ISOLATION LEVEL REPEATABLE READ; ' . q{SELECT dyn_undistribute_table('apps.renamed')}, qr/cannot be made a table of one node/,
	'with one snapshot, items would be copied as they were before others were kept away');
my $writer = $citus->node(1)->background_psql('postgres');
$writer->query_safe(q{BEGIN; SELECT dyn_put('apps.renamed', '{"pk":{"S":"late"},"sk":{"N":"1"}}')});
my $back = $citus->start(0, q{SET ROLE joe; SELECT dyn_undistribute_table('apps.renamed')});
$citus->node(0)->poll_query_until('postgres', q{SELECT bool_or(result <> '0') FROM
	run_command_on_all_nodes('SELECT count(*) FROM pg_locks WHERE NOT granted')}) or die 'nobody waits';
$writer->query_safe('COMMIT');
$writer->quit;
is_deeply(($citus->finish($back))[1], [], 'the way back waits for writers of other nodes');
is($citus->sql(0, q{SELECT count(*) FROM dyn_scan('apps.renamed')}), '58', 'a table of one node again, it has its items and theirs');
is($citus->sql(0, q{SELECT tgenabled FROM pg_trigger WHERE tgrelid = 'apps.renamed'::regclass}), 'A', 'and its trigger');
is($citus->sql(0, q{SELECT entity FROM dyn_entities('apps.renamed')}), 'Thing', 'and its declarations');
is($citus->sql(0, q{SELECT relowner::regrole || ' ' || has_table_privilege('ann', oid, 'SELECT') FROM pg_class WHERE oid = 'apps.renamed'::regclass}),
	'joe true', 'owner and privileges');
is($citus->sql(0, q{INSERT INTO apps.renamed (item) VALUES ('{"pk":{"S":"z"},"sk":{"N":"1"},"g":{"S":"x"},"expires":{"N":"99999999999"}}'); SELECT count(*)
	FROM dyn_check_table('apps.renamed')}), '0', 'nothing is wrong with it');
$citus->sql(0, q{SELECT dyn_distribute_table('apps.renamed')});
is(everywhere(q{SELECT count(*) FROM dyn_scan('apps.renamed')}), '59', 'it can be distributed once more');
$citus->sql(0, q{SELECT dyn_drop_table('apps.renamed')});
is(everywhere(q{SELECT dyn_request('ListTables', '{}')}), '{"TableNames":["beside","few","grown"]}', 'and dropped on all nodes');

# More shards than a node has connections, which allows 100.
$citus->sql(0, q{SELECT dyn_create_table('many', 'pk S'); SELECT dyn_distribute_table('many', shard_count => 300)});
$citus->sql(1, q{SELECT count(dyn_put('many', jsonb_build_object('pk', i::text)::dyn_item)) FROM generate_series(1, 20) i});
is(everywhere(q{SELECT count(*) FROM dyn_batch_get('many',
	(SELECT array_agg(jsonb_build_object('pk', i::text)::dyn_item) FROM generate_series(1, 20) i))}), '20', 'a table of 300 shards');

# What a node has prepared, and a session that is gone has committed elsewhere, is not left behind.
$citus->sql(0, q{SELECT dyn_undistribute_table('many'); SELECT dyn_create_table('left', 'pk S');
	SELECT dyn_distribute_table('left', shard_count => 6)});
$citus->set($_, 'citus.recover_2pc_interval', '10s') for 0 .. 2;
$citus->set(2, 'synchronous_standby_names', 'nobody');
my $late = $citus->start(2, q{BEGIN}, q{SELECT count(dyn_put('left', jsonb_build_object('pk', i::text)::dyn_item)) FROM generate_series(1, 100) i}, q{COMMIT});
$citus->node(2)->poll_query_until('postgres', q{SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND backend_type = 'client backend')})
	or die 'the writer does not commit';
$citus->crash(1);
$citus->set(2, 'synchronous_standby_names');
$citus->finish($late);
is($citus->sql(1, 'SELECT count(*) > 0 FROM pg_prepared_xacts'), 't', 'a node has it prepared only');
$citus->sql(0, q{SELECT dyn_undistribute_table('left')});
is($citus->sql(0, q{SELECT count(*) FROM dyn_scan('left')}), '100', 'and it is there in the table of one node');

done_testing();
