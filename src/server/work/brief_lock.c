/*
 * brief_lock.c
 *	  Taking locks on tables that others have to queue behind.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "server/attempt.h"
#include "server/compat.h"
#include "server/errors.h"
#include "server/work/brief_lock.h"

/*
 * A lock is waited for so long, and then left alone, in milliseconds.  The deadlock check, which
 * also cancels an autovacuum that is in the way, has to come before.
 */
#define LOCK_PATIENCE 300
#define LOCK_CHECK 100
#define LOCK_PAUSE 700
#define LOCK_LIMIT 20000

#define MAX_NAMED 5

/*
 * Sleeps for this many milliseconds.  Raises an error at once if the statement is cancelled or the
 * session is terminated.
 */
void
work_sleep(long milliseconds)
{
	TimestampTz end = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), milliseconds);
	long left = milliseconds;

	while (left > 0)
	{
		WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, left,
				  WAIT_EVENT_PG_SLEEP);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		left = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), end);
	}
}

/*
 * One attempt
 */

/* A Wait is an attempt at locks of relations, or at one lock that is named by its tag. */
typedef struct Wait
{
	List *relids;
	const LOCKTAG *tag;
	LOCKMODE mode;
	int patience;
	bool deadlock; /* the last attempt ended in one */
} Wait;

static void
take_locks(const Wait *wait)
{
	ListCell *cell;

	/* the catalogs that were looked at are a snapshot too */
	InvalidateCatalogSnapshot();
	if (wait->tag != NULL)
		(void) LockAcquire(wait->tag, wait->mode, false, false);
	foreach (cell, wait->relids)
		LockRelationOid(lfirst_oid(cell), wait->mode);
}

/* The bounds of the wait are set as variables, since they hold for this lock alone. */
static void
lock_impatiently(void *arg)
{
	const Wait *wait = arg;
	int lock_timeout = LockTimeout;
	int deadlock_timeout = DeadlockTimeout;

	PG_TRY();
	{
		LockTimeout = wait->patience;
		DeadlockTimeout = Min(deadlock_timeout, LOCK_CHECK);
		take_locks(wait);
	}
	PG_FINALLY();
	{
		LockTimeout = lock_timeout;
		DeadlockTimeout = deadlock_timeout;
	}
	PG_END_TRY();
}

/*
 * Returns whether the locks were not to be had now.  That includes deadlocks.  The attempt may hold
 * a lock that another session waits for, which itself holds one of the others, as a transaction does
 * that reads a view after its table; or that session waits for our snapshot, as CREATE INDEX
 * CONCURRENTLY does.  The deadlock is over when the attempt, and the caller's transaction, have let go
 * of all that they hold.
 */
static bool
is_in_use(const ErrorData *error)
{
	return error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE ||
		   error->sqlerrcode == ERRCODE_T_R_DEADLOCK_DETECTED;
}

static bool
try_lock(Wait *wait)
{
	ErrorData *error = attempt(lock_impatiently, wait);

	if (error != NULL && !is_in_use(error))
		ReThrowError(error);
	wait->deadlock = error != NULL && error->sqlerrcode == ERRCODE_T_R_DEADLOCK_DETECTED;
	return error == NULL;
}

/*
 * Waits for a lock on a relation for at most LOCK_PATIENCE; it is held until the transaction ends.
 * False: it was not to be had in that time, or without a deadlock.  Other errors are raised.  The
 * relation may be gone.
 */
bool
brief_lock_try(Oid relid, LOCKMODE mode)
{
	Wait wait = {list_make1_oid(relid), NULL, mode, LOCK_PATIENCE};

	return try_lock(&wait);
}

/* Does the same as brief_lock_try() for several relations, in that order: all locks, or none. */
bool
brief_lock_try_all(List *relids, LOCKMODE mode)
{
	Wait wait = {relids, NULL, mode, LOCK_PATIENCE};

	return try_lock(&wait);
}

/* Does the same as brief_lock_try() for a lock that is named by its tag. */
bool
brief_lock_try_tag(const LOCKTAG *tag, LOCKMODE mode)
{
	Wait wait = {NIL, tag, mode, LOCK_PATIENCE};

	return try_lock(&wait);
}

/*
 * Sessions in the way
 */

