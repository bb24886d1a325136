/*
 * store.h
 *	  The item store: the only place that touches a relation of items.
 *
 * Callers have the relation open and locked and hand over checked keys.  There are three stores
 * behind it.  The SPI store runs statements with the privileges of the caller, so row-level
 * security, table privileges and user triggers hold.  The remote store does the same for
 * distributed tables.  The direct store calls the table and its indexes, where none of these has a
 * say; see direct.h.  store.c chooses.
 *
 * A write that leaves an item as it is locks its row and does not write it; see unchanged.h.
 *
 * Between store_begin() and store_end() a deadlock is ERRCODE_DYN_TRANSACTION_CONFLICT.  What is
 * returned is the caller's, in its memory context.
 *
 *		store.c			which store serves a call
 *		direct.c		the direct store: which calls it may serve
 *		direct_read.c	its reads
 *		ahead.c			rows of a range, read ahead a page at a time
 *		prefetch.c		pages, asked for before they are read
 *		find.c			the row of a key
 *		direct_write.c	its writes
 *		writer.c		what they have open, and rows found and locked
 *		row.c			rows inserted, replaced and deleted
 *		statement.c		what users have added to a table, obeyed as the executor does
 *		spi_store.c		the SPI store: calls for single items
 *		spi_many.c		its puts of many items
 *		spi_range.c		its ranges
 *		remote.c		the remote store: writes to shards, which other nodes may have
 *		remote_range.c	its ranges, chunk by chunk
 *		remote_scan.c	scans of all shards, one after the other
 *		scan_shard.c	what they ask the nodes of the shards
 *		remote_get.c	items of many keys, by node or shard
 *		shard.c			where shards are, and those that this node has
 *		hash_key.c		keys by which statements reach a shard
 *		alone.c			calls that may work on these themselves
 *		send.c			writes of one item, sent to the node of its shard
 *		plan.c			kept plans of both, which stay ordered index scans
 *		range.c			what the stores share of ranges
 *		explain.c		what it takes to read a range, and the range in words
 *		placeholder.c	keeping an item absent until the transaction ends
 *		entries.c		the entries of indexes that are distributed by their own key
 *		vector.c		the entries of vector indexes, written with their items
 *		vector_search.c	the nearest of these
 *		token.c			idempotency tokens of transactions
 */
#ifndef DYNAMO_TABLE_STORE_STORE_H
#define DYNAMO_TABLE_STORE_STORE_H

#include "fmgr.h"
#include "nodes/parsenodes.h"

#include "catalog/derive.h"

/* This is one end of a range of values. */
typedef struct StoreBound
{
	bool given;
	bool inclusive;
	Datum value;
} StoreBound;

/* Says what a range gives of an entry. */
typedef enum StoreWant
{
	STORE_WANT_ITEM,
	STORE_WANT_KEYS, /* an item made of the index's columns, read from the index alone */
	STORE_WANT_PARTITION, /* the partition key's columns, read from the index alone */
	STORE_WANT_ITEM_PARTITION,
	STORE_WANT_KEYS_PARTITION,
	STORE_WANT_PART, /* what the index projects at least, from a covering index alone if that has it */
	STORE_WANT_PART_PARTITION
} StoreWant;

/*
 * This is a stretch of an index, which may be the table's own, in one direction: all entries that
 * equal the first columns, within bounds of the next one, after a position.  The position need not
 * lie in the stretch: if it lies before it, all of the stretch is read, and if it lies behind it,
 * nothing.
 */
typedef struct StoreRange
{
	const DynIndex *index;
	StoreWant want;
	bool forward;
	int nequal;
	Datum equal[DYN_MAX_INDEX_KEYS];
	StoreBound lower;
	StoreBound upper;
	int nposition; /* columns of the position: all to continue after an entry, 0 without one */
	Datum position[DYN_MAX_INDEX_COLUMNS];
	int64 likely; /* how many entries will be taken, as far as that is known; 0: all */
	int64 likely_bytes; /* how many bytes these will have when it ends */
	const int64 *bytes; /* how many they have, by dyn_index_entry_size(); NULL: no matter */
	bool scan; /* it is all of the index, in any order that lasts */
	int64 segment; /* of which it is this part */
	int64 total_segments; /* of so many; 0: it is all */
	const Node *site; /* of the call, as of store_get() */
	int64 *skipped; /* counts rows that are not looked at, as the index alone does; or NULL */
} StoreRange;

/* This is an entry, as far as it was wanted. */
typedef struct StoreRow
{
	Datum item;
	bool projected; /* the item has what the index projects, and nothing else */
	Datum partition[DYN_MAX_KEY_PART];
} StoreRow;

/* Called for each entry; false ends the range.  The row lives as long as the call. */
typedef bool (*StoreRowCallback)(const StoreRow *row, void *arg);

