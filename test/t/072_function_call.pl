# Functions called by the protocol's own message for that, which has no expression: nothing says of what type a
# polymorphic argument is, and NULL can be given for whatever SQL cannot write, like "internal".
use strict;
use warnings;

use IO::Socket::UNIX;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $node = PostgreSQL::Test::Cluster->new('function_call');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION dynamo_table; CREATE ROLE caller LOGIN');

sub receive
{
	my ($socket, $n) = @_;
	my $bytes = '';

	while (length($bytes) < $n)
	{
		sysread($socket, $bytes, $n - length($bytes), length($bytes)) or die "the server has closed the connection\n";
	}
	return $bytes;
}

# What comes until the server is ready: SQLSTATEs of errors, and values.
sub answers
{
	my ($socket) = @_;
	my @answers;

	while (1)
	{
		my ($type, $length) = unpack 'a N', receive($socket, 5);
		my $body = receive($socket, $length - 4);

		push @answers, "error $1" if $type eq 'E' && $body =~ /\0C(.{5})\0/s;
		push @answers, 'value' if $type eq 'V';
		return @answers if $type eq 'Z';
	}
}

sub connect_as
{
	my ($role) = @_;
	my $socket = IO::Socket::UNIX->new(Peer => $node->host . '/.s.PGSQL.' . $node->port) or die "connect: $!";
	my $startup = pack 'N (Z*)5', 196608, 'user', $role, 'database', 'postgres', '';

	syswrite $socket, pack('N', 4 + length $startup) . $startup;
	answers($socket);
	return $socket;
}

# Arguments in text format.
sub call
{
	my ($socket, $oid, @arguments) = @_;
	my $message = pack 'N n n', $oid, 0, scalar @arguments;

	$message .= defined $_ ? pack('N/a*', $_) : pack('N', 0xffffffff) foreach @arguments;
	$message .= pack 'n', 0;
	syswrite $socket, 'F' . pack('N', 4 + length $message) . $message;
	return answers($socket);
}

my %value = (
	'text' => 'S', 'integer' => '1', 'bigint' => '1', 'boolean' => 't', 'oid' => '1259', 'regclass' => 'pg_class',
	'dyn_item' => '{"S":{"S":"x"}}', 'dyn_value' => '{"S":"x"}', 'dyn_item[]' => '{}', 'json' => '{}', 'jsonb' => '{}',
	'text[]' => '{pk S}', 'bytea' => '\x00', 'interval' => '0', 'timestamp with time zone' => 'now', 'cstring' => '{}');
my @functions = split /\n/, $node->safe_psql('postgres', <<'EOS');
SELECT p.oid, p.proname, (SELECT string_agg(format_type(t, NULL), ';' ORDER BY n) FROM unnest(p.proargtypes::oid[]) WITH ORDINALITY a (t, n))
FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
	JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'dynamo_table'
ORDER BY p.proname, p.oid
EOS
cmp_ok(scalar @functions, '>', 100, 'there are functions');

foreach my $role ('caller', scalar getpwuid($<))
{
	my $socket = connect_as($role);
	my @internal;
	my $values = 0;

	foreach (@functions)
	{
		my ($oid, $name, $types) = split /\|/;
		my @types = split /;/, $types;

		foreach my $given (0, 1)
		{
			foreach my $answer (call($socket, $oid, map { $given ? $value{$_} : undef } @types))
			{
				push @internal, "$name: $answer" if $answer =~ /^error XX/;
				$values++ if $answer eq 'value';
			}
		}
	}
	is_deeply(\@internal, [], "no internal error, and no crash, by $role");
	cmp_ok($values, '>', 20, 'calls have values');
}

# a value of a type that nothing says: the sample's
my ($attribute) = map { (split /\|/)[0] } grep { /\|attribute\|dyn_item;text;text;anyelement$/ } @functions;
is_deeply([ call(connect_as('caller'), $attribute, '{"a":{"S":"x"}}', 'a', 'S', undef) ], ['error 42P18'], 'the type of the sample cannot be determined');

$node->stop;
done_testing();
