/*
 * entries.c
 *	  Rows that a scan of an index alone has to look at after all.
 *
 * They are those whose page is not visible to all, and those of a covering index whose entry carries
 * nothing.  Before the first of them is read, the entries behind it that the scan has copied from its
 * leaf are looked at, and the pages of such rows are asked for.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/itup.h"
#include "access/nbtree.h"
#include "access/tableam.h"
#include "access/visibilitymap.h"
#include "storage/bufmgr.h"

#include "store/entries.h"
#include "store/range.h"

/* Pages that are listed at a time. */
#define MOST_PAGES 128

/* Begins to look at rows for a scan of an index that has the keys of a range. */
void
entries_begin(EntriesAhead *entries, IndexScanDesc scan, const StoreRange *range)
{
	entries->scan = scan;
	entries->range = range;
	entries->taken = 0;
	entries->map = InvalidBuffer;
	entries->leaf = InvalidBlockNumber;
	entries->looked_at = 0;
	prefetch_begin(&entries->prefetch, scan->heapRelation);
}

static bool
needs_row(EntriesAhead *entries, const BTScanPosItem *entry)
{
	BTScanOpaque btree = (BTScanOpaque) entries->scan->opaque;

	if (store_wants_part(entries->range->want) &&
		IndexTupleHasNulls((IndexTuple) (btree->currTuples + entry->tupleOffset)))
		return true;
	return !VM_ALL_VISIBLE(entries->scan->heapRelation,
						   ItemPointerGetBlockNumberNoCheck(&entry->heapTid), &entries->map);
}

static bool
is_listed(const BlockNumber *blocks, int n, BlockNumber block)
{
	for (int i = n - 1; i >= 0; i--)
	{
		if (blocks[i] == block)
			return true;
	}
	return false;
}

/* Whether the entry that the scan is at is behind all that were looked at. */
static bool
is_behind(const EntriesAhead *entries, const BTScanPosData *leaf)
{
	return leaf->currPage != entries->leaf ||
		   (entries->range->forward ? leaf->itemIndex > entries->looked_at
									: leaf->itemIndex < entries->looked_at);
}

/* Asks for the pages of rows behind the one that is read next, as many as are asked for at a time. */
static void
look_ahead(EntriesAhead *entries)
{
	const BTScanPosData *leaf = &((BTScanOpaque) entries->scan->opaque)->currPos;
	int step = entries->range->forward ? 1 : -1;
	int64 wanted = store_range_wanted(entries->range, entries->taken);
	int most = Min(entries->prefetch.depth + 1, MOST_PAGES);
	BlockNumber blocks[MOST_PAGES] = {
		ItemPointerGetBlockNumberNoCheck(&leaf->items[leaf->itemIndex].heapTid)};
	int n = 1;
	int i;

	for (i = leaf->itemIndex + step;
		 i >= leaf->firstItem && i <= leaf->lastItem && n < most && --wanted > 0; i += step)
	{
		BlockNumber block = ItemPointerGetBlockNumberNoCheck(&leaf->items[i].heapTid);

		if (needs_row(entries, &leaf->items[i]) && !is_listed(blocks, n, block))
			blocks[n++] = block;
	}
	entries->leaf = leaf->currPage;
	entries->looked_at = i - step;
	prefetch_list(&entries->prefetch);
	prefetch_ask(&entries->prefetch, (PageList){blocks, n}, 0);
}

/* Fetches the row of the entry that the scan is at.  False if its snapshot does not show it. */
bool
entries_fetch_row(EntriesAhead *entries, TupleTableSlot *slot)
{
	IndexScanDesc scan = entries->scan;
	BlockNumber block = ItemPointerGetBlockNumber(&scan->xs_heaptid);
	int64 missed = prefetch_missed();
	bool found;

	if (entries->prefetch.depth > 0 && entries->prefetch.credit > 0 &&
		is_behind(entries, &((BTScanOpaque) scan->opaque)->currPos))
		look_ahead(entries);
	found = index_fetch_heap(scan, slot);
	prefetch_learn(&entries->prefetch, block, missed);
	return found;
}

/* Ends the looking; the scan is the caller's. */
void
entries_end(EntriesAhead *entries)
{
	if (BufferIsValid(entries->map))
		ReleaseBuffer(entries->map);
}
