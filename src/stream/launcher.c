/*
 * launcher.c
 *	  The launcher of collectors: one for each database that has a slot of change streams.
 *
 * It knows them by the slots alone, which are in shared memory, so it is connected to no database.
 * A collector that has ended is started again, after a pause that grows if it does so soon.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "replication/slot.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "storage/spin.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "ground/compat.h"
#include "index/index.h"
#include "stream/background.h"
#include "stream/stream.h"

/* Milliseconds between two looks at the slots. */
#define LOOK_AGAIN 1000

/* A collector that has ended after less did so too soon; pauses before the next one. */
#define TOO_SOON (60 * 1000)
#define MIN_PAUSE 1000
#define MAX_PAUSE (60 * 1000)

typedef struct Database
{
	Oid oid;
	bool listed; /* it has a slot that can be collected from */
	BackgroundWorkerHandle *worker; /* NULL: none */
	TimestampTz started;
	TimestampTz due; /* no worker is started before */
	long pause;
} Database;

static List *databases = NIL;
static bool told = false; /* that there is no free worker */

/*
 * Databases
 */

static Database *
get_database(Oid oid)
{
	Database *database;
	ListCell *cell;

	foreach (cell, databases)
		if (((Database *) lfirst(cell))->oid == oid)
			return lfirst(cell);
	database = palloc0(sizeof(Database));
	database->oid = oid;
	databases = lappend(databases, database);
	return database;
}

/* One that is being made, or that somebody else has, is not to be taken. */
static bool
is_free(ReplicationSlot *slot, Oid *database)
{
	NameData name = {0};
	bool found;

	SpinLockAcquire(&slot->mutex);
	*database = slot->data.database;
	found = slot->data.persistency == RS_PERSISTENT && slot->active_pid == 0 &&
			!slot_is_invalid(slot) && strcmp(NameStr(slot->data.plugin), STREAM_PLUGIN) == 0;
	strlcpy(NameStr(name), NameStr(slot->data.name), NAMEDATALEN);
	SpinLockRelease(&slot->mutex);
	return found && strcmp(NameStr(name), psprintf(STREAM_SLOT, *database)) == 0;
}

/* Those with a free slot, in the order of the slots. */
static List *
find_slots(void)
{
	List *found = NIL;

	LWLockAcquire(ReplicationSlotControlLock, LW_SHARED);
	for (int i = 0; i < max_replication_slots; i++)
	{
		ReplicationSlot *slot = &ReplicationSlotCtl->replication_slots[i];
		Oid database;

		if (slot->in_use && is_free(slot, &database))
			found = lappend_oid(found, database);
	}
	LWLockRelease(ReplicationSlotControlLock);
	return found;
}

static void
list_databases(List *slots)
{
	ListCell *cell;

	foreach (cell, databases)
		((Database *) lfirst(cell))->listed = false;
	foreach (cell, slots)
		get_database(lfirst_oid(cell))->listed = true;
	foreach (cell, databases)
	{
		Database *database = lfirst(cell);

		if (database->listed || database->worker != NULL)
			continue;
		databases = foreach_delete_current(databases, cell);
		pfree(database);
	}
}

/*
 * Workers
 */

static void
start_worker(Database *database, TimestampTz now)
{
	BackgroundWorker worker;

	gsi_worker_describe(&worker, "dynamo_table stream collector", "dyn_stream_worker_main",
						ObjectIdGetDatum(database->oid));
	database->started = now;
	if (RegisterDynamicBackgroundWorker(&worker, &database->worker))
	{
		told = false;
		return;
	}
	database->worker = NULL;
	database->due = TimestampTzPlusMilliseconds(now, MIN_PAUSE);
	if (!told)
		ereport(LOG, (errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
					  errmsg("no background worker is free to collect changes of items"),
					  errdetail("It is tried again, and not reported again until one is free."),
					  errhint("Increase max_worker_processes.")));
	told = true;
}

/* A worker that was found at work for long is not to blame for its end. */
static void
note_end(Database *database, TimestampTz now)
{
	bool soon = !TimestampDifferenceExceeds(database->started, now, TOO_SOON);

	pfree(database->worker);
	database->worker = NULL;
	database->pause = soon ? Min(Max(database->pause * 2, MIN_PAUSE), MAX_PAUSE) : MIN_PAUSE;
	database->due = TimestampTzPlusMilliseconds(now, database->pause);
}

static void
look_after(Database *database)
{
	TimestampTz now = GetCurrentTimestamp();
	pid_t pid;

	/* a clock that was set back makes no pause longer */
	database->started = Min(database->started, now);
	database->due = Min(database->due, TimestampTzPlusMilliseconds(now, MAX_PAUSE));
	if (database->worker != NULL && GetBackgroundWorkerPid(database->worker, &pid) == BGWH_STOPPED)
		note_end(database, now);
	if (database->worker == NULL && database->listed && database->due <= now &&
		dyn_stream_collector && !stream_is_collected(database->oid))
		start_worker(database, now);
}

static void
do_round(MemoryContext context)
{
	MemoryContext old = MemoryContextSwitchTo(context);
	List *slots = find_slots();
	ListCell *cell;

	MemoryContextSwitchTo(old);
	list_databases(slots);
	foreach (cell, databases)
		look_after(lfirst(cell));
	MemoryContextReset(context);
}

/*
 * Entry point of the background worker that starts a collector in each database that needs one.  It
 * is connected to no database.
 */
void
dyn_stream_launcher_main(Datum unused)
{
	MemoryContext context;

	gsi_worker_start();
	/* to be seen in pg_stat_activity */
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	gsi_worker_settings(NULL, 0);
	MemoryContextSwitchTo(
		AllocSetContextCreate(TopMemoryContext, "dynamo_table launcher", ALLOCSET_DEFAULT_SIZES));
	context = AllocSetContextCreate(CurrentMemoryContext, "dynamo_table launcher's round",
									ALLOCSET_SMALL_SIZES);
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
		}
		do_round(context);
		WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, LOOK_AGAIN,
				  custom_wait_event("DynamoStreamLauncher"));
		ResetLatch(MyLatch);
	}
}

/* While libraries are preloaded. */
void
stream_launcher_init(void)
{
	stream_shared_init();
	gsi_register_launcher("dynamo_table stream launcher", "dyn_stream_launcher_main");
}
