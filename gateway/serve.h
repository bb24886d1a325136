/*
 * serve.h
 *	  The program at work: from the first connection to the last answer.
 */
#ifndef GATEWAY_SERVE_H
#define GATEWAY_SERVE_H

#include <stdbool.h>

#include "config.h"

/* Arguments are those that the program was started with, for when settings are read again. */
typedef struct Arguments
{
	int count;
	char **values;
	void (*started)(const char *address); /* it listens; or NULL */
} Arguments;

extern void serve_block_signals(void);
extern int serve(const Config *config, const Arguments *arguments);

#endif
