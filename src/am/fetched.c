/*
 * fetched.c
 *	  The row that an index scan has fetched last.
 *
 * The executor gives no tid to the INSTEAD OF trigger of a view, and the statement has mostly just read
 * the row that the trigger then looks for.  So the access method remembers it.
 */
#include "postgres.h"

#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "am/am.h"
#include "am/fetched.h"

static Oid last_relid = InvalidOid;
static ItemPointerData last_tid;

/* This is the access method's callback: it calls heap's, which is asked what it has found. */
bool
dyn_index_fetch_tuple(struct IndexFetchTableData *scan, ItemPointer tid, Snapshot snapshot,
					  TupleTableSlot *slot, bool *call_again, bool *all_dead)
{
	if (!GetHeapamTableAmRoutine()->index_fetch_tuple(scan, tid, snapshot, slot, call_again,
													  all_dead))
		return false;
	last_relid = RelationGetRelid(scan->rel);
	last_tid = slot->tts_tid;
	return true;
}

/*
 * Sets *tid to the row of the table that an index scan has fetched last in this session.  Returns false
 * if it was of another table, or if the table has become shorter since.  The caller has the table
 * locked, so that it does not become shorter now.
 */
bool
dyn_fetched(Relation rel, ItemPointer tid)
{
	if (last_relid != RelationGetRelid(rel) ||
		ItemPointerGetBlockNumber(&last_tid) >= RelationGetNumberOfBlocks(rel))
		return false;
	*tid = last_tid;
	return true;
}
