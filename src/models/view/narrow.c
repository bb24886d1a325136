/*
 * narrow.c
 *	  Joins and sorts of views of entities carry the attributes that are asked for, and not items.
 *
 * The columns of a view are functions of the item, and the planner computes such expressions as
 * late as it can: it takes the item, which they are made of, through all joins, sorts and hash
 * tables.  An item is many times as wide as the attributes that a query wants of it.
 *
 * Once all paths of a query are made, the nodes above the scan of a table get the attributes in
 * place of the item.  Where the plan has the same expression further up it refers to them: so it
 * does with any expression that a node below it has computed.  That is done only if each use of
 * the item above the scan is in such an expression.  A table whose rows are parameters of the
 * inner side of a nested loop stays as it is, since parameters are columns.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/pathnode.h"
#include "optimizer/planner.h"
#include "optimizer/tlist.h"

#include "models/view/member_plan.h"

static create_upper_paths_hook_type next_hook;

typedef struct Narrowing
{
	PlannerInfo *root;
	List *carried; /* of MemberUses * */
	List *targets; /* of PathTarget *: those of all nodes */
	Relids parameters; /* tables whose rows are */
	bool unknown; /* there are nodes that we do not know */
} Narrowing;

/*
 * What is asked for
 */

static bool
is_attribute(Node *node, const Var *item)
{
	const Var *var = (const Var *) member_attribute_item(node);

	return var != NULL && IsA(var, Var) && var->varno == item->varno &&
		   var->varattno == item->varattno && var->varlevelsup == 0;
}

static bool
find_uses(Node *node, MemberUses *uses)
{
	const Var *var = (const Var *) node;
	Node *attribute = node;

	if (node == NULL)
		return false;
	if (IsA(node, PlaceHolderVar))
		attribute = (Node *) ((PlaceHolderVar *) node)->phexpr;
	if (is_attribute(attribute, uses->item))
	{
		uses->attributes = list_append_unique(uses->attributes, node);
		return false;
	}
	/* also of the whole row */
	if (IsA(node, Var) && var->varno == uses->item->varno && var->varlevelsup == 0)
		uses->whole |= var->varattno == uses->item->varattno || var->varattno == InvalidAttrNumber;
	return expression_tree_walker(node, find_uses, uses);
}

/* Returns what a query asks for above the scan of a table of which the calls select items. */
MemberUses *
member_uses(const PlannerInfo *root, const RelOptInfo *rel, const List *calls)
{
	MemberUses *uses = palloc0(sizeof(MemberUses));
	ListCell *cell;
	ListCell *member;

	uses->rel = rel;
	uses->item = ((const MemberCall *) linitial(calls))->item;
	(void) find_uses((Node *) root->processed_tlist, uses);
	(void) find_uses(root->parse->havingQual, uses);
	foreach (cell, rel->joininfo)
		(void) find_uses((Node *) lfirst_node(RestrictInfo, cell)->clause, uses);
	foreach (cell, root->eq_classes)
	{
		const EquivalenceClass *class = lfirst(cell);

		/* a constant is compared where the table is read */
		foreach (member, class->ec_has_const ? NIL : class->ec_members)
			(void) find_uses((Node *) lfirst_node(EquivalenceMember, member)->em_expr, uses);
	}
	return uses;
}

/*
 * The tables
 */

/*
 * Returns whether nodes above the scan cannot refer to its attributes.  What an outer join may make
 * NULL of the planner carries as expressions anyway.  A join that only looks whether there are rows
 * hands on none of their expressions, but may hand on an item, for a join above it that compares
 * another one of a class.
 */
static bool
is_hidden(const PlannerInfo *root, const MemberUses *uses)
{
	const RelOptInfo *rel = uses->rel;
	Relids needed = rel->attr_needed[uses->item->varattno - rel->min_attr];
	ListCell *cell;

	foreach (cell, root->placeholder_list)
	{
		if (bms_overlap(((const PlaceHolderInfo *) lfirst(cell))->ph_eval_at, rel->relids))
			return true;
	}
	foreach (cell, root->join_info_list)
	{
		const SpecialJoinInfo *join = lfirst(cell);
		bool nullable = join->jointype == JOIN_LEFT || join->jointype == JOIN_FULL;

		if (bms_is_subset(rel->relids, join->syn_righthand) &&
			(nullable ||
			 !bms_is_subset(needed, bms_union(join->min_lefthand, join->min_righthand))))
			return true;
		if (join->jointype == JOIN_FULL && bms_is_subset(rel->relids, join->syn_lefthand))
			return true;
	}
	return false;
}

/*
 * Returns whether to compute attributes for each row that is read.  If most rows find no partner
 * that costs more than it spares.
 */
static bool
is_worthwhile(PlannerInfo *root, const MemberUses *uses)
{
	const RelOptInfo *join = bms_membership(root->all_baserels) == BMS_MULTIPLE
								 ? find_join_rel(root, root->all_baserels)
								 : uses->rel;

	return uses->attributes != NIL && (list_length(uses->attributes) == 1 ||
									   (join != NULL && join->rows >= uses->rel->rows / 2));
}

