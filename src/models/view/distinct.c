/*
 * distinct.c
 *	  How many different values attributes of an entity have, for joins and groups.
 *
 * The planner looks for the statistics of an expression at the indexes that have it as a column,
 * and asks get_index_stats_hook for them.  So a table of which an entity is read gets an index
 * that is not there, whose columns are the attributes that are joined or grouped, once the paths
 * of the table are made: no scan uses it, and it has no operators and proves nothing.
 *
 * Of an attribute that makes a key there are as many values as keys, and of one that alone makes
 * the primary key as many as items.  This says numbers only, and no values, which are what the
 * planner keeps to itself if a role may not read them.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_index.h"
#include "catalog/pg_statistic.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/paths.h"
#include "rewrite/rewriteManip.h"
#include "utils/selfuncs.h"
#include "utils/syscache.h"

#include "models/view/member_plan.h"
#include "server/compat.h"

static get_index_stats_hook_type next_hook;

/* This is the index that is not there. */
typedef struct AttributeIndex
{
	IndexOptInfo index;
	List *calls; /* of MemberCall * */
	double *values; /* of each column; 0: not counted yet, -1: not known */
} AttributeIndex;

/*
 * How many values there are
 */

/* Returns what an expression is below casts that change nothing and what outer joins make of it. */
static Node *
below(const PlannerInfo *root, Node *node)
{
	while (IsA(node, RelabelType) || IsA(node, PlaceHolderVar))
		node = IsA(node, RelabelType) ? (Node *) ((RelabelType *) node)->arg
									  : (Node *) ((PlaceHolderVar *) node)->phexpr;
#if PG16_GE
	node = remove_nulling_relids(node, root->outer_join_rels, NULL);
#endif
	return node;
}

/* Returns whether a key is made of literals, or of them and of an attribute as it is. */
static bool
makes_key(const MemberCall *call, const void *asked)
{
	for (int i = 0; call->t != NULL && i < call->t->nparts; i++)
	{
		const TemplatePart *part = &call->t->parts[i];

		if (part->npath > 0 && (part->upper || part->lower || part->unit != TEMPLATE_WHOLE ||
								!member_names_attribute((Node *) asked, call, part)))
			return false;
	}
	return call->t != NULL;
}

/*
 * Returns as many as there are keys, or -1 if that is not known.  Of several keys that it makes the
 * least count is taken, since what is known of a column is about the keys of all entities.
 */
static double
values_in_keys(PlannerInfo *root, List *calls, Node *asked)
{
	double values = -1;
	ListCell *cell;

	foreach (cell, calls)
	{
		const MemberCall *call = lfirst(cell);
		KnownValues literals;
		double keys;

		member_find_literals(call, &literals);
		if (member_is_whole(call, &literals) || !makes_key(call, asked))
			continue;
		keys = member_keys(root, call);
		if (keys > 0 && (values < 0 || keys < values))
			values = keys;
	}
	return values;
}

/*
 * Returns how many values an attribute has of which nothing is known: they are supposed to be among
 * those of what it has to be equal to, as those of a foreign key are.
 */
static double
values_joined(PlannerInfo *root, const RelOptInfo *rel, Node *node)
{
	double values = -1;
	ListCell *cell;
	ListCell *member;

	foreach (cell, root->eq_classes)
	{
		EquivalenceClass *class = lfirst(cell);
		bool joined = find_ec_member_matching_expr(class, (Expr *) node, rel->relids) != NULL;

		foreach (member, joined ? class->ec_members : NIL)
		{
			VariableStatData other;
			bool unknown;
			double n;

			examine_variable(root, (Node *) lfirst_node(EquivalenceMember, member)->em_expr, 0,
							 &other);
			n = get_variable_numdistinct(&other, &unknown);
			if (other.rel != NULL && other.rel != rel && !unknown && (values < 0 || n < values))
				values = n;
			ReleaseVariableStats(other);
		}
	}
	return values;
}

static double
count_values(PlannerInfo *root, const AttributeIndex *attributes, Node *node)
{
	const RelOptInfo *rel = attributes->index.rel;
	double items = member_items(root, rel, attributes->calls);
	Node *asked = below(root, node);
	double values;

	if (member_is_one_row(rel, attributes->calls, makes_key, asked))
		return items;
	values = values_in_keys(root, attributes->calls, asked);
	if (values < 0)
		values = values_joined(root, rel, node);
	if (values < 0 && items >= DEFAULT_NUM_DISTINCT)
		return -1;
	return values < 0 ? items : Min(values, items);
}

