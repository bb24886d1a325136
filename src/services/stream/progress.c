/*
 * progress.c
 *	  Collectors, their progress, and the sessions that wait for it, in shared memory.
 *
 * This shared memory exists only if the library is preloaded.  Without it there are no background
 * workers, and sessions that wait poll.
 *
 * A database has at most one entry: of the collector, which holds STREAM_LOCK_SLOT, or has ended, or
 * cannot begin.  The entries are guarded by the lock of all that services share.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "replication/slot.h"
#include "storage/condition_variable.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/shmem.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "server/compat.h"
#include "server/work/brief_lock.h"
#include "services/stream/service.h"
#include "services/stream/stream.h"

/* So many milliseconds are between two looks of a session that cannot be woken. */
#define LOOK_AGAIN 50

typedef struct Collector
{
	Oid database; /* InvalidOid: the entry is free */
	Latch *latch; /* NULL: none is at work */
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

/* Returns what it takes of shared memory. */
Size
stream_progress_size(void)
{
	return add_size(offsetof(Shared, collectors),
					mul_size(max_replication_slots, sizeof(Collector)));
}

/* Finds or makes it in shared memory. */
void
stream_progress_start(void)
{
	bool found;

	shared = ShmemInitStruct("dynamo_table collectors", stream_progress_size(), &found);
	if (found)
		return;
	memset(shared, 0, stream_progress_size());
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
 * Waits until records are added or the time is over.  It may also return before, and does so if some
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
find_entry(Oid database)
{
	for (int i = 0; i < shared->ncollectors; i++)
		if (shared->collectors[i].database == database)
			return &shared->collectors[i];
	return NULL;
}

/* Makes an entry, in place of an idle one if need be; NULL only if there are more than slots. */
static Collector *
make_entry(Oid database)
{
	Collector *entry = find_entry(database);

	if (entry == NULL)
		entry = find_entry(InvalidOid);
	for (int i = 0; entry == NULL && i < shared->ncollectors; i++)
		if (shared->collectors[i].latch == NULL)
			entry = &shared->collectors[i];
	if (entry != NULL && entry->database != database)
		*entry = (Collector){.database = database};
	return entry;
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
	mine->latch = NULL;
	shared_unlock();
	mine = NULL;
	ConditionVariableBroadcast(&shared->moved);
}

/* Notes in the launcher that a database's collector waits for a free worker, or not any more. */
void
stream_collector_waits(Oid database, bool waits)
{
	Collector *entry;

	shared_lock(LW_EXCLUSIVE);
	entry = waits ? make_entry(database) : find_entry(database);
	if (entry != NULL)
		entry->progress.waits = waits;
	shared_unlock();
}

/* Notes the error with which a worker ends. */
void
stream_collector_fails(const char *error)
{
	StreamProgress failed = {.fails = true, .failed_at = GetCurrentTimestamp()};
	Collector *entry;

	memcpy(failed.error, error, pg_mbcliplen(error, (int) strlen(error), sizeof(failed.error) - 1));
	shared_lock(LW_EXCLUSIVE);
	entry = make_entry(MyDatabaseId);
	if (entry != NULL)
		entry->progress = failed;
	shared_unlock();
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
	collector = make_entry(MyDatabaseId);
	if (collector != NULL)
	{
		collector->latch = MyLatch;
		collector->progress.reached = reached;
		collector->progress.reached_at = GetCurrentTimestamp();
		collector->progress.records = 0;
		collector->progress.waits = false;
	}
	shared_unlock();
	mine = collector;
}

/* Notes that all before a place in the WAL is collected and committed, and so many records. */
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
	mine->progress.fails = false;
	shared_unlock();
	ConditionVariableBroadcast(&shared->moved);
	if (records == 0)
		return;
	pg_atomic_fetch_add_u64(&shared->additions, 1);
	ConditionVariableBroadcast(&shared->added);
}

/*
 * Returns how far this database's collector is, and what keeps it from its work; false if none is
 * at work.  It may be asked to look at once.
 */
bool
stream_collector_progress(StreamProgress *progress, bool wake)
{
	Collector *entry;
	bool works;

	*progress = (StreamProgress){0};
	if (shared == NULL)
		return false;
	shared_lock(LW_SHARED);
	entry = find_entry(MyDatabaseId);
	works = entry != NULL && entry->latch != NULL;
	if (entry != NULL)
		*progress = entry->progress;
	if (works && wake)
		SetLatch(entry->latch);
	shared_unlock();
	return works;
}

/* Waits until some collector has come further, or for some time. */
void
stream_wait_for_progress(int milliseconds)
{
	sleep_on(&shared->moved, TimestampTzPlusMilliseconds(GetCurrentTimestamp(), milliseconds),
			 "DynamoStreamProgress");
	CHECK_FOR_INTERRUPTS();
}
