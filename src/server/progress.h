/*
 * progress.h
 *	  Progress of long work, reported by a NOTICE at intervals.
 *
 * Work of one statement is not reported in pg_stat_progress_*: a session has only one such entry.
 * COPY and CREATE INDEX use it while they run this work, and nothing clears it when a function is
 * left before its end, as by LIMIT.
 */
#ifndef DYNAMO_TABLE_SERVER_PROGRESS_H
#define DYNAMO_TABLE_SERVER_PROGRESS_H

#include "datatype/timestamp.h"

extern void progress_init(void);
extern bool progress_is_due(TimestampTz *told);
extern const char *progress_count(int64 done, double expected);

#endif
