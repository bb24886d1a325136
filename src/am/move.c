/*
 * move.c
 *	  A row leaves its page, whatever room that has.
 *
 * heap_update() keeps a new version on the page of the old one if it fits there.  So fillers take
 * that page's room first: speculative insertions, which nobody sees and which are aborted as soon
 * as the rows have left.  Later commands of the transaction, which expressions of indexes may run, do not
 * see them by their command, which is the last one that there could be: their columns are all null,
 * whatever the table says.  They need no index entry and no lock of a token, since nobody can find
 * them to wait for, and they leave a line pointer each until the next VACUUM.  The update is heap's
 * own, so that whoever waits for the row follows it to its new version.
 *
 * No trigger fires.  Logical decoding skips fillers.  The update has the origin DoNotReplicateId, so
 * that whoever decodes what is local skips it too, and from PostgreSQL 19 on everybody does.  What
 * expressions of indexes may write has the session's origin, and so has the commit.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "executor/executor.h"
#include "parser/parse_relation.h"
#include "replication/origin.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "am/move.h"
#include "am/place.h"
#include "server/compat.h"

#define MAX_FILLERS 16

/* No snapshot shows what this command of its own transaction has inserted. */
#define FILLER_COMMAND (InvalidCommandId - 1)

struct DynMover
{
	Relation rel;
	BlockNumber blocks; /* that the table has had since it was locked */
	BlockNumber previous; /* target block */
	EState *estate;
	ResultRelInfo *info;
	TupleTableSlot *found;
	TupleTableSlot *slot;
	CommandId command;
	HeapTuple filler; /* of nulls, with room behind it */
	Size least; /* length of a filler */
	BlockNumber filled;
	int nfillers;
	ItemPointerData fillers[MAX_FILLERS];
};

static void
make_filler(DynMover *mover)
{
	TupleDesc desc = RelationGetDescr(mover->rel);
	Datum *values = palloc0(sizeof(Datum) * desc->natts);
	bool *nulls = palloc(sizeof(bool) * desc->natts);
	HeapTuple empty;

	memset(nulls, true, sizeof(bool) * desc->natts);
	empty = heap_form_tuple(desc, values, nulls);
	mover->least = MAXALIGN(empty->t_len);
	mover->filler = palloc0(HEAPTUPLESIZE + BLCKSZ);
	mover->filler->t_data = (HeapTupleHeader) ((char *) mover->filler + HEAPTUPLESIZE);
	memcpy(mover->filler->t_data, empty->t_data, empty->t_len);
}

static void
open_indexes(DynMover *mover)
{
	RangeTblEntry *entry = makeNode(RangeTblEntry);
	List *infos = NIL;

	entry->rtekind = RTE_RELATION;
	entry->relid = RelationGetRelid(mover->rel);
	entry->relkind = mover->rel->rd_rel->relkind;
	entry->rellockmode = RowExclusiveLock;
#if PG16_GE
	(void) addRTEPermissionInfo(&infos, entry);
#endif
	mover->estate = CreateExecutorState();
	init_range_table_of(mover->estate, entry, infos);
	mover->info = makeNode(ResultRelInfo);
	InitResultRelInfo(mover->info, mover->rel, 1, NULL, 0);
	ExecOpenIndices(mover->info, false);
}

/* Sets up a mover in the current memory context, which lasts until dyn_mover_end(). */
DynMover *
dyn_mover_begin(Relation rel)
{
	DynMover *mover = palloc0(sizeof(DynMover));

	mover->rel = rel;
	mover->blocks = RelationGetNumberOfBlocks(rel);
	mover->previous = RelationGetTargetBlock(rel);
	mover->filled = InvalidBlockNumber;
	mover->command = GetCurrentCommandId(true);
	mover->slot = MakeSingleTupleTableSlot(RelationGetDescr(rel), &TTSOpsHeapTuple);
	mover->found = table_slot_create(rel, NULL);
	make_filler(mover);
	open_indexes(mover);
	mover->estate->es_output_cid = mover->command;
	return mover;
}

static void
drop_fillers(DynMover *mover)
{
	for (int i = 0; i < mover->nfillers; i++)
		heap_abort_speculative(mover->rel, &mover->fillers[i]);
	mover->nfillers = 0;
	mover->filled = InvalidBlockNumber;
}

/* Inserts a filler of so many bytes, into the page's reserve for updates too. */
static void
insert_filler(DynMover *mover, Size len)
{
	StdRdOptions *options = (StdRdOptions *) mover->rel->rd_options;
	volatile int fillfactor = options == NULL ? 0 : options->fillfactor;

	mover->filler->t_len = len;
	HeapTupleHeaderSetSpeculativeToken(mover->filler->t_data, 1);
	RelationSetTargetBlock(mover->rel, mover->filled);
	PG_TRY();
	{
		if (options != NULL)
			options->fillfactor = 100;
		heap_insert(mover->rel, mover->filler, FILLER_COMMAND,
					HEAP_INSERT_SPECULATIVE | HEAP_INSERT_NO_LOGICAL, NULL);
	}
	PG_FINALLY();
	{
		/* an invalidation may have built them anew */
		if (options != NULL && options == (StdRdOptions *) mover->rel->rd_options)
			options->fillfactor = fillfactor;
	}
	PG_END_TRY();
	mover->fillers[mover->nfillers++] = mover->filler->t_self;
}

