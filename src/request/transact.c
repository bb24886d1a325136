/*
 * transact.c
 *	  DynamoDB's TransactItems: JSON to actions.
 *
 * A member that is not known, comes twice or is missing is an error: a condition with a misspelled
 * name must not become a write without one.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"

#include "errors.h"
#include "request/transact.h"

/* Members of actions, as bits. */
enum
{
	TABLE = 1 << 0,
	ITEM = 1 << 1,
	KEY = 1 << 2,
	CONDITION = 1 << 3,
	UPDATE = 1 << 4,
	PROJECTION = 1 << 5,
	NAMES = 1 << 6,
	VALUES = 1 << 7,
	ON_FAILURE = 1 << 8,
	MEMBERS = 9
};

static const char *const members[MEMBERS] = {"TableName",
											 "Item",
											 "Key",
											 "ConditionExpression",
											 "UpdateExpression",
											 "ProjectionExpression",
											 "ExpressionAttributeNames",
											 "ExpressionAttributeValues",
											 "ReturnValuesOnConditionCheckFailure"};

/* What an action must have, and what it may have beside that. */
static const struct
{
	const char *name;
	int required;
	int optional;
} kinds[] = {
	[TRANSACT_PUT] = {"Put", TABLE | ITEM, CONDITION | NAMES | VALUES | ON_FAILURE},
	[TRANSACT_UPDATE] = {"Update", TABLE | KEY | UPDATE, CONDITION | NAMES | VALUES | ON_FAILURE},
	[TRANSACT_DELETE] = {"Delete", TABLE | KEY, CONDITION | NAMES | VALUES | ON_FAILURE},
	[TRANSACT_CHECK] = {"ConditionCheck", TABLE | KEY | CONDITION, NAMES | VALUES | ON_FAILURE},
	[TRANSACT_GET] = {"Get", TABLE | KEY, PROJECTION | NAMES},
};

pg_noreturn static void
fail(TransactKind kind, const char *problem, ItemSpan name)
{
	StringInfoData quoted;

	initStringInfo(&quoted);
	item_quote(&quoted, name);
	ereport(ERROR,
			(errcode(ERRCODE_DYN_VALIDATION),
			 errmsg("invalid request: %s %s \"%s\"", kinds[kind].name, problem, quoted.data)));
	pg_unreachable();
}

static ItemSpan
member_name(int i)
{
	return (ItemSpan){members[i], (uint32) strlen(members[i])};
}

/* The member of that name, as a bit. */
static int
find_member(TransactKind kind, ItemSpan name, int seen)
{
	int allowed = kinds[kind].required | kinds[kind].optional;

	for (int i = 0; i < MEMBERS; i++)
	{
		if (!json_name_is(name, members[i]) || !(allowed & 1 << i))
			continue;
		if (seen & 1 << i)
			fail(kind, "has twice a member", name);
		return 1 << i;
	}
	fail(kind, "has no member", name);
}

/* A string as text, which cannot hold U+0000. */
static text *
read_text(JsonReader *reader, TransactKind kind, ItemSpan name)
{
	ItemSpan string = json_read_string(reader);

	if (memchr(string.data, '\0', string.len) != NULL)
		fail(kind, "has U+0000 in member", name);
	return cstring_to_text_with_len(string.data, (int) string.len);
}

/* Spec row X05. */
static bool
read_on_failure(JsonReader *reader, TransactKind kind, ItemSpan name)
{
	ItemSpan value = json_read_string(reader);

	if (!json_name_is(value, "ALL_OLD") && !json_name_is(value, "NONE"))
		fail(kind, "has neither NONE nor ALL_OLD in member", name);
	return json_name_is(value, "ALL_OLD");
}

static void
read_member(JsonReader *reader, int member, ItemSpan name, TransactAction *action)
{
	ItemRequest *request = &action->request;

	switch (member)
	{
		case TABLE:
			request->table = read_text(reader, action->kind, name);
			break;
		case ITEM:
		case KEY:
			request->item = json_read_item(reader, ITEM_SYNTAX_ITEM);
			break;
		case CONDITION:
			request->condition = read_text(reader, action->kind, name);
			break;
		case UPDATE:
			request->update = read_text(reader, action->kind, name);
			break;
		case PROJECTION:
			request->projection = read_text(reader, action->kind, name);
			break;
		case NAMES:
			action->names = json_read_names(reader);
			break;
		case VALUES:
			action->vals = json_read_item(reader, ITEM_SYNTAX_VALUES);
			break;
		default:
			request->old_on_failure = read_on_failure(reader, action->kind, name);
	}
}

/* The object that an action's kind is the name of. */
static void
read_action(JsonReader *reader, TransactKind kind, TransactAction *action)
{
	int seen = 0;
	ItemSpan name;

	*action = (TransactAction){.kind = kind};
	for (json_read_object(reader); json_read_member(reader, &name);)
	{
		int member = find_member(kind, name, seen);

		seen |= member;
		read_member(reader, member, name, action);
	}
	for (int i = 0; i < MEMBERS; i++)
	{
		if (kinds[kind].required & 1 << i && !(seen & 1 << i))
			fail(kind, "lacks member", member_name(i));
	}
	action->request.expressions = expr_request(action->names, action->vals);
}

static TransactKind
find_kind(ItemSpan name, TransactKind first, TransactKind last)
{
	StringInfoData quoted;

	for (int kind = first; kind <= (int) last; kind++)
	{
		if (json_name_is(name, kinds[kind].name))
			return (TransactKind) kind;
	}
	initStringInfo(&quoted);
	item_quote(&quoted, name);
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("invalid request: there is no action \"%s\"", quoted.data)));
}

/* An object with one member, whose name says what the action is. */
static void
read_element(JsonReader *reader, TransactKind first, TransactKind last, TransactAction *action)
{
	ItemSpan name;
	int n = 0;

	for (json_read_object(reader); json_read_member(reader, &name); n++)
	{
		if (n == 0)
			read_action(reader, find_kind(name, first, last), action);
		else
			break;
	}
	if (n != 1)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("invalid request: an action must have exactly one member")));
}

static void
name_action(void *arg)
{
	errcontext("action %d of the transaction", *(int *) arg);
}

static void
read_elements(JsonReader *reader, TransactKind first, TransactKind last, TransactRequest *request)
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
		CHECK_FOR_INTERRUPTS();
		if (request->nactions == room)
		{
			room *= 2;
			request->actions = repalloc_huge(request->actions, room * sizeof(TransactAction));
		}
		read_element(reader, first, last, &request->actions[request->nactions++]);
	}
	error_context_stack = callback.previous;
}

/* The array of Put, Update, Delete and ConditionCheck. */
void
request_transact_writes(JsonReader *reader, TransactRequest *request)
{
	read_elements(reader, TRANSACT_PUT, TRANSACT_CHECK, request);
}

/* The array of Get. */
void
request_transact_gets(JsonReader *reader, TransactRequest *request)
{
	read_elements(reader, TRANSACT_GET, TRANSACT_GET, request);
}
