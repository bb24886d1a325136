/*
 * shard.h
 *	  Where the shards of a distributed table are, and those of this node as tables.
 */
#ifndef DYNAMO_TABLE_STORE_SHARD_H
#define DYNAMO_TABLE_STORE_SHARD_H

#include "nodes/parsenodes.h"
#include "utils/relcache.h"

#include "catalog/table.h"
#include "server/citus.h"

/* This is a shard that is kept where it is while a statement reads it. */
typedef struct StorePin
{
	int32 colocation;
	int place;
	bool locked;
	Datum key; /* a partition key that would be in it */
} StorePin;

/* Says where a shard is. */
typedef struct StorePlace
{
	int64 number;
	int32 node; /* as Citus numbers them */
	bool here;
	Oid relid; /* if it is */
} StorePlace;

extern Oid store_shard_of_hash(DynTable *table, int32 hash);
extern int32 store_hash(const DynTable *table, Datum partition);
extern bool store_shard_is_away(DynTable *table, Datum partition);
extern bool store_shard_place(DynTable *table, Datum partition, StorePlace *place);
extern const char *store_shards_words(DynTable *table, const Datum *partition);
extern void store_shard_keep(DynTable *table, Datum partition);
extern bool store_shard_keep_here(DynTable *table, Datum partition);
extern int64 store_shard_number(DynTable *table, Datum partition);
extern Relation store_shard_open(DynTable *table, Datum partition, AclMode privileges,
								 DynTable **shard);

/* for scans */
extern int store_cells(DynTable *table);
extern int store_cell(DynTable *table, Datum partition);
extern int store_cell_shards(DynTable *table, int cell, CitusRange *range, int64 **numbers);
extern Relation store_shard_find(DynTable *table, int64 number, CitusRange *range,
								 DynTable **shard);
extern void store_shards_forget(DynTable *table);
extern bool store_shard_pin(DynTable *table, int64 number, StorePin *pin);
extern void store_shard_unpin(const StorePin *pin);

/* hash_key.c */
extern Datum store_hash_key(const DynTable *table, int32 from, int32 to);

/* scan_shard.c */
extern Relation store_open_distributed(text *name, DynTable **table);

/* alone.c */
extern bool store_call_is_alone(const Node *site);
extern bool store_result_is_plain(const Node *site);

#endif
