/*
 * unsupported.c
 *	  Tables that cannot be used as tables of items, although they have the shape.
 *
 * Both stores read and write one relation, and rely on its primary key being unique.  That key does
 * not cover rows of child tables: a query sees them, a write does not.  Rows of a table that Citus
 * manages are in other relations; it can be used if it has its definition in a constraint, so that
 * these have it too.
 *
 * Whatever makes a table unsupported invalidates its relcache entry: adding a child table, merging
 * columns with those of a parent, and Citus itself.  The end of such a state need not be noticed.
 */
#include "postgres.h"

#include "catalog/pg_inherits.h"
#include "utils/rel.h"

#include "catalog/definition/trigger.h"
#include "catalog/table.h"
#include "server/citus.h"

/* Returns whether a relation has children: relhassubclass may outlive the last one. */
bool
dyn_has_children(Relation rel)
{
	return rel->rd_rel->relkind != RELKIND_PARTITIONED_TABLE && rel->rd_rel->relhassubclass &&
		   find_inheritance_children(RelationGetRelid(rel), NoLock) != NIL;
}

static bool
is_child(Relation rel)
{
	return !rel->rd_rel->relispartition && has_superclass(RelationGetRelid(rel));
}

/* Returns whether its rows are in shards, as dyn_distribute_table() has put them there. */
bool
dyn_is_distributed(Relation rel)
{
	return citus_kind(RelationGetRelid(rel)) == CITUS_DISTRIBUTED &&
		   dyn_trigger_find(rel, DYN_TRIGGER_DERIVE) == NULL;
}

/* Returns why the table cannot be used, as a sentence, or NULL if it can. */
const char *
dyn_unsupported(Relation rel)
{
	if (dyn_has_children(rel))
		return "It has child tables.";
	if (is_child(rel))
		return "It inherits from another table.";
	if (citus_kind(RelationGetRelid(rel)) != CITUS_NONE && !dyn_is_distributed(rel))
		return "It is managed by Citus, and was not distributed by dyn_distribute_table().";
	return NULL;
}
