/*
 * path.c
 *	  Scans of indexes for entities' items, by what joins say of their keys, or in the order of keys.
 *
 *		SELECT … FROM "Album" a JOIN "Track" t USING ("AlbumId") WHERE a."ArtistId" = 90
 *
 * reads the tracks of each album by the index whose key is made of "AlbumId".  The planner asks
 * the support function of dyn_is_entity() for conditions of restrictions alone, so this hook makes
 * the paths whose conditions come from join clauses: parameterized by the other relations, lossy,
 * and with dyn_is_entity() as the clause that they stand for.  The scan evaluates that call and the
 * join clauses again for each row.
 *
 * Under row-level security the planner takes no condition from a clause that is not leakproof, as
 * the call is not, since it would be evaluated before the policies' conditions.  A condition on a
 * key is something else: it compares the key's column with what does not depend on the row.  So it
 * is used if the operator is leakproof, and also where it comes from restrictions alone.
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_collation.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "models/view/member_plan.h"
#include "server/compat.h"

static set_rel_pathlist_hook_type next_hook;

/* Tells what is planned. */
typedef struct Planned
{
	PlannerInfo *root;
	RelOptInfo *rel;
	List *calls; /* of MemberCall * */
	List *joins; /* join clauses that can be evaluated where the table is read, of RestrictInfo * */
	List *assumed; /* they and the restrictions: rows of which they do not hold do not count */
	List *present; /* of NullTest *: columns that have keys then */
} Planned;

/* This is a scan of an index. */
typedef struct KeyScan
{
	IndexOptInfo *index;
	List *clauses; /* of IndexClause * */
	Relids outer; /* whose values it needs */
	bool unique; /* it finds one row */
} KeyScan;

/*
 * The relation
 */

static bool
is_table(const RelOptInfo *rel, const RangeTblEntry *rte)
{
	return rel->reloptkind == RELOPT_BASEREL && rte->rtekind == RTE_RELATION && !rte->inh &&
		   rte->tablesample == NULL && rel->indexlist != NIL;
}

/*
 * What joins say
 */

typedef struct WantedMember
{
	const MemberCall *call;
	const TemplatePart *part;
} WantedMember;

static bool
is_wanted(PlannerInfo *root, RelOptInfo *rel, EquivalenceClass *ec, EquivalenceMember *em,
		  void *arg)
{
	const WantedMember *wanted = arg;

	return member_names_attribute((Node *) em->em_expr, wanted->call, wanted->part);
}

static bool
may_be_moved(const Planned *plan, RestrictInfo *clause)
{
	return join_clause_is_movable_into(clause, plan->rel->relids, clause->clause_relids);
}

/* Adds implied clauses by attribute: the planner gives those of the first class that has any. */
static List *
add_implied(List *clauses, const Planned *plan, const MemberCall *call)
{
	for (int i = 0; call->t != NULL && i < call->t->nparts; i++)
	{
		WantedMember wanted = {call, &call->t->parts[i]};
		List *implied =
			member_part_attribute(call, wanted.part) == NULL
				? NIL
				: generate_implied_equalities_for_column(plan->root, plan->rel, is_wanted, &wanted,
														 plan->rel->lateral_referencers);
		ListCell *cell;

		foreach (cell, implied)
		{
			if (may_be_moved(plan, lfirst(cell)))
				clauses = list_append_unique_ptr(clauses, lfirst(cell));
		}
	}
	return clauses;
}

/* Returns join clauses that can be evaluated where the table is read, as a list of RestrictInfo *. */
static List *
join_clauses(const Planned *plan)
{
	List *clauses = NIL;
	ListCell *cell;

	foreach (cell, plan->rel->joininfo)
	{
		if (join_clause_is_movable_to(lfirst(cell), plan->rel))
			clauses = lappend(clauses, lfirst(cell));
	}
	foreach (cell, plan->rel->has_eclass_joins ? plan->calls : NIL)
		clauses = add_implied(clauses, plan, lfirst(cell));
	return clauses;
}

