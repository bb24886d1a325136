/*
 * remote.h
 *	  The item store for distributed tables; what each function does is said in store.h.
 */
#ifndef DYNAMO_TABLE_STORE_REMOTE_H
#define DYNAMO_TABLE_STORE_REMOTE_H

#include "store/store.h"

extern void remote_put(DynTable *table, const DynRow *row);
extern bool remote_insert(DynTable *table, const DynRow *row);
extern void remote_replace(DynTable *table, const DynRow *row);
extern bool remote_change(DynTable *table, const DynKeyValues *key, StoreChange change, void *arg);
extern void remote_put_many(DynTable *table, int n, const DynRow *const *rows);
extern bool remote_hold_absent(Relation rel, DynTable *table, const DynKeyValues *key,
							   const DynItem *item);

#endif
