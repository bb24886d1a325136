# K11, W16: many sessions put one key; nothing acknowledged is lost in a crash (N06).
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use DynamoTable;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', 'max_connections = 120');
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION dynamo_table;
	SELECT dyn_create_table('app', 'pk S', 'sk S');
	-- what users may add: a trigger after the row that counts, one before it, a column, a unique index, what refers to items
	-- (not one whose values follow from the key: two sessions that run INSERT … ON CONFLICT may meet in it first)
	ALTER TABLE app ADD COLUMN whole text GENERATED ALWAYS AS (pk || '/' || sk) STORED, ADD COLUMN id int GENERATED ALWAYS AS IDENTITY;
	CREATE UNIQUE INDEX one ON app ((item ->> 'pk'), id);
	CREATE TABLE refers (pk text COLLATE "C", sk text COLLATE "C", FOREIGN KEY (pk, sk) REFERENCES app ON DELETE CASCADE);
	CREATE TABLE rows (pk text, sk text, n int);
	CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql
		AS $$ BEGIN NEW.item := dyn_apply(NEW.item, 'SET op = :o', vals => jsonb_build_object(':o', TG_OP)); RETURN NEW; END $$;
	CREATE FUNCTION count_it() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		IF TG_OP = 'INSERT' THEN
			INSERT INTO rows VALUES (NEW.pk, NEW.sk, 1);
		ELSE
			INSERT INTO rows VALUES (OLD.pk, OLD.sk, -1);
		END IF;
		RETURN NULL;
	END $$;
	CREATE TRIGGER change BEFORE INSERT OR UPDATE ON app FOR EACH ROW EXECUTE FUNCTION change();
	CREATE TRIGGER count_it AFTER INSERT OR DELETE ON app FOR EACH ROW EXECUTE FUNCTION count_it();
});

# One key: no deadlock, no duplicate key, one item.  All kinds of writes, so that the item comes and goes, and
# each transaction by one of the two stores, so that they meet.
my $put = q{SELECT dyn_put('app', jsonb_build_object('pk', 'one', 'sk', 'key', 'by', :client_id))};
my %scripts = (
	put => "$put;",
	'put that returns the old item' => "SELECT dyn_put('app', jsonb_build_object('pk', 'one', 'sk', 'key', 'by', :client_id), return_values => 'ALL_OLD');",
	'put and delete' => "$put;\nSELECT dyn_delete('app', '{\"pk\":{\"S\":\"one\"},\"sk\":{\"S\":\"key\"}}');\n"
	  . "SELECT dyn_put('app', jsonb_build_object('pk', 'one', 'sk', 'key', 'by', :client_id), return_values => 'ALL_OLD');",
	'put and plain SQL' =>
		"$put;\nINSERT INTO app (item) VALUES ('{\"pk\":{\"S\":\"one\"},\"sk\":{\"S\":\"key\"}}') ON CONFLICT (pk, sk) DO UPDATE SET item = EXCLUDED.item;\n"
	  . "DELETE FROM app WHERE pk = 'one';\nSELECT dyn_put('app', jsonb_build_object('pk', 'one', 'sk', 'key', 'by', :client_id), return_values => 'ALL_OLD');");
for my $name (sort keys %scripts)
{
	my $file = $node->basedir . '/script.sql';
	unlink $file;
	append_to_file($file, "\\set direct random(0, 1)\nSET dynamo_table.direct_store = :direct;\n$scripts{$name}");
	$node->command_checks_all([ 'pgbench', '-n', '-c', 50, '-j', 2, '-t', 10, '-f', $file, 'postgres' ],
		0, [qr{transactions actually processed: 500/500}], [qr/^((?!ERROR).)*$/s], "50 sessions, $name: no error");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM app'), 1, "50 sessions, $name: one item");
	is($node->safe_psql('postgres', 'SELECT sum(n) FROM rows'), 1, "50 sessions, $name: triggers have counted one");
}

# A write is acknowledged when its answer has reached the client.
my @writers = map {
	my $n = $_;
	my $file = $node->basedir . "/writer$n.sql";
	append_to_file($file, join '', map { "SELECT $_ FROM dyn_put('app', jsonb_build_object('pk', 'w$n', 'sk', '$_'));\n" } 1 .. 20000);
	my %writer = (out => '', err => '');
	$writer{harness} = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-f', $file ], '>', \$writer{out}, '2>', \$writer{err});
	\%writer;
} 1 .. 4;
wait_for($node, "SELECT count(*) > 400 FROM app WHERE pk ~ '^w'");
crash($node);
for my $n (1 .. 4)
{
	my $writer = $writers[ $n - 1 ];
	eval { $writer->{harness}->finish };
	my @lines = grep { /^\d+$/ } split /\n/, $writer->{out};
	my $last = @lines ? $lines[-1] : 0;
	cmp_ok($last, '<', 20000, "writer $n was cut off");
	is($node->safe_psql('postgres', "SELECT count(*) FROM app WHERE pk = 'w$n' AND sk::int <= $last"), $last, "writer $n: all $last acknowledged items are there");
}
is($node->safe_psql('postgres', q{SELECT count(*) FROM (SELECT pk, sk FROM rows GROUP BY pk, sk HAVING sum(n) = 1) r FULL JOIN app USING (pk, sk)
	WHERE r.pk IS NULL OR item IS NULL OR whole <> pk || '/' || sk}),
	0, 'what triggers have counted is what is there');
check_storage($node, 'after the crash');

done_testing();
