/*
 * read.h
 *	  Reading streams: positions, the log of collected records, reads by table and stream.
 */
#ifndef DYNAMO_TABLE_SERVICES_STREAM_READ_H
#define DYNAMO_TABLE_SERVICES_STREAM_READ_H

#include "utils/snapshot.h"

#include "catalog/definition/stream_shards.h"
#include "services/stream/stream.h"

/* A StreamPosition says where a read begins. */
typedef struct StreamPosition
{
	bool horizon; /* at the oldest record that is left */
	StreamPlace after; /* otherwise after this place */
} StreamPosition;

/* A StreamTarget is a stream that the caller may read. */
typedef struct StreamTarget
{
	Oid relid;
	ItemSpan table; /* as the caller names it */
	DynStream stream;
	int nolder; /* streams of the table before this one that are still listed */
	int64 *older; /* their labels */
	/* of a shard of a distributed table: that, and when the shard came here; or InvalidOid */
	Oid distributed;
	TimestampTz began;
} StreamTarget;

typedef struct StreamRead
{
	StreamPosition position;
	int shard; /* -1: all */
	int64 max_records; /* 0: no limit */
	int64 max_bytes; /* likewise; one record may have more */
} StreamRead;

typedef struct StreamReadResult
{
	int64 count;
	StreamPosition next; /* where to go on */
	bool
		ended; /* there will be no more: the shard, or the stream, was closed, and that is collected */
} StreamReadResult;

/* It returns false if it wants no more.  The record lives until the callback returns. */
typedef bool (*StreamRecordCallback)(const StreamRecord *record, void *arg);

/* position.c */
extern XLogRecPtr stream_wal_position(void);
extern StreamPosition stream_position_latest(void);
extern StreamPosition stream_position_after(StreamPlace place);
extern StreamPosition stream_position_at(StreamPlace place);
extern StreamPosition stream_position_parse(ItemSpan text);

/* target.c */
extern bool stream_is_kept(const DynStream *stream);
extern const DynStream *stream_find(const DynSettings *settings, int64 label);
extern void stream_set_target(StreamTarget *target, const DynTable *table, const DynStream *stream,
							  ItemSpan name);
extern void stream_check_reader(Relation rel);

/*
 * log.c
 */

/* A StreamLog is what was collected, as one snapshot shows it. */
typedef struct StreamLog
{
	Relation records; /* partitioned */
	Oid index;
	int npartitions;
	Oid *partitions; /* in the order of time, which is that of places */
	Snapshot snapshot;
	Snapshot newest; /* for what must be seen even where the snapshot is an old one */
} StreamLog;

/* A StreamGap says where changes were not collected. */
typedef struct StreamGap
{
	XLogRecPtr after;
	XLogRecPtr before;
	TimestampTz noticed;
	Oid relid; /* InvalidOid: of any table */
} StreamGap;

/* A StreamClosing is the end of a generation of shards, if it was collected. */
typedef struct StreamClosing
{
	bool known;
	StreamPlace place;
	TimestampTz time; /* of its collection, as records have it */
} StreamClosing;

/* A StreamScan is of one relation and stream, from after a place. */
typedef struct StreamScan
{
	Oid relid;
	const DynStream *stream;
	StreamPlace after;
	XLogRecPtr before; /* or Invalid */
	int shard; /* -1: all */
} StreamScan;

extern void stream_log_open(StreamLog *log);
extern void stream_log_close(StreamLog *log);
extern bool stream_log_scan(const StreamLog *log, const StreamScan *scan,
							StreamRecordCallback callback, void *arg);
extern bool stream_log_last(const StreamLog *log, Oid relid, int64 stream, StreamPlace bound,
							StreamPlace *place);
extern StreamPlace stream_log_floor(const StreamLog *log, Oid relid, int64 stream);
extern int stream_log_gaps(const StreamLog *log, StreamGap **gaps);
extern XLogRecPtr stream_log_collected(const StreamLog *log);
/* A StreamPlacedRow is a shard of a distributed table that is, or was, on this node. */
typedef struct StreamPlacedRow
{
	Oid relid;
	int64 shard; /* Citus' number */
	int32 lower; /* of the hashes of its partition keys */
	int32 upper;
	TimestampTz began;
} StreamPlacedRow;

extern int stream_log_placements(const StreamLog *log, Oid distributed, int64 stream,
								 StreamPlacedRow **rows);
extern void stream_log_ends(const StreamLog *log, Oid relid, int64 stream,
							StreamClosing ends[DYN_MAX_GENERATIONS]);

/* read.c */
extern void stream_read(const StreamTarget *target, const StreamRead *read,
						StreamRecordCallback callback, void *arg, StreamReadResult *result);

/* A StreamGeneration is one of a stream's shards, which begin and end alike. */
typedef struct StreamGeneration
{
	bool listed; /* it has begun, and not all of it has expired */
	bool ended;
	StreamPlace first; /* of their records, at the earliest */
	StreamPlace last;
} StreamGeneration;

extern void stream_generations(const StreamTarget *target,
							   StreamGeneration generations[DYN_MAX_GENERATIONS]);

#endif
