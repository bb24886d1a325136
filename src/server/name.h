/*
 * name.h
 *	  Which names tables and indexes may have.
 */
#ifndef DYNAMO_TABLE_SERVER_NAME_H
#define DYNAMO_TABLE_SERVER_NAME_H

#include "server/span.h"

#define DYN_MAX_TABLE_NAME 255 /* bytes; of an index too */
#define DYN_REQUEST_NAME_RULE \
	"A name has 3 to 255 characters out of a-z, A-Z, 0-9, \"_\", \"-\" and \".\"."

extern void dyn_check_name(const char *kind, ItemSpan name);
extern bool dyn_is_name_character(char c);
extern bool dyn_is_request_name(ItemSpan name);
extern void dyn_check_request_name(const char *kind, ItemSpan name);

#endif
