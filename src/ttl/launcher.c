/*
 * launcher.c
 *	  The launcher: when which database is visited.
 *
 * It knows a database by pg_database, and what is in it by the answers of workers.  One without a
 * table with time to live is visited now and then, since time to live comes to it in other ways
 * than by dyn_enable_ttl() too, which asks for a visit: it may be restored.  What is to be visited is
 * visited in the order of the times at which it was due, so none has to wait for ever.  A visit that
 * takes long gets help from others, as long as no other database is due.
 *
 * A worker may end because of a table, whose owner's code it runs.  That table is what is left alone
 * for a while then (see worker.c), and not its database: others in it have done nothing.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "ground/compat.h"
#include "index/index.h"
#include "ttl/background.h"
#include "ttl/ttl.h"

/* Milliseconds: before a database is visited again that has more; or that is locked as a whole. */
#define SOON 100
#define LATER 1000

/* Milliseconds: after a visit's begin, before it gets help. */
#define HELP_AFTER 500

/* Seconds: at most so long it is waited for a free worker, or for a worker's start. */
#define WAIT_FOR_WORKER 60

typedef struct Database
{
	Oid oid;
	bool listed; /* it is there, and can be connected to */
	bool wanted; /* visit it at once */
	TimestampTz visited; /* when the last visit has ended */
	TimestampTz begun; /* when the last one has begun */
	int running; /* visits */
	bool locked; /* then, so it was not visited */
	TtlAnswer answer; /* the one that asks for most, of the visits since none was running */
	Oid owner; /* whose table was swept last */
	int nculprits; /* to be noted by the next visit */
	TtlCulprit culprits[TTL_MAX_WORKERS];
	int failures; /* in a row: visits without an answer, for which no table is to blame */
	bool crashes; /* the last of these has ended the server */
} Database;

/* A visit that runs, by its slot. */
typedef struct Running
{
	BackgroundWorkerHandle *handle; /* NULL: none */
	Oid database;
	TimestampTz registered;
	bool stopped;
} Running;

static List *databases = NIL;
static Running running[TTL_MAX_WORKERS];
static bool told = false; /* that there is no free worker */

/* What was swept when the server went down, until it is noted. */
static TtlTrace crashed[TTL_MAX_CRASHED];
static int ncrashed = 0;

/*
 * Databases
 */

static Database *
find_database(Oid oid)
{
	ListCell *cell;

	foreach (cell, databases)
		if (((Database *) lfirst(cell))->oid == oid)
			return lfirst(cell);
	return NULL;
}

static void
add_culprit(Database *database, Oid relid, bool crash)
{
	if (database->nculprits < TTL_MAX_WORKERS)
		database->culprits[database->nculprits++] = (TtlCulprit){relid, crash};
}

/* At the launcher's start. */
static void
add_crashes(Database *database)
{
	for (int i = 0; i < ncrashed; i++)
	{
		if (crashed[i].database != database->oid)
			continue;
		if (OidIsValid(crashed[i].relid))
			add_culprit(database, crashed[i].relid, true);
		else
		{
			database->failures = crashed[i].crashes;
			database->crashes = true;
			database->wanted = false;
			database->visited = GetCurrentTimestamp();
		}
	}
}

/* They are noted, or the database is gone. */
static void
forget_crashes(Oid database)
{
	int kept = 0;

	for (int i = 0; i < ncrashed; i++)
		if (crashed[i].database != database)
			crashed[kept++] = crashed[i];
	if (kept == ncrashed)
		return;
	ncrashed = kept;
	ttl_trace_keep(crashed, ncrashed);
}

static void
add_database(Oid oid)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	Database *database = find_database(oid);

	if (database == NULL)
	{
		database = palloc0(sizeof(Database));
		database->oid = oid;
		database->wanted = true;
		add_crashes(database);
		databases = lappend(databases, database);
	}
	database->listed = true;
	MemoryContextSwitchTo(old);
}

static void
forget_unlisted(void)
{
	ListCell *cell;

	foreach (cell, databases)
	{
		Database *database = lfirst(cell);

		if (database->listed)
			continue;
		forget_crashes(database->oid);
		databases = foreach_delete_current(databases, cell);
		pfree(database);
	}
}

/*
 * All that can be connected to.  Templates are databases like others here, as for autovacuum; one
 * that DROP DATABASE has left half done has a connection limit of its own.
 */
static void
list_databases(void)
{
	ListCell *cell;
	Relation rel;
	TableScanDesc scan;
	HeapTuple tuple;

	foreach (cell, databases)
		((Database *) lfirst(cell))->listed = false;
	StartTransactionCommand();
	(void) GetTransactionSnapshot();
	rel = table_open(DatabaseRelationId, AccessShareLock);
	scan = table_beginscan_catalog(rel, 0, NULL);
	while (HeapTupleIsValid(tuple = heap_getnext(scan, ForwardScanDirection)))
	{
		Form_pg_database form = (Form_pg_database) GETSTRUCT(tuple);

		if (form->datallowconn && form->datconnlimit >= -1)
			add_database(form->oid);
	}
	table_endscan(scan);
	table_close(rel, AccessShareLock);
	CommitTransactionCommand();
	forget_unlisted();
}

