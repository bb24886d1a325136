/*
 * place.c
 *	  Places for the background workers that make and remove indexes.
 *
 * A build waits for the snapshots and locks of all sessions, for as long as they last.  So the
 * number of workers that may do so in a database is limited, or one long transaction and some calls
 * would take all workers of the server.  A place is an advisory lock of the session, of the class
 * of procedures: it ends with its holder, however that ends.  Where there are several places, one
 * of them is left to other roles.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/guc.h"

#include "server/work/brief_lock.h"
#include "server/work/place.h"
#include "server/work/procedure.h"

int dyn_max_index_workers;

/* This stands in the place of a role, which it cannot be. */
#define ANY_ROLE PG_UINT32_MAX

/* Others have less in this field. */
#define FIRST_PLACE 0xFF000000

/* Attempts are repeated: where many ask at a time, each finds places taken for a moment only. */
#define PLACE_PAUSE 50
#define PLACE_ATTEMPTS 4

static Place own; /* for as long as the process lasts */

/* Locks one of n places that this session does not have either. */
static bool
lock_one(LOCKTAG *tag, Oid role, int n)
{
	for (int i = 0; i < n; i++)
	{
		SET_LOCKTAG_ADVISORY(*tag, MyDatabaseId, role, FIRST_PLACE + i, PROCEDURE_LOCK_CLASS);
		switch (LockAcquire(tag, ExclusiveLock, true, true))
		{
			case LOCKACQUIRE_OK:
				return true;
			case LOCKACQUIRE_NOT_AVAIL:
				break;
			case LOCKACQUIRE_ALREADY_HELD:
			case LOCKACQUIRE_ALREADY_CLEAR:
				LockRelease(tag, ExclusiveLock, true);
				break;
		}
	}
	return false;
}

/* Defines dynamo_table.max_index_workers.  To be called once, when the library is loaded. */
void
place_settings_init(void)
{
	DefineCustomIntVariable(
		"dynamo_table.max_index_workers",
		"Sets how many background workers make or remove indexes of a database at the same time.",
		"Of more than one, a role has at most all but one.", &dyn_max_index_workers, 2, 1, 64,
		PGC_SIGHUP, 0, NULL, NULL, NULL);
}

/* Take a place for what works for a role; false if there is none. */
bool
place_try(Oid role, Place *place)
{
	int n = dyn_max_index_workers;

	if (!lock_one(&place->role, role, Max(n - 1, 1)))
		return false;
	if (lock_one(&place->database, ANY_ROLE, n))
	{
		place->taken = true;
		return true;
	}
	LockRelease(&place->role, ExclusiveLock, true);
	return false;
}

/* Leaves a place if it is taken. */
void
place_leave(Place *place)
{
	if (!place->taken)
		return;
	LockRelease(&place->database, ExclusiveLock, true);
	LockRelease(&place->role, ExclusiveLock, true);
	place->taken = false;
}

/* Take one for this process, a background worker. */
bool
place_take_own(void)
{
	for (int i = 0; i < PLACE_ATTEMPTS && !own.taken; i++)
	{
		if (i > 0)
			work_sleep(PLACE_PAUSE);
		(void) place_try(GetUserId(), &own);
	}
	return own.taken;
}
