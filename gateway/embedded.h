/*
 * embedded.h
 *	  A gateway with a Postgres of its own, for development and tests.
 */
#ifndef GATEWAY_EMBEDDED_H
#define GATEWAY_EMBEDDED_H

#include "config.h"
#include "serve.h"

extern int embedded(const Config *config, const char *folder, const Arguments *arguments);

#endif
