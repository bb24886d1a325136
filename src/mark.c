/*
 * mark.c
 *	  Marks in the WAL, written.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "replication/message.h"

#include "compat.h"
#include "mark.h"

static void
mark(const char *kind, const char *what, Oid relid)
{
	char *text;

	if (!XLogLogicalInfoActive())
		return;
	text = psprintf("%s %s %u", kind, what, relid);
	log_logical_message(DYN_MARK_PREFIX, text, strlen(text));
}

void
dyn_mark_start(const char *kind, Oid relid)
{
	mark(kind, "start", relid);
}

void
dyn_mark_end(const char *kind, Oid relid)
{
	mark(kind, "end", relid);
}
