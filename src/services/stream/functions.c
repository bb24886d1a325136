/*
 * functions.c
 *	  dyn_collect_streams(): collecting on demand.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/snapmgr.h"

#include "server/extension.h"
#include "server/work/brief_lock.h"
#include "server/work/procedure.h"
#include "services/stream/collect.h"
#include "services/stream/service.h"

/* So many milliseconds are between two looks at a collector that may have gone. */
#define LOOK_AGAIN 200

/* So many milliseconds are between two looks whether the lock is free. */
#define LOOK_FOR_LOCK 10

static void
collect_begin(void)
{
}

static void
collect_commit(void)
{
	procedure_commit(NULL);
}

static void
connect_to_collect(FunctionCallInfo fcinfo)
{
	procedure_connect(fcinfo, "dyn_collect_streams()");
	PreventCommandDuringRecovery("dyn_collect_streams()");
	PreventCommandIfReadOnly("dyn_collect_streams()");
	stream_require_replication("dyn_collect_streams()");
}

/* Returns the end of the WAL, with what this session has committed without waiting for the disk. */
static XLogRecPtr
end_of_wal(void)
{
	if (!XLogRecPtrIsInvalid(XactLastCommitEnd))
		XLogFlush(XactLastCommitEnd);
	return GetFlushRecPtr(NULL);
}

static uint64
collect_all(StreamCollector *collector, XLogRecPtr target)
{
	uint64 records = 0;

	while (collector->decoder->seen < target)
		records += stream_collect_round(collector, target, false);
	records += stream_collect_round(collector, target, true);
	stream_collect_rest(collector);
	return records;
}

static uint64
collect_here(StreamCollector *collector, XLogRecPtr target)
{
	uint64 records = 0;

	PG_TRY();
	{
		records = collect_all(collector, target);
	}
	PG_CATCH();
	{
		stream_collector_abandon(collector);
		PG_RE_THROW();
	}
	PG_END_TRY();
	stream_collector_close(collector);
	return records;
}

/* Waits; returns false if the collector ended before it got there, or its progress is not known. */
static bool
wait_for_other(XLogRecPtr target, StreamProgress *progress)
{
	while (stream_collector_progress(progress, true))
	{
		if (progress->reached >= target)
			return true;
		stream_wait_for_progress(LOOK_AGAIN);
	}
	return false;
}

/*
 * Waits for the running collector to collect everything; if there is none, collects here.  The
 * session that holds the lock may not have reported its progress yet, or never does without shared
 * memory; in both cases it releases the lock at some time.
 */
static uint64
collect_or_wait(StreamCollector *collector, XLogRecPtr target)
{
	StreamProgress before = {0};
	StreamProgress after;

	for (;;)
	{
		before.records = 0;
		(void) stream_collector_progress(&before, false);
		if (stream_collector_open(collector))
			return collect_here(collector, target);
		if (wait_for_other(target, &after))
			/* another collector than before counts from zero */
			return after.records - Min(before.records, after.records);
		/* no snapshot is kept meanwhile, and what is committed meanwhile is seen */
		collect_commit();
		work_sleep(LOOK_FOR_LOCK);
	}
}

static Datum
make_result(uint64 records)
{
	TupleDesc desc = CreateTemplateTupleDesc(1);
	Datum value = Int64GetDatum((int64) records);
	bool isnull = false;

	TupleDescInitEntry(desc, 1, "collected", INT8OID, -1, 0);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), &value, &isnull));
}

PG_FUNCTION_INFO_V1(dyn_collect_streams);

Datum
dyn_collect_streams(PG_FUNCTION_ARGS)
{
	StreamCollector collector = {.begin = collect_begin, .commit = collect_commit};
	uint64 records;

	connect_to_collect(fcinfo);
	collect_commit();
	records = collect_or_wait(&collector, end_of_wal());
	SPI_finish();
	return make_result(records);
}
