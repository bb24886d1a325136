# A client of the frontend/backend protocol: one connection, statements of the extended protocol by their names.
package Frontend;

use strict;
use warnings;

use IO::Socket::UNIX;

# A connection to a node as a role, which need not say who it is.
sub new
{
	my ($class, $node, $user, $dbname, %settings) = @_;
	my $socket = IO::Socket::UNIX->new(Peer => $node->host . '/.s.PGSQL.' . $node->port) or die "connect: $!\n";
	my $self = bless { socket => $socket, notifications => [] }, $class;
	%settings = (client_encoding => 'UTF8') unless %settings;
	my $startup = pack('N', 196608) . join('', map { "$_\0" } user => $user, database => $dbname // 'postgres', %settings) . "\0";
	print $socket pack('N', length($startup) + 4) . $startup;
	$socket->flush;
	$self->answer;
	return $self;
}

# As psql and others connect, which tell their name and the settings that the environment has for them.
sub of_environment
{
	my ($class, $node, $dbname) = @_;
	my %given = (application_name => $ENV{PGAPPNAME}, options => $ENV{PGOPTIONS}, client_encoding => $ENV{PGCLIENTENCODING});
	return $class->new($node, $ENV{PGUSER} // (getpwuid($<))[0], $dbname, map { $_ => $given{$_} } grep { defined $given{$_} } keys %given);
}

sub close
{
	my ($self) = @_;
	$self->_messages([ 'X', '' ]);
	$self->{socket}->close;
}

sub _messages
{
	my ($self, @messages) = @_;
	# who reads an answer notices that the server has gone
	local $SIG{PIPE} = 'IGNORE';
	print { $self->{socket} } $_->[0] . pack('N', length($_->[1]) + 4) . $_->[1] foreach @messages;
	$self->{socket}->flush;
}

sub _read
{
	my ($self, $length) = @_;
	my $bytes = '';
	while (length($bytes) < $length)
	{
		read($self->{socket}, $bytes, $length - length($bytes), length($bytes)) or die "the connection is closed\n";
	}
	return $bytes;
}

# All up to ReadyForQuery: rows of columns, and the fields of the last error by their letters.
sub answer
{
	my ($self) = @_;
	my %answer = (rows => []);
	while (1)
	{
		my $type = $self->_read(1);
		my $body = $self->_read(unpack('N', $self->_read(4)) - 4);
		if ($type eq 'D')
		{
			my ($n, $at, @row) = (unpack('n', $body), 2);
			for (1 .. $n)
			{
				my $length = unpack('l>', substr($body, $at, 4));
				push @row, $length < 0 ? undef : substr($body, $at + 4, $length);
				$at += 4 + ($length < 0 ? 0 : $length);
			}
			push @{ $answer{rows} }, \@row;
		}
		elsif ($type eq 'E')
		{
			$answer{error} = { map { /^(.)(.*)$/s } split /\0/, $body };
			next unless $answer{error}{S} =~ /FATAL|PANIC/;
			$self->{fatal} = $answer{error};
			die "$answer{error}{M}\n";
		}
		elsif ($type eq 'S') { my ($name, $value) = split /\0/, $body; $self->{status}{$name} = $value }
		elsif ($type eq 'A') { push @{ $self->{notifications} }, (split /\0/, substr($body, 4))[0] }
		elsif ($type eq 'Z') { $answer{state} = $body; return \%answer }
	}
}

# Statements of the simple protocol.
sub ask
{
	my ($self, $sql) = @_;
	utf8::encode($sql) if utf8::is_utf8($sql);
	$self->_messages([ 'Q', "$sql\0" ]);
	return $self->answer;
}

# The rows of all of them, columns joined.  An error ends the test, or who catches it.
sub rows
{
	my ($self, $sql) = @_;
	my $answer = $self->ask($sql);
	my $error = $answer->{error};
	die "error running SQL: ERROR:  $error->{M}\n" . join('', map { "$_->[0]:  $error->{$_->[1]}\n" } grep { defined $error->{ $_->[1] } } [ DETAIL => 'D' ],
		[ HINT => 'H' ], [ CONTEXT => 'W' ])
	  . "while running $sql\n" if $error;
	return _rows($answer);
}

# The rows joined; or the message of the error.
sub query
{
	my ($self, $sql) = @_;
	my $answer = $self->ask($sql);
	return "ERROR: $answer->{error}{M}" if $answer->{error};
	return join("\n", _rows($answer));
}

sub _rows
{
	return map { join('|', map { $_ // '' } @$_) } @{ $_[0]{rows} };
}

sub prepare
{
	my ($self, $name, $sql) = @_;
	$self->_messages([ 'P', "$name\0$sql\0" . pack('n', 0) ], [ 'S', '' ]);
	my $answer = $self->answer;
	die $answer->{error}{M} if $answer->{error};
}

# Send a prepared statement with parameters as text, for answer() to wait for.
sub send
{
	my ($self, $name, @values) = @_;
	my $parameters = pack('n', scalar @values) . join('', map { defined $_ ? pack('N', length) . $_ : pack('l>', -1) } @values);
	$self->_messages([ 'B', "\0$name\0" . pack('n', 0) . $parameters . pack('n', 0) ], [ 'E', "\0" . pack('N', 0) ], [ 'S', '' ]);
}

# Run a prepared statement.
sub execute
{
	my ($self, @statement) = @_;
	$self->send(@statement);
	return $self->answer;
}

1;
