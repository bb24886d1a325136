# A call of one item or of one item collection goes to the node of its shard, and writes there directly, where it is a
# transaction by itself.  Everywhere else it is statements, which Citus commits in two phases.
use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;
use CitusNodes;

my $citus = CitusNodes->new;

# The commands that Citus executes for a script, on this node and on others, and the script's errors.
sub commands
{
	my ($n, $script) = @_;
	my ($rc, $stdout, $stderr) = $citus->node($n)->psql('postgres',
		"SET citus.log_remote_commands = on;\nSET citus.log_local_commands = on;\n$script");
	return $stderr;
}

sub is_routed { return scalar(() = $_[0] =~ /issuing SELECT (?:dyn_query FROM )?dynamo_internal\.routed_/g) }
sub is_local  { return scalar(() = $_[0] =~ /executing the command locally/g) }
sub is_2pc    { return scalar(() = $_[0] =~ /issuing PREPARE TRANSACTION/g) }

# Of each table the keys on a node, by the literals of items.
my %keys = (
	s => [ map { qq({"S":"p$_"}) } 1 .. 20 ],
	n => [ map { qq({"N":"$_.50"}) } 1 .. 20 ],
	b => [ map { sprintf('{"B":"%s"}', [ 'AAEC', 'Af8=', '/wAB', 'gIA=' ]->[ $_ % 4 ] =~ s/^./chr(64 + $_)/er) } 1 .. 20 ]);

$citus->sql(0, qq{SELECT dyn_create_table('$_', 'pk ' || upper('$_'), 'sk S'); SELECT dyn_distribute_table('$_')}) for sort keys %keys;

# From which node what is sent.
my %home;
for my $table (sort keys %keys)
{
	my %seen;
	for my $key (grep { !$seen{$_}++ } @{ $keys{$table} })
	{
		my @routed = map { is_routed(commands($_, qq{SELECT dyn_get('$table', '{"pk":$key,"sk":{"S":"1"}}')})) } 0 .. 2;
		my $sent = join(' ', @routed);
		like($sent, qr/^1 (0 1|1 0)$/, "$table: a get of $key goes to one worker from all other nodes") or next;
		push @{ $home{$table}[ $routed[1] ? 2 : 1 ] }, $key;
	}
	ok($home{$table}[1] && $home{$table}[2], "$table: both workers have keys");
}

for my $table (sort keys %keys)
{
	for my $n (0 .. 2)
	{
		for my $home (1, 2)
		{
			my $key = $home{$table}[$home][0];
			my $id = qq("pk":$key,"sk":{"S":"$n"});
			my $said = commands($n, qq{
				SELECT dyn_put('$table', '{$id,"a":{"N":"1"}}');
				SELECT dyn_update('$table', '{$id}', 'ADD a :one', vals => '{":one":{"N":"1"}}');
				SELECT dyn_get('$table', '{$id}');
				SELECT * FROM dyn_query('$table', 'pk = :p', vals => '{":p":$key}');
				SELECT dyn_delete('$table', '{$id}', return_values => 'ALL_OLD');});
			is(is_routed($said), $n == $home ? 0 : 5, "$table: calls for node $home from node $n");
			is(is_local($said), 0, '… and none of them is a statement');
			unlike($said, qr/ERROR/, '… or fails');
			is($citus->sql($n, qq{SELECT dyn_put('$table', '{$id,"a":{"N":"1"}}');
				SELECT dyn_update('$table', '{$id}', 'ADD a :one', vals => '{":one":{"N":"1"}}');
				SELECT dyn_get('$table', '{$id}') ->> 'a';
				SELECT count(*) FROM dyn_query('$table', 'pk = :p', vals => '{":p":$key}');
				SELECT dyn_delete('$table', '{$id}', return_values => 'ALL_OLD') ->> 'a';
				SELECT dyn_get('$table', '{$id}') IS NULL}) =~ s/\n+/ /gr, ' 2 1 2 t', '… and their results');
		}
	}
}

