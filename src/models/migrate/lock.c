/*
 * lock.c
 *	  The lock by which followers and batches of a migration exclude each other.
 *
 * A batch reads rows and then writes items from them.  If a follower wrote an item in between, from
 * a newer row, the batch would overwrite it with an older one.  So a batch waits for the
 * transactions of followers before it takes its snapshot, and followers wait for the batch.
 * Batches do not exclude each other, and neither do followers.
 *
 * Followers are kept out for the whole of a batch, and without following a batch takes its share of
 * the processors.  So where a batch has met writers of the tables that it reads, it is followed by a
 * pause in proportion to its own duration.
 *
 * Lock order: this lock, then rows of the source, then items.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/lmgr.h"

#include "utils/timestamp.h"

#include "models/migrate/migrate.h"
#include "server/work/brief_lock.h"
#include "server/work/procedure.h"

/* Between two attempts of a batch are so many milliseconds, in which writers can take the lock. */
#define LOCK_PAUSE 200
#define LONGEST_LOCK_PAUSE 3000

/* A pause is so many times longer than its batch, and has so many milliseconds at most. */
#define YIELD_TIMES 9
#define LONGEST_YIELD 10000

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
 * so it waits only briefly, again and again, and the less often the longer it takes.  Returns when
 * the attempt began that has got the lock: from then on writers were kept out.
 */
TimestampTz
migration_lock_batch(const Migration *migration)
{
	TimestampTz began = GetCurrentTimestamp();
	long pause = LOCK_PAUSE;
	LOCKTAG tag;

	set_tag(&tag, migration);
	while (!brief_lock_try_tag(&tag, ShareLock))
	{
		work_sleep(pause);
		pause = Min(2 * pause, LONGEST_LOCK_PAUSE);
		began = GetCurrentTimestamp();
	}
	return began;
}

/*
 * Returns whether other transactions have written to a table that the step reads, or are about to,
 * so that they hold a lock on it.  A VACUUM counts too; tables that a query names do not.
 */
bool
migration_has_writers(const MigrationStep *step)
{
	ListCell *cell;

	foreach (cell, step_relations(step))
	{
		const StepRelation *relation = lfirst(cell);
		LOCKTAG tag;
		int n;

		if (!OidIsValid(relation->relid))
			continue;
		SET_LOCKTAG_RELATION(tag, MyDatabaseId, relation->relid);
		(void) GetLockConflicts(&tag, ShareLock, &n);
		if (n > 0)
			return true;
	}
	return false;
}

/* Leaves the tables to their writers, after a batch that has kept them out since then. */
void
migration_yield(TimestampTz began)
{
	long took = TimestampDifferenceMilliseconds(began, GetCurrentTimestamp());

	work_sleep(Min(Max(took, 1) * YIELD_TIMES, LONGEST_YIELD));
}
