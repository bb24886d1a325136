# Views of entities and access patterns go with their table through pg_dump, also into another schema, and through renames.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE source');
$node->safe_psql(
	'source', q{
	CREATE SCHEMA tools;
	CREATE EXTENSION dynamo_table SCHEMA tools;
	CREATE SCHEMA shop;
	CREATE TYPE shop."Mood" AS ENUM ('calm', 'cross');
	SET search_path = shop, tools;
	SELECT dyn_create_table('app', 'pk S', 'sk S', global_indexes => '{"GSI1": {"partition_key": "GSI1PK S", "sort_key": "GSI1SK S"}}');
	SELECT dyn_create_entity('app', 'Org', '{"pk":"ORG#<OrgId>","sk":"#METADATA#"}', '{"OrgId":"S","Name":"S","Mood":"S \"Mood\"","Code":"S char(4)"}');
	SELECT dyn_create_entity('app', 'User', '{"pk":"ORG#<OrgId>","sk":"USER#<UserId>","GSI1PK":"EMAIL#<E''mail>","GSI1SK":"USER"}',
		'{"OrgId":"S","UserId":"S uuid","E''mail":{"type":"S","stored":"e","required":true},"Tags":"SS","Joined":"S timestamptz(0)"}');
	SELECT dyn_create_entity_view('app', 'Org'), dyn_create_entity_view('app', 'User'), dyn_create_entity_view('app', 'User', index_name => 'GSI1'),
		dyn_create_entity_view('app', 'User', unnest => 'Tags');
	SELECT dyn_create_access_pattern('app', 'users', 'Query',
		'{"KeyConditionExpression":"pk = :o AND begins_with(sk, :u)","ExpressionAttributeValues":{":o":{"S":"ORG#<OrgId>"},":u":{"S":"USER#"}}}', 'User',
		'it''s "quoted" \\ here');
	INSERT INTO "Org" ("OrgId", "Code", "Mood", "Name") VALUES ('1', 'ab', 'cross', 'one'), ('2', NULL, NULL, 'two');
	INSERT INTO "User" ("OrgId", "UserId", "E'mail", "Tags", "Joined") VALUES ('1', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'a@x', '{a,b}', '2024-05-01 10:00+02');
	INSERT INTO "User" ("OrgId", "UserId", "E'mail") SELECT 'other ' || i % 10, md5(i::text)::uuid, 'b@' || i FROM generate_series(1, 100) i;
});

my %queries = (
	org => q{SELECT * FROM "Org" ORDER BY 1},
	user => q{SELECT * FROM "User" ORDER BY 1, 2},
	index => q{SELECT * FROM "User_GSI1" WHERE "E'mail" = 'a@x'},
	tags => q{SELECT * FROM "User_Tags" ORDER BY 1, 2, 3},
	patterns => q{SELECT dyn_access_pattern_chart('app')},
	chart => q{SELECT dyn_entity_chart('app')},
	run => q{SELECT dyn_run_access_pattern('app', 'users', '{"OrgId":{"S":"1"}}')},
	check => q{SELECT count(*) FROM dyn_check_entities('app')});

sub ask
{
	my ($db, $path, $sql) = @_;
	return $node->safe_psql($db, "SET search_path = $path; SET timezone = 'UTC'; $sql");
}

my %expected = map { $_ => ask('source', 'shop, tools', $queries{$_}) } keys %queries;
is($expected{org}, "1|one|cross|ab  \n2|two||", 'the view shows the items');
like($expected{index}, qr/a\@x/, 'so does that of the index');
is($expected{check}, '0', 'and nothing is wrong');

sub same_and_alive
{
	my ($db, $path, $name) = @_;
	ask($db, $path, 'ANALYZE app');
	is(ask($db, $path, $queries{$_}), $expected{$_}, "$name: $_") for sort keys %queries;
	my $plan = ask($db, $path, q{SET enable_seqscan = off; SET enable_bitmapscan = off; EXPLAIN (COSTS OFF) SELECT * FROM "User" WHERE "OrgId" = '1'});
	like($plan, qr/Index Cond: \(\(pk = 'ORG#1'::text\) AND \(sk >= 'USER#'::text\) AND \(sk < 'USER\$'::text\)\)/, "$name: the planner knows the keys");
	$plan = ask($db, $path, q{SET enable_seqscan = off; SET enable_bitmapscan = off; EXPLAIN (COSTS OFF) SELECT * FROM "User" WHERE "E'mail" = 'a@x'});
	like($plan, qr/Index Cond: \(\("GSI1PK" = 'EMAIL#a\@x'::text\) AND \("GSI1SK" = 'USER'::text\)/, "$name: and those of the index in which all items are");
	is(ask($db, $path, q{BEGIN; INSERT INTO "Org" ("OrgId", "Name") VALUES ('3', 'three'); UPDATE "Org" SET "Mood" = 'calm' WHERE "OrgId" IN ('1', '3');
		SELECT "OrgId", "Mood" FROM "Org" ORDER BY 1; ROLLBACK}),
		"1|calm\n2|\n3|calm", "$name: rows are written");
}

sub restore
{
	my ($name, $before, @options) = @_;
	(my $db = "db $name") =~ s/\W+/_/g;
	my $file = $node->basedir . "/$db.sql";
	$node->command_ok([ 'pg_dump', '-d', $node->connstr('source'), '-f', $file, @options ], "$name: dump");
	$node->safe_psql('postgres', "CREATE DATABASE $db");
	$node->safe_psql($db, $before) if $before;
	$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($db), '-f', $file ], "$name: restore");
	return $db;
}

same_and_alive(restore('whole', ''), 'shop, tools', 'whole');
my $db = restore('schema', 'CREATE SCHEMA tools; CREATE EXTENSION dynamo_table SCHEMA tools', '-n', 'shop');
same_and_alive($db, 'shop, tools', 'one schema');

# what has other names by now
$node->safe_psql($db, q{
	ALTER SCHEMA tools RENAME TO kit;
	ALTER VIEW shop."User" RENAME TO people;
	CREATE VIEW shop."User" AS SELECT * FROM shop.people;
	ALTER TABLE shop.app RENAME TO items});
is(ask($db, 'shop, kit', $queries{user}), $expected{user}, 'renamed: user');
is(ask($db, 'shop, kit', q{UPDATE people SET "Tags" = '{c}' WHERE "OrgId" = '1' RETURNING "Tags"}), '{c}', 'renamed: rows are written');
is(ask($db, 'shop, kit', q{SELECT count(*) FROM dyn_check_entities('items')}), '0', 'renamed: nothing is wrong');

# an index is dropped: the view does without its keys
$node->safe_psql($db, 'DROP VIEW shop."User_GSI1"');
$node->safe_psql($db, q{SET search_path = shop, kit; CALL dyn_drop_index('items', 'GSI1')});
is(ask($db, 'shop, kit', q{SELECT count(*) FROM people}), '101', 'without the index: the view is as it was');
is(ask($db, 'shop, kit', q{SELECT count(*) FROM pg_attribute WHERE attrelid = 'items'::regclass AND attname LIKE 'GSI%'}), '0',
	'without the index: its columns are gone');
$node->safe_psql($db, 'DROP TABLE shop.items CASCADE');
is(ask($db, 'shop, kit', q{SELECT count(*) FROM pg_views WHERE schemaname = 'shop'}), '0', 'views go with their table');

done_testing();
