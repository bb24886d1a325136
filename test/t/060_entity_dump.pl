# Entities go with their table: pg_dump in its variants, restored, renamed, copied.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION dynamo_table;
	CREATE SCHEMA models;
	CREATE TYPE models.mood AS ENUM ('good', 'bad');
	SELECT dyn_create_table('models.told', 'PK S', 'SK S'), dyn_create_table('models.enforced', 'PK S', 'SK S');
	SELECT dyn_entity(t, 'it''s', '{"PK": "A\\\\#<Id>", "SK": [{"when": {"Mood": "bad"}, "template": "<N:05>"}, {"template": "ü"}]}',
		'{"Id": {"type": "S", "stored": "i"}, "Mood": "S models.mood", "N": "N", "At": {"type": "S timestamptz(3)", "default": "now"}}')
		FROM (VALUES ('models.told'), ('models.enforced')) v(t);
	SELECT dyn_put_entity('models.enforced', 'it''s', '{"Id": "a", "Mood": "good"}'::jsonb);
	SELECT dyn_entity_enforce('models.enforced')});
my $entities = q{SELECT t, e, (SELECT tgenabled FROM pg_trigger WHERE tgrelid = t::regclass AND tgname = '~dynamo_model')
	FROM (VALUES ('models.told'), ('models.enforced')) v(t), dyn_entities(t) e};
my $declared = $node->safe_psql('postgres', $entities);
like($declared, qr/told.*it's.*models\.mood.*\|D\n.*enforced.*\|A$/s, 'one declared, one enforced');

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

# Names may change; what is declared stays.
$node->safe_psql('plain', 'ALTER TABLE models.enforced RENAME TO other; ALTER TABLE models.other SET SCHEMA public');
is($node->safe_psql('plain', q{SELECT dyn_get_entity('other', 'it''s', '{"Id": "a"}'::jsonb) ->> 'Mood'}), 'good', 'renamed');
$node->stop;
done_testing();
