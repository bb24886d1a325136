/*
 * progress.h
 *	  How far long work is, as a NOTICE every so often.
 *
 * Work of one statement shows itself so and not in pg_stat_progress_*: a session has one such
 * entry, which COPY and CREATE INDEX have where they run what is here, and which nobody clears when
 * a function is left before its end, as by LIMIT.
 */
#ifndef DYNAMO_TABLE_GROUND_PROGRESS_H
#define DYNAMO_TABLE_GROUND_PROGRESS_H

#include "datatype/timestamp.h"

extern void progress_init(void);
extern bool progress_is_due(TimestampTz *told);
extern const char *progress_count(int64 done, double expected);

#endif
