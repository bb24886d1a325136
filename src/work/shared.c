/*
 * shared.c
 *	  The shared memory of services: the visits, what is asked for, and a part for each service.
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

#include "work/visit.h"

#define NAME "dynamo_table"

typedef struct Shared
{
	LWLock *lock;
	Latch *launcher; /* NULL: there is none */
	uint32 last_number;
	int nwanted;
	Wanted wanted[MAX_WANTED];
	bool all_wanted[MAX_SERVICES]; /* of a service that more was asked of */
	Visit visits[FLEXIBLE_ARRAY_MEMBER]; /* max_worker_processes */
} Shared;

static Shared *shared = NULL;
static shmem_request_hook_type next_request_hook;
static shmem_startup_hook_type next_startup_hook;
static bool wake_at_commit[MAX_SERVICES];

/*
 * The block
 */

static Size
own_size(void)
{
	return MAXALIGN(
		add_size(offsetof(Shared, visits), mul_size(max_worker_processes, sizeof(Visit))));
}

static Size
part_size(const Service *service)
{
	return service->shared_size == NULL ? 0 : MAXALIGN(service->shared_size());
}

static Size
memory_size(void)
{
	Size size = own_size();

	for (int i = 0; i < nservices; i++)
		size = add_size(size, part_size(services[i]));
	return size;
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
	char *part;
	bool found;

	if (next_startup_hook != NULL)
		next_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	shared = ShmemInitStruct(NAME, memory_size(), &found);
	if (!found)
	{
		memset(shared, 0, memory_size());
		shared->lock = &GetNamedLWLockTranche(NAME)->lock;
	}
	part = (char *) shared + own_size();
	for (int i = 0; i < nservices; i++)
	{
		if (services[i]->share != NULL)
			services[i]->share(part, !found);
		part += part_size(services[i]);
	}
	LWLockRelease(AddinShmemInitLock);
}

/* Has the server make the block.  To be called while libraries are preloaded. */
void
shared_init(void)
{
	next_request_hook = shmem_request_hook;
	shmem_request_hook = request_memory;
	next_startup_hook = shmem_startup_hook;
	shmem_startup_hook = start_memory;
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

/* Returns whether there is such a block: the library is preloaded, and services can be had. */
bool
service_is_shared(void)
{
	return shared != NULL;
}

/*
 * What is asked for
 */

static void
unregister_launcher(int code, Datum arg)
{
	shared_lock(LW_EXCLUSIVE);
	shared->launcher = NULL;
	shared_unlock();
}

/* The caller is the launcher, and is woken from now on. */
void
shared_register_launcher(void)
{
	shared_lock(LW_EXCLUSIVE);
	shared->launcher = MyLatch;
	shared_unlock();
	before_shmem_exit(unregister_launcher, 0);
}

/*
 * Takes away what is asked for, and returns how many databases these are.  Where more was asked for
 * than is kept, all databases of a service are asked for.
 */
int
shared_take_wanted(Wanted wanted[MAX_WANTED], bool all[MAX_SERVICES])
{
	int n;

	shared_lock(LW_EXCLUSIVE);
	n = shared->nwanted;
	memcpy(wanted, shared->wanted, sizeof(shared->wanted));
	memcpy(all, shared->all_wanted, sizeof(shared->all_wanted));
	shared->nwanted = 0;
	memset(shared->all_wanted, 0, sizeof(shared->all_wanted));
	shared_unlock();
	return n;
}

static void
add_wanted(int service)
{
	for (int i = 0; i < shared->nwanted; i++)
		if (shared->wanted[i].service == service && shared->wanted[i].database == MyDatabaseId)
			return;
	if (shared->nwanted < MAX_WANTED)
		shared->wanted[shared->nwanted++] = (Wanted){service, MyDatabaseId};
	else
		shared->all_wanted[service] = true;
}

static void
wake_launcher(void)
{
	shared_lock(LW_EXCLUSIVE);
	for (int i = 0; i < nservices; i++)
		if (wake_at_commit[i])
			add_wanted(i);
	if (shared->launcher != NULL)
		SetLatch(shared->launcher);
	shared_unlock();
}

/* Nothing may fail after a commit. */
static void
end_of_transaction(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_PRE_COMMIT || event == XACT_EVENT_PRE_PREPARE)
		return;
	if (event == XACT_EVENT_COMMIT && memchr(wake_at_commit, true, sizeof(wake_at_commit)) != NULL)
		wake_launcher();
	memset(wake_at_commit, 0, sizeof(wake_at_commit));
}

/*
 * Has this database visited for a service when the transaction has committed.  If the
 * transaction is prepared, the launcher notices by itself, after the probe interval.
 */
void
service_wake(const Service *service)
{
	static bool registered = false;

	if (shared == NULL)
		return;
	if (!registered)
		RegisterXactCallback(end_of_transaction, NULL);
	registered = true;
	for (int i = 0; i < nservices; i++)
		if (services[i] == service)
			wake_at_commit[i] = true;
}

/*
 * Visits
 */

/* Begins a visit in the slot that it says, and numbers it. */
void
visit_begin(Visit *visit)
{
	shared_lock(LW_EXCLUSIVE);
	if (++shared->last_number == 0)
		shared->last_number = 1;
	visit->number = shared->last_number;
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
	for (int i = 0; i < max_worker_processes; i++)
	{
		visit_read(i, visit);
		if (visit->number == number)
			return true;
	}
	return false;
}
