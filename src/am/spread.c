/*
 * spread.c
 *	  Which rows are with the others of their collection.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tableam.h"
#include "storage/bufmgr.h"
#include "utils/snapmgr.h"

#include "am/move.h"
#include "am/place.h"

/* A Found is a row of a page. */
typedef struct Found
{
	DynRowPlace place;
	uint32 collection;
	float part; /* of a page, that the row fills */
	int near; /* rows of the collection, as far as a look at the index counts them */
} Found;

/*
 * Returns whether rows of a collection are together on a page: they fill half of it, or are half of
 * the collection.
 */
bool
dyn_is_together(float here, float all)
{
	return 2 * here >= Min(all, 1);
}

static OffsetNumber
last_offset(Relation rel, BlockNumber block)
{
	Buffer buffer = ReadBuffer(rel, block);
	OffsetNumber last;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	last = PageIsNew(BufferGetPage(buffer)) ? 0 : PageGetMaxOffsetNumber(BufferGetPage(buffer));
	UnlockReleaseBuffer(buffer);
	return last;
}

/* Fills in a row, of which an earlier one on the page may have the same collection. */
static void
note_row(Relation rel, Relation index, TupleTableSlot *slot, Found *rows, int n)
{
	bool copied;
	HeapTuple tuple = ExecFetchSlotHeapTuple(slot, false, &copied);
	Found *row = &rows[n];

	*row = (Found){{slot->tts_tid, (uint16) tuple->t_len},
				   dyn_row_collection(index, slot),
				   dyn_page_share(rel, 1, tuple->t_len),
				   0};
	if (copied)
		heap_freetuple(tuple);
	for (int i = 0; i < n && row->near == 0; i++)
		row->near = rows[i].collection == row->collection ? rows[i].near : 0;
	if (row->near == 0)
		row->near = dyn_rows_near(rel, index, slot);
}

static int
find_rows(Relation rel, Relation index, BlockNumber block, Found *rows)
{
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	OffsetNumber last = last_offset(rel, block);
	int n = 0;

	for (OffsetNumber offset = FirstOffsetNumber; offset <= last; offset++)
	{
		ItemPointerData tid;

		ItemPointerSet(&tid, block, offset);
		if (n < MaxHeapTuplesPerPage &&
			table_tuple_fetch_row_version(rel, &tid, GetActiveSnapshot(), slot))
			note_row(rel, index, slot, rows, n++);
		ExecClearTuple(slot);
	}
	ExecDropSingleTupleTableSlot(slot);
	return n;
}

/* Returns the part of the page that rows fill which are with the others of their collections. */
static float
part_together(const Found *rows, int n)
{
	float together = 0;

	for (int i = 0; i < n; i++)
	{
		float here = 0;

		for (int j = 0; j < n; j++)
			here += rows[j].collection == rows[i].collection ? rows[j].part : 0;
		if (rows[i].near > 1 && dyn_is_together(here, rows[i].near * rows[i].part))
			together += rows[i].part;
	}
	return together;
}

/*
 * Finds the rows of a page that the active snapshot shows, and returns their number; or -1 if rows
 * that are with the others of their collections fill more than half of what all of them fill.
 */
int
dyn_spread_rows(Relation rel, Relation index, BlockNumber block, DynRowPlace *rows)
{
	Found *found = palloc(MaxHeapTuplesPerPage * sizeof(Found));
	int n = find_rows(rel, index, block, found);
	float all = 0;

	for (int i = 0; i < n; i++)
	{
		all += found[i].part;
		rows[i] = found[i].place;
	}
	if (2 * part_together(found, n) > all)
		n = -1;
	pfree(found);
	return n;
}
