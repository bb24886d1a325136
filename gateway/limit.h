/*
 * limit.h
 *	  How many requests one key may have: in a second, and at once.
 */
#ifndef GATEWAY_LIMIT_H
#define GATEWAY_LIMIT_H

#include <stdbool.h>

extern const char *limit_enter(const char *key_id);
extern void limit_stay(const char *key_id);
extern void limit_leave(const char *key_id);

#endif
