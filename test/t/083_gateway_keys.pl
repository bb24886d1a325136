# Access keys: gateways hear of every change, and after a dump and a restore a key is the same role's, or nobody's.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Frontend;

sub new_node
{
	my ($name) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(allows_streaming => 1);
	$node->append_conf('postgresql.conf', 'client_min_messages = warning');
	$node->start;
	return $node;
}

my $node = new_node('main');
$node->safe_psql('postgres', q{
	CREATE EXTENSION dynamo_table;
	CREATE ROLE gateway LOGIN;
	CREATE ROLE tenant;
	CREATE ROLE dropped;
	CREATE ROLE "the ""other""";
	CREATE ROLE renamed;
	GRANT EXECUTE ON FUNCTION dynamo_internal.request_as, dynamo_internal.gateway_keys TO gateway});

# What gateways have of keys: whose they are, by name and by OID.
my $keys = q{SELECT key_id, role_name, role = (SELECT oid FROM pg_roles WHERE rolname = role_name) AS role, encode(encrypted_secret, 'escape') AS secret, enabled,
	valid_until = 'infinity' AS for_ever FROM dynamo_internal.gateway_keys() ORDER BY key_id};
my $states = q{SELECT string_agg(key_id || ': ' || state, ', ' ORDER BY key_id) FROM dyn_access_keys};

# changes
my $gateway = Frontend->new($node, 'gateway');
$gateway->query('LISTEN dynamo_access_key');
sub hears
{
	my ($sql, $expected, $name) = @_;
	$node->safe_psql('postgres', $sql);
	# notifications come with the next answer
	$gateway->query('SELECT 1');
	is(scalar(@{ $gateway->{notifications} }), $expected, "notifications: $name");
	$gateway->{notifications} = [];
}
hears(q{SELECT dyn_create_access_key('TENANT', 'tenant', 'secret')}, 1, 'create');
hears(q{SELECT dyn_alter_access_key('TENANT', enabled => false)}, 1, 'alter');
hears(q{SELECT dyn_drop_access_key('TENANT')}, 1, 'drop');
hears(q{BEGIN; SELECT dyn_create_access_key('TENANT', 'tenant', 'secret'); ROLLBACK}, 0, 'nothing has happened');
hears(q{BEGIN; SELECT dyn_create_access_key('TENANT', 'tenant', 'secret'), dyn_create_access_key('DROPPED', 'dropped', 'secret'); COMMIT}, 1, 'a transaction');
hears(q{INSERT INTO dynamo_internal.access_key (key_id, role, encrypted_secret, enabled) VALUES ('OTHER', 'the "other"', 'other''s', false)}, 1, 'INSERT');
hears(q{UPDATE dynamo_internal.access_key SET enabled = true}, 1, 'UPDATE');
hears(q{DELETE FROM dynamo_internal.access_key WHERE key_id = 'DROPPED'}, 1, 'DELETE');
hears("COPY dynamo_internal.access_key (key_id, role, encrypted_secret) FROM stdin;\nDROPPED\tdropped\tsecret\nRENAMED\trenamed\tsecret\n\\.\n", 1, 'COPY');
is($gateway->query($keys), "DROPPED|dropped|t|secret|t|t\nOTHER|the \"other\"|t|other's|t|t\nRENAMED|renamed|t|secret|t|t\nTENANT|tenant|t|secret|t|t", 'keys are bound to roles');

# A role that is dropped in another database takes its keys with it, and who gets its name does not get them.
$node->safe_psql('template1', q{DROP ROLE dropped; CREATE ROLE dropped; ALTER ROLE renamed RENAME TO other_name; SELECT 1});
is($node->safe_psql('postgres', $states), 'DROPPED: role missing, OTHER: active, RENAMED: role missing, TENANT: active', 'a role that is dropped, and one that is renamed');
is($gateway->query($keys), "OTHER|the \"other\"|t|other's|t|t\nTENANT|tenant|t|secret|t|t", 'keys of roles that are left');
$node->safe_psql('postgres', q{SELECT dyn_alter_access_key('TENANT', enabled => false, valid_until => '2100-01-01 00:00+00')});

