/*
 * options.h
 *	  Options of requests that all front ends read by the same rules.
 */
#ifndef DYNAMO_TABLE_ACTIONS_OPTIONS_H
#define DYNAMO_TABLE_ACTIONS_OPTIONS_H

#include "actions/actions.h"

/* Choices by their names, with NULL at the end.  The numbers are those of the enums. */
extern const char *const option_return_old[]; /* ReturnValues of PutItem and DeleteItem */
extern const char *const option_return_any[]; /* and of UpdateItem */
extern const char *const option_select[]; /* from SELECT_ALL_ATTRIBUTES on */

/* The parameter is for messages. */
extern int option_choice(const char *parameter, ItemSpan value, const char *const *choices);
extern int64 option_positive(const char *parameter, int64 value);
extern void option_segment(ScanRequest *request, const int64 *segment, const int64 *total);

#endif
