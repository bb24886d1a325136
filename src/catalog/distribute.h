/*
 * distribute.h
 *	  Distributing tables, and what is distributed with them.
 */
#ifndef DYNAMO_TABLE_CATALOG_DISTRIBUTE_H
#define DYNAMO_TABLE_CATALOG_DISTRIBUTE_H

#include "fmgr.h"

#include "catalog/table.h"

/* distribute.c */
#define DYN_UNDISTRIBUTED_HINT \
	"It has the definition of a distributed table. Call dyn_distribute_table(), or " \
	"dyn_undistribute_table() to make it a table of one node."
extern void dyn_refuse_distributed(Relation rel, const char *what, const char *detail,
								   const char *hint);

typedef struct DynDistribution
{
	const char *colocate_with; /* qualified and quoted; NULL: a table of the same owner */
	Oid owner; /* of that */
	int32 shard_count; /* 0: Citus chooses */
} DynDistribution;

extern DynDistribution dyn_distribution_default(void);
extern DynDistribution dyn_distribution_read(FunctionCallInfo fcinfo, int first);
extern void dyn_distribute(Oid relid, const DynDistribution *how);
extern void dyn_distribute_entries(Oid entries, Oid table, AttrNumber key, bool beside);
extern void dyn_warn_owners(Oid relid);

/* share_tokens.c */
extern void dyn_share_tokens(void);

#endif
