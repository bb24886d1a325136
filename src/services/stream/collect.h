/*
 * collect.h
 *	  Collecting: moving records of changes from the slot into the extension's tables.
 */
#ifndef DYNAMO_TABLE_SERVICES_STREAM_COLLECT_H
#define DYNAMO_TABLE_SERVICES_STREAM_COLLECT_H

#include "server/compat.h"
#include "services/stream/decoder.h"

/* A StreamPartition has the records of a span of time, whose upper bound is exclusive. */
typedef struct StreamPartition
{
	Oid relid;
	TimestampTz lower;
	TimestampTz upper;
} StreamPartition;

/* A StreamState is the database's row of stream_state. */
typedef struct StreamState
{
	XLogRecPtr collected;
	TimestampTz collected_at; /* by the clock */
	TimestampTz records_at; /* what was collected then got this time */
	TimestampTz last_commit;
} StreamState;

/* A StreamSafety says up to where the WAL has to be stored until what was collected is safe. */
typedef struct StreamSafety
{
	XLogRecPtr collected; /* Invalid: nothing to be confirmed */
	XLogRecPtr stored;
} StreamSafety;

/* A StreamHelp is for standbys that cannot take the slot over before it has moved on. */
typedef struct StreamHelp
{
	TimestampTz given;
	int pause; /* milliseconds until it may be given again */
	XLogRecPtr running; /* a record of what was running; Invalid: the slot has passed it */
} StreamHelp;

typedef struct StreamCollector
{
	/* how the caller's transactions begin and end */
	void (*begin)(void);
	void (*commit)(void);

	StreamState state; /* the row's contents; no other session changes it meanwhile */
	StreamDecoder *decoder;
	OriginId origin; /* that the session has otherwise */
	StreamPartition partition; /* the last one that was written to */
	StreamSafety first; /* to be confirmed when standbys that count have it */
	StreamSafety last; /* and then */
	/* by the time that never goes back */
	TimestampTz noted; /* when the state was written */
	TimestampTz trimmed; /* when it was last looked for what has expired */
	StreamHelp help;
	bool distributed; /* Citus is installed in the database */
	TimestampTz watched; /* when its catalogs were looked at, by the clock */
} StreamCollector;

/* collect.c */
extern bool stream_collector_open(StreamCollector *collector);
extern uint64 stream_collect_round(StreamCollector *collector, XLogRecPtr limit, bool note);
extern void stream_collect_rest(StreamCollector *collector);
extern void stream_collector_close(StreamCollector *collector);
extern void stream_collector_abandon(StreamCollector *collector);

/* standby.c */
extern void stream_help_standbys(StreamHelp *help);
extern void stream_help_reset(StreamHelp *help);

/* watch.c */
extern void stream_watch(StreamCollector *collector);
extern void stream_watch_records(StreamCollector *collector, const StreamRound *round);
extern List *stream_watch_tables(const StreamCollector *collector, List *relids);

/* append.c */
extern void stream_append(Oid partition, StreamDecoder *decoder);
extern void stream_notify(List *relids);

/* partition.c */
extern void stream_partition_for(TimestampTz time, StreamPartition *partition);
extern bool stream_trim(TimestampTz time);

#endif
