/*
 * launcher.c
 *	  The launcher: which database is visited when, and for which service.
 *
 * It knows a database by pg_database, or by what a service says, and what is in it by the answers of
 * workers.  A database that has nothing for a service is visited now and then, since that may come
 * to it without a call of ours: it may be restored.  What is to be visited is visited in the order
 * of the times at which it was due, so none has to wait for ever, and no service waits for another.
 * A visit that takes long gets help from others, as long as no other database is due.
 *
 * A worker may end because of a relation, whose owner's code it runs.  Its service leaves that
 * relation alone for a while then, and not the database: others in it have done nothing.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "server/work/background.h"
#include "server/work/visit.h"

/* A launcher that has ended is started again after so many seconds. */
#define RESTART_LAUNCHER 10

/* A database is visited again after so many ms if it has more, or if it is locked as a whole. */
#define SOON 100
#define LATER 1000

/* The launcher looks which databases there are, and for a free worker, every so many ms. */
#define LOOK_AGAIN 1000

/* A visit gets help so many milliseconds after its begin. */
#define HELP_AFTER 500

/* A worker's start is waited for so many milliseconds at most. */
#define WAIT_FOR_START (60 * 1000)

/* After so many milliseconds the end of a visit is not held against those before. */
#define SETTLED (60 * 1000)

/*
 * Failures that have taken the server down cost everybody more than others.  After the first one, a
 * relation, or a database, is left alone for so many intervals, and after more for so many seconds at
 * most.
 */
#define CRASH_INTERVALS 4
#define MAX_CRASH_BACK_OFF (24 * 60 * 60)

const Service *services[MAX_SERVICES];
int nservices = 0;

typedef struct TargetKey
{
	int service;
	Oid database;
} TargetKey;

/* A Target is a database, for a service. */
typedef struct Target
{
	TargetKey key;
	uint32 listing; /* the last one that it was in; one that is not in the newest is not visited */
	TimestampTz wanted; /* when a visit is due that was asked for; 0: none is */
	TimestampTz visited; /* when the last visit has ended */
	TimestampTz begun; /* when the last one has begun */
	int running; /* visits */
	VisitAnswer answer; /* the one that asks for most, of the visits since none was running */
	Oid turn;
	int nculprits; /* to be noted by the next visit */
	Culprit culprits[MAX_VISITORS];
	int failures; /* in a row: visits without an answer, for which no relation is to blame */
	bool crashed; /* the last of these has ended the server */
} Target;

/* A Running is a visit that runs, by its slot. */
typedef struct Running
{
	BackgroundWorkerHandle *handle; /* NULL: none */
	TargetKey target;
	TimestampTz registered;
	bool stopped;
} Running;

static HTAB *targets;
static uint32 listing = 0;
static Running *running; /* max_worker_processes */
static int nrunning[MAX_SERVICES];
static bool told[MAX_SERVICES]; /* that there is no free worker */

/* These were going on when the server went down, and are kept until they are noted. */
static Trace crashed[MAX_CRASHED];
static int ncrashed = 0;

/*
 * Services
 */

/* Adds a service.  To be called while libraries are preloaded, in the same order at each start. */
void
service_register(const Service *service)
{
	Assert(nservices < MAX_SERVICES);
	services[nservices++] = service;
}

/*
 * Returns the milliseconds that a database, or a relation in it, is left alone after failures: an
 * interval, and twice as long after each.
 */
int64
service_back_off(const Service *service, int failures, bool after_crash)
{
	int64 first = *service->interval * (after_crash ? (int64) CRASH_INTERVALS : 1);
	int64 seconds = first << Min(Max(failures - 1, 0), 20);

	seconds = Min(seconds, after_crash ? MAX_CRASH_BACK_OFF : service->max_back_off);
	return Max(seconds, *service->interval) * 1000;
}

static const Service *
service_of(const Target *target)
{
	return services[target->key.service];
}

/*
 * Databases
 */

static Target *
find_target(TargetKey key)
{
	return hash_search(targets, &key, HASH_FIND, NULL);
}

static void
add_culprit(Target *target, Oid relid, bool crash)
{
	if (target->nculprits < MAX_VISITORS)
		target->culprits[target->nculprits++] = (Culprit){relid, crash};
}

static bool
is_about(const Trace *trace, const Target *target)
{
	return trace->service == target->key.service && trace->database == target->key.database;
}

/* Adds what the server went down with, at the launcher's start. */
static void
add_crashes(Target *target)
{
	for (int i = 0; i < ncrashed; i++)
	{
		if (!is_about(&crashed[i], target))
			continue;
		if (OidIsValid(crashed[i].relid))
			add_culprit(target, crashed[i].relid, true);
		else
		{
			target->failures = crashed[i].crashes;
			target->crashed = true;
			target->wanted = 0;
			target->visited = GetCurrentTimestamp();
		}
	}
}

