/*
 * functions.c
 *	  The typed SQL functions of single items: a front end over the actions.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "actions/arguments.h"
#include "errors.h"

/* Spec rows R05 to R10: what an action can return, the first so many of these. */
static ReturnValues
parse_return_values(FunctionCallInfo fcinfo, int i, ReturnValues last)
{
	static const char *const names[] = {"NONE", "ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW"};
	char *value;

	if (PG_ARGISNULL(i))
		return RETURN_NONE;
	value = text_to_cstring(PG_GETARG_TEXT_PP(i));
	for (int v = RETURN_NONE; v <= last; v++)
	{
		if (strcmp(value, names[v]) == 0)
			return (ReturnValues) v;
	}
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg("invalid return_values \"%s\"", value),
					errhint(last == RETURN_ALL_OLD
								? "Use NONE or ALL_OLD."
								: "Use NONE, ALL_OLD, UPDATED_OLD, ALL_NEW or UPDATED_NEW.")));
}

/* Spec row R12. */
static bool
parse_on_failure(FunctionCallInfo fcinfo, int i)
{
	char *value;

	if (PG_ARGISNULL(i))
		return false;
	value = text_to_cstring(PG_GETARG_TEXT_PP(i));
	if (strcmp(value, "ALL_OLD") != 0 && strcmp(value, "NONE") != 0)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("invalid return_values_on_condition_check_failure \"%s\"", value),
						errhint("Use NONE or ALL_OLD.")));
	return strcmp(value, "ALL_OLD") == 0;
}

static Datum
return_item(FunctionCallInfo fcinfo, DynItem *item)
{
	if (item == NULL)
		PG_RETURN_NULL();
	PG_RETURN_POINTER(item);
}

/* dyn_get(table_name, key, projection, names, consistent_read) */
PG_FUNCTION_INFO_V1(dyn_get);
Datum
dyn_get(PG_FUNCTION_ARGS)
{
	ItemRequest request = {0};

	argument_require(fcinfo, 0, "table_name");
	argument_require(fcinfo, 1, "key");
	request.table = PG_GETARG_TEXT_PP(0);
	request.item = PG_GETARG_DYN_ITEM(1);
	request.projection = argument_text(fcinfo, 2);
	request.expressions = argument_expressions(fcinfo, 3, -1);
	request.consistent = !PG_ARGISNULL(4) && PG_GETARG_BOOL(4);
	return return_item(fcinfo, action_get(&request));
}

/*
 * What the arguments of all writes end with, from i on: condition, names, vals, return_values,
 * return_values_on_condition_check_failure.
 */
static void
get_write_arguments(FunctionCallInfo fcinfo, int i, ReturnValues last, ItemRequest *request)
{
	request->condition = argument_text(fcinfo, i);
	request->expressions = argument_expressions(fcinfo, i + 1, i + 2);
	request->return_values = parse_return_values(fcinfo, i + 3, last);
	request->old_on_failure = parse_on_failure(fcinfo, i + 4);
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
	get_write_arguments(fcinfo, 2, RETURN_ALL_OLD, &request);
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
	get_write_arguments(fcinfo, 3, RETURN_UPDATED_NEW, &request);
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
	get_write_arguments(fcinfo, 2, RETURN_ALL_OLD, &request);
	return return_item(fcinfo, action_delete(&request));
}
