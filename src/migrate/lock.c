/*
 * lock.c
 *	  The lock by which followers and batches of a migration exclude each other.
 *
 * A batch reads rows and then writes items from them.  If a follower wrote an item in between, from
 * a newer row, the batch would overwrite it with an older one.  So a batch waits for the
 * transactions of followers before it takes its snapshot, and followers wait for the batch.
 * Batches do not exclude each other, and neither do followers.
 *
 * Lock order: this lock, then rows of the source, then items.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/lmgr.h"

#include "migrate/migrate.h"
#include "work/brief_lock.h"
#include "work/procedure.h"

/* Milliseconds between two attempts of a batch, in which writers can take the lock. */
#define LOCK_PAUSE 200

static void
set_tag(LOCKTAG *tag, const Migration *migration)
{
	SET_LOCKTAG_ADVISORY(
		*tag, MyDatabaseId, migration->relid,
		hash_bytes((const unsigned char *) migration->name, (int) strlen(migration->name)),
		MIGRATION_LOCK_CLASS);
}

/*
 * Waits for batches that are under way, in a transaction that holds nothing.  A declaration does not
 * wait for them: they may write items by the one before, and must not do so over those of a new job.
 */
void
migration_await_batches(const Migration *migration)
{
	LOCKTAG tag;

	set_tag(&tag, migration);
	procedure_commit(NULL);
	WaitForLockers(tag, RowExclusiveLock, false);
}

/* Takes the lock for a follower, until the transaction ends. */
void
migration_lock_follow(const Migration *migration)
{
	LOCKTAG tag;

	set_tag(&tag, migration);
	(void) LockAcquire(&tag, RowExclusiveLock, false, false);
}

/*
 * Takes the lock for a batch, until the transaction ends.  Writers queue behind a batch that waits,
 * so it waits only briefly, again and again.
 */
void
migration_lock_batch(const Migration *migration)
{
	LOCKTAG tag;

	set_tag(&tag, migration);
	while (!brief_lock_try_tag(&tag, ShareLock))
		work_sleep(LOCK_PAUSE);
}
