/*
 * queue.h
 *	  Requests that background workers go on with when their transaction has committed.
 */
#ifndef DYNAMO_TABLE_SERVICES_INDEX_QUEUE_H
#define DYNAMO_TABLE_SERVICES_INDEX_QUEUE_H

/* This is in the space of a worker's slot. */
typedef struct IndexBuildRequest
{
	Oid database;
	Oid session_user; /* InvalidOid: start the workers of requests that wait, and nothing else */
	Oid role; /* InvalidOid: the session user itself */
	Oid relid;
	bool noted; /* the attempt is */
} IndexBuildRequest;

/* queue.c */
extern void index_build_enqueue(const IndexBuildRequest *request);
extern void index_build_count_attempt(Oid relid, int change);
extern void index_build_dequeue(Oid relid);

/* later.c */
extern bool index_build_start_request(const IndexBuildRequest *request, const char *table);

#endif
