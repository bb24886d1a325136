/*
 * denied.c
 *	  AccessDeniedException: who may not do what to which resource.
 *
 * A missing privilege is found far below, by PostgreSQL or by a rule of ours, and always has the same
 * SQLSTATE, 42501.  Who and what are known here: each operation tells which table it names.
 *
 * Region and account are those of the settings, or the region that the request is signed for.  No
 * privilege can be had on the table of another one, so its ARN is refused with the same SQLSTATE.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/fmgrprotos.h"

#include "api/request/denied.h"
#include "catalog/definition/arn.h"

/* A resource is told in at most so many bytes: a name with its ARN, or less of what is made up. */
#define MAX_RESOURCE 1024

static int
trigger_depth(void)
{
	return DatumGetInt32(DirectFunctionCall1(pg_trigger_depth, (Datum) 0));
}

/* Notes the depth while the error is raised, where it is raised. */
static void
note_depth(void *arg)
{
	Denial *denial = arg;

	if (geterrcode() == ERRCODE_INSUFFICIENT_PRIVILEGE)
		denial->denied_at = trigger_depth();
}

/*
 * Notes that the current user sends a request.  Names are looked up now, since after an error
 * nothing is to be looked up.  The role of a session may have been dropped.
 */
void
denial_begin(Denial *denial, const char *operation, bool alone)
{
	const char *user = GetUserNameFromId(GetUserId(), true);

	*denial = (Denial){.operation = operation,
					   .user = user != NULL ? user : psprintf("unknown (OID=%u)", GetUserId()),
					   .depth = trigger_depth(),
					   .alone = alone};
	denial->callback = (ErrorContextCallback){error_context_stack, note_depth, denial};
	error_context_stack = &denial->callback;
}

/* Notes that the request has been carried out. */
void
denial_end(const Denial *denial)
{
	error_context_stack = denial->callback.previous;
}

static ItemSpan
named_resource(const Denial *denial)
{
	if (denial->parts == NULL)
		return denial->resource;
	return text_span(denial->parts[denial->part.number].table);
}

/* Returns whether the request is a transaction, as far as it was read: then parts are actions. */
bool
denial_is_of_transaction(const Denial *denial)
{
	return denial->parts != NULL && (denial->parts[0].kind == CAPACITY_TRANSACTION_READ ||
									 denial->parts[0].kind == CAPACITY_TRANSACTION_WRITE);
}

/* Returns the operation that is asked for privileges: in a transaction, its actions are. */
static const char *
wanted_operation(const Denial *denial)
{
	if (denial->parts == NULL || denial->parts[denial->part.number].operation == NULL)
		return denial->operation;
	return denial->parts[denial->part.number].operation;
}

/*
 * Returns what the privilege is missing on, as far as the request names it.  Triggers do what they
 * want with whatever they want, so nothing is said of that.
 */
static char *
resource_arn(const Denial *denial)
{
	ItemSpan name = named_resource(denial);
	char *arn;

	if (denial->denied_at > denial->depth)
		return "*";
	if (name.data == NULL)
		return psprintf("%s*", dyn_table_arn((ItemSpan){"", 0}));
	if (dyn_is_arn(name))
		arn = span_string(name);
	else
		arn = dyn_table_arn(name);
	if (strlen(arn) > MAX_RESOURCE)
		arn = psprintf("%s...", pnstrdup(arn, pg_mbcliplen(arn, (int) strlen(arn), MAX_RESOURCE)));
	return arn;
}

/* Returns DynamoDB's words for a privilege that is missing. */
char *
denial_words(const Denial *denial)
{
	return psprintf("User: %s is not authorized to perform: dynamodb:%s on resource: %s",
					denial->user, wanted_operation(denial), resource_arn(denial));
}

/*
 * Notes that the request names a table or a stream, by its name or its ARN.  Raises an error if
 * that is in another region, or of another account.
 */
void
request_names(const JsonReader *reader, ItemSpan name)
{
	if (reader->denial != NULL)
		reader->denial->resource = name;
	if (dyn_is_arn(name) && !dyn_is_own_arn(name))
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("the ARN is of another region or account"),
						errdetail("ARNs of this database begin with \"%s\".",
								  dyn_table_arn((ItemSpan){"", 0})),
						errhint("The region is the one that the request is signed for, unless the "
								"setting \"dynamo_table.arn_region\" has one; the account is that "
								"of \"dynamo_table.arn_account\".")));
}

/*
 * Notes that the request has parts, which live as long as it does; a part without a table is never
 * under way.  Returns where the action tells which part is under way, or NULL if nobody asks.
 */
PartUnderWay *
request_has_parts(const JsonReader *reader, const MeterPart *parts, int n)
{
	Denial *denial = reader->denial;

	if (denial == NULL)
		return NULL;
	if (n > 0)
	{
		denial->parts = parts;
		denial->nparts = n;
	}
	return &denial->part;
}

/* Notes that the request has parts, and names the tables of all of them. */
PartUnderWay *
request_names_parts(const JsonReader *reader, const MeterPart *parts, int n)
{
	PartUnderWay *part = request_has_parts(reader, parts, n);

	for (int i = 0; i < n; i++)
	{
		if (part != NULL)
			*part = (PartUnderWay){.number = i};
		if (parts[i].table != NULL)
			request_names(reader, text_span(parts[i].table));
	}
	return part;
}
