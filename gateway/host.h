/*
 * host.h
 *	  The name that a client calls the gateway by.
 */
#ifndef GATEWAY_HOST_H
#define GATEWAY_HOST_H

#include <stdbool.h>

extern bool host_is_ours(const char *host, const char *names);

#endif
