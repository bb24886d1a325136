/*
 * row.c
 *	  Rows of the direct store: inserted, replaced and deleted.
 *
 * A row is written as the executor writes it, but for the table's own indexes, of which only those
 * are opened that get an entry.  What users have added to the table is obeyed by the writer's
 * statement; see statement.h.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/xact.h"
#include "executor/executor.h"
#include "storage/lmgr.h"
#include "utils/datum.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "catalog/carried.h"
#include "catalog/unchanged.h"
#include "catalog/vector.h"
#include "store/writer.h"

/*
 * The row that is to be
 */

/* Begins with nothing: dropped columns, and those that are not given. */
static void
begin_empty(TupleTableSlot *slot)
{
	ExecClearTuple(slot);
	memset(slot->tts_isnull, true, slot->tts_tupleDescriptor->natts * sizeof(bool));
}

/* Begins with the row that was found, whose other columns stay. */
static void
begin_changed(Writer *w, TupleTableSlot *slot)
{
	TupleDesc desc = slot->tts_tupleDescriptor;

	ExecClearTuple(slot);
	slot_getallattrs(w->at.row);
	memcpy(slot->tts_values, w->at.row->tts_values, desc->natts * sizeof(Datum));
	memcpy(slot->tts_isnull, w->at.row->tts_isnull, desc->natts * sizeof(bool));
	for (int i = 0; i < desc->natts; i++)
		slot->tts_isnull[i] |= TupleDescAttr(desc, i)->attisdropped;
}

/* Fills in the item, and the first columns that are derived from it. */
static void
row_fill(const Writer *w, const DynRow *row, int ncolumns, TupleTableSlot *slot)
{
	slot->tts_values[w->at.table->item_attnum - 1] = PointerGetDatum(row->item);
	slot->tts_isnull[w->at.table->item_attnum - 1] = false;
	for (int i = 0; i < ncolumns; i++)
	{
		AttrNumber attnum = w->at.table->keys[i].attnum;

		slot->tts_values[attnum - 1] = row->values[i];
		slot->tts_isnull[attnum - 1] = row->nulls[i];
	}
	ExecStoreVirtualTuple(slot);
}

/*
 * Keeps the bytes of columns that stay as they are: heap compares these to see what an update
 * changes, and a compressed value is not the same as the value.  Columns that a tolerated problem
 * concerns stay as they are, too; the derive trigger sees to them, where it has been called.
 */
static void
keep_columns(Writer *w, const bool *troubled)
{
	for (int i = w->at.table->ncolumns - 1; i >= 0; i--)
	{
		AttrNumber attnum = w->at.table->keys[i].attnum;
		Datum *new = &w->new->tts_values[attnum - 1];
		bool *new_null = &w->new->tts_isnull[attnum - 1];
		bool isnull;
		Datum old = slot_getattr(w->at.row, attnum, &isnull);

		w->kept[i] = (troubled != NULL && troubled[i]) ||
					 (!isnull && !*new_null && datum_image_eq(old, *new, false, -1));
		if (w->kept[i])
		{
			*new = old;
			*new_null = isnull;
		}
	}
}

/*
 * Entries of the table's own indexes
 */

/* This is an entry of a btree; what it carries comes last. */
typedef struct Entry
{
	Datum values[DYN_MAX_INDEX_COLUMNS + 1];
	bool nulls[DYN_MAX_INDEX_COLUMNS + 1];
} Entry;

/* Returns false if the index is to have no entry. */
static bool
fill_entry(const Writer *w, const DynIndex *index, Entry *entry)
{
	for (int i = 0; i < index->ncolumns; i++)
	{
		AttrNumber attnum = dyn_index_key(w->at.table, index, i)->attnum;

		if (w->new->tts_isnull[attnum - 1])
			return false;
		entry->values[i] = w->new->tts_values[attnum - 1];
		entry->nulls[i] = false;
	}
	if (index->carried != NULL)
	{
		AttrNumber attnum = w->at.table->keys[index->carried_column].attnum;

		entry->values[index->ncolumns] = w->new->tts_values[attnum - 1];
		entry->nulls[index->ncolumns] = w->new->tts_isnull[attnum - 1];
	}
	return true;
}

static bool
add_entry(Writer *w, Relation btree, Entry *entry, IndexUniqueCheck check, bool unchanged)
{
	return index_insert(btree, entry->values, entry->nulls, &w->new->tts_tid, w->at.rel, check,
						unchanged, w->index_info);
}

