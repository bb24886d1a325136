# S06, S10, Q15: segments of table and index are scanned in parallel, page by page, while other sessions write.  Items
# that no session writes are returned exactly once, by one segment.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum_naptime = 1\nmax_connections = 30");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION dynamo_table');

# Collections from one item to hundreds, of which every second item stays as it is; the index has other collections.
$node->safe_psql('postgres', q{
SELECT dyn_create_table('app', 'pk S', 'sk N',
	global_indexes => '{"ByGroup":{"partition_key":"g N","sort_key":"h S","projection":"ALL"},"KeysOnly":{"partition_key":"h S","projection":"KEYS_ONLY"}}');
CREATE FUNCTION write_item(c int, s int) RETURNS void LANGUAGE sql AS $$
	SELECT dyn_put('app', jsonb_build_object('pk', 'p' || c, 'sk', s, 'g', CASE s % 2 WHEN 0 THEN s % 23 ELSE floor(random() * 23) END,
	  'h', CASE s % 2 WHEN 0 THEN 'h' || c % 7 ELSE 'h' || floor(random() * 7) END, 'pad', repeat('x', (random() * 500)::int)))
$$;
SELECT count(write_item(c, s)) FROM generate_series(1, 40) c, generate_series(1, c * c / 4 + 1) s;
CREATE TABLE seen (round int, index text, segment int, id text);
CREATE FUNCTION scan_segment(round int, index text, segment int, total int, size int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	page record;
	start dyn_item;
	pages int := 0;
BEGIN
	LOOP
		SELECT * INTO page FROM dyn_scan_page('app', index_name => index, segment => segment, total_segments => total, page_size => size, start_key => start);
		INSERT INTO seen SELECT round, index, segment, (i->>'pk') || '/' || (i->>'sk') FROM unnest(page.items) i;
		start := page.last_evaluated_key;
		pages := pages + 1;
		EXIT WHEN start IS NULL;
		PERFORM pg_sleep(0.001);
	END LOOP;
	RETURN pages;
END $$;
});
my $stable = $node->safe_psql('postgres', 'SELECT count(*) FROM app WHERE sk % 2 = 0');
cmp_ok($stable, '>', 2000, "$stable items stay as they are");

# Writers change, move, delete and insert the other half, until they are told to stop and have written enough.
$node->safe_psql('postgres', 'CREATE TABLE stop ()');
my $write = q{DO $$
DECLARE
	c int;
	s int;
	n int := 0;
BEGIN
	LOOP
		n := n + 1;
		c := 1 + floor(random() * 40);
		s := 1 + 2 * floor(random() * (c * c / 8 + 1));
		IF random() < 0.2 THEN
			PERFORM dyn_delete('app', jsonb_build_object('pk', 'p' || c, 'sk', s));
		ELSE
			PERFORM write_item(c, s);
		END IF;
		COMMIT;
		EXIT WHEN n > 1000 AND to_regclass('stop') IS NULL;
	END LOOP;
END $$;
};
my @writers = map { IPC::Run::start([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-c', $write ], '>', \my $out, '2>',
	\my $err) } 1 .. 3;

my ($round, $total) = (0, 4);
for my $size (3, 50, 1000)
{
	for my $index ('NULL', "'ByGroup'", "'KeysOnly'")
	{
		$round++;
		my @scans = map { [ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-c',
			"SELECT scan_segment($round, $index, $_, $total, $size)" ] } 0 .. $total - 1;
		my @running = map { IPC::Run::start($_, '>', \my $out, '2>', \my $err) } @scans;
		is(scalar(grep { $_->finish } @running), $total, "round $round: $index in pages of $size");
		is($node->safe_psql('postgres', "SELECT count(DISTINCT id), count(*), count(DISTINCT (id, segment)) FROM seen WHERE round = $round
			AND split_part(id, '/', 2)::int % 2 = 0"),
			"$stable|$stable|$stable", "round $round: what stays is returned once, by one segment");
		is($node->safe_psql('postgres', "SELECT count(*) FROM (SELECT id FROM seen WHERE round = $round AND index IS NULL GROUP BY id HAVING count(*) > 1) x"),
			0, "round $round: nothing comes twice from the table");
	}
}
$node->safe_psql('postgres', 'DROP TABLE stop');
is(scalar(grep { $_->finish } @writers), 3, 'writers end well');
is($node->safe_psql('postgres', "SELECT n_tup_upd > 1000 AND n_tup_del > 100 FROM pg_stat_user_tables WHERE relname = 'app'"), 't',
	'and have written meanwhile');

# Without writes, all ways to read agree.
for my $index ('NULL', "'ByGroup'", "'KeysOnly'")
{
	is($node->safe_psql('postgres', "SELECT count(*) FROM dyn_scan('app', index_name => $index)"),
		$node->safe_psql('postgres', "SELECT count(DISTINCT i)
			FROM (SELECT i::text FROM generate_series(0, 99) segment, dyn_scan('app', index_name => $index, segment => segment, total_segments => 100) i) x"),
			"a hundred segments of $index");
}

$node->stop;
done_testing();
