/*
 * spi_store.h
 *	  The item store over SPI; what each function does is said in store.h.
 */
#ifndef DYNAMO_TABLE_STORE_SPI_STORE_H
#define DYNAMO_TABLE_STORE_SPI_STORE_H

#include "store/plan.h"
#include "store/range.h"

/*
 * Tells what differs between the stores that execute statements: the SPI store, and the remote
 * store for tables whose rows are in shards.  Gets, locks and deletes are the same statements in
 * both.
 */
typedef struct StatementStore
{
	void (*put)(DynTable *table, const DynRow *row);
	bool (*change)(DynTable *table, const DynKeyValues *key, StoreChange change, void *arg);
	bool (*insert)(DynTable *table, const DynRow *row);
	void (*replace)(DynTable *table, const DynRow *row);
	void (*put_many)(DynTable *table, int n, const DynRow *const *rows);
	bool (*hold_absent)(Relation rel, const DynKeyValues *key, const DynItem *item);
	void (*range)(DynTable *table, const StoreRange *range, StoreRowCallback callback, void *arg);
} StatementStore;

extern const StatementStore spi_store;

extern DynItem *spi_get(DynTable *table, const DynKeyValues *key);
extern DynItem *spi_lock(DynTable *table, const DynKeyValues *key, StoreLock lock);
extern DynItem *spi_delete(DynTable *table, const DynKeyValues *key, bool want_old);

/* for spi_many.c */
extern void store_append_key_columns(StringInfo sql, const DynTable *table);
extern uint64 store_execute_write(const DynTable *table, int nkeys, const DynKeyValues *const *keys,
								  StorePlan *plan, const SPIExecuteOptions *options);

/* This is a part of a range: at most so many of its entries, and what comes after them. */
typedef struct RangeChunk
{
	int64 limit;
	int64 rows; /* that there were */
	Size bytes; /* of these */
	bool more; /* there may be more entries, and the callback wants them */
	Datum position
		[DYN_MAX_INDEX_COLUMNS]; /* then: of the last entry, in the memory context of the caller */
} RangeChunk;

/* spi_range.c: ranges that are narrowed */
extern void spi_range_chunk(DynTable *table, const StoreRange *range, StoreRowCallback callback,
							void *arg, RangeChunk *chunk);
extern void spi_range(DynTable *table, const StoreRange *range, StoreRowCallback callback,
					  void *arg);
extern void spi_range_plan(DynTable *table, const StoreRange *range, StoreExplanation *explanation);

/* placeholder.c */
extern bool placeholder_hold(Relation rel, const DynKeyValues *key, const DynItem *item);

/* spi_many.c */
extern void spi_put_many(DynTable *table, int n, const DynRow *const *rows);

#endif
