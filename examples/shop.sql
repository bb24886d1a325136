-- What the programs in examples/python, node, java and go work on: a role with no more rights than
-- they need, a table of items with its stream, and what follows the stream.  Needs wal_level =
-- logical.  A superuser, or an owner of the database with the REPLICATION attribute, runs it once.
SELECT NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'shop_program') AS no_role \gset
\if :no_role
CREATE ROLE shop_program LOGIN;
\endif

SELECT dyn_create_table('shop', 'pk S', 'sk S');
GRANT SELECT, INSERT, UPDATE, DELETE ON shop TO shop_program;

-- A table of another kind, which takes part in the same transactions.
CREATE TABLE deliveries (product text, pieces bigint, at timestamptz DEFAULT now());
GRANT SELECT, INSERT ON deliveries TO shop_program;

-- What is derived from the stream, and how far.
CREATE TABLE open_orders (customer text PRIMARY KEY, orders bigint NOT NULL);
CREATE TABLE stream_positions (consumer text PRIMARY KEY, "position" text NOT NULL);
INSERT INTO stream_positions VALUES ('open orders', 'TRIM_HORIZON');
GRANT SELECT, INSERT, UPDATE ON open_orders, stream_positions TO shop_program;

CALL dyn_setup_streams();
SELECT dyn_enable_stream('shop', 'NEW_AND_OLD_IMAGES');
