# Requests of gateways: two tenants on one connection, which has one prepared statement.  What code in a tenant's tables tries,
# it does with the tenant's own rights, and the session is afterwards as it was before.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;
use Frontend;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "client_min_messages = error\nshared_preload_libraries = dynamo_table\nmax_prepared_transactions = 2");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION dynamo_table;
	CREATE ROLE gateway LOGIN;
	CREATE ROLE a LOGIN;
	CREATE ROLE b NOINHERIT;
	GRANT a, b TO gateway;
	GRANT EXECUTE ON FUNCTION dynamo_internal.request_as, dynamo_internal.gateway_keys TO gateway;
	CREATE SCHEMA a AUTHORIZATION a;
	CREATE SCHEMA b AUTHORIZATION b;
	CREATE SCHEMA shared;
	GRANT USAGE ON SCHEMA a, shared TO PUBLIC;
	SET check_function_bodies = off;
	SET SESSION AUTHORIZATION b;
	SET search_path = b, public;
	SELECT dyn_create_table('app', 'pk S');
	SELECT dyn_put('app', '{"pk":{"S":"secret"},"of":{"S":"b"}}');
	SET SESSION AUTHORIZATION a;
	SET search_path = a, public;
	SELECT dyn_create_table('app', 'pk S');
	CREATE TABLE log (who text, what text);
	CREATE FUNCTION run() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			EXECUTE new.item ->> 'code';
			RETURN new;
		END $$;
	CREATE TRIGGER run BEFORE INSERT ON app FOR EACH ROW EXECUTE FUNCTION run();
	-- what others would run
	CREATE FUNCTION evil(pg_catalog.text) RETURNS boolean LANGUAGE plpgsql SET search_path = pg_catalog AS $$
		BEGIN
			INSERT INTO a.log VALUES (current_user, 'evil');
			RETURN true;
		END $$;
	CREATE FUNCTION steal() RETURNS pg_catalog.text LANGUAGE sql AS $$ SELECT item ->> 'of' FROM b.app $$;
	CREATE FUNCTION as_b() RETURNS pg_catalog.text LANGUAGE sql SET role = b AS $$ SELECT item ->> 'of' FROM b.app $$;
	CREATE FUNCTION as_owner() RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN SET LOCAL ROLE b; END $$;
	CREATE FUNCTION ends() RETURNS pg_catalog.text LANGUAGE plpgsql SET exit_on_error = on AS $$ BEGIN RAISE EXCEPTION USING ERRCODE = '57P01'; END $$;
	CREATE FUNCTION stays() RETURNS void LANGUAGE sql SET client_connection_check_interval = 0 AS '';
	CREATE SEQUENCE numbers;
	CREATE PROCEDURE commits() LANGUAGE plpgsql AS $$ BEGIN COMMIT; END $$;
	-- a trigger that defers itself again
	CREATE TABLE deferred (n int);
	CREATE FUNCTION again() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			INSERT INTO a.log VALUES (current_user, 'deferred');
			IF new.n > 0 THEN INSERT INTO a.deferred VALUES (new.n - 1); END IF;
			RETURN NULL;
		END $$;
	CREATE CONSTRAINT TRIGGER again AFTER INSERT ON deferred DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION again();
	CREATE TABLE parent (n int PRIMARY KEY);
	CREATE TABLE child (n int REFERENCES parent DEFERRABLE INITIALLY DEFERRED)});

my $gateway;
my $n = 0;

