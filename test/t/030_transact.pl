# docs/semantics.md, X11, X12: 16 sessions move amounts between 20 accounts in random order; every reader sees the same total, no
# deadlock comes out, a crash leaves no half transaction (X01), and a token is not used up twice (X09).
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $seconds = $ENV{DYNAMO_TABLE_STRESS_SECONDS} || 5;
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "max_connections = 60\ndeadlock_timeout = 100ms\nlog_lock_waits = off");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION dynamo_table;
	SELECT dyn_create_table('bank', 'pk S', 'sk S');
	SELECT dyn_create_table('log', 'pk S');
	-- what users may add: triggers that book each change, at once and at the end of the transaction, a column, indexes
	CREATE FUNCTION balance(item dyn_item) RETURNS numeric IMMUTABLE LANGUAGE sql RETURN coalesce((item ->> 'balance')::numeric, 0);
	ALTER TABLE bank ADD COLUMN balance numeric GENERATED ALWAYS AS (balance(item)) STORED;
	CREATE INDEX by_balance ON bank (balance) WHERE pk = 'account';
	CREATE UNIQUE INDEX one_account ON bank ((item ->> 'sk'), pk);
	CREATE TABLE changes (sk text, amount numeric);
	CREATE TABLE late_changes (sk text, amount numeric);
	CREATE FUNCTION book() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		EXECUTE format('INSERT INTO %I VALUES ($1, $2)', TG_ARGV[0]) USING NEW.sk, NEW.balance - coalesce(OLD.balance, 0);
		RETURN NULL;
	END $$;
	CREATE TRIGGER book AFTER INSERT OR UPDATE ON bank FOR EACH ROW WHEN (NEW.pk = 'account') EXECUTE FUNCTION book('changes');
	CREATE CONSTRAINT TRIGGER book_late AFTER INSERT OR UPDATE ON bank DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.pk = 'account')
		EXECUTE FUNCTION book('late_changes');
	SELECT dyn_batch_write('bank', array_agg(jsonb_build_object('pk', 'account', 'sk', 'a' || i, 'balance', 1000)::dyn_item)) FROM generate_series(1, 20) i;

	CREATE FUNCTION account(i int) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
		SELECT jsonb_build_object('pk', jsonb_build_object('S', 'account'), 'sk', jsonb_build_object('S', 'a' || i)) $$;
	CREATE FUNCTION add_to(i int, amount int, condition text DEFAULT NULL) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
		SELECT jsonb_build_object('Update', jsonb_strip_nulls(jsonb_build_object('TableName', 'bank', 'Key', account(i), 'UpdateExpression', 'ADD balance :n',
			'ConditionExpression', condition, 'ExpressionAttributeValues', jsonb_build_object(':n', jsonb_build_object('N', amount::text))
				|| CASE WHEN condition LIKE '%:m%' THEN jsonb_build_object(':m', jsonb_build_object('N', (-amount)::text)) ELSE '{}' END))) $$;
	-- a frozen account has an item that says so; others have none
	CREATE FUNCTION not_frozen(i int) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
		SELECT jsonb_build_object('ConditionCheck', jsonb_build_object('TableName', 'bank', 'Key',
			jsonb_build_object('pk', jsonb_build_object('S', 'frozen'), 'sk', jsonb_build_object('S', 'a' || i)),
			'ConditionExpression', 'attribute_not_exists(pk)')) $$;
	CREATE FUNCTION note(a int, b int, amount int) RETURNS jsonb LANGUAGE sql AS $$
		SELECT jsonb_build_object('Put', jsonb_build_object('TableName', 'log', 'Item', jsonb_build_object('pk', jsonb_build_object('S', gen_random_uuid()),
			'from', jsonb_build_object('S', 'a' || a), 'to', jsonb_build_object('S', 'a' || b), 'amount', jsonb_build_object('N', amount::text)))) $$;
	-- whatever is asked for, in the order in which it is asked for; a cancelled transaction is an answer
	CREATE FUNCTION move(a int, b int, amount int) RETURNS boolean LANGUAGE plpgsql AS $$
	BEGIN
		RETURN a <> b AND dyn_transact(json_build_array(add_to(a, -amount, 'balance >= :m'), not_frozen(b), note(a, b, amount), add_to(b, amount), not_frozen(a)));
	EXCEPTION WHEN SQLSTATE 'YD003' THEN
		RETURN false;
	END $$;
	-- the same moves in PartiQL
	CREATE FUNCTION statement(text, VARIADIC parameters text[] DEFAULT '{}') RETURNS json LANGUAGE sql IMMUTABLE AS $$
		SELECT json_strip_nulls(json_build_object('Statement', $1, 'Parameters',
			(SELECT json_agg(json_build_object(CASE WHEN p ~ '^-?[0-9]+$' THEN 'N' ELSE 'S' END, p)) FROM unnest(parameters) p))) $$;
	CREATE FUNCTION state(a int, b int, amount int) RETURNS json LANGUAGE plpgsql AS $$
	BEGIN
		RETURN dyn_request('ExecuteTransaction', json_build_object('TransactStatements', json_build_array(
			statement('UPDATE bank SET balance = balance - ? WHERE pk = ? AND sk = ? AND balance >= ?', amount::text, 'account', 'a' || a, amount::text),
			statement('EXISTS(SELECT * FROM bank WHERE pk = ? AND sk = ? AND pk IS MISSING)', 'frozen', 'a' || b),
			statement('INSERT INTO log VALUE {''pk'': ?, ''from'': ?, ''to'': ?, ''amount'': ?}', gen_random_uuid()::text, 'a' || a, 'a' || b, amount::text),
			statement('UPDATE bank SET balance = balance + ? WHERE sk = ? AND pk = ?', amount::text, 'a' || b, 'account'),
			statement('EXISTS(SELECT * FROM bank WHERE pk = ? AND sk = ? AND pk IS MISSING)', 'frozen', 'a' || a))));
	EXCEPTION WHEN SQLSTATE 'YD003' THEN
		RETURN NULL;
	END $$;
	-- of several that make an item at the same time one does
	CREATE TABLE made (sk text);
	CREATE FUNCTION make(sks text[]) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE answer json := dyn_request('BatchExecuteStatement',
		json_build_object('Statements', (SELECT json_agg(statement('INSERT INTO bank VALUE {''pk'': ?, ''sk'': ?}', 'made', sk)) FROM unnest(sks) sk)));
	BEGIN
		INSERT INTO made SELECT sk FROM json_array_elements(answer -> 'Responses') WITH ORDINALITY r (r, i) JOIN unnest(sks) WITH ORDINALITY s (sk, i) USING (i)
			WHERE r ->> 'Error' IS NULL;
		IF answer::text ~ 'Error' AND answer::text !~ 'DuplicateItem' THEN RAISE '%', answer; END IF;
	END $$;
	CREATE FUNCTION total() RETURNS numeric LANGUAGE sql AS $$
		SELECT sum((item ->> 'balance')::numeric) FROM dyn_transact_get((SELECT json_agg(jsonb_build_object('Get',
			jsonb_build_object('TableName', 'bank', 'Key', account(i))) ORDER BY random()) FROM generate_series(1, 20) i)) item $$;
	CREATE FUNCTION require_total() RETURNS void LANGUAGE plpgsql AS $$
	DECLARE sum numeric := total();
	BEGIN
		IF sum <> 20000 THEN RAISE 'the total is %', sum; END IF;
	END $$;
});

