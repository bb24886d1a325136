/*
 * item.c
 *	  GetItem, PutItem, UpdateItem and DeleteItem, and puts of many items.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_class.h"
#include "utils/rel.h"

#include "catalog/expiry.h"
#include "actions/actions.h"
#include "catalog/derive.h"

/*
 * What they share
 */

/*
 * Record in request->measure, if there is one, the item before and after the action; NULL means
 * that there is none.  The pointers are stored as they are, so what they point to must outlive the
 * measure.  The measure of the collection is reset.
 */
static void
measure(const ItemRequest *request, const DynTable *table, const DynItem *old, const DynItem *new)
{
	ItemMeasure *to = request->measure;

	if (to == NULL)
		return;
	to->table = table;
	to->old = old;
	to->new = new;
	to->collection_key = NULL;
}

/*
 * After the write, inside store_begin().  Only tables with local indexes have collections that are
 * measured (docs/semantics.md, R17).
 */
static void
measure_collection(const ItemRequest *request, DynTable *table, const DynKeyValues *key)
{
	ItemMeasure *to = request->measure;

	if (to == NULL || !to->collection || dyn_local_indexes(table) == 0)
		return;
	to->collection_key = collection_key(table, key);
	to->collection_size = collection_size(table, key);
}

/*
 * Lock what is there, and replace it with what the change makes of it; or insert what the change
 * makes of nothing, if it makes anything.  The last call of change counts.
 */
void
action_change_locked(DynTable *table, const DynKeyValues *key, StoreChange change, void *arg)
{
	DynItem *old = store_lock(table, key, STORE_LOCK_REPLACE);
	DynItem *new = change(old, arg);

	if (old == NULL)
	{
		if (new == NULL || store_insert(table, key, new))
			return;
		/* Another session was faster, and this one holds a lock on the item that it inserted. */
		old = store_lock(table, key, STORE_LOCK_REPLACE);
		new = change(old, arg);
	}
	/* Still none if a trigger or policy is in the way: the store says so. */
	if (new != old)
		store_replace(table, key, new);
}

/*
 * GetItem
 */

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
		projection = expr_projection(request->expressions, text_span(request->projection));
	expr_request_done(request->expressions);
	rel = dyn_table_open(request->table, AccessShareLock, &table);
	if (request->consistent)
		action_check_consistent(&table->primary);
	dyn_key_exact(table, &table->primary, request->item, &key);
	store_begin(&callback);
	item = store_get(table, &key);
	store_end(&callback);
	relation_close(rel, NoLock);
	measure(request, table, item, item);
	item = expiry_visible(table, item);
	if (item != NULL && projection != NULL)
		item = expr_project(projection, item);
	return item;
}

/*
 * PutItem
 */

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
	measure(request, table, NULL, NULL);
	watch = collection_watch(rel, table, &key, request->item);
	store_begin(&callback);
	if (condition == NULL && request->return_values == RETURN_NONE && request->measure == NULL &&
		watch != COLLECTION_LOOK)
		store_put(table, &key, request->item);
	else
		old = replace_item(request, condition, table, &key);
	collection_written(watch, table, &key, old, request->item);
	measure(request, table, old, request->item);
	measure_collection(request, table, &key);
	store_end(&callback);
	relation_close(rel, NoLock);
	return request->return_values == RETURN_ALL_OLD ? action_returned(request, old) : NULL;
}

/*
 * Puts of many items.  What stands for all of them has been checked, and their keys are in the order
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

/*
 * UpdateItem
 */

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
		case RETURN_NONE:
			break;
	}
	return NULL;
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
		u.update = expr_update(request->expressions, text_span(request->update));
	expr_request_done(request->expressions);
	rel = dyn_table_open(request->table, RowExclusiveLock, &table);
	dyn_key_exact(table, &table->primary, request->item, &key);
	/* an item's key does not change (docs/semantics.md, K18) */
	if (u.update != NULL)
		action_forbid_keys(table, &table->primary, u.update,
						   "Delete the item and put it with its new key.");
	if (u.update != NULL && request->form != NULL)
		request->form->check_update(u.update, request->form->arg);
	measure(request, table, NULL, NULL);
	watch = collection_watch(rel, table, &key, NULL);
	store_begin(&callback);
	/* without an expression an item that is there stays as it is */
	if (u.update == NULL || !store_change(table, &key, change_item, &u))
		action_change_locked(table, &key, change_item, &u);
	if (has_triggers(rel) && u.new != NULL && request->return_values == RETURN_ALL_NEW)
		read_back(&u, table, &key);
	collection_written(watch, table, &key, u.old, u.new);
	measure(request, table, u.old, u.new);
	measure_collection(request, table, &key);
	store_end(&callback);
	relation_close(rel, NoLock);
	return returned_item(&u);
}

/*
 * DeleteItem
 */

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
	measure(request, table, NULL, NULL);
	store_begin(&callback);
	/* a form may refuse to delete what it does not know, so it is shown the item */
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
	measure(request, table, old, NULL);
	measure_collection(request, table, &key);
	store_end(&callback);
	relation_close(rel, NoLock);
	return want_old ? action_returned(request, old) : NULL;
}
