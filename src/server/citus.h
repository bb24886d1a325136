/*
 * citus.h
 *	  What Citus says of a relation, by its catalogs.  Without Citus it says nothing.
 */
#ifndef DYNAMO_TABLE_SERVER_CITUS_H
#define DYNAMO_TABLE_SERVER_CITUS_H

#include "access/genam.h"
#include "access/htup.h"
#include "utils/relcache.h"

/* A CitusKind is what a relation is to Citus. */
typedef enum CitusKind
{
	CITUS_NONE,
	CITUS_DISTRIBUTED, /* its rows are in shards, by the hash of a column */
	CITUS_OTHER /* a reference table, a local one that Citus manages, and so on */
} CitusKind;

/* A CitusRange is the hashes of the rows of a shard, both ends included. */
typedef struct CitusRange
{
	int32 from;
	int32 to;
} CitusRange;

/* A statement reads this to find shards s, and the nodes n that have them. */
#define CITUS_SHARDS_ON_NODES \
	"pg_catalog.pg_dist_shard s" \
	" JOIN pg_catalog.pg_dist_placement p ON p.shardid OPERATOR(pg_catalog.=) s.shardid" \
	" AND p.shardstate OPERATOR(pg_catalog.=) 1" \
	" JOIN pg_catalog.pg_dist_node n ON n.groupid OPERATOR(pg_catalog.=) p.groupid" \
	" AND n.noderole OPERATOR(pg_catalog.=) 'primary'"

/* A CitusScan is a scan of one of Citus' catalogs. */
typedef struct CitusScan
{
	Relation rel;
	SysScanDesc scan;
	HeapTuple tuple;
} CitusScan;

extern bool citus_scan_begin(CitusScan *scan, const char *catalog, const char *index,
							 const char *column, RegProcedure equal, Datum value);
extern bool citus_scan_next(CitusScan *scan);
extern Datum citus_scan_value(const CitusScan *scan, const char *column);
extern int32 citus_scan_bound(const CitusScan *scan, const char *column);
extern void citus_scan_end(const CitusScan *scan);

extern bool citus_is_installed(void);
extern int32 citus_local_group(void);
extern bool citus_is_coordinator(void);
extern bool citus_is_calling(void);
extern void citus_allow_statements(void);
extern CitusKind citus_kind(Oid relid);
extern Oid citus_shard_range(Oid relid, CitusRange *range);
extern bool citus_shard_is_here(int64 shard);
extern Oid citus_shard_of(Relation rel);
extern Oid citus_shard_relation(Oid table, const char *name);
extern bool citus_ends_deadlock(void);
extern bool citus_misses_shard(void);
extern bool citus_executes_locally(void);
extern bool citus_join_transaction(void);
extern bool citus_can_join(void);
extern bool citus_name_transaction(int32 group);
extern bool citus_name_is(Relation rel, const char *name, const char *base);

#endif
