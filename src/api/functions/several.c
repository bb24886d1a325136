/*
 * several.c
 *	  The typed SQL functions of batches and transactions: a front end over the actions.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"

#include "actions/several.h"
#include "api/functions/functions.h"
#include "api/request/transact.h"
#include "server/arguments.h"
#include "server/errors.h"

/*
 * Batches
 */

/* Returns an array of items or keys; none if it is not given. */
static DynItem **
argument_items(FunctionCallInfo fcinfo, int i, const char *name, int *n)
{
	DynItem **items;
	Datum *elements;

	*n = 0;
	if (PG_ARGISNULL(i))
		return NULL;
	elements = argument_elements(PG_GETARG_ARRAYTYPE_P(i), name, n);
	items = palloc(*n * sizeof(DynItem *));
	for (int k = 0; k < *n; k++)
		items[k] = DatumGetDynItem(elements[k]);
	return items;
}

static void
return_batch_item(int table, Datum item, void *arg)
{
	return_row(arg, item, false);
}

/* dyn_batch_get(table_name, keys, names, projection, consistent_read) */
PG_FUNCTION_INFO_V1(dyn_batch_get);
Datum
dyn_batch_get(PG_FUNCTION_ARGS)
{
	BatchGetTable table = {0};
	BatchGetRequest request = {1, &table, .site = fcinfo->flinfo->fn_expr};
	BatchGetRest rest;

	argument_require(fcinfo, 0, "table_name");
	argument_require(fcinfo, 1, "keys");
	table.table = PG_GETARG_TEXT_PP(0);
	table.keys = argument_items(fcinfo, 1, "keys", &table.nkeys);
	table.expressions = expr_request_arguments(fcinfo, 2, -1);
	table.projection = argument_text(fcinfo, 3);
	table.consistent = argument_flag(fcinfo, 4, false);
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	action_batch_get(&request, return_batch_item, fcinfo->resultinfo, &rest);
	return (Datum) 0;
}

/* Returns the entities of a batch, which are jsonb, or text, which may hold what that cannot. */
static const text *
argument_entities(FunctionCallInfo fcinfo, int i)
{
	Jsonb *json;

	if (PG_ARGISNULL(i) || get_fn_expr_argtype(fcinfo->flinfo, i) != JSONBOID)
		return argument_text(fcinfo, i);
	json = PG_GETARG_JSONB_P(i);
	return cstring_to_text(JsonbToCString(NULL, &json->root, VARSIZE(json)));
}

/* dyn_batch_write(table_name, puts, deletes, entities) */
PG_FUNCTION_INFO_V1(dyn_batch_write);
Datum
dyn_batch_write(PG_FUNCTION_ARGS)
{
	const text *entities = argument_entities(fcinfo, 3);
	BatchWriteTable table = {0};
	/* entities call functions of types, which may do anything */
	BatchWriteRequest request = {1, &table,
								 .site = entities == NULL ? fcinfo->flinfo->fn_expr : NULL};

	argument_require(fcinfo, 0, "table_name");
	table.table = PG_GETARG_TEXT_PP(0);
	table.puts = argument_items(fcinfo, 1, "puts", &table.nputs);
	table.deletes = argument_items(fcinfo, 2, "deletes", &table.ndeletes);
	if (entities != NULL)
		transact_others->add_to_batch(entities, &table);
	action_batch_write(&request);
	PG_RETURN_VOID();
}

/*
 * Transactions
 */

static void
begin_reading(FunctionCallInfo fcinfo, const char *name, JsonReader *reader)
{
	argument_require(fcinfo, 0, name);
	json_reader_init_argument(reader, PG_GETARG_TEXT_PP(0), "request");
}

/* Runs the writes that actions and token say; false if that was done before. */
static bool
several_transact(FunctionCallInfo fcinfo, bool returns, TransactRequest *request)
{
	JsonReader reader;

	begin_reading(fcinfo, "actions", &reader);
	request_transact_writes(&reader, transact_others, request);
	json_reader_done(&reader);
	request->token = argument_text(fcinfo, 1);
	transact_check_arguments(request);
	if (returns)
		request->returned = palloc0(request->nactions * sizeof(DynItem *));
	request->site = fcinfo->flinfo->fn_expr;
	transact_others->resolve(request);
	return action_transact(request);
}

/* dyn_transact(actions, token) */
PG_FUNCTION_INFO_V1(dyn_transact);
Datum
dyn_transact(PG_FUNCTION_ARGS)
{
	TransactRequest request = {0};

	PG_RETURN_BOOL(several_transact(fcinfo, false, &request));
}

/* dyn_transact_returning(actions, token) returns the new items of actions that ask for them. */
PG_FUNCTION_INFO_V1(dyn_transact_returning);
Datum
dyn_transact_returning(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	TransactRequest request = {0};

	InitMaterializedSRF(fcinfo, 0);
	(void) several_transact(fcinfo, true, &request);
	for (int i = 0; i < request.nactions; i++)
	{
		Datum values[] = {Int32GetDatum(i + 1), PointerGetDatum(request.returned[i])};
		bool nulls[] = {false, false};

		if (request.returned[i] != NULL)
			tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}

static void
return_gotten_item(DynItem *item, void *arg)
{
	return_row(arg, PointerGetDatum(item), item == NULL);
}

/* dyn_transact_get(gets) */
PG_FUNCTION_INFO_V1(dyn_transact_get);
Datum
dyn_transact_get(PG_FUNCTION_ARGS)
{
	TransactRequest request = {.site = fcinfo->flinfo->fn_expr};
	JsonReader reader;

	begin_reading(fcinfo, "gets", &reader);
	request_transact_gets(&reader, &request);
	json_reader_done(&reader);
	transact_check_arguments(&request);
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	action_transact_get(&request, return_gotten_item, fcinfo->resultinfo);
	return (Datum) 0;
}
