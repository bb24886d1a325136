/*
 * metrics.h
 *	  What is counted, as text for Prometheus.
 */
#ifndef GATEWAY_METRICS_H
#define GATEWAY_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "errors.h"
#include "text.h"

/* A Measured is a request that was answered. */
typedef struct Measured
{
	const Operation *operation; /* NULL: the request named none */
	ErrorKind error;
	int64_t duration; /* in microseconds */
	size_t received;
	size_t sent;
} Measured;

/* A PoolState is what a connection to Postgres does. */
typedef enum PoolState
{
	POOL_DOWN, /* there is none */
	POOL_IDLE,
	POOL_BUSY,
	POOL_STATES
} PoolState;

extern void metrics_start(const char *version);
extern void metrics_request(const Measured *measured);
extern void metrics_in_flight(int change);
extern void metrics_waited(int64_t microseconds);
extern void metrics_repeated(void);
extern void metrics_unknown_outcome(void);
extern void metrics_pool(bool standby, PoolState state, int change);
extern void metrics_pool_waiting(bool standby, int change);
extern void metrics_standby_read(bool answered);
extern void metrics_throttled(void);
extern void metrics_auth_failure(const char *reason);
extern int metrics_running(void);
extern void metrics_write(Text *text);

#endif
