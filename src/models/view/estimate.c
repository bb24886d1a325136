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

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "optimizer/optimizer.h"
#include "utils/selfuncs.h"
#include "utils/typcache.h"

#include "models/view/member_plan.h"

/*
 * The planner interpolates between strings by their bytes, which says nothing of a range that is a
 * part of a histogram's bin.
 */
#define LEAST_RANGE 0.002

/* Returns which part of the items has a key that is made of what is known of its values. */
static Selectivity
key_part(PlannerInfo *root, const MemberCall *call, const KnownValues *known)
{
	KeyOperators operators = {
		lookup_type_cache(call->column->vartype, TYPECACHE_BTREE_OPFAMILY)->btree_opf,
		call->column->varcollid};
	List *clauses = member_key_clauses(call, known, &operators);

	if (clauses == NIL)
		return nulltestsel(root, IS_NOT_NULL, (Node *) call->column, 0, JOIN_INNER, NULL);
	return clauselist_selectivity(root, clauses, (int) call->column->varno, JOIN_INNER, NULL);
}

/* Returns which part has a key that begins with the template's literals. */
static Selectivity
literal_part(PlannerInfo *root, const MemberCall *call)
{
	KnownValues known;
	Selectivity part;

	member_find_literals(call, &known);
	part = key_part(root, call, &known);
	return member_is_whole(call, &known) ? part : Max(part, LEAST_RANGE);
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
 * Returns how many different keys begin with the literals, in the column of a call: of all that
 * there are its part, as if all had as many items.  0: nothing is known of it.
 */
double
member_keys(PlannerInfo *root, const MemberCall *call)
{
	VariableStatData column;
	double keys;
	bool unknown;

	examine_variable(root, (Node *) call->column, 0, &column);
	keys = get_variable_numdistinct(&column, &unknown) * literal_part(root, call);
	if (HeapTupleIsValid(column.statsTuple))
		keys /=
			Max(1 - ((Form_pg_statistic) GETSTRUCT(column.statsTuple))->stanullfrac, LEAST_RANGE);
	ReleaseVariableStats(column);
	return unknown ? 0 : clamp_row_est(keys);
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
