# Tables of items as people have them: with triggers, foreign keys, constraints, columns and indexes
# of their own.  What the tests of writes to such tables share.
package Shapes;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(shape_names shape_setup shape_statements shape_checks shape_cascades shape_needs_statements shape_end);

# What all shapes have: a table of items, functions of items, and a trigger function that writes to a table how it was called.
my $base = q{
	SELECT dyn_create_table('app', 'pk S', 'sk N', global_indexes => '{"GSI1": {"partition_key": "g S", "sort_key": "sk N"}, "GSI2": {"partition_key": "h N"}}');
	CREATE TABLE audit (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, what text);
	CREATE FUNCTION note(item dyn_item) RETURNS text IMMUTABLE LANGUAGE sql RETURN item ->> 'note';
	CREATE FUNCTION number(item dyn_item, name text) RETURNS int IMMUTABLE LANGUAGE sql RETURN floor((item ->> name)::numeric)::int;
	CREATE FUNCTION with_attribute(item dyn_item, name text, val text) RETURNS dyn_item IMMUTABLE LANGUAGE sql
		RETURN dyn_apply(item, 'SET #a = :v', names => jsonb_build_object('#a', name), vals => jsonb_build_object(':v', val));
	CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $$
	DECLARE
		what text := concat_ws(' ', TG_NAME, TG_WHEN, TG_LEVEL, TG_OP, pg_trigger_depth());
	BEGIN
		IF TG_LEVEL = 'ROW' THEN
			what := concat_ws(' ', what, CASE WHEN TG_OP <> 'INSERT' THEN OLD::text END, '=>', CASE WHEN TG_OP <> 'DELETE' THEN NEW::text END);
		END IF;
		INSERT INTO audit (what) VALUES (what);
		IF TG_LEVEL = 'ROW' AND TG_WHEN = 'BEFORE' THEN
			RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
		END IF;
		RETURN NULL;
	END $$;
};

