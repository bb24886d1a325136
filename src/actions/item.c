/*
 * item.c
 *	  GetItem, PutItem, UpdateItem and DeleteItem.
 */
#include "postgres.h"

#include "access/relation.h"
#include "utils/rel.h"

#include "actions/authorize.h"
#include "catalog/expiry.h"
#include "server/errors.h"

/* This is a request on its way. */
typedef struct ItemRun
{
	const ItemRequest *request;
	const Expr *condition; /* the expressions of the request; or NULL */
	const Expr *update;
	DynItem *shown; /* the old item, as an update sees it */
	DynItem *result;
} ItemRun;

static DynItem *
item_run(OperationKind kind, void (*action)(Operation *operation, void *arg),
		 const ItemRequest *request)
{
	Operation operation = {.kind = kind};
	ItemRun run = {.request = request};

	operation_run(&operation, action, &run);
	return run.result;
}

/*
 * GetItem
 */

static void
run_get(Operation *operation, void *arg)
{
	ItemRun *get = arg;
	const ItemRequest *request = get->request;
	OperationTable *counted = &operation->table;
	ErrorContextCallback callback;
	const Expr *projection = action_projection(request);
	FrontCall call;
	DynKeyValues key;
	StoreClearance clearance = {0};
	DynItem *item;

	expr_request_done(request->expressions);
	action_open(request->call, request->table, AccessShareLock, &call);
	operation_opened(counted, call.rel, call.table->primary.name);
	if (request->consistent)
		action_check_consistent(&call.table->primary);
	dyn_key_exact(call.table, &call.table->primary, request->item, DYN_KEY_OF_REQUEST, &key);
	action_check_paths(call.table, projection);
	authorize(call.table, &call.table->primary,
			  call.statement ? ACTION_PARTIQL_SELECT : ACTION_GET_ITEM,
			  call.table->primary.npartition, key.values, &clearance);
	store_begin_cleared(&callback, &clearance);
	item = store_get(call.table, &key, call.site);
	store_end(&callback);
	relation_close(call.rel, NoLock);
	if (call.measure != NULL)
		*call.measure = (ItemMeasure){.table = call.table, .old = item, .new = item};
	counted->read = item != NULL;
	item = expiry_visible(call.table, item);
	counted->returned = item != NULL;
	if (item != NULL && projection != NULL)
		item = expr_project(projection, item);
	get->result = item;
}

/*
 * Returns the item with the key of the request, projected, as the active snapshot shows it.  NULL
 * means that there is no such item, or that it has expired and the table hides it.  The request is
 * checked before the item is read.
 */
DynItem *
action_get(const ItemRequest *request)
{
	return item_run(OPERATION_GET, run_get, request);
}

/*
 * Writes
 */

static bool
is_statement(const ItemRequest *request)
{
	return request->call != NULL && request->call->statement;
}

/* Opens the table of a write, and what it takes to write to it. */
static void
open_write(const ItemRequest *request, Operation *operation, ItemWriter *writer)
{
	FrontCall call;

	expr_request_done(request->expressions);
	action_open(request->call, request->table, RowExclusiveLock, &call);
	operation_opened(&operation->table, call.rel, call.table->primary.name);
	write_open(writer, &call);
}

static void
close_write(ItemWriter *writer, ItemWrite *write, Operation *operation)
{
	write_done(writer, write);
	operation->table.written = 1;
	write_close(writer);
	relation_close(writer->rel, NoLock);
}

/*
 * Has the node of the item's shard execute the whole call, where that is all that the transaction
 * does, and closes the table; that node counts it.  A call with a condition is not sent: conditions
 * often are not met, and after an error Citus closes the connection.
 */
static bool
send_write(ItemRun *run, ItemWriter *writer, const ItemWrite *write, Operation *operation)
{
	const ItemRequest *request = run->request;
	FunctionCallInfo typed = request->call == NULL ? NULL : request->call->typed;

	if (typed == NULL || request->condition != NULL ||
		!store_send(writer->table, write->key.values[0], operation->kind, typed, &run->result))
		return false;
	operation->table.counts = false;
	write_close(writer);
	relation_close(writer->rel, NoLock);
	return true;
}

/*
 * PutItem
 */

static DynItem *
put_item(DynItem *old, void *arg)
{
	const ItemRun *put = arg;

	if (put->request->insert && old != NULL)
		ereport_answer(
			(errcode(ERRCODE_DYN_DUPLICATE_ITEM), errmsg(DUPLICATE), errwords(DUPLICATE_WORDS)));
	action_check_condition(put->request, put->condition, old);
	return put->request->item;
}

