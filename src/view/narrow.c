/*
 * narrow.c
 *	  Joins and sorts of views of entities carry the attributes that are asked for, and not items.
 *
 * The columns of a view are functions of the item, and the planner computes such expressions as late
 * as it can: it takes the item, which they are made of, through all joins, sorts and hash tables.
 * An item is many times as wide as the attributes that a query wants of it.
 *
 * Once all paths of a query are made, the nodes above the scan of a table get the attributes in place
 * of the item.  Where the plan has the same expression further up it refers to them: so it does with
 * any expression that a node below it has computed.  That is done only if each use of the item above
 * the scan is in such an expression.  A table whose rows are parameters of the inner side of a nested
 * loop stays as it is, since parameters are columns.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/pathnode.h"
#include "optimizer/planner.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"

#include "view/member_plan.h"

static create_upper_paths_hook_type next_hook;

/* A table of items. */
typedef struct Carried
{
	const RelOptInfo *rel;
	AttrNumber item;
	List *attributes; /* of Node *: what is asked for above its scan */
	bool whole; /* the item itself is */
} Carried;

typedef struct Narrowing
{
	PlannerInfo *root;
	Relids tables;
	List *carried; /* of Carried * */
	List *targets; /* of PathTarget *: those of all nodes */
	Relids parameters; /* tables whose rows are */
	bool unknown; /* there are nodes that we do not know */
} Narrowing;

/*
 * The tables
 */

/* Whether an outer join may make NULL of its columns: the planner carries expressions of these anyway. */
static bool
is_nullable(const PlannerInfo *root, const RelOptInfo *rel)
{
	ListCell *cell;

	foreach (cell, root->join_info_list)
	{
		const SpecialJoinInfo *join = lfirst(cell);

		if (join->jointype != JOIN_LEFT && join->jointype != JOIN_FULL)
			continue;
		if (bms_is_subset(rel->relids, join->syn_righthand) ||
			(join->jointype == JOIN_FULL && bms_is_subset(rel->relids, join->syn_lefthand)))
			return true;
	}
	return false;
}

static void
find_tables(Narrowing *narrowing)
{
	const PlannerInfo *root = narrowing->root;

	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		const RelOptInfo *rel = root->simple_rel_array[i];
		List *calls = rel == NULL || rel->reloptkind != RELOPT_BASEREL ? NIL : member_calls(rel);
		Carried *carried;

		if (calls == NIL || root->simple_rte_array[i]->inh || is_nullable(root, rel))
			continue;
		carried = palloc0(sizeof(Carried));
		carried->rel = rel;
		carried->item = ((const MemberCall *) linitial(calls))->item->varattno;
		narrowing->carried = lappend(narrowing->carried, carried);
		narrowing->tables = bms_add_members(narrowing->tables, rel->relids);
	}
}

/* The table whose item a node is, or NULL. */
static Carried *
carried_item(const Narrowing *narrowing, const Node *node)
{
	const Var *var = (const Var *) node;
	ListCell *cell;

	foreach (cell, IsA(node, Var) && var->varlevelsup == 0 ? narrowing->carried : NIL)
	{
		Carried *carried = lfirst(cell);

		if ((int) carried->rel->relid == (int) var->varno && carried->item == var->varattno)
			return carried;
	}
	return NULL;
}

/*
 * What is asked for
 */

static bool
find_uses(Node *node, Narrowing *narrowing)
{
	Carried *carried;
	Node *item;

	if (node == NULL)
		return false;
	item = member_attribute_item(node);
	if (item != NULL && (carried = carried_item(narrowing, item)) != NULL)
	{
		if (!list_member(carried->attributes, node))
			carried->attributes = lappend(carried->attributes, node);
		return false;
	}
	carried = carried_item(narrowing, node);
	if (carried != NULL)
		carried->whole = true;
	/* of the whole row */
	if (IsA(node, Var) && ((Var *) node)->varattno == InvalidAttrNumber)
	{
		ListCell *cell;

		foreach (cell, narrowing->carried)
			((Carried *) lfirst(cell))->whole |=
				((Carried *) lfirst(cell))->rel->relid == (Index) ((Var *) node)->varno;
	}
	return expression_tree_walker(node, find_uses, narrowing);
}

