/*
 * page.c
 *	  Pages for rows: looking into them, finding and opening them.
 *
 * Two kinds of pages are opened.  Those of large collections take nothing else at first.  The
 * others are shared by small collections: newcomers fill half of one, and what these collections
 * get later has the other half.  A page that is full of newcomers would be read for few rows of
 * each, and each of them would grow elsewhere.
 *
 * Nothing here is kept for ever.  A shared page is in the free space map from the start, so any
 * session finds it, and sessions that insert one row each fill it together.  When the table has
 * grown on and nobody has needed the other half, newcomers get it.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/hio.h"
#include "access/htup_details.h"
#include "storage/bufmgr.h"
#include "storage/freespace.h"

#include "am/place.h"
#include "compat.h"

/* Pages that the free space map may name in vain. */
#define MAX_TRIES 4

/* A page with that much room serves as an empty one. */
#define NEARLY_EMPTY (MaxHeapTupleSize / 8 * 7)

/* What of a page is worth being filled by newcomers. */
#define WORTH_FILLING (BLCKSZ / 4)

/* The youngest of so many parts of the table waits for the growth of what is there. */
#define YOUNG 8

static Size
reserve(Relation rel)
{
	return RelationGetTargetPageFreeSpace(rel, HEAP_DEFAULT_FILLFACTOR);
}

/* What rows can take of an empty page. */
static Size
usable(Relation rel)
{
	return MaxHeapTupleSize - reserve(rel);
}

/* What RelationGetBufferForTuple() wants a page to have for a row of that size. */
Size
dyn_needed_space(Relation rel, Size size)
{
	Size len = MAXALIGN(size);
	Size almost_all = MaxHeapTupleSize - (MaxHeapTuplesPerPage / 8 * sizeof(ItemIdData));

	if (len + reserve(rel) > almost_all)
		return Max(len, almost_all);
	return len + reserve(rel);
}

/* Whether so many rows of that size make half a page. */
bool
dyn_fills_half(Relation rel, int rows, Size size)
{
	return rows * (MAXALIGN(size) + sizeof(ItemIdData)) >= usable(rel) / 2;
}

/* Of a page that may have been left as it came from the operating system, nothing. */
static Size
free_space(Page page)
{
	return PageIsNew(page) ? 0 : PageGetHeapFreeSpace(page);
}

/* Without waiting for those who write it. */
DynRoom
dyn_page_room(Relation rel, BlockNumber block, Size needed)
{
	Buffer buffer = ReadBuffer(rel, block);
	Size space;

	if (!ConditionalLockBuffer(buffer))
	{
		ReleaseBuffer(buffer);
		return DYN_BUSY;
	}
	space = free_space(BufferGetPage(buffer));
	UnlockReleaseBuffer(buffer);
	return space >= needed ? DYN_ROOM : DYN_FULL;
}

static Size
page_space(Relation rel, BlockNumber block)
{
	Buffer buffer = ReadBuffer(rel, block);
	Size space;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	space = free_space(BufferGetPage(buffer));
	UnlockReleaseBuffer(buffer);
	return space;
}

bool
dyn_page_takes(Relation rel, BlockNumber block, Size needed)
{
	return page_space(rel, block) >= needed;
}

/*
 * A page of the first blocks of the table that has the room, by the free space map, or
 * InvalidBlockNumber.  The map is corrected where it is wrong.
 */
static BlockNumber
search_map(Relation rel, Size room, BlockNumber blocks)
{
	BlockNumber block;

	room = Min(room, MaxHeapTupleSize);
	block = GetPageWithFreeSpace(rel, room);
	for (int i = 0; i < MAX_TRIES && block != InvalidBlockNumber; i++)
	{
		Size space;

		if (block >= blocks)
		{
			block = GetPageWithFreeSpace(rel, room);
			continue;
		}
		space = page_space(rel, block);
		if (space >= room)
			return block;
		block = RecordAndGetPageWithFreeSpace(rel, block, space, room);
	}
	return InvalidBlockNumber;
}

/*
 * Extend the table by heap's own function.  Before that it tries the last page, which a row of
 * full length finds too small, unless nobody has used it.  Without the free space map: nobody
 * else shall find the page by it.
 */
static BlockNumber
extend(Relation rel)
{
	Buffer vm_buffer = InvalidBuffer;
	Buffer buffer;
	BlockNumber block;

	RelationSetTargetBlock(rel, InvalidBlockNumber);
	buffer = heap_page_for(rel, MaxHeapTupleSize, HEAP_INSERT_SKIP_FSM, &vm_buffer);
	block = BufferGetBlockNumber(buffer);
	UnlockReleaseBuffer(buffer);
	if (BufferIsValid(vm_buffer))
		ReleaseBuffer(vm_buffer);
	return block;
}

/* A page for a collection of its own. */
BlockNumber
dyn_own_page(Relation rel, Size needed)
{
	BlockNumber block =
		search_map(rel, Max(needed, NEARLY_EMPTY), RelationGetNumberOfBlocks(rel));

	return block != InvalidBlockNumber ? block : extend(rel);
}

/* What newcomers leave free of a page: nothing, where only few rows fit one. */
static Size
growth_space(Relation rel, Size needed)
{
	Size half = usable(rel) / 2;

	return half >= 2 * (needed - Min(needed, reserve(rel))) ? half : 0;
}

/*
 * A new shared page.  The map is told of less than there is, so that it is nobody's page of his
 * own; and its upper levels are told too, since a search begins there.
 */
static BlockNumber
open_shared(Relation rel, Size needed, Size room)
{
	BlockNumber block = extend(rel);

	RecordPageWithFreeSpace(rel, block, Min(Max(room, NEARLY_EMPTY - 64), MaxHeapTupleSize));
	FreeSpaceMapVacuumRange(rel, block, block + 1);
	return block;
}

/* The page for a row of a small collection. */
BlockNumber
dyn_shared_page(Relation rel, DynPlaceState *state, Size needed)
{
	Size room = needed + growth_space(rel, needed);
	BlockNumber blocks;

	if (state->shared != InvalidBlockNumber &&
		dyn_page_takes(rel, state->shared, state->fill ? needed : room))
		return state->shared;
	blocks = RelationGetNumberOfBlocks(rel);
	state->fill = false;
	state->shared = search_map(rel, room, blocks);
	if (state->shared == InvalidBlockNumber)
	{
		state->fill = true;
		state->shared = search_map(rel, Max(needed, reserve(rel) + WORTH_FILLING),
								   blocks - blocks / YOUNG);
	}
	if (state->shared == InvalidBlockNumber)
	{
		state->fill = false;
		state->shared = open_shared(rel, needed, room);
	}
	return state->shared;
}
