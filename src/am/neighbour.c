/*
 * neighbour.c
 *	  The position of a key in its btree, found by one descent.
 *
 * An index scan would find the same, at several times the cost: it sets up keys and state for
 * many rows.  This is nbtree's own search down to a leaf, as contrib/amcheck uses it, and a look
 * at what is on that leaf.  The leaf stays share-locked meanwhile, and nothing else is locked or
 * read, but what a comparison function reads, as in every search of a btree.
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "catalog/pg_collation.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"

#include "am/neighbour.h"
#include "server/compat.h"

/* This many entries to either side of the place count. */
#define WINDOW 64

/* Returns the bytes of a text and their number, or NULL if it is compressed or out of line. */
static inline const char *
text_bytes(Datum text, int *length)
{
	const char *p = DatumGetPointer(text);

	if (VARATT_IS_1B(p) && !VARATT_IS_1B_E(p))
	{
		*length = VARSIZE_1B(p) - VARHDRSZ_SHORT;
		return VARDATA_1B(p);
	}
	*length = (int) VARSIZE_4B(p) - VARHDRSZ;
	return VARATT_IS_4B_U(p) ? VARDATA_4B(p) : NULL;
}

/*
 * Compares keys of collation "C" as bttextcmp() does, which looks at the collation for each pair.  A
 * descent calls it some twenty times.
 */
static Datum
compare_text(PG_FUNCTION_ARGS)
{
	int na;
	int nb;
	const char *a = text_bytes(PG_GETARG_DATUM(0), &na);
	const char *b = text_bytes(PG_GETARG_DATUM(1), &nb);
	int order;

	if (a == NULL || b == NULL)
		return bttextcmp(fcinfo);
	order = memcmp(a, b, Min(na, nb));
	PG_RETURN_INT32(order != 0 ? order : na - nb);
}

/* nbtree's struct ends with keys for as many columns as any index can have. */
static void
make_search_key(Relation index, const Datum *key, BTScanInsert search)
{
	memset(search, 0, offsetof(BTScanInsertData, scankeys));
	_bt_metaversion(index, &search->heapkeyspace, &search->allequalimage);
	search->keysz = IndexRelationGetNumberOfKeyAttributes(index);
	for (int i = 0; i < search->keysz; i++)
	{
		ScanKey scankey = &search->scankeys[i];

		ScanKeyEntryInitializeWithInfo(
			scankey, index->rd_indoption[i] << SK_BT_INDOPTION_SHIFT, (AttrNumber) (i + 1),
			InvalidStrategy, InvalidOid, index->rd_indcollation[i],
			index_getprocinfo(index, (AttrNumber) (i + 1), BTORDER_PROC), key[i]);
		if (scankey->sk_func.fn_oid == F_BTTEXTCMP && scankey->sk_collation == C_COLLATION_OID)
			scankey->sk_func.fn_addr = compare_text;
	}
}

/* Returns the first entry that is not below the key, or the place behind the last one. */
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

/* Adds the rows of an entry to those of the key; returns false if there is no room for them. */
static bool
note_entry(DynNeighbours *found, IndexTuple tuple)
{
	int n = BTreeTupleIsPosting(tuple) ? BTreeTupleGetNPosting(tuple) : 1;

	if (found->nentries + n > DYN_KEY_ENTRIES)
		return false;
	for (int i = 0; i < n; i++)
		found->entries[found->nentries++] =
			BTreeTupleIsPosting(tuple) ? *BTreeTupleGetPostingN(tuple, i) : tuple->t_tid;
	return true;
}

/* Notes the entries that have the key, from the place on; returns false if there may be others. */
static bool
note_key_entries(Relation index, BTScanInsert search, Page page, OffsetNumber place, bool equal,
				 DynNeighbours *found)
{
	OffsetNumber last = PageGetMaxOffsetNumber(page);
	OffsetNumber offset = place;

	while (equal)
	{
		ItemId item = PageGetItemId(page, offset);

		if (!ItemIdIsDead(item) && !note_entry(found, (IndexTuple) PageGetItem(page, item)))
			return false;
		offset++;
		equal = offset <= last && _bt_compare(index, search, page, offset) == 0;
	}
	return offset <= last || P_RIGHTMOST(BTPageGetOpaque(page)) ||
		   _bt_compare(index, search, page, P_HIKEY) < 0;
}

/*
 * Finds the stretch of entries around the place that are of the collection.  They are next to each
 * other, so binary search finds its ends.
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

/* Keep the newest pages: those with the highest numbers, since tables grow at their end. */
static void
note_block(DynNeighbours *found, int max_blocks, BlockNumber block)
{
	int i = found->nblocks;

	while (i > 0 && found->blocks[i - 1] < block)
		i--;
	if (i == max_blocks || (i > 0 && found->blocks[i - 1] == block))
		return;
	if (found->nblocks < max_blocks)
		found->nblocks++;
	memmove(&found->blocks[i + 1], &found->blocks[i],
			(found->nblocks - i - 1) * sizeof(BlockNumber));
	found->blocks[i] = block;
}

static inline BlockNumber
entry_block(Page page, OffsetNumber offset)
{
	/* of versions of one row, the last one */
	IndexTuple tuple = (IndexTuple) PageGetItem(page, PageGetItemId(page, offset));

	return ItemPointerGetBlockNumberNoCheck(BTreeTupleGetMaxHeapTID(tuple));
}

