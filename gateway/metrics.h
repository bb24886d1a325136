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

extern void metrics_start(const char *version);
extern void metrics_request(const Measured *measured);
extern void metrics_in_flight(int change);
extern void metrics_waited(int64_t microseconds);
extern void metrics_repeated(void);
extern void metrics_unknown_outcome(void);
extern void metrics_throttled(void);
extern void metrics_auth_failure(const char *reason);
extern int metrics_running(void);
extern void metrics_write(Text *text);

#endif
