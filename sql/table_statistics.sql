-- dyn_table_statistics(): what a table has, by entities, indexes and collections.
CREATE ROLE regress_statistics_reader;
CREATE ROLE regress_statistics_nobody;
SELECT dyn_create_table('stats', 'pk S', 'sk S', global_indexes => '{"All": {"partition_key": "g S"}, "Keys": {"partition_key": "g S",
	"sort_key": "n N", "projection": "KEYS_ONLY"}}');
SELECT kind, name, partition_key, items, bytes FROM dyn_table_statistics('stats');
SELECT dyn_create_entity('stats', 'User', '{"pk": "USER#<Name>", "sk": "USER"}', '{"Name": "S", "Age": "N"}');
SELECT dyn_create_entity('stats', 'Post', '{"pk": "USER#<Name>", "sk": "POST#<Number:03>"}', '{"Name": "S", "Number": "N integer"}');
SELECT dyn_create_entity('stats', 'Unused', '{"pk": "UNUSED#<Name>", "sk": "UNUSED"}', '{"Name": "S"}');
SELECT count(*) FROM (SELECT dyn_put_entity('stats', 'User', format('{"Name": {"S": "u%s"}}', i)::dyn_item) FROM generate_series(1, 5) i) p;
SELECT count(*) FROM (SELECT dyn_put_entity('stats', 'Post', format('{"Name": {"S": "u%s"}, "Number": {"N": "%s"}}', u, i)::dyn_item)
	FROM generate_series(1, 3) u, generate_series(1, u * 2) i) p;
-- of no entity: one in no index, one in both, one in one of them
SELECT dyn_put('stats', '{"pk":{"S":"other"},"sk":{"S":"1"}}');
SELECT dyn_put('stats', '{"pk":{"S":"other"},"sk":{"S":"2"},"g":{"S":"x"},"n":{"N":"1"},"text":{"S":"long enough to count"}}');
INSERT INTO stats (item) VALUES ('{"pk":{"S":"other"},"sk":{"S":"3"},"g":{"S":"x"}}');
SELECT kind, name, partition_key, items, bytes FROM dyn_table_statistics('stats', 3);
-- as plain SQL counts them
SELECT count(*), sum(dyn_size(item)) FROM stats;
SELECT item -> 'pk' AS partition_key, count(*) AS items, sum(dyn_size(item)) AS bytes FROM stats GROUP BY 1 ORDER BY 3 DESC LIMIT 3;
-- the numbers of collections, and of bytes on disk
SELECT kind, count(*) FROM dyn_table_statistics('stats', 0) GROUP BY 1 ORDER BY 1;
SELECT kind, count(*) FROM dyn_table_statistics('stats', 10000) GROUP BY 1 ORDER BY 1;
SELECT kind, name, disk_bytes = CASE kind WHEN 'table' THEN pg_table_size('stats') ELSE pg_total_relation_size(('"stats_' || name || '"')::regclass) END AS same
	FROM dyn_table_statistics('stats', 0) WHERE kind IN ('table', 'index');
-- a segment: whole collections, and an estimate of all
SELECT count(*) > 0 AS some, count(*) < 6 AS fewer, bool_and(s.items = c.items) AS whole
	FROM dyn_table_statistics('stats', 100, 2) s LEFT JOIN (SELECT item -> 'pk' AS partition_key, count(*) AS items FROM stats
		GROUP BY 1) c USING (partition_key) WHERE kind = 'collection';
SELECT t.items = 2 * sum(c.items) AS doubled, t.bytes = 2 * sum(c.bytes) AS bytes_too FROM dyn_table_statistics('stats', 0, 2) t,
	dyn_table_statistics('stats', 100, 2) c
	WHERE t.kind = 'table' AND c.kind = 'collection' GROUP BY t.items, t.bytes;

-- scans of indexes and HOT updates are counted by the server, whichever store reads and writes
SELECT dyn_query('stats', 'g = :g', 'Keys', vals => '{":g": {"S": "x"}}') FROM generate_series(1, 3);
SELECT count(dyn_update('stats', '{"pk":{"S":"other"},"sk":{"S":"1"}}', 'SET v = :v', vals => format('{":v": {"N": "%s"}}', i)::dyn_item))
	FROM generate_series(1, 3) i;
SELECT dyn_update('stats', '{"pk":{"S":"other"},"sk":{"S":"1"}}', 'SET g = :g', vals => '{":g": {"S": "y"}}');
SELECT pg_stat_force_next_flush();
SELECT kind, name, CASE kind WHEN 'index' THEN index_scans ELSE sign(index_scans) END AS index_scans, hot_share FROM dyn_table_statistics('stats', 0)
	WHERE kind <> 'entity';

-- a partitioned table
CREATE TABLE statistics_parts (item dyn_item NOT NULL, pk text COLLATE "C" NOT NULL, sk text COLLATE "C" NOT NULL, PRIMARY KEY (pk, sk)) PARTITION BY HASH (pk);
CREATE TABLE statistics_part0 PARTITION OF statistics_parts FOR VALUES WITH (MODULUS 2, REMAINDER 0) USING dynamo_table;
CREATE TABLE statistics_part1 PARTITION OF statistics_parts FOR VALUES WITH (MODULUS 2, REMAINDER 1) USING dynamo_table;
CREATE TRIGGER "~dynamo_keys" BEFORE INSERT OR UPDATE ON statistics_parts FOR EACH ROW EXECUTE FUNCTION dynamo_internal.derive_keys('pk S', 'sk S');
SELECT count(dyn_put('statistics_parts', format('{"pk":{"S":"%s"},"sk":{"S":"%s"}}', i % 4, i)::dyn_item)) FROM generate_series(1, 40) i;
SELECT kind, partition_key, items, bytes, disk_bytes = (SELECT sum(pg_table_size(c.oid)) FROM pg_class c WHERE relname ~ '^statistics_part[01]$') AS disk
	FROM dyn_table_statistics('statistics_parts', 2);

-- the caller needs SELECT, and policies say what is counted
GRANT SELECT ON stats TO regress_statistics_reader;
CREATE POLICY own ON stats USING (pk LIKE 'USER#u1%');
ALTER TABLE stats ENABLE ROW LEVEL SECURITY;
SET ROLE regress_statistics_reader;
SELECT kind, name, partition_key, items FROM dyn_table_statistics('stats');
SET ROLE regress_statistics_nobody;
SELECT * FROM dyn_table_statistics('stats');
RESET ROLE;
SELECT * FROM dyn_table_statistics('stats', -1);
SELECT * FROM dyn_table_statistics('stats', NULL);
SELECT * FROM dyn_table_statistics('stats', 10, 0);
SELECT * FROM dyn_table_statistics('missing');
SELECT * FROM dyn_table_statistics(NULL);

-- nobody else forgets what was counted, or stops that
SET ROLE regress_statistics_nobody;
SELECT dynamo_internal.reset_operations();
SET dynamo_table.track_operations = off;
RESET ROLE;
DROP TABLE stats, statistics_parts;
DROP ROLE regress_statistics_reader, regress_statistics_nobody;
