/*
 * pool.h
 *	  Threads with a connection to Postgres each, and the queue of requests that they serve.
 *
 * A request is one prepared statement in a transaction of its own.  A thread without a connection
 * takes no requests and connects again, with pauses that grow.  To wake a thread costs more than most
 * statements, so one that waits for other things too, a waiter, may borrow the connections of
 * threads that are idle, and have its epoll tell when there is an answer.  What a statement needs
 * beyond that, as to be repeated, is for the thread.
 *
 * One pool is that of the primary, the other that of a standby, for reads that may be stale.
 */
#ifndef GATEWAY_POOL_H
#define GATEWAY_POOL_H

#include <stdbool.h>

#include "request.h"

/* A PoolState is what the threads do, for metrics. */
typedef struct PoolState
{
	int idle;
	int busy;
	int down; /* without a connection */
	int waiting; /* requests */
} PoolState;

typedef struct Pool Pool;
typedef struct Waiter Waiter;

extern Pool *pool_primary(void);
extern Pool *pool_standby(void);
extern Pool *pool_for_reads(void);
extern bool pool_start(Pool *pool, int size);
extern bool pool_is_started(const Pool *pool);
extern void pool_submit(Pool *pool, Request *request);
extern void pool_expire(Pool *pool);
extern void pool_reconnect(Pool *pool);
extern PoolState pool_state(Pool *pool);
extern void pool_stop(Pool *pool);

extern Waiter *waiter_new(int epoll);
extern void waiter_submit(Pool *pool, Waiter *waiter, Request *request);
extern void waiter_read(Waiter *waiter, void *data);
extern void waiter_look(Waiter *waiter, int64_t now);
extern void waiter_free(Waiter *waiter);

#endif
