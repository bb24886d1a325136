/*
 * estimate.c
 *	  How many items there are of an entity, or of those that a query asks for.
 *
 * By the statistics of the key columns: an entity's keys begin with the literals of its templates,
 * and values that the query gives for their placeholders make keys, or longer beginnings.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/pathnodes.h"
#include "nodes/supportnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/typcache.h"

#include "view/member_plan.h"

/* Keys that are made of one value tell the same of an item: together they leave what the rarest does. */
typedef struct KeyGroup
{
	List *clauses; /* of RestrictInfo *: what says their values */
	Selectivity part; /* of the entity's items */
} KeyGroup;

static Selectivity
clauses_part(const MemberScope *scope, List *clauses)
{
	return clauselist_selectivity(scope->root, clauses, scope->relid, scope->jointype,
								  scope->sjinfo);
}

static KeyOperators
column_operators(const MemberCall *call)
{
	return (KeyOperators){
		lookup_type_cache(call->column->vartype, TYPECACHE_BTREE_OPFAMILY)->btree_opf,
		call->column->varcollid};
}

/*
 * Without any values
 */

/* Of a key that begins with a value: that it is there. */
static List *
presence(const MemberCall *call)
{
	NullTest *test = makeNode(NullTest);

	test->arg = copyObject((Expr *) call->column);
	test->nulltesttype = IS_NOT_NULL;
	test->location = -1;
	return list_make1(test);
}

/* Returns what holds of a key's column without any values: equality, a range or an end of one, or NIL. */
static List *
literal_clauses(const MemberCall *call)
{
	KeyOperators operators = column_operators(call);
	KnownValues known;

	member_find_values(NIL, call, &known);
	return member_key_clauses(call, &known, &operators);
}

/* Which part of the items has such a key. */
static Selectivity
literal_part(const MemberScope *scope, const MemberCall *call)
{
	List *clauses = literal_clauses(call);

	return clauses_part(scope, clauses != NIL ? clauses : presence(call));
}

/*
 * With values
 */

/* Whether the values are those of other relations of a join. */
static bool
has_outer_values(const KnownValues *known)
{
	return contain_var_clause((Node *) known->values) || contain_var_clause(known->lower) ||
		   contain_var_clause(known->upper);
}

/*
 * Of the entity's items, by the values of one key.  The planner takes the two ends of a range for
 * one only if they are constants.
 */
static Selectivity
value_part(const MemberScope *scope, const MemberCall *call, const KnownValues *known)
{
	KeyOperators operators = column_operators(call);
	Selectivity literal = literal_part(scope, call);
	Selectivity part = DEFAULT_RANGE_INEQ_SEL;
	List *clauses = NIL;

	if (member_is_whole(call, known) || !has_outer_values(known))
		clauses = member_key_clauses(call, known, &operators);
	if (clauses != NIL)
		part = clauses_part(scope, clauses);
	return part < literal ? part / literal : 1.0;
}

static bool
share_any(const List *a, const List *b)
{
	ListCell *cell;

	foreach (cell, a)
	{
		if (list_member_ptr(b, lfirst(cell)))
			return true;
	}
	return false;
}

static void
add_to_group(List **groups, List *clauses, Selectivity part)
{
	KeyGroup *group;
	ListCell *cell;

	foreach (cell, *groups)
	{
		group = lfirst(cell);
		if (!share_any(group->clauses, clauses))
			continue;
		group->clauses = list_concat_unique_ptr(group->clauses, clauses);
		group->part = Min(group->part, part);
		return;
	}
	group = palloc(sizeof(KeyGroup));
	*group = (KeyGroup){list_copy(clauses), part};
	*groups = lappend(*groups, group);
}

/* Whether the clauses give all of the key in a column. */
static bool
column_is_known(List *calls, List *clauses, int attnum)
{
	ListCell *cell;

	foreach (cell, calls)
	{
		const MemberCall *call = lfirst(cell);
		KnownValues known;

		if (call->column->varattno != attnum)
			continue;
		member_find_values(clauses, call, &known);
		return member_is_whole(call, &known);
	}
	return false;
}

static bool
index_is_known(List *calls, List *clauses, const IndexOptInfo *index)
{
	for (int i = 0; i < index->nkeycolumns; i++)
	{
		if (!column_is_known(calls, clauses, index->indexkeys[i]))
			return false;
	}
	return true;
}

/* Whether there can be one row at most: its key is known. */
static bool
is_one_row(List *calls, List *clauses, const RelOptInfo *rel)
{
	ListCell *cell;

	foreach (cell, rel->indexlist)
	{
		const IndexOptInfo *index = lfirst(cell);

		if (index->unique && index->immediate && index->indpred == NIL &&
			index_is_known(calls, clauses, index))
			return true;
	}
	return false;
}

