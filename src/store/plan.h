/*
 * plan.h
 *	  The SPI store's kept plans.
 */
#ifndef DYNAMO_TABLE_STORE_PLAN_H
#define DYNAMO_TABLE_STORE_PLAN_H

#include "executor/spi.h"
#include "nodes/plannodes.h"

#include "catalog/table.h"

/* This is a kept plan of one statement on one table. */
typedef struct StorePlan
{
	struct StorePlan *next;
	int shape;
	Oid relid;
	Oid index; /* that it is to use; invalid: other nodes plan */
	bool cleared; /* permissive policies have been put aside */
	bool custom; /* it is planned for each execution */
	bool spread; /* over shards or partitions, which are locked when it is executed */
	int executions;
	int running; /* of these */
	SPIPlanPtr plan; /* NULL: it has to be prepared */
	MemoryContextCallback freed; /* when the schema is */
} StorePlan;

extern void store_connect(void);
extern StorePlan *store_find_plan(DynTable *table, int shape);
extern StorePlan *store_prepare(DynTable *table, int shape, Oid index, const char *sql, int nargs,
								Oid *types);
extern StorePlan *store_prepare_remote(DynTable *table, int shape, const char *sql, int nargs,
									   Oid *types, bool routed);
extern StorePlan *store_prepare_on(DynTable *table, int shape, Oid relid, const char *sql,
								   int nargs, Oid *types, bool routed);
extern void store_execute(StorePlan *plan, const SPIExecuteOptions *options);
extern bool store_call(DynTable *table, int shape, const char *function, ParamListInfo parameters,
					   Datum *answer);
extern const PlannedStmt *store_planned(StorePlan *plan);
extern ParamListInfo store_parameters(int n, const Oid *types, const Datum *values);
extern void store_forbid_null(bool isnull);
extern void store_require_writes(const DynTable *table, uint64 rows, uint64 expected);

#endif