/* What a node hands on is no use of it. */
static void
add_target(Narrowing *narrowing, PathTarget *target)
{
	ListCell *cell;

	if (list_member_ptr(narrowing->targets, target))
		return;
	narrowing->targets = lappend(narrowing->targets, target);
	foreach (cell, target->exprs)
	{
		if (carried_item(narrowing, lfirst(cell)) == NULL)
			(void) find_uses(lfirst(cell), narrowing);
	}
}

static void
find_in_clauses(Narrowing *narrowing, List *clauses)
{
	ListCell *cell;

	foreach (cell, clauses)
	{
		Node *clause = lfirst(cell);

		(void) find_uses(IsA(clause, RestrictInfo) ? (Node *) ((RestrictInfo *) clause)->clause
												   : clause,
						 narrowing);
	}
}

/*
 * A join that only looks whether there are rows of its inner side hands on no expressions of these:
 * an item that it hands on, which nobody needs, stays one.
 */
static void
keep_inner_items(Narrowing *narrowing, const JoinPath *join)
{
	ListCell *cell;

	if (join->jointype != JOIN_SEMI && join->jointype != JOIN_ANTI)
		return;
	foreach (cell, join->path.pathtarget->exprs)
	{
		Carried *carried = carried_item(narrowing, lfirst(cell));

		if (carried != NULL &&
			bms_is_subset(carried->rel->relids, join->innerjoinpath->parent->relids))
			carried->whole = true;
	}
}

static void find_in_node(Narrowing *narrowing, Path *path);

static void
find_in_nodes(Narrowing *narrowing, List *paths)
{
	ListCell *cell;

	foreach (cell, paths)
		find_in_node(narrowing, lfirst(cell));
}

/* Goes through all nodes of a plan to be. */
static void
find_in_node(Narrowing *narrowing, Path *path)
{
	check_stack_depth();
	add_target(narrowing, path->pathtarget);
	narrowing->parameters = bms_add_members(narrowing->parameters, PATH_REQ_OUTER(path));
	switch (nodeTag(path))
	{
		case T_Path:
		case T_IndexPath:
		case T_BitmapHeapPath:
		case T_TidPath:
		case T_TidRangePath:
		case T_SubqueryScanPath:
		case T_GroupResultPath:
			break;
		case T_NestPath:
		case T_MergePath:
		case T_HashPath:
			keep_inner_items(narrowing, (JoinPath *) path);
			find_in_clauses(narrowing, ((JoinPath *) path)->joinrestrictinfo);
			find_in_node(narrowing, ((JoinPath *) path)->outerjoinpath);
			find_in_node(narrowing, ((JoinPath *) path)->innerjoinpath);
			break;
		case T_AppendPath:
			find_in_nodes(narrowing, ((AppendPath *) path)->subpaths);
			break;
		case T_MergeAppendPath:
			find_in_nodes(narrowing, ((MergeAppendPath *) path)->subpaths);
			break;
		case T_MaterialPath:
			find_in_node(narrowing, ((MaterialPath *) path)->subpath);
			break;
		case T_MemoizePath:
			find_in_node(narrowing, ((MemoizePath *) path)->subpath);
			break;
		case T_GatherPath:
			find_in_node(narrowing, ((GatherPath *) path)->subpath);
			break;
		case T_GatherMergePath:
			find_in_node(narrowing, ((GatherMergePath *) path)->subpath);
			break;
		case T_ProjectionPath:
			find_in_node(narrowing, ((ProjectionPath *) path)->subpath);
			break;
		case T_ProjectSetPath:
			find_in_node(narrowing, ((ProjectSetPath *) path)->subpath);
			break;
		case T_SortPath:
			find_in_node(narrowing, ((SortPath *) path)->subpath);
			break;
		case T_IncrementalSortPath:
			find_in_node(narrowing, ((IncrementalSortPath *) path)->spath.subpath);
			break;
		case T_GroupPath:
			find_in_clauses(narrowing, ((GroupPath *) path)->qual);
			find_in_node(narrowing, ((GroupPath *) path)->subpath);
			break;
		case T_AggPath:
			find_in_clauses(narrowing, ((AggPath *) path)->qual);
			find_in_node(narrowing, ((AggPath *) path)->subpath);
			break;
		case T_GroupingSetsPath:
			find_in_clauses(narrowing, ((GroupingSetsPath *) path)->qual);
			find_in_node(narrowing, ((GroupingSetsPath *) path)->subpath);
			break;
		case T_WindowAggPath:
			find_in_clauses(narrowing, ((WindowAggPath *) path)->qual);
			find_in_node(narrowing, ((WindowAggPath *) path)->subpath);
			break;
		case T_UpperUniquePath:
			find_in_node(narrowing, ((UpperUniquePath *) path)->subpath);
			break;
		case T_LimitPath:
			find_in_node(narrowing, ((LimitPath *) path)->subpath);
			break;
		default:
			narrowing->unknown = true;
			break;
	}
}

