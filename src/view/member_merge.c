/*
 * member_merge.c
 *	  One call of dyn_is_entity() for all keys of a table that is read.
 *
 *		is_entity(item, 'Track', pk) AND is_entity(item, 'Track', sk)
 *
 * is what a view says, since the planner takes the condition on one column from each call.  It has
 * what it needs of them when the paths of a query are made, and nothing is concluded from clauses
 * behind that.  So then they become
 *
 *		is_entity(item, 'Track', pk, sk)
 *
 * which looks at the item and its type attribute once.  The call is as strict as the others: where
 * a column is NULL it is not true.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/planner.h"
#include "optimizer/restrictinfo.h"
#include "utils/builtins.h"

#include "view/member_plan.h"

static create_upper_paths_hook_type next_hook;

/* The clauses that become one. */
typedef struct Merged
{
	List *clauses; /* of RestrictInfo * */
	RestrictInfo *clause; /* what they become */
} Merged;

/*
 * The call
 */

/*
 * A policy's conditions come before those of a view, so calls of one level only are one.  A function can
 * have so many arguments.
 */
static List *
mergeable_calls(const RelOptInfo *rel, Index level)
{
	List *calls = NIL;
	ListCell *cell;

	foreach (cell, member_calls(rel))
	{
		MemberCall *call = lfirst(cell);
		const MemberCall *first = calls == NIL ? call : linitial(calls);

		if (call->clause->security_level == level && call->definition->consttype != TEXTOID &&
			call->function == first->function && equal(call->item, first->item) &&
			list_length(calls) < FUNC_MAX_ARGS - MEMBER_COLUMN_ARGUMENT)
			calls = lappend(calls, call);
	}
	return calls;
}

static List *
members_of(List *calls)
{
	List *members = NIL;
	ListCell *cell;

	foreach (cell, calls)
		members = lappend(members, (void *) ((const MemberCall *) lfirst(cell))->member);
	return members;
}

static Expr *
merged_call(List *calls, const char *definition)
{
	const MemberCall *first = linitial(calls);
	FuncExpr *call = copyObject((FuncExpr *) first->clause->clause);
	Const *constant = list_nth(call->args, MEMBER_DEFINITION_ARGUMENT);
	ListCell *cell;

	constant->constvalue = PointerGetDatum(cstring_to_text(definition));
	call->args = list_truncate(call->args, MEMBER_COLUMN_ARGUMENT);
	foreach (cell, calls)
		call->args = lappend(call->args, copyObject(((const MemberCall *) lfirst(cell))->column));
	return (Expr *) call;
}

/* As the first clause is. */
static RestrictInfo *
merged_clause(List *calls, const char *definition)
{
	RestrictInfo *clause = makeNode(RestrictInfo);

	*clause = *((const MemberCall *) linitial(calls))->clause;
	clause->clause = merged_call(calls, definition);
	return clause;
}

static bool
merge_calls(const RelOptInfo *rel, Index level, Merged *merged)
{
	List *calls = mergeable_calls(rel, level);
	const char *definition;
	ListCell *cell;

	if (list_length(calls) < 2 || (definition = member_merge(members_of(calls))) == NULL)
		return false;
	merged->clauses = NIL;
	foreach (cell, calls)
		merged->clauses = lappend(merged->clauses, ((const MemberCall *) lfirst(cell))->clause);
	merged->clause = merged_clause(calls, definition);
	return true;
}

/*
 * Where it goes
 */

/* In the place of the first one. */
static List *
replace(List *clauses, const Merged *merged)
{
	List *kept = NIL;
	ListCell *cell;

	if (!list_member_ptr(clauses, linitial(merged->clauses)))
		return clauses;
	foreach (cell, clauses)
	{
		if (lfirst(cell) == linitial(merged->clauses))
			kept = lappend(kept, merged->clause);
		else if (!list_member_ptr(merged->clauses, lfirst(cell)))
			kept = lappend(kept, lfirst(cell));
	}
	return kept;
}

/* What the conditions of a scan stand for, so that it is not evaluated beside the merged call. */
static void
replace_in_path(Path *path, const Merged *merged)
{
	ListCell *cell;

	check_stack_depth();
	switch (nodeTag(path))
	{
		case T_IndexPath:
			foreach (cell, ((IndexPath *) path)->indexclauses)
			{
				IndexClause *clause = lfirst(cell);

				if (list_member_ptr(merged->clauses, clause->rinfo))
					clause->rinfo = merged->clause;
			}
			break;
		case T_BitmapHeapPath:
			replace_in_path(((BitmapHeapPath *) path)->bitmapqual, merged);
			break;
		case T_BitmapAndPath:
			foreach (cell, ((BitmapAndPath *) path)->bitmapquals)
				replace_in_path(lfirst(cell), merged);
			break;
		case T_BitmapOrPath:
			foreach (cell, ((BitmapOrPath *) path)->bitmapquals)
				replace_in_path(lfirst(cell), merged);
			break;
		default:
			break;
	}
}

static void
replace_in_table(RelOptInfo *rel, const Merged *merged)
{
	ListCell *cell;

	rel->baserestrictinfo = replace(rel->baserestrictinfo, merged);
	foreach (cell, rel->indexlist)
	{
		IndexOptInfo *index = lfirst(cell);

		index->indrestrictinfo = replace(index->indrestrictinfo, merged);
	}
	foreach (cell, rel->pathlist)
		replace_in_path(lfirst(cell), merged);
	foreach (cell, rel->partial_pathlist)
		replace_in_path(lfirst(cell), merged);
}

static void
merge_in_table(RelOptInfo *rel, Index levels)
{
	for (Index level = 0; level <= levels; level++)
	{
		Merged merged;

		if (merge_calls(rel, level, &merged))
			replace_in_table(rel, &merged);
	}
}

/* The last that is done for a query before its plan is made of the paths. */
static void
merge(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input, RelOptInfo *output,
	  void *extra)
{
	if (next_hook != NULL)
		next_hook(root, stage, input, output, extra);
	if (stage != UPPERREL_FINAL)
		return;
	member_narrow(root, output);
	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		RelOptInfo *rel = root->simple_rel_array[i];

		if (rel != NULL && IS_SIMPLE_REL(rel) && rel->rtekind == RTE_RELATION)
			merge_in_table(rel, root->qual_security_level);
	}
}

/* Sets the hook.  Called once by _PG_init(). */
void
member_merge_init(void)
{
	next_hook = create_upper_paths_hook;
	create_upper_paths_hook = merge;
}
