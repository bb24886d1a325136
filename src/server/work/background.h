/*
 * background.h
 *	  What all background workers of the extension have in common.
 */
#ifndef DYNAMO_TABLE_SERVER_WORK_BACKGROUND_H
#define DYNAMO_TABLE_SERVER_WORK_BACKGROUND_H

#include "postmaster/bgworker.h"

/* The caller uses this. */
extern void background_describe(BackgroundWorker *worker, const char *type, const char *function,
								Datum argument);

/* The worker uses these. */
extern void background_start(void);
extern void background_connect(Oid database, Oid session_user, Oid role);
extern void background_settings(const char *const (*values)[2], int n);
extern void background_begin(void);
extern void background_commit(void);
extern void background_abort(MemoryContext context);
extern void background_heed(void);
extern void background_wait(long milliseconds, const char *event);
extern bool background_is_locked(Oid database);

#endif
