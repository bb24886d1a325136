/*
 * decoder.c
 *	  Reading records of changes from the database's slot, round by round.
 *
 * A decoder stays open between transactions, and reads each round in one.  Decoding a change has the
 * catalogs looked at as they were then, and leaves that in the caches.  So they are emptied before
 * the first transaction of a round that is decoded, since what is in them is of now, and after
 * the last.  A round that has nothing of this database leaves them as they are.
 *
 * A decoder cannot go back.  If the records of a round are not stored, it is of no use any more, and
 * the next one begins where the records that are stored end.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "access/xlogutils.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "replication/decode.h"
#include "replication/slot.h"
#include "storage/lwlock.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/pg_lsn.h"
#include "utils/resowner.h"
#include "utils/timestamp.h"

#include "server/compat.h"
#include "server/quiet.h"
#include "services/stream/decoder.h"
#include "services/stream/plugin.h"
#include "services/stream/subject.h"

/* A round ends after so much, with the transaction that it is in: of records, of bytes of them, of WAL. */
#define ROUND_RECORDS 20000
#define ROUND_BYTES (16 * 1024 * 1024)
#define ROUND_WAL (32 * 1024 * 1024)

/*
 * What the plugin calls
 */

static StreamDecoder *
decoder_of(LogicalDecodingContext *decoding)
{
	return ((StreamPlugin *) decoding->output_plugin_private)->deliver_arg;
}

/* Begins a transaction of this database, which is decoded from here on. */
static void
begin_transaction(LogicalDecodingContext *decoding, ReorderBufferTXN *txn)
{
	StreamDecoder *decoder = decoder_of(decoding);

	if (!decoder->historic)
		InvalidateSystemCaches();
	decoder->historic = true;
	decoder->inside = true;
	stream_attempt_at(&decoder->attempt, txn->final_lsn, InvalidOid);
	decoder->plugin.begin_cb(decoding, txn);
	decoder->inside = false;
}

static void
commit_transaction(LogicalDecodingContext *decoding, ReorderBufferTXN *txn, XLogRecPtr lsn)
{
	StreamDecoder *decoder = decoder_of(decoding);

	decoder->inside = true;
	decoder->plugin.commit_cb(decoding, txn, lsn);
	decoder->inside = false;
	stream_attempt_at(&decoder->attempt, InvalidXLogRecPtr, InvalidOid);
}

static void
add_spot(StreamDecoder *decoder, List **spots, XLogRecPtr lsn, Oid relid)
{
	MemoryContext old = MemoryContextSwitchTo(decoder->round_context);
	StreamSpot *spot = palloc(sizeof(StreamSpot));

	*spot = (StreamSpot){lsn, relid};
	*spots = lappend(*spots, spot);
	MemoryContextSwitchTo(old);
}

/* Passes over a table once for a transaction; InvalidOid: over all tables. */
static void
pass_over(StreamDecoder *decoder, XLogRecPtr lsn, Oid relid)
{
	StreamRound *round = &decoder->round;
	const StreamSpot *last = round->passed == NIL ? NULL : llast(round->passed);

	if (last == NULL || last->lsn != lsn || last->relid != relid)
		add_spot(decoder, &round->passed, lsn, relid);
}

/* Returns whether collectors have died at the table's changes here, or this one will have. */
static bool
passes(StreamDecoder *decoder, const ReorderBufferTXN *txn, Oid relid)
{
	bool passed;

	stream_attempt_at(&decoder->attempt, txn->final_lsn, relid);
	passed = stream_attempt_passes_table(&decoder->attempt, relid);
	if (passed)
		pass_over(decoder, txn->final_lsn, relid);
	return passed;
}

static void
change_row(LogicalDecodingContext *decoding, ReorderBufferTXN *txn, Relation rel,
		   ReorderBufferChange *change)
{
	StreamDecoder *decoder = decoder_of(decoding);

	decoder->inside = true;
	if (!passes(decoder, txn, RelationGetRelid(rel)))
		decoder->plugin.change_cb(decoding, txn, rel, change);
	decoder->inside = false;
}

