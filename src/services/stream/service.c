/*
 * service.c
 *	  Change streams as a service of background workers: the collector of a database.
 *
 * The collector is a session of the bootstrap superuser, but does nothing beyond collecting.
 * Between rounds it holds only the slot.  A session that needs the slot, or the database for
 * itself, ends the collector; the launcher starts it again.  ALTER DATABASE can switch collecting
 * off: then a collector comes now and then to see whether it still is off.
 *
 * A database that needs a collector has a slot, which is in shared memory; so the launcher need not
 * connect to the database to know that.
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "replication/slot.h"
#include "storage/lwlock.h"
#include "storage/spin.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "server/compat.h"
#include "server/extension.h"
#include "server/work/background.h"
#include "services/stream/collect.h"
#include "services/stream/service.h"

/* The worker has these settings: what it commits can be collected again. */
static const char *const settings[][2] = {{"lock_timeout", "0"}, {"synchronous_commit", "off"}};

/*
 * These are milliseconds.  Until BUSY_TIME after there were records, BUSY_PAUSE is between two
 * looks at the WAL; until CALM_TIME, CALM_PAUSE is; and then each pause is twice as long as the
 * last one, up to dynamo_table.stream_poll_interval.
 */
#define BUSY_PAUSE 1
#define BUSY_TIME 1000
#define CALM_PAUSE 5
#define CALM_TIME 10000

/*
 * After a round with records the collector waits REST times as long as that has taken, and at most
 * MAX_REST milliseconds: most of what a round costs is its transaction, so the more there is to
 * collect, the more a round should have.
 */
#define REST 3
#define MAX_REST 10

/* So many milliseconds are between two checks whether a session needs the database for itself. */
#define LOOK_AROUND 1000

typedef struct Worker
{
	StreamCollector collector;
	TimestampTz active; /* when there were records */
	TimestampTz looked; /* around */
	long pause;
	long rest; /* at least, before the next round */
} Worker;

static void
collector_begin(void)
{
	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
}

static void
collector_commit(void)
{
	CommitTransactionCommand();
}

/* Returns whether so much time is over; if the clock was set back, it counts from now. */
static bool
is_over(TimestampTz *last, int milliseconds)
{
	TimestampTz now = GetCurrentTimestamp();

	*last = Min(*last, now);
	return TimestampDifferenceExceeds(*last, now, milliseconds);
}

/*
 * Leaving
 */

/* Returns whether a session needs the database alone, which waits five seconds for others. */
static bool
is_unwanted(Worker *worker)
{
	bool unwanted;

	if (!is_over(&worker->looked, LOOK_AROUND))
		return false;
	worker->looked = GetCurrentTimestamp();
	collector_begin();
	unwanted = background_is_locked(MyDatabaseId) || service_is_switched_off(&stream_service);
	collector_commit();
	return unwanted;
}

/* Returns whether the worker has to stop; default_transaction_read_only is a reason too. */
static bool
is_to_leave(Worker *worker)
{
	return !dyn_stream_collector || DefaultXactReadOnly || is_unwanted(worker);
}

/*
 * Rounds
 */

static long
next_pause(Worker *worker, long last)
{
	long pause = last * 2;

	if (!is_over(&worker->active, BUSY_TIME))
		pause = BUSY_PAUSE;
	else if (!is_over(&worker->active, CALM_TIME))
		pause = CALM_PAUSE;
	return Min(pause, dyn_stream_poll_interval);
}

static void
wait_for_wal(Worker *worker)
{
	worker->pause = next_pause(worker, worker->pause);
	background_wait(Max(worker->pause, worker->rest), "DynamoStreamCollector");
	worker->rest = 0;
}

/* Collects something; returns true if there may be more. */
static bool
collect_some(Worker *worker)
{
	StreamCollector *collector = &worker->collector;
	XLogRecPtr end = GetFlushRecPtr(NULL);
	TimestampTz began = GetCurrentTimestamp();

	if (collector->decoder->seen < end && stream_collect_round(collector, end, false) > 0)
	{
		worker->active = GetCurrentTimestamp();
		worker->rest = Min(REST * TimestampDifferenceMilliseconds(began, worker->active), MAX_REST);
		pgstat_report_stat(false);
	}
	stream_collect_rest(collector);
	return collector->decoder->seen < end;
}

