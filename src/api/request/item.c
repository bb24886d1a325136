/*
 * item.c
 *	  GetItem, PutItem, UpdateItem and DeleteItem.
 */
#include "postgres.h"

#include "actions/several.h"
#include "api/request/capacity.h"
#include "api/request/parameters.h"
#include "api/request/request.h"
#include "item/json_writer.h"
#include "server/errors.h"

typedef struct ItemCall
{
	TransactKind kind;
	ItemRequest request;
	FrontCall front;
	ItemMeasure measure;
	text *table; /* as it is named */
	Jsonb *names;
	DynItem *values;
	int return_values;
	int on_failure;
	int capacity;
	int metrics;
	LegacyParameters legacy;
} ItemCall;

#define AT(field) offsetof(ItemCall, field)

/* All writes may be asked for these: puts and deletions refuse some of it later. */
#define RETURN_VALUES \
	{ \
		"ReturnValues", MEMBER_CHOICE, AT(return_values), \
			.choices = option_return_any, \
			.set = "ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW" \
	}

static const RequestMember get_members[] = {
	{"TableName", MEMBER_TEXT, AT(table), true, .name_of = NAME_TABLE},
	{"Key", MEMBER_ITEM, AT(request.item), true},
	LEGACY_ATTRIBUTES_TO_GET(ItemCall, legacy),
	{"ConsistentRead", MEMBER_BOOL, AT(request.consistent)},
	RETURN_CAPACITY(ItemCall, capacity),
	{"ProjectionExpression", MEMBER_TEXT, AT(request.projection)},
	{"ExpressionAttributeNames", MEMBER_NAMES, AT(names)},
};

static const RequestMember put_members[] = {
	{"TableName", MEMBER_TEXT, AT(table), true, .name_of = NAME_TABLE},
	{"Item", MEMBER_ITEM, AT(request.item), true},
	LEGACY_EXPECTED(ItemCall, legacy),
	RETURN_VALUES,
	RETURN_CAPACITY(ItemCall, capacity),
	RETURN_METRICS(ItemCall, metrics),
	LEGACY_CONDITIONAL_OPERATOR(ItemCall, legacy),
	{"ConditionExpression", MEMBER_TEXT, AT(request.condition)},
	{"ExpressionAttributeNames", MEMBER_NAMES, AT(names)},
	{"ExpressionAttributeValues", MEMBER_VALUES, AT(values)},
	RETURN_ON_FAILURE(ItemCall, on_failure),
};

/* These are in the order of DynamoDB's errors (docs/semantics.md, SV23). */
static const RequestMember update_members[] = {
	RETURN_CAPACITY(ItemCall, capacity),
	{"TableName", MEMBER_TEXT, AT(table), true, .name_of = NAME_TABLE},
	RETURN_VALUES,
	LEGACY_CONDITIONAL_OPERATOR(ItemCall, legacy),
	{"Key", MEMBER_ITEM, AT(request.item), true},
	LEGACY_ATTRIBUTE_UPDATES(ItemCall, legacy),
	LEGACY_EXPECTED(ItemCall, legacy),
	RETURN_METRICS(ItemCall, metrics),
	{"UpdateExpression", MEMBER_TEXT, AT(request.update)},
	{"ConditionExpression", MEMBER_TEXT, AT(request.condition)},
	{"ExpressionAttributeNames", MEMBER_NAMES, AT(names)},
	{"ExpressionAttributeValues", MEMBER_VALUES, AT(values)},
	RETURN_ON_FAILURE(ItemCall, on_failure),
};

static const RequestMember delete_members[] = {
	{"TableName", MEMBER_TEXT, AT(table), true, .name_of = NAME_TABLE},
	{"Key", MEMBER_ITEM, AT(request.item), true},
	LEGACY_EXPECTED(ItemCall, legacy),
	LEGACY_CONDITIONAL_OPERATOR(ItemCall, legacy),
	RETURN_VALUES,
	RETURN_CAPACITY(ItemCall, capacity),
	RETURN_METRICS(ItemCall, metrics),
	{"ConditionExpression", MEMBER_TEXT, AT(request.condition)},
	{"ExpressionAttributeNames", MEMBER_NAMES, AT(names)},
	{"ExpressionAttributeValues", MEMBER_VALUES, AT(values)},
	RETURN_ON_FAILURE(ItemCall, on_failure),
};

