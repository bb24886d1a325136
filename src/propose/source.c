/*
 * source.c
 *	  The tables that "sources" names: tables, or all tables of a schema as "schema.*".
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/regproc.h"
#include "utils/rls.h"
#include "utils/varlena.h"

#include "catalog/rights.h"
#include "catalog/table.h"
#include "ground/arguments.h"
#include "ground/errors.h"
#include "propose/propose.h"

/* The caller must be able to read all columns of what is looked at. */
static void
require_select(Oid relid)
{
	Oid user = GetUserId();

	if (pg_class_aclcheck(relid, user, ACL_SELECT) != ACLCHECK_OK &&
		pg_attribute_aclcheck_all(relid, user, ACL_SELECT, ACLMASK_ALL) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(get_rel_relkind(relid)),
					   get_rel_name(relid));
}

static bool
may_be_source(char relkind)
{
	return relkind == RELKIND_RELATION || relkind == RELKIND_PARTITIONED_TABLE ||
		   relkind == RELKIND_VIEW || relkind == RELKIND_MATVIEW ||
		   relkind == RELKIND_FOREIGN_TABLE;
}

static List *
add_named(List *relids, const char *name)
{
	RightsWanted wanted = {.mode = AccessShareLock};
	List *names = qualified_name_list(name);
	Oid relid = RangeVarGetRelidExtended(makeRangeVarFromNameList(names), AccessShareLock, 0,
										 rights_check_name, &wanted);

	if (!may_be_source(get_rel_relkind(relid)))
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("\"%s\" is neither a table nor a view", get_rel_name(relid))));
	return list_append_unique_oid(relids, relid);
}

/* Partitions, child tables and members of extensions have no rows of their own, or none of users. */
static bool
is_listed(const FormData_pg_class *form)
{
	return (form->relkind == RELKIND_RELATION || form->relkind == RELKIND_PARTITIONED_TABLE ||
			form->relkind == RELKIND_FOREIGN_TABLE) &&
		   form->relpersistence != RELPERSISTENCE_TEMP && !form->relispartition &&
		   !has_superclass(form->oid) &&
		   !OidIsValid(getExtensionOfObject(RelationRelationId, form->oid));
}

static int
compare_names(const ListCell *a, const ListCell *b)
{
	return strcmp(get_rel_name(lfirst_oid(a)), get_rel_name(lfirst_oid(b)));
}

static List *
list_schema(Oid schema)
{
	Relation rel = table_open(RelationRelationId, AccessShareLock);
	List *found = NIL;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple tuple;

	ScanKeyInit(&key, Anum_pg_class_relnamespace, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(schema));
	scan = systable_beginscan(rel, InvalidOid, false, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		const FormData_pg_class *form = (const FormData_pg_class *) GETSTRUCT(tuple);

		CHECK_FOR_INTERRUPTS();
		if (is_listed(form))
			found = lappend_oid(found, form->oid);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	list_sort(found, compare_names);
	return found;
}

/* Whether it is a table of items, or gone. */
static bool
has_items(Oid relid)
{
	Relation rel = try_relation_open(relid, AccessShareLock);
	bool result = rel == NULL || dyn_schema(rel) != NULL;

	if (rel != NULL)
		relation_close(rel, NoLock);
	return result;
}

static List *
add_schema(List *relids, const char *name)
{
	List *found = list_schema(get_namespace_oid(name, false));
	ListCell *cell;

	foreach (cell, found)
	{
		require_select(lfirst_oid(cell));
		if (!has_items(lfirst_oid(cell)))
			relids = list_append_unique_oid(relids, lfirst_oid(cell));
	}
	return relids;
}

/* "schema.*", or NULL. */
static char *
schema_of_all(const char *name)
{
	size_t len = strlen(name);
	List *names;

	if (len < 3 || strcmp(name + len - 2, ".*") != 0)
		return NULL;
	names = qualified_name_list(pnstrdup(name, len - 2));
	return list_length(names) == 1 ? strVal(linitial(names)) : NULL;
}

static void
open_source(ProposeTable *table, Oid relid)
{
	Relation rel = relation_open(relid, AccessShareLock);

	require_select(relid);
	if (rel->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("table \"%s\" is temporary", RelationGetRelationName(rel)),
						errdetail("A migration reads its sources in many sessions.")));
	table->relid = relid;
	table->relkind = rel->rd_rel->relkind;
	table->has_children = table->relkind == RELKIND_RELATION && dyn_has_children(rel);
	table->hides_rows = check_enable_rls(relid, InvalidOid, true) == RLS_ENABLED;
	table->schema = get_namespace_name(RelationGetNamespace(rel));
	table->name = pstrdup(RelationGetRelationName(rel));
	table->qualified = quote_qualified_identifier(table->schema, table->name);
	relation_close(rel, NoLock);
}

/*
 * Sets the tables of the proposal, locked for reading.  The caller must have SELECT on each of
 * them.
 */
void
propose_sources(Proposal *proposal, ArrayType *sources)
{
	int n;
	Datum *names = argument_elements(sources, "sources", &n);
	List *relids = NIL;
	ListCell *cell;

	for (int i = 0; i < n; i++)
	{
		char *name = TextDatumGetCString(names[i]);
		char *schema = schema_of_all(name);

		relids = schema != NULL ? add_schema(relids, schema) : add_named(relids, name);
	}
	if (relids == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_DYN_VALIDATION), errmsg("sources must name at least one table")));
	proposal->tables = palloc0(list_length(relids) * sizeof(ProposeTable));
	foreach (cell, relids)
		open_source(&proposal->tables[proposal->ntables++], lfirst_oid(cell));
}
