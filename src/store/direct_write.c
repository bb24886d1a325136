/*
 * direct_write.c
 *	  Writes of the direct store.
 *
 * As for all of them, direct_may_write() has allowed the write.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "store/direct.h"
#include "store/writer.h"

/*
 * Returns what the direct store has open for writes of one table, in the current memory context.
 * The caller has the relation open and locked.
 */
Writer *
direct_writer(Relation rel, const DynTable *table)
{
	Writer *w = palloc0(sizeof(Writer));

	writer_open(w, rel, table);
	return w;
}

/* Closes what direct_writer() has opened. */
void
direct_writer_close(Writer *w)
{
	writer_close(w);
}

/* Insert or replace, whatever is there. */
static void
put_row(Writer *w, const DynRow *row)
{
	for (;;)
	{
		if (!writer_find_any(w, &row->key))
		{
			if (writer_insert(w, row))
				return;
		}
		else
		{
			WriteResult result = writer_update(w, row);

			if (result == WRITE_MOVED)
				result = writer_update(w, row);
			if (result == WRITE_DONE)
				return;
		}
		CHECK_FOR_INTERRUPTS();
		writer_new_snapshot();
	}
}

/* Inserts an item, or replaces the one of its key. */
void
direct_put(Writer *w, const DynRow *row)
{
	writer_begin(w, CMD_UPDATE, "INSERT");
	put_row(w, row);
	writer_end(w);
}

/*
 * Inserts items, or replaces those of their keys.  The keys are distinct and in the order of the
 * primary key, so that concurrent calls do not deadlock.
 */
void
direct_put_many(Writer *w, int n, const DynRow *const *rows)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "dynamo_table row", ALLOCSET_DEFAULT_SIZES);

	writer_begin(w, CMD_UPDATE, "INSERT");
	for (int i = 0; i < n; i++)
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		put_row(w, rows[i]);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	writer_end(w);
	MemoryContextDelete(context);
}

/* By what the change makes of the row that was found; false if it is gone. */
static bool
change_row(Writer *w, StoreChange change, void *arg)
{
	WriteResult result;

	do
		result = writer_update(w, change(find_row_item(&w->at), arg));
	while (result == WRITE_MOVED);
	return result == WRITE_DONE;
}

/*
 * Replaces the item of a key by what change() returns for it; change() is called again if another
 * transaction has replaced the item meanwhile.  Returns false if there is no item of that key.
 */
bool
direct_change(Writer *w, const DynKeyValues *key, StoreChange change, void *arg)
{
	bool done;

	writer_begin(w, CMD_UPDATE, "UPDATE");
	done = writer_find(w, key) && change_row(w, change, arg);
	writer_end(w);
	return done;
}

/* Replaces an item that this transaction has locked; it is an internal error if there is none. */
void
direct_replace(Writer *w, const DynRow *row)
{
	writer_begin(w, CMD_UPDATE, "UPDATE");
	if (!writer_find(w, &row->key) || writer_update(w, row) != WRITE_DONE)
		elog(ERROR, "a row has vanished while it was locked");
	writer_end(w);
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
 * What somebody deleted while we waited may be there again by now, and a new snapshot tells.
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
direct_lock(Writer *w, const DynKeyValues *key, StoreLock lock)
{
	static const char *const names[] = {"SELECT FOR NO KEY UPDATE", "SELECT FOR UPDATE",
										"SELECT FOR SHARE"};
	DynItem *item = NULL;

	writer_begin(w, CMD_SELECT, names[lock]);
	if (lock_row(w, key, lock_mode(lock)))
		item = find_row_item(&w->at);
	writer_end(w);
	return item;
}

/* An item that is there is locked for a replacement. */
static bool
insert_row(Writer *w, const DynRow *row)
{
	for (;;)
	{
		if (writer_find_any(w, &row->key))
		{
			if (writer_lock(w, &row->key, LockTupleNoKeyExclusive))
				return false;
		}
		else if (writer_insert(w, row))
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
direct_insert(Writer *w, const DynRow *row)
{
	bool done;

	writer_begin(w, CMD_UPDATE, "INSERT");
	done = insert_row(w, row);
	writer_end(w);
	return done;
}

/*
 * Inserts items, and sets inserted[i] to what direct_insert() would return for each.  The keys are
 * distinct and in the order of the primary key.
 */
void
direct_insert_many(Writer *w, int n, const DynRow *const *rows, bool *inserted)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "dynamo_table row", ALLOCSET_DEFAULT_SIZES);

	writer_begin(w, CMD_UPDATE, "INSERT");
	for (int i = 0; i < n; i++)
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		inserted[i] = insert_row(w, rows[i]);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	writer_end(w);
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
direct_delete(Writer *w, const DynKeyValues *key, bool want_old)
{
	DynItem *old = NULL;
	bool done;

	writer_begin(w, CMD_DELETE, "DELETE");
	done = delete_row(w, key, want_old ? &old : NULL);
	writer_end(w);
	return done ? old : NULL;
}

/*
 * Deletes the items of keys, as far as there are any.  The keys are distinct and in the order of
 * the primary key.
 */
void
direct_delete_many(Writer *w, int n, const DynKeyValues *const *keys)
{
	writer_begin(w, CMD_DELETE, "DELETE");
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		(void) delete_row(w, keys[i], NULL);
	}
	writer_end(w);
}
