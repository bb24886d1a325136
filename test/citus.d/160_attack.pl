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

done_testing();
