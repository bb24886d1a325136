# Vector indexes of distributed tables: written with the items at the shards, searched in all of them, built, checked, dropped.
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
my %operator = (EUCLIDEAN => '<->', COSINE => '<=>', DOT_PRODUCT => '<#>');

# What a search must find: all items, sorted by pgvector's distance as a score, and by the key.
sub nearest
{
	my ($table, $distance, $query, $k, $where) = @_;
	my $score = "(v $operator{$distance} '[$query]'::vector)";
	$score = "(-$score)" if $distance eq 'DOT_PRODUCT';
	$score = "(1 - (1 - $score)::real)" if $distance eq 'COSINE';
	my $order = $distance eq 'DOT_PRODUCT' ? 'DESC' : '';
	return qq{SELECT string_agg(i ->> 'pk' || '/' || (i ->> 'sk') || '=' || s, ' ' ORDER BY n) FROM (SELECT i, s::text,
		row_number() OVER (ORDER BY s $order, i ->> 'pk' COLLATE "C", (i ->> 'sk')::numeric) AS n
		FROM (SELECT i, $score\::real AS s FROM (SELECT i, (i -> 'v')::jsonb::text::vector AS v FROM dyn_scan('$table') i
			WHERE i ? 'v' AND ($where) OFFSET 0) a) b ORDER BY n LIMIT $k) c};
}

sub found
{
	my ($table, $index, $query, $k, $more) = @_;
	return qq{SELECT string_agg(item ->> 'pk' || '/' || (item ->> 'sk') || '=' || score, ' ' ORDER BY n)
		FROM dyn_search('$table', '$index', '{$query}', $k$more) WITH ORDINALITY s(item, score, n)};
}

# All searches of the indexes find what is there, and nothing else.
sub searches
{
	my ($table, $n, $what, @indexes) = @_;
	my @queries = ('1,2,3,4', '-1,0.5,0,9', '5,5,5,5');
	for (@indexes)
	{
		my ($index, $distance) = @$_;
		my ($right, $wrong) = (0, '');
		for my $query (@queries)
		{
			for ([ 10, '', 'true' ], [ 7, q{, 'kind = :k', vals => '{":k":{"S":"k1"}}'}, q{i ->> 'kind' = 'k1'} ],
				[ 100, q{, '#y >= :y', names => '{"#y":"year"}', vals => '{":y":{"N":"2020"}}'}, q{(i ->> 'year')::int >= 2020} ])
			{
				my ($k, $more, $where) = @$_;
				my $is = $citus->sql($n, found($table, $index, $query, $k, $more));
				my $ought = $citus->sql(0, nearest($table, $distance, $query, $k, $where));
				$is eq $ought ? $right++ : ($wrong = "$index $query $more:\n is $is\nought $ought");
			}
		}
		is($right, 9, "$what: $index at node $n") or diag($wrong);
	}
}

sub is_right
{
	my ($table, $what) = @_;
	is($citus->sql(0, qq{SELECT object, problem FROM dyn_check_table('$table')}), '', $what);
}

# The member of an item that has a vector of its elements.
sub vector { return '"v":{"L":[' . join(',', map { qq({"N":"$_"}) } @_) . ']}' }

# A vector of whole numbers, whose distances are the same wherever they are computed.
my $vector = q{jsonb_build_array((%1$s) %% 17, (%1$s) * 7 %% 23, (%1$s) * (%1$s) %% 11, -((%1$s) %% 5))};
sub items
{
	my ($from, $to, $p) = @_;
	my $v = sprintf($vector, 'i');
	return qq{(SELECT jsonb_build_object('pk', '$p' || i % 20, 'sk', i, 'kind', 'k' || i % 3, 'year', 2000 + i % 40, 'x', i, 'v', $v)::dyn_item
		AS item FROM generate_series($from, $to) i) g};
}

# What is refused
$citus->fails(0, q{SELECT dyn_create_table('plain', 'pk S', distributed => true); CALL dyn_create_vector_index('plain', 'v', 'v', 4)},
	qr/need the extension "vector"/, 'without pgvector there is none');