my $move = q{
\set direct random(0, 1)
SET dynamo_table.direct_store = :direct;
\set a random(1, 20)
\set b random(1, 20)
\set n random(1, 100)
SELECT move(:a, :b, :n);
};
# three ways round in one call, without a condition, as a client would send it
my $rotate = q{
\set a random(1, 20)
\set b 1 + (:a + 6) % 20
\set c 1 + (:a + 12) % 20
SELECT dyn_transact(json_build_array(add_to(:c, -3), add_to(:a, 1), add_to(:b, 2), note(:c, :a, 1), note(:c, :b, 2)));
};
my $statements = q{
\set direct random(0, 1)
SET dynamo_table.direct_store = :direct;
\set a random(1, 20)
\set b 1 + (:a + random(0, 18)) % 20
\set n random(1, 100)
SELECT state(:a, :b, :n);
\set i random(1, 2000)
\set j random(1, 2000)
SELECT make(CASE WHEN :i = :j THEN ARRAY['b' || :i] ELSE ARRAY['b' || :i, 'b' || :j] END);
};
my $freeze = q{
\set a random(1, 20)
SELECT dyn_put('bank', jsonb_build_object('pk', 'frozen', 'sk', 'a' || :a));
SELECT dyn_delete('bank', jsonb_build_object('pk', 'frozen', 'sk', 'a' || :a));
};
# puts and deletes of the same items in batches, and in transactions
my $batch = q{
\set a random(1, 20)
\set b random(1, 20)
SELECT dyn_batch_write('bank', ARRAY[jsonb_build_object('pk', 'frozen', 'sk', 'b' || :a)],
	CASE WHEN :a <> :b THEN ARRAY[jsonb_build_object('pk', 'frozen', 'sk', 'b' || :b)] END);
SELECT dyn_transact(json_build_array(jsonb_build_object('Delete',
	jsonb_build_object('TableName', 'bank', 'Key', jsonb_build_object('pk', jsonb_build_object('S', 'frozen'), 'sk', jsonb_build_object('S', 'b' || :a)))),
	jsonb_build_object('Delete', jsonb_build_object('TableName', 'bank', 'Key',
		jsonb_build_object('pk', jsonb_build_object('S', 'frozen'), 'sk', jsonb_build_object('S', 'b' || (:a + 1)))))));
};

