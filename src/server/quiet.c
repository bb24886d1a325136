/*
 * quiet.c
 *	  Messages of the server that say nothing new in what the extension does.
 *
 * The server logs each begin of decoding, as if a subscriber had come.  Whoever collects changes now
 * and then would fill the log with that.  It logs a FATAL error when a background worker is told to
 * end, as all are when the server stops; and when a database is dropped while a worker connects to
 * it.  The postmaster logs that the worker has ended in any case.
 *
 * These messages are as if they had the level DEBUG1.  They are known by the text that the server's
 * source has, whatever the language of messages is.
 *
 * Answers to callers are not logged either, unless dynamo_table.log_answers is on: a condition that is
 * not met is no error of anybody's, and occurs thousands of times.  An answer that no client gets, or
 * that ends the session (exit_on_error), is logged as any error.  Everything else is logged as it is.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/elog.h"
#include "utils/guc.h"

#include "server/compat.h"
#include "server/errors.h"
#include "server/quiet.h"

typedef struct Known
{
	Quiet when;
	int level;
	const char *beginning;
} Known;

static const Known known[] = {{QUIET_DECODING, LOG, "starting logical decoding for slot "},
							  {QUIET_DECODING, LOG, "logical decoding found consistent point at "},
							  {QUIET_WORKER, FATAL, "terminating background worker "},
							  {QUIET_WORKER, FATAL, "database %u does not exist"},
							  {QUIET_WORKER, FATAL, "database \"%s\" does not exist"}};

static int doing = 0;
static bool log_answers;
static emit_log_hook_type next_hook;

static bool
is_known(const ErrorData *error)
{
	for (int i = 0; i < lengthof(known); i++)
	{
		if ((doing & known[i].when) != 0 && error->elevel == known[i].level &&
			error->message_id != NULL &&
			strncmp(error->message_id, known[i].beginning, strlen(known[i].beginning)) == 0)
			return true;
	}
	return false;
}

static bool
is_answer(const ErrorData *error)
{
	return error->elevel == ERROR && error->output_to_client && error->domain != NULL &&
		   strcmp(error->domain, DYN_ANSWER_DOMAIN) == 0;
}

static void
leave_out(ErrorData *error)
{
	if ((least_logged_level() > DEBUG1 && is_known(error)) || (!log_answers && is_answer(error)))
		error->output_to_server = false;
	if (next_hook != NULL)
		next_hook(error);
}

/* Called once by _PG_init(). */
void
quiet_init(void)
{
	DefineCustomBoolVariable(
		"dynamo_table.log_answers",
		"Sets whether the server's log has errors that are answers to callers.",
		"These are conditions that are not met, transactions that are cancelled, and items that "
		"exist already.",
		&log_answers, false, PGC_SUSET, 0, NULL, NULL, NULL);
	next_hook = emit_log_hook;
	emit_log_hook = leave_out;
}

/* Leaves out what is known from now on.  Does not fail. */
void
quiet_begin(Quiet what)
{
	doing |= (int) what;
}

/* Lets everything be logged again. */
void
quiet_end(Quiet what)
{
	doing &= ~(int) what;
}