$citus->sql(0, q{CREATE EXTENSION vector; SELECT dyn_create_table('one', 'pk S'); CALL dyn_create_vector_index('one', 'v', 'v', 4)});
$citus->fails(0, q{SELECT dyn_distribute_table('one')}, qr/Drop them by dyn_drop_index first, and create them again afterwards/,
	'a table is distributed before its vector indexes are made');

# Built on what is there, of all distances and methods
$citus->sql(0, q{SELECT dyn_create_table('app', 'pk S', 'sk N', distributed => true)});
$citus->sql(0, qq{SELECT count(dyn_put('app', item)) FROM @{[ items(1, 300, 'p') ]}});
my @plain = ([ 'near', 'EUCLIDEAN' ], [ 'angle', 'COSINE' ], [ 'dot', 'DOT_PRODUCT' ]);
for (@plain)
{
	my ($code, $notices) = $citus->call(0, qq{CALL dyn_create_vector_index('app', '$_->[0]', 'v', 4, '$_->[1]', filters => ARRAY['kind S', 'year N'])});
	is($code, 0, "index $_->[0] is created") or diag($notices);
	like($notices, qr/Items filled in: 300\./, 'with all entries');
}
my ($code, $notices) = $citus->call(0, q{CALL dyn_create_vector_index('app', 'own', 'v', 4, 'EUCLIDEAN', 'hnsw', hash_key => 'pk S', filters => ARRAY['x N'])});
is($code, 0, 'an index of type hnsw, with the partition key as its hash key') or diag($notices);
$citus->fails(1, q{CALL dyn_create_vector_index('app', 'more', 'v', 4)}, qr/node|worker|coordinator/i, 'a worker creates none');
$citus->fails(0, q{CALL dyn_create_vector_index('app', 'more', 'v', 5)}, qr/vectors "v" have 4 dimensions/, 'nor does a definition that does not fit');
is($citus->sql(0, q{SELECT string_agg(table_name::text || ' ' || distribution_column, ', ' ORDER BY table_name::text COLLATE "C")
	|| ' ' || count(DISTINCT colocation_id) FROM citus_tables WHERE table_name::text LIKE 'app%'}),
	'app pk, app_angle partition_key, app_dot partition_key, app_near partition_key, app_own partition_key 1',
	'all are distributed together');
is_right('app', 'the entries are those of the items');
searches('app', $_, 'built', @plain) for 0 .. 2;

