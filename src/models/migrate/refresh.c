/*
 * refresh.c
 *	  Items that are made again when rows that they are made of have changed.
 *
 * Two transactions that change rows of one item must not miss each other.  So the item is locked
 * first, and then made from what a new snapshot shows, whatever the isolation level, as foreign
 * keys read their tables: a transaction that had the item before has committed by then, and one
 * that comes later waits and then sees our change.  If there is no item to lock, the unique index
 * does the same: an insert waits for other inserts of its key, and the item is made again after it;
 * an item that must not exist is held absent.
 *
 * Items are locked, read and written by slices.  All items of a slice are locked, inserted or held
 * absent in the order of their keys, before the snapshot is taken by which all of them are made.
 * What is inserted to begin with is a guess, made by an older snapshot.
 *
 * An item that only one row makes, and no other row than that, needs none of this: the transaction
 * has the row locked, or its key.
 *
 * A row may get another key meanwhile.  The transaction that changes the key locks the item of the
 * old key first, and then makes that of the new key.  So a transaction that has found the row by a
 * related row either sees, once it has locked the old item, that the row has left it, and searches
 * again; or the change of the key waits for it.
 *
 * A write of items may fire a trigger that changes followed rows in its turn.  Then the slice is
 * read once more, as what was read before may be older than what that trigger's follower wrote.
 *
 * Conflicts keep PostgreSQL's error codes instead of the store's: a client that writes a followed
 * table retries its transaction when it gets these.
 *
 * Lock order: the migration's lock, rows of the source, items.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/memutils.h"

#include "actions/write.h"
#include "models/migrate/refresh.h"
#include "server/errors.h"

/* So many items are locked, read and written at a time. */
#define SLICE_ITEMS 1000

/*
 * Making items
 */

/* Returns whether this is the row that the item is known by; another row may have its key now. */
static bool
is_row(const Refresh *refresh, HeapTuple tuple, TupleDesc desc)
{
	TupleDesc meant = refresh->step->follow->desc;

	for (int i = 1; i <= refresh->step->nkeys; i++)
	{
		Form_pg_attribute column = TupleDescAttr(meant, i - 1);
		bool isnull;

		if (!datum_image_eq(heap_getattr(refresh->tuple, i, meant, &isnull),
							heap_getattr(tuple, i, desc, &isnull), column->attbyval,
							column->attlen))
			return false;
	}
	return true;
}

/*
 * Raises the error of a row that cannot become an item.  One whose parent is not there may lack just
 * that, and has no item until the parent comes: foreign keys may be deferred, or missing.
 */
static void
check_row(const Refresh *refresh, const MigrationRow *row)
{
	const char *why = refresh->found > 1 ? "another row makes it already" : row->message;

	if (refresh->found > 1 || (row->problem == ROW_ERROR && !row->is_orphan))
		ereport(ERROR,
				(errcode(refresh->found > 1 ? ERRCODE_UNIQUE_VIOLATION : ERRCODE_DYN_VALIDATION),
				 errmsg("row %s cannot become an item: %s",
						row_name(refresh->step, row->tuple, row->desc), why)));
}

/*
 * Takes a row that makes the item now.  A row that is found by the step's key may make another item
 * by now, if the item's key has more attributes.
 */
static void
take_row(const Change *change, Refresh *refresh, HeapTuple tuple, TupleDesc desc, bool guess)
{
	MigrationRow row;

	refresh->found++;
	row_build(row_builder(refresh->step, change->rel, change->table), tuple, desc, &row);
	if (!guess)
		check_row(refresh, &row);
	refresh->moved = !is_row(refresh, tuple, desc);
	refresh->made = row.item;
	if (row.item != NULL && store_key_compare(change->table, &row.key, &refresh->key) != 0)
	{
		refresh->moved = true;
		refresh->made = NULL;
	}
}

/* Returns values by which rows are found: the step's key, or all that makes the item's key. */
static Datum *
row_values(const StepFollow *follow, const MigrationStep *step, Refresh *const *refreshes, int n)
{
	int first = follow->is_told ? 0 : step->nkeys;
	Several several;

	several_init(&several, follow->is_told ? step->nkeys : follow->desc->natts - first, n);
	for (int k = 0; k < several.ncolumns; k++)
	{
		several.types[k] = TupleDescAttr(follow->desc, first + k)->atttypid;
		for (int i = 0; i < n; i++)
			several.values[k][i] = heap_getattr(refreshes[i]->tuple, first + k + 1, follow->desc,
												&several.nulls[k][i]);
	}
	several.n = n;
	return several_arrays(&several, 0, n);
}

