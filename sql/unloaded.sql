-- A server that does not preload the library: nothing runs by itself, which is told, and operations are not counted.
SELECT dyn_create_table('unloaded', 'id S');
CALL dyn_enable_ttl('unloaded', 'expires');
SELECT dyn_put('unloaded', '{"id":{"S":"a"}}');
CALL dyn_sweep_ttl('unloaded');
SELECT * FROM dyn_operations;
SELECT dynamo_internal.reset_operations();
SELECT context FROM pg_settings WHERE name = 'dynamo_table.max_tracked_operations';

-- a call collects all that there is
CALL dyn_setup_streams();
SELECT count(dyn_enable_stream('unloaded', 'KEYS_ONLY'));
SELECT dyn_put('unloaded', '{"id":{"S":"b"}}');
CALL dyn_collect_streams();
SELECT event_name, keys FROM dyn_read_stream('unloaded');
SELECT dyn_drop_table('unloaded');
CALL dyn_teardown_streams();

-- a session that has not loaded the library can truncate a partition that came after the following began, which is told
CREATE TABLE orders (id int, day date, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
CREATE TABLE orders_1 PARTITION OF orders FOR VALUES FROM ('2024-01-01') TO ('2024-02-01');
SELECT dyn_create_table('followed', 'pk S', 'sk S');
SELECT dyn_create_entity('followed', 'Order', '{"pk": "ORDER#<Id>", "sk": "<Day>"}', '{"Id": {"type": "N integer"}, "Day": {"type": "S date"}}');
SELECT dyn_create_migration('followed', 'following', '[{"entity": "Order", "from": "orders"}]');
SELECT dyn_follow_migration('following');
\pset format unaligned
SELECT difference FROM dyn_verify_migration('following');
CREATE TABLE orders_2 PARTITION OF orders FOR VALUES FROM ('2024-02-01') TO ('2024-03-01');
CREATE TABLE orders_3 (id int NOT NULL, day date NOT NULL);
ALTER TABLE orders ATTACH PARTITION orders_3 FOR VALUES FROM ('2024-03-01') TO ('2024-04-01');
CREATE TABLE orders_4 PARTITION OF orders FOR VALUES FROM ('2024-04-01') TO ('2024-05-01') PARTITION BY LIST (id);
CREATE TABLE orders_4_1 PARTITION OF orders_4 FOR VALUES IN (1);
SELECT difference FROM dyn_verify_migration('following');
BEGIN;
SELECT dyn_follow_migration('following', enabled => false);
SELECT dyn_follow_migration('following');
COMMIT;
SELECT difference FROM dyn_verify_migration('following');
SET client_min_messages = warning;
DROP TABLE followed, orders;
