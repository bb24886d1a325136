/*
 * regroup_choose.c
 *	  Reads collections, and chooses what is to be moved.
 *
 * A collection is left as it is if it lies on up to one and a half times the pages that it needs.
 * Of others, rows that are together stay, and all that are alone or with few are moved.
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/nbtree.h"
#include "access/skey.h"
#include "access/tableam.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "server/compat.h"
#include "services/job/items.h"
#include "services/job/regroup.h"

/* A plan is made of so many rows and the rest of the last collection, but of so many at most. */
#define ROWS_TO_READ 2000
#define MOST_ROWS 65536

/* A collection may lie on so many times the pages that it needs. */
#define GOOD_ENOUGH 1.5f

/* A PagePart is what a collection has of a page. */
typedef struct PagePart
{
	BlockNumber block;
	float part;
} PagePart;

/* Adds a page to a list in the memory of the job. */
void
regroup_add_page(Regroup *r, RegroupPages *pages, BlockNumber block)
{
	if (pages->n == pages->max)
	{
		pages->max = Max(2 * pages->max, 64);
		if (pages->blocks == NULL)
			pages->blocks =
				MemoryContextAlloc(r->procedure.context, pages->max * sizeof(BlockNumber));
		else
			pages->blocks = repalloc_huge(pages->blocks, pages->max * sizeof(BlockNumber));
	}
	pages->blocks[pages->n++] = block;
}

/*
 * Collections
 */

static int
by_block(const void *a, const void *b)
{
	const PagePart *one = a;
	const PagePart *other = b;

	return one->block < other->block ? -1 : one->block > other->block;
}

static int
by_part(const void *a, const void *b)
{
	const PagePart *one = a;
	const PagePart *other = b;

	return one->part > other->part ? -1 : one->part < other->part;
}

/* Returns the part of a page that a row fills: all of it if no two such rows fit there. */
static float
part_of_page(Relation rel, Size size)
{
	float part = dyn_page_share(rel, 1, size);

	return part > 0.5f ? 1 : part;
}

/* Returns what a collection has of each page, in the order of the pages. */
static PagePart *
parts_of_pages(Relation rel, const DynRowPlace *rows, int nrows, int *n)
{
	PagePart *parts = palloc(nrows * sizeof(PagePart));
	int last = 0;

	for (int i = 0; i < nrows; i++)
		parts[i] =
			(PagePart){ItemPointerGetBlockNumber(&rows[i].tid), part_of_page(rel, rows[i].size)};
	qsort(parts, nrows, sizeof(PagePart), by_block);
	for (int i = 1; i < nrows; i++)
	{
		if (parts[i].block == parts[last].block)
			parts[last].part += parts[i].part;
		else
			parts[++last] = parts[i];
	}
	*n = last + 1;
	return parts;
}

/*
 * Returns how many of the pages, sorted by what the collection has of them, keep its rows.  One that
 * needs a single page keeps none that lacks room for the others.
 */
static int
count_own(Relation rel, const PagePart *parts, int n, float all)
{
	int least = (int) ceilf(all);
	int own = 0;

	if (least == 1 && dyn_page_free(rel, parts[0].block) < all - parts[0].part)
		return 0;
	while (own < n && own < least && dyn_is_together(parts[own].part, all))
		own++;
	return own;
}

static bool
is_own(const PagePart *own, int n, BlockNumber block)
{
	PagePart key = {.block = block};

	return n > 0 && bsearch(&key, own, n, sizeof(PagePart), by_block) != NULL;
}

/* Keeps of the rows from first on those that are to be moved. */
static void
keep_rows_to_move(RegroupPlan *plan, int first, const PagePart *own, int nkept)
{
	int end = first;

	for (int i = first; i < plan->nrows; i++)
	{
		if (!is_own(own, nkept, ItemPointerGetBlockNumber(&plan->rows[i].tid)))
			plan->rows[end++] = plan->rows[i];
	}
	plan->nrows = end;
}

static void
add_piece(Regroup *r, int first, PagePart *own, int nkept)
{
	RegroupPlan *plan = &r->plan;
	RegroupPiece piece = {.first = first, .own = plan->own.n};

	for (int i = 0; i < nkept; i++)
		regroup_add_page(r, &plan->own, own[i].block);
	qsort(own, nkept, sizeof(PagePart), by_block);
	keep_rows_to_move(plan, first, own, nkept);
	piece.end = plan->nrows;
	piece.own_end = plan->own.n;
	if (plan->npieces == plan->max_pieces)
	{
		plan->max_pieces *= 2;
		plan->pieces = repalloc_huge(plan->pieces, plan->max_pieces * sizeof(RegroupPiece));
	}
	plan->pieces[plan->npieces++] = piece;
}

/* Chooses what is to be moved of a collection, whose rows were read from first on. */
static void
end_collection(Regroup *r, int first)
{
	RegroupPlan *plan = &r->plan;
	float all = 0;
	int n;
	PagePart *parts;

	if (plan->nrows == first)
		return;
	for (int i = first; i < plan->nrows; i++)
		all += part_of_page(r->rel, plan->rows[i].size);
	parts = parts_of_pages(r->rel, &plan->rows[first], plan->nrows - first, &n);
	if (n <= GOOD_ENOUGH * ceilf(all))
		plan->nrows = first;
	else
	{
		qsort(parts, n, sizeof(PagePart), by_part);
		add_piece(r, first, parts, count_own(r->rel, parts, n, all));
	}
	pfree(parts);
}

/*
 * Reading
 */

