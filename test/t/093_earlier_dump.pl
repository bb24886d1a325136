# A dump of an earlier form of this version restores: test/dumps/8817c7e6.sql was made by pg_dump of the tree of that commit.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE ROLE shop_owner');

# Indexes that covered by an expression are what a restore cannot make, and it says so of them only.
my ($status, $out, $err) = $node->psql('postgres', undef, extra_params => [ '-q', '-f', 'test/dumps/8817c7e6.sql' ], on_error_stop => 0);
my @errors = map { s/^.*?ERROR:\s+//r } grep { /ERROR/ } split /\n/, $err;
is_deeply(\@errors, [ 'function dynamo_internal.carried(public.dyn_item, text) does not exist', 'relation "public.shop_by_type" does not exist' ],
	'what the restore cannot make');
is($node->safe_psql('postgres', "SELECT object || ': ' || problem FROM dyn_check_table('shop')"), 'index "by_type": it has no btree of its columns',
	'the check tells of it');
$node->safe_psql('postgres', $node->safe_psql('postgres', "SELECT advice FROM dyn_check_table('shop')"));
is($node->safe_psql('postgres', "SELECT * FROM dyn_check_table('shop')"), '', 'and how to mend it');
is($node->safe_psql('postgres', q{SELECT * FROM dyn_check_table('"Other.Table"')}), '', 'nothing is wrong with another table');

sub is_json
{
	my ($sql, $expected, $name) = @_;
	is($node->safe_psql('postgres', $sql), $expected, $name);
}

is_json(q{SELECT dyn_get('"Other.Table"', '{"Id": {"B": "AAEC"}}'::dyn_item)},
	'{"Bin":{"BS":["AQ==","Ag=="]},"Id":{"B":"AAEC"},"Num":{"NS":["1","2.5"]},"Set":{"SS":["x","y"]}}', 'an item of all kinds');
is_json(q{SELECT item->>'sk' FROM dyn_query('shop', '#t = :t', names => '{"#t": "Type"}', vals => '{":t": "Order"}'::jsonb, index_name => 'by_type') item},
	"ORDER#00007\nORDER#00008\nORDER#00009", 'the index that was mended');
is_json(q{SELECT item->>'Total' FROM dyn_query('shop', '#t = :t', names => '{"#t": "Type"}', vals => '{":t": "Order"}'::jsonb, index_name => 'by_total') item},
	"0.0000000001\n3\n12.5", 'a covering index');
is_json(q{SELECT attribute, hide_expired FROM dyn_ttl_tables}, 'expires|t', 'time to live');
is_json(q{SELECT view_type, status FROM dyn_streams}, 'NEW_AND_OLD_IMAGES|ENABLED', 'the stream');
is_json(q{SELECT item->>'OrderId' FROM dyn_run_access_pattern('shop', 'orders by state', '{"state": "OPEN"}'::jsonb) item}, "7\n9", 'an access pattern');
is_json(q{SELECT source_row FROM dyn_preview_migration('visitors')}, 'public.visitors (id)=(3)', 'a migration');

# Views show items as before, and are made anew by one call.
for my $when ('before', 'after')
{
	is_json(q{SELECT "OrderId", "Total" FROM orders ORDER BY 1}, "7|12.5\n8|0.0000000001\n9|3", "a view, $when it is made anew");
	is_json(q{SELECT problem FROM dyn_check_entities('shop')}, '', "entities, $when");
	$node->safe_psql('postgres', q{SELECT dyn_create_entity_view('shop', entity, view)
		FROM (VALUES ('Customer', 'customers'), ('Order', 'orders')) v (entity, view)});
}
$node->safe_psql('postgres', q{INSERT INTO orders ("CustomerId", "OrderId", "Status", "Total") VALUES ('2', 10, 'NEW', 1)});
is_json(q{SELECT dyn_get('shop', '{"pk": "CUST#2", "sk": "ORDER#00010"}'::jsonb)->>'Status'}, 'NEW', 'and can be written');
($status, $out, $err) = $node->psql('postgres', q{SELECT dyn_put('shop', '{"pk": "x", "sk": "y"}'::jsonb)});
like($err, qr/entit/, 'entities are enforced');

done_testing();