static void
run_put(Operation *operation, void *arg)
{
	ItemRun *put = arg;
	const ItemRequest *request = put->request;
	ReturnValues returns = request->return_values;
	ItemWriter writer;
	ItemWrite write;
	bool differs;

	put->condition = action_condition(request);
	open_write(request, operation, &writer);
	differs = returns == RETURN_ALL_NEW && write_may_differ(&writer);
	write_prepare_put(&writer, request->item, &write);
	action_check_paths(writer.table, put->condition);
	authorize_write(&writer, is_statement(request) ? ACTION_PARTIQL_INSERT : ACTION_PUT_ITEM,
					&write);
	if (send_write(put, &writer, &write, operation))
		return;
	if (request->insert || (put->condition != NULL && expr_matches(put->condition, NULL)))
		write_change(&writer, &write, EXPECT_INSERT, put_item, put);
	else if (put->condition != NULL || returns == RETURN_ALL_OLD || writer.measure != NULL)
		write_change(&writer, &write, EXPECT_REPLACE, put_item, put);
	else
		write_put(&writer, &write);
	if (differs)
		write_read_back(&writer, &write);
	close_write(&writer, &write, operation);
	if (returns == RETURN_ALL_OLD)
		put->result = action_returned(request, write.old);
	else if (returns == RETURN_ALL_NEW)
		put->result = action_returned(request, write.new);
}

/* Puts the item of a request.  Returns the old or the new item, if it is wanted and there is one. */
DynItem *
action_put(const ItemRequest *request)
{
	return item_run(OPERATION_PUT, run_put, request);
}

/*
 * UpdateItem
 */

static DynItem *
change_item(DynItem *old, void *arg)
{
	ItemRun *u = arg;

	action_check_condition(u->request, u->condition, old);
	u->shown = action_shown(u->request, old);
	return action_updated(u->request, u->update, u->shown);
}

static DynItem *
returned_item(const ItemRun *u, const ItemWrite *write)
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

static void
run_update(Operation *operation, void *arg)
{
	ItemRun *u = arg;
	const ItemRequest *request = u->request;
	ItemWriter writer;
	ItemWrite write;
	bool differs;

	u->condition = action_condition(request);
	u->update = action_update_expression(request);
	open_write(request, operation, &writer);
	differs = request->return_values == RETURN_ALL_NEW && write_may_differ(&writer);
	write_prepare_key(&writer, request->item, &write);
	write.update = u->update;
	action_check_update(request, writer.table, u->update);
	action_check_paths(writer.table, u->condition);
	authorize_write(&writer, is_statement(request) ? ACTION_PARTIQL_UPDATE : ACTION_UPDATE_ITEM,
					&write);
	if (send_write(u, &writer, &write, operation))
		return;
	/* without an expression an item that is there stays as it is */
	write_change(&writer, &write, u->update == NULL ? EXPECT_KEEP : EXPECT_REPLACE, change_item, u);
	if (differs)
		write_read_back(&writer, &write);
	close_write(&writer, &write, operation);
	u->result = returned_item(u, &write);
}

/*
 * Updates the item with the key of the request, or creates it if there is none; an update that only
 * removes attributes creates none.  Returns what return_values asks for, or NULL if that is
 * nothing.  If the condition is not met, ERRCODE_DYN_CONDITIONAL_CHECK_FAILED is raised.
 */
DynItem *
action_update(const ItemRequest *request)
{
	return item_run(OPERATION_UPDATE, run_update, request);
}

/*
 * DeleteItem
 */

static void
judge_deletion(const DynItem *old, void *arg)
{
	const ItemRun *deletion = arg;

	/* a form may refuse to delete what it does not know, so it is shown the item */
	action_shown(deletion->request, old);
	action_check_condition(deletion->request, deletion->condition, old);
}

static void
run_delete(Operation *operation, void *arg)
{
	ItemRun *deletion = arg;
	const ItemRequest *request = deletion->request;
	bool want_old = request->return_values == RETURN_ALL_OLD;
	ItemWriter writer;
	ItemWrite write;
	bool judged;

	deletion->condition = action_condition(request);
	judged = deletion->condition != NULL || request->form != NULL;
	open_write(request, operation, &writer);
	write_prepare_key(&writer, request->item, &write);
	action_check_paths(writer.table, deletion->condition);
	authorize_write(&writer, is_statement(request) ? ACTION_PARTIQL_DELETE : ACTION_DELETE_ITEM,
					&write);
	if (send_write(deletion, &writer, &write, operation))
		return;
	write_delete(&writer, &write, want_old || writer.measure != NULL,
				 judged ? judge_deletion : NULL, deletion);
	close_write(&writer, &write, operation);
	if (want_old)
		deletion->result = action_returned(request, write.old);
}

/* Deletes the item with the key of the request.  Returns it, if it is wanted and there was one. */
DynItem *
action_delete(const ItemRequest *request)
{
	return item_run(OPERATION_DELETE, run_delete, request);
}