/* They are noted, or the database is gone. */
static void
forget_crashes(const Target *target)
{
	int kept = 0;

	for (int i = 0; i < ncrashed; i++)
		if (!is_about(&crashed[i], target))
			crashed[kept++] = crashed[i];
	if (kept == ncrashed)
		return;
	ncrashed = kept;
	trace_keep(crashed, ncrashed);
}

/* Lists a database; one that is new is to be visited at once. */
static void
list_target(TargetKey key)
{
	bool found;
	Target *target = hash_search(targets, &key, HASH_ENTER, &found);

	if (!found)
	{
		memset(target, 0, sizeof(Target));
		target->key = key;
		target->wanted = GetCurrentTimestamp();
		add_crashes(target);
	}
	target->listing = listing;
}

/*
 * Returns all databases that can be connected to.  Templates are databases like others here, as for
 * autovacuum; one that DROP DATABASE has left half done has a connection limit of its own.
 */
static List *
all_databases(void)
{
	MemoryContext context = CurrentMemoryContext;
	List *found = NIL;
	Relation rel;
	TableScanDesc scan;
	HeapTuple tuple;

	StartTransactionCommand();
	(void) GetTransactionSnapshot();
	rel = table_open(DatabaseRelationId, AccessShareLock);
	scan = table_beginscan_catalog(rel, 0, NULL);
	MemoryContextSwitchTo(context);
	while (HeapTupleIsValid(tuple = heap_getnext(scan, ForwardScanDirection)))
	{
		Form_pg_database form = (Form_pg_database) GETSTRUCT(tuple);

		if (form->datallowconn && form->datconnlimit >= -1)
			found = lappend_oid(found, form->oid);
	}
	table_endscan(scan);
	table_close(rel, AccessShareLock);
	CommitTransactionCommand();
	MemoryContextSwitchTo(context);
	return found;
}

static void
forget_unlisted(void)
{
	HASH_SEQ_STATUS scan;
	Target *target;

	hash_seq_init(&scan, targets);
	while ((target = hash_seq_search(&scan)) != NULL)
	{
		if (target->listing == listing || target->running > 0)
			continue;
		forget_crashes(target);
		hash_search(targets, &target->key, HASH_REMOVE, NULL);
	}
}

static void
list_targets(void)
{
	List *all = all_databases();

	listing++;
	for (int i = 0; i < nservices; i++)
	{
		List *databases = services[i]->databases == NULL ? all : services[i]->databases();
		ListCell *cell;

		foreach (cell, databases)
			list_target((TargetKey){i, lfirst_oid(cell)});
	}
	forget_unlisted();
}

/* Hears what sessions have asked for. */
static void
hear_requests(void)
{
	bool wanted[WANTED_SETS];
	TimestampTz now = GetCurrentTimestamp();
	HASH_SEQ_STATUS scan;
	Target *target;

	shared_take_wanted(wanted);
	hash_seq_init(&scan, targets);
	while ((target = hash_seq_search(&scan)) != NULL)
		if (wanted[target->key.database % WANTED_SETS] && target->wanted == 0 &&
			!service_of(target)->resident)
			target->wanted = TimestampTzPlusMilliseconds(now, service_of(target)->patience);
}

/* Returns the pause in milliseconds. */
static int64
pause_after(const Target *target)
{
	switch (target->answer)
	{
		case VISIT_MORE:
			return SOON;
		case VISIT_DONE:
			return *service_of(target)->interval * INT64CONST(1000);
		case VISIT_NOTHING:
			return *service_of(target)->probe_interval * INT64CONST(1000);
		case VISIT_SILENT:
			break;
	}
	return service_back_off(service_of(target), target->failures, target->crashed);
}

/* Returns whether a visit of a database has relations that another one could begin with. */
static bool
can_be_helped(const Target *target)
{
	Visit visit;

	for (int i = 0; i < max_worker_processes; i++)
	{
		if (running[i].handle == NULL ||
			memcmp(&running[i].target, &target->key, sizeof(TargetKey)) != 0)
			continue;
		visit_read(i, &visit);
		if (visit.left > 0)
			return true;
	}
	return false;
}

static TimestampTz
due_time(Target *target, TimestampTz now)
{
	TimestampTz due;

	/* a clock that was set back changes nothing */
	target->wanted = Min(target->wanted, TimestampTzPlusMilliseconds(now, MAX_PATIENCE));
	target->visited = Min(target->visited, now);
	target->begun = Min(target->begun, now);
	/* nobody can have a visit at once that has taken the server down */
	if (target->wanted > 0 && !target->crashed)
		return target->wanted;
	due = TimestampTzPlusMilliseconds(target->visited, pause_after(target));
	if (target->running == 0)
		return due;
	/* help comes after all that nobody visits */
	if (!can_be_helped(target))
		return DT_NOEND;
	return Max(Max(due, TimestampTzPlusMilliseconds(target->begun, HELP_AFTER)), now);
}

