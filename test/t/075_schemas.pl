# The schemas of the extension's objects: its own, which may be any, and dynamo_internal. Dumps of all that names them, restored by
# an owner who is no superuser.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use DynamoTable;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(allows_streaming => 'logical');
allow_plugin($node);
$node->start;
my $dbname = 'postgres';

sub value
{
	my ($sql, $role) = @_;
	return $node->safe_psql($dbname, $sql, extra_params => [ '-U', $role // 'postgres' ]);
}
sub error
{
	my ($sql, $role) = @_;
	return ($node->psql($dbname, $sql, extra_params => [ '-U', $role // 'postgres' ]))[2];
}

# A schema dynamo_internal that somebody else has made: nothing of it is taken for ours.
value(q{CREATE ROLE owner LOGIN; CREATE ROLE writer LOGIN; CREATE ROLE stranger LOGIN;
	CREATE DATABASE taken; GRANT CREATE ON DATABASE taken TO stranger});
$dbname = 'taken';
value('CREATE SCHEMA dynamo_internal; CREATE TABLE dynamo_internal.stream_secret AS SELECT sha256(\'known\') AS secret', 'stranger');
like(error('CREATE EXTENSION dynamo_table'), qr/schema "dynamo_internal" already exists/, 'the extension is not made in a schema of somebody else');
value('DROP SCHEMA dynamo_internal CASCADE', 'stranger');
value('CREATE EXTENSION dynamo_table');
like(error('CREATE TABLE dynamo_internal.mine ()', 'stranger'), qr/permission denied for schema dynamo_internal/, 'nobody makes anything there');
like(error('ALTER SCHEMA dynamo_internal RENAME TO mine', 'stranger'), qr/must be owner of schema dynamo_internal/, 'nor has another name for it');
like(error('DROP SCHEMA dynamo_internal CASCADE'), qr/because extension dynamo_table requires it/, 'and it stays while the extension does');
is(value(q{SELECT count(*) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = 'dynamo_internal' AND p.proname LIKE 'dyn%'}), '0',
	'names there have no prefix');

# In a schema of its own
$dbname = 'postgres';
value(q{CREATE SCHEMA x; CREATE EXTENSION dynamo_table SCHEMA x; GRANT USAGE ON SCHEMA x TO PUBLIC; CREATE SCHEMA data AUTHORIZATION owner;
	GRANT USAGE ON SCHEMA data TO writer; CALL x.dyn_setup_streams()});
is(value(q{SELECT string_agg(DISTINCT n.nspname, ' ' ORDER BY n.nspname) FROM pg_depend d JOIN pg_extension e ON d.refobjid = e.oid
	AND d.refclassid = 'pg_extension'::regclass
	LEFT JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid LEFT JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
	JOIN pg_namespace n ON n.oid IN (p.pronamespace, c.relnamespace) WHERE d.deptype = 'e' AND e.extname = 'dynamo_table'}), 'dynamo_internal x',
		'all is in the two schemas');
value(q{SET search_path = pg_catalog;
	SELECT x.dyn_create_table('data.app', 'pk S', 'sk S', global_indexes => '{"GSI1": {"partition_key": "GSI1PK S"}}');
	SELECT x.dyn_create_table('data.source', 'pk S');
	SELECT x.dyn_create_entity('data.app', 'Org', '{"pk": "ORG#<Id>", "sk": "ORG", "GSI1PK": "<Name>"}', '{"Id": "S", "Name": "S"}');
	SELECT x.dyn_put_entity('data.app', 'Org', '{"Id": {"S": "1"}, "Name": {"S": "one"}}');
	SELECT x.dyn_create_entity_view('data.app', 'Org', 'orgs');
	SELECT x.dyn_enforce_entities('data.app');
	SELECT x.dyn_create_access_pattern('data.app', 'org', 'GetItem', '{"Key": {"pk": {"S": "ORG#<Id>"}, "sk": {"S": "ORG"}}}');
	SELECT x.dyn_enable_stream('data.app', 'NEW_IMAGE');
	CREATE TABLE data.orgs_of_old (id pg_catalog.text PRIMARY KEY, name pg_catalog.text);
	SELECT x.dyn_create_migration('data.app', 'm', '[{"entity": "Org", "from": "data.orgs_of_old", "attributes": {"Id": "id", "Name": "name"}}]');
	SELECT x.dyn_follow_migration('m');
	GRANT SELECT, INSERT, UPDATE, DELETE ON data.app, data.orgs, data.source, data.orgs_of_old TO writer}, 'owner');
value(q{SET search_path = pg_catalog; CALL x.dyn_enable_ttl('data.app', 'expires')}, 'owner');
value(q{SET search_path = pg_catalog; CALL x.dyn_create_index('data.source', 'i', 'g N')}, 'owner');

# Functions that are called by their qualified names work by any search_path, and operators by OPERATOR().
my @calls = (
	q{x.dyn_get('data.app', '{"pk": {"S": "ORG#1"}, "sk": {"S": "ORG"}}') OPERATOR(x.->>) 'Name'},
	q{(SELECT pg_catalog.count(*) FROM x.dyn_query('data.app', 'GSI1PK = :g', vals => '{":g": {"S": "one"}}', index_name => 'GSI1'))},
	q{(SELECT pg_catalog.count(*) FROM x.dyn_scan('data.app'))},
	q{x.dyn_get_entity('data.app', 'Org', '{"Id": {"S": "1"}}') OPERATOR(x.->>) 'Name'},
	q{(SELECT "Name" FROM data.orgs WHERE "Id" = '1')},
	q{(SELECT i OPERATOR(x.->>) 'Name' FROM x.dyn_run_access_pattern('data.app', 'org', '{"Id": {"S": "1"}}') i)},
	q{x.dyn_request('Scan', '{"TableName": "data.app", "Select": "COUNT"}') ->> 'Count'},
	q{(SELECT pg_catalog.count(*) FROM x.dyn_check_table('data.app'))},
	q{(SELECT pg_catalog.count(*) FROM x.dyn_check_entities('data.app'))},
	q{(SELECT pg_catalog.count(*) FROM x.dyn_verify_migration('m'))},
	q{(SELECT attribute FROM x.dyn_ttl_tables WHERE relation = 'data.app'::regclass)},
	q{(SELECT view_type FROM x.dyn_streams WHERE relation = 'data.app'::regclass)},
	q{(SELECT state FROM x.dyn_jobs)},
	q{x.dyn_transact('[{"Put": {"TableName": "data.source", "Item": {"pk": {"S": "t"}}}}]', 'token')},
	q{(SELECT pg_catalog.count(*) FROM (SELECT item FROM data.app GROUP BY item) g)},
	q{x.dyn_matches('{"a": {"N": "1"}}', 'a = :a', vals => '{":a": {"N": "1"}}')},
	q{('{"a": 1}'::pg_catalog.jsonb::x.dyn_item)::pg_catalog.jsonb ->> 'a'},
	q{'{"a": {"N": "1.0"}}'::x.dyn_item OPERATOR(x.=) '{"a": {"N": "1"}}'},
	q{'{"a": {"L": [{"S": "b"}]}}'::x.dyn_item OPERATOR(x.->) 'a' OPERATOR(x.->>) 0},
	q{'{"a": {"L": [{"S": "b"}]}}'::x.dyn_item OPERATOR(x.#>>) '{a,0}'},
	q{'{"a": {"S": "b"}}'::x.dyn_item OPERATOR(x.?) 'a'});
my @results = ('one', 1, 1, 'one', 'one', 'one', 1, 0, 0, 1, 'expires', 'NEW_IMAGE', 'not begun', 't', 1, 't', 1, 't', 'b', 'b', 't');
is(value("SET search_path = pg_catalog; SELECT $calls[$_]", 'owner'), $results[$_], $calls[$_]) for 0 .. $#calls;
# In their short form, wherever on the search_path the schema is
foreach my $path ('data, x', 'x, data', 'pg_catalog, x, data')
{
	is(value(qq{SET search_path = $path; SELECT item -> 'Name', item ->> 'Name', item #>> '{Name}', item ? 'Name', item ? 'nope', item = item FROM app
		WHERE item -> 'Id' = '{"S":"1"}'}, 'owner'),
		'{"S":"one"}|one|one|t|f|t', "operators by search_path $path");
}
like(error(q{SELECT item ->> 'Name' FROM data.app}, 'owner'), qr/operator does not exist/, 'without the schema there are none');

# Dumps, restored by the owner of the tables into a database that has the extension
my $dir = $node->basedir;
$node->command_ok([ 'pg_dump', '-U', 'owner', '-n', 'data', '-f', "$dir/plain.sql", 'postgres' ], 'a plain dump by the owner');
$node->command_ok([ 'pg_dump', '-U', 'owner', '-n', 'data', '-Fc', '-f', "$dir/custom", 'postgres' ], 'a custom one');
foreach my $kind ('plain', 'custom')
{
	$dbname = 'postgres';
	value("CREATE DATABASE $kind OWNER owner");
	$dbname = $kind;
	value('CREATE SCHEMA x; CREATE EXTENSION dynamo_table SCHEMA x; GRANT USAGE ON SCHEMA x TO PUBLIC');
	$node->command_ok($kind eq 'plain' ? [ 'psql', '-X', '-q', '-U', 'owner', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/plain.sql", $kind ]
		: [ 'pg_restore', '-U', 'owner', '--exit-on-error', '-d', $kind, "$dir/custom" ], "$kind: restored by the owner");
	is(value(q{SELECT count(*) FROM x.dyn_check_table('data.app')}, 'owner'), '0', "$kind: the table is sound");
	# what constraints, triggers and views call is executed with the rights of whoever writes
	value(q{INSERT INTO data.app (item) VALUES
		('{"pk":{"S":"ORG#2"},"sk":{"S":"ORG"},"Type":{"S":"Org"},"Id":{"S":"2"},"Name":{"S":"two"},"GSI1PK":{"S":"two"},"expires":{"N":"9e9"}}')}, 'writer');
	is(value(q{SELECT pk, "GSI1PK", "~ttl" FROM data.app WHERE pk = 'ORG#2'}, 'writer'), 'ORG#2|two|9000000000',
		"$kind: a plain INSERT of who has that right alone");
	like(error(q{INSERT INTO data.app (item) VALUES ('{"pk":{"S":"a"},"sk":{"S":"b"}}')}, 'writer'), qr/none of the entities/, "$kind: entities are enforced");
	value(q{INSERT INTO data.orgs ("Id", "Name") VALUES ('3', 'three'); UPDATE data.orgs SET "Name" = 'THREE' WHERE "Id" = '3'; INSERT INTO data.orgs_of_old
		VALUES ('4', 'four')}, 'writer');
	is(value(q{SELECT string_agg("Name", ' ' ORDER BY "Id") FROM data.orgs}, 'writer'), 'one two THREE four', "$kind: by the view, and by the followed migration");
	is(value(q{SELECT count(*) FROM x.dyn_query('data.app', 'GSI1PK = :g', vals => '{":g":{"S":"four"}}', index_name => 'GSI1')}, 'writer'), '1',
		"$kind: the index has it");
	is(value(q{SELECT view_type, status FROM x.dyn_streams}, 'owner') . value(q{SELECT attribute, status FROM x.dyn_ttl_tables}, 'owner'),
		'NEW_IMAGE|ENABLEDexpires|ENABLED', "$kind: stream and time to live");
	like(error(q{SELECT * FROM dynamo_internal.jobs}, 'owner'), qr/permission denied for table jobs/, "$kind: the owner of the tables has no right on ours");
}

# DROP EXTENSION
$dbname = 'postgres';
value(q{SELECT x.dyn_disable_stream('data.app')});
value('SET client_min_messages = error; CALL x.dyn_teardown_streams(); DROP EXTENSION dynamo_table CASCADE');
is(value(q{SELECT count(*) FROM pg_namespace WHERE nspname = 'dynamo_internal'}), '0', 'the schema goes with the extension');
is(value(q{SELECT (SELECT count(*) FROM pg_proc WHERE probin LIKE '%dynamo_table%') + (SELECT count(*) FROM pg_class
	WHERE relname LIKE 'dyn\_%') + (SELECT count(*) FROM pg_am WHERE amname = 'dynamo_table')}), '0', 'and all else');
value('CREATE EXTENSION dynamo_table SCHEMA x');
is(value(q{SELECT x.dyn_error_name('YD008')}), 'ResourceNotFoundException', 'and it comes back');

done_testing();
