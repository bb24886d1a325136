/*
 * distinct.c
 *	  How many different values attributes of an entity have, for joins and groups.
 *
 * The planner looks for the statistics of an expression at the indexes that have it as a column, and
 * asks get_index_stats_hook for them.  So a table of which an entity is read gets an index that is
 * not there, whose columns are the attributes that are joined or grouped, once the paths of the table
 * are made: no scan uses it, and it has no operators and proves nothing.
 *
 * Of an attribute that keys begin with there are as many values as keys, and of one that alone makes
 * the primary key as many as items.  This says numbers only, and no values, which are what the
 * planner keeps to itself if a role may not read them.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "rewrite/rewriteManip.h"
#include "utils/selfuncs.h"

#include "ground/compat.h"
#include "view/member_plan.h"

/* Of fewer items, any attribute is supposed to have another value in each, as the planner does with tables. */
#define FEW_ITEMS DEFAULT_NUM_DISTINCT

static get_index_stats_hook_type next_hook;

/* The index that is not there. */
typedef struct AttributeIndex
{
	IndexOptInfo index;
	List *calls; /* of MemberCall * */
	List *joined; /* for each column, of Node *: what it has to be equal to */
	double *distinct; /* of each column; 0: not computed yet, -1: not known */
} AttributeIndex;

/* What becomes of it. */
typedef struct Attributes
{
	PlannerInfo *root;
	const RelOptInfo *rel;
	List *nodes; /* of Node * */
	List *joined;
} Attributes;

/*
 * What attributes are
 */

/* What an expression is below casts that change nothing, and below what outer joins make of it. */
static Node *
attribute_of(const PlannerInfo *root, Node *node)
{
	for (;;)
	{
		if (IsA(node, RelabelType))
			node = (Node *) ((RelabelType *) node)->arg;
		else if (IsA(node, PlaceHolderVar))
			node = (Node *) ((PlaceHolderVar *) node)->phexpr;
		else
			break;
	}
#if PG16_GE
	node = remove_nulling_relids(node, root->outer_join_rels, NULL);
#endif
	return node;
}

/* Whether it is the one that the part of the template is made of, as it is. */
static bool
is_part(const PlannerInfo *root, Node *node, const MemberCall *call, const TemplatePart *part)
{
	const EntityAttribute *attribute = member_part_attribute(call, part);

	return attribute != NULL && !part->upper && !part->lower && part->unit == TEMPLATE_WHOLE &&
		   member_names_attribute(attribute_of(root, node), call, attribute);
}

static int
count_placeholders(const Template *t)
{
	int n = 0;

	for (int i = 0; i < t->nparts; i++)
		n += t->parts[i].npath > 0;
	return n;
}

/* Whether a key is made of it, and perhaps of others. */
static bool
is_in_key(const PlannerInfo *root, Node *node, const MemberCall *call)
{
	for (int i = 0; call->t != NULL && i < call->t->nparts; i++)
	{
		if (is_part(root, node, call, &call->t->parts[i]))
			return true;
	}
	return false;
}

/* Whether it says the key in a column, together with what does not change. */
static bool
determines_column(const PlannerInfo *root, Node *node, List *calls, int attnum)
{
	ListCell *cell;

	foreach (cell, calls)
	{
		const MemberCall *call = lfirst(cell);
		int n = call->t == NULL ? -1 : count_placeholders(call->t);

		if (call->column->varattno == attnum && (n == 0 || (n == 1 && is_in_key(root, node, call))))
			return true;
	}
	return false;
}

static bool
determines_row(const PlannerInfo *root, Node *node, const AttributeIndex *attributes)
{
	ListCell *cell;

	foreach (cell, attributes->index.rel->indexlist)
	{
		const IndexOptInfo *index = lfirst(cell);
		bool all = index->unique && index->immediate && index->indpred == NIL;

		for (int i = 0; all && i < index->nkeycolumns; i++)
			all = determines_column(root, node, attributes->calls, index->indexkeys[i]);
		if (all)
			return true;
	}
	return false;
}

/*
 * How many values there are
 */

/*
 * By the key that has the fewest other attributes.  Those of one key are supposed to have as many
 * values each, so that all of them together have as many as there are keys.
 */
static double
values_in_keys(const MemberScope *scope, Node *node, const AttributeIndex *attributes)
{
	double distinct = -1;
	int fewest = 0;
	ListCell *cell;

	foreach (cell, attributes->calls)
	{
		const MemberCall *call = lfirst(cell);
		double keys;
		int n;

		if (!is_in_key(scope->root, node, call))
			continue;
		n = count_placeholders(call->t);
		if (fewest > 0 && n >= fewest)
			continue;
		keys = member_keys(scope, attributes->index.rel, attributes->calls, call);
		if (keys <= 0)
			continue;
		fewest = n;
		distinct = n == 1 ? keys : pow(keys, 1.0 / n);
	}
	return distinct;
}

