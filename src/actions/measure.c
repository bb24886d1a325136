/*
 * measure.c
 *	  What actions on single items found and left, for those who count.
 */
#include "postgres.h"

#include "actions/actions.h"

void
action_measure(const ItemRequest *request, const DynTable *table, const DynItem *old,
			   const DynItem *new)
{
	ItemMeasure *measure = request->measure;

	if (measure == NULL)
		return;
	measure->table = table;
	measure->old = old;
	measure->new = new;
	measure->collection_size = -1;
}

/* After the write, inside store_begin().  Spec row R17: only tables with local indexes have it. */
void
action_measure_collection(const ItemRequest *request, DynTable *table, const DynKeyValues *key)
{
	if (request->measure == NULL || !request->measure->collection)
		return;
	if (dyn_local_indexes(table) > 0)
		request->measure->collection_size = collection_size(table, key);
}
