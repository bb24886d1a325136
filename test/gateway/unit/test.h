/*
 * test.h
 *	  How the unit tests say what holds and what does not: in the form of TAP.
 */
#ifndef GATEWAY_UNIT_TEST_H
#define GATEWAY_UNIT_TEST_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int failures;

/* A test is what holds. */
__attribute__((format(printf, 2, 3))) static inline bool
ok(bool holds, const char *name, ...)
{
	va_list arguments;

	va_start(arguments, name);
	printf("%s - ", holds ? "ok" : "not ok");
	vprintf(name, arguments);
	printf("\n");
	va_end(arguments);
	failures += !holds;
	return holds;
}

/* A test is that a string is as expected. */
static inline void
is(const char *got, const char *expected, const char *name)
{
	bool same = got != NULL && strcmp(got, expected) == 0;

	if (!ok(same, "%s", name))
		printf("    got:      %s\n    expected: %s\n", got != NULL ? got : "(NULL)", expected);
}

#endif
