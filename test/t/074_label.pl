# What is said about a table is its security label: dumps of all kinds, restored in all ways, by sessions that have not
# loaded the library; the locks that a change takes; and who sees it.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(allows_streaming => 'logical');
allow_plugin($node);
# shared_preload_libraries is empty
$node->append_conf('postgresql.conf', q{
	autovacuum = off
	deadlock_timeout = 100ms
});
$node->start;
my $dir = $node->basedir;

sub value
{
	my ($dbname, $sql) = @_;
	return $node->safe_psql($dbname, $sql);
}

sub errors
{
	my ($dbname, $sql, @more) = @_;
	my ($code, $out, $err) = $node->psql($dbname, $sql, @more);
	return $err;
}

value('postgres', 'CREATE ROLE owner LOGIN; CREATE ROLE other LOGIN; CREATE DATABASE source');
value('source', q{
	CREATE EXTENSION dynamo_table;
	GRANT CREATE ON DATABASE source TO owner;
	SET ROLE owner;
	CREATE SCHEMA shop;
	SET search_path = shop, public;
	CREATE TABLE customers (id int PRIMARY KEY, name text);
	INSERT INTO customers VALUES (1, 'one'), (2, 'two');
	SELECT dyn_create_table('app', 'pk S'), dyn_create_table('enforced', 'pk S');
	SELECT dyn_create_entity('app', 'Customer', '{"pk": "CUSTOMER#<Id>"}', '{"Id": "N integer", "Name": "S"}');
	SELECT dyn_create_access_pattern('app', 'customer', 'GetItem', '{"Key": {"pk": {"S": "CUSTOMER#<Id>"}}}', 'Customer');
	SELECT dyn_create_migration('app', 'shop', '[{"entity": "Customer", "from": "shop.customers", "attributes": {"Id": "id", "Name": "name"}}]');
	SELECT dyn_alter_table('app', '{"deletion_protection": true, "tags": {"it''s": "\"é\""}}');
	SELECT dyn_create_entity('enforced', 'Note', '{"pk": "NOTE#<Id>"}', '{"Id": "S"}');
	SELECT dyn_put_entity('enforced', 'Note', '{"Id": "a"}'::jsonb);
	SELECT dyn_enforce_entities('enforced')});
value('source', q{SET ROLE owner; SET search_path = shop, public; CALL dyn_migrate('shop')});
value('source', q{SET ROLE owner; SET search_path = shop, public; SELECT dyn_follow_migration('shop')});

my $labels = q{SELECT objname, label FROM pg_seclabels WHERE provider = 'dynamo_table' ORDER BY 1};
my $declared = value('source', $labels);
like($declared, qr/^shop\.app\|.*"Customer".*"customer".*"shop".*tags.*\nshop\.enforced\|.*"Note"/, 'labels');

