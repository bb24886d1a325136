/*
 * record.h
 *	  A record of a change of an item: what it says, its place in the stream, its texts.
 *
 * The place of a record is that of its transaction, which is where the record of the commit begins
 * in the WAL, and its number among the transaction's records.  It depends on nothing else, so what
 * is decoded again has the same places, and in the order of commits they grow.
 */
#ifndef DYNAMO_TABLE_SERVICES_STREAM_RECORD_H
#define DYNAMO_TABLE_SERVICES_STREAM_RECORD_H

#include "access/xlogdefs.h"
#include "datatype/timestamp.h"

#include "catalog/definition/stream_label.h"
#include "catalog/definition/table_settings.h"
#include "item/item.h"

/* The collector notifies this channel, with the table's name, quoted and with its schema. */
#define STREAM_CHANNEL "dynamo_table_stream"

typedef enum StreamEvent
{
	STREAM_INSERT = 'I',
	STREAM_MODIFY = 'M',
	STREAM_REMOVE = 'R',
	STREAM_TRUNCATE = 'T' /* of the whole table: it has no keys, and each open shard gets one */
} StreamEvent;

/* ordinal counts from 1, so (lsn, 0) is just before what was committed there. */
typedef struct StreamPlace
{
	XLogRecPtr lsn;
	uint64 ordinal;
} StreamPlace;

/* No record is behind it; its number is one that SQL has, too. */
#define STREAM_PLACE_LAST ((StreamPlace){PG_UINT64_MAX, PG_INT64_MAX})

typedef struct StreamRecord
{
	Oid relid;
	ItemSpan table; /* DynamoDB's name of it */
	int64 stream; /* label; 0: it has none that is enabled */
	DynStreamView view;
	int shard;
	StreamPlace place;
	StreamEvent event;
	bool repeated; /* another shard has the same one */
	bool expired; /* time to live removed it */
	bool incomplete; /* the WAL does not have an image that the view has */
	TimestampTz committed;
	int size; /* bytes of keys and images, as DynamoDB counts them */
	const DynItem *keys; /* NULL: the whole table */
	const DynItem *new_image; /* NULL: none, or not in the view */
	const DynItem *old_image;
	/* of a shard of a distributed table, as the decoder sees it: Citus' number of it, or 0 */
	int64 citus_shard;
	ItemSpan relation; /* of the table */
	Oid schema;
	Oid owner;
	int64 epoch; /* of a shard of a distributed table, as sequence numbers have it; or 0 */
	int node; /* likewise */
	const char *region; /* of the request that another node has sent on; NULL: that of ARNs here */
} StreamRecord;

/* A StreamFormat says how a record is written. */
typedef enum StreamFormat
{
	STREAM_TYPED, /* images as DynamoDB JSON, in the shape of events for functions */
	STREAM_PLAIN, /* the same with images as plain JSON */
	STREAM_API /* as GetRecords has it */
} StreamFormat;

#define STREAM_SEQUENCE_LENGTH 33
#define STREAM_SEQUENCE_MAX 40

static inline int
stream_place_compare(StreamPlace a, StreamPlace b)
{
	if (a.lsn != b.lsn)
		return a.lsn < b.lsn ? -1 : 1;
	return a.ordinal < b.ordinal ? -1 : a.ordinal > b.ordinal ? 1 : 0;
}

/* sequence.c */
extern char *stream_sequence_print(StreamPlace place, char text[STREAM_SEQUENCE_LENGTH + 1]);
extern bool stream_sequence_parse(ItemSpan text, StreamPlace *place);
extern char *stream_sequence_print_in(int64 epoch, StreamPlace place,
									  char text[STREAM_SEQUENCE_MAX + 1]);
extern bool stream_sequence_parse_in(ItemSpan text, int64 *epoch, StreamPlace *place);

/* print.c */
extern const char *stream_event_name(StreamEvent event);
extern void stream_record_print(StringInfo out, const StreamRecord *record, StreamFormat format);

#endif
