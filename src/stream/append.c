/*
 * append.c
 *	  Storing the records of a round, and telling of them.
 *
 * They go into one partition by the calls that COPY uses.  Its rows have no triggers and no
 * constraints beyond those that they fulfill by what they are: who calls has found the partition for
 * their time.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "commands/async.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "compat.h"
#include "stream/collect.h"

/* As many rows and bytes as COPY takes at once. */
#define BATCH_ROWS 1000
#define BATCH_BYTES 65535

/* A queue of notifications that is fuller is left to those who notify about something else. */
#define QUEUE_USAGE 0.5

typedef struct Batch
{
	Relation rel;
	EState *estate;
	ResultRelInfo *result;
	TupleTableSlot *slots[BATCH_ROWS];
	int nslots; /* that were made */
	int rows;
	Size bytes;
} Batch;

static void
insert_index_tuples(Batch *batch, TupleTableSlot *slot)
{
	GetPerTupleExprContext(batch->estate)->ecxt_scantuple = slot;
	list_free(insert_index_entries(batch->result, slot, batch->estate));
	ResetPerTupleExprContext(batch->estate);
}

static void
flush(Batch *batch)
{
	MemoryContext old = MemoryContextSwitchTo(GetPerTupleMemoryContext(batch->estate));

	table_multi_insert(batch->rel, batch->slots, batch->rows, GetCurrentCommandId(true), 0, NULL);
	MemoryContextSwitchTo(old);
	for (int i = 0; i < batch->rows; i++)
	{
		insert_index_tuples(batch, batch->slots[i]);
		ExecClearTuple(batch->slots[i]);
	}
	batch->rows = 0;
	batch->bytes = 0;
	CHECK_FOR_INTERRUPTS();
}

static void
add(Batch *batch, TupleTableSlot *row)
{
	bool should_free;

	if (batch->rows == batch->nslots)
		batch->slots[batch->nslots++] = table_slot_create(batch->rel, NULL);
	ExecCopySlot(batch->slots[batch->rows], row);
	batch->bytes += ExecFetchSlotHeapTuple(batch->slots[batch->rows], false, &should_free)->t_len;
	batch->rows++;
	if (batch->rows == BATCH_ROWS || batch->bytes >= BATCH_BYTES)
		flush(batch);
}

static void
begin(Batch *batch, Oid partition)
{
	batch->rel = table_open(partition, RowExclusiveLock);
	batch->estate = CreateExecutorState();
	batch->result = makeNode(ResultRelInfo);
	batch->nslots = batch->rows = 0;
	batch->bytes = 0;
	InitResultRelInfo(batch->result, batch->rel, 1, NULL, 0);
	ExecOpenIndices(batch->result, false);
}

static void
end(Batch *batch)
{
	for (int i = 0; i < batch->nslots; i++)
		ExecDropSingleTupleTableSlot(batch->slots[i]);
	ExecCloseIndices(batch->result);
	FreeExecutorState(batch->estate);
	table_close(batch->rel, NoLock);
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

/* In a transaction that has a snapshot. */
void
stream_append(Oid partition, StreamDecoder *decoder)
{
	TupleTableSlot *row = MakeSingleTupleTableSlot(decoder->row, &TTSOpsMinimalTuple);
	Batch *batch = palloc(sizeof(Batch));

	begin(batch, partition);
	require_same_row(batch->rel, decoder->row);
	while (tuplestore_gettupleslot(decoder->round.tuples, true, false, row))
		add(batch, row);
	if (batch->rows > 0)
		flush(batch);
	ExecDropSingleTupleTableSlot(row);
	end(batch);
}

/* A listener that is idle in a transaction lets the queue fill up, and a full one fails commits. */
static bool
queue_is_full(void)
{
	return DatumGetFloat8(DirectFunctionCall1(pg_notification_queue_usage, (Datum) 0)) >
		   QUEUE_USAGE;
}

/* Tell listeners, when the transaction commits, which tables have new records. */
void
stream_notify(const StreamRound *round)
{
	ListCell *cell;

	if (queue_is_full())
		return;
	foreach (cell, round->relations)
	{
		Oid relid = lfirst_oid(cell);
		char *name = get_rel_name(relid);
		char *schema = name == NULL ? NULL : get_namespace_name(get_rel_namespace(relid));

		/* without one, the table was dropped meanwhile */
		if (schema != NULL)
			Async_Notify(STREAM_CHANNEL, quote_qualified_identifier(schema, name));
	}
}
