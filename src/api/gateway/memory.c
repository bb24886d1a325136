/*
 * memory.c
 *	  What a session keeps of its requests, in spite of all that request_as() takes back.
 *
 * PL/pgSQL keeps each function that it has compiled, also one that has been dropped, and the server
 * keeps the names of all settings.  So code of a table's owner can fill a session with what nobody
 * needs: with gigabytes in seconds.  Later requests of others would go through it whenever plans are
 * looked for that a change has made invalid.
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "access/xact.h"
#include "storage/fd.h"
#include "utils/timestamp.h"

#include "api/gateway/gateway.h"

/* A session that has more than so many megabytes for itself should end. */
#define MAX_KEPT 256

/* A request that takes longer, in microseconds, may have left much.  Of others each of so many is looked at,
 * since to ask the system takes as long as a part of a request. */
#define LONG_US 10000
#define LOOK_EVERY 64

/* Returns the megabytes that the process has for itself; 0 where the system does not tell. */
static long
own_megabytes(void)
{
	char text[128];
	unsigned long pages[3];
	int file = BasicOpenFile("/proc/self/statm", O_RDONLY | PG_BINARY);
	ssize_t length;

	if (file < 0)
		return 0;
	length = read(file, text, sizeof(text) - 1);
	close(file);
	text[Max(length, 0)] = '\0';
	/* in all, in memory, and of these shared or of files */
	if (sscanf(text, "%lu %lu %lu", &pages[0], &pages[1], &pages[2]) != 3 || pages[1] < pages[2])
		return 0;
	return (long) ((pages[1] - pages[2]) * (unsigned long) sysconf(_SC_PAGESIZE) >> 20);
}

/*
 * Tells the gateway to connect again, if the session has become too large.  Nothing of a request may be
 * left in the context of the error: code of a table's owner can raise the same.
 */
void
tell_large_session(void)
{
	static int requests = 0;
	long megabytes;

	if (++requests % LOOK_EVERY != 0 &&
		GetCurrentTimestamp() - GetCurrentStatementStartTimestamp() < LONG_US)
		return;
	megabytes = own_megabytes();
	if (megabytes > MAX_KEPT)
		ereport(WARNING,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("a session of a gateway has %ld MB of memory", megabytes),
				 errdetail("Code of tables has left it there, such as functions that it has made."),
				 errhint("The gateway connects again.")));
}
