/*
 * page.c
 *	  A page of items: a row whose first four columns are items, item_count, scanned_count, and where
 *	  the next page begins.
 */
#include "postgres.h"

#include "utils/lsyscache.h"

#include "api/functions/functions.h"

/* Begins the result of a function, in the current memory context. */
void
page_begin(FunctionCallInfo fcinfo, ResultPage *page)
{
	if (get_call_result_type(fcinfo, NULL, &page->desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	page->desc = BlessTupleDesc(page->desc);
	page->item_type = get_element_type(TupleDescAttr(page->desc, 0)->atttypid);
	page->context = CurrentMemoryContext;
	page->items = initArrayResult(page->item_type, page->context, false);
	page->empty = true;
}

/* Adds an item, as a ResultCallback whose argument is a page. */
void
page_add(Datum item, void *arg)
{
	ResultPage *page = arg;

	(void) accumArrayResult(page->items, item, false, page->item_type, page->context);
	page->empty = false;
}

/* Returns the items that were added, as an array. */
Datum
page_items(const ResultPage *page)
{
	return page->empty ? PointerGetDatum(construct_empty_array(page->item_type))
					   : makeArrayResult(page->items, page->context);
}
