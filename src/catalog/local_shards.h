/*
 * local_shards.h
 *	  Shards that this node has of tables that Citus distributes.
 */
#ifndef DYNAMO_TABLE_CATALOG_LOCAL_SHARDS_H
#define DYNAMO_TABLE_CATALOG_LOCAL_SHARDS_H

#include "nodes/pg_list.h"

/* This is a shard, as it was when it was listed. */
typedef struct DynLocalShard
{
	Oid table; /* the distributed one */
	Oid relid;
	int64 id;
} DynLocalShard;

extern List *dyn_local_shards(List *tables);

/* Says whether a shard can be used where it was. */
typedef enum DynShardState
{
	DYN_SHARD_HERE,
	DYN_SHARD_MOVES,
	DYN_SHARD_GONE
} DynShardState;

extern DynShardState dyn_local_shard_keep(const DynLocalShard *shard, bool wait);
extern int64 dyn_oldest_shard(Oid table);
extern bool dyn_shard_lock(int32 colocation, int place, bool wait);
extern void dyn_shard_unlock(int32 colocation, int place);

#endif
