/*
 * shared.c
 *	  Shared memory of change streams: who collects, how far he has come, and who waits for it.
 *
 * It is there if the library is preloaded.  Without it all works but background workers, and who
 * waits has to look now and then.
 *
 * One lock guards the entries of collectors, of which a database has at most one: who has
 * STREAM_LOCK_SLOT in it.  It is held for some instructions, and no other is taken meanwhile.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "replication/slot.h"
#include "storage/condition_variable.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "ground/compat.h"
#include "stream/background.h"
#include "stream/stream.h"
#include "work/brief_lock.h"

#define NAME "dynamo_table streams"

/* Milliseconds between two looks of who cannot be woken. */
#define LOOK_AGAIN 50

typedef struct Collector
{
	Oid database; /* InvalidOid: the entry is free */
	Latch *latch;
	StreamProgress progress;
} Collector;

typedef struct Shared
{
	LWLock *lock;
	pg_atomic_uint64 additions; /* rounds that have added records */
	ConditionVariable added;
	ConditionVariable moved; /* some collector has come further, or gone */
	int ncollectors;
	Collector collectors[FLEXIBLE_ARRAY_MEMBER];
} Shared;

static Shared *shared = NULL; /* if the library is preloaded */
static Collector *mine = NULL;
static shmem_request_hook_type next_request_hook;
static shmem_startup_hook_type next_startup_hook;

static Size
memory_size(void)
{
	return add_size(offsetof(Shared, collectors),
					mul_size(max_replication_slots, sizeof(Collector)));
}

static void
request_memory(void)
{
	if (next_request_hook != NULL)
		next_request_hook();
	RequestAddinShmemSpace(memory_size());
	RequestNamedLWLockTranche(NAME, 1);
}

static void
start_memory(void)
{
	bool found;

	if (next_startup_hook != NULL)
		next_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	shared = ShmemInitStruct(NAME, memory_size(), &found);
	if (!found)
	{
		memset(shared, 0, memory_size());
		shared->lock = &GetNamedLWLockTranche(NAME)->lock;
		shared->ncollectors = max_replication_slots;
		pg_atomic_init_u64(&shared->additions, 0);
		ConditionVariableInit(&shared->added);
		ConditionVariableInit(&shared->moved);
	}
	LWLockRelease(AddinShmemInitLock);
}

/* While libraries are preloaded. */
void
stream_shared_init(void)
{
	next_request_hook = shmem_request_hook;
	shmem_request_hook = request_memory;
	next_startup_hook = shmem_startup_hook;
	shmem_startup_hook = start_memory;
}

/*
 * Waiting
 */

/* Until a condition is signaled or the time is over; the caller looks whether what he waits for is there. */
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
 * Takes this process out of the list of collectors in shared memory, and wakes all who wait for its
 * progress.  Does nothing if it is not in the list.
 */
void
stream_collector_leaves(void)
{
	if (mine == NULL)
		return;
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	mine->database = InvalidOid;
	LWLockRelease(shared->lock);
	mine = NULL;
	ConditionVariableBroadcast(&shared->moved);
}

static void
leave_at_exit(int code, Datum arg)
{
	stream_collector_leaves();
}

/* The caller collects in this database; he has STREAM_LOCK_SLOT. */
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
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	collector = find_collector(MyDatabaseId);
	if (collector == NULL)
		collector = find_collector(InvalidOid);
	if (collector != NULL)
		*collector =
			(Collector){.database = MyDatabaseId,
						.latch = MyLatch,
						.progress = {.reached = reached, .reached_at = GetCurrentTimestamp()}};
	LWLockRelease(shared->lock);
	mine = collector;
}

/* All before a place in the WAL has been collected and committed, and so many records with it. */
void
stream_collector_reaches(XLogRecPtr reached, uint64 records)
{
	TimestampTz now = GetCurrentTimestamp();

	if (mine == NULL)
		return;
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	mine->progress.reached = reached;
	mine->progress.reached_at = now;
	mine->progress.records += records;
	LWLockRelease(shared->lock);
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
	LWLockAcquire(shared->lock, LW_SHARED);
	collector = find_collector(MyDatabaseId);
	if (collector != NULL)
		*progress = collector->progress;
	if (collector != NULL && wake)
		SetLatch(collector->latch);
	LWLockRelease(shared->lock);
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

/* Whether somebody collects in a database. */
bool
stream_is_collected(Oid database)
{
	bool found;

	LWLockAcquire(shared->lock, LW_SHARED);
	found = find_collector(database) != NULL;
	LWLockRelease(shared->lock);
	return found;
}
