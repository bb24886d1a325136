/*
 * functions.c
 *	  The typed SQL functions: a front end over the actions.
 */
#include "postgres.h"

#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"

#include "actions/actions.h"
#include "errors.h"

static void
require_argument(FunctionCallInfo fcinfo, int i, const char *name)
{
	if (PG_ARGISNULL(i))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg("%s must not be null", name)));
}

static text *
optional_text(FunctionCallInfo fcinfo, int i)
{
	return PG_ARGISNULL(i) ? NULL : PG_GETARG_TEXT_PP(i);
}

static DynItem *
optional_item(FunctionCallInfo fcinfo, int i)
{
	return PG_ARGISNULL(i) ? NULL : PG_GETARG_DYN_ITEM(i);
}

static ExprRequest *
expressions(FunctionCallInfo fcinfo, int names, int vals)
{
	return expr_request(PG_ARGISNULL(names) ? NULL : PG_GETARG_JSONB_P(names),
						vals < 0 ? NULL : optional_item(fcinfo, vals));
}

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

/* dyn_get(table_name, key, projection, names) */
PG_FUNCTION_INFO_V1(dyn_get);
Datum
dyn_get(PG_FUNCTION_ARGS)
{
	ItemRequest request = {0};

	require_argument(fcinfo, 0, "table_name");
	require_argument(fcinfo, 1, "key");
	request.table = PG_GETARG_TEXT_PP(0);
	request.item = PG_GETARG_DYN_ITEM(1);
	request.projection = optional_text(fcinfo, 2);
	request.expressions = expressions(fcinfo, 3, -1);
	return return_item(fcinfo, action_get(&request));
}

/*
 * What the arguments of all writes end with, from i on: condition, names, vals, return_values,
 * return_values_on_condition_check_failure.
 */
static void
get_write_arguments(FunctionCallInfo fcinfo, int i, ReturnValues last, ItemRequest *request)
{
	request->condition = optional_text(fcinfo, i);
	request->expressions = expressions(fcinfo, i + 1, i + 2);
	request->return_values = parse_return_values(fcinfo, i + 3, last);
	request->old_on_failure = parse_on_failure(fcinfo, i + 4);
}

/* dyn_put(table_name, item, condition, …) */
PG_FUNCTION_INFO_V1(dyn_put);
Datum
dyn_put(PG_FUNCTION_ARGS)
{
	ItemRequest request = {0};

	require_argument(fcinfo, 0, "table_name");
	require_argument(fcinfo, 1, "item");
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

	require_argument(fcinfo, 0, "table_name");
	require_argument(fcinfo, 1, "key");
	request.table = PG_GETARG_TEXT_PP(0);
	request.item = PG_GETARG_DYN_ITEM(1);
	request.update = optional_text(fcinfo, 2);
	get_write_arguments(fcinfo, 3, RETURN_UPDATED_NEW, &request);
	return return_item(fcinfo, action_update(&request));
}

/* dyn_delete(table_name, key, condition, …) */
PG_FUNCTION_INFO_V1(dyn_delete);
Datum
dyn_delete(PG_FUNCTION_ARGS)
{
	ItemRequest request = {0};

	require_argument(fcinfo, 0, "table_name");
	require_argument(fcinfo, 1, "key");
	request.table = PG_GETARG_TEXT_PP(0);
	request.item = PG_GETARG_DYN_ITEM(1);
	get_write_arguments(fcinfo, 2, RETURN_ALL_OLD, &request);
	return return_item(fcinfo, action_delete(&request));
}

/* Spec row L13. */
static int64
parse_max_items(FunctionCallInfo fcinfo, int i)
{
	int64 max_items;

	if (PG_ARGISNULL(i))
		return 0;
	max_items = PG_GETARG_INT64(i);
	if (max_items < 1)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg("max_items must be at least 1")));
	return max_items;
}

static void
return_next(Datum item, void *arg)
{
	ReturnSetInfo *result = arg;
	bool isnull = false;

	tuplestore_putvalues(result->setResult, result->setDesc, &item, &isnull);
}

/* dyn_query(table_name, key_condition, names, vals, filter, projection, forward, max_items, start_key) */
PG_FUNCTION_INFO_V1(dyn_query);
Datum
dyn_query(PG_FUNCTION_ARGS)
{
	QueryRequest request = {0};

	require_argument(fcinfo, 0, "table_name");
	require_argument(fcinfo, 1, "key_condition");
	request.table = PG_GETARG_TEXT_PP(0);
	request.key_condition = PG_GETARG_TEXT_PP(1);
	request.expressions = expressions(fcinfo, 2, 3);
	request.filter = optional_text(fcinfo, 4);
	request.projection = optional_text(fcinfo, 5);
	request.forward = PG_ARGISNULL(6) || PG_GETARG_BOOL(6);
	request.max_items = parse_max_items(fcinfo, 7);
	request.start_key = optional_item(fcinfo, 8);
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	action_query(&request, return_next, fcinfo->resultinfo);
	return (Datum) 0;
}
