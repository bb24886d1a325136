/*
 * item.c
 *	  GetItem, PutItem, UpdateItem and DeleteItem.
 */
#include "postgres.h"

#include "access/relation.h"
#include "utils/rel.h"

#include "actions/operation.h"
#include "actions/write.h"
#include "catalog/expiry.h"
#include "server/errors.h"

/* The table of the request in its measure, if there is one: a failed condition counts too. */
static void
begin_measure(const ItemRequest *request, const DynTable *table)
{
	if (request->measure == NULL)
		return;
	request->measure->table = table;
	request->measure->old = request->measure->new = NULL;
	request->measure->collection_key = NULL;
}

/*
 * Counting
 */

typedef DynItem *(*ItemAction)(const ItemRequest *request, OperationTable *counted);

typedef struct ItemCall
{
	ItemAction action;
	const ItemRequest *request;
	DynItem *result;
} ItemCall;

static void
run_call(Operation *operation, void *arg)
{
	ItemCall *call = arg;

	call->result = call->action(call->request, &operation->table);
}

static DynItem *
run(OperationKind kind, ItemAction action, const ItemRequest *request)
{
	Operation operation = {.kind = kind};
	ItemCall call = {action, request, NULL};

	operation_run(&operation, run_call, &call);
	return call.result;
}

/*
 * GetItem
 */

static DynItem *
run_get(const ItemRequest *request, OperationTable *counted)
{
	ErrorContextCallback callback;
	const Expr *projection = action_projection(request);
	DynTable *table;
	Relation rel;
	DynKeyValues key;
	DynItem *item;

	expr_request_done(request->expressions);
	rel = action_open(request->open, request->table, AccessShareLock, &table);
	operation_opened(counted, rel, table->primary.name);
	if (request->consistent)
		action_check_consistent(&table->primary);
	dyn_key_exact(table, &table->primary, request->item, DYN_KEY_OF_REQUEST, &key);
	store_begin(&callback);
	item = store_get(table, &key, request->alone);
	store_end(&callback);
	relation_close(rel, NoLock);
	begin_measure(request, table);
	if (request->measure != NULL)
		request->measure->old = request->measure->new = item;
	counted->read = item != NULL;
	item = expiry_visible(table, item);
	counted->returned = item != NULL;
	if (item != NULL && projection != NULL)
		item = expr_project(projection, item);
	return item;
}

/*
 * Returns the item with the key of the request, projected, as the active snapshot shows it.  NULL
 * means that there is no such item, or that it has expired and the table hides it.  The request is
 * checked before the item is read.
 */
DynItem *
action_get(const ItemRequest *request)
{
	return run(OPERATION_GET, run_get, request);
}

/*
 * PutItem
 */

/* A put, or a deletion: what is there is judged by the condition. */
typedef struct Judged
{
	const ItemRequest *request;
	const Expr *condition;
} Judged;

static DynItem *
put_item(DynItem *old, void *arg)
{
	const Judged *put = arg;

	if (put->request->insert && old != NULL)
		ereport_answer(
			(errcode(ERRCODE_DYN_DUPLICATE_ITEM), errmsg(DUPLICATE), errwords(DUPLICATE_WORDS)));
	action_check_condition(put->request, put->condition, old);
	return put->request->item;
}

static DynItem *
run_put(const ItemRequest *request, OperationTable *counted)
{
	Judged put = {request, action_condition(request)};
	ItemWriter writer;
	ItemWrite write;
	DynTable *table;
	Relation rel;
	bool differs;

	expr_request_done(request->expressions);
	rel = action_open(request->open, request->table, RowExclusiveLock, &table);
	operation_opened(counted, rel, table->primary.name);
	write_open(&writer, rel, table);
	if (request->alone)
		store_writer_alone(writer.store);
	differs = request->return_values == RETURN_ALL_NEW && write_may_differ(&writer);
	write_prepare_put(&writer, request->item, &write);
	begin_measure(request, table);
	if (request->insert || (put.condition != NULL && expr_matches(put.condition, NULL)))
		write_change(&writer, &write, EXPECT_INSERT, put_item, &put);
	else if (put.condition != NULL || request->return_values == RETURN_ALL_OLD ||
			 request->measure != NULL)
		write_change(&writer, &write, EXPECT_REPLACE, put_item, &put);
	else
		write_put(&writer, &write);
	if (differs)
		write_read_back(&writer, &write);
	write_done(&writer, &write, request->measure);
	counted->written = 1;
	write_close(&writer);
	relation_close(rel, NoLock);
	if (request->return_values == RETURN_ALL_NEW)
		return action_returned(request, write.new);
	return request->return_values == RETURN_ALL_OLD ? action_returned(request, write.old) : NULL;
}

