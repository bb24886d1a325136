/*
 * actions.c
 *	  Actions on items of entities: PutEntity, UpdateEntity, DeleteEntity and CheckEntity, which
 *	  transactions take beside those of DynamoDB, and of which batches take the first and the third.
 *
 *		{"PutEntity": {"TableName": "app", "Entity": "Order", "Attributes": {"Total": {"N": "7"}}}}
 *
 * They are read first, and looked up when all have been read and counted: only then are their tables
 * locked and their items made.  What the actions layer gets are requests for items.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"

#include "api/request/members.h"
#include "api/request/parameters.h"
#include "models/entity/request.h"
#include "server/arguments.h"
#include "server/errors.h"

typedef enum EntityActionKind
{
	PUT_ENTITY,
	UPDATE_ENTITY,
	DELETE_ENTITY,
	CHECK_ENTITY
} EntityActionKind;

static const char *const action_names[] = {"PutEntity", "UpdateEntity", "DeleteEntity",
										   "CheckEntity", NULL};
static const TransactKind transact_kinds[] = {TRANSACT_PUT, TRANSACT_UPDATE, TRANSACT_DELETE,
											  TRANSACT_CHECK};

/* This is what an action on an entity says beside the rest. */
typedef struct EntityAction
{
	text *entity;
	DynItem *attributes;
} EntityAction;

/*
 * Reading
 */

typedef struct EntityCall
{
	TransactAction action;
	EntityAction of;
	int return_new;
	int on_failure;
} EntityCall;

/* Actions return an item as it is then. */
static const char *const option_return_new[] = {"NONE", "ALL_NEW", NULL};

#define AT(field) offsetof(EntityCall, field)

#define TABLE_MEMBER \
	{ \
		"TableName", MEMBER_TEXT, AT(action.request.table), true, .name_of = NAME_TABLE \
	}
#define ENTITY_MEMBERS \
	{"Entity", MEMBER_TEXT, AT(of.entity), true}, \
	{ \
		"Attributes", MEMBER_ITEM, AT(of.attributes), true \
	}
#define EXPRESSION_MEMBERS \
	{"ExpressionAttributeNames", MEMBER_NAMES, AT(action.names)}, \
		{"ExpressionAttributeValues", MEMBER_VALUES, AT(action.vals)}, \
		RETURN_ON_FAILURE(EntityCall, on_failure)
#define RETURN_MEMBER \
	{ \
		"ReturnValues", MEMBER_CHOICE, AT(return_new), .choices = option_return_new \
	}

static const RequestMember put_members[] = {
	TABLE_MEMBER,
	ENTITY_MEMBERS,
	{"ConditionExpression", MEMBER_TEXT, AT(action.request.condition)},
	EXPRESSION_MEMBERS,
	RETURN_MEMBER,
};

static const RequestMember update_members[] = {
	TABLE_MEMBER,
	ENTITY_MEMBERS,
	{"UpdateExpression", MEMBER_TEXT, AT(action.request.update)},
	{"ConditionExpression", MEMBER_TEXT, AT(action.request.condition)},
	EXPRESSION_MEMBERS,
	RETURN_MEMBER,
};

static const RequestMember delete_members[] = {
	TABLE_MEMBER,
	ENTITY_MEMBERS,
	{"ConditionExpression", MEMBER_TEXT, AT(action.request.condition)},
	EXPRESSION_MEMBERS,
};

/* A check without a condition would check nothing, as of ConditionCheck (docs/semantics.md, X02). */
static const RequestMember check_members[] = {
	TABLE_MEMBER,
	ENTITY_MEMBERS,
	{"ConditionExpression", MEMBER_TEXT, AT(action.request.condition), true},
	EXPRESSION_MEMBERS,
};

/* A batch has one table and no conditions. */
static const RequestMember batch_members[] = {ENTITY_MEMBERS};

