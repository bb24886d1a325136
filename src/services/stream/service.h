/*
 * service.h
 *	  Change streams as a service of background workers, and what these share with sessions that
 *	  collect themselves.
 */
#ifndef DYNAMO_TABLE_SERVICES_STREAM_SERVICE_H
#define DYNAMO_TABLE_SERVICES_STREAM_SERVICE_H

#include "access/xlogdefs.h"

#include "server/work/service.h"

typedef struct StreamProgress
{
	XLogRecPtr reached; /* all before has been collected and committed */
	TimestampTz reached_at;
	uint64 records; /* since it began */
	bool waits; /* for a free worker */
	bool fails; /* since none has come further after that */
	TimestampTz failed_at; /* 0: none has failed */
	char error[256]; /* that the last one has failed with */
} StreamProgress;

/* service.c */
extern const Service stream_service;

/* progress.c */
extern Size stream_progress_size(void);
extern void stream_progress_start(void);
extern void stream_collector_enters(XLogRecPtr reached);
extern void stream_collector_reaches(XLogRecPtr reached, uint64 records);
extern void stream_collector_leaves(void);
extern void stream_collector_waits(Oid database, bool waits);
extern void stream_collector_fails(const char *error);
extern bool stream_collector_progress(StreamProgress *progress, bool wake);
extern void stream_wait_for_progress(int milliseconds);

#endif
