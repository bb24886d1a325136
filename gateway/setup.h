/*
 * setup.h
 *	  What a gateway needs before it can start.
 */
#ifndef GATEWAY_SETUP_H
#define GATEWAY_SETUP_H

#include "config.h"

extern int setup(const Config *config);

#endif
