/*
 * citus.h
 *	  What Citus says of a relation, by its catalogs.  Without Citus it says nothing.
 */
#ifndef DYNAMO_TABLE_GROUND_CITUS_H
#define DYNAMO_TABLE_GROUND_CITUS_H

#include "utils/relcache.h"

/* What a relation is to Citus. */
typedef enum CitusKind
{
	CITUS_NONE,
	CITUS_DISTRIBUTED, /* its rows are in shards, by the hash of a column */
	CITUS_OTHER /* a reference table, a local one that Citus manages, and so on */
} CitusKind;

/* The hashes of the rows of a shard, both ends included. */
typedef struct CitusRange
{
	int32 from;
	int32 to;
} CitusRange;

extern bool citus_is_installed(void);
extern bool citus_is_coordinator(void);
extern CitusKind citus_kind(Oid relid);
extern Oid citus_shard_range(Oid relid, CitusRange *range);
extern Oid citus_shard_of(Relation rel);
extern Oid citus_shard_relation(Oid table, const char *name);
extern bool citus_ends_deadlock(void);
extern void citus_join_transaction(void);
extern bool citus_name_is(Relation rel, const char *name, const char *base);

#endif