static bool
add_primary_entry(Writer *w, IndexUniqueCheck check, bool unchanged)
{
	Entry entry;

	fill_entry(w, &w->at.table->primary, &entry);
	return add_entry(w, w->at.primary, &entry, check, unchanged);
}

/*
 * Returns whether the columns of an index, which are all there, are kept: a hint to be rid of old
 * entries.  As in the executor, columns that are only included do not count.
 */
static bool
is_unchanged(const Writer *w, const DynIndex *index)
{
	for (int i = 0; i < index->ncolumns; i++)
	{
		if (!w->kept[index->columns[i]])
			return false;
	}
	return true;
}

/* Adds entries of all secondary indexes; of an update, it says which have not changed. */
static void
add_entries(Writer *w, bool update)
{
	for (int i = 0; i < w->at.table->nbtrees; i++)
	{
		const DynIndex *index = w->at.table->btrees[i];
		Entry entry;

		if (!fill_entry(w, index, &entry))
			continue;
		if (w->btrees[i] == NULL)
			w->btrees[i] = index_open(index->relid, RowExclusiveLock);
		add_entry(w, w->btrees[i], &entry, UNIQUE_CHECK_NO, update && is_unchanged(w, index));
	}
}

/* Writes what the vector indexes of a shard have of an item: no trigger does. */
static void
write_vectors(const Writer *w, const DynKeyValues *key, TupleTableSlot *row)
{
	bool isnull;

	if (w->at.table->shard && w->at.table->nvectors > 0)
		dyn_vectors_write(
			w->at.rel, w->at.table, key,
			row == NULL ? NULL
						: DatumGetDynItem(slot_getattr(row, w->at.table->item_attnum, &isnull)));
}

/*
 * Inserts
 */

/* Reads what triggers have left of a row; its key is the same, or the derive trigger refuses it. */
static const DynRow *
read_proposed(const Writer *w, const DynRow *given)
{
	const TupleTableSlot *slot = w->proposed;
	const DynTable *table = w->at.table;
	DynRow *row = palloc(sizeof(DynRow));

	*row = *given;
	row->item = (const DynItem *) DatumGetPointer(slot->tts_values[table->item_attnum - 1]);
	row->values = palloc(table->ncolumns * sizeof(Datum));
	row->nulls = palloc(table->ncolumns * sizeof(bool));
	for (int i = 0; i < table->ncolumns; i++)
	{
		row->values[i] = slot->tts_values[table->keys[i].attnum - 1];
		row->nulls[i] = slot->tts_isnull[table->keys[i].attnum - 1];
	}
	return row;
}

/*
 * Begins the insert of a row: its defaults, the triggers before it, its constraints.  This comes
 * before a row of its key is looked for, as in INSERT … ON CONFLICT.  Returns the row as triggers
 * have left it, until the next one is proposed; NULL if they have suppressed it.
 */
const DynRow *
writer_propose(Writer *w, const DynRow *row)
{
	const DynTable *table = w->at.table;
	bool rewritten = table->extras.before_insert;

	if (w->statement == NULL)
		return row;
	statement_row(w->statement);
	w->new = w->proposed;
	begin_empty(w->new);
	/* the derive trigger, which is called with the others, sets the columns of indexes */
	row_fill(w, row, rewritten ? table->nkeys : table->ncolumns, w->new);
	statement_defaults(w->statement, w->new);
	if (rewritten && statement_before_insert(w->statement, &row->key, w->new) == BEFORE_SUPPRESSED)
		return NULL;
	statement_check(w->statement, CMD_INSERT, w->new);
	return rewritten ? read_proposed(w, row) : row;
}

/*
 * Inserts the row that was proposed.  Returns false if by now there is one of its key, or another
 * session is about to insert it.  A speculative insertion leaves nothing behind then, and a session
 * that meets it waits for its end only.
 */
bool
writer_insert(Writer *w, const DynRow *row)
{
	TransactionId xid = GetCurrentTransactionId();
	List *recheck = NIL;
	uint32 token;
	bool done;

	w->new = w->proposed;
	if (w->statement == NULL)
	{
		begin_empty(w->new);
		row_fill(w, row, w->at.table->ncolumns, w->new);
	}
	token = SpeculativeInsertionLockAcquire(xid);
	table_tuple_insert_speculative(w->at.rel, w->new, w->command, 0, NULL, token);
	done = add_primary_entry(w, UNIQUE_CHECK_PARTIAL, false);
	if (done)
		add_entries(w, false);
	if (done && w->statement != NULL)
		recheck = statement_add_entries(w->statement, w->new);
	table_tuple_complete_speculative(w->at.rel, w->new, token, done);
	SpeculativeInsertionLockRelease(xid);
	if (done && w->statement != NULL)
		statement_inserted(w->statement, w->new, recheck);
	if (done)
		write_vectors(w, &row->key, w->new);
	return done;
}

