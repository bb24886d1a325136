# K13, KC09: keys are in byte order whatever the database's collation is.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;

# What this server has: ICU is a build option, and libc's locales are the machine's.
my %databases = (c => "LOCALE 'C'");
$databases{icu} = "LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C.UTF-8'"
  if $node->safe_psql('postgres', "SELECT count(*) FROM pg_collation WHERE collprovider = 'i' AND collname = 'en-US-x-icu'");
chomp(my @locales = `locale -a`);
my ($language) = grep { /^en_US\.utf-?8$/i } @locales;
$databases{libc} = "LOCALE '$language'" if $language;

my @keys = ('b', 'B', 'a', '#x', '10', '9', 'é', '¿', 'z', 'Z', 'a#', 'a-b', 'ab', 'A', '_', '~');
my $rows = join ', ', map { "('$_')" } @keys;
my $setup = qq{
	CREATE EXTENSION dynamo_table;
	SELECT dyn_create_table('app', 'pk S', 'sk S');
	SELECT dyn_put('app', jsonb_build_object('pk', 'x', 'sk', k)) FROM (VALUES $rows) v (k);
};

# The reference is Perl's own comparison of bytes.
my @sorted = sort @keys;

sub asked
{
	my ($db, $condition, $vals, $rest) = @_;
	return $node->safe_psql($db,
		"SELECT string_agg(item->>'sk', ' ') FROM dyn_query('app', 'pk = :p$condition', vals => '{\":p\":{\"S\":\"x\"}$vals}'$rest) AS item");
}

for my $db (sort keys %databases)
{
	$node->safe_psql('postgres', "CREATE DATABASE $db TEMPLATE template0 ENCODING 'UTF8' $databases{$db}");
	$node->safe_psql($db, $setup);
	is(asked($db, '', '', ''), join(' ', @sorted), "$db: byte order");
	is(asked($db, '', '', ', forward => false'), join(' ', reverse @sorted), "$db: backwards");
	is(asked($db, ' AND sk BETWEEN :a AND :b', ',":a":{"S":"A"},":b":{"S":"a"}', ''), join(' ', grep { $_ ge 'A' && $_ le 'a' } @sorted), "$db: a range");
	is(asked($db, ' AND begins_with(sk, :a)', ',":a":{"S":"a"}', ''), join(' ', grep { /^a/ } @sorted), "$db: a prefix");
	is(asked($db, ' AND sk > :a', ',":a":{"S":"Z"}', ', max_items => 3'), join(' ', (grep { $_ gt 'Z' } @sorted)[ 0 .. 2 ]), "$db: three after Z");
	is($node->safe_psql($db, q{SELECT dyn_get('app', '{"pk":{"S":"x"},"sk":{"S":"a-b"}}') IS NOT NULL
		AND dyn_get('app', '{"pk":{"S":"X"},"sk":{"S":"a-b"}}') IS NULL}),
		't', "$db: keys are equal by bytes");
}
note('databases: ' . join ', ', sort keys %databases);

done_testing();