/* Those that dyn_enable_ttl() has asked for. */
static void
hear_requests(void)
{
	Oid wanted[TTL_MAX_WANTED];
	bool all;
	int n = ttl_take_wanted(wanted, &all);
	ListCell *cell;

	for (int i = 0; i < n; i++)
	{
		Database *database = find_database(wanted[i]);

		if (database != NULL)
			database->wanted = true;
	}
	if (!all)
		return;
	foreach (cell, databases)
		((Database *) lfirst(cell))->wanted = true;
}

/* In milliseconds. */
static int64
pause_after(const Database *database)
{
	if (database->locked)
		return LATER;
	switch (database->answer)
	{
		case TTL_MORE:
			return SOON;
		case TTL_DONE:
			return dyn_ttl_interval * INT64CONST(1000);
		case TTL_NOTHING:
			return dyn_ttl_probe_interval * INT64CONST(1000);
		case TTL_SILENT:
			break;
	}
	return ttl_back_off(database->failures, database->crashes);
}

/* Whether a visit of a database has tables that another one could begin with. */
static bool
can_be_helped(Oid database)
{
	TtlVisit visit;

	for (int i = 0; i < TTL_MAX_WORKERS; i++)
	{
		if (running[i].handle == NULL || running[i].database != database)
			continue;
		ttl_read_visit(i, &visit);
		if (visit.left > 0)
			return true;
	}
	return false;
}

static TimestampTz
due_time(const Database *database)
{
	TimestampTz due = TimestampTzPlusMilliseconds(database->visited, pause_after(database));

	if (database->wanted && !database->locked)
		return 0;
	if (database->running == 0)
		return due;
	if (!can_be_helped(database->oid))
		return DT_NOEND;
	return Max(due, TimestampTzPlusMilliseconds(database->begun, HELP_AFTER));
}

/* The one that has been due for the longest time. */
static Database *
earliest(bool visited_too)
{
	Database *first = NULL;
	ListCell *cell;

	foreach (cell, databases)
	{
		Database *database = lfirst(cell);

		if (database->running > 0 && !visited_too)
			continue;
		if (first == NULL || due_time(database) < due_time(first))
			first = database;
	}
	return first;
}

/* Help comes after all that nobody visits. */
static Database *
next_database(TimestampTz now)
{
	Database *next;
	ListCell *cell;

	/* a clock that was set back changes nothing */
	foreach (cell, databases)
	{
		Database *database = lfirst(cell);

		database->visited = Min(database->visited, now);
		database->begun = Min(database->begun, now);
	}
	next = earliest(false);
	return next != NULL && due_time(next) <= now ? next : earliest(true);
}

/*
 * Visits
 */

/* A worker would have to wait. */
static bool
is_locked(Oid database)
{
	bool locked;

	StartTransactionCommand();
	locked = ttl_database_is_locked(database);
	CommitTransactionCommand();
	return locked;
}

/* TTL_MAX_WORKERS if there are as many as there may be. */
static int
free_slot(void)
{
	int found = TTL_MAX_WORKERS;
	int used = 0;

	for (int i = 0; i < TTL_MAX_WORKERS; i++)
	{
		if (running[i].handle != NULL)
			used++;
		else if (found == TTL_MAX_WORKERS)
			found = i;
	}
	return used < dyn_ttl_max_workers ? found : TTL_MAX_WORKERS;
}

static int
count_running(void)
{
	int n = 0;

	for (int i = 0; i < TTL_MAX_WORKERS; i++)
		n += running[i].handle != NULL;
	return n;
}

/* One that is at work makes up for it. */
static void
tell_no_worker(void)
{
	if (told || count_running() > 0)
		return;
	ereport(LOG, (errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				  errmsg("no background worker is free to remove expired items"),
				  errdetail("It is tried again, and not reported again until one is free."),
				  errhint("Increase max_worker_processes.")));
	told = true;
}

static BackgroundWorkerHandle *
start_worker(const TtlVisit *visit)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	BackgroundWorkerHandle *handle;
	BackgroundWorker worker;
	bool started;

	gsi_worker_describe(&worker, "dynamo_table ttl worker", "dyn_ttl_worker_main",
						UInt32GetDatum(visit->number));
	started = RegisterDynamicBackgroundWorker(&worker, &handle);
	MemoryContextSwitchTo(old);
	if (started)
	{
		told = false;
		return handle;
	}
	tell_no_worker();
	return NULL;
}

