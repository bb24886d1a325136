/*
 * shard_guard.h
 *	  The constraint that keeps rows out of shards to which their partition keys do not belong.
 */
#ifndef DYNAMO_TABLE_CATALOG_SHARD_GUARD_H
#define DYNAMO_TABLE_CATALOG_SHARD_GUARD_H

#include "catalog/table.h"

#define SHARD_CONSTRAINT "dynamo_shard"

extern char *shard_guard_sql(const char *column);
extern bool shard_guard_is(const DynTable *table, const char *expression);

extern PGDLLEXPORT Datum dyn_shard_takes(PG_FUNCTION_ARGS);

#endif
