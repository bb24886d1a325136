# What one owner does to others: locks that are held, and rights that are not there.  "one" owns table app, "other" owns
# table theirs, "stranger" may log in and nothing else.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "max_prepared_transactions = 5\nclient_min_messages = warning\nwal_level = logical\nmax_replication_slots = 4");
allow_plugin($node);
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION dynamo_table;
	CREATE ROLE one LOGIN;
	CREATE ROLE other LOGIN;
	CREATE ROLE stranger LOGIN;
	GRANT CREATE ON SCHEMA public TO one, other, stranger;
	SET SESSION AUTHORIZATION one;
	SELECT dyn_create_table('app', 'pk S', 'sk S');
	SELECT dyn_create_entity('app', 'Thing', '{"pk": "THING#<Id>", "sk": "#"}', '{"Id": {"type": "S text"}, "Details": {"type": "N bigint"}}');
	SELECT dyn_put('app', '{"pk":{"S":"THING#1"},"sk":{"S":"#"},"Id":{"S":"1"},"expires":{"N":"1"}}');
	CREATE TABLE source (id int PRIMARY KEY, name text);
	CREATE TABLE detail (id int PRIMARY KEY, source int NOT NULL REFERENCES source);
	SET SESSION AUTHORIZATION other;
	SELECT dyn_create_table('theirs', 'pk S');
	SELECT dyn_put('theirs', '{"pk":{"S":"1"}}')});

sub connect_as { return $node->background_psql('postgres', on_error_stop => 0, extra_params => [ '-U', $_[0] ]) }

# The answer of a role that never waits long for another session.
sub as
{
	my ($role, $sql) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', "SET statement_timeout = '60s'; $sql", extra_params => [ '-U', $role ]);
	return $err eq '' ? $out : $err;
}

sub is_in_use
{
	my ($call, $table, $pid, $what) = @_;
	like(as('one', "SET lock_timeout = 250; SELECT $call"), qr/table "$table" is in use by other transactions\n.*Locks are held by process $pid\./i, $what);
}

my $steps = q{[{"entity": "Thing", "from": "source", "attributes": {"Id": "id::text"},
	"children": {"Details": {"from": "detail", "on": {"source": "id"}, "as": "count"}}}]};

# A writer is idle in its transaction.  Calls that need a lock that writers conflict with give up by themselves, others
# write meanwhile, and the error of a session that gave up names the blocker.
my $writer = connect_as('one');
my $pid = $writer->query_safe(q{SELECT pg_backend_pid()});
$writer->query_safe(q{BEGIN; SELECT dyn_put('app', '{"pk":{"S":"THING#2"},"sk":{"S":"#"},"Id":{"S":"2"}}')});

# What is only said of the table waits for VACUUM and concurrent index builds, and not for readers and writers.
my @descriptions = (
	q{dyn_create_entity('app', 'Other', '{"pk": "OTHER#<Id>", "sk": "#"}', '{"Id": {"type": "S text"}}')},
	q{dyn_drop_entity('app', 'Thing')},
	q{dyn_create_access_pattern('app', 'all', 'Scan', '{}')},
	qq{dyn_create_migration('app', 'm', '$steps')},
	q{dyn_alter_table('app', '{"deletion_protection": true}')},
	q{dyn_request('TagResource', '{"ResourceArn": "arn:aws:dynamodb:local:000000000000:table/app", "Tags": [{"Key": "a", "Value": "b"}]}')},
	q{dyn_request('UpdateTable', '{"TableName": "app", "DeletionProtectionEnabled": true}')});
my @changes = (
	q{dyn_enforce_entities('app', true)},
	q{dyn_drop_table('app')},
	q{dyn_alter_table('app', '{"placement": false}')},
	q{dyn_request('DeleteTable', '{"TableName": "app"}')},
	q{dyn_request('UpdateTimeToLive', '{"TableName": "app", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "expires"}}')});
