/*
 * progress.c
 *	  Collectors, their progress, and the sessions that wait for it, in shared memory.
 *
 * It exists only if the library is preloaded.  Without it there are no background workers, and
 * sessions that wait poll.
 *
 * A database has at most one entry: of the collector, which holds STREAM_LOCK_SLOT.  The entries
 * are guarded by the lock of all that services share.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "replication/slot.h"
#include "storage/condition_variable.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/shmem.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "ground/compat.h"
#include "stream/service.h"
#include "stream/stream.h"
#include "work/brief_lock.h"

/* Milliseconds between two looks of a session that cannot be woken. */
#define LOOK_AGAIN 50

typedef struct Collector
{
	Oid database; /* InvalidOid: the entry is free */
	Latch *latch;
	StreamProgress progress;
} Collector;

typedef struct Shared
{
	pg_atomic_uint64 additions; /* rounds that have added records */
	ConditionVariable added;
	ConditionVariable moved; /* some collector has come further, or gone */
	int ncollectors;
	Collector collectors[FLEXIBLE_ARRAY_MEMBER];
} Shared;

static Shared *shared = NULL; /* if the library is preloaded */
static Collector *mine = NULL;

/* What it takes of shared memory. */
Size
stream_progress_size(void)
{
	return add_size(offsetof(Shared, collectors),
					mul_size(max_replication_slots, sizeof(Collector)));
}

/* Where it is. */
void
stream_progress_share(void *memory, bool new)
{
	shared = memory;
	if (!new)
		return;
	shared->ncollectors = max_replication_slots;
	pg_atomic_init_u64(&shared->additions, 0);
	ConditionVariableInit(&shared->added);
	ConditionVariableInit(&shared->moved);
}

/*
 * Waiting
 */

/* Waits until a condition is signaled or the time is over; the caller checks what it waits for. */
static void
sleep_on(ConditionVariable *condition, TimestampTz end, const char *event)
{
	long left = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), end);

	if (left > 0)
		(void) ConditionVariableTimedSleep(condition, left, custom_wait_event(event));
}

/*
 * Wait until records are added or the time is over.  It may also return before, and does so if some
 * were added since the last wait: what is added between a look and the wait for it is not missed.
 */
void
stream_wait_for_records(int milliseconds)
{
	static uint64 seen = 0;
	TimestampTz end = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), milliseconds);

	/* a standby is not told */
	if (shared == NULL || RecoveryInProgress())
	{
		work_sleep(Min(milliseconds, LOOK_AGAIN));
		return;
	}
	ConditionVariablePrepareToSleep(&shared->added);
	while (pg_atomic_read_u64(&shared->additions) == seen && GetCurrentTimestamp() < end)
		sleep_on(&shared->added, end, "DynamoStreamRecords");
	ConditionVariableCancelSleep();
	seen = pg_atomic_read_u64(&shared->additions);
}

/*
 * Collectors
 */

static Collector *
find_collector(Oid database)
{
	for (int i = 0; i < shared->ncollectors; i++)
		if (shared->collectors[i].database == database)
			return &shared->collectors[i];
	return NULL;
}

/*
 * Takes this process out of the list of collectors in shared memory, and wakes all sessions that
 * wait for its progress.  Does nothing if it is not in the list.
 */
void
stream_collector_leaves(void)
{
	if (mine == NULL)
		return;
	shared_lock(LW_EXCLUSIVE);
	mine->database = InvalidOid;
	shared_unlock();
	mine = NULL;
	ConditionVariableBroadcast(&shared->moved);
}

static void
leave_at_exit(int code, Datum arg)
{
	stream_collector_leaves();
}

/* Enters this process as the collector of this database; it holds STREAM_LOCK_SLOT. */
void
stream_collector_enters(XLogRecPtr reached)
{
	static bool registered = false;
	Collector *collector;

	if (shared == NULL)
		return;
	if (!registered)
		before_shmem_exit(leave_at_exit, 0);
	registered = true;
	shared_lock(LW_EXCLUSIVE);
	collector = find_collector(MyDatabaseId);
	if (collector == NULL)
		collector = find_collector(InvalidOid);
	if (collector != NULL)
		*collector =
			(Collector){.database = MyDatabaseId,
						.latch = MyLatch,
						.progress = {.reached = reached, .reached_at = GetCurrentTimestamp()}};
	shared_unlock();
	mine = collector;
}

/* All before a place in the WAL has been collected and committed, and so many records with it. */
void
stream_collector_reaches(XLogRecPtr reached, uint64 records)
{
	TimestampTz now = GetCurrentTimestamp();

	if (mine == NULL)
		return;
	shared_lock(LW_EXCLUSIVE);
	mine->progress.reached = reached;
	mine->progress.reached_at = now;
	mine->progress.records += records;
	shared_unlock();
	ConditionVariableBroadcast(&shared->moved);
	if (records == 0)
		return;
	pg_atomic_fetch_add_u64(&shared->additions, 1);
	ConditionVariableBroadcast(&shared->added);
}

/* How far this database's collector is; false if none is known.  It may be asked to look at once. */
bool
stream_collector_progress(StreamProgress *progress, bool wake)
{
	Collector *collector;

	if (shared == NULL)
		return false;
	shared_lock(LW_SHARED);
	collector = find_collector(MyDatabaseId);
	if (collector != NULL)
		*progress = collector->progress;
	if (collector != NULL && wake)
		SetLatch(collector->latch);
	shared_unlock();
	return collector != NULL;
}

/* Until some collector has come further, or for some time. */
void
stream_wait_for_progress(int milliseconds)
{
	sleep_on(&shared->moved, TimestampTzPlusMilliseconds(GetCurrentTimestamp(), milliseconds),
			 "DynamoStreamProgress");
	CHECK_FOR_INTERRUPTS();
}
