/*
 * handler.c
 *	  The table access method's routine: heap's own, with some callbacks replaced.
 *
 * Pages and WAL are exactly heap's.  Recovery and standbys therefore never need this library,
 * and a table becomes a heap, or ceases to be one, without a change to a single page.  Every
 * override must keep that true.
 */
#include "postgres.h"

#include "catalog/pg_am_d.h"
#include "fmgr.h"
#include "utils/guc.h"

#include "am/am.h"
#include "am/place.h"
#include "am/placement.h"

bool dyn_sort_on_vacuum_full = true;

/*
 * TOAST tables are plain heap: they hold nothing that this access method could arrange, and
 * amcheck and its kin look only at tables whose access method is heap.
 */
static Oid
toast_am(Relation rel)
{
	return HEAP_TABLE_AM_OID;
}

/*
 * The server keeps the pointer that the handler returns in relcache entries for as long as the
 * backend lives, so the routine is static.
 */
static const TableAmRoutine *
routine(void)
{
	static TableAmRoutine methods;

	if (methods.type != T_TableAmRoutine)
	{
		methods = *GetHeapamTableAmRoutine();
		methods.relation_toast_am = toast_am;
		methods.index_fetch_tuple = dyn_index_fetch_tuple;
		methods.tuple_insert = dyn_tuple_insert;
		methods.multi_insert = dyn_multi_insert;
		methods.tuple_insert_speculative = dyn_tuple_insert_speculative;
		methods.tuple_update = dyn_tuple_update;
		methods.relation_nontransactional_truncate = dyn_relation_truncate;
		methods.index_build_range_scan = dyn_index_build_range_scan;
		methods.index_validate_scan = dyn_index_validate_scan;
		methods.relation_copy_for_cluster = dyn_relation_copy_for_cluster;
	}
	return &methods;
}

/* While an index of the relation is built, it is heap's. */
bool
dyn_am_is_ours(Relation rel)
{
	return rel->rd_tableam == routine();
}

PG_FUNCTION_INFO_ANY_VERSION(dynamo_table_am_handler);
Datum
dynamo_table_am_handler(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(routine());
}

/* Defines the access method's settings and registers its callbacks.  Called once by _PG_init(). */
void
dyn_am_init(void)
{
	DefineCustomBoolVariable("dynamo_table.sort_on_vacuum_full",
							 "Sorts tables by their primary key on VACUUM FULL.",
							 "Applies to tables whose access method is dynamo_table.",
							 &dyn_sort_on_vacuum_full, true, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("dynamo_table.placement",
							 "Keeps the rows of a collection on the same pages.",
							 "A collection is the rows that share the first column of the primary "
							 "key. Applies to tables whose access method is dynamo_table.",
							 &dyn_placement_enabled, true, PGC_USERSET, 0, NULL, NULL, NULL);
	dyn_index_build_init();
	dyn_place_init();
}
