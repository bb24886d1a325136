# A write of one item goes to the node of its shard, and writes there directly, where it is a transaction by itself.  Everywhere else
# it is statements, which Citus commits in two phases.  Reads are statements where the shard is on another node.
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

sub is_sent   { return scalar(() = $_[0] =~ /issuing SELECT public\.dyn_(?:put|update|delete)\(/g) }
sub is_asked  { return scalar(() = $_[0] =~ /issuing /g) }
sub is_local  { return scalar(() = $_[0] =~ /executing the command locally/g) }
sub is_2pc    { return scalar(() = $_[0] =~ /issuing PREPARE TRANSACTION/g) }

# Of each table the keys on a node, by the literals of items.
my %keys = (
	s => [ map { qq({"S":"p$_"}) } 1 .. 20 ],
	n => [ map { qq({"N":"$_.50"}) } 1 .. 20 ],
	b => [ map { sprintf('{"B":"%s"}', [ 'AAEC', 'Af8=', '/wAB', 'gIA=' ]->[ $_ % 4 ] =~ s/^./chr(64 + $_)/er) } 1 .. 20 ]);

$citus->sql(0, qq{SELECT dyn_create_table('$_', 'pk ' || upper('$_'), 'sk S'); SELECT dyn_distribute_table('$_')}) for sort keys %keys;

# Tables of each owner are a group of their own.
$keys{theirs} = $keys{s};
$citus->sql(0, q{CREATE ROLE owner LOGIN; GRANT CREATE ON SCHEMA public TO owner});
$citus->sql(0, q{SET ROLE owner; SELECT dyn_create_table('theirs', 'pk S', 'sk S'); SELECT dyn_distribute_table('theirs')});
is($citus->sql(0, q{SELECT count(DISTINCT colocationid) FROM pg_dist_partition WHERE logicalrelid IN ('s'::regclass, 'theirs'::regclass)}), 2,
	'two groups of tables');

# From which node what is sent.
my %home;
for my $table (sort keys %keys)
{
	my %seen;
	for my $key (grep { !$seen{$_}++ } @{ $keys{$table} })
	{
		my @sent = map { is_sent(commands($_, qq{SELECT dyn_delete('$table', '{"pk":$key,"sk":{"S":"1"}}')})) } 0 .. 2;
		like("@sent", qr/^1 (0 1|1 0)$/, "$table: a deletion of $key goes to one worker from all other nodes") or next;
		push @{ $home{$table}[ $sent[1] ? 2 : 1 ] }, $key;
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
			is(is_sent($said), $n == $home ? 0 : 3, "$table: writes for node $home from node $n");
			is(is_asked($said), $n == $home ? 0 : 5, '… and reads, each by one message');
			is(is_local($said), 0, '… and none of them is a statement here');
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
	is(is_sent($said), 0, "$what: no call is sent");
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
is(is_sent(commands(1, $_)), 0, "not sent: $_") for
	qq{CREATE TEMP TABLE t AS SELECT dyn_put('s', '$there')},
	qq{COPY (SELECT dyn_put('s', '$there')) TO STDOUT},
	qq{SELECT dyn_put('s', '$there') FROM generate_series(1, 2)},
	qq{SELECT dyn_put('s', '$there') WHERE random() < 2},
	qq{SELECT dyn_put('s', (SELECT '$there'::dyn_item))},
	qq{SELECT dyn_delete('s', '$there', condition => 'attribute_exists(pk)')},
	qq{SELECT x + random() FROM length(dyn_put('s', '$there')::text) x},
	qq{SELECT x IS NULL FROM dyn_put('s', '$there') x},
	qq{SET dynamo_table.direct_store = off; SELECT dyn_put('s', '$there')},
	qq{SET default_transaction_isolation = serializable; SELECT dyn_put('s', '$there')},
	qq{SET citus.enable_local_execution = off; SELECT dyn_put('s', '$here')};
is($citus->sql(0, q{SELECT count(*) FROM s WHERE sk = 'x'; DELETE FROM s WHERE sk = 'x'}), 2, '… and done all the same');

is(is_sent(commands(1, qq{SELECT x, x FROM dyn_put('s', '$there') x})), 1, 'sent: a call in FROM');
$citus->sql(0, q{DELETE FROM s WHERE sk = 'x'});
like(commands(1, qq{SELECT 1 / (random() * 0)::int FROM dyn_put('s', '$there')}), qr/ERROR:  division by zero/, 'what fails after a call …');
is($citus->sql(0, q{SELECT count(*) FROM s WHERE sk = 'x'}), 0, '… takes it back');

# What another node has sent is not sent on, wherever that node takes the shard to be.
is(is_sent(commands(1, qq{SET application_name = 'citus_internal gpid=1'; SELECT dyn_put('s', '$there')})), 0, 'what came from another node is not sent on');

# Whoever changes a table locks it on one node after the other, and may wait for the node that has sent.
my $locking = $citus->start(2, 'SET citus.enable_ddl_propagation = off', 'BEGIN', 'LOCK TABLE s', 'SELECT pg_sleep(600)');
$citus->node(2)->poll_query_until('postgres', q{SELECT EXISTS (SELECT FROM pg_locks
	WHERE relation = 's'::regclass AND mode = 'AccessExclusiveLock' AND granted)});
is($citus->sql(1, qq{SET statement_timeout = '60s'; SELECT dyn_put('s', '$there'); SELECT dyn_update('s', '$there', 'ADD a :a', vals => '{":a":{"N":"1"}}',
	return_values => 'UPDATED_NEW'); SELECT dyn_delete('s', '$there', return_values => 'ALL_OLD') ->> 'a'}), qq(\n{"a":{"N":"1"}}\n1),
	'what was sent does not wait for the table, and is done by statements');
$citus->sql(2, q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query ~ '^SELECT pg_sleep'});
$citus->finish($locking);

# Parameters, and plans that are kept.
my $said = commands(1, qq{PREPARE p(text, dyn_item) AS SELECT dyn_put(\$1, \$2);} . qq{EXECUTE p('s', '$there');} x 12);
is(is_sent($said), 12, 'a prepared call is sent each time');
$said = commands(1, qq{PREPARE p(dyn_item) AS SELECT dyn_put('s', \$1); EXPLAIN EXECUTE p('$there');} . qq{EXECUTE p('$there');} x 12);
is(is_sent($said), 12, '… also after EXPLAIN');
$said = commands(1, qq{PREPARE p AS SELECT dyn_put('s', '$there'); EXECUTE p; BEGIN; EXECUTE p; COMMIT});
is(is_sent($said), 1, '… and in a block a kept call is statements');
unlike($said, qr/ERROR/, '… which do the same');

# What a call returns comes back.
my $from = qq{SELECT dyn_put('s', '{"pk":$home{s}[2][0],"sk":{"S":"x"},"a":{"N":"1"}}');};
is(is_sent(commands(1, qq{$from SELECT dyn_update('s', '$there', 'ADD a :a', vals => '{":a":{"N":"1"}}', return_values => 'UPDATED_NEW')})), 2, 'sent');
is($citus->sql(1, qq{$from SELECT dyn_update('s', '$there', 'ADD a :a', vals => '{":a":{"N":"1"}}', return_values => 'UPDATED_NEW')}) =~ s/\n//gr,
	'{"a":{"N":"2"}}', 'with what it returns');
like(commands(1, qq{SELECT dyn_update('s', '$there', 'ADD pk :a', vals => '{":a":{"N":"1"}}')}), qr/ERROR:  .*key/,
	'what is wrong with a call is said');
$citus->sql(0, 'DELETE FROM s');

# What the session says counts there, too.
like(commands(1, qq{SET default_transaction_read_only = on; SELECT dyn_put('s', '$_')}), qr/ERROR:  cannot execute INSERT in a read-only transaction/,
	'read-only transactions write nowhere') for $here, $there;
for my $schema ('a "B"', 'a.B')
{
	$citus->sql(0, sprintf(q{CREATE SCHEMA %s; SET search_path = %1$s, public; SELECT dyn_create_table('in "schema"', 'pk S', 'sk S');
		SELECT dyn_distribute_table('in "schema"')}, my $quoted = '"' . $schema =~ s/"/""/gr . '"'));
	for my $item ($here, $there)
	{
		$said = commands(1, qq{SET search_path = $quoted, public; SELECT dyn_put('in "schema"', '$item')});
		is(is_sent($said), $item eq $there && $schema !~ /\./ ? 1 : 0, "a table in $schema is found by the search_path of the session");
		unlike($said, qr/ERROR/, '… without an error');
	}
	is($citus->sql(2, qq{SELECT count(*) FROM $quoted."in ""schema"""}), 2, '… and written');
}

# Roles
$citus->sql(0, q{CREATE ROLE reader LOGIN; CREATE ROLE writer LOGIN; CREATE ROLE part LOGIN;
	GRANT SELECT ON s TO reader; GRANT SELECT, INSERT, UPDATE, DELETE ON s TO writer; GRANT SELECT (item, pk, sk) ON s TO part});
$citus->sql(0, qq{SELECT dyn_put('s', '$_')}) for $here, $there;
for my $item ($here, $there)
{
	my $get = qq{SELECT dyn_get('s', '$item') IS NOT NULL};
	my $put = qq{SELECT dyn_put('s', '$item')};
	is(is_sent(commands(1, "SET ROLE writer; $put")), $item eq $there ? 1 : 0, 'writer: sent');
	is($citus->sql(1, "SET ROLE $_; $get"), 't', "$_ reads") for qw(reader writer part);
	like(commands(1, "SET ROLE $_; SELECT dyn_put('s', '$item')"), qr/ERROR:  permission denied for table s/, "$_ writes nothing") for qw(reader part);
	unlike(commands(1, "SET ROLE writer; SELECT dyn_put('s', '$item')"), qr/ERROR/, 'writer writes');
	$citus->sql(2, 'SET citus.enable_ddl_propagation = off; REVOKE EXECUTE ON FUNCTION dyn_put FROM PUBLIC');
	$said = commands(1, "SET ROLE writer; $put");
	$item eq $there ? like($said, qr/ERROR:  permission denied for function dyn_put/, 'what is sent takes the privilege of the call there')
		: unlike($said, qr/ERROR/, '… and nothing else does');
	$citus->sql(2, 'SET citus.enable_ddl_propagation = off; GRANT EXECUTE ON FUNCTION dyn_put TO PUBLIC');
	$citus->sql(0, 'REVOKE SELECT, INSERT ON s FROM writer');
	like(commands(1, "SET ROLE writer; $put"), qr/ERROR:  permission denied for table s/, 'what is revoked is revoked');
	$citus->sql(0, 'GRANT SELECT, INSERT ON s TO writer');
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

done_testing();
