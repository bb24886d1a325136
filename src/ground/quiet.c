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
 * source has, whatever the language of messages is.  Everything else is logged as it is.
 */
#include "postgres.h"

#include "utils/elog.h"
#include "utils/guc.h"

#include "ground/quiet.h"

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
static bool hooked = false;
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

static void
leave_out(ErrorData *error)
{
	if (log_min_messages > DEBUG1 && is_known(error))
		error->output_to_server = false;
	if (next_hook != NULL)
		next_hook(error);
}

/* Leaves out what is known from now on.  Does not fail. */
void
quiet_begin(Quiet what)
{
	if (!hooked)
	{
		next_hook = emit_log_hook;
		emit_log_hook = leave_out;
		hooked = true;
	}
	doing |= (int) what;
}

/* Has everything logged again. */
void
quiet_end(Quiet what)
{
	doing &= ~(int) what;
}
