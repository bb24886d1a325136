/*
 * update.c
 *	  UpdateItem.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_class.h"
#include "utils/rel.h"

#include "actions/actions.h"
#include "ground/errors.h"

/* What the item becomes: NULL if there is none and the update makes none. */
static DynItem *
updated_item(const ItemRequest *request, const Expr *update, const DynItem *old)
{
	DynItem *blank = request->form == NULL ? request->item : request->form->blank;

	if (update != NULL)
		return expr_apply(update, old, blank);
	return old != NULL ? (DynItem *) old : blank;
}

typedef struct Update
{
	const ItemRequest *request;
	const Expr *condition;
	const Expr *update;
	DynItem *old;
	DynItem *shown; /* the old one, as the update sees it */
	DynItem *new;
} Update;

static DynItem *
change_item(DynItem *old, void *arg)
{
	Update *u = arg;

	action_check_condition(u->request, u->condition, old);
	u->old = old;
	u->shown = action_shown(u->request, old);
	u->new = updated_item(u->request, u->update, u->shown);
	if (u->new != NULL && u->request->form != NULL)
		u->new = u->request->form->stored(u->new, u->request->form->arg);
	return u->new;
}

/*
 * Whether the item may have become another one than was written: by triggers beside ours, or by
 * those of a partition, which are not seen here.
 */
static bool
has_triggers(Relation rel)
{
	return rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE || rel->trigdesc->numtriggers > 1;
}

/* The item as it is after the write; what was written, if a policy or trigger has hidden it. */
static void
read_back(Update *u, DynTable *table, const DynKeyValues *key)
{
	/* the lock is ours already, and unlike a read it sees our own write */
	DynItem *item = store_lock(table, key, STORE_LOCK_REPLACE);

	if (item != NULL)
		u->new = item;
}

static DynItem *
returned_item(const Update *u)
{
	switch (u->request->return_values)
	{
		case RETURN_ALL_OLD:
			return action_returned(u->request, u->old);
		case RETURN_ALL_NEW:
			return action_returned(u->request, u->new);
		case RETURN_UPDATED_OLD:
			return u->update == NULL ? NULL : expr_updated_old(u->update, u->shown);
		case RETURN_UPDATED_NEW:
			return u->update == NULL || u->new == NULL ? NULL
													   : expr_updated_new(u->update, u->shown);
		default:
			return NULL;
	}
}

/*
 * Update the item with the key of the request, or create it if there is none; an update that only
 * removes attributes creates none.  Returns what return_values asks for, or NULL if that is
 * nothing.  If the condition is not met, ERRCODE_DYN_CONDITIONAL_CHECK_FAILED is raised.
 */
DynItem *
action_update(const ItemRequest *request)
{
	ErrorContextCallback callback;
	Update u = {.request = request,
				.condition = action_condition(request),
				.update = request->built.update};
	DynTable *table;
	Relation rel;
	DynKeyValues key;
	CollectionWatch watch;

	if (request->update != NULL)
		u.update = expr_update(request->expressions, action_span(request->update));
	expr_request_done(request->expressions);
	rel = dyn_table_open(request->table, RowExclusiveLock, &table);
	dyn_key_exact(table, &table->primary, request->item, &key);
	/* an item's key does not change (docs/semantics.md, K18) */
	if (u.update != NULL)
		action_forbid_keys(table, &table->primary, u.update,
						   "Delete the item and put it with its new key.");
	if (u.update != NULL && request->form != NULL)
		request->form->check_update(u.update, request->form->arg);
	action_measure(request, table, NULL, NULL);
	watch = collection_watch(rel, table, &key, NULL);
	store_begin(&callback);
	/* without an expression an item that is there stays as it is */
	if (u.update == NULL || !store_change(table, &key, change_item, &u))
		action_change_locked(table, &key, change_item, &u);
	if (has_triggers(rel) && u.new != NULL && request->return_values == RETURN_ALL_NEW)
		read_back(&u, table, &key);
	collection_written(watch, table, &key, u.old, u.new);
	action_measure(request, table, u.old, u.new);
	action_measure_collection(request, table, &key);
	store_end(&callback);
	relation_close(rel, NoLock);
	return returned_item(&u);
}
