/*
 * writer.c
 *	  Rows of the direct store: found, locked, inserted, replaced and deleted.
 *
 * Follows what the executor does for INSERT … ON CONFLICT, UPDATE, DELETE and SELECT … FOR UPDATE
 * of one row, so that both stores may write to one table at the same time.  A row is found under a
 * snapshot of its own, as every statement has one.  At the higher isolation levels a version that
 * this snapshot does not show ends the transaction.
 *
 * Lock order: the table is locked already; then the indexes; then the row.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/datum.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "catalog/unchanged.h"
#include "ground/compat.h"
#include "store/writer.h"

/*
 * Opens what every write needs.  The caller has the relation open and locked.  Several statements
 * may follow each other, each between writer_begin() and writer_end().
 */
void
writer_open(Writer *w, Relation rel, const DynTable *table)
{
	w->at.table = table;
	w->at.rel = rel;
	w->at.primary = index_open(table->primary.relid, RowExclusiveLock);
	w->btrees = palloc0(table->nbtrees * sizeof(Relation));
	/* btree looks at nothing in it */
	w->index_info = makeNode(IndexInfo);
	w->at.row = table_slot_create(rel, NULL);
	w->new = MakeSingleTupleTableSlot(RelationGetDescr(rel), &TTSOpsVirtual);
}

/* Locks stay until the transaction ends. */
void
writer_close(Writer *w)
{
	ExecDropSingleTupleTableSlot(w->new);
	ExecDropSingleTupleTableSlot(w->at.row);
	for (int i = 0; i < w->at.table->nbtrees; i++)
	{
		if (w->btrees[i] != NULL)
			index_close(w->btrees[i], NoLock);
	}
	index_close(w->at.primary, NoLock);
}

/*
 * Begins a statement.  The command is the worst that may be done to a row; the name is what the SQL
 * statement would be called.
 */
void
writer_begin(Writer *w, CmdType command, const char *name)
{
	if (!w->at.rel->rd_islocaltemp)
		PreventCommandIfReadOnly(name);
	PreventCommandIfParallelMode(name);
	CheckCmdReplicaIdentity(w->at.rel, command);
	/* what this transaction did before is to be seen */
	CommandCounterIncrement();
	PushActiveSnapshot(GetTransactionSnapshot());
	w->command = GetCurrentCommandId(true);
}

/* Ends a statement: its snapshot, and the rows that it had in hand. */
void
writer_end(Writer *w)
{
	ExecClearTuple(w->at.row);
	ExecClearTuple(w->new);
	PopActiveSnapshot();
}

/* After a wait for somebody else. */
void
writer_new_snapshot(void)
{
	PopActiveSnapshot();
	PushActiveSnapshot(GetTransactionSnapshot());
}

/*
 * Finding
 */

/* The row of that key that the snapshot shows. */
bool
writer_find(Writer *w, const DynKeyValues *key)
{
	return find_row(&w->at, GetActiveSnapshot(), key);
}

/* At the higher isolation levels nobody may act on what his snapshot does not show. */
static void
require_visible(const Writer *w)
{
	bool isnull;
	Datum xmin;

	if (!IsolationUsesXactSnapshot() ||
		table_tuple_satisfies_snapshot(w->at.rel, w->at.row, GetActiveSnapshot()))
		return;
	xmin = slot_getsysattr(w->at.row, MinTransactionIdAttributeNumber, &isnull);
	if (!TransactionIdIsCurrentTransactionId(DatumGetTransactionId(xmin)))
		ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
						errmsg("could not serialize access due to concurrent update")));
}

/* By the descent that also finds the place of a row that is to be inserted. */
static FindResult
probe(Writer *w, Snapshot dirty, const DynKeyValues *key)
{
	FindResult result;
	DynProbe probe;

	if (!dyn_placement_probe(w->at.rel, w->at.primary, key->values, &probe))
		return FIND_UNSURE;
	result = find_row_by_entries(&w->at, dirty, key, &probe.neighbours);
	if (result == FIND_NONE)
		dyn_placement_offer(&probe);
	return result;
}

/*
 * The row of that key that an insert would meet, whoever sees it; whoever is about to insert or
 * delete it is waited for.
 */
