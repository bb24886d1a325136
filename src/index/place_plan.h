/*
 * place_plan.h
 *	  Plans that read rows by their places.
 */
#ifndef DYNAMO_TABLE_INDEX_PLACE_PLAN_H
#define DYNAMO_TABLE_INDEX_PLACE_PLAN_H

/* The planner's switches as they were. */
typedef struct PlaceSwitches
{
	bool seqscan;
	bool bitmapscan;
	bool indexscan;
	bool tidscan;
	bool jit;
} PlaceSwitches;

extern void place_plan_begin(PlaceSwitches *before);
extern void place_plan_end(const PlaceSwitches *before);

#endif
