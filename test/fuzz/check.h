/*
 * check.h
 *	  How the fuzzers say that something does not hold: by ending, which libFuzzer reports.
 */
#ifndef DYNAMO_TABLE_FUZZ_CHECK_H
#define DYNAMO_TABLE_FUZZ_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition) \
	do \
	{ \
		if (!(condition)) \
		{ \
			fprintf(stderr, "property does not hold: %s\n", #condition); \
			abort(); \
		} \
	} while (0)

#endif
