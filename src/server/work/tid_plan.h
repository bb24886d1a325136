/*
 * tid_plan.h
 *	  Plans that read rows by their places.
 */
#ifndef DYNAMO_TABLE_SERVER_WORK_TID_PLAN_H
#define DYNAMO_TABLE_SERVER_WORK_TID_PLAN_H

/* PlanSwitches are the planner's switches as they were. */
typedef struct PlanSwitches
{
	bool seqscan;
	bool bitmapscan;
	bool indexscan;
	bool tidscan;
	bool jit;
} PlanSwitches;

extern void tid_plan_begin(PlanSwitches *before);
extern void tid_plan_end(const PlanSwitches *before);

#endif