/* Tells how a range was read. */
typedef struct StoreExplanation
{
	char *words; /* the range as a condition */
	Oid index; /* what the plan scans, if that is one index */
	bool index_only;
	bool remote; /* the rows are in shards */
	const char *refusal; /* why it was read by a statement; NULL: it was read directly */
	const char
		*write_refusal; /* the same of a call that puts or updates an item, or of the write */
	int64 pages; /* visits of pages, of the table, of its index and of TOAST */
	int64 skipped; /* rows that were not looked at, if it was read directly from the index alone */
} StoreExplanation;

/* Gets many items, and keeps open in between what the last one was read from. */
typedef struct StoreReader StoreReader;

/* This is a key of many, and its item if that was fetched together with others. */
typedef struct StoreFetched
{
	const DynItem *given;
	const DynKeyValues *key;
	bool known;
	DynItem *item; /* NULL: there is none */
} StoreFetched;

/*
 * Says what a lock is for: replacing keeps out other writers, deleting foreign keys as well, and
 * checking lets others check too.
 */
typedef enum StoreLock
{
	STORE_LOCK_REPLACE,
	STORE_LOCK_DELETE,
	STORE_LOCK_CHECK
} StoreLock;

/*
 * Says that the actions have found a request on a table covered by what is granted to the user by
 * leading keys, so that permissive policies need not show its rows.
 */
typedef struct StoreClearance
{
	Oid relid; /* InvalidOid: policies decide */
	Oid user;
} StoreClearance;

/* Writes to one table, and keeps open in between what the last write has written to. */
typedef struct StoreWriter StoreWriter;

/*
 * Returns what an item is to become: given the item, palloc'd or detoasted in the caller's memory
 * context.  Called again if the item changes before it can be replaced: the last call counts.
 */
typedef const DynRow *(*StoreChange)(DynItem *old, void *arg);

extern void store_begin(ErrorContextCallback *callback);
extern void store_begin_cleared(ErrorContextCallback *callback, StoreClearance *clearance);
extern void store_begin_plain(ErrorContextCallback *callback);
extern void store_end(const ErrorContextCallback *callback);

/* Returns whether what the store does just now is cleared for the table. */
extern bool store_is_cleared(const DynTable *table);

/* Called once by _PG_init. */
extern void store_init(void);

/* These read under the caller's snapshot. */
extern DynItem *store_get(DynTable *table, const DynKeyValues *key, const Node *site);
extern StoreReader *store_reader(void);
extern DynItem *store_read(StoreReader *reader, DynTable *table, const DynKeyValues *key,
						   const Node *site);
extern void store_reader_close(StoreReader *reader);
extern void store_fetch(DynTable *table, int n, StoreFetched *fetched, const Node *site);
extern void store_range(DynTable *table, const StoreRange *range, StoreRowCallback callback,
						void *arg);
extern void store_explain_range(DynTable *table, const StoreRange *range, StoreRowCallback callback,
								void *arg, StoreExplanation *explanation);
extern void store_explain_unread(DynTable *table, const StoreRange *range,
								 StoreExplanation *explanation);
extern void store_explain_write(const DynTable *table, const DynKeyValues *key, AclMode privileges,
								StoreExplanation *explanation);
extern int64 store_segment(DynTable *table, const StoreRange *range, int64 total_segments);
extern double store_segment_times(DynTable *table, int64 total_segments);
extern int store_column_compare(ItemType type, Datum a, Datum b);
extern int store_key_compare(const DynTable *table, const DynKeyValues *a, const DynKeyValues *b);

/* These write. */
extern StoreWriter *store_writer(Relation rel, DynTable *table, const Node *site);
extern void store_writer_close(StoreWriter *writer);
extern void store_writer_by_statements(StoreWriter *writer);
extern bool store_writer_may_write(StoreWriter *writer, const DynKeyValues *key);
extern void store_writer_after_read(StoreWriter *writer);
extern void store_put(StoreWriter *writer, const DynRow *row);
extern bool store_change(StoreWriter *writer, const DynKeyValues *key, StoreChange change,
						 void *arg);
extern DynItem *store_lock(StoreWriter *writer, const DynKeyValues *key, StoreLock lock);
extern bool store_insert(StoreWriter *writer, const DynRow *row);
extern void store_replace(StoreWriter *writer, const DynItem *old, const DynRow *row);
extern DynItem *store_delete(StoreWriter *writer, const DynKeyValues *key, bool want_old);

/* Takes keys in the order of the primary key, which are distinct. */
extern void store_put_many(StoreWriter *writer, int n, const DynRow *const *rows);
extern void store_insert_many(StoreWriter *writer, int n, const DynRow *const *rows,
							  bool *inserted);
extern void store_delete_many(StoreWriter *writer, int n, const DynKeyValues *const *keys);
extern bool store_hold_absent(StoreWriter *writer, const DynKeyValues *key, const DynItem *item);

/* send.c */
extern bool store_was_sent(const Node *site);
extern DynItem *store_not_done(void);
extern bool store_send(DynTable *table, Datum partition, int number, FunctionCallInfo call,
					   DynItem **item);

#endif
