/*
 * launcher.c
 *	  The launcher: when which database is visited.
 *
 * It knows a database by pg_database, and what is in it by the answers of workers.  One without a
 * table with time to live is visited now and then, since time to live comes to it in other ways
 * than by dyn_ttl_enable() too, which asks for a visit: it may be restored.  What is to be visited is
 * visited in the order of the times at which it was due, so none has to wait for ever.
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

#include "compat.h"
#include "index/index.h"
#include "ttl/background.h"
#include "ttl/ttl.h"

/* Milliseconds: before a database is visited again that has more; or that is locked as a whole. */
#define SOON 100
#define LATER 1000

/* Seconds: at most so long it is waited for a free worker, or for a worker's start. */
#define WAIT_FOR_WORKER 60

typedef struct Database
{
	Oid oid;
	bool listed; /* it is there, and can be connected to */
	TimestampTz visited; /* 0: visit it at once */
	bool locked; /* then, so it was not visited */
	TtlVisit visit; /* what came out */
	int failures; /* in a row: visits without an answer */
} Database;

static List *databases = NIL;
static bool told = false; /* that there is no free worker */

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
add_database(Oid oid)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	Database *database = find_database(oid);

	if (database == NULL)
	{
		database = palloc0(sizeof(Database));
		database->oid = oid;
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

/* Those that dyn_ttl_enable() has asked for. */
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
			database->visited = 0;
	}
	if (!all)
		return;
	foreach (cell, databases)
		((Database *) lfirst(cell))->visited = 0;
}

/* In milliseconds. */
static int64
pause_after(const Database *database)
{
	if (database->locked)
		return LATER;
	switch (database->visit.answer)
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
	return ttl_back_off(database->failures);
}

static TimestampTz
due_time(const Database *database)
{
	if (database->visited == 0)
		return 0;
	return TimestampTzPlusMilliseconds(database->visited, pause_after(database));
}

/* The one that has been due for the longest time; a clock that was set back changes nothing. */
static Database *
next_database(TimestampTz now)
{
	Database *next = NULL;
	ListCell *cell;

	foreach (cell, databases)
	{
		Database *database = lfirst(cell);

		database->visited = Min(database->visited, now);
		if (next == NULL || due_time(database) < due_time(next))
			next = database;
	}
	return next;
}

/*
 * Visits
 */

/* A worker would have to wait, and all other databases with it. */
static bool
is_locked(Oid database)
{
	bool locked;

	StartTransactionCommand();
	locked = ttl_database_is_locked(database);
	CommitTransactionCommand();
	return locked;
}

static BackgroundWorkerHandle *
start_worker(const TtlVisit *visit)
{
	BackgroundWorkerHandle *handle;
	BackgroundWorker worker;

	gsi_worker_describe(&worker, "dynamo_table ttl worker", "dyn_ttl_worker_main",
						UInt32GetDatum(visit->number));
	if (RegisterDynamicBackgroundWorker(&worker, &handle))
	{
		told = false;
		return handle;
	}
	if (!told)
		ereport(LOG, (errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
					  errmsg("no background worker is free to remove expired items"),
					  errdetail("It is tried again, and not reported again until one is free."),
					  errhint("Increase max_worker_processes.")));
	told = true;
	return NULL;
}

static void
stop_worker(int code, Datum handle)
{
	TerminateBackgroundWorker((BackgroundWorkerHandle *) DatumGetPointer(handle));
}

/* Nobody can make a worker stay: what catches a cancellation cannot catch this. */
static bool
overstays(TimestampTz registered)
{
	TimestampTz now = GetCurrentTimestamp();
	TtlVisit visit;

	ttl_read_visit(&visit);
	if (visit.began == 0)
		return TimestampDifferenceExceeds(registered, now, WAIT_FOR_WORKER * 1000);
	return TimestampDifferenceExceeds(visit.began, now, TTL_OVERSTAY);
}

static void
await_worker(BackgroundWorkerHandle *handle)
{
	TimestampTz registered = GetCurrentTimestamp();
	bool stopped = false;
	pid_t pid;

	while (GetBackgroundWorkerPid(handle, &pid) != BGWH_STOPPED)
	{
		if (!stopped && overstays(registered))
		{
			TerminateBackgroundWorker(handle);
			stopped = true;
		}
		WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, SOON,
				  custom_wait_event("DynamoTtlVisit"));
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
}

/* False if there is no worker to be had. */
static bool
visit_database(Database *database)
{
	TtlVisit visit = {.database = database->oid,
					  .last = database->visit.last,
					  .culprit = database->visit.culprit};
	BackgroundWorkerHandle *handle;

	ttl_begin_visit(&visit);
	handle = start_worker(&visit);
	if (handle == NULL)
		return false;
	PG_ENSURE_ERROR_CLEANUP(stop_worker, PointerGetDatum(handle));
	{
		await_worker(handle);
	}
	PG_END_ENSURE_ERROR_CLEANUP(stop_worker, PointerGetDatum(handle));
	pfree(handle);
	ttl_read_visit(&database->visit);
	database->failures = database->visit.answer == TTL_SILENT ? database->failures + 1 : 0;
	return true;
}

/*
 * The launcher
 */

/* Visit a database if one is due.  Returns the milliseconds until the next may be. */
static long
do_round(void)
{
	TimestampTz now = GetCurrentTimestamp();
	Database *database;

	list_databases();
	hear_requests();
	database = next_database(now);
	if (database == NULL)
		return WAIT_FOR_WORKER * 1000;
	if (due_time(database) > now)
		return TimestampDifferenceMilliseconds(now, due_time(database));
	database->locked = is_locked(database->oid);
	if (!database->locked && !visit_database(database))
		return Min(dyn_ttl_interval, WAIT_FOR_WORKER) * 1000L;
	database->visited = GetCurrentTimestamp();
	return 0;
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
	ttl_register_launcher();
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
		wait_for_round(dyn_ttl_worker ? do_round() : -1);
	}
}

/* While libraries are preloaded. */
void
ttl_launcher_init(void)
{
	ttl_shared_init();
	gsi_register_launcher("dynamo_table ttl launcher", "dyn_ttl_launcher_main");
}
