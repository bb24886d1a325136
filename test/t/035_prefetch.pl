# Reads of many items ask for pages before they read them.  After a restart nothing is in the buffers, and servers with
# assertions count the pages that were asked for, and the reads that waited, if all that was asked for arrives
# during a wait.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nmax_connections = 20\neffective_io_concurrency = 1\nshared_preload_libraries = dynamo_table");
$node->start;

my $counters = q{SELECT array_to_string(ARRAY(SELECT n[1] FROM regexp_matches(current_setting('dynamo_table.prefetch_counters', true), '\d+', 'g') n), ' ')};
my $index_pages = q{SELECT sum(idx_blks_read) FROM pg_statio_user_tables WHERE relname = 'app'};
my $flush = 'SELECT FROM pg_stat_force_next_flush()';
if ($node->safe_psql('postgres', $counters) eq '')
{
	plan(skip_all => 'the server has no assertions, so nothing is counted');
}

# The items of a group lie on a page each, and are read in another order than that of the pages.
$node->safe_psql('postgres', q{
	CREATE EXTENSION dynamo_table;
	SELECT dyn_create_table('app', 'pk S', 'sk S', global_indexes => '{"ByGroup": {"partition_key": "g S", "sort_key": "h S"}}');
	INSERT INTO app (item) SELECT jsonb_build_object('pk', lpad((i / 100)::text, 6, '0'), 'sk', lpad(i::text, 6, '0'), 'g', 'g' || i % 200, 'h', md5(i::text),
		'kind', i / 200 % 10, 'note', repeat('x', 200))::dyn_item FROM generate_series(0, 19999) i ORDER BY i;
	VACUUM (ANALYZE) app});
my $pages = $node->safe_psql('postgres', q{SELECT pg_relation_size('app') / 8192});
is($node->safe_psql('postgres', q{SELECT count(DISTINCT (ctid::text::point)[0]) FROM app WHERE (item::jsonb)->>'g' = 'g7'}), '100',
	'a page for each item of a group');

