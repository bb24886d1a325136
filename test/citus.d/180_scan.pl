# A scan goes shard by shard: all its pages and segments together read each row once, and return each item once, also
# when shards are split, moved or isolated between two pages.
use strict;
use warnings;

use Test::More;
use CitusNodes;

my $citus = CitusNodes->new;

# A function that reads a segment page by page is one transaction; the sessions at the shards end with it, so their statistics are there.
my $pages = q{
	SET citus.enable_ddl_propagation = off;
	CREATE FUNCTION pages(t text, index text DEFAULT NULL, segment bigint DEFAULT NULL, total bigint DEFAULT NULL, size bigint DEFAULT NULL,
		filter text DEFAULT NULL, projection text DEFAULT NULL) RETURNS SETOF dyn_item LANGUAGE plpgsql SET citus.max_cached_conns_per_worker = 0 AS $$
	DECLARE
		start dyn_item;
		page record;
	BEGIN
		LOOP
			SELECT * INTO page FROM dyn_scan_page(t, index_name => index, segment => segment, total_segments => total, page_size => size, start_key => start,
				filter => filter, projection => projection);
			RETURN QUERY SELECT * FROM unnest(page.items);
			start := page.last_evaluated_key;
			EXIT WHEN start IS NULL;
		END LOOP;
	END $$;
};
$citus->sql($_, $pages) for 0 .. 2;

my $item = q{format('{"pk":{"%s":%s},"sk":{"N":"%s"},"e":{"N":"5"},"g":{"S":"g%s"},"d":{"S":"%s"}}'};
$citus->sql(0, qq{
	SELECT dyn_create_table('s', 'pk S', 'sk N', global_indexes => '{"G":{"partition_key":"g S","projection":"KEYS_ONLY"},
		"C":{"partition_key":"g S","sort_key":"sk N","projection":"INCLUDE","non_key_attributes":["e"],"covering":true}}',
			local_indexes => '{"L":{"sort_key":"d S"}}');
	SELECT dyn_distribute_table('s', shard_count => 16);
	SELECT dyn_batch_write('s', array_agg($item, 'S', '"k' || p || '"', i, i % 7, repeat('x', 400))::dyn_item))
		FROM generate_series(1, 600) p, generate_series(1, 10) i GROUP BY p;
	SELECT dyn_create_table('n', 'pk N', 'sk N');
	SELECT dyn_distribute_table('n', shard_count => 4);
	SELECT dyn_batch_write('n', array_agg($item, 'N', '"' || p || '"', i, i, 'x')::dyn_item)) FROM generate_series(1, 200) p, generate_series(1, 3) i
		GROUP BY p;
	SELECT dyn_create_table('b', 'pk B', 'sk N');
	SELECT dyn_distribute_table('b', shard_count => 4);
	SELECT dyn_batch_write('b', array_agg($item, 'B', '"' || encode(int4send(p), 'base64') || '"', i, i, 'x')::dyn_item))
		FROM generate_series(1, 200) p, generate_series(1, 3) i GROUP BY p});
my %items = (s => 6000, n => 600, b => 600);

# How many rows of the shards have been read.
sub rows_read
{
	my ($table) = @_;
	return $citus->sql(0, qq{SELECT sum(result::bigint) FROM run_command_on_placements('$table',
		\$\$SELECT coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) FROM pg_stat_all_tables WHERE relid = '%s'::regclass\$\$)});
}

# All segments, each page by page, at a node: the items that they return, the different ones, and the rows that are read.
sub scan
{
	my ($n, $table, $segments, %how) = @_;
	my $before = rows_read($table);
	my $index = $how{index} ? "'$how{index}'" : 'NULL';
	my $size = $how{size} // 'NULL';
	my @found = split /\|/, $citus->sql($n, qq{SELECT count(*), count(DISTINCT (i ->> 'pk', i ->> 'sk')) FROM generate_series(0, $segments - 1) s,
		pages('$table', $index, s, $segments, $size) i});
	return (@found, rows_read($table) - $before);
}

