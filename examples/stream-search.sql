\set ECHO all
-- A search index and counters that follow a table by its change stream: every change has its effect
-- exactly once, whenever the one who follows, or the server, is killed.  Needs wal_level = logical.

-- What is followed: products, with a status, a text to be found by, and a time to live.
SELECT dyn_create_table('products', 'id S');
CALL dyn_enable_ttl('products', 'expires');
CALL dyn_setup_streams();
SELECT dyn_enable_stream('products', 'NEW_AND_OLD_IMAGES');

-- What follows: the words of each product, and how many products there are of each status.
CREATE TABLE product_search (id text PRIMARY KEY, name text, words tsvector);
CREATE INDEX ON product_search USING gin (words);
CREATE TABLE product_counts (status text PRIMARY KEY, items bigint NOT NULL, expired bigint NOT NULL DEFAULT 0);

-- How far that has come.  The row is changed by the transaction that has the effects, and who has it
-- locked is the only one at work.
CREATE TABLE stream_positions (consumer text PRIMARY KEY, stream text, "position" text);
INSERT INTO stream_positions VALUES ('products');

-- The beginning, and a new one: a copy of the table, and the position after which changes are not in
-- it.  The lock lets those finish who are writing, and keeps others away until the copy is made.
CREATE FUNCTION products_rebuild() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  latest text := (SELECT label FROM dyn_streams WHERE relation = 'products'::regclass AND status = 'ENABLED');
BEGIN
  PERFORM FROM stream_positions WHERE consumer = 'products' FOR UPDATE;
  LOCK TABLE products IN SHARE MODE;
  UPDATE stream_positions SET stream = latest, "position" = dyn_stream_position() WHERE consumer = 'products';
  DELETE FROM product_search;
  INSERT INTO product_search SELECT item ->> 'id', item ->> 'name', to_tsvector('simple', coalesce(item ->> 'name', '')) FROM products;
  UPDATE product_counts SET items = 0;
  INSERT INTO product_counts SELECT coalesce(item ->> 'status', 'none'), count(*) FROM products GROUP BY 1
    ON CONFLICT (status) DO UPDATE SET items = EXCLUDED.items;
END $$;

-- One record.
CREATE FUNCTION products_count(product dyn_item, change integer, expired integer DEFAULT 0) RETURNS void LANGUAGE sql AS $$
  INSERT INTO product_counts AS c VALUES (coalesce(product ->> 'status', 'none'), change, expired)
    ON CONFLICT (status) DO UPDATE SET items = c.items + EXCLUDED.items, expired = c.expired + EXCLUDED.expired
$$;
CREATE FUNCTION products_apply(event text, keys dyn_item, new_image dyn_item, old_image dyn_item, expired boolean) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF event = 'TRUNCATE' THEN
    DELETE FROM product_search;
    UPDATE product_counts SET items = 0;
    RETURN;
  END IF;
  IF old_image IS NOT NULL THEN
    PERFORM products_count(old_image, -1, expired::integer);
  END IF;
  IF new_image IS NULL THEN
    DELETE FROM product_search WHERE id = keys ->> 'id';
  ELSE
    PERFORM products_count(new_image, 1);
    INSERT INTO product_search VALUES (keys ->> 'id', new_image ->> 'name', to_tsvector('simple', coalesce(new_image ->> 'name', '')))
      ON CONFLICT (id) DO UPDATE SET name = EXCLUDED.name, words = EXCLUDED.words;
  END IF;
END $$;

-- Some records, and the position, in the caller's transaction.  Where the stream is another one, or
-- changes are missing from it (YD011), the copy is made anew.
CREATE FUNCTION products_step(batch integer DEFAULT 500) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  follower stream_positions;
  record record;
  n integer := 0;