bool
writer_find_any(Writer *w, const DynKeyValues *key)
{
	SnapshotData dirty;
	FindResult result;

	InitDirtySnapshot(dirty);
	result = probe(w, &dirty, key);
	while (result != FIND_NONE)
	{
		TransactionId wait;

		if (result == FIND_UNSURE && !find_row_by_scan(&w->at, &dirty, key))
			return false;
		wait = TransactionIdIsValid(dirty.xmin) ? dirty.xmin : dirty.xmax;
		if (!TransactionIdIsValid(wait))
		{
			require_visible(w);
			return true;
		}
		if (dirty.speculativeToken != 0)
			SpeculativeInsertionWait(dirty.xmin, dirty.speculativeToken);
		else
			XactLockTableWait(wait, w->at.rel, &w->at.row->tts_tid, XLTW_InsertIndex);
		CHECK_FOR_INTERRUPTS();
		result = FIND_UNSURE;
	}
	return false;
}

/*
 * Locking
 */

static void
forbid_conflict(const char *what)
{
	if (IsolationUsesXactSnapshot())
		ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
						errmsg("could not serialize access due to concurrent %s", what)));
}

/* The version that is locked then is the row found. */
static TM_Result
lock_version(Writer *w, LockTupleMode mode, uint8 flags, TM_FailureData *failure)
{
	ItemPointerData tid = w->at.row->tts_tid;

	return table_tuple_lock(w->at.rel, &tid, GetActiveSnapshot(), w->at.row, w->command, mode,
							LockWaitBlock, flags, failure);
}

/*
 * Lock the newest version of the row that was found, which then is the row found.  False if it is
 * deleted.
 */
bool
writer_lock(Writer *w, const DynKeyValues *key, LockTupleMode mode)
{
	uint8 flags = TUPLE_LOCK_FLAG_LOCK_UPDATE_IN_PROGRESS;
	TM_FailureData failure;
	TM_Result result;

	if (!IsolationUsesXactSnapshot())
		flags |= TUPLE_LOCK_FLAG_FIND_LAST_VERSION;
	result = lock_version(w, mode, flags, &failure);
	switch (result)
	{
		case TM_Ok:
			/* by somebody's plain UPDATE with the trigger disabled it may have another key */
			return !failure.traversed || find_row_has_key(&w->at, key);
		case TM_Updated:
			forbid_conflict("update");
			elog(ERROR, "the newest version of a row was replaced while it was locked");
			return false;
		case TM_Deleted:
			forbid_conflict("update");
			return false;
		default:
			elog(ERROR, "unexpected table_tuple_lock status: %u", result);
	}
}

/* What comes of a write that met another one. */
static WriteResult
resolve(Writer *w, const DynKeyValues *key, TM_Result result, LockTupleMode mode)
{
	switch (result)
	{
		case TM_Ok:
			return WRITE_DONE;
		case TM_Updated:
			forbid_conflict("update");
			return writer_lock(w, key, mode) ? WRITE_MOVED : WRITE_GONE;
		case TM_Deleted:
			forbid_conflict("delete");
			return WRITE_GONE;
		default:
			elog(ERROR, "unexpected status of a write: %u", result);
	}
}

/*
 * Writing
 */

/* The row that is to be. */
static void
fill_new(Writer *w, const DynRow *row)
{
	TupleTableSlot *slot = w->new;

	ExecClearTuple(slot);
	/* dropped columns */
	memset(slot->tts_isnull, true, slot->tts_tupleDescriptor->natts * sizeof(bool));
	slot->tts_values[w->at.table->item_attnum - 1] = PointerGetDatum(row->item);
	slot->tts_isnull[w->at.table->item_attnum - 1] = false;
	for (int i = 0; i < w->at.table->ncolumns; i++)
	{
		AttrNumber attnum = w->at.table->keys[i].attnum;

		slot->tts_values[attnum - 1] = row->values[i];
		slot->tts_isnull[attnum - 1] = row->nulls[i];
	}
	ExecStoreVirtualTuple(slot);
}

/*
 * Columns that stay as they are keep their bytes: heap compares these to see what an update changes,
 * and a compressed value is not the same as the value.  Columns that a tolerated problem concerns
 * stay as they are, too.
 */
static void
keep_columns(Writer *w, const DynRow *row)
{
	for (int i = w->at.table->ncolumns - 1; i >= 0; i--)
	{
		AttrNumber attnum = w->at.table->keys[i].attnum;
		Datum *new = &w->new->tts_values[attnum - 1];
		bool *new_null = &w->new->tts_isnull[attnum - 1];
		bool isnull;
		Datum old = slot_getattr(w->at.row, attnum, &isnull);

		w->kept[i] =
			row->troubled[i] || (!isnull && !*new_null && datum_image_eq(old, *new, false, -1));
		if (w->kept[i])
		{
			*new = old;
			*new_null = isnull;
		}
	}
}

