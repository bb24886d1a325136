/*
 * user.h
 *	  The user of the system that the program is.
 */
#ifndef GATEWAY_USER_H
#define GATEWAY_USER_H

#include <stdbool.h>

extern bool become_user(const char *name);

#endif
