/*
 * worker.c
 *	  The collector: a background worker that collects in one database for as long as it has streams.
 *
 * It is a session of the bootstrap superuser, but does nothing beyond collecting.  It holds nothing between
 * rounds but the slot; who wants that, or the database for himself, ends it, and the launcher
 * starts it again.
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/interrupt.h"
#include "storage/latch.h"
#include "utils/guc.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "ground/extension.h"
#include "ground/compat.h"
#include "index/index.h"
#include "stream/background.h"
#include "stream/collect.h"
#include "ttl/ttl.h"

/* It may be connected to the database whose settings are no matter.  What it commits can be collected again. */
static const char *const settings[][2] = {{"search_path", "pg_catalog, pg_temp"},
										  {"synchronous_commit", "off"},
										  {"default_transaction_isolation", "read committed"},
										  {"lock_timeout", "0"},
										  {"statement_timeout", "0"},
										  {"transaction_timeout", "0"},
										  {"idle_in_transaction_session_timeout", "0"}};

/*
 * Milliseconds between two looks at the WAL: for so long after there were records, then for so long, and then
 * twice as many each time, up to dynamo_table.stream_poll_interval.
 */
#define BUSY_PAUSE 1
#define BUSY_TIME 1000
#define CALM_PAUSE 5
#define CALM_TIME 10000

/*
 * After a round with records it waits so many times as long as that has taken, at most so many milliseconds: a round
 * costs most for its transaction, so that the more there is to collect, the more a round should have.
 */
#define REST 3
#define MAX_REST 10

/* Milliseconds between two looks whether somebody wants the database for himself. */
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
begin(void)
{
	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
}

static void
commit(void)
{
	CommitTransactionCommand();
}

/* By the clock, which may have been set back: then it is as if the last time were now. */
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

static void
reload(void)
{
	if (!ConfigReloadPending)
		return;
	ConfigReloadPending = false;
	ProcessConfigFile(PGC_SIGHUP);
}

/* Who copies or renames the database waits five seconds for others to leave it. */
static bool
is_wanted_by_others(Worker *worker)
{
	bool locked;

	if (!is_over(&worker->looked, LOOK_AROUND))
		return false;
	worker->looked = GetCurrentTimestamp();
	begin();
	locked = ttl_database_is_locked(MyDatabaseId);
	commit();
	return locked;
}

/* Who lets nobody write by default means us as well. */
static bool
is_to_leave(Worker *worker)
{
	return !dyn_stream_collector || DefaultXactReadOnly || is_wanted_by_others(worker);
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
	WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
			  Max(worker->pause, worker->rest), custom_wait_event("DynamoStreamCollector"));
	ResetLatch(MyLatch);
	worker->rest = 0;
}

/* True if there may be more. */
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
collect(Worker *worker)
{
	while (!is_to_leave(worker))
	{
		if (!collect_some(worker))
			wait_for_wal(worker);
		CHECK_FOR_INTERRUPTS();
		reload();
	}
}

/* False if there is nothing to do here, or somebody else is at it. */
static bool
open_collector(StreamCollector *collector)
{
	bool opened;

	begin();
	collector->schema = extension_schema();
	opened = OidIsValid(collector->schema) && stream_collector_open(collector);
	commit();
	return opened;
}

/* Those before died, perhaps with the whole cluster; a call of dyn_collect_streams() may come in between.  False: leave. */
static bool
wait_after_death(Worker *worker)
{
	long left;

	while ((left = stream_attempt_pause()) > 0)
	{
		if (is_to_leave(worker))
			return false;
		WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, Min(left, LOOK_AROUND),
				  custom_wait_event("DynamoStreamCollector"));
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		reload();
	}
	return !is_to_leave(worker);
}

/*
 * Entry point of the background worker that collects changes in a database, given by its OID.  It
 * ends if another process collects or collecting is switched off; the launcher starts it again
 * where it is needed.
 */
void
dyn_stream_worker_main(Datum database)
{
	Worker worker = {.collector = {.begin = begin, .commit = commit}};

	gsi_worker_start();
	gsi_worker_connect(DatumGetObjectId(database), InvalidOid, InvalidOid);
	gsi_worker_settings(settings, lengthof(settings));
	/* a round holds a transaction as a whole, and whoever writes a large one must not stop all collecting */
	SetConfigOption("temp_file_limit", "-1", PGC_SUSET, PGC_S_SESSION);
	stream_attempt_worker_init();
	worker.looked = worker.active = GetCurrentTimestamp();
	if (!wait_after_death(&worker) || !open_collector(&worker.collector))
		return;
	pgstat_report_activity(STATE_RUNNING, "collecting changes of items");
	collect(&worker);
	stream_collector_close(&worker.collector);
}
