/*
 * visit.h
 *	  What the launcher and the workers of services share.
 */
#ifndef DYNAMO_TABLE_SERVER_WORK_VISIT_H
#define DYNAMO_TABLE_SERVER_WORK_VISIT_H

#include "server/work/service.h"

/* So many sets have the databases to visit; one that shares its set is visited, too. */
#define WANTED_SETS 256

/* launcher.c: the services that are registered, by their numbers */
#define MAX_SERVICES 8

extern const Service *services[MAX_SERVICES];
extern int nservices;

/* shared.c */
extern void shared_init(void);
extern void shared_register_launcher(struct Latch *latch);
extern void shared_take_wanted(bool wanted[WANTED_SETS]);
extern void visit_begin(Visit *visit);
extern void visit_read(int slot, Visit *visit);
extern bool visit_find(uint32 number, Visit *visit);

/* trace.c */
typedef struct Trace
{
	int32 service;
	Oid database; /* InvalidOid: none */
	Oid relid; /* InvalidOid: none was begun */
	int32 crashes; /* in a row, where none was begun */
} Trace;

#define MAX_CRASHED 32

extern int trace_recover(Trace crashed[MAX_CRASHED]);
extern void trace_keep(const Trace *crashed, int n);
extern void trace_write(const Visit *visit, Oid database, Oid relid);

#endif
