/*
 * due.c
 *	  Which items are due, by the btree.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relscan.h"
#include "access/tableam.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
#include "utils/numeric.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "catalog/size.h"
#include "server/compat.h"
#include "services/ttl/ttl.h"

/* Items that no index has are looked for in so many last blocks and rows. */
#define LAST_BLOCKS 64
#define LAST_ROWS 1000

/*
 * Returns whether a table has items that expire and a btree that can be read: of a partitioned
 * table, the partitions have, and of one that Citus distributes, the shards; an unlogged one has no
 * files on a standby.
 */
bool
ttl_has_items(Relation rel, const DynTable *table)
{
	return table->ttl != NULL && OidIsValid(table->ttl->relid) && !table->distributed &&
		   rel->rd_rel->relkind == RELKIND_RELATION &&
		   (RelationIsPermanent(rel) || !RecoveryInProgress());
}

/*
 * Finds the items whose time is not before one and before another, in the order of time; at most
 * limit.  Without an array they are counted.  The caller has a snapshot.
 */
int
ttl_find_due(Relation rel, const DynTable *table, Datum from, Datum to, TtlDue *due, int limit)
{
	Relation btree = index_open(table->ttl->relid, AccessShareLock);
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	AttrNumber column = dyn_index_key(table, table->ttl, 0)->attnum;
	ScanKeyData keys[2];
	IndexScanDesc scan;
	int n = 0;

	ScanKeyInit(&keys[0], 1, BTGreaterEqualStrategyNumber, F_NUMERIC_GE, from);
	ScanKeyInit(&keys[1], 1, BTLessStrategyNumber, F_NUMERIC_LT, to);
	scan = begin_index_scan(rel, btree, GetActiveSnapshot(), lengthof(keys));
	index_rescan(scan, keys, lengthof(keys), NULL, 0);
	while (n < limit && index_getnext_slot(scan, ForwardScanDirection, slot))
	{
		bool isnull;

		CHECK_FOR_INTERRUPTS();
		if (due != NULL)
		{
			due[n].tid = slot->tts_tid;
			due[n].second = expiry_second(slot_getattr(slot, column, &isnull));
		}
		n++;
	}
	index_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	index_close(btree, AccessShareLock);
	return n;
}

/* Returns whether an item has the attribute and it is no number; does not read large items. */
static bool
is_other_type(const DynTable *table, TupleTableSlot *slot)
{
	bool isnull;
	Datum item;
	ItemSpan value;

	if (!slot_attisnull(slot, dyn_index_key(table, table->ttl, 0)->attnum))
		return false;
	item = slot_getattr(slot, table->item_attnum, &isnull);
	if (isnull || VARATT_IS_EXTERNAL(DatumGetPointer(item)))
		return false;
	return item_lookup(item_root(DatumGetDynItem(item)), table->settings.ttl, &value) &&
		   expiry_is_never(value);
}

/* Counts them among the last rows, since no index has them: most often they are the newest. */
static int
count_other_types(Relation rel, const DynTable *table)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "item", ALLOCSET_DEFAULT_SIZES);
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	BlockNumber end = RelationGetNumberOfBlocks(rel);
	TableScanDesc scan = dyn_begin_block_scan(rel, end > LAST_BLOCKS ? end - LAST_BLOCKS : 0, end);
	MemoryContext old;
	int n = 0;

	for (int i = 0; scan != NULL && i < LAST_ROWS; i++)
	{
		if (!table_scan_getnextslot_tidrange(scan, BackwardScanDirection, slot))
			break;
		CHECK_FOR_INTERRUPTS();
		old = MemoryContextSwitchTo(context);
		n += is_other_type(table, slot);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	if (scan != NULL)
		table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	MemoryContextDelete(context);
	return n;
}

/*
 * Returns how many items have a time that will not come: numbers beyond the farthest, at most
 * limit, and other types among the last rows.  The caller has a snapshot.
 */
int
ttl_count_never(Relation rel, const DynTable *table, int limit)
{
	Datum end = DirectFunctionCall3(numeric_in, CStringGetDatum("Infinity"), ObjectIdGetDatum(0),
									Int32GetDatum(-1));

	return ttl_find_due(rel, table, expiry_farthest(), end, NULL, limit) +
		   count_other_types(rel, table);
}
