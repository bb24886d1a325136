/*
 * project.c
 *	  What a secondary index has of an item.
 *
 * The entries of our indexes have keys alone, and point to the whole item.  What DynamoDB's
 * would have is cut out of it.
 */
#include "postgres.h"

#include "actions/read.h"

static int
compare_names(const void *a, const void *b)
{
	return item_compare_bytes(*(const ItemSpan *) a, *(const ItemSpan *) b);
}

/* Spec rows I12 to I14: the keys of table and index, and what INCLUDE names. */
void
index_projection(const DynTable *table, const DynIndex *index, IndexProjection *projection)
{
	int n = 0;

	projection->all = dyn_index_is_table(index) || index->projection == DYN_PROJECT_ALL;
	projection->attributes = palloc((index->ncolumns + index->nincluded) * sizeof(ItemSpan));
	for (int i = 0; i < index->ncolumns; i++)
		projection->attributes[n++] = dyn_index_key(table, index, i)->attribute;
	for (int i = 0; i < index->nincluded; i++)
		projection->attributes[n++] = index->included[i];
	qsort(projection->attributes, n, sizeof(ItemSpan), compare_names);
	projection->n = 0;
	for (int i = 0; i < n; i++)
	{
		/* keys may be named by INCLUDE as well */
		if (i == 0 || compare_names(&projection->attributes[i], &projection->attributes[i - 1]) != 0)
			projection->attributes[projection->n++] = projection->attributes[i];
	}
}

bool
index_projects(const IndexProjection *projection, ItemSpan attribute)
{
	return projection->all || bsearch(&attribute, projection->attributes, projection->n,
									  sizeof(ItemSpan), compare_names) != NULL;
}

/* The attributes are in order, so the builder need not sort. */
DynItem *
index_project(const IndexProjection *projection, const DynItem *item)
{
	ItemChildren attributes = item_children(item_root(item));
	ItemBuilder b;

	item_build_init(&b, 512);
	item_build_begin(&b, ITEM_M);
	for (int i = 0; i < projection->n; i++)
	{
		ItemSpan value;

		if (!item_find(&attributes, projection->attributes[i], &value))
			continue;
		item_build_name(&b, projection->attributes[i]);
		item_build_value(&b, value);
	}
	(void) item_build_end(&b);
	return item_build_finish(&b);
}
