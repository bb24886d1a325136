/*
 * update.c
 *	  UpdateItem.
 */
#include "postgres.h"

#include "access/relation.h"

#include "actions/actions.h"
#include "errors.h"
#include "store/store.h"

/* Spec row K18. */
static void
forbid_keys(const DynTable *table, const Expr *update)
{
	for (int i = 0; i < table->nkeys; i++)
	{
		StringInfoData name;

		if (!expr_mentions(update, table->keys[i].attribute))
			continue;
		initStringInfo(&name);
		item_quote(&name, table->keys[i].attribute);
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("invalid UpdateExpression: \"%s\" is a key attribute", name.data),
						errhint("Delete the item and put it with its new key.")));
	}
}

/* What the item becomes: NULL if there is none and the update makes none. */
static DynItem *
updated_item(const ItemRequest *request, const Expr *update, const DynItem *old)
{
	if (update != NULL)
		return expr_apply(update, old, request->item);
	return old != NULL ? (DynItem *) old : request->item;
}

static DynItem *
returned_item(ReturnValues return_values, const Expr *update, DynItem *old, DynItem *new)
{
	switch (return_values)
	{
		case RETURN_ALL_OLD:
			return old;
		case RETURN_ALL_NEW:
			return new;
		case RETURN_UPDATED_OLD:
			return update == NULL ? NULL : expr_updated_old(update, old);
		case RETURN_UPDATED_NEW:
			return update == NULL || new == NULL ? NULL : expr_updated_new(update, old);
		default:
			return NULL;
	}
}

/*
 * Lock what is there, look at it, and replace it; or insert where nothing is.  What is there is
 * looked at under the lock, so concurrent updates all count.
 */
static DynItem *
update_item(const ItemRequest *request, const Expr *condition, const Expr *update, DynTable *table,
			const DynKeyValues *key)
{
	DynItem *old = store_lock(table, key, STORE_LOCK_REPLACE);
	DynItem *new;

	if (old == NULL)
	{
		action_check_condition(request, condition, NULL);
		new = updated_item(request, update, NULL);
		if (new == NULL || store_insert(table, key, new))
			return returned_item(request->return_values, update, NULL, new);
		/* Somebody was faster, and we hold a lock on what he inserted. */
		old = store_lock(table, key, STORE_LOCK_REPLACE);
	}
	action_check_condition(request, condition, old);
	new = updated_item(request, update, old);
	/* Still none if a trigger or policy is in the way: the store says so. */
	if (update != NULL || old == NULL)
		store_replace(table, key, new);
	return returned_item(request->return_values, update, old, new);
}

DynItem *
action_update(const ItemRequest *request)
{
	Expr *condition = action_condition(request);
	Expr *update = NULL;
	DynTable *table;
	Relation rel;
	DynKeyValues key;
	DynItem *result;

	if (request->update != NULL)
		update = expr_update(request->expressions, action_span(request->update));
	expr_request_done(request->expressions);
	rel = dyn_table_open(request->table, RowExclusiveLock, &table);
	dyn_key_exact(table, request->item, &key);
	if (update != NULL)
		forbid_keys(table, update);
	store_begin();
	result = update_item(request, condition, update, table, &key);
	store_end();
	relation_close(rel, NoLock);
	return result;
}
