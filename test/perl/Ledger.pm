# A table of items with triggers, foreign keys, a check, columns and indexes of its users, for tests
# under load: its triggers keep ledgers of an attribute n, which agree with the items whatever happens
# to the sessions that write.
package Ledger;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(create_ledger ledger_script hasty_ledger_file ledger_agrees);

# The table "booked", with 50 collections.
sub create_ledger
{
	my ($node) = @_;
	$node->safe_psql('postgres', q{
		SET client_min_messages = warning;
		CREATE EXTENSION IF NOT EXISTS dynamo_table;
		SELECT dyn_create_table('booked', 'pk S', 'sk N', global_indexes => '{"GSI1": {"partition_key": "g S", "sort_key": "sk N"}}');
		CREATE TABLE groups (id text COLLATE "C" PRIMARY KEY);
		INSERT INTO groups SELECT 'g' || i FROM generate_series(0, 6) i;
		CREATE TABLE rows_ledger (k int, delta int);
		CREATE TABLE late_ledger (k int, delta int);
		CREATE TABLE statements_ledger (k int, delta int);
		CREATE FUNCTION booked_n(item dyn_item) RETURNS int IMMUTABLE LANGUAGE sql RETURN coalesce((item ->> 'n')::int, 0);
		ALTER TABLE booked ADD COLUMN id bigint GENERATED ALWAYS AS IDENTITY,
			ADD COLUMN code text GENERATED ALWAYS AS (item ->> 'code') STORED,
			ADD CHECK (booked_n(item) >= 0), ADD FOREIGN KEY (g) REFERENCES groups;
		-- over an expression: updates of a row with a unique column wait for those that refer to it
		CREATE UNIQUE INDEX one_code ON booked ((item ->> 'code'));
		CREATE INDEX low ON booked (booked_n(item), code) WHERE booked_n(item) < 50;
		CREATE TABLE child (pk text COLLATE "C", sk numeric, FOREIGN KEY (pk, sk) REFERENCES booked ON DELETE CASCADE);
		CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			-- Two sessions that insert an item at a time differ here: of equal codes the second one is refused, ON CONFLICT or not.
			NEW.item := dyn_apply(NEW.item, 'SET code = :c',
				vals => jsonb_build_object(':c', CASE TG_OP WHEN 'UPDATE' THEN OLD.item ->> 'code' ELSE format('c%s:%s', NEW.sk, pg_current_xact_id()) END));
			RETURN NEW;
		END $$;
		CREATE FUNCTION book() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			EXECUTE format('INSERT INTO %I VALUES ($1, $2)', TG_ARGV[0])
				USING (CASE WHEN TG_OP = 'DELETE' THEN OLD.sk ELSE NEW.sk END)::int, CASE WHEN TG_OP = 'DELETE' THEN 0 ELSE booked_n(NEW.item)
					END - CASE WHEN TG_OP = 'INSERT' THEN 0 ELSE booked_n(OLD.item) END;
			RETURN NULL;
		END $$;
		CREATE FUNCTION book_statement() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			IF TG_OP <> 'DELETE' THEN
				INSERT INTO statements_ledger SELECT sk, booked_n(item) FROM new_rows;
			END IF;
			IF TG_OP <> 'INSERT' THEN
				INSERT INTO statements_ledger SELECT sk, -booked_n(item) FROM old_rows;
			END IF;
			RETURN NULL;
		END $$;
		CREATE TRIGGER stamp BEFORE INSERT OR UPDATE ON booked FOR EACH ROW EXECUTE FUNCTION stamp();
		CREATE TRIGGER book AFTER INSERT OR UPDATE OR DELETE ON booked FOR EACH ROW EXECUTE FUNCTION book('rows_ledger');
		CREATE CONSTRAINT TRIGGER book_late AFTER INSERT OR UPDATE OR DELETE ON booked DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
			EXECUTE FUNCTION book('late_ledger');
		CREATE TRIGGER book_inserts AFTER INSERT ON booked REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION book_statement();
		CREATE TRIGGER book_updates AFTER UPDATE ON booked REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT
			EXECUTE FUNCTION book_statement();
		CREATE TRIGGER book_deletes AFTER DELETE ON booked REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION book_statement();
		CREATE FUNCTION booked_key(k int) RETURNS dyn_item LANGUAGE sql IMMUTABLE RETURN jsonb_build_object('pk', 'p' || k % 50, 'sk', k)::dyn_item;
		CREATE FUNCTION booked_item(k int, v int) RETURNS dyn_item LANGUAGE sql IMMUTABLE
			RETURN (booked_key(k)::jsonb || jsonb_build_object('g', 'g' || v % 7, 'n', v, 'note', repeat('x', v * 60)))::dyn_item;
		CREATE FUNCTION booked_add(k int, v int) RETURNS dyn_item LANGUAGE sql
			RETURN dyn_update('booked', booked_key(k), 'ADD n :v', vals => jsonb_build_object(':v', v));
	});
}

