/*
 * service.h
 *	  Time to live as a service of background workers.
 */
#ifndef DYNAMO_TABLE_SERVICES_TTL_SERVICE_H
#define DYNAMO_TABLE_SERVICES_TTL_SERVICE_H

#include "server/work/service.h"

/* service.c */
extern const Service ttl_service;

/* turns.c */
extern Size ttl_turns_size(void);
extern void ttl_turns_start(void);
extern TimestampTz ttl_due_time(Oid relid);
extern bool ttl_claim(Oid relid, TimestampTz now, TimestampTz until);
extern void ttl_set_due(Oid relid, TimestampTz due);

#endif