# A dump has the keys that can be used; they are bound by the names of roles, whatever OIDs these have.
my $dir = $node->basedir;
my $usable = "OTHER|the \"other\"|t|other's|t|t\nTENANT|tenant|t|secret|f|f";
$node->command_ok([ 'pg_dump', '-f', "$dir/plain.sql", 'postgres' ], 'a plain dump');
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$dir/custom", 'postgres' ], 'a custom one');
unlike(slurp_file("$dir/plain.sql"), qr/DROPPED|RENAMED/, 'keys whose roles are gone are not dumped');
$node->safe_psql('postgres', 'CREATE DATABASE same; CREATE DATABASE data');
$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/plain.sql", 'same' ], 'restored beside it');
is($node->safe_psql('same', $keys), $usable, 'the same keys');
is($node->safe_psql('same', q{SELECT has_function_privilege('gateway', 'dynamo_internal.request_as(regrole, text, text)', 'EXECUTE') AND has_function_privilege('gateway', 'dynamo_internal.gateway_keys()', 'EXECUTE')}),
	't', 'the login of gateways is one, too');

my $elsewhere = new_node('elsewhere');
# OIDs of others, and a role that is missing
my $tenant = $node->safe_psql('postgres', q{SELECT oid FROM pg_roles WHERE rolname = 'tenant'});
$elsewhere->safe_psql('postgres', q{CREATE ROLE gateway LOGIN; CREATE ROLE dropped; CREATE ROLE renamed; CREATE ROLE other_name; CREATE ROLE first; CREATE ROLE second; CREATE ROLE third; CREATE ROLE tenant});
$elsewhere->command_ok([ 'pg_restore', '-d', 'postgres', "$dir/custom" ], 'restored elsewhere');
is($elsewhere->safe_psql('postgres', $keys), 'TENANT|tenant|t|secret|f|f', 'keys of roles that are there');
ok($elsewhere->safe_psql('postgres', q{SELECT role FROM dynamo_internal.gateway_keys()}) ne $tenant, 'by other OIDs');
is($elsewhere->safe_psql('postgres', $states), 'OTHER: role missing, TENANT: disabled', 'the other is kept');
$elsewhere->safe_psql('postgres', q{CREATE ROLE "the ""other"""});
is($elsewhere->safe_psql('postgres', $states), 'OTHER: role missing, TENANT: disabled', 'and is not that of a role to come');
$elsewhere->safe_psql('postgres', q{UPDATE dynamo_internal.access_key SET role = role WHERE role_oid IS NULL});
is($elsewhere->safe_psql('postgres', $keys), $usable, 'unless somebody says so');

# Data alone, without triggers, have the OIDs of the dump: such keys are of the same role, or of none.
$node->command_ok([ 'pg_dump', '-Fc', '--data-only', '--disable-triggers', '-f', "$dir/data", 'postgres' ], 'data alone');
foreach my $to ([ $node, 'data', $usable ], [ $elsewhere, 'data', '' ])
{
	my ($other, $db, $expected) = @$to;
	$other->safe_psql('postgres', "CREATE DATABASE $db") if $other == $elsewhere;
	$other->safe_psql($db, 'CREATE EXTENSION dynamo_table');
	$other->command_ok([ 'pg_restore', '--data-only', '--disable-triggers', '-d', $db, "$dir/data" ], 'restored without triggers');
	is($other->safe_psql($db, $keys), $expected, 'keys are of the same roles, or of none');
}
is($elsewhere->safe_psql('data', $states), 'OTHER: role missing, TENANT: role missing', 'they have lost their roles');

# Who may not read the keys leaves them out.
$node->safe_psql('postgres', q{CREATE ROLE dumper LOGIN; GRANT pg_read_all_data TO dumper});
$node->command_fails([ 'pg_dump', '-U', 'dumper', '-f', "$dir/denied", 'postgres' ], 'a dump by another role');
$node->command_ok([ 'pg_dump', '-U', 'dumper', '--exclude-table-data=dynamo_internal.access_key', '-f', "$dir/without", 'postgres' ], 'without keys');
$gateway->close;

# A gateway in front of a standby has the keys, and can read.
$node->safe_psql('postgres', q{GRANT tenant TO gateway; SELECT dyn_create_table('app', 'pk S'); SELECT dyn_put('app', '{"pk":{"S":"1"}}'); GRANT SELECT, INSERT ON app TO tenant});
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
$gateway = Frontend->new($standby, 'gateway');
is($gateway->query($keys), $usable, 'keys on a standby');
is($gateway->query(q{SELECT dynamo_internal.request_as('tenant', 'GetItem', '{"TableName":"app","Key":{"pk":{"S":"1"}}}')}), '{"Item":{"pk":{"S":"1"}}}', 'a read on a standby');
$gateway->prepare('request', 'SELECT dynamo_internal.request_as($1, $2, $3)');
is($gateway->execute('request', 'tenant', 'PutItem', '{"TableName":"app","Item":{"pk":{"S":"2"}}}')->{error}{C}, '25006', 'no write');
$gateway->close;
done_testing();