/* Returns whether a database may be visited, as far as its service is concerned. */
static bool
may_be_visited(const Target *target)
{
	const Service *service = service_of(target);

	return target->listing == listing && *service->enabled &&
		   !(service->resident && target->running > 0) &&
		   (service->max_workers == NULL || nrunning[target->key.service] < *service->max_workers);
}

/* Returns the target that has been due for the longest time, and since when; NULL if none is. */
static Target *
next_target(TimestampTz now, TimestampTz *since)
{
	Target *next = NULL;
	HASH_SEQ_STATUS scan;
	Target *target;

	*since = DT_NOEND;
	hash_seq_init(&scan, targets);
	while ((target = hash_seq_search(&scan)) != NULL)
	{
		TimestampTz due = may_be_visited(target) ? due_time(target, now) : DT_NOEND;

		if (due >= *since)
			continue;
		next = target;
		*since = due;
	}
	return next;
}

/*
 * Visits
 */

/* Returns a free slot, or max_worker_processes if there is none. */
static int
free_slot(void)
{
	int slot = 0;

	while (slot < max_worker_processes && running[slot].handle != NULL)
		slot++;
	return slot;
}

/* Reports that no worker is free; one that is at work makes up for it, and will have ended soon. */
static void
tell_no_worker(int service)
{
	if (told[service] || (!services[service]->resident && nrunning[service] > 0))
		return;
	ereport(LOG, (errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				  errmsg("no background worker is free to %s", services[service]->purpose),
				  errdetail("It is tried again, and not reported again until one is free."),
				  errhint("Increase max_worker_processes.")));
	told[service] = true;
}

static void
set_waits(const Target *target, bool waits)
{
	if (service_of(target)->waits != NULL)
		service_of(target)->waits(target->key.database, waits);
}

/* Reports that whatever is due now, for any service, has no worker. */
static void
tell_no_workers(TimestampTz now)
{
	HASH_SEQ_STATUS scan;
	Target *target;

	hash_seq_init(&scan, targets);
	while ((target = hash_seq_search(&scan)) != NULL)
	{
		if (!may_be_visited(target) || due_time(target, now) > now)
			continue;
		tell_no_worker(target->key.service);
		set_waits(target, true);
	}
}

static BackgroundWorkerHandle *
start_worker(const Visit *visit)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	BackgroundWorkerHandle *handle;
	BackgroundWorker worker;
	bool started;

	background_describe(&worker, services[visit->service]->worker, "dyn_visit_main",
						UInt32GetDatum(visit->number));
	started = RegisterDynamicBackgroundWorker(&worker, &handle);
	MemoryContextSwitchTo(old);
	return started ? handle : NULL;
}

/* Begins a visit; returns false if there is no worker to be had. */
static bool
begin_visit(Target *target, int slot)
{
	Visit visit = {.slot = slot,
				   .service = target->key.service,
				   .database = target->key.database,
				   .turn = target->turn,
				   .nculprits = target->nculprits};
	Running *run = &running[slot];

	memcpy(visit.culprits, target->culprits, sizeof(visit.culprits));
	visit_begin(&visit);
	run->handle = start_worker(&visit);
	if (run->handle == NULL)
		return false;
	told[visit.service] = false;
	set_waits(target, false);
	run->target = target->key;
	run->registered = target->begun = GetCurrentTimestamp();
	run->stopped = false;
	nrunning[visit.service]++;
	target->wanted = 0;
	if (target->running++ == 0)
		target->answer = VISIT_SILENT;
	target->nculprits = 0;
	return true;
}

static int
count_failures(int before, const Visit *visit, TimestampTz now)
{
	if (visit->answer != VISIT_SILENT)
		return 0;
	if (visit->began != 0 && TimestampDifferenceExceeds(visit->began, now, SETTLED))
		return 1;
	return before + 1;
}

/* Takes what came out of a visit. */
static void
take_answer(Target *target, Visit *visit)
{
	for (int i = 0; i < visit->nculprits; i++)
		add_culprit(target, visit->culprits[i].relid, visit->culprits[i].crashed);
	if (visit->answer == VISIT_SILENT && OidIsValid(visit->relid))
	{
		add_culprit(target, visit->relid, false);
		visit->answer = VISIT_MORE;
	}
	if (visit->nculprits == 0 && visit->answer != VISIT_SILENT)
		forget_crashes(target);
	target->turn = visit->turn;
	target->running--;
	target->visited = GetCurrentTimestamp();
	target->crashed = false;
	target->failures = count_failures(target->failures, visit, target->visited);
	target->answer = Max(target->answer, visit->answer);
}

