/*
 * estimate.c
 *	  How many items there are of an entity, or of those that a query asks for.
 *
 * An entity's keys begin with the literals of its templates, and values that the query gives for
 * their placeholders make keys, or longer beginnings.  So the planner's own estimates of
 * conditions on the key columns say it.  All keys of an item tell of the same item, so the one
 * that leaves the least counts, and not the product.
 */
#include "postgres.h"

#include <float.h>

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/index_selfuncs.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/typcache.h"

#include "models/view/member_plan.h"

/* So large is a range at least of which statistics list nothing. */
#define LEAST_RANGE 0.002

/* To make a key of values of a join takes as long as this many operators. */
#define MAKING_KEY 10

/* Tells how many different keys there are of a kind, and which part of the items has them. */
typedef struct KeyCount
{
	double keys;
	Selectivity part;
} KeyCount;

static List *
key_clauses(const MemberCall *call, const KnownValues *known)
{
	KeyOperators operators = {
		lookup_type_cache(call->column->vartype, TYPECACHE_BTREE_OPFAMILY)->btree_opf,
		call->column->varcollid};

	return member_key_clauses(call, known, &operators);
}

/* Returns which part of the items has a key that is made of what is known of its values. */
static Selectivity
key_part(PlannerInfo *root, const MemberCall *call, const KnownValues *known)
{
	List *clauses = key_clauses(call, known);

	if (clauses == NIL)
		return nulltestsel(root, IS_NOT_NULL, (Node *) call->column, 0, JOIN_INNER, NULL);
	return clauselist_selectivity(root, clauses, (int) call->column->varno, JOIN_INNER, NULL);
}

/* Returns whether a value fulfils clauses that compare a column with constants. */
static bool
fulfils(Datum value, List *clauses)
{
	ListCell *cell;

	foreach (cell, clauses)
	{
		OpExpr *clause = lfirst_node(OpExpr, cell);
		Const *other = lsecond_node(Const, clause->args);

		if (!DatumGetBool(OidFunctionCall2Coll(clause->opfuncid, clause->inputcollid, value,
											   other->constvalue)))
			return false;
	}
	return true;
}

/* Returns whether the statistics of a column may be compared by these clauses, with constants. */
static bool
may_be_compared(VariableStatData *column, List *clauses)
{
	ListCell *cell;

	foreach (cell, clauses)
	{
		OpExpr *clause = lfirst(cell);

		if (!IsA(clause, OpExpr) || !IsA(lsecond(clause->args), Const))
			return false;
		set_opfuncid(clause);
		if (!statistic_proc_security_check(column, clause->opfuncid))
			return false;
	}
	return clauses != NIL && HeapTupleIsValid(column->statsTuple);
}

/*
 * Looks up in statistics which part of a column's values begins with the template's literals, and
 * how many different ones that are.  An entity whose collections are large has few keys: those that
 * are listed as the most common ones are counted, and the others are supposed to have as many rows
 * each.  The part is the share of the histogram's bounds that is among them, since the planner
 * interpolates between strings by their bytes.
 */
static bool
look_up(VariableStatData *column, List *clauses, double distinct, KeyCount *count)
{
	AttStatsSlot slot;
	Selectivity rest;
	Selectivity share = 0;

	if (!may_be_compared(column, clauses))
		return false;
	*count = (KeyCount){0};
	rest = 1 - ((Form_pg_statistic) GETSTRUCT(column->statsTuple))->stanullfrac;
	if (get_attstatsslot(&slot, column->statsTuple, STATISTIC_KIND_MCV, InvalidOid,
						 ATTSTATSSLOT_VALUES | ATTSTATSSLOT_NUMBERS))
	{
		for (int i = 0; i < Min(slot.nvalues, slot.nnumbers); i++)
		{
			rest -= slot.numbers[i];
			if (!fulfils(slot.values[i], clauses))
				continue;
			count->keys++;
			count->part += slot.numbers[i];
		}
		distinct -= slot.nvalues;
		free_attstatsslot(&slot);
	}
	if (get_attstatsslot(&slot, column->statsTuple, STATISTIC_KIND_HISTOGRAM, InvalidOid,
						 ATTSTATSSLOT_VALUES))
	{
		for (int i = 0; i < slot.nvalues; i++)
			share += fulfils(slot.values[i], clauses) ? 1.0 / slot.nvalues : 0;
		free_attstatsslot(&slot);
	}
	count->keys += share * Max(distinct, 0);
	count->part += share * Max(rest, 0);
	return true;
}

