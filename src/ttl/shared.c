/*
 * shared.c
 *	  Shared memory of the background workers: the visits that there are, which databases are to be
 *	  visited at once, and when tables are due.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_database.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lock.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/shmem.h"

#include "ttl/background.h"
#include "ttl/ttl.h"

#define NAME "dynamo_table"

/*
 * When tables are due is remembered in sets of some entries, by a hash.  Where there are more tables
 * than that, some are looked at more often than they would have to be.
 */
#define DUE_SETS 2048
#define DUE_ENTRIES 4

typedef struct Due
{
	Oid database;
	Oid relid;
	TimestampTz due;
} Due;

typedef struct Shared
{
	LWLock *lock;
	Latch *launcher; /* NULL: there is none */
	uint32 last_number;
	TtlVisit visits[TTL_MAX_WORKERS];
	Due due[DUE_SETS][DUE_ENTRIES];
	int nwanted;
	Oid wanted[TTL_MAX_WANTED];
	bool all_wanted; /* there were more */
} Shared;

static Shared *shared = NULL; /* if the library is preloaded */
static shmem_request_hook_type next_request_hook;
static shmem_startup_hook_type next_startup_hook;
static bool wake_at_commit = false;

static void
request_memory(void)
{
	if (next_request_hook != NULL)
		next_request_hook();
	RequestAddinShmemSpace(sizeof(Shared));
	RequestNamedLWLockTranche(NAME, 1);
}

static void
start_memory(void)
{
	bool found;

	if (next_startup_hook != NULL)
		next_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	shared = ShmemInitStruct(NAME, sizeof(Shared), &found);
	if (!found)
	{
		memset(shared, 0, sizeof(Shared));
		shared->lock = &GetNamedLWLockTranche(NAME)->lock;
	}
	LWLockRelease(AddinShmemInitLock);
}

/* While libraries are preloaded. */
void
ttl_shared_init(void)
{
	next_request_hook = shmem_request_hook;
	shmem_request_hook = request_memory;
	next_startup_hook = shmem_startup_hook;
	shmem_startup_hook = start_memory;
}

/*
 * Databases to be visited
 */

static void
unregister_launcher(int code, Datum arg)
{
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	shared->launcher = NULL;
	LWLockRelease(shared->lock);
}

/* The caller is the launcher, and is woken from now on. */
void
ttl_register_launcher(void)
{
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	shared->launcher = MyLatch;
	LWLockRelease(shared->lock);
	before_shmem_exit(unregister_launcher, 0);
}

/* Returns how many there are, of TTL_MAX_WANTED, and takes them away.  all: there were more. */
int
ttl_take_wanted(Oid *databases, bool *all)
{
	int n;

	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	n = shared->nwanted;
	memcpy(databases, shared->wanted, n * sizeof(Oid));
	*all = shared->all_wanted;
	shared->nwanted = 0;
	shared->all_wanted = false;
	LWLockRelease(shared->lock);
	return n;
}

static void
add_wanted(Oid database)
{
	for (int i = 0; i < shared->nwanted; i++)
		if (shared->wanted[i] == database)
			return;
	if (shared->nwanted < TTL_MAX_WANTED)
		shared->wanted[shared->nwanted++] = database;
	else
		shared->all_wanted = true;
}

/* Nothing may fail after a commit. */
static void
end_of_transaction(XactEvent event, void *arg)
{
	if (!wake_at_commit || event == XACT_EVENT_PRE_COMMIT || event == XACT_EVENT_PRE_PREPARE)
		return;
	wake_at_commit = false;
	if (event != XACT_EVENT_COMMIT)
		return;
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	add_wanted(MyDatabaseId);
	if (shared->launcher != NULL)
		SetLatch(shared->launcher);
	LWLockRelease(shared->lock);
}

/*
 * Have this database visited as soon as the transaction has committed.  One that is prepared is
 * noticed when the launcher looks by itself.
 */
void
ttl_wake_launcher(void)
{
	static bool registered = false;

	if (shared == NULL)
		return;
	if (!registered)
		RegisterXactCallback(end_of_transaction, NULL);
	registered = true;
	wake_at_commit = true;
}

