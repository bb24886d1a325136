/*
 * shard.h
 *	  Where the shards of a distributed table are, and those of this node as tables.
 */
#ifndef DYNAMO_TABLE_STORE_SHARD_H
#define DYNAMO_TABLE_STORE_SHARD_H

#include "nodes/parsenodes.h"
#include "storage/lockdefs.h"
#include "utils/relcache.h"

#include "catalog/table.h"

extern bool store_is_routed(DynTable *table);
extern bool store_is_routed_away(DynTable *table, Datum partition);
extern const char *store_shards_words(DynTable *table, const Datum *partition);
extern void store_shard_keep(DynTable *table, Datum partition);
extern Relation store_shard_open(DynTable *table, Datum partition, LOCKMODE mode,
								 AclMode privileges, DynTable **shard);

#endif
