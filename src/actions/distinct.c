/*
 * distinct.c
 *	  Items of a request that are there twice, as far as no table needs to be known.
 *
 * Two items that are the same as a whole have the same key, whatever that is.  What is the same in
 * its key alone is found when the tables are open (target.c).
 */
#include "postgres.h"

#include "actions/several.h"
#include "server/errors.h"

static int
compare_items(const void *a, const void *b)
{
	const DistinctItem *x = a;
	const DistinctItem *y = b;
	int order = item_compare_bytes(text_span(x->table), text_span(y->table));

	return order != 0 ? order : item_compare_bytes(item_root(x->item), item_root(y->item));
}

/*
 * Raises ERRCODE_DYN_VALIDATION if two items with the same table's name are the same.  The array is
 * put in another order.  what is the subject of the message, and words are DynamoDB's.
 */
void
distinct_check(DistinctItem *items, int n, const char *what, const char *words)
{
	qsort(items, n, sizeof(DistinctItem), compare_items);
	for (int i = 1; i < n; i++)
	{
		int first = items[i - 1].number;
		int second = items[i].number;

		if (compare_items(&items[i - 1], &items[i]) != 0)
			continue;
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("%s names an item of table \"%s\" twice", what,
							   item_quoted(text_span(items[i].table))),
						errwords("%s", words),
						errdetail("It is number %d and number %d.", Min(first, second) + 1,
								  Max(first, second) + 1)));
	}
}
