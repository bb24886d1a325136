/*
 * auth.h
 *	  Who sends a request: the holder of an access key, or whoever is on this machine.
 */
#ifndef GATEWAY_AUTH_H
#define GATEWAY_AUTH_H

#include <stdbool.h>

#include "canonical.h"
#include "config.h"
#include "request.h"

extern bool auth_start(const Config *config);
extern bool auth_is_ready(void);
extern bool auth_check(const SignedRequest *message, Request *request);
extern void auth_leave(Request *request);
extern void auth_reload(void);
extern void auth_stop(void);

#endif