/* Returns the relations whose values a clause needs. */
static Relids
outer_of(const Planned *plan, const RestrictInfo *clause)
{
	return bms_difference(clause->clause_relids, plan->rel->relids);
}

/* Returns the restrictions, and those of the join clauses that need no other relations. */
static List *
clauses_within(const Planned *plan, Relids outer)
{
	List *clauses = list_copy(plan->rel->baserestrictinfo);
	ListCell *cell;

	foreach (cell, plan->joins)
	{
		if (bms_is_subset(outer_of(plan, lfirst(cell)), outer))
			clauses = lappend(clauses, lfirst(cell));
	}
	return clauses;
}

static List *
add_outer(List *sets, Relids outer)
{
	ListCell *cell;

	foreach (cell, sets)
	{
		if (bms_equal(lfirst(cell), outer))
			return sets;
	}
	return lappend(sets, outer);
}

/* Returns the relations of each clause, and those of all. */
static List *
outer_sets(const Planned *plan)
{
	Relids all = NULL;
	List *sets = NIL;
	ListCell *cell;

	foreach (cell, plan->joins)
	{
		Relids outer = outer_of(plan, lfirst(cell));

		sets = add_outer(sets, outer);
		all = bms_union(all, outer);
	}
	return plan->joins == NIL ? NIL : add_outer(sets, all);
}

/*
 * Indexes
 */

/* Returns the columns that have the keys of items of which the clauses require certain attributes. */
static List *
present_columns(const Planned *plan)
{
	List *present = NIL;
	ListCell *cell;

	foreach (cell, plan->calls)
	{
		const MemberCall *call = lfirst(cell);
		NullTest *test = makeNode(NullTest);

		if (call->member->ngiven == 0 || !member_is_said(plan->assumed, call))
			continue;
		test->arg = (Expr *) call->column;
		test->nulltesttype = IS_NOT_NULL;
		present = lappend(present, test);
	}
	return present;
}

/*
 * Returns whether a scan of an index finds the rows.  A partial index has them by what the planner has
 * proved, or since columns are present.  As the planner does for that, join clauses are assumed to hold.
 */
static bool
is_usable(const Planned *plan, const IndexOptInfo *index)
{
	return index->relam == BTREE_AM_OID &&
		   (index->indpred == NIL || index->predOK ||
			(plan->present != NIL &&
			 predicate_implied_by(index->indpred,
								  list_concat(list_copy(plan->present), plan->assumed), false)));
}

/*
 * Scans
 */

static const MemberCall *
call_of_column(const Planned *plan, int attnum)
{
	ListCell *cell;

	foreach (cell, plan->calls)
	{
		const MemberCall *call = lfirst(cell);

		if (call->column->varattno == attnum)
			return call;
	}
	return NULL;
}

/* Returns whether no policy's condition must be evaluated before a condition on the key. */
static bool
is_secure(const Planned *plan, const MemberCall *call, const KnownValues *known, List *conditions)
{
	bool promotable = restriction_is_securely_promotable(call->clause, plan->rel);
	bool leakproof = true;
	ListCell *cell;

	foreach (cell, known->clauses)
		promotable &= restriction_is_securely_promotable(lfirst(cell), plan->rel);
	foreach (cell, conditions)
	{
		const Node *condition = lfirst(cell);

		leakproof &= get_func_leakproof(get_opcode(IsA(condition, ScalarArrayOpExpr)
													   ? ((ScalarArrayOpExpr *) condition)->opno
													   : ((OpExpr *) condition)->opno));
	}
	return promotable || leakproof;
}

/* Makes a condition.  While the index is read values are constant: both ends of a range are one. */
static RestrictInfo *
condition_of(const Planned *plan, Expr *condition)
{
	RestrictInfo *info = make_simple_restrictinfo(plan->root, condition);

	info->clause_relids = plan->rel->relids;
	info->right_relids = NULL;
#if PG16_GE
	info->num_base_rels = 1;
#endif
	return info;
}