# A script of pgbench: a transaction on one of so many keys, or on three, by the direct store or the SPI store.
sub ledger_script
{
	my ($keys) = @_;
	return <<"EOS";
\\set direct random(0, 1)
\\set k random(1, $keys)
\\set v random(0, 60)
\\set op random(1, 100)
SET dynamo_table.direct_store = :direct;
BEGIN;
\\if :op <= 20
SELECT dyn_put('booked', booked_item(:k, :v));
\\elif :op <= 28
SELECT dyn_put('booked', booked_item(:k, :v), return_values => 'ALL_OLD'), booked_add(:k, 1);
\\elif :op <= 55
SELECT booked_add(:k, :v);
\\elif :op <= 62
SELECT dyn_delete('booked', booked_key(:k));
\\elif :op <= 72
SELECT dyn_batch_write('booked', ARRAY[booked_item(:k, :v), booked_item(:k + 1, 1)], ARRAY[booked_key(:k + 2)]);
\\elif :op <= 80
SELECT dyn_transact(jsonb_build_array(jsonb_build_object('Put', jsonb_build_object('TableName', 'booked', 'Item', booked_item(:k, :v)::text::jsonb)),
	jsonb_build_object('Delete', jsonb_build_object('TableName', 'booked', 'Key', booked_key(:k + 1)::text::jsonb))));
\\elif :op <= 88
SAVEPOINT s;
SELECT dyn_put('booked', booked_item(:k, :v)), booked_add(:k, :v), dyn_delete('booked', booked_key(:k));
ROLLBACK TO s;
SELECT booked_add(:k, 3);
\\elif :op <= 92
-- the other way round it would be a deadlock with a transaction that has changed the item and deletes it
SELECT booked_add(:k, 1);
INSERT INTO child SELECT pk, sk FROM booked WHERE pk = 'p' || :k % 50 AND sk = :k FOR KEY SHARE;
\\elif :op <= 96
UPDATE booked SET item = booked_item(:k, :v) WHERE pk = 'p' || :k % 50 AND sk = :k;
\\else
DELETE FROM booked WHERE pk = 'p' || :k % 50 AND sk = :k;
\\endif
COMMIT;
EOS
}

# A script of psql, in a file, with n transactions, many of which are cut off by a timeout.
sub hasty_ledger_file
{
	my ($node, $name, $keys, $n) = @_;
	my $file = $node->basedir . "/$name.sql";
	my $all = '';
	for (1 .. $n)
	{
		my ($k, $v, $op) = (1 + int(rand($keys)), int(rand(60)), int(rand(8)));
		my $call = ("SELECT booked_add($k, $v)", "SELECT dyn_put('booked', booked_item($k, $v))", "SELECT dyn_delete('booked', booked_key($k))",
			"SELECT dyn_batch_write('booked', ARRAY[booked_item($k, $v), booked_item($k + 1, $v)], ARRAY[booked_key($k + 2)])",
			"SELECT dyn_put('booked', booked_item($k, $v), return_values => 'ALL_OLD')")[ $op % 5 ];
		my $direct = $op < 6 ? 'on' : 'off';
		$all .= "SET dynamo_table.direct_store = $direct;\nBEGIN;\nSET LOCAL statement_timeout = " . (1 + int(rand(6))) . ";\n$call;\n"
		  . (int(rand(3)) ? '' : "SAVEPOINT s;\n$call;\nROLLBACK TO s;\nSELECT booked_add($k, 1);\n") . "COMMIT;\n";
	}
	append_to_file($file, $all);
	return $file;
}

# Triggers have fired once for what is stored, and for nothing else; columns, indexes and foreign keys agree.
sub ledger_agrees
{
	my ($node, $name) = @_;
	for my $ledger (qw(rows_ledger late_ledger statements_ledger))
	{
		is($node->safe_psql('postgres', qq{
			SELECT count(*) FROM (SELECT k, sum(delta) AS n FROM $ledger GROUP BY k) l
				FULL JOIN (SELECT sk::int AS k, booked_n(item) AS n FROM booked) b USING (k) WHERE coalesce(l.n, 0) <> coalesce(b.n, 0)}), '0',
					"$name: $ledger agrees with the items");
	}
	is($node->safe_psql('postgres', q{SELECT count(*) FROM booked WHERE code IS DISTINCT FROM item ->> 'code' OR code NOT LIKE 'c' || sk || ':%' OR code IS NULL
		OR id IS NULL}), '0', "$name: columns agree with the items");
	is($node->safe_psql('postgres', q{SELECT count(*) FROM child c WHERE NOT EXISTS (SELECT FROM booked b WHERE b.pk = c.pk AND b.sk = c.sk)}), '0',
		"$name: what refers to items has them");
	is($node->safe_psql('postgres', q{
		SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off;
		CREATE TEMP TABLE by_rows AS SELECT booked_n(item) AS n, code FROM booked WHERE booked_n(item) < 50;
		SET enable_seqscan = off; SET enable_indexscan = on;
		CREATE TEMP TABLE by_index AS SELECT booked_n(item) AS n, code FROM booked WHERE booked_n(item) < 50;
		SELECT count(*) FROM ((TABLE by_rows EXCEPT ALL TABLE by_index) UNION ALL (TABLE by_index EXCEPT ALL TABLE by_rows)) d}), '0',
			"$name: an index of a part has that part");
}

1;
