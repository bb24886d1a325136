/*
 * plan.h
 *	  Which keys a statement reads or writes.
 */
#ifndef DYNAMO_TABLE_API_PARTIQL_PLAN_H
#define DYNAMO_TABLE_API_PARTIQL_PLAN_H

#include "api/partiql/partiql.h"
#include "store/store.h"

#define PARTIQL_MAX_READS 50

/* A PartiqlRead is a stretch of a collection. */
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

/* explain.c */
extern void partiql_explain_plan(struct PartiqlExplainer *explainer, const PartiqlBound *bound,
								 const PartiqlPlan *plan, RangesRequest *request);

/* execute.c */
extern void partiql_check_index(const PartiqlBound *bound, const DynTable *table);

/* A PartiqlKeyUse says what the item is named for. */
typedef enum PartiqlKeyUse
{
	PARTIQL_KEY_READ, /* IN with one value is an equality, too */
	PARTIQL_KEY_WRITTEN, /* two values are an error */
	PARTIQL_KEY_CHECKED
} PartiqlKeyUse;

typedef struct PartiqlKey
{
	DynItem *item; /* of the attributes that are named */
	int missing; /* number of one that is not, or -1 */
	List *others; /* PartiqlNode: conditions that AND joins to the key */
} PartiqlKey;

/* key.c */
extern PartiqlKey partiql_find_key(const PartiqlBound *bound, const DynTable *table,
								   PartiqlKeyUse use);
extern PartiqlKey partiql_whole_key(const PartiqlBound *bound, const DynTable *table);

#endif
