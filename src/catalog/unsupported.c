/*
 * unsupported.c
 *	  Tables that cannot be used as tables of items, although they have the shape.
 *
 * Both stores read and write one relation, and rely on its primary key being unique.  That key does
 * not cover rows of child tables: a query sees them, a write does not.  Rows of a table that Citus
 * manages are in other relations.
 *
 * Whatever makes a table unsupported invalidates its relcache entry: adding a child table, merging
 * columns with those of a parent, and Citus itself.  The end of such a state need not be noticed.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_namespace_d.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "catalog/table.h"
#include "ground/trigger.h"

/*
 * Citus' catalog of the tables that it manages, and its index.  Only superusers can create tables
 * in that schema.
 */
#define CITUS_TABLES "pg_dist_partition"
#define CITUS_TABLES_INDEX "pg_dist_partition_logical_relid_index"
#define CITUS_TABLES_RELATION "logicalrelid"

/* relhassubclass may still be set after the last child was dropped. */
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

/* Returns whether Citus manages a table.  False if Citus is not installed in the database. */
bool
dyn_is_distributed_id(Oid relid)
{
	Oid catalog = get_relname_relid(CITUS_TABLES, PG_CATALOG_NAMESPACE);
	Relation tables;
	SysScanDesc scan;
	ScanKeyData key;
	AttrNumber column;
	Oid index;
	bool found;

	if (!OidIsValid(catalog))
		return false;
	column = get_attnum(catalog, CITUS_TABLES_RELATION);
	if (column <= 0)
		return false;
	index = get_relname_relid(CITUS_TABLES_INDEX, PG_CATALOG_NAMESPACE);
	tables = table_open(catalog, AccessShareLock);
	ScanKeyInit(&key, column, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	scan = systable_beginscan(tables, index, OidIsValid(index), NULL, 1, &key);
	found = HeapTupleIsValid(systable_getnext(scan));
	systable_endscan(scan);
	table_close(tables, AccessShareLock);
	return found;
}

/* The same of one that is open. */
bool
dyn_is_distributed(Relation rel)
{
	return dyn_is_distributed_id(RelationGetRelid(rel));
}

/* Why the table cannot be used, as a sentence; NULL if it can. */
const char *
dyn_unsupported(Relation rel)
{
	if (dyn_has_children(rel))
		return "It has child tables.";
	if (is_child(rel))
		return "It inherits from another table.";
	if (dyn_is_distributed(rel) && dyn_trigger_find(rel, DYN_TRIGGER_DERIVE) != NULL)
		return "It is managed by Citus.";
	return NULL;
}
