/*
 * place_plan.c
 *	  Plans that read rows where the statement says they are.
 *
 * The planner's switches are set as variables and not as settings, since triggers of the table have
 * nothing to do with it.
 */
#include "postgres.h"

#include "jit/jit.h"
#include "optimizer/cost.h"

#include "index/place_plan.h"

/* What is planned until the end, which an error must not prevent. */
void
place_plan_begin(PlaceSwitches *before)
{
	*before = (PlaceSwitches){enable_seqscan, enable_bitmapscan, enable_indexscan, enable_tidscan,
							  jit_enabled};
	enable_seqscan = enable_bitmapscan = enable_indexscan = jit_enabled = false;
	enable_tidscan = true;
}

/* Restores the planner's switches that place_plan_begin() has saved. */
void
place_plan_end(const PlaceSwitches *before)
{
	enable_seqscan = before->seqscan;
	enable_bitmapscan = before->bitmapscan;
	enable_indexscan = before->indexscan;
	enable_tidscan = before->tidscan;
	jit_enabled = before->jit;
}
