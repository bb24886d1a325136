/*
 * request_as.c
 *	  dynamo_internal.request_as(): operations with the rights of a role, for gateways.
 *
 * A gateway has one login role and many callers, each of which is a role.  It executes one prepared
 * statement a request, as a transaction of its own:
 *
 *		SELECT dynamo_internal.request_as($1, $2, $3, $4)
 *
 * $1 is the role (regrole: an OID, or a name), $2 the operation, $3 the JSON (text), $4 the region that
 * the request is signed for, or nothing.  The parameters have no type names in the statement, so that
 * they are looked up on no search_path.  A request that the gateway sends to another node than its
 * own, because a shard is there, has the tables as $5 (text[], see dyn_expect_tables()).  Where a name
 * means another one, the request fails as if there was none, and the gateway asks its own node.
 *
 * A request runs code of the owners of tables: triggers, policies, defaults, expressions.  That code
 * must not get from one role to another, and must leave nothing behind in the session, whose next
 * request may be another role's.  SET ROLE would do neither: such code can set a role, too.  So the
 * user is changed as for maintenance commands,
 * SECURITY_LOCAL_USERID_CHANGE | SECURITY_RESTRICTED_OPERATION:
 * - Role and session authorization cannot be set.
 * - PREPARE, DEALLOCATE, LISTEN, UNLISTEN, DISCARD, CLOSE, cursors WITH HOLD and temporary tables are
 *   refused.
 * - Triggers cannot be deferred until COMMIT, when the user is the gateway's login role again.
 *   Therefore all constraints are checked by the statement.
 *
 * PostgreSQL does not care for the rest:
 * - Settings are restored, and advisory locks of the session are released, also after an error.
 * - A type or a function can be made in the schema of temporary objects, and types there are found
 *   before those of pg_catalog.  So there must be no such schema, before and after a request.
 * - Settings by which everybody can end a session, or keep it from being ended, need a superuser's
 *   rights meanwhile.
 * - The values that random() and lastval() go by are forgotten before a request.
 * - The code may tell the client as much as it likes: long notices are not sent, and errors are cut.
 * - The functions that it has compiled stay, and the names of its settings: the gateway is told of a
 *   session that has become large.
 * - Cursors live until the transaction ends, so there is no request in a transaction block.
 *
 * Code of a table's owner can raise any SQLSTATE as an ERROR, so a gateway must not judge its
 * connection by that alone.  What such code cannot do is to raise such an SQLSTATE as FATAL, or an
 * error without a context.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/namespace.h"
#include "commands/sequence.h"
#include "commands/trigger.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "storage/lwlock.h"
#include "tcop/tcopprot.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/guc_tables.h"
#include "utils/timeout.h"

#include "api/gateway/gateway.h"
#include "api/request/request.h"
#include "catalog/definition/arn.h"
#include "catalog/lookup.h"
#include "server/compat.h"
#include "server/errors.h"
#include "server/library.h"

/* Holds what the session has been before the request. */
typedef struct Session
{
	Oid user;
	int context;
	int settings; /* nest level of those that are set from now on */
} Session;

/*
 * Whether there may be a request
 */

static bool
has_temporary_schema(void)
{
	Oid namespace;
	Oid toast_namespace;

	GetTempNamespaceState(&namespace, &toast_namespace);
	return OidIsValid(namespace);
}

static void
check_session(void)
{
	if (InLocalUserIdChange() || InSecurityRestrictedOperation())
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("a function that has the rights of another role cannot make "
							   "requests of gateways")));
	if (IsTransactionBlock())
		ereport(ERROR, (errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
						errmsg("a request of a gateway cannot run inside a transaction block")));
}

/* Checks what SET ROLE asks for, and that it is no superuser.  Returns the name of the role. */
static const char *
check_role(Oid role)
{
	const char *name = GetUserNameFromId(role, true);

	if (name == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("role with OID %u does not exist", role)));
	if (superuser_arg(role))
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("role \"%s\" is a superuser", name),
						errdetail("Requests of gateways have no superuser's rights.")));
	if (!may_set_role(GetSessionUserId(), role))
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("permission denied to set role \"%s\"", name),
						errdetail("The session user, \"%s\", must have been granted this role.",
								  GetUserNameFromId(GetSessionUserId(), false))));
	return name;
}

/*
 * Ends a session with temporary objects, or with a library from before the extension was updated:
 * it will never be of use again, and a pooler may hand it to the next client.  Code of a table's
 * owner cannot raise FATAL with this SQLSTATE, so whoever sees it knows that nothing was done.
 */
static void
end_useless_session(void)
{
	library_check(FATAL);
	if (has_temporary_schema())
		ereport(FATAL, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("a session with temporary objects cannot make requests of gateways"),
						errdetail("Types and tables among them are found before all others.")));
}

/*
 * The rights of the role, and back
 */

static void
check_constraints_at_once(void)
{
	ConstraintsSetStmt all = {.type = T_ConstraintsSetStmt, .constraints = NIL, .deferred = false};

	AfterTriggerSetState(&all);
}

