/*
 * remote.h
 *	  The item store for distributed tables; what each function does is said in store.h.
 */
#ifndef DYNAMO_TABLE_STORE_REMOTE_H
#define DYNAMO_TABLE_STORE_REMOTE_H

#include "store/spi_store.h"

extern const StatementStore remote_store;

/* remote_range.c: ranges that are narrowed */
extern void remote_range(DynTable *table, const StoreRange *range, StoreRowCallback callback,
						 void *arg);

/* remote_scan.c: likewise, of all of an index */
extern bool remote_scan_has_cells(DynTable *table, const StoreRange *range);
extern void remote_scan(DynTable *table, const StoreRange *range, StoreRowCallback callback,
						void *arg);

#endif
