/*
 * notification.c
 *	  Notifications of the extension's own, which may be left out.
 *
 * A listener that is idle in a transaction lets the queue of notifications fill up, and any role can
 * fill it.  A full queue fails each commit with a notification, so none are sent while it is fuller
 * than half: whoever listens to the extension looks for changes now and then, too.
 */
#include "postgres.h"

#include "commands/async.h"
#include "utils/fmgrprotos.h"

#include "server/notification.h"

#define QUEUE_USAGE 0.5

/* Returns whether there is no room for notifications that may be left out. */
bool
dyn_notification_queue_is_full(void)
{
	return DatumGetFloat8(DirectFunctionCall1(pg_notification_queue_usage, (Datum) 0)) >
		   QUEUE_USAGE;
}

/* Tell listeners when the transaction commits, if there is room.  The payload may be NULL. */
void
dyn_notify(const char *channel, const char *payload)
{
	if (!dyn_notification_queue_is_full())
		Async_Notify(channel, payload);
}
