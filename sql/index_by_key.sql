-- Indexes that are distributed by their own key are for tables that Citus distributes; test/citus.d/210_index_by_key.pl has these.
SELECT dyn_create_table('one', 'pk S', global_indexes => '{"G": {"partition_key": "g S", "distribution": "key"}}');
SELECT dyn_create_table('one', 'pk S', global_indexes => '{"G": {"partition_key": "g S", "distribution": "node"}}');
SELECT dyn_create_table('one', 'pk S', global_indexes => '{"G": {"partition_key": "g S", "distribution": "key", "covering": true}}');
SELECT dyn_create_table('one', 'pk S', 'sk S', local_indexes => '{"L": {"sort_key": "l S", "distribution": "table"}}');
SELECT dyn_create_table('one', 'pk S', global_indexes => '{"G": {"partition_key": "g S", "distribution": "table"}}');
CALL dyn_create_index('one', 'H', 'h S', distribution => 'key');
CALL dyn_create_index('one', 'H', 'h S', distribution => 'node');
CALL dyn_create_index('one', 'H', 'h S', distribution => 'table');
SET dynamo_table.distribute_new_indexes = 'key';
SELECT dyn_request('CreateTable', '{"TableName": "two", "BillingMode": "PAY_PER_REQUEST", "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
	"AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "g", "AttributeType": "S"}],
	"GlobalSecondaryIndexes": [{"IndexName": "ByG", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}], "Projection": {"ProjectionType": "ALL"}}]}'::jsonb)
	-> 'TableDescription' -> 'GlobalSecondaryIndexes' -> 0 -> 'Distribution';
RESET dynamo_table.distribute_new_indexes;
-- An owner who writes such a definition by hand has only the rights of the owner used, on relations that have the columns of entries.
CREATE ROLE regress_by_key;
GRANT CREATE ON SCHEMA public TO regress_by_key;
SET ROLE regress_by_key;
CREATE TABLE forged (item dyn_item NOT NULL, pk text COLLATE "C" PRIMARY KEY, g text COLLATE "C");
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON forged FOR EACH ROW EXECUTE FUNCTION
	dynamo_internal.derive_keys('pk S', '{"name": "G", "type": "global", "partition_key": ["g S"], "projection": "ALL", "entries": "aimed"}');
RESET ROLE;
SELECT dyn_put('forged', '{"pk": {"S": "a"}, "g": {"S": "b"}}');
CREATE TABLE aimed (item dyn_item, g text COLLATE "C", pk text COLLATE "C", PRIMARY KEY (g, pk));
SELECT dyn_put('forged', '{"pk": {"S": "a"}, "g": {"S": "b"}}');
SELECT dyn_query('forged', 'g = :g', index_name => 'G', vals => '{":g": {"S": "b"}}');
DROP TABLE aimed;
SET ROLE regress_by_key;
CREATE TABLE aimed (item bytea, g text COLLATE "C", pk text COLLATE "C", PRIMARY KEY (g, pk));
RESET ROLE;
INSERT INTO aimed VALUES ('\xffffffff', 'b', 'a');
SELECT dyn_query('forged', 'g = :g', index_name => 'G', vals => '{":g": {"S": "b"}}');
SELECT object, problem FROM dyn_check_table('forged') ORDER BY 1, 2;
DROP TABLE aimed;
-- Nor does what others have in its place go with the index or the table.
CREATE TABLE aimed ();
\c -
BEGIN;
SELECT dyn_drop_table('forged');
SELECT to_regclass('forged'), to_regclass('aimed');
ROLLBACK;
CALL dyn_drop_index('forged', 'G');
SELECT dyn_drop_table('forged');
SELECT to_regclass('forged'), to_regclass('aimed');
DROP TABLE one, two, aimed;
REVOKE CREATE ON SCHEMA public FROM regress_by_key;
DROP ROLE regress_by_key;