/*
 * Takes so much of a page's room that a row of that length has none.  A filler is no longer than
 * what heap stores in line.  Returns false if that failed, since others wrote to the page.
 */
static bool
fill_page(DynMover *mover, BlockNumber block, Size row)
{
	if (block != mover->filled)
		drop_fillers(mover);
	mover->filled = block;
	for (;;)
	{
		Size space = dyn_page_pruned(mover->rel, block);
		Size len = Max(mover->least, MAXALIGN(space - Min(space, row) + 1));

		if (space < row)
			return true;
		len = Min(len, TYPEALIGN_DOWN(MAXIMUM_ALIGNOF, Min(TOAST_TUPLE_THRESHOLD, space)));
		if (mover->nfillers == MAX_FILLERS || len < mover->least)
			return false;
		insert_filler(mover, len);
		if (ItemPointerGetBlockNumber(&mover->filler->t_self) != block)
			return false;
	}
}

/* Locks the row and copies it, as it is on its page; returns false if others have it. */
static bool
take_row(DynMover *mover, ItemPointer tid)
{
	TM_FailureData failure;

	if (ItemPointerGetBlockNumber(tid) >= mover->blocks ||
		!table_tuple_fetch_row_version(mover->rel, tid, GetActiveSnapshot(), mover->found))
		return false;
	if (table_tuple_lock(mover->rel, tid, GetActiveSnapshot(), mover->found, mover->command,
						 LockTupleNoKeyExclusive, LockWaitSkip, 0, &failure) != TM_Ok)
		return false;
	ExecStoreHeapTuple(ExecCopySlotHeapTuple(mover->found), mover->slot, true);
	ExecClearTuple(mover->found);
	return true;
}

/* Updates the row, which is locked, to a version that is the same. */
static TM_Result
replace_version(DynMover *mover, ItemPointer tid, UpdateIndexes *indexes)
{
	OriginId origin = session_origin;
	TM_FailureData failure;
	LockTupleMode mode;
	TM_Result result;

	session_origin = DoNotReplicateId;
	PG_TRY();
	{
		result = heap_move_version(mover->rel, tid, mover->slot, mover->command,
								   GetActiveSnapshot(), &failure, &mode, indexes);
	}
	PG_FINALLY();
	{
		session_origin = origin;
	}
	PG_END_TRY();
	return result;
}

/* Does so, and makes the index entries of the new version. */
static bool
replace_row(DynMover *mover, ItemPointer tid)
{
	UpdateIndexes indexes;

	if (replace_version(mover, tid, &indexes) != TM_Ok)
		return false;
	if (indexes != NO_INDEXES_TO_UPDATE)
	{
		/* a deferrable constraint is the business of the rival that makes a duplicate */
		list_free(update_index_entries(mover->info, mover->slot, mover->estate, indexes));
		ResetPerTupleExprContext(mover->estate);
	}
	*tid = mover->slot->tts_tid;
	return true;
}

/*
 * Moves a row to a page.  A row that is locked or has changed stays, and so does one whose page
 * gets room meanwhile.  *tid becomes the place of the row if it was moved.
 */
DynMoved
dyn_mover_move(DynMover *mover, ItemPointer tid, BlockNumber block)
{
	BlockNumber before = ItemPointerGetBlockNumber(tid);
	Size size;

	if (block == before || !take_row(mover, tid))
		return DYN_LEFT;
	size = ((HeapTupleTableSlot *) mover->slot)->tuple->t_len;
	if (dyn_page_pruned(mover->rel, block) < dyn_needed_space(mover->rel, size))
		return DYN_NO_ROOM;
	if (!fill_page(mover, before, MAXALIGN(size)))
		return DYN_LEFT;
	RelationSetTargetBlock(mover->rel, block);
	if (!replace_row(mover, tid))
		return DYN_LEFT;
	return ItemPointerGetBlockNumber(tid) == before ? DYN_LEFT : DYN_MOVED;
}

/* Removes the fillers, and puts the target block back. */
void
dyn_mover_end(DynMover *mover)
{
	drop_fillers(mover);
	RelationSetTargetBlock(mover->rel, mover->previous);
	ExecDropSingleTupleTableSlot(mover->found);
	ExecDropSingleTupleTableSlot(mover->slot);
	ExecCloseIndices(mover->info);
	FreeExecutorState(mover->estate);
}
