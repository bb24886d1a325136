/*
 * collect.c
 *	  Collecting: rounds that move records of changes from the slot into the extension's tables.
 *
 * One transaction stores the records of a round and how far it has come, in stream_state; the next
 * round goes on there, whatever happens meanwhile, so each record is stored exactly once.  The
 * place of the slot itself comes behind: the slot is moved on, and may forget what was decoded,
 * only when the transaction is safe on disk.  So it is never ahead of the records, and if it is
 * behind them, decoding leaves out what was stored.
 *
 * The transaction's records are rows that logical decoding leaves out, and the other rows that it
 * writes have an origin that is not replicated, so collecting gives nothing to collect.  Nor do
 * they have to be decoded, which is impossible where ALTER DATABASE SET TABLESPACE has moved the
 * tables meanwhile.  The commit does not have that origin, which other output plugins would look up
 * in the catalog.
 *
 * Lock order: STREAM_LOCK_SLOT, the extension, the row of stream_state, a partition.  A partition is
 * dropped in a transaction of its own.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "replication/origin.h"
#include "replication/slot.h"
#include "utils/lsyscache.h"
#include "utils/pg_lsn.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "server/compat.h"
#include "server/extension.h"
#include "server/sql.h"
#include "server/work/owned.h"
#include "services/stream/collect.h"
#include "services/stream/service.h"

/* While there is nothing to collect, how far that has come is noted after so much: milliseconds, bytes. */
#define IDLE_TIME 1000
#define IDLE_BYTES (16 * 1024 * 1024)

/* So many milliseconds at least and at most are between two looks for what has expired. */
#define MIN_TRIM_PAUSE 1000
#define MAX_TRIM_PAUSE 60000

/* Retentions are looked at so many times as long as they last. */
#define TRIMS 48

/*
 * Transactions
 */

static void
begin_writing(void)
{
	(void) extension_lock(true);
	session_origin = DoNotReplicateId;
	SPI_connect();
	PushActiveSnapshot(GetTransactionSnapshot());
}

static void
commit_writing(StreamCollector *collector)
{
	PopActiveSnapshot();
	SPI_finish();
	stream_decoder_leave_out(collector->decoder, GetTopTransactionIdIfAny());
	session_origin = collector->origin;
	collector->commit();
}

/*
 * The state
 */

static void
read_state(StreamCollector *collector)
{
	StreamState *state = &collector->state;

	if (owned_execute(STREAM_STATE_TABLE,
					  "SELECT collected, collected_at, records_at FROM " DYN_INTERNAL
					  "." STREAM_STATE_TABLE " WHERE database = $1",
					  SQL_VALUES(SQL_OID(MyDatabaseId))) != 1)
		stream_fail_slot(STREAM_NOT_SET_UP);
	state->collected = DatumGetLSN(owned_value(1));
	state->collected_at = DatumGetTimestampTz(owned_value(2));
	state->records_at = DatumGetTimestampTz(owned_value(3));
}

/* Writes the state; raises an error if it has changed, which only who has the slot may do. */
static void
write_state(StreamCollector *collector, const StreamState *next)
{
	if (owned_execute(
			STREAM_STATE_TABLE,
			"UPDATE " DYN_INTERNAL "." STREAM_STATE_TABLE
			" SET collected = $3, collected_at = $4, records_at = $5, last_commit = "
			"coalesce($6, last_commit) WHERE database = $1 AND collected = $2",
			SQL_VALUES(SQL_OID(MyDatabaseId), SQL_LSN(collector->state.collected),
					   SQL_LSN(next->collected), SQL_TIME(next->collected_at),
					   SQL_TIME(next->records_at),
					   SQL_NULLABLE(TIMESTAMPTZOID, TimestampTzGetDatum(next->last_commit),
									next->last_commit == 0))) != 1)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("the state of change streams was changed while changes were "
							   "collected")));
}

/*
 * Confirming
 */

static bool
try_confirm(StreamSafety *safety)
{
	if (XLogRecPtrIsInvalid(safety->collected) ||
		!slot_may_confirm(MyReplicationSlot, safety->stored))
		return false;
	LogicalConfirmReceivedLocation(safety->collected);
	/* else a restart would lose the place, and decode much again */
	ReplicationSlotMarkDirty();
	safety->collected = InvalidXLogRecPtr;
	return true;
}

