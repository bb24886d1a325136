/*
 * read.c
 *	  Query and Scan.
 */
#include "postgres.h"

#include "actions/actions.h"
#include "api/request/capacity.h"
#include "api/request/parameters.h"
#include "api/request/request.h"
#include "item/json_writer.h"
#include "server/errors.h"

typedef struct ReadCall
{
	QueryRequest query;
	ScanRequest scan;
	ReadRequest read; /* which the one of both is to have */
	text *table; /* as it is named */
	Jsonb *names;
	DynItem *values;
	RequestInteger limit;
	RequestInteger segment;
	RequestInteger total_segments;
	int select; /* among its choices, -1 if it is not given */
	int capacity;
	LegacyParameters legacy;
	FrontCall front;
	ReadCapacity taken;
} ReadCall;

#define AT(field) offsetof(ReadCall, field)

#define SELECT_SET "SPECIFIC_ATTRIBUTES, COUNT, ALL_ATTRIBUTES, ALL_PROJECTED_ATTRIBUTES"
#define SELECT \
	{ \
		"Select", MEMBER_CHOICE, AT(select), .choices = option_select, .set = SELECT_SET \
	}

static const RequestMember query_members[] = {
	{"TableName", MEMBER_TEXT, AT(table), true, .name_of = NAME_TABLE},
	{"IndexName", MEMBER_TEXT, AT(read.index), .name_of = NAME_ANY},
	SELECT,
	LEGACY_ATTRIBUTES_TO_GET(ReadCall, legacy),
	{"Limit", MEMBER_INTEGER, AT(limit), .min = 1, .plain = true},
	{"ConsistentRead", MEMBER_BOOL, AT(read.consistent)},
	LEGACY_KEY_CONDITIONS(ReadCall, legacy),
	LEGACY_QUERY_FILTER(ReadCall, legacy),
	LEGACY_QUERY_OPERATOR(ReadCall, legacy),
	{"ScanIndexForward", MEMBER_BOOL, AT(query.forward)},
	{"ExclusiveStartKey", MEMBER_ITEM, AT(read.start_key)},
	RETURN_CAPACITY(ReadCall, capacity),
	{"ProjectionExpression", MEMBER_TEXT, AT(read.projection)},
	{"FilterExpression", MEMBER_TEXT, AT(read.filter)},
	{"KeyConditionExpression", MEMBER_TEXT, AT(query.key_condition)},
	{"ExpressionAttributeNames", MEMBER_NAMES, AT(names)},
	{"ExpressionAttributeValues", MEMBER_VALUES, AT(values)},
};

static const RequestMember scan_members[] = {
	{"TableName", MEMBER_TEXT, AT(table), true, .name_of = NAME_TABLE},
	{"IndexName", MEMBER_TEXT, AT(read.index), .name_of = NAME_ANY},
	LEGACY_ATTRIBUTES_TO_GET(ReadCall, legacy),
	{"Limit", MEMBER_INTEGER, AT(limit), .min = 1},
	SELECT,
	LEGACY_SCAN_FILTER(ReadCall, legacy),
	LEGACY_CONDITIONAL_OPERATOR(ReadCall, legacy),
	{"ExclusiveStartKey", MEMBER_ITEM, AT(read.start_key)},
	RETURN_CAPACITY(ReadCall, capacity),
	{"TotalSegments", MEMBER_INTEGER, AT(total_segments), .min = 1, .max = DYN_MAX_SEGMENTS},
	{"Segment", MEMBER_INTEGER, AT(segment), .max = DYN_MAX_SEGMENTS - 1},
	{"ProjectionExpression", MEMBER_TEXT, AT(read.projection)},
	{"FilterExpression", MEMBER_TEXT, AT(read.filter)},
	{"ExpressionAttributeNames", MEMBER_NAMES, AT(names)},
	{"ExpressionAttributeValues", MEMBER_VALUES, AT(values)},
	{"ConsistentRead", MEMBER_BOOL, AT(read.consistent)},
};

