/*
 * writer.c
 *	  What the direct store has open to write, and rows found and locked.
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
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "catalog/unchanged.h"
#include "server/compat.h"
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
}

/* Locks stay until the transaction ends. */
void
writer_close(Writer *w)
{
	if (w->changed != w->proposed)
		ExecDropSingleTupleTableSlot(w->changed);
	if (w->proposed != NULL)
		ExecDropSingleTupleTableSlot(w->proposed);
	ExecDropSingleTupleTableSlot(w->at.row);
	for (int i = 0; i < w->at.table->nbtrees; i++)
	{
		if (w->btrees[i] != NULL)
			index_close(w->btrees[i], NoLock);
	}
	index_close(w->at.primary, NoLock);
}

/*
 * Opens what statements need that write new rows.  Where code of users may run within them, all
 * btrees are opened, since an index that is open cannot be dropped meanwhile.  The row that
 * replaces another has a slot of its own, since it takes over what triggers have made of the row to
 * insert.
 */
static void
prepare_rows(Writer *w)
{
	MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(w));
	TupleDesc desc = RelationGetDescr(w->at.rel);

	w->proposed = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	w->changed = w->proposed;
	if (w->at.table->extras.any)
	{
		for (int i = 0; i < w->at.table->nbtrees; i++)
			w->btrees[i] = index_open(w->at.table->btrees[i]->relid, RowExclusiveLock);
		w->changed = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	}
	MemoryContextSwitchTo(old);
}

/*
 * Begins a statement: CMD_INSERT, which replaces a row that is there, CMD_UPDATE, CMD_DELETE, or
 * CMD_SELECT to lock.  The name is what the SQL statement would be called.
 */
void
writer_begin(Writer *w, CmdType operation, const char *name)
{
	const DynExtras *extras = &w->at.table->extras;

	if (!w->at.rel->rd_islocaltemp)
		PreventCommandIfReadOnly(name);
	PreventCommandIfParallelMode(name);
	CheckCmdReplicaIdentity(w->at.rel, operation == CMD_INSERT ? CMD_UPDATE : operation);
	/* what this transaction did before is to be seen */
	CommandCounterIncrement();
	PushActiveSnapshot(GetTransactionSnapshot());
	w->command = GetCurrentCommandId(true);
	if ((operation == CMD_INSERT || operation == CMD_UPDATE) && w->proposed == NULL)
		prepare_rows(w);
	if (operation != CMD_SELECT && statement_needed(w->at.table, operation))
	{
		/*
		 * Triggers before a row is written get its newest version, and constraints on columns that
		 * stay are checked on that.
		 */
		w->locks_first = operation == CMD_DELETE
							 ? extras->before_delete
							 : extras->before_update || (extras->columns && extras->constraints);
		w->statement = statement_begin(w->at.table, w->at.rel, operation, w->command);
	}
}

/* Ends a statement: the triggers after it, its snapshot, and the rows that it had in hand. */
void
writer_end(Writer *w)
{
	ExecClearTuple(w->at.row);
	if (w->proposed != NULL)
	{
		ExecClearTuple(w->proposed);
		ExecClearTuple(w->changed);
	}
	if (w->statement != NULL)
		statement_end(w->statement);
	w->statement = NULL;
	w->locks_first = false;
	PopActiveSnapshot();
}

/* Takes a snapshot after a wait for others.  Commands of triggers in the statement stay unseen. */
void
writer_new_snapshot(const Writer *w)
{
	PopActiveSnapshot();
	PushCopiedSnapshot(GetTransactionSnapshot());
	GetActiveSnapshot()->curcid = w->command;
}

/*
 * Finding
 */

/* Finds the row of that key that the snapshot shows. */
bool
writer_find(Writer *w, const DynKeyValues *key)
{
	return find_row(&w->at, GetActiveSnapshot(), key);
}

/*
 * Raises an error where BEFORE triggers of the row have written a row of its key: heap does not
 * update a row that the command does not see.
 */
