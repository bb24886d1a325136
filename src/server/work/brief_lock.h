/*
 * brief_lock.h
 *	  Locks on tables that others have to queue behind.
 *
 * A lock above RowExclusiveLock conflicts with that of a writer.  A session that waits for one
 * behind a long transaction keeps out all sessions that come later.  So such a lock is waited for
 * briefly, given up with all that was taken with it, and tried again.  Nothing else in the
 * extension takes such a lock; test/lint looks for that.
 */
#ifndef DYNAMO_TABLE_SERVER_WORK_BRIEF_LOCK_H
#define DYNAMO_TABLE_SERVER_WORK_BRIEF_LOCK_H

#include "nodes/pg_list.h"
#include "storage/lock.h"

/* Sleep, but let the session be cancelled. */
extern void work_sleep(long milliseconds);

/* Makes one attempt at a lock until the transaction ends; false if it is not to be had soon. */
extern bool brief_lock_try(Oid relid, LOCKMODE mode);
extern bool brief_lock_try_all(List *relids, LOCKMODE mode);
extern bool brief_lock_try_tag(const LOCKTAG *tag, LOCKMODE mode);

/*
 * Attempts until the lock is there; raises an error after lock_timeout, or after 20 seconds if that
 * is 0.  The caller has checked the user's rights.  The relation may be gone.
 */
extern void brief_lock(Oid relid, LOCKMODE mode);

/* Does the same for several relations: while one of them is not to be had, none is held. */
extern void brief_lock_all(List *relids, LOCKMODE mode);

/* Returns a sentence that names the processes in the way; NULL if there are none any more. */
extern char *brief_lock_blockers(List *relids, LOCKMODE mode);

#endif
