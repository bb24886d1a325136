/*
 * stale.h
 *	  Whether an answer may be stale, so that a standby may give it.
 */
#ifndef GATEWAY_STALE_H
#define GATEWAY_STALE_H

#include <stdbool.h>
#include <stddef.h>

#include "operation.h"

extern bool stale_is_enough(const Operation *operation, const char *json, size_t length);

#endif
