/*
 * page.c
 *	  Pages for rows: looking into them, finding and opening them.
 *
 * Rows cannot be moved, so the room that a collection will need has to be kept free when its
 * first rows are placed, and kept free for little else where it will not be needed.  A collection
 * starts on a page that it shares with other newcomers, and gets pages that it shares with fewer and
 * fewer as it grows, until it has one of its own.  placement.c decides how many share a page.
 *
 * No page is reserved for ever, or for one session.  A session that inserts many rows fills the
 * shared pages that it opens by itself; those that insert one row each fill a page together.  Old
 * pages that still have room are filled by newcomers, and nearly empty ones by rows that moved.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/hio.h"
#include "access/htup_details.h"
#include "access/xlog.h"
#include "common/pg_prng.h"
#include "storage/bufmgr.h"
#include "storage/freespace.h"

#include "am/move.h"
#include "am/place.h"
#include "server/compat.h"

/* A search looks at no more pages of the free space map than these, since it may be wrong. */
#define MAX_TRIES 4

/* The free space map keeps multiples of this. */
#define FSM_STEP (BLCKSZ / 256)

/* The free space map is told so much of a page that only those who opened it are to find. */
#define TOLD_OF_GROWING (MaxHeapTupleSize / 2)

/*
 * Newcomers fill old pages of which this part is free, if these stand still.  If room alone decided,
 * a collection of 100 rows would be on 7 % more pages.
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

/*
 * Returns the room of a page that serves as an empty one, which the free space map can tell.  Rows
 * have a quarter of their part of the page at most: as many stay in the fillfactor's reserve when
 * updates have moved all others away.
 */
static Size
nearly_empty(Relation rel)
{
	return TYPEALIGN_DOWN(FSM_STEP, reserve(rel) + usable(rel) / 4 * 3);
}

/*
 * The free space map is told less than there is of new pages, so that nobody takes one for an
 * empty page: a little less than nearly_empty() of one for first rows, and less than that of one for
 * a single collection.
 */
static Size
told_of_newcomers(Relation rel)
{
	return nearly_empty(rel) - FSM_STEP;
}

