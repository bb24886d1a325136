/*
 * describe.h
 *	  A table as DynamoDB describes it.
 */
#ifndef DYNAMO_TABLE_CATALOG_DESCRIBE_H
#define DYNAMO_TABLE_CATALOG_DESCRIBE_H

#include "catalog/table.h"

extern void dyn_describe(JsonWriter *json, const char *member, Relation rel, const DynTable *table,
						 ItemSpan name, const char *status);
extern void dyn_describe_deleted(JsonWriter *json, const char *member, Relation rel,
								 const DynTable *table, ItemSpan name);
extern const char *const dyn_ttl_status_names[]; /* by DynIndexStatus */
extern void dyn_describe_ttl(JsonWriter *json, const char *member, const DynTable *table);

#endif
