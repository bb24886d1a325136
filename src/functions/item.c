/*
 * item.c
 *	  The typed SQL functions of single items: a front end over the actions.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "actions/actions.h"
#include "ground/arguments.h"
#include "ground/errors.h"

static Datum
return_item(FunctionCallInfo fcinfo, DynItem *item)
{
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
	request.table = PG_GETARG_TEXT_PP(0);
	request.item = PG_GETARG_DYN_ITEM(1);
	request.expressions = expr_request_arguments(fcinfo, 2, -1);
	request.projection = argument_text(fcinfo, 3);
	request.consistent = !PG_ARGISNULL(4) && PG_GETARG_BOOL(4);
	return return_item(fcinfo, action_get(&request));
}

/* dyn_put(table_name, item, condition, …) */
PG_FUNCTION_INFO_V1(dyn_put);
Datum
dyn_put(PG_FUNCTION_ARGS)
{
	ItemRequest request = {0};

	argument_require(fcinfo, 0, "table_name");
	argument_require(fcinfo, 1, "item");
	request.table = PG_GETARG_TEXT_PP(0);
	request.item = PG_GETARG_DYN_ITEM(1);
	action_write_arguments(fcinfo, 2, option_return_old, &request);
	return return_item(fcinfo, action_put(&request));
}

/* dyn_update(table_name, key, update, condition, …) */
PG_FUNCTION_INFO_V1(dyn_update);
Datum
dyn_update(PG_FUNCTION_ARGS)
{
	ItemRequest request = {0};

	argument_require(fcinfo, 0, "table_name");
	argument_require(fcinfo, 1, "key");
	request.table = PG_GETARG_TEXT_PP(0);
	request.item = PG_GETARG_DYN_ITEM(1);
	request.update = argument_text(fcinfo, 2);
	action_write_arguments(fcinfo, 3, option_return_any, &request);
	return return_item(fcinfo, action_update(&request));
}

/* dyn_delete(table_name, key, condition, …) */
PG_FUNCTION_INFO_V1(dyn_delete);
Datum
dyn_delete(PG_FUNCTION_ARGS)
{
	ItemRequest request = {0};

	argument_require(fcinfo, 0, "table_name");
	argument_require(fcinfo, 1, "key");
	request.table = PG_GETARG_TEXT_PP(0);
	request.item = PG_GETARG_DYN_ITEM(1);
	action_write_arguments(fcinfo, 2, option_return_old, &request);
	return return_item(fcinfo, action_delete(&request));
}
