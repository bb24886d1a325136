/*
 * size.c
 *	  How long a row will be in the table.
 *
 * Short rows are stored as they are.  Of long ones, heap compresses columns or moves them out of
 * line, and only afterwards looks for a page.  What comes of that is not known before, but much
 * the same for the rows of one table, so it is learned: for rows that would fit a page, the part
 * that was left, for longer ones the length.
 */
#include "postgres.h"

#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "storage/bufmgr.h"

#include "am/place.h"

/* This is a guess for a row of which the table keeps a pointer to its TOAST table and the key. */
#define FIRST_GUESS 160

/* This says how fast what was learned gives way. */
#define WEIGHT 0.25f

/*
 * Returns the length in bytes of the slot's row as a heap tuple with its header, before the table
 * compresses columns or moves them out of line.
 */
Size
dyn_row_size(TupleTableSlot *slot)
{
	TupleDesc desc = slot->tts_tupleDescriptor;
	Size header = SizeofHeapTupleHeader;

	if (slot->tts_ops == &TTSOpsBufferHeapTuple || slot->tts_ops == &TTSOpsHeapTuple)
	{
		bool copied;
		HeapTuple tuple = ExecFetchSlotHeapTuple(slot, false, &copied);

		Assert(!copied);
		return tuple->t_len;
	}
	slot_getallattrs(slot);
	for (int i = 0; i < desc->natts; i++)
	{
		if (slot->tts_isnull[i])
		{
			header += BITMAPLEN(desc->natts);
			break;
		}
	}
	return MAXALIGN(header) + heap_compute_data_size(desc, slot->tts_values, slot->tts_isnull);
}

/* Returns 0 for rows that fit a page, and 1 for longer ones. */
static int
size_class(Size size)
{
	return size <= MaxHeapTupleSize ? 0 : 1;
}

/*
 * Estimates how many bytes a row of the given length, as dyn_row_size() returns it, has on its page
 * after columns were compressed or moved out of line.
 */
Size
dyn_stored_size(const DynPlaceState *state, Size size)
{
	float kept = state->kept[size_class(size)];

	if (size <= TOAST_TUPLE_THRESHOLD)
		return size;
	if (size_class(size) == 1)
		return kept < 0 ? FIRST_GUESS : Min((Size) kept, MaxHeapTupleSize);
	return kept < 0 ? size : Min((Size) (kept * size), size);
}

static Size
stored_length(Relation rel, ItemPointer tid)
{
	Buffer buffer = ReadBuffer(rel, ItemPointerGetBlockNumber(tid));
	Size length;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	length = ItemIdGetLength(PageGetItemId(BufferGetPage(buffer), ItemPointerGetOffsetNumber(tid)));
	UnlockReleaseBuffer(buffer);
	return length;
}

/*
 * Corrects the estimate of dyn_stored_size() by the row at tid, which has just been stored and had
 * the given length before.  Reads the row's page.
 */
void
dyn_learn_size(DynPlaceState *state, Relation rel, ItemPointer tid, Size size)
{
	float *kept = &state->kept[size_class(size)];
	float now;

	if (size <= TOAST_TUPLE_THRESHOLD)
		return;
	now = (float) stored_length(rel, tid);
	if (size_class(size) == 0)
		now /= size;
	*kept = *kept < 0 ? now : *kept + WEIGHT * (now - *kept);
}
