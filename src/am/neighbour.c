/*
 * neighbour.c
 *	  The place of a key in its btree, found by one descent.
 *
 * An index scan would find the same, at several times the cost: it sets up keys and state for
 * many rows.  This is nbtree's own search down to a leaf, as contrib/amcheck uses it, and a look
 * at what is on that leaf.  The leaf stays share-locked meanwhile, and nothing else is locked or
 * read, but what a comparison function reads, as in every search of a btree.
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "utils/rel.h"

#include "am/neighbour.h"
#include "compat.h"

/* Entries to either side that count. */
#define WINDOW 64

/* nbtree's struct ends with keys for as many columns as any index can have. */
static void
make_search_key(Relation index, const Datum *key, BTScanInsert search)
{
	memset(search, 0, offsetof(BTScanInsertData, scankeys));
	_bt_metaversion(index, &search->heapkeyspace, &search->allequalimage);
	search->keysz = IndexRelationGetNumberOfKeyAttributes(index);
	for (int i = 0; i < search->keysz; i++)
		ScanKeyEntryInitializeWithInfo(
			&search->scankeys[i], index->rd_indoption[i] << SK_BT_INDOPTION_SHIFT,
			(AttrNumber) (i + 1), InvalidStrategy, InvalidOid, index->rd_indcollation[i],
			index_getprocinfo(index, (AttrNumber) (i + 1), BTORDER_PROC), key[i]);
}

/* The first entry that is not below the key; behind the last one if all are. */
static OffsetNumber
find_place(Relation index, BTScanInsert search, Page page, OffsetNumber first, OffsetNumber end,
		   bool *equal)
{
	*equal = false;
	while (first < end)
	{
		OffsetNumber middle = first + (end - first) / 2;
		int32 order = _bt_compare(index, search, page, middle);

		if (order > 0)
			first = middle + 1;
		else
		{
			end = middle;
			*equal |= order == 0;
		}
	}
	return first;
}

/* Whether no entry on this leaf or to the right of it can have the key. */
static bool
key_is_absent(Relation index, BTScanInsert search, Page page, OffsetNumber place, bool equal)
{
	if (equal)
		return false;
	if (place <= PageGetMaxOffsetNumber(page) || P_RIGHTMOST(BTPageGetOpaque(page)))
		return true;
	return _bt_compare(index, search, page, P_HIKEY) < 0;
}

/*
 * The stretch of entries around the place that are of the collection.  They are next to each
 * other, so halves find its ends: one comparison tells of all entries between.
 */
static void
find_stretch(Relation index, BTScanInsert collection, Page page, OffsetNumber place,
			 OffsetNumber *first, OffsetNumber *end)
{
	OffsetNumber low = P_FIRSTDATAKEY(BTPageGetOpaque(page));
	OffsetNumber high = PageGetMaxOffsetNumber(page) + 1;

	low = Max(low + WINDOW, place) - WINDOW;
	high = Min(high, place + WINDOW);
	*first = place;
	while (low < *first)
	{
		/* upwards, so that the entry next to the place is the first one to be looked at */
		OffsetNumber middle = *first == place ? place - 1 : low + (*first - low) / 2;

		if (_bt_compare(index, collection, page, middle) == 0)
			*first = middle;
		else
			low = middle + 1;
	}
	*end = place;
	while (*end < high)
	{
		OffsetNumber middle = *end == place ? place : *end + (high - *end) / 2;

		if (_bt_compare(index, collection, page, middle) == 0)
			*end = middle + 1;
		else
			high = middle;
	}
}

/* Of the pages behind the fixed ones, keep the newest. */
static void
note_block(DynNeighbours *found, int fixed, int max_blocks, BlockNumber block)
{
	int i;

	for (i = 0; i < fixed; i++)
	{
		if (found->blocks[i] == block)
			return;
	}
	for (i = found->nblocks; i > fixed && found->blocks[i - 1] < block; i--)
		;
	if (i == max_blocks || (i > fixed && found->blocks[i - 1] == block))
		return;
	if (found->nblocks < max_blocks)
		found->nblocks++;
	memmove(&found->blocks[i + 1], &found->blocks[i],
			(found->nblocks - i - 1) * sizeof(BlockNumber));
	found->blocks[i] = block;
}

static void
note_entries(Page page, OffsetNumber place, OffsetNumber first, OffsetNumber end, int max_blocks,
			 DynNeighbours *found)
{
	BlockNumber blocks[2 * WINDOW];
	int below = 0;
	int fixed;

	for (OffsetNumber offset = first; offset < end; offset++)
	{
		ItemId item = PageGetItemId(page, offset);

		if (ItemIdIsDead(item))
			continue;
		/* of versions of one row, the last one */
		blocks[found->count++] = ItemPointerGetBlockNumberNoCheck(
			BTreeTupleGetMaxHeapTID((IndexTuple) PageGetItem(page, item)));
		if (offset < place)
			below++;
	}
	if (below > 0)
		found->blocks[found->nblocks++] = blocks[below - 1];
	if (below < found->count && (below == 0 || blocks[below] != blocks[below - 1]))
		found->blocks[found->nblocks++] = blocks[below];
	fixed = found->nblocks;
	for (int i = 0; i < found->count; i++)
		note_block(found, fixed, max_blocks, blocks[i]);
}

void
dyn_neighbours(Relation table, Relation index, const Datum *key, int max_blocks,
			   DynNeighbours *found)
{
	BTScanInsertData search;
	BTStack stack;
	Buffer leaf;
	Page page;
	OffsetNumber place;
	OffsetNumber first;
	OffsetNumber end;
	bool equal;

	*found = (DynNeighbours){.absent = true};
	make_search_key(index, key, &search);
	stack = bt_search(index, table, &search, &leaf);
	if (!BufferIsValid(leaf))
		return;
	page = BufferGetPage(leaf);
	place = find_place(index, &search, page, P_FIRSTDATAKEY(BTPageGetOpaque(page)),
					   PageGetMaxOffsetNumber(page) + 1, &equal);
	found->absent = key_is_absent(index, &search, page, place, equal);
	if (max_blocks > 0)
	{
		search.keysz = 1;
		find_stretch(index, &search, page, place, &first, &end);
		note_entries(page, place, first, end, max_blocks, found);
	}
	_bt_relbuf(index, leaf);
	_bt_freestack(stack);
}
