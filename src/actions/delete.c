/*
 * delete.c
 *	  DeleteItem.
 */
#include "postgres.h"

#include "access/relation.h"

#include "actions/actions.h"

/* The old item, if it is wanted and there was one. */
DynItem *
action_delete(const ItemRequest *request)
{
	ErrorContextCallback callback;
	const Expr *condition = action_condition(request);
	bool want_old = request->return_values == RETURN_ALL_OLD;
	bool need_old = want_old || request->measure != NULL;
	DynItem *old = NULL;
	DynTable *table;
	Relation rel;
	DynKeyValues key;

	expr_request_done(request->expressions);
	rel = dyn_table_open(request->table, RowExclusiveLock, &table);
	dyn_key_exact(table, &table->primary, request->item, &key);
	action_measure(request, table, NULL, NULL);
	store_begin(&callback);
	/* who has items of his own looks at what he deletes */
	if (condition == NULL && request->form == NULL)
		old = store_delete(table, &key, need_old);
	else
	{
		old = store_lock(table, &key, STORE_LOCK_DELETE);
		action_shown(request, old);
		action_check_condition(request, condition, old);
		if (old != NULL)
			store_delete(table, &key, false);
	}
	action_measure(request, table, old, NULL);
	action_measure_collection(request, table, &key);
	store_end(&callback);
	relation_close(rel, NoLock);
	return want_old ? action_returned(request, old) : NULL;
}