BEGIN
  SELECT * INTO STRICT follower FROM stream_positions WHERE consumer = 'products' FOR UPDATE;
  IF follower.stream IS DISTINCT FROM (SELECT label FROM dyn_streams WHERE relation = 'products'::regclass AND status = 'ENABLED') THEN
    PERFORM products_rebuild();
    RETURN 1;
  END IF;
  FOR record IN SELECT * FROM dyn_read_stream('products', follower.position, max_records => batch, stream => follower.stream) LOOP
    PERFORM products_apply(record.event_name, record.keys, record.new_image, record.old_image, record.expired);
    follower.position := record.sequence_number;
    n := n + 1;
  END LOOP;
  UPDATE stream_positions SET "position" = follower.position WHERE consumer = 'products';
  RETURN n;
EXCEPTION WHEN SQLSTATE 'YD011' THEN
  RAISE NOTICE 'begin anew: %', SQLERRM;
  PERFORM products_rebuild();
  RETURN 1;
END $$;

-- All of it, for ever, or until nothing more has come for some time.  It waits with nothing locked.
CREATE PROCEDURE products_follow(patience interval DEFAULT NULL) LANGUAGE plpgsql AS $$
DECLARE
  follower stream_positions;
  last timestamptz := clock_timestamp();
BEGIN
  LOOP
    IF products_step() > 0 THEN
      last := clock_timestamp();
    END IF;
    COMMIT;
    EXIT WHEN clock_timestamp() - last > patience;
    SELECT * INTO STRICT follower FROM stream_positions WHERE consumer = 'products';
    BEGIN
      PERFORM FROM dyn_read_stream('products', follower.position, max_records => 1, stream => follower.stream, max_wait => least(patience, '10 s'));
    EXCEPTION WHEN SQLSTATE 'YD011' OR SQLSTATE 'YD008' THEN
      NULL; -- the next step says what to do
    END;
    COMMIT;
  END LOOP;
END $$;

-- Whether what follows is what it has to be, once nothing is on the way.
CREATE VIEW products_differences AS
  SELECT 'search' AS kind, d.* FROM (
    (SELECT item ->> 'id' AS what, coalesce(item ->> 'name', '') AS value FROM products EXCEPT ALL SELECT id, coalesce(name, '') FROM product_search)
    UNION ALL (SELECT id, coalesce(name, '') FROM product_search EXCEPT ALL SELECT item ->> 'id', coalesce(item ->> 'name', '') FROM products)) d
  UNION ALL
  SELECT 'counts', d.* FROM (
    (SELECT coalesce(item ->> 'status', 'none'), count(*)::text FROM products GROUP BY 1 EXCEPT ALL SELECT status, items::text FROM product_counts WHERE items <> 0)
    UNION ALL (SELECT status, items::text FROM product_counts WHERE items <> 0 EXCEPT ALL SELECT coalesce(item ->> 'status', 'none'), count(*)::text FROM products GROUP BY 1)) d;

-- At work: some products that are there before, and some changes after.
SELECT dyn_put('products', item) FROM (VALUES
  ('{"id":"P1","name":"Red bicycle","status":"available"}'::jsonb),
  ('{"id":"P2","name":"Blue bicycle","status":"available"}'),
  ('{"id":"P3","name":"Red kettle","status":"sold"}')) v (item);
SELECT products_step();
TABLE product_counts;
SELECT dyn_update('products', '{"id":{"S":"P2"}}', 'SET #s = :sold', names => '{"#s":"status"}', vals => '{":sold":{"S":"sold"}}');
SELECT dyn_put('products', jsonb_build_object('id', 'P4', 'name', 'Green kettle', 'status', 'available', 'expires', floor(extract(epoch FROM now())) - 1));
SELECT dyn_delete('products', '{"id":{"S":"P3"}}');
CALL dyn_sweep_ttl('products');
-- Changes are collected in the background; this waits until those are that were made before.
CALL dyn_collect_streams();
SELECT products_step();
SELECT id, name FROM product_search WHERE words @@ to_tsquery('simple', 'bicycle | kettle') ORDER BY id;
SELECT * FROM product_counts ORDER BY status;
SELECT count(*) AS differences FROM products_differences;
