/*
 * plan.h
 *	  Which keys a statement reads or writes.
 */
#ifndef DYNAMO_TABLE_PARTIQL_PLAN_H
#define DYNAMO_TABLE_PARTIQL_PLAN_H

#include "partiql/partiql.h"
#include "store/store.h"

#define PARTIQL_MAX_READS 50

/* A stretch of a collection. */
typedef struct PartiqlRead
{
	Datum partition;
	StoreBound lower;
	StoreBound upper;
} PartiqlRead;

/*
 * The reads of a SELECT are disjoint and in the order in which they return items.  The condition of
 * the statement still has to hold for each item, unless the plan is exact.
 */
typedef struct PartiqlPlan
{
	const DynTable *table;
	const DynIndex *index;
	bool scan; /* there are no reads: all is read */
	int nreads; /* 0: there can be no such item */
	PartiqlRead *reads;
	bool forward; /* in each of them */
	bool exact;
	List *branches; /* of the condition, see plan.c */
} PartiqlPlan;

/* plan.c */
extern PartiqlPlan *partiql_plan(const PartiqlBound *bound, const DynTable *table,
								 const DynIndex *index);
extern List *partiql_unprojected(const PartiqlPlan *plan);

/* key.c */
extern DynItem *partiql_key(const PartiqlBound *bound, const DynTable *table, bool *alone);

#endif
