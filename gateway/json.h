/*
 * json.h
 *	  Whether a text is JSON.
 */
#ifndef GATEWAY_JSON_H
#define GATEWAY_JSON_H

#include <stdbool.h>
#include <stddef.h>

/* Objects and arrays may be so deep within each other, as dyn_request() has it. */
#define JSON_MAX_DEPTH 1000

/*
 * Returns whether the text is one JSON value by RFC 8259, in UTF-8, and not nested deeper than
 * JSON_MAX_DEPTH.  Reads the text once, and takes no memory.
 */
extern bool json_valid(const char *text, size_t length);

#endif
