/*
 * decoder.h
 *	  Reading records of changes from the database's slot, round by round.
 */
#ifndef DYNAMO_TABLE_STREAM_DECODER_H
#define DYNAMO_TABLE_STREAM_DECODER_H

#include "access/tupdesc.h"
#include "replication/logical.h"
#include "utils/tuplestore.h"

#include "stream/stream.h"

/* The columns of dyn_stream_records. */
enum
{
	RECORD_RELATION,
	RECORD_STREAM,
	RECORD_SHARD,
	RECORD_EVENT,
	RECORD_EXPIRED,
	RECORD_INCOMPLETE,
	RECORD_LSN,
	RECORD_ORDINAL,
	RECORD_COMMITTED,
	RECORD_COLLECTED,
	RECORD_SIZE,
	RECORD_KEYS,
	RECORD_NEW_IMAGE,
	RECORD_OLD_IMAGE,
	RECORD_COLUMNS
};

/* What one round has read: transactions as a whole, in the order of their commits. */
typedef struct StreamRound
{
	TimestampTz collected; /* of its records */
	Tuplestorestate *tuples; /* rows of dyn_stream_records; goes with the transaction */
	uint64 records;
	uint64 bytes;
	TimestampTz last_commit;
	List *relations; /* that have records in it */
} StreamRound;

typedef struct StreamDecoder
{
	MemoryContext context;
	LogicalDecodingContext *decoding;
	LogicalDecodeBeginCB begin; /* the plugin's */
	TupleDesc row; /* of dyn_stream_records */
	XLogRecPtr skipped; /* commits before this place were collected before */
	XLogRecPtr reached; /* all that begins before this place was read */
	XLogRecPtr seen; /* all that ends before this place was read */
	bool others; /* something was read that others wrote; for the caller to reset */
	bool historic; /* caches are of the time of a change */
	MemoryContext round_context;
	StreamRound round;
} StreamDecoder;

extern StreamDecoder *stream_decoder_open(XLogRecPtr collected, TupleDesc row);
extern void stream_decoder_read(StreamDecoder *decoder, XLogRecPtr limit, TimestampTz collected);
extern void stream_decoder_end_round(StreamDecoder *decoder);
extern void stream_decoder_close(StreamDecoder *decoder);
extern void stream_decoder_abandon(StreamDecoder *decoder);

#endif