sub quoted { my ($text) = @_; $text =~ s/(["\\])/\\$1/g; $text =~ s/[\n\t]/ /g; return qq{"$text"} }

sub request
{
	my ($role, $operation, $json) = @_;
	my $answer = $gateway->execute('gateway', $role, $operation, $json);
	return $answer->{error} ? "$answer->{error}{C}: $answer->{error}{M}" : $answer->{rows}[0][0];
}

# a writes an item, and its trigger runs the code.
sub attack
{
	my ($code) = @_;
	return request('a', 'PutItem', '{"TableName":"app","Item":{"pk":{"S":"' . $n++ . '"},"code":{"S":' . quoted($code) . '}}}');
}

# What the session has, but for what the query itself adds.
sub session
{
	return $gateway->query(q{
		SELECT session_user, current_user, pg_my_temp_schema(), current_schemas(true),
			(SELECT md5(string_agg(name || '=' || coalesce(setting, ''), ',' ORDER BY name COLLATE "C")) FROM pg_settings WHERE name NOT LIKE 'transaction%'),
			(SELECT string_agg(name || ':' || statement, ',' ORDER BY name) FROM pg_prepared_statements),
			(SELECT string_agg(name, ',') FROM pg_cursors WHERE name <> ''),
			(SELECT string_agg(channel, ',') FROM pg_listening_channels() channel),
			(SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory')});
}

my $theirs = '{"TableName":"app","Key":{"pk":{"S":"secret"}}}';
my $denied = qr/^YD016: User: a is not authorized to perform: dynamodb:PutItem on resource: \*$/;

# Code that is refused, by whom does not matter.
my @refused = (
	'SET ROLE b', 'SET LOCAL ROLE b', 'RESET ROLE', 'SET ROLE NONE', q{SELECT set_config('role', 'b', false)}, q{SELECT set_config('role', 'b', true)},
	'SET SESSION AUTHORIZATION b', 'SET LOCAL SESSION AUTHORIZATION b', 'RESET SESSION AUTHORIZATION', 'SET SESSION AUTHORIZATION DEFAULT',
	'SELECT a.as_b()', 'SELECT a.as_owner()', 'SELECT a.steal()',
	'CREATE TEMP TABLE app (a int)', 'CREATE TABLE pg_temp.app (a int)', 'CREATE TEMP VIEW app AS SELECT 1', 'CREATE TEMP SEQUENCE app',
	'SELECT 1 AS a INTO TEMP app',
	'CREATE TABLE pg_temp.app AS SELECT 1',
	'LISTEN a', 'UNLISTEN *', 'DISCARD ALL', 'DISCARD PLANS', 'DISCARD TEMP', 'DISCARD SEQUENCES',
	'DECLARE c CURSOR WITH HOLD FOR SELECT a.evil(NULL)', 'CLOSE ALL',
	'DEALLOCATE gateway', 'DEALLOCATE ALL', q{PREPARE other AS SELECT a.evil(NULL)}, q{PREPARE gateway (regrole, text, text) AS SELECT a.evil(NULL)},
	q{EXECUTE gateway('b', 'GetItem', '} . $theirs . q{')}, q{SELECT dynamo_internal.request_as('b', 'GetItem', '} . $theirs . q{')},
	q{SELECT * FROM dynamo_internal.gateway_keys()}, q{SELECT * FROM dynamo_internal.access_key},
	q{SELECT pg_terminate_backend(pg_backend_pid())}, q{SELECT pg_cancel_backend(pg_backend_pid())},
	q{SET session_replication_role = replica}, q{LOAD 'plperl'},
	# by which any error would end the session
	q{SET exit_on_error = on; DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '57P01'; END $$}, q{SELECT set_config('exit_on_error', 'on', true)},
		'SET LOCAL exit_on_error = on',
	# by which none would
	'SET client_connection_check_interval = 0', q{SELECT set_config('client_connection_check_interval', '1h', true)}, 'SELECT a.stays()',
	q{DO $$ BEGIN SET exit_on_error = on; EXCEPTION WHEN OTHERS THEN RAISE; END $$}, 'SELECT a.ends()',
	($node->pg_version >= 17 ? ('SET transaction_timeout = 1; SELECT pg_sleep(10)') : ()),
	'SET CONSTRAINTS ALL DEFERRED; INSERT INTO a.deferred VALUES (3)', 'SET CONSTRAINTS ALL DEFERRED; INSERT INTO a.child VALUES (1)',
	q{CREATE DOMAIN pg_temp.text AS pg_catalog.text CHECK (a.evil(VALUE))}, q{CREATE TYPE pg_temp.json AS ENUM ('a')}, 'CREATE TYPE pg_temp.regrole AS (a int)',
	q{CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql AS 'SELECT 1'});

# Code that PostgreSQL refuses in functions anyway.
my @impossible = (
	'COMMIT', 'ROLLBACK', 'BEGIN', 'SAVEPOINT s', q{PREPARE TRANSACTION 'p'}, 'CALL a.commits()', 'DO $$ BEGIN COMMIT; END $$', 'COPY a.log TO STDOUT',
	'CREATE INDEX CONCURRENTLY ON a.log (who)', 'SET TRANSACTION ISOLATION LEVEL SERIALIZABLE', q{ALTER SYSTEM SET work_mem = '1MB'});

# Code that is allowed, and whose effects on the session end with the request.
my @allowed = (
	'SELECT 1', 'RESET ALL', 'SET search_path = a, pg_catalog', 'SET LOCAL search_path = a', q{SELECT set_config('search_path', 'a', false)},
	'SET statement_timeout = 0', q{SET application_name = 'a'}, q{SET client_encoding = 'LATIN1'}, q{SET TimeZone = 'Asia/Tokyo'}, q{SET DateStyle = 'German'},
	q{SET default_transaction_isolation = serializable}, 'SET default_transaction_read_only = on', 'SET TRANSACTION READ ONLY',
	'SET dynamo_table.direct_store = off',
	'SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY', q{SET own.setting = 'a'}, 'SET row_security = off',
	# 19 has no other strings
	$node->safe_psql('postgres', 'SHOW server_version_num') < 190000 ? 'SET standard_conforming_strings = off' : 'SET quote_all_identifiers = on',
	'SELECT pg_advisory_lock(1)', 'SELECT pg_advisory_lock_shared(1, 2), pg_advisory_xact_lock(3)', 'SELECT pg_advisory_lock(4), pg_advisory_lock(4)',
	'SELECT pg_try_advisory_lock(i) FROM generate_series(1, 100) i',
	'DECLARE c CURSOR FOR SELECT a.evil(NULL)', 'DECLARE gateway CURSOR FOR SELECT a.evil(NULL)', 'NOTIFY dynamo_access_key', 'SET CONSTRAINTS ALL DEFERRED',
	'INSERT INTO a.deferred VALUES (2)', 'INSERT INTO a.parent VALUES (1); INSERT INTO a.child VALUES (1)',
	'DO $$ BEGIN SET CONSTRAINTS ALL DEFERRED; INSERT INTO a.deferred VALUES (3); EXCEPTION WHEN OTHERS THEN NULL; END $$',
	'DO $$ BEGIN SET LOCAL search_path = a; CREATE DOMAIN pg_temp.text AS pg_catalog.text; RAISE EXCEPTION $e$ $e$; EXCEPTION WHEN OTHERS THEN NULL; END $$',
	'DO $$ BEGIN PERFORM pg_advisory_lock(5); RAISE EXCEPTION $e$ $e$; EXCEPTION WHEN OTHERS THEN SET search_path = a; END $$',
	'DO $$ BEGIN SET ROLE b; EXCEPTION WHEN OTHERS THEN SET search_path = a; PERFORM pg_advisory_lock(6); END $$');

# Code that fails after it has done something.
my @failing = (
	'SELECT pg_advisory_lock(1); SELECT 1 / 0', q{SET search_path = a; SET client_encoding = 'LATIN1'; SELECT 1 / 0},
	'DECLARE c CURSOR FOR SELECT 1; SELECT 1 / 0',
	q{SELECT pg_advisory_lock(2); DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '57P01', MESSAGE = 'shut down'; END $$});

foreach my $store (qw(on off))
{
	$node->safe_psql('postgres', "ALTER ROLE gateway SET dynamo_table.direct_store = $store; TRUNCATE a.log, a.child, a.parent");
	$gateway = Frontend->new($node, 'gateway');
	$gateway->prepare('gateway', 'SELECT dynamo_internal.request_as($1, $2, $3)');
	is(request('b', 'GetItem', $theirs), '{"Item":{"of":{"S":"b"},"pk":{"S":"secret"}}}', "$store: b reads its item");
	# a language's library brings settings of its own
	is(attack('SELECT 1'), '{}', "$store: a writes an item");
	my $before = session();
	my $try = sub {
		my ($code, $expected) = @_;
		like(attack($code), $expected, "$store: $code");
		is(session(), $before, "$store: session after $code");
		is(request('b', 'GetItem', $theirs), '{"Item":{"of":{"S":"b"},"pk":{"S":"secret"}}}', "$store: b after $code");
	};
	$try->($_, $denied) foreach grep { !/pg_temp\.(text|json|f)/ } @refused;
	# later releases of PostgreSQL refuse types there by themselves
	$try->($_, qr/^YD016: .*(temporary|not authorized)/) foreach grep { /pg_temp\.(text|json|f)/ } @refused;
	$try->($_, qr/^(0A000|2D000|25001):/) foreach @impossible;
	$try->($_, qr/^\{\}$/) foreach @allowed;
	$try->($_, qr/^(22012: division by zero|57P01: shut down)$/) foreach @failing;
	is($gateway->{status}{client_encoding}, 'UTF8', "$store: the client's encoding");
	is(attack(qq{SET client_encoding = 'LATIN1'; DO \$\$ BEGIN RAISE EXCEPTION '\xc3\xa9'; END \$\$}), "P0001: \xc3\xa9",
		"$store: an error is in the client's encoding");

	# constraints that are deferred otherwise are checked by the statement
	like(attack('INSERT INTO a.child VALUES (2)'), qr/^23503: /, "$store: a deferred foreign key");
	is($node->safe_psql('postgres', q{SELECT string_agg(DISTINCT who || ' ' || what, ',') FROM a.log}), 'a deferred', "$store: nobody else has run code of a");

	# what random() and lastval() go by is not that of the request before
	$node->safe_psql('postgres', 'TRUNCATE a.log');
	is(attack($_), '{}', "$store: $_") foreach ('SELECT setseed(0.5)', q{INSERT INTO a.log VALUES (random(), 'random')}) x 2;
	is($node->safe_psql('postgres', 'SELECT count(*), count(DISTINCT who) FROM a.log'), '2|2', "$store: random() after another request's setseed()");
	is(attack(q{SELECT nextval('a.numbers'), lastval(), currval('a.numbers')}), '{}', "$store: a sequence");
	like(attack($_), qr/^55000: /, "$store: $_ of another request") foreach ('SELECT lastval()', q{SELECT currval('a.numbers')});
	is($gateway->query('SHOW client_connection_check_interval'), '1s', "$store: somebody looks whether the client is there");
	$gateway->close;
}

# A session with temporary objects is of no use any more, and ends.
{
	$gateway = Frontend->new($node, 'gateway');
	$gateway->prepare('gateway', 'SELECT dynamo_internal.request_as($1, $2, $3)');
	$gateway->query('CREATE TEMP TABLE t ()');
	is(request('postgres', 'GetItem', $theirs), '42501: role "postgres" is a superuser', 'a request that is refused anyway does not end the session');
	eval { request('b', 'GetItem', $theirs) };
	is($@, "a session with temporary objects cannot make requests of gateways\n", 'a session with temporary objects ends');
	is($gateway->{fatal}{C}, '55000', 'which is the error that gateways look for');
	is($gateway->{fatal}{W}, undef, 'it has no context');
	$gateway->close;
}

# All other errors of a request have a context, whatever code raises them, so that gateways know them from those of the session.
{
	$node->safe_psql('postgres', q{
		SET SESSION AUTHORIZATION a;
		CREATE FUNCTION a.rethrow() RETURNS void LANGUAGE plpgsql AS $$
			BEGIN
				RAISE EXCEPTION USING ERRCODE = '26000';
			EXCEPTION WHEN OTHERS THEN
				RAISE;
			END $$;
		CREATE FUNCTION a.in_sql() RETURNS void LANGUAGE sql AS 'EXECUTE nothing'});
	$gateway = Frontend->new($node, 'gateway');
	$gateway->prepare('gateway', 'SELECT dynamo_internal.request_as($1, $2, $3)');
	foreach my $code (q{DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '26000'; END $$}, q{DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '55000'; END $$},
		'EXECUTE nothing', 'SELECT a.rethrow()', 'SELECT a.in_sql()', q{SELECT query_to_xml('EXECUTE nothing', true, true, '')}, 'SELECT 1 / 0',
		q{SELECT NULL::public.dyn_item = repeat('x', 10)::public.dyn_item}, 'SELECT * FROM nothing')
	{
		my $answer = $gateway->execute('gateway', 'a', 'PutItem', '{"TableName":"app","Item":{"pk":{"S":"' . $n++ . '"},"code":{"S":' . quoted($code) . '}}}');
		like($answer->{error}{W}, qr/request of a gateway with the rights of role "a"/, "$code: an error with a context");
	}
	like($gateway->execute('gateway', 'a', 'PutItem', '{')->{error}{W}, qr/request of a gateway/, 'a request that is no JSON: an error with a context');
	eval { $gateway->send('nothing', 'a', 'PutItem', '{}') };
	is_deeply([ @{ $gateway->answer->{error} }{'C', 'W'} ], [ '26000', undef ], 'a statement that is gone: an error without a context');
	$gateway->close;
}

# Other code in tables, and what it says of who runs it.
$node->safe_psql('postgres', q{
	SET SESSION AUTHORIZATION a;
	SET search_path = a, public;
	CREATE FUNCTION try(code text) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
		BEGIN
			EXECUTE code;
			RETURN 'no error';
		EXCEPTION WHEN OTHERS THEN
			RETURN SQLERRM;
		END $$;
	CREATE FUNCTION note(what text) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
		BEGIN
			PERFORM set_config('search_path', 'a', false), pg_advisory_lock(1);
			INSERT INTO a.log VALUES (current_user, what || ': ' || a.try('SET ROLE b') || ', ' || a.try('SET SESSION AUTHORIZATION b')
				|| ', ' || a.try('DEALLOCATE gateway') || ', ' || a.try('DECLARE c CURSOR WITH HOLD FOR SELECT 1'));
			RETURN true;
		END $$;
	CREATE FUNCTION pretended(item public.dyn_item) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN a.note('index'); END $$;
	CREATE TABLE attacked (LIKE app);
	DROP TABLE attacked;
	SELECT dyn_create_table('attacked', 'pk S');
	ALTER TABLE attacked ADD COLUMN extra boolean DEFAULT a.note('default');
	ALTER TABLE attacked ADD CHECK (a.note('check'));
	CREATE INDEX ON attacked (a.pretended(item));
	GRANT ALL ON attacked TO b;
	GRANT ALL ON log TO b;
	CREATE POLICY p ON attacked USING (a.note('policy'));
	ALTER TABLE attacked ENABLE ROW LEVEL SECURITY;
	ALTER TABLE attacked FORCE ROW LEVEL SECURITY;
	TRUNCATE log});
my $nothing = qr/^(cannot [^,]* within security-(restricted operation|definer function)(, |$)){4}$/;
foreach my $store (qw(on off))
{
	$node->safe_psql('postgres', "ALTER ROLE gateway SET dynamo_table.direct_store = $store; TRUNCATE a.log");
	$gateway = Frontend->new($node, 'gateway');
	$gateway->prepare('gateway', 'SELECT dynamo_internal.request_as($1, $2, $3)');
	is(attack('SELECT 1'), '{}', "$store: a writes an item");
	my $before = session();
	is(request('a', 'PutItem', '{"TableName":"attacked","Item":{"pk":{"S":"1"}}}'), '{}', "$store: code of constraints, defaults, indexes and policies");
	is(session(), $before, "$store: session after that");
	like(request('a', 'GetItem', '{"TableName":"attacked","Key":{"pk":{"S":"1"}}}'), qr/"Item"/, "$store: code of a policy");
	is(session(), $before, "$store: session after that, too");
	my %said = map { split /: /, $_, 2 } split /\n/, $node->safe_psql('postgres', q{SELECT DISTINCT who || ' ' || what FROM a.log});
	is_deeply([ sort keys %said ], [ map { "a $_" } qw(check default index policy) ], "$store: with the rights of a");
	like($said{$_}, $nothing, "$store: and none of others: $_") foreach sort keys %said;
	request('a', 'DeleteItem', '{"TableName":"attacked","Key":{"pk":{"S":"1"}}}');
	$gateway->close;
}

# What outlives a request has the rights of the key's role, and cannot get at others.
$node->safe_psql('postgres', q{
	SET SESSION AUTHORIZATION a;
	SET search_path = a, public;
	TRUNCATE log;
	SELECT dyn_create_table('indexed', 'pk S');
	SELECT dyn_put('indexed', '{"pk":{"S":"1"},"g":{"S":"x"}}');
	CREATE FUNCTION worker() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			INSERT INTO a.log VALUES (session_user || ' ' || current_user, a.try('SET ROLE b') || ', ' || a.try('SET SESSION AUTHORIZATION gateway'));
			RETURN new;
		END $$;
	CREATE TRIGGER worker BEFORE UPDATE ON indexed FOR EACH ROW EXECUTE FUNCTION worker()});
$gateway = Frontend->new($node, 'gateway');
$gateway->prepare('gateway', 'SELECT dynamo_internal.request_as($1, $2, $3)');
like(request('a', 'UpdateTable',
	'{"TableName":"indexed","AttributeDefinitions":[{"AttributeName":"g","AttributeType":"S"}],"GlobalSecondaryIndexUpdates":[{"Create":'
	. '{"IndexName":"byG","KeySchema":[{"AttributeName":"g","KeyType":"HASH"}],"Projection":{"ProjectionType":"KEYS_ONLY"}}}]}'), qr/"IndexStatus":"CREATING"/,
		'an index is declared');
ok($node->poll_query_until('postgres', q{SELECT i ->> 'IndexStatus' = 'ACTIVE'
	FROM jsonb_array_elements(dyn_describe_table('a.indexed') -> 'GlobalSecondaryIndexes') i}),
	'a worker makes it');
like($node->safe_psql('postgres', q{SELECT string_agg(DISTINCT who || ': ' || what, ',') FROM a.log}),
	qr/^a a: permission denied to set role "b", permission denied to set session authorization[^,]*$/, 'a worker has the rights of a');

# before 17 no worker can connect as b, which may not log in
my $update = request('b', 'UpdateTable',
	'{"TableName":"app","AttributeDefinitions":[{"AttributeName":"g","AttributeType":"S"}],"GlobalSecondaryIndexUpdates":[{"Create":'
	. '{"IndexName":"byG","KeySchema":[{"AttributeName":"g","KeyType":"HASH"}],"Projection":{"ProjectionType":"KEYS_ONLY"}}}]}');
like($update, $node->pg_version >= 17 ? qr/"IndexStatus":"CREATING"/ : qr/^YD001: Role "b" is not permitted to log in$/, 'a role that may not log in');
is($node->safe_psql('postgres', q{SELECT dyn_describe_table('b.app') -> 'GlobalSecondaryIndexes' IS NULL}), 't',
	'an index that nobody can make is not declared') if $node->pg_version < 17;

done_testing();