/*
 * What becomes of it
 */

/*
 * Attributes are computed for each row that is read then.  If most rows find no partner that costs
 * more than it spares.
 */
static bool
is_worthwhile(const Narrowing *narrowing, const Carried *carried)
{
	PlannerInfo *root = narrowing->root;
	const RelOptInfo *join = bms_membership(root->all_baserels) == BMS_MULTIPLE
								 ? find_join_rel(root, root->all_baserels)
								 : carried->rel;

	return list_length(carried->attributes) <= 1 ||
		   (join != NULL && join->rows >= carried->rel->rows / 2);
}

static void
remove_others(Narrowing *narrowing)
{
	List *kept = NIL;
	ListCell *cell;

	foreach (cell, narrowing->carried)
	{
		Carried *carried = lfirst(cell);

		if (!carried->whole && carried->attributes != NIL &&
			!bms_overlap(carried->rel->relids, narrowing->parameters) &&
			is_worthwhile(narrowing, carried))
			kept = lappend(kept, carried);
	}
	narrowing->carried = kept;
}

static void
add_expression(PathTarget *target, Node *node, Index sortgroupref)
{
	add_column_to_pathtarget(target, (Expr *) node, sortgroupref);
	target->width += get_typavgwidth(exprType(node), exprTypmod(node));
}

/* In the place of an item its attributes, unless they are there already. */
static void
narrow_target(const Narrowing *narrowing, PathTarget *target)
{
	PathTarget *narrow = create_empty_pathtarget();
	bool changed = false;
	ListCell *cell;
	ListCell *attribute;

	foreach (cell, target->exprs)
	{
		if (carried_item(narrowing, lfirst(cell)) != NULL)
			changed = true;
		else
			add_expression(narrow, lfirst(cell),
						   get_pathtarget_sortgroupref(target, foreach_current_index(cell)));
	}
	foreach (cell, changed ? target->exprs : NIL)
	{
		const Carried *carried = carried_item(narrowing, lfirst(cell));

		foreach (attribute, carried == NULL ? NIL : carried->attributes)
		{
			if (!list_member(narrow->exprs, lfirst(attribute)))
				add_expression(narrow, lfirst(attribute), 0);
		}
	}
	if (!changed)
		return;
	target->exprs = narrow->exprs;
	target->sortgrouprefs = narrow->sortgrouprefs;
	target->width = narrow->width;
}

/*
 * Has the plan of a query carry attributes in place of items, where it can.  final is what the query
 * gives; all of its paths are made.
 */
static void
narrow(PlannerInfo *root, RelOptInfo *final)
{
	Narrowing narrowing = {.root = root};
	ListCell *cell;

	if (root->parse->commandType != CMD_SELECT || root->rowMarks != NIL)
		return;
	find_tables(&narrowing);
	if (narrowing.carried == NIL)
		return;
	foreach (cell, root->processed_tlist)
		(void) find_uses((Node *) lfirst_node(TargetEntry, cell)->expr, &narrowing);
	foreach (cell, root->placeholder_list)
		narrowing.unknown |=
			bms_overlap(((const PlaceHolderInfo *) lfirst(cell))->ph_eval_at, narrowing.tables);
	find_in_nodes(&narrowing, final->pathlist);
	if (narrowing.unknown)
		return;
	remove_others(&narrowing);
	foreach (cell, narrowing.carried == NIL ? NIL : narrowing.targets)
		narrow_target(&narrowing, lfirst(cell));
}

/* The last that is done for a query before its plan is made of the paths. */
static void
finish_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input, RelOptInfo *output,
			 void *extra)
{
	if (next_hook != NULL)
		next_hook(root, stage, input, output, extra);
	if (stage == UPPERREL_FINAL)
		narrow(root, output);
}

/* Sets the hook.  Called once by _PG_init(). */
void
member_narrow_init(void)
{
	next_hook = create_upper_paths_hook;
	create_upper_paths_hook = finish_paths;
}
