/*
 * statement.c
 *	  The SQL functions of PartiQL's statements.
 *
 * Each of them has two forms.  The parameters of one are text, which programs send: DynamoDB JSON in a
 * JSON array, or in the text form of an array.  Those of the other are an array of dyn_value, which
 * SQL has values for, and which json and jsonb become as plain JSON.  Text with U+0000 and numbers of
 * any length come through both as they are.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "actions/actions.h"
#include "api/functions/functions.h"
#include "api/partiql/partiql.h"
#include "server/arguments.h"
#include "server/errors.h"
#include "server/sql.h"

/*
 * Parameters
 */

#define PARAMETERS "parameters"

static List *
array_parameters(ArrayType *array)
{
	List *parameters = NIL;
	int n;
	Datum *elements = argument_elements(array, PARAMETERS, &n);

	for (int i = 0; i < n; i++)
		parameters = lappend(parameters, DatumGetDynItem(elements[i]));
	return parameters;
}

/* Reads an array's text form, which drivers send that send parameters without a type. */
static List *
array_text_parameters(char *written)
{
	ArrayType *array = DatumGetArrayTypeP(OidInputFunctionCall(F_ARRAY_IN, written, TEXTOID, -1));
	List *parameters = NIL;
	int n;
	Datum *elements = argument_elements(array, PARAMETERS, &n);

	for (int i = 0; i < n; i++)
	{
		ItemSpan json = text_span(DatumGetTextPP(elements[i]));

		CHECK_FOR_INTERRUPTS();
		parameters =
			lappend(parameters, item_parse_call(json.data, (int) json.len, ITEM_SYNTAX_PARAMETER));
	}
	return parameters;
}

static List *
text_parameters(const text *json)
{
	char *written = text_to_cstring(json);
	JsonReader reader;
	List *parameters;

	if (written[strspn(written, " \t\n\r")] == '{')
		return array_text_parameters(written);
	json_reader_init_argument(&reader, json, PARAMETERS);
	parameters = partiql_read_parameters(&reader);
	json_reader_done(&reader);
	return parameters;
}

/* Binds the statement with its parameters: the first two arguments.  Parameters are read first. */
static const PartiqlBound *
bind_arguments(FunctionCallInfo fcinfo)
{
	bool array = type_is_array(get_fn_expr_argtype(fcinfo->flinfo, 1));
	const PartiqlCompiled *compiled;
	List *parameters = NIL;

	argument_require(fcinfo, 0, "statement");
	if (!PG_ARGISNULL(1))
		parameters = array ? array_parameters(PG_GETARG_ARRAYTYPE_P(1))
						   : text_parameters(PG_GETARG_TEXT_PP(1));
	compiled = partiql_compile(text_span(PG_GETARG_TEXT_PP(0)));
	partiql_forbid_exists(compiled);
	return partiql_bind_list(compiled, parameters);
}

/*
 * Calls
 */

/*
 * The arguments are statement, parameters, return_values_on_condition_check_failure, max_items or
 * page_size, consistent_read, and of a page next_token.
 */
static void
get_call(FunctionCallInfo fcinfo, bool paged, PartiqlCall *call)
{
	*call = (PartiqlCall){
		.bound = bind_arguments(fcinfo), .paged = paged, .front.site = fcinfo->flinfo->fn_expr};
	call->old_on_failure = argument_choice(fcinfo, 2, "return_values_on_condition_check_failure",
										   RETURN_NONE, option_return_old) == RETURN_ALL_OLD;
	if (paged)
		call->page_size = argument_positive(fcinfo, 3, "page_size");
	else
		call->max_items = argument_positive(fcinfo, 3, "max_items");
	call->consistent = argument_flag(fcinfo, 4, false);
	if (paged && !PG_ARGISNULL(5))
		call->start_key =
			partiql_parse_token(call->bound, text_span(PG_GETARG_TEXT_PP(5)), &call->first_read);
}

static bool
is_select(const PartiqlCall *call)
{
	return partiql_kind(call->bound->compiled) == PARTIQL_SELECT;
}

/* dyn_execute(statement, parameters, …) */
PG_FUNCTION_INFO_V1(dyn_execute_statement);
Datum
dyn_execute_statement(PG_FUNCTION_ARGS)
{
	PartiqlCall call;
	ReadResult result;
	DynItem *item;

	get_call(fcinfo, false, &call);
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	if (is_select(&call))
	{
		(void) partiql_select(&call, return_item, fcinfo->resultinfo, &result);
		return (Datum) 0;
	}
	item = partiql_write(&call);
	if (item != NULL)
		return_item(PointerGetDatum(item), fcinfo->resultinfo);
	return (Datum) 0;
}