/* Checks ReturnValues: only an update has changed attributes (docs/semantics.md, R07). */
static void
check_return_values(const ItemCall *call)
{
	if (call->kind == TRANSACT_UPDATE || call->return_values <= RETURN_ALL_OLD)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_DYN_VALIDATION),
			 errmsg("invalid ReturnValues \"%s\"", option_return_any[call->return_values]),
			 errhint("Use NONE or ALL_OLD."), errwords("ReturnValues can only be ALL_OLD or NONE"),
			 errwords_kind(WORDS_RETURN_VALUES)));
}

static void
check_call(void *read)
{
	const ItemCall *call = read;

	parameters_check_item(call->kind, &call->request, &call->legacy, call->names != NULL,
						  call->values != NULL);
	check_return_values(call);
}

static void
read_call(JsonReader *reader, TransactKind kind, const RequestMember *members, int n,
		  ItemCall *call)
{
	memset(call, 0, sizeof(*call));
	call->kind = kind;
	call->front.site = reader->site;
	request_read(reader, members, n, call, check_call);
	request_names(reader, text_span(call->table));
	legacy_build_item(&call->legacy, &call->request);
	call->request.table = call->table;
	call->request.expressions = expr_request_of_api(call->names, call->values);
	call->request.return_values = (ReturnValues) call->return_values;
	call->request.old_on_failure = call->on_failure == RETURN_ALL_OLD;
	call->measure.collection = call->metrics != 0;
	if (call->capacity != CAPACITY_NONE || call->measure.collection)
		call->front.measure = &call->measure;
	call->request.call = &call->front;
}

static void
print_capacity(JsonWriter *response, const ItemCall *call, CapacityKind kind)
{
	item_capacity_print(response, text_span(call->table), call->capacity, &call->measure, kind);
}

/* Runs GetItem, and appends the response.  With a NULL response, only checks the request. */
void
request_get_item(JsonReader *reader, JsonWriter *response)
{
	ItemCall call;
	DynItem *item;

	read_call(reader, TRANSACT_GET, get_members, lengthof(get_members), &call);
	if (response == NULL)
	{
		action_check(TRANSACT_GET, &call.request);
		return;
	}
	item = action_get(&call.request);
	json_write_item(response, "Item", item);
	print_capacity(response, &call,
				   call.request.consistent ? CAPACITY_CONSISTENT_READ : CAPACITY_READ);
}

/*
 * Writes
 */

static void
print_write_capacity(JsonWriter *response, void *arg)
{
	print_capacity(response, arg, CAPACITY_WRITE);
}

static void
run_write(DynItem *(*action)(const ItemRequest *), ItemCall *call, JsonWriter *response)
{
	MemoryContext context = CurrentMemoryContext;
	DynItem *item = NULL;

	if (response == NULL)
	{
		action_check(call->kind, &call->request);
		return;
	}
	PG_TRY();
	{
		item = action(&call->request);
	}
	PG_CATCH();
	{
		request_rethrow_condition(context, print_write_capacity, call);
	}
	PG_END_TRY();
	json_write_item(response, "Attributes", item);
	print_write_capacity(response, call);
	metrics_print(response, "ItemCollectionMetrics", &call->measure);
}

/* Runs PutItem, and appends the response.  With a NULL response, only checks the request. */
void
request_put_item(JsonReader *reader, JsonWriter *response)
{
	ItemCall call;

	read_call(reader, TRANSACT_PUT, put_members, lengthof(put_members), &call);
	run_write(action_put, &call, response);
}

/* Runs UpdateItem, and appends the response.  With a NULL response, only checks the request. */
void
request_update_item(JsonReader *reader, JsonWriter *response)
{
	ItemCall call;

	read_call(reader, TRANSACT_UPDATE, update_members, lengthof(update_members), &call);
	run_write(action_update, &call, response);
}

/* Runs DeleteItem, and appends the response.  With a NULL response, only checks the request. */
void
request_delete_item(JsonReader *reader, JsonWriter *response)
{
	ItemCall call;

	read_call(reader, TRANSACT_DELETE, delete_members, lengthof(delete_members), &call);
	run_write(action_delete, &call, response);
}
