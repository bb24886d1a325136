/*
 * spi_store.h
 *	  The item store over SPI; what each function does is said in store.h.
 */
#ifndef DYNAMO_TABLE_STORE_SPI_STORE_H
#define DYNAMO_TABLE_STORE_SPI_STORE_H

#include "store/plan.h"
#include "store/range.h"

extern DynItem *spi_get(DynTable *table, const DynKeyValues *key);
extern void spi_put(DynTable *table, const DynRow *row);
extern bool spi_change(DynTable *table, const DynKeyValues *key, StoreChange change, void *arg);
extern DynItem *spi_lock(DynTable *table, const DynKeyValues *key, StoreLock lock);
extern bool spi_insert(DynTable *table, const DynRow *row);
extern void spi_replace(DynTable *table, const DynRow *row);
extern DynItem *spi_delete(DynTable *table, const DynKeyValues *key, bool want_old);

/* for spi_many.c */
extern void store_append_key_columns(StringInfo sql, const DynTable *table);
extern uint64 store_execute_write(const DynTable *table, int nkeys, const DynKeyValues *const *keys,
								  StorePlan *plan, const SPIExecuteOptions *options);

/* spi_range.c: ranges that are narrowed */
extern void spi_range(DynTable *table, const StoreRange *range, StoreRowCallback callback,
					  void *arg);
extern void spi_range_plan(DynTable *table, const StoreRange *range, StoreExplanation *explanation);

/* spi_many.c */
extern void spi_put_many(DynTable *table, int n, const DynRow *const *rows);

#endif