# All is as it was, and works.
sub restored
{
	my ($dbname, $name) = @_;
	my $path = 'SET search_path = shop, public;';
	is(value($dbname, $labels), $declared, "$name: labels");
	is(value($dbname, "$path SELECT (SELECT string_agg(entity, ',') FROM dyn_entities('app')),
		(SELECT string_agg(access_pattern, ',') FROM dyn_access_patterns('app')),
			(SELECT string_agg(name || ' ' || followed, ',') FROM dyn_jobs), dyn_describe_table('app') ->> 'DeletionProtectionEnabled'"),
		'Customer|customer|shop true|true', "$name: what is declared");
	like(errors($dbname, "$path SELECT dyn_drop_table('app')"), qr/currently protected against deletion/, "$name: protected");
	like(errors($dbname, "$path SELECT dyn_put('enforced', '{\"pk\": \"x\"}'::jsonb)"), qr/none of the entities/, "$name: enforced");
	value($dbname, "$path SELECT dyn_put_entity('enforced', 'Note', '{\"Id\": \"b\"}'::jsonb)");
	value($dbname, "$path UPDATE customers SET name = 'new' WHERE id = 1");
	is(value($dbname, "$path SELECT dyn_run_access_pattern('app', 'customer', '{\"Id\": 1}'::jsonb) ->> 'Name'"), 'new', "$name: followed");
	is(value($dbname, "$path SELECT count(*) FROM dyn_scan('app')"), '2', "$name: items");
	like(errors($dbname, "$path DROP TABLE app"),
		qr/cannot drop table app because .*DETAIL: +(trigger ~dynamo_follow\S+ \w+ on table customers depends on table app\s+){6}HINT/s,
		"$name: not dropped while it is followed");
	like(errors($dbname, "$path BEGIN; SELECT dyn_alter_table('app', '{\"deletion_protection\": false}'); SELECT dyn_drop_table('app')"),
		qr/ERROR:  table "app" cannot be dropped.*Migration "shop" follows table shop\.customers\..*dyn_follow_migration\('shop', enabled => false\)/s,
		"$name: nor by dyn_drop_table");
}

# Each restore is into a database of its own, in which all that is not in the dump is there.
sub database
{
	my ($dbname, $sql) = @_;
	value('postgres', "CREATE DATABASE $dbname");
	value($dbname, $sql) if defined $sql;
}

my $there = 'CREATE EXTENSION dynamo_table; CREATE SCHEMA shop AUTHORIZATION owner';
my @psql = ('psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1');
my @restore = ('pg_restore', '--exit-on-error');
my @files = ([ 'plain', '-Fp' ], [ 'custom', '-Fc' ], [ 'directory', '-Fd', '-j2' ]);
$node->command_ok([ 'pg_dump', @$_[1 .. $#$_], '-f', "$dir/$$_[0]", 'source' ], "pg_dump: $$_[0]") foreach @files;
database($_) foreach ('plain', 'custom', 'directory', 'sections', 'apart');
$node->command_ok([ @psql, '-f', "$dir/plain", 'plain' ], 'restore: plain');
$node->command_ok([ @restore, '-d', 'custom', "$dir/custom" ], 'restore: custom');
$node->command_ok([ @restore, '-j2', '-d', 'directory', "$dir/directory" ], 'restore: directory');
$node->command_ok([ @restore, "--section=$_", '-d', 'sections', "$dir/custom" ], "restore: section $_")
  foreach ('pre-data', 'data', 'post-data');
# the restore of data writes to the source as to any table, and its items are in the dump too
$node->command_ok([ @restore, '--schema-only', '-d', 'apart', "$dir/custom" ], 'restore: schema');
$node->command_ok([ @restore, '--data-only', '--disable-triggers', '-d', 'apart', "$dir/custom" ], 'restore: data');
value('apart', q{SET search_path = shop, public; SELECT dyn_alter_table(t, '{"placement": true}') FROM (VALUES ('app'), ('enforced')) v(t)});
restored($_, $_) foreach ('plain', 'custom', 'directory', 'sections', 'apart');
# what is there goes first, with another label
value('plain', q{SET search_path = shop, public; SELECT dyn_alter_table('app', '{"tags": {"other": "x"}}')});
$node->command_ok([ 'pg_dump', '--clean', '--if-exists', '-f', "$dir/clean", 'source' ], 'pg_dump --clean');
$node->command_ok([ @psql, '-f', "$dir/clean", 'plain' ], 'restore: clean');
restored('plain', 'clean');

# Some tables, and not by a superuser.
database($_, $there) foreach ('tables', 'owned');
$node->command_ok([ 'pg_dump', '-O', '-x', '-Fc', '-t', 'shop.*', '-f', "$dir/tables", 'source' ], 'pg_dump -t');
$node->command_ok([ @restore, '-d', 'tables', "$dir/tables" ], 'restore: tables');
restored('tables', 'tables');
$node->command_ok([ @restore, '-U', 'owner', '-d', 'owned', "$dir/tables" ], 'restore: by the owner');
is(value('owned', q{SELECT string_agg(DISTINCT relowner::regrole::text, ',') FROM pg_class WHERE relnamespace = 'shop'::regnamespace}), 'owner',
	'it is the owner\'s');
restored('owned', 'owned');

# Without labels.
database('unlabelled');
$node->command_ok([ 'pg_dump', '--no-security-labels', '-f', "$dir/unlabelled", 'source' ], 'pg_dump --no-security-labels');
$node->command_ok([ @psql, '-f', "$dir/unlabelled", 'unlabelled' ], 'restore: unlabelled');
is(value('unlabelled', $labels), '', 'no labels');
like(errors('unlabelled', q{SET search_path = shop, public; SELECT dyn_put('enforced', '{"pk": "NOTE#c", "Id": "c", "Type": "Note"}'::jsonb)}),
	qr/ERROR:  table "enforced" enforces entities, and none is declared.*DETAIL: .*security label of provider "dynamo_table"/s,
	'enforced: which label is missing');
my $warnings = errors('unlabelled', q{
	INSERT INTO shop.customers VALUES (3, 'three');
	UPDATE shop.customers SET name = 'changed';
	DELETE FROM shop.customers WHERE id = 2});
is(() = $warnings =~ /WARNING:  changes of table "customers" make no items: migration "shop" is not declared/g, 1, 'followed: one warning a session');
is(() = $warnings =~ /ERROR|WARNING/g, 1, 'and no error');
is(value('unlabelled', q{SELECT string_agg(id || name, ',' ORDER BY id) FROM shop.customers}), '1changed,3changed', 'the source is written');
is(value('unlabelled', q{SET search_path = shop, public; SELECT count(*) FROM dyn_scan('app')}), '2', 'items stay');
value('unlabelled', q{SET search_path = shop, public; SELECT dyn_put('app', '{"pk": "x"}'::jsonb); SELECT dyn_follow_migration('shop', enabled => false);
	SELECT dyn_drop_table('app')});

# The library is loaded by the first use of the extension; SECURITY LABEL is none.
my $unloaded = qr/ERROR:  security label provider "dynamo_table" is not loaded/;
my $set = q{SECURITY LABEL FOR dynamo_table ON TABLE shop.app IS '{"settings": {"tags": {"a": "b"}}}'};
my $set_cured = "SELECT '{}'::dyn_item; $set";
database('heaps', $there);
$node->command_ok([ 'pg_dump', '-t', 'shop.*', '--no-table-access-method', '-f', "$dir/heaps", 'source' ], 'pg_dump --no-table-access-method');
my ($out, $err) = run_command([ 'psql', '-X', '-q', '-f', "$dir/heaps", '-d', $node->connstr('heaps') ]);
like($err, $unloaded, 'heaps: the label is lost');
is(() = $err =~ /ERROR/g, 2, 'heaps: and nothing else');
is(value('heaps', q{SELECT count(*) FROM dyn_scan('shop.app')}), '2', 'heaps: items');
like(errors('heaps', $set), $unloaded, 'heaps: typed first');
value('heaps', $set_cured);
like(value('heaps', $labels), qr/^shop\.app\|.*"a": "b"/, 'heaps: typed after a call');
value('heaps', 'DROP SCHEMA shop CASCADE; CREATE SCHEMA shop AUTHORIZATION owner');
# as the reference has it: the library is loaded in the session of the restore
$node->command_ok([ @psql, '-c', q{SELECT '{}'::dyn_item}, '-f', "$dir/heaps", 'heaps' ], 'heaps: the cure');
restored('heaps', 'heaps');
$node->command_ok([ 'pg_restore', '-l', '-f', "$dir/all.list", "$dir/custom" ], 'pg_restore -l');
append_to_file("$dir/label.list", join("\n", grep { /SECURITY LABEL/ } split(/\n/, slurp_file("$dir/all.list"))) . "\n");
($out, $err) = run_command([ 'pg_restore', '-L', "$dir/label.list", '-d', $node->connstr('unlabelled'), "$dir/custom" ]);
like($err, $unloaded, 'the entries of labels alone');
database('entries', $there);
$node->command_ok([ @restore, '-d', 'entries', '-t', 'enforced', "$dir/custom" ], 'a table without its label');
$node->command_ok([ 'pg_restore', '-L', "$dir/label.list", '-f', "$dir/label.sql", "$dir/custom" ], 'labels as statements');
my ($only) = grep { /"?enforced"? IS/ } split(/\n/, slurp_file("$dir/label.sql"));
$node->command_ok([ @psql, '-c', q{SELECT '{}'::dyn_item}, '-c', $only, 'entries' ], 'the cure');
like(value('entries', $labels), qr/^shop\.enforced\|.*"Note"/, 'the label is there');

# A heap keeps it, and so it survives the extension; then no statement can remove it.
value('heaps', 'ALTER TABLE shop.app SET ACCESS METHOD dynamo_table; ALTER TABLE shop.app SET ACCESS METHOD heap');
is(value('heaps', $labels), $declared, 'a heap keeps its label');
value('heaps', 'CREATE TABLE public.plain (a int)');
value('heaps', q{SELECT '{}'::dyn_item; SECURITY LABEL FOR dynamo_table ON TABLE public.plain IS '{}'});
value('heaps', 'SET client_min_messages = warning; DROP EXTENSION dynamo_table CASCADE');
like(value('heaps', $labels), qr/^(public\.)?plain\|/m, 'its label stays behind');
$node->command_ok([ 'pg_dump', '-f', "$dir/left", 'heaps' ], 'pg_dump');
like(slurp_file("$dir/left"), qr/SECURITY LABEL FOR dynamo_table/, 'every dump has it');
like(errors('heaps', 'SECURITY LABEL FOR dynamo_table ON TABLE public.plain IS NULL'), $unloaded, 'it cannot be removed');
value('heaps', 'CREATE EXTENSION dynamo_table');
value('heaps', q{DO $$ DECLARE t text; BEGIN PERFORM '{}'::dyn_item; FOR t IN SELECT objname FROM pg_seclabels WHERE provider = 'dynamo_table' LOOP
	EXECUTE format('SECURITY LABEL FOR dynamo_table ON TABLE %s IS NULL', t); END LOOP; END $$});
value('heaps', 'SET client_min_messages = warning; DROP EXTENSION dynamo_table CASCADE');
is(value('heaps', $labels), '', 'set to NULL before, nothing is left');

# Locks: neither a reader nor a writer is in the way of who declares, nor is that one in theirs.
my $declare = q{SET search_path = shop, public; SELECT dyn_create_entity('app', 'Org', '{"pk": "ORG#<Id>"}', '{"Id": "S"}')};
my $tag = q{SELECT dyn_alter_table('shop.app', '{"tags": {"n": "1"}}')};
my $writer = $node->background_psql('source');
my $session = $node->background_psql('source');
$writer->query_safe('SET search_path = shop, public');
$session->query_safe(q{SET search_path = shop, public; SET statement_timeout = '60s'});
my $patient = q{SET lock_timeout = '1min';};
$writer->query_safe(q{BEGIN; SELECT dyn_put('app', '{"pk": "w"}'::jsonb); SELECT count(*) FROM dyn_scan('app')});
value('source', "$patient $declare");
value('source', "$patient $tag");
$writer->query_safe('COMMIT');
$session->query_safe("BEGIN; $declare; $tag");
value('source', "$patient SET search_path = shop, public; SELECT dyn_put('app', '{\"pk\": \"v\"}'::jsonb); SELECT count(*) FROM dyn_scan('app')");

# Others that hold the lock: another one that declares, VACUUM and CREATE INDEX CONCURRENTLY.
sub named
{
	my ($pid, $name) = @_;
	foreach my $call ($declare, $tag)
	{
		my $said = errors('source', "SET lock_timeout = '100ms'; $call", on_error_stop => 1);
		like($said, qr/ERROR:  table "app" is in use by other transactions.*Locks are held by process $pid\./s, "$name is in the way");
	}
}
named($session->query_safe('SELECT pg_backend_pid()'), 'one that declares');
$session->query_safe('ROLLBACK');
$session->query_safe(q{BEGIN; LOCK TABLE app IN SHARE UPDATE EXCLUSIVE MODE});
named($session->query_safe('SELECT pg_backend_pid()'), 'a lock as that of VACUUM');
$session->query_safe('COMMIT');
$writer->query_safe(q{BEGIN; SELECT dyn_put('app', '{"pk": "u"}'::jsonb)});
my $builder = $node->background_psql('source');
my $building = $builder->query_safe('SELECT pg_backend_pid()');
$builder->query_until(qr/building/, "\\echo building\nCREATE INDEX CONCURRENTLY some_index ON shop.app (pk);\n");
wait_for($node, qq{SELECT count(*) = 1 FROM pg_locks WHERE pid = $building AND mode = 'ShareUpdateExclusiveLock' AND relation = 'shop.app'::regclass},
	'source');
named($building, 'CREATE INDEX CONCURRENTLY');
$writer->query_safe('COMMIT');
$builder->query_safe('SELECT 1');
$builder->quit;

# Nothing is lost when two declare at once, by a call and by the statement.
my $sum = q{SELECT label::jsonb #>> '{settings,tags}' FROM pg_seclabels WHERE objoid = 'shop.app'::regclass};
my $before = value('source', $sum);
$session->query_safe(q{BEGIN; SELECT dyn_alter_table('app', '{"tags": {"one": "1"}}')});
my $second = $node->background_psql('source');
my $second_pid = $second->query_safe('SELECT pg_backend_pid()');
$second->query_until(qr/begun/, qq{\\echo begun\nSELECT dyn_alter_table('shop.app', '{"tags": {"two": "2"}}');\n});
wait_for($node, qq{SELECT count(*) > 0 FROM pg_locks WHERE pid = $second_pid AND mode = 'ShareUpdateExclusiveLock' AND NOT granted}, 'source');
$session->query_safe('COMMIT');
$second->query_safe('SELECT 1');
$second->quit;
my $tags = value('source', $sum);
like($tags, qr/"one"/, 'what the first one declares');
like($tags, qr/"two"/, 'what the second one declares');

# Who has declarations in its cache sees what others change: by a call, by the statement, and as a partition.
value('source', q{
	SET search_path = shop, public;
	CREATE TABLE whole (item dyn_item NOT NULL, pk text COLLATE "C" NOT NULL, PRIMARY KEY (pk),
		CONSTRAINT dynamo_keys CHECK (dynamo_internal.keys_match(item, '{"pk S"}', pk))) PARTITION BY HASH (pk);
	CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON whole FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S');
	CREATE TABLE part0 PARTITION OF whole FOR VALUES WITH (MODULUS 1, REMAINDER 0) USING dynamo_table;
	CREATE TABLE single (LIKE whole INCLUDING ALL) USING dynamo_table;
	CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON single FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S');
	ALTER TABLE single ENABLE ALWAYS TRIGGER "~dynamo_keys"});
my %seen = (single => 'single', whole => 'part0');
while (my ($table, $seen) = each %seen)
{
	my $keys = qq{SELECT dyn_entity_keys('$seen', 'E', '{"n": 1}'::jsonb) ->> 'pk'};
	my $changed = qq{SECURITY LABEL FOR dynamo_table ON TABLE shop.$table
		IS '{"entities": [{"entity": "E", "keys": {"pk": "THREE#<n>"}, "attributes": {"n": "N"}}]}'};
	value('source', qq{SELECT dyn_create_entity('shop.$table', 'E', '{"pk": "ONE#<n>"}', '{"n": "N"}', NULL)});
	is($session->query_safe($keys), 'ONE#1', "$seen: before");
	value('source', qq{SELECT dyn_create_entity('shop.$table', 'E', '{"pk": "TWO#<n>"}', '{"n": "N"}', NULL)});
	is($session->query_safe($keys), 'TWO#1', "$seen: after a call of another session");
	value('source', "SELECT '{}'::dyn_item; $changed");
	is($session->query_safe($keys), 'THREE#1', "$seen: after its statement");
	$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class');
	(my $newer = $changed) =~ s/THREE/FOUR/;
	value('source', "SELECT '{}'::dyn_item; $newer");
	is($session->query_safe($keys), 'FOUR#1', "$seen: the newest declaration holds, whatever the snapshot");
	# its own, and what it undoes
	$session->query_safe('COMMIT; BEGIN; SAVEPOINT a');
	$session->query_safe($changed);
	is($session->query_safe($keys), 'THREE#1', "$seen: its own");
	$session->query_safe('ROLLBACK TO a');
	is($session->query_safe($keys), 'FOUR#1', "$seen: a subtransaction that is rolled back");
	$session->query_safe($changed);
	is($session->query_safe($keys), 'THREE#1', "$seen: its own again");
	$session->query_safe('ROLLBACK');
	is($session->query_safe($keys), 'FOUR#1', "$seen: a transaction that is rolled back");
}

# A table that becomes a partition has what the whole one has, and has its own again as a table.
value('source', q{
	SET search_path = shop, public;
	ALTER TABLE whole DETACH PARTITION part0;
	SELECT '{}'::dyn_item;
	ALTER TABLE whole ATTACH PARTITION part0 FOR VALUES WITH (MODULUS 1, REMAINDER 0);
	SECURITY LABEL FOR dynamo_table ON TABLE part0 IS '{"entities": [{"entity": "E", "keys": {"pk": "PART#<n>"}, "attributes": {"n": "N"}}]}'});
my $keys = q{SELECT dyn_entity_keys('part0', 'E', '{"n": 1}'::jsonb) ->> 'pk'};
is($session->query_safe($keys), 'FOUR#1', 'a partition has the declarations of the whole table');
value('source', q{
	ALTER TABLE shop.whole DETACH PARTITION shop.part0;
	CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON shop.part0 FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S')});
is($session->query_safe($keys), 'PART#1', 'a table has its own');
value('source', 'DROP TRIGGER "~dynamo_keys" ON shop.part0; ALTER TABLE shop.whole ATTACH PARTITION shop.part0 FOR VALUES WITH (MODULUS 1, REMAINDER 0)');
is($session->query_safe($keys), 'FOUR#1', 'and a partition not again');

# An event trigger that raises an error undoes the call.
value('source', q{
	CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused %', tg_tag; END $$;
	CREATE EVENT TRIGGER refuse ON ddl_command_end WHEN TAG IN ('SECURITY LABEL') EXECUTE FUNCTION refuse()});
$before = value('source', $labels);
like(errors('source', $declare), qr/refused SECURITY LABEL/, 'an event trigger sees calls');
like(errors('source', $tag), qr/refused SECURITY LABEL/, 'and those that set tags');
is(value('source', $labels), $before, 'nothing is changed');
is($session->query_safe($keys), 'FOUR#1', 'nor seen');
value('source', 'DROP EVENT TRIGGER refuse');

# Temporary tables of others are nobody else's.
$session->query_safe(q{CREATE TEMP TABLE hidden (a int)});
my $temporary = $session->query_safe(q{SELECT 'hidden'::regclass::oid::regclass || ' ' || pg_my_temp_schema()::regnamespace});
my ($schema) = $temporary =~ / (.*)/;
$session->query_safe(q{SECURITY LABEL FOR dynamo_table ON TABLE hidden IS '{"migrations": [{"migration": "hidden"}]}'});
like(errors('source', q{CALL dyn_migrate('hidden')}), qr/migration "hidden" does not exist/, 'a temporary table of another session');
unlike(errors('source', "SELECT '{}'::dyn_item; SELECT * FROM dyn_entities('$schema.hidden')"), qr/server closed|internal/, 'nor can it be opened');
$_->quit foreach ($session, $writer);

# The extension goes with the triggers of followed tables, which are listed, and the tables stay; so does the table of items alone.
like(errors('custom', 'DROP EXTENSION dynamo_table'), qr/trigger ~dynamo_follow\S+ \w+ on table shop\.customers depends on function/,
	'the extension is not dropped while tables are followed');
like(errors('custom', 'DROP EXTENSION dynamo_table CASCADE'),
	qr/drop cascades to table shop\.app\s.*drop cascades to trigger ~dynamo_follow\S+ \w+ on table shop\.customers/s, 'with CASCADE it is');
like(errors('directory', 'DROP TABLE shop.app CASCADE'), qr/(drop cascades to trigger ~dynamo_follow\S+ \w+ on table shop\.customers\s*){6}$/,
	'the table of items with CASCADE');
foreach my $dbname ('custom', 'directory')
{
	is(value($dbname, q{SELECT count(*) FROM pg_trigger WHERE tgname LIKE '~dynamo_follow%'}), '0', "$dbname: no trigger is left");
	is(errors($dbname, q{INSERT INTO shop.customers VALUES (9, 'nine'); TRUNCATE shop.customers}), '', "$dbname: the source is written");
}
value('postgres', 'DROP DATABASE sections');

# A slot decodes changes around relabels, each with what was true of the table then.
value('source', q{SELECT pg_create_logical_replication_slot('slot', 'dynamo_table')});
value('source', q{
	SET search_path = shop, public;
	SELECT dyn_put('single', '{"pk": "a"}'::jsonb);
	SELECT dyn_create_entity('single', 'E', '{"pk": "X#<n>"}', '{"n": "N"}', NULL);
	BEGIN;
	SELECT dyn_put('single', '{"pk": "b"}'::jsonb);
	SECURITY LABEL FOR dynamo_table ON TABLE single IS '{"settings": {"tags": {"a": "b"}}}';
	SELECT dyn_put('single', '{"pk": "c"}'::jsonb);
	SAVEPOINT a;
	SECURITY LABEL FOR dynamo_table ON TABLE single IS '{}';
	SELECT dyn_put('single', '{"pk": "d"}'::jsonb);
	ROLLBACK TO a;
	SELECT dyn_put('single', '{"pk": "e"}'::jsonb);
	COMMIT;
	SECURITY LABEL FOR dynamo_table ON TABLE single IS NULL;
	SELECT dyn_put('single', '{"pk": "f"}'::jsonb)});
my $decoded = value('source', q{SELECT data FROM pg_logical_slot_get_changes('slot', NULL, NULL)});
is(join('', $decoded =~ /"pk":\s*(?:\{"S":\s*)?"([a-f])"/g) =~ s/(.)\1+/$1/gr, 'abcef', 'changes around relabels are decoded');
value('source', q{SELECT pg_drop_replication_slot('slot')});

$node->stop;
done_testing();