static struct config_generic *
find_setting(const char *name)
{
#if PG16_GE
	return find_option(name, false, true, DEBUG1);
#else
	struct config_generic **settings = get_guc_variables();

	for (int i = 0; i < GetNumConfigOptions(); i++)
	{
		if (strcmp(settings[i]->name, name) == 0)
			return settings[i];
	}
	return NULL;
#endif
}

/*
 * Restricts who may set what ends the session: exit_on_error makes any error FATAL, and
 * transaction_timeout (of 17) raises one; and what ends it when its client has gone, for code that
 * catches all errors.
 */
static void
restrict_settings(GucContext context)
{
	static const char *const names[] = {
		"client_connection_check_interval",
		"exit_on_error",
#if PG17_GE
		"transaction_timeout",
#endif
	};
	static struct config_generic *settings[lengthof(names)];

	for (int i = 0; i < lengthof(names); i++)
	{
		if (settings[i] == NULL)
			settings[i] = find_setting(names[i]);
		if (settings[i] != NULL)
			settings[i]->context = context;
	}
}

/*
 * Watches the client: a gateway that waits no longer ends its connection.  No code of a table's
 * owner can catch what comes of that, but somebody has to look.  Background workers have no client.
 */
static void
watch_client(void)
{
	if (client_connection_check_interval > 0 || MyProcPort == NULL)
		return;
	SetConfigOption("client_connection_check_interval", "1s", PGC_SUSET, PGC_S_OVERRIDE);
	enable_timeout_after(CLIENT_CONNECTION_CHECK_TIMEOUT, client_connection_check_interval);
}

/* Forgets what the request before may have set: what random() gives, and its lastval(). */
static void
forget_values(void)
{
	int64 seed;

	if (!pg_strong_random(&seed, sizeof(seed)))
		elog(ERROR, "could not generate random bytes");
	DirectFunctionCall1(setseed, Float8GetDatum(seed / -(float8) PG_INT64_MIN));
	ResetSequenceCaches();
}

static void
take_role(Oid role, Session *before)
{
	GetUserIdAndSecContext(&before->user, &before->context);
	before->settings = NewGUCNestLevel();
	SetUserIdAndSecContext(role, before->context | SECURITY_LOCAL_USERID_CHANGE |
									 SECURITY_RESTRICTED_OPERATION);
	restrict_settings(PGC_SUSET);
}

/* Gives the role back.  Advisory locks of the session do not tell which the request has taken. */
static void
drop_role(const Session *before)
{
	restrict_settings(PGC_USERSET);
	LockReleaseSession(USER_LOCKMETHOD);
	AtEOXact_GUC(false, before->settings);
	SetUserIdAndSecContext(before->user, before->context);
}

/*
 * Gives the role back in PG_CATCH().  The end of the transaction restores user and settings by
 * itself, but the error is told to the client before that, in the encoding that is set.  It
 * releases no lock of the session.  A subtransaction that the error has left open has settings of
 * its own, which it restores.
 */
static void
drop_role_after_error(const Session *before)
{
	LWLockReleaseAll();
	dyn_arn_set_request_region("");
	dyn_expect_tables(NULL);
	restrict_settings(PGC_USERSET);
	if (IsSubTransaction())
		LockReleaseSession(USER_LOCKMETHOD);
	else
		drop_role(before);
}

/* Refuses temporary objects; their schema goes when the error ends the transaction. */
static void
check_left_behind(void)
{
	if (has_temporary_schema())
		ereport(ERROR, (errcode(ERRCODE_DYN_ACCESS_DENIED),
						errmsg("cannot create temporary objects in a request of a gateway")));
}

/*
 * Every error from here on has this in its context, whatever code of a table's owner raises it: a
 * gateway takes errors that have no context for those of its session.
 */
static void
tell_request(void *role_name)
{
	errcontext("request of a gateway with the rights of role \"%s\"", (const char *) role_name);
}

/* dynamo_internal.request_as(key_role, operation, request, region, tables) */
PG_FUNCTION_INFO_V1(dyn_request_as);
Datum
dyn_request_as(PG_FUNCTION_ARGS)
{
	ErrorContextCallback teller = {.previous = error_context_stack, .callback = tell_request};
	Oid role = PG_GETARG_OID(0);
	Session before;
	text *response;

	check_session();
	teller.arg = unconstify(char *, check_role(role));
	end_useless_session();
	error_context_stack = &teller;
	shorten_messages();
	check_constraints_at_once();
	watch_client();
	forget_values();
	take_role(role, &before);
	PG_TRY();
	{
		dyn_arn_set_request_region(text_to_cstring(PG_GETARG_TEXT_PP(3)));
		dyn_expect_tables(PG_GETARG_ARRAYTYPE_P(4));
		response = request_carry_out(fcinfo, PG_GETARG_TEXT_PP(1), PG_GETARG_TEXT_PP(2), true);
		check_left_behind();
	}
	PG_CATCH();
	{
		drop_role_after_error(&before);
		error_context_stack = teller.previous;
		tell_large_session();
		PG_RE_THROW();
	}
	PG_END_TRY();
	dyn_arn_set_request_region("");
	dyn_expect_tables(NULL);
	drop_role(&before);
	error_context_stack = teller.previous;
	tell_large_session();
	PG_RETURN_TEXT_P(response);
}