/* False if the index is to have no entry. */
static bool
fill_entry(const Writer *w, const DynIndex *index, Datum *values)
{
	for (int i = 0; i < index->ncolumns; i++)
	{
		AttrNumber attnum = dyn_index_key(w->at.table, index, i)->attnum;

		if (w->new->tts_isnull[attnum - 1])
			return false;
		values[i] = w->new->tts_values[attnum - 1];
	}
	return true;
}

static bool
add_entry(Writer *w, Relation btree, Datum *values, IndexUniqueCheck check, bool unchanged)
{
	static bool nulls[DYN_MAX_INDEX_COLUMNS];

	return index_insert(btree, values, nulls, &w->new->tts_tid, w->at.rel, check, unchanged,
						w->index_info);
}

/* Whether the columns of an index, which are all there, are kept: a hint to be rid of old entries. */
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

/* Entries of all secondary indexes; of an update, those that have not changed are said to be so. */
static void
add_entries(Writer *w, bool update)
{
	for (int i = 0; i < w->at.table->nbtrees; i++)
	{
		const DynIndex *index = w->at.table->btrees[i];
		Datum values[DYN_MAX_INDEX_COLUMNS];

		if (!fill_entry(w, index, values))
			continue;
		if (w->btrees[i] == NULL)
			w->btrees[i] = index_open(index->relid, RowExclusiveLock);
		add_entry(w, w->btrees[i], values, UNIQUE_CHECK_NO, update && is_unchanged(w, index));
	}
}

/*
 * Insert a row.  False if by now there is one of its key, or somebody is about to insert it.  A
 * speculative insertion leaves nothing behind then, and whoever meets it waits for its end only.
 */
bool
writer_insert(Writer *w, const DynRow *row)
{
	TransactionId xid = GetCurrentTransactionId();
	Datum values[DYN_MAX_INDEX_COLUMNS];
	uint32 token;
	bool done;

	fill_new(w, row);
	fill_entry(w, &w->at.table->primary, values);
	token = SpeculativeInsertionLockAcquire(xid);
	table_tuple_insert_speculative(w->at.rel, w->new, w->command, 0, NULL, token);
	done = add_entry(w, w->at.primary, values, UNIQUE_CHECK_PARTIAL, false);
	if (done)
		add_entries(w, false);
	table_tuple_complete_speculative(w->at.rel, w->new, token, done);
	SpeculativeInsertionLockRelease(xid);
	return done;
}

static bool
is_row_unchanged(Writer *w)
{
	slot_getallattrs(w->at.row);
	return dyn_row_unchanged(RelationGetDescr(w->at.rel), w->at.row->tts_values,
							 w->at.row->tts_isnull, w->new->tts_values, w->new->tts_isnull);
}

/* Lock the row that was found, as replacing it would do, and meet whoever replaces it. */
static WriteResult
keep_row(Writer *w, const DynKeyValues *key)
{
	TM_FailureData failure;
	TM_Result result = lock_version(w, LockTupleNoKeyExclusive, 0, &failure);

	if (result == TM_Ok)
		dyn_row_kept(w->at.rel, ExecFetchSlotHeapTuple(w->at.row, false, NULL));
	return resolve(w, key, result, LockTupleNoKeyExclusive);
}

/* Replace the row that was found. */
WriteResult
writer_update(Writer *w, const DynRow *row)
{
	ItemPointerData tid = w->at.row->tts_tid;
	UpdateIndexes indexes;
	LockTupleMode mode;
	TM_FailureData failure;
	TM_Result result;
	Datum values[DYN_MAX_INDEX_COLUMNS];

	fill_new(w, row);
	keep_columns(w, row);
	if (is_row_unchanged(w))
		return keep_row(w, &row->key);
	result = table_tuple_update(w->at.rel, &tid, w->new, w->command, GetActiveSnapshot(),
								InvalidSnapshot, true, &failure, &mode, &indexes);
	if (result == TM_Ok && indexes != NO_INDEXES_TO_UPDATE)
	{
		fill_entry(w, &w->at.table->primary, values);
		add_entry(w, w->at.primary, values, UNIQUE_CHECK_YES, true);
		add_entries(w, true);
	}
	return resolve(w, &row->key, result, LockTupleNoKeyExclusive);
}

/* Delete the row that was found. */
WriteResult
writer_delete(Writer *w, const DynKeyValues *key)
{
	ItemPointerData tid = w->at.row->tts_tid;
	TM_FailureData failure;
	TM_Result result;

	result = table_tuple_delete(w->at.rel, &tid, w->command, GetActiveSnapshot(), InvalidSnapshot,
								true, &failure, false);
	return resolve(w, key, result, LockTupleExclusive);
}
