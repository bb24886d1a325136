/*
 * queue.h
 *	  Requests that background workers go on with when their transaction has committed.
 */
#ifndef DYNAMO_TABLE_SERVICES_INDEX_QUEUE_H
#define DYNAMO_TABLE_SERVICES_INDEX_QUEUE_H

/* In the space of a worker's slot. */
typedef struct GsiRequest
{
	Oid database;
	Oid session_user; /* InvalidOid: start the workers of requests that wait, and nothing else */
	Oid role; /* InvalidOid: the session user itself */
	Oid relid;
	bool noted; /* the attempt is */
} GsiRequest;

/* queue.c */
extern void gsi_enqueue(const GsiRequest *request);
extern void gsi_count_attempt(Oid relid, int change);
extern void gsi_dequeue(Oid relid);

/* later.c */
extern bool gsi_start_request(const GsiRequest *request, const char *table);

#endif