static void
truncate_tables(LogicalDecodingContext *decoding, ReorderBufferTXN *txn, int nrelations,
				Relation relations[], ReorderBufferChange *change)
{
	StreamDecoder *decoder = decoder_of(decoding);
	Relation *rest = palloc(nrelations * sizeof(Relation));
	int n = 0;

	decoder->inside = true;
	for (int i = 0; i < nrelations; i++)
	{
		if (!passes(decoder, txn, RelationGetRelid(relations[i])))
			rest[n++] = relations[i];
	}
	decoder->plugin.truncate_cb(decoding, txn, n, rest, change);
	pfree(rest);
	decoder->inside = false;
}

static void
take_message(LogicalDecodingContext *decoding, ReorderBufferTXN *txn, XLogRecPtr lsn,
			 bool transactional, const char *prefix, Size size, const char *text)
{
	StreamDecoder *decoder = decoder_of(decoding);

	decoder->inside = true;
	/* others are looked at when they come, before any transaction begins */
	if (transactional)
		stream_attempt_at(&decoder->attempt, txn->final_lsn, InvalidOid);
	decoder->plugin.message_cb(decoding, txn, lsn, transactional, prefix, size, text);
	decoder->inside = false;
}

/* Filters out the commit at which collectors die, and what the plugin filters out. */
static bool
filter_by_origin(LogicalDecodingContext *decoding, OriginId origin)
{
	StreamDecoder *decoder = decoder_of(decoding);
	XLogRecPtr lsn = decoding->reader->ReadRecPtr;

	if (stream_attempt_passes_transaction(&decoder->attempt, lsn))
	{
		pass_over(decoder, lsn, InvalidOid);
		return true;
	}
	return decoder->plugin.filter_by_origin_cb(decoding, origin);
}

static void
note_relation(StreamRound *round, Oid relid)
{
	/* most often it is that of the record before, which is the last one */
	if (round->relations == NIL || llast_oid(round->relations) != relid)
	{
		round->relations = list_delete_oid(round->relations, relid);
		round->relations = lappend_oid(round->relations, relid);
	}
}

static void
note_placed(StreamRound *round, const StreamRecord *record)
{
	StreamPlaced *placed;
	ListCell *cell;

	foreach (cell, round->placed)
	{
		placed = lfirst(cell);
		if (placed->relid == record->relid && placed->stream == record->stream)
			return;
	}
	placed = palloc(sizeof(StreamPlaced));
	*placed = (StreamPlaced){record->relid,     record->stream,   record->citus_shard,
							 record->schema,    record->owner,    span_string(record->relation),
							 record->committed, record->place.lsn};
	round->placed = lappend(round->placed, placed);
}

static void
set_item(Datum *values, bool *nulls, int column, const DynItem *item)
{
	values[column] = PointerGetDatum(item);
	nulls[column] = item == NULL;
}

static void
store_record(StreamDecoder *decoder, const StreamRecord *record)
{
	StreamRound *round = &decoder->round;
	Datum values[RECORD_COLUMNS];
	bool nulls[RECORD_COLUMNS] = {false};

	values[RECORD_RELATION] = ObjectIdGetDatum(record->relid);
	values[RECORD_STREAM] = Int64GetDatum(record->stream);
	values[RECORD_SHARD] = Int16GetDatum((int16) record->shard);
	values[RECORD_EVENT] = CharGetDatum((char) record->event);
	values[RECORD_EXPIRED] = BoolGetDatum(record->expired);
	values[RECORD_INCOMPLETE] = BoolGetDatum(record->incomplete);
	values[RECORD_LSN] = LSNGetDatum(record->place.lsn);
	values[RECORD_ORDINAL] = Int64GetDatum((int64) record->place.ordinal);
	values[RECORD_COMMITTED] = TimestampTzGetDatum(record->committed);
	values[RECORD_COLLECTED] = TimestampTzGetDatum(round->collected);
	values[RECORD_SIZE] = Int32GetDatum(record->size);
	set_item(values, nulls, RECORD_KEYS, record->keys);
	set_item(values, nulls, RECORD_NEW_IMAGE, record->new_image);
	set_item(values, nulls, RECORD_OLD_IMAGE, record->old_image);
	tuplestore_putvalues(round->tuples, decoder->row, values, nulls);
}

