# UpdateTable's indexes: what a background worker does after the commit, and what happens if it cannot.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', 'max_prepared_transactions = 5');
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION dynamo_table;
	CREATE ROLE somebody LOGIN;
	CREATE ROLE owner NOLOGIN;
	GRANT owner TO somebody;
	CREATE SCHEMA "odd.schema" AUTHORIZATION owner;
	SET search_path = "odd.schema", public;
	SET ROLE owner;
	SELECT dyn_create_table('app', 'pk S', 'sk S');
	SELECT dyn_put('app', jsonb_build_object('pk', 'p' || i % 10, 'sk', 's' || i, 'city', 'c' || i % 3, 'pad', repeat('x', 200))) FROM generate_series(1, 3000) i;
	SELECT dyn_put('app', '{"pk":{"S":"p"},"sk":{"S":"s"},"city":{"NULL":true}}')});
$node->append_conf('postgresql.conf', q{search_path = '"odd.schema", public'});
$node->reload;

sub create_request
{
	my ($index, $key) = @_;
	return qq{'{"TableName": "app", "AttributeDefinitions": [{"AttributeName": "$key", "AttributeType": "S"}], "GlobalSecondaryIndexUpdates": [{"Create": {
		"IndexName": "$index", "KeySchema": [{"AttributeName": "$key", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"}}}]}'};
}

sub delete_request { return qq{'{"TableName": "app", "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "$_[0]"}}]}'} }

sub status
{
	my ($index) = @_;
	return qq{SELECT coalesce((SELECT i ->> 'IndexStatus' FROM dyn_request('DescribeTable', '{"TableName": "app"}') t,
		json_array_elements(t #> '{Table,GlobalSecondaryIndexes}') i WHERE i ->> 'IndexName' = '$index'), 'gone')};
}

my $count = q{SELECT count(*) FROM dyn_query('app', 'city = :c', vals => '{":c":{"S":"c1"}}', index_name => '%s')};

# As a role that may not log in, while others write.
my $load = start_load($node, 2, 4, q{
	\set i random(1, 3000)
	SELECT dyn_put('app', jsonb_build_object('pk', 'p' || :i % 10, 'sk', 's' || :i, 'city', 'c' || :i % 3, 'pad', repeat('y', 200)));
});
$node->safe_psql('postgres', "SET ROLE owner; SELECT dyn_request('UpdateTable', " . create_request('city', 'city') . ")", extra_params => [ '-U', 'somebody' ]);
ok($node->poll_query_until('postgres', status('city'), 'ACTIVE'), 'the index becomes active');
finish_load($load);
is($node->safe_psql('postgres', sprintf($count, 'city')), '1000', 'it has all items, but those that it leaves out');
is($node->safe_psql('postgres', q{SELECT relowner::regrole FROM pg_class WHERE relname = 'app_city'}), 'owner', 'the worker ran as the role of the request');
check_storage($node, 'created');

# Nothing happens before the commit, nor after an abort.
$node->safe_psql('postgres', "BEGIN; SELECT dyn_request('UpdateTable', " . delete_request('city') . "); ROLLBACK");
$node->safe_psql('postgres', "BEGIN; SAVEPOINT s; SELECT dyn_request('UpdateTable', " . delete_request('city') . "); ROLLBACK TO s; COMMIT");
is($node->safe_psql('postgres', status('city')), 'ACTIVE', 'what is rolled back is not done');

# One at a time
$node->safe_psql('postgres', q{CALL dyn_create_index('app', 'slow', 'pad S')});

# A prepared transaction starts no worker.
my ($rc, $out, $err) = $node->psql('postgres', "BEGIN; SELECT dyn_request('UpdateTable', " . delete_request('slow') . "); PREPARE TRANSACTION 'p'");
like($err, qr/a prepared transaction starts no background worker/, 'a warning');
like($err, qr/CALL dynamo_internal\.resume_index\('"odd\.schema"\.app', 'slow'\)\./, 'with the statement that does it');
$node->safe_psql('postgres', "COMMIT PREPARED 'p'");
is($node->safe_psql('postgres', status('slow')), 'DELETING', 'it is declared');
($rc, $out, $err) = $node->psql('postgres', "SELECT dyn_request('UpdateTable', " . create_request('other', 'sk') . ")");
like($err, qr/Only 1 online index can be created or deleted simultaneously/, 'nothing else may begin meanwhile');
$node->safe_psql('postgres', q{CALL public.dyn_drop_index('app', 'slow')});
is($node->safe_psql('postgres', status('slow')), 'gone', 'the statement finishes it');

# The statement of the warning makes the index, whatever that is, and another definition is refused.
my %definitions = (
	keys => q{"KeySchema": [{"AttributeName": "city", "KeyType": "HASH"}, {"AttributeName": "it's", "KeyType": "RANGE"}],
		"Projection": {"ProjectionType": "KEYS_ONLY"}},
	included => q{"KeySchema": [{"AttributeName": "city", "KeyType": "HASH"}, {"AttributeName": "it's", "KeyType": "RANGE"}],
		"Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["pad", "other's"]}},
	several => q{"KeySchema": [{"AttributeName": "city", "KeyType": "HASH"}, {"AttributeName": "pk", "KeyType": "HASH"},
		{"AttributeName": "it's", "KeyType": "RANGE"}], "Projection": {"ProjectionType": "ALL"}});
foreach my $index (sort keys %definitions)
{
	my $request = qq{{"TableName": "app", "AttributeDefinitions": [{"AttributeName": "city", "AttributeType": "S"},
		{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "it's", "AttributeType": "N"}],
		"GlobalSecondaryIndexUpdates": [{"Create": {"IndexName": "$index", $definitions{$index}}}]}};
	($rc, $out, $err) = $node->psql('postgres', "BEGIN; SELECT dyn_request('UpdateTable', \$r\$$request\$r\$); PREPARE TRANSACTION 'p'; COMMIT PREPARED 'p'");
	my ($call) = $err =~ /HINT:  Run (CALL .*)\.$/m;
	is($node->safe_psql('postgres', status($index)), 'CREATING', "$index is begun");
	like(($node->psql('postgres', "CALL dyn_create_index('app', '$index', 'pad S')"))[2],
		qr/a part of an index "$index" of table "app" with another definition is there/, 'another definition is none of it');
	$node->safe_psql('postgres', $call);
	is($node->safe_psql('postgres', status($index)), 'ACTIVE', "$call ends it");
	$node->safe_psql('postgres', "CALL dyn_drop_index('app', '$index')");
}

# No slot for a worker
$node->append_conf('postgresql.conf', 'max_worker_processes = 0');
$node->restart;
($rc, $out, $err) = $node->psql('postgres', "SELECT dyn_request('UpdateTable', " . create_request('again', 'city') . ") IS NULL");
is($rc, 0, 'without a free worker the request succeeds');
like($err, qr/WARNING:  no background worker is free to go on with the index of table "app".*CALL dynamo_internal\.resume_index\('"odd\.schema"\.app', 'again'\)/s,
	'and warns');
is($node->safe_psql('postgres', status('again')), 'CREATING', 'the index is declared');
$node->safe_psql('postgres', q{SELECT dyn_put('app', '{"pk":{"S":"new"},"sk":{"S":"new"},"city":{"S":"c1"}}')});
$node->append_conf('postgresql.conf', 'max_worker_processes = 8');
$node->restart;
is($node->safe_psql('postgres', status('again')), 'CREATING', 'it stays so');
$node->safe_psql('postgres', "SELECT dyn_request('UpdateTable', " . create_request('again', 'city') . ")");
ok($node->poll_query_until('postgres', status('again'), 'ACTIVE'), 'the same request again finishes it');
is($node->safe_psql('postgres', sprintf($count, 'again')), '1001', 'with all items');

# Deleted
$node->safe_psql('postgres', "SELECT dyn_request('UpdateTable', " . delete_request($_) . ")"), $node->poll_query_until('postgres', status($_), 'gone')
  for qw(again city);
is($node->safe_psql('postgres', q{SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'app'::regclass AND attnum > 0
	AND NOT attisdropped}), 'item pk sk', 'nothing is left of the indexes');
ok($node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'dynamo_table index'}), 'nor of workers');
is($node->safe_psql('postgres', q{SELECT bool_and(convalidated) FROM pg_constraint WHERE conrelid = 'app'::regclass AND contype = 'c'}), 't',
	'and the constraint is valid');
check_storage($node, 'deleted');

# A function that lends its rights gets no more of its caller's by the worker than it had.
$node->safe_psql('postgres', q{
	CREATE ROLE lender LOGIN;
	GRANT CREATE ON SCHEMA public TO lender;
	SET SESSION AUTHORIZATION lender;
	SELECT dyn_create_table('public.lent', 'pk S');
	SELECT dyn_put('public.lent', '{"pk":{"S":"p"},"city":{"S":"c"}}');
	CREATE TABLE public.seen (users text);
	CREATE FUNCTION public.look() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM set_config('role', 'none', false);
		INSERT INTO public.seen VALUES (session_user || ' ' || current_user);
		RETURN new;
	END $$;
	CREATE TRIGGER look BEFORE UPDATE ON public.lent FOR EACH ROW EXECUTE FUNCTION public.look();
	CREATE FUNCTION public.lend() RETURNS boolean LANGUAGE sql SECURITY DEFINER AS $$
		SELECT dyn_request('UpdateTable', } . create_request('city', 'city') =~ s/"app"/"lent"/r . q{) IS NULL
	$$});
$node->safe_psql('postgres', 'SELECT public.lend()');
ok($node->poll_query_until('postgres', status('city') =~ s/"app"/"lent"/r, 'ACTIVE'), 'a function that is SECURITY DEFINER has an index built');
is($node->safe_psql('postgres', 'SELECT DISTINCT users FROM public.seen'), 'lender lender', 'with its own rights');

done_testing();
