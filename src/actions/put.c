/*
 * put.c
 *	  PutItem.
 */
#include "postgres.h"

#include "access/relation.h"

#include "actions/actions.h"
#include "catalog/derive.h"

typedef struct Put
{
	const ItemRequest *request;
	const Expr *condition;
	DynItem *old;
} Put;

static DynItem *
put_item(DynItem *old, void *arg)
{
	Put *put = arg;

	action_check_condition(put->request, put->condition, old);
	put->old = old;
	return put->request->item;
}

/*
 * Put the item where the old one has to be looked at.  Where the condition allows that there is
 * none, it is probably a create, and begins with the insert; otherwise with the change.
 */
static DynItem *
replace_item(const ItemRequest *request, const Expr *condition, DynTable *table,
			 const DynKeyValues *key)
{
	Put put = {request, condition, NULL};

	if (condition != NULL && expr_matches(condition, NULL))
	{
		if (store_insert(table, key, request->item))
			return NULL;
	}
	else if (store_change(table, key, put_item, &put))
		return put.old;

	action_change_locked(table, key, put_item, &put);
	return put.old;
}

DynItem *
action_replace(DynTable *table, const DynKeyValues *key, DynItem *item)
{
	ItemRequest request = {.item = item};

	return replace_item(&request, NULL, table, key);
}

/* The old item, if it is wanted and there was one. */
DynItem *
action_put(const ItemRequest *request)
{
	ErrorContextCallback callback;
	const Expr *condition = action_condition(request);
	DynItem *old = NULL;
	DynTable *table;
	Relation rel;
	DynKeyValues key;
	CollectionWatch watch;

	expr_request_done(request->expressions);
	rel = dyn_table_open(request->table, RowExclusiveLock, &table);
	dyn_key_of_item(table, request->item, &key);
	dyn_check_index_keys(rel, table, NULL, request->item);
	action_measure(request, table, NULL, NULL);
	watch = collection_watch(rel, table, &key, request->item);
	store_begin(&callback);
	if (condition == NULL && request->return_values == RETURN_NONE && request->measure == NULL &&
		watch != COLLECTION_LOOK)
		store_put(table, &key, request->item);
	else
		old = replace_item(request, condition, table, &key);
	collection_written(watch, table, &key, old, request->item);
	action_measure(request, table, old, request->item);
	action_measure_collection(request, table, &key);
	store_end(&callback);
	relation_close(rel, NoLock);
	return request->return_values == RETURN_ALL_OLD ? action_returned(request, old) : NULL;
}
