/*
 * trace.c
 *	  The trace that a request belongs to, as W3C's header traceparent names it.
 */
#include "trace.h"

#include <string.h>

/* This is its form: a digit for each "x", which is hexadecimal and not a capital. */
static const char form[] = "xx-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-xxxxxxxxxxxxxxxx-xx";

static const char digits[] = "0123456789abcdef";

/* Returns whether a field of so many digits has another one than 0. */
static bool
is_set(const char *field, size_t length)
{
	return strspn(field, "0") < length;
}

/* Copies the value of a header; empty if there is none, or if it names no trace. */
void
trace_read(const char *header, char *trace)
{
	size_t length = sizeof(form) - 1;

	*trace = '\0';
	if (header == NULL || strlen(header) < length)
		return;
	for (size_t i = 0; i < length; i++)
	{
		if (form[i] == 'x' ? strchr(digits, header[i]) == NULL : header[i] != form[i])
			return;
	}
	/* later versions may have more fields, and none is 255 */
	if (strncmp(header, "ff", 2) == 0 ||
		(header[length] != '\0' && (header[length] != '-' || strncmp(header, "00", 2) == 0)) ||
		!is_set(header + 3, 32) || !is_set(header + 36, 16))
		return;
	memcpy(trace, header, length);
	trace[length] = '\0';
}

/* Returns whether the client records the trace, so that it is worth while to show it to Postgres. */
bool
trace_is_sampled(const char *trace)
{
	/* the lowest bit of the flags */
	return *trace != '\0' && (strchr(digits, trace[TRACE_SIZE - 2]) - digits) % 2 == 1;
}
