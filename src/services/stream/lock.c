/*
 * lock.c
 *	  Locks of the database's one slot.
 *
 * They are advisory locks of the class of procedures (see server/work/procedure.h), of no
 * relation.  Lock order: STREAM_LOCK_LIFE, then STREAM_LOCK_SLOT, then relations.
 *
 *	 STREAM_LOCK_LIFE  exclusive while the slot is made, replaced or removed; shared, until its
 *					   transaction ends, to enable a stream, which must not be without a slot,
 *					   or to disable one, which must not end unseen
 *	 STREAM_LOCK_SLOT  exclusive while decoding from the slot, and while replacing or removing it
 */
#include "postgres.h"

#include <signal.h>

#include "miscadmin.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "storage/procarray.h"

#include "server/compat.h"
#include "server/errors.h"
#include "server/work/brief_lock.h"
#include "server/work/procedure.h"
#include "services/stream/stream.h"

/* A process that decodes may take so long to release the slot when it is told to. */
#define LEAVE_PAUSE 50
#define LEAVE_ATTEMPTS 200
#define LEAVE_REMINDER 20

static void
set_tag(LOCKTAG *tag, StreamLock lock)
{
	SET_LOCKTAG_ADVISORY(*tag, MyDatabaseId, (uint32) lock, 0, PROCEDURE_LOCK_CLASS);
}

/* Locks for the rest of the session, or the transaction; false if another session has the lock. */
bool
stream_try_lock(StreamLock lock, LOCKMODE mode, bool session)
{
	LOCKTAG tag;

	set_tag(&tag, lock);
	return LockAcquire(&tag, mode, session, true) != LOCKACQUIRE_NOT_AVAIL;
}

/* Releases a lock that is the session's. */
void
stream_unlock(StreamLock lock, LOCKMODE mode)
{
	LOCKTAG tag;

	set_tag(&tag, lock);
	LockRelease(&tag, mode, true);
}

/* Returns the process that has the lock; 0: none.  Only the extension's code takes it. */
static int
stream_slot_holder(void)
{
	LockData *locks = GetLockStatusData();
	LOCKTAG tag;

	set_tag(&tag, STREAM_LOCK_SLOT);
	for (int i = 0; i < locks->nelements; i++)
	{
		const LockInstanceData *lock = &locks->locks[i];

		if (lock->holdMask != 0 && memcmp(&lock->locktag, &tag, sizeof(LOCKTAG)) == 0)
			return lock->pid;
	}
	return 0;
}

/* A background worker is ended, since it can be started again.  False: a user's session has the lock. */
static bool
end_worker(int pid)
{
	PGPROC *process = pid == 0 ? NULL : BackendPidGetProc(pid);

	if (process == NULL)
		return true;
	if (!is_background_worker(process))
		return false;
	kill(pid, SIGTERM);
	return true;
}

/*
 * Takes the slot over from the process that decodes; false if that does not leave.  To take it for
 * the rest of the session, a user's session is waited for, too.  To take it for the rest of the
 * transaction, it is not, since it may wait for locks of this transaction.
 */
static bool
try_take_slot(bool session)
{
	for (int i = 0; i < LEAVE_ATTEMPTS; i++)
	{
		if (stream_try_lock(STREAM_LOCK_SLOT, ExclusiveLock, session))
			return true;
		if (i % LEAVE_REMINDER == 0 && !end_worker(stream_slot_holder()) && !session)
			return false;
		work_sleep(LEAVE_PAUSE);
	}
	return false;
}

/* Takes the slot for the rest of the transaction, from a worker that has it, if one has. */
void
stream_take_slot_from_worker(void)
{
	(void) try_take_slot(false);
}

/* Takes the slot for the rest of the session, or raises an error. */
void
stream_take_slot(void)
{
	if (try_take_slot(true))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_IN_USE),
			 errmsg("changes of items are being collected by process %d", stream_slot_holder()),
			 errhint("Try again when it has ended.")));
}
