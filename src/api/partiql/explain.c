/*
 * explain.c
 *	  What it takes to run a statement.
 *
 * A SELECT is run for that, and a write is not.
 */
#include "postgres.h"

#include "access/relation.h"
#include "utils/builtins.h"

#include "actions/authorize.h"
#include "api/partiql/compile.h"
#include "api/partiql/plan.h"
#include "catalog/lookup.h"

typedef struct PartiqlExplainer
{
	PartiqlAccess access; /* the one that is under way */
	ReadResult before; /* what was read before it */
	PartiqlAccessCallback callback;
	void *arg;
} PartiqlExplainer;

static ItemSpan
where_text(const PartiqlBound *bound)
{
	const PartiqlStatement *statement = bound->compiled->statement;
	PartiqlPlace place = statement->where_place;
	const char *at = statement->text.data + place.at;

	for (; place.len > 0 && isspace((unsigned char) *at); at++)
		place.len--;
	return (ItemSpan){at, (uint32) place.len};
}

/*
 * Reads
 */

static void
drop_item(Datum item, void *arg)
{
}

/* Ends a stretch that was read, or will not be read any more. */
static void
end_read(const ReadResult *result, void *arg)
{
	PartiqlExplainer *explainer = arg;
	PartiqlAccess *access = &explainer->access;

	access->items_read = result->scanned - explainer->before.scanned;
	access->items_returned = result->count - explainer->before.count;
	access->bytes_read = result->bytes - explainer->before.bytes;
	explainer->before = *result;
	explainer->callback(access, explainer->arg);
}

/* The request of a SELECT is to be explained, which follows a plan. */
void
partiql_explain_plan(PartiqlExplainer *explainer, const PartiqlBound *bound,
					 const PartiqlPlan *plan, RangesRequest *request)
{
	PartiqlAccess *access = &explainer->access;

	access->scan = plan->scan;
	access->forward = plan->forward;
	if (request->read.built.condition != NULL)
		access->condition = where_text(bound);
	request->read.explanation = &access->store;
	request->explained = end_read;
	request->explained_arg = explainer;
}

/*
 * Writes
 */

typedef struct WriteKind
{
	TransactKind kind;
	AclMode privileges; /* that its write needs */
	DynAction granted; /* or what has to be granted by leading key */
} WriteKind;

static WriteKind
write_kind(PartiqlKind kind)
{
	switch (kind)
	{
		case PARTIQL_INSERT:
			return (WriteKind){TRANSACT_PUT, ACL_INSERT | ACL_UPDATE, ACTION_PARTIQL_INSERT};
		case PARTIQL_UPDATE:
			return (WriteKind){TRANSACT_UPDATE, ACL_UPDATE, ACTION_PARTIQL_UPDATE};
		case PARTIQL_DELETE:
			return (WriteKind){TRANSACT_DELETE, ACL_DELETE, ACTION_PARTIQL_DELETE};
		case PARTIQL_SELECT:
		case PARTIQL_EXISTS:
			break;
	}
	elog(ERROR, "PartiQL statement of kind %d writes nothing", (int) kind);
}

static void
explain_write(const PartiqlBound *bound, PartiqlAccess *access)
{
	WriteKind kind = write_kind(access->kind);
	ItemRequest request;
	DynKeyValues values;
	StoreClearance clearance = {0};
	ErrorContextCallback callback;
	FrontCall open;

	partiql_begin_request(bound, &request);
	action_open(NULL, request.table, AccessShareLock, &open);
	request.call = &open;
	if (access->kind != PARTIQL_INSERT)
	{
		PartiqlKey key = partiql_whole_key(bound, open.table);

		request.item = key.item;
		if (key.others != NIL)
			access->condition = where_text(bound);
	}
	action_check(kind.kind, &request);
	dyn_key_of_item(open.table, request.item, &values);
	authorize(open.table, &open.table->primary, kind.granted, open.table->primary.npartition,
			  values.values, &clearance);
	store_begin_cleared(&callback, &clearance);
	store_explain_write(open.table, &values, kind.privileges, &access->store);
	store_end(&callback);
	relation_close(open.rel, NoLock);
}

/* Calls back for each read of a SELECT, or for the one write of another statement. */
void
partiql_explain(PartiqlCall *call, PartiqlAccessCallback callback, void *arg)
{
	PartiqlExplainer explainer = {.callback = callback, .arg = arg};
	ReadResult result;

	explainer.access.kind = partiql_kind(call->bound->compiled);
	if (explainer.access.kind == PARTIQL_SELECT)
	{
		call->explainer = &explainer;
		(void) partiql_select(call, drop_item, NULL, &result);
		return;
	}
	explain_write(call->bound, &explainer.access);
	callback(&explainer.access, arg);
}
