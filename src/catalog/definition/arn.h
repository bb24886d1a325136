/*
 * arn.h
 *	  Amazon Resource Names of tables, their indexes and streams.
 */
#ifndef DYNAMO_TABLE_CATALOG_DEFINITION_ARN_H
#define DYNAMO_TABLE_CATALOG_DEFINITION_ARN_H

#include "server/span.h"

/* This is the size, with the NUL, of the name of a request's region: a label of a host's name. */
#define ARN_REGION_SIZE 64

extern void dyn_arn_init(void);
extern bool dyn_parse_table_arn(ItemSpan arn, ItemSpan *name);
extern bool dyn_parse_stream_arn(ItemSpan arn, ItemSpan *name, ItemSpan *label);
extern bool dyn_is_arn(ItemSpan text);
extern bool dyn_is_own_arn(ItemSpan arn);
extern ItemSpan dyn_table_name(ItemSpan given);
extern char *dyn_table_arn(ItemSpan name);
extern char *dyn_index_arn(const char *table_arn, ItemSpan index);
extern char *dyn_stream_arn(ItemSpan table, int64 label);
extern void dyn_append_arn(StringInfo out, ItemSpan table, int64 stream);
extern const char *dyn_arn_region(void);
extern void dyn_arn_set_request_region(const char *region);

#endif
