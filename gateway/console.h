/*
 * console.h
 *	  The console: static files at /console/, which a browser shows.
 */
#ifndef GATEWAY_CONSOLE_H
#define GATEWAY_CONSOLE_H

#include <stdbool.h>

#include "answer.h"
#include "config.h"

extern bool console_is_installed(const Config *config);
extern bool console_start(const Config *config);
extern bool console_answer(const char *method, const char *path, Answer *answer);

#endif