/* False if there is no worker to be had. */
static bool
begin_visit(Database *database, int slot)
{
	TtlVisit visit = {.slot = slot,
					  .database = database->oid,
					  .owner = database->owner,
					  .nculprits = database->nculprits};
	Running *run = &running[slot];

	memcpy(visit.culprits, database->culprits, sizeof(visit.culprits));
	ttl_begin_visit(&visit);
	run->handle = start_worker(&visit);
	if (run->handle == NULL)
		return false;
	run->database = database->oid;
	run->registered = database->begun = GetCurrentTimestamp();
	run->stopped = false;
	database->wanted = false;
	if (database->running++ == 0)
		database->answer = TTL_SILENT;
	database->nculprits = 0;
	return true;
}

/* What came out of a visit. */
static void
take_answer(Database *database, const TtlVisit *visit)
{
	TtlAnswer answer = visit->answer;

	for (int i = 0; i < visit->nculprits; i++)
		add_culprit(database, visit->culprits[i].relid, visit->culprits[i].crashed);
	if (answer == TTL_SILENT && OidIsValid(visit->relid))
	{
		add_culprit(database, visit->relid, false);
		answer = TTL_MORE;
	}
	if (visit->nculprits == 0 && answer != TTL_SILENT)
		forget_crashes(database->oid);
	database->owner = visit->owner;
	database->running--;
	database->visited = GetCurrentTimestamp();
	database->crashes = false;
	database->failures = answer == TTL_SILENT ? database->failures + 1 : 0;
	database->answer = Max(database->answer, answer);
}

static void
end_visit(int slot)
{
	Database *database = find_database(running[slot].database);
	TtlVisit visit;

	pfree(running[slot].handle);
	running[slot].handle = NULL;
	ttl_read_visit(slot, &visit);
	if (database != NULL)
		take_answer(database, &visit);
}

/* Nobody can make a worker stay: what catches a cancellation cannot catch this. */
static bool
overstays(int slot)
{
	TimestampTz now = GetCurrentTimestamp();
	TtlVisit visit;

	ttl_read_visit(slot, &visit);
	if (visit.began == 0)
		return TimestampDifferenceExceeds(running[slot].registered, now, WAIT_FOR_WORKER * 1000);
	return TimestampDifferenceExceeds(visit.began, now, TTL_OVERSTAY);
}

/* See which visits have ended, and which have to. */
static void
look_after_visits(void)
{
	pid_t pid;

	for (int i = 0; i < TTL_MAX_WORKERS; i++)
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

/* When the launcher ends. */
static void
stop_visits(int code, Datum unused)
{
	for (int i = 0; i < TTL_MAX_WORKERS; i++)
		if (running[i].handle != NULL)
			TerminateBackgroundWorker(running[i].handle);
}

/*
 * The launcher
 */

/* Begin with what is due.  Returns the milliseconds until there may be more. */
static long
begin_visits(void)
{
	int slot;

	while ((slot = free_slot()) < TTL_MAX_WORKERS)
	{
		TimestampTz now = GetCurrentTimestamp();
		Database *database = next_database(now);

		if (database == NULL)
			return WAIT_FOR_WORKER * 1000;
		if (due_time(database) > now)
			return Min(TimestampDifferenceMilliseconds(now, due_time(database)),
					   WAIT_FOR_WORKER * 1000L);
		database->locked = is_locked(database->oid);
		if (database->locked)
			database->visited = now;
		else if (!begin_visit(database, slot))
			return Min(dyn_ttl_interval, WAIT_FOR_WORKER) * 1000L;
	}
	return WAIT_FOR_WORKER * 1000;
}

/* The same. */
static long
do_round(void)
{
	static TimestampTz listed = 0;
	TimestampTz now = GetCurrentTimestamp();
	long wait;

	look_after_visits();
	if (!dyn_ttl_worker)
		return count_running() > 0 ? SOON : -1;
	if (count_running() == 0 || listed > now || TimestampDifferenceExceeds(listed, now, LATER))
	{
		list_databases();
		listed = now;
	}
	hear_requests();
	wait = begin_visits();
	return count_running() > 0 ? Min(wait, SOON) : wait;
}

static void
wait_for_round(long milliseconds)
{
	int events = WL_LATCH_SET | WL_EXIT_ON_PM_DEATH;

	WaitLatch(MyLatch, milliseconds < 0 ? events : events | WL_TIMEOUT, milliseconds,
			  custom_wait_event("DynamoTtlLauncher"));
	ResetLatch(MyLatch);
}

void
dyn_ttl_launcher_main(Datum unused)
{
	gsi_worker_start();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	SetConfigOption("application_name", MyBgworkerEntry->bgw_name, PGC_USERSET, PGC_S_SESSION);
	ncrashed = ttl_trace_recover(crashed);
	before_shmem_exit(stop_visits, 0);
	ttl_register_launcher();
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
		wait_for_round(do_round());
	}
}

/* While libraries are preloaded. */
void
ttl_launcher_init(void)
{
	ttl_shared_init();
	gsi_register_launcher("dynamo_table ttl launcher", "dyn_ttl_launcher_main");
}
