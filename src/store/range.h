/*
 * range.h
 *	  Ranges of the SPI store, as a statement and its parameters.
 */
#ifndef DYNAMO_TABLE_STORE_RANGE_H
#define DYNAMO_TABLE_STORE_RANGE_H

#include "store/plan.h"
#include "store/store.h"

/* Equality and position take each column once, and a bound at the other end one more. */
#define STORE_MAX_RANGE_ARGS (DYN_MAX_INDEX_COLUMNS + 2)

typedef struct RangeStatement
{
	StorePlan *plan;
	int nargs;
	Oid types[STORE_MAX_RANGE_ARGS];
	Datum values[STORE_MAX_RANGE_ARGS];
} RangeStatement;

extern bool store_range_narrow(const DynTable *table, StoreRange *range);
extern void store_range_prepare(DynTable *table, const StoreRange *range,
								RangeStatement *statement);
extern void store_range_execute(const DynTable *table, const StoreRange *range,
								const RangeStatement *statement, StoreRowCallback callback,
								void *arg);

#endif
