/*
 * pool.h
 *	  The loops that serve clients, each with its connections to Postgres, and what waits for them.
 *
 * A request is one prepared statement in a transaction of its own.  Those of one access key may share
 * a connection, if they are short; others have one of their own meanwhile.  No key has more than half
 * of a loop's connections, and those that wait are served by turns, a request of each key.
 *
 * There are connections to the primary, and to a standby for reads that may be stale.
 */
#ifndef GATEWAY_POOL_H
#define GATEWAY_POOL_H

#include <stdbool.h>

#include "config.h"
#include "loop.h"
#include "request.h"

extern bool pools_start(const Config *config);
extern int pools_count(void);
extern int pools_size(void);
extern Loop *pools_loop(int number);
extern void pools_submit(Loop *loop, Request *request, bool stale);
extern void pools_reconnect(void);
extern void pools_stop(void);

#endif
