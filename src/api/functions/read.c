/*
 * read.c
 *	  The typed SQL functions of Query and Scan: a front end over the actions.
 *
 * dyn_query() and dyn_query_page() have their arguments in one order, and so have dyn_scan() and
 * dyn_scan_page(); where the first says how many items to return, the second says how many to
 * evaluate.
 */
#include "postgres.h"

#include "access/relation.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "actions/actions.h"
#include "api/functions/functions.h"
#include "server/arguments.h"
#include "server/errors.h"
#include "server/sql.h"

static ReadSelect
get_select(FunctionCallInfo fcinfo, int i)
{
	if (PG_ARGISNULL(i))
		return SELECT_DEFAULT;
	return (ReadSelect) (SELECT_ALL_ATTRIBUTES +
						 argument_choice(fcinfo, i, "select_mode", 0, option_select));
}

static void
set_limit(FunctionCallInfo fcinfo, int i, bool paged, ReadRequest *request)
{
	request->paged = paged;
	if (paged)
		request->page_size = argument_positive(fcinfo, i, "page_size");
	else
		request->max_items = argument_positive(fcinfo, i, "max_items");
}

/*
 * The arguments are table_name, key_condition, index_name, filter, names, vals, projection,
 * max_items or page_size, start_key, forward, select_mode, consistent_read.
 */
static void
get_query(FunctionCallInfo fcinfo, bool paged, QueryRequest *request)
{
	ReadRequest *read = &request->read;

	memset(request, 0, sizeof(*request));
	argument_require(fcinfo, 0, "table_name");
	argument_require(fcinfo, 1, "key_condition");
	read->table = PG_GETARG_TEXT_PP(0);
	request->key_condition = PG_GETARG_TEXT_PP(1);
	read->index = argument_text(fcinfo, 2);
	read->filter = argument_text(fcinfo, 3);
	read->expressions = expr_request_arguments(fcinfo, 4, 5);
	read->projection = argument_text(fcinfo, 6);
	set_limit(fcinfo, 7, paged, read);
	read->start_key = argument_item(fcinfo, 8);
	request->forward = argument_flag(fcinfo, 9, true);
	read->select = get_select(fcinfo, 10);
	read->consistent = argument_flag(fcinfo, 11, false);
}

static void
get_segment(FunctionCallInfo fcinfo, int i, ScanRequest *request)
{
	int64 segment = PG_ARGISNULL(i) ? 0 : PG_GETARG_INT64(i);
	int64 total = PG_ARGISNULL(i + 1) ? 0 : PG_GETARG_INT64(i + 1);

	if (!PG_ARGISNULL(i) && !PG_ARGISNULL(i + 1) && (total < 1 || total > DYN_MAX_SEGMENTS))
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION),
				 errmsg("the number of segments must be between 1 and %d", DYN_MAX_SEGMENTS)));
	action_set_segment(request, PG_ARGISNULL(i) ? NULL : &segment,
					   PG_ARGISNULL(i + 1) ? NULL : &total);
}

/*
 * The arguments are table_name, index_name, filter, names, vals, projection, max_items or
 * page_size, segment, total_segments, start_key, select_mode, consistent_read.
 */
static void
get_scan(FunctionCallInfo fcinfo, bool paged, ScanRequest *request)
{
	ReadRequest *read = &request->read;

	memset(request, 0, sizeof(*request));
	argument_require(fcinfo, 0, "table_name");
	read->table = PG_GETARG_TEXT_PP(0);
	read->index = argument_text(fcinfo, 1);
	read->filter = argument_text(fcinfo, 2);
	read->expressions = expr_request_arguments(fcinfo, 3, 4);
	read->projection = argument_text(fcinfo, 5);
	set_limit(fcinfo, 6, paged, read);
	get_segment(fcinfo, 7, request);
	read->start_key = argument_item(fcinfo, 9);
	read->select = get_select(fcinfo, 10);
	read->consistent = argument_flag(fcinfo, 11, false);
}

/*
 * Complete results
 */

static void
forbid_count(const ReadRequest *request)
{
	if (request->select == SELECT_COUNT)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION), errmsg("select_mode COUNT returns no items"),
				 errhint("Use SELECT count(*) FROM this function, or its _page form.")));
}

PG_FUNCTION_INFO_V1(dyn_query);
Datum
dyn_query(PG_FUNCTION_ARGS)
{
	QueryRequest request;
	ReadResult result;
	FrontCall call = {.site = fcinfo->flinfo->fn_expr};

	get_query(fcinfo, false, &request);
	forbid_count(&request.read);
	request.read.call = &call;
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	action_query(&request, return_item, fcinfo->resultinfo, &result);
	return (Datum) 0;
}

