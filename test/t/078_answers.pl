# The server's log: answers to callers are not in it, unless a superuser wants that, and items are not in it then; nor can a role
# hide an error of its own.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;
use Frontend;

my $neighbour = build_library('neighbour/neighbour.c');

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "log_statement = none\nlog_connections = off\nlog_disconnections = off\nlog_checkpoints = off");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION dynamo_table;
	CREATE ROLE gateway LOGIN NOINHERIT; CREATE ROLE tenant LOGIN; CREATE ROLE owner LOGIN;
	GRANT tenant TO gateway;
	GRANT EXECUTE ON FUNCTION dynamo_internal.request_as TO gateway;
	GRANT CREATE ON SCHEMA public TO owner;
	SET SESSION AUTHORIZATION owner;
	SELECT dyn_create_table('app', 'pk S');
	GRANT ALL ON app TO tenant;
	SELECT dyn_put('app', '{"pk":{"S":"a"},"hidden":{"S":"sesame"}}')});

# What a statement, or what code does, has written to the log, and the error that the client has got.
my $read = -s $node->logfile;
sub logged
{
	my ($what) = @_;
	$what = [ $what ] unless ref $what;
	my $error = ref $what eq 'CODE' ? $what->() : ($node->psql('postgres', join(";\n", "\\set VERBOSITY verbose\n" . shift @$what, @$what), on_error_stop => 0,
		extra_params => [ '-U', 'tenant' ]))[2];
	my $log = slurp_file($node->logfile, $read);
	$read = -s $node->logfile;
	return ($log, $error);
}
sub hides
{
	my ($name, $expected, $what) = @_;
	my ($log, $error) = logged($what);
	like($error, $expected, "$name: the client's error");
	is($log, '', "$name: nothing in the log");
}
sub logs
{
	my ($name, $expected, $what) = @_;
	my ($log) = logged($what);
	like($log, $expected, "$name is in the log");
}