/*
 * What the planner asks
 */

/* Raises an error: the index is never scanned, and is known by having this function. */
static void
no_cost(PlannerInfo *root, IndexPath *path, double loop_count, Cost *startup, Cost *total,
		Selectivity *selectivity, double *correlation, double *pages)
{
	elog(ERROR, "an index that is not there cannot be scanned");
}

static AttributeIndex *
find_attributes(const RelOptInfo *rel)
{
	const IndexOptInfo *last = rel == NULL || rel->indexlist == NIL ? NULL : llast(rel->indexlist);
	bool ours = last != NULL && last->hypothetical &&
				last->amcostestimate == (__typeof__(last->amcostestimate)) no_cost;

	return ours ? (AttributeIndex *) last : NULL;
}

/*
 * Returns whether an index has no expressions: so it is ours that the planner asks for.  For others
 * it may have nothing in "vardata".
 */
static bool
is_ours(Oid indexoid)
{
	HeapTuple tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(indexoid));
	bool ours = HeapTupleIsValid(tuple) && heap_attisnull(tuple, Anum_pg_index_indexprs, NULL);

	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	return ours;
}

/* Returns a row of pg_statistic that says this alone: no NULLs, and no values that are listed. */
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

static bool
get_statistics(PlannerInfo *root, Oid indexoid, AttrNumber column, VariableStatData *vardata)
{
	AttributeIndex *attributes = is_ours(indexoid) ? find_attributes(vardata->rel) : NULL;
	double *values;

	if (attributes == NULL)
		return next_hook != NULL && next_hook(root, indexoid, column, vardata);
	values = &attributes->values[column - 1];
	if (*values == 0)
	{
		/* what it is joined with may ask for it */
		*values = -1;
		*values = count_values(root, attributes, list_nth(attributes->index.indexprs, column - 1));
	}
	vardata->acl_ok = true;
	if (*values > 0)
	{
		vardata->statsTuple = make_statistics(*values);
		vardata->freefunc = heap_freetuple;
	}
	return true;
}

/*
 * The index
 */

/*
 * Returns an index that is there and has no expressions, for which the planner asks for none.  Ours
 * goes by its OID, since other extensions look up the names of all indexes of a table.
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

/* Lets the planner ask for attributes of a table of items.  Its paths are made. */
void
member_distinct_add(PlannerInfo *root, RelOptInfo *rel, List *calls)
{
	Oid oid = namesake(rel);
	List *nodes = NIL;
	AttributeIndex *new;
	IndexOptInfo *index;
	ListCell *cell;
	int n;

	/* how the planner looks for them depends on the version */
	foreach (cell, member_uses(root, rel, calls)->attributes)
	{
		nodes = list_append_unique(nodes, lfirst(cell));
		nodes = list_append_unique(nodes, below(root, lfirst(cell)));
	}
	n = list_length(nodes);
	if (n == 0 || !OidIsValid(oid))
		return;
	new = palloc0(sizeof(AttributeIndex));
	new->calls = calls;
	new->values = palloc0(n * sizeof(double));
	index = &new->index;
	index->type = T_IndexOptInfo;
	index->indexoid = oid;
	index->rel = rel;
	index->tree_height = -1;
	index->hypothetical = true;
	index->ncolumns = index->nkeycolumns = n;
	index->indexkeys = palloc0(n * sizeof(int));
	index->indexcollations = palloc0(n * sizeof(Oid));
	index->opfamily = palloc0(n * sizeof(Oid));
	index->opcintype = palloc0(n * sizeof(Oid));
	index->canreturn = palloc0(n * sizeof(bool));
	index->indexprs = nodes;
	index->amcostestimate = (__typeof__(index->amcostestimate)) no_cost;
	rel->indexlist = lappend(rel->indexlist, index);
}

/* Sets the hook.  Called once by _PG_init(). */
void
member_distinct_init(void)
{
	next_hook = get_index_stats_hook;
	get_index_stats_hook = get_statistics;
}
