/*
 * loop.h
 *	  A thread of HTTP, which waits for its clients and for their statements at once.
 *
 * It reads requests, sends their statements, and answers those whose statement has come to its end:
 * none of that waits, so that one thread does for many clients and connections to Postgres.
 */
#ifndef GATEWAY_LOOP_H
#define GATEWAY_LOOP_H

#include <stdbool.h>

#include "pool.h"

struct MHD_Connection;
struct MHD_Daemon;

typedef struct Loop Loop;

extern Loop *loop_new(void *owner);
extern bool loop_start(Loop *loop, struct MHD_Daemon *daemon);
extern void *loop_owner(const Loop *loop);
extern Waiter *loop_waiter(Loop *loop);
extern void loop_resume(Loop *loop, struct MHD_Connection *connection);
extern void loop_drain(Loop *loop);
extern void loop_free(Loop *loop);

#endif
