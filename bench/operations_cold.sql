-- What one query of :key reads from outside of shared buffers after a restart, as :variant over :relation.  The same query of a
-- collection that is not there comes first: it plans, and reads the upper levels of the btree.
\set QUIET on
CREATE VIEW pg_temp.reads AS SELECT heap_blks_read AS t, idx_blks_read AS i, coalesce(toast_blks_read, 0) + coalesce(tidx_blks_read, 0) AS o
	FROM pg_statio_all_tables WHERE relid = :'relation'::regclass;
PREPARE query AS :query;
EXECUTE query('customer#') \g /dev/null
SELECT pg_stat_force_next_flush() \g /dev/null
SELECT t, i, o FROM pg_temp.reads \gset
EXECUTE query(:'key') \g /dev/null
SELECT pg_stat_force_next_flush() \g /dev/null
INSERT INTO cold SELECT :'cold', :'variant', t - :t, i - :i, o - :o FROM pg_temp.reads;