static void
add_row(RegroupPlan *plan, TupleTableSlot *slot)
{
	bool copied;
	HeapTuple tuple = ExecFetchSlotHeapTuple(slot, false, &copied);

	if (plan->nrows == plan->max_rows)
	{
		plan->max_rows *= 2;
		plan->rows = repalloc_huge(plan->rows, plan->max_rows * sizeof(DynRowPlace));
	}
	plan->rows[plan->nrows++] = (DynRowPlace){slot->tts_tid, (uint16) tuple->t_len};
	plan->read++;
	if (copied)
		heap_freetuple(tuple);
}

static void
key_of_row(const Regroup *r, TupleTableSlot *slot, DynKeyValues *key)
{
	bool isnull;

	key->nkeys = r->table->nkeys;
	for (int i = 0; i < key->nkeys; i++)
		key->values[i] = slot_getattr(slot, r->table->keys[i].attnum, &isnull);
}

/* Begins a scan of the primary key after the position, or at the beginning of the index. */
static IndexScanDesc
scan_after(Regroup *r, ArrayType *position, ScanKeyData *members)
{
	IndexScanDesc scan =
		begin_index_scan(r->rel, r->index, GetActiveSnapshot(), position == NULL ? 0 : 1);
	ScanKeyData header = {0};
	DynKeyValues key;

	if (position == NULL)
	{
		index_rescan(scan, NULL, 0, NULL, 0);
		return scan;
	}
	item_job_key(r->table, position, &key);
	for (int i = 0; i < key.nkeys; i++)
		ScanKeyEntryInitialize(
			&members[i], SK_ROW_MEMBER | (i == key.nkeys - 1 ? SK_ROW_END : 0),
			(AttrNumber) (i + 1), BTGreaterStrategyNumber, InvalidOid, r->index->rd_indcollation[i],
			index_getprocid(r->index, (AttrNumber) (i + 1), BTORDER_PROC), key.values[i]);
	header.sk_flags = SK_ROW_HEADER;
	header.sk_attno = 1;
	header.sk_strategy = BTGreaterStrategyNumber;
	header.sk_argument = PointerGetDatum(members);
	index_rescan(scan, &header, 1, NULL, 0);
	return scan;
}

/* Copies a key over the last one. */
static void
keep_key(const Regroup *r, const DynKeyValues *key, MemoryContext context, DynKeyValues *last)
{
	MemoryContext old = MemoryContextSwitchTo(context);

	MemoryContextReset(context);
	last->nkeys = key->nkeys;
	for (int i = 0; i < key->nkeys; i++)
	{
		Form_pg_attribute column =
			TupleDescAttr(RelationGetDescr(r->rel), r->table->keys[i].attnum - 1);

		last->values[i] = datumCopy(key->values[i], column->attbyval, column->attlen);
	}
	MemoryContextSwitchTo(old);
}

static bool
is_same_collection(const Regroup *r, const DynKeyValues *key, const DynKeyValues *last)
{
	Form_pg_attribute column =
		TupleDescAttr(RelationGetDescr(r->rel), r->table->keys[0].attnum - 1);

	return datum_image_eq(key->values[0], last->values[0], column->attbyval, column->attlen);
}

/* Reads rows until the plan has as many as it may, at the end of a collection if there is one. */
static void
read_rows(Regroup *r, IndexScanDesc scan, TupleTableSlot *slot)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "dynamo_table key", ALLOCSET_SMALL_SIZES);
	RegroupPlan *plan = &r->plan;
	int first = 0;
	DynKeyValues last;
	DynKeyValues key;

	for (;;)
	{
		bool same;

		CHECK_FOR_INTERRUPTS();
		plan->end = !index_getnext_slot(scan, ForwardScanDirection, slot);
		if (plan->end)
			break;
		key_of_row(r, slot, &key);
		same = plan->read > 0 && is_same_collection(r, &key, &last);
		if (plan->read >= (same ? MOST_ROWS : ROWS_TO_READ))
			break;
		if (!same)
		{
			end_collection(r, first);
			first = plan->nrows;
		}
		keep_key(r, &key, context, &last);
		add_row(plan, slot);
	}
	end_collection(r, first);
	if (plan->read > 0)
		plan->position = item_job_position(r->table, &last);
}

/* Notes where the rows are, so that those that make room meanwhile are found. */
static void
note_places(RegroupPlan *plan)
{
	HASHCTL control = {.keysize = sizeof(ItemPointerData), .entrysize = sizeof(PlacedRow)};

	control.hcxt = CurrentMemoryContext;
	plan->places = hash_create("dynamo_table rows to be moved", Max(plan->nrows, 16), &control,
							   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	for (int i = 0; i < plan->nrows; i++)
	{
		PlacedRow *entry = hash_search(plan->places, &plan->rows[i].tid, HASH_ENTER, NULL);

		entry->row = i;
	}
}

/*
 * Reads on after the chunk's position, and makes a plan of what is to be moved.  The transaction has
 * the table open and an active snapshot.
 */
void
regroup_choose(Regroup *r)
{
	RegroupPages own = r->plan.own;
	ScanKeyData members[DYN_MAX_KEYS];
	TupleTableSlot *slot = table_slot_create(r->rel, NULL);
	IndexScanDesc scan = scan_after(r, r->chunk.lower, members);
	MemoryContext old;

	MemoryContextReset(r->plan_context);
	old = MemoryContextSwitchTo(r->plan_context);
	own.n = 0;
	r->plan = (RegroupPlan){.max_rows = ROWS_TO_READ, .max_pieces = 64, .own = own};
	r->plan.rows = palloc(r->plan.max_rows * sizeof(DynRowPlace));
	r->plan.pieces = palloc(r->plan.max_pieces * sizeof(RegroupPiece));
	read_rows(r, scan, slot);
	note_places(&r->plan);
	MemoryContextSwitchTo(old);
	index_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	r->piece = r->row = r->own = 0;
	r->filling = -1;
	r->moved = 0;
}
