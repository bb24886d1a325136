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
#include "expr/expr.h"

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

/* dyn_query(table_name, key_condition, vals, names, forward, max_items, start_key) */
PG_FUNCTION_INFO_V1(dyn_query);
Datum
dyn_query(PG_FUNCTION_ARGS)
{
	QueryRequest request = {0};
	text *condition;

	require_argument(fcinfo, 0, "table_name");
	require_argument(fcinfo, 1, "key_condition");
	condition = PG_GETARG_TEXT_PP(1);
	request.table = PG_GETARG_TEXT_PP(0);
	request.key_condition = (ItemSpan){VARDATA_ANY(condition), VARSIZE_ANY_EXHDR(condition)};
	request.expressions = expr_request(PG_ARGISNULL(3) ? NULL : PG_GETARG_JSONB_P(3),
									   PG_ARGISNULL(2) ? NULL : PG_GETARG_DYN_ITEM(2));
	request.forward = PG_ARGISNULL(4) || PG_GETARG_BOOL(4);
	request.max_items = parse_max_items(fcinfo, 5);
	request.start_key = PG_ARGISNULL(6) ? NULL : PG_GETARG_DYN_ITEM(6);
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	action_query(&request, return_next, fcinfo->resultinfo);
	return (Datum) 0;
}
