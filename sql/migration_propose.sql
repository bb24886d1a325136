-- dyn_propose_migration(): the SQL that makes one table of relational tables
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
CREATE SCHEMA library;
CREATE SCHEMA items;
SET search_path = library, public;

CREATE TABLE branch (branch_id int PRIMARY KEY, name text NOT NULL, opened date);
CREATE TABLE staff (staff_id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL, branch_id int NOT NULL REFERENCES branch,
	manager_id int REFERENCES staff);
ALTER TABLE branch ADD head_id int REFERENCES staff;
CREATE TABLE author (author_id int PRIMARY KEY, name text NOT NULL);
CREATE TABLE book (isbn text PRIMARY KEY, title text NOT NULL, pages smallint, price numeric(8,2), tags text[], extra jsonb);
CREATE TABLE book_author (isbn text REFERENCES book, author_id int REFERENCES author, place int, PRIMARY KEY (isbn, author_id));
CREATE TABLE copy (isbn text NOT NULL REFERENCES book, number int NOT NULL, branch_id int NOT NULL REFERENCES branch, PRIMARY KEY (isbn, number));
CREATE TABLE repair (isbn text, number int, repair_no int, done timestamptz, what text NOT NULL, PRIMARY KEY (isbn, number, repair_no),
	FOREIGN KEY (isbn, number) REFERENCES copy);
CREATE TABLE member (member_id bigint PRIMARY KEY, name text NOT NULL, active boolean NOT NULL DEFAULT true);
CREATE TABLE loan (loan_id bigint PRIMARY KEY, member_id bigint NOT NULL REFERENCES member, isbn text NOT NULL, number int NOT NULL,
	handled_by int REFERENCES staff, returned_to int REFERENCES staff, FOREIGN KEY (isbn, number) REFERENCES copy);
CREATE TABLE fine (fine_id int PRIMARY KEY, loan_id bigint NOT NULL REFERENCES loan, amount numeric(6,2) NOT NULL);

INSERT INTO branch SELECT i, 'Branch ' || i, date '2001-02-03' + i FROM generate_series(1, 3) i;
INSERT INTO staff (name, branch_id, manager_id) SELECT 'Person ' || i, i % 3 + 1, nullif(i / 3, 0) FROM generate_series(1, 12) i;
UPDATE branch SET head_id = branch_id WHERE branch_id < 3;
INSERT INTO author SELECT i, 'Author ' || i FROM generate_series(1, 20) i;
INSERT INTO book SELECT 'B' || i, 'Title ' || i, i * 7, i * 1.25, ARRAY['tag' || i % 3], jsonb_build_object('i', i) FROM generate_series(1, 40) i;
INSERT INTO book_author SELECT 'B' || i, i % 20 + 1, 1 FROM generate_series(1, 40) i;
INSERT INTO book_author SELECT 'B' || i, (i + 7) % 20 + 1, 2 FROM generate_series(1, 40, 3) i;
INSERT INTO copy SELECT 'B' || i, n, n % 3 + 1 FROM generate_series(1, 40) i, generate_series(1, 3) n;
INSERT INTO repair SELECT 'B' || i, 1, n, timestamptz '2024-01-01 10:00+00' + n * interval '1 day', 'spine' FROM generate_series(1, 40, 4) i,
	generate_series(1, 2) n;
INSERT INTO member SELECT i, 'Member ' || i, i % 5 > 0 FROM generate_series(1, 15) i;
INSERT INTO loan SELECT i, i % 15 + 1, 'B' || i % 40 + 1, i % 3 + 1, nullif(i % 13, 0), CASE WHEN i % 2 = 0 THEN i % 12 + 1 END FROM generate_series(1, 100) i;
INSERT INTO fine SELECT i, i * 5, i * 0.5 FROM generate_series(1, 20) i;

-- all of it
CREATE FUNCTION shown(proposed text) RETURNS text LANGUAGE sql AS $$ SELECT regexp_replace(proposed, '[0-9.]+ (kB|times)', 'N \1', 'g') $$;
SELECT shown(p) FROM dyn_propose_migration('items.library', '{library.*}', '{"loan": "member", "fine": "loan"}') p;
-- the text is run as it is
CREATE PROCEDURE run_proposal(target text, sources text[], owners jsonb DEFAULT NULL, options boolean DEFAULT false) LANGUAGE plpgsql AS $$
DECLARE
	statement text;
