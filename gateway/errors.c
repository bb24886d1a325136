/*
 * errors.c
 *	  Errors as clients are told of them, and what becomes of SQLSTATEs.
 */
#include "errors.h"

#include <stddef.h>
#include <string.h>

#define ERROR_ROW(symbol, sqlstate, prefix, name, status) \
	[symbol] = {sqlstate, prefix name, name, status},

static const struct
{
	const char *sqlstate;
	const char *type;
	const char *name;
	int status;
} errors[ERROR_COUNT] = {[ERROR_NONE] = {NULL, "", "", 200}, ERROR_LIST(ERROR_ROW)};

/* Returns the name of the exception, as SDKs have it; empty for ERROR_NONE. */
const char *
error_name(ErrorKind error)
{
	return errors[error].name;
}

/* Returns the same with its prefix, as __type of an answer. */
const char *
error_type(ErrorKind error)
{
	return errors[error].type;
}

/* Returns the HTTP status that it is answered with. */
int
error_status(ErrorKind error)
{
	return errors[error].status;
}

/* Returns the error of a __type; ERROR_INTERNAL if there is none. */
ErrorKind
error_of_type(const char *type)
{
	for (ErrorKind error = ERROR_NONE + 1; error < ERROR_COUNT; error++)
	{
		if (strcmp(errors[error].type, type) == 0)
			return error;
	}
	return ERROR_INTERNAL;
}

/* Returns whether DETAIL of the error is a JSON object, whose members belong into the answer. */
bool
error_has_members(ErrorKind error)
{
	return error == ERROR_CONDITIONAL_CHECK_FAILED || error == ERROR_TRANSACTION_CANCELED;
}

/* Returns the error of an SQLSTATE of the extension's; ERROR_NONE if it is another's. */
static ErrorKind
own_error(const char *sqlstate)
{
	for (ErrorKind error = ERROR_NONE + 1; error < ERROR_COUNT; error++)
	{
		if (errors[error].sqlstate != NULL && strcmp(errors[error].sqlstate, sqlstate) == 0)
			return error;
	}
	return ERROR_NONE;
}

static bool
is(const char *sqlstate, const char *const *codes)
{
	for (; *codes != NULL; codes++)
	{
		/* a class is two characters */
		if (strncmp(sqlstate, *codes, strlen(*codes)) == 0)
			return true;
	}
	return false;
}

/* This is serialization_failure or deadlock_detected, or the extension's word for the latter. */
static const char *const conflicts[] = {"40001", "40P01", "YD004", NULL};

/* This is lock_not_available. */
static const char *const locks[] = {"55P03", NULL};

/* These are too_many_connections, admin_shutdown, cannot_connect_now and idle_session_timeout. */
static const char *const unavailable[] = {"53300", "57P01", "57P03", "57P05", NULL};

/* These are connection exceptions, crash_shutdown, and protocol_violation (of poolers). */
static const char *const broken[] = {"08", "57P02", NULL};

/* This is object_not_in_prerequisite_state: request_as() refuses the session at once. */
static const char *const refused[] = {"55000", NULL};

/* This is read_only_sql_transaction: a standby, or a primary that became one. */
static const char *const read_only[] = {"25006", NULL};

/* This is query_canceled: it would take as long again. */
static const char *const canceled[] = {"57014", NULL};

/* This is invalid_sql_statement_name: a pooler in between lost the prepared statement. */
static const char *const lost_statement[] = {"26000", NULL};

/* This is the class of names that are not there, or may not be used. */
static const char *const unknown_names[] = {"42", NULL};

static Remedy
conflict_remedy(const Failure *failure)
{
	switch (failure->kind)
	{
		case OPERATION_READ:
			return (Remedy){.error = ERROR_INTERNAL, .repeat = true, .pause = true};
		case OPERATION_WRITE:
			return (Remedy){.error = ERROR_TRANSACTION_CONFLICT, .repeat = true, .pause = true};
		case OPERATION_TRANSACTION:
			return (Remedy){.error = ERROR_TRANSACTION_CANCELED, .conflict = true};
		case OPERATION_DEFINITION:
			break;
	}
	return (Remedy){.error = ERROR_INTERNAL};
}

