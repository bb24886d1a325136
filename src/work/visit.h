/*
 * visit.h
 *	  What the launcher and the workers of services share.
 */
#ifndef DYNAMO_TABLE_WORK_VISIT_H
#define DYNAMO_TABLE_WORK_VISIT_H

#include "work/service.h"

/* At most so many visits are asked for one by one. */
#define MAX_WANTED 16

/* A database that is to be visited for a service at once. */
typedef struct Wanted
{
	int service;
	Oid database;
} Wanted;

/* launcher.c: the services that are registered, by their numbers */
#define MAX_SERVICES 8

extern const Service *services[MAX_SERVICES];
extern int nservices;

/* shared.c */
extern void shared_init(void);
extern void shared_register_launcher(void);
extern int shared_take_wanted(Wanted wanted[MAX_WANTED], bool all[MAX_SERVICES]);
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
