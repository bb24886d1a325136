/*
 * check.h
 *	  Whether a gateway with these settings answers, for those who watch over it.
 */
#ifndef GATEWAY_CHECK_H
#define GATEWAY_CHECK_H

#include "config.h"

extern int check(const Config *config);

#endif
