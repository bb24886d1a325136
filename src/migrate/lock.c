/*
 * lock.c
 *	  Who follows changes of the source and who migrates in batches keep apart.
 *
 * A batch reads rows and writes what they were.  A follower must not have written what they are
 * now in between, nor be about to: it would be overwritten by what is older.  So a batch waits for the
 * transactions of followers before it has its snapshot, and they wait for it.  Neither excludes its own kind.
 *
 * Lock order: this lock, then rows of the source, then items.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"

#include "migrate/migrate.h"
#include "work/brief_lock.h"

/* How long a batch stays away after it has tried, so that writers get by. */
#define LOCK_PAUSE 200

static void
set_tag(LOCKTAG *tag, const Migration *migration)
{
	SET_LOCKTAG_ADVISORY(
		*tag, MyDatabaseId, migration->relid,
		hash_bytes((const unsigned char *) migration->name, (int) strlen(migration->name)),
		MIGRATION_LOCK_CLASS);
}

/* Until the transaction ends. */
void
migration_lock_follow(const Migration *migration)
{
	LOCKTAG tag;

	set_tag(&tag, migration);
	(void) LockAcquire(&tag, RowExclusiveLock, false, false);
}

/* The same.  While we queue, writers queue behind us, so the queue is left again soon. */
void
migration_lock_batch(const Migration *migration)
{
	LOCKTAG tag;

	set_tag(&tag, migration);
	while (!brief_lock_try_tag(&tag, ShareLock))
		work_sleep(LOCK_PAUSE);
}
