/*
 * entries.c
 *	  Entries of an index that is distributed by its own key, of items that are older than the index.
 *
 * Writers make the entries of what they write from the declaration on.  Each other item is locked for the
 * time that its entry is written, so that it is the one that the entry is made of.  A batch locks in
 * the order of all calls, and so none meets them in a deadlock.
 */
#include "postgres.h"

#include "access/relation.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "catalog/derive.h"
#include "catalog/key.h"
#include "services/index/index.h"
#include "store/entries.h"
#include "store/store.h"

/* A transaction locks so many items. */
#define BATCH 100

typedef struct Entries
{
	IndexBuild *work;
	DynTable *table;
	const DynIndex *index;
	MemoryContext context; /* of the batch */
	int n;
	DynKeyValues keys[BATCH];
	MemoryContext position_context;
	const DynItem *position; /* the key of the last item; NULL: none was read */
	TimestampTz told;
} Entries;

static bool
take_item(const StoreRow *row, void *arg)
{
	Entries *entries = arg;
	DynTable *table = entries->table;
	MemoryContext old = MemoryContextSwitchTo(entries->context);
	const DynItem *key = dyn_key_item(table, &table->primary, DatumGetDynItem(row->item));

	dyn_key_exact(table, &table->primary, key, DYN_KEY_OF_SCAN_START, &entries->keys[entries->n++]);
	if (entries->n == BATCH)
	{
		MemoryContextReset(entries->position_context);
		MemoryContextSwitchTo(entries->position_context);
		entries->position = dyn_key_item(table, &table->primary, key);
	}
	MemoryContextSwitchTo(old);
	return entries->n < BATCH;
}

/* Reads the keys of the next items. */
static void
read_batch(Entries *entries)
{
	StoreRange range = {.index = &entries->table->primary,
						.want = STORE_WANT_ITEM,
						.forward = true,
						.likely = BATCH,
						.scan = true};
	DynKeyValues key;

	if (entries->position != NULL)
	{
		dyn_key_exact(entries->table, range.index, entries->position, DYN_KEY_OF_SCAN_START, &key);
		range.nposition = key.nkeys;
		memcpy(range.position, key.values, key.nkeys * sizeof(Datum));
	}
	entries->n = 0;
	store_range(entries->table, &range, take_item, entries);
}

static int
compare_keys(const void *a, const void *b, void *table)
{
	return store_key_compare(table, a, b);
}

/* Makes the entries of the next items.  False if there are no more. */
static bool
fill_batch(Entries *entries)
{
	Relation rel = index_build_open(entries->work, RowExclusiveLock, &entries->table);
	ErrorContextCallback callback;
	MemoryContext old;

	index_build_check_row_security(entries->work);
	entries->index = index_build_find(entries->work, entries->table);
	entries->context =
		AllocSetContextCreate(CurrentMemoryContext, "dynamo_table entries", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(entries->context);
	PushActiveSnapshot(GetTransactionSnapshot());
	store_begin(&callback);
	read_batch(entries);
	qsort_arg(entries->keys, entries->n, sizeof(DynKeyValues), compare_keys, entries->table);
	for (int i = 0; i < entries->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		store_entries_fill(rel, entries->table, entries->index, &entries->keys[i]);
	}
	store_end(&callback);
	PopActiveSnapshot();
	MemoryContextSwitchTo(old);
	MemoryContextDelete(entries->context);
	relation_close(rel, NoLock);
	return entries->n == BATCH;
}

/* Makes the entries of all items that lack them. */
void
index_build_entries(IndexBuild *work)
{
	Entries *entries = MemoryContextAllocZero(work->procedure.context, sizeof(Entries));

	entries->work = work;
	entries->told = GetCurrentTimestamp();
	entries->position_context = AllocSetContextCreate(
		work->procedure.context, "dynamo_table position", ALLOCSET_SMALL_SIZES);
	index_build_progress(work, INDEX_BUILD_BTREE);
	ereport(NOTICE, (errmsg("%s: making entries", work->procedure.what)));
	while (fill_batch(entries))
		index_build_tell(work, &entries->told);
	MemoryContextDelete(entries->position_context);
	pfree(entries);
}
