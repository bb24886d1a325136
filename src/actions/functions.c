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

/* Spec row R07: what PutItem and DeleteItem can return. */
static ReturnValues
parse_return_values(FunctionCallInfo fcinfo, int i)
{
	char *value;

	if (PG_ARGISNULL(i))
		return RETURN_NONE;
	value = text_to_cstring(PG_GETARG_TEXT_PP(i));
	if (strcmp(value, "NONE") == 0)
		return RETURN_NONE;
	if (strcmp(value, "ALL_OLD") == 0)
		return RETURN_ALL_OLD;
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION), errmsg("invalid return_values \"%s\"", value),
					errhint("Use NONE or ALL_OLD.")));
}

static Datum
return_item(FunctionCallInfo fcinfo, DynItem *item)
{
	if (item == NULL)
		PG_RETURN_NULL();
	PG_RETURN_POINTER(item);
}

PG_FUNCTION_INFO_V1(dyn_get);
Datum
dyn_get(PG_FUNCTION_ARGS)
{
	require_argument(fcinfo, 0, "table_name");
	require_argument(fcinfo, 1, "key");
	return return_item(fcinfo, action_get(PG_GETARG_TEXT_PP(0), PG_GETARG_DYN_ITEM(1)));
}

PG_FUNCTION_INFO_V1(dyn_put);
Datum
dyn_put(PG_FUNCTION_ARGS)
{
	require_argument(fcinfo, 0, "table_name");
	require_argument(fcinfo, 1, "item");
	return return_item(fcinfo, action_put(PG_GETARG_TEXT_PP(0), PG_GETARG_DYN_ITEM(1),
										  parse_return_values(fcinfo, 2)));
}

PG_FUNCTION_INFO_V1(dyn_delete);
Datum
dyn_delete(PG_FUNCTION_ARGS)
{
	require_argument(fcinfo, 0, "table_name");
	require_argument(fcinfo, 1, "key");
	return return_item(fcinfo, action_delete(PG_GETARG_TEXT_PP(0), PG_GETARG_DYN_ITEM(1),
											 parse_return_values(fcinfo, 2)));
}

