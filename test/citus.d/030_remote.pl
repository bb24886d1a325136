# The remote store: statements that Citus routes to one shard, ranges in chunks, rows that stay as they are.
use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;
use CitusNodes;

my $citus = CitusNodes->new;

# The statements that a node sends to others.
sub sent
{
	my ($n, $sql) = @_;
	my ($out, $err);
	$citus->node($n)->psql('postgres', "SET citus.log_remote_commands = on; $sql", stdout => \$out, stderr => \$err);
	unlike($err, qr/ERROR/, "no error in: $sql");
	return grep { /app_\d+/ } $err =~ /NOTICE:  issuing ([^\n]*)/g;
}

$citus->sql(0, q{SELECT dyn_create_table('app', 'pk S', 'sk S')});
$citus->sql(0, q{CALL dyn_create_index('app', 'ByKind', 'kind S', 'n N')});
$citus->sql(0, q{SELECT dyn_distribute_table('app')});
# ties: kind and n of many items are equal
$citus->sql(1, q{SELECT dyn_batch_write('app', array_agg(jsonb_build_object('pk', 'p' || i % 7, 'sk', 's' || lpad(i::text, 4, '0'), 'kind', 'k', 'n',
	i / 300)::dyn_item))
	FROM generate_series(0, 899) i GROUP BY i / 20});

is($citus->sql(2, q{SELECT count(*), count(DISTINCT i ->> 'sk') FROM dyn_scan('app') i}), '900|900', 'a scan of all shards has each item once');
is($citus->sql(2, q{SELECT count(*), count(DISTINCT i ->> 'sk') FROM generate_series(0, 4) s, dyn_scan('app', segment => s, total_segments => 5) i}),
	'900|900', 'so have its segments');
for my $forward ('true', 'false')
{
	is($citus->sql(1, qq{SELECT count(*), count(DISTINCT i ->> 'sk'), bool_and(ordered) FROM (
			SELECT i, coalesce((i ->> 'n')::int - lag((i ->> 'n')::int) OVER (ORDER BY o), 0) * CASE WHEN $forward THEN 1 ELSE -1 END >= 0 AS ordered
			FROM dyn_query('app', 'kind = :k', 'ByKind', vals => '{":k":{"S":"k"}}', forward => $forward) WITH ORDINALITY AS q(i, o)) s}),
		'900|900|t', "an index query has each item once and in order (forward => $forward)");
}
is($citus->sql(1, q{WITH RECURSIVE page AS (
		SELECT p.items, p.last_evaluated_key FROM dyn_query_page('app', 'kind = :k', 'ByKind', vals => '{":k":{"S":"k"}}', page_size => 37) p
		UNION ALL
		SELECT p.items, p.last_evaluated_key FROM page,
			dyn_query_page('app', 'kind = :k', 'ByKind', vals => '{":k":{"S":"k"}}', page_size => 37, start_key => page.last_evaluated_key) p
			WHERE page.last_evaluated_key IS NOT NULL)
	SELECT count(DISTINCT i ->> 'sk'), count(*) FROM page, unnest(items) i}), '900|900', 'pages of an index query have each item once');

# calls in larger transactions, which stay on this node
my @statements = sent(0, q{BEGIN; SELECT dyn_query('app', 'pk = :p', vals => '{":p":{"S":"p1"}}', max_items => 1); COMMIT});
is(scalar @statements, 1, 'a query of one item is one statement');
like($statements[0], qr/LIMIT '?1\b/, 'for one row');
@statements = sent(0, q{SELECT count(*) FROM dyn_query('app', 'kind = :k', 'ByKind', vals => '{":k":{"S":"k"}}', max_items => 2)});
is(scalar @statements, 8, 'an index query asks each shard once');
is(scalar(grep { /LIMIT '?2\b/ } @statements), 8, 'for as many rows as it returns');
@statements = sent(0, q{BEGIN; SELECT dyn_put('app', '{"pk":{"S":"p1"},"sk":{"S":"new"}}'); COMMIT});
is(scalar @statements, 1, 'a put is one statement');

for my $mode ('force_generic_plan', 'force_custom_plan')
{
	is($citus->sql(0, qq{SET plan_cache_mode = $mode; SELECT count(*) FROM dyn_scan('app'); SELECT dyn_get('app', '{"pk":{"S":"p1"},"sk":{"S":"new"}}') ->> 'sk'}),
		"901\nnew", "plan_cache_mode = $mode changes nothing");
}

# rows that stay as they are
sub version { return $citus->sql(0, q{SELECT result FROM run_command_on_shards('app', $$SELECT xmin FROM %s WHERE sk = 'new'$$) WHERE result <> ''}) }
my $version = version();
$citus->sql(1, q{SELECT dyn_put('app', '{"pk":{"S":"p1"},"sk":{"S":"new"}}')});
$citus->sql(1, q{SELECT dyn_update('app', '{"pk":{"S":"p1"},"sk":{"S":"new"}}', 'REMOVE nothing')});
$citus->sql(1, q{SELECT dyn_batch_write('app', ARRAY['{"pk":{"S":"p1"},"sk":{"S":"new"}}', '{"pk":{"S":"p1"},"sk":{"S":"new2"}}']::dyn_item[])});
is(version(), $version, 'writes that leave a row as it is do not write it');
$citus->sql(1, q{SELECT dyn_put('app', '{"pk":{"S":"p1"},"sk":{"S":"new"},"kind":{"S":"other"},"n":{"N":"1"}}')});
ok(version() ne $version, 'others do');
is($citus->sql(2, q{SELECT count(*) FROM dyn_query('app', 'kind = :k', 'ByKind', vals => '{":k":{"S":"other"}}')}), 1, 'and set the columns of indexes');

# kept plans after a move of shards and after DDL, in one session
my $session = $citus->node(0)->background_psql('postgres', on_error_stop => 0);
is($session->query(q{SELECT count(*) FROM dyn_query('app', 'pk = :p', vals => '{":p":{"S":"p2"}}')}), 129, 'a session has read');
my $new = $citus->add;
$citus->move_all('app', $new);
is($session->query(q{SELECT count(*) FROM dyn_query('app', 'pk = :p', vals => '{":p":{"S":"p2"}}')}), 129, 'it reads the shard where it has moved to');
$citus->sql(0, q{ALTER TABLE app RENAME TO renamed});
is($session->query(q{SELECT count(*) FROM dyn_query('renamed', 'pk = :p', vals => '{":p":{"S":"p2"}}')}), 129, 'and under another name');
$session->quit;

done_testing();
