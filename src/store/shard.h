/*
 * shard.h
 *	  Where the shards of a distributed table are, and those of this node as tables.
 */
#ifndef DYNAMO_TABLE_STORE_SHARD_H
#define DYNAMO_TABLE_STORE_SHARD_H

#include "nodes/parsenodes.h"
#include "utils/relcache.h"

#include "catalog/table.h"

extern bool store_is_routed(DynTable *table);
extern bool store_is_routed_away(DynTable *table, Datum partition);
extern const char *store_shards_words(DynTable *table, const Datum *partition);
extern void store_shard_keep(DynTable *table, Datum partition);
extern int64 store_shard_number(DynTable *table, Datum partition);
extern Relation store_shard_open(DynTable *table, Datum partition, AclMode privileges,
								 DynTable **shard);

/* alone.c */
extern bool store_transaction_is_fresh(void);
extern bool store_is_plain_argument(const Node *node);
extern bool store_call_is_alone(const Node *site);

#endif
