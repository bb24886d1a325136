/*
 * background.h
 *	  What background workers share that remove expired items by themselves.
 *
 * A launcher, which is there if the library is preloaded, and is connected to no database, visits
 * one database after the other: a worker connects to it, sweeps, says what it has found, and ends.
 * Whoever wants to drop a database or to copy it waits five seconds for others to leave it, so a
 * worker stays for less.
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

/* What a worker has found in its database. */
typedef enum TtlAnswer
{
	TTL_SILENT, /* it could not say */
	TTL_NOTHING, /* no table with time to live */
	TTL_DONE, /* nothing left that it could remove */
	TTL_MORE /* it had to leave before */
} TtlAnswer;

/* The visit of a database, of which there is one at a time. */
typedef struct TtlVisit
{
	uint32 number;
	Oid database;
	Oid last; /* table that the last sweep was of; the visit before tells this one */
	Oid culprit; /* table whose sweep has not come back; the same */
	TimestampTz began; /* 0 before the worker runs */
	TtlAnswer answer;
} TtlVisit;

/* shared.c */
extern void ttl_shared_init(void);
extern void ttl_register_launcher(void);
extern int ttl_take_wanted(Oid *databases, bool *all);
extern void ttl_begin_visit(TtlVisit *visit);
extern bool ttl_publish_visit(const TtlVisit *visit);
extern void ttl_read_visit(TtlVisit *visit);

/* launcher.c */
extern void ttl_launcher_init(void);
extern PGDLLEXPORT void dyn_ttl_launcher_main(Datum unused);

/* worker.c */
extern PGDLLEXPORT void dyn_ttl_worker_main(Datum number);

#endif