/* Makes items of one step. */
static void
make_step_items(const Change *change, MigrationStep *step, Refresh **refreshes, int n, bool guess)
{
	const StepFollow *follow = step_follow(step);
	SelectOptions options = {.which = follow->is_told ? SELECT_EACH : SELECT_SAME};
	int nest = migration_enter();

	for (int i = 0; i < n; i++)
	{
		refreshes[i]->found = 0;
		refreshes[i]->moved = true;
		refreshes[i]->made = NULL;
	}
	step_execute(step, &options, row_values(follow, step, refreshes, n));
	for (uint64 i = 0; i < SPI_tuptable->numvals; i++)
	{
		HeapTuple tuple = SPI_tuptable->vals[i];
		TupleDesc desc = SPI_tuptable->tupdesc;
		bool isnull;
		int64 ordinal = DatumGetInt64(heap_getattr(tuple, desc->natts, desc, &isnull));

		CHECK_FOR_INTERRUPTS();
		take_row(change, refreshes[ordinal - 1], tuple, desc, guess);
	}
	SPI_freetuptable(SPI_tuptable);
	migration_leave(nest);
}

/* Makes items as they have to be by what is committed now.  A guess has no errors. */
static void
make_items(const Change *change, Refresh *const *slice, int n, bool guess)
{
	Refresh **refreshes = palloc(n * sizeof(Refresh *));

	for (int s = 0; s < change->migration->nsteps; s++)
	{
		MigrationStep *step = &change->migration->steps[s];
		int nstep = 0;

		for (int i = 0; i < n; i++)
		{
			if (slice[i]->step == step && (!guess || step_follow(step)->is_shared))
				refreshes[nstep++] = slice[i];
		}
		if (nstep > 0)
			make_step_items(change, step, refreshes, nstep, guess);
	}
}

/*
 * Writing
 */

static bool
same_item(const DynItem *a, const DynItem *b)
{
	return a == NULL || b == NULL ? a == b : item_compare_bytes(item_root(a), item_root(b)) == 0;
}

static void
set_stored(Refresh *refresh, const DynItem *item)
{
	refresh->is_known = true;
	refresh->stored = item;
}

/* Writes the items that are not stored already as they were made. */
static void
write_items(ItemWriter *writer, Refresh *const *slice, int n)
{
	ItemWrite *writes = palloc(n * sizeof(ItemWrite));
	ItemWrite **puts = palloc(n * sizeof(ItemWrite *));
	ItemWrite **deletes = palloc(n * sizeof(ItemWrite *));
	int nputs = 0;
	int ndeletes = 0;

	for (int i = 0; i < n; i++)
	{
		Refresh *refresh = slice[i];

		CHECK_FOR_INTERRUPTS();
		if (refresh->is_known && same_item(refresh->stored, refresh->made))
			continue;
		writes[i] = (ItemWrite){.key = refresh->key};
		if (refresh->made != NULL)
		{
			write_prepare(writer, refresh->made, &writes[i]);
			puts[nputs++] = &writes[i];
		}
		else
			deletes[ndeletes++] = &writes[i];
		set_stored(refresh, refresh->made);
	}
	if (ndeletes > 0)
		write_delete_many(writer, ndeletes, deletes);
	if (nputs > 0)
		write_put_many(writer, nputs, puts);
}

/*
 * Locking
 */

/*
 * Inserts the items of a run, as they are guessed to be.  The insert waits for transactions that
 * have inserted the key or hold it absent; an item that is there is locked.
 */
static void
insert_run(ItemWriter *writer, Refresh *const *run, int n)
{
	ItemWrite *writes = palloc(n * sizeof(ItemWrite));
	ItemWrite **inserts = palloc(n * sizeof(ItemWrite *));
	bool *inserted = palloc(n * sizeof(bool));

	for (int i = 0; i < n; i++)
	{
		write_prepare(writer, run[i]->made, &writes[i]);
		inserts[i] = &writes[i];
	}
	write_insert_many(writer, n, inserts, inserted);
	for (int i = 0; i < n; i++)
	{
		if (inserted[i])
			set_stored(run[i], run[i]->made);
	}
}

/* Locks an item, or holds it absent.  Returns the item. */
static DynItem *
lock_or_hold(ItemWriter *writer, const Refresh *refresh)
{
	ItemWrite write = {.key = refresh->key};

	while (write_lock(writer, &write, STORE_LOCK_REPLACE) == NULL &&
		   !write_hold_absent(writer, &write, refresh->item))
		CHECK_FOR_INTERRUPTS();
	return write.old;
}

/* Returns how many refreshes at the beginning are of items that other rows make as well. */
static int
count_guessed(Refresh *const *slice, int n)
{
	int run = 0;

	while (run < n && step_follow(slice[run]->step)->is_shared && slice[run]->made != NULL)
		run++;
	return run;
}

