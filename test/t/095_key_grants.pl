# Grants by leading keys: dumps and restores, in which roles have other OIDs, and sessions that have a plan while they change.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION dynamo_table;
	CREATE ROLE owner1;
	CREATE ROLE tenant LOGIN;
	CREATE ROLE "Tenant's ""own" LOGIN IN ROLE tenant;
	CREATE ROLE app LOGIN;
	GRANT CREATE ON SCHEMA public TO owner1;
	SET ROLE owner1;
	SELECT dyn_create_table('t', 'pk S', 'sk S', global_indexes => '{"G": {"partition_key": "g S"}}');
	SELECT dyn_put('t', jsonb_build_object('pk', k, 'sk', 's', 'g', k)) FROM unnest(ARRAY['tenant', 'it''s', 'Tenant''s "own', 'other']) k;
	GRANT SELECT, INSERT, UPDATE, DELETE ON t TO app;
	SELECT dyn_grant_keys('t', 'tenant', '{GetItem,Query,PutItem}', ARRAY['${role}', 'it''s', 'back\slash', '"quoted"']),
		dyn_grant_keys('t', 'tenant', '{Query}', '{g*}', 'G'), dyn_grant_keys('t', '"Tenant''s ""own"', '{DeleteItem}')});

my $grants = q{SELECT relation, role, index_name, leading_keys, actions FROM dyn_key_grants ORDER BY relation::text, role::text, index_name, actions};
my $before = $node->safe_psql('postgres', $grants);
like($before, qr/^t\|tenant\|G\|\{g\*\}\|\{Query\}$/m, 'what is granted');

# A call is refused or answers, and plain SQL shows what it may.
sub check
{
	my ($server, $database, $name) = @_;
	my %connection = (connstr => $server->connstr($database) . ' user=tenant', on_error_stop => 0);
	is($server->safe_psql($database, $grants), $before, "$name: the same grants");
	for my $store (qw(on off))
	{
		my (undef, $out, $error) = $server->psql($database, qq{
			SET dynamo_table.direct_store = $store;
			SELECT dyn_get('t', '{"pk": {"S": "it''s"}, "sk": {"S": "s"}}') ->> 'pk';
			SELECT dyn_get('t', '{"pk": {"S": "other"}, "sk": {"S": "s"}}');
			SELECT string_agg(pk, ' ' ORDER BY pk) FROM t}, %connection);
		is($out, "it's\nit's tenant", "$name: what the role reads, direct_store = $store");
		like($error, qr/ERROR:  User: tenant is not authorized to perform: dynamodb:GetItem on resource: \S+$/m, "$name: the rest is denied");
	}
	is($server->safe_psql($database, 'SELECT count(*) FROM t', extra_params => [ '-U', 'app' ]), 4, "$name: others have what they had");
}
check($node, 'postgres', 'here');

my $dir = $node->basedir;
$node->command_ok([ 'pg_dumpall', '--roles-only', '-f', "$dir/roles.sql" ], 'roles');
$node->command_ok([ 'pg_dump', '-f', "$dir/plain.sql", 'postgres' ], 'pg_dump');
$node->command_ok([ 'pg_dump', '-Fd', '-j2', '-f', "$dir/directory", 'postgres' ], 'pg_dump -Fd');
$node->safe_psql('postgres', 'CREATE DATABASE plain');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/plain.sql", 'plain' ], 'psql restores');
check($node, 'plain', 'a plain dump');

# Another cluster, in which roles get other OIDs.
my $other = PostgreSQL::Test::Cluster->new('other');
$other->init;
$other->start;
$other->safe_psql('postgres', join ';', map { "CREATE ROLE before$_" } 1 .. 5);
$other->psql('postgres', slurp_file("$dir/roles.sql"), on_error_stop => 0);
$other->safe_psql('postgres', 'CREATE DATABASE directory');
$other->command_ok([ 'pg_restore', '-j2', '--exit-on-error', '-d', 'directory', "$dir/directory" ], 'pg_restore');
check($other, 'directory', 'another cluster');
$other->stop;

# Sessions that have called before: each next call knows.
for my $store (qw(on off))
{
	my $session = $node->background_psql('postgres', extra_params => [ '-U', 'tenant' ], on_error_stop => 0);
	my $call = q{SELECT count(*) FROM dyn_query('t', 'pk = :p', vals => '{":p": {"S": "it''s"}}');};
	$session->query("SET dynamo_table.direct_store = $store; PREPARE q AS $call");
	is($session->query('EXECUTE q'), '1', "direct_store = $store: a call");
	$node->safe_psql('postgres', q{SELECT dyn_revoke_keys('t', 'tenant', '{Query}', ARRAY['${role}', 'it''s', 'back\slash', '"quoted"'])});
	is($session->query('EXECUTE q'), '', 'after what was granted is gone');
	is($session->query('SELECT count(*) FROM t'), '0', 'also by SQL');
	$node->safe_psql('postgres', q{SELECT dyn_grant_keys('t', 'tenant', '{Query}', ARRAY['${role}', 'it''s', 'back\slash', '"quoted"'])});
	is($session->query('EXECUTE q'), '1', 'and when it is granted again');
	$session->query("SET dynamo_table.direct_store = on");
	$session->quit;
}
is($node->safe_psql('postgres', $grants), $before, 'all is as it was');
$node->stop;
done_testing();
