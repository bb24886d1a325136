/*
 * transact.c
 *	  DynamoDB's TransactItems: JSON to actions.
 */
#include "postgres.h"

#include "request/reader.h"
#include "request/transact.h"

static void
read_table(ItemParser *p, void *into)
{
	((TransactAction *) into)->request.table = request_text(p, "TableName");
}

static void
read_item(ItemParser *p, void *into)
{
	((TransactAction *) into)->request.item = request_item(p, "Item", ITEM_SYNTAX_ITEM);
}

static void
read_key(ItemParser *p, void *into)
{
	((TransactAction *) into)->request.item = request_item(p, "Key", ITEM_SYNTAX_ITEM);
}

static void
read_condition(ItemParser *p, void *into)
{
	((TransactAction *) into)->request.condition = request_text(p, "ConditionExpression");
}

static void
read_update(ItemParser *p, void *into)
{
	((TransactAction *) into)->request.update = request_text(p, "UpdateExpression");
}

static void
read_projection(ItemParser *p, void *into)
{
	((TransactAction *) into)->request.projection = request_text(p, "ProjectionExpression");
}

static void
read_names(ItemParser *p, void *into)
{
	((TransactAction *) into)->names = request_names(p);
}

static void
read_values(ItemParser *p, void *into)
{
	((TransactAction *) into)->vals =
		request_item(p, "ExpressionAttributeValues", ITEM_SYNTAX_VALUES);
}

/* Spec row X05. */
static void
read_on_failure(ItemParser *p, void *into)
{
	ItemSpan value;
	bool all_old;

	request_expect(p, JSON_TOKEN_STRING, "ReturnValuesOnConditionCheckFailure must be a string");
	value = item_reader_string(p);
	all_old = item_compare_bytes(value, (ItemSpan){"ALL_OLD", 7}) == 0;
	if (!all_old && item_compare_bytes(value, (ItemSpan){"NONE", 4}) != 0)
		item_reader_fail(p, "ReturnValuesOnConditionCheckFailure must be NONE or ALL_OLD");
	((TransactAction *) into)->request.old_on_failure = all_old;
}

#define NAMES \
	{ \
		"ExpressionAttributeNames", false, read_names \
	}
#define VALUES \
	{ \
		"ExpressionAttributeValues", false, read_values \
	}
#define ON_FAILURE \
	{ \
		"ReturnValuesOnConditionCheckFailure", false, read_on_failure \
	}

static const RequestMember put_members[] = {{"TableName", true, read_table},
											{"Item", true, read_item},
											{"ConditionExpression", false, read_condition},
											NAMES,
											VALUES,
											ON_FAILURE};
static const RequestMember update_members[] = {{"TableName", true, read_table},
											   {"Key", true, read_key},
											   {"UpdateExpression", true, read_update},
											   {"ConditionExpression", false, read_condition},
											   NAMES,
											   VALUES,
											   ON_FAILURE};
static const RequestMember delete_members[] = {{"TableName", true, read_table},
											   {"Key", true, read_key},
											   {"ConditionExpression", false, read_condition},
											   NAMES,
											   VALUES,
											   ON_FAILURE};
static const RequestMember check_members[] = {{"TableName", true, read_table},
											  {"Key", true, read_key},
											  {"ConditionExpression", true, read_condition},
											  NAMES,
											  VALUES,
											  ON_FAILURE};
static const RequestMember get_members[] = {{"TableName", true, read_table},
											{"Key", true, read_key},
											{"ProjectionExpression", false, read_projection},
											NAMES};

/* An action more, at a place that only the next one moves. */
static TransactAction *
add_action(TransactRequest *request, TransactKind kind)
{
	TransactAction *action;

	if (request->nactions == request->maxactions)
	{
		request->maxactions *= 2;
		request->actions =
			repalloc_huge(request->actions, request->maxactions * sizeof(TransactAction));
	}
	action = &request->actions[request->nactions++];
	*action = (TransactAction){.kind = kind};
	return action;
}

static void
read_action(ItemParser *p, TransactRequest *request, TransactKind kind, const char *what,
			const RequestMember *members, int n)
{
	TransactAction *action = add_action(request, kind);

	request_object(p, what, members, n, action);
	action->request.expressions = expr_request(action->names, action->vals);
}

static void
read_put(ItemParser *p, void *into)
{
	read_action(p, into, TRANSACT_PUT, "Put", put_members, lengthof(put_members));
}

static void
read_update_action(ItemParser *p, void *into)
{
	read_action(p, into, TRANSACT_UPDATE, "Update", update_members, lengthof(update_members));
}

static void
read_delete(ItemParser *p, void *into)
{
	read_action(p, into, TRANSACT_DELETE, "Delete", delete_members, lengthof(delete_members));
}

static void
read_check(ItemParser *p, void *into)
{
	read_action(p, into, TRANSACT_CHECK, "ConditionCheck", check_members, lengthof(check_members));
}

static void
read_get(ItemParser *p, void *into)
{
	read_action(p, into, TRANSACT_GET, "Get", get_members, lengthof(get_members));
}

static const RequestMember writes[] = {{"Put", false, read_put},
									   {"Update", false, read_update_action},
									   {"Delete", false, read_delete},
									   {"ConditionCheck", false, read_check}};
static const RequestMember gets[] = {{"Get", false, read_get}};

/* An object with one member, which says what the action is. */
static void
read_element(ItemParser *p, TransactRequest *request, const RequestMember *members, int n)
{
	int before = request->nactions;

	request_object(p, "an action", members, n, request);
	if (request->nactions != before + 1)
		item_reader_fail(p, "an action must have exactly one member");
}

static void
read_write_element(ItemParser *p, void *into)
{
	read_element(p, into, writes, lengthof(writes));
}

static void
read_get_element(ItemParser *p, void *into)
{
	read_element(p, into, gets, lengthof(gets));
}

static void
read_elements(ItemParser *p, TransactRequest *request, RequestRead read)
{
	request->nactions = 0;
	request->maxactions = 16;
	request->actions = palloc(request->maxactions * sizeof(TransactAction));
	request_array(p, "TransactItems", read, request);
}

/* The array at which the reader is. */
void
request_transact_writes(ItemParser *p, TransactRequest *request)
{
	read_elements(p, request, read_write_element);
}

void
request_transact_gets(ItemParser *p, TransactRequest *request)
{
	read_elements(p, request, read_get_element);
}
