/*
 * sent_settings.c
 *	  Settings that Citus sends to other nodes, over connections of other roles too.
 *
 * With citus.propagate_set_commands Citus keeps the text of each SET LOCAL, and with it all statements
 * that the client sent together with that, and executes the text on each connection that the
 * transaction has or opens.  A connection belongs to the user of the moment.  So whoever takes the
 * rights of another role in such a transaction, for a statement on a distributed table, would have
 * the caller's text executed by that role.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "tcop/utility.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "server/citus.h"
#include "server/sent_settings.h"

#define SETTING "citus.propagate_set_commands"

static ProcessUtility_hook_type next_utility = NULL;

/* These are of the transaction. */
static bool sent = false; /* a setting was sent, or may have been, and by no superuser */
static bool forbidden = false; /* no setting may be */

static void
forget(void *arg)
{
	sent = forbidden = false;
}

static void
note(bool *flag)
{
	if (!sent && !forbidden)
	{
		MemoryContextCallback *callback =
			MemoryContextAllocZero(TopTransactionContext, sizeof(MemoryContextCallback));

		callback->func = forget;
		MemoryContextRegisterResetCallback(TopTransactionContext, callback);
	}
	*flag = true;
}

/* Returns whether Citus sends what a statement sets. */
static bool
is_sent(const VariableSetStmt *set)
{
	const char *mode = GetConfigOption(SETTING, true, false);

	return set->is_local && mode != NULL &&
		   (strcmp(mode, "none") != 0 ||
			(set->name != NULL && pg_strcasecmp(set->name, SETTING) == 0));
}

static void
process(PlannedStmt *statement, const char *text, bool keep, ProcessUtilityContext context,
		ParamListInfo parameters, QueryEnvironment *environment, DestReceiver *receiver,
		QueryCompletion *completion)
{
	const Node *utility = statement->utilityStmt;

	if (IsA(utility, VariableSetStmt) && is_sent((const VariableSetStmt *) utility) && !superuser())
	{
		if (forbidden || InSecurityRestrictedOperation())
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					 errmsg("settings cannot be sent to other nodes in a transaction that uses "
							"the rights of another role"),
					 errhint("Set %s to \"none\".", SETTING)));
		note(&sent);
	}
	(next_utility != NULL ? next_utility : standard_ProcessUtility)(
		statement, text, keep, context, parameters, environment, receiver, completion);
}

/*
 * The transaction takes the rights of another role.  Raises an error if settings may have been sent in
 * it; from now on none are.
 */
void
sent_settings_forbid(void)
{
	if (sent && citus_is_installed())
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("the rights of another role cannot be used in a transaction that "
							   "sends settings to other nodes"),
						errdetail("Citus executes the text of SET LOCAL over connections of that "
								  "role, too."),
						errhint("Set %s to \"none\", and have dynamo_table in "
								"shared_preload_libraries.",
								SETTING)));
	if (!forbidden)
		note(&forbidden);
}

/* A library that is loaded late does not know what was set before. */
void
sent_settings_init(void)
{
	next_utility = ProcessUtility_hook;
	ProcessUtility_hook = process;
	if (IsTransactionState() && GetConfigOption(SETTING, true, false) != NULL && !superuser())
		note(&sent);
}
