/*
 * shared.c
 *	  Shared memory: its parts, and that of services, which has the visits and what is asked for.
 *
 * It is there if the library is preloaded.  A visit has a number, so that a worker that was started
 * by a launcher before this one cannot speak for another visit.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/shmem.h"

#include "server/work/visit.h"

#define NAME "dynamo_table"

typedef struct Shared
{
	LWLock *lock;
	Latch *launcher; /* NULL: there is none */
	bool wanted[WANTED_SETS]; /* visits of databases, by their OIDs */
	Visit visits[FLEXIBLE_ARRAY_MEMBER]; /* max_worker_processes */
} Shared;

static Shared *shared = NULL;
static bool wake_at_commit = false;

/*
 * Parts of shared memory
 */

typedef struct Part
{
	Size (*size)(void);
	void (*start)(void);
} Part;

#define MAX_PARTS 8

static Part parts[MAX_PARTS];
static int nparts = 0;
static shmem_request_hook_type next_request_hook;
static shmem_startup_hook_type next_startup_hook;

static void
request_memory(void)
{
	if (next_request_hook != NULL)
		next_request_hook();
	for (int i = 0; i < nparts; i++)
		RequestAddinShmemSpace(parts[i].size());
	RequestNamedLWLockTranche(NAME, 1);
}

static void
start_memory(void)
{
	if (next_startup_hook != NULL)
		next_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	for (int i = 0; i < nparts; i++)
		parts[i].start();
	LWLockRelease(AddinShmemInitLock);
}

/*
 * Has the server make a part of shared memory: start() calls ShmemInitStruct() or the like.  To be
 * called while libraries are preloaded.
 */
void
shared_add(Size (*size)(void), void (*start)(void))
{
	if (nparts == MAX_PARTS)
		elog(ERROR, "too many parts of shared memory");
	if (nparts == 0)
	{
		next_request_hook = shmem_request_hook;
		shmem_request_hook = request_memory;
		next_startup_hook = shmem_startup_hook;
		shmem_startup_hook = start_memory;
	}
	parts[nparts++] = (Part){size, start};
}

/* Returns the kind of locks that a part may initialize. */
int
shared_tranche(void)
{
	return GetNamedLWLockTranche(NAME)->lock.tranche;
}

static Size
own_size(void)
{
	return add_size(offsetof(Shared, visits), mul_size(max_worker_processes, sizeof(Visit)));
}

static void
start_own(void)
{
	bool found;

	shared = ShmemInitStruct(NAME, own_size(), &found);
	if (found)
		return;
	memset(shared, 0, own_size());
	shared->lock = &GetNamedLWLockTranche(NAME)->lock;
}

/* Has the server make the memory of services. */
void
shared_init(void)
{
	shared_add(own_size, start_own);
}

/* Takes the lock that guards the block. */
void
shared_lock(LWLockMode mode)
{
	LWLockAcquire(shared->lock, mode);
}

/* Gives up the lock that guards the block. */
void
shared_unlock(void)
{
	LWLockRelease(shared->lock);
}

/* Tells the user, unless a service does it by itself, what has to be called for it. */
void
service_notice(const Service *service, const char *what)
{
	const char *remedy;

	if (shared == NULL)
		remedy = "Preload dynamo_table for a background worker";
	else if (!*service->enabled)
		remedy = psprintf("Set %s to on", service->setting);
	else if (shared->launcher == NULL)
		remedy = "The launcher of background workers does not run: increase max_worker_processes";
	else
		return;
	ereport(NOTICE,
			(errmsg_internal("%s", what), errhint("%s, or schedule that procedure.", remedy)));
}

/*
 * What is asked for
 */

/* Registers the caller as the launcher, woken by this latch from now on; NULL: it ends. */
void
shared_register_launcher(Latch *latch)
{
	shared_lock(LW_EXCLUSIVE);
	shared->launcher = latch;
	shared_unlock();
}

/* Takes away what is asked for. */
void
shared_take_wanted(bool wanted[WANTED_SETS])
{
	shared_lock(LW_EXCLUSIVE);
	memcpy(wanted, shared->wanted, sizeof(shared->wanted));
	memset(shared->wanted, 0, sizeof(shared->wanted));
	shared_unlock();
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
	shared_lock(LW_EXCLUSIVE);
	shared->wanted[MyDatabaseId % WANTED_SETS] = true;
	if (shared->launcher != NULL)
		SetLatch(shared->launcher);
	shared_unlock();
}

/*
 * Lets this database be visited when the transaction has committed, for all services that are not
 * resident.  If the transaction is prepared, the launcher notices by itself, after the probe
 * interval.
 */
void
launcher_wake(void)
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
 * Visits
 */

/*
 * Begins a visit in the slot that it says, and numbers it.  The number says the slot, too, and comes
 * again after some thousand million visits.
 */
void
visit_begin(Visit *visit)
{
	shared_lock(LW_EXCLUSIVE);
	visit->number = shared->visits[visit->slot].number;
	if (visit->number == 0 || visit->number > PG_UINT32_MAX - max_worker_processes)
		visit->number = visit->slot;
	visit->number += max_worker_processes;
	shared->visits[visit->slot] = *visit;
	shared_unlock();
}

/* Shows others what has become of a visit, unless it is over. */
void
visit_publish(const Visit *visit)
{
	shared_lock(LW_EXCLUSIVE);
	if (visit->number == shared->visits[visit->slot].number)
		shared->visits[visit->slot] = *visit;
	shared_unlock();
}

/*
 * Copies the visit in a slot to *visit.  Its number is 0 if the slot was never used; a visit that
 * has ended stays there until the next one begins.
 */
void
visit_read(int slot, Visit *visit)
{
	shared_lock(LW_SHARED);
	*visit = shared->visits[slot];
	shared_unlock();
}

/* Finds a visit by its number; returns false if it is over. */
bool
visit_find(uint32 number, Visit *visit)
{
	visit_read(number % max_worker_processes, visit);
	return visit->number == number;
}
