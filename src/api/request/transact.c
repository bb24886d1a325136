/*
 * transact.c
 *	  TransactWriteItems and TransactGetItems, and the actions of both for all front ends.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "actions/actions.h"
#include "api/request/meter.h"
#include "api/request/parameters.h"
#include "api/request/request.h"
#include "api/request/transact.h"
#include "catalog/definition/settings.h"
#include "item/json_writer.h"
#include "server/errors.h"

/*
 * Actions
 */

typedef struct ActionCall
{
	TransactAction action;
	int on_failure;
} ActionCall;

#define AT(field) offsetof(ActionCall, field)

static const RequestMember put_members[] = {
	{"TableName", MEMBER_TEXT, AT(action.request.table), true, .name_of = NAME_TABLE},
	{"Item", MEMBER_ITEM, AT(action.request.item), true},
	{"ConditionExpression", MEMBER_TEXT, AT(action.request.condition)},
	{"ExpressionAttributeNames", MEMBER_NAMES, AT(action.names)},
	{"ExpressionAttributeValues", MEMBER_VALUES, AT(action.vals)},
	RETURN_ON_FAILURE(ActionCall, on_failure),
};

static const RequestMember update_members[] = {
	{"TableName", MEMBER_TEXT, AT(action.request.table), true, .name_of = NAME_TABLE},
	{"Key", MEMBER_ITEM, AT(action.request.item), true},
	{"UpdateExpression", MEMBER_TEXT, AT(action.request.update), true},
	{"ConditionExpression", MEMBER_TEXT, AT(action.request.condition)},
	{"ExpressionAttributeNames", MEMBER_NAMES, AT(action.names)},
	{"ExpressionAttributeValues", MEMBER_LATE_VALUES, AT(action.vals)},
	RETURN_ON_FAILURE(ActionCall, on_failure),
};

static const RequestMember delete_members[] = {
	{"TableName", MEMBER_TEXT, AT(action.request.table), true, .name_of = NAME_TABLE},
	{"Key", MEMBER_ITEM, AT(action.request.item), true},
	{"ConditionExpression", MEMBER_TEXT, AT(action.request.condition)},
	{"ExpressionAttributeNames", MEMBER_NAMES, AT(action.names)},
	{"ExpressionAttributeValues", MEMBER_VALUES, AT(action.vals)},
	RETURN_ON_FAILURE(ActionCall, on_failure),
};

/* A check without a condition would check nothing (docs/semantics.md, X02). */
static const RequestMember check_members[] = {
	{"TableName", MEMBER_TEXT, AT(action.request.table), true, .name_of = NAME_TABLE},
	{"Key", MEMBER_ITEM, AT(action.request.item), true},
	{"ConditionExpression", MEMBER_TEXT, AT(action.request.condition), true},
	{"ExpressionAttributeNames", MEMBER_NAMES, AT(action.names)},
	{"ExpressionAttributeValues", MEMBER_LATE_VALUES, AT(action.vals)},
	RETURN_ON_FAILURE(ActionCall, on_failure),
};

static const RequestMember get_members[] = {
	{"TableName", MEMBER_TEXT, AT(action.request.table), true, .name_of = NAME_TABLE},
	{"Key", MEMBER_ITEM, AT(action.request.item), true},
	{"ProjectionExpression", MEMBER_TEXT, AT(action.request.projection)},
	{"ExpressionAttributeNames", MEMBER_NAMES, AT(action.names)},
};

static const struct
{
	const char *name;
	const char *operation; /* that privileges are for */
	const RequestMember *members;
	int nmembers;
} kinds[] = {
	[TRANSACT_PUT] = {"Put", "PutItem", put_members, lengthof(put_members)},
	[TRANSACT_UPDATE] = {"Update", "UpdateItem", update_members, lengthof(update_members)},
	[TRANSACT_DELETE] = {"Delete", "DeleteItem", delete_members, lengthof(delete_members)},
	[TRANSACT_CHECK] = {"ConditionCheck", "ConditionCheckItem", check_members,
						lengthof(check_members)},
	[TRANSACT_GET] = {"Get", "GetItem", get_members, lengthof(get_members)},
};

/*
 * Judges a value's depth.  A value that is too deep makes an Update invalid.  Other actions may
 * have it, as the condition of a ConditionCheck may, unless it is too deep to be stored.
 */
static void
judge_depth(JsonReader *reader, TransactAction *action)
{
	const ItemComplaint *complaint = &reader->late.complaint;

	if (complaint->message == NULL)
		return;
	if (action->kind == TRANSACT_UPDATE)
		action->invalid = (CancelReason){.code = "ValidationError",
										 .message = complaint->message,
										 .detail = complaint->detail,
										 .words = complaint->words};
	else if (reader->late.beyond && request_is_argument(reader))
		item_complain(complaint);
	else if (reader->late.beyond && reader->complaint.message == NULL)
	{
		ItemLayer layer = reader->complaint.layer;

		reader->complaint = *complaint;
		reader->complaint.layer = layer;
	}
}

