/*
 * measure.c
 *	  What actions on single items found and left, for those who count.
 */
#include "postgres.h"

#include "actions/actions.h"

/*
 * Record in request->measure, if there is one, the item before and after the action; NULL means
 * that there is none.  The pointers are stored as they are, so what they point to must outlive the
 * measure.  The measure of the collection is reset.
 */
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
	measure->collection_key = NULL;
}

/*
 * After the write, inside store_begin().  Only tables with local indexes have collections that are
 * measured (docs/semantics.md, R17).
 */
void
action_measure_collection(const ItemRequest *request, DynTable *table, const DynKeyValues *key)
{
	ItemMeasure *measure = request->measure;

	if (measure == NULL || !measure->collection || dyn_local_indexes(table) == 0)
		return;
	measure->collection_key = collection_key(table, key);
	measure->collection_size = collection_size(table, key);
}
