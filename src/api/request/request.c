/*
 * request.c
 *	  dyn_request(): operations by their names.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "api/request/coordinator.h"
#include "api/request/layers.h"
#include "api/request/request.h"
#include "server/errors.h"

static const struct
{
	const char *name;
	RequestOperation run;
} operations[] = {
	{"BatchExecuteStatement", request_batch_execute_statement},
	{"BatchGetItem", request_batch_get_item},
	{"BatchWriteItem", request_batch_write_item},
	{"CreateTable", request_create_table},
	{"DeleteItem", request_delete_item},
	{"DeleteTable", request_delete_table},
	{"DescribeContinuousBackups", request_describe_continuous_backups},
	{"DescribeEndpoints", request_describe_endpoints},
	{"DescribeLimits", request_describe_limits},
	{"DescribeStream", request_describe_stream},
	{"DescribeTable", request_describe_table},
	{"DescribeTimeToLive", request_describe_time_to_live},
	{"ExecuteStatement", request_execute_statement},
	{"ExecuteTransaction", request_execute_transaction},
	{"GetItem", request_get_item},
	{"GetRecords", request_get_records},
	{"GetShardIterator", request_get_shard_iterator},
	{"ListStreams", request_list_streams},
	{"ListTables", request_list_tables},
	{"ListTagsOfResource", request_list_tags_of_resource},
	{"PutItem", request_put_item},
	{"Query", request_query},
	{"RestoreTableToPointInTime", request_restore_table_to_point_in_time},
	{"Scan", request_scan},
	{"SearchVectors", request_search_vectors},
	{"TagResource", request_tag_resource},
	{"TransactGetItems", request_transact_get_items},
	{"TransactWriteItems", request_transact_write_items},
	{"UntagResource", request_untag_resource},
	{"UpdateContinuousBackups", request_update_continuous_backups},
	{"UpdateItem", request_update_item},
	{"UpdateTable", request_update_table},
	{"UpdateTimeToLive", request_update_time_to_live},
};

static RequestOperation
find_operation(const char *name)
{
	const char *other = NULL;

	for (int i = 0; i < lengthof(operations); i++)
	{
		if (strcmp(operations[i].name, name) == 0)
			return operations[i].run;
		if (pg_strcasecmp(operations[i].name, name) == 0)
			other = operations[i].name;
	}
	ereport(ERROR, (errcode(ERRCODE_DYN_UNKNOWN_OPERATION),
					errmsg("unknown operation \"%s\"", item_quoted(item_span(name))),
					other == NULL ? 0 : errhint("There is an operation \"%s\".", other)));
}

/*
 * Runs an operation, and writes its response.  A NULL response, with which the request
 * is only checked, is allowed only for operations that an access pattern can have.  The denial, or
 * NULL, learns what the request names.  The site is where the SQL function is called that carries out
 * this one request, or NULL.  An unknown name is ERRCODE_DYN_UNKNOWN_OPERATION.
 */
void
request_run(const char *operation, const char *request, int len, const Node *site,
			JsonWriter *response, Denial *denial)
{
	RequestOperation run;
	JsonReader reader;

	json_reader_init(&reader, request, len);
	/* who declares a request is told of what would be ignored */
	reader.strict = response == NULL;
	reader.denial = denial;
	reader.site = site;
	reader.complaint.layer = layer_of_values(operation);
	run = find_operation(operation);
	if (response == NULL)
	{
		run(&reader, NULL);
		return;
	}
	json_write_begin(response, NULL);
	run(&reader, response);
	json_write_end(response);
}

/*
 * Carries out the request of a call as dyn_request() does: errors are told as DynamoDB's clients
 * expect them.  Returns the response.  It is alone if it is the whole of a transaction.
 */
text *
request_carry_out(FunctionCallInfo fcinfo, text *operation, text *request, bool alone)
{
	MemoryContext context = CurrentMemoryContext;
	JsonWriter response = json_writer(JSON_COMPACT);
	volatile bool elsewhere = false;
	Denial denial;

	denial_begin(&denial, text_to_cstring(operation), alone);
	PG_TRY();
	{
		elsewhere = coordinator_is_for(denial.operation, request);
		if (!elsewhere)
			request_run(denial.operation, VARDATA_ANY(request), VARSIZE_ANY_EXHDR(request),
						fcinfo->flinfo->fn_expr, &response, &denial);
	}
	PG_CATCH();
	{
		request_rethrow(context, &denial);
	}
	PG_END_TRY();
	denial_end(&denial);
	if (elsewhere)
		return coordinator_request(denial.operation, request);
	return cstring_to_text_with_len(response.text->data, response.text->len);
}

/* dyn_request(operation, request) */
PG_FUNCTION_INFO_V1(dyn_request);
Datum
dyn_request(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(request_carry_out(fcinfo, PG_GETARG_TEXT_PP(0), PG_GETARG_TEXT_PP(1), false));
}
