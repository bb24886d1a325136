/*
 * late.h
 *	  Connections to Postgres whose statement has had its time.
 */
#ifndef GATEWAY_LATE_H
#define GATEWAY_LATE_H

#include <libpq-fe.h>

extern void late_add(PGconn *connection, const void *owner, const void *target, const char *key_id);
extern void late_check(void);
extern int late_count(const void *target);
extern int late_count_of(const void *owner, const char *key_id);

#endif
