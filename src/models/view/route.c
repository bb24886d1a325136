/*
 * route.c
 *	  What a query says of the partition key of an entity's items, for the planner of Citus.
 *
 * Citus sends a query to the shard of a partition key if it finds the key among the restrictions of
 * the distributed table.  A view's condition is a call, so the key that follows from it,
 *
 *		pk = 'ORG#1'		from		"OrgId" = '1'
 *
 * is added to the restrictions when the paths of the table are made, behind which Citus looks at them.
 * The shard gets the query as it was: there the call finds the scan of an index.
 */
#include "postgres.h"

#include "access/relation.h"
#include "optimizer/restrictinfo.h"
#include "utils/rel.h"
#include "utils/typcache.h"

#include "catalog/table.h"
#include "models/view/member_plan.h"

/* Returns the column that has the partition key; 0: it is no distributed table. */
AttrNumber
member_distribution_column(Oid relid)
{
	Relation rel = relation_open(relid, NoLock);
	const DynTable *table = dyn_schema_any(rel);
	AttrNumber column =
		table != NULL && table->distributed ? (AttrNumber) table->keys[0].attnum : 0;

	relation_close(rel, NoLock);
	return column;
}

static void
add_key(PlannerInfo *root, RelOptInfo *rel, const MemberCall *call)
{
	TypeCacheEntry *type = lookup_type_cache(call->column->vartype, TYPECACHE_BTREE_OPFAMILY);
	KeyOperators operators = {type->btree_opf, call->column->varcollid};
	KnownValues known;
	ListCell *cell;

	member_find_values(rel->baserestrictinfo, rel->baserestrictinfo, call, &known);
	if (!known.constant || !member_is_whole(call, &known))
		return;
	foreach (cell, member_key_clauses(call, &known, &operators))
		rel->baserestrictinfo =
			lappend(rel->baserestrictinfo, make_simple_restrictinfo(root, lfirst(cell)));
}

/* Returns whether the table is distributed; then what is known of its partition key is a restriction. */
bool
member_route(PlannerInfo *root, RelOptInfo *rel, Oid relid, List *calls)
{
	AttrNumber column = member_distribution_column(relid);
	ListCell *cell;

	if (column == 0)
		return false;
	foreach (cell, calls)
	{
		const MemberCall *call = lfirst(cell);

		if (call->column->varattno == column)
			add_key(root, rel, call);
	}
	return true;
}