/* Notes pages: if few are asked for, the newest one, and those of the rows below and above. */
static void
note_entries(Page page, OffsetNumber place, OffsetNumber first, OffsetNumber end, int max_blocks,
			 DynNeighbours *found)
{
	int newest = max_blocks > DYN_NEIGHBOUR_BLOCKS ? max_blocks : 1;
	BlockNumber top = 0;
	BlockNumber block;
	int count = 0;

	for (OffsetNumber offset = first; offset < end; offset++)
	{
		if (ItemIdIsDead(PageGetItemId(page, offset)))
			continue;
		count++;
		block = entry_block(page, offset);
		if (newest > 1)
			note_block(found, newest, block);
		top = Max(top, block);
	}
	if (newest == 1 && count > 0)
		note_block(found, 1, top);
	found->count += count;
	if (newest > 1)
		return;
	for (int i = 0; i < 2; i++)
	{
		OffsetNumber offset = i == 0 ? place - 1 : place;

		if (offset < first || offset >= end || ItemIdIsDead(PageGetItemId(page, offset)))
			continue;
		block = entry_block(page, offset);
		if (block != found->blocks[0] && block != found->blocks[found->nblocks - 1])
			found->blocks[found->nblocks++] = block;
	}
}

/* Notes the entries beyond the edge of the leaf where the collection may go on there. */
static void
note_sibling(Relation index, BTScanInsert collection, BlockNumber block, bool left, int max_blocks,
			 DynNeighbours *found)
{
	Buffer buffer;
	Page page;
	OffsetNumber place;
	OffsetNumber first;
	OffsetNumber end;

	if (block == P_NONE)
		return;
	buffer = _bt_getbuf(index, block, BT_READ);
	page = BufferGetPage(buffer);
	/* after a split or deletion it may be another leaf's sibling: its entries tell */
	if (!P_IGNORE(BTPageGetOpaque(page)) && P_ISLEAF(BTPageGetOpaque(page)))
	{
		place = left ? PageGetMaxOffsetNumber(page) + 1 : P_FIRSTDATAKEY(BTPageGetOpaque(page));
		find_stretch(index, collection, page, place, &first, &end);
		note_entries(page, place, first, end, max_blocks, found);
	}
	_bt_relbuf(index, buffer);
}

/* Notes how many entries each of the collections below a place has. */
static void
note_beside(Relation index, BTScanInsert collection, Page page, OffsetNumber place, int max_beside,
			DynNeighbours *found)
{
	BTPageOpaque opaque = BTPageGetOpaque(page);
	Datum own = collection->scankeys[0].sk_argument;
	OffsetNumber first;
	OffsetNumber end;
	bool isnull;

	while (found->nbeside < max_beside && place > P_FIRSTDATAKEY(opaque))
	{
		IndexTuple tuple = (IndexTuple) PageGetItem(page, PageGetItemId(page, place - 1));

		collection->scankeys[0].sk_argument =
			index_getattr(tuple, 1, RelationGetDescr(index), &isnull);
		find_stretch(index, collection, page, place, &first, &end);
		if (first == P_FIRSTDATAKEY(opaque) && !P_LEFTMOST(opaque) &&
			place - first < DYN_MANY_ENTRIES)
			break;
		found->beside[found->nbeside++] = Min(place - first, DYN_MANY_ENTRIES);
		place = first;
	}
	collection->scankeys[0].sk_argument = own;
}

/*
 * Record the entries around the position, and release the leaf.  For many pages, sibling leaves are
 * read as well, one at a time; as in a backward index scan, no two leaves are locked at once.
 */
static void
note_stretch(Relation index, BTScanInsert collection, Buffer leaf, OffsetNumber place,
			 int max_blocks, int max_beside, DynNeighbours *found)
{
	Page page = BufferGetPage(leaf);
	BTPageOpaque opaque = BTPageGetOpaque(page);
	BlockNumber left = P_NONE;
	BlockNumber right = P_NONE;
	OffsetNumber first;
	OffsetNumber end;

	find_stretch(index, collection, page, place, &first, &end);
	note_entries(page, place, first, end, max_blocks, found);
	if (found->count > 0 && first == P_FIRSTDATAKEY(opaque))
		left = opaque->btpo_prev;
	if (found->count > 0 && end > PageGetMaxOffsetNumber(page))
		right = opaque->btpo_next;
	found->edge = left != P_NONE || right != P_NONE;
	if (found->count == 0)
		max_beside = Max(max_beside, DYN_PAIR);
	note_beside(index, collection, page, first, max_beside, found);
	_bt_relbuf(index, leaf);
	if (max_blocks <= DYN_NEIGHBOUR_BLOCKS)
		return;
	note_sibling(index, collection, left, true, max_blocks, found);
	note_sibling(index, collection, right, false, max_blocks, found);
}

/*
 * Finds by one descent of a btree the entries that have a key and, if max_blocks is above 0, table
 * pages of rows near it that share its first column.  key has a value for each key column, none of
 * them null or out of line.  neighbour.h says which locks the caller holds.
 */
void
dyn_neighbours(Relation table, Relation index, const Datum *key, int max_blocks, int max_beside,
			   DynNeighbours *found)
{
	BTScanInsertData search;
	Buffer leaf;
	Page page;
	OffsetNumber place;
	bool equal;

	*found = (DynNeighbours){.complete = true};
	make_search_key(index, key, &search);
	bt_search(index, table, &search, &leaf);
	if (!BufferIsValid(leaf))
		return;
	page = BufferGetPage(leaf);
	place = find_place(index, &search, page, P_FIRSTDATAKEY(BTPageGetOpaque(page)),
					   PageGetMaxOffsetNumber(page) + 1, &equal);
	found->complete = note_key_entries(index, &search, page, place, equal, found);
	search.keysz = 1;
	if (max_blocks > 0)
		note_stretch(index, &search, leaf, place, max_blocks, max_beside, found);
	else
		_bt_relbuf(index, leaf);
}