static void
forbid_second_write(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_CARDINALITY_VIOLATION),
			 errmsg("%s command cannot affect row a second time", "ON CONFLICT DO UPDATE"),
			 errhint("Ensure that no rows proposed for insertion within the same command have "
					 "duplicate constrained values.")));
}

/* Raises an error at the higher isolation levels for a row that their snapshot does not show. */
static void
require_visible(const Writer *w)
{
	bool isnull;
	bool own;

	if (!IsolationUsesXactSnapshot() && w->statement == NULL)
		return;
	own = TransactionIdIsCurrentTransactionId(DatumGetTransactionId(
		slot_getsysattr(w->at.row, MinTransactionIdAttributeNumber, &isnull)));
	if ((!own && !IsolationUsesXactSnapshot()) || (own && w->statement == NULL) ||
		table_tuple_satisfies_snapshot(w->at.rel, w->at.row, GetActiveSnapshot()))
		return;
	if (own)
		forbid_second_write();
	ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					errmsg("could not serialize access due to concurrent update")));
}

/*
 * Finds the row of that key that an insert would meet, whoever sees it; whoever is about to insert
 * or delete it is waited for.
 */
bool
writer_find_any(Writer *w, const DynKeyValues *key)
{
	FindResult result = FIND_UNSURE;
	SnapshotData dirty;
	DynProbe probe;

	InitDirtySnapshot(dirty);
	/* by the descent that also finds the place of a row that is to be inserted */
	if (dyn_placement_probe(w->at.rel, w->at.primary, key->values, &probe))
		result = find_row_by_entries(&w->at, &dirty, key, &probe.neighbours);
	if (result == FIND_NONE)
		dyn_placement_offer(&probe);
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

/*
 * Raises an error, in the words of the executor, if code of users within the statement, such as
 * BEFORE triggers, has changed the row.
 */
static void
forbid_own_change(const Writer *w, TM_Result result, const TM_FailureData *failure,
				  const char *what)
{
	if (result == TM_Invisible)
		forbid_second_write();
	if (failure->cmax != w->command)
		ereport(ERROR, (errcode(ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION),
						errmsg("tuple to be %s was already modified by an operation triggered by "
							   "the current command",
							   what),
						errhint("Consider using an AFTER trigger instead of a BEFORE trigger to "
								"propagate changes to other rows.")));
}

/* Locks a version of the row that was found, which then is the row found. */
TM_Result
writer_lock_version(Writer *w, LockTupleMode mode, uint8 flags, TM_FailureData *failure)
{
	ItemPointerData tid = w->at.row->tts_tid;

	return table_tuple_lock(w->at.rel, &tid, GetActiveSnapshot(), w->at.row, w->command, mode,
							LockWaitBlock, flags, failure);
}

/*
 * Locks the newest version of the row that was found, which then is the row found.  False if it is
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
	result = writer_lock_version(w, mode, flags, &failure);
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
			/* the executor's words for a write, and for SELECT … FOR UPDATE */
			forbid_conflict(w->locks_first ? "delete" : "update");
			return false;
		case TM_SelfModified:
		case TM_Invisible:
			forbid_own_change(w, result, &failure, "updated");
			return false;
		default:
			elog(ERROR, "unexpected table_tuple_lock status: %u", result);
	}
}

/*
 * Returns what comes of a write of the row that was found, which may have met another write.  mode
 * is how the write locks the row, and what says for a message what it does: "updated" or "deleted".
 */
WriteResult
writer_resolve(Writer *w, const DynKeyValues *key, TM_Result result, const TM_FailureData *failure,
			   LockTupleMode mode, const char *what)
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
		case TM_SelfModified:
		case TM_Invisible:
			forbid_own_change(w, result, failure, what);
			return WRITE_GONE;
		default:
			elog(ERROR, "unexpected status of a write: %u", result);
	}
}

/* Returns how a row is locked that is to be replaced. */
LockTupleMode
writer_update_mode(const Writer *w)
{
	return w->statement != NULL ? statement_lock_mode(w->statement) : LockTupleNoKeyExclusive;
}
