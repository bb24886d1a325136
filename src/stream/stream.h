/*
 * stream.h
 *	  Change streams: what their files share.
 */
#ifndef DYNAMO_TABLE_STREAM_STREAM_H
#define DYNAMO_TABLE_STREAM_STREAM_H

#include "storage/lock.h"

#include "catalog/table.h"
#include "stream/record.h"

/* The output plugin's name is the library's; the one slot of a database has the database's OID. */
#define STREAM_PLUGIN "dynamo_table"
#define STREAM_SLOT "dynamo_table_%u"

#define STREAM_RECORDS_TABLE "dyn_stream_records"
#define STREAM_STATE_TABLE "dyn_stream_state"
#define STREAM_GAPS_TABLE "dyn_stream_gaps"
#define STREAM_TRIMMED_TABLE "dyn_stream_trimmed"

/* settings.c */
extern bool dyn_stream_collector;
extern int dyn_stream_poll_interval; /* milliseconds */
extern int dyn_stream_retention; /* seconds */
extern int dyn_stream_shards;
extern void dyn_stream_init(void);

/* shared.c */
extern void stream_wait_for_records(int milliseconds);

/* lock.c: the fields of advisory locks */
typedef enum StreamLock
{
	STREAM_LOCK_LIFE = 1,
	STREAM_LOCK_SLOT
} StreamLock;

extern bool stream_try_lock(StreamLock lock, LOCKMODE mode, bool session);
extern void stream_unlock(StreamLock lock, LOCKMODE mode);
extern int stream_slot_holder(void);
extern void stream_take_slot(void);

#endif
