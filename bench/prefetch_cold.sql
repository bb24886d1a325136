-- Five queries as :variant over :relation after a restart, and the pages that they read.  The same query of a collection that is not there comes
-- first: it plans, and reads the upper levels of the btree.
\set QUIET on
CREATE VIEW pg_temp.reads AS SELECT heap_blks_read AS t, idx_blks_read AS i FROM pg_statio_all_tables WHERE relid = :'relation'::regclass;
PREPARE query AS :query;
EXECUTE query('status#') \g /dev/null
CALL run_cold(:'variant', 'EXECUTE nothing', 0, 0, 1);
SELECT FROM pg_stat_force_next_flush() \g /dev/null
SELECT t, i FROM pg_temp.reads \gset
CALL run_cold(:'variant', :'query', :round, 5, :collections);
SELECT FROM pg_stat_force_next_flush() \g /dev/null
INSERT INTO pages SELECT :'variant', 5, t - :t, i - :i FROM pg_temp.reads;