static Size
told_of_own(Relation rel)
{
	return nearly_empty(rel) - 2 * FSM_STEP;
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

static Size
line_size(Size size)
{
	return MAXALIGN(size) + sizeof(ItemIdData);
}

/* Returns the part of a page that so many rows of that size fill. */
float
dyn_page_share(Relation rel, int rows, Size size)
{
	return rows * (float) line_size(size) / usable(rel);
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

/* Returns the bytes that a page has free once what is dead to all is removed. */
Size
dyn_page_pruned(Relation rel, BlockNumber block)
{
	Buffer buffer = ReadBuffer(rel, block);
	Buffer map = InvalidBuffer;
	Size space;

	prune_page(rel, buffer, &map);
	if (BufferIsValid(map))
		ReleaseBuffer(map);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	space = free_space(BufferGetPage(buffer));
	UnlockReleaseBuffer(buffer);
	return space;
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
 * Returns a page of the first blocks of the table that has the room, by the free space map, which
 * is asked for so much, or InvalidBlockNumber.  The map is corrected where it is wrong.
 */
static BlockNumber
search_map(Relation rel, Size asked, Size room, BlockNumber blocks)
{
	BlockNumber block = GetPageWithFreeSpace(rel, asked);

	for (int i = 0; i < MAX_TRIES && block != InvalidBlockNumber; i++)
	{
		Size space;

		if (block >= blocks)
		{
			block = GetPageWithFreeSpace(rel, asked);
			continue;
		}
		space = dyn_page_pruned(rel, block);
		if (space >= room)
			return block;
		block = RecordAndGetPageWithFreeSpace(rel, block, Min(space, asked - FSM_STEP), asked);
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

static BlockNumber
nearly_empty_page(Relation rel, Size needed)
{
	Size room = Max(needed, nearly_empty(rel));

	return search_map(rel, room, room, RelationGetNumberOfBlocks(rel));
}

/* Returns a page for a collection of its own. */
BlockNumber
dyn_own_page(Relation rel, DynPlaceState *state, Size needed)
{
	BlockNumber block = nearly_empty_page(rel, needed);

	return block != InvalidBlockNumber ? block : page_extend(rel, state, told_of_own(rel));
}

/* Lets one more collection in, unless so many have been let in or the page lacks the room. */
static bool
lets_in(Relation rel, const DynPlaceState *state, DynSharedPage *page, Size needed, int most)
{
	if (page->collections >= most || !dyn_place_block_is_good(state, page->block) ||
		!dyn_page_takes(rel, page->block, needed))
		return false;
	page->collections++;
	return true;
}

static BlockNumber
begin_page(DynSharedPage *page, BlockNumber block, int collections)
{
	page->block = block;
	page->collections = collections;
	return block;
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
	Size room = Max(needed, reserve(rel) + (Size) (WORTH_FILLING * usable(rel)));
	BlockNumber blocks = RelationGetNumberOfBlocks(rel);
	BlockNumber block = search_map(rel, room, room, blocks / 2);

	return block != InvalidBlockNumber && stands_still(rel, block, blocks) ? block
																		   : InvalidBlockNumber;
}

/*
 * Returns the page for the first row of a collection, or for one of a small collection.  So many
 * at most meet there.  What is on a page that others have begun counts as first rows.
 *
 * Every other page is one that is old and has stood half empty: its collections have not grown,
 * or what was there is gone.  Without these the table would only grow, and with nothing else
 * newcomers would have no room to grow.
 */
BlockNumber
dyn_newcomer_page(Relation rel, DynPlaceState *state, Size size, int most)
{
	DynSharedPage *page = &state->newcomers;
	Size needed = dyn_needed_space(rel, size);
	Size empty = needed + usable(rel) - line_size(size);
	Size room = Max(needed, empty - Min(empty, (most - 1) * line_size(size)));
	BlockNumber block;

	if (lets_in(rel, state, page, needed, most))
		return page->block;
	block =
		search_map(rel, Min(room, told_of_newcomers(rel)), room, RelationGetNumberOfBlocks(rel));
	if (block != InvalidBlockNumber)
	{
		/* another session may have taken some of the room meanwhile */
		Size space = Max(page_space(rel, block), room);

		return begin_page(page, block, most - (int) ((space - room) / line_size(size)));
	}
	if (pg_prng_bool(&pg_global_prng_state))
	{
		/* it is filled: no number of collections is too many */
		block = old_page(rel, needed);
		if (block != InvalidBlockNumber)
			return begin_page(page, block, INT_MIN);
	}
	block = page_extend(
		rel, state, page->block == InvalidBlockNumber ? told_of_newcomers(rel) : TOLD_OF_GROWING);
	return begin_page(page, block, 1);
}

/* Returns the page for a row of a collection that grows.  So many at most meet there. */
BlockNumber
dyn_growing_page(Relation rel, DynPlaceState *state, DynSharedPage *page, Size size, int most)
{
	if (lets_in(rel, state, page, dyn_needed_space(rel, size), most))
		return page->block;
	return begin_page(page, page_extend(rel, state, TOLD_OF_GROWING), 1);
}

/* Returns the page for a row that has outgrown the one where it was: these fill pages. */
BlockNumber
dyn_moved_page(Relation rel, DynPlaceState *state, Size needed)
{
	DynSharedPage *page = &state->moved;
	BlockNumber block;

	if (lets_in(rel, state, page, needed, INT_MAX))
		return page->block;
	block = nearly_empty_page(rel, needed);
	if (block == InvalidBlockNumber)
		block = old_page(rel, needed);
	if (block == InvalidBlockNumber)
		block = page_extend(rel, state, told_of_own(rel));
	return begin_page(page, block, 1);
}

/* Returns the part of a page that is free up to the fillfactor, once what is dead is removed. */
float
dyn_page_free(Relation rel, BlockNumber block)
{
	Size space = dyn_page_pruned(rel, block);

	return (float) (space - Min(space, reserve(rel))) / usable(rel);
}

/* Returns a page that is nearly empty and has the room that a row needs, or InvalidBlockNumber. */
BlockNumber
dyn_empty_page(Relation rel, Size size)
{
	return nearly_empty_page(rel, dyn_needed_space(rel, size));
}

/* Returns a page that has room for a row of so many bytes, be it a new one. */
BlockNumber
dyn_page_with_room(Relation rel, Size size)
{
	Size needed = dyn_needed_space(rel, size);
	BlockNumber block = search_map(rel, needed, needed, RelationGetNumberOfBlocks(rel));

	return block != InvalidBlockNumber ? block : dyn_new_page(rel);
}

/* Returns a new page, of which others are told what a page for one collection has. */
BlockNumber
dyn_new_page(Relation rel)
{
	return page_extend(rel, dyn_place_state(rel), told_of_own(rel));
}

/* Keeps a page from being found by those who look for room, until VACUUM tells of it again. */
void
dyn_hide_page(Relation rel, BlockNumber block)
{
	RecordPageWithFreeSpace(rel, block, 0);
}

/* Tells those who look for room what a page has, once what is dead to all is removed. */
void
dyn_tell_room(Relation rel, BlockNumber block)
{
	RecordPageWithFreeSpace(rel, block, dyn_page_pruned(rel, block));
	FreeSpaceMapVacuumRange(rel, block, block + 1);
}