static bool
conflicts(LOCKMASK held, LOCKMODE mode)
{
	for (LOCKMODE other = AccessShareLock; other <= AccessExclusiveLock; other++)
	{
		if ((held & LOCKBIT_ON(other)) != 0 && DoLockModesConflict(other, mode))
			return true;
	}
	return false;
}

/* Process 0 stands for prepared transactions. */
static List *
blocking_processes(List *relids, LOCKMODE mode)
{
	LockData *locks = GetLockStatusData();
	List *processes = NIL;

	for (int i = 0; i < locks->nelements; i++)
	{
		const LockInstanceData *lock = &locks->locks[i];
		const LOCKTAG *tag = &lock->locktag;

		if (tag->locktag_type == LOCKTAG_RELATION && tag->locktag_field1 == MyDatabaseId &&
			list_member_oid(relids, tag->locktag_field2) && lock->pid != MyProcPid &&
			conflicts(lock->holdMask, mode))
			processes = list_append_unique_int(processes, lock->pid);
	}
	return processes;
}

/*
 * Returns a sentence, for the detail of a message, that names processes whose locks on any of the
 * relations conflict with the mode; NULL if there are none.
 */
char *
brief_lock_blockers(List *relids, LOCKMODE mode)
{
	List *processes = blocking_processes(relids, mode);
	StringInfoData text;
	ListCell *cell;

	if (processes == NIL)
		return NULL;
	initStringInfo(&text);
	appendStringInfoString(&text, "Locks are held by ");
	foreach (cell, processes)
	{
		int i = foreach_current_index(cell);

		if (i == MAX_NAMED)
		{
			appendStringInfoString(&text, ", and others");
			break;
		}
		appendStringInfoString(&text, i > 0 ? ", " : "");
		if (lfirst_int(cell) == 0)
			appendStringInfoString(&text, "a prepared transaction");
		else
			appendStringInfo(&text, "process %d", lfirst_int(cell));
	}
	appendStringInfoChar(&text, '.');
	return text.data;
}

pg_noreturn static void
brief_lock_fail(List *relids, LOCKMODE mode)
{
	char *blockers = brief_lock_blockers(relids, mode);
	Oid blocked = linitial_oid(relids);
	const char *name;
	ListCell *cell;

	foreach (cell, relids)
	{
		if (blocking_processes(list_make1_oid(lfirst_oid(cell)), mode) != NIL)
			blocked = lfirst_oid(cell);
	}
	name = get_rel_name(blocked);
	ereport(
		ERROR,
		(errcode(ERRCODE_DYN_RESOURCE_IN_USE),
		 errmsg("table \"%s\" is in use by other transactions", name == NULL ? "?" : name),
		 blockers == NULL ? 0 : errdetail("%s", blockers),
		 errhint("What has to be changed needs a lock that they do not let go of: try again.")));
}

/*
 * Attempts
 */

/*
 * Locks all of the relations until the transaction ends.  Raises ERRCODE_DYN_RESOURCE_IN_USE after
 * lock_timeout, or after LOCK_LIMIT if that is 0.  While one of them is not to be had, none is held
 * and no session queues behind this one.  The caller has checked the user's rights, and gives the
 * relations in the order in which other sessions lock them; relations may be gone.
 *
 * An attempt at a single lock has no other to let go of, so a deadlock is about what the caller's
 * transaction has, such as the snapshot that CREATE INDEX CONCURRENTLY waits for: then to go on would
 * only keep both.
 */
void
brief_lock_all(List *relids, LOCKMODE mode)
{
	int limit = LockTimeout > 0 ? LockTimeout : LOCK_LIMIT;
	TimestampTz end = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), limit);
	Wait wait = {relids, NULL, mode, Min(limit, LOCK_PATIENCE)};

	while (!try_lock(&wait))
	{
		long left = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), end);

		if (left <= 0 || (wait.deadlock && list_length(relids) == 1))
			brief_lock_fail(relids, mode);
		work_sleep(Min(left, LOCK_PAUSE));
	}
}

/* Locks one relation in the way of brief_lock_all(). */
void
brief_lock(Oid relid, LOCKMODE mode)
{
	brief_lock_all(list_make1_oid(relid), mode);
}