sub name_of
{
	my ($call) = @_;
	my ($name) = $call =~ /^(dyn_request\('\w+'|\w+)/;
	return $name;
}

is(as('one', "SET lock_timeout = '30s'; BEGIN; DO \$do\$ BEGIN PERFORM $_; END \$do\$; ROLLBACK"), '', name_of($_) . ' waits for no writer')
  foreach @descriptions;
is_in_use($_, 'app', $pid, name_of($_) . ' names the process that is in the way') foreach @changes;

# Its writers pass while a call waits.
my $changing = connect_as('one');
my $changing_pid = $changing->query_safe(q{SELECT pg_backend_pid()});
$changing->query_until(qr/begun/, "\\echo begun\nSET lock_timeout = '10min';\nSELECT dyn_alter_table('app', '{\"placement\": false}');\n\\echo done\n");
ok($node->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_stat_activity WHERE pid = $changing_pid AND state = 'active'
	AND query LIKE '%dyn_alter_table%'"), 'a change waits');
as('one', join ' ', map { qq{SELECT dyn_put('app', '{"pk":{"S":"THING#x$_"},"sk":{"S":"#"},"Id":{"S":"x$_"}}');} } 1 .. 20);
is(as('one', q{SELECT count(*) FROM app WHERE pk LIKE 'THING#x%'}), '20', 'and others write meanwhile');
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_locks WHERE pid = $changing_pid AND mode = 'ShareRowExclusiveLock' AND granted"), '0',
	'although it has not got its lock');
$writer->query_safe('COMMIT');
$changing->query_until(qr/done/, "\n");
$changing->quit;
is(as('one', q{SELECT dyn_describe_table('app') ->> 'Placement'}), 'false', 'and changes the table when the writer has ended');

# A call that locks several tables holds none while one of them is in use.
is(as('one', qq{SELECT dyn_create_migration('app', 'm', '$steps')}), '', 'a migration is declared');
$writer->query_safe('BEGIN; DELETE FROM detail WHERE false');
is_in_use(q{dyn_follow_migration('m')}, 'detail', $pid, 'dyn_follow_migration names the process that is in the way');
my $following = connect_as('one');
my $following_pid = $following->query_safe(q{SELECT pg_backend_pid()});
$following->query_until(qr/begun/, "\\echo begun\nSET lock_timeout = '10min';\nSELECT dyn_follow_migration('m');\n\\echo done\n");
ok($node->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_stat_activity WHERE pid = $following_pid AND state = 'active'
	AND query LIKE '%dyn_follow_migration%'"), 'following waits');
as('one', join ' ', map { "INSERT INTO source VALUES ($_);" } 1 .. 20);
is(as('one', q{SELECT count(*) FROM source}), '20', 'and others write another table meanwhile');
$writer->query_safe('COMMIT');
$following->query_until(qr/done/, "\n");
$following->quit;
is(as('one', q{SELECT count(*) FROM pg_trigger WHERE tgname LIKE '~dynamo_follow%'}), '12', 'it follows when the writer has ended');
$writer->query_safe('BEGIN; SELECT count(*) FROM detail');
is_in_use(q{dyn_follow_migration('m', enabled => false)}, 'detail', $pid, 'who ends it is told the process that is in the way');
$writer->query_safe('COMMIT');
is(as('one', q{SELECT dyn_follow_migration('m', enabled => false)}), '', 'and ends it when that has ended');

# A table that a migration reads from is locked: who declares it waits, but writers of the table of items do not.
$writer->query_safe('BEGIN; LOCK TABLE detail IN ACCESS EXCLUSIVE MODE');
my $waiting = connect_as('one');
my $waiting_pid = $waiting->query_safe(q{SELECT pg_backend_pid()});
$waiting->query_until(qr/begun/, "\\echo begun\nSELECT dyn_create_migration('app', 'm', '$steps');\n\\echo done\n");
ok($node->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_locks WHERE pid = $waiting_pid AND NOT granted"),
	'a declaration waits for what it reads from');
is(as('one', q{SELECT dyn_put('app', '{"pk":{"S":"THING#3"},"sk":{"S":"#"},"Id":{"S":"3"}}')}), '', 'and an item is written');
$writer->query_safe('COMMIT');
$waiting->query_until(qr/done/, "\n");
$waiting->quit;

# The same of a view that is made again.
as('one', q{SELECT dyn_create_entity_view('app', 'Thing')});
$writer->query_safe('BEGIN; SELECT count(*) FROM "Thing"');
is_in_use(q{dyn_create_entity_view('app', 'Thing')}, 'Thing', $pid, 'dyn_create_entity_view names the process that is in the way');
$writer->query_safe('COMMIT');

# A prepared transaction has no process.
$writer->query_safe(q{BEGIN; DELETE FROM app WHERE false; PREPARE TRANSACTION 'p'});
like(as('one', q{SET lock_timeout = 250; SELECT dyn_alter_table('app', '{"placement": true}')}), qr/Locks are held by a prepared transaction\./,
	'a prepared transaction is named');
$node->safe_psql('postgres', q{ROLLBACK PREPARED 'p'});
is(as('one', q{SELECT dyn_alter_table('app', '{"placement": true}')}), '', 'and waited for');
$writer->quit;

# A role without a privilege on a table gets no answer about it, and no lock on it, whether the table is locked or not.
my $arn = 'arn:aws:dynamodb:local:000000000000:table/app';
$node->safe_psql('postgres', q{SET SESSION AUTHORIZATION one;
	SELECT dyn_create_access_pattern('app', 'all', 'Scan', '{}');
		SELECT dyn_create_entity('app', 'Thing', '{"pk": "THING#<Id>", "sk": "#"}', '{"Id": {"type": "S text"}}')});
my $relid = $node->safe_psql('postgres', q{SELECT 'app'::regclass::oid});
my @questions = (
	q{SELECT dyn_describe_table('app')},
	q{SELECT * FROM dyn_entities('app')},
	q{SELECT dyn_access_pattern_chart('app')},
	q{SELECT dyn_entity_chart('app')},
	q{SELECT dyn_run_access_pattern('app', 'all')},
	q{SELECT * FROM dyn_check_entities('app')},
	q{SELECT * FROM dyn_index_violations('app')},
	q{SELECT dyn_get('app', '{"pk":{"S":"1"},"sk":{"S":"#"}}')},
	q{SELECT dyn_put('app', '{"pk":{"S":"1"},"sk":{"S":"#"}}')},
	q{SELECT * FROM dyn_scan('app')},
	q{SELECT dyn_table_chart('app')},
	q{SELECT dyn_put_entity('app', 'Thing', '{"Id":{"S":"1"}}')},
	q{SELECT * FROM dyn_read_stream('app')},
	q{SELECT dyn_create_entity_view('app', 'Thing')},
	q{SELECT dyn_create_access_pattern('app', 'other', 'Scan', '{}')},
	q{SELECT dyn_drop_table('app')},
	q{CALL dyn_sweep_ttl('app')},
	q{CALL dyn_enable_ttl('app', 'expires')},
	q{CALL dyn_create_index('app', 'i', 'pk S')},
	qq{CALL dynamo_internal.resume_index('app'::regclass, 'i')},
	q{CALL dyn_backfill('app', 'SET a = :a', NULL, vals => '{":a":{"S":"1"}}')},
	q{SELECT dyn_export('app')},
	q{SELECT dyn_import_lines('app', '{}')},
	q{CALL dyn_import('theirs', 'source'::regclass)},
	qq{SELECT dynamo_internal.keys_missing(${relid}::oid, '{"pk":{"S":"1"}}', 1)},
	q{SELECT dyn_follow_migration('m')},
	q{SELECT * FROM dyn_verify_migration('m')},
	q{CALL dyn_migrate('m')},
	q{SELECT dyn_drop_migration('m')},
	(map { qq{SELECT dyn_request('$_', '{"TableName": "app"}')} } qw(DescribeTable DescribeTimeToLive DescribeContinuousBackups DeleteTable Scan)),
	(map { qq{SELECT dyn_request('$_', '{"TableName": "app", "Key": {"pk": {"S": "1"}, "sk": {"S": "#"}}}')} } qw(GetItem DeleteItem UpdateItem)),
	qq{SELECT dyn_request('ListTagsOfResource', '{"ResourceArn": "$arn"}')},
	qq{SELECT dyn_request('TagResource', '{"ResourceArn": "$arn", "Tags": [{"Key": "a", "Value": "b"}]}')},
	qq{SELECT dyn_request('BatchGetItem', '{"RequestItems": {"app": {"Keys": [{"pk": {"S": "1"}, "sk": {"S": "#"}}]}}}')},
	q{SELECT dyn_request('UpdateTable', '{"TableName": "app", "DeletionProtectionEnabled": true}')});
$node->safe_psql('postgres', q{GRANT SELECT, INSERT ON theirs TO stranger});
my $locker = connect_as('one');
foreach my $locked (0, 1)
{
	$locker->query_safe('BEGIN; LOCK TABLE app, source IN ACCESS EXCLUSIVE MODE') if $locked;
	foreach my $question (@questions)
	{
		my ($name) = $question =~ /(dyn_request\('\w+'|dyn_\w+)/;
		my $answer = as('stranger', "SET lock_timeout = 250; $question");
		like($answer,
			qr/(ERROR|is not authorized to perform: dynamodb:\w+ on resource: \S+\n.*DETAIL):  (permission denied for|must be owner of) (table|relation)/i,
			"$name says nothing to a stranger" . ($locked ? ', and waits for nothing' : ''));
	}
	$locker->query_safe('ROLLBACK') if $locked;
}

# An error that is caught keeps what its subtransaction had locked until that ends, and no longer.
is(as('stranger', qq{BEGIN; DO \$\$BEGIN PERFORM dyn_describe_table('app'); EXCEPTION WHEN insufficient_privilege THEN NULL; END\$\$;
	SELECT count(*) FROM pg_locks WHERE relation = $relid AND pid = pg_backend_pid(); ROLLBACK}), '0', 'no lock is left');

# Any privilege will do to read what is declared, and a lock that writers conflict with takes one to write.
foreach my $privilege ('SELECT', 'INSERT', 'DELETE', 'TRIGGER', 'SELECT (pk)', 'UPDATE (item)')
{
	$node->safe_psql('postgres', "GRANT $privilege ON app TO stranger");
	like(as('stranger', q{SELECT dyn_describe_table('app') ->> 'TableName'}), qr/^app$/, "$privilege lets a role describe a table");
	is(as('stranger', q{SELECT dyn_request('ListTables', '{}') -> 'TableNames' ->> 0}), 'app', 'and list it');
	$node->safe_psql('postgres', "REVOKE $privilege ON app FROM stranger");
}
is(as('stranger', q{SELECT dyn_request('ListTables', '{}') -> 'TableNames'}), '["theirs"]', 'without any it is not listed');
$node->safe_psql('postgres', q{GRANT SELECT ON app TO stranger});
$locker->query_safe('BEGIN; LOCK TABLE app IN SHARE MODE');
like(as('stranger', q{SET lock_timeout = 250; SELECT dyn_put('app', '{"pk":{"S":"1"},"sk":{"S":"#"}}')}), qr/permission denied for table app/,
	'who may read only does not wait for a lock to write');
$locker->query_safe('ROLLBACK');
$node->safe_psql('postgres', q{REVOKE ALL ON app, theirs FROM stranger});

# A table that is locked, or an index of it, stops no list: it is there, as locked.  Names of migrations are found without it.
$node->safe_psql('postgres', q{CREATE ROLE watcher LOGIN IN ROLE pg_monitor; CALL dyn_setup_streams()});
as('one', q{CALL dyn_enable_ttl('app', 'expires')});
as('one', q{SELECT dyn_enable_stream('app', 'KEYS_ONLY')});
as('one', q{CALL dyn_backfill('app', 'SET a = :a', NULL, vals => '{":a":{"S":"1"}}')});
$node->safe_psql('postgres', q{SET SESSION AUTHORIZATION other; CALL dyn_enable_ttl('theirs', 'expires');
	SELECT dyn_put('theirs', jsonb_build_object('pk', '2', 'expires', extract(epoch FROM now())::bigint - 60))});
my $superuser = $node->safe_psql('postgres', 'SELECT current_user');
my %lists = (
	ttl => q{SELECT relation, attribute, status, due_items IS NULL, locked FROM dyn_ttl_tables WHERE relation = 'app'::regclass},
	streams => q{SELECT relation, view_type, status, identity_suffices, locked FROM dyn_streams},
	steps => q{SELECT name, relation, step FROM dynamo_internal.migration_steps()},
	migrations => q{SELECT name, relation, state FROM dyn_jobs WHERE kind = 'migration'},
	jobs => q{SELECT kind, relation, state FROM dyn_jobs WHERE kind <> 'migration'});
my %open = (ttl => 'app|expires|ENABLED|f|f', streams => 'app|KEYS_ONLY|ENABLED|t|f', steps => 'm|app|Thing', migrations => 'm|app|not begun',
	jobs => 'backfill|app|finished');
my %closed = (%open, ttl => 'app|expires|ENABLED|t|t', streams => 'app|KEYS_ONLY|ENABLED||t');
foreach my $lock ('', 'LOCK TABLE app IN ACCESS EXCLUSIVE MODE', 'REINDEX INDEX app_pkey')
{
	my $how = $lock eq '' ? 'open' : $lock;
	$locker->query_safe("BEGIN; $lock") if $lock ne '';
	foreach my $role ($superuser, 'watcher')
	{
		is(as($role, $lists{$_}), $lock eq '' ? $open{$_} : $closed{$_}, "$_, $how, as $role") foreach sort keys %lists;
	}
	is(as('stranger', $lists{$_}), '', "$_, $how, as a stranger") foreach sort keys %lists;
	is(as('stranger', q{SELECT (SELECT count(*) FROM dyn_job_problems) + (SELECT count(*) FROM dyn_jobs) + (SELECT count(*) FROM dyn_ttl_tables)}), '0',
		"the others, $how");
	like(as('stranger', q{CALL dyn_migrate('nothing')}), qr/migration "nothing" does not exist/, "a migration's name is looked up, $how");
	is(as($superuser, q{SELECT dyn_request('ListStreams', '{}') -> 'Streams' -> 0 ->> 'TableName'}), 'app', "ListStreams, $how");
	is(as($superuser, q{SELECT dyn_request('ListTables', '{}') -> 'TableNames'}), '["app","theirs"]', "ListTables, $how");
	if ($lock ne '')
	{
		like(as($superuser, 'CALL dyn_sweep_ttl()'), qr/WARNING:  expired items of table "app" were left: it is locked/, "a sweep of all tables leaves one, $how");
		is(as('other', q{SELECT count(*) FROM theirs WHERE pk = '2'}), '0', 'and sweeps the others');
		$locker->query_safe('ROLLBACK');
	}
}

# Who watches sees no items, and nothing that is declared.
foreach my $question (q{SELECT * FROM dyn_entities('app')}, q{SELECT dyn_access_pattern_chart('app')},
	q{SELECT dyn_get('app', '{"pk":{"S":"1"},"sk":{"S":"#"}}')}, q{SELECT * FROM dyn_read_stream('app')},
	qq{SELECT dyn_request('ListTagsOfResource', '{"ResourceArn": "$arn"}')})
{
	like(as('watcher', $question), qr/permission denied for table app/i, "a monitor does not get: $question");
}
is(as('watcher', q{SELECT dyn_describe_table('app') ->> 'TableStatus'}), 'ACTIVE', 'but a description');
is(as('watcher', q{SELECT state FROM dyn_stream_slots}), 'ready', 'and the state of streams');
is(as('watcher', q{SELECT count(*) FROM dyn_job_problems}), '0', 'and no rows that jobs had trouble with');

# Views of others are reported, whatever is in them, and whether they are locked or not.
as('stranger', "CREATE VIEW garbage AS SELECT t.pk FROM app t WHERE dynamo_internal.is_entity(t.item, 'garbage', t.pk)");
as('stranger', "CREATE VIEW worse AS SELECT t.pk FROM app t WHERE dynamo_internal.is_entity(t.item, '{\"entity\": 1, \"keys\": {}}', t.pk)");
my $views = q{SELECT problem, substring(detail FROM 'view "\w+"') FROM dyn_check_entities('app') WHERE problem LIKE 'view %' ORDER BY 1, 2};
like(as('one', $views), qr/^view unreadable\|view "garbage"\nview unreadable\|view "worse"/m, 'views that cannot be read');
my $viewer = connect_as('stranger');
$viewer->query_safe('BEGIN; ALTER VIEW garbage SET (security_barrier = true)');
like(as('one', $views), qr/^view locked\|view "garbage"\nview/m, 'a view that is locked');
$viewer->query_safe('ROLLBACK');

done_testing();