/* Counts the keys that begin with the template's literals, in the column of a call. */
static KeyCount
count_keys(PlannerInfo *root, const MemberCall *call)
{
	VariableStatData column;
	KnownValues known;
	KeyCount count;
	double distinct;
	bool unknown;

	member_find_literals(call, &known);
	examine_variable(root, (Node *) call->column, 0, &column);
	distinct = get_variable_numdistinct(&column, &unknown);
	if (member_is_whole(call, &known) ||
		!look_up(&column, key_clauses(call, &known), distinct, &count))
	{
		count.part = key_part(root, call, &known);
		count.keys = distinct * count.part;
	}
	if (!member_is_whole(call, &known))
		count.part = Max(count.part, LEAST_RANGE);
	count.keys = unknown ? 0 : clamp_row_est(count.keys);
	ReleaseVariableStats(column);
	return count;
}

/*
 * Returns which part of the items has a key that begins with the template's literals.  The planner
 * asks for it for each path, so it is kept in the field for outer joins, of which a restriction of a
 * table is no clause.
 */
static Selectivity
literal_part(PlannerInfo *root, const MemberCall *call)
{
	RestrictInfo *clause = call->clause;
	Selectivity part = clause != NULL && clause->outer_selec >= 0 ? clause->outer_selec
																  : count_keys(root, call).part;

	if (clause != NULL)
		clause->outer_selec = part;
	return part;
}

/*
 * Returns how many different keys begin with the literals, in the column of a call.  0: nothing is
 * known of it.
 */
double
member_keys(PlannerInfo *root, const MemberCall *call)
{
	return count_keys(root, call).keys;
}

/* Returns which part of the items a call leaves without any values: all, if it is about some alone. */
static Selectivity
call_part(PlannerInfo *root, const MemberCall *call)
{
	return call->member->ngiven > 0 ? 1.0 : literal_part(root, call);
}

static Selectivity
literals_part(PlannerInfo *root, List *calls)
{
	Selectivity part = 1.0;
	ListCell *cell;

	foreach (cell, calls)
		part = Min(part, call_part(root, lfirst(cell)));
	return part;
}

/* Returns how many items the calls select, without any values. */
double
member_items(PlannerInfo *root, const RelOptInfo *rel, List *calls)
{
	return clamp_row_est(rel->tuples * literals_part(root, calls));
}

/*
 * Returns which part of the items an index scan fetches by keys.  The planner takes all conditions
 * for independent, but the literals of an item's keys go together.
 */
static Selectivity
fetched_part(PlannerInfo *root, const IndexPath *path)
{
	Selectivity all = 1.0;
	Selectivity part = 1.0;
	ListCell *cell;

	foreach (cell, path->indexclauses)
	{
		const IndexClause *clause = lfirst_node(IndexClause, cell);
		int relid = (int) path->indexinfo->rel->relid;
		MemberCall call;
		Selectivity literals;

		if (!member_read_call((Node *) clause->rinfo->clause, &call))
			continue;
		call.clause = clause->rinfo;
		literals = literal_part(root, &call);
		all = Min(all, literals);
		part *= Min(1.0, clauselist_selectivity(root, clause->indexquals, relid, JOIN_INNER, NULL) /
							 Max(literals, DBL_MIN));
	}
	return all * part;
}

/*
 * Estimates an index scan by keys.  It fetches what it returns at least, of which the planner knows
 * something if it does not depend on values of joins.
 */
static void
index_cost(PlannerInfo *root, IndexPath *path, double loop_count, Cost *startup, Cost *total,
		   Selectivity *selectivity, double *correlation, double *pages)
{
	Selectivity least = fetched_part(root, path);

	btcostestimate(root, path, loop_count, startup, total, selectivity, correlation, pages);
	if (path->path.param_info == NULL)
		least = Max(least, path->path.rows / Max(path->indexinfo->rel->tuples, 1));
	else
		*total += list_length(path->indexclauses) * MAKING_KEY * cpu_operator_cost;
	*selectivity = Max(*selectivity, least);
	CLAMP_PROBABILITY(*selectivity);
}

/* Returns how much items in the order of keys lie together, as the planner does: the square of a correlation. */
double
member_together(PlannerInfo *root, const IndexPath *path)
{
	const IndexClause *first = linitial(path->indexclauses);
	double together = 0;
	VariableStatData column;
	AttStatsSlot slot;
	MemberCall call;

	if (!member_read_call((Node *) first->rinfo->clause, &call))
		return 0;
	examine_variable(root, (Node *) call.column, 0, &column);
	if (HeapTupleIsValid(column.statsTuple) &&
		get_attstatsslot(&slot, column.statsTuple, STATISTIC_KIND_CORRELATION, InvalidOid,
						 ATTSTATSSLOT_NUMBERS))
	{
		together = slot.numbers[0] * slot.numbers[0];
		free_attstatsslot(&slot);
	}
	ReleaseVariableStats(column);
	return together;
}

