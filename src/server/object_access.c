/*
 * object_access.c
 *	  Commands that touch objects of the catalogs, as the server's hook tells of them.
 */
#include "postgres.h"

#include "server/object_access.h"

#define MAX_SUBSCRIBERS 5

static ObjectAccess subscribers[MAX_SUBSCRIBERS];
static int nsubscribers = 0;
static object_access_hook_type next_hook;

static void
tell_all(ObjectAccessType access, Oid class, Oid object, int part, void *arg)
{
	if (next_hook != NULL)
		next_hook(access, class, object, part, arg);
	for (int i = 0; i < nsubscribers; i++)
		subscribers[i](access, class, object, part);
}

/* Have a function told of each access. */
void
object_access_subscribe(ObjectAccess told)
{
	if (nsubscribers == MAX_SUBSCRIBERS)
		elog(ERROR, "too many functions are to be told of accesses to objects");
	if (nsubscribers == 0)
	{
		next_hook = object_access_hook;
		object_access_hook = tell_all;
	}
	subscribers[nsubscribers++] = told;
}