/*
 * Lets the slot go on as far as that is safe: where a standby takes the slot over, as far as the
 * standby has the records, too.  The standby may be behind all the time.  So two places are kept,
 * the last one, and the first one that the standby has not come to.
 */
static void
confirm(StreamCollector *collector)
{
	if (!XLogRecPtrIsInvalid(collector->first.collected) && !try_confirm(&collector->first))
		return;
	if (!try_confirm(&collector->last))
	{
		collector->first = collector->last;
		collector->last.collected = InvalidXLogRecPtr;
	}
}

/* The last transaction was a round's. */
static void
make_safe(StreamCollector *collector)
{
	XLogFlush(XactLastCommitEnd);
	collector->last.collected = collector->state.collected;
	collector->last.stored = XactLastCommitEnd;
	confirm(collector);
}

/*
 * Rounds
 */

/*
 * Returns the time, but never goes back.  It goes on where it was if the clock is set back, so that
 * there are new partitions and old ones expire.
 */
static TimestampTz
steady_time(const StreamState *state, TimestampTz now)
{
	return Max(now, state->records_at + Max(now - state->collected_at, 0));
}

/* To note it is a write, so it is for what others have written, or a server would never be idle. */
static bool
is_to_be_noted(const StreamCollector *collector, TimestampTz now)
{
	const StreamDecoder *decoder = collector->decoder;

	return decoder->reached - collector->state.collected >= IDLE_BYTES ||
		   (!XLogRecPtrIsInvalid(collector->help.running) &&
			decoder->reached >= collector->help.running) ||
		   (decoder->others && TimestampDifferenceExceeds(collector->noted, now, IDLE_TIME));
}

/* Writes the gaps, so that readers of what was passed over are told so, as of any gap. */
static void
write_gaps(const StreamRound *round, TimestampTz noticed)
{
	ListCell *cell;

	foreach (cell, round->passed)
	{
		const StreamSpot *spot = lfirst(cell);
		char *table = OidIsValid(spot->relid) ? get_rel_name(spot->relid) : NULL;

		stream_gap_write(spot->lsn, spot->lsn + 1, noticed, spot->relid);
		ereport(
			LOG,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 OidIsValid(spot->relid)
				 ? errmsg("changes of table \"%s\" (OID %u) in the transaction committed at " LSN
						  " are in no stream, since collectors have died there",
						  table == NULL ? "?" : table, spot->relid, LSN_FORMAT_ARGS(spot->lsn))
				 : errmsg("changes in the transaction committed at " LSN " are in no stream, "
						  "since collectors have died there",
						  LSN_FORMAT_ARGS(spot->lsn)),
			 errhint("Readers of streams that were enabled then are told so.")));
	}
	foreach (cell, round->torn)
	{
		const StreamSpot *spot = lfirst(cell);

		stream_gap_write(spot->lsn, spot->lsn + 1, noticed, InvalidOid);
	}
	foreach (cell, round->lost)
	{
		const StreamSpot *spot = lfirst(cell);

		stream_gap_move(spot->lsn, noticed, spot->relid);
	}
}

static void
write_ends(StreamCollector *collector, TimestampTz time)
{
	ListCell *cell;

	foreach (cell, collector->decoder->round.ends)
	{
		const StreamEnd *end = lfirst(cell);

		stream_end_write(end->relid, end->stream, end->generation, end->place, time);
	}
}

static void
store_round(StreamCollector *collector, const StreamState *next)
{
	StreamRound *round = &collector->decoder->round;

	begin_writing();
	write_state(collector, next);
	if (round->records > 0)
	{
		stream_partition_for(round->collected, &collector->partition);
		stream_append(collector->partition.relid, collector->decoder);
		stream_watch_records(collector, round);
		stream_notify(stream_watch_tables(collector, round->relations));
	}
	write_ends(collector, next->records_at);
	write_gaps(round, next->records_at);
	stream_decoder_end_round(collector->decoder);
	commit_writing(collector);
	collector->state = *next;
	collector->noted = next->records_at;
	if (collector->decoder->others)
		stream_help_reset(&collector->help);
	collector->decoder->others = false;
	if (next->collected >= collector->help.running)
		collector->help.running = InvalidXLogRecPtr;
}

/* Notes that whatever earlier collectors died of is behind. */
static void
note_success(StreamDecoder *decoder, XLogRecPtr limit)
{
	if (decoder->seen >= limit)
		stream_attempt_went_well(&decoder->attempt);
}