/* Keeps a record, as the plugin's context and subtransaction end before the round does. */
static void
take_record(StreamPlugin *plugin, const StreamRecord *record)
{
	StreamDecoder *decoder = plugin->deliver_arg;
	StreamRound *round = &decoder->round;
	MemoryContext old;

	if (record->place.lsn < decoder->skipped)
		return;
	old = MemoryContextSwitchTo(decoder->round_context);
	store_record(decoder, record);
	note_relation(round, record->relid);
	if (record->citus_shard != 0)
		note_placed(round, record);
	round->records++;
	round->bytes += record->size;
	round->last_commit = record->committed;
	MemoryContextSwitchTo(old);
}

static void
take_end(StreamPlugin *plugin, Oid relid, int64 stream, int generation)
{
	StreamDecoder *decoder = plugin->deliver_arg;
	MemoryContext old;
	StreamEnd *end;

	if (plugin->place.lsn < decoder->skipped)
		return;
	old = MemoryContextSwitchTo(decoder->round_context);
	end = palloc(sizeof(StreamEnd));
	*end = (StreamEnd){relid, stream, generation, plugin->place};
	decoder->round.ends = lappend(decoder->round.ends, end);
	MemoryContextSwitchTo(old);
}

/* Notes a loss once for a table. */
static void
take_loss(StreamPlugin *plugin, Oid relid)
{
	StreamDecoder *decoder = plugin->deliver_arg;
	ListCell *cell;

	if (plugin->place.lsn < decoder->skipped)
		return;
	foreach (cell, decoder->round.lost)
	{
		StreamSpot *spot = lfirst(cell);

		if (spot->relid == relid)
		{
			spot->lsn = plugin->place.lsn;
			return;
		}
	}
	add_spot(decoder, &decoder->round.lost, plugin->place.lsn, relid);
}

/*
 * Reading
 */

/*
 * Reads only what is flushed, so that nothing is waited for: a record may be flushed in part, and
 * the rest of it much later.
 */
static int
read_page(XLogReaderState *reader, XLogRecPtr page, int required, XLogRecPtr target, char *buffer)
{
	if (page + required > GetFlushRecPtr(NULL))
		return -1;
	return read_local_xlog_page(reader, page, required, target, buffer);
}

static bool
round_is_full(const StreamDecoder *decoder, XLogRecPtr from)
{
	const StreamRound *round = &decoder->round;

	return round->records >= ROUND_RECORDS || round->bytes >= ROUND_BYTES ||
		   decoder->decoding->reader->EndRecPtr - from >= ROUND_WAL;
}

static bool
is_own(const StreamDecoder *decoder, TransactionId xid)
{
	for (int i = 0; i < DECODER_OWN; i++)
	{
		if (TransactionIdIsValid(xid) && decoder->own[i] == xid)
			return true;
	}
	return false;
}

/* The server's own records, and the collector's changes, are no reason to say how far it has come. */
static bool
is_of_others(const StreamDecoder *decoder)
{
	XLogReaderState *reader = decoder->decoding->reader;

	return XLogRecGetRmid(reader) != RM_XLOG_ID && XLogRecGetRmid(reader) != RM_STANDBY_ID &&
		   !is_own(decoder, XLogRecGetXid(reader));
}

/* Notes a transaction, which is no reason for the next one. */
void
stream_decoder_leave_out(StreamDecoder *decoder, TransactionId xid)
{
	memmove(decoder->own + 1, decoder->own, (DECODER_OWN - 1) * sizeof(TransactionId));
	decoder->own[0] = xid;
}

/*
 * The server itself cannot decode a transaction: it never will, and has thrown it away, with the
 * subtransaction that it was decoded in.  Any user can write such transactions at any rate, by
 * INSERT … ON CONFLICT into a table with an index whose function writes.  So the collector does not
 * start over for them.
 */
static bool
is_undecodable(const StreamDecoder *decoder, XLogRecPtr lsn)
{
	return geterrcode() == ERRCODE_INTERNAL_ERROR && !decoder->inside &&
		   decoder->attempt.spot.lsn == lsn;
}

