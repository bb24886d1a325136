/*
 * background.h
 *	  What the background workers of change streams share, and who collects without them.
 */
#ifndef DYNAMO_TABLE_STREAM_BACKGROUND_H
#define DYNAMO_TABLE_STREAM_BACKGROUND_H

#include "access/xlogdefs.h"
#include "datatype/timestamp.h"

typedef struct StreamProgress
{
	XLogRecPtr reached; /* all before has been collected and committed */
	TimestampTz reached_at;
	uint64 records; /* since he began */
} StreamProgress;

/* shared.c */
extern void stream_shared_init(void);
extern void stream_collector_enters(XLogRecPtr reached);
extern void stream_collector_reaches(XLogRecPtr reached, uint64 records);
extern void stream_collector_leaves(void);
extern bool stream_collector_progress(StreamProgress *progress, bool wake);
extern void stream_wait_for_progress(int milliseconds);
extern bool stream_is_collected(Oid database);

/* launcher.c */
extern void stream_launcher_init(void);
extern PGDLLEXPORT void dyn_stream_launcher_main(Datum unused);

/* worker.c */
extern PGDLLEXPORT void dyn_stream_worker_main(Datum database);

#endif
