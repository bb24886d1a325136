/*
 * coordinator.h
 *	  Requests that the coordinator of Citus carries out for a worker.
 */
#ifndef DYNAMO_TABLE_API_REQUEST_COORDINATOR_H
#define DYNAMO_TABLE_API_REQUEST_COORDINATOR_H

extern bool coordinator_is_for(const char *operation, const text *request);
extern text *coordinator_request(const char *operation, text *request);

#endif
