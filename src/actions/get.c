/*
 * get.c
 *	  GetItem.
 */
#include "postgres.h"

#include "access/relation.h"

#include "actions/actions.h"

/*
 * Returns the item with the key of the request, projected, as the active snapshot shows it.  NULL
 * means that there is no such item, or that it has expired and the table hides it.  The request is
 * checked before the item is read.
 */
DynItem *
action_get(const ItemRequest *request)
{
	ErrorContextCallback callback;
	const Expr *projection = request->built.projection;
	DynTable *table;
	Relation rel;
	DynKeyValues key;
	DynItem *item;

	if (request->projection != NULL)
		projection = expr_projection(request->expressions, action_span(request->projection));
	expr_request_done(request->expressions);
	rel = dyn_table_open(request->table, AccessShareLock, &table);
	if (request->consistent)
		action_check_consistent(&table->primary);
	dyn_key_exact(table, &table->primary, request->item, &key);
	store_begin(&callback);
	item = store_get(table, &key);
	store_end(&callback);
	relation_close(rel, NoLock);
	action_measure(request, table, item, item);
	item = action_visible(table, item);
	if (item != NULL && projection != NULL)
		item = expr_project(projection, item);
	return item;
}