# Runs a query in a new session of a server that has restarted, and again, and by statements.  Tells the items, of the first
# run the pages asked for, the waits for pages of the table and the pages of indexes, and what was asked for by the second.
sub cold
{
	my ($query, $settings, $config) = @_;
	my (@counts, %told);

	$node->append_conf('postgresql.conf', $config) if defined $config;
	$node->restart;
	my $measure = "$flush;\n$counters;\n$index_pages;\n";
	my $run = "SELECT count(*) || ' ' || md5(string_agg(q::text, '')) FROM ($query) q;\n";
	my $out = $node->safe_psql('postgres', ($settings // '') . ";\n$measure$run$measure$run${measure}SET dynamo_table.direct_store = off;\n$run");
	my ($before, $index_before, $items, $after, $index_after, $again, $last, undef, $by_statement) = split /\n/, $out;
	@counts = map { [ split ' ' ] } $before, $after, $last;
	%told = (
		items => $items,
		asked => $counts[1][0] - $counts[0][0],
		waits => $counts[1][1] - $counts[0][1],
		index => $index_after - $index_before,
		again => $counts[2][0] - $counts[1][0]);
	is($again, $items, 'the same items again');
	is($by_statement, $items, 'and by a statement');
	$told{items} =~ s/ .*//;
	note("$query: " . join(', ', map { "$_ $told{$_}" } sort keys %told));
	return \%told;
}

# A query of the group, with more arguments.
sub query
{
	my ($arguments) = @_;
	return qq{SELECT * FROM dyn_query('app', 'g = :g', vals => '{":g":"g7"}'::jsonb, index_name => 'ByGroup'} . ($arguments // '') . ')';
}

my $told = cold(query());
is($told->{items}, 100, 'a query of 100 items');
cmp_ok($told->{asked}, '>=', 90, 'asks for at least 90 pages');
cmp_ok($told->{waits} + $told->{index}, '<=', 12, 'waits at most 12 times, for the index too');
is($told->{again}, 0, 'asks for nothing if all is in the buffers');

$told = cold(query(', forward => false'));
is($told->{items}, 100, 'backward');
cmp_ok($told->{asked}, '>=', 90, 'asks for as many');
cmp_ok($told->{waits} + $told->{index}, '<=', 12, 'waits no more');

$told = cold(query(), 'SET dynamo_table.prefetch = 0');
is($told->{items}, 100, 'prefetch = 0');
is($told->{asked}, 0, 'asks for nothing');
is($told->{waits}, 100, 'waits for each page');

$told = cold(query(), 'SET dynamo_table.prefetch = 4');
cmp_ok($told->{waits}, '>=', 100 / 5, 'prefetch = 4 waits for every fifth page');
cmp_ok($told->{waits}, '<=', 100 / 5 + 4, 'and little more');

$told = cold(query(), 'SET effective_io_concurrency = 100');
cmp_ok($told->{waits}, '<=', 3, 'the larger of both settings counts');

$told = cold(query(', max_items => 1'));
is("$told->{items} $told->{asked} $told->{waits}", '1 0 1', 'one item: one page');
$told = cold(query(', max_items => 10'));
is("$told->{items} $told->{asked}", '10 9', 'ten items: no more pages than they have');
cmp_ok($told->{waits}, '<=', 2, 'at once');

# a filter that few items pass takes more than is likely
$told = cold(query(q{, filter => 'kind = :k', max_items => 10}) =~ s/(":g":"g7")/$1,":k":3/r);
is($told->{items}, 10, 'a filter');
cmp_ok($told->{waits}, '<=', 12, 'waits little as well');

$told = cold(query(), 'SET default_transaction_isolation = serializable');
is($told->{items}, 100, 'serializable');
cmp_ok($told->{asked}, '>=', 90, 'asks for as many');
cmp_ok($told->{waits} + $told->{index}, '<=', 12, 'waits no more');

# in the order of the primary key, each page is read once
my $scan = q{SELECT * FROM dyn_scan('app')};
$told = cold($scan);
is($told->{items}, 20000, 'a scan');
cmp_ok($told->{asked}, '>=', $pages * 0.7, 'asks for most pages');
cmp_ok($told->{waits}, '<=', $pages * 0.3, 'waits for few');

# reads of an index alone that have to look at rows, since nothing has marked their pages as visible to all
$node->safe_psql('postgres', q{
	SELECT dyn_create_table('keys', 'pk S', 'sk S', global_indexes => '{"ByGroup": {"partition_key": "g S", "sort_key": "h S", "projection": "KEYS_ONLY"}}');
	SELECT dyn_create_table('carried', 'pk S', 'sk S',
		global_indexes => '{"ByGroup": {"partition_key": "g S", "sort_key": "h S", "projection": "INCLUDE", "non_key_attributes": ["note"], "covering": true}}');
	INSERT INTO keys (item) SELECT item FROM app ORDER BY pk, sk;
	INSERT INTO carried (item) SELECT item FROM app ORDER BY pk, sk});
for my $table ('keys', 'carried')
{
	for my $more ('', ', forward => false')
	{
		$told = cold(query($more) =~ s/'app'/'$table'/r);
		is($told->{items}, 100, "$table$more, not visible to all");
		cmp_ok($told->{asked}, '>=', 90, 'asks for at least 90 pages');
		cmp_ok($told->{waits}, '<=', 8, 'waits at most 8 times');
		is($told->{again}, 0, 'asks for nothing if all is in the buffers');
	}
}
$told = cold(query(', max_items => 10') =~ s/'app'/'keys'/r);
is("$told->{items} $told->{asked}", '10 9', 'ten items: no more pages than they have');
$node->safe_psql('postgres', 'VACUUM (DISABLE_PAGE_SKIPPING) keys');
$told = cold(query() =~ s/'app'/'keys'/r);
is("$told->{items} $told->{asked} $told->{waits}", '100 0 0', 'visible to all: no pages');

# entries that carry nothing lead to the rows, although those are visible to all
$node->safe_psql('postgres', q{
	UPDATE carried SET item = (item::jsonb || jsonb_build_object('note', (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 60) i)))::dyn_item;
	VACUUM (DISABLE_PAGE_SKIPPING) carried});
$told = cold(query() =~ s/'app'/'carried'/r);
is($told->{items}, 100, 'entries that carry nothing');
cmp_ok($told->{asked}, '>=', 90, 'ask for pages');
cmp_ok($told->{waits}, '<=', 8, 'and wait little');

# a session's share of the buffers is one page
$told = cold(query(), '', "shared_buffers = 1MB\nmax_connections = 200");
is($told->{items}, 100, 'small buffers');
cmp_ok($told->{asked}, '>=', 90, 'asks for as many');
cmp_ok($told->{waits}, '<=', 12, 'waits no more');

done_testing();
