# Logical replication of a table of items to a server without the extension, as docs/scaling.md says it.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $publisher = PostgreSQL::Test::Cluster->new('publisher');
$publisher->init(allows_streaming => 'logical');
$publisher->start;
my $plain = PostgreSQL::Test::Cluster->new('plain');
$plain->init;
$plain->start;

$publisher->safe_psql('postgres', q{CREATE EXTENSION dynamo_table;
	SELECT dyn_create_table('app', 'pk S', 'n N', global_indexes => '{"by_kind": {"partition_key": "kind S"}}');
	SELECT dyn_put('app', jsonb_build_object('pk', 'p' || i % 7, 'n', i, 'kind', 'k' || i % 3, 'text', repeat('x', i * 10))) FROM generate_series(1, 300) i});
$publisher->safe_psql('postgres', 'CREATE PUBLICATION items FOR TABLE app (item, pk, n)');

# one copy has the items as jsonb, another one as text
for my $type (qw(jsonb text))
{
	$plain->safe_psql('postgres', "CREATE DATABASE copy_$type");
	$plain->safe_psql("copy_$type", qq{CREATE TABLE app (item $type NOT NULL, pk text COLLATE "C", n numeric, PRIMARY KEY (pk, n));
		CREATE SUBSCRIPTION copy_$type CONNECTION '} . $publisher->connstr . q{ dbname=postgres' PUBLICATION items});
	$plain->wait_for_subscription_sync($publisher, "copy_$type", "copy_$type");
}
is($plain->safe_psql('postgres', q{SELECT count(*) FROM pg_available_extensions WHERE installed_version IS NOT NULL AND name = 'dynamo_table'}), 0,
	'the other server does not have the extension');

sub agree
{
	my ($what) = @_;
	for my $type (qw(jsonb text))
	{
		$publisher->wait_for_catchup("copy_$type");
		my $of = sub { "SELECT count(*), md5(string_agg(pk || ' ' || n || ' ' || ($_[0])::jsonb::text, chr(10) ORDER BY pk, n)) FROM app" };
		is($plain->safe_psql("copy_$type", $of->('item')), $publisher->safe_psql('postgres', $of->('item::text')), "$what as $type");
	}
}

agree('the items that were there arrive');
$publisher->safe_psql('postgres', q{
	SELECT dyn_update('app', jsonb_build_object('pk', 'p' || i % 7, 'n', i)::dyn_item, 'SET more = :m', vals => '{":m":{"L":[{"BOOL":true},{"B":"AAEC"}]}}')
		FROM generate_series(200, 350) i;
	SELECT dyn_delete('app', jsonb_build_object('pk', 'p' || i % 7, 'n', i)::dyn_item) FROM generate_series(1, 50) i;
	SELECT dyn_put('app', '{"pk":{"S":"p"},"n":{"N":"1.50"}}');
	SELECT dyn_transact('[{"Put": {"TableName": "app", "Item": {"pk": {"S": "held"}, "n": {"N": "1"}}}},
		{"ConditionCheck": {"TableName": "app", "Key": {"pk": {"S": "held"}, "n": {"N": "2"}}, "ConditionExpression": "attribute_not_exists(pk)"}}]')});
agree('puts, updates, deletes and transactions arrive');
is($plain->safe_psql('copy_jsonb', q{SELECT item #>> '{more,L,1,B}' FROM app WHERE pk = 'p0' AND n = 350}), 'AAEC', 'SQL reads DynamoDB JSON there');
# which adds a column that is not in the list
$publisher->safe_psql('postgres', q{CALL dyn_enable_ttl('app', 'expires')});
$publisher->safe_psql('postgres',
	q{SELECT dyn_put('app', jsonb_build_object('pk', 'old', 'n', 1, 'expires', floor(extract(epoch FROM now())) - 100)::dyn_item)});
agree('an item that has expired is there until it is removed');
$publisher->safe_psql('postgres', q{CALL dyn_sweep_ttl('app')});
is($publisher->safe_psql('postgres', q{SELECT count(*) FROM app WHERE pk = 'old'}), 0, 'it is removed');
agree('what time to live removes is removed');

# What Debezium reads: the messages of pgoutput.
$publisher->safe_psql('postgres', q{SELECT pg_create_logical_replication_slot('messages', 'pgoutput');
	SELECT dyn_put('app', '{"pk":{"S":"read"},"n":{"N":"1"},"s":{"S":"ü"}}');
	SELECT dyn_update('app', '{"pk":{"S":"read"},"n":{"N":"1"}}', 'SET s = :s', vals => '{":s":{"S":"v"}}');
	SELECT dyn_delete('app', '{"pk":{"S":"read"},"n":{"N":"1"}}')});

# Returns the columns of a row in a message, and what is behind it.
sub tuple
{
	my ($rest) = @_;
	my @values;
	(my $n, $rest) = unpack('n a*', $rest);
	for (1 .. $n)
	{
		(my $kind, $rest) = unpack('a a*', $rest);
		(my $value, $rest) = $kind eq 't' ? unpack('N/a a*', $rest) : ($kind, $rest);
		push @values, $value;
	}
	return (join(' ', @values), $rest);
}
my @changes;
for my $line (split /\n/, $publisher->safe_psql('postgres',
	q{SELECT encode(data, 'hex') FROM pg_logical_slot_get_binary_changes('messages', NULL, NULL, 'proto_version', '1', 'publication_names', 'items')}))
{
	my ($kind, $relation, $rest) = unpack('a N a*', pack('H*', $line));
	next unless $kind =~ /[IUD]/;
	my $text = $kind;
	while ($rest ne '')
	{
		(my $of, $rest) = unpack('a a*', $rest);
		(my $values, $rest) = tuple($rest);
		$text .= " $of $values";
	}
	push @changes, $text;
}
is_deeply(\@changes,
	['I N {"n":{"N":"1"},"pk":{"S":"read"},"s":{"S":"ü"}} read 1', 'U N {"n":{"N":"1"},"pk":{"S":"read"},"s":{"S":"v"}} read 1', 'D K n read 1'],
	'pgoutput has items as text, and the keys of deletes');
$publisher->safe_psql('postgres', q{SELECT pg_drop_replication_slot('messages')});

# U+0000 is no text of jsonb, which stops there.
my $offset = -s $plain->logfile;
$publisher->safe_psql('postgres', q{SELECT dyn_put('app', '{"pk":{"S":"zero"},"n":{"N":"1"},"s":{"S":"\u0000"}}')});
$publisher->wait_for_catchup('copy_text');
is($plain->safe_psql('copy_text', q{SELECT item FROM app WHERE pk = 'zero'}), '{"n":{"N":"1"},"pk":{"S":"zero"},"s":{"S":"\u0000"}}', 'text takes U+0000');
$plain->wait_for_log(qr/unsupported Unicode escape sequence/, $offset);
is($plain->safe_psql('copy_jsonb', q{SELECT count(*) FROM app WHERE pk = 'zero'}), 0, 'and jsonb does not');
$publisher->safe_psql('postgres', q{SELECT dyn_put('app', '{"pk":{"S":"next"},"n":{"N":"1"}}')});
$publisher->wait_for_catchup('copy_text');
is($plain->safe_psql('copy_text', q{SELECT count(*) FROM app WHERE pk = 'next'}), 1, 'the copy of text goes on');

done_testing();
