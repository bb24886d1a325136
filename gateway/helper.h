/*
 * helper.h
 *	  A thread for what may block, so that no loop has to.
 */
#ifndef GATEWAY_HELPER_H
#define GATEWAY_HELPER_H

#include "loop.h"

typedef struct Helper Helper;

extern Helper *helper_start(void);
extern void helper_do(Helper *helper, Job *job);
extern void helper_stop(Helper *helper);

#endif