/* Checks what of Select and the projection goes together. */
static void
check_select(ReadCall *call)
{
	const char *projection = NULL;

	if (call->select >= 0)
		call->read.select = (ReadSelect) (SELECT_ALL_ATTRIBUTES + call->select);
	if (call->read.projection != NULL)
		projection = "ProjectionExpression";
	else if (call->legacy.attributes_to_get.given)
		projection = "AttributesToGet";
	action_check_select(call->read.select, call->read.index != NULL, projection);
}

static void
check_query(void *read)
{
	ReadCall *call = read;

	parameters_check_query(&call->read, call->query.key_condition, &call->legacy,
						   call->names != NULL, call->values != NULL);
	if (call->query.key_condition == NULL && !call->legacy.key_conditions.given)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("a query must have a KeyConditionExpression or KeyConditions"),
						errwords("Either the KeyConditions or KeyConditionExpression parameter "
								 "must be specified in the request.")));
	check_select(call);
}

static void
check_scan(void *read)
{
	ReadCall *call = read;

	parameters_check_scan(&call->read, &call->legacy, call->names != NULL, call->values != NULL);
	action_set_segment(&call->scan, call->segment.given ? &call->segment.value : NULL,
					   call->total_segments.given ? &call->total_segments.value : NULL);
	check_select(call);
}

static void
read_call(JsonReader *reader, const RequestMember *members, int n, RequestCheck check,
		  ReadCall *call)
{
	memset(call, 0, sizeof(*call));
	call->query.forward = true;
	call->select = -1;
	call->front.site = reader->site;
	request_read(reader, members, n, call, check);
	request_names(reader, text_span(call->table));
	legacy_build_read(&call->legacy, &call->read);
	call->read.table = call->table;
	call->read.expressions = expr_request_of_api(call->names, call->values);
	call->read.paged = true;
	call->read.page_size = call->limit.value;
	read_capacity_begin(&call->taken);
	if (call->capacity != CAPACITY_NONE)
		call->front.meter = &call->taken.meter;
	call->read.call = &call->front;
}

static void
print_item(Datum item, void *arg)
{
	json_write_item(arg, NULL, DatumGetDynItem(item));
}

static void
begin_items(JsonWriter *response, const ReadCall *call)
{
	if (call->read.select != SELECT_COUNT)
		json_write_begin_array(response, "Items");
}

static void
end_items(JsonWriter *response, const ReadCall *call, const ReadResult *result)
{
	if (call->read.select != SELECT_COUNT)
		json_write_end_array(response);
	json_write_integer(response, "Count", result->count);
	json_write_integer(response, "ScannedCount", result->scanned);
	json_write_item(response, "LastEvaluatedKey", result->last_key);
	read_capacity_print(response, text_span(call->table), call->capacity, &call->taken, result,
						call->read.consistent);
}

/* Runs Query, and appends the response.  With a NULL response, only checks the request. */
void
request_query(JsonReader *reader, JsonWriter *response)
{
	ReadCall call;
	ReadResult result;

	read_call(reader, query_members, lengthof(query_members), check_query, &call);
	call.query.read = call.read;
	if (response == NULL)
	{
		action_check_query(&call.query);
		return;
	}
	begin_items(response, &call);
	action_query(&call.query, print_item, response, &result);
	end_items(response, &call, &result);
}

/* Runs Scan, and appends the response.  With a NULL response, only checks the request. */
void
request_scan(JsonReader *reader, JsonWriter *response)
{
	ReadCall call;
	ReadResult result;

	read_call(reader, scan_members, lengthof(scan_members), check_scan, &call);
	call.scan.read = call.read;
	if (response == NULL)
	{
		action_check_scan(&call.scan);
		return;
	}
	begin_items(response, &call);
	action_scan(&call.scan, print_item, response, &result);
	end_items(response, &call, &result);
}
