/*
 * background.h
 *	  What background workers share that remove expired items by themselves.
 *
 * A launcher, which is there if the library is preloaded, and is connected to no database, visits
 * databases: a worker connects to one, sweeps, says what it has found, and ends.  Whoever wants to
 * drop a database or to copy it waits five seconds for others to leave it, so a worker stays for
 * less.  Several may be at work at a time, in one database too.
 *
 * One lock guards all that is in shared memory.  It is held for some instructions, and no other is
 * taken meanwhile.
 */
#ifndef DYNAMO_TABLE_TTL_BACKGROUND_H
#define DYNAMO_TABLE_TTL_BACKGROUND_H

#include "datatype/timestamp.h"

/* Milliseconds after which a sweep is cancelled, and after which its worker is ended. */
#define TTL_STAY 4000
#define TTL_OVERSTAY 4500

/* At most so many databases are asked for one by one. */
#define TTL_MAX_WANTED 16

/* At most so many workers sweep at a time. */
#define TTL_MAX_WORKERS 8

/* What a worker has found in its database. */
typedef enum TtlAnswer
{
	TTL_SILENT, /* it could not say */
	TTL_NOTHING, /* no table with time to live */
	TTL_DONE, /* nothing left that it could remove */
	TTL_MORE /* it had to leave before */
} TtlAnswer;

/* A table whose sweep has ended its worker. */
typedef struct TtlCulprit
{
	Oid relid;
	bool crashed; /* and the server with it */
} TtlCulprit;

/* The visit of a database. */
typedef struct TtlVisit
{
	uint32 number; /* 0: none */
	int slot; /* of those for visits */
	Oid database;
	Oid owner; /* whose table was swept last; the visit before tells this one */
	Oid relid; /* table whose sweep is under way */
	int left; /* tables that are due and not begun */
	int nculprits; /* of visits before, which are to be noted; 0 when that is done */
	TtlCulprit culprits[TTL_MAX_WORKERS];
	TimestampTz began; /* 0 before the worker runs */
	TtlAnswer answer;
} TtlVisit;

/* shared.c */
extern void ttl_shared_init(void);
extern void ttl_register_launcher(void);
extern int ttl_take_wanted(Oid *databases, bool *all);
extern void ttl_begin_visit(TtlVisit *visit);
extern bool ttl_publish_visit(const TtlVisit *visit);
extern void ttl_read_visit(int slot, TtlVisit *visit);
extern bool ttl_find_visit(uint32 number, TtlVisit *visit);
extern TimestampTz ttl_due_time(Oid relid);
extern bool ttl_claim(Oid relid, TimestampTz now, TimestampTz until);
extern void ttl_set_due(Oid relid, TimestampTz due);

/* trace.c */
typedef struct TtlTrace
{
	Oid database; /* InvalidOid: none */
	Oid relid; /* InvalidOid: none was begun */
	int32 crashes; /* in a row, where none was begun */
} TtlTrace;

#define TTL_MAX_CRASHED 32

extern int ttl_trace_recover(TtlTrace *crashed);
extern void ttl_trace_keep(const TtlTrace *crashed, int n);
extern void ttl_trace(int slot, Oid database, Oid relid);

/* launcher.c */
extern void ttl_launcher_init(void);
extern PGDLLEXPORT void dyn_ttl_launcher_main(Datum unused);

/* worker.c */
extern PGDLLEXPORT void dyn_ttl_worker_main(Datum number);

#endif
