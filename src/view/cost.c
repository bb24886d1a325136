/*
 * cost.c
 *	  What scans of indexes for entities' items fetch.
 *
 * The conditions on several columns of an index say the same of an entity: each of "PK" like 'TRACK#…'
 * and "SK" = '#TRACK' has all tracks.  The planner takes columns for independent, and would expect
 * a scan to fetch a tenth of a tenth, so that the index with most columns seems best.  For
 * conditions that come from calls of dyn_is_entity() the part of the table is what these calls
 * select together.
 *
 * Neighbours in an index may be neighbours in the table too, or not, which the statistics of a column
 * do not tell of one entity.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_am_d.h"
#include "nodes/pathnodes.h"
#include "utils/index_selfuncs.h"
#include "utils/selfuncs.h"

#include "view/member_plan.h"

/* The calls that a scan's conditions come from; NIL: there are others too. */
static List *
calls_of(const IndexPath *path)
{
	List *calls = member_calls(path->indexinfo->rel);
	List *used = NIL;
	ListCell *cell;

	foreach (cell, path->indexclauses)
	{
		const RestrictInfo *clause = ((IndexClause *) lfirst(cell))->rinfo;
		const MemberCall *found = NULL;
		ListCell *known;

		foreach (known, calls)
		{
			if (((MemberCall *) lfirst(known))->clause == clause)
				found = lfirst(known);
		}
		if (found == NULL)
			return NIL;
		used = lappend(used, (void *) found);
	}
	return used;
}

/* Whether a scan looks for several keys. */
static bool
has_list(const IndexPath *path)
{
	ListCell *cell;

	foreach (cell, path->indexclauses)
	{
		const RestrictInfo *condition =
			linitial_node(RestrictInfo, ((IndexClause *) lfirst(cell))->indexquals);

		if (IsA(condition->clause, ScalarArrayOpExpr))
			return true;
	}
	return false;
}

/* What may give values to the scan's conditions: lists only if there are any. */
static List *
clauses_of(const IndexPath *path)
{
	const ParamPathInfo *info = path->path.param_info;
	bool lists = has_list(path);
	List *clauses = info == NULL ? NIL : list_copy(info->ppi_clauses);
	ListCell *cell;

	foreach (cell, path->indexinfo->rel->baserestrictinfo)
	{
		if (lists || !IsA(lfirst_node(RestrictInfo, cell)->clause, ScalarArrayOpExpr))
			clauses = lappend(clauses, lfirst(cell));
	}
	return clauses;
}

static void
estimate(PlannerInfo *root, IndexPath *path, double loop_count, Cost *startup, Cost *total,
		 Selectivity *selectivity, double *correlation, double *pages)
{
	const RelOptInfo *rel = path->indexinfo->rel;
	MemberScope scope = {root, (int) rel->relid, JOIN_INNER, NULL};
	List *calls = calls_of(path);
	List *used = NIL;
	double apart;

	btcostestimate(root, path, loop_count, startup, total, selectivity, correlation, pages);
	apart = calls == NIL ? -1 : member_apart(&scope, rel, calls, linitial(calls));
	if (apart < 0)
		return;
	*selectivity = member_part(&scope, rel, calls, clauses_of(path), &used);
	CLAMP_PROBABILITY(*selectivity);
	/* the planner squares it */
	*correlation = sqrt(1.0 - apart);
}

/* Lets an index be estimated like this, while a query is planned. */
void
member_cost_add(IndexOptInfo *index)
{
	if (index->relam == BTREE_AM_OID && index->amcostestimate == btcostestimate)
		index->amcostestimate = estimate;
}