for my $segments (1, 7, 8, 100, 1000)
{
	for my $table (sort keys %items)
	{
		my ($found, $different, $read) = scan($segments % 3, $table, $segments);
		is("$found $different", "$items{$table} $items{$table}", "$table: $segments segments have all items once");
		cmp_ok($read, '<=', 1.2 * $items{$table}, "$table: they read $read rows");
	}
}
for my $size (7, 100)
{
	my ($found, $different, $read) = scan(0, 's', 8, size => $size);
	is("$found $different", '6000 6000', "pages of $size have all items once");
	cmp_ok($read, '<=', 7200, "they read $read rows");
}

# statements to shards
sub statements
{
	my ($sql) = @_;
	my ($out, $err);
	$citus->node(0)->psql('postgres', "SET citus.log_remote_commands = on; $sql", stdout => \$out, stderr => \$err);
	return scalar(() = $err =~ /issuing SELECT/g);
}
is(statements(q{SELECT * FROM dyn_scan_page('s', page_size => 20)}), 1, 'a page that is full asks one shard');
is(statements(q{SELECT count(*) FROM dyn_scan('s')}), 16, 'a scan of small shards asks each once');

# what a scan may be asked for
my $whole = $citus->sql(0, q{SELECT md5(string_agg(item::text, ',' ORDER BY pk, sk)) FROM s});
for my $n (0 .. 2)
{
	is($citus->sql($n, q{SELECT md5(string_agg(i::text, ',' ORDER BY i ->> 'pk' COLLATE "C", (i ->> 'sk')::int)) FROM dyn_scan('s') i}), $whole,
		"node $n reads all items");
	my %attributes = (G => '0|0', C => '6000|0', L => '6000|6000');
	for my $index (sort keys %attributes)
	{
		is($citus->sql($n, qq{SELECT count(*), count(DISTINCT (i ->> 'pk', i ->> 'sk')), count(i -> 'e'), count(i -> 'd')
			FROM pages('s', '$index', size => 333) i}),
			"6000|6000|$attributes{$index}", "node $n: pages of index $index");
		is($citus->sql($n, qq{SELECT count(*), count(DISTINCT (i ->> 'pk', i ->> 'sk')) FROM generate_series(0, 4) p,
			pages('s', '$index', p, 5, 400) i}), '6000|6000', 'and segments');
	}
	is($citus->sql($n, q{SELECT count(*) FROM dyn_scan('s', filter => 'sk = :n', vals => '{":n":{"N":"3"}}', max_items => 250)}), 250, 'as many as are wanted');
	is($citus->sql($n, q{SELECT count(*) FROM dyn_scan('s', filter => 'sk = :n', vals => '{":n":{"N":"3"}}')}), 600, 'a filter');
	is($citus->sql($n, q{SELECT count(*), count(*) FILTER (WHERE i ? 'd') FROM pages('s', projection => 'pk, sk') i}), '6000|0', 'a projection');
	is($citus->sql($n, q{SELECT item_count, scanned_count FROM dyn_scan_page('s', select_mode => 'COUNT', page_size => 1234)}), '1234|1234', 'a count');
	is($citus->sql($n, q{SELECT count(*), count(DISTINCT i::text) FROM dyn_execute('SELECT * FROM n') i}), '600|600', 'a statement of PartiQL');
}
is($citus->sql(0, q{WITH RECURSIVE p AS (SELECT items, next_token FROM dyn_execute_page('SELECT pk, sk FROM n', page_size => 70)
	UNION ALL SELECT q.items, q.next_token FROM p, dyn_execute_page('SELECT pk, sk FROM n', page_size => 70, next_token => p.next_token) q
		WHERE p.next_token IS NOT NULL)
	SELECT count(*), count(DISTINCT i::text) FROM p, unnest(items) i}), '600|600', 'which goes on by its tokens');