/* Puts the item of a request.  Returns the old or the new item, if it is wanted and there is one. */
DynItem *
action_put(const ItemRequest *request)
{
	return run(OPERATION_PUT, run_put, request);
}

/*
 * UpdateItem
 */

typedef struct Update
{
	const ItemRequest *request;
	const Expr *condition;
	const Expr *update;
	DynItem *shown; /* the old item, as the update sees it */
} Update;

static DynItem *
change_item(DynItem *old, void *arg)
{
	Update *u = arg;

	action_check_condition(u->request, u->condition, old);
	u->shown = action_shown(u->request, old);
	return action_updated(u->request, u->update, u->shown);
}

static DynItem *
returned_item(const Update *u, const ItemWrite *write)
{
	switch (u->request->return_values)
	{
		case RETURN_ALL_OLD:
			return action_returned(u->request, write->old);
		case RETURN_ALL_NEW:
			return action_returned(u->request, write->new);
		case RETURN_UPDATED_OLD:
			return u->update == NULL ? NULL : expr_updated_old(u->update, u->shown);
		case RETURN_UPDATED_NEW:
			if (u->update == NULL || write->new == NULL)
				return NULL;
			return expr_updated_new(u->update, u->shown, action_blank(u->request));
		case RETURN_NONE:
			break;
	}
	return NULL;
}

static DynItem *
run_update(const ItemRequest *request, OperationTable *counted)
{
	Update u = {.request = request,
				.condition = action_condition(request),
				.update = action_update_expression(request)};
	ItemWriter writer;
	ItemWrite write;
	DynTable *table;
	Relation rel;
	bool differs;

	expr_request_done(request->expressions);
	rel = action_open(request->open, request->table, RowExclusiveLock, &table);
	operation_opened(counted, rel, table->primary.name);
	write_open(&writer, rel, table);
	if (request->alone)
		store_writer_alone(writer.store);
	differs = request->return_values == RETURN_ALL_NEW && write_may_differ(&writer);
	write_prepare_key(&writer, request->item, &write);
	action_check_update(request, table, u.update);
	begin_measure(request, table);
	/* without an expression an item that is there stays as it is */
	write_change(&writer, &write, u.update == NULL ? EXPECT_KEEP : EXPECT_REPLACE, change_item, &u);
	if (differs)
		write_read_back(&writer, &write);
	write_done(&writer, &write, request->measure);
	counted->written = 1;
	write_close(&writer);
	relation_close(rel, NoLock);
	return returned_item(&u, &write);
}

/*
 * Update the item with the key of the request, or create it if there is none; an update that only
 * removes attributes creates none.  Returns what return_values asks for, or NULL if that is
 * nothing.  If the condition is not met, ERRCODE_DYN_CONDITIONAL_CHECK_FAILED is raised.
 */
DynItem *
action_update(const ItemRequest *request)
{
	return run(OPERATION_UPDATE, run_update, request);
}

/*
 * DeleteItem
 */

static void
judge_deletion(const DynItem *old, void *arg)
{
	const Judged *judged = arg;

	/* a form may refuse to delete what it does not know, so it is shown the item */
	action_shown(judged->request, old);
	action_check_condition(judged->request, judged->condition, old);
}

static DynItem *
run_delete(const ItemRequest *request, OperationTable *counted)
{
	Judged judged = {request, action_condition(request)};
	bool want_old = request->return_values == RETURN_ALL_OLD;
	bool judge = judged.condition != NULL || request->form != NULL;
	ItemWriter writer;
	ItemWrite write;
	DynTable *table;
	Relation rel;

	expr_request_done(request->expressions);
	rel = action_open(request->open, request->table, RowExclusiveLock, &table);
	operation_opened(counted, rel, table->primary.name);
	write_open(&writer, rel, table);
	if (request->alone)
		store_writer_alone(writer.store);
	write_prepare_key(&writer, request->item, &write);
	begin_measure(request, table);
	write_delete(&writer, &write, want_old || request->measure != NULL,
				 judge ? judge_deletion : NULL, &judged);
	write_done(&writer, &write, request->measure);
	counted->written = 1;
	write_close(&writer);
	relation_close(rel, NoLock);
	return want_old ? action_returned(request, write.old) : NULL;
}

/* Deletes the item with the key of the request.  Returns it, if it is wanted and there was one. */
DynItem *
action_delete(const ItemRequest *request)
{
	return run(OPERATION_DELETE, run_delete, request);
}