static void
collect_until_told(Worker *worker)
{
	while (!is_to_leave(worker))
	{
		if (collect_some(worker))
			background_heed();
		else
			wait_for_wal(worker);
	}
	/* what was written before cannot be decoded any more if the database's files are moved */
	while (!DefaultXactReadOnly && collect_some(worker))
		CHECK_FOR_INTERRUPTS();
}

/* Notes what stops it for dyn_stream_slots, even where nothing can be written. */
static void
tell_failure(void)
{
	ErrorData *error;

	MemoryContextSwitchTo(TopMemoryContext);
	error = CopyErrorData();
	if (ERRCODE_TO_CATEGORY(error->sqlerrcode) != ERRCODE_OPERATOR_INTERVENTION)
		stream_collector_fails(error->message);
}

/* Opens the collector; false if there is nothing to do here, or another process is collecting. */
static bool
open_collector(StreamCollector *collector)
{
	bool opened;

	collector_begin();
	opened = extension_installed() && stream_collector_open(collector);
	collector_commit();
	return opened;
}

/* Waits after deaths, while dyn_collect_streams() may be called; returns false to leave. */
static bool
wait_after_death(Worker *worker)
{
	long left;

	while ((left = stream_attempt_pause()) > 0)
	{
		if (is_to_leave(worker))
			return false;
		background_wait(Min(left, LOOK_AROUND), "DynamoStreamCollector");
	}
	return !is_to_leave(worker);
}

static void
collector_collect(Worker *worker)
{
	PG_TRY();
	{
		if (open_collector(&worker->collector))
		{
			pgstat_report_activity(STATE_RUNNING, "collecting changes of items");
			collect_until_told(worker);
			stream_collector_close(&worker->collector);
		}
	}
	PG_CATCH();
	{
		tell_failure();
		PG_RE_THROW();
	}
	PG_END_TRY();
}

/*
 * Collects until another process does, or until collecting is switched off.  After any end the next
 * collector begins later, unless nothing can be written, which may be over at any time.
 */
static VisitAnswer
collector_visit(Visit *visit)
{
	Worker worker = {.collector = {.begin = collector_begin, .commit = collector_commit}};

	background_settings(settings, lengthof(settings));
	/*
	 * a round keeps whole transactions in memory, and one large transaction must not stop all
	 * collecting
	 */
	SetConfigOption("temp_file_limit", "-1", PGC_SUSET, PGC_S_SESSION);
	stream_attempt_worker_init();
	worker.looked = worker.active = GetCurrentTimestamp();
	if (!dyn_stream_collector)
		return VISIT_NOTHING;
	if (wait_after_death(&worker))
		collector_collect(&worker);
	return DefaultXactReadOnly ? VISIT_DONE : VISIT_SILENT;
}

/*
 * Databases
 */

/* Returns whether it is a slot of streams that can be acquired, and sets *database to its own. */
static bool
is_free(ReplicationSlot *slot, Oid *database)
{
	NameData name = {0};
	bool found;

	SpinLockAcquire(&slot->mutex);
	*database = slot->data.database;
	found = slot->data.persistency == RS_PERSISTENT && !slot_is_used(slot) &&
			!slot_is_invalid(slot) && strcmp(NameStr(slot->data.plugin), STREAM_PLUGIN) == 0;
	strlcpy(NameStr(name), NameStr(slot->data.name), NAMEDATALEN);
	SpinLockRelease(&slot->mutex);
	return found && strcmp(NameStr(name), psprintf(STREAM_SLOT, *database)) == 0;
}

/* Returns the databases with a free slot. */
static List *
databases(void)
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

/* So many seconds after a collector another begins, or a look whether it is switched on. */
static const int interval = 1;
static const int probe_interval = 10;

const Service stream_service = {.worker = "dynamo_table stream collector",
								.purpose = "collect changes of items",
								.resident = true,
								.enabled = &dyn_stream_collector,
								.setting = "dynamo_table.stream_collector",
								.interval = &interval,
								.probe_interval = &probe_interval,
								.max_back_off = 60,
								.databases = databases,
								.waits = stream_collector_waits,
								.visit = collector_visit};