my @load = (
	[ 'movers', start_load($node, 8, $seconds, $move) ],
	[ 'rotators', start_load($node, 8, $seconds, $rotate) ],
	[ 'statements', start_load($node, 6, $seconds, $statements) ],
	[ 'readers', start_load($node, 2, $seconds, 'SELECT require_total();') ],
	[ 'freezers', start_load($node, 1, $seconds, $freeze) ],
	[ 'batches', start_load($node, 4, $seconds, $batch) ]);
for my $load (@load)
{
	my ($name, $l) = @$load;
	my $n = finish_load($l);
	ok($n, "$name: no error in " . ($n // 'some') . ' transactions') or diag($l->{err});
}

# Every account is what the log makes of it.
sub books_agree
{
	my ($name) = @_;
	is($node->safe_psql('postgres', q{
		SELECT count(*) FROM bank WHERE pk = 'account' AND (item ->> 'balance')::numeric <> 1000
			+ (SELECT COALESCE(sum((item ->> 'amount')::numeric), 0) FROM log WHERE log.item ->> 'to' = bank.sk)
			- (SELECT COALESCE(sum((item ->> 'amount')::numeric), 0) FROM log WHERE log.item ->> 'from' = bank.sk)}), '0', "$name: balances and log agree");
	is($node->safe_psql('postgres', 'SELECT total()'), '20000', "$name: the total is what it was");
	triggers_agree($name);
}

# So is what triggers have booked.
sub triggers_agree
{
	my ($name) = @_;
	for my $changes (qw(changes late_changes))
	{
		is($node->safe_psql('postgres', qq{
			SELECT count(*) FROM (SELECT sk, sum(amount) FROM $changes GROUP BY sk) c FULL JOIN (SELECT sk, balance FROM bank WHERE pk = 'account') b USING (sk)
				WHERE sum IS DISTINCT FROM balance}), '0', "$name: balances and $changes agree");
	}
}
books_agree('after the stress');
is($node->safe_psql('postgres', q{SELECT count(*) FROM bank WHERE pk = 'account'}), '20', 'no account more or less');

is($node->safe_psql('postgres', q{
	SELECT count(*) FROM (SELECT sk, count(*) FROM made GROUP BY sk) m FULL JOIN (SELECT sk FROM bank WHERE pk = 'made') b USING (sk) WHERE count IS DISTINCT
		FROM 1}), '0', 'each item was inserted by one statement');
cmp_ok($node->safe_psql('postgres', 'SELECT count(*) FROM made'), '>', 10, 'and there were some');

# Several calls in one SQL transaction may meet in a deadlock; it has a name that tells what to do.
my $several = $node->basedir . '/several.sql';
append_to_file($several, q{
\set a random(1, 4)
\set b random(1, 4)
SELECT twice(:a, :b);
});
$node->safe_psql('postgres', q{
	CREATE TABLE conflicts (state text);
	CREATE FUNCTION twice(a int, b int) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM dyn_transact(json_build_array(add_to(a, -1)));
		PERFORM pg_sleep(0.002);
		PERFORM dyn_transact(json_build_array(add_to(b, 1)));
	EXCEPTION WHEN SQLSTATE 'YD004' THEN
		INSERT INTO conflicts VALUES (SQLSTATE);
	END $$;
});
$node->command_checks_all([ 'pgbench', '-n', '-c', 8, '-j', 2, '-t', 30, '-f', $several, 'postgres' ],
	0, [qr{transactions actually processed: 240/240}], [qr/^((?!ERROR).)*$/s], 'several calls in a transaction: no error but YD004');
cmp_ok($node->safe_psql('postgres', 'SELECT count(*) FROM conflicts'), '>', 0, 'and there were some');
is($node->safe_psql('postgres', 'SELECT total()'), '20000', 'conflicts left no half');

# kill -9 in the middle
my $counter = q{SELECT
	dyn_transact('[{"Update":{"TableName":"log","Key":{"pk":{"S":"counter"}},"UpdateExpression":"ADD n :one","ExpressionAttributeValues":{":one":{"N":"1"}}}}]',
	'before the crash')};
# the balances as a new beginning: the calls above left no notes
$node->safe_psql('postgres', q{DELETE FROM log; UPDATE bank SET item = dyn_apply(item, 'SET balance = :n', vals => '{":n":{"N":"1000"}}')
	WHERE pk = 'account'});
is($node->safe_psql('postgres', $counter), 't', 'a transaction with a token is done');
my @cut = (start_load($node, 8, 600, $move), start_load($node, 8, 600, $rotate), start_load($node, 4, 600, $statements));
wait_for($node, 'SELECT count(*) > 200 FROM log');
crash($node);
ok(!defined finish_load($_), 'the load was cut off') for @cut;
cmp_ok($node->safe_psql('postgres', 'SELECT count(*) FROM log'), '>', 200, 'what was committed is there');
books_agree('after the crash');
is($node->safe_psql('postgres', $counter), 'f', 'the token is known after the crash');
is($node->safe_psql('postgres', q{SELECT dyn_get('log', '{"pk":{"S":"counter"}}') ->> 'n'}), '1', 'and its transaction was done once');
check_storage($node, 'after the crash');

# Nothing but this extension can make a placeholder: the flag in the format byte is refused.
my $binary = sub { my $item = shift; "PGCOPY\n\377\r\n\0" . pack('N N n N', 0, 0, 1, length $item) . $item . pack('n', 0xffff) };
my $ordinary = $node->safe_psql('postgres', q{SELECT encode(dynamo_internal.item_send('{"pk":{"S":"a"}}'), 'hex')});
$node->safe_psql('postgres', 'CREATE TABLE items (item dyn_item)');
for my $case ([ $ordinary, qr/^$/, 'an item' ], [ $ordinary =~ s/^0110/0111/r, qr/format byte is not known/, 'a placeholder' ])
{
	my ($hex, $error, $name) = @$case;
	my $file = $node->basedir . '/items.bin';
	open my $out, '>:raw', $file or die;
	print $out $binary->(pack 'H*', $hex);
	close $out;
	chmod 0644, $file;
	my (undef, undef, $err) = $node->psql('postgres', "\\copy items FROM '$file' (FORMAT binary)");
	like($err, $error, "$name from outside");
}
$node->stop;
done_testing();
