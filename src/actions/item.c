/*
 * item.c
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

/*
 * Put an item without a condition, and return the item that it replaces, or NULL if there was none.
 * The caller has checked item and key, and calls this between store_begin() and store_end().
 */
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

/*
 * Puts of many items: what stands for all of them has been checked, and their keys are in the order
 * of the primary key, and distinct.
 */

typedef struct PutMany
{
	CollectionWatch *watches;
	bool look; /* one of them has to look at its collection, and at the old item */
} PutMany;

static PutMany
watch_many(Relation rel, const DynTable *table, int n, const DynKeyValues *const *keys,
		   const DynItem *const *items)
{
	PutMany many = {palloc(n * sizeof(CollectionWatch)), false};

	for (int i = 0; i < n; i++)
	{
		many.watches[i] = collection_watch(rel, table, keys[i], items[i]);
		many.look |= many.watches[i] == COLLECTION_LOOK;
	}
	return many;
}

/*
 * Put n items, replacing those that are there.  The keys are distinct and in the order of the
 * primary key, and rel is open under RowExclusiveLock.  An item collection that becomes too large
 * is ERRCODE_DYN_ITEM_COLLECTION_SIZE_LIMIT.
 */
void
action_put_many(Relation rel, DynTable *table, int n, const DynKeyValues *const *keys,
				const DynItem *const *items)
{
	PutMany many = watch_many(rel, table, n, keys, items);
	ErrorContextCallback callback;

	store_begin(&callback);
	if (!many.look)
		store_put_many(table, n, keys, items);
	for (int i = 0; i < n; i++)
	{
		DynItem *old = NULL;

		if (many.look)
			old = action_replace(table, keys[i], unconstify(DynItem *, items[i]));
		collection_written(many.watches[i], table, keys[i], old, items[i]);
	}
	store_end(&callback);
}

/* Items that are there stay, and are locked; says of each whether it was inserted. */
void
action_insert_many(Relation rel, DynTable *table, int n, const DynKeyValues *const *keys,
				   const DynItem *const *items, bool *inserted)
{
	PutMany many = watch_many(rel, table, n, keys, items);
	ErrorContextCallback callback;

	store_begin(&callback);
	store_insert_many(table, n, keys, items, inserted);
	for (int i = 0; i < n; i++)
	{
		if (inserted[i])
			collection_written(many.watches[i], table, keys[i], NULL, items[i]);
	}
	store_end(&callback);
}
