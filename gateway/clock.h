/*
 * clock.h
 *	  The time that passes, which no change of the system's clock moves.
 */
#ifndef GATEWAY_CLOCK_H
#define GATEWAY_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Returns microseconds since some moment. */
static inline int64_t
clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t) now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Converts milliseconds, as settings have them, to microseconds. */
static inline int64_t
clock_of_ms(int64_t ms)
{
	return ms * 1000;
}

#endif