/* Reads the object that an action's kind is the name of. */
static void
read_action(JsonReader *reader, TransactKind kind, TransactAction *action)
{
	ActionCall call = {.action = {.kind = kind}};

	reader->late = (ItemDepth){{NULL}};
	request_read_members(reader, kinds[kind].members, kinds[kind].nmembers, &call);
	call.action.request.old_on_failure = call.on_failure == RETURN_ALL_OLD;
	*action = call.action;
	judge_depth(reader, action);
	if (request_is_argument(reader))
		action->request.expressions = expr_request_any_depth(action->names, action->vals);
}

/* Keeps what is wrong with the values of an action, which is told when that action is checked. */
static void
keep_complaint(JsonReader *reader, TransactAction *action)
{
	ItemComplaint *complaint = palloc(sizeof(ItemComplaint));

	*complaint = reader->complaint;
	action->front = complaint;
	reader->complaint = (ItemComplaint){.layer = complaint->layer};
}

/* Says which actions an array may have. */
typedef struct ActionKinds
{
	TransactKind first;
	TransactKind last;
	const TransactOthers *others; /* or NULL */
} ActionKinds;

/* Tells what reads the actions of a name. */
typedef struct FoundKind
{
	TransactKind kind;
	int other; /* its number; -1: it is a kind */
} FoundKind;

static bool
find_kind(ItemSpan name, const ActionKinds *may_be, FoundKind *found)
{
	*found = (FoundKind){may_be->first, -1};
	for (int kind = may_be->first; kind <= (int) may_be->last; kind++)
	{
		found->kind = (TransactKind) kind;
		if (item_span_is(name, kinds[kind].name))
			return true;
	}
	for (int i = 0; may_be->others != NULL && may_be->others->names[i] != NULL; i++)
	{
		found->other = i;
		if (item_span_is(name, may_be->others->names[i]))
			return true;
	}
	return false;
}

static const char *
kind_names(const ActionKinds *may_be)
{
	StringInfoData names;

	initStringInfo(&names);
	for (int kind = may_be->first; kind <= (int) may_be->last; kind++)
		appendStringInfo(&names, "%s%s", names.len > 0 ? ", " : "", kinds[kind].name);
	for (int i = 0; may_be->others != NULL && may_be->others->names[i] != NULL; i++)
		appendStringInfo(&names, ", %s", may_be->others->names[i]);
	return names.data;
}

/* Skips a member that is no action: DynamoDB ignores it. */
static void
skip_member(JsonReader *reader, ItemSpan name, const ActionKinds *may_be)
{
	if (request_is_strict(reader))
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("invalid request: there is no action \"%s\"", item_quoted(name)),
						errhint("Actions are %s.", kind_names(may_be))));
	json_skip(reader);
}

/* Refuses an object with other than one action, of which DynamoDB says three different things. */
static void
refuse_element(JsonReader *reader, TransactKind first, int given)
{
	if (first == TRANSACT_GET && given == 0 && !request_is_argument(reader))
		request_missing(reader, kinds[first].name);
	else
		request_refuse(reader,
					   given == 0
						   ? "Invalid Request: TransactWriteRequest should contain Delete or Put "
							 "or Update request"
						   : "TransactItems can only contain one of Check, Put, Update or Delete",
					   "invalid request: an action must have exactly one member");
}

/* Reads an object with one member that is not null, whose name says what the action is. */
static void
read_element(JsonReader *reader, const ActionKinds *may_be, TransactAction *action)
{
	int given = 0;
	ItemSpan name;

	for (json_read_object(reader); json_read_member(reader, &name);)
	{
		FoundKind found;

		if (!find_kind(name, may_be, &found))
			skip_member(reader, name, may_be);
		else if (!json_read_null(reader))
		{
			if (found.other < 0)
				read_action(reader, found.kind, action);
			else
				may_be->others->read(reader, found.other, action);
			given++;
		}
	}
	if (given != 1)
		refuse_element(reader, may_be->first, given);
}

static void
name_action(void *arg)
{
	errcontext("action %d of the transaction", *(int *) arg);
}

static void
read_elements(JsonReader *reader, const ActionKinds *may_be, TransactRequest *request)
{
	int number = 1;
	int room = 16;
	ErrorContextCallback callback = {error_context_stack, name_action, &number};

	request->nactions = 0;
	request->actions = palloc(room * sizeof(TransactAction));
	json_read_array(reader);
	error_context_stack = &callback;
	for (; json_read_element(reader); number++)
	{
		TransactAction *action;

		CHECK_FOR_INTERRUPTS();
		if (request->nactions == room)
		{
			room *= 2;
			request->actions = repalloc_huge(request->actions, room * sizeof(TransactAction));
		}
		action = &request->actions[request->nactions++];
		*action = (TransactAction){0};
		read_element(reader, may_be, action);
		if (!request_is_argument(reader))
			keep_complaint(reader, action);
	}
	error_context_stack = callback.previous;
}

/* Reads an array of Put, Update, Delete and ConditionCheck, and of others, which may be NULL. */
void
request_transact_writes(JsonReader *reader, const TransactOthers *others, TransactRequest *request)
{
	const ActionKinds may_be = {TRANSACT_PUT, TRANSACT_CHECK, others};

	read_elements(reader, &may_be, request);
}

