/*
 * request.c
 *	  dyn_request(): operations by their names.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "errors.h"
#include "request/request.h"

static const struct
{
	const char *name;
	RequestOperation run;
} operations[] = {
	{"BatchGetItem", request_batch_get_item},
	{"BatchWriteItem", request_batch_write_item},
	{"DeleteItem", request_delete_item},
	{"DescribeEndpoints", request_describe_endpoints},
	{"DescribeLimits", request_describe_limits},
	{"GetItem", request_get_item},
	{"PutItem", request_put_item},
	{"Query", request_query},
	{"Scan", request_scan},
	{"TransactGetItems", request_transact_get_items},
	{"TransactWriteItems", request_transact_write_items},
	{"UpdateItem", request_update_item},
};

static RequestOperation
find_operation(const char *name)
{
	for (int i = 0; i < lengthof(operations); i++)
	{
		if (strcmp(operations[i].name, name) == 0)
			return operations[i].run;
	}
	ereport(ERROR,
			(errcode(ERRCODE_DYN_UNKNOWN_OPERATION), errmsg("unknown operation \"%s\"", name)));
}

/* dyn_request(operation, request) */
PG_FUNCTION_INFO_V1(dyn_request);
Datum
dyn_request(PG_FUNCTION_ARGS)
{
	char *operation = text_to_cstring(PG_GETARG_TEXT_PP(0));
	text *request = PG_GETARG_TEXT_PP(1);
	MemoryContext context = CurrentMemoryContext;
	StringInfoData response;
	JsonReader reader;

	initStringInfo(&response);
	PG_TRY();
	{
		json_reader_init(&reader, VARDATA_ANY(request), VARSIZE_ANY_EXHDR(request));
		find_operation(operation)(&reader, &response);
	}
	PG_CATCH();
	{
		request_rethrow(context);
	}
	PG_END_TRY();
	PG_RETURN_TEXT_P(cstring_to_text_with_len(response.data, response.len));
}
