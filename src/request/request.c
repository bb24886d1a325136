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
	{"CreateTable", request_create_table},
	{"DeleteTable", request_delete_table},
	{"DescribeContinuousBackups", request_describe_continuous_backups},
	{"DescribeEndpoints", request_describe_endpoints},
	{"DescribeLimits", request_describe_limits},
	{"DescribeTable", request_describe_table},
	{"DescribeTimeToLive", request_describe_time_to_live},
	{"ListTables", request_list_tables},
	{"ListTagsOfResource", request_list_tags_of_resource},
	{"TagResource", request_tag_resource},
	{"UntagResource", request_untag_resource},
	{"UpdateTable", request_update_table},
	{"UpdateTimeToLive", request_update_time_to_live},
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
	RequestOperation run = find_operation(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	text *request = PG_GETARG_TEXT_PP(1);
	StringInfoData response;
	JsonReader reader;

	initStringInfo(&response);
	json_reader_init(&reader, VARDATA_ANY(request), VARSIZE_ANY_EXHDR(request));
	run(&reader, &response);
	PG_RETURN_TEXT_P(cstring_to_text_with_len(response.data, response.len));
}
