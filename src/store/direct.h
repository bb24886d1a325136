/*
 * direct.h
 *	  The direct store: calls of the table and its indexes, past planner and executor.
 *
 * It serves tables that have nothing which the executor would have to obey: no policy, no children,
 * and for writes no trigger, constraint, column or index beside ours.  The caller needs privileges
 * on the whole table; whoever lacks them, or has them for columns only, goes through the SPI store,
 * which has the right words for it.  So does everything where a module looks at permissions.
 *
 * What each function does is said in store.h.
 */
#ifndef DYNAMO_TABLE_STORE_DIRECT_H
#define DYNAMO_TABLE_STORE_DIRECT_H

#include "utils/acl.h"

#include "store/range.h"

extern bool direct_may_read(const DynTable *table);
extern bool direct_may_write(const DynTable *table, AclMode privileges);

/* direct_write.c */
extern void direct_put(DynTable *table, const DynKeyValues *key, const DynItem *item);
extern bool direct_change(DynTable *table, const DynKeyValues *key, StoreChange change, void *arg);
extern DynItem *direct_lock(DynTable *table, const DynKeyValues *key, StoreLock lock);
extern bool direct_insert(DynTable *table, const DynKeyValues *key, const DynItem *item);
extern void direct_replace(DynTable *table, const DynKeyValues *key, const DynItem *item);
extern DynItem *direct_delete(DynTable *table, const DynKeyValues *key, bool want_old);
extern void direct_put_many(DynTable *table, int n, const DynKeyValues *const *keys,
							const DynItem *const *items);
extern void direct_insert_many(DynTable *table, int n, const DynKeyValues *const *keys,
							   const DynItem *const *items, bool *inserted);

/* direct_read.c: false if it is for the SPI store; ranges are narrowed */
extern bool direct_get(const DynTable *table, const DynKeyValues *key, DynItem **item);
extern StoreReader *direct_reader(void);
extern bool direct_read(StoreReader *reader, const DynTable *table, const DynKeyValues *key,
						DynItem **item);
extern void direct_reader_close(StoreReader *reader);
extern bool direct_range(const DynTable *table, const StoreRange *range, StoreRowCallback callback,
						 void *arg);
extern bool direct_reads(const DynTable *table, const DynIndex *index);

/* Called once by _PG_init. */
extern void direct_init(void);

#endif
