/*
 * rewrite.c
 *	  VACUUM FULL and CLUSTER: heap's rewrite, in the order that keeps collections together.
 *
 * VACUUM FULL hands over no index, and heap then keeps the order it finds.  Here it sorts.  Only
 * the index's definition is used, never its contents: a VACUUM FULL that is to repair a table
 * must not trust them.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_index.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "am/am.h"

static bool
index_is_valid_primary_key(Oid index)
{
	HeapTuple tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
	Form_pg_index form;
	bool result;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for index %u", index);
	form = (Form_pg_index) GETSTRUCT(tuple);
	result = form->indisprimary && form->indisvalid;
	ReleaseSysCache(tuple);
	return result;
}

/*
 * Returns the index in whose order VACUUM FULL writes the table, or InvalidOid: the one that
 * CLUSTER has marked, or else the primary key.
 */
static Oid
sort_index(Relation table)
{
	List *indexes = RelationGetIndexList(table);
	Oid chosen = InvalidOid;
	ListCell *cell;

	foreach (cell, indexes)
	{
		Oid index = lfirst_oid(cell);

		if (get_index_isclustered(index))
		{
			chosen = index;
			break;
		}
		if (index_is_valid_primary_key(index))
			chosen = index;
	}
	list_free(indexes);
	return chosen;
}

/* Open that index, if there is one and its order is one that heap can sort by. */
static Relation
open_sort_index(Relation table)
{
	Oid oid = sort_index(table);
	Relation index;

	if (!OidIsValid(oid))
		return NULL;
	index = index_open(oid, AccessExclusiveLock);
	if (index->rd_rel->relam == BTREE_AM_OID)
		return index;
	index_close(index, NoLock);
	return NULL;
}

/*
 * This is the callback relation_copy_for_cluster: it calls heap's.  For VACUUM FULL, which passes
 * no index, it sorts by the clustered index or else the primary key, if
 * dynamo_table.sort_on_vacuum_full is on.
 */
void
dyn_relation_copy_for_cluster(Relation old_table, Relation new_table, Relation old_index,
							  bool use_sort, TransactionId oldest_xmin,
							  COPY_SNAPSHOT_DECLARED TransactionId *xid_cutoff,
							  MultiXactId *multi_cutoff, double *num_tuples, double *tups_vacuumed,
							  double *tups_recently_dead)
{
	Relation order = NULL;

	if (old_index == NULL && dyn_sort_on_vacuum_full)
		order = open_sort_index(old_table);
	if (order != NULL)
	{
		old_index = order;
		use_sort = true;
	}

	GetHeapamTableAmRoutine()->relation_copy_for_cluster(
		old_table, new_table, old_index, use_sort, oldest_xmin, COPY_SNAPSHOT xid_cutoff,
		multi_cutoff, num_tuples, tups_vacuumed, tups_recently_dead);

	/* The lock stays until the end of the transaction, as the table's does. */
	if (order != NULL)
		index_close(order, NoLock);
}