# Of each: what is added to the table; statements for it alone; queries for all entries of an index; what
# mends the table at the end, so that dyn_check_table() finds nothing.
my %shapes = (
	plain => {},
	before_attribute => {
		setup => q{
			CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN
				NEW.item := with_attribute(NEW.item, 'seen', concat_ws(' ', NEW.item ->> 'seen', TG_OP));
				RETURN NEW;
			END $$;
			CREATE TRIGGER change BEFORE INSERT OR UPDATE ON app FOR EACH ROW EXECUTE FUNCTION change();
			CREATE TRIGGER before_all BEFORE INSERT OR UPDATE OR DELETE ON app FOR EACH ROW EXECUTE FUNCTION audit();}
	},
	before_index_key => {
		setup => q{
			CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN
				NEW.item := CASE note(NEW.item)
					WHEN 'skip' THEN dyn_apply(NEW.item, 'SET g = :n', vals => '{":n": {"N": "1"}}')
					WHEN 'keep' THEN dyn_apply(NEW.item, 'REMOVE g, h')
					WHEN 'raise' THEN with_attribute(NEW.item, 'g', repeat('x', 3000))
					WHEN 'pad' THEN with_attribute(NEW.item, 'body', repeat('x', 410000))
					ELSE with_attribute(NEW.item, 'g', 'by ' || TG_OP) END;
				-- the columns are what the item says, whatever is written into them
				NEW.g := 'nothing';
				NEW.h := 99;
				RETURN NEW;
			END $$;
			CREATE TRIGGER change BEFORE INSERT OR UPDATE ON app FOR EACH ROW EXECUTE FUNCTION change();},
		statements => [ q{UPDATE app SET h = 5 WHERE pk = 'p1' AND sk = 1} ]
	},
	before_null => {
		setup => q{
			CREATE FUNCTION suppress() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN
				IF TG_OP = 'DELETE' THEN
					RETURN CASE WHEN note(OLD.item) = 'keep' THEN NULL ELSE OLD END;
				END IF;
				RETURN CASE WHEN note(NEW.item) = 'skip' AND TG_OP = 'INSERT' OR note(NEW.item) = 'raise' AND TG_OP = 'UPDATE' THEN NULL ELSE NEW END;
			END $$;
			CREATE TRIGGER suppress BEFORE INSERT OR UPDATE OR DELETE ON app FOR EACH ROW EXECUTE FUNCTION suppress();
			CREATE TRIGGER told AFTER INSERT OR UPDATE OR DELETE ON app FOR EACH ROW EXECUTE FUNCTION audit();}
	},
	before_primary_key => {
		setup => q{
			CREATE FUNCTION move() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN
				IF note(NEW.item) = 'skip' AND TG_OP = 'INSERT' THEN
					NEW.item := with_attribute(NEW.item, 'pk', 'elsewhere');
				ELSIF note(NEW.item) = 'raise' AND TG_OP = 'UPDATE' THEN
					NEW.item := dyn_apply(NEW.item, 'SET sk = sk + :n', vals => '{":n": {"N": "1"}}');
				ELSIF note(NEW.item) = 'keep' THEN
					NEW.pk := 'only the column';
				END IF;
				RETURN NEW;
			END $$;
			CREATE TRIGGER move BEFORE INSERT OR UPDATE ON app FOR EACH ROW EXECUTE FUNCTION move();}
	},
	# A trigger that writes: elsewhere, and to the row that is being written.
	before_writes => {
		setup => q{
			SELECT dyn_create_table('counts', 'g S');
			CREATE FUNCTION count_it() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN
				PERFORM dyn_update('counts', jsonb_build_object('g', coalesce(CASE WHEN TG_OP = 'DELETE' THEN OLD.g ELSE NEW.item ->> 'g' END, 'none')), 'ADD n :one',
					vals => '{":one": {"N": "1"}}');
				IF TG_OP = 'UPDATE' AND pg_trigger_depth() = 1 THEN
					IF note(NEW.item) = 'raise' THEN
						UPDATE app SET item = with_attribute(item, 'x', 'y') WHERE pk = OLD.pk AND sk = OLD.sk;
					ELSIF note(NEW.item) = 'skip' THEN
						PERFORM dyn_delete('app', jsonb_build_object('pk', OLD.pk, 'sk', OLD.sk));
					END IF;
				END IF;
				INSERT INTO audit (what) SELECT concat_ws(' ', TG_OP, count(*), 'rows') FROM app;
				RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
			END $$;
			CREATE TRIGGER count_it BEFORE INSERT OR UPDATE OR DELETE ON app FOR EACH ROW EXECUTE FUNCTION count_it();},
		statements => [ q{SELECT item FROM counts ORDER BY g} ]
	},
	# By its name it fires after the trigger that derives the columns.
	late => {
		setup => q{
			CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN
				NEW.item := with_attribute(NEW.item, CASE WHEN note(NEW.item) = 'skip' THEN 'g' ELSE 'late' END, TG_OP);
				RETURN NEW;
			END $$;
			CREATE TRIGGER "~late" BEFORE INSERT OR UPDATE ON app FOR EACH ROW EXECUTE FUNCTION change();},
		end => 'ALTER TRIGGER "~late" ON app RENAME TO early',
		statements_only => 1
	},
	after_rows => {
		setup => q{
			CREATE TRIGGER after_all AFTER INSERT OR UPDATE OR DELETE ON app FOR EACH ROW EXECUTE FUNCTION audit();
			CREATE TRIGGER after_new AFTER INSERT OR UPDATE ON app FOR EACH ROW WHEN (NEW.sk > 2) EXECUTE FUNCTION audit();
			CREATE TRIGGER after_g AFTER UPDATE ON app FOR EACH ROW WHEN (OLD.g IS DISTINCT FROM NEW.g) EXECUTE FUNCTION audit();
			CREATE TRIGGER of_item AFTER UPDATE OF item ON app FOR EACH ROW EXECUTE FUNCTION audit();
			CREATE TRIGGER of_g AFTER UPDATE OF g ON app FOR EACH ROW EXECUTE FUNCTION audit();
			CREATE TRIGGER before_of_item BEFORE UPDATE OF item ON app FOR EACH ROW WHEN (OLD.item <> NEW.item) EXECUTE FUNCTION audit();}
	},
	after_statements => {
		setup => q{
			CREATE FUNCTION told() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN
				IF TG_OP <> 'INSERT' THEN
					INSERT INTO audit (what) SELECT concat_ws(' ', TG_NAME, count(*), string_agg(t::text, ';' ORDER BY t::text)) FROM old_rows t;
				END IF;
				IF TG_OP <> 'DELETE' THEN
					INSERT INTO audit (what) SELECT concat_ws(' ', TG_NAME, count(*), string_agg(t::text, ';' ORDER BY t::text)) FROM new_rows t;
				END IF;
				RETURN NULL;
			END $$;
			CREATE TRIGGER inserted AFTER INSERT ON app REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION told();
			CREATE TRIGGER updated AFTER UPDATE ON app REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION told();
			CREATE TRIGGER deleted AFTER DELETE ON app REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION told();
			CREATE TRIGGER each_updated AFTER UPDATE ON app REFERENCING NEW TABLE AS new_rows OLD TABLE AS old_rows FOR EACH ROW EXECUTE FUNCTION told();
			CREATE TRIGGER before_any BEFORE INSERT OR UPDATE OR DELETE ON app FOR EACH STATEMENT EXECUTE FUNCTION audit();
			CREATE TRIGGER after_any AFTER INSERT OR UPDATE OR DELETE ON app FOR EACH STATEMENT EXECUTE FUNCTION audit();
			CREATE TRIGGER after_of AFTER UPDATE OF item ON app FOR EACH STATEMENT EXECUTE FUNCTION audit();
			CREATE TRIGGER after_of_g AFTER UPDATE OF g ON app FOR EACH STATEMENT EXECUTE FUNCTION audit();}
	},
	# Triggers that write to the table that they are of.
	after_writes => {
		setup => q{
			CREATE FUNCTION go_on() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN
				INSERT INTO audit (what) SELECT concat_ws(' ', TG_OP, pg_trigger_depth(), NEW.item, count(*), sum(number(item, 'n'))) FROM app;
				IF number(NEW.item, 'n') % 2 = 1 THEN
					PERFORM dyn_update('app', jsonb_build_object('pk', NEW.pk, 'sk', NEW.sk), 'ADD n :one', vals => '{":one": {"N": "1"}}');
				ELSIF note(NEW.item) = 'skip' THEN
					PERFORM dyn_delete('app', jsonb_build_object('pk', NEW.pk, 'sk', NEW.sk));
				ELSIF note(NEW.item) = 'keep' AND NEW.sk < 4 THEN
					PERFORM dyn_put('app', dyn_apply(NEW.item, 'SET sk = sk + :one', vals => '{":one": {"N": "1"}}'));
				END IF;
				RETURN NULL;
			END $$;
			CREATE TRIGGER go_on AFTER INSERT OR UPDATE ON app FOR EACH ROW EXECUTE FUNCTION go_on();}
	},
	deferred => {
		setup => q{
			CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN
				INSERT INTO audit (what) SELECT concat_ws(' ', TG_NAME, TG_OP, NEW.item, count(*)) FROM app;
				IF EXISTS (SELECT FROM app WHERE pk = NEW.pk AND sk = NEW.sk AND note(item) = TG_ARGV[0]) THEN
					RAISE EXCEPTION '% refuses %', TG_NAME, NEW.item USING ERRCODE = 'check_violation', DETAIL = TG_OP;
				END IF;
				RETURN NULL;
			END $$;
			CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT OR UPDATE ON app DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse('raise');
			CREATE CONSTRAINT TRIGGER at_once AFTER INSERT OR UPDATE ON app DEFERRABLE INITIALLY IMMEDIATE FOR EACH ROW EXECUTE FUNCTION refuse('skip');
			CREATE CONSTRAINT TRIGGER of_delete AFTER DELETE ON app DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD.sk = 3) EXECUTE FUNCTION audit();}
	},
	refers => {
		setup => q{
			CREATE TABLE parents (id text PRIMARY KEY);
			CREATE TABLE groups (id text PRIMARY KEY);
			INSERT INTO parents VALUES ('a'), ('b');
			INSERT INTO groups VALUES ('g0'), ('g1'), ('g2');
			ALTER TABLE app ADD COLUMN parent text GENERATED ALWAYS AS (item ->> 'parent') STORED REFERENCES parents ON DELETE CASCADE,
				ADD FOREIGN KEY (g) REFERENCES groups DEFERRABLE INITIALLY DEFERRED;},
		cascade => 1,
		statements => [ q{DELETE FROM parents WHERE id = 'b'}, q{INSERT INTO parents VALUES ('b') ON CONFLICT DO NOTHING}, q{DELETE FROM groups WHERE id = 'g1'},
			q{INSERT INTO groups VALUES ('g1') ON CONFLICT DO NOTHING}, q{UPDATE groups SET id = 'g3' WHERE id = 'g2'} ]
	},
	referred_to => {
		setup => q{
			CREATE TABLE cascading (id int GENERATED ALWAYS AS IDENTITY, pk text COLLATE "C", sk numeric, FOREIGN KEY (pk, sk) REFERENCES app ON DELETE CASCADE);
			CREATE TABLE nulled (id int GENERATED ALWAYS AS IDENTITY, pk text COLLATE "C", sk numeric, FOREIGN KEY (pk, sk) REFERENCES app ON DELETE SET NULL);
			CREATE TABLE holding (pk text COLLATE "C", sk numeric, FOREIGN KEY (pk, sk) REFERENCES app DEFERRABLE INITIALLY DEFERRED);
			CREATE TABLE restricting (pk text COLLATE "C", sk numeric, FOREIGN KEY (pk, sk) REFERENCES app ON DELETE RESTRICT);
			CREATE TRIGGER cascaded AFTER DELETE ON cascading FOR EACH ROW EXECUTE FUNCTION audit();
			CREATE TRIGGER deleted AFTER DELETE ON app FOR EACH ROW EXECUTE FUNCTION audit();
			CREATE FUNCTION refer(relation text, pk text, sk numeric) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
				EXECUTE format('INSERT INTO %I (pk, sk) VALUES ($1, $2)', relation) USING pk, sk; END $$;},
		statements => [ (map { my $t = $_; map { "SELECT refer('$t', 'p$_', " . ($_ % 3) . ")" } 0 .. 1 } qw(cascading cascading nulled holding restricting)),
			'DELETE FROM holding', 'DELETE FROM restricting', 'SELECT * FROM nulled ORDER BY 1', 'SELECT * FROM cascading ORDER BY 1' ]
	},
	generated => {
		setup => q{
			ALTER TABLE app ADD COLUMN label text GENERATED ALWAYS AS (pk || '/' || coalesce(item ->> 'note', 'none')) STORED NOT NULL,
				ADD COLUMN dropped int, ADD COLUMN n int GENERATED ALWAYS AS (number(item, 'n')) STORED,
				ADD COLUMN code text GENERATED ALWAYS AS (item ->> 'code') STORED, ADD CHECK (code <> 'c4');
			ALTER TABLE app DROP COLUMN dropped;
			CREATE INDEX by_label ON app (label);
			CREATE INDEX by_n ON app (n) WHERE code IS NOT NULL;
			CREATE TRIGGER of_label AFTER UPDATE OF label ON app FOR EACH ROW EXECUTE FUNCTION audit();
			CREATE TRIGGER before_of_n BEFORE UPDATE OF n ON app FOR EACH ROW EXECUTE FUNCTION audit();
			CREATE TRIGGER changed AFTER UPDATE ON app FOR EACH ROW WHEN (OLD.label IS DISTINCT FROM NEW.label) EXECUTE FUNCTION audit();},
		checks => [ q{SELECT label FROM app WHERE label > ''}, q{SELECT n, pk, sk FROM app WHERE n > -10 AND code IS NOT NULL} ],
		statements => [ q{UPDATE app SET label = 'x'}, q{INSERT INTO app (item, code) VALUES ('{"pk":{"S":"p0"},"sk":{"N":"9"}}', 'x')} ]
	},
	# The generation expression is of a row that a trigger has changed; the columns of the table are in another order.
	columns => {
		setup => q{
			CREATE DOMAIN small AS int CHECK (VALUE < 1000) NOT NULL;
			CREATE SEQUENCE numbers;
			ALTER TABLE app ADD COLUMN dropped text DEFAULT 'dropped', ADD COLUMN id bigint GENERATED ALWAYS AS IDENTITY,
				ADD COLUMN made text NOT NULL DEFAULT 'default',
				ADD COLUMN number int DEFAULT nextval('numbers'), ADD COLUMN bounded small DEFAULT 1, ADD COLUMN maker text DEFAULT current_user,
				ADD COLUMN given int GENERATED BY DEFAULT AS IDENTITY, ADD COLUMN seen text, ADD UNIQUE (id);
			ALTER TABLE app DROP COLUMN dropped;
			CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN
				NEW.seen := concat_ws(' ', NEW.seen, TG_OP);
				IF note(NEW.item) = 'skip' THEN
					NEW.bounded := 1000;
				ELSIF note(NEW.item) = 'raise' THEN
					NEW.made := NULL;
				END IF;
				RETURN NEW;
			END $$;
			CREATE TRIGGER fill BEFORE INSERT OR UPDATE ON app FOR EACH ROW EXECUTE FUNCTION fill();},
		checks => [q{SELECT id FROM app WHERE id > 0}],
		statements => [ q{UPDATE app SET made = 'updated' WHERE pk = 'p1' AND sk = 2},
			q{INSERT INTO app (item, id) OVERRIDING SYSTEM VALUE VALUES ('{"pk":{"S":"p0"},"sk":{"N":"3"}}', 3)} ]
	},
	not_null => {
		setup => q{
			ALTER TABLE app ADD COLUMN needed int NOT NULL;
			CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN
				NEW.needed := number(NEW.item, 'h');
				RETURN NEW;
			END $$;
			CREATE TRIGGER fill BEFORE INSERT OR UPDATE ON app FOR EACH ROW EXECUTE FUNCTION fill();
			ALTER TABLE app ALTER g SET NOT NULL;},
		end => 'ALTER TABLE app ALTER g DROP NOT NULL',
		statements_only => 1
	},
	checks => {
		setup => q{
			ALTER TABLE app ADD CONSTRAINT few CHECK (number(item, 'n') < 8), ADD CONSTRAINT known CHECK (g IN ('g0', 'g1', 'g2')),
				ADD CHECK (note(item) IS DISTINCT FROM 'skip') NOT VALID,
				ADD CONSTRAINT divided CHECK (1 / number(item, 'n') >= 0 OR pk = 'p0');}
	},
	narrow => {
		setup => q{
			ALTER TABLE app ALTER h TYPE numeric(4, 1);
			CREATE TRIGGER told BEFORE INSERT OR UPDATE ON app FOR EACH ROW EXECUTE FUNCTION audit();},
		end => 'ALTER TABLE app ALTER h TYPE numeric',
		statements_only => 1
	},
	exclusion => {
		setup => q{
			ALTER TABLE app ADD CONSTRAINT apart EXCLUDE USING gist (int4range(number(item, 'n'), number(item, 'n') + 2) WITH &&)
				WHERE (number(item, 'n') < 20 AND pk < 'p2'),
				ADD CONSTRAINT one_code EXCLUDE USING hash ((item ->> 'code') WITH =),
				ADD CONSTRAINT later EXCLUDE USING btree (note(item) WITH =) WHERE (sk = 1) DEFERRABLE INITIALLY DEFERRED;}
	},
	uniques => {
		setup => q{
			CREATE UNIQUE INDEX one_code ON app ((item ->> 'code'));
			CREATE UNIQUE INDEX one_note ON app (note(item)) NULLS NOT DISTINCT WHERE sk = 1;
			ALTER TABLE app ADD COLUMN n int GENERATED ALWAYS AS (number(item, 'n')) STORED, ADD CONSTRAINT one_n UNIQUE (pk, n) DEFERRABLE INITIALLY DEFERRED;
			CREATE UNIQUE INDEX one_g ON app (pk, g, sk) INCLUDE (h);},
		checks => [ q{SELECT item ->> 'code' FROM app WHERE item ->> 'code' > ''}, q{SELECT pk, n FROM app WHERE pk > ''} ]
	},
	indexes => {
		setup => q{
			CREATE INDEX by_n ON app (number(item, 'n'), sk);
			CREATE INDEX low ON app (pk) INCLUDE (sk, g) WHERE number(item, 'n') < 5;
			CREATE INDEX by_hash ON app USING hash ((item ->> 'code'));
			CREATE INDEX by_words ON app USING gin (string_to_array(note(item), ' '));
			CREATE INDEX ranges ON app USING brin (sk);
			CREATE INDEX ratios ON app ((10 / nullif(number(item, 'n') - 9, 0)));
			CREATE INDEX fails ON app ((10 / (number(item, 'n') - 11)));
			CREATE INDEX by_h ON app (h) WHERE h IS NOT NULL AND g = 'g1';},
		checks => [
			q{SELECT number(item, 'n'), sk FROM app WHERE number(item, 'n') > -10}, q{SELECT pk, sk, g FROM app WHERE number(item, 'n') < 5 AND pk > ''},
			q{SELECT pk, sk FROM app WHERE item ->> 'code' = 'c1'}, q{SELECT pk, sk FROM app WHERE string_to_array(note(item), ' ') && '{keep}'},
			q{SELECT pk, sk FROM app WHERE sk = 2}, q{SELECT h FROM app WHERE h IS NOT NULL AND g = 'g1'} ]
	},
	enforced => {
		setup => q{
			SELECT dyn_create_entity('app', 'E', '{"pk": "p<P>", "sk": "<S>", "g": "<G>"}',
				'{"P": "S", "S": "N integer", "G": {"type": "S", "stored": "gg"}, "n": "N", "note": "S", "code": {"type": "S", "default": "ksuid"}}');
			SELECT dyn_create_entity_view('app', 'E', 'entity');
			SELECT dyn_enforce_entities('app');
			CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN
				NEW.item := CASE note(NEW.item) WHEN 'skip' THEN with_attribute(NEW.item, 'Type', 'other') WHEN 'keep' THEN with_attribute(NEW.item, 'seen', 'yes')
					ELSE NEW.item END;
				RETURN NEW;
			END $$;
			CREATE TRIGGER change BEFORE INSERT OR UPDATE ON app FOR EACH ROW EXECUTE FUNCTION change();
			CREATE TRIGGER told AFTER INSERT OR UPDATE OR DELETE ON app FOR EACH ROW EXECUTE FUNCTION audit();},
		entity => 1
	},
	# Views, without enforcement
	viewed => {
		setup => q{
			SELECT dyn_create_entity('app', 'E', '{"pk": "p<P>", "sk": "<S>", "g": "<G>"}',
				'{"P": "S", "S": "N integer", "G": {"type": "S", "stored": "gg"}, "n": "N", "note": "S", "code": "S"}');
			SELECT dyn_create_entity_view('app', 'E', 'entity');
			CREATE TRIGGER told AFTER INSERT OR UPDATE OR DELETE ON app FOR EACH ROW EXECUTE FUNCTION audit();
			CREATE UNIQUE INDEX one_code ON app ((item ->> 'code'));
			ALTER TABLE app ADD COLUMN n int GENERATED ALWAYS AS (number(item, 'n')) STORED CHECK (n < 20);},
		entity => 1
	},
	expiring => {
		setup => q{
			CALL dyn_enable_ttl('app', 'n');
			CREATE TRIGGER told BEFORE INSERT OR UPDATE OR DELETE ON app FOR EACH ROW EXECUTE FUNCTION audit();
			CREATE INDEX by_ttl ON app ("~ttl", (item ->> 'code'));},
		checks => [q{SELECT "~ttl" FROM app WHERE "~ttl" > -10}]
	},
	# What fires when, and what is switched off
	switched => {
		setup => q{
			CREATE TRIGGER always AFTER INSERT OR UPDATE OR DELETE ON app FOR EACH ROW EXECUTE FUNCTION audit();
			CREATE TRIGGER replica BEFORE INSERT OR UPDATE OR DELETE ON app FOR EACH ROW EXECUTE FUNCTION audit();
			CREATE TRIGGER off AFTER INSERT OR UPDATE OR DELETE ON app FOR EACH ROW EXECUTE FUNCTION audit();
			CREATE TRIGGER origin BEFORE INSERT OR UPDATE OR DELETE ON app FOR EACH STATEMENT EXECUTE FUNCTION audit();
			ALTER TABLE app ENABLE ALWAYS TRIGGER always, ENABLE REPLICA TRIGGER replica, DISABLE TRIGGER off;},
		statements => [ 'SET session_replication_role = replica', 'RESET session_replication_role' ]
	},
	# The table refers to itself
	self => {
		setup => q{
			ALTER TABLE app ADD COLUMN label text GENERATED ALWAYS AS (pk || sk) STORED UNIQUE,
				ADD COLUMN boss text GENERATED ALWAYS AS ('p' || (item ->> 'n')) STORED;
			ALTER TABLE app ADD CONSTRAINT boss FOREIGN KEY (boss) REFERENCES app (label) ON DELETE CASCADE DEFERRABLE;
			CREATE TRIGGER told AFTER INSERT OR UPDATE ON app FOR EACH ROW EXECUTE FUNCTION audit();},
		cascade => 1,
		statements => [ q{SET CONSTRAINTS ALL DEFERRED},
			map { qq{SELECT dyn_put('app', jsonb_build_object('pk', 'p$_', 'sk', $_ % 3, 'n', $_ % 4 * 10 + $_ % 3, 'note', 'boss'))} } 0 .. 3 ]
	},
	# Triggers change the setting while a call goes on
	toggled => {
		setup => q{
			CREATE FUNCTION toggle() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN
				PERFORM set_config('dynamo_table.direct_store', CASE WHEN current_setting('dynamo_table.direct_store') = 'on' THEN 'off' ELSE 'on' END, false);
				RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
			END $$;
			CREATE TRIGGER toggle BEFORE INSERT OR UPDATE OR DELETE ON app FOR EACH ROW EXECUTE FUNCTION toggle();
			CREATE TRIGGER toggle_after AFTER INSERT ON app FOR EACH ROW EXECUTE FUNCTION toggle();
			CREATE TRIGGER told AFTER INSERT OR UPDATE OR DELETE ON app FOR EACH ROW EXECUTE FUNCTION audit();
			CREATE UNIQUE INDEX one_code ON app ((item ->> 'code'));}
	},
	# Triggers catch errors of calls that they make
	catching => {
		setup => q{
			CREATE FUNCTION attempt() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN
				BEGIN
					PERFORM dyn_put('app', jsonb_build_object('pk', 'inner', 'sk', NEW.sk, 'code', NEW.item ->> 'code', 'n', NEW.item ->> 'n'), 'attribute_not_exists(pk)');
					IF note(NEW.item) = 'raise' AND NEW.pk <> 'inner' THEN
						RAISE 'taken back';
					END IF;
				EXCEPTION WHEN OTHERS THEN
					INSERT INTO audit (what) VALUES (concat_ws(' ', TG_WHEN, TG_OP, NEW.item, SQLSTATE, SQLERRM));
				END;
				RETURN NEW;
			END $$;
			CREATE TRIGGER attempt BEFORE INSERT OR UPDATE ON app FOR EACH ROW WHEN (NEW.item ->> 'pk' <> 'inner') EXECUTE FUNCTION attempt();
			CREATE TRIGGER attempt_after AFTER INSERT OR UPDATE ON app FOR EACH ROW WHEN (NEW.pk <> 'inner' AND NEW.sk > 1) EXECUTE FUNCTION attempt();
			CREATE UNIQUE INDEX one_code ON app ((item ->> 'code')) WHERE pk = 'inner' OR sk < 2;},
		statements => [ q{DELETE FROM app WHERE pk = 'inner' AND sk = 1}, q{SELECT dyn_delete('app', '{"pk":{"S":"inner"},"sk":{"N":"0"}}')} ]
	},
	# Statements about the table while it is written
	altering => {
		setup => q{
			CREATE FUNCTION alter_it() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN
				CASE note(NEW.item)
					WHEN 'skip' THEN CREATE INDEX another ON app (h);
					WHEN 'raise' THEN ALTER TABLE app ADD COLUMN another int;
					WHEN 'keep' THEN TRUNCATE app;
					WHEN 'other' THEN ALTER TABLE app DISABLE TRIGGER told;
					WHEN 'pad' THEN ANALYZE app; GRANT SELECT ON app TO PUBLIC;
					ELSE NULL;
				END CASE;
				RETURN NEW;
			END $$;
			CREATE TRIGGER alter_it BEFORE INSERT OR UPDATE ON app FOR EACH ROW WHEN (NEW.item ->> 'pk' < 'p2') EXECUTE FUNCTION alter_it();
			CREATE TRIGGER alter_after AFTER INSERT OR UPDATE ON app FOR EACH ROW WHEN (NEW.item ->> 'pk' >= 'p2') EXECUTE FUNCTION alter_it();
			CREATE TRIGGER told AFTER INSERT OR UPDATE OR DELETE ON app FOR EACH ROW EXECUTE FUNCTION audit();},
		statements => [ q{ALTER TABLE app ENABLE TRIGGER told}, q{DROP INDEX IF EXISTS another}, q{ALTER TABLE app DROP COLUMN IF EXISTS another} ]
	},
	identified => {
		setup => q{
			ALTER TABLE app REPLICA IDENTITY FULL, ADD COLUMN label text GENERATED ALWAYS AS (pk || (item ->> 'code')) STORED;
			-- from 18 on a replica identity must not have generated columns that are not published
			SELECT 'CREATE PUBLICATION identified FOR TABLE app' ||
				CASE WHEN current_setting('server_version_num')::int >= 180000 THEN ' WITH (publish_generated_columns = stored)' ELSE '' END \gexec
			CREATE INDEX by_label ON app (label);
			CREATE TRIGGER told AFTER INSERT OR UPDATE OR DELETE ON app FOR EACH ROW EXECUTE FUNCTION audit();},
		statements => [ q{ALTER TABLE app REPLICA IDENTITY NOTHING}, q{ALTER TABLE app REPLICA IDENTITY FULL}, q{ALTER TABLE app REPLICA IDENTITY DEFAULT} ]
	},
	# By a role that has the privileges, and nothing else
	everything => {
		setup => q{
			CREATE TABLE parents (id text PRIMARY KEY);
			INSERT INTO parents VALUES ('a'), ('b');
			ALTER TABLE app ADD COLUMN id bigint GENERATED ALWAYS AS IDENTITY, ADD COLUMN parent text GENERATED ALWAYS AS (item ->> 'parent') STORED REFERENCES parents,
				ADD COLUMN made text NOT NULL DEFAULT 'x', ADD CONSTRAINT few CHECK (number(item, 'n') < 12),
				ADD CONSTRAINT later EXCLUDE USING btree (note(item) WITH =) WHERE (sk = 1) DEFERRABLE INITIALLY DEFERRED;
			CREATE UNIQUE INDEX one_code ON app ((item ->> 'code'), parent);
			CREATE INDEX low ON app (id) INCLUDE (made) WHERE number(item, 'n') < 5;
			CREATE TABLE child (pk text COLLATE "C", sk numeric, FOREIGN KEY (pk, sk) REFERENCES app ON DELETE CASCADE);
			CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN
				IF note(NEW.item) = 'skip' THEN
					RETURN NULL;
				END IF;
				NEW.item := dyn_apply(NEW.item, 'SET g = :g, seen = :o', vals => jsonb_build_object(':g', 'g' || number(NEW.item, 'n') % 2, ':o', TG_OP));
				RETURN NEW;
			END $$;
			CREATE TRIGGER change BEFORE INSERT OR UPDATE ON app FOR EACH ROW EXECUTE FUNCTION change();
			CREATE TRIGGER told AFTER INSERT OR UPDATE OR DELETE ON app FOR EACH ROW EXECUTE FUNCTION audit();
			CREATE TRIGGER statement AFTER INSERT OR UPDATE OR DELETE ON app FOR EACH STATEMENT EXECUTE FUNCTION audit();
			CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT OR UPDATE ON app DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION audit();
			GRANT USAGE ON SCHEMA everything TO writer;
			GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA everything TO writer;},
		role => 'writer',
		checks => [ q{SELECT item ->> 'code' FROM app WHERE item ->> 'code' > ''}, q{SELECT id, made FROM app WHERE number(item, 'n') < 5 AND id > 0} ],
		statements => [ q{DELETE FROM parents WHERE id = 'b'}, q{INSERT INTO parents VALUES ('b') ON CONFLICT DO NOTHING},
			q{INSERT INTO child SELECT pk, sk FROM app WHERE sk = 2 ORDER BY pk LIMIT 1}, q{SELECT count(*) FROM child} ]
	});

