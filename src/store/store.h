/*
 * store.h
 *	  The item store: the only place that touches a relation of items.
 *
 * Callers have the relation open and locked and hand over checked keys.  All statements run
 * with the privileges of the caller, so row-level security, table privileges and user triggers
 * hold.  Between store_begin() and store_end() the SPI is connected; what
 * is returned is the caller's, in his memory context.
 */
#ifndef DYNAMO_TABLE_STORE_STORE_H
#define DYNAMO_TABLE_STORE_STORE_H

#include "catalog/key.h"

/* One end of a range of sort keys. */
typedef struct StoreBound
{
	bool given;
	bool inclusive;
	Datum value;
} StoreBound;

/* A stretch of one item collection, in one direction. */
typedef struct StoreRange
{
	Datum partition;
	StoreBound lower;
	StoreBound upper;
	bool forward;
} StoreRange;

/* Called for each item; false ends the range.  The datum lives as long as the call. */
typedef bool (*StoreItemCallback)(Datum item, void *arg);

/* What a lock is for: replacing keeps out other writers, deleting foreign keys as well. */
typedef enum StoreLock
{
	STORE_LOCK_REPLACE,
	STORE_LOCK_DELETE
} StoreLock;

extern void store_begin(void);
extern void store_end(void);

/* Reads, under the caller's snapshot. */
extern DynItem *store_get(DynTable *table, const DynKeyValues *key);
extern void store_range(DynTable *table, const StoreRange *range, StoreItemCallback callback,
						void *arg);

/* Writes. */
extern void store_put(DynTable *table, const DynKeyValues *key, const DynItem *item);
extern DynItem *store_lock(DynTable *table, const DynKeyValues *key, StoreLock lock);
extern bool store_insert(DynTable *table, const DynKeyValues *key, const DynItem *item);
extern void store_replace(DynTable *table, const DynKeyValues *key, const DynItem *item);
extern DynItem *store_delete(DynTable *table, const DynKeyValues *key, bool want_old);

#endif