/* Locks the items of a slice in the order of their keys. */
static void
lock_items(const Change *change, ItemWriter *writer, Refresh *const *slice, int n)
{
	bool guessed = false;

	for (int i = 0; i < n;)
	{
		ItemWrite write = {.key = slice[i]->key};
		int run;

		CHECK_FOR_INTERRUPTS();
		if (!step_follow(slice[i]->step)->is_shared)
		{
			i++;
			continue;
		}
		if (!guessed && write_lock(writer, &write, STORE_LOCK_REPLACE) == NULL)
		{
			/* more are likely to be missing */
			make_items(change, slice + i, n - i, true);
			guessed = true;
		}
		run = guessed ? count_guessed(slice + i, n - i) : 0;
		if (run > 0)
			insert_run(writer, slice + i, run);
		else
			set_stored(slice[i], guessed ? lock_or_hold(writer, slice[i]) : write.old);
		i += Max(run, 1);
	}
}

static void
refresh_slice(const Change *change, Refresh *const *slice, int n)
{
	ItemWriter writer;
	uint64 calls;

	write_open(&writer, &(FrontCall){.rel = change->rel, .table = change->table});
	writer.plain_conflicts = true;
	lock_items(change, &writer, slice, n);
	do
	{
		calls = follower_calls;
		make_items(change, slice, n, false);
		write_items(&writer, slice, n);
	} while (calls != follower_calls);
	write_close(&writer);
}

/*
 * All items of a change
 */

static int
compare_refreshes(const void *a, const void *b, void *table)
{
	const Refresh *one = *(Refresh *const *) a;
	const Refresh *other = *(Refresh *const *) b;

	if (one->is_old != other->is_old)
		return one->is_old ? -1 : 1;
	return store_key_compare(table, &one->key, &other->key);
}

/*
 * Sorts refreshes.  Old keys come first; otherwise the order is that of all writes, so that changes
 * do not deadlock.  Of refreshes of one item, one is kept.  Returns their number.
 */
static int
sort_refreshes(const Change *change, const List *refreshes, Refresh ***result)
{
	int n = list_length(refreshes);
	Refresh **sorted = MemoryContextAllocHuge(CurrentMemoryContext, Max(n, 1) * sizeof(Refresh *));
	int kept = 0;

	for (int i = 0; i < n; i++)
		sorted[i] = list_nth(refreshes, i);
	qsort_arg(sorted, n, sizeof(Refresh *), compare_refreshes, change->table);
	for (int i = 0; i < n; i++)
	{
		if (kept > 0 && compare_refreshes(&sorted[kept - 1], &sorted[i], change->table) == 0)
		{
			if (sorted[kept - 1]->by == NULL)
				sorted[kept - 1]->by = sorted[i]->by;
		}
		else
			sorted[kept++] = sorted[i];
	}
	*result = sorted;
	return kept;
}

/* Refreshes by slices.  None has an item twice, since old keys and others are in different ones. */
static void
refresh_sorted(const Change *change, Refresh **sorted, int n)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "migration slice", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);

	for (int first = 0, end = 0; first < n; first = end)
	{
		while (end < n && end - first < SLICE_ITEMS && sorted[end]->is_old == sorted[first]->is_old)
			end++;
		refresh_slice(change, sorted + first, end - first);
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/*
 * Refreshes rows that move.  A transaction that gives a row another key makes the new item without
 * our change, which it does not see.  After we have waited for it, we find that the row has left
 * the item that we knew, and search for the rows again.  An item that was made in an earlier round
 * is not made again: its row has not moved since, or the transaction that moves it waits for us.
 */
static void
refresh_moved(const Change *change, const Referring *by)
{
	Refresh **before = NULL;
	int nbefore = 0;
	bool moved = true;

	while (moved)
	{
		Refresh **sorted;
		int n = sort_refreshes(change, change_find_referring(change, by, NIL), &sorted);
		Refresh **fresh = palloc_extended(Max(n, 1) * sizeof(Refresh *), MCXT_ALLOC_HUGE);
		int nfresh = 0;

		for (int i = 0; i < n; i++)
		{
			if (nbefore == 0 || bsearch_arg(&sorted[i], before, nbefore, sizeof(Refresh *),
											compare_refreshes, change->table) == NULL)
				fresh[nfresh++] = sorted[i];
		}
		refresh_sorted(change, fresh, nfresh);
		moved = false;
		for (int i = 0; i < nfresh; i++)
			moved |= fresh[i]->moved;
		before = sorted;
		nbefore = n;
	}
}

/* Makes the items of change->refreshes again. */
void
change_refresh(Change *change)
{
	Refresh **sorted;
	int n = sort_refreshes(change, change->refreshes, &sorted);
	List *moved = NIL;
	ListCell *cell;

	refresh_sorted(change, sorted, n);
	for (int i = 0; i < n; i++)
	{
		if (sorted[i]->by != NULL && sorted[i]->moved)
			moved = list_append_unique_ptr(moved, (void *) sorted[i]->by);
	}
	foreach (cell, moved)
		refresh_moved(change, lfirst(cell));
}
