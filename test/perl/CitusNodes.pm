# Nodes of Citus on this machine: node 0 is the coordinator, which has no shards, 1 and 2 are workers.
#
#   my $citus = CitusNodes->new;
#   $citus->sql(0, 'SELECT …')   its result, as safe_psql()
#   my ($code, $err, $out) = $citus->call(0, 'SELECT …');  what psql says, also where it fails
#   $citus->fails(0, 'SELECT …', qr/…/, 'name');  it fails with such an error
#   $citus->node(1)              the PostgreSQL::Test::Cluster, for everything else
#   $citus->add                  a worker more; returns its number
#   $citus->set(1, 'name', 'value')  a setting of a node, which has it on return; reset without a value, to the empty string
#   $citus->crash(1)             kill -9 for its processes, and the next start
#   $citus->move_all('app', 2)   its shards that are elsewhere, one after the other, to that node
#   my $run = $citus->start(1, @statements);  one after the other by psql, which goes on after errors
#   my ($rows, $errors) = $citus->finish($run);  lines of the results, and what failed
#
# They talk over Unix sockets, so a node is named by the folder of its socket.
package CitusNodes;

use strict;
use warnings;

use FindBin;
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable ();

sub new
{
	my ($class, $settings) = @_;
	my $self = bless { nodes => [], settings => $settings // '', runs => 0 }, $class;
	$self->_start for 0 .. 2;
	my ($host, $port) = $self->address(0);
	$self->sql(0, "SELECT citus_set_coordinator_host('$host', $port)");
	$self->_join($_) for 1, 2;
	$self->sql(0, "SELECT citus_set_node_property('$host', $port, 'shouldhaveshards', false)");
	return $self;
}

sub node { return $_[0]{nodes}[ $_[1] ] }

sub address
{
	my ($self, $n) = @_;
	return ($self->node($n)->host, $self->node($n)->port);
}

sub sql
{
	my ($self, $n, $sql) = @_;
	return $self->node($n)->safe_psql('postgres', $sql);
}

sub call
{
	my ($self, $n, $sql) = @_;
	my ($out, $err) = ('', '');
	my $code = $self->node($n)->psql('postgres', $sql, stdout => \$out, stderr => \$err);
	return ($code, $err, $out);
}

sub fails
{
	my ($self, $n, $sql, $error, $what) = @_;
	my ($code, $err, $out) = $self->call($n, $sql);
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok($code != 0, $what) or diag($out);
	like($err, $error, '… and says why');
	return;
}

sub add
{
	my ($self) = @_;
	my $n = $self->_start;
	$self->_join($n);
	return $n;
}

sub set
{
	my ($self, $n, $name, $value) = @_;
	$self->sql($n, 'ALTER SYSTEM ' . (defined $value ? "SET $name = '$value'" : "RESET $name"));
	$self->node($n)->reload;
	DynamoTable::wait_for($self->node($n), sprintf(q{SELECT current_setting('%s') = '%s'}, $name, $value // ''));
	return;
}

sub crash
{
	my ($self, $n) = @_;
	DynamoTable::crash($self->node($n));
}

# The number of the node of each shard of a table, by the shard's id.
sub placements
{
	my ($self, $table) = @_;
	my %number = map { (join(':', $self->address($_)) => $_) } 0 .. $#{ $self->{nodes} };
	return map { my ($id, $address) = split /\|/; ($id => $number{$address}) }
		split /\n/, $self->sql(0, "SELECT shardid, nodename || ':' || nodeport FROM citus_shards
			WHERE table_name = '$table'::regclass ORDER BY 1");
}

sub move
{
	my ($self, $shard, $from, $to, $mode) = @_;
	$self->sql(0, sprintf("SELECT citus_move_shard_placement(%s, '%s', %d, '%s', %d, '%s')",
		$shard, $self->address($from), $self->address($to), $mode // 'block_writes'));
}

sub move_all
{
	my ($self, $table, $to, $mode) = @_;
	my %placements = $self->placements($table);
	$self->move($_, $placements{$_}, $to, $mode) for grep { $placements{$_} != $to } sort keys %placements;
}

sub start
{
	my ($self, $n, @statements) = @_;
	my $file = $self->node($n)->basedir . '/run' . $self->{runs}++;
	my %run = (out => "$file.out", err => "$file.err");
	append_to_file("$file.sql", join('', map { "$_;\n" } @statements));
	# to files, since nobody reads from pipes before finish(), and psql would wait once they are full
	$run{harness} = IPC::Run::start([ 'psql', '-XAtq', '-d', $self->node($n)->connstr('postgres'), '-f', "$file.sql" ],
		'>', $run{out}, '2>', $run{err});
	return \%run;
}

sub finish
{
	my ($self, $run) = @_;
	$run->{harness}->finish;
	return ([ grep { $_ ne '' } split /\n/, slurp_file($run->{out}) ],
		[ grep { /ERROR|FATAL|PANIC|connection/ } split /\n/, slurp_file($run->{err}) ]);
}

# A server with both extensions, which belongs to no other node yet.
sub _start
{
	my ($self) = @_;
	my $n = @{ $self->{nodes} };
	my $node = PostgreSQL::Test::Cluster->new("node$n");
	push @{ $self->{nodes} }, $node;
	$node->init(allows_streaming => 'logical');
	DynamoTable::allow_plugin($node);
	$node->append_conf('postgresql.conf', join("\n", slurp_file("$FindBin::RealBin/nodes.conf"),
		"citus.local_hostname = '" . $node->host . "'", $self->{settings}));
	$node->start;
	$self->sql($n, 'CREATE EXTENSION citus; CREATE EXTENSION dynamo_table');
	return $n;
}

sub _join
{
	my ($self, $n) = @_;
	$self->sql(0, sprintf("SELECT citus_add_node('%s', %d)", $self->address($n)));
}

1;
