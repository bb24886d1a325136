/*
 * position.c
 *	  Where reads start, and where they left off: the key of an entry of the index.
 *
 * It has the keys of index and table.  Names that are in both are there once.
 */
#include "postgres.h"

#include "actions/read.h"
#include "ground/errors.h"

/*
 * Continue after the start key, which must be a full key in the collection that is read, if it is
 * one that is read.  No item needs to be there (docs/semantics.md, Q13, Q14).
 */
void
read_start(const Read *read, StoreRange *range)
{
	DynKeyValues key;

	if (read->request->start_key == NULL)
		return;
	dyn_key_exact(read->table, read->index, read->request->start_key, &key);
	Assert(key.nkeys == read->index->ncolumns);
	for (int i = 0; range->nequal > 0 && i < read->index->npartition; i++)
	{
		if (store_column_compare(dyn_index_key(read->table, read->index, i)->type, key.values[i],
								 range->equal[i]) != 0)
			ereport(ERROR,
					(errcode(ERRCODE_DYN_VALIDATION),
					 errmsg("the start key has another partition key than the key condition")));
	}
	range->nposition = key.nkeys;
	memcpy(range->position, key.values, key.nkeys * sizeof(Datum));
}

/* The key of an item's entry in the index, as LastEvaluatedKey has it. */
DynItem *
read_position(const Read *read, const DynItem *item)
{
	ItemBuilder b;

	item_build_init(&b, 256);
	item_build_begin(&b, ITEM_M);
	for (int i = 0; i < read->index->ncolumns; i++)
	{
		item_build_name(&b, dyn_index_key(read->table, read->index, i)->attribute);
		item_build_value(&b, dyn_key_attribute(read->table, read->index, item, i));
	}
	(void) item_build_end(&b);
	return item_build_finish(&b);
}