my $failing = q{SELECT dyn_put('app', '{"pk":{"S":"a"}}', 'attribute_not_exists(pk)', return_values_on_condition_check_failure => 'ALL_OLD')};
my $transaction = q{SELECT dyn_transact('[{"Put": {"TableName": "app", "Item": {"pk": {"S": "a"}}, "ConditionExpression": "attribute_not_exists(pk)",
	"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}}]')};
my $request = q{'{"TableName": "app", "Item": {"pk": {"S": "a"}}, "ConditionExpression": "attribute_not_exists(pk)",
	"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}'};
my $caught = q{DO $$ BEGIN PERFORM dyn_put('app', '{"pk":{"S":"a"}}', 'attribute_not_exists(pk)'); EXCEPTION WHEN SQLSTATE 'YD002' THEN RAISE; END $$};

# answers
hides('a condition', qr/ERROR:  YD002: .*\nDETAIL:  .*sesame/, $failing);
hides('a transaction', qr/ERROR:  YD003: .*\nDETAIL:  .*sesame/, $transaction);
hides('an INSERT', qr/ERROR:  YD017: /, q{SELECT dyn_execute('INSERT INTO app VALUE {''pk'': ''a''}')});
hides('a request', qr/ERROR:  YD002: .*\nDETAIL:  .*sesame/, "SELECT dyn_request('PutItem', $request)");
hides('a statement', qr/ERROR:  YD002: .*\nDETAIL:  .*sesame/,
	q{SELECT dyn_request('ExecuteStatement',
		'{"Statement": "UPDATE app SET x = 1 WHERE pk = ''a'' AND x = 2", "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}')});
hides('an answer that is raised again', qr/ERROR:  YD002: /, $caught);
my $gateway = Frontend->new($node, 'gateway');
$gateway->prepare('request', 'SELECT dynamo_internal.request_as($1, $2, $3)');
hides('a request of a gateway', qr/^YD002 .*sesame/, sub {
	my $error = $gateway->execute('request', 'tenant', 'PutItem', substr($request, 1, -1))->{error};
	return "$error->{C} $error->{D}"});

# errors
logs('an error of a request', qr/ERROR:  .*\n.*STATEMENT:  SELECT dyn_put/, q{SELECT dyn_put('app', '{"pk":{"N":"1"}}')});
logs('a privilege that is missing', qr/ERROR:  permission denied/, q{SELECT dyn_put('app', '{"pk":{"S":"b"}}') FROM dynamo_internal.access_key});
logs("a role's own YD002", qr/ERROR:  hidden by me/, q{DO $$ BEGIN RAISE 'hidden by me' USING ERRCODE = 'YD002', DETAIL = '{}'; END $$});
$node->safe_psql('postgres', q{
	CREATE FUNCTION deny() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'the conditional request failed' USING ERRCODE = 'YD002',
		DETAIL = '{"by": "a trigger"}'; END $$;
	CREATE TRIGGER deny BEFORE INSERT OR UPDATE ON app FOR EACH ROW EXECUTE FUNCTION deny()}, extra_params => [ '-U', 'owner' ]);
my $denied = q{'{"TableName": "app", "Item": {"pk": {"S": "b"}}}'};
logs("a trigger's", qr/DETAIL:  \{"by": "a trigger"\}/, q{SELECT dyn_put('app', '{"pk":{"S":"b"}}')});
logs("a trigger's, in a request", qr/a trigger/, "SELECT dyn_request('PutItem', $denied)");
logs("a trigger's, in a request of a gateway", qr/a trigger/, sub { $gateway->execute('request', 'tenant', 'PutItem', substr($denied, 1, -1)) });
$node->safe_psql('postgres', 'DROP TRIGGER deny ON app');
logs('an answer that ends the session', qr/FATAL:  .*conditional request failed/, [ 'SET exit_on_error = on', $failing ]);
logs('who may not set it', qr/ERROR:  permission denied to set parameter "dynamo_table.log_answers"/,
	[ q{SELECT dyn_error_name('YD002')}, 'SET dynamo_table.log_answers = on' ]);
logs('who sets it before the library is there', qr/^(?!.*conditional request failed).*permission denied to set parameter/s,
	[ 'SET dynamo_table.log_answers = on', $failing ]);

# the setting, without items
$node->safe_psql('postgres', 'ALTER DATABASE postgres SET dynamo_table.log_answers = on');
foreach my $answer ([ 'a condition', $failing,
	qr/ERROR:  the conditional request failed\n.*DETAIL:  The item that the caller has asked for is not logged\.\n/ ],
	[ 'a transaction', $transaction, qr/DETAIL:  \{"CancellationReasons":\[\{"Code":"ConditionalCheckFailed","Message":"[^"]*"\}\]\}\n/ ],
	[ 'a request', "SELECT dyn_request('PutItem', $request)", qr/ERROR:  The conditional request failed\n.*DETAIL:  The item that/ ])
{
	my ($name, $sql, $expected) = @$answer;
	my ($log, $error) = logged($sql);
	like($log, $expected, "$name is in the log if that is wanted");
	unlike($log, qr/sesame/, 'without the item');
	like($error, qr/sesame/, 'which the client gets');
}
$node->safe_psql('postgres', 'ALTER DATABASE postgres RESET dynamo_table.log_answers');
$gateway->close;

# Another library's hook runs, whichever library comes first.
foreach my $libraries ("dynamo_table, $neighbour", "$neighbour, dynamo_table")
{
	$node->append_conf('postgresql.conf', "shared_preload_libraries = '$libraries'");
	$node->restart;
	$node->safe_psql('postgres', "CREATE OR REPLACE FUNCTION neighbour_heard() RETURNS bigint AS '$neighbour' LANGUAGE c STRICT");
	$read = -s $node->logfile;
	my (undef, $heard, $error) = $node->psql('postgres', "$failing; SELECT neighbour_heard()", on_error_stop => 0, extra_params => [ '-U', 'tenant' ]);
	like("$heard $error", qr/^1 .*conditional request failed/s, "a hook of another library: $libraries");
	unlike(slurp_file($node->logfile, $read), qr/conditional request failed/, 'and no answer in the log');
}
$node->stop;
done_testing();
