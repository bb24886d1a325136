/*
 * page.c
 *	  Pages for rows: looking into them, finding and opening them.
 *
 * Rows cannot be moved, so the room that a collection will need has to be kept free when its
 * first rows are placed, and kept free for little else where it will not be needed.  A collection
 * starts on a page that it shares with other newcomers, which fill two fifths of it: the rest is for
 * the growth of all.  When that page is full, a large collection gets a page of its own.  A small
 * one does not, for it may never fill it.
 *
 * The share of inserted rows that are the first of their collection shows how large collections
 * become.  Where it is very small, a small collection is expected to become large: it gets a page
 * that it shares with few others, and soon after a page of its own.
 *
 * No page is reserved for ever, or for one session.  All pages are in the free space map from the
 * start, so any session finds them, and sessions that insert one row each fill a page together.
 * Old pages that still have room are filled by newcomers.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/hio.h"
#include "access/htup_details.h"
#include "access/xlog.h"
#include "common/pg_prng.h"
#include "storage/bufmgr.h"
#include "storage/freespace.h"

#include "am/place.h"
#include "server/compat.h"

/* A search looks at no more pages of the free space map than these, since it may be wrong. */
#define MAX_TRIES 4

/* A page with that much room serves as an empty one: an eighth is taken at most. */
#define NEARLY_EMPTY (MaxHeapTupleSize / 8 * 7)

/*
 * The free space map is told less than there is of new pages, so that nobody takes one opened for
 * others as an empty page, or one for growth as a page for newcomers.
 */

#define TOLD_OF_NEW (NEARLY_EMPTY - 64)
#define TOLD_OF_GROWING (MaxHeapTupleSize / 2)

/*
 * Newcomers may fill this part of a shared page.  At 30 %, with fewer pages per collection, the
 * Zipf table of docs/benchmarks.md took 383 MB rather than 357 MB.
 */
#define NEWCOMERS 0.4f

/* If more rows than this share are first ones, nothing grows, and no room is kept for growth. */
#define ALL_NEWCOMERS 0.9f

/* Small collections that will be large may fill this part: each can grow to several times that. */
#define GROWING 0.15f

/*
 * Newcomers fill old pages of which this part is free, if these stand still: that made 6.05 pages
 * per collection, and room alone 6.48 (docs/benchmarks.md).
 */
#define WORTH_FILLING 0.3f

static Size
reserve(Relation rel)
{
	return RelationGetTargetPageFreeSpace(rel, HEAP_DEFAULT_FILLFACTOR);
}

/* Returns what rows can take of an empty page. */
static Size
usable(Relation rel)
{
	return MaxHeapTupleSize - reserve(rel);
}

/* Returns the room that RelationGetBufferForTuple() wants a page to have for a row of that size. */
Size
dyn_needed_space(Relation rel, Size size)
{
	Size len = MAXALIGN(size);
	Size almost_all = MaxHeapTupleSize - (MaxHeapTuplesPerPage / 8 * sizeof(ItemIdData));

	if (len + reserve(rel) > almost_all)
		return Max(len, almost_all);
	return len + reserve(rel);
}

/* Returns the part of a page that so many rows of that size fill. */
float
dyn_page_share(Relation rel, int rows, Size size)
{
	return rows * (float) (MAXALIGN(size) + sizeof(ItemIdData)) / usable(rel);
}

/* A crash may leave pages as they came from the operating system; heap initializes them. */
static Size
free_space(Page page)
{
	return PageIsNew(page) ? MaxHeapTupleSize : PageGetHeapFreeSpace(page);
}

/* Does not wait for sessions that write the page. */
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

/*
 * Returns whether a page has the needed bytes free.  Unlike dyn_page_room() it waits for sessions
 * that write the page.
 */
bool
dyn_page_takes(Relation rel, BlockNumber block, Size needed)
{
	return page_space(rel, block) >= needed;
}

/*
 * Returns a page of the first blocks of the table that has the room, by the free space map, or
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
 * Extend the table by heap's own function.  Before that it tries the last page, which a row of the
 * full length fits only if the page is still empty.  The map is given less free space than there
 * is, depending on the page's purpose; its upper levels are updated too, since a search begins
 * there.
 */
