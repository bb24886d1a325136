# Entities go with their table: pg_dump in its variants, restored, renamed, copied.
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
	CREATE SCHEMA models;
	CREATE TYPE models.mood AS ENUM ('good', 'bad');
	SELECT dyn_create_table('models.told', 'PK S', 'SK S'), dyn_create_table('models.enforced', 'PK S', 'SK S');
	SELECT dyn_create_entity(t, 'it''s', '{"PK": "A\\\\#<Id>", "SK": [{"when": {"Mood": "bad"}, "template": "<N:05>"}, {"template": "ü"}]}',
		'{"Id": {"type": "S", "stored": "i"}, "Mood": "S models.mood", "N": "N", "At": {"type": "S timestamptz(3)", "default": "now"}}')
		FROM (VALUES ('models.told'), ('models.enforced')) v(t);
	SELECT dyn_put_entity('models.enforced', 'it''s', '{"Id": "a", "Mood": "good"}'::jsonb);
	SELECT dyn_enforce_entities('models.enforced')});
my $entities = q{SELECT t, e, (SELECT string_agg(format('%s %s', tgname, tgenabled), ', ' ORDER BY tgname) FROM pg_trigger WHERE tgrelid = t::regclass)
	FROM (VALUES ('models.told'), ('models.enforced')) v(t), dyn_entities(t) e};
my $declared = $node->safe_psql('postgres', $entities);
like($declared, qr/told.*it's.*models\.mood.*\|~dynamo_keys A\n.*enforced.*\|~dynamo_keys A, ~dynamo_model_check A$/s,
	'one declared, one enforced');

sub restored
{
	my ($dbname, $name) = @_;
	is($node->safe_psql($dbname, $entities), $declared, "$name: entities");
	my ($code, $out, $err) = $node->psql($dbname, q{SELECT dyn_put('models.enforced', '{"PK": "a", "SK": "b"}'::jsonb)});
	like($err, qr/none of the entities/, "$name: enforced");
	is($node->safe_psql($dbname, q{SELECT dyn_put('models.told', '{"PK": "a", "SK": "b"}'::jsonb)}), '', "$name: not enforced");
	is($node->safe_psql($dbname, q{SELECT dyn_get_entity('models.enforced', 'it''s', '{"Id": "a"}'::jsonb) ->> 'Mood'}),
		'good', "$name: read by them");
	($code, $out, $err) = $node->psql($dbname, q{SELECT dyn_put_entity('models.told', 'it''s', '{"Id": "a", "Mood": "evil"}'::jsonb)});
	like($err, qr/not of type S models\.mood/, "$name: types");
}

my $dir = $node->basedir;
$node->command_ok([ 'pg_dump', '-f', "$dir/plain.sql", 'postgres' ], 'pg_dump');
$node->safe_psql('postgres', 'CREATE DATABASE plain');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/plain.sql", 'plain' ], 'psql restores');
restored('plain', 'plain');

# A dump of the tables alone, into a database that has the type and the extension.
$node->command_ok([ 'pg_dump', '-Fc', '-t', 'models.*', '-f', "$dir/tables", 'postgres' ], 'pg_dump -t');
$node->safe_psql('postgres', 'CREATE DATABASE tables');
$node->safe_psql('tables', q{CREATE EXTENSION dynamo_table; CREATE SCHEMA models; CREATE TYPE models.mood AS ENUM ('good', 'bad')});
$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', 'tables', "$dir/tables" ], 'pg_restore');
restored('tables', 'tables');

# Data alone, into tables that are there: the restore switches all their triggers off and on again, and that is
# not what says whether entities are enforced.
$node->safe_psql('postgres', 'CREATE DATABASE data');
$node->safe_psql('data', q{CREATE EXTENSION dynamo_table; CREATE SCHEMA models; CREATE TYPE models.mood AS ENUM ('good', 'bad')});
$node->command_ok([ 'pg_restore', '--exit-on-error', '--schema-only', '-d', 'data', "$dir/tables" ], 'pg_restore --schema-only');
$node->command_ok([ 'pg_restore', '--exit-on-error', '--data-only', '--disable-triggers', '-d', 'data', "$dir/tables" ],
	'pg_restore --data-only --disable-triggers');
like($node->safe_psql('data', $entities), qr/\|~dynamo_keys O\n.*\|~dynamo_keys O, ~dynamo_model_check O$/s,
	'triggers after a restore of data');
$node->safe_psql('data', $_)
  for q{SELECT dyn_put('models.told', '{"PK": "a", "SK": "b"}'::jsonb)},
  q{SELECT dyn_delete('models.told', '{"PK": "a", "SK": "b"}'::jsonb)};
my ($code, $out, $err) = $node->psql('data', q{SELECT dyn_put('models.enforced', '{"PK": "a", "SK": "b"}'::jsonb)});
like($err, qr/none of the entities/, 'enforced as before');
($code, $out, $err) = $node->psql('data', q{SET session_replication_role = replica; INSERT INTO models.told (item, "PK", "SK")
	VALUES ('{"PK": "a", "SK": "b"}'::jsonb, 'b', 'a')});
like($err, qr/violates check constraint "dynamo_keys"/, 'and the constraint guards rows that the trigger does not see');
is($node->safe_psql('data', q{SELECT string_agg(object, ', ') FROM dyn_check_table('models.enforced')}),
	'trigger "~dynamo_keys", trigger "~dynamo_model_check"', 'what the check says');
# Every call that changes a table makes its triggers fire as they did.
$node->safe_psql('data', q{SELECT dyn_alter_table(t, '{"placement": true}') FROM (VALUES ('models.told'), ('models.enforced')) v(t)});
restored('data', 'data alone');
is($node->safe_psql('data', q{SELECT count(*) FROM (VALUES ('models.told'), ('models.enforced')) v(t), dyn_check_table(t)}), '0',
	'nothing to mend');

# Names may change; what is declared stays.
$node->safe_psql('plain', 'ALTER TABLE models.enforced RENAME TO other; ALTER TABLE models.other SET SCHEMA public');
is($node->safe_psql('plain', q{SELECT dyn_get_entity('other', 'it''s', '{"Id": "a"}'::jsonb) ->> 'Mood'}), 'good', 'renamed');
$node->stop;
done_testing();
