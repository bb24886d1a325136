/*
 * statement.h
 *	  Statements that run in no function, such as CREATE INDEX CONCURRENTLY and VACUUM.
 *
 * A procedure has a background worker run one, in a place (place.h), and waits for it.  A background
 * worker that calls such procedures runs the statement by itself, see statement_call().
 */
#ifndef DYNAMO_TABLE_SERVER_WORK_STATEMENT_H
#define DYNAMO_TABLE_SERVER_WORK_STATEMENT_H

#include "server/work/place.h"
#include "server/work/procedure.h"

/* Such workers have this type in pg_stat_activity. */
#define STATEMENT_WORKER "dynamo_table index"

/* These are called in a procedure. */
extern bool statement_try(const Procedure *procedure, Place *place, const char *sql);
extern void statement_run(const Procedure *procedure, Place *place, const char *sql);

/* These are called in a background worker. */
extern void statement_run_here(const char *sql);
extern bool statement_call(const char *sql, char **statement);
extern bool statement_runs_here(void);

extern void statement_user(Oid *session_user, Oid *role);
extern PGDLLEXPORT void dyn_statement_main(Datum handle);

#endif
