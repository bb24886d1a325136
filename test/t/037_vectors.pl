# VS20 to VS38: vector indexes of many vectors in clusters: exact searches are those by brute force in Python; a build survives kills and
# cancels while others write; dumps bring the index back; tenants under row-level security see nothing of each other.
# DYN_TEST_ITEMS is the number of vectors, 4,000 by default and 10,000 in the long tests, DYN_TEST_SEARCHES that of the tenants' searches.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $long = $ENV{DYNAMO_TABLE_STRESS_SECONDS};
my $items = $ENV{DYN_TEST_ITEMS} // ($long ? 10000 : 4000);
my $searches = $ENV{DYN_TEST_SEARCHES} // ($long ? 5000 : 300);
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "max_connections = 40\nrestart_after_crash = on\nlog_statement = none\n");
$node->start;
plan skip_all => 'pgvector is not installed'
	if $node->safe_psql('postgres', q{SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'}) eq '0';
my $dir = $node->basedir;

sub value
{
	my ($sql, $db) = @_;
	return $node->safe_psql($db // 'postgres', $sql);
}

# Vectors of 128 dimensions in 40 clusters, of two tenants, with a filter that goes with the cluster.
value(q{CREATE EXTENSION dynamo_table; CREATE EXTENSION vector});
value(q{SELECT dyn_create_table('app', 'pk S', 'sk N')});
value(qq{SELECT setseed(0.5);
	CREATE TABLE centres AS SELECT c, array_agg(random() - 0.5) AS at FROM generate_series(0, 39) c, generate_series(1, 128) GROUP BY c;
	CREATE FUNCTION near(c int, i int) RETURNS jsonb LANGUAGE sql VOLATILE AS
		'SELECT jsonb_agg(round((x + (random() - 0.5) * 0.4 + 0 * i)::numeric, 4)) FROM centres k, unnest(k.at) x WHERE k.c = near.c';
	INSERT INTO app (item) SELECT jsonb_build_object('pk', 'p' || i % 50, 'sk', i, 'tenant', 't' || i % 2, 'c', i % 40, 'f', i % 17, 'e', near(i % 40, i))
		FROM generate_series(1, $items) i});

# Exact searches and brute force.
my %distances = (cos => 'COSINE', l2 => 'EUCLIDEAN', dot => 'DOT_PRODUCT');
for my $index (sort keys %distances)
{
	value(qq{CALL dyn_create_vector_index('app', '$index', 'e', 128, '$distances{$index}', filters => ARRAY['c N', 'f N'])});
}
value(q{CREATE TABLE asked AS SELECT i AS q, near(i * 7 % 40, i) AS v FROM generate_series(1, 6) i});
append_to_file("$dir/brute.py", <<'PYTHON');
import json, math, struct, sys
f32 = lambda x: struct.unpack("f", struct.pack("f", x))[0]
rows = [line.rstrip("\n").split("\t") for line in open(sys.argv[1])]
items = [(pk, int(sk), int(c), [f32(float(x)) for x in json.loads(e)]) for pk, sk, c, e in rows]
failed = 0
for line in open(sys.argv[2]):
    distance, condition, v, found = line.rstrip("\n").split("\t")
    v, found = [f32(float(x)) for x in json.loads(v)], json.loads(found)
    best = []
    for pk, sk, c, e in items:
        if condition != "" and c not in json.loads(condition):
            continue
        if distance == "EUCLIDEAN":
            score = math.sqrt(sum((a - b) ** 2 for a, b in zip(v, e)))
        else:
            score = sum(a * b for a, b in zip(v, e))
        if distance == "COSINE":
            score = 1 - score / math.sqrt(sum(a * a for a in v) * sum(a * a for a in e))
        best.append((-score if distance == "DOT_PRODUCT" else score, pk, sk))
    best.sort()
    if len(found) != min(10, len(best)):
        failed += 1
        print("%s %s: %d found" % (distance, condition, len(found)))
    for (rank, pk, sk), got in zip(best, found):
        score = -rank if distance == "DOT_PRODUCT" else rank
        if abs(score - got["score"]) > 1e-6 * max(1, abs(score)) or (pk, sk) != (got["pk"], got["sk"]):
            failed += 1
            print("%s %s: %s %s is not %s" % (distance, condition, pk, sk, got))
print("%d differences" % failed)
PYTHON
sub dump_rows
{
	my ($file, $sql) = @_;
	unlink "$dir/$file";
	append_to_file("$dir/$file", $node->safe_psql('postgres', $sql, extra_params => [ '-F', "\t" ]) . "\n");
}
dump_rows('items', q{SELECT item->>'pk', item->>'sk', item->>'c', (item::jsonb -> 'e')::text FROM app});
my $asked = join ' UNION ALL ', map {
	my $index = $_;
	map {
		my ($condition, $vals, $list) = @$_;
		qq{SELECT '$distances{$index}', '$list', v::text, (SELECT json_agg(json_build_object('pk', item->>'pk', 'sk', (item->>'sk')::int, 'score', score))
			FROM dyn_search('app', '$index', (SELECT array_agg(x::real) FROM jsonb_array_elements_text(v) x), 10, $condition, vals => $vals)) FROM asked}
	} ([ 'NULL', 'NULL', '' ], [ q{'c IN (:a, :b)'}, q{'{":a":{"N":"3"},":b":{"N":"14"}}'}, '[3, 14]' ])
} sort keys %distances;
dump_rows('found', $asked);
my ($out, $err) = run_command([ 'python3', "$dir/brute.py", "$dir/items", "$dir/found" ]);
is($out, '0 differences', 'exact searches are those by brute force, in order and scores');

# hnsw: never short, whatever is filtered
value(q{CALL dyn_create_vector_index('app', 'hnsw', 'e', 128, 'COSINE', 'hnsw', filters => ARRAY['c N', 'f N'])});
is(value(q{SELECT min(n), max(n) FROM (SELECT count(*) AS n FROM asked, LATERAL dyn_search('app', 'hnsw',
	(SELECT array_agg(x::real) FROM jsonb_array_elements_text(v) x), 10, 'c = :c', vals => '{":c":{"N":"39"}}') GROUP BY q) t}), '10|10', 'hnsw is not short');
is(value(q{SELECT count(*) FROM asked, LATERAL (SELECT (SELECT array_agg(x::real) FROM jsonb_array_elements_text(v) x) AS r) a, LATERAL
	(SELECT array_agg(item->>'sk' ORDER BY score, item->>'sk') AS s FROM dyn_search('app', 'hnsw', r, 10)) h, LATERAL
	(SELECT array_agg(item->>'sk' ORDER BY score, item->>'sk') AS s FROM dyn_search('app', 'cos', r, 10)) e
	WHERE cardinality(ARRAY(SELECT unnest(h.s) INTERSECT SELECT unnest(e.s))) < 9}), '0', 'hnsw finds what is near');

# A filter of one in seventeen, and an index that is less complete: the tenth is behind more than a hundred others.
value(q{DROP INDEX app_hnsw_vector_idx; CREATE INDEX ON app_hnsw USING hnsw (vector vector_cosine_ops) WITH (m = 4, ef_construction = 8)});
cmp_ok(value(q{SELECT round(avg((SELECT count(*) FROM unnest(h.s) k WHERE k = ANY (e.s)) / 10.0), 3) FROM
	(SELECT i, (SELECT array_agg(x::text::real) FROM jsonb_array_elements(near(i * 7 % 40, i)) x) AS r FROM generate_series(1, 80) i) a, LATERAL
	(SELECT array_agg(item->>'sk') AS s FROM dyn_search('app', 'hnsw', r, 10, 'f = :f', vals => jsonb_build_object(':f', i % 17))) h, LATERAL
	(SELECT array_agg(item->>'sk') AS s FROM dyn_search('app', 'cos', r, 10, 'f = :f', vals => jsonb_build_object(':f', i % 17))) e}), '>=', 0.99,
	'hnsw finds what a filter lets through');

# Two tenants under row-level security.
value(q{CREATE ROLE t0; CREATE ROLE t1; GRANT SELECT ON app TO t0, t1; ALTER TABLE app ENABLE ROW LEVEL SECURITY;
	CREATE POLICY own ON app USING (item->>'tenant' = current_user);
	CREATE FUNCTION foreign_keys(role text, times int) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		r record;
		n bigint := 0;
		found bigint := 0;
	BEGIN
		EXECUTE format('SET LOCAL ROLE %I', role);
		FOR i IN 1 .. times LOOP
			SELECT count(*) AS found, count(*) FILTER (WHERE item->>'tenant' <> role) AS others INTO r FROM
				dyn_search('app', CASE WHEN i % 2 = 0 THEN 'hnsw' ELSE 'cos' END,
					(SELECT array_agg(sin(i * k)::real) FROM generate_series(1, 128) k), 3);
			found := found + r.found;
			n := n + r.others;
		END LOOP;
		RETURN n || ' of ' || found;
	END $$; GRANT SELECT ON asked TO t0, t1});
is(value("SELECT foreign_keys('t$_', $searches)"), '0 of ' . 3 * $searches, "tenant $_ sees its own items only") for 0, 1;
value('ALTER TABLE app DISABLE ROW LEVEL SECURITY');

# Entries are those of the items.
sub agrees
{
	my ($name, $index, $db) = @_;
	my $columns = 'vector, filters, partition_key, sort_key';
	my $must = qq{(SELECT vector::text, filters::text, a, b FROM dynamo_internal.vector_entries('app', '$index')
		AS e(vector vector(128), filters dyn_item, a text COLLATE "C", b numeric))};
	my $is = "(SELECT vector::text, filters::text, partition_key, sort_key FROM app_$index)";
	is(value("SELECT count(*) FROM (($must EXCEPT ALL $is) UNION ALL ($is EXCEPT ALL $must)) d", $db), '0', "$name: entries are those of the items");
	is(value("SELECT relispopulated FROM pg_class WHERE oid = 'app_$index'::regclass", $db), 't', "$name: active");
}
agrees('made', $_) for 'cos', 'hnsw';

# A build is killed and cancelled while others write.
value(qq{CALL dyn_drop_index('app', '$_')}) for 'l2', 'dot', 'hnsw';
my $call = q{CALL dyn_create_vector_index('app', 'built', 'e', 128, 'COSINE', 'hnsw', filters => ARRAY['c N'])};
my $load = start_load($node, 3, 3600, qq{
\\set i random(1, $items)
\\set r random(1, 6)
SELECT CASE WHEN :r < 4 THEN dyn_update('app', jsonb_build_object('pk', 'p' || :i % 50, 'sk', :i), 'SET seen = :n', vals => '{":n":{"N":"1"}}')
	WHEN :r < 6 THEN dyn_put('app', jsonb_build_object('pk', 'p' || :i % 50, 'sk', :i, 'tenant', 't0', 'c', :i % 40, 'e', near(:i % 40, :i)))
	ELSE dyn_delete('app', jsonb_build_object('pk', 'p' || :i % 50, 'sk', :i)) END;
});
await_load($node, 3);
for my $round (1 .. 3)
{
	my ($o, $e) = ('', '');
	my $build = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', $call ], '>', \$o, '2>', \$e);
	wait_until("build $round is under way", sub { ($e =~ /active/ || value(q{SELECT count(*) FROM pg_trigger WHERE tgname = '~dynamo_vector_built'}), $e) });
	if ($round < 3)
	{
		value(q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'CALL dyn_create_vector%' AND state = 'active'});
	}
	else
	{
		crash($node);
		ok(!defined finish_load($load), 'the load ends with the server');
	}
	eval { $build->finish };
}
value($call) if value(q{SELECT relispopulated FROM pg_class WHERE relname = 'app_built'}) ne 't';
agrees('after kills', 'built');
agrees('beside that', 'cos');
is(value(q{SELECT count(*) FROM pg_index WHERE indrelid = 'app_built'::regclass AND indisvalid AND indexrelid::regclass::text LIKE '%vector%'}),
	'1', 'hnsw is there');

# Dumps.
my $n = value('SELECT count(*) FROM app_built');
$node->command_ok([ 'pg_dump', '-f', "$dir/plain.sql", 'postgres' ], 'pg_dump');
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$dir/custom", 'postgres' ], 'pg_dump -Fc');
unlike(slurp_file("$dir/plain.sql"), qr/COPY public\.app_/, 'entries are not dumped');
value("CREATE DATABASE $_") for 'plain', 'custom';
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/plain.sql", 'plain' ], 'psql restores');
$node->command_ok([ 'pg_restore', '-j', '2', '-d', 'custom', "$dir/custom" ], 'pg_restore restores');
for my $db ('plain', 'custom')
{
	agrees($db, $_, $db) for 'built', 'cos';
	is(value('SELECT count(*) FROM app_built', $db), $n, "$db: all of them");
	value(q{SELECT dyn_put('app', jsonb_build_object('pk', 'x', 'sk', 1, 'c', 1, 'e', near(1, 1)))}, $db);
	is(value('SELECT count(*) FROM app_built', $db), $n + 1, "$db: writes are kept");
	value(q{SELECT dyn_drop_table('app')}, $db);
	is(value(q{SELECT count(*) FROM pg_class WHERE relkind = 'm'}, $db), '0', "$db: the index goes with its table");
}

# Expired items.
value(q{CALL dyn_enable_ttl('app', 'expires'); });
value(q{UPDATE app SET item = dyn_apply(item, 'SET expires = :t', vals => jsonb_build_object(':t', floor(extract(epoch FROM now())) - 100)) WHERE pk = 'p1'});
value(q{CALL dyn_sweep_ttl('app')});
is(value(q{SELECT count(*) FROM app_built WHERE partition_key = 'p1'}), '0', 'what is swept has no entry');
agrees('swept', 'built');
done_testing();