static BlockNumber
page_extend(Relation rel, DynPlaceState *state, Size told)
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
	RecordPageWithFreeSpace(rel, block, Min(told, MaxHeapTupleSize));
	FreeSpaceMapVacuumRange(rel, block, block + 1);
	state->blocks = Max(state->blocks, block + 1);
	return block;
}

/* Returns a page for a collection of its own. */
BlockNumber
dyn_own_page(Relation rel, DynPlaceState *state, Size needed)
{
	BlockNumber block = search_map(rel, Max(needed, NEARLY_EMPTY), RelationGetNumberOfBlocks(rel));

	return block != InvalidBlockNumber ? block : page_extend(rel, state, TOLD_OF_NEW);
}

/* Returns what a page has to have free to take a row that may fill the given part of it. */
static Size
room_in_part(Relation rel, Size needed, float part)
{
	Size room = needed + (Size) ((1 - part) * usable(rel));

	return Max(needed, Min(room, TOLD_OF_NEW));
}

static bool
still_takes(Relation rel, const DynPlaceState *state, const DynSharedPage *page, Size needed,
			Size room)
{
	return dyn_place_block_is_good(state, page->block) &&
		   dyn_page_takes(rel, page->block, page->fill ? needed : room);
}

/*
 * Returns whether since the last change of the page as much WAL was written as the table is long.
 * In a table whose collections grow, each page would have got a row meanwhile.  Pages that are not
 * logged always stand still.
 */
static bool
stands_still(Relation rel, BlockNumber block, BlockNumber blocks)
{
	Buffer buffer = ReadBuffer(rel, block);
	XLogRecPtr changed;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	changed = PageGetLSN(BufferGetPage(buffer));
	UnlockReleaseBuffer(buffer);
	return changed + (XLogRecPtr) blocks * BLCKSZ < GetXLogInsertRecPtr();
}

/* Returns an old page of which no room is kept for growth, to be filled up to the fillfactor. */
static BlockNumber
old_page(Relation rel, Size needed)
{
	Size room = reserve(rel) + (Size) (WORTH_FILLING * usable(rel));
	BlockNumber blocks = RelationGetNumberOfBlocks(rel);
	BlockNumber block = search_map(rel, Max(needed, room), blocks / 2);

	return block != InvalidBlockNumber && stands_still(rel, block, blocks) ? block
																		   : InvalidBlockNumber;
}

/*
 * Returns the page for the first row of a collection, or for one of a small collection.
 *
 * Every other page is one that is old and has stood half empty: its collections have not grown,
 * or what was there is gone.  Without these the table would only grow, and with nothing else
 * newcomers would have no room to grow.
 */
BlockNumber
dyn_newcomer_page(Relation rel, DynPlaceState *state, Size needed)
{
	DynSharedPage *page = &state->newcomers;
	Size room = room_in_part(rel, needed, NEWCOMERS);

	if (state->newcomer_share > ALL_NEWCOMERS && state->rows == DYN_ROWS_THAT_COUNT)
		room = needed;
	if (still_takes(rel, state, page, needed, room))
		return page->block;
	page->fill = false;
	page->block = search_map(rel, room, RelationGetNumberOfBlocks(rel));
	if (page->block == InvalidBlockNumber && pg_prng_bool(&pg_global_prng_state))
	{
		page->fill = true;
		page->block = old_page(rel, needed);
	}
	if (page->block == InvalidBlockNumber)
	{
		page->fill = false;
		page->block = page_extend(rel, state, Max(room, TOLD_OF_NEW));
	}
	return page->block;
}

/*
 * Returns the page for a row of a small collection that will be large.  Few meet there, and each
 * has room for several times of what it had.
 */
BlockNumber
dyn_growing_page(Relation rel, DynPlaceState *state, Size needed)
{
	DynSharedPage *page = &state->growing;

	if (!still_takes(rel, state, page, needed, room_in_part(rel, needed, GROWING)))
		page->block = page_extend(rel, state, TOLD_OF_GROWING);
	return page->block;
}

/* Returns the page for a row that has outgrown the one where it was: these fill pages. */
BlockNumber
dyn_moved_page(Relation rel, DynPlaceState *state, Size needed)
{
	DynSharedPage *page = &state->moved;

	if (still_takes(rel, state, page, needed, needed))
		return page->block;
	page->block = old_page(rel, needed);
	if (page->block == InvalidBlockNumber)
		page->block = page_extend(rel, state, TOLD_OF_NEW);
	return page->block;
}