# Every kind of write, at every node
for my $n (0 .. 2)
{
	my $item = sub { my ($sk, $more) = @_; qq({"pk":{"S":"w$n"},"sk":{"N":"$sk"}$more}) };
	my $v = sub { sprintf(q{,"v":{"L":[{"N":"%s"},{"N":"%s"},{"N":"3"},{"N":"-4"}]},"kind":{"S":"k1"},"year":{"N":"20%02d"}}, @_) };
	for my $statement (
		(map { "SELECT dyn_put('app', '" . $item->($_, $v->($_, $n, $_)) . "')" } 1 .. 12),
		q{SELECT dyn_put('app', '} . $item->(1, $v->(9, 9, 99)) . q{')},
		q{SELECT dyn_put('app', '} . $item->(2, '') . q{')},
		q{SELECT dyn_put('app', '} . $item->(20, $v->(1, 1, 1)) . q{', condition => 'attribute_not_exists(pk)')},
		q{SELECT dyn_update('app', '} . $item->(3, '') . q{', 'SET v[1] = :v', vals => '{":v":{"N":"77"}}')},
		q{SELECT dyn_update('app', '} . $item->(4, '') . q{', 'SET kind = :v', vals => '{":v":{"S":"other"}}')},
		q{SELECT dyn_update('app', '} . $item->(5, '') . q{', 'SET x = :v', vals => '{":v":{"S":"other"}}')},
		q{SELECT dyn_update('app', '} . $item->(6, '') . q{', 'REMOVE v')},
		q{SELECT dyn_update('app', '} . $item->(30, '') . q{', 'SET v = :v', vals => '{":v":{"L":[{"N":"1"},{"N":"2"},{"N":"3"},{"N":"4"}]}}')},
		q{SELECT dyn_delete('app', '} . $item->(7, '') . q{')},
		q{SELECT dyn_delete('app', '} . $item->(8, '') . q{', condition => 'kind = :k', vals => '{":k":{"S":"k1"}}')},
		q{SELECT dyn_batch_write('app', ARRAY['} . $item->(9, $v->(4, 4, 4)) . q{', '} . $item->(40, $v->(5, 5, 5)) . q{']::dyn_item[],
			ARRAY['} . $item->(10, '') . q{']::dyn_item[])},
		qq{SELECT dyn_transact('[{"Put": {"TableName": "app", "Item": {"pk":{"S":"t$n"},"sk":{"N":"1"}@{[ $v->(6, 6, 6) ]}}}},
			{"Update": {"TableName": "app", "Key": {"pk":{"S":"w$n"},"sk":{"N":"11"}}, "UpdateExpression": "SET v[0] = :v",
				"ExpressionAttributeValues": {":v":{"N":"-8"}}}},
			{"Delete": {"TableName": "app", "Key": {"pk":{"S":"w$n"},"sk":{"N":"12"}}}}]')},
		qq{SELECT dyn_execute('INSERT INTO "app" VALUE {''pk'': ''q$n'', ''sk'': 1, ''v'': [1, 1, 1, $n]}')},
		qq{SELECT dyn_execute('UPDATE "app" SET "kind" = ''k1'' WHERE "pk" = ''q$n'' AND "sk" = 1')},
		qq{SELECT dyn_execute('INSERT INTO "app" VALUE {''pk'': ''q$n'', ''sk'': 2, ''v'': [1, 1, 1, $n]}')},
		qq{SELECT dyn_execute('DELETE FROM "app" WHERE "pk" = ''q$n'' AND "sk" = 2')},
		qq{SELECT dyn_request('PutItem', '{"TableName":"app","Item":{"pk":{"S":"r$n"},"sk":{"N":"1"}@{[ $v->(2, 2, 2) ]}}}'::jsonb)},
		qq{BEGIN; SELECT dyn_put('app', '{"pk":{"S":"b$n"},"sk":{"N":"1"}@{[ $v->(1, 1, 1) ]}}'); SAVEPOINT s;
			SELECT dyn_put('app', '{"pk":{"S":"b$n"},"sk":{"N":"2"}@{[ $v->(1, 2, 1) ]}}');
			SELECT dyn_put('app', '{"pk":{"S":"b$n"},"sk":{"N":"1"}@{[ $v->(2, 2, 2) ]}}'); ROLLBACK TO s;
			SELECT dyn_delete('app', '{"pk":{"S":"r$n"},"sk":{"N":"1"}}'); COMMIT})
	{
		my ($code, $err) = $citus->call($n, $statement);
		is($code, 0, "node $n writes") or diag("$statement: $err");
	}
	$citus->fails($n, q{SELECT dyn_put('app', '} . $item->(9, ',"v":{"L":[{"N":"1"}]}') . q{')}, qr/must have 4 elements/, 'a wrong vector is refused');
	is($citus->sql($n, qq{BEGIN; SELECT dyn_put('app', '{"pk":{"S":"mine"},"sk":{"N":"1"},"v":{"L":[{"N":"500"},{"N":"500"},{"N":"500"},{"N":"500"}]}}');
		@{[ found('app', 'near', '500,500,500,500', 1, '') ]}; ROLLBACK}), "\nmine/1=0", 'a transaction finds what it has written');
}
is_right('app', 'the entries are those of the items after all writes');
searches('app', $_, 'written', @plain) for 0 .. 2;
is($citus->sql($_, found('app', 'near', '500,500,500,500', 1, '')) =~ /mine/ ? 1 : 0, 0, 'what was rolled back is not found') for 0 .. 2;

# One shard is asked where the condition names the partition key; other conditions are what they are on one node.
for my $n (0 .. 2)
{
	my $more = q{, 'pk = :p AND x > :x', vals => '{":p":{"S":"p3"},":x":{"N":"20"}}'};
	my $search = 'SET citus.multi_task_query_log_level = notice; ' . found('app', 'own', '1,2,3,4', 10, $more);
	my (undef, $said, $is) = $citus->call($n, $search);
	is($is, $citus->sql(0, nearest('app', 'EUCLIDEAN', '1,2,3,4', 10, q{i ->> 'pk' = 'p3' AND (i ->> 'x')::int > 20})), "by the hash key at node $n");
	unlike($said, qr/multi-task query/, '… of one shard');
	like(($citus->call($n, 'SET citus.multi_task_query_log_level = notice; ' . found('app', 'near', '1,2,3,4', 10, '')))[1],
		qr/multi-task query/, 'and without of all');
	$citus->fails($n, found('app', 'own', '1,2,3,4', 10, ''), qr/the condition must require to equal a value/, 'which is required');
	$citus->fails($n, found('app', 'near', '1,2,3', 10, ''), qr/has 3 dimensions/, 'so is the right number of dimensions');
	is($citus->sql($n, q{SELECT jsonb_array_length(r -> 'SearchResults') || ' ' || (r #>> '{SearchResults,0,Item,x,N}')
		FROM (SELECT dyn_request('SearchVectors', '{"TableName":"app","IndexName":"own","TopK":3,"SearchVector":[{"N":"1"},{"N":"0"},{"N":"1"},{"N":"-1"}],
			"SearchConditionExpression":"#p = :p","ExpressionAttributeNames":{"#p":"pk"},
			"ExpressionAttributeValues":{":p":{"S":"p1"}}}'::jsonb)::jsonb AS r) s}) =~ /^3 \d+$/ ? 1 : 0,
		1, 'requests do the same');
}

# Plain SQL does not write; entries are the owner's.
my $refused = qr/can be written by calls and requests only/;
for my $n (0 .. 2)
{
	$citus->fails($n, $_, $refused, "plain SQL does not write at node $n: $_") for (
		q{INSERT INTO app (item, pk, sk) VALUES ('{"pk":{"S":"p0"},"sk":{"N":"99"}}', 'p0', 99)}, q{UPDATE app SET item = item WHERE pk = 'p0'},
		q{DELETE FROM app}, q{TRUNCATE app},
		q{UPDATE app SET item = item WHERE pk = 'p0' RETURNING dynamo_internal.entries_kept('{"pk":{"S":"p0"},"sk":{"N":"1"}}')},
		q{UPDATE app SET item = item WHERE pk = 'p0' RETURNING CASE WHEN sk < 0 THEN dynamo_internal.entries_kept(item) END});
	$citus->fails($n, qq{COPY app (item, pk, sk) FROM STDIN;\n{"pk":{"S":"p0"},"sk":{"N":"99"}}\tp0\t99\n\\.\n}, $refused, 'nor does COPY');
}
my ($shard, $place) = split /\|/, $citus->sql(0, q{SELECT s.shardid, n.nodename || ':' || n.nodeport FROM pg_dist_shard s
	JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node n USING (groupid) WHERE s.shardid = get_shard_id_for_distribution_column('app', 'p0'::text)});
my $home = $place eq join(':', $citus->address(1)) ? 1 : 2;
$citus->fails($home, qq{SET citus.enable_manual_changes_to_shards = on; DELETE FROM app_$shard}, $refused, 'nor at a shard');
$citus->sql(0, q{CREATE ROLE reader LOGIN; CREATE ROLE writer LOGIN; CREATE ROLE nobody LOGIN; GRANT SELECT ON app TO reader;
	GRANT SELECT, INSERT, UPDATE, DELETE ON app TO writer});
for my $n (0 .. 2)
{
	is($citus->sql($n, 'SET ROLE reader; ' . found('app', 'near', '1,2,3,4', 5, '')),
		$citus->sql(0, nearest('app', 'EUCLIDEAN', '1,2,3,4', 5, 'true')), "a reader searches at node $n");
	is($citus->sql($n, qq{SET ROLE writer; SELECT dyn_put('app', '{"pk":{"S":"v$n"},"sk":{"N":"1"},@{[ vector(1, 2, 3, $n) ]}}')}), '', 'a writer writes');
	is($citus->sql($n, qq{SET ROLE writer; BEGIN; @{[ found('app', 'near', '400,400,400,400', 1, '') =~ s/string_agg.*ORDER BY n./count(*)/r ]};
		SELECT dyn_put('app', '{"pk":{"S":"h$n"},"sk":{"N":"1"},"v":{"L":[{"N":"400"},{"N":"400"},{"N":"400"},{"N":"400"}]}}');
		@{[ found('app', 'near', '400,400,400,400', 1, '') ]}; ROLLBACK}), "1\n\nh$n/1=0", 'whose transaction finds what it has written');
	$citus->fails($n, 'SET ROLE nobody; ' . found('app', 'near', '1,2,3,4', 5, ''), qr/permission denied for table app/, 'and nobody else');
	$citus->fails($n, 'SET ROLE writer; SELECT * FROM app_near', qr/permission denied for table app_near/, 'entries are the owner\'s');
	$citus->fails($n, qq{SELECT * FROM app TABLESAMPLE dynamo_internal.nearest(
		'{"name":"xxx","attribute":"v","dimensions":4,"distance":"COSINE","method":"exact","projection":"ALL"}', '{1,2,3,4}', '', '{}', '{}', 3, true)}, qr/does not have the entries/, 'and nothing else is sampled');
}
is_right('app', 'the entries of a writer are there');

# Policies: what is hidden does not take the place of what is to be seen.
$citus->sql(0, q{ALTER TABLE app ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON app USING (pk IN ('p7', 'v1', 'v2'))});
for my $n (0 .. 2)
{
	is($citus->sql($n, 'SET ROLE reader; ' . found('app', 'near', '1,2,3,4', 10, '')),
		$citus->sql(0, nearest('app', 'EUCLIDEAN', '1,2,3,4', 10, q{i ->> 'pk' IN ('p7', 'v1', 'v2')})), "policies are applied before the cut at node $n");
	$citus->fails($n, qq{SET ROLE writer; SELECT dyn_put('app', '{"pk":{"S":"p1"},"sk":{"N":"1"},@{[ vector(1, 2, 3, 1) ]}}')}, qr/row-level security/,
		'and to writes');
	is($citus->sql($n, qq{SET ROLE writer; SELECT dyn_update('app', '{"pk":{"S":"v1"},"sk":{"N":"1"}}', 'SET v[0] = :v', vals => '{":v":{"N":"3$n"}}')}), '',
		'who may write, does');
}
$citus->sql(0, q{DROP POLICY p ON app; ALTER TABLE app DISABLE ROW LEVEL SECURITY});
is_right('app', 'and all is right');

# Faults are found.
sub finds
{
	my ($sql, $error, $what) = @_;
	$citus->sql(0, "CREATE TABLE saved AS SELECT * FROM app_near; $sql");
	like($citus->sql(0, q{SELECT problem FROM dyn_check_table('app')}), $error, $what);
	$citus->sql(0, 'DELETE FROM app_near; INSERT INTO app_near SELECT * FROM saved; DROP TABLE saved');
}
finds(q{DELETE FROM app_near WHERE partition_key = 'w1' AND sort_key IN (3, 4)}, qr/2 are missing, 0 wrong, 0 of no item/,
	'entries that are missing are found');
finds(q{UPDATE app_near SET vector = '[0,0,0,0]' WHERE partition_key = 'w1' AND sort_key = 3}, qr/0 are missing, 1 wrong, 0 of no item/, 'and wrong ones');
finds(q{INSERT INTO app_near SELECT vector, filters, partition_key, 1000 FROM app_near WHERE partition_key = 'w1' AND sort_key = 3},
	qr/0 are missing, 0 wrong, 1 of no item/, 'and those of no item');
is_right('app', 'all is right again');
$citus->sql(0, 'ALTER TABLE app_near RENAME TO gone');
like($citus->sql(0, q{SELECT problem FROM dyn_check_table('app')}), qr/was dropped meanwhile|does not have the entries/, 'a table that is gone is found');
# so it is on a node where a part of the transaction that makes or drops an index is committed later than another
$citus->fails($_, qq{\\set VERBOSITY verbose\nSELECT dyn_put('app', '{"pk":{"S":"p0"},"sk":{"N":"50"},@{[ vector(1, 2, 3, 1) ]}}')},
	qr/40001: .*due to the creation or removal of an index/, "nothing is written without it, but may be later") for 0 .. 2;
$citus->sql(0, 'ALTER TABLE gone RENAME TO app_near');
is_right('app', 'nothing was');
$citus->sql($_, 'VACUUM ANALYZE') for 0 .. 2;
is($citus->sql(0, q{SELECT (i ->> 'ItemCount')::int = (SELECT count(*) FROM app_near) AND (i ->> 'IndexSizeBytes')::bigint > 0
	FROM jsonb_array_elements(dyn_describe_table('app') -> 'VectorIndexes') i WHERE i ->> 'IndexName' = 'near'}), 't', 'sizes are those of the entries');
is($citus->sql(0, q{SELECT count(*) FROM dyn_table_statistics('app') WHERE kind = 'vector index' AND disk_bytes > 0}), 4, 'also of the statistics');

# Time to live
my $expired = q{SELECT count(dyn_put('app', jsonb_build_object('pk', 'e' || i, 'sk', 1, 'v', '[1, 2, 3, 4]'::jsonb,
	'expires', floor(extract(epoch FROM now())) - 10)::dyn_item)) FROM generate_series(1, 40) i};
$citus->sql(0, q{CALL dyn_enable_ttl('app', 'expires')});
$citus->sql(0, $expired);
wait_for($coordinator, q{SELECT count(*) = 0 FROM app WHERE pk LIKE 'e%'});
is_right('app', 'expired items take their entries along');
$citus->sql(0, $expired);
is(($citus->call(1, q{CALL dyn_sweep_ttl('app')}))[0], 0, 'a sweep on demand');
wait_for($coordinator, q{SELECT count(*) = 0 FROM app WHERE pk LIKE 'e%'});
is_right('app', 'so do those of a sweep on demand');
$citus->sql(0, q{CALL dyn_disable_ttl('app')});

# An owner who is no superuser, CreateTable and UpdateTable, a build beside writers
$citus->sql(0, q{CREATE ROLE keeper LOGIN; GRANT CREATE ON SCHEMA public TO keeper});
my $create = q{SET dynamo_table.distribute_new_tables = on; SET ROLE keeper; SELECT dyn_request('CreateTable', '{"TableName":"kept",
	"BillingMode":"PAY_PER_REQUEST",
	"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],
	"AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"N"},{"AttributeName":"kind","AttributeType":"S"},{"AttributeName":"year","AttributeType":"N"}],
	"VectorIndexes":[{"IndexName":"near","VectorAttribute":{"AttributeName":"v"},"Dimensions":4,"DistanceFunction":"EUCLIDEAN",
	"Projection":{"ProjectionType":"ALL"},"SearchSchema":[{"AttributeName":"kind","SearchSchemaElementType":"INLINE_FILTER"},
	{"AttributeName":"year","SearchSchemaElementType":"INLINE_FILTER"}]}]}'::jsonb);};
like($citus->sql(0, $create), qr/"IndexStatus": ?"ACTIVE"/, 'CreateTable makes one');
$citus->sql(0, q{GRANT SELECT, INSERT, UPDATE, DELETE ON kept TO writer});
is($citus->sql(0, q{SELECT string_agg(DISTINCT relowner::regrole::text, ' ') FROM pg_class WHERE relname ~ '^kept'}), 'keeper', 'of its owner');
$citus->sql(0, qq{SELECT count(dyn_batch_write('kept', items)) FROM
	(SELECT array_agg(item) AS items FROM (SELECT item, ntile(40) OVER () AS n FROM @{[ items(1, 800, 'f') ]}) x GROUP BY n) y});
for my $n (0 .. 2)
{
	is(($citus->call($n, qq{CREATE TEMP TABLE t (); SET ROLE writer;
		SELECT dyn_put('kept', '{"pk":{"S":"u$n"},"sk":{"N":"1"},@{[ vector(1, 2, 3, 1) ]}}')}))[0], 0,
		"a session with temporary tables writes at node $n");
}
is_right('kept', 'the entries of an owner are right');
my $v = sprintf($vector, ':i');
# Each writer has items of its own: an update of an element fails where another has deleted the item.
my $load = qq{
\\set i random(0, 10000)
\\set n 1 + WRITER + 3 * random(0, 265)
\\set m 1 + WRITER + 3 * random(0, 265)
SELECT dyn_put('kept', jsonb_build_object('pk', 'f' || :n % 20, 'sk', :n, 'kind', 'k' || :i % 3, 'year', 2000 + :i % 40, 'v', $v)::dyn_item);
SELECT dyn_update('kept', jsonb_build_object('pk', 'f' || :n % 20, 'sk', :n)::dyn_item, 'SET v[0] = :v', vals => jsonb_build_object(':v', :i % 50)::dyn_item);
SELECT dyn_delete('kept', jsonb_build_object('pk', 'f' || :m % 20, 'sk', :m)::dyn_item);
};
my @writers;
sub begin_load { @writers = map { start_load($citus->node($_), 1, 3600, $load =~ s/WRITER/$_/gr) } @_; await_load($citus->node($_), 1) for @_ }
my @errors;
sub end_load { stop_load($_) for @writers; @errors = map { $_->{err} } grep { !defined finish_load($_) } @writers; @writers = (); return scalar @errors }
begin_load(0 .. 2);
($code, $notices) = $citus->call(0, q{SET ROLE keeper;
	CALL dyn_create_vector_index('kept', 'dot', 'v', 4, 'DOT_PRODUCT', filters => ARRAY['kind S', 'year N'])});
is($code, 0, 'an index is created beside writers') or diag($notices);
is(end_load(), 0, 'of which none fails') or diag(@errors);
is_right('kept', 'it has what was there and what was written');
my @kept = ([ 'near', 'EUCLIDEAN' ], [ 'dot', 'DOT_PRODUCT' ]);
searches('kept', $_, 'beside writers', @kept) for 0, 2;
$citus->sql(0, q{SET ROLE keeper; SET dynamo_table.vector_index_method = 'hnsw'; SELECT dyn_request('UpdateTable', '{"TableName":"kept",
	"VectorIndexUpdates":[{"Create":{"IndexName":"more","VectorAttribute":{"AttributeName":"v"},"Dimensions":4,"DistanceFunction":"COSINE",
	"Projection":{"ProjectionType":"KEYS_ONLY"}}}]}'::jsonb)});
$citus->crash(0);
my $status = q{SELECT i ->> 'IndexStatus' FROM jsonb_array_elements(dyn_describe_table('kept') -> 'VectorIndexes') i WHERE i ->> 'IndexName' = 'more'};
$citus->call(0, q{CALL dynamo_internal.resume_index('kept', 'more')});
wait_for($coordinator, "SELECT ($status) = 'ACTIVE'");
pass('UpdateTable creates one, and the coordinator died meanwhile');
is_right('kept', 'which has all items');
is($citus->sql(2, q{SELECT count(*) FROM dyn_search('kept', 'more', '{1,2,3,4}', 100)}), 100, 'and is never short');

# Moves and splits under load, killed nodes
sub end_of_kills
{
	my ($what) = @_;
	end_load();
	$citus->sql($_, 'SELECT recover_prepared_transactions()') for 0 .. 2;
	wait_for($citus->node($_), 'SELECT count(*) = 0 FROM pg_prepared_xacts') for 0 .. 2;
	is_right('kept', $what);
}
begin_load(0 .. 2);
$citus->move_all('kept', 1, 'force_logical');
$citus->move_all('kept', 2);
my ($split, $from, $to) = split /\|/, $citus->sql(0, q{SELECT shardid, shardminvalue, shardmaxvalue FROM pg_dist_shard
	WHERE logicalrelid = 'kept'::regclass LIMIT 1});
$citus->sql(0, sprintf(q{SELECT citus_split_shard_by_split_points(%s, ARRAY['%d'], ARRAY[nodeid, nodeid], 'block_writes')
	FROM pg_dist_node WHERE nodeport = %d AND nodename = '%s'}, $split, ($from + $to) / 2, ($citus->address(2))[1, 0]));
end_of_kills('index is table after moves and a split under load');
searches('kept', $_, 'moved', @kept) for 0 .. 2;
for my $victim (2, 1, 0)
{
	begin_load(grep { $_ != $victim } 0 .. 2);
	$citus->crash($victim);
	end_of_kills("index is table after the death of node $victim");
}
searches('kept', 1, 'after deaths', @kept);

# Names that have to be quoted, in every place; binary and numeric keys
$citus->sql(0, q{CREATE SCHEMA "Sch e'ma"; SELECT dyn_create_table($$Sch e'ma.t"a'b$$, $$p"k'; B$$, distributed => true)});
($code, $notices) = $citus->call(0, q{CALL dyn_create_vector_index($$Sch e'ma.t"a'b$$, $$i"n'd; %s$$, $$v"'$$, 2, hash_key => $$h"'% N$$)});
is($code, 0, 'names are quoted') or diag($notices);
for my $n (0 .. 2)
{
	$citus->sql($n, qq{SELECT dyn_put(\$\$Sch e'ma.t"a'b\$\$, \$\${"p\\"k';":{"B":"AAA$n"},"v\\"'":{"L":[{"N":"1"},{"N":"$n"}]},"h\\"'%":{"N":"$_"}}\$\$)}) for 1;
	is($citus->sql($n, q{SELECT count(*) FROM dyn_search($$Sch e'ma.t"a'b$$, $$i"n'd; %s$$, '{1,1}', 9, '#h = :h',
		names => '{"#h": "h\\"''%"}', vals => '{":h":{"N":"1"}}')}),
		$n + 1, "at node $n");
}
is($citus->sql(0, q{SELECT object, problem FROM dyn_check_table($$Sch e'ma.t"a'b$$)}), '', 'and by the check');

# The end
$citus->fails(0, q{SELECT dyn_undistribute_table('app')}, qr/cannot be made a table of one node/, 'such a table stays distributed');
is(($citus->call(0, qq{CALL dyn_drop_index('app', '$_')}))[0], 0, "index $_ is dropped") for 'angle', 'dot';
is($citus->sql(0, q{SELECT string_agg(result, ',') FROM run_command_on_all_nodes($$SELECT count(*) FROM pg_class WHERE relname ~ '^app_(angle|dot)'$$)}),
	'0,0,0', 'with their entries on all nodes');
is_right('app', 'and nothing else');
searches('app', 1, 'what is left', [ 'near', 'EUCLIDEAN' ]);
is(($citus->call(0, q{CALL dyn_drop_index('app', 'own')}))[0], 0, 'another index is dropped');
like(($citus->call(0, q{SELECT undistribute_table('app'); SELECT dyn_distribute_table('app')}))[1], qr/vector index "near" has to be created again/,
	'what Citus has made a table of one node is distributed without it');
is($citus->sql(0, q{SELECT dyn_describe_table('app') ? 'VectorIndexes'}), 'f', '… and has none');
is(($citus->call(1, q{DELETE FROM app WHERE pk = 'p0'}))[0], 0, 'without one plain SQL writes');
$citus->sql(0, q{SET ROLE keeper; SELECT dyn_drop_table('kept')});
# what moves and the split have left is Citus' to drop, which it does later
wait_for($coordinator, q{SELECT string_agg(result, ',') = '0,0,0'
	FROM run_command_on_all_nodes($$SELECT count(*) FROM pg_class WHERE relname ~ '^kept(_|$)'$$)});
pass('a table is dropped with its entries');

done_testing();
