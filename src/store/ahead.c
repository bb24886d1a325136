/*
 * ahead.c
 *	  Rows of an index scan, read ahead a page at a time.
 *
 * A collection lies on few pages of the table, but the order of its keys goes back and forth
 * between them.  So the entries that the scan has on its leaf are looked at before it comes to
 * them, and their rows are read page by page: each page is found, pruned and locked once for all of
 * them.  The pages stay pinned until the rows have been taken, which are not copied.  Pages that
 * are not in memory are asked for before they are read; see prefetch.h.  So is the next leaf.
 *
 * Where entries have what is wanted, only those rows are read that may not be visible, by the map
 * of their pages, or of which the entry carries nothing.  When an entry needs no visit of the
 * table, and what is told to serializable transactions then, is as in nodeIndexonlyscan.c.
 *
 * The scan itself goes on as in index_getnext_slot(): what was read ahead is used when the scan
 * comes to its entry, and entries whose rows are dead to all are marked then.  A snapshot shows the
 * same rows whenever they are read.  A serializable transaction conflicts with writes of what it
 * has read, so it reads each row, or looks at the map, when the scan comes to it; pages may be
 * asked for all the same.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/nbtree.h"
#include "access/visibilitymap.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/rel.h"

#include "server/compat.h"
#include "store/ahead.h"
#include "store/plan.h"
#include "store/prefetch.h"
#include "store/range.h"

/* At most so many rows are looked at ahead. */
#define MOST_ROWS 128

/* At most so many pages are pinned at a time. */
#define MOST_PAGES 64

/* The table of pages has so many slots, twice as many as there can be pages. */
#define PAGE_SLOTS (2 * MOST_ROWS)

#define NONE (-1)

typedef struct RowAhead
{
	ItemPointerData tid;
	int16 page; /* NONE: the row is not looked at */
	int16 next; /* row on that page */
	bool carried; /* the entry has what is wanted */
	bool read; /* there was a page left for it */
	bool visible;
	bool dead; /* to all */
	StoreRow row; /* on a page that is pinned */
} RowAhead;

struct RowsAhead
{
	IndexScanDesc scan;
	const DynTable *table;
	const StoreRange *range;
	bool entries; /* they have what is wanted */
	Buffer map; /* of the visibility map */
	Prefetch prefetch;
	int64 taken;
	int npinned;
	Buffer pinned[MOST_PAGES];
	int nrows;
	int next;
	RowAhead rows[MOST_ROWS];
	/* the pages of the rows, in the order of their first rows */
	int npages;
	BlockNumber pages[MOST_ROWS];
	int16 last_rows[MOST_ROWS];
	int16 slots[PAGE_SLOTS]; /* by block number: a page, or the next slot tells */
};

/* Begins to read the rows of a range by a scan of its index, which has its keys. */
RowsAhead *
ahead_begin(IndexScanDesc scan, const DynTable *table, const StoreRange *range)
{
	RowsAhead *ahead = palloc(sizeof(RowsAhead));

	Assert(IsMVCCSnapshot(scan->xs_snapshot));
	ahead->scan = scan;
	ahead->table = table;
	ahead->range = range;
	ahead->entries = scan->xs_want_itup;
	ahead->map = InvalidBuffer;
	prefetch_begin(&ahead->prefetch, scan->heapRelation);
	ahead->taken = 0;
	ahead->npinned = 0;
	ahead->nrows = 0;
	ahead->next = 0;
	return ahead;
}

/* Returns how many entries to look at. */
static int
wanted(const RowsAhead *ahead)
{
	/* a write between a look at the map and the lock for it would go unnoticed */
	if (ahead->entries && IsolationIsSerializable())
		return 1;
	return (int) Min(store_range_wanted(ahead->range, ahead->taken), MOST_ROWS);
}

/* Returns the page of a block, which is added if there is none. */
static int
page_of(RowsAhead *ahead, BlockNumber block)
{
	int slot = block % PAGE_SLOTS;

	while (ahead->slots[slot] != NONE && ahead->pages[ahead->slots[slot]] != block)
		slot = (slot + 1) % PAGE_SLOTS;
	if (ahead->slots[slot] == NONE)
	{
		ahead->slots[slot] = (int16) ahead->npages;
		ahead->last_rows[ahead->npages] = NONE;
		ahead->pages[ahead->npages++] = block;
	}
	return ahead->slots[slot];
}

