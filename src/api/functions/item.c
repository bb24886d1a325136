/*
 * item.c
 *	  The typed SQL functions of single items: a front end over the actions.
 */
#include "postgres.h"

#include "actions/actions.h"
#include "api/functions/functions.h"
#include "catalog/lookup.h"
#include "server/arguments.h"
#include "server/errors.h"

/* Runs the action of a function. */
static Datum
item_run_function(FunctionCallInfo fcinfo, ItemRequest *request,
				  DynItem *(*action)(const ItemRequest *request))
{
	FrontCall call = {.site = fcinfo->flinfo->fn_expr, .typed = fcinfo};
	DynItem *item;

	request->call = &call;
	request->table = PG_GETARG_TEXT_PP(0);
	if (action != action_get && store_was_sent(call.site) &&
		!dyn_table_lock_at_once(request->table, RowExclusiveLock))
		PG_RETURN_POINTER(store_not_done());
	item = action(request);
	if (item == NULL)
		PG_RETURN_NULL();
	PG_RETURN_POINTER(item);
}

/* dyn_get(table_name, key, names, projection, consistent_read) */
PG_FUNCTION_INFO_V1(dyn_get);
Datum
dyn_get(PG_FUNCTION_ARGS)
{
	ItemRequest request = {0};

	argument_require(fcinfo, 0, "table_name");
	argument_require(fcinfo, 1, "key");
	request.item = PG_GETARG_DYN_ITEM(1);
	request.expressions = expr_request_arguments(fcinfo, 2, -1);
	request.projection = argument_text(fcinfo, 3);
	request.consistent = argument_flag(fcinfo, 4, false);
	return item_run_function(fcinfo, &request, action_get);
}

/* dyn_put(table_name, item, condition, …) */
PG_FUNCTION_INFO_V1(dyn_put);
Datum
dyn_put(PG_FUNCTION_ARGS)
{
	ItemRequest request = {0};

	argument_require(fcinfo, 0, "table_name");
	argument_require(fcinfo, 1, "item");
	request.item = PG_GETARG_DYN_ITEM(1);
	action_write_arguments(fcinfo, 2, option_return_old, &request);
	return item_run_function(fcinfo, &request, action_put);
}

/* dyn_update(table_name, key, update, condition, …) */
PG_FUNCTION_INFO_V1(dyn_update);
Datum
dyn_update(PG_FUNCTION_ARGS)
{
	ItemRequest request = {0};

	argument_require(fcinfo, 0, "table_name");
	argument_require(fcinfo, 1, "key");
	request.item = PG_GETARG_DYN_ITEM(1);
	request.update = argument_text(fcinfo, 2);
	action_write_arguments(fcinfo, 3, option_return_any, &request);
	return item_run_function(fcinfo, &request, action_update);
}

/* dyn_delete(table_name, key, condition, …) */
PG_FUNCTION_INFO_V1(dyn_delete);
Datum
dyn_delete(PG_FUNCTION_ARGS)
{
	ItemRequest request = {0};

	argument_require(fcinfo, 0, "table_name");
	argument_require(fcinfo, 1, "key");
	request.item = PG_GETARG_DYN_ITEM(1);
	action_write_arguments(fcinfo, 2, option_return_old, &request);
	return item_run_function(fcinfo, &request, action_delete);
}
