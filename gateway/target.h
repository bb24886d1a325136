/*
 * target.h
 *	  The servers that statements are sent to: the primary, and a standby for reads that may be stale.
 *
 * A connection to one is made by a helper, since names are looked up, passwords are proved, and the
 * server is asked what it is, all of which takes its time.
 */
#ifndef GATEWAY_TARGET_H
#define GATEWAY_TARGET_H

#include <libpq-fe.h>
#include <stdbool.h>

#include "loop.h"

/* A Link is a connection to a server, and what is known of it. */
typedef struct Link
{
	PGconn *connection; /* NULL: there is none */
	unsigned generation; /* of the settings that it is connected by */
	bool prepared; /* it has the statement under its name */
	bool in_recovery; /* the server, when it was connected to */
} Link;

typedef struct Target Target;

extern Target *target_primary(void);
extern Target *target_standby(void);
extern bool target_start(Target *target, int size);
extern void target_connect_later(Target *target, Job *job);
extern void target_connect(Target *target, Link *link);
extern bool target_is_current(const Target *target, const Link *link);
extern void target_reconnect(Target *target);
extern void target_forget_prepared(Link *link);
extern void target_stop(Target *target);

#endif