static const struct
{
	const RequestMember *members;
	int nmembers;
} members_of[] = {
	[PUT_ENTITY] = {put_members, lengthof(put_members)},
	[UPDATE_ENTITY] = {update_members, lengthof(update_members)},
	[DELETE_ENTITY] = {delete_members, lengthof(delete_members)},
	[CHECK_ENTITY] = {check_members, lengthof(check_members)},
};

static void
read_action(JsonReader *reader, int kind, TransactAction *action)
{
	EntityCall call = {.action = {.kind = transact_kinds[kind]}};
	EntityAction *of = palloc(sizeof(EntityAction));

	request_read_members(reader, members_of[kind].members, members_of[kind].nmembers, &call);
	call.action.request.return_values = call.return_new == 0 ? RETURN_NONE : RETURN_ALL_NEW;
	call.action.request.old_on_failure = call.on_failure == RETURN_ALL_OLD;
	call.action.request.expressions = expr_request(call.action.names, call.action.vals);
	*of = call.of;
	call.action.front = of;
	*action = call.action;
}

/*
 * Looking up
 */

/*
 * Returns what the action is known by: the entity and what was given for it.  The item that is made
 * may have an identifier or a time of its own, and be another one in each call.
 */
static bytea *
content_of(const EntityAction *of)
{
	ItemSpan entity = text_span(of->entity);
	ItemSpan root = item_root(of->attributes);
	StringInfoData content;

	initStringInfo(&content);
	appendStringInfoSpaces(&content, VARHDRSZ);
	appendBinaryStringInfo(&content, (const char *) &entity.len, sizeof(entity.len));
	appendBinaryStringInfo(&content, entity.data, (int) entity.len);
	appendBinaryStringInfo(&content, root.data, (int) root.len);
	SET_VARSIZE(content.data, content.len);
	return (bytea *) content.data;
}

/* This is an action whose item is made. */
typedef struct Making
{
	TransactAction *action;
	const Entity *entity;
} Making;

static void
make_request(void *arg)
{
	Making *making = arg;
	ItemRequest *request = &making->action->request;
	EntityAction *of = making->action->front;

	switch (making->action->kind)
	{
		case TRANSACT_PUT:
			entity_request_put(making->entity, of->attributes, request);
			break;
		case TRANSACT_UPDATE:
			entity_request_update(making->entity, of->attributes, request);
			break;
		case TRANSACT_DELETE:
		case TRANSACT_CHECK:
		case TRANSACT_GET:
			entity_request_key(making->entity, of->attributes, request);
			break;
	}
}

static void
action_resolve(TransactAction *action)
{
	EntityAction *of = action->front;
	Making making = {action};
	ErrorData *error;

	making.entity = entity_open(action->request.table, of->entity, RowExclusiveLock);
	action->content = content_of(of);
	error = action_attempt(make_request, &making);
	if (error != NULL)
		action->invalid = action_invalid(error);
}

static void
name_action(void *arg)
{
	errcontext("action %d of the transaction", *(int *) arg + 1);
}

/*
 * Looks up the entities of a transaction's actions, and makes their items and keys.  Raises an error
 * if a table or an entity does not exist.
 */
static void
resolve_all(TransactRequest *request)
{
	int number;
	ErrorContextCallback callback = {error_context_stack, name_action, &number};

	error_context_stack = &callback;
	for (number = 0; number < request->nactions; number++)
	{
		TransactAction *action = &request->actions[number];

		CHECK_FOR_INTERRUPTS();
		if (action->front == NULL)
			continue;
		if (action->request.return_values != RETURN_NONE && request->returned == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_DYN_VALIDATION), errmsg("dyn_transact() returns no items"),
					 errdetail("\"ReturnValues\" asks for the new item."),
					 errhint("Use dyn_transact_returning().")));
		action_resolve(action);
	}
	error_context_stack = callback.previous;
}

/*
 * Batches
 */

/* An element of a batch does one of these with an entity's item. */
static const char *const write_names[] = {"PutEntity", "DeleteEntity", NULL};
static const TransactKind write_kinds[] = {TRANSACT_PUT, TRANSACT_DELETE};

