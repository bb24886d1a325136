/*
 * shard.h
 *	  The shard of a key, where this node has it.
 */
#ifndef DYNAMO_TABLE_STORE_SHARD_H
#define DYNAMO_TABLE_STORE_SHARD_H

#include "storage/lockdefs.h"
#include "utils/relcache.h"

#include "catalog/table.h"

extern Relation store_shard_open(DynTable *table, Datum partition, LOCKMODE mode, DynTable **shard);

#endif
