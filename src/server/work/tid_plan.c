/*
 * tid_plan.c
 *	  Plans that read rows where the statement says they are.
 *
 * The planner's switches are set as variables and not as settings, since triggers of the table have
 * nothing to do with it.
 */
#include "postgres.h"

#include "jit/jit.h"
#include "optimizer/cost.h"

#include "server/work/tid_plan.h"

/* Has all that is planned until the end use TIDs; an error must not prevent the end. */
void
tid_plan_begin(PlanSwitches *before)
{
	*before = (PlanSwitches){enable_seqscan, enable_bitmapscan, enable_indexscan, enable_tidscan,
							 jit_enabled};
	enable_seqscan = enable_bitmapscan = enable_indexscan = jit_enabled = false;
	enable_tidscan = true;
}

/* Restores the planner's switches that tid_plan_begin() has saved. */
void
tid_plan_end(const PlanSwitches *before)
{
	enable_seqscan = before->seqscan;
	enable_bitmapscan = before->bitmapscan;
	enable_indexscan = before->indexscan;
	enable_tidscan = before->tidscan;
	jit_enabled = before->jit;
}