/* The keys of an entity begin alike together, so of the beginnings the rarest counts, not the product of all. */
static Selectivity
literals_part(const MemberScope *scope, List *calls)
{
	Selectivity part = 1.0;
	ListCell *cell;

	foreach (cell, calls)
		part = Min(part, literal_part(scope, lfirst(cell)));
	return part;
}

/*
 * Returns which part of a table's items is selected by calls together with those of the clauses
 * that say the values of their keys, which are added to *used.
 */
Selectivity
member_part(const MemberScope *scope, const RelOptInfo *rel, List *calls, List *clauses,
			List **used)
{
	Selectivity part = literals_part(scope, calls);
	List *groups = NIL;
	ListCell *cell;

	foreach (cell, calls)
	{
		const MemberCall *call = lfirst(cell);
		KnownValues known;

		member_find_values(clauses, call, &known);
		if (known.clauses == NIL)
			continue;
		add_to_group(&groups, known.clauses, value_part(scope, call, &known));
		*used = list_concat_unique_ptr(*used, known.clauses);
	}
	foreach (cell, groups)
		part *= ((KeyGroup *) lfirst(cell))->part;
	if (*used != NIL && rel->tuples > 1 && is_one_row(calls, clauses, rel))
		part = Min(part, 1.0 / rel->tuples);
	return part;
}

/*
 * Different keys
 */

/* Returns how many items the calls select, without any values. */
double
member_items(const MemberScope *scope, const RelOptInfo *rel, List *calls)
{
	return clamp_row_est(rel->tuples * literals_part(scope, calls));
}

/*
 * Returns how many different keys the items have that the calls select, in the column of one of the
 * calls; 0: nothing is known of it.
 */
double
member_keys(const MemberScope *scope, const RelOptInfo *rel, List *calls, const MemberCall *call)
{
	VariableStatData column;
	double keys;
	bool unknown;

	examine_variable(scope->root, (Node *) call->column, 0, &column);
	keys = get_variable_numdistinct(&column, &unknown) * literal_part(scope, call);
	ReleaseVariableStats(column);
	return unknown ? 0 : clamp_row_est(Min(keys, member_items(scope, rel, calls)));
}

/*
 * For the planner
 */

/*
 * Makes the clauses that give values select more.  Of them the planner knows nothing, and supposes
 * that they select little; a call cannot select more than all.
 */
static void
raise_values(List *used, double factor)
{
	ListCell *cell;

	foreach (cell, used)
	{
		RestrictInfo *clause = lfirst(cell);
		double raised = Min(clause->norm_selec * factor, 1.0);

		if (clause->norm_selec <= 0)
			continue;
		factor *= clause->norm_selec / raised;
		clause->norm_selec = raised;
	}
}

/*
 * What the calls of a table leave of it, without what the planner multiplies that with for the clauses
 * that say values.  These are mostly estimated after the calls, which come from a view.
 */
static Selectivity
part_beside_values(const MemberScope *scope, const RelOptInfo *rel, List *calls)
{
	List *used = NIL;
	Selectivity part = member_part(scope, rel, calls, rel->baserestrictinfo, &used);
	Selectivity values = 1.0;
	ListCell *cell;

	foreach (cell, used)
		values *= clause_selectivity(scope->root, lfirst(cell), scope->relid, scope->jointype,
									 scope->sjinfo);
	if (values > part)
		return part / values;
	if (values > 0)
		raise_values(used, part / values);
	return 1.0;
}

/* Whether a call is the first among the restrictions of its table; *calls: all of them. */
static bool
is_first(const RelOptInfo *rel, const List *args, List **calls, bool *known)
{
	ListCell *cell;

	*known = false;
	*calls = member_calls(rel);
	foreach (cell, *calls)
	{
		const MemberCall *call = lfirst(cell);

		*known |= equal(((FuncExpr *) call->clause->clause)->args, args);
		if (*known)
			return foreach_current_index(cell) == 0;
	}
	return false;
}

/*
 * Sets the selectivity of a call, and returns whether it could.  The planner multiplies it with those of
 * the other calls, so the first one has what all of them leave.
 */
bool
member_estimate(SupportRequestSelectivity *request)
{
	MemberScope scope = {request->root, request->varRelid, request->jointype, request->sjinfo};
	const PlannerInfo *root = request->root;
	FuncExpr node = {.xpr.type = T_FuncExpr, .funcid = request->funcid, .args = request->args};
	MemberCall call;
	const RelOptInfo *rel;
	List *calls;
	bool known;

	if (request->is_join || !member_read_call((Node *) &node, &call) ||
		(int) call.item->varno >= root->simple_rel_array_size ||
		(rel = root->simple_rel_array[call.item->varno]) == NULL)
		return false;
	if (is_first(rel, request->args, &calls, &known))
		request->selectivity = part_beside_values(&scope, rel, calls);
	else
		request->selectivity = known ? 1.0 : literal_part(&scope, &call);
	CLAMP_PROBABILITY(request->selectivity); /* a sum of shares may be a little more than all */
	return true;
}