static void
add_to_page(RowsAhead *ahead, RowAhead *row)
{
	int16 before;

	row->page = (int16) page_of(ahead, ItemPointerGetBlockNumber(&row->tid));
	before = ahead->last_rows[row->page];
	if (before != NONE)
		ahead->rows[before].next = (int16) (row - ahead->rows);
	ahead->last_rows[row->page] = (int16) (row - ahead->rows);
}

static void
add_row(RowsAhead *ahead, const ItemPointerData *tid)
{
	RowAhead *row = &ahead->rows[ahead->nrows++];

	row->tid = *tid;
	row->next = NONE;
	row->carried = false;
	add_to_page(ahead, row);
}

/* Adds an entry; its key columns are there, so that a null is in what it carries. */
static void
add_entry(RowsAhead *ahead, const ItemPointerData *tid, IndexTuple entry)
{
	RowAhead *row = &ahead->rows[ahead->nrows++];

	row->tid = *tid;
	row->next = NONE;
	row->carried = !store_wants_part(ahead->range->want) || !IndexTupleHasNulls(entry);
	if (row->carried &&
		VM_ALL_VISIBLE(ahead->scan->heapRelation, ItemPointerGetBlockNumber(tid), &ahead->map))
		row->page = NONE;
	else
		add_to_page(ahead, row);
}

/* Returns the leaf that the scan goes to next, or P_NONE if it is not known or not needed. */
static BlockNumber
next_leaf(const RowsAhead *ahead, const BTScanPosData *leaf)
{
	int64 likely = ahead->range->likely;

	if (likely > 0 && ahead->taken + ahead->nrows >= likely)
		return P_NONE;
	if (ahead->range->forward)
		return leaf->moreRight ? leaf->nextPage : P_NONE;
	return leaf->moreLeft ? bt_left_sibling(leaf) : P_NONE;
}

static void
ask_for_leaf(const RowsAhead *ahead, const BTScanPosData *leaf)
{
	BlockNumber next = next_leaf(ahead, leaf);

	if (next != P_NONE && ahead->prefetch.depth > 0)
		(void) PrefetchBuffer(ahead->scan->indexRelation, MAIN_FORKNUM, next);
}

/* Lists the entry that the scan is at, and those after it on the leaf, as the scan copied them. */
static void
list_entries(RowsAhead *ahead)
{
	BTScanOpaque scan = (BTScanOpaque) ahead->scan->opaque;
	const BTScanPosData *leaf = &scan->currPos;
	int step = ahead->range->forward ? 1 : -1;
	int most = wanted(ahead);
	int i;

	ahead->next = 0;
	ahead->nrows = 0;
	ahead->npages = 0;
	memset(ahead->slots, NONE, sizeof(ahead->slots));
	prefetch_list(&ahead->prefetch);
	for (i = leaf->itemIndex; i >= leaf->firstItem && i <= leaf->lastItem && ahead->nrows < most;
		 i += step)
	{
		const BTScanPosItem *item = &leaf->items[i];

		if (ahead->entries)
			add_entry(ahead, &item->heapTid, (IndexTuple) (scan->currTuples + item->tupleOffset));
		else
			add_row(ahead, &item->heapTid);
	}
	if (i < leaf->firstItem || i > leaf->lastItem)
		ask_for_leaf(ahead, leaf);
}

static Datum
get_column(HeapTuple tuple, TupleDesc desc, AttrNumber attnum)
{
	bool isnull;
	Datum value = heap_getattr(tuple, attnum, desc, &isnull);

	store_forbid_null(isnull);
	return value;
}

static void
get_row(const RowsAhead *ahead, HeapTuple tuple, StoreRow *row)
{
	TupleDesc desc = RelationGetDescr(ahead->scan->heapRelation);
	const StoreRange *range = ahead->range;

	row->item = get_column(tuple, desc, ahead->table->item_attnum);
	row->projected = false;
	for (int i = 0; store_wants_partition(range->want) && i < range->index->npartition; i++)
		row->partition[i] =
			get_column(tuple, desc, dyn_index_key(ahead->table, range->index, i)->attnum);
}

static void
read_row(const RowsAhead *ahead, Buffer page, RowAhead *row)
{
	ItemPointerData tid = row->tid;
	HeapTupleData tuple;

	row->read = true;
	row->visible = heap_hot_search_buffer(&tid, ahead->scan->heapRelation, page,
										  ahead->scan->xs_snapshot, &tuple, &row->dead, true);
	if (row->visible && !row->carried)
		get_row(ahead, &tuple, &row->row);
}