PG_FUNCTION_INFO_V1(dyn_scan);
Datum
dyn_scan(PG_FUNCTION_ARGS)
{
	ScanRequest request;
	ReadResult result;

	get_scan(fcinfo, false, &request);
	forbid_count(&request.read);
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	action_scan(&request, return_item, fcinfo->resultinfo, &result);
	return (Datum) 0;
}

/*
 * Pages
 */

static Datum
make_page(const ReadRequest *request, const ReadResult *result, ResultPage *page)
{
	bool counts = request->select == SELECT_COUNT;
	Datum items = counts ? (Datum) 0 : page_items(page);

	return sql_row_of(page->desc, SQL_VALUES(SQL_NULLABLE(InvalidOid, items, counts),
											 SQL_INT8(result->count), SQL_INT8(result->scanned),
											 SQL_POINTER(InvalidOid, result->last_key)));
}

PG_FUNCTION_INFO_V1(dyn_query_page);
Datum
dyn_query_page(PG_FUNCTION_ARGS)
{
	FrontCall call = {.site = fcinfo->flinfo->fn_expr};
	QueryRequest request;
	ReadResult result;
	ResultPage page;

	get_query(fcinfo, true, &request);
	request.read.call = &call;
	page_begin(fcinfo, &page);
	action_query(&request, page_add, &page, &result);
	return make_page(&request.read, &result, &page);
}

PG_FUNCTION_INFO_V1(dyn_scan_page);
Datum
dyn_scan_page(PG_FUNCTION_ARGS)
{
	ScanRequest request;
	ReadResult result;
	ResultPage page;

	get_scan(fcinfo, true, &request);
	page_begin(fcinfo, &page);
	action_scan(&request, page_add, &page, &result);
	return make_page(&request.read, &result, &page);
}

/*
 * Explanations
 */

static void
drop_item(Datum item, void *arg)
{
}

/*
 * The arguments are table_name, key_condition or NULL to scan, index_name, filter, names, vals,
 * projection, max_items, page_size, start_key, forward, select_mode.
 */
static void
read_explain(FunctionCallInfo fcinfo, StoreExplanation *explanation, ReadResult *result)
{
	QueryRequest query = {0};
	ScanRequest scan = {0};
	ReadRequest *read = PG_ARGISNULL(1) ? &scan.read : &query.read;

	argument_require(fcinfo, 0, "table_name");
	read->table = PG_GETARG_TEXT_PP(0);
	query.key_condition = argument_text(fcinfo, 1);
	read->index = argument_text(fcinfo, 2);
	read->filter = argument_text(fcinfo, 3);
	read->expressions = expr_request_arguments(fcinfo, 4, 5);
	read->projection = argument_text(fcinfo, 6);
	set_limit(fcinfo, 7, false, read);
	if (!PG_ARGISNULL(8))
		set_limit(fcinfo, 8, true, read);
	read->start_key = argument_item(fcinfo, 9);
	query.forward = argument_flag(fcinfo, 10, true);
	read->select = get_select(fcinfo, 11);
	read->explanation = explanation;
	if (query.key_condition != NULL)
		action_query(&query, drop_item, NULL, result);
	else if (query.forward)
		action_scan(&scan, drop_item, NULL, result);
	else
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("a scan has no direction: forward goes with a key condition")));
}

/* Returns the column "store", or that of a write; a refusal is the reason. */
const char *
store_name(const char *refusal, bool remote)
{
	return refusal == NULL ? "direct" : remote ? "remote" : "sql";
}

PG_FUNCTION_INFO_V1(dyn_explain);
Datum
dyn_explain(PG_FUNCTION_ARGS)
{
	bool forward = argument_flag(fcinfo, 10, true);
	StoreExplanation e;
	ReadResult result;

	read_explain(fcinfo, &e, &result);
	return sql_row(
		fcinfo,
		SQL_VALUES(
			SQL_POINTER(TEXTOID, argument_text(fcinfo, 2)),
			SQL_NULLABLE(REGCLASSOID, ObjectIdGetDatum(e.index), !OidIsValid(e.index)),
			SQL_TEXT(e.words), SQL_TEXT(forward ? "forward" : "backward"), SQL_INT8(result.scanned),
			SQL_INT8(result.count), SQL_INT8(result.bytes), SQL_INT8(e.pages),
			SQL_BOOL(e.index_only), SQL_TEXT(store_name(e.refusal, e.remote)), SQL_TEXT(e.refusal),
			SQL_TEXT(store_name(e.write_refusal, e.remote)), SQL_TEXT(e.write_refusal),
			SQL_NULLABLE(INT8OID, Int64GetDatum(e.skipped), !e.index_only || e.refusal != NULL)));
}
