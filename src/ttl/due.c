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
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "ground/compat.h"
#include "ttl/ttl.h"

/*
 * Whether a table has items that expire and a btree that can be read: of a partitioned table, the
 * partitions have, and of one that Citus distributes, the shards; an unlogged one has no files on a
 * standby.
 */
bool
ttl_has_items(Relation rel, const DynTable *table)
{
	return table->ttl != NULL && OidIsValid(table->ttl->relid) && !table->distributed &&
		   rel->rd_rel->relkind == RELKIND_RELATION &&
		   (RelationIsPermanent(rel) || !RecoveryInProgress());
}

/*
 * The items whose time is not before one and before another, in the order of time; at most limit.
 * The caller has a snapshot.
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
		due[n].tid = slot->tts_tid;
		due[n++].second = expiry_second(slot_getattr(slot, column, &isnull));
	}
	index_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	index_close(btree, AccessShareLock);
	return n;
}