sub shape_names
{
	return sort keys %shapes;
}

# The schema of a shape's name, with its table app.
sub shape_setup
{
	my ($name) = @_;
	my $shape = $shapes{$name};
	return "CREATE SCHEMA $name; SET search_path = $name, public; $base" . ($shape->{setup} // '') . ($shape->{role} ? "\nSET ROLE $shape->{role};" : '');
}

sub shape_checks
{
	my ($name) = @_;
	return @{ $shapes{$name}{checks} // [] };
}

# Whether statements write several rows of the table, which is in the order in which they lie.
sub shape_cascades
{
	my ($name) = @_;
	return $shapes{$name}{cascade};
}

# Whether the direct store does not write to the table.
sub shape_needs_statements
{
	my ($name) = @_;
	return $shapes{$name}{statements_only};
}

sub shape_end
{
	my ($name) = @_;
	return $shapes{$name}{end} // '';
}

#
# Statements
#

my $state;

# The same numbers wherever it runs.
sub draw
{
	my ($n) = @_;
	$state = ($state * 1103515245 + 12345) % 2147483648;
	return int($state / 65536) % $n;
}

sub one_of
{
	return $_[ draw(scalar @_) ];
}

sub json_of
{
	my ($attributes) = @_;
	return '{' . join(',', map { "\"$_\":{\"" . $attributes->{$_}[0] . '":"' . $attributes->{$_}[1] . '"}' } sort keys %$attributes) . '}';
}

sub key
{
	return { pk => [ 'S', 'p' . draw(4) ], sk => [ 'N', draw(5) ] };
}

# As an entity makes it, mostly
sub item
{
	my ($entity, $key) = @_;
	my $item = $key // key();
	$item->{g} = [ 'S', 'g' . draw(4) ] if draw(4);
	$item->{h} = [ 'N', draw(6) ] if draw(3);
	$item->{n} = [ 'N', draw(12) ] if draw(8);
	$item->{code} = [ 'S', 'c' . draw(20) ] if draw(2);
	$item->{note} = [ 'S', one_of(qw(skip keep raise pad), 'keep it', 'a b') ] if !draw(3);
	$item->{parent} = [ 'S', one_of(qw(a a b b c)) ] if draw(2);
	$item->{g} = [ 'N', 5 ] if !draw(40);
	$item->{body} = [ 'S', 'x' x (draw(2) ? 300 : 3000) ] if !draw(6);
	# one that TOAST has, which cannot compress it
	$item->{body} = [ 'S', join '', map { sprintf '%04x', draw(32768) } 1 .. 1500 ] if !draw(30);
	if ($entity)
	{
		delete $item->{code} if !draw(3);
		$item->{gg} = [ 'S', $item->{g}[1] ] if $item->{g};
		($item->{P}, $item->{S}, $item->{Type}) = ([ 'S', substr($item->{pk}[1], 1) ], [ 'N', $item->{sk}[1] ], [ 'S', 'E' ]) if draw(10);
		$item->{code} //= [ 'S', 'd' . draw(1000) ];
	}
	return $item;
}

sub distinct_keys
{
	my ($n) = @_;
	my %keys;
	while (keys %keys < $n)
	{
		my $key = key();
		$keys{ json_of($key) } = $key;
	}
	return map { $keys{$_} } sort keys %keys;
}

sub condition
{
	return '' if draw(4);
	return one_of("attribute_not_exists(pk)", "attribute_exists(pk)", "attribute_exists(note)", "n < sk", "attribute_not_exists(code) OR sk > n");
}

# An update's text and its values.
sub update
{
	return @{ one_of(
			[ 'ADD n :n', { ':n' => [ 'N', 1 + draw(2) ] } ], [ 'ADD n :n', { ':n' => [ 'N', 1 ] } ], [ 'SET n = :n', { ':n' => [ 'N', draw(12) ] } ],
			[ 'SET n = n + :n', { ':n' => [ 'N', 1 ] } ], [ 'SET g = :g', { ':g' => [ 'S', 'g' . draw(4) ] } ],
			[ 'SET g = :g, gg = :g', { ':g' => [ 'S', 'g' . draw(4) ] } ],
			[ 'REMOVE g', {} ], [ 'SET h = n', {} ], [ 'SET code = :c', { ':c' => [ 'S', 'c' . draw(20) ] } ], [ 'REMOVE code, note', {} ],
			[ 'SET note = :s', { ':s' => [ 'S', one_of(qw(skip keep raise pad other)) ] } ], [ 'SET parent = :p', { ':p' => [ 'S', one_of(qw(a b c)) ] } ],
			[ 'SET body = :p', { ':p' => [ 'S', 'y' x 2500 ] } ], [ 'REMOVE nothing', {} ], [ 'SET h = :h', { ':h' => [ 'N', '12345.5' ] } ]) };
}

sub put_call
{
	my ($entity) = @_;
	my $condition = condition();
	return "SELECT dyn_put('app', '" . json_of(item($entity)) . "'" . ($condition && ", condition => '$condition'")
	  . one_of('', '', ", return_values => 'ALL_OLD'") . ')';
}

sub update_call
{
	my ($text, $vals) = update();
	my $condition = condition();
	return "SELECT dyn_update('app', '" . json_of(key()) . "', '$text'" . ($condition && ", condition => '$condition'")
	  . (%$vals ? ", vals => '" . json_of($vals) . "'" : '')
	  . one_of('', map { ", return_values => '$_'" } qw(ALL_OLD ALL_NEW UPDATED_OLD UPDATED_NEW)) . ')';
}

sub delete_call
{
	my $condition = condition();
	return "SELECT dyn_delete('app', '" . json_of(key()) . "'" . ($condition && ", condition => '$condition'") . one_of('', ", return_values => 'ALL_OLD'") . ')';
}

sub batch_call
{
	my ($entity) = @_;
	my @keys = distinct_keys(2 + draw(6));
	my @deletes = map { json_of($_) } splice(@keys, 0, draw(scalar @keys));
	my @puts = map { json_of(item($entity, $_)) } @keys;
	return "SELECT dyn_batch_write('app', '[" . join(',', @puts) . "]', '[" . join(',', @deletes) . "]')";
}

sub transact_call
{
	my ($entity) = @_;
	my @actions;
	for my $key (distinct_keys(1 + draw(5)))
	{
		my $kind = one_of(qw(Put Put Update Update Delete ConditionCheck));
		my $condition = condition();
		$condition ||= 'attribute_not_exists(zzz)' if $kind eq 'ConditionCheck';
		my $more = $condition && ", \"ConditionExpression\": \"$condition\"";
		if ($kind eq 'Update')
		{
			my ($text, $vals) = update();
			$more .= ", \"UpdateExpression\": \"$text\"" . (%$vals ? ', "ExpressionAttributeValues": ' . json_of($vals) : '');
		}
		$more .= ', "ReturnValuesOnConditionCheckFailure": "ALL_OLD"' if $condition && draw(2);
		push @actions, $kind eq 'Put' ? "{\"Put\": {\"TableName\": \"app\", \"Item\": " . json_of(item($entity, $key)) . "$more}}"
		  : "{\"$kind\": {\"TableName\": \"app\", \"Key\": " . json_of($key) . "$more}}";
	}
	return "SELECT dyn_transact('[" . join(', ', @actions) . "]'" . one_of('', '', ", 'token " . draw(3) . "'") . ')';
}

sub import_call
{
	my ($entity) = @_;
	my @lines = map { json_of(item($entity)) } 1 .. 1 + draw(6);
	return "SELECT * FROM dyn_import_lines('app', e'" . join('\n', @lines) . "', on_conflict => '" . one_of(qw(replace keep)) . "', on_error => '"
	  . one_of(qw(stop skip)) . "')";
}

sub backfill_call
{
	my ($text, $vals) = update();
	return "CALL dyn_backfill('app', '$text', 'sk = :sk', vals => '" . json_of({ %$vals, ':sk' => [ 'N', draw(5) ] }) . "', batch_size => " . one_of(1, 500) . ')';
}

sub plain_statement
{
	my ($entity) = @_;
	my $item = json_of(item($entity));
	# one row, since several are written in the order in which they lie
	my $where = "WHERE pk = 'p" . draw(4) . "' AND sk = " . draw(5);
	return one_of(
		"INSERT INTO app (item) VALUES ('$item')",
		"INSERT INTO app (item) VALUES ('$item') ON CONFLICT (pk, sk) DO UPDATE SET item = EXCLUDED.item RETURNING item",
		"UPDATE app SET item = dyn_apply(item, 'ADD n :n', vals => '{\":n\":{\"N\":\"1\"}}') $where",
		"UPDATE app SET item = item $where", "DELETE FROM app $where");
}

sub entity_statement
{
	my ($p, $s, $n, $g, $note) = (draw(4), draw(5), draw(12), 'g' . draw(4), one_of(qw(skip keep other)));
	return one_of(
		"INSERT INTO entity (\"P\", \"S\", \"G\", n, note, code) VALUES ('$p', $s, '$g', $n, '$note', 'c$n')",
		"INSERT INTO entity (\"P\", \"S\", n, code) VALUES ('$p', $s, $n, 'c')",
		"UPDATE entity SET n = n + 1 WHERE \"P\" = '$p' AND \"S\" = $s", "UPDATE entity SET \"G\" = '$g' WHERE \"P\" = '$p' AND \"S\" = $s",
		"UPDATE entity SET note = '$note', n = NULL WHERE \"P\" = '$p' AND \"S\" = $s RETURNING \"P\", \"S\", note",
		"DELETE FROM entity WHERE \"P\" = '$p' AND \"S\" = $s",
		"SELECT dyn_put_entity('app', 'E', jsonb '{\"P\": \"$p\", \"S\": $s, \"G\": \"$g\", \"code\": \"c$n\"}')",
		"SELECT dyn_update_entity('app', 'E', jsonb '{\"P\": \"$p\", \"S\": $s}', 'SET n = :n', vals => '{\":n\": {\"N\": \"$n\"}}')",
		"SELECT dyn_delete_entity('app', 'E', jsonb '{\"P\": \"$p\", \"S\": $s}')");
}

# One call
sub statement
{
	my ($name) = @_;
	my $shape = $shapes{$name};
	my $d = draw(100);
	my $own = $shape->{statements};
	return one_of(@$own) if $own && $d >= 92;
	return entity_statement() if $shape->{entity} && $d >= 80;
	return put_call($shape->{entity}) if $d < 30;
	return update_call() if $d < 52;
	return delete_call() if $d < 62;
	return batch_call($shape->{entity}) if $d < 72;
	return transact_call($shape->{entity}) if $d < 84;
	return import_call($shape->{entity}) if $d < 88;
	return plain_statement($shape->{entity});
}

# A list of lists of statements, each a transaction or a few of them.
sub shape_statements
{
	my ($name, $seed, $n) = @_;
	my @all;
	$state = $seed;
	draw(2) for 1 .. 10;
	for (1 .. $n)
	{
		my $d = draw(20);
		if ($d < 15)
		{
			push @all, [ statement($name) ];
		}
		elsif ($d < 16)
		{
			push @all, [ backfill_call() ];
		}
		else
		{
			my @inner = ("SAVEPOINT s", statement($name), one_of('ROLLBACK TO s', 'RELEASE s'), statement($name));
			unshift @inner, one_of('SET CONSTRAINTS ALL IMMEDIATE', 'SET CONSTRAINTS ALL DEFERRED') if !draw(3);
			unshift @inner, statement($name) if draw(2);
			push @inner, 'SET CONSTRAINTS ALL IMMEDIATE' if !draw(4);
			push @all, [ one_of('\\set ON_ERROR_ROLLBACK on', '\\set ON_ERROR_ROLLBACK on', '\\set ON_ERROR_ROLLBACK off'),
				one_of('BEGIN', 'BEGIN', 'BEGIN ISOLATION LEVEL REPEATABLE READ', 'BEGIN ISOLATION LEVEL SERIALIZABLE'), @inner, one_of('COMMIT', 'COMMIT', 'ROLLBACK') ];
		}
	}
	return @all;
}

1;