static IndexClause *
index_clause(const Planned *plan, const MemberCall *call, int column, List *conditions)
{
	IndexClause *clause = makeNode(IndexClause);
	ListCell *cell;

	clause->rinfo = call->clause;
	clause->lossy = true;
	clause->indexcol = (AttrNumber) column;
	foreach (cell, conditions)
		clause->indexquals = lappend(clause->indexquals, condition_of(plan, lfirst(cell)));
	return clause;
}

/* Adds the condition on a column of the index.  Returns whether it is equality. */
static bool
add_column(const Planned *plan, KeyScan *scan, int column, List *clauses)
{
	const MemberCall *call = call_of_column(plan, scan->index->indexkeys[column]);
	KeyOperators operators = {scan->index->opfamily[column], scan->index->indexcollations[column]};
	List *conditions = NIL;
	KnownValues known;
	ListCell *cell;

	if (call == NULL)
		return false;
	member_find_values(clauses, plan->assumed, call, &known);
	conditions = member_key_clauses(call, &known, &operators);
	if (conditions == NIL || !is_secure(plan, call, &known, conditions))
		return false;
	scan->clauses = lappend(scan->clauses, index_clause(plan, call, column, conditions));
	foreach (cell, known.clauses)
		scan->outer = bms_union(scan->outer, outer_of(plan, lfirst_node(RestrictInfo, cell)));
	return member_is_whole(call, &known);
}

/*
 * Makes a scan by equality of the index's first columns, and the range of the next one: what comes
 * behind says little about where to read, and estimates take it for independent.
 */
static KeyScan *
scan_of(const Planned *plan, IndexOptInfo *index, List *clauses)
{
	KeyScan *scan = palloc0(sizeof(KeyScan));
	int column = 0;

	scan->index = index;
	while (column < index->nkeycolumns && add_column(plan, scan, column, clauses))
		column++;
	scan->unique = index->unique && column == index->nkeycolumns;
	return scan;
}

/*
 * Paths
 */

/* Returns how often a scan is made: as often as the smallest of the outer relations has rows. */
static double
loop_count(const Planned *plan, Relids outer)
{
	double count = 0;
	int i = -1;

	while ((i = bms_next_member(outer, i)) >= 0)
	{
		const RelOptInfo *rel =
			i < plan->root->simple_rel_array_size ? plan->root->simple_rel_array[i] : NULL;

		if (rel != NULL && rel->rows > 0 && (count == 0 || rel->rows < count))
			count = rel->rows;
	}
	return Max(count, 1.0);
}

/*
 * Makes a bitmap scan.  Where it reads depends on how much the items lie together, as the cost of an index
 * scan does: between the cost in all pages of the table, and in as many as the items would fill.
 */
static Path *
bitmap_path(const Planned *plan, IndexPath *path, Relids outer, double loops)
{
	RelOptInfo *rel = plan->rel;
	BlockNumber pages = rel->pages;
	Path *spread =
		(Path *) create_bitmap_heap_path(plan->root, rel, (Path *) path, outer, loops, 0);
	const Path *together;

	/* of values of joins each may be elsewhere */
	if (!bms_is_empty(outer))
		return spread;
	rel->pages = (BlockNumber) (pages * path->indexselectivity);
	together = (Path *) create_bitmap_heap_path(plan->root, rel, (Path *) path, outer, loops, 0);
	rel->pages = pages;
	spread->total_cost +=
		member_together(plan->root, path) * (together->total_cost - spread->total_cost);
	return spread;
}

static void
add_scan(const Planned *plan, const KeyScan *scan, Relids required_outer)
{
	double loops = loop_count(plan, required_outer);
	IndexPath *path;
	Path *bitmap;

	member_estimate_index(scan->index);
	path = create_index_path(plan->root, scan->index, scan->clauses, NIL, NIL, NIL,
							 ForwardScanDirection, false, required_outer, loops, false);
	bitmap = scan->unique || !scan->index->amhasgetbitmap
				 ? NULL
				 : bitmap_path(plan, path, required_outer, loops);

	add_path(plan->rel, (Path *) path);
	if (bitmap != NULL)
		add_path(plan->rel, bitmap);
}