/* Reads the array of Get. */
void
request_transact_gets(JsonReader *reader, TransactRequest *request)
{
	const ActionKinds may_be = {TRANSACT_GET, TRANSACT_GET, NULL};

	read_elements(reader, &may_be, request);
}

/*
 * Operations
 */

typedef struct TransactCall
{
	TransactRequest request;
	int capacity;
	int metrics;
} TransactCall;

/* Checks the number of actions, which is limited (docs/semantics.md, X07). */
static void
check_number(JsonReader *reader, const TransactRequest *request)
{
	request_check_length(reader, request->nactions, 1, dyn_max_transaction_actions,
						 request->nactions == 0 ? "[]" : "[...]");
}

static void
read_writes(JsonReader *reader, void *to)
{
	request_transact_writes(reader, NULL, to);
	check_number(reader, to);
}

static void
read_gets(JsonReader *reader, void *to)
{
	request_transact_gets(reader, to);
	check_number(reader, to);
}

#undef AT
#define AT(field) offsetof(TransactCall, field)

static const RequestMember transact_write_members[] = {
	{"TransactItems", MEMBER_CUSTOM, AT(request), true, .read = read_writes},
	{"ClientRequestToken", MEMBER_TEXT, AT(request.token), .min = 1, .max = DYN_MAX_TOKEN},
	RETURN_CAPACITY(TransactCall, capacity),
	RETURN_METRICS(TransactCall, metrics),
};

static const RequestMember transact_get_members[] = {
	{"TransactItems", MEMBER_CUSTOM, AT(request), true, .read = read_gets},
	RETURN_CAPACITY(TransactCall, capacity),
};

/*
 * Prepares the actions.  All that is wrong with one action and needs no table comes before anything
 * of the next one (docs/semantics.md, SV28).
 */
static void
prepare_actions(TransactRequest *request)
{
	int number = 1;
	ErrorContextCallback callback = {error_context_stack, name_action, &number};

	error_context_stack = &callback;
	for (; number <= request->nactions; number++)
	{
		TransactAction *action = &request->actions[number - 1];

		CHECK_FOR_INTERRUPTS();
		parameters_check_item(action->kind, &action->request, NULL, action->names != NULL,
							  action->vals != NULL);
		item_complain(action->front);
		action->request.expressions = expr_request_of_api(action->names, action->vals);
		action_parse(&action->request);
	}
	error_context_stack = callback.previous;
}

static void
read_call(JsonReader *reader, const RequestMember *members, int n, TransactCall *call,
		  RequestMeter *meter, CapacityKind kind)
{
	memset(call, 0, sizeof(*call));
	request_read(reader, members, n, call, NULL);
	prepare_actions(&call->request);
	meter_init(meter, call->capacity, call->metrics, call->request.nactions);
	for (int i = 0; i < call->request.nactions; i++)
	{
		const TransactAction *action = &call->request.actions[i];

		meter->parts[i] = (MeterPart){action->request.table, kind, kinds[action->kind].operation};
	}
	call->request.part = request_names_parts(reader, meter->parts, call->request.nactions);
	call->request.meter = meter_wanted(meter);
	call->request.site = reader->site;
	call->request.in_words = true;
}

static void
check_actions(const TransactRequest *request)
{
	for (int i = 0; i < request->nactions; i++)
		action_check(request->actions[i].kind, &request->actions[i].request);
}

/*
 * Runs TransactWriteItems, and appends the response.  Nothing is written if a transaction with the
 * same ClientRequestToken was done before.  With a NULL response, only checks the request.
 */
void
request_transact_write_items(JsonReader *reader, JsonWriter *response)
{
	TransactCall call;
	RequestMeter meter;

	read_call(reader, transact_write_members, lengthof(transact_write_members), &call, &meter,
			  CAPACITY_TRANSACTION_WRITE);
	if (response == NULL)
	{
		check_actions(&call.request);
		return;
	}
	action_transact(&call.request);
	meter_print(response, &meter);
}

/* Prints an item; one of which nothing is wanted is as if not there (docs/semantics.md, X10). */
void
request_print_gotten(DynItem *item, void *arg)
{
	json_write_begin(arg, NULL);
	if (item != NULL && item_children(item_root(item)).count > 0)
		json_write_item(arg, "Item", item);
	json_write_end(arg);
}

/* Runs TransactGetItems, and appends the response.  With a NULL response, only checks the request. */
void
request_transact_get_items(JsonReader *reader, JsonWriter *response)
{
	TransactCall call;
	RequestMeter meter;

	read_call(reader, transact_get_members, lengthof(transact_get_members), &call, &meter,
			  CAPACITY_TRANSACTION_READ);
	if (response == NULL)
	{
		check_actions(&call.request);
		return;
	}
	json_write_begin_array(response, "Responses");
	action_transact_get(&call.request, request_print_gotten, response);
	json_write_end_array(response);
	meter_print(response, &meter);
}