/* Reads a row, and with it those behind it on its page unless it counts which rows are read. */
static void
read_page(RowsAhead *ahead, int first)
{
	Relation rel = ahead->scan->heapRelation;
	PageList pages = {ahead->pages, ahead->npages};
	Buffer page = prefetch_read(&ahead->prefetch, pages, ahead->rows[first].page);

	ahead->pinned[ahead->npinned++] = page;
	prune_page(rel, page, &ahead->map);
	LockBuffer(page, BUFFER_LOCK_SHARE);
	read_row(ahead, page, &ahead->rows[first]);
	if (!IsolationIsSerializable())
	{
		for (int i = ahead->rows[first].next; i != NONE; i = ahead->rows[i].next)
			read_row(ahead, page, &ahead->rows[i]);
	}
	LockBuffer(page, BUFFER_LOCK_UNLOCK);
}

static void
release_pages(RowsAhead *ahead)
{
	while (ahead->npinned > 0)
		ReleaseBuffer(ahead->pinned[--ahead->npinned]);
}

/* Returns how many pages to pin: half of a session's share of the buffers, if that is less. */
static int
most_pages(void)
{
	if (IsolationIsSerializable())
		return 1;
	return Min(MOST_PAGES, 1 + NBuffers / (2 * MaxBackends));
}

/* Reads as many of the rows that come next as there are pages for. */
static void
read_on(RowsAhead *ahead)
{
	int most = most_pages();

	release_pages(ahead);
	for (int i = ahead->next; i < ahead->nrows; i++)
		ahead->rows[i].read = ahead->rows[i].page == NONE;
	for (int i = ahead->next; i < ahead->nrows && ahead->npinned < most; i++)
	{
		if (!ahead->rows[i].read)
			read_page(ahead, i);
	}
}

/* Returns what was read for the entry that the scan is at. */
static const RowAhead *
row_of(RowsAhead *ahead, const ItemPointerData *tid)
{
	/* the list may end, or the scan have gone to another leaf */
	const RowAhead *row = &ahead->rows[ahead->next];
	bool listed = ahead->next < ahead->nrows && memcmp(&row->tid, tid, sizeof(*tid)) == 0;

	if (!listed)
		list_entries(ahead);
	if (!listed || !ahead->rows[ahead->next].read)
		read_on(ahead);
	return &ahead->rows[ahead->next++];
}

/* Counts a row that is taken, and tells serializable transactions of a page that is not read. */
static void
ahead_take(RowsAhead *ahead, const RowAhead *row)
{
	IndexScanDesc scan = ahead->scan;

	ahead->taken++;
	if (row->page != NONE)
		pgstat_count_heap_fetch(scan->indexRelation);
	else
	{
		PredicateLockPage(scan->heapRelation, ItemPointerGetBlockNumber(&row->tid),
						  scan->xs_snapshot);
		if (ahead->range->skipped != NULL)
			(*ahead->range->skipped)++;
	}
}

/*
 * Goes to the next entry whose row the scan's snapshot shows; false at the end.  *row is the row,
 * which lives until the next call, or NULL if the scan's entry has what is wanted.
 */
bool
ahead_next(RowsAhead *ahead, const StoreRow **row)
{
	IndexScanDesc scan = ahead->scan;
	ScanDirection direction = ahead->range->forward ? ForwardScanDirection : BackwardScanDirection;
	ItemPointer tid;

	while ((tid = index_getnext_tid(scan, direction)) != NULL)
	{
		const RowAhead *next = row_of(ahead, tid);

		if (next->page == NONE || next->visible)
		{
			ahead_take(ahead, next);
			*row = next->carried ? NULL : &next->row;
			return true;
		}
		/* as index_fetch_heap() does: after recovery, a standby's queries may still see the row */
		scan->kill_prior_tuple = next->dead && !scan->xactStartedInRecovery;
		CHECK_FOR_INTERRUPTS();
	}
	return false;
}

/* Ends the reading; the scan is the caller's. */
void
ahead_end(RowsAhead *ahead)
{
	release_pages(ahead);
	if (BufferIsValid(ahead->map))
		ReleaseBuffer(ahead->map);
	pfree(ahead);
}