static void
end_visit(int slot)
{
	Visit visit;

	pfree(running[slot].handle);
	running[slot].handle = NULL;
	nrunning[running[slot].target.service]--;
	visit_read(slot, &visit);
	take_answer(find_target(running[slot].target), &visit);
}

/* Nobody can make a worker stay: what catches a cancellation cannot catch this. */
static bool
overstays(int slot)
{
	TimestampTz now = GetCurrentTimestamp();
	Visit visit;

	visit_read(slot, &visit);
	if (visit.began == 0)
		return TimestampDifferenceExceeds(running[slot].registered, now, WAIT_FOR_START);
	/* a setting of its database may hide from it that the service was switched off */
	if (services[visit.service]->resident)
		return !*services[visit.service]->enabled;
	return TimestampDifferenceExceeds(visit.began, now, VISIT_OVERSTAY);
}

/* Sees which visits have ended, and which have to. */
static void
look_after_visits(void)
{
	pid_t pid;

	for (int i = 0; i < max_worker_processes; i++)
	{
		Running *run = &running[i];

		if (run->handle == NULL)
			continue;
		if (GetBackgroundWorkerPid(run->handle, &pid) == BGWH_STOPPED)
			end_visit(i);
		else if (!run->stopped && overstays(i))
		{
			TerminateBackgroundWorker(run->handle);
			run->stopped = true;
		}
	}
}

/* Returns whether there are visits that have to end. */
static bool
is_busy(void)
{
	for (int i = 0; i < nservices; i++)
		if (!services[i]->resident && nrunning[i] > 0)
			return true;
	return false;
}

/* When the launcher ends, nobody would end those that overstay. */
static void
stop_visits(int code, Datum unused)
{
	for (int i = 0; i < max_worker_processes; i++)
		if (running[i].handle != NULL && !services[running[i].target.service]->resident)
			TerminateBackgroundWorker(running[i].handle);
	shared_register_launcher(NULL);
}

/*
 * The launcher
 */

/* Begins with what is due.  Returns the milliseconds until there may be more. */
static long
begin_visits(void)
{
	int slot;

	while ((slot = free_slot()) < max_worker_processes)
	{
		TimestampTz now = GetCurrentTimestamp();
		TimestampTz due;
		Target *target = next_target(now, &due);

		if (due > now)
			return Min(TimestampDifferenceMilliseconds(now, due), LOOK_AGAIN);
		if (background_is_locked(target->key.database))
		{
			target->visited = now;
			target->wanted = TimestampTzPlusMilliseconds(now, LATER);
		}
		else if (!begin_visit(target, slot))
		{
			tell_no_workers(now);
			break;
		}
	}
	return LOOK_AGAIN;
}

/* Does one round, and returns how many milliseconds to wait then. */
static long
do_round(void)
{
	static TimestampTz listed = 0;
	TimestampTz now = GetCurrentTimestamp();
	long wait;

	look_after_visits();
	if (listed > now || TimestampDifferenceExceeds(listed, now, LOOK_AGAIN))
	{
		list_targets();
		listed = now;
	}
	hear_requests();
	wait = begin_visits();
	return is_busy() ? Min(wait, SOON) : wait;
}

static void
launcher_start(void)
{
	HASHCTL control = {.keysize = sizeof(TargetKey), .entrysize = sizeof(Target)};

	targets = hash_create("dynamo_table targets", 64, &control, HASH_ELEM | HASH_BLOBS);
	running = MemoryContextAllocZero(TopMemoryContext, max_worker_processes * sizeof(Running));
	ncrashed = trace_recover(crashed);
	before_shmem_exit(stop_visits, 0);
	shared_register_launcher(MyLatch);
}

/* This is the entry point of the launcher, which is connected to no database. */
void
dyn_launcher_main(Datum unused)
{
	MemoryContext context;

	background_start();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	background_settings(NULL, 0);
	launcher_start();
	context = AllocSetContextCreate(TopMemoryContext, "dynamo_table launcher's round",
									ALLOCSET_SMALL_SIZES);
	for (;;)
	{
		long wait;

		MemoryContextSwitchTo(context);
		wait = do_round();
		MemoryContextReset(context);
		background_wait(wait, "DynamoLauncher");
	}
}

/* Registers the launcher, and its shared memory.  To be called when all services are registered. */
void
launcher_init(void)
{
	BackgroundWorker worker;

	shared_init();
	if (IsBinaryUpgrade)
		return;
	background_describe(&worker, "dynamo_table launcher", "dyn_launcher_main", (Datum) 0);
	worker.bgw_restart_time = RESTART_LAUNCHER;
	worker.bgw_notify_pid = 0;
	RegisterBackgroundWorker(&worker);
}