/* Finds tables of which attributes are asked for and not the item. */
static void
find_tables(Narrowing *narrowing)
{
	PlannerInfo *root = narrowing->root;

	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		const RelOptInfo *rel = root->simple_rel_array[i];
		List *calls = rel == NULL || rel->reloptkind != RELOPT_BASEREL ? NIL : member_calls(rel);
		MemberUses *uses;

		if (calls == NIL || root->simple_rte_array[i]->inh)
			continue;
		uses = member_uses(root, rel, calls);
		if (!uses->whole && !is_hidden(root, uses) && is_worthwhile(root, uses))
			narrowing->carried = lappend(narrowing->carried, uses);
	}
}

/* Returns the table whose item a node is, which can be left behind; or NULL. */
static const MemberUses *
carried_item(const Narrowing *narrowing, const Node *node)
{
	const Var *var = (const Var *) node;
	ListCell *cell;

	foreach (cell, IsA(node, Var) && var->varlevelsup == 0 ? narrowing->carried : NIL)
	{
		const MemberUses *carried = lfirst(cell);

		if (carried->item->varno == var->varno && carried->item->varattno == var->varattno &&
			!bms_is_subset(carried->rel->relids, narrowing->parameters))
			return carried;
	}
	return NULL;
}

/*
 * The nodes
 */

/* Returns the nodes below a node. */
static List *
nodes_below(Narrowing *narrowing, Path *path)
{
	switch (nodeTag(path))
	{
		case T_Path:
		case T_IndexPath:
		case T_BitmapHeapPath:
		case T_SubqueryScanPath:
		case T_GroupResultPath:
			return NIL;
		case T_NestPath:
		case T_MergePath:
		case T_HashPath:
			return list_make2(((JoinPath *) path)->outerjoinpath,
							  ((JoinPath *) path)->innerjoinpath);
		case T_AppendPath:
			return ((AppendPath *) path)->subpaths;
		case T_MergeAppendPath:
			return ((MergeAppendPath *) path)->subpaths;
		case T_MaterialPath:
		case T_MemoizePath:
		case T_GatherPath:
		case T_GatherMergePath:
		case T_ProjectionPath:
		case T_ProjectSetPath:
		case T_SortPath:
		case T_IncrementalSortPath:
		case T_GroupPath:
		case T_AggPath:
		case T_GroupingSetsPath:
		case T_WindowAggPath:
		case T_UpperUniquePath:
		case T_LimitPath:
			/* all of them have it in the same place */
			return list_make1(((ProjectionPath *) path)->subpath);
		default:
			narrowing->unknown = true;
			return NIL;
	}
}

/* Goes through all nodes of a plan to be. */
static void
find_in_nodes(Narrowing *narrowing, List *paths)
{
	ListCell *cell;

	check_stack_depth();
	foreach (cell, paths)
	{
		Path *path = lfirst(cell);

		narrowing->targets = list_append_unique_ptr(narrowing->targets, path->pathtarget);
		narrowing->parameters = bms_add_members(narrowing->parameters, PATH_REQ_OUTER(path));
		find_in_nodes(narrowing, nodes_below(narrowing, path));
	}
}

/* Replaces an item by its attributes, unless they are there already. */
static void
narrow_target(const Narrowing *narrowing, PathTarget *target)
{
	PathTarget *narrow = create_empty_pathtarget();
	ListCell *cell;
	ListCell *attribute;

	foreach (cell, target->exprs)
	{
		const MemberUses *carried = carried_item(narrowing, lfirst(cell));

		if (carried == NULL)
			add_column_to_pathtarget(
				narrow, lfirst(cell),
				get_pathtarget_sortgroupref(target, foreach_current_index(cell)));
		foreach (attribute, carried == NULL ? NIL : carried->attributes)
		{
			if (!list_member(target->exprs, lfirst(attribute)))
				add_column_to_pathtarget(narrow, lfirst(attribute), 0);
		}
	}
	*target = *set_pathtarget_cost_width(narrowing->root, narrow);
}

/*
 * Has the plan of a query carry attributes in place of items, where it can.  final is what the
 * query gives; all of its paths are made.
 */
static void
narrow_plan(PlannerInfo *root, RelOptInfo *final)
{
	Narrowing narrowing = {.root = root};
	ListCell *cell;

	if (root->parse->commandType != CMD_SELECT || root->rowMarks != NIL)
		return;
	find_tables(&narrowing);
	if (narrowing.carried != NIL)
		find_in_nodes(&narrowing, final->pathlist);
	foreach (cell, narrowing.unknown ? NIL : narrowing.targets)
		narrow_target(&narrowing, lfirst(cell));
}

/* Narrows paths as the last that is done for a query before its plan is made of them. */
static void
finish_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input, RelOptInfo *output,
			 void *extra)
{
	if (next_hook != NULL)
		next_hook(root, stage, input, output, extra);
	if (stage == UPPERREL_FINAL)
		narrow_plan(root, output);
}

/* Sets the hook.  Called once by _PG_init(). */
void
member_narrow_init(void)
{
	next_hook = create_upper_paths_hook;
	create_upper_paths_hook = finish_paths;
}