# a position is a key, which need not be there, and lies in one segment
my @refused = grep { refused($_) } 0 .. 15;
sub refused
{
	my ($segment) = @_;
	my $err;
	$citus->node(1)->psql('postgres', qq{SELECT dyn_request('Scan', '{"TableName":"s","Limit":1,"Segment":$segment,"TotalSegments":16,
		"ExclusiveStartKey":{"pk":{"S":"nobody"},"sk":{"N":"1"}}}')}, stderr => \$err);
	return $err =~ /Exclusive start key must lie within the segment/;
}
is(scalar(@refused), 15, 'a start key of another segment is refused');
is($citus->sql(1, q{SELECT count(*) FROM dyn_scan('s', start_key => (SELECT last_evaluated_key FROM dyn_scan_page('s', page_size => 1000)))}), 5000,
	'a scan goes on behind a key');

# a transaction sees what it has written
is($citus->sql(2, q{BEGIN; SELECT dyn_put('n', jsonb_build_object('pk', 1000 + i, 'sk', 1)::dyn_item) FROM generate_series(1, 20) i; DELETE FROM n WHERE sk = 2;
	UPDATE n SET item = item WHERE pk = 1; SELECT count(*) FROM dyn_scan('n'); ROLLBACK}) =~ s/.*\n//sr, 420, 'a transaction reads what it has written');
is($citus->sql(2, q{BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM dyn_scan('n'); ROLLBACK}), 600, 'and at REPEATABLE READ');

# roles
$citus->sql(0, q{CREATE ROLE reader LOGIN; CREATE ROLE nobody LOGIN; GRANT SELECT ON n TO reader; GRANT SELECT ON b TO reader;
	ALTER TABLE b ENABLE ROW LEVEL SECURITY;
	CREATE POLICY seen ON b TO reader USING (sk = 2)});
is($citus->sql($_, q{SET ROLE reader; SELECT count(*) FROM dyn_scan('n')}), 600, "node $_: a role that may read") for 0 .. 2;
is($citus->sql($_, q{SET ROLE reader; SELECT count(*) FROM generate_series(0, 2) s, pages('b', segment => s, total => 3, size => 50)}), 200,
	'and what policies show') for 0 .. 2;
my ($out, $err);
$citus->node(1)->psql('postgres', q{SET ROLE nobody; SELECT count(*) FROM dyn_scan('n')}, stderr => \$err);
like($err, qr/permission denied for table n\b/, 'a role that may not');
my ($shard) = sort keys %{ { $citus->placements('n') } };
my $home = { $citus->placements('n') }->{$shard};
for (["SET ROLE nobody; SELECT dynamo_internal.scan_shard('n', $shard, -2147483648, 2147483647, '', NULL, 0, 10, 1000)", qr/permission denied/],
	["SELECT dynamo_internal.scan_shard('pg_class', $shard, 0, 0, '', NULL, 0, 10, 1000)", qr/not a distributed table of items/],
	["SELECT dynamo_internal.scan_shard('n', $shard, 0, 0, '', NULL, 99, 10, 1000)", qr/invalid argument want/],
	["SELECT dynamo_internal.scan_shard('n', $shard, 0, 0, '', NULL, 5, 10, 1000)", qr/invalid argument want/],
	["SELECT dynamo_internal.scan_shard('n', NULL, 0, 0, '', NULL, 0, 10, 1000)", qr/must not be null/])
{
	$citus->node($home)->psql('postgres', $_->[0], stderr => \$err);
	like($err, $_->[1], 'what others call on a shard has their rights: ' . $_->[0]);
}
is($citus->sql(3 - $home, "SELECT dynamo_internal.scan_shard('n', $shard, 0, 0, '', NULL, 0, 10, 1000) IS NULL"), 't', 'a shard of another node is no error');

# splits, moves and tenants of their own between two pages
sub split_shard
{
	my ($table, $shard) = @_;
	$citus->sql(0, qq{SELECT citus_split_shard_by_split_points(shardid, ARRAY[((shardminvalue::bigint + shardmaxvalue::bigint) / 2)::text],
		(SELECT array_agg(nodeid::int) FROM pg_dist_node WHERE shouldhaveshards), 'block_writes') FROM pg_dist_shard WHERE shardid = $shard});
}
sub page
{
	my ($n, $table, $start) = @_;
	my @page = split /\|/, $citus->sql($n, "SELECT array_to_string(ARRAY(SELECT concat(i ->> 'pk', '/', i ->> 'sk') FROM unnest(items) i), ' '),
		last_evaluated_key
		FROM dyn_scan_page('$table', page_size => 37, start_key => " . ($start ? "'$start'" : 'NULL') . ')');
	return ([ split / /, $page[0] // '' ], $page[1]);
}
for my $table ('s', 'n', 'b')
{
	my (%seen, $start, $twice);
	my ($pages, $changes) = (0, 0);
	do
	{
		(my $items, $start) = page($pages % 3, $table, $start);
		$twice += $seen{$_}++ > 0 for @$items;
		my %placements = $citus->placements($table);
		my @shards = sort keys %placements;
		# a key in the middle, so that its shard is a small one, and what is left of it two
		if ($start && ++$pages % 2 == 1 && $changes++ < 9)
		{
			my $at = $changes % 3;
			if ($at == 0) { $citus->move($shards[$_], $placements{$shards[$_]}, 3 - $placements{$shards[$_]}) for 0, -1 }
			elsif ($at == 1)
			{
				my $of_page = $citus->sql(0, "SELECT get_shard_id_for_distribution_column('$table', (dyn_get('$table', '$start')) ->> 'pk')") if $table ne 'b';
				split_shard($table, $of_page // $shards[0]);
			}
			else
			{
				my $tenant = $citus->sql(0, "SELECT pk FROM $table ORDER BY dyn_size(item), pk LIMIT 1 OFFSET " . 7 * $changes);
				$citus->sql(0, "SELECT isolate_tenant_to_new_shard('$table', '$tenant', 'CASCADE', 'block_writes')");
			}
		}
	} while ($start);
	cmp_ok($changes, '>=', 5, "$table: shards have changed $changes times between $pages pages");
	is(scalar(keys %seen), $items{$table}, "$table: no item is lost");
	is($twice, 0, "$table: no item comes twice");
	my ($found, $different, $read) = scan(1, $table, 7, size => 200);
	is("$found $different", "$items{$table} $items{$table}", "$table: all are there once afterwards");
	cmp_ok($read, '<=', 1.2 * $items{$table}, "$table: $read rows were read");
}

# and while they are read
my %placements = $citus->placements('s');
my @readers = map { $citus->start($_, ('SET citus.max_cached_conns_per_worker = 1') x ($_ == 1),
	(q{SELECT count(*) FROM dyn_scan('s')}, q{SELECT count(DISTINCT (i ->> 'pk', i ->> 'sk')) FROM pages('s', size => 50) i}) x 15) } 0 .. 2;
my @shards = (sort keys %placements)[-4 .. -1];
$citus->move($_, $placements{$_}, 3 - $placements{$_}, 'force_logical') for @shards[0, 1];
$citus->move($_, $placements{$_}, 3 - $placements{$_}, 'block_writes') for $shards[2];
split_shard('s', $shards[3]);
for my $n (0 .. 2)
{
	my ($rows, $errors) = $citus->finish($readers[$n]);
	is(join(' ', @$errors), '', "node $n: no scan fails during moves and a split");
	is(join(' ', grep { $_ != 6000 } @$rows), '', 'and each has all items once');
	is(scalar(@$rows), 30, 'all scans were done');
}

done_testing();