BEGIN
	FOR statement IN SELECT dyn_propose_migration(target, sources, owners) LOOP
		-- options are lines of a literal that are comments
		EXECUTE CASE WHEN options THEN regexp_replace(statement, E'^--\t', E'\t', 'gn') ELSE statement END;
	END LOOP;
END $$;
CALL run_proposal('items.library', '{library.*}', '{"loan": "member", "fine": "loan"}');
CALL dyn_migrate('library');
SET client_min_messages = notice;
SELECT * FROM dyn_verify_migration('library');
SET client_min_messages = warning;
-- collections: a copy with its repairs, a book with its authors and copies, a loan with its fines
SELECT item->>'SK' FROM dyn_query('items.library', 'PK = :p', vals => '{":p": {"S": "BOOK#B1"}}') item;
SELECT item->>'SK' FROM dyn_query('items.library', 'PK = :p AND begins_with(SK, :c)', vals => '{":p": {"S": "BOOK#B1"}, ":c": {"S": "COPY#0001"}}') item;
SELECT item->>'GSI1SK' FROM dyn_query('items.library', 'GSI1PK = :p', index_name => 'GSI1', vals => '{":p": {"S": "LOAN#5"}}') item;
SELECT count(*), (SELECT count(*) FROM fine) FROM items.fine;
SELECT count(*) = (SELECT count(*) FROM loan WHERE handled_by IS NOT NULL) FROM items.loan WHERE handled_by IS NOT NULL;
-- and with all that is offered: copies of names, and few children as lists
DROP TABLE items.library CASCADE;
CALL run_proposal('items.library', '{library.*}', options => true);
CALL dyn_migrate('library');
SET client_min_messages = notice;
SELECT * FROM dyn_verify_migration('library');
SET client_min_messages = warning;
SELECT isbn, author_id, book_title, author_name FROM items.book_author WHERE isbn = 'B1' ORDER BY author_id;
SELECT loan_id, fine FROM items.loan WHERE loan_id = 5;
-- which may be followed
SELECT dyn_follow_migration('library');
UPDATE book SET title = 'Changed' WHERE isbn = 'B1';
UPDATE fine SET amount = 9 WHERE fine_id = 1;
DELETE FROM book_author WHERE isbn = 'B1' AND author_id = 9;
SET client_min_messages = notice;
SELECT * FROM dyn_verify_migration('library');
SET client_min_messages = warning;
SELECT isbn, author_id, book_title, author_name FROM items.book_author WHERE isbn = 'B1' ORDER BY author_id;
SELECT dyn_follow_migration('library', enabled => false);

-- what it refuses
\set VERBOSITY terse
SELECT dyn_propose_migration(NULL, '{library.*}');
SELECT dyn_propose_migration('x', NULL);
SELECT dyn_propose_migration('x', '{}');
SELECT dyn_propose_migration('x', ARRAY['book', NULL]);
SELECT dyn_propose_migration('x', '{library.nowhere}');
SELECT dyn_propose_migration('x', '{nowhere.*}');
SELECT dyn_propose_migration('x', '{items.*}');
SELECT dyn_propose_migration('x', '{library.book_pkey}');
SELECT dyn_propose_migration('x', '{library.*}', '["loan"]');
SELECT dyn_propose_migration('x', '{library.*}', '{"loan": ["member"]}');
SELECT dyn_propose_migration('x', '{library.*}', '{"loan": "lender"}');
SELECT dyn_propose_migration('x', '{library.*}', '{"loan": "author"}');
-- an owner that a row may lack is for a person to decide
SELECT line FROM dyn_propose_migration('x', '{library.*}', '{"loan": "staff", "branch": "staff"}') p, regexp_split_to_table(p, '\n') line
	WHERE line ~ '^-- [?] [^"]';
UPDATE branch SET head_id = 1;
SELECT line FROM dyn_propose_migration('x', '{library.*}', '{"branch": "staff"}') p, regexp_split_to_table(p, '\n') line
	WHERE line ~ 'head_id (is|may be) NULL';
CREATE ROLE propose_reader;
GRANT USAGE ON SCHEMA library TO propose_reader;
GRANT SELECT ON book, author TO propose_reader;
GRANT INSERT ON book_author TO propose_reader;
SET ROLE propose_reader;
SELECT dyn_propose_migration('x', '{library.*}');
SELECT dyn_propose_migration('x', '{library.book_author}');
SELECT count(*) > 0 FROM dyn_propose_migration('x', '{library.book,library.author}');
RESET ROLE;
\set VERBOSITY default

SET client_min_messages = error;
DROP SCHEMA library, items CASCADE;
DROP ROLE propose_reader;
