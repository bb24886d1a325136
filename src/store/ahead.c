/*
 * ahead.c
 *	  Rows of an index scan, read ahead a page at a time.
 *
 * A collection lies on few pages of the table, but the order of its keys goes back and forth between
 * them.  So the entries that the scan has on its leaf are looked at before it comes to them, and their
 * rows are read page by page: each page is found, pruned and locked once for all of them.  The pages
 * stay pinned until the rows have been taken, which are not copied.
 *
 * The scan itself goes on as in index_getnext_slot(): what was read ahead is used when the scan comes
 * to its entry, and entries whose rows are dead to all are marked then.  A snapshot shows the same
 * rows whenever they are read.  A serializable transaction reads nothing ahead, since it conflicts
 * with writes of what it has read.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/nbtree.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "store/ahead.h"
#include "store/plan.h"
#include "store/range.h"

/* Rows that are looked at ahead, at most and if it is not known how many the caller will take. */
#define MOST_ROWS 128
#define FEW_ROWS 8

/* Pages that are pinned at a time. */
#define MOST_PAGES 64

typedef struct RowAhead
{
	ItemPointerData tid;
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
	int64 taken;
	int npages;
	int nrows;
	int next;
	Buffer pages[MOST_PAGES];
	RowAhead rows[MOST_ROWS];
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
	ahead->taken = 0;
	ahead->npages = 0;
	ahead->nrows = 0;
	ahead->next = 0;
	return ahead;
}

/* How many rows are worth looking at. */
static int
wanted(const RowsAhead *ahead)
{
	int64 rest = ahead->range->likely - ahead->taken;

	if (IsolationIsSerializable())
		return 1;
	if (ahead->range->likely == 0)
		return MOST_ROWS;
	return rest > 0 ? (int) Min(rest, MOST_ROWS) : FEW_ROWS;
}

/* The entry that the scan is at, and those after it on the leaf, which the scan has copied. */
static void
list_entries(RowsAhead *ahead, const ItemPointerData *tid)
{
	const BTScanPosData *leaf = &((BTScanOpaque) ahead->scan->opaque)->currPos;
	int step = ahead->range->forward ? 1 : -1;
	int most = wanted(ahead);

	ahead->next = 0;
	ahead->nrows = 1;
	ahead->rows[0].tid = *tid;
	for (int i = leaf->itemIndex + step;
		 i >= leaf->firstItem && i <= leaf->lastItem && ahead->nrows < most; i += step)
		ahead->rows[ahead->nrows++].tid = leaf->items[i].heapTid;
	for (int i = 0; i < ahead->nrows; i++)
		ahead->rows[i].read = false;
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
	for (int i = 0; store_wants_partition(range->want) && i < range->index->npartition; i++)
		row->partition[i] =
			get_column(tuple, desc, dyn_index_key(ahead->table, range->index, i)->attnum);
}

/* The rows on the page of the first one, from that one on. */
static void
read_page(RowsAhead *ahead, int first)
{
	Relation rel = ahead->scan->heapRelation;
	BlockNumber block = ItemPointerGetBlockNumber(&ahead->rows[first].tid);
	Buffer page = ReadBuffer(rel, block);

	ahead->pages[ahead->npages++] = page;
	heap_page_prune_opt(rel, page);
	LockBuffer(page, BUFFER_LOCK_SHARE);
	for (int i = first; i < ahead->nrows; i++)
	{
		RowAhead *row = &ahead->rows[i];
		ItemPointerData tid = row->tid;
		HeapTupleData tuple;

		if (ItemPointerGetBlockNumber(&tid) != block)
			continue;
		row->read = true;
		row->visible = heap_hot_search_buffer(&tid, rel, page, ahead->scan->xs_snapshot, &tuple,
											  &row->dead, true);
		if (row->visible)
			get_row(ahead, &tuple, &row->row);
	}
	LockBuffer(page, BUFFER_LOCK_UNLOCK);
}

static void
release_pages(RowsAhead *ahead)
{
	while (ahead->npages > 0)
		ReleaseBuffer(ahead->pages[--ahead->npages]);
}

/* Half of a session's share of the buffers, if that is less. */
static int
most_pages(void)
{
	return Min(MOST_PAGES, 1 + NBuffers / (2 * MaxBackends));
}

static void
read_on(RowsAhead *ahead, const ItemPointerData *tid)
{
	int most = most_pages();

	release_pages(ahead);
	list_entries(ahead, tid);
	for (int i = 0; i < ahead->nrows && ahead->npages < most; i++)
	{
		if (!ahead->rows[i].read)
			read_page(ahead, i);
	}
}

/* What was read for the entry that the scan is at. */
static const RowAhead *
row_of(RowsAhead *ahead, const ItemPointerData *tid)
{
	const RowAhead *row = &ahead->rows[ahead->next];

	/* the scan may have gone to another leaf */
	if (ahead->next == ahead->nrows || !row->read || memcmp(&row->tid, tid, sizeof(*tid)) != 0)
		read_on(ahead, tid);
	return &ahead->rows[ahead->next++];
}

/*
 * Returns the next row that the scan's snapshot shows, which lives until the next call, or NULL at
 * the end.
 */
const StoreRow *
ahead_next(RowsAhead *ahead)
{
	IndexScanDesc scan = ahead->scan;
	ScanDirection direction = ahead->range->forward ? ForwardScanDirection : BackwardScanDirection;
	ItemPointer tid;

	while ((tid = index_getnext_tid(scan, direction)) != NULL)
	{
		const RowAhead *row = row_of(ahead, tid);

		if (row->visible)
		{
			pgstat_count_heap_fetch(scan->indexRelation);
			ahead->taken++;
			return &row->row;
		}
		/* as index_fetch_heap() does: after recovery, a standby's queries may still see the row */
		scan->kill_prior_tuple = row->dead && !scan->xactStartedInRecovery;
		CHECK_FOR_INTERRUPTS();
	}
	return NULL;
}

/* Ends the reading; the scan is the caller's. */
void
ahead_end(RowsAhead *ahead)
{
	release_pages(ahead);
	pfree(ahead);
}
