# Distributed tables and roles that may do little, or have a search_path of their own.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;
use CitusNodes;

my $citus = CitusNodes->new;

sub run_as
{
	my ($n, $role, $script) = @_;
	my ($rc, $stdout, $stderr) = $citus->node($n)->psql('postgres', "SET ROLE $role;\n$script");
	return ($rc, $stdout, $stderr);
}

$citus->sql(0, q{CREATE ROLE owner LOGIN; CREATE ROLE other LOGIN; GRANT CREATE ON SCHEMA public TO owner});
$citus->sql(0, q{SET ROLE owner; SELECT dyn_create_table('app', 'pk S', distributed => true)});
$citus->sql(0, q{SET ROLE owner;
	SELECT count(dyn_put('app', jsonb_build_object('pk', 'p' || i, 'g', 'a')::dyn_item)) FROM generate_series(1, 40) i});

# A role whose search_path has no schema, or another's first, finds its shards.
$citus->sql(0, q{CREATE SCHEMA front; GRANT ALL ON SCHEMA front TO other});
my ($shards) = $citus->sql(0, q{ANALYZE app; SELECT string_agg(shardid::text, ' ') FROM pg_dist_shard WHERE logicalrelid = 'app'::regclass});
for my $n (0 .. 2)
{
	$citus->sql($n, "SET citus.enable_ddl_propagation = off; SET ROLE other;"
		. join('', map { "CREATE TABLE front.app_$_ (); GRANT SELECT ON front.app_$_ TO owner;" } split / /, $shards));
	$citus->sql($n, 'SET citus.enable_ddl_propagation = off; GRANT USAGE ON SCHEMA front TO owner');
}
for my $path (q{''}, 'front, public')
{
	$citus->sql(0, "ALTER ROLE owner SET search_path = $path");
	for my $n (0 .. 2)
	{
		my ($rc, $stdout, $stderr) = $citus->node($n)->psql('postgres', join(";\n",
			q{SELECT (public.dyn_describe_table('public.app') ->> 'ItemCount')::int}, 'SET citus.log_local_commands = on',
			map { qq{SELECT public.dyn_get('public.app', '{"pk":{"S":"p$_"}}')} } 1 .. 20),
			extra_params => [ '-U', 'owner' ]);
		is($stdout, join("\n", 40, map { qq({"g":{"S":"a"},"pk":{"S":"p$_"}}) } 1 .. 20), "search_path $path, node $n: sizes and items");
		unlike($stderr, qr/executing the command locally/, '… by the shards themselves');
	}
	my ($rc, $stdout, $stderr) = $citus->node(0)->psql('postgres', q{
		CALL public.dyn_create_index('public.app', 'gi', 'g S');
		SELECT count(*) FROM public.dyn_query('public.app', 'g = :g', index_name => 'gi', vals => '{":g":{"S":"a"}}');
		CALL public.dyn_drop_index('public.app', 'gi');}, extra_params => [ '-U', 'owner' ]);
	is($stdout, 40, "search_path $path: an index is filled in");
}

# An owner puts something else in the place of a shard: a scan gives up, and its session keeps nothing of its attempts.
my %placements = $citus->placements('app');
my ($shard) = grep { $placements{$_} == 1 } sort keys %placements;
my $changes = 'SET citus.enable_ddl_propagation = off; SET citus.enable_manual_changes_to_shards = on; SET ROLE owner';
$citus->sql(1, "$changes; ALTER TABLE app_$shard RENAME TO away; CREATE VIEW app_$shard AS SELECT * FROM away");
cmp_ok($citus->sql(0, q{SET ROLE owner;
	DO $$ BEGIN PERFORM public.dyn_scan('public.app'); RAISE 'there is no view'; EXCEPTION WHEN serialization_failure THEN NULL; END $$; RESET ROLE;
	SELECT sum(used_bytes) FROM pg_backend_memory_contexts WHERE name = 'dynamo_table schema'}), '<', 200_000,
	'a scan whose shard is not there ends, and its session keeps nothing of that');
$citus->sql(1, "$changes; DROP VIEW app_$shard; ALTER TABLE away RENAME TO app_$shard");
is($citus->sql(0, q{SET ROLE owner; SELECT count(*) FROM public.dyn_scan('public.app')}), 40, 'the shard is read where it is again');

# A definition by hand names the table of another role as the entries of an index, or a shard of one.  These stay what they are in
# the session that meets it, which may be a gateway's, and cannot be written past their own indexes.
my $by_key = q{distributed => true, global_indexes => '{"All": {"partition_key": "g S", "distribution": "key"}}'};
$citus->sql(0, qq{CREATE ROLE planter LOGIN; CREATE ROLE keeper LOGIN; GRANT CREATE ON SCHEMA public TO planter, keeper;
	SET ROLE keeper; SELECT dyn_create_table('prey', 'pk S', $by_key); GRANT SELECT, DELETE ON prey TO planter;
	SELECT dyn_put('prey', '{"pk":{"S":"x"},"g":{"S":"g"}}');
	RESET ROLE; SET ROLE planter; SELECT dyn_create_table('bait', 'pk S', $by_key)});
my ($prey, $at) = split /\|/, $citus->sql(0, q{SELECT 'prey_' || s.shardid, nodeport FROM pg_dist_shard s JOIN pg_dist_placement USING (shardid)
	JOIN pg_dist_node USING (groupid) WHERE s.shardid = get_shard_id_for_distribution_column('prey', 'x'::text)});
my $plant = sub {
	my $check = $citus->sql(0, q{SELECT regexp_replace(pg_get_constraintdef(oid), '("entries.": .")[^"\\\\]*', '\1} . $_[0] . q{') FROM pg_constraint
		WHERE conrelid = 'bait'::regclass AND conname = 'dynamo_definition'});
	$citus->sql(0, qq{SET ROLE planter; ALTER TABLE bait DROP CONSTRAINT dynamo_definition; ALTER TABLE bait ADD CONSTRAINT dynamo_definition $check});
};
$plant->('prey');
for my $n (0 .. 2)
{
	my ($out, $err) = ('', '');
	$citus->node($n)->psql('postgres', q{SET ROLE planter; SELECT count(*) FROM dyn_scan('bait', 'All');
		RESET ROLE; SET ROLE keeper; SELECT dyn_get('prey', '{"pk":{"S":"x"}}') ->> 'g', (SELECT count(*) FROM dyn_scan('prey', 'All'))},
		stdout => \$out, stderr => \$err, on_error_stop => 0);
	is($out, 'g|1', "the table of another role is as it was at node $n");
	like($err, qr/^psql:[^\n]*table public\.prey does not have the entries of index "All" of table "bait"/, '… and has no entries');
}
$plant->($prey);
my ($home) = grep { ($citus->address($_))[1] == $at } 1, 2;
my ($out, $err) = ('', '');
$citus->node($home)->psql('postgres', qq{SET ROLE planter; SET citus.enable_manual_changes_to_shards = on; SET citus.override_table_visibility = off;
	SELECT count(*) FROM dyn_scan('bait', 'All'); DELETE FROM $prey}, stdout => \$out, stderr => \$err, on_error_stop => 0);
like($err, qr/table "$prey" can be written by calls and requests only/, 'nor is a shard written past its indexes');
is($citus->sql(0, q{SET ROLE keeper; SELECT object, problem FROM dyn_check_table('prey')}), '', '… which are right');

done_testing();