/* Has scans of a btree estimated as those by keys of entities. */
void
member_estimate_index(IndexOptInfo *index)
{
	index->amcostestimate = (__typeof__(index->amcostestimate)) index_cost;
}

static bool
column_is_known(List *calls, int attnum, KeyIsKnown is_known, const void *arg)
{
	ListCell *cell;

	foreach (cell, calls)
	{
		const MemberCall *call = lfirst(cell);

		if (call->column->varattno == attnum && is_known(call, arg))
			return true;
	}
	return false;
}

/* Returns whether there is one row at most, since its key is known. */
bool
member_is_one_row(const RelOptInfo *rel, List *calls, KeyIsKnown is_known, const void *arg)
{
	ListCell *cell;

	foreach (cell, rel->indexlist)
	{
		const IndexOptInfo *index = lfirst(cell);
		bool known = index->unique && index->immediate && index->indpred == NIL;

		for (int i = 0; known && i < index->nkeycolumns; i++)
			known = column_is_known(calls, index->indexkeys[i], is_known, arg);
		if (known)
			return true;
	}
	return false;
}

static bool
is_given_by(const MemberCall *call, const void *clauses)
{
	KnownValues known;

	member_find_values((List *) clauses, (List *) clauses, call, &known);
	return member_is_whole(call, &known);
}

/* Takes clauses for true that say values: what they leave is estimated by keys. */
static void
take_for_true(List *clauses)
{
	ListCell *cell;

	foreach (cell, clauses)
		((RestrictInfo *) lfirst(cell))->norm_selec = 1.0;
}

/*
 * Returns what the calls of a table leave of it, together with the clauses that say values.  Of
 * these the planner knows nothing, so that they select by what the keys say, and nothing more: they
 * are estimated after the calls, which come from a view.
 */
static Selectivity
calls_part(PlannerInfo *root, const RelOptInfo *rel, List *calls)
{
	bool one = member_is_one_row(rel, calls, is_given_by, rel->baserestrictinfo);
	Selectivity *literals = palloc(list_length(calls) * sizeof(Selectivity));
	Selectivity all = 1.0;
	Selectivity part;
	ListCell *cell;

	foreach (cell, one ? NIL : calls)
	{
		Selectivity of_call = call_part(root, lfirst(cell));

		literals[foreach_current_index(cell)] = of_call;
		all = Min(all, of_call);
	}
	part = one ? 1.0 / Max(rel->tuples, 1) : all;
	foreach (cell, calls)
	{
		const MemberCall *call = lfirst(cell);
		KnownValues known;

		if (!member_find_values(rel->baserestrictinfo, rel->baserestrictinfo, call, &known) ||
			(known.clauses == NIL && call->member->ngiven == 0))
			continue;
		take_for_true(known.clauses);
		if (one)
			continue;
		/* what is about some items alone says how many there are of all */
		part = Min(part, call->member->ngiven > 0 ? key_part(root, call, &known)
												  : all * key_part(root, call, &known) /
														literals[foreach_current_index(cell)]);
	}
	return part;
}

/*
 * Sets the selectivity of a call, and returns whether it could.  The planner multiplies it with
 * those of the other calls, so the first one has what all of them leave.
 */
bool
member_estimate(SupportRequestSelectivity *request)
{
	PlannerInfo *root = request->root;
	FuncExpr node = {.xpr.type = T_FuncExpr, .funcid = request->funcid, .args = request->args};
	MemberCall call;
	const RelOptInfo *rel;
	List *calls;
	ListCell *cell;

	if (request->is_join || !member_read_call((Node *) &node, &call) ||
		(int) call.item->varno >= root->simple_rel_array_size ||
		(rel = root->simple_rel_array[call.item->varno]) == NULL)
		return false;
	request->selectivity = -1;
	calls = member_calls(rel);
	foreach (cell, calls)
	{
		const MemberCall *own = lfirst(cell);

		if (!equal(((FuncExpr *) own->clause->clause)->args, request->args))
			continue;
		request->selectivity =
			foreach_current_index(cell) == 0 ? calls_part(root, rel, calls) : 1.0;
		break;
	}
	if (request->selectivity < 0)
		request->selectivity = call_part(root, &call);
	CLAMP_PROBABILITY(request->selectivity);
	return true;
}