/*
 * Collects what was committed up to a place, or the first part of it; returns how many records that
 * is.  note: write how far it has come even if there are none.
 */
uint64
stream_collect_round(StreamCollector *collector, XLogRecPtr limit, bool note)
{
	StreamDecoder *decoder = collector->decoder;
	TimestampTz now = GetCurrentTimestamp();
	StreamState next = {.collected_at = now, .records_at = steady_time(&collector->state, now)};
	uint64 records;

	collector->begin();
	stream_decoder_read(decoder, limit, next.records_at);
	next.collected = decoder->reached;
	next.last_commit = decoder->round.last_commit;
	records = decoder->round.records;
	note &= next.collected > collector->state.collected;
	note |= decoder->round.ends != NIL || decoder->round.passed != NIL ||
			decoder->round.torn != NIL || decoder->round.lost != NIL;
	if (records == 0 && !note && !is_to_be_noted(collector, next.records_at))
	{
		stream_decoder_end_round(decoder);
		collector->commit();
		note_success(decoder, limit);
		stream_collector_reaches(decoder->seen, 0);
		return 0;
	}
	store_round(collector, &next);
	/* what a crash could take back is collected again with the same places, so readers may have it */
	stream_collector_reaches(decoder->seen, records);
	make_safe(collector);
	note_success(decoder, limit);
	return records;
}

/*
 * Does what is not for a round: drop what has expired, now and then, confirm what was not safe yet,
 * let standbys take the slot over, and look which shards of distributed tables are here.
 */
void
stream_collect_rest(StreamCollector *collector)
{
	int pause =
		Min(Max(dyn_stream_retention * INT64CONST(1000) / TRIMS, MIN_TRIM_PAUSE), MAX_TRIM_PAUSE);
	TimestampTz time = steady_time(&collector->state, GetCurrentTimestamp());
	bool dropped = true;

	confirm(collector);
	stream_watch(collector);
	stream_help_standbys(&collector->help);
	if (!TimestampDifferenceExceeds(collector->trimmed, time, pause))
		return;
	while (dropped)
	{
		CHECK_FOR_INTERRUPTS();
		collector->begin();
		begin_writing();
		dropped = stream_trim(time);
		commit_writing(collector);
	}
	collector->trimmed = time;
}

/*
 * Opening and closing
 */

static TupleDesc
record_row(void)
{
	Relation rel = table_open(owned_table(STREAM_RECORDS_TABLE), AccessShareLock);
	TupleDesc row = CreateTupleDescCopy(RelationGetDescr(rel));

	if (row->natts != RECORD_COLUMNS)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("table \"%s\" is not that of this version of the library",
							   RelationGetRelationName(rel)),
						errhint("ALTER EXTENSION dynamo_table UPDATE.")));
	table_close(rel, AccessShareLock);
	return row;
}

static void
open_decoder(StreamCollector *collector)
{
	SPI_connect();
	stream_require_slot();
	read_state(collector);
	SPI_finish();
	check_decoding();
	collector->decoder = stream_decoder_open(collector->state.collected, record_row());
}

/*
 * Opens the collector in a transaction that sees what was committed before, connected to nothing;
 * the schema and the functions for transactions are set.  False if another session collects.
 */
bool
stream_collector_open(StreamCollector *collector)
{
	if (!stream_try_lock(STREAM_LOCK_SLOT, ExclusiveLock, true))
		return false;
	PG_TRY();
	{
		open_decoder(collector);
	}
	PG_CATCH();
	{
		stream_unlock(STREAM_LOCK_SLOT, ExclusiveLock);
		PG_RE_THROW();
	}
	PG_END_TRY();
	stream_collector_enters(collector->state.collected);
	collector->origin = session_origin;
	return true;
}

static void
collect_leave(StreamCollector *collector)
{
	collector->decoder = NULL;
	session_origin = collector->origin;
	stream_collector_leaves();
	stream_unlock(STREAM_LOCK_SLOT, ExclusiveLock);
}

/*
 * Releases the slot and lets others collect, at the end of a round that was stored.  After an error
 * it is stream_collector_abandon() that does so.
 */
void
stream_collector_close(StreamCollector *collector)
{
	stream_decoder_close(collector->decoder);
	collect_leave(collector);
}

/* Abandons the collector after an error, if it is open. */
void
stream_collector_abandon(StreamCollector *collector)
{
	if (collector->decoder == NULL)
		return;
	stream_decoder_abandon(collector->decoder);
	collect_leave(collector);
}
