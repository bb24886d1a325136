/*
 * text.h
 *	  Text that grows.
 */
#ifndef GATEWAY_TEXT_H
#define GATEWAY_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Starts as all zeros.  After a lack of memory "failed" is set and nothing is added any more. */
typedef struct Text
{
	char *data; /* with a NUL after the last byte, or NULL while nothing was added */
	size_t length;
	size_t capacity;
	bool failed;
} Text;

extern void text_add(Text *text, const void *data, size_t length);
extern void text_add_char(Text *text, char c);

/* Add these strings, up to a NULL. */
extern void text_add_strings(Text *text, ...) __attribute__((sentinel));

/* Returns the text, to be freed by the caller; "" if it is empty, and NULL without memory. */
extern char *text_take(Text *text);

extern void text_free(Text *text);

#endif
