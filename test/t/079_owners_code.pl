# Whose rights code of a table's owner has when a superuser calls: every public function, procedure and view of the extension, on a
# table on which its owner has hung all that runs.  What runs says so in the server's log, which no ROLLBACK takes back.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
allow_plugin($node);
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = dynamo_table
wal_level = logical
max_worker_processes = 16
track_functions = all
log_line_prefix = '%a|'
log_statement = none
autovacuum = off
dynamo_table.ttl_interval = 1d
dynamo_table.ttl_probe_interval = 1d
});
$node->start;

# Run SQL with a call a line; each has a name in the log.  Returns what the server said to each.
my $calls = 0;
sub run_calls
{
	my ($kind, @lines) = @_;
	my $file = $node->basedir . '/calls.sql';
	my %name;
	open(my $out, '>', $file) or die "$file: $!";
	for my $i (0 .. $#lines)
	{
		$name{ 2 * $i + 2 } = sprintf '%s %d: %s', $kind, ++$calls, $lines[$i];
		# a session for each: what the server has of a table is read again, and expressions of indexes are planned again
		printf $out "\\c -\nSET application_name = '%s %d'; %s\n", $kind, $calls, $lines[$i];
	}
	close $out;
	$node->psql('postgres', '', extra_params => [ '-f', $file ], on_error_stop => 0, stderr => \my $told, stdout => \my $answers);
	my %errors;
	while ($told =~ /psql:\S+?:(\d+): ERROR:\s+(.*(?:\n.*DETAIL:.*)?)/g)
	{
		$errors{ $name{$1} } = $2;
	}
	return (\%name, \%errors);
}

# What ran in the part of the log from a position on: name of the call, what, as whom.
sub ran
{
	my ($from) = @_;
	return map { /^([^|]*)\|LOG:  owner's (.*) runs as (\w+)$/ ? { call => $1, what => $2, role => $3 } : () }
	  split /\n/, slurp_file($node->logfile, $from);
}

# A request is gone before the worker that carried it out, which has its lock until it ends.
$node->safe_psql('postgres', q{
CREATE PROCEDURE await_workers() LANGUAGE plpgsql AS $$BEGIN
	WHILE EXISTS (SELECT FROM dynamo_internal.index_requests) OR EXISTS (SELECT FROM pg_stat_activity WHERE application_name ~ '^dynamo_table: indexes of')
	LOOP
		COMMIT;
		PERFORM pg_sleep(0.02);
	END LOOP;
END$$});
# The owner, and what the owner's code does.
$node->safe_psql('postgres', q{
	CREATE EXTENSION dynamo_table;
	CALL dyn_setup_streams();
	CREATE ROLE owner1;
	CREATE ROLE other;
	CREATE ROLE keyed LOGIN;
	CREATE SCHEMA hostile AUTHORIZATION owner1;
	GRANT CREATE ON SCHEMA public TO owner1;
	GRANT USAGE ON SCHEMA hostile TO PUBLIC;
	SET ROLE owner1;
	CREATE FUNCTION hostile.say(what text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE LOG 'owner''s % runs as %', what, current_user; END $$;
	-- what says of itself that it is immutable may run wherever an expression is evaluated, or planned
	CREATE FUNCTION hostile.note(what text, anything anyelement) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM hostile.say(what); RETURN true;
		END $$;
	CREATE FUNCTION hostile.text(what text, given text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM hostile.say(what); RETURN given; END $$;
	CREATE FUNCTION hostile.fired() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM hostile.say('trigger ' || TG_NAME); RETURN coalesce(NEW, OLD); END $$;
	CREATE DOMAIN hostile.checked AS text CHECK (hostile.note('domain', VALUE));
	CREATE TYPE hostile.pair AS (a text);
	CREATE FUNCTION hostile.to_pair(text) RETURNS hostile.pair LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM hostile.say('cast'); RETURN ROW($1)::hostile.pair;
		END $$;
	CREATE FUNCTION hostile.to_item(hostile.pair) RETURNS dyn_item LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM hostile.say('cast'); RETURN '{}'; END $$;
	CREATE CAST (text AS hostile.pair) WITH FUNCTION hostile.to_pair AS IMPLICIT;
	CREATE CAST (hostile.pair AS dyn_item) WITH FUNCTION hostile.to_item AS IMPLICIT;
	CREATE FUNCTION hostile.compare(text, text) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM hostile.say('operator class');
		RETURN bttextcmp($1, $2); END $$;
});
$node->safe_psql('postgres', q{
	-- an operator class is a superuser's to make, but its functions are the owner's to replace
	CREATE OPERATOR CLASS hostile.text_ops FOR TYPE text USING btree
		AS OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 hostile.compare(text, text);
	ALTER OPERATOR CLASS hostile.text_ops USING btree OWNER TO owner1;
});

# All that an owner can hang on a table; rules and policies are on some only, since calls go other ways then.
sub hang
{
	my ($table, $more) = @_;
	my $events = join "\n", map {
		my $event = $_;
		map { "CREATE TRIGGER ${_}_statement_$event $_ $event ON $table EXECUTE FUNCTION hostile.fired();" } qw(BEFORE AFTER)
	} qw(INSERT UPDATE DELETE TRUNCATE);
	$events .= join "\n", map {
		my $event = $_;
		map { "CREATE TRIGGER ${_}_row_$event $_ $event ON $table FOR EACH ROW EXECUTE FUNCTION hostile.fired();" } qw(BEFORE AFTER)
	} qw(INSERT UPDATE DELETE);
	$node->safe_psql('postgres', qq{
	SET application_name = 'setup';
	SET ROLE owner1;
	SET client_min_messages = warning;
	SELECT dyn_create_table('$table', 'pk S', 'sk S', global_indexes => '{"G": {"partition_key": "g S", "sort_key": "sk S"}}',
		local_indexes => '{"L": {"sort_key": "a S"}}');
	SELECT dyn_put('$table', jsonb_build_object('pk', 'P#' || i, 'sk', 'S', 'a', 'A' || i, 'g', 'G' || i, 'd', 'x', 'Type', 'Thing', 'Id', i::text, 'expires',
		1)) FROM generate_series(1, 8) i;
	SELECT dyn_create_entity('$table', 'Thing', '{"pk": "P#<Id>", "sk": "S", "g": "G<Id>"}', '{"Id": "S", "a": "S", "d": "S hostile.checked"}'),
		dyn_create_entity_view('$table', 'Thing', '${table}_things');
	SELECT dyn_create_access_pattern('$table', 'things', 'Query',
		'{"KeyConditionExpression": "pk = :pk", "ExpressionAttributeValues": {":pk": {"S": "P#<Id>"}}}', 'Thing');
	SELECT dyn_create_access_pattern('$table', 'write', 'PutItem', '{"Item": {"pk": {"S": "P#<Id>"}, "sk": {"S": "pattern"}}}');
	SELECT dyn_enable_stream('$table', 'NEW_AND_OLD_IMAGES');
	$events
	CREATE CONSTRAINT TRIGGER deferred AFTER INSERT OR UPDATE OR DELETE ON $table DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION hostile.fired();
	CREATE TRIGGER conditional AFTER UPDATE ON $table FOR EACH ROW WHEN (hostile.note('trigger''s condition', OLD.pk)) EXECUTE FUNCTION hostile.fired();
	ALTER TABLE $table ADD CONSTRAINT hostile_check CHECK (hostile.note('check', pk));
	ALTER TABLE $table ADD COLUMN generated boolean GENERATED ALWAYS AS (hostile.note('generated column', pk)) STORED;
	ALTER TABLE $table ADD COLUMN defaulted text DEFAULT hostile.text('default', 'd'), ADD COLUMN domained hostile.checked DEFAULT 'd';
	CREATE INDEX ON $table (hostile.note('index expression', pk));
	CREATE INDEX ON $table ((hostile.text('planned expression', 'x') || pk));
	CREATE INDEX ON $table (sk) WHERE hostile.note('index predicate', pk);
	CREATE INDEX ON $table (sk hostile.text_ops);
	CREATE TABLE hostile.${table}_child (pk text, sk text, FOREIGN KEY (pk, sk) REFERENCES $table ON DELETE CASCADE);
	CREATE STATISTICS hostile.${table}_statistics ON hostile.note('statistics', pk), sk FROM $table;
	CREATE TRIGGER things INSTEAD OF INSERT ON ${table}_things FOR EACH ROW EXECUTE FUNCTION hostile.fired();
	ALTER VIEW ${table}_things ALTER a SET DEFAULT hostile.text('view''s default', 'a');
	INSERT INTO hostile.${table}_child SELECT pk, sk FROM $table LIMIT 1;
	$more});
}
hang('fast', '');
hang('slow', q{CREATE RULE hostile_rule AS ON DELETE TO slow WHERE hostile.note('rule', OLD.pk) AND false DO ALSO SELECT 1});
hang('policed', q{ALTER TABLE policed ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY; CREATE POLICY hostile_policy ON policed
	USING (hostile.note('policy', pk))});
hang("gone$_", '') for 1 .. 5;
$node->safe_psql('postgres', "DROP VIEW gone${_}_things; DROP TABLE hostile.gone${_}_child") for 1 .. 5;
# what migrations read
$node->safe_psql('postgres', q{
	SET application_name = 'setup';
	SET ROLE owner1;
	CREATE TABLE hostile.source (id int PRIMARY KEY, v text);
	INSERT INTO hostile.source VALUES (1, 'a'), (2, 'b');
	ALTER TABLE hostile.source ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
	CREATE POLICY hostile_policy ON hostile.source USING (hostile.note('source''s policy', v));
	CREATE INDEX ON hostile.source (hostile.note('source''s index', v));
	CREATE VIEW hostile.of_source AS SELECT id, hostile.text('view', v) AS v FROM hostile.source;
	CREATE TABLE hostile.lines (line text);
	INSERT INTO hostile.lines VALUES ('{"Item": {"pk": {"S": "L#1"}, "sk": {"S": "S"}}}');
	SELECT dyn_create_table('moved', 'pk S');
	SELECT dyn_create_entity('moved', 'Row', '{"pk": "ROW#<Id>"}', '{"Id": "N integer", "V": "S text"}');
	CREATE TRIGGER row BEFORE INSERT OR UPDATE OR DELETE ON moved FOR EACH ROW EXECUTE FUNCTION hostile.fired();
	CREATE CONSTRAINT TRIGGER deferred AFTER INSERT OR UPDATE OR DELETE ON moved DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION hostile.fired();
	SELECT dyn_create_migration('moved', 'm',
		'[{"entity": "Row", "from": "hostile.source", "attributes": {"V": "hostile.text(''migration''''s SQL'', v)"},
		"where": "hostile.note(''migration''''s condition'', id)"}]');
});
$node->safe_psql('postgres', 'SELECT 1');
ok((grep { $_->{call} eq 'setup' && $_->{role} eq 'owner1' } ran(0)), "the owner's code writes to the log");

# The calls: after "items", those that are as INSERT, UPDATE and DELETE are, with the caller's rights; after
# "reads" those that are as SELECT is; after "maintenance" all others. ~t stands for each of three tables; what
# comes after "--" is the error that is expected.  A line that begins with a tab goes on with the one before.
# Vector indexes are refused where there is no pgvector.
my $vectors = $node->psql('postgres', 'CREATE EXTENSION vector') == 0;
my (%lines, $kind);
while (my $line = <DATA>)
{
	chomp $line;
	if ($line =~ /^(?:#|$)/) { next }
	if ($line =~ /^== (\w+)/) { $kind = $1; next }
	$line =~ s/ -- vector\|VVV$// if $vectors;
	if ($line =~ s/^\t/ /) { $lines{$kind}[-1] .= $line; next }
	push @{ $lines{$kind} }, $line;
}

# Which calls there are is for the catalog to say.  Input and output functions of types, and those of the planner, nobody calls.
my $public = q{SELECT p.oid::regprocedure FROM pg_depend d JOIN pg_proc p ON p.oid = d.objid JOIN pg_extension e ON e.oid = d.refobjid
	WHERE d.classid = 'pg_proc'::regclass AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' AND e.extname = 'dynamo_table'
	AND p.pronamespace = e.extnamespace AND NOT p.proargtypes::oid[] && ARRAY['internal', 'cstring']::regtype[]::oid[]
	AND p.oid NOT IN (SELECT unnest(ARRAY[typoutput, typsend]) FROM pg_type)};
my $views = q{SELECT c.oid::regclass FROM pg_depend d JOIN pg_class c ON c.oid = d.objid JOIN pg_extension e ON e.oid = d.refobjid
	WHERE d.classid = 'pg_class'::regclass AND d.deptype = 'e' AND e.extname = 'dynamo_table' AND c.relkind = 'v' AND c.relnamespace = e.extnamespace};
my @views = split /\n/, $node->safe_psql('postgres', $views);
cmp_ok(scalar @views, '>=', 8, 'there are views');
unshift @{ $lines{maintenance} }, map { "SELECT * FROM $_;" } @views;

my (%called, %refused);
for my $kind (qw(reads maintenance items last))
{
	my $from = -s $node->logfile;
	my @all = map { my $line = $_; $line =~ /~t/ ? map { $line =~ s/~t/$_/gr } qw(fast slow policed) : $line } @{ $lines{$kind} };
	my %expected;
	for (@all)
	{
		my ($table, $error) = s/ *-- (?:(\w+): )?(.*)// ? ($1, $2) : next;
		$expected{$_} = $error if !$table || /'$table'/;
	}
	my ($names, $errors) = run_calls($kind, @all);
	for my $name (sort { $a cmp $b } values %$names)
	{
		my ($call) = $name =~ /: (.*)/;
		my $expected = $expected{$call};
		my $told = $errors->{$name} // '';
		if (defined $expected) { like($told, qr/$expected/, "$call is refused") }
		elsif ($told ne '') { is($told, '', $call) }
		$refused{$1} = 1 if defined $expected && $call =~ /(dyn_\w+)/;
	}
	# what workers have to do is done
	wait_for($node, 'SELECT count(*) = 0 FROM dynamo_internal.index_requests');
	my %as;
	push @{ $as{ $_->{call} }{ $_->{role} } }, $_->{what} for ran($from);
	my %call = map { /^(\w+ \d+): (.*)/ ? ($1 => $2) : () } values %$names;
	for my $id (sort { ($a =~ /(\d+)/)[0] <=> ($b =~ /(\d+)/)[0] } keys %call)
	{
		my @wrong = map { my $role = $_; map { "$_ as $role" } @{ $as{$id}{$role} } }
		  grep { $kind ne 'items' ? $_ ne 'owner1' : $_ ne 'postgres' } keys %{ $as{$id} };
		# SELECT plans, too
		@wrong = grep { $_ ne 'planned expression as postgres' } @wrong if $kind eq 'reads';
		# TRUNCATE makes indexes again
		@wrong = grep { $_ ne 'planned expression as owner1' } @wrong if $kind eq 'items';
		if ($kind eq 'items') { ok($as{$id}{postgres} && !@wrong, "the owner's code runs as the caller: $call{$id}") or diag(@wrong) }
		else { is(join(', ', @wrong), '', "nothing of the owner's runs as the caller: $call{$id}") }
	}
	# workers, which have names of their own
	is(join(', ', map { "$_->{what} as $_->{role}" } grep { !$call{ $_->{call} } && $_->{role} ne 'owner1' } ran($from)), '',
		"nothing of the owner's runs as others in workers");
	$called{$_} = 1 for map { @{ $as{$_}{owner1} // [] } } keys %as;
}
# A worker sweeps.
my $from = -s $node->logfile;
$node->safe_psql('postgres', q{SET ROLE owner1; SELECT dyn_put('fast',
	jsonb_build_object('pk', 'E', 'sk', 'S', 'expires', extract(epoch FROM now())::bigint - 60)); CALL dyn_disable_ttl('fast');
	CALL dyn_enable_ttl('fast', 'expires')});
$node->append_conf('postgresql.conf', "dynamo_table.ttl_interval = 1s\ndynamo_table.ttl_probe_interval = 1s");
$node->restart;
wait_for($node, q{SELECT count(*) = 0 FROM fast WHERE pk = 'E'});
is_deeply([ map { $_->{role} } grep { $_->{what} =~ /after_row_delete/ } ran($from) ], ['owner1'], "triggers run as the owner in a worker's sweep");

# so that it is no wonder that nothing runs
for my $what ('check', 'statistics', 'domain', 'generated column', 'index expression', 'index predicate', 'operator class', 'trigger deferred',
	'trigger BEFORE_row_delete', "migration's SQL", "source's policy")
{
	ok($called{$what} || $called{ lc $what }, "$what runs as the owner in maintenance");
}

# Each was called.  Those in SQL are inlined, so the server does not count them: the calls have casts to the types of their arguments.
my $text = join "\n", map { @{ $lines{$_} } } keys %lines;
my %sql = map { $_ => 1 } split /\n/, $node->safe_psql('postgres', "$public AND p.prolang = (SELECT oid FROM pg_language WHERE lanname = 'sql')");
my @missing;
wait_for($node, q{SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name ~ '^(reads|maintenance|items|last) '});
for my $function (split /\n/, $node->safe_psql('postgres', "$public AND NOT EXISTS (SELECT FROM pg_stat_user_functions s WHERE s.funcid = p.oid)"))
{
	my ($name, $types) = $function =~ /^(\w+)\((.*?)\)$/;
	next if $refused{$name};
	my ($type) = ((grep { $_ ne 'text' } split /,/, $types), 'text');
	next if $sql{$function} && grep { /\b$name\(.*::\Q$type\E\b/ } split /\n/, $text;
	push @missing, $function;
}
is(join("\n", @missing), '', 'every public function and procedure is called');

done_testing();
__DATA__
== reads
SELECT dyn_get('~t', '{"pk": {"S": "P#1"}, "sk": {"S": "S"}}');
SELECT * FROM dyn_query('~t', 'pk = :p', vals => '{":p": {"S": "P#1"}}');
SELECT * FROM dyn_query('~t', 'g = :g', 'G', vals => '{":g": {"S": "G1"}}');
SELECT * FROM dyn_query('~t', 'pk = :p AND a = :a', 'L', vals => '{":p": {"S": "P#1"}, ":a": {"S": "A1"}}');
SELECT * FROM dyn_scan('~t', filter => 'a = :a', vals => '{":a": {"S": "A1"}}');
SELECT * FROM dyn_scan('~t', 'G');
SELECT * FROM dyn_query_page('~t', 'pk = :p', vals => '{":p": {"S": "P#1"}}', page_size => 1);
SELECT * FROM dyn_scan_page('~t', page_size => 2);
SELECT * FROM dyn_explain('~t', 'pk = :p', vals => '{":p": {"S": "P#1"}}');
SELECT * FROM dyn_explain('~t');
SELECT dyn_batch_get('~t', ARRAY['{"pk": {"S": "P#1"}, "sk": {"S": "S"}}']::dyn_item[]);
SELECT dyn_batch_get('~t', '[{"pk": {"S": "P#1"}, "sk": {"S": "S"}}]'::text);
SELECT dyn_transact_get('[{"Get": {"TableName": "~t", "Key": {"pk": {"S": "P#1"}, "sk": {"S": "S"}}}}]'::text);
SELECT dyn_transact_get('[{"Get": {"TableName": "~t", "Key": {"pk": {"S": "P#1"}, "sk": {"S": "S"}}}}]'::json);
SELECT dyn_transact_get('[{"Get": {"TableName": "~t", "Key": {"pk": {"S": "P#1"}, "sk": {"S": "S"}}}}]'::jsonb);
SELECT dyn_execute('SELECT * FROM "~t" WHERE pk = ?', '[{"S": "P#1"}]'::text);
SELECT dyn_execute('SELECT * FROM "~t" WHERE a = ?', ARRAY[dyn_to_value('A1'::text)]);
SELECT * FROM dyn_execute_page('SELECT * FROM "~t"."G" WHERE g = ?', '[{"S": "G1"}]'::text);
SELECT * FROM dyn_execute_page('SELECT * FROM "~t"', ARRAY[]::dyn_value[], page_size => 2);
SELECT * FROM dyn_explain_statement('SELECT * FROM "~t" WHERE pk = ?', '[{"S": "P#1"}]'::text);
SELECT * FROM dyn_explain_statement('DELETE FROM "~t" WHERE pk = ? AND sk = ?', ARRAY[dyn_to_value('P#1'::text), dyn_to_value('S'::text)]);
SELECT dyn_table_chart('~t'), dyn_table_chart('~t', 'G');
SELECT dyn_get_entity('~t', 'Thing', '{"Id": {"S": "1"}}');
SELECT dyn_entity_keys('~t', 'Thing', '{"Id": {"S": "1"}}');
SELECT dyn_entity_item('~t', 'Thing', '{"Id": {"S": "1"}, "a": {"S": "a"}}');
SELECT dyn_entity_attributes('~t', dyn_get('~t', '{"pk": {"S": "P#1"}, "sk": {"S": "S"}}'));
SELECT * FROM dyn_entities('~t');
SELECT dyn_entity_chart('~t');
SELECT * FROM dyn_access_patterns('~t');
SELECT dyn_access_pattern_chart('~t');
SELECT dyn_run_access_pattern('~t', 'things', '{"Id": {"S": "1"}}');
SELECT dyn_export('~t'), dyn_export('~t', 'Thing');
SELECT a FROM ~t_things WHERE "Id" = '1';
EXPLAIN SELECT * FROM ~t WHERE pk = 'P#1' AND sk = 'S' AND domained = 'd';
SELECT dyn_request('GetItem', '{"TableName": "~t", "Key": {"pk": {"S": "P#1"}, "sk": {"S": "S"}}}'::text);
SELECT dyn_request('BatchGetItem', '{"RequestItems": {"~t": {"Keys": [{"pk": {"S": "P#1"}, "sk": {"S": "S"}}]}}}'::json);
SELECT dyn_request('Query', '{"TableName": "~t", "KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": {"S": "P#1"}}}'::jsonb);
SELECT dyn_request('Scan', '{"TableName": "~t", "Limit": 3}'::json);
SELECT dyn_request('TransactGetItems', '{"TransactItems": [{"Get": {"TableName": "~t", "Key": {"pk": {"S": "P#1"}, "sk": {"S": "S"}}}}]}'::json);
SELECT dyn_request('ExecuteStatement', '{"Statement": "SELECT * FROM \"~t\" WHERE pk = ''P#1''"}'::json);
SELECT dyn_error_name('YD001'), dyn_size(item), dyn_matches(item, 'a = :a', vals => '{":a": {"S": "A1"}}'), dyn_project(item, 'a'),
	dyn_apply(item, 'SET a = :a', vals => '{":a": {"S": "A1"}}') FROM ~t;
SELECT dynamo_internal.get_attribute(item, 'a'), dynamo_internal.get_attribute_text(item, 'a'), dynamo_internal.get_path(item, '{a}'),
	dynamo_internal.get_path_text(item, '{a}'), dynamo_internal.has_attribute(item, 'a') FROM ~t;

== maintenance
# what is told of tables
SELECT dyn_describe_table('~t');
SELECT * FROM dyn_table_statistics('~t');
SELECT dyn_request('DescribeTable', '{"TableName": "~t"}'::json);
SELECT dyn_request('DescribeTimeToLive', '{"TableName": "~t"}'::json);
SELECT dyn_request('DescribeContinuousBackups', '{"TableName": "~t"}'::json);
SELECT dyn_request('UpdateContinuousBackups', '{"TableName": "~t", "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": false}}'::json);
SELECT dyn_request('ListTables', '{}'::json), dyn_request('DescribeLimits', '{}'::json), dyn_request('DescribeEndpoints', '{}'::json);
SELECT dyn_request('TagResource', json_build_object('ResourceArn', dyn_request('DescribeTable', '{"TableName": "~t"}'::json) -> 'Table' -> 'TableArn', 'Tags',
	'[{"Key": "k", "Value": "v"}]'::json));
SELECT dyn_request('ListTagsOfResource', json_build_object('ResourceArn', dyn_request('DescribeTable', '{"TableName": "~t"}'::json) -> 'Table' -> 'TableArn'));
SELECT dyn_request('UntagResource', json_build_object('ResourceArn', dyn_request('DescribeTable', '{"TableName": "~t"}'::json) -> 'Table' -> 'TableArn',
	'TagKeys', '["k"]'::json));
# checks
SELECT * FROM dyn_check_table('~t');
SELECT * FROM dyn_check_entities('~t');
SELECT dyn_index_violations('~t'), dyn_index_violations('~t', 'G');
SELECT dyn_enforce_entities('~t');
SELECT dyn_enforce_entities('~t', false);
# what is declared and built
SELECT dyn_alter_table('~t', '{"placement": false}');
SELECT dyn_alter_table('~t', '{"placement": true}');
SELECT dyn_grant_keys('~t', 'keyed', '{Query}', '{P}');
SELECT dyn_revoke_keys('~t', 'keyed');
SELECT dyn_create_entity('~t', 'Other1', '{"pk": "O#<Id>", "sk": "S"}', '{"Id": "S"}'::text);
SELECT dyn_create_entity('~t', 'Other2', '{"pk": "O#<Id>", "sk": "S"}', '{"Id": "S"}'::json);
SELECT dyn_create_entity('~t', 'Other3', '{"pk": "O#<Id>", "sk": "S"}', '{"Id": "S"}'::jsonb);
SELECT dyn_create_entity_view('~t', 'Other1', '~t_other');
SELECT dyn_create_entity_view('~t', 'Thing', '~t_by_g', index_name => 'G');
SELECT dyn_drop_entity('~t', 'Other2'), dyn_drop_entity('~t', 'Other3');
SELECT dyn_create_access_pattern('~t', 'p', 'GetItem', '{"Key": {"pk": {"S": "P#<Id>"}, "sk": {"S": "S"}}}');
SELECT dyn_drop_access_pattern('~t', 'p');
CALL dyn_create_index('~t', 'III', 'a S');
CALL dyn_create_index('~t', 'JJJ', ARRAY['a S', 'g S']);
CALL dyn_create_index('~t', 'MMM', 'a S', 'g S', covering => true);
CALL dyn_drop_index('~t', 'MMM');
CALL dyn_drop_index('~t', 'III');
CALL dyn_drop_index('~t', 'JJJ');
CALL dyn_create_vector_index('~t', 'VVV', 'v', 2, method => 'hnsw', filters => '{a S}'); -- vector|VVV
SELECT * FROM dyn_search('~t', 'VVV', '{1,1}'); -- vector|VVV
CALL dyn_drop_index('~t', 'VVV'); -- vector|VVV
SELECT dyn_request('UpdateTable', '{"TableName": "~t", "AttributeDefinitions": [{"AttributeName": "Type", "AttributeType": "S"}],
	"GlobalSecondaryIndexUpdates": [{"Create": {"IndexName": "KKK", "KeySchema": [{"AttributeName": "Type", "KeyType": "HASH"}],
	"Projection": {"ProjectionType": "ALL"}}}]}'::json);
CALL await_workers();
SELECT dyn_request('UpdateTable', '{"TableName": "~t", "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "KKK"}}]}'::json);
CALL await_workers();
ANALYZE ~t;
VACUUM FULL ~t;
CLUSTER ~t USING ~t_pkey;
REINDEX TABLE ~t;
CALL dyn_backfill('~t', 'SET c = :c', 'attribute_exists(a)', vals => '{":c": {"S": "c"}}');
CALL dyn_refresh_entity('~t', 'Thing', restart => true);
CALL dyn_regroup('~t');
# time to live
CALL dyn_enable_ttl('~t', 'never');
CALL dyn_disable_ttl('~t');
SELECT dyn_request('UpdateTimeToLive', '{"TableName": "~t", "TimeToLiveSpecification": {"AttributeName": "never", "Enabled": true}}'::json);
CALL await_workers();
CALL dyn_disable_ttl('~t');
CALL dyn_backfill('~t', 'SET expires = :e', 'Id = :i', vals => jsonb_build_object(':e', extract(epoch FROM now())::bigint - 60, ':i', '7'));
CALL dyn_enable_ttl('~t', 'expires', hide_expired => true);
CALL dyn_sweep_ttl('~t', from_start => true); -- policed: row-level security
CALL dyn_sweep_ttl();
SELECT dynamo_internal.ttl_due('~t', 0);
CALL dynamo_internal.resume_ttl('~t');
# streams
SELECT dyn_disable_stream('~t');
SELECT dyn_enable_stream('~t', 'NEW_IMAGE');
SELECT dyn_alter_stream('~t', 8);
CALL dyn_collect_streams();
SELECT * FROM dyn_read_stream('~t');
SELECT dyn_stream_position();
SELECT dyn_request('ListStreams', '{"TableName": "~t"}'::json);
SELECT dyn_request('DescribeStream', json_build_object('StreamArn', stream_arn)) FROM dyn_streams WHERE relation = '~t'::regclass;
SELECT dyn_request('GetRecords', json_build_object('ShardIterator',
	dyn_request('GetShardIterator', json_build_object('StreamArn', stream_arn, 'ShardIteratorType', 'TRIM_HORIZON', 'ShardId',
	dyn_request('DescribeStream', json_build_object('StreamArn', stream_arn)) -> 'StreamDescription' -> 'Shards' -> 0 -> 'ShardId')) -> 'ShardIterator'))
	FROM dyn_streams WHERE relation = '~t'::regclass;
# migrations
SELECT dyn_propose_migration('proposed', '{hostile.source,hostile.of_source}', queries => '{SELECT v FROM hostile.of_source WHERE id = $1}');
SELECT dyn_create_migration('moved', 'n', '[{"entity": "Row", "from": "hostile.source", "attributes": {"V": "hostile.text(''migration''''s SQL'', v)"}}]');
SELECT dyn_drop_migration('n');
SELECT * FROM dyn_preview_migration('m');
SELECT * FROM dynamo_internal.migration_items('m');
CALL dyn_migrate('m');
SELECT * FROM dyn_verify_migration('m');
SELECT * FROM dyn_jobs;
SELECT * FROM dyn_job_problems;
SELECT dyn_follow_migration('m');
SELECT * FROM dyn_verify_migration('m');
# tables of the caller's own
SELECT dyn_create_table('mine', 'pk S');
SELECT dyn_request('CreateTable', '{"TableName": "Made", "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
	"KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}], "BillingMode": "PAY_PER_REQUEST"}'::json);
SELECT dyn_distribute_table('~t'); -- citus
SELECT dyn_undistribute_table('~t'); -- distributed
# values, texts and times alone
SELECT dynamo_internal.get_attribute(v, 'a'), dynamo_internal.get_attribute_text(v, 'a'), dynamo_internal.get_path(v, '{a}'),
	dynamo_internal.get_path_text(v, '{a}'), dynamo_internal.has_attribute(v, 'a'),
	dynamo_internal.get_element(v, 0), dynamo_internal.get_element_text(v, 0) FROM dyn_to_value('x'::text) v;
SELECT dyn_ksuid_time(k), dyn_ksuid_bytes(k), dyn_ksuid(NULL, dyn_ksuid_bytes(k)), dyn_ksuid(now(), '\x00') FROM dyn_ksuid() k;
SELECT dynamo_internal.render('P#<Id>', '{"Id": {"S": "1"}}');
SELECT dynamo_internal.reset_operations();
# keys of gateways
SELECT dyn_create_access_key('KEY', 'keyed', '\x00');
SELECT dyn_alter_access_key('KEY', enabled => true);
SELECT dyn_export_access_keys() AS keys \gset
SELECT dyn_drop_access_key('KEY');
SELECT dyn_import_access_keys(:'keys');

== items
SELECT dyn_put('~t', '{"pk": {"S": "I"}, "sk": {"S": "1"}}');
SELECT dyn_put('~t', '{"pk": {"S": "I"}, "sk": {"S": "1"}, "a": {"S": "b"}}', 'attribute_exists(pk)', return_values => 'ALL_OLD');
SELECT dyn_update('~t', '{"pk": {"S": "I"}, "sk": {"S": "1"}}', 'SET a = :a', vals => '{":a": {"S": "c"}}');
SELECT dyn_delete('~t', '{"pk": {"S": "I"}, "sk": {"S": "1"}}');
SELECT dyn_batch_write('~t', ARRAY['{"pk": {"S": "I"}, "sk": {"S": "2"}}']::dyn_item[]);
SELECT dyn_batch_write('~t', NULL::dyn_item[], ARRAY['{"pk": {"S": "I"}, "sk": {"S": "2"}}']::dyn_item[], '[]'::text);
SELECT dyn_batch_write('~t', '[{"pk": {"S": "I"}, "sk": {"S": "3"}}]'::text);
SELECT dyn_transact('[{"Put": {"TableName": "~t", "Item": {"pk": {"S": "I"}, "sk": {"S": "4"}}}},
	{"ConditionCheck": {"TableName": "~t", "Key": {"pk": {"S": "P#1"}, "sk": {"S": "S"}}, "ConditionExpression": "attribute_exists(a)"}}]'::text);
SELECT dyn_transact('[{"Update": {"TableName": "~t", "Key": {"pk": {"S": "I"}, "sk": {"S": "4"}}, "UpdateExpression": "SET a = :a",
	"ExpressionAttributeValues": {":a": {"S": "d"}}}}]'::json);
SELECT dyn_transact('[{"Delete": {"TableName": "~t", "Key": {"pk": {"S": "I"}, "sk": {"S": "4"}}}}]'::jsonb);
SELECT * FROM dyn_transact_returning('[{"Put": {"TableName": "~t", "Item": {"pk": {"S": "I"}, "sk": {"S": "5"}}}}]'::text);
SELECT * FROM dyn_transact_returning('[{"Put": {"TableName": "~t", "Item": {"pk": {"S": "I"}, "sk": {"S": "6"}}}}]'::json);
SELECT * FROM dyn_transact_returning('[{"Put": {"TableName": "~t", "Item": {"pk": {"S": "I"}, "sk": {"S": "7"}}}}]'::jsonb);
SELECT dyn_execute('INSERT INTO "~t" VALUE {''pk'': ''I'', ''sk'': ''8''}');
SELECT dyn_execute('UPDATE "~t" SET a = ? WHERE pk = ''I'' AND sk = ''8''', ARRAY[dyn_to_value('e'::text)]);
SELECT * FROM dyn_execute_page('DELETE FROM "~t" WHERE pk = ''I'' AND sk = ''8''');
SELECT dyn_put_entity('~t', 'Thing', '{"Id": {"S": "9"}, "a": {"S": "A9"}}');
SELECT dyn_update_entity('~t', 'Thing', '{"Id": {"S": "9"}}', 'SET a = :a', vals => '{":a": {"S": "B9"}}');
SELECT dyn_delete_entity('~t', 'Thing', '{"Id": {"S": "9"}}');
SELECT dyn_run_access_pattern('~t', 'write', '{"Id": {"S": "9"}}');
SELECT * FROM dyn_import_lines('~t', '{"Item": {"pk": {"S": "I"}, "sk": {"S": "9"}}}');
CALL dyn_import('~t', 'hostile.lines');
SELECT dyn_request('PutItem', '{"TableName": "~t", "Item": {"pk": {"S": "R"}, "sk": {"S": "1"}}}'::text);
SELECT dyn_request('UpdateItem', '{"TableName": "~t", "Key": {"pk": {"S": "R"}, "sk": {"S": "1"}}, "UpdateExpression": "SET a = :a",
	"ExpressionAttributeValues": {":a": {"S": "f"}}}'::json);
SELECT dyn_request('DeleteItem', '{"TableName": "~t", "Key": {"pk": {"S": "R"}, "sk": {"S": "1"}}}'::jsonb);
SELECT dyn_request('BatchWriteItem', '{"RequestItems": {"~t": [{"PutRequest": {"Item": {"pk": {"S": "R"}, "sk": {"S": "2"}}}}]}}'::json);
SELECT dyn_request('TransactWriteItems', '{"TransactItems": [{"Put": {"TableName": "~t", "Item": {"pk": {"S": "R"}, "sk": {"S": "3"}}}}]}'::json);
SELECT dyn_request('ExecuteStatement', '{"Statement": "DELETE FROM \"~t\" WHERE pk = ''R'' AND sk = ''2''"}'::json);
SELECT dyn_request('BatchExecuteStatement', '{"Statements": [{"Statement": "DELETE FROM \"~t\" WHERE pk = ''R'' AND sk = ''3''"}]}'::json);
SELECT dyn_request('ExecuteTransaction', '{"TransactStatements": [{"Statement": "INSERT INTO \"~t\" VALUE {''pk'': ''R'', ''sk'': ''4''}"}]}'::json);
INSERT INTO ~t (item) VALUES ('{"pk": {"S": "R"}, "sk": {"S": "5"}}');
UPDATE ~t SET item = item WHERE pk = 'R' AND sk = '5';
DELETE FROM ~t WHERE pk = 'R' AND sk = '5';
INSERT INTO ~t_things ("Id") VALUES ('10');
SELECT * FROM ~t_things;
SELECT * FROM ~t_by_g;
SELECT dyn_entity_item('~t', 'Thing', '{"Id": {"S": "1"}, "d": {"S": "d"}}');
UPDATE ~t_things SET a = 'x' WHERE "Id" = '1';
DELETE FROM ~t_things WHERE "Id" = '1';
SELECT * FROM hostile.of_source;
INSERT INTO hostile.source VALUES (3, 'c');
TRUNCATE ~t, hostile.~t_child;

== last
SELECT dyn_follow_migration('m', enabled => false);
SELECT dyn_detach('gone1', dry_run => true);
SELECT dyn_disable_stream('gone1'), dyn_disable_stream('gone4'), dyn_disable_stream('gone5');
SELECT dyn_detach('gone1');
SELECT dyn_detach('gone4', 'columns');
SELECT dyn_detach('gone5', 'dynamodb');
SELECT dyn_drop_table('gone2');
SELECT dyn_request('DeleteTable', '{"TableName": "gone3"}'::json);
DO $$ BEGIN WHILE to_regclass('gone3') IS NOT NULL LOOP COMMIT; PERFORM pg_sleep(0.02); END LOOP; END $$;
CALL dyn_setup_streams();
CALL dyn_teardown_streams(force => true);
