/*
 * range.h
 *	  What the stores share of ranges.
 */
#ifndef DYNAMO_TABLE_STORE_RANGE_H
#define DYNAMO_TABLE_STORE_RANGE_H

#include "access/skey.h"

#include "store/store.h"

extern bool store_wants_item(StoreWant want);
extern bool store_wants_part(StoreWant want);
extern bool store_wants_partition(StoreWant want);
extern bool store_wants_keys(StoreWant want);
extern void store_scan_key(ScanKey key, int flags, ItemType type, int column,
						   StrategyNumber strategy, Datum value);
extern bool store_range_narrow(const DynTable *table, StoreRange *range);
extern int64 store_range_wanted(const StoreRange *range, int64 taken);
/* Both take a range that is narrowed. */
extern void store_range_read(DynTable *table, const StoreRange *range, StoreRowCallback callback,
							 void *arg);
extern DynItem *store_range_part(const DynTable *table, const DynIndex *index, const Datum *columns,
								 Datum carried);
extern DynItem *store_range_item(const DynTable *table, const DynIndex *index,
								 const Datum *columns);

#endif
