/*
 * write.h
 *	  The one way by which items get into tables and out of them.
 *
 * A write has three stages:
 *
 *		prepare		the key, the columns of the row, and everything that is wrong with the item by
 *					itself, before anything is read
 *		run			one call of the store, or lock and then write
 *		done		the size of the item collection, and what the caller measures
 *
 * A rule for all writes belongs into one of them.
 */
#ifndef DYNAMO_TABLE_ACTIONS_WRITE_H
#define DYNAMO_TABLE_ACTIONS_WRITE_H

#include "actions/actions.h"

/* This is a table, for the writes of one call. */
typedef struct ItemWriter
{
	Relation rel; /* the caller has it open and locked, and closes it */
	DynTable *table;
	StoreWriter *store;
	ItemMeasure *measure; /* of the call, or NULL */
	StoreClearance clearance; /* if what it writes is authorized */
	bool plain_conflicts; /* deadlocks keep PostgreSQL's error code */
} ItemWriter;

/* This is an item on its way. */
typedef struct ItemWrite
{
	DynKeyValues key;
	const DynRow *row; /* what is to be stored; NULL: not known yet, or nothing */
	const Expr *update; /* what makes the row; or NULL */
	CollectionWatch watch;
	DynItem *old; /* the item that was there, where somebody has looked; NULL: none */
	const DynItem *new; /* the item after the write; NULL: none */
} ItemWrite;

/* Says what a change most likely comes to, which the store tries first. */
typedef enum WriteExpectation
{
	EXPECT_REPLACE, /* there is an item, and another one takes its place */
	EXPECT_INSERT, /* there is none; the row is prepared, and may be inserted if that is so */
	EXPECT_KEEP /* there is an item, and it stays as it is */
} WriteExpectation;

/*
 * Returns what an item is to become; NULL stands for no item.  An item that is there does not
 * become NULL.  Called again if the item changes before it can be replaced: the last call counts.
 */
typedef DynItem *(*ItemChange)(DynItem *old, void *arg);

/* Raises an error if an item, NULL if there is none, must not be deleted. */
typedef void (*ItemJudge)(const DynItem *old, void *arg);

/*
 * This is a rule for the items of some tables that a layer above adds.  Raises an error if the item
 * must not be stored.
 */
typedef void (*ItemCheck)(Relation rel, const DynTable *table, const DynItem *item);

extern void write_add_check(ItemCheck check);

extern void write_open(ItemWriter *writer, const FrontCall *call);
extern void write_close(ItemWriter *writer);

/* prepare */
extern void write_prepare_put(const ItemWriter *writer, const DynItem *item, ItemWrite *write);
extern void write_prepare(const ItemWriter *writer, const DynItem *item, ItemWrite *write);
extern void write_prepare_key(const ItemWriter *writer, const DynItem *key, ItemWrite *write);
extern const DynRow *write_row(const ItemWriter *writer, ItemWrite *write, const DynItem *old,
							   const DynItem *new);

/* run */
extern bool write_looks(const ItemWriter *writer, ItemWrite *write);
extern void write_put(ItemWriter *writer, ItemWrite *write);
extern bool write_insert(ItemWriter *writer, ItemWrite *write);
extern void write_change(ItemWriter *writer, ItemWrite *write, WriteExpectation expectation,
						 ItemChange change, void *arg);
extern bool write_change_present(ItemWriter *writer, ItemWrite *write, ItemChange change,
								 void *arg);
extern DynItem *write_lock(ItemWriter *writer, ItemWrite *write, StoreLock lock);
extern void write_replace(ItemWriter *writer, ItemWrite *write);
extern void write_delete_locked(ItemWriter *writer, ItemWrite *write);
extern bool write_hold_absent(ItemWriter *writer, const ItemWrite *write, const DynItem *key);
extern bool write_may_differ(const ItemWriter *writer);
extern void write_read_back(ItemWriter *writer, ItemWrite *write);
extern void write_delete(ItemWriter *writer, ItemWrite *write, bool want_old, ItemJudge judge,
						 void *arg);

/* done */
extern void write_done(ItemWriter *writer, ItemWrite *write);

/* These do all three for many items: keys in the order of the primary key, and distinct. */
extern void write_put_many(ItemWriter *writer, int n, ItemWrite *const *writes);
extern void write_insert_many(ItemWriter *writer, int n, ItemWrite *const *writes, bool *inserted);
extern void write_delete_many(ItemWriter *writer, int n, ItemWrite *const *writes);

#endif
