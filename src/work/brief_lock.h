/*
 * brief_lock.h
 *	  Locks on tables that others have to queue behind.
 *
 * A lock above RowExclusiveLock conflicts with that of a writer.  Who waits for one behind a transaction
 * that goes on keeps out all who come later.  So it is waited for briefly, given up with all that was taken
 * with it, and tried again.  Nothing else in the extension takes such a lock; test/lint looks for that.
 */
#ifndef DYNAMO_TABLE_WORK_BRIEF_LOCK_H
#define DYNAMO_TABLE_WORK_BRIEF_LOCK_H

#include "nodes/pg_list.h"
#include "storage/lock.h"

/* Sleep, but let the session be cancelled. */
extern void work_sleep(long milliseconds);

/* One attempt at a lock until the transaction ends; false if it is not to be had soon. */
extern bool brief_lock_try(Oid relid, LOCKMODE mode);
extern bool brief_lock_try_tag(const LOCKTAG *tag, LOCKMODE mode);

/*
 * Attempts until it is there; an error after as long as lock_timeout says, or after 20 seconds without
 * one.  Who calls has looked at the caller's rights.  The relation may be gone.
 */
extern void brief_lock(Oid relid, LOCKMODE mode);

/* The same of several relations: while one of them is not to be had, none is held. */
extern void brief_lock_all(List *relids, LOCKMODE mode);

/* A sentence on who is in the way; NULL if nobody is any more. */
extern char *brief_lock_blockers(List *relids, LOCKMODE mode);

#endif
