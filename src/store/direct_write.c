/*
 * direct_write.c
 *	  Writes of the direct store.
 *
 * As for all of them, direct_write_refusal() has had nothing against the write.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "store/direct.h"
#include "store/plan.h"
#include "store/writer.h"

/*
 * Returns what the direct store has open for writes of one table, in the current memory context.
 * The caller has the relation open and locked.
 */
Writer *
direct_writer(Relation rel, const DynTable *table, bool after_read)
{
	Writer *w = palloc0(sizeof(Writer));

	writer_open(w, rel, table);
	w->at.after_read = after_read;
	return w;
}

/* Closes what direct_writer() has opened. */
void
direct_writer_close(Writer *w)
{
	writer_close(w);
}

/* Returns whether the row that was found is at hand: locked, if that has to come first. */
static bool
at_hand(Writer *w, const DynKeyValues *key, LockTupleMode mode)
{
	return !w->locks_first || writer_lock(w, key, mode);
}

static WriteResult
update_row(Writer *w, const DynRow *row)
{
	WriteResult result = WRITE_GONE;

	if (at_hand(w, &row->key, writer_update_mode(w)))
		result = writer_update(w, row);
	return result == WRITE_MOVED ? writer_update(w, row) : result;
}

/* Inserts or replaces, whatever is there.  False if a trigger has suppressed it. */
static bool
put_row(Writer *w, const DynRow *row)
{
	row = writer_propose(w, row);
	while (row != NULL)
	{
		WriteResult result = WRITE_GONE;

		if (writer_find_any(w, &row->key))
			result = update_row(w, row);
		else if (writer_insert(w, row))
			result = WRITE_DONE;
		if (result == WRITE_DONE || result == WRITE_SUPPRESSED)
			return result == WRITE_DONE;
		CHECK_FOR_INTERRUPTS();
		writer_new_snapshot(w);
	}
	return false;
}

/* Inserts an item, or replaces the one of its key. */
void
direct_put(Writer *w, const DynRow *row)
{
	bool done;

	writer_begin(w, CMD_INSERT, "INSERT");
	done = put_row(w, row);
	writer_end(w);
	store_require_writes(w->at.table, done, 1);
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
	int done = 0;

	writer_begin(w, CMD_INSERT, "INSERT");
	for (int i = 0; i < n; i++)
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		CHECK_FOR_INTERRUPTS();
		done += put_row(w, rows[i]);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	writer_end(w);
	MemoryContextDelete(context);
	store_require_writes(w->at.table, done, n);
}

/* Changes the row that was found; returns false if it is gone, or a trigger suppresses that. */
static bool
change_row(Writer *w, const DynKeyValues *key, StoreChange change, void *arg)
{
	WriteResult result;

	if (!at_hand(w, key, writer_update_mode(w)))
		return false;
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
	done = writer_find(w, key) && change_row(w, key, change, arg);
	writer_end(w);
	return done;
}

/* Replaces an item that this transaction has locked. */
void
direct_replace(Writer *w, const DynRow *row)
{
	bool done;

	writer_begin(w, CMD_UPDATE, "UPDATE");
	done = writer_find(w, &row->key) && update_row(w, row) == WRITE_DONE;
	writer_end(w);
	store_require_writes(w->at.table, done, 1);
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
 * Locks a row.  One that somebody deleted while we waited may be there again; a new snapshot tells.
 */
static bool
lock_row(Writer *w, const DynKeyValues *key, LockTupleMode mode)
{
	while (writer_find(w, key))
	{
		if (writer_lock(w, key, mode))
			return true;
		CHECK_FOR_INTERRUPTS();
		writer_new_snapshot(w);
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

/* Inserts a row.  An item that is there is locked for a replacement. */
static bool
insert_row(Writer *w, const DynRow *row)
{
	row = writer_propose(w, row);
	while (row != NULL)
	{
		if (writer_find_any(w, &row->key))
		{
			if (writer_lock(w, &row->key, writer_update_mode(w)))
				return false;
		}
		else if (writer_insert(w, row))
			return true;
		CHECK_FOR_INTERRUPTS();
		writer_new_snapshot(w);
	}
	return false;
}

/*
 * Inserts an item.  Returns false if there is an item of its key, which is then locked for a
 * replacement, or if a trigger has suppressed the insert.
 */
bool
direct_insert(Writer *w, const DynRow *row)
{
	bool done;

	writer_begin(w, CMD_INSERT, "INSERT");
	done = insert_row(w, row);
	writer_end(w);
	return done;
}

/*
 * Inserts items, and sets inserted[i] to what direct_insert() would return for each.  The keys are
 * distinct and in the order of the primary key.  It is one statement for all, so the table has
 * nothing that would see that.
 */
void
direct_insert_many(Writer *w, int n, const DynRow *const *rows, bool *inserted)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "dynamo_table row", ALLOCSET_DEFAULT_SIZES);

	Assert(!statement_needed(w->at.table, CMD_INSERT));
	writer_begin(w, CMD_INSERT, "INSERT");
	for (int i = 0; i < n; i++)
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		CHECK_FOR_INTERRUPTS();
		inserted[i] = insert_row(w, rows[i]);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	writer_end(w);
	MemoryContextDelete(context);
}

/* Deletes a row, with the loop of lock_row(). */
static bool
delete_row(Writer *w, const DynKeyValues *key, DynItem **old)
{
	while (writer_find(w, key))
	{
		WriteResult result = WRITE_GONE;

		if (at_hand(w, key, LockTupleExclusive))
		{
			if (old != NULL)
				*old = find_row_item(&w->at);
			result = writer_delete(w, key);
		}
		if (result == WRITE_DONE || result == WRITE_SUPPRESSED)
			return result == WRITE_DONE;
		CHECK_FOR_INTERRUPTS();
		writer_new_snapshot(w);
	}
	return false;
}

static bool
delete_once(Writer *w, const DynKeyValues *key, DynItem **old)
{
	bool done;

	writer_begin(w, CMD_DELETE, "DELETE");
	done = delete_row(w, key, old);
	writer_end(w);
	return done;
}

/*
 * Deletes the item of a key.  Returns the item, palloc'd, if want_old and there was one; otherwise
 * NULL.  An item that is still there after a trigger has suppressed the deletion is an error.
 */
DynItem *
direct_delete(Writer *w, const DynKeyValues *key, bool want_old)
{
	DynItem *old = NULL;
	DynItem **returned = want_old ? &old : NULL;

	if (!delete_once(w, key, returned))
	{
		if (!w->at.table->extras.delete_triggers || direct_lock(w, key, STORE_LOCK_DELETE) == NULL)
			return NULL;
		store_require_writes(w->at.table, delete_once(w, key, returned), 1);
	}
	return old;
}

/*
 * Deletes the items of keys, as far as there are any.  The keys are distinct and in the order of
 * the primary key.  It is one statement, as that of direct_insert_many().
 */
void
direct_delete_many(Writer *w, int n, const DynKeyValues *const *keys)
{
	Assert(!statement_needed(w->at.table, CMD_DELETE));
	writer_begin(w, CMD_DELETE, "DELETE");
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		(void) delete_row(w, keys[i], NULL);
	}
	writer_end(w);
}