/* Drops what was taken of a torn transaction before, which must not be stored. */
static void
tear(StreamDecoder *decoder, XLogRecPtr lsn, const StreamRound *before)
{
	StreamPlugin *plugin = decoder->decoding->output_plugin_private;
	StreamRound *round = &decoder->round;
	ErrorData *error = CopyErrorData();

	FlushErrorState();
	ereport(LOG, (errcode(ERRCODE_DATA_CORRUPTED),
				  errmsg("the transaction committed at " LSN " cannot be decoded: %s",
						 LSN_FORMAT_ARGS(lsn), error->message)));
	FreeErrorData(error);
	stream_subjects_clear(plugin->subjects);
	stream_attempt_at(&decoder->attempt, InvalidXLogRecPtr, InvalidOid);
	add_spot(decoder, &round->torn, lsn, InvalidOid);
	round->records = before->records;
	round->last_commit = before->last_commit;
}

static void
decode_record(StreamDecoder *decoder)
{
	LogicalDecodingContext *decoding = decoder->decoding;
	XLogRecPtr lsn = decoding->reader->ReadRecPtr;
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	StreamRound before = decoder->round;

	PG_TRY();
	{
		LogicalDecodingProcessRecord(decoding, decoding->reader);
	}
	PG_CATCH();
	{
		if (!is_undecodable(decoder, lsn))
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
		tear(decoder, lsn, &before);
	}
	PG_END_TRY();
}

/* Reads a record; returns false if the next one is not there as a whole. */
static bool
read_record(StreamDecoder *decoder)
{
	LogicalDecodingContext *decoding = decoder->decoding;
	char *error = NULL;
	XLogRecord *record;

	/* the reader's buffers are made when they are needed, and stay */
	MemoryContextSwitchTo(decoder->context);
	record = XLogReadRecord(decoding->reader, &error);
	MemoryContextSwitchTo(decoder->round_context);
	if (error != NULL)
		ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
						errmsg("could not read the WAL of changes of items: %s", error)));
	if (record == NULL)
		return false;
	decoder->others |= is_of_others(decoder);
	decode_record(decoder);
	return true;
}

static void
begin_round(StreamDecoder *decoder, TimestampTz collected)
{
	MemoryContext old;

	MemoryContextReset(decoder->round_context);
	memset(&decoder->round, 0, sizeof(StreamRound));
	decoder->round.collected = collected;
	old = MemoryContextSwitchTo(decoder->round_context);
	decoder->round.tuples = tuplestore_begin_heap(false, false, work_mem);
	MemoryContextSwitchTo(old);
}

/* Returns whether there may be more before the limit. */
static bool
read_round(StreamDecoder *decoder, XLogRecPtr limit)
{
	XLogReaderState *reader = decoder->decoding->reader;
	XLogRecPtr from = reader->EndRecPtr;
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	bool more = true;

	while (more && !round_is_full(decoder, from))
	{
		more = reader->EndRecPtr < limit && read_record(decoder);
		/* a transaction that was decoded has left its own */
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
		CHECK_FOR_INTERRUPTS();
	}
	return more;
}

/*
 * Reads until a place or until there is enough for a round, in a transaction that has no XID.  All
 * records get the same time of collection.
 */
void
stream_decoder_read(StreamDecoder *decoder, XLogRecPtr limit, TimestampTz collected)
{
	XLogReaderState *reader = decoder->decoding->reader;
	volatile bool more = true;

	begin_round(decoder, collected);
	PG_TRY();
	{
		more = read_round(decoder, limit);
	}
	PG_CATCH();
	{
		stream_attempt_fail(&decoder->attempt, geterrcode());
		PG_RE_THROW();
	}
	PG_END_TRY();
	/* at first, what was collected before is read once more */
	decoder->reached = Max(decoder->reached, reader->EndRecPtr);
	decoder->seen = Max(decoder->seen, more ? reader->EndRecPtr : limit);
	if (decoder->historic)
		InvalidateSystemCaches();
	decoder->historic = false;
}

