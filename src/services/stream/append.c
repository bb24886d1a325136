/*
 * append.c
 *	  Storing the records of a round, and telling of them.
 *
 * They are inserted into one partition without the executor.  The partition has no triggers, and
 * its constraints hold by construction: the caller has found the partition for their time.
 *
 * The rows are left out of logical decoding: otherwise the collector would have to decode its own
 * records, and so would subscribers to all tables, which have no such partition.  They are inserted
 * one by one, since a multi-insert cannot be left out.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/pg_lsn.h"
#include "utils/rel.h"

#include "server/catalogs.h"
#include "server/compat.h"
#include "server/notification.h"
#include "services/stream/collect.h"

typedef struct Target
{
	Relation rel;
	EState *estate;
	ResultRelInfo *result;
	BulkInsertState bulk;
	TupleTableSlot *slot;
} Target;

static void
rows_begin(Target *target, Oid partition)
{
	target->rel = table_open(partition, RowExclusiveLock);
	target->estate = CreateExecutorState();
	target->result = makeNode(ResultRelInfo);
	target->bulk = GetBulkInsertState();
	target->slot = table_slot_create(target->rel, NULL);
	InitResultRelInfo(target->result, target->rel, 1, NULL, 0);
	ExecOpenIndices(target->result, false);
}

/* Logical decoding leaves the row out, in any session. */
static void
rows_add(Target *target, TupleTableSlot *row)
{
	MemoryContext old = MemoryContextSwitchTo(GetPerTupleMemoryContext(target->estate));

	ExecCopySlot(target->slot, row);
	table_tuple_insert(target->rel, target->slot, GetCurrentCommandId(true),
					   TABLE_INSERT_NO_LOGICAL, target->bulk);
	GetPerTupleExprContext(target->estate)->ecxt_scantuple = target->slot;
	(void) insert_index_entries(target->result, target->slot, target->estate);
	ExecClearTuple(target->slot);
	MemoryContextSwitchTo(old);
	ResetPerTupleExprContext(target->estate);
}

static void
rows_end(Target *target)
{
	ExecDropSingleTupleTableSlot(target->slot);
	FreeBulkInsertState(target->bulk);
	ExecCloseIndices(target->result);
	FreeExecutorState(target->estate);
	table_close(target->rel, NoLock);
}

/* The extension may have been updated since the decoder was opened. */
static void
require_same_row(Relation rel, TupleDesc row)
{
	if (RelationGetDescr(rel)->natts != row->natts)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("table \"%s\" has other columns than before",
							   RelationGetRelationName(rel))));
}

/* Returns whether a row's transaction was not decoded to its end; both come in commits' order. */
static bool
is_torn(const List *spots, TupleTableSlot *row, int *next)
{
	bool isnull;
	XLogRecPtr lsn;

	if (*next >= list_length(spots))
		return false;
	lsn = DatumGetLSN(slot_getattr(row, RECORD_LSN + 1, &isnull));
	while (*next < list_length(spots) && ((StreamSpot *) list_nth(spots, *next))->lsn < lsn)
		(*next)++;
	return *next < list_length(spots) && ((StreamSpot *) list_nth(spots, *next))->lsn == lsn;
}

/* Appends the round's rows in a transaction that has a snapshot. */
void
stream_append(Oid partition, StreamDecoder *decoder)
{
	TupleTableSlot *row = MakeSingleTupleTableSlot(decoder->row, &TTSOpsMinimalTuple);
	Target target;
	int torn = 0;

	rows_begin(&target, partition);
	require_same_row(target.rel, decoder->row);
	while (tuplestore_gettupleslot(decoder->round.tuples, true, false, row))
	{
		CHECK_FOR_INTERRUPTS();
		if (!is_torn(decoder->round.torn, row, &torn))
			rows_add(&target, row);
	}
	ExecDropSingleTupleTableSlot(row);
	rows_end(&target);
}

/* Tells listeners, when the transaction commits, which tables have new records. */
void
stream_notify(List *relids)
{
	ListCell *cell;

	if (dyn_notification_queue_is_full())
		return;
	foreach (cell, relids)
	{
		char *name = catalogs_qualified(lfirst_oid(cell));

		/* without one, the table was dropped meanwhile */
		if (name != NULL)
			dyn_notify(STREAM_CHANNEL, name);
	}
}