/*
 * Of an attribute of which nothing is known the values are supposed to be among those of what it is
 * joined with, as those of a foreign key are.
 */
static double
values_joined(PlannerInfo *root, List *joined)
{
	double distinct = -1;
	ListCell *cell;

	foreach (cell, joined)
	{
		VariableStatData other;
		bool unknown;
		double values;

		examine_variable(root, lfirst(cell), 0, &other);
		values = get_variable_numdistinct(&other, &unknown);
		if (other.rel != NULL && !unknown && (distinct < 0 || values < distinct))
			distinct = values;
		ReleaseVariableStats(other);
	}
	return distinct;
}

/* -1: not known. */
static double
count_values(PlannerInfo *root, const AttributeIndex *attributes, int column)
{
	MemberScope scope = {root, (int) attributes->index.rel->relid, JOIN_INNER, NULL};
	double items = member_items(&scope, attributes->index.rel, attributes->calls);
	Node *node = list_nth(attributes->index.indexprs, column);
	double distinct;

	if (determines_row(root, node, attributes))
		return items;
	distinct = values_in_keys(&scope, node, attributes);
	if (distinct < 0)
		distinct = values_joined(root, list_nth(attributes->joined, column));
	if (distinct < 0 && items >= FEW_ITEMS)
		return -1;
	return distinct < 0 ? items : Min(distinct, items);
}

/*
 * What the planner asks
 */

/* It is never scanned; that it has this function is what it is known by. */
static void
no_cost(PlannerInfo *root, IndexPath *path, double loop_count, Cost *startup, Cost *total,
		Selectivity *selectivity, double *correlation, double *pages)
{
	elog(ERROR, "an index that is not there cannot be scanned");
}

static AttributeIndex *
find_attributes(const RelOptInfo *rel)
{
	ListCell *cell;

	foreach (cell, rel == NULL ? NIL : rel->indexlist)
	{
		const IndexOptInfo *index = lfirst(cell);

		if (index->hypothetical &&
			index->amcostestimate == (__typeof__(index->amcostestimate)) no_cost)
			return (AttributeIndex *) index;
	}
	return NULL;
}

/* Whether it goes by that OID.  Of which relation the planner asks is in "vardata", where it is filled in. */
static bool
is_ours(const PlannerInfo *root, Oid indexoid)
{
	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		const AttributeIndex *attributes = find_attributes(root->simple_rel_array[i]);

		if (attributes != NULL && attributes->index.indexoid == indexoid)
			return true;
	}
	return false;
}

/* A row of pg_statistic that says this alone: of NULLs there are none, and no values are listed. */
static HeapTuple
make_statistics(double distinct)
{
	Size offset = MAXALIGN(SizeofHeapTupleHeader);
	HeapTuple tuple = palloc0(HEAPTUPLESIZE + offset + sizeof(FormData_pg_statistic));

	tuple->t_len = (uint32) (offset + sizeof(FormData_pg_statistic));
	tuple->t_data = (HeapTupleHeader) ((char *) tuple + HEAPTUPLESIZE);
	tuple->t_data->t_hoff = (uint8) offset;
	HeapTupleHeaderSetNatts(tuple->t_data, Anum_pg_statistic_stacoll5);
	((Form_pg_statistic) GETSTRUCT(tuple))->stadistinct = (float4) distinct;
	return tuple;
}

/* brincostestimate() has nothing in "vardata", for indexes that are there and have expressions. */
static bool
get_statistics(PlannerInfo *root, Oid indexoid, AttrNumber column, VariableStatData *vardata)
{
	AttributeIndex *attributes = is_ours(root, indexoid) ? find_attributes(vardata->rel) : NULL;
	double *distinct;

	if (attributes == NULL)
		return next_hook != NULL && next_hook(root, indexoid, column, vardata);
	distinct = &attributes->distinct[column - 1];
	if (*distinct == 0)
	{
		/* what it is joined with may ask for it */
		*distinct = -1;
		*distinct = count_values(root, attributes, column - 1);
	}
	vardata->acl_ok = true;
	if (*distinct > 0)
	{
		vardata->statsTuple = make_statistics(*distinct);
		vardata->freefunc = heap_freetuple;
	}
	return true;
}

/*
 * What is joined or grouped
 */

static void
add_column(Attributes *attributes, Node *node, List *joined)
{
	int i;

	for (i = 0; i < list_length(attributes->nodes); i++)
	{
		ListCell *known = list_nth_cell(attributes->joined, i);

		if (!equal(list_nth(attributes->nodes, i), node))
			continue;
		lfirst(known) = list_concat_unique_ptr(lfirst(known), joined);
		return;
	}
	attributes->nodes = lappend(attributes->nodes, node);
	attributes->joined = lappend(attributes->joined, list_copy(joined));
}