/* Returns what helps if a lock was not to be had in lock_timeout: to try again takes as long. */
static Remedy
lock_remedy(const Failure *failure)
{
	Remedy remedy = conflict_remedy(failure);

	remedy.repeat = remedy.pause = false;
	return remedy;
}

/* Returns what helps if the outcome is not known: only what changes nothing is sent again. */
static Remedy
broken_remedy(const Failure *failure)
{
	if (!failure->sent)
		return (Remedy){.error = ERROR_UNAVAILABLE, .repeat = true, .reconnect = true};
	return (Remedy){.error = ERROR_INTERNAL,
					.repeat = failure->kind == OPERATION_READ,
					.unknown = failure->kind != OPERATION_READ,
					.reconnect = true};
}

/* Returns what is done when the server, or a pooler, has ended the connection, by the SQLSTATE with
 * which it says why. */
static Remedy
ended_remedy(const Failure *failure)
{
	const char *sqlstate = failure->sqlstate;

	if (sqlstate == NULL || is(sqlstate, broken))
		return broken_remedy(failure);
	if (is(sqlstate, unavailable))
		return (Remedy){.error = ERROR_UNAVAILABLE,
						.repeat = failure->kind == OPERATION_READ,
						.reconnect = true};
	if (failure->outside && is(sqlstate, refused))
		return (Remedy){
			.error = ERROR_UNAVAILABLE, .repeat = true, .reconnect = true, .untouched = true};
	if (failure->outside && is(sqlstate, lost_statement))
		return (Remedy){.error = ERROR_UNAVAILABLE,
						.repeat = true,
						.reconnect = true,
						.untouched = true,
						.unprepared = true};
	return (Remedy){.error = ERROR_INTERNAL, .reconnect = true};
}

static Remedy
remedy_of(const Failure *failure)
{
	const char *sqlstate = failure->sqlstate;
	ErrorKind own;

	if (failure->late)
		return (Remedy){.error = ERROR_INTERNAL, .unknown = failure->kind != OPERATION_READ};
	if (sqlstate == NULL || failure->ended)
		return ended_remedy(failure);
	if (failure->outside && is(sqlstate, lost_statement))
		return (Remedy){.error = ERROR_UNAVAILABLE, .repeat = true, .unprepared = true};
	if (is(sqlstate, conflicts))
		return conflict_remedy(failure);
	if (is(sqlstate, locks))
		return lock_remedy(failure);
	if (is(sqlstate, read_only))
		return (Remedy){.error = ERROR_UNAVAILABLE,
						.reconnect = failure->read_only && !failure->standby};
	own = own_error(sqlstate);
	if (own != ERROR_NONE)
		return (Remedy){.error = own, .tells = true};
	return (Remedy){.error = ERROR_INTERNAL};
}

/* Returns whether the primary has to say what it is that a node does not know, or has not done. */
static bool
is_for_primary(const Failure *failure, const Remedy *remedy)
{
	/* a name that no table has may be one that none can have, too */
	if (remedy->error == ERROR_RESOURCE_NOT_FOUND || remedy->error == ERROR_ACCESS_DENIED ||
		remedy->error == ERROR_VALIDATION)
		return true;
	if (failure->late || remedy->pause || remedy->unprepared || remedy->untouched)
		return false;
	if (!failure->sent || (remedy->reconnect && remedy->repeat))
		return true;
	return failure->outside && !failure->ended && failure->sqlstate != NULL &&
		   is(failure->sqlstate, unknown_names);
}

/*
 * Returns what is done about a statement that failed (GW60 to GW68).  What a standby refuses may be
 * right at the primary by now: tables and privileges reach it later, too.  So may what a node of Citus
 * refuses, where names may mean other tables and there may be other roles.
 */
Remedy
error_remedy(const Failure *failure)
{
	Remedy remedy = remedy_of(failure);

	if ((failure->standby && (failure->sqlstate == NULL || !is(failure->sqlstate, canceled))) ||
		(failure->node && is_for_primary(failure, &remedy)))
	{
		remedy.elsewhere = true;
		remedy.repeat = remedy.pause = false;
	}
	return remedy;
}