# Parts of a greater transaction.
my ($here, $there) = map { qq({"pk":$home{s}[$_][0],"sk":{"S":"x"}}) } 1, 2;
my $both = qq{PERFORM dyn_put('s', '$here'); PERFORM dyn_put('s', '$there');};
$citus->sql(0, qq{CREATE FUNCTION put_both() RETURNS void LANGUAGE plpgsql AS \$\$BEGIN $both END\$\$});
my %larger = (
	'a block' => qq{BEGIN; SELECT dyn_put('s', '$here'); SELECT dyn_put('s', '$there'); COMMIT},
	'a block that reads first' => qq{BEGIN; SELECT dyn_get('s', '$here'); SELECT dyn_put('s', '$here'); SELECT dyn_put('s', '$there'); COMMIT},
	'statements of one message' => qq{SELECT dyn_put('s', '$here')\\; SELECT dyn_put('s', '$there');},
	'a statement of two calls' => qq{SELECT dyn_put('s', '$here'), dyn_put('s', '$there')},
	'a function' => 'SELECT put_both()',
	'DO' => qq{DO \$\$ BEGIN $both END \$\$});
for my $what (sort keys %larger)
{
	my $said = commands(1, $larger{$what});
	is(is_routed($said), 0, "$what: no call is sent");
	is(is_2pc($said), 1, '… and it is committed in two phases');
	is($citus->sql(0, q{SELECT count(*) FROM s WHERE sk = 'x'; DELETE FROM s WHERE sk = 'x'}), 2, '… with both items');
}
for my $n (0 .. 2)
{
	$citus->sql($n, qq{BEGIN; SELECT dyn_put('s', '$here'); SELECT dyn_put('s', '$there'); ROLLBACK});
	is($citus->sql($n, q{SELECT count(*) FROM s}), 0, "nothing is there after ROLLBACK on node $n");
	is($citus->sql($n, qq{BEGIN; SELECT dyn_put('s', '$here'); SELECT dyn_put('s', '$there');
		SELECT count(dyn_get('s', k)) FROM unnest(ARRAY['$here', '$there']::dyn_item[]) k; ROLLBACK}) =~ s/\n//gr, 2, '… and within the block both were');
}

# Not sent, since what encloses the call may fail after it, or since the call often fails.
is(is_routed(commands(1, $_)), 0, "not sent: $_") for
	qq{CREATE TEMP TABLE t AS SELECT dyn_put('s', '$there')},
	qq{COPY (SELECT dyn_get('s', '$there')) TO STDOUT},
	qq{BEGIN; DECLARE c CURSOR FOR SELECT dyn_get('s', '$there'); FETCH c; COMMIT},
	qq{SELECT dyn_put('s', '$there') FROM generate_series(1, 2)},
	qq{SELECT dyn_get('s', '$there') WHERE random() < 2},
	qq{SELECT dyn_delete('s', '$there', condition => 'attribute_exists(pk)')},
	qq{SET dynamo_table.direct_store = off; SELECT dyn_get('s', '$there')},
	qq{SET citus.enable_local_execution = off; SELECT dyn_get('s', '$here')};

# Parameters, and plans that are kept.
my $said = commands(1, qq{PREPARE g(text, dyn_item) AS SELECT dyn_get(\$1, \$2);} . qq{EXECUTE g('s', '$there');} x 12);
is(is_routed($said), 12, 'a prepared call is sent each time');
$said = commands(1, qq{PREPARE g(dyn_item) AS SELECT dyn_get('s', \$1); EXPLAIN EXECUTE g('$there');} . qq{EXECUTE g('$there');} x 12);
is(is_routed($said), 12, '… also after EXPLAIN');
my $kept = qq{PREPARE p AS SELECT dyn_put('s', '$there'); PREPARE g AS SELECT dyn_get('s', '$there'); EXECUTE p; EXECUTE g;};
$said = commands(1, "$kept BEGIN; EXECUTE g; COMMIT");
unlike($said, qr/ERROR/, 'a kept call that reads is executed in a block');
$said = commands(1, "$kept BEGIN; EXECUTE p; COMMIT");
like($said, qr/ERROR:  a prepared write of an item on another node cannot be executed in a transaction block/, 'and one that writes is not');

# What the session says counts there, too.
like(commands(1, qq{SET default_transaction_read_only = on; SELECT dyn_put('s', '$_')}), qr/ERROR:  cannot execute INSERT in a read-only transaction/,
	'read-only transactions write nowhere') for $here, $there;
$citus->sql(0, q{CREATE SCHEMA "a.B"; CREATE SCHEMA other; SET search_path = "a.B", public;
	SELECT dyn_create_table('in "schema"', 'pk S', 'sk S'); SELECT dyn_distribute_table('in "schema"')});
for my $item ($here, $there)
{
	is(is_routed(commands(1, qq{SET search_path = "a.B", public; SELECT dyn_put('in "schema"', '$item')})), $item eq $there ? 1 : 0,
		'a table is found by the search_path of the session');
}
is($citus->sql(2, q{SELECT count(*) FROM "a.B"."in ""schema"""}), 2, '… and written');

# Roles
$citus->sql(0, q{CREATE ROLE reader LOGIN; CREATE ROLE writer LOGIN; CREATE ROLE part LOGIN;
	GRANT SELECT ON s TO reader; GRANT SELECT, INSERT, UPDATE, DELETE ON s TO writer; GRANT SELECT (item, pk, sk) ON s TO part});
$citus->sql(0, qq{SELECT dyn_put('s', '$_')}) for $here, $there;
for my $item ($here, $there)
{
	my $get = qq{SELECT dyn_get('s', '$item') IS NOT NULL};
	my $call = qq{SELECT dyn_get('s', '$item')};
	is(is_routed(commands(1, "SET ROLE reader; $call")), $item eq $there ? 1 : 0, 'reader: sent');
	is($citus->sql(1, "SET ROLE $_; $get"), 't', "$_ reads") for qw(reader writer part);
	like(commands(1, "SET ROLE $_; SELECT dyn_put('s', '$item')"), qr/ERROR:  permission denied for table s/, "$_ writes nothing") for qw(reader part);
	unlike(commands(1, "SET ROLE writer; SELECT dyn_put('s', '$item')"), qr/ERROR/, 'writer writes');
	$citus->sql(0, 'REVOKE SELECT ON s FROM reader');
	like(commands(1, "SET ROLE reader; $call"), qr/ERROR:  permission denied for table s/, 'what is revoked is revoked there');
	$citus->sql(0, 'GRANT SELECT ON s TO reader');
}
$citus->sql(0, q{ALTER TABLE s ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON s TO reader USING (sk <> 'x')});
for my $item ($here, $there)
{
	is($citus->sql(1, "SET ROLE reader; SELECT dyn_get('s', '$item')"), '', 'a policy hides an item');
	is($citus->sql(1, "SET ROLE writer; SELECT dyn_get('s', '$item')"), '', '… and without a policy all are');
	like(commands(1, "SET ROLE writer; SELECT dyn_put('s', '$item')"), qr/ERROR:  new row violates row-level security policy/, '… or written');
}
$citus->sql(0, q{ALTER TABLE s DISABLE ROW LEVEL SECURITY; DELETE FROM s});

# What users have added is obeyed.
$citus->sql(0, q{ALTER TABLE s ADD CONSTRAINT no_z CHECK (sk <> 'z')});
like(commands(1, qq{SELECT dyn_put('s', '{"pk":$_,"sk":{"S":"z"}}')}), qr/ERROR:  new row for relation .* violates check constraint/, 'a constraint')
	for map { $home{s}[$_][0] } 1, 2;
$citus->sql(0, q{ALTER TABLE s DROP CONSTRAINT no_z});

# Another group of tables has the functions only when the first is gone.
$citus->sql(0, q{SELECT dyn_create_table('alone', 'pk S', 'sk S'); SELECT dyn_distribute_table('alone', shard_count => 4)});
for my $item ($here, $there)
{
	$said = commands(1, qq{SELECT dyn_put('alone', '$item'); SELECT dyn_get('alone', '$item');});
	is(is_routed($said), 0, 'a table of another group is served by statements where the item is elsewhere');
}
is($citus->sql(2, 'SELECT count(*) FROM alone'), 2, '… which write it');

done_testing();
