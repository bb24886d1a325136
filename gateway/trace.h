/*
 * trace.h
 *	  The trace that a request belongs to, as W3C's header traceparent names it.
 */
#ifndef GATEWAY_TRACE_H
#define GATEWAY_TRACE_H

#include <stdbool.h>

#define TRACE_SIZE 56 /* with the NUL */

extern void trace_read(const char *header, char *trace);

extern bool trace_is_sampled(const char *trace);

#endif
