/*
 * entries.c
 *	  What the entries of covering indexes carry by an expression, computed again from the rows.
 *
 * Where it is a column, it is among those of the rows, see items.c.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/itup.h"
#include "access/relscan.h"
#include "access/tableam.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "catalog/carried.h"
#include "check/check.h"
#include "ground/compat.h"

typedef struct EntryScan
{
	const TableCheck *check;
	const DynIndex *index;
	Relation btree;
	Snapshot snapshot;
	int64 wrong;
} EntryScan;

/*
 * Whether an entry carries what its row has.  None is never wrong, since readers then get the row.
 * What is wrong with an item itself is reported of the row.
 */
static bool
is_right(const EntryScan *scan, IndexScanDesc entries, TupleTableSlot *slot)
{
	AttrNumber attnum = (AttrNumber) (scan->index->ncolumns + 1);
	bool isnull;
	Datum carried = index_getattr(entries->xs_itup, attnum, entries->xs_itupdesc, &isnull);
	Datum datum;
	DynItem *item;

	if (isnull)
		return true;
	datum = slot_getattr(slot, scan->check->table->item_attnum, &isnull);
	if (isnull)
		return false;
	item = DatumGetDynItem(datum);
	return !item_is_sound(item) ||
		   item_compare_bytes(text_span(DatumGetDynItem(carried)),
							  text_span(dyn_carried_part(scan->index->carried, item))) == 0;
}

/*
 * Entries of rows that the snapshot sees.  It is a new one, for which no entry belongs to another
 * version of its row.
 */
static void
read_entries(EntryScan *scan, TupleTableSlot *slot)
{
	IndexScanDesc entries = begin_index_scan(scan->check->rel, scan->btree, scan->snapshot, 0);
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "dyn_check_table", ALLOCSET_DEFAULT_SIZES);

	entries->xs_want_itup = true;
	index_rescan(entries, NULL, 0, NULL, 0);
	while (index_getnext_tid(entries, ForwardScanDirection) != NULL)
	{
		MemoryContext old;

		CHECK_FOR_INTERRUPTS();
		if (!index_fetch_heap(entries, slot))
			continue;
		old = MemoryContextSwitchTo(context);
		scan->wrong += !is_right(scan, entries, slot);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	index_endscan(entries);
	MemoryContextDelete(context);
}

static void
read_btree(void *arg)
{
	EntryScan *scan = arg;
	TupleTableSlot *slot = table_slot_create(scan->check->rel, NULL);

	scan->btree = index_open(scan->index->relid, AccessShareLock);
	scan->snapshot = RegisterSnapshot(GetLatestSnapshot());
	read_entries(scan, slot);
	UnregisterSnapshot(scan->snapshot);
	index_close(scan->btree, AccessShareLock);
	ExecDropSingleTupleTableSlot(slot);
}

static void
check_index(TableCheck *check, const DynIndex *index)
{
	EntryScan scan = {check, index};
	const char *object = psprintf("index \"%.*s\"", (int) index->name.len, index->name.data);
	const char *error = check_try(read_btree, &scan);

	if (error != NULL)
		check_report(check, object, psprintf("its entries cannot be read: %s", error),
					 check_reindex_sql(check, index->relid));
	else if (scan.wrong > 0)
		check_report(check, object,
					 psprintf("%lld of its entries do not carry what the items have",
							  (long long) scan.wrong),
					 check_reindex_sql(check, index->relid));
}

/*
 * Reports covering indexes with entries that do not carry what the rows of the relation have.  Does
 * nothing unless check->table is set.  The caller may read all rows.
 */
void
check_entries(TableCheck *check)
{
	if (check->table == NULL || check->rel->rd_rel->relkind != RELKIND_RELATION)
		return;
	for (int i = 0; i < check->table->nindexes; i++)
	{
		const DynIndex *index = &check->table->indexes[i];

		if (index->carried != NULL && index->carried_column < 0 && OidIsValid(index->relid))
			check_index(check, index);
	}
}
