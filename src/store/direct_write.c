/*
 * direct_write.c
 *	  Writes of the direct store.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "store/direct.h"
#include "store/writer.h"

/* Insert or replace, whatever is there. */
static void
put_row(Writer *w, const DynKeyValues *key, const DynItem *item)
{
	DynDerived derived;

	dyn_derive_inserted(w->at.rel, w->at.table, item, &derived);
	for (;;)
	{
		if (!writer_find_any(w, key))
		{
			if (writer_insert(w, item, &derived))
				return;
		}
		else
		{
			WriteResult result = writer_update(w, key, item, &derived);

			if (result == WRITE_MOVED)
				result = writer_update(w, key, item, &derived);
			if (result == WRITE_DONE)
				return;
		}
		CHECK_FOR_INTERRUPTS();
		writer_new_snapshot();
	}
}

/*
 * Inserts an item, or replaces the one of its key.  As for all writes of this file,
 * direct_may_write() has allowed it, and the caller has the table open and locked.
 */
void
direct_put(DynTable *table, const DynKeyValues *key, const DynItem *item)
{
	Writer w;

	writer_open(&w, table, CMD_UPDATE, "INSERT");
	put_row(&w, key, item);
	writer_close(&w);
}

/*
 * Inserts items, or replaces those of their keys.  The keys are distinct and in the order of the
 * primary key, so that concurrent calls do not deadlock.
 */
void
direct_put_many(DynTable *table, int n, const DynKeyValues *const *keys,
				const DynItem *const *items)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "dynamo_table row", ALLOCSET_DEFAULT_SIZES);
	Writer w;

	writer_open(&w, table, CMD_UPDATE, "INSERT");
	for (int i = 0; i < n; i++)
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		put_row(&w, keys[i], items[i]);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	writer_close(&w);
	MemoryContextDelete(context);
}

/* Replace the version of a row that was found. */
static WriteResult
replace_version(Writer *w, const DynKeyValues *key, const DynItem *item)
{
	DynDerived derived;

	dyn_derive_updated(w->at.rel, w->at.table, ExecFetchSlotHeapTuple(w->at.row, false, NULL), item,
					   &derived);
	return writer_update(w, key, item, &derived);
}

/* By what the change makes of the row that was found; false if it is gone. */
static bool
change_row(Writer *w, const DynKeyValues *key, StoreChange change, void *arg)
{
	WriteResult result;

	do
		result = replace_version(w, key, change(find_row_item(&w->at), arg));
	while (result == WRITE_MOVED);
	return result == WRITE_DONE;
}

/*
 * Replaces the item of a key by what change() returns for it; change() is called again if another
 * transaction has replaced the item meanwhile.  Returns false if there is no item of that key.
 */
bool
direct_change(DynTable *table, const DynKeyValues *key, StoreChange change, void *arg)
{
	Writer w;
	bool done;

	writer_open(&w, table, CMD_UPDATE, "UPDATE");
	done = writer_find(&w, key) && change_row(&w, key, change, arg);
	writer_close(&w);
	return done;
}

/* Replaces an item that this transaction has locked; it is an internal error if there is none. */
void
direct_replace(DynTable *table, const DynKeyValues *key, const DynItem *item)
{
	Writer w;

	writer_open(&w, table, CMD_UPDATE, "UPDATE");
	if (!writer_find(&w, key) || replace_version(&w, key, item) != WRITE_DONE)
		elog(ERROR, "a row has vanished while it was locked");
	writer_close(&w);
}

static LockTupleMode
lock_mode(StoreLock lock)
{
	switch (lock)
	{
		case STORE_LOCK_REPLACE:
			return LockTupleNoKeyExclusive;
		case STORE_LOCK_DELETE:
			return LockTupleExclusive;
		case STORE_LOCK_CHECK:
			break;
	}
	return LockTupleShare;
}

/*
 * What somebody deleted while we waited may be there anew by now, and a new snapshot tells.
 */
static bool
lock_row(Writer *w, const DynKeyValues *key, LockTupleMode mode)
{
	while (writer_find(w, key))
	{
		if (writer_lock(w, key, mode))
			return true;
		CHECK_FOR_INTERRUPTS();
		writer_new_snapshot();
	}
	return false;
}

/*
 * Locks the item of a key, waiting for other transactions if needed, and returns its newest
 * version, palloc'd.  NULL if there is none.
 */
DynItem *
direct_lock(DynTable *table, const DynKeyValues *key, StoreLock lock)
{
	static const char *const names[] = {"SELECT FOR NO KEY UPDATE", "SELECT FOR UPDATE",
										"SELECT FOR SHARE"};
	DynItem *item = NULL;
	Writer w;

	writer_open(&w, table, CMD_SELECT, names[lock]);
	if (lock_row(&w, key, lock_mode(lock)))
		item = find_row_item(&w.at);
	writer_close(&w);
	return item;
}

/* An item that is there is locked for a replacement. */
static bool
insert_row(Writer *w, const DynKeyValues *key, const DynItem *item)
{
	DynDerived derived;

	dyn_derive_inserted(w->at.rel, w->at.table, item, &derived);
	for (;;)
	{
		if (writer_find_any(w, key))
		{
			if (writer_lock(w, key, LockTupleNoKeyExclusive))
				return false;
		}
		else if (writer_insert(w, item, &derived))
			return true;
		CHECK_FOR_INTERRUPTS();
		writer_new_snapshot();
	}
}

/*
 * Inserts an item.  Returns false if there is an item of its key, which is then locked for a
 * replacement.
 */
bool
direct_insert(DynTable *table, const DynKeyValues *key, const DynItem *item)
{
	Writer w;
	bool done;

	writer_open(&w, table, CMD_UPDATE, "INSERT");
	done = insert_row(&w, key, item);
	writer_close(&w);
	return done;
}

/*
 * Inserts items, and sets inserted[i] to what direct_insert() would return for each.  The keys are
 * distinct and in the order of the primary key.
 */
void
direct_insert_many(DynTable *table, int n, const DynKeyValues *const *keys,
				   const DynItem *const *items, bool *inserted)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "dynamo_table row", ALLOCSET_DEFAULT_SIZES);
	Writer w;

	writer_open(&w, table, CMD_UPDATE, "INSERT");
	for (int i = 0; i < n; i++)
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		inserted[i] = insert_row(&w, keys[i], items[i]);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	writer_close(&w);
	MemoryContextDelete(context);
}

/* As lock_row() does. */
static bool
delete_row(Writer *w, const DynKeyValues *key, DynItem **old)
{
	while (writer_find(w, key))
	{
		WriteResult result;

		if (old != NULL)
			*old = find_row_item(&w->at);
		result = writer_delete(w, key);
		if (result == WRITE_DONE)
			return true;
		if (result == WRITE_GONE)
			CHECK_FOR_INTERRUPTS();
		writer_new_snapshot();
	}
	return false;
}

/*
 * Deletes the item of a key.  Returns the item, palloc'd, if want_old and there was one; otherwise
 * NULL.
 */
DynItem *
direct_delete(DynTable *table, const DynKeyValues *key, bool want_old)
{
	DynItem *old = NULL;
	Writer w;
	bool done;

	writer_open(&w, table, CMD_DELETE, "DELETE");
	done = delete_row(&w, key, want_old ? &old : NULL);
	writer_close(&w);
	return done ? old : NULL;
}