/*
 * Whether somebody drops the database, or copies it; he has it locked, and waits until all others are
 * gone.  In a transaction.
 */
bool
ttl_database_is_locked(Oid database)
{
	LOCKTAG tag;

	/* the lock that a session takes to connect, and gives up then */
	SET_LOCKTAG_OBJECT(tag, InvalidOid, DatabaseRelationId, database, 0);
	if (LockAcquire(&tag, RowExclusiveLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
		return true;
	LockRelease(&tag, RowExclusiveLock, false);
	return false;
}

/*
 * Visits
 */

/* In the slot that it says.  Numbers it, so that a worker that a launcher before has left behind has no say in it. */
void
ttl_begin_visit(TtlVisit *visit)
{
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	if (++shared->last_number == 0)
		shared->last_number = 1;
	visit->number = shared->last_number;
	shared->visits[visit->slot] = *visit;
	LWLockRelease(shared->lock);
}

/* False if it is over. */
bool
ttl_publish_visit(const TtlVisit *visit)
{
	bool current;

	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	current = visit->number == shared->visits[visit->slot].number;
	if (current)
		shared->visits[visit->slot] = *visit;
	LWLockRelease(shared->lock);
	return current;
}

/*
 * Copy the visit in a slot to *visit.  Its number is 0 if the slot was never used; a visit that has
 * ended stays there until the next one begins.  The library must be preloaded.
 */
void
ttl_read_visit(int slot, TtlVisit *visit)
{
	LWLockAcquire(shared->lock, LW_SHARED);
	*visit = shared->visits[slot];
	LWLockRelease(shared->lock);
}

/* False if it is over. */
bool
ttl_find_visit(uint32 number, TtlVisit *visit)
{
	for (int i = 0; i < TTL_MAX_WORKERS; i++)
	{
		ttl_read_visit(i, visit);
		if (visit->number == number)
			return true;
	}
	return false;
}

/*
 * When tables of this database are due
 */

static Due *
due_set(Oid relid)
{
	return shared->due[murmurhash32(MyDatabaseId ^ murmurhash32(relid)) % DUE_SETS];
}

/* NULL if nothing is remembered of the table. */
static Due *
find_due(Oid relid)
{
	Due *set = due_set(relid);

	for (int i = 0; i < DUE_ENTRIES; i++)
		if (set[i].relid == relid && set[i].database == MyDatabaseId)
			return &set[i];
	return NULL;
}

/* In the place of the one that is due first, if need be. */
static void
remember_due(Oid relid, TimestampTz time)
{
	Due *set = due_set(relid);
	Due *due = find_due(relid);

	for (int i = 0; due == NULL && i < DUE_ENTRIES; i++)
		if (!OidIsValid(set[i].relid))
			due = &set[i];
	if (due == NULL)
	{
		due = set;
		for (int i = 1; i < DUE_ENTRIES; i++)
			if (set[i].due < due->due)
				due = &set[i];
	}
	*due = (Due){MyDatabaseId, relid, time};
}

/* 0 if nothing is remembered of the table. */
TimestampTz
ttl_due_time(Oid relid)
{
	TimestampTz time;
	Due *due;

	LWLockAcquire(shared->lock, LW_SHARED);
	due = find_due(relid);
	time = due == NULL ? 0 : due->due;
	LWLockRelease(shared->lock);
	return time;
}

/* Take a table that is due, so that it is not for a while; false if another worker was faster. */
bool
ttl_claim(Oid relid, TimestampTz now, TimestampTz until)
{
	bool claimed;
	Due *due;

	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	due = find_due(relid);
	claimed = due == NULL || due->due <= now;
	if (claimed)
		remember_due(relid, until);
	LWLockRelease(shared->lock);
	return claimed;
}

/*
 * Remember when a table of this database is due for its next sweep.  This may be forgotten if there
 * are many tables.  The library must be preloaded.
 */
void
ttl_set_due(Oid relid, TimestampTz due)
{
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	remember_due(relid, due);
	LWLockRelease(shared->lock);
}
