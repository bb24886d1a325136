/*
 * shared.c
 *	  Shared memory of the background workers: the visit that there is, and which databases are
 *	  to be visited at once.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_database.h"
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

typedef struct Shared
{
	LWLock *lock;
	Latch *launcher; /* NULL: there is none */
	TtlVisit visit;
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
 * The visit
 */

/* Numbers it, so that a worker that a launcher before has left behind has no say in it. */
void
ttl_begin_visit(TtlVisit *visit)
{
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	visit->number = shared->visit.number + 1;
	shared->visit = *visit;
	LWLockRelease(shared->lock);
}

/* False if it is over. */
bool
ttl_publish_visit(const TtlVisit *visit)
{
	bool current;

	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	current = visit->number == shared->visit.number;
	if (current)
		shared->visit = *visit;
	LWLockRelease(shared->lock);
	return current;
}

void
ttl_read_visit(TtlVisit *visit)
{
	LWLockAcquire(shared->lock, LW_SHARED);
	*visit = shared->visit;
	LWLockRelease(shared->lock);
}