/* As the planner looks for it, which depends on the version: as it is, and as it is below all else. */
static void
add_attribute(Attributes *attributes, Node *node, List *joined)
{
	Node *below;

	while (IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	below = attribute_of(attributes->root, node);
	if (!IsA(below, FuncExpr) ||
		!bms_equal(pull_varnos(attributes->root, below), attributes->rel->relids))
		return;
	add_column(attributes, below, joined);
	if (!equal(node, below))
		add_column(attributes, node, joined);
}

static void
add_clauses(Attributes *attributes)
{
	ListCell *cell;

	foreach (cell, attributes->rel->joininfo)
	{
		const RestrictInfo *clause = lfirst(cell);
		const OpExpr *equality = (OpExpr *) clause->clause;

		if (clause->mergeopfamilies == NIL || !IsA(equality, OpExpr))
			continue;
		add_attribute(attributes, linitial(equality->args), list_make1(lsecond(equality->args)));
		add_attribute(attributes, lsecond(equality->args), list_make1(linitial(equality->args)));
	}
}

static void
add_class(Attributes *attributes, const EquivalenceClass *class)
{
	ListCell *cell;
	ListCell *other;

	foreach (cell, class->ec_members)
	{
		const EquivalenceMember *member = lfirst(cell);
		List *joined = NIL;

		if (!bms_equal(member->em_relids, attributes->rel->relids))
			continue;
		foreach (other, class->ec_members)
		{
			const EquivalenceMember *equal = lfirst(other);

			if (!bms_overlap(equal->em_relids, attributes->rel->relids) &&
				!bms_is_empty(equal->em_relids))
				joined = lappend(joined, equal->em_expr);
		}
		add_attribute(attributes, (Node *) member->em_expr, joined);
	}
}

static void
add_grouped(Attributes *attributes)
{
	const PlannerInfo *root = attributes->root;
	List *clauses = list_concat_copy(root->parse->groupClause, root->parse->distinctClause);
	ListCell *cell;

	foreach (cell, get_sortgrouplist_exprs(clauses, root->processed_tlist))
		add_attribute(attributes, lfirst(cell), NIL);
}

/*
 * An index that is there and has no expressions, for which the planner asks for none.  Ours goes by
 * its OID, since other extensions look up the names of all indexes of a table.
 */
static Oid
namesake(const RelOptInfo *rel)
{
	ListCell *cell;

	foreach (cell, rel->indexlist)
	{
		const IndexOptInfo *index = lfirst(cell);

		if (index->indexprs == NIL && !index->hypothetical)
			return index->indexoid;
	}
	return InvalidOid;
}

static AttributeIndex *
make_index(RelOptInfo *rel, List *calls, const Attributes *attributes)
{
	AttributeIndex *new = palloc0(sizeof(AttributeIndex));
	IndexOptInfo *index = &new->index;
	int n = list_length(attributes->nodes);

	index->type = T_IndexOptInfo;
	index->indexoid = namesake(rel);
	index->rel = rel;
	index->tree_height = -1;
	index->hypothetical = true;
	index->ncolumns = index->nkeycolumns = n;
	index->indexkeys = palloc0(n * sizeof(int));
	index->indexcollations = palloc0(n * sizeof(Oid));
	index->opfamily = palloc0(n * sizeof(Oid));
	index->opcintype = palloc0(n * sizeof(Oid));
	index->canreturn = palloc0(n * sizeof(bool));
	index->indexprs = attributes->nodes;
	index->amcostestimate = (__typeof__(index->amcostestimate)) no_cost;
	new->calls = calls;
	new->joined = attributes->joined;
	new->distinct = palloc0(n * sizeof(double));
	return new;
}

/* Lets the planner ask for attributes of a table of which the calls select items.  Its paths are made. */
void
member_distinct_add(PlannerInfo *root, RelOptInfo *rel, List *calls)
{
	Attributes attributes = {root, rel};
	int i = -1;

	if (find_attributes(rel) != NULL || !OidIsValid(namesake(rel)))
		return;
	add_clauses(&attributes);
	while ((i = bms_next_member(rel->eclass_indexes, i)) >= 0)
		add_class(&attributes, list_nth(root->eq_classes, i));
	add_grouped(&attributes);
	if (attributes.nodes != NIL)
		rel->indexlist = lappend(rel->indexlist, make_index(rel, calls, &attributes));
}

/* Sets the hook.  Called once by _PG_init(). */
void
member_distinct_init(void)
{
	next_hook = get_index_stats_hook;
	get_index_stats_hook = get_statistics;
}
