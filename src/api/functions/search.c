/*
 * search.c
 *	  dyn_search(): items by their vectors.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "actions/search.h"
#include "api/functions/functions.h"
#include "server/arguments.h"
#include "server/errors.h"

#define DEFAULT_TOP_K 10

/* Sets the vector of a request, of which all elements have to be numbers. */
static void
set_values(ArrayType *array, SearchRequest *request)
{
	const float *values = (const float *) ARR_DATA_PTR(array);

	if (ARR_NDIM(array) > 1)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("the vector must be an array of one dimension")));
	request->nvalues = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	request->values = array_contains_nulls(array) ? NULL : values;
	for (int i = 0; i < request->nvalues && request->values != NULL; i++)
	{
		if (isnan(values[i]) || isinf(values[i]))
			request->values = NULL;
	}
}

static void
put_result(Datum item, float score, void *arg)
{
	ReturnSetInfo *result = arg;
	Datum values[] = {item, Float4GetDatum(score)};
	bool nulls[] = {false, false};

	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* dyn_search(table_name, index_name, vector, top_k, condition, names, vals, projection) */
PG_FUNCTION_INFO_V1(dyn_search);
Datum
dyn_search(PG_FUNCTION_ARGS)
{
	SearchRequest request = {0};
	const DynTable *table;

	request.table = argument_required_text(fcinfo, 0, "table_name");
	request.index = argument_required_text(fcinfo, 1, "index_name");
	argument_require(fcinfo, 2, "vector");
	set_values(PG_GETARG_ARRAYTYPE_P(2), &request);
	request.top_k = PG_ARGISNULL(3) ? DEFAULT_TOP_K : PG_GETARG_INT64(3);
	request.condition = argument_text(fcinfo, 4);
	request.expressions = expr_request_arguments(fcinfo, 5, 6);
	request.names = PG_ARGISNULL(5) ? NULL : PG_GETARG_JSONB_P(5);
	request.expression_values = argument_item(fcinfo, 6);
	request.projection = argument_text(fcinfo, 7);
	InitMaterializedSRF(fcinfo, 0);
	action_search(&request, put_result, fcinfo->resultinfo, &table);
	return (Datum) 0;
}