/* Ends a round before the transaction ends, or it would tell of a file that was left open. */
void
stream_decoder_end_round(StreamDecoder *decoder)
{
	tuplestore_end(decoder->round.tuples);
	decoder->round.tuples = NULL;
}

/*
 * Opening and closing
 */

static LogicalDecodingContext *
start_decoding(XLogRecPtr from)
{
	List *options = list_make1(makeDefElem("only-streams", (Node *) makeString(pstrdup("on")), -1));

	return CreateDecodingContext(from, options, false,
								 XL_ROUTINE(.page_read = read_page,
											.segment_open = wal_segment_open,
											.segment_close = wal_segment_close),
								 NULL, NULL, NULL);
}

/*
 * Opens decoding in a transaction that has no XID; the slot is acquired, and is to be read from the
 * place up to which all was collected, at which it is or behind.
 */
static void
open_decoding(StreamDecoder *decoder, XLogRecPtr collected)
{
	LogicalDecodingContext *decoding = start_decoding(collected);
	StreamPlugin *plugin = decoding->output_plugin_private;

	decoder->decoding = decoding;
	decoder->plugin = decoding->callbacks;
	decoding->callbacks.begin_cb = begin_transaction;
	decoding->callbacks.commit_cb = commit_transaction;
	decoding->callbacks.change_cb = change_row;
	decoding->callbacks.truncate_cb = truncate_tables;
	decoding->callbacks.message_cb = take_message;
	decoding->callbacks.filter_by_origin_cb = filter_by_origin;
	plugin->deliver = take_record;
	plugin->close = take_end;
	plugin->lose = take_loss;
	plugin->deliver_arg = decoder;
	XLogBeginRead(decoding->reader, MyReplicationSlot->data.restart_lsn);
}

/* The slot was ready when it was looked at, but another session may have used it since. */
StreamDecoder *
stream_decoder_open(XLogRecPtr collected, TupleDesc row)
{
	MemoryContext context =
		AllocSetContextCreate(TopMemoryContext, "dynamo_table decoder", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	StreamDecoder *decoder = palloc0(sizeof(StreamDecoder));

	decoder->context = context;
	decoder->attempt.file = -1;
	decoder->round_context =
		AllocSetContextCreate(context, "dynamo_table round", ALLOCSET_DEFAULT_SIZES);
	decoder->row = CreateTupleDescCopy(row);
	decoder->skipped = decoder->reached = decoder->seen = collected;
	MemoryContextSwitchTo(old);
	quiet_begin(QUIET_DECODING);
	PG_TRY();
	{
		acquire_slot(stream_slot_name());
		/* since it was looked at; only some versions look themselves */
		if (XLogRecPtrIsInvalid(MyReplicationSlot->data.restart_lsn))
			stream_fail_slot(STREAM_SLOT_LOST);
		/* what is behind the confirmed place cannot be decoded any more */
		if (MyReplicationSlot->data.confirmed_flush > collected)
			stream_fail_slot(STREAM_SLOT_AHEAD);
		stream_attempt_begin(&decoder->attempt);
		MemoryContextSwitchTo(context);
		open_decoding(decoder, collected);
		MemoryContextSwitchTo(old);
	}
	PG_CATCH();
	{
		stream_decoder_abandon(decoder);
		PG_RE_THROW();
	}
	PG_END_TRY();
	return decoder;
}

/* Closes the decoder at the end of a round that was stored. */
void
stream_decoder_close(StreamDecoder *decoder)
{
	stream_attempt_end(&decoder->attempt);
	FreeDecodingContext(decoder->decoding);
	ReplicationSlotRelease();
	quiet_end(QUIET_DECODING);
	MemoryContextDelete(decoder->context);
}

/* Abandons the decoder after an error, in whatever state that has left it. */
void
stream_decoder_abandon(StreamDecoder *decoder)
{
	quiet_end(QUIET_DECODING);
	stream_attempt_end(&decoder->attempt);
	/* the slot takes some */
	LWLockReleaseAll();
	if (MyReplicationSlot != NULL)
		ReplicationSlotRelease();
	if (decoder->decoding != NULL)
		XLogReaderFree(decoder->decoding->reader);
	InvalidateSystemCaches();
	MemoryContextDelete(decoder->context);
}