static bool
is_known(List *scans, const KeyScan *scan)
{
	ListCell *cell;

	foreach (cell, scans)
	{
		const KeyScan *other = lfirst(cell);

		if (other->index == scan->index && bms_equal(other->outer, scan->outer))
			return true;
	}
	return false;
}

static void
add_join_paths(const Planned *plan)
{
	List *scans = NIL;
	ListCell *cell;

	foreach (cell, outer_sets(plan))
	{
		List *clauses = clauses_within(plan, lfirst(cell));
		ListCell *index;

		foreach (index, plan->rel->indexlist)
		{
			KeyScan *scan =
				is_usable(plan, lfirst(index)) ? scan_of(plan, lfirst(index), clauses) : NULL;

			if (scan != NULL && !bms_is_empty(scan->outer) && !is_known(scans, scan))
				scans = lappend(scans, scan);
		}
	}
	foreach (cell, scans)
	{
		const KeyScan *scan = lfirst(cell);

		add_scan(plan, scan, bms_union(scan->outer, plan->rel->lateral_relids));
	}
}

/*
 * Adds paths by restrictions alone; all columns count, as where the planner asks for conditions.  It takes
 * none that is not leakproof, or of a partial index that it cannot use, no list for a column that is not the
 * first of an index, and the items for spread over the table.
 */
static void
add_restricted_paths(const Planned *plan)
{
	ListCell *cell;

	foreach (cell, plan->rel->indexlist)
	{
		KeyScan scan = {.index = lfirst(cell)};
		bool whole = true;

		for (int i = 0; is_usable(plan, scan.index) && i < scan.index->nkeycolumns; i++)
			whole &= add_column(plan, &scan, i, plan->rel->baserestrictinfo);
		scan.unique = scan.index->unique && whole;
		if (scan.clauses != NIL)
			add_scan(plan, &scan, plan->rel->lateral_relids);
	}
}

/*
 * The order of an attribute
 */

/* Returns whether a sort is by what an expression is, in the order of its type. */
static bool
is_sorted_by(const Planned *plan, const PathKey *sort, const MemberCall *call,
			 const TemplatePart *part)
{
	ListCell *cell;

	foreach (cell, sort->pk_eclass->ec_members)
	{
		const EquivalenceMember *member = lfirst(cell);
		Node *node = (Node *) member->em_expr;

		if (!member->em_is_const && bms_equal(member->em_relids, plan->rel->relids) &&
			member_is_in_order(node, call, part) &&
			lookup_type_cache(exprType(node), TYPECACHE_BTREE_OPFAMILY)->btree_opf ==
				sort->pk_opfamily)
			return true;
	}
	return false;
}

/*
 * Returns the part of a template that the keys in a column of an index are in the order of, where
 * the columns before have one value each, or NULL.
 */
static const TemplatePart *
ordered_part(const Planned *plan, const KeyScan *scan, int column, const MemberCall *call)
{
	const IndexOptInfo *index = scan->index;
	KnownValues known;

	if (call == NULL || call->t == NULL || index->indexcollations[column] != C_COLLATION_OID ||
		index->reverse_sort[column])
		return NULL;
	member_find_values(plan->rel->baserestrictinfo, plan->assumed, call, &known);
	return known.nparts < call->t->nparts && known.list == NULL ? &call->t->parts[known.nparts]
																: NULL;
}

/* Adds conditions on an index's first columns, and returns how many have one value each. */
static int
add_equal_columns(const Planned *plan, KeyScan *scan)
{
	int column = 0;

	while (column < scan->index->nkeycolumns &&
		   add_column(plan, scan, column, plan->rel->baserestrictinfo))
	{
		const IndexClause *clause = llast(scan->clauses);

		/* one of several values, which does not count */
		if (IsA(linitial_node(RestrictInfo, clause->indexquals)->clause, ScalarArrayOpExpr))
			break;
		column++;
	}
	return column;
}

