/*
 * estimate.c
 *	  How many items there are of an entity, or of those that a query asks for.
 *
 * By the statistics of the key columns: an entity's keys begin with the literals of its templates,
 * and values that the query gives for their placeholders make keys, or longer beginnings.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "nodes/makefuncs.h"
#include "nodes/pathnodes.h"
#include "nodes/supportnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/syscache.h"
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

static List *
literal_clauses(const MemberCall *call)
{
	KeyOperators operators = column_operators(call);
	KnownValues known;
	List *clauses;

	member_find_values(NIL, call, &known);
	clauses = member_key_clauses(call, &known, &operators);
	return clauses != NIL ? clauses : presence(call);
}

/*
 * Sets what an estimate depends on, and returns whether it depends on nothing else: of a range, which
 * the operators of text compare for any role, by the statistics of the column alone.
 */
static bool
find_statistics(const PlannerInfo *root, const MemberCall *call, List *clauses,
				MemberEstimate *basis)
{
	int i = (int) call->column->varno;
	const RangeTblEntry *entry;
	HeapTuple tuple;

	if (list_length(clauses) != 2 || get_relation_stats_hook != NULL ||
		i >= root->simple_rel_array_size || root->simple_rel_array[i] == NULL ||
		root->simple_rel_array[i]->statlist != NIL)
		return false;
	entry = root->simple_rte_array[i];
	if (entry->rtekind != RTE_RELATION)
		return false;
	tuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(entry->relid),
							Int16GetDatum(call->column->varattno), BoolGetDatum(entry->inh));
	if (!HeapTupleIsValid(tuple))
		return false;
	*basis = (MemberEstimate){entry->relid, call->column->varattno, tuple->t_self,
							  HeapTupleHeaderGetRawXmin(tuple->t_data), 0};
	ReleaseSysCache(tuple);
	return true;
}

/*
 * Which part of the items has such a key.  A member keeps what it was for its last table: the planner
 * goes through all the statistics of the column for each of the two ends.
 */
static Selectivity
literal_part(const MemberScope *scope, const MemberCall *call)
{
	List *clauses = literal_clauses(call);
	MemberEstimate *known = call->member->estimate;
	MemberEstimate basis;
	bool keeps = find_statistics(scope->root, call, clauses, &basis);

	if (keeps && known->relid == basis.relid && known->attnum == basis.attnum &&
		known->written == basis.written && ItemPointerEquals(&known->statistics, &basis.statistics))
		return known->part;
	basis.part = clauses_part(scope, clauses);
	if (keeps)
		*known = basis;
	return basis.part;
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
value_part(const MemberScope *scope, const MemberCall *call, const KnownValues *known,
		   Selectivity literal)
{
	KeyOperators operators = column_operators(call);
	Selectivity part = member_is_whole(call, known) || !has_outer_values(known)
						   ? clauses_part(scope, member_key_clauses(call, known, &operators))
						   : DEFAULT_RANGE_INEQ_SEL;

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

/*
 * Returns which part of a table's items is selected by calls together with those of the clauses
 * that say the values of their keys, which are added to *used.
 *
 * The keys of an entity begin alike together, so of the beginnings the rarest counts, not the
 * product of all.
 */
Selectivity
member_part(const MemberScope *scope, const RelOptInfo *rel, List *calls, List *clauses,
			List **used)
{
	Selectivity part = 1.0;
	List *groups = NIL;
	ListCell *cell;

	foreach (cell, calls)
	{
		const MemberCall *call = lfirst(cell);
		Selectivity literal = literal_part(scope, call);
		KnownValues known;

		part = Min(part, literal);
		member_find_values(clauses, call, &known);
		if (known.clauses == NIL)
			continue;
		add_to_group(&groups, known.clauses, value_part(scope, call, &known, literal));
		*used = list_concat_unique_ptr(*used, known.clauses);
	}
	foreach (cell, groups)
		part *= ((KeyGroup *) lfirst(cell))->part;
	if (*used != NIL && rel->tuples > 1 && is_one_row(calls, clauses, rel))
		part = Min(part, 1.0 / rel->tuples);
	return part;
}

/*
 * For the planner
 */

/*
 * The same without what the planner multiplies it with for the clauses that say values, of which it
 * knows nothing.
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
	return values > part ? part / values : 1.0;
}

/* The calls that come before a call among the restrictions of its table, and itself; NIL: it is none of them. */
static List *
calls_up_to(const RelOptInfo *rel, const List *args)
{
	List *calls = NIL;
	ListCell *cell;

	foreach (cell, member_calls(rel))
	{
		const MemberCall *call = lfirst(cell);

		calls = lappend(calls, (void *) call);
		if (equal(((FuncExpr *) call->clause->clause)->args, args))
			return calls;
	}
	return NIL;
}

/*
 * Sets the selectivity of a call, and returns whether it could.  The planner multiplies it with those of the other
 * calls, so each has what it leaves of what those before it do.
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
	Selectivity before;
	Selectivity all;

	if (request->is_join || !member_read_call((Node *) &node, &call) ||
		(int) call.item->varno >= root->simple_rel_array_size ||
		(rel = root->simple_rel_array[call.item->varno]) == NULL)
		return false;
	calls = calls_up_to(rel, request->args);
	if (calls == NIL)
	{
		request->selectivity = literal_part(&scope, &call);
		return true;
	}
	all = part_beside_values(&scope, rel, calls);
	before =
		part_beside_values(&scope, rel, list_truncate(list_copy(calls), list_length(calls) - 1));
	request->selectivity = all < before ? all / before : 1.0;
	return true;
}
