/*
 * index_build.c
 *	  Index builds and validations by heap's own code.
 *
 * Heap's two index callbacks scan with heap_getnext(), the one place in the server that refuses
 * a relation whose rd_tableam is not heap's.  So while one of them runs, the relation's relcache
 * entry carries heap's routine.  Two things must hold meanwhile:
 *
 * - However the callback ends, the entry gets its own routine back.  Otherwise an error would
 *   leave the table plain heap for the rest of the session, since an error sends no invalidation.
 * - A rebuild of the entry, which any lock taken by an index expression may cause, puts our
 *   routine back into it.  A relcache callback, called right after the rebuild, swaps it again.
 *   The entry of an open relation stays where it is, so its address remains good.
 */
#include "postgres.h"

#include "access/xact.h"
#include "nodes/execnodes.h"
#include "utils/rel.h"

#include "am/am.h"
#include "server/invalidate.h"

/* A Delegation is one running call of heap's code; it lives on the stack of the caller. */
typedef struct Delegation
{
	Relation rel;
	Oid relid;
	const TableAmRoutine *own;
	struct Delegation *outer;
} Delegation;

/* The innermost comes first: an index expression may itself build an index on another table. */
static Delegation *delegations = NULL;

static void
begin_delegation(Delegation *delegation, Relation rel)
{
	delegation->rel = rel;
	delegation->relid = RelationGetRelid(rel);
	delegation->own = rel->rd_tableam;
	delegation->outer = delegations;
	delegations = delegation;
	rel->rd_tableam = GetHeapamTableAmRoutine();
}

static void
end_delegation(Delegation *delegation)
{
	Assert(delegations == delegation);
	delegations = delegation->outer;
	delegation->rel->rd_tableam = delegation->own;
}

/*
 * Swaps the routine again after a rebuild; outside a transaction, as in an abort, none happens.
 * When a FATAL error ends the session, delegations are still listed then, but their entries may be
 * gone.
 *
 * An entry that was invalidated by the abort of a subtransaction is rebuilt when it is opened
 * next, without a callback.  Only an index expression that changes its own table's catalog entry
 * and rolls that back gets there; heap_getnext() then ends the build with its error.
 */
static void
swap_again(Oid relid)
{
	Delegation *delegation;

	if (delegations == NULL || !IsTransactionState())
		return;
	for (delegation = delegations; delegation != NULL; delegation = delegation->outer)
	{
		if (!OidIsValid(relid) || relid == delegation->relid)
			delegation->rel->rd_tableam = GetHeapamTableAmRoutine();
	}
}

/*
 * Subscribes to relcache invalidations, so that a rebuilt entry gets heap's routine again while
 * heap's code runs.  Called once by dyn_am_init().
 */
void
dyn_index_build_init(void)
{
	static Subscriber subscriber = {.relation_changed = swap_again};

	invalidation_subscribe(&subscriber);
}

/*
 * This is the callback index_build_range_scan: it runs heap's while the table's relcache entry has
 * heap's routine.  Returns the number of live rows, as heap's does.
 */
double
dyn_index_build_range_scan(Relation table_rel, Relation index_rel, struct IndexInfo *index_info,
						   bool allow_sync, bool anyvisible, bool progress,
						   BlockNumber start_blockno, BlockNumber numblocks,
						   IndexBuildCallback callback, void *callback_state, TableScanDesc scan)
{
	Delegation delegation;
	volatile double reltuples;

	begin_delegation(&delegation, table_rel);
	PG_TRY();
	{
		reltuples = GetHeapamTableAmRoutine()->index_build_range_scan(
			table_rel, index_rel, index_info, allow_sync, anyvisible, progress, start_blockno,
			numblocks, callback, callback_state, scan);
	}
	PG_FINALLY();
	{
		end_delegation(&delegation);
	}
	PG_END_TRY();
	return reltuples;
}

/*
 * This is the callback index_validate_scan: it runs heap's while the table's relcache entry has
 * heap's routine.
 */
void
dyn_index_validate_scan(Relation table_rel, Relation index_rel, struct IndexInfo *index_info,
						Snapshot snapshot, struct ValidateIndexState *state)
{
	Delegation delegation;

	begin_delegation(&delegation, table_rel);
	PG_TRY();
	{
		GetHeapamTableAmRoutine()->index_validate_scan(table_rel, index_rel, index_info, snapshot,
													   state);
	}
	PG_FINALLY();
	{
		end_delegation(&delegation);
	}
	PG_END_TRY();
}