/* Returns the number of the name. */
static int
find_write(ItemSpan name)
{
	for (int i = 0; write_names[i] != NULL; i++)
	{
		if (item_span_is(name, write_names[i]))
			return i;
	}
	ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
					errmsg("a batch cannot have the action \"%s\"", item_quoted(name)),
					errhint("Use PutEntity or DeleteEntity, or dyn_transact().")));
}

/* Reads an object with one member, whose name says what the write is. */
static void
read_write(JsonReader *reader, TransactAction *write)
{
	int given = 0;
	ItemSpan name;

	for (json_read_object(reader); json_read_member(reader, &name); given++)
	{
		EntityCall call = {.action = {.kind = write_kinds[find_write(name)]}};
		EntityAction *of = palloc(sizeof(EntityAction));

		request_read_members(reader, batch_members, lengthof(batch_members), &call);
		*of = call.of;
		*write = call.action;
		write->front = of;
	}
	if (given != 1)
		ereport(ERROR, (errcode(ERRCODE_DYN_VALIDATION),
						errmsg("invalid entities: an element must have exactly one member")));
}

static void
name_element(void *arg)
{
	errcontext("element %d of entities", *(int *) arg);
}

static List *
read_writes(JsonReader *reader)
{
	List *writes = NIL;
	int number = 1;
	ErrorContextCallback callback = {error_context_stack, name_element, &number};

	json_read_array(reader);
	error_context_stack = &callback;
	for (; json_read_element(reader); number++)
	{
		TransactAction *write = palloc(sizeof(TransactAction));

		CHECK_FOR_INTERRUPTS();
		read_write(reader, write);
		writes = lappend(writes, write);
	}
	error_context_stack = callback.previous;
	return writes;
}

/* Makes room for so many more of each. */
static void
make_room(BatchWriteTable *table, int more)
{
	DynItem **puts = palloc((table->nputs + more) * sizeof(DynItem *));
	DynItem **deletes = palloc((table->ndeletes + more) * sizeof(DynItem *));

	if (table->nputs > 0)
		memcpy(puts, table->puts, table->nputs * sizeof(DynItem *));
	if (table->ndeletes > 0)
		memcpy(deletes, table->deletes, table->ndeletes * sizeof(DynItem *));
	table->puts = puts;
	table->deletes = deletes;
	table->forms = palloc0((table->ndeletes + more) * sizeof(ItemForm *));
}

/* Adds a write.  A put may replace an item of another entity; a deletion has to find its own. */
static void
add_write(BatchWriteTable *table, TransactAction *write)
{
	EntityAction *of = write->front;
	Making making = {write};

	CHECK_FOR_INTERRUPTS();
	making.entity = entity_open(table->table, of->entity, RowExclusiveLock);
	make_request(&making);
	if (write->kind == TRANSACT_PUT)
		table->puts[table->nputs++] = write->request.item;
	else
	{
		table->forms[table->ndeletes] = write->request.form;
		table->deletes[table->ndeletes++] = write->request.item;
	}
}

/*
 * Adds what a JSON array of PutEntity and DeleteEntity says to the puts and deletes of a table.
 * Raises ERRCODE_DYN_VALIDATION if it is no such array, if all are too many, or if attributes do not
 * fit their entity.
 */
static void
add_to_batch(const text *entities, BatchWriteTable *table)
{
	int number = 1;
	ErrorContextCallback callback = {error_context_stack, name_element, &number};
	JsonReader reader;
	List *writes;
	ListCell *cell;

	json_reader_init_argument(&reader, entities, "entities");
	writes = read_writes(&reader);
	json_reader_done(&reader);
	batch_check_writes((int64) table->nputs + table->ndeletes + list_length(writes));
	make_room(table, list_length(writes));
	error_context_stack = &callback;
	foreach (cell, writes)
	{
		add_write(table, lfirst(cell));
		number++;
	}
	error_context_stack = callback.previous;
}

const TransactOthers entity_actions = {action_names, read_action, resolve_all, add_to_batch};