/*
 * Pages: items, item_count, scanned_count, next_token
 */

static void
select_page(const PartiqlCall *call, ResultPage *page, Datum *values, bool *nulls)
{
	ReadResult result;
	int read = partiql_select(call, page_add, page, &result);

	values[1] = Int64GetDatum(result.count);
	values[2] = Int64GetDatum(result.scanned);
	nulls[3] = result.last_key == NULL;
	if (result.last_key != NULL)
		values[3] = CStringGetTextDatum(partiql_print_token(call->bound, read, result.last_key));
}

/* Fills the only page with what RETURNING asks for; nothing is scanned for it. */
static void
write_page(const PartiqlCall *call, ResultPage *page, Datum *values, bool *nulls)
{
	DynItem *item = partiql_write(call);

	if (item != NULL)
		page_add(PointerGetDatum(item), page);
	values[1] = Int64GetDatum(item != NULL);
	nulls[2] = true;
	nulls[3] = true;
}

/* dyn_execute_page(statement, parameters, …) */
PG_FUNCTION_INFO_V1(dyn_execute_page);
Datum
dyn_execute_page(PG_FUNCTION_ARGS)
{
	Datum values[4] = {0};
	bool nulls[4] = {false};
	PartiqlCall call;
	ResultPage page;

	get_call(fcinfo, true, &call);
	page_begin(fcinfo, &page);
	if (is_select(&call))
		select_page(&call, &page, values, nulls);
	else
		write_page(&call, &page, values, nulls);
	values[0] = page_items(&page);
	return HeapTupleGetDatum(heap_form_tuple(page.desc, values, nulls));
}

/*
 * Explanations
 */

static const char *
access_action(const PartiqlAccess *access)
{
	switch (access->kind)
	{
		case PARTIQL_SELECT:
			return access->scan ? "scan" : "query";
		case PARTIQL_INSERT:
			return "insert";
		case PARTIQL_UPDATE:
			return "update";
		case PARTIQL_DELETE:
			return "delete";
		case PARTIQL_EXISTS:
			break;
	}
	elog(ERROR, "unexpected PartiQL statement of kind %d", (int) access->kind);
}

typedef struct Explanation
{
	const PartiqlBound *bound;
	ReturnSetInfo *result;
} Explanation;

static void
return_access(const PartiqlAccess *access, void *arg)
{
	const Explanation *explanation = arg;
	const StoreExplanation *store = &access->store;
	bool write = access->kind != PARTIQL_SELECT;
	const char *refusal = write ? store->write_refusal : store->refusal;
	ItemSpan table;
	ItemSpan index;

	partiql_source(explanation->bound->compiled, &table, &index);
	sql_put(explanation->result,
			SQL_VALUES(SQL_TEXT(access_action(access)), sql_span(index),
					   SQL_NULLABLE(REGCLASSOID, ObjectIdGetDatum(store->index),
									!OidIsValid(store->index)),
					   SQL_TEXT(store->words),
					   SQL_TEXT(write             ? NULL
								: access->forward ? "forward"
												  : "backward"),
					   sql_span(access->condition),
					   SQL_NULLABLE(INT8OID, Int64GetDatum(access->items_read), write),
					   SQL_NULLABLE(INT8OID, Int64GetDatum(access->items_returned), write),
					   SQL_NULLABLE(INT8OID, Int64GetDatum(access->bytes_read), write),
					   SQL_NULLABLE(INT8OID, Int64GetDatum(store->pages), write),
					   SQL_NULLABLE(BOOLOID, BoolGetDatum(store->index_only), write),
					   SQL_TEXT(store_name(refusal, store->remote)), SQL_TEXT(refusal),
					   SQL_NULLABLE(INT8OID, Int64GetDatum(store->skipped),
									write || !store->index_only || store->refusal != NULL)));
}

/* dyn_explain_statement(statement, parameters, max_items, page_size, next_token) */
PG_FUNCTION_INFO_V1(dyn_explain_statement);
Datum
dyn_explain_statement(PG_FUNCTION_ARGS)
{
	PartiqlCall call = {.bound = bind_arguments(fcinfo), .paged = !PG_ARGISNULL(3)};
	Explanation explanation = {call.bound, (ReturnSetInfo *) fcinfo->resultinfo};

	call.max_items = argument_positive(fcinfo, 2, "max_items");
	call.page_size = argument_positive(fcinfo, 3, "page_size");
	if (!PG_ARGISNULL(4))
		call.start_key =
			partiql_parse_token(call.bound, text_span(PG_GETARG_TEXT_PP(4)), &call.first_read);
	InitMaterializedSRF(fcinfo, 0);
	partiql_explain(&call, return_access, &explanation);
	return (Datum) 0;
}