/*
 * Adds a scan in the order that the query asks for first: of the attribute that the sort keys of an
 * item collection begin with.  So the latest items of a collection are read, and not all of it.  A
 * number that is too large for the attribute's type is NULL, and comes last.
 */
static void
add_ordered_path(const Planned *plan, IndexOptInfo *index)
{
	PathKey *sort = linitial(plan->root->query_pathkeys);
	bool descending = pathkey_is_descending(sort);
	KeyScan scan = {.index = index};
	int column = add_equal_columns(plan, &scan);
	const MemberCall *call =
		column < index->nkeycolumns ? call_of_column(plan, index->indexkeys[column]) : NULL;
	const TemplatePart *part = ordered_part(plan, &scan, column, call);

	if (part == NULL || sort->pk_nulls_first != descending || !is_sorted_by(plan, sort, call, part))
		return;
	add_path(plan->rel,
			 (Path *) create_index_path(plan->root, index, scan.clauses, NIL, NIL, list_make1(sort),
										descending == part->reversed ? ForwardScanDirection
																	 : BackwardScanDirection,
										false, plan->rel->lateral_relids, 1.0, false));
}

static void
add_ordered_paths(const Planned *plan)
{
	ListCell *cell;

	foreach (cell, plan->rel->indexlist)
	{
		if (is_usable(plan, lfirst(cell)))
			add_ordered_path(plan, lfirst(cell));
	}
}

/*
 * Has a scan make one call of all, which looks at the item once.  Paths are made of the single ones before,
 * since the planner takes one column's condition from each.
 */
static void
merge_calls(const Planned *plan)
{
	RestrictInfo *first = NULL;
	FuncExpr *all = NULL;
	ListCell *cell;
	ListCell *index;

	foreach (cell, plan->calls)
	{
		const MemberCall *call = lfirst(cell);
		RestrictInfo *clause = call->clause;
		List *args = ((FuncExpr *) clause->clause)->args;

		/* no view has one that is false of an item that its definition says nothing of */
		if (func_strict(call->function) && call->member->ngiven > 0)
			continue;
		if (all == NULL || first->security_level != clause->security_level ||
			!equal(linitial(all->args), call->item) ||
			list_length(all->args) + list_length(args) > FUNC_MAX_ARGS)
		{
			first = clause;
			first->clause = (Expr *) (all = copyObject((FuncExpr *) clause->clause));
			continue;
		}
		/* one that is not strict is false of a NULL in the column of one that is */
		if (!func_strict(call->function))
			all->funcid = call->function;
		all->args = list_concat(all->args, list_copy_tail(args, 1));
		/* what is left of it is in paths */
		clause->clause = first->clause;
		plan->rel->baserestrictinfo = list_delete_ptr(plan->rel->baserestrictinfo, clause);
		foreach (index, plan->rel->indexlist)
		{
			IndexOptInfo *info = lfirst(index);

			info->indrestrictinfo = list_delete_ptr(info->indrestrictinfo, clause);
		}
	}
}

static void
add_paths(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	Planned plan = {root, rel};

	if (next_hook != NULL)
		next_hook(root, rel, rti, rte);
	if (!is_table(rel, rte) || IS_DUMMY_REL(rel))
		return;
	plan.calls = member_calls(rel);
	if (plan.calls == NIL || member_route(root, rel, rte->relid, plan.calls))
		return;
	member_distinct_add(root, rel, plan.calls);
	if (rel->joininfo != NIL || rel->has_eclass_joins)
		plan.joins = join_clauses(&plan);
	plan.assumed = list_concat_copy(rel->baserestrictinfo, plan.joins);
	plan.present = present_columns(&plan);
	add_restricted_paths(&plan);
	if (root->query_pathkeys != NIL)
		add_ordered_paths(&plan);
	if (plan.joins != NIL)
		add_join_paths(&plan);
	merge_calls(&plan);
}

/* Sets the hook.  Called once by _PG_init(). */
void
member_path_init(void)
{
	next_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = add_paths;
}
