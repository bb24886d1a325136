/*
 * service.h
 *	  Services: what background workers do by themselves in databases.
 *
 * If the library is preloaded, a launcher (launcher.c) has databases visited for each service: a
 * worker connects to a database, does what the service has to do there, says what it has found, and
 * ends.  The launcher is connected to no database.  Whoever wants to drop a database, or to copy it,
 * waits five seconds for others to leave it, so a visit takes less.  The visits of a resident
 * service last until there is nothing to do any more; such a service looks by itself whether its
 * worker has to leave.
 *
 * The launcher keeps services apart: each has its own number of workers, and databases wait in the
 * order in which they were due, whatever they are due for.
 *
 * Shared memory (shared.c) has the visits, what is asked for, and parts of services.  One lock guards
 * it all.  It is held for some instructions, and no other lock is taken meanwhile.
 *
 *		launcher.c		which database is visited when, and for which service
 *		visit.c			the worker of a service, which visits a database
 *		shared.c		shared memory, of services and others
 *		switch.c		services that are switched off in a database
 *		trace.c			what visits were at when the server went down
 *		background.c	what all workers have in common, those below too
 *		statement.c		statements that run in no function: a worker runs them
 *		place.c			places for such workers
 *		procedure.c		procedures that commit: their transactions, and taking turns at a table
 *		brief_lock.c	locks that others queue behind
 *		job.c			jobs of many transactions and sessions, and their chunks
 *		tid_plan.c		plans that read rows by their places
 *		owned.c			the rights of other roles; tables on which only the extension's owner has rights
 */
#ifndef DYNAMO_TABLE_SERVER_WORK_SERVICE_H
#define DYNAMO_TABLE_SERVER_WORK_SERVICE_H

#include "datatype/timestamp.h"
#include "nodes/pg_list.h"
#include "storage/lwlock.h"

/* A visit may take so many milliseconds, and its worker is ended after the second. */
#define VISIT_STAY 4000
#define VISIT_OVERSTAY 4500

/* No visit that is asked for waits more milliseconds, even if the clock is set back. */
#define MAX_PATIENCE 5000

/* At most so many workers of a service that is not resident visit one database. */
#define MAX_VISITORS 8

/* A VisitAnswer is what a visit has found; later ones ask for more. */
typedef enum VisitAnswer
{
	VISIT_SILENT, /* it could not say */
	VISIT_NOTHING, /* nothing that the service is for */
	VISIT_DONE, /* nothing left to do yet */
	VISIT_MORE /* it had to leave before */
} VisitAnswer;

/* A Culprit is a relation whose work has ended its worker. */
typedef struct Culprit
{
	Oid relid;
	bool crashed; /* and the server with it */
} Culprit;

typedef struct Visit
{
	uint32 number; /* 0: none */
	int slot; /* of those for visits */
	int service; /* by the order of service_register() */
	Oid database;
	Oid turn; /* left by the service for the next visit */
	Oid relid; /* what it is at work on, see visit_begin_work() */
	int left; /* relations that another visit could begin with */
	int nculprits; /* of visits before, which are to be noted; 0 when that is done */
	Culprit culprits[MAX_VISITORS];
	TimestampTz began; /* 0 before the worker runs */
	VisitAnswer answer;
} Visit;

typedef struct Service
{
	const char *worker; /* its workers, in pg_stat_activity */
	const char *purpose; /* what no worker is free to do, in the server's log */
	bool resident;
	const bool *enabled;
	const char *setting; /* its name; a database in which it is off has no visits */
	const int *max_workers; /* NULL: one for each database */

	/* Seconds until a visit comes after one that had nothing left to do, or found nothing to do. */
	const int *interval;
	const int *probe_interval;
	int max_back_off; /* at most so many after failures that have not taken the server down */

	int patience; /* milliseconds from a request for a visit until that is due, see MAX_PATIENCE */

	/* The databases to be visited, outside of a transaction; NULL: all that can be connected to. */
	List *(*databases)(void);

	/* Called in the launcher when a database waits for a worker, and does not any more; may be NULL. */
	void (*waits)(Oid database, bool waits);

	/* In a worker that is connected, outside of a transaction. */
	VisitAnswer (*visit)(Visit *visit);
} Service;

/* launcher.c */
extern void service_register(const Service *service);
extern void launcher_init(void);
extern int64 service_back_off(const Service *service, int failures, bool crashed);
extern PGDLLEXPORT void dyn_launcher_main(Datum unused);

/* switch.c: in a worker */
extern bool service_is_switched_off(const Service *service);

/* shared.c */
extern void shared_add(Size (*size)(void), void (*start)(void));
extern int shared_tranche(void);
extern void shared_lock(LWLockMode mode);
extern void shared_unlock(void);
extern void service_notice(const Service *service, const char *what);
extern void launcher_wake(void);

/* visit.c: in a worker */
extern void visit_publish(const Visit *visit);
extern void visit_begin_work(Visit *visit, Oid relid);
extern void visit_end_work(Visit *visit);
extern void visit_add_look(void (*look)(void));
extern void visit_look(void);
extern PGDLLEXPORT void dyn_visit_main(Datum number);

#endif
