# Access keys: gateways hear of every change, dumps have none, and after an export and an import a key is the same role's, or nobody's.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;
use Frontend;

sub new_node
{
	my ($name) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	# keys know the cluster that they come from, so each is made by itself
	delete local $ENV{INITDB_TEMPLATE};
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
my $keys = q{SELECT key_id, role_name, role = (SELECT oid FROM pg_roles WHERE rolname = role_name) AS role, encode(encrypted_secret, 'escape') AS secret,
	enabled,
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
is($gateway->query($keys), "DROPPED|dropped|t|secret|t|t\nOTHER|the \"other\"|t|other's|t|t\nRENAMED|renamed|t|secret|t|t\nTENANT|tenant|t|secret|t|t",
	'keys are bound to roles');

# A role that is dropped in another database takes its keys with it, and who gets its name does not get them.
$node->safe_psql('template1', q{DROP ROLE dropped; CREATE ROLE dropped; ALTER ROLE renamed RENAME TO other_name; SELECT 1});
is($node->safe_psql('postgres', $states), 'DROPPED: role missing, OTHER: active, RENAMED: role missing, TENANT: active',
	'a role that is dropped, and one that is renamed');
is($gateway->query($keys), "OTHER|the \"other\"|t|other's|t|t\nTENANT|tenant|t|secret|t|t", 'keys of roles that are left');
$node->safe_psql('postgres', q{SELECT dyn_alter_access_key('TENANT', enabled => false, valid_until => '2100-01-01 00:00+00')});

# A dump has no keys, but what makes a role a login of gateways.  The keys are exported and imported.
my $dir = $node->basedir;
my $usable = "OTHER|the \"other\"|t|other's|t|t\nTENANT|tenant|t|secret|f|f";
$node->command_ok([ 'pg_dump', '-f', "$dir/plain.sql", 'postgres' ], 'a plain dump');
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$dir/custom", 'postgres' ], 'a custom one');
unlike(slurp_file("$dir/plain.sql"), qr/TENANT|COPY/, 'it has no keys');
$node->safe_psql('postgres', 'CREATE DATABASE same');
$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/plain.sql", 'same' ], 'restored beside it');
is($node->safe_psql('same', $keys), '', 'no keys');
is($node->safe_psql('same', q{SELECT has_function_privilege('gateway', 'dynamo_internal.request_as(regrole, text, text, text, text[])', 'EXECUTE')
	AND has_function_privilege('gateway', 'dynamo_internal.gateway_keys()', 'EXECUTE')}),
	't', 'the login of gateways is one, too');

# as the reference says
sub export_keys { append_to_file($_[1], $_[0]->safe_psql('postgres', 'SELECT dyn_export_access_keys()')) }
sub import_keys
{
	my ($other, $db, $file) = @_;
	return ($other->psql($db, "\\set keys `cat $file`\nSELECT dyn_import_access_keys(:'keys')", on_error_stop => 0))[1, 2];
}
export_keys($node, "$dir/keys");
is((import_keys($node, 'same', "$dir/keys"))[0], '2', 'imported beside it');
is($node->safe_psql('same', $keys), $usable, 'the same keys');
$node->safe_psql('same', q{DELETE FROM dynamo_internal.access_key; ALTER ROLE tenant RENAME TO tenant_before; CREATE ROLE tenant});
like((import_keys($node, 'same', "$dir/keys"))[1], qr/ERROR:  role must not be null/, 'not for another role of the name');
$node->safe_psql('same', q{DROP ROLE tenant; ALTER ROLE tenant_before RENAME TO tenant});

my $elsewhere = new_node('elsewhere');
# OIDs of others, and a role that is missing
my $tenant = $node->safe_psql('postgres', q{SELECT oid FROM pg_roles WHERE rolname = 'tenant'});
$elsewhere->safe_psql('postgres', q{CREATE ROLE gateway LOGIN; CREATE ROLE dropped; CREATE ROLE renamed; CREATE ROLE other_name; CREATE ROLE first;
	CREATE ROLE second; CREATE ROLE third; CREATE ROLE tenant});
$elsewhere->command_ok([ 'pg_restore', '--exit-on-error', '-d', 'postgres', "$dir/custom" ], 'restored elsewhere');
like((import_keys($elsewhere, 'postgres', "$dir/keys"))[1], qr/ERROR:  role "the "other"" does not exist/, 'keys of roles that are missing');
is($elsewhere->safe_psql('postgres', $keys), '', 'all or none');
$elsewhere->safe_psql('postgres', q{CREATE ROLE "the ""other"""});
is((import_keys($elsewhere, 'postgres', "$dir/keys"))[0], '2', 'imported by names');
is($elsewhere->safe_psql('postgres', $keys), $usable, 'the same keys');
ok($elsewhere->safe_psql('postgres', q{SELECT role FROM dynamo_internal.gateway_keys() WHERE key_id = 'TENANT'}) ne $tenant, 'by other OIDs');

# Who may not read the keys can dump the database: its owner, and who may read all data.
$node->safe_psql('postgres', q{CREATE ROLE boss LOGIN; CREATE ROLE dumper LOGIN; GRANT pg_read_all_data TO dumper; CREATE DATABASE shop OWNER boss});
$node->safe_psql('shop', q{CREATE EXTENSION dynamo_table; SELECT dyn_create_access_key('TENANT', 'tenant', 'secret')});
$node->safe_psql('shop', q{
	SELECT dyn_create_table('app', 'pk S', 'sk N', global_indexes => '{"by_kind": {"partition_key": "kind S"}}');
	SELECT dyn_create_entity('app', 'A', '{"pk": "A#<Id>", "sk": "<N>"}', '{"Id": "S text", "N": "N integer", "kind": "S text"}');
	SELECT dyn_create_entity_view('app', 'A', 'a_view');
	SELECT dyn_put('app', '{"pk":{"S":"A#1"},"sk":{"N":"1"},"kind":{"S":"k"},"Id":{"S":"1"},"N":{"N":"1"}}')}, extra_params => [ '-U', 'boss' ]);
my $state = q{
	SELECT conrelid::regclass, pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace UNION ALL
	SELECT tgrelid::regclass, pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'public.app'::regclass UNION ALL
	SELECT indrelid::regclass, pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'public.app'::regclass UNION ALL
	SELECT 'app', a_view::text FROM a_view ORDER BY 1, 2};
my $before = $node->safe_psql('shop', $state);
foreach my $role ('boss', 'dumper')
{
	$node->command_ok([ 'pg_dump', '-U', $role, '-f', "$dir/$role.sql", 'shop' ], "a plain dump by $role");
	$node->command_ok([ 'pg_dump', '-U', $role, '-Fd', '-j2', '-f', "$dir/$role", 'shop' ], "in parallel by $role");
	unlike(slurp_file("$dir/$role.sql"), qr/TENANT/, 'it has no keys');
	foreach my $restore ([ 'psql', '-Xq', '-f', "$dir/$role.sql" ], [ 'pg_restore', '--exit-on-error', '--no-comments', "$dir/$role" ])
	{
		$node->safe_psql('postgres', 'CREATE DATABASE restored OWNER boss');
		$node->safe_psql('restored', 'CREATE EXTENSION dynamo_table');
		$node->command_ok([ @$restore, '-U', 'boss', '-d', 'restored' ], "the owner restores it by $restore->[0]");
		is($node->safe_psql('restored', $state), $before, 'with keys, triggers, indexes and views');
		is($node->safe_psql('restored', q{SELECT * FROM dyn_check_table('app')}, extra_params => [ '-U', 'boss' ]), '', 'nothing is wrong with it');
		is($node->safe_psql('restored', 'SELECT count(*) FROM dyn_access_keys'), '0', 'without access keys');
		$node->safe_psql('postgres', 'DROP DATABASE restored');
	}
}
# no other table of the extension's is dumped, whoever may read it
is($node->safe_psql('shop', q{SELECT count(*) FROM pg_extension WHERE extconfig IS NOT NULL}), '0', 'no table of an extension is dumped');
$gateway->close;

# A gateway in front of a standby has the keys, and can read.
$node->safe_psql('postgres', q{GRANT tenant TO gateway; SELECT dyn_create_table('app', 'pk S'); SELECT dyn_put('app', '{"pk":{"S":"1"}}'); GRANT SELECT,
	INSERT ON app TO tenant});
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
$gateway = Frontend->new($standby, 'gateway');
is($gateway->query($keys), $usable, 'keys on a standby');
is($gateway->query(q{SELECT dynamo_internal.request_as('tenant', 'GetItem', '{"TableName":"app","Key":{"pk":{"S":"1"}}}')}), '{"Item":{"pk":{"S":"1"}}}',
	'a read on a standby');
$gateway->prepare('request', 'SELECT dynamo_internal.request_as($1, $2, $3)');
is($gateway->execute('request', 'tenant', 'PutItem', '{"TableName":"app","Item":{"pk":{"S":"2"}}}')->{error}{C}, '25006', 'no write');
$gateway->close;
done_testing();
