/*
 * pool.h
 *	  Threads with a connection to Postgres each, and the queue of requests that they serve.
 *
 * A request is one prepared statement in a transaction of its own.  A thread without a connection
 * takes no requests and connects again, with pauses that grow.  Most statements take less time than
 * it takes to wake a thread, so who has a request may borrow the connection of a thread that is
 * idle, and wait for a moment himself.
 */
#ifndef GATEWAY_POOL_H
#define GATEWAY_POOL_H

#include <stdbool.h>

#include "request.h"

/* What the threads do, for metrics. */
typedef struct PoolState
{
	int idle;
	int busy;
	int down; /* without a connection */
	int waiting; /* requests */
} PoolState;

extern bool pool_start(int size);
extern bool pool_try(Request *request);
extern void pool_submit(Request *request);
extern void pool_expire(void);
extern void pool_reconnect(void);
extern PoolState pool_state(void);
extern void pool_stop(void);

#endif
