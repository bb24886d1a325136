/*
 * put.c
 *	  PutItem.
 */
#include "postgres.h"

#include "access/relation.h"

#include "actions/actions.h"
#include "store/store.h"

/* Lock what is there, look at it, and replace it; or insert where nothing is. */
static DynItem *
replace_item(const ItemRequest *request, const Expr *condition, DynTable *table,
			 const DynKeyValues *key)
{
	DynItem *old = store_lock(table, key, STORE_LOCK_REPLACE);

	if (old == NULL)
	{
		action_check_condition(request, condition, NULL);
		if (store_insert(table, key, request->item))
			return NULL;
		/* Somebody was faster, and we hold a lock on what he inserted. */
		old = store_lock(table, key, STORE_LOCK_REPLACE);
	}
	action_check_condition(request, condition, old);
	store_replace(table, key, request->item);
	return old;
}

/* The old item, if it is wanted and there was one. */
DynItem *
action_put(const ItemRequest *request)
{
	Expr *condition = action_condition(request);
	DynItem *old = NULL;
	DynTable *table;
	Relation rel;
	DynKeyValues key;

	expr_request_done(request->expressions);
	rel = dyn_table_open(request->table, RowExclusiveLock, &table);
	dyn_key_of_item(table, request->item, &key);
	store_begin();
	if (condition == NULL && request->return_values == RETURN_NONE)
		store_put(table, &key, request->item);
	else
		old = replace_item(request, condition, table, &key);
	store_end();
	relation_close(rel, NoLock);
	return request->return_values == RETURN_ALL_OLD ? old : NULL;
}
