/*
 * decoder.h
 *	  Reading records of changes from the database's slot, round by round.
 */
#ifndef DYNAMO_TABLE_SERVICES_STREAM_DECODER_H
#define DYNAMO_TABLE_SERVICES_STREAM_DECODER_H

#include "access/tupdesc.h"
#include "replication/logical.h"
#include "utils/tuplestore.h"

#include "services/stream/attempt.h"
#include "services/stream/stream.h"

/* A StreamRound is what one round has read: transactions as a whole, in the order of commits. */
typedef struct StreamRound
{
	TimestampTz collected; /* of its records */
	Tuplestorestate *tuples; /* rows of stream_records; goes with the transaction */
	uint64 records;
	uint64 bytes;
	TimestampTz last_commit;
	List *relations; /* that have records in it */
	List *placed; /* of StreamPlaced: those of them that are shards of distributed tables */
	List *ends; /* of StreamEnd */
	List *passed; /* of StreamSpot: where collectors have died */
	List *torn; /* of StreamSpot: cannot be decoded; what was taken of it is not to be stored */
	List *lost; /* of StreamSpot: last changes of tables that the WAL does not have */
} StreamRound;

/* A StreamPlaced is a shard of a distributed table as its first record in the round has it. */
typedef struct StreamPlaced
{
	Oid relid;
	int64 stream;
	int64 shard; /* Citus' number */
	Oid schema;
	Oid owner;
	char *table; /* its table's name then */
	TimestampTz committed;
	XLogRecPtr lsn;
} StreamPlaced;

/* A StreamEnd is a generation of a stream's shards that was closed in the round. */
typedef struct StreamEnd
{
	Oid relid;
	int64 stream;
	int generation;
	StreamPlace place;
} StreamEnd;

/* These are more than are written between two looks at an otherwise idle WAL. */
#define DECODER_OWN 4

typedef struct StreamDecoder
{
	MemoryContext context;
	LogicalDecodingContext *decoding;
	OutputPluginCallbacks plugin; /* its own callbacks */
	StreamAttempt attempt;
	TupleDesc row; /* of stream_records */
	XLogRecPtr skipped; /* commits before this place were collected before */
	XLogRecPtr reached; /* all that begins before this place was read */
	XLogRecPtr seen; /* all that ends before this place was read */
	bool others; /* something was read that others wrote; for the caller to reset */
	TransactionId own[DECODER_OWN]; /* transactions that the caller wrote lately */
	bool historic; /* caches are of the time of a change */
	bool inside; /* the plugin is at work, not the server */
	MemoryContext round_context;
	StreamRound round;
} StreamDecoder;

extern StreamDecoder *stream_decoder_open(XLogRecPtr collected, TupleDesc row);
extern void stream_decoder_read(StreamDecoder *decoder, XLogRecPtr limit, TimestampTz collected);
extern void stream_decoder_leave_out(StreamDecoder *decoder, TransactionId xid);
extern void stream_decoder_end_round(StreamDecoder *decoder);
extern void stream_decoder_close(StreamDecoder *decoder);
extern void stream_decoder_abandon(StreamDecoder *decoder);

#endif