/*
 * Updates
 */

/* Locks the row that was found, as replacing it would do, and meets whoever replaces it. */
static WriteResult
keep_row(Writer *w, const DynKeyValues *key)
{
	LockTupleMode mode = writer_update_mode(w);
	TM_FailureData failure;
	TM_Result result = writer_lock_version(w, mode, 0, &failure);

	if (result == TM_Ok)
		dyn_row_kept(w->at.rel, ExecFetchSlotHeapTuple(w->at.row, false, NULL));
	return writer_resolve(w, key, result, &failure, mode, "updated");
}

static WriteResult
row_replace(Writer *w, const DynKeyValues *key)
{
	ItemPointerData tid = w->at.row->tts_tid;
	UpdateIndexes indexes;
	LockTupleMode mode;
	TM_FailureData failure;
	List *recheck;
	TM_Result result = update_version(w->at.rel, &tid, w->new, w->command, GetActiveSnapshot(),
									  &failure, &mode, &indexes);

	if (result != TM_Ok)
		return writer_resolve(w, key, result, &failure, mode, "updated");
	if (indexes == ALL_INDEXES_TO_UPDATE)
	{
		add_primary_entry(w, UNIQUE_CHECK_YES, true);
		add_entries(w, true);
	}
	if (w->statement != NULL)
	{
		recheck = statement_renew_entries(w->statement, w->new, indexes);
		statement_updated(w->statement, &w->at.row->tts_tid, w->new, recheck);
	}
	write_vectors(w, key, w->new);
	return WRITE_DONE;
}

/*
 * Replaces a row that triggers before an update may rewrite: they get it with the new item, and the
 * derive trigger, which is one of them, does the rest.
 */
static WriteResult
replace_rewritten(Writer *w, const DynRow *row)
{
	row_fill(w, row, 0, w->new);
	switch (statement_before_update(w->statement, &w->at.row->tts_tid, w->new))
	{
		case BEFORE_KEPT:
			return WRITE_DONE;
		case BEFORE_SUPPRESSED:
			return WRITE_SUPPRESSED;
		case BEFORE_GO_ON:
			break;
	}
	statement_check(w->statement, CMD_UPDATE, w->new);
	keep_columns(w, NULL);
	return row_replace(w, &row->key);
}

/* Replaces the row that was found, which is locked if the writer locks first. */
WriteResult
writer_update(Writer *w, const DynRow *row)
{
	w->new = w->changed;
	if (w->statement != NULL || w->at.table->extras.columns)
		begin_changed(w, w->new);
	else
		begin_empty(w->new);
	if (w->statement != NULL && w->at.table->extras.before_update)
		return replace_rewritten(w, row);
	row_fill(w, row, w->at.table->ncolumns, w->new);
	keep_columns(w, row->troubled);
	slot_getallattrs(w->at.row);
	if (dyn_row_unchanged(RelationGetDescr(w->at.rel), w->at.row->tts_values, w->at.row->tts_isnull,
						  w->new->tts_values, w->new->tts_isnull))
		return keep_row(w, &row->key);
	if (w->statement != NULL)
		statement_check(w->statement, CMD_UPDATE, w->new);
	return row_replace(w, &row->key);
}

/* Deletes the row that was found, which is locked if the writer locks first. */
WriteResult
writer_delete(Writer *w, const DynKeyValues *key)
{
	ItemPointerData tid = w->at.row->tts_tid;
	TM_FailureData failure;
	TM_Result result;

	if (w->statement != NULL)
	{
		statement_row(w->statement);
		if (w->at.table->extras.before_delete &&
			statement_before_delete(w->statement, &tid) == BEFORE_SUPPRESSED)
			return WRITE_SUPPRESSED;
	}
	result = delete_version(w->at.rel, &tid, w->command, GetActiveSnapshot(), &failure);
	if (result == TM_Ok && w->statement != NULL)
		statement_deleted(w->statement, &tid);
	if (result == TM_Ok)
		write_vectors(w, key, NULL);
	return writer_resolve(w, key, result, &failure, LockTupleExclusive, "deleted");
}
